"""PHAST on the GPU: host side of phast.cu.

Returns distances of the weights' type, or of 64 bits once a sum did not fit. One launch answers a query; the host
reads one record at the end.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import pycuda.driver as driver

from saitan.cuda import device
from saitan.cuda.buffers import pointer
from saitan.cuda.constants import constants
from saitan.cuda.module import function
from saitan.graph import Graph
from saitan.problem import Run
from saitan.sssp import unreachable
from saitan.sssp.cuda_solver import CudaSolver
from saitan.sssp.ending import run_until_it_fits, widened_type
from saitan.sssp.hierarchy import CORE, contract, in_type
from saitan.sssp.slices import WARP, slice_up

# Struct Record of phast.cu.
RECORD = np.dtype([("relaxations", np.uint64), ("entries", np.uint32), ("ended", np.uint32)])
_PHAST = constants("sssp", "phast.cu")
THREADS, QUEUE = _PHAST["THREADS"], _PHAST["QUEUE"]
SPILL = 65_536  # entries of the upward search's queue in device memory, at first
TIMEOUT_MS = 10_000


def arc_type(dtype: np.dtype) -> np.dtype:
    return np.dtype([("end", np.uint32), ("length", dtype)], align=True)


class Phast(CudaSolver):
    """One source at a time over a hierarchy that the constructor builds on the host.

    core: most vertices left uncontracted, whose distances are a table; CORE of hierarchy.py where not given.
    Distances widen to 64 bits, for this and all later queries, when a sum does not fit.
    Raises Unavailable for weights that are no integers and for graphs too dense to contract.
    """

    def __init__(self, graph: Graph, *, core: int | None = None) -> None:
        multiprocessors = device().get_attribute(driver.device_attribute.MULTIPROCESSOR_COUNT)
        self.hierarchy = h = contract(graph, CORE if core is None else core)
        self._slices = s = slice_up(h, multiprocessors * THREADS // WARP)
        most = max([1, *s.levels[:, 1].tolist(), -(-h.core // WARP)])
        self._blocks = min(multiprocessors, most)
        self._core_width = -(-h.core // WARP) * WARP
        dtype = graph.weights.dtype
        dtype = dtype if h.longest < unreachable(dtype) else widened_type(dtype)
        super().__init__(graph, self._forecast(dtype))
        up_rows = np.zeros(len(s.vertices) + 1, np.uint32)
        up_rows[s.slots + 1] = np.diff(h.up_offsets)
        np.cumsum(up_rows, out=up_rows)
        self._up_rows, self._vertices = self.buffers.upload(up_rows), self.buffers.upload(s.vertices)
        self._levels, self._rows = self.buffers.upload(s.levels), self.buffers.upload(s.rows)
        self._record, self._arrivals = self.buffers.empty(1, RECORD), self.buffers.empty(1, np.uint32)
        self._slot = np.empty(graph.n, np.uint32)
        self._slot[h.vertices] = s.slots
        self.queue, self.spill = QUEUE, SPILL
        self._typed, self._spill_area = (), self.buffers.empty(0, dtype)
        self._take(dtype)

    def _forecast(self, dtype: np.dtype) -> int:
        h, s, arc = self.hierarchy, self._slices, arc_type(dtype).itemsize
        slots = len(s.vertices)
        fixed = 8 * slots + s.levels.nbytes + s.rows.nbytes
        arcs = (len(h.up_heads) + WARP * int(s.rows[-1]) + h.core + 2 * SPILL) * arc
        return fixed + arcs + (self._core_width * h.core + 2 * slots + self.hierarchy.first[-1]) * dtype.itemsize

    def _take(self, dtype: np.dtype) -> None:
        """Arrays and the kernel for distances of a type."""
        h, s, arc, far = self.hierarchy, self._slices, arc_type(dtype), unreachable(dtype)
        self.dtype = dtype = np.dtype(dtype)
        up = np.empty(len(h.up_heads), arc)
        up["end"], up["length"] = s.slots[h.up_heads], in_type(h.up_lengths, dtype)
        down = np.zeros(WARP * int(s.rows[-1]), arc)
        down["length"] = far
        down["end"][s.places], down["length"][s.places] = s.slots[h.down_tails], in_type(h.down_lengths, dtype)
        table = np.full((h.core, self._core_width), far)
        table[:, : h.core] = in_type(h.table, dtype)
        upload, empty = self.buffers.upload, self.buffers.empty
        self.buffers.release(*self._typed)
        self._up, self._down, self._table = upload(up), upload(down), upload(table)
        self._above, self._below = (empty(len(s.vertices), dtype) for _ in range(2))
        self._entries = empty(h.core, arc)
        self.distances = empty(self.graph.n, dtype)
        self._typed = self._up, self._down, self._table, self._above, self._below, self._entries, self.distances
        self._take_spill()
        self._clear()

    def _take_spill(self) -> None:
        self.buffers.release(self._spill_area)
        self._spill_area = self.buffers.empty((2, self.spill), arc_type(self.dtype))
        arrays = (self._up_rows, self._up, self._table, self._levels, self._rows, self._down, self._vertices)
        arrays += (self._above, self._below, self.distances, self._entries)
        arrays += (self._spill_area, self._record, self._arrivals)
        sizes = self.hierarchy.core, self._core_width, self.hierarchy.levels, self.queue, self.spill, TIMEOUT_MS
        kernel = function("sssp", "phast", f"phast_{self.dtype.str[1:]}", "P" * len(arrays) + "I" * (len(sizes) + 2))
        shape = (self._blocks, 1), (THREADS, 1, 1), None
        # Bound beforehand, because the query's time includes what the host does between the two events.
        self._launch = partial(kernel.prepared_async_call, *shape, *map(pointer, arrays), *sizes)

    def _clear(self) -> None:
        """The state that a finished query leaves: no distance found, no block arrived."""
        self._above.fill(unreachable(self.dtype))
        self._record.set(np.zeros(1, RECORD))
        self._arrivals.fill(0)
        self._arrived = 0

    def _finish(self) -> None:
        """Queue what belongs to the answer beside the distances; nothing here."""

    def _grow(self) -> None:
        self.spill *= 2
        self._take_spill()

    def _attempt(self, slot: int) -> tuple[int, np.void]:
        """How the query from a slot ended, and its record."""
        with self.laps:
            self._launch(slot, self._arrived)
            self._finish()
        self._arrived = (self._arrived + self._blocks * (1 + self.hierarchy.levels)) % 2**32
        record = self._record.get()[0]
        if record["ended"]:
            self._clear()
        return int(record["ended"]), record

    def run(self, source: int) -> Run:
        """Answer one source. Raises Unavailable when the query ends by its timeout."""
        begin = time.perf_counter()
        record = run_until_it_fits(
            lambda: self._attempt(int(self._slot[source])),
            widen=lambda: self._take(widened_type(self.dtype)),
            grow=self._grow,
            timed_out=f"phast ended on {self.graph.name} by its timeout of {TIMEOUT_MS / 1000:g} s",
        )
        [seconds] = self.laps.seconds()
        self.source = source
        self.deliver()
        relaxed = int(record["relaxations"]) + len(self.hierarchy.down_tails)
        counters = self.hierarchy.counters(relaxed, self.dtype) | {"blocks": self._blocks}
        return Run(seconds, time.perf_counter() - begin, counters, work={"bytes": self._least_bytes()})

    def _least_bytes(self) -> int:
        """Bytes that every query moves at least.

        The sweep reads its arcs, row bounds, levels, vertices and the upward search's distances, and it writes every
        distance twice, by slot and by vertex. The upward search and the core's table add more.
        """
        s, width = self._slices, self.dtype.itemsize
        read = self._down.nbytes + s.rows.nbytes + s.levels.nbytes + s.vertices.nbytes + len(s.vertices) * width
        return read + (len(s.vertices) + self.graph.n) * width
