"""The plan of a run, made by planning.py: its points, their files, inputs and settings, for rules and the report."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from saitan.files import beside
from saitan.problem import problem
from saitan.workflow.arrays import Array, array_file
from saitan.workflow.config_model import Config, Measure
from saitan.workflow.cubin_files import CubinFiles
from saitan.workflow.graphs.catalogue import Downloaded, Generated
from saitan.workflow.graphs.plan import GraphFiles
from saitan.workflow.identities import Identities
from saitan.workflow.machine import Machine
from saitan.workflow.points import NO_GRAPH, RESULTS, Point, digest
from saitan.workflow.step import of_files

VEGA = f"{RESULTS}/vega.js"
INDEX = f"{RESULTS}/index.html"


@dataclass(frozen=True)
class Skipped:
    """A point, graph or backend that is left out, and why."""

    what: str
    reason: str


@dataclass
class Plan(GraphFiles, CubinFiles, Identities):
    """Everything the rules and the report ask of a configuration.

    machine          what jobs run on
    entries, arrays  the catalogues of graphs and arrays
    absent           name of a graph or array -> why it cannot be had
    contents         name of a graph or array of the user's own -> checksum of its file (graphs/contents.py)
    root             the folder of the Snakefile as jobs see it, with a slash; "" where they run in it
    skipped          what is left out
    """

    config: Config
    machine: Machine
    entries: Mapping[str, Downloaded | Generated]
    arrays: Mapping[str, Array] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    root: str = ""
    contents: Mapping[str, str] = field(default_factory=dict)
    backends: list[str] = field(default_factory=list)
    architectures: list[str] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def run(self) -> str:
        """The folder of this run's results."""
        return f"{RESULTS}/{self.config.name}"

    @property
    def summary(self) -> str:
        return f"{self.run}/report.txt"

    @property
    def report(self) -> str:
        return f"{self.run}/report.html"

    @property
    def listed(self) -> str:
        """What the list of runs says of this one."""
        return f"{self.run}/report.json"

    @property
    def left(self) -> str:
        """What the last run left (left.py)."""
        return f"{self.run}/left.json"

    @property
    def outlines(self) -> list[str]:
        """What tells the report of a run, then the table of each experiment, what to do."""
        return [f"{self.run}/plan.json", *(f"{self.run}/plan/{name}.json" for name in self.config.experiments)]

    def source(self, name: str) -> str:
        """A file of the project as jobs see it."""
        return f"{self.root}{name}"

    # Points

    def points_of(self, experiment: str) -> list[Point]:
        return self._by_experiment.get(experiment, [])

    @cached_property
    def _by_experiment(self) -> dict[str, list[Point]]:
        grouped: dict[str, list[Point]] = {}
        for point in self.points:
            grouped.setdefault(point.experiment, []).append(point)
        return grouped

    def point(self, wildcards: Any) -> Point:
        """The point that a measure job's wildcards name."""
        w = wildcards
        return _asked(self._by_name, f"{w.experiment}/{w.backend}/{w.graph}/{w.variant}/{w.point}", "point")

    @cached_property
    def _by_name(self) -> dict[str, Point]:
        return {point.name: point for point in self.points}

    def measure_settings(self, point: Point) -> str:
        """What `workflow.measure` is told about a point, as JSON."""
        return json.dumps(
            {
                "experiment": point.experiment,
                **self._solver_settings(point),
                "traced": self.config.experiments[point.experiment].traced,
                "identity": point.identity,
                "ranks": point.ranks,
                **self.measure_of(point.experiment).model_dump(),
            }
        )

    def measure_of(self, experiment: str) -> Measure:
        """How the points of an experiment are sampled."""
        return self.config.measure.model_copy(update=dict(self.config.experiments[experiment].measure))

    @property
    def compiled_together(self) -> str:
        """The file that lists the points which compile ahead for each other."""
        return f"{self.run}/compiled-together.json"

    @property
    def planned_code(self) -> str:
        """The file that holds the run's code to what it was planned with (planned_code.py)."""
        return f"{self.run}/code.json"

    @property
    def steps_told(self) -> str:
        """The file of what `outline_files` tells the steps after measuring."""
        return f"{self.run}/told.json"

    @staticmethod
    def compiles(point: Point) -> bool:
        """Whether one process measures a point on the CPU, where Numba compiles solvers and what checks answers."""
        return point.backend == "cpu" and point.ranks is None

    def together_option(self, point: Point) -> str:
        """The argument that names that file. It is no input: another list measures nothing again."""
        return f"--together {self.compiled_together}" if self.compiles(point) else ""

    def write_begun(self, code: Mapping[str, str], told: Mapping[str, str]) -> None:
        """Write the three files as JSON: settings, files and identities of points that run code of ours; code; told."""
        together = [
            self._solver_settings(point)
            | {"traced": self.config.experiments[point.experiment].traced}
            | {"samples": point.samples, "identity": point.identity}
            for point in self.points
            if self.compiles(point) and not problem(point.problem).VARIANTS[point.variant].foreign
        ]
        try:
            files = {self.compiled_together: together, self.planned_code: dict(code), self.steps_told: dict(told)}
            for file, content in files.items():
                with beside(file) as path:
                    path.write_text(json.dumps(content), encoding="utf-8")
        except OSError as error:
            # The first files of a run.
            sys.exit(f"error: {error.filename or self.compiled_together} cannot be written: {of_files(error)}")

    def launcher_of(self, point: Point) -> str | None:
        """The launcher that a point's ranks are started by, with its options; None where it is one process."""
        return self.config.launcher if (point.ranks or 1) > 1 else None

    def cores_of(self, point: Point) -> int | None:
        """Cores of each of a point's ranks, where there are several."""
        if not self.launcher_of(point):
            return None
        return self.config.experiments[point.experiment].cores_per_rank or max(1, self.machine.cores // point.ranks)

    @staticmethod
    def gpus_of(point: Point) -> int:
        return (point.ranks or 1) if point.backend == "cuda" else 0

    def launch(self, point: Point, resources: Any) -> str:
        """What starts a point's ranks, to stand before a step; "" where it is one process."""
        return (
            f"python -m saitan.workflow.launch {resources.mpi} -n {resources.tasks}" if self.launcher_of(point) else ""
        )

    def rank_options(self, point: Point) -> str:
        """What each rank is told of the others."""
        cores = self.config.experiments[point.experiment].cores_per_rank
        return f"--ranks {point.ranks}" + (f" --cores-per-rank {cores}" if cores else "") if point.ranks else ""

    def keep_settings(self, wildcards: Any) -> str:
        """What `workflow.keep` is told about a kept answer, as JSON."""
        point = self.kept_point(wildcards)
        return json.dumps(self._solver_settings(point) | {"identity": self.answer_identity(point)})

    def _solver_settings(self, point: Point) -> dict[str, Any]:
        return {
            "problem": point.problem,
            "backend": point.backend,
            "graph": point.graph,
            "variant": point.variant,
            "parameters": dict(point.parameters),
            "instance": dict(point.instance),
        }

    # Graphs and arrays

    def graphs_of(self, experiment: str) -> list[str]:
        """The graphs of an experiment that this run has."""
        return [graph for graph in self.config.experiments[experiment].graphs if graph not in self.absent]

    @cached_property
    def graphs(self) -> list[str]:
        """All graphs of this run, each once."""
        wanted = dict.fromkeys(graph for e in self.config.experiments.values() for graph in e.graphs)
        return [graph for graph in wanted if graph not in self.absent]

    @cached_property
    def arrays_used(self) -> list[str]:
        """The catalogue's arrays of this run, each once."""
        wanted = dict.fromkeys(array for e in self.config.experiments.values() for array in e.arrays)
        return [array for array in wanted if array in self.arrays and array not in self.absent]

    def inputs_of(self, point: Point) -> list[str]:
        """The files that a point's instance is read from."""
        if point.graph in self.entries:
            return self.graph_files(point.graph)
        return [] if point.graph == NO_GRAPH else [self._array_file(point)]

    def input_option(self, point: Point) -> str:
        """The argument that names them."""
        if point.graph in self.entries:
            return self.graph_option(point.graph)
        return "" if point.graph == NO_GRAPH else f"--array {shlex.quote(self._array_file(point))}"

    def _array_file(self, point: Point) -> str:
        if point.graph in self.arrays:
            return array_file(point.graph)
        experiment, _, output = point.graph.partition(".")
        return f"{self.answers_of(self.kept_by(experiment, point.backend))}/{output}.parquet"

    def kept_by(self, experiment: str, backend: str) -> Point:
        """The point whose answer an experiment keeps, on the same backend where there is one."""
        points = self.points_of(experiment)
        return next((point for point in points if point.backend == backend), points[0])

    @cached_property
    def _kept_by_file(self) -> dict[str, Point]:
        """The file of each answer that this run keeps -> the point that it is of, of several experiments the first."""
        files: dict[str, Point] = {}
        for point in self.points:
            for file in self._kept_of(point):
                files.setdefault(file, point)
        return files

    def _kept_of(self, point: Point) -> list[str]:
        return [
            f"{self.answers_of(point)}/{output}.parquet" for output in self.config.experiments[point.experiment].keep
        ]

    def answers_of(self, point: Point) -> str:
        """The folder of a point's kept answers."""
        data = self._data_place(point)
        place = f"{point.problem}/{point.backend}/{data}/{point.variant}/{point.point}/{point.drawn}"
        return f"{RESULTS}/answers/{place}/{self.config.experiments[point.experiment].keep_as}"

    def _data_place(self, point: Point) -> str:
        """The name of a point's data in a path that runs share."""
        if point.graph in (NO_GRAPH, *self.entries, *self.arrays):
            return point.graph
        # Experiments of two runs may share a name, and their kept answers may not.
        return f"{point.graph}-{digest(self._array_file(point))[:8]}"

    @property
    def kept(self) -> list[str]:
        """Every answer that this run keeps."""
        return list(self._kept_by_file)

    @property
    def kept_identities(self) -> dict[str, str]:
        """Every answer that this run keeps -> what it is made for."""
        return {file: self.answer_identity(point) for file, point in self.kept_points}

    @property
    def kept_points(self) -> Collection[tuple[str, Point]]:
        """Every answer that this run keeps, and the point that it is of."""
        return self._kept_by_file.items()

    def kept_point(self, wildcards: Any) -> Point:
        w = wildcards
        place = f"{w.problem}/{w.backend}/{w.graph}/{w.variant}/{w.point}/{w.drawn}-{w.seed}/{w.form}/{w.output}"
        return _asked(self._kept_by_file, f"{RESULTS}/answers/{place}.parquet", "answer to keep")

    # Queries

    def query_point(self, wildcards: Any) -> Point:
        """Some point that asks the queries of a job's wildcards."""
        w = wildcards
        return _asked(self._by_queries, f"{w.problem}/{w.data}/{w.instance}/{w.drawn}-{w.seed}", "queries")

    @cached_property
    def _by_queries(self) -> dict[str, Point]:
        return {self._instance_path(point): point for point in self.points}

    def _instance_path(self, point: Point) -> str:
        return f"{point.problem}/{self._data_place(point)}/{point.instance_point}/{point.drawn}"

    def queries_of(self, point: Point) -> str:
        return f"{RESULTS}/instances/{self._instance_path(point)}.queries.json"

    def reference_of(self, point: Point) -> str:
        return f"{RESULTS}/instances/{self._instance_path(point)}.reference.npz"

    def query_settings(self, wildcards: Any) -> str:
        """What `workflow.queries` is told, as JSON."""
        point = self.query_point(wildcards)
        return json.dumps(
            {
                "problem": point.problem,
                "instance": dict(point.instance),
                "queries": int(wildcards.drawn),
                "seed": int(wildcards.seed),
            }
        )

    # What is shown

    def models_of(self, experiment: str) -> dict[str, str]:
        """Our graph -> the paper's graph it stands for."""
        models = {graph: self.entries[graph].models for graph in self.graphs_of(experiment)}
        return {graph: model for graph, model in models.items() if model}

    def figure_settings(self, experiment: str) -> str:
        """What a chart is drawn by, as JSON. Ends the process with one line where the experiment has none."""
        described = self.config.experiments[experiment]
        if described.figure is None:
            sys.exit(f"config: {self.run}/figures: experiment {experiment} has no figure")
        # A chart has no font for code.
        return json.dumps({"title": described.title.replace("`", ""), **described.figure.model_dump()})

    def files_of(self, experiment: str) -> list[str]:
        """The files of an experiment, samples and what is made of them: one that was removed is made again."""
        return [*(point.samples for point in self.points_of(experiment)), *self.shown_of(experiment)]

    def shown_of(self, experiment: str) -> list[str]:
        """The files that an experiment ends in; none when nothing of it can run here."""
        described = self.config.experiments[experiment]
        if not (self.points_of(experiment) if described.variants else self.graphs_of(experiment)):
            return []
        files = [f"{self.run}/tables/{experiment}.parquet", f"{self.run}/tables/{experiment}.csv"]
        if described.figure:
            files += [f"{self.run}/tables/{experiment}.figure.parquet"]
            files += [f"{self.run}/figures/{experiment}.svg", f"{self.run}/figures/{experiment}.json"]
        files += [file for point in self.points_of(experiment) for file in self._kept_of(point)]
        return files

    @property
    def draws(self) -> bool:
        """Whether there is a chart to be drawn."""
        return any(described.figure and self.shown_of(name) for name, described in self.config.experiments.items())

    def say_skipped(self) -> None:
        """Name on stderr what is left out and why."""
        for left_out in self.skipped:
            print(f"skipped: {left_out.what}: {left_out.reason}", file=sys.stderr)


def _asked(known: Mapping[str, Point], name: str, what: str) -> Point:
    """The point of a job's wildcards, which are those of a target that somebody may have named.

    Ends the process with one line where there is none: of other exceptions Snakemake prints where they arose.
    """
    if name not in known:
        sys.exit(f"config: {name}: the experiments of this configuration have no such {what}")
    return known[name]
