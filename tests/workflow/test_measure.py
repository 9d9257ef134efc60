import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saitan.generators import GENERATORS
from saitan.problem import Invalid, Run
from saitan.workflow.graphs.parquet import write_graph
from saitan.workflow.measure import measure, sample, settled
from saitan.workflow.provenance import provenance
from saitan.workflow.queries import draw

ROOT = Path(__file__).parents[2]
SETTINGS = {
    "experiment": "tiny",
    "problem": "sssp",
    "backend": "cpu",
    "graph": "grid",
    "variant": "scipy",
    "parameters": {},
    "instance": {},
    "traced": False,
    "budget_s": 60,
    "spread": 0.02,
    "min_rounds": 2,
    "max_rounds": 5,
    "warmup": 1,
}


class Scripted:
    """A solver whose times are given: seconds[round][query]; `wrong` is the number of the run that fails its check."""

    memory, transfer = 10, 0.25

    def __init__(self, seconds, wrong=None):
        self.script = iter([value for round_ in seconds for value in round_])
        self.wrong, self.calls = wrong, []

    def run(self, query):
        self.calls.append(("run", query))
        seconds = next(self.script)
        return Run(seconds, 2 * seconds, {"phases": 2}, {"seconds": np.array([seconds / 2] * 2)})

    def validate(self):
        self.calls.append(("validate",))
        if len([call for call in self.calls if call[0] == "run"]) == self.wrong:
            raise Invalid("vertex 3: off by one")


class Counting(Scripted):
    def count(self, query):
        self.calls.append(("count", query))
        return {"updated": np.array([query, 2 * query])}


def sampled(solver, queries=(5, 6), compare=lambda: None, **settings):
    return sample(solver, list(queries), {**SETTINGS, **settings}, compare)


def test_rounds_end_when_the_median_settles():
    # Medians 1, 2, 2.02: the last two are within 2 % of their median.
    solver = Scripted([[0.9, 1.1], [2.0, 2.0], [2.02, 2.02], [9, 9]])
    rows = sampled(solver)
    assert [(row["query"], row["round"], row["seconds"]) for row in rows] == [
        *(("5", 0, 0.9), ("6", 0, 1.1)),
        *(("5", 1, 2.0), ("6", 1, 2.0)),
        *(("5", 2, 2.02), ("6", 2, 2.02)),
    ]
    assert rows[0]["total_seconds"] == 1.8 and rows[0]["phases"] == 2 and rows[0]["phase_seconds"] == [0.45, 0.45]
    assert solver.calls[:4] == [("run", 5), ("validate",), ("run", 6), ("validate",)]


def test_rounds_end_at_their_most_and_with_the_budget():
    unsteady = [[1, 1], [2, 2], [4, 4], [8, 8], [16, 16], [32, 32]]
    assert len(sampled(Scripted(unsteady), max_rounds=3)) == 6
    assert len(sampled(Scripted(unsteady), budget_s=1e-9)) == 2
    assert len(sampled(Scripted([[1, 1]] * 9), min_rounds=4)) == 8


def test_settled():
    rounds = {"spread": 0.1, "min_rounds": 3, "max_rounds": 4}
    assert not settled([1.0], rounds) and not settled([1.0, 1.0], rounds)
    assert settled([1.0, 1.0, 1.0], rounds) and settled([0.96, 1.0, 1.05], rounds)
    assert not settled([0.94, 1.0, 1.05], rounds)
    assert settled([1, 2, 3, 4], rounds)
    assert settled([7.0], {**rounds, "min_rounds": 1})


@given(
    st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=8),
    st.integers(1, 5),
    st.integers(1, 8),
    st.floats(1e-3, 1),
)
def test_settled_is_the_spread_of_the_last_rounds(medians, least, most, spread):
    rounds = {"spread": spread, "min_rounds": least, "max_rounds": most}
    last = np.array(medians[-least:])
    near = len(last) == least and np.ptp(last) <= spread * np.median(last)
    assert settled(medians, rounds) == (len(medians) >= most or near)


@pytest.mark.parametrize("wrong", [1, 4])
def test_a_wrong_answer_ends_the_point(wrong):
    solver = Scripted([[1, 2], [3, 4], [5, 6]], wrong=wrong)
    with pytest.raises(Invalid, match="vertex 3"):
        sampled(solver)
    # Nothing is asked after it.
    assert solver.calls[-1] == ("validate",) and len(solver.calls) == 2 * wrong


