"""Host side of `fast` on CUDA: operands packed by a pre-pass, then one product kernel on the packed form (fast.cu)."""

from __future__ import annotations

import time
import warnings
from functools import cache

import numpy as np

from kernels.cuda.buffers import Buffers
from kernels.cuda.module import function
from kernels.problem import Run
from kernels.tropical.device import Laps, divided, fetch_rows, fill
from kernels.tropical.instances import Instance
from kernels.tropical.semiring import SumOverflow, infinity
from kernels.tropical.skipping import occupancy
from kernels.tropical.validate import check

# As in product.cuh and pack.cuh.
LINES, DEPTH, STAGES, LISTED, PACKED_DEPTH = 128, 16, 4, 2048, 64
CHUNK_BYTES = LINES * DEPTH * 4
BLOCK = (256, 1, 1)
SHARED_BYTES = STAGES * 2 * CHUNK_BYTES + LISTED * 2
FINITE = 1
NOT_A_NUMBER, NEGATIVE, OUT_OF_RANGE = 1, 2, 4
REPORT = np.dtype([("found", "u4"), ("largest", "u4", 2), ("changed", "u4"), ("overflown", "u4")])
# A part of the sum costs about as much again as this many chunks: start, fill of the ring, merging.
PART_CHUNKS = 3


class LoopWarning(UserWarning):
    """The operands forced a slower inner loop; the message says why."""


@cache
def _kernel(name: str, arguments: str, shared_bytes: int = 0):
    import pycuda.driver as driver

    prepared = function("tropical", "fast", name, arguments)
    if shared_bytes:
        prepared.set_attribute(driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes)
    return prepared


@cache
def _multiprocessors() -> int:
    import pycuda.driver as driver

    from kernels.cuda import device

    return device().get_attribute(driver.device_attribute.MULTIPROCESSOR_COUNT)


def columns_per_strip(dtype: np.dtype) -> int:
    """Columns of B that a tile of C spans: 128 words."""
    return LINES * 4 // dtype.itemsize


