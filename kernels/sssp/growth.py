"""Which graphs a contraction (hierarchy.py) cannot end on, seen early from the growth of their neighbourhoods."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from saitan.graph import Graph
from saitan.problem import Unavailable
from saitan.sssp.contraction import DENSE


class Growth:
    """How the mean degree of the vertices left grows while their number falls, and whether that ends well.

    The exponent is the growth of the degree's logarithm over the fall of the number's. On road networks it falls from
    round to round; where it rises, neighbourhoods never stop growing.
    """

    HOPELESS = 2 * DENSE  # neighbours to be expected in the core, from which on a contraction is given up
    STEEPER, STEEP = 1.15, 1.5  # an exponent rises that is so many times that of two rounds before, or as high as this

    def __init__(self) -> None:
        self._rounds: list[tuple[float, float]] = []

    def expected(self, left: int, entries: int, shrinks: float) -> float:
        """Neighbours to be expected when the vertices left, which have so many entries in all, have shrunk so many
        times; 0 while the exponent does not rise.
        """
        self._rounds.append((np.log(left), np.log(max(entries, 1) / left)))
        exponents = [(d - c) / (a - b) for (a, c), (b, d) in pairwise(self._rounds) if a > b]
        if not exponents:
            return 0.0
        last, before = exponents[-1], exponents[-3] if len(exponents) > 2 else np.inf
        if last < self.STEEP and not (0 < self.STEEPER * before < last):
            return 0.0
        return entries / left * max(shrinks, 1) ** last


def given_up(graph: Graph, left: int, neighbours: float, after: str) -> Unavailable:
    """The refusal of a graph. after: what was seen, as a clause; neighbours: what that lets expect."""
    return Unavailable(
        f"{graph.name} cannot be contracted: {after}, and some {min(neighbours, graph.n):,.0f} neighbours each are to "
        f"be expected when {left:,} vertices are left, its table takes {DENSE} (use fast)"
    )


def around(graph: Graph, vertex: int, most: int) -> Graph:
    """The graph of the `most` vertices that a breadth-first search from one finds first, renumbered."""
    found = np.array([vertex])
    number = np.full(graph.n, -1, np.int32)
    number[vertex], count = 0, 1
    while len(found) and count < most:
        ends = np.concatenate(
            [graph.targets[a:b] for a, b in zip(graph.offsets[found], graph.offsets[found + 1], strict=True)]
        )
        found = np.unique(ends[number[ends] < 0])[: most - count]
        number[found] = np.arange(count, count + len(found))
        count += len(found)
    kept = np.flatnonzero(number >= 0)
    arcs = np.concatenate([np.arange(a, b) for a, b in zip(graph.offsets[kept], graph.offsets[kept + 1], strict=True)])
    tails = np.repeat(number[kept], graph.degrees[kept])
    heads = number[graph.targets[arcs]]
    inside = heads >= 0
    return Graph.from_arcs(count, tails[inside], heads[inside], graph.weights[arcs][inside])
