"""Every CPU variant of SSSP against SciPy's Dijkstra, and the certificate against wrong answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saitan import apsp, sssp
from saitan.graph import Graph
from saitan.problem import Invalid, Misdeclared, Unavailable
from saitan.sssp.phases import Thresholds, calibrate, thresholds_from
from saitan.sssp.validate import check_distances, check_tree, tight_tree

# phast, which takes integers alone, has tests of its own.
CPU = [name for name, v in sssp.VARIANTS.items() if v.cpu and not v.missing() and name != "phast"]
OURS = [name for name in CPU if not sssp.VARIANTS[name].peer and name != "scipy"]


@st.composite
def graphs(draw, weights=(np.uint32, np.float32)):
    """Small graphs with loops, parallel arcs, zero and huge weights, unreachable parts."""
    n = draw(st.integers(1, 12))
    m = draw(st.integers(0, 40))
    ends = st.lists(st.integers(0, n - 1), min_size=m, max_size=m)
    dtype = np.dtype(draw(st.sampled_from(weights)))
    if dtype == np.uint32:
        values = st.one_of(st.just(0), st.integers(0, 5), st.integers(0, 2**32 - 1))
    else:
        values = st.one_of(
            st.just(0.0), st.floats(0, 10, width=32), st.floats(0, float(np.finfo(np.float32).max), width=32)
        )
    arcs = draw(ends), draw(ends), draw(st.lists(values, min_size=m, max_size=m))
    sources, targets, drawn = (np.array(a, t) for a, t in zip(arcs, (np.int64, np.int64, dtype), strict=True))
    return Graph.from_arcs(n, sources, targets, drawn), draw(st.integers(0, n - 1))


@pytest.mark.parametrize("variant", CPU)
@given(case=graphs())
def test_equals_scipy(variant, case):
    graph, source = case
    result = sssp.solve(graph, source, variant, "cpu", predecessors=True)
    assert sssp.differs(sssp.reference(graph, source), {"distances": result.distances}) is None
    check_distances(graph, source, result.distances)
    check_tree(graph, source, result.distances, result.predecessors)


@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
def test_all_variants_agree_to_the_bit(dtype):
    rng = np.random.default_rng(3)
    n, m = 3000, 12000
    weights = rng.integers(0, 50_000, m).astype(dtype) / dtype(7 if dtype == np.float32 else 1)
    graph = Graph.from_arcs(n, rng.integers(0, n, m), rng.integers(0, n, m), weights.astype(dtype))
    for source in rng.integers(0, n, 3).tolist():
        answers = [sssp.solve(graph, source, variant, "cpu").distances for variant in CPU]
        assert all(answer.tobytes() == answers[0].tobytes() for answer in answers)
        assert answers[0].dtype == dtype


def a_way_round_too_long(top):
    """Three vertices with distances 0, top and 1; the way from 1 to 2 is longer than the weights' type holds."""
    return Graph.from_arcs(3, [0, 0, 1], [1, 2, 2], np.array([top, 1, top], type(top)))


@pytest.mark.parametrize("variant", OURS)
@pytest.mark.parametrize("top", [np.uint32(2**32 - 3), np.float32(3e38)])
def test_the_type_depends_on_the_distances_alone(variant, top):
    distances = sssp.solve(a_way_round_too_long(top), 0, variant, "cpu").distances
    assert distances.dtype == type(top) and distances.tolist() == [0, top, 1]


@pytest.mark.parametrize("variant", OURS)
def test_a_sum_beyond_32_bits_widens_and_never_wraps(variant):
    top = 2**32 - 1
    line = Graph.from_arcs(4, np.arange(3), np.arange(1, 4), np.full(3, top, np.uint32))
    result = sssp.solve(line, 0, variant, "cpu")
    assert result.distances.dtype == np.uint64
    assert result.distances.tolist() == [0, top, 2 * top, 3 * top]
    floats = Graph.from_arcs(3, np.arange(2), np.arange(1, 3), np.full(2, np.float32(3e38)))
    assert sssp.solve(floats, 0, variant, "cpu").distances.tolist() == [
        0,
        np.float32(3e38),
        2 * float(np.float32(3e38)),
    ]


@pytest.mark.parametrize("variant", OURS)
def test_a_weight_equal_to_the_unreachable_mark_is_reached(variant):
    graph = Graph.from_arcs(3, [0], [1], np.array([2**32 - 1], np.uint32))
    result = sssp.solve(graph, 0, variant, "cpu")
    assert result.distances.tolist() == [0, 2**32 - 1, 2**64 - 1]


