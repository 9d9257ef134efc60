"""The layout that `fast` searches: vertices by falling degree, rows sorted, nothing that a search cannot use.

Vertices without an arc to another one are left out. Of the others the ones of most arcs come first, equal ones in the
graph's order, so that the few vertices that most arcs lead to share a few words of a bitmap, and the first entry of a
row is the neighbour most likely to be reached. Rows ascend, without loops and parallel arcs, which change no answer.

Graphs of few arcs a vertex (roads) stay as they are: there neighbours have near numbers, and no vertex stands out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import get_num_threads, prange

from saitan.compiled import njit
from saitan.graph import Graph
from saitan.team import pieces

# Graphs of at least so many arcs a vertex are taken for small worlds.
WIDE_DEGREE = 8
# A longer row stands out: it is worth an order by degree, and too much for one thread of a GPU.
LONGEST_ROW = 64
PIECE = 64  # rows that a ticket stands for


def small_world(graph: Graph) -> bool:
    """Whether the layout is for this graph."""
    return graph.m >= WIDE_DEGREE * graph.n


@dataclass(frozen=True)
class Numbering:
    """The vertices of a layout, on the host.

    old      int32 [k]: the graph's number of every vertex of the layout
    new      int32 [n]: the layout's number of every vertex of the graph, -1 for those left out
    degrees  [k]: arcs that leave every vertex of the layout
    """

    old: np.ndarray
    new: np.ndarray
    degrees: np.ndarray


@dataclass(frozen=True)
class Layout:
    """A graph in the order of falling degree.

    forward   arcs, k vertices; backward: them turned round, the same object where the graph is undirected
    old       int32 [k]: the graph's number of every vertex of the layout
    new       int32 [n]: the layout's number of every vertex of the graph, -1 for those left out
    """

    forward: Graph
    backward: Graph
    old: np.ndarray
    new: np.ndarray

    @property
    def numbering(self) -> Numbering:
        return Numbering(self.old, self.new, self.forward.degrees)

    @classmethod
    def of(cls, graph: Graph, turned: Graph, by_degree: bool = True) -> Layout:
        """turned: search.reverse(graph). by_degree: False keeps all vertices in the graph's order."""
        if by_degree:
            old, new = _order(graph.offsets, graph.targets, turned.offsets, turned.targets)
        else:
            old = new = np.arange(graph.n, dtype=np.int32)
        forward = _rows(graph, old, new)
        return cls(forward, forward if turned is graph else _rows(turned, old, new), old, new)


def _rows(graph: Graph, old: np.ndarray, new: np.ndarray) -> Graph:
    """The graph's rows in the layout's numbers and order."""
    starts = np.concatenate([[0], np.cumsum(graph.degrees[old])])
    room, sizes = np.empty(starts[-1], np.int32), np.empty(len(old), np.int64)
    ticket, threads = np.zeros(1, np.int64), get_num_threads()
    _renumber(graph.offsets, graph.targets, old, new, starts, room, sizes, ticket, threads)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    targets = np.empty(offsets[-1], np.int32)
    ticket[0] = 0
    _close_up(starts, room, offsets, targets, ticket, threads)
    return Graph(offsets, targets, metadata=graph.metadata)


@njit
def _order(offsets, targets, turned_offsets, turned_targets):
    """Layout.old and Layout.new: a counting sort by out-degree, loops not counted."""
    n = len(offsets) - 1
    degrees = np.empty(n, np.int64)
    most = 0
    for v in range(n):
        degree, into = 0, 0
        for i in range(offsets[v], offsets[v + 1]):
            degree += targets[i] != v
        for i in range(turned_offsets[v], turned_offsets[v + 1]):
            if turned_targets[i] != v:
                into = 1
                break
        degrees[v] = degree if degree + into else -1
        most = max(most, degree)
    places = np.zeros(most + 2, np.int64)
    kept = 0
    for v in range(n):
        if degrees[v] >= 0:
            places[degrees[v]] += 1
            kept += 1
    before = 0
    for degree in range(most, -1, -1):
        places[degree], before = before, before + places[degree]
    old, new = np.empty(kept, np.int32), np.full(n, -1, np.int32)
    for v in range(n):
        if degrees[v] >= 0:
            place = places[degrees[v]]
            places[degrees[v]] += 1
            old[place], new[v] = v, place
    return old, new


@njit(parallel=True)
def _renumber(offsets, targets, old, new, starts, room, sizes, ticket, threads):
    """Every row renumbered, sorted and without loops and repeats, at starts[v] of `room`; how long it is then."""
    for _ in prange(threads):
        for low, high in pieces(ticket, 0, len(old), PIECE):
            for v in range(low, high):
                row = room[starts[v] : starts[v + 1]]
                first = offsets[old[v]]
                for i in range(len(row)):
                    row[i] = new[targets[first + i]]
                row.sort()
                size, last = 0, -1
                for i in range(len(row)):
                    if row[i] != last and row[i] != v:
                        last = row[i]
                        row[size] = last
                        size += 1
                sizes[v] = size


@njit(parallel=True)
def _close_up(starts, room, offsets, targets, ticket, threads):
    for _ in prange(threads):
        for low, high in pieces(ticket, 0, len(offsets) - 1, PIECE):
            for v in range(low, high):
                size = offsets[v + 1] - offsets[v]
                targets[offsets[v] : offsets[v + 1]] = room[starts[v] : starts[v] + size]


@njit
def rows_of_four(offsets, targets):
    """The rows of road.cu, int32 [vertices and extensions, 4]: heads, -1 where there is none, -2 - number of the row
    that goes on."""
    n = len(offsets) - 1
    extensions = 0
    for v in range(n):
        extensions += max(0, (offsets[v + 1] - offsets[v] - 2) // 3)
    rows = np.full((n + extensions, 4), -1, np.int32)
    next_row = n
    for v in range(n):
        row, place = v, 0
        for i in range(offsets[v], offsets[v + 1]):
            if place == 3 and i + 1 < offsets[v + 1]:
                rows[row, 3] = -2 - next_row
                row, place = next_row, 0
                next_row += 1
            rows[row, place] = targets[i]
            place += 1
    return rows
