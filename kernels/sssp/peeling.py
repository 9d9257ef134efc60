"""The hanging trees and chains of a graph, found: vertices of one neighbour, again and again, then those of two."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saitan.compiled import njit
from saitan.graph import Graph

MISSING = np.uint64(2**64 - 1)  # a length where there is no way
MOST_WEIGHT = np.uint64(2**32 - 2)  # of an arc that takes a chain's place
NONE = -1
# Where a vertex belongs.
CORE, TREE, CHAIN = 0, 1, 2


class Found(NamedTuple):
    """What is taken out of a graph.

    state, parent  [n]: CORE, TREE or CHAIN; the vertex above in the unit's tree, NONE at its root
    lengths        [n, 2]: of the arc to the parent, and of that from it
    peel, chain    the vertices of trees, leaves first; those of chains, from end to end
    ends, last     of every chain [n, 2] and [n]: the vertices that bound it, and its vertex next to the second
    enter, out     [n, 2]: lengths of the arcs from the ends to the chain, and from the chain to the ends
    whole          [n, 2]: the length from the first end to the second, and back
    """

    state: np.ndarray
    parent: np.ndarray
    lengths: np.ndarray
    peel: np.ndarray
    chain: np.ndarray
    ends: np.ndarray
    last: np.ndarray
    enter: np.ndarray
    out: np.ndarray
    whole: np.ndarray


def nothing_found(n: int) -> Found:
    lengths = [np.empty((n, 2), np.uint64) for _ in range(4)]
    state, parent, peel, chain, last = (np.zeros(n, kind) for kind in (np.int8, *4 * [np.int32]))
    return Found(state, parent, lengths[0], peel, chain, np.empty((n, 2), np.int32), last, *lengths[1:])


@njit
def _weight(rows, row, target):
    """Of the arc from `row` to `target`, MISSING where there is none."""
    offsets, targets, weights = rows
    for i in range(offsets[row], offsets[row + 1]):
        if targets[i] == target:
            return np.uint64(weights[i])
    return MISSING


@njit
def plus(a, b):
    """The sum of two lengths, MISSING where one of them is."""
    return MISSING if a == MISSING or b == MISSING else a + b


def taken_out(graph: Graph, least: int, most: np.uint64) -> tuple[Found, int, int, int] | None:
    """What is taken out of a graph without loops and parallel arcs.

    Returns it with the numbers of trees' vertices, of chains' vertices and of chains; None where these vertices are
    fewer than `least`. most: the largest length of a chain.
    """
    turned = graph.transposed()
    rows, turned = ((g.offsets, g.targets, g.weights) for g in (graph, turned))
    degrees, mixed = neighbours(*rows[:2], *turned[:2])
    found = nothing_found(graph.n)
    peeled = peeled_off(degrees, mixed, found.state, found.parent, found.peel)
    if peeled + int((degrees == 2).sum()) < least:
        return None
    return found, peeled, *take_chains(rows, turned, degrees, mixed, found, peeled, most)


@njit
def neighbours(offsets, targets, turned_offsets, turned_targets):
    """The number of every vertex's neighbours, either way, and the exclusive or of their numbers."""
    n = len(offsets) - 1
    degrees, mixed, seen = np.empty(n, np.int32), np.empty(n, np.int32), np.full(n, NONE, np.int32)
    for v in range(n):
        count, mix = 0, np.int32(0)
        for i in range(offsets[v], offsets[v + 1]):
            seen[targets[i]] = v
            count += 1
            mix ^= targets[i]
        for i in range(turned_offsets[v], turned_offsets[v + 1]):
            if seen[turned_targets[i]] != v:
                count += 1
                mix ^= turned_targets[i]
        degrees[v], mixed[v] = count, mix
    return degrees, mixed


@njit
def peeled_off(degrees, mixed, state, parent, order):
    """Take vertices of one neighbour away, in `order`, until none is left; returns their number."""
    n = len(degrees)
    parent[:] = NONE
    found = 0
    for v in range(n):
        if degrees[v] == 1:
            order[found] = v
            found += 1
    done = taken = 0
    while done < found:
        v = order[done]
        done += 1
        if degrees[v] != 1:
            continue  # the last of its tree
        p = mixed[v]
        state[v], parent[v], degrees[v] = TREE, p, 0
        order[taken] = v
        taken += 1
        degrees[p] -= 1
        mixed[p] ^= v
        if degrees[p] == 1:
            order[found] = p
            found += 1
    return taken


@njit
def take_chains(rows, turned, degrees, mixed, found, peeled, most):
    """Complete `found`; returns the numbers of chains' vertices and of chains.

    turned: the arcs turned round; most: the largest length of a chain.
    """
    offsets, targets, _ = rows
    turned_offsets, turned_targets, _ = turned
    state, parent, lengths, peel = found.state, found.parent, found.lengths, found.peel
    for i in range(peeled):
        v = peel[i]
        lengths[v, 0] = _weight(rows, v, parent[v])
        lengths[v, 1] = _weight(turned, v, parent[v])
    count = units = 0
    # First from the vertices that are in no chain. What is left then are rings, which begin anywhere.
    for rings in range(2):
        for start in range(len(state)):
            if state[start] != CORE or (degrees[start] == 2) != (rings == 1):
                continue
            degrees[start] = max(degrees[start], 3)
            for i in range(offsets[start], offsets[start + 1]):
                v = targets[i]
                if degrees[v] == 2 and state[v] == CORE:
                    count, units = _walked(rows, turned, start, v, degrees, mixed, found, count, units, most)
            for i in range(turned_offsets[start], turned_offsets[start + 1]):
                v = turned_targets[i]
                if degrees[v] == 2 and state[v] == CORE:
                    count, units = _walked(rows, turned, start, v, degrees, mixed, found, count, units, most)
    return count, units


@njit
def _walked(rows, turned, start, v, degrees, mixed, found, count, units, most):
    """Take out the chain that begins with the arc between `start`, in the core, and v; returns the counts.

    Where it is longer than `most`, a vertex of it stays in the core, and another chain begins there.
    """
    before = np.int32(start)
    while found.state[v] == CORE and degrees[v] == 2:
        end, begin, cut = before, count, False
        there = along = _weight(turned, v, before)
        back = against = _weight(rows, v, before)
        while found.state[v] == CORE and degrees[v] == 2:
            after = mixed[v] ^ before
            ahead, behind = _weight(rows, v, after), _weight(turned, v, after)
            on, home = plus(there, ahead), plus(back, behind)
            if (on != MISSING and on > most) or (home != MISSING and home > most):
                degrees[v], cut = 3, True
                break
            if count == begin:
                found.enter[units, 0], found.out[units, 0] = along, against
            else:
                found.parent[v], found.lengths[v, 0], found.lengths[v, 1] = before, against, along
            found.state[v], found.chain[count] = CHAIN, v
            count += 1
            there, back, along, against = on, home, ahead, behind
            before, v = v, after
        if count > begin:
            found.ends[units, 0], found.ends[units, 1], found.last[units] = end, v, before
            found.enter[units, 1], found.out[units, 1] = against, along
            found.whole[units, 0], found.whole[units, 1] = there, back
            units += 1
        if cut:
            before, v = v, mixed[v] ^ before
    return count, units
