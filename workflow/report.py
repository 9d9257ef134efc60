"""Write the report: one page that opens from disk, without a network, with every chart, table and reason inside.

`ReportPlan` is all it is told; everything else it reads from the files that the plan names.
"""

from __future__ import annotations

import argparse
import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from saitan.command import say
from saitan.files import beside
from saitan.problem import names, problem
from saitan.workflow.bests import Best, bests, index_of
from saitan.workflow.ceilings import Ceilings, read_ceilings
from saitan.workflow.index import entry, write_index
from saitan.workflow.numbers import digits, readable
from saitan.workflow.parquet_files import identity_in, read_rows
from saitan.workflow.planned_code import check_planned
from saitan.workflow.provenance import NO_COMMIT
from saitan.workflow.published import PAPER
from saitan.workflow.quoted import Quoted, read_quoted
from saitan.workflow.ranking import Ranking, rankings
from saitan.workflow.report_facts import Kernel, Machine, array_shape, graph_row, kept, kernels, machines
from saitan.workflow.report_outcome import OUT_OF_DATE, Lacking, Outcome, by_reason, outcome
from saitan.workflow.report_plan import PlannedExperiment, PlannedPoint, ReportPlan, read_plan
from saitan.workflow.report_tables import Table, layout, times
from saitan.workflow.report_words import not_there, parameters_in_words, quantities_in_words, variants_in_words
from saitan.workflow.samples import called
from saitan.workflow.step import Failure, run_step
from saitan.workflow.vega import charts_script, identity_of, theme
from saitan.workflow.views_rivals import BEST

TEMPLATES = Path(__file__).parent / "report_template"
# A longer table is folded in the page, and a longer list is cut short on the console.
LONG_TABLE, LONG_LIST = 60, 4


@dataclass(frozen=True)
class Ahead:
    """A point of the view `rivals`: how many times as good it is as the best of the others; doubt: in short."""

    best: Best
    ratio: str
    doubt: str

    def __str__(self) -> str:
        of, doubt = "times as good as the best of the others", f" ({self.doubt})" if self.doubt else ""
        return f"{self.best.where} on {self.best.backend}: {self.best.variant} {self.ratio} {of}{doubt}".strip()


@dataclass
class Section:
    """An experiment as the template draws it; unmatched: numbers are printed, and none stands beside ours; measured:
    whether any point was; bests, or of the view `rivals` ahead: what is shown at a glance.
    """

    name: str
    title: str
    text: str
    problem: str | None
    variants: dict[str, str]
    parameters: dict[str, str]
    quantities: dict[str, str]
    sampling: str
    origin: str | None
    unmatched: bool
    launcher: str | None
    table: Table | None
    measured: bool
    csv: str | None
    svg: str | None
    specification: str | None
    hint: str
    bests: list[Best]
    ahead: list[Ahead]
    rankings: list[Ranking]
    failed: list[Lacking]
    missing: list[str]

    @property
    def glance(self) -> bool:
        return bool(self.bests or self.ahead)


def summary_lines(plan: ReportPlan, found: Outcome) -> list[str]:
    """What the run found, for the console: the best of each experiment, what failed, what was left out."""
    lines = [_summary(experiment, found) for experiment in plan.experiments]
    if busy := found.busy():
        lines.append(f"beware: {busy}")
    # What has a reason of its own is why the others did not run.
    told = sorted(found.lacking, key=lambda one: (one.fate == "not run", one.fate == "out of date"))
    shown = told[:LONG_LIST]
    lines += map(str, shown)
    if len(found.lacking) > LONG_LIST:
        lines.append(f"and {len(found.lacking) - LONG_LIST:,} more without a result, named in the report")
    lines += [f"left out: {what}: {reason}" for reason, what in by_reason(found.left_out)]
    return [*lines, found.counts]


def _measured(experiment: PlannedExperiment, found: Outcome) -> list[PlannedPoint]:
    return [point for point, _ in found.measured if point.experiment == experiment.name]


def _summary(experiment: PlannedExperiment, found: Outcome) -> str:
    if not experiment.table.exists():
        return f"{experiment.name}: no table"
    try:
        if identity_in(experiment.table) != experiment.identity:
            return f"{experiment.name}: no table, {OUT_OF_DATE}"
        table = read_rows(experiment.table).to_pandas()
    except Failure as failure:
        return f"{experiment.name}: no table, {failure}"
    if stale := found.stale.get(experiment.name):
        return f"{experiment.name}: no table, {stale}"
    if table.empty:
        why = "no point has what its table shows" if _measured(experiment, found) else "nothing of it could run"
        return f"{experiment.name}: {why}"
    best_ones = bests(table, experiment.problem, experiment.instance)
    if not best_ones:
        compared = int(table["paper"].notna().sum())
        return f"{experiment.name}: {len(table)} quantities, {compared} beside the paper's"
    if ahead := _ahead(table, best_ones):
        return f"{experiment.name}: {_first([str(one) for one in ahead])}"
    best_ones = [best for best in best_ones if best.contenders > 1] or best_ones
    contested, decided = best_ones[0].contenders > 1, any(best.sure for best in best_ones)
    word = "median" if not contested else "best" if decided else "undecided"
    said = [
        f"{best.where} on {best.backend}: {'undecided, ' if decided and contested and not best.sure else ''}{best}"
        for best in best_ones
    ]
    return f"{experiment.name}: {word}, {_first([line.strip() for line in said])}"


