"""What files were made for: a digest of all that a file's content depends on, its identity.

Graphs, samples, kept answers, tables and charts bear theirs, and Snakemake's rules are told it. So a change of anything
below makes a file again, and a file that another one replaced is told from it (outdated.py). The identity of what is
made of a graph or an array holds that of its data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cached_property
from pathlib import Path
from typing import Any

import saitan
from saitan.cuda.build import included
from saitan.generators import GENERATORS
from saitan.problem import kernels_of, problem, with_defaults
from saitan.workflow import modules
from saitan.workflow.arrays import Array
from saitan.workflow.config_model import Config
from saitan.workflow.graphs.catalogue import Downloaded, Generated
from saitan.workflow.machine import Machine
from saitan.workflow.other_code import further, versions
from saitan.workflow.points import Point, digest
from saitan.workflow.quantities import declarations

# Steps whose code decides what a file holds, with all that they import, but for what is set aside: how steps begin, say
# something and end; settings, which are told by their values; what runs before anything is timed; other ways in; which
# generators there are, so that an added one makes and measures nothing again.
_GENERATING = ("saitan.workflow.graphs.generate", "saitan.generators.generator")
_CONVERTING = ("saitan.workflow.graphs.convert",)
_UNPACKING = ("saitan.workflow.arrays",)
_ASKING = ("saitan.workflow.queries",)
_MEASURING = ("saitan.workflow.measure", *_ASKING)
_READING_ANSWERS = "saitan.workflow.answers"
_PACKING = "saitan.packed"
_KEEPING = ("saitan.workflow.keep", *_ASKING, _READING_ANSWERS)
_ASIDE = {
    *(f"saitan.workflow.{name}" for name in ("step", "planned_code", "memory", "compile_ahead", "provenance")),
    *(f"saitan.workflow.{name}" for name in ("points", "sources", "checksums", "graphs.catalogue", "graphs.read")),
    "saitan.generators",
}
# What takes no part in making a graph, and in generating one.
_NO_GRAPH = {"saitan.errors", "saitan.files", "saitan.generators.ranges", "saitan.importers", "saitan.memory"}
# What draws the same numbers whatever its version.
_DRAWING = {"numpy", "numba"}
# What saitan's own code imports beside its requirements.
_COMES_WITH = {"cupy", "llvmlite", "nvidia", "platformdirs"}
_NO_FILE = {f"saitan.workflow.graphs.{name}" for name in ("readers", "streams")}


class Identities:
    """The side of a plan that says what its files are made for.

    config, machine, entries, arrays, contents, architectures, source: as Plan has them.
    """

    config: Config
    machine: Machine
    entries: Mapping[str, Downloaded | Generated]
    arrays: Mapping[str, Array]
    contents: Mapping[str, str]
    architectures: Sequence[str]

    def graph_identity(self, graph: str) -> str:
        """By its entry, the content of the user's own file, and the code that makes it."""
        if graph not in self._of_data:
            entry = self.entries[graph]
            if isinstance(entry, Generated):
                path = GENERATORS[entry.generator].path
                module = path.split(":")[0]
                made_by = [path, _code([module, *_GENERATING], _NO_GRAPH | _NO_FILE)]
                made_by += versions(_imported(module) - _DRAWING) + _beyond(module)
            else:
                made_by = [_code(_CONVERTING, _NO_GRAPH)]
            told = entry.model_dump(exclude={"title", "models"})
            self._of_data[graph] = digest([told, self.contents_of(graph), *made_by, *self.mirrors_of(graph)])
        return self._of_data[graph]

    def array_identity(self, array: str) -> str:
        """The same of an array of the catalogue."""
        if array not in self._of_data:
            told = self.arrays[array].model_dump(exclude={"title", "synthetic"})
            known = [self.contents_of(array), _code(_UNPACKING, _NO_GRAPH), *self.mirrors_of(array)]
            self._of_data[array] = digest([told, *known])
        return self._of_data[array]

    @cached_property
    def _of_data(self) -> dict[str, str]:
        return {}

    def data_identity(self, point: Point) -> str | None:
        """That of what a point reads; None where it reads nothing."""
        if point.graph in self.entries:
            return self.graph_identity(point.graph)
        if point.graph in self.arrays:
            return self.array_identity(point.graph)
        keeper = self._keeper(point)
        return self.answer_identity(self.kept_by(keeper, point.backend)) if keeper else None

    def _keeper(self, point: Point) -> str | None:
        """The experiment whose kept answer a point reads."""
        known = point.graph in self.entries or point.graph in self.arrays
        return point.graph.partition(".")[0] if "." in point.graph and not known else None

    def _unread(self, point: Point, keep_as: str = "") -> set[str]:
        """What reads other data than a point's, and packs other answers than it reads or is kept as."""
        keeper = self._keeper(point)
        packed = "compressed" in (keep_as, keeper and self.config.experiments[keeper].keep_as)
        return {*(() if keeper else (_READING_ANSWERS,)), *(() if packed else (_PACKING,))}

    def queries_identity(self, point: Point) -> str:
        """By the data and the modules that make a point's instance, queries and reference, and all parameters of the
        instance.
        """
        made_by = [f"saitan.{point.problem}", *_ASKING]
        code = [_code(made_by, self._unread(point), "asked"), *self._once(_beyond, f"saitan.{point.problem}")]
        return digest([self.data_identity(point), code, full_parameters(point)[0], _readable(point)])

    def answer_identity(self, point: Point) -> str:
        """Of a kept answer: by all that the answer depends on, the form it is kept in, and the code that writes it and
        reads it again.
        """
        form_name = self.config.experiments[point.experiment].keep_as
        form = getattr(problem(point.problem), "FORMS", {}).get(form_name)
        if form is None:
            return digest([form_name, *self._solved(point, _KEEPING, form_name)])
        reader = form.reads.split(":")[0]
        solved = self._solved(point, (*_KEEPING, reader), form_name, form.writes)
        return digest([form_name, form.writes, form.reads, self._once(_beyond, reader), *solved])

    def samples_identity(self, point: Point) -> str:
        """By all that the answer depends on, and how it is measured; `cores` of the CPU are a part of that, and what
        starts ranks, which may bind them to some.
        """
        experiment = self.config.experiments[point.experiment]
        measure = self.config.measure.model_copy(update=dict(experiment.measure)).model_dump()
        cores = self.machine.cores if point.backend == "cpu" else 0
        together = (point.ranks, experiment.cores_per_rank, self.launcher_of(point)) if point.ranks else None
        return digest([measure, experiment.traced, cores, together, *self._solved(point, _MEASURING)])

    def _solved(self, point: Point, steps: Iterable[str], keep_as: str = "", writes: str = "") -> list[Any]:
        """What an answer depends on: settings, data, the code and kernels that make it and those of some steps.

        keep_as: where it is kept; writes: the function that asks the variant and writes the answer, of a form
        """
        declared = problem(point.problem).VARIANTS[point.variant]
        path, writer = getattr(declared, point.backend), writes.split(":")[0]
        made_by = [name for name in (path.split(":")[0], writer) if name]
        given = (writer, f"saitan.{point.problem}")
        code = _code([*made_by, *steps], self._unread(point, keep_as), "measured", given)
        return [
            (point.problem, point.backend, point.graph, point.variant, full_parameters(point), point.drawn),
            self.data_identity(point),
            (
                path,
                declared.cubins,
                declared.peer,
                declared.graph,
                declared.parts,
                code,
                _readable(point),
                _told(declared.parameters),
            ),
            self._once(_packages, point.problem, point.variant, point.backend, *made_by),
            self._once(_constants, *made_by),
            (self.architectures, self._once(_kernels, point.problem, point.variant))
            if point.backend == "cuda"
            else None,
        ]

    def cubin_identity(self, problem: str, stem: str) -> str:
        """Of what a .cu is compiled to: by its text, that of what it includes, and of what compiles it."""
        source = next(path for path in modules.kernels(problem) if path.stem == stem)
        return modules.text_digest([*included(source), modules.source("saitan.cuda.build")])

    @property
    def own_packages(self) -> list[str]:
        """The installed packages, but for those of saitan's requirements, that what is compiled may hold code of."""
        return _beyond(*self._computing)

    def _once(self, function: Callable[..., Any], *of: str) -> Any:
        """What one of the functions below says, which is the same for many points."""
        if (function, of) not in self._said:
            self._said[function, of] = function(*of)
        return self._said[function, of]

    @cached_property
    def _said(self) -> dict[tuple[Callable, tuple[str, ...]], Any]:
        return {}

    @cached_property
    def _computing(self) -> set[str]:
        """The modules of the problems, variants and generators that are run, and of the forms of kept answers."""
        paths = {getattr(problem(p.problem).VARIANTS[p.variant], p.backend) for p in self.points}
        for described in self.config.experiments.values():
            forms = getattr(problem(described.problem), "FORMS", {}) if described.problem else {}
            if form := forms.get(described.keep_as):
                paths |= {form.writes, form.reads}
        paths |= {GENERATORS[self.entries[graph].generator].path for graph in self.generated}
        return {path.split(":")[0] for path in paths} | {f"saitan.{point.problem}" for point in self.points}

    @property
    def own_files(self) -> list[str]:
        """The user's own code outside saitan that the points import, and the graphs that are generated."""
        found = modules.closure(self._computing)
        files = (modules.source(name) for name in found if not _ours(name))
        # A folder without __init__.py is a package too.
        return [str(file) for file in files if file]

    @cached_property
    def printed(self) -> str:
        """Of what papers print and GPUs can do, which tables show."""
        files = [Path(self.source(f"config/{name}.yaml")) for name in ("published", "ceilings")]
        return modules.text_digest(filter(Path.exists, files))

    def table_identity(self, experiment: str) -> str:
        """Of a table and its chart: by settings, graphs and points, what is declared of their numbers, what is printed,
        and all code of the steps.
        """
        described, graphs = self.config.experiments[experiment], self.graphs_of(experiment)
        settings = described.model_dump(exclude={"title", "text", "figure"})
        shown = [(self.entries[graph].models, self.graph_identity(graph)) for graph in graphs]
        points = [(point.name, point.identity) for point in self.points_of(experiment)]
        declared = declarations(described.problem, described.variants)
        return digest([settings, shown, points, declared, self.printed, modules.steps_code()])


