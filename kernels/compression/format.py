"""The head of a stream of `fast`: FORMAT.md says what all of it means."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from saitan.graph_input import shown

MAGIC = b"saitanC4"
CHUNK = 2048
HEAD = 56
# Chunks of a section of the table.
SECTION = 32
# A tile of an array whose rows are longer than a chunk: rows, and values of a row.
TILE = 32, 64
# By code.
TYPES = tuple(
    np.dtype(name)
    for name in (
        *("float64", "float32", "uint64", "uint32", "int32", "uint16"),
        *("int64", "uint8", "int16", "int8"),
    )
)
RAW, PACKED, DIGITS, NEIGHBOUR, ROW = 1, 2, 4, 5, 6
# What is wrong with a chunk, as the decoders number it.
REASONS = (
    "",
    "its place in the table is off",
    "its mode or shift is unknown",
    "its length is off",
    "its checksum is wrong",
)


class StreamError(ValueError):
    """A stream that cannot be decoded: one line that says why, with the chunk where it is one."""


@dataclass(frozen=True)
class Head:
    """Type, mantissa bits kept, number of values, length of the stream in bytes, values of a row (0: one dimension).

    bound: the largest absolute error, 0 where none is set. pairs: whether groups of floats hold every other value.
    """

    dtype: np.dtype
    kept: int
    count: int
    nbytes: int
    row: int = 0
    bound: float = 0.0
    pairs: bool = False

    @classmethod
    def of(cls, dtype: np.dtype, kept: int, count: int, row: int, bound: float, pairs: bool) -> Head:
        """Of a stream to be written: the length is not known yet, rows go with levels and pairs with all else."""
        head = cls(dtype, kept, count, 0, row, bound)
        return head if head.levels else replace(head, row=0, pairs=pairs)

    @property
    def code(self) -> int:
        return TYPES.index(self.dtype)

    @property
    def levels(self) -> bool:
        """Whether chunks hold whole numbers: integers, and floats within an absolute bound."""
        return self.bound > 0 or self.dtype.kind != "f"

    @property
    def bands(self) -> int:
        """Times 32 rows that are cut in tiles."""
        return self.count // self.row // TILE[0] if self.row >= CHUNK else 0

    @property
    def across(self) -> int:
        """Tiles of a band."""
        return -(-self.row // TILE[1])

    @property
    def chunks(self) -> int:
        tiled = self.bands * TILE[0] * self.row
        return self.bands * self.across + -(-(self.count - tiled) // CHUNK)

    @property
    def sections(self) -> int:
        return -(-self.chunks // SECTION)

    @property
    def longest(self) -> int:
        """Bytes of the longest stream of so many values: all chunks raw."""
        return self.payload + self.count * self.dtype.itemsize + 16 * self.chunks

    def covering(self, start: int, stop: int) -> tuple[int, int, int, int]:
        """The chunks that hold values start to stop - 1, and the values of these: each the first and the one after the
        last. Of tiles they are whole bands."""
        tiled, band = self.bands * TILE[0] * self.row, TILE[0] * self.row

        def whole(value: int, up: bool) -> tuple[int, int]:
            step, origin, chunk, each = (
                (band, 0, 0, self.across) if value < tiled else (CHUNK, tiled, self.bands * self.across, 1)
            )
            pieces = -(-(value - origin) // step) if up else (value - origin) // step
            return chunk + pieces * each, min(origin + pieces * step, self.count)

        (first, begin), (last, end) = whole(start, False), whole(stop, True)
        return first, last, begin, end

    @property
    def payload(self) -> int:
        """Where the chunks begin, in bytes."""
        return HEAD + 8 * (self.sections + 1) + 8 * -(-self.chunks // 4)

    def bytes(self) -> np.ndarray:
        """The head, uint8 [HEAD]."""
        words = np.zeros(HEAD // 4, np.uint32)
        words[:2] = np.frombuffer(MAGIC, np.uint32)
        words[2:4] = self.code, self.kept
        words[4:8].view(np.uint64)[:] = self.count, self.nbytes
        words[8:10] = CHUNK, self.row
        words[10:12].view(np.float64)[:] = self.bound
        words[12] = self.pairs
        words[13] = checksum(words[:13])
        return words.view(np.uint8)


def floats_only(dtype: np.dtype, kept: int, bound: float | None) -> str | None:
    """Why a type does not go with the mantissa bits kept, or a bound; None where it does."""
    loses = "keep_bits" if kept != 52 else "bound" if bound is not None else None
    return f"{loses} goes with floats: {dtype} is kept to the bit" if loses and dtype.kind != "f" else None


def checked_bound(dtype: np.dtype, kept: int, bound: float | None) -> float:
    """The bound, 0.0 for none. Raises ValueError where it is off, and where it or `kept`, the mantissa bits kept, does
    not go with the type.
    """
    if reason := floats_only(dtype, kept, None):
        raise ValueError(reason)
    if bound is None:
        return 0.0
    try:
        number = 0.0 if isinstance(bound, bool) or not isinstance(bound, Real) else float(bound)
    except OverflowError:
        number = math.inf
    if not 0 < number < math.inf:
        raise ValueError(f"bound must be greater than 0 and finite, not {shown(bound)}")
    if reason := floats_only(dtype, kept, bound):
        raise ValueError(reason)
    return number


def chunk_row(shape: tuple[int, ...]) -> int:
    """The values of a row of an array where a chunk can hold some of more than one, otherwise 0."""
    if len(shape) < 2 or shape[-1] < 2:
        return 0
    rows = int(np.prod(shape[:-1], dtype=np.int64))
    return shape[-1] if shape[-1] < CHUNK or (rows >= TILE[0] and shape[-1] < 2**31) else 0


def longest(dtype: np.dtype) -> int:
    """Words of the longest chunk: a raw one."""
    return 2 + CHUNK * dtype.itemsize // 4


def checksum(words: np.ndarray, chunk: int = 2**32 - 1) -> int:
    """FORMAT.md's checksum, of words that do not include one."""
    factors = (2 * np.arange(len(words), dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B1) & np.uint64(2**32 - 1)
    total = int((words * factors).sum(dtype=np.uint64)) + (chunk + 1) * 0xD6E8FEB86659FD93
    total %= 2**64
    return (total ^ total >> 32) * 0xBF58476D1CE4E5B9 % 2**64 >> 32


def parse(first: np.ndarray, nbytes: int) -> Head:
    """The head of a stream whose first bytes (HEAD of them, fewer if there are none) and length are given.

    Raises StreamError.
    """
    if len(first) >= len(MAGIC) and first[:8].tobytes() != MAGIC:
        raise StreamError(f"the stream begins with {first[:8].tobytes()!r}, not {MAGIC!r}")
    if len(first) < HEAD:
        raise StreamError(f"{nbytes} bytes are no stream: the head alone has {HEAD}")
    words = np.frombuffer(first[:HEAD].tobytes(), np.uint32)
    if int(words[13]) != checksum(words[:13]):
        raise StreamError("the head's checksum is wrong")
    code, kept = int(words[2]), int(words[3])
    count, length = (int(x) for x in words[4:8].view(np.uint64))
    if code >= len(TYPES) or int(words[8]) != CHUNK:
        raise StreamError(f"type {code} with chunks of {int(words[8]):,} values is of another version")
    row, bound, pairs = int(words[9]), float(words[10:12].view(np.float64)[0]), int(words[12])
    head = Head(TYPES[code], kept, count, length, row, bound, pairs == 1)
    rows_fit = row == 0 or (head.levels and row < 2**31 and count % row == 0)
    if pairs > 1 - head.levels:
        raise StreamError(f"{pairs:,} for alternating parts does not go with {TYPES[code]} and a bound of {bound:g}")
    if not (0 <= bound < np.inf) or (bound and TYPES[code].kind != "f") or not rows_fit:
        raise StreamError(f"a bound of {bound:g} and rows of {row:,} values do not go with {count:,} of {TYPES[code]}")
    if length != nbytes:
        raise StreamError(f"the stream has {nbytes:,} bytes, its head says {length:,}")
    if nbytes < head.payload:
        raise StreamError(f"{nbytes:,} bytes do not hold the table of {head.chunks:,} chunks")
    return head


def loose_end() -> StreamError:
    return StreamError("what fills up the table is not 0")


def damaged(chunk: int, reason: int) -> StreamError:
    return StreamError(f"chunk {chunk:,}: {REASONS[reason]}")
