"""`fast` on a graph without its chains, around the search of the core by fast.cu: host side of chains.cu."""

from __future__ import annotations

import numpy as np

from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.module import function
from saitan.cuda.timing import Laps
from saitan.graph import Graph
from saitan.sssp.chains import MOST_PATHS, Chains
from saitan.sssp.cuda_graph import BLOCK, grid
from saitan.sssp.cuda_resident import Resident
from saitan.sssp.ending import run_until_it_fits, widened_type
from saitan.sssp.peeling import NONE

# Structs of chains.cu: Chains is the arrays of the host's in its order, then `entry` and `missing`.
CHAINS = "PPPPPPPPQ"
WAY = np.dtype([(name, np.uint32) for name in ("seeds", "list", "ended", "paths")] + [("first", np.int32, MOST_PATHS)])
BYTES_A_VERTEX = 68  # of these arrays, with distances of 32 bits


class OverCore:
    """The core of a graph, searched by blocks that hold queues, and what leads from it to all vertices.

    A subclass says how: `_kernels` takes the kernels of a type's suffix, `_enter_core` and `_leave_core` queue them.
    way: the type of its record of the query under way, which begins as `Left` of fast.cu and has `ended`.
    """

    def __init__(self, graph: Graph, core: Resident, buffers: Buffers, way: np.dtype) -> None:
        self.graph, self.core, self._buffers = graph, core, buffers
        self._way = buffers.upload(np.zeros(1, way))
        self._typed = ()
        self._take(graph.weights.dtype)

    def _take(self, dtype: np.dtype) -> None:
        """Arrays and kernels for distances of a type."""
        if self.core.dtype != dtype:
            self.core.take(dtype)
        self._buffers.release(*self._typed)
        self._typed = (self._buffers.empty(self.graph.n, dtype), self._buffers.empty(4, dtype))
        self.distances, self._seeds = self._typed
        self._kernels(np.dtype(dtype).str[1:])

    def run(self, source: int, laps: Laps) -> tuple[float, dict[str, float], dict[str, float]]:
        """Answer one source; returns seconds, counters, and no work: latencies bound the search of the core.

        Raises Unavailable when the query ends by its timeout.
        """
        records = self._launch(source, laps)
        return sum(laps.seconds()), self.core.counters(records) | {"searched": self.core.graph.n}, {}

    def trace(self, source: int) -> np.ndarray:
        """The core's rounds, as Resident's."""
        return self.core.traced(lambda traces: self._launch(source, Laps(), traces))

    def _launch(self, source: int, laps: Laps, traces=None) -> np.ndarray:
        return run_until_it_fits(
            lambda: self._attempt(source, laps, traces),
            widen=lambda: self._take(widened_type(self.core.dtype)),
            grow=self.core.grow,
            timed_out=f"fast ended on {self.graph.name} by its timeout of {self.core.timeout_ms / 1000:g} s",
        )

    def _attempt(self, source: int, laps: Laps, traces) -> tuple[int, np.ndarray]:
        """How the query ended, and the record of the core's search."""
        with laps:
            self.core.start()
            self._enter_core(source)
            if self.core.graph.m:  # else what is entered is final
                self.core.go_on(pointer(self._seeds), pointer(self._way), 2, self.core.timeout_ms, traces)
            self._leave_core(source)
        records = self.core.noted()
        return int(records["ended"][0]) | int(self._way.get()["ended"][0]), records


class Contracted(OverCore):
    """The same where the lengths of chains are known: kernels of chains.cu.

    delta: as of Resident.
    """

    def __init__(self, graph: Graph, chains: Chains, buffers: Buffers, *, delta: float | None = None) -> None:
        self._arrays = [buffers.upload(array) for array in (*chains.arrays, np.full(graph.n, NONE, np.int32))]
        self._missing = int(chains.missing)
        super().__init__(graph, Resident(chains.core, buffers, delta=delta), buffers, WAY)

    @staticmethod
    def forecast(graph: Graph, chains: Chains) -> int:
        """Bytes of the arrays with distances of 32 bits."""
        return Resident.forecast(chains.core) + BYTES_A_VERTEX * graph.n

    def _kernels(self, suffix: str) -> None:
        self._enter = function("sssp", "chains", f"enter_{suffix}", f"{CHAINS}iPPP")
        self._expand = function("sssp", "chains", f"expand_{suffix}", f"I{CHAINS}iPPP")

    @property
    def _chains(self) -> tuple[int, ...]:
        return *map(pointer, self._arrays), self._missing

    def _enter_core(self, source: int) -> None:
        self._enter.prepared_async_call(
            (1, 1), (1, 1, 1), None,
            *self._chains, source, pointer(self.core.answers), pointer(self._seeds), pointer(self._way),
        )  # fmt: skip

    def _leave_core(self, source: int) -> None:
        self._expand.prepared_async_call(
            grid(self.graph.n), (BLOCK, 1, 1), None,
            self.graph.n, *self._chains, source, pointer(self.core.answers), pointer(self.distances),
            pointer(self._way),
        )  # fmt: skip
