import shutil
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from samples import seconds, write_samples

from saitan.problem import problem
from saitan.workflow.bests import parameters_of
from saitan.workflow.config_model import Experiment
from saitan.workflow.parquet_files import described, identity_in, identity_of_csv, read_rows
from saitan.workflow.published import Published, beside_ours, printed_points, read_published
from saitan.workflow.step import Failure
from saitan.workflow.tabulate import TablePlan, _write, read_plan, tabulate
from saitan.workflow.views import VIEWS

CONFIG = Path(__file__).parents[2] / "config"
PRINTED = {
    "graphs": {"kanto": 1000, "bay": 300},
    "experiments": {
        "fig": {
            "origin": "Somebody, Fig 1",
            "quantities": [
                {"models": "kanto", "variant": "adaptive", "quantity": "time", "value": 4},
                {"graph": "ours", "variant": "adaptive", "quantity": "time", "value": 5},
                {"models": "bay", "quantity": "time", "value": 10},
                {"variant": "tiled", "n": 32, "quantity": "time", "value": 7},
                {"models": "kanto", "quantity": "none", "value": 0},
            ],
            "points": [{"models": "kanto", "x": 1, "y": 2}, {"models": "bay", "x": 3, "y": 4}],
        },
        "dense": {
            "origin": "Somebody, Fig 2",
            "instance": {"size": "any", "dtype": "int32"},
            "quantities": [{"models": "kanto", "quantity": "time", "n": 32, "value": 4}],
            "points": [{"models": "kanto", "n": 32, "y": 4}],
        },
    },
}
MODELS = {"ours": "kanto", "sister": "kanto", "small": "kanto", "shore": "bay"}
VERTICES = {"ours": 1000, "sister": 1019, "small": 979, "shore": 300}


def row(graph, variant="adaptive", quantity="time", **more):
    return {"graph": graph, "variant": variant, "quantity": quantity, "ours": 2.0, **more}


# Of an instance's parameters.
DEFAULTS = {"sources": 0, "n": 16, "size": 1, "dtype": "float32"}


def beside(*rows, experiment="fig"):
    published = Published.model_validate(PRINTED)
    table = beside_ours(pd.DataFrame(rows), experiment, published, MODELS, VERTICES, DEFAULTS)
    return [
        (None if pd.isna(paper) else paper, None if pd.isna(r) else r)
        for paper, r in table[["paper", "over_paper"]].values
    ]


def test_every_key_of_a_printed_number_must_fit_and_the_first_that_does_counts():
    assert beside(
        row("ours"), row("ours", "conventional"), row("ours", quantity="phases"), row("shore", "any"), row("alien")
    ) == [(4, 0.5), (None, None), (None, None), (10, 0.2), (None, None)]


def test_a_printed_number_is_of_the_whole_answer():
    assert beside(row("ours", sources=32), row("ours", sources=0)) == [(None, None), (4, 0.5)]
    published = Published.model_validate(PRINTED)
    figure = pd.DataFrame({"graph": ["ours", "sister", "sister"], "sources": [32, 32, 0], "x": 1})
    points = printed_points("fig", published, MODELS, figure, VERTICES, DEFAULTS)
    assert points["graph"].to_list() == ["sister"]


def test_a_printed_number_names_other_parameters_that_it_is_of():
    like = {"n": 32, "size": 9, "dtype": "int32", "sources": 0}
    rows = [row("ours", **(like | other)) for other in ({}, {"dtype": "float32"}, {"n": 16}, {"sources": 1})]
    assert beside(*rows, experiment="dense") == [(4, 0.5), (None, None), (None, None), (None, None)]
    published = Published.model_validate(PRINTED)
    for other, drawn in (({"n": 16}, 1), ({"dtype": "float32"}, 0), ({"sources": 1}, 0)):
        figure = pd.DataFrame([{"graph": "ours", **like, **other}])
        assert len(printed_points("dense", published, MODELS, figure, VERTICES, DEFAULTS)) == drawn


def test_a_ratio_is_left_out_where_the_size_differs():
    # Within two percent, and more than that.
    assert beside(row("sister"), row("small")) == [(4, 0.5), (4, None)]


