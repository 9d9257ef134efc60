"""Paper H's cluster with CPU and GPU together: every rank shares its blocks between its device and its cores.

As in the paper's Fig 8: the last level's frontier goes to the device, which makes its range of words of every block
while Numba's threads make theirs; what the device found comes back, the parents of it side by side, and joins what the
cores found. Bitmaps and parents of both then go to the other ranks by MPI, as those of the cores alone do
(cpu_cluster.py). Unlike there, the device's parents come back before the bitmaps are gathered, so that they are all
that it found.

Each rank's ratio is its own: `measured` is by its speeds on the levels before (cuda_share.Ratio).
"""

from __future__ import annotations

import time

import numpy as np
import pycuda.driver as driver

from saitan.arc_parts import ArcParts
from saitan.bfs import cluster_step
from saitan.bfs.cluster import ClusterLevels, ClusterSolver, Part
from saitan.bfs.cluster_blocks import Block
from saitan.bfs.cpu_cluster import HostLevels, HostPart
from saitan.bfs.cuda_cluster import NON_BLOCKING
from saitan.bfs.cuda_cluster_part import SENT, forecast_steps, steps_of
from saitan.bfs.cuda_share import Ratio
from saitan.bfs.cuda_step import RECORD, DeviceStep, blocks, launch
from saitan.bfs.partition import Partition
from saitan.bfs.search import TOP_DOWN, Found
from saitan.cuda import device
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.module import function
from saitan.exchange import Exchange, Spent
from saitan.graph import Graph
from saitan.problem import Run
from saitan.ranks import current


class SharedPart(HostPart):
    """Its sets on the host are page-locked; `attach` gives it those of the device.

    frontier_at, visited_at, following_at, found_at: addresses on the device; stream: the default one.
    """

    stream = None

    def __init__(self, number: int, partition: Partition, members: Exchange, compress: bool) -> None:
        super().__init__(number, partition, members, compress)
        self.visited, self.frontier, self.following = (
            driver.pagelocked_zeros(partition.words, np.uint32) for _ in range(3)
        )

    def attach(self, buffers: Buffers) -> None:
        made = self.partition
        self.frontier_at, self.visited_at, self.following_at = (
            pointer(buffers.empty(made.words, np.uint32)) for _ in range(3)
        )
        self.found_at, self._out_at = (pointer(buffers.empty(made.part, np.int32)) for _ in range(2))
        self._grid = blocks(made.words)
        self._starts_at = pointer(buffers.empty(self._grid[0] + 1, np.uint32))
        self._theirs, self._starts, self._out = (
            driver.pagelocked_empty(size, kind)
            for size, kind in ((made.words, np.uint32), (self._grid[0] + 1, np.uint32), (made.part, np.int32))
        )
        self._tally = function("bfs", "cluster", "tally", "iiiiiPP")
        self._scan = function("bfs", "cluster", "scan", "iP")
        self._pack = function("bfs", "cluster", "pack", "iiiiPPPP")

    @staticmethod
    def forecast(partition: Partition) -> int:
        """Bytes on the device."""
        return 12 * partition.words + 8 * partition.part + 4 * (blocks(partition.words)[0] + 1)

    def send(self) -> None:
        """Queue what the device begins a level with."""
        driver.memcpy_htod_async(self.frontier_at, self.frontier)
        driver.memcpy_htod_async(self.visited_at, self.visited)
        driver.memset_d32_async(self.following_at, 0, self.partition.words)

    def collect(self) -> None:
        """Queue putting the parents that the device found side by side, and what the host reads first."""
        # As a part of one member, which sends all that it found.
        sizes = (0, 1, self.partition.words, self.partition.words, self.following_at)
        launch(self._tally, self._grid, SENT, *sizes, self._starts_at)
        launch(self._scan, (1, 1), self._grid[0], self._starts_at)
        launch(self._pack, self._grid, *sizes, self._starts_at, self.found_at, self._out_at)
        driver.memcpy_dtoh_async(self._theirs, self.following_at)
        driver.memcpy_dtoh_async(self._starts, self._starts_at)

    def join(self, stream: driver.Stream) -> None:
        """Add what the device found, which it has ended, to what the cores did."""
        if found := int(self._starts[-1]):
            driver.memcpy_dtoh_async(self._out[:found], self._out_at, stream)
            stream.synchronize()
            cluster_step.join(self.following, self._theirs, self._starts, self._out, self.found)


