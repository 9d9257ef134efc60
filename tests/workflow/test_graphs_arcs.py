from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse.csgraph import connected_components, shortest_path

from saitan.graph import Graph
from saitan.workflow.graphs import arcs


@st.composite
def graphs(draw, weighted=None):
    n = draw(st.integers(1, 12))
    ends = st.integers(0, n - 1)
    rows = np.array(draw(st.lists(st.tuples(ends, ends, st.integers(0, 9)), max_size=40)), np.int64).reshape(-1, 3)
    weighted = draw(st.booleans()) if weighted is None else weighted
    return Graph.from_arcs(
        n,
        rows[:, 0],
        rows[:, 1],
        rows[:, 2].astype(np.uint32) if weighted else None,
        coordinates=np.arange(2.0 * n).reshape(n, 2),
        metadata={"directed": True, "name": "g"},
        labels=10 * np.arange(n),
    )


def listed(graph, names=None):
    """All arcs as a sorted list of (source, target, weight), vertices under other names if given."""
    names = np.arange(graph.n) if names is None else names
    weights = np.zeros(graph.m, np.uint32) if graph.weights is None else graph.weights
    return sorted(zip(names[graph.sources].tolist(), names[graph.targets].tolist(), weights.tolist(), strict=True))


@pytest.fixture(autouse=True, params=[3, 1 << 20], ids=["small blocks", "one block"])
def blocks(request, monkeypatch):
    monkeypatch.setattr(arcs, "_BLOCK", request.param)


def follow(graph, names=None):
    """Whether coordinates and labels are those of the vertices under their old names."""
    names = np.arange(graph.n) if names is None else names
    assert_array_equal(graph.labels, 10 * names)
    return np.array_equal(graph.coordinates[:, 0], 2.0 * names)


@given(graphs())
def test_drop_loops(graph):
    assert follow(arcs.drop_loops(graph))
    assert listed(arcs.drop_loops(graph)) == [arc for arc in listed(graph) if arc[0] != arc[1]]


@given(graphs())
def test_symmetrise(graph):
    both = arcs.symmetrise(graph)
    assert follow(both) and both.is_symmetric()
    turned = [(v, u, w) for u, v, w in listed(graph) if u != v]
    assert listed(both) == sorted(listed(graph) + turned)
    assert both.metadata == {"directed": False, "name": "g"}


@given(graphs())
def test_merge_parallel_keeps_the_least_weight(graph):
    least = {}
    for u, v, w in listed(graph):
        least[u, v] = min(w, least.get((u, v), w))
    merged = arcs.merge_parallel(graph)
    assert follow(merged)
    assert listed(merged) == sorted((u, v, w) for (u, v), w in least.items())
    assert_array_equal(merged.sources * graph.n + merged.targets, sorted(u * graph.n + v for u, v in least))


@given(graphs(), st.sampled_from(["weak", "strong"]))
def test_largest_component(graph, connection):
    _, label = connected_components(_pattern(graph), connection=connection)
    largest = arcs.largest_component(graph, connection)
    names = graph.coordinates[:, 0].searchsorted(largest.coordinates[:, 0])
    assert follow(largest, names)
    assert len(names) == np.bincount(label).max()
    assert len(set(label[names].tolist())) == 1
    assert (np.diff(names) > 0).all()
    assert listed(largest, names) == [a for a in listed(graph) if a[0] in names and a[1] in names]


def test_a_component_of_a_graph_without_labels_has_the_numbers_of_before():
    graph = Graph.from_arcs(6, [0, 1, 3, 4, 5], [1, 2, 4, 5, 3])
    component = arcs.largest_component(graph, "strong")
    assert component.labels.tolist() == [3, 4, 5]
    assert arcs.relabel(component, "bfs").labels.tolist() == [3, 4, 5]
    # No vertex is left out: they are their numbers.
    assert arcs.largest_component(Graph.from_arcs(2, [0], [1]), "weak").labels is None


def test_an_arc_that_leaves_a_component_at_the_end_of_a_block():
    graph = Graph.from_arcs(3, [0, 0, 0, 1], [1, 2, 2, 0])
    assert listed(arcs.largest_component(graph, "strong")) == [(0, 1, 0), (1, 0, 0)]


def _pattern(graph):
    matrix = Graph(graph.offsets, graph.targets).to_scipy().copy()
    # With parallel arcs SciPy's search for strong components may not end.
    matrix.sum_duplicates()
    return matrix


@given(graphs(), st.sampled_from(["bfs", "degree"]))
def test_relabel_only_renames(graph, order):
    renamed = arcs.relabel(graph, order)
    names = graph.coordinates[:, 0].searchsorted(renamed.coordinates[:, 0])
    assert sorted(names.tolist()) == list(range(graph.n))
    assert follow(renamed, names)
    assert listed(renamed, names) == listed(graph)
    if order == "degree":
        assert (np.diff(renamed.degrees) <= 0).all()
    else:
        hops = shortest_path(_pattern(graph), directed=False, unweighted=True, indices=graph.degrees.argmax())[names]
        met = np.isfinite(hops).sum()
        assert (np.diff(hops[:met]) >= 0).all()
        assert (np.diff(names[met:]) > 0).all()


@given(graphs())
def test_blocks_of_rows_hold_as_many_arcs_as_they_may(graph):
    blocks, end = list(arcs._row_blocks(graph)), 0
    for rows in blocks:
        assert rows.start == end < rows.stop
        end = rows.stop
        held, wider = (graph.offsets[min(stop, graph.n)] - graph.offsets[rows.start] for stop in (end, end + 1))
        assert end - rows.start <= arcs._BLOCK and (held <= arcs._BLOCK or end == rows.start + 1)
        assert end == graph.n or end - rows.start == arcs._BLOCK or wider > arcs._BLOCK
    assert end == graph.n


def test_vertices_of_one_degree_keep_their_order():
    rng = np.random.default_rng(1)
    degrees = rng.integers(1, 4, 500)
    graph = Graph.from_arcs(500, np.repeat(np.arange(500), degrees), rng.integers(0, 500, degrees.sum()))
    assert_array_equal(arcs.relabel(graph, "degree").labels, np.lexsort((np.arange(500), -degrees)))
    graph = replace(graph, labels=np.arange(500))
    assert_array_equal(arcs.relabel(graph, "degree").labels, np.lexsort((np.arange(500), -degrees)))


@given(graphs(), st.integers(0, 100))
def test_drawn_weights_are_equal_both_ways_and_survive_renumbering_of_arcs(graph, seed):
    both = arcs.draw_weights(arcs.symmetrise(graph), 100, 5000, seed)
    weight = {}
    for u, v, w in listed(both):
        assert 100 <= w <= 5000
        assert weight.setdefault((min(u, v), max(u, v)), w) == w
    assert listed(arcs.draw_weights(both.transposed(), 100, 5000, seed)) == listed(both)


@pytest.mark.parametrize("n", [0, 3])
@pytest.mark.parametrize(
    "change",
    [
        arcs.drop_loops,
        arcs.symmetrise,
        arcs.merge_parallel,
        lambda graph: arcs.draw_weights(graph, 1, 9, 1),
        lambda graph: arcs.largest_component(graph, "weak"),
        lambda graph: arcs.largest_component(graph, "strong"),
        lambda graph: arcs.relabel(graph, "bfs"),
        lambda graph: arcs.relabel(graph, "degree"),
    ],
)
def test_a_graph_without_arcs_or_vertices_stays_one(change, n):
    changed = change(Graph.from_arcs(n, [], [], np.empty(0, np.uint32)))
    assert changed.m == 0 and changed.n in (n, min(n, 1))
