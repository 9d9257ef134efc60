"""`fast` on CUDA (encode.cu, decode.cu): streams of FORMAT.md from and to arrays on the device.

The device writes table and chunks in one pass; the host writes the head when it knows the length. Queued work uses the
default stream.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from saitan.compression.cuda import RoundTrip, clear
from saitan.compression.data import Instance
from saitan.compression.format import HEAD, Head, StreamError, checked_bound, chunk_row, damaged, loose_end, parse
from saitan.compression.shorten import mantissa_bits
from saitan.cuda import device
from saitan.cuda.buffers import allocated
from saitan.cuda.module import function
from saitan.problem import Invalid

_BLOCK = (256, 1, 1)
# Threads of a block of decode.cu.
_DECODERS = (128, 1, 1)


def _encoders(dtype: np.dtype) -> int:
    """Chunks of a block of encode.cu (PARTS), 64 threads each."""
    return 2 if dtype.itemsize == 8 else 4


def _kernel(name: str, head: Head, arguments: str):
    # The sign makes a difference only where a short integer becomes a level.
    kind = head.dtype.name
    if head.dtype.kind == "i" and (name == "decode" or head.dtype.itemsize >= 4):
        kind = "u" + kind
    stem = f"{name}_levels" if head.levels else name
    return function("compression", stem, f"{stem}_{kind}", arguments)


# Of the arguments: where sections begin, the words of chunks, how many chunks.
_TABLE = "PPI"


def _table(head: Head, stream: int) -> tuple[int, int, int]:
    """The table of the stream at an address, as kernels take it."""
    return stream + HEAD, stream + HEAD + 8 * (head.sections + 1), head.chunks


class Encoder:
    """Compresses arrays of one type and up to a length into streams.

    Of the worst case's size: `stream` uint8, whose first `nbytes` are the stream after `finish`; `status` is the work
    space, 8 bytes a block.
    """

    def __init__(self, dtype: np.dtype, count: int, kept: int, row: int, bound: float, pairs: bool, empty) -> None:
        """row, bound, pairs: as in Head; empty(count, dtype): makes a GPUArray."""
        mantissa = mantissa_bits(dtype)
        self.head = Head.of(dtype, min(kept, mantissa), count, row, bound, pairs)
        self.stream = empty(self.head.longest, np.uint8)
        if self.head.levels:
            self._blocks, self._threads = self.head.chunks, _BLOCK
            self._options = (row, self.head.bands, bound)
        else:
            each = _encoders(dtype)
            self._blocks, self._threads = -(-self.head.chunks // each), (64 * each, 1, 1)
            self._options = (mantissa - self.head.kept, int(pairs))
        self.status = empty(self._blocks + 1, np.uint64)
        self._encode = _kernel("encode", self.head, f"P{_TABLE}PPPqiid" if self.head.levels else f"P{_TABLE}PPPqii")
        self.nbytes = 0

    def queue(self, source: int) -> None:
        """Compress the array at an address."""
        stream, status = self.stream.ptr, self.status.ptr
        clear(self.status)
        if self._blocks:
            outputs = (stream + self.head.payload, *_table(self.head, stream), status, status + 8 * self._blocks)
            self._encode.prepared_call(
                (self._blocks, 1), self._threads, *outputs, source, self.head.count, *self._options
            )

    def finish(self) -> None:
        """Wait, and write the head."""
        import pycuda.driver as driver

        end = np.zeros(1, np.int64)
        if self.head.chunks:
            driver.memcpy_dtoh(end, self.stream.ptr + HEAD + 8 * self.head.sections)
        else:
            driver.memcpy_htod(self.stream.ptr + HEAD, end)
        self.nbytes = self.head.payload + 4 * int(end[0])
        driver.memcpy_htod(self.stream.ptr, replace(self.head, nbytes=self.nbytes).bytes())


def queue_decoding(head: Head, stream: int, first: int, chunks: int, origin: int, out: int, wrong) -> None:
    """Decode chunks first, first + 1, ... of the stream at an address to `out`; wrong: a GPUArray of one uint64.

    origin: the first value of the first chunk.
    """
    clear(wrong, 0xFF)
    if chunks:
        words = (head.nbytes - head.payload) // 4
        inputs = (stream + head.payload, *_table(head, stream), head.count, words, first)
        options = (head.row, head.bands, origin, 2 * head.bound) if head.levels else (int(head.pairs),)
        kernel = _kernel("decode", head, f"PPP{_TABLE}qqqiiqd" if head.levels else f"PPP{_TABLE}qqqi")
        kernel.prepared_call((chunks, 1), _BLOCK if head.levels else _DECODERS, out, wrong.ptr, *inputs, *options)


def refuse(wrong) -> None:
    """Wait; raises StreamError if a chunk was noted in `wrong`."""
    found = int(wrong.get()[0])
    if found != 2**64 - 1:
        raise damaged(found >> 3, found & 7)


class Fast(RoundTrip):
    """The project's format."""

    def __init__(self, instance: Instance, *, keep_bits: int = 52, bound: float | None = None) -> None:
        bound = checked_bound(instance.dtype, keep_bits, bound)
        kept = min(keep_bits, mantissa_bits(instance.dtype))
        # The stream at its longest, and 8 bytes a block.
        head = Head.of(instance.dtype, kept, instance.count, instance.row, bound, False)
        super().__init__(instance, kept, head.longest + 8 * head.chunks + 2**14, bound)

    def prepare(self) -> None:
        i = self.instance
        self.encoder = Encoder(i.dtype, i.count, self.kept, i.row, self.bound, i.components == 2, self.buffers.empty)
        self.wrong = self.buffers.empty(1, np.uint64)
        self.workspace = self.encoder.status.nbytes

    def compress(self) -> None:
        self.encoder.queue(self.source.ptr)

    def decompress(self) -> None:
        # Its length is not known yet: the whole buffer bounds what is read.
        head = self.encoder.head
        bound = replace(head, nbytes=self.encoder.stream.nbytes)
        queue_decoding(bound, self.encoder.stream.ptr, 0, head.chunks, 0, self.values.ptr, self.wrong)

    def stream_bytes(self) -> int:
        self.encoder.finish()
        try:
            refuse(self.wrong)
        except StreamError as error:
            raise Invalid(str(error)) from None
        return self.encoder.nbytes

    def stream(self) -> np.ndarray:
        self.encoder.finish()
        return self.encoder.stream[: self.encoder.nbytes].get()


