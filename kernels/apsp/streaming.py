"""Answers larger than memory: sources are answered a slab at a time, and each slab goes to a sink or is reduced.

A *slab* holds the rows of neighbouring sources. `Slabs` hands them on; `Reductions` keeps a few numbers of every row:

    reached       vertices reached, the source included
    total         sum of their distances
    eccentricity  the largest of them
    closeness     (reached - 1)^2 / ((n - 1) total): the inverse of the mean distance, times the share reached; 0 where
                  total is 0 (Wasserman and Faust's, of distances from the source)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from saitan.apsp.instances import Instance
from saitan.apsp.validate import CERTIFIED, Certificate
from saitan.blocks import Blockwise, Sink, check_given, check_output, chosen, on_host
from saitan.graph_input import shown
from saitan.named import check_takes
from saitan.problem import Block, Checked, Invalid, Misdeclared, Run, Unavailable
from saitan.ranks import Ranks, current
from saitan.sssp import unreachable

# Bytes of a slab at most on the device, where a quarter of what is free is taken otherwise, and on the host.
DEVICE_SLAB, HOST_SLAB = 1 << 32, 1 << 28
# A slab of more rows has a multiple of so many, which fills the batches of a sweep.
ROWS = 1024
# Of several ranks each gets about so many.
SLABS_A_RANK = 4
# Counters that are sums over slabs; of the others the last slab's stands for all.
SUMS = ("phases", "relaxations")
# What a solver has, beside that of Solver, whose answer leaves in slabs.
_OF_A_SLAB = ("produce", "slab", "dtype", "longest", "certificate", "transfer", "close")

# Of some rows: eccentricities, numbers reached, totals.
Columns = tuple[np.ndarray, np.ndarray, np.ndarray]


def slab_rows(instance: Instance, backend: str) -> int:
    """Rows of a slab."""
    size = HOST_SLAB
    if backend == "cuda":
        import pycuda.driver as driver

        from saitan.cuda import device

        device()
        size = min(DEVICE_SLAB, driver.mem_get_info()[0] // 4)
    rows = max(1, size // (instance.n * instance.dtype.itemsize))
    rows = min(instance.sources, rows if rows < ROWS else rows // ROWS * ROWS)
    several = current()
    if several.size > 1:
        # Several slabs a rank, so that one that is slower takes fewer; of the same size on all.
        rows = min(rows, max(1, instance.sources // (SLABS_A_RANK * several.size)))
    return min(several.each(rows))


def _most(dtype: np.dtype) -> float:
    """Sums below it fit the type, for floats with what rounding adds."""
    return float(np.finfo(dtype).max) * 0.99 if dtype.kind == "f" else unreachable(dtype).item()


class Slabs:
    """A solver whose answer leaves in slabs.

    make: the solver of an instance that holds a whole matrix; rows: of a slab, where they are not chosen here

    Several ranks (saitan.ranks) take slabs from a shared counter, and each hands on its own. done: first rows of slabs
    that are left out.
    """

    streamed = True

    def __init__(
        self, instance: Instance, backend: str, make: Callable[[Instance], Any], rows: int | None = None
    ) -> None:
        self.instance, self.rows = instance, rows or slab_rows(instance, backend)
        self.solver = make(replace(instance, sources=self.rows))
        if lacking := [name for name in _OF_A_SLAB if not hasattr(self.solver, name)]:
            right = 'instance={"answer": ("matrix",)} of its Variant leaves such points out'
            made = type(self.solver).__name__
            raise Misdeclared(f"a solver of class {made} has no {lacking[0]}, as slabs and reductions want: {right}")
        check_takes(self.solver.produce, ["query"], name="produce")
        self.transfer, self.done, self._ranks = self.solver.transfer, frozenset[int](), current()
        self._fits, self._settled = self.solver.longest < _most(self.solver.dtype), set[tuple[int, int]]()

    @property
    def memory(self) -> int:
        return self.solver.memory

    def run(self, query: list[int], sink: Sink) -> Run:
        """Answer one range of sources into a sink. The kernel time is without the sink's."""
        begin = time.perf_counter()
        runs = []
        for low, run in self._slabs(query):
            runs.append(run)
            sink(Block("distances", low, self.solver.slab()))
        return self._joined(query, runs, begin)

    def _slabs(self, query: list[int]) -> Iterator[tuple[int, Run]]:
        """The first row of every slab and its run, while its rows are in the solver's slab."""
        dtype = self.settle(query)
        parts = self._parts(query)
        for number in self._ranks.tickets(len(parts)):
            low, part = parts[number]
            run = self.solver.produce(part)
            if not isinstance(run, Run):
                made = type(self.solver).__name__
                raise Misdeclared(f"produce of a solver of class {made} gives {shown(run)}: a Run is right")
            if self.solver.dtype != dtype:
                raise Invalid(f"the slab at row {low:,} has distances of {self.solver.dtype}, those before {dtype}")
            self._check_slab(low, part[1], dtype)
            yield low, run

    def _check_slab(self, low: int, rows: int, dtype: np.dtype) -> None:
        slab, right = self.solver.slab(), (rows, self.instance.n)
        if not hasattr(slab, "__cuda_array_interface__"):
            check_output("distances", slab, right)
        elif slab.shape != right:
            raise Invalid(f"the slab at row {low:,} has the shape {slab.shape}: {right} is right")
        if slab.dtype != dtype:
            told = f"its solver's dtype is {dtype}: the same is right"
            raise Invalid(f"the slab at row {low:,} has distances of {slab.dtype}, and {told}")

    def _parts(self, query: list[int]) -> list[tuple[int, list[int]]]:
        """The first row of every slab that is not done, and its query."""
        first, count = self.instance.range_of(query)
        return [(low, [first + low, rows]) for low, rows in self.slabs(count).items()]

    def settle(self, query: list[int]) -> np.dtype:
        """The type of the distances: one that does not fit widens those of all slabs, so it is looked for before."""
        if not self._fits and (which := self.instance.range_of(query)) not in self._settled:
            for _, part in self._parts(query):
                self.solver.produce(part)
            self._settled.add(which)
        return np.dtype(self.solver.dtype)

    def slabs(self, count: int) -> dict[int, int]:
        """The first row of every slab that is not done, and its rows."""
        return {low: min(self.rows, count - low) for low in range(0, count, self.rows) if low not in self.done}

    def _joined(self, query: list[int], runs: list[Run], begin: float, more: float = 0.0) -> Run:
        seconds, count = self._ranks.slowest(sum(run.kernel for run in runs) + more), query[1]
        runs = [run for own in self._ranks.each(runs) for run in own]
        if not runs:
            return Run(seconds, time.perf_counter() - begin)
        counted = runs[-1].counters | {
            name: sum(run.counters[name] for run in runs) for name in SUMS if name in runs[-1].counters
        }
        counted["entries_s"] = count * self.instance.n / seconds
        if "launches" in counted:
            counted["launches"] = counted["phases"] / count
        work = {name: sum(run.work[name] for run in runs) for name in runs[-1].work}
        return Run(seconds, time.perf_counter() - begin, counted, work=work)

    def checker(self, query: list[int]) -> SlabChecker:
        """A sink for `run` that certifies every slab as it is handed out."""
        return SlabChecker(self.solver.certificate, query[0], self.slabs(query[1]), self._ranks)

    def close(self) -> None:
        self.solver.close()


