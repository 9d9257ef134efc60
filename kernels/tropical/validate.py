"""The right answers by NumPy, and what every check says of a wrong entry.

`reference` compares drawn rows of an answer with NumPy's. All entries of every timed answer are compared with a plain
product of the backend's own (cpu_validate.py; cuda_validate.py and validate.cu), which shares no code with a solver.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from saitan.blocks import Blockwise
from saitan.problem import Checked
from saitan.tropical.instances import Instance
from saitan.tropical.semiring import infinity

# Pairs that a reference takes at most, unless a single row is more: half a second of NumPy.
ROW_PAIRS = 2**27
# Entries of the temporary sums of a row.
BLOCK = 2**22


def product_rows(a: np.ndarray, b: np.ndarray, semiring: str) -> np.ndarray:
    """A (x) B with NumPy, [m, n]; integers are added in 64 bits and cut off at infinity, floats in float32."""
    infinite = infinity(a.dtype, semiring)
    best = np.minimum if semiring == "min_plus" else np.maximum
    wide = np.float32 if a.dtype == np.float32 else np.int64
    out = np.full((a.shape[0], b.shape[1]), infinite, wide)
    step = max(1, BLOCK // max(1, b.shape[1]))
    for low in range(0, a.shape[1], step):
        part = b[low : low + step].astype(wide, copy=False)
        for row in range(a.shape[0]):
            with np.errstate(over="ignore"):
                sums = a[row, low : low + step, None].astype(wide) + part
            best(out[row], best.reduce(sums, axis=0, initial=wide(infinite)), out=out[row])
    return out.astype(a.dtype)


def drawn_rows(instance: Instance, seed: int) -> np.ndarray:
    """Rows to compare, ascending: as many as ROW_PAIRS allows, at least one, all where that is enough."""
    m, k, n = instance.shape
    count = min(m, max(1, ROW_PAIRS // max(1, k * n)))
    return np.sort(np.random.default_rng(seed).choice(m, count, replace=False))


def outside(found: np.ndarray, expected: np.ndarray, below: float = 0.0, above: float = 0.0) -> np.ndarray:
    """Which entries differ; bool, of the arrays' shape.

    below, above: the share of an expected magnitude by which one found, of the same sign, may be less or more. An
    infinity equals itself only, NaN nothing; 0 and -0 are equal.
    """
    wrong = ~(found == expected)
    if below or above:
        right = np.abs(expected.astype(np.float64))
        near = (np.abs(found) >= right * (1 - below)) & (np.abs(found) <= right * (1 + above))
        wrong &= ~(near & (np.signbit(found) == np.signbit(expected)))
    return wrong


def complaint(row: int, column: int, found, right, wrong: int, of: int) -> str:
    """One line on the first entry that differs and how many do."""
    return f"row {row}, column {column}: {found} where {right} is right ({wrong:,} of {of:,} entries looked at differ)"


def mismatch(
    rows: np.ndarray, expected: np.ndarray, found: np.ndarray, below: float = 0.0, above: float = 0.0
) -> str | None:
    """`complaint` of the first entry that is `outside`, None when none is. rows: the numbers of the arrays' rows."""
    if found.shape != expected.shape:
        return f"{found.shape} entries where {expected.shape} are right"
    wrong = outside(found, expected, below, above)
    count = int(np.count_nonzero(wrong))
    if not count:
        return None
    row, column = (int(x) for x in np.unravel_index(int(wrong.argmax()), wrong.shape))
    return complaint(int(rows[row]), column, found[row, column], expected[row, column], count, expected.size)


class Validated(Blockwise):
    """A solver on the CPU that hands every answer to a check, which is made at the first."""

    instance: Instance
    _check: Callable[..., Checked] | None = None

    def make_check(self) -> Callable[..., Checked]:
        """What takes the blocks of an answer."""
        from saitan.tropical.cpu_validate import Check

        return Check(self.instance)

    def validate(self) -> Checked:
        self._check = self._check or self.make_check()
        return self._check(self.blocks())

    def close(self) -> None:
        self._check = None
