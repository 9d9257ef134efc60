"""Device arrays of one solver, with a forecast of their bytes before the first upload, and freed together."""

from __future__ import annotations

import time

import numpy as np

from saitan.cuda import device
from saitan.errors import Unavailable

GIB = 2**30


def pointer(array) -> int:
    """The device address of a GPUArray; 0 for an empty one, which PyCUDA does not allocate."""
    return 0 if array.gpudata is None else int(array.gpudata)


def allocated(shape: int | tuple[int, ...], dtype: np.typing.DTypeLike, what: str):
    """An uninitialised pycuda GPUArray. Raises Unavailable, saying what asks for it, where there is no room for it."""
    import pycuda.driver as driver
    from pycuda.gpuarray import GPUArray

    try:
        return GPUArray(shape, np.dtype(dtype))
    except driver.MemoryError:
        asked = np.prod(shape, dtype=np.int64) * np.dtype(dtype).itemsize / GIB
        raise Unavailable(f"{what} needs {asked:.2f} GiB more of GPU memory than is free") from None


class Buffers:
    """The device arrays of one solver.

    forecast: bytes that will be asked for in all; what: names the owner in the message.
    Raises Unavailable, before any upload, when the forecast does not fit what is free.

    nbytes      bytes allocated so far
    upload_time seconds spent copying to the device
    """

    def __init__(self, forecast: int, what: str) -> None:
        device()
        import pycuda.driver as driver

        free, total = driver.mem_get_info()
        if forecast > free:
            raise Unavailable(
                f"{what} needs {forecast / GIB:.2f} GiB of GPU memory, "
                f"{free / GIB:.2f} GiB of {total / GIB:.2f} GiB are free"
            )
        self._what = what
        self.nbytes = 0
        self.upload_time = 0.0
        self._arrays: list = []

    def empty(self, shape: int | tuple[int, ...], dtype: np.typing.DTypeLike):
        """As `allocated`, freed with the others."""
        array = allocated(shape, dtype, self._what)
        self._arrays.append(array)
        self.nbytes += array.nbytes
        return array

    def upload(self, host: np.ndarray):
        """A GPUArray with the contents of a host array."""
        array = self.empty(host.shape, host.dtype)
        start = time.perf_counter()
        array.set(np.ascontiguousarray(host))
        self.upload_time += time.perf_counter() - start
        return array

    def release(self, *arrays) -> None:
        """Free the memory of some arrays, which must not be used afterwards."""
        for array in arrays:
            self._arrays = [kept for kept in self._arrays if kept is not array]
            self.nbytes -= array.nbytes
            if array.gpudata is not None:
                array.gpudata.free()
                array.gpudata = None

    def free(self) -> None:
        """Free all memory."""
        self.release(*self._arrays)
