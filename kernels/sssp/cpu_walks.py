"""A query on a graph of real weights without its chains (walks.py) on the CPU: from the source to the core, and to all.

The twin of walks.cu. The search of the core on the CPU knows no links, so it takes graphs alone that have none.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from saitan.compiled import njit
from saitan.sssp import unreachable
from saitan.sssp.peeling import NONE
from saitan.sssp.walks import Walks

# Numbers of NumPy: for each of Python's own Numba would compile `_walk` anew.
ON, BACK = np.int64(1), np.int64(-1)


class OverWalks:
    """The walks between a core and all vertices. core: the graph that is searched."""

    def __init__(self, walks: Walks) -> None:
        self._walks, self.core = walks, walks.core
        self._too_long = np.zeros(1, np.bool_)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What a query reads."""
        return self._walks[2:]

    def enter(self, source: int, distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The vertices of the core that walks from the source lead to, int32, and their distances, float64.

        distances [n]: of what the walks pass is written, everything else is unreached.
        """
        w = self._walks
        distances.fill(unreachable(distances.dtype))
        self._too_long[0] = False
        lengths = w.lengths.reshape(2, -1)
        ends, reached = _enter(w.paths, w.path, w.slot, w.vertices, lengths, source, distances, self._too_long)
        there = np.isfinite(reached)
        return w.number[ends[there]], reached[there]

    def expand(self, source: int, core: np.ndarray, distances: np.ndarray) -> bool:
        """Distances [n] of all vertices from those of the core [k]; whether a sum did not fit their type."""
        w = self._walks
        distances[w.kept] = core
        for first, last in zip(w.ranges[:-1], w.ranges[1:], strict=True):
            _descend(w.paths[first:last], w.vertices, w.lengths.reshape(2, -1), distances, self._too_long)
        return bool(self._too_long[0])


@njit
def _walk(x, lengths, at, vertices, to, count, step, distances):
    """From the distance x over `count` slots from `to` on, by the lengths from `at` on; `step` is ON or BACK.

    Distances fall to the sums. The walk ends where one is not larger than its sum: walks.cu says why. Returns the last
    sum, of no meaning where it has ended before, and the vertex whose sum does not fit, or NONE.
    """
    for _ in range(count):
        v = vertices[to]
        after = distances.dtype.type(x + lengths[at])
        if after >= distances[v]:
            return after, v if np.isinf(after) and not np.isinf(x) and not np.isinf(lengths[at]) else NONE
        distances[v] = x = after
        at += step
        to += step
    return x, NONE


@njit
def _enter(paths, path, slot, vertices, lengths, source, distances, too_long):
    """Two vertices that bound the source's walks, and their distances, infinite where there is none."""
    ends, reached = np.zeros(2, np.int32), np.full(2, np.inf)
    x, v = distances.dtype.type(0), source
    distances[source] = x
    while slot[v] != NONE:
        at = np.int64(slot[v])
        first, count, is_chain, _ = paths[path[at]]
        end = first + count + is_chain
        up, over = _walk(x, lengths[1], at, vertices, at - 1, at - first, BACK, distances)
        beyond, beyond_over = _walk(x, lengths[0], at + 1, vertices, at + 1, end - at, ON, distances)
        if over != NONE or beyond_over != NONE:
            too_long[0] = True
        if is_chain:
            ends[1], reached[1] = vertices[end], beyond
        x, v = up, vertices[first]
    ends[0], reached[0] = v, x
    return ends, reached


@njit(parallel=True)
def _descend(paths, vertices, lengths, distances, too_long):
    for i in prange(len(paths)):
        first, count = np.int64(paths[i, 0]), np.int64(paths[i, 1])
        end = first + count + 1
        over = beyond_over = NONE
        _, over = _walk(distances[vertices[first]], lengths[0], first + 1, vertices, first + 1, count, ON, distances)
        if paths[i, 2]:
            x = distances[vertices[end]]
            _, beyond_over = _walk(x, lengths[1], end, vertices, end - 1, count, BACK, distances)
        for v in (over, beyond_over):
            if v != NONE and np.isinf(distances[v]):
                too_long[0] = True
