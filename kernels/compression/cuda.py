"""Host side of the paper's ladder on CUDA (ladder.cu), and what all round trips on a device share."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from saitan.blocks import Blockwise, check_given, chosen
from saitan.compression import ladder
from saitan.compression.data import Instance
from saitan.compression.errors import Errors, combine, counters
from saitan.compression.validate import judge
from saitan.cuda.buffers import Buffers
from saitan.cuda.module import function
from saitan.cuda.timing import Laps
from saitan.problem import Block, Checked, Run

THREADS, FPC_THREADS = 256, 64
# Blocks of the kernels that only stream: eight an SM of the largest device.
STREAMING = 8 * 148


def generate(buffers: Buffers, instance: Instance):
    """The array on the device: generated there, or uploaded."""
    if instance.drawn is None:
        return buffers.upload(instance.host())
    d = instance.drawn
    array = buffers.empty(instance.count, instance.dtype)
    fill = function("compression", "data", "fill", "PiiQqd")
    fill.prepared_call((STREAMING, 1), (THREADS, 1, 1), array.ptr, d.kind, d.qubits, d.key, d.whole, d.fraction)
    return array


class Comparison:
    """Errors of decompressed values on the device."""

    def __init__(self, instance: Instance, kept: int, bound: float) -> None:
        self.instance, self.kept, self.bound = instance, kept, bound
        self._buffers = Buffers(STREAMING * 64, "a comparison")
        self._places = self._buffers.empty((STREAMING, 2), np.int64)
        self._sums = self._buffers.empty((STREAMING, 6), np.float64)

    def __call__(self, source, values) -> Errors:
        i = self.instance
        if not i.count:
            return combine(np.empty((0, 2), np.int64), np.empty((0, 6)))
        outputs = (self._places.ptr, self._sums.ptr)
        arguments = (*outputs, source.ptr, values.ptr, i.count)
        grid, block = (STREAMING, 1), (THREADS, 1, 1)
        if i.dtype.kind == "f":
            about = np.finfo(i.dtype)
            kernel = function("compression", "errors", f"compare_{i.dtype.name}", "PPPPqiidid")
            exact = int(self.kept == about.nmant and not self.bound)
            kernel.prepared_call(grid, block, *arguments, self.kept, exact, float(about.tiny), i.components, self.bound)
        else:
            kernel = function("compression", "errors", "compare_integers", "PPPPqi")
            kernel.prepared_call(grid, block, *arguments, i.dtype.itemsize)
        return combine(self._places.get(), self._sums.get())

    def free(self) -> None:
        self._buffers.free()


class RoundTrip(Blockwise):
    """What the CUDA solvers share: compress, decompress into values that were overwritten before, compare there.

    forecast      bytes that the variant needs beside the array and the decompressed values
    kept, bound   what bounds the error, as `cpu_errors.compare` takes them
    _lossless     whether `validate` refuses a loss: no parameter says that there is one
    """

    _lossless = False
    workspace = 0

    def __init__(self, instance: Instance, kept: int, forecast: int, bound: float = 0.0) -> None:
        self.instance = instance
        self.kept, self.bound = kept, bound
        self.buffers = Buffers(2 * instance.nbytes + forecast, f"a round trip of {instance.nbytes / 2**30:.2f} GiB")
        self.source = generate(self.buffers, instance)
        self.values = self.buffers.empty(instance.count, instance.dtype)
        self.comparison = Comparison(instance, kept, bound)
        self.laps = Laps(3, gated=True)
        self.prepare()
        self.memory = self.buffers.nbytes - self.spare()
        self.transfer = self.buffers.upload_time

    def prepare(self) -> None:
        """Allocate what is needed beside `source` and `values`."""

    def spare(self) -> int:
        """Bytes that only restoring and validation need."""
        return 0

    def restore(self) -> None:
        """Before a run, not timed."""

    def compress(self) -> None:
        """Queue the compression of `source`."""
        raise NotImplementedError

    def decompress(self) -> None:
        """Queue the decompression into `values`."""
        raise NotImplementedError

    def stream_bytes(self) -> int:
        """Length of the last stream."""
        raise NotImplementedError

    def stream(self) -> np.ndarray:
        """The last stream, on the host."""
        raise NotImplementedError

    def run(self, query: int) -> Run:
        i = self.instance
        if not i.count:
            return Run(0.0, 0.0)
        self.restore()
        clear(self.values, 0xA5)
        start = time.perf_counter()
        self.laps.mark()
        self.compress()
        self.laps.mark()
        self.decompress()
        self.laps.mark()
        times = self.laps.seconds()
        total = time.perf_counter() - start
        found = self.comparison(self.source, self.values).metrics(i.components)
        stream = self.stream_bytes()
        measured = counters(i.nbytes, stream, *times, self.workspace, found)
        return Run(sum(times), total, measured, work={"bytes": 2.0 * (i.nbytes + stream)})

    def validate(self) -> Checked:
        mantissa = np.finfo(self.instance.dtype).nmant if self.instance.dtype.kind == "f" else 0
        found = self.comparison(self.source, self.values)
        checked = judge(found, self.kept, self.bound, mantissa, self.instance.count, self._lossless)
        check_given(self, RoundTrip, [Block("values", 0, self.values)])
        return checked

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        yield from chosen("stream", self.stream(), rows)
        yield from chosen("values", self.values.get(), rows)

    def close(self) -> None:
        self.comparison.free()
        self.buffers.free()


def clear(array, byte: int = 0) -> None:
    """Queue setting every byte of a GPUArray."""
    import pycuda.driver as driver

    if array.nbytes:
        driver.memset_d8_async(array.ptr, byte, array.nbytes, None)


class Ladder(RoundTrip):
    """Chunks to work space of the input's size, then to the payload without gaps."""

    code = 1
    name = ""

    def __init__(self, instance: Instance, *, keep_bits: int = 52) -> None:
        self.name = type(self).__name__.lower()
        ladder.doubles_only(instance, self.name)
        self.chunks = ladder.chunks(instance.count)
        self.drop = 52 - keep_bits
        super().__init__(instance, keep_bits, self.needed(instance.nbytes))

    def needed(self, nbytes: int) -> int:
        return 2 * nbytes + self.chunks * 24 + 2**14

    def prepare(self) -> None:
        # Codes are cleared before a short last chunk is found to be stored raw: its place is a whole one.
        self.work = self.buffers.empty(self.chunks * ladder.CHUNK, np.uint64)
        self.lengths = self.buffers.empty(self.chunks, np.uint32)
        self.payload = self.buffers.empty(self.instance.count, np.uint64)
        self.prepare_offsets()
        self.workspace = self.work.nbytes + self.lengths.nbytes + self.status.nbytes
        self._gather = function("compression", "ladder", "gather", "PPPPPPPq")
        self._code = function("compression", "ladder", self.name, "PPPqi" + "i" * self.code)

    def prepare_offsets(self) -> None:
        self.offsets = self.buffers.empty(self.chunks + 1, np.int64)
        clear(self.offsets)
        # The ticket is the last word.
        self.status = self.buffers.empty(self.chunks + 1, np.uint64)
        self.look_back = (self.status.ptr, self.status.ptr + 8 * self.chunks)
        arguments = "PPPqii" if self.code else "PPPqi"
        self._decode = function("compression", "ladder", "decode_first" if self.code else "decode_fpc", arguments)

    def compress(self) -> None:
        count, source = self.instance.count, self.source.ptr
        clear(self.status)
        self._code.prepared_call(*self.shape(), self.work.ptr, self.lengths.ptr, source, count, *self.options())
        outputs = (self.payload.ptr, self.offsets.ptr, *self.look_back)
        inputs = (self.work.ptr, self.lengths.ptr, source, count)
        self._gather.prepared_call((self.chunks, 1), (THREADS, 1, 1), *outputs, *inputs)

    def decompress(self) -> None:
        arrays = (self.values.ptr, self.payload.ptr, self.offsets.ptr)
        self._decode.prepared_call(*self.shape(), *arrays, self.instance.count, *self.options())

    def options(self) -> tuple[int, ...]:
        return (self.drop, self.instance.components) if self.code else (self.drop,)

    def shape(self) -> tuple[tuple[int, int], tuple[int, int, int]]:
        """Grid and block of the coding kernels."""
        return (self.chunks, 1), (THREADS, 1, 1)

    def payload_bytes(self) -> int:
        return int(self.offsets[self.chunks :].get()[0])

    def stream_bytes(self) -> int:
        return ladder.stream_bytes(self.instance.count, self.payload_bytes())

    def stream(self) -> np.ndarray:
        i = self.instance
        # PyCUDA has no memory for an empty array, and cannot cut it.
        payload = self.payload[: self.payload_bytes() // 8].get() if i.count else np.empty(0, np.uint64)
        return ladder.stream(self.code, self.kept, i.components, i.count, self.offsets.get(), payload)


class Fpc(Ladder):
    """FPC, a thread a chunk."""

    code = 0

    def shape(self) -> tuple[tuple[int, int], tuple[int, int, int]]:
        return (-(-self.chunks // FPC_THREADS), 1), (FPC_THREADS, 1, 1)


class C1(Ladder):
    """A value a thread, all against the chunk's first element."""


class C1C2(Ladder):
    """C1, four values a thread, whole words written."""


class C1C2C3(Ladder):
    """C1C2 into the memory of the input, which is copied there anew before every run."""

    def needed(self, nbytes: int) -> int:
        return nbytes + self.chunks * 16 + 2**14

    def prepare(self) -> None:
        self.payload = self.buffers.empty(self.instance.count, np.uint64)
        self.prepare_offsets()
        self.workspace = self.status.nbytes
        self._code = function("compression", "ladder", self.name, "PPPPqii")

    def spare(self) -> int:
        return self.source.nbytes

    def restore(self) -> None:
        import pycuda.driver as driver

        driver.memcpy_dtod_async(self.payload.ptr, self.source.ptr, self.source.nbytes, None)

    def compress(self) -> None:
        clear(self.status)
        arrays = (self.payload.ptr, self.offsets.ptr, *self.look_back)
        self._code.prepared_call(*self.shape(), *arrays, self.instance.count, *self.options())
