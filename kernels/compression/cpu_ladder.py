"""The ladder's coding on the CPU (Numba): see ladder.py for the stream, ladder.cu for the same on CUDA.

Every encoder takes the bits of one chunk and returns the words it wrote, or 0 where the chunk must be stored raw.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from saitan.compiled import njit
from saitan.compression.ladder import CHUNK, ENTRIES, LONGEST

_U = np.uint64
_ONE, _ZERO = np.uint64(1), np.uint64(0)
_EXPONENT = np.uint64(0x7FF)


@njit
def _lost(bits, drop):
    """Whether shortening by `drop` > 0 bits would break the bound."""
    low = bits & ((_ONE << drop) - _ONE)
    exponent = (bits >> _U(52)) & _EXPONENT
    return low != 0 and (exponent == 0 or exponent == _EXPONENT or _rounded_exponent(bits, drop) == _EXPONENT)


@njit
def _rounded(bits, drop):
    return bits + ((_ONE << (drop - _ONE)) - _ONE + ((bits >> drop) & _ONE))


@njit
def _rounded_exponent(bits, drop):
    return (_rounded(bits, drop) >> _U(52)) & _EXPONENT


@njit
def _short(bits, drop):
    """The bits without the `drop` low ones, rounded to nearest even where they are not all zero."""
    return bits if drop == 0 else _rounded(bits, drop) >> drop


@njit
def _significant(x):
    """Bytes of x up to the highest that is not zero."""
    count = 0
    while x != 0:
        x >>= _U(8)
        count += 1
    return count


@njit
def _unfit(chunk, drop):
    if drop > 0:
        for bits in chunk:
            if _lost(bits, drop):
                return True
    return False


@njit
def encode_fpc(chunk, drop, components, out):
    """Code 0, value after value."""
    n = len(chunk)
    if _unfit(chunk, drop):
        return 0
    fcm, dfcm = np.zeros(ENTRIES, np.uint64), np.zeros(ENTRIES, np.uint64)
    place, dplace, last = 0, 0, _ZERO
    codes = (n + 15) // 16
    out[: codes + n] = 0
    at = codes * 8
    small = drop > 8
    for i in range(n):
        value = _short(chunk[i], drop)
        by_fcm, by_dfcm = value ^ fcm[place], value ^ (dfcm[dplace] + last)
        fcm[place], dfcm[dplace] = value, value - last
        place, dplace = _next(place, dplace, value, value - last, drop)
        last = value
        count, other = _significant(by_fcm), _significant(by_dfcm)
        code = 0
        if other < count:
            by_fcm, count, code = by_dfcm, other, 8
        if small or count < 4:
            code |= count
        else:
            count = max(count, 5)
            code |= count - 1
        out[i // 16] |= _U(code) << _U(4 * (i % 16))
        at = _append(out, at, by_fcm, count)
    return _words(at, n)


@njit
def _next(place, dplace, value, difference, drop):
    """The places in both tables after a value: the constants of FPC's description, the tables being this small."""
    top = value >> (_U(48) - drop) if drop < 48 else value
    dtop = difference >> (_U(40) - drop) if drop < 40 else difference
    mask = _U(ENTRIES - 1)
    return np.int64(((_U(place) << _U(2)) ^ top) & mask), np.int64(((_U(dplace) << _U(2)) ^ dtop) & mask)


@njit
def _append(out, at, residual, count):
    """The low `count` bytes of a residual at byte `at`, a word at a time; returns the next byte."""
    shift = _U(8 * (at & 7))
    out[at >> 3] |= residual << shift
    if (at & 7) + count > 8:
        out[(at >> 3) + 1] |= residual >> (_U(64) - shift)
    return at + count


@njit
def _words(at, n):
    words = (at + 7) // 8
    return words if words < n else 0


