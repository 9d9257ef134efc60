"""Paper H's search over many processes on the CPU: blocks of the matrix, bitmaps along columns, parents along rows.

A level, as in the paper's Fig 8 without its GPU steps: every process makes the next vertices of each of its blocks from
the frontier of the block's column (cpu_step.py). The members of a part gather their bitmaps of it, so that each knows
the next frontier and who sends which parent (cluster_step.py); parents go to the owners of their vertices, and the
numbers of new vertices and of their arcs are added up for the switching rule. Computation and communication alternate.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numba import get_num_threads

from saitan import ranks
from saitan.arc_parts import ArcParts, in_parts
from saitan.bfs import cluster_step, cpu_step
from saitan.bfs.cluster_blocks import Block, blocks_of
from saitan.bfs.cluster_validate import check
from saitan.bfs.partition import Partition
from saitan.bfs.search import BOTTOM_UP, Found, Rule, search
from saitan.blocks import Block as Answer
from saitan.blocks import Blockwise
from saitan.calls import checked_vertex
from saitan.exchange import Exchange, Spent
from saitan.graph import Graph
from saitan.problem import Checked, Run

# Frontiers that fewer arcs leave are one thread's: starting all of them takes longer.
SMALL_ARCS = 1 << 14


class Part:
    """What a member holds of one part: bitmaps and found parents of all its vertices, the answer of its own slice.

    levels, parents, degrees: of the slice; others: its vertices' arcs to other vertices; ends: their arcs as Graph500
    counts them (search.EdgeCount).
    """

    def __init__(self, number: int, partition: Partition, members: Exchange) -> None:
        self.number, self.partition, self.members = number, partition, members
        self.visited, self.frontier, self.following = (np.zeros(partition.words, np.uint32) for _ in range(3))
        self.found = np.empty(partition.part, np.int32)
        self.gathered = np.empty((partition.parts, partition.words), np.uint32)
        self.levels, self.parents = np.empty(partition.slice, np.int32), np.empty(partition.slice, np.int32)
        self.first = number * partition.part + members.place * partition.slice
        self.degrees = self.others = self.ends = np.empty(0, np.int64)

    @property
    def nbytes(self) -> int:
        arrays = (self.visited, self.frontier, self.following, self.found, self.gathered)
        return sum(array.nbytes for array in (*arrays, self.levels, self.parents, self.degrees, self.ends))

    def own(self, values: np.ndarray) -> np.ndarray:
        """The slice of an array of the whole part."""
        return values[self.members.place * self.partition.slice :][: self.partition.slice].copy()

    def start(self, root: int) -> int:
        """Forget the last search. Returns the arcs that leave the root where it is in the slice."""
        for bitmap in (self.visited, self.frontier, self.following):
            bitmap.fill(0)
        self.levels.fill(-1)
        self.parents.fill(-1)
        # Vertices beyond the last one count as visited, so that no step looks at them.
        left = max(0, self.partition.n - self.number * self.partition.part)
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
            return int(self.degrees[root - self.first])
        return 0

    def exchange(self, level: int) -> tuple[int, int]:
        """Agree on what was found, send parents to their owners. Returns the slice's new vertices and their arcs."""
        words, place, parts = self.partition.slice_words, self.members.place, self.partition.parts
        self.members.gather(self.following, self.gathered)
        cluster_step.merge(self.gathered, self.visited, self.frontier)
        counts, sizes = np.zeros(parts, np.int64), np.zeros(parts, np.int64)
        out = np.empty(self.partition.part, np.int32)
        sent = cluster_step.pick(self.gathered, place, words, self.found, out, counts)
        arrived = np.empty(cluster_step.awaited(self.gathered, place, words, sizes), np.int32)
        self.members.swap(out[:sent], counts, arrived, sizes, self.partition.slice)
        slices = (self.levels, self.parents, self.degrees)
        return cluster_step.write(self.gathered, place, words, arrived, level, *slices)


