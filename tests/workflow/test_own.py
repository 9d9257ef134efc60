"""Random problems of a user's own, from their declarations to the report: each number of a table, each kept answer."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from own import Own
from whole import ROOT, Whole, drawn_queries, inputs_of, table_of

import saitan
from saitan import problem as problems
from saitan.problem import Misdeclared, completed
from saitan.workflow.answers import about_answer, read_answer
from saitan.workflow.declared import check_package
from saitan.workflow.graphs.parquet import read_graph

GRID = {"width": 3, "height": 2, "weight_low": 1, "weight_high": 2, "seed": 1}


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Puts a problem of the user's own among the others and imports it."""
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    for entry in (ROOT / "kernels").iterdir():
        (kernels / entry.name).symlink_to(entry)
    monkeypatch.setattr(saitan, "__path__", [str(kernels), *saitan.__path__])
    monkeypatch.chdir(tmp_path)
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


def right(package, plan, point, output):
    """What the answer to the first query is to hold."""
    given = {kind: path for kind, path in inputs_of(plan, point).items() if path}
    read = {"graph": read_graph, "array": np.load}
    inputs = {f"of_{kind}": read[kind](path) for kind, path in given.items() if f"of_{kind}" in package.INPUTS}
    instance = completed(point.instance, package.INSTANCE, "given" if given else "generated")
    return package.answer(package.instance(inputs, **instance), drawn_queries(plan, point)[0])[output]


@pytest.mark.parametrize("seed", range(16))
def test_what_is_declared_is_measured_kept_tabulated_and_drawn(put, alone, tmp_path, seed):
    own = Own(seed, f"own_{seed}")
    package = put(own)
    check_package(own.name, package)
    whole = Whole(tmp_path, {"grid": ("grid", GRID)}, {"field": np.arange(11)})
    plan = whole.plan({f"e{i}": own.experiment(["grid"], ["field"]) for i in range(2)})
    lines = whole.run(plan)
    assert any(", 0 failed" in line for line in lines)
    for file, point in plan.kept_points:
        if not about_answer(Path(file)).get("unavailable"):
            kept, made = read_answer(Path(file)), right(package, plan, point, Path(file).stem)
            assert kept.dtype == made.dtype and np.array_equal(kept, made)
    counted = dict(zip(package.METRICS, range(3, 9), strict=False))
    for name in filter(plan.shown_of, plan.config.experiments):
        table = table_of(plan, name)
        told = table[table["quantity"].isin(counted)]
        assert told["ours"].tolist() == told["quantity"].map(counted).tolist()


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
