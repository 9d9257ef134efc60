"""All pairs in slabs and as reductions, on the CPU."""

from types import SimpleNamespace

import networkx
import numpy as np
import pytest
from apsp_sweeps import grid
from hypothesis import given
from hypothesis import strategies as st
from test_apsp import TOP, assert_equals_scipy, by_scipy, random_graph
from test_sssp import graphs

from saitan import apsp
from saitan.apsp import streaming
from saitan.apsp.cpu import Batched
from saitan.apsp.cpu_fast import NearFar
from saitan.apsp.validate import CERTIFIED
from saitan.blocks import Digest, Rows
from saitan.graph import Graph
from saitan.problem import Block, Invalid, Misdeclared, Unavailable
from saitan.ranks import Ranks

VARIANTS = [name for name, variant in apsp.VARIANTS.items() if not variant.instance and variant.cpu]


def prepared(graph, answer, variant="fast", sources=0, backend="cpu"):
    return apsp.prepare(apsp.instance({"graph": graph}, sources=sources, answer=answer), variant, backend)


@pytest.fixture(autouse=True)
def short_slabs(monkeypatch):
    """A slab of seven rows of 300 vertices."""
    monkeypatch.setattr(streaming, "HOST_SLAB", 7 * 300 * 4)
    monkeypatch.setattr(streaming, "DEVICE_SLAB", 7 * 300 * 4)


@pytest.mark.parametrize("answer", ["slabs", "reductions"])
@pytest.mark.parametrize("lacking", ["produce", "slab", "dtype", "longest", "certificate", "transfer", "close"])
def test_a_solver_that_has_no_slabs_is_one_line(answer, lacking, monkeypatch):
    """An own variant that is a Solver and no more answers matrices."""

    class Mine:
        def __init__(self, instance):
            vars(self).update(dict.fromkeys(streaming._OF_A_SLAB))
            delattr(self, lacking)

    monkeypatch.setattr("saitan.apsp.cpu.Iterated", Mine)
    says = rf'^a solver of class Mine has no {lacking}, .*: instance={{"answer": \("matrix",\)}} of its Variant leaves '
    with pytest.raises(Misdeclared, match=says):
        prepared(random_graph(30, 120, 0, 50, np.uint32, 2), answer, "iterated")


def produces_none(self, query):
    Batched.produce(self, query)


@pytest.mark.parametrize(
    ("methods", "says"),
    [
        (
            {"__init__": lambda self, instance, *, task=16: None},
            r"Mine takes \(instance, .*: \(instance, tasks\) is",
        ),
        ({"produce": lambda self, first, count: None}, r"lambda> takes \(first, count\): produce\(query\) is right"),
        ({"produce": produces_none}, r"^produce of a solver of class Mine gives None: a Run is right$"),
    ],
)
@pytest.mark.parametrize("answer", ["slabs", "reductions"])
def test_a_class_that_is_not_as_slabs_want_it_is_one_line(answer, methods, says, monkeypatch):
    monkeypatch.setattr("saitan.apsp.cpu.Batched", type("Mine", (Batched,), methods))
    with pytest.raises(Misdeclared, match=says):
        prepared(random_graph(30, 120, 0, 50, np.uint32, 2), answer, "batched").run(
            [0, 30], *([print] if answer == "slabs" else [])
        )


@pytest.mark.parametrize("answer", ["True", "nothing", "right"])
def test_wrong_rows_are_seen_whatever_an_own_check_says(answer, monkeypatch):
    class Careless(Batched):
        def produce(self, query):
            run = super().produce(query)
            self.distances[3, 5] += 9
            return run

        def validate(self):
            return {"True": True, "nothing": None, "right": CERTIFIED}[answer]

    monkeypatch.setattr("saitan.apsp.cpu.Batched", Careless)
    solver = prepared(random_graph(30, 120, 1, 50, np.uint32, 2), "reductions", "batched")
    solver.run([0, 30])
    with pytest.raises(Invalid, match="from source 3"):
        solver.validate()


@pytest.mark.parametrize("variant", VARIANTS)
def test_slabs_are_the_matrix(variant):
    graph = random_graph(300, 1200, 0, 50, np.uint32, 2)
    for sources in (range(300), range(299, 300), range(3, 17)):
        rows, digest, whole = Rows(), Digest(), Digest()
        run = apsp.slabs(graph, rows, sources, variant, "cpu")
        apsp.slabs(graph, digest, sources, variant, "cpu")
        matrix = apsp.solve(graph, sources, variant, "cpu")
        whole(Block("distances", 0, matrix))
        assert np.array_equal(rows.answer()["distances"], matrix) and digest == whole
        assert run.counters["entries_s"] == pytest.approx(300 * len(sources) / run.kernel)


