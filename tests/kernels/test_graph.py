import copy
import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from peaks import peaks
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from saitan import components, csr
from saitan.generators import GENERATORS
from saitan.graph import MAX_VERTICES, Graph, GraphError
from saitan.graph_input import rounded_weights, vertex_count, vertices

TOP = 2**32 - 1


@st.composite
def arc_lists(draw, most=12):
    n = draw(st.integers(1, most))
    ends = st.integers(0, n - 1)
    rows = draw(st.lists(st.tuples(ends, ends, st.integers(0, TOP)), max_size=40))
    array = np.array(rows, np.int64).reshape(-1, 3)
    return n, array[:, 0], array[:, 1], array[:, 2].astype(np.uint32)


@given(arc_lists(), st.sampled_from(["all at once", "chunks"]), st.booleans())
def test_from_arcs_keeps_every_arc_in_order(arcs, way, weighted):
    n, sources, targets, weights = arcs
    with pytest.MonkeyPatch.context() as patch:
        if way == "chunks":  # what more arcs take than 32-bit positions hold
            patch.setattr(csr, "_AT_ONCE", 2)
            patch.setattr(csr, "_CHUNK", 3)
        graph = Graph.from_arcs(n, sources, targets, weights if weighted else None)
    order = np.argsort(sources, kind="stable")
    assert_array_equal(graph.sources, sources[order])
    assert_array_equal(graph.targets, targets[order])
    assert_array_equal(graph.degrees, np.bincount(sources, minlength=n))
    assert (graph.offsets.dtype, graph.targets.dtype) == (np.int64, np.int32)
    if weighted:
        assert_array_equal(graph.weights, weights[order])
    else:
        assert graph.weights is None


def test_all_at_once_are_arcs_that_int32_positions_hold():
    assert np.iinfo(np.int32).max == csr._AT_ONCE >= csr._CHUNK > 0


@given(arc_lists(), st.sampled_from(["all at once", "chunks"]), st.booleans())
def test_transposed_turns_every_arc_and_keeps_the_order_of_parallel_ones(arcs, way, weighted):
    n, sources, targets, weights = arcs
    graph = Graph.from_arcs(n, sources, targets, weights if weighted else None, labels=np.arange(n) + 7)
    with pytest.MonkeyPatch.context() as patch:
        if way == "chunks":
            patch.setattr(csr, "_AT_ONCE", 2)
            patch.setattr(csr, "_CHUNK", 3)
        turned = graph.transposed()
    order = np.lexsort((np.arange(graph.m), graph.sources, graph.targets))
    assert_array_equal(turned.sources, graph.targets[order])
    assert_array_equal(turned.targets, graph.sources[order])
    assert_array_equal(turned.labels, graph.labels)
    if weighted:
        assert_array_equal(turned.weights, graph.weights[order])
        expected = coo_array((weights.astype(np.float64), (targets, sources)), shape=(n, n)).toarray()
        assert_array_equal(turned.to_scipy().toarray(), expected)
    else:
        assert turned.weights is None


@given(arc_lists(most=5), st.booleans(), st.randoms(use_true_random=False))
def test_symmetric_is_what_has_every_arc_both_ways_as_often_and_as_heavy(arcs, weighted, random):
    n, sources, targets, weights = arcs
    weights = weights % 3
    both = [*zip(sources.tolist(), targets.tolist(), weights.tolist(), strict=True)]
    both += [(v, u, w) for u, v, w in both]
    random.shuffle(both)
    columns = np.array(both, np.int64).reshape(-1, 3).T
    graph = Graph.from_arcs(n, columns[0], columns[1], columns[2] if weighted else None)
    assert graph.is_symmetric()
    one_way = Graph.from_arcs(n, sources, targets, weights if weighted else None)
    listed = sorted(zip(sources, targets, weights * weighted, strict=True))
    assert one_way.is_symmetric() == (listed == sorted(zip(targets, sources, weights * weighted, strict=True)))


