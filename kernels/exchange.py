"""Collectives of NumPy arrays over MPI: long messages are split, bytes and seconds are counted.

`Exchange` is over one mpi4py communicator, or alone (None), where nothing is sent. The members' calls must agree in
order and in `most`, from which each of them tells into how many messages an exchange is split.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

# The most bytes of a message to all members together: MPI counts with 32 bits.
LIMIT = 1 << 30


@dataclass
class Spent:
    """What communication took: seconds in which data moved, seconds of waiting for others, bytes sent to others."""

    moving: float = 0.0
    waiting: float = 0.0
    sent: int = 0

    @contextmanager
    def clocked(self, what: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        setattr(self, what, getattr(self, what) + time.perf_counter() - begin)


class Exchange:
    """The members of a communicator; place: this one's number among them."""

    def __init__(self, comm: Any, spent: Spent, limit: int = LIMIT) -> None:
        self.comm, self.spent, self.limit = comm, spent, limit
        self.size, self.place = (1, 0) if comm is None else (comm.size, comm.rank)

    def wait(self) -> None:
        """Until all members are here."""
        if self.size > 1:
            with self.spent.clocked("waiting"):
                self.comm.Barrier()

    def gather(self, own: np.ndarray, gathered: np.ndarray) -> None:
        """Every member's `own` [k], to all: gathered [size, k], of the same type."""
        if self.size == 1:
            gathered[0] = own
            return
        with self.spent.clocked("moving"):
            step = max(1, self.limit // (own.itemsize * self.size))
            if len(own) <= step:
                self.comm.Allgather(own, gathered)
            else:
                for low in range(0, len(own), step):
                    part = np.ascontiguousarray(own[low : low + step])
                    parts = np.empty((self.size, len(part)), own.dtype)
                    self.comm.Allgather(part, parts)
                    gathered[:, low : low + step] = parts
        self.spent.sent += own.nbytes * (self.size - 1)

    def gather_unequal(self, own: np.ndarray) -> list[np.ndarray]:
        """Every member's array, of one type and any length, to all, in their order."""
        if self.size == 1:
            return [own]
        with self.spent.clocked("moving"):
            sizes = np.array(self.comm.allgather(len(own)), np.int64)
            arrived = [np.empty(size, own.dtype) for size in sizes]
            step = max(1, self.limit // (own.itemsize * self.size))
            for low in range(0, int(sizes.max()), step):
                counts = np.clip(sizes - low, 0, step)
                parts, starts = np.empty(int(counts.sum()), own.dtype), _before(counts)
                self.comm.Allgatherv(own[low : low + step], [parts, (counts, starts)])
                for array, start, count in zip(arrived, starts, counts, strict=True):
                    array[low : low + count] = parts[start : start + count]
        self.spent.sent += (own.nbytes + 8) * (self.size - 1)
        return arrived

    def swap(self, own: np.ndarray, counts: np.ndarray, arrived: np.ndarray, sizes: np.ndarray, most: int) -> None:
        """counts[d] entries of `own` to every member d, in their order; arrived: sizes[s] entries of every member s.

        most: what no count exceeds at any member.
        """
        starts, places = _before(counts), _before(sizes)
        if self.size == 1:
            arrived[:] = own
            return
        step = max(1, self.limit // (own.itemsize * self.size))
        with self.spent.clocked("moving"):
            if most <= step:
                self._swap(own, counts, starts, arrived, sizes, places)
            else:
                for low in range(0, most, step):
                    outs, ins = (np.clip(n - low, 0, step) for n in (counts, sizes))
                    part = _pieces(own, starts + low, outs)
                    parts = np.empty(int(ins.sum()), own.dtype)
                    self._swap(part, outs, _before(outs), parts, ins, _before(ins))
                    for source, begin in enumerate(_before(ins)):
                        to = places[source] + low
                        arrived[to : to + ins[source]] = parts[begin : begin + ins[source]]
        self.spent.sent += own.itemsize * int(counts.sum() - counts[self.place])

    def _swap(self, own, counts, starts, arrived, sizes, places) -> None:
        from mpi4py.util.dtlib import from_numpy_dtype

        kind = from_numpy_dtype(own.dtype)
        self.comm.Alltoallv([own, (counts, starts), kind], [arrived, (sizes, places), kind])

    def total(self, values: np.ndarray) -> np.ndarray:
        """The members' arrays added up, on all of them."""
        return self._reduced(values, "SUM")

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Entry by entry the largest of the members' arrays, on all of them."""
        return self._reduced(values, "MAX")

    def _reduced(self, values: np.ndarray, operation: str) -> np.ndarray:
        if self.size == 1:
            return values
        from mpi4py import MPI

        result = np.empty_like(values)
        step = max(1, self.limit // values.itemsize)
        with self.spent.clocked("moving"):
            for low in range(0, len(values), step):
                part = slice(low, low + step)
                self.comm.Allreduce(values[part], result[part], getattr(MPI, operation))
        return result

    def spread(self, values: np.ndarray, owner: int) -> None:
        """The owner's array into every member's."""
        if self.size > 1:
            step = max(1, self.limit // values.itemsize)
            for low in range(0, len(values), step):
                self.comm.Bcast(values[low : low + step], owner)


def _before(counts: np.ndarray) -> np.ndarray:
    """Where each member's entries begin."""
    return np.cumsum(counts) - counts


def _pieces(array: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.concatenate([array[start : start + count] for start, count in zip(starts, counts, strict=True)])
