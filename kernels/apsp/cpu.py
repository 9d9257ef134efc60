"""The CPU twins of paper O's variants: the same phases on all cores by Numba, an iteration in the place of a thread.

Returns distances of the weights' type, or 64 bits wide once a sum did not fit. What the GPU stages in shared memory is
read once for all tasks here, by the order of the loops: arcs outside, tasks inside; `batched-unshared` and `iterated`
have tasks outside, arcs inside.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numba
import numpy as np
from numba import prange

from saitan.apsp.batches import Tasks, counters, run_batches, widening
from saitan.apsp.instances import Instance
from saitan.apsp.validate import CERTIFIED, Certificate
from saitan.atomics import atomic_min
from saitan.blocks import Blockwise, check_given, check_output, chosen
from saitan.compiled import njit
from saitan.graph import Graph
from saitan.memory import check_room
from saitan.problem import Block, Checked, Run
from saitan.sssp import unreachable
from saitan.sssp.phases import Overflow

# Threads of paper O's Floyd-Warshall on the CPU.
THREADS = 2


@njit(parallel=True)
def _relax_shared(offsets, targets, weights, mask, cost, updated, tasks, limit, overflow):
    """Kernel A': an arc is read once for all tasks that updated its tail."""
    for u in prange(len(offsets) - 1):
        mine = mask[u * tasks : (u + 1) * tasks]
        if mine.any():
            for i in range(offsets[u], offsets[u + 1]):
                head, weight = np.int64(targets[i]) * tasks, weights[i]
                for t in range(tasks):
                    if mine[t]:
                        candidate = cost[u * tasks + t] + weight
                        if candidate >= limit:
                            overflow[0] = 1
                        else:
                            atomic_min(updated, head + t, candidate)
            mine[:] = False


@njit(parallel=True)
def _relax_unshared(offsets, targets, weights, mask, cost, updated, tasks, limit, overflow):
    """Kernel A for every task: each reads the arcs for itself."""
    for u in prange(len(offsets) - 1):
        for t in range(tasks):
            place = u * tasks + t
            if mask[place]:
                mask[place] = False
                for i in range(offsets[u], offsets[u + 1]):
                    candidate = cost[place] + weights[i]
                    if candidate >= limit:
                        overflow[0] = 1
                    else:
                        atomic_min(updated, np.int64(targets[i]) * tasks + t, candidate)


@njit(parallel=True)
def _update(mask, cost, updated):
    """Kernel B'. Returns the number of (vertex, task) updated."""
    changed = 0
    for place in prange(len(mask)):
        if cost[place] > updated[place]:
            cost[place] = updated[place]
            mask[place] = True
            changed += 1
        updated[place] = cost[place]
    return changed


class CpuEngine:
    """The arrays and kernels of paper O; Ma, Ca, Ua are [vertex][task], the matrix [sources, n]."""

    def __init__(self, graph: Graph, matrix: np.ndarray, tasks: int, shared: bool) -> None:
        self.graph, self.matrix, self.tasks, self.shared = graph, matrix, tasks, shared
        self.limit = unreachable(matrix.dtype)
        self.cost, self.updated = (np.empty(graph.n * tasks, matrix.dtype) for _ in range(2))
        self.mask = np.empty(graph.n * tasks, np.bool_)
        self.overflow = np.zeros(1, np.uint8)

    @property
    def nbytes(self) -> int:
        return self.cost.nbytes + self.updated.nbytes + self.mask.nbytes

    def start(self, first: int, count: int) -> None:
        self.cost.fill(self.limit)
        self.updated.fill(self.limit)
        self.mask.fill(False)
        self.overflow[0] = 0
        places = (first + np.arange(count)) * self.tasks + np.arange(count)
        self.cost[places], self.mask[places] = 0, True

    def relax(self) -> None:
        graph, relax = self.graph, _relax_shared if self.shared else _relax_unshared
        arcs = (graph.offsets, graph.targets, graph.weights)
        relax(*arcs, self.mask, self.cost, self.updated, self.tasks, self.limit, self.overflow)
        if self.overflow[0]:
            raise Overflow

    def update(self) -> bool:
        return _update(self.mask, self.cost, self.updated) > 0

    def deliver(self, row: int, count: int) -> None:
        self.matrix[row : row + count] = self.cost.reshape(-1, self.tasks)[:, :count].T


