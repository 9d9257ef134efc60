"""What is asked: the distances from a range of sources, in a graph or of a dense matrix."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from saitan.calls import checked_instance, weighted_graph
from saitan.graph import Graph
from saitan.graph_input import shown
from saitan.problem import Unavailable

# Arcs are numbered by 32 bits on the device.
MAX_ARCS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Instance:
    """A graph, or a matrix instead, and how many rows an answer has at most. A query is [first source, number].

    matrix  [n, n] over (min, +): entry (i, j) is the weight of an arc from i to j, infinity where there is none
    answer  "matrix": the rows stay where they were computed; "slabs": they leave some at a time; "reductions": a few
            numbers of every row stay (streaming.py)

    Raises Unavailable for a graph without weights or vertices, or with more than MAX_ARCS arcs.
    """

    graph: Graph | None
    sources: int
    matrix: np.ndarray | None = None
    answer: str = "matrix"

    def __post_init__(self) -> None:
        if self.graph is None:
            return
        if weighted_graph(self.graph).m > MAX_ARCS:
            raise Unavailable(
                f"graph {self.graph.name} has {self.graph.m:,} arcs; all-pairs shortest paths take {MAX_ARCS:,}"
            )

    @property
    def n(self) -> int:
        """Vertices."""
        return self.graph.n if self.matrix is None else len(self.matrix)

    @property
    def dtype(self) -> np.dtype:
        """Of the weights."""
        return self.graph.weights.dtype if self.matrix is None else self.matrix.dtype

    @property
    def inputs(self) -> tuple[str, ...]:
        """What it is made of, by the names of INPUTS."""
        return ("graph",) if self.matrix is None else ("matrix",)

    def range_of(self, query: list[int]) -> tuple[int, int]:
        """First source and number of sources. Raises ValueError for a range that the instance does not have."""
        try:
            if isinstance(query, range) or any(isinstance(number, bool) for number in query):
                raise TypeError
            first, count = map(operator.index, query)
        except (TypeError, ValueError):
            raise ValueError(f"a query is [first source, number of sources], not {shown(query)}") from None
        if not (0 < count <= self.sources and 0 <= first <= self.n - count):
            raise ValueError(
                f"{count:,} sources from {first:,} on: there are {self.n:,} vertices, and this solver was "
                f"prepared for up to {self.sources:,} sources"
            )
        return first, count

    @property
    def longest(self) -> float:
        """No sum that a solver forms is longer: that of a shortest path and an arc more."""
        weights = self.graph.weights
        return 0 if len(weights) == 0 else self.n * weights.max().item()


def paper_bytes(graph: Graph, tasks: int) -> int:
    """Paper O, section 4.3: (3 P + 1) |V| + 2 |E| words of 4 bytes, which is 4 |V| + 2 |E| for a single task."""
    return 4 * ((3 * tasks + 1) * graph.n + 2 * graph.m)


def made(instance: Any) -> Instance:
    """What `apsp.instance` made. Raises ValueError for anything else."""
    return checked_instance(instance, Instance, 'apsp.instance({"graph": graph})')
