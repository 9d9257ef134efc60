"""A graph in memory: compressed sparse rows (CSR), the layout of every paper implemented here.

Graphs of other libraries come in by `from_scipy`, `from_networkx`, `from_pandas` (importers.py), plain arrays by
`from_arcs`; what they must be is checked in graph_input.py; the sorts are in csr.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from saitan import csr
from saitan.graph_input import (
    MAX_VERTICES,
    GraphError,
    arc_weights,
    check_memory,
    plane,
    row_offsets,
    shown,
    vertex_count,
    vertex_labels,
    vertices,
)

__all__ = ["MAX_VERTICES", "Graph", "GraphError"]


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A directed graph in CSR; an undirected one holds each edge as two arcs.

    offsets      int64 [n + 1], ascending from 0 to m: the arcs of v are offsets[v] .. offsets[v + 1] - 1
    targets      int32 [m]: head of each arc, in [0, n)
    weights      uint32 or float32 [m], finite and non-negative; None where the graph has no weights
    coordinates  float64 [n, 2]: longitude and latitude in degrees (or any plane's x and y); None if unknown
    metadata     name, directed, origin, checksum, generator, seed, synthetic, ...: plain JSON values
    labels       int64 or str [n]: what vertices are called where they come from; None where that is their number

    Arrays of other types are converted if that keeps every value, by position. Weights become uint32 from integers and
    float32 from real numbers. Arrays that are right already are not copied, and every public call checks them again.
    `degrees`, `sources` and `mean_weight` are kept once asked for: after a write into the arrays, copy.copy(graph) has
    those of what is there now.
    Raises GraphError, which says what is wrong, when the arrays do not fit together.
    """

    offsets: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None = None
    coordinates: np.ndarray | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    labels: np.ndarray | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.metadata, dict):
            raise GraphError(f"metadata must be a dictionary, not {type(self.metadata).__name__}")
        # A copy: of two graphs made of one, a change of the metadata reaches none but its own.
        told = {key: value.item() if isinstance(value, np.generic) else value for key, value in self.metadata.items()}
        if not isinstance(directed := told.get("directed", True), bool):
            raise GraphError(f"the metadata's directed must be True or False, not {shown(directed)}")
        object.__setattr__(self, "metadata", told)
        offsets = row_offsets(self.offsets)
        n = len(offsets) - 1
        targets = vertices(self.targets, n, "target")
        m = len(targets)
        if offsets[-1] != m:
            raise GraphError(f"offsets end with {offsets[-1]:,}: the number of arcs, {m:,}, is right")
        self._set(
            offsets=offsets,
            targets=targets,
            weights=None if self.weights is None else arc_weights(self.weights, m),
            coordinates=None if self.coordinates is None else plane(self.coordinates, n),
            labels=None if self.labels is None else vertex_labels(self.labels, n),
        )

    def _set(self, **arrays: np.ndarray | None) -> None:
        for name, array in arrays.items():
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        kind = "no weights" if self.weights is None else f"{self.weights.dtype} weights"
        way = "directed" if self.directed else "undirected"
        return f"<Graph {self.name!r}: {self.n:,} vertices, {self.m:,} arcs, {way}, {kind}>"

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.offsets) - 1

    @property
    def m(self) -> int:
        """Number of arcs."""
        return len(self.targets)

    @property
    def name(self) -> str:
        return str(self.metadata.get("name", "unnamed"))

    @property
    def directed(self) -> bool:
        """What the metadata says; False means that every arc is there both ways, with the same weight."""
        return bool(self.metadata.get("directed", True))

    @cached_property
    def degrees(self) -> np.ndarray:
        """Out-degree of every vertex, int64 [n]."""
        return np.diff(self.offsets)

    @cached_property
    def sources(self) -> np.ndarray:
        """Tail of every arc, int32 [m]."""
        return csr.tails(self.offsets)

    @cached_property
    def mean_weight(self) -> float:
        """0 where there are no arcs. Raises GraphError where the graph has no weights."""
        if self.weights is None:
            raise GraphError(f"graph {self.name} has no weights")
        return float(self.weights.mean(dtype=np.float64)) if self.m else 0.0

    @classmethod
    def from_arcs(
        cls,
        n: int,
        sources: Any,
        targets: Any,
        weights: Any = None,
        *,
        coordinates: Any = None,
        metadata: dict[str, Any] | None = None,
        labels: Any = None,
    ) -> Graph:
        """The graph of n vertices with the given arcs; a row keeps its arcs in the order given.

        sources, targets: whole numbers [m] in [0, n); weights: [m] or None. Any array, Series or list will do, by
        position; types as for Graph itself. coordinates and labels are not copied. Raises GraphError that names the
        first arc that is off, and where the rows of n vertices are more than memory has room for.
        """
        n = vertex_count(n)
        tails, heads = vertices(sources, n, "source"), vertices(targets, n, "target")
        if len(tails) != len(heads):
            raise GraphError(f"{len(tails):,} sources for {len(heads):,} targets")
        check_memory(n, len(tails))
        drawn = None if weights is None else arc_weights(weights, len(tails))
        return cls(*csr.by_row(n, tails, heads, drawn), coordinates, _copied(metadata), labels)

    @classmethod
    def from_scipy(cls, matrix: Any) -> Graph:
        """The graph of a square scipy.sparse matrix: see `saitan.importers.from_scipy`."""
        from saitan import importers

        return importers.from_scipy(matrix)

    @classmethod
    def from_networkx(cls, graph: Any, weight: str = "weight") -> Graph:
        """The graph of a networkx graph: see `saitan.importers.from_networkx`."""
        from saitan import importers

        return importers.from_networkx(graph, weight)

    @classmethod
    def from_pandas(
        cls, frame: Any, source: str = "source", target: str = "target", weight: str | None = None
    ) -> Graph:
        """The graph of a frame with a row an arc: see `saitan.importers.from_pandas`."""
        from saitan import importers

        return importers.from_pandas(frame, source, target, weight)

    def __copy__(self) -> Graph:
        return replace(self)

    def with_metadata(self, **changes: Any) -> Graph:
        """The same arrays with metadata entries added or replaced."""
        return replace(self, metadata={**self.metadata, **changes})

    def without_weights(self) -> Graph:
        """The same arcs without weights."""
        if self.weights is None:
            return self
        told = {name: value for name, value in self.metadata.items() if name != "inexact"}
        return replace(self, weights=None, metadata=told)

    def transposed(self) -> Graph:
        """Every arc turned round; the targets of a row ascend, those of parallel arcs stay in their order."""
        return Graph(*csr.transposed(*self._arcs()), self.coordinates, self.metadata, self.labels)

    def _arcs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Offsets, targets and weights for compiled code. Raises GraphError where they were changed to be no graph."""
        arcs = replace(self)
        return arcs.offsets, arcs.targets, arcs.weights

    def is_symmetric(self) -> bool:
        """Whether every arc is there both ways, equally often and with the same weights."""
        turned = csr.transposed(*self._arcs())
        if not np.array_equal(turned[0], self.offsets):
            return False
        offsets, targets, weights = csr.transposed(*turned)
        if not np.array_equal(turned[1], targets):
            return False
        if weights is None:
            return True
        # Parallel arcs may stand in another order: within each bundle the weights that differ must be the same.
        off = np.flatnonzero(turned[2] != weights)
        rows = np.searchsorted(offsets, off, side="right")
        one, other = (np.lexsort((values[off], targets[off], rows)) for values in (turned[2], weights))
        return np.array_equal(turned[2][off[one]], weights[off[other]])

    def components(self, connection: Literal["weak", "strong"]) -> np.ndarray:
        """The number of every vertex's weakly or strongly connected component, int32 [n].

        Raises GraphError for another connection.
        """
        from saitan import components

        if not isinstance(connection, str) or connection not in ("weak", "strong"):
            raise GraphError(f"unknown connection {shown(connection)} (there are: weak, strong)")
        return getattr(components, connection)(*self._arcs()[:2])

    def to_scipy(self):
        """The weights as a scipy.sparse.csr_array of float64 (exact for uint32), zeros and parallel arcs kept.

        Takes 12 bytes an arc. It shares nothing with the graph: SciPy sorts indices in place where it wants them so.
        Raises GraphError where the arrays were changed to be no graph.
        """
        from scipy.sparse import csr_array

        offsets, targets, weights = self._arcs()
        weights = np.ones(len(targets)) if weights is None else weights.astype(np.float64)
        # With offsets of another type than the targets SciPy would copy those.
        offsets = offsets.astype(np.int32 if len(targets) <= MAX_VERTICES else np.int64)
        return csr_array((weights, targets.copy(), offsets), shape=(self.n, self.n))


def _copied(metadata: Any) -> Any:
    """A copy of a dictionary, so that a change of the caller's does not reach the graph; anything else as it is."""
    return {} if metadata is None else dict(metadata) if isinstance(metadata, dict) else metadata
