"""`fast` on matrices and dense graphs on the GPU, against blocked Floyd-Warshall and the check by squaring."""

import numpy as np
import pytest
from test_apsp_dense import closing

from saitan import apsp
from saitan.generators import GENERATORS
from saitan.graph import Graph
from saitan.problem import Unavailable
from saitan.tropical.semiring import INFINITE, SumOverflow

pytest.importorskip("pycuda.driver", exc_type=ImportError)
from saitan.apsp import cuda_few_arcs
from saitan.apsp.cuda_fast import Fast, NearFar
from saitan.apsp.instances import Instance

pytestmark = pytest.mark.gpu


def ring(n, weight, dtype):
    a = np.full((n, n), INFINITE[dtype])
    order = np.random.default_rng(n).permutation(n)
    a[order, np.roll(order, 1)] = weight
    return a


def complete(n, dtype):
    graph = GENERATORS["complete"](vertices=n, seed=1, weight_low=1, weight_high=100_000)
    return Graph(graph.offsets, graph.targets, graph.weights.astype(dtype))


def matrix(kind, n, dtype):
    rng = np.random.default_rng(n)
    scale = 1 if dtype == "float32" else 3000
    u = rng.random((n, n))
    if kind == "ring":
        return ring(n, 3, dtype)
    if kind == "uniform":
        a = u * scale
    elif kind == "ties":
        a = rng.integers(0, 4, (n, n))
    elif kind == "equal":
        a = np.full((n, n), 7)
    elif kind == "more arcs":
        a = (u + 0.01) * scale
    elif kind == "metric":
        a = (u + 1) * scale
    else:
        a = u * scale
        a[u < 0.5] = 0
    a = a.astype(dtype)
    if kind == "sparse":
        a[rng.random((n, n)) < 0.9] = INFINITE[dtype]
        a[n // 3] = a[:, n // 4] = a[n // 5, 9:] = INFINITE[dtype]
    if kind == "zeros" and dtype == "float32":
        a[a == 0] *= np.where(rng.random((a == 0).sum()) < 0.5, -1, 1)
    return a


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
@pytest.mark.parametrize("kind", ["uniform", "ties", "equal", "more arcs", "metric", "zeros", "sparse", "ring"])
@pytest.mark.parametrize("n", [513, 1100])
def test_equals_floyd_warshall(kind, dtype, n):
    a = matrix(kind, n, dtype)
    ours, theirs = (closing(variant, "cuda", matrix=a) for variant in ("fast", "floyd-warshall-blocked"))
    theirs.run([0, n])
    expected = theirs.answer()["distances"]
    theirs.close()
    for _ in range(2):
        ours.matrix.set(np.full_like(a, 77))
        run = ours.run([0, n])
        found = ours.answer()["distances"]
        if dtype == "float32":
            np.testing.assert_allclose(found, expected, rtol=1e-5)
        else:
            np.testing.assert_array_equal(found, expected)
    assert ours.validate().whole
    assert set(run.counters) <= set(apsp.METRICS)
    if kind in ("uniform", "sparse"):
        assert 24 <= run.counters["arcs_row"] < 28
    if kind == "more arcs" and n == 1100:
        assert 30 < run.counters["arcs_row"] < 80
    if kind in ("metric", "equal", "ring"):
        assert run.counters["arcs_row"] == 0
    ours.close()


def test_small_ones_are_left_to_floyd_warshall():
    solver = closing("fast", "cuda", matrix=matrix("uniform", 511, "float32"))
    assert solver.layout is None and solver.run([0, 511]).counters["arcs_row"] == 0 and solver.validate().whole
    solver.close()


@pytest.mark.parametrize("n", [100, 128, 600])
@pytest.mark.parametrize(("dtype", "weight"), [("float32", 3e38), ("int32", 2**28), ("uint16", 20_000)])
def test_sums_that_reach_infinity_are_reported(dtype, weight, n):
    for variant in ("fast", "floyd-warshall-blocked"):
        solver = closing(variant, "cuda", matrix=ring(n, weight, dtype))
        with pytest.raises(SumOverflow):
            solver.run([0, n])
        solver.close()


@pytest.mark.parametrize("weight", [np.uint32, np.float32])
def test_dense_graphs(weight):
    graph = complete(1800, weight)
    near_far = NearFar(Instance(graph, 1800))
    near_far.run([0, 1800])
    expected = near_far.answer()["distances"]
    near_far.close()
    solver = apsp.prepare(apsp.instance({"graph": graph}), "fast", "cuda")
    assert isinstance(solver, cuda_few_arcs.FewArcs)
    for query in ([0, 1800], [1790, 10]):
        run = solver.run(query)
        found = solver.answer()["distances"]
        np.testing.assert_allclose(found, expected[query[0] : sum(query)], rtol=0 if weight == np.uint32 else 1e-6)
        assert run.counters["arcs_row"] >= 24 and solver.validate().whole
    solver.close()
    for instance in (Instance(graph, 1799), Instance(graph, 1800, answer="slabs")):
        other = Fast(instance)
        assert type(other) is Fast
        other.close()


def test_a_matrix_leaves_as_a_whole():
    with pytest.raises(Unavailable, match="answer: matrix"):
        apsp.prepare(apsp.instance({}, n=600, answer="slabs"), "fast", "cuda")


def test_a_graph_whose_paths_may_not_fit_is_searched():
    graph = complete(1800, np.uint32)
    graph = Graph(graph.offsets, graph.targets, graph.weights * np.uint32(2**20))
    assert not cuda_few_arcs.suits_matrix(Instance(graph, 1800))
    assert cuda_few_arcs.suits_matrix(Instance(complete(1800, np.uint32), 1800))
    few = GENERATORS["random"](vertices=1800, arcs=7200, weight_low=1, weight_high=9, seed=1)
    assert not cuda_few_arcs.suits_matrix(Instance(few, 1800))


def undercut(a, rows):
    """Of some rows of a float matrix: the shortest ways of two or three arcs, loops left out."""
    a = a.astype(np.float64)
    np.fill_diagonal(a, np.inf)
    ways, shortest = np.full((len(rows), len(a)), np.inf), a[rows]
    for _ in range(2):
        ways = np.minimum(shortest, ways)
        ways[np.arange(len(rows)), rows] = np.inf
        ways = np.array([(way[:, None] + a).min(axis=0) for way in ways])
    return ways


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
@pytest.mark.parametrize(("n", "kind"), [(513, "sparse"), (1100, "uniform"), (1100, "zeros"), (2100, "more arcs")])
def test_arcs_that_no_way_undercuts_are_counted(n, kind, dtype):
    a = matrix(kind, n, dtype)
    solver = closing("fast", "cuda", matrix=a)
    mean = solver._direct_arcs()
    infinite = np.isinf(a) if dtype == "float32" else a == INFINITE[dtype]
    rows = (2 * np.arange(cuda_few_arcs.SAMPLED) + 1) * n // (2 * cuda_few_arcs.SAMPLED)
    ways = undercut(np.where(infinite, np.inf, a), rows)
    columns = np.arange(n) < cuda_few_arcs.COLUMNS
    shorter = (a[rows] < ways * (1 - 1e-6)) & ~infinite[rows] & columns
    shorter[np.arange(len(rows)), rows] = False
    told = int(solver._told.get().view(cuda_few_arcs.TOLD)[0]["direct"])
    assert abs(told - shorter.sum()) <= (shorter.sum() // 500 if dtype == "float32" else 0)
    assert mean == pytest.approx(told / cuda_few_arcs.SAMPLED * n / columns.sum())
    assert solver._pays
    solver.close()


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
@pytest.mark.parametrize("n", [513, 1100, 2100, 4200])
def test_what_is_nearly_metric_is_not_searched(n, dtype, monkeypatch):
    for a in (matrix("metric", n, dtype), matrix("equal", n, dtype)):
        take = cuda_few_arcs.FewArcs._take_least
        monkeypatch.setattr(cuda_few_arcs.FewArcs, "_take_least", lambda self: pytest.fail("it is searched"))
        solver = closing("fast", "cuda", matrix=a)
        assert solver.run([0, n]).counters["arcs_row"] == 0 and solver.validate().whole
        # A search that was in vain is not made again.
        monkeypatch.setattr(cuda_few_arcs.FewArcs, "_take_least", take)
        solver._weigh_least()
        solver._pays = True
        assert solver.run([0, n]).counters["arcs_row"] == 0 and solver.validate().whole and not solver._pays
        solver.close()
