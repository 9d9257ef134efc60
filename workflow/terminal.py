"""What a run says on the terminal: a line a finished point, and at its end what was found, what failed and why.

Snakemake's own lines are left out by the profile (profiles/default); with another one both stand beside each other.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any
from urllib.parse import quote

from saitan.workflow.graphs.catalogue import sources_of
from saitan.workflow.interrupts import Stops, as_stop, ignore_interrupts, interrupted_later
from saitan.workflow.left import write_left
from saitan.workflow.plan import INDEX, VEGA, Plan
from saitan.workflow.points import RESULTS
from saitan.workflow.step import FULL, Failure, of_files

# What Snakemake says at every start and for every job it selects.
_ROUTINE = (
    *("Using workflow specific profile", "Workflow defines that rule", "Assuming unrestricted shared", "Building DAG"),
    *("Using shell:", "Provided cores:", "Rules claiming more threads", "Provided resources:"),
    *("Execute ", "Select jobs"),
)
# Rules whose jobs are worth a line of their own.
SHOWN = {"fetch", "convert", "generate", "array", "measure", "keep"}


class Progress(logging.Handler):
    """Listens to Snakemake's events and prints a line for each finished job that is worth one."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(logging.INFO)
        self._plan = plan
        self._jobs: dict[int, tuple[str, dict[str, Any], float]] = {}
        self._measured, self._wanted, self._seconds = 0, 0, 0.0

    def emit(self, record: logging.LogRecord) -> None:
        from snakemake_interface_logger_plugins.common import LogEvent

        event = getattr(record, "event", None)
        if event == LogEvent.RUN_INFO:
            _allow_pandas()
            self._wanted = record.stats.get("measure", 0)
        elif event == LogEvent.JOB_INFO:
            output = Path(next(iter(getattr(record, "output", None) or ()), ""))
            self._jobs[record.jobid] = (record.rule_name, dict(record.wildcards or {}), output, time.monotonic())
        elif event == LogEvent.JOB_FINISHED and record.job_id in self._jobs:
            rule, wildcards, output, started = self._jobs.pop(record.job_id)
            if rule in SHOWN:
                with interrupted_later():
                    self._finished(rule, wildcards, output, time.monotonic() - started)

    def _finished(self, rule: str, wildcards: dict[str, Any], output: Path, seconds: float) -> None:
        if rule != "measure":
            keys = ("backend", "graph", "variant", "point", "output") if rule == "keep" else ("graph", "array", "file")
            what = " ".join(wildcards[key] for key in keys if wildcards.get(key))
            found = (rule == "keep" and _not_kept(output)) or f"{seconds:.1f} s"
            print(f"{rule} {what}: {found}", file=sys.stderr, flush=True)
            return
        self._measured += 1
        self._seconds += seconds
        left = max(0, self._wanted - self._measured)
        rest = f", about {_duration(left * self._seconds / self._measured)} of measuring left" if left else ""
        count = f"[{self._measured}/{max(self._wanted, self._measured)}]"
        names = [wildcards[key] for key in ("experiment", "backend", "graph", "variant", "point")]
        print(f"{count} {' '.join(names)}: {_found('/'.join(names), self._plan)}{rest}", file=sys.stderr, flush=True)


def _found(name: str, plan: Plan) -> str:
    """The median time of a point, or why it has none."""
    import numpy as np

    from saitan.workflow.numbers import readable
    from saitan.workflow.parquet_files import read_rows
    from saitan.workflow.samples import about, called

    path = Path(f"{plan.run}/samples/{name}.parquet")
    told = about(path)
    if told.unavailable is not None:
        return f"left out, {told.unavailable}"
    median = float(np.median(read_rows(path, ["seconds"])["seconds"].to_numpy()))
    doubt = called(told.settled, told.disturbed)
    return readable(median, "s") + (f" ({doubt})" if doubt else "")


