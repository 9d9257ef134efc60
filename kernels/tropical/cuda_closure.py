"""The closure on CUDA: repeated squaring and blocked Floyd-Warshall, both on the kernels of `fast`.

Blocked Floyd-Warshall is that of Venkataraman, Sahni and Mukhopadhyaya (2003), on GPUs Katz and Kider (2008). A step
takes all paths through a block of vertices K. First its diagonal block P is closed. Then the columns of K become
C[:, K] (x) P. Since P (x) P = P, the product C[:, K] (x) C[K, :] gives all other entries, the rows of K included. The
columns and rows of the next block are computed first, so the next diagonal block, a chain of small kernels, is closed
beside the rest of the product.
"""

from __future__ import annotations

import time

import numpy as np

from saitan.cuda.buffers import Buffers
from saitan.cuda.constants import constants
from saitan.cuda.module import function
from saitan.cuda.timing import Laps
from saitan.problem import Run
from saitan.tropical import cuda_fast
from saitan.tropical.closure_check import DeviceCheck
from saitan.tropical.cuda_common import ENTRY, Solver, divided, fill
from saitan.tropical.cuda_fast import (
    LINES_A,
    LINES_B,
    Matrix,
    Multiplier,
    Packed,
    columns_per_strip,
    multiprocessors,
)
from saitan.tropical.instances import Instance
from saitan.tropical.operands import checked_square
from saitan.tropical.semiring import infinity, mirrored

_SIZES = constants("tropical", "diagonal.cu")
# Vertices that one block of threads closes.
EDGE = _SIZES["EDGE"]
THREADS = (_SIZES["ACROSS"], _SIZES["ROWS"], 1)
# Kernels start in the order of their launches. So the large product is cut into launches of one tile a multiprocessor,
# on one stream more than a multiprocessor holds blocks: a small kernel waits for one of them at most.
BESIDE = cuda_fast.BLOCKS + 1
# More vertices than this go in steps of 1,024, fewer in steps of 512: multiples of the widest tile, measured on an H200
# from 4,096 to 16,384.
LARGE = 8192


class Closing(Solver):
    """The base of both: c, closed in place, begins as a copy of A with zeros on its diagonal, over (min, +)."""

    def __init__(self, instance: Instance, workspace: int) -> None:
        super().__init__(instance)
        checked_square(instance.a, instance.semiring)
        self.n, self.dtype = len(instance.a), instance.a.dtype
        self.buffers = Buffers(2 * instance.a.nbytes + workspace, f"the closure of {self.n:,} vertices")
        self.a = self.buffers.upload(mirrored(instance.a, instance.semiring))
        self.c = self.buffers.empty(self.a.shape, self.dtype)
        self.matrix = Matrix.of(self.c)
        self._zero = function("tropical", "diagonal", f"zero_diagonal_{self.dtype.name}", "Pi")

    def run(self, query: int) -> Run:
        start = time.perf_counter()
        seconds, counters = self.close_matrix()
        total = time.perf_counter() - start
        products = counters.get("squarings", 1)
        work = {kind: products * pairs for kind, pairs in self.instance.work.items()} if self.instance.full else {}
        return Run(seconds, total, {"tops": 2 * self.instance.pairs / seconds / 1e12, **counters}, work=work)

    def make_check(self) -> DeviceCheck:
        return DeviceCheck(self.instance)

    def start(self) -> None:
        import pycuda.driver as driver

        driver.memcpy_dtod(self.c.gpudata, self.a.gpudata, self.a.nbytes)
        self._zero.prepared_call((divided(self.n, 256), 1), (256, 1, 1), self.matrix.pointer, self.n)

    def close_matrix(self) -> tuple[float, dict[str, float]]:
        """Close c; returns seconds and counters."""
        raise NotImplementedError


class Closure(Closing):
    """C = min(C, C (x) C) until nothing changes. Every product packs C again, with new marks of infinite chunks."""

    def __init__(self, instance: Instance) -> None:
        n = len(instance.a)
        super().__init__(instance, cuda_fast.forecast(n, n, n, instance.a.dtype))
        self.product = cuda_fast.Product(self.buffers, (n, n, n), self.dtype, mirrored=False)
        self.memory, self.transfer = self.buffers.nbytes, self.buffers.upload_time

    def close_matrix(self) -> tuple[float, dict[str, float]]:
        laps = Laps(2)
        laps.mark()
        self.start()
        squarings, changed = 0, True
        while changed:
            squarings += 1
            _, _, report = self.product.run(
                self.matrix.pointer, self.n, self.matrix, self.matrix, accumulate=True, watch=True
            )
            changed = bool(report["changed"])
        laps.mark()
        return laps.seconds()[0], {"squarings": squarings}


class Strips:
    """Packed columns and rows through some vertices, and their diagonal block."""

    def __init__(self, buffers: Buffers, dtype: np.dtype, lines: int, terms: int) -> None:
        self.columns, self.rows, self.diagonal = (Packed(buffers, *x) for x in self._sizes(dtype, lines, terms))

    @staticmethod
    def _sizes(dtype: np.dtype, lines: int, terms: int) -> list[tuple[int, int, int, int]]:
        wide = columns_per_strip(dtype)
        return [(lines, terms, LINES_A, LINES_A), (lines, terms, wide, LINES_B), (terms, terms, wide, LINES_B)]

    @classmethod
    def nbytes(cls, dtype: np.dtype, lines: int, terms: int) -> int:
        return sum(Packed.nbytes(*x) for x in cls._sizes(dtype, lines, terms))


