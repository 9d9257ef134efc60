"""Fast on the CPU: levels on all threads (cpu_levels.py) or on one, or vertices from a queue on one.

Small worlds take levels over vertices by falling degree. Roads have thousands of small levels, each less work than
sharing it, and to begin by levels takes longer than to search a tiny graph. On a graph of few arcs, or of few arcs a
vertex, a few searches by each way decide (trial.py).
"""

from __future__ import annotations

import time

import numpy as np

from saitan.bfs import cpu_levels
from saitan.bfs.cpu import CpuSolver
from saitan.bfs.cpu_levels import Levels
from saitan.bfs.layout import LONGEST_ROW, Layout, small_world
from saitan.bfs.search import reverse
from saitan.bfs.trial import fastest
from saitan.compiled import njit
from saitan.graph import Graph
from saitan.problem import Run

# Arcs of a small world up to which one thread is tried too: each search of more takes a while.
QUEUED = 1 << 24


class Queue:
    """Searches by one thread, in the graph's order. levels, parents: int32 [n], of the last one."""

    def __init__(self, graph: Graph) -> None:
        self._rows = graph.offsets, graph.targets
        self.levels, self.parents, self._queue = (np.empty(graph.n, np.int32) for _ in range(3))
        self.memory = 12 * graph.n

    def run(self, root: int) -> tuple[float, dict[str, float], dict[str, np.ndarray]]:
        """Answer one root; returns seconds, counters and no phases."""
        begin = time.perf_counter()
        levels, inspected = _by_queue(*self._rows, root, self.levels, self.parents, self._queue)
        return time.perf_counter() - begin, {"levels": levels, "inspected": inspected}, {}


@njit
def _by_queue(offsets, targets, root, levels, parents, queue):
    """Fills levels and parents; returns the levels there are and the arcs looked at."""
    levels[:] = -1
    parents[:] = -1
    levels[root], parents[root], queue[0] = 0, root, root
    level, begin, end, inspected = 0, 0, 1, 0
    while begin < end:
        level += 1
        found = end
        for place in range(begin, end):
            # Unsigned, because a signed index is compared with 0 first.
            u = np.uint32(queue[place])
            first, last = np.uint64(offsets[u]), np.uint64(offsets[u + np.uint32(1)])
            inspected += last - first
            for i in range(first, last):
                v = np.uint32(targets[i])
                if levels[v] < 0:
                    levels[v], parents[v], queue[found] = level, u, v
                    found += 1
        begin, end = end, found
    return level, inspected


Engine = Levels | Queue


class Fast(CpuSolver):
    """One root at a time, by the engine that is quickest on the graph."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        begin = time.perf_counter()
        self._engine = self._made()
        self.levels, self.parents, self.memory = self._engine.levels, self._engine.parents, self._engine.memory
        self.construction = time.perf_counter() - begin

    def _made(self) -> Engine:
        graph, few, small = self.graph, not small_world(self.graph), self.graph.m <= cpu_levels.SMALL
        if few and small:
            return Queue(graph)
        # In the graph's order roads lie together; hubs are worth an order of their own.
        by_degree = not few or int(graph.degrees.max()) > LONGEST_ROW
        levels = Levels(Layout.of(graph, reverse(graph), by_degree), graph.n)
        own: list[Engine] = [levels]
        if few or graph.m <= QUEUED:
            own = [Queue(graph), levels] + [levels.by_one()] * (levels.threads > 1)
        return fastest(graph, own, lambda engine, root: engine.run(root)[0])

    def run(self, root: int) -> Run:
        """Answer one root; phases has direction, frontier, inspected where it went by levels."""
        seconds, counters, phases = self._engine.run(root)
        self.root, counters["construction_s"] = root, self.construction
        return self.edges.run(self.levels, Run(seconds, seconds, counters, phases))