def _ahead(table: pd.DataFrame, found: list[Best]) -> list[Ahead]:
    told = {index_of(row, table): row for row in table[table["quantity"] == BEST].to_dict("records")}
    return [
        Ahead(best, digits(row["ours"], 3), called(row["settled"], row["disturbed"]))
        for best in found
        if (row := told.get(best.index))
    ]


def _first(said: list[str]) -> str:
    """As many as the console has room for, and how many there are beside."""
    more = [f"and {len(said) - LONG_LIST} more"] if len(said) > LONG_LIST else []
    return "; ".join([*said[:LONG_LIST], *more])


def page(
    plan: ReportPlan, found: Outcome, *, partial: bool, vega: Path | None = None, quoted: Quoted | None = None
) -> str:
    """The report as HTML. Raises Failure for a table or figure that is missing or out of date.

    found: what became of the plan's points; vega: the charts' script, made anew if there is no such file; quoted: other
    people's solvers that were not run; partial: no such failure, what is missing is named in the page.
    """
    sections = [_section(experiment, found, partial, quoted) for experiment in plan.experiments]
    measured = machines(point.samples for point, _ in found.measured)
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    drawn = any(section.specification for section in sections)
    return templates.get_template("page.html").render(
        title=plan.title,
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        sections=sections,
        machines=measured,
        software=_software(measured),
        dirty={software["commit"] for machine in measured for software in machine.software if software["dirty"]},
        no_commit=NO_COMMIT,
        lacking=len(found.lacking),
        failed=by_reason(found.lacking),
        skipped=by_reason(found.left_out),
        busy=found.busy(),
        kernels=_by_file(kernels(plan.resources)),
        graphs=[graph_row(graph, partial=partial) for graph in plan.graphs],
        # After a failed run the file may be that of an earlier one.
        arrays=[(array, () if partial else array_shape(array)) for array in plan.arrays],
        answers=kept(plan.answers, read_ceilings(plan.ceilings) if plan.ceilings else Ceilings()),
        css=(TEMPLATES / "page.css").read_text(encoding="utf-8"),
        script=(TEMPLATES / "page.js").read_text(encoding="utf-8"),
        vega=_read_or_make(vega) if drawn else "",
        themes=json.dumps({"light": theme() | {"background": "transparent"}, "dark": theme(dark=True)}),
        long_table=LONG_TABLE,
        readable=readable,
        times=times,
    )


def _read_or_make(vega: Path | None) -> str:
    return vega.read_text(encoding="utf-8") if vega and vega.exists() else charts_script()


def _section(experiment: PlannedExperiment, run: Outcome, partial: bool, quoted: Quoted | None) -> Section:
    missing = []

    def there(path: Path, what: str, made_for: Callable[[], str]) -> bool:
        """Whether a file is there and was made for this configuration."""
        if path.exists() and experiment.name not in run.stale and made_for() == experiment.identity:
            return True
        why = "is out of date" if path.exists() else "is missing"
        if not partial:
            raise Failure(f"{path}: {what} of {experiment.name} {why}; --partial reports what there is")
        missing.append(f"{what} {why} ({path})")
        return False

    @contextmanager
    def whole() -> Iterator[None]:
        """Within it, a damaged file is as good as missing."""
        try:
            yield
        except Failure as failure:
            if not partial:
                raise
            missing.append(str(failure))

    table, csv, svg, specification = None, None, None, None
    with whole():
        if there(experiment.table, "the table", lambda: identity_in(experiment.table)):
            table = read_rows(experiment.table).to_pandas()
            csv = base64.b64encode(table.to_csv(index=False).encode()).decode()
    drawn = experiment.figure
    with whole():
        if drawn and there(drawn.spec, "the chart", lambda: identity_of(drawn.spec)):
            # Inside a <script>, a "<" of the data could begin a tag that ends it.
            specification = drawn.spec.read_text(encoding="utf-8").replace("<", "\\u003c")
            if there(drawn.svg, "the figure", lambda: experiment.identity):
                svg = base64.b64encode(drawn.svg.read_bytes()).decode()
    beside_ours = table is None or table["paper"].notna().any() or f'"source":"{PAPER}' in (specification or "")
    known = problem(experiment.problem) if experiment.problem in names() else None
    found = [] if table is None else bests(table, experiment.problem, experiment.instance)
    data = "graph" if known is None or any(i.kind == "graph" for i in known.INPUTS.values()) else "data"
    laid_out = None if table is None or table.empty else layout(table, experiment.problem, experiment.instance, data)
    measured = _measured(experiment, run)
    if laid_out:
        laid_out.notes += not_there(experiment, table, measured)
    return Section(
        experiment.name,
        experiment.title,
        experiment.text,
        known.TITLE if known else experiment.problem,
        variants_in_words(experiment),
        {} if table is None else parameters_in_words(experiment, table),
        {} if table is None else quantities_in_words(experiment, table),
        experiment.sampling,
        experiment.origin,
        experiment.printed and not beside_ours,
        experiment.launcher,
        laid_out,
        bool(measured),
        csv,
        svg,
        specification if svg else None,
        _hint(specification or ""),
        [best for best in found if best.contenders > 1],
        [] if table is None else _ahead(table, found),
        [] if table is None else _rankings(experiment, table, quoted),
        [one for one in run.lacking_points if one.what.split("/", 1)[0] == experiment.name],
        missing,
    )


