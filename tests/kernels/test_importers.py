from decimal import Decimal

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from packaging.version import Version

from saitan import memory
from saitan.graph import Graph, GraphError

TOP = 2**32 - 1


def listed(graph):
    weights = [None] * graph.m if graph.weights is None else graph.weights.tolist()
    return sorted(zip(graph.sources.tolist(), graph.targets.tolist(), weights, strict=True), key=str)


@given(
    st.integers(1, 8),
    st.integers(0, 20),
    st.sampled_from(["csr", "csc", "coo", "lil", "dok", "bsr"]),
    st.sampled_from([np.int64, np.uint8, np.float32, np.float64, bool]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_scipy_matrices_of_every_format_and_type(n, m, format, dtype, as_array, seed):
    random = np.random.default_rng(seed)
    dense = np.zeros((n, n), dtype)
    dense.flat[random.integers(0, n * n, m)] = random.integers(1, 100, m)
    matrix = (sparse.csr_array if as_array else sparse.csr_matrix)(dense).asformat(format)
    if format == "bsr":
        matrix.eliminate_zeros()
    graph = Graph.from_scipy(matrix)
    rows, columns = np.nonzero(dense)
    weights = [None] * len(rows) if dtype is bool else dense[rows, columns].tolist()
    if format == "bsr":  # whole blocks are stored, zeros among them
        kept = {(u, v): w for u, v, w in listed(graph) if w}
        assert dtype is bool or kept == dict(zip(zip(rows, columns, strict=True), weights, strict=True))
    else:
        assert listed(graph) == sorted(zip(rows.tolist(), columns.tolist(), weights, strict=True), key=str)
        assert graph.directed == (not np.array_equal(dense, dense.T))
    if graph.weights is not None:
        assert graph.weights.dtype == (np.float32 if np.dtype(dtype).kind == "f" else np.uint32)


def test_stored_zeros_and_entries_stored_twice_are_arcs():
    matrix = sparse.coo_array(([0, 5, 6], ([0, 1, 1], [1, 2, 2])), shape=(3, 3))
    assert listed(Graph.from_scipy(matrix)) == [(0, 1, 0), (1, 2, 5), (1, 2, 6)]
    graph = Graph.from_arcs(3, [0, 1, 1], [1, 2, 2], [0, 5, 6])
    assert listed(Graph.from_scipy(graph.to_scipy())) == listed(graph)


def changed(format, **arrays):
    matrix = sparse.csr_array(np.arange(1, 10).reshape(3, 3))
    matrix = matrix.tobsr((1, 1)) if format == "bsr" else matrix.asformat(format)
    for name, array in arrays.items():
        setattr(matrix, name, array)
    return matrix


@pytest.mark.parametrize("format", ["csr", "csc", "bsr"])
def test_compressed_matrices_whose_arrays_are_longer_than_their_entries(format):
    matrix = changed(format)
    before = listed(Graph.from_scipy(matrix))
    matrix.data, matrix.indices = np.r_[matrix.data, -matrix.data], np.r_[matrix.indices, [99] * 9]
    assert listed(Graph.from_scipy(matrix)) == before


@pytest.mark.parametrize("format", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"indptr": np.array([0, 400000, 6, 9])}, r"offsets\[2\] is 6, less than offsets\[1\], 400000"),
        ({"indptr": np.array([1, 3, 6, 9])}, r"offsets\[0\] is 1: 0 is right"),
        ({"indptr": np.array([0, 3, 9])}, "indptr has 3 entries: 4 is right"),
        ({"indptr": np.array([0, 3, 6, 10])}, "indptr ends with 10, but there are 9 indices and 9 values"),
        ({"indices": np.array([0, 1, 2, 0, 3, 2, 0, 1, 2])}, r"arc 4: (target|source|block) 3 is not in \[0, 3\)"),
        ({"indices": np.array([0, 1, 2, 0, -4, 2, 0, 1, 2])}, r"arc 4: (target|source|block) -4 is not in \[0, 3\)"),
    ],
)
def test_compressed_matrices_whose_arrays_do_not_fit_are_refused_before_compiled_code(format, arrays, message):
    with pytest.raises(GraphError, match=f"^{message}$"):
        Graph.from_scipy(changed(format, **arrays))


def test_lists_of_a_matrix_that_do_not_fit_are_refused():
    matrix = changed("lil")
    matrix.rows[0].extend([1, 1, 1])
    matrix.rows[1][1:] = []
    with pytest.raises(GraphError, match=r"^a row of the matrix has more columns than values, or fewer$"):
        Graph.from_scipy(matrix)
    matrix = changed("lil")
    matrix.rows[0][1] = 2**40
    with pytest.raises(GraphError, match=r"^arc 1: target 1099511627776 is not in \[0, 3\)$"):
        Graph.from_scipy(matrix)