class SharedLevels(HostLevels):
    """A search in which every block is made by the device and the cores together.

    taken, all: words of all levels, the cores' and both sides'.
    """

    def __init__(
        self,
        held: list[Block],
        parts: dict[int, SharedPart],
        world: Exchange,
        spent: Spent,
        steps: list[DeviceStep],
        ratio: str,
    ) -> None:
        super().__init__(held, parts, world, spent)
        self._steps, self._ratio = steps, Ratio(ratio)
        self._read = driver.pagelocked_empty(len(held), RECORD)
        self._begun, self._made = driver.Event(), [driver.Event() for _ in held]
        self._stream = driver.Stream(NON_BLOCKING)
        self.taken, self.all = 0, 0

    def start(self, root: int) -> Found:
        self.taken, self.all = 0, 0
        return super().start(root)

    def compute(self, direction: str) -> None:
        width = self.parts[self.blocks[0].row].partition.words
        share = self._ratio.words(direction, width)
        self._queue(direction, share, width)
        begin, inspected = time.perf_counter(), 0
        for block in self.blocks:
            self.parts[block.row].following.fill(0)
            if share:
                inspected += self._block(block, direction, share)
        worked = time.perf_counter() - begin
        for block, made in zip(self.blocks, self._made, strict=True):
            made.synchronize()
            self.parts[block.row].join(self._stream)
        seconds, held = self._made[-1].time_since(self._begun) / 1000, len(self.blocks)
        self._ratio.learn(direction, (held * share, worked), (held * (width - share), seconds))
        self.taken, self.all = self.taken + held * share, self.all + held * width
        self.inspected = inspected + int(self._read["arcs"].sum() + self._read["inspected"].sum())

    def _queue(self, direction: str, first: int, last: int) -> None:
        """The device's words of all blocks."""
        self._begun.record()
        for part in self.parts.values():
            part.send()
        for i, (block, step) in enumerate(zip(self.blocks, self._steps, strict=True)):
            row, column = self.parts[block.row], self.parts[block.column]
            step.forget()
            make = step.top_down if direction == TOP_DOWN else step.bottom_up
            make(column.frontier_at, row.visited_at, row.following_at, row.found_at, first, last)
            driver.memcpy_dtoh_async(self._read[i : i + 1], pointer(step.record))
            row.collect()
            self._made[i].record()


class Cluster(ClusterSolver):
    """Paper H's hybrid over all ranks that were joined, a GPU and some cores each. alpha, beta: see search.Rule.

    ratio: of the cores' share to the GPU's as of cuda_share.Ratio, or "measured"; compress: frontiers as in
    cluster_code.py. The answer is on the host, and is checked there.

    Raises ValueError for a number of ranks that the partition does not take; Unavailable, on every rank, where one has
    no GPU or not enough memory.
    """

    def __init__(
        self,
        graph: Graph | ArcParts,
        *,
        alpha: float = 10.0,
        beta: float = 14.0,
        ratio: str = "1:3",
        compress: bool = False,
    ) -> None:
        current().together_do(device)
        self._ratio, self._compress = ratio, compress
        super().__init__(graph, alpha, beta)
        self.transfer = self.buffers.upload_time

    @property
    def memory(self) -> int:
        return self.buffers.nbytes

    def made_part(self, number: int, members: Exchange) -> Part:
        return SharedPart(number, self.partition, members, self._compress)

    def made_levels(self) -> ClusterLevels:
        held, made = self.blocks_held, self.partition
        forecast = forecast_steps(held, made) + len(self.parts) * SharedPart.forecast(made)
        what = f"a rank's part of graph {self.source.name}"
        self.buffers = self.ranks.together_do(lambda: Buffers(forecast, what))
        return self.ranks.together_do(self._made)

    def _made(self) -> SharedLevels:
        for part in self.parts.values():
            part.attach(self.buffers)
        steps = steps_of(self.blocks_held, self.parts, self.buffers)
        return SharedLevels(self.blocks_held, self.parts, self.world, self.spent, steps, self._ratio)

    def run(self, root: int) -> Run:
        """Answer one root, on all ranks; the counters have the share of the cores of all ranks."""
        run = super().run(root)
        taken, words = self.world.total(np.array([self.levels.taken, self.levels.all], np.int64))
        run.counters["cpu_share"] = float(taken / words)
        return run

    def close(self) -> None:
        super().close()
        self.buffers.free()
