"""The decoder of `fast` on the CPU (Numba), written from FORMAT.md alone: it shares no code with either encoder.

It trusts nothing: every place is checked against the chunk's end before it is read.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from saitan.compiled import njit
from saitan.compression import cpu_decode_levels as whole
from saitan.compression.format import CHUNK, TILE

_U, _W = np.uint64, np.uint32
_ONE, _ZERO = np.uint64(1), np.uint64(0)
# Index in format.REASONS.
PLACE, MODE, LENGTH, CHECKSUM = 1, 2, 3, 4


@njit
def _checksum(words, number):
    total = _U(number + 1) * _U(0xD6E8FEB86659FD93)
    if len(words) > 1:
        # The checksum itself does not count.
        total -= _U(words[1]) * _U(3 * 0x9E3779B1 & 0xFFFFFFFF)
    for i in range(len(words)):
        total += _U(words[i]) * (_U(2 * i + 1) * _U(0x9E3779B1) & _U(0xFFFFFFFF))
    return ((total ^ (total >> _U(32))) * _U(0xBF58476D1CE4E5B9)) >> _U(32)


@njit
def _wide(words, i):
    return _U(words[i]) | (_U(words[i + 1]) << _U(32))


@njit(inline="always")
def _width(head):
    """Of a group, its symbols' bits: those of a group of one sign lack it, those of others are counted from 1."""
    return np.int64(head & _U(63)) + (0 if head & _U(128) else 1)


