"""Fast on the GPU: host side of fast.cu.

Returns distances of the weights' type, or 64 bits wide once a sum did not fit. One launch answers a query (with one
before it to reset); the host reads one record at the end. Several sources in one launch are shared out to teams of
blocks: more answers a second, each answer later.
"""

from __future__ import annotations

import time

import numpy as np
import pycuda.driver as driver

from saitan.cuda import device
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.module import function
from saitan.cuda.timing import Stopwatch
from saitan.graph import Graph
from saitan.problem import Checked, Run, Unavailable
from saitan.sssp import check_delta
from saitan.sssp.cuda import CudaSolver
from saitan.sssp.cuda_wide import Wide
from saitan.sssp.layout import NONE, lay_out, levels, rows_needed
from saitan.sssp.phases import wide
from saitan.sssp.validate import CERTIFIED

# Graphs of at least so many arcs a vertex, and at most so many levels, get a few phases of the whole grid.
WIDE_DEGREE, WIDE_LEVELS = 8, 64
THREADS = 768  # FEW of them where the front is narrow, see fast.cu
HOPS = 24  # between exchanges
QUEUE_BYTES = 96 * 1024  # of shared memory for two queues at most; the rest is left to L1
LEAST_SPILL = 4096  # entries of a queue in device memory
ROOM = 4096  # entries that a block can give away at a time
LONGEST_STEP = 0.7  # of the mean weight, where the kernel steers the step
# Watchdog of a query: for its start, and for every row, since each may be a hop of its own.
PATIENCE_MS, PATIENCE_US_A_ROW = 10_000, 4
TRACED = 1 << 16

TOO_LONG, FULL, TIMED_OUT = 1, 2, 4
RECORD = np.dtype(
    [(name, np.uint64) for name in ("relaxations", "rounds", "hops", "ended", "last_round")] + [("step", np.float64)]
)
ROUND = np.dtype([("ns", np.uint64)] + [(name, np.uint32) for name in ("hops", "vertices", "repeated", "waiting")])
COUNTS_BYTES, GIFT_BYTES = 32, 16


