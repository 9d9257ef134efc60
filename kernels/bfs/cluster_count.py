"""What a search over many processes looks at and sends, counted by its partition without running them.

The levels and directions of a search are the same on any number of processes, and they determine all of it: a head is
found in every block of its row whose column holds one of its tails on the level before; bottom-up a block's rows are
read up to that tail. Where processes tell one another what they find, the block that a process makes last leaves out
heads that others found in their first one: so on the CPU (cpu_cluster.py); by peers (cuda_cluster_peers.py) the others
may be at work still.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from saitan.bfs.partition import Partition
from saitan.bfs.search import TOP_DOWN, reverse
from saitan.compiled import njit
from saitan.graph import Graph


@dataclass(frozen=True)
class Counted:
    """Of every level that was made from a frontier; n, m: of the graph.

    inspected  int64 [levels]: arcs looked at by all processes
    largest    int64 [levels]: by the process that looks at most
    opened     int64 [levels]: heads that a process looks for bottom-up, in all its blocks; 0 top-down; the most of any
    reached    int64 [levels]: heads that are found in all its blocks' rows, by any process; the most of any
    bitmaps    bytes of bitmaps that a process sends in a level
    parents    int64 [levels]: parents that all processes send
    tells      bool [levels]: whether processes tell the others of bitmaps within the level
    """

    n: int
    m: int
    processes: int
    inspected: np.ndarray
    largest: np.ndarray
    opened: np.ndarray
    reached: np.ndarray
    bitmaps: int
    parents: np.ndarray
    tells: np.ndarray

    @property
    def sent(self) -> np.ndarray:
        """Bytes that all processes send in every level, int64 [levels]."""
        return self.bitmaps * self.processes * (1 + self.tells) + 4 * self.parents

    @property
    def blocks(self) -> int:
        """Blocks that a process holds."""
        return len(Partition(self.n, self.processes).blocks(0))

    @property
    def words(self) -> int:
        """Words of bitmaps that a process goes over in a level: its parts', once a member and twice more."""
        made = Partition(self.n, self.processes)
        return len(set(made.pair(0))) * made.words * (made.parts + 2)


@njit
def _frontier_arcs(offsets, heads, levels, part, holders, inspected):
    """Top-down: arcs that leave a vertex of level l are looked at in level l; int64 [levels, processes]."""
    for u in range(len(levels)):
        if levels[u] >= 0:
            for i in range(offsets[u], offsets[u + 1]):
                inspected[levels[u], holders[heads[i] // part, u // part]] += 1


@njit
def _searched_arcs(offsets, tails, levels, upwards, part, holders, turns, inspected, looked):
    """Bottom-up: in level l, of every vertex that is not on a level up to l the arcs of each block up to a hit.

    turns: int64 [parts, parts], 1 for blocks whose heads are looked for only where none of turn 0 has found them.
    inspected: int64 [levels, processes]; looked: int64 [turns, levels, parts], heads looked for in a row's blocks.
    """
    # The level and vertex for which a block's row was read up to a hit.
    done = np.full(len(holders), -1, np.int64)
    for v in range(len(levels)):
        last, row = levels[v] if levels[v] >= 0 else len(upwards), v // part
        for level in range(min(last, len(upwards))):
            if not upwards[level]:
                continue
            this, found = v * len(upwards) + level, False
            for turn in range(len(looked)):
                if found:
                    break
                looked[turn, level, row] += 1
                for i in range(offsets[v], offsets[v + 1]):
                    column = tails[i] // part
                    if done[column] != this and turns[row, column] == turn:
                        inspected[level, holders[row, column]] += 1
                        if levels[tails[i]] == level:
                            done[column], found = this, True


@njit
def _sent_parents(offsets, tails, levels, upwards, part, slice_, turns, places, parents):
    """A parent travels where the vertex's owner did not find one: of its block a tail on the level before.

    Nor does the owner find one in a block of turn 1 where bottom-up one of turn 0 has such a tail.
    """
    for v in range(len(levels)):
        if levels[v] <= 0:
            continue
        owner, row, own, before = v % part // slice_, v // part, -1, False
        for i in range(offsets[v], offsets[v + 1]):
            column = tails[i] // part
            if levels[tails[i]] == levels[v] - 1:
                before |= turns[row, column] == 0
                if places[row, column] == owner:
                    own = turns[row, column]
        if own < 0 or (own == 1 and before and upwards[levels[v] - 1]):
            parents[levels[v] - 1] += 1


def _reached(made: Partition, levels: np.ndarray, last: int) -> np.ndarray:
    """Counted.reached of so many levels."""
    there = levels >= 0
    found = np.zeros((made.parts, last + 1), np.int64)
    np.add.at(found, (np.flatnonzero(there) // made.part, levels[there]), 1)
    rows = np.array([[row for row, _ in made.blocks(process)] for process in range(made.processes)])
    return found[:, 1:][rows].sum(axis=1).max(axis=0)


def count(graph: Graph, levels: np.ndarray, directions: list[str], processes: int, told: bool = False) -> Counted:
    """levels: int32 [n] of a search; directions: of every level that it made; told: of what others have found."""
    made, backward = Partition(graph.n, processes), reverse(graph)
    everywhere = range(made.parts)
    holders = np.array([[made.holder(row, column) for column in everywhere] for row in everywhere])
    places = np.array([[made.members(row).index(holders[row, column]) for column in everywhere] for row in everywhere])
    turns = np.zeros((made.parts, made.parts), np.int64)
    if told:
        for process in range(processes):
            for place, block in enumerate(made.blocks(process)):
                turns[block] = place != made.begins(process)
    down, up, opened = (np.zeros((len(directions), processes), np.int64) for _ in range(3))
    looked = np.zeros((1 + turns.max(), len(directions), made.parts), np.int64)
    upwards = np.array([direction != TOP_DOWN for direction in directions])
    _frontier_arcs(graph.offsets, graph.targets, levels, made.part, holders, down)
    rows = (backward.offsets, backward.targets, levels)
    _searched_arcs(*rows, upwards, made.part, holders, turns, up, looked)
    for process in range(processes):
        for block in made.blocks(process):
            opened[:, process] += looked[turns[block], :, block[0]]
    inspected = np.where(upwards[:, None], up, down)
    parents = np.zeros(len(directions), np.int64)
    _sent_parents(*rows, upwards, made.part, made.slice, turns, places, parents)
    bitmaps = 4 * made.words * (made.parts - 1) * len(set(made.pair(0)))
    reached = _reached(made, levels, len(directions))
    sizes = (inspected.sum(axis=1), inspected.max(axis=1), opened.max(axis=1), reached)
    return Counted(graph.n, graph.m, processes, *sizes, bitmaps, parents, upwards & told)
