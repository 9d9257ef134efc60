"""Fast on the GPU: host side of fast.cu (a resident grid) and road.cu (one block); hops are in cuda_hops.py.

One launch answers a root (on roads with one before it and one after it); the host reads one record at the end. Small
worlds and whatever has long rows get the grid; elsewhere the engine that answers a few roots fastest.
"""

from __future__ import annotations

import time

import numpy as np
import pycuda.driver as driver

from saitan.bfs.arrange import DeviceLayout, arrange, padded
from saitan.bfs.cuda import Checker, CudaSolver, described
from saitan.bfs.cuda_hops import Hops
from saitan.bfs.cuda_step import words
from saitan.bfs.layout import LONGEST_ROW, Layout, rows_of_four, small_world
from saitan.bfs.search import BOTTOM_UP, TOP_DOWN, reverse
from saitan.bfs.trial import fastest
from saitan.cuda import device
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.module import function
from saitan.cuda.timing import Laps
from saitan.graph import Graph
from saitan.problem import Run, Unavailable

THREADS, RESIDENT, PIECE = 1024, 1, 128  # as in fast.cu
# To bottom-up when the frontier's arcs exceed m / ALPHA, back when n_f < k^2 / (BETA m); see NOTES.md.
ALPHA, BETA = 20.0, 50.0
TIMEOUT_MS, TIMEOUT_US_A_VERTEX = 10_000, 20
TRACED = 4096  # levels
COUNTS = [("inspected", np.uint64), ("begun", np.uint64), ("searched", np.uint64)]
CONTROL = np.dtype(
    [(name, np.uint32) for name in ("arrived", "late", "levels", "switches")]
    + COUNTS
    + [("found", np.uint64, 3), ("leaving", np.uint64, 3), ("pieces", np.uint32, 3), ("held", np.uint32, 3)]
)
LEVEL = np.dtype([("ns", np.uint64), ("inspected", np.uint64), ("frontier", np.uint32), ("bottom_up", np.uint32)])

# One block.
ROAD_THREADS, MOST_QUEUED, LEAST_QUEUED = 1024, 8192, 1024
RECORD = np.dtype([("levels", np.uint64), ("inspected", np.uint64), ("reached", np.uint64)])


def _attribute(name: str) -> int:
    return device().get_attribute(getattr(driver.device_attribute, name))


