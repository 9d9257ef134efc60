"""What a catalogue entry can ask to be done to a graph's arcs. Coordinates and labels follow their vertices.

Beside the graphs before and after, nothing here holds more than four bytes an arc; what needs wider numbers goes block
by block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from saitan import csr
from saitan.generators.draw import endpoint_weights
from saitan.graph import Graph

_BLOCK = 1 << 20


def drop_loops(graph: Graph) -> Graph:
    """Without the arcs from a vertex to itself."""
    return _filtered(graph, csr.tails(graph.offsets) != graph.targets)


def symmetrise(graph: Graph) -> Graph:
    """Every arc also turned round, with its weight; self-loops once. Parallel arcs that arise are kept."""
    sources, targets, weights = csr.tails(graph.offsets), graph.targets, graph.weights
    other = sources != targets
    return Graph.from_arcs(
        graph.n,
        np.concatenate([sources, targets[other]]),
        np.concatenate([targets, sources[other]]),
        None if weights is None else np.concatenate([weights, weights[other]]),
        coordinates=graph.coordinates,
        metadata={**graph.metadata, "directed": False},
        labels=graph.labels,
    )


def merge_parallel(graph: Graph) -> Graph:
    """Of parallel arcs only one, with the least of their weights; the targets of a row ascend."""
    if not graph.m:
        return graph
    graph = graph.transposed().transposed()  # two stable counting sorts: rows by ascending target
    new = np.empty(graph.m, bool)
    np.not_equal(graph.targets[1:], graph.targets[:-1], out=new[1:])
    starts = graph.offsets[:-1]
    new[starts[starts < graph.offsets[1:]]] = True  # arc 0 is one of them
    merged = _filtered(graph, new)
    if graph.weights is None:
        return merged
    least = merged.weights
    for rows in _row_blocks(graph):
        arcs, kept = (slice(g.offsets[rows.start], g.offsets[rows.stop]) for g in (graph, merged))
        if arcs.start < arcs.stop:
            least[kept] = np.minimum.reduceat(graph.weights[arcs], np.flatnonzero(new[arcs]))
    return merged


def draw_weights(graph: Graph, low: int, high: int, seed: int) -> Graph:
    """Weights uint32, uniform in low .. high: a function of the seed and the end points, in both directions the same
    if the graph is undirected. Parallel arcs weigh the same."""
    weights = endpoint_weights(csr.tails(graph.offsets), graph.targets, low, high, seed, directed=graph.directed)
    return replace(graph, weights=weights)


def largest_component(graph: Graph, connection: Literal["weak", "strong"]) -> Graph:
    """The weakly or strongly connected component with most vertices, which keep their order.

    Labels stay with their vertices; where there are none and vertices are left out, they are the old numbers.
    """
    if not graph.n:
        return graph
    component = graph.components(connection)
    inside = component == np.bincount(component).argmax()
    keep = np.repeat(inside, graph.degrees)
    for start in range(0, graph.m, _BLOCK):
        block = slice(start, start + _BLOCK)
        keep[block] &= inside[graph.targets[block]]
    kept = _filtered(graph, keep)
    labels = graph.labels if graph.labels is not None or inside.all() else np.arange(graph.n)
    return Graph(
        np.concatenate([[0], np.cumsum(kept.degrees[inside])]).astype(np.int64),
        renumbered(kept.targets, np.cumsum(inside, dtype=np.int32) - np.int32(1)),
        kept.weights,
        None if graph.coordinates is None else graph.coordinates[inside],
        graph.metadata,
        None if labels is None else labels[inside],
    )


def relabel(graph: Graph, order: Literal["bfs", "degree"]) -> Graph:
    """Vertices renumbered by descending out-degree (ties as before), or as a breadth-first search meets them.

    The search starts at the first vertex of largest degree and follows arcs both ways; vertices that it does not
    meet come last, in their old order. Labels stay with their vertices; where there are none, they are the old numbers.
    """
    if not graph.n:
        return graph
    if order == "degree":
        old = np.argsort(-graph.degrees, kind="stable")
    else:
        from saitan.components import search_order

        bare = graph.without_weights()
        turned = bare if not graph.directed else bare.transposed()
        met = search_order(bare.offsets, bare.targets, turned.offsets, turned.targets, int(graph.degrees.argmax()))
        rest = np.ones(graph.n, bool)
        rest[met] = False
        old = np.concatenate([met, np.flatnonzero(rest)])
    number = np.empty(graph.n, np.int32)
    number[old] = np.arange(graph.n, dtype=np.int32)
    return Graph.from_arcs(
        graph.n,
        np.repeat(number, graph.degrees),
        renumbered(graph.targets, number),
        graph.weights,
        coordinates=None if graph.coordinates is None else graph.coordinates[old],
        metadata=graph.metadata,
        labels=old if graph.labels is None else graph.labels[old],
    )


def renumbered(ends: np.ndarray, number: np.ndarray) -> np.ndarray:
    """int32 [m]: number[end] of every end."""
    new = np.empty(len(ends), np.int32)
    for start in range(0, len(ends), _BLOCK):
        block = slice(start, start + _BLOCK)
        new[block] = number[ends[block]]
    return new


def _filtered(graph: Graph, keep: np.ndarray) -> Graph:
    """The graph with only the arcs where keep, bool [m], is true."""
    offsets = np.zeros(graph.n + 1, np.int64)
    for rows in _row_blocks(graph):
        arcs = slice(graph.offsets[rows.start], graph.offsets[rows.stop])
        before = np.concatenate([[0], np.cumsum(keep[arcs])])
        ends = before[graph.offsets[rows.start + 1 : rows.stop + 1] - arcs.start]
        offsets[rows.start + 1 : rows.stop + 1] = offsets[rows.start] + ends
    weights = None if graph.weights is None else graph.weights[keep]
    return Graph(offsets, graph.targets[keep], weights, graph.coordinates, graph.metadata, graph.labels)


def _row_blocks(graph: Graph) -> Iterator[slice]:
    """Neighbouring rows, at most _BLOCK of them and of their arcs; a row with more arcs is a block of its own."""
    first = 0
    while first < graph.n:
        end = int(np.searchsorted(graph.offsets, graph.offsets[first] + _BLOCK, side="right")) - 1
        end = min(max(end, first + 1), first + _BLOCK, graph.n)
        yield slice(first, end)
        first = end