@pytest.mark.parametrize(
    ("arcs", "symmetric"),
    [
        ([(0, 1, 5), (1, 0, 5)], True),
        ([(0, 1, 5), (1, 0, 6)], False),
        # Weights like the vertices that the arcs lead to.
        ([(0, 1, 1), (1, 0, 0)], False),
        ([(0, 1, 5), (0, 1, 6), (1, 0, 6), (1, 0, 5)], True),
        ([(0, 1, 5), (0, 1, 6), (1, 0, 6), (1, 0, 6)], False),
        ([(0, 1, 5), (0, 1, 6), (1, 0, 6), (1, 0, 7)], False),
        # The same weights over all, but between other ends.
        ([(0, 1, 5), (1, 0, 6), (0, 2, 6), (2, 0, 5)], False),
        ([(0, 1, 5), (1, 2, 5), (2, 0, 5)], False),
        # Every row and every column holds the same weights, 5 and 6.
        ([(0, 1, 5), (1, 2, 5), (2, 0, 5), (1, 0, 6), (2, 1, 6), (0, 2, 6)], False),
        ([(0, 1, 5), (1, 0, 5), (2, 2, 1)], True),
    ],
)
def test_symmetry_of_parallel_arcs(arcs, symmetric):
    sources, targets, weights = zip(*arcs, strict=True)
    assert Graph.from_arcs(3, sources, targets, weights).is_symmetric() is symmetric


def test_a_later_change_of_the_metadata_given_does_not_reach_the_graph():
    metadata = {"name": "a"}
    graph = Graph.from_arcs(2, [0], [1], metadata=metadata)
    metadata["name"] = "b"
    assert graph.name == "a"


def test_metadata_of_numpys_types_become_pythons():
    told = {"seed": np.int64(3), "share": np.float32(0.5), "directed": np.bool_(False), "name": np.str_("a")}
    graph = Graph.from_arcs(2, [0], [1], metadata=told)
    assert json.loads(json.dumps(graph.metadata)) == {"seed": 3, "share": 0.5, "directed": False, "name": "a"}


def test_with_metadata_shares_the_arrays():
    graph = Graph.from_arcs(2, [0], [1], metadata={"name": "a", "directed": True})
    renamed = graph.with_metadata(name="b", directed=False)
    assert (renamed.name, graph.name, renamed.directed, graph.directed) == ("b", "a", False, True)
    assert renamed.targets is graph.targets
    assert Graph.from_arcs(2, [0], [1]).directed


def test_without_weights():
    graph = Graph.from_arcs(2, [0], [1], [3], metadata={"name": "a"})
    bare = graph.without_weights()
    assert bare.weights is None
    assert (bare.targets is graph.targets, bare.name) == (True, "a")
    assert bare.without_weights() is bare


@pytest.mark.parametrize(
    ("weights", "directed", "text"),
    [
        ([1] * 3, False, "<Graph 'a': 1,234 vertices, 3 arcs, undirected, uint32 weights>"),
        ([0.5] * 3, True, "<Graph 'a': 1,234 vertices, 3 arcs, directed, float32 weights>"),
        (None, True, "<Graph 'a': 1,234 vertices, 3 arcs, directed, no weights>"),
    ],
)
def test_a_graph_is_shown_in_one_line(weights, directed, text):
    metadata = {"name": "a", "directed": directed}
    assert repr(Graph.from_arcs(1234, [0, 1, 2], [1, 2, 3], weights, metadata=metadata)) == text


# What may stand in a messy column, beside whole numbers.
MESS = st.one_of(
    st.integers(-3, 15),
    st.integers(2**31 - 2, 2**33),
    st.sampled_from(
        [-(2**70), 2**70, np.nan, np.inf, -np.inf, 1.5, -0.0, 3.0, 1e300, None, "a", True, pd.NA, b"x", 1j]
    ),
)


@given(
    st.one_of(st.integers(-2, 12), MESS),
    st.lists(MESS, max_size=5),
    st.lists(MESS, max_size=5),
    st.one_of(st.none(), st.lists(MESS, max_size=5)),
    st.sampled_from([list, tuple, np.array, pd.Series, lambda v: np.array(v, object), lambda v: np.array([v, v])]),
)
@example(3, [0, np.nan], [1, 1], None, np.array)
@example(-1, [], [], None, np.array)
@example(3, [2**32], [1], None, np.array)
def test_arcs_of_any_kind_are_kept_exactly_or_refused_in_one_line(n, sources, targets, weights, form):
    if type(n) is int and n > 1000:  # a graph of that many vertices would only take memory
        n = -n
    try:
        columns = [None if column is None else form(column) for column in (sources, targets, weights)]
    except (TypeError, ValueError, OverflowError):
        return
    try:
        graph = Graph.from_arcs(n, *columns)
    except GraphError as error:
        assert "\n" not in str(error)
        return
    order = sorted(range(len(sources)), key=lambda arc: sources[arc])
    assert graph.n == n
    assert graph.sources.tolist() == [sources[arc] for arc in order]
    assert graph.targets.tolist() == [targets[arc] for arc in order]
    if weights is not None:
        assert graph.weights.tolist() == [weights[arc] for arc in order]


