"""Decimal numbers compared with float32 to the last digit, many at once: what written.py asks, compiled.

digits * 10^power and mantissa * 2^exponent are the same where they are without their factors 2 and 5.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_LF, _SPACE, _MINUS, _POINT, _ZERO, _NINE, _E = b"\n -.09e"
# What can take one more digit in 64 bits.
_MOST = np.uint64((2**64 - 10) // 10)
# Characters of an exponent that is looked at, with its e.
_SHORT = 8


@njit(cache=True)
def compare(block, values, rows):
    """For the last word of each of these lines: where it begins and ends, and whether it is exactly its value.

    block: uint8; values: float64 of all lines, empty ones aside; rows: int64, ascending, of those that float32 holds.
    Returns int64 [rows, 2] and int8 [rows]: 1, 0, or -1 for more digits than 64 bits hold.
    """
    ends, same = np.empty((len(rows), 2), np.int64), np.empty(len(rows), np.int8)
    line = place = start = 0
    while place < len(rows):
        end = start
        while end < len(block) and block[end] != _LF:
            end += 1
        if end > start:
            if line == rows[place]:
                last = end
                while block[last - 1] <= _SPACE:
                    last -= 1
                first = last
                while first > start and block[first - 1] > _SPACE:
                    first -= 1
                ends[place] = first, last
                same[place] = _equal(block[first:last], values[line])
                place += 1
            line += 1
        start = end + 1
    return ends, same


@njit(cache=True)
def _equal(word, value):
    digits, power, zeros, behind = np.uint64(0), 0, 0, 0
    for place in range(len(word)):
        character = word[place]
        if character == _POINT:
            behind = 1
        elif character == _ZERO:
            power -= behind
            zeros += 1
        elif _ZERO < character <= _NINE:
            power -= behind
            for _ in range(zeros + 1 if digits else 1):
                if digits > _MOST:
                    return -1
                digits *= np.uint64(10)
            digits += np.uint64(character - _ZERO)
            zeros = 0
        elif character | 32 == _E:
            if len(word) - place > _SHORT:
                return -1
            power += _integer(word[place + 1 :])
            break
    if digits == 0 or value == 0:
        return int(digits == 0 and value == 0)
    power += zeros
    fraction, exponent = math.frexp(value)
    mantissa = np.uint64(fraction * 2.0**24)
    exponent -= 24
    while digits & np.uint64(1) == 0:
        digits >>= np.uint64(1)
        exponent -= 1
    while mantissa & np.uint64(1) == 0:
        mantissa >>= np.uint64(1)
        exponent += 1
    if exponent != power:
        return 0
    many, few = (mantissa, digits) if power > 0 else (digits, mantissa)
    for _ in range(abs(power)):
        if many % np.uint64(5):
            return 0
        many //= np.uint64(5)
    return int(many == few)


@njit(cache=True)
def _integer(word):
    value = 0
    for character in word:
        if _ZERO <= character <= _NINE:
            value = 10 * value + character - _ZERO
    return -value if word[0] == _MINUS else value