def _not_kept(answer: Path) -> str | None:
    """Why a file holds no answer; None where it holds one."""
    from saitan.workflow.answers import about_answer

    with contextlib.suppress(Failure):
        if (reason := about_answer(answer).get("unavailable")) is not None:
            return f"left out, {reason}"
    return None


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def show(plan: Plan, workflow: Any) -> None:
    """Say what is left out, and listen from now on. Called once the Snakefile is read."""
    from snakemake.logging import logger
    from snakemake.settings.types import Quietness

    if workflow.is_main_process:
        _restore_index()
    # Snakemake loads pandas, for half a second, to tell whether a rule's parameter is one of its frames. None is.
    sys.modules.setdefault("pandas", None)
    if not workflow.is_main_process:
        return
    plan.say_skipped()
    logger.addFilter(as_stop)
    logger.addFilter(_as_full_disk)
    logging.FileHandler.handleError = _unwritten
    if Quietness.RULES in (workflow.output_settings.quiet or ()):
        for handler in logger.handlers:
            # Whether it is a dry run, which has nothing but them to show, is known later.
            handler.addFilter(lambda record: workflow.dryrun or _without_jobs(record))
            if not isinstance(handler, logging.FileHandler):
                handler.addFilter(_without_commands)
        progress = Progress(plan)
        # What --touch finishes was measured before, maybe for another configuration.
        progress.addFilter(lambda record: not workflow.touch)
        logger.addHandler(progress)