@given(st.integers(1, 6), st.lists(st.integers(-8, 8), unique=True, max_size=6), st.integers(1, 9))
def test_diagonals_and_what_lies_beyond_the_matrix(n, offsets, width):
    matrix = sparse.dia_array((np.arange(1, 1 + len(offsets) * width).reshape(-1, width), offsets), shape=(n, n))
    rows, columns = np.nonzero(dense := matrix.toarray())
    expected = zip(rows.tolist(), columns.tolist(), dense[rows, columns].tolist(), strict=True)
    assert listed(Graph.from_scipy(matrix)) == sorted(expected, key=str)


def test_a_zero_of_a_diagonal_is_an_arc_or_none():
    matrix = sparse.dia_array((np.array([[9, 0, 5]]), [1]), shape=(3, 3))
    said = r"^entry \(0, 1\) of a DIA matrix is 0, an arc or none: matrix.tocoo\(\) leaves out its zeros; "
    with pytest.raises(GraphError, match=said):
        Graph.from_scipy(matrix)
    assert listed(Graph.from_scipy(matrix.tocoo())) == [(1, 2, 5)]


def square(value, dtype=None):
    return sparse.csr_array((np.array([value], dtype), [1], [0, 1, 1]), shape=(2, 2))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.eye(2), "a scipy.sparse matrix is right, not ndarray: scipy.sparse.csr_array(...)"),
        (sparse.coo_array([1, 2]), "the matrix has the shape (2,): a graph's is square"),
        (sparse.csr_array((2, 3)), "the matrix has the shape (2, 3): a graph's is square"),
        (square(-3), "arc 0: the weight is -3: a whole number from 0 to 4294967295 is right"),
        (square(2**40), "arc 0: the weight is 1099511627776: a whole number from 0 to 4294967295 is right"),
        (square(-0.5), "arc 0: the weight is -0.5: a finite number of at least 0 is right"),
        (square(np.nan), "arc 0: the weight is nan: a finite number of at least 0 is right"),
        (square(1e39), "arc 0: the weight is 1e+39: float32 holds at most 3.4028235e+38"),
        (square(1j), "weights must be numbers, not complex128"),
    ],
)
def test_matrices_that_are_no_graphs(matrix, message):
    with pytest.raises(GraphError) as error:
        Graph.from_scipy(matrix)
    assert str(error.value) == message


def test_integers_up_to_the_limit_stay_exact():
    assert Graph.from_scipy(square(TOP)).weights.tolist() == [TOP]


@pytest.mark.parametrize(("value", "relative"), [(0.1, 1.4901161e-8), (2**24 + 1.0, 5.96e-8), (1e-50, 1.0)])
def test_rounded_weights_are_said(value, relative):
    with pytest.warns(UserWarning, match="1 of 1 weights are rounded to float32") as caught:
        graph = Graph.from_scipy(square(value))
    assert caught[0].filename.endswith(("graph.py", "importers.py", "test_importers.py"))
    assert graph.weights.tolist() == [np.float32(value)]
    assert graph.metadata["inexact"] == {"count": 1, "relative": pytest.approx(relative, rel=1e-3)}
    assert "inexact" not in Graph.from_scipy(square(0.5)).metadata


@pytest.mark.filterwarnings("ignore:.*rounded to float32")
@given(st.lists(st.sampled_from([2**53 + 1, 2**63 + 1, 2**60, 16777217, 3, 0.1, 0.5]), max_size=4))
def test_integers_that_float64_loses_are_among_the_rounded_weights(weights):
    weights = [*weights, 0.5, 2**53 + 1]
    theirs = nx.DiGraph((place, place + 1, {"weight": weight}) for place, weight in enumerate(weights))
    frame = pd.DataFrame(theirs.edges(data="weight"), columns=["source", "target", "weight"], dtype=object)
    frame = frame.astype({"source": int, "target": int})
    for graph in (Graph.from_networkx(theirs), Graph.from_pandas(frame, weight="weight")):
        off = sum(kept != weight for kept, weight in zip(graph.weights.tolist(), weights, strict=True))
        assert graph.metadata["inexact"]["count"] == off


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("weighted", [True, False])
def test_networkx_graphs_of_every_kind(kind, weighted):
    theirs = kind()
    theirs.add_nodes_from(["z", "a", "lonely"])
    for u, v, w in [("a", "z", 3), ("z", "a", 4), ("a", "a", 5), ("a", "z", 6)]:
        theirs.add_edge(u, v, **({"weight": w} if weighted else {}))
    graph = Graph.from_networkx(theirs)
    assert graph.labels.tolist() == ["z", "a", "lonely"]
    assert graph.directed == theirs.is_directed()
    expected = []
    for u, v, w in theirs.edges(data="weight"):
        ends = ("z", "a", "lonely").index(u), ("z", "a", "lonely").index(v)
        expected.append((*ends, w))
        if not theirs.is_directed() and u != v:
            expected.append((*ends[::-1], w))
    assert listed(graph) == sorted(expected, key=str)
    assert graph.directed or graph.is_symmetric()


