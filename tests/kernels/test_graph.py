import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array

from saitan.generators import GENERATORS
from saitan.graph import Graph, GraphError


@st.composite
def arc_lists(draw):
    n = draw(st.integers(1, 12))
    ends = st.integers(0, n - 1)
    rows = draw(st.lists(st.tuples(ends, ends, st.integers(0, 2**32 - 1)), max_size=40))
    array = np.array(rows, np.int64).reshape(-1, 3)
    return n, array[:, 0], array[:, 1], array[:, 2].astype(np.uint32)


@given(arc_lists())
def test_from_arcs_keeps_every_arc_in_order(arcs):
    n, sources, targets, weights = arcs
    graph = Graph.from_arcs(n, sources, targets, weights)
    order = np.argsort(sources, kind="stable")
    np.testing.assert_array_equal(graph.sources, sources[order])
    np.testing.assert_array_equal(graph.targets, targets[order])
    np.testing.assert_array_equal(graph.weights, weights[order])
    np.testing.assert_array_equal(graph.degrees, np.bincount(sources, minlength=n))


@given(arc_lists())
def test_transposed_is_scipys_transpose(arcs):
    n, sources, targets, weights = arcs
    graph = Graph.from_arcs(n, sources, targets, weights)
    expected = coo_array((weights.astype(np.float64), (targets, sources)), shape=(n, n)).toarray()
    np.testing.assert_array_equal(graph.transposed().to_scipy().toarray(), expected)


def test_with_metadata_shares_the_arrays():
    graph = Graph.from_arcs(2, [0], [1], metadata={"name": "a", "directed": True})
    renamed = graph.with_metadata(name="b")
    assert (renamed.name, graph.name, renamed.metadata["directed"]) == ("b", "a", True)
    assert renamed.targets is graph.targets


OFFSETS = np.array([0, 1, 2], np.int64)
TARGETS = np.array([1, 0], np.int32)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((OFFSETS.astype(np.int32), TARGETS), "offsets must be a non-empty one-dimensional int64 array"),
        ((np.array([0, 2, 1], np.int64), TARGETS), "offsets must ascend from 0 to the number of arcs, 2"),
        ((np.array([0, 1, 3], np.int64), TARGETS), "offsets must ascend"),
        ((OFFSETS, TARGETS.astype(np.int64)), "targets must be a one-dimensional int32 array"),
        ((OFFSETS, np.array([1, 2], np.int32)), r"every target must be in \[0, 2\)"),
        ((OFFSETS, TARGETS, np.ones(2)), "weights must be uint32 or float32"),
        ((OFFSETS, TARGETS, np.array([1, np.nan], np.float32)), "weights must be finite and non-negative"),
        ((OFFSETS, TARGETS, np.array([1, -1], np.float32)), "weights must be finite and non-negative"),
        ((OFFSETS, TARGETS, None, np.zeros((3, 2))), r"coordinates must have the shape \(2, 2\)"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arrays, message):
    with pytest.raises(GraphError, match=message):
        Graph(*arrays)


def test_an_arc_out_of_range_is_named():
    with pytest.raises(GraphError, match=r"arc 1: target 7 is not in \[0, 3\)"):
        Graph.from_arcs(3, [0, 1], [1, 7])


def test_strong_components_of_a_graph_with_parallel_arcs():
    graph = GENERATORS["random"](vertices=52, arcs=209, weight_low=0, weight_high=5, seed=58069)
    assert (graph.components("strong") == 0).all()
    chain = Graph.from_arcs(4, [0, 0, 1, 2], [1, 1, 0, 3], None)
    strong, weak = chain.components("strong"), chain.components("weak")
    assert strong[0] == strong[1] and len(set(strong.tolist())) == 3
    assert weak[0] == weak[1] and weak[2] == weak[3] != weak[0]


def test_mean_weight_of_arcs_and_of_none():
    graph = Graph.from_arcs(2, [0, 1], [1, 0], np.array([2**32 - 1, 2**32 - 3], np.uint32))
    assert graph.mean_weight == 2**32 - 2
    assert Graph.from_arcs(1, [], [], np.empty(0, np.uint32)).mean_weight == 0