@njit
def _chunk(words, number, n, below, pairs, itemsize, out):
    """Decode a chunk of n floats into `out` (unsigned numbers); returns 0 or what is wrong."""
    if len(words) == 0:
        out[:] = out.dtype.type(0)
        return 0
    raw = 2 + (n * itemsize + 3) // 4
    if len(words) > max(raw, 4) or (len(words) < 4 and not (len(words) == 3 and n * itemsize <= 4)):
        return LENGTH
    mode, shift, fine = np.int64(words[0] & _W(7)), _U(words[0] >> _W(8) & _W(63)), _U(words[0] >> _W(16))
    if mode > 2 or words[0] & _W(0xC0F8) or (mode < 2 and words[0] > 1):
        return MODE
    if mode == 2 and (fine > below or fine < shift or (itemsize == 8 and fine < 32)):
        return MODE
    groups = 2 * ((n + 63) // 64)
    if mode == 0:
        expected = 4
    elif mode == 1:
        expected = raw
    else:
        expected = 4 + groups // 2
        if len(words) < expected:
            return LENGTH
        for g in range(groups):
            head = _U(words[4 + g // 2] >> _W(16 * (g & 1)))
            width = _width(head)
            if width + (1 if head & _U(128) else 0) > 8 * itemsize:
                return LENGTH
            expected += width
    if len(words) != expected:
        return LENGTH
    if _U(words[1]) != _checksum(words, number):
        return CHECKSUM
    kind = out.dtype.type
    if mode == 0:
        out[:] = kind(_wide(words, 2))
    elif mode == 1:
        whole.copy(words.view(np.uint8)[8:], out.view(np.uint8))
    else:
        _groups(words, n, groups, shift, fine, pairs, itemsize, out)
    return 0


@njit
def _groups(words, n, groups, shift, fine, pairs, itemsize, out):
    kind = out.dtype.type
    base, top = _wide(words, 2), _U(8 * itemsize - 1)
    at = 4 + groups // 2
    for g in range(groups):
        head = _U(words[4 + g // 2] >> _W(16 * (g & 1))) & _U(0xFFFF)
        width, alone, mark = _width(head), (head >> _U(7)) & _ONE, (head >> _U(6)) & _ONE
        zeros, sign = mark & ~alone, mark & alone
        if alone and width == 0 and head >> _U(8) == 255:
            zeros = _ONE
        offset = ((base + (head >> _U(8))) << fine) - (zeros << shift)
        mask = ~_ZERO if width == 64 else (_ONE << _U(width)) - _ONE
        first, step = (64 * (g >> 1) + (g & 1), 2) if pairs else (32 * g, 1)
        place = 0
        for i in range(first, min(first + 32 * step, n), step):
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
            # As that of a mixed group.
            symbol = (symbol << alone) | sign
            m = symbol >> _ONE
            if zeros == 0 or m != 0:
                m = (m << shift) + offset
            out[i] = kind(m + (symbol << top))
        at += width


@njit
def _level_chunk(words, number, n, row, wide, step, itemsize, out):
    """Decode a chunk of n whole numbers, or floats where step is not 0, into the bytes `out`; returns what is wrong."""
    if len(words) == 0:
        out[:] = 0
        return 0
    raw = 2 + (n * itemsize + 3) // 4
    if len(words) < 3 or len(words) > max(raw, 4):
        return LENGTH
    mode = words[0] & _W(7)
    widths, more = np.empty(CHUNK // 16, np.int64), whole.padded(words)
    if mode == 1:
        expected = raw if words[0] == 1 else 0
    elif mode < 4 or mode > 6:
        return MODE
    else:
        if len(words) >= 4 and step == 0 and not wide and words[3] != 0:
            return MODE
        expected = whole.length(more, len(words), n, row, wide, 8 * itemsize, widths)
    if expected != len(words):
        return LENGTH
    if _U(words[1]) != _checksum(words, number):
        return CHECKSUM
    if mode == 1:
        whole.copy(words.view(np.uint8)[8:], out)
        return 0
    if wide:
        whole.levels(more, n, row, widths, out.view(np.int64))
        return 0
    levels = np.empty(n, np.int32)
    whole.levels(more, n, row, widths, levels)
    if step != 0:
        if itemsize == 8:
            whole.scaled(levels, step, out.view(np.float64))
        else:
            whole.scaled(levels, step, out.view(np.float32))
        return whole.strays(words, n, itemsize // 4, out.view(np.uint32))
    if itemsize == 4:
        whole.cut(levels, out.view(np.uint32))
    elif itemsize == 2:
        whole.cut(levels, out.view(np.uint16))
    else:
        whole.cut(levels, out)
    return 0


@njit
def _words(payload, places, c):
    return payload[places[c, 0] : places[c, 1]]


@njit(parallel=True)
def decode_levels(payload, places, first, begin, count, row, bands, step, itemsize, out, wrong):
    """As `decode`, of levels. begin: the value that `out` begins with; out: bytes of floats where step is not 0,
    otherwise of integers, so that all types share what is compiled; bands: as format.Head has them."""
    across = (row + TILE[1] - 1) // TILE[1]
    tiles, tiled = bands * across, bands * TILE[0] * row
    wide = itemsize == 8 and step == 0
    for c in prange(len(wrong)):
        number = first + c
        if places[c, 0] < 0:
            wrong[c] = PLACE
            continue
        words = _words(payload, places, c)
        if number < tiles:
            column = number % across * TILE[1]
            width, low = min(TILE[1], row - column), number // across * (TILE[0] * row) + column - begin
            n = width * TILE[0]
            tile, nbytes = np.empty(n * itemsize, np.uint8), width * itemsize
            wrong[c] = _level_chunk(words, number, n, width, wide, step, itemsize, tile)
            for i in range(TILE[0]):
                place = (low + i * row) * itemsize
                whole.copy(tile[i * nbytes : (i + 1) * nbytes], out[place : place + nbytes])
        else:
            low = tiled + (number - tiles) * CHUNK - begin
            n = min(CHUNK, count - begin - low)
            inner = row if row < CHUNK else 0
            part = out[low * itemsize : (low + n) * itemsize]
            wrong[c] = _level_chunk(words, number, n, inner, wide, step, itemsize, part)


@njit(parallel=True)
def decode(payload, places, first, count, below, pairs, itemsize, out, wrong):
    """Chunks first, first + 1, ... into `out`; wrong[c] is 0 or what is wrong with the c-th of them.

    count: values of the whole stream; payload: all words after the table; places: int64 [chunks, 2], the first word of
    each chunk and the one after its last, -1 where they are off.
    """
    for c in prange(len(wrong)):
        number = first + c
        n = min(CHUNK, count - number * CHUNK)
        if places[c, 0] < 0:
            wrong[c] = PLACE
            continue
        words = _words(payload, places, c)
        wrong[c] = _chunk(words, number, n, below, pairs, itemsize, out[c * CHUNK : c * CHUNK + n])
