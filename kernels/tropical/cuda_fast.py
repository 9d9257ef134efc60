"""`fast` on CUDA (fast.cu): a pre-pass packs the operands, then one kernel multiplies the packed form.

Packing and register tiles are those of the matrix product of Goto and van de Geijn (2008) and BLIS (2015); see
product.cuh. NOTES.md has the floors, the measurements and what did not help.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from copy import copy
from functools import cache
from itertools import cycle
from math import prod
from typing import NamedTuple

import numpy as np

from saitan.cuda.buffers import Buffers
from saitan.cuda.constants import constants
from saitan.cuda.module import function
from saitan.cuda.timing import Laps
from saitan.problem import Run
from saitan.tropical.cuda_common import ENTRY, Solver, divided, fill
from saitan.tropical.instances import Instance
from saitan.tropical.semiring import SumOverflow, infinity
from saitan.tropical.skipping import occupancy

_C = constants("tropical", "product.cuh") | constants("tropical", "pack.cuh")
LINES_A, LINES_B, DEPTH, BLOCKS = (_C[name] for name in ("LINES_A", "LINES_B", "DEPTH", "BLOCKS"))
BLOCK, PACK_BLOCK = (_C["THREADS"], 1, 1), (_C["PACK_THREADS"], 1, 1)
SHARED_BYTES = _C["STAGES"] * (LINES_A + LINES_B) * DEPTH * 4 + _C["LISTED"] * 2
FINITE, NOT_A_NUMBER, NEGATIVE, OUT_OF_RANGE = (
    _C[name] for name in ("FINITE", "NOT_A_NUMBER", "NEGATIVE", "OUT_OF_RANGE")
)
# `Report` of product.cuh.
REPORT = np.dtype([("found", "u4"), ("largest", "u4", 2), ("changed", "u4"), ("overflown", "u4")])
# Measured on an H200, in times of one chunk: merging a part into C costs 6, or 20 for pairs of uint16, which are merged
# by compare and swap and where more than 3 parts are slower than none. A multiprocessor with a single block runs at
# 0.65 of its rate.
MERGE, MERGE_PAIRS, MOST_PARTS, MOST_PARTS_OF_PAIRS, ALONE = 6, 20, 64, 3, 0.65


class LoopWarning(UserWarning):
    """The operands need a slower inner loop; the message says why."""


@cache
def _kernel(name: str, arguments: str, shared_bytes: int = 0):
    import pycuda.driver as driver

    prepared = function("tropical", "fast", name, arguments)
    if shared_bytes:
        prepared.set_attribute(driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes)
    return prepared


@cache
def multiprocessors() -> int:
    import pycuda.driver as driver

    from saitan.cuda import device

    return device().get_attribute(driver.device_attribute.MULTIPROCESSOR_COUNT)


def columns_per_strip(dtype: np.dtype) -> int:
    """Columns of B that a tile of C spans: LINES_B words."""
    return LINES_B * 4 // dtype.itemsize


def parts(tiles: int, chunks: int, multiprocessors: int, merge: float = MERGE, most: int = MOST_PARTS) -> int:
    """The number of parts of each tile's sum that takes the least time, as few tiles leave multiprocessors idle."""

    def cost(count: int) -> float:
        busiest = divided(tiles * count, multiprocessors)
        work = divided(chunks, count) / (ALONE if busiest == 1 else 1)
        return busiest * (work + (merge if count > 1 else 0))

    return min(range(1, max(1, min(most, chunks // 2)) + 1), key=cost)


class Matrix(NamedTuple):
    """Where a matrix lies on the device; strides in entries, so that any view will do."""

    pointer: int
    rows: int
    columns: int
    row_stride: int
    column_stride: int

    @classmethod
    def of(cls, array) -> Matrix:
        """A contiguous GPUArray."""
        return cls(int(array.gpudata), *array.shape, array.shape[1], 1)


class Packed:
    """One operand in packed form: strips of lines, each of chunks of terms, and what the chunks hold."""

    def __init__(self, buffers: Buffers, lines: int, terms: int, lines_per_strip: int, words: int) -> None:
        self._lines_per_strip, self._words = lines_per_strip, words
        self.strips, self.chunks = divided(lines, lines_per_strip), divided(terms, DEPTH)
        self._packed = buffers.empty(self.strips * self.chunks * words * DEPTH, np.uint32)
        self._kinds = buffers.empty((self.strips, self.chunks), np.uint8)
        self.pointers = int(self._packed.gpudata), int(self._kinds.gpudata)

    def part(self, lines: int, terms: int, first: int = 0) -> Packed:
        """The same memory, or from a strip on, for operands of at most this size."""
        part = copy(self)
        part.strips, part.chunks = divided(lines, self._lines_per_strip), divided(terms, DEPTH)
        before = first * part.chunks
        part.pointers = self.pointers[0] + before * self._words * DEPTH * 4, self.pointers[1] + before
        return part

    @staticmethod
    def nbytes(lines: int, terms: int, lines_per_strip: int, words: int) -> int:
        return divided(lines, lines_per_strip) * divided(terms, DEPTH) * (words * DEPTH * 4 + 1)

    def operand(self, matrix: Matrix) -> tuple[int, ...]:
        """The arguments of the pre-pass for this operand."""
        return (
            *self.pointers,
            matrix.pointer,
            matrix.row_stride,
            matrix.column_stride,
            matrix.rows,
            matrix.columns,
            self.strips,
        )

    def finite(self) -> np.ndarray:
        """bool [strips, chunks]."""
        return self._kinds.get() & FINITE != 0


class Multiplier:
    """The kernels for one number type; calls are asynchronous, C is a pointer and its pitch in entries.

    signed: floats of either sign, by the loop of plain minima.
    """

    def __init__(self, dtype: np.dtype, report, mirrored: bool = False, signed: bool = False) -> None:
        self.dtype, self.report, self.mirrored, self.signed = dtype, report, int(mirrored), signed
        self.report_pointer = int(report.gpudata)
        self._pack = _kernel(f"pack_{dtype.name}", "PPPqqiiiPPPqqiiiPIPii")
        loop = f"product_{'signed_' if signed else ''}{dtype.name}"
        self._product = _kernel(loop, "PPPPPP" + "iiiii" + "iiiiIiii", SHARED_BYTES)
        entry = ENTRY[dtype.name]
        self._overflow = _kernel(f"overflow_{dtype.name}", f"PPPP{entry}{entry}iiiqqqq")
        self._examine = _kernel(f"examine_{dtype.name}", "PPiqi")

    def tiles(self, m: int, n: int) -> tuple[int, int]:
        """Of C, down and across."""
        return divided(m, LINES_A), divided(n, columns_per_strip(self.dtype))

    def pack(
        self,
        a: tuple[int, ...],
        b: tuple[int, ...],
        chunks: int,
        skip: bool = True,
        c: int = 0,
        words: int = 0,
        stream=None,
    ) -> None:
        """Pack two operands (Packed.operand) of the same number of chunks; fill words of C with infinity."""
        filling = divided(words, chunks * PACK_BLOCK[0] * 16)
        grid = (chunks, a[-1] + b[-1] + filling)
        arguments = (*a, *b, c, words, self.report_pointer, self.mirrored, int(skip))
        self._pack.prepared_async_call(grid, PACK_BLOCK, stream, *arguments)

    def product(
        self,
        c: int,
        a: Packed,
        b: Packed,
        m: int,
        n: int,
        pitch: int,
        *,
        parts: int = 1,
        accumulate: bool,
        watch: bool = False,
        without: tuple[range, range] = (range(0), range(0)),
        piece: int = 2**31 - 1,
        streams: Sequence = (None,),
    ) -> None:
        """C = A (x) B, or its minimum with C. With several parts C must be filled before.

        watch: report whether C changed; without: rows and columns of tiles of C that are not computed; piece: most
        tiles of a launch. The launches go to the streams in turn.
        """
        rows, columns = without
        down, across = self.tiles(m, n)
        tiles = (down - len(rows)) * (across - len(columns))
        for first, stream in zip(range(0, tiles, piece), cycle(streams), strict=False):
            self._product.prepared_async_call(
                (min(piece, tiles - first), parts),
                BLOCK,
                stream,
                c,
                a.pointers[0],
                b.pointers[0],
                a.pointers[1],
                b.pointers[1],
                self.report_pointer,
                first,
                rows.start,
                len(rows),
                columns.start,
                len(columns),
                m,
                n,
                pitch,
                a.chunks,
                1,
                int(accumulate),
                self.mirrored,
                int(watch),
                shared_size=SHARED_BYTES,
            )

    def examine(self, matrix: Matrix) -> None:
        """Add to the report what a matrix whose rows are contiguous may not hold."""
        grid = matrix.rows, divided(matrix.columns, BLOCK[0])
        arguments = matrix.pointer, self.report_pointer, matrix.columns, matrix.row_stride, self.mirrored
        self._examine.prepared_call(grid, BLOCK, *arguments)

    def refuse(self, found: int, what: str) -> None:
        """Raise ValueError where a report has found something that the semiring cannot hold in `what`."""
        semiring = "max_plus" if self.mirrored else "min_plus"
        infinite = infinity(self.dtype, semiring)
        if found & NOT_A_NUMBER:
            raise ValueError(f"{what} holds NaN")
        if found & OUT_OF_RANGE:
            low, high = sorted((0, infinite))
            beyond = f"holds {-infinite}" if self.dtype == np.float32 else f"has an entry outside [{low}, {high}]"
            raise ValueError(f"{what} {beyond}, which {semiring} cannot hold")

    def check(self, c: int, c_pitch: int, a: Matrix, b: Matrix) -> np.void:
        """Read the report of a product. Raises ValueError for what an operand may not hold, SumOverflow.

        Where the report has NEGATIVE, only the signed loop has written C.
        """
        infinite = infinity(self.dtype, "max_plus" if self.mirrored else "min_plus")
        report = self.report.get().view(REPORT)[0]
        self.refuse(report["found"], "an operand")
        if report["found"] & NEGATIVE and not self.signed:
            return report
        with np.errstate(over="ignore"):
            if self.dtype == np.float32:
                reach = report["largest"].view(np.float32).sum(dtype=np.float32)
            else:
                reach = report["largest"].sum(dtype=np.uint64)
        if reach >= infinity(self.dtype):
            self._overflow.prepared_call(
                (a.rows, divided(b.columns, BLOCK[0])),
                BLOCK,
                c,
                a.pointer,
                b.pointer,
                self.report_pointer,
                infinite,
                -infinite if self.dtype == np.float32 else infinite,
                a.columns,
                b.columns,
                c_pitch,
                *a[3:],
                *b[3:],
            )
            if self.report.get().view(REPORT)[0]["overflown"]:
                raise SumOverflow(self.dtype)
        return report


def forecast(m: int, k: int, n: int, dtype: np.dtype) -> int:
    """Bytes of the packed operands and the report."""
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
            warnings.warn("entries of either sign: the loop of plain minima is used", LoopWarning, stacklevel=3)
            self.use_loop(signed=True)
            return self.run(c, pitch, a, b, accumulate, skip, reuse, watch)
        return prepass, product, report

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
        self.product = Product(self.buffers, instance.shape, dtype, instance.semiring == "max_plus", gated=True)
        self.memory, self.transfer = self.buffers.nbytes, self.buffers.upload_time

    def run(self, query: int) -> Run:
        start = time.perf_counter()
        if not self.instance.pairs:
            fill(int(self.c.gpudata), infinity(self.c.dtype, self.instance.semiring), self.c.size)
            return Run(0.0, time.perf_counter() - start)
        operands = Matrix.of(self.a), Matrix.of(self.b)
        prepass, product, _ = self.product.run(
            int(self.c.gpudata), self.c.shape[1], *operands, skip=self.skip, reuse=self.reuse
        )
        total = time.perf_counter() - start
        counters = {
            "tops": 2 * self.instance.pairs / (prepass + product) / 1e12,
            "prepass_s": prepass,
            **occupancy(self.product.packed_a.finite(), self.product.packed_b.finite().T),
        }
        work = self.instance.work if self.instance.full else {}
        return Run(prepass + product, total, counters, work=work, disturbed=self.product.laps.disturbed)


class Dense(Fast):
    """Fast that skips no chunk, to compare it with."""

    skip = False
