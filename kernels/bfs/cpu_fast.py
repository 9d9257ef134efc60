"""Fast on the CPU: levels on all threads (cpu_levels.py), vertices from a queue on one, or the paper's (cpu.py).

Small worlds take levels over vertices by falling degree. Roads have thousands of small levels, each less work than
sharing it. One thread lists a frontier of `Levels`; all threads share all of a level of the paper's, which is faster
where many levels are broad and the order by degree brings nothing. Which a graph is shows in a few searches.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numba import njit

from saitan.bfs import check_root, cpu_levels
from saitan.bfs.cpu import CpuLevels, CpuSolver, Ruled
from saitan.bfs.cpu_levels import Levels
from saitan.bfs.layout import LONGEST_ROW, Layout, small_world
from saitan.bfs.search import BOTTOM_UP, TOP_DOWN, Rule, reverse, tried
from saitan.graph import Graph
from saitan.problem import Run

# An engine that takes more than BEHIND times the least for a root, and more than LEAST seconds, is not tried further.
BEHIND, LEAST = 3.0, 0.01
# Rounds of a root, of which the least time counts. After LONG seconds no other round or root is begun.
ROUNDS, LONG = 3, 0.5


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


Engine = Levels | Queue | Ruled


def _papers(graph: Graph, root: int) -> list[Ruled]:
    """The paper's variants, over one state, which has made a level each way."""
    state = CpuLevels(graph, reverse(graph))
    state.start(root)
    state.step(TOP_DOWN, 1)
    state.step(BOTTOM_UP, 2)
    return [Ruled(state, Rule(graph.n, graph.m, fixed=fixed)) for fixed in (None, TOP_DOWN, BOTTOM_UP)]


def quickest(engines: Sequence[Engine], roots: Sequence[int]) -> Engine:
    """The engine that takes the least time for all roots that are tried."""
    end = time.perf_counter() + LONG
    total = dict.fromkeys(engines, 0.0)
    for root in roots:
        took = dict.fromkeys(total, float("inf"))
        for _ in range(ROUNDS):
            # Twice, as the first search follows another engine's: caches and threads are not as it leaves them.
            for engine in [engine for engine in took for _ in range(2)]:
                bound = max(LEAST, BEHIND * min(took.values()))
                took[engine] = min(took[engine], _seconds(engine, root, bound))
            if time.perf_counter() > end:
                break
        bound = max(LEAST, BEHIND * min(took.values()))
        total = {engine: total[engine] + took[engine] for engine in total if took[engine] <= bound}
        if len(total) == 1 or time.perf_counter() > end:
            break
    return min(total, key=total.__getitem__)


def _seconds(engine: Engine, root: int, bound: float) -> float:
    return (engine.run(root, bound) if isinstance(engine, Ruled) else engine.run(root))[0]


class Fast(CpuSolver):
    """One root at a time, by the engine that is quickest on the graph."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        begin = time.perf_counter()
        self._engine = self._made()
        self.levels, self.parents, self.memory = self._engine.levels, self._engine.parents, self._engine.memory
        self.construction = time.perf_counter() - begin

    def _made(self) -> Engine:
        graph, few = self.graph, not small_world(self.graph)
        engines: list[Engine] = [Queue(graph)] if few else []
        small = graph.m <= cpu_levels.SMALL
        if not (few and small):
            # In the graph's order roads lie together; hubs are worth an order of their own.
            by_degree = not few or int(graph.degrees.max()) > LONGEST_ROW
            engines.append(Levels(Layout.of(graph, by_degree), graph.n))
        roots = [] if small else tried(graph)
        if not roots:
            return engines[0]
        for engine in engines:
            # The first search loads compiled code.
            engine.run(roots[0])
        return quickest([*engines, *_papers(graph, roots[0])], roots)

    def run(self, root: int) -> Run:
        """Answer one root; phases has direction, frontier, inspected where it went by levels."""
        root = check_root(self.graph, root)
        seconds, counters, phases = self._engine.run(root)
        self.root, counters["construction_s"] = root, self.construction
        return self.edges.run(self.levels, Run(seconds, seconds, counters, phases))
