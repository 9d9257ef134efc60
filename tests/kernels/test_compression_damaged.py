"""Streams of `fast` that are damaged, foreign, or break a rule of the format: each ends in an error that says where."""

import os
from dataclasses import replace

import numpy as np
import pytest
from test_compression import mixed
from test_compression_fast import same, some

from saitan import compression
from saitan.compression import cpu_decode
from saitan.compression.cpu_fast import parts, places
from saitan.compression.data import TYPES
from saitan.compression.format import CHUNK, HEAD, Head, StreamError, checksum


def chunk_places(stream: np.ndarray) -> np.ndarray:
    """Where each chunk begins and ends in the payload, in words."""
    head, sections, lengths, payload = parts(stream)
    return places(sections, lengths, len(payload), 0, head.chunks)


def rehead(stream: np.ndarray) -> None:
    words = stream[:HEAD].view(np.uint32)
    words[13] = checksum(words[:13])


def test_foreign_and_cut_off_streams_are_named():
    stream = compression.compress(mixed(3 * CHUNK, 5))
    for cut in (0, 7, HEAD - 1):
        with pytest.raises(StreamError, match=f"{cut} bytes are no stream"):
            compression.decompress(stream[:cut])
    for cut in (HEAD, HEAD + 16, len(stream) - 1):
        with pytest.raises(StreamError, match="its head says"):
            compression.decompress(stream[:cut])
    with pytest.raises(StreamError, match="begins with b'PAR1"):
        compression.decompress(b"PAR1" + bytes(100))
    with pytest.raises(StreamError, match="its head says"):
        compression.decompress(np.append(stream, np.uint8(0)))
    for byte, message in ((8, "type 200"), (32, "another version"), (22, "do not hold the table")):
        wrong = stream.copy()
        wrong[byte] = 200
        with pytest.raises(StreamError, match="head's checksum"):
            compression.decompress(wrong)
        rehead(wrong)
        with pytest.raises(StreamError, match=message):
            compression.decompress(wrong)
    wrong = stream.copy()
    wrong[HEAD + 8] ^= 1
    with pytest.raises(StreamError, match="the table runs from 0 to"):
        compression.decompress(wrong)


def test_parts_that_do_not_go_with_the_values_are_refused():
    a = np.ones(9, np.complex64)
    for given_array, bound, wrong in ((a, None, 2), (a, 0.1, 1), (np.arange(9), None, 1)):
        stream = compression.compress(given_array, bound=bound)
        stream[48] = wrong
        rehead(stream)
        with pytest.raises(StreamError, match="for alternating parts does not go with"):
            compression.decompress(stream)


def hide_chunks(put) -> None:
    """A chunk of zeros has no checksum: another's words left out are seen where only that chunk is read.

    put: brings a stream to the decoder under test.
    """
    a = np.arange(70.0 * CHUNK)
    a[5 * CHUNK : 6 * CHUNK] = a[40 * CHUNK : 50 * CHUNK] = 0
    stream = compression.compress(a)
    head, _, lengths, _ = parts(stream)
    at = HEAD + 8 * (head.sections + 1)
    for chunk in (0, 4, 6, 39, 69):
        wrong = stream.copy()
        wrong[at:].view(np.uint16)[chunk] = 0
        with pytest.raises(StreamError, match=f"chunk {chunk}: its place"):
            compression.decompress(put(wrong), chunk * CHUNK, (chunk + 1) * CHUNK)
    assert lengths[5] == 0 and same(compression.decompress(stream), a)
    wrong = stream.copy()
    wrong[at:].view(np.uint16)[head.chunks] = 1
    with pytest.raises(StreamError, match="what fills up the table"):
        compression.decompress(put(wrong))


def test_a_chunk_without_words_cannot_hide_another():
    hide_chunks(lambda stream: stream)


