"""The GPU variants of paper S: host side of phases.cu and validate.cu.

Returns distances of the weights' type, or 64 bits wide once a sum did not fit. The host launches the two kernels of
every phase, waits, and reads one small status record back; its clock around that is the paper's switching signal.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import pycuda.driver as driver

from saitan.blocks import Blockwise, chosen
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.module import function
from saitan.cuda.timing import Stopwatch
from saitan.graph import Graph
from saitan.problem import Block, Checked, Invalid, Run
from saitan.sssp.phases import Overflow, PhaseVariant, Switching, wide
from saitan.sssp.validate import CERTIFIED, arc_message

BLOCK = 256
# The record that phases.cu calls status.
CHANGED, LENGTH, OVERFLOW = 0, 1, 2


def blocks(threads: int) -> tuple[int, int]:
    """The grid of BLOCK-thread blocks with at least one thread each."""
    return max(1, -(-threads // BLOCK)), 1


class DeviceGraph:
    """A graph's arrays on the device, its offsets 32 bits wide where that holds them."""

    def __init__(self, graph: Graph, buffers: Buffers) -> None:
        self.n = graph.n
        self.offsets = buffers.upload(graph.offsets.astype(self.offset_dtype(graph), copy=False))
        self.targets = buffers.upload(graph.targets)
        self.weights = buffers.upload(graph.weights)

    @staticmethod
    def offset_dtype(graph: Graph) -> np.dtype:
        return np.dtype(np.int32 if graph.m < 2**31 else np.int64)

    @classmethod
    def forecast(cls, graph: Graph) -> int:
        """Bytes of the three arrays."""
        return (graph.n + 1) * cls.offset_dtype(graph).itemsize + graph.m * 8

    def suffix(self, distances: np.dtype) -> str:
        """Which instance of a kernel: the names that types.cuh makes."""
        return "_".join(np.dtype(t).str[1:] for t in (distances, self.weights.dtype, self.offsets.dtype))

    def arcs(self) -> tuple[int, int, int]:
        """The three device pointers."""
        return pointer(self.offsets), pointer(self.targets), pointer(self.weights)


class Engine:
    """The arrays and kernels of paper S on the device (phases.Engine); `dtype` is the distances' type.

    Launches are bound to their arguments beforehand: what the host does between two kernels is part of every phase.
    """

    def __init__(self, graph: DeviceGraph, dtype: np.dtype, buffers: Buffers) -> None:
        self.n, self.graph, self._buffers = graph.n, graph, buffers
        self.cost = buffers.empty(self.n, dtype)
        self.counting, self.changed = False, []
        self.status = driver.pagelocked_empty(3, np.uint32)
        cost, updated = pointer(self.cost), pointer(buffers.empty(self.n, dtype))
        mask, scheduled = pointer(buffers.empty(self.n, np.uint8)), pointer(buffers.empty(self.n, np.uint32))
        self._read, self._write = (pointer(buffers.empty(self.n, np.int32)) for _ in range(2))
        self._status = status = pointer(buffers.empty(3, np.uint32))

        def kernel(name: str, arguments: str, *, typed: bool = True):
            name = f"{name}_{graph.suffix(dtype)}" if typed else name
            return function("sssp", "phases", name, arguments).prepared_async_call

        everywhere, block = blocks(self.n), (BLOCK, 1, 1)
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
            blocks(length), block, None, *relaxing, read, length, write, scheduled
        )
        self._select_update = lambda length, read: select_update(
            blocks(length), block, None, mask, cost, updated, status, read, length, scheduled
        )
        switch = kernel("switch_to_selection", "iPPP", typed=False)
        self._switch = lambda read: switch(everywhere, block, None, self.n, mask, status, read)
        self._reset_length = partial(kernel("reset_length", "P", typed=False), (1, 1), (1, 1, 1), None, status)

    @staticmethod
    def forecast(n: int, dtype: np.dtype) -> int:
        """Bytes of the arrays."""
        return n * (2 * np.dtype(dtype).itemsize + 13) + 12

    def widened(self) -> Engine:
        driver.Context.synchronize()
        return Engine(self.graph, wide(self.cost.dtype), self._buffers)

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