def full_parameters(point: Point) -> list[dict[str, Any]]:
    """All parameters of a point's instance and of its variant, with the defaults of those that are not given."""
    package = problem(point.problem)
    variant = package.VARIANTS[point.variant]
    return [with_defaults(point.instance, package.INSTANCE), with_defaults(point.parameters, variant.parameters)]


def _packages(name: str, variant: str, backend: str, *made_by: str) -> list[str]:
    """The installed packages that compute: on the CPU Numba and what the variant's module imports, its peer, and what
    else any of the code imports or is of.

    name: the problem's; made_by: the variant's module first, and that of a form that writes the answer
    """
    variants = problem(name).VARIANTS
    declared = variants[variant]
    peers = {variant.peer[0].partition(".")[0] for variant in variants.values() if variant.peer}
    named = {declared.peer[0]} if declared.peer else set()
    if backend == "cpu":
        # A module may hold the peers of several variants.
        named |= {"numba", *_imported(made_by[0])} - peers
    return sorted({*versions(named), *_beyond(*made_by, f"saitan.{name}")})


def _constants(*roots: str) -> str:
    """One value for the files of kernels that modules, or those that they import, take constants from."""
    return modules.text_digest(modules.taken_from(modules.closure(roots)))


def _kernels(name: str, variant: str) -> str:
    """One value for the kernels that a variant of a problem loads, with all that they include."""
    root = Path(saitan.__path__[0])
    loaded = [root / f"{kernel}.cu" for kernel in kernels_of(name, problem(name).VARIANTS[variant])]
    return modules.text_digest(
        dict.fromkeys(file for kernel in [*loaded, *modules.kernels("cuda")] for file in included(kernel))
    )


