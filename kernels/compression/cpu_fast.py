"""`fast` on the CPU: streams of FORMAT.md from and to NumPy arrays."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from saitan.compression import cpu_decode, cpu_encode, cpu_levels
from saitan.compression.cpu import RoundTrip
from saitan.compression.data import Instance
from saitan.compression.format import (
    CHUNK,
    HEAD,
    SECTION,
    Head,
    StreamError,
    checked_bound,
    damaged,
    longest,
    loose_end,
    parse,
)
from saitan.compression.shorten import mantissa_bits
from saitan.graph_input import as_compiled
from saitan.memory import check_room

# Chunks that are compressed or decompressed at a time: of doubles 64 MiB.
STEP = 4096
# Bytes of arrays for which no look at the memory that is left is taken: it lasts a quarter of a millisecond.
LITTLE = 1 << 24


def _check_room(needed: int, values: int, dtype: np.dtype) -> None:
    """Raise Unavailable where memory has no room for what so many values of an array, unless a small one, need."""
    if values * dtype.itemsize >= LITTLE:
        check_room(needed, f"an array of {values:,} values and its stream")


def _work(head: Head) -> np.ndarray:
    """What `compress` takes as `work`. Raises Unavailable where memory has no room for it."""
    shape = min(head.chunks, STEP), longest(head.dtype)
    _check_room(4 * prod(shape), head.count, head.dtype)
    return np.empty(shape, np.uint32)


def compress(
    values: np.ndarray, kept: int, row: int = 0, bound: float = 0.0, pairs: bool = False, work=None, progress=None
) -> np.ndarray:
    """The stream of a flat array, uint8. Raises Unavailable where memory has no room for it.

    kept: mantissa bits, any number for integers; row, bound, pairs: as in format.Head.
    work: uint32 [chunks, or STEP of them, longest(dtype)] to use; made where absent.
    progress: called with the values done, now and then.
    """
    values = as_compiled(values)
    dtype = values.dtype
    mantissa = mantissa_bits(dtype)
    head = Head.of(dtype, min(kept, mantissa), values.size, row, bound, pairs)
    if work is None:
        work = _work(head)
    # In whole sections and words of 64 bits.
    every = np.zeros((head.sections, SECTION), np.int64)
    unsigned, content, signed = values.view(f"u{dtype.itemsize}"), values.view(np.uint8), dtype.kind == "i"
    closed = []
    for first in range(0, head.chunks, STEP):
        last = min(first + STEP, head.chunks)
        lengths = every.reshape(-1)[first:last]
        if head.levels:
            extent = (first, bound, head.row, head.bands)
            cpu_levels.encode(content, signed, dtype.itemsize, *extent, work, lengths)
        else:
            some = unsigned[first * CHUNK : last * CHUNK]
            below = np.uint64(mantissa)
            cpu_encode.encode(some, first, below - np.uint64(head.kept), below, head.pairs, work, lengths)
        places = np.concatenate([[0], np.cumsum(lengths)])
        # All parts are copied into one at the end.
        _check_room(8 * int(places[-1]) + sum(part.nbytes for part in closed), values.size, dtype)
        closed.append(np.empty(places[-1], np.uint32))
        cpu_encode.close_up(work, places, closed[-1])
        if progress:
            progress(last * values.size // head.chunks)
    sections = np.concatenate([[0], np.cumsum(every.sum(axis=1))])
    head = replace(head, nbytes=head.payload + 4 * int(sections[-1]))
    short = every.reshape(-1)[: -(-head.chunks // 4) * 4].astype(np.uint16)
    return np.concatenate([part.view(np.uint8) for part in (head.bytes(), sections, short, *closed)])


def parts(stream: np.ndarray) -> tuple[Head, np.ndarray, np.ndarray, np.ndarray]:
    """Head, sections (int64) and lengths (uint16) of the table, payload (uint32) of a stream, uint8.

    Raises StreamError.
    """
    head = parse(stream[:HEAD], len(stream))
    stream = as_compiled(np.require(stream, requirements=["C", "A"]))
    if stream.ctypes.data % 8:
        stream = stream.copy()
    middle = HEAD + 8 * (head.sections + 1)
    sections = stream[HEAD:middle].view(np.int64)
    if sections[0] != 0 or head.payload + 4 * int(sections[-1]) != head.nbytes:
        raise StreamError(f"the table runs from {int(sections[0])} to {int(sections[-1])}, not over the whole stream")
    lengths = stream[middle : head.payload].view(np.uint16)
    if lengths[head.chunks :].any():
        raise loose_end()
    return head, sections, lengths[: head.chunks], stream[head.payload :].view(np.uint32)


def places(sections: np.ndarray, lengths: np.ndarray, words: int, first: int, last: int) -> np.ndarray:
    """Where chunks first to last - 1 begin and end, int64 [chunks, 2]; -1 for those whose place is off.

    words: of the payload. A chunk of no words has no checksum either: its section must end where the next begins.
    """
    low, high = first // SECTION, -(-last // SECTION)
    some = lengths[low * SECTION : high * SECTION].astype(np.int64)
    some = np.concatenate([some, np.zeros((high - low) * SECTION - some.size, np.int64)]).reshape(-1, SECTION)
    after = sections[low:high, None] + np.cumsum(some, axis=1)
    before = after - some
    loose = after[:, -1:] != sections[low + 1 : high + 1, None]
    out = np.stack([before, after], axis=-1)
    # Not by what lies after it, which may have wrapped around.
    out[(before < 0) | (before > words - some) | (some == 0) & loose] = -1
    return out.reshape(-1, 2)[first - low * SECTION : last - low * SECTION]


def decompress(stream: np.ndarray, start: int = 0, stop: int | None = None) -> np.ndarray:
    """Values start to stop - 1 of a stream (uint8), flat; only their chunks are read.

    Raises StreamError, Unavailable where memory has no room for them.
    """
    head, sections, lengths, payload = parts(stream)
    stop = head.count if stop is None else stop
    if not 0 <= start <= stop <= head.count:
        raise ValueError(f"values {start} to {stop} are not in a stream of {head.count:,}")
    first, last, begin, end = head.covering(start, stop)
    wrong = np.zeros(last - first, np.uint8)
    where = places(sections, lengths, len(payload), first, last)
    size = head.dtype.itemsize
    _check_room((end - begin) * size, end - begin, head.dtype)
    out = np.empty(end - begin, head.dtype)
    if head.levels:
        extent = (first, begin, head.count, head.row, head.bands, 2 * head.bound)
        cpu_decode.decode_levels(payload, where, *extent, size, out.view(np.uint8), wrong)
    else:
        below = np.uint64(mantissa_bits(head.dtype))
        cpu_decode.decode(payload, where, first, head.count, below, head.pairs, size, out.view(f"u{size}"), wrong)
    if wrong.any():
        chunk = int(np.flatnonzero(wrong)[0])
        raise damaged(first + chunk, int(wrong[chunk]))
    return out[start - begin : stop - begin]


class Fast(RoundTrip):
    """The project's format."""

    def __init__(self, instance: Instance, *, keep_bits: int = 52, bound: float | None = None) -> None:
        bound = checked_bound(instance.dtype, keep_bits, bound)
        super().__init__(instance, min(keep_bits, mantissa_bits(instance.dtype)), bound)
        self.work = _work(Head.of(instance.dtype, self.kept, instance.count, instance.row, bound, False))
        self.memory = self.workspace = self.work.nbytes

    def overwrite(self) -> None:
        self.values, self.stream = np.empty(0, self.instance.dtype), np.empty(0, np.uint8)

    def compress(self) -> None:
        i = self.instance
        self.stream = compress(self.source, self.kept, i.row, self.bound, i.components == 2, self.work)

    def decompress(self) -> None:
        self.values = decompress(self.stream)
