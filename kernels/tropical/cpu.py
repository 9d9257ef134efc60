"""The paper's variants on the CPU (Numba), twins of the CUDA kernels. Paper T, part (1).

The grains of skipping are those of the GPU: a tile, a warp (here the row of a C tile that a vector loop covers), an
element.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numba import prange

from saitan.blocks import chosen
from saitan.compiled import njit
from saitan.graph_input import as_compiled
from saitan.problem import Block, Run
from saitan.tropical.attributes import attributes
from saitan.tropical.instances import Instance
from saitan.tropical.semiring import infinity, mirrored
from saitan.tropical.skipping import IDENTITY, INFINITE, ZERO, Grains, occupancy
from saitan.tropical.validate import Validated

TILE = 32


@njit(parallel=True)
def _untiled(c, a, b, infinite):
    for i in prange(c.shape[0]):
        for j in range(c.shape[1]):
            best = infinite
            for k in range(a.shape[1]):
                candidate = c.dtype.type(a[i, k] + b[k, j])
                best = candidate if candidate < best else best
            c[i, j] = best


@njit
def _row(row, x, other, infinite, by_element, zeros):
    """row = min(row, x + other), for a row of a C tile. What is skipped would not change it."""
    if by_element:
        for j in range(row.shape[0]):
            if x == infinite or other[j] == infinite or (zeros and row[j] == 0):
                continue
            candidate = row.dtype.type(x + other[j])
            row[j] = candidate if candidate < row[j] else row[j]
    else:
        for j in range(row.shape[0]):
            candidate = row.dtype.type(x + other[j])
            row[j] = candidate if candidate < row[j] else row[j]


@njit(parallel=True)
def _tiled(c, a, b, infinite, table_a, table_b, by_tile, by_row, by_element, zeros, identities):
    down, across, inner = -(-c.shape[0] // TILE), -(-c.shape[1] // TILE), -(-a.shape[1] // TILE)
    for place in prange(down * across):
        i, j = place // across, place % across
        top, bottom = i * TILE, min((i + 1) * TILE, c.shape[0])
        left, right = j * TILE, min((j + 1) * TILE, c.shape[1])
        for r in range(top, bottom):
            c[r][left:right] = infinite
        for step in range(inner):
            first, last = step * TILE, min((step + 1) * TILE, a.shape[1])
            if by_tile:
                kind_a, kind_b = table_a[i, step], table_b[step, j]
                if kind_a == INFINITE or kind_b == INFINITE:
                    continue
                if zeros and kind_a == ZERO and kind_b == ZERO:
                    for r in range(top, bottom):
                        c[r][left:right] = 0
                    break
                if identities and kind_a == IDENTITY:
                    for r in range(min(bottom - top, last - first)):
                        _row(c[top + r][left:right], 0, b[first + r][left:right], infinite, False, False)
                    continue
                if identities and kind_b == IDENTITY:
                    reach = min(right - left, last - first)
                    for r in range(top, bottom):
                        _row(c[r][left : left + reach], 0, a[r][first : first + reach], infinite, False, False)
                    continue
            final = True
            for r in range(top, bottom):
                row = c[r][left:right]
                if not (zeros and by_row and not row.any()):
                    for k in range(first, last):
                        x = a[r, k]
                        if not (by_row and x == infinite):
                            _row(row, x, b[k][left:right], infinite, by_element, zeros)
                if zeros and by_tile:
                    final = final and not row.any()
            if zeros and by_tile and final:
                break


def in_rows(matrix: np.ndarray, semiring: str) -> np.ndarray:
    """An operand over (min, +) as the kernels read it."""
    return as_compiled(np.ascontiguousarray(mirrored(matrix, semiring)))


class Product(Validated):
    """The base of the CPU solvers: the operands over (min, +), and the answer."""

    transfer = 0.0

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.infinite = infinity(instance.a.dtype)
        self.a = in_rows(instance.a, instance.semiring)
        self.b = self.a if instance.b is instance.a else in_rows(instance.b, instance.semiring)
        self.c = np.empty((instance.shape[0], instance.shape[2]), instance.a.dtype)
        self.memory = self.c.nbytes

    def run(self, query: int) -> Run:
        start = time.perf_counter()
        counters = self.multiply()
        seconds = time.perf_counter() - start
        return Run(seconds, seconds, {"tops": 2 * self.instance.pairs / seconds / 1e12, **counters})

    def multiply(self) -> dict[str, float]:
        """Write A (x) B to c; returns counters."""
        raise NotImplementedError

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        for name, first, c in chosen("c", self.c, rows):
            yield Block(name, first, mirrored(c, self.instance.semiring))


class Untiled(Product):
    """An entry at a time, a row of A and a column of B."""

    def multiply(self) -> dict[str, float]:
        _untiled(self.c, self.a, self.b, self.infinite)
        return {}


class Tiled(Product):
    """C by tiles of TILE x TILE; everything is computed (the paper's noskip)."""

    grains = Grains()
    zeros = False
    identities = False
    reuse = False
    _tables: tuple[np.ndarray, np.ndarray] | None = None

    def multiply(self) -> dict[str, float]:
        start = time.perf_counter()
        counters: dict[str, float] = {}
        if self.grains.tile and not (self.reuse and self._tables):
            self._tables = tuple(attributes(x, self.infinite, TILE) for x in (self.a, self.b))
        tables = self._tables or (np.empty((0, 0), np.int8),) * 2
        if self.grains.tile:
            counters = {"prepass_s": time.perf_counter() - start, **occupancy(*(x != INFINITE for x in tables))}
        _tiled(
            self.c,
            self.a,
            self.b,
            self.infinite,
            *tables,
            self.grains.tile,
            self.grains.warp,
            self.grains.element,
            self.zeros,
            self.identities,
        )
        return counters


class SkipInfinity(Tiled):
    """Tiled; skips what an infinite factor absorbs (paper T, Fig 5). Parameters as on CUDA."""

    def __init__(self, instance: Instance, *, grain: str = "tile", reuse: bool = False) -> None:
        super().__init__(instance)
        self.grains = Grains.parse(grain)
        self.reuse = reuse


class SkipBoth(SkipInfinity):
    """Skip-infinity that also stops where an entry has reached zero, which absorbs the sum (paper T, Fig 6)."""

    zeros = True

    def __init__(
        self, instance: Instance, *, grain: str = "tile+element", reuse: bool = False, neutral: bool = False
    ) -> None:
        super().__init__(instance, grain=grain, reuse=reuse)
        self.identities = neutral
        if self.a.size and self.b.size and (self.a.min() < 0 or self.b.min() < 0):
            raise ValueError("skip-both needs entries that zero absorbs: non-negative (non-positive for max_plus)")
