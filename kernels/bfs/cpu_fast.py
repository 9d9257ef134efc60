"""Fast on the CPU: the hybrid search on vertices by falling degree (layout.py), or a queue where arcs are few.

Small worlds: paper H's rule and level step; the first entry of a row is nearly always the parent, so that a bottom-up
level reads one entry a vertex. Roads: thousands of small levels, each less work than starting threads for it, so one
core takes vertices from a queue.
"""

from __future__ import annotations

import time

import numpy as np
from numba import njit

from saitan.bfs import check_root
from saitan.bfs.cpu import CpuLevels, CpuSolver
from saitan.bfs.layout import Layout, restore, small_world
from saitan.bfs.search import Rule, search
from saitan.graph import Graph
from saitan.problem import Run


class Fast(CpuSolver):
    """By the hybrid on the layout, or by a queue."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        begin = time.perf_counter()
        self.levels, self.parents = np.empty(graph.n, np.int32), np.empty(graph.n, np.int32)
        self.layout = Layout.of(graph) if small_world(graph) else None
        if self.layout:
            forward, backward = self.layout.forward, self.layout.backward
            self._search = CpuLevels(forward, backward)
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
