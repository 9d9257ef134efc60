"""Measure one point: prepare, warm up, sample, validate every answer, write the raw samples.

One row a timed answer. Columns: experiment, problem, backend, graph, variant, the point's parameters; query, round;
seconds (kernel), total_seconds (answer delivered), transfer_seconds (upload, once a point), memory (bytes); the
counters of the problem's METRICS; phase_* lists, one entry a phase; provenance.
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq

from saitan.problem import Invalid
from saitan.workflow.files import beside
from saitan.workflow.provenance import provenance
from saitan.workflow.queries import load_instance
from saitan.workflow.step import Failure, load_numba, progress, run_step


def measure(arguments: argparse.Namespace) -> None:
    settings = json.loads(arguments.settings)
    if settings["backend"] == "cpu":
        load_numba()
    package, instance = load_instance(settings, arguments.graph)
    queries = json.loads(arguments.queries.read_text())
    with np.load(arguments.reference) as stored:
        expected = dict(stored)
    try:
        solver = package.prepare(instance, settings["variant"], settings["backend"], **settings["parameters"])
    except ValueError as error:
        raise Failure(f"{settings['variant']} with {settings['parameters']}: {error}") from None
    try:
        for query in queries[: settings["warmup"]]:
            solver.run(query)
        rows = sample(solver, queries, settings, lambda: _compare(package, expected, solver))
        point = {key: settings[key] for key in ("experiment", "problem", "backend", "graph", "variant")}
        constant = point | settings["instance"] | settings["parameters"]
        constant |= {"transfer_seconds": solver.transfer, "memory": solver.memory}
    finally:
        solver.close()
    constant |= provenance(settings["backend"], arguments.threads)
    with beside(arguments.output) as path:
        pq.write_table(_table([constant | row for row in rows]), path)


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    """The rows with the columns of all of them, by way of JSON: PyArrow's own way imports pandas, 0.3 s a point."""
    lines = "\n".join(json.dumps(row) for row in rows).encode()
    return pyarrow.json.read_json(
        io.BytesIO(lines),
        read_options=pyarrow.json.ReadOptions(block_size=len(lines) + 1),
        # Other texts are taken as they are; this one would be taken for a time.
        parse_options=pyarrow.json.ParseOptions(explicit_schema=pa.schema([("measured_at", pa.string())])),
    )


def _compare(package: Any, expected: dict[str, np.ndarray], solver: Any) -> None:
    if expected and (difference := package.differs(expected, solver.answer())):
        raise Invalid(f"differs from the reference solver: {difference}")


def sample(solver: Any, queries: list, settings: dict[str, Any], compare_first) -> list[dict[str, Any]]:
    """Whole rounds of all queries until the median has settled or the budget is spent.

    compare_first: called after the first timed answer. Raises Invalid for a wrong answer, before its time counts.
    """
    rows: list[dict[str, Any]] = []
    medians: list[float] = []
    deadline = time.perf_counter() + settings["budget_s"]
    while True:
        label = f"{settings['variant']} on {settings['graph']}, round {len(medians) + 1}"
        for query in progress(queries, label):
            run = solver.run(query)
            solver.validate()
            if not rows:
                compare_first()
            row = {"query": str(query), "round": len(medians)}
            row |= {"seconds": run.kernel, "total_seconds": run.total, **run.counters}
            row |= {f"phase_{name}": values.tolist() for name, values in run.phases.items()}
            rows.append(row)
        if settings["traced"] and not medians and hasattr(solver, "count"):
            for row, query in zip(rows, queries, strict=True):
                row |= {f"phase_{name}": values.tolist() for name, values in solver.count(query).items()}
        medians.append(statistics.median(row["seconds"] for row in rows[-len(queries) :]))
        if settled(medians, settings) or time.perf_counter() > deadline:
            return rows


def settled(medians: list[float], settings: dict[str, Any]) -> bool:
    """Whether enough rounds were made: the last `min_rounds` medians within the spread, or `max_rounds` reached."""
    if len(medians) >= settings["max_rounds"]:
        return True
    last = medians[-settings["min_rounds"] :]
    return len(last) == settings["min_rounds"] and max(last) - min(last) <= settings["spread"] * statistics.median(last)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--settings", required=True, help="the point and how to sample it, as JSON")
    parser.add_argument("--graph", type=Path, help="folder of the graph")
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--threads", type=int, required=True, help="cores of the machine that the solver may use")
    parser.add_argument("--output", type=Path, required=True)
    run_step(measure, parser)


if __name__ == "__main__":
    main()
