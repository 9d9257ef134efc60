"""What the public calls accept: two matrices of one type whose shapes fit."""

from __future__ import annotations

import numpy as np

from kernels.tropical.semiring import check_operand, infinity


def check_shapes(a, b) -> None:
    """Raise ValueError unless a [..., m, k] and b [..., k, n] can be multiplied and share a type."""
    if len(a.shape) < 2 or len(b.shape) < 2:
        raise ValueError(f"a matrix has at least two dimensions, not {len(a.shape)} and {len(b.shape)}")
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"shapes {tuple(a.shape)} and {tuple(b.shape)} do not fit: {a.shape[-1]} != {b.shape[-2]}")
    if np.dtype(a.dtype) != np.dtype(b.dtype):
        raise ValueError(f"types differ: {np.dtype(a.dtype)} and {np.dtype(b.dtype)}")


def checked_pair(a, b, semiring: str) -> tuple[np.ndarray, np.ndarray]:
    """Both as NumPy matrices [m, k] and [k, n]. Raises ValueError naming what does not fit."""
    same = a is b
    a, b = np.asarray(a), np.asarray(b)
    check_shapes(a, b)
    infinity(a.dtype, semiring)
    for matrix, name in ((a, "a"),) if same else ((a, "a"), (b, "b")):
        check_operand(matrix, name, semiring)
    return a, a if same else b
