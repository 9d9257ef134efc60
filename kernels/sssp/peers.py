"""Other people's solvers of the same problem behind the same contract."""

from __future__ import annotations

import time

import numpy as np
from scipy.sparse import csgraph

from saitan.graph import Graph
from saitan.problem import Run
from saitan.sssp.cpu import CpuSolver


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


class Cugraph(CpuSolver):
    """pylibcugraph.sssp, its graph made beforehand; distances and predecessors, as it makes no fewer.

    Weights uint32 are given to it as float64, where their sums are exact, float32 as they are; answers have that type.
    Kernel time is the wall clock of the call, from an idle device to an idle device, as the call shows no stream to
    time; its own check of the source is within. The certificate is computed on the host.
    """

    def __init__(self, graph: Graph) -> None:
        import cupy
        import pylibcugraph

        super().__init__(graph)
        start = time.perf_counter()
        # Both of one type, or it warns and widens.
        index = np.int32 if graph.m < 2**31 else np.int64
        weight = np.float32 if graph.weights.dtype == np.float32 else np.float64
        arrays = [cupy.asarray(a.astype(index, copy=False)) for a in (graph.offsets, graph.targets)]
        arrays.append(cupy.asarray(graph.weights.astype(weight, copy=False)))
        self.handle = pylibcugraph.ResourceHandle()
        self.peer = pylibcugraph.SGGraph(
            self.handle,
            pylibcugraph.GraphProperties(is_symmetric=not graph.metadata.get("directed", True), is_multigraph=True),
            arrays[0],
            arrays[1],
            weight_array=arrays[2],
            store_transposed=False,
            renumber=True,
            do_expensive_check=False,
            input_array_format="CSR",
        )
        self.device, self.solver = cupy.cuda.Device(), pylibcugraph.sssp
        self.device.synchronize()
        self.transfer = time.perf_counter() - start
        # Its own arrays are hidden; these are what it was given.
        self.memory = sum(array.nbytes for array in arrays)

    def run(self, source: int) -> Run:
        """Answer one source; the type's maximum, its mark for unreached, becomes infinity outside the time."""
        self.device.synchronize()
        start = time.perf_counter()
        vertices, found, _ = self.solver(
            self.handle, self.peer, source, cutoff=np.inf, compute_predecessors=True, do_expensive_check=False
        )
        self.device.synchronize()
        kernel = time.perf_counter() - start
        vertices, found = vertices.get(), found.get()
        total = time.perf_counter() - start
        found[found == np.finfo(found.dtype).max] = np.inf
        self.source, self.distances = source, np.empty_like(found)
        self.distances[vertices] = found
        return Run(kernel, total)
