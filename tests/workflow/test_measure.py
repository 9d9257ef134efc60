import argparse
import contextlib
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

from saitan.blocks import Block, Rows
from saitan.cuda import module
from saitan.errors import Misdeclared
from saitan.generators import GENERATORS
from saitan.problem import Checked, Invalid, Metric, Output, Parameter, Reference, Trace, Unavailable, names, problem
from saitan.ranks import Ranks
from saitan.workflow import provenance as provenances
from saitan.workflow import queries, sampling
from saitan.workflow.answer_writers import AnswerWriter
from saitan.workflow.graphs.parquet import read_graph, write_graph
from saitan.workflow.instances import (
    instance_identity,
    read_array,
    read_queries,
    read_reference,
    write_queries,
    write_reference,
)
from saitan.workflow.keep import keep
from saitan.workflow.measure import _cores, _others, crowded_by, main, measure, write_samples
from saitan.workflow.provenance import provenance
from saitan.workflow.queries import draw
from saitan.workflow.step import Failure

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
    "identity": "abc",
    "budget_s": 60,
    "spread": 0.02,
    "min_rounds": 2,
    "max_rounds": 5,
    "warmup": 1,
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A tiny graph on disk with three drawn queries and the reference answer, as the step's arguments."""
    folder = tmp_path_factory.mktemp("inputs")
    grid = GENERATORS["grid"](width=12, height=12, weight_low=1, weight_high=99, seed=1)
    write_graph(grid.with_metadata(name="grid"), folder / "grid")
    files = {"graph": folder / "grid", "queries": folder / "queries.json", "reference": folder / "reference.npz"}
    settings = {"problem": "sssp", "instance": {}, "queries": 3, "seed": 1}
    draw(argparse.Namespace(settings=json.dumps(settings), array=None, identity="drawn", **files))
    return files


pytestmark = pytest.mark.usefixtures("alone")


def measured(inputs, output, **settings):
    settings = json.dumps({**SETTINGS, **settings})
    measure(
        argparse.Namespace(settings=settings, cores=2, output=output, log=None, array=None, together=None, **inputs)
    )
    return pq.read_table(output).to_pylist()


def about(path):
    return json.loads(pq.read_schema(path).metadata[b"saitan"])


def test_a_sample_row_says_what_where_and_with_what(inputs, tmp_path):
    queries = read_queries(inputs["queries"])
    assert len(set(queries)) == 3
    rows = measured(inputs, tmp_path / "a.parquet", max_rounds=1, graph="2024-01-01")
    assert [row["query"] for row in rows] == [str(query) for query in queries]
    row = rows[0]
    # A name that reads like a date is a name.
    assert {key: row[key] for key in ("experiment", "problem", "backend", "graph", "variant", "round", "cores")} == {
        "experiment": "tiny",
        "problem": "sssp",
        "backend": "cpu",
        "graph": "2024-01-01",
        "variant": "scipy",
        "round": 0,
        "cores": 2,
    }
    assert 0 < row["seconds"] <= row["total_seconds"] and row["transfer_seconds"] == 0 and row["memory"] >= 0
    assert row["checked"] and row["checked_whole"]
    here, there = provenance("cpu"), row["provenance"]
    assert set(here) == set(there)
    assert {**here, "measured_at": 0, "dirty": 0} == {**there, "measured_at": 0, "dirty": 0}
    assert "numpy=" in there["packages"] and "scipy=" in there["packages"]
    told = about(tmp_path / "a.parquet")
    assert told["identity"] == "abc" and told["unavailable"] is None
    assert told["settled"] is False and told["spread"] is None


def test_what_cannot_be_written_whole_leaves_nothing(inputs, tmp_path, monkeypatch):
    def half(rows, about, path):
        path.write_bytes(b"PAR1")
        raise OSError("full")

    monkeypatch.setattr("saitan.workflow.measure.write_samples", half)
    with pytest.raises(OSError, match="full"):
        measured(inputs, tmp_path / "a.parquet", max_rounds=1, min_rounds=1, warmup=0)
    assert list(tmp_path.iterdir()) == []


def test_the_packages_of_all_peers_are_in_the_provenance():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    variants = (variant for name in names() for variant in problem(name).VARIANTS.values())
    wanted = {package for variant in variants if variant.peer for package in extras[variant.peer[1]]}
    wanted |= {package for package in extras["cuda"] if "pycuda" in package}
    assert {re.match(r"[\w-]+", package)[0] for package in wanted} <= set(provenances.PACKAGES)
    assert {"saitan", "numpy", "scipy", "numba", "pyarrow"} <= set(provenances.PACKAGES)


def test_parameters_and_counters_are_columns_of_their_own(inputs, tmp_path):
    settled = {"variant": "adaptive", "parameters": {"threshold_up": 10}, "traced": True, "spread": 1e9}
    rows = measured(inputs, tmp_path / "a.parquet", **settled, ranks=1)
    assert rows[0]["parameters"] == {"threshold_up": 10, "ranks": 1} and "instance" not in rows[0]
    assert rows[0]["counters"]["phases"] == len(rows[0]["phase_seconds"]) == len(rows[0]["phase_updated"])
    told = about(tmp_path / "a.parquet")
    assert told["settled"] is True and 0 < told["spread"] < 1e9


PRODUCT = {"problem": "tropical", "instance": {"n": 8}, "graph": "no-graph"}


