"""`fast` on the GPU: host side of fast.cu, where a block holds all distances from one source in shared memory, and of
combine.cu, by which most rows follow from others where all are asked for (feedback.py).

Matrices and dense graphs are closed by cuda_few_arcs.py, maps of integer weights are swept (cuda_sweep.py), and small
graphs of long paths are left to what rivals.py finds quicker. Other graphs whose distances do not fit shared memory are
left to the batched tasks of paper O.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pycuda.driver as driver

from saitan.apsp import sweep
from saitan.apsp.batches import run_batches
from saitan.apsp.cuda import CudaSolver, DeviceRows, Engine
from saitan.apsp.cuda_few_arcs import FewArcs, room, suits_matrix
from saitan.apsp.cuda_sweep import Swept
from saitan.apsp.feedback import Plan, plan_of
from saitan.apsp.instances import Instance
from saitan.apsp.near_far import Layout, arcs_in_fours, fours_of, layout, packed_arcs, step
from saitan.apsp.rivals import rival
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.module import function
from saitan.cuda.timing import Laps
from saitan.sssp.phases import Overflow

TASKS = 32
# Warps of a block that combines rows.
WARPS = 32
# Vertices under which searching all sources takes no longer, and for which there may be one level more. A level costs
# some 1.5 us, and saves searches.
SMALL, A_LEVEL = 1536, 256
TYPES = {"u4": "I", "u8": "Q", "f4": "f", "f8": "d"}
# The record that fast.cu calls report.
TICKET, OVERFLOW, RELAXED, ROUNDS = range(4)


class NearFar(CudaSolver):
    """One source a block, near and far vertices in shared memory; batched tasks where that does not hold a row.

    plan: which sources are searched where all are asked for; the rows of the others are combined from theirs.
    """

    def __init__(self, instance: Instance, plan: Plan | None = None) -> None:
        self.plan = plan if instance.sources == instance.n else None
        super().__init__(instance)

    def _layout(self, dtype: np.dtype) -> Layout | None:
        searched = self.rows if self.plan is None else len(self.plan.searched)
        return layout(self.graph, max(1, searched), dtype, *room())

    def work_forecast(self, dtype: np.dtype) -> int:
        if (made := self._layout(dtype)) is None:
            return Engine.forecast(self.graph.n, TASKS, dtype)
        combined = 0 if self.plan is None else Combined.forecast(self.plan)
        if made.arcs == "fours":
            return 16 * int(fours_of(self.graph).sum()) + 2 * (self.graph.n + 1) + 32 + combined
        return self.graph.m * (4 if made.arcs == "packed" else 8) + 32 + combined

    def prepare_work(self) -> None:
        self.layout = made = self._layout(self.dtype)
        # Batched tasks wait for the device.
        self.laps = Laps(gated=made is not None)
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
        self._combined = None if self.plan is None else Combined(self.plan, self._own, self.graph.n, self.dtype)
        name = f"fast_{made.lanes}_{made.arcs}_{self.device_graph.suffix(self.dtype)}"
        self._kernel = function("apsp", "fast", name, f"iiPP{TYPES[self.dtype.str[1:]]}iiPPP")
        self._kernel.set_attribute(driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, made.shared)

    def fill(self, first: int, count: int) -> dict[str, float] | Callable[[], dict[str, float]]:
        if (made := self.layout) is None:
            phases = run_batches(self.engine, first, count)
            return {"phases": phases, "resident": 0}
        combined = self._combined if count == self.graph.n else None
        searched = count if combined is None else len(self.plan.searched)
        driver.memset_d32_async(pointer(self._report), 0, 8, None)
        self._kernel.prepared_async_call(
            (max(1, min(made.blocks, searched)), 1),
            (made.threads, 1, 1),
            None,
            self.graph.n,
            made.capacity,
            self._offsets,
            self._arcs,
            self.step,
            first,
            searched,
            0 if combined is None else combined.searched,
            pointer(self.matrix),
            pointer(self._report),
            shared_size=made.shared,
        )
        if combined is not None:
            combined.fill(pointer(self.matrix), pointer(self._report) + 8 * OVERFLOW)
        return partial(self._counted, {} if combined is None else combined.counters)

    def _counted(self, planned: dict[str, float]) -> dict[str, float]:
        """What the last launch counted. Raises Overflow."""
        report, made = self._report.get(), self.layout
        if report[OVERFLOW]:
            raise Overflow
        return planned | {
            "phases": int(report[ROUNDS]),
            "relaxations": int(report[RELAXED]),
            "step": float(self.step),
            "resident": made.blocks,
        }


class Combined:
    """The rows that follow from those that were searched: host side of combine.cu.

    searched: device address of the sources to search
    """

    def __init__(self, plan: Plan, buffers: Buffers, n: int, dtype: np.dtype) -> None:
        self.counters = {"searched": len(plan.searched), "prepare_s": plan.seconds}
        steps = plan.steps(WARPS)
        self._arrays = [buffers.upload(array) for array in (plan.searched, steps, plan.arcs)]
        self.searched, *about = map(pointer, self._arrays)
        columns = self.columns(n, dtype, room()[2])
        name = f"combine_{columns}_{dtype.str[1:]}"
        self._kernel = function("apsp", "combine", name, "iiPPPP").prepared_async_call
        self._grid, self._arguments = (-(-n // (32 * columns)), 1), (n, len(steps) - 2, *about)

    @staticmethod
    def columns(n: int, dtype: np.dtype, processors: int) -> int:
        """Neighbouring columns of a thread: as few as leave no multiprocessor more than a block, or 16 bytes."""
        columns = 1
        while 2 * columns * dtype.itemsize <= 16 and n > 32 * columns * processors and n % (2 * columns) == 0:
            columns *= 2
        return columns

    @staticmethod
    def forecast(plan: Plan) -> int:
        """Bytes of the arrays."""
        return plan.searched.nbytes + plan.steps(WARPS).nbytes + plan.arcs.nbytes

    def fill(self, matrix: int, overflow: int) -> None:
        """Queue all rows that are not searched. overflow: a word of 64 bits that is set where a sum does not fit."""
        self._kernel(self._grid, (32, WARPS, 1), None, *self._arguments, matrix, overflow)


class Fast(NearFar):
    """Makes the solver that suits the instance: `FewArcs` of a matrix or a dense graph, `Swept` of a map, what is
    quicker (rivals.py) of a small graph, else itself.
    """

    def __new__(cls, instance: Instance) -> DeviceRows:
        if instance.graph is None or suits_matrix(instance):
            return FewArcs(instance)
        if hierarchy := sweep.hierarchy_of_map(instance.graph, sweep.LEAST):
            return Swept(instance, hierarchy)
        graph, sources = instance.graph, instance.sources
        searched = layout(graph, sources, instance.dtype, *room()) is not None
        plan = plan_of(graph, graph.n // A_LEVEL) if searched and sources == graph.n >= SMALL else None
        count = sources if plan is None else len(plan.searched)
        quicker = rival(instance, partial(NearFar, plan=plan), count)
        if quicker:
            return quicker(instance)
        made = super().__new__(cls)
        made.chosen = plan
        return made

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance, self.chosen)
