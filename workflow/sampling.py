"""How a point is sampled: prepare, warm up, rounds of all queries until the median settles, every answer validated."""

from __future__ import annotations

import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from saitan import cuda
from saitan.blocks import Block, Digest, Rows, both
from saitan.graph_input import shown
from saitan.problem import Checked, Invalid, Reference, Run, Unavailable, completed
from saitan.ranks import Ranks, current
from saitan.solver import is_prepared
from saitan.workflow.credible import kept, remembered, remembers, unfinished, wrong_phases, wrong_run
from saitan.workflow.disturbance import Disturbance, Watch
from saitan.workflow.numba_code import compilations, load_numba
from saitan.workflow.step import Failure, progress, refusal, told

# With which the median lies within the spread of six rounds or more.
CONFIDENCE = 0.95
# Preparations, or answers to one query, in all of which something was compiled: another would be no different.
COMPILING = 20
# Queries that a solver is asked anew, at most, before it is said to keep its answers.
ASKED_ANEW = 8
# Fewer other queries do not tell whether a solver keeps its answers: one may be easy, or the seed of a check.
LEAST_OTHERS = 3
# Solvers that are prepared anew, at most, before one is said to keep the answer to the only question.
PREPARED_ANEW = 3
# Before the names of arrays with an entry a phase, which are columns of lists.
PHASE = "phase_"


