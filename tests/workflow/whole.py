"""A run as Snakemake makes it, in this process: from a YAML's experiments to the report, in the working directory."""

import argparse
import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import yaml
from plans import WITHOUT, wildcards

from saitan.generators import GENERATORS
from saitan.workflow.arrays import CATALOGUE as ARRAYS
from saitan.workflow.arrays import array_file
from saitan.workflow.config import load
from saitan.workflow.figures import draw
from saitan.workflow.graphs.catalogue import CATALOGUE
from saitan.workflow.graphs.parquet import write_graph
from saitan.workflow.keep import keep
from saitan.workflow.measure import measure
from saitan.workflow.outline import outline_files
from saitan.workflow.planning import make
from saitan.workflow.queries import draw as draw_queries
from saitan.workflow.report import write_report
from saitan.workflow.report_plan import read_plan
from saitan.workflow.tabulate import read_plan as read_table_plan
from saitan.workflow.tabulate import tabulate

ROOT = Path(__file__).parents[2]


class Whole:
    """A project in a folder, with these graphs (name -> generator and parameters) and arrays."""

    def __init__(self, folder: Path, graphs: dict, arrays: dict) -> None:
        (folder / "config").symlink_to(ROOT / "config")
        (folder / "results/arrays").mkdir(parents=True)
        (folder / "results/vega.js").write_text("//")
        entries = {}
        for name, (generator, parameters) in graphs.items():
            made = GENERATORS[generator](**parameters).with_metadata(name=name)
            write_graph(made, folder / f"results/graphs/{name}")
            entries[name] = {"title": name, "generator": generator, "parameters": parameters}
        for name, array in arrays.items():
            np.save(folder / array_file(name), array)
        self.graphs = CATALOGUE.validate_python(entries)
        told = {"title": "A", "format": "npy"}
        self.arrays = ARRAYS.validate_python(
            {name: told | {"file": f"{name}.npy", "dtype": array.dtype.name} for name, array in arrays.items()}
        )

    def plan(self, experiments: dict):
        raw = {"name": "run", "backend": "cpu", "measure": {"max_rounds": 2, "budget_s": 0.01}}
        written = yaml.safe_dump(raw | {"experiments": experiments}, sort_keys=False)
        return make(load(yaml.safe_load(written), self.graphs, self.arrays), WITHOUT, self.graphs, self.arrays)

    def run(self, plan) -> list[str]:
        """All jobs of a plan, in an order that goes. Returns the lines for the console."""
        for file, content in outline_files(plan).items():
            write(file, content)
        for name in plan.config.experiments:
            for point in plan.points_of(name):
                self._measure(plan, point)
            for file, point in plan.kept_points:
                if point.experiment == name:
                    self._keep(plan, file, point)
        for name in filter(plan.shown_of, plan.config.experiments):
            tabulate(read_table_plan(Path(f"results/run/plan/{name}.json")))
            if plan.config.experiments[name].figure:
                self._draw(plan, name)
        peers = ROOT / "config/peers.yaml"
        told = read_plan(Path("results/run/plan.json"))
        return write_report(told, Path(plan.report), peers, vega=Path("results/vega.js"))

    def _measure(self, plan, point) -> None:
        drawn, seed = point.drawn.split("-")
        names = argparse.Namespace(problem=point.problem, instance=point.instance_point, drawn=drawn, seed=seed)
        names.data = plan._data_place(point)
        if not Path(plan.queries_of(point)).exists():
            step(draw_queries, plan, point, settings=plan.query_settings(names), identity=plan.queries_identity(point))
        step(measure, plan, point, settings=plan.measure_settings(point), output=Path(point.samples))

    def _keep(self, plan, file, point) -> None:
        names = wildcards(file)
        told = {"outputs": [names.output], "keep_as": names.form, "folder": Path(file).parent}
        step(keep, plan, point, settings=plan.keep_settings(names), **told)

    def _draw(self, plan, name) -> None:
        svg, spec = (Path(f"results/run/figures/{name}.{kind}") for kind in ("svg", "json"))
        svg.parent.mkdir(exist_ok=True)
        data = Path(f"results/run/tables/{name}.figure.parquet")
        draw(argparse.Namespace(figure=plan.figure_settings(name), data=data, svg=svg, spec=spec))


def write(file: str, content: str) -> None:
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text(content)


def inputs_of(plan, point) -> dict[str, Path | None]:
    """What a point reads, as the arguments of a step."""
    found = shlex.split(plan.input_option(point))
    return {"graph": None, "array": None} | ({found[0].removeprefix("--"): Path(found[1])} if found else {})


def step(main, plan, point, **arguments) -> None:
    files = {"queries": Path(plan.queries_of(point)), "reference": Path(plan.reference_of(point))}
    for file in (files["queries"], arguments.get("output")):
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
    known = {"log": None, "cores": 1, "together": None} | files | inputs_of(plan, point)
    main(argparse.Namespace(**known | arguments))


def drawn_queries(plan, point) -> list:
    return json.loads(Path(plan.queries_of(point)).read_text())["queries"]


def table_of(plan, name: str) -> pd.DataFrame:
    """The table of an experiment. One of the view summary that asks for times has a row of each measured point."""
    table = pd.read_parquet(f"results/run/tables/{name}.parquet")
    experiment = plan.config.experiments[name]
    if experiment.view == "summary" and "time" in experiment.quantities:
        keys = [key for key in table if key in ("graph", "variant", *experiment.swept)]
        measured = [point for point in plan.points_of(name) if pq.read_metadata(point.samples).num_rows]
        assert len(table[keys].drop_duplicates()) == len(measured)
    return table
