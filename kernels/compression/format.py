"""The head of a stream of `fast`: FORMAT.md says what all of it means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MAGIC = b"saitanC1"
CHUNK = 2048
HEAD = 40
# By code: the type, and the bits below a base.
TYPES = tuple(np.dtype(name) for name in ("float64", "float32", "uint64", "uint32", "int32", "uint16"))
BELOW = (52, 23, 32, 0, 0, 0)
CONSTANT, RAW, PACKED, DIFFERENCES = range(4)
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
    """Type, mantissa bits kept, number of values, length of the stream in bytes."""

    dtype: np.dtype
    kept: int
    count: int
    nbytes: int

    @property
    def code(self) -> int:
        return TYPES.index(self.dtype)

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
        words[8] = CHUNK
        words[9] = checksum(words[:9])
        return words.view(np.uint8)


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
    if len(first) < HEAD:
        raise StreamError(f"{nbytes} bytes are no stream: the head alone has {HEAD}")
    words = np.frombuffer(first[:HEAD].tobytes(), np.uint32)
    if first[:8].tobytes() != MAGIC:
        raise StreamError(f"the stream begins with {first[:8].tobytes()!r}, not {MAGIC!r}")
    if int(words[9]) != checksum(words[:9]):
        raise StreamError("the head's checksum is wrong")
    code, kept = int(words[2]), int(words[3])
    count, length = (int(x) for x in words[4:8].view(np.uint64))
    if code >= len(TYPES) or int(words[8]) != CHUNK:
        raise StreamError(f"type {code} with chunks of {int(words[8]):,} values is of another version")
    head = Head(TYPES[code], kept, count, length)
    if length != nbytes:
        raise StreamError(f"the stream has {nbytes:,} bytes, its head says {length:,}")
    if nbytes < head.payload:
        raise StreamError(f"{nbytes:,} bytes do not hold the table of {head.chunks:,} chunks")
    return head


def damaged(chunk: int, reason: int) -> StreamError:
    return StreamError(f"chunk {chunk:,}: {REASONS[reason]}")
