"""The check of a closure: every entry against repeated squaring by the plain product of the backend.

Squaring starts from A with zeros on its diagonal and ends with a product that changes nothing. No entry of the result
can then be too large, as no two paths joined are shorter, nor too small, as each is the length of a path. A test of an
answer C alone, C = C (x) C <= A, would accept zeros everywhere.

Integers must be equal. Floats round once an addition (`rounded`, u = 2^-24), in an order of each variant's own:

- After s squarings the expected entry E is the rounded sum of a walk of at most 2^(s-1) arcs, by at most s - 1
  additions one after the other: within 1 +- (s - 1) u of the walk's length.
- Whatever a variant finds is no more than the rounded sum of that walk in the variant's own order, since additions and
  minima keep order: at most 2^(s-1) and at most n - 1 additions. That bounds how far an entry may lie above E.
- It is also the rounded sum of a walk no shorter than the shortest, by at most `closing_additions` additions, and E is
  no more than the rounded sum of the shortest path, by at most log2 n + 1 additions. That bounds how far below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from saitan.apsp.rounding import closing_additions, rounded
from saitan.cuda.buffers import Buffers, pointer
from saitan.tropical import cpu_validate, cuda_validate
from saitan.tropical.cpu_validate import plain_product
from saitan.tropical.instances import Instance

BY = "squaring by a plain product"


def started(a: np.ndarray) -> np.ndarray:
    """A [n, n] over (min, +) with zeros on its diagonal."""
    start = np.array(a)
    np.fill_diagonal(start, 0)
    return start


def squared(start: Any, square: Callable[[Any], Any], same: Callable[[Any, Any], bool]) -> tuple[Any, int]:
    """The closure of a matrix with zeros on its diagonal, and the squarings made, the last of which changed nothing."""
    last, squarings = start, 0
    while True:
        squarings += 1
        after = square(last)
        if same(after, last):
            return last, squarings
        last = after


def bounds(n: int, dtype: np.dtype, squarings: int) -> tuple[float, float]:
    """By which share of the expected entry an answer may lie below and above it, as derived above."""
    if dtype != np.float32:
        return 0.0, 0.0
    below = closing_additions(n) + n.bit_length() + 1
    above = min(2 ** (squarings - 1), n) + squarings
    return rounded(below), rounded(above)


class HostCheck(cpu_validate.Check):
    """Compares closures of a matrix over (min, +) with that by squaring, which it computes when it is made."""

    by = BY

    def __init__(self, a: np.ndarray) -> None:
        self.expected, squarings = squared(started(a), lambda c: plain_product(c, c), np.array_equal)
        self.below, self.above = bounds(len(a), a.dtype, squarings)


class DeviceCheck(cuda_validate.Check):
    """The same on the device.

    Raises Unavailable where two matrices of its size do not fit beside the solver.
    """

    by = BY

    def __init__(self, a: np.ndarray) -> None:
        super().__init__(Instance(a, a))

    def slabs(self) -> Iterator[tuple[int, object]]:
        if self.expected is None:
            self._square()
        yield 0, self.expected

    def _square(self) -> None:
        start = started(self.instance.a)
        self.buffers = Buffers(2 * start.nbytes, "the check of the closure")
        first = self.buffers.upload(start)
        second = self.kernels.empty_product(self.buffers, *start.shape)

        def square(c):
            # Zeros on the diagonal make C (x) C no more than C: what the other matrix held two squarings ago may stay.
            after = second if c is first else first
            self.kernels.multiply(after, c, c)
            return after

        def same(x, y) -> bool:
            return self.kernels.compare(pointer(x), pointer(y), x.size)[0] == 0

        self.expected, squarings = squared(first, square, same)
        self.buffers.release(second if self.expected is first else first)
        self.below, self.above = bounds(len(start), self.dtype, squarings)
