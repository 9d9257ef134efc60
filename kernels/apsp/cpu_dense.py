"""The closures of `tropical` as variants for graphs, on the CPU: squaring and blocked Floyd-Warshall on its product.

The matrix is closed whole, whatever the range of sources. Integers are checked by the certificate of validate.py;
floats, whose sums round in an order of their own, as `tropical` checks them.
"""

from __future__ import annotations

import numpy as np

from saitan.apsp.batches import counters
from saitan.apsp.cpu import CpuSolver
from saitan.apsp.dense import check_sums, closing_instance
from saitan.apsp.instances import Instance
from saitan.problem import Checked, Run
from saitan.sssp import unreachable
from saitan.tropical import cpu_closure
from saitan.tropical.semiring import infinity


class Closing(CpuSolver):
    """The base of both; a subclass names the solver of `tropical`."""

    closing: type

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self.solver = self.closing(closing_instance(self.graph))
        self.memory = self.solver.memory

    def run(self, query: list[int]) -> Run:
        """Answer one range of sources. Raises Unavailable where a path may be too long for the matrix's type."""
        first, count = self.instance.range_of(query)
        run = self.solver.run(0)
        found = self.solver.c
        if self.dtype.kind == "u":
            finite = found != infinity(found.dtype)
            check_sums(self.graph, int(found.max(where=finite, initial=0)))
            found = np.where(finite, found.view(np.uint32), unreachable(self.dtype))
        self.first, self.distances = first, found[first : first + count]
        counted = counters(self.instance, count, run.kernel, self.dtype, self.memory - found.nbytes)
        squarings = {name: run.counters[name] for name in run.counters if name == "squarings"}
        return Run(run.kernel, run.total, counted | squarings, work=run.work)

    def validate(self) -> Checked:
        return super().validate() if self.dtype.kind == "u" else self.solver.validate()

    def close(self) -> None:
        self.solver.close()


class Closure(Closing):
    """The matrix squared until nothing changes."""

    closing = cpu_closure.Closure

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)


class FloydWarshallBlocked(Closing):
    """Blocked Floyd-Warshall."""

    closing = cpu_closure.FloydWarshall

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
