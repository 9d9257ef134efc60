"""The digest of saitan.blocks for NumPy arrays, in threads: a sink may be called while other threads compute."""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import config, get_num_threads, prange

from saitan.atomics import atomic_add
from saitan.compiled import njit
from saitan.graph_input import as_compiled

# Entries that a thread takes at a time: a thread whose core does other work too takes fewer.
STEP = 1 << 16

_U = np.uint64


@njit
def _mix(x):
    """The finaliser of splitmix64."""
    x = (x ^ (x >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> _U(27))) * _U(0x94D049BB133111EB)
    return x ^ (x >> _U(31))


@njit(nogil=True)
def _sum(bits, place, taken):
    """Of the steps that other threads leave. taken int64 [1]: entries that are taken."""
    total, low = _U(0), atomic_add(taken, 0, STEP)
    while low < len(bits):
        for i in range(low, min(low + STEP, len(bits))):
            total += _mix(_U(bits[_U(i)]) + (_U(place) + _U(i)) * _U(0x9E3779B97F4A7C15))
        low = atomic_add(taken, 0, STEP)
    return total


@njit(parallel=True, nogil=True)
def _shared_sum(bits, place, taken, parts):
    """`_sum` by all threads; parts uint64 [threads]."""
    for k in prange(len(parts)):
        parts[k] = _sum(bits, place, taken)


@cache
def _together() -> bool:
    """Whether several threads may start parallel loops at once; with Numba's own pool that ends the process."""
    if config.THREADING_LAYER == "workqueue":
        return False
    try:
        from numba.np.ufunc import omppool  # noqa: F401
    except ImportError:
        return False
    return True


def digest(array: np.ndarray, place: int) -> int:
    """The sum of the hashes of an array's entries, as `Digest` of saitan.blocks defines them; place: of the first."""
    flat = np.ascontiguousarray(array).reshape(-1)
    bits = as_compiled(flat.view(f"u{flat.itemsize}"))
    threads, taken = get_num_threads(), np.zeros(1, np.int64)
    if threads == 1 or len(bits) <= STEP or not _together():
        return int(_sum(bits, place, taken))
    parts = np.zeros(threads, np.uint64)
    _shared_sum(bits, place, taken, parts)
    return int(parts.sum())
