"""The attribute table of paper T's pre-pass on the CPU."""

from __future__ import annotations

import numpy as np
from numba import prange

from saitan.compiled import njit
from saitan.tropical.skipping import IDENTITY, INFINITE, MIXED, ZERO


@njit
def _attribute(tile, infinite):
    zero = all_infinite = identity = True
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            x = tile[i, j]
            zero &= x == 0
            all_infinite &= x == infinite
            identity &= x == (0 if i == j else infinite)
        if not (zero or all_infinite or identity):
            return MIXED
    return ZERO if zero else INFINITE if all_infinite else IDENTITY


@njit(parallel=True)
def _table(matrix, infinite, tile, table):
    for row in prange(table.shape[0]):
        for column in range(table.shape[1]):
            table[row, column] = _attribute(
                matrix[row * tile : (row + 1) * tile, column * tile : (column + 1) * tile], infinite
            )


def attributes(matrix: np.ndarray, infinite: np.generic, tile: int) -> np.ndarray:
    """int8 [rows / tile, columns / tile], rounded up: ZERO, MIXED, INFINITE or IDENTITY of every tile."""
    table = np.empty((-(-matrix.shape[0] // tile), -(-matrix.shape[1] // tile)), np.int8)
    _table(matrix, infinite, tile, table)
    return table
