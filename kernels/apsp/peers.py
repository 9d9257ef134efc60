"""Other people's solvers of the same problem behind the same contract.

They compute with float64; their answers leave as the weights' type, like those of all variants.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.sparse import csgraph

from saitan.apsp.batches import counters
from saitan.apsp.cpu import CpuSolver
from saitan.apsp.cpu_dense import Dense
from saitan.apsp.instances import Instance
from saitan.blocks import check_output
from saitan.graph import Graph
from saitan.problem import Run
from saitan.sssp.peers import check_exact, hops, in_type_of


def expected_rows(graph: Graph, sources: np.ndarray) -> tuple[np.ndarray, int]:
    """SciPy's Dijkstra: distances float64 [sources, n] (inf: not reached), and the most arcs of any of their paths."""
    distances, before = csgraph.dijkstra(graph.to_scipy(), indices=sources, return_predecessors=True)
    return distances, max(hops(row) for row in before)


class Peer(CpuSolver):
    """Other people's solver of a graph: a subclass gives its float64 numbers, inf where not reached, to `_keep`.

    entry  bytes an entry of the answer takes at most, as measured: float64, what is made of it, a mask

    Raises Unavailable where memory does not hold them.
    """

    entry = 14

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self.check_room(instance.sources, self.entry)

    def _keep(self, distances: np.ndarray) -> None:
        """The last answer, after its time was taken. Raises Invalid for what are no distances."""
        check_output("distances", distances, (None, self.graph.n), np.float64)
        check_exact(self.graph, distances)
        self.distances = distances

    def leaving(self) -> np.ndarray:
        return in_type_of(self.graph.weights.dtype, self.distances)


class Scipy(Peer):
    """scipy.sparse.csgraph.dijkstra, distances only, its matrix made beforehand."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self.matrix = self.graph.to_scipy()
        self.memory = self.matrix.data.nbytes + 8 * instance.sources * self.graph.n

    def run(self, query: list[int]) -> Run:
        """Answer one range of sources."""
        first, count = self.range_of(query)
        start = time.perf_counter()
        distances = csgraph.dijkstra(self.matrix, indices=np.arange(first, first + count))
        seconds = time.perf_counter() - start
        self._keep(distances)
        counted = counters(self.instance, count, seconds, distances.dtype, self.matrix.data.nbytes)
        return Run(seconds, seconds, counted)


class ScipyFloydWarshall(Dense):
    """scipy.sparse.csgraph.floyd_warshall, its matrix made beforehand; rounded to the matrix's type afterwards."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        # Of a dense matrix SciPy takes an arc of length zero for a missing one.
        lengths = np.where(self.a == self.infinite, np.inf, self.a.astype(np.float64))
        self.sparse = csgraph.csgraph_from_dense(lengths, null_value=np.inf)

    @property
    def entry(self) -> float:
        """As measured; SciPy's sparse matrix takes 12 bytes an entry that is there."""
        n = self.instance.n
        there = n * n if self.graph is None else min(n * n, self.graph.m + n)
        return 24 + 2 * self.dtype.itemsize + 12 * there / n**2

    def close_matrix(self) -> tuple[float, dict[str, float]]:
        start = time.perf_counter()
        lengths = csgraph.floyd_warshall(self.sparse)
        seconds = time.perf_counter() - start
        self.c[:] = np.minimum(lengths, self.infinite, out=lengths)
        return seconds, {}


class Networkit(Peer):
    """networkit.distance.SPSP (a Dijkstra a source, sources in parallel), its graph made beforehand."""

    # The distances are there twice.
    entry = 18

    def __init__(self, instance: Instance) -> None:
        import networkit

        super().__init__(instance)
        graph = self.graph
        # 64-bit ids: with int32 ones its reader walks past the end.
        ends = (graph.sources.astype(np.int64), graph.targets.astype(np.int64))
        self.peer = networkit.GraphFromCoo(
            (graph.weights.astype(np.float64), ends), n=graph.n, weighted=True, directed=True
        )
        self.solver = networkit.distance.SPSP
        # Its own arrays are hidden; these are what it was given, and the answer.
        self.memory = graph.m * 24 + 8 * instance.sources * graph.n

    def run(self, query: list[int]) -> Run:
        """Answer one range of sources; its mark for unreached, the largest double, becomes infinity after the time."""
        first, count = self.range_of(query)
        start = time.perf_counter()
        solver = self.solver(self.peer, list(range(first, first + count)))
        solver.run()
        kernel = time.perf_counter() - start
        distances = np.asarray(solver.getDistances(True))
        total = time.perf_counter() - start
        distances[distances == np.finfo(np.float64).max] = np.inf
        self._keep(distances)
        return Run(kernel, total, counters(self.instance, count, kernel, distances.dtype, self.graph.m * 24))
