"""The random graphs of the 9th DIMACS implementation challenge (family Random4-n), after Goldberg's SPRAND."""

from __future__ import annotations

import numpy as np

from saitan.generators import draw
from saitan.graph import Graph


def random(vertices: int, arcs: int, weight_low: int, weight_high: int, seed: int) -> Graph:
    """A Hamiltonian cycle in random order plus uniformly random arcs: strongly connected, no self-loops.

    Parallel arcs may occur. Weights: uint32, uniform in weight_low .. weight_high, those of the cycle too.
    """
    generator = np.random.default_rng(seed)
    sources, targets = np.empty(arcs, np.int32), np.empty(arcs, np.int32)
    cycle = generator.permutation(np.arange(vertices, dtype=np.int32))
    sources[:vertices], targets[:vertices] = cycle, np.roll(cycle, -1)
    extra = arcs - vertices
    tails = generator.integers(0, vertices, size=extra, dtype=np.int32)
    heads = generator.integers(0, vertices - 1, size=extra, dtype=np.int32)
    sources[vertices:] = tails
    targets[vertices:] = heads + (heads >= tails)
    weights = draw.weights(generator, arcs, weight_low, weight_high)
    return Graph.from_arcs(vertices, sources, targets, weights, metadata={"directed": True})
