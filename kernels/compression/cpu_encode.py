"""The encoder of `fast` on the CPU (Numba) for floats: FORMAT.md's chunks of groups, each in its own place.

Values are numbers of 64 bits here, whatever their width.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from saitan.compiled import njit
from saitan.compression.format import CHUNK, PACKED, RAW

_U, _W = np.uint64, np.uint32
_ONE, _ZERO = np.uint64(1), np.uint64(0)
GROUPS = CHUNK // 32
NONE = np.uint64(2**32 - 1)


@njit
def _rounded(bits, drop, mantissa, infinite):
    """A float's bits rounded to nearest even above `drop` > 0 bits; as they are where that breaks the bound."""
    below = bits & ((_ONE << drop) - _ONE)
    exponent = (bits >> mantissa) & infinite
    if below == 0 or exponent == 0 or exponent == infinite:
        return bits
    up = (bits + ((_ONE << (drop - _ONE)) - _ONE) + ((bits >> drop) & _ONE)) >> drop << drop
    return bits if (up >> mantissa) & infinite == infinite else up


@njit
def length(x):
    """Bits of x up to the highest."""
    count = 0
    while x >= _U(256):
        x >>= _U(8)
        count += 8
    while x != 0:
        x >>= _ONE
        count += 1
    return count


@njit(inline="always")
def _group(i, pairs):
    """The group of a chunk's value i."""
    return 2 * (i >> 6) + (i & 1) if pairs else i >> 5


@njit
def _bases(m, n, pairs, low, least):
    """The least m >> low of what is not zero, by group into `least` (NONE where all is zero); their least and greatest.

    They fit 31 bits.
    """
    least[:] = NONE
    for i in range(n):
        if m[i] != 0:
            group = _group(i, pairs)
            least[group] = min(least[group], m[i] >> low)
    lowest, highest = NONE, _ZERO
    for g in range(GROUPS):
        if least[g] != NONE:
            lowest, highest = min(lowest, least[g]), max(highest, least[g])
    return (_ZERO, _ZERO) if lowest == NONE else (lowest, highest)


