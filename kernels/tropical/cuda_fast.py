"""`fast` on CUDA (fast.cu): a pre-pass packs the operands, then one kernel multiplies the packed form. Small products
are done by one launch (cuda_small.py).

NOTES.md has the floors, the measurements and what did not help.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from math import prod

import numpy as np

from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.timing import Laps
from saitan.problem import Run
from saitan.tropical import cuda_small
from saitan.tropical.cuda_common import LoopWarning, Solver, divided, fill
from saitan.tropical.cuda_packed import (
    LINES_A,
    LINES_B,
    NEGATIVE,
    REPORT,
    Matrix,
    Multiplier,
    Packed,
    columns_per_strip,
    multiprocessors,
)
from saitan.tropical.instances import Instance
from saitan.tropical.semiring import infinity
from saitan.tropical.skipping import occupancy

# Measured on an H200, in times of one chunk: merging a part into C costs 6, or 20 for pairs of uint16, which are merged
# by compare and swap and where more than 3 parts are slower than none. A multiprocessor with a single block runs at
# 0.65 of its rate.
MERGE, MERGE_PAIRS, MOST_PARTS, MOST_PARTS_OF_PAIRS, ALONE = 6, 20, 64, 3, 0.65


def parts(tiles: int, chunks: int, multiprocessors: int, merge: float = MERGE, most: int = MOST_PARTS) -> int:
    """The number of parts of each tile's sum that takes the least time, as few tiles leave multiprocessors idle."""

    def cost(count: int) -> float:
        busiest = divided(tiles * count, multiprocessors)
        work = divided(chunks, count) / (ALONE if busiest == 1 else 1)
        return busiest * (work + (merge if count > 1 else 0))

    return min(range(1, max(1, min(most, chunks // 2)) + 1), key=cost)


def make_product(
    buffers: Buffers, shape: tuple[int, int, int], dtype: np.dtype, mirrored: bool, gated: bool = False
) -> Product | cuda_small.SmallProduct:
    """For products that are not accumulated: by one launch where that is faster, otherwise packed first."""
    small = cuda_small.is_small(*shape, dtype)
    return (cuda_small.SmallProduct if small else Product)(buffers, shape, dtype, mirrored, gated)


def forecast(m: int, k: int, n: int, dtype: np.dtype) -> int:
    """Bytes of what a Product holds: the packed operands and the report. A SmallProduct holds less."""
    return (
        Packed.nbytes(m, k, LINES_A, LINES_A) + Packed.nbytes(n, k, columns_per_strip(dtype), LINES_B) + REPORT.itemsize
    )


class Product:
    """Products of one shape: workspace, kernels, and the operands packed last.

    gated: the seconds leave out what the host takes to queue the launches.
    """

    def __init__(
        self, buffers: Buffers, shape: tuple[int, int, int], dtype: np.dtype, mirrored: bool, gated: bool = False
    ) -> None:
        m, k, n = self.shape = shape
        self.dtype, self.mirrored = dtype, mirrored
        self.packed_a = Packed(buffers, m, k, LINES_A, LINES_A)
        self.packed_b = Packed(buffers, n, k, columns_per_strip(dtype), LINES_B)
        self.report = buffers.empty(REPORT.itemsize // 4, np.uint32)
        self.laps = Laps(3, gated)
        self.packed = False
        self.use_loop(signed=False)
        limits = (MERGE, MOST_PARTS) if dtype.itemsize == 4 else (MERGE_PAIRS, MOST_PARTS_OF_PAIRS)
        self.parts = parts(prod(self.multiplier.tiles(m, n)), self.packed_a.chunks, multiprocessors(), *limits)

    def use_loop(self, signed: bool) -> None:
        """signed: the loop for floats of either sign, which does not cut sums into parts."""
        self.signed = signed
        self.multiplier = Multiplier(self.dtype, self.report, self.mirrored, signed)

    def examine_out(self, matrices: Iterable[Matrix]) -> None:
        """Look at what is to be accumulated in, before the first run. Raises ValueError for what it may not hold."""
        fill(self.report_pointer, np.uint32(0), REPORT.itemsize // 4)
        for matrix in matrices:
            self.multiplier.examine(matrix)
        found = self.report.get().view(REPORT)[0]["found"]
        self.multiplier.refuse(found, "out")
        if found & NEGATIVE:
            # Atomic minima compare bits, which have the order of floats of one sign only.
            self.parts = 1

    def parts_for(self, c: int, pitch: int) -> int:
        """Parts of the sum: one where pairs of uint16 are no whole words of C, or C is part of a wider matrix."""
        words = self.dtype.itemsize == 4 or (pitch % 2 == 0 and c % 4 == 0)
        return self.parts if words and pitch == self.shape[2] and not self.signed else 1

    def run(
        self,
        c: int,
        pitch: int,
        a: Matrix,
        b: Matrix,
        accumulate: bool = False,
        skip: bool = True,
        reuse: bool = False,
        watch: bool = False,
    ) -> tuple[float, float, np.void]:
        """C = A (x) B, or its minimum with C; returns seconds of the pre-pass and of the product, and the report.

        reuse: the operands are those of the last run. Where the sum has several parts, C [m, pitch] is filled first.
        Raises ValueError for what an operand may not hold, SumOverflow for a finite sum that reaches infinity.
        """
        m, _, n = self.shape
        fresh = not (reuse and self.packed)
        count = self.parts_for(c, pitch)
        operands = self.packed_a.operand(a), self.packed_b.operand(b)
        if fresh:
            fill(self.report_pointer, np.uint32(0), REPORT.itemsize // 4)
        self.laps.mark()
        words = m * pitch * self.dtype.itemsize // 4 if count > 1 and not accumulate else 0
        if fresh:
            self.multiplier.pack(*operands, self.packed_a.chunks, skip, c, words)
        elif words:
            fill(c, infinity(self.dtype, "max_plus" if self.mirrored else "min_plus"), m * pitch)
        self.laps.mark()
        self.multiplier.product(
            c, self.packed_a, self.packed_b, m, n, pitch, parts=count, accumulate=accumulate, watch=watch
        )
        self.laps.mark()
        prepass, product = self.laps.seconds()
        report = self.multiplier.check(c, pitch, a, b)
        self.packed = True
        if report["found"] & NEGATIVE and not self.signed:
            warnings.warn(LoopWarning.SIGNED, LoopWarning, stacklevel=3)
            self.use_loop(signed=True)
            return self.run(c, pitch, a, b, accumulate, skip, reuse, watch)
        return prepass, product, report

    def finite(self) -> tuple[np.ndarray, np.ndarray]:
        """Which chunks of A, bool [strips, chunks], and of B, bool [chunks, strips], hold anything finite."""
        return self.packed_a.finite(), self.packed_b.finite().T

    @property
    def report_pointer(self) -> int:
        return self.multiplier.report_pointer


class Fast(Solver):
    """The fastest product here: skips chunks of 32 terms that are all infinite.

    reuse: keep the packed operands of the first run.
    """

    skip = True
    own_semiring = True

    def __init__(self, instance: Instance, *, reuse: bool = False) -> None:
        super().__init__(instance)
        self.reuse = reuse
        m, k, n = instance.shape
        dtype = instance.a.dtype
        same = instance.b is instance.a
        raw = instance.a.nbytes + (0 if same else instance.b.nbytes) + m * n * dtype.itemsize
        self.buffers = Buffers(raw + forecast(m, k, n, dtype), f"a {m:,} x {k:,} x {n:,} product")
        self.a = self.buffers.upload(instance.a)
        self.b = self.a if same else self.buffers.upload(instance.b)
        self.c = self.buffers.empty((m, n), dtype)
        self.product = make_product(self.buffers, instance.shape, dtype, instance.semiring == "max_plus", gated=True)
        self.memory, self.transfer = self.buffers.nbytes, self.buffers.upload_time

    def run(self, query: int) -> Run:
        start = time.perf_counter()
        if not self.instance.pairs:
            fill(pointer(self.c), infinity(self.c.dtype, self.instance.semiring), self.c.size)
            return Run(0.0, time.perf_counter() - start)
        operands = Matrix.of(self.a), Matrix.of(self.b)
        prepass, product, _ = self.product.run(
            pointer(self.c), self.c.shape[1], *operands, skip=self.skip, reuse=self.reuse
        )
        total = time.perf_counter() - start
        counters = {
            "tops": 2 * self.instance.pairs / (prepass + product) / 1e12,
            "prepass_s": prepass,
            **occupancy(*self.product.finite()),
        }
        work = self.instance.work if self.instance.full else {}
        return Run(prepass + product, total, counters, work=work, disturbed=self.product.laps.disturbed)


class Dense(Fast):
    """Fast that skips no chunk, to compare it with."""

    skip = False
