"""Other people's solvers of the same problem behind the same contract."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numba import prange
from scipy.sparse import csgraph, csr_array

from saitan.bfs import cpu_many
from saitan.bfs.cpu import CpuSolver
from saitan.bfs.many import Asked, closeness
from saitan.bfs.validate import check_closeness
from saitan.blocks import Blockwise, check_given, chosen
from saitan.compiled import njit
from saitan.graph import Graph
from saitan.problem import Block, Checked, Run, Unavailable

# What SciPy's searches take: offsets of 32 bits.
SCIPY_ARCS = 2**31 - 1


def _matrix(graph: Graph) -> csr_array:
    """The arcs as ones; float64, or SciPy converts them in every call. Raises Unavailable where they are too many."""
    if graph.m > SCIPY_ARCS:
        raise Unavailable(f"SciPy searches graphs of up to {SCIPY_ARCS:,} arcs, graph {graph.name} has {graph.m:,}")
    return csr_array((np.ones(graph.m), graph.targets, graph.offsets), shape=(graph.n, graph.n))


@njit
def _levels_from(order, before, levels):
    """Levels from SciPy's order, in which a parent comes before its children."""
    levels[:] = -1
    levels[order[0]] = 0
    for place in range(1, len(order)):
        levels[order[place]] = levels[before[order[place]]] + 1


def scipy_levels(graph: Graph, root: int) -> np.ndarray:
    """Levels by SciPy, int32 [n], -1 where not reached."""
    order, before = csgraph.breadth_first_order(_matrix(graph), root, directed=True, return_predecessors=True)
    levels = np.empty(graph.n, np.int32)
    _levels_from(order, before, levels)
    return levels


def scipy_closeness(graph: Graph, vertices: np.ndarray) -> np.ndarray:
    """Closeness of some vertices from SciPy's levels, float64."""
    levels = [scipy_levels(graph, int(v)) for v in vertices]
    sums, reached = (np.array([of(x[x >= 0]) for x in levels]) for of in (np.sum, len))
    return closeness(graph.n, sums, reached)


