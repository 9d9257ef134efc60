"""Many sources in one sweep on the GPU: host side of sweep.cu."""

from __future__ import annotations

import numpy as np
import pycuda.driver as driver

from saitan.apsp.cuda import CudaSolver
from saitan.apsp.instances import Instance
from saitan.apsp.sweep import CORE, FAR, Climber, Upward, counted, inner_type, longest_path
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.constants import constants
from saitan.cuda.module import function
from saitan.graph import Graph
from saitan.sssp.hierarchy import Hierarchy, contract, in_type
from saitan.sssp.phases import Overflow

_SWEEP = constants("apsp", "sweep.cu")
THREADS, UP_THREADS, TILE = _SWEEP["THREADS"], _SWEEP["UP_THREADS"], _SWEEP["TILE"]
# Sources of a batch: as many as a warp holds at least, and no more than share what a level costs.
MOST = 1024
# Positions reached upwards for which there is room at first.
ROOM = 8192
NO_PLACE = 0xFFFFFFFF


def arc_type(dtype: np.dtype) -> np.dtype:
    """Arc of sweep.cu."""
    return np.dtype([("tail", np.uint32), ("length", dtype)], align=True)


class Sweep:
    """The arrays and kernels of one graph's sweeps, for rows of distances of a type.

    sources: most that are asked for at once. Allocates what `forecast` counts from buffers.
    """

    def __init__(self, graph: Graph, h: Hierarchy, sources: int, dtype: np.dtype, buffers: Buffers) -> None:
        self.n, self.hierarchy, self.dtype, self._buffers = graph.n, h, np.dtype(dtype), buffers
        self.inner = inner_type(h, self.dtype)
        self.batch = self.batch_for(sources, self.inner)
        self.last = int(h.first[-2]) if h.levels else graph.n
        self._climber, self._base = Climber(h), 0
        # Numba loads what the first batch calls, outside the time of a query.
        self._climber.climb(np.zeros(1, np.int64))
        self._place_of_core = -(-h.core // 4) * 4

        arcs = np.empty(len(h.down_tails), arc_type(self.inner))
        arcs["tail"], arcs["length"] = h.down_tails, in_type(h.down_lengths, self.inner)
        table = np.full((max(1, h.core), self._place_of_core), FAR[self.inner])
        table[: h.core, : h.core] = np.minimum(in_type(h.table, self.inner), FAR[self.inner])
        self._arcs, self._table = buffers.upload(arcs), buffers.upload(table)
        self._offsets = buffers.upload(h.down_offsets.astype(np.uint32))
        self._position = buffers.upload(self._climber.position)
        self._slot, self._too_long = buffers.empty(graph.n, np.uint32), buffers.empty(1, np.uint32)
        self._slot.fill(0)
        self._distances = buffers.empty((max(1, self.last), self.batch), self.inner)
        self._above = buffers.empty((min(ROOM, graph.n), self.batch), self.inner)
        self._staging = [_Staging(buffers) for _ in range(2)]

        inner, outer = self.inner.str[1:], self.dtype.str[1:]
        self._up = function("apsp", "sweep", f"up_{inner}", "PIPPPPIIPP").prepared_async_call
        self._core = function("apsp", "sweep", f"core_{inner}", "PIIPIPIP").prepared_async_call
        self._down = function("apsp", "sweep", f"down_{inner}", "IIPPPPIIIP").prepared_async_call
        self._deliver = function("apsp", "sweep", f"deliver_{outer}_{inner}", "IIPPPPPIIIPIPP").prepared_async_call

    @staticmethod
    def batch_for(sources: int, inner: np.dtype) -> int:
        """Sources of a batch: a power of two."""
        least = 32 * 16 // inner.itemsize
        return min(MOST, max(least, 1 << (sources - 1).bit_length()))

    @classmethod
    def forecast(cls, graph: Graph, h: Hierarchy, sources: int, dtype: np.dtype) -> int:
        """Bytes of the arrays."""
        inner = inner_type(h, np.dtype(dtype))
        row = cls.batch_for(sources, inner) * inner.itemsize
        last = int(h.first[-2]) if h.levels else graph.n
        fixed = len(h.down_tails) * arc_type(inner).itemsize + (h.core + 4) ** 2 * inner.itemsize + 12 * graph.n + 8
        return fixed + (max(1, last) + min(ROOM, graph.n)) * row + 2 * _Staging.LEAST

    def rows(self, sources: np.ndarray, answer: int) -> None:
        """Queue the distances from vertices, as rows one after the other from a device address on."""
        for low in range(0, len(sources), self.batch):
            part = sources[low : low + self.batch]
            self._batch(part, answer + low * self.n * self.dtype.itemsize)

    def start(self) -> None:
        """Forget whether a distance was too long."""
        driver.memset_d32_async(pointer(self._too_long), 0, 1, None)

    def too_long(self) -> bool:
        """Whether a distance did not fit the rows' type since `start`. Waits for the device."""
        return bool(self._too_long.get()[0])

    def _batch(self, sources: np.ndarray, answer: int) -> None:
        upward = self._climber.climb(sources)
        self._make_room(len(upward.position))
        self._staging.reverse()
        starts, position, offsets, own, arcs = self._staging[0].upload(upward, self.batch, self.inner)
        h, count, base = self.hierarchy, len(upward.position), self._base
        self._base += count
        lanes = self.batch * self.inner.itemsize // 16
        above, slot, distances = pointer(self._above), pointer(self._slot), pointer(self._distances)
        self._up(
            (self.batch // TILE, 1), (UP_THREADS, 1, 1), None,
            starts, len(upward.starts) - 1, position, offsets, arcs, own, base, lanes, above, slot,
        )  # fmt: skip
        block, entries = (THREADS, 1, 1), upward.core
        self._core(
            (-(-h.core // (THREADS // 32 * _SWEEP["CORE_ROWS"])), lanes // 32), block, None,
            pointer(self._table), h.core, self._place_of_core, position + 4 * entries, count - entries,
            above + 16 * lanes * entries, lanes, distances,
        )  # fmt: skip
        rows = pointer(self._offsets), pointer(self._arcs), above, slot, base, count
        log_lanes = lanes.bit_length() - 1
        for begin, end in zip(h.first[1:-2].tolist(), h.first[2:-1].tolist(), strict=True):
            grid = -(-(end - begin) * lanes // THREADS), 1
            self._down(grid, block, None, begin, end, *rows, log_lanes, distances)
        self._deliver(
            (-(-self.n // TILE), lanes // 32), block, None,
            self.n, self.last, pointer(self._position), *rows, lanes, distances, len(sources), answer,
            pointer(self._too_long),
        )  # fmt: skip

    def _make_room(self, count: int) -> None:
        if count > len(self._above):
            driver.Context.synchronize()
            self._buffers.release(self._above)
            self._above = self._buffers.empty((min(self.n, 2 * count), self.batch), self.inner)
        if self._base + count >= 2**32:
            # The places of earlier batches must not be taken for those of a later one.
            self._slot.fill(0)
            self._base = 0
        if self._base == 0:
            # 0 is what the slots hold at first: no place.
            self._base = self.n


class Swept(CudaSolver):
    """A hierarchy that the constructor builds on the host, and sweeps down it for many sources at once.

    core: most vertices left uncontracted, where no hierarchy is given. Raises Unavailable for weights that are no
    integers and for graphs too dense to contract.
    """

    def __init__(self, instance: Instance, hierarchy: Hierarchy | None = None, *, core: int = CORE) -> None:
        self.hierarchy = hierarchy or contract(instance.graph, core)
        super().__init__(instance)

    @property
    def longest(self) -> float:
        """No sum is longer."""
        return longest_path(self.hierarchy)

    def work_forecast(self, dtype: np.dtype) -> int:
        return Sweep.forecast(self.graph, self.hierarchy, self.rows, dtype)

    def prepare_work(self) -> None:
        self.sweep = Sweep(self.graph, self.hierarchy, self.rows, self.dtype, self._own)

    def fill(self, first: int, count: int) -> dict[str, float]:
        self.sweep.start()
        self.sweep.rows(np.arange(first, first + count), self.address(0))
        if self.sweep.too_long():
            raise Overflow
        return counted(self.hierarchy, count, min(count, self.sweep.batch))


class _Staging:
    """Page-locked and device memory through which a batch's arrays reach the device, while the other batch is swept."""

    LEAST = 1 << 20

    def __init__(self, buffers: Buffers) -> None:
        self._buffers, self._done = buffers, driver.Event()
        self._take(self.LEAST)

    def _take(self, size: int) -> None:
        self._host = driver.pagelocked_empty(size, np.uint8)
        self._device = self._buffers.empty(size, np.uint8)

    def upload(self, upward: Upward, batch: int, inner: np.dtype) -> list[int]:
        """The device addresses of starts, position, offsets, own and arcs."""
        own = np.full(batch, NO_PLACE, np.uint32)
        own[: len(upward.own)] = upward.own
        arcs = np.empty(len(upward.tails), arc_type(inner))
        arcs["tail"], arcs["length"] = upward.tails, upward.lengths
        arrays = upward.starts, upward.position, upward.offsets, own, arcs
        places = np.concatenate([[0], np.cumsum([-(-x.nbytes // 16) * 16 for x in arrays])]).tolist()
        self._done.synchronize()
        if places[-1] > len(self._host):
            driver.Context.synchronize()
            self._buffers.release(self._device)
            self._take(2 * places[-1])
        for array, place in zip(arrays, places, strict=False):
            self._host[place : place + array.nbytes] = array.view(np.uint8)
        driver.memcpy_htod_async(self._device.gpudata, self._host[: places[-1]], None)
        self._done.record()
        return [pointer(self._device) + place for place in places[:-1]]
