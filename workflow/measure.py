"""Measure one point and write its raw samples, one row a timed answer.

Columns: experiment, problem, backend, graph, variant; parameters, instance, counters, work and provenance as structs
(absent where empty); query, round; seconds (kernel), total_seconds (answer delivered), transfer_seconds (upload, once a
point), memory (bytes), cores (of all ranks); phase_* lists, one entry a phase; disturbed; checked, checked_whole. The
schema's metadata holds under "saitan": identity, settled, spread, disturbed, and `unavailable`: why there are no rows.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
from contextlib import suppress
from functools import partial
from numbers import Real
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from saitan.cuda.module import only
from saitan.files import beside
from saitan.graph_input import shown
from saitan.problem import Unavailable, kernels_of, outputs_of
from saitan.ranks import Ranks, current
from saitan.untouched import untouched
from saitan.workflow.compile_ahead import compile_ahead
from saitan.workflow.instances import add_inputs, load_instance, read_queries, read_reference
from saitan.workflow.numba_code import absent
from saitan.workflow.parquet_files import METADATA, write
from saitan.workflow.provenance import provenance
from saitan.workflow.quantities import traces_of, undeclared, unranked
from saitan.workflow.sampling import ASKED_ANEW, LEAST_OTHERS, PHASE, Answering, Sampled, check_anew, prepared, sample
from saitan.workflow.step import Failure, add_ranks, leave_after, one_line, run_step, say

# By which queries are drawn that are not asked for.
_OTHER_SEED = 2**31 - 1
POINT = ("experiment", "problem", "backend", "graph", "variant")
_PLAIN = {
    **dict.fromkeys(POINT, pa.string()),
    **{"query": pa.string(), "round": pa.int64(), "disturbed": pa.string(), "checked": pa.string()},
    **{"checked_whole": pa.bool_(), "memory": pa.int64(), "cores": pa.int64()},
    **dict.fromkeys(("seconds", "total_seconds", "transfer_seconds"), pa.float64()),
}


def measure(arguments: argparse.Namespace) -> None:
    # PyArrow looks for pandas once, when it first meets a list, and does without it where there is none.
    with absent("pandas"):
        pa.array([0])
    settings = json.loads(arguments.settings)
    constant = {key: settings[key] for key in POINT}
    ranks = current()
    # The number of ranks is swept as a parameter is.
    swept = {"ranks": settings["ranks"]} if settings.get("ranks") else {}
    constant |= {"parameters": settings["parameters"] | swept, "instance": settings["instance"]}
    constant |= {"cores": _cores(ranks, arguments.cores)}
    unavailable, device = None, ""
    if arguments.together:
        compile_ahead(settings, arguments)
    try:
        sampled, costs = _sampled(settings, arguments, ranks)
        told = provenance(settings["backend"], ranks)
        constant |= costs | {"provenance": told}
        device = f"GPU {told['gpu']}" if settings["backend"] == "cuda" else f"CPU {told['cpu']}"
    except Unavailable as error:
        if not isinstance(error, Lacking) and not ranks.all_leave():
            raise
        sampled, unavailable = Sampled(), one_line(error)
        if ranks.leads:
            say(arguments.log, f"left out: {unavailable}")
    if not ranks.leads:
        return
    about = {"identity": settings.get("identity", ""), "unavailable": unavailable, "settled": sampled.settled}
    about |= {"spread": sampled.spread if math.isfinite(sampled.spread) else None, "disturbed": sampled.disturbed}
    about |= {"device": device}
    with beside(arguments.output) as path:
        write_samples([constant | row for row in sampled.rows], about, path)


class Lacking(Unavailable):
    """Some rank lacks what a point needs, and every rank knows."""


def _sampled(settings: dict[str, Any], arguments: argparse.Namespace, ranks: Ranks) -> tuple[Sampled, dict[str, Any]]:
    """The samples, and what preparing the solver cost. Raises Unavailable for what cannot run here."""
    queries = read_queries(arguments.queries)
    package, instance = _loaded(settings, arguments, ranks)
    # What is only imported makes no second preparation.
    variant = package.VARIANTS[settings["variant"]]
    variant.load(settings["backend"], settings["variant"])
    declared = only(kernels_of(settings["problem"], variant))
    same = untouched(instance, settings["variant"], Failure)
    with declared, same, prepared(package, instance, settings, ranks) as solver:
        outputs = outputs_of(package, settings["instance"])
        answering = Answering(package, solver, read_reference(arguments.reference), ranks, outputs, settings["backend"])
        for query in queries[: settings["warmup"]]:
            answering.warm_up(query)
        others = partial(_others, package, instance, queries)
        sampled = sample(answering, solver, queries, settings, ranks, others, partial(package.reference, instance))
        counted = {name for row in sampled.rows for name in row["counters"]}
        traced = {name.removeprefix(PHASE) for row in sampled.rows for name in row if name.startswith(PHASE)}
        if unknown := undeclared(settings["problem"], settings["variant"], counted, traced):
            raise Failure(unknown)
        traces = traces_of(settings["problem"])
        for name in traced:
            entries = (entry for row in sampled.rows for entry in row.get(PHASE + name, ()))
            if any(isinstance(entry, str) is not traces[name].text for entry in entries):
                right = "texts" if traces[name].text else "numbers"
                raise Failure(f"{settings['variant']} traces {name!r} by what is not all {right}, as TRACES says")
        if settings["traced"] and traced:
            # Later rounds have none where only a run of its own traces them.
            first = [row for row in sampled.rows if row["round"] == 0]
            named = {"seconds", *traced, *package.VARIANTS[settings["variant"]].traces.get(settings["backend"], ())}
            if lacking := [name for name in sorted(named) if any(PHASE + name not in row for row in first)]:
                right = "every query has all that it traces, and the seconds, in the phases of its Run"
                raise Failure(f"{settings['variant']} does not trace {lacking[0]!r} of every query: {right}")
        if settings["traced"] and not any(ranks.each("seconds" in traced)):
            # Of several engines the graph chose one that does not.
            raise Lacking(f"{settings['variant']} traces no phases here")
        if any(lacking := unranked(settings["problem"], settings["variant"], row["counters"]) for row in sampled.rows):
            raise Failure(lacking)
        if crowded := crowded_by(settings["backend"], ranks, arguments.cores):
            sampled.disturbed.append(crowded)
        for name in ("memory", "transfer"):
            cost = getattr(solver, name, None)
            if not (isinstance(cost, Real) and 0 <= cost < 2**63):
                right = "a number of at least 0 is right"
                raise Failure(f"{settings['variant']} says that its {name} is {shown(cost)}: {right}")
        costs = {"transfer_seconds": ranks.slowest(solver.transfer), "memory": sum(ranks.each(int(solver.memory)))}
    # Its memory is free again.
    if ranks.size == 1 and len(queries) == 1 and len(others()) < LEAST_OTHERS:
        prepare = partial(prepared, package, instance, settings)
        check_anew(answering, sampled, prepare, queries[0], settings["variant"])
    return sampled, costs


def _others(package: ModuleType, instance: Any, queries: list) -> list:
    """Queries that are none of these, each once; none where the problem has no others."""
    others = []
    with suppress(ValueError, Unavailable):
        for query in json.loads(json.dumps(package.queries(instance, len(queries) + ASKED_ANEW, _OTHER_SEED))):
            if query not in queries and query not in others:
                others.append(query)
    return others


def _loaded(settings: dict[str, Any], arguments: argparse.Namespace, ranks: Ranks) -> tuple[ModuleType, Any]:
    """The problem's package and its instance. Raises Lacking on every rank where one cannot have them."""
    loaded = lacking = None
    try:
        loaded = load_instance(settings, arguments)
        loaded[0].VARIANTS[settings["variant"]].load(settings["backend"], settings["variant"])
    except Unavailable as error:
        lacking = f"{ranks}: {error}" if ranks.size > 1 else str(error)
    if first := next(filter(None, ranks.each(lacking)), None):
        raise Lacking(first)
    return loaded


