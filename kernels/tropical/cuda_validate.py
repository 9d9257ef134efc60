"""The check of a product on CUDA (validate.cu): every entry, where it lies, against a plain product.

The expected product is computed from the instance's own matrices at the first answer and stays on the device. Where
that does not fit beside the solver's memory, it is computed again for every answer, in slabs of rows. cpu_validate.py
says why right answers are equal.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.constants import constants
from saitan.cuda.module import function
from saitan.problem import Checked, Invalid
from saitan.tropical.cuda_common import divided, fill
from saitan.tropical.instances import Instance
from saitan.tropical.semiring import infinity, mirrored
from saitan.tropical.validate import complaint

SIZES = constants("tropical", "validate.cu")
ROWS, THREADS = SIZES["ROWS"], SIZES["THREADS"]
# Blocks that compare: more than are resident at once.
BLOCKS = 4096


def room() -> int:
    """Bytes of device memory that a check may take."""
    import pycuda.driver as driver

    return driver.mem_get_info()[0] * 9 // 10


class Kernels:
    """The kernels of validate.cu for one number type, on contiguous matrices over (min, +)."""

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype
        self._product = function("tropical", "validate", f"plain_product_{dtype.name}", "PPPiii")
        self._compare = function("tropical", "validate", f"compare_{dtype.name}", "PPPQidd")

    def empty_product(self, buffers: Buffers, m: int, n: int):
        """A matrix [m, n] of infinities."""
        c = buffers.empty((m, n), self.dtype)
        fill(pointer(c), infinity(self.dtype), c.size)
        return c

    def multiply(self, c, a, b) -> None:
        """C = min(C, A (x) B)."""
        (m, k), n = a.shape, b.shape[1]
        if m and k and n:
            grid = divided(m, ROWS), divided(n, THREADS)
            self._product.prepared_call(grid, (THREADS, 1, 1), pointer(c), pointer(a), pointer(b), m, k, n)

    def compare(
        self, found: int, expected: int, count: int, negated: bool = False, below: float = 0.0, above: float = 0.0
    ) -> tuple[int, int]:
        """How many of `count` entries at an address differ from those at another, and the number of the first.

        below, above: as in `outside` of saitan.tropical.validate; negated: the entries found are those of (max, +).
        """
        from pycuda.gpuarray import to_gpu

        report = to_gpu(np.array([0, count], np.uint64))
        grid = min(BLOCKS, divided(count, THREADS)), 1
        arguments = found, expected, int(report.gpudata), count, int(negated), below, above
        if count:
            self._compare.prepared_call(grid, (THREADS, 1, 1), *arguments)
        wrong, first = report.get()
        return int(wrong), int(first)


class Check:
    """Compares answers on the device with the plain product.

    negated: the solver's matrix holds entries of (max, +) as they are, not over (min, +). Raises Unavailable where not
    even a row of the product fits the device's memory.
    """

    by = "a plain product"
    below = above = 0.0

    def __init__(self, instance: Instance, negated: bool = False) -> None:
        self.instance, self.negated = instance, negated
        self.dtype = instance.a.dtype
        self.kernels = Kernels(self.dtype)
        self.buffers: Buffers | None = None
        self.expected = None

    def __call__(self, c) -> Checked:
        """Raise Invalid unless c [m, n], on the device, is right in every entry."""
        m, _, n = self.instance.shape
        if m == 0 or n == 0:
            return Checked("every entry: there is none")
        for first, expected in self.slabs():
            begin = pointer(c) + first * n * self.dtype.itemsize
            wrong, place = self.kernels.compare(
                begin, pointer(expected), expected.size, self.negated, self.below, self.above
            )
            if wrong:
                row, column = divmod(place, n)
                found, right = self._entry(begin, place), self._entry(pointer(expected), place)
                if self.negated:
                    right = mirrored(right, self.instance.semiring)
                raise Invalid(complaint(first + row, column, found[0], right[0], wrong, expected.size))
        return Checked(f"every entry, against {self.by}")

    def slabs(self) -> Iterator[tuple[int, object]]:
        """The expected product over (min, +) as neighbouring rows: the number of the first and a matrix."""
        m, k, n = self.instance.shape
        size = self.dtype.itemsize
        if self.expected is None and (whole := (m * k + k * n + m * n) * size) <= room():
            self.buffers = Buffers(whole, "the check of the product")
            self.expected = self._rows(self.buffers, 0, m, max(1, k))
        if self.expected is not None:
            yield 0, self.expected
            return
        share = room() // (3 * size)
        terms = min(max(1, k), max(1, share // n))
        rows = min(m, max(1, share // max(n, terms)))
        for first in range(0, m, rows):
            count = min(rows, m - first)
            buffers = Buffers((count * (n + terms) + terms * n) * size, f"the check of {count:,} rows")
            try:
                yield first, self._rows(buffers, first, count, terms)
            finally:
                buffers.free()

    def _rows(self, buffers: Buffers, first: int, count: int, terms: int):
        """Rows of the product, `terms` terms of the sum at a time."""
        instance = self.instance
        c = self.kernels.empty_product(buffers, count, instance.shape[2])
        for low in range(0, instance.shape[1], terms):
            parts = instance.a[first : first + count, low : low + terms], instance.b[low : low + terms]
            a, b = (buffers.upload(mirrored(part, instance.semiring)) for part in parts)
            self.kernels.multiply(c, a, b)
            buffers.release(a, b)
        return c

    def _entry(self, begin: int, place: int) -> np.ndarray:
        import pycuda.driver as driver

        entry = np.empty(1, self.dtype)
        driver.memcpy_dtoh(entry, begin + place * self.dtype.itemsize)
        return entry

    def close(self) -> None:
        if self.buffers is not None:
            self.buffers.free()
        self.expected = None
