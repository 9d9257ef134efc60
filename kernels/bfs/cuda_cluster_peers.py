"""Levels of paper H's cluster where every rank's kernels reach what the others found (cuda_cluster.py, `peer`).

All that a level queues is the same each time, so it is recorded once for each direction, and once for the exchange: a
level is two launches and a barrier. Blocks of different rows go side by side top-down. Bottom-up a rank makes them one
after another: half of a row's members make their block of it first, and the others leave out what those found by then.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pycuda.driver as driver

from saitan.bfs.cluster import ClusterLevels
from saitan.bfs.cluster_blocks import Block
from saitan.bfs.cuda_cluster_part import DevicePart, steps_of
from saitan.bfs.cuda_step import RECORD
from saitan.bfs.search import BOTTOM_UP, TOP_DOWN
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.recorded import Recorded
from saitan.exchange import Exchange, Spent


class PeerLevels(ClusterLevels):
    """Levels by the kernels of level.cu; parts have a stream each, which their row's block shares."""

    def __init__(
        self, held: list[Block], parts: dict[int, DevicePart], world: Exchange, spent: Spent, buffers: Buffers
    ) -> None:
        super().__init__(held, parts, world, spent)
        partition = next(iter(parts.values())).partition
        self._steps = steps_of(held, parts, buffers)
        self._read = driver.pagelocked_empty(len(held), RECORD)
        # Rows ascend as parts do, so that part and block of a row have the same place.
        self._rows = list(parts.values())
        self._first = partition.begins(world.place)
        self._main = self._rows[0].stream
        driver.Context.synchronize()
        self._compute = {way: Recorded(self._main, partial(self._queue, way)) for way in (TOP_DOWN, BOTTOM_UP)}
        self._exchange = Recorded(self._main, self._queue_exchange)

    def _queue(self, direction: str) -> None:
        places = list(range(len(self.blocks)))
        if direction == TOP_DOWN:
            self._spread({i: partial(self._top_down, i) for i in places}, in_turn=False)
        else:
            order = places[self._first :] + places[: self._first]
            self._spread({i: partial(self._bottom_up, i, i != order[0]) for i in order}, in_turn=True)

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
        driver.memcpy_dtoh_async(self._read[place : place + 1], pointer(step.record), row.stream)

    def _bottom_up(self, place: int, told: bool) -> None:
        row, step = self._rows[place], self._steps[place]
        column = self.parts[self.blocks[place].column]
        step.forget()
        if told:
            row.know()
        sets = (column.frontier, row.known if told else row.visited, row.following)
        step.bottom_up(*sets, row.found, 0, row.partition.words)
        driver.memcpy_dtoh_async(self._read[place : place + 1], pointer(step.record), row.stream)

    def _queue_exchange(self) -> None:
        self._spread(dict(enumerate(part.exchange for part in self._rows)), in_turn=False)

    def compute(self, direction: str) -> None:
        self._compute[direction].launch()
        self._main.synchronize()

    def exchange(self, level: int) -> list[tuple[int, int]]:
        with self.spent.clocked("moving"):
            self._exchange.launch()
            self._main.synchronize()
        self.inspected = int(self._read["arcs"].sum() + self._read["inspected"].sum())
        size = self._rows[0].partition.parts
        copied = sum(4 * part.partition.words * (size - 1) for part in self._rows)
        self.spent.sent += copied + 4 * sum(int(part.record[0]["moved"]) for part in self._rows)
        return [(int(part.record[0]["found"]), int(part.record[0]["leaving"])) for part in self._rows]

    def free(self) -> None:
        for recorded in (*self._compute.values(), self._exchange):
            recorded.free()