def keep_report(plan: Plan) -> None:
    """End the process with one line where nothing can be measured and the report has points: it is not replaced."""
    if plan.points or not any(experiment.variants for experiment in plan.config.experiments.values()):
        return
    try:
        counts = json.loads(Path(plan.listed).read_bytes())["counts"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if not counts.startswith("0 points"):
        sys.exit(f"error: nothing can be measured, and {plan.report} shows what was ({counts}): remove it to go on")


def _restore_index() -> None:
    """Write the list of runs where it was removed, or where a run was since.

    A call that has nothing to do ends without a word to `Ending`.
    """
    index = Path(INDEX)
    there = {quote(report.parent.name) for report in Path(RESULTS).glob("*/report.html")}
    listed = index.read_text(encoding="utf-8", errors="replace") if index.is_file() else ""
    if there == set(re.findall(r'href="([^"]+)/report\.html"', listed)):
        return
    from saitan.workflow.index import write_index

    with contextlib.suppress(OSError):
        write_index(index)


def _as_full_disk(record: logging.LogRecord) -> bool:
    """Have a full disk, on which Snakemake cannot note what it does, told in our words and not as a traceback; True."""
    if getattr(record, "exception", None) and any(f"[Errno {number}]" in record.getMessage() for number in FULL):
        record.msg, record.args = f"error: {of_files(OSError(FULL[0], ''))}", ()
    return True


def _unwritten(handler: logging.FileHandler, record: logging.LogRecord) -> None:
    """What Snakemake's log does with a line that it cannot hold: on a full disk nothing, which is told elsewhere."""
    if getattr(sys.exc_info()[1], "errno", None) not in FULL:
        logging.Handler.handleError(handler, record)


def _without_commands(record: logging.LogRecord) -> bool:
    """Whether one of Snakemake's own lines is no command of a step that said itself why it ended."""
    if getattr(record, "exception", None) != "RuleException":
        return True
    said = record.getMessage()
    killed = "died with <Signals." in said and "died with <Signals.SIGINT" not in said
    return killed or "\nCalledProcessError in " not in said


def _allow_pandas() -> None:
    """Undo what `show` did, before PyArrow looks for pandas, which it does once."""
    if sys.modules.get("pandas", sys) is None:
        del sys.modules["pandas"]


def _without_jobs(record: logging.LogRecord) -> bool:
    """Whether one of Snakemake's own lines is none of those that `Progress` stands for."""
    from snakemake_interface_logger_plugins.common import LogEvent

    if getattr(record, "event", None) in (LogEvent.JOB_FINISHED, LogEvent.PROGRESS, LogEvent.RUN_INFO):
        return False
    return not record.getMessage().startswith(_ROUTINE)


class Ending:
    """What is done when a run ends."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._started, self._listener = plan, time.time(), Stops()
        logging.getLogger("snakemake.logging").addHandler(self._listener)

    def succeeded(self, targets: Collection[str], until: Collection[str] = (), omitted: Collection[str] = ()) -> None:
        """Say where the report is and what it found; of single experiments what their tables say.

        until, omitted: the rules of --until and --omit-from. With them no report was made: the one that stands there is
        of an earlier run.
        """
        ignore_interrupts()
        write_left(self._plan)
        _allow_pandas()
        from saitan.workflow.outline import outline
        from saitan.workflow.report import summary_lines
        from saitan.workflow.report_outcome import outcome

        plan, partial = self._plan, bool(until or omitted)
        if omitted:
            print(f"--omit-from {' '.join(omitted)}: what that makes is left as it was", file=sys.stderr)
        if partial:
            targets = () if omitted else until
        reported = not partial and (not targets or {"all", plan.report} & set(targets))
        if reported and Path(plan.summary).exists():
            print(Path(plan.summary).read_text(encoding="utf-8"), end="", file=sys.stderr)
        elif wanted := set(targets) & plan.config.experiments.keys():
            told = outline(plan, only=wanted)
            for line in summary_lines(told, outcome(told)):
                print(line, file=sys.stderr)
            if Path(plan.report).exists():
                print(f"{plan.report} is of an earlier run; a run without a target makes it again", file=sys.stderr)

    @staticmethod
    def touched() -> None:
        """Say that files were dated, of whatever configuration they are."""
        print("--touch measured nothing: another call measures what is out of date", file=sys.stderr)

    def failed(self) -> None:
        """After a failed or stopped run: the report of what there is, with the reasons of what is not.

        The summary of an earlier run is removed: the next call finds it missing, and with it what failed.
        """
        ignore_interrupts()
        _allow_pandas()
        from saitan.workflow.index import write_index
        from saitan.workflow.outline import outline
        from saitan.workflow.report import summary_lines, write_report
        from saitan.workflow.report_outcome import outcome

        plan, told = self._plan, outline(self._plan)
        with contextlib.suppress(OSError):
            Path(plan.summary).unlink()
        since = {"stopped": self._listener.stopped, "since": self._started}
        if Path(plan.report).exists() and not told.experiments:
            # There was nothing to show: the report that stands there says more.
            lines = summary_lines(told, outcome(told, **since))
        else:
            peers = Path(plan.source("config/peers.yaml"))
            try:
                lines = write_report(told, Path(plan.report), peers, vega=Path(VEGA), partial=True, **since)
                write_index(Path(INDEX))
            except (OSError, Failure) as error:  # what ended the run, a full disk for one, may be in the way here too
                why = of_files(error) if isinstance(error, OSError) else error
                lines = [f"{plan.report} cannot be written: {why}"]
                with contextlib.suppress(Failure):
                    lines = [*summary_lines(told, outcome(told, **since)), *lines]
        write_left(plan)
        for line in [*lines, *_ahead(plan)]:
            print(line, file=sys.stderr)


def _ahead(plan: Plan) -> list[str]:
    """A line where files are dated in the future: Snakemake removes what it makes of them as older than its input."""
    copies = [s.filename for graph in plan.graphs for s in sources_of(plan.entries[graph])]
    files = [Path(copy) for name in copies for copy in plan.local_copies(name)]
    for folder in (Path(plan.source("config/published.yaml")).parent, Path(RESULTS)):
        files += folder.rglob("*")
    ahead = {}
    for file in files:
        with contextlib.suppress(OSError):
            if file.is_file() and (changed := file.stat().st_mtime) > time.time() + 60:
                ahead[file] = changed
    if not ahead:
        return []
    first, more = min(ahead), f" and {len(ahead) - 1:,} more" if len(ahead) > 1 else ""
    return [f"beware: {first}{more}: dated in the future: nothing can be made of it before that, `touch` sets it right"]
