"""Paper H's search over many processes on GPUs (cluster.py): a rank drives the device of its local number.

Blocks, bitmaps, found parents and the answer of the slices stay on the device; a level over a block is that of the
hybrid on one device (cuda_step.py). What leaves it takes one of these ways:

    host  as in the paper: bitmaps and parents through page-locked memory and MPI
    peer  between ranks of one host: the members' bitmaps and parents are read where they lie, over NVLink or PCIe, by
          the kernels that need them, and the devices wait for one another (cuda_cluster_peers.py)
    nccl  the same messages as through the host, from device to device

`overlapped` is host with the bitmap of the first part under way while the device makes the second block, as in the
paper's Fig 8; no barrier stands between, so that waiting is part of the communication.
"""

from __future__ import annotations

import numpy as np
import pycuda.driver as driver

from saitan.arc_parts import ArcParts
from saitan.bfs.cluster import ClusterLevels, ClusterSolver, Part
from saitan.bfs.cluster_blocks import Block
from saitan.bfs.cuda_cluster_part import DevicePart, forecast_steps, steps_of
from saitan.bfs.cuda_cluster_peers import MEETING, PeerLevels
from saitan.bfs.cuda_step import RECORD
from saitan.bfs.search import TOP_DOWN
from saitan.cuda import device
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.nccl import Nccl
from saitan.cuda.nccl import require as require_nccl
from saitan.cuda.peer_memory import PeerMemory
from saitan.exchange import Exchange, Spent
from saitan.graph import Graph
from saitan.problem import Unavailable
from saitan.ranks import current

NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: the stream does not wait for the default one


class DeviceLevels(ClusterLevels):
    """Levels by the kernels of level.cu, whose bitmaps and parents go by the host or by NCCL."""

    def __init__(
        self, held: list[Block], parts: dict[int, DevicePart], world: Exchange, spent: Spent, buffers: Buffers
    ) -> None:
        super().__init__(held, parts, world, spent)
        self._steps = steps_of(held, parts, buffers)
        self._read = driver.pagelocked_empty(len(held), RECORD)
        self._made = [driver.Event(driver.event_flags.DISABLE_TIMING) for _ in held]
        self._stream = driver.Stream(NON_BLOCKING)

    def compute(self, direction: str) -> None:
        for i, (block, step) in enumerate(zip(self.blocks, self._steps, strict=True)):
            row, column = self.parts[block.row], self.parts[block.column]
            step.forget()
            if direction == TOP_DOWN:
                driver.memset_d32_async(row.following, 0, row.partition.words)
            make = step.top_down if direction == TOP_DOWN else step.bottom_up
            make(column.frontier, row.visited, row.following, row.found, 0, row.partition.words)
            driver.memcpy_dtoh_async(self._read[i : i + 1], pointer(step.record))
            self._made[i].record()
        if not self.overlaps:
            self._made[-1].synchronize()

    def exchange(self, level: int) -> list[tuple[int, int]]:
        parts = list(self.parts.values())
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
        forecast = forecast_steps(held, made) + len(self.parts) * DevicePart.forecast(made) + self._reached
        what = f"a rank's part of graph {self.source.name}"
        self.buffers = self.ranks.together_do(lambda: Buffers(forecast, what))
        self._mapped = self._map()
        self._nccl = self._joined()
        own = self._mapped.own if self._mapped else pointer(self.buffers.empty(self._reached, np.uint8))
        addresses = self._mapped.addresses if self._mapped else [own] * self.ranks.size
        for number, part in self.parts.items():
            members = [addresses[r] + self._size * made.place(r, number) for r in made.members(number)]
            part.attach(
                self.buffers, members, [a + self._found_at for a in members], self._direct, self._nccl.get(number)
            )
        of_all = (held, self.parts, self.world, self.spent, self.buffers)
        if self._direct:
            meeting_at = self._size * len(self.parts)
            return self.ranks.together_do(lambda: PeerLevels(*of_all, addresses, meeting_at))
        levels = self.ranks.together_do(lambda: DeviceLevels(*of_all))
        levels.overlaps = not self._nccl and self._exchange != "host"
        return levels

    @property
    def _direct(self) -> bool:
        """Whether kernels reach all that members found."""
        return self._mapped is not None or self.ranks.size == 1

    @property
    def told(self) -> bool:
        return self._direct and self.ranks.size > 1

    @property
    def _found_at(self) -> int:
        """Bytes from a part's bitmap of what was found to the parents."""
        return -(-4 * self.partition.words // 256) * 256

    @property
    def _size(self) -> int:
        """Bytes of both."""
        return self._found_at + -(-4 * self.partition.part // 256) * 256

    @property
    def _reached(self) -> int:
        """Bytes of a rank that all others reach: those of its parts, then where the ranks meet."""
        return self._size * len(self.parts) + MEETING

    def _map(self) -> PeerMemory | None:
        """The members' bitmaps and parents, mapped; None where they go through the host."""
        together = min(self.ranks.each(self.ranks.together)) == self.ranks.size
        wanted = self._exchange == "peer"
        if self.ranks.size == 1 or not (wanted or (self._exchange == "auto" and together)):
            return None
        if not together:
            raise Unavailable("ranks of several hosts cannot map one another's memory: exchange=host")
        try:
            return PeerMemory(self._reached, self.ranks)
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
        self.levels.free()
        if self._mapped:
            self._mapped.free()
        self.buffers.free()
