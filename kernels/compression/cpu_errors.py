"""The errors of decompressed values on the CPU (Numba); errors.cu counts the same on CUDA."""

from __future__ import annotations

import numpy as np
from numba import prange

from saitan.blocks import check_output
from saitan.compiled import njit
from saitan.compression.errors import Errors, combine

STEP = 1 << 14


def compare(a: np.ndarray, found: np.ndarray, kept: int, bound: float, components: int) -> Errors:
    """Errors of `found` by Numba. kept: mantissa bits that bound the relative error by 2^-(kept + 1); -1 for no bound,
    but NaN stays NaN and infinity infinity; bound: of the absolute error, in its place where it is not 0.

    With all mantissa bits kept, and for integers, every bit must agree; zeros, denormals, infinities and NaNs agree to
    the bit in any case, but within an absolute bound denormals and 0 may be any number near, and -0 agrees to the bit.
    Raises Invalid where `found` has another shape or type.
    """
    check_output("values", found, a.shape, a.dtype)
    parts = -(-a.size // STEP)
    places, sums = np.zeros((parts, 2), np.int64), np.zeros((parts, 6))
    bits = a.view(f"u{a.itemsize}"), found.view(f"u{a.itemsize}")
    if a.dtype.kind == "f":
        about = np.finfo(a.dtype)
        exact = kept == about.nmant and not bound
        _compare_floats(a, found, *bits, kept, bound, exact, float(about.tiny), components, places, sums)
    else:
        _compare_integers(*bits, places, sums)
    return combine(places, sums)


@njit(parallel=True)
def _compare_floats(a, b, bits_a, bits_b, kept, bound, exact, tiny, components, places, sums):
    scale = 2.0 ** (kept + 1)
    for part in prange(len(places)):
        wrong, first, relative, absolute = 0, -1, 0.0, 0.0
        aa, dd, re, im = 0.0, 0.0, 0.0, 0.0
        low, high = part * STEP, min((part + 1) * STEP, a.size)
        for i in range(low, high):
            x, y = np.float64(a[i]), np.float64(b[i])
            same = bits_a[i] == bits_b[i]
            # Where x and y differ by a factor of at most two, their difference has no rounding error.
            d = 0.0 if same else y - x
            if not same:
                good = kept < 0 and ((np.isfinite(x) and np.isfinite(y)) or (np.isnan(x) and np.isnan(y)))
                if bound > 0:
                    good = np.isfinite(x) and abs(d) <= bound and not (x == 0.0 and bits_a[i] != 0)
                elif not exact and kept >= 0 and np.isfinite(x) and abs(x) >= tiny:
                    good = abs(d) * scale <= abs(x) and 2.0 * abs(y) >= abs(x)
                if not good:
                    wrong += 1
                    if first < 0:
                        first = i
            if np.isfinite(x) and np.isfinite(y):
                absolute = max(absolute, abs(d))
                if x != 0.0:
                    relative = max(relative, abs(d) / abs(x))
                aa += x * x
                dd += d * d
                re += x * d
                if components == 2:
                    # The partner is in the same part: STEP is even.
                    other = i ^ 1
                    im += (x if i & 1 == 0 else -x) * (np.float64(b[other]) - np.float64(a[other]))
        places[part, 0], places[part, 1] = wrong, first
        sums[part, 0], sums[part, 1], sums[part, 2], sums[part, 3] = relative, absolute, aa, dd
        sums[part, 4], sums[part, 5] = re, im


@njit(parallel=True)
def _compare_integers(a, b, places, sums):
    for part in prange(len(places)):
        wrong, first = 0, -1
        for i in range(part * STEP, min((part + 1) * STEP, a.size)):
            if a[i] != b[i]:
                wrong += 1
                if first < 0:
                    first = i
        places[part, 0], places[part, 1] = wrong, first
