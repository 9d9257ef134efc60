"""Paper H's CPU and GPU together: both make a part of every level at once, and merge what they found.

Each side has the whole graph and the whole bitmaps, and takes a range of words: the first ones of the frontier
top-down, of the vertices bottom-up, are the CPU's. The GPU's part is queued first (frontier up, kernels, next bitmap
down, all in page-locked memory), so that it goes on while Numba's threads make the CPU's. The merged bitmap is the next
frontier of both. Parents stay with the side that found them; both are right where both found one; they are
merged after the last level.

The paper leaves open how to choose the ratio. `measured` gives each side what it did in a second on the levels before,
of the same direction.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pycuda.driver as driver
from numba import get_num_threads, prange

from saitan.bfs import cpu_step
from saitan.bfs.cuda import described
from saitan.bfs.cuda_step import RECORD, DeviceStep, words
from saitan.bfs.search import BOTTOM_UP, TOP_DOWN, EdgeCount, Found, Rule, reverse, search
from saitan.bfs.validate import check
from saitan.blocks import Blockwise, check_given, chosen
from saitan.compiled import njit
from saitan.cuda.buffers import Buffers, pointer
from saitan.graph import Graph
from saitan.problem import Block, Checked, Run

SHARES = {"0:1": 0.0, "1:3": 0.25, "1:1": 0.5}
# Levels of fewer vertices say nothing about speed; each new measurement counts for this part.
LEAST_MEASURED, WEIGHT = 1 << 12, 0.5


class Ratio:
    """The CPU's share of a level.

    kind: "0:1", "1:3", "1:1" (CPU : GPU), or "measured": by both sides' speeds, beginning with 1:3.
    """

    def __init__(self, kind: str) -> None:
        self._measured = kind == "measured"
        self._share = dict.fromkeys((TOP_DOWN, BOTTOM_UP), SHARES.get(kind, SHARES["1:3"]))

    def words(self, direction: str, width: int) -> int:
        """How many of a bitmap's words are the CPU's."""
        return round(self._share[direction] * width)

    def learn(self, direction: str, cpu: tuple[int, float], gpu: tuple[int, float]) -> None:
        """What either side did on a level: words, seconds."""
        if not self._measured or 32 * min(cpu[0], gpu[0]) < LEAST_MEASURED:
            return
        speeds = [amount / max(seconds, 1e-9) for amount, seconds in (cpu, gpu)]
        wanted = speeds[0] / sum(speeds)
        # Either side keeps enough to be measured again.
        share = self._share[direction] * (1 - WEIGHT) + wanted * WEIGHT
        self._share[direction] = min(max(share, 0.01), 0.99)


@njit(parallel=True)
def _merge(mine, theirs):
    for w in prange(len(mine)):
        mine[w] |= theirs[w]


@njit(parallel=True)
def _merge_parents(mine, theirs):
    for v in prange(len(mine)):
        if mine[v] < 0:
            mine[v] = theirs[v]


class SharedLevels:
    """A search that CPU and GPU make together (search.Levels)."""

    def __init__(self, forward: Graph, backward: Graph, buffers: Buffers, ratio: str) -> None:
        self.forward, self.backward, self.ratio = forward, backward, Ratio(ratio)
        self.matrix = DeviceStep(forward, backward, buffers)
        n, width = forward.n, words(forward.n)
        self.width = width
        self._sets = [pointer(buffers.empty(width, np.uint32)) for _ in range(3)]
        self._parents = buffers.empty(n, np.int32)
        self.frontier, self.visited, self.following, self._theirs = (
            driver.pagelocked_empty(width, np.uint32) for _ in range(4)
        )
        self._their_parents, self._record = driver.pagelocked_empty(n, np.int32), driver.pagelocked_empty(1, RECORD)
        self.levels, self.parents = np.empty(n, np.int32), np.empty(n, np.int32)
        self._ticket = np.zeros(1, np.int64)
        self._events = [driver.Event() for _ in range(2)]
        self.taken, self.all = 0, 0

    @staticmethod
    def forecast(forward: Graph, backward: Graph) -> int:
        """Bytes on the device."""
        return DeviceStep.forecast(forward, backward) + 4 * forward.n + 12 * words(forward.n)

    def start(self, root: int) -> Found:
        cpu_step.clear(self.levels, self.parents, self.visited, self.frontier, self.following)
        bit = np.uint32(1 << root % 32)
        self.frontier[root // 32] |= bit
        self.visited[root // 32] |= bit
        self.levels[root], self.parents[root] = 0, root
        driver.memset_d32_async(pointer(self._parents), 0xFFFFFFFF, self.forward.n)
        self.taken, self.all = 0, 0
        return Found(1, int(self.forward.offsets[root + 1] - self.forward.offsets[root]))

    def step(self, direction: str, level: int) -> Found:
        begin = time.perf_counter()
        share = self.ratio.words(direction, self.width)
        self.taken, self.all = self.taken + share, self.all + self.width
        if share < self.width:
            self._queue_gpu(direction, share)
        rows, inspected, worked = self.forward if direction == TOP_DOWN else self.backward, 0, time.perf_counter()
        self.following.fill(0)
        if share:
            step = cpu_step.top_down if direction == TOP_DOWN else cpu_step.bottom_up
            sets = (self.frontier, self.visited, self.following, self.parents)
            inspected = step(rows.offsets, rows.targets, *sets, 0, 0, share, self._ticket, get_num_threads())
        worked = time.perf_counter() - worked
        if share < self.width:
            self._events[1].synchronize()
            seconds = self._events[1].time_since(self._events[0]) / 1000
            self.ratio.learn(direction, (share, worked), (self.width - share, seconds))
            _merge(self.following, self._theirs)
            inspected += int(self._record[0]["arcs"] + self._record[0]["inspected"])
        vertices, arcs = cpu_step.commit(
            self.following, self.visited, self.levels, self.forward.offsets, level, get_num_threads()
        )
        self.frontier, self.following = self.following, self.frontier
        return Found(vertices, arcs, inspected, time.perf_counter() - begin)

    def _queue_gpu(self, direction: str, first: int) -> None:
        """The GPU's part, from word `first` on; its next bitmap arrives in self._theirs."""
        frontier, visited, following = self._sets
        self._events[0].record()
        driver.memcpy_htod_async(frontier, self.frontier)
        driver.memcpy_htod_async(visited, self.visited)
        driver.memset_d32_async(following, 0, self.width)
        self.matrix.forget()
        step = self.matrix.top_down if direction == TOP_DOWN else self.matrix.bottom_up
        step(frontier, visited, following, pointer(self._parents), first, self.width)
        driver.memcpy_dtoh_async(self._theirs, following)
        driver.memcpy_dtoh_async(self._record, pointer(self.matrix.record))
        self._events[1].record()

    def gather(self) -> None:
        """After the last level: the GPU's parents where the CPU has none."""
        driver.memcpy_dtoh(self._their_parents, pointer(self._parents))
        _merge_parents(self.parents, self._their_parents)


