"""A graph in memory: compressed sparse rows (CSR), the layout of every paper implemented here."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

MAX_VERTICES = 2**31 - 1


class GraphError(ValueError):
    """The arrays are no graph; the message is one line that says why."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A directed graph in CSR; an undirected one holds each edge as two arcs.

    offsets      int64 [n + 1], ascending from 0 to m: the arcs of v are offsets[v] .. offsets[v + 1] - 1
    targets      int32 [m]: head of each arc, in [0, n)
    weights      uint32 or float32 [m], finite and non-negative; None where the graph has no weights
    coordinates  float64 [n, 2]: longitude and latitude in degrees (or any plane's x and y); None if unknown
    metadata     name, directed, origin, checksum, generator, seed, synthetic, ...: plain JSON values

    Raises GraphError when the arrays do not fit together.
    """

    offsets: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None = None
    coordinates: np.ndarray | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.offsets.dtype != np.int64 or self.offsets.ndim != 1 or len(self.offsets) == 0:
            raise GraphError("offsets must be a non-empty one-dimensional int64 array")
        if self.targets.dtype != np.int32 or self.targets.ndim != 1:
            raise GraphError("targets must be a one-dimensional int32 array")
        if self.n > MAX_VERTICES:
            raise GraphError(f"{self.n:,} vertices: int32 ids hold at most {MAX_VERTICES:,}")
        if self.offsets[0] != 0 or self.offsets[-1] != self.m or np.any(np.diff(self.offsets) < 0):
            raise GraphError(f"offsets must ascend from 0 to the number of arcs, {self.m:,}")
        if self.m and (self.targets.min() < 0 or self.targets.max() >= self.n):
            raise GraphError(f"every target must be in [0, {self.n:,})")
        if self.weights is not None:
            if self.weights.dtype not in (np.uint32, np.float32) or self.weights.shape != self.targets.shape:
                raise GraphError("weights must be uint32 or float32, one an arc")
            if self.weights.dtype == np.float32 and not (
                np.all(np.isfinite(self.weights)) and np.all(self.weights >= 0)
            ):
                raise GraphError("weights must be finite and non-negative")
        if self.coordinates is not None and self.coordinates.shape != (self.n, 2):
            raise GraphError(f"coordinates must have the shape ({self.n}, 2)")

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

    @cached_property
    def degrees(self) -> np.ndarray:
        """Out-degree of every vertex, int64 [n]."""
        return np.diff(self.offsets)

    @cached_property
    def sources(self) -> np.ndarray:
        """Tail of every arc, int32 [m]."""
        return np.repeat(np.arange(self.n, dtype=np.int32), self.degrees)

    @property
    def mean_weight(self) -> float:
        """0 where there are no arcs."""
        return float(self.weights.mean(dtype=np.float64)) if self.m else 0.0

    @classmethod
    def from_arcs(
        cls,
        n: int,
        sources: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray | None = None,
        *,
        coordinates: np.ndarray | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Graph:
        """The graph of n vertices with the given arcs; a row keeps its arcs in the order given.

        sources, targets: integers [m] in [0, n); weights: uint32 or float32 [m] or None.
        Raises GraphError for an arc out of range.
        """
        from scipy.sparse import _sparsetools

        sources, targets = np.asarray(sources), np.asarray(targets)
        if len(sources) != len(targets):
            raise GraphError(f"{len(sources)} sources for {len(targets)} targets")
        for side, ends in (("source", sources), ("target", targets)):
            if len(ends) and (ends.min() < 0 or ends.max() >= n):
                worst = int(np.flatnonzero((ends < 0) | (ends >= n))[0])
                raise GraphError(f"arc {worst}: {side} {int(ends[worst])} is not in [0, {n:,})")
        m = len(sources)
        index = np.int32 if max(m, n) <= MAX_VERTICES else np.int64
        offsets, order, columns = np.empty(n + 1, index), np.empty(m, index), np.empty(m, index)
        # SciPy's counting sort; it is stable and moves one value an arc: the arc's number.
        _sparsetools.coo_tocsr(
            n,
            n,
            m,
            sources.astype(index),
            targets.astype(index),
            np.arange(m, dtype=index),
            offsets,
            columns,
            order,
        )
        return cls(
            offsets.astype(np.int64),
            columns.astype(np.int32, copy=False),
            None if weights is None else weights[order],
            coordinates,
            dict(metadata or {}),
        )

    def with_metadata(self, **changes: Any) -> Graph:
        """The same arrays with metadata entries added or replaced."""
        return replace(self, metadata={**self.metadata, **changes})

    def transposed(self) -> Graph:
        """Every arc turned round."""
        return Graph.from_arcs(
            self.n,
            self.targets,
            self.sources,
            self.weights,
            coordinates=self.coordinates,
            metadata=self.metadata,
        )

    def components(self, connection: Literal["weak", "strong"]) -> np.ndarray:
        """The number of every vertex's weakly or strongly connected component, int32 [n]."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        shape = (self.n, self.n)
        arcs = csr_array((np.ones(self.m, bool), self.targets, self.offsets), shape=shape, copy=connection == "strong")
        if connection == "strong":
            # SciPy's search for strong components may not end where arcs are parallel (seen with 1.17).
            arcs.sum_duplicates()
        return connected_components(arcs, connection=connection)[1]

    def to_scipy(self):
        """The weights as a scipy.sparse.csr_array of float64 (exact for uint32), zeros and parallel arcs kept."""
        from scipy.sparse import csr_array

        weights = np.ones(self.m) if self.weights is None else self.weights.astype(np.float64)
        return csr_array((weights, self.targets, self.offsets), shape=(self.n, self.n))
