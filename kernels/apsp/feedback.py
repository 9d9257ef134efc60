"""Which sources must be searched where all distances are asked for, and how the other rows follow from theirs.

Row u of the matrix is the minimum of w + row v over the arcs (u, v, w). So it need not be searched where the rows of
all its heads are there. The sources that are searched must meet every cycle, as a *feedback vertex set* does; the
others then come level by level, each level from those before it. Random graphs of four arcs a vertex need a third of
their vertices, at four reads of a row for every other row.

A minimum set is hard to find. This one is greedy: vertices to which or from which no undecided one leads are left out,
again and again (as in Levy and Low, 1988); else the one with most ways through it is searched. So is a vertex that
would need too many levels, since each takes a while.

1. Levy, Low: A contraction algorithm for finding small cycle cutsets. J. Algorithms 9, 1988.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass

import numpy as np

from saitan.compiled import njit
from saitan.graph import Graph

# Arcs a vertex from which hardly any row follows from others, and the share of searched sources above which too few do.
DENSE, MOST = 32, 0.9
# What a warp of combine.cu does in a step.
STEP = np.dtype([("row", "i4"), ("begin", "i4"), ("count", "i4"), ("last", "i4")])


@dataclass(frozen=True, eq=False)
class Plan:
    """What is searched and what follows.

    searched  int32 [searches], ascending
    rows      int32 [n - searches]: the other rows, level by level, in a level by falling number of arcs
    levels    int64 [levels + 1]: where in rows every level begins
    offsets   int64 [rows + 1] and arcs uint32 [.., 2], head and weight: the arcs of each of these rows, without loops
    seconds   that finding it took
    """

    searched: np.ndarray
    rows: np.ndarray
    levels: np.ndarray
    offsets: np.ndarray
    arcs: np.ndarray
    seconds: float

    def steps(self, warps: int) -> np.ndarray:
        """What so many warps do side by side, STEP [steps + 2, warps]: the last two rows are empty."""
        sizes = np.diff(self.levels)
        ends = np.cumsum(-(-sizes // warps))
        steps = np.zeros((int(ends[-1]) + 2 if len(ends) else 2, warps), STEP)
        steps["row"] = -1
        steps["last"][ends - 1] = 1
        level = np.repeat(np.arange(len(sizes)), sizes)
        places = (np.concatenate([[0], ends[:-1]])[level]) * warps + np.arange(len(self.rows)) - self.levels[level]
        flat = steps.reshape(-1)
        flat["row"][places], flat["begin"][places] = self.rows, self.offsets[:-1]
        flat["count"][places] = np.diff(self.offsets)
        return steps


def plan_of(graph: Graph, levels: int) -> Plan | None:
    """The plan of a graph with integer weights, of so many levels at most; None where too few rows would follow.

    Sums of floats would be rounded in another order than along the path from the source.
    """
    n = graph.n
    if graph.weights.dtype != np.uint32 or graph.m > DENSE * n:
        return None
    nothing = np.zeros(1, np.int64), np.zeros(0, np.int32)
    # Numba compiles outside the time.
    choose(*nothing, *nothing, levels, np.empty(0, np.int32))
    begin = time.perf_counter()
    turned = graph.transposed()
    level = np.empty(n, np.int32)
    searches = choose(graph.offsets, graph.targets, turned.offsets, turned.targets, levels, level)
    if searches > MOST * n:
        return None
    no_loop = graph.targets != graph.sources
    counts = np.bincount(graph.sources[no_loop], minlength=n)
    rows = np.lexsort((-counts, level))[searches:].astype(np.int32)
    begins = np.concatenate([[0], np.cumsum(np.bincount(level)[1:])])
    offsets = np.concatenate([[0], np.cumsum(counts[rows])])
    places = np.arange(offsets[-1]) + np.repeat((np.cumsum(counts) - counts)[rows] - offsets[:-1], counts[rows])
    arcs = np.stack([graph.targets.view(np.uint32), graph.weights], axis=1)[no_loop][places]
    searched = np.flatnonzero(level == 0).astype(np.int32)
    return Plan(searched, rows, begins, offsets, arcs, time.perf_counter() - begin)


@njit
def _forget(v, offsets, heads, decided, count, stack, top):
    """A decided vertex counts no more for its neighbours; those that have none left are put on the stack."""
    for i in range(offsets[v], offsets[v + 1]):
        w = heads[i]
        if w != v:
            count[w] -= 1
            if count[w] == 0 and not decided[w]:
                stack[top] = w
                top += 1
    return top


@njit
def choose(offsets, targets, turned_offsets, turned_targets, most, level):
    """level int32 [n]: 0 of vertices to be searched, 1 .. most of the others, above those of their heads.

    The graph and the same with its arcs turned round. Returns how many are searched.
    """
    n = len(level)
    # Arcs to and from undecided vertices.
    out, into = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for v in range(n):
        for i in range(offsets[v], offsets[v + 1]):
            if targets[i] != v:
                out[v] += 1
                into[targets[i]] += 1
    decided, stack, top = np.zeros(n, np.bool_), np.empty(2 * n, np.int64), 0
    heap = [(-out[v] * into[v], v) for v in range(n)]
    heapq.heapify(heap)
    for v in range(n):
        level[v] = 1
        if out[v] == 0 or into[v] == 0:
            stack[top] = v
            top += 1
    while True:
        if top:
            top -= 1
            v = stack[top]
            if decided[v]:
                continue
        else:
            v = -1
            while v < 0 and len(heap):
                ways, x = heapq.heappop(heap)
                if decided[x]:
                    continue
                now = -out[x] * into[x]
                if now == ways:
                    v = x
                else:
                    heapq.heappush(heap, (now, x))
            if v < 0:
                break
            level[v] = 0
        decided[v] = True
        top = _forget(v, offsets, targets, decided, into, stack, top)
        top = _forget(v, turned_offsets, turned_targets, decided, out, stack, top)
    return _number(offsets, targets, turned_offsets, turned_targets, most, level)


@njit
def _number(offsets, targets, turned_offsets, turned_targets, most, level):
    """Number the levels, heads first; a vertex above the highest level is searched. Returns how many are."""
    n = len(level)
    waits, ready, end, searches = np.zeros(n, np.int64), np.empty(n, np.int64), 0, 0
    for v in range(n):
        if level[v] == 0:
            searches += 1
            continue
        for i in range(offsets[v], offsets[v + 1]):
            waits[v] += targets[i] != v and level[targets[i]] != 0
        if waits[v] == 0:
            ready[end] = v
            end += 1
    begin = 0
    while begin < end:
        v = ready[begin]
        begin += 1
        if level[v] > most:
            level[v] = 0
            searches += 1
        for i in range(turned_offsets[v], turned_offsets[v + 1]):
            u = turned_targets[i]
            if u != v and waits[u] > 0:
                level[u] = max(level[u], level[v] + 1)
                waits[u] -= 1
                if waits[u] == 0:
                    ready[end] = u
                    end += 1
    return searches
