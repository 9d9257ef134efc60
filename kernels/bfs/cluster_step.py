"""What a member of a part does with what all its members found in a level: merge, choose who sends parents, write them.

gathered: uint32 [R, words], each member's bitmap of the part; a slice is slice_words of them. The parent of a vertex
that several found comes from one: the first with its bit, counted from the member that owns the vertex, whose own bit
costs no message.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from saitan.bfs.bits import lowest_bit
from saitan.bfs.cpu_step import WORD
from saitan.compiled import njit

# Words whose found vertices are counted together, as cluster.cu's blocks do.
CHUNK = 256


def merge(gathered, visited, frontier):
    """The next frontier of the part: what any member found. Marks it visited."""
    np.bitwise_or.reduce(gathered, axis=0, out=frontier)
    np.bitwise_or(visited, frontier, out=visited)


@njit
def _sent_by(gathered, owner, member, w):
    """Bits of word w, which `owner` owns, whose parents `member` sends."""
    bits, place = gathered[member, w], owner
    while bits and place != member:
        bits &= ~gathered[place, w]
        place = place + 1 if place + 1 < gathered.shape[0] else 0
    return bits


@njit
def pick(gathered, member, slice_words, parents, out, counts):
    """Parents that a member sends, one owner's after another's, in the order of the vertices, into `out`.

    counts: int64 [R], how many to each owner. Returns how many there are.
    """
    total = 0
    for owner in range(gathered.shape[0]):
        begin = total
        for w in range(owner * slice_words, (owner + 1) * slice_words):
            bits = _sent_by(gathered, owner, member, w)
            while bits:
                out[total] = parents[w * WORD + lowest_bit(bits)]
                total += 1
                bits &= bits - np.uint32(1)
        counts[owner] = total - begin
    return total


@njit
def awaited(gathered, owner, slice_words, counts):
    """How many parents an owner gets of every member, int64 [R]. Returns the sum."""
    total = 0
    for member in range(gathered.shape[0]):
        counts[member] = 0
        for w in range(owner * slice_words, (owner + 1) * slice_words):
            bits = _sent_by(gathered, owner, member, w)
            while bits:
                bits &= bits - np.uint32(1)
                counts[member] += 1
        total += counts[member]
    return total


@njit
def write(gathered, owner, slice_words, arrived, level, levels, parents, degrees):
    """Put what arrived, in the order of `pick`, into the owner's slice. Returns its vertices and their arcs."""
    place, arcs = 0, 0
    for member in range(gathered.shape[0]):
        for w in range(slice_words):
            bits = _sent_by(gathered, owner, member, owner * slice_words + w)
            while bits:
                v = w * WORD + lowest_bit(bits)
                levels[v], parents[v] = level, arrived[place]
                arcs += degrees[v]
                place += 1
                bits &= bits - np.uint32(1)
    return place, arcs


@njit(parallel=True)
def join(mine, theirs, starts, arrived, parents):
    """Add to a bitmap what another one of the same part has; parents of what is new come with it.

    starts: [chunks + 1], where in `arrived` those of every CHUNK words of `theirs` begin, in the order of the vertices.
    """
    for chunk in prange(len(starts) - 1):
        place = np.int64(starts[chunk])
        for w in range(chunk * CHUNK, min((chunk + 1) * CHUNK, len(mine))):
            bits = theirs[w]
            while bits:
                b = lowest_bit(bits)
                if (mine[w] >> b) & 1 == 0:
                    parents[w * WORD + b] = arrived[place]
                place += 1
                bits &= bits - np.uint32(1)
            mine[w] |= theirs[w]


@njit
def loops(offsets, targets):
    """Arcs from every vertex of a block of the diagonal to itself, int64 [rows]."""
    found = np.zeros(len(offsets) - 1, np.int64)
    for v in range(len(found)):
        for i in range(offsets[v], offsets[v + 1]):
            found[v] += targets[i] == v
    return found


@njit
def route(tails, heads, part, holders, counts, out):
    """Arcs as pairs (tail, head), int32 [k, 2], by the process that holds their block; counts: int64 [processes]."""
    counts[:] = 0
    for i in range(len(tails)):
        counts[holders[heads[i] // part, tails[i] // part]] += 1
    ends = np.cumsum(counts) - counts
    for i in range(len(tails)):
        holder = holders[heads[i] // part, tails[i] // part]
        out[ends[holder], 0], out[ends[holder], 1] = tails[i], heads[i]
        ends[holder] += 1
