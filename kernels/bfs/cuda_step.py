"""A level over a block of the adjacency matrix on the GPU: host side of level.cu.

`DeviceStep` only queues kernels, so that whoever drives it may work meanwhile; nothing here waits.
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


def launch(kernel, grid: tuple[int, int], *arguments) -> None:
    """Queue a prepared kernel in blocks of BLOCK threads; device arrays stand for their addresses."""
    given = [pointer(a) if hasattr(a, "gpudata") else a for a in arguments]
    kernel.prepared_async_call(grid, (BLOCK, 1, 1), None, *given)


class Rows:
    """The offsets and ends of a graph's rows on the device."""

    def __init__(self, graph: Graph, buffers: Buffers) -> None:
        self.n, self.m = graph.n, graph.m
        self.dtype = offset_dtype(graph.m)
        self.offsets = buffers.upload(graph.offsets.astype(self.dtype))
        self.ends = buffers.upload(graph.targets)

    @staticmethod
    def forecast(graph: Graph) -> int:
        """Bytes of the two arrays."""
        return (graph.n + 1) * offset_dtype(graph.m).itemsize + 4 * graph.m

    @property
    def suffix(self) -> str:
        """Which instance of a kernel."""
        return self.dtype.str[1:]


class DeviceStep:
    """A block of the matrix on the device, and the kernels of a level over it.

    forward: the tails' rows, heads numbered from 0; backward: the heads' rows of tails, the same object where the block
    is symmetric. first_tail: number of tail 0, which parents are counted from.
    """

    def __init__(self, forward: Graph, backward: Graph, buffers: Buffers, first_tail: int = 0) -> None:
        self.forward = Rows(forward, buffers)
        self.backward = self.forward if backward is forward else Rows(backward, buffers)
        self.first_tail = first_tail
        self.record = buffers.empty(1, RECORD)
        self._large = buffers.empty(words(backward.n), np.uint32)
        self._vertices = buffers.empty(forward.n, np.int32)
        self._arcs = buffers.empty(max(1, forward.m), np.uint64)
        self._grid = (8 * device().get_attribute(driver.device_attribute.MULTIPROCESSOR_COUNT), 1)
        kernels = {
            "list_frontier": "iiPPP",
            f"expand_{self.forward.suffix}": "PPPPP",
            "contract": "PPPPiP",
            f"bottom_up_warp_{self.backward.suffix}": "iiPPPPPPPiP",
            f"bottom_up_thread_{self.backward.suffix}": "iiPPPPPPPiP",
            f"commit_{self.forward.suffix}": "iPPPPiP",
        }
        self._kernels = {name.rpartition("_u")[0] or name: self._function(name, a) for name, a in kernels.items()}
        mark = self._function(f"mark_large_{self.backward.suffix}", "iPP")
        launch(mark, blocks(backward.n), backward.n, self.backward.offsets, self._large)

    @staticmethod
    def _function(name: str, arguments: str):
        return function("bfs", "level", name, arguments)

    @staticmethod
    def forecast(forward: Graph, backward: Graph) -> int:
        """Bytes of the arrays."""
        rows = Rows.forecast(forward) + (0 if backward is forward else Rows.forecast(backward))
        return rows + RECORD.itemsize + 4 * words(backward.n) + 4 * forward.n + 8 * forward.m

    def forget(self) -> None:
        """The record to 0."""
        driver.memset_d32_async(pointer(self.record), 0, RECORD.itemsize // 4)

    def top_down(self, frontier, visited, following, parents, first: int, last: int) -> None:
        """From words [first, last) of the frontier; following: cleared before."""
        rows, kernels, record = self.forward, self._kernels, self.record
        launch(kernels["list_frontier"], blocks(last - first), first, last, frontier, self._vertices, record)
        launch(kernels["expand"], self._grid, rows.offsets, rows.ends, self._vertices, self._arcs, record)
        launch(kernels["contract"], self._grid, self._arcs, visited, following, parents, self.first_tail, record)

    def bottom_up(self, frontier, visited, following, parents, first: int, last: int) -> None:
        """For words [first, last) of the heads, which are written whole."""
        rows = self.backward
        sets = (self._large, frontier, visited, following, parents)
        for name in ("bottom_up_warp", "bottom_up_thread"):
            launch(
                self._kernels[name], blocks(last - first),
                first, last, rows.offsets, rows.ends, *sets, self.first_tail, self.record,
            )  # fmt: skip

    def commit(self, following, visited, levels, level: int) -> None:
        """Mark the heads that a level found, all words."""
        width = words(self.backward.n)
        launch(
            self._kernels["commit"], blocks(width),
            width, following, visited, levels, self.forward.offsets, level, self.record,
        )  # fmt: skip