class SlabChecker:
    """Certifies every slab that it is handed, whatever the solver holds. Raises Invalid.

    certificate: of the graph, for slabs where they lie; first: the source of row 0; slabs: first row of each that is
    expected, from some rank, and its rows; of a single rank in their order.
    """

    def __init__(self, certificate: Certificate, first: int, slabs: dict[int, int], ranks: Ranks) -> None:
        self._certificate, self._first, self._ranks = certificate, first, ranks
        self._left, self._expected = dict(slabs), sum(slabs.values())
        self._rows = 0

    def __call__(self, block: Block) -> None:
        following = min(self._left, default=None)
        if block.first not in self._left or (self._ranks.size == 1 and block.first != following):
            raise Invalid(
                f"a slab begins at row {block.first:,}, not {following if following is None else f'{following:,}'}"
            )
        self._certificate.check(self._first + block.first, block.array)
        del self._left[block.first]
        self._rows += len(block.array)

    def finish(self) -> Checked:
        rows, left = sum(self._ranks.each(self._rows)), set.intersection(*self._ranks.each(set(self._left)))
        if rows != self._expected or left:
            raise Invalid(f"{rows:,} rows came, not {self._expected:,}")
        return CERTIFIED


class Reductions(Slabs, Blockwise):
    """A solver that keeps a few numbers of every row.

    reduce: the seconds that reducing a solver's slab took, and its eccentricities, numbers reached and totals
    """

    streamed = False

    def __init__(self, instance: Instance, backend: str, make: Callable[[Instance], Any]) -> None:
        super().__init__(instance, backend, make)
        if backend == "cuda":
            from saitan.apsp.cuda_reduce import DeviceReducer

            self.reduce = DeviceReducer(self.rows)
        else:
            self.reduce = reduced_on_host
        self._answer: dict[str, np.ndarray] = {}
        self._query: list[int] = []
        self._certified: dict[str, dict[str, np.ndarray]] = {}

    def run(self, query: list[int]) -> Run:
        """Answer one range of sources. The kernel time includes the reduction."""
        begin, seconds = time.perf_counter(), []
        runs = []

        def each(low: int, run: Run, taken: float, part: Columns) -> None:
            runs.append(run)
            seconds.append(taken)

        self._answer, self._query = self._reduced(query, each), query
        return self._joined(query, runs, begin, sum(seconds))

    def _reduced(self, query: list[int], each: Callable[[int, Run, float, Columns], None]) -> dict[str, np.ndarray]:
        """each: is told of every slab while the solver holds it: first row, run, seconds of reducing, what came out."""
        own = []
        for low, run in self._slabs(query):
            taken, part = self.reduce(self.solver)
            _check_totals(query[0] + low, part)
            each(low, run, taken, part)
            own.append((low, part))
        parts = sorted((part for parts in self._ranks.each(own) for part in parts), key=lambda part: part[0])
        columns = zip(*(columns for _, columns in parts), strict=True)
        eccentricity, reached, total = (np.concatenate(column) for column in columns)
        return named(self.instance.n, eccentricity, reached, total)

    def validate(self) -> Checked:
        """Compare with the numbers of a run of its own, once a query, whose every slab is certified; one row of each is
        reduced again by NumPy.
        """
        key = str(self._query)
        if key not in self._certified:
            self._certified[key] = self._reduced(self._query, self._certify)
        for name, expected in self._certified[key].items():
            if not np.array_equal(self._answer[name], expected):
                raise Invalid(f"{name} differs from that of the certified slabs")
        check_given(self, Reductions, Reductions.blocks(self))
        return CERTIFIED

    def _certify(self, low: int, run: Run, taken: float, part: Columns) -> None:
        slab, n = self.solver.slab(), self.instance.n
        self.solver.certificate.check(self._query[0] + low, slab)
        row = len(slab) // 2
        found = named(n, *(column[row : row + 1] for column in part))
        for name, [value] in named(n, *reduced_rows(on_host(slab[row : row + 1]))).items():
            got = found[name][0]
            same = value.dtype.kind == "f" and np.isclose(got, value, rtol=1e-9, atol=0)
            if not (got == value or same):
                raise Invalid(f"row {low + row:,}: {name} is {got}, NumPy has {value}")

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        for name, values in self._answer.items():
            yield from chosen(name, values, rows)

    def close(self) -> None:
        if hasattr(self.reduce, "free"):
            self.reduce.free()
        super().close()


