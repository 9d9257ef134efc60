"""Arrays of every kind that NumPy makes through the public calls: what is not refused in one line is answered right."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

from saitan import apsp, bfs, compression, tropical
from saitan.graph import Graph, GraphError
from saitan.sssp import unreachable


class Kind(np.ndarray):
    """An array of a library's own."""


def every_second(a):
    """With what would be seen if the strides were not."""
    wide = np.full([2 * size for size in a.shape], 77, a.dtype)
    wide[tuple(slice(None, None, 2) for _ in a.shape)] = a
    return wide[tuple(slice(None, None, 2) for _ in a.shape)]


def turned(a):
    back = tuple(slice(None, None, -1) for _ in a.shape)
    return np.ascontiguousarray(a[back])[back]


def locked(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def off_by_a_byte(a):
    place = np.zeros(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
    place[...] = a
    return place


FORMS = {
    "own": np.copy,
    "strides": every_second,
    "negative strides": turned,
    "read-only": locked,
    "unaligned": off_by_a_byte,
    "other byte order": lambda a: a.astype(a.dtype.newbyteorder()),
    "columns first": np.asfortranarray,
    "a subclass": lambda a: a.view(Kind),
    "nothing masked": np.ma.masked_array,
    "a buffer": lambda a: memoryview(np.ascontiguousarray(a)),
}
form = st.sampled_from(sorted(FORMS)).map(FORMS.get)
quick = settings(max_examples=25)


@st.composite
def arcs(draw):
    """n, sources, targets and small whole weights: every type holds them."""
    n, m = draw(st.integers(1, 12)), draw(st.integers(0, 30))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ids = draw(st.sampled_from(["i1", "u2", "i4", "i8", "u8", "f4", "f8"]))
    weights = draw(st.sampled_from(["i1", "u2", "u4", "i8", "f2", "f4", "f8"]))
    return n, *random.integers(0, n, (2, m)).astype(ids), random.integers(0, 9, m).astype(weights)


def distances_of(n, sources, targets, weights):
    """From every vertex, by relaxing until nothing changes."""
    found = np.full((n, n), np.inf)
    np.fill_diagonal(found, 0)
    ends = sources.astype(int), targets.astype(int)
    for _ in range(n):
        np.minimum.at(found.T, ends[1], (found[:, ends[0]] + weights.astype(float)).T)
    return found


def as_floats(distances):
    return np.where(distances == unreachable(distances.dtype), np.inf, distances.astype(float))


@given(arcs(), form, form, form)
@example((1, *np.empty((2, 0), np.int8), np.empty(0)), *[FORMS["a buffer"]] * 3)
def test_graphs_of_arrays_of_any_kind(drawn, one, two, three):
    n, sources, targets, weights = drawn
    graph = Graph.from_arcs(n, one(sources), two(targets), three(weights))
    rows = Graph(one(graph.offsets), two(graph.targets), three(graph.weights))
    order = np.argsort(sources, kind="stable")
    for made in (graph, rows):
        assert [type(a) for a in (made.offsets, made.targets, made.weights)] == [np.ndarray] * 3
        assert np.array_equal(made.sources, sources[order]) and np.array_equal(made.targets, targets[order])
        assert np.array_equal(made.weights, weights[order])
        assert made.weights.dtype == (np.float32 if weights.dtype.kind == "f" else np.uint32)
    expected = distances_of(n, sources, targets, weights)
    assert np.array_equal(as_floats(apsp.solve(rows, None, "scipy", "cpu")), expected)


@quick
@given(arcs(), form, st.sampled_from(["csr", "coo", "csc"]))
def test_matrices_of_scipy_of_arrays_of_any_kind(drawn, kind, layout):
    n, sources, targets, weights = drawn
    weights = weights.astype(np.float64) if weights.dtype == np.float16 else weights
    matrix = sparse.coo_array((weights, (sources.astype(np.int32), targets.astype(np.int32))), shape=(n, n))
    matrix = matrix.asformat(layout)
    stored = matrix.tocoo()
    expected = distances_of(n, stored.row, stored.col, stored.data)
    matrix.data = np.asarray(kind(matrix.data))
    graph = Graph.from_scipy(matrix)
    assert np.array_equal(as_floats(apsp.solve(graph, None, "scipy", "cpu")), expected)


@quick
@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), form, form, form, st.data())
def test_products_of_arrays_of_any_kind(m, k, n, one, two, three, data):
    dtype = np.dtype(data.draw(st.sampled_from([np.float32, np.int32, np.uint16])))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    a, b = random.integers(0, 50, (m, k)).astype(dtype), random.integers(0, 50, (k, n)).astype(dtype)
    infinite = tropical.matmul(np.empty((1, 0), dtype), np.empty((0, 1), dtype), backend="cpu")[0, 0]
    expected = (a[:, :, None].astype(float) + b[None]).min(1, initial=infinite)
    assert np.array_equal(tropical.matmul(one(a), two(b), backend="cpu"), expected)
    out = three(np.full((m, n), 9, dtype))
    if isinstance(out, memoryview) or not out.flags.writeable or not out.dtype.isnative:
        with pytest.raises(ValueError, match=r"^out "):
            tropical.matmul(a, b, out=out, backend="cpu")
    else:
        tropical.matmul(one(a), two(b), out=out, backend="cpu")
        assert np.array_equal(out, expected)
    square = random.integers(1, 50, (m, m)).astype(dtype)
    np.fill_diagonal(square, 0)
    closed = csgraph.floyd_warshall(square.astype(float)) if m else square
    assert np.array_equal(tropical.floyd_warshall(one(square), backend="cpu"), closed)
    assert np.array_equal(tropical.closure(two(square), backend="cpu"), closed)


@quick
# Of the others Numba compiles kernels of their own.
@given(
    st.lists(st.integers(0, 5), max_size=3), st.sampled_from(sorted({*FORMS} - {"read-only", "unaligned"})), st.data()
)
def test_streams_of_arrays_of_any_kind(shape, kind, data):
    a = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1))).integers(0, 9, shape)
    a = a.astype(data.draw(st.sampled_from([np.float64, np.complex128])))
    given = FORMS[kind](a)
    if not np.asarray(given).dtype.isnative:
        with pytest.raises(ValueError, match=r"is big-endian: array\.astype\('<[fc]\d+'\) can be compressed$"):
            compression.compress(given)
        return
    assert np.array_equal(compression.decompress(compression.compress(given)), a.ravel().view(np.float64))
    assert np.array_equal(compression.solve(given, backend="cpu").values, np.asarray(given))


def test_masked_entries_are_refused_by_name():
    masked = np.ma.masked_array(np.zeros((2, 2), np.float32), mask=[[True, False], [False, False]])
    plain, row = np.zeros((2, 2), np.float32), np.ma.masked_array([0, 1], mask=[True, False])
    graph = Graph.from_arcs(2, [0, 1], [1, 0], [1, 1])
    for name, call in {
        "a": lambda: tropical.matmul(masked, plain),
        "b": lambda: tropical.matmul(plain, masked),
        "the matrix": lambda: tropical.closure(masked),
        "array": lambda: compression.compress(masked),
        "roots": lambda: bfs.solve_many(graph, row, "cpu"),
        "sources": lambda: Graph.from_arcs(2, row, [1, 1]),
    }.items():
        with pytest.raises((ValueError, GraphError), match=rf"^{name}: 1 (entries|of them) are masked: fill them or "):
            call()
    with pytest.raises(ValueError, match=r"^array: 1 entries are masked"):
        compression.solve(masked)