@pytest.mark.parametrize("dtype", ["bool", "complex64", "U3", object])
def test_what_is_no_distance_has_no_mark(dtype):
    assert sssp.unreachable("uint32") == 2**32 - 1 and sssp.unreachable(np.float32) == np.inf
    with pytest.raises(ValueError, match=r"^distances are whole numbers or floats, not "):
        sssp.unreachable(dtype)


def test_phases_do_not_depend_on_the_way_they_run():
    rng = np.random.default_rng(5)
    graph = Graph.from_arcs(
        500, rng.integers(0, 500, 2000), rng.integers(0, 500, 2000), rng.integers(1, 99, 2000).astype(np.uint32)
    )
    runs = {}
    for variant in ("conventional", "selection", "adaptive"):
        options = {"threshold_up": 30.0} if variant == "adaptive" else {}
        solver = sssp.prepare(graph, variant, "cpu", **options)
        runs[variant] = solver.run(7)
        assert solver.count(7)["updated"].tolist() == updated_by_numpy(graph, 7)
    assert len({run.counters["phases"] for run in runs.values()}) == 1
    trace = runs["selection"].phases
    # Every updated vertex was listed, some listed ones were not updated (Algorithm 5 appends on equality).
    assert (trace["listed"] >= updated_by_numpy(graph, 7)).all()
    assert set(trace["mode"]) == {"selection"}
    assert (runs["conventional"].phases["threads"] == 2 * graph.n).all()
    assert (runs["conventional"].phases["listed"] == -1).all()


def updated_by_numpy(graph: Graph, source: int) -> list[int]:
    """Updated vertices per phase of the two-array method, by plain NumPy."""
    cost = np.full(graph.n, np.inf)
    cost[source] = 0
    mask = cost == 0
    counts = []
    while mask.any():
        updated = cost.copy()
        arcs = mask[graph.sources]
        np.minimum.at(updated, graph.targets[arcs], cost[graph.sources[arcs]] + graph.weights[arcs])
        mask = updated < cost
        cost = updated
        counts.append(int(mask.sum()))
    return counts


def test_certificate_refuses_wrong_answers():
    graph = Graph.from_arcs(4, [0, 1, 0, 3], [1, 2, 2, 3], np.array([1, 1, 5, 0], np.uint32))
    top = 2**32 - 1
    right = np.array([0, 1, 2, top], np.uint32)
    check_distances(graph, 0, right)
    assert tight_tree(graph, 0, right).tolist() == [-1, 0, 1, -1]
    for wrong, message in (
        ([1, 1, 2, top], "the source 0 is at distance 1"),
        ([0, 1, 5, top], r"arc 2 from 1 \(distance 1\) to 2 \(distance 5\) of weight 1 still relaxes"),
        ([0, 1, top, top], "still relaxes"),
    ):
        with pytest.raises(Invalid, match=message):
            check_distances(graph, 0, np.array(wrong, np.uint32))
    for wrong in ([0, 1, 1, top], [0, 0, 1, top], [0, 1, 2, 7], [0, 1, 2, 0]):
        with pytest.raises(Invalid, match="no tight path"):
            tight_tree(graph, 0, np.array(wrong, np.uint32))


@pytest.mark.parametrize("variant", [*CPU, "phast"])
def test_every_solver_checks_its_own_answer(variant):
    # One spoiled distance leaves an arc that relaxes, the other a circle of tight arcs that nothing leads to.
    graph = Graph.from_arcs(5, [0, 1, 3, 4], [1, 2, 4, 3], np.array([2, 3, 0, 0], np.uint32))
    solver = sssp.prepare(graph, variant, "cpu")
    solver.run(0)
    solver.validate()
    for vertices, value in (([2], 6), ([3, 4], 7)):
        spoiled = solver.distances.copy()
        spoiled[vertices] = value
        right, solver.distances = solver.distances, spoiled
        with pytest.raises(Invalid):
            solver.validate()
        solver.distances = right
    solver.validate()
    solver.close()


def test_what_the_paper_variants_hold_is_counted():
    graph = Graph.from_arcs(1000, [0], [1], np.ones(1, np.uint32))
    # Two costs, a mask, who is scheduled, two lists; the length and the overflow.
    assert sssp.prepare(graph, "adaptive", "cpu").memory == 1000 * (4 + 4 + 1 + 1 + 4 + 4) + 2 * 8


def test_a_cycle_of_zero_weights_is_no_tree():
    graph = Graph.from_arcs(3, [1, 2], [2, 1], np.zeros(2, np.uint32))
    floating = np.array([0, 5, 5], np.uint32)
    check_distances(graph, 0, floating)
    with pytest.raises(Invalid, match="vertex 1"):
        tight_tree(graph, 0, floating)
    with pytest.raises(Invalid, match="does not end at the source"):
        check_tree(graph, 0, floating, np.array([-1, 2, 1], np.int32))