@dataclass
class Sampled:
    """The rows of a point, one a timed answer, and what can be said of them together.

    settled    whether the median is known as exactly as asked for
    spread     how exactly it is known (`spread_of`)
    disturbed  why the times say little, each reason once; empty where disturbed samples decide nothing
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    settled: bool = False
    spread: float = float("inf")
    disturbed: list[str] = field(default_factory=list)

    @property
    def median(self) -> float:
        """Seconds, of all rows."""
        return statistics.median(row["seconds"] for row in self.rows)


@contextmanager
def prepared(package: ModuleType, instance: Any, settings: dict[str, Any], timed: Ranks | None = None) -> Iterator[Any]:
    """The solver of a point, closed at the end.

    timed: the ranks that prepare it, where it counts what that takes: they do it again after code was compiled or
    loaded on any of them. Raises Failure for parameters that the variant refuses, where each time compiles, and for a
    solver that leaves the process in another folder.
    """
    load_numba(settings["backend"])
    with staying(settings["variant"]):
        yield from _preparations(package, instance, settings, timed)


def _preparations(package: ModuleType, instance: Any, settings: dict[str, Any], timed: Ranks | None) -> Iterator[Any]:
    given = completed(settings["parameters"], package.VARIANTS[settings["variant"]].parameters)
    for _ in range(COMPILING):
        before = _loaded()
        try:
            solver = package.prepare(instance, settings["variant"], settings["backend"], **given)
        except ValueError as error:
            with_them = f" with {settings['parameters']}" if settings["parameters"] else ""
            raise Failure(f"{settings['variant']}{with_them}: {refusal(error)}") from None
        if not is_prepared(solver):
            right = "a Solver that saitan.solver.prepared makes is right"
            raise Failure(f"prepare gives {shown(solver)} for {settings['variant']}: {right}")
        with _closing(solver):
            if timed is None or not any(timed.each(_loaded() != before)):
                yield solver
                return
        # Its arrays are not held while others are made.
        del solver
    raise Failure(
        f"{COMPILING} preparations of {settings['variant']} each compiled something: what compiles each time cannot be"
        " timed; compile at the top of a module, or once for the same code"
    )


@contextmanager
def staying(variant: str) -> Iterator[None]:
    """Raises Failure where a variant leaves the working directory, from which files of the workflow, the log too, are
    named.
    """
    home = Path.cwd()
    try:
        yield
    finally:
        if not Path(os.curdir).samefile(home):
            os.chdir(home)
            raise Failure(
                f"{variant} leaves the process in another folder, from which no file of the workflow is found: change"
                " it within contextlib.chdir, which goes back"
            )


@contextmanager
def _closing(solver: Any) -> Iterator[None]:
    """Closes a solver. Where it failed, that says more than a failure to close it."""
    try:
        yield
    except BaseException:
        with suppress(Exception):
            solver.close()
        raise
    solver.close()


def _loaded() -> tuple[int, int]:
    """Grows where Numba compiles or loads code, and where Python imports a module."""
    return compilations(), len(sys.modules)


class Answering:
    """Answers queries and checks every answer. The first is also compared with the reference.

    outputs   those that an answer must have
    backend   where runs are timed from outside too, beside what their solver says of them; None where no time counts
    compiled  timed runs so far within which Numba compiled or loaded code, on any rank
    passed    seconds that the last run or count took here, or on the slowest rank
    first     those of the first of all, within which code may have been compiled
    pending   for each timed run, seconds that the GPU worked on after it
    streamed  whether answers leave in blocks while they are made
    """

    compiled = 0
    passed = math.inf
    first: float | None = None

    def __init__(
        self,
        package: ModuleType,
        solver: Any,
        reference: Reference | None,
        ranks: Ranks | None = None,
        outputs: Collection[str] = (),
        backend: str | None = None,
    ) -> None:
        self._package, self._solver, self._reference = package, solver, with_rows(reference)
        self._ranks, self._outputs, self._backend = ranks or current(), outputs, backend
        self.pending: list[float] = []
        self.streamed = bool(getattr(solver, "streamed", False))
        self._digests: dict[str, tuple[Digest, Checked]] = {}
        self._first = True

    def warm_up(self, query: Any) -> None:
        """Answer a query whose time does not count."""
        if self.streamed:
            self.certify(query)
        else:
            self._clocked(self._solver.run, query)

    def answer(self, query: Any) -> tuple[Run, Checked]:
        """A timed answer, checked. Raises Invalid."""
        if not self.streamed:
            run = self._timed(query)
            checked = as_checked(self._solver.validate(), query)
            if self._first and self._reference is not None:
                rows = Rows(self._reference.rows)
                take = both(self.check_declared, rows)
                try:
                    for block in self._solver.blocks(self._reference.rows):
                        take(block)
                except ValueError as error:
                    raise Failure(f"rows that the reference has cannot be had of the answer: {told(error)}") from error
                self._compare(rows)
                # A chosen row may be in the blocks of one output and beyond the end of another.
                if self._reference.rows is None and self._ranks.leads:
                    self._check_whole(rows.names)
            self._first = False
            return run, checked
        expected, checked = self.certify(query)
        own = Digest()
        run = self._timed(query, own)
        digest = Digest.of(self._ranks.each(own))
        if digest != expected:
            raise Invalid(
                f"the timed answer to {query} differs from the one that was checked: {digest}, not {expected}"
            )
        return run, checked

    def _timed(self, *query_and_sink: Any) -> Run:
        before = compilations()
        run = self._clocked(self._solver.run, *query_and_sink)
        if self._backend == "cuda":
            begin = time.perf_counter()
            if error := cuda.finish():
                raise Failure(f"the GPU fails in what run gave it to do: {error}")
            self.pending.append(time.perf_counter() - begin)
        self.compiled += any(self._ranks.each(compilations() > before))
        return run

    def seconds_of(self, query: Any) -> float:
        """What a run says that it took, of whose answer nothing is made."""
        return float(self._timed(query, *([Digest()] if self.streamed else [])).kernel)

    def count(self, query: Any) -> dict[str, np.ndarray]:
        """What the solver counts per phase, in a run of its own."""
        return self._clocked(self._solver.count, query)

    def _clocked(self, call: Callable, *arguments: Any) -> Any:
        begin = time.perf_counter()
        result = call(*arguments)
        if self._backend is not None:
            # Ranks may wait within it for one that came later, and tell the time of the slowest.
            self.passed = self._ranks.slowest(time.perf_counter() - begin)
            if self.first is None:
                self.first = self.passed
        return result

    def certify(self, query: Any) -> tuple[Digest, Checked]:
        """The digest of a streamed answer of which every block was checked, from an untimed run, once a query.

        Raises Invalid.
        """
        key = str(query)
        if key not in self._digests:
            check, digest = self._solver.checker(query), Digest()
            sinks = [self.check_declared, check, digest]
            compared = self._first and self._reference is not None
            rows = Rows(self._reference.rows) if compared else None
            self._solver.run(query, both(*sinks, *([rows] if compared else [])))
            whole = Digest.of(self._ranks.each(digest))
            self._digests[key] = whole, as_checked(check.finish(), query)
            if rows is not None:
                self._compare(Rows.of(self._ranks.each(rows)))
            self._check_whole(whole.sums)
            self._first = False
        return self._digests[key]

    def compare_other(self, first: Any, query: Any, reference_of: Callable[[Any], Reference | None]) -> None:
        """Hold the last answer, to `query`, against a reference of its own where it is as right an answer to the first.

        A solver may have kept that, with the query by which it is checked. Raises Invalid.
        """
        if query == first or self._reference is None or self._ranks.size > 1:
            return
        try:
            taken = self._package.differs(self._reference, self._last(query, self._reference).answer()) is None
        except Invalid:
            raise
        except Exception:
            # An answer to another query may have another shape.
            return
        if taken and (reference := with_rows(reference_of(query))):
            try:
                check_same(self._package, reference, self._last(query, reference).answer())
            except (Invalid, ValueError) as error:
                why = error if isinstance(error, Invalid) else told(error)
                raise Invalid(f"gives for query {query} what is right for {first}: {why}") from None

    def _last(self, query: Any, reference: Reference) -> Rows:
        """Rows of the last answer that a reference has; of a streamed one from another run."""
        rows = Rows(reference.rows)
        if self.streamed:
            self._solver.run(query, rows)
        else:
            for block in self._solver.blocks(reference.rows):
                rows(block)
        return rows

    def check_declared(self, block: Block) -> None:
        """A sink that raises Failure for what the problem's OUTPUTS do not have, or have of another type."""
        outputs, type_ = self._package.OUTPUTS, np.dtype(block.array.dtype).name
        if block.name not in outputs:
            raise Failure(f"the answer has {block.name!r}, which is none of OUTPUTS ({', '.join(outputs)})")
        if (right := outputs[block.name].dtype) and type_ != right:
            raise Failure(f"{block.name} are of type {type_}: {right} is right, as OUTPUTS says")

    def _check_whole(self, names: Collection[str]) -> None:
        if lacking := [name for name in self._outputs if name not in names]:
            had = f"(it has: {', '.join(names) or 'none'})"
            raise Failure(f"the answer has no {lacking[0]} {had}: all OUTPUTS that the instance has are right")

    def _compare(self, rows: Rows) -> None:
        # Of several ranks the leading one has the answer's blocks.
        if not self._ranks.leads:
            return
        if self._reference.rows is None and (line := rows.misplaced()):
            raise Invalid(line)
        check_same(self._package, self._reference, rows.answer())


