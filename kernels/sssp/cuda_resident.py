"""The host side of fast.cu: queries of blocks that hold queues, in one launch or as the tail of broad.cu's.

Returns distances of the weights' type, or of 64 bits once a sum did not fit. One launch answers a query (after one that
resets); the host reads one record at the end. Several sources in one launch are divided among teams of blocks, which
gives more answers a second, each with a higher latency.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pycuda.driver as driver

from saitan.cuda import device
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.constants import constants
from saitan.cuda.module import function
from saitan.cuda.timing import Laps
from saitan.graph import Graph
from saitan.problem import Unavailable
from saitan.sssp.choice import has_even_degrees
from saitan.sssp.ending import run_until_it_fits, widened_type
from saitan.sssp.layout import NONE, lay_out, rows_needed
from saitan.sssp.walks import LINK, Walks

_FAST = constants("sssp", "fast.cu")
THREADS, LINKED_THREADS = _FAST["THREADS"], _FAST["LINKED_THREADS"]
HOPS = 24  # between exchanges
QUEUE_BYTES = 96 * 1024  # of shared memory for two queues at most; the rest is left to L1
LEAST_SPILL = 4096  # entries of a queue in device memory
MOST_DONATED = 4096  # entries that a block can donate in a round
# The first step where it adapts: this part of the mean weight. Where rows are longer than roads have them, and most
# about equally long, it is that over half the degree, so that a row of evenly drawn weights has LONGEST_STEP arcs below
# it; at least LEAST_PART of it.
LONGEST_STEP, ROAD_DEGREE, LEAST_PART = 0.7, 3.5, 0.2
# A query's timeout: a fixed part, and a part for every row, because each may need a hop of its own.
TIMEOUT_MS, TIMEOUT_US_A_ROW = 10_000, 4
TRACED = 1 << 16

# Structs of fast.cu and mailbox.cuh.
RECORD = np.dtype(
    [(name, np.uint64) for name in ("relaxations", "rounds", "hops", "ended", "last_round")] + [("step", np.float64)]
)
ROUND = np.dtype([("ns", np.uint64)] + [(name, np.uint32) for name in ("hops", "vertices", "repeated", "waiting")])
MESSAGE_BYTES, DONATED_BYTES = 32, 16


def first_step(graph: Graph) -> float:
    """How far the bound rises a hop at first, where it adapts."""
    degree, part = graph.m / graph.n, 1.0
    if degree > ROAD_DEGREE and has_even_degrees(graph):
        part = max(2 / degree, LEAST_PART)
    return part * LONGEST_STEP * graph.mean_weight or 1.0


class Resident:
    """A graph in rows of four arcs, and the arrays of `count` queries answered in one launch.

    delta: how far the bound rises a hop, in the weights' unit; adapts where not given. blocks: of a team. walks: where
    the graph is the core of these.
    """

    def __init__(
        self,
        graph: Graph,
        buffers: Buffers,
        *,
        delta: float | None = None,
        count: int = 1,
        blocks: int | None = None,
        threads: int | None = None,
        hops: int = HOPS,
        walks: Walks | None = None,
    ) -> None:
        self.graph, self._buffers, self.count = graph, buffers, count
        self._hops = hops
        self._threads = threads or (THREADS if walks is None else LINKED_THREADS)
        processors = device().get_attribute(driver.device_attribute.MULTIPROCESSOR_COUNT)
        # One block a multiprocessor, so that all are resident at once; several sources divide them.
        self.blocks = min(blocks or max(1, processors // count), processors, self._threads)
        self.teams = min(count, processors // self.blocks)
        rows = lay_out(graph) if walks is None else walks.rows
        # What the kernel takes as Links.
        self.links = [] if walks is None else [buffers.upload(array) for array in (walks.links, walks.lengths)]
        most = int(NONE if walks is None else LINK)
        if len(rows) >= most:
            raise Unavailable(f"fast numbers {most:,} vertices, {graph.name} has {len(rows):,} in rows of four arcs")
        self.n_rows = len(rows)
        self.rows = buffers.upload(rows)
        self.sources, self.records = buffers.empty(count, np.uint32), buffers.empty(count, RECORD)
        resident = self.teams * self.blocks
        self._messages = buffers.empty(2 * resident * MESSAGE_BYTES, np.uint8)
        self._donated = buffers.empty(2 * resident * MOST_DONATED * DONATED_BYTES, np.uint8)
        # Round numbers go on from launch to launch: a message of an earlier launch is never taken for a new one.
        for mail in (self._messages, self._donated):
            mail.fill(0)
        self._round = 0
        self.spill = max(LEAST_SPILL, 2 * self.n_rows // resident)
        self.adapts = delta is None
        self.delta = first_step(graph) if delta is None else delta
        self._typed = ()
        self.take(graph.weights.dtype)

    @staticmethod
    def forecast(graph: Graph, count: int = 1) -> int:
        """Bytes of the arrays with distances of 32 bits."""
        processors = device().get_attribute(driver.device_attribute.MULTIPROCESSOR_COUNT)
        mail = 2 * processors * (MESSAGE_BYTES + MOST_DONATED * DONATED_BYTES)
        return rows_needed(graph) * (32 + 32 + 4 * count) + mail + 16 * processors * LEAST_SPILL

    def take(self, dtype: np.dtype) -> None:
        """Arrays and kernels for distances of a type."""
        self.dtype = np.dtype(dtype)
        entry, resident = 2 * self.dtype.itemsize, self.teams * self.blocks
        self._buffers.release(*self._typed)
        self.answers = self._buffers.empty((self.count, self.n_rows), self.dtype)
        self._spill_area = self._buffers.empty(resident * 2 * self.spill * entry, np.uint8)
        self._typed = (self.answers, self._spill_area)
        suffix = "_".join(t.str[1:] for t in (self.dtype, self.graph.weights.dtype))
        self._start = function("sssp", "fast", f"start_{suffix}", "PPIP")
        name = "linked" if self.links else "queries"
        self._kernel = function("sssp", "fast", f"{name}_{suffix}", "PPPPPPQIPPPPPPIIIIIIIIIId")
        room = device().get_attribute(driver.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
        self._queue = min(QUEUE_BYTES, room - self._kernel.shared_size_bytes) // (2 * entry)
        self._shared_bytes = self._queue * 2 * entry
        self._kernel.set_attribute(driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, self._shared_bytes)

    @property
    def distances(self):
        """The first query's distances as a device array [n]."""
        return self.answers[0, : self.graph.n]

    def run(self, source: int, laps: Laps) -> tuple[float, dict[str, float], dict[str, float]]:
        """Answer one source; returns seconds, counters, and no work: latencies bound it, not a rate (NOTES.md)."""
        seconds, records = self.launch(np.array([source]), laps)
        return seconds, self.counters(records), {}

    def counters(self, records: np.ndarray) -> dict[str, float]:
        """The means of the records of a launch over its queries."""
        return {
            "phases": float(records["hops"].mean()),
            "rounds": float(records["rounds"].mean()),
            "relaxations": float(records["relaxations"].mean()),
            "blocks": self.blocks,
            "width": float(records["step"][0]),
            "distance_bits": 8 * self.dtype.itemsize,
        }

    def trace(self, source: int) -> np.ndarray:
        """Answer one source; returns ROUND [rounds], at most TRACED of them."""
        return self.traced(lambda traces: self.launch(np.array([source]), Laps(), traces)[1])

    def traced(self, launch: Callable[[Any], np.ndarray]) -> np.ndarray:
        """ROUND [rounds] of a launch of one query, which gets the array for them and returns its record."""
        traces = self._buffers.empty(TRACED, ROUND)
        records = launch(traces)
        noted = traces.get()[: int(records["rounds"][0])]
        self._buffers.release(traces)
        return noted

    def launch(self, sources: np.ndarray, laps: Laps, traces=None) -> tuple[float, np.ndarray]:
        """Answer `count` sources; returns the seconds of the launch and RECORD [count].

        Raises Unavailable when a query ends by its timeout.
        """
        self.sources.set(sources.astype(np.uint32))
        records = run_until_it_fits(
            lambda: self._attempt(laps, traces),
            widen=lambda: self.take(widened_type(self.dtype)),
            grow=self.grow,
            timed_out=f"fast ended on {self.graph.name} by its timeout of {self.timeout_ms / 1000:g} s",
        )
        return sum(laps.seconds()), records

    def _finish(self) -> None:
        """Queue what belongs to the answer beside the distances; nothing here."""

    def grow(self) -> None:
        """Queues of twice the room."""
        self.spill *= 2
        self.take(self.dtype)

    @property
    def timeout_ms(self) -> int:
        """Of a query."""
        return TIMEOUT_MS + TIMEOUT_US_A_ROW * self.n_rows // 1000

    def _attempt(self, laps: Laps, traces) -> tuple[int, np.ndarray]:
        """How the queries ended, and their records."""
        with laps:
            self.start()
            self.go_on(0, 0, 0, self.timeout_ms, traces)
            self._finish()
        records = self.noted()
        return int(np.bitwise_or.reduce(records["ended"])), records

    def start(self) -> None:
        """Queue what a launch begins with: no vertex is reached."""
        self._start.prepared_async_call(
            (1024, 1), (256, 1, 1), None,
            self.answers.size, pointer(self.answers), self.count, pointer(self.records),
        )  # fmt: skip

    def go_on(self, lists: int, left: int, room: int, timeout_ms: int, traces=None) -> None:
        """Queue the kernel, after `start`.

        lists, left, room: device addresses and the room of Left in fast.cu; 0 where it begins at the sources.
        """
        self._kernel.prepared_async_call(
            (self.teams * self.blocks, 1), (self._threads, 1, 1), None,
            pointer(self.rows), *(map(pointer, self.links) if self.links else (0, 0)), pointer(self.sources),
            lists, left, room, self.count, pointer(self.answers),
            pointer(self._spill_area), pointer(self._donated), pointer(self._messages), pointer(self.records),
            0 if traces is None else pointer(traces),
            self.n_rows, self._queue, self.spill, MOST_DONATED, self.blocks, self._hops, int(self.adapts),
            timeout_ms, TRACED, self._round + 1, self.delta, shared_size=self._shared_bytes,
        )  # fmt: skip

    def noted(self) -> np.ndarray:
        """RECORD [count] of the launch, which it waits for."""
        records = self.records.get()
        # A query that had nothing to begin with leaves no number.
        self._round = max(self._round, int(records["last_round"].max()))
        return records
