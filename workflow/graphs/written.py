"""Real numbers as a file writes them, in float64, such that float32 is seen to change every one that it does not hold.

Where float32 does not hold the float64 of a number, it does not hold the number. Where it does, the number may still be
another one, such as 1e-400: it is then moved to the next float64, which float32 does not hold.
"""

from __future__ import annotations

import itertools
import re
from decimal import Decimal

import numpy as np

# A number D / 10^k of at most 13 characters without an exponent (k <= 12) and a float32, of 24 bits, are the same or
# further apart, relative, than 1 / D or 1 / (5^k 2^24), both more than half a step of float64.
_PLAIN = 13
# What of a block is looked at together, so that it stays in a core's cache.
_PIECE = 1 << 16
# So many numbers are worth the time that Numba takes to compile.
_MANY = 10_000


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
    same = _same(values, block, held)
    values = values.copy()
    values[held[~same]] = np.nextafter(values[held[~same]], np.inf)
    return values


def _same(values: np.ndarray, block: bytes, rows: np.ndarray) -> np.ndarray:
    """bool: whether the last words of these lines are exactly their values."""
    if len(rows) <= _MANY:
        ends, known = _last_words(block, rows), np.full(len(rows), -1, np.int8)
    else:
        from saitan.workflow.graphs.digits import compare

        ends, known = compare(np.frombuffer(block, np.uint8), values, rows)
    for place in np.flatnonzero(known < 0):
        first, last = ends[place]
        known[place] = _is(block[first:last], values[rows[place]].item())
    return known.astype(bool)


def _last_words(block: bytes, rows: np.ndarray) -> list[tuple[int, int]]:
    words = re.finditer(rb"(\S+)[ \t]*(?:\n|\Z)", block)
    return [word.span(1) for word in itertools.compress(words, np.bincount(rows))]


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
