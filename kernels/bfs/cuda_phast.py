"""PHAST on arcs of length 1, on the GPU: sssp's sweep down a hierarchy gives the levels, tree.cu the parents."""

from __future__ import annotations

import time

import numpy as np

from saitan.bfs.cuda import Checker, CudaSolver, described
from saitan.bfs.cuda_hops import Tree
from saitan.bfs.cuda_step import Rows
from saitan.bfs.hops import in_hops
from saitan.bfs.search import reverse
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.timing import Laps
from saitan.graph import Graph
from saitan.problem import Run
from saitan.sssp import cuda_phast


class _Sweep(cuda_phast.Phast):
    """What follows the sweep within its time is `after`; the distances stay on the device."""

    after = staticmethod(lambda: None)

    def _finish(self) -> None:
        self.after()

    def deliver(self) -> None:
        pass


class Phast(CudaSolver):
    """One root at a time over a hierarchy that the constructor builds on the host, which is the construction.

    Raises Unavailable for graphs too dense to contract.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        begin = time.perf_counter()
        backward = reverse(graph)
        self._sweep = _Sweep(in_hops(graph))
        self._sweep.laps = Laps(gated=True)
        self.construction = time.perf_counter() - begin - self._sweep.transfer
        self.buffers = Buffers(Rows.forecast(backward) + 4 * graph.n, described(graph))
        rows = Rows.upload(backward, self.buffers)
        self._tree = Tree(rows, self.buffers)
        self.transfer = self.buffers.upload_time + self._sweep.transfer
        self.rules = Checker(graph, rows if backward is graph else None)

    @property
    def memory(self) -> int:
        return self.buffers.nbytes + self._sweep.memory

    def run(self, root: int) -> Run:
        """Answer one root."""
        self.root = root
        begin = time.perf_counter()
        self._sweep.after = lambda: self._tree.hang(root, pointer(self._sweep.distances))
        swept = self._sweep.run(root)
        self.levels, self.parents = self._sweep.distances.view(np.int32), self._tree.parents
        levels = self.deliver()
        counters = {"levels": int(levels.max()) + 1, "inspected": swept.counters["relaxations"]}
        counters |= {"construction_s": self.construction, "search_s": swept.kernel}
        run = Run(swept.kernel, time.perf_counter() - begin, counters, disturbed=self._sweep.laps.disturbed)
        # What the sweep reads and writes, the arcs again and both ends' levels for the parents, which are written.
        run.work = {"bytes": swept.work["bytes"] + 4 * self.graph.m + 8 * self.graph.n}
        return self.edges.run(levels, run)

    def close(self) -> None:
        super().close()
        self._sweep.close()
