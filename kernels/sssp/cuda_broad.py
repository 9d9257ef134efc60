"""`fast` on small worlds, whose frontiers are broad: host side of broad.cu, which says what the phases do.

Returns distances of the weights' type, or of 64 bits once a sum did not fit. The host launches two kernels a phase and
reads one status record back; there are few phases, because small worlds have few levels.
"""

from __future__ import annotations

import numpy as np
import pycuda.driver as driver
from numba import njit, prange

from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.constants import constants
from saitan.cuda.module import function
from saitan.cuda.timing import Laps
from saitan.graph import Graph
from saitan.sssp import unreachable
from saitan.sssp.ending import TOO_LONG, run_until_it_fits, widened_type

BLOCK, GRID = 256, 132 * 8
CHUNK = constants("sssp", "broad.cu")["CHUNK"]
CHUNK_BYTES = 24  # of a Chunk with 64-bit distances
DELTA_OF_MEAN = 1 / 8
# Struct Status of broad.cu.
STATUS = np.dtype(
    [(name, np.uint64) for name in ("relaxed", "beyond", "nearest")]
    + [(name, np.uint32) for name in ("changed", "too_long", "chunks", "unused")]
)


@njit(parallel=True, cache=True)
def sorted_rows(offsets, targets, weights, bits):
    """uint32 [m, 2]: (target, weight's bits), every row by ascending weight."""
    arcs = np.empty((len(targets), 2), np.uint32)
    for v in prange(len(offsets) - 1):
        first, last = offsets[v], offsets[v + 1]
        order = np.argsort(weights[first:last], kind="mergesort")
        for i in range(last - first):
            arcs[first + i, 0] = targets[first + order[i]]
            arcs[first + i, 1] = bits[first + order[i]]
    return arcs


@njit(cache=True, inline="always")
def _mix(x):
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    return x ^ (x >> np.uint64(33))


@njit(parallel=True, cache=True)
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


