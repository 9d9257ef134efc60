"""The CPU twins of paper S's variants: the same phases, switching rule and trace, on all cores by Numba.

Returns distances of the weights' type, or of 64 bits once a sum did not fit. The kernels are the paper's, with one loop
iteration for each thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numba import get_num_threads, prange, set_num_threads

from saitan.atomics import atomic_add, atomic_exchange, atomic_min
from saitan.blocks import Blockwise, check_given, chosen
from saitan.compiled import njit
from saitan.graph import Graph
from saitan.problem import Block, Checked, Run
from saitan.sssp import unreachable
from saitan.sssp.ending import widened_type
from saitan.sssp.phases import Overflow, PhaseVariant, Switching
from saitan.sssp.validate import CERTIFIED, check_distances, tight_tree

# state[LENGTH] is the length of the write list; state[OVERFLOW] is set when a sum did not fit the distances' type.
LENGTH, OVERFLOW = 0, 1

ALONE = 1024  # one thread runs a kernel of fewer threads of the paper's: starting the others costs more


@njit(parallel=True)
def _relax(offsets, targets, weights, mask, cost, updated, limit, state):
    """Algorithm 2, with `Wa[i]` for the printed `Wa[n]`."""
    for v in prange(len(mask)):
        if mask[v]:
            mask[v] = False
            for i in range(offsets[v], offsets[v + 1]):
                candidate = cost[v] + weights[i]
                if candidate >= limit:
                    state[OVERFLOW] = 1
                else:
                    atomic_min(updated, targets[i], candidate)


@njit(parallel=True)
def _update(mask, cost, updated):
    """Algorithm 3. Returns the number of vertices updated."""
    changed = 0
    for v in prange(len(mask)):
        if cost[v] > updated[v]:
            cost[v] = updated[v]
            mask[v] = True
            changed += 1
        updated[v] = cost[v]
    return changed


@njit(parallel=True)
def _select_relax(offsets, targets, weights, mask, cost, updated, limit, state, read, length, write, scheduled):
    """Algorithm 5: as `_relax` over the read list; appends a target once when its updated cost is the candidate."""
    state[LENGTH] = 0
    for x in prange(length):
        v = read[x]
        if mask[v]:
            mask[v] = False
            for i in range(offsets[v], offsets[v + 1]):
                candidate = cost[v] + weights[i]
                if candidate >= limit:
                    state[OVERFLOW] = 1
                    continue
                t = targets[i]
                lowest = atomic_min(updated, t, candidate) >= candidate
                if lowest and not scheduled[t] and atomic_exchange(scheduled, t, 1) == 0:
                    write[atomic_add(state, LENGTH, 1)] = t


@njit(parallel=True)
def _select_update(mask, cost, updated, read, length, scheduled):
    """Algorithm 6. Returns the number of vertices updated."""
    changed = 0
    for x in prange(length):
        v = read[x]
        scheduled[v] = 0
        if cost[v] > updated[v]:
            cost[v] = updated[v]
            mask[v] = True
            changed += 1
    return changed


@njit(parallel=True)
def _switch(mask, state, read):
    """SWITCH_KERNEL: the read list from the mask."""
    state[LENGTH] = 0
    for v in prange(len(mask)):
        if mask[v]:
            read[atomic_add(state, LENGTH, 1)] = v


@contextmanager
def shared(among_all: bool) -> Iterator[None]:
    """Within it, all threads run a kernel, or one where the others are not worth waiting for."""
    threads = get_num_threads()
    set_num_threads(threads if among_all else 1)
    try:
        yield
    finally:
        set_num_threads(threads)


class CpuEngine:
    """The arrays and kernels of paper S for one source at a time; `dtype` is the distances' type."""

    def __init__(self, graph: Graph, dtype: np.typing.DTypeLike) -> None:
        self.graph, self.n = graph, graph.n
        self.limit = unreachable(dtype)
        self.cost, self.updated = np.empty(graph.n, dtype), np.empty(graph.n, dtype)
        self.mask, self.scheduled = np.empty(graph.n, np.bool_), np.zeros(graph.n, np.uint8)
        self.read, self.write = np.empty(graph.n, np.int32), np.empty(graph.n, np.int32)
        self.state = np.zeros(2, np.int64)
        self.counting, self.changed = False, []

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in vars(self).values() if isinstance(array, np.ndarray))

    def start(self, source: int) -> None:
        self.cost.fill(self.limit)
        self.updated.fill(self.limit)
        self.mask.fill(False)
        self.state.fill(0)
        self.cost[source], self.mask[source], self.read[0] = 0, True, source
        self.changed.clear()

    def widened(self) -> CpuEngine:
        return CpuEngine(self.graph, widened_type(self.cost.dtype))

    def _arcs(self):
        graph = self.graph
        return graph.offsets, graph.targets, graph.weights, self.mask, self.cost, self.updated, self.limit, self.state

    def _check_sums(self) -> None:
        if self.state[OVERFLOW]:
            raise Overflow

    def _committed(self, changed: int) -> bool:
        self.changed.append(changed)
        return changed > 0

    def relax(self) -> None:
        with shared(self.n >= ALONE):
            _relax(*self._arcs())
        self._check_sums()

    def update(self) -> bool:
        with shared(self.n >= ALONE):
            changed = _update(self.mask, self.cost, self.updated)
        return self._committed(changed)

    def select_relax(self, length: int) -> int:
        with shared(length >= ALONE):
            _select_relax(*self._arcs(), self.read, length, self.write, self.scheduled)
        self._check_sums()
        self.read, self.write = self.write, self.read
        return int(self.state[LENGTH])

    def select_update(self, length: int) -> bool:
        with shared(length >= ALONE):
            changed = _select_update(self.mask, self.cost, self.updated, self.read, length, self.scheduled)
        return self._committed(changed)

    def switch(self) -> int:
        with shared(self.n >= ALONE):
            _switch(self.mask, self.state, self.read)
        return int(self.state[LENGTH])


