"""One experiment's raw samples to its table and its chart's data, the paper's numbers beside ours."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pydantic import ValidationError

from saitan.files import beside
from saitan.problem import problem
from saitan.workflow.ceilings import read_ceilings
from saitan.workflow.config import COLUMNS, explain
from saitan.workflow.graphs.parquet import read_metadata
from saitan.workflow.parquet_files import METADATA, checksum_of_csv, identity_in, write
from saitan.workflow.planned_code import check_planned
from saitan.workflow.published import beside_ours, printed_points, read_published
from saitan.workflow.quantities import is_timed, metrics_of, traces_of
from saitan.workflow.report_plan import TablePlan
from saitan.workflow.rows import KEYS
from saitan.workflow.step import Failure, run_step
from saitan.workflow.views import MEASURED, VIEWS, Inputs


def tabulate(plan: TablePlan) -> None:
    """Write the table and the chart's data of an experiment, without samples measured for another configuration.

    Raises Failure for a file that is off.
    """
    check_planned([plan.published, plan.ceilings])
    experiment = plan.settings
    published = read_published(plan.published)
    vertices = {folder.name: read_metadata(folder)["vertices"] for folder in plan.graphs}
    samples = [point.samples for point in plan.points if identity_in(point.samples) == point.identity]
    inputs = Inputs(samples, plan.graphs, read_ceilings(plan.ceilings))
    table, figure = VIEWS[experiment.view](experiment, inputs)
    parameters = problem(experiment.problem).INSTANCE if experiment.problem else {}
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    table = beside_ours(table, plan.experiment, published, plan.models, vertices, defaults)
    points = printed_points(plan.experiment, published, plan.models, figure, vertices, defaults)
    figure = pd.concat([figure.assign(source="saitan"), points], ignore_index=True)
    known = traces_of(experiment.problem) if experiment.traced else metrics_of(experiment.problem)
    # A column of the view's own may have a metric's name: `ratio` of rivals has that of one of compression's.
    known = {name: one for name, one in known.items() if name not in COLUMNS[experiment.view]}
    units = {"seconds": "s", "mean_seconds": "s"} | {name: one.unit for name, one in known.items() if one.unit}
    counts = [name for name, one in known.items() if not is_timed(one.unit)]
    with beside(plan.csv) as path:
        # As the page says them, which has the table.
        _uniform(table).to_csv(path, index=False)
    keys = [name for name in (*KEYS, *experiment.swept, "query") if name in figure]
    _write(figure, plan.figure, {"identity": plan.identity, "units": units, "counts": counts, "keys": keys})
    _write(table, plan.table, {"identity": plan.identity, "csv": checksum_of_csv(plan.csv)})


def _write(table: pd.DataFrame, path: Path, described: dict[str, Any]) -> None:
    arrow = pa.Table.from_pandas(_uniform(table), preserve_index=False)
    metadata = {**(arrow.schema.metadata or {}), METADATA: json.dumps(described).encode()}
    with beside(path) as written:
        write(arrow.replace_schema_metadata(metadata), written)


def _uniform(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(**{name: _alike(table[name]) for name in table if name not in MEASURED})


def _alike(values: pd.Series) -> pd.Series:
    """A column that Parquet takes: whole numbers stay so where some are missing, mixed values become text."""
    if values.dtype != object:
        return values
    kinds = {type(value) for value in values.dropna()}
    if kinds == {int}:
        return values.astype("Int64")
    if kinds <= {int, float}:
        return values.astype("Float64")
    return values if len(kinds) <= 1 else values.map(str, na_action="ignore")


def read_plan(path: Path) -> TablePlan:
    """Raises Failure for a file that is no plan."""
    try:
        return TablePlan.model_validate_json(path.read_bytes())
    except ValidationError as error:
        reason = explain(error, TablePlan.model_json_schema())
        raise Failure(f"{path}: {reason}; remove it and run again") from None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", type=Path, required=True, help="a TablePlan as JSON")
    run_step(lambda arguments: tabulate(read_plan(arguments.plan)), parser)


if __name__ == "__main__":
    main()