def test_numbers_without_a_graph():
    assert beside(row("no-graph", "tiled", n=32), row("no-graph", "tiled", n=64)) == [(7, 2 / 7), (None, None)]
    # A row without the parameter is no row of that number.
    assert beside(row("no-graph", "tiled")) == [(None, None)]


def test_a_swept_ratio_stays_beside_the_papers():
    rows = pd.DataFrame([row("ours", ratio=ratio) for ratio in ("0:1", "1:3")])
    table = beside_ours(rows, "fig", Published.model_validate(PRINTED), MODELS, VERTICES, DEFAULTS)
    assert table["ratio"].tolist() == ["0:1", "1:3"] and parameters_of(table) == ["ratio"]


def test_a_printed_zero_has_no_ratio():
    assert beside(row("ours", quantity="none")) == [(0, None)]


def test_an_experiment_of_which_nothing_is_printed():
    table = beside_ours(
        pd.DataFrame([row("ours")]), "other", Published.model_validate(PRINTED), MODELS, VERTICES, DEFAULTS
    )
    assert table[["paper", "over_paper"]].isna().all(axis=None)


def test_points_go_to_every_graph_that_stands_for_the_papers():
    published = Published.model_validate(PRINTED)
    figure = pd.DataFrame({"graph": ["ours", "ours", "sister", "alien"], "x": 1})
    points = printed_points("fig", published, MODELS, figure, VERTICES, DEFAULTS)
    point = {"x": 1, "y": 2, "source": "paper"}
    assert points.to_dict("records") == [point | {"graph": "ours"}, point | {"graph": "sister"}]
    without = printed_points("fig", published, MODELS, pd.DataFrame({"x": [1]}), VERTICES, DEFAULTS)
    assert without.to_dict("records") == [point, {"x": 3, "y": 4, "source": "paper"}]
    assert printed_points("other", published, MODELS, figure, VERTICES, DEFAULTS).empty


def test_the_papers_own_graph_says_how_many_vertices_a_point_has():
    entry = {"origin": "O", "points": [{"models": "kanto", "y": 2}, {"models": "kanto", "vertices": 7, "y": 3}]}
    published = Published.model_validate({**PRINTED, "experiments": {"own": entry}})
    size = published.graphs["kanto"]
    for column, vertices in (("vertices", [size, 7]), ("arcs", [None, 7])):
        figure = pd.DataFrame({"graph": ["ours"], column: 1})
        points = printed_points("own", published, MODELS, figure, VERTICES, DEFAULTS)
        assert [None if pd.isna(one) else one for one in points["vertices"]] == vertices
    # One that names no graph of the paper's has no size.
    alone = Published.model_validate({**PRINTED, "experiments": {"own": {"origin": "O", "points": [{"y": 4}]}}})
    points = printed_points("own", alone, {}, pd.DataFrame({"graph": ["alien"], "vertices": 1}), {}, DEFAULTS)
    assert points.to_dict("records") == [{"y": 4, "graph": "alien", "source": "paper"}]


def test_a_point_that_names_a_graph_goes_to_that_one_alone():
    figure = pd.DataFrame({"graph": ["ours", "sister", "alien", "other"], "x": 1})

    def drawn(**named):
        entry = {"origin": "O", "points": [{**named, "x": 1, "y": 2}]}
        published = Published.model_validate({**PRINTED, "experiments": {"own": entry}})
        points = printed_points("own", published, MODELS, figure, VERTICES, DEFAULTS)
        return points["graph"].tolist() if len(points) else []

    assert drawn(graph="alien") == ["alien"] and drawn(graph="ours") == ["ours"] and drawn(graph="absent") == []
    assert drawn(graph="ours", models="kanto") == ["ours"] and drawn(graph="ours", models="bay") == []
    assert drawn(graph="any") == ["ours", "sister", "alien", "other"] and drawn() == ["alien", "other"]


def test_a_point_on_a_graph_of_another_size_says_so():
    published = Published.model_validate({**PRINTED, "graphs": {"kanto": 1427876, "bay": 300}})
    figure = pd.DataFrame({"graph": ["ours", "shore"], "x": 1})
    points = printed_points("fig", published, MODELS, figure, VERTICES, DEFAULTS)
    assert dict(zip(points["graph"], points["source"], strict=True)) == {
        "ours": "paper, 1.43 M vertices",
        "shore": "paper",
    }