def test_chunks_that_changed_places_are_seen():
    a = np.repeat([1.5, 2.5], CHUNK)
    stream = compression.compress(a)
    chunks = stream[HEAD + 24 :].reshape(2, -1)
    chunks[:] = chunks[::-1].copy()
    with pytest.raises(StreamError, match="chunk 0: its checksum is wrong"):
        compression.decompress(stream)


def test_every_bit_of_chunks_and_table_is_guarded():
    """Each of them flipped alone: a table entry ends in a place, length or checksum that is off, all else likewise."""
    a = np.concatenate([mixed(CHUNK + 9, 1), np.zeros(CHUNK), np.arange(40.0)])
    stream = compression.compress(a)
    rng = np.random.default_rng(2)
    guarded = np.arange(8 * HEAD, 8 * len(stream))
    for bit in rng.choice(guarded, 1000, replace=False):
        wrong = stream.copy()
        wrong[bit >> 3] ^= np.uint8(1 << (bit & 7))
        with pytest.raises(StreamError):
            compression.decompress(wrong)


def one_chunk(dtype: str, count: int, words: list[int], row: int = 0, bound: float = 0.0) -> np.ndarray:
    """A stream of one chunk, whose checksum is mended."""
    chunk = np.array(words, np.uint32)
    chunk[1] = checksum(np.where(np.arange(len(chunk)) == 1, 0, chunk).astype(np.uint32), 0)
    lengths = np.array([len(chunk), 0, 0, 0], np.uint16)
    head = Head(np.dtype(dtype), 0, count, 0, row, bound)
    head = replace(head, nbytes=head.payload + chunk.nbytes)
    parts_of_it = (head.bytes(), np.array([0, len(chunk)], np.int64), lengths, chunk)
    return np.concatenate([part.view(np.uint8) for part in parts_of_it])


def packed(first: int, *heads: int, words: int) -> list[int]:
    """A packed chunk of two groups: the first word beside the mode, the heads, all bits zero."""
    return [2 | first, 0, 0, 0, heads[0] | heads[1] << 16, *[0] * words]


def whole(mode: int, a: int, b: int, *words: int) -> list[int]:
    """A chunk of levels with base 0."""
    return [mode | a << 8 | b << 16, 0, 0, *words]


