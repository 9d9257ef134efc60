"""The decoder of `fast` on the CPU (Numba), written from FORMAT.md alone: it shares no code with either encoder.

It trusts nothing: every place is checked against the chunk's end before it is read.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from saitan.compression import cpu_decode_levels as whole
from saitan.compression.format import CHUNK

_U, _W = np.uint64, np.uint32
_ONE, _ZERO = np.uint64(1), np.uint64(0)
# Index in format.REASONS.
PLACE, MODE, LENGTH, CHECKSUM = 1, 2, 3, 4


@njit(cache=True)
def _checksum(words, number):
    # Numba multiplies and adds numbers of 32 bits in 64.
    low = _U(0xFFFFFFFF)
    total = _ZERO
    for i in range(-1, len(words)):
        if i != 1:
            x = _U(number) if i < 0 else _U(words[i]) ^ ((_U(i + 1) * _U(0x9E3779B1)) & low)
            x = (x * _U(0x85EBCA77)) & low
            x = ((x ^ (x >> _U(15))) * _U(0xC2B2AE3D)) & low
            total += x ^ (x >> _U(13))
    return total & low


@njit(cache=True)
def _wide(words, i):
    return _U(words[i]) | (_U(words[i + 1]) << _U(32))


@njit(cache=True)
def _chunk(words, number, n, below, is_float, itemsize, out):
    """Decode a chunk of n values into `out` (unsigned numbers); returns 0 or what is wrong."""
    if len(words) == 0:
        return PLACE
    if len(words) < 4 and not (len(words) == 3 and n * itemsize <= 4):
        return LENGTH
    mode, shift = np.int64(words[0] & _W(3)), _U((words[0] >> _W(8)) & _W(63))
    if words[0] & ~_W(0x3F03) or shift > below or (mode < 2 and shift != 0) or (mode == 3 and is_float):
        return MODE
    groups = 2 * ((n + 63) // 64)
    front = 6 if mode == 3 else 4
    if mode == 0:
        expected = 4
    elif mode == 1:
        expected = 2 + (n * itemsize + 3) // 4
    else:
        expected = front + groups // 2
        if len(words) < expected:
            return LENGTH
        for g in range(groups):
            width = (words[front + g // 2] >> _W(16 * (g & 1))) & _W(127)
            if width > 8 * itemsize:
                return LENGTH
            expected += np.int64(width)
    if len(words) != expected:
        return LENGTH
    if _U(words[1]) != _checksum(words, number):
        return CHECKSUM
    kind = out.dtype.type
    if mode == 0:
        out[:] = kind(_wide(words, 2))
        return 0
    if mode == 1:
        _raw(words, n, out)
        return 0
    base = _wide(words, 2)
    last = _wide(words, 4) if mode == 3 else _ZERO
    top = _U(8 * itemsize - 1)
    at = front + groups // 2
    for g in range(groups):
        head = _U(words[front + g // 2] >> _W(16 * (g & 1))) & _U(0xFFFF)
        width = np.int64(head & _U(127))
        zeros = (head >> _U(7)) & _ONE
        offset = ((base + (head >> _U(8))) << (below - shift)) - zeros
        mask = ~_ZERO if width == 64 else (_ONE << _U(width)) - _ONE
        first = 64 * (g >> 1) + (g & 1)
        place = 0
        for i in range(first, min(first + 64, n), 2):
            symbol = _ZERO
            if width > 0:
                word, low = at + (place >> 5), _U(place & 31)
                symbol = _U(words[word]) >> low
                if (place & 31) + width > 32:
                    symbol |= _U(words[word + 1]) << (_U(32) - low)
                    if (place & 31) + width > 64:
                        symbol |= _U(words[word + 2]) << (_U(64) - low)
                symbol &= mask
            place += width
            m = symbol >> _ONE if is_float else symbol
            if zeros == 0 or m != 0:
                m += offset
            m <<= shift
            if is_float:
                m |= (symbol & _ONE) << top
            out[i] = kind(m)
        at += width
    if mode == 3:
        for i in range(n):
            u = _U(out[i])
            last += (u >> _ONE) ^ (~_ZERO if u & _ONE else _ZERO)
            out[i] = kind(last)
    return 0


@njit(cache=True)
def _level_chunk(words, number, n, row, step, kind, bits, values):
    """Decode a chunk of n whole numbers into `bits` (unsigned), for floats also by `values`; returns what is wrong."""
    if len(words) < 3:
        return PLACE if len(words) == 0 else LENGTH
    mode = words[0] & _W(7)
    widths = np.empty(CHUNK // 16, np.int64)
    if mode == 1:
        expected = 2 + (n * bits.itemsize + 3) // 4 if words[0] == 1 else 0
    elif mode < 4 or mode > 6:
        return MODE
    else:
        expected = whole.length(words, n, row, 8 * bits.itemsize, widths)
    if expected != len(words):
        return LENGTH
    if _U(words[1]) != _checksum(words, number):
        return CHECKSUM
    if mode == 1:
        _raw(words, n, bits)
        return 0
    levels = np.empty(n, np.int32)
    whole.levels(words, n, row, widths, levels)
    if step == 0:
        if words[3] != 0:
            return MODE
        for i in range(n):
            bits[i] = kind(levels[i])
        return 0
    for i in range(n):
        values[i] = np.float64(levels[i]) * step
    return whole.strays(words, n, bits)


@njit(cache=True)
def _raw(words, n, out):
    kind = out.dtype.type
    for i in range(n):
        if out.itemsize == 8:
            out[i] = kind(_wide(words, 2 + 2 * i))
        elif out.itemsize == 4:
            out[i] = kind(words[2 + i])
        else:
            out[i] = kind((words[2 + i // 2] >> _W(16 * (i & 1))) & _W(0xFFFF))


@njit(cache=True)
def _words(payload, table, number):
    """The words of a chunk; none where its place is off."""
    low, high = table[number], table[number + 1]
    return payload[low:high] if 0 <= low <= high <= len(payload) else payload[:0]


@njit(parallel=True, cache=True)
def decode_levels(payload, table, first, count, row, step, bits, values, wrong):
    """As `decode`, of levels. bits: the output, unsigned; values: the same, as floats where step is not 0."""
    for c in prange(len(wrong)):
        number = first + c
        n = min(CHUNK, count - number * CHUNK)
        begin, end = c * CHUNK, c * CHUNK + n
        wrong[c] = _level_chunk(
            _words(payload, table, number), number, n, row, step, bits.dtype.type, bits[begin:end], values[begin:end]
        )


@njit(parallel=True, cache=True)
def decode(payload, table, first, count, below, is_float, itemsize, out, wrong):
    """Chunks first, first + 1, ... into `out`; wrong[c] is 0 or what is wrong with the c-th of them.

    count: values of the whole stream; payload: all words after the table.
    """
    for c in prange(len(wrong)):
        number = first + c
        n = min(CHUNK, count - number * CHUNK)
        words = _words(payload, table, number)
        wrong[c] = _chunk(words, number, n, below, is_float, itemsize, out[c * CHUNK : c * CHUNK + n])
