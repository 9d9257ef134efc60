"""Many searches at once on the GPU: host side of many.cu, many_answer.cu and many_parents.cu.

A launch answers up to 256 roots; the host reads one record at the end. TEPS are of all roots together.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pycuda.driver as driver

from saitan.bfs.arrange import LONGEST, arrange, hub_pieces
from saitan.bfs.cuda import Checker, CudaSolver, described
from saitan.bfs.cuda_hops import Tree
from saitan.bfs.cuda_step import Rows, words
from saitan.bfs.many import PLANES, Asked, check_roots, closeness, drawn_roots, usable_roots
from saitan.bfs.search import EdgeCount, reverse
from saitan.bfs.validate import CHECKED, check_closeness
from saitan.blocks import Blockwise, check_given, chosen
from saitan.cuda import device
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.constants import constants
from saitan.cuda.module import function
from saitan.cuda.timing import Laps
from saitan.graph import Graph
from saitan.problem import Block, Checked, Run, Unavailable

_MANY, _ANSWER = constants("bfs", "many.cu"), constants("bfs", "planes.cuh")
THREADS, MOST, PIECE = _MANY["THREADS"], constants("bfs", "sets.cuh")["MOST"], constants("bfs", "pieces.cuh")["PIECE"]
# Top-down only where the arcs of all searches that would go there are no more than m / ALPHA; see NOTES.md.
ALPHA = 4.0
TIMEOUT_MS, TIMEOUT_US_A_VERTEX = 10_000, 20
CONTROL = np.dtype(
    [(name, np.uint32) for name in ("arrived", "late", "deep", "levels")]
    + [("inspected", np.uint64), ("leaving", np.uint64, 3), ("pieces", np.uint32, 3), ("unused", np.uint32)]
    + [("alive", np.uint32, (3, MOST // 32)), ("sampled", np.uint32, (3, MOST))]
)
LEVELS_AT = CONTROL.fields["levels"][1]


class Many:
    """Up to `searches` roots a launch.

    levels   device array [searches, n] of int8, or the wider type that they need; -1 where not reached
    parents  device array int32 [searches, n], -1 where not reached; None unless asked for
    layout   vertices by falling degree, on the device; vertices: its numbers, on the host
    """

    def __init__(self, graph: Graph, rows: Rows, searches: int, parents: bool, levels: bool = True) -> None:
        """rows: the graph's, on the device."""
        self.graph, self.searches, self.wanted = graph, searches, levels
        self.edges = EdgeCount(graph)
        self._kept = Buffers(0, described(graph))
        self.layout, self.construction = arrange(graph, rows, self._kept)
        layout, begin = self.layout, time.perf_counter()
        self.vertices = layout.numbering(graph.n)
        out, into = layout.forward, layout.backward
        hubs = hub_pieces(into, self._kept)
        self.construction += time.perf_counter() - begin
        self.k, self.width = k, width = layout.k, searches // 32
        pieces = k + out.m // PIECE + 1
        fixed = 12 * k * width + 16 * pieces + 4 * k + 20 * words(k)
        answer = searches * graph.n * (levels + 4 * parents)
        self.buffers = Buffers(fixed + 4 * PLANES[0][0] * k * width + answer, described(graph))
        empty, upload = self.buffers.empty, self.buffers.upload
        self._ends = upload(self.edges.ends[self.vertices.old].astype(np.uint32))
        self._sets, self._roots = empty(3 * k * width, np.uint32), empty(searches, np.uint32)
        self._control, self._sums = empty(1, CONTROL), empty((3, MOST), np.uint64)
        self._read = driver.pagelocked_empty(1, CONTROL)
        self.parents = empty((searches, graph.n), np.int32) if parents else None
        self._head = (k, out.m, *map(pointer, (out.offsets, out.ends, into.offsets, into.ends)))
        self._arrays = (pointer(self._roots), pointer(empty(5 * words(k), np.uint32)), pointer(self._sets))
        self._hubs = (pointer(hubs), hubs.size)
        self._tail = (pointer(empty((pieces, 2), np.uint64)), *self._hubs, pointer(self._control))
        self._search = function("bfs", "many", f"search_{searches}_{out.suffix}", "IQPPPPPIPPPIPPIPIdI")
        # Two sets for each of a warp's 32 vertices.
        self._shared = THREADS // 32 * 64 * searches // 8
        self._search.set_attribute(driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, self._shared)
        self._tally = function("bfs", "many_answer", "tally_sums", "IIIPPPPP")
        self._attach = function("bfs", "many_parents", f"attach_{into.suffix}", "IIIPPPIPPPPIP")
        self._attach_hubs = function("bfs", "many_parents", "attach_hubs", "IIIPPPIPPPIPP")
        processors = device().get_attribute(driver.device_attribute.MULTIPROCESSOR_COUNT)
        self._blocks = (_MANY["RESIDENT"] * processors, 1)
        self._wide = (8 * processors, 1), (_ANSWER["THREADS"], 1, 1), None
        self._timeout_ms = TIMEOUT_MS + TIMEOUT_US_A_VERTEX * k // 1000
        self._typed, self._depth = (), -1
        self._deepen()
        self._reset()

    @property
    def nbytes(self) -> int:
        return self._kept.nbytes + self.buffers.nbytes

    def free(self) -> None:
        self.buffers.free()
        self._kept.free()

    def _deepen(self) -> None:
        """Planes, levels and kernel for more levels than before."""
        self._depth += 1
        self._plane_count, dtype = PLANES[self._depth]
        self.buffers.release(*self._typed)
        self._planes = self.buffers.empty(self._plane_count * self.k * self.width, np.uint32)
        self.levels = self.buffers.empty((self.searches if self.wanted else 0, self.graph.n), dtype)
        self._typed = (self._planes, self.levels)
        # Bytes are written four at a time where rows begin at a multiple of four.
        kind = "fours" if dtype.itemsize == 1 and self.graph.n % 4 == 0 else dtype.str[1:]
        self._unpack = function("bfs", "many_answer", f"unpack_{kind}", "IIIPPPIPP")
        self._widen = function("bfs", "many_answer", f"widen_{dtype.str[1:]}", "IPP")

    def _reset(self) -> None:
        driver.memset_d32(pointer(self._control), 0, CONTROL.itemsize // 4)
        self._arrived = 0

    def _found(self, count: int) -> tuple:
        sets = (pointer(self._sets), pointer(self._planes), pointer(self._control) + LEVELS_AT)
        return self.k, self.width, count, *sets

    def run(self, roots: np.ndarray, laps: Laps) -> float:
        """Answer so many roots of the graph, in its numbers, all with arcs; returns the seconds of the device."""
        starts = np.zeros(self.searches, np.uint32)
        starts[: len(roots)] = self.vertices.new[roots]
        self._roots.set(starts)
        while True:
            with laps:
                self.queue(len(roots))
            [seconds] = laps.seconds()
            seen = self.seen()
            if not seen["deep"]:
                return seconds
            self._deepen()

    def seen(self) -> np.void:
        """CONTROL after a launch. Raises Unavailable where the search did not end."""
        driver.memcpy_dtoh(self._read, pointer(self._control))
        seen = self._read[0]
        if seen["late"]:
            self._reset()
            raise Unavailable(f"fast-many gave up on {self.graph.name} after {self._timeout_ms / 1000:g} s")
        self._arrived = int(seen["arrived"])
        return seen

    def queue(self, count: int) -> None:
        """Queue the search and its answer."""
        self._search.prepared_async_call(
            self._blocks, (THREADS, 1, 1), None,
            *self._head, self._arrays[0], count, *self._arrays[1:], pointer(self._planes), self._plane_count,
            *self._tail, self._arrived, ALPHA, self._timeout_ms, shared_size=self._shared,
        )  # fmt: skip
        found, n = self._found(count), self.graph.n
        if self.wanted:
            place = pointer(self.layout.place)
            self._unpack.prepared_async_call(*self._wide, *found, n, place, pointer(self.levels))
        if self.parents is not None:
            into, parents = self.layout.backward, pointer(self.parents)
            place, old, offsets, ends = map(pointer, (self.layout.place, self.layout.old, into.offsets, into.ends))
            # The sets behind those of the visited are free now.
            claimed = pointer(self._sets) + 4 * self.k * self.width
            driver.memset_d32_async(claimed, 0, self.k * self.width)
            self._attach.prepared_async_call(*self._wide, *found, n, place, old, offsets, ends, LONGEST, parents)
            self._attach_hubs.prepared_async_call(*self._wide, *found, n, old, ends, *self._hubs, claimed, parents)

    def sums(self, count: int) -> np.ndarray:
        """Of the last launch, uint64 [3, count]: sums of levels, vertices reached, their edges' ends."""
        driver.memset_d32(pointer(self._sums), 0, 2 * self._sums.size)
        self._tally.prepared_async_call(*self._wide, *self._found(count), pointer(self._ends), pointer(self._sums))
        return self._sums.get()[:, :count]

    def work(self) -> dict[str, float]:
        """Bytes that every launch moves at least.

        The arcs once, what has visited a vertex and its frontier's set once in and once out, and the answer.
        """
        answer = self.levels.nbytes + (0 if self.parents is None else self.parents.nbytes)
        return {"bytes": 4 * self.layout.backward.m + 4 * 4 * self.k * self.width + answer}

    def levels_of(self, search: int, wide) -> None:
        """Levels of a search into `wide`, a device array int32 [n]."""
        row = pointer(self.levels) + search * self.graph.n * self.levels.dtype.itemsize
        self._widen.prepared_async_call(*self._wide, self.graph.n, row, pointer(wide))


class FastMany(CudaSolver):
    """`searches` roots in one launch: the given one, and others drawn with it as the seed.

    Times are of the launch, for all of them. Levels and parents of the given root are what `blocks` gives; all levels
    are in many.levels, parents, if asked for, in all_parents.
    """

    def __init__(self, asked: Asked, *, searches: int = 256, parents: bool = False) -> None:
        graph = asked.graph
        super().__init__(graph)
        self.rules = Checker(graph)
        self.many = Many(graph, self.rules.rows, searches, parents)
        self.all_parents, self._usable = self.many.parents, usable_roots(self.many.vertices)
        self.transfer = self.rules.transfer + self.many.buffers.upload_time
        self._gated = Laps(gated=True)
        # For the check alone: one search at a time as int32, and the arcs into a vertex of the graph.
        backward = reverse(graph)
        there = backward is graph
        self.buffers = Buffers(8 * graph.n + (0 if there else Rows.forecast(backward)), described(graph))
        self._tree = Tree(self.rules.rows if there else Rows.upload(backward, self.buffers), self.buffers)
        self.levels = self.buffers.empty(graph.n, np.int32)
        self._roots = np.empty(0, np.int64)

    @property
    def memory(self) -> int:
        return self.many.nbytes

    def run(self, root: int) -> Run:
        """Answer the root and the others."""
        return self.run_all(drawn_roots(self._usable, root, self.many.searches))

    def run_all(self, roots: np.ndarray) -> Run:
        """Answer these roots, as many as there are searches or fewer. Raises ValueError for one without arcs."""
        begin = time.perf_counter()
        self._roots = roots = check_roots(self.many.vertices, roots)
        self.root = int(roots[0])
        seconds = self.many.run(roots, self._gated)
        self._take(0)
        self.deliver()
        total = time.perf_counter() - begin
        seen, ends = self.many.seen(), self.many.sums(len(roots))[2]
        edges = sum(self.many.edges.whole(int(count)) for count in ends)
        counters = {name: int(seen[name]) for name in ("levels", "inspected")}
        counters |= {"edges": edges, "roots": len(roots), "teps": edges / seconds}
        counters |= {"construction_s": self.many.construction}
        return Run(seconds, total, counters, work=self.many.work(), disturbed=self._gated.disturbed)

    def _take(self, search: int) -> None:
        """Levels and parents of one search, int32 [n] each."""
        self.many.levels_of(search, self.levels)
        if self.all_parents is None:
            self._tree.hang(int(self._roots[search]), pointer(self.levels))
            self.parents = self._tree.parents
        else:
            self.parents = self.all_parents[search]

    def validate(self) -> Checked:
        """Graph500's rules for every search; parents that were not asked for are derived from the levels."""
        for search, root in enumerate(self._roots.tolist()):
            self._take(search)
            self.rules(root, self.levels, self.parents)
        check_given(self, CudaSolver, CudaSolver.blocks(self))
        return CHECKED

    def close(self) -> None:
        super().close()
        self.many.free()


class Closeness(Blockwise):
    """Closeness of all vertices, `searches` of them a launch, vertices of like degree together."""

    def __init__(self, instance: Asked, *, searches: int = 256) -> None:
        self.graph = graph = instance.graph
        rows = Buffers(Rows.forecast(graph), described(graph))
        try:
            self._many = Many(graph, Rows.upload(graph, rows), searches, parents=False, levels=False)
        finally:
            rows.free()
        self.memory, self.transfer = self._many.nbytes, rows.upload_time + self._many.buffers.upload_time
        self._laps = Laps()
        self._closeness = np.empty(0)

    def run(self, query: int) -> Run:
        """Answer the one query there is."""
        begin = time.perf_counter()
        many, graph = self._many, self.graph
        sums, reached = np.zeros(graph.n, np.int64), np.ones(graph.n, np.int64)
        roots = usable_roots(many.vertices)
        seconds, inspected, edges = 0.0, 0, 0
        for first in range(0, len(roots), many.searches):
            batch = roots[first : first + many.searches]
            seconds += many.run(batch, self._laps)
            inspected += int(many.seen()["inspected"])
            with self._laps:
                found = many.sums(len(batch))
            seconds += self._laps.seconds()[0]
            sums[batch], reached[batch] = found[0], found[1]
            edges += sum(many.edges.whole(int(count)) for count in found[2])
        self._closeness = closeness(graph.n, sums, reached)
        counters = {"roots": len(roots), "edges": edges, "inspected": inspected}
        counters |= {"teps": edges / seconds if seconds else 0.0, "construction_s": many.construction}
        return Run(seconds, time.perf_counter() - begin, counters)

    def validate(self) -> Checked:
        checked = check_closeness(self.graph, self._closeness)
        check_given(self, Closeness, Closeness.blocks(self))
        return checked

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        yield from chosen("closeness", self._closeness, rows)

    def close(self) -> None:
        self._many.free()
