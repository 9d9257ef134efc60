"""Is this matrix right? A certificate a row that needs no second solver, in time linear in sources times arcs.

A row holds the distances from its source s exactly when (1) s is at 0; (2) every other vertex is at the least of
"distance of the tail plus weight" over its incoming arcs from reached vertices, and unreached where there is none; and
(3) every reached vertex hangs in a tree of arcs for which that sum is its distance (tight arcs), rooted at s. (2) says
that no arc relaxes any further and that every reached vertex has a tight arc. Sums are rounded as the solvers round
them, from the source on, which keeps (1) to (3) exact for floats too.

A tight arc from a nearer vertex can be taken at once: such arcs cannot form a cycle. Only where all tight arcs into a
vertex come from equal distance (zero weights, or weights that rounding swallows) does the tree grow from what hangs in
it already. Everything is asked of the incoming arcs, from a copy of the graph with its arcs turned round, so that no
two threads write to one place and none of a solver's own arrays is read.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numba import prange

from saitan.blocks import check_output
from saitan.compiled import njit
from saitan.graph import Graph
from saitan.problem import Checked, Invalid
from saitan.sssp import unreachable
from saitan.sssp.validate import TYPES

CERTIFIED = Checked("every entry, by a certificate a source")
RIGHT = -1


@njit
def _entry(begin, end, tails, weights, row, here, limit):
    """For one vertex: whether it breaks (2), and whether a tight arc from a nearer vertex leads here."""
    least, led, nearer = limit, False, False
    for i in range(begin, end):
        before = row[tails[i]]
        if before < limit:
            led = True
            candidate = before + weights[i]
            least = min(least, candidate)
            nearer |= before < here and candidate == here
    if here == limit:
        return led, True
    return least != here, nearer


@njit(parallel=True)
def _rows(offsets, tails, weights, distances, first, limit, wrong, hanging):
    """wrong [rows]: the first vertex of a row that breaks (1) or (2), or RIGHT; hanging: how many (3) leaves open."""
    for r in prange(len(distances)):
        row, source = distances[r], first + r
        wrong[r], hanging[r] = RIGHT, 0
        for t in range(len(row)):
            if t == source:
                bad, nearer = row[t] != 0, True
            else:
                bad, nearer = _entry(offsets[t], offsets[t + 1], tails, weights, row, row[t], limit)
            if bad:
                wrong[r] = t
                break
            if not nearer:
                hanging[r] += 1


@njit
def _unrooted(offsets, targets, weights, turned_offsets, tails, turned_weights, row, source, limit):
    """The first vertex of a row that breaks (3), or RIGHT: the tree grows by tight arcs between equal distances."""
    n = len(row)
    rooted, stack, top = np.zeros(n, np.bool_), np.empty(n, np.int64), 0
    for t in range(n):
        if row[t] < limit:
            begin, end = turned_offsets[t], turned_offsets[t + 1]
            if t == source or _entry(begin, end, tails, turned_weights, row, row[t], limit)[1]:
                rooted[t], stack[top] = True, t
                top += 1
    while top:
        top -= 1
        v = stack[top]
        for i in range(offsets[v], offsets[v + 1]):
            t = targets[i]
            if not rooted[t] and row[t] == row[v] and row[v] + weights[i] == row[t]:
                rooted[t], stack[top] = True, t
                top += 1
    for t in range(n):
        if row[t] < limit and not rooted[t]:
            return t
    return RIGHT


class Certificate:
    """The certificate of one graph.

    turned  the graph with every arc turned round, made when first asked for
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def turned(self) -> Graph:
        return self.graph.transposed()

    def check(self, first: int, distances: np.ndarray) -> None:
        """Whether distances [sources, n] are those from first, first + 1, ... Raises Invalid naming an entry."""
        check_output("distances", distances, (None, self.graph.n), *TYPES)
        graph, turned, limit = self.graph, self.turned, unreachable(distances.dtype)
        into = (turned.offsets, turned.targets, turned.weights)
        wrong, hanging = np.empty(len(distances), np.int64), np.empty(len(distances), np.int64)
        _rows(*into, distances, first, limit, wrong, hanging)
        for row in np.flatnonzero(wrong != RIGHT):
            raise Invalid(self.entry_message(first + int(row), int(wrong[row]), distances[row]))
        out = (graph.offsets, graph.targets, graph.weights)
        for row in np.flatnonzero(hanging):
            vertex = _unrooted(*out, *into, distances[row], first + row, limit)
            if vertex != RIGHT:
                raise Invalid(tree_message(first + int(row), vertex, distances[row]))

    def entry_message(self, source: int, vertex: int, row: np.ndarray) -> str:
        """One line on an entry that breaks condition (1) or (2)."""
        if vertex == source:
            return f"the source {source} is at distance {row[vertex]}, not 0"
        turned, limit = self.turned, unreachable(row.dtype)
        arcs = slice(turned.offsets[vertex], turned.offsets[vertex + 1])
        before = row[turned.targets[arcs]]
        led = before != limit
        sums = before[led].astype(np.float64) + turned.weights[arcs][led]
        wanted = f"put it at {sums.min():.17g}" if len(sums) else "come from nowhere reached"
        said = "unreached" if row[vertex] == limit else f"at distance {row[vertex]}"
        return f"from source {source}, vertex {vertex} is {said}, but its incoming arcs {wanted}"


def tree_message(source: int, vertex: int, row: np.ndarray) -> str:
    """One line on an entry that breaks condition (3)."""
    return f"vertex {vertex} (distance {row[vertex]}) has no tight path from the source {source}"
