"""Closures of dense matrices on the CPU: the public calls on matrices, paths, and the instances of experiments."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saitan import apsp, tropical
from saitan.apsp.dense import closing_dtype, closure_rows, graph_matrix
from saitan.apsp.rounding import closing_additions, rounded
from saitan.graph import Graph
from saitan.problem import Unavailable
from saitan.sssp import unreachable
from saitan.tropical.semiring import INFINITE, infinity, mirrored

DTYPES = ("float32", "int32", "uint16")
DENSE = ("closure", "floyd-warshall-blocked", "scipy-floyd-warshall")


def closing(variant, backend="cpu", *, semiring="min_plus", matrix=None, **parameters):
    """A solver of a matrix, or of a random one."""
    inputs = {} if matrix is None else {"matrix": mirrored(matrix, semiring)}
    return apsp.prepare(apsp.instance(inputs, **parameters), variant, backend)


@st.composite
def digraphs(draw):
    """A square matrix to be closed; paths of a few arcs stay finite."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    semiring = draw(st.sampled_from(("min_plus", "max_plus"))) if dtype != np.uint16 else "min_plus"
    n = draw(st.integers(1, 150))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    a = rng.integers(0, 50, (n, n)).astype(dtype)
    a[rng.random((n, n)) < rng.choice([0, 0.5, 0.95, 0.99])] = INFINITE[dtype.name]
    return mirrored(a, semiring), semiring


@settings(max_examples=25, deadline=None)
@given(digraphs(), st.sampled_from(("closure", "floyd_warshall")))
def test_closure_equals_scipy(digraph, call):
    a, semiring = digraph
    found = getattr(tropical, call)(a, semiring, backend="cpu")
    peer = closing("scipy-floyd-warshall", matrix=a, semiring=semiring)
    peer.run([0, len(a)])
    np.testing.assert_array_equal(found, mirrored(peer.answer()["distances"], semiring))


def a_closure_follows_a_path_through_all_vertices(n, call, backend):
    """Its ends take as many squarings as there are, and every block of Floyd-Warshall."""
    order = np.random.default_rng(n).permutation(n)
    a = np.full((n, n), INFINITE["int32"])
    a[order[:-1], order[1:]] = np.arange(1, n)
    closed = getattr(tropical, call)(a, backend=backend)
    lengths = np.concatenate([[0], np.cumsum(np.arange(1, n))])
    expected = np.where(np.subtract.outer(lengths, lengths) <= 0, np.subtract.outer(-lengths, -lengths), 2**30 - 1)
    np.testing.assert_array_equal(closed[np.ix_(order, order)], expected)


@pytest.mark.parametrize("call", ["closure", "floyd_warshall"])
@pytest.mark.parametrize("n", [2, 3, 33, 65, 130, 300])
def test_a_closure_follows_a_path_through_all_vertices(n, call):
    a_closure_follows_a_path_through_all_vertices(n, call, "cpu")


@pytest.mark.parametrize("dtype", DTYPES)
def test_fast_takes_matrices_too(dtype):
    instance = apsp.instance({}, n=90, infinite=0.5, dtype=dtype)
    fast, closure = (apsp.prepare(instance, variant, "cpu") for variant in ("fast", "floyd-warshall-blocked"))
    for solver in (fast, closure):
        solver.run([0, 90])
    assert fast.validate().whole
    np.testing.assert_array_equal(fast.answer()["distances"], closure.answer()["distances"])
    with pytest.raises(Unavailable, match="answers `answer: matrix` only, not slabs"):
        apsp.prepare(apsp.instance({}, n=90, answer="slabs"), "fast", "cpu")


def test_closure_refuses():
    with pytest.raises(ValueError, match="square"):
        tropical.closure(np.ones((3, 4), np.float32), backend="cpu")
    with pytest.raises(ValueError, match="non-negative"):
        tropical.closure(-np.ones((3, 3), np.float32), backend="cpu")


@given(digraphs(), st.sampled_from(("closure", "floyd_warshall")))
def test_paths_are_as_long_as_the_closure_says(digraph, call):
    a, semiring = digraph
    closed = getattr(tropical, call)(a, semiring, backend="cpu")
    # Every arc of a path may be longer than a tight one by what its two ends are rounded.
    slack = 2 * len(a) * rounded(closing_additions(len(a))) if a.dtype == np.float32 else 0
    for source in range(min(len(a), 2)):
        for target in range(len(a)):
            route = tropical.path(a, closed, source, target, semiring)
            if closed[source, target] == infinity(a.dtype, semiring):
                assert not len(route)
                continue
            assert route[0] == source and route[-1] == target and len(set(route)) == len(route)
            length = sum(float(a[u, v]) for u, v in pairwise(route))
            assert np.isclose(length, float(closed[source, target]), rtol=slack, atol=0)