def test_a_run_is_checked_slab_by_slab():
    graph = random_graph(300, 1200, 0, 50, np.uint32, 2)
    solver = prepared(graph, "slabs")
    check = solver.checker([0, 300])
    solver.run([0, 300], check)
    assert check.finish().whole

    # What is handed out counts, not what the solver holds.
    def spoils(block):
        copy = block.array.copy()
        copy[len(copy) - 1, 5] += 1
        check(block._replace(array=copy))

    check = solver.checker([0, 300])
    with pytest.raises(Invalid, match="from source 6, vertex 5 "):
        solver.run([0, 300], spoils)
    check = solver.checker([3, 290])
    solver.run([3, 290], check)
    assert check.finish().whole
    check = solver.checker([3, 290])
    with pytest.raises(Invalid, match="from source 9, vertex 5 "):
        solver.run([3, 290], spoils)
    check = solver.checker([0, 300])
    solver.run([0, 100], check)
    with pytest.raises(Invalid, match="100 rows came, not 300"):
        check.finish()


@given(graphs(), st.sampled_from([1, 2, 50]))
def test_reductions_are_those_of_scipys_rows(case, rows):
    graph = case[0]
    streaming.HOST_SLAB = rows * graph.n * 4
    found = by_scipy(graph, 0, graph.n)
    there = np.isfinite(found)
    got = apsp.reductions(graph, backend="cpu")
    assert np.array_equal(got["reached"], there.sum(axis=1))
    exact = graph.weights.dtype == np.uint32
    slack = 1e-12 if exact else 2 * graph.n * np.finfo(np.float32).eps
    np.testing.assert_allclose(got["eccentricity"], np.where(there, found, 0).max(axis=1), rtol=0 if exact else slack)
    np.testing.assert_allclose(got["total"], np.where(there, found, 0).sum(axis=1), rtol=slack)


def test_closeness_is_networkx_of_the_graph_turned_round():
    graph = random_graph(120, 200, 1, 50, np.uint32, 2)
    theirs = networkx.DiGraph()
    theirs.add_nodes_from(range(120))
    for s, t, w in zip(graph.sources.tolist(), graph.targets.tolist(), graph.weights.tolist(), strict=True):
        theirs.add_edge(t, s, distance=min(w, theirs.get_edge_data(t, s, {"distance": w})["distance"]))
    wanted = networkx.closeness_centrality(theirs, distance="distance")
    got = apsp.reductions(graph, backend="cpu")["closeness"]
    np.testing.assert_allclose(got, [wanted[v] for v in range(120)], rtol=1e-12)
    assert (got == 0).any()


def test_closeness_of_what_is_at_distance_0_is_networkx():
    graph = Graph.from_arcs(3, [0, 1, 2], [1, 2, 0], np.zeros(3, np.uint32))
    theirs = networkx.DiGraph([(0, 1, {"d": 0}), (1, 2, {"d": 0}), (2, 0, {"d": 0})])
    assert [*networkx.closeness_centrality(theirs, distance="d").values()] == [0.0] * 3
    assert apsp.reductions(graph, backend="cpu")["closeness"].tolist() == [0.0] * 3


def test_reductions_that_are_wrong_are_refused(monkeypatch):
    graph = random_graph(300, 1200, 1, 50, np.uint32, 2)
    solver = prepared(graph, "reductions")
    solver.run([0, 300])
    assert solver.validate().whole
    solver._answer["total"][17] += 1
    with pytest.raises(Invalid, match="total"):
        solver.validate()
    reduce = solver.reduce

    def off_by_one(inner):
        seconds, (eccentricity, reached, total) = reduce(inner)
        return seconds, (eccentricity, reached - 1, total)

    solver.reduce, solver._certified = off_by_one, {}
    solver.run([0, 300])
    with pytest.raises(Invalid, match="NumPy has"):
        solver.validate()


def test_reductions_have_a_reference():
    graph = random_graph(300, 1200, 0, 50, np.uint32, 2)
    instance = apsp.instance({"graph": graph}, answer="reductions")
    reference = apsp.reference(instance, [0, 300])
    answer = apsp.reductions(graph, backend="cpu")
    rows = {name: values[reference.rows] for name, values in answer.items()}
    assert apsp.differs(reference, rows) is None
    rows["eccentricity"][3] += 1
    assert f"row {reference.rows[3]}" in apsp.differs(reference, rows)


