"""Fast on the GPU: host side of fast.cu.

Returns distances of the weights' type, or 64 bits wide once a sum did not fit. One launch answers a query (with one
before it to reset and one after it to sort the distances back); the host reads one record at the end. Several sources
in one launch run beside each other, a team of blocks each: more answers a second, each answer later.
"""

from __future__ import annotations

import time

import numpy as np
import pycuda.driver as driver

from kernels.cuda import device
from kernels.cuda.buffers import Buffers, pointer
from kernels.cuda.module import function
from kernels.cuda.timing import Stopwatch
from kernels.graph import Graph
from kernels.problem import Run, Unavailable
from kernels.sssp.cuda import CudaSolver
from kernels.sssp.cuda_wide import Wide
from kernels.sssp.layout import SLOT_BITS, lay_out, level_width
from kernels.sssp.phases import wide

# The most vertices that one block and a cluster of 8 are given: their distances leave room for queues in shared memory.
# Larger graphs get a cluster of 16.
ONE_BLOCK, EIGHT_BLOCKS = 32_768, 8 * 42_000
BANDS = 8
# Mean width of a breadth-first level beyond which a cluster is too small and the whole grid works on a phase.
WIDE = 6_000
# By where the distances lie: more threads where a relaxation takes longer, and fewer hops between exchanges.
THREADS = {"shared": 512, "device": 1024}
HOPS = {"shared": 6, "device": 3}
QUEUE = 8192  # entries of a queue in shared memory at most, and at least where distances shall be there too
LEAST_QUEUE = 768
LONGEST_STEP = 0.7  # of the mean weight, where the kernel steers the step
PATIENCE_MS = 60_000
NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14  # of the driver's CUfunction_attribute; PyCUDA does not name it

TOO_LONG, FULL, TIMED_OUT = 1, 2, 4
RECORD = np.dtype(
    [(name, np.uint64) for name in ("relaxations", "vertices", "messages", "rounds", "hops", "ended")]
    + [("step", np.float64)]
)