def product(folder):
    """The only query there is of a matrix, and the reference answer, on disk."""
    files = {"queries": folder / "queries.json", "reference": folder / "reference.npz"}
    asked = json.dumps(PRODUCT | {"queries": 1, "seed": 1})
    draw(argparse.Namespace(settings=asked, graph=None, array=None, identity=None, **files))
    return files


@pytest.mark.parametrize("problem", ["sssp", "tropical"])
def test_measuring_does_without_pandas(inputs, tmp_path, problem):
    """Its import would be a third of a step's overhead; with a graph and without one."""
    settings = {**SETTINGS, "problem": problem, "variant": "scipy" if problem == "sssp" else "numpy", "instance": {}}
    files = {**inputs, "output": tmp_path / "a.parquet"}
    if problem == "tropical":
        settings |= PRODUCT
        del files["graph"]
        files |= product(tmp_path)
    arguments = [part for name, path in files.items() for part in (f"--{name}", str(path))]
    command = ["measure", "--settings", json.dumps(settings), "--cores", "1", *arguments]
    code = f"import sys; sys.argv = {command!r}; from saitan.workflow.measure import main; main()"
    code += "; sys.exit('pandas' in sys.modules and 'it was imported')"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rows_differ_in_what_they_count(tmp_path):
    rows = [{"query": str(i), "counters": counters} for i, counters in enumerate([{"a": 1.0}, {"b": 2}, {}])]
    write_samples(rows, {}, tmp_path / "a.parquet")
    read = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert [row["counters"] for row in read] == [{"a": 1.0, "b": None}, {"a": None, "b": 2.0}, {"a": None, "b": None}]


def test_what_cannot_run_is_written_down_and_no_failure(inputs, tmp_path, monkeypatch, capsys):
    def refuse(*_, **__):
        raise Unavailable("no such\n  card \udcfc")

    monkeypatch.setattr("saitan.sssp.peers.Scipy.__init__", refuse)
    assert measured(inputs, tmp_path / "a.parquet") == []
    assert about(tmp_path / "a.parquet")["unavailable"] == r"no such card \udcfc"
    assert r"left out: no such card \udcfc" in capsys.readouterr().err


def test_a_wrong_answer_leaves_no_file(inputs, tmp_path, monkeypatch):
    from saitan.sssp.peers import Scipy

    blocks = Scipy.blocks

    def spoiled(self, rows=None):
        for block in blocks(self, rows):
            yield block._replace(array=block.array + 1)

    monkeypatch.setattr(Scipy, "blocks", spoiled)
    says = r"^differs from the reference solver \(SciPy's Dijkstra\): 144 distances differ, the first at vertex 0"
    with pytest.raises(Invalid, match=says):
        measured(inputs, tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("streamed", [False, True])
def test_a_wrong_answer_is_not_kept(streamed, inputs, tmp_path, monkeypatch):
    from saitan.sssp.peers import Scipy

    blocks, run = Scipy.blocks, Scipy.run

    def spoiled(self, rows=None):
        for block in blocks(self, rows):
            yield block._replace(array=block.array + 1)

    def handing_out(self, query, sink):
        told = run(self, query)
        for block in spoiled(self):
            sink(block)
        return told

    class Agrees(Rows):
        def finish(self):
            return Checked("nothing")

    monkeypatch.setattr(Scipy, "blocks", spoiled)
    monkeypatch.setattr(Scipy, "streamed", streamed, raising=False)
    if streamed:
        monkeypatch.setattr(Scipy, "run", handing_out)
        monkeypatch.setattr(Scipy, "checker", lambda self, query: Agrees(), raising=False)
    files = {"folder": tmp_path / "kept", "outputs": ["distances"], "keep_as": "raw"}
    arguments = argparse.Namespace(settings=json.dumps(SETTINGS), cores=2, log=None, array=None, **files, **inputs)
    with pytest.raises(Invalid, match=r"^differs from the reference solver \(SciPy's Dijkstra\): 144 distances differ"):
        keep(arguments)
    assert list(tmp_path.glob("kept/*")) == []


@pytest.mark.parametrize("step", [measure, keep])
def test_a_solver_that_writes_into_its_graph_is_refused(step, inputs, tmp_path, monkeypatch):
    from saitan.sssp.peers import Scipy

    run = Scipy.run

    def spoils(self, source):
        self.graph.weights[0] += 1
        return run(self, source)

    monkeypatch.setattr(Scipy, "run", spoils)
    files = {"folder": tmp_path, "outputs": ["distances"], "keep_as": "raw", "output": tmp_path / "a.parquet"}
    settings = json.dumps(SETTINGS | {"max_rounds": 2})
    says = r"^scipy writes into weights of its instance, by which answers are checked: take a copy$"
    with pytest.raises(Invalid, match=says):
        step(argparse.Namespace(settings=settings, cores=2, log=None, array=None, together=None, **files, **inputs))
    assert list(tmp_path.iterdir()) == []


def test_what_disturbed_a_point_is_said_of_its_file(inputs, tmp_path, monkeypatch):
    from saitan.sssp.peers import Scipy

    run = Scipy.run
    monkeypatch.setattr(Scipy, "run", lambda self, query: replace(run(self, query), disturbed="the clock moved"))
    rows = measured(inputs, tmp_path / "a.parquet", max_rounds=1)
    assert "the clock moved" in about(tmp_path / "a.parquet")["disturbed"]
    assert all(row["disturbed"] == "the clock moved" for row in rows)


class Pair(Ranks):
    """The first of two ranks on this host; the other finds what it is given to find."""

    theirs = False

    def __init__(self, **local):
        super().__init__(size=2, together=2, **local)

    def each(self, value):
        return [value, self.theirs if value is False or value is None else value]


class Bound(Ranks):
    """The first of ranks of several hosts, of which some are bound to cores."""

    def __init__(self, cores):
        here = platform.node()
        self.__dict__["bound"] = [(here if host == "here" else host, of) for host, of in cores]
        super().__init__(size=len(cores), together=sum(host == "here" for host, _ in cores))

    def each(self, value):
        return self.bound if isinstance(value, tuple) else [value] * self.size


@pytest.mark.parametrize(("there", "each", "all_have"), [(8, 3, 6), (2, 1, 2), (1, 1, 1)])
def test_a_point_has_the_cores_of_all_its_ranks(monkeypatch, there, each, all_have):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {*range(there)})
    assert _cores(Pair(), each) == all_have
    assert _cores(Ranks(), 3) == 3


