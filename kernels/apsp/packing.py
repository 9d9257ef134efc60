"""Coded rows of a matrix of distances (FORMAT.md) on the CPU: how they are made, and read again.

A row is coded against an earlier row of its group, block by block of columns: as the few columns whose difference to
that row is not the difference of the column that they are coded against (`sparse`), or as all differences in as few
bits as the block needs (`packed`). Arithmetic is modulo 2^32, or 2^64 for distances of 64 bits: any bits come back.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numba import prange

from saitan.apsp.order import NONE
from saitan.compiled import njit

SPARSE, PACKED = 0, 1

_U, _W = np.uint64, np.uint32
_LOW = np.uint64(0xFFFFFFFF)


@njit
def _mix(x):
    # Numba multiplies numbers of 32 bits into 64.
    x = _W(x * _W(0x85EBCA77))
    x = _W((x ^ (x >> _W(15))) * _W(0xC2B2AE3D))
    return _W(x ^ (x >> _W(13)))


@njit
def checksum(words, begin, end, seed):
    """The checksum of words begin .. end - 1 with the number of what they belong to, uint32."""
    total = _mix(_W(seed))
    for i in range(end - begin):
        # An unsigned index is not looked at for being negative.
        total = _W(total + _mix(_W(words[_U(begin + i)] ^ _W(_W(i + 1) * _W(0x9E3779B1)))))
    return total


@njit
def _signed(difference, narrow):
    """A difference modulo 2^64 as a signed number of the distances' width."""
    return np.int64(np.int32(difference & _LOW)) if narrow else np.int64(difference)


@njit
def _bits(x):
    """The bits that an unsigned number takes."""
    count = 0
    while x:
        x >>= _U(1)
        count += 1
    return count


@njit
def _log_bytes(least, most):
    """log2 of the bytes that hold all numbers between two."""
    if least >= -128 and most < 128:
        return 0
    if least >= -32768 and most < 32768:
        return 1
    return 2 if least >= -(2**31) and most < 2**31 else 3


@njit
def _differences(row, above, against, columns, narrow, x, y):
    """Of a block: x, the differences to the row above (to 0 where `against` is false); y, those to their columns'."""
    for j in range(len(row)):
        x[j] = _signed(_U(row[j]) - (_U(above[j]) if against else _U(0)), narrow)
    y[0] = x[0]
    for j in range(1, len(row)):
        y[j] = _signed(_U(x[j]) - _U(x[columns[j]]), narrow)


@njit
def _sparse_words(count, log_bytes):
    return 1 + (count + 1) // 2 + ((count << log_bytes) + 3) // 4


@njit
def _packed_words(count, bits):
    return 3 + (count * bits + 31) // 32


@njit
def _plan(x, y):
    """The header word of a block, and its words."""
    count, least, most = 0, np.int64(0), np.int64(0)
    lowest, highest = x[0], x[0]
    for j in range(len(x)):
        count += y[j] != 0
        least, most = min(least, y[j]), max(most, y[j])
        lowest, highest = min(lowest, x[j]), max(highest, x[j])
    log_bytes, bits = _log_bytes(least, most), _bits(_U(highest) - _U(lowest))
    sparse, packed = _sparse_words(count, log_bytes), _packed_words(len(x), bits)
    if sparse <= packed and count < 65536:
        return SPARSE | log_bytes << 8 | count << 16, sparse
    return PACKED | bits << 8, packed


@njit(parallel=True)
def measure(slab, rows, first, columns, width, narrow, headers, words):
    """headers, words uint32 [rows, blocks] of a slab whose first row has the place `first`."""
    n = slab.shape[1]
    for i in prange(len(slab)):
        # Signed, as the loop's variable is not.
        r = np.int64(i)
        x, y = np.empty(width, np.int64), np.empty(width, np.int64)
        against = rows[first + r] != NONE
        above = slab[np.int64(rows[first + r]) - first if against else r]
        for b in range(words.shape[1]):
            low, high = b * width, min(n, (b + 1) * width)
            size = high - low
            _differences(slab[r, low:high], above[low:high], against, columns[low:high], narrow, x, y)
            headers[r, b], words[r, b] = _plan(x[:size], y[:size])


