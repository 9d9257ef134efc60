"""Fast over GPUs that cannot map one another's memory: what gpus.cu's levels exchange, by NCCL or by MPI and the host.

A GPU has a box for each other one, laid out as that one's memory, into which its kernels write what they would tell it.
Of a level only the bitmap of what was found goes to all; levels and parents go to their owners after the last level.
"""

from __future__ import annotations

import numpy as np
import pycuda.driver as driver

from saitan.bfs.cuda_step import blocks
from saitan.bfs.spread import Spread
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.module import function
from saitan.cuda.nccl import Nccl
from saitan.exchange import Exchange

THREADS = 1024  # as in gpus.cu


class Boxes:
    """Own memory and the boxes, as saitan.cuda.peer_memory.PeerMemory has them; all ranks make it together.

    addresses  of own memory at the place of this rank, of the boxes at those of the others
    own        of own memory
    nbytes     of all of it

    size: bytes of each; answer_at: where in it levels and parents begin. nccl: what moves them, None for the host.
    Raises Unavailable, on all ranks, where one has no memory for them.
    """

    def __init__(self, size: int, answer_at: int, spread: Spread, exchange: Exchange, nccl: Nccl | None) -> None:
        self._size, self._answer_at, self._spread = size, answer_at, spread
        self._exchange, self._nccl = exchange, nccl
        self._set_words, self._entries = spread.positions // 32, spread.gpus * spread.segment
        forecast = spread.gpus * (size + 4 * self._set_words) + 16 * self._entries
        self._buffers = Buffers(forecast, "what the GPUs exchange")
        base = pointer(self._buffers.empty(spread.gpus * size, np.uint8))
        self._gathered = pointer(self._buffers.empty((spread.gpus, self._set_words), np.uint32))
        self._out, self._in = (pointer(self._buffers.empty(self._entries, np.int64)) for _ in range(2))
        self.addresses = [base + size * gpu for gpu in range(spread.gpus)]
        self.own, self.nbytes = self.addresses[exchange.place], self._buffers.nbytes
        self._absorb = function("bfs", "gpus", "absorb", "IIPP")
        self._settle = function("bfs", "gpus", "settle", "IIPP")
        if not nccl:
            self._own_set = driver.pagelocked_empty(self._set_words, np.uint32)
            self._sets = driver.pagelocked_empty((spread.gpus, self._set_words), np.uint32)
            self._answers = driver.pagelocked_empty((2, self._entries), np.int64)

    def clear(self) -> None:
        """Before a search: no vertex has a level, here or in a box."""
        for address in self.addresses:
            driver.memset_d32_async(address + self._answer_at, 0xFFFFFFFF, 2 * self._spread.segment)

    def share(self, found: int) -> None:
        """After a level: what all GPUs found, into this one's bitmap of it at the address `found`."""
        if self._nccl:
            self._nccl.gather(found, self._gathered, self._set_words)
        else:
            driver.memcpy_dtoh(self._own_set, found)
            self._exchange.gather(self._own_set, self._sets)
            driver.memcpy_htod_async(self._gathered, self._sets)
        grid = blocks(self._set_words)
        self._absorb.prepared_async_call(
            grid, (THREADS, 1, 1), None, self._spread.gpus, self._set_words, self._gathered, found
        )

    def deliver(self) -> None:
        """After the last level: levels and parents to the owners of their vertices."""
        segment, gpus = self._spread.segment, self._spread.gpus
        for gpu, address in enumerate(self.addresses):
            driver.memcpy_dtod_async(self._out + 8 * segment * gpu, address + self._answer_at, 8 * segment)
        if self._nccl:
            starts = np.arange(gpus + 1) * 2 * segment
            self._nccl.swap(self._out, starts, self._in, starts)
        else:
            sent, arrived = self._answers
            driver.memcpy_dtoh(sent, self._out)
            each = np.full(gpus, segment)
            self._exchange.swap(sent, each, arrived, each, segment)
            driver.memcpy_htod_async(self._in, arrived)
        answer = self.own + self._answer_at
        self._settle.prepared_async_call(blocks(segment), (THREADS, 1, 1), None, gpus, segment, self._in, answer)

    def free(self) -> None:
        """All ranks together."""
        if self._nccl:
            self._nccl.close()
        self._buffers.free()
