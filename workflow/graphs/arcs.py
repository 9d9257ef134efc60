"""What a catalogue entry can ask to be done to a graph's arcs. Coordinates follow their vertices."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from saitan.generators.draw import endpoint_weights
from saitan.graph import Graph


def drop_loops(graph: Graph) -> Graph:
    """Without the arcs from a vertex to itself."""
    return _filtered(graph, graph.sources != graph.targets)


def symmetrise(graph: Graph) -> Graph:
    """Every arc also turned round, with its weight; self-loops once. Parallel arcs that arise are kept."""
    sources, targets, weights = graph.sources, graph.targets, graph.weights
    other = sources != targets
    return Graph.from_arcs(
        graph.n,
        np.concatenate([sources, targets[other]]),
        np.concatenate([targets, sources[other]]),
        None if weights is None else np.concatenate([weights, weights[other]]),
        coordinates=graph.coordinates,
        metadata={**graph.metadata, "directed": False},
    )


def merge_parallel(graph: Graph) -> Graph:
    """Of parallel arcs only one, with the least of their weights; the targets of a row ascend."""
    if not graph.m:
        return graph
    graph = graph.transposed().transposed()  # two stable counting sorts: rows by ascending target
    new = np.empty(graph.m, bool)
    new[0] = True
    np.not_equal(graph.targets[1:], graph.targets[:-1], out=new[1:])
    starts = graph.offsets[:-1]
    new[starts[starts < graph.offsets[1:]]] = True
    merged = _filtered(graph, new)
    if graph.weights is None:
        return merged
    return replace(merged, weights=np.minimum.reduceat(graph.weights, np.flatnonzero(new)))


def draw_weights(graph: Graph, low: int, high: int, seed: int) -> Graph:
    """Weights uint32, uniform in low .. high: a function of the seed and the end points, in both directions the same
    if the graph is undirected. Parallel arcs weigh the same."""
    weights = endpoint_weights(
        graph.sources, graph.targets, low, high, seed, directed=graph.metadata.get("directed", True)
    )
    return replace(graph, weights=weights)


def largest_component(graph: Graph, connection: Literal["weak", "strong"]) -> Graph:
    """The weakly or strongly connected component with most vertices, which keep their order."""
    if not graph.n:
        return graph
    component = graph.components(connection)
    inside = component == np.bincount(component).argmax()
    kept = _filtered(graph, inside[graph.sources] & inside[graph.targets])
    number = np.cumsum(inside, dtype=np.int32) - np.int32(1)
    return Graph(
        np.concatenate([[0], np.cumsum(kept.degrees[inside])]).astype(np.int64),
        number[kept.targets],
        kept.weights,
        None if graph.coordinates is None else graph.coordinates[inside],
        graph.metadata,
    )


def relabel(graph: Graph, order: Literal["bfs", "degree"]) -> Graph:
    """Vertices renumbered by descending out-degree (ties as before), or as a breadth-first search meets them.

    The search starts at the first vertex of largest degree and follows arcs both ways; vertices that it does not
    meet come last, in their old order.
    """
    if not graph.n:
        return graph
    if order == "degree":
        old = np.argsort(-graph.degrees, kind="stable")
    else:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import breadth_first_order

        matrix = csr_array((np.ones(graph.m), graph.targets, graph.offsets), shape=(graph.n, graph.n))
        root = int(graph.degrees.argmax())
        met = breadth_first_order(matrix, root, directed=False, return_predecessors=False)
        rest = np.ones(graph.n, bool)
        rest[met] = False
        old = np.concatenate([met, np.flatnonzero(rest)])
    number = np.empty(graph.n, np.int32)
    number[old] = np.arange(graph.n, dtype=np.int32)
    return Graph.from_arcs(
        graph.n,
        number[graph.sources],
        number[graph.targets],
        graph.weights,
        coordinates=None if graph.coordinates is None else graph.coordinates[old],
        metadata=graph.metadata,
    )


def _filtered(graph: Graph, keep: np.ndarray) -> Graph:
    """The graph with only the arcs where keep, bool [m], is true."""
    before = np.concatenate([[0], np.cumsum(keep, dtype=np.int64)])
    weights = None if graph.weights is None else graph.weights[keep]
    return Graph(before[graph.offsets], graph.targets[keep], weights, graph.coordinates, graph.metadata)