# Integers beside real numbers, as Python holds them.
MIXED = st.lists(
    st.one_of(
        st.sampled_from([2**53 + 1, 2**53 + 2**30, 2**63, 2**63 + 1, 2**64 - 1, np.uint64(2**63 + 1), 0.5]),
        st.integers(0, 2**65),
        st.floats(0, 2.0**100, width=32),
    ),
    min_size=1,
    max_size=5,
)
FORMS = st.sampled_from([list, tuple, lambda v: np.array(v, object), lambda v: pd.Series(v, dtype=object)])


@given(MIXED, FORMS)
@example([2**53 + 1, 0.5], list)
@example([2**63, 5], list)
def test_integers_beside_reals_are_kept_exactly_or_refused(weights, form):
    m = len(weights)
    try:
        graph = Graph.from_arcs(m, range(m), range(m), form(weights))
    except GraphError as error:
        assert str(error).count("\n") == 0
        arc = re.match(r"arc (\d+): the weight is (\S+): ", str(error))
        assert arc is None or str(weights[int(arc[1])]) == arc[2]
        return
    assert graph.weights.tolist() == [w if type(w) is float else int(w) for w in weights]
    assert (graph.weights.dtype == np.uint32) == all(type(w) is not float for w in weights)


@pytest.mark.parametrize(
    "dtype", ["i1", "u1", "<i2", ">i4", "<i4", ">i8", "<u8", ">u4", "<f4", ">f4", ">f8", "f2", "g"]
)
def test_numbers_of_every_type_are_converted_by_value(dtype):
    ids = np.array([2, 0, 1], dtype)
    graph = Graph.from_arcs(3, ids, ids[::-1], ids)
    assert graph.targets.tolist() == [0, 2, 1]
    assert graph.weights.tolist() == [0, 1, 2]
    assert graph.weights.dtype == (np.float32 if np.dtype(dtype).kind == "f" else np.uint32)
    again = Graph(graph.offsets.astype(dtype), graph.targets.astype(dtype), graph.weights.astype(dtype))
    for name in ("offsets", "targets", "weights"):
        assert getattr(again, name).dtype == getattr(graph, name).dtype
        assert_array_equal(getattr(again, name), getattr(graph, name))


def test_graphs_made_of_one_have_metadata_of_their_own():
    told = {"name": "a", "inexact": {"count": 1}}
    graph = Graph.from_arcs(2, [0], [1], [0.5], metadata=told)
    bare = graph.without_weights()
    assert bare.metadata == {"name": "a"}
    for other in (graph.transposed(), bare, graph.with_metadata()):
        other.metadata["name"] = "b"
    assert graph.metadata == told


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("dtype", "last"), [("f2", 2048), ("f2", 65504), ("f4", 2**24), ("f8", 2**30), ("g", 2**30)])
def test_a_vertex_is_compared_with_n_whatever_its_type_holds(dtype, last):
    ends = np.array([last, 3], dtype)
    for n in (last + 1, last + 99, 2**31 - 1):
        assert vertices(ends, n, "source").tolist() == [last, 3]
    with pytest.raises(GraphError, match=rf"^arc 0: source {last}\.0 is not in \[0, {last:,}\)"):
        vertices(ends, last, "source")


def test_a_frames_columns_are_taken_by_position():
    frame = pd.DataFrame({"src": [1, 0], "dst": [2, 1], "w": [2, 1]}).sort_values("src")
    graph = Graph.from_arcs(3, frame.src, frame.dst, frame.w)
    assert list(zip(graph.sources, graph.targets, graph.weights, strict=True)) == [(0, 1, 1), (1, 2, 2)]
    rows = Graph(pd.Series([0, 1, 2, 2], index=[3, 2, 1, 0]), frame.dst, frame.w)
    assert rows.weights.tolist() == [1, 2]


