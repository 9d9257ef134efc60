"""The variants for dense matrices on the GPU: repeated squaring and blocked Floyd-Warshall.

Both use the kernels of `tropical`'s fast product, and close the whole matrix, whatever the range of sources. Of integer
weights it is then turned into distances where it lies (dense.cu), which are checked by the certificate of validate.py;
floats, whose sums round in an order of each variant's own, and matrices without a graph are by closure_check.py.

Blocked Floyd-Warshall is that of Venkataraman, Sahni and Mukhopadhyaya (2003), on GPUs Katz and Kider (2008). A step
takes all paths through a block of vertices K. First its diagonal block P is closed. Then the columns of K become
C[:, K] (x) P. Since P (x) P = P, the product C[:, K] (x) C[K, :] gives all other entries, the rows of K included. The
columns and rows of the next block are computed first, so the next diagonal block, a chain of small kernels, is closed
beside the rest of the product.
"""

from __future__ import annotations

import time

import numpy as np
import pycuda.driver as driver

from saitan.apsp.batches import counters
from saitan.apsp.closure_check import DeviceCheck
from saitan.apsp.cuda import BLOCK, DeviceRows
from saitan.apsp.dense import check_sums, graph_matrix, too_long
from saitan.apsp.instances import Instance
from saitan.blocks import check_given
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.constants import constants
from saitan.cuda.module import function
from saitan.cuda.timing import Laps
from saitan.problem import Checked, Run
from saitan.tropical import cuda_fast, cuda_packed
from saitan.tropical.cuda_common import ENTRY, divided, fill
from saitan.tropical.cuda_packed import (
    LINES_A,
    LINES_B,
    Matrix,
    Multiplier,
    Packed,
    columns_per_strip,
    multiprocessors,
)
from saitan.tropical.instances import Instance as Operands
from saitan.tropical.semiring import SumOverflow, infinity, mirrored

_SIZES = constants("apsp", "diagonal.cu")
# Vertices that one block of threads closes.
EDGE = _SIZES["EDGE"]
THREADS = (_SIZES["ACROSS"], _SIZES["ROWS"], 1)
# Kernels start in the order of their launches. So the large product is cut into launches of one tile a multiprocessor,
# on one stream more than a multiprocessor holds blocks: a small kernel waits for one of them at most.
BESIDE = cuda_packed.BLOCKS + 1
# More vertices than this go in steps of 1,024, fewer in steps of 512: multiples of the widest tile, measured on an H200
# from 4,096 to 16,384.
LARGE = 8192
# Blocks that turn entries into distances: more than are resident at once.
GRID = 4096


class Dense(DeviceRows):
    """The base of both: the matrix is closed in place, over (min, +).

    A subclass says in `workspace` what else it allocates, allocates that in `prepare_work`, and closes in
    `close_matrix`.
    """

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        host = graph_matrix(self.graph) if instance.matrix is None else instance.matrix
        self.host = np.ascontiguousarray(mirrored(host, "min_plus"))
        self.operands = Operands(self.host, self.host)
        self.n, self.rows, self.entries = len(host), len(host), host.dtype
        forecast = 2 * self.host.nbytes + self.workspace() + 4
        self.buffers = Buffers(forecast, f"the closure of {self.n:,} vertices")
        self.a = self.buffers.upload(self.host)
        self.matrix = self.buffers.empty(self.a.shape, self.entries)
        self.view = Matrix.of(self.matrix)
        self._largest = self.buffers.empty(1, np.uint32)
        self._zero = function("apsp", "diagonal", f"zero_diagonal_{self.entries.name}", "Pi")
        self._distances = function("apsp", "dense", "distances", "qPIP")
        self._check: DeviceCheck | None = None
        self.prepare_work()
        self.memory, self.transfer = self.buffers.nbytes, self.buffers.upload_time

    def workspace(self) -> int:
        """Bytes beside the two matrices."""
        raise NotImplementedError

    def prepare_work(self) -> None:
        """Allocate what `workspace` counts in self.buffers."""
        raise NotImplementedError

    def close_matrix(self) -> tuple[float, dict[str, float]]:
        """Close the matrix; returns seconds and counters. Raises SumOverflow."""
        raise NotImplementedError

    def run(self, query: list[int]) -> Run:
        """Answer one range of sources.

        Raises Unavailable where a path of a graph may be too long for the matrix's type, SumOverflow where one of a
        matrix is.
        """
        self.first, self.sources = self.instance.range_of(query)
        self.row = self.first
        begin = time.perf_counter()
        try:
            seconds, counted = self.close_matrix()
        except SumOverflow:
            if self.graph is None:
                raise
            raise too_long(self.graph) from None
        if self.dtype == np.uint32:
            self._turn()
        for _ in self.blocks():
            pass
        total = time.perf_counter() - begin
        counted |= counters(self.instance, self.sources, seconds, self.dtype, self.memory - self.matrix.nbytes)
        if counted.get("arcs_row"):
            return Run(seconds, total, counted)
        counted["tops"] = 2 * self.n**3 / seconds / 1e12
        products = counted.get("squarings", 1)
        work = {kind: products * amount for kind, amount in self.operands.work.items()} if self.operands.full else {}
        return Run(seconds, total, counted, work=work)

    def start(self) -> None:
        """The matrix as A with zeros on its diagonal."""
        driver.memcpy_dtod(self.matrix.gpudata, self.a.gpudata, self.a.nbytes)
        self._zero.prepared_call((divided(self.n, 256), 1), (256, 1, 1), self.view.pointer, self.n)

    def _turn(self) -> None:
        largest = pointer(self._largest)
        driver.memset_d32(largest, 0, 1)
        infinite = int(infinity(np.int32))
        self._distances.prepared_call(
            (GRID, 1), (BLOCK, 1, 1), self.matrix.size, pointer(self.matrix), infinite, largest
        )
        check_sums(self.graph, int(self._largest.get()[0]))

    def validate(self) -> Checked:
        """Check the last answer: its rows of integer weights, otherwise the whole matrix. Raises Invalid."""
        if self.dtype == np.uint32:
            return super().validate()
        self._check = self._check or DeviceCheck(self.host)
        checked = self._check(self.matrix)
        check_given(self, DeviceRows, DeviceRows.blocks(self))
        return checked

    def close(self) -> None:
        self.buffers.free()
        if self._check:
            self._check.close()
            self._check = None
        super().close()


