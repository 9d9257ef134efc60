"""The encoder of `fast` on the CPU (Numba) for floats: FORMAT.md's chunks of groups, each in its own place.

Values are numbers of 64 bits here, whatever their width.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from saitan.compression.format import CHUNK, PACKED, RAW

_U, _W = np.uint64, np.uint32
_ONE, _ZERO = np.uint64(1), np.uint64(0)
GROUPS = CHUNK // 32
NONE = np.uint64(2**32 - 1)


@njit(cache=True)
def _rounded(bits, drop, mantissa, infinite):
    """A float's bits rounded to nearest even above `drop` > 0 bits; as they are where that breaks the bound."""
    below = bits & ((_ONE << drop) - _ONE)
    exponent = (bits >> mantissa) & infinite
    if below == 0 or exponent == 0 or exponent == infinite:
        return bits
    up = (bits + ((_ONE << (drop - _ONE)) - _ONE) + ((bits >> drop) & _ONE)) >> drop << drop
    return bits if (up >> mantissa) & infinite == infinite else up


@njit(cache=True)
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


@njit(cache=True)
def _bases(m, n, high, least):
    """The least m >> high of what is not zero, by group into `least` (NONE where all is zero). It fits 32 bits."""
    least[:] = NONE
    for i in range(n):
        if m[i] != 0:
            group = 2 * (i >> 6) + (i & 1)
            least[group] = min(least[group], m[i] >> high)
    base = least.min()
    return _ZERO if base == NONE else base


@njit(cache=True)
def _symbols(m, signs, n, high, base, least, heads, widths):
    """Symbols in place of m; heads and widths by group; returns the sum of the widths."""
    widths[:] = 0
    total = 0
    for g in range(GROUPS):
        relative = _ZERO if least[g] == NONE else min(least[g] - base, _U(255))
        heads[g] = relative << _U(8)
    for i in range(n):
        group = 2 * (i >> 6) + (i & 1)
        if m[i] == 0 and base + (heads[group] >> _U(8)) != 0:
            heads[group] |= _U(128)
    for i in range(n):
        group = 2 * (i >> 6) + (i & 1)
        b = base + (heads[group] >> _U(8))
        code = m[i]
        if code != 0:
            code = code - (b << high) + ((heads[group] >> _U(7)) & _ONE)
        m[i] = (code << _ONE) | signs[i]
        widths[group] |= m[i]
    for g in range(2 * ((n + 63) // 64)):
        width = length(widths[g])
        heads[g] |= _U(width)
        total += width
    return total


@njit(cache=True)
def _pack(m, n, heads, at, out):
    """The groups' words at out[at:]."""
    for g in range(2 * ((n + 63) // 64)):
        width = np.int64(heads[g] & _U(127))
        out[at : at + width] = 0
        place, first = 0, 64 * (g >> 1) + (g & 1)
        for i in range(first, min(first + 64, n), 2):
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


@njit(cache=True)
def _encode(chunk, number, drop, below, itemsize, out):
    """One chunk into `out`; returns its words. chunk: unsigned numbers of the type's width."""
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
        m[i] = (values[i] & magnitude) >> shift
    base = _bases(m, n, below - shift, least)
    words = _symbols(m, signs, n, below - shift, base, least, heads, widths)
    front = 4 + groups // 2
    if front + words >= 2 + (n * itemsize + 3) // 4:
        return raw(values, n, itemsize, number, out)
    out[0] = _W(PACKED) | _W(shift << _U(8))
    out[2], out[3] = _W(base & _U(0xFFFFFFFF)), _W(base >> _U(32))
    for g in range(0, groups, 2):
        out[4 + g // 2] = _W(heads[g] | heads[g + 1] << _U(16))
    return finish(out, _pack(m, n, heads, front, out), number)


@njit(cache=True)
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


@njit(cache=True)
def finish(out, words, number):
    """Write the checksum; returns the words."""
    total, factor = _U(number + 1) * _U(0xD6E8FEB86659FD93), _W(0x9E3779B1)
    for i in range(words):
        if i != 1:
            total += _U(out[i]) * _U(factor)
        factor = _W(factor + _W(0x3C6EF362))
    out[1] = _W(((total ^ (total >> _U(32))) * _U(0xBF58476D1CE4E5B9)) >> _U(32))
    return words


@njit(parallel=True, cache=True)
def encode(values, first, drop, below, work, lengths):
    """Chunks first, first + 1, ... of unsigned numbers, each into its row of `work`; their words into `lengths`."""
    for c in prange(len(lengths)):
        chunk = values[c * CHUNK : (c + 1) * CHUNK]
        lengths[c] = _encode(chunk, first + c, drop, below, values.itemsize, work[c])


@njit(parallel=True, cache=True)
def close_up(work, places, payload):
    """Chunks from their rows to their places in a payload (int64 [chunks + 1])."""
    for c in prange(len(places) - 1):
        payload[places[c] : places[c + 1]] = work[c, : places[c + 1] - places[c]]
