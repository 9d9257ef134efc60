"""Random problems of a user's own, from their declarations to the report: each number of a table, each kept answer."""

import argparse
import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml
from own import Own
from plans import WITHOUT, wildcards

import saitan
from saitan import problem as problems
from saitan.generators import GENERATORS
from saitan.problem import Misdeclared, completed
from saitan.workflow.answers import about_answer, read_answer
from saitan.workflow.arrays import CATALOGUE as ARRAYS
from saitan.workflow.arrays import array_file
from saitan.workflow.config import load
from saitan.workflow.declared import check_package
from saitan.workflow.figures import draw
from saitan.workflow.graphs.catalogue import CATALOGUE
from saitan.workflow.graphs.parquet import read_graph, write_graph
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
GRID = {"width": 3, "height": 2, "weight_low": 1, "weight_high": 2, "seed": 1}
GRAPHS = CATALOGUE.validate_python({"grid": {"title": "G", "generator": "grid", "parameters": GRID}})
FIELD = ARRAYS.validate_python({"field": {"title": "F", "file": "field.npy", "format": "npy", "dtype": "int64"}})


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Puts a problem of the user's own among the others, in a project with a graph and an array, and imports it."""
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    for entry in (ROOT / "kernels").iterdir():
        (kernels / entry.name).symlink_to(entry)
    (tmp_path / "config").symlink_to(ROOT / "config")
    monkeypatch.setattr(saitan, "__path__", [str(kernels), *saitan.__path__])
    monkeypatch.chdir(tmp_path)
    write_graph(GENERATORS["grid"](**GRID).with_metadata(name="grid"), tmp_path / "results/graphs/grid")
    (tmp_path / "results/arrays").mkdir()
    np.save(array_file("field"), np.arange(11))
    Path("results/vega.js").write_text("//")
    names = []

    def put(own):
        own.write(kernels / own.name)
        names.append(own.name)
        problems.names.cache_clear()
        return importlib.import_module(f"saitan.{own.name}")

    yield put
    for name in (loaded for loaded in [*sys.modules] for own in names if f"{loaded}.".startswith(f"saitan.{own}.")):
        del sys.modules[name]
    problems.names.cache_clear()


def inputs_of(point):
    """The arguments of a step."""
    graph, array = Path(f"results/graphs/{point.graph}"), Path(array_file(point.graph))
    return {"graph": graph if graph.exists() else None, "array": array if array.exists() else None}


def step(main, plan, point, **arguments):
    files = {"queries": Path(plan.queries_of(point)), "reference": Path(plan.reference_of(point)), **inputs_of(point)}
    for file in (files["queries"], arguments.get("output")):
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
    main(argparse.Namespace(**files, **{"log": None, "cores": 1, "together": None, **arguments}))


def right(package, point, query, output):
    """What an answer is to hold."""
    given = {kind: path for kind, path in inputs_of(point).items() if path}
    read = {"graph": read_graph, "array": np.load}
    inputs = {f"of_{kind}": read[kind](path) for kind, path in given.items() if f"of_{kind}" in package.INPUTS}
    instance = completed(point.instance, package.INSTANCE, "given" if given else "generated")
    return package.answer(package.instance(inputs, **instance), query)[output]


@pytest.mark.parametrize("seed", range(24))
def test_what_is_declared_is_measured_kept_tabulated_and_drawn(put, monkeypatch, seed):
    monkeypatch.setattr("saitan.workflow.disturbance.Others.load", lambda self, wait: 0.0)
    own = Own(seed, f"own_{seed}")
    package = put(own)
    check_package(own.name, package)
    experiments = {f"e{i}": own.experiment(["grid"], ["field"]) for i in range(2)}
    raw = {"name": "run", "backend": "cpu", "measure": {"max_rounds": 2, "budget_s": 0.01}, "experiments": experiments}
    plan = make(load(yaml.safe_load(yaml.safe_dump(raw)), GRAPHS, FIELD), WITHOUT, GRAPHS, FIELD)
    for file, content in outline_files(plan).items():
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(content)
    for point in plan.points:
        drawn, number = point.drawn.split("-")
        names = argparse.Namespace(problem=own.name, data=point.graph, instance=point.instance_point)
        names.drawn, names.seed = drawn, number
        step(draw_queries, plan, point, settings=plan.query_settings(names), identity=plan.queries_identity(point))
        step(measure, plan, point, settings=plan.measure_settings(point), output=Path(point.samples))
    for file, point in plan.kept_points:
        names = wildcards(file)
        told = {"outputs": [names.output], "keep_as": names.form, "folder": Path(file).parent}
        step(keep, plan, point, settings=plan.keep_settings(names), **told)
        if not about_answer(Path(file)).get("unavailable"):
            [query, *_] = json.loads(Path(plan.queries_of(point)).read_text())["queries"]
            kept, made = read_answer(Path(file)), right(package, point, query, names.output)
            assert kept.dtype == made.dtype and np.array_equal(kept, made)
    for name in filter(plan.shown_of, experiments):
        tabulate(read_table_plan(Path(f"results/run/plan/{name}.json")))
        table = pd.read_parquet(f"results/run/tables/{name}.parquet")
        counted = dict(zip(package.METRICS, range(3, 9), strict=False))
        told = table[table["quantity"].isin(counted)]
        assert told["ours"].tolist() == told["quantity"].map(counted).tolist()
        if experiments[name]["view"] == "summary":
            keys = [key for key in table if key in ("graph", "variant", *plan.config.experiments[name].swept)]
            measured = [point for point in plan.points_of(name) if pq.read_metadata(point.samples).num_rows]
            assert len(table[keys].drop_duplicates()) == len(measured)
        figures = {kind: Path(f"results/run/figures/{name}.{kind}") for kind in ("svg", "json")}
        figures["svg"].parent.mkdir(exist_ok=True)
        data = Path(f"results/run/tables/{name}.figure.parquet")
        asked = plan.figure_settings(name)
        draw(argparse.Namespace(figure=asked, data=data, svg=figures["svg"], spec=figures["json"]))
    lines = write_report(
        read_plan(Path("results/run/plan.json")),
        Path(plan.report),
        ROOT / "config/peers.yaml",
        vega=Path("results/vega.js"),
    )
    assert any(", 0 failed" in line for line in lines)


def test_an_odd_value_in_a_declaration_is_one_line(put):
    told = 0
    for seed in range(60):
        own = Own(seed, f"odd_{seed}")
        own.spoil()
        package = put(own)
        try:
            check_package(own.name, package)
        except Misdeclared as error:
            assert str(error).startswith(f"saitan.{own.name}: ") and "\n" not in str(error)
            told += 1
    assert told > 30