class Closure(Dense):
    """C = min(C, C (x) C) until nothing changes. Every product packs C again, with new marks of infinite chunks."""

    def workspace(self) -> int:
        return cuda_fast.forecast(self.n, self.n, self.n, self.entries)

    def prepare_work(self) -> None:
        self.product = cuda_fast.Product(self.buffers, (self.n, self.n, self.n), self.entries, mirrored=False)

    def close_matrix(self) -> tuple[float, dict[str, float]]:
        laps = Laps(2)
        laps.mark()
        self.start()
        squarings, changed = 0, True
        while changed:
            squarings += 1
            _, _, report = self.product.run(
                self.view.pointer, self.n, self.view, self.view, accumulate=True, watch=True
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


class FloydWarshallBlocked(Dense):
    """Blocks of vertices in turn; a diagonal block is closed in the same way, by smaller blocks."""

    def workspace(self) -> int:
        self.step = min(self.n, 512 if self.n <= LARGE else 1024)
        # An inner set, and two for the steps: the product still reads one while the next step packs the other.
        self._sizes = [(self.step, min(self.n, EDGE))] + [(self.n, self.step)] * 2
        return sum(Strips.nbytes(self.entries, *x) for x in self._sizes) + cuda_packed.REPORT.itemsize

    def prepare_work(self) -> None:
        self._inner, *self._outer = (Strips(self.buffers, self.entries, *x) for x in self._sizes)
        self.report = self.buffers.empty(cuda_packed.REPORT.itemsize // 4, np.uint32)
        self.multiplier = Multiplier(self.entries, self.report)
        name = f"close_diagonal_{self.entries.name}"
        self._close_diagonal = function("apsp", "diagonal", name, f"Pii{ENTRY[self.entries.name]}")

    def close_matrix(self) -> tuple[float, dict[str, float]]:
        laps = Laps(2)
        fill(self.multiplier.report_pointer, np.uint32(0), self.report.size)
        laps.mark()
        self.start()
        main, *beside = (driver.Stream() for _ in range(1 + BESIDE))
        ready, done = driver.Event(), [driver.Event() for _ in beside]
        n, tall, wide = self.n, LINES_A, columns_per_strip(self.entries)
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
        self.multiplier.check(self.view.pointer, n, self.view, self.view, packed=n > EDGE)
        return seconds, {}

    def _block(self, row: int, column: int, rows: int, columns: int) -> Matrix:
        """Part of the matrix."""
        return Matrix(self.view.pointer + (row * self.n + column) * self.entries.itemsize, rows, columns, self.n, 1)

    def _product(self, c: Matrix, a: Packed, b: Packed, accumulate: bool = True, **how) -> None:
        self.multiplier.product(c.pointer, a, b, c.rows, c.columns, self.n, accumulate=accumulate, **how)

    def _close(self, start: int, size: int, stream) -> None:
        """All paths among the vertices start .. start + size - 1."""
        for first in range(start, start + size, EDGE):
            count = min(EDGE, start + size - first)
            corner = self._block(first, first, count, count).pointer
            self._close_diagonal.prepared_async_call(
                (1, 1), THREADS, stream, corner, count, self.n, infinity(self.entries)
            )
            if size > EDGE:
                columns, rows = self._through(first, count, start, size, self._inner, stream)
                self._product(self._block(start, start, size, size), columns, rows, streams=[stream])

    def _through(self, first: int, count: int, start: int, size: int, strips: Strips, stream) -> tuple[Packed, Packed]:
        """Paths among start .. start + size - 1 that pass the block first .. first + count - 1, which is closed.

        Finishes its columns in the matrix. Packs these and its rows, whose product gives all other entries.
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
