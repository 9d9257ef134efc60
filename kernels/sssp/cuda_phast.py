"""PHAST on the GPU: host side of phast.cu.

Returns distances of the weights' type, or 64 bits wide once a sum did not fit. One launch answers a query; the host
reads one record at the end.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import pycuda.driver as driver

from saitan.cuda import device
from saitan.cuda.buffers import pointer
from saitan.cuda.module import function
from saitan.graph import Graph
from saitan.problem import Run, Unavailable
from saitan.sssp import unreachable
from saitan.sssp.cuda import CudaSolver
from saitan.sssp.hierarchy import CORE, contract, in_type
from saitan.sssp.phases import wide
from saitan.sssp.slices import WARP, slice_up

# As in phast.cu.
TOO_LONG, FULL, TIMED_OUT = 1, 2, 4
RECORD = np.dtype([("relaxations", np.uint64), ("entries", np.uint32), ("ended", np.uint32)])
THREADS, QUEUE = 1024, 1024

SPILL = 65_536  # entries of the search's queue in device memory, at first
PATIENCE_MS = 10_000


def arc_type(dtype: np.dtype) -> np.dtype:
    return np.dtype([("end", np.uint32), ("length", dtype)], align=True)


class Phast(CudaSolver):
    """One source at a time over a hierarchy that the constructor builds on the host.

    core: vertices left uncontracted at most, whose distances are a table.
    Distances widen to 64 bits, for this and all later queries, when a sum does not fit.
    Raises Unavailable for weights that are no integers and for graphs too dense to contract.
    """

    def __init__(self, graph: Graph, *, core: int = CORE) -> None:
        multiprocessors = device().get_attribute(driver.device_attribute.MULTIPROCESSOR_COUNT)
        self.hierarchy = h = contract(graph, core)
        self._slices = s = slice_up(h, multiprocessors * THREADS // WARP)
        most = max([1, *s.levels[:, 1].tolist(), -(-h.core // WARP)])
        self._blocks = min(multiprocessors, most)
        self._core_width = -(-h.core // WARP) * WARP
        dtype = graph.weights.dtype
        dtype = dtype if h.longest < unreachable(dtype) else wide(dtype)
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
        self.transfer = self.buffers.upload_time

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
        sizes = self.hierarchy.core, self._core_width, self.hierarchy.levels, self.queue, self.spill, PATIENCE_MS
        kernel = function("sssp", "phast", f"phast_{self.dtype.str[1:]}", "P" * len(arrays) + "I" * (len(sizes) + 2))
        shape = (self._blocks, 1), (THREADS, 1, 1), None
        # Bound beforehand: what the host does between the two events counts as the query's time.
        self._launch = partial(kernel.prepared_async_call, *shape, *map(pointer, arrays), *sizes)

    def _clear(self) -> None:
        """Nothing found, nobody arrived: what a finished query leaves behind."""
        self._above.fill(unreachable(self.dtype))
        self._record.set(np.zeros(1, RECORD))
        self._arrivals.fill(0)
        self._arrived = 0

    def run(self, source: int) -> Run:
        """Answer one source. Raises Unavailable when the query does not come to an end."""
        begin = time.perf_counter()
        h, slot = self.hierarchy, int(self._slot[source])
        while True:
            with self.stopwatch:
                self._launch(slot, self._arrived)
            self._arrived = (self._arrived + self._blocks * (1 + h.levels)) % 2**32
            record = self._record.get()[0]
            ended = int(record["ended"])
            if ended:
                self._clear()
            if ended & TIMED_OUT:
                raise Unavailable(f"phast gave up on {self.graph.name} after {PATIENCE_MS / 1000:g} s")
            if ended & TOO_LONG:
                self._take(wide(self.dtype))
            elif ended & FULL:
                self.spill *= 2
                self._take_spill()
            else:
                break
        self.source = source
        self.deliver()
        relaxed = int(record["relaxations"]) + len(h.down_tails)
        counters = h.counters(relaxed, self.dtype) | {"blocks": self._blocks}
        return Run(self.stopwatch.seconds, time.perf_counter() - begin, counters)
