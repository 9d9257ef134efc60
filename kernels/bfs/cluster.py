"""Paper H's search over many processes: blocks of the matrix, bitmaps along columns, parents along rows.

A level, as in the paper's Fig 8: every process makes the next vertices of each of its blocks from the frontier of the
block's column. The members of a part gather their bitmaps of it, so that each knows the next frontier and who sends
which parent; parents go to the owners of their vertices, and the numbers of new vertices and of their arcs are added up
for the switching rule. The steps are in cpu_cluster.py and cuda_cluster.py; here is what drives them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from saitan import ranks
from saitan.arc_parts import ArcParts, in_parts
from saitan.bfs import cluster_step
from saitan.bfs.cluster_blocks import Block, blocks_of
from saitan.bfs.cluster_validate import check
from saitan.bfs.partition import Partition
from saitan.bfs.search import Found, Rule, search
from saitan.blocks import Block as Answer
from saitan.blocks import Blockwise, check_given, check_rows
from saitan.exchange import Exchange, Spent
from saitan.graph import Graph
from saitan.problem import Checked, Run

NOTED = ("compute", "communication", "waiting", "sent")


class Part:
    """What a member holds of one part, on the host: the answer of its own slice, and degrees.

    levels, parents, degrees: of the slice; others: its vertices' arcs to other vertices; ends: their arcs as Graph500
    counts them (search.EdgeCount).
    """

    def __init__(self, number: int, partition: Partition, members: Exchange) -> None:
        self.number, self.partition, self.members = number, partition, members
        self.levels, self.parents = np.empty(partition.slice, np.int32), np.empty(partition.slice, np.int32)
        self.first = number * partition.part + members.place * partition.slice
        self.degrees = self.others = self.ends = np.empty(0, np.int64)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (self.levels, self.parents, self.degrees, self.ends))

    @property
    def vertices(self) -> int:
        """How many of the part's vertices the graph has."""
        return min(max(0, self.partition.n - self.number * self.partition.part), self.partition.part)

    def own(self, values: np.ndarray) -> np.ndarray:
        """The slice of an array of the whole part."""
        return values[self.members.place * self.partition.slice :][: self.partition.slice].copy()

    def leaving(self, root: int) -> int:
        """The arcs that leave the root, where it is in the slice."""
        local = root - self.first
        return int(self.degrees[local]) if 0 <= local < self.partition.slice else 0

    def start(self, root: int) -> None:
        """Forget the last search, and put the root on level 0."""
        raise NotImplementedError

    def deliver(self) -> None:
        """Make levels and parents the last answer's, where they are not."""


class ClusterLevels:
    """A search over the blocks of all processes (search.Levels); `spent` is of this process.

    phases: name -> an entry a level, of this process. A subclass computes and exchanges, and sets `inspected` in
    either; or it makes a level at once.
    """

    # Whether communication begins before computation ends, so that no barrier stands between them.
    overlaps = False

    def __init__(self, blocks: list[Block], parts: dict[int, Part], world: Exchange, spent: Spent) -> None:
        self.blocks, self.parts, self.world, self.spent = blocks, parts, world, spent
        self.arcs, self.inspected = 0, 0
        self.phases: dict[str, list[float]] = {}

    def compute(self, direction: str) -> None:
        """The vertices of every block's row that its column's frontier leads to."""
        raise NotImplementedError

    def exchange(self, level: int) -> list[tuple[int, int]]:
        """Agree on what was found, send parents. Returns each own slice's new vertices and arcs."""
        raise NotImplementedError

    def get_ready(self) -> None:
        """What comes before a search, off the clock."""

    def free(self) -> None:
        """Give back what no collector does."""

    def start(self, root: int) -> Found:
        self.phases = {name: [] for name in NOTED}
        for part in self.parts.values():
            part.start(root)
        own = sum(part.leaving(root) for part in self.parts.values())
        self.arcs = int(self.world.total(np.array([own]))[0])
        return Found(1, self.arcs)

    def make(self, direction: str, level: int) -> tuple[int, int, int]:
        """A level, added to `spent`. Returns its vertices, their arcs, and arcs looked at, of all ranks."""
        self.compute(direction)
        if not self.overlaps:
            self.world.wait()
        found = self.exchange(level)
        own = np.array([sum(of_part[0] for of_part in found), sum(of_part[1] for of_part in found), self.inspected])
        vertices, arcs, inspected = self.world.total(own).tolist()
        return vertices, arcs, inspected

    def step(self, direction: str, level: int) -> Found:
        begin, before = time.perf_counter(), (self.spent.moving, self.spent.waiting, self.spent.sent)
        vertices, self.arcs, inspected = self.make(direction, level)
        seconds = time.perf_counter() - begin
        moving, waiting, sent = (
            self.spent.moving - before[0],
            self.spent.waiting - before[1],
            self.spent.sent - before[2],
        )
        noted = (seconds - moving - waiting, moving, waiting, sent)
        for name, value in zip(self.phases, noted, strict=True):
            self.phases[name].append(value)
        return Found(vertices, self.arcs, inspected, seconds)


