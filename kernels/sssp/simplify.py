"""A graph as `fast` takes it on the GPU: no loops, of parallel arcs the lightest, rows sorted by weight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numba import prange

from saitan.compiled import njit
from saitan.graph import Graph

INSERTED = 32  # rows of at most so many arcs are sorted by insertion


def simplified(graph: Graph) -> Graph:
    """The graph of the same distances without loops and parallel arcs, its rows by ascending weight."""
    targets, weights = graph.targets.copy(), graph.weights.copy()
    kept = np.empty(graph.n, np.int64)
    _simplify(graph.offsets, targets, weights, kept)
    offsets = np.zeros(graph.n + 1, np.int64)
    np.cumsum(kept, out=offsets[1:])
    if offsets[-1] < graph.m:
        targets, weights = _moved_up(graph.offsets, offsets, targets, weights)
    return replace(graph, offsets=offsets, targets=targets, weights=weights)


@njit
def _sort(keys, others, first, last):
    """Sort keys[first:last] and carry the others along; stable."""
    if last - first > INSERTED:
        order = np.argsort(keys[first:last], kind="mergesort")
        keys[first:last], others[first:last] = keys[first:last][order], others[first:last][order]
        return
    for i in range(first + 1, last):
        key, other, place = keys[i], others[i], i
        while place > first and keys[place - 1] > key:
            keys[place], others[place] = keys[place - 1], others[place - 1]
            place -= 1
        keys[place], others[place] = key, other


@njit(parallel=True)
def _simplify(offsets, targets, weights, kept):
    """Every row in place: its arcs by weight, of those to one target the lightest, and the number that is left."""
    for v in prange(len(kept)):
        first, last = offsets[v], offsets[v + 1]
        _sort(weights, targets, first, last)
        _sort(targets, weights, first, last)  # stable: of equal targets the lightest comes first
        count, before = first, np.int64(-1)
        for i in range(first, last):
            target = np.int64(targets[i])
            if target != v and target != before:
                targets[count], weights[count] = targets[i], weights[i]
                count += 1
            before = target
        kept[v] = count - first
        _sort(weights, targets, first, count)


@njit(parallel=True)
def _moved_up(old, new, targets, weights):
    """The first arcs of every row, of which `new` says how many, without the gaps."""
    heads, drawn = np.empty(new[-1], targets.dtype), np.empty(new[-1], weights.dtype)
    for v in prange(len(new) - 1):
        count = new[v + 1] - new[v]
        heads[new[v] : new[v + 1]] = targets[old[v] : old[v] + count]
        drawn[new[v] : new[v + 1]] = weights[old[v] : old[v] + count]
    return heads, drawn
