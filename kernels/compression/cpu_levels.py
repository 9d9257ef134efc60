"""The encoder of `fast` for whole numbers on the CPU (Numba): integers, and the levels of floats within an absolute
bound; FORMAT.md's chunks of digits and of differences. Levels are int64 here, whatever their width."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from saitan.compression.cpu_encode import finish, length, raw
from saitan.compression.format import CHUNK, DIGITS, NEIGHBOUR, ROW, TILE

_U, _W = np.uint64, np.uint32
_LOW = np.uint64(0xFFFFFFFF)
GROUP = 16


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
def _encode(levels, n, row, wide, strays, bits, itemsize, number, out):
    """One chunk of n numbers into `out`; returns its words. wide: levels have 64 bits; strays: places of values stored
    as they are, from `bits`."""
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
        return raw(bits, n, itemsize, number, out)
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
    each = itemsize // 4
    for k in range(len(strays)):
        i, place = strays[k], words + k * (1 + each)
        out[place] = _W(i)
        out[place + 1] = _W(_U(bits[i]) & _LOW)
        if each == 2:
            out[place + 2] = _W(_U(bits[i]) >> _U(32))
    return finish(out, total, number)


@njit(cache=True)
def _gather(values, begin, column, row, out):
    """A tile's values in their order; returns the values of its rows."""
    width = min(TILE[1], row - column)
    for i in range(TILE[0]):
        low = begin + i * row + column
        out[i * width : (i + 1) * width] = values[low : low + width]
    return width


@njit(parallel=True, cache=True)
def encode(values, bits, first, bound, row, bands, work, lengths):
    """Chunks first, first + 1, ... of an array, each into its row of `work`; their words into `lengths`.

    values: the whole array, floats where there is a bound, otherwise integers; bits: the same as unsigned numbers.
    bands: as format.Head has them.
    """
    across = (row + TILE[1] - 1) // TILE[1]
    tiles, tiled = bands * across, bands * TILE[0] * row
    wide = values.itemsize == 8 and bound == 0
    for c in prange(len(lengths)):
        number = first + c
        inner = row if row < CHUNK else 0
        if number < tiles:
            tile, pattern = np.empty(CHUNK, values.dtype), np.empty(CHUNK, bits.dtype)
            begin, column = number // across * (TILE[0] * row), number % across * TILE[1]
            inner = _gather(values, begin, column, row, tile)
            _gather(bits, begin, column, row, pattern)
            chunk, pattern = tile[: inner * TILE[0]], pattern[: inner * TILE[0]]
        else:
            begin = tiled + (number - tiles) * CHUNK
            chunk, pattern = values[begin : begin + CHUNK], bits[begin : begin + CHUNK]
        levels, strays = np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64)
        count = 0
        if bound > 0:
            count = _quantised(chunk, pattern, bound, levels, strays)
        else:
            for i in range(len(chunk)):
                levels[i] = np.int64(chunk[i])
        lengths[c] = _encode(levels, len(chunk), inner, wide, strays[:count], pattern, values.itemsize, number, work[c])
