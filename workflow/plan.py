"""From a checked configuration to the points to measure: paths, inputs, and what is left out and why.

A point is one variant with one choice of parameters on one graph and backend in one experiment; its path says all of
that, so that adding a value to a sweep adds a file and changes no other.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError
from snakemake.utils import Paramspace

from saitan import cuda
from saitan.problem import problem
from saitan.workflow.config import Config, ConfigError, explain, load
from saitan.workflow.graphs.catalogue import CATALOGUE as CATALOGUE_SCHEMA
from saitan.workflow.graphs.catalogue import Downloaded, Generated, load_catalogue
from saitan.workflow.graphs.plan import NO_GRAPH, RESULTS, GraphFiles, absent_graphs
from saitan.workflow.step import Failure

KERNELS = Path("kernels")
CATALOGUE = Path("config/graphs.yaml")
PUBLISHED = Path("config/published.yaml")
PEERS = Path("config/peers.yaml")
SUMMARY = f"{RESULTS}/report.txt"
VEGA = f"{RESULTS}/vega.js"
DEFAULT = "default"
NO_NVCC = "nvcc is not installed or not on PATH"


@dataclass(frozen=True)
class Point:
    """One `measure` job. `parameters` are the variant's, `instance` the problem's."""

    experiment: str
    problem: str
    backend: str
    graph: str
    variant: str
    point: str
    instance_point: str
    parameters: dict[str, Any]
    instance: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.experiment}/{self.backend}/{self.graph}/{self.variant}/{self.point}"

    @property
    def samples(self) -> str:
        return f"{RESULTS}/samples/{self.name}.parquet"

    @property
    def log(self) -> str:
        return f"{RESULTS}/logs/measure/{self.name}.log"


@dataclass(frozen=True)
class Skipped:
    """A point, graph or backend that is left out, and why."""

    what: str
    reason: str


@dataclass
class Plan(GraphFiles):
    """Everything the rules and the report ask of a configuration.

    entries: the catalogue; absent: names of graphs that a local mirror lacks.
    """

    config: Config
    entries: Mapping[str, Downloaded | Generated]
    absent: Mapping[str, str] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)

    @cached_property
    def backends(self) -> list[str]:
        """The backends of this run. A GPU that cannot be used is said once, in `skipped`.

        Raises ConfigError where that GPU is all that was asked for.
        """
        choice = self.config.backend
        if choice == "cpu":
            return ["cpu"]
        reason = cuda.unusable() or (NO_NVCC if cuda.find_nvcc() is None else None)
        if reason and choice == "cuda":
            raise ConfigError(f"backend: cuda cannot be used here ({reason}); auto, both and cpu can")
        if reason:
            self.skipped.append(Skipped("backend cuda", reason))
            return ["cpu"]
        return ["cpu", "cuda"] if choice == "both" else ["cuda"]

    @cached_property
    def architectures(self) -> list[str]:
        """What kernels are compiled for; empty without nvcc, which is said once."""
        if cuda.find_nvcc() is None:
            self.skipped.append(Skipped("compiling the CUDA kernels", NO_NVCC))
            return []
        if self.config.architectures is not None:
            return list(self.config.architectures)
        return [cuda.arch()] if cuda.unusable() is None else ["sm_80", "sm_90"]

    @cached_property
    def points(self) -> list[Point]:
        """All points, those that can run; what cannot is added to `skipped`."""
        return [point for name in self.config.experiments for point in self._points_of(name)]

    def points_of(self, experiment: str) -> list[Point]:
        return [point for point in self.points if point.experiment == experiment]

    def graphs_of(self, experiment: str) -> list[str]:
        """The graphs of an experiment that this run has."""
        return [graph for graph in self.config.experiments[experiment].graphs if graph not in self.absent]

    @cached_property
    def graphs(self) -> list[str]:
        """All graphs of this run, each once; those a mirror lacks are added to `skipped`."""
        wanted = dict.fromkeys(graph for e in self.config.experiments.values() for graph in e.graphs)
        for graph in wanted:
            if graph in self.absent:
                self.skipped.append(Skipped(f"graph {graph}", self.absent[graph]))
        return [graph for graph in wanted if graph not in self.absent]

    def _points_of(self, name: str) -> Iterator[Point]:
        experiment = self.config.experiments[name]
        if experiment.problem is None:
            return
        package = problem(experiment.problem)
        graphs = self.graphs_of(name) if experiment.graphs else [NO_GRAPH]
        for variant, backend in itertools.product(experiment.variants, self.backends):
            what = f"{variant} on {backend} in {name}"
            declared = package.VARIANTS[variant]
            if backend not in declared.backends():
                if declared.peer is None or not set(declared.backends()) & set(self.backends):
                    self.skipped.append(Skipped(what, f"{variant} has no {backend} implementation"))
                continue
            if reason := declared.missing():
                self.skipped.append(Skipped(what, reason))
                continue
            for parameters, instance in itertools.product(
                combinations(experiment.variants[variant]), combinations(experiment.instance)
            ):
                for graph in graphs:
                    yield Point(
                        name,
                        experiment.problem,
                        backend,
                        graph,
                        variant,
                        pattern(instance | parameters),
                        pattern(instance),
                        parameters,
                        instance,
                    )

    def point(self, wildcards: Any) -> Point:
        """The point that a measure job's wildcards name."""
        name = f"{wildcards.experiment}/{wildcards.backend}/{wildcards.graph}/{wildcards.variant}/{wildcards.point}"
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Point]:
        return {point.name: point for point in self.points}

    def measure_settings(self, point: Point) -> str:
        """What `saitan.workflow.measure` is told about a point, as JSON."""
        experiment = self.config.experiments[point.experiment]
        measure = self.config.measure.model_copy(update=dict(experiment.measure))
        return json.dumps(
            {
                "experiment": point.experiment,
                "problem": point.problem,
                "backend": point.backend,
                "graph": point.graph,
                "variant": point.variant,
                "parameters": point.parameters,
                "instance": point.instance,
                "traced": experiment.traced,
                **measure.model_dump(),
            }
        )

    def cubins_of(self, point: Point) -> list[str]:
        """The cubins that a point loads, for the device's own architecture."""
        if point.backend != "cuda":
            return []
        stems = problem(point.problem).VARIANTS[point.variant].cubins
        own = [f"{point.problem}/{stem}" for stem in stems]
        shared = [f"cuda/{source.stem}" for source in _sources("cuda")]
        return [f"{self.cubin_folder(point)}/{name}.cubin" for name in own + shared]

    def cubin_folder(self, point: Point) -> str:
        """Where a point finds its cubins; empty on the CPU."""
        return f"{RESULTS}/cubins/{cuda.arch()}" if point.backend == "cuda" else ""

    @cached_property
    def cubins(self) -> list[str]:
        """Every .cu of every problem of this run, and what they share, for every architecture."""
        used = dict.fromkeys(e.problem for e in self.config.experiments.values() if e.problem)
        sources = [source for name in [*used, "cuda"] for source in _sources(name)] if used else []
        return [
            f"{RESULTS}/cubins/{arch}/{source.parent.name}/{source.stem}.cubin"
            for arch in self.architectures
            for source in sources
        ]

    @cached_property
    def resources(self) -> list[str]:
        """What ptxas says, beside every cubin."""
        return [path.removesuffix(".cubin") + ".resources.json" for path in self.cubins]

    def headers_of(self, name: str) -> list[str]:
        """The headers that a problem's .cu may include."""
        return [str(path) for folder in (name, "cuda") for path in sorted((KERNELS / folder).glob("*.cuh"))]

    def drivers_of(self, point: Point) -> list[str]:
        """The Python modules that a point's numbers depend on."""
        on_gpu = point.backend == "cuda"
        others = re.compile(r"(^|_)cpu" if on_gpu else r"(^|_)cuda")
        own = [module for module in _modules(point.problem) if not others.search(module.name)]
        shared = _modules("cuda") if on_gpu else [KERNELS / "atomics.py"]
        return [str(path) for path in (*own, *shared, KERNELS / "graph.py", Path("workflow/measure.py"))]

    def reference_modules(self, name: str) -> list[str]:
        return [str(path) for path in _modules(name) if path.name in ("__init__.py", "peers.py")]

    def query_settings(self, wildcards: Any) -> str:
        """What `saitan.workflow.queries` is told, as JSON."""
        instance = self._instances[wildcards.problem, wildcards.instance]
        return json.dumps(
            {
                "problem": wildcards.problem,
                "instance": instance,
                "queries": int(wildcards.drawn),
                "seed": int(wildcards.seed),
            }
        )

    @cached_property
    def _instances(self) -> dict[tuple[str, str], dict[str, Any]]:
        return {(point.problem, point.instance_point): point.instance for point in self.points}

    def _instance_path(self, point: Point) -> str:
        experiment = self.config.experiments[point.experiment]
        drawn = f"{experiment.queries}-{experiment.seed}"
        return f"{RESULTS}/instances/{point.problem}/{point.graph}/{point.instance_point}/{drawn}"

    def queries_of(self, point: Point) -> str:
        return f"{self._instance_path(point)}.queries.json"

    def reference_of(self, point: Point) -> str:
        return f"{self._instance_path(point)}.reference.npz"

    def models_of(self, experiment: str) -> str:
        """Our graph -> the paper's graph it stands for, as JSON."""
        models = {graph: self.entries[graph].models for graph in self.graphs_of(experiment)}
        return json.dumps({graph: model for graph, model in models.items() if model})

    def figure_settings(self, experiment: str) -> str:
        described = self.config.experiments[experiment]
        return json.dumps({"title": described.title, **described.figure.model_dump()})

    def shown_of(self, experiment: str) -> list[str]:
        """The files that an experiment ends in; none when nothing of it can run here."""
        described = self.config.experiments[experiment]
        if not (self.points_of(experiment) if described.variants else self.graphs_of(experiment)):
            return []
        files = [f"{RESULTS}/tables/{experiment}.parquet", f"{RESULTS}/tables/{experiment}.csv"]
        if described.figure:
            files += [f"{RESULTS}/figures/{experiment}.svg", f"{RESULTS}/figures/{experiment}.json"]
        return files

    def settings(self) -> str:
        """The whole configuration as JSON."""
        return self.config.model_dump_json(exclude_unset=True)

    def say_skipped(self) -> None:
        """Name on stderr what is left out and why."""
        for left_out in dict.fromkeys(self.skipped):
            print(f"skipped: {left_out.what}: {left_out.reason}", file=sys.stderr)

    def say_found(self, targets: Collection[str]) -> None:
        """Where the report is and what it found, unless the run was for other targets or stopped short of it."""
        wanted = not targets or "all" in targets or f"{RESULTS}/report.html" in targets
        if wanted and Path(SUMMARY).exists():
            print(Path(SUMMARY).read_text(), end="", file=sys.stderr)

    def report_what_exists(self) -> None:
        """After a failed run: the report of what there is, the failed points named with the reason.

        The summary of an earlier run is removed: the next call finds it missing, and with it what failed.
        """
        Path(SUMMARY).unlink(missing_ok=True)
        config, made = shlex.quote(self.settings()), f"{RESULTS}/plan.json"
        python = shlex.quote(sys.executable)
        subprocess.run(
            f"{python} -m saitan.workflow.outline --config {config} --output {made} &&"
            f" {python} -m saitan.workflow.report --partial --plan {made} --vega {VEGA} --peers {PEERS}"
            f" --output {RESULTS}/report.html >&2",
            shell=True,
            check=False,
        )