def test_the_committed_file_names_experiments_graphs_and_quantities_that_exist():
    published = read_published(CONFIG / "published.yaml")
    runs = [yaml.safe_load(path.read_text()).get("experiments", {}) for path in CONFIG.glob("*.yaml")]
    assert published.experiments.keys() <= {name for run in runs for name in run}
    problems = {
        name: experiment.get("problem") for run in runs for name, experiment in run.items() if "problem" in experiment
    }
    for name, printed in published.experiments.items():
        assert not printed.instance or printed.instance.keys() <= problem(problems[name]).INSTANCE.keys()
    graphs = yaml.safe_load((CONFIG / "graphs.yaml").read_text())
    assert {entry["models"] for entry in graphs.values() if "models" in entry} <= published.graphs.keys()
    for printed in published.experiments.values():
        named = [getattr(entry, "models", None) for entry in printed.quantities]
        named += [point.get("models") for point in printed.points]
        assert {name for name in named if name} <= published.graphs.keys()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("graphs: {kanto: 1", r"line 1: expected ',' or '}'"),
        ("graphs: {}\nexperiments: {}\ngraphs: {}\n", r"line 3: the key 'graphs' is there twice"),
        ("", r"line 1: input should be keys with values, not null"),
        ("graphs: {}", r"line 1: experiments: field required"),
        ("{graphs: {kanto: many}, experiments: {}}", r"line 1: graphs\.kanto: input should be a valid integer"),
        ("{graphs: {}, experiments: {}, table: {}}", r"line 1: table: unknown key 'table'"),
        ("{graphs: {}, experiments: {fig: {}}}", r"line 1: experiments\.fig\.origin: field required"),
        (
            "{graphs: {}, experiments: {fig: {origin: X, quantity: []}}}",
            r"line 1: experiments\.fig\.quantity: unknown key 'quantity'; did you mean 'quantities'\?",
        ),
        (
            "{graphs: {}, experiments: {fig: {origin: X, quantities: [{quantity: time}]}}}",
            r"line 1: experiments\.fig\.quantities\.0\.value: field required",
        ),
        (
            "{graphs: {}, experiments: {fig: {origin: X, quantities: [{quantity: time, value: yes}]}}}",
            r"line 1: experiments\.fig\.quantities\.0\.value: a number is right, not true",
        ),
        (
            "{graphs: {}, experiments: {fig: {origin: X, quantities: [{quantity: time, value: -1}]}}}",
            r"line 1: experiments\.fig\.quantities\.0\.value: input should be greater than or equal to 0, not -1",
        ),
        (
            "{graphs: {}, experiments: {fig: {origin: X, quantities: [{quantity: time, value: long}]}}}",
            r"line 1: experiments\.fig\.quantities\.0\.value: input should be a valid number",
        ),
        (
            "graphs: {}\nexperiments:\n  fig:\n    origin: X\n    quantities:\n    - {quantity: time, value: .nan}\n",
            r"line 6: experiments\.fig\.quantities\.0\.value: input should be a finite number, not NaN",
        ),
        (
            "{graphs: {}, experiments: {fig: {origin: X, points: [{x: [1]}]}}}",
            r"line 1: experiments\.fig\.points\.0\.x: input should be bool or int or float or str, not \[1\]",
        ),
        (
            "graphs: {}\nexperiments:\n  fig:\n    origin: X\n    points:\n    - {x: .inf}\n",
            r"line 6: experiments\.fig\.points\.0\.x: input should be bool or int or float or str, not Infinity",
        ),
    ],
)
def test_a_malformed_file_is_one_line(tmp_path, text, says):
    path = tmp_path / "published.yaml"
    path.write_text(text)
    with pytest.raises(Failure, match=rf"published\.yaml: {says}") as caught:
        read_published(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "entry", ["quantities: [{models: b, quantity: time, value: 1}]", "points: [{models: b, x: 1}]"]
)
def test_a_printed_number_of_a_graph_that_is_none_is_one_line(tmp_path, entry):
    path = tmp_path / "published.yaml"
    path.write_text(f"graphs: {{bay: 3}}\nexperiments: {{fig: {{origin: O, {entry}}}}}\n")
    with pytest.raises(
        Failure,
        match=r"published\.yaml: line 2: experiments\.fig\.[a-z]+\.0\.models: unknown graph 'b' \(there are: bay\)",
    ):
        read_published(path)


