"""Paper H's search over many processes on the CPU (cluster.py): a level over blocks by Numba, messages by MPI.

Computation and communication alternate. Bottom-up half of a row's members make their block of it first, and the others
leave out what those tell them of.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import get_num_threads

from saitan.arc_parts import ArcParts
from saitan.bfs import cluster_code, cluster_step, cpu_step
from saitan.bfs.cluster import ClusterLevels, ClusterSolver, Part
from saitan.bfs.cluster_blocks import Block
from saitan.bfs.partition import Partition
from saitan.bfs.search import BOTTOM_UP, TOP_DOWN
from saitan.exchange import Exchange, Spent
from saitan.graph import Graph
from saitan.problem import Unavailable

# Frontiers that fewer arcs leave are one thread's: starting all of them takes longer.
SMALL_ARCS = 1 << 14


class HostPart(Part):
    """Bitmaps and found parents of all of the part's vertices, beside the answer of the slice."""

    def __init__(self, number: int, partition: Partition, members: Exchange, compress: bool) -> None:
        super().__init__(number, partition, members)
        self._gather = partial(cluster_code.gather, members) if compress else members.gather
        self.visited, self.frontier, self.following = (np.zeros(partition.words, np.uint32) for _ in range(3))
        self.found = np.empty(partition.part, np.int32)
        self.gathered = np.empty((partition.parts, partition.words), np.uint32)
        # Parents that leave and that arrive in a level. Memory that is asked for every time costs page faults.
        self._leaving, self._arrived = np.empty(partition.part, np.int32), np.empty(partition.slice, np.int32)

    @property
    def nbytes(self) -> int:
        arrays = (self.visited, self.frontier, self.following, self.found, self.gathered, self._leaving, self._arrived)
        return super().nbytes + sum(array.nbytes for array in arrays)

    def start(self, root: int) -> None:
        for bitmap in (self.visited, self.frontier, self.following):
            bitmap.fill(0)
        self.levels.fill(-1)
        self.parents.fill(-1)
        # Vertices beyond the last one count as visited, so that no step looks at them.
        left = self.vertices
        if left < self.partition.part:
            self.visited[-(-left // 32) :] = 0xFFFFFFFF
            if left % 32:
                self.visited[left // 32] = np.uint32(0xFFFFFFFF) << np.uint32(left % 32)
        local = root - self.number * self.partition.part
        if 0 <= local < self.partition.part:
            bit = np.uint32(1 << local % 32)
            self.frontier[local // 32] |= bit
            self.visited[local // 32] |= bit
        if 0 <= root - self.first < self.partition.slice:
            self.levels[root - self.first], self.parents[root - self.first] = 0, root

    def known(self, first: bool) -> np.ndarray:
        """What is visited, or found by members that made their block of this row first. first: whether this one did."""
        self._gather(self.following if first else np.zeros_like(self.following), self.gathered)
        return np.bitwise_or.reduce(self.gathered, axis=0) | self.visited

    def gather(self) -> None:
        """Tell all members what this one found."""
        self._gather(self.following, self.gathered)

    def pack(self) -> None:
        """Make the next frontier of what all found; put side by side the parents that this member sends."""
        words, place, parts = self.partition.slice_words, self.members.place, self.partition.parts
        cluster_step.merge(self.gathered, self.visited, self.frontier)
        self._counts, self._sizes = np.zeros((2, parts), np.int64)
        self._sent = cluster_step.pick(self.gathered, place, words, self.found, self._leaving, self._counts)
        self._awaited = cluster_step.awaited(self.gathered, place, words, self._sizes)

    def swap(self) -> None:
        """Send parents to the owners of their vertices."""
        out, arrived = self._leaving[: self._sent], self._arrived[: self._awaited]
        self.members.swap(out, self._counts, arrived, self._sizes, self.partition.slice)

    def write(self, level: int) -> tuple[int, int]:
        """Put what arrived into the slice. Returns its new vertices and their arcs."""
        slices = (self.levels, self.parents, self.degrees)
        words, place = self.partition.slice_words, self.members.place
        return cluster_step.write(self.gathered, place, words, self._arrived, level, *slices)


def _barren(block: Block) -> np.ndarray:
    """Heads without a tail in the block, a bitmap: there is nothing to look for."""
    return np.packbits(np.diff(block.backward.offsets) == 0, bitorder="little").view(np.uint32)


class HostLevels(ClusterLevels):
    """Levels by Numba's threads."""

    def __init__(self, blocks: list[Block], parts: dict[int, Part], world: Exchange, spent: Spent) -> None:
        super().__init__(blocks, parts, world, spent)
        self._ticket = np.zeros(1, np.int64)
        self._barren = {(block.row, block.column): _barren(block) for block in blocks}

    def compute(self, direction: str) -> None:
        partition = self.parts[self.blocks[0].row].partition
        if direction == TOP_DOWN or len(self.blocks) == 1:
            self.inspected = sum(self._block(block, direction, partition.words) for block in self.blocks)
            return
        first = partition.begins(self.world.place)
        begun, left = self.blocks[first], self.blocks[1 - first]
        self.inspected = self._block(begun, direction, partition.words)
        self.world.wait()
        known = {number: part.known(number == begun.row) for number, part in self.parts.items()}
        self.inspected += self._block(left, direction, partition.words, known[left.row])

    def _block(self, block: Block, direction: str, words: int, known: np.ndarray | None = None) -> int:
        """The first words: of the column's frontier top-down, of the row's heads bottom-up. Returns arcs looked at.

        known: heads that are not looked for bottom-up, the visited ones for None.
        """
        row, column, threads = self.parts[block.row], self.parts[block.column], get_num_threads()
        part = (block.column * row.partition.part, 0, words, self._ticket)
        if direction == BOTTOM_UP:
            done = (row.visited if known is None else known) | self._barren[block.row, block.column]
            sets = (column.frontier, done, row.following, row.found)
            return cpu_step.bottom_up(block.backward.offsets, block.backward.ends, *sets, *part, threads)
        sets = (column.frontier, row.visited, row.following, row.found)
        row.following.fill(0)
        if self.arcs < SMALL_ARCS:
            self._ticket[0] = 0
            return cpu_step.top_down_alone(block.forward.offsets, block.forward.ends, *sets, *part)
        return cpu_step.top_down(block.forward.offsets, block.forward.ends, *sets, *part, threads)

    def exchange(self, level: int) -> list[tuple[int, int]]:
        # Step by step for both parts: what one of them waits for, the other's messages use.
        parts = self.parts.values()
        for step in (HostPart.gather, HostPart.pack, HostPart.swap):
            for part in parts:
                step(part)
        return [part.write(level) for part in parts]


class Cluster(ClusterSolver):
    """Paper H's hybrid over all ranks that were joined, on their cores. alpha, beta: see search.Rule.

    exchange: "auto" or "host", which are one; compress: frontiers as in cluster_code.py.

    Raises ValueError for a number of ranks that the partition does not take, Unavailable for an exchange of GPUs.
    """

    def __init__(
        self,
        graph: Graph | ArcParts,
        *,
        alpha: float = 10.0,
        beta: float = 14.0,
        exchange: str = "auto",
        compress: bool = False,
    ) -> None:
        if exchange not in ("auto", "host"):
            raise Unavailable(f"exchange={exchange} is between GPUs; on the CPU there is host")
        self._compress = compress
        super().__init__(graph, alpha, beta)
        self.told = self.ranks.size > 1

    def made_part(self, number: int, members: Exchange) -> Part:
        return HostPart(number, self.partition, members, self._compress)

    def made_levels(self) -> ClusterLevels:
        return HostLevels(self.blocks_held, self.parts, self.world, self.spent)
