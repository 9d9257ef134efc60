"""Levels as shortest paths: every arc has length 1."""

from __future__ import annotations

import numpy as np
from numba import prange

from saitan.compiled import njit
from saitan.graph import Graph


def in_hops(graph: Graph) -> Graph:
    """The graph with length 1 on every arc."""
    return Graph(graph.offsets, graph.targets, np.ones(graph.m, np.uint32), metadata=graph.metadata)


@njit(parallel=True)
def hang(offsets, sources, root, levels, parents):
    """Parents from levels: every reached vertex takes the first neighbour one level above.

    offsets, sources: the arcs into every vertex. The root is its own parent; -1 where a vertex is not reached.
    """
    for v in prange(len(levels)):
        parents[v] = root if v == root else -1
        if levels[v] > 0:
            for i in range(offsets[v], offsets[v + 1]):
                if levels[sources[i]] == levels[v] - 1:
                    parents[v] = sources[i]
                    break