@pytest.mark.parametrize(
    ("cores", "each", "all_have", "says"),
    [
        ([("here", {0}), ("here", {1})], 4, 2, "2 ranks of 4 cores on 2"),
        ([("here", {0}), ("here", {0})], 1, 1, "2 ranks of 1 cores on 1"),
        ([("here", {0, 1}), ("here", {2, 3})], 2, 4, None),
        ([("here", {0, 1}), ("there", {2, 3, 4, 5})], 2, 4, None),
        ([("here", {0, 1}), ("there", {2, 3, 4, 5})], 3, 4, "1 rank of 3 cores on 2"),
    ],
)
def test_ranks_have_the_cores_to_which_they_are_bound(cores, each, all_have, says):
    assert _cores(Bound(cores), each) == all_have
    assert crowded_by("cpu", Bound(cores), each) == says


def test_what_a_point_alone_may_not_use_is_told():
    """As under `taskset`, which leaves the machine its number of cores."""
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert crowded_by("cpu", Ranks(), 1) is None
        assert crowded_by("cpu", Ranks(), 2) == "2 threads on 1 core"
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(
    ("there", "each", "theirs", "says"),
    [
        (4, 1, False, None),
        (4, 2, False, None),
        (4, 3, False, "2 ranks of 3 cores on 4"),
        (4, 2, "2 ranks of 2 cores on 3", "2 ranks of 2 cores on 3"),
        (1, 1, False, "2 ranks of 1 cores on 1"),
    ],
)
def test_ranks_that_take_more_cores_than_there_are_disturb_each_other(
    inputs, tmp_path, monkeypatch, there, each, theirs, says
):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {*range(there)})
    monkeypatch.setattr(Pair, "theirs", theirs)
    assert crowded_by("cpu", Pair(), each) == says
    monkeypatch.setattr("saitan.workflow.measure.current", Pair)
    monkeypatch.setattr("saitan.workflow.measure.crowded_by", lambda backend, ranks, cores: says)
    monkeypatch.setattr(Pair, "theirs", False)
    measured(inputs, tmp_path / "a.parquet", max_rounds=1, ranks=2)
    assert (says in about(tmp_path / "a.parquet")["disturbed"]) == (says is not None)


@pytest.mark.parametrize(("there", "says"), [(1, "2 ranks on 1 GPU"), (2, None)])
def test_ranks_that_share_a_gpu_are_said(monkeypatch, there, says):
    device = SimpleNamespace(count=lambda: there)
    monkeypatch.setitem(sys.modules, "pycuda", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "pycuda.driver", SimpleNamespace(Device=device))
    assert crowded_by("cuda", Pair(), 1000) == says


@pytest.mark.parametrize(
    ("needs", "directed", "weights", "says"),
    [
        ("undirected", True, "uint32", "scipy needs an undirected graph"),
        ("undirected", False, "uint32", None),
        ("integer", True, "float32", "scipy needs integer weights, not float32"),
        ("integer", True, "uint32", None),
        ("weights", True, None, "scipy needs a graph with weights"),
        ("weights", True, "float32", None),
    ],
)
def test_a_graph_that_a_variant_does_not_take_is_left_out(
    inputs, tmp_path, monkeypatch, needs, directed, weights, says
):
    known = problem("sssp").VARIANTS
    monkeypatch.setitem(known, "scipy", replace(known["scipy"], graph=(needs,)))
    graph = read_graph(inputs["graph"])
    graph = replace(graph, weights=graph.weights.astype(weights) if weights else None)
    write_graph(graph.with_metadata(directed=directed), tmp_path / "grid")
    given = inputs | {"graph": tmp_path / "grid"}
    made = measured(given, tmp_path / "a.parquet", max_rounds=1, warmup=0)
    assert about(tmp_path / "a.parquet")["unavailable"] == says and bool(made) == (says is None)


def test_what_one_rank_lacks_is_written_down_and_what_it_meets_later_ends_all(inputs, tmp_path, monkeypatch, capsys):
    def refuse(*_, **__):
        raise Unavailable("no such card")

    monkeypatch.setattr("saitan.workflow.measure.current", Pair)
    with monkeypatch.context() as patch:
        patch.setattr("saitan.workflow.measure.load_instance", refuse)
        assert measured(inputs, tmp_path / "a.parquet", ranks=2) == []
    assert re.fullmatch(r"rank 0 of 2 on .*: no such card", about(tmp_path / "a.parquet")["unavailable"])
    with monkeypatch.context() as patch:
        patch.setattr(Pair, "theirs", "rank 1 of 2 on other: no memory")
        assert measured(inputs, tmp_path / "b.parquet", ranks=2) == []
    assert about(tmp_path / "b.parquet")["unavailable"] == "rank 1 of 2 on other: no memory"
    monkeypatch.setattr("saitan.sssp.peers.Scipy.__init__", refuse)
    with pytest.raises(Unavailable, match=r"^no such card$"):
        measured(inputs, tmp_path / "c.parquet", ranks=2)
    assert not (tmp_path / "c.parquet").exists()


