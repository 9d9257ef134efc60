"""Levels of paper H's cluster where every rank's kernels reach what the others found (cuda_cluster.py, `peer`).

All that a level queues is the same each time, so it is recorded once for each direction: a level is one launch, in
which the devices wait for one another and add up what they found. Blocks of different rows go side by side top-down.
Bottom-up a rank makes them one after another: half of a row's members make their block of it first, and the others
leave out what those found by then.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pycuda.driver as driver

from saitan.bfs.cluster import ClusterLevels
from saitan.bfs.cluster_blocks import Block
from saitan.bfs.cuda_cluster_part import DevicePart, steps_of
from saitan.bfs.cuda_step import blocks, launch
from saitan.bfs.search import BOTTOM_UP, TOP_DOWN
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.module import function
from saitan.cuda.recorded import Recorded
from saitan.errors import Unavailable
from saitan.exchange import Exchange, Spent

# Bytes of where ranks meet, and of what a rank keeps of it; what a level tells the host, as in cluster.cu.
MEETING, OWN = 256, 32
TOLD = ("vertices", "arcs", "inspected", "moved", "waiting", "moving", "late")
# A rank that takes so long to come has failed, or is stopped.
TIMEOUT_S = 30


class PeerLevels(ClusterLevels):
    """Levels by the kernels of level.cu; parts have a stream each, which their row's block shares.

    reached: addresses of every rank's memory, whose last bytes, from `meeting_at` on, are where they meet.
    """

    def __init__(
        self,
        held: list[Block],
        parts: dict[int, DevicePart],
        world: Exchange,
        spent: Spent,
        buffers: Buffers,
        reached: list[int],
        meeting_at: int,
    ) -> None:
        super().__init__(held, parts, world, spent)
        partition = next(iter(parts.values())).partition
        self._steps = steps_of(held, parts, buffers)
        # Rows ascend as parts do, so that part and block of a row have the same place.
        self._rows = list(parts.values())
        self._first = partition.begins(world.place)
        self._main = self._rows[0].stream
        self._copied = sum(4 * partition.words * (partition.parts - 1) for _ in self._rows)
        self._told = driver.pagelocked_zeros(len(TOLD), np.uint64, mem_flags=driver.host_alloc_flags.DEVICEMAP)
        self._wake, self._size = function("bfs", "cluster", "wake", "iiPQ"), meeting_at + MEETING
        self._meet = function("bfs", "cluster", "meet", "iiPPI")
        self._conclude = function("bfs", "cluster", "conclude", "iiPPIiPPP")
        own = pointer(buffers.empty(OWN, np.uint8))
        records = [pointer(step.record) for step in self._steps], [row.record_at for row in self._rows]
        self._looked, self._exchanged, self._reached, meetings = (
            pointer(buffers.upload(np.array(addresses, np.uint64)))
            for addresses in (*records, reached, [address + meeting_at for address in reached])
        )
        self._world = (world.place, world.size, meetings, own, 1000 * TIMEOUT_S)
        for address, size in ((reached[world.place] + meeting_at, MEETING), (own, OWN)):
            driver.memset_d32(address, 0, size // 4)
        driver.Context.synchronize()
        self._recorded = {way: Recorded(self._main, partial(self._queue, way)) for way in (TOP_DOWN, BOTTOM_UP)}

    def _queue(self, direction: str) -> None:
        places = list(range(len(self.blocks)))
        if direction == TOP_DOWN:
            self._spread({i: partial(self._top_down, i) for i in places}, in_turn=False)
        else:
            order = places[self._first :] + places[: self._first]
            self._spread({i: partial(self._bottom_up, i, i != order[0]) for i in order}, in_turn=True)
        launch(self._meet, (1, 1), *self._world, stream=self._main)
        self._spread(dict(enumerate(part.exchange for part in self._rows)), in_turn=False)
        records = (len(places), self._looked, self._exchanged, int(self._told.base.get_device_pointer()))
        launch(self._conclude, (1, 1), *self._world, *records, stream=self._main)

    def _spread(self, queued: dict[int, Callable[[], None]], in_turn: bool) -> None:
        """What is queued on the stream of each place, between what the first stream does before and after."""
        before, ends = driver.Event(driver.event_flags.DISABLE_TIMING), []
        before.record(self._main)
        for place, queue in queued.items():
            stream = self._rows[place].stream
            stream.wait_for_event(before)
            queue()
            ends.append(driver.Event(driver.event_flags.DISABLE_TIMING))
            ends[-1].record(stream)
            before = ends[-1] if in_turn else before
        for end in ends:
            self._main.wait_for_event(end)

    def _top_down(self, place: int) -> None:
        row, step = self._rows[place], self._steps[place]
        column = self.parts[self.blocks[place].column]
        step.forget()
        driver.memset_d32_async(row.following, 0, row.partition.words, row.stream)
        step.top_down(column.frontier, row.visited, row.following, row.found, 0, row.partition.words)

    def _bottom_up(self, place: int, told: bool) -> None:
        row, step = self._rows[place], self._steps[place]
        column = self.parts[self.blocks[place].column]
        step.forget()
        if told:
            row.know()
        sets = (column.frontier, row.known if told else row.visited, row.following)
        step.bottom_up(*sets, row.found, 0, row.partition.words)

    def get_ready(self) -> None:
        """Wake the links to the other devices."""
        if self.world.size > 1:
            launch(self._wake, blocks(self._size // 4096), *self._world[:2], self._reached, self._size)
            driver.Context.synchronize()

    def make(self, direction: str, level: int) -> tuple[int, int, int]:
        self._recorded[direction].launch()
        self._main.synchronize()
        vertices, arcs, inspected, moved, waiting, moving, late = self._told.tolist()
        if late:
            raise Unavailable(f"another rank did not come to the end of level {level} within {TIMEOUT_S} s")
        self.spent.waiting += 1e-9 * waiting
        self.spent.moving += 1e-9 * moving
        self.spent.sent += self._copied + 4 * moved
        return vertices, arcs, inspected

    def free(self) -> None:
        for recorded in self._recorded.values():
            recorded.free()
