"""A graph without its long chains and hanging trees: what is left, and what the distances of the others follow from.

Vertices of one neighbour are taken away until none is left (hanging trees), then those of two (chains); an arc from one
end of a chain to the other, as long as the chain, takes its place. Neighbours are counted without regard to direction.
What is left is the *core*, whose distances stay the same. Of a path it is one vertex.

A *unit* is what hangs together once the core's vertices are cut out: a chain with its trees, between two vertices of
the core, or a vertex of the core with its trees. A unit is a tree. The distance of a vertex of it is the least of
three: over one end, over the other end, and, where the source lies in the same unit, within the tree. Ways within a
tree are differences of sums from its root, by the lowest common ancestor of both, which is found over heavy paths (1):
a way up passes at most log2(n) of them. So every distance is found by itself, however deep the tree.

The sums are taken in another order than along the path, so weights must be integers; walks.py is for real ones.

1. Sleator, Tarjan: A data structure for dynamic trees. JCSS 26, 1983 (heavy paths).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saitan.compiled import njit
from saitan.cuda.constants import constants
from saitan.graph import Graph
from saitan.sssp.choice import level_sizes
from saitan.sssp.peeling import CORE, MISSING, MOST_WEIGHT, NONE, TREE, plus, taken_out
from saitan.sssp.simplify import simplified

# Fewer breadth-first levels than this are searched as they are.
LEAST_LEVELS = 200
# Chains are taken out where at most this part of the vertices is left, or this part of the levels.
MOST_VERTICES, MOST_LEVELS = 0.75, 0.5

MOST_PATHS = constants("sssp", "chains.cu")["MOST_PATHS"]


class Chains(NamedTuple):
    """A core, and how its distances lead to all.

    core    the graph that is searched, [k] vertices
    kept    int32 [k]: the core's vertices in the whole graph
    ends    int32 [n, 2]: the vertices of the core that bound a vertex's unit; NONE where there is no second one
    beyond  uint64 [n, 2]: the length of the way from each end to the vertex through its unit, MISSING where none leads
    unit    int32 [n]: the number of a vertex's unit
    place   int32 [n, 4]: in the unit's tree the first vertex of the vertex's heavy path, the vertex above that one
            (NONE at the root), the depth, and nothing
    sums    uint64 [n, 2]: the length of the way up to the root, and of the way down from it; `missing` is added for
            every arc that is not there
    last    int32 [units]: the unit's vertex next to the second end
    out     uint64 [units, 2]: the length from the root to the first end, and from `last` to the second
    missing uint64: larger than any sum without it
    """

    core: Graph
    kept: np.ndarray
    ends: np.ndarray
    beyond: np.ndarray
    unit: np.ndarray
    place: np.ndarray
    sums: np.ndarray
    last: np.ndarray
    out: np.ndarray
    missing: np.uint64

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What a query reads: ends to out."""
        return self.ends, self.beyond, self.unit, self.place, self.sums, self.last, self.out


def worth_contracting(graph: Graph, levels: int) -> Chains | None:
    """The chains of a graph as `simplified` makes it, None where searching it as it is takes no longer.

    levels: the graph's breadth-first levels.
    """
    if graph.weights.dtype.kind != "u" or levels < LEAST_LEVELS:
        return None
    chains = contracted(graph, int((1 - MOST_LEVELS) * levels))
    if chains is None or chains.core.n <= MOST_VERTICES * graph.n:
        return chains
    return chains if len(level_sizes(chains.core)) <= MOST_LEVELS * levels else None