def with_rows(reference: Reference | None) -> Reference | None:
    """A reference; None where it has no row that could be compared."""
    nothing = reference is not None and reference.rows is not None and not len(reference.rows)
    return None if nothing else reference


def check_same(package: ModuleType, reference: Reference, answer: dict[str, np.ndarray]) -> None:
    """Raise Invalid where rows of an answer differ from the reference's, Failure where `differs` cannot tell."""
    difference = package.differs(reference, answer)
    if not isinstance(difference, str | None):
        raise Failure(f"differs gives {shown(difference)}: how the answers differ is right, or None")
    if difference is not None:
        raise Invalid(f"differs from the reference solver ({reference.by}): {difference}")
    taken = False
    with suppress(Exception):
        # As one does that forgets a `return`, and takes any answer.
        taken = bool(reference.arrays) and package.differs(reference, {}) is None
    if taken:
        right = "what it lacks is right"
        raise Failure(f"differs takes an answer without arrays for one that has {', '.join(reference.arrays)}: {right}")


def as_checked(checked: Any, query: Any) -> Checked:
    """What a check says of the answer to a query. Raises Failure where it says nothing."""
    if not isinstance(checked, Checked):
        right = "a Checked is right, and Invalid for a wrong answer"
        raise Failure(f"the check of query {query} is {shown(checked)}: {right}")
    return checked