class Grid:
    """The search of fast.cu over a layout."""

    def __init__(self, graph: Graph, layout: DeviceLayout, buffers: Buffers) -> None:
        self.graph, self.layout = graph, layout
        out, into, k = layout.forward, layout.backward, layout.k
        width = words(k)
        answer = [buffers.empty(padded(graph.n), np.int32) for _ in range(2)]
        self.levels, self.parents = (array[: graph.n] for array in answer)
        self._control, self._trace = buffers.empty(1, CONTROL), buffers.empty(TRACED, LEVEL)
        self._read = driver.pagelocked_empty(1, CONTROL)
        self._timeout_ms = TIMEOUT_MS + TIMEOUT_US_A_VERTEX * k // 1000
        self._kernel = function("bfs", "fast", f"search_{out.suffix}", "IQI" + 11 * "P" + "II" + 5 * "P" + "IddI")
        sets = [buffers.empty(width, np.uint32) for _ in range(3)]
        found, pieces = buffers.empty(k, np.uint64), buffers.empty((k + out.m // PIECE + 1, 2), np.uint64)
        arrays = (out.offsets, out.ends, into.offsets, into.ends, layout.first, *sets, found, pieces, self._control)
        self._head = (k, out.m)
        self._arrays = [pointer(array) for array in arrays]
        outside = (layout.place, layout.old, *answer, self._trace)
        self._tail = (graph.n, *(pointer(array) for array in outside), TRACED, ALPHA, BETA, self._timeout_ms)
        self._blocks = RESIDENT * _attribute("MULTIPROCESSOR_COUNT")
        # The first entries, the answers written and read, the places, levels and parents.
        self.work = {"bytes": 4 * k + 16 * k + 12 * graph.n}
        self._reset()

    @staticmethod
    def forecast(n: int, m: int) -> int:
        """Bytes of the arrays for n vertices and m arcs, the layout apart, at most."""
        own = 12 * words(n) + 8 * n + 16 * (n + m // PIECE + 1) + CONTROL.itemsize + TRACED * LEVEL.itemsize
        return own + 8 * padded(n)

    def _reset(self) -> None:
        driver.memset_d32(pointer(self._control), 0, CONTROL.itemsize // 4)
        self._arrived = 0

    def run(self, root: int, laps: Laps) -> tuple[float, dict[str, float], dict[str, np.ndarray]]:
        """Answer one root; returns seconds, counters and phases. Raises Unavailable when the search does not end."""
        start = self.layout.number(root)
        with laps:
            self._kernel.prepared_async_call(
                (self._blocks, 1), (THREADS, 1, 1), None,
                *self._head, start, *self._arrays, self._arrived, *self._tail,
            )  # fmt: skip
        [seconds] = laps.seconds()
        driver.memcpy_dtoh(self._read, pointer(self._control))
        seen = self._read[0]
        if seen["late"]:
            self._reset()
            raise Unavailable(f"fast gave up on {self.graph.name} after {self._timeout_ms / 1000:g} s")
        self._arrived = int(seen["arrived"])
        counters = {name: int(seen[name]) for name in ("levels", "switches", "inspected")}
        counters["search_s"] = int(seen["searched"] - seen["begun"]) * 1e-9
        return seconds, counters, self._phases(seen)

    def _phases(self, seen: np.ndarray) -> dict[str, np.ndarray]:
        """An entry a level; none for a search of more than TRACED levels."""
        if seen["levels"] > TRACED:
            return {}
        trace = np.empty(int(seen["levels"]), LEVEL)
        driver.memcpy_dtoh(trace, pointer(self._trace))
        return {
            "direction": np.where(trace["bottom_up"], BOTTOM_UP, TOP_DOWN),
            "frontier": trace["frontier"].astype(np.int64),
            "inspected": np.diff(np.append(trace["inspected"], seen["inspected"]).astype(np.int64)),
            "seconds": np.diff(np.append(trace["ns"], seen["searched"]).astype(np.int64)) * 1e-9,
        }


class Road:
    """The search of road.cu. Latencies bound it, so that there is no work to hold against a rate."""

    def __init__(self, graph: Graph, rows: np.ndarray, buffers: Buffers) -> None:
        n, self.work = graph.n, {}
        self.levels, self.parents = (buffers.empty(n, np.int32) for _ in range(2))
        self._record, self._read = buffers.empty(1, RECORD), driver.pagelocked_empty(1, RECORD)
        arrays = (pointer(self.levels), pointer(self.parents))
        self._clear = function("bfs", "road", "clear", "IPP")
        self._cleared = (n, *arrays)
        self._kernel = function("bfs", "road", "search", "IPiPPIP")
        self._settle = function("bfs", "road", "settle", "PPPPP")
        spare = self.spare(graph)
        self._queued = min(MOST_QUEUED, spare // 8)
        self._shared = 4 * words(n) + 8 * self._queued
        self._kernel.set_attribute(driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, self._shared)
        self._before = (n, pointer(buffers.upload(rows)))
        order = (pointer(buffers.empty(n, np.int32)), pointer(buffers.empty(n, np.uint64)))
        self._after = (*order, self._queued, pointer(self._record))
        self._settled = (*order, pointer(self._record), *arrays)
        self._grid = (4 * _attribute("MULTIPROCESSOR_COUNT"), 1)

    @staticmethod
    def spare(graph: Graph) -> int:
        """Bytes of shared memory for queues; too few, or less than none, where the bitmap leaves none."""
        return _attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN") - 64 - 4 * words(graph.n)

    def run(self, root: int, laps: Laps) -> tuple[float, dict[str, float], dict[str, np.ndarray]]:
        """Answer one root; returns seconds, counters and no phases."""
        with laps:
            self._clear.prepared_async_call(self._grid, (256, 1, 1), None, *self._cleared)
            self._kernel.prepared_async_call(
                (1, 1), (ROAD_THREADS, 1, 1), None, *self._before, root, *self._after, shared_size=self._shared
            )
            self._settle.prepared_async_call(self._grid, (256, 1, 1), None, *self._settled)
        [seconds] = laps.seconds()
        driver.memcpy_dtoh(self._read, pointer(self._record))
        counters = {name: int(self._read[0][name]) for name in ("levels", "inspected")}
        return seconds, counters | {"search_s": seconds}, {}


class Fast(CudaSolver):
    """One root at a time, by the resident grid, by hops or by one block."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self._gated = Laps(gated=True)
        self.rules = Checker(graph)
        roads = not small_world(graph) and int(graph.degrees.max()) <= LONGEST_ROW
        one_block = roads and Road.spare(graph) >= 8 * LEAST_QUEUED
        self.buffers = Buffers(Grid.forecast(graph.n, graph.m) + roads * Hops.forecast(graph), described(graph))
        if roads:
            begin = time.perf_counter()
            made = Layout.of(graph, reverse(graph), by_degree=False)
            rows = rows_of_four(graph.offsets, graph.targets) if one_block else None
            self.construction = time.perf_counter() - begin
            layout = DeviceLayout.uploaded(made, self.buffers)
        else:
            layout, self.construction = arrange(graph, self.rules.rows, self.buffers)
        self.engines = [Grid(graph, layout, self.buffers)]
        if roads:
            # In the graph's order the layout's rows are the graph's.
            self.engines.append(Hops(graph, layout.backward, self.buffers))
        if one_block:
            self.engines.append(Road(graph, rows, self.buffers))
        self.engine = self._fastest()
        self.transfer = self.rules.transfer + self.buffers.upload_time

    def _fastest(self) -> Grid | Hops | Road:
        return fastest(self.graph, self.engines, lambda engine, root: engine.run(root, self._gated)[0])

    def run(self, root: int) -> Run:
        """Answer one root; phases has direction, frontier, inspected, seconds where the grid did."""
        begin = time.perf_counter()
        seconds, counters, phases = self.engine.run(root, self._gated)
        self.root, self.levels, self.parents = root, self.engine.levels, self.engine.parents
        levels = self.deliver()
        total = time.perf_counter() - begin
        counters |= {"construction_s": self.construction, "levels": int(levels.max()) + 1}
        run = Run(seconds, total, counters, phases, dict(self.engine.work), self._gated.disturbed)
        return self.edges.run(levels, run)
