"""Arrays of ranks' devices moved by NCCL (nccl4py), where one device cannot map another's memory.

Needs a device a rank, and nothing else: no memory that is shared, no host. Everything is queued on the default stream.
"""

from __future__ import annotations

import os
import platform
from typing import Any

import numpy as np

from saitan.cuda import device
from saitan.errors import Unavailable
from saitan.ranks import Ranks


def require(ranks: Ranks) -> None:
    """Raises Unavailable, on all ranks, where one lacks nccl4py, or shares its device with another."""
    ranks.together_do(_load)
    # Every process may call its device the first one: the bus tells them apart.
    if len(set(ranks.each((platform.node(), device().pci_bus_id())))) < ranks.size:
        raise Unavailable("NCCL needs a GPU for every rank, and ranks share one here")


def _load() -> None:
    # Multicast over NVLink fails in containers that see a part of a host's GPUs.
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    try:
        from nccl.bindings import nccl

        nccl.get_version()
    except (ImportError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise Unavailable(f"NCCL cannot be used (pip install -e '.[nccl]'): {reason}") from None


class Nccl:
    """Collectives between the members of an mpi4py communicator, which make it together after `require`.

    Arrays are addresses on the device, of entries of 4 bytes.
    """

    def __init__(self, comm: Any) -> None:
        from nccl.bindings import nccl

        self._nccl, self._type = nccl, int(nccl.DataType.Int32)
        self._members = range(comm.size)
        name = comm.bcast(bytes(nccl.get_unique_id()) if comm.rank == 0 else None)
        self._comm = nccl.comm_init_rank_scalable(comm.size, comm.rank, 1, bytearray(name), 0)

    def gather(self, own: int, gathered: int, count: int) -> None:
        """Queue `count` entries of every member to all: gathered [members, count]."""
        self._nccl.all_gather(own, gathered, count, self._type, self._comm, 0)

    def swap(self, own: int, starts: np.ndarray, arrived: int, places: np.ndarray) -> None:
        """Queue entries starts[d] .. starts[d + 1] to every member d; those of member s arrive at places[s]."""
        self._nccl.group_start()
        for other in self._members:
            for move, array, bounds in ((self._nccl.send, own, starts), (self._nccl.recv, arrived, places)):
                first, count = int(bounds[other]), int(bounds[other + 1] - bounds[other])
                if count:
                    move(array + 4 * first, count, self._type, other, self._comm, 0)
        self._nccl.group_end()

    def close(self) -> None:
        """All members together."""
        self._nccl.comm_destroy(self._comm)