def sample(
    answering: Answering,
    solver: Any,
    queries: list,
    settings: dict[str, Any],
    ranks: Ranks | None = None,
    others: Callable[[], list] = list,
    reference_of: Callable[[Any], Reference | None] | None = None,
) -> Sampled:
    """Whole rounds of all queries until the median has settled or the budget is spent, the first check aside.

    So is what goes into compiling. Raises Invalid for a wrong answer, before its time counts.

    others, reference_of: give more queries, and their references, for a solver that may keep its answers.
    """
    ranks = ranks or current()
    watch = Watch(settings["backend"], ranks)
    sampled, medians = Sampled(), []
    # Places of rows on which there is no verdict yet, and place -> kinds of disturbance.
    open_rows: list[int] = []
    kinds: dict[int, list[str]] = {}
    # Places of queries that were answered before their first row.
    known = set(range(settings["warmup"]))
    deadline = time.perf_counter() + settings["budget_s"]
    while True:
        label = f"{settings['variant']} on {settings['graph']}, round {len(medians) + 1}"
        first = len(sampled.rows)
        for query in progress(queries, label):
            begin, before = time.perf_counter(), (compilations(), answering.compiled)
            run, checked = _answer_compiled(answering, query)
            if wrong := wrong_run(run, checked, query, answering.passed):
                raise Failure(f"{settings['variant']} says that {wrong}")
            if answering.compiled != before[1]:
                known.add(len(sampled.rows))
            if not sampled.rows or (compilations(), answering.compiled) != before:
                # A check may compile too.
                deadline += time.perf_counter() - begin - run.total
            watch.answered()
            if run.disturbed:
                kinds[len(sampled.rows)] = [run.disturbed]
            sampled.rows.append(_row(query, len(medians), run, checked, ranks))
        rows = sampled.rows[first:]
        if reference_of and not medians:
            begin = time.perf_counter()
            answering.compare_other(queries[0], queries[-1], reference_of)
            deadline += time.perf_counter() - begin
        if settings["traced"] and not medians and hasattr(solver, "count"):
            begin = time.perf_counter()
            for row, query in zip(rows, queries, strict=True):
                counted = answering.count(query)
                before = {name.removeprefix(PHASE): row[name] for name in row if name.startswith(PHASE)}
                if wrong := wrong_phases(counted, before, answering.passed):
                    raise Failure(f"{settings['variant']} says that {wrong}")
                row |= {PHASE + name: values.tolist() for name, values in counted.items()}
            deadline += time.perf_counter() - begin
        open_rows += range(first, len(sampled.rows))
        medians.append(statistics.median(row["seconds"] for row in rows))
        last = ranks.agree(finished(medians, settings) or time.perf_counter() > deadline)
        if verdict := watch.verdict(last):
            for place in open_rows if isinstance(verdict, Disturbance) else ():
                row = sampled.rows[place]
                kinds.setdefault(place, []).append(verdict.kind)
                row["disturbed"] = "; ".join(filter(None, [row["disturbed"], verdict.detail]))
            open_rows = []
        if last:
            break
    if wrong := unfinished(answering.pending, statistics.median(row["total_seconds"] for row in sampled.rows)):
        raise Failure(f"{settings['variant']} {wrong}")
    wrong, shown_again = remembered(sampled.rows, len(queries), known), len(medians) > 1
    if not wrong and answering.streamed and len(queries) > 1:
        # Each of the queries was answered before its first row, to be certified.
        right = "it remembers answers, and a run that computes its own is right"
        wrong, shown_again = f"answers at once what it was asked before: {right}", False
    if wrong and ranks.size == 1:
        new = others()[:ASKED_ANEW]
        # Where no query was new in one round and known in another, new ones alone tell.
        if (shown_again or len(new) > 1) and _keeps(answering, new, sampled.rows[: len(queries)]):
            raise Failure(f"{settings['variant']} {wrong}")
    elif ranks.size == 1 and not answering.streamed and len({*range(len(queries))} - known) < 2:
        new, later = others()[:ASKED_ANEW], sampled.median
        # One new query tells of most solvers that they keep nothing.
        if (
            len(new) >= LEAST_OTHERS
            and kept([took := answering.seconds_of(new[0]), later])
            and _keeps(answering, new[1:], [])
        ):
            said = remembers(f"{took:.2g} s when a query is new, and {later:.2g} s when it is not")
            raise Failure(f"{settings['variant']} {said}")
    sampled.spread = spread_of(medians)
    sampled.settled = settled(medians, settings)
    if decided_by_disturbed(sampled.rows, settings["spread"]):
        sampled.disturbed = list(dict.fromkeys(kind for found in kinds.values() for kind in found))
    return sampled


