"""`fast` on graphs of broad frontiers: host side of broad.cu, which says what its phases do.

Returns distances of the weights' type, or of 64 bits once a sum did not fit. One launch answers a query (after one that
resets); the host reads one record at the end. A long tail may be left to fast.cu, launched behind it.
"""

from __future__ import annotations

import numpy as np
import pycuda.driver as driver
from numba import prange

from saitan.compiled import njit
from saitan.cuda import device
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.constants import constants
from saitan.cuda.module import function
from saitan.cuda.timing import Laps
from saitan.graph import Graph
from saitan.sssp.choice import almost_equal
from saitan.sssp.cuda_resident import Resident
from saitan.sssp.ending import run_until_it_fits, widened_type

_ROWS = constants("sssp", "rows.cuh")
THREADS, PIECE = _ROWS["THREADS"], _ROWS["PIECE"]
PIECE_BYTES = 24
# The first step: this part of the mean weight, or so much that a row has so many arcs below it, or the weight below
# which this part of the weights above 0 lies (of so many drawn), whichever is least. The last is that of weights whose
# mean is made by a few.
STEP_OF_MEAN, STEP_ARCS, STEP_QUANTILE, DRAWN = 1 / 16, 2, 1 / 16, 1 << 18
LEAST_ROOM = 1 << 16  # entries of a queue
# Arcs from which on a directed graph's arcs are kept turned round too, so that vertices can pull.
PULLED_FROM = 1 << 16
# Entries up to which phases are left to fast.cu, where it is to have the tail: its hops take an eighth of the time.
FEW = 4096
# A query's timeout: a fixed part, and a part for every vertex, because each may need a phase of its own.
TIMEOUT_MS, TIMEOUT_US_A_VERTEX = 10_000, 10

# Structs of course.cuh and broad.cu.
RECORD = np.dtype(
    [("relaxed", np.uint64), ("pulled", np.uint64), ("step", np.float64)]
    + [(name, np.uint32) for name in ("phases", "sweeps", "rises", "ended", "left", "turn")]
)
SLOT_BYTES = 48
CONTROL_BYTES = RECORD.itemsize + 8 + 3 * SLOT_BYTES


@njit(inline="always")
def _mix(x):
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    return x ^ (x >> np.uint64(33))


@njit(parallel=True)
def symmetric(offsets, targets, bits):
    """Whether every arc has an opposite one of the same weight, by a sum of 64-bit hashes."""
    total = np.uint64(0)
    for v in prange(len(offsets) - 1):
        part = np.uint64(0)
        for i in range(offsets[v], offsets[v + 1]):
            weight, t = _mix(np.uint64(bits[i]) + np.uint64(1)), np.uint64(targets[i])
            part += _mix(np.uint64(v) * np.uint64(0x9E3779B97F4A7C15) + _mix(t + weight) + weight)
            part -= _mix(t * np.uint64(0x9E3779B97F4A7C15) + _mix(np.uint64(v) + weight) + weight)
        total += part
    return total == 0


def first_step(graph: Graph) -> float:
    """How far the bound rises at first: infinite, so that there is no bound, where weights are almost equal."""
    if not graph.m or almost_equal(graph.weights):
        return np.inf
    drawn = graph.weights[np.random.default_rng(1).integers(0, graph.m, DRAWN)]
    light = np.quantile(drawn[drawn > 0], STEP_QUANTILE) if drawn.any() else np.inf
    return min(min(STEP_OF_MEAN, 2 * STEP_ARCS * graph.n / graph.m) * graph.mean_weight, float(light))