def test_path_through_a_circle_of_zeros_and_what_it_refuses():
    a = np.full((5, 5), INFINITE["int32"])
    for u, v, weight in ((0, 1, 0), (1, 2, 0), (2, 0, 0), (2, 3, 7), (0, 4, 0), (4, 0, 0)):
        a[u, v] = weight
    closed = tropical.closure(a, backend="cpu")
    assert tropical.path(a, closed, 0, 3).tolist() == [0, 1, 2, 3]
    assert tropical.path(a, closed, 3, 3).tolist() == [3] and not len(tropical.path(a, closed, 3, 0))
    with pytest.raises(ValueError, match=r"target 5 is not in \[0, 5\)"):
        tropical.path(a, closed, 0, 5)
    with pytest.raises(ValueError, match="are no matrix and its closure"):
        tropical.path(a, closed[:4], 0, 1)
    with pytest.raises(ValueError, match="the closure is not that of this matrix"):
        tropical.path(a, closed * 2, 0, 3)
    with pytest.raises(ValueError, match=r"^entry \(3, 3\) is not 0: the closure is not that of this matrix$"):
        tropical.path(a, closed + 1, 0, 3)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("semiring", ["min_plus", "max_plus"])
def test_no_path_is_said_only_where_the_matrices_belong_together(dtype, semiring):
    none = INFINITE[dtype] if dtype == "int32" else np.inf
    a = np.array([[0, 1, none], [none, 0, 2], [none, none, 0]], dtype)
    transposed = np.ascontiguousarray(a.T)
    if semiring == "max_plus":
        a, transposed = -a, -transposed
    closed = tropical.closure(a, semiring, backend="cpu")
    other = tropical.closure(transposed, semiring, backend="cpu")
    assert tropical.path(a, closed, 0, 2, semiring).tolist() == [0, 1, 2]
    assert not len(tropical.path(a, closed, 2, 0, semiring))
    for first, second in ((closed, a), (a, a), (a, other)):
        with pytest.raises(ValueError, match=r"^arcs lead from 0 to 2: the closure is not that of this matrix$"):
            tropical.path(first, second, 0, 2, semiring)


