"""`fast` on the CPU (Numba): vectorised over a row of a C block, eight terms of the sum at a time.

A block of B (DEPTH x WIDTH) is packed (Goto and van de Geijn, 2008): it stays in the first-level cache while all rows
of a C block use it. A group of eight terms is skipped where it is all infinite, in a row of A or in B across the block.
Of a group with few finite terms only these are taken. One worker computes a C block, so the number of workers does not
change the result. A small product is computed by one worker, without blocks.
"""

from __future__ import annotations

import time

import numba
import numpy as np
from numba import prange

from saitan.compiled import in_turn, njit
from saitan.tropical import cpu
from saitan.tropical.instances import Instance
from saitan.tropical.skipping import occupancy

HEIGHT, DEPTH, WIDTH = 64, 16, 512
GROUP = 8
FEW = 3  # finite terms of a group that are taken one by one (measured)
# Terms that a worker adds in an eighth of a second, at most (measured).
TURN = 1 << 30
# So few terms of sums take one worker less time than sharing them out (measured).
SMALL = 1 << 18
_COUNT = np.array([bits.bit_count() for bits in range(1 << GROUP)], np.uint8)


@njit
def _lesser(x, y):
    return x if x < y else y


@njit
def _eight_terms(c, r, left, right, a, first, b, k):
    """c[r, left:right] = its minimum with a[r, first + k] + b[k], ..., a[r, first + k + 7] + b[k + 7]."""
    add, x, row = c.dtype.type, a[r, first + k : first + k + 8], c[r, left:right]
    x0, x1, x2, x3, x4, x5, x6, x7 = x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
    for j in range(right - left):
        best = _lesser(add(x0 + b[k, j]), row[j])
        best = _lesser(add(x1 + b[k + 1, j]), best)
        best = _lesser(add(x2 + b[k + 2, j]), best)
        best = _lesser(add(x3 + b[k + 3, j]), best)
        best = _lesser(add(x4 + b[k + 4, j]), best)
        best = _lesser(add(x5 + b[k + 5, j]), best)
        best = _lesser(add(x6 + b[k + 6, j]), best)
        row[j] = _lesser(add(x7 + b[k + 7, j]), best)


@njit
def _one_term(c, r, left, right, a, first, b, k):
    """c[r, left:right] = its minimum with a[r, first + k] + b[k]."""
    x, row = a[r, first + k], c[r, left:right]
    for j in range(right - left):
        row[j] = _lesser(c.dtype.type(x + b[k, j]), row[j])