@njit
def _write_sparse(header, y, out):
    count, log_bytes, k = header >> 16, header >> 8 & 3, 0
    out[1:] = 0
    positions, values = out[1 : 1 + (count + 1) // 2].view(np.uint16), out[1 + (count + 1) // 2 :]
    for j in range(len(y)):
        if y[j] != 0:
            positions[k] = j
            if log_bytes == 0:
                values.view(np.int8)[k] = y[j]
            elif log_bytes == 1:
                values.view(np.int16)[k] = y[j]
            elif log_bytes == 2:
                values.view(np.int32)[k] = y[j]
            else:
                values[2 * k], values[2 * k + 1] = _W(_U(y[j]) & _LOW), _W(_U(y[j]) >> _U(32))
            k += 1


@njit
def _write_packed(header, x, out):
    bits, base = header >> 8, x.min()
    out[1], out[2] = _W(_U(base) & _LOW), _W(_U(base) >> _U(32))
    out[3:] = 0
    for j in range(len(x)):
        value, place = _U(x[j]) - _U(base), j * bits
        word, shift = 3 + place // 32, place % 32
        left = bits
        while left > 0:
            out[word] |= _W(((value & _LOW) << _U(shift)) & _LOW)
            taken = 32 - shift
            value >>= _U(taken)
            left -= taken
            word += 1
            shift = 0


@njit(parallel=True)
def write(slab, rows, first, columns, width, narrow, headers, words, starts, out):
    """The records of a slab's rows into words `out`; starts int64 [rows]: where each begins."""
    n, blocks = slab.shape[1], words.shape[1]
    for i in prange(len(slab)):
        # Signed, as the loop's variable is not.
        r = np.int64(i)
        x, y = np.empty(width, np.int64), np.empty(width, np.int64)
        against = rows[first + r] != NONE
        above = slab[np.int64(rows[first + r]) - first if against else r]
        at = starts[r] + 2 * blocks
        end = 0
        for b in range(blocks):
            low, high = b * width, min(n, (b + 1) * width)
            size = high - low
            _differences(slab[r, low:high], above[low:high], against, columns[low:high], narrow, x, y)
            block = out[at + end : at + end + words[r, b]]
            block[0] = headers[r, b]
            if headers[r, b] & 255 == SPARSE:
                _write_sparse(np.int64(headers[r, b]), y[:size], block)
            else:
                _write_packed(np.int64(headers[r, b]), x[:size], block)
            end += words[r, b]
            out[starts[r] + b] = end
            out[starts[r] + blocks + b] = checksum(block, 0, len(block), (first + r) * blocks + b)


@njit
def _block(words, starts, blocks, r, b, size):
    """Where a block of a row begins and ends; both 0 where its checksum or its shape is not right."""
    start, after = np.int64(starts[r]), np.int64(starts[r + 1])
    at = start + 2 * blocks
    begin, end = at + (np.int64(words[start + b - 1]) if b else 0), at + np.int64(words[start + b])
    if not at <= begin < end <= after or words[start + blocks + b] != checksum(words, begin, end, r * blocks + b):
        return 0, 0
    header, room = np.int64(words[begin]), end - begin
    if header & 255 == SPARSE:
        right = header >> 8 & 255 < 4 and _sparse_words(header >> 16, header >> 8 & 3) == room
    else:
        right = header & 255 == PACKED and header >> 8 <= 64 and _packed_words(size, header >> 8) == room
    return (begin, end) if right else (0, 0)


@njit
def _position(words, begin, k):
    """Position k of a sparse block."""
    return np.int64(words[_U(begin + 1 + (k >> 1))]) >> (16 * (k & 1)) & 0xFFFF


@njit
def _value(words, begin, header, k):
    """Value k of a sparse block modulo 2^64."""
    log_bytes, values = header >> 8 & 3, begin + 1 + ((header >> 16) + 1 >> 1)
    if log_bytes == 3:
        return _U(words[values + 2 * k]) | _U(words[values + 2 * k + 1]) << _U(32)
    bits = 8 << log_bytes
    place = k << (3 + log_bytes)
    word = _U(words[_U(values + (place >> 5))]) >> _U(place & 31)
    # Sign-extended.
    return _U(np.int64(word << _U(64 - bits)) >> np.int64(64 - bits))


@njit
def _packed_value(words, begin, bits, j):
    """Difference j of a packed block modulo 2^64."""
    value, have, place = _U(words[begin + 1]) | _U(words[begin + 2]) << _U(32), 0, j * bits
    word, shift, found = begin + 3 + place // 32, place % 32, _U(0)
    while have < bits:
        found |= (_U(words[word]) >> _U(shift)) << _U(have)
        have += 32 - shift
        word += 1
        shift = 0
    return value + (found & ((_U(1) << _U(bits)) - _U(1)) if bits < 64 else found)


# Words before the first of what `indexed` joins: vertices, columns of a block, rows of a group, bits of an entry.
HEAD = 4


def indexed(vertices, rows, ends, starts, group, width, bits):
    """What `entry` looks up, as one array, since a call of Numba's takes some 0.1 us longer for each; and views of it.

    uint32: HEAD; the sections starts and rows; the place of every vertex; ends; a bit for every block, set when it was
    found right. The views are starts, rows, place, ends.
    """
    n = len(vertices)
    counts = HEAD, 2 * n + 2, n, n, (n + 1) // 2, -(-n * -(-n // width) // 32)
    places = np.cumsum(counts)
    index = np.zeros(places[-1], np.uint32)
    parts = [index[low:high] for low, high in pairwise(places)]
    parts = parts[0].view(np.uint64), parts[1], parts[2], parts[3].view(np.uint16)[:n]
    index[:HEAD] = n, width, group, bits
    parts[0][:], parts[1][:], parts[3][:] = starts, rows, ends
    parts[2][vertices] = np.arange(n, dtype=np.uint32)
    return index, *parts


@njit
def _scan(begin, count, positions, values, ends, low, j):
    """The sum of a sparse block's values whose ranges have column j. positions, values: of all words."""
    found, first, value = np.int64(0), 2 * (begin + 1), (begin + 1 + (count + 1 >> 1)) * (4 // values.itemsize)
    for e in range(count):
        position = np.int64(positions[_U(first + e)])
        if position > j:
            break
        # Always read: a mispredicted branch costs more.
        found += np.int64(values[_U(value + e)]) if j < ends[_U(low + position)] else 0
    return _U(found)


@njit
def _scan_long(words, begin, count, ends, low, j):
    """The same of values of 8 bytes."""
    found = _U(0)
    for e in range(count):
        position = _position(words, begin, e)
        if position > j:
            break
        if j < ends[_U(low + position)]:
            found += _value(words, begin, np.int64(words[_U(begin)]), e)
    return found


@njit
def entry(words, index, s, t):
    """The distance from vertex s to vertex t, as the bits of an entry. index: of `indexed`.

    Raises ValueError where a block that it needs is corrupt.
    """
    n, width, group = np.int64(index[0]), np.int64(index[1]), np.int64(index[2])
    starts = index[HEAD : HEAD + 2 * n + 2].view(np.uint64)
    rows, place = index[HEAD + 2 * n + 2 :], index[HEAD + 3 * n + 2 :]
    ends, checked = index[HEAD + 4 * n + 2 :].view(np.uint16), index[HEAD + 4 * n + 2 + (n + 1) // 2 :]
    blocks = (n + width - 1) // width
    r, c = place[_U(s)], np.int64(place[_U(t)])
    b = c // width
    low, size, j = b * width, min(width, n - b * width), c - b * width
    count, chain = 0, np.empty(group, np.uint32)
    while r != NONE and count < group:
        chain[_U(count)] = r
        count += 1
        r = rows[_U(r)]
    # First where every row's block is and how it begins: loads that need not wait for one another.
    begins, touched, last = np.empty(count, np.int64), _W(0), len(words) - 1
    for k in range(count):
        at = np.int64(starts[_U(chain[_U(k)])])
        begin, end = at + 2 * blocks + (np.int64(words[_U(at + b - 1)]) if b else 0), np.int64(words[_U(at + b)])
        begins[_U(k)] = begin
        touched |= end | words[_U(min(begin, last))] | words[_U(min(at + 2 * blocks + end - 1, last))]
    # No block ends at 0, no chain is longer than a group.
    if touched == _W(0) or r != NONE:
        raise ValueError
    found, signed8, signed16, signed32 = _U(0), words.view(np.int8), words.view(np.int16), words.view(np.int32)
    positions = words.view(np.uint16)
    for k in range(count):
        number, begin = np.int64(chain[_U(k)]) * blocks + b, begins[_U(k)]
        if not checked[_U(number >> 5)] >> _W(number & 31) & _W(1):
            if _block(words, starts, blocks, np.int64(chain[_U(k)]), b, size)[1] == 0:
                raise ValueError
            checked[_U(number >> 5)] |= _W(1) << _W(number & 31)
        header = np.int64(words[_U(begin)])
        if header & 255 == PACKED:
            found += _packed_value(words, begin, header >> 8, j)
        elif header >> 8 & 255 == 0:
            found += _scan(begin, header >> 16, positions, signed8, ends, low, j)
        elif header >> 8 & 255 == 1:
            found += _scan(begin, header >> 16, positions, signed16, ends, low, j)
        elif header >> 8 & 255 == 2:
            found += _scan(begin, header >> 16, positions, signed32, ends, low, j)
        else:
            found += _scan_long(words, begin, header >> 16, ends, low, j)
    return found & _LOW if index[3] == 32 else found


@njit
def corrupt_row(words, starts, rows, n, width, r, b):
    """The first row of those that row r is coded against, r included, whose block b is corrupt; r where none is."""
    first = r
    for _ in range(n):
        if _block(words, starts, (n + width - 1) // width, r, b, min(width, n - b * width))[1] == 0:
            return r
        if rows[r] == NONE:
            break
        r = np.int64(rows[r])
    return first


@njit
def _add_block(words, begin, low, ends, steps, sums):
    """Add a block's differences: steps [size + 1], whose running sum is added to sums [size] at the end."""
    header = np.int64(words[begin])
    if header & 255 == SPARSE:
        for k in range(header >> 16):
            position, value = _position(words, begin, k), _value(words, begin, header, k)
            steps[position] += value
            steps[ends[low + position]] -= value
    else:
        for j in range(len(sums)):
            sums[j] += _packed_value(words, begin, header >> 8, j)


@njit(parallel=True)
def decode(words, starts, rows, ends, vertices, width, places, out, corrupt):
    """The rows of some places, in the order of the vertices, into out; corrupt int64 [rows, 2]: -1, or a row and block
    that is.
    """
    n = len(vertices)
    blocks = (n + width - 1) // width
    for worker in prange(len(places)):
        i = np.int64(worker)
        corrupt[i, 0] = -1
        steps, sums = np.empty(width + 1, np.uint64), np.empty(width, np.uint64)
        for b in range(blocks):
            low, size = b * width, min(width, n - b * width)
            steps[:], sums[:] = 0, 0
            r = np.int64(places[i])
            while corrupt[i, 0] < 0:
                begin, end = _block(words, starts, blocks, r, b, size)
                if end == 0:
                    corrupt[i, 0], corrupt[i, 1] = r, b
                    break
                _add_block(words, begin, low, ends, steps, sums[:size])
                if rows[r] == NONE:
                    break
                r = np.int64(rows[r])
            running = _U(0)
            for j in range(size):
                running += steps[j]
                out[i, vertices[low + j]] = running + sums[j]


@njit(parallel=True)
def decode_group(words, starts, rows, ends, width, first, out, corrupt):
    """The rows of a group, from the place `first` on, in the order of the places, into out [rows, n].

    corrupt int64 [blocks, 2] as for `decode`.
    """
    n = out.shape[1]
    blocks = (n + width - 1) // width
    for worker in prange(blocks):
        b = np.int64(worker)
        low, size = b * width, min(width, n - b * width)
        steps, sums = np.empty(width + 1, np.uint64), np.empty(width, np.uint64)
        corrupt[b, 0] = -1
        for i in range(len(out)):
            begin, end = _block(words, starts, blocks, first + i, b, size)
            if end == 0:
                corrupt[b, 0], corrupt[b, 1] = first + i, b
                break
            steps[:], sums[:] = 0, 0
            _add_block(words, begin, low, ends, steps, sums[:size])
            running, against = _U(0), rows[first + i] != NONE
            above = out[np.int64(rows[first + i]) - first if against else i]
            for j in range(size):
                running += steps[j]
                out[i, low + j] = running + sums[j] + (_U(above[low + j]) if against else _U(0))