# One of a kind that is right, and beside it what breaks one rule of FORMAT.md each: type, values, words, row, bound.
RIGHT = [
    ("float32", 64, packed(0, 30, 9, words=41)),
    ("float32", 64, packed(23 << 16 | 23 << 8, 31, 0x80 | 9, words=41)),
    ("float64", 64, packed(52 << 16 | 52 << 8, 63, 0x80 | 60, words=124)),
    ("float32", 1, [0, 0, 5, 0]),
    ("float32", 1, [1, 0, 5]),
    ("int32", 32, whole(5, 0, 0, 0)),
    ("int32", 32, whole(5, 30, 0, *[0] * 31)),
    ("float64", 32, whole(5, 32, 0, *[0] * 33), 0, 0.5),
    ("int64", 32, whole(5, 0, 7, 0, 64 | 10 << 7, *[0] * 37)),
    ("int32", 32, whole(6, 0, 0, 0), 16),
    ("int32", 32, whole(4, 0, 1, 0)),
    ("float64", 32, whole(4, 31, 1, *[0] * 32), 0, 0.5),
    ("int32", 32, whole(4, 0, 255, *[0] * 9)),
    ("uint8", 32, [1, 0, *[7] * 8]),
    ("float64", 4, whole(4, 0, 1, 1, 3, 7, 0), 0, 0.5),
]
WRONG = [
    *(("float32", 64, packed(1 << bit, 30, 9, words=41)) for bit in (3, 7, 14, 15, 24, 31)),
    ("float32", 64, [3, *packed(0, 30, 9, words=41)[1:]]),
    ("float32", 64, packed(24 << 16, 30, 9, words=41)),
    ("float32", 64, packed(4 << 16 | 5 << 8, 30, 9, words=41)),
    ("float64", 64, packed(31 << 16, 30, 9, words=41)),
    ("float64", 64, packed(53 << 16, 30, 9, words=41)),
    ("float32", 64, packed(0, 32, 7, words=41)),
    ("float32", 64, packed(0, 0x80 | 32, 8, words=41)),
    ("float32", 64, packed(0, 30, 9, words=40)),
    ("float32", 64, packed(0, 30, 9, words=42)),
    ("float64", CHUNK, [2 | 52 << 16, 0, 0, 0]),
    ("float32", 1, [0x100, 0, 5, 0]),
    ("float32", 1, [0x101, 0, 5]),
    ("float32", 1, [0, 0, 5]),
    *(("int32", 32, [5 | 1 << bit, 0, 0, 0]) for bit in (3, 7, 15, 24, 31)),
    *(("int32", 32, [mode, 0, 0, 0]) for mode in (0, 2, 3, 7)),
    ("int32", 32, whole(5, 0, 0, 1)),
    ("int32", 32, whole(5, 0, 0, 1, 3, 7)),
    ("int32", 32, whole(5, 31, 0, *[0] * 32)),
    ("float64", 32, whole(5, 33, 0, *[0] * 34), 0, 0.5),
    ("int64", 32, whole(5, 0, 7, 0, 65 | 9 << 7, *[0] * 37)),
    ("float64", 32, whole(5, 32, 1, 0, 1, *[0] * 32), 0, 0.5),
    ("int32", 32, whole(5, 0, 8, 0, 0)),
    ("int32", CHUNK, whole(5, 0, 7, 0)),
    ("int32", 32, whole(6, 0, 0, 0)),
    ("int32", 32, whole(6, 0, 0, 0), 32),
    ("int32", 32, whole(4, 0, 0, *[0] * 9)),
    ("int32", 32, whole(4, 0, 257, *[0] * 9)),
    ("float64", 32, whole(4, 32, 1, *[0] * 33), 0, 0.5),
    ("uint8", 32, [0x101, 0, *[7] * 8]),
    ("float64", 4, whole(4, 0, 1, 1, 4, 7, 0), 0, 0.5),
    ("float64", 4, whole(4, 0, 1, 5, *[0] * 15), 0, 0.5),
]


def refuse_chunks(put) -> None:
    """Chunks that break a rule are refused though their checksums are right; their like that break none are read."""
    for dtype, count, words, *more in RIGHT:
        found = compression.decompress(put(one_chunk(dtype, count, words, *more)))
        assert (found.dtype, found.size) == (np.dtype(dtype), count)
    for dtype, count, words, *more in WRONG:
        with pytest.raises(StreamError, match="chunk 0: its"):
            compression.decompress(put(one_chunk(dtype, count, words, *more)))


def test_chunks_that_break_a_rule_are_refused():
    refuse_chunks(lambda stream: stream)


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_nothing_beyond_a_chunk_is_read(case):
    """As Python, which sees an index that is off: each chunk, cut off at every word, is refused from what it has."""
    dtype, count, words, *more = WRONG[case]
    row, bound = (*more, 0, 0.0)[:2]
    size = np.dtype(dtype).itemsize
    out = np.zeros(count * size, np.uint8)
    levels = bound > 0 or np.dtype(dtype).kind != "f"
    for length in range(1, min(len(words), 40)):
        cut = np.array(words[:length], np.uint32)
        if levels:
            wide = dtype == "int64"
            reason = cpu_decode._level_chunk.py_func(cut, 0, count, row, wide, 2 * bound, size, out)
        else:
            below = np.uint64(52 if dtype == "float64" else 23)
            reason = cpu_decode._chunk.py_func(cut, 0, count, below, False, size, out.view(f"u{size}"))
        assert reason


