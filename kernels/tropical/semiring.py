"""The two semirings in the three number types: infinities, what an operand may hold, and the mirror between them.

(max, +) over A and B is minus (min, +) over -A and -B, exactly, in every signed type. So all kernels compute (min, +),
and operands and results of (max, +) are negated.
"""

from __future__ import annotations

import numpy as np

from saitan.calls import checked_name
from saitan.errors import Unavailable

SEMIRINGS = ("min_plus", "max_plus")
# Two infinities add up without wrapping: 2^31 - 2 in an int32, 0xFFFE in 16 bits. The same as in infinity.cuh.
INFINITE = {"float32": np.float32(np.inf), "int32": np.int32(2**30 - 1), "uint16": np.uint16(2**15 - 1)}


class SumOverflow(OverflowError, Unavailable):
    """A sum of two finite entries reached what stands for infinity, or its opposite; the message is one line."""

    def __init__(self, dtype: np.typing.DTypeLike) -> None:
        self.name = np.dtype(dtype).name
        wider = {"uint16": "int32", "int32": "float32", "float32": "smaller values"}[self.name]
        said = f"{INFINITE[self.name]} in absolute value, which is infinity in {self.name}"
        super().__init__(f"a finite sum reaches {said}: use {wider}")

    def __reduce__(self) -> tuple[type, tuple[str]]:
        # Exceptions are made again from their message otherwise, in the process that a pool hands them to.
        return type(self), (self.name,)


def infinity(dtype: np.typing.DTypeLike, semiring: str = "min_plus"):
    """The element that absorbs the product (and is neutral for the sum), as a scalar of the type.

    Raises ValueError for an unknown type or semiring, and for uint16 over (max, +).
    """
    name = np.dtype(dtype).name
    checked_name("semiring", semiring, SEMIRINGS)
    if name not in INFINITE:
        raise ValueError(f"entries of type {np.dtype(dtype)} (there are: {', '.join(INFINITE)})")
    if semiring == "min_plus":
        return INFINITE[name]
    if name == "uint16":
        raise ValueError("uint16 has no minus infinity: use int32 or float32 for max_plus")
    return -INFINITE[name]


def check_operand(matrix: np.ndarray, name: str, semiring: str) -> None:
    """Raise ValueError, naming the operand, for entries that the semiring cannot hold.

    It holds no NaN, and no integer that is negative (positive for max_plus) or beyond infinity, as infinity plus such a
    number would look finite. Floats may have either sign.
    """
    infinite = infinity(matrix.dtype, semiring)
    if matrix.dtype == np.float32:
        if np.isnan(matrix).any():
            raise ValueError(f"{name} holds NaN")
        if (matrix == -infinite).any():
            raise ValueError(f"{name} holds {-infinite}: the only infinity of {semiring} is {infinite}")
    elif matrix.size:
        lowest, highest = sorted((0, int(infinite)))
        if int(matrix.min()) < lowest or int(matrix.max()) > highest:
            raise ValueError(
                f"{name} must hold integers in [{lowest}, {highest}] for {semiring}, {infinite} is infinity"
            )


def mirrored(matrix: np.ndarray, semiring: str) -> np.ndarray:
    """The matrix as (min, +) takes it, or a (min, +) result as its semiring has it; -0 becomes +0."""
    if semiring == "min_plus":
        return matrix + np.float32(0) if matrix.dtype == np.float32 else matrix
    return matrix.dtype.type(0) - matrix