def test_paths_of_sums_that_round():
    a = apsp.instance({}, n=80, infinite=0.9, seed=5).matrix
    closed = tropical.floyd_warshall(a, backend="cpu")
    for target in range(80):
        route = tropical.path(a, closed, 3, target)
        length = sum(float(a[u, v]) for u, v in pairwise(route))
        assert np.isclose(length, float(closed[3, target]), rtol=1e-5, atol=0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_instance_is_a_matrix_random_or_given(dtype):
    instance = apsp.instance({}, n=400, infinite=0.75, dtype=dtype, seed=3)
    assert instance.matrix.dtype == dtype and instance.n == instance.sources == 400
    assert (instance.matrix == INFINITE[dtype]).mean() == pytest.approx(0.75, abs=0.01)
    assert np.array_equal(apsp.instance({}, n=400, infinite=0.75, dtype=dtype, seed=3).matrix, instance.matrix)
    assert not np.array_equal(apsp.instance({}, n=400, infinite=0.75, dtype=dtype, seed=4).matrix, instance.matrix)
    assert apsp.instance({}, n=1).n == 1
    taken = apsp.instance({"matrix": instance.matrix}, sources=7)
    assert np.shares_memory(taken.matrix, instance.matrix) and apsp.queries(taken, 8, 1) == [[0, 7]]


def test_rows_to_compare_with_are_those_of_the_closure():
    # A path, whose sums are all needed; no arc costs 0 but to itself.
    a = np.full((5, 5), 100, np.int32)
    a[np.arange(4), np.arange(1, 5)], a[np.arange(5), np.arange(5)] = 1, 0
    assert closure_rows(a, np.array([0, 2])).tolist() == [[0, 1, 2, 3, 4], [100, 100, 0, 1, 2]]


def test_what_is_no_instance_of_a_matrix_is_refused():
    square = np.ones((4, 4), np.float32)
    graph = Graph.from_arcs(2, [0], [1], np.ones(1, np.uint32))
    for inputs, parameters, message in (
        ({"matrix": square}, {"n": 4}, "n is of generated data only, and here data is given"),
        ({}, {"n": 4, "sources": 5}, "sources must be at most 4, the vertices of the matrix, not 5"),
        ({}, {"n": 0}, "n must be at least 1, not 0"),
        ({"graph": graph}, {"seed": 4}, "seed is of generated data only, and here data is given"),
    ):
        with pytest.raises(ValueError, match=message):
            apsp.instance(inputs, **parameters)
    for matrix, parameters, message in (
        (square[:3], {}, "square"),
        (-square, {}, "non-negative"),
        (square.astype(np.float64), {}, "float64"),
        (square, {"sources": 5}, r"^sources must be at most 4, the vertices of the matrix, not 5$"),
    ):
        with pytest.raises(Unavailable, match=message):
            apsp.instance({"matrix": matrix}, **parameters)


@pytest.mark.parametrize("variant", [name for name, v in apsp.VARIANTS.items() if v.cpu and v.inputs])
def test_variants_for_graphs_say_that_they_take_no_matrix(variant):
    if not apsp.VARIANTS[variant].missing():
        with pytest.raises(Unavailable, match=f"^{variant} needs the input graph$"):
            apsp.prepare(apsp.instance({}, n=8), variant, "cpu")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", DENSE)
def test_rows_of_a_matrix_from_some_sources_on(variant, dtype):
    solver = closing(variant, n=90, infinite=0.9, dtype=dtype)
    expected = tropical.floyd_warshall(solver.instance.matrix, backend="cpu")
    for first, count in ((0, 90), (80, 10), (3, 1)):
        solver.c.view(np.uint8)[:] = 0xA5
        run = solver.run([first, count])
        assert solver.validate().whole
        got = solver.answer()["distances"]
        assert got.dtype == dtype and got.shape == (count, 90)
        np.testing.assert_allclose(got, expected[first : first + count], rtol=1e-6)
        assert set(run.counters) <= set(apsp.METRICS) and run.counters["tops"] > 0


def test_a_path_that_does_not_fit_a_matrix_is_no_answer():
    path = np.full((3, 3), INFINITE["uint16"])
    path[0, 1] = path[1, 2] = 20_000
    for variant in DENSE:
        # The workflow leaves out what is Unavailable.
        with pytest.raises(Unavailable, match=r"^a finite sum reaches") as caught:
            closing(variant, matrix=path).run([0, 3])
        assert isinstance(caught.value, OverflowError)


def test_an_empty_matrix_is_its_own_closure():
    for call in (tropical.closure, tropical.floyd_warshall):
        assert call(np.empty((0, 0), np.int32), backend="cpu").shape == (0, 0)


def test_weights_are_held_by_signed_integers():
    assert [closing_dtype(x) for x in (np.uint32, np.float32, np.uint16)] == [np.int32, np.float32, np.uint16]


def test_floats_of_which_a_path_may_add_up_to_infinity_are_refused():
    most = np.finfo(np.float32).max
    for weight, fits in ((most / 4, False), (np.nextafter(most / 4, np.float32(0)), True)):
        graph = Graph.from_arcs(4, [0, 1], [1, 2], np.array([1, weight], np.float32))
        if fits:
            assert graph_matrix(graph)[1, 2] == weight
        else:
            with pytest.raises(Unavailable, match="may be too long for float32; fast answers with 64 bits"):
                graph_matrix(graph)
    assert np.isinf(graph_matrix(Graph.from_arcs(2, [], [], np.zeros(0, np.float32)))[0, 1])


@pytest.mark.parametrize("variant", DENSE)
def test_a_path_and_an_arc_more_stay_below_infinity(variant):
    # Three times this is int32's infinity.
    third = int(INFINITE["int32"]) // 3
    for weight, fits in ((third, False), (third - 1, True)):
        graph = Graph.from_arcs(4, [0, 1], [1, 2], np.array([weight, weight], np.uint32))
        if fits:
            found = apsp.solve(graph, None, variant, "cpu")
            assert found[0].tolist() == [0, weight, 2 * weight, unreachable(np.uint32)]
        else:
            with pytest.raises(Unavailable, match="may be too long for a dense matrix of int32"):
                apsp.solve(graph, None, variant, "cpu")
