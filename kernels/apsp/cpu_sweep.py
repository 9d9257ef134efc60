"""Many sources in one sweep on the CPU: the twin of sweep.cu, a batch of sources a core.

The distances of a vertex from all sources of a batch fill a cache line, and every arc is read once for all of them.

1. Delling, Goldberg, Nowatzyk, Werneck: PHAST: hardware-accelerated shortest path trees. IPDPS 2011, section 5.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

from saitan.apsp.batches import counters, widening
from saitan.apsp.cpu import CpuSolver
from saitan.apsp.instances import Instance
from saitan.apsp.sweep import CORE, FAR, Climber, counted, inner_type, longest_path
from saitan.compiled import njit
from saitan.graph import Graph
from saitan.problem import Run
from saitan.sssp import unreachable
from saitan.sssp.hierarchy import Hierarchy, contract, in_type
from saitan.sssp.phases import Overflow

# Distances of a cache line.
LINE = 64
# Vertices whose distances are turned into rows at a time: a row of theirs fills two cache lines.
TILE = 32


@njit
def _up(position, offsets, tails, lengths, own, far, above, slot):
    """Distances of the positions reached upwards, the lowest first, into `above`; slot[p] becomes the place of p."""
    batch = above.shape[1]
    for i in range(len(position)):
        least = above[i]
        least[:] = far
        for s in range(len(own)):
            if own[s] == i:
                least[s] = 0
        for a in range(offsets[i], offsets[i + 1]):
            tail, length = above[tails[a]], lengths[a]
            for s in range(batch):
                least[s] = min(least[s], tail[s] + length)
        slot[position[i]] = i


@njit
def _core(table, entry, above, far, distances):
    """Distances of the core from those of its positions reached."""
    batch = above.shape[1]
    for c in range(len(table)):
        distances[c, :] = far
    for e in range(len(entry)):
        reached, row = above[e], table[entry[e]]
        for c in range(len(row)):
            length, least = row[c], distances[c]
            for s in range(batch):
                least[s] = min(least[s], reached[s] + length)


@njit
def _down(core, offsets, tails, lengths, above, slot, far, distances):
    """Distances of all positions below the core, in the order of the levels."""
    batch = distances.shape[1]
    for p in range(core, len(distances)):
        least, place = distances[p], slot[p]
        if place >= 0:
            # With an assignment of one array to another Numba compiles the text of an error, for seconds.
            for s in range(batch):
                least[s] = above[place, s]
        else:
            least[:] = far
        for a in range(np.uint64(offsets[p]), np.uint64(offsets[p + 1])):
            tail, length = distances[np.uint32(tails[a])], lengths[a]
            for s in range(batch):
                least[s] = min(least[s], tail[s] + length)


@njit
def _deliver(position, distances, far, unreached, rows):
    """Distances as rows, one a source, in the order of the graph's vertices; returns whether one does not fit."""
    lost, n = False, len(position)
    for low in range(0, n, TILE):
        high = min(low + TILE, n)
        for s in range(len(rows)):
            row = rows[s]
            for v in range(low, high):
                d = distances[np.uint32(position[v]), s]
                lost |= d != far and d >= unreached
                row[v] = unreached if d == far else d
    return lost


@njit(nogil=True)
def _batch(upward, table, down, vertex_position, far, unreached, work, rows):
    """A batch of at most as many sources as `work` has columns; returns whether a distance does not fit the rows."""
    position, first_of_core, offsets, tails, lengths, own = upward
    above, slot, distances = work
    _up(position, offsets, tails, lengths, own, far, above, slot)
    _core(table, position[first_of_core:], above[first_of_core:], far, distances)
    _down(len(table), *down, above, slot, far, distances)
    for p in position:
        slot[p] = -1
    return _deliver(vertex_position, distances, far, unreached, rows)


