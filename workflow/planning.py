"""From a checked configuration and the facts of a machine to the points to measure, and what is left out and why.

`make` is a pure function of the configuration, the catalogues and the machine that jobs run on; `plan_from` finds these
for the Snakefile.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import ModuleType
from typing import Any

from saitan.problem import Misdeclared, Variant, any_of, problem, with_defaults
from saitan.workflow import machine
from saitan.workflow.arrays import Array, load_arrays
from saitan.workflow.ceilings import read_ceilings
from saitan.workflow.config import SHARED, ConfigError, load, suggest
from saitan.workflow.config_model import A_NAME, Config, Experiment, is_name
from saitan.workflow.declared import check_declared
from saitan.workflow.graphs.catalogue import Downloaded, Generated, load_catalogue, named_sources
from saitan.workflow.graphs.contents import contents
from saitan.workflow.graphs.reach import absent_data
from saitan.workflow.machine import NO_NVCC, Machine
from saitan.workflow.plan import Plan, Skipped
from saitan.workflow.points import NO_GRAPH, RESULTS, Point, combinations, pattern
from saitan.workflow.printed_names import check_printed
from saitan.workflow.published import read_published
from saitan.workflow.quoted import check_quoted, read_quoted
from saitan.workflow.sources import refuse_clashes
from saitan.workflow.step import Failure, from_here
from saitan.workflow.yaml_files import check_run, mistake, place_of_key


def make(
    config: Config,
    jobs_machine: Machine,
    entries: Mapping[str, Downloaded | Generated],
    arrays: Mapping[str, Array] | None = None,
    absent: Mapping[str, str] | None = None,
    root: str = "",
    contents: Mapping[str, str] | None = None,
) -> Plan:
    """The plan of a configuration for a machine. Raises ConfigError where nothing that was asked for can run."""
    plan = Plan(config, jobs_machine, entries, arrays or {}, absent or {}, root, contents or {})
    plan.backends, said = _backends(config, jobs_machine)
    plan.architectures = _architectures(config, jobs_machine) if "cuda" in plan.backends else []
    plan.skipped += said
    readers: dict[str, list[str]] = {}
    for reader, experiment in config.experiments.items():
        for name in (*experiment.graphs, *experiment.arrays):
            readers.setdefault(name, []).append(reader)
    for name in filter(plan.absent.__contains__, readers):
        kind = "graph" if name in entries else "array"
        plan.skipped.append(Skipped(f"{kind} {name} in {', '.join(readers[name])}", plan.absent[name]))
    for name in _by_reading(config):
        _check_types(plan, name)
        found, left_out = _points(plan, name)
        plan.points += found
        plan.skipped += left_out
        plan.__dict__.pop("_by_experiment", None)
    order = {name: place for place, name in enumerate(config.experiments)}
    plan.points.sort(key=lambda point: order[point.experiment])
    plan.__dict__.pop("_by_experiment", None)
    plan.skipped = list(dict.fromkeys(plan.skipped))
    return plan


def _by_reading(config: Config) -> list[str]:
    """The experiments, each after those whose answers it reads. Raises ConfigError where one waits for itself."""
    keepers = {
        f"{name}.{output}": name for name, experiment in config.experiments.items() for output in experiment.keep
    }
    reads = {
        name: [keepers[array] for array in experiment.arrays if array in keepers]
        for name, experiment in config.experiments.items()
    }
    try:
        return list(TopologicalSorter(reads).static_order())
    except CycleError as error:
        circle = error.args[1][::-1]
        chain = ", ".join(f"{reader} reads what {kept} keeps" for reader, kept in itertools.pairwise(circle))
        raise ConfigError(
            f"experiments.{circle[0]}.arrays: {chain}: none can be the first; give one another array"
        ) from None


def _check_types(plan: Plan, name: str) -> None:
    """Raise ConfigError for an array of a type that the problem does not take, where it is known before it is read."""
    experiment = plan.config.experiments[name]
    if experiment.problem is None:
        return
    taken = [dtype for declared in problem(experiment.problem).INPUTS.values() for dtype in declared.dtypes]
    for array in experiment.arrays if taken else ():
        if array in plan.arrays:
            dtype = plan.arrays[array].dtype
        else:
            keeper, _, output = array.partition(".")
            dtype = problem(plan.config.experiments[keeper].problem).OUTPUTS[output].dtype
        if dtype and dtype not in taken:
            raise ConfigError(
                f"experiments.{name}.arrays: {array} is {dtype}, and {experiment.problem} takes {' or '.join(taken)}"
            )


def _backends(config: Config, jobs_machine: Machine) -> tuple[list[str], list[Skipped]]:
    """The backends of a run. A configuration that names architectures is for other machines than this one."""
    choice = config.backend
    if choice == "cpu":
        return ["cpu"], []
    elsewhere = choice != "auto" and config.architectures is not None
    reason = None if elsewhere else jobs_machine.unusable
    reason = reason or (None if jobs_machine.nvcc else NO_NVCC)
    if reason and choice == "cuda":
        hint = "" if config.architectures else "; where jobs run on other machines, name their `architectures`"
        raise ConfigError(f"backend: cuda cannot be used here ({reason}); auto, both and cpu can{hint}")
    if reason:
        return ["cpu"], [Skipped("backend cuda", reason)]
    return (["cpu", "cuda"] if choice == "both" else ["cuda"]), []


def _architectures(config: Config, jobs_machine: Machine) -> list[str]:
    return list(config.architectures or [jobs_machine.arch])


def _points(plan: Plan, name: str) -> tuple[list[Point], list[Skipped]]:
    experiment = plan.config.experiments[name]
    found: list[Point] = []
    skipped: list[Skipped] = []
    if experiment.problem is None:
        return found, skipped
    package = problem(experiment.problem)
    data = [*experiment.graphs, *experiment.arrays]
    data = [source for source in data if source not in plan.absent] if data else [NO_GRAPH]
    if experiment.traced:
        _check_traced(f"experiments.{name}", experiment, _traced(plan, experiment, package))
    for variant, backend in _asked(plan, experiment, package):
        what = f"{variant} on {backend} in {name}"
        declared = package.VARIANTS[variant]
        if backend not in declared.backends():
            if declared.peer is None or not set(declared.backends()) & set(plan.backends):
                skipped.append(Skipped(what, f"{variant} has no {backend} implementation"))
            continue
        if reason := declared.missing():
            skipped.append(Skipped(what, reason))
            continue
        if experiment.traced and backend not in declared.traces:
            skipped.append(Skipped(what, f"{variant} traces no phases on {backend}"))
            continue
        for source, instance in itertools.product(data, combinations(experiment.instance)):
            if reason := _unfit(plan, declared, backend, source, instance, package):
                skipped.append(Skipped(f"{what} ({_where(source, instance)})", f"{variant} {reason}"))
                continue
            if reason := _unkept(plan, source):
                skipped.append(Skipped(f"{what} ({source})", reason))
                continue
            numbers, refused = _ranks(experiment.ranks, declared, with_defaults(instance, package.INSTANCE), package)
            skipped += [
                Skipped(f"{what} ({_where(source, instance | {'ranks': n})})", f"{variant} {why}") for n, why in refused
            ]
            for parameters, ranks in itertools.product(combinations(experiment.variants[variant]), numbers):
                swept = {"ranks": ranks} if ranks else {}
                point = Point(
                    plan.config.name,
                    name,
                    experiment.problem,
                    backend,
                    source,
                    variant,
                    pattern(instance | parameters | swept),
                    pattern(instance),
                    parameters,
                    instance,
                    f"{experiment.queries}-{experiment.seed}",
                    ranks=ranks,
                )
                found.append(replace(point, identity=plan.samples_identity(point)))
    if experiment.keep and len(found) > len(plan.backends):
        kept = {f"{name}.{output}" for output in experiment.keep}
        users = [other for other, e in plan.config.experiments.items() if kept & {*e.arrays}]
        if users:
            raise ConfigError(
                f"experiments.{users[0]}.arrays: {name} keeps the answers of {len(found)} points, an array is that of"
                " one: give the kept experiment one graph, variant and value of each parameter"
            )
    return found, skipped


def _asked(plan: Plan, experiment: Experiment, package: ModuleType) -> Iterator[tuple[str, str]]:
    """An experiment's variants and their backends: the run's, or the CPU for peers that have no other."""
    for variant in experiment.variants:
        beside = package.VARIANTS[variant].only_beside
        yield from ((variant, backend) for backend in (["cpu"] if beside else plan.backends))


def _traced(plan: Plan, experiment: Experiment, package: ModuleType) -> dict[str, Collection[str]]:
    """What each variant traces on a backend of the run, by the names of both."""
    asked = ((name, backend, package.VARIANTS[name].traces) for name, backend in _asked(plan, experiment, package))
    return {f"{name} on {backend}": traces[backend] for name, backend, traces in asked if backend in traces}


def _check_traced(key: str, experiment: Experiment, traced: Mapping[str, Collection[str]]) -> None:
    """Raise ConfigError for a column that is described and nothing traces, or that is shown and nothing traces.

    A distribution is that of every point.
    """
    wanted = [("column", experiment.column)]
    if experiment.figure:
        wanted += [(f"figure.{axis}", column) for axis, column in experiment.figure.columns]
    declared = getattr(problem(experiment.problem), "TRACES", {})
    for place, column in wanted:
        lacking = [name for name, names in traced.items() if column in declared and column not in names]
        if lacking and (len(lacking) == len(traced) or experiment.view == "phase_cdf"):
            given = ", ".join(["seconds", *dict.fromkeys(name for which in lacking for name in traced[which])])
            raise ConfigError(f"{key}.{place}: {' and '.join(lacking)} traces no {column!r} (there are: {given})")


def _where(source: str, instance: Mapping[str, Any]) -> str:
    return ", ".join(
        [*([source] if source != NO_GRAPH else []), *(f"{key} {value}" for key, value in instance.items())]
    )


def _unfit(
    plan: Plan, declared: Any, backend: str, source: str, instance: Mapping[str, Any], package: Any
) -> str | None:
    """Why a variant cannot answer, as far as the plan can know."""
    full = with_defaults(instance, package.INSTANCE)
    arch = plan.machine.arch if plan.config.architectures is None else None
    kind = "graph" if source in plan.entries else None if source == NO_GRAPH else "array"
    inputs = [name for name, taken in package.INPUTS.items() if taken.kind == kind]
    return declared.unfit(backend, full, None, arch, inputs)


def _ranks(
    wanted: list[int], declared: Variant, instance: Mapping[str, Any], package: ModuleType
) -> tuple[list[int | None], list[tuple[int, str]]]:
    """The numbers of ranks that a variant answers an instance on, and with the reason those that it cannot.

    Without any that are wanted, and of a variant that knows none: one process, None.
    """
    if not wanted or not declared.ranks:
        return [None], []
    alone = next(
        (
            f"answers on several ranks where {name} is {any_of(parameter.together)}, not {any_of([instance[name]])}"
            for name, parameter in package.INSTANCE.items()
            if parameter.together is not None and instance[name] not in parameter.together
        ),
        None,
    )
    reasons = {number: declared.unranked(number) or (alone if number > 1 else None) for number in wanted}
    refused = [(number, reason) for number, reason in reasons.items() if reason]
    return [number for number, reason in reasons.items() if not reason], refused


def _unkept(plan: Plan, source: str) -> str | None:
    """Why an array of another experiment is not there."""
    experiment, dot, _ = source.partition(".")
    if not dot or source in plan.entries or source in plan.arrays or plan.points_of(experiment):
        return None
    return f"{experiment} keeps no answer here: nothing of it can run"


def plan_from(
    raw: Mapping[str, Any],
    *,
    root: Path,
    configfiles: Iterable[str] = (),
    cores: int = 1,
    here: bool = False,
    jobs_machine: Machine | None = None,
) -> Plan:
    """The plan of a configuration as Snakemake read it. Ends the process with one line for what is wrong in it.

    root: the folder of the Snakefile; configfiles: what was read, the last names a run without a name; cores: those of
    the command line, which are the most where jobs run here.
    """
    try:
        check_declared()
        # Snakemake has read them, and says nothing of a key that is there twice.
        for file in filter(os.path.exists, configfiles):
            check_run(Path(file))
        settings = raw if "name" in raw else {"name": _default_name(configfiles), **raw}
        place = "" if root == Path.cwd() else f"{os.path.relpath(root)}/"
        if {*place} & {*"{}"}:
            raise Failure(f"{place}: Snakemake takes braces for wildcards: start it in that folder, or rename it")
        catalogues = Path(f"{place}config/graphs.yaml"), Path(f"{place}config/arrays.yaml")
        entries, arrays = load_catalogue(catalogues[0]), load_arrays(catalogues[1])
        refuse_clashes(" and ".join(map(str, catalogues)), (*named_sources(entries), *arrays.items()))
        config = load(settings, entries, arrays)
        _check_folders(config.name)
        absent = absent_data(config, entries, arrays)
        known = contents(config, entries, arrays)
        # What only tables and the report read: a mistake in it is said before anything is measured.
        published = read_published(Path(f"{place}config/published.yaml"))
        for name, entry in entries.items():
            if entry.models and entry.models not in published.graphs:
                unknown = f": unknown graph{suggest(entry.models, published.graphs)} (config/published.yaml)"
                raise mistake(catalogues[0], [name, "models"], unknown)
        check_printed(f"{place}config/published.yaml", published, config, {*entries, *arrays})
        read_ceilings(Path(f"{place}config/ceilings.yaml"))
        peers = Path(f"{place}config/peers.yaml")
        check_quoted(peers, read_quoted(peers))
        asked = config.cores or cores
        planned = jobs_machine or machine.this(min(asked, cores) if here else asked)
        made = make(config, planned, entries, arrays, absent, place, known)
    except ConfigError as error:
        sys.exit(f"config: {place_of_key(str(error), raw, filter(os.path.exists, configfiles))}{error}")
    except Failure as error:
        sys.exit(f"config: {error}")
    except Misdeclared as error:
        sys.exit(f"error: {error}")
    return made


def _check_folders(run: str) -> None:
    """Raise Failure where something else lies where a folder of results would be, a link that leads nowhere too, and
    where Snakemake could not write its records.
    """
    records = next(filter(os.path.isdir, (".snakemake", ".")))
    if not os.access(records, os.W_OK | os.X_OK):
        raise Failure(f"{Path(records).absolute()} cannot be written: name another folder by --directory")
    for folder in (RESULTS, *(f"{RESULTS}/{name}" for name in (run, *SHARED))):
        if not os.path.lexists(folder):
            continue
        if not Path(folder).is_dir():
            raise Failure(f"{folder} is no folder, and what is made goes into one of this name: move it away")
        if not os.access(folder, os.R_OK | os.X_OK):
            raise Failure(f"{folder} cannot be read: name another folder by --directory")


def _default_name(configfiles: Iterable[str]) -> str:
    """The name of a run that has none. Raises Failure where the file's cannot be it."""
    files = list(configfiles)
    found = Path(files[-1]).stem.replace("-", "_").replace(".", "_") if files else "run"
    if not is_name(found):
        file = from_here(Path(files[-1]))
        raise Failure(f"{file}: a file of this name gives the run none: write `name:` into it, {A_NAME}")
    return found
