"""Paper O's loop on the host, the same for the CPU and the GPU: tasks advance together, phase by phase.

A *task* is the search from one source. A *phase* relaxes the arcs of all (vertex, task) updated in the phase before
into the updated costs `Ua` by atomic minimum (kernel A'), then commits lower updated costs to the costs `Ca` and marks
them (kernel B'). The host goes on until no task updates a vertex, then takes the next tasks. One task at a time is the
method of Harish and Narayanan (kernels A and B).

1. Harish, Narayanan: Accelerating large graph algorithms on the GPU using CUDA. HiPC 2007.
2. Okuyama, Ino, Hagihara: all-pairs shortest paths as batched SSSP (paper O in the README).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from saitan.apsp.instances import Instance, paper_bytes
from saitan.sssp.ending import widened_type
from saitan.sssp.phases import Overflow

T = TypeVar("T")


class Engine(Protocol):
    """The kernels of paper O on one backend. Raises Overflow where a sum did not fit.

    tasks  how many advance together
    """

    tasks: int

    def start(self, first: int, count: int) -> None:
        """Task t begins at source first + t, for t < count; the others have nothing to do."""

    def relax(self) -> None:
        """Kernel A'."""

    def update(self) -> bool:
        """Kernel B'. True if any task updated a vertex."""

    def deliver(self, row: int, count: int) -> None:
        """Write the costs of the first `count` tasks to the matrix, from a row on."""


def run_batches(engine: Engine, first: int, count: int) -> int:
    """Fill the first `count` rows of the matrix with the distances from first, first + 1, ... Returns the phases."""
    phases = 0
    for row in range(0, count, engine.tasks):
        tasks = min(engine.tasks, count - row)
        engine.start(first + row, tasks)
        active = True
        while active:
            engine.relax()
            active = engine.update()
            phases += 1
        engine.deliver(row, tasks)
    return phases


def widening(attempt: Callable[[np.dtype], T], dtype: np.dtype) -> T:
    """attempt(dtype), and once more with 64 bits if a sum overflows."""
    try:
        return attempt(dtype)
    except Overflow:
        return attempt(widened_type(dtype))


def counters(instance: Instance, count: int, seconds: float, dtype: np.dtype, work_bytes: int) -> dict[str, float]:
    """What every variant counts."""
    return {
        "entries_s": count * instance.n / seconds,
        "distance_bits": 8 * dtype.itemsize,
        "work_bytes": work_bytes,
    }


class Tasks:
    """What the batched variants share on both backends: how many tasks they have."""

    tasks = 1
    shared = False

    def batch_counters(self, instance: Instance, count: int, phases: int) -> dict[str, float]:
        """What the host's loop adds."""
        formula = paper_bytes(instance.graph, self.tasks)
        return {"phases": phases, "launches": phases / count, "paper_bytes": formula}
