"""R-MAT: Chakrabarti, Zhan, Faloutsos, "R-MAT: a recursive model for graph mining" (SDM 2004)."""

from __future__ import annotations

import numpy as np

from saitan.generators import draw
from saitan.graph import Graph


def rmat(
    vertices: int,
    arcs: int,
    a: float,
    b: float,
    c: float,
    seed: int,
    weight_low: int | None = None,
    weight_high: int | None = None,
) -> Graph:
    """Directed arcs drawn one by one, descending into quadrant a, b, c or d = 1 - a - b - c of the adjacency matrix.

    A number of vertices that is no power of two is reached by drawing again what falls outside. Self-loops and
    parallel arcs are kept. Weights: uint32, uniform in weight_low .. weight_high; none when neither is given.
    Raises ValueError where of 1,000 arcs less than one falls inside.
    """
    generator = np.random.default_rng(seed)
    levels = (vertices - 1).bit_length()
    sources, targets = np.empty(arcs, np.int32), np.empty(arcs, np.int32)
    done = drawn = 0
    while done < arcs:
        size = min(arcs - done, 1 << 20) + 16
        u, v = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for _ in range(levels):
            at = generator.random(size)
            u = 2 * u + (at >= a + b)
            v = 2 * v + (((at >= a) & (at < a + b)) | (at >= a + b + c))
        inside = np.flatnonzero((u < vertices) & (v < vertices))[: arcs - done]
        sources[done : done + len(inside)], targets[done : done + len(inside)] = u[inside], v[inside]
        done, drawn = done + len(inside), drawn + size
        if drawn >= 1_000_000 and 1000 * done < drawn:
            raise ValueError(f"a: of 1,000 arcs less than one falls inside {vertices:,} vertices; {a} is too small")
    weights = draw.optional_weights(generator, arcs, weight_low, weight_high)
    return Graph.from_arcs(vertices, sources, targets, weights, metadata={"directed": True})
