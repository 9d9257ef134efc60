"""The arcs of a graph in parts, so that of several ranks each reads or generates its own and none holds all.

`ArcParts` is what a solver on several ranks takes for a graph: `GraphArcs` of one in memory, `KroneckerArcs` of one
that is generated, and saitan.workflow.graphs.parquet's of one on disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from saitan.graph import Graph

# Arcs that are handed out at once.
BATCH = 1 << 20

Arcs = tuple[np.ndarray, np.ndarray]


class ArcParts(Protocol):
    """A graph by its arcs.

    n, m       vertices, arcs (an undirected edge is two)
    name       of the graph
    directed   False: every arc is there both ways
    """

    n: int
    m: int
    name: str
    directed: bool

    def arcs(self, part: int, parts: int) -> Iterator[Arcs]:
        """Tails and heads, int32, of one of several disjoint parts, at most BATCH at once and in any order."""


class GraphArcs:
    """The arcs of a graph in memory: neighbouring ones make a part."""

    def __init__(self, graph: Graph) -> None:
        self.n, self.m, self.name, self.directed = graph.n, graph.m, graph.name, graph.directed
        self._graph = graph

    def arcs(self, part: int, parts: int) -> Iterator[Arcs]:
        first, last = self.m * part // parts, self.m * (part + 1) // parts
        for low in range(first, last, BATCH):
            high = min(low + BATCH, last)
            yield tails_of(self._graph.offsets, low, high), self._graph.targets[low:high]


class KroneckerArcs:
    """The Kronecker graph of the generator with the same parameters; every part generates its own edges."""

    directed = False

    def __init__(self, scale: int, seed: int, edge_factor: int = 16) -> None:
        self.n, self._edges = 1 << scale, edge_factor << scale
        self.m, self.name = 2 * self._edges, f"kronecker-{scale}"
        self._parameters: dict[str, Any] = {"scale": scale, "seed": seed, "edge_factor": edge_factor}

    def arcs(self, part: int, parts: int) -> Iterator[Arcs]:
        from saitan.generators.kronecker import ends

        first, last = self._edges * part // parts, self._edges * (part + 1) // parts
        for low in range(first, last, BATCH // 2):
            yield ends(**self._parameters, first=low, last=min(low + BATCH // 2, last))


def tails_of(offsets: np.ndarray, low: int, high: int) -> np.ndarray:
    """The tails, int32, of arcs low .. high - 1 of a graph in CSR."""
    first = int(np.searchsorted(offsets, low, side="right")) - 1
    last = int(np.searchsorted(offsets, high, side="left"))
    counts = np.diff(np.clip(offsets[first : last + 1], low, high))
    return np.repeat(np.arange(first, last, dtype=np.int32), counts)


def in_parts(graph: Graph | ArcParts) -> ArcParts:
    """A graph in memory as its arcs; what is in parts already stays."""
    return GraphArcs(graph) if isinstance(graph, Graph) else graph
