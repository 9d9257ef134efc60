"""Write the report: one page that opens from disk, without a network, with every chart, table and reason inside.

`ReportPlan` is all it is told; everything else it reads from the files that the plan names.
"""

from __future__ import annotations

import argparse
import base64
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from pydantic import BaseModel, ConfigDict, ValidationError

from saitan.problem import names, problem
from saitan.workflow.files import beside
from saitan.workflow.ranking import Quoted, Ranking, rankings, read_quoted
from saitan.workflow.report_facts import Failed, GraphRow, Kernel, Machine, failed, graph_row, kernels, machines
from saitan.workflow.report_tables import Best, Table, bests, layout, readable
from saitan.workflow.step import Failure, run_step
from saitan.workflow.vega import charts_script, theme

TEMPLATES = Path(__file__).parent / "report_template"
# A longer table is folded in the page, and a longer list is cut short on the console.
LONG_TABLE, LONG_LIST = 60, 4


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlannedFigure(_Model):
    svg: Path
    spec: Path


class PlannedExperiment(_Model):
    """One section. instance: names of the problem's own parameters; origin: what the printed numbers are cited as."""

    name: str
    title: str
    text: str = ""
    problem: str | None = None
    variants: list[str] = []
    instance: list[str] = []
    origin: str | None = None
    table: Path
    figure: PlannedFigure | None = None


class PlannedPoint(_Model):
    """name: "experiment/backend/graph/variant/point"."""

    name: str
    samples: Path
    log: Path

    @property
    def experiment(self) -> str:
        return self.name.split("/", 1)[0]


class PlannedStep(_Model):
    """Another job whose failure leaves points without a result: a graph, a cubin, a draw of queries."""

    what: str
    output: Path
    log: Path


class LeftOut(_Model):
    what: str
    reason: str


class PlannedGraph(_Model):
    """origin: where it comes from, in words; read from the graph's files when absent."""

    name: str
    title: str
    folder: Path
    synthetic: str | None = None
    origin: str | None = None


class ReportPlan(_Model):
    """What the report is told of a run; paths are relative to where it is written from."""

    title: str
    experiments: list[PlannedExperiment]
    points: list[PlannedPoint] = []
    steps: list[PlannedStep] = []
    skipped: list[LeftOut] = []
    resources: list[Path] = []
    graphs: list[PlannedGraph] = []


@dataclass
class Section:
    """An experiment as the template draws it."""

    name: str
    title: str
    text: str
    problem: str | None
    variants: dict[str, str]
    origin: str | None
    table: Table | None
    csv: str | None
    svg: str | None
    specification: str | None
    hint: str
    bests: list[Best]
    rankings: list[Ranking]
    failed: list[Failed]
    missing: list[str]


def read_plan(path: Path) -> ReportPlan:
    """Raises Failure for a file that is no plan."""
    try:
        return ReportPlan.model_validate_json(path.read_text())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise Failure(f"{path}: {key or 'plan'}: {first['msg']}") from None


def failures(plan: ReportPlan) -> list[Failed]:
    """Points and other jobs without a result; the others first, since they are why points did not run."""
    steps = [failed(step.what, step.output, step.log) for step in plan.steps]
    points = [failed(point.name, point.samples, point.log) for point in plan.points]
    return [failure for failure in (*steps, *points) if failure]


def summary_lines(plan: ReportPlan) -> list[str]:
    """What the run found, for the console: the fastest of each experiment, what failed, what was left out."""
    lines = []
    for experiment in plan.experiments:
        if not experiment.table.exists():
            lines.append(f"{experiment.name}: no table")
            continue
        table = pd.read_parquet(experiment.table)
        found = bests(table, experiment.instance)
        if found:
            word = "fastest" if any(best.contenders > 1 for best in found) else "median"
            shown = [f"{best.where} on {best.backend}: {best}" for best in found[:LONG_LIST]]
            more = f"; and {len(found) - LONG_LIST} more" if len(found) > LONG_LIST else ""
            lines.append(f"{experiment.name}: {word}, {'; '.join(shown)}{more}")
        else:
            compared = int(table["paper"].notna().sum()) if "paper" in table else 0
            lines.append(f"{experiment.name}: {len(table)} quantities, {compared} beside the paper's")
    lacking = failures(plan)
    lines += [f"failed: {failure.what}: {failure.reason}" for failure in lacking[:LONG_LIST]]
    lines += [f"left out: {what}: {reason}" for reason, what in _by_reason(plan.skipped)]
    lines.append(f"{len(plan.points)} points, {len(lacking)} failed, {len(plan.skipped)} left out")
    return lines


def page(plan: ReportPlan, *, partial: bool, vega: Path | None = None, quoted: Quoted | None = None) -> str:
    """The report as HTML. Raises Failure for a table or figure that is missing.

    vega: the charts' script; made anew if there is no such file. quoted: other people's solvers that were not run.
    partial: no such failure; what is missing is named in the page.
    """
    lacking = failures(plan)
    sections = [_section(experiment, lacking, partial, quoted) for experiment in plan.experiments]
    measured = machines(point.samples for point in plan.points if point.samples.exists())
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
        dirty=any(software["dirty"] for machine in measured for software in machine.software),
        points=len(plan.points),
        failures=len(lacking),
        failed=list(_by_reason(lacking)),
        skipped=list(_by_reason(plan.skipped)),
        kernels=_by_file(kernels(plan.resources)),
        graphs=[_graph(graph) for graph in plan.graphs],
        css=(TEMPLATES / "page.css").read_text(),
        script=(TEMPLATES / "page.js").read_text(),
        vega=_read_or_make(vega) if drawn else "",
        themes=json.dumps({"light": theme() | {"background": "transparent"}, "dark": theme(dark=True)}),
        long_table=LONG_TABLE,
        readable=readable,
    )


