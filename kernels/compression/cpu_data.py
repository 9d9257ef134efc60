"""State vectors and random numbers by closed forms on the CPU (Numba): data.py has the formulas."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from saitan.compiled import njit
from saitan.compression.data import KINDS, Drawn

GOLDEN = 0x9E3779B97F4A7C15


def fill(out: np.ndarray, drawn: Drawn) -> None:
    """Write the array into `out`, float64 [2^(qubits + 1)]."""
    if KINDS[drawn.kind] == "bits":
        _fill_bits(out.view(np.uint64), np.uint64(drawn.key))
    else:
        _fill(out, drawn.kind, drawn.qubits, np.uint64(drawn.key), drawn.whole, drawn.fraction)


@njit
def _mix(x):
    x += np.uint64(GOLDEN)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


@njit
def _bits(key, index):
    return _mix(key ^ _mix(np.uint64(index)))


@njit
def _turn(share):
    """Cosine and sine of 2 pi share, share in [0, 1); multiples of a quarter are exact."""
    quarter = int(share * 4)
    rest = share - quarter * 0.25
    c, s = math.cos(2 * math.pi * rest), math.sin(2 * math.pi * rest)
    if quarter == 0:
        return c, s
    if quarter == 1:
        return -s, c
    if quarter == 2:
        return -c, -s
    return s, -c


@njit(parallel=True)
def _fill(out, kind, qubits, key, whole, fraction):
    n = np.int64(1) << qubits
    size = float(n)
    for j in prange(n):
        re, im = 0.0, 0.0
        if kind == 0:
            c, s = _turn(float((np.uint64(whole) * np.uint64(j)) & np.uint64(n - 1)) / size)
            re, im = c / math.sqrt(size), s / math.sqrt(size)
        elif kind == 1:
            d = (whole - j + fraction) / size
            magnitude = math.sin(math.pi * fraction) / (size * math.sin(math.pi * d))
            re, im = magnitude * math.cos(math.pi * (fraction - d)), magnitude * math.sin(math.pi * (fraction - d))
        elif kind == 2:
            re = math.sqrt(0.5) if j == 0 or j == n - 1 else 0.0
        else:
            u = (float(_bits(key, 2 * j) >> np.uint64(11)) + 0.5) * 2.0**-53
            c, s = _turn(float(_bits(key, 2 * j + 1) >> np.uint64(11)) * 2.0**-53)
            radius = math.sqrt(-2.0 * math.log(u)) * (1.0 if kind == 4 else math.sqrt(0.5 / size))
            re, im = radius * c, radius * s
        out[2 * j], out[2 * j + 1] = re, im


@njit(parallel=True)
def _fill_bits(bits, key):
    for i in prange(bits.size):
        bits[i] = _bits(key, i)
