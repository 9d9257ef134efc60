"""The closure on CUDA: repeated squaring and blocked Floyd-Warshall, both on the kernels of `fast`."""

from __future__ import annotations

import time

import numpy as np

from kernels.cuda.buffers import Buffers
from kernels.cuda.module import function
from kernels.problem import Run
from kernels.tropical import fast_cuda
from kernels.tropical.device import Laps, divided, fetch_rows, fill
from kernels.tropical.fast_cuda import LINES_A, LINES_B, Matrix, Multiplier, Packed, columns_per_strip
from kernels.tropical.instances import Instance
from kernels.tropical.operands import checked_square
from kernels.tropical.semiring import infinity, mirrored
from kernels.tropical.validate import check

# As in diagonal.cu: vertices of a diagonal block.
EDGE = 128
THREADS = (32, 32, 1)


class Closing:
    """What both share: c, closed in place, begins as a copy of A with zeros on its diagonal, over (min, +)."""

    def __init__(self, instance: Instance, workspace: int) -> None:
        checked_square(instance.a, instance.semiring)
        self.instance = instance
        self.n, self.dtype = len(instance.a), instance.a.dtype
        self.buffers = Buffers(2 * instance.a.nbytes + workspace, f"the closure of {self.n:,} vertices")
        self.a = self.buffers.upload(mirrored(instance.a, instance.semiring))
        self.c = self.buffers.empty(self.a.shape, self.dtype)
        self.matrix = Matrix.of(self.c)
        self._zero = function("tropical", "diagonal", f"zero_diagonal_{self.dtype.name}", "Pi")
        self._seed = 0

    def run(self, query: int) -> Run:
        self._seed = query
        start = time.perf_counter()
        seconds, counters = self.close_matrix()
        total = time.perf_counter() - start
        return Run(seconds, total, {"tops": 2 * self.instance.pairs / seconds / 1e12, **counters})

    def start(self) -> None:
        import pycuda.driver as driver

        driver.memcpy_dtod(self.c.gpudata, self.a.gpudata, self.a.nbytes)
        self._zero.prepared_call((divided(self.n, 256), 1), (256, 1, 1), self.matrix.pointer, self.n)

    def close_matrix(self) -> tuple[float, dict[str, float]]:
        """Close c; returns seconds and counters."""
        raise NotImplementedError

    def validate(self) -> None:
        check(self.instance, lambda rows: mirrored(fetch_rows(self.c, rows), self.instance.semiring), self._seed)

    def answer(self) -> dict[str, np.ndarray]:
        return {"c": mirrored(self.c.get(), self.instance.semiring)}

    def close(self) -> None:
        self.buffers.free()


class Closure(Closing):
    """C = min(C, C (x) C) until nothing changes; every product packs C anew, which keeps its attributes current."""

    def __init__(self, instance: Instance) -> None:
        n = len(instance.a)
        super().__init__(instance, fast_cuda.forecast(n, n, n, instance.a.dtype))
        self.product = fast_cuda.Product(self.buffers, (n, n, n), self.dtype, mirrored=False)
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


class FloydWarshall(Closing):
    """Blocks of EDGE vertices: close the diagonal block, then its rows and columns, then everything else."""

    def __init__(self, instance: Instance) -> None:
        n, dtype = len(instance.a), instance.a.dtype
        wide = columns_per_strip(dtype)

        def operands(terms: int) -> list[tuple[int, int, int, int]]:
            """What Packed is to hold: the diagonal block and the rows, then the columns and the diagonal block."""
            return [
                (terms, terms, LINES_A, LINES_A),
                (n, terms, wide, LINES_B),
                (n, terms, LINES_A, LINES_A),
                (terms, terms, wide, LINES_B),
            ]

        # The last block may have fewer vertices, and so fewer chunks.
        sizes = {min(EDGE, n), n % EDGE or min(EDGE, n)}
        super().__init__(instance, sum(Packed.nbytes(*x) for terms in sizes for x in operands(terms)))
        self._packed = {terms: [Packed(self.buffers, *x) for x in operands(terms)] for terms in sizes}
        self.report = self.buffers.empty(fast_cuda.REPORT.itemsize // 4, np.uint32)
        self.multiplier = Multiplier(dtype, self.report)
        entry = {"float32": "f", "int32": "i", "uint16": "H"}[dtype.name]
        self._close_diagonal = function("tropical", "diagonal", f"close_diagonal_{dtype.name}", f"Pii{entry}")
        self.memory, self.transfer = self.buffers.nbytes, self.buffers.upload_time

    def close_matrix(self) -> tuple[float, dict[str, float]]:
        laps = Laps(2)
        fill(self.multiplier.report_pointer, np.uint32(0), self.report.size)
        laps.mark()
        self.start()
        for first in range(0, self.n, EDGE):
            self._go_through(first, min(EDGE, self.n - first))
        laps.mark()
        seconds = laps.seconds()[0]
        self.multiplier.check(self.matrix.pointer, self.n, self.matrix, self.matrix)
        return seconds, {}

    def _go_through(self, first: int, count: int) -> None:
        """All paths through the vertices first .. first + count - 1."""
        n, size = self.n, self.dtype.itemsize
        whole = self.matrix.pointer
        corner, row, column = whole + first * (n + 1) * size, whole + first * n * size, whole + first * size
        diagonal = Matrix(corner, count, count, n, 1)
        rows, columns = Matrix(row, count, n, n, 1), Matrix(column, n, count, n, 1)
        diagonal_a, rows_b, columns_a, diagonal_b = self._packed[count]
        multiply = self.multiplier

        self._close_diagonal.prepared_call((1, 1), THREADS, corner, count, n, infinity(self.dtype))
        chunks = rows_b.chunks
        multiply.pack(diagonal_a.operand(diagonal), rows_b.operand(rows), chunks)
        multiply.pack(columns_a.operand(columns), diagonal_b.operand(diagonal), chunks)
        multiply.product(row, diagonal_a, rows_b, count, n, n, 1, accumulate=True)
        multiply.product(column, columns_a, diagonal_b, n, count, n, 1, accumulate=True)
        multiply.pack(columns_a.operand(columns), rows_b.operand(rows), chunks)
        multiply.product(whole, columns_a, rows_b, n, n, n, 1, accumulate=True)
