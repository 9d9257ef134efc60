"""What the steps after measuring are told of a run (results/<run>/plan.json and plan/*.json, made by outline.py)."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from saitan.workflow.config_model import Experiment
from saitan.workflow.points import DEFAULT, NO_GRAPH
from saitan.workflow.step import Failure


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlannedPoint(_Model):
    """name: "experiment/backend/graph/variant/point"; identity: what its samples must bear."""

    name: str
    identity: str
    samples: Path
    log: Path

    @property
    def experiment(self) -> str:
        return self.name.split("/", 1)[0]

    @property
    def words(self) -> str:
        """ "fast on cpu in fig_a (map, n~4)"."""
        experiment, backend, graph, variant, point = self.name.split("/")
        parts = [(graph, NO_GRAPH), (point, DEFAULT)]
        where = ", ".join(part for part, none in parts if part != none)
        return f"{variant} on {backend} in {experiment}" + (f" ({where})" if where else "")


class TablePlan(_Model):
    """What `workflow.tabulate` is told of an experiment (results/<run>/plan/<experiment>.json).

    experiment, settings    its name and configuration
    identity    of that configuration, written into the table and the chart's data
    models      our graph -> the paper's graph it stands for
    points      whose samples are read
    graphs, published, ceilings    files and folders to read
    table, csv, figure      files to write; figure: the chart's data
    """

    experiment: str
    settings: Experiment
    identity: str
    models: dict[str, str] = {}
    points: list[PlannedPoint] = []
    graphs: list[Path] = []
    published: Path
    ceilings: Path
    table: Path
    csv: Path
    figure: Path


class PlannedFigure(_Model):
    svg: Path
    spec: Path


class PlannedExperiment(_Model):
    """One section.

    identity: of its configuration, which its table and chart must bear; quantities: those that a summary, or the view
    rivals, asks for; compared: the variant of which that view is; sampling: what a point is asked and for how long, in
    words; columns: those of its chart, and what a view of phases describes; phases: whether its view is one; instance:
    names of the problem's own parameters; origin: what the printed numbers are cited as; printed: whether there are
    any; launcher: what starts ranks, where there are several.
    """

    name: str
    title: str
    identity: str
    text: str = ""
    quantities: list[str] = []
    compared: str | None = None
    sampling: str = ""
    columns: list[str] = []
    phases: bool = False
    problem: str | None = None
    variants: list[str] = []
    instance: list[str] = []
    origin: str | None = None
    printed: bool = False
    launcher: str | None = None
    table: Path
    figure: PlannedFigure | None = None


class PlannedStep(_Model):
    """Another job whose failure leaves points without a result: a graph, a cubin, a draw of queries.

    serves: what its output is for; where all of that is there, or not needed either, and no point's samples are out of
    date, the output may be gone
    last: whether it only shows what was measured, and is named where it began itself
    """

    what: str
    serves: list[Path] = []
    output: Path
    log: Path
    last: bool = False


class LeftOut(_Model):
    what: str
    reason: str


class PlannedGraph(_Model):
    """origin: where it comes from, in words; read from the graph's files when absent.

    identity: what its files bear, but for those of a file out of reach that other code converted.
    """

    name: str
    title: str
    folder: Path
    identity: str
    synthetic: str | None = None
    origin: str | None = None


class PlannedArray(_Model):
    """origin: where it comes from, in words; synthetic: what about it is not real."""

    name: str
    title: str
    dtype: str
    file: Path
    origin: str
    synthetic: str | None = None


class PlannedAnswer(_Model):
    """A kept answer's file, and what it must bear."""

    file: Path
    identity: str


class ReportPlan(_Model):
    """What the report is told of a run; paths are relative to where it is written from.

    name, results: the run's, and the folder of its results; answers: those that are kept;
    ceilings: file of what GPUs can do.
    """

    name: str
    title: str
    results: Path
    ceilings: Path | None = None
    experiments: list[PlannedExperiment]
    points: list[PlannedPoint] = []
    steps: list[PlannedStep] = []
    skipped: list[LeftOut] = []
    resources: list[Path] = []
    graphs: list[PlannedGraph] = []
    arrays: list[PlannedArray] = []
    answers: list[PlannedAnswer] = []


def read_plan(path: Path) -> ReportPlan:
    """Raises Failure for a file that is no plan."""
    try:
        return ReportPlan.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise Failure(f"{path}: {key or 'plan'}: {first['msg']}; remove it and run again") from None
