"""Whether every arc is there both ways, in one pass over the arcs that holds nothing for each of them.

The sum over all arcs (u, v) of hash(u, v) - hash(v, u) modulo 2^64 is 0 where the arcs turned round are the same arcs.
Otherwise it is 0 by chance once in 2^64.
"""

from __future__ import annotations

import numpy as np

from saitan.compiled import njit
from saitan.generators import draw

_mix = njit(draw.mix)


@njit
def difference(offsets, targets, weights):
    """That sum; weights: uint32 [m], the bits of each arc's, or empty where they are of no concern."""
    total = np.uint64(0)
    for v in range(len(offsets) - 1):
        for arc in range(offsets[v], offsets[v + 1]):
            u = targets[arc]
            weight = _mix(np.uint64(weights[arc]) + np.uint64(1)) if len(weights) else np.uint64(0)
            there = np.uint64(v) << np.uint64(32) | np.uint64(u)
            back = np.uint64(u) << np.uint64(32) | np.uint64(v)
            total += _mix(_mix(there) + weight) - _mix(_mix(back) + weight)
    return total
