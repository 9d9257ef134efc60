"""The near-far method from one source by one thread: what `fast` searches small graphs with, and `apsp` all of them.

A vertex that comes nearer enters the queue of near vertices if it lies below the bound, otherwise the list of far ones,
once each; when the queue is empty the bound rises and the list is looked through. No heap and no atomics: a push is one
store, and with the bound rising by a good step few vertices are relaxed twice.

1. Davidson, Baxter, Garland, Owens: Work-efficient parallel GPU methods for single-source shortest paths. IPDPS 2014.
"""

from __future__ import annotations

import numpy as np

from saitan.compiled import njit
from saitan.graph import Graph
from saitan.sssp import unreachable

NEAR, FAR = np.uint8(1), np.uint8(2)
# Places of `counts`, two cache lines: vertices in the far list; then what the caller clears: whether a sum did not fit,
# arcs relaxed, vertices whose arcs were relaxed, times that the bound rose.
WAITING, OVERFLOWED, RELAXED, UPDATED, STEPS, COUNTS = 0, 1, 2, 3, 4, 16
ALL = np.int64(2**62)  # steps


@njit
def begin(row, limit, counts, bound):
    """Nothing is reached. row [n]: distances; bound [1] of their type."""
    row[:] = limit
    bound[0], counts[WAITING] = 0, 0


@njit
def reach(vertex, distance, row, lists, marks, counts):
    """A vertex is at most so far away."""
    if distance < row[vertex]:
        row[vertex] = distance
        if not marks[vertex]:
            marks[vertex] = FAR
            lists[1, counts[WAITING]] = vertex
            counts[WAITING] += 1


@njit
def advance(offsets, targets, weights, row, delta, limit, lists, marks, counts, bound, most):
    """Raise the bound `most` times, or until all is done, and relax what lies below it.

    lists int32 [2, n]: near and far vertices; marks uint8 [n], all 0 before the first and after the last rise
    """
    near, far, n = lists[0], lists[1], len(row)
    waiting, made, relaxed, updated, too_long = counts[WAITING], 0, 0, 0, False
    while waiting and made < most:
        made += 1
        low, nearest = bound[0], limit
        for x in range(waiting):
            d = row[far[x]]
            if low <= d < nearest:
                nearest = d
        # Where the step vanishes beside the distance, the rest is taken as it is.
        high = row.dtype.type(min(nearest + delta, limit))
        if not nearest < high:
            high = limit
        bound[0] = high
        head, length, kept = 0, 0, 0
        for x in range(waiting):
            v = far[x]
            if row[v] >= high:
                far[kept] = v
                kept += 1
                continue
            marks[v] &= ~FAR
            if row[v] >= low:
                marks[v] |= NEAR
                near[length] = v
                length += 1
        waiting = kept
        while length:
            u = near[head]
            head = head + 1 if head + 1 < n else 0
            length -= 1
            marks[u] &= ~NEAR
            # Unsigned, because Numba looks at every signed index whether it counts from the end.
            d, first, last = row[u], np.uint64(offsets[u]), np.uint64(offsets[u + 1])
            relaxed += last - first
            updated += 1
            for i in range(first, last):
                candidate, v = d + weights[i], np.uint32(targets[i])
                if candidate < row[v]:
                    row[v] = candidate
                    if candidate < high:
                        if not marks[v] & NEAR:
                            marks[v] |= NEAR
                            place = head + length
                            near[place if place < n else place - n] = v
                            length += 1
                    elif not marks[v] & FAR:
                        marks[v] |= FAR
                        far[waiting] = v
                        waiting += 1
                elif candidate >= limit:
                    too_long = True
    counts[WAITING] = waiting
    counts[RELAXED] += relaxed
    counts[UPDATED] += updated
    counts[STEPS] += made
    if too_long:
        counts[OVERFLOWED] = 1


@njit
def search(offsets, targets, weights, row, source, delta, limit, lists, marks, counts, bound):
    """All distances from one source."""
    begin(row, limit, counts, bound)
    reach(source, row.dtype.type(0), row, lists, marks, counts)
    advance(offsets, targets, weights, row, delta, limit, lists, marks, counts, bound, ALL)


@njit
def _query(offsets, targets, weights, row, source, delta, limit, lists, marks, counts, bound):
    counts[:] = 0
    search(offsets, targets, weights, row, source, delta, limit, lists, marks, counts, bound)


@njit
def _reach_all(vertices, lengths, row, limit, lists, marks, counts, bound):
    counts[:] = 0
    begin(row, limit, counts, bound)
    for i in range(len(vertices)):
        reach(np.int64(vertices[i]), row.dtype.type(lengths[i]), row, lists, marks, counts)


class NearFar:
    """Queries on a graph. distances [n]: where they go; delta: how far the bound rises, 1 or more of integers."""

    def __init__(self, graph: Graph, distances: np.ndarray, delta: float) -> None:
        kind, limit = distances.dtype.type, unreachable(distances.dtype)
        if distances.dtype.kind == "f":
            step = min(delta, float(np.finfo(kind).max))
        else:
            # A bound and a step of 2^62 do not wrap.
            step = min(max(delta, 1), 2**62, int(limit))
        self._counts = np.zeros(COUNTS, np.int64)
        self._arcs = graph.offsets, graph.targets, graph.weights, distances
        self._limits, self._row = (kind(step), limit), distances
        n = graph.n
        self._room = np.empty((2, n), np.int32), np.zeros(n, np.uint8), self._counts, np.empty(1, distances.dtype)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._room)

    def search(self, source: int) -> None:
        """Answer one source."""
        _query(*self._arcs, source, *self._limits, *self._room)

    def start(self, vertices: np.ndarray, lengths: np.ndarray) -> None:
        """Only these vertices (int32) are reached, at these distances."""
        _reach_all(vertices, lengths, self._row, self._limits[1], *self._room)

    def advance(self, most: int) -> bool:
        """Make so many steps, or all; whether there was one."""
        before = self.steps
        advance(*self._arcs, *self._limits, *self._room, most)
        return self.steps > before

    @property
    def steps(self) -> int:
        """Times that the bound rose."""
        return int(self._counts[STEPS])

    @property
    def updated(self) -> int:
        """Vertices whose arcs were relaxed, again where a distance fell again."""
        return int(self._counts[UPDATED])

    @property
    def relaxed(self) -> int:
        """Arcs that were relaxed."""
        return int(self._counts[RELAXED])

    @property
    def too_long(self) -> bool:
        """Whether a sum did not fit the distances' type."""
        return bool(self._counts[OVERFLOWED])
