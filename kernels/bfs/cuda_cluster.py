"""Paper H's search over many processes on GPUs (cluster.py): a rank drives the device of its local number.

Blocks, bitmaps, found parents and the answer of the slices stay on the device; a level over a block is that of the
hybrid on one device (cuda_step.py). What leaves it takes one of these ways:

    host  as in the paper: bitmaps and parents through page-locked memory and MPI
    peer  between ranks of one host: the members' bitmaps and parents are read where they lie, over NVLink or PCIe, by
          the kernels that need them; MPI is only the barrier. Bottom-up half of a row's members make their block of it
          first; the others do not look for what those have found by then
    nccl  the same messages as through the host, from device to device

`overlapped` is host with the bitmap of the first part under way while the device makes the second block, as in the
paper's Fig 8; no barrier stands between, so that waiting is part of the communication.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pycuda.driver as driver

from saitan.arc_parts import ArcParts
from saitan.bfs import cluster_code
from saitan.bfs.cluster import ClusterLevels, ClusterSolver, Part
from saitan.bfs.cluster_blocks import Block
from saitan.bfs.cluster_blocks import Rows as HostRows
from saitan.bfs.cuda_step import RECORD, DeviceStep, Rows, blocks, launch, offset_dtype
from saitan.bfs.partition import Partition
from saitan.bfs.search import BOTTOM_UP, TOP_DOWN
from saitan.cuda import device
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.module import function
from saitan.cuda.nccl import Nccl
from saitan.cuda.nccl import require as require_nccl
from saitan.cuda.peer_memory import PeerMemory
from saitan.exchange import Exchange, Spent
from saitan.graph import Graph
from saitan.problem import Unavailable
from saitan.ranks import current

EXCHANGED = np.dtype([(name, np.uint64) for name in ("found", "leaving", "moved")])
SENT, AWAITED = range(2)  # as in cluster.cu
NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: the stream does not wait for the default one


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
        self.following, self.found = following[place], found[place]
        self.visited, self.frontier = (pointer(buffers.empty(made.words, np.uint32)) for _ in range(2))
        self.answer = [buffers.empty(made.slice, np.int32) for _ in range(2)]
        self._slices = [pointer(array) for array in self.answer]
        self._degrees = pointer(buffers.upload(self.degrees.astype(np.uint64)))
        self._record_at = pointer(buffers.empty(1, EXCHANGED))
        self.record = driver.pagelocked_empty(1, EXCHANGED)
        self._gathered = pointer(buffers.empty((made.parts, made.words), np.uint32))
        copies = [self._gathered + 4 * made.words * member for member in range(made.parts)]
        sets = following if peers else copies
        self._sets, self._theirs = (pointer(buffers.upload(np.array(a, np.uint64))) for a in (sets, found))
        self._begin = function("bfs", "cluster", "begin", "iiiiPPiiPP")
        self._merge = function("bfs", "cluster", "merge", "iiPPPP")
        self._take = function("bfs", "cluster", "take", "iiiiPPiPPPP")
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
        launch(self._begin, grid, *sizes, self.visited, self.frontier, first, made.slice, *self._slices)

    def deliver(self) -> None:
        for host, there in zip((self.levels, self.parents), self._slices, strict=True):
            driver.memcpy_dtoh(host, there)

    def know(self) -> None:
        """Queue making `known`: what is visited, and what members have found by then."""
        made = self.partition
        launch(self._know, blocks(made.words), made.words, made.parts, self._sets, self.visited, self.known)

    def merge(self) -> None:
        """Queue making the next frontier of the members' bitmaps, and what is counted of it to 0."""
        driver.memset_d32_async(self._record_at, 0, EXCHANGED.itemsize // 4)
        made, copies = self.partition, self._gathered if self.peers else 0
        sizes = (made.words, made.parts, self._sets)
        launch(self._merge, blocks(made.words), *sizes, copies, self.visited, self.frontier)

    def take(self, level: int) -> None:
        """Queue reading the parents where they were found."""
        made = self.partition
        sizes = (made.words, made.slice_words, self.members.place, made.parts)
        answer = (level, *self._slices, self._degrees, self._record_at)
        launch(self._take, blocks(made.slice_words), *sizes, self._gathered, self._theirs, *answer)

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
        answer = (level, *self._slices, self._degrees, self._record_at)
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
        driver.memcpy_dtoh_async(self.record, self._record_at)


def steps_of(held: list[Block], partition: Partition, buffers: Buffers) -> list[DeviceStep]:
    """The level step of every block, whose rows are uploaded, once where two blocks share them."""
    uploaded: dict[int, Rows] = {}

    def there(rows: HostRows) -> Rows:
        if id(rows) not in uploaded:
            offsets = buffers.upload(rows.offsets.astype(offset_dtype(len(rows.ends))))
            uploaded[id(rows)] = Rows(len(rows.offsets) - 1, offsets, buffers.upload(rows.ends))
        return uploaded[id(rows)]

    return [
        DeviceStep(there(block.forward), there(block.backward), buffers, block.column * partition.part)
        for block in held
    ]


def forecast_steps(held: list[Block], partition: Partition) -> int:
    """Bytes on the device of the steps."""
    rows: dict[int, HostRows] = {id(r): r for block in held for r in (block.forward, block.backward)}
    scratch = sum(DeviceStep.scratch(partition.part, partition.part, len(block.forward.ends)) for block in held)
    return scratch + sum(Rows.bytes_of(partition.part, len(r.ends)) for r in rows.values())


class DeviceLevels(ClusterLevels):
    """Levels by the kernels of level.cu."""

    def __init__(
        self, held: list[Block], parts: dict[int, DevicePart], world: Exchange, spent: Spent, buffers: Buffers
    ) -> None:
        super().__init__(held, parts, world, spent)
        partition = next(iter(parts.values())).partition
        self._steps = steps_of(held, partition, buffers)
        self._read = driver.pagelocked_empty(len(held), RECORD)
        self._made = [driver.Event(driver.event_flags.DISABLE_TIMING) for _ in held]
        self._stream = driver.Stream(NON_BLOCKING)
        self._peers = next(iter(parts.values())).peers
        self._begins = partition.begins(world.place)

    def compute(self, direction: str) -> None:
        order = list(range(len(self.blocks)))
        shared = direction == BOTTOM_UP and len(order) > 1 and self._peers
        if shared and self._begins:
            order.reverse()
        for i in order:
            block, step = self.blocks[i], self._steps[i]
            row, column = self.parts[block.row], self.parts[block.column]
            step.forget()
            if direction == TOP_DOWN:
                driver.memset_d32_async(row.following, 0, row.partition.words)
                step.top_down(column.frontier, row.visited, row.following, row.found, 0, row.partition.words)
            else:
                if shared and i == order[-1]:
                    row.know()
                done = row.known if shared and i == order[-1] else row.visited
                step.bottom_up(column.frontier, done, row.following, row.found, 0, row.partition.words)
            driver.memcpy_dtoh_async(self._read[i : i + 1], pointer(step.record))
            self._made[i].record()
        if not self.overlaps:
            self._made[order[-1]].synchronize()

    def exchange(self, level: int) -> list[tuple[int, int]]:
        parts = list(self.parts.values())
        if parts[0].peers:
            with self.spent.clocked("moving"):
                for part in parts:
                    part.merge()
                    part.take(level)
                    part.read()
                driver.Context.synchronize()
        else:
            for part in parts:
                # Rows ascend as parts do, so that a part's bitmap stands when its block does.
                last = max(i for i, block in enumerate(self.blocks) if block.row == part.number)
                self._made[last].synchronize()
                part.gather(self._stream)
            for part in parts:
                part.merge()
                part.swap(level)
                part.read()
            driver.Context.synchronize()
        self.inspected = int(self._read["arcs"].sum() + self._read["inspected"].sum())
        if parts[0].peers:
            size = parts[0].partition.parts
            copied = sum(4 * part.partition.words * (size - 1) for part in parts)
            self.spent.sent += copied + 4 * sum(int(part.record[0]["moved"]) for part in parts)
        return [(int(part.record[0]["found"]), int(part.record[0]["leaving"])) for part in parts]


class Cluster(ClusterSolver):
    """Paper H's hybrid over all ranks that were joined, a GPU each. alpha, beta: see search.Rule.

    exchange: "host", "overlapped", "peer", "nccl", or "auto": peer where all ranks are of one host and map one
    another's memory, otherwise nccl, or overlapped where there is none; compress: frontiers that go through the host as
    in cluster_code.py.

    Raises ValueError for a number of ranks that the partition does not take; Unavailable, on every rank, where one has
    no GPU or not enough memory, or where peers or NCCL are asked for and cannot be had.
    """

    def __init__(
        self,
        graph: Graph | ArcParts,
        *,
        alpha: float = 10.0,
        beta: float = 14.0,
        exchange: str = "auto",
        compress: bool = False,
    ) -> None:
        current().together_do(device)
        self._exchange, self._compress = exchange, compress
        super().__init__(graph, alpha, beta)
        self.transfer = self.buffers.upload_time

    @property
    def memory(self) -> int:
        return self.buffers.nbytes + (self._mapped.nbytes if self._mapped else 0)

    def made_part(self, number: int, members: Exchange) -> Part:
        return DevicePart(number, self.partition, members, self._compress)

    def made_levels(self) -> ClusterLevels:
        held, made = self.blocks_held, self.partition
        forecast = forecast_steps(held, made) + len(self.parts) * (DevicePart.forecast(made) + self._size)
        what = f"a rank's part of graph {self.source.name}"
        self.buffers = self.ranks.together_do(lambda: Buffers(forecast, what))
        self._mapped = self._map()
        self._nccl = self._joined()
        own = self._mapped.own if self._mapped else pointer(self.buffers.empty(self._size * len(self.parts), np.uint8))
        addresses = self._mapped.addresses if self._mapped else [own] * self.ranks.size
        for number, part in self.parts.items():
            members = [addresses[r] + self._size * made.place(r, number) for r in made.members(number)]
            part.attach(
                self.buffers, members, [a + self._found_at for a in members], self._direct, self._nccl.get(number)
            )
        levels = self.ranks.together_do(lambda: DeviceLevels(held, self.parts, self.world, self.spent, self.buffers))
        levels.overlaps = not self._direct and not self._nccl and self._exchange != "host"
        return levels

    @property
    def _direct(self) -> bool:
        """Whether kernels reach all that members found."""
        return self._mapped is not None or self.ranks.size == 1

    @property
    def _found_at(self) -> int:
        """Bytes from a part's bitmap of what was found to the parents."""
        return -(-4 * self.partition.words // 256) * 256

    @property
    def _size(self) -> int:
        """Bytes of both."""
        return self._found_at + -(-4 * self.partition.part // 256) * 256

    def _map(self) -> PeerMemory | None:
        """The members' bitmaps and parents, mapped; None where they go through the host."""
        together = min(self.ranks.each(self.ranks.together)) == self.ranks.size
        wanted = self._exchange == "peer"
        if self.ranks.size == 1 or not (wanted or (self._exchange == "auto" and together)):
            return None
        if not together:
            raise Unavailable("ranks of several hosts cannot map one another's memory: exchange=host")
        try:
            return PeerMemory(self._size * len(self.parts), self.ranks)
        except Unavailable:
            if wanted:
                raise
            return None

    def _joined(self) -> dict[int, Nccl]:
        """NCCL among the members of each part, where it is what moves their bitmaps and parents."""
        if self._direct or self._exchange not in ("auto", "nccl"):
            return {}
        try:
            require_nccl(self.ranks)
        except Unavailable:
            if self._exchange == "nccl":
                raise
            return {}
        return {number: Nccl(part.members.comm) for number, part in self.parts.items()}

    def close(self) -> None:
        for nccl in self._nccl.values():
            nccl.close()
        super().close()
        if self._mapped:
            self._mapped.free()
        self.buffers.free()
