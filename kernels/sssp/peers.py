"""Other people's solvers of the same problem behind the same contract."""

from __future__ import annotations

import time

import numpy as np
from scipy.sparse import csgraph

from kernels.graph import Graph
from kernels.problem import Run
from kernels.sssp.cpu import CpuSolver


def dijkstra(graph: Graph, source: int) -> tuple[np.ndarray, np.ndarray]:
    """SciPy's Dijkstra: distances float64 [n] (inf: not reached) and predecessors int32 [n] (negative: none)."""
    return csgraph.dijkstra(graph.to_scipy(), indices=source, return_predecessors=True)


def hops(predecessors: np.ndarray) -> int:
    """Arcs on the deepest path of a predecessor tree (int32 [n], negative for none)."""
    ahead = np.where(predecessors >= 0, predecessors, np.arange(len(predecessors)))
    depth = (predecessors >= 0).astype(np.int64)
    # Pointer doubling: `ahead` jumps 1, 2, 4, ... arcs towards the root, `depth` counts the arcs jumped.
    while (further := depth[ahead]).any():
        depth += further
        ahead = ahead[ahead]
    return int(depth.max(initial=0))


class Scipy(CpuSolver):
    """scipy.sparse.csgraph.dijkstra, distances only, its matrix made beforehand. Answers are float64."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.matrix = graph.to_scipy()
        self.memory = self.matrix.data.nbytes

    def run(self, source: int) -> Run:
        """Answer one source."""
        start = time.perf_counter()
        distances = csgraph.dijkstra(self.matrix, indices=source)
        seconds = time.perf_counter() - start
        self.source, self.distances = source, distances
        return Run(seconds, seconds)


class Networkit(CpuSolver):
    """networkit.distance.Dijkstra, distances only, its graph made beforehand. Answers are float64."""

    def __init__(self, graph: Graph) -> None:
        import networkit

        super().__init__(graph)
        # 64-bit ids: with int32 ones its reader walks past the end.
        ends = (graph.sources.astype(np.int64), graph.targets.astype(np.int64))
        arcs = (graph.weights.astype(np.float64), ends)
        self.peer = networkit.GraphFromCoo(arcs, n=graph.n, weighted=True, directed=True)
        self.solver = networkit.distance.Dijkstra
        # Its own arrays are hidden; these are what it was given.
        self.memory = graph.m * 24

    def run(self, source: int) -> Run:
        """Answer one source; the largest double, its mark for unreached, becomes infinity outside the time."""
        start = time.perf_counter()
        solver = self.solver(self.peer, source, storePaths=False)
        solver.run()
        kernel = time.perf_counter() - start
        distances = np.array(solver.getDistances())
        total = time.perf_counter() - start
        distances[distances == np.finfo(np.float64).max] = np.inf
        self.source, self.distances = source, distances
        return Run(kernel, total)
