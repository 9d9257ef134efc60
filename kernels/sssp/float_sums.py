"""Distances of floats as sums in the weights' type, from those of a solve in 64 bits.

A solver takes 64 bits as soon as any sum is too long for 32, on a shortest path or not, and other people's solvers take
them always. Where the distances fit 32 bits after all, they are added again in 32 bits: rounded 64-bit sums would be
tight on no arc. A sum that is too long is infinite here, and relaxes nothing.
"""

from __future__ import annotations

import numpy as np

from saitan.compiled import njit
from saitan.graph import Graph


def added_again(graph: Graph, source: int, wide: np.ndarray) -> np.ndarray:
    """The shortest float32 sums of float32 weights, [n], for distances `wide` of the same graph; float64 sums where a
    vertex that they reach is too far for float32.

    wide: float64 [n], or what it was rounded to: only the order matters, and which vertices are reached.
    """
    reached = np.flatnonzero(np.isfinite(wide))
    nearest_first = reached[np.argsort(wide[reached], kind="stable")]
    for dtype in (np.float32, np.float64):
        distances = np.full(graph.n, np.inf, dtype)
        distances[source] = 0
        _relax(graph.offsets, graph.targets, graph.weights, nearest_first, distances)
        if np.isfinite(distances[reached]).all():
            break
    return distances


def rows_added_again(graph: Graph, first: int, wide: np.ndarray) -> np.ndarray:
    """The same for rows [sources, n] of distances from first, first + 1, ...; `wide` where one is too far."""
    rows = np.empty(wide.shape, np.float32)
    for place, row in enumerate(wide):
        added = added_again(graph, first + place, row)
        if added.dtype != rows.dtype:
            return wide
        rows[place] = added
    return rows


@njit
def _relax(offsets, targets, weights, first, distances):
    """Relax until no arc does: the vertices `first` in their order, then in turn those whose distances fell.

    Few fall after their turn: those that rounding, or a weight of 0, places before the tail of their arc.
    """
    room = len(distances) + 1
    queue, waits = np.empty(room, np.int64), np.zeros(len(distances), np.bool_)
    queue[: len(first)] = first
    waits[first] = True
    begin, end = 0, len(first) % room
    while begin != end:
        v = queue[begin]
        begin = (begin + 1) % room
        waits[v] = False
        for i in range(offsets[v], offsets[v + 1]):
            t = targets[i]
            candidate = distances[v] + weights[i]
            if candidate < distances[t]:
                distances[t] = candidate
                if not waits[t]:
                    waits[t] = True
                    queue[end] = t
                    end = (end + 1) % room