class Scipy(CpuSolver):
    """scipy.sparse.csgraph.breadth_first_order with predecessors, its matrix made beforehand.

    It gives no levels: they follow from order and predecessors, outside the time.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.matrix = _matrix(graph)
        self.memory = self.matrix.data.nbytes

    def run(self, root: int) -> Run:
        """Answer one root."""
        start = time.perf_counter()
        order, before = csgraph.breadth_first_order(self.matrix, root, directed=True, return_predecessors=True)
        seconds = time.perf_counter() - start
        self.root, self.levels = root, np.empty(self.graph.n, np.int32)
        _levels_from(order, before, self.levels)
        self.parents = np.where(before >= 0, before, -1).astype(np.int32)
        self.parents[root] = root
        return self.edges.run(self.levels, Run(seconds, seconds))


@njit(parallel=True)
def _hang(offsets, targets, levels, parents):
    """A parent one level above for every vertex; several are right, whichever is written last stays."""
    for u in prange(len(levels)):
        if levels[u] >= 0:
            for i in range(offsets[u], offsets[u + 1]):
                if levels[targets[i]] == levels[u] + 1:
                    parents[targets[i]] = u


def _networkit_graph(graph: Graph):
    import networkit

    # 64-bit ids: with int32 ones its reader walks past the end.
    ends = (graph.sources.astype(np.int64), graph.targets.astype(np.int64))
    return networkit.GraphFromCoo((np.ones(graph.m), ends), n=graph.n, weighted=False, directed=True)


class Networkit(CpuSolver):
    """networkit.distance.BFS, its graph made beforehand; levels only, so the parents are derived outside the time."""

    def __init__(self, graph: Graph) -> None:
        import networkit

        super().__init__(graph)
        self.peer = _networkit_graph(graph)
        self.solver = networkit.distance.BFS
        # Its own arrays are hidden; these are what it was given.
        self.memory = graph.m * 24

    def run(self, root: int) -> Run:
        """Answer one root; the largest double, its mark for unreached, becomes -1 outside the time."""
        start = time.perf_counter()
        solver = self.solver(self.peer, root, storePaths=False)
        solver.run()
        kernel = time.perf_counter() - start
        distances = np.array(solver.getDistances())
        total = time.perf_counter() - start
        distances[distances == np.finfo(np.float64).max] = -1
        self.root, self.levels = root, distances.astype(np.int32)
        self.parents = np.full(self.graph.n, -1, np.int32)
        _hang(self.graph.offsets, self.graph.targets, self.levels, self.parents)
        self.parents[root] = root
        return self.edges.run(self.levels, Run(kernel, total))


class NetworkitCloseness(Blockwise):
    """networkit.centrality.Closeness, generalised to graphs in parts, its graph made beforehand; all its threads."""

    transfer = 0.0

    def __init__(self, instance: Asked) -> None:
        self.graph = instance.graph
        self.peer, self.memory = _networkit_graph(self.graph), self.graph.m * 24
        # It does not tell what its searches reach: counted once by ours.
        self._edges = cpu_many.Closeness(instance).run(0).counters["edges"]
        self._closeness = np.empty(0)

    def run(self, query: int) -> Run:
        """Answer; the query says nothing."""
        from networkit.centrality import Closeness, ClosenessVariant

        begin = time.perf_counter()
        solver = Closeness(self.peer, True, ClosenessVariant.GENERALIZED)
        solver.run()
        kernel = time.perf_counter() - begin
        # A vertex that reaches no other is 0 / 0 there.
        self._closeness = np.nan_to_num(np.array(solver.scores()))
        return Run(
            kernel,
            time.perf_counter() - begin,
            {"roots": self.graph.n, "edges": self._edges, "teps": self._edges / kernel},
        )

    def validate(self) -> Checked:
        checked = check_closeness(self.graph, self._closeness, relative=1e-12)
        check_given(self, NetworkitCloseness, NetworkitCloseness.blocks(self))
        return checked

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        yield from chosen("closeness", self._closeness, rows)

    def close(self) -> None:
        """Its memory goes with it."""


class Cugraph(CpuSolver):
    """pylibcugraph.bfs, direction-optimising where the graph is undirected; levels and parents.

    Kernel time is the wall clock of the call, from an idle device to an idle device, as the call shows no stream to
    time. The answer is checked on the host.
    """

    def __init__(self, graph: Graph) -> None:
        import cupy
        import pylibcugraph

        super().__init__(graph)
        symmetric = not graph.metadata.get("directed", True)
        start = time.perf_counter()
        # Both of one type, or it warns and widens.
        index = np.int32 if graph.m < 2**31 else np.int64
        offsets, targets = (cupy.asarray(a.astype(index, copy=False)) for a in (graph.offsets, graph.targets))
        self.handle = pylibcugraph.ResourceHandle()
        self.peer = pylibcugraph.SGGraph(
            self.handle,
            pylibcugraph.GraphProperties(is_symmetric=symmetric, is_multigraph=True),
            offsets,
            targets,
            store_transposed=False,
            renumber=True,
            do_expensive_check=False,
            input_array_format="CSR",
        )
        self.cupy, self.index, self.solver, self.optimises = cupy, index, pylibcugraph.bfs, symmetric
        self.device = cupy.cuda.Device()
        self.device.synchronize()
        self.transfer = time.perf_counter() - start
        # Its own arrays are hidden; these are what it was given.
        self.memory = offsets.nbytes + targets.nbytes

    def run(self, root: int) -> Run:
        """Answer one root; the type's maximum, its mark for unreached, becomes -1 outside the time."""
        roots = self.cupy.asarray(np.array([root], self.index))
        self.device.synchronize()
        start = time.perf_counter()
        found, before, vertices = self.solver(
            self.handle,
            self.peer,
            roots,
            direction_optimizing=self.optimises,
            depth_limit=-1,
            compute_predecessors=True,
            do_expensive_check=False,
        )
        self.device.synchronize()
        kernel = time.perf_counter() - start
        found, before, vertices = found.get(), before.get(), vertices.get()
        total = time.perf_counter() - start
        found = np.where(found == np.iinfo(found.dtype).max, -1, found)
        self.root, n = root, self.graph.n
        self.levels, self.parents = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
        self.levels[vertices], self.parents[vertices] = found, before
        self.parents[root] = root
        return self.edges.run(self.levels, Run(kernel, total))