class Resident:
    """A graph in rows of four arcs, and the arrays of `count` queries answered in one launch.

    delta: how far the bound rises a hop, in the weights' unit; steered where not given. blocks: of a team.
    """

    def __init__(
        self,
        graph: Graph,
        buffers: Buffers,
        *,
        delta: float | None = None,
        count: int = 1,
        blocks: int | None = None,
        threads: int = THREADS,
        hops: int = HOPS,
    ) -> None:
        self.graph, self._buffers, self.count = graph, buffers, count
        self._threads, self._hops = threads, hops
        processors = device().get_attribute(driver.device_attribute.MULTIPROCESSOR_COUNT)
        # One block a multiprocessor: all must be resident at once. Many sources share them out.
        self.blocks = min(blocks or max(1, processors // count), processors, threads)
        self.teams = min(count, processors // self.blocks)
        rows = lay_out(graph)
        if len(rows) >= NONE:
            raise Unavailable(f"fast numbers 2^32 - 1 vertices, {graph.name} has {len(rows):,} in rows of four arcs")
        self.n_rows = len(rows)
        self.rows = buffers.upload(rows)
        self.sources, self.records = buffers.empty(count, np.uint32), buffers.empty(count, RECORD)
        resident = self.teams * self.blocks
        self._counts = buffers.empty(2 * resident * COUNTS_BYTES, np.uint8)
        self._gifts = buffers.empty(2 * resident * ROOM * GIFT_BYTES, np.uint8)
        # Rounds are numbered through, so that nothing left by an earlier launch passes for new.
        for board in (self._counts, self._gifts):
            board.fill(0)
        self._round = 0
        self.spill = max(LEAST_SPILL, 2 * self.n_rows // resident)
        self.steered = delta is None
        self.delta = (LONGEST_STEP * graph.mean_weight or 1.0) if delta is None else delta
        self._typed = ()
        self._take(graph.weights.dtype)

    @staticmethod
    def forecast(graph: Graph, count: int = 1) -> int:
        """Bytes of the arrays, distances 32 bits wide."""
        processors = device().get_attribute(driver.device_attribute.MULTIPROCESSOR_COUNT)
        board = 2 * processors * (COUNTS_BYTES + ROOM * GIFT_BYTES)
        return rows_needed(graph) * (32 + 32 + 4 * count) + board + 16 * processors * LEAST_SPILL

    def _take(self, dtype: np.dtype) -> None:
        """Arrays and kernels for distances of a type."""
        self.dtype = np.dtype(dtype)
        entry, resident = 2 * self.dtype.itemsize, self.teams * self.blocks
        self._buffers.release(*self._typed)
        self.answers = self._buffers.empty((self.count, self.n_rows), self.dtype)
        self._spill_area = self._buffers.empty(resident * 2 * self.spill * entry, np.uint8)
        self._typed = (self.answers, self._spill_area)
        suffix = "_".join(t.str[1:] for t in (self.dtype, self.graph.weights.dtype))
        self._start = function("sssp", "fast", f"start_{suffix}", "PPIP")
        self._kernel = function("sssp", "fast", f"queries_{suffix}", "PPIPPPPPPIIIIIIIIIId")
        room = device().get_attribute(driver.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
        self._queue = min(QUEUE_BYTES, room - self._kernel.shared_size_bytes) // (2 * entry)
        self._shared_bytes = self._queue * 2 * entry
        self._kernel.set_attribute(driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, self._shared_bytes)

    @property
    def distances(self):
        """The first query's distances as a device array [n]."""
        return self.answers[0, : self.graph.n]

    def run(self, source: int, stopwatch: Stopwatch) -> dict[str, float]:
        """Answer one source; returns the counters."""
        return self.counters(self.launch(np.array([source]), stopwatch))

    def counters(self, records: np.ndarray) -> dict[str, float]:
        """What the records of a launch say, a query on average."""
        return {
            "phases": float(records["hops"].mean()),
            "rounds": float(records["rounds"].mean()),
            "relaxations": float(records["relaxations"].mean()),
            "blocks": self.blocks,
            "delta": float(records["step"][0]),
            "distance_bits": 8 * self.dtype.itemsize,
        }

    def trace(self, source: int) -> np.ndarray:
        """Answer one source and note every round: ROUND [rounds], at most TRACED of them."""
        traces = self._buffers.empty(TRACED, ROUND)
        records = self.launch(np.array([source]), Stopwatch(), traces)
        noted = traces.get()[: int(records["rounds"][0])]
        self._buffers.release(traces)
        return noted

    def launch(self, sources: np.ndarray, stopwatch: Stopwatch, traces=None) -> np.ndarray:
        """Answer `count` sources; returns their records. Raises Unavailable when a query does not come to an end."""
        self.sources.set(sources.astype(np.uint32))
        patience_ms = PATIENCE_MS + PATIENCE_US_A_ROW * self.n_rows // 1000
        while True:
            with stopwatch:
                self._start.prepared_async_call(
                    (1024, 1), (256, 1, 1), None,
                    self.answers.size, pointer(self.answers), self.count, pointer(self.records),
                )  # fmt: skip
                self._kernel.prepared_async_call(
                    (self.teams * self.blocks, 1), (self._threads, 1, 1), None,
                    pointer(self.rows), pointer(self.sources), self.count, pointer(self.answers),
                    pointer(self._spill_area), pointer(self._gifts), pointer(self._counts), pointer(self.records),
                    0 if traces is None else pointer(traces),
                    self.n_rows, self._queue, self.spill, ROOM, self.blocks, self._hops, int(self.steered),
                    patience_ms, TRACED, self._round + 1, self.delta, shared_size=self._shared_bytes,
                )  # fmt: skip
            records = self.records.get()
            self._round = int(records["last_round"].max())
            ended = int(np.bitwise_or.reduce(records["ended"]))
            if ended & TIMED_OUT:
                raise Unavailable(f"fast gave up on {self.graph.name} after {patience_ms / 1000:g} s")
            if ended & TOO_LONG:
                self._take(wide(self.dtype))
            elif ended & FULL:
                self.spill *= 2
                self._take(self.dtype)
            else:
                return records


class Fast(CudaSolver):
    """One source at a time, by a resident grid (fast.cu) or a few phases of the whole grid (wide.cu).

    delta: in the weights' unit, how far the bound rises a hop (resident; steered where not given) or at a time.
    Distances widen to 64 bits, for this and all later queries, when a sum does not fit.
    Raises ValueError for a delta that is not positive.
    """

    def __init__(self, graph: Graph, *, delta: float | None = None) -> None:
        check_delta(delta)
        small_world = graph.m >= WIDE_DEGREE * graph.n and levels(graph) <= WIDE_LEVELS
        engine = Wide if small_world else Resident
        super().__init__(graph, engine.forecast(graph))
        self.engine = engine(graph, self.buffers, delta=delta)
        self.transfer = self.buffers.upload_time

    def run(self, source: int) -> Run:
        """Answer one source; `rounds` is among the counters where the resident grid did."""
        begin = time.perf_counter()
        counters = self.engine.run(source, self.stopwatch)
        self.source, self.distances = source, self.engine.distances
        self.deliver()
        return Run(self.stopwatch.seconds, time.perf_counter() - begin, counters)

    def count(self, source: int) -> dict[str, np.ndarray]:
        """An entry a round of the resident grid (the whole grid's phases are not traced): seconds float64, and int64

        hops, updated (vertices relaxed), repeated (of the changes they made, those to a vertex already relaxed) and
        listed (entries that wait when it ends).
        """
        if not isinstance(self.engine, Resident):
            return {}
        rounds = self.engine.trace(source)
        counted = {"updated": "vertices", "listed": "waiting", "hops": "hops", "repeated": "repeated"}
        return {
            "seconds": np.diff(rounds["ns"].astype(np.int64), prepend=0) * 1e-9,
            **{name: rounds[field].astype(np.int64) for name, field in counted.items()},
        }


class FastMany(CudaSolver):
    """`sources` queries in one launch, beside each other: the given one and others drawn from it; times are a query's
    share.

    Raises ValueError for a number of sources that is not positive.
    """

    def __init__(self, graph: Graph, *, sources: int = 64) -> None:
        if sources < 1:
            raise ValueError(f"sources must be at least 1, not {sources}")
        super().__init__(graph, Resident.forecast(graph, sources))
        self.engine = Resident(graph, self.buffers, count=sources)
        self.transfer = self.buffers.upload_time
        self._all = np.empty(0, np.int64)

    def run(self, source: int) -> Run:
        """Answer the source and the others."""
        begin = time.perf_counter()
        others = np.random.default_rng(source).integers(0, self.graph.n, self.engine.count - 1)
        self._all = np.r_[source, others]
        records = self.engine.launch(self._all, self.stopwatch)
        self.source, self.distances = source, self.engine.distances
        self.deliver()
        total = time.perf_counter() - begin
        share = 1 / self.engine.count
        return Run(self.stopwatch.seconds * share, total * share, self.engine.counters(records))

    def validate(self) -> Checked:
        """The certificate of every query. Raises Invalid."""
        for i, source in enumerate(self._all.tolist()):
            distances = self.engine.answers[i, : self.graph.n]
            self._certificate.check(source, distances)
            self._certificate.tree(source, distances)
        return CERTIFIED