class Broad:
    """A graph with rows sorted by weight, and the arrays of one query over the whole grid.

    delta: how far the bound rises at a time, in the weights' unit.
    """

    blocks = GRID

    def __init__(self, graph: Graph, buffers: Buffers, *, delta: float | None = None) -> None:
        self.graph, self._buffers = graph, buffers
        bits = graph.weights.view(np.uint32)
        self.symmetric = bool(symmetric(graph.offsets, graph.targets, bits))
        self.offsets = buffers.upload(graph.offsets)
        self.arcs = buffers.upload(sorted_rows(graph.offsets, graph.targets, graph.weights, bits))
        self.cursor = buffers.empty(graph.n, np.uint32)
        self.chunks = buffers.empty((graph.m // (CHUNK // 2) + 1) * CHUNK_BYTES, np.uint8)
        self.device_status, self.status = buffers.empty(1, STATUS), driver.pagelocked_empty(1, STATUS)
        self.delta = (DELTA_OF_MEAN * graph.mean_weight or 1.0) if delta is None else delta
        self._typed = ()
        self._take(graph.weights.dtype)

    @staticmethod
    def forecast(graph: Graph) -> int:
        """Bytes of the arrays with distances of 32 bits."""
        return graph.n * 24 + graph.m * 8 + graph.m // (CHUNK // 2) * CHUNK_BYTES

    def _take(self, dtype: np.dtype) -> None:
        """Arrays and kernels for distances of a type."""
        self.dtype = np.dtype(dtype)
        self._buffers.release(*self._typed)
        self._typed = tuple(self._buffers.empty(self.graph.n, self.dtype) for _ in range(3))
        self.distances, self.done, self.next = self._typed
        suffix = "_".join(t.str[1:] for t in (self.dtype, self.graph.weights.dtype))
        d = {"u4": "I", "u8": "Q", "f4": "f", "f8": "d"}[self.dtype.str[1:]]
        kernels = {
            "start": "IIPP",
            "push": "IPPPPPPPP" + d + d,
            "chunks": "PPPP",
            "survey": "IPPPP" + d,
            "pull": "IPPPP" + d,
        }
        self._kernels = {k: function("sssp", "broad", f"broad_{k}_{suffix}", kernels[k]) for k in kernels}

    def run(self, source: int, laps: Laps) -> tuple[float, dict[str, float], dict[str, float]]:
        """Answer one source; returns seconds, counters, and the work of Run.

        A phase reads at least all distances, and every relaxation reads an arc of 8 bytes.
        """

        def attempt() -> tuple[int, dict[str, float]]:
            with laps:
                return self._answer(source)

        counters = run_until_it_fits(attempt, widen=lambda: self._take(widened_type(self.dtype)))
        moved = counters["phases"] * self.graph.n * self.dtype.itemsize + 8 * counters["relaxations"]
        return sum(laps.seconds()), counters | {"distance_bits": 8 * self.dtype.itemsize}, {"bytes": moved}

    def _launch(self, name: str, *arguments) -> None:
        pointers = [pointer(a) if hasattr(a, "gpudata") else a for a in arguments]
        self._kernels[name].prepared_async_call((GRID, 1), (BLOCK, 1, 1), None, *pointers)

    def _clear(self) -> None:
        driver.memset_d8_async(pointer(self.device_status), 0, STATUS.itemsize)

    def _read(self) -> np.void:
        driver.memcpy_dtoh_async(self.status, pointer(self.device_status))
        driver.Context.synchronize()
        return self.status[0]

    def _phase(self, start, bound) -> np.void:
        self._clear()
        rows = (self.offsets, self.arcs, self.distances)
        state = (self.done, self.next, self.cursor, self.chunks, self.device_status)
        self._launch("push", self.graph.n, *rows, *state, start, bound)
        self._launch("chunks", self.arcs, self.distances, self.chunks, self.device_status)
        return self._read()

    def _survey(self, bound) -> tuple[int, float | int]:
        """Number of arcs of the vertices beyond the bound, and the smallest candidate not yet relaxed."""
        self.device_status.set(np.array([(0, 0, np.iinfo(np.uint64).max, 0, 0, 0, 0)], STATUS))
        self._launch("survey", self.graph.n, self.offsets, self.distances, self.next, self.device_status, bound)
        status = self._read()
        nearest = np.array([status["nearest"]]).astype(f"u{self.dtype.itemsize}").view(self.dtype)[0]
        return int(status["beyond"]), nearest

    def _answer(self, source: int) -> tuple[int, dict[str, float]]:
        """Runs the phases; returns how the query ended, and the counters."""
        never = unreachable(self.dtype)
        self._launch("start", self.graph.n, source, self.distances, self.done)
        phases, relaxed, start, bound = 0, 0, self.dtype.type(0), self._beyond(self.dtype.type(0))
        while True:
            pushed, changed = 0, True
            while changed:
                status = self._phase(start, bound)
                phases, pushed, changed = phases + 1, pushed + int(status["relaxed"]), bool(status["changed"])
                if status["too_long"]:
                    return TOO_LONG, {}
            relaxed += pushed
            if bound == never:
                break
            beyond, nearest = self._survey(bound)
            if nearest == never or (self.symmetric and beyond == 0):
                break
            if self.symmetric and beyond <= 2 * pushed:
                self._clear()
                self._launch("pull", self.graph.n, self.offsets, self.arcs, self.distances, self.device_status, bound)
                if self._read()["too_long"]:
                    return TOO_LONG, {}
                phases, relaxed = phases + 1, relaxed + beyond
                start, bound = bound, never
            else:
                bound = self._beyond(nearest)
        return 0, {"phases": phases, "relaxations": relaxed, "blocks": self.blocks, "delta": self.delta}

    def _beyond(self, nearest):
        """The bound above a distance: delta higher, at least the next value, at most unreachable."""
        never = unreachable(self.dtype)
        target = float(nearest) + self.delta
        if not target < float(never):
            return never
        bound = self.dtype.type(target)
        if bound > nearest:
            return bound
        return np.nextafter(nearest, never) if self.dtype.kind == "f" else self.dtype.type(nearest + 1)
