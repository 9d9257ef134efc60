"""A level over a block of the adjacency matrix on the GPU: host side of level.cu.

`DeviceStep` only queues kernels and never waits, so that the host can work meanwhile.
"""

from __future__ import annotations

import numpy as np
import pycuda.driver as driver

from saitan.cuda import device
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.module import function
from saitan.graph import Graph

BLOCK = 256
# From so many arcs on, offsets have 64 bits.
WIDE_ARCS = 2**31
RECORD = np.dtype([(name, np.uint64) for name in ("arcs", "listed", "found", "leaving", "inspected")])


def offset_dtype(arcs: int) -> np.dtype:
    """Type of the offsets into so many arcs."""
    return np.dtype(np.uint32 if arcs < WIDE_ARCS else np.uint64)


def words(vertices: int) -> int:
    """Words of a bitmap."""
    return -(-vertices // 32)


def blocks(threads: int) -> tuple[int, int]:
    """The grid of BLOCK-thread blocks with at least one thread each."""
    return max(1, -(-threads // BLOCK)), 1


def launch(kernel, grid: tuple[int, int], *arguments, stream=None) -> None:
    """Queue a prepared kernel in blocks of BLOCK threads; device arrays stand for their addresses."""
    given = [pointer(a) if hasattr(a, "gpudata") else a for a in arguments]
    kernel.prepared_async_call(grid, (BLOCK, 1, 1), stream, *given)


class Rows:
    """Rows on the device: offsets [n + 1] of 32 or 64 bits, ends int32 [m]."""

    def __init__(self, n: int, offsets, ends) -> None:
        self.n, self.m = n, ends.size
        self.offsets, self.ends = offsets, ends

    @classmethod
    def upload(cls, graph: Graph, buffers: Buffers) -> Rows:
        """A graph's."""
        return cls(graph.n, buffers.upload(graph.offsets.astype(offset_dtype(graph.m))), buffers.upload(graph.targets))

    @staticmethod
    def bytes_of(n: int, m: int) -> int:
        """Bytes of the two arrays."""
        return (n + 1) * offset_dtype(m).itemsize + 4 * m

    @classmethod
    def forecast(cls, graph: Graph) -> int:
        """Bytes of a graph's."""
        return cls.bytes_of(graph.n, graph.m)

    @property
    def wide(self) -> bool:
        """Whether offsets have 64 bits."""
        return self.offsets.dtype.itemsize == 8

    @property
    def suffix(self) -> str:
        """Which instance of a kernel."""
        return self.offsets.dtype.str[1:]


class DeviceStep:
    """A block of the matrix on the device, and the kernels of a level over it.

    forward: the tails' rows, heads numbered from 0; backward: the heads' rows of tails, the same object where the block
    is symmetric; both on the host or both on the device. first_tail: number of tail 0, which parents are counted from.
    stream: on which all is queued, the default one for None. of_many: whether it is one of several blocks, in which
    many heads have no tail: these are not looked for.
    """

    def __init__(
        self,
        forward: Graph | Rows,
        backward: Graph | Rows,
        buffers: Buffers,
        first_tail: int = 0,
        stream=None,
        of_many: bool = False,
    ) -> None:
        if isinstance(forward, Graph):
            uploaded = Rows.upload(forward, buffers)
            forward, backward = uploaded, uploaded if backward is forward else Rows.upload(backward, buffers)
        self.forward, self.backward = forward, backward
        self.first_tail, self._stream = first_tail, stream
        self.record = buffers.empty(1, RECORD)
        self._width = words(backward.n)
        self._grid = (8 * device().get_attribute(driver.device_attribute.MULTIPROCESSOR_COUNT), 1)
        # Addresses and calls are bound beforehand: what the host does between two kernels is part of every level.
        self._record_at = pointer(self.record)
        self._large_at = pointer(buffers.empty(self._width, np.uint32))
        left_out = pointer(buffers.empty(self._width, np.uint32)) if of_many else 0
        self._left_out_at = left_out or self._large_at
        self._vertices_at = pointer(buffers.empty(forward.n, np.int32))
        self._arcs_at = pointer(buffers.empty(max(1, forward.m), np.uint64))
        self._out, self._in = ((pointer(r.offsets), pointer(r.ends)) for r in (self.forward, self.backward))
        out, into = self.forward.suffix, self.backward.suffix
        self._list = self._call("list_frontier", "iiPPP")
        self._expand = self._call(f"expand_{out}", "PPPPP")
        self._contract = self._call("contract", "PPPPiP")
        self._by_warp = self._call(f"bottom_up_warp_{into}", "iiPPPPPPPiP")
        self._by_thread = self._call(f"bottom_up_thread_{into}", "iiPPPPPPPiP")
        self._commit = self._call(f"commit_{out}", "iPPPPiP")
        marks = (self._in[0], self._large_at, left_out)
        self._call(f"mark_large_{into}", "iPPP")(blocks(backward.n), backward.n, *marks)

    def _call(self, name: str, arguments: str):
        """Queues a kernel of level.cu: grid, then its arguments."""
        call, stream = function("bfs", "level", name, arguments).prepared_async_call, self._stream
        return lambda grid, *given: call(grid, (BLOCK, 1, 1), stream, *given)

    @staticmethod
    def forecast(forward: Graph, backward: Graph) -> int:
        """Bytes of the arrays."""
        rows = Rows.forecast(forward) + (0 if backward is forward else Rows.forecast(backward))
        return rows + DeviceStep.scratch(forward.n, backward.n, forward.m)

    @staticmethod
    def scratch(tails: int, heads: int, arcs: int) -> int:
        """Bytes of the arrays without the rows."""
        return RECORD.itemsize + 4 * words(heads) + 4 * tails + 8 * arcs

    def forget(self) -> None:
        """The record to 0."""
        driver.memset_d32_async(self._record_at, 0, RECORD.itemsize // 4, self._stream)

    def top_down(self, frontier: int, visited: int, following: int, parents: int, first: int, last: int) -> None:
        """From words [first, last) of the frontier; following: cleared before. All sets by their addresses."""
        vertices, arcs, record = self._vertices_at, self._arcs_at, self._record_at
        self._list(blocks(last - first), first, last, frontier, vertices, record)
        self._expand(self._grid, *self._out, vertices, arcs, record)
        self._contract(self._grid, arcs, visited, following, parents, self.first_tail, record)

    def bottom_up(self, frontier: int, visited: int, following: int, parents: int, first: int, last: int) -> None:
        """For words [first, last) of the heads, which are written whole."""
        sets = (frontier, visited, following, parents)
        for kernel, which in ((self._by_warp, self._large_at), (self._by_thread, self._left_out_at)):
            kernel(blocks(last - first), first, last, *self._in, which, *sets, self.first_tail, self._record_at)

    def commit(self, following: int, visited: int, levels: int, level: int) -> None:
        """Mark the heads that a level found, all words."""
        self._commit(blocks(self._width), self._width, following, visited, levels, self._out[0], level, self._record_at)
