"""Whether every arc of a graph is there both ways, as soon as its size lets it be known. Light: Numba is not loaded for
few arcs.
"""

from __future__ import annotations

import numpy as np

from saitan.graph import Graph
from saitan.graph_input import as_compiled

# Fewer arcs are compared sooner than the sum over them is compiled.
_MANY_ARCS = 1 << 20


def both_ways(graph: Graph) -> bool:
    """Whether every arc is there both ways, equally often and with the same weights (symmetry.py says how surely)."""
    if graph.m < _MANY_ARCS:
        return graph.is_symmetric()
    from saitan.symmetry import difference

    weights = np.empty(0, np.uint32) if graph.weights is None else graph.weights.view(np.uint32)
    return difference(*map(as_compiled, (graph.offsets, graph.targets, weights))) == 0
