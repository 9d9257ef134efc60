"""The blocks of the matrix that a process holds: arcs come in parts and go to the holders of their blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from saitan import csr
from saitan.arc_parts import ArcParts
from saitan.bfs import cluster_step
from saitan.bfs.partition import Partition
from saitan.exchange import Exchange
from saitan.problem import Invalid


@dataclass(frozen=True)
class Rows:
    """Arcs of a block by one end: offsets int64 [part + 1], other ends int32; both numbered from 0 in their part."""

    offsets: np.ndarray
    ends: np.ndarray

    @property
    def nbytes(self) -> int:
        return self.offsets.nbytes + self.ends.nbytes


@dataclass(frozen=True)
class Block:
    """Arcs from tails of part `column` to heads of part `row`, by tail (forward) and by head (backward)."""

    row: int
    column: int
    forward: Rows
    backward: Rows


def blocks_of(source: ArcParts, partition: Partition, world: Exchange) -> list[Block]:
    """This process's blocks, rows ascending. Raises Invalid where the parts of the source are not all of its arcs."""
    own = partition.blocks(world.place)
    tails, heads = _held(source, partition, world, own)
    read = int(world.total(np.array([sum(map(len, tails))], np.int64))[0])
    if read != source.m:
        raise Invalid(f"graph {source.name}: its parts have {read:,} arcs, not {source.m:,}")
    forward = [Rows(*csr.by_row(partition.part, *ends, None)[:2]) for ends in zip(tails, heads, strict=True)]
    if source.directed:
        backward = [Rows(*csr.by_row(partition.part, *ends, None)[:2]) for ends in zip(heads, tails, strict=True)]
    else:
        # The block of the turned arcs is the transposed one, which this process holds too.
        place = {block: i for i, block in enumerate(own)}
        backward = [forward[place[column, row]] for row, column in own]
    return [Block(*block, *rows) for block, *rows in zip(own, forward, backward, strict=True)]


def _held(source, partition, world, own) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Tails and heads of each own block, numbered from 0 in their parts."""
    found: list[list[np.ndarray]] = [[] for _ in own]
    for pairs in _delivered(source, partition, world):
        row, column = pairs[:, 1] // partition.part, pairs[:, 0] // partition.part
        for (i, j), kept in zip(own, found, strict=True):
            kept.append(pairs[(row == i) & (column == j)] - np.array([j, i], np.int32) * np.int32(partition.part))
    joined = [np.concatenate([np.empty((0, 2), np.int32), *kept]) for kept in found]
    return ([np.ascontiguousarray(pairs[:, end]) for pairs in joined] for end in (0, 1))


def _delivered(source: ArcParts, partition: Partition, world: Exchange) -> Iterator[np.ndarray]:
    """Batches of arcs that other processes read and this one holds, int32 [k, 2], until all have read their parts."""
    everywhere = range(partition.parts)
    holders = np.array([[partition.holder(row, column) for column in everywhere] for row in everywhere])
    counts = np.zeros(world.size, np.int64)
    arcs, nothing = source.arcs(world.place, world.size), np.empty(0, np.int32)
    while True:
        batch = next(arcs, None)
        tails, heads = batch or (nothing, nothing)
        pairs = np.empty((len(tails), 2), np.int32)
        cluster_step.route(tails, heads, partition.part, holders, counts, pairs)
        told = np.empty((world.size, world.size + 1), np.int64)
        world.gather(np.append(counts, batch is not None), told)
        if not told[:, -1].any():
            return
        sizes, most = told[:, world.place], int(told[:, :-1].max())
        arrived = np.empty((int(sizes.sum()), 2), np.int32)
        # A pair of ends travels as one number.
        world.swap(pairs.view(np.int64)[:, 0], counts, arrived.view(np.int64)[:, 0], sizes, most)
        yield arrived
