"""Operands in packed form and the kernels of fast.cu on them: what `fast` and the closures of `apsp` are made of.

Packing and register tiles are those of the matrix product of Goto and van de Geijn (2008) and BLIS (2015); see
product.cuh.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cache
from itertools import cycle
from typing import NamedTuple

import numpy as np

from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.constants import constants
from saitan.cuda.module import function
from saitan.tropical.cuda_common import ENTRY, divided
from saitan.tropical.semiring import SumOverflow, infinity

_C = constants("tropical", "product.cuh") | constants("tropical", "pack.cuh")
LINES_A, LINES_B, DEPTH, BLOCKS = (_C[name] for name in ("LINES_A", "LINES_B", "DEPTH", "BLOCKS"))
BLOCK, PACK_BLOCK = (_C["THREADS"], 1, 1), (_C["PACK_THREADS"], 1, 1)
SHARED_BYTES = _C["STAGES"] * (LINES_A + LINES_B) * DEPTH * 4 + _C["LISTED"] * 2
FINITE, NOT_A_NUMBER, NEGATIVE, OUT_OF_RANGE = (
    _C[name] for name in ("FINITE", "NOT_A_NUMBER", "NEGATIVE", "OUT_OF_RANGE")
)
# `Report` of product.cuh.
REPORT = np.dtype([("found", "u4"), ("largest", "u4", 2), ("changed", "u4"), ("overflown", "u4")])


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
        return cls(pointer(array), *array.shape, array.shape[1], 1)


class Packed:
    """One operand in packed form: strips of lines, each of chunks of terms, and what the chunks hold."""

    def __init__(self, buffers: Buffers, lines: int, terms: int, lines_per_strip: int, words: int) -> None:
        self._lines_per_strip, self._words = lines_per_strip, words
        self.strips, self.chunks = divided(lines, lines_per_strip), divided(terms, DEPTH)
        self._packed = buffers.empty(self.strips * self.chunks * words * DEPTH, np.uint32)
        self._kinds = buffers.empty((self.strips, self.chunks), np.uint8)
        self.pointers = pointer(self._packed), pointer(self._kinds)

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

    def check(self, c: int, c_pitch: int, a: Matrix, b: Matrix, packed: bool = True) -> np.void:
        """Read the report of a product. Raises ValueError for what an operand may not hold, SumOverflow.

        packed: whether packing has noted the largest entries, which tell most often that no sum reaches infinity.
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
        if not packed or reach >= infinity(self.dtype):
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