def reduced_rows(distances: np.ndarray) -> Columns:
    """Of rows [rows, n]: eccentricities (their dtype), numbers reached (int64), totals (uint64 or float64)."""
    there = distances != unreachable(distances.dtype)
    total = np.float64 if distances.dtype.kind == "f" else np.uint64
    largest = np.where(there, distances, distances.dtype.type(0)).max(axis=1)
    return largest, there.sum(axis=1, dtype=np.int64), distances.sum(axis=1, dtype=total, where=there)


def _check_totals(first: int, part: Columns) -> None:
    """Raise Unavailable where a total of whole numbers may not fit 64 bits, which wrap. first: the source of row 0."""
    eccentricity, reached, total = part
    if total.dtype.kind == "u":
        row = int((most := reached * eccentricity.astype(np.float64)).argmax())
        if most[row] >= 2.0**64:
            raise Unavailable(
                f"the distances from source {first + row:,} may add up to 2^64 or more, which no total holds:"
                " `answer: slabs` (apsp.slabs) has each of them"
            )


def reduced_on_host(solver: Any) -> tuple[float, Columns]:
    """`Reductions.reduce` for a solver on the CPU."""
    begin = time.perf_counter()
    rows = reduced_rows(solver.slab())
    return time.perf_counter() - begin, rows


def named(n: int, eccentricity: np.ndarray, reached: np.ndarray, total: np.ndarray) -> dict[str, np.ndarray]:
    """The outputs by their names."""
    scale = (n - 1) * total.astype(np.float64)
    closeness = np.divide((reached - 1.0) ** 2, scale, out=np.zeros(len(total)), where=scale > 0)
    return {"eccentricity": eccentricity, "reached": reached, "total": total, "closeness": closeness}