@pytest.mark.parametrize("without", [set(), {0}, {2}, {0, 1, 2}])
def test_every_answer_gives_what_solvers_are_ranked_by(inputs, tmp_path, monkeypatch, without):
    from saitan import sssp
    from saitan.sssp.peers import Scipy

    run, made = Scipy.run, []

    def counted(self, query):
        made.append(query)
        found = {} if len(made) - 1 in without else {"score": 1.0}
        return replace(run(self, query), counters=found)

    monkeypatch.setattr(Scipy, "run", counted)
    monkeypatch.setitem(sssp.METRICS, "score", Metric("a number"))
    monkeypatch.setattr(sssp, "HEADLINE", "score")
    if without:
        with pytest.raises(Failure, match=r"^scipy gives no score, which solvers of sssp are ranked by$"):
            measured(inputs, tmp_path / "a.parquet", max_rounds=1, warmup=0)
        assert not (tmp_path / "a.parquet").exists()
    else:
        assert len(measured(inputs, tmp_path / "a.parquet", max_rounds=1, warmup=0)) == 3
    monkeypatch.setattr(sssp, "HEADLINE", "time")
    assert len(measured(inputs, tmp_path / "b.parquet", max_rounds=1, warmup=0)) == 3


@pytest.mark.parametrize(
    ("name", "cost"),
    [
        *(("memory", None), ("transfer", "fast"), ("memory", -5), ("memory", 10**30), ("memory", float("nan"))),
        *(("transfer", float("nan")), ("transfer", -1.0), ("transfer", float("inf"))),
    ],
)
def test_a_cost_that_is_no_number_is_one_line(inputs, tmp_path, monkeypatch, name, cost):
    from saitan.sssp.peers import Scipy

    monkeypatch.setattr(Scipy, name, property(lambda self: cost, lambda self, _: None), raising=False)
    with pytest.raises(Failure, match=rf"^scipy says that its {name} is {cost!r}: a number of at least 0 is right$"):
        measured(inputs, tmp_path / "a.parquet", max_rounds=1)
    assert not (tmp_path / "a.parquet").exists()


@pytest.mark.parametrize("keeps", [False, True])
def test_what_may_keep_its_answers_is_asked_other_queries(inputs, tmp_path, monkeypatch, keeps):
    heard = []
    monkeypatch.setattr(sampling, "remembered", lambda *_: "remembers")
    monkeypatch.setattr(sampling, "_keeps", lambda _, others, first: heard.append((others, len(first))) or keeps)
    with pytest.raises(Failure, match=r"^scipy remembers$") if keeps else contextlib.nullcontext():
        measured(inputs, tmp_path / "a.parquet")
    [(others, first)] = heard
    drawn = read_queries(inputs["queries"])
    assert first == 3 and len({*others}) == len(others) == 8 and not {*others} & {*drawn}


@pytest.mark.parametrize("warmup", [0, 1])
@pytest.mark.parametrize("takes_long", ["once a solver", "always", "once"])
def test_the_answer_to_the_only_question_is_not_kept(tmp_path, monkeypatch, takes_long, warmup):
    """What is loaded once a process may take long."""
    from saitan.tropical.cpu import Untiled

    multiply, known = Untiled.multiply, set()

    def patched(self):
        key = {"once a solver": id(self), "once": 0}.get(takes_long)
        if key not in known or key is None:
            known.add(key)
            kept.append(self)
            multiply(self)
            time.sleep(0.2)
        return {}

    # As long as they are held, no other solver has the number of one of them.
    kept = []
    monkeypatch.setattr(Untiled, "multiply", patched)
    given = {**PRODUCT, "variant": "untiled", "warmup": warmup, "max_rounds": 3}
    files = {**product(tmp_path), "graph": None}
    if takes_long == "once a solver":
        says = r"^untiled takes 0\.\d+ s when it was just prepared, and \S+ s afterwards: it remembers answers, "
        with pytest.raises(Failure, match=says):
            measured(files, tmp_path / "a.parquet", **given)
        assert len(kept) == 4 and not (tmp_path / "a.parquet").exists()
    else:
        assert len(measured(files, tmp_path / "a.parquet", **given)) > 1


def test_a_problem_without_other_queries_has_none():
    def drawn(*given):
        package = SimpleNamespace(queries=lambda instance, count, seed: list(given[:count]))
        return _others(package, None, [[1, 2], [3, 4]])

    assert drawn((3, 4), (1, 2), (5, 6), (5, 6)) == [[5, 6]] and drawn() == drawn((1, 2)) == []

    def refused(*_):
        raise Unavailable("no root")

    assert _others(SimpleNamespace(queries=refused), None, [1]) == []


def test_a_time_longer_than_what_went_by_is_none(inputs, tmp_path, monkeypatch):
    from saitan.sssp.peers import Scipy

    run = Scipy.run
    monkeypatch.setattr(Scipy, "run", lambda self, query: replace(run(self, query), total=3.0))
    with pytest.raises(Failure, match=r"^scipy says that query \d+ took 3\.0 s in all, but its run ended after \S+ s:"):
        measured(inputs, tmp_path / "point.parquet")