def test_a_graph_whose_edges_have_both_arcs_already():
    theirs = nx.check_planarity(nx.path_graph(3))[1]
    assert not theirs.is_directed()
    graph = Graph.from_networkx(theirs)
    assert listed(graph) == [(0, 1, None), (1, 0, None), (1, 2, None), (2, 1, None)] and not graph.directed


@pytest.mark.parametrize(
    ("nodes", "labels"),
    [
        ([0, 1, 2], None),
        ([2, 0, 1], [2, 0, 1]),
        (list(np.array([3, 1, 7])), [3, 1, 7]),
        ([5, 2**70], ["5", str(2**70)]),
        ([(0, 1), "a"], ["(0, 1)", "a"]),
    ],
)
def test_networkx_nodes_become_labels(nodes, labels):
    theirs = nx.DiGraph()
    theirs.add_nodes_from(nodes)
    theirs.add_edge(nodes[0], nodes[1], cost=7)
    graph = Graph.from_networkx(theirs, weight="cost")
    assert (graph.n, listed(graph)) == (len(nodes), [(0, 1, 7)])
    assert (None if graph.labels is None else graph.labels.tolist()) == labels


def test_what_is_of_another_library_is_named():
    with pytest.raises(GraphError, match=r"^a networkx graph is right, not csr_array$"):
        Graph.from_networkx(square(1))
    with pytest.raises(GraphError, match=r"^a pandas.DataFrame is right, not Table: call frame.to_pandas\(\)$"):
        Graph.from_pandas(pa.table({"source": [1], "target": [2]}))
    with pytest.raises(GraphError, match=r"^a pandas.DataFrame is right, not list$"):
        Graph.from_pandas([(0, 1)])


def test_networkx_edges_that_lack_a_weight_are_named():
    theirs = nx.path_graph(3)
    theirs.edges[0, 1]["weight"] = 2
    with pytest.raises(GraphError, match=r"the edge \(1, 2\) has no 'weight', others have"):
        Graph.from_networkx(theirs)
    # A name that no edge knows is a slip; the default is not.
    with pytest.raises(GraphError, match=r"^no edge has 'lenght': the attribute that holds the weights is right$"):
        Graph.from_networkx(theirs, weight="lenght")
    assert Graph.from_networkx(nx.path_graph(3)).weights is None


def test_a_frame_with_numbers_for_vertices():
    frame = pd.DataFrame({"source": [5, 0], "target": [2, 5], "cost": [1, TOP]}).sort_values("source")
    graph = Graph.from_pandas(frame, weight="cost")
    assert (graph.n, graph.labels, graph.directed) == (6, None, True)
    assert listed(graph) == [(0, 5, TOP), (5, 2, 1)]
    assert Graph.from_pandas(frame).weights is None
    for ends in ((1, 7), (7, 1)):
        assert Graph.from_pandas(pd.DataFrame([ends], columns=["source", "target"])).n == 8
    assert Graph.from_pandas(frame[:0]).n == 0


def test_a_frame_with_names_for_vertices():
    frame = pd.DataFrame({"from": ["x", "y", "x"], "to": ["y", "x", "z"]}, index=[7, 7, 7])
    graph = Graph.from_pandas(frame, source="from", target="to")
    assert graph.labels.tolist() == ["x", "y", "z"]
    assert listed(graph) == [(0, 1, None), (0, 2, None), (1, 0, None)]
    assert not Graph.from_pandas(frame[:2], "from", "to").directed


def boxed(*values):
    return pd.Series(values, dtype=object)


@pytest.mark.parametrize("kind", ["int8", "object", "category", "Int64", "float64"])
@pytest.mark.parametrize("other", ["int64", "object"])
def test_numbers_are_vertices_whatever_the_type_of_their_column(kind, other):
    frame = pd.DataFrame({"source": pd.Series([5, 0]).astype(kind), "target": pd.Series([2, 5]).astype(other)})
    graph = Graph.from_pandas(frame)
    assert (graph.n, graph.labels, listed(graph)) == (6, None, [(0, 5, None), (5, 2, None)])


