"""What the sweep of many sources needs on either backend: a hierarchy, what leads upwards, how long a path may be.

The hierarchy is that of `sssp` (PHAST), with a smaller core: sources swept together share its levels' cost, and
contraction takes less time the sparser the vertices left are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saitan.compiled import njit
from saitan.graph import Graph
from saitan.problem import Unavailable
from saitan.sssp.hierarchy import Hierarchy, contract

# Most vertices of the core: its table is read once a batch, and a level fewer saves little.
CORE = 1024
# Vertices from which `fast` sweeps a map, and from which it tries on a GPU whether a sweep is quicker; of fewer
# vertices the core is nearly all.
LEAST, TRIED = 8192, 2048
# Distances inside a sweep are shorter, so that the sum of two fits their type (FAR of sweep.cu).
FAR = {np.dtype(np.uint32): np.uint32(0x7FFFFFFF), np.dtype(np.uint64): np.uint64(0x3FFFFFFF3FFFFFFF)}


def hierarchy_of_map(graph: Graph, least: int) -> Hierarchy | None:
    """The hierarchy of a map of at least so many vertices; None for any other graph."""
    if graph.n < least or not looks_like_map(graph):
        return None
    try:
        return contract(graph, CORE)
    except Unavailable:
        return None


def looks_like_map(graph: Graph) -> bool:
    """Whether a graph is so wide that contracting it is worth a trial: at least sqrt(n) / 2 arcs from a hub outwards.

    Road networks, grids and rings are. Random graphs and small worlds, whose hierarchies are dense, are not.
    """
    if graph.weights.dtype != np.uint32 or graph.m > 8 * graph.n:
        return False
    hub = int(np.argmax(graph.degrees))
    return bool(_levels(graph.offsets, graph.targets, hub) ** 2 >= graph.n / 4)


@njit
def _levels(offsets, targets, source):
    """How many arcs the farthest vertex lies away, by breadth-first search."""
    n = len(offsets) - 1
    depth, queue = np.full(n, -1, np.int32), np.empty(n, np.int32)
    depth[source], queue[0] = 0, source
    head, tail = 0, 1
    while head < tail:
        u = queue[head]
        head += 1
        for i in range(offsets[u], offsets[u + 1]):
            v = targets[i]
            if depth[v] < 0:
                depth[v] = depth[u] + 1
                queue[tail] = v
                tail += 1
    return depth[queue[tail - 1]]


def longest_path(h: Hierarchy) -> int:
    """No sum that a sweep forms is greater: the longest way up, through the core, and down."""
    table = h.table[h.table < FAR[np.dtype(np.uint64)]]
    crossing = int(table.max()) if table.size else 0
    parts = [_longest(h.core, h.up_offsets, h.up_heads, h.up_lengths)]
    if h.down_lengths is not h.up_lengths:
        parts.append(_longest(h.core, h.down_offsets, h.down_tails, h.down_lengths))
    return int(parts[0]) + crossing + int(parts[-1])


@njit
def _longest(core, offsets, ends, lengths):
    """The longest path over arcs to higher positions; a lower level has only higher ones above it."""
    n = len(offsets) - 1
    longest, most = np.zeros(n, np.int64), 0
    for v in range(core, n):
        for i in range(offsets[v], offsets[v + 1]):
            longest[v] = max(longest[v], lengths[i] + longest[ends[i]])
        most = max(most, longest[v])
    return most


def inner_type(h: Hierarchy, dtype: np.dtype) -> np.dtype:
    """The type of distances inside a sweep whose answer has a type. Raises Unavailable where none holds the longest."""
    longest = longest_path(h)
    for inner in (np.dtype(dtype), np.dtype(np.uint64)):
        if longest < FAR[inner]:
            return inner
    raise Unavailable(f"paths of the hierarchy may be {longest:,} long, the sweep takes {FAR[np.dtype(np.uint64)]:,}")


def counted(h: Hierarchy, count: int, together: int) -> dict[str, float]:
    """A query's counters. together: sources of a batch."""
    return {
        "phases": (h.levels + 1) * -(-count // together),
        "relaxations": count * len(h.down_tails),
        "together": together,
        "shortcuts": h.shortcuts,
        "prepare_s": h.seconds,
    }


class Upward(NamedTuple):
    """The positions reached upwards from a batch of sources, the lowest first.

    position      uint32 [count]
    starts        uint32 [levels + 1]: where each level begins; the core is the last, and may be empty
    offsets       uint32 [count + 1]; tails uint32, lengths int64: arcs into each, tails by their places
    own           uint32 [sources]: the place of every source
    """

    position: np.ndarray
    starts: np.ndarray
    offsets: np.ndarray
    tails: np.ndarray
    lengths: np.ndarray
    own: np.ndarray

    @property
    def core(self) -> int:
        """Where the core begins."""
        return int(self.starts[-2])


class Climber:
    """Finds what leads upwards from batches of sources; its arrays serve one batch after the other."""

    def __init__(self, h: Hierarchy) -> None:
        n = len(h.vertices)
        self._h, self._place = h, np.full(n, -1, np.int32)
        self.position = np.empty(n, np.int32)
        self.position[h.vertices] = np.arange(n, dtype=np.int32)

    def climb(self, sources: np.ndarray) -> Upward:
        """For vertices of the graph."""
        h = self._h
        return Upward(*_climb(h.up_offsets, h.up_heads, h.up_lengths, h.first, self.position[sources], self._place))


@njit(nogil=True)
def _climb(offsets, heads, lengths, first, sources, place):
    """The fields of Upward. place int32 [n] is -1 everywhere, before and after."""
    found, count = np.empty(64, np.int32), 0
    for s in sources:
        if place[s] < 0:
            place[s] = 0
            if count == len(found):
                found = np.concatenate((found, np.empty_like(found)))
            found[count] = s
            count += 1
    done, arcs = 0, 0
    while done < count:
        v = found[done]
        done += 1
        arcs += offsets[v + 1] - offsets[v]
        for i in range(offsets[v], offsets[v + 1]):
            if place[heads[i]] < 0:
                place[heads[i]] = 0
                if count == len(found):
                    found = np.concatenate((found, np.empty_like(found)))
                found[count] = heads[i]
                count += 1
    found = np.sort(found[:count])[::-1]
    for k in range(count):
        place[found[k]] = k
    into = np.zeros(count + 1, np.uint32)
    for v in found:
        for i in range(offsets[v], offsets[v + 1]):
            into[place[heads[i]] + 1] += 1
    for k in range(count):
        into[k + 1] += into[k]
    tails, by_tail, next_in = np.empty(arcs, np.uint32), np.empty(arcs, np.int64), into[:count].copy()
    for k in range(count):
        v = found[k]
        for i in range(offsets[v], offsets[v + 1]):
            to = next_in[place[heads[i]]]
            next_in[place[heads[i]]] += 1
            tails[to], by_tail[to] = k, lengths[i]
    own = np.empty(len(sources), np.uint32)
    for s in range(len(sources)):
        own[s] = place[sources[s]]
    starts, level = [0], len(first) - 2
    for k in range(count):
        v = found[k]
        if v < first[level]:
            if k > 0:
                starts.append(k)
            while v < first[level]:
                level -= 1
    if level > 0:
        starts.append(count)
    starts.append(count)
    for v in found:
        place[v] = -1
    return found.astype(np.uint32), np.array(starts, np.uint32), into, tails, by_tail, own