def contracted(graph: Graph, least: int = 0) -> Chains | None:
    """The chains of a graph without loops and parallel arcs.

    None where fewer than `least` vertices would be taken out, and where sums with missing arcs do not fit 64 bits.
    """
    taken = taken_out(graph, least, MOST_WEIGHT)
    if taken is None:
        return None
    found, peeled, count, units = taken
    kept = np.flatnonzero(found.state == CORE).astype(np.int32)
    order = np.concatenate([kept, found.chain[:count], found.peel[:peeled][::-1]])  # parents first
    sums, misses, sizes = _summed(found.parent, found.lengths, order)
    bits, most = int(sums.max(initial=0)).bit_length(), int(misses.max(initial=0))
    missing = 1 << (bits if most else 63)
    if (most + 1) * missing > 1 << 64:
        return None
    sums += misses.astype(np.uint64) * np.uint64(missing)
    number = np.full(graph.n, NONE, np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    core = _core(graph, number, found.ends[:units], found.whole[:units])
    # The units of the core's vertices come before the chains'.
    k = len(kept)
    ends = np.concatenate([np.stack([number[kept], np.full(k, NONE, np.int32)], 1), number[found.ends[:units]]])
    alone = np.stack([np.zeros(k, np.uint64), np.full(k, MISSING)], 1)
    enter, out = np.concatenate([alone, found.enter[:units]]), np.concatenate([alone, found.out[:units]])
    last = np.concatenate([kept, found.last[:units]])
    unit, place = _placed(found.parent, order, sizes, k)
    beyond = _beyond(found.parent, order, found.state, unit, sums, last, enter, np.uint64(missing))
    return Chains(core, kept, ends[unit], beyond, unit, place, sums, last, out, np.uint64(missing))


def _core(graph: Graph, number: np.ndarray, ends: np.ndarray, whole: np.ndarray) -> Graph:
    """The core by its numbers of vertices, NONE elsewhere: the arcs between them, and those in place of chains."""
    kept = (number[graph.targets] >= 0) & np.repeat(number >= 0, graph.degrees)
    tails, heads, weights = [number[graph.sources[kept]]], [number[graph.targets[kept]]], [graph.weights[kept]]
    for side in range(2):
        there = (whole[:, side] != MISSING) & (ends[:, 0] != ends[:, 1])
        tails.append(number[ends[there, side]])
        heads.append(number[ends[there, 1 - side]])
        weights.append(whole[there, side].astype(np.uint32))
    arcs = (np.concatenate(part) for part in (tails, heads, weights))
    return simplified(Graph.from_arcs(int((number >= 0).sum()), *arcs, metadata=graph.metadata))


@njit
def _summed(parent, lengths, order):
    """Of every vertex: sums of lengths up to the root of its unit and down from it, missing arcs apart; descendants."""
    n = len(parent)
    sums, misses, sizes = np.zeros((n, 2), np.uint64), np.zeros((n, 2), np.int64), np.ones(n, np.int32)
    for v in order:
        p = parent[v]
        if p != NONE:
            for way in range(2):
                gone = lengths[v, way] == MISSING
                sums[v, way] = sums[p, way] + (np.uint64(0) if gone else lengths[v, way])
                misses[v, way] = misses[p, way] + gone
    for v in order[::-1]:
        if parent[v] != NONE:
            sizes[parent[v]] += sizes[v]
    return sums, misses, sizes


@njit
def _placed(parent, order, sizes, kept):
    """`unit` and `place` of Chains; kept: the core's vertices, which `order` begins with."""
    n = len(parent)
    unit, place, heavy = np.empty(n, np.int32), np.zeros((n, 4), np.int32), np.full(n, NONE, np.int32)
    for v in order:
        p = parent[v]
        if p != NONE and (heavy[p] == NONE or sizes[v] > sizes[heavy[p]]):
            heavy[p] = v
    units = 0
    for v in order:
        p = parent[v]
        if p == NONE:
            unit[v] = units
            place[v, 0], place[v, 1] = v, NONE
            units += 1
        else:
            unit[v] = unit[p]
            place[v, 2] = place[p, 2] + 1
            if heavy[p] == v:
                place[v, 0], place[v, 1] = place[p, 0], place[p, 1]
            else:
                place[v, 0], place[v, 1] = v, p
    return unit, place


@njit
def _beyond(parent, order, state, unit, sums, last, enter, missing):
    """`beyond` of Chains; enter [units, 2]: lengths of the arcs from the ends."""
    n = len(parent)
    beyond, spine = np.empty((n, 2), np.uint64), np.empty(n, np.int32)
    for v in order:
        # The chain's vertex that v hangs on, or the core's.
        spine[v] = spine[parent[v]] if state[v] == TREE else v
        u, at = unit[v], spine[v]
        down = sums[v, 1]
        beyond[v, 0] = plus(enter[u, 0], down if down < missing else MISSING)
        up, down = sums[last[u], 0] - sums[at, 0], sums[v, 1] - sums[at, 1]
        beyond[v, 1] = plus(enter[u, 1], up + down if up < missing and down < missing else MISSING)
    return beyond
