"""`fast` on the CPU: the near-far method from one source on every core, its queues in that core's cache.

Returns distances of the weights' type, or 64 bits wide once a sum did not fit. A vertex that comes nearer enters the
queue of near vertices if it lies below the bound, otherwise the list of far ones, once each; when the queue is empty
the bound rises and the list is looked through. No heap: a push is one store, and with the bound rising by a good step
few vertices are relaxed twice. Where all sources are asked for, some are searched and the rows of the others follow
(feedback.py). Maps of integer weights are swept instead (cpu_sweep.py).

1. Davidson, Baxter, Garland, Owens: Work-efficient parallel GPU methods for single-source shortest paths. IPDPS 2014.
"""

from __future__ import annotations

import time

import numba
import numpy as np
from numba import njit, prange

from saitan.apsp import sweep
from saitan.apsp.batches import counters, widening
from saitan.apsp.cpu import CpuSolver
from saitan.apsp.cpu_dense import FloydWarshallBlocked
from saitan.apsp.cpu_sweep import Swept
from saitan.apsp.feedback import plan_of
from saitan.apsp.instances import Instance
from saitan.apsp.near_far import step
from saitan.problem import Run
from saitan.sssp import unreachable
from saitan.sssp.phases import Overflow

NEAR, FAR = np.uint8(1), np.uint8(2)
# Columns of a worker's row of `report`, a cache line and more apart.
OVERFLOW, RELAXED = 0, 1
REPORT_WIDTH = 16
# Columns of a row that a core combines at a time.
WIDTH = 2048


@njit(cache=True)
def _source(offsets, targets, weights, row, source, delta, limit, queue, far, state, report):
    """Fill one row. queue, far int32 [n] and state uint8 [n] are a worker's own; state is all 0, before and after."""
    n = len(row)
    row[:] = limit
    row[source], queue[0], state[source] = 0, source, NEAR
    head, length, far_length, bound = 0, 1, 0, delta
    while True:
        while length:
            u = queue[head]
            head = head + 1 if head + 1 < n else 0
            length -= 1
            state[u] &= ~NEAR
            d = row[u]
            begin, end = offsets[u], offsets[u + 1]
            report[RELAXED] += end - begin
            for i in range(begin, end):
                candidate, v = d + weights[i], targets[i]
                if candidate < row[v]:
                    row[v] = candidate
                    if candidate < bound:
                        if not state[v] & NEAR:
                            state[v] |= NEAR
                            place = head + length
                            queue[place if place < n else place - n] = v
                            length += 1
                    elif not state[v] & FAR:
                        state[v] |= FAR
                        far[far_length] = v
                        far_length += 1
                elif candidate >= limit:
                    report[OVERFLOW] = 1
        if far_length == 0:
            return
        low, nearest = bound, limit
        for x in range(far_length):
            d = row[far[x]]
            if low <= d < nearest:
                nearest = d
        # Where the step vanishes beside the distance, the rest is taken as it is.
        bound = row.dtype.type(min(nearest + delta, limit))
        if not nearest < bound:
            bound = limit
        head, kept = 0, 0
        for x in range(far_length):
            v = far[x]
            if row[v] >= bound:
                far[kept] = v
                kept += 1
                continue
            state[v] &= ~FAR
            if row[v] >= low:
                state[v] |= NEAR
                queue[length] = v
                length += 1
        far_length = kept


@njit(parallel=True, cache=True)
def _sources(offsets, targets, weights, matrix, first, rows, delta, limit, queues, fars, states, reports):
    """Fill some rows of the matrix, of which row 0 is that of `first`; worker w takes every len(queues)-th of them."""
    workers = len(queues)
    for w in prange(workers):
        for k in range(w, len(rows), workers):
            r = rows[k]
            _source(
                offsets, targets, weights, matrix[r], first + r, delta, limit, queues[w], fars[w], states[w], reports[w]
            )


@njit(parallel=True, cache=True)
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
        n, self._workers = self.graph.n, numba.get_num_threads()
        self._queues, self._fars = (np.empty((self._workers, n), np.int32) for _ in range(2))
        self._states = np.zeros((self._workers, n), np.uint8)
        self.matrix = self.new_matrix(instance.sources, self.dtype)
        self.plan = plan_of(self.graph, n) if instance.sources == n else None

    @property
    def memory(self) -> int:
        return self.matrix.nbytes + self._queues.nbytes + self._fars.nbytes + self._states.nbytes

    def run(self, query: list[int]) -> Run:
        """Answer one range of sources."""
        first, count = self.instance.range_of(query)
        plan = self.plan if count == self.graph.n else None
        rows = np.arange(count, dtype=np.int32) if plan is None else plan.searched

        def attempt(dtype: np.dtype) -> int:
            if dtype != self.dtype:
                self.dtype, self.matrix = dtype, self.new_matrix(len(self.matrix), dtype)
            reports = np.zeros((self._workers, REPORT_WIDTH), np.int64)
            graph, delta, limit = self.graph, step(self.graph, dtype), unreachable(dtype)
            _sources(
                graph.offsets,
                graph.targets,
                graph.weights,
                self.matrix[:count],
                first,
                rows,
                delta,
                limit,
                self._queues,
                self._fars,
                self._states,
                reports,
            )
            lost = reports[:, OVERFLOW].any()
            if plan is not None and not lost:
                width = min(WIDTH, -(-graph.n // self._workers))
                lost = _combine(plan.rows, plan.offsets, plan.arcs, self.matrix, limit, width)
            if lost:
                raise Overflow
            return int(reports[:, RELAXED].sum())

        start = time.perf_counter()
        relaxations = widening(attempt, self.dtype)
        seconds = time.perf_counter() - start
        self.first, self.distances = first, self.matrix[:count]
        work = self.graph_bytes + self.memory - self.matrix.nbytes
        counted = counters(self.instance, count, seconds, self.dtype, work)
        counted |= {"relaxations": relaxations, "step": float(step(self.graph, self.dtype)), "resident": self._workers}
        if plan is not None:
            counted |= {"searched": len(rows), "prepare_s": plan.seconds}
        return Run(seconds, seconds, counted, work={"bytes": self.distances.nbytes})


class Fast(NearFar):
    """Makes the solver that suits the instance: `FloydWarshallBlocked` of a matrix, `Swept` of a map, else itself."""

    def __new__(cls, instance: Instance) -> CpuSolver:
        if instance.graph is None:
            return FloydWarshallBlocked(instance)
        hierarchy = sweep.hierarchy_of_map(instance.graph, sweep.LEAST)
        return super().__new__(cls) if hierarchy is None else Swept(instance, hierarchy)