def _read_or_make(vega: Path | None) -> str:
    return vega.read_text() if vega and vega.exists() else charts_script()


def _section(experiment: PlannedExperiment, lacking: list[Failed], partial: bool, quoted: Quoted | None) -> Section:
    missing = []

    def there(path: Path, what: str) -> bool:
        if path.exists():
            return True
        if not partial:
            raise Failure(f"{path}: {what} of {experiment.name} is missing; --partial reports what there is")
        missing.append(f"{what} ({path})")
        return False

    table, csv, svg, specification = None, None, None, None
    if there(experiment.table, "the table"):
        table = pd.read_parquet(experiment.table)
        csv = base64.b64encode(table.to_csv(index=False).encode()).decode()
    if experiment.figure and there(experiment.figure.svg, "the figure"):
        svg = base64.b64encode(experiment.figure.svg.read_bytes()).decode()
    if experiment.figure and there(experiment.figure.spec, "the chart"):
        # Inside a <script>, a "<" of the data could begin a tag that ends it.
        specification = experiment.figure.spec.read_text().replace("<", "\\u003c")
    return Section(
        experiment.name,
        experiment.title,
        experiment.text,
        problem(experiment.problem).TITLE if experiment.problem in names() else experiment.problem,
        _variants(experiment),
        experiment.origin,
        None if table is None or table.empty else layout(table, experiment.instance),
        csv,
        svg,
        specification,
        _hint(specification or ""),
        [] if table is None else [best for best in bests(table, experiment.instance) if best.contenders > 1],
        [] if table is None else _rankings(experiment, table, quoted),
        [failure for failure in lacking if failure.what.split("/", 1)[0] == experiment.name],
        missing,
    )


def _rankings(experiment: PlannedExperiment, table: pd.DataFrame, quoted: Quoted | None) -> list[Ranking]:
    if experiment.problem not in names():
        return []
    known = problem(experiment.problem).VARIANTS
    peers = [name for name in experiment.variants if name in known and known[name].foreign]
    return rankings(table, experiment.problem, experiment.instance, peers, quoted)


def _hint(specification: str) -> str:
    """What the chart answers to."""
    hints = {
        '"bind":"legend"': "click the legend to single a series out",
        '"bind":"scales"': "drag to move, pinch or Ctrl and wheel to zoom, double-click to reset",
    }
    text = "; ".join(hint for mark, hint in hints.items() if mark in specification)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _variants(experiment: PlannedExperiment) -> dict[str, str]:
    if experiment.problem not in names():
        return {}
    known = problem(experiment.problem).VARIANTS
    return {name: known[name].summary for name in experiment.variants if name in known}


def _by_reason(absent: Iterable[LeftOut | Failed]) -> Iterator[tuple[str, str]]:
    """Each reason once, with everything that it is the reason of."""
    reasons: dict[str, list[str]] = {}
    for one in absent:
        reasons.setdefault(one.reason, []).append(one.what)
    for reason, what in reasons.items():
        yield reason, ", ".join(dict.fromkeys(what))


def _by_file(found: list[Kernel]) -> dict[tuple[str, str, str], list[dict[str, Any]]]:
    files: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for kernel in found:
        files.setdefault((kernel.problem, kernel.file, kernel.architecture), []).append(kernel.use)
    return files


def _software(measured: list[Machine]) -> list[dict[str, str]]:
    """Versions and commits, each combination once."""
    found = []
    for software in (software for machine in measured for software in machine.software):
        commit = (software["commit"] or "")[:12] + (", with changes not committed" if software["dirty"] else "")
        packages = dict(item.split("=", 1) for item in (software["packages"] or "").split())
        facts = {"commit": commit, "Python": software["python"] or "", **packages}
        if facts not in found:
            found.append(facts)
    return found


def _graph(graph: PlannedGraph) -> GraphRow:
    return graph_row(graph.name, graph.title, graph.folder, graph.synthetic, graph.origin)


def write_report(arguments: argparse.Namespace) -> None:
    plan = read_plan(arguments.plan)
    html = page(plan, partial=arguments.partial, vega=arguments.vega, quoted=read_quoted(arguments.peers))
    with beside(arguments.output) as path:
        path.write_text(html, encoding="utf-8")
    for line in summary_lines(plan):
        print(line)
    print(f"report: {arguments.output}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--plan", type=Path, required=True, help="a ReportPlan as JSON")
    parser.add_argument("--output", type=Path, required=True, help=".html to write")
    parser.add_argument("--peers", type=Path, required=True, help="what other people's solvers reach, .yaml")
    parser.add_argument("--vega", type=Path, help="the charts' script; made anew if there is no such file")
    parser.add_argument("--partial", action="store_true", help="after a failed run: report what there is")
    run_step(write_report, parser)


if __name__ == "__main__":
    main()