class ClusterLevels:
    """A search over the blocks of all processes (search.Levels); `spent` is of this process.

    phases: name -> an entry a level, of this process.
    """

    def __init__(self, blocks: list[Block], parts: dict[int, Part], world: Exchange, spent: Spent) -> None:
        self.blocks, self.parts, self._world, self.spent = blocks, parts, world, spent
        self._ticket = np.zeros(1, np.int64)
        self._arcs = 0
        self.phases: dict[str, list[float]] = {}

    def start(self, root: int) -> Found:
        self.phases = {name: [] for name in ("compute", "communication", "waiting", "sent")}
        self._arcs = int(self._world.total(np.array([sum(part.start(root) for part in self.parts.values())]))[0])
        return Found(1, self._arcs)

    def step(self, direction: str, level: int) -> Found:
        begin, before = time.perf_counter(), (self.spent.moving, self.spent.waiting, self.spent.sent)
        inspected = sum(self._compute(block, direction) for block in self.blocks)
        self._world.wait()
        found = [part.exchange(level) for part in self.parts.values()]
        own = np.array([*np.sum(found, axis=0), inspected], np.int64)
        vertices, self._arcs, inspected = (int(value) for value in self._world.total(own))
        seconds = time.perf_counter() - begin
        moving, waiting, sent = (
            self.spent.moving - before[0],
            self.spent.waiting - before[1],
            self.spent.sent - before[2],
        )
        noted = (seconds - moving - waiting, moving, waiting, sent)
        for name, value in zip(self.phases, noted, strict=True):
            self.phases[name].append(value)
        return Found(vertices, self._arcs, inspected, seconds)

    def _compute(self, block: Block, direction: str) -> int:
        """The vertices of the block's row that its column's frontier leads to. Returns arcs looked at."""
        row, column, threads = self.parts[block.row], self.parts[block.column], get_num_threads()
        sets = (column.frontier, row.visited, row.following, row.found)
        part = (block.column * row.partition.part, 0, row.partition.words, self._ticket)
        if direction == BOTTOM_UP:
            return cpu_step.bottom_up(block.backward.offsets, block.backward.ends, *sets, *part, threads)
        row.following.fill(0)
        if self._arcs < SMALL_ARCS:
            self._ticket[0] = 0
            return cpu_step.top_down_alone(block.forward.offsets, block.forward.ends, *sets, *part)
        return cpu_step.top_down(block.forward.offsets, block.forward.ends, *sets, *part, threads)


