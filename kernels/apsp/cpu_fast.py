"""`fast` on the CPU: near-far (sssp's cpu_near_far.py) from one source on every core, its lists in that core's cache.

Returns distances of the weights' type, or 64 bits wide once a sum did not fit. Where all sources are asked for, some
are searched and the rows of the others follow (feedback.py). Maps of integer weights are swept instead (cpu_sweep.py),
dense graphs closed as matrices (cpu_dense.py).
"""

from __future__ import annotations

import time

import numba
import numpy as np
from numba import prange

from saitan.apsp import sweep
from saitan.apsp.batches import counters, widening
from saitan.apsp.cpu import CpuSolver
from saitan.apsp.cpu_dense import FloydWarshallBlocked
from saitan.apsp.cpu_sweep import Swept
from saitan.apsp.feedback import plan_of
from saitan.apsp.instances import Instance
from saitan.apsp.near_far import step
from saitan.compiled import in_turn, njit
from saitan.problem import Run
from saitan.sssp import unreachable
from saitan.sssp.cpu_near_far import COUNTS, OVERFLOWED, RELAXED, search
from saitan.sssp.phases import Overflow
from saitan.tropical.semiring import infinity

# Columns of a row that a core combines at a time.
WIDTH = 2048
# Blocked Floyd-Warshall takes 56 ns a pair of vertices and 0.026 ns a triple, a search 5 ns an arc: it is sooner done
# where a vertex has more arcs than ARCS and a VERTICES-th of the vertices.
ARCS, VERTICES = 11, 190
# Vertices and arcs that a worker searches in an eighth of a second, at most (measured).
TURN = 1 << 24
# Searches of so few vertices and arcs, counted together, take one worker less time than sharing them out (measured).
SMALL = 1 << 13


@njit
def _every(step, worker, offsets, targets, weights, matrix, first, rows, delta, limit, lists, marks, counts, bound):
    """Fill rows[worker], rows[worker + step], ... of the matrix, of which row 0 is that of `first`.

    A worker's own: lists int32 [2, n], marks uint8 [n], counts int64 [COUNTS], bound [1] of the distances' type.
    """
    for k in range(worker, len(rows), step):
        r = rows[k]
        search(offsets, targets, weights, matrix[r], first + r, delta, limit, lists, marks, counts, bound)


@njit(parallel=True)
def _shared(offsets, targets, weights, matrix, first, rows, delta, limit, lists, marks, counts, bounds):
    """Fill the rows, by len(lists) workers."""
    workers = len(lists)
    for w in prange(workers):
        _every(
            workers,
            w,
            offsets,
            targets,
            weights,
            matrix,
            first,
            rows,
            delta,
            limit,
            lists[w],
            marks[w],
            counts[w],
            bounds[w],
        )


@njit(parallel=True)
def _combine(rows, offsets, arcs, matrix, limit, width):
    """Fill rows of the matrix, one after the other, from those that their arcs lead to (Plan of feedback.py).

    Every core has some columns. Returns whether a distance does not fit.
    """
    n = matrix.shape[1]
    parts = (n + width - 1) // width
    lost = np.zeros(parts, np.bool_)
    for worker in prange(parts):
        part = np.int64(worker)
        low = part * width
        count = min(n, low + width) - low
        for k in range(len(rows)):
            row = matrix[rows[k], low : low + count]
            row[:] = limit
            for i in range(offsets[k], offsets[k + 1]):
                there, weight = matrix[arcs[i, 0], low : low + count], arcs[i, 1]
                for c in range(count):
                    candidate = there[c] + weight
                    if there[c] < limit and candidate < row[c]:
                        row[c] = candidate
            if low <= rows[k] < low + count:
                row[rows[k] - low] = 0
            for c in range(count):
                if row[c] == limit:
                    for i in range(offsets[k], offsets[k + 1]):
                        lost[part] |= matrix[arcs[i, 0], low + c] < limit
    return lost.any()


