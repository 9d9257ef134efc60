"""The encoder of `fast` for whole numbers on the CPU (Numba): integers, and the levels of floats within an absolute
bound; FORMAT.md's chunks of digits and of differences. Levels are int64 here, whatever their width.

Values are handed on as bytes, so that all types share what is compiled; only `_levels` looks at them as numbers.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from saitan.compiled import njit
from saitan.compression.cpu_encode import finish, length
from saitan.compression.format import CHUNK, DIGITS, NEIGHBOUR, RAW, ROW, TILE

_U, _W = np.uint64, np.uint32
_LOW = np.uint64(0xFFFFFFFF)
GROUP = 16


@njit
def _copy(content, out):
    """Instead of an assignment of slices, with which Numba compiles the text of an error, for seconds."""
    for i in range(len(content)):
        out[i] = content[i]


@njit
def _put(out, at, bits, value):
    """Write a value of up to 64 bits at a bit of words that are zero from there on; returns the bit after it."""
    while bits > 0:
        free = 32 - (at & 31)
        out[at >> 5] |= _W((value << _U(at & 31)) & _LOW)
        taken = min(free, bits)
        value >>= _U(taken)
        at += taken
        bits -= taken
    return at


@njit
def _quantised(chunk, bits, bound, levels, strays):
    """The levels of floats; places of those that a level does not bring back within the bound, and their number.

    -0 is one of them: zero, the level's value, is another number to the bit.
    """
    step = 2.0 * bound
    inverse = 1.0 / step
    count = 0
    for i in range(len(chunk)):
        x = np.float64(chunk[i])
        scaled = x * inverse
        good = abs(scaled) < 2147483647.0 and not (x == 0.0 and bits[i] != 0)
        level = np.rint(scaled) if good else 0.0
        if good:
            back = np.float64(chunk.dtype.type(level * step))
            good = abs(back - x) <= bound
        levels[i] = np.int64(level) if good else 0
        if not good:
            strays[count] = i
            count += 1
    return count


@njit
def _whole(chunk, levels):
    for i in range(len(chunk)):
        levels[i] = np.int64(chunk[i])


@njit
def _levels(chunk, signed, itemsize, bound, levels, strays):
    """The levels of a chunk's bytes; for floats, those where there is a bound, as `_quantised`."""
    if bound > 0:
        if itemsize == 8:
            return _quantised(chunk.view(np.float64), chunk.view(np.uint64), bound, levels, strays)
        return _quantised(chunk.view(np.float32), chunk.view(np.uint32), bound, levels, strays)
    # Of 32 and 64 bits signed in any case: what stands for infinity, all ones, is beside 0.
    if itemsize == 8:
        _whole(chunk.view(np.int64), levels)
    elif itemsize == 4:
        _whole(chunk.view(np.int32), levels)
    elif itemsize == 2 and signed:
        _whole(chunk.view(np.int16), levels)
    elif itemsize == 2:
        _whole(chunk.view(np.uint16), levels)
    elif signed:
        _whole(chunk.view(np.int8), levels)
    else:
        _whole(chunk, levels)
    return 0


