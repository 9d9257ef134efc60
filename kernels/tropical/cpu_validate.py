"""The check of a product on the CPU (Numba): every entry against a plain product.

The product goes by rows of A: each term of the sum raises a whole row of B and takes its minimum with a row of C. It
cuts nothing into tiles and skips nothing, and calls nothing that a solver calls.

Why equal means equal, floats too: an entry of C is the minimum of sums x + y of two entries. Every sum is rounded once,
and to the same number everywhere; a minimum rounds nothing and has the same value in any order. So two right answers
are equal, save that either zero may stand for the other. The same holds on the device (validate.cu).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numba import prange

from saitan.blocks import check_output
from saitan.compiled import njit
from saitan.problem import Block, Checked, Invalid
from saitan.tropical.instances import Instance
from saitan.tropical.semiring import infinity, mirrored
from saitan.tropical.validate import mismatch

# Rows that are compared at a time: the temporaries stay small.
ROWS = 256


@njit(parallel=True)
def _product(c, a, b):
    """C = min(C, A (x) B), whatever C holds."""
    for i in prange(c.shape[0]):
        for k in range(a.shape[1]):
            x = a[i, k]
            for j in range(c.shape[1]):
                total = c.dtype.type(x + b[k, j])
                c[i, j] = total if total < c[i, j] else c[i, j]


def plain_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A (x) B over (min, +), [m, n], by the loop of the definition."""
    c = np.full((a.shape[0], b.shape[1]), infinity(a.dtype), a.dtype)
    _product(c, np.ascontiguousarray(a), np.ascontiguousarray(b))
    return c


class Check:
    """Compares answers with the plain product, which it computes when it is made."""

    by = "a plain product"
    below = above = 0.0

    def __init__(self, instance: Instance) -> None:
        operands = (mirrored(x, instance.semiring) for x in (instance.a, instance.b))
        self.expected = mirrored(self.expect(*operands), instance.semiring)

    def expect(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The right answer over (min, +)."""
        return plain_product(a, b)

    def __call__(self, blocks: Iterable[Block]) -> Checked:
        """Raise Invalid unless the blocks of an answer, in order, are right in every entry and leave none out."""
        after = 0
        for name, start, array in blocks:
            check_output(f"rows of {name}", array, (None, self.expected.shape[1]), self.expected.dtype)
            if start != after:
                raise Invalid(f"row {start} follows row {after - 1}")
            for low in range(start, start + len(array), ROWS):
                high = min(low + ROWS, start + len(array))
                found = array[low - start : high - start]
                if wrong := mismatch(np.arange(low, high), self.expected[low:high], found, self.below, self.above):
                    raise Invalid(wrong)
            after = start + len(array)
        if after != len(self.expected):
            raise Invalid(f"{after:,} rows where {len(self.expected):,} are right")
        return Checked(f"every entry, against {self.by}")