def test_the_first_answer_alone_is_compared_with_the_reference():
    solver, seen = Scripted([[1, 1]] * 5), []
    sampled(solver, compare=lambda: seen.append(len(solver.calls)))
    assert seen == [2]

    def refuse():
        raise Invalid("differs")

    with pytest.raises(Invalid, match="differs"):
        sampled(Scripted([[1, 1]]), compare=refuse)


def test_counts_come_from_a_run_of_their_own_in_the_first_round():
    solver = Counting([[1, 1]] * 5)
    rows = sampled(solver, traced=True)
    assert [row.get("phase_updated") for row in rows] == [[5, 10], [6, 12], None, None]
    assert [call for call in solver.calls if call[0] != "validate"][2:4] == [("count", 5), ("count", 6)]
    solver = Counting([[1, 1]] * 5)
    assert all("phase_updated" not in row for row in sampled(solver))
    assert not [call for call in solver.calls if call[0] == "count"]
    assert all("phase_updated" not in row for row in sampled(Scripted([[1, 1]] * 5), traced=True))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A tiny graph on disk with three drawn queries and the reference answer, as the step's arguments."""
    folder = tmp_path_factory.mktemp("inputs")
    grid = GENERATORS["grid"](width=12, height=12, weight_low=1, weight_high=99, seed=1)
    write_graph(grid.with_metadata(name="grid"), folder / "grid")
    files = {"graph": folder / "grid", "queries": folder / "queries.json", "reference": folder / "reference.npz"}
    settings = {"problem": "sssp", "instance": {}, "queries": 3, "seed": 1}
    draw(argparse.Namespace(settings=json.dumps(settings), **files))
    return files


def measured(inputs, output, **settings):
    settings = json.dumps({**SETTINGS, **settings})
    measure(argparse.Namespace(settings=settings, threads=2, output=output, **inputs))
    return pq.read_table(output).to_pylist()


def test_a_sample_row_says_what_where_and_with_what(inputs, tmp_path):
    queries = json.loads(inputs["queries"].read_text())
    assert len(set(queries)) == 3
    rows = measured(inputs, tmp_path / "a.parquet", max_rounds=1)
    assert [row["query"] for row in rows] == [str(query) for query in queries]
    row = rows[0]
    assert {key: row[key] for key in ("experiment", "problem", "backend", "graph", "variant", "round")} == {
        "experiment": "tiny",
        "problem": "sssp",
        "backend": "cpu",
        "graph": "grid",
        "variant": "scipy",
        "round": 0,
    }
    assert 0 < row["seconds"] <= row["total_seconds"] and row["transfer_seconds"] == 0 and row["memory"] >= 0
    here = provenance("cpu", 2)
    assert set(here) <= set(row)
    assert {key: row[key] for key in here if key not in ("measured_at", "dirty")} == {
        key: value for key, value in here.items() if key not in ("measured_at", "dirty")
    }
    assert row["threads_used"] == 2 and "numpy=" in row["packages"] and "scipy=" in row["packages"]


def test_a_wrong_answer_leaves_no_file(inputs, tmp_path, monkeypatch):
    from saitan.sssp.peers import Scipy

    answer = Scipy.answer
    monkeypatch.setattr(Scipy, "answer", lambda self: {"distances": answer(self)["distances"] + 1})
    with pytest.raises(
        Invalid, match=r"^differs from the reference solver: 144 distances differ, the first at vertex 0"
    ):
        measured(inputs, tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_a_measured_point_costs_little_beside_the_time_it_measures(inputs, tmp_path):
    """1.5 s of an idle machine, imports included, once Numba's cache is there.

    In processor time, with a margin: neighbours on a busy machine slow a process down without being charged for it.
    """
    settings = {**SETTINGS, "variant": "conventional", "max_rounds": 1}
    output = tmp_path / "a.parquet"
    command = [sys.executable, "-m", "saitan.workflow.measure", "--settings", json.dumps(settings), "--threads", "1"]
    command += [part for name, path in inputs.items() for part in (f"--{name}", str(path))]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "numba")}

    def overhead():
        before, started = cpu_seconds(), time.perf_counter()
        subprocess.run([*command, "--output", str(output)], cwd=ROOT, env=environment, check=True, capture_output=True)
        spent, wall = cpu_seconds() - before, time.perf_counter() - started
        return min(spent, wall) - sum(row["total_seconds"] for row in pq.read_table(output).to_pylist())

    overhead()
    assert min(overhead(), overhead()) < 2.5
