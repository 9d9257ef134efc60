"""The layout on the device: made there by arrange_lib.cu, or made on the host (layout.py) and uploaded."""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pycuda.driver as driver

from saitan.bfs.cuda_step import Rows, offset_dtype
from saitan.bfs.layout import Layout, Numbering
from saitan.bfs.search import reverse
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.constants import constants
from saitan.cuda.module import library
from saitan.problem import Unavailable

LONGEST, LONG_PIECE = (constants("bfs", "many_level.cuh")[name] for name in ("HUB", "HUB_PIECE"))
HUB = np.dtype([("tail", np.uint32), ("count", np.uint32), ("first", np.uint64)])


def padded(n: int) -> int:
    """Entries of an array that kernels read four at a time."""
    return -(-n // 4) * 4


@dataclass(frozen=True)
class DeviceLayout:
    """A layout of k vertices on the device.

    forward   rows of the arcs out of a vertex; backward: of those into it, the same object where they are the same
    first     int32 [k]: the first entry of every row of `backward`, -1 where it is empty
    old       int32 [k] or longer: the graph's number of every vertex
    place     int32 [n], padded to a multiple of four with -1: the layout's number of every vertex of the graph, or -1
    """

    forward: Rows
    backward: Rows
    first: Any
    old: Any
    place: Any

    @property
    def k(self) -> int:
        return self.forward.n

    @property
    def nbytes(self) -> int:
        rows = {id(r): r.offsets.nbytes + r.ends.nbytes for r in (self.forward, self.backward)}
        return sum(rows.values()) + self.first.nbytes + self.old.nbytes + self.place.nbytes

    def number(self, vertex: int) -> int:
        """The layout's number of a vertex of the graph."""
        read = np.empty(1, np.int32)
        driver.memcpy_dtoh(read, pointer(self.place) + 4 * vertex)
        return int(read[0])

    def numbering(self, n: int) -> Numbering:
        """Copied to the host; n: vertices of the graph."""
        degrees = np.diff(self.forward.offsets.get().astype(np.int64))
        return Numbering(self.old.get()[: self.k], self.place.get()[:n], degrees)

    @classmethod
    def uploaded(cls, layout: Layout, buffers: Buffers) -> DeviceLayout:
        """Of a layout that the host made."""
        forward, backward, n = layout.forward, layout.backward, len(layout.new)
        out = Rows.upload(forward, buffers)
        into = out if backward is forward else Rows.upload(backward, buffers)
        first = np.full(forward.n, -1, np.int32)
        rows = backward.offsets[:-1] < backward.offsets[1:]
        first[rows] = backward.targets[backward.offsets[:-1][rows]]
        place = np.full(padded(n), -1, np.int32)
        place[:n] = layout.new
        return cls(out, into, *(buffers.upload(array) for array in (first, layout.old, place)))

    @staticmethod
    def forecast(rows: Rows, directed: bool) -> int:
        """Bytes that `arranged` needs at most, what is only needed meanwhile included."""
        keys = 16 * rows.m + (1 << 28)
        return keys + 29 * rows.n + (1 + directed) * (Rows.bytes_of(rows.n, rows.m) + 4 * rows.n)

    @classmethod
    def arranged(cls, rows: Rows, directed: bool, buffers: Buffers) -> DeviceLayout:
        """Of a graph's rows on the device. Raises Unavailable where there is no memory for it, or no compiler.

        buffers: what stays is made there.
        """
        meanwhile = Buffers(cls.forecast(rows, directed), "the layout")
        try:
            return _Arranging(rows, directed, buffers, meanwhile).layout
        finally:
            meanwhile.free()


class _Library:
    """Calls of arrange_lib.cu. meanwhile: buffers for the room that its functions need."""

    def __init__(self, meanwhile: Buffers) -> None:
        self._library, self._meanwhile, self._room = library("bfs", "arrange_lib"), meanwhile, None

    def call(self, name: str, *arguments) -> None:
        """Call a function that needs room: first asked how much."""
        needed = ctypes.c_size_t()
        self.plain(name, None, ctypes.byref(needed), *arguments)
        if self._room is None or self._room.size < needed.value:
            self._room = self._meanwhile.empty(needed.value, np.uint8)
        self.plain(name, self._room, ctypes.byref(needed), *arguments)

    def plain(self, name: str, *arguments) -> None:
        """Call a function that needs none."""
        if error := getattr(self._library, name)(*map(_argument, arguments)):
            raise RuntimeError(f"{name} of arrange_lib.cu failed with CUDA error {error}")


class _Arranging:
    """The steps. meanwhile: buffers for what is only needed until the layout stands."""

    def __init__(self, rows: Rows, directed: bool, buffers: Buffers, meanwhile: Buffers) -> None:
        self._library = _Library(meanwhile)
        self._rows, self._buffers, self._meanwhile = rows, buffers, meanwhile
        self._source = (rows.offsets, rows.ends)
        n = rows.n
        self._place, old = buffers.empty(padded(n), np.int32), buffers.empty(n, np.int32)
        driver.memset_d32(pointer(self._place), 0xFFFFFFFF, padded(n))
        marks = meanwhile.empty(n, np.uint8) if directed else None
        own = [meanwhile.empty(n, np.uint32) for _ in range(4)]
        kept = meanwhile.empty(1, np.uint32)
        self._library.call("order_vertices", n, rows.wide, *self._source, marks, *own, old, self._place, kept)
        self._k = int(kept.get()[0])
        if not self._k:
            raise Unavailable("no vertex has an arc to another one")
        meanwhile.release(*own)
        # Of two numbers a key has the bits.
        self._bits = max(1, (self._k - 1).bit_length())
        self._keys = [meanwhile.empty(rows.m, np.uint64) for _ in range(2)]
        out, first = self._cut(False)
        into, first = self._cut(True) if directed else (out, first)
        self.layout = DeviceLayout(out, into, first, old, self._place)
        driver.Context.synchronize()

    def _cut(self, turned: bool) -> tuple[Rows, Any]:
        """Rows of the layout and their first entries; turned: of the arcs turned round."""
        count, into = self._meanwhile.empty(1, np.uint64), ctypes.c_int()
        counted, rows = ctypes.c_uint64(), self._rows
        given = (rows.n, rows.m, rows.wide, *self._source, self._place, self._bits, turned)
        self._library.call("sort_arcs", *given, *self._keys, count, ctypes.byref(into), ctypes.byref(counted))
        m, empty = counted.value, self._buffers.empty
        offsets = empty(self._k + 1, offset_dtype(m))
        ends, first = empty(m, np.int32), empty(self._k, np.int32)
        cut = Rows(self._k, offsets, ends)
        key = (self._k, m, self._bits, self._keys[into.value])
        self._library.plain("cut_rows", *key, cut.wide, offsets, ends, first)
        return cut, first


def _argument(value):
    """As C takes it: arrays by address, whole numbers with 64 bits, which their lower half is where 32 are taken."""
    if value is None or hasattr(value, "gpudata"):
        return ctypes.c_void_p(None if value is None else pointer(value))
    return ctypes.c_uint64(value) if isinstance(value, int) else value


def arrange(graph, rows: Rows, buffers: Buffers) -> tuple[DeviceLayout, float]:
    """The layout of a graph, made on the device where there is room for it, and the seconds that making it took."""
    directed = graph.metadata.get("directed", True)
    begin = time.perf_counter()
    try:
        layout = DeviceLayout.arranged(rows, directed, buffers)
    except Unavailable:
        begin = time.perf_counter()
        made = Layout.of(graph, reverse(graph))
        seconds = time.perf_counter() - begin
        return DeviceLayout.uploaded(made, buffers), seconds
    return layout, time.perf_counter() - begin


def hub_pieces(rows: Rows, buffers: Buffers) -> Any:
    """HUB [pieces] on the device: the pieces of HUB_PIECE arcs of the rows of more than HUB arcs of many_level.cuh.

    All first pieces come before all second ones. buffers: what stays is made there.
    """
    if not rows.n:  # no vertex has an arc, and a grid has blocks
        return buffers.empty(0, HUB)
    meanwhile = Buffers(0, "pieces of long rows")
    try:
        into, count = _Library(meanwhile), meanwhile.empty(1, np.uint32)
        given = (rows.n, rows.wide, rows.offsets, LONGEST, LONG_PIECE)
        into.plain("count_hubs", *given, count)
        pieces = int(count.get()[0])
        hubs = buffers.empty(pieces, HUB)
        if pieces:
            keys = [meanwhile.empty(pieces, np.uint64) for _ in range(2)]
            into.call("cut_hubs", *given, pieces, *keys, count, hubs)
            driver.Context.synchronize()
        return hubs
    finally:
        meanwhile.free()
