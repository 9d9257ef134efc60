"""The GPU variants of paper O: host side of batched.cu and floyd_warshall.cu.

Returns distances of the weights' type, or 64 bits wide once a sum did not fit, in one matrix on the device. The host
launches the two kernels of every phase, waits, and reads one small status record back, as the paper's does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pycuda.driver as driver

from saitan.apsp.batches import Tasks, counters, run_batches, widening
from saitan.apsp.cuda_validate import DeviceCertificate
from saitan.apsp.instances import Instance
from saitan.apsp.validate import CERTIFIED
from saitan.blocks import Blockwise, check_given
from saitan.cuda import device
from saitan.cuda.buffers import GIB, Buffers, pointer
from saitan.cuda.module import function
from saitan.cuda.timing import Laps
from saitan.problem import Block, Checked, Run, Unavailable
from saitan.sssp.cuda_graph import DeviceGraph
from saitan.sssp.phases import Overflow

BLOCK = 256
# Bytes of page-locked memory through which a matrix goes to the host.
SLAB = 1 << 26
# The record that batched.cu calls status.
CHANGED, OVERFLOW = 0, 1


class DeviceRows(Blockwise):
    """An answer as rows of a matrix on the device: its certificate and its way to the host.

    A subclass sets matrix (a GPUArray [rows, n]), dtype (of its distances), and in `run` the first source, its row of
    the matrix and the number of rows.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance, self.graph = instance, instance.graph
        self.dtype = instance.dtype
        self.certificate = DeviceCertificate(self.graph)
        self._slab = None
        self.first = self.row = self.sources = 0

    def address(self, row: int) -> int:
        """Where a row of the matrix begins on the device."""
        return pointer(self.matrix) + row * self.instance.n * self.dtype.itemsize

    def validate(self) -> Checked:
        """The certificate, on the device. Raises Invalid."""
        self.certificate.check_device(self.first, self.address(self.row), self.sources, self.dtype)
        check_given(self, DeviceRows, DeviceRows.blocks(self))
        return CERTIFIED

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        """The last answer through one page-locked slab that every block reuses."""
        n = self.instance.n
        most = max(1, SLAB // (n * self.dtype.itemsize))
        if self._slab is None or self._slab.dtype != self.dtype:
            self._slab = driver.pagelocked_empty((min(most, self.rows), n), self.dtype)
        if rows is None:
            spans = [(low, min(len(self._slab), self.sources - low)) for low in range(0, self.sources, len(self._slab))]
        else:
            spans = [(int(row), 1) for row in rows]
        for low, count in spans:
            driver.memcpy_dtoh(self._slab[:count], self.address(self.row + low))
            yield Block("distances", low, self._slab[:count])

    def close(self) -> None:
        self.certificate.free()


class CudaSolver(DeviceRows):
    """What the variants of this problem's own share: the graph and the matrix [rows, n] on the device.

    A subclass says in `rows` how many rows it keeps and in `work_forecast` what else it allocates, allocates that in
    `prepare_work`, and writes the matrix in `fill`. Raises Unavailable, before any upload, when it does not fit.
    """

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self._check_fits(self.graph.weights.dtype)
        self.laps = Laps()
        self.buffers = Buffers(DeviceGraph.forecast(self.graph), f"graph {self.graph.name}")
        self.device_graph = DeviceGraph(self.graph, self.buffers)
        self.transfer = self.buffers.upload_time
        self._own: Buffers | None = None
        self._allocate(self.graph.weights.dtype)

    # Whether fewer sources take less memory.
    ranged = True

    @property
    def rows(self) -> int:
        return self.instance.sources

    def work_forecast(self, dtype: np.dtype) -> int:
        """Bytes beside the graph and the matrix."""
        raise NotImplementedError

    def prepare_work(self) -> None:
        """Allocate what `work_forecast` counts in self._own, for distances of self.dtype."""
        raise NotImplementedError

    def fill(self, first: int, count: int) -> dict[str, float] | Callable[[], dict[str, float]]:
        """Answer a range of sources from self.row on. Returns counters, or what reads them when the time is taken.

        Either raises Overflow.
        """
        raise NotImplementedError

    def _check_fits(self, dtype: np.dtype) -> None:
        """Raise Unavailable with the forecast and what would work, where the matrix does not fit."""
        device()
        line, (free, total) = self.graph.n * dtype.itemsize, driver.mem_get_info()
        fixed = DeviceGraph.forecast(self.graph) + self.work_forecast(dtype)
        if (needed := fixed + self.rows * line) <= free:
            return
        fitting = max(0, free - fixed) // line if self.ranged else 0
        advice = f"; {fitting:,} sources fit" if fitting else ""
        if self.ranged and self.instance.answer == "matrix":
            advice += "; `answer: slabs` (apsp.slabs) takes all of them, some at a time"
        raise Unavailable(
            f"the distances from {self.rows:,} sources of graph {self.graph.name} ({self.graph.n:,} vertices) need "
            f"{needed / GIB:.2f} GiB of GPU memory, {free / GIB:.2f} GiB of {total / GIB:.2f} GiB are free{advice}"
        )

    def _allocate(self, dtype: np.dtype) -> None:
        if self._own is not None:
            driver.Context.synchronize()
            self._own.free()
            self._check_fits(dtype)
        self.dtype = np.dtype(dtype)
        forecast = self.rows * self.graph.n * self.dtype.itemsize + self.work_forecast(self.dtype)
        self._own = Buffers(forecast, f"the distances of graph {self.graph.name}")
        self.matrix = self._own.empty((self.rows, self.graph.n), self.dtype)
        self.prepare_work()

    @property
    def memory(self) -> int:
        return self.buffers.nbytes + self._own.nbytes

    @property
    def work_bytes(self) -> int:
        return self.memory - self.matrix.nbytes

    def run(self, query: list[int]) -> Run:
        """Answer one range of sources, and copy the rows to the host."""
        begin = time.perf_counter()
        run = self.produce(query)
        for _ in self.blocks():
            pass
        return replace(run, total=time.perf_counter() - begin)

    def produce(self, query: list[int]) -> Run:
        """Answer one range of sources; the rows stay on the device."""
        first, count = self.instance.range_of(query)
        begin = time.perf_counter()

        def attempt(dtype: np.dtype) -> dict[str, float]:
            if dtype != self.dtype:
                self._allocate(dtype)
            with self.laps:
                counted = self.fill(first, count)
            return counted() if callable(counted) else counted

        counted = widening(attempt, self.dtype)
        self.first, self.sources = first, count
        seconds = sum(self.laps.seconds())
        counted |= counters(self.instance, count, seconds, self.dtype, self.work_bytes)
        bytes_written = count * self.graph.n * self.dtype.itemsize
        work, total = {"bytes": bytes_written}, time.perf_counter() - begin
        return Run(seconds, total, counted, work=work, disturbed=self.laps.disturbed)

    @property
    def longest(self) -> float:
        """No sum is longer."""
        return self.instance.longest

    def slab(self):
        """The rows of the last answer, a GPUArray [sources, n]."""
        return self.matrix[self.row : self.row + self.sources]

    def close(self) -> None:
        self.buffers.free()
        self._own.free()
        super().close()


class Engine:
    """The arrays and kernels of paper O on the device (batches.Engine); launches are bound to their arguments."""

    def __init__(self, solver: CudaSolver, buffers: Buffers, tasks: int, shared: bool) -> None:
        graph, dtype = solver.device_graph, solver.dtype
        n, self.tasks, shift = graph.n, tasks, tasks.bit_length() - 1
        cost, updated = (pointer(buffers.empty(n * tasks, dtype)) for _ in range(2))
        mask, self._status = pointer(buffers.empty(n * tasks, np.uint8)), pointer(buffers.empty(2, np.uint32))
        self.status = driver.pagelocked_empty(2, np.uint32)
        everywhere, by_vertex, block = (max(1, -(-n * tasks // BLOCK)), 1), -(-n // BLOCK), (BLOCK, 1, 1)

        def kernel(name: str, arguments: str):
            return function("apsp", "batched", f"{name}_{graph.suffix(dtype)}", arguments).prepared_async_call

        relax = kernel("relax_shared" if shared else "relax_unshared", "iiPPPPPPP")
        self._relax = partial(
            relax, everywhere, block, None, n, shift, *graph.arcs(), mask, cost, updated, self._status
        )
        self._update = partial(
            kernel("update", "iiPPPP"), everywhere, block, None, n, shift, mask, cost, updated, self._status
        )
        self._start = partial(
            kernel("start", "iiPPPPii"), everywhere, block, None, n, shift, cost, updated, mask, self._status
        )
        deliver = kernel("deliver", "iiPPi")
        self.deliver = lambda row, count: deliver(
            (by_vertex, -(-count // 8)), block, None, n, shift, cost, solver.address(row), count
        )

    @staticmethod
    def forecast(n: int, tasks: int, dtype: np.dtype) -> int:
        """Bytes of the arrays."""
        return n * tasks * (2 * np.dtype(dtype).itemsize + 1) + 8

    def start(self, first: int, count: int) -> None:
        self._start(first, count)

    def relax(self) -> None:
        self._relax()

    def update(self) -> bool:
        self._update()
        driver.memcpy_dtoh(self.status, self._status)
        if self.status[OVERFLOW]:
            raise Overflow
        return bool(self.status[CHANGED])


class Phased(Tasks, CudaSolver):
    """Paper O's loop on the GPU."""

    def __init__(self, instance: Instance, tasks: int = 1) -> None:
        self.tasks = tasks
        super().__init__(instance)

    def work_forecast(self, dtype: np.dtype) -> int:
        return Engine.forecast(self.graph.n, self.tasks, dtype)

    def prepare_work(self) -> None:
        self.engine = Engine(self, self._own, self.tasks, self.shared)

    def fill(self, first: int, count: int) -> dict[str, float]:
        return self.batch_counters(self.instance, count, run_batches(self.engine, first, count))


class Iterated(Phased):
    """Harish and Narayanan's method: one source at a time, a thread per vertex."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)


class Batched(Phased):
    """Paper O's proposal: a thread per (vertex, task), arcs staged in shared memory."""

    shared = True

    def __init__(self, instance: Instance, *, tasks: int = 32) -> None:
        super().__init__(instance, tasks)


class BatchedUnshared(Phased):
    """The same, arcs read by every thread from device memory."""

    def __init__(self, instance: Instance, *, tasks: int = 32) -> None:
        super().__init__(instance, tasks)


class FloydWarshall(CudaSolver):
    """Paper O's Floyd-Warshall: the whole matrix, whatever the range of sources."""

    ranged = False

    @property
    def rows(self) -> int:
        return self.graph.n

    def work_forecast(self, dtype: np.dtype) -> int:
        return 4

    def prepare_work(self) -> None:
        self.overflow = self._own.empty(1, np.uint32)
        suffix = self.device_graph.suffix(self.dtype)
        self._arcs = function("apsp", "floyd_warshall", f"arcs_{suffix}", "iPPPPP").prepared_async_call
        self._through = function("apsp", "floyd_warshall", f"through_{suffix}", "iiPP").prepared_async_call

    def fill(self, first: int, count: int) -> dict[str, float]:
        n, matrix, overflow = self.graph.n, pointer(self.matrix), pointer(self.overflow)
        grid, block = (n, 1), (BLOCK, 1, 1)
        driver.memset_d32(overflow, 0, 1)
        self._arcs(grid, block, None, n, *self.device_graph.arcs(), matrix, overflow)
        for k in range(n):
            self._through(grid, block, None, n, k, matrix, overflow)
        if self.overflow.get()[0]:
            raise Overflow
        self.row = first
        return {}
