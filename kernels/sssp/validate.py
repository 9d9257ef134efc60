"""Is this answer right? A certificate that needs no second solver, in time linear in the graph.

Distances are those of shortest paths exactly when (1) the source is at 0, (2) no arc relaxes any further, and (3) every
reached vertex is in a tree of tight arcs (the tail's distance plus the weight equals the head's) rooted at the source.
An arc whose sum reaches the unreachable mark must not lead to an unreached vertex: that distance needs 64 bits. The
certificate adds in the distances' type, as the solver does, so (1) to (3) are exact for float32 too, with no tolerance.

A tight arc from a nearer vertex can join the tree at once, because such arcs form no cycle. Where all tight arcs into a
vertex come from vertices at the same distance (zero weights, or weights that rounding swallows), the tree grows in
rounds, from the vertices that are in it already.

1. McConnell, Mehlhorn, Naeher, Schweitzer: Certifying algorithms. Computer Science Review 5, 2011, section 2.4.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from saitan.atomics import atomic_min
from saitan.blocks import check_output
from saitan.compiled import njit
from saitan.graph import Graph
from saitan.problem import Checked, Invalid
from saitan.sssp import unreachable

NONE = np.uint32(0xFFFFFFFF)
# Of distances: those of weights and their 64-bit types, in which peers answer.
TYPES = (np.uint32, np.uint64, np.float32, np.float64)
CERTIFIED = Checked("every vertex and arc, by a certificate")


@njit(parallel=True)
def _relaxable(offsets, targets, weights, distances, limit, first):
    for v in prange(len(distances)):
        if distances[v] < limit:
            for i in range(offsets[v], offsets[v + 1]):
                t = targets[i]
                candidate = distances[v] + weights[i]
                if candidate < distances[t] or distances[t] == limit:
                    atomic_min(first, 0, i)


@njit(parallel=True)
def _hang_from_nearer(offsets, targets, weights, distances, limit, before):
    for v in prange(len(distances)):
        if distances[v] < limit:
            for i in range(offsets[v], offsets[v + 1]):
                t = targets[i]
                if distances[v] < distances[t] and distances[v] + weights[i] == distances[t]:
                    atomic_min(before, t, v)


@njit
def _hang_from_equal(offsets, targets, weights, distances, limit, rooted, before):
    """Hang vertices outside the tree below vertices of the same distance that are in it (rooted), round by round.

    Each vertex is looked at in the round after its own: what hangs below those of earlier rounds is in the tree.
    """
    queue, end = np.empty(len(distances), np.int32), 0
    for v in range(len(distances)):
        if rooted[v] and distances[v] < limit:
            queue[end] = v
            end += 1
    begin, round_end = 0, end
    while begin < round_end:
        for place in range(begin, round_end):
            v = queue[place]
            for i in range(offsets[v], offsets[v + 1]):
                t = targets[i]
                if not rooted[t] and distances[v] == distances[t] and distances[v] + weights[i] == distances[t]:
                    if before[t] == NONE:
                        queue[end] = t
                        end += 1
                    before[t] = min(before[t], np.uint32(v))
        rooted[queue[round_end:end]] = True
        begin, round_end = round_end, end


def check_distances(graph: Graph, source: int, distances: np.ndarray) -> None:
    """Conditions (1) and (2) for distances [n]. Raises Invalid naming the vertex or arc that breaks them, or what else
    the distances are.
    """
    check_output("distances", distances, (graph.n,), *TYPES)
    if distances[source] != 0:
        raise Invalid(f"the source {source} is at distance {distances[source]}, not 0")
    first = np.full(1, np.iinfo(np.int64).max, np.uint64)
    limit = unreachable(distances.dtype)
    _relaxable(graph.offsets, graph.targets, graph.weights, distances, limit, first)
    if first[0] < graph.m:
        arc = int(first[0])
        raise Invalid(arc_message(graph, arc, distances))


def arc_message(graph: Graph, arc: int, distances: np.ndarray) -> str:
    """One line on an arc that still relaxes."""
    tail, head = int(np.searchsorted(graph.offsets, arc, side="right")) - 1, int(graph.targets[arc])
    return (
        f"arc {arc} from {tail} (distance {distances[tail]}) to {head} (distance {distances[head]}) "
        f"of weight {graph.weights[arc]} still relaxes"
    )


def tight_tree(graph: Graph, source: int, distances: np.ndarray) -> np.ndarray:
    """Condition (3): a tree of tight arcs, int32 [n], -1 at the source and where there is no path.

    Of several tight arcs from nearer vertices the tree has the one from the smallest vertex. Raises Invalid naming a
    reached vertex that is in no such tree.
    """
    limit = unreachable(distances.dtype)
    arcs = (graph.offsets, graph.targets, graph.weights, distances, limit)
    before = np.full(graph.n, NONE, np.uint32)
    _hang_from_nearer(*arcs, before)
    reached = distances != limit
    rooted = before != NONE
    rooted[source] = True
    if (reached & ~rooted).any():
        _hang_from_equal(*arcs, rooted, before)
    if (loose := np.flatnonzero(reached & ~rooted)).size:
        vertex = int(loose[0])
        raise Invalid(f"vertex {vertex} (distance {distances[vertex]}) has no tight path from the source {source}")
    return before.view(np.int32)


def check_tree(graph: Graph, source: int, distances: np.ndarray, predecessors: np.ndarray) -> None:
    """Check that predecessors, int32 [n], are a tree of tight arcs rooted at the source. Raises Invalid."""
    reached = distances != unreachable(distances.dtype)
    has = predecessors >= 0
    others = reached.copy()
    others[source] = False
    if (wrong := np.flatnonzero(has != others)).size:
        raise Invalid(f"vertex {wrong[0]} should {'have' if others[wrong[0]] else 'not have'} a predecessor")
    tails, heads = graph.sources, graph.targets
    # Integers are added in 64 bits, which hold the sum; floats in their own type, as the solver adds them.
    adding = np.dtype(np.uint64) if distances.dtype.kind == "u" else distances.dtype
    with np.errstate(over="ignore"):
        tight = distances[tails].astype(adding) + graph.weights.astype(adding) == distances[heads]
    tight &= predecessors[heads] == tails
    hangs = np.zeros(graph.n, bool)
    hangs[heads[tight]] = True
    if (wrong := np.flatnonzero(others & ~hangs)).size:
        raise Invalid(f"no tight arc leads to {wrong[0]} from its predecessor {predecessors[wrong[0]]}")
    root = np.where(has, predecessors, np.arange(graph.n))
    for _ in range(int(graph.n).bit_length()):
        root = root[root]
    if (wrong := np.flatnonzero(reached & (root != source))).size:
        raise Invalid(f"following the predecessors of {wrong[0]} does not end at the source {source}")
