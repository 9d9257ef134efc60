"""Bitmaps of a level in fewer bytes: the distances between neighbouring vertices, where they take less than the bits.

A coded bitmap begins with a byte: BITS (the words follow) or GAPS (the distance of each vertex from the one before it,
the first from vertex -1, in groups of seven bits, the low ones first; a byte's top bit says that more follow).
"""

from __future__ import annotations

import numpy as np

from saitan.bfs.cpu_step import WORD
from saitan.compiled import njit
from saitan.exchange import Exchange

BITS, GAPS = range(2)


@njit
def _write_gaps(words, out):
    """Returns how many bytes, or -1 where `out` is too short."""
    size, last = 0, -1
    for w in range(len(words)):
        bits = words[w]
        if bits:
            for b in range(WORD):
                if (bits >> b) & 1:
                    gap = w * WORD + b - last
                    last += gap
                    while gap >= 128:
                        if size == len(out):
                            return -1
                        out[size] = np.uint8(gap & 127 | 128)
                        size += 1
                        gap >>= 7
                    if size == len(out):
                        return -1
                    out[size] = np.uint8(gap)
                    size += 1
    return size


@njit
def _read_gaps(coded, words):
    words[:] = 0
    v, gap, shift = -1, 0, 0
    for i in range(len(coded)):
        gap |= np.int64(coded[i] & 127) << shift
        shift += 7
        if coded[i] < 128:
            v += gap
            words[v // WORD] |= np.uint32(1 << v % WORD)
            gap, shift = 0, 0


def code(words: np.ndarray) -> np.ndarray:
    """A bitmap, uint32 [k], as uint8 of at most 4 k + 1 bytes."""
    out = np.empty(4 * len(words) + 1, np.uint8)
    size = _write_gaps(words, out[1:])
    out[0] = BITS if size < 0 else GAPS
    if size < 0:
        out[1:] = words.view(np.uint8)
        return out
    return out[: size + 1]


def decode(coded: np.ndarray, words: np.ndarray) -> None:
    """A coded bitmap into `words`, uint32 [k]."""
    if coded[0] == BITS:
        words[:] = coded[1:].copy().view(np.uint32)
    else:
        _read_gaps(coded[1:], words)


def gather(members: Exchange, own: np.ndarray, gathered: np.ndarray) -> None:
    """Every member's bitmap, uint32 [k], to all: gathered [members, k]; coded on the way."""
    for words, coded in zip(gathered, members.gather_unequal(code(own)), strict=True):
        decode(coded, words)