@pytest.mark.parametrize("held", [["7", "0"], [7, "x"], ["7", 0]])
def test_texts_of_digits_are_names_and_so_is_all_beside_them(held):
    graph = Graph.from_pandas(pd.DataFrame({"source": boxed(*held), "target": [3, 5]}))
    assert graph.labels.tolist() == [*map(str, held), "3", "5"]


@pytest.mark.parametrize(
    ("columns", "names", "message"),
    [
        ({"a": [1], "b": [2]}, ("a", "c"), "the frame has no column 'c' (it has: 'a', 'b')"),
        ({"a": [1], "b": [2]}, ("a", "b", "w"), "the frame has no column 'w' (it has: 'a', 'b')"),
        ({"a": [1], "b": [2]}, ("a", None), "the frame has no column None (it has: 'a', 'b')"),
        ({"a": [0, 1], "b": [1, 0], "w": [[1], [1, 2]]}, ("a", "b", "w"), "weights cannot become an array"),
        ({"a": [1, np.nan], "b": [2, 0]}, ("a", "b"), "arc 1: source nan is not a whole number"),
        ({"a": [1, 0], "b": boxed(0, np.nan)}, ("a", "b"), "arc 1: target nan is not a whole number"),
        ({"a": [1, 0], "b": boxed(1, 2.5)}, ("a", "b"), "arc 1: target 2.5 is not a whole number"),
        ({"a": [1], "b": boxed(2**70)}, ("a", "b"), "targets must be numbers, not something that is"),
        (
            {"a": [1], "b": boxed(Decimal(2))},
            ("a", "b"),
            "targets must be numbers, not something that is missing, no number or beyond 64 bits (Decimal): .astype(f",
        ),
        ({"a": [1, 1], "b": boxed(Decimal(2), 3)}, ("a", "b"), "targets must be numbers, not something that is"),
        ({"a": [1, 0], "b": boxed(1, None)}, ("a", "b"), "row 1: the target is missing"),
        ({"a": ["x", "y"], "b": ["y", None]}, ("a", "b"), "row 1: the target is missing"),
        ({"a": ["x", None], "b": ["y", None]}, ("a", "b"), "row 1: the source is missing"),
        ({"a": [[1], [2]], "b": ["x", "y"]}, ("a", "b"), "numbers or names are vertices: unhashable type: 'list'"),
        ({"a": [1], "b": [2**40]}, ("a", "b"), "arc 0: target 1099511627776: int32 ids end at 2,147,483,646; pandas"),
        ({"a": [-1], "b": [2]}, ("a", "b"), "arc 0: source -1 is not in [0, 2,147,483,647)"),
        ({"a": [1], "b": [2], "w": [-1]}, ("a", "b", "w"), "arc 0: the weight is -1: a whole number from 0"),
        ({"a": [1], "b": [2], "w": ["1"]}, ("a", "b", "w"), "weights must be numbers, not "),
    ],
)
def test_frames_that_are_no_graphs(columns, names, message):
    with pytest.raises(GraphError) as error:
        Graph.from_pandas(pd.DataFrame(columns), *names)
    assert str(error.value).startswith(message)


def test_weights_that_lost_their_type_are_what_they_hold():
    for held, kept in (
        ([1, 2**32 - 1], np.array([1, 2**32 - 1], np.uint32)),
        ([1, 0.5], np.array([1, 0.5], np.float32)),
        # NumPy has no integers that hold both types.
        ([np.uint64(2**32 - 1), np.int64(3)], np.array([2**32 - 1, 3], np.uint32)),
        ([np.uint64(7), 3], np.array([7, 3], np.uint32)),
        ([np.uint64(7), np.float32(3)], np.array([7, 3], np.float32)),
    ):
        frame = pd.DataFrame({"source": [0, 1], "target": [1, 0], "w": pd.Series(held, dtype=object)})
        weights = Graph.from_pandas(frame, weight="w").weights
        assert weights.dtype == kept.dtype
        assert_array_equal(weights, kept)


def test_labels_follow_their_vertices():
    graph = Graph.from_arcs(3, [0, 1], [1, 2], [1, 2], labels=["a", "b", "c"])
    for same in (graph.transposed(), graph.with_metadata(name="x"), graph.without_weights()):
        assert_array_equal(same.labels, graph.labels)


