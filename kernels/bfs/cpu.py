"""The CPU twins of paper H's variants: the same levels, switching rule and trace, on all cores by Numba."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numba import get_num_threads

from saitan.bfs import check_root, cpu_step
from saitan.bfs.search import BOTTOM_UP, TOP_DOWN, EdgeCount, Found, Rule, reverse, search
from saitan.bfs.validate import check
from saitan.blocks import Blockwise, chosen
from saitan.graph import Graph
from saitan.problem import Block, Checked, Run


class CpuLevels:
    """A search over the whole matrix on the CPU (search.Levels).

    forward: tails to heads; backward: heads to tails, the same object where the graph is undirected.
    """

    def __init__(self, forward: Graph, backward: Graph) -> None:
        self.forward, self.backward = forward, backward
        n, width = forward.n, cpu_step.words(forward.n)
        self.levels, self.parents = np.empty(n, np.int32), np.empty(n, np.int32)
        self.visited, self.frontier, self.following = (np.empty(width, np.uint32) for _ in range(3))
        self._ticket = np.zeros(1, np.int64)

    @property
    def nbytes(self) -> int:
        arrays = (self.levels, self.parents, self.visited, self.frontier, self.following)
        turned = () if self.backward is self.forward else (self.backward.offsets, self.backward.targets)
        return sum(array.nbytes for array in (*arrays, *turned))

    def start(self, root: int) -> Found:
        cpu_step.clear(self.levels, self.parents, self.visited, self.frontier, self.following)
        bit = np.uint32(1 << root % 32)
        self.frontier[root // 32] |= bit
        self.visited[root // 32] |= bit
        self.levels[root], self.parents[root] = 0, root
        return Found(1, int(self.forward.offsets[root + 1] - self.forward.offsets[root]))

    def step(self, direction: str, level: int) -> Found:
        begin = time.perf_counter()
        if direction == TOP_DOWN:
            self.following.fill(0)
            step, rows = cpu_step.top_down, self.forward
        else:
            step, rows = cpu_step.bottom_up, self.backward
        sets = (self.frontier, self.visited, self.following, self.parents)
        inspected = step(rows.offsets, rows.targets, *sets, 0, 0, len(self.visited), self._ticket, get_num_threads())
        vertices, arcs = cpu_step.commit(
            self.following, self.visited, self.levels, self.forward.offsets, level, get_num_threads()
        )
        self.frontier, self.following = self.following, self.frontier
        return Found(vertices, arcs, inspected, time.perf_counter() - begin)


class CpuSolver(Blockwise):
    """What all CPU variants share: the last answer as host arrays and its check.

    A subclass sets self.root, self.levels and self.parents in `run`.
    """

    transfer = 0.0

    def __init__(self, graph: Graph) -> None:
        self.graph, self.edges = graph, EdgeCount(graph)
        self.root = -1
        self.levels = self.parents = np.empty(0, np.int32)

    def validate(self) -> Checked:
        """Graph500's rules. Raises Invalid."""
        return check(self.graph, self.root, self.levels, self.parents)

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        yield from chosen("levels", self.levels, rows)
        yield from chosen("parents", self.parents, rows)

    def close(self) -> None:
        """Nothing outside Python's memory is held."""


class Hybrid(CpuSolver):
    """Paper H's switching rule. alpha, beta: see search.Rule."""

    fixed: str | None = None

    def __init__(self, graph: Graph, *, alpha: float = 10.0, beta: float = 14.0) -> None:
        super().__init__(graph)
        begin = time.perf_counter()
        self._levels = CpuLevels(graph, reverse(graph))
        self.construction = time.perf_counter() - begin
        self.memory = self._levels.nbytes
        self.rule = Rule(graph.n, graph.m, alpha, beta, self.fixed)

    def run(self, root: int) -> Run:
        """Answer one root; phases has direction, frontier, inspected, seconds."""
        root = check_root(self.graph, root)
        begin = time.perf_counter()
        trace = search(self._levels, self.rule, root)
        seconds = time.perf_counter() - begin
        self.root, self.levels, self.parents = root, self._levels.levels, self._levels.parents
        counters = trace.counters() | {"construction_s": self.construction}
        return self.edges.run(self.levels, Run(seconds, seconds, counters, trace.arrays()))


class TopDown(Hybrid):
    """Every level top-down."""

    fixed = TOP_DOWN

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)


class BottomUp(Hybrid):
    """Every level bottom-up."""

    fixed = BOTTOM_UP

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
