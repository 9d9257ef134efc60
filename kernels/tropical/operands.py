"""What the public calls accept: two matrices of one type whose shapes fit."""

from __future__ import annotations

from math import prod

import numpy as np

from saitan.calls import plain_array
from saitan.memory import check_room
from saitan.tropical.semiring import SumOverflow, check_operand, infinity

# Rows and columns that are looked at together for sums that overflow.
_STRIP, _COLUMNS = 256, 4096


def check_shapes(a, b) -> None:
    """Raise ValueError unless a [..., m, k] and b [..., k, n] can be multiplied and share a type."""
    if len(a.shape) < 2 or len(b.shape) < 2:
        raise ValueError(f"a matrix has at least two dimensions, not {len(a.shape)} and {len(b.shape)}")
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"shapes {tuple(a.shape)} and {tuple(b.shape)} do not fit: {a.shape[-1]} != {b.shape[-2]}")
    if np.dtype(a.dtype) != np.dtype(b.dtype):
        raise ValueError(f"types differ: {np.dtype(a.dtype)} and {np.dtype(b.dtype)}")


def result_shape(a, b) -> tuple[int, ...]:
    """The shape of A (x) B, leading dimensions broadcast. Raises ValueError."""
    check_shapes(a, b)
    try:
        batch = np.broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    except ValueError:
        raise ValueError(f"leading dimensions of {tuple(a.shape)} and {tuple(b.shape)} do not broadcast") from None
    return (*batch, a.shape[-2], b.shape[-1])


def check_product_room(a: np.ndarray, b: np.ndarray, semiring: str) -> None:
    """Raise Unavailable where memory has no room for A (x) B and, a matrix at a time, what makes it."""
    shape, size = result_shape(a, b), a.dtype.itemsize
    entries = [prod(x.shape[-2:]) for x in (a, b)]
    # An operand as the kernels read it, in rows of entries over (min, +): see `in_rows`.
    turned = semiring != "min_plus" or a.dtype == np.float32
    copies = [count * (turned + (not x.flags.c_contiguous)) for x, count in zip((a, b), entries, strict=True)]
    # Checks have a byte for each entry of an operand.
    needed = (prod(shape) + 2 * prod(shape[-2:]) + sum(copies)) * size + max(entries)
    check_room(needed, f"the product {shape} of {a.dtype}")


def check_out(out, shape: tuple[int, ...], dtype: np.typing.DTypeLike) -> None:
    """Raise ValueError unless out has the result's shape and type, and each entry bytes of its own; none masked."""
    if np.ma.is_masked(out):
        raise ValueError("entries of out are masked: give its data")
    if tuple(out.shape) != shape or np.dtype(out.dtype) != np.dtype(dtype):
        raise ValueError(f"out is {tuple(out.shape)} of {out.dtype}, the result {shape} of {np.dtype(dtype)}")
    reach = np.dtype(dtype).itemsize
    steps = sorted((abs(stride), size) for stride, size in zip(out.strides, shape, strict=True) if size > 1)
    for stride, size in steps if 0 not in shape else ():
        if stride < reach:
            raise ValueError(f"out overlaps itself, or its rows interleave: strides of {tuple(out.strides)} bytes")
        reach += stride * (size - 1)


def as_matrix(x, name: str = "the matrix") -> np.ndarray:
    """A NumPy array in the machine's byte order. Raises ValueError for a sparse matrix and for masked entries."""
    if hasattr(x, "tocsr"):
        raise ValueError("a sparse matrix must be made dense first, infinite where it has no entry")
    x = plain_array(x, name)
    return x.astype(x.dtype.newbyteorder("="), copy=False)


def checked_pair(a, b, semiring: str) -> tuple[np.ndarray, np.ndarray]:
    """Both as NumPy matrices [m, k] and [k, n].

    Raises ValueError naming what does not fit, Unavailable where memory has no room for the product.
    """
    same = a is b
    a, b = as_matrix(a, "a"), as_matrix(b, "b")
    check_shapes(a, b)
    infinity(a.dtype, semiring)
    # What operands hold is looked at afterwards, which takes memory too.
    check_product_room(a, b, semiring)
    for matrix, name in ((a, "a"),) if same else ((a, "a"), (b, "b")):
        check_operand(matrix, name, semiring)
    return a, a if same else b


def sums_may_overflow(a: np.ndarray, b: np.ndarray, semiring: str) -> bool:
    """Whether the largest entries of both that are finite add up to infinity."""
    infinite = infinity(a.dtype, semiring)

    def largest(x: np.ndarray) -> float:
        finite = x != infinite
        return max(float(np.max(x, where=finite, initial=0)), -float(np.min(x, where=finite, initial=0)))

    # The largest float32 plus less than half a unit in its last place still rounds to itself.
    reach = float(np.finfo(np.float32).max) if a.dtype == np.float32 else float(infinity(a.dtype))
    most = largest(a)
    return most + (most if b is a else largest(b)) >= reach


def checked_sums(c: np.ndarray, a: np.ndarray, b: np.ndarray, semiring: str) -> None:
    """Raise SumOverflow if an entry of C = A (x) B is infinite although a sum of finite entries makes it."""
    if not sums_may_overflow(a, b, semiring):
        return
    infinite = infinity(a.dtype, semiring)
    for low in range(0, len(c), _STRIP):
        strip = slice(low, low + _STRIP)
        lost = c[strip] == infinite
        if a.dtype == np.float32:
            lost |= c[strip] == -infinite
        left = a[strip] != infinite
        # Of most matrices with infinities a few rows reach a part of the others.
        columns, middle = np.flatnonzero(lost.any(axis=0)), np.flatnonzero(left.any(axis=0))
        if not (columns.size and middle.size):
            continue
        left = left[:, middle].astype(np.float32)
        for first in range(0, len(columns), _COLUMNS):
            some = columns[first : first + _COLUMNS]
            right = b[np.ix_(middle, some)] != infinite
            # How many sums there are for an entry.
            if ((left @ right.astype(np.float32) > 0) & lost[:, some]).any():
                raise SumOverflow(a.dtype)