def _array_of(array) -> tuple[int, tuple[int, ...], np.dtype]:
    """Address, shape and type of a contiguous device array. Waits for its library's stream. Raises ValueError."""
    import pycuda.driver as driver

    device()
    about = array.__cuda_array_interface__
    shape, dtype = tuple(about["shape"]), np.dtype(about["typestr"])
    strides, step = about.get("strides"), dtype.itemsize
    for length, stride in reversed(list(zip(shape, strides or (), strict=False))):
        if length > 1 and stride != step:
            raise ValueError(
                f"an array of shape {shape} with strides of {strides} bytes is not contiguous: copy it first"
            )
        step *= length
    if about.get("stream") not in (None, 1):
        driver.Context.synchronize()
    return int(about["data"][0] or 0), shape, dtype


def compress(array, kept: int, bound: float | None = None):
    """The stream of a device array as a GPUArray of uint8."""
    import pycuda.driver as driver

    address, shape, dtype = _array_of(array)
    pairs = dtype.kind == "c"
    if pairs:
        dtype = np.dtype(f"f{dtype.itemsize // 2}")
        shape = (*shape[:-1], 2 * shape[-1]) if shape else (2,)
    # What a thread reads at once.
    piece = min(16, 8 * dtype.itemsize) if dtype.itemsize < 4 else 2 * dtype.itemsize
    if address % piece:
        raise ValueError(f"the array begins at an address that is no multiple of {piece}: copy it first")
    bound = checked_bound(dtype, kept, bound)
    count, room = int(np.prod(shape, dtype=np.int64)), partial(allocated, what="compressing the array")
    encoder = Encoder(dtype, count, kept, chunk_row(shape), bound, pairs, room)
    encoder.queue(address)
    encoder.finish()
    # A copy of its length: the worst case's memory is given back.
    stream = room(encoder.nbytes, np.uint8)
    driver.memcpy_dtod(stream.gpudata, encoder.stream.gpudata, encoder.nbytes)
    return stream


def decompress(stream, start: int, stop: int | None):
    """Values of a stream on the device as a GPUArray. Raises StreamError."""
    import pycuda.driver as driver

    address, shape, dtype = _array_of(stream)
    if dtype.itemsize != 1 or len(shape) != 1 or address % 8:
        raise ValueError(f"a stream is a flat array of bytes at a multiple of 8, not {dtype} {shape}")
    first = np.empty(min(HEAD, shape[0]), np.uint8)
    if len(first):
        driver.memcpy_dtoh(first, address)
    head = parse(first, shape[0])
    ends = np.empty(2, np.int64)
    driver.memcpy_dtoh(ends[:1], address + HEAD)
    driver.memcpy_dtoh(ends[1:], address + HEAD + 8 * head.sections)
    last = np.zeros(4, np.uint16)
    if head.chunks:
        driver.memcpy_dtoh(last, address + head.payload - 8)
    if last[(head.chunks - 1) % 4 + 1 :].any():
        raise loose_end()
    if ends[0] != 0 or head.payload + 4 * int(ends[1]) != head.nbytes:
        raise StreamError(f"the table runs from {ends[0]} to {ends[1]}, not over the whole stream")
    stop = head.count if stop is None else stop
    if not 0 <= start <= stop <= head.count:
        raise ValueError(f"values {start} to {stop} are not in a stream of {head.count:,}")
    low, high, begin, end = head.covering(start, stop)
    what = f"decompressing {end - begin:,} values"
    out, wrong = allocated(end - begin, head.dtype, what), allocated(1, np.uint64, what)
    queue_decoding(head, address, low, high - low, begin, out.ptr if out.size else 0, wrong)
    refuse(wrong)
    return out[start - begin : stop - begin] if out.size else out