def _cores(ranks: Ranks, each: int) -> int:
    """The cores that all ranks have together: a point of several is compared with those of one process on as many."""
    return each if ranks.size == 1 else round(sum(ranks.each(min(each, _usable(ranks) / ranks.together))))


def _usable(ranks: Ranks) -> int:
    """The cores on which ranks of this host may run: `taskset`, or what starts ranks, may bind them to some."""
    here = platform.node()
    bound = ranks.each((here, os.sched_getaffinity(0)))
    return len(set().union(*(cores for host, cores in bound if host == here)))


def crowded_by(backend: str, ranks: Ranks, each: int) -> str | None:
    """What is to be said where the ranks of some host take more GPUs, or cores on the CPU, than they may use."""
    if backend == "cuda":
        from pycuda.driver import Device

        there = Device.count()
        crowded = ranks.together > there and f"{ranks.together} ranks on {there} GPU{'s' * (there > 1)}"
    else:
        cores = _usable(ranks)
        many = f"{ranks.together} rank{'s' * (ranks.together > 1)} of {each} cores on {cores}"
        alone = f"{each} threads on {cores} core{'s' * (cores > 1)}"
        crowded = ranks.together * each > cores and (many if ranks.size > 1 else alone)
    return next(filter(None, ranks.each(crowded)), None)


def write_samples(rows: list[dict[str, Any]], about: dict[str, Any], path: Path) -> None:
    """Rows with an explicit schema: a name that reads like a date stays a name. No rows: a file without columns."""
    columns = {name: _column(name, [row.get(name) for row in rows]) for name in _names(rows)}
    columns = {name: column for name, column in columns.items() if column is not None}
    table = pa.table(columns).replace_schema_metadata({METADATA: json.dumps(about)})
    write(table, path)


def _names(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _column(name: str, values: list[Any]) -> pa.Array | None:
    """None for structs that are empty in every row."""
    if name in _PLAIN:
        return pa.array(values, _PLAIN[name])
    if name in ("counters", "work"):
        fields = _names(values)
        return pa.array(values, pa.struct([(field, pa.float64()) for field in fields])) if fields else None
    if isinstance(values[0], dict):
        return pa.array(values) if values[0] else None
    return _phases(values) if name.startswith(PHASE) else pa.array(values)


def _phases(rows: list[list | None]) -> pa.Array:
    """Texts, truth values or whole numbers of 64 bits as they are; as real numbers what is not all of one of these."""
    entries = [entry for row in rows for entry in row or ()]
    kinds = {type(entry) for entry in entries}
    if len(kinds) < 2 and (
        kinds <= {str, bool} or (kinds == {int} and -(2**63) <= min(entries) <= max(entries) < 2**63)
    ):
        return pa.array(rows)
    return pa.array([row and list(map(float, row)) for row in rows], pa.list_(pa.float64()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--settings", required=True, help="the point and how to sample it, as JSON")
    add_inputs(parser)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--cores", type=int, required=True, help="cores of the machine that the solver may use")
    parser.add_argument("--together", type=Path, help="what else the run measures on the CPU: compile for that too")
    parser.add_argument("--output", type=Path, required=True)
    add_ranks(parser)
    run_step(measure, parser)


if __name__ == "__main__":
    leave_after(main)
