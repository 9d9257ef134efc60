"""The digest of saitan.blocks for NumPy arrays, in threads: a sink may be called while other threads compute."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from numba import get_num_threads, njit

# Bytes for which a thread is worth its start.
LEAST = 1 << 18

_U = np.uint64


@njit(cache=True)
def _mix(x):
    """The finaliser of splitmix64."""
    x += _U(0x9E3779B97F4A7C15)
    x = (x ^ (x >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> _U(27))) * _U(0x94D049BB133111EB)
    return x ^ (x >> _U(31))


@njit(nogil=True, cache=True)
def _sum(bits, place):
    total = _U(0)
    for i in range(len(bits)):
        total += _mix(_U(bits[_U(i)]) ^ _mix(_U(place) + _U(i)))
    return total


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "digest")


def digest(array: np.ndarray, place: int) -> int:
    """The sum of the hashes of an array's entries, as `Digest` of saitan.blocks defines them; place: of the first."""
    flat = np.ascontiguousarray(array).reshape(-1)
    bits = flat.view(f"u{flat.itemsize}")
    threads = get_num_threads()
    parts = min(threads, -(-flat.nbytes // LEAST))
    if parts <= 1:
        return int(_sum(bits, place))
    cuts = [len(bits) * part // parts for part in range(parts + 1)]
    sums = _pool(threads).map(lambda low, high: int(_sum(bits[low:high], place + low)), cuts[:-1], cuts[1:])
    return sum(sums) % 2**64
