"""The processes that answer one query together, joined by MPI (mpi4py); alone where none was joined.

A program that was started on several ranks calls `join` once. Everything else asks `current`, and every rank makes the
same calls in the same order: `agree`, `slowest`, `each`, `on_this_host` and `together_do` wait for all.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from saitan.errors import Unavailable

T = TypeVar("T")

# Seconds within which all ranks come to the same reason: what they do before is alike.
PATIENCE = 20.0


@dataclass(frozen=True)
class Ranks:
    """This process among those that work together.

    rank, size  its number and how many there are; rank 0 decides, draws, and writes
    local       its number among those of the same host, which chooses its device
    together    how many there are on the same host
    world, host mpi4py's communicators of all, and of those of the same host; None for a process alone
    aside       another one of all, for those that left what they do together
    """

    rank: int = 0
    size: int = 1
    local: int = 0
    together: int = 1
    world: Any = None
    host: Any = None
    aside: Any = None

    @property
    def leads(self) -> bool:
        """Whether this process decides for all and writes."""
        return self.rank == 0

    def agree(self, value: T) -> T:
        """The leading rank's value, on every rank."""
        return value if self.world is None else self.world.bcast(value)

    def slowest(self, seconds: float) -> float:
        """The largest of all ranks' values, on every rank."""
        return max(self.each(seconds))

    def each(self, value: T) -> list[T]:
        """All ranks' values in their order, on every rank."""
        return [value] if self.world is None else self.world.allgather(value)

    def on_this_host(self, value: float) -> float:
        """The sum of the values of the ranks of this host, on each of them."""
        return value if self.host is None else self.host.allreduce(value)

    def together_do(self, make: Callable[[], T]) -> T:
        """What `make` returns on this rank. Raises Unavailable on all where it does so on one, which is named."""
        made, failed = None, None
        try:
            made = make()
        except Unavailable as error:
            failed = f"{self}: {error}" if self.size > 1 else str(error)
        if first := next(filter(None, self.each(failed)), None):
            raise Unavailable(first)
        return cast(T, made)

    def all_leave(self) -> bool:
        """Whether every rank calls this within PATIENCE; those that do not may wait elsewhere for this one."""
        if self.aside is None:
            return self.size == 1
        others, end = self.aside.Ibarrier(), time.monotonic() + PATIENCE
        while not others.Test():
            if time.monotonic() > end:
                return False
            time.sleep(0.001)
        return True

    @property
    def library(self) -> str:
        """The MPI library that joins them; "" for a process alone."""
        if self.world is None:
            return ""
        from mpi4py import MPI

        return MPI.Get_library_version().split(",")[0].strip()

    def among(self, members: list[int]) -> Any:
        """A communicator of some ranks, in ascending order, which call this together; None for a process alone."""
        if self.world is None:
            return None
        group = self.world.Get_group().Incl(members)
        try:
            return self.world.Create_group(group)
        finally:
            group.Free()

    def tickets(self, count: int) -> Iterator[int]:
        """0 .. count - 1, each to the rank that asks next: a counter in the leading rank's memory (MPI one-sided).

        Every rank must take its tickets to the end.
        """
        if self.world is None:
            yield from range(count)
            return
        from mpi4py import MPI

        counter = MPI.Win.Allocate(8 if self.leads else 0, 8, comm=self.world)
        one, found = np.ones(1, np.int64), np.empty(1, np.int64)
        if self.leads:
            np.frombuffer(counter, np.int64)[0] = 0
        self.world.Barrier()
        try:
            while True:
                counter.Lock(0, MPI.LOCK_SHARED)
                counter.Fetch_and_op(one, found, 0, op=MPI.SUM)
                counter.Unlock(0)
                if found[0] >= count:
                    break
                yield int(found[0])
        finally:
            counter.Free()

    def abort(self) -> None:
        """End all ranks at once, with status 1; nothing for a process alone."""
        if self.world is not None:
            self.world.Abort(1)

    def __str__(self) -> str:
        return f"rank {self.rank} of {self.size} on {platform.node()}"


_joined: Ranks | None = None


def join(size: int) -> Ranks:
    """Join the processes that an MPI launcher started; `current` returns them from now on.

    Raises Unavailable where mpi4py or its MPI library is missing, or where they are not `size` processes.
    """
    global _joined
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise Unavailable(f"mpi4py cannot be used (pip install -e '.[mpi]', and an MPI library): {reason}") from None
    world = MPI.COMM_WORLD
    if world.size != size:
        raise Unavailable(
            f"the launcher joined {world.size} processes, not {size}: mpi4py loads"
            f" {Ranks(world=world).library}, and the launcher must be of the same MPI"
        )
    host = world.Split_type(MPI.COMM_TYPE_SHARED)
    _joined = Ranks(world.rank, size, host.rank, host.size, world, host, world.Dup())
    return _joined


def current() -> Ranks:
    """The ranks that were joined, otherwise this process alone, for which SAITAN_LOCAL_RANK chooses its device."""
    return _joined or Ranks(local=int(os.environ.get("SAITAN_LOCAL_RANK", "0")))