def test_numbers_without_a_point_are_numbers(tmp_path):
    path = tmp_path / "published.yaml"
    path.write_text(
        "graphs: {}\nexperiments:\n  fig:\n    origin: O\n    instance: {basis: 1e1}\n"
        "    quantities: [{quantity: ratio, bound: 1e-3, value: 2e0}]\n    points: [{bound: 1E-3, ratio: 2}]\n"
    )
    printed = read_published(path).experiments["fig"]
    assert printed.quantities[0].model_dump() == {"quantity": "ratio", "bound": 0.001, "value": 2.0}
    assert printed.points[0]["bound"] == 0.001 and printed.instance == {"basis": 10.0}


def test_what_is_printed_of_a_choice_is_drawn_where_ours_is(tmp_path):
    path = tmp_path / "published.yaml"
    point = "{reuse: true, tasks: 32, order: bfs, ratio: 2}"
    path.write_text(f"graphs: {{}}\nexperiments: {{fig: {{origin: O, points: [{point}]}}}}\n")
    ours = pd.DataFrame({"reuse": [False, True], "tasks": [8, 32], "order": ["dfs", "bfs"], "ratio": [0.5, 1.5]})
    figure = pd.concat([ours, printed_points("fig", read_published(path), {}, ours, {}, {})], ignore_index=True)
    _write(figure, tmp_path / "f", {})
    back = pq.read_table(tmp_path / "f").to_pydict()
    assert back["reuse"] == [False, True, True] and back["tasks"] == [8, 32, 32] and back["ratio"] == [0.5, 1.5, 2.0]
    assert {type(value) for value in back["reuse"]} == {bool} and {type(value) for value in back["tasks"]} == {int}


@given(st.floats(0.5, 2))
@example(0.98)
@example(0.979)
@example(1.02)
@example(1.021)
def test_the_same_size_is_within_two_percent(factor):
    size = round(1000 * factor)
    published = Published.model_validate(PRINTED)
    table = beside_ours(pd.DataFrame([row("ours")]), "fig", published, {"ours": "kanto"}, {"ours": size}, {})
    assert table["over_paper"].isna().iloc[0] == (not 980 <= size <= 1020)


@pytest.mark.parametrize(("view", "counted"), [("summary", True), ("rivals", False)])
def test_a_column_of_a_view_is_no_metric_of_its_name(view, counted, tmp_path, monkeypatch):
    """A ratio to a rival is one of times, and in doubt as they are; that of compression is none."""
    figure = pd.DataFrame({"variant": ["fast"], "ratio": [2.0], "settled": False})
    monkeypatch.setitem(VIEWS, view, lambda experiment, inputs: (pd.DataFrame([row("ours")]), figure))
    (tmp_path / "published.yaml").write_text("{graphs: {}, experiments: {}}")
    (tmp_path / "ceilings.yaml").write_text("{}")
    files = {name: tmp_path / name for name in ("table", "csv", "figure")}
    plan = TablePlan(
        experiment="fig",
        settings=Experiment(title="T", view=view, problem="compression", variants=["fast"], baseline="fast"),
        identity="now",
        published=tmp_path / "published.yaml",
        ceilings=tmp_path / "ceilings.yaml",
        **files,
    )
    tabulate(plan)
    assert ("ratio" in described(files["figure"])["counts"]) is counted