def check_anew(answering: Answering, sampled: Sampled, prepare: Callable[[], Any], query: Any, variant: str) -> None:
    """Raise Failure for a solver that keeps the answer to the only question that there is.

    One that was just prepared takes as long as it did, or nearly so. prepare: a context of such a solver. Of an answer
    that leaves in blocks, and of one that is kept for all solvers of a process, nothing is said.
    """
    later, new = sampled.median, math.inf
    if answering.streamed or answering.first is None or not kept([answering.first, later]):
        return
    with suppress(Unavailable):
        for _ in range(PREPARED_ANEW):
            with prepare() as solver:
                new = min(new, float(solver.run(query).kernel))
            if not kept([new, later]):
                return
        right = remembers(f"{new:.2g} s when it was just prepared, and {later:.2g} s afterwards")
        raise Failure(f"{variant} {right}")


def _keeps(answering: Answering, others: list, first: list[dict[str, Any]]) -> bool:
    """Whether a solver keeps answers, and its first round did not take so much longer by other work on the machine.

    Other queries, each asked several times at once, tell that; where there are too few, the round must be undisturbed.
    """
    if len(others) < 2 and all(row["disturbed"] for row in first):
        return False
    return all(kept([answering.seconds_of(query) for _ in range(4)]) for query in others)


def _answer_compiled(answering: Answering, query: Any) -> tuple[Run, Checked]:
    """An answer within which nothing was compiled; those before it are checked like any other, and do not count.

    Raises Failure where there is none.
    """
    for _ in range(COMPILING):
        before, answer = answering.compiled, answering.answer(query)
        if answering.compiled == before:
            return answer
    raise Failure(f"{COMPILING} answers to {query} each compiled something: what compiles each time cannot be timed")


def _row(query: Any, number: int, run: Run, checked: Checked, ranks: Ranks) -> dict[str, Any]:
    row = {"query": str(query), "round": number}
    # A solver may count in NumPy's numbers, which are no JSON.
    row |= {"seconds": ranks.slowest(float(run.kernel)), "total_seconds": ranks.slowest(float(run.total))}
    row |= {"counters": {name: float(value) for name, value in run.counters.items()}}
    row |= {"work": {name: float(amount) for name, amount in run.work.items()}, "disturbed": run.disturbed}
    row |= {"checked": checked.says, "checked_whole": bool(checked.whole)}
    return row | {PHASE + name: values.tolist() for name, values in run.phases.items()}


def decided_by_disturbed(rows: list[dict[str, Any]], spread: float) -> bool:
    """Whether disturbed samples are half of all, or move the median or the mean by more than `spread`."""
    all_times = [row["seconds"] for row in rows]
    quiet = [row["seconds"] for row in rows if not row["disturbed"]]
    if 2 * len(quiet) <= len(rows):
        return True
    pairs = ((statistic(quiet), statistic(all_times)) for statistic in (statistics.median, statistics.fmean))
    return any(abs(some - every) > spread * every for some, every in pairs)


def spread_of(medians: list[float]) -> float:
    """How exactly the median over the rounds is known: the width of an interval that holds it, as a share of it.

    The interval lies between the m-th least and the m-th largest of the rounds' medians, with the largest m for which
    it holds the median of all rounds there could be with a probability of CONFIDENCE, whatever their distribution
    (Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems, 2015, rule 5). Fewer than six rounds say
    less: it then is the range of all, which holds it with 1 - 2^(1 - rounds). Infinite for a single round.
    """
    rounds, ordered = len(medians), sorted(medians)
    if rounds < 2:
        return float("inf")
    left_out = 0
    while 1 - 2 * _at_most(left_out + 1, rounds) >= CONFIDENCE:
        left_out += 1
    return (ordered[-1 - left_out] - ordered[left_out]) / statistics.median(ordered)


def _at_most(heads: int, tosses: int) -> float:
    """The probability of at most so many heads in so many tosses of a coin."""
    return sum(math.comb(tosses, k) for k in range(heads + 1)) / 2**tosses


def settled(medians: list[float], settings: dict[str, Any]) -> bool:
    """Whether the median is known within the spread, after `min_rounds` rounds or all that there may be."""
    least = min(settings["min_rounds"], settings["max_rounds"])
    return len(medians) >= least and spread_of(medians) <= settings["spread"]


def finished(medians: list[float], settings: dict[str, Any]) -> bool:
    """Whether enough rounds were made."""
    return settled(medians, settings) or len(medians) >= settings["max_rounds"]
