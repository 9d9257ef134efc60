"""A graph laid out for fast.cu: rows of four arcs, vertices dealt to the blocks of a cluster in strips.

A vertex of more than four arcs hands them down a tree of extra vertices, each reached by an arc of weight 0, so that
every row has the same length and nothing in a shortest path changes. The strips are cut from a breadth-first order that
starts far out, so few arcs leave a strip; every block gets `strips` of them, so that a wave keeps most blocks busy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from kernels.graph import Graph

WIDTH = 4  # arcs a row
NONE = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True)
class Layout:
    """What fast.cu reads.

    rows    uint32 [blocks * slots, 4, 2]: (target id, weight's bits), target NONE where there is no arc
    place   uint32 [n]: id of each vertex; the ids of block b begin at b * slots
    slots   ids a block, taken or not
    """

    rows: np.ndarray
    place: np.ndarray
    slots: int


def lay_out(graph: Graph, blocks: int, strips: int) -> Layout:
    """The graph's rows for a cluster of so many blocks with so many strips each."""
    first = _breadth_first(graph.offsets, graph.targets, 0)
    order = _breadth_first(graph.offsets, graph.targets, first[-1]) if graph.n else first
    extra = np.zeros(graph.n + 1, np.int64)
    _count_extra(graph.offsets, extra)
    np.cumsum(extra, out=extra)
    ids, slots = _deal(order, extra, blocks, strips)
    rows = np.full((blocks * slots, WIDTH, 2), NONE, np.uint32)
    _fill_rows(graph.offsets, graph.targets, graph.weights.view(np.uint32), extra, ids, rows)
    return Layout(rows, ids[: graph.n].copy(), slots)


@njit(cache=True)
def _breadth_first(offsets, targets, start):
    """int32 [n]: the vertices in breadth-first order from one of them, then from others not reached."""
    n = len(offsets) - 1
    order = np.empty(n, np.int32)
    seen = np.zeros(n, np.bool_)
    done, found, unseen = 0, 0, 0
    while found < n:
        seen[start] = True
        order[found] = start
        found += 1
        while done < found:
            v = order[done]
            done += 1
            for i in range(offsets[v], offsets[v + 1]):
                if not seen[targets[i]]:
                    seen[targets[i]] = True
                    order[found] = targets[i]
                    found += 1
        while unseen < n and seen[unseen]:
            unseen += 1
        start = unseen
    return order


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
def _deal(order, extra, blocks, strips):
    """Ids of the vertices and, behind them, of the extra ones; and the slots of a block."""
    n, total = len(order), len(order) + extra[-1]
    ids = np.empty(total, np.uint32)
    taken = np.zeros(blocks, np.int64)
    owner = np.empty(total, np.int8)
    position = 0
    for v in order:
        block = position * blocks * strips // total % blocks
        owner[v], ids[v] = block, taken[block]
        taken[block] += 1
        for x in range(n + extra[v], n + extra[v + 1]):
            owner[x], ids[x] = block, taken[block]
            taken[block] += 1
        position += 1 + extra[v + 1] - extra[v]
    slots = max(1, taken.max())
    for v in range(total):
        ids[v] += np.uint32(owner[v] * slots)
    return ids, slots


@njit(parallel=True, cache=True)
def _fill_rows(offsets, targets, weights, extra, ids, rows):
    n = len(offsets) - 1
    for v in prange(n):
        # A vertex's rows in the order of a queue: a row's extra vertices are numbered as it is filled.
        held = extra[v + 1] - extra[v] + 1
        starts, ends = np.empty(held, np.int64), np.empty(held, np.int64)
        starts[0], ends[0] = offsets[v], offsets[v + 1]
        known = 1
        for k in range(held):
            row = ids[v] if k == 0 else ids[n + extra[v] + k - 1]
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
