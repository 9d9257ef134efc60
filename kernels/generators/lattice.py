"""What maps drawn on a square lattice share: its edges, and a spanning tree of them."""

from __future__ import annotations

import numpy as np

from saitan.compiled import njit


def edges(vertices: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The lattice's edges by the left or upper vertex: int32 arrays of those to v + 1 and of those to v + width.

    Vertices are numbered row by row; the last row may be short.
    """
    vertex = np.arange(vertices, dtype=np.int32)
    return vertex[(vertex % width < width - 1) & (vertex < vertices - 1)], vertex[: max(0, vertices - width)]


@njit
def spanning_tree(vertices, tails, heads, order):
    """bool [edges]: the edges that join two parts when they are added in this order (Kruskal)."""
    parent = np.arange(vertices).astype(np.int32)
    joins = np.zeros(len(tails), np.bool_)
    for edge in order:
        a, b = tails[edge], heads[edge]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[a] = b
            joins[edge] = True
    return joins
