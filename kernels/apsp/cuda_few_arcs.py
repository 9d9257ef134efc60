"""`fast` for matrices and dense graphs on the GPU: host side of few_arcs.cu.

A row's k least arcs are taken, and that sparse graph is solved (fast.cu). The arcs that are shorter than the distances
found are listed and added, and it is solved again, until there is none. Then the distances are those of the whole: none
is shorter than a path, and no arc is shorter than a distance. On random weights k = 24 leaves none, or few. Where
weights are nearly metric, nearly all arcs are needed: more of them than may be listed are shorter than any way of two
or three. Where most are infinite, paths may be long. Some rows show both in preparation, since a look takes as long as
a tenth of closing a small matrix; blocked Floyd-Warshall then closes it.
"""

from __future__ import annotations

import time

import numpy as np
import pycuda.driver as driver

from saitan.apsp.cuda_dense import FloydWarshallBlocked
from saitan.apsp.instances import Instance
from saitan.apsp.near_far import STEP, placed, row_bytes
from saitan.cuda import device
from saitan.cuda.buffers import pointer
from saitan.cuda.constants import constants
from saitan.cuda.module import function
from saitan.cuda.timing import Laps
from saitan.tropical.cuda_common import ENTRY
from saitan.tropical.semiring import SumOverflow, infinity

_SIZES = constants("apsp", "few_arcs.cu")
THREADS, SAMPLED, ACROSS, SLICES = (_SIZES[name] for name in ("THREADS", "SAMPLED", "ACROSS", "SLICES"))
# Blocks that go through a matrix: more than are resident at once.
GRID = 4096
# Arcs of a row at first, and lanes that share a vertex's.
LEAST, LANES = 24, 8
# Vertices under which blocked Floyd-Warshall is as quick; and under which it is where few arcs are finite, since some
# rows would take as long as all.
SMALL, FEW = 512, 4096
# Arcs a row, on average, that are listed in all; more is no sparse graph.
LISTED = 64
# Columns of the rows that are looked at, and parts that all arcs into them are cut into. Of ways of two arcs alone
# random weights leave sqrt(pi n / 2) arcs a row undercut by none, of ways of three too 1.6 times the cube root of n.
COLUMNS, PARTS = 2048, 8
# Vertices from which a second search pays, and arcs a row for which one is enough.
AGAIN, ONCE = 640, 16
# Words of an arc, and of one with its row, which begins at a multiple of an arc's eight bytes.
ARC, FOUND = 2, 4
# Sum and number of the least arcs, arcs listed (or more, where there was no room), whether a distance is no entry, arcs
# of some rows that no way of a few arcs undercuts.
TOLD = np.dtype([("total", "f8"), ("number", "u4"), ("listed", "u4"), ("lost", "u4"), ("direct", "u4")])
# What fast.cu reports, and the numbers of these.
REPORT, OVERFLOW, RELAXED, ROUNDS = 4, 1, 2, 3


# Measured on an H200: arcs a second that one source a block goes through on complete graphs, pairs of entries of four
# bytes that blocked Floyd-Warshall does. A graph of more vertices is not made a matrix, which takes 4 GiB twice.
ARCS, PAIRS, MOST = 1.3e12, 1.6e13, 2**15


