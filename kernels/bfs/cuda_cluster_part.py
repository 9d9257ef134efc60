"""What paper H's cluster has on a GPU (cuda_cluster.py): a part's sets, found parents and slice; the blocks' steps."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pycuda.driver as driver

from saitan.bfs import cluster_code
from saitan.bfs.cluster import Part
from saitan.bfs.cluster_blocks import Block
from saitan.bfs.cluster_blocks import Rows as HostRows
from saitan.bfs.cuda_step import DeviceStep, Rows, blocks, launch, offset_dtype
from saitan.bfs.partition import Partition
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.module import function
from saitan.cuda.nccl import Nccl
from saitan.exchange import Exchange

EXCHANGED = np.dtype([(name, np.uint64) for name in ("found", "leaving", "moved")])
SENT, AWAITED = range(2)  # as in cluster.cu


class DevicePart(Part):
    """Bitmaps, found parents and the slice on the device. `attach` gives it memory.

    answer: levels and parents of the slice, GPUArrays.
    """

    def __init__(self, number: int, partition: Partition, members: Exchange, compress: bool) -> None:
        super().__init__(number, partition, members)
        self._gather = partial(cluster_code.gather, members) if compress else members.gather

    def attach(
        self, buffers: Buffers, following: list[int], found: list[int], peers: bool, nccl: Nccl | None = None
    ) -> None:
        """following, found: addresses of the members' bitmaps and parents; peers: whether all of them are mapped.

        nccl: what moves them otherwise, None for the host.
        """
        made, place = self.partition, self.members.place
        self.peers, self._nccl = peers, nccl
        self.stream = driver.Stream() if peers else None
        self.following, self.found = following[place], found[place]
        self.visited, self.frontier = (pointer(buffers.empty(made.words, np.uint32)) for _ in range(2))
        self.answer = [buffers.empty(made.slice, np.int32) for _ in range(2)]
        self._slices = [pointer(array) for array in self.answer]
        self._degrees = pointer(buffers.upload(self.degrees.astype(np.uint64)))
        self.record_at, self._level_at = pointer(buffers.empty(1, EXCHANGED)), pointer(buffers.empty(1, np.int32))
        self.record = driver.pagelocked_empty(1, EXCHANGED)
        self._gathered = pointer(buffers.empty((made.parts, made.words), np.uint32))
        copies = [self._gathered + 4 * made.words * member for member in range(made.parts)]
        sets = following if peers else copies
        self._sets, self._theirs = (pointer(buffers.upload(np.array(a, np.uint64))) for a in (sets, found))
        self._begin = function("bfs", "cluster", "begin", "iiiiPPiiPPP")
        self._merge = function("bfs", "cluster", "merge", "iiPPPPP")
        self._take = function("bfs", "cluster", "take", "iiiiPPPPPPP")
        if peers:
            self.known = pointer(buffers.empty(made.words, np.uint32))
            self._know = function("bfs", "cluster", "known", "iiPPP")
        else:
            self._attach_host(buffers)

    def _attach_host(self, buffers: Buffers) -> None:
        made = self.partition
        self._grid = (blocks(made.slice_words)[0], made.parts)
        # Sums of what is sent and of what is awaited, each with the whole behind it.
        self._count = self._grid[0] * made.parts
        sums = buffers.empty((2, self._count + 1), np.uint32)
        self._sums_at = [pointer(sums) + 4 * (self._count + 1) * role for role in range(2)]
        self._sums = driver.pagelocked_empty((2, self._count + 1), np.uint32)
        # A member sends no vertex twice, and awaits none twice.
        self._out_at, self._in_at = (pointer(buffers.empty(k, np.int32)) for k in (made.part, made.slice))
        self._out, self._in = (driver.pagelocked_empty(k, np.int32) for k in (made.part, made.slice))
        self._own_set = driver.pagelocked_empty(made.words, np.uint32)
        self._all_sets = driver.pagelocked_empty((made.parts, made.words), np.uint32)
        self._tally = function("bfs", "cluster", "tally", "iiiiiPP")
        self._scan = function("bfs", "cluster", "scan", "iP")
        self._pack = function("bfs", "cluster", "pack", "iiiiPPPP")
        self._unpack = function("bfs", "cluster", "unpack", "iiiiPPPiPPPP")

    @staticmethod
    def forecast(partition: Partition) -> int:
        """Bytes on the device, without what is attached."""
        own = 12 * partition.words + 16 * partition.slice + EXCHANGED.itemsize
        table = 16 * partition.parts + 4 * partition.parts * partition.words
        sums = 8 * (partition.parts * blocks(partition.slice_words)[0] + 1)
        return own + table + sums + 4 * (partition.part + partition.slice)

    def start(self, root: int) -> None:
        local, made = root - self.number * self.partition.part, self.partition
        local = local if 0 <= local < made.part else -1
        first = self.members.place * made.slice
        sizes = (made.words, self.vertices, local, root)
        grid = blocks(max(made.words, made.slice))
        answer = (first, made.slice, *self._slices, self._level_at)
        launch(self._begin, grid, *sizes, self.visited, self.frontier, *answer)

    def deliver(self) -> None:
        for host, there in zip((self.levels, self.parents), self._slices, strict=True):
            driver.memcpy_dtoh(host, there)

    def know(self) -> None:
        """Queue making `known`: what is visited, and what members have found by then."""
        made = self.partition
        sets = (self._sets, self.visited, self.known)
        launch(self._know, blocks(made.words), made.words, made.parts, *sets, stream=self.stream)

    def merge(self) -> None:
        """Queue making the next frontier of the members' bitmaps, and what is counted of it to 0."""
        driver.memset_d32_async(self.record_at, 0, EXCHANGED.itemsize // 4, self.stream)
        made, copies = self.partition, self._gathered if self.peers else 0
        sets = (self._sets, copies, self.visited, self.frontier, self._level_at)
        launch(self._merge, blocks(made.words), made.words, made.parts, *sets, stream=self.stream)

    def exchange(self) -> None:
        """Queue all that follows a level's computation: parents are read where they were found."""
        self.merge()
        made = self.partition
        sizes = (made.words, made.slice_words, self.members.place, made.parts)
        answer = (self._level_at, *self._slices, self._degrees, self.record_at)
        grid = blocks(made.slice_words)
        launch(self._take, grid, *sizes, self._gathered, self._theirs, *answer, stream=self.stream)

    def gather(self, stream: driver.Stream) -> None:
        """All members' bitmaps to the device, by NCCL or by the host."""
        made, spent = self.partition, self.members.spent
        if self._nccl:
            with spent.clocked("moving"):
                self._nccl.gather(self.following, self._gathered, made.words)
                driver.Context.synchronize()
            spent.sent += 4 * made.words * (made.parts - 1)
            return
        with spent.clocked("moving"):
            driver.memcpy_dtoh_async(self._own_set, self.following, stream)
            stream.synchronize()
        self._gather(self._own_set, self._all_sets)
        with spent.clocked("moving"):
            driver.memcpy_htod_async(self._gathered, self._all_sets, stream)
            stream.synchronize()

    def swap(self, level: int) -> None:
        """Send parents to their owners and queue writing those that arrive."""
        made, place, spent = self.partition, self.members.place, self.members.spent
        sizes = (place, made.parts, made.words, made.slice_words, self._gathered)
        for role, sums in enumerate(self._sums_at):
            launch(self._tally, self._grid, role, *sizes, sums)
            launch(self._scan, (1, 1), self._count, sums)
        launch(self._pack, self._grid, *sizes, self._sums_at[SENT], self.found, self._out_at)
        driver.memcpy_dtoh(self._sums, self._sums_at[0])
        starts = self._sums[:, [*range(0, self._count, self._grid[0]), self._count]].astype(np.int64)
        counts, comes = np.diff(starts)
        if self._nccl:
            with spent.clocked("moving"):
                self._nccl.swap(self._out_at, starts[SENT], self._in_at, starts[AWAITED])
                driver.Context.synchronize()
            spent.sent += 4 * int(counts.sum() - counts[place])
        else:
            self._swap_by_host(starts, counts, comes)
        answer = (level, *self._slices, self._degrees, self.record_at)
        launch(self._unpack, self._grid, *sizes, self._sums_at[AWAITED], self._in_at, *answer)

    def _swap_by_host(self, starts: np.ndarray, counts: np.ndarray, comes: np.ndarray) -> None:
        sent, arrived = self._out[: starts[SENT, -1]], self._in[: starts[AWAITED, -1]]
        spent = self.members.spent
        with spent.clocked("moving"):
            if len(sent):
                driver.memcpy_dtoh(sent, self._out_at)
        self.members.swap(sent, counts, arrived, comes, self.partition.slice)
        with spent.clocked("moving"):
            if len(arrived):
                driver.memcpy_htod(self._in_at, arrived)

    def read(self) -> None:
        """Queue reading what was counted into `record`."""
        driver.memcpy_dtoh_async(self.record, self.record_at, self.stream)


def steps_of(held: list[Block], parts: dict[int, Any], buffers: Buffers) -> list[DeviceStep]:
    """The level step of every block, on the stream of its row's part; rows that two blocks share are uploaded once."""
    uploaded: dict[int, Rows] = {}

    def there(rows: HostRows) -> Rows:
        if id(rows) not in uploaded:
            offsets = buffers.upload(rows.offsets.astype(offset_dtype(len(rows.ends))))
            uploaded[id(rows)] = Rows(len(rows.offsets) - 1, offsets, buffers.upload(rows.ends))
        return uploaded[id(rows)]

    made = []
    for block in held:
        row = parts[block.row]
        first = block.column * row.partition.part
        made.append(DeviceStep(there(block.forward), there(block.backward), buffers, first, row.stream, of_many=True))
    return made


def forecast_steps(held: list[Block], partition: Partition) -> int:
    """Bytes on the device of the steps."""
    rows: dict[int, HostRows] = {id(r): r for block in held for r in (block.forward, block.backward)}
    scratch = sum(DeviceStep.scratch(partition.part, partition.part, len(block.forward.ends)) for block in held)
    scratch += 4 * partition.words * len(held)
    return scratch + sum(Rows.bytes_of(partition.part, len(r.ends)) for r in rows.values())