@njit
def _differences(levels, n, row, wide, folded, widths):
    """Folded differences to the value before (row = 0) or a row before; the groups' widths, their sum and extremes."""
    for i in range(n):
        before = levels[i - row] if row > 0 and i >= row else levels[max(i - 1, 0)]
        d = _U(levels[i]) - _U(before)
        if wide:
            folded[i] = (d << _U(1)) ^ (~_U(0) if d >> _U(63) else _U(0))
        else:
            d &= _LOW
            folded[i] = ((d << _U(1)) & _LOW) ^ (_LOW if d >> _U(31) else _U(0))
    total, least, most = 0, 99, 0
    for g in range((n + GROUP - 1) // GROUP):
        every = _U(0)
        for i in range(g * GROUP, min((g + 1) * GROUP, n)):
            every |= folded[i]
        widths[g] = length(every)
        total += widths[g]
        least = min(least, widths[g])
        most = max(most, widths[g])
    return total, least, most


@njit
def _encode(levels, n, row, wide, strays, chunk, itemsize, number, out):
    """One chunk of n numbers into `out`; returns its words. wide: levels have 64 bits; strays: places of values stored
    as they are, from the bytes `chunk`."""
    low, high = levels[0], levels[0]
    for i in range(n):
        low, high = min(low, levels[i]), max(high, levels[i])
    span, s = _U(high) - _U(low), 0
    while span >> _U(s) > _U(254):
        s += 1
    radix = (span >> _U(s)) + _U(1)
    power = radix * radix * radix * radix
    container = length(power * power - _U(1))
    mode, amount = DIGITS, (n + 7) // 8 * (container + 8 * s)
    folded, other = np.empty(CHUNK, np.uint64), np.empty(CHUNK, np.uint64)
    widths, other_widths = np.zeros(CHUNK // GROUP, np.int64), np.zeros(CHUNK // GROUP, np.int64)
    groups = (n + GROUP - 1) // GROUP
    total, least, most = _differences(levels, n, 0, wide, folded, widths)
    head = length(_U(most - least))
    if groups * head + GROUP * total < amount:
        mode, amount = NEIGHBOUR, groups * head + GROUP * total
    if 0 < row < n:
        total, other_least, most = _differences(levels, n, row, wide, other, other_widths)
        other_head = length(_U(most - other_least))
        if groups * other_head + GROUP * total < amount:
            mode, amount = ROW, groups * other_head + GROUP * total
            folded, widths, least, head = other, other_widths, other_least, other_head
    if low == 0 and high == 0 and len(strays) == 0:
        return 0
    words = 4 + (amount + 31) // 32
    total = words + len(strays) * (1 + itemsize // 4)
    if total >= 2 + (n * itemsize + 3) // 4:
        return _raw(chunk, number, out)
    out[:total] = 0
    at = 128
    if mode == DIGITS:
        out[0] = _W(mode | s << 8) | _W(radix << _U(16))
        base = _U(low)
        for first in range(0, n, 8):
            digits = _U(0)
            for i in range(7, -1, -1):
                rest = _U(levels[first + i]) - _U(low) if first + i < n else _U(0)
                digits = digits * radix + (rest >> _U(s))
            for i in range(first, first + 8):
                rest = _U(levels[i]) - _U(low) if i < n else _U(0)
                at = _put(out, at, s, rest & ((_U(1) << _U(s)) - _U(1)))
            at = _put(out, at, container, digits)
    else:
        out[0] = _W(mode | least << 8 | head << 16)
        base = _U(levels[0])
        for g in range(groups):
            at = _put(out, at, head, _U(widths[g] - least))
        for g in range(groups):
            for i in range(g * GROUP, (g + 1) * GROUP):
                at = _put(out, at, widths[g], folded[i] if i < n else _U(0))
    out[2] = _W(base & _LOW)
    out[3] = _W(base >> _U(32)) if wide else _W(len(strays))
    if len(strays) > 0:
        _put_strays(chunk.view(np.uint32), strays, itemsize // 4, words, out)
    return finish(out, total, number)


@njit
def _put_strays(chunk, strays, each, at, out):
    """Places and values, of `each` words, from word `at` on."""
    for i in strays:
        out[at] = _W(i)
        for k in range(each):
            out[at + 1 + k] = chunk[each * i + k]
        at += 1 + each


@njit
def _raw(chunk, number, out):
    """A chunk's bytes as they are; returns its words."""
    words = 2 + (len(chunk) + 3) // 4
    out[0], out[words - 1] = RAW, 0
    _copy(chunk, out.view(np.uint8)[8:])
    return finish(out, words, number)


@njit
def _gather(content, begin, column, row, itemsize, out):
    """The bytes of a tile's values in their order; returns the values of its rows."""
    width = min(TILE[1], row - column)
    nbytes = width * itemsize
    for i in range(TILE[0]):
        low = (begin + i * row + column) * itemsize
        _copy(content[low : low + nbytes], out[i * nbytes : (i + 1) * nbytes])
    return width


@njit(parallel=True)
def encode(content, signed, itemsize, first, bound, row, bands, work, lengths):
    """Chunks first, first + 1, ... of an array, each into its row of `work`; their words into `lengths`.

    content: the whole array's bytes, of floats where there is a bound, otherwise of integers. bands: as format.Head has
    them.
    """
    across = (row + TILE[1] - 1) // TILE[1]
    tiles, tiled = bands * across, bands * TILE[0] * row
    wide = itemsize == 8 and bound == 0
    for c in prange(len(lengths)):
        number = first + c
        inner = row if row < CHUNK else 0
        if number < tiles:
            tile = np.empty(CHUNK * itemsize, np.uint8)
            begin, column = number // across * (TILE[0] * row), number % across * TILE[1]
            inner = _gather(content, begin, column, row, itemsize, tile)
            chunk = tile[: inner * TILE[0] * itemsize]
        else:
            begin = (tiled + (number - tiles) * CHUNK) * itemsize
            chunk = content[begin : begin + CHUNK * itemsize]
        levels, strays = np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64)
        count = _levels(chunk, signed, itemsize, bound, levels, strays)
        n = len(chunk) // itemsize
        lengths[c] = _encode(levels, n, inner, wide, strays[:count], chunk, itemsize, number, work[c])
