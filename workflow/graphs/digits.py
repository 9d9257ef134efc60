"""Decimal numbers compared with float32 to the last digit, many at once: what written.py asks, compiled.

digits * 10^power and mantissa * 2^exponent are the same where they are without their factors 2 and 5.
"""

from __future__ import annotations

import math

import numpy as np

from saitan.compiled import njit

_LF, _SPACE, _MINUS, _POINT, _ZERO, _NINE, _E = b"\n -.09e"
# Below it, 64 bits hold one more digit.
_FULL = np.uint64(10**18)
# The powers of 5 that 64 bits hold.
_FIVES = 5 ** np.arange(28, dtype=np.uint64)
# What a float32's mantissa lies below, and what it can be multiplied with.
_MANTISSA, _QUICK = np.uint64(2**24), np.uint64(2**40)
# Characters of an exponent that is looked at, with its e.
_SHORT = 8


@njit
def compare(block, values, rows):
    """For the last word of each of these lines: where it begins and ends, and whether it is exactly its value.

    block: uint8; values: float64 of all lines, empty ones aside; rows: int64, ascending, of those that float32 holds.
    Returns int64 [rows, 2] and int8 [rows]: 1, 0, or -1 for more digits than 64 bits hold.
    """
    ends, same = np.empty((len(rows), 2), np.int64), np.empty(len(rows), np.int8)
    line = place = begin = first = last = 0
    for here in range(len(block) + 1):
        character = block[here] if here < len(block) else _LF
        if character > _SPACE:
            if here > last:  # after a space
                first = here
            last = here + 1
        elif character == _LF:
            if here > begin:
                if line == rows[place]:
                    ends[place, 0], ends[place, 1] = first, last
                    same[place] = _equal(block, first, last, values[line])
                    place += 1
                    if place == len(rows):
                        break
                line += 1
            begin = last = here + 1
            first = begin
    return ends, same


@njit
def _equal(block, first, last, value):
    digits, power, behind = np.uint64(0), 0, 0
    for place in range(first, last):
        character = block[place]
        if _ZERO <= character <= _NINE:
            if digits < _FULL:
                digits = np.uint64(10) * digits + np.uint64(character - _ZERO)
                power -= behind
            elif character == _ZERO:
                power += 1 - behind
            else:
                return -1
        elif character == _POINT:
            behind = 1
        elif character | 32 == _E:
            if last - place > _SHORT:
                return -1
            power += _integer(block, place + 1, last)
            break
    if digits == 0 or value == 0:
        return int(digits == 0 and value == 0)
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
    if few >= _MANTISSA or abs(power) >= len(_FIVES):
        return 0
    five = _FIVES[abs(power)]
    if five < _QUICK:  # a division takes as long as all the rest
        return int(many == few * five)
    return int(many % five == 0 and many // five == few)


@njit
def _integer(block, first, last):
    value = 0
    for place in range(first, last):
        if _ZERO <= block[place] <= _NINE:
            value = 10 * value + block[place] - _ZERO
    return -value if block[first] == _MINUS else value
