"""The list of runs, results/index.html: every folder beside it that has a report, the latest first."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import jinja2
from pydantic import BaseModel, ValidationError

from saitan.files import beside
from saitan.workflow.report_facts import machines
from saitan.workflow.report_outcome import Outcome
from saitan.workflow.report_plan import ReportPlan

TEMPLATES = Path(__file__).parent / "report_template"


class Entry(BaseModel):
    """What the list says of a run. machines: its CPUs and GPUs; counts: of its points and other jobs."""

    name: str
    title: str
    written: datetime | None = None
    machines: list[str] = []
    counts: str = ""
    complete: bool = True
    busy: bool = False


def entry(plan: ReportPlan, found: Outcome, *, partial: bool = False) -> Entry:
    """A run's line, as of now. partial: the run did not come to its end."""
    on = machines(point.samples for point, _ in found.measured)
    chips = [machine.facts["gpu"] if machine.backend == "cuda" else machine.facts["cpu"] for machine in on]
    return Entry(
        name=plan.name,
        title=plan.title,
        written=datetime.now(UTC),
        machines=list(dict.fromkeys(chip for chip in chips if chip)),
        counts=found.counts,
        complete=not (partial or found.lacking),
        busy=bool(found.busy()),
    )


def write_index(path: Path) -> None:
    """Write the list of the folders beside `path` that have a report.html, by the report.json beside each."""
    runs = [(report.parent.name, _read(report)) for report in sorted(path.parent.glob("*/report.html"))]
    runs.sort(key=lambda run: run[1].written or datetime.min.replace(tzinfo=UTC), reverse=True)
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    html = templates.get_template("index.html").render(
        runs=runs, css=(TEMPLATES / "page.css").read_text(encoding="utf-8")
    )
    with beside(path) as written:
        written.write_text(html, encoding="utf-8")


def _read(report: Path) -> Entry:
    """A report's line; its folder's name alone where nothing more is told."""
    try:
        return Entry.model_validate_json(report.with_suffix(".json").read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return Entry(name=report.parent.name, title=report.parent.name)
