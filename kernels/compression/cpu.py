"""The paper's ladder on the CPU (Numba): twins of the CUDA kernels, whose streams they equal byte for byte."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from saitan.blocks import Blockwise, check_given, check_output, chosen
from saitan.compression import cpu_ladder, ladder
from saitan.compression.cpu_errors import compare
from saitan.compression.data import Instance
from saitan.compression.errors import Errors, counters
from saitan.compression.validate import judge
from saitan.memory import check_room
from saitan.problem import Block, Checked, Invalid, Run


class RoundTrip(Blockwise):
    """What the CPU solvers share: compress, decompress into values that were overwritten before, compare.

    kept, bound  what bounds the error, as `cpu_errors.compare` takes them
    _lossless    whether `validate` refuses a loss: no parameter says that there is one
    """

    _lossless = False
    transfer = 0.0
    memory = 0
    workspace = 0

    def __init__(self, instance: Instance, kept: int, bound: float = 0.0) -> None:
        self.instance = instance
        self.kept, self.bound = kept, bound
        self.source = instance.host()
        check_room(instance.nbytes, f"what {instance.count:,} values come back as")
        self.values = np.empty(instance.count, instance.dtype)
        self.stream = np.empty(0, np.uint8)

    def restore(self) -> None:
        """Before a run, not timed."""

    def overwrite(self) -> None:
        """Before a run, not timed: a value that is then not written is seen to be wrong."""
        self.values.view(np.uint8)[:] = 0xA5

    def compress(self) -> None:
        raise NotImplementedError

    def decompress(self) -> None:
        raise NotImplementedError

    def run(self, query: int) -> Run:
        self.restore()
        self.overwrite()
        start = time.perf_counter()
        self.compress()
        middle = time.perf_counter()
        self.decompress()
        end = time.perf_counter()
        times = middle - start, end - middle
        found = self.errors().metrics(self.instance.components)
        measured = counters(self.instance.nbytes, self.stream_bytes(), *times, self.workspace, found)
        return Run(
            end - start, end - start, measured, work={"bytes": 2.0 * (self.instance.nbytes + self.stream_bytes())}
        )

    def stream_bytes(self) -> int:
        return len(self.stream)

    def errors(self) -> Errors:
        return compare(self.source, self.values, self.kept, self.bound, self.instance.components)

    def validate(self) -> Checked:
        # The ratio counts its entries.
        check_output("stream", self.stream, (None,), np.uint8)
        if np.may_share_memory(self.values, self.source):
            raise Invalid("the values lie where the array does, and not where a stream was decompressed to")
        mantissa = np.finfo(self.source.dtype).nmant if self.source.dtype.kind == "f" else 0
        checked = judge(self.errors(), self.kept, self.bound, mantissa, self.instance.count, self._lossless)
        check_given(self, RoundTrip, [Block("values", 0, self.values)])
        return checked

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        yield from chosen("stream", self.stream, rows)
        yield from chosen("values", self.values, rows)

    def close(self) -> None:
        self.values = self.stream = self.source = None


class Ladder(RoundTrip):
    """Chunks into work space, then into the payload."""

    code = 1
    way = cpu_ladder.WORDS

    def __init__(self, instance: Instance, *, keep_bits: int = 52) -> None:
        ladder.doubles_only(instance, type(self).__name__.lower())
        super().__init__(instance, keep_bits)
        self.drop = np.uint64(52 - keep_bits)
        self.offsets = np.zeros(ladder.chunks(instance.count) + 1, np.int64)
        self.prepare()

    def prepare(self) -> None:
        self.work = np.empty((len(self.offsets) - 1, ladder.LONGEST), np.uint64)
        self.payload = np.empty(self.instance.count, np.uint64)
        self.workspace = self.work.nbytes
        self.memory = self.work.nbytes + self.payload.nbytes + self.offsets.nbytes

    def compress(self) -> None:
        bits = self.source.view(np.uint64)
        components = self.instance.components
        cpu_ladder.compress(self.way, bits, self.drop, components, self.work, self.payload, self.offsets)

    def decompress(self) -> None:
        out = self.values.view(np.uint64)
        cpu_ladder.decompress(self.code, self.drop, self.instance.components, self.payload, self.offsets, out)

    def stream_bytes(self) -> int:
        return ladder.stream_bytes(self.instance.count, int(self.offsets[-1]))

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        i = self.instance
        payload = self.payload[: self.offsets[-1] >> 3]
        self.stream = ladder.stream(self.code, self.kept, i.components, i.count, self.offsets, payload)
        yield from super().blocks(rows)


class Fpc(Ladder):
    """FPC, chunks side by side."""

    code = 0
    way = cpu_ladder.FPC


class C1(Ladder):
    """Every value against the chunk's first element."""

    way = cpu_ladder.BYTES


class C1C2(Ladder):
    """C1, residuals written as a whole."""


class C1C2C3(Ladder):
    """C1C2 in the memory of the input, which is a copy made anew before every run."""

    def prepare(self) -> None:
        self.payload = np.empty(self.instance.count, np.uint64)
        self.memory = self.payload.nbytes + self.offsets.nbytes

    def restore(self) -> None:
        self.payload[:] = self.source.view(np.uint64)

    def compress(self) -> None:
        cpu_ladder.compress_in_place(self.way, self.payload, self.drop, self.instance.components, self.offsets)
