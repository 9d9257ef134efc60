"""Every CPU variant of all-pairs shortest paths against SciPy's Dijkstra."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph
from test_sssp import a_way_round_too_long, graphs, updated_by_numpy

from saitan import apsp
from saitan.apsp.instances import paper_bytes
from saitan.generators import GENERATORS
from saitan.graph import Graph
from saitan.problem import Invalid, Unavailable
from saitan.sssp import unreachable

CPU = [name for name, v in apsp.VARIANTS.items() if v.cpu and not v.missing()]
# Dense matrices have no 64-bit distances.
DENSE = ["floyd-warshall-blocked", "closure", "scipy-floyd-warshall"]
OURS = [name for name in CPU if not apsp.VARIANTS[name].foreign and name not in DENSE]
FLOATS = [name for name in CPU if "integer" not in apsp.VARIANTS[name].graph]
BATCHED = ["batched", "batched-unshared"]

TOP = 2**32 - 1


def random_graph(n, m, low, high, dtype, seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(low, high, m).astype(dtype)
    return Graph.from_arcs(n, rng.integers(0, n, m), rng.integers(0, n, m), weights)


def by_scipy(graph, first, count):
    return csgraph.dijkstra(graph.to_scipy(), indices=np.arange(first, first + count))


def assert_equals_scipy(graph, sources, distances):
    """Exact for integers; floats within the rounding of a float32 sum of at most n terms, on either side."""
    values = np.where(distances == unreachable(distances.dtype), np.inf, distances.astype(np.float64))
    expected = by_scipy(graph, sources.start, len(sources))
    if distances.dtype.kind == "f":
        assert np.allclose(values, expected, rtol=2 * graph.n * np.finfo(np.float32).eps, atol=0)
    else:
        assert np.array_equal(values, expected)


@pytest.mark.parametrize("variant", CPU)
@given(case=graphs(), data=st.data())
def test_equals_scipy(variant, case, data):
    graph, first = case
    if variant not in FLOATS and graph.weights.dtype == np.float32:
        return
    sources = range(first, data.draw(st.integers(first + 1, graph.n)))
    try:
        distances = apsp.solve(graph, sources, variant, "cpu")
    except Unavailable:
        assert variant in DENSE
        weights = graph.weights.tolist()
        if graph.weights.dtype == np.float32:
            assert max(weights) * graph.n >= float(np.finfo(np.float32).max)
        else:
            # A path, which is no longer than all arcs together, and one arc more may reach int32's infinity.
            assert sum(weights) + max(weights) >= 2**30 - 1
        return
    assert distances.shape == (len(sources), graph.n)
    assert_equals_scipy(graph, sources, distances)


@pytest.mark.parametrize("variant", [v for v in CPU if v not in DENSE])
@pytest.mark.parametrize(("weights", "dtype"), [("uint32", "uint32"), ("float32", "float32"), ("long", "uint64")])
def test_every_variant_answers_in_the_weights_type(variant, weights, dtype):
    if weights == "float32" and variant not in FLOATS:
        return
    drawn = np.array([TOP - 2, 5, 1], np.uint32) if weights == "long" else np.array([7, 5, 1], weights)
    distances = apsp.solve(Graph.from_arcs(4, [0, 1, 2], [1, 2, 1], drawn), None, variant, "cpu")
    far = unreachable(dtype)
    assert distances.dtype == dtype
    assert distances[0].tolist() == [0, drawn[0], int(drawn[0]) + 5, far] and distances[3].tolist() == [far] * 3 + [0]


@pytest.mark.parametrize("variant", DENSE)
def test_dense_matrices_say_where_a_path_may_not_fit(variant):
    top = 2**30 - 2
    for weights, fits in (([top], False), ([top // 2] * 2, False), ([2**28] * 2, True), ([2**30 - 1], False)):
        line = Graph.from_arcs(3, np.arange(len(weights)), np.arange(1, len(weights) + 1), np.array(weights, np.uint32))
        if fits:
            assert_equals_scipy(line, range(3), apsp.solve(line, None, variant, "cpu"))
        else:
            with pytest.raises(Unavailable, match="fast"):
                apsp.solve(line, None, variant, "cpu")
    floats = Graph.from_arcs(3, [0, 1], [1, 2], np.full(2, np.float32(2e38)))
    with pytest.raises(Unavailable, match="fast answers with 64 bits"):
        apsp.solve(floats, None, variant, "cpu")


@pytest.mark.parametrize("variant", DENSE)
@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
def test_dense_matrices_are_validated(variant, dtype):
    graph = random_graph(90, 500, 0, 1000, dtype, 4)
    solver = apsp.prepare(apsp.instance({"graph": graph}), variant, "cpu")
    solver.run([20, 70])
    solver.validate()
    assert_equals_scipy(graph, range(20, 90), solver.answer()["distances"])
    wrong = solver.distances if dtype == np.uint32 else solver.c
    wrong[-1, -2] += 100
    with pytest.raises(Invalid):
        solver.validate()


@pytest.mark.parametrize("variant", BATCHED)
@pytest.mark.parametrize("tasks", [8, 16, 32, 64, 128])
def test_sources_that_are_no_multiple_of_the_tasks(variant, tasks):
    graph = random_graph(131, 500, 1, 50, np.uint32, tasks)
    expected = by_scipy(graph, 0, graph.n)
    for sources in (range(131), range(130, 131), range(3, 3 + tasks), range(2, min(131, 3 + tasks))):
        distances = apsp.solve(graph, sources, variant, "cpu", tasks=tasks)
        values = np.where(distances == TOP, np.inf, distances)
        assert np.array_equal(values, expected[sources.start : sources.stop])


@pytest.mark.parametrize(
    ("generator", "parameters"),
    [
        ("random", {"vertices": 100, "arcs": 400, "weight_low": 1, "weight_high": 100}),
        ("rmat", {"vertices": 100, "arcs": 700, "a": 0.57, "b": 0.19, "c": 0.19, "weight_low": 0, "weight_high": 9}),
        ("ring", {"vertices": 37}),
        ("complete", {"vertices": 41, "weight_low": 0, "weight_high": 3}),
    ],
)
@pytest.mark.parametrize("variant", CPU)
def test_the_papers_families(variant, generator, parameters):
    graph = GENERATORS[generator](**parameters, seed=2)
    distances = apsp.solve(graph, None, variant, "cpu")
    assert_equals_scipy(graph, range(graph.n), distances)


@pytest.mark.parametrize("variant", [v for v in OURS if v in FLOATS])
def test_variants_agree_to_the_bit(variant):
    rng = np.random.default_rng(3)
    weights = (rng.integers(0, 50_000, 1200) / 7).astype(np.float32)
    graph = Graph.from_arcs(300, rng.integers(0, 300, 1200), rng.integers(0, 300, 1200), weights)
    assert apsp.solve(graph, None, variant, "cpu").tobytes() == apsp.solve(graph, None, "iterated", "cpu").tobytes()


@pytest.mark.parametrize("variant", OURS)
def test_a_sum_beyond_32_bits_widens_and_never_wraps(variant):
    line = Graph.from_arcs(4, np.arange(3), np.arange(1, 4), np.full(3, TOP, np.uint32))
    distances = apsp.solve(line, None, variant, "cpu")
    far = 2**64 - 1
    assert distances.dtype == np.uint64
    assert distances.tolist() == [
        [0, TOP, 2 * TOP, 3 * TOP],
        [far, 0, TOP, 2 * TOP],
        [far, far, 0, TOP],
        [far, far, far, 0],
    ]
    if variant in FLOATS:
        floats = Graph.from_arcs(3, np.arange(2), np.arange(1, 3), np.full(2, np.float32(3e38)))
        assert apsp.solve(floats, None, variant, "cpu")[0, 2] == 2 * float(np.float32(3e38))


@pytest.mark.parametrize("variant", OURS)
def test_the_largest_sum_of_32_bits_stays(variant):
    graph = Graph.from_arcs(3, [0, 1], [1, 2], np.array([TOP - 3, 2], np.uint32))
    distances = apsp.solve(graph, None, variant, "cpu")
    assert distances.dtype == np.uint32 and distances[0].tolist() == [0, TOP - 3, TOP - 1]
    graph = Graph.from_arcs(3, [0, 1], [1, 2], np.array([TOP - 3, 3], np.uint32))
    distances = apsp.solve(graph, None, variant, "cpu")
    assert distances.dtype == np.uint64 and distances[0].tolist() == [0, TOP - 3, TOP]


@pytest.mark.parametrize("variant", OURS)
def test_the_type_depends_on_the_distances_alone(variant):
    graph = a_way_round_too_long(np.uint32(TOP - 2))
    assert apsp.prepare(apsp.instance({"graph": graph}), "batched", "cpu").run([0, 3]).counters["distance_bits"] == 64
    distances = apsp.solve(graph, None, variant, "cpu")
    assert distances.dtype == np.uint32 and distances.tolist() == [[0, TOP - 2, 1], [TOP, 0, TOP - 2], [TOP, TOP, 0]]


@pytest.mark.parametrize("variant", ["batched", "fast"])
def test_the_type_of_eccentricities_depends_on_them_alone(variant):
    found = apsp.reductions(a_way_round_too_long(np.uint32(TOP - 2)), None, variant, "cpu")["eccentricity"]
    assert found.dtype == np.uint32 and found.tolist() == [TOP - 2, TOP - 2, 0]


@pytest.mark.parametrize("variant", OURS)
def test_a_wide_solver_stays_right_for_the_next_range(variant):
    graph = Graph.from_arcs(5, np.arange(4), np.arange(1, 5), np.array([TOP, TOP, 1, 1], np.uint32))
    solver = apsp.prepare(apsp.instance({"graph": graph}), variant, "cpu")
    for query in ([0, 5], [3, 2], [0, 1]):
        run = solver.run(query)
        solver.validate()
        assert run.counters["distance_bits"] == 64
        assert_equals_scipy(graph, range(query[0], sum(query)), solver.answer()["distances"])


def test_phases_are_the_papers():
    graph = random_graph(150, 600, 1, 99, np.uint32, 5)
    phases = [len(updated_by_numpy(graph, source)) for source in range(150)]
    runs = {
        name: apsp.prepare(apsp.instance({"graph": graph}), name, "cpu").run([0, 150])
        for name in ("iterated", *BATCHED)
    }
    assert runs["iterated"].counters["phases"] == sum(phases)
    assert runs["iterated"].counters["launches"] == sum(phases) / 150
    for name in BATCHED:
        # The tasks of a batch end with the last of them; 150 is no multiple of 32.
        assert runs[name].counters["phases"] == sum(max(phases[low : low + 32]) for low in range(0, 150, 32))


def test_no_sum_is_longer_than_a_heaviest_arc_a_vertex():
    graph = Graph.from_arcs(6, [0, 1, 2], [1, 2, 3], np.array([2, 7, 3], np.uint32))
    assert apsp.instance({"graph": graph}).longest == 42


def test_memory_by_the_papers_formula():
    graph = random_graph(100, 300, 1, 9, np.uint32, 1)
    assert paper_bytes(graph, 1) == 4 * (4 * 100 + 2 * 300)
    assert paper_bytes(graph, 32) == 4 * (97 * 100 + 2 * 300)
    run = apsp.prepare(apsp.instance({"graph": graph}), "batched", "cpu", tasks=16).run([0, 100])
    assert run.counters["paper_bytes"] == paper_bytes(graph, 16)


@pytest.mark.parametrize("variant", OURS)
def test_nothing_of_an_earlier_answer_is_left(variant):
    graph = random_graph(40, 60, 1, 9, np.uint32, 4)
    solver = apsp.prepare(apsp.instance({"graph": graph}), variant, "cpu")
    solver.run([0, 40])
    solver.matrix[:] = 12345
    solver.run([7, 20])
    solver.validate()
    assert_equals_scipy(graph, range(7, 27), solver.answer()["distances"])


def test_an_instance_is_a_leading_range_of_sources():
    graph = random_graph(20, 60, 1, 9, np.uint32, 1)
    assert apsp.queries(apsp.instance({"graph": graph}), 8, 1) == [[0, 20]]
    assert apsp.queries(apsp.instance({"graph": graph}, sources=7), 8, 1) == [[0, 7]]
    with pytest.raises(Unavailable, match="sources must be at most 20"):
        apsp.instance({"graph": graph}, sources=21)
    with pytest.raises(ValueError, match="sources must be at least 0, not -1"):
        apsp.instance({"graph": graph}, sources=-1)
    with pytest.raises(ValueError, match="apsp has no parameter 'source'"):
        apsp.instance({"graph": graph}, source=3)


def test_bad_calls_say_what_would_be_right():
    graph = random_graph(20, 60, 1, 9, np.uint32, 1)
    with pytest.raises(ValueError, match=r"unknown variant 'dijkstra' .*iterated"):
        apsp.solve(graph, None, "dijkstra")
    with pytest.raises(ValueError, match="unknown backend 'gpu'"):
        apsp.solve(graph, None, "batched", "gpu")
    for sources in (range(0), range(5, 21), range(0, 10, 2), range(-1, 3), [3], list(range(1000))):
        says = r"^sources must be a range of step 1 within \[0, 20\), not empty, not .{1,60}$"
        with pytest.raises(ValueError, match=says):
            apsp.solve(graph, sources, "batched", "cpu")
    with pytest.raises(ValueError, match=r"not ndarray$"):
        apsp.solve(graph, np.arange(2).reshape(2, 1), "batched", "cpu")
    with pytest.raises(ValueError, match="tasks must be one of 8, 16, 32, 64, 128, not 33"):
        apsp.solve(graph, None, "batched", "cpu", tasks=33)
    with pytest.raises(Unavailable, match="has no weights"):
        apsp.solve(Graph.from_arcs(2, [0], [1]), None, "batched", "cpu")
    floats = random_graph(5, 9, 1, 9, np.float32, 1)
    for variant in ("floyd-warshall", "sweep"):
        with pytest.raises(Unavailable, match=f"^{variant} needs integer weights, not float32$"):
            apsp.solve(floats, None, variant, "cpu")
    with pytest.raises(Unavailable, match=r"^sweep needs integer weights, not float32 \(these can: .*fast\)$"):
        apsp.compress(floats, "never written", "sweep", "cpu")
    solver = apsp.prepare(apsp.instance({"graph": graph}, sources=7), "batched", "cpu")
    for query in ([0, 8], [0, 0], [14, 7], [-1, 3]):
        with pytest.raises(ValueError, match="sources from") if query != [14, 7] else pytest.raises(ValueError):
            solver.run(query)


@pytest.mark.parametrize("variant", ["iterated", "batched", "floyd-warshall", "floyd-warshall-blocked", "fast"])
def test_every_solver_checks_its_own_answer(variant):
    graph = random_graph(40, 200, 1, 40, np.uint32, 3)
    solver = apsp.prepare(apsp.instance({"graph": graph}), variant, "cpu")
    solver.run([0, 40])
    solver.validate()
    solver.distances[39, 7] += 1
    with pytest.raises(Invalid, match=r"^from source 39, vertex "):
        solver.validate()


def test_reference_tells_a_wrong_row():
    graph = random_graph(50, 200, 1, 9, np.uint32, 2)
    reference = apsp.reference(apsp.instance({"graph": graph}), [10, 30])
    assert reference.rows[0] == 0 and reference.rows[-1] == 29 and len(reference.rows) == 8
    right = apsp.solve(graph, range(10, 40), "batched", "cpu")[reference.rows]
    assert apsp.differs(reference, {"distances": right}) is None
    wrong = right.copy()
    wrong[-1, 49] += 1
    assert "1 distances differ, the first in row 29 at vertex 49" in apsp.differs(reference, {"distances": wrong})
    reached = np.where(right == TOP, np.inf, right).astype(np.float32)
    assert apsp.differs(reference, {"distances": reached}) is None
    # The allowance is that of the longest path of the rows compared.
    slack = float(reference.arrays["relative"][0])
    for factor, same in ((0.9, True), (1.2, False)):
        near = reached.copy()
        near[0, 3] = np.float32(near[0, 3] * (1 + factor * slack))
        assert (apsp.differs(reference, {"distances": near}) is None) == same
    assert apsp.differs(reference, {"distances": right[:1]}) == "distances have the shape (1, 50): (8, 50) is right"
    assert apsp.differs(reference, {}) == "there are no distances"
    assert re.fullmatch(
        r"distances are \[\[.*\.\.\.: a NumPy array is right", apsp.differs(reference, {"distances": right.tolist()})
    )
    sums = apsp.instance({"graph": graph}, answer="reductions")
    answer = apsp.reductions(graph, range(10, 40), "batched", "cpu")
    reference = apsp.reference(sums, [10, 30])
    answer = {name: values[reference.rows] for name, values in answer.items()}
    assert apsp.differs(reference, answer | {"distances": right}) is None
    answer["eccentricity"] = answer["eccentricity"] + 1
    assert "of eccentricity differ" in apsp.differs(reference, answer)