class Broad:
    """A graph with rows sorted by weight, and the arrays of one query over the whole grid.

    graph: as `simplified` makes it. delta: how far the bound rises at a time, in the weights' unit; adapts where not
    given. tail: what goes on where the frontier has become narrow, of the same graph and buffers; its distances are
    used from the beginning.
    """

    def __init__(
        self, graph: Graph, buffers: Buffers, *, delta: float | None = None, tail: Resident | None = None
    ) -> None:
        self.graph, self._buffers, self._tail = graph, buffers, tail
        bits = graph.weights.view(np.uint32)
        self.symmetric = bool(symmetric(graph.offsets, graph.targets, bits))
        # One block a multiprocessor, so that all are resident at once.
        self.blocks = device().get_attribute(driver.device_attribute.MULTIPROCESSOR_COUNT)
        self.pulls = self.symmetric or graph.m >= PULLED_FROM
        self.offsets, self.arcs = self._into = self._upload(graph)
        if self.pulls and not self.symmetric:
            self._into = self._upload(graph.transposed())
        self.cursor = buffers.empty(graph.n, np.uint32)
        self.room, self._pieces_room = self._rooms(graph)
        self.pieces = buffers.empty(2 * self._pieces_room * PIECE_BYTES, np.uint8)
        self.control = buffers.empty(CONTROL_BYTES, np.uint8)
        self.record = driver.pagelocked_empty(1, RECORD)
        # Non-negative floats order as their bits do.
        self._heaviest = int(bits.max(initial=0))
        self.adapts = delta is None
        self.delta = first_step(graph) if delta is None else delta
        self._typed = ()
        self._take(graph.weights.dtype)

    def _upload(self, graph: Graph) -> tuple:
        """Offsets and arcs (target, weight's bits) on the device."""
        arcs = np.empty((graph.m, 2), np.uint32)
        arcs[:, 0], arcs[:, 1] = graph.targets.view(np.uint32), graph.weights.view(np.uint32)
        return self._buffers.upload(graph.offsets), self._buffers.upload(arcs)

    @staticmethod
    def _rooms(graph: Graph) -> tuple[int, int]:
        """Entries of a queue, and pieces of a list: in a phase every row is cut at most once."""
        return max(graph.n // 4, LEAST_ROOM), 2 * graph.m // PIECE + 1

    @classmethod
    def forecast(cls, graph: Graph) -> int:
        """Bytes of the arrays with distances of 32 bits."""
        room, pieces = cls._rooms(graph)
        turned = graph.n * 8 + graph.m * 8 if graph.directed and graph.m >= PULLED_FROM else 0
        return graph.n * 24 + graph.m * 8 + 16 * room + 2 * pieces * PIECE_BYTES + turned

    def _take(self, dtype: np.dtype) -> None:
        """Arrays and kernels for distances of a type."""
        self.dtype = np.dtype(dtype)
        self._buffers.release(*self._typed)
        entries = self._buffers.empty(4 * self.room, self.dtype)
        self._typed = (*(self._buffers.empty(self.graph.n, self.dtype) for _ in range(2)), entries)
        self.done, self.next, self._entries = self._typed
        if self._tail:
            if self._tail.dtype != self.dtype:
                self._tail.take(self.dtype)
            self.distances = self._tail.distances
        else:
            self.distances = self._buffers.empty(self.graph.n, self.dtype)
            self._typed = (*self._typed, self.distances)
        suffix = "_".join(t.str[1:] for t in (self.dtype, self.graph.weights.dtype))
        self._start = function("sssp", "broad", f"broad_start_{suffix}", "IIPPPP")
        self._kernel = function("sssp", "broad", f"broad_{suffix}", "PPPPPPPPPPIPdQIIIIIII")

    def run(self, source: int, laps: Laps) -> tuple[float, dict[str, float], dict[str, float]]:
        """Answer one source; returns seconds, counters, and the work of Run.

        A phase over all vertices reads at least three values of each, and every relaxation reads an arc of 8 bytes.
        Raises Unavailable when the query ends by its timeout.
        """
        timeout_ms = TIMEOUT_MS + TIMEOUT_US_A_VERTEX * self.graph.n // 1000
        record, tail = run_until_it_fits(
            lambda: self._attempt(source, laps, timeout_ms),
            widen=lambda: self._take(widened_type(self.dtype)),
            grow=self._grow,
            timed_out=f"fast ended on {self.graph.name} by its timeout of {timeout_ms / 1000:g} s",
        )
        counters = {
            "phases": int(record["phases"]),
            "sweeps": int(record["sweeps"]),
            "relaxations": int(record["relaxed"]),
            "pulled": int(record["pulled"]),
            "blocks": self.blocks,
            "distance_bits": 8 * self.dtype.itemsize,
        }
        if np.isfinite(record["step"]):
            counters["width"] = float(record["step"])
        if record["left"]:
            counters["rounds"] = int(tail["rounds"])
            counters["phases"] += int(tail["hops"])
            counters["relaxations"] += int(tail["relaxations"])
        moved = 3 * counters["sweeps"] * self.graph.n * self.dtype.itemsize + 8 * counters["relaxations"]
        return sum(laps.seconds()), counters, {"bytes": moved}

    def _grow(self) -> None:
        self._tail.grow()
        self.distances = self._tail.distances

    def _attempt(self, source: int, laps: Laps, timeout_ms: int) -> tuple[int, tuple[np.void, np.void | None]]:
        """How the query ended, its record, and that of its tail."""
        n, control = self.graph.n, pointer(self.control)
        state = [pointer(array) for array in (self.distances, self.done, self.next, self.cursor, self._entries)]
        with laps:
            if self._tail:
                self._tail.start()
            self._start.prepared_async_call(
                (self.blocks, 1), (THREADS, 1, 1), None, n, source, *state[:2], pointer(self._entries), control
            )
            self._kernel.prepared_async_call(
                (self.blocks, 1), (THREADS, 1, 1), None,
                pointer(self.offsets), pointer(self.arcs), *map(pointer, self._into), *state, pointer(self.pieces),
                self._pieces_room, control, self.delta, self.graph.m, n, self.room, self._heaviest, int(self.pulls),
                int(self.adapts), timeout_ms, FEW if self._tail else 0,
            )  # fmt: skip
            if self._tail:
                left = control + RECORD.fields["left"][1]
                self._tail.go_on(pointer(self._entries), left, self.room, timeout_ms)
        driver.memcpy_dtoh(self.record, control)
        record, tail = self.record[0], None
        ended = int(record["ended"])
        if record["left"]:
            tail = self._tail.noted()[0]
            ended |= int(tail["ended"])
        return ended, (record, tail)