def _rankings(experiment: PlannedExperiment, table: pd.DataFrame, quoted: Quoted | None) -> list[Ranking]:
    if experiment.problem not in names():
        return []
    known = problem(experiment.problem).VARIANTS
    peers = [name for name in experiment.variants if name in known and known[name].foreign]
    return rankings(table, experiment.problem, experiment.instance, peers, quoted)


def _hint(specification: str) -> str:
    """What a reader can do with the chart."""
    hints = {
        '"bind":"legend"': "click the legend to single a series out",
        '"bind":"scales"': "drag to move, pinch or Ctrl and wheel to zoom, double-click to reset",
    }
    text = "; ".join(hint for mark, hint in hints.items() if mark in specification)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _by_file(found: list[Kernel]) -> dict[tuple[str, str, str], list[dict[str, Any]]]:
    files: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for kernel in found:
        files.setdefault((kernel.problem, kernel.file, kernel.architecture), []).append(kernel.use)
    return files


def _software(measured: list[Machine]) -> list[dict[str, str]]:
    """Versions and commits, each combination once."""
    found = []
    for software in (software for machine in measured for software in machine.software):
        changed = software["dirty"] and software["commit"] != NO_COMMIT
        commit = (software["commit"] or "")[:12] + (", with changes not committed" if changed else "")
        packages = dict(item.split("=", 1) for item in (software["packages"] or "").split())
        facts = {"commit": commit, "Python": software["python"] or "", **packages}
        if facts not in found:
            found.append(facts)
    return found


def write_report(
    plan: ReportPlan,
    output: Path,
    peers: Path,
    *,
    vega: Path | None = None,
    partial: bool = False,
    stopped: bool = False,
    since: float = 0,
) -> list[str]:
    """Write the page, and beside it what the index of runs needs (.json). Returns the lines for the console.

    peers: what is quoted; partial, vega: as `page` takes them; stopped, since: as `outcome` does.
    """
    found = outcome(plan, stopped=stopped, since=since)
    html = page(plan, found, partial=partial, vega=vega, quoted=read_quoted(peers))
    with beside(output) as path:
        path.write_text(html, encoding="utf-8")
    told = entry(plan, found, partial=partial)
    with beside(output.with_suffix(".json")) as path:
        path.write_text(told.model_dump_json(indent=1), encoding="utf-8")
    return [*summary_lines(plan, found), f"report: {output}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--plan", type=Path, required=True, help="a ReportPlan as JSON")
    parser.add_argument("--output", type=Path, required=True, help=".html to write")
    parser.add_argument("--peers", type=Path, required=True, help="what other people's solvers reach, .yaml")
    parser.add_argument("--vega", type=Path, help="the charts' script; made anew if there is no such file")
    parser.add_argument("--partial", action="store_true", help="after a failed run: report what there is")
    parser.add_argument("--stopped", action="store_true", help="after a run that the user ended")
    parser.add_argument("--since", type=float, default=0, help="begin of a run that ended badly, seconds of the epoch")
    parser.add_argument(
        "--index", type=Path, help="also write the list of all runs, .html in the folder that holds them"
    )

    def step(arguments: argparse.Namespace) -> None:
        plan = read_plan(arguments.plan)
        check_planned([arguments.peers, plan.ceilings, *TEMPLATES.glob("*.*")])
        given = {name: getattr(arguments, name) for name in ("vega", "partial", "stopped", "since")}
        for line in write_report(plan, arguments.output, arguments.peers, **given):
            say(line)
        if arguments.index:
            write_index(arguments.index)

    run_step(step, parser)


if __name__ == "__main__":
    main()
