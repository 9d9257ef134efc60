"""Shortest paths from a matrix and its closure, by tight arcs: those on a shortest path to the target."""

from __future__ import annotations

import numpy as np

from saitan.apsp.rounding import closing_additions, rounded
from saitan.tropical.semiring import infinity, mirrored


def walk(a: np.ndarray, closure: np.ndarray, source: int, target: int, semiring: str) -> np.ndarray:
    """The vertices of a best path, int32, as `saitan.tropical.path` returns them.

    An arc is tight if it and the shortest path on from its end are as long as the shortest path from its beginning. The
    search is depth first, as arcs of weight 0 may form a cycle of tight arcs.
    """
    if closure[target, target] != 0:
        raise ValueError(f"entry ({target}, {target}) is not 0: the closure is not that of this matrix")
    left = mirrored(closure[:, target], semiring).astype(np.float64)
    finite = closure[:, target] != infinity(a.dtype, semiring)
    if source == target:
        return np.array([source], np.int32)
    if not finite[source]:
        # No sum on a path is infinite: matrices with such sums have no closure here.
        if _leads(a, source, target, semiring):
            raise ValueError(f"arcs lead from {source} to {target}: the closure is not that of this matrix")
        return np.array([], np.int32)
    # The closure's entries at both ends of an arc round in an order of their own, the longer is at least as large.
    slack = 2 * rounded(closing_additions(len(a))) if a.dtype == np.float32 else 0.0
    before = np.full(len(a), -1, np.int64)
    before[source], open_ends = source, [source]
    while open_ends:
        vertex = open_ends.pop()
        if vertex == target:
            break
        candidates = np.flatnonzero((a[vertex] != infinity(a.dtype, semiring)) & finite & (before < 0))
        through = mirrored(a[vertex, candidates], semiring).astype(np.float64) + left[candidates]
        ahead = candidates[np.abs(through - left[vertex]) <= slack * left[vertex]]
        before[ahead] = vertex
        # The vertex nearest to the target comes off the stack first.
        open_ends.extend(ahead[np.argsort(-left[ahead], kind="stable")].tolist())
    else:
        raise ValueError(f"no arcs lead from {source} to {target}: the closure is not that of this matrix")
    route = [target]
    while route[-1] != source:
        route.append(int(before[route[-1]]))
    return np.array(route[::-1], np.int32)


def _leads(a: np.ndarray, source: int, target: int, semiring: str) -> bool:
    """Whether arcs lead from one vertex to another."""
    new = np.ones(len(a), np.bool_)
    open_ends = [source]
    while open_ends and new[target]:
        ahead = np.flatnonzero((a[open_ends.pop()] != infinity(a.dtype, semiring)) & new)
        new[ahead] = False
        open_ends.extend(ahead.tolist())
    return not new[target]