def test_a_point_without_traces_is_left_out_where_they_are_shown(inputs, tmp_path, capsys):
    assert measured(inputs, tmp_path / "a.parquet", max_rounds=1, traced=True) == []
    assert about(tmp_path / "a.parquet")["unavailable"] == "scipy traces no phases here"
    assert "left out: scipy traces no phases here" in capsys.readouterr().err
    traced = measured(inputs, tmp_path / "b.parquet", max_rounds=1, traced=True, variant="conventional")
    assert all(len(row["phase_seconds"]) == len(row["phase_updated"]) > 0 for row in traced)


def test_a_trace_that_its_problem_does_not_declare_is_one_line(inputs, tmp_path, monkeypatch):
    from saitan.sssp.peers import Scipy

    run = Scipy.run
    phases = {"seconds": np.zeros(2), "updates": np.ones(2)}
    monkeypatch.setattr(Scipy, "run", lambda self, query: replace(run(self, query), phases=phases))
    with pytest.raises(Failure, match=r"^scipy traces 'updates', which is none of TRACES of sssp \(.*updated"):
        measured(inputs, tmp_path / "a.parquet", max_rounds=1)


@pytest.mark.parametrize(
    ("phases", "declared", "lacking"),
    [
        ([{"seconds": np.zeros(2)}, {}, {"seconds": np.zeros(2)}], False, "seconds"),
        ([{"seconds": np.zeros(2), "updated": np.ones(2)}, *[{"seconds": np.zeros(2)}] * 2], False, "updated"),
        ([{"updated": np.ones(2)}] * 3, False, "seconds"),
        ([{"seconds": np.zeros(2)}] * 3, True, "updated"),
    ],
)
def test_what_is_traced_is_traced_of_every_query(inputs, tmp_path, monkeypatch, phases, declared, lacking):
    made = replace(problem("sssp").VARIANTS["scipy"], traces={"cpu": ("updated",)} if declared else {})
    monkeypatch.setitem(problem("sssp").VARIANTS, "scipy", made)
    traced_by(monkeypatch, ({"phases": arrays} for arrays in phases))
    with pytest.raises(Failure, match=f"^scipy does not trace '{lacking}' of every query: every query has all that it"):
        measured(inputs, tmp_path / "a.parquet", max_rounds=1, warmup=0, traced=True)


def traced_by(monkeypatch, answers):
    """Have SciPy's solver say of each answer what it traced and counted."""
    from saitan.sssp.peers import Scipy

    run, said = Scipy.run, iter(answers)
    monkeypatch.setattr(Scipy, "run", lambda self, query: replace(run(self, query), **next(said)))


@pytest.mark.parametrize(
    ("name", "phases", "says"),
    [
        ("updated", [["1"], [1], [1]], "scipy traces 'updated' by what is not all numbers, as TRACES says"),
        ("seconds", [[0.0], ["1"], [0.0]], "scipy traces 'seconds' by what is not all numbers, as TRACES says"),
        ("direction", [["push"], ["pull"], [1]], "scipy traces 'direction' by what is not all texts, as TRACES says"),
    ],
)
def test_a_trace_of_another_kind_than_declared_is_one_line(inputs, tmp_path, monkeypatch, name, phases, says):
    declared = {**problem("sssp").TRACES, "direction": Trace("x", text=True)}
    monkeypatch.setattr(problem("sssp"), "TRACES", declared)
    traced_by(monkeypatch, ({"phases": {"seconds": np.zeros(1), name: np.array(entries)}} for entries in phases))
    with pytest.raises(Failure, match=f"^{says}$"):
        measured(inputs, tmp_path / "a.parquet", max_rounds=1, warmup=0)


@pytest.mark.parametrize(
    ("phases", "kind"),
    [
        ([[2**63], [1], [1]], float),
        ([[2**53 + 1], [0.5], [True]], float),
        ([[True], [1], []], float),
        ([[], [True], [False]], bool),
        ([[1], [2**63 - 1], []], int),
        ([[0.5], np.array([1.5], np.longdouble), [np.inf]], float),
    ],
    ids=str,
)
def test_traces_of_any_numbers_are_kept(inputs, tmp_path, monkeypatch, phases, kind):
    arrays = [np.asarray(entries) for entries in phases]
    traced_by(monkeypatch, ({"phases": {"seconds": np.zeros(len(a)), "updated": a}} for a in arrays))
    rows = measured(inputs, tmp_path / "a.parquet", max_rounds=1, warmup=0)
    found = [row["phase_updated"] for row in rows]
    assert found == [list(map(kind, entries)) for entries in phases]
    assert {type(entry) for entries in found for entry in entries} == {kind}


def test_counters_and_memory_are_numbers_of_any_size(inputs, tmp_path, monkeypatch):
    from saitan.sssp.peers import Scipy

    monkeypatch.setattr(Scipy, "memory", property(lambda self: 3.5, lambda self, held: None), raising=False)
    found = [2**62 + 1, -(2**63), np.float32(0.5)]
    traced_by(monkeypatch, ({"counters": {"phases": number}} for number in found))
    rows = measured(inputs, tmp_path / "a.parquet", max_rounds=1, warmup=0)
    assert [row["counters"]["phases"] for row in rows] == [2.0**62, -(2.0**63), 0.5]
    assert {row["memory"] for row in rows} == {3}


