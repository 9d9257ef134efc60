"""validate.py's certificate where a device's matrix lies: host side of validate.cu."""

from __future__ import annotations

from typing import Any

import numpy as np
import pycuda.driver as driver

from saitan.apsp.validate import Certificate, tree_message
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.module import function
from saitan.graph import Graph
from saitan.problem import Invalid
from saitan.sssp.cuda_graph import DeviceGraph

BLOCK = 256
# Incoming arcs a vertex from which a warp shares an entry.
WARP_FROM = 16
# Bytes of the marks that condition (3) may need at a time, one an entry.
MARKS = 1 << 28
# Rows of a grid; it strides over the others.
MOST_ROWS = 65535
# The record that validate.cu calls found.
WRONG, HANGING, CHANGED = range(3)
NONE = np.iinfo(np.uint64).max


class DeviceCertificate(Certificate):
    """The certificate of one graph; its arrays on the device are uploaded when it is first asked."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self._buffers: Buffers | None = None

    def check(self, first: int, distances: Any) -> None:
        """Of rows on the host, or on the device one after the other (with __cuda_array_interface__), where they lie."""
        if isinstance(distances, np.ndarray):
            super().check(first, distances)
            return
        if (entries := distances.shape[1]) != self.graph.n:
            raise Invalid(f"a row has {entries:,} entries, not {self.graph.n:,}")
        self.check_device(first, distances.__cuda_array_interface__["data"][0], len(distances), distances.dtype)

    def _upload(self) -> None:
        graph = self.graph
        self._slab = max(1, MARKS // graph.n)
        self._buffers = Buffers(DeviceGraph.forecast(graph) + 24, f"the certificate of graph {graph.name}")
        self._turned = DeviceGraph(self.turned, self._buffers)
        self._found = self._buffers.empty(3, np.uint64)

    def _launch(self, name: str, arguments: str, lanes: int, rows: int, *rest: int) -> None:
        n = self.graph.n
        kernel = function("apsp", "validate", name, arguments)
        grid = max(1, -(-n * lanes // BLOCK)), min(rows, MOST_ROWS)
        kernel.prepared_async_call(grid, (BLOCK, 1, 1), None, n, rows, *rest)

    def _reset(self) -> None:
        self._found.set(np.array([NONE, 0, 0], np.uint64))

    def check_device(self, first: int, matrix: int, rows: int, dtype: np.dtype) -> None:
        """Whether rows of a matrix [rows, n] at a device address are the distances from first, first + 1, ...

        Raises Invalid naming an entry.
        """
        if self._buffers is None:
            self._upload()
        suffix, arcs = self._turned.suffix(dtype), self._turned.arcs()
        lanes = 32 if self.graph.m >= WARP_FROM * self.graph.n else 1
        self._reset()
        found = pointer(self._found)
        self._launch(f"check_{lanes}_{suffix}", "iiiPPPPP", lanes, rows, first, *arcs, matrix, found)
        wrong, hanging, _ = (int(x) for x in self._found.get())
        if wrong != NONE:
            row, vertex = divmod(wrong, self.graph.n)
            raise Invalid(self.entry_message(first + row, vertex, self._fetch(matrix, row, dtype)))
        if hanging:
            self._trees(first, matrix, rows, dtype)

    def _trees(self, first: int, matrix: int, rows: int, dtype: np.dtype) -> None:
        """Condition (3) where tight arcs from equal distances matter, some rows at a time."""
        n, suffix, arcs, found = self.graph.n, self._turned.suffix(dtype), self._turned.arcs(), pointer(self._found)
        marks = Buffers(min(rows, self._slab) * n, "the certificate")
        try:
            rooted = pointer(marks.empty(min(rows, self._slab) * n, np.uint8))
            for low in range(0, rows, self._slab):
                count, part = min(self._slab, rows - low), matrix + low * n * dtype.itemsize
                self._launch(f"root_{suffix}", "iiiPPPPP", 1, count, first + low, *arcs, part, rooted)
                grown = True
                while grown:
                    self._reset()
                    self._launch(f"grow_{suffix}", "iiPPPPPP", 1, count, *arcs, part, rooted, found)
                    open_place, _, grown = (int(x) for x in self._found.get())
                if open_place != NONE:
                    row, vertex = divmod(open_place, n)
                    raise Invalid(tree_message(first + low + row, vertex, self._fetch(part, row, dtype)))
        finally:
            marks.free()

    def _fetch(self, matrix: int, row: int, dtype: np.dtype) -> np.ndarray:
        values = np.empty(self.graph.n, dtype)
        driver.memcpy_dtoh(values, matrix + row * values.nbytes)
        return values

    def free(self) -> None:
        if self._buffers is not None:
            self._buffers.free()
