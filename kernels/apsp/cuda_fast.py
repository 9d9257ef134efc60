"""`fast` on the GPU: host side of fast.cu, where a block holds all distances from one source in shared memory.

Graphs whose distances do not fit there are left to the batched tasks of paper O.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pycuda.driver as driver

from saitan.apsp.batches import run_batches
from saitan.apsp.cuda import CudaSolver, Engine
from saitan.apsp.instances import Instance
from saitan.apsp.near_far import step
from saitan.cuda import device
from saitan.cuda.buffers import pointer
from saitan.cuda.module import function
from saitan.graph import Graph
from saitan.sssp.phases import Overflow

# Entries of the queue: of 16 bits, at least LEAST, at most MOST; more gains nothing, the bitmaps keep the others.
LEAST, MOST = 512, 8192
# Bytes of fast.cu's own variables in shared memory, rounded up, and what the device keeps of it for every block.
OWN, KEPT = 128, 1024
# Threads of a block, and of all blocks of a multiprocessor; with 32 registers each they fit.
THREADS = 1024
RESIDENT_THREADS = 2048
TASKS = 32
TYPES = {"u4": "I", "u8": "Q", "f4": "f", "f8": "d"}
# The record that fast.cu calls report.
TICKET, OVERFLOW, RELAXED, ROUNDS = range(4)


@dataclass(frozen=True)
class Layout:
    """How sources are laid on the multiprocessors.

    shared    bytes of shared memory a block
    capacity  entries of its queue
    threads   of a block
    blocks    blocks in all, each with one source at a time
    lanes     neighbouring threads that share a vertex
    packed    whether an arc's target and weight are 16 bits each
    """

    shared: int
    capacity: int
    threads: int
    blocks: int
    lanes: int
    packed: bool


def layout(graph: Graph, sources: int, dtype: np.dtype, block: int, whole: int, processors: int) -> Layout | None:
    """The layout for a graph; None where a block's memory does not hold the distances.

    block, whole: bytes of shared memory that a block may have, and that a multiprocessor has.
    """
    n = graph.n
    fixed = n * np.dtype(dtype).itemsize + 2 * 4 * -(-n // 32)
    capacity = min(n, MOST, (block - OWN - fixed) // 2)
    if capacity < min(n, LEAST):
        return None
    shared = fixed + 2 * capacity
    each = min(whole // (shared + OWN + KEPT), -(-sources // processors), RESIDENT_THREADS // 64)
    threads = min(THREADS, RESIDENT_THREADS // each // 32 * 32)
    degree = graph.m / n
    lanes = 4 if degree <= 8 else 8 if degree <= 24 else 32
    small = graph.weights.dtype == np.uint32 and (graph.m == 0 or graph.weights.max() < 2**16)
    packed = bool(n <= 2**16 and small and np.dtype(dtype) == np.uint32)
    return Layout(shared, capacity, threads, min(sources, each * processors), lanes, packed)


class Fast(CudaSolver):
    """One source a block, near and far vertices in shared memory; batched tasks where that does not hold a row."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)

    def _layout(self, dtype: np.dtype) -> Layout | None:
        attribute = driver.device_attribute
        block, whole, processors = (
            device().get_attribute(what)
            for what in (
                attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                attribute.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
                attribute.MULTIPROCESSOR_COUNT,
            )
        )
        return layout(self.graph, self.rows, dtype, block, whole, processors)

    def work_forecast(self, dtype: np.dtype) -> int:
        if (made := self._layout(dtype)) is None:
            return Engine.forecast(self.graph.n, TASKS, dtype)
        return self.graph.m * (4 if made.packed else 8) + 32

    def prepare_work(self) -> None:
        self.layout = made = self._layout(self.dtype)
        if made is None:
            self.engine = Engine(self, self._own, TASKS, shared=True)
            return
        self.step = step(self.graph, self.dtype)
        self._arcs = self._own.upload(self._records(made.packed))
        self._report = self._own.empty(4, np.uint64)
        name = f"fast_{made.lanes}_{'packed' if made.packed else 'arc'}_{self.device_graph.suffix(self.dtype)}"
        self._kernel = function("apsp", "fast", name, f"iiPP{TYPES[self.dtype.str[1:]]}iiPP")
        self._kernel.set_attribute(driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, made.shared)

    def _records(self, packed: bool) -> np.ndarray:
        """An arc's target and weight, in 32 or 64 bits."""
        targets, weights = self.graph.targets.view(np.uint32), self.graph.weights.view(np.uint32)
        if packed:
            return targets << np.uint32(16) | weights
        return np.stack([targets, weights], axis=1)

    def fill(self, first: int, count: int) -> dict[str, float]:
        if (made := self.layout) is None:
            phases = run_batches(self.engine, first, count)
            return {"phases": phases, "resident": 0}
        driver.memset_d32(pointer(self._report), 0, 8)
        self._kernel.prepared_async_call(
            (min(made.blocks, count), 1),
            (made.threads, 1, 1),
            None,
            self.graph.n,
            made.capacity,
            pointer(self.device_graph.offsets),
            pointer(self._arcs),
            self.step,
            first,
            count,
            pointer(self.matrix),
            pointer(self._report),
            shared_size=made.shared,
        )
        report = self._report.get()
        if report[OVERFLOW]:
            raise Overflow
        return {
            "phases": int(report[ROUNDS]),
            "relaxations": int(report[RELAXED]),
            "step": float(self.step),
            "resident": made.blocks,
        }