class ClusterSolver(Blockwise):
    """Paper H's hybrid over all ranks that were joined. alpha, beta: see search.Rule.

    A subclass makes parts and levels. Raises ValueError for a number of ranks that the partition does not take.
    """

    transfer = 0.0
    # Whether a rank leaves out what others have found in the same level.
    told = False

    def __init__(self, graph: Graph | ArcParts, alpha: float, beta: float) -> None:
        begin = time.perf_counter()
        self.ranks, self.spent = ranks.current(), Spent()
        self.source = in_parts(graph)
        self.partition = Partition(self.source.n, self.ranks.size)
        self.world = Exchange(self.ranks.world, self.spent)
        self.blocks_held = blocks_of(self.source, self.partition, self.world)
        self.parts = {part.number: part for part in self._parts()}
        self._halved = not self.source.directed
        self._count_arcs()
        self.construction = time.perf_counter() - begin
        self.levels = self.made_levels()
        self.rule = Rule(self.source.n, self.source.m, alpha, beta)
        self.root = -1

    def made_part(self, number: int, members: Exchange) -> Part:
        """A part of this process; all of the part's members call this together."""
        raise NotImplementedError

    def made_levels(self) -> ClusterLevels:
        """The search over the parts and blocks, which are there."""
        raise NotImplementedError

    @property
    def memory(self) -> int:
        rows = {id(rows): rows.nbytes for block in self.blocks_held for rows in (block.forward, block.backward)}
        return sum(rows.values()) + sum(part.nbytes for part in self.parts.values())

    def _parts(self) -> Iterator[Part]:
        """This process's parts in ascending order, which is that of all calls to their members."""
        for number in dict.fromkeys(self.partition.pair(self.ranks.rank)):
            comm = self.ranks.among(self.partition.members(number))
            yield self.made_part(number, Exchange(comm, self.spent))

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
        stored_once = self._halved and bool(self.world.largest(np.array([odd]))[0])
        for part in self.parts.values():
            part.others = part.degrees - part.ends
            part.ends = part.degrees + part.ends if stored_once else part.degrees

    def run(self, root: int) -> Run:
        """Answer one root, on all ranks; phases has direction, frontier, inspected, seconds, and what took them."""
        self._check_root(root)
        self.levels.get_ready()
        self.world.wait()
        before = self.spent.moving, self.spent.waiting, self.spent.sent
        begin = time.perf_counter()
        trace = search(self.levels, self.rule, root)
        own = time.perf_counter() - begin
        moving, waiting = self.spent.moving - before[0], self.spent.waiting - before[1]
        sent = self.spent.sent - before[2]
        self.root = root
        for part in self.parts.values():
            part.deliver()
        total = time.perf_counter() - begin
        times = self.world.largest(np.array([own, own - moving - waiting, moving, waiting, total]))
        seconds, compute, communication, waited, total = (float(value) for value in times)
        ends = sum(int(part.ends[part.levels >= 0].sum()) for part in self.parts.values())
        sums = self.world.total(np.array([ends, sent], np.int64))
        edges = int(sums[0]) // 2 if self._halved else int(sums[0])
        counters = trace.counters() | {"construction_s": self.construction, "edges": edges, "sent_bytes": int(sums[1])}
        counters |= {"compute_s": compute, "communication_s": communication, "waiting_s": waited}
        counters |= {"teps": edges / seconds, "teps_median": edges / seconds}
        return Run(seconds, total, counters, trace.arrays() | self._phases())

    def _phases(self) -> dict[str, np.ndarray]:
        """Of each level the slowest rank's times and all ranks' bytes."""
        own = self.levels.phases
        names = NOTED[:3]
        slowest = self.world.largest(np.array([own[name] for name in names]).ravel()).reshape(len(names), -1)
        sent = self.world.total(np.array(own["sent"], np.int64))
        return dict(zip(names, slowest, strict=True)) | {"sent": sent}

    def _check_root(self, root: int) -> None:
        """Raises ValueError, on every rank, for a root without an arc to another vertex."""
        others = sum(
            int(part.others[root - part.first])
            for part in self.parts.values()
            if 0 <= root - part.first < self.partition.slice
        )
        if not self.world.total(np.array([others]))[0]:
            name = self.source.name
            raise ValueError(f"root {root} of graph {name} reaches nothing: no arc goes from it to another vertex")

    def validate(self) -> Checked:
        """Graph500's rules, each rank over its blocks and slices. Raises Invalid, on every rank the same."""
        checked = check(self)
        check_given(self, ClusterSolver, ClusterSolver.blocks(self))
        return checked

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Answer]:
        """The last answer slice by slice, on every rank; every rank must take all blocks."""
        for name in ("levels", "parents"):
            if rows is not None:
                check_rows(name, self.source.n, rows)
            for number in range(self.partition.parts):
                for place, owner in enumerate(self.partition.members(number)):
                    first = number * self.partition.part + place * self.partition.slice
                    values = np.empty(self.partition.slice, np.int32)
                    if owner == self.ranks.rank:
                        values[:] = getattr(self.parts[number], name)
                    self.world.spread(values, owner)
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
