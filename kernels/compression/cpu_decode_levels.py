"""The decoder of `fast` for whole numbers of 32 bits on the CPU (Numba), written from FORMAT.md alone."""

from __future__ import annotations

import numpy as np
from numba import njit

_U, _W = np.uint64, np.uint32
_ONE, _LOW = np.uint64(1), np.uint64(0xFFFFFFFF)
# Index in format.REASONS.
MODE, LENGTH = 2, 3


@njit(cache=True, inline="always")
def _bits(words, at, width):
    """The number of up to 32 bits at a bit of words; what lies beyond the last word is zero."""
    word, low = at >> 5, _U(at & 31)
    value = _U(words[word]) if word < len(words) else _U(0)
    if word + 1 < len(words):
        value |= _U(words[word + 1]) << _U(32)
    return (value >> low) & ((_ONE << _U(width)) - _ONE)


@njit(cache=True)
def length(words, n, row, width, widths):
    """The words that a chunk of n numbers should have; 0 where its front is off. widths: int64, its groups' widths."""
    if len(words) < 4 or words[0] & ~_W(0x00FF3F07):
        return 0
    mode, a, b = np.int64(words[0] & _W(7)), np.int64(words[0] >> _W(8) & _W(63)), np.int64(words[0] >> _W(16))
    if mode == 4:
        if b < 1 or a > 31:
            return 0
        amount = (n + 7) // 8 * (_container(_U(b)) + 8 * a)
    else:
        groups = (n + 15) // 16
        if a > 32 or b > 6 or (mode == 6 and not 0 < row < n) or 32 * len(words) < 128 + groups * b:
            return 0
        amount = groups * b
        for g in range(groups):
            widths[g] = a + np.int64(_bits(words, 128 + g * b, b))
            if widths[g] > 32:
                return 0
            amount += 16 * widths[g]
    strays = np.int64(words[3])
    return 0 if strays > n else 4 + (amount + 31) // 32 + strays * (1 + width // 32)


@njit(cache=True)
def _container(radix):
    """Bits of eight digits."""
    fourth = radix * radix * radix * radix
    most, count = fourth * fourth - _ONE, 0
    while most != 0:
        most >>= _ONE
        count += 1
    return count


@njit(cache=True)
def levels(words, n, row, widths, out):
    """The numbers of a chunk whose length is right into `out` (int32)."""
    mode, a, b = np.int64(words[0] & _W(7)), np.int64(words[0] >> _W(8) & _W(63)), np.int64(words[0] >> _W(16))
    base = np.int64(words[2])
    at = 128
    if mode == 4:
        radix, container = _U(b), _container(_U(b))
        for first in range(0, n, 8):
            top = at + 8 * a
            digits = _bits(words, top, min(container, 32))
            if container > 32:
                digits |= _bits(words, top + 32, container - 32) << _U(32)
            for i in range(first, min(first + 8, n)):
                rest = digits // radix
                low = _bits(words, at + (i - first) * a, a)
                out[i] = np.int32((base + np.int64((digits - rest * radix) << _U(a) | low)) & 0xFFFFFFFF)
                digits = rest
            at = top + container
        return
    groups = (n + 15) // 16
    at += groups * b
    last = base
    for g in range(groups):
        width = widths[g]
        for i in range(16 * g, min(16 * g + 16, n)):
            u = np.int64(_bits(words, at, width))
            at += width
            before = np.int64(out[i - row]) if mode == 6 and i >= row else last
            last = before + ((u >> 1) ^ -(u & 1))
            out[i] = np.int32(last & 0xFFFFFFFF)
        at += width * (16 * g + 16 - min(16 * g + 16, n))


@njit(cache=True)
def strays(words, n, bits):
    """Put the values that are stored as they are in their places; returns 0 or what is wrong."""
    each = bits.itemsize // 4
    count = np.int64(words[3])
    front = len(words) - count * (1 + each)
    for k in range(count):
        at = front + k * (1 + each)
        place = np.int64(words[at])
        if place >= n:
            return MODE
        value = _U(words[at + 1])
        if each == 2:
            value |= _U(words[at + 2]) << _U(32)
        bits[place] = bits.dtype.type(value)
    return 0
