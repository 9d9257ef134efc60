"""Small products of `fast` on CUDA (small.cu): one launch on operands where they lie, nothing packed before."""

from __future__ import annotations

import warnings

import numpy as np

from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.constants import constants
from saitan.cuda.module import function
from saitan.cuda.timing import Laps
from saitan.tropical.cuda_common import LoopWarning, divided, fill
from saitan.tropical.cuda_packed import FINITE, NEGATIVE, REPORT, Matrix, Multiplier, multiprocessors

_C = constants("tropical", "small.cu")
THREADS, ROWS, WORDS, DEPTH = (_C[f"SMALL_{name}"] for name in ("THREADS", "ROWS", "WORDS", "DEPTH"))

# What either way takes, measured on an H200, in microseconds. By one launch: the launch, and a chunk of a tile, where a
# multiprocessor has one tile and where it has more. By packing: both launches, and 10^6 words of terms. By bytes of an
# entry.
LAUNCH, CHUNK, CHUNK_OF_MORE = 4, {4: 1.07, 2: 0.97}, {4: 0.86, 2: 0.82}
PACKED, PACKED_TERMS = {4: 21, 2: 40}, 1 / 13


def _tiles(m: int, n: int, dtype: np.dtype) -> int:
    """Of C."""
    return divided(m, ROWS) * divided(n, WORDS * 4 // dtype.itemsize)


def _tables(m: int, k: int, n: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Shapes of the tables of chunks of A and B, [strips of 32 rows or columns, chunks]."""
    chunks = divided(k, DEPTH)
    return (divided(m, 32), chunks), (divided(n, 32), chunks)


def is_small(m: int, k: int, n: int, dtype: np.dtype) -> bool:
    """Whether a product [m, k] (x) [k, n] takes less time by one launch than by packing its operands first."""
    size = dtype.itemsize
    turns = divided(_tiles(m, n, dtype), multiprocessors())
    alone = LAUNCH + turns * divided(k, DEPTH) * (CHUNK if turns == 1 else CHUNK_OF_MORE)[size]
    return alone <= PACKED[size] + m * k * n * size / 4 / 1e6 * PACKED_TERMS


class SmallProduct:
    """Products of one shape, as cuda_fast.Product makes them, without `accumulate` and `watch`."""

    def __init__(
        self, buffers: Buffers, shape: tuple[int, int, int], dtype: np.dtype, mirrored: bool, gated: bool = False
    ) -> None:
        self.shape, self.dtype, self.mirrored = shape, dtype, mirrored
        self._kinds = [buffers.empty(table, np.uint8) for table in _tables(*shape)]
        self.report = buffers.empty(REPORT.itemsize // 4, np.uint32)
        self.laps = Laps(2, gated)
        self.use_loop(signed=False)

    def use_loop(self, signed: bool) -> None:
        """signed: the loop for floats of either sign."""
        self.multiplier = Multiplier(self.dtype, self.report, self.mirrored, signed)
        name = f"small_{'signed_' if signed else ''}{self.dtype.name}"
        self._kernel = function("tropical", "small", name, "P" + "PqqP" * 2 + "P" + "iiiiIii")

    def finite(self) -> tuple[np.ndarray, np.ndarray]:
        """Which chunks of A, bool [strips, chunks], and of B, bool [chunks, strips], hold anything finite."""
        a, b = (kinds.get() & FINITE != 0 for kinds in self._kinds)
        return a, b.T

    def run(
        self, c: int, pitch: int, a: Matrix, b: Matrix, *, skip: bool = True, reuse: bool = False
    ) -> tuple[float, float, np.void]:
        """C = A (x) B; returns and raises what Product.run does. No pre-pass: there is nothing to reuse."""
        m, k, n = self.shape
        fill(self.multiplier.report_pointer, np.uint32(0), REPORT.itemsize // 4)
        views = [
            (matrix.pointer, *strides, pointer(kinds))
            for matrix, strides, kinds in zip((a, b), (a[3:], b[:2:-1]), self._kinds, strict=True)
        ]
        with self.laps:
            self._kernel.prepared_async_call(
                (_tiles(m, n, self.dtype) + divided(sum(kinds.size for kinds in self._kinds), THREADS // 32), 1),
                (THREADS, 1, 1),
                None,
                c,
                *views[0],
                *views[1],
                self.multiplier.report_pointer,
                m,
                k,
                n,
                pitch,
                1,
                int(self.mirrored),
                int(skip),
            )
        [seconds] = self.laps.seconds()
        report = self.multiplier.check(c, pitch, a, b)
        if report["found"] & NEGATIVE and not self.multiplier.signed:
            warnings.warn(LoopWarning.SIGNED, LoopWarning, stacklevel=3)
            self.use_loop(signed=True)
            return self.run(c, pitch, a, b, skip=skip)
        return 0.0, seconds, report