def test_tables_and_figures_are_written_with_the_papers_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("saitan.workflow.tabulate.read_metadata", lambda folder: {"vertices": VERTICES[folder.name]})
    figure = pd.DataFrame({"graph": ["ours"], "x": [5.0], "query": 7})
    monkeypatch.setitem(VIEWS, "graphs", lambda experiment, inputs: (pd.DataFrame([row("ours")]), figure))
    (tmp_path / "published.yaml").write_text(yaml.safe_dump(PRINTED))
    (tmp_path / "ceilings.yaml").write_text("{}")
    plan = TablePlan(
        experiment="fig",
        settings=Experiment(title="T", view="graphs", graphs=["ours"]),
        identity="now",
        models={"ours": "kanto"},
        published=tmp_path / "published.yaml",
        ceilings=tmp_path / "ceilings.yaml",
        graphs=[tmp_path / "ours"],
        table=tmp_path / "t.parquet",
        csv=tmp_path / "t.csv",
        figure=tmp_path / "f.parquet",
    )
    (tmp_path / "plan.json").write_text(plan.model_dump_json())
    tabulate(read_plan(tmp_path / "plan.json"))
    assert pq.read_table(tmp_path / "t.parquet").to_pylist()[0] == {**row("ours"), "paper": 4.0, "over_paper": 0.5}
    assert (
        tmp_path / "t.csv"
    ).read_text() == "graph,variant,quantity,ours,paper,over_paper\nours,adaptive,time,2.0,4.0,0.5\n"
    drawn = pq.read_table(tmp_path / "f.parquet").to_pylist()
    assert [(mark["source"], mark["x"], mark["y"]) for mark in drawn] == [("saitan", 5.0, None), ("paper", 1.0, 2.0)]
    assert identity_in(tmp_path / "t.parquet") == identity_of_csv(tmp_path / "t.csv", tmp_path / "t.parquet") == "now"
    (tmp_path / "t.csv").write_text("graph,variant,quantity,ours,paper,over_paper\nours,adaptive,time,1.0,4.0,0.25\n")
    assert identity_of_csv(tmp_path / "t.csv", tmp_path / "t.parquet") is None
    assert described(tmp_path / "f.parquet")["units"]["seconds"] == "s"
    assert described(tmp_path / "f.parquet")["keys"] == ["graph", "query"]

    def fills_the_disk(table, path, **how):
        Path(path).write_text("half")
        raise OSError

    before = (tmp_path / "t.csv").read_bytes()
    monkeypatch.setattr(pd.DataFrame, "to_csv", fills_the_disk)
    with pytest.raises(OSError):
        tabulate(plan)
    assert (tmp_path / "t.csv").read_bytes() == before


def test_a_csv_says_what_the_page_makes_of_its_table(tmp_path, monkeypatch):
    monkeypatch.setattr("saitan.workflow.tabulate.read_metadata", lambda folder: {"vertices": VERTICES[folder.name]})
    swept = {"infinite": [0, 0.5, None], "n": [64, None, 128], "by": ["tile", 3, None], "reuse": [True, False, None]}
    rows = [row("ours") | dict(zip(swept, values, strict=True)) for values in zip(*swept.values(), strict=True)]
    table = pd.DataFrame(rows, dtype=object).astype({"ours": float})
    monkeypatch.setitem(VIEWS, "graphs", lambda experiment, inputs: (table, table))
    (tmp_path / "published.yaml").write_text("{graphs: {}, experiments: {}}")
    (tmp_path / "ceilings.yaml").write_text("{}")
    names = {"table": "t.parquet", "csv": "t.csv", "figure": "f.parquet"}
    files = {key: tmp_path / name for key, name in (names | {"published": "published.yaml"}).items()}
    settings = Experiment(title="T", view="graphs", graphs=["ours"])
    ceilings, graphs = tmp_path / "ceilings.yaml", [tmp_path / "ours"]
    plan = TablePlan(experiment="fig", settings=settings, identity="now", ceilings=ceilings, graphs=graphs, **files)
    tabulate(plan)
    written = plan.csv.read_text()
    assert written == read_rows(plan.table).to_pandas().to_csv(index=False)
    said = [line[line.index("2.0,") + 4 :] for line in written.splitlines()[1:]]
    assert [text.removesuffix(",,") for text in said] == ["0.0,64,tile,True", "0.5,,3,False", ",128,,"]


