"""The CPU twins of paper H's variants: the same levels, switching rule and trace, on all cores by Numba."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numba import get_num_threads

from saitan.bfs import cpu_step
from saitan.bfs.search import BOTTOM_UP, TOP_DOWN, EdgeCount, Found, Rule, reverse, search
from saitan.bfs.validate import check
from saitan.blocks import Blockwise, check_given, chosen
from saitan.graph import Graph
from saitan.problem import Block, Checked, Run

# Levels of fewer arcs, over bitmaps of fewer words, are one thread's: starting all of them takes longer.
SMALL_ARCS, SMALL_WORDS = 1 << 14, 1 << 15


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
        self._arcs = 0  # that leave the frontier

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
        self._arcs = int(self.forward.offsets[root + 1] - self.forward.offsets[root])
        return Found(1, self._arcs)

    def step(self, direction: str, level: int) -> Found:
        begin = time.perf_counter()
        threads, width = get_num_threads(), len(self.visited)
        small = self._arcs < SMALL_ARCS and width < SMALL_WORDS
        sets = (self.frontier, self.visited, self.following, self.parents)
        part = (0, 0, width, self._ticket)
        if direction == BOTTOM_UP:
            rows = self.backward
            inspected = cpu_step.bottom_up(rows.offsets, rows.targets, *sets, *part, threads)
        else:
            rows = self.forward
            self.following.fill(0)
            if small:
                self._ticket[0] = 0
                inspected = cpu_step.top_down_alone(rows.offsets, rows.targets, *sets, *part)
            else:
                inspected = cpu_step.top_down(rows.offsets, rows.targets, *sets, *part, threads)
        marks = (self.following, self.visited, self.levels, self.forward.offsets, level)
        if small:
            vertices, arcs = cpu_step.commit_alone(*marks, 0, width)
        else:
            vertices, arcs = cpu_step.commit(*marks, threads)
        self._arcs = arcs
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
        checked = check(self.graph, self.root, self.levels, self.parents)
        check_given(self, CpuSolver, CpuSolver.blocks(self))
        return checked

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
