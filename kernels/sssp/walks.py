"""A graph of real weights without its long chains and hanging trees: what is left, and the walks along the rest.

Vertices are taken out as chains.py takes them; what is left is the *core*. A sum of real weights depends on its order,
and the certificate allows no rounding, so lengths of chains are not added up beforehand. Instead every length is added
along the path when it is asked for, arc after arc, by walks along the vertices that were taken out. They are laid out
so that a walk reads memory in order. As additions in this order are monotone, the least sum over all paths is what a
search over walks finds, and it is the distance of the whole graph to the bit.

A *path* is a chain between two vertices of the core, or a heavy path of a hanging tree (1): a way up a tree passes at
most log2(n) of them. Its vertices have a *slot* each, in order; before the first is a slot for the vertex that the path
hangs on, and behind a chain's last one for the vertex at its other end. A *link* is a chain as an arc of the core.

1. Sleator, Tarjan: A data structure for dynamic trees. JCSS 26, 1983 (heavy paths).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from saitan.compiled import njit
from saitan.cuda.constants import constants
from saitan.graph import Graph
from saitan.sssp.choice import level_sizes
from saitan.sssp.layout import laid_out
from saitan.sssp.peeling import CORE, MISSING, NONE, TREE, taken_out

# Fewer breadth-first levels than this are searched as they are.
LEAST_LEVELS = 200
# Walks are worth it where at most this part of the levels is left: a link takes longer than an arc.
MOST_LEVELS = 0.25

LINK = np.uint32(constants("sssp", "hop.cuh")["LINK"])


class Walks(NamedTuple):
    """A core, and the walks that lead from its distances to all.

    core      the graph that is searched, [k] vertices; a link has about its length as its weight
    rows      the core as layout.py lays it out; the target of a link has the bit LINK, and its number as the weight
    kept      int32 [k]: the core's vertices in the whole graph
    number    int32 [n]: the numbers of vertices in the core, NONE for others
    links     int32 [links, 4]: where the link's lengths begin in `lengths`, and how many; backwards where negative;
              `least` and `part`, bits of float32: from a distance d the link leads to no less than part d + least
    paths     int32 [paths, 4]: the slot that the path hangs on, the number of vertices behind it, whether it is a
              chain, and nothing; chains first, then trees' paths by how many others are above them
    ranges    int64: where in `paths` each such part begins, and their number
    vertices  int32 [slots]
    path      int32 [slots]: the number of the slot's path
    slot      int32 [n]: a vertex's own slot, NONE for the core's
    lengths   float32 [2 slots]: of the arc to every slot from the one before, infinite where there is none; then of the
              arcs back
    """

    core: Graph
    rows: np.ndarray
    kept: np.ndarray
    number: np.ndarray
    links: np.ndarray
    paths: np.ndarray
    ranges: np.ndarray
    vertices: np.ndarray
    path: np.ndarray
    slot: np.ndarray
    lengths: np.ndarray


def worth_walking(graph: Graph, levels: int) -> Walks | None:
    """The walks of a graph as `simplified` makes it, None where searching it as it is takes no longer.

    levels: the graph's breadth-first levels.
    """
    if levels < LEAST_LEVELS:
        return None
    walks = walked(graph, int((1 - MOST_LEVELS) * levels))
    return walks if walks is not None and len(level_sizes(walks.core)) <= MOST_LEVELS * levels else None


def walked(graph: Graph, least: int = 0) -> Walks | None:
    """The walks of a graph of float32 weights, without loops and parallel arcs.

    None where fewer than `least` vertices would be taken out, and for 2^30 vertices and more.
    """
    # As lengths the arcs' numbers, so that what is found says which arcs they are.
    numbered = replace(graph, weights=np.arange(graph.m, dtype=np.uint32))
    taken = taken_out(numbered, least, MISSING - np.uint64(1)) if graph.n < 1 << 30 else None
    if taken is None:
        return None
    found, peeled, count, units = taken
    chain, trees = found.chain[:count], found.peel[:peeled][::-1]
    starts = np.flatnonzero(found.parent[chain] == NONE)
    hung, path, place, levels = _heavy_paths(found.parent, found.state, trees)
    # Chains come first, each with a slot more for its second end.
    of_trees = np.argsort(levels, kind="stable")
    sizes = np.concatenate([np.diff(np.append(starts, count)), np.bincount(path[trees], minlength=len(hung))[of_trees]])
    is_chain = np.arange(len(sizes)) < units
    owned = 1 + sizes + is_chain
    firsts = np.cumsum(owned) - owned
    paths = np.stack([firsts, sizes, is_chain, np.zeros_like(sizes)], 1).astype(np.int32)
    ranges = np.append(0, units + np.searchsorted(levels[of_trees], np.arange(levels.max(initial=0) + 2)))
    first_of = np.empty(len(hung), np.int64)
    first_of[of_trees] = firsts[units:]
    begin, end = firsts[:units], firsts[:units] + sizes[:units] + 1

    slots = int(owned.sum())
    vertices, slot = np.empty(slots, np.int32), np.full(graph.n, NONE, np.int32)
    slot[chain] = np.repeat(begin - starts, sizes[:units]) + np.arange(count) + 1
    slot[trees] = first_of[path[trees]] + 1 + place[trees]
    # The arcs to every slot from the one before, and back.
    arcs = np.full((2, slots), MISSING)
    for inner in (chain, trees):
        vertices[slot[inner]] = inner
        arcs[:, slot[inner]] = found.lengths[inner, ::-1].T
    vertices[begin], vertices[end], vertices[first_of] = found.ends[:units, 0], found.ends[:units, 1], hung
    arcs[:, begin + 1] = found.enter[:units, 0], found.out[:units, 0]
    arcs[:, end] = found.out[:units, 1], found.enter[:units, 1]
    there = arcs != MISSING
    lengths = np.full(arcs.shape, np.inf, np.float32)
    lengths[there] = graph.weights[arcs[there]]

    kept = np.flatnonzero(found.state == CORE).astype(np.int32)
    number = np.full(graph.n, NONE, np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    core, rows, links = _core(graph, number, found.ends[:units], begin, end, lengths)
    owners = np.repeat(np.arange(len(paths), dtype=np.int32), owned)
    return Walks(core, rows, kept, number, links, paths, ranges, vertices, owners, slot, lengths.ravel())


def _core(graph: Graph, number: np.ndarray, ends: np.ndarray, begin: np.ndarray, end: np.ndarray, lengths: np.ndarray):
    """`core`, `rows` and `links` of Walks; begin, end: the slots of the vertices that bound the chains."""
    inner = (number[graph.targets] >= 0) & np.repeat(number >= 0, graph.degrees)
    tails, heads, weights = [number[graph.sources[inner]]], [number[graph.targets[inner]]], [graph.weights[inner]]
    links, direct = [], len(tails[0])
    for side in range(2):
        totals = _totals(begin, end, lengths[side])
        there = np.isfinite(totals) & (ends[:, 0] != ends[:, 1])
        tails.append(number[ends[there, side]])
        heads.append(number[ends[there, 1 - side]])
        weights.append(np.minimum(totals[there], np.finfo(np.float32).max).astype(np.float32))
        first, count = (end + lengths.shape[1], begin - end) if side else (begin + 1, end - begin)
        links.append(np.stack([first[there], count[there], *_bounds(totals[there], np.abs(count[there]))], 1))
    tails, heads, weights = (np.concatenate(part) for part in (tails, heads, weights))
    by_row = Graph.from_arcs(int((number >= 0).sum()), tails, heads, np.arange(len(tails), dtype=np.uint32))
    arc = by_row.weights
    core, is_link = replace(by_row, weights=weights[arc], metadata=graph.metadata), arc >= direct
    targets = core.targets.view(np.uint32) | np.where(is_link, LINK, np.uint32(0))
    values = np.where(is_link, arc - np.uint32(direct), core.weights.view(np.uint32))
    return core, laid_out(core.offsets, targets, values), np.concatenate(links).astype(np.int32)


def _bounds(totals: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`least` and `part` of links, as bits: int32 [links] each; totals: their lengths, counts: arcs."""
    # Every addition loses at most 2^-24 of its sum; so do three more, which make this bound, and the rounding of both.
    part = np.maximum(1 - (counts + 6) * 2.0**-24, 0)
    least = np.minimum(part * totals, np.finfo(np.float32).max)
    return tuple(bound.astype(np.float32).view(np.int32) for bound in (least, part))


