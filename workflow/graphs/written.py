"""Real numbers as a file writes them, in float64, such that float32 is seen to change every one that it does not hold.

Where float32 does not hold the float64 of a number, it does not hold the number. Where it does, the number may still be
another one, such as 1e-400: it is then moved to the next float64, which float32 does not hold.
"""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np

# A number D / 10^k of at most 13 characters without an exponent (k <= 12) and a float32, of 24 bits, are the same or
# further apart, relative, than 1 / D or 1 / (5^k 2^24), both more than half a step of float64.
_PLAIN = 13
# What of a block is looked at together, so that it stays in a core's cache.
_PIECE = 1 << 16


def seen(value: float, word: bytes) -> float:
    """The float64 of a word, or the one beside it."""
    held = _float32_holds(np.float64(value)) and not _is(word, value)
    return float(np.nextafter(value, np.inf)) if held else value


def apart(values: np.ndarray, block: bytes) -> np.ndarray:
    """The values, float64, of the last words of a block's lines; a copy where some must be moved.

    Empty lines count for nothing.
    """
    held = np.flatnonzero(_float32_holds(values))
    if not len(held) or _all_plain(block):
        return values
    lines = list(filter(None, block.split(b"\n")))
    known: dict[bytes, bool] = {}
    moved = []
    for place, value in zip(held.tolist(), values[held].tolist(), strict=True):
        word = lines[place].rpartition(b" ")[2]
        if word not in known:
            known[word] = _is(word, value)
        if not known[word]:
            moved.append(place)
    values = values.copy()
    values[moved] = np.nextafter(values[moved], np.inf)
    return values


def _float32_holds(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        return values.astype(np.float32) == values


def _is(word: bytes, value: float) -> bool:
    """Whether a word is exactly this number, the float64 that is nearest to it."""
    if not value:  # the exponent may be beyond what Decimal takes
        return not re.search(rb"^[^eE]*[1-9]", word)
    return Decimal(word.decode()) == value


def _all_plain(block: bytes) -> bool:
    """Whether no word of a block has more than _PLAIN characters or an exponent."""
    if b"e" in block or b"E" in block:
        return False
    characters = np.frombuffer(block, np.uint8)
    for start in range(0, len(characters), _PIECE):
        run = characters[start : start + _PIECE + _PLAIN] > ord(" ")
        for step in (1, 2, 4, 6):  # runs of 2, 4, 8, 14
            run = run[:-step] & run[step:]
        if run.any():
            return False
    return True