def test_a_counter_that_its_problem_does_not_declare_is_one_line(inputs, tmp_path, monkeypatch):
    from saitan.sssp.peers import Scipy

    run = Scipy.run
    monkeypatch.setattr(Scipy, "run", lambda self, query: replace(run(self, query), counters={"relaxation": 7}))
    with pytest.raises(Failure, match=r"^scipy counts 'relaxation', which is none of METRICS of sssp \(phases, "):
        measured(inputs, tmp_path / "a.parquet", max_rounds=1, warmup=0)
    assert not (tmp_path / "a.parquet").exists()


@pytest.mark.parametrize(("default", "given", "refused"), [("a", {}, True), ("b", {}, False), ("b", {"of": "a"}, True)])
def test_an_answer_has_the_outputs_of_its_instance(inputs, tmp_path, monkeypatch, default, given, refused):
    from saitan import sssp

    instance = sssp.instance
    monkeypatch.setitem(sssp.INSTANCE, "of", Parameter(str, default, "kind", choices=("a", "b")))
    monkeypatch.setitem(sssp.OUTPUTS, "hops", Output("[n]", {"of": ("a",)}))
    monkeypatch.setattr(sssp, "instance", lambda inputs, **_: instance(inputs))
    if refused:
        with pytest.raises(Failure, match=r"^the answer has no hops \(it has: distances\): all OUTPUTS that"):
            measured(inputs, tmp_path / "a.parquet", instance=given, max_rounds=1, warmup=0)
        assert not (tmp_path / "a.parquet").exists()
    else:
        assert len(measured(inputs, tmp_path / "a.parquet", instance=given, max_rounds=1, warmup=0)) == 3


def test_kernels_that_a_variant_does_not_declare_are_not_loaded(inputs, tmp_path, monkeypatch):
    """An edit of them would measure nothing again."""
    from saitan.sssp.peers import Scipy

    monkeypatch.setattr(module, "_load", lambda *names: None)
    run = Scipy.run
    monkeypatch.setattr(Scipy, "run", lambda self, query: module.load("sssp", "fast") or run(self, query))
    files = {"folder": tmp_path, "outputs": ["distances"], "keep_as": "raw"}
    arguments = argparse.Namespace(settings=json.dumps(SETTINGS), cores=2, log=None, array=None, **files, **inputs)
    for step in (lambda: measured(inputs, tmp_path / "a.parquet"), lambda: keep(arguments)):
        with pytest.raises(Misdeclared, match=r"^kernels/sssp/fast\.cu is loaded, which is none of the variant's"):
            step()
    module.load("sssp", "fast")
    assert not list(tmp_path.iterdir())


def test_the_time_of_a_measurement_is_that_of_greenwich():
    when = datetime.fromisoformat(provenance("cpu")["measured_at"])
    assert when.utcoffset() == timedelta(0) and abs(datetime.now(UTC) - when) < timedelta(minutes=5)


def test_the_leading_rank_alone_writes(inputs, tmp_path, monkeypatch):
    for rank, written in ((0, True), (1, False)):
        monkeypatch.setattr("saitan.workflow.measure.current", lambda rank=rank: Pair(rank=rank))
        output = tmp_path / f"{rank}.parquet"
        with contextlib.suppress(FileNotFoundError):
            measured(inputs, output, max_rounds=1, ranks=2)
        assert output.exists() == written


@pytest.mark.parametrize("option", ["settings", "queries", "reference", "cores", "output"])
def test_what_a_step_must_be_told_is_named(monkeypatch, capsys, option):
    given = {"settings": "{}", "queries": "q", "reference": "r", "cores": "1", "output": "o"}
    arguments = [part for name, value in given.items() if name != option for part in (f"--{name}", value)]
    monkeypatch.setattr(sys, "argv", ["measure", *arguments])
    with pytest.raises(SystemExit):
        main()
    assert f"the following arguments are required: --{option}" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["settings", "queries", "reference"])
def test_what_draws_queries_must_be_told_is_named(inputs, tmp_path, monkeypatch, capsys, option):
    settings = {"problem": "sssp", "instance": {}, "queries": 3, "seed": 1}
    given = {"settings": json.dumps(settings), "queries": str(tmp_path / "q"), "reference": str(tmp_path / "r.npz")}
    given["graph"] = str(inputs["graph"])
    monkeypatch.setattr(sys, "argv", ["queries", *(f"--{name}={value}" for name, value in given.items())])
    queries.main()
    drawn = read_queries(tmp_path / "q")
    assert len(drawn) == 3 and (tmp_path / "r.npz").exists()
    del given[option]
    monkeypatch.setattr(sys, "argv", ["queries", *(f"--{name}={value}" for name, value in given.items())])
    with pytest.raises(SystemExit):
        queries.main()
    assert f"the following arguments are required: --{option}" in capsys.readouterr().err


def test_what_preparing_took_is_free_of_compilation(inputs, tmp_path, monkeypatch):
    from numba import njit

    from saitan.sssp.peers import Scipy

    made, times = Scipy.__init__, []

    def compiled(self, graph, **parameters):
        made(self, graph, **parameters)
        if not times:
            njit(lambda x: x + 1)(1)
        times.append(1.0 / (1 + len(times)))
        self.transfer = times[-1]

    monkeypatch.setattr(Scipy, "__init__", compiled)
    rows = measured(inputs, tmp_path / "a.parquet", max_rounds=1)
    assert {row["transfer_seconds"] for row in rows} == {times[-1]} and len(times) == 2