def _imported(module: str) -> set[str]:
    """Names of what a module, and code of the user's own outside saitan that it imports, imports, and of that code."""
    own = {name for name in modules.closure([module]) if not _ours(name)}
    return own.union(*map(modules.others, {module, *own}))


def _beyond(*roots: str) -> list[str]:
    """The installed packages, but for those that saitan comes with, that modules are of or import, directly or not."""
    found = modules.closure(roots)
    named = {name for name in found if not _ours(name)}.union(*map(modules.others, found))
    return further(versions(named - _COMES_WITH))


def _ours(module: str) -> bool:
    return module.split(".")[0] == modules.PACKAGE


def _readable(point: Point) -> list[dict[str, Any]]:
    """What its problem declares that its code may read: inputs, types of outputs, choices and bounds of parameters."""
    package = problem(point.problem)
    return [_told(package.INPUTS), _told(package.OUTPUTS), _told(package.INSTANCE)]


def _told(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Declared inputs, outputs or parameters without what only tables show and without defaults, which full_parameters
    has.
    """
    return {name: {**vars(one), "says": None, "default": None, "alike": None} for name, one in declared.items()}


def _code(
    made_by: Iterable[str], without: Set[str], by: modules.By | None = None, given: tuple[str, str] | None = None
) -> str:
    return modules.digest(modules.closure(made_by, _ASIDE | without, by, given))
