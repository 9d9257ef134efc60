"""The closure on the CPU (Numba): repeated squaring and blocked Floyd-Warshall, both on the loop of `fast`.

Blocked Floyd-Warshall is that of Venkataraman, Sahni and Mukhopadhyaya (2003).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from saitan.tropical import cpu
from saitan.tropical.closure_check import HostCheck
from saitan.tropical.cpu_fast import relax
from saitan.tropical.instances import Instance
from saitan.tropical.operands import checked_square

BLOCK = 64


class Closing(cpu.Product):
    """The base of both: c begins as A with zeros on its diagonal."""

    def __init__(self, instance: Instance) -> None:
        checked_square(instance.a, instance.semiring)
        super().__init__(instance)

    def start(self) -> np.ndarray:
        self.c[:] = self.a
        np.fill_diagonal(self.c, 0)
        return self.c

    def make_check(self) -> HostCheck:
        return HostCheck(self.instance)


class Closure(Closing):
    """C = min(C, C (x) C) until nothing changes. Every product makes new tables of what is infinite."""

    def multiply(self) -> dict[str, float]:
        c = self.start()
        squarings = 0
        while True:
            squarings += 1
            last = c.copy()
            relax(c, last, last, self.infinite)
            if np.array_equal(c, last):
                return {"squarings": squarings}


class FloydWarshall(Closing):
    """Blocks of BLOCK vertices: close the diagonal block, then its rows and columns, then everything else."""

    def multiply(self) -> dict[str, float]:
        c = self.start()
        for first in range(0, len(c), BLOCK):
            block = slice(first, first + BLOCK)
            diagonal = np.ascontiguousarray(c[block, block])
            _close(diagonal)
            rows, columns = c[block], np.ascontiguousarray(c[:, block])
            relax(rows, diagonal, rows.copy(), self.infinite)
            relax(columns, columns.copy(), diagonal, self.infinite)
            relax(c, columns, rows.copy(), self.infinite)
        return {}


@njit(cache=True)
def _close(c):
    """Floyd-Warshall in place."""
    for k in range(c.shape[0]):
        for i in range(c.shape[0]):
            x = c[i, k]
            for j in range(c.shape[0]):
                s = c.dtype.type(x + c[k, j])
                c[i, j] = s if s < c[i, j] else c[i, j]
