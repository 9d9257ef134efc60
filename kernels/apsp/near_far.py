"""What `fast` chooses on both backends: how far the bound between near and far vertices rises at a time."""

from __future__ import annotations

import numpy as np

from saitan.graph import Graph

# Times the mean weight over the mean degree. On random graphs of four arcs a vertex this is 0.7 of the largest weight,
# where 1.08 relaxations an arc were counted.
STEP = 5.6


def step(graph: Graph, dtype: np.dtype) -> np.generic:
    """How far the bound rises at a time, as a positive number of the distances' dtype."""
    if graph.m == 0:
        return np.dtype(dtype).type(1)
    wanted = STEP * graph.mean_weight * graph.n / graph.m
    if np.dtype(dtype).kind == "u":
        return np.dtype(dtype).type(np.clip(wanted, 1, np.iinfo(np.uint32).max))
    return np.dtype(dtype).type(min(wanted, float(np.finfo(np.float32).max)) if wanted > 0 else 1)
