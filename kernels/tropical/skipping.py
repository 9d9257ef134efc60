"""What a tile can hold that saves work, at which grains a variant looks for it, and how much it saves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Attributes as printed in paper T: all zero -1, all infinite 1, otherwise 0. The identity (zero on the diagonal,
# infinite elsewhere), which the paper leaves for later, is 2. Entries beyond the matrix's edge do not count.
ZERO, MIXED, INFINITE, IDENTITY = -1, 0, 1, 2


@dataclass(frozen=True)
class Grains:
    """tile: by attribute table; warp: 32 entries of a C row share the factor of A; element: each entry by itself."""

    tile: bool = False
    warp: bool = False
    element: bool = False

    @classmethod
    def parse(cls, text: str) -> Grains:
        """From names joined by "+", such as "tile+element"."""
        return cls(**dict.fromkeys(text.split("+"), True))


def occupancy(finite_a: np.ndarray, finite_b: np.ndarray) -> dict[str, float]:
    """Counters from tables of tiles that hold something finite, bool [m, k] and [k, n] in tiles.

    tiles_infinite: share of infinite tiles in both; tiles_skipped: share of tile products that one of them saves.
    """
    products = finite_a.shape[0] * finite_a.shape[1] * finite_b.shape[1]
    left = float(finite_a.sum(axis=0, dtype=np.float64) @ finite_b.sum(axis=1, dtype=np.float64))
    tiles = finite_a.size + finite_b.size
    return {
        "tiles_infinite": 1 - float(finite_a.sum() + finite_b.sum()) / tiles if tiles else 0.0,
        "tiles_skipped": 1 - left / products if products else 0.0,
    }
