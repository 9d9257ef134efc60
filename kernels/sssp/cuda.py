"""The GPU variants of paper S: host side of phases.cu.

Returns distances of the weights' type, or of 64 bits once a sum did not fit. The host launches the two kernels of every
phase, waits, and reads one small status record back; its clock around that is the paper's switching signal.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import pycuda.driver as driver

from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.constants import constants
from saitan.cuda.module import function
from saitan.graph import Graph
from saitan.problem import Run
from saitan.sssp.cuda_graph import BLOCK, DeviceGraph, grid
from saitan.sssp.cuda_solver import CudaSolver
from saitan.sssp.ending import widened_type
from saitan.sssp.phases import Overflow, PhaseVariant, Switching

_STATUS = constants("sssp", "phases.cu")
CHANGED, LENGTH, OVERFLOW, STATUS_WORDS = (_STATUS[k] for k in ("CHANGED", "LENGTH", "OVERFLOW", "STATUS_WORDS"))


class Engine:
    """The arrays and kernels of paper S on the device (phases.Engine); `dtype` is the distances' type.

    Launches are bound to their arguments beforehand: a phase's time includes what the host does between two kernels.
    """

    def __init__(self, graph: DeviceGraph, dtype: np.dtype, buffers: Buffers) -> None:
        self.n, self.graph, self._buffers = graph.n, graph, buffers
        self.counting, self.changed = False, []
        self.status = driver.pagelocked_empty(STATUS_WORDS, np.uint32)
        types = (dtype, dtype, np.uint8, np.uint32, np.int32, np.int32)
        self._arrays = [*(buffers.empty(self.n, t) for t in types), buffers.empty(STATUS_WORDS, np.uint32)]
        self.cost = self._arrays[0]
        cost, updated, mask, scheduled, self._read, self._write, status = map(pointer, self._arrays)
        self._status = status

        def kernel(name: str, arguments: str, *, typed: bool = True):
            name = f"{name}_{graph.suffix(dtype)}" if typed else name
            return function("sssp", "phases", name, arguments).prepared_async_call

        everywhere, block = grid(self.n), (BLOCK, 1, 1)
        relaxing = (*graph.arcs(), mask, cost, updated, status)
        updating = (self.n, mask, cost, updated, status)
        self._start = partial(
            kernel("start", "iPPPPPPi"), everywhere, block, None, self.n, cost, updated, mask, scheduled
        )
        self._relax = partial(kernel("relax", "iPPPPPPP"), everywhere, block, None, self.n, *relaxing)
        self._update = partial(kernel("update", "iPPPP"), everywhere, block, None, *updating)
        self._update_counted = partial(kernel("update_counted", "iPPPP"), everywhere, block, None, *updating)
        select_relax = kernel("select_relax", "PPPPPPPPiPP")
        select_update = kernel("select_update", "PPPPPiP")
        self._select_relax = lambda length, read, write: select_relax(
            grid(length), block, None, *relaxing, read, length, write, scheduled
        )
        self._select_update = lambda length, read: select_update(
            grid(length), block, None, mask, cost, updated, status, read, length, scheduled
        )
        switch = kernel("switch_to_selection", "iPPP", typed=False)
        self._switch = lambda read: switch(everywhere, block, None, self.n, mask, status, read)
        self._reset_length = partial(kernel("reset_length", "P", typed=False), (1, 1), (1, 1, 1), None, status)

    @staticmethod
    def forecast(n: int, dtype: np.dtype) -> int:
        """Bytes of the arrays."""
        return n * (2 * np.dtype(dtype).itemsize + 13) + 4 * STATUS_WORDS

    def widened(self) -> Engine:
        dtype = widened_type(self.cost.dtype)
        driver.Context.synchronize()
        self._buffers.release(*self._arrays)
        return Engine(self.graph, dtype, self._buffers)

    def _read_status(self) -> None:
        driver.memcpy_dtoh(self.status, self._status)
        if self.status[OVERFLOW]:
            raise Overflow

    def _committed(self) -> bool:
        self._read_status()
        if self.counting:
            self.changed.append(int(self.status[CHANGED]))
        return bool(self.status[CHANGED])

    def start(self, source: int) -> None:
        self._start(self._read, self._status, source)
        self.changed.clear()

    def relax(self) -> None:
        self._relax()

    def update(self) -> bool:
        (self._update_counted if self.counting else self._update)()
        return self._committed()

    def select_relax(self, length: int) -> int:
        self._select_relax(length, self._read, self._write)
        self._read, self._write = self._write, self._read
        self._read_status()
        return int(self.status[LENGTH])

    def select_update(self, length: int) -> bool:
        self._select_update(length, self._read)
        return self._committed()

    def switch(self) -> int:
        self._switch(self._read)
        self._read_status()
        self._reset_length()
        return int(self.status[LENGTH])


class PhaseSolver(PhaseVariant, CudaSolver):
    """A variant of paper S on the GPU."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, DeviceGraph.forecast(graph) + Engine.forecast(graph.n, graph.weights.dtype))
        self.device_graph = DeviceGraph(graph, self.buffers)
        self.engine = Engine(self.device_graph, graph.weights.dtype, self.buffers)

    def arcs(self) -> DeviceGraph:
        return self.device_graph

    def run(self, source: int) -> Run:
        """Answer one source; phases has seconds, mode, listed, threads."""
        begin = time.perf_counter()
        with self.laps:
            seen = self._phases(source, self.selecting, self.thresholds)
        [seconds] = self.laps.seconds()
        self.source, self.distances = source, self.engine.cost
        self.deliver()
        return Run(seconds, time.perf_counter() - begin, self._counters(seen), seen.arrays())


class Conventional(PhaseSolver):
    """Paper S, Algorithms 1 to 3: every phase starts a thread per vertex, twice."""


class Selection(PhaseSolver):
    """Paper S, Algorithms 5 and 6 in every phase: a thread per listed vertex."""

    selecting = True


class Adaptive(Switching, PhaseSolver):
    """Paper S, Algorithm 4: switches between the two."""