class NearFar(CpuSolver):
    """One source a core at a time."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        n, searched = self.graph.n, instance.sources * (self.graph.n + self.graph.m)
        self._workers = numba.get_num_threads() if searched > SMALL else 1
        self._lists, self._marks = np.empty((self._workers, 2, n), np.int32), np.zeros((self._workers, n), np.uint8)
        self.matrix = self.new_matrix(instance.sources, self.dtype)
        self.plan = plan_of(self.graph, n) if instance.sources == n and self._workers > 1 else None

    @property
    def memory(self) -> int:
        return self.matrix.nbytes + self._lists.nbytes + self._marks.nbytes

    def run(self, query: list[int]) -> Run:
        """Answer one range of sources."""
        first, count = self.range_of(query)
        plan = self.plan if count == self.graph.n else None
        rows = np.arange(count, dtype=np.int32) if plan is None else plan.searched

        def attempt(dtype: np.dtype) -> int:
            if dtype != self.dtype:
                self.dtype, self.matrix = dtype, self.new_matrix(len(self.matrix), dtype)
            counts, bounds = np.zeros((self._workers, COUNTS), np.int64), np.empty((self._workers, 1), dtype)
            graph, limit = self.graph, unreachable(dtype)
            answer = (graph.offsets, graph.targets, graph.weights, self.matrix[:count], first)
            how = (step(graph, dtype), limit)
            for some in in_turn(len(rows), self._workers * max(16, TURN // (graph.n + graph.m))):
                if self._workers > 1:
                    _shared(*answer, rows[some], *how, self._lists, self._marks, counts, bounds)
                else:
                    _every(1, 0, *answer, rows[some], *how, self._lists[0], self._marks[0], counts[0], bounds[0])
            lost = counts[:, OVERFLOWED].any()
            if plan is not None and not lost:
                width = min(WIDTH, -(-graph.n // self._workers))
                for some in in_turn(len(plan.rows), max(16, self._workers * TURN // len(self.matrix))):
                    ends = plan.offsets[some.start : some.stop + 1]
                    lost |= _combine(plan.rows[some], ends, plan.arcs, self.matrix, limit, width)
            if lost:
                raise Overflow
            return int(counts[:, RELAXED].sum())

        start = time.perf_counter()
        relaxations = widening(attempt, self.dtype)
        seconds = time.perf_counter() - start
        self.distances = self.matrix[:count]
        work = self.graph_bytes + self.memory - self.matrix.nbytes
        counted = counters(self.instance, count, seconds, self.dtype, work)
        counted |= {"relaxations": relaxations, "step": float(step(self.graph, self.dtype)), "resident": self._workers}
        if plan is not None:
            counted |= {"searched": len(rows), "prepare_s": plan.seconds}
        return Run(seconds, seconds, counted, work={"bytes": self.distances.nbytes})


def _closes_sooner(instance: Instance) -> bool:
    """Whether all pairs of a graph are sooner there as those of a dense matrix, whose int32 holds every sum.

    Sums of floats would be rounded in another order than in slabs, whose sources are searched.
    """
    n, graph = instance.n, instance.graph
    fits = instance.dtype == np.uint32 and 2 * instance.longest < int(infinity(np.int32))
    return fits and instance.answer == "matrix" and instance.sources == n and graph.m > n * (ARCS + n / VERTICES)


class Fast(NearFar):
    """Makes the solver that suits the instance: `FloydWarshallBlocked` of a matrix, `Swept` of a map, else itself."""

    def __new__(cls, instance: Instance) -> CpuSolver:
        if instance.graph is None or _closes_sooner(instance):
            return FloydWarshallBlocked(instance)
        hierarchy = sweep.hierarchy_of_map(instance.graph, sweep.LEAST)
        return super().__new__(cls) if hierarchy is None else Swept(instance, hierarchy)
