"""What became of a run's points and other jobs: measured, failed, stopped, not run, out of date, or left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from saitan.workflow.answers import kept_answer
from saitan.workflow.report_plan import LeftOut, PlannedPoint, PlannedStep, ReportPlan
from saitan.workflow.samples import About, about, mixed
from saitan.workflow.step import CRASHED, DONE, ERROR, Failure
from saitan.workflow.step import STOPPED as STOPPED_MARK

NOT_RUN = "did not run: a step before it failed, or the run was stopped"
STOPPED = "stopped before it ran"
STOPPED_WITHIN = "stopped while it ran"
EMPTY_LOG = (
    "left an empty log: it was stopped as it started, the disk is full, or it was refused where it was submitted;"
    " Snakemake's lines above say more"
)
KILLED = "killed by signal 9; out of memory? (or by another signal, or ended by code of its own, such as os._exit)"
LOST = "finished, but its result is gone"
OUT_OF_DATE = "out of date: measured for another configuration, of other data, or by other code"
NOT_REDRAWN = "out of date: its queries are to be drawn again, which failed"
ANOTHER_ANSWER = "out of date: kept for another configuration, of other data, or by other code"
NOT_OF_THESE = "out of date: made before this run, some of whose points have no result or a newer one"

Fate = Literal["failed", "stopped", "not run", "out of date"]


@dataclass(frozen=True)
class Lacking:
    """A point or another job without a result: what became of it, and the reason."""

    what: str
    reason: str
    fate: Fate = "failed"

    def __str__(self) -> str:
        return f"{self.fate}: {self.what}: {self.reason.removeprefix(f'{self.fate}: ')}"


@dataclass
class Outcome:
    """A run's points and other jobs by what became of them.

    lacking_points, lacking_jobs: points, and other jobs, without a result; left_out: what the plan leaves out, and
    points that turned out to be unavailable; points: how many the plan has without those; stale: experiment -> why a
    table of it that bears the right identity is out of date all the same.
    """

    points: int
    measured: list[tuple[PlannedPoint, About]] = field(default_factory=list)
    lacking_points: list[Lacking] = field(default_factory=list)
    lacking_jobs: list[Lacking] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    stale: dict[str, str] = field(default_factory=dict)

    @property
    def lacking(self) -> list[Lacking]:
        """Other jobs first, since they are why points did not run."""
        return [*self.lacking_jobs, *self.lacking_points]

    @property
    def counts(self) -> str:
        """ "3 points, 1 failed, 2 left out; other jobs: 1 failed"; other fates, and jobs, where there are any."""
        points = f"{self.points:,} point{'' if self.points == 1 else 's'}"
        said = ", ".join([points, *_fates(self.lacking_points, "failed"), f"{len(self.left_out):,} left out"])
        return f"{said}; other jobs: {', '.join(_fates(self.lacking_jobs))}" if self.lacking_jobs else said

    def busy(self) -> str:
        """What disturbed the run, as a sentence without a full stop; empty where nothing did."""
        unsettled = sum(not told.settled for _, told in self.measured)
        disturbed = [told for _, told in self.measured if told.disturbed]
        of = f"of {len(self.measured):,} points"
        parts = []
        if disturbed:
            reasons = ", ".join(dict.fromkeys(reason for told in disturbed for reason in told.disturbed))
            parts.append(f"the machine was busy or its clock moved in {len(disturbed):,} {of} ({reasons})")
        if unsettled:
            parts.append(f"the median had not settled in {unsettled:,} {of}")
        devices: dict[str, set[str]] = {}
        for point, told in self.measured:
            devices.setdefault(point.experiment, set()).add(told.device)
        if several := sorted(set().union(*map(mixed, devices.values()))):
            parts.append(f"points of an experiment are of several machines ({', '.join(several)})")
        return "; ".join(parts)


def _fates(without: Iterable[Lacking], *always: Fate) -> list[str]:
    """["2 failed", "1 stopped"]: those that there are, and `always`."""
    counted = Counter(one.fate for one in without)
    return [f"{counted[fate]:,} {fate}" for fate in get_args(Fate) if counted[fate] or fate in always]


def outcome(plan: ReportPlan, *, stopped: bool = False, since: float = 0) -> Outcome:
    """What became of everything planned.

    stopped: whether the user ended the run; since: when one that ended badly began, in seconds of the epoch: what
    stands in a log that is older is of another run. 0 of a run that ended well: none of its jobs broke.
    """
    found = Outcome(len(plan.points), left_out=list(plan.skipped))
    points: list[tuple[Path, Lacking]] = []
    for point in plan.points:
        if not point.samples.exists():
            points.append((point.samples, lacking(point.name, point.log, stopped=stopped, since=since)))
            continue
        try:
            told = about(point.samples)
        except Failure as failure:
            points.append((point.samples, Lacking(point.name, str(failure))))
            continue
        if told.identity != point.identity:
            points.append((point.samples, Lacking(point.name, OUT_OF_DATE, "out of date")))
        elif told.unavailable is not None:
            found.points -= 1
            found.left_out.append(LeftOut(what=point.words, reason=told.unavailable))
        else:
            found.measured.append((point, told))
    without = {samples for samples, _ in points}
    answers = {answer.file: answer.identity for answer in plan.answers}
    made_by = {step.output: step for step in plan.steps}

    def served(step: PlannedStep) -> bool:
        return bool(step.serves) and without.isdisjoint(step.serves) and all(map(is_there, step.serves))

    def is_there(file: Path) -> bool:
        return file.exists() or (file in made_by and served(made_by[file]))

    for step in plan.steps:
        if step.output.exists():
            if step.output in answers and (wrong := _wrong(step.output, answers[step.output])):
                found.lacking_jobs.append(Lacking(step.what, *wrong))
            continue
        what_became = lacking(step.what, step.log, stopped=stopped, since=since)
        needless = served(step)
        if needless and since and _broke(step, what_became):
            # What it serves was made of what it had made before, and may not be what it makes now.
            outdated = [point for point in plan.points if point.samples in step.serves]
            points += [(point.samples, Lacking(point.name, NOT_REDRAWN, "out of date")) for point in outdated]
            found.measured = [(point, told) for point, told in found.measured if point not in outdated]
            found.stale |= {point.experiment: NOT_REDRAWN for point in outdated}
            needless = False
        began = what_became.reason not in (NOT_RUN, STOPPED)
        if not needless and (began or not step.last):
            found.lacking_jobs.append(what_became)
    found.lacking_points = [one for _, one in points]
    found.stale = _not_of_these(plan, {samples for samples, _ in points}, since) | found.stale
    return found


def _wrong(answer: Path, identity: str) -> tuple[str, Fate] | None:
    """What is wrong with a kept answer that is there."""
    try:
        return None if kept_answer(answer).identity == identity else (ANOTHER_ANSWER, "out of date")
    except Failure as failure:
        return str(failure), "failed"


def _not_of_these(plan: ReportPlan, without: set[Path], since: float) -> dict[str, str]:
    """Experiments whose table is of an earlier run, and whose points are not all as they were then."""
    changed = {
        point.experiment
        for point in plan.points
        if point.samples in without or (since and point.samples.stat().st_mtime >= since)
    }
    tables = {experiment.name: experiment.table for experiment in plan.experiments if experiment.name in changed}
    return {name: NOT_OF_THESE for name, table in tables.items() if table.exists() and table.stat().st_mtime < since}


def _broke(step: PlannedStep, what_became: Lacking) -> bool:
    """Whether a step began after all that it serves was made, and did not end well."""
    made = max((file.stat().st_mtime for file in step.serves if file.exists()), default=0)
    return what_became.fate in ("failed", "stopped") and step.log.exists() and step.log.stat().st_mtime > made


def lacking(what: str, log: Path | None, *, stopped: bool = False, since: float = 0) -> Lacking:
    """Why a job has no output: the line of its log that begins with "error: ", or what its absence tells."""
    if log is None or not log.exists() or log.stat().st_mtime < since:
        return Lacking(what, STOPPED, "stopped") if stopped else Lacking(what, NOT_RUN, "not run")
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    last = lines[-1] if lines else ""
    if said := [line for line in lines if line.startswith(ERROR)]:
        return Lacking(what, said[-1].removeprefix(ERROR))
    if crash := [line for line in lines if line.startswith(CRASHED)]:
        return Lacking(what, f"compiled code ended the process: {crash[-1].removeprefix(CRASHED)}")
    if stopped or last == STOPPED_MARK:
        return Lacking(what, STOPPED_WITHIN, "stopped")
    return Lacking(what, LOST if last == DONE else KILLED if last else EMPTY_LOG)


def by_reason(absent: Iterable[LeftOut | Lacking]) -> list[tuple[str, str]]:
    """Each reason once, with everything that it is the reason of."""
    reasons: dict[str, list[str]] = {}
    for one in absent:
        reasons.setdefault(one.reason, []).append(one.what)
    return [(reason, ", ".join(dict.fromkeys(what))) for reason, what in reasons.items()]
