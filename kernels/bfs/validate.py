"""Is this answer right? Graph500's rules, which leave no wrong answer, in one pass over vertices and arcs.

(1) The root is on level 0 and its own parent, and alone there. (2) Every other reached vertex has a parent one level
above, every unreached one none. (3) The arc from the parent is in the graph. (4) No arc leads from a reached vertex to
an unreached one, or down by more than one level.

By (1) to (3) every level is the length of a path from the root, so none is too small; by (4) none is too large, and all
that can be reached is. Arcs of an undirected graph are there both ways, so that (4) bounds both differences.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from saitan.atomics import atomic_min
from saitan.bfs.many import closeness
from saitan.blocks import check_output
from saitan.compiled import njit
from saitan.graph import Graph
from saitan.problem import Checked, Invalid

NONE = np.uint64(0xFFFFFFFFFFFFFFFF)
CHECKED = Checked("every vertex and arc, by Graph500's rules")
# The record: the first vertex that breaks (1) or (2), the first arc that breaks (4), the first vertex that breaks (3).
VERTEX, ARC, TREE = 0, 1, 2


@njit(parallel=True)
def _check_vertices(levels, parents, root, record):
    n = len(levels)
    for v in prange(n):
        level, parent = levels[v], parents[v]
        if v == root:
            right = level == 0 and parent == v
        elif level == -1:
            right = parent == -1
        else:
            right = level > 0 and 0 <= parent < n and levels[parent] == level - 1
        if not right:
            atomic_min(record, VERTEX, v)


@njit(parallel=True)
def _check_arcs(offsets, targets, levels, parents, hangs, record):
    for u in prange(len(levels)):
        level = levels[u]
        if level < 0:
            continue
        for i in range(offsets[u], offsets[u + 1]):
            v = targets[i]
            if levels[v] < 0 or levels[v] > level + 1:
                atomic_min(record, ARC, i)
            if parents[v] == u:
                hangs[v] = True


@njit(parallel=True)
def _check_tree(levels, hangs, root, record):
    for v in prange(len(levels)):
        if levels[v] >= 0 and v != root and not hangs[v]:
            atomic_min(record, TREE, v)


def check(graph: Graph, root: int, levels: np.ndarray, parents: np.ndarray) -> Checked:
    """Check levels and parents, int32 [n], on the host. Raises Invalid with the first vertex or arc that is wrong."""
    for name, values in (("levels", levels), ("parents", parents)):
        check_output(name, values, (graph.n,), np.int32)
    record = np.full(3, NONE, np.uint64)
    _check_vertices(levels, parents, root, record)
    if record[VERTEX] == NONE:
        hangs = np.zeros(graph.n, np.bool_)
        _check_arcs(graph.offsets, graph.targets, levels, parents, hangs, record)
        _check_tree(levels, hangs, root, record)
    if (wrong := explain(graph, root, levels, parents, record)) is not None:
        raise Invalid(wrong)
    return CHECKED


def explain(graph: Graph, root: int, levels: np.ndarray, parents: np.ndarray, record: np.ndarray) -> str | None:
    """One line on what a record, uint64 [3], found first; None where it found nothing."""

    def on(v: int) -> str:
        return f"on level {levels[v]}" if levels[v] != -1 else "not reached"

    if record[VERTEX] != NONE:
        v = int(record[VERTEX])
        if v == root:
            return f"the root {root} is {on(v)} with the parent {parents[v]}, not on level 0 and its own parent"
        parent = int(parents[v])
        beside = f", which is {on(parent)}" if 0 <= parent < graph.n else ""
        return f"vertex {v} is {on(v)} and has the parent {parent}{beside}"
    if record[ARC] != NONE:
        arc = int(record[ARC])
        u, v = int(np.searchsorted(graph.offsets, arc, side="right")) - 1, int(graph.targets[arc])
        return f"arc {arc} leads from vertex {u}, {on(u)}, to vertex {v}, {on(v)}"
    if record[TREE] != NONE:
        v = int(record[TREE])
        return f"vertex {v} has the parent {parents[v]}, from which no arc leads to it"
    return None


# Vertices whose closeness is computed again.
DRAWN = 256


@njit(parallel=True)
def _sums_by_queue(offsets, targets, roots, sums, reached):
    """Of every root: the sum of the levels of what it reaches, and the number of vertices, itself included."""
    n = len(offsets) - 1
    for i in prange(len(roots)):
        levels, queue = np.full(n, -1, np.int32), np.empty(n, np.int32)
        levels[roots[i]], queue[0] = 0, roots[i]
        taken, found, total = 0, 1, 0
        while taken < found:
            u = queue[taken]
            taken += 1
            total += levels[u]
            for a in range(offsets[u], offsets[u + 1]):
                v = targets[a]
                if levels[v] < 0:
                    levels[v], queue[found] = levels[u] + 1, v
                    found += 1
        sums[i], reached[i] = total, found


def check_closeness(graph: Graph, values: np.ndarray, relative: float = 0.0) -> Checked:
    """Closeness of drawn vertices, float64 [n], by a queue a vertex, to a relative difference. Raises Invalid."""
    check_output("closeness values", values, (graph.n,), np.float64)
    drawn = np.random.default_rng(graph.n).permutation(graph.n)[:DRAWN]
    sums, reached = np.empty(len(drawn), np.int64), np.empty(len(drawn), np.int64)
    _sums_by_queue(graph.offsets, graph.targets, drawn, sums, reached)
    wanted = closeness(graph.n, sums, reached)
    for v, found, right in zip(drawn.tolist(), values[drawn].tolist(), wanted.tolist(), strict=True):
        if not abs(found - right) <= relative * right:
            raise Invalid(f"the closeness of vertex {v} is {found!r}, not {right!r}")
    return Checked(f"{len(drawn)} vertices by a queue each", whole=len(drawn) == graph.n)