@njit
def encode_bytes(chunk, drop, components, out):
    """Code 1, the bytes of a residual one by one."""
    if _unfit(chunk, drop):
        return 0
    n = len(chunk)
    first, codes = _begin(chunk, drop, components, out)
    at = (first + codes) * 8
    bytes_out = out.view(np.uint8)
    for i in range(n):
        residual = _short(chunk[i], drop) ^ out[i & (components - 1)]
        count = _significant(residual)
        bytes_out[first * 8 + i // 2] |= np.uint8(count << (4 * (i & 1)))
        for byte in range(count):
            bytes_out[at + byte] = np.uint8(residual >> _U(8 * byte))
        at += count
    return _words(at, n)


@njit
def encode_words(chunk, drop, components, out):
    """Code 1, a residual as a whole."""
    if _unfit(chunk, drop):
        return 0
    n = len(chunk)
    first, codes = _begin(chunk, drop, components, out)
    at = (first + codes) * 8
    for i in range(n):
        residual = _short(chunk[i], drop) ^ out[i & (components - 1)]
        count = _significant(residual)
        out[first + i // 16] |= _U(count) << _U(4 * (i % 16))
        at = _append(out, at, residual, count)
    return _words(at, n)


@njit
def _begin(chunk, drop, components, out):
    """Clear the chunk's space and write the references; returns the words of references and of codes."""
    n = len(chunk)
    codes = (n + 15) // 16
    out[: components + codes + n] = 0
    for i in range(components):
        out[i] = _short(chunk[min(i, n - 1)], drop)
    return components, codes


FPC, BYTES, WORDS = range(3)


@njit
def _encode(way, chunk, drop, components, out):
    """A chunk in one of the ways above (a number: compiled functions passed as arguments are not cached)."""
    if way == FPC:
        return encode_fpc(chunk, drop, components, out)
    if way == BYTES:
        return encode_bytes(chunk, drop, components, out)
    return encode_words(chunk, drop, components, out)


@njit(parallel=True)
def compress(way, bits, drop, components, work, payload, offsets):
    """All chunks in a way, through work space of LONGEST words a chunk, into the payload."""
    count = len(offsets) - 1
    raw = np.empty(count, np.bool_)
    for c in prange(count):
        chunk = bits[c * CHUNK : (c + 1) * CHUNK]
        words = _encode(way, chunk, drop, components, work[c])
        raw[c] = words == 0
        offsets[c + 1] = 8 * (len(chunk) if words == 0 else words)
    offsets[0] = 0
    for c in range(count):
        offsets[c + 1] += offsets[c]
    for c in prange(count):
        low, high = offsets[c] >> 3, offsets[c + 1] >> 3
        payload[low:high] = bits[c * CHUNK : (c + 1) * CHUNK] if raw[c] else work[c, : high - low]


@njit(parallel=True)
def compress_in_place(way, bits, drop, components, offsets):
    """All chunks in a way into the memory that they are read from: first each at its own place, then closed up.

    A chunk is never longer than its doubles, so that closing up in order writes only where all has been moved away.
    """
    count = len(offsets) - 1
    for c in prange(count):
        chunk = bits[c * CHUNK : (c + 1) * CHUNK]
        own = np.empty(LONGEST, np.uint64)
        words = _encode(way, chunk, drop, components, own)
        offsets[c + 1] = 8 * (len(chunk) if words == 0 else words)
        chunk[:words] = own[:words]
    offsets[0] = 0
    for c in range(count):
        words = offsets[c + 1] >> 3
        offsets[c + 1] += offsets[c]
        low = offsets[c] >> 3
        if low != c * CHUNK:
            for i in range(words):
                bits[low + i] = bits[c * CHUNK + i]


@njit(parallel=True)
def decompress(code, drop, components, payload, offsets, out):
    """The doubles' bits of a payload."""
    for c in prange(len(offsets) - 1):
        chunk = out[c * CHUNK : (c + 1) * CHUNK]
        coded = payload[offsets[c] >> 3 : offsets[c + 1] >> 3]
        if len(coded) == len(chunk):
            chunk[:] = coded
        elif code == 0:
            _decode_fpc(coded, drop, chunk)
        else:
            _decode_first(coded, drop, components, chunk)


@njit
def _read(words, at, count):
    """`count` bytes at byte `at`."""
    if count == 0:
        return _ZERO
    shift = _U(8 * (at & 7))
    value = words[at >> 3] >> shift
    if (at & 7) + count > 8:
        value |= words[(at >> 3) + 1] << (_U(64) - shift)
    return value if count == 8 else value & ((_ONE << _U(8 * count)) - _ONE)


@njit
def _decode_first(coded, drop, components, chunk):
    at = 8 * (components + (len(chunk) + 15) // 16)
    for i in range(len(chunk)):
        count = np.int64((coded[components + i // 16] >> _U(4 * (i % 16))) & _U(15))
        chunk[i] = (_read(coded, at, count) ^ coded[i & (components - 1)]) << drop
        at += count


@njit
def _decode_fpc(coded, drop, chunk):
    fcm, dfcm = np.zeros(ENTRIES, np.uint64), np.zeros(ENTRIES, np.uint64)
    place, dplace, last = 0, 0, _ZERO
    at = 8 * ((len(chunk) + 15) // 16)
    for i in range(len(chunk)):
        code = np.int64((coded[i // 16] >> _U(4 * (i % 16))) & _U(15))
        count = code & 7
        if drop <= 8 and count > 3:
            count += 1
        value = _read(coded, at, count) ^ (dfcm[dplace] + last if code & 8 else fcm[place])
        at += count
        fcm[place], dfcm[dplace] = value, value - last
        place, dplace = _next(place, dplace, value, value - last, drop)
        last = value
        chunk[i] = value << drop