def parts(tiles: int, chunks: int, multiprocessors: int) -> int:
    """Into how many parts to cut the sum so that two blocks a multiprocessor have work, at the least cost."""

    def cost(count: int) -> float:
        blocks = tiles * count
        return divided(blocks, multiprocessors) * divided(chunks, count) + divided(blocks, 2 * multiprocessors) * (
            PART_CHUNKS if count > 1 else 0
        )

    return min(range(1, max(1, min(64, chunks // 2)) + 1), key=cost)


class Packed:
    """One operand in packed form: strips of lines, each of chunks of terms, and what the chunks hold."""

    def __init__(self, buffers: Buffers, lines: int, terms: int, lines_per_strip: int) -> None:
        self.strips, self.chunks = divided(lines, lines_per_strip), divided(terms, DEPTH)
        self.words = buffers.empty(self.strips * self.chunks * LINES * DEPTH, np.uint32)
        self.kinds = buffers.empty((self.strips, self.chunks), np.uint8)

    @staticmethod
    def nbytes(lines: int, terms: int, lines_per_strip: int) -> int:
        return divided(lines, lines_per_strip) * divided(terms, DEPTH) * (CHUNK_BYTES + 1)

    def operand(self, matrix, rows: int, columns: int, pitch: int) -> tuple[int, ...]:
        return self.words.ptr, self.kinds.ptr, matrix, rows, columns, pitch, self.strips

    def finite(self) -> np.ndarray:
        return self.kinds.get() & FINITE != 0


NO_OPERAND = (0, 0, 0, 0, 0, 0, 0)


class Multiplier:
    """The kernels for one number type; all calls are asynchronous and take pointers, pitches in entries.

    signed: floats of either sign, by the loop of plain minima.
    """

    def __init__(self, dtype: np.dtype, report, mirrored: bool = False, signed: bool = False) -> None:
        self.dtype, self.report, self.mirrored = dtype, report, int(mirrored)
        self._pack = _kernel(f"pack_{dtype.name}", "PPPiiiiPPPiiiiPii")
        loop = f"product_{'signed_' if signed else ''}{dtype.name}"
        self._product = _kernel(loop, "PPPPPPiiiiIiii", SHARED_BYTES)
        entry = {"float32": "f", "int32": "i", "uint16": "H"}[dtype.name]
        self._overflow = _kernel(f"overflow_{dtype.name}", f"PPPP{entry}{entry}iiiii")

    def pack(self, a: tuple[int, ...], b: tuple[int, ...], terms: int, skip: bool = True) -> None:
        """Pack up to two operands, (Packed.operand(...) or NO_OPERAND), each with at most `terms` terms."""
        grid = (divided(terms, PACKED_DEPTH), a[-1] + b[-1])
        self._pack.prepared_call(grid, BLOCK, *a, *b, self.report.ptr, self.mirrored, int(skip))

    def parts(self, c: int, m: int, n: int, pitch: int, chunks: int) -> int:
        """Parts of the sum worth having; 1 where two blocks cannot write to the same words."""
        words = self.dtype.itemsize == 4 or (pitch % 2 == 0 and n % 2 == 0 and c % 4 == 0)
        tiles = divided(m, LINES) * divided(n, columns_per_strip(self.dtype))
        return parts(tiles, chunks, _multiprocessors()) if words else 1

    def product(
        self,
        c: int,
        a: Packed,
        b: Packed,
        m: int,
        n: int,
        pitch: int,
        parts: int,
        accumulate: bool,
        watch: bool = False,
    ) -> None:
        """C = A (x) B, or its minimum with C; of several parts C must be there already, infinite or to be kept."""
        tiles = divided(m, LINES) * divided(n, columns_per_strip(self.dtype))
        self._product.prepared_call(
            (tiles, parts),
            BLOCK,
            c,
            a.words.ptr,
            b.words.ptr,
            a.kinds.ptr,
            b.kinds.ptr,
            self.report.ptr,
            m,
            n,
            pitch,
            a.chunks,
            1,
            int(accumulate),
            self.mirrored,
            int(watch),
            shared_size=SHARED_BYTES,
        )

    def check(self, c: int, a: int, b: int, shape: tuple[int, int, int], pitches: tuple[int, int, int]) -> np.void:
        """Read the report of a product. Raises ValueError for what an operand may not hold, SumOverflow."""
        semiring = "max_plus" if self.mirrored else "min_plus"
        infinite = infinity(self.dtype, semiring)
        report = self.report.get().view(REPORT)[0]
        if report["found"] & NOT_A_NUMBER:
            raise ValueError("an operand holds NaN")
        if report["found"] & OUT_OF_RANGE:
            low, high = sorted((-infinite if self.dtype == np.float32 else 0, infinite))
            beyond = f"holds {-infinite}" if self.dtype == np.float32 else f"has an entry outside [{low}, {high}]"
            raise ValueError(f"an operand {beyond}, which {semiring} cannot hold")
        limit = infinity(self.dtype)
        with np.errstate(over="ignore"):
            if self.dtype == np.float32:
                reach = report["largest"].view(np.float32).sum(dtype=np.float32)
            else:
                reach = report["largest"].sum(dtype=np.uint64)
        if reach >= limit:
            m, k, n = shape
            opposite = -infinite if self.dtype == np.float32 else infinite
            self._overflow.prepared_call(
                (m, divided(n, BLOCK[0])), BLOCK, c, a, b, self.report.ptr, infinite, opposite, k, n, *pitches
            )
            if self.report.get().view(REPORT)[0]["overflown"]:
                raise SumOverflow(self.dtype)
        return report


def forecast(m: int, k: int, n: int, dtype: np.dtype) -> int:
    """Bytes of the packed operands and the report."""
    return Packed.nbytes(m, k, LINES) + Packed.nbytes(n, k, columns_per_strip(dtype)) + REPORT.itemsize


class Product:
    """One product of fixed shape, to be run as often as wanted: workspace, kernels and the times of the last run."""

    def __init__(self, buffers: Buffers, shape: tuple[int, int, int], dtype: np.dtype, mirrored: bool) -> None:
        m, k, n = self.shape = shape
        self.dtype, self.mirrored = dtype, mirrored
        self.packed_a = Packed(buffers, m, k, LINES)
        self.packed_b = Packed(buffers, n, k, columns_per_strip(dtype))
        self.report = buffers.empty(REPORT.itemsize // 4, np.uint32)
        self.laps = Laps(3)
        self.packed = False
        self.use_loop(signed=False)

    def use_loop(self, signed: bool) -> None:
        self.signed = signed
        self.multiplier = Multiplier(self.dtype, self.report, self.mirrored, signed)

    def run(self, c, a, b, accumulate: bool = False, skip: bool = True, reuse: bool = False) -> tuple[float, float]:
        """C = A (x) B on contiguous GPUArrays; returns seconds of the pre-pass and of the product.

        Raises ValueError for what an operand may not hold, SumOverflow for a finite sum that reaches infinity.
        """
        m, k, n = self.shape
        fill(self.report, np.uint32(0)) if not (reuse and self.packed) else None
        self.laps.mark()
        if not (reuse and self.packed):
            self.multiplier.pack(self.packed_a.operand(a.ptr, m, k, k), self.packed_b.operand(b.ptr, k, n, n), k, skip)
        self.laps.mark()
        count = self.multiplier.parts(c.ptr, m, n, n, self.packed_a.chunks) if not self.signed else 1
        if count > 1 and not accumulate:
            fill(c, infinity(self.dtype, "max_plus" if self.mirrored else "min_plus"))
        self.multiplier.product(c.ptr, self.packed_a, self.packed_b, m, n, n, count, accumulate)
        self.laps.mark()
        prepass, product = self.laps.seconds()
        report = self.multiplier.check(c.ptr, a.ptr, b.ptr, self.shape, (n, k, n))
        self.packed = True
        if report["found"] & NEGATIVE and not self.signed:
            warnings.warn("entries of either sign: the loop of plain minima is used", LoopWarning, stacklevel=3)
            self.use_loop(signed=True)
            return self.run(c, a, b, accumulate, skip, reuse)
        return prepass, product


class Fast:
    """The fastest product here.

    skip: leave out chunks of 128 x 16 that are all infinite; reuse: the packed operands of the first run;
    loop: "three" (three-input minima where entries allow it) or "plain" (float32 only: one minimum a pair).
    """

    def __init__(self, instance: Instance, *, reuse: bool = False, skip: bool = True, loop: str = "three") -> None:
        if loop not in ("three", "plain") or (loop == "plain" and instance.a.dtype != np.float32):
            raise ValueError(f"loop is {loop!r} (there are: three; for float32 also plain)")
        self.instance, self.reuse, self.skip = instance, reuse, skip
        m, k, n = instance.shape
        dtype = instance.a.dtype
        same = instance.b is instance.a
        raw = instance.a.nbytes + (0 if same else instance.b.nbytes) + m * n * dtype.itemsize
        self.buffers = Buffers(raw + forecast(m, k, n, dtype), f"a {m:,} x {k:,} x {n:,} product")
        self.a = self.buffers.upload(instance.a)
        self.b = self.a if same else self.buffers.upload(instance.b)
        self.c = self.buffers.empty((m, n), dtype)
        self.product = Product(self.buffers, instance.shape, dtype, instance.semiring == "max_plus")
        if loop == "plain":
            self.product.use_loop(signed=True)
        self.memory, self.transfer = self.buffers.nbytes, self.buffers.upload_time
        self._seed = 0

    def run(self, query: int) -> Run:
        self._seed = query
        start = time.perf_counter()
        if not self.instance.pairs:
            fill(self.c, infinity(self.c.dtype, self.instance.semiring))
            return Run(0.0, time.perf_counter() - start)
        prepass, product = self.product.run(self.c, self.a, self.b, skip=self.skip, reuse=self.reuse)
        total = time.perf_counter() - start
        counters = {
            "tops": 2 * self.instance.pairs / (prepass + product) / 1e12,
            "prepass_s": prepass,
            **occupancy(self.product.packed_a.finite(), self.product.packed_b.finite().T),
        }
        return Run(prepass + product, total, counters)

    def validate(self) -> None:
        check(self.instance, lambda rows: fetch_rows(self.c, rows), self._seed)

    def answer(self) -> dict[str, np.ndarray]:
        return {"c": self.c.get()}

    def close(self) -> None:
        self.buffers.free()
