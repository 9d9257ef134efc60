"""One experiment's raw samples to its table and its chart's data, the paper's numbers beside ours."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pandas as pd

from saitan.workflow.config import Experiment
from saitan.workflow.files import beside
from saitan.workflow.graphs.parquet import read_metadata
from saitan.workflow.published import beside_ours, printed_points, read_published
from saitan.workflow.step import run_step
from saitan.workflow.views import VIEWS, Inputs


def tabulate(arguments: argparse.Namespace) -> None:
    experiment = Experiment.model_validate_json(arguments.settings)
    published = read_published(arguments.published)
    models = json.loads(arguments.models)
    vertices = {folder.name: read_metadata(folder)["vertices"] for folder in arguments.graphs}
    table, figure = VIEWS[experiment.view](experiment, Inputs(arguments.samples, arguments.graphs))
    table = beside_ours(table, arguments.experiment, published, models, vertices)
    points = printed_points(arguments.experiment, published, models, figure)
    figure = pd.concat([figure.assign(source="saitan"), points.assign(source="paper")], ignore_index=True)
    with beside(arguments.csv) as path:
        table.to_csv(path, index=False)
    with beside(arguments.figure) as path:
        figure.to_parquet(path, index=False)
    with beside(arguments.table) as path:
        table.to_parquet(path, index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiment", required=True, help="its name")
    parser.add_argument("--settings", required=True, help="the experiment's configuration as JSON")
    parser.add_argument("--published", type=Path, required=True, help="config/published.yaml")
    parser.add_argument("--models", required=True, help="JSON: graph -> the paper's graph it stands for")
    parser.add_argument("--samples", type=Path, nargs="*", default=[])
    parser.add_argument("--graphs", type=Path, nargs="*", default=[], help="folders of the experiment's graphs")
    parser.add_argument("--table", type=Path, required=True, help=".parquet to write")
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--figure", type=Path, required=True, help=".parquet to write: the chart's data")
    run_step(tabulate, parser)


if __name__ == "__main__":
    main()
