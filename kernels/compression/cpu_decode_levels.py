"""The decoder of `fast` for whole numbers on the CPU (Numba), written from FORMAT.md alone."""

from __future__ import annotations

import numpy as np

from saitan.compiled import njit

_U, _W = np.uint64, np.uint32
_ONE, _LOW = np.uint64(1), np.uint64(0xFFFFFFFF)
# Index in format.REASONS.
MODE, LENGTH = 2, 3


@njit(inline="always")
def _bits(words, at, width):
    """The number of up to 32 bits at a bit of words, one more of which can be read."""
    word = at >> 5
    both = _U(words[word]) | _U(words[word + 1]) << _U(32)
    return (both >> _U(at & 31)) & ((_ONE << _U(width)) - _ONE)


@njit(inline="always")
def _wide_bits(words, at, width):
    """The same of up to 64 bits."""
    if width <= 32:
        return _bits(words, at, width)
    return _bits(words, at, 32) | _bits(words, at + 32, width - 32) << _U(32)


@njit
def copy(values, out):
    """As many values as both have. With an assignment of slices Numba compiles the text of an error, for seconds."""
    for i in range(min(len(values), len(out))):
        out[i] = values[i]


@njit
def padded(words):
    """The words with two more behind them, so that a number can be read as if it went on."""
    out = np.zeros(len(words) + 2, np.uint32)
    copy(words, out)
    return out


@njit
def length(words, count, n, row, wide, width, widths):
    """The words that a chunk of n numbers should have; 0 where its front is off.

    words, count: the words of the chunk, padded, and how many it has; wide: levels have 64 bits; width: of a value in
    bits; widths: int64, its groups' widths.
    """
    if count < 4 or words[0] & ~_W(0x00FF7F07):
        return 0
    mode, a, b = np.int64(words[0] & _W(7)), np.int64(words[0] >> _W(8) & _W(127)), np.int64(words[0] >> _W(16))
    longest = 64 if wide else 32
    if mode == 4:
        if b < 1 or a >= longest:
            return 0
        amount = (n + 7) // 8 * (_container(_U(b)) + 8 * a)
    else:
        groups = (n + 15) // 16
        if a > longest or b > 7 or (mode == 6 and not 0 < row < n) or 32 * count < 128 + groups * b:
            return 0
        amount = groups * b
        for g in range(groups):
            widths[g] = a + np.int64(_bits(words, 128 + g * b, b))
            if widths[g] > longest:
                return 0
            amount += 16 * widths[g]
    strays = 0 if wide else np.int64(words[3])
    return 4 + (amount + 31) // 32 + strays * (1 + width // 32)


@njit
def _container(radix):
    """Bits of eight digits."""
    fourth = radix * radix * radix * radix
    most, count = fourth * fourth - _ONE, 0
    while most != 0:
        most >>= _ONE
        count += 1
    return count


@njit
def levels(words, n, row, widths, out):
    """The numbers of a chunk whose length is right into `out`, int32 or int64 as its levels are. words: padded."""
    mode, a, b = np.int64(words[0] & _W(7)), np.int64(words[0] >> _W(8) & _W(127)), np.int64(words[0] >> _W(16))
    base = _U(words[2])
    if out.itemsize == 8:
        base |= _U(words[3]) << _U(32)
    if mode == 4:
        _digits(words, n, a, _U(b), base, out)
        return
    # Sums of 64 bits have those of 32 in them.
    at, last = 128 + (n + 15) // 16 * b, base
    along = row if mode == 6 else n
    for g in range((n + 15) // 16):
        width, low, high = widths[g], 16 * g, min(16 * g + 16, n)
        if width <= 32:
            for i in range(low, high):
                u = _bits(words, at + (i - low) * width, width)
                before = _U(out[i - row]) if i >= along else last
                last = before + ((u >> _ONE) ^ (_U(0) - (u & _ONE)))
                out[i] = out.dtype.type(last)
        else:
            for i in range(low, high):
                u = _wide_bits(words, at + (i - low) * width, width)
                before = _U(out[i - row]) if i >= along else last
                last = before + ((u >> _ONE) ^ (_U(0) - (u & _ONE)))
                out[i] = out.dtype.type(last)
        at += 16 * width


@njit
def _digits(words, n, a, radix, base, out):
    container, at = _container(radix), 128
    fourth, inverse = radix * radix * radix * radix, _LOW // radix
    for first in range(0, n, 8):
        number = _wide_bits(words, at + 8 * a, container)
        upper = number // fourth
        for half in range(2):
            rest = upper if half else number - upper * fourth
            for i in range(first + 4 * half, min(first + 4 * half + 4, n)):
                # The quotient by the inverse is right or one too small.
                quotient = rest * inverse >> _U(32)
                digit = rest - quotient * radix
                more = _ONE if digit >= radix else _U(0)
                rest = quotient + more
                out[i] = out.dtype.type(base + ((digit - more * radix) << _U(a)))
        if 0 < a <= 32:
            for i in range(first, min(first + 8, n)):
                out[i] += out.dtype.type(_bits(words, at + (i - first) * a, a))
        elif a > 32:
            for i in range(first, min(first + 8, n)):
                out[i] += out.dtype.type(_wide_bits(words, at + (i - first) * a, a))
        at += container + 8 * a


@njit
def scaled(levels, step, out):
    """Floats of their levels."""
    for i in range(len(levels)):
        out[i] = np.float64(levels[i]) * step


@njit
def cut(levels, out):
    """Integers of their levels: the lowest bits."""
    for i in range(len(levels)):
        out[i] = out.dtype.type(levels[i])


@njit
def strays(words, n, each, out):
    """Put the values that are stored as they are, `each` words, in their places; returns 0 or what is wrong."""
    count = np.int64(words[3])
    front = len(words) - count * (1 + each)
    for k in range(count):
        at = front + k * (1 + each)
        place = np.int64(words[at])
        if place >= n:
            return MODE
        for i in range(each):
            out[each * place + i] = words[at + 1 + i]
    return 0