@pytest.mark.parametrize("answer", ["slabs", "reductions"])
def test_a_sum_that_needs_64_bits_widens_every_slab(answer):
    # Only the last sources reach what is too far.
    graph = Graph.from_arcs(300, [297, 298], [298, 299], np.array([2**32 - 2, 2**32 - 2], np.uint32))
    if answer == "reductions":
        found = apsp.reductions(graph, backend="cpu")["eccentricity"]
        assert found.dtype == np.uint64 and found[297] == 2**33 - 4
        return
    rows = Rows()
    apsp.slabs(graph, rows, backend="cpu")
    found = rows.answer()["distances"]
    assert found.dtype == np.uint64 and found[297, 299] == 2**33 - 4 and found[0, 1] == 2**64 - 1


def test_totals_that_64_bits_may_not_hold_are_refused():
    # A certificate adds up in 64 bits too.
    weight, n = 2**32 - 1, 100_000
    path = Graph.from_arcs(n, np.arange(n - 1), np.arange(1, n), np.full(n - 1, weight))
    solver = prepared(path, "reductions", sources=2)
    solver.run([n // 2, 2])
    assert solver.answer()["total"].tolist() == [weight * k * (k + 1) // 2 for k in (n // 2 - 1, n // 2 - 2)]
    with pytest.raises(Unavailable, match=r"^the distances from source 1 may add up to 2\^64 or more"):
        solver.run([1, 2])


@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
def test_a_sum_that_is_no_distance_widens_every_slab_too(dtype):
    # Vertex 299 alone has a loop whose sum does not fit.
    long = TOP - 9 if dtype == np.uint32 else np.float32(1.8e38)
    graph = Graph.from_arcs(300, [298, 299], [299, 299], np.array([long, long], dtype))
    rows = Rows()
    apsp.slabs(graph, rows, backend="cpu")
    # Most rows of the whole matrix follow from others, without that sum.
    for distances in (rows.answer()["distances"], apsp.solve(graph, backend="cpu")):
        assert_equals_scipy(graph, range(300), distances)
    assert {block.array.dtype for block in rows._kept} == {np.dtype(f"{np.dtype(dtype).kind}8")}


def test_slabs_of_two_types_are_refused(monkeypatch):
    graph = Graph.from_arcs(300, [297, 298], [298, 299], np.array([TOP - 1, TOP - 1], np.uint32))
    solver = prepared(graph, "slabs")
    solver._fits = True
    with pytest.raises(Invalid, match="uint64, those before uint32"):
        solver.run([0, 300], lambda block: None)


def test_what_does_not_leave_in_slabs_says_so():
    with pytest.raises(Unavailable, match="floyd-warshall takes answer matrix only, not slabs"):
        prepared(grid(4, 4), "slabs", "floyd-warshall")


def test_a_matrix_that_does_not_fit_says_what_would(monkeypatch):
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"available": 2**20}))
    with pytest.raises(Unavailable, match=r"64\.0 MiB of memory are needed, 1\.0 MiB are available; `answer: slabs`"):
        prepared(grid(64, 64), "matrix")
    graph = grid(64, 64)
    prepared(graph, "reductions")
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"available": 2**10}))
    with pytest.raises(Unavailable, match=r"16\.0 KiB of memory are needed, 1\.0 KiB are available$"):
        prepared(graph, "reductions")


def test_reductions_are_checked_in_one_pass():
    graph = random_graph(300, 1200, 1, 50, np.uint32, 2)
    solver = prepared(graph, "reductions")
    solver.run([0, 300])
    produced, produce = [], solver.solver.produce
    solver.solver.produce = lambda query: (produced.append(query[0]), produce(query))[1]
    solver.validate()
    assert produced == list(range(0, 300, 7))
    solver.validate()
    assert len(produced) == 43


def test_slabs_that_are_done_are_left_out():
    graph = random_graph(300, 1200, 0, 50, np.uint32, 2)
    solver = prepared(graph, "slabs")
    assert solver.slabs(30) == {0: 7, 7: 7, 14: 7, 21: 7, 28: 2}
    solver.done = frozenset({7, 28})
    check, came = solver.checker([3, 30]), []

    def sink(block):
        came.append((block.first, len(block.array)))
        check(block)
        assert np.array_equal(
            block.array, apsp.solve(graph, range(3 + block.first, 3 + block.first + 7), "fast", "cpu")
        )

    solver.run([3, 30], sink)
    assert came == [(0, 7), (14, 7), (21, 7)] and check.finish().whole
    solver.done = frozenset(range(0, 30, 7))
    assert solver.run([3, 30], sink).counters == {} and len(came) == 3