def test_upload_and_memory_are_the_solvers(inputs, tmp_path, monkeypatch):
    from saitan.sssp.peers import Scipy

    made, closed, runs = Scipy.__init__, [], []

    def described(self, graph, **parameters):
        made(self, graph, **parameters)
        self.memory, self.transfer = 4321, 0.125

    run = Scipy.run
    monkeypatch.setattr(Scipy, "__init__", described)
    monkeypatch.setattr(Scipy, "close", lambda self: closed.append(True))
    monkeypatch.setattr(Scipy, "run", lambda self, query: (runs.append(query), run(self, query))[1])
    rows = measured(inputs, tmp_path / "a.parquet", max_rounds=1, warmup=2)
    assert {(row["memory"], row["transfer_seconds"]) for row in rows} == {(4321, 0.125)}
    assert closed == [True]
    # Of two ranks: what both take, and what the slower one took.
    with monkeypatch.context() as patch:
        patch.setattr("saitan.workflow.measure.current", Pair)
        rows = measured(inputs, tmp_path / "b.parquet", max_rounds=1, warmup=2, ranks=2)
    assert {(row["memory"], row["transfer_seconds"]) for row in rows} == {(2 * 4321, 0.125)}
    assert closed.pop()
    del runs[len(runs) // 2 :]
    queries = read_queries(inputs["queries"])
    assert runs == [*queries[:2], *queries], "two queries to warm up, then the round"


@pytest.mark.parametrize(("changes", "dirty"), [("", False), (" M kernels/graph.py", True)])
def test_a_number_says_whether_its_code_is_committed(monkeypatch, changes, dirty):
    def git(command, **_):
        said = "c0ffee\n" if "rev-parse" in command else changes
        return subprocess.CompletedProcess(command, 0, said)

    monkeypatch.setattr(provenances.subprocess, "run", git)
    here = provenance("cpu")
    assert (here["commit"], here["dirty"]) == ("c0ffee", dirty)


def test_only_tracked_files_beside_results_make_code_uncommitted(tmp_path, monkeypatch):
    def git(*arguments):
        identity = ["-c", "user.name=A", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def dirty():
        return provenance("cpu")["dirty"]

    for folder in ("workflow", "kernels", "results"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file").write_text("a")
    (tmp_path / "workflow/provenance.py").write_text("a")
    monkeypatch.setattr(provenances, "__file__", str(tmp_path / "workflow/provenance.py"))
    git("init")
    git("add", "-f", ".")
    git("commit", "-m", "all")
    assert not dirty() and re.fullmatch("[0-9a-f]{40}", provenance("cpu")["commit"])
    (tmp_path / "kernels/notes").write_text("untracked")
    (tmp_path / "results/file").write_text("b")
    assert not dirty()
    (tmp_path / "kernels/file").write_text("b")
    assert dirty()
    # Installed within somebody's repository, or run by a hook of another.
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/provenance.py").write_text("a")
    with monkeypatch.context() as installed:
        installed.setattr(provenances, "__file__", str(tmp_path / "lib/provenance.py"))
        assert provenance("cpu")["commit"] == "unknown" and dirty()
    commit = provenance("cpu")["commit"]
    subprocess.run(["git", "init", tmp_path / "lib"], check=True, capture_output=True)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "lib/.git"))
    assert provenance("cpu")["commit"] == commit


def test_a_number_says_its_processor_as_the_system_names_it(monkeypatch):
    told = "processor : 0\nvendor_id : V\nmodel name : Example: CPU 7\nmodel name : Another\n"
    monkeypatch.setattr(provenances.Path, "read_text", lambda path: told if str(path) == "/proc/cpuinfo" else "")
    assert provenances._cpu() == "Example: CPU 7"
    monkeypatch.setattr(provenances.platform, "processor", lambda: "")
    monkeypatch.setattr(provenances.platform, "machine", lambda: "arm64")
    monkeypatch.setattr(provenances.Path, "read_text", lambda path: "no name of a model\n")
    assert provenances._cpu() == "arm64"
    monkeypatch.setattr(provenances.platform, "processor", lambda: "M7")
    assert provenances._cpu() == "M7"


def test_numbers_of_several_ranks_say_every_host_and_its_devices(monkeypatch):
    class Three(Ranks):
        def each(self, value):
            return [value, ("other", "GPU 7"), value]

    here = provenance("cpu", Three(size=3))
    assert here["hosts"] == f"{here['host']}: 2 x {here['cpu']}; other: 1 x GPU 7" and here["mpi"] == ""
    assert "hosts" not in provenance("cpu", Ranks())
    assert provenance("cpu", Three(size=2))["hosts"]
    monkeypatch.setattr("saitan.cuda.describe", lambda: {"gpu": "GPU 9"})
    here = provenance("cuda", Three(size=3))
    assert here["hosts"] == f"{here['host']}: 2 x GPU 9; other: 1 x GPU 7"


def test_code_in_no_checkout_is_unknown(tmp_path, monkeypatch):
    monkeypatch.setattr(provenances, "__file__", str(tmp_path / "provenance.py"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    here = provenance("cpu")
    assert (here["commit"], here["dirty"]) == ("unknown", True)


@pytest.mark.parametrize("error", [OSError("no git"), subprocess.CalledProcessError(128, "git")])
def test_code_outside_a_checkout_is_never_called_clean(monkeypatch, error):
    def refuse(*_, **__):
        raise error

    monkeypatch.setattr(provenances.subprocess, "run", refuse)
    here = provenance("cpu")
    assert (here["commit"], here["dirty"]) == ("unknown", True)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_a_measured_point_costs_little_beside_the_time_it_measures(inputs, tmp_path):
    """1.5 s of an idle machine, imports included, once Numba's cache is there.

    In processor time, with a margin: neighbours on a busy machine slow a process down without being charged for it.
    """
    settings = {**SETTINGS, "variant": "conventional", "max_rounds": 1}
    output = tmp_path / "a.parquet"
    command = [sys.executable, "-m", "saitan.workflow.measure", "--settings", json.dumps(settings), "--cores", "1"]
    command += [part for name, path in inputs.items() for part in (f"--{name}", str(path))]

    def overhead():
        before, started = cpu_seconds(), time.perf_counter()
        subprocess.run([*command, "--output", str(output)], cwd=ROOT, check=True, capture_output=True)
        spent, wall = cpu_seconds() - before, time.perf_counter() - started
        return min(spent, wall) - sum(row["total_seconds"] for row in pq.read_table(output).to_pylist())

    overhead()
    assert min(overhead(), overhead()) < 2.5


def cut(content):
    return content[: len(content) // 2]


def flip(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0x55]) + content[middle + 1 :]


@pytest.mark.parametrize("damaged", [cut, flip, lambda content: bytes(len(content)), lambda _: b""])
def test_damaged_queries_and_references_are_one_line(tmp_path, damaged):
    queries, reference = tmp_path / "a.queries.json", tmp_path / "a.reference.npz"
    write_queries([[1, 2], [3, 4]], queries)
    write_reference(Reference("dijkstra", {"distances": np.arange(1000)}), reference)
    for path, read in ((queries, read_queries), (reference, read_reference)):
        path.write_bytes(damaged(path.read_bytes()))
        with pytest.raises(Failure, match=rf"{path.name}: cannot be read: .*; remove it and run again"):
            read(path)


@pytest.mark.parametrize("content", ["[]", "7", "[1]", '{"queries": []}', '{"identity": "a"}'])
def test_queries_are_a_list_that_is_not_empty(tmp_path, content):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(Failure, match=r"a\.json: cannot be read: no list of queries; remove it and run again"):
        read_queries(tmp_path / "a.json")


ONES = np.ones(2)


@pytest.mark.parametrize(
    ("function", "gives", "says"),
    [
        *(
            ("queries", wrong, "queries of sssp are .*: a list of at least one JSON value is right")
            for wrong in (None, [], (1, 2))
        ),
        (
            "queries",
            [np.int64(1)],
            r"queries of sssp are \[.*1.*\]: a list of at least one JSON value is right: int or float makes one of a"
            " number of NumPy's",
        ),
        ("queries", np.arange(2), "queries of sssp are .*: a list of at least one JSON value is right"),
        ("reference", (1, 2), r"reference of sssp is \(1, 2\): a Reference, or None, is right"),
        ("reference", Reference("by", [1]), r"reference of sssp has arrays \[1\]: a dict of names and arrays is right"),
        ("reference", Reference(None, {}), r"reference of sssp is by None: the solver's name is right"),
        ("reference", Reference("by", {1: ONES}), r"reference of sssp has an array named 1: a text is right"),
        *(
            (
                "reference",
                Reference("by", {"a": ONES, "b": wrong}),
                "reference of sssp has b .*: an array of numbers is right",
            )
            for wrong in (None, [1, [2]], np.array([None]), np.array([1, "a"], object))
        ),
        *(
            (
                "reference",
                Reference("by", {"a": ONES}, rows),
                "reference of sssp has rows .*: an array of ascending numbers of rows is right",
            )
            for rows in (
                [0],
                ONES,
                np.array([1, 0]),
                np.array([0, 0]),
                np.array([-1]),
                np.array([[0]]),
                np.array([True]),
            )
        ),
    ],
)
def test_queries_and_references_that_are_none_are_one_line(inputs, tmp_path, monkeypatch, function, gives, says):
    monkeypatch.setattr(problem("sssp"), function, lambda *_: gives)
    settings = {"problem": "sssp", "instance": {}, "queries": 1, "seed": 1}
    given = {"graph": inputs["graph"], "array": None, "identity": None}
    places = {name: tmp_path / name for name in ("queries", "reference")}
    with pytest.raises(Failure, match=f"^{says}$"):
        draw(SimpleNamespace(settings=json.dumps(settings), **given, **places))
    assert not list(tmp_path.iterdir())


def test_queries_and_reference_say_what_they_are_made_for(tmp_path, inputs):
    assert {instance_identity(inputs[name]) for name in ("queries", "reference")} == {"drawn"}
    none = tmp_path / "none.npz"
    write_reference(None, none, "drawn")
    assert instance_identity(none) == "drawn" and read_reference(none) is None
    former = tmp_path / "former.json"
    former.write_text("[1, 2]")
    np.savez(none)
    assert {instance_identity(former), instance_identity(none)} == {None}
    for file in (none, former):
        file.write_bytes(file.read_bytes()[:4])
        with pytest.raises(Failure, match="cannot be read"):
            instance_identity(file)


def test_an_array_is_read_from_a_file_or_a_kept_answer(tmp_path):
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.save(tmp_path / "a.npy", values)
    assert np.array_equal(read_array(tmp_path / "a.npy"), values)
    with AnswerWriter(tmp_path, ["d"], {}) as sink:
        sink(Block("d", 0, values))
    assert np.array_equal(read_array(tmp_path / "d.parquet"), values)
    (tmp_path / "b.npy").write_bytes(b"no array")
    with pytest.raises(Failure, match=r"b\.npy: .*; remove it and run the same command again$") as refused:
        read_array(tmp_path / "b.npy")
    assert "not a kept answer" not in str(refused.value)