class Cluster:
    """A graph laid out for teams of blocks, and the arrays of `teams` queries answered side by side."""

    def __init__(
        self,
        graph: Graph,
        buffers: Buffers,
        *,
        delta: float | None = None,
        teams: int = 1,
        blocks: int | None = None,
        bands: int = BANDS,
        threads: int | None = None,
        hops: int | None = None,
    ) -> None:
        self.graph, self._buffers, self.teams = graph, buffers, teams
        self._threads, self._hops = threads, hops
        if blocks is None:
            clusters = device().compute_capability() >= (9, 0)
            blocks = 1 if graph.n <= ONE_BLOCK or not clusters else 8 if graph.n <= EIGHT_BLOCKS else 16
        self.blocks = blocks
        layout = lay_out(graph, blocks, bands)
        if layout.slots >= 2**SLOT_BITS - 1:
            raise Unavailable(f"fast numbers 2^{SLOT_BITS} vertices a block, {graph.name} has {graph.n:,} in {blocks}")
        self.slots, self.spill, self._ids = layout.slots, layout.slots, layout.ids
        self.rows, self.ids = buffers.upload(layout.rows), buffers.upload(layout.ids)
        self.sources = buffers.empty(teams, np.uint32)
        self.records = buffers.empty(teams, RECORD)
        self.steered = delta is None
        mean = float(graph.weights.mean(dtype=np.float64)) if graph.m else 1.0
        self.delta = LONGEST_STEP * mean if delta is None else delta
        self._take(graph.weights.dtype)

    @staticmethod
    def forecast(graph: Graph, teams: int = 1) -> int:
        """Bytes of the arrays, distances 32 bits wide, for a graph that needs few extra vertices."""
        return graph.n * 36 + teams * graph.n * (4 + 4 + 16)

    def _take(self, dtype: np.dtype) -> None:
        """Arrays and kernels for distances of a type."""
        self.dtype = np.dtype(dtype)
        slots, entry = self.blocks * self.slots, 2 * self.dtype.itemsize
        self.answer = self._buffers.empty((self.teams, self.graph.n), self.dtype)
        self._distances = self._buffers.empty((self.teams, slots), self.dtype)
        self._spill_area = self._buffers.empty((self.teams, self.blocks, 2, self.spill, entry), np.uint8)
        suffix = "_".join(t.str[1:] for t in (self.dtype, self.graph.weights.dtype))
        self._start = function("sssp", "fast", f"start_{suffix}", "PPIP")
        self._finish = function("sssp", "fast", f"finish_{suffix}", "IPIPPP")
        for where in ("shared", "device"):
            name = f"cluster{self.blocks}_{where}_{suffix}"
            kernel = function("sssp", "fast", name, "PPPPPIIIIIId")
            room = device().get_attribute(driver.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
            room -= kernel.shared_size_bytes + (self.slots * self.dtype.itemsize + 1024 if where == "shared" else 0)
            self.in_shared = where == "shared"
            if room >= 2 * entry * LEAST_QUEUE:
                break
        self._queue = min(QUEUE, room // (2 * entry))
        self._shared_bytes = 2 * entry * self._queue + (self.slots * self.dtype.itemsize if self.in_shared else 0)
        kernel.set_attribute(driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, self._shared_bytes)
        if self.blocks > 8:
            kernel.set_attribute(driver.function_attribute(NON_PORTABLE_CLUSTER_SIZE_ALLOWED), 1)
        self._kernel = kernel

    @property
    def distances(self):
        """The first team's distances as a device array."""
        return self.answer[0]

    def run(self, source: int, stopwatch: Stopwatch) -> dict[str, float]:
        """Answer one source; returns the counters."""
        record = self.launch(np.array([source]), stopwatch)[0]
        return {
            "phases": int(record["hops"]),
            "rounds": int(record["rounds"]),
            "relaxations": int(record["relaxations"]),
            "blocks": self.blocks,
            "delta": float(record["step"]),
            "distance_bits": 8 * self.dtype.itemsize,
        }

    def launch(self, sources: np.ndarray, stopwatch: Stopwatch) -> np.ndarray:
        """Answer `teams` sources; returns their records. Raises Unavailable when a query does not come to an end."""
        self.sources.set(self._ids[sources])
        slots = self.blocks * self.slots
        distances = pointer(self._distances)
        where = "shared" if self.in_shared else "device"
        threads, hops = self._threads or THREADS[where], self._hops or HOPS[where]
        while True:
            with stopwatch:
                self._start.prepared_async_call(
                    (1024 if not self.in_shared else 1, 1), (256, 1, 1), None,
                    self.teams * slots, 0 if self.in_shared else distances, self.teams, pointer(self.records),
                )  # fmt: skip
                self._kernel.prepared_async_call(
                    (self.teams * self.blocks, 1), (threads, 1, 1), None,
                    pointer(self.rows), pointer(self.sources), distances, pointer(self._spill_area),
                    pointer(self.records), self.slots, self._queue, self.spill, hops, int(self.steered),
                    PATIENCE_MS, self.delta, shared_size=self._shared_bytes,
                )  # fmt: skip
                self._finish.prepared_async_call(
                    (-(-self.graph.n // 256), self.teams), (256, 1, 1), None,
                    self.graph.n, pointer(self.ids), self.slots, slots, distances, pointer(self.answer),
                )  # fmt: skip
            records = self.records.get()
            ended = int(np.bitwise_or.reduce(records["ended"]))
            if ended & TIMED_OUT:
                raise Unavailable(f"fast gave up on {self.graph.name} after {PATIENCE_MS / 1000:g} s")
            if ended & TOO_LONG:
                self._take(wide(self.dtype))
            elif ended & FULL:
                self.spill *= 2
                self._take(self.dtype)
            else:
                return records
            distances = pointer(self._distances)


class Fast(CudaSolver):
    """One source at a time, by a cluster of blocks (fast.cu) or the whole grid (wide.cu), as the graph asks for.

    delta: in the weights' unit, how far the bound rises a hop (cluster; steered where not given) or at a time (grid).
    Distances widen to 64 bits, for this and all later queries, when a sum does not fit.
    Raises ValueError for a delta that is not positive.
    """

    def __init__(self, graph: Graph, *, delta: float | None = None) -> None:
        if delta is not None and not delta > 0:
            raise ValueError(f"delta must be positive, not {delta:g}")
        engine = Wide if level_width(graph) > WIDE else Cluster
        super().__init__(graph, engine.forecast(graph))
        self.engine = engine(graph, self.buffers, delta=delta)
        self.transfer = self.buffers.upload_time

    def run(self, source: int) -> Run:
        """Answer one source; `blocks` among the counters tells which way it went."""
        begin = time.perf_counter()
        counters = self.engine.run(source, self.stopwatch)
        self.source, self.distances = source, self.engine.distances
        self.deliver()
        return Run(self.stopwatch.seconds, time.perf_counter() - begin, counters)
