"""Blocks of the device to a sink of the host through a ring of page-locked buffers."""

from __future__ import annotations

import queue
import threading
from collections import deque

import numpy as np

from saitan.blocks import Block, Sink
from saitan.cuda import device

# Bytes of a buffer, where a row is no longer, and how many there are at most. Together they fit a server's last cache,
# so that what the host reads has not gone to memory and back; page-locking takes 0.8 s a GB.
BUFFER, BUFFERS = 1 << 24, 4


class HostRing:
    """A sink for blocks of the device. They reach another sink, in order, as NumPy arrays of some rows each.

        with HostRing(sink) as ring:
            solver.run(query, ring)

    A call returns once the last of a block's rows is on the host. The other sink is called in a thread of its own,
    while later rows are copied; it must not keep an array. What it raises is raised here, at the next call or at the
    end.
    """

    def __init__(self, sink: Sink) -> None:
        import pycuda.driver as driver

        device()
        self._sink, self._driver, self._stream = sink, driver, driver.Stream()
        self._buffers: list[np.ndarray] = []
        self._free: queue.Queue = queue.Queue()
        self._filled: queue.Queue = queue.Queue()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._consume, daemon=True)
        self._thread.start()

    def __enter__(self) -> HostRing:
        return self

    def __exit__(self, *error: object) -> None:
        self._filled.put(None)
        self._thread.join()
        # Page-locked memory is freed in the thread that made it.
        self._buffers.clear()
        while not self._free.empty():
            self._free.get()
        if error[0] is None and self._error is not None:
            raise self._error

    def __call__(self, block: Block) -> None:
        array = block.array
        row = array.nbytes // max(1, len(array))
        size = self._size(row)
        rows = max(1, size // max(1, row))
        under_way: deque = deque()
        for low in range(0, len(array), rows):
            count = min(rows, len(array) - low)
            buffer = self._take(size)
            if self._error is not None:
                raise self._error
            part = buffer[: count * row].view(array.dtype).reshape(count, *array.shape[1:])
            self._driver.memcpy_dtoh_async(part, int(array.gpudata) + low * row, self._stream)
            copied = self._driver.Event()
            copied.record(self._stream)
            under_way.append((copied, buffer, Block(block.name, block.first + low, part)))
            if len(under_way) > 1:
                self._hand_on(under_way.popleft())
        while under_way:
            self._hand_on(under_way.popleft())

    def _size(self, row: int) -> int:
        """Bytes of a buffer that holds a row. Shorter ones are given up when all of them are free."""
        if self._buffers and len(self._buffers[0]) < row:
            for _ in self._buffers:
                self._free.get()
            self._buffers.clear()
        return len(self._buffers[0]) if self._buffers else max(row, BUFFER)

    def _take(self, size: int) -> np.ndarray:
        """A free buffer: a new one as long as there are few."""
        if self._free.empty() and len(self._buffers) < BUFFERS:
            self._buffers.append(self._driver.pagelocked_empty(size, np.uint8))
            return self._buffers[-1]
        return self._free.get()

    def _hand_on(self, copy: tuple) -> None:
        copied, buffer, block = copy
        copied.synchronize()
        self._filled.put((buffer, block))

    def _consume(self) -> None:
        while (item := self._filled.get()) is not None:
            buffer, block = item
            if self._error is None:
                try:
                    self._sink(block)
                except BaseException as error:
                    self._error = error
            self._free.put(buffer)
