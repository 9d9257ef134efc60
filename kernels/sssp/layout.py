"""A graph laid out for fast.cu: rows of four arcs, vertices dealt to the blocks of a cluster in cells.

A vertex of more than four arcs hands them down a tree of extra vertices, each reached by an arc of weight 0, so that
every row has the same length and nothing in a shortest path changes. The cells are cut from two breadth-first orders:
bands of the first, from a vertex far out, are cut across by the second, from a vertex far off the first one's axis. So
few arcs leave a cell, and a wave meets cells of most blocks whichever way it runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from kernels.graph import Graph

WIDTH = 4  # arcs a row
NONE = np.uint32(0xFFFFFFFF)
SLOT_BITS = 28


@dataclass(frozen=True)
class Layout:
    """What fast.cu reads.

    rows    uint32 [blocks * slots, 4, 2]: (target's id, weight's bits), target NONE where there is no arc
    ids     uint32 [n]: block << SLOT_BITS | slot; its row is block * slots + slot
    slots   ids a block, taken or not
    """

    rows: np.ndarray
    ids: np.ndarray
    slots: int


def lay_out(graph: Graph, blocks: int, bands: int) -> Layout:
    """The graph's rows for a cluster of so many blocks, each with a cell of every band."""
    extra = np.zeros(graph.n + 1, np.int64)
    _count_extra(graph.offsets, extra)
    np.cumsum(extra, out=extra)
    order, owner = _cells(graph, blocks, bands) if blocks > 1 else (np.arange(graph.n), np.zeros(graph.n, np.int8))
    ids, slots = _number(order, owner, extra, blocks)
    rows = np.full((blocks * slots, WIDTH, 2), NONE, np.uint32)
    _fill_rows(graph.offsets, graph.targets, graph.weights.view(np.uint32), extra, ids, slots, rows)
    return Layout(rows, ids[: graph.n].copy(), slots)


def _cells(graph: Graph, blocks: int, bands: int) -> tuple[np.ndarray, np.ndarray]:
    """The vertices cell by cell, int64 [n], and the block of each vertex, int8 [n]."""

    def ranks(start: int) -> tuple[np.ndarray, int]:
        order = _breadth_first(graph.offsets, graph.targets, start)
        rank = np.empty(graph.n, np.int64)
        rank[order] = np.arange(graph.n)
        return rank, order[-1]

    end = ranks(0)[1]
    along, other_end = ranks(end)
    across = ranks(int(np.argmax(along + ranks(other_end)[0])))[0]
    band = along * bands // graph.n
    order = np.lexsort((across, band))
    first = np.searchsorted(band[order], np.arange(bands + 1))
    size = np.diff(first)[band[order]]
    # Turned by one from band to band, so that a wave that runs along the bands does not stay with one block.
    owner = np.empty(graph.n, np.int8)
    owner[order] = ((np.arange(graph.n) - first[band[order]]) * blocks // size + band[order]) % blocks
    return order, owner


def level_width(graph: Graph) -> float:
    """Mean number of vertices in a breadth-first level from a vertex of the largest degree."""
    if graph.m == 0:
        return 1.0
    return _level_width(graph.offsets, graph.targets, int(graph.degrees.argmax()))


@njit(cache=True)
def _level_width(offsets, targets, start):
    order = np.empty(len(offsets) - 1, np.int32)
    seen = np.zeros(len(order), np.bool_)
    found, levels = _reach(offsets, targets, start, order, seen, 0)
    return found / levels


@njit(cache=True)
def _breadth_first(offsets, targets, start):
    """int32 [n]: the vertices in breadth-first order from one of them, then from others not reached."""
    n = len(offsets) - 1
    order = np.empty(n, np.int32)
    seen = np.zeros(n, np.bool_)
    found, unseen = 0, 0
    while found < n:
        found, _ = _reach(offsets, targets, start, order, seen, found)
        while unseen < n and seen[unseen]:
            unseen += 1
        start = unseen
    return order


@njit(cache=True)
def _reach(offsets, targets, start, order, seen, found):
    """Append to the `found` vertices in `order` those that a vertex not `seen` leads to; returns found and levels."""
    done, levels = found, 0
    seen[start], order[found] = True, start
    found += 1
    while done < found:
        levels += 1
        level_end = found
        while done < level_end:
            v = order[done]
            done += 1
            for i in range(offsets[v], offsets[v + 1]):
                if not seen[targets[i]]:
                    seen[targets[i]] = True
                    order[found] = targets[i]
                    found += 1
    return found, levels


@njit(cache=True)
def _split(first, last, side):
    """The part of arcs first .. last - 1 that falls to one of the four places of a row."""
    return first + (last - first) * side // WIDTH, first + (last - first) * (side + 1) // WIDTH


@njit(cache=True)
def _extra_rows(arcs):
    """Extra vertices below a row of so many arcs."""
    if arcs <= WIDTH:
        return 0
    count = 0
    for side in range(WIDTH):
        first, last = _split(0, arcs, side)
        if last - first > 1:
            count += 1 + _extra_rows(last - first)
    return count


@njit(cache=True)
def _count_extra(offsets, extra):
    """extra[v + 1]: extra vertices of v."""
    for v in range(len(extra) - 1):
        extra[v + 1] = _extra_rows(offsets[v + 1] - offsets[v])


@njit(cache=True)
def _number(order, owner, extra, blocks):
    """Ids of the vertices and, behind them, of the extra ones, beside the vertex served; and the slots of a block."""
    n = len(order)
    ids = np.empty(n + extra[-1], np.uint32)
    taken = np.zeros(blocks, np.int64)
    for v in order:
        block = np.int64(owner[v])
        ids[v] = block << SLOT_BITS | taken[block]
        for k in range(extra[v + 1] - extra[v]):
            ids[n + extra[v] + k] = block << SLOT_BITS | (taken[block] + 1 + k)
        taken[block] += 1 + extra[v + 1] - extra[v]
    return ids, max(1, taken.max())


@njit(parallel=True, cache=True)
def _fill_rows(offsets, targets, weights, extra, ids, slots, rows):
    n = len(offsets) - 1
    for v in prange(n):
        # A vertex's rows in the order of a queue: a row's extra vertices are numbered as it is filled.
        held = extra[v + 1] - extra[v] + 1
        starts, ends = np.empty(held, np.int64), np.empty(held, np.int64)
        starts[0], ends[0] = offsets[v], offsets[v + 1]
        known = 1
        for k in range(held):
            name = np.int64(ids[v] if k == 0 else ids[n + extra[v] + k - 1])
            row = (name >> SLOT_BITS) * slots + (name & ((1 << SLOT_BITS) - 1))
            short = ends[k] - starts[k] <= WIDTH
            for side in range(WIDTH):
                if short:
                    first, last = starts[k] + side, min(starts[k] + side + 1, ends[k])
                else:
                    first, last = _split(starts[k], ends[k], side)
                if last - first == 1:
                    rows[row, side, 0], rows[row, side, 1] = ids[targets[first]], weights[first]
                elif last - first > 1:
                    rows[row, side, 0], rows[row, side, 1] = ids[n + extra[v] + known - 1], 0
                    starts[known], ends[known] = first, last
                    known += 1