@njit
def _totals(begin, end, lengths):
    """float64 [chains]: the lengths between the slots `begin` and `end`, added up; infinite where one is missing."""
    totals = np.zeros(len(begin))
    for u in range(len(begin)):
        for i in range(begin[u] + 1, end[u] + 1):
            totals[u] += lengths[i]
    return totals


@njit
def _heavy_paths(parent, state, trees):
    """The heavy paths of hanging trees; trees: their vertices, parents first.

    Returns of every path the vertex that it hangs on and how many paths are between it and a chain or the core; of
    every vertex its path and its place in it, from the top.
    """
    n = len(parent)
    sizes, heavy = np.ones(n, np.int32), np.full(n, NONE, np.int32)
    for v in trees[::-1]:
        p = parent[v]
        sizes[p] += sizes[v]
        if heavy[p] == NONE or sizes[v] > sizes[heavy[p]]:
            heavy[p] = v
    path, place = np.full(n, NONE, np.int32), np.zeros(n, np.int32)
    hung, levels = np.empty(len(trees), np.int32), np.empty(len(trees), np.int32)
    count = 0
    for v in trees:
        p = parent[v]
        if state[p] == TREE and heavy[p] == v:
            path[v], place[v] = path[p], place[p] + 1
            continue
        path[v], hung[count] = count, p
        levels[count] = levels[path[p]] + 1 if state[p] == TREE else 0
        count += 1
    return hung[:count].copy(), path, place, levels[:count].copy()