class CpuSolver(Blockwise):
    """What all CPU variants share: the last answer as a host array, and its certificate.

    A subclass's `run` takes its query by self.range_of, or sets self.first, and sets self.distances [sources, n].

    dtype    type of the distances, where they leave in slabs: the weights', or that of 64 bits where one does not fit
    sources  number of rows that the last answer must have, as `range_of` says; None where `run` did not ask it
    """

    transfer = 0.0
    sources: int | None = None

    def __init__(self, instance: Instance) -> None:
        self.instance, self.graph = instance, instance.graph
        self.dtype = instance.dtype
        self.certificate = Certificate(self.graph)
        self.first, self.distances = 0, np.empty((0, 0), self.dtype)

    def range_of(self, query: list[int]) -> tuple[int, int]:
        """The first source and the number of sources of the query, whose answer is `distances` from now on."""
        self.first, self.sources = self.instance.range_of(query)
        return self.first, self.sources

    def new_matrix(self, rows: int, dtype: np.dtype) -> np.ndarray:
        """Room for rows of distances. Raises Unavailable if there is none."""
        self.check_room(rows, np.dtype(dtype).itemsize)
        return np.empty((rows, self.graph.n), dtype)

    def check_room(self, rows: int, entry: float) -> None:
        """Raise Unavailable, saying what would work, where memory has no room for rows of `entry` bytes a distance."""
        n, instead = self.instance.n, ""
        if self.graph is None:
            what = f"the closure of a matrix {n:,} x {n:,}"
        else:
            what = f"the distances from {rows:,} sources of graph {self.graph.name} ({n:,} vertices)"
            if self.instance.answer == "matrix":
                instead = "`answer: slabs` (apsp.slabs) of `fast` takes all of them, some at a time"
        check_room(rows * n * entry, what, instead)

    @property
    def graph_bytes(self) -> int:
        """Bytes of the graph's arrays."""
        return self.graph.offsets.nbytes + self.graph.targets.nbytes + self.graph.weights.nbytes

    def validate(self) -> Checked:
        """The certificate of validate.py. Raises Invalid."""
        check_output("distances", self.distances, (self.sources, self.graph.n))
        self.certificate.check(self.first, self.distances)
        check_given(self, CpuSolver, CpuSolver.blocks(self))
        return CERTIFIED

    def leaving(self) -> np.ndarray:
        """The distances as `blocks` gives them."""
        return self.distances

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        yield from chosen("distances", self.leaving(), rows)

    def answer(self) -> dict[str, np.ndarray]:
        """The last answer, until the next: it is copied only where it is a part of a larger matrix."""
        ((name, _, array),) = self.blocks()
        part = array.base is not None and array.base.nbytes > array.nbytes
        return {name: array.copy() if part else array}

    @property
    def longest(self) -> float:
        """No sum is longer."""
        return self.instance.longest

    def produce(self, query: list[int]) -> Run:
        """Answer one range of sources."""
        return self.run(query)

    def slab(self) -> np.ndarray:
        """The rows of the last answer [sources, n]."""
        return self.distances

    def close(self) -> None:
        """Nothing outside Python's memory is held."""


