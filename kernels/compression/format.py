"""The head of a stream of `fast`: FORMAT.md says what all of it means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MAGIC = b"saitanC2"
CHUNK = 2048
HEAD = 56
# By code: the type, and the bits below a base.
TYPES = tuple(np.dtype(name) for name in ("float64", "float32", "uint64", "uint32", "int32", "uint16"))
BELOW = (52, 23, 32, 0, 0, 0)
CONSTANT, RAW, PACKED, DIFFERENCES, DIGITS, NEIGHBOUR, ROW = range(7)
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

    bound: the largest absolute error, 0 where none is set.
    """

    dtype: np.dtype
    kept: int
    count: int
    nbytes: int
    row: int = 0
    bound: float = 0.0

    @property
    def code(self) -> int:
        return TYPES.index(self.dtype)

    @property
    def levels(self) -> bool:
        """Whether chunks hold whole numbers of 32 bits: integers, and floats within an absolute bound."""
        return self.bound > 0 or (self.dtype.kind != "f" and self.dtype.itemsize <= 4)

    @property
    def chunks(self) -> int:
        return -(-self.count // CHUNK)

    @property
    def payload(self) -> int:
        """Where the chunks begin, in bytes."""
        return HEAD + 8 * (self.chunks + 1)

    def bytes(self) -> np.ndarray:
        """The head, uint8 [HEAD]."""
        words = np.zeros(HEAD // 4, np.uint32)
        words[:2] = np.frombuffer(MAGIC, np.uint32)
        words[2:4] = self.code, self.kept
        words[4:8].view(np.uint64)[:] = self.count, self.nbytes
        words[8:10] = CHUNK, self.row
        words[10:12].view(np.float64)[:] = self.bound
        words[13] = checksum(words[:13])
        return words.view(np.uint8)


def checked_bound(dtype: np.dtype, kept: int, bound: float | None) -> float:
    """The bound, 0.0 for none. Raises ValueError for one that does not go with the type or with kept mantissa bits."""
    if bound is None:
        return 0.0
    if not (0 < bound < np.inf):
        raise ValueError(f"bound must be greater than 0 and finite, not {bound!r}")
    if dtype.kind != "f":
        raise ValueError(f"bound goes with floats: {dtype} is kept to the bit")
    if kept != 52:
        raise ValueError("bound and keep_bits exclude each other")
    return float(bound)


def short_row(shape: tuple[int, ...]) -> int:
    """The values of a row of an array where a chunk can hold more than one, otherwise 0."""
    return shape[-1] if len(shape) > 1 and 1 < shape[-1] < CHUNK else 0


def longest(dtype: np.dtype) -> int:
    """Words of the longest chunk: a raw one."""
    return 2 + CHUNK * dtype.itemsize // 4


def checksum(words: np.ndarray, chunk: int = 2**32 - 1) -> int:
    """FORMAT.md's checksum, of words that do not include one."""

    def mix(x: np.ndarray) -> np.ndarray:
        x = x * np.uint32(0x85EBCA77)
        x ^= x >> np.uint32(15)
        x = x * np.uint32(0xC2B2AE3D)
        return x ^ (x >> np.uint32(13))

    places = np.arange(1, len(words) + 1, dtype=np.uint32) * np.uint32(0x9E3779B1)
    total = int(mix(words ^ places).sum(dtype=np.uint64)) + int(mix(np.array([chunk], np.uint32))[0])
    return total % 2**32


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
    row, bound = int(words[9]), float(words[10:12].view(np.float64)[0])
    if not (0 <= bound < np.inf) or (bound and TYPES[code].kind != "f") or row >= CHUNK:
        raise StreamError(f"a bound of {bound:g} and rows of {row:,} values do not go with {TYPES[code]}")
    head = Head(TYPES[code], kept, count, length, row, bound)
    if length != nbytes:
        raise StreamError(f"the stream has {nbytes:,} bytes, its head says {length:,}")
    if nbytes < head.payload:
        raise StreamError(f"{nbytes:,} bytes do not hold the table of {head.chunks:,} chunks")
    return head


def damaged(chunk: int, reason: int) -> StreamError:
    return StreamError(f"chunk {chunk:,}: {REASONS[reason]}")
