"""The digest of saitan.blocks for arrays on the device: the host side of digest.cu."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from saitan.cuda import device
from saitan.cuda.module import function

BLOCK = 256
# Enough to fill a device; a thread takes every so many-th entry.
MOST_BLOCKS = 4096


def digest(array: Any, place: int) -> int:
    """The sum of the hashes of an array's entries, as `Digest` of saitan.blocks defines them.

    array: with __cuda_array_interface__, contiguous row by row, entries of 1, 2, 4 or 8 bytes; place: number of its
    first entry. Waits for the device. Raises ValueError for any other array.
    """
    held = array.__cuda_array_interface__
    dtype, shape = np.dtype(held["typestr"]), tuple(held["shape"])
    if dtype.itemsize not in (1, 2, 4, 8):
        raise ValueError(f"a digest takes entries of 1, 2, 4 or 8 bytes, not {dtype}")
    if not _contiguous(shape, held.get("strides"), dtype.itemsize):
        raise ValueError("a digest takes an array that is contiguous row by row")
    count = math.prod(shape)
    if count == 0:
        return 0
    device()
    import pycuda.driver as driver

    summed = driver.mem_alloc(8)
    driver.memset_d32(summed, 0, 2)
    kernel = function("cuda", "digest", f"digest_{dtype.itemsize}", "PQQP")
    blocks = min(-(-count // BLOCK), MOST_BLOCKS)
    kernel.prepared_async_call((blocks, 1), (BLOCK, 1, 1), None, held["data"][0], count, place, summed)
    total = np.empty(1, np.uint64)
    driver.memcpy_dtoh(total, summed)
    return int(total[0])


def _contiguous(shape: tuple[int, ...], strides: tuple[int, ...] | None, itemsize: int) -> bool:
    """Whether an array's entries lie one after the other; strides None says so, and those of one row say nothing."""
    expected = itemsize
    for length, stride in zip(reversed(shape), reversed(strides or ()), strict=False):
        if length > 1 and stride != expected:
            return False
        expected *= length
    return True
