"""The closures of `tropical` as variants for graphs, on the GPU: squaring and blocked Floyd-Warshall on its product.

The matrix is closed whole, whatever the range of sources, and turned into distances where it lies (dense.cu). Integers
are checked by the certificate of validate.py; floats, whose sums round in an order of their own, as `tropical` does.
"""

from __future__ import annotations

import time

import numpy as np
import pycuda.driver as driver

from saitan.apsp.batches import counters
from saitan.apsp.cuda import BLOCK, DeviceRows
from saitan.apsp.dense import check_sums, closing_instance, too_long
from saitan.apsp.instances import Instance
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.module import function
from saitan.problem import Checked, Run
from saitan.tropical import cuda_closure
from saitan.tropical.semiring import SumOverflow, infinity

# Blocks that turn entries into distances: more than are resident at once.
GRID = 4096


class Closing(DeviceRows):
    """The base of both; a subclass names the solver of `tropical`."""

    closing: type

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self.solver = self.closing(closing_instance(self.graph))
        self.matrix, self.rows = self.solver.c, self.graph.n
        self.memory, self.transfer = self.solver.memory, self.solver.transfer
        self._buffers = Buffers(4, "the largest distance")
        self._largest = self._buffers.empty(1, np.uint32)
        self._distances = function("apsp", "dense", "distances", "qPIP")

    def run(self, query: list[int]) -> Run:
        """Answer one range of sources. Raises Unavailable where a path may be too long for the matrix's type."""
        self.first, self.count = self.instance.range_of(query)
        self.row = self.first
        begin = time.perf_counter()
        try:
            run = self.solver.run(0)
        except SumOverflow:
            raise too_long(self.graph) from None
        if self.dtype.kind == "u":
            self._turn()
        for _ in self.blocks():
            pass
        total = time.perf_counter() - begin
        counted = counters(self.instance, self.count, run.kernel, self.dtype, self.memory - self.matrix.nbytes)
        squarings = {name: run.counters[name] for name in run.counters if name == "squarings"}
        return Run(run.kernel, total, counted | squarings, work=run.work)

    def _turn(self) -> None:
        largest = pointer(self._largest)
        driver.memset_d32(largest, 0, 1)
        infinite = int(infinity(np.int32))
        self._distances.prepared_call(
            (GRID, 1), (BLOCK, 1, 1), self.matrix.size, pointer(self.matrix), infinite, largest
        )
        check_sums(self.graph, int(self._largest.get()[0]))

    def validate(self) -> Checked:
        return super().validate() if self.dtype.kind == "u" else self.solver.validate()

    def close(self) -> None:
        self.solver.close()
        self._buffers.free()
        super().close()


class Closure(Closing):
    """The matrix squared until nothing changes."""

    closing = cuda_closure.Closure

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)


class FloydWarshallBlocked(Closing):
    """Blocked Floyd-Warshall."""

    closing = cuda_closure.FloydWarshall

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
