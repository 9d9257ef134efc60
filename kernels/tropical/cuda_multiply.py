"""`tropical.matmul` on the device: arrays by __cuda_array_interface__, read where they lie through their strides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saitan.cuda import device
from saitan.cuda.buffers import Buffers, allocated
from saitan.tropical import cuda_fast
from saitan.tropical.cuda_common import fill
from saitan.tropical.cuda_packed import Matrix
from saitan.tropical.operands import check_out, result_shape
from saitan.tropical.semiring import infinity


class Array(NamedTuple):
    """A device array of any library; strides in bytes."""

    pointer: int
    shape: tuple[int, ...]
    dtype: np.dtype
    strides: tuple[int, ...]
    # Whose memory it is: a temporary would be freed, and its memory given to the result.
    owner: object

    @classmethod
    def of(cls, array) -> Array:
        """Waits for the stream its library names, if it names another than the default."""
        about = array.__cuda_array_interface__
        if about.get("stream") not in (None, 1):
            import pycuda.driver as driver

            driver.Context.synchronize()
        shape, dtype = tuple(about["shape"]), np.dtype(about["typestr"])
        if not dtype.isnative:
            raise ValueError(f"a device array of type {about['typestr']} is not in the machine's byte order")
        strides = about.get("strides")
        if strides is None:
            strides = tuple(int(np.prod(shape[axis + 1 :])) * dtype.itemsize for axis in range(len(shape)))
        return cls(int(about["data"][0] or 0), shape, dtype, tuple(strides), array)

    def extent(self) -> tuple[int, int]:
        """First byte and the one after the last."""
        if 0 in self.shape:
            return self.pointer, self.pointer
        reach = [(n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True)]
        low = sum(x for x in reach if x < 0)
        return self.pointer + low, self.pointer + sum(x for x in reach if x > 0) + self.dtype.itemsize

    def overlaps(self, other: Array) -> bool:
        (low, high), (first, last) = self.extent(), other.extent()
        return low < last and first < high

    def matrix(self, index: tuple[int, ...], batch: tuple[int, ...]) -> Matrix:
        """The matrix at an index of the broadcast leading dimensions. Raises ValueError for bytes between entries."""
        size = self.dtype.itemsize
        if any(stride % size for stride in self.strides[-2:]):
            raise ValueError(f"strides of {self.strides} bytes are no multiples of the {size} bytes of an entry")
        own = index[len(batch) - len(self.shape) + 2 :]
        offset = sum(i * stride for i, n, stride in zip(own, self.shape[:-2], self.strides[:-2], strict=True) if n > 1)
        return Matrix(self.pointer + offset, *self.shape[-2:], *(stride // size for stride in self.strides[-2:]))


def _named(a, b) -> str:
    """A product in messages, by the shapes of its operands."""
    return f"a {a.shape[-2]:,} x {a.shape[-1]:,} x {b.shape[-1]:,} product"


def multiply_on_device(a, b, semiring: str, out, accumulate: bool):
    """See saitan.tropical.matmul."""
    device()
    a, b = Array.of(a), Array.of(b)
    infinite = infinity(a.dtype, semiring)
    shape = result_shape(a, b)
    result = allocated(shape, a.dtype, _named(a, b)) if out is None else out
    c = Array.of(result)
    check_out(c, shape, a.dtype)
    if c.overlaps(a) or c.overlaps(b):
        raise ValueError("out shares memory with an operand: give it memory of its own")
    m, n = shape[-2:]
    size = a.dtype.itemsize
    if 0 in shape:
        return result
    if (n > 1 and c.strides[-1] != size) or c.strides[-2] % size or c.strides[-2] < n * size:
        raise ValueError(f"rows of out must be contiguous, its strides are {c.strides} bytes")
    batch, k, pitch = shape[:-2], a.shape[-1], c.strides[-2] // size
    if k == 0:
        if not accumulate:
            for index in np.ndindex(batch):
                matrix = c.matrix(index, batch)
                for row in range(m):
                    fill(matrix.pointer + row * c.strides[-2], infinite, n)
        return result
    buffers = Buffers(cuda_fast.forecast(m, k, n, a.dtype), _named(a, b))
    try:
        how = {"accumulate": True} if accumulate else {}
        kind = cuda_fast.Product if accumulate else cuda_fast.make_product
        product = kind(buffers, (m, k, n), a.dtype, semiring == "max_plus")
        if accumulate:
            product.examine_out(c.matrix(index, batch) for index in np.ndindex(batch))
        for index in np.ndindex(batch):
            product.run(c.matrix(index, batch).pointer, pitch, a.matrix(index, batch), b.matrix(index, batch), **how)
    finally:
        buffers.free()
    return result


def multiply_from_host(a: np.ndarray, b: np.ndarray, semiring: str) -> np.ndarray:
    """A (x) B of two contiguous NumPy matrices by way of the device. Raises Unavailable where there is none."""
    device()
    (m, k), n = a.shape, b.shape[1]
    if 0 in (m, k, n):
        return np.full((m, n), infinity(a.dtype, semiring), a.dtype)
    forecast = (m * k + k * n + m * n) * a.dtype.itemsize + cuda_fast.forecast(m, k, n, a.dtype)
    operands = Buffers(forecast, _named(a, b))
    try:
        return multiply_on_device(operands.upload(a), operands.upload(b), semiring, None, False).get()
    finally:
        operands.free()
