"""The digest of saitan.blocks for NumPy arrays, in threads: a sink may be called while other threads compute."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from numba import get_num_threads, njit

from saitan.atomics import atomic_add

# Entries that a thread takes at a time: a thread whose core does other work too takes fewer.
STEP = 1 << 16

_U = np.uint64


@njit(cache=True)
def _mix(x):
    """The finaliser of splitmix64."""
    x += _U(0x9E3779B97F4A7C15)
    x = (x ^ (x >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> _U(27))) * _U(0x94D049BB133111EB)
    return x ^ (x >> _U(31))


@njit(nogil=True, cache=True)
def _sum(bits, place, taken):
    """Of the steps that other threads leave. taken int64 [1]: entries that are taken."""
    total, low = _U(0), atomic_add(taken, 0, STEP)
    while low < len(bits):
        for i in range(low, min(low + STEP, len(bits))):
            total += _mix(_U(bits[_U(i)]) ^ _mix(_U(place) + _U(i)))
        low = atomic_add(taken, 0, STEP)
    return total


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "digest")


def digest(array: np.ndarray, place: int) -> int:
    """The sum of the hashes of an array's entries, as `Digest` of saitan.blocks defines them; place: of the first."""
    flat = np.ascontiguousarray(array).reshape(-1)
    bits = flat.view(f"u{flat.itemsize}")
    threads, taken = get_num_threads(), np.zeros(1, np.int64)
    if threads == 1 or len(bits) <= STEP:
        return int(_sum(bits, place, taken))
    parts = [_pool(threads).submit(_sum, bits, place, taken) for _ in range(threads)]
    return sum(int(part.result()) for part in parts) % 2**64
