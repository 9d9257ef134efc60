"""What drives a level-synchronous search: the choice of direction, the loop over the levels, counts for Graph500.

A level itself (frontier bitmap in, next bitmap and parents out, over a block of the adjacency matrix) is in cpu_step.py
and cuda_step.py; `search` asks only for what `Levels` says. The rule is paper H's, section 2.3, after Beamer, Asanovic,
Patterson: Direction-optimizing breadth-first search. SC 2012.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numba import prange

from saitan.compiled import njit
from saitan.graph import Graph
from saitan.problem import Run

TOP_DOWN, BOTTOM_UP = "top-down", "bottom-up"


class Found(NamedTuple):
    """What a level found: n_f vertices, m_f arcs that leave them; how many arcs it looked at, in how many seconds."""

    vertices: int
    arcs: int
    inspected: int = 0
    seconds: float = 0.0


class Levels(Protocol):
    """The state of one search and its level step."""

    def start(self, root: int) -> Found:
        """Forget the last search and put the root on level 0."""

    def step(self, direction: str, level: int) -> Found:
        """Make the vertices of `level` from the frontier, which they then are."""


@dataclass(frozen=True)
class Rule:
    """When to change direction.

    n, m: vertices and arcs of the graph (an undirected edge is two arcs). To bottom-up when m_f > m / alpha, back when
    n_f < n^2 / (beta m). fixed: the direction of every level, without a rule.
    """

    n: int
    m: int
    alpha: float = 10.0
    beta: float = 14.0
    fixed: str | None = None

    def next(self, direction: str, found: Found) -> str:
        """The direction of the level after one that went `direction`."""
        if self.fixed:
            return self.fixed
        if direction == TOP_DOWN:
            return BOTTOM_UP if found.arcs * self.alpha > self.m else TOP_DOWN
        return TOP_DOWN if found.vertices * self.beta * self.m < self.n * self.n else BOTTOM_UP


@dataclass
class Trace:
    """An entry a level that was made from a frontier: how, from how many vertices, arcs looked at, seconds."""

    direction: list[str] = field(default_factory=list)
    frontier: list[int] = field(default_factory=list)
    inspected: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def note(self, direction: str, frontier: int, found: Found) -> None:
        self.direction.append(direction)
        self.frontier.append(frontier)
        self.inspected.append(found.inspected)
        self.seconds.append(found.seconds)

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "direction": np.array(self.direction),
            "frontier": np.array(self.frontier, np.int64),
            "inspected": np.array(self.inspected, np.int64),
            "seconds": np.array(self.seconds),
        }

    def counters(self) -> dict[str, float]:
        """levels, inspected, switches. The last frontier leads nowhere, so there is one entry for each level."""
        switches = sum(a != b for a, b in zip(self.direction, self.direction[1:], strict=False))
        return {"levels": len(self.frontier), "inspected": sum(self.inspected), "switches": switches}


def search(levels: Levels, rule: Rule, root: int) -> Trace:
    """All levels from a root: the first top-down, as long as there are vertices."""
    trace, direction, level = Trace(), rule.fixed or TOP_DOWN, 0
    found = levels.start(root)
    while found.vertices:
        if level:
            direction = rule.next(direction, found)
        level += 1
        frontier = found.vertices
        found = levels.step(direction, level)
        trace.note(direction, frontier, found)
    return trace


def reverse(graph: Graph) -> Graph:
    """The graph of the turned arcs, which bottom-up follows: the graph itself where it is undirected."""
    return graph.transposed() if graph.metadata.get("directed", True) else graph


class EdgeCount:
    """Input edges within what a search reached, as Graph500 counts them: duplicates and loops included.

    A directed graph's arcs are its input edges; those count whose tail is reached. An undirected graph holds an edge as
    two arcs, a loop too: half the arcs of the reached vertices. Where some vertex has an odd number of loop arcs, its
    loops were stored once, and count whole.
    """

    def __init__(self, graph: Graph) -> None:
        self._halved = not graph.metadata.get("directed", True)
        self.ends = graph.degrees
        if self._halved:
            own = loops(graph.offsets, graph.targets)
            if (own % 2).any():
                self.ends = self.ends + own

    def __call__(self, levels: np.ndarray) -> int:
        """levels: int32 [n], -1 where not reached."""
        return self.whole(int(_reached(levels, self.ends)))

    def whole(self, ends: int) -> int:
        """Edges of so many ends, the sum of `ends` [n] over the vertices reached."""
        return ends // 2 if self._halved else ends

    def run(self, levels: np.ndarray, run: Run) -> Run:
        """The run with edges and TEPS among its counters."""
        edges = self(levels)
        run.counters |= {"edges": edges, "teps": edges / run.kernel, "teps_median": edges / run.kernel}
        return run


@njit(parallel=True)
def loops(offsets, targets):
    """Arcs from every vertex to itself, int64 [n]."""
    found = np.zeros(len(offsets) - 1, np.int64)
    for v in prange(len(found)):
        for i in range(offsets[v], offsets[v + 1]):
            found[v] += targets[i] == v
    return found


@njit(parallel=True)
def _reached(levels, ends):
    total = 0
    for v in prange(len(levels)):
        if levels[v] >= 0:
            total += ends[v]
    return total