class Cluster(Blockwise):
    """Paper H's hybrid over all ranks that were joined. alpha, beta: see search.Rule.

    Raises ValueError for a number of ranks that the partition does not take.
    """

    transfer = 0.0

    def __init__(self, graph: Graph | ArcParts, *, alpha: float = 10.0, beta: float = 14.0) -> None:
        begin = time.perf_counter()
        self.ranks, self._spent = ranks.current(), Spent()
        self.source = in_parts(graph)
        self.partition = Partition(self.source.n, self.ranks.size)
        self._world = Exchange(self.ranks.world, self._spent)
        self.blocks_held = blocks_of(self.source, self.partition, self._world)
        self.parts = {part.number: part for part in self._parts()}
        self._halved, self._loops = not self.source.directed, False
        self._count_arcs()
        self._levels = ClusterLevels(self.blocks_held, self.parts, self._world, self._spent)
        self.rule = Rule(self.source.n, self.source.m, alpha, beta)
        self.construction = time.perf_counter() - begin
        rows = {id(rows): rows.nbytes for block in self.blocks_held for rows in (block.forward, block.backward)}
        self.memory = sum(rows.values()) + sum(part.nbytes for part in self.parts.values())
        self.root = -1

    def _parts(self) -> Iterator[Part]:
        """This process's parts in ascending order, which is that of all calls to their members."""
        for number in dict.fromkeys(self.partition.pair(self.ranks.rank)):
            comm = self.ranks.among(self.partition.members(number))
            yield Part(number, self.partition, Exchange(comm, self._spent))

    def _count_arcs(self) -> None:
        """Degrees of the slices, and their arcs as Graph500 counts edges: see search.EdgeCount."""
        odd = 0
        for part in self.parts.values():
            block = next(block for block in self.blocks_held if block.column == part.number)
            loops = np.zeros(self.partition.part, np.int64)
            if block.row == block.column:
                loops = cluster_step.loops(block.forward.offsets, block.forward.ends)
            degrees = np.diff(block.forward.offsets)
            part.degrees = part.own(part.members.total(degrees))
            part.ends = part.own(part.members.total(loops))
            odd |= int((part.ends % 2).any())
        stored_once = self._halved and bool(self._world.largest(np.array([odd]))[0])
        for part in self.parts.values():
            part.others = part.degrees - part.ends
            part.ends = part.degrees + part.ends if stored_once else part.degrees

    def run(self, root: int) -> Run:
        """Answer one root, on all ranks; phases has direction, frontier, inspected, seconds, and what took them."""
        root = checked_vertex("root", root, self.source.n)
        self._check_root(root)
        self._world.wait()
        before = self._spent.moving, self._spent.waiting, self._spent.sent
        begin = time.perf_counter()
        trace = search(self._levels, self.rule, root)
        own = time.perf_counter() - begin
        moving, waiting = self._spent.moving - before[0], self._spent.waiting - before[1]
        sent = self._spent.sent - before[2]
        self.root = root
        times = self._world.largest(np.array([own, own - moving - waiting, moving, waiting]))
        seconds, compute, communication, waited = (float(value) for value in times)
        ends = sum(int(part.ends[part.levels >= 0].sum()) for part in self.parts.values())
        sums = self._world.total(np.array([ends, sent], np.int64))
        edges = int(sums[0]) // 2 if self._halved else int(sums[0])
        counters = trace.counters() | {"construction_s": self.construction, "edges": edges, "sent_bytes": int(sums[1])}
        counters |= {"compute_s": compute, "communication_s": communication, "waiting_s": waited}
        counters |= {"teps": edges / seconds, "teps_median": edges / seconds}
        return Run(seconds, seconds, counters, trace.arrays() | self._phases())

    def _phases(self) -> dict[str, np.ndarray]:
        """Of each level the slowest rank's times and all ranks' bytes."""
        own = self._levels.phases
        names = ("compute", "communication", "waiting")
        slowest = self._world.largest(np.array([own[name] for name in names]).ravel()).reshape(len(names), -1)
        sent = self._world.total(np.array(own["sent"], np.int64))
        return dict(zip(names, slowest, strict=True)) | {"sent": sent}

    def _check_root(self, root: int) -> None:
        """Raises ValueError, on every rank, for a root without an arc to another vertex."""
        others = sum(
            int(part.others[root - part.first])
            for part in self.parts.values()
            if 0 <= root - part.first < self.partition.slice
        )
        if not self._world.total(np.array([others]))[0]:
            name = self.source.name
            raise ValueError(f"root {root} of graph {name} is isolated: it has no arc to another vertex")

    def validate(self) -> Checked:
        """Graph500's rules, each rank over its blocks and slices. Raises Invalid, on every rank the same."""
        return check(self)

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Answer]:
        """The last answer slice by slice, on every rank; every rank must take all blocks."""
        for name in ("levels", "parents"):
            for number in range(self.partition.parts):
                for place, owner in enumerate(self.partition.members(number)):
                    first = number * self.partition.part + place * self.partition.slice
                    values = np.empty(self.partition.slice, np.int32)
                    if owner == self.ranks.rank:
                        values[:] = getattr(self.parts[number], name)
                    self._world.spread(values, owner)
                    values = values[: max(0, self.source.n - first)]
                    if rows is None:
                        yield from [Answer(name, first, values)] if len(values) else []
                    else:
                        low, high = np.searchsorted(rows, [first, first + len(values)])
                        for row in rows[low:high]:
                            yield Answer(name, int(row), values[row - first : row - first + 1])

    def close(self) -> None:
        """Free the communicators of the parts."""
        for part in self.parts.values():
            if part.members.comm is not None:
                part.members.comm.Free()