def _modules(package: str) -> list[Path]:
    return sorted((KERNELS / package).glob("*.py"))


def _sources(package: str) -> list[Path]:
    return sorted((KERNELS / package).glob("*.cu"))


def plan_from(raw: Mapping[str, Any]) -> Plan:
    """The plan of a configuration. Ends the process with one line for what is wrong in it."""
    try:
        entries = load_catalogue(CATALOGUE)
        config = load(raw, entries)
        plan = Plan(config, entries, absent_graphs(config, entries))
        # Computed now, so that what is left out is known before anything is said.
        _ = plan.points, plan.graphs, plan.architectures
    except ValidationError as error:
        sys.exit(f"{CATALOGUE}: {explain(error, CATALOGUE_SCHEMA.json_schema())}")
    except (ConfigError, Failure) as error:
        sys.exit(f"config: {error}")
    return plan


def combinations(values: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Every choice of one value for each key."""
    for chosen in itertools.product(*values.values()):
        yield dict(zip(values, chosen, strict=True))


def pattern(parameters: Mapping[str, Any]) -> str:
    """How parameters stand in a path: "threshold_up~350,threshold_down~330"."""
    if not parameters:
        return DEFAULT
    space = Paramspace(
        pd.DataFrame([parameters], dtype=object), filename_params="*", filename_sep=",", single_wildcard="point"
    )
    return next(iter(space.instance_patterns)).removeprefix("point~")