class Shared(Blockwise):
    """The hybrid on CPU and GPU together. ratio: the CPU's share to the GPU's, or "measured"; alpha, beta: search.Rule.

    The answer is on the host, and is checked there. Kernel time is from the first operation of either side to the
    merged answer.
    """

    def __init__(self, graph: Graph, *, alpha: float = 10.0, beta: float = 14.0, ratio: str = "1:3") -> None:
        begin = time.perf_counter()
        backward = reverse(graph)
        self.construction = time.perf_counter() - begin
        self.graph, self.edges, self.root = graph, EdgeCount(graph), -1
        self.buffers = Buffers(SharedLevels.forecast(graph, backward), described(graph))
        self._levels = SharedLevels(graph, backward, self.buffers, ratio)
        self.levels, self.parents = self._levels.levels, self._levels.parents
        self.transfer = self.buffers.upload_time
        self.memory = self.buffers.nbytes
        self.rule = Rule(graph.n, graph.m, alpha, beta)

    def run(self, root: int) -> Run:
        """Answer one root; phases has direction, frontier, inspected, seconds."""
        begin = time.perf_counter()
        trace = search(self._levels, self.rule, root)
        self._levels.gather()
        total = time.perf_counter() - begin
        self.root = root
        share = self._levels.taken / self._levels.all
        counters = trace.counters() | {"construction_s": self.construction, "cpu_share": share}
        return self.edges.run(self.levels, Run(total, total, counters, trace.arrays()))

    def validate(self) -> Checked:
        """Graph500's rules, on the host. Raises Invalid."""
        checked = check(self.graph, self.root, self.levels, self.parents)
        check_given(self, Shared, Shared.blocks(self))
        return checked

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        yield from chosen("levels", self.levels, rows)
        yield from chosen("parents", self.parents, rows)

    def close(self) -> None:
        self.buffers.free()