@pytest.mark.parametrize(
    "predecessors, message", [([-1, -1, 1], "should have"), ([-1, 0, 0], "no tight arc leads to 2")]
)
def test_tree_check_refuses_wrong_predecessors(predecessors, message):
    graph = Graph.from_arcs(3, [0, 1, 0], [1, 2, 2], np.array([1, 1, 5], np.uint32))
    with pytest.raises(Invalid, match=message):
        check_tree(graph, 0, np.array([0, 1, 2], np.uint32), np.array(predecessors, np.int32))


def test_path():
    graph = Graph.from_arcs(5, [0, 1, 2, 0], [1, 2, 3, 3], np.array([1, 1, 1, 9], np.uint32))
    result = sssp.solve(graph, 0, "adaptive", "cpu", predecessors=True)
    assert sssp.path(result.predecessors, 3).tolist() == [0, 1, 2, 3]
    assert sssp.path(result.predecessors, 0).tolist() == [0]
    with pytest.raises(ValueError, match="cycle"):
        sssp.path(np.array([1, 0]), 0)
    for none in (-5, np.iinfo(np.int32).min, 3):
        with pytest.raises(ValueError, match="predecessor"):
            sssp.path(np.array([-1, none, 1], np.int32), 2)


def test_sources_reach_most_of_the_graph_and_are_the_same_every_time():
    # A strongly connected ring of 50, from which 20 others lead away and into which 10 others lead.
    ring = np.arange(50)
    graph = Graph.from_arcs(
        80,
        np.concatenate([ring, np.zeros(20, int), np.arange(70, 80)]),
        np.concatenate([(ring + 1) % 50, np.arange(50, 70), np.zeros(10, int)]),
        np.ones(80, np.uint32),
    )
    drawn = sssp.queries(graph, 30, 4)
    assert drawn == sssp.queries(graph, 30, 4) != sssp.queries(graph, 30, 5)
    assert len(set(drawn)) == 30 and max(drawn) < 50
    assert len(sssp.queries(graph, 60, 4)) == 60


