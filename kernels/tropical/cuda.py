"""The paper's variants on CUDA: untiled, tiled, skip-infinity, skip-both (tiled.cu). Paper T, part (1)."""

from __future__ import annotations

import time

import numpy as np

from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.constants import constants
from saitan.cuda.module import function
from saitan.cuda.timing import Laps
from saitan.problem import Run
from saitan.tropical.cuda_common import Solver, divided, fill
from saitan.tropical.instances import Instance
from saitan.tropical.semiring import infinity, mirrored
from saitan.tropical.skipping import INFINITE, Grains, occupancy

TILE = constants("tropical", "tiled.cu")["TILE"]
BLOCK = (TILE, TILE, 1)


def tiles(length: int) -> int:
    return divided(length, TILE)


class Product(Solver):
    """The base of the paper's solvers: the operands over (min, +) on the device.

    everything: whether no term of any sum is skipped.
    """

    everything = True

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self.infinite = infinity(instance.a.dtype)
        m, k, n = instance.shape
        tables = tiles(m) * tiles(k) + tiles(k) * tiles(n)
        forecast = (m * k + k * n + m * n) * instance.a.itemsize + tables
        self.buffers = Buffers(forecast, f"a {m:,} x {k:,} x {n:,} product")
        self.a = self.buffers.upload(mirrored(instance.a, instance.semiring))
        same = instance.b is instance.a
        self.b = self.a if same else self.buffers.upload(mirrored(instance.b, instance.semiring))
        self.c = self.buffers.empty((m, n), instance.a.dtype)
        self.tables = tuple(
            self.buffers.empty((tiles(x.shape[0]), tiles(x.shape[1])), np.int8) for x in (self.a, self.b)
        )
        self.memory = self.buffers.nbytes
        self.transfer = self.buffers.upload_time
        self.laps = Laps(3, gated=True)

    def kernel(self, name: str, arguments: str):
        return function("tropical", "tiled", f"{name}_{self.instance.a.dtype.name}", arguments)

    def run(self, query: int) -> Run:
        start = time.perf_counter()
        counters = {}
        seconds = 0.0
        if self.instance.pairs:
            seconds, counters = self.multiply()
            counters["tops"] = 2 * self.instance.pairs / seconds / 1e12
        else:
            fill(pointer(self.c), self.infinite, self.c.size)
        work = self.instance.work if self.everything else {}
        total = time.perf_counter() - start
        return Run(seconds, total, counters, work=work, disturbed=self.laps.disturbed)

    def multiply(self) -> tuple[float, dict[str, float]]:
        """Write A (x) B to c; returns seconds and counters."""
        raise NotImplementedError

    @property
    def grid(self) -> tuple[int, int]:
        m, _, n = self.instance.shape
        return tiles(n), tiles(m)


class Untiled(Product):
    """A thread computes an entry, from device memory."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self._untiled = self.kernel("untiled", "PPPiii")

    def multiply(self) -> tuple[float, dict[str, float]]:
        operands = (self.c.ptr, self.a.ptr, self.b.ptr)
        self.laps.mark()
        self._untiled.prepared_call(self.grid, BLOCK, *operands, *self.instance.shape)
        self.laps.mark()
        return sum(self.laps.seconds()), {}


class Tiled(Product):
    """Tiles in shared memory; everything is computed (the paper's noskip)."""

    zeros = False

    def __init__(
        self, instance: Instance, *, grains: Grains | None = None, reuse: bool = False, neutral: bool = False
    ) -> None:
        super().__init__(instance)
        self.grains = grains or Grains()
        self.reuse = reuse
        self.neutral = neutral
        self._known = False
        parts = ["tiled", "zeros" * self.zeros, "warp" * self.grains.warp, "element" * self.grains.element]
        self._tiled = self.kernel("_".join(filter(None, parts)), "PPPiiiPPi")
        self._attributes = self.kernel("attributes", "PPPPiii")

    def multiply(self) -> tuple[float, dict[str, float]]:
        c, a, b = (x.ptr for x in (self.c, self.a, self.b))
        table_a, table_b = (x.ptr for x in self.tables)
        shape = self.instance.shape
        self.laps.mark()
        if self.grains.tile and not (self.reuse and self._known):
            count = sum(x.size for x in self.tables)
            self._attributes.prepared_call((count, 1), BLOCK, table_a, table_b, a, b, *shape)
            self._known = True
        self.laps.mark()
        used = (table_a, table_b) if self.grains.tile else (0, 0)
        self._tiled.prepared_call(self.grid, BLOCK, c, a, b, *shape, *used, int(self.neutral))
        self.laps.mark()
        prepass, product = self.laps.seconds()
        if not self.grains.tile:
            return product, {}
        return prepass + product, {"prepass_s": prepass, **occupancy(*(x.get() != INFINITE for x in self.tables))}


class SkipInfinity(Tiled):
    """Tiled; skips what an infinite factor absorbs (paper T, Fig 5).

    grain: "tile", "warp", "element" or several joined by "+"; reuse: keep the attribute tables of the first run.
    """

    everything = False

    def __init__(self, instance: Instance, *, grain: str = "tile", reuse: bool = False) -> None:
        super().__init__(instance, grains=Grains.parse(grain), reuse=reuse)


class SkipBoth(Tiled):
    """Skip-infinity that also stops where an entry has reached zero, which absorbs the sum (paper T, Fig 6).

    neutral: the product with a tile that is the identity is a copy. Raises ValueError for entries below zero (above,
    for max_plus).
    """

    everything = False
    zeros = True

    def __init__(
        self, instance: Instance, *, grain: str = "tile+element", reuse: bool = False, neutral: bool = False
    ) -> None:
        for matrix in (instance.a, instance.b):
            if matrix.size and mirrored(matrix, instance.semiring).min() < 0:
                raise ValueError("skip-both needs entries that zero absorbs: non-negative (non-positive for max_plus)")
        super().__init__(instance, grains=Grains.parse(grain), reuse=reuse, neutral=neutral)
