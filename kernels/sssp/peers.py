"""Other people's solvers of the same problem behind the same contract.

They compute with float64; their answers leave as the weights' type, like those of all variants.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.sparse import csgraph

from saitan.blocks import check_output
from saitan.graph import Graph
from saitan.problem import Run, Unavailable
from saitan.sssp import unreachable
from saitan.sssp.cpu import CpuSolver
from saitan.sssp.ending import widened_type

EXACT = 2**53  # float64 holds every integer up to here


def dijkstra(graph: Graph, source: int) -> tuple[np.ndarray, np.ndarray]:
    """SciPy's Dijkstra: distances float64 [n] (inf: not reached) and predecessors int32 [n] (negative: none)."""
    return csgraph.dijkstra(graph.to_scipy(), indices=source, return_predecessors=True)


def hops(predecessors: np.ndarray) -> int:
    """Number of arcs on the deepest path of a predecessor tree (int32 [n], negative for none)."""
    ahead = np.where(predecessors >= 0, predecessors, np.arange(len(predecessors)))
    depth = (predecessors >= 0).astype(np.int64)
    # Pointer doubling: `ahead` is 1, 2, 4, ... arcs closer to the root, `depth` the number of these arcs.
    while (further := depth[ahead]).any():
        depth += further
        ahead = ahead[ahead]
    return int(depth.max(initial=0))


def in_type_of(weights: np.dtype, distances: np.ndarray) -> np.ndarray:
    """Distances (float64 or float32, inf where not reached) in the weights' type, or its 64-bit type if they need it.

    Exact for integers that `check_exact` passes; float64 sums of float32 weights are rounded once.
    """
    reached = np.isfinite(distances)
    longest = distances.max(where=reached, initial=0)
    dtype = np.dtype(weights)
    limit = float(unreachable(dtype)) if dtype.kind == "u" else float(np.finfo(dtype).max)
    if longest >= limit if dtype.kind == "u" else longest > limit:
        dtype = widened_type(dtype)
    found = np.full(distances.shape, unreachable(dtype))
    np.copyto(found, distances, where=reached, casting="unsafe")
    return found


def check_exact(graph: Graph, distances: np.ndarray) -> None:
    """Raise Unavailable where float64 may have rounded a distance of integers (float64, inf where not reached)."""
    weights = graph.weights
    if weights.dtype.kind != "u" or graph.n * int(weights.max(initial=0)) < EXACT:
        return
    if (longest := distances.max(where=np.isfinite(distances), initial=0)) >= EXACT:
        raise Unavailable(f"a path of {graph.name} has the length {longest:g}: float64 holds integers below 2^53")


class Peer(CpuSolver):
    """Other people's solver: a subclass sets self.memory and gives its own numbers, inf where not reached, to `_keep`.

    The certificate and the predecessors are of these numbers. Those of float32 weights are rounded as they
    leave, so no arc need be tight there; `sssp.solve` adds them again.
    """

    def _keep(self, source: int, distances: np.ndarray) -> None:
        """The last answer, after its time was taken. Raises Invalid for what are no distances."""
        check_output("distances", distances, (self.graph.n,), np.float64, np.float32)
        check_exact(self.graph, distances)
        self.source, self.distances = source, distances

    def leaving(self) -> np.ndarray:
        return in_type_of(self.graph.weights.dtype, self.distances)


class Scipy(Peer):
    """scipy.sparse.csgraph.dijkstra, distances only, its matrix made beforehand."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.matrix = graph.to_scipy()
        self.memory = self.matrix.data.nbytes

    def run(self, source: int) -> Run:
        """Answer one source."""
        start = time.perf_counter()
        distances = csgraph.dijkstra(self.matrix, indices=source)
        seconds = time.perf_counter() - start
        self._keep(source, distances)
        return Run(seconds, seconds)


class Networkit(Peer):
    """networkit.distance.Dijkstra, distances only, its graph made beforehand."""

    def __init__(self, graph: Graph) -> None:
        import networkit

        super().__init__(graph)
        # 64-bit ids, because its reader reads past the end of int32 ones.
        ends = (graph.sources.astype(np.int64), graph.targets.astype(np.int64))
        arcs = (graph.weights.astype(np.float64), ends)
        self.peer = networkit.GraphFromCoo(arcs, n=graph.n, weighted=True, directed=True)
        self.solver = networkit.distance.Dijkstra
        # Its own arrays are not visible; these are the arrays that it was given.
        self.memory = graph.m * 24

    def run(self, source: int) -> Run:
        """Answer one source; the largest double, its mark for unreached, is replaced after the time is taken."""
        start = time.perf_counter()
        solver = self.solver(self.peer, source, storePaths=False)
        solver.run()
        kernel = time.perf_counter() - start
        distances = np.array(solver.getDistances())
        total = time.perf_counter() - start
        distances[distances == np.finfo(np.float64).max] = np.inf
        self._keep(source, distances)
        return Run(kernel, total)


class Cugraph(Peer):
    """pylibcugraph.sssp, its graph made beforehand; distances and predecessors, as it makes no fewer.

    It takes uint32 weights as float64, where their sums are exact, and float32 as they are. Kernel time is the wall
    clock of the call, from an idle device to an idle device, because the call has no stream argument; its own check of
    the source is included. The certificate is computed on the host.
    """

    def __init__(self, graph: Graph) -> None:
        import cupy
        import pylibcugraph

        super().__init__(graph)
        start = time.perf_counter()
        # Both of one type, otherwise it warns and converts them.
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
        # Its own arrays are not visible; these are the arrays that it was given.
        self.memory = sum(array.nbytes for array in arrays)

    def run(self, source: int) -> Run:
        """Answer one source; the type's maximum, its mark for unreached, is replaced after the time is taken."""
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
        distances = np.empty_like(found)
        distances[vertices] = found
        self._keep(source, distances)
        return Run(kernel, total)