def test_names_that_are_the_same_as_texts_are_refused():
    with pytest.raises(GraphError, match="the names '1' and 1 are the same as texts"):
        Graph.from_pandas(pd.DataFrame({"source": ["1"], "target": [1]}))
    with pytest.raises(GraphError, match="the names 1 and '1' are the same as texts"):
        Graph.from_networkx(nx.Graph([(1, 2), ("1", 2)]))


@pytest.mark.parametrize("library", ["networkx", "pandas"])
def test_names_that_would_be_the_same_without_a_nul_at_their_end_are_refused(library):
    if library == "pandas" and Version(pd.__version__) < Version("3.1"):
        pytest.skip("pandas before 3.1 takes them for one name itself")
    with pytest.raises(GraphError, match=r"^labels\[1\] is 'a\\x00': NumPy drops a NUL at the end"):
        if library == "pandas":
            Graph.from_pandas(pd.DataFrame({"source": ["a"], "target": ["a\0"]}))
        else:
            Graph.from_networkx(nx.Graph([("a", "a\0")]))


def test_a_column_that_is_there_twice_is_named():
    frame = pd.DataFrame([[0, 1, 2]], columns=["source", "target", "target"])
    with pytest.raises(GraphError, match="several columns 'target'"):
        Graph.from_pandas(frame)


def test_rows_beyond_memory_are_forecast(monkeypatch):
    needed = 32 * 10**8 + 8
    monkeypatch.setattr(memory, "available_memory", lambda: needed - 1)
    frame = pd.DataFrame({"source": [0], "target": [10**8 - 1]})
    said = r"^100,000,000 vertices and 1 arcs need about 3\.0 GiB of memory, but 3\.0 GiB are available; where few "
    with pytest.raises(GraphError, match=said):
        Graph.from_pandas(frame)
    with pytest.raises(GraphError, match=said):
        Graph.from_scipy(sparse.coo_array(([1], ([0], [1])), shape=(10**8, 10**8)))
    monkeypatch.setattr(memory, "available_memory", lambda: 13 * 10**8 + 7)
    with pytest.raises(GraphError, match=r"^100,000,000 vertices and 1 arcs need about 1\.2 GiB"):
        Graph.from_arcs(10**8, [0], [1])
    # What is small is not asked about.
    monkeypatch.setattr(memory, "available_memory", lambda: 0)
    assert Graph.from_arcs(10**6, [0], [1]).n == 10**6


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint32])
def test_what_scipy_does_in_place_does_not_reach_the_graph(dtype):
    arrays = np.array([3, 2, 1], dtype), np.array([2, 0, 1], np.int32), np.array([0, 3, 3, 3])
    matrix = sparse.csr_array(arrays, shape=(3, 3))
    matrix.indptr = matrix.indptr.astype(np.int64)
    graph = Graph.from_scipy(matrix)
    before = listed(graph)
    for changed in (matrix, graph.to_scipy()):
        changed.sort_indices()
        changed.data[:], changed.indices[:], changed.indptr[:] = 9, 1, 0
        assert listed(graph) == before


@pytest.mark.parametrize("values", [[True, False], np.array([True, False]), np.array([True, False], object)])
def test_weights_that_are_truth_values_are_refused(values):
    frame = pd.DataFrame({"source": [0, 1], "target": [1, 2], "w": values})
    theirs = nx.Graph()
    theirs.add_weighted_edges_from([(0, 1, values[0]), (1, 2, values[1])])
    for call in (lambda: Graph.from_pandas(frame, weight="w"), lambda: Graph.from_networkx(theirs)):
        with pytest.raises(GraphError, match=r"^the weights are truth values: numbers are right; "):
            call()


@pytest.mark.parametrize(
    ("layout", "damage"),
    [
        ("csr", {"indptr": np.array([], np.int32)}),
        ("csc", {"indptr": np.zeros((2, 2), np.int32)}),
        ("bsr", {"data": np.ones((3, 3))}),
        ("dia", {"offsets": np.array([0, 1, 2, 5], np.int32)}),
        ("dia", {"offsets": np.array([0.5])}),
        ("lil", {"rows": np.array([[0], 1, [2]], object)}),
        ("dia", {"data": np.ma.masked_array(np.ones((1, 3)), [[False, True, False]])}),
    ],
)
def test_arrays_that_do_not_fit_together_are_one_line(layout, damage):
    matrix = sparse.eye_array(3).asformat(layout)
    for name, array in damage.items():
        setattr(matrix, name, array)
    says = "entries of the matrix are masked" if layout == "dia" and "data" in damage else f"the arrays of the {layout}"
    with pytest.raises(GraphError, match=f"^{says}") as refused:
        Graph.from_scipy(matrix)
    assert "\n" not in str(refused.value)