class Sweep:
    """The arrays of one graph's sweeps, for rows of distances of a type."""

    def __init__(self, graph: Graph, h: Hierarchy, dtype: np.dtype) -> None:
        self.dtype = np.dtype(dtype)
        self.inner = inner_type(h, self.dtype)
        self.batch, self.workers = LINE // self.inner.itemsize, numba.get_num_threads()
        far = FAR[self.inner]
        self._table = np.minimum(in_type(h.table, self.inner), far)
        self._down = h.down_offsets, h.down_tails, in_type(h.down_lengths, self.inner)
        self._work = [_Work(h, graph.n, self.batch, self.inner) for _ in range(self.workers)]

    @property
    def nbytes(self) -> int:
        held = [self._table, *self._down, *(x for work in self._work for x in work.arrays)]
        return sum({id(x): x.nbytes for x in held}.values())

    def rows(self, sources: np.ndarray, answer: np.ndarray) -> bool:
        """Distances from vertices into answer [sources, n]; returns whether one does not fit its type."""
        with ThreadPoolExecutor(self.workers) as pool:
            return any(pool.map(self._worker, range(self.workers), [sources] * self.workers, [answer] * self.workers))

    def _worker(self, worker: int, sources: np.ndarray, answer: np.ndarray) -> bool:
        work, far, lost = self._work[worker], FAR[self.inner], False
        for low in range(worker * self.batch, len(sources), self.workers * self.batch):
            part = sources[low : low + self.batch]
            up = work.climber.climb(part)
            upward = up.position, up.core, up.offsets, up.tails, up.lengths.astype(self.inner), up.own
            work.make_room(len(up.position))
            lost |= _batch(
                upward, self._table, self._down, work.climber.position, far, unreachable(self.dtype), work.arrays,
                answer[low : low + len(part)],
            )  # fmt: skip
        return bool(lost)


class Swept(CpuSolver):
    """A hierarchy that the constructor builds, and sweeps down it for a batch of sources on every core.

    core: most vertices left uncontracted, where no hierarchy is given. Raises Unavailable for weights that are no
    integers and for graphs too dense to contract.
    """

    def __init__(self, instance: Instance, hierarchy: Hierarchy | None = None, *, core: int = CORE) -> None:
        super().__init__(instance)
        self.hierarchy = hierarchy or contract(self.graph, core)
        self._prepare(self.dtype)

    @property
    def longest(self) -> float:
        """No sum is longer."""
        return longest_path(self.hierarchy)

    def _prepare(self, dtype: np.dtype) -> None:
        self.dtype, self.matrix = dtype, self.new_matrix(self.instance.sources, dtype)
        self.sweep = Sweep(self.graph, self.hierarchy, dtype)

    @property
    def memory(self) -> int:
        return self.matrix.nbytes + self.sweep.nbytes

    def run(self, query: list[int]) -> Run:
        """Answer one range of sources."""
        first, count = self.range_of(query)

        def attempt(dtype: np.dtype) -> None:
            if dtype != self.dtype:
                self._prepare(dtype)
            if self.sweep.rows(np.arange(first, first + count), self.matrix[:count]):
                raise Overflow

        start = time.perf_counter()
        widening(attempt, self.dtype)
        seconds = time.perf_counter() - start
        self.distances = self.matrix[:count]
        found = counters(self.instance, count, seconds, self.dtype, self.graph_bytes + self.sweep.nbytes)
        found |= counted(self.hierarchy, count, min(count, self.sweep.batch))
        return Run(seconds, seconds, found, work={"bytes": self.distances.nbytes})


class _Work:
    """A worker's own arrays."""

    def __init__(self, h: Hierarchy, n: int, batch: int, inner: np.dtype) -> None:
        self.climber = Climber(h)
        self._slot, self._distances = np.full(n, -1, np.int32), np.empty((n, batch), inner)
        self._above = np.empty((1024, batch), inner)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        return self._above, self._slot, self._distances

    def make_room(self, count: int) -> None:
        if count > len(self._above):
            self._above = np.empty((2 * count, self._above.shape[1]), self._above.dtype)
