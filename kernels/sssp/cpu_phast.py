"""PHAST on the CPU: an upward search from the source, the core's distances by a table, one linear sweep down.

Returns distances of the weights' type, or of 64 bits once a sum did not fit. Positions are in the order of the sweep
(hierarchy.py), so the sweep writes consecutive distances; its reads, the distances of higher vertices, are scattered.

1. Delling, Goldberg, Nowatzyk, Werneck: PHAST: hardware-accelerated shortest path trees. IPDPS 2011, sections 3 and 4.
"""

from __future__ import annotations

import time

import numpy as np
from numba import get_num_threads, prange

from saitan.compiled import njit
from saitan.graph import Graph
from saitan.problem import Run
from saitan.sssp import unreachable
from saitan.sssp.cpu import CpuSolver
from saitan.sssp.ending import TOO_LONG, run_until_it_fits, widened_type
from saitan.sssp.hierarchy import CORE, contract, in_type

ALONE = 8192  # one thread sweeps a level of fewer vertices: starting the others costs more


@njit
def _search_up(offsets, heads, lengths, source, limit, above, found):
    """Distances over arcs upwards, into `above`, which is `limit` everywhere before.

    found: the positions reached, the lowest level first. Returns their number, the arcs relaxed, and whether a sum
    did not fit.
    """
    above[source], found[0] = 0, source
    count, done, relaxed, too_long = 1, 0, 0, False
    while done < count:
        v = found[done]
        done += 1
        for i in range(offsets[v], offsets[v + 1]):
            if above[heads[i]] == limit:
                # Marks it as found; its distance is computed below.
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


@njit
def _core_distances(table, vertices, entries, above, limit, distances, answer):
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


@njit
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


@njit(parallel=True)
def _sweep(threads, first, vertices, offsets, tails, lengths, above, limit, distances, answer):
    """Distances level by level; returns whether a sum did not fit."""
    too_long = 0
    for level in range(1, len(first) - 1):
        begin, size = first[level], first[level + 1] - first[level]
        if size < ALONE:
            too_long += _settle(begin, begin + size, vertices, offsets, tails, lengths, above, limit, distances, answer)
        else:
            for t in prange(threads):
                # Signed, because the loop's unsigned type would compile _settle a second time.
                part, after = np.int64(t) * size // threads, (np.int64(t) + 1) * size // threads
                too_long += _settle(
                    begin + part, begin + after, vertices, offsets, tails, lengths, above, limit, distances, answer
                )
    return too_long > 0


class Phast(CpuSolver):
    """One source at a time over a hierarchy that the constructor builds.

    core: most vertices left uncontracted, whose distances are a table; CORE of hierarchy.py where not given.
    Distances widen to 64 bits, for this and all later queries, when a sum does not fit.
    Raises Unavailable for weights that are no integers and for graphs too dense to contract.
    """

    def __init__(self, graph: Graph, *, core: int | None = None) -> None:
        super().__init__(graph)
        self.hierarchy = contract(graph, CORE if core is None else core)
        self._found, self._place = np.empty(graph.n, np.int32), np.empty(graph.n, np.int32)
        self._place[self.hierarchy.vertices] = np.arange(graph.n)
        dtype = graph.weights.dtype
        self._allocate(dtype if self.hierarchy.longest < unreachable(dtype) else widened_type(dtype))

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

    def _attempt(self, source: int) -> tuple[int, int]:
        """How the query ended, and the arcs and table entries relaxed."""
        h, limit, found = self.hierarchy, unreachable(self.distances.dtype), self._found
        count, relaxed, searched = _search_up(
            h.up_offsets, h.up_heads, self._up, self._place[source], limit, self._above, found
        )
        below = self._above, limit, self._below, self.distances
        entries = found[:count][found[:count] < h.core]
        crossed = _core_distances(self._table, h.vertices, entries, *below)
        swept = _sweep(get_num_threads(), h.first, h.vertices, h.down_offsets, h.down_tails, self._down, *below)
        self._above[found[:count]] = limit
        too_long = searched or crossed or swept
        return TOO_LONG * too_long, relaxed + len(entries) * h.core + len(h.down_tails)

    def run(self, source: int) -> Run:
        """Answer one source."""
        start = time.perf_counter()
        relaxed = run_until_it_fits(
            lambda: self._attempt(source), widen=lambda: self._allocate(widened_type(self.distances.dtype))
        )
        self.source = source
        seconds = time.perf_counter() - start
        return Run(seconds, seconds, self.hierarchy.counters(relaxed, self.distances.dtype))