def test_arrays_that_are_right_are_not_copied():
    graph = Graph.from_arcs(3, [0, 1], [1, 2], [1, 2], coordinates=np.zeros((3, 2)), labels=[5, 6, 7])
    again = Graph(graph.offsets, graph.targets, graph.weights, graph.coordinates, labels=graph.labels)
    for name in ("offsets", "targets", "weights", "coordinates", "labels"):
        assert getattr(again, name) is getattr(graph, name)


def test_a_copy_keeps_nothing_of_before_a_write():
    graph = Graph.from_arcs(3, [0, 1], [1, 2], [5, 7])
    assert (graph.mean_weight, graph.degrees.tolist(), graph.sources.tolist()) == (6, [1, 1, 0], [0, 1])
    graph.weights[:] = 100
    graph.offsets[:] = [0, 0, 1, 2]
    again = copy.copy(graph)
    assert (again.mean_weight, again.degrees.tolist(), again.sources.tolist()) == (100, [0, 1, 1], [1, 2])


def test_a_copy_has_metadata_of_its_own():
    graph = Graph.from_arcs(2, [0], [1], metadata={"name": "a"})
    other = copy.copy(graph)
    other.metadata["name"] = "b"
    assert (graph.name, other.name) == ("a", "b")
    assert other.targets is graph.targets


NAMED = np.dtypes.StringDType(na_object=None)


@pytest.mark.parametrize(
    "kind",
    [list, pd.Series, pd.Index, *(lambda names, t=t: np.array(names, t) for t in (str, object, NAMED))],
    ids=["list", "series", "index", "texts", "objects", "strings"],
)
@pytest.mark.parametrize("names", [["b", "longer"], ["", "1"], [5, 3]])
def test_labels_are_texts_or_numbers_however_they_are_held(kind, names):
    held = kind(names)
    wanted = np.array(held.tolist() if isinstance(held, np.ndarray) else names)
    labels = Graph.from_arcs(2, [0], [1], labels=held).labels
    assert labels.dtype == wanted.dtype and labels.tolist() == wanted.tolist()


