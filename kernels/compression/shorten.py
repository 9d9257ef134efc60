"""Doubles and floats with fewer mantissa bits, in NumPy: for other people's compressors, and to test ours."""

from __future__ import annotations

import numpy as np


def mantissa_bits(dtype: np.dtype) -> int:
    """52 or 23; 0 for integers."""
    return np.finfo(dtype).nmant if dtype.kind == "f" else 0


def shortened(values: np.ndarray, kept: int) -> np.ndarray:
    """The values rounded to `kept` mantissa bits (nearest, ties to even), the bits below zero; integers as they are.

    A denormal, a NaN and what would round to infinity are kept whole, so that the relative error is at most
    2^-(kept + 1) everywhere.
    """
    mantissa = mantissa_bits(values.dtype)
    drop = mantissa - kept
    if values.dtype.kind != "f" or drop <= 0:
        return values
    kind = np.dtype(f"u{values.itemsize}").type
    bits = values.view(kind)
    one, shift = kind(1), kind(drop)
    rounded = (bits + ((one << (shift - one)) - one) + ((bits >> shift) & one)) >> shift << shift
    infinite = kind((1 << (8 * values.itemsize - 1 - mantissa)) - 1)
    exponent = (bits >> kind(mantissa)) & infinite
    fits = (exponent != 0) & (exponent != infinite) & (((rounded >> kind(mantissa)) & infinite) != infinite)
    return np.where(fits, rounded, bits).view(values.dtype)
