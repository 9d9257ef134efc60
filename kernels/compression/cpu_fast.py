"""`fast` on the CPU: streams of FORMAT.md from and to NumPy arrays."""

from __future__ import annotations

import numpy as np

from saitan.compression import cpu_decode, cpu_encode
from saitan.compression.cpu import RoundTrip
from saitan.compression.data import Instance
from saitan.compression.format import BELOW, CHUNK, HEAD, Head, StreamError, damaged, longest, parse
from saitan.compression.shorten import mantissa_bits


def compress(values: np.ndarray, kept: int, work: np.ndarray | None = None) -> np.ndarray:
    """The stream of a flat array, uint8. kept: mantissa bits, any number for integers.

    work: uint32 [chunks, longest(dtype)] to use; made where absent.
    """
    dtype = values.dtype
    mantissa = mantissa_bits(dtype)
    kept = min(kept, mantissa)
    head = Head(dtype, kept, values.size, 0)
    if work is None:
        work = np.empty((head.chunks, longest(dtype)), np.uint32)
    table = np.zeros(head.chunks + 1, np.int64)
    payload = np.empty(work.size, np.uint32)
    unsigned = values.view(f"u{dtype.itemsize}")
    drop, below = np.uint64(mantissa - kept), np.uint64(BELOW[head.code])
    cpu_encode.encode(unsigned, drop, below, dtype.kind == "f", work, table, payload)
    used = payload[: table[-1]]
    head = Head(dtype, kept, values.size, head.payload + used.nbytes)
    return np.concatenate([head.bytes(), table.view(np.uint8), used.view(np.uint8)])


def parts(stream: np.ndarray) -> tuple[Head, np.ndarray, np.ndarray]:
    """Head, table (int64) and payload (uint32) of a stream, uint8. Raises StreamError."""
    head = parse(stream[:HEAD], len(stream))
    stream = np.require(stream, requirements=["C", "A"])
    if stream.ctypes.data % 8:
        stream = stream.copy()
    table = stream[HEAD : head.payload].view(np.int64)
    if table[0] != 0 or head.payload + 4 * int(table[-1]) != head.nbytes:
        raise StreamError(f"the table runs from {int(table[0])} to {int(table[-1])}, not over the whole stream")
    return head, table, stream[head.payload :].view(np.uint32)


def decompress(stream: np.ndarray, start: int = 0, stop: int | None = None) -> np.ndarray:
    """Values start to stop - 1 of a stream (uint8), flat; only their chunks are read. Raises StreamError."""
    head, table, payload = parts(stream)
    stop = head.count if stop is None else stop
    if not 0 <= start <= stop <= head.count:
        raise ValueError(f"values {start} to {stop} are not in a stream of {head.count:,}")
    first, last = start // CHUNK, -(-stop // CHUNK)
    wrong = np.zeros(max(0, last - first), np.uint8)
    out = np.empty(max(0, min(last * CHUNK, head.count) - first * CHUNK), head.dtype)
    below, size = np.uint64(BELOW[head.code]), head.dtype.itemsize
    unsigned = out.view(f"u{size}")
    cpu_decode.decode(payload, table, first, head.count, below, head.dtype.kind == "f", size, unsigned, wrong)
    if wrong.any():
        chunk = int(np.flatnonzero(wrong)[0])
        raise damaged(first + chunk, int(wrong[chunk]))
    return out[start - first * CHUNK : stop - first * CHUNK]


class Fast(RoundTrip):
    """The project's format."""

    def __init__(self, instance: Instance, *, keep_bits: int = 52) -> None:
        super().__init__(instance, min(keep_bits, mantissa_bits(instance.dtype)))
        shape = -(-instance.count // CHUNK), longest(instance.dtype)
        self.work = np.empty(shape, np.uint32)
        self.memory = self.workspace = self.work.nbytes

    def overwrite(self) -> None:
        self.values = np.empty(0, self.instance.dtype)

    def compress(self) -> None:
        self.stream = compress(self.source, self.kept, self.work)

    def decompress(self) -> None:
        self.values = decompress(self.stream)
