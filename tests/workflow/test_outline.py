"""What the steps after measuring are told of a plan, whole."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from plans import ENTRIES, EXPERIMENT, GPU, KEPT, TROPICAL, WITHOUT, planned

from saitan.workflow import write_plan
from saitan.workflow.arrays import CATALOGUE as ARRAYS
from saitan.workflow.config import load
from saitan.workflow.graphs.catalogue import CATALOGUE
from saitan.workflow.outline import outline, outline_files, table_plan
from saitan.workflow.planning import make
from saitan.workflow.report_plan import (
    LeftOut,
    PlannedAnswer,
    PlannedFigure,
    PlannedGraph,
    PlannedPoint,
    ReportPlan,
    TablePlan,
)

FIGURE = {"mark": "bar", "x": "graph", "y": "seconds"}
EXPERIMENTS = {
    # Named as an experiment whose numbers are printed.
    "suzuki_table1": {**EXPERIMENT, "text": "Words.", "figure": FIGURE},
    "maps": {"title": "Maps", "view": "graphs", "graphs": ["road", "ring"]},
    "kept": KEPT,
    "product": TROPICAL,
    "gone": {**EXPERIMENT, "graphs": ["hidden"]},
}


def made(**changes):
    return planned(EXPERIMENTS, {"title": "A run"}, {"hidden": "no mirror"}, **changes)


def test_the_report_is_told_of_every_experiment_that_shows_something():
    plan = made()
    told = outline(plan)
    assert (told.name, told.title, told.results) == ("run", "A run", Path("results"))
    assert [one.name for one in told.experiments] == ["suzuki_table1", "maps", "kept", "product"]
    first, maps, _, product = told.experiments
    assert (first.title, first.text, first.problem) == ("Tiny", "Words.", "sssp")
    assert (first.variants, first.instance, product.instance) == (["adaptive", "conventional"], [], ["n"])
    assert first.origin.startswith("Suzuki et al., Table 1") and product.origin is None
    assert first.identity == plan.table_identity("suzuki_table1") != maps.identity == plan.table_identity("maps")
    assert (first.quantities, first.compared) == (["time", "mean time", "memory"], None)
    assert first.table == Path("results/run/tables/suzuki_table1.parquet")
    figures = Path("results/run/figures")
    assert first.figure == PlannedFigure(svg=figures / "suzuki_table1.svg", spec=figures / "suzuki_table1.json")
    assert maps.figure is None and maps.problem is None
    assert told.skipped == [LeftOut(what=s.what, reason=s.reason) for s in plan.skipped]
    assert LeftOut(what="graph hidden in gone", reason="no mirror") in told.skipped
    assert told.points == [
        PlannedPoint(name=p.name, identity=p.identity, samples=Path(p.samples), log=Path(p.log)) for p in plan.points
    ]
    assert len(told.points) == 6 + 1 + 2 and len({point.log for point in told.points}) == 9
    assert told.graphs == [
        PlannedGraph(
            name=name,
            title=ENTRIES[name].title,
            folder=Path(f"results/graphs/{name}"),
            synthetic=synthetic,
            identity=plan.graph_identity(name),
        )
        for name, synthetic in (("grid", "generated"), ("ring", "generated"), ("road", None))
    ]
    kept = "results/answers/sssp/cpu/grid/conventional/default/3-4/raw/distances.parquet"
    assert told.answers == [PlannedAnswer(file=Path(kept), identity=plan.kept_identities[kept])]
    assert told.resources == []


def test_the_report_is_told_what_points_are_asked():
    phases = {"x": "phase", "y": ["updated", "seconds"], "color": "query"}
    rivals = {"view": "rivals", "baseline": "adaptive", "quantities": ["phases"]}
    asked = {
        "one": EXPERIMENT | {"queries": 1, "seed": 12345, "measure": {"spread": 0.07, "max_rounds": 1000}},
        "ours": EXPERIMENT | rivals | {"queries": 1500, "seed": 1, "figure": FIGURE | {"y": "ratio"}},
        "levels": EXPERIMENT | {"view": "phases", "column": "updated", "figure": FIGURE | phases},
        "maps": EXPERIMENTS["maps"],
    }
    one, ours, levels, maps = outline(planned(asked, {"measure": {"budget_s": 1.5}})).experiments
    until = "in rounds until the median is known within {} %, 1.5 s have passed, or {} rounds are done."
    assert (levels.phases, levels.columns) == (True, ["updated", "phase", "updated", "seconds", "query"])
    assert (ours.phases, ours.columns) == (False, ["graph", "ratio"]) and one.columns == []
    assert levels.sampling == f"Up to 3 queries, drawn by seed 4, {until.format(2, 50)}"
    assert one.sampling == f"One query, drawn by seed 12345, {until.format(7, '1,000')}"
    assert ours.sampling == f"Up to 1,500 queries, drawn by seed 1, {until.format(2, 50)}"
    assert maps.sampling == ""
    assert (ours.quantities, ours.compared, levels.quantities, levels.compared) == (["phases"], "adaptive", [], None)


def test_the_report_is_told_of_the_arrays_that_are_read():
    given = {"url": "http://host/b.npy", "dtype": "int8", "format": "npy", "title": "B", "synthetic": "drawn"}
    arrays = ARRAYS.validate_python({"a": {"file": "a.raw", "dtype": "float32", "title": "A"}, "b": given, "c": given})
    packed = {"title": "P", "problem": "compression", "variants": ["fast"], "arrays": ["a", "b"]}
    plan = make(load({"experiments": {"packed": packed}}, ENTRIES, arrays), WITHOUT, ENTRIES, arrays)
    assert [(a.name, a.title, a.dtype, str(a.file), a.origin, a.synthetic) for a in outline(plan).arrays] == [
        ("a", "A", "float32", "results/arrays/a.npy", "from the file a.raw", None),
        ("b", "B", "int8", "results/arrays/b.npy", "downloaded", "drawn"),
    ]
    # What is only told of an array measures nothing again.
    renamed = {name: array.model_copy(update={"title": "T", "synthetic": "no"}) for name, array in arrays.items()}
    again = make(load({"experiments": {"packed": packed}}, ENTRIES, renamed), WITHOUT, ENTRIES, renamed)
    assert [point.identity for point in again.points] == [point.identity for point in plan.points]
    assert all(again.unpack_settings(name) == plan.unpack_settings(name) for name in arrays)


def test_the_report_is_told_of_every_job_and_what_it_serves():
    plan = made()
    steps = [(s.what, str(s.output), str(s.log), sorted(map(str, s.serves)), s.last) for s in outline(plan).steps]
    results, run, road = "results", "results/run", "results/graphs/road/vertices.parquet"
    fetched = [
        (f"fetch {file}", f"{results}/downloads/{file}", f"{results}/logs/fetch/{file}.log", [road], False)
        for file in ("road.gr.gz", "road.co.gz")
    ]
    drawn = {
        "sssp/grid/default/3-4": "suzuki_table1, kept",
        "sssp/ring/default/3-4": "suzuki_table1",
        "tropical/no-graph/n~32/8-1": "product",
        "tropical/no-graph/n~64/8-1": "product",
    }
    answer = "sssp/cpu/grid/conventional/default/3-4/raw/distances"

    def job(kind, name, output):
        return (f"{kind} {name}", f"{results}/{output}", f"{results}/logs/{kind}/{name}.log", [], False)

    def asking(where):
        return sorted(
            p.samples for p in plan.points if plan.queries_of(p) == f"{results}/instances/{where}.queries.json"
        )

    assert steps == [
        *fetched,
        job("generate", "grid", "graphs/grid/vertices.parquet"),
        job("generate", "ring", "graphs/ring/vertices.parquet"),
        job("convert", "road", "graphs/road/vertices.parquet"),
        *(
            (
                f"queries of {where} for {readers}",
                f"{results}/instances/{where}.queries.json",
                f"{results}/logs/queries/{where}.log",
                asking(where),
                False,
            )
            for where, readers in drawn.items()
        ),
        job("keep", answer, f"answers/{answer}.parquet"),
        *(
            (f"{rule} {name}", f"{run}/{folder}/{name}.{end}", f"{run}/logs/{rule}/{name}.log", [], True)
            for name, rule, folder, end in (
                ("suzuki_table1", "tabulate", "tables", "parquet"),
                ("suzuki_table1", "draw", "figures", "svg"),
                ("maps", "tabulate", "tables", "parquet"),
                ("kept", "tabulate", "tables", "parquet"),
                ("product", "tabulate", "tables", "parquet"),
            )
        ),
        ("outline", f"{run}/plan.json", f"{run}/logs/outline.log", [], True),
        ("vega", f"{results}/vega.js", f"{results}/logs/vega.log", [], True),
    ]
    assert all(asking(where) for where in drawn)
    # Without a chart there is no script that draws it.
    experiments = plan.config.experiments
    experiments["suzuki_table1"] = experiments["suzuki_table1"].model_copy(update={"figure": None})
    assert {what for what, *_ in steps} ^ {step.what for step in outline(plan).steps} == {"vega", "draw suzuki_table1"}


def test_a_file_of_two_graphs_is_fetched_once_and_serves_both():
    described = {"title": "O", "url": "http://host/own.gr", "format": "dimacs"}
    entries = CATALOGUE.validate_python({"one": described, "two": described | {"drop_loops": True}})
    config = load({"name": "run", "experiments": {"tiny": EXPERIMENT | {"graphs": ["one", "two"]}}}, entries)
    (fetch, *rest) = outline(make(config, WITHOUT, entries)).steps
    assert fetch.what == "fetch own.gr" and not any(step.what == fetch.what for step in rest)
    assert [str(file) for file in fetch.serves] == [
        f"results/graphs/{name}/vertices.parquet" for name in ("one", "two")
    ]


def test_compiled_kernels_are_jobs_where_something_is_measured_on_a_gpu():
    plan = made(machine=GPU)
    told = outline(plan)
    compiled = [step for step in told.steps if step.what.startswith("compile ")]
    assert [str(step.output) for step in compiled] == plan.needed_cubins != []
    first = compiled[0]
    assert first.what == f"compile {str(first.output).removeprefix('results/cubins/').removesuffix('.cubin')}"
    assert str(first.log) == f"results/logs/{first.what.replace(' ', '/')}.log"
    assert [str(path) for path in told.resources] == plan.resources and len(plan.resources) == len(compiled)


def test_some_experiments_have_their_points_and_no_jobs():
    told = outline(made(), only={"kept", "gone"})
    assert [one.name for one in told.experiments] == ["kept"] and told.steps == []
    assert [point.experiment for point in told.points] == ["kept"]


def test_a_table_is_told_what_it_is_made_of():
    plan = made()
    told = table_plan(plan, "suzuki_table1")
    assert told.settings == plan.config.experiments["suzuki_table1"]
    assert (told.experiment, told.identity) == ("suzuki_table1", plan.table_identity("suzuki_table1"))
    assert told.models == {"ring": "kanto"}
    points = plan.points_of("suzuki_table1")
    assert [(p.samples, p.identity) for p in told.points] == [(Path(p.samples), p.identity) for p in points] and points
    assert told.graphs == [Path("results/graphs/grid"), Path("results/graphs/ring")]
    assert (told.published, told.ceilings) == (Path("config/published.yaml"), Path("config/ceilings.yaml"))
    tables = Path("results/run/tables")
    ends = ("parquet", "csv", "figure.parquet")
    assert [told.table, told.csv, told.figure] == [tables / f"suzuki_table1.{end}" for end in ends]


def test_the_files_of_a_run_hold_its_outline_and_its_tables():
    plan = made()
    files = outline_files(plan)
    tables = [f"results/run/plan/{name}.json" for name in EXPERIMENTS]
    assert list(files) == ["results/run/plan.json", *tables]
    assert ReportPlan.model_validate_json(files["results/run/plan.json"]) == outline(plan)
    for name in EXPERIMENTS:
        assert TablePlan.model_validate_json(files[f"results/run/plan/{name}.json"]) == table_plan(plan, name)


def told(tmp_path, files):
    (tmp_path / "told.json").write_text(json.dumps(files))
    return tmp_path / "told.json"


def test_outlines_are_utf_8_whatever_the_locale(tmp_path):
    file = tmp_path / "plan.json"
    command = [sys.executable, "-m", "saitan.workflow.write_plan", "--told", told(tmp_path, {str(file): "\xe9"})]
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([*command, "--log", tmp_path / "log"], check=True, env=os.environ | plain)
    assert file.read_bytes() == "é".encode() and (tmp_path / "log").read_text() == "began\ndone\n"


def test_no_room_for_an_outline_is_one_line(tmp_path, monkeypatch, capsys):
    def full(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    monkeypatch.setattr("saitan.workflow.write_plan.beside", full)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    listed = told(tmp_path, {"results/plan.json": ""})
    monkeypatch.setattr(sys, "argv", ["write_plan", "--told", str(listed), "--log", str(tmp_path / "log")])
    with pytest.raises(SystemExit, match="1"):
        write_plan.main()
    line = "error: the disk is full (results/plan.json): free some space and run the same command again"
    assert capsys.readouterr().err == f"{line}\n" and (tmp_path / "log").read_text() == f"began\n{line}\n"
