"""`fast` on the GPU: host side of fast.cu, where a block holds all distances from one source in shared memory.

Matrices and dense graphs are closed by cuda_few_arcs.py, maps of integer weights are swept (cuda_sweep.py), and small
graphs of long paths are left to what rivals.py finds quicker. Other graphs whose distances do not fit shared memory are
left to the batched tasks of paper O.
"""

from __future__ import annotations

import numpy as np
import pycuda.driver as driver

from saitan.apsp import sweep
from saitan.apsp.batches import run_batches
from saitan.apsp.cuda import CudaSolver, DeviceRows, Engine
from saitan.apsp.cuda_few_arcs import FewArcs, room, suits_matrix
from saitan.apsp.cuda_sweep import Swept
from saitan.apsp.instances import Instance
from saitan.apsp.near_far import Layout, arcs_in_fours, fours_of, layout, packed_arcs, step
from saitan.apsp.rivals import rival
from saitan.cuda.buffers import pointer
from saitan.cuda.module import function
from saitan.sssp.phases import Overflow

TASKS = 32
TYPES = {"u4": "I", "u8": "Q", "f4": "f", "f8": "d"}
# The record that fast.cu calls report.
TICKET, OVERFLOW, RELAXED, ROUNDS = range(4)


class NearFar(CudaSolver):
    """One source a block, near and far vertices in shared memory; batched tasks where that does not hold a row."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)

    def _layout(self, dtype: np.dtype) -> Layout | None:
        return layout(self.graph, self.rows, dtype, *room())

    def work_forecast(self, dtype: np.dtype) -> int:
        if (made := self._layout(dtype)) is None:
            return Engine.forecast(self.graph.n, TASKS, dtype)
        if made.arcs == "fours":
            return 16 * int(fours_of(self.graph).sum()) + 2 * (self.graph.n + 1) + 32
        return self.graph.m * (4 if made.arcs == "packed" else 8) + 32

    def prepare_work(self) -> None:
        self.layout = made = self._layout(self.dtype)
        if made is None:
            self.engine = Engine(self, self._own, TASKS, shared=True)
            return
        self.step = step(self.graph, self.dtype)
        offsets = self.device_graph.offsets
        if made.arcs == "fours":
            offsets, arcs = (self._own.upload(array) for array in arcs_in_fours(self.graph))
        elif made.arcs == "packed":
            arcs = self._own.upload(packed_arcs(self.graph))
        else:
            graph = self.graph
            arcs = self._own.upload(np.stack([graph.targets.view(np.uint32), graph.weights.view(np.uint32)], axis=1))
        self._offsets, self._arcs = pointer(offsets), pointer(arcs)
        self._report = self._own.empty(4, np.uint64)
        name = f"fast_{made.lanes}_{made.arcs}_{self.device_graph.suffix(self.dtype)}"
        self._kernel = function("apsp", "fast", name, f"iiPP{TYPES[self.dtype.str[1:]]}iiPP")
        self._kernel.set_attribute(driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, made.shared)

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
            self._offsets,
            self._arcs,
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


class Fast(NearFar):
    """The solver that suits the instance, which is what is made: `FewArcs` for a matrix or a dense graph, `Swept` for a
    map, what is quicker (rivals.py) for a small graph, and this for any other.
    """

    def __new__(cls, instance: Instance) -> DeviceRows:
        if instance.graph is None or suits_matrix(instance):
            return FewArcs(instance)
        if hierarchy := sweep.hierarchy_of_map(instance.graph, sweep.LEAST):
            return Swept(instance, hierarchy)
        quicker = rival(instance, NearFar)
        return quicker(instance) if quicker else super().__new__(cls)