def test_a_table_has_no_rows_of_samples_of_another_configuration(tmp_path):
    points = []
    for variant, identity, time in (("conventional", "a", 1.0), ("adaptive", "b", 2.0)):
        path = write_samples(tmp_path / variant, seconds(time), variant=variant, identity=identity)
        points.append({"name": f"fig/cpu/g/{variant}/default", "samples": path, "log": "log", "identity": identity})
    (tmp_path / "published.yaml").write_text("{graphs: {}, experiments: {}}")
    (tmp_path / "ceilings.yaml").write_text("{}")
    plan = TablePlan(
        experiment="fig",
        settings=Experiment(
            title="T", problem="sssp", variants={"conventional": {}, "adaptive": {}}, quantities=["time"]
        ),
        identity="now",
        points=points,
        published=tmp_path / "published.yaml",
        ceilings=tmp_path / "ceilings.yaml",
        table=tmp_path / "t.parquet",
        csv=tmp_path / "t.csv",
        figure=tmp_path / "f.parquet",
    )

    def shown(plan):
        tabulate(plan)
        assert pq.read_table(plan.figure).num_rows == pq.read_table(plan.table).num_rows
        return [(row["variant"], row["ours"]) for row in pq.read_table(plan.table).to_pylist()]

    assert shown(plan) == [("conventional", 1.0), ("adaptive", 2.0)]
    # By hand: the file of one point in the place of another.
    shutil.copy(tmp_path / "conventional", tmp_path / "adaptive")
    assert shown(plan) == [("conventional", 1.0)]
    write_samples(tmp_path / "adaptive", seconds(2.0), variant="adaptive", identity="")
    assert shown(plan) == [("conventional", 1.0)]
    # All that is left is of another configuration.
    assert shown(plan.model_copy(update={"points": plan.points[1:]})) == []


def test_a_plan_of_a_table_that_is_off_is_one_line(tmp_path):
    (tmp_path / "plan.json").write_text('{"experiment": "e"}')
    with pytest.raises(Failure, match=r"plan\.json: settings: field required"):
        read_plan(tmp_path / "plan.json")
    (tmp_path / "plan.json").write_text('{"experiment": "e')
    with pytest.raises(Failure, match=r"plan\.json: invalid JSON: EOF [^']* column 17; remove it and run again$"):
        read_plan(tmp_path / "plan.json")


def test_columns_of_a_table_are_of_one_kind(tmp_path, monkeypatch):
    values = {"n": [1, None, 3], "half": [1, 0.5, None], "order": ["bfs", 3, None], "on": [True, False, None]}
    rows = [row("ours") | {name: column[i] for name, column in values.items()} for i in range(3)]
    columns = {name: pd.Series([row[name] for row in rows], dtype=object) for name in values}
    _write(pd.DataFrame(rows).assign(**columns), tmp_path / "t", {})
    back = pq.read_table(tmp_path / "t").to_pydict()
    assert back["n"] == [1, None, 3] and all(not isinstance(value, float) for value in back["n"])
    assert (
        back["half"] == [1.0, 0.5, None] and back["order"] == ["bfs", "3", None] and back["on"] == [True, False, None]
    )


def test_a_row_has_one_printed_number(tmp_path):
    path = tmp_path / "published.yaml"
    numbers = [
        {"models": "bay", "quantity": "time", "value": 1, "n": 3},
        {"models": "bay", "quantity": "time", "value": 1, "n": 4},
        {"n": 3.0, "quantity": "time", "value": 2, "models": "bay"},
    ]
    for kept in (numbers[:2], numbers):
        path.write_text(
            yaml.safe_dump({"graphs": {"bay": 3}, "experiments": {"fig": {"origin": "me", "quantities": kept}}})
        )
        if kept is not numbers:
            read_published(path)
    with pytest.raises(Failure) as failure:
        read_published(path)
    said = "experiments.fig.quantities.2: for the same row as experiments.fig.quantities.0; a row has one number"
    assert str(failure.value) == f"{path}: line 13: {said}"


@pytest.mark.parametrize("size", [0, -5, 2.5])
def test_a_paper_s_graph_has_vertices(tmp_path, size):
    path = tmp_path / "published.yaml"
    path.write_text(yaml.safe_dump({"graphs": {"bay": size}, "experiments": {}}))
    with pytest.raises(Failure, match=r"graphs\.bay"):
        read_published(path)
