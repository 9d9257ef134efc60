"""Device memory that the ranks of a host map into one another, so that kernels read and write it (CUDA IPC)."""

from __future__ import annotations

import time

from saitan.cuda import device
from saitan.errors import Unavailable
from saitan.ranks import Ranks

# What shares an allocation of less than this with others is mapped with them.
GRAIN = 1 << 21
# Seconds that a rank waits at the end for others that have its memory mapped; one that failed never comes.
TIMEOUT_S = 2.0


class PeerMemory:
    """An allocation of `size` bytes on every rank, which are of one host; all make it together.

    addresses  of each rank's allocation, in the order of the ranks, as this process sees them
    own        of this rank's

    Raises Unavailable, on all ranks the same, where one cannot allocate or map.
    """

    def __init__(self, size: int, ranks: Ranks) -> None:
        device()
        self._ranks, self._mapped, self._memory = ranks, {}, None
        self.nbytes = -(-size // GRAIN) * GRAIN
        try:
            handles = ranks.each(ranks.together_do(self._allocated))
            ranks.together_do(lambda: self._map(handles))
        except Unavailable:
            self.free()
            raise
        self.own = int(self._memory)
        self.addresses = [self.own if r == ranks.rank else int(self._mapped[r]) for r in range(ranks.size)]

    def _allocated(self) -> bytes | None:
        """Allocates; returns what other processes map it by."""
        import pycuda.driver as driver

        try:
            self._memory = driver.mem_alloc(self.nbytes)
            return bytes(driver.mem_get_ipc_handle(int(self._memory))) if self._ranks.size > 1 else None
        except driver.Error as error:
            raise Unavailable(f"{self.nbytes / 2**30:.2f} GiB of GPU memory cannot be shared: {error}") from None

    def _map(self, handles: list[bytes | None]) -> None:
        import pycuda.driver as driver

        flags = driver.ipc_mem_flags.LAZY_ENABLE_PEER_ACCESS
        try:
            for rank, handle in enumerate(handles):
                if rank != self._ranks.rank and handle is not None:
                    self._mapped[rank] = driver.IPCMemoryHandle(bytearray(handle), flags)
        except driver.Error as error:
            raise Unavailable(f"the memory of another rank's GPU cannot be mapped: {error}") from None

    def free(self) -> None:
        """Unmap, and free when the others are here too or do not come."""
        for mapped in self._mapped.values():
            mapped.close()
        self._mapped = {}
        if self._ranks.size > 1:
            others, deadline = self._ranks.world.Ibarrier(), time.perf_counter() + TIMEOUT_S
            while not others.Test() and time.perf_counter() < deadline:
                time.sleep(0.001)
        if self._memory is not None:
            self._memory.free()
            self._memory = None
