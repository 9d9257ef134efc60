"""PHAST on arcs of length 1, on the CPU: sssp's sweep down a hierarchy gives the levels, from which parents follow."""

from __future__ import annotations

import time

import numpy as np

from saitan.bfs.cpu import CpuSolver
from saitan.bfs.hops import hang, in_hops
from saitan.bfs.search import reverse
from saitan.graph import Graph
from saitan.problem import Run
from saitan.sssp import cpu_phast


class Phast(CpuSolver):
    """One root at a time over a hierarchy that the constructor builds, which is the construction.

    Raises Unavailable for graphs too dense to contract.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        begin = time.perf_counter()
        self._backward = reverse(graph)
        self._sweep = cpu_phast.Phast(in_hops(graph))
        self.construction = time.perf_counter() - begin
        self.parents = np.empty(graph.n, np.int32)
        self.memory = self._sweep.memory + self.parents.nbytes

    def run(self, root: int) -> Run:
        """Answer one root."""
        self.root = root
        begin = time.perf_counter()
        swept = self._sweep.run(root)
        self.levels = self._sweep.distances.view(np.int32)
        hang(self._backward.offsets, self._backward.targets, root, self.levels, self.parents)
        seconds = time.perf_counter() - begin
        counters = {"levels": int(self.levels.max()) + 1, "inspected": swept.counters["relaxations"]}
        counters |= {"construction_s": self.construction, "search_s": swept.kernel}
        return self.edges.run(self.levels, Run(seconds, seconds, counters))
