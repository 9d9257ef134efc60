"""Is this product right? Recomputed with NumPy: the whole where cheap, else rows and entries drawn at random."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from saitan.problem import Checked, Invalid
from saitan.tropical.instances import Instance
from saitan.tropical.semiring import infinity

WHOLE_PAIRS = 2**26
ROW_PAIRS = 2**27
ENTRIES = 256
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
            sums = a[row, low : low + step, None].astype(wide) + part
            best(out[row], best.reduce(sums, axis=0, initial=wide(infinite)), out=out[row])
    return out.astype(a.dtype)


def closure_rows(a: np.ndarray, rows: np.ndarray, semiring: str) -> np.ndarray:
    """The given rows of the closure of a [n, n] with NumPy: a row times a, again and again until nothing changes."""
    best = np.minimum if semiring == "min_plus" else np.maximum
    found = a[rows].copy()
    found[np.arange(len(rows)), rows] = 0
    for _ in range(len(a)):
        longer = best(found, product_rows(found, a, semiring))
        if np.array_equal(longer, found):
            break
        found = longer
    return found


def expected_rows(instance: Instance, rows: np.ndarray) -> np.ndarray:
    """Those rows of the answer, by NumPy."""
    if instance.task == "closure":
        return closure_rows(instance.a, rows, instance.semiring)
    return product_rows(instance.a[rows], instance.b, instance.semiring)


def tolerance(instance: Instance) -> float:
    """Relative difference allowed: paths of float32 round once an arc, in an order of each variant's own."""
    rounds = instance.task == "closure" and instance.a.dtype == np.float32
    return len(instance.a) * 2.0**-24 if rounds else 0.0


def sampled_rows(instance: Instance, seed: int) -> np.ndarray:
    """Rows to check, ascending: all where the answer is cheap, else as many as ROW_PAIRS allows, at least one."""
    m, k, n = instance.shape
    passes = 16 if instance.task == "closure" else 1
    if instance.pairs * passes <= WHOLE_PAIRS:
        return np.arange(m)
    count = min(m, max(1, ROW_PAIRS // (passes * k * n)))
    return np.sort(np.random.default_rng(seed).choice(m, count, replace=False))


def mismatch(rows: np.ndarray, expected: np.ndarray, found: np.ndarray, relative: float = 0.0) -> str | None:
    """One line on the first entry that differs (by more than a relative difference), None when none does."""
    wrong = np.argwhere(~np.isclose(found, expected, rtol=relative, atol=0) if relative else expected != found)
    if not len(wrong):
        return None
    row, column = (int(x) for x in wrong[0])
    return (
        f"row {int(rows[row])}, column {column}: {found[row, column]} where {expected[row, column]} is right "
        f"({len(wrong):,} of {expected.size:,} entries looked at differ)"
    )


def check(instance: Instance, fetch_rows: Callable[[np.ndarray], np.ndarray], seed: int) -> Checked:
    """Raise Invalid unless the answer is right in every row drawn and, of a product, in ENTRIES entries beyond them.

    fetch_rows(ascending row numbers) -> those rows of C, [count, n].
    """
    m, _, n = instance.shape
    if m == 0 or n == 0:
        return Checked("nothing: the product is empty")
    rows = sampled_rows(instance, seed)
    if wrong := mismatch(rows, expected_rows(instance, rows), fetch_rows(rows), tolerance(instance)):
        raise Invalid(wrong)
    if len(rows) == m:
        return Checked("every entry, by NumPy")
    if instance.task == "closure":
        return Checked(f"{len(rows):,} rows, by NumPy", whole=False)
    rng = np.random.default_rng(seed + 1)
    rows, columns = np.sort(rng.choice(m, min(m, ENTRIES), replace=False)), rng.integers(0, n, min(m, ENTRIES))
    found = fetch_rows(rows)[np.arange(len(rows)), columns]
    for row, column, value in zip(rows, columns, found, strict=True):
        right = product_rows(instance.a[row : row + 1], instance.b[:, column : column + 1], instance.semiring)[0, 0]
        if value != right:
            raise Invalid(f"row {int(row)}, column {int(column)}: {value} where {right} is right")
    return Checked(f"{len(rows):,} rows and {ENTRIES:,} entries, by NumPy", whole=False)
