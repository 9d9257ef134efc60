"""Rows from arcs, and arcs turned round: stable counting sorts (SciPy's) that move targets and weights alone.

Nothing here makes an index of all arcs: up to 2^31 - 1 arcs the sort needs the arrays it returns, and for more it goes
chunk by chunk with 64-bit positions of one chunk.
"""

from __future__ import annotations

import numpy as np

# The most arcs that are sorted at once: what 32-bit positions hold.
_AT_ONCE = 2**31 - 1
# Arcs of a chunk where there are more.
_CHUNK = 1 << 26


def by_row(
    n: int, sources: np.ndarray, targets: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Offsets int64 [n + 1], targets and weights [m] of arcs in any order; a row keeps its arcs in the order given.

    sources, targets: int32 [m] in [0, n), which is not checked; weights: of any 4-byte type, or None.
    """
    m = len(sources)
    if m <= _AT_ONCE:
        return _sorted(n, sources, targets, weights)
    offsets = np.zeros(n + 1, np.int64)
    for start in range(0, m, _CHUNK):
        offsets[1:] += np.bincount(sources[start : start + _CHUNK], minlength=n)
    np.cumsum(offsets, out=offsets)
    ends = offsets[:-1].copy()
    columns = np.empty(m, targets.dtype)
    values = None if weights is None else np.empty(m, weights.dtype)
    for start in range(0, m, _CHUNK):
        chunk = slice(start, start + _CHUNK)
        rows, heads, drawn = _sorted(n, sources[chunk], targets[chunk], None if weights is None else weights[chunk])
        counts = np.diff(rows)
        places = np.arange(len(heads)) + np.repeat(ends - rows[:-1], counts)
        columns[places] = heads
        if values is not None:
            values[places] = drawn
        ends += counts
    return offsets, columns, values


def _sorted(n, sources, targets, weights):
    from scipy.sparse import _sparsetools

    m = len(sources)
    offsets, columns = np.empty(n + 1, np.int32), np.empty(m, np.int32)
    # Without weights the targets take their place: written twice to the same memory.
    values = columns if weights is None else np.empty(m, weights.dtype)
    _sparsetools.coo_tocsr(n, n, m, sources, targets, targets if weights is None else weights, offsets, columns, values)
    return offsets.astype(np.int64), columns, None if weights is None else values


def transposed(
    offsets: np.ndarray, targets: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The same three arrays of the arcs turned round; the targets of a row ascend, equal ones stay in their order."""
    from scipy.sparse import _sparsetools

    n, m = len(offsets) - 1, len(targets)
    if weights is None or m > _AT_ONCE:
        return by_row(n, targets, tails(offsets), weights)
    turned, rows, values = np.empty(n + 1, np.int32), np.empty(m, np.int32), np.empty(m, weights.dtype)
    _sparsetools.csr_tocsc(n, n, offsets.astype(np.int32), targets, weights, turned, rows, values)
    return turned.astype(np.int64), rows, values


def tails(offsets: np.ndarray) -> np.ndarray:
    """int32 [m]: the row of every arc."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