def test_counts_of_slabs_add_up(monkeypatch):
    solver = prepared(random_graph(300, 1200, 0, 50, np.uint32, 2), "slabs", "batched")
    made, produce = [], solver.solver.produce
    monkeypatch.setattr(solver.solver, "produce", lambda query: made.append(produce(query)) or made[-1])
    run = solver.run([0, 30], lambda block: None)
    assert len(made) == 5 and run.kernel == pytest.approx(sum(one.kernel for one in made)) and run.total >= run.kernel
    for name, value in run.counters.items():
        if name in streaming.SUMS:
            assert value == sum(one.counters[name] for one in made)
        elif name not in ("entries_s", "launches"):
            assert value == made[-1].counters[name]
    assert run.work == {name: sum(one.work[name] for one in made) for name in made[0].work}
    if "launches" in run.counters:
        assert run.counters["launches"] == run.counters["phases"] / 30


class Certifies:
    """A certificate by which all is right."""

    def __init__(self):
        self.asked = []

    def check(self, first, distances):
        self.asked.append((first, len(distances)))


def test_a_slab_that_is_not_the_next_is_refused():
    def block(first, rows):
        return Block("distances", first, np.empty((rows, 3), np.uint32))

    certificate = Certifies()
    check = streaming.SlabChecker(certificate, 5, {0: 7, 7: 7, 14: 2}, Ranks())
    check(block(0, 7))
    for wrong, says in ((0, "0, not 7"), (14, "14, not 7"), (8, "8, not 7")):
        with pytest.raises(Invalid, match=f"^a slab begins at row {says}$"):
            check(block(wrong, 7))
    check(block(7, 7))
    with pytest.raises(Invalid, match=r"^14 rows came, not 16$"):
        check.finish()
    check(block(14, 1))
    with pytest.raises(Invalid, match=r"^15 rows came, not 16$"):
        check.finish()
    with pytest.raises(Invalid, match=r"^a slab begins at row 16, not None$"):
        check(block(16, 1))
    assert certificate.asked == [(5, 7), (12, 7), (19, 1)]


def of_two_ranks(*other):
    """The first of two ranks; `other`: what the second one says in turn."""
    says = iter(other)
    return SimpleNamespace(size=2, each=lambda own: [own, next(says)])


# Of the other rank: its rows, and the slabs that it did not see.
@pytest.mark.parametrize(("rows", "left", "whole"), [(9, {0}, 1), (9, {0, 7}, 0), (8, {0}, 0), (10, {0}, 0)])
def test_slabs_of_several_ranks_come_in_any_order_and_all_of_them(rows, left, whole):
    check = streaming.SlabChecker(Certifies(), 0, {0: 7, 7: 7, 14: 2}, of_two_ranks(rows, left))
    check(Block("distances", 0, np.empty((7, 3), np.uint32)))
    if whole:
        assert check.finish().whole
    else:
        with pytest.raises(Invalid, match=f"^{rows + 7} rows came, not 16$"):
            check.finish()
    # A rank need not begin with the first slab, nor go on with the next.
    check = streaming.SlabChecker(Certifies(), 0, {0: 7, 7: 7, 14: 2}, of_two_ranks(7, {7, 14}))
    check(Block("distances", 14, np.empty((2, 3), np.uint32)))
    check(Block("distances", 7, np.empty((7, 3), np.uint32)))
    assert check.finish().whole


class Short(NearFar):
    """Its answers lack their last row."""

    def run(self, query):
        run = super().run(query)
        self.distances = self.distances[:-1]
        return run


class Listed(NearFar):
    """Its answers are no arrays."""

    def run(self, query):
        run = super().run(query)
        self.distances = self.distances.tolist()
        return run


class Unasked(NearFar):
    """Takes its query without `range_of`."""

    def run(self, query):
        run = super().run(query)
        self.sources = None
        return run


def checked(solver, query, answer):
    if answer == "slabs":
        check = solver.checker(query)
        solver.run(query, check)
        return check.finish()
    solver.run(query)
    return solver.validate()


@pytest.mark.parametrize("answer", ["matrix", "slabs", "reductions"])
@pytest.mark.parametrize(
    ("solver", "says"),
    [
        (Short, r"^distances have the shape \(8, 20\): \(9, 20\) is right$"),
        (Listed, r"^distances are \[\[.*: a NumPy array is right$"),
    ],
)
def test_an_answer_that_lacks_a_row_or_is_no_array_is_refused(solver, says, answer, monkeypatch):
    monkeypatch.setattr(type(apsp.VARIANTS["fast"]), "load", lambda *_: solver)
    with pytest.raises(Invalid, match=says):
        checked(prepared(grid(5, 4), answer, sources=9), [3, 9], answer)


@pytest.mark.parametrize("answer", ["matrix", "slabs", "reductions"])
def test_a_solver_may_take_its_query_itself(answer, monkeypatch):
    monkeypatch.setattr(type(apsp.VARIANTS["fast"]), "load", lambda *_: Unasked)
    assert checked(prepared(grid(5, 4), answer, sources=9), [3, 9], answer).whole