OFFSETS = np.array([0, 1, 2], np.int64)
TARGETS = np.array([1, 0], np.int32)
LAST = 2**20  # the first entry of the second block that is checked


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([], []), "offsets must have an entry more than there are vertices, at least one"),
        ((OFFSETS[:, None], TARGETS), r"offsets must be one-dimensional, not of shape (3, 1)"),
        (([1, 1, 2], TARGETS), "offsets[0] is 1: 0 is right"),
        (([-1, 1, 2], TARGETS), "offsets[0] is -1: 0 is right"),
        (([0, 2, 1, 2], [0, 0]), "offsets[2] is 1, less than offsets[1], 2"),
        (([0, 2, 1], [0]), "offsets[2] is 1, less than offsets[1], 2"),
        (([0, 2, 1], TARGETS), "offsets[2] is 1, less than offsets[1], 2"),
        (([0, 1, 3], TARGETS), "offsets end with 3: the number of arcs, 2, is right"),
        (([0, 1, 1], TARGETS), "offsets end with 1: the number of arcs, 2, is right"),
        (([0, 0.5, 2], TARGETS), "offsets[1] is 0.5: a whole number is right"),
        (([0, np.nan, 2], TARGETS), "offsets[1] is nan: a whole number is right"),
        (([0, 1, np.inf], TARGETS), "offsets end with inf, more arcs than there can be"),
        ((OFFSETS, TARGETS.astype(bool)), "targets must be numbers, not bool"),
        ((OFFSETS, [[0, 1]]), "targets must be one-dimensional, not of shape (1, 2)"),
        ((OFFSETS, [1, 2]), "arc 1: target 2 is not in [0, 2)"),
        ((OFFSETS, [1, -1]), "arc 1: target -1 is not in [0, 2)"),
        ((OFFSETS, [2**32, 1]), "arc 0: target 4294967296 is not in [0, 2)"),
        ((OFFSETS, np.ma.masked_array([0, 1], [False, True])), "targets: 1 of them are masked"),
        ((OFFSETS, [0, True]), "targets: entry 1 is a truth value beside numbers"),
        ((OFFSETS, TARGETS, np.array([1.5, True], object)), "weights: entry 1 is a truth value beside numbers"),
        ((OFFSETS, TARGETS, np.ones(3)), "3 weights for 2 arcs"),
        ((OFFSETS, TARGETS, np.ones(1)), "1 weights for 2 arcs"),
        ((OFFSETS, TARGETS, np.ones((2, 1))), "weights must be one-dimensional, not of shape (2, 1)"),
        ((OFFSETS, TARGETS, [1, -1]), "arc 1: the weight is -1: a whole number from 0 to 4294967295 is right"),
        ((OFFSETS, TARGETS, [1, TOP + 1]), "arc 1: the weight is 4294967296: a whole number from 0 to 4294967295"),
        ((OFFSETS, TARGETS, [1, np.nan]), "arc 1: the weight is nan: a finite number of at least 0 is right"),
        ((OFFSETS, TARGETS, [np.inf, 1]), "arc 0: the weight is inf: a finite number of at least 0 is right"),
        ((OFFSETS, TARGETS, np.float32([1, np.inf])), "arc 1: the weight is inf: a finite number of at least 0"),
        ((OFFSETS, TARGETS, [-1e-9, 1.0]), "arc 0: the weight is -1e-09: a finite number of at least 0 is right"),
        ((OFFSETS, TARGETS, [1, 3.4028235677973366e38]), "arc 1: the weight is 3.4028235677973366e+38: float32 holds"),
        ((OFFSETS, TARGETS, [1, 3.5e38]), "arc 1: the weight is 3.5e+38: float32 holds at most 3.4028235e+38"),
        ((OFFSETS, TARGETS, [1, 2**24 + 1.0]), "arc 1: the weight is 16777217.0: float32 does not hold it exactly"),
        ((OFFSETS, TARGETS, [1e-50, 1]), "arc 0: the weight is 1e-50: float32 does not hold it exactly"),
        ((OFFSETS, TARGETS, ["1", "2"]), "weights must be numbers, not <U1"),
        ((OFFSETS, TARGETS, None, np.zeros((3, 2))), "coordinates must have the shape (2, 2), not (3, 2)"),
        ((OFFSETS, TARGETS, None, [["a", "b"]] * 2), "coordinates must be numbers, not <U1"),
        ((OFFSETS, TARGETS, None, None, {}, [1]), "labels must be 2 whole numbers or texts, not int64 of shape (1,)"),
        ((OFFSETS, TARGETS, None, None, {}, [0.5, 1]), "labels must be 2 whole numbers or texts, not float64"),
        ((OFFSETS, TARGETS, None, None, {}, ["a", 1]), "labels[1] is 1 beside texts: all numbers or all texts"),
        ((OFFSETS, TARGETS, None, None, {}, [1, "a"]), "labels[0] is 1 beside texts: all numbers or all texts"),
        ((OFFSETS, TARGETS, None, None, {}, pd.Series(["a", None], dtype=object)), "labels[1] is None beside texts"),
        ((OFFSETS, TARGETS, None, None, {}, np.array(["a", None], NAMED)), "labels[1] is None beside texts"),
        ((OFFSETS, TARGETS, None, None, {}, [None, None]), "labels must be 2 whole numbers or texts, not object"),
        ((OFFSETS, TARGETS, None, None, {}, [("a", "b")] * 2), "labels must be 2 whole numbers or texts, not <U1 of"),
        ((OFFSETS, TARGETS, None, None, {}, ["a", "a\0"]), "labels[1] is 'a\\x00': NumPy drops a NUL at the end"),
        (
            (OFFSETS, TARGETS, None, None, {}, np.array([2**63 - 1, 2**63], np.uint64)),
            "labels[1] is 9223372036854775808: at most 2^63 - 1 is right",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arrays, message):
    with pytest.raises(GraphError) as error:
        Graph(*arrays)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("arcs", "message"),
    [
        ((3, [0, 1], [1, 7]), "arc 1: target 7 is not in [0, 3)"),
        ((3, [0, 3], [1, 2]), "arc 1: source 3 is not in [0, 3)"),
        ((3, [0, -1], [1, 2]), "arc 1: source -1 is not in [0, 3)"),
        ((3, [0, 1.5], [1, 2]), "arc 1: source 1.5 is not a whole number"),
        ((3, [0, np.nan], [1, 2]), "arc 1: source nan is not a whole number"),
        ((3, [0, np.inf], [1, 2]), "arc 1: source inf is not in [0, 3)"),
        ((3, [[0, 1], [1, 2]], [1, 2]), "sources must be one-dimensional, not of shape (2, 2)"),
        ((3, [[0, 1], [1]], [1, 2]), "sources cannot become an array: "),
        ((3, pd.array([0, None], "Int64"), [1, 2]), "arc 1: source nan is not a whole number"),
        (
            (3, np.array([0, None]), [1, 2]),
            "sources must be numbers, not something that is missing, no number or beyond",
        ),
        (
            (3, [0], [1], [10**30]),
            "weights must be numbers, not something that is missing, no number or beyond 64 bits",
        ),
        ((3, [0], [1, 2]), "1 sources for 2 targets"),
        ((3, 0, 1), "sources must be a list or an array, not 0"),
        ((3, iter([0]), [1]), "sources must be a list or an array, not <list_iterator object"),
        ((0, [0], [0]), "arc 0: source 0 is not in [0, 0)"),
        ((-1, [], []), "n, the number of vertices, must be at least 0, not -1"),
        ((2.0, [], []), "n, the number of vertices, must be a whole number, not 2.0"),
        ((True, [], []), "n, the number of vertices, must be a whole number, not True"),
        ((2**31, [], []), "2,147,483,648 vertices: int32 ids hold at most 2,147,483,647"),
        ((3, np.r_[np.zeros(LAST, int), 3], np.zeros(LAST + 1, int)), f"arc {LAST}: source 3 is not in [0, 3)"),
        ((3, np.zeros(LAST + 1, int), np.r_[np.zeros(LAST, int), 9]), f"arc {LAST}: target 9 is not in [0, 3)"),
        (
            (3, *np.zeros((2, LAST), int), np.r_[np.zeros(LAST - 1), -1]),
            f"arc {LAST - 1}: the weight is -1.0: a finite",
        ),
        ((3, [0], [1], np.ones(2)), "2 weights for 1 arcs"),
        ((3, [0], [1], [0.1]), "arc 0: the weight is 0.1: float32 does not hold it exactly; weights.astype"),
    ],
)
def test_arcs_that_are_wrong_are_named(arcs, message):
    with pytest.raises(GraphError) as error:
        Graph.from_arcs(*arcs)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zero_has_one_sign(dtype):
    given = np.array([1, -0.0, 0.0], dtype)
    graph = Graph.from_arcs(2, [0, 0, 1], [1, 0, 0], given)
    assert graph.weights.tolist() == [1, 0, 0]
    assert not np.signbit(graph.weights).any()
    assert np.signbit(given[1])  # the caller's array stays as it is