@njit
def _symbols(m, signs, n, pairs, shift, fine, low, base, least, heads, widths):
    """Symbols in place of m; heads and widths by group; returns the sum of the widths.

    fine: where the bases begin.
    """
    alone, zeros, every = np.ones(GROUPS, np.bool_), np.zeros(GROUPS, np.bool_), np.zeros(GROUPS, np.uint64)
    bias, sign = np.zeros(GROUPS, np.uint64), np.zeros(GROUPS, np.uint64)
    for g in range(GROUPS):
        # 255 says that all is zero.
        relative = _U(255) if least[g] == NONE else min((least[g] >> (fine - low)) - base, _U(254))
        heads[g] = relative << _U(8)
        bias[g] = (base + relative) << fine
        first = 64 * (g >> 1) + (g & 1) if pairs else 32 * g
        sign[g] = signs[first] if first < n else _ZERO
    for i in range(n):
        group = _group(i, pairs)
        alone[group] &= signs[i] == sign[group]
        zeros[group] |= m[i] == 0 and bias[group] != 0
    # Places beyond the last value count as +0.
    for i in range(n, (n + 63) // 64 * 64):
        alone[_group(i, pairs)] &= sign[_group(i, pairs)] == 0
    for g in range(GROUPS):
        alone[g] &= least[g] == NONE or not zeros[g]
    for i in range(n):
        group = _group(i, pairs)
        code = m[i]
        if code != 0:
            code = ((code - bias[group]) >> shift) + _U(zeros[group])
        m[i] = code if alone[group] else (code << _ONE) | signs[i]
        every[group] |= m[i]
    total = 0
    for g in range(2 * ((n + 63) // 64)):
        widths[g] = length(every[g])
        if alone[g]:
            heads[g] |= _U(128) | sign[g] << _U(6) | widths[g]
        else:
            heads[g] |= _U(zeros[g]) << _U(6) | (widths[g] - _ONE)
        total += np.int64(widths[g])
    return total


@njit
def _pack(m, n, pairs, widths, at, out):
    """The groups' words at out[at:]."""
    for g in range(2 * ((n + 63) // 64)):
        width = np.int64(widths[g])
        out[at : at + width] = 0
        place, first, step = 0, 64 * (g >> 1) + (g & 1) if pairs else 32 * g, 2 if pairs else 1
        for i in range(first, min(first + 32 * step, n), step):
            word, shift = at + (place >> 5), place & 31
            rest = m[i]
            left = width
            while left > 0:
                out[word] |= _W((rest << _U(shift)) & _U(0xFFFFFFFF))
                taken = min(left, 32 - shift)
                rest >>= _U(taken)
                left -= taken
                word, shift = word + 1, 0
            place += width
        at += width
    return at


@njit
def _encode(chunk, number, drop, below, pairs, itemsize, out):
    """One chunk into `out`; returns its words.

    chunk: unsigned numbers of the type's width; pairs: as in format.Head.
    """
    n = len(chunk)
    bits = _U(8 * itemsize)
    values, signs = np.empty(CHUNK, np.uint64), np.zeros(CHUNK, np.uint64)
    magnitude = (_ONE << (bits - _ONE)) - _ONE
    infinite = (_ONE << (bits - _ONE - below)) - _ONE
    every, same = _ZERO, True
    for i in range(n):
        x = _U(chunk[i])
        if drop > 0:
            x = _rounded(x, drop, below, infinite)
        values[i] = x
        same = same and x == values[0]
        every |= x
    if same and every == 0:
        return 0
    if same:
        out[0] = 0
        out[2], out[3] = _W(values[0] & _U(0xFFFFFFFF)), _W(values[0] >> _U(32))
        return finish(out, 4, number)
    shift = _ZERO
    while shift < below and (every >> shift) & _ONE == 0:
        shift += _ONE
    groups = 2 * ((n + 63) // 64)
    heads, least, widths = np.zeros(GROUPS, np.uint64), np.empty(GROUPS, np.uint64), np.empty(GROUPS, np.uint64)
    m = np.empty(CHUNK, np.uint64)
    for i in range(n):
        signs[i] = values[i] >> (bits - _ONE)
        m[i] = values[i] & magnitude
    low = _U(32) if itemsize == 8 else _ZERO
    lowest, highest = _bases(m, n, pairs, low, least)
    fine = min(max(low + _U(max(length(highest - lowest) - 8, 0)), shift), below)
    base = lowest >> (fine - low)
    words = _symbols(m, signs, n, pairs, shift, fine, low, base, least, heads, widths)
    front = 4 + groups // 2
    if front + words >= 2 + (n * itemsize + 3) // 4:
        return raw(values, n, itemsize, number, out)
    out[0] = _W(PACKED) | _W(shift << _U(8)) | _W(fine << _U(16))
    out[2], out[3] = _W(base & _U(0xFFFFFFFF)), _W(base >> _U(32))
    for g in range(0, groups, 2):
        out[4 + g // 2] = _W(heads[g] | heads[g + 1] << _U(16))
    return finish(out, _pack(m, n, pairs, widths, front, out), number)


@njit
def raw(bits, n, itemsize, number, out):
    """A chunk of values as they are; returns its words. bits: unsigned numbers."""
    words = 2 + (n * itemsize + 3) // 4
    out[0] = RAW
    out[2:words] = 0
    for i in range(n):
        if itemsize == 8:
            out[2 + 2 * i], out[3 + 2 * i] = _W(_U(bits[i]) & _U(0xFFFFFFFF)), _W(_U(bits[i]) >> _U(32))
        else:
            bit = 8 * itemsize * i
            out[2 + bit // 32] |= _W(_U(bits[i]) << _U(bit % 32))
    return finish(out, words, number)


@njit
def finish(out, words, number):
    """Write the checksum; returns the words."""
    total, factor = _U(number + 1) * _U(0xD6E8FEB86659FD93), _W(0x9E3779B1)
    for i in range(words):
        if i != 1:
            total += _U(out[i]) * _U(factor)
        factor = _W(factor + _W(0x3C6EF362))
    out[1] = _W(((total ^ (total >> _U(32))) * _U(0xBF58476D1CE4E5B9)) >> _U(32))
    return words


@njit(parallel=True)
def encode(values, first, drop, below, pairs, work, lengths):
    """Chunks first, first + 1, ... of unsigned numbers, each into its row of `work`; their words into `lengths`."""
    for c in prange(len(lengths)):
        chunk = values[c * CHUNK : (c + 1) * CHUNK]
        lengths[c] = _encode(chunk, first + c, drop, below, pairs, values.itemsize, work[c])


@njit(parallel=True)
def close_up(work, places, payload):
    """Chunks from their rows to their places in a payload (int64 [chunks + 1])."""
    for c in prange(len(places) - 1):
        payload[places[c] : places[c + 1]] = work[c, : places[c + 1] - places[c]]