class Phased(Tasks, CpuSolver):
    """Paper O's loop on the CPU."""

    def __init__(self, instance: Instance, tasks: int = 1) -> None:
        super().__init__(instance)
        self.tasks = tasks
        self._prepare(self.dtype)

    def _prepare(self, dtype: np.dtype) -> None:
        self.dtype, self.matrix = dtype, self.new_matrix(self.instance.sources, dtype)
        self.engine = CpuEngine(self.graph, self.matrix, self.tasks, self.shared)

    @property
    def memory(self) -> int:
        return self.matrix.nbytes + self.engine.nbytes

    def run(self, query: list[int]) -> Run:
        """Answer one range of sources."""
        first, count = self.range_of(query)

        def attempt(dtype: np.dtype) -> int:
            if dtype != self.dtype:
                self._prepare(dtype)
            return run_batches(self.engine, first, count)

        start = time.perf_counter()
        phases = widening(attempt, self.dtype)
        seconds = time.perf_counter() - start
        self.distances = self.matrix[:count]
        counted = counters(self.instance, count, seconds, self.dtype, self.graph_bytes + self.engine.nbytes)
        counted |= self.batch_counters(self.instance, count, phases)
        return Run(seconds, seconds, counted, work={"bytes": self.distances.nbytes})


class Iterated(Phased):
    """Harish and Narayanan's method, one source at a time."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)


class Batched(Phased):
    """Paper O's proposal: an arc is read once for all tasks."""

    shared = True

    def __init__(self, instance: Instance, *, tasks: int = 32) -> None:
        super().__init__(instance, tasks)


class BatchedUnshared(Phased):
    """The same without sharing the arcs."""

    def __init__(self, instance: Instance, *, tasks: int = 32) -> None:
        super().__init__(instance, tasks)


@njit(parallel=True)
def _arcs(offsets, targets, weights, matrix, limit, overflow):
    """The matrix of the shortest arcs, 0 on the diagonal."""
    for u in prange(len(matrix)):
        row = matrix[u]
        row[:] = limit
        row[u] = 0
        for i in range(offsets[u], offsets[u + 1]):
            if weights[i] >= limit:
                overflow[0] = 1
            row[targets[i]] = min(row[targets[i]], row.dtype.type(weights[i]))


@njit(parallel=True)
def _through(matrix, k, limit, overflow):
    """Paths through vertex k; rows that do not lead there are skipped."""
    pivot = matrix[k]
    for i in prange(len(matrix)):
        before = matrix[i, k]
        if before < limit and i != k:
            row, lost = matrix[i], False
            for j in range(len(row)):
                onwards = pivot[j]
                total, leads = before + onwards, onwards < limit
                lost |= leads & (total >= limit) & (row[j] == limit)
                row[j] = total if leads & (total < row[j]) else row[j]
            if lost:
                overflow[0] = 1


class FloydWarshall(CpuSolver):
    """Paper O's Floyd-Warshall on two threads, the whole matrix whatever the range of sources."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self.matrix = self.new_matrix(self.graph.n, self.dtype)

    @property
    def memory(self) -> int:
        return self.matrix.nbytes

    def run(self, query: list[int]) -> Run:
        """Answer one range of sources."""
        first, count = self.range_of(query)
        start, threads = time.perf_counter(), numba.get_num_threads()
        numba.set_num_threads(min(THREADS, threads))
        try:
            widening(self._all_pairs, self.dtype)
        finally:
            numba.set_num_threads(threads)
        seconds = time.perf_counter() - start
        self.distances = self.matrix[first : first + count]
        counted = counters(self.instance, count, seconds, self.dtype, self.graph_bytes)
        return Run(seconds, seconds, counted, work={"bytes": self.distances.nbytes})

    def _all_pairs(self, dtype: np.dtype) -> None:
        if dtype != self.dtype:
            self.dtype, self.matrix = dtype, self.new_matrix(self.graph.n, dtype)
        graph, limit, overflow = self.graph, unreachable(dtype), np.zeros(1, np.uint8)
        _arcs(graph.offsets, graph.targets, graph.weights, self.matrix, limit, overflow)
        for k in range(graph.n):
            _through(self.matrix, k, limit, overflow)
            if overflow[0]:
                raise Overflow