class Certificate:
    """validate.py's certificate on the device: no arc relaxes, and tight arcs make a tree rooted at the source."""

    def __init__(self, host: Graph, graph: DeviceGraph, buffers: Buffers) -> None:
        self.host, self.graph, self.n = host, graph, graph.n
        self.before, self.rooted = buffers.empty(self.n, np.uint32), buffers.empty(self.n, np.uint8)
        self.first, self.open = buffers.empty(1, np.uint64), buffers.empty(2, np.uint32)

    @staticmethod
    def forecast(n: int) -> int:
        """Bytes of the arrays."""
        return 5 * n + 16

    def _launch(self, name: str, arguments: str, threads: int, distances, *rest) -> None:
        kernel = function("sssp", "validate", f"{name}_{self.graph.suffix(distances.dtype)}", arguments)
        pointers = [pointer(a) if hasattr(a, "gpudata") else a for a in (distances, *rest)]
        arcs = self.graph.arcs() if len(arguments) - len(pointers) == 4 else ()
        kernel.prepared_async_call(blocks(threads), (BLOCK, 1, 1), None, self.n, *arcs, *pointers)

    def check(self, source: int, distances) -> None:
        """Conditions (1) and (2) of validate.py on a device array. Raises Invalid."""
        at_source = np.empty(1, distances.dtype)
        driver.memcpy_dtoh(at_source, pointer(distances) + source * distances.dtype.itemsize)
        if at_source[0] != 0:
            raise Invalid(f"the source {source} is at distance {at_source[0]}, not 0")
        none = np.iinfo(np.uint64).max
        self.first.fill(none)
        self._launch("relaxable", "iPPPPP", 32 * self.n, distances, self.first)
        if (first := int(self.first.get()[0])) != none:
            raise Invalid(arc_message(self.host, first, distances.get()))

    def tree(self, source: int, distances):
        """Condition (3): the tree as a device array, uint32 [n], all ones where there is no vertex before.

        Raises Invalid.
        """
        self.before.fill(0xFFFFFFFF)
        self._launch("hang_from_nearer", "iPPPPP", 32 * self.n, distances, self.before)
        before_round = self.n + 1
        while True:
            self.open.set(np.array([0, 0xFFFFFFFF], np.uint32))
            self._launch("take_stock", "iPPiPP", self.n, distances, self.before, source, self.rooted, self.open)
            count, vertex = (int(x) for x in self.open.get())
            if count == 0:
                return self.before
            if count == before_round:
                distance = distances.get()[vertex]
                raise Invalid(f"vertex {vertex} (distance {distance}) has no tight path from the source {source}")
            before_round = count
            self._launch("hang_from_equal", "iPPPPPP", 32 * self.n, distances, self.rooted, self.before)


class CudaSolver(Blockwise):
    """What all GPU variants share: the graph on the device, the last answer's certificate, predecessors, download.

    A subclass passes the bytes it will allocate in self.buffers beyond the graph's, and sets self.source and
    self.distances (a GPUArray) in `run`. Raises Unavailable, before any upload, when the forecast does not fit.
    """

    def __init__(self, graph: Graph, own_bytes: int) -> None:
        needed = DeviceGraph.forecast(graph) + own_bytes + Certificate.forecast(graph.n)
        self.buffers = Buffers(needed, f"graph {graph.name} ({graph.n:,} vertices, {graph.m:,} arcs)")
        self.graph = graph
        self.device_graph = DeviceGraph(graph, self.buffers)
        self.transfer = self.buffers.upload_time
        # Not the variant's own: kept apart from the memory that stands beside its time.
        self._certificate_buffers = Buffers(Certificate.forecast(graph.n), "the certificate")
        self._certificate = Certificate(graph, self.device_graph, self._certificate_buffers)
        self.stopwatch = Stopwatch()
        self.source = -1
        self.distances, self._delivered = None, None

    @property
    def memory(self) -> int:
        return self.buffers.nbytes

    def validate(self) -> Checked:
        """The certificate, on the device. Raises Invalid."""
        self._certificate.check(self.source, self.distances)
        self._certificate.tree(self.source, self.distances)
        return CERTIFIED

    def deliver(self) -> None:
        """Copy the distances to the host, into page-locked memory that the next answer reuses."""
        if self._delivered is None or self._delivered.dtype != self.distances.dtype:
            self._delivered = driver.pagelocked_empty(self.graph.n, self.distances.dtype)
        driver.memcpy_dtoh(self._delivered, pointer(self.distances))

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        yield from chosen("distances", self._delivered, rows)

    def predecessors(self) -> np.ndarray:
        """int32 [n]: a shortest-path tree of the last answer."""
        before = self._certificate.tree(self.source, self.distances).get()
        before[self.source] = 0xFFFFFFFF
        return before.view(np.int32)

    def close(self) -> None:
        self.buffers.free()
        self._certificate_buffers.free()


class PhaseSolver(PhaseVariant, CudaSolver):
    """A variant of paper S on the GPU."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, Engine.forecast(graph.n, graph.weights.dtype))
        self.engine = Engine(self.device_graph, graph.weights.dtype, self.buffers)

    def run(self, source: int) -> Run:
        """Answer one source; phases has seconds, mode, listed, threads."""
        begin = time.perf_counter()
        with self.stopwatch:
            seen = self._phases(source, self.selecting, self.thresholds)
        self.source, self.distances = source, self.engine.cost
        self.deliver()
        return Run(self.stopwatch.seconds, time.perf_counter() - begin, self._counters(seen), seen.arrays())


class Conventional(PhaseSolver):
    """Paper S, Algorithms 1 to 3: every phase starts a thread per vertex, twice."""


class Selection(PhaseSolver):
    """Paper S, Algorithms 5 and 6 in every phase: a thread per listed vertex."""

    selecting = True


class Adaptive(Switching, PhaseSolver):
    """Paper S, Algorithm 4: switches between the two."""