@pytest.mark.parametrize(
    ("n", "arcs", "wanted"),
    [
        # A tree whose arcs lead to the root.
        (40, [(v, (v - 1) // 2) for v in range(1, 40)], range(1, 40)),
        # Three vertices in a ring at the end of a long path, and then one for each ten of its vertices.
        (60, [(v, v + 1) for v in range(59)] + [(59, 57)], range(60)),
        (30, [(v, v + 1) for v in range(29)] + [(29, 27)], range(27, 30)),
        # A loop and a parallel arc lead nowhere else.
        (3, [(0, 0), (2, 1), (2, 1)], [2]),
        # Pairs that are connected with nothing else.
        (60, [(v, v ^ 1) for v in range(60)], range(60)),
        (1, [(0, 0)], [0]),
        (2, [], [0]),
    ],
)
def test_sources_are_of_all_that_lead_on_where_few_reach_each_other(n, arcs, wanted):
    both = all(arc[::-1] in arcs for arc in arcs)
    sources, targets = np.array(arcs, int).reshape(-1, 2).T
    graph = Graph.from_arcs(n, sources, targets, np.ones(len(arcs), np.uint32), metadata={"directed": not both})
    assert sorted(sssp.queries(graph, len(wanted), 4)) == list(wanted)
    assert set(sssp.queries(graph, 3 * len(wanted), 5)) <= set(wanted)


def test_thresholds():
    assert thresholds_from(None, None) is None
    assert thresholds_from(350, 330).down == pytest.approx(330e-6)
    assert thresholds_from(350, None).down == pytest.approx(330e-6)
    for up, down, message in ((3, 4, "down <= up"), (-1, None, "0 <= down")):
        with pytest.raises(ValueError, match=message):
            thresholds_from(up, down)
    rule = Thresholds(350e-6, 330e-6)
    assert rule.selects_next(True, 350e-6) and not rule.selects_next(True, 351e-6)
    assert not rule.selects_next(False, 330e-6) and rule.selects_next(False, 329e-6)


def test_calibration_takes_the_cheaper_way():
    few, many = np.full(50, 1.0), np.full(50, 9.0)
    ever_selection = calibrate(conventional=many, selection=few)
    assert ever_selection.selects_next(True, 1.0)
    never_selection = calibrate(conventional=few, selection=many)
    assert not never_selection.selects_next(True, 9.0) and not never_selection.selects_next(False, 1.0)
    # Selection is cheap at both ends, dear in the middle, conventional costs the same everywhere.
    selection = np.concatenate([np.full(20, 1.0), np.linspace(1, 40, 20), np.linspace(40, 1, 20), np.full(40, 1.0)])
    mixed = calibrate(conventional=np.full(100, 5.0), selection=selection)
    assert mixed.selects_next(True, 1.0) and not mixed.selects_next(True, 30.0)


def test_what_calibration_takes_is_counted_as_preparation():
    graph = Graph.from_arcs(2, [0], [1], np.ones(1, np.uint32))
    counters = sssp.solve(graph, 0, "adaptive", backend="cpu").run.counters
    assert counters["prepare_s"] > 0 and {"threshold_up_us", "threshold_down_us"} <= set(counters)
    for variant, parameters in (("adaptive", {"threshold_up": 350.0}), ("selection", {})):
        assert "prepare_s" not in sssp.solve(graph, 0, variant, backend="cpu", **parameters).run.counters


def test_bad_calls_say_what_would_be_right():
    graph = Graph.from_arcs(2, [0], [1], np.ones(1, np.uint32))
    with pytest.raises(ValueError, match=r"unknown variant 'dijkstra' .*conventional"):
        sssp.solve(graph, 0, "dijkstra")
    with pytest.raises(ValueError, match="unknown backend 'gpu'"):
        sssp.solve(graph, 0, "adaptive", "gpu")
    with pytest.raises(ValueError, match=r"source 2 is not in \[0, 2\)"):
        sssp.solve(graph, 2, "adaptive", "cpu")
    with pytest.raises(Unavailable, match="has no weights"):
        sssp.solve(Graph.from_arcs(2, [0], [1]), 0, "adaptive", "cpu")


def test_reference_tells_a_wrong_answer():
    graph = Graph.from_arcs(3, [0, 1], [1, 2], np.array([3, 4], np.uint32))
    expected = sssp.reference(graph, 0)
    assert sssp.differs(expected, {"distances": np.array([0, 3, 7], np.uint32)}) is None
    assert "vertex 2: 8, not 7" in sssp.differs(expected, {"distances": np.array([0, 3, 8], np.uint32)})
    assert "vertex 2" in sssp.differs(expected, {"distances": np.array([0, 3, 2**32 - 1], np.uint32)})
    assert sssp.differs(expected, {"distances": np.array([0, 3, 7.001], np.float32)}) is not None
    longer = {"distances": np.array([0, 3, 7, 9], np.uint32)}
    assert sssp.differs(expected, longer) == "distances have the shape (4,): (3,) is right"
    assert sssp.differs(expected, {}) == "there are no distances"
    with pytest.raises(Misdeclared, match=r"^the reference \(SciPy's Dijkstra\) has no array 'levels' \(it has: dist"):
        expected.misshapen({"levels": np.zeros(3)}, "levels")


def test_a_long_path_of_floats_is_right_and_what_it_does_not_reach_too():
    n = 2**21 + 2
    tails = np.arange(n - 2)
    graph = Graph.from_arcs(n, tails, tails + 1, np.ones(n - 2, np.float32))
    expected, distances = sssp.reference(graph, 0), np.append(np.arange(n - 1), np.inf).astype(np.float32)
    assert sssp.differs(expected, {"distances": distances}) is None
    distances[-1] = 5
    assert f"vertex {n - 1}: 5.0, not inf" in sssp.differs(expected, {"distances": distances})


def test_integers_that_float64_rounds_are_no_answer():
    """Lengths beyond 2^53: of ours exact, of other people's solvers refused."""
    n = 2**21 + 64
    tails = np.arange(n - 1)
    graph = Graph.from_arcs(n, tails, tails + 1, np.full(n - 1, 2**32 - 3, np.uint32))
    wanted = np.arange(n, dtype=np.uint64) * np.uint64(2**32 - 3)
    assert np.array_equal(sssp.solve(graph, 0, "fast", "cpu").distances, wanted)
    one = apsp.instance({"graph": graph}, sources=1)
    assert apsp.differs(apsp.reference(one, [0, 1]), {"distances": wanted[None]}) is None
    wanted[-1] += 10**8
    assert "1 distances differ" in apsp.differs(apsp.reference(one, [0, 1]), {"distances": wanted[None]})
    for variant in ("scipy", "networkit"):
        for package in (sssp, apsp):
            if package.VARIANTS[variant].missing():
                continue
            with pytest.raises(
                Unavailable, match=r"has the length 9\.007\d+e\+15: float64 holds integers below 2\^53$"
            ):
                package.solve(graph, 0 if package is sssp else range(1), variant, "cpu")