def test_the_extreme_values_are_right():
    graph = Graph.from_arcs(2, [1, 1], [1, 0], [TOP, 0])
    assert graph.weights.tolist() == [TOP, 0]
    largest = float(np.finfo(np.float32).max)
    assert Graph.from_arcs(2, [1, 1], [1, 0], [largest, 0.0]).weights.tolist() == [largest, 0]
    # Where weights are rounded: as NumPy prints it, and the largest that does not become infinite.
    weights, inexact = rounded_weights(np.array([float(str(np.finfo(np.float32).max)), 3.4028235677973362e38]))
    assert weights.tolist() == [largest, largest] and inexact["count"] == 2
    assert (Graph([0], []).n, Graph.from_arcs(0, [], []).m) == (0, 0)


@given(arc_lists())
def test_components_are_scipys(arcs):
    n, sources, targets, _ = arcs
    graph = Graph.from_arcs(n, sources, targets)
    # SciPy's search for strong components may not end where arcs are parallel (seen with 1.17).
    simple = coo_array((np.ones(len(sources)), (sources, targets)), shape=(n, n)).tocsr()
    for connection in ("weak", "strong"):
        ours, theirs = graph.components(connection), connected_components(simple, connection=connection)[1]
        assert len(set(zip(ours.tolist(), theirs.tolist(), strict=True))) == len(set(ours.tolist())) == theirs.max() + 1
        assert set(ours.tolist()) == set(range(theirs.max() + 1))


