"""Fast on the CPU: the hybrid search on vertices by falling degree (layout.py), or a queue where arcs are few.

Small worlds: paper H's rule and top-down step. The first entry of a row is nearly always the parent: the first entries
lie in an array of their own, so that a bottom-up level reads 4 bytes a vertex, not a cache line, and the thread that
owns a word of the bitmaps ends the level for it at once. Roads: thousands of small levels, each less work than starting
threads for it, so one core takes vertices from a queue.
"""

from __future__ import annotations

import time

import numpy as np
from numba import get_num_threads, njit, prange

from saitan.atomics import atomic_add
from saitan.bfs import check_root
from saitan.bfs.cpu import CpuLevels, CpuSolver
from saitan.bfs.cpu_step import PIECE, WORD
from saitan.bfs.layout import Layout, restore, small_world
from saitan.bfs.search import BOTTOM_UP, Found, Rule, search
from saitan.graph import Graph
from saitan.problem import Run


class FirstLevels(CpuLevels):
    """The levels of a search over a layout, bottom-up by the first entries of the rows."""

    def __init__(self, forward: Graph, backward: Graph) -> None:
        super().__init__(forward, backward)
        starts = backward.offsets[:-1]
        self._first = np.full(backward.n, -1, np.int32)
        rows = starts < backward.offsets[1:]
        self._first[rows] = backward.targets[starts[rows]]

    @property
    def nbytes(self) -> int:
        return super().nbytes + self._first.nbytes

    def step(self, direction: str, level: int) -> Found:
        if direction != BOTTOM_UP:
            return super().step(direction, level)
        begin = time.perf_counter()
        rows, threads = self.backward, get_num_threads()
        vertices, self._arcs, inspected = _bottom_up(
            rows.offsets, rows.targets, self._first, self.forward.offsets, self.frontier, self.visited, self.following,
            self.levels, self.parents, level, self._ticket, threads,
        )  # fmt: skip
        self.frontier, self.following = self.following, self.frontier
        return Found(vertices, self._arcs, inspected, time.perf_counter() - begin)


@njit(cache=True, nogil=True)
def _bottom_up_alone(
    offsets, sources, first, leaving_offsets, frontier, visited, following, levels, parents, level, ticket
):
    """A thread's part: words until there are none. Returns vertices found, arcs that leave them, arcs looked at."""
    vertices, leaving, inspected = 0, 0, 0
    while True:
        low = atomic_add(ticket, 0, 1) * PIECE
        if low >= len(visited):
            return vertices, leaving, inspected
        for w in range(low, min(low + PIECE, len(visited))):
            found = np.uint32(0)
            wanted = ~visited[w]
            for b in range(WORD):
                if wanted >> b == 0:
                    break
                if not (wanted >> b) & 1:
                    continue
                v = w * WORD + b
                u = first[v]
                if u < 0:
                    continue
                inspected += 1
                hit = (frontier[u >> 5] >> (u & 31)) & 1
                if not hit:
                    for i in range(offsets[v] + 1, offsets[v + 1]):
                        inspected += 1
                        u = sources[i]
                        hit = (frontier[u >> 5] >> (u & 31)) & 1
                        if hit:
                            break
                if hit:
                    found |= np.uint32(1 << b)
                    levels[v], parents[v] = level, u
                    vertices += 1
                    leaving += leaving_offsets[v + 1] - leaving_offsets[v]
            following[w] = found
            visited[w] |= found


@njit(parallel=True, cache=True)
def _bottom_up(
    offsets, sources, first, leaving_offsets, frontier, visited, following, levels, parents, level, ticket, threads
):
    """A bottom-up level to its end: `following` is written whole, and what it holds is visited and numbered."""
    ticket[0] = 0
    counts = np.zeros((threads, 3), np.int64)
    for thread in prange(threads):
        counts[thread] = _bottom_up_alone(
            offsets, sources, first, leaving_offsets, frontier, visited, following, levels, parents, level, ticket
        )
    return counts[:, 0].sum(), counts[:, 1].sum(), counts[:, 2].sum()


class Fast(CpuSolver):
    """By the hybrid on the layout, or by a queue."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        begin = time.perf_counter()
        self.levels, self.parents = np.empty(graph.n, np.int32), np.empty(graph.n, np.int32)
        self.layout = Layout.of(graph) if small_world(graph) else None
        if self.layout:
            forward, backward = self.layout.forward, self.layout.backward
            self._search = FirstLevels(forward, backward)
            self.rule = Rule(forward.n, forward.m)
            arrays = (forward.offsets, forward.targets, self.layout.old, self.layout.new)
            self.memory = self._search.nbytes + sum(array.nbytes for array in arrays)
        else:
            self._queue = np.empty(graph.n, np.int32)
            self.memory = self._queue.nbytes
        self.memory += self.levels.nbytes + self.parents.nbytes
        self.construction = time.perf_counter() - begin

    def run(self, root: int) -> Run:
        """Answer one root; phases has direction, frontier, inspected, seconds where the hybrid did."""
        root = check_root(self.graph, root)
        self.root = root
        if self.layout is None:
            begin = time.perf_counter()
            levels, inspected = _by_queue(
                self.graph.offsets, self.graph.targets, root, self.levels, self.parents, self._queue
            )
            seconds = time.perf_counter() - begin
            counters, phases = {"levels": levels, "inspected": inspected, "search_s": seconds}, {}
        else:
            begin = time.perf_counter()
            trace = search(self._search, self.rule, int(self.layout.new[root]))
            searched = time.perf_counter() - begin
            answer = (self._search.levels, self._search.parents)
            restore(self.layout.new, self.layout.old, *answer, self.levels, self.parents)
            seconds = time.perf_counter() - begin
            counters, phases = trace.counters() | {"search_s": searched}, trace.arrays()
        counters["construction_s"] = self.construction
        return self.edges.run(self.levels, Run(seconds, seconds, counters, phases))


@njit(cache=True)
def _by_queue(offsets, targets, root, levels, parents, queue):
    """Fills levels and parents; returns the levels there are and the arcs looked at."""
    levels[:] = -1
    parents[:] = -1
    levels[root], parents[root], queue[0] = 0, root, root
    taken, found, inspected = 0, 1, 0
    while taken < found:
        u = queue[taken]
        taken += 1
        inspected += offsets[u + 1] - offsets[u]
        for i in range(offsets[u], offsets[u + 1]):
            v = targets[i]
            if levels[v] < 0:
                levels[v], parents[v], queue[found] = levels[u] + 1, u, v
                found += 1
    return levels[queue[found - 1]] + 1, inspected
