"""Slabs of the device coded where they lie: host side of packing.cu."""

from __future__ import annotations

from typing import Any

import numpy as np
import pycuda.driver as driver

from saitan.apsp.order import Order
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.constants import constants
from saitan.cuda.module import function
from saitan.cuda.timing import Laps

_SIZES = constants("apsp", "packing.cu")
THREADS, KEPT, REST = _SIZES["THREADS"], _SIZES["KEPT"], np.uint32(_SIZES["REST"])
WARPS = THREADS // 32
SLAB = "IIIIPPPP"
NOTHING_WRONG = np.uint64(2**64 - 1)


class DeviceCoder:
    """Codes slabs of the device. seconds: that coding took so far, without copies to the host."""

    def __init__(self, order: Order, width: int) -> None:
        self._n, self._width, self._blocks = len(order.vertices), width, -(-len(order.vertices) // width)
        self._buffers = Buffers(8 * self._n, "the order of a coded matrix")
        self._order = [self._buffers.upload(x) for x in (order.rows, order.columns, order.ends)]
        self._work: list = []
        self._out = self._buffers.empty(0, np.uint32)
        self._host = np.empty(0, np.uint32)
        self._laps, self.seconds = Laps(), 0.0

    def _launch(self, name: str, slab: Any, first: int, grid: tuple[int, int], shared: int, *rest: Any) -> None:
        """rest: arrays, or numbers."""
        kinds = "".join("I" if isinstance(x, int) else "P" for x in rest)
        kernel = function("apsp", "packing", f"{name}_{slab.dtype.itemsize}", SLAB + kinds)
        kernel.set_attribute(driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
        about = self._n, first, self._width, self._blocks, pointer(slab), *map(pointer, self._order)
        rest = tuple(x if isinstance(x, int) else pointer(x) for x in rest)
        kernel.prepared_async_call(grid, (THREADS, 1, 1), None, *about, *rest, shared_size=shared)

    def code(self, slab: Any, first: int) -> tuple[np.ndarray, np.ndarray]:
        """The records of a slab's rows, uint32, and the words of each; the former until the next call."""
        shape, shared = (len(slab), self._blocks), self._width * slab.dtype.itemsize
        if not self._work or self._work[0].shape[0] < len(slab):
            self._buffers.release(*self._work)
            self._work = [self._buffers.empty(shape, np.uint32) for _ in range(4)]
            self._work.append(self._buffers.empty(len(slab), np.uint32))
            self._work += [self._buffers.empty((*shape, KEPT), dtype) for dtype in (np.uint16, slab.dtype)]
        headers, words, at, listed, starts, *kept = self._work
        with self._laps:
            self._launch("measure", slab, first, shape, shared, *kept, headers, words)
        self.seconds += sum(self._laps.seconds())
        counts = np.empty(shape, np.uint32)
        driver.memcpy_dtoh(counts, words.gpudata)
        others = np.flatnonzero(counts & REST).astype(np.uint32)
        counts &= ~REST
        sizes = counts.sum(axis=1, dtype=np.int64) + 2 * self._blocks
        begins = np.cumsum(sizes) - sizes
        within = np.cumsum(counts, axis=1, dtype=np.int64) - counts + 2 * self._blocks
        driver.memcpy_htod(at.gpudata, (begins[:, None] + within).astype(np.uint32))
        driver.memcpy_htod(starts.gpudata, begins.astype(np.uint32))
        if len(others):
            driver.memcpy_htod(listed.gpudata, others)
        self._make_room(int(sizes.sum()))
        what = headers, words, at, starts, self._out
        with self._laps:
            self._launch("write_kept", slab, first, (-(-counts.size // WARPS), 1), 0, len(slab), *kept, *what)
            if len(others):
                self._launch("write_rest", slab, first, (len(others), 1), shared, listed, *what)
        self.seconds += sum(self._laps.seconds())
        coded = self._host[: int(sizes.sum())]
        driver.memcpy_dtoh(coded, self._out.gpudata)
        return coded, sizes

    def _make_room(self, words: int) -> None:
        if words > len(self._host):
            self._buffers.release(self._out)
            self._out = self._buffers.empty(words * 3 // 2, np.uint32)
            self._host = driver.pagelocked_empty(words * 3 // 2, np.uint32)

    def differs(self, slab: Any, first: int) -> tuple[int, int] | None:
        """Row and block of the slab coded last that do not come back as they are; None where all do."""
        wrong = self._buffers.upload(np.array([NOTHING_WRONG]))
        shared = (2 * self._width + 1) * slab.dtype.itemsize
        grid = len(slab), self._blocks
        self._launch("compare", slab, first, grid, shared, self._work[2], self._out, wrong)
        [found] = wrong.get()
        self._buffers.release(wrong)
        return None if found == NOTHING_WRONG else divmod(int(found), self._blocks)

    def free(self) -> None:
        self._buffers.free()