@given(arc_lists(), st.data())
def test_a_search_follows_arcs_both_ways_level_by_level(arcs, data):
    n, sources, targets, _ = arcs
    root = data.draw(st.integers(0, n - 1))
    graph = Graph.from_arcs(n, sources, targets)
    turned = graph.transposed()
    order = components.search_order(graph.offsets, graph.targets, turned.offsets, turned.targets, root)
    matrix = coo_array((np.ones(len(sources)), (sources, targets)), shape=(n, n)).tocsr()
    assert sorted(order) == sorted(breadth_first_order(matrix, root, directed=False, return_predecessors=False))


def test_strong_components_of_a_graph_with_parallel_arcs():
    graph = GENERATORS["random"](vertices=52, arcs=209, weight_low=0, weight_high=5, seed=58069)
    assert (graph.components("strong") == 0).all()
    chain = Graph.from_arcs(4, [0, 0, 1, 2], [1, 1, 0, 3], None)
    strong, weak = chain.components("strong"), chain.components("weak")
    assert strong[0] == strong[1] and len(set(strong.tolist())) == 3
    assert weak.tolist() == [0, 0, 1, 1]


def test_mean_weight_of_arcs_and_of_none():
    graph = Graph.from_arcs(2, [0, 1], [1, 0], np.array([2**32 - 1, 2**32 - 3], np.uint32))
    assert graph.mean_weight == 2**32 - 2
    assert Graph.from_arcs(1, [], [], np.empty(0, np.uint32)).mean_weight == 0


# Bytes an arc beyond what is held before: the arrays that are returned, and what else is alive at the worst moment.
PEAKS = {
    "from_arcs": ("Graph.from_arcs(n, tails, heads, weights)", 8),
    "from_arcs without weights": ("Graph.from_arcs(n, tails, heads)", 4),
    "the constructor": ("Graph(graph.offsets, graph.targets, graph.weights)", 0),
    "transposed": ("graph.transposed()", 8),
    "transposed without weights": ("bare.transposed()", 8),  # the tails of the arcs too
    "is_symmetric": ("graph.is_symmetric()", 16),
    "mean_weight": ("graph.mean_weight", 0),
    "weak components": ("graph.components('weak')", 0),
    "strong components": ("graph.components('strong')", 0),
    "to_scipy": ("graph.to_scipy()", 12),
}
ARCS = 10_000_000
SETUP = f"""
from saitan.graph import Graph
random = np.random.default_rng(1)
n = 1000
tails, heads = (random.integers(0, n, {ARCS}, np.int32) for _ in range(2))
weights = random.integers(0, 9, {ARCS}, np.uint32)
graph = Graph.from_arcs(n, tails, heads, weights)
bare = graph.without_weights()
"""


def test_no_index_and_no_float64_of_all_arcs_is_made_on_the_way():
    found = peaks(SETUP, {name: call for name, (call, _) in PEAKS.items()})
    # Blocks of a million arcs: 1.3 bytes an arc here.
    assert {name: size / ARCS for name, size in found.items() if size > (PEAKS[name][1] + 1.3) * ARCS} == {}


def test_as_many_vertices_as_int32_numbers():
    assert vertex_count(MAX_VERTICES) == 2**31 - 1 and vertex_count(np.int32(7)) == 7
    for wrong, says in (
        (2**31, r"2,147,483,648 vertices: int32 ids hold at most 2,147,483,647"),
        (-1, "must be at least 0, not -1"),
        (True, "must be a whole number, not True"),
        (2.0, "must be a whole number, not 2.0"),
    ):
        with pytest.raises(GraphError, match=says):
            vertex_count(wrong)


def test_a_graph_that_was_changed_to_be_none_does_not_reach_scipy():
    graph = Graph.from_arcs(3, [0, 1], [1, 2], [5, 7])
    graph.targets[1] = 400_000
    with pytest.raises(GraphError, match=r"^arc 1: target 400000 is not in \[0, 3\)$"):
        graph.to_scipy()
