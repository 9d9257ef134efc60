"""Fast on the CPU: delta-stepping over per-thread buckets, with bucket fusion.

Every thread keeps buckets of its own; a step works off the lowest bucket of all threads together, and a thread
whose own part of that bucket stays small drains it at once instead of meeting the others first (fusion).
A bucket is a chain of small blocks taken from the thread's pool, so that a push moves nothing else.

[1] U. Meyer, P. Sanders. Delta-stepping: a parallelizable shortest path algorithm. J. Algorithms 49 (2003).
[2] Y. Zhang, A. Brahmakshatriya, X. Chen, L. Dhulipala, S. Kamil, S. Amarasinghe, J. Shun. Optimizing ordered graph
    algorithms with GraphIt. CGO 2020 (bucket fusion).
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, njit, prange

from kernels.atomics import atomic_add, atomic_min

BLOCK = 64  # entries a block of a bucket
WINDOW = 64  # buckets a thread holds; what lies beyond them waits in one more, sorted anew when its turn comes
FUSED = 1024  # a thread drains its own part of the current bucket while that holds fewer entries than this
ALONE = 256  # a shared frontier smaller than this is worked off by one thread: waking the others costs more
SHARE = 64  # entries a thread takes from the shared frontier at a time

# Columns of a thread's `state` row.
FREE, TAKEN, RELAXED, OVERFLOW, FULL = range(5)
NONE = -1


@njit(cache=True, inline="always")
def _bucket(distance, scale):
    """Number of the bucket: monotone in the distance, whatever its type rounds to."""
    return np.int64(min(np.float64(distance) * scale, 4e18))


@njit(cache=True)
def _push(vertex, distance, bucket, base, pool, distances_of, chain, head, fill, state):
    """Append to a bucket of one thread; False when its pool is exhausted."""
    place = min(bucket - base, WINDOW)
    if place < WINDOW:
        place = bucket % WINDOW
    block = head[place]
    if block == NONE or fill[place] == BLOCK:
        new = state[FREE]
        if new != NONE:
            state[FREE] = chain[new]
        elif state[TAKEN] < len(chain):
            new = state[TAKEN]
            state[TAKEN] += 1
        else:
            state[FULL] = 1
            return False
        chain[new] = block
        head[place] = new
        fill[place] = 0
        block = new
    at = block * BLOCK + fill[place]
    pool[at] = vertex
    distances_of[at] = distance
    fill[place] += 1
    return True