class FloydWarshall(Closing):
    """Blocks of vertices in turn; a diagonal block is closed in the same way, by smaller blocks."""

    def __init__(self, instance: Instance) -> None:
        n, dtype = len(instance.a), instance.a.dtype
        self.step = min(n, 512 if n <= LARGE else 1024)
        inner = self.step, min(n, EDGE)
        # Two sets for the steps: the product still reads one while the next step packs the other.
        outer = n, self.step
        super().__init__(instance, Strips.nbytes(dtype, *inner) + 2 * Strips.nbytes(dtype, *outer))
        self._inner, *self._outer = (Strips(self.buffers, dtype, *x) for x in (inner, outer, outer))
        self.report = self.buffers.empty(cuda_fast.REPORT.itemsize // 4, np.uint32)
        self.multiplier = Multiplier(dtype, self.report)
        entry = ENTRY[dtype.name]
        self._close_diagonal = function("tropical", "diagonal", f"close_diagonal_{dtype.name}", f"Pii{entry}")
        self.memory, self.transfer = self.buffers.nbytes, self.buffers.upload_time

    def close_matrix(self) -> tuple[float, dict[str, float]]:
        import pycuda.driver as driver

        laps = Laps(2)
        fill(self.multiplier.report_pointer, np.uint32(0), self.report.size)
        laps.mark()
        self.start()
        main, *beside = (driver.Stream() for _ in range(1 + BESIDE))
        ready, done = driver.Event(), [driver.Event() for _ in beside]
        n, tall, wide = self.n, LINES_A, columns_per_strip(self.dtype)
        for step, first in enumerate(range(0, n, self.step)):
            count = min(self.step, n - first)
            after = first + count
            self._close(first, count, main)
            if count == n:
                break
            columns, rows = self._through(first, count, 0, n, self._outer[step % 2], main)
            for event in done if step else ():
                main.wait_for_event(event)
            ready.record(main)
            following = min(self.step, n - after)
            next_rows = range(after // tall, after // tall + divided(following, tall))
            next_columns = range(after // wide, after // wide + divided(following, wide))
            if following:
                strip = columns.part(following, count, next_rows.start)
                self._product(self._block(after, 0, following, n), strip, rows, streams=[main])
                strip = rows.part(following, count, next_columns.start)
                self._product(self._block(0, after, n, following), columns, strip, streams=[main])
            for stream in beside:
                stream.wait_for_event(ready)
            finished = range(first // wide, next_columns.stop if following else divided(n, wide))
            self._product(
                self._block(0, 0, n, n),
                columns,
                rows,
                without=(next_rows, finished),
                piece=multiprocessors(),
                streams=beside,
            )
            for stream, event in zip(beside, done, strict=True):
                event.record(stream)
        laps.mark()
        seconds = laps.seconds()[0]
        self.multiplier.check(self.matrix.pointer, n, self.matrix, self.matrix)
        return seconds, {}

    def _block(self, row: int, column: int, rows: int, columns: int) -> Matrix:
        """Part of c."""
        return Matrix(self.matrix.pointer + (row * self.n + column) * self.dtype.itemsize, rows, columns, self.n, 1)

    def _product(self, c: Matrix, a: Packed, b: Packed, accumulate: bool = True, **how) -> None:
        self.multiplier.product(c.pointer, a, b, c.rows, c.columns, self.n, accumulate=accumulate, **how)

    def _close(self, start: int, size: int, stream) -> None:
        """All paths among the vertices start .. start + size - 1."""
        for first in range(start, start + size, EDGE):
            count = min(EDGE, start + size - first)
            corner = self._block(first, first, count, count).pointer
            self._close_diagonal.prepared_async_call(
                (1, 1), THREADS, stream, corner, count, self.n, infinity(self.dtype)
            )
            if size > EDGE:
                columns, rows = self._through(first, count, start, size, self._inner, stream)
                self._product(self._block(start, start, size, size), columns, rows, streams=[stream])

    def _through(self, first: int, count: int, start: int, size: int, strips: Strips, stream) -> tuple[Packed, Packed]:
        """Paths among start .. start + size - 1 that pass the block first .. first + count - 1, which is closed.

        Finishes its columns in c. Packs these and its rows, whose product gives all other entries.
        """
        columns, rows = self._block(start, first, size, count), self._block(first, start, count, size)
        diagonal = self._block(first, first, count, count)
        packed_columns, packed_rows = strips.columns.part(size, count), strips.rows.part(size, count)
        packed_diagonal = strips.diagonal.part(count, count)
        chunks = packed_columns.chunks
        left = packed_columns.operand(columns)
        self.multiplier.pack(left, packed_diagonal.operand(diagonal), chunks, stream=stream)
        self._product(columns, packed_columns, packed_diagonal, accumulate=False, streams=[stream])
        self.multiplier.pack(left, packed_rows.operand(rows), chunks, stream=stream)
        return packed_columns, packed_rows