class CpuSolver(Blockwise):
    """What all CPU variants share: the last answer as host arrays, its certificate and predecessors.

    A subclass sets self.memory, and in `run` self.source and self.distances.
    """

    transfer = 0.0

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.source = -1
        self.distances = np.empty(0)

    def validate(self) -> Checked:
        """The certificate of validate.py. Raises Invalid."""
        check_distances(self.graph, self.source, self.distances)
        tight_tree(self.graph, self.source, self.distances)
        check_given(self, CpuSolver, CpuSolver.blocks(self))
        return CERTIFIED

    def leaving(self) -> np.ndarray:
        """The distances as `blocks` gives them."""
        return self.distances

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        yield from chosen("distances", self.leaving(), rows)

    def predecessors(self) -> np.ndarray:
        """int32 [n]: a shortest-path tree of the last answer."""
        return tight_tree(self.graph, self.source, self.distances)

    def close(self) -> None:
        """Does nothing: all memory is Python's."""


class PhaseSolver(PhaseVariant, CpuSolver):
    """A variant of paper S on the CPU."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.engine = CpuEngine(graph, graph.weights.dtype)

    @property
    def memory(self) -> int:
        return self.engine.nbytes

    def run(self, source: int) -> Run:
        """Answer one source; phases has seconds, mode, listed, threads."""
        start = time.perf_counter()
        seen = self._phases(source, self.selecting, self.thresholds)
        seconds = time.perf_counter() - start
        self.source, self.distances = source, self.engine.cost
        return Run(seconds, seconds, self._counters(seen), seen.arrays())


class Conventional(PhaseSolver):
    """Paper S, Algorithms 1 to 3: every phase visits every vertex, twice."""


class Selection(PhaseSolver):
    """Paper S, Algorithms 5 and 6 in every phase: only listed vertices are visited."""

    selecting = True


class Adaptive(Switching, PhaseSolver):
    """Paper S, Algorithm 4: switches between the two."""
