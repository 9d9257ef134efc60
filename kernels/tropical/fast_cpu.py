"""`fast` on the CPU (Numba): vectorised over a row of a C block, eight terms of the sum at a time.

A block of B (DEPTH x WIDTH) is copied to stay in the first-level cache while all rows of a C block pass over it.
Blocks of A and B that are all infinite are left out. One worker computes a C block, so results do not depend on their
number.
"""

from __future__ import annotations

import time

import numpy as np
from numba import njit, prange

from kernels.tropical import cpu
from kernels.tropical.instances import Instance
from kernels.tropical.skipping import occupancy

HEIGHT, DEPTH, WIDTH = 64, 16, 512


@njit(cache=True)
def _lesser(x, y):
    return x if x < y else y


@njit(cache=True)
def _eight_terms(c, x, b, k):
    """c = min(c, x[k] + b[k], ..., x[k + 7] + b[k + 7])."""
    add = c.dtype.type
    x0, x1, x2, x3, x4, x5, x6, x7 = x[k], x[k + 1], x[k + 2], x[k + 3], x[k + 4], x[k + 5], x[k + 6], x[k + 7]
    for j in range(c.shape[0]):
        best = _lesser(add(x0 + b[k, j]), c[j])
        best = _lesser(add(x1 + b[k + 1, j]), best)
        best = _lesser(add(x2 + b[k + 2, j]), best)
        best = _lesser(add(x3 + b[k + 3, j]), best)
        best = _lesser(add(x4 + b[k + 4, j]), best)
        best = _lesser(add(x5 + b[k + 5, j]), best)
        best = _lesser(add(x6 + b[k + 6, j]), best)
        c[j] = _lesser(add(x7 + b[k + 7, j]), best)


@njit(cache=True)
def _one_term(c, x, b):
    for j in range(c.shape[0]):
        c[j] = _lesser(c.dtype.type(x + b[j]), c[j])


@njit(parallel=True, cache=True)
def _finite_blocks(matrix, infinite, height, width, table):
    for i in prange(table.shape[0]):
        for j in range(table.shape[1]):
            table[i, j] = (matrix[i * height : (i + 1) * height, j * width : (j + 1) * width] != infinite).any()


@njit(parallel=True, cache=True)
def _relax(c, a, b, finite_a, finite_b):
    """C = min(C, A (x) B) by blocks, all three in C order."""
    down, across = -(-c.shape[0] // HEIGHT), -(-c.shape[1] // WIDTH)
    for place in prange(down * across):
        i, j = place // across, place % across
        left, right = j * WIDTH, min((j + 1) * WIDTH, c.shape[1])
        # Rows of B a power of two apart would share cache sets.
        block = np.empty((DEPTH, right - left), b.dtype)
        for step in range(finite_a.shape[1]):
            if not (finite_a[i, step] and finite_b[step, j]):
                continue
            first, last = step * DEPTH, min((step + 1) * DEPTH, a.shape[1])
            for k in range(first, last):
                block[k - first][:] = b[k][left:right]
            for r in range(i * HEIGHT, min((i + 1) * HEIGHT, c.shape[0])):
                row, x = c[r][left:right], a[r][first:last]
                k = 0
                while k + 8 <= last - first:
                    _eight_terms(row, x, block, k)
                    k += 8
                for rest in range(k, last - first):
                    _one_term(row, x[rest], block[rest])


def finite_blocks(matrix: np.ndarray, infinite: np.generic, height: int, width: int) -> np.ndarray:
    """bool [rows / height, columns / width], rounded up: which blocks hold anything finite."""
    table = np.empty((-(-matrix.shape[0] // height), -(-matrix.shape[1] // width)), np.bool_)
    _finite_blocks(matrix, infinite, height, width, table)
    return table


def relax(c: np.ndarray, a: np.ndarray, b: np.ndarray, infinite: np.generic) -> tuple[np.ndarray, np.ndarray]:
    """C = min(C, A (x) B) in place, over (min, +); returns the tables of finite blocks of a and b."""
    finite = finite_blocks(a, infinite, HEIGHT, DEPTH), finite_blocks(b, infinite, DEPTH, WIDTH)
    _relax(c, a, b, *finite)
    return finite


class Fast(cpu.Product):
    """The fastest product here. reuse: keep the first run's tables of infinite blocks."""

    skip = True

    def __init__(self, instance: Instance, *, reuse: bool = False) -> None:
        super().__init__(instance)
        self.reuse = reuse
        self._finite: tuple[np.ndarray, np.ndarray] | None = None

    def multiply(self) -> dict[str, float]:
        start = time.perf_counter()
        if not (self.reuse and self._finite):
            m, k, n = self.instance.shape
            if self.skip:
                self._finite = (
                    finite_blocks(self.a, self.infinite, HEIGHT, DEPTH),
                    finite_blocks(self.b, self.infinite, DEPTH, WIDTH),
                )
            else:
                self._finite = (
                    np.ones((-(-m // HEIGHT), -(-k // DEPTH)), np.bool_),
                    np.ones((-(-k // DEPTH), -(-n // WIDTH)), np.bool_),
                )
        prepass = time.perf_counter() - start
        self.c.fill(self.infinite)
        _relax(self.c, self.a, self.b, *self._finite)
        return {"prepass_s": prepass, **occupancy(*self._finite)}


class Dense(Fast):
    """What skipping is compared with: fast without it."""

    skip = False
