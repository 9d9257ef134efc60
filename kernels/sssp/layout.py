"""A graph in rows of four arcs, for fast.cu, by vertex splitting.

The arcs of a vertex of more than four are moved down a tree of extra vertices, each reached by an arc of weight 0. So
every row has the same length and every distance stays the same. The graph's own vertices keep their numbers.

1. Nodehi Sabet, Qiu, Zhao: Tigr: transforming irregular graphs for GPU-friendly graph processing. ASPLOS 2018.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from saitan.compiled import njit
from saitan.cuda.constants import constants
from saitan.graph import Graph

WIDTH = 4  # arcs of a row
NONE = np.uint32(constants("sssp", "hop.cuh")["NONE"])


def rows_needed(graph: Graph) -> int:
    """Number of rows of the layout: the vertices and the extra ones."""
    return graph.n + int(_extra_before(graph.offsets)[-1])


def lay_out(graph: Graph) -> np.ndarray:
    """uint32 [rows, 4, 2]: (target, weight's bits), target NONE where there is no arc; rows from n on are extra."""
    return laid_out(graph.offsets, graph.targets.view(np.uint32), graph.weights.view(np.uint32))


def laid_out(offsets: np.ndarray, targets: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The same of CSR arrays; targets and values: uint32 [m], put into the rows as they are."""
    extra = _extra_before(offsets)
    rows = np.empty((len(offsets) - 1 + int(extra[-1]), WIDTH, 2), np.uint32)
    _fill_rows(offsets, targets, values, extra, rows)
    return rows


def _extra_before(offsets: np.ndarray) -> np.ndarray:
    """int64 [n + 1]: number of the extra vertices of all vertices before."""
    extra = np.zeros(len(offsets), np.int64)
    _count_extra(offsets, extra)
    return np.cumsum(extra, out=extra)


@njit
def _split(first, last, side):
    """The part of the arcs first .. last - 1 below one of the four places of a row.

    As many places as can have an arc of their own: that takes the fewest extra vertices.
    """
    arcs = last - first
    alone = max(0, WIDTH - (arcs - 2) // (WIDTH - 1))
    if side < alone:
        return min(first + side, last), min(first + side + 1, last)
    first, place, places = first + alone, side - alone, WIDTH - alone
    return first + (last - first) * place // places, first + (last - first) * (place + 1) // places


@njit
def _extra_rows(arcs):
    """Number of extra vertices below a row of so many arcs."""
    if arcs <= WIDTH:
        return 0
    count = 0
    for side in range(WIDTH):
        first, last = _split(0, arcs, side)
        if last - first > 1:
            count += 1 + _extra_rows(last - first)
    return count


@njit
def _count_extra(offsets, extra):
    """Set extra[v + 1] to the number of extra vertices of v."""
    for v in range(len(extra) - 1):
        extra[v + 1] = _extra_rows(offsets[v + 1] - offsets[v])


@njit(parallel=True)
def _fill_rows(offsets, targets, weights, extra, rows):
    n = len(offsets) - 1
    for v in prange(n):
        # A vertex's rows in breadth-first order: a row's extra vertices are numbered as it is filled.
        held = extra[v + 1] - extra[v] + 1
        starts, ends = np.empty(held, np.int64), np.empty(held, np.int64)
        starts[0], ends[0] = offsets[v], offsets[v + 1]
        known = 1
        for k in range(held):
            row = np.int64(v) if k == 0 else n + extra[v] + k - 1
            for side in range(WIDTH):
                first, last = _split(starts[k], ends[k], side)
                if last - first == 1:
                    rows[row, side, 0], rows[row, side, 1] = targets[first], weights[first]
                elif last - first > 1:
                    rows[row, side, 0], rows[row, side, 1] = n + extra[v] + known - 1, 0
                    starts[known], ends[known] = first, last
                    known += 1
                else:
                    rows[row, side, 0], rows[row, side, 1] = NONE, 0
