"""PHAST on the CPU: a search up the hierarchy from the source, one look into the core's table, one sweep down.

Returns distances of the weights' type, or 64 bits wide once a sum did not fit. Positions are in the order of the sweep
(hierarchy.py), so it writes one distance after the other; only what it reads, the distances of higher vertices, lies
anywhere.

1. Delling, Goldberg, Nowatzyk, Werneck: PHAST: hardware-accelerated shortest path trees. IPDPS 2011, sections 3 and 4.
"""

from __future__ import annotations

import time

import numpy as np
from numba import get_num_threads, njit, prange

from saitan.graph import Graph
from saitan.problem import Run
from saitan.sssp import unreachable
from saitan.sssp.cpu import CpuSolver
from saitan.sssp.hierarchy import CORE, contract, in_type
from saitan.sssp.phases import wide

ALONE = 8192  # a level of fewer vertices is left to one thread: waking the others costs more


@njit(cache=True)
def _climb(offsets, heads, lengths, source, limit, above, found):
    """Distances over arcs upwards, into `above`, which is `limit` everywhere before.

    found: the positions reached, the lowest level first. Returns their number, the arcs looked at, and whether a sum
    did not fit.
    """
    above[source], found[0] = 0, source
    count, done, relaxed, too_long = 1, 0, 0, False
    while done < count:
        v = found[done]
        done += 1
        for i in range(offsets[v], offsets[v + 1]):
            if above[heads[i]] == limit:
                # Found, with a distance to come.
                above[heads[i]] = limit - 1
                found[count] = heads[i]
                count += 1
    found[:count] = np.sort(found[:count])[::-1]
    for v in found[:count]:
        relaxed += offsets[v + 1] - offsets[v]
        for i in range(offsets[v], offsets[v + 1]):
            if lengths[i] >= limit - above[v]:
                too_long = True
            else:
                above[heads[i]] = min(above[heads[i]], above[v] + lengths[i])
    return count, relaxed, too_long


@njit(cache=True)
def _cross(table, vertices, entries, above, limit, distances, answer):
    """Distances of the core from those of its entries; returns whether a sum did not fit."""
    core, too_long = len(table), False
    distances[:core] = limit
    for v in entries:
        reached, row = above[v], table[v]
        for u in range(core):
            if row[u] < limit - reached:
                distances[u] = min(distances[u], reached + row[u])
            elif row[u] < limit:
                too_long = True
    for u in range(core):
        answer[vertices[u]] = distances[u]
    return too_long


@njit(cache=True)
def _settle(begin, end, vertices, offsets, tails, lengths, above, limit, distances, answer):
    """Distances of positions of one level from those above it; returns whether a sum did not fit."""
    too_long = False
    for v in range(begin, end):
        nearest = above[v]
        for i in range(np.uint64(offsets[v]), np.uint64(offsets[v + 1])):
            reached = distances[np.uint32(tails[i])]
            if lengths[i] < limit - reached:
                nearest = min(nearest, reached + lengths[i])
            elif reached < limit:
                too_long = True
        distances[v] = nearest
        answer[np.uint32(vertices[v])] = nearest
    return too_long


@njit(parallel=True, cache=True)
def _sweep(threads, first, vertices, offsets, tails, lengths, above, limit, distances, answer):
    """Distances level by level; returns whether a sum did not fit."""
    too_long = 0
    for level in range(1, len(first) - 1):
        begin, size = first[level], first[level + 1] - first[level]
        if size < ALONE:
            too_long += _settle(begin, begin + size, vertices, offsets, tails, lengths, above, limit, distances, answer)
        else:
            for t in prange(threads):
                # Signed, or _settle would be compiled a second time.
                part, after = np.int64(t) * size // threads, (np.int64(t) + 1) * size // threads
                too_long += _settle(
                    begin + part, begin + after, vertices, offsets, tails, lengths, above, limit, distances, answer
                )
    return too_long > 0


class Phast(CpuSolver):
    """One source at a time over a hierarchy that the constructor builds.

    core: vertices left uncontracted at most, whose distances are a table.
    Distances widen to 64 bits, for this and all later queries, when a sum does not fit.
    Raises Unavailable for weights that are no integers and for graphs too dense to contract.
    """

    def __init__(self, graph: Graph, *, core: int = CORE) -> None:
        super().__init__(graph)
        self.hierarchy = contract(graph, core)
        self._found, self._place = np.empty(graph.n, np.int32), np.empty(graph.n, np.int32)
        self._place[self.hierarchy.vertices] = np.arange(graph.n)
        dtype = graph.weights.dtype
        self._allocate(dtype if self.hierarchy.longest < unreachable(dtype) else wide(dtype))

    @property
    def memory(self) -> int:
        h = self.hierarchy
        arrays = (h.vertices, h.up_offsets, h.up_heads, h.down_offsets, h.down_tails, self._found, self._place)
        arrays += (self._up, self._down, self._table, self._above, self._below, self.distances)
        held = {id(x): x.nbytes for x in arrays}
        return sum(held.values())

    def _allocate(self, dtype: np.dtype) -> None:
        h, n = self.hierarchy, self.graph.n
        self._up = in_type(h.up_lengths, dtype)
        self._down = self._up if h.down_lengths is h.up_lengths else in_type(h.down_lengths, dtype)
        self._table = in_type(h.table, dtype)
        self._above, self._below = np.full(n, unreachable(dtype)), np.empty(n, dtype)
        self.distances = np.empty(n, dtype)

    def _answer(self, source: int) -> tuple[int, bool]:
        """Arcs and table entries looked at, and whether a sum did not fit."""
        h, limit, found = self.hierarchy, unreachable(self.distances.dtype), self._found
        count, relaxed, climbed = _climb(
            h.up_offsets, h.up_heads, self._up, self._place[source], limit, self._above, found
        )
        below = self._above, limit, self._below, self.distances
        entries = found[:count][found[:count] < h.core]
        crossed = _cross(self._table, h.vertices, entries, *below)
        swept = _sweep(get_num_threads(), h.first, h.vertices, h.down_offsets, h.down_tails, self._down, *below)
        self._above[found[:count]] = limit
        return relaxed + len(entries) * h.core + len(h.down_tails), climbed or crossed or swept

    def run(self, source: int) -> Run:
        """Answer one source."""
        start = time.perf_counter()
        relaxed, too_long = self._answer(source)
        if too_long:
            self._allocate(wide(self.distances.dtype))
            relaxed, _ = self._answer(source)
        self.source = source
        seconds = time.perf_counter() - start
        return Run(seconds, seconds, self.hierarchy.counters(relaxed, self.distances.dtype))