def test_heads_that_break_a_rule_are_refused():
    stream = compression.compress(np.arange(40_000, dtype=np.int32))
    head, floats = parts(stream)[0], compression.compress(np.arange(64.0))

    def refused(match: str, stream: np.ndarray = stream, **changes) -> None:
        other = stream.copy()
        other[:HEAD] = replace(parts(stream)[0], **changes).bytes()
        with pytest.raises(StreamError, match=match):
            compression.decompress(other)

    for changes in ({"row": 3}, {"row": 2**31, "count": 2**31}, {"bound": 0.5}):
        refused("do not go with", **changes)
    for bound in (-0.5, np.inf, np.nan):
        refused("do not go with", floats, bound=bound)
    refused("do not go with", floats, row=32)
    short = stream[: head.payload - 8].copy()
    short[:HEAD] = replace(head, nbytes=len(short)).bytes()
    with pytest.raises(StreamError, match="do not hold the table of 20 chunks"):
        compression.decompress(short)
    other = stream.copy()
    other[8:12].view(np.uint32)[0] = len(TYPES)
    rehead(other)
    with pytest.raises(StreamError, match=f"type {len(TYPES)} .* of another version"):
        compression.decompress(other)


def test_tables_that_lead_elsewhere_are_refused():
    """Sections that begin before the payload, or end behind it."""
    stream = compression.compress(np.arange(70.0 * CHUNK))
    sections = slice(HEAD, HEAD + 8 * 4)
    other = stream.copy()
    other[sections].view(np.int64)[0] = 1
    with pytest.raises(StreamError, match="the table runs from 1 to"):
        compression.decompress(other)
    for begin in (-1, -(2**63), 2**62, 2**63 - 1, 2**63 - 2, len(stream) // 4):
        other = stream.copy()
        other[sections].view(np.int64)[1] = begin
        with pytest.raises(StreamError, match="chunk 32: its place"):
            compression.decompress(other, 32 * CHUNK, 33 * CHUNK)


# First words of chunks and heads of groups, right and wrong ones.
HEADS = [
    *(0, 1, 2, 3, 0xFFFFFFFF, 0x00400040, 0x0302, 4, 0xFF0704, 0x062005, 0x6, 0x030106, 0xFF3F04, 0x074005),
    *(0x340002, 0x200002, 0x1F0002, 0x170002, 0x343402, 0x350002, 0x00BF00BF, 0xFF80FFC0, 0xFF7F003F),
]


def mutations(stream: np.ndarray, count: int):
    """Streams with wrong bytes, several at a time, and whether one must be refused or give what the right one gives.

    Half have the checksum of the head mended, so that what lies behind it is reached. Half have a word of a chunk drawn
    from HEADS and its checksum mended: these decode to something, and must neither crash nor read beyond their words.
    """
    rng = np.random.default_rng(11)
    head = parts(stream)[0]
    where = chunk_places(stream)
    for trial in range(count):
        wrong = stream.copy()
        for _ in range(rng.integers(1, 4)):
            wrong[rng.integers(len(wrong)) if trial & 1 else rng.integers(HEAD + 120)] = rng.integers(256)
        if trial & 2:
            rehead(wrong)
        if trial & 4:
            chunk = rng.choice(np.flatnonzero(where[:, 1] > where[:, 0]))
            low, high = head.payload + 4 * where[chunk]
            words = wrong[low:high].view(np.uint32)
            words[rng.integers(min(len(words), 40))] = rng.choice(HEADS)
            words[1] = 0
            words[1] = checksum(words, int(chunk))
        yield wrong, not trial & 6


MUTATED = [("float64", None), ("float32", None), ("int64", None), ("uint16", None), ("int8", None), ("float64", 0.1)]


@pytest.mark.parametrize(("dtype", "bound"), MUTATED)
def test_mutated_streams_end_in_an_error_or_the_values(dtype, bound):
    """2,000 a type, or SAITAN_MUTATIONS; 20000 of them are 120,000 in all."""
    a = some(dtype, 2 * CHUNK + 70, 7)
    stream = compression.compress(a, bound=bound)
    a = compression.decompress(stream)
    for wrong, guarded in mutations(stream, int(os.environ.get("SAITAN_MUTATIONS", 2_000))):
        try:
            values = compression.decompress(wrong)
        except StreamError:
            continue
        assert not guarded or same(values, a)
