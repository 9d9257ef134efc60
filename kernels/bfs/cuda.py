"""The GPU variants of paper H on one device: a host loop over the levels, one small record back a level."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pycuda.driver as driver

from saitan.bfs.cuda_step import RECORD, DeviceStep, Rows, blocks, launch, words
from saitan.bfs.search import BOTTOM_UP, TOP_DOWN, EdgeCount, Found, Rule, reverse, search
from saitan.bfs.validate import CHECKED, NONE, explain
from saitan.blocks import Blockwise, check_given, chosen
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.module import function
from saitan.cuda.timing import Laps
from saitan.graph import Graph
from saitan.problem import Block, Checked, Invalid, Run


class DeviceLevels:
    """A search over the whole matrix on the GPU (search.Levels)."""

    def __init__(self, forward: Graph, backward: Graph, buffers: Buffers) -> None:
        self.matrix = DeviceStep(forward, backward, buffers)
        self.degrees = forward.degrees
        self.n, self.width = forward.n, words(forward.n)
        self.levels, self.parents = (buffers.empty(self.n, np.int32) for _ in range(2))
        self._answer = (pointer(self.levels), pointer(self.parents))
        self._visited, self._frontier, self._following = (
            pointer(buffers.empty(self.width, np.uint32)) for _ in range(3)
        )
        self._start = function("bfs", "level", "start", "iiiPPPP")
        self._read = driver.pagelocked_empty(1, RECORD)

    @staticmethod
    def forecast(forward: Graph, backward: Graph) -> int:
        """Bytes of the arrays."""
        return DeviceStep.forecast(forward, backward) + 8 * forward.n + 12 * words(forward.n)

    def start(self, root: int) -> Found:
        launch(self._start, blocks(self.n), self.n, self.width, root, self._visited, self._frontier, *self._answer)
        return Found(1, int(self.degrees[root]))

    def step(self, direction: str, level: int) -> Found:
        begin = time.perf_counter()
        matrix, (levels, parents) = self.matrix, self._answer
        matrix.forget()
        if direction == TOP_DOWN:
            driver.memset_d32_async(self._following, 0, self.width)
        step = matrix.top_down if direction == TOP_DOWN else matrix.bottom_up
        step(self._frontier, self._visited, self._following, parents, 0, self.width)
        matrix.commit(self._following, self._visited, levels, level)
        driver.memcpy_dtoh(self._read, pointer(matrix.record))
        self._frontier, self._following = self._following, self._frontier
        seen = self._read[0]
        inspected = seen["arcs"] + seen["inspected"]
        return Found(int(seen["found"]), int(seen["leaving"]), int(inspected), time.perf_counter() - begin)


class Checker:
    """validate.py's rules on the device. What it needs beyond the rows is its own, not the variant's.

    rows      the graph's, on the device
    transfer  seconds that uploading them took, 0 where they were there
    """

    def __init__(self, graph: Graph, rows: Rows | None = None) -> None:
        """rows: the graph's, where the variant has them on the device."""
        self.graph = graph
        needed = graph.n + 24 + (0 if rows else Rows.forecast(graph))
        self._buffers = Buffers(needed, f"checking answers of graph {graph.name}")
        self.rows = rows or Rows.upload(graph, self._buffers)
        self.transfer = self._buffers.upload_time
        self._hangs, self._record = self._buffers.empty(graph.n, np.uint8), self._buffers.empty(3, np.uint64)
        self._vertices = function("bfs", "validate", "check_vertices", "iPPiPP")
        self._arcs = function("bfs", "validate", f"check_arcs_{self.rows.suffix}", "iPPPPPP")
        self._tree = function("bfs", "validate", "check_tree", "iPPiP")

    def __call__(self, root: int, levels, parents) -> Checked:
        """Check device arrays, int32 [n]. Raises Invalid."""
        n, hangs, record = self.graph.n, self._hangs, self._record
        record.fill(NONE)
        launch(self._vertices, blocks(n), n, levels, parents, root, hangs, record)
        # A parent that is no vertex ends the check: the other rules would look beyond the arrays.
        if record.get()[0] == NONE:
            rows = (self.rows.offsets, self.rows.ends)
            launch(self._arcs, blocks(32 * n), n, *rows, levels, parents, hangs, record)
            launch(self._tree, blocks(n), n, levels, hangs, root, record)
        found = record.get()
        if (found != NONE).any():
            raise Invalid(explain(self.graph, root, levels.get(), parents.get(), found))
        return CHECKED

    def close(self) -> None:
        self._buffers.free()


class CudaSolver(Blockwise):
    """What all GPU variants share: the last answer on the device, its check, its way to the host.

    A subclass makes self.buffers and self.rules, and sets self.root, self.levels, self.parents (GPUArrays) in `run`.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph, self.edges, self.laps = graph, EdgeCount(graph), Laps()
        self.root = -1
        self._delivered = [driver.pagelocked_empty(graph.n, np.int32) for _ in range(2)]

    @property
    def memory(self) -> int:
        return self.buffers.nbytes

    def validate(self) -> Checked:
        """Graph500's rules, on the device. Raises Invalid."""
        checked = self.rules(self.root, self.levels, self.parents)
        check_given(self, CudaSolver, [Block("levels", 0, self.levels), Block("parents", 0, self.parents)])
        return checked

    def deliver(self) -> np.ndarray:
        """Copy levels and parents into page-locked memory that the next answer reuses; returns the levels."""
        for host, there in zip(self._delivered, (self.levels, self.parents), strict=True):
            driver.memcpy_dtoh(host, pointer(there))
        return self._delivered[0]

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        for name, values in zip(("levels", "parents"), self._delivered, strict=True):
            yield from chosen(name, values, rows)

    def close(self) -> None:
        self.buffers.free()
        self.rules.close()


def described(graph: Graph) -> str:
    """The graph, in a message on memory."""
    return f"graph {graph.name} ({graph.n:,} vertices, {graph.m:,} arcs)"


class Hybrid(CudaSolver):
    """Paper H's switching rule. alpha, beta: see search.Rule."""

    fixed: str | None = None

    def __init__(self, graph: Graph, *, alpha: float = 10.0, beta: float = 14.0) -> None:
        super().__init__(graph)
        begin = time.perf_counter()
        backward = reverse(graph)
        self.construction = time.perf_counter() - begin
        self.buffers = Buffers(DeviceLevels.forecast(graph, backward), described(graph))
        self._levels = DeviceLevels(graph, backward, self.buffers)
        self.transfer = self.buffers.upload_time
        self.rules = Checker(graph, self._levels.matrix.forward)
        self.rule = Rule(graph.n, graph.m, alpha, beta, self.fixed)

    def run(self, root: int) -> Run:
        """Answer one root; phases has direction, frontier, inspected, seconds (of the host, the readback within)."""
        begin = time.perf_counter()
        with self.laps:
            trace = search(self._levels, self.rule, root)
        [seconds] = self.laps.seconds()
        self.root, self.levels, self.parents = root, self._levels.levels, self._levels.parents
        levels = self.deliver()
        total = time.perf_counter() - begin
        counters = trace.counters() | {"construction_s": self.construction}
        return self.edges.run(levels, Run(seconds, total, counters, trace.arrays()))


class TopDown(Hybrid):
    """Every level top-down."""

    fixed = TOP_DOWN

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)


class BottomUp(Hybrid):
    """Every level bottom-up."""

    fixed = BOTTOM_UP

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
