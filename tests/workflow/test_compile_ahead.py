import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from saitan.generators import GENERATORS
from saitan.workflow import compile_ahead as module
from saitan.workflow.compile_ahead import compile_ahead
from saitan.workflow.graphs.parquet import write_graph
from saitan.workflow.measure import write_samples
from saitan.workflow.queries import draw

ROOT = Path(__file__).parents[2]
POINT = {"problem": "sssp", "backend": "cpu", "graph": "grid", "parameters": {}, "instance": {}, "traced": False}


@pytest.fixture
def ahead(tmp_path, monkeypatch):
    """Calls compile_ahead for the first of some points and returns what it would run side by side."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    asked = []
    monkeypatch.setattr(module, "_side_by_side", lambda wanted, arguments: asked.extend(wanted))
    together = tmp_path / "together.json"

    def call(points, cores=2):
        points = [{"samples": str(tmp_path / f"{n}.parquet"), "identity": "new"} | p for n, p in enumerate(points)]
        together.write_text(json.dumps(points))
        asked.clear()
        compile_ahead(points[0] | {"budget_s": 1}, argparse.Namespace(together=together, cores=cores))
        return [(point["variant"], point["parameters"], point["traced"]) for point in asked]

    return call


def of(variant, **changes):
    return {**POINT, "variant": variant, **changes}


def test_every_variant_that_the_run_measures_on_the_data_once(ahead):
    sweep = [of("a", parameters={"up": 3}), of("b"), of("a", parameters={"up": 4}), of("a", traced=True)]
    others = [of("c", graph="ring"), of("d", problem="bfs"), of("e", instance={"n": 2})]
    assert ahead([*sweep, *others]) == [("a", {"up": 3}, False), ("b", {}, False), ("a", {}, True)]
    # It is done: for any of them.
    assert ahead(sweep[::-1]) == []
    # On other data other code may run.
    assert ahead([of("a", graph="ring"), of("b", graph="ring")]) == [("a", {}, False), ("b", {}, False)]


def test_nothing_where_one_is_left_or_one_core(ahead):
    assert ahead([of("a"), of("b")], cores=1) == []
    assert ahead([of("a"), of("c", graph="ring")]) == []
    assert ahead([of("a"), of("b")]) == [("a", {}, False), ("b", {}, False)]
    # A point that is measured by hand has no list beside it.
    compile_ahead(of("a"), argparse.Namespace(together=Path("absent.json"), cores=2))
    # One that is new compiles by itself.
    assert ahead([of("c"), of("a"), of("b")]) == []


def test_what_is_measured_is_left_out_unless_it_is_out_of_date(ahead, tmp_path):
    told = {"settled": True, "spread": 0.0, "disturbed": [], "unavailable": None}
    for place, identity in ((1, "new"), (2, "old")):
        write_samples([], {"identity": identity, **told}, tmp_path / f"{place}.parquet")
    (tmp_path / "3.parquet").write_text("no samples")
    points = [of(variant) for variant in "abcd"]
    assert [variant for variant, _, _ in ahead(points)] == ["a", "c", "d"]


def test_as_many_at_a_time_as_there_are_cores_and_none_for_ever(tmp_path, monkeypatch):
    def answer(settings, arguments):
        began = time.monotonic()
        (tmp_path / f"{settings}.began").write_text(f"{began}")
        time.sleep(60 if settings == 3 else 0.2)
        (tmp_path / f"{settings}.ended").write_text(f"{time.monotonic()}")

    monkeypatch.setattr(module, "_answer_one", answer)
    monkeypatch.setattr(module, "LIMIT", 3)
    began = time.monotonic()
    module._side_by_side([1, 2, 3, 4], argparse.Namespace(cores=2))
    assert time.monotonic() - began < 30
    ended = {path.stem: float(path.read_text()) for path in tmp_path.glob("*.ended")}
    assert set(ended) == {"1", "2", "4"}
    assert float((tmp_path / "3.began").read_text()) >= min(ended["1"], ended["2"])


def test_the_second_point_compiles_nothing(tmp_path):
    """Where the first was told of it."""
    grid = GENERATORS["grid"](width=12, height=12, weight_low=1, weight_high=99, seed=1)
    write_graph(grid.with_metadata(name="grid"), tmp_path / "grid")
    files = {"graph": tmp_path / "grid", "queries": tmp_path / "q.json", "reference": tmp_path / "r.npz"}
    asked = {"problem": "bfs", "instance": {}, "queries": 2, "seed": 1}
    draw(argparse.Namespace(settings=json.dumps(asked), array=None, identity=None, **files))
    points = [
        of(variant, problem="bfs", samples=str(tmp_path / f"{variant}.parquet"), identity="")
        for variant in ("top-down", "bottom-up")
    ]
    together = tmp_path / "together.json"
    together.write_text(json.dumps(points))
    how = {"budget_s": 0, "spread": 1, "min_rounds": 1, "max_rounds": 1, "warmup": 1, "experiment": "tiny"}
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "numba")}

    def compiled():
        return {path.name for path in (tmp_path / "numba").rglob("*.nbc")}

    def measure(point):
        # A machine with other work may not have compiled all within the limit.
        unlimited = "from saitan.workflow import compile_ahead, measure; compile_ahead.LIMIT = 500; measure.main()"
        command = [sys.executable, "-c", unlimited, "--settings", json.dumps(point | how)]
        command += [part for name, path in files.items() for part in (f"--{name}", str(path))]
        command += ["--cores", "2", "--together", str(together), "--output", point["samples"]]
        subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
        return compiled()

    assert compiled() == set()
    first = measure(points[0])
    assert any("bottom_up" in name for name in first), first
    assert measure(points[1]) == first
