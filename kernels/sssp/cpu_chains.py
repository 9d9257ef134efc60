"""A query on a graph without its chains (chains.py) on the CPU: from the source to the core, and from the core to all.

The twin of chains.cu.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from saitan.compiled import njit
from saitan.sssp import unreachable
from saitan.sssp.chains import MOST_PATHS, Chains
from saitan.sssp.peeling import MISSING, NONE, plus


class Way(NamedTuple):
    """The heavy paths from the source up to the root of its unit.

    entry  int32 [n]: of the first vertex of each of these paths, the vertex at which the way comes to it; else NONE
    paths  int32 [MOST_PATHS + 1]: how many, and their first vertices
    """

    entry: np.ndarray
    paths: np.ndarray


def no_way(n: int) -> Way:
    """As before the first query."""
    return Way(np.full(n, NONE, np.int32), np.zeros(MOST_PATHS + 1, np.int32))


class OverChains:
    """The chains between a core and all vertices. core: the graph that is searched."""

    def __init__(self, chains: Chains) -> None:
        self._chains, self.core = chains, chains.core
        self._way = no_way(len(chains.unit))

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What a query reads."""
        return *self._chains.arrays, *self._way

    def enter(self, source: int, distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The vertices of the core that the source's unit leads to, int32, and the lengths of these ways, uint64."""
        return enter(self._chains, self._way, source)

    def expand(self, source: int, core: np.ndarray, distances: np.ndarray) -> bool:
        """Distances [n] of all vertices from those of the core [k]; whether one of them does not fit their type."""
        return expand(self._chains, self._way, source, core, distances)


@njit
def _within(place, sums, missing, entry, source, v):
    """The length of the way from the source to v, of the same unit, within the unit's tree."""
    at = np.int32(v)
    while entry[place[at, 0]] == NONE:
        at = place[at, 1]
    come = entry[place[at, 0]]
    # The lowest common ancestor: the upper one of two vertices of a path.
    if place[come, 2] < place[at, 2]:
        at = come
    up, down = sums[source, 0] - sums[at, 0], sums[v, 1] - sums[at, 1]
    return up + down if up < missing and down < missing else MISSING


@njit
def _enter(place, sums, unit, last, out, missing, source, entry, paths):
    """Note the source's way up; the lengths from it to both ends of its unit."""
    for i in range(paths[0]):
        entry[paths[1 + i]] = NONE
    count, at = 0, np.int32(source)
    while at != NONE:
        first = place[at, 0]
        entry[first] = at
        count += 1
        paths[count] = first
        at = place[at, 1]
    paths[0] = count
    u, up = unit[source], sums[source, 0]
    there = plus(up if up < missing else MISSING, out[u, 0])
    return there, plus(_within(place, sums, missing, entry, source, last[u]), out[u, 1])


def enter(chains: Chains, way: Way, source: int) -> tuple[np.ndarray, np.ndarray]:
    """The vertices of the core that the source's unit leads to, int32, and the lengths of these ways, uint64."""
    lengths = _enter(chains.place, chains.sums, chains.unit, chains.last, chains.out, chains.missing, source, *way)
    ends, lengths = chains.ends[source], np.array(lengths, np.uint64)
    there = (ends != NONE) & (lengths != MISSING)
    return ends[there], lengths[there]


@njit
def _least(ends, beyond, unit, place, sums, missing, entry, source, core, limit, v):
    """The length of the shortest way to v, MISSING where there is none."""
    least = MISSING
    for side in range(2):
        end = ends[v, side]
        if end != NONE and core[end] != limit:
            least = min(least, plus(np.uint64(core[end]), beyond[v, side]))
    if unit[v] == unit[source]:
        least = min(least, _within(place, sums, missing, entry, source, v))
    return least


# What a vertex takes is a function of its own: of a loop within the parallel one Numba does not always compile the sum.
@njit(parallel=True)
def _expand(ends, beyond, unit, place, sums, missing, entry, source, core, limit, distances):
    """Returns how many distances do not fit the type."""
    too_long = 0
    for v in prange(len(distances)):
        least = _least(ends, beyond, unit, place, sums, missing, entry, source, core, limit, np.int64(v))
        too_long += least != MISSING and least >= np.uint64(limit)
        distances[v] = limit if least >= np.uint64(limit) else least
    return too_long


def expand(chains: Chains, way: Way, source: int, core: np.ndarray, distances: np.ndarray) -> bool:
    """Distances [n] of all vertices from those of the core [k]; whether one of them does not fit their type.

    After `enter` of the same source.
    """
    arrays = (chains.ends, chains.beyond, chains.unit, chains.place, chains.sums, chains.missing)
    return _expand(*arrays, way.entry, source, core, unreachable(core.dtype), distances) > 0
