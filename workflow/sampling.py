"""How a point is sampled: prepare, warm up, rounds of all queries until the median settles, every answer validated."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import psutil

from saitan.blocks import Digest, Rows, both
from saitan.problem import Checked, Invalid, Reference, Run
from saitan.ranks import Ranks, current
from saitan.workflow.step import Failure, load_numba, progress

# A core that others keep busy for more than this share of the time of a round is other load on the machine.
OTHER_LOAD = 0.15
# System times count in steps of 10 ms: a shorter time says nothing of the others' share.
LEAST_WATCHED = 0.25


@dataclass
class Sampled:
    """The rows of a point, one a timed answer, and what can be said of them together.

    settled    whether the medians of the last rounds lie within the spread asked for
    spread     how far they lay apart, over their median; of a single round infinity
    disturbed  why the times say little, each reason once
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    settled: bool = False
    spread: float = float("inf")
    disturbed: list[str] = field(default_factory=list)


@contextmanager
def prepared(package: ModuleType, instance: Any, settings: dict[str, Any]) -> Iterator[Any]:
    """The solver of a point, closed at the end. Raises Failure for parameters that the variant refuses."""
    if settings["backend"] == "cpu":
        load_numba()
    try:
        solver = package.prepare(instance, settings["variant"], settings["backend"], **settings["parameters"])
    except ValueError as error:
        raise Failure(f"{settings['variant']} with {settings['parameters']}: {error}") from None
    try:
        yield solver
    finally:
        solver.close()


class Answering:
    """Answers queries and checks every answer. The first is also compared with the reference."""

    def __init__(
        self, package: ModuleType, solver: Any, reference: Reference | None, ranks: Ranks | None = None
    ) -> None:
        self._package, self._solver, self._reference = package, solver, reference
        self._ranks = ranks or current()
        self._streamed = bool(getattr(solver, "streamed", False))
        self._digests: dict[str, tuple[Digest, Checked]] = {}
        self._first = True

    def warm_up(self, query: Any) -> None:
        """Answer a query whose time does not count."""
        if self._streamed:
            self._certify(query)
        else:
            self._solver.run(query)

    def answer(self, query: Any) -> tuple[Run, Checked]:
        """A timed answer, checked. Raises Invalid."""
        if not self._streamed:
            run = self._solver.run(query)
            checked = self._solver.validate()
            if self._first and self._reference is not None:
                rows = Rows(self._reference.rows)
                for block in self._solver.blocks(self._reference.rows):
                    rows(block)
                self._compare(rows)
            self._first = False
            return run, checked
        expected, checked = self._certify(query)
        digest = Digest()
        run = self._solver.run(query, digest)
        if digest != expected:
            raise Invalid(
                f"the timed answer to {query} differs from the one that was checked: {digest}, not {expected}"
            )
        return run, checked

    def _certify(self, query: Any) -> tuple[Digest, Checked]:
        """The digest of an answer of which every block was checked, from an untimed run, once a query."""
        key = str(query)
        if key not in self._digests:
            check, digest = self._solver.checker(query), Digest()
            sinks = [check, digest]
            compared = self._first and self._reference is not None
            rows = Rows(self._reference.rows) if compared else None
            self._solver.run(query, both(*sinks, *([rows] if compared else [])))
            self._digests[key] = digest, check.finish()
            if rows is not None:
                self._compare(rows)
            self._first = False
        return self._digests[key]

    def _compare(self, rows: Rows) -> None:
        # Of several ranks the leading one has the answer's blocks.
        if not self._ranks.leads:
            return
        if difference := self._package.differs(self._reference, rows.answer()):
            raise Invalid(f"differs from the reference solver ({self._reference.by}): {difference}")


class Others:
    """What other processes than the ranks take of the machine's cores meanwhile, in cores."""

    def __init__(self, ranks: Ranks | None = None) -> None:
        self._process, self._ranks = psutil.Process(), ranks or current()
        self._start = self._now()

    def _now(self) -> tuple[float, float, float]:
        system, own = psutil.cpu_times(), self._process.cpu_times()
        busy = sum(system) - system.idle - getattr(system, "iowait", 0.0)
        # Guests are counted in user time too.
        busy -= getattr(system, "guest", 0.0) + getattr(system, "guest_nice", 0.0)
        return time.perf_counter(), busy, self._ranks.on_this_host(own.user + own.system)

    def load(self) -> float:
        """Cores that others kept busy since the last call; 0 where the time was too short to tell."""
        now = self._now()
        wall, busy, own = (after - before for after, before in zip(now, self._start, strict=True))
        if wall < LEAST_WATCHED:
            return 0.0
        self._start = now
        return max(0.0, (busy - own) / wall)


def sample(
    answering: Answering, solver: Any, queries: list, settings: dict[str, Any], ranks: Ranks | None = None
) -> Sampled:
    """Whole rounds of all queries until the median has settled or the budget is spent.

    Raises Invalid for a wrong answer, before its time counts.
    """
    ranks = ranks or current()
    sampled, medians, others = Sampled(), [], Others(ranks)
    deadline = time.perf_counter() + settings["budget_s"]
    while True:
        label = f"{settings['variant']} on {settings['graph']}, round {len(medians) + 1}"
        rows = []
        for query in progress(queries, label):
            run, checked = answering.answer(query)
            rows.append(_row(query, len(medians), run, checked, ranks))
        if settings["traced"] and not medians and hasattr(solver, "count"):
            for row, query in zip(rows, queries, strict=True):
                row |= {f"phase_{name}": values.tolist() for name, values in solver.count(query).items()}
        if settings["backend"] == "cpu" and (load := others.load()) > OTHER_LOAD:
            sampled.disturbed.append("other work on the machine")
            for row in rows:
                row["disturbed"] = row["disturbed"] or f"other work took {load:.1f} cores"
        sampled.rows += rows
        medians.append(statistics.median(row["seconds"] for row in rows))
        if ranks.agree(finished(medians, settings) or time.perf_counter() > deadline):
            break
    sampled.spread = spread_of(medians, settings)
    sampled.settled = sampled.spread <= settings["spread"]
    sampled.disturbed += [
        row["disturbed"] for row in sampled.rows if row["disturbed"] and "cores" not in row["disturbed"]
    ]
    sampled.disturbed = list(dict.fromkeys(sampled.disturbed))
    return sampled


def _row(query: Any, number: int, run: Run, checked: Checked, ranks: Ranks) -> dict[str, Any]:
    row = {"query": str(query), "round": number}
    row |= {"seconds": ranks.slowest(run.kernel), "total_seconds": ranks.slowest(run.total)}
    row |= {"counters": dict(run.counters), "work": dict(run.work), "disturbed": run.disturbed}
    row |= {"checked": checked.says, "checked_whole": checked.whole}
    return row | {f"phase_{name}": values.tolist() for name, values in run.phases.items()}


def spread_of(medians: list[float], settings: dict[str, Any]) -> float:
    """How far the medians of the last `min_rounds` rounds lie apart, over their median; infinity for fewer rounds.

    One round cannot settle: the spread is of two rounds at least.
    """
    wanted = max(2, settings["min_rounds"])
    last = medians[-wanted:]
    return float("inf") if len(last) < wanted else (max(last) - min(last)) / statistics.median(last)


def finished(medians: list[float], settings: dict[str, Any]) -> bool:
    """Whether enough rounds were made: the last medians within the spread, or `max_rounds` reached."""
    settled = len(medians) >= settings["min_rounds"] and spread_of(medians, settings) <= settings["spread"]
    return settled or len(medians) >= settings["max_rounds"]