@njit(parallel=True)
def _mark_rows(matrix, infinite, groups):
    """Clear the bits of infinite terms in `groups`, which has a bit set for each term."""
    for i in prange(matrix.shape[0]):
        row = matrix[i]
        for first in range(0, len(row), 8 * GROUP):
            last = min(first + 8 * GROUP, len(row))
            # Counting runs on vectors, setting bits does not.
            finite = 0
            for t in range(first, last):
                finite += row[t] != infinite
            if finite == last - first:
                continue
            for g in range(first // GROUP, -(-last // GROUP)):
                bits = 0
                if finite:
                    for t in range(GROUP * g, min(GROUP * (g + 1), last)):
                        bits |= (row[t] != infinite) << (t - GROUP * g)
                groups[i, g] = bits


@njit(parallel=True)
def _mark_blocks(matrix, infinite, blocks):
    for i in prange(blocks.shape[0]):
        for j in range(blocks.shape[1]):
            blocks[i, j] = (matrix[GROUP * i : GROUP * (i + 1), WIDTH * j : WIDTH * (j + 1)] != infinite).any()


@njit(parallel=True)
def _relax(c, a, b, groups_a, blocks_b):
    """C = min(C, A (x) B) by blocks, all three in C order."""
    down, across, groups = -(-c.shape[0] // HEIGHT), -(-c.shape[1] // WIDTH), groups_a.shape[1]
    for place in prange(down * across):
        i, j = place // across, place % across
        top, bottom = i * HEIGHT, min((i + 1) * HEIGHT, c.shape[0])
        left, right = j * WIDTH, min((j + 1) * WIDTH, c.shape[1])
        # Rows of B a power of two apart would share cache sets.
        block = np.empty((DEPTH, right - left), b.dtype)
        for begin in range(0, groups, DEPTH // GROUP):
            end = min(begin + DEPTH // GROUP, groups)
            live = False
            for g in range(begin, end):
                live |= blocks_b[g, j] and groups_a[top:bottom, g].any()
            if not live:
                continue
            first, last = GROUP * begin, min(GROUP * end, a.shape[1])
            for k in range(first, last):
                block[k - first][:] = b[k][left:right]
            for r in range(top, bottom):
                for g in range(begin, end):
                    bits = groups_a[r, g] if blocks_b[g, j] else 0
                    if bits == 0:
                        continue
                    k = GROUP * (g - begin)
                    if _COUNT[bits] > FEW and first + k + GROUP <= last:
                        _eight_terms(c, r, left, right, a, first, block, k)
                    else:
                        for t in range(k, k + GROUP):
                            if bits >> (t - k) & 1:
                                _one_term(c, r, left, right, a, first, block, t)


@njit
def _relax_alone(c, a, b, infinite):
    """The same by one worker, a term of the sum at a time."""
    for i in range(c.shape[0]):
        row = c[i]
        for k in range(a.shape[1]):
            x, other = a[i, k], b[k]
            if x != infinite:
                for j in range(len(row)):
                    row[j] = _lesser(c.dtype.type(x + other[j]), row[j])


def _is_small(c: np.ndarray, a: np.ndarray) -> bool:
    return c.size * a.shape[1] <= SMALL


def _tables(a: np.ndarray, b: np.ndarray, infinite: np.generic, skip: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Which terms are finite: uint8 [m, k / 8] of A, a bit each; bool [k / 8, n / WIDTH] of B (all, unless `skip`)."""
    groups = -(-a.shape[1] // GROUP)
    groups_a = np.full((a.shape[0], groups), 255, np.uint8)
    blocks_b = np.ones((groups, -(-b.shape[1] // WIDTH)), np.bool_)
    if a.shape[1] % GROUP:
        groups_a[:, -1] = (1 << a.shape[1] % GROUP) - 1
    if skip:
        # As bits, so that types of the same width share what is compiled.
        bits = f"u{a.itemsize}"
        _mark_rows(a.view(bits), infinite.view(bits), groups_a)
        _mark_blocks(b.view(bits), infinite.view(bits), blocks_b)
    return groups_a, blocks_b


def _relax_in_turn(c: np.ndarray, a: np.ndarray, b: np.ndarray, groups_a: np.ndarray, blocks_b: np.ndarray) -> None:
    """`_relax`, some rows of blocks at a time."""
    workers, k, n = numba.get_num_threads(), *b.shape
    across = max(1, blocks_b.shape[1])
    # So many blocks that the last of each worker makes no difference.
    down = max(workers * TURN // (HEIGHT * max(1, k * n)), -(-16 * workers // across))
    for rows in in_turn(len(c), HEIGHT * down):
        _relax(c[rows], a[rows], b, groups_a[rows], blocks_b)


def relax(c: np.ndarray, a: np.ndarray, b: np.ndarray, infinite: np.generic) -> None:
    """C = min(C, A (x) B) in place, over (min, +)."""
    if _is_small(c, a):
        _relax_alone(c, a, b, infinite)
    else:
        _relax_in_turn(c, a, b, *_tables(a, b, infinite))


class Fast(cpu.Product):
    """The fastest product on the CPU.

    reuse: keep the first run's tables of what is finite; small products have none.
    """

    skip = True

    def __init__(self, instance: Instance, *, reuse: bool = False) -> None:
        super().__init__(instance)
        self.reuse = reuse
        self._finite: tuple[np.ndarray, np.ndarray] | None = None

    def multiply(self) -> dict[str, float]:
        if self.skip and _is_small(self.c, self.a):
            self.c.fill(self.infinite)
            _relax_alone(self.c, self.a, self.b, self.infinite)
            return {}
        start = time.perf_counter()
        if not (self.reuse and self._finite):
            self._finite = _tables(self.a, self.b, self.infinite, self.skip)
        prepass = time.perf_counter() - start
        self.c.fill(self.infinite)
        _relax_in_turn(self.c, self.a, self.b, *self._finite)
        groups_a, blocks_b = self._finite
        return {"prepass_s": prepass, **occupancy(groups_a != 0, blocks_b)}


class Dense(Fast):
    """Fast that skips nothing, to compare it with."""

    skip = False
