"""The variants for dense matrices on the CPU (Numba): repeated squaring and blocked Floyd-Warshall.

Both use the loop of `tropical`'s fast product, and close the whole matrix, whatever the range of sources. Distances
of integer weights are checked by the certificate of validate.py; floats, whose sums round in an order of each variant's
own, and matrices without a graph by closure_check.py.

1. Venkataraman, Sahni, Mukhopadhyaya: A blocked all-pairs shortest-paths algorithm. J. Experimental Algorithmics, 2003.
"""

from __future__ import annotations

import time

import numpy as np

from saitan.apsp.batches import counters
from saitan.apsp.closure_check import HostCheck
from saitan.apsp.cpu import CpuSolver
from saitan.apsp.dense import check_sums, graph_matrix
from saitan.apsp.instances import Instance
from saitan.blocks import check_given
from saitan.compiled import njit
from saitan.problem import Block, Checked, Run
from saitan.sssp import unreachable
from saitan.tropical.cpu_fast import relax
from saitan.tropical.operands import checked_sums
from saitan.tropical.semiring import infinity, mirrored

BLOCK = 64


class Dense(CpuSolver):
    """The base of both: c is closed in place. A subclass closes it in `close_matrix`.

    a     the matrix that is given
    c     over (min, +) until it is closed; of integer weights distances of uint32 afterwards, in the same memory
    held  how many matrices there are at most at a time, as measured; entry: bytes that takes an entry

    Raises Unavailable where memory does not hold them.
    """

    held = 3.25

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self.check_room(instance.n, self.entry)
        a = graph_matrix(self.graph) if instance.matrix is None else instance.matrix
        self.a = np.ascontiguousarray(mirrored(a, "min_plus"))
        self.c = np.empty_like(self.a)
        self.infinite = infinity(self.a.dtype)
        self.memory = self.c.nbytes
        self._check: HostCheck | None = None

    @property
    def entry(self) -> float:
        return self.held * self.dtype.itemsize

    def run(self, query: list[int]) -> Run:
        """Answer one range of sources.

        Raises Unavailable where a path of a graph may be too long for the matrix's type, SumOverflow where one of a
        matrix is.
        """
        first, count = self.range_of(query)
        start = time.perf_counter()
        kernel, counted = self.close_matrix()
        distances = self._distances()
        total = time.perf_counter() - start
        if self.graph is None:
            # If any path's length reached infinity, one of an entry and an arc does.
            checked_sums(self.c, self.c, self.a, "min_plus")
        self.distances = distances[first : first + count]
        counted |= {"tops": 2 * self.instance.n**3 / kernel / 1e12}
        return Run(kernel, total, counters(self.instance, count, kernel, self.dtype, 0) | counted)

    def start(self) -> np.ndarray:
        """c as A with zeros on its diagonal."""
        self.c[:] = self.a
        np.fill_diagonal(self.c, 0)
        return self.c

    def close_matrix(self) -> tuple[float, dict[str, float]]:
        """Close c; returns the seconds of the solver alone, and counters."""
        start = time.perf_counter()
        counted = self.closing(self.start())
        return time.perf_counter() - start, counted

    def closing(self, c: np.ndarray) -> dict[str, float]:
        """Close c in place; returns counters."""
        raise NotImplementedError

    def _distances(self) -> np.ndarray:
        if self.dtype != np.uint32:
            return self.c
        missing = self.c == self.infinite
        check_sums(self.graph, int(self.c.max(where=~missing, initial=0)))
        distances = self.c.view(np.uint32)
        distances[missing] = unreachable(np.uint32)
        return distances

    def validate(self) -> Checked:
        """Check the last answer: its rows of integer weights, otherwise the whole matrix. Raises Invalid."""
        if self.dtype == np.uint32:
            return super().validate()
        self._check = self._check or HostCheck(self.a)
        checked = self._check(matrix := [Block("distances", 0, self.c)])
        check_given(self, CpuSolver, matrix)
        return checked

    def close(self) -> None:
        self._check = None


class Closure(Dense):
    """C = min(C, C (x) C) until nothing changes. Every product makes new tables of what is infinite."""

    held = 4.25

    def closing(self, c: np.ndarray) -> dict[str, float]:
        squarings = 0
        while True:
            squarings += 1
            last = c.copy()
            relax(c, last, last, self.infinite)
            if np.array_equal(c, last):
                return {"squarings": squarings}


class FloydWarshallBlocked(Dense):
    """Blocks of BLOCK vertices: close the diagonal block, then its rows and columns, then everything else."""

    def closing(self, c: np.ndarray) -> dict[str, float]:
        for first in range(0, len(c), BLOCK):
            block = slice(first, first + BLOCK)
            diagonal = np.ascontiguousarray(c[block, block])
            _close(diagonal)
            rows, columns = c[block], np.ascontiguousarray(c[:, block])
            relax(rows, diagonal, rows.copy(), self.infinite)
            relax(columns, columns.copy(), diagonal, self.infinite)
            relax(c, columns, rows.copy(), self.infinite)
        return {}


@njit
def _close(c):
    """Floyd-Warshall in place."""
    for k in range(c.shape[0]):
        for i in range(c.shape[0]):
            x = c[i, k]
            for j in range(c.shape[0]):
                s = c.dtype.type(x + c[k, j])
                c[i, j] = s if s < c[i, j] else c[i, j]
