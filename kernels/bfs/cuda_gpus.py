"""Fast over several GPUs: host side of gpus.cu. A rank drives the device of its local number.

Every rank makes the whole layout on its device, keeps the rows of its own vertices (spread.py) and frees the rest. One
launch a rank answers a root; the ranks' kernels meet in memory that all of them map (saitan.cuda.peer_memory). Where
they cannot map it, a launch is one level, and what it found goes by NCCL or the host (cuda_gpus_apart.py).

The time of an answer is the slowest rank's, from when the kernels of all ranks have come and the links between the GPUs
are awake: links rest 50 ms after their last use, and the first use of each takes 105 us (NOTES.md). A level at a time
it is the host's clock, from when all ranks are there to the answer on each.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pycuda.driver as driver

from saitan.bfs.arrange import DeviceLayout, arrange, padded
from saitan.bfs.cuda import Checker, described
from saitan.bfs.cuda_fast import ALPHA, BETA, LEVEL, PIECE, THREADS, TIMEOUT_MS, TIMEOUT_US_A_VERTEX, TRACED
from saitan.bfs.cuda_gpus_apart import Boxes
from saitan.bfs.cuda_step import Rows, words
from saitan.bfs.search import BOTTOM_UP, TOP_DOWN, EdgeCount
from saitan.bfs.spread import Spread
from saitan.blocks import Blockwise, check_given, chosen
from saitan.cuda import device
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.module import function
from saitan.cuda.nccl import Nccl
from saitan.cuda.nccl import require as require_nccl
from saitan.cuda.peer_memory import PeerMemory
from saitan.cuda.timing import Laps
from saitan.exchange import Exchange, Spent
from saitan.graph import Graph
from saitan.problem import Block, Checked, Invalid, Run, Unavailable
from saitan.ranks import current

# As in gpus.cu; the most GPUs of a host.
MOST = 8
CONTROL = np.dtype(
    [(name, np.uint32) for name in ("arrived", "target", "late", "levels", "switches", "up")]
    + [(name, np.uint64) for name in ("inspected", "begun", "searched")]
    + [("pieces", np.uint32, 3), ("more", np.uint32)]
)
SHARED = np.dtype([(name, np.uint64, 3) for name in ("found", "leaving")] + [("barriers", np.uint32, 20)])
# As a launch's last level: all that there are.
EVERY_LEVEL = 2**32 - 1


class Search:
    """The search of gpus.cu on this rank's device.

    layout: of the whole graph, which is only read here; ids: the graph's vertices whose answer is here, ascending;
    answer: their levels and parents, GPUArrays, padded.
    """

    def __init__(self, graph: Graph, layout: DeviceLayout, spread: Spread, buffers: Buffers) -> None:
        ranks = current()
        me, own = ranks.rank, spread.own(ranks.rank)
        self.spread, self._name, self._ranks, self._buffers = spread, graph.name, ranks, buffers
        symmetric, first = layout.backward is layout.forward, buffers.empty(max(1, own), np.int32)
        out = self._rows(layout.forward, first if symmetric else None)
        into = out if symmetric else self._rows(layout.backward, first)
        self.place = layout.place.get()[: graph.n]
        self.ids, numbers = spread.vertices(self.place, me)
        place, old = buffers.upload(numbers), buffers.upload(spread.by_position(layout.old.get()[: layout.k]))
        self.answer = [buffers.empty(padded(len(self.ids)), np.int32) for _ in range(2)]
        self._host = [driver.pagelocked_empty(len(self.ids), np.int32) for _ in range(2)]
        visited, gathered = (buffers.empty(words(spread.positions), np.uint32) for _ in range(2))
        pieces = buffers.empty((own + out.m // PIECE + 1, 2), np.uint64)
        self._control, self._trace = buffers.empty(1, CONTROL), buffers.empty(TRACED, LEVEL)
        self._read = driver.pagelocked_empty(1, CONTROL)
        self._timeout_ms = TIMEOUT_MS + TIMEOUT_US_A_VERTEX * layout.k // 1000
        self._kernel = function(
            "bfs", "gpus", f"search_{out.suffix}", "IIIPQIIIIQQIQI" + 10 * "P" + "II" + 5 * "P" + "IddI"
        )
        self._meet = function("bfs", "gpus", "meet", "IIIPQIQII")
        self._size = (layout.k, layout.forward.m)
        degrees = buffers.upload(spread.by_position(np.diff(layout.forward.offsets.get()).astype(np.uint32)))
        arrays = (out.offsets, out.ends, into.offsets, into.ends, first, degrees, visited, gathered, pieces)
        self._arrays = [*(pointer(array) for array in arrays), pointer(self._control)]
        answer = [pointer(array) for array in self.answer]
        outside = (pointer(place), pointer(old), *answer, pointer(self._trace))
        self._tail = (len(self.ids), *outside, TRACED, ALPHA, BETA, self._timeout_ms)

    def _rows(self, whole: Rows, first) -> Rows:
        """This rank's rows of the layout's; their first entries where asked for."""
        spread, me = self.spread, self._ranks.rank
        offsets = spread.rows(whole.offsets.get(), me)
        made = Rows(spread.own(me), self._buffers.upload(offsets), self._buffers.empty(int(offsets[-1]), np.int32))
        arrays = (whole.offsets, whole.ends, made.offsets, made.ends)
        function("bfs", "gpus", f"spread_{whole.suffix}", "IIII" + 5 * "P").prepared_call(
            (max(1, -(-32 * made.n // THREADS)), 1), (THREADS, 1, 1), made.n, me, spread.gpus, spread.segment,
            *(pointer(array) for array in arrays), 0 if first is None else pointer(first),
        )  # fmt: skip
        return made

    def join(self, exchange: Exchange, way: str) -> None:
        """Map the other ranks' memory, or make boxes for it; all ranks together. way: as of FastGpus."""
        set_bytes = -(-4 * words(self.spread.positions) // 256) * 256
        answer_at = SHARED.itemsize + 3 * set_bytes
        self._exchange, self.shared = exchange, self._mapped(answer_at + 8 * self.spread.segment, way)
        self._boxes = None
        if self.shared is None:
            nccl = self._nccl(way)
            size = -(-(answer_at + 8 * self.spread.segment) // 256) * 256
            self.shared = self._boxes = self._ranks.together_do(
                lambda: Boxes(size, answer_at, self.spread, exchange, nccl)
            )
        table = self._buffers.upload(np.array(self.shared.addresses, np.uint64))
        together = 1 if self._boxes else self.spread.gpus
        self._world = (self._ranks.rank, self.spread.gpus, self.spread.segment, pointer(table), set_bytes, together)
        # A barrier counts the blocks of all GPUs, each as many.
        own = device().get_attribute(driver.device_attribute.MULTIPROCESSOR_COUNT)
        self._blocks = min(self._ranks.each(own))
        self.reset()

    def _mapped(self, size: int, way: str) -> PeerMemory | None:
        """None where the ranks' memory is not to be mapped, or need not be and cannot be."""
        together = min(self._ranks.each(self._ranks.together)) == self._ranks.size
        if way == "peer" and not together:
            raise Unavailable("ranks of several hosts cannot map one another's memory: exchange=nccl")
        if self._ranks.size > 1 and (way not in ("auto", "peer") or not together):
            return None
        try:
            return PeerMemory(size, self._ranks)
        except Unavailable:
            if way == "peer":
                raise
            return None

    def _nccl(self, way: str) -> Nccl | None:
        """What moves the boxes; None for the host."""
        if way == "host":
            return None
        try:
            require_nccl(self._ranks)
        except Unavailable:
            if way == "nccl":
                raise
            return None
        return Nccl(self._ranks.world)

    @staticmethod
    def forecast(graph: Graph, directed: bool, gpus: int) -> int:
        """Bytes of the arrays at most, what is shared apart; the GPUs' parts of the arcs are taken to be alike."""
        n, m = graph.n // gpus + 32, graph.m // gpus + graph.m // (8 * gpus)
        rows = (1 + directed) * Rows.bytes_of(n, m)
        return rows + 16 * (n + m // PIECE) + 8 * graph.n + 28 * n + words(graph.n) * 8 + TRACED * LEVEL.itemsize + 4096

    def reset(self) -> None:
        """As if no barrier had been; all ranks together."""
        driver.memset_d32(pointer(self._control), 0, CONTROL.itemsize // 4)
        driver.memset_d32(self.shared.own, 0, SHARED.itemsize // 4)
        self._target = 0
        driver.Context.synchronize()
        self._ranks.each(None)

    def run(self, position: int, laps: Laps) -> tuple[np.ndarray, float]:
        """Search from a position: the record, and seconds. Raises Unavailable, on all ranks, when one does not end.

        laps: for the time that the GPUs wait for one another, then that of the search.
        """
        seconds = self._alone(position) if self._boxes else self._met(position, laps)
        seen = self._record()
        if max(self._ranks.each(int(seen["late"]))):
            self._give_up()
        return seen, seconds

    def _met(self, position: int, laps: Laps) -> float:
        """One launch on every rank."""
        met = (self._target + self._blocks * self.spread.gpus) % 2**32
        with laps:
            self._meet.prepared_async_call(
                (self._blocks, 1), (THREADS, 1, 1), None,
                *self._world, self.shared.nbytes, self._target, self._timeout_ms,
            )  # fmt: skip
            laps.mark()
            self._launch(position, (1, EVERY_LEVEL, 0, 1, 0), met)
            self._ranks.each(None)
        return laps.seconds()[1]

    def _alone(self, position: int) -> float:
        """A launch a level, by the host's clock."""
        level, up, frontier, leaving = 1, 0, 1, 0
        self._boxes.clear()
        driver.Context.synchronize()
        self._ranks.each(None)
        begin, counts = time.perf_counter(), np.empty(1, SHARED)
        while True:
            # Barriers of this GPU's blocks count from 0 in every launch.
            driver.memset_d32_async(pointer(self._control), 0, 1)
            self._launch(position, (level, level, up, frontier, leaving), self._target)
            seen = self._record()
            up = int(seen["up"])
            driver.memcpy_dtoh(counts, self.shared.own)
            own = [int(counts[0][name][level % 3]) for name in ("found", "leaving")]
            frontier, leaving, late = self._exchange.total(np.array([*own, seen["late"]], np.int64)).tolist()
            if late:
                self._give_up()
            if not frontier:
                break
            self._boxes.share(self.shared.own + SHARED.itemsize + level % 3 * self._world[4])
            level += 1
        self._boxes.deliver()
        self._launch(position, (level + 1, EVERY_LEVEL, up, 0, 0), self._target)
        driver.Context.synchronize()
        return time.perf_counter() - begin

    def _launch(self, position: int, stage: tuple[int, ...], target: int) -> None:
        """stage: as in gpus.cu; target: of the barriers so far."""
        self._kernel.prepared_async_call(
            (self._blocks, 1), (THREADS, 1, 1), None,
            *self._world, *stage, *self._size, position, *self._arrays, target, *self._tail,
        )  # fmt: skip

    def _record(self) -> np.ndarray:
        driver.memcpy_dtoh(self._read, pointer(self._control))
        self._target = int(self._read[0]["target"])
        return self._read[0]

    def _give_up(self) -> None:
        """On all ranks together."""
        self.reset()
        raise Unavailable(f"fast-gpus gave up on {self._name} after {self._timeout_ms / 1000:g} s")

    def trace(self, levels: int) -> np.ndarray:
        """An entry a level."""
        trace = np.empty(levels, LEVEL)
        driver.memcpy_dtoh(trace, pointer(self._trace))
        return trace

    def deliver(self) -> tuple[np.ndarray, np.ndarray]:
        """Levels and parents of `ids`, in page-locked memory that the next answer reuses."""
        for host, there in zip(self._host, self.answer, strict=True):
            driver.memcpy_dtoh(host, pointer(there))
        return self._host[0], self._host[1]


class FastGpus(Blockwise):
    """One root at a time over all ranks that were joined, a GPU each; alone on one.

    exchange: "peer", "nccl", "host", or "auto": peer where all ranks are of one host and map one another's memory,
    otherwise nccl, or host where there is none.

    Raises Unavailable, on every rank, where one has no GPU or not enough memory, or where peers or NCCL are asked for
    and cannot be had.
    """

    def __init__(self, graph: Graph, *, exchange: str = "auto") -> None:
        self.graph, self.root = graph, -1
        self.ranks = current()
        if self.ranks.size > MOST:
            raise Unavailable(f"fast-gpus is for up to {MOST} ranks")
        self.ranks.together_do(device)
        self._exchange = Exchange(self.ranks.world, Spent())
        self._gated = Laps(3, gated=True)
        begin = time.perf_counter()
        self.ranks.together_do(self._make)
        self.search.join(self._exchange, exchange)
        self.construction = self.ranks.slowest(time.perf_counter() - begin)
        edges = EdgeCount(graph)
        self._whole, self._ends = edges.whole, edges.ends[self.search.ids]
        self._all_ids = self._exchange.gather_unequal(self.search.ids)
        self.transfer = self.buffers.upload_time

    def _make(self) -> None:
        graph = self.graph
        directed = graph.metadata.get("directed", True)
        # The leading rank checks, and needs the graph's rows for it; the others need them for the layout only.
        self.rules = Checker(graph) if self.ranks.leads else None
        meanwhile = Buffers(Rows.forecast(graph), described(graph))
        rows = self.rules.rows if self.rules else Rows.upload(graph, meanwhile)
        layout, _ = arrange(graph, rows, meanwhile)
        self.buffers = Buffers(Search.forecast(graph, directed, self.ranks.size), described(graph))
        self.search = Search(graph, layout, Spread(graph.n, layout.k, self.ranks.size), self.buffers)
        driver.Context.synchronize()
        meanwhile.free()

    @property
    def memory(self) -> int:
        return self.buffers.nbytes + self.search.shared.nbytes

    def run(self, root: int) -> Run:
        """Answer one root, on all ranks; phases has direction, frontier, inspected, seconds."""
        begin = time.perf_counter()
        position = self.search.spread.position(int(self.search.place[root]))
        seen, seconds = self.search.run(position, self._gated)
        seen = seen.copy()
        self.root = root
        levels, _ = self.search.deliver()
        total = time.perf_counter() - begin
        disturbed = next(filter(None, self.ranks.each(self._gated.disturbed)), "")
        ends = sum(self.ranks.each(int(self._ends[levels >= 0].sum())))
        seconds, total = (self.ranks.slowest(value) for value in (seconds, total))
        edges = self._whole(ends)
        counters = {name: int(seen[name]) for name in ("levels", "switches")}
        counters |= {"inspected": sum(self.ranks.each(int(seen["inspected"]))), "edges": edges}
        counters |= {"construction_s": self.construction, "teps": edges / seconds, "teps_median": edges / seconds}
        counters["search_s"] = self.ranks.slowest(int(seen["searched"] - seen["begun"]) * 1e-9)
        return Run(seconds, total, counters, self._phases(seen), {}, disturbed)

    def _phases(self, seen: np.ndarray) -> dict[str, np.ndarray]:
        """An entry a level, seconds those of the slowest rank; none for a search of more than TRACED levels."""
        if seen["levels"] > TRACED:
            return {}
        trace = self.search.trace(int(seen["levels"]))
        looked = np.diff(np.append(trace["inspected"], seen["inspected"]).astype(np.int64))
        seconds = np.diff(np.append(trace["ns"], seen["searched"]).astype(np.int64)) * 1e-9
        return {
            "direction": np.where(trace["bottom_up"], BOTTOM_UP, TOP_DOWN),
            "frontier": trace["frontier"].astype(np.int64),
            "inspected": np.sum(self.ranks.each(looked), axis=0),
            "seconds": np.max(self.ranks.each(seconds), axis=0),
        }

    def _gathered(self) -> list[np.ndarray]:
        """Levels and parents, int32 [n], on every rank."""
        whole = []
        for own in self.search.deliver():
            values = np.empty(self.graph.n, np.int32)
            for ids, part in zip(self._all_ids, self._exchange.gather_unequal(own), strict=True):
                values[ids] = part
            whole.append(values)
        return whole

    def validate(self) -> Checked:
        """Graph500's rules, on the leading rank's device. Raises Invalid, on every rank the same."""
        answer, wrong, checked = self._gathered(), None, None
        if self.rules:
            meanwhile = Buffers(8 * self.graph.n, described(self.graph))
            try:
                checked = self.rules(self.root, *(meanwhile.upload(values) for values in answer))
            except Invalid as error:
                wrong = str(error)
            meanwhile.free()
        if wrong := self.ranks.agree(wrong):
            raise Invalid(wrong)
        check_given(self, FastGpus, FastGpus.blocks(self))
        return self.ranks.agree(checked)

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        """The last answer, on every rank; every rank must take all blocks."""
        for name, values in zip(("levels", "parents"), self._gathered(), strict=True):
            yield from chosen(name, values, rows)

    def close(self) -> None:
        self.search.shared.free()
        self.buffers.free()
        if self.rules:
            self.rules.close()