def zero(*arrays) -> None:
    for array in arrays:
        driver.memset_d32_async(pointer(array), 0, array.nbytes // 4, None)


def room() -> list[int]:
    """Bytes of shared memory that a block may have and that a multiprocessor has, and multiprocessors."""
    attribute = driver.device_attribute
    wanted = (
        attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        attribute.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        attribute.MULTIPROCESSOR_COUNT,
    )
    return [device().get_attribute(what) for what in wanted]


def suits_matrix(instance: Instance) -> bool:
    """Whether all distances of a graph are asked for, fit a matrix's type, and come sooner from its matrix."""
    graph = instance.graph
    whole = instance.answer == "matrix" and instance.sources == graph.n <= MOST
    limit = infinity(np.int32) if graph.weights.dtype == np.uint32 else np.finfo(np.float32).max
    slower = graph.n * graph.m / ARCS > 2 * closing_seconds(graph.n, 4)
    return whole and slower and instance.longest < float(limit)


def closing_seconds(n: int, itemsize: int) -> float:
    """What blocked Floyd-Warshall takes: 1 us a vertex for its chain of diagonal blocks, and its pairs."""
    return 1e-6 * n + n**3 / (PAIRS * 4 / itemsize)


class FewArcs(FloydWarshallBlocked):
    """The whole matrix by the least arcs of its rows, or as its base closes it."""

    def workspace(self) -> int:
        n = self.n
        fits = n >= SMALL
        self.layout = placed(n, row_bytes(n, np.uint32), n, *room(), LANES, "arcs") if fits else None
        if self.layout is None:
            return super().workspace()
        words = n * (2 * ARC * LEAST + (ARC + FOUND) * LISTED + 4 + 2 * SAMPLED) + 2 + 2 * REPORT
        return super().workspace() + 4 * words + TOLD.itemsize + (4 * n * n if self.entries.itemsize < 4 else 0)

    def prepare_work(self) -> None:
        super().prepare_work()
        if self.layout is None:
            return
        n, own = self.n, self.buffers
        counts = n * LEAST * ARC, n * (LEAST + LISTED) * ARC, n * LISTED * FOUND
        self._least, self._joined, self._listed = (own.empty(count, np.uint32) for count in counts)
        self._even = own.upload(np.arange(n + 1, dtype=np.int32) * np.int32(LEAST))
        self._offsets = own.empty(n + 1, np.int32)
        self._extra, self._filled = (own.empty(n, np.uint32) for _ in range(2))
        self._report, self._told = own.empty(REPORT, np.uint64), own.empty(TOLD.itemsize // 4, np.uint32)
        self._ways = [own.empty(SAMPLED * n, np.uint32) for _ in range(2)]
        self._found = self.matrix if self.entries.itemsize == 4 else own.empty((n, n), np.uint32)
        kind = self.entries.name
        self._detours = function("apsp", "few_arcs", f"detours_{kind}", f"Pii{ENTRY[kind]}PP").prepared_async_call
        self._direct = function("apsp", "few_arcs", f"direct_{kind}", f"Pii{ENTRY[kind]}PP").prepared_async_call
        self._take = function("apsp", "few_arcs", f"least_{kind}", f"Pii{ENTRY[kind]}PPP").prepared_async_call
        about = f"PPqii{ENTRY[kind]}PPIPPP"
        self._compare = function("apsp", "few_arcs", f"compare_{kind}", about).prepared_async_call
        self._join = function("apsp", "few_arcs", "join", "iiPPPIPP").prepared_async_call
        number, suffix = ("f", "f4_f4_i4") if self.entries.kind == "f" else ("I", "u4_u4_i4")
        self._search = function("apsp", "fast", f"fast_{LANES}_arcs_{suffix}", f"iiPP{number}iiPPP")
        self._search.set_attribute(driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, self.layout.shared)
        self._pays = self._looks_sparse()

    def close_matrix(self) -> tuple[float, dict[str, float]]:
        spent = 0.0
        if self.layout is not None and self._pays:
            laps = Laps(2)
            laps.mark()
            counted = self._close_sparse()
            laps.mark()
            spent = laps.seconds()[0]
            if counted is not None:
                return spent, counted
            self._pays = False
        seconds, counted = super().close_matrix()
        return spent + seconds, counted | {"arcs_row": 0}

    def _close_sparse(self) -> dict[str, float] | None:
        """Counters; None where too many arcs are needed, or a sum does not fit."""
        n, graph = self.n, (self._even, self._least)
        listed, phases, relaxations = 0, 0, 0
        self._take_least()
        while True:
            # The host waits once a round: between short kernels that is what takes longest.
            self._solve(*graph, listed / n, 0, n)
            told = self._list(0, n)
            report = self._report.get()
            phases, relaxations = phases + int(report[ROUNDS]), relaxations + int(report[RELAXED])
            if told["listed"] > n * LISTED or report[OVERFLOW]:
                return None
            if told["listed"] == listed:
                break
            listed, graph = int(told["listed"]), (self._offsets, self._joined)
            self._join_listed(listed)
        if told["lost"]:
            raise SumOverflow(self.entries)
        return {"phases": phases, "relaxations": relaxations, "arcs_row": LEAST + listed / n}

    def _looks_sparse(self) -> bool:
        """Whether few arcs will do, by some rows."""
        n, rows = self.n, self.layout.blocks
        if self._direct_arcs() > (LEAST + LISTED if n >= AGAIN else ONCE):
            return False
        self._weigh_least()
        if n < max(FEW, 2 * rows):
            return self._arcs_row >= LEAST / 2
        # The first one loads the kernel.
        for count in (1, rows):
            start = time.perf_counter()
            self._solve(self._even, self._least, 0, n // 2, count)
            driver.Context.synchronize()
            seconds = (time.perf_counter() - start) * n / rows
        crowded = self._list(n // 2, rows)["listed"] > rows * LISTED
        return not crowded and seconds < closing_seconds(n, self.entries.itemsize)

    def _direct_arcs(self) -> float:
        """How many arcs of a row are shorter than all ways of two or three arcs, the mean of some rows."""
        n, infinite = self.n, infinity(self.entries)
        about, columns, threads = (pointer(self.a), n), min(n, COLUMNS), (ACROSS * SLICES, 1, 1)
        zero(self._told)
        from_, wide = 0, n
        for to in self._ways:
            driver.memset_d32_async(pointer(to), int(infinite.view(f"u{infinite.itemsize}")), to.size, None)
            self._detours((-(-wide // ACROSS), PARTS), threads, None, *about, wide, infinite, from_, pointer(to))
            from_, wide = pointer(to), columns
        grid, [direct] = (-(-columns // THREADS), SAMPLED), self._where("direct")
        self._direct(grid, (THREADS, 1, 1), None, *about, columns, infinite, from_, direct)
        return int(self._told.get().view(TOLD)[0]["direct"]) * n / (columns * SAMPLED)

    def _weigh_least(self) -> None:
        """The mean weight of the least arcs and how many a row has, by which a search is steered."""
        self._take_least()
        taken = self._told.get().view(TOLD)[0]
        self._mean, self._arcs_row = float(taken["total"]) / max(1, taken["number"]), taken["number"] / self.n

    def _take_least(self) -> None:
        """Takes the least arcs of every row; tells the sum of their weights and their number."""
        zero(self._told, self._extra)
        self._take(
            (self.n, 1), (THREADS, 1, 1), None,
            pointer(self.a), self.n, LEAST, infinity(self.entries), pointer(self._least),
            *self._where("total", "number"),
        )  # fmt: skip

    def _where(self, *names: str) -> list[int]:
        """Device addresses of fields of TOLD."""
        return [pointer(self._told) + TOLD.fields[name][1] for name in names]

    def _solve(self, offsets, arcs, more: float, first: int, count: int) -> None:
        """Distances from some vertices in the sparse graph. more: arcs a row beyond the least."""
        made, step = self.layout, STEP * self._mean / max(1, self._arcs_row + more)
        step = np.float32(step if step > 0 else 1) if self.entries.kind == "f" else np.uint32(min(max(1, step), 2**31))
        zero(self._report)
        self._search.prepared_async_call(
            (min(made.blocks, count), 1), (made.threads, 1, 1), None,
            self.n, made.capacity, pointer(offsets), pointer(arcs), step, first, count, 0, pointer(self._found),
            pointer(self._report), shared_size=made.shared,
        )  # fmt: skip

    def _list(self, first: int, count: int) -> np.void:
        """Lists the arcs that are shorter than what was found, which becomes entries of the matrix."""
        listed, lost = self._where("listed", "lost")
        self._compare(
            (GRID, 1), (THREADS, 1, 1), None,
            pointer(self.a), pointer(self._found), count * self.n, self.n, first, infinity(self.entries),
            pointer(self.matrix), pointer(self._listed), count * LISTED, listed, pointer(self._extra), lost,
        )  # fmt: skip
        return self._told.get().view(TOLD)[0]

    def _join_listed(self, listed: int) -> None:
        """All arcs of a row one after the other. What did not fit a distance may fit the next."""
        counts = self._extra.get().astype(np.int64) + LEAST
        self._offsets.set(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
        zero(self._filled)
        driver.memset_d32_async(*self._where("lost"), 0, 1, None)
        self._join(
            (GRID, 1), (THREADS, 1, 1), None, self.n, LEAST, pointer(self._offsets), pointer(self._least),
            pointer(self._listed), listed, pointer(self._filled), pointer(self._joined),
        )  # fmt: skip
