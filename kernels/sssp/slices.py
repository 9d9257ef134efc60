"""A hierarchy laid out for phast.cu: every level in slices, as in sliced ELLPACK; a warp handles a slice at a time.

1. Monakov, Lokhmotov, Avetisyan: Automatically tuning sparse matrix-vector multiplication for GPU architectures.
   HiPEAC 2010.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saitan.problem import Unavailable
from saitan.sssp.hierarchy import Hierarchy

WARP = 32


class Slices(NamedTuple):
    """Where phast.cu finds the vertices of a hierarchy and the arcs into them.

    slots     uint32 [n]: slot (padded number) of every position; a level begins at a multiple of 32
    vertices  uint32 [slots]: the graph's vertex, all ones where there is none
    levels    uint32 [levels, 4]: first slice, number of slices, base-2 logarithm of a vertex's lanes, first slot
    rows      uint32 [slices + 1]: the first row of every slice; a row is 32 arcs
    places    int64 [downward arcs]: the place of every arc in these rows
    """

    slots: np.ndarray
    vertices: np.ndarray
    levels: np.ndarray
    rows: np.ndarray
    places: np.ndarray


def slice_up(h: Hierarchy, warps: int) -> Slices:
    """The slices of a hierarchy for a grid of so many warps.

    A level's vertices get more lanes, a power of two up to 32, while warps and arcs suffice for them.
    Raises Unavailable where slots do not fit 32 bits.
    """
    sizes, degrees = np.diff(h.first), np.diff(h.down_offsets)
    first_slot = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(-(-sizes // WARP) * WARP, out=first_slot[1:])
    if first_slot[-1] >= 2**32 - 1:
        raise Unavailable(f"phast numbers 2^32 - 2 vertices, not {first_slot[-1]:,}")
    slots = np.arange(h.first[-1]) + np.repeat(first_slot[:-1] - h.first[:-1], sizes)
    vertices = np.full(first_slot[-1], 0xFFFFFFFF, np.uint32)
    vertices[slots] = h.vertices

    levels, widths, slice_of, lane_of, lanes_of = [], [], [], [], []
    count = 0
    for level in range(1, len(sizes)):
        degree = degrees[h.first[level] : h.first[level + 1]]
        lanes = 1
        while lanes < WARP and lanes < degree.max() and 2 * lanes * sizes[level] <= WARP * warps:
            lanes *= 2
        each = WARP // lanes
        own = np.arange(len(degree)) // each
        slices = int(own[-1]) + 1
        width = np.zeros(slices, np.int64)
        np.maximum.at(width, own, -(-degree // lanes))
        levels.append((count, slices, lanes.bit_length() - 1, first_slot[level]))
        widths.append(width)
        slice_of.append(own + count)
        lane_of.append(np.arange(len(degree)) % each * lanes)
        lanes_of.append(np.full(len(degree), lanes))
        count += slices
    rows = np.zeros(count + 1, np.int64)
    if count:
        np.cumsum(np.concatenate(widths), out=rows[1:])
        below = degrees[h.core :]
        number = np.arange(len(h.down_tails)) - np.repeat(h.down_offsets[h.core : -1], below)
        lanes = np.repeat(np.concatenate(lanes_of), below)
        row = np.repeat(rows[np.concatenate(slice_of)], below) + number // lanes
        places = row * WARP + np.repeat(np.concatenate(lane_of), below) + number % lanes
    else:
        places = np.empty(0, np.int64)
    levels = np.array(levels, np.uint32).reshape(-1, 4)
    return Slices(slots.astype(np.uint32), vertices, levels, rows.astype(np.uint32), places)
