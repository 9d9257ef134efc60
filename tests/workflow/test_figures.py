import contextlib
import itertools
import json
import re
import resource
import subprocess
import sys
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import vl_convert
import yaml
from scene import number, scene
from tiny import ROOT

from saitan.workflow import figure_data, vega
from saitan.workflow.axes import axis_of
from saitan.workflow.figure_data import DOUBTFUL, FEW_MARKERS
from saitan.workflow.figures import Drawn, draw, specification
from saitan.workflow.numbers import NONE, typeset
from saitan.workflow.step import Failure
from saitan.workflow.vega import identity_of, theme


def figure(**changes):
    given = {"mark": "line", "x": "phase", "y": ["seconds"], "title": "Time per phase"} | changes
    return Drawn.model_validate(given)


def phases(**changes):
    data = {
        "backend": np.repeat(["cpu", "cuda"], 6),
        "variant": np.tile(np.repeat(["adaptive", "selection"], 3), 2),
        "phase": np.tile([1, 2, 3], 4),
        "seconds": np.linspace(1e-5, 1e-3, 12),
        "updated": np.arange(12) * 1000,
        "source": "saitan",
    }
    return pd.DataFrame(data | changes)


def of_kind(node, key):
    """Every value of a key, anywhere in a specification."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name == key:
                yield value
            if name != "datasets":
                yield from of_kind(value, key)
    elif isinstance(node, list):
        for value in node:
            yield from of_kind(value, key)


def scale(drawn, channel):
    return next(of_kind(drawn, channel))["scale"]


@pytest.mark.parametrize(
    ("limit", "told"), [(16 * 10**9, "16.0"), (2**36, "68.7"), (2**36 + 1, None), (resource.RLIM_INFINITY, None)]
)
def test_an_address_space_in_which_no_chart_can_be_drawn_is_told(monkeypatch, tmp_path, limit, told):
    """What draws would end the process without a word of ours."""
    monkeypatch.setattr("resource.getrlimit", lambda kind: {resource.RLIMIT_AS: (limit, -1)}[kind])
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda **_: "script")
    says = rf"^the address space is limited to {told} GB \(ulimit -v\), and what draws charts reserves 69 GB of it: "
    vega.charts_script.cache_clear()
    with pytest.raises(Failure, match=says) if told else contextlib.nullcontext():
        assert vega.charts_script() == f"script\n{vega.SCRIPT_END}\n"
    vega.charts_script.cache_clear()
    places = {name: tmp_path / name for name in ("data", "svg", "spec")}
    with pytest.raises(Failure, match=says if told else "cannot be read: "):
        draw(SimpleNamespace(figure=figure().model_dump_json(), **places))


def test_the_step_writes_a_print_and_a_chart_with_its_data(tmp_path):
    table = pd.concat([phases(), pd.DataFrame([{"phase": 2, "seconds": 5e-4, "updated": 7777, "source": "paper"}])])
    described = {
        b"saitan": json.dumps(
            {"identity": "now", "units": {"seconds": "s"}, "counts": [], "keys": ["backend", "variant"]}
        ).encode()
    }
    data = pa.Table.from_pandas(table).replace_schema_metadata(described)
    pq.write_table(data, tmp_path / "data.parquet")
    asked = figure(
        y=["seconds", "updated"],
        color="variant",
        facet="backend",
        y_log=True,
        x_title="Phase number",
        y_title=["Time (s)", "Updated vertices"],
    )
    command = [
        sys.executable,
        "-m",
        "saitan.workflow.figures",
        "--experiment",
        "e",
        "--figure",
        asked.model_dump_json(),
    ]
    command += ["--data", tmp_path / "data.parquet", "--svg", tmp_path / "e.svg", "--spec", tmp_path / "e.json"]
    subprocess.run(command, check=True)
    root = ET.parse(tmp_path / "e.svg").getroot()
    texts = {element.text for element in root.iter() if element.tag.endswith("text")}
    assert {"Time per phase", "Phase number", "Time", "1 ms", "Updated vertices", "CPU", "GPU", "paper"} <= texts
    assert {"adaptive", "selection"} <= texts
    assert not any("://" in value for element in root.iter() for name, value in element.items() if "href" in name)
    drawn = json.loads((tmp_path / "e.json").read_text())
    (rows,) = drawn["datasets"].values()
    printed = {"x": 2, "y0": 0.0005, "y1": 7777, "facet": "GPU", "source": "paper", "mark": "paper"}
    assert printed in rows
    assert identity_of(tmp_path / "e.json") == "now"
    assert not any("url" in data for data in of_kind(drawn, "data"))


@pytest.mark.parametrize("mark", ["bar", "line"])
@pytest.mark.parametrize("title", ["a\nb", r"c:\u12", "a\u2028b\x85", 'it\'s "quoted" ${x} `y` {z} %d </svg> \\', "\\"])
def test_any_title_is_drawn(title, mark):
    vl_convert = pytest.importorskip("vl_convert")
    titled = {"title": title, "x_title": title, "y_title": [title], "color": "variant"}
    for interactive in (True, False):
        drawn = specification(figure(mark=mark, **titled), phases(), interactive=interactive)
        svg = vl_convert.vegalite_to_svg(drawn, vl_version=vega.vega_lite_version(), allowed_base_urls=[])
        assert {typeset(title)} <= {element.text for element in ET.fromstring(svg).iter()}


@pytest.mark.parametrize("content", ['{"usermeta"', "\0\0", "[]"])
def test_a_damaged_chart_is_one_line(tmp_path, content):
    (tmp_path / "e.json").write_text(content)
    with pytest.raises(Failure, match=r"e\.json: cannot be read: .*; remove it and run again"):
        identity_of(tmp_path / "e.json")


def test_what_is_printed_does_not_answer_the_pointer(tmp_path, monkeypatch):
    vl_convert = pytest.importorskip("vl_convert")
    taken = []
    monkeypatch.setattr(vl_convert, "vegalite_to_svg", lambda drawn, **_: taken.append(drawn) or "<svg/>")
    described = {b"saitan": json.dumps({"identity": "now", "units": {}, "counts": [], "keys": []}).encode()}
    pq.write_table(pa.Table.from_pandas(phases()).replace_schema_metadata(described), tmp_path / "data.parquet")
    places = {"data": tmp_path / "data.parquet", "svg": tmp_path / "e.svg", "spec": tmp_path / "e.json"}
    draw(SimpleNamespace(figure=figure().model_dump_json(), **places))
    (printed,) = taken
    assert not list(of_kind(printed, "tooltip")) and list(of_kind(json.loads(places["spec"].read_text()), "tooltip"))
    assert places["svg"].read_text() == "<svg/>"


def test_the_same_data_give_the_same_specification():
    assert specification(figure(color="variant"), phases(), interactive=True) == specification(
        figure(color="variant"), phases(), interactive=True
    )


def test_only_the_chart_for_the_screen_answers_the_pointer():
    asked = figure(color="variant")
    interactive, printed = (specification(asked, phases(), interactive=value) for value in (True, False))
    assert {param["bind"] for param in interactive["params"]} == {"legend", "scales"}
    assert list(of_kind(interactive, "tooltip"))
    assert "params" not in printed
    plain = specification(figure(), phases(), interactive=True)
    assert {param["bind"] for param in plain["params"]} == {"scales"}
    assert not list(of_kind(printed, "tooltip"))


def test_the_script_is_of_the_version_that_charts_are_written_in(tmp_path, monkeypatch):
    monkeypatch.setattr("vl_convert.javascript_bundle", lambda vl_version: f"for {vl_version}")
    vega.charts_script.cache_clear()
    vega.write_script(SimpleNamespace(output=tmp_path / "vega.js"))
    vega.charts_script.cache_clear()
    assert (tmp_path / "vega.js").read_text() == f"for {vega.vega_lite_version()}\n{vega.SCRIPT_END}\n"


def test_what_is_printed_is_on_white_and_a_dark_page_shows_through():
    assert specification(figure(), phases(), interactive=False)["config"]["background"] == "white"
    assert theme(dark=True)["background"] == "transparent"


@pytest.mark.parametrize(
    ("values", "kind"), [(["a", "b"], "O"), ([True, False], "O"), ([1, 2], "Q"), ([0.5, None], "Q")]
)
def test_words_and_truth_values_stand_beside_each_other_and_numbers_on_a_scale(values, kind):
    assert axis_of("x", pd.Series(values), "X", log=False, bars=False, unit="").kind == kind


@pytest.mark.parametrize(
    ("values", "log", "form"),
    [
        ([1, 2e4], True, ".3~s"),
        ([0.5, 2e4], True, "~g"),
        ([1.65525e-7, 1.65525e-7], False, ".4~g"),
        ([0.5, 2e4], False, ".3~s"),
        ([1e-5, 1], True, ".3~e"),
        # Values that are close, and one alone.
        ([123_456, 123_470], True, ".6~s"),
        ([1.655e-7], True, ".4~e"),
        ([8e-8, 1.66e-7], True, ".3~e"),
        # No prefix is that large.
        ([1, 1e300], True, "~g"),
    ],
)
def test_large_counts_have_prefixes_and_nobody_writes_10m(values, log, form):
    axis = axis_of("y", pd.Series(values), "Y", log=log, bars=False, unit="").axis
    assert f"'{form}'" in axis.labelExpr and "datum.value == 0 ? '0'" in axis.labelExpr


def test_an_axis_with_zeros_is_logarithmic_above_the_least_value():
    drawn = specification(figure(y=["updated"], y_log=True), phases(), interactive=False)
    assert scale(drawn, "y")["type"] == "symlog"
    assert scale(drawn, "y")["constant"] == 1000
    drawn = specification(figure(y_log=True), phases(), interactive=False)
    assert scale(drawn, "y")["type"] == "log"
    absent = axis_of("y", pd.Series([np.nan]), "Updated", log=True, bars=False, unit="")
    assert absent.scale.to_dict()["type"] == "log" and "values" not in absent.axis.to_dict()
    nothing = axis_of("y", pd.Series([0, 0]), "Updated", log=True, bars=False, unit="")
    assert nothing.axis.values == [0, 1] and nothing.scale.constant == 1


@pytest.mark.parametrize("mark", ["point", "line", "bar"])
@pytest.mark.parametrize(
    ("values", "apart"),
    [
        ([0.0, 9.7e-4, 0.99, 2e304, 1e307], [0, 3, 4]),
        ([0.0, 5e-324, 1.0, 1.7e308], [0, 3]),
        ([5e-324, 1e-300, 1.0, 1e300], [0, 3]),
        ([1e-10, 1.0, 1e299], [0, 2]),
        ([0.0, 5e-324, 1e-310], [0, 1, 2]),
        ([5e-324, 1e-310, 1e-305], [0, 1, 2]),
        ([-1e300, 0.0, 1e300], [0, 2]),
        ([1e-5, 1.0, 1e264], [0, 1, 2]),
        ([1e-268, 1.0], [0, 1]),
        ([1e269, 1.7e308], [0, 1]),
    ],
)
def test_a_logarithmic_axis_shows_any_numbers_apart(mark, values, apart):
    """apart: those whose heights differ, in ascending order."""
    table = pd.DataFrame({"x": range(len(values)), "error": values, "source": "saitan"})
    drawn = specification(figure(mark=mark, x="x", y=["error"], y_log=True), table, interactive=False)
    svg = ET.fromstring(vl_convert.vegalite_to_svg(drawn, vl_version=vega.vega_lite_version()))
    shown = {one.get("aria-label"): one for one in svg.iter() if one.get("aria-roledescription") in ("point", "bar")}
    assert len(shown) == len(values)
    where = [re.findall(r"-?\d[-+.e\d]*", one.get("transform") or one.get("d")) for one in shown.values()]
    tops = [float(numbers[1]) for numbers in where]
    assert sorted(tops, reverse=True) == tops and len({tops[place] for place in apart}) == len(apart), tops
    ticks = [one.text for one in svg.iter() if one.get("text-anchor") == "end" and one.text]
    assert len(set(ticks)) >= 2, ticks


def test_a_number_over_a_panel_says_what_it_is():
    drawn = specification(figure(facet="share", color="variant"), phases(share=[0.5, 0.75] * 6), interactive=False)
    assert next(of_kind(drawn, "facet"))["sort"] == ["Share 0.5", "Share 0.75"]


@pytest.mark.parametrize(
    ("mark", "drawn"), [("line", ["line", "point"]), ("step", ["line"]), ("point", ["point"]), ("bar", ["bar"])]
)
def test_a_figure_is_drawn_by_its_mark(mark, drawn):
    marks = list(of_kind(specification(figure(mark=mark), phases(), interactive=False), "mark"))
    assert [one["type"] for one in marks] == drawn
    assert [one["interpolate"] for one in marks if one["type"] == "line"] == (
        [{"line": "linear", "step": "step-after"}[mark]] if "line" in drawn else []
    )


def test_a_row_without_x_is_a_level():
    table = phases(phase=[1, 2, 3, None, None, None] * 2)
    marks = [mark["type"] for mark in of_kind(specification(figure(), table, interactive=False), "mark")]
    assert "rule" in marks
    # It is told apart by what tells the others apart.
    drawn = specification(figure(color="variant"), table, interactive=False)
    (level,) = (layer for layer in of_kind(drawn, "layer") for layer in layer if layer["mark"]["type"] == "rule")
    assert {"y", "color"} <= level["encoding"].keys() and "x" not in level["encoding"]
    marks = [mark["type"] for mark in of_kind(specification(figure(), phases(), interactive=False), "mark")]
    assert "rule" not in marks


@pytest.mark.parametrize("color", ["variant", None])
def test_a_level_beside_bars_goes_from_end_to_end(color):
    """It has no place among the bars of one x."""
    table = pd.DataFrame({"x": [2, 10, None], "variant": ["hybrid", "hybrid", "scipy"], "y": 1.0, "settled": False})
    drawn = specification(
        figure(mark="bar", x="x", y=["y"], color=color), table.assign(source="saitan"), interactive=False
    )
    layers = [layer for layer in drawn["layer"] if "!isValid(datum.x)" in json.dumps(layer["transform"])]
    assert {layer["mark"]["type"] for layer in layers} == {"rule", "point"}
    assert not any("xOffset" in layer["encoding"] for layer in layers)
    assert all("xOffset" in layer["encoding"] for layer in drawn["layer"] if layer not in layers) == (color is not None)


def test_a_printed_number_without_x_stands_where_ours_of_its_colour_is_a_level():
    printed = pd.DataFrame(
        [{"variant": name, "seconds": 5e-4, "source": "paper"} for name in ("adaptive", "selection")]
    )
    levels = phases(phase=[1, 2, 3, None, None, None] * 2)

    def drawn(figure, table):
        data = figure_data.tidy(figure, pd.concat([table, printed]))
        return data[data["source"] == "paper"]

    assert drawn(figure(color="variant"), levels)["color"].tolist() == ["selection"]
    assert drawn(figure(color="variant"), phases()).empty
    assert len(drawn(figure(), levels)) == 2 and drawn(figure(), phases()).empty


@pytest.mark.parametrize("kind", ["Int64", "float64", "object"])
def test_nothing_is_a_colour_that_printed_numbers_share_with_levels(kind):
    """Where the column is made of objects, nothing has more than one form, and those are not equal."""
    table = pd.DataFrame(
        {
            "tile": pd.Series([8, 8, None, None], dtype=object).astype(kind),
            "phase": [1, 2, None, None],
            "seconds": [1.0, 2.0, 3.0, 4.0],
            "source": ["saitan"] * 3 + ["paper"],
        }
    )
    if kind == "object":
        table["tile"] = [8, 8, None, np.nan]
    data = figure_data.tidy(figure(color="tile"), table)
    assert data["y0"].tolist() == [1, 2, 3, 4]
    # What is printed without a colour has none in the legend.
    assert data["color"].tolist()[:3] == [8, 8, NONE] and pd.isna(data["color"].iloc[3])


def test_a_mark_on_the_frame_is_drawn_whole():
    told = phases(settled=False, disturbed="")
    told.loc[told["variant"] == "selection", "phase"] = np.nan
    drawn = specification(figure(color="variant"), told, interactive=True)
    marks = [mark for mark in of_kind(drawn, "mark") if "clip" in mark]
    assert [mark["clip"] for mark in marks] == [False] and marks[0]["type"] == "point"


@pytest.mark.parametrize("log", [False, True])
def test_an_axis_has_room_for_half_a_mark_at_its_ends(log):
    """Beyond its frame a chart that can be moved shows nothing."""
    data = phases(settled=False)
    drawn = specification(figure(color="variant", x_log=log, y_log=log), data, interactive=True)
    marks = [mark for mark in of_kind(drawn, "mark") if isinstance(mark, dict) and mark["type"] == "point"]
    halves = [(mark["size"] / np.pi) ** 0.5 + mark.get("strokeWidth", 0) / 2 for mark in marks]
    assert len(halves) == 2 and all(scale(drawn, axis)["padding"] > max(halves) for axis in "xy")


@pytest.mark.parametrize("facet", [None, "backend"])
@pytest.mark.parametrize("y", [["seconds"], ["seconds", "updated"]])
def test_names_on_an_axis_are_turned_where_they_have_no_room(facet, y):
    vl_convert = pytest.importorskip("vl_convert")

    def turned(scaled):
        drawn = specification(figure(mark="bar", x="variant", y=y, facet=facet), phases(), interactive=True)
        for panel in [node for node in [drawn, *of_kind(drawn, "spec"), *drawn.get("vconcat", [])] if "width" in node]:
            panel["width"] *= scaled
        return "rotate(-40" in vl_convert.vegalite_to_svg(drawn, vl_version=vega.vega_lite_version())

    assert not turned(1) and turned(0.1)


@pytest.mark.parametrize("mark", ["line", "bar", "point"])
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("dtype", ["Float64", "Int64", "float64", "object", "boolean", "string"])
def test_levels_alone_are_drawn_where_no_point_has_x(mark, log, dtype):
    """As where the variants that have the parameter were all left out."""
    table = pd.DataFrame({"variant": ["a", "b"], "seconds": [1e-3, 2e-3], "source": "saitan", "settled": True})
    table["level"] = pd.Series([pd.NA, pd.NA] if dtype[0].isupper() else [None, None], dtype=dtype)
    chosen = figure(mark=mark, x="level", color="variant", x_log=log, keys=["variant", "level"])
    [panel] = scene(specification(chosen, table, interactive=True)).panels
    levels = [mark for mark in panel.marks if mark.seen and mark.kind == "rule" and mark.y == mark.y2]
    assert len({level.y for level in levels}) == 2 and all(abs(one.x - one.x2) == panel.width for one in levels)


def test_infinite_and_missing_values_are_left_out():
    table = phases(seconds=[np.inf, np.nan, 0.25, *[1.0] * 9])
    text = json.dumps(specification(figure(), table, interactive=True), allow_nan=False)
    assert '"y0": 0.25' in text


def test_of_a_paper_s_numbers_for_a_larger_graph_those_beyond_twice_ours_are_left_out():
    printed = pd.DataFrame({"phase": [1, 2, 3], "seconds": [2e-3, 2.001e-3, 1e-4], "updated": [1, 2, 40000]})
    table = pd.concat([phases(), printed.assign(source="paper, 64 M vertices")])

    def kept(**changes):
        data = figure_data.tidy(figure(**changes), table)
        return data.loc[data["source"] != "saitan", "x"].tolist()

    assert kept() == [1, 3]
    assert kept(y_log=True) == [1, 2, 3]
    # A row with one number of two stays.
    assert kept(y=["seconds", "updated"]) == [1, 2, 3]
    assert kept(y=["updated"]) == [1, 2]


@pytest.mark.parametrize("values", [2, 8, 9, 30])
def test_every_series_has_a_colour_of_its_own(values):
    table = pd.DataFrame({"x": [1, 2] * values, "y": 1.0, "of": np.repeat([f"g{i}" for i in range(values)], 2)})
    drawn = specification(
        figure(x="x", y=["y"], color="of"), table.assign(source="saitan", y=range(2 * values)), interactive=False
    )
    svg = vl_convert.vegalite_to_svg(drawn, vl_version=vega.vega_lite_version())
    lines = [one for one in ET.fromstring(svg).iter() if one.get("aria-roledescription") == "line mark"]
    assert len({one.get("stroke") for one in lines}) == len(lines) == values


@pytest.mark.parametrize("mark", ["bar", "line", "step", "point"])
@pytest.mark.parametrize("interactive", [True, False])
@pytest.mark.parametrize("values", [[False, True], [True, None], [1.23456789, 2.0], ["a", "b"], [3, 1], [5, None]])
def test_every_mark_of_a_series_has_its_colour(mark, interactive, values):
    table = pd.DataFrame({"n": [1, 1, 2, 2], "reuse": values * 2, "seconds": [1.0, 2.0, 3.0, 4.0], "source": "saitan"})
    drawn = specification(figure(mark=mark, x="n", y=["seconds"], color="reuse"), table, interactive=interactive)
    svg = ET.fromstring(vl_convert.vegalite_to_svg(drawn, vl_version=vega.vega_lite_version()))
    told = {"bar": "fill", "point": "fill", "line mark": "stroke"}
    colours = {one.get(told[kind]) for one in svg.iter() if (kind := one.get("aria-roledescription")) in told}
    # What has no value has a colour too, which the legend has.
    assert len(colours) == len(values) and not colours & {None, "#8a8f98"}
    told = [one.text for one in svg.iter() if one.text]
    assert (NONE in told) == (None in values)
    assert not any(nothing in text for text in told for nothing in ("undefined", "null", "NaN")), told


@pytest.mark.parametrize(
    ("values", "order"), [([6, 273, 100], ["6", "100", "273"]), (["b", "a", "c"], ["b", "a", "c"])]
)
def test_bars_over_numbers_stand_by_size(values, order):
    table = pd.DataFrame({"degree": values, "seconds": [1.0, 2.0, 3.0], "source": "saitan"})
    drawn = specification(figure(mark="bar", x="degree", y=["seconds"]), table, interactive=False)
    svg = ET.fromstring(vl_convert.vegalite_to_svg(drawn, vl_version=vega.vega_lite_version()))
    assert [one.text for one in svg.iter() if one.text in order] == order


def test_facets_of_a_truth_value_say_of_what():
    table = pd.DataFrame({"n": [1, 2] * 2, "reuse": [False, False, True, True], "seconds": 1.0, "source": "saitan"})
    drawn = specification(figure(x="n", facet="reuse"), table, interactive=False)
    assert next(of_kind(drawn, "facet"))["sort"] == ["Reuse false", "Reuse true"]


def test_bars_stand_beside_each_other_in_the_order_of_the_data():
    table = phases().query("phase == 1 and backend == 'cpu'").iloc[::-1]
    drawn = specification(figure(mark="bar", x="backend", color="variant"), table, interactive=False)
    assert next(of_kind(drawn, "xOffset"))["sort"] == ["selection", "adaptive"]


SWEEP = pd.DataFrame(
    {
        "graph": np.repeat(["small", "large"], 6),
        "vertices": np.repeat([10, 1000], 6),
        "variant": np.tile(["fast"] * 2 + ["batched"] * 4, 2),
        "tile": [1, 2, None, None, None, None] * 2,
        "tasks": [None, None, 1, 1, 2, 2] * 2,
        "shared": [None, None, 0.5, 1, 0.5, 1] * 2,
        "seconds": np.linspace(1, 2, 12),
        "source": "saitan",
    }
)
KEYS = ["graph", "variant", "tile", "tasks", "shared"]
DOSES = pd.DataFrame(
    {
        "variant": ["fast", "fast", "slow"],
        "tile": [1, 2, None],
        "updated": [10.0, 20.0, 30.0],
        "seconds": [1.0, 2.0, 3.0],
        "source": "saitan",
        "settled": False,
    }
)


def series(table=SWEEP, **changes):
    asked = figure(**{"x": "vertices", "color": "variant", "keys": KEYS} | changes)
    return figure_data.tidy(asked, table, asked.keys).get("series", pd.Series(dtype=str)).unique().tolist()


def test_points_that_x_and_colour_do_not_tell_apart_have_a_line_each():
    assert series() == ["Tile 1", "Tile 2", *(f"Tasks {t}, Shared {s}" for t in (1, 2) for s in ("0.5", "1"))]
    assert series(facet="tasks") == ["Shared 0.5", "Shared 1", "Tile 1", "Tile 2"]
    # A line leads from graph to graph.
    assert series(SWEEP[SWEEP["tile"].eq(1)]) == []
    drawn = specification(figure(x="vertices", color="variant", keys=KEYS), SWEEP, interactive=True)
    assert [channel["field"] for channel in of_kind(drawn, "detail")] == ["series"]
    assert {"field": "series", "title": "Of", "type": "nominal"} in next(of_kind(drawn, "tooltip"))
    plain = specification(
        figure(x="vertices", color="variant", keys=KEYS), SWEEP[SWEEP["tile"].eq(1)], interactive=True
    )
    assert not list(of_kind(plain, "detail")) and "series" not in json.dumps(plain)


def tooltips(drawn):
    """Titles of what each layer tells the pointer, and what marks say for readers of screens."""
    scene = json.dumps(vl_convert.vegalite_to_scenegraph(drawn, vl_version=vega.vega_lite_version()))
    told = [{one["title"] for one in tooltip} for tooltip in of_kind(drawn, "tooltip")]
    return told, re.findall(r'"description": "(.*?)"', scene)


def test_the_pointer_says_what_point_a_measured_number_on_x_is_of():
    told, _ = tooltips(
        specification(figure(x="updated", color="variant", keys=["variant", "tile"]), DOSES, interactive=True)
    )
    assert {"Point", "Updated", "Variant"} <= told[0]
    data = figure_data.tidy(figure(x="updated", color="variant", keys=["variant", "tile"]), DOSES, ["variant", "tile"])
    assert data["point"].tolist() == ["Tile 1", "Tile 2", ""]
    # A parameter on an axis, or as colour, tells itself.
    for chosen in ({"x": "tile"}, {"x": "updated", "color": "tile"}):
        data = figure_data.tidy(figure(**{"color": "variant"} | chosen), DOSES, ["variant", "tile"])
        assert "point" not in data or "Tile" not in "".join(data["point"])


def test_a_level_speaks_of_no_x():
    told, said = tooltips(
        specification(figure(x="tile", color="variant", keys=["variant", "tile"]), DOSES, interactive=True)
    )
    assert ["Tile" in titles for titles in told].count(False) == 2
    levels = [text for text in said if "Seconds: 3" in text]
    assert levels and not any("Tile" in text or "NaN" in text or "null" in text for text in levels)


@pytest.mark.parametrize(
    ("facet", "names"),
    [
        ("tile", ["Tile 1", "Tile 2", "Tile –"]),
        ("tasks", ["Tasks 1", "Tasks 2", "Tasks –"]),
        ("reuse", ["Reuse true", "Reuse –"]),
        ("mode", ["a", "Mode –"]),
    ],
)
def test_points_without_the_parameter_of_a_facet_have_their_own(facet, names):
    table = SWEEP.assign(reuse=[True] * 2 + [None] * 10, mode=[None] * 6 + ["a"] * 6)
    printed = table.iloc[:1].assign(source="paper", tile=None, tasks=None, reuse=None, mode=None)
    table = pd.concat([printed, table])
    data = figure_data.tidy(figure(x="vertices", color="variant", facet=facet), table)
    assert list(dict.fromkeys(data["facet"])) == names
    ours = data[data["source"] == "saitan"]
    expected = table.iloc[1:].groupby(facet, dropna=False).size()
    assert ours.groupby("facet").size().to_dict() == dict(zip(names, expected, strict=True))
    # What is printed without one holds for all.
    assert data[data["source"] == "paper"]["facet"].tolist() == names


@pytest.mark.parametrize("mark", ["line", "step", "bar", "point"])
@pytest.mark.parametrize("role", ["color", "facet", "x"])
@pytest.mark.parametrize("kind", ["float64", "Int64", "Float64", "object", "string"])
def test_every_point_of_a_parameter_that_some_have_is_drawn(kind, role, mark):
    """In columns as tables are read: whole numbers with missing ones are of a type of their own."""
    table = pd.DataFrame(
        {
            "graph": "one",
            "variant": ["a", "a", "b", "c"],
            "level": pd.Series([10, 2, None, None], dtype=object).astype(kind),
            "seconds": [1.0, 2.0, 3.0, 4.0],
            "source": "saitan",
            "settled": False,
        }
    )
    chosen = {"x": "graph", role: "level"} | ({"color": "variant"} if role == "x" else {})
    asked = figure(mark=mark, keys=["variant", "level"], **chosen)
    drawn = specification(asked, table, interactive=True)
    rows = [row for row in drawn["datasets"]["measured"] if row["source"] == "saitan"]
    assert sorted(row["y0"] for row in rows) == [1, 2, 3, 4]
    # Nothing stands at the place of another one.
    apart = ("x", "facet", "place") if mark == "bar" and role != "x" else ("x", "color", "facet", "y0")
    assert len({tuple(row.get(name) for name in apart) for row in rows}) == 4
    if role == "facet":
        assert [*dict.fromkeys(row["facet"] for row in rows)][-1] == "Level –"
    if mark == "line":
        assert all(row["mark"] == figure_data.DOUBTFUL for row in rows)


@pytest.mark.parametrize("mark", ["line", "bar"])
def test_values_that_differ_little_are_two(mark):
    near = [1.0000001, 1.0000002, 0.30000001]
    table = phases(delta=np.tile(near, 4), phase=np.tile(near, 4))
    drawn = specification(figure(mark=mark, color="delta"), table, interactive=False)
    (domain,) = {tuple(node["domain"]) for node in of_kind(drawn, "scale") if node.get("scheme") == "viridis"}
    assert [*domain] == sorted(near)
    rows = drawn["datasets"]["measured"]
    assert {row["color"] for row in rows} == {row["x"] for row in rows} == {*near}
    facets = specification(figure(mark=mark, facet="delta"), table, interactive=False)["datasets"]["measured"]
    assert {row["facet"] for row in facets} == {f"Delta {value}" for value in near}


def test_rows_without_a_colour_are_named():
    found = series(SWEEP[SWEEP["shared"].ne(1) & SWEEP["tile"].ne(2)], color="tasks")
    assert found == ["Variant fast, Tile 1", "Variant batched, Shared 0.5"]
    assert series(SWEEP[SWEEP["variant"].eq("batched") & SWEEP["shared"].eq(1)], color="tasks") == []


def test_a_curve_is_of_one_point():
    curves = pd.concat([SWEEP.assign(vertices=SWEEP["vertices"] + SWEEP.index * step) for step in (1, 100)])
    chosen = curves[curves["variant"].eq("fast")]
    assert series(chosen) == [
        "Graph small, Tile 1",
        "Graph small, Tile 2",
        "Graph large, Tile 1",
        "Graph large, Tile 2",
    ]
    assert series(chosen[chosen["tile"].eq(1)], facet="graph") == []


def test_bars_of_one_colour_stand_beside_each_other():
    small = SWEEP[SWEEP["graph"].eq("small")].iloc[::-1]
    drawn = specification(figure(mark="bar", x="graph", color="variant", keys=KEYS), small, interactive=False)
    (offset,) = {json.dumps(offset) for offset in of_kind(drawn, "xOffset")}
    assert json.loads(offset) == {
        "field": "place",
        "sort": [
            *(f"batched Tasks {t}, Shared {s}" for t in (2, 1) for s in ("1", "0.5")),
            "fast Tile 2",
            "fast Tile 1",
        ],
        "type": "nominal",
    }
    rows = drawn["datasets"]["measured"]
    assert len({(row["x"], row["place"]) for row in rows}) == len(rows) == 6
    plain = specification(figure(mark="bar", x="graph", keys=KEYS), small[small["tile"].notna()], interactive=False)
    assert next(of_kind(plain, "xOffset"))["sort"] == [" Tile 2", " Tile 1"]


def test_bars_whose_colour_is_that_of_their_place_stand_over_its_name():
    chosen = SWEEP[SWEEP["variant"].eq("fast") & SWEEP["graph"].eq("small")]
    both = pd.concat([chosen, chosen.assign(variant="batched")])
    one = specification(figure(mark="bar", x="variant", color="variant", keys=KEYS), both.iloc[::2], interactive=True)
    assert not list(of_kind(one, "xOffset"))
    two = specification(figure(mark="bar", x="variant", color="variant", keys=KEYS), both, interactive=True)
    assert {tuple(offset["sort"]) for offset in of_kind(two, "xOffset")} == {(" Tile 1", " Tile 2")}


@pytest.mark.parametrize(
    ("unit", "title"), [("TOP/s", "Y (TOP/s)"), ("s", "Y"), ("TEPS", "Y"), ("", "Y"), ("us", "Y (µs)")]
)
def test_a_unit_that_ticks_do_not_say_is_in_the_title(unit, title):
    table = pd.DataFrame({"x": [1, 2], "y": [0.1, 0.25], "source": "saitan", "settled": True})
    for asked, says in (({}, title), ({"y_title": ["Rate"]}, "Rate")):
        drawn = specification(figure(x="x", y=["y"], units={"y": unit}, **asked), table, interactive=False)
        assert next(of_kind(drawn, "y"))["title"] == says


@pytest.mark.parametrize("values", [[1, 2], [1, 3], [2, 5], [-1, 2], [1000, 1003], [7]])
def test_whole_numbers_near_each_other_have_a_tick_each(values):
    table = pd.DataFrame({"x": values, "y": values, "source": "saitan", "settled": True})
    (panel,) = scene(specification(figure(x="x", y=["y"]), table, interactive=False)).panels
    shown = [sorted(number(text) for _, text in panel.labels[axis]) for axis in "xy"]
    assert shown[0] == [*range(min(values), max(values) + 1)]
    # The other axis begins at 0.
    least = min(0, *values)
    assert shown[1] == [*range(least, max(values) + 1)] or (max(values) > 6 and shown[1][0] == 0)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("mark", ["bar", "line", "point"])
def test_zeros_alone_stand_on_an_axis_that_goes_up(mark, log):
    table = pd.DataFrame({"x": ["a", "b"], "y": [0, 0], "source": "saitan", "settled": True})
    drawn = specification(figure(mark=mark, x="x", y=["y"], y_log=log), table, interactive=False)
    (panel,) = scene(drawn).panels
    places = [place for place, _ in panel.labels["y"]]
    texts = [text for _, text in panel.labels["y"]]
    assert texts == (["0", "1"] if log else ["0"])
    # Zero is low in the panel, and the ticks do not cover each other.
    assert places[0] - panel.y > 0.9 * panel.height and places == sorted(places, reverse=True)
    assert len(places) < 2 or places[0] - places[1] > 0.8 * panel.height


def test_a_panel_of_no_numbers_says_so():
    drawn = specification(figure(y=["mode", "seconds"]), phases(), interactive=False)
    assert [one["title"] for one in of_kind(drawn, "y") if "title" in one][:1] == ["Mode: no numbers"]
    given = specification(figure(y=["seconds", "mode"], y_title=["Time", "M"]), phases(), interactive=False)
    titles = {one["title"] for one in of_kind(given, "y") if "title" in one}
    assert titles == {"Time", "M: no numbers"}


def test_a_long_heading_of_a_facet_moves_no_panel():
    names = ["a", "b", "c", "n" * 90]
    table = pd.DataFrame({"x": [1, 2] * 4, "y": 1.5, "graph": np.repeat(names, 2), "source": "saitan", "settled": True})
    panels = scene(specification(figure(x="x", y=["y"], facet="graph"), table, interactive=False)).panels
    left = [panel.x for panel in panels]
    assert len(panels) == 4 and left[0] == left[2] and left[1] == left[3]


@pytest.mark.parametrize("zeros", [[], ["a"], ["b"], ["a", "b"]])
@pytest.mark.parametrize("facet", ["backend", "graph", "variant"])
@pytest.mark.parametrize("mark", ["bar", "line", "point"])
def test_facets_share_a_scale_but_for_backends_and_graphs_that_all_have_numbers(mark, facet, zeros):
    """The marks of a panel are where its ticks say, and no tick covers another."""
    table = pd.DataFrame({"x": [1, 2] * 2, "y": [1, 2, 30, 60], facet: np.repeat(["a", "b"], 2)})
    table.loc[table[facet].isin(zeros), "y"] = 0
    table = table.assign(source="saitan", settled=True)
    panels = scene(specification(figure(mark=mark, x="x", y=["y"], facet=facet), table, interactive=False)).panels
    assert len(panels) == 2
    for panel, ours in zip(panels, table["y"].to_numpy().reshape(2, 2), strict=True):
        places = [place for place, _ in panel.labels["y"]]
        assert len(set(places)) == len(places) and min(np.diff(sorted(places)), default=99) > 9
        assert len(places) > 1 or not ours.any()
        shown = [panel.value("y", one.y) for one in panel.marks if one.kind in ("symbol", "rect") and one.seen]
        assert len(places) < 2 or np.allclose(sorted(shown), sorted(ours), atol=1e-6)
    own = panels[0].labels["y"] != panels[1].labels["y"]
    assert own is (facet != "variant" and not zeros)


@pytest.mark.parametrize("values", [1, 2, 5])
@pytest.mark.parametrize("run", sorted(path.stem for path in (ROOT / "config").glob("*.yaml")))
def test_every_figure_of_ours_can_be_drawn(run, values):
    """With as many values of what each names beside y, as where only one backend or graph could be used."""
    experiments = (yaml.safe_load((ROOT / f"config/{run}.yaml").read_text()) or {}).get("experiments", {})
    asked = {name: one["figure"] for name, one in experiments.items() if one.get("figure")}
    for name, given in asked.items():
        wanted = Drawn.model_validate({**given, "title": name})
        keys = [key for key in (wanted.color, wanted.facet) if key]
        rows = itertools.product(range(1, 4), *(map(str, range(values)) for _ in keys))
        table = pd.DataFrame(rows, columns=[wanted.x, *keys]).assign(source="saitan", settled=True)
        for place, column in enumerate(wanted.y):
            table[column] = np.arange(len(table)) + place + 1.0
        panels = scene(specification(wanted, table, interactive=False)).panels
        facets = {one.facet for one in panels} - {None}
        assert any(one.marks for one in panels) and len(facets) == (values if wanted.facet and values > 1 else 0)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("mark", ["bar", "line", "step", "point"])
@pytest.mark.parametrize("facet", ["backend", "graph", "variant"])
def test_a_facet_of_one_value_is_none(facet, mark, log):
    table = pd.DataFrame({"x": [1, 2], "y": [1, 2], facet: "a", "source": "saitan", "settled": True})
    asked = figure(mark=mark, x="x", y=["y"], facet=facet, y_log=log)
    (panel,) = scene(specification(asked, table, interactive=False)).panels
    assert panel.facet is None and len(panel.labels["y"]) > 1


@pytest.mark.parametrize(("values", "whole"), [([1, 2], True), ([4.0, 5.0], True), ([1, 2.5], False)])
def test_ticks_of_whole_numbers_are_whole(values, whole):
    table = pd.DataFrame({"x": values, "y": values, "source": "saitan", "settled": True})
    drawn = specification(figure(x="x", y=["y"]), table, interactive=False)
    steps = [next(of_kind(drawn, axis))["axis"].get("tickMinStep") for axis in "xy"]
    assert steps == [1 if whole else None] * 2


def test_of_a_long_series_in_doubt_the_last_bears_the_circle_and_of_a_short_one_all():
    lengths = {"long": FEW_MARKERS + 1, "short": FEW_MARKERS, "sure": FEW_MARKERS + 1}
    rows = [
        {"color": name, "source": "saitan", "doubt": name != "sure"} for name, n in lengths.items() for _ in range(n)
    ]
    marked = figure_data._marked(pd.DataFrame(rows)).tolist()
    assert marked == [False] * FEW_MARKERS + [True] + [True] * FEW_MARKERS + [False] * (FEW_MARKERS + 1)


def test_a_long_curve_without_a_colour_bears_one_circle():
    n = FEW_MARKERS + 20
    table = pd.DataFrame(
        {
            "variant": ["adaptive"] * n + ["conventional"] * n,
            "level": pd.Series([30] * n + [None] * n, dtype="Int64"),
            "phase": [*range(n)] * 2,
            "seconds": np.linspace(1, 2, 2 * n),
            "source": "saitan",
            "settled": False,
        }
    )
    data = figure_data.tidy(figure(color="level", keys=["variant", "level"]), table, ["variant", "level"])
    circles = data[data["mark"] == figure_data.DOUBTFUL]
    assert circles["x"].tolist() == [n - 1, n - 1] and circles["series"].nunique() == 2
    assert not any(name.endswith("_alone") for name in data)


@pytest.mark.parametrize(("least", "foot"), [(1.07e-3, 1e-4), (2.1e-3, 1e-3), (9e-3, 1e-3)])
def test_the_least_bar_of_a_logarithmic_axis_can_be_seen(least, foot):
    table = phases(seconds=[least, *[0.3] * 11])
    drawn = specification(figure(mark="bar", x="variant", y_log=True), table, interactive=False)
    assert scale(drawn, "y")["domainMin"] == pytest.approx(foot) and scale(drawn, "y")["nice"] is True


def test_quartiles_are_within_a_logarithmic_axis():
    quartiles = {"seconds_q1": [0.02, *[0.2] * 11], "seconds_q3": [0.4] * 12}
    table = phases(seconds=[0.3] * 12, **quartiles)
    drawn = specification(figure(mark="bar", x="variant", y_log=True), table, interactive=False)
    assert scale(drawn, "y")["domainMin"] == pytest.approx(0.01)
    # Zero has no logarithm.
    table["seconds_q1"] = 0.0
    drawn = specification(figure(mark="bar", x="variant", y_log=True), table, interactive=False)
    assert scale(drawn, "y")["type"] == "symlog"


@pytest.mark.parametrize("mark", ["bar", "line"])
def test_a_count_is_in_no_doubt(mark):
    table = phases(settled=[False] * 6 + [True] * 6)
    known = {"mark": mark, "color": "variant", "facet": "backend", "units": {"seconds": "s"}, "counts": ["updated"]}

    def doubted(**changes):
        """Of each panel, the parts that tell what is in doubt from the rest."""
        drawn = specification(figure(**known | changes), table, interactive=True)
        for panel in drawn.get("vconcat", [drawn]):
            told = {"filter": of_kind(panel, "filter"), "test": of_kind(panel, "test")}
            found = {key for key, values in told.items() if DOUBTFUL in json.dumps(list(values))}
            found |= {"tooltip" for field in of_kind(panel, "field") if field == "state"}
            yield found

    every = {"filter", "test", "tooltip"} if mark == "bar" else {"filter", "tooltip"}
    assert list(doubted(y=["seconds", "updated"])) == [every, set()]
    assert list(doubted(y=["updated"])) == [set()]
    assert DOUBTFUL not in json.dumps(specification(figure(y=["updated"], **known), table, interactive=True))
    # Where the other axis is a time, its points are in doubt.
    assert list(doubted(x="seconds", y=["updated"])) == [every]


def test_quartiles_are_drawn_where_the_data_have_them():
    table = phases(seconds_q1=np.full(12, 1e-6), seconds_q3=np.full(12, 2e-6))
    fields = [channel["field"] for channel in of_kind(specification(figure(), table, interactive=False), "y2")]
    assert fields == ["y0_q3"]


@pytest.mark.parametrize(
    ("mark", "values", "points", "interactive"),
    [
        ("step", {"a": [1.0], "b": [0.5, 1]}, 1, False),
        ("step", {"a": [np.nan, 1, np.nan, 1, 0.5], "b": [np.nan]}, 1, True),
        # Long lines have no marker at each number.
        ("line", {"a": [0.1] * FEW_MARKERS + [np.nan, 0.2], "b": [0.3]}, 2, False),
    ],
)
def test_a_number_that_no_line_joins_to_another_is_a_point(mark, values, points, interactive):
    import vl_convert

    rows = [
        {"graph": name, "degree": x, "share": share, "source": "saitan"}
        for name, shares in values.items()
        for x, share in reversed([*enumerate(shares)])
    ]
    described = figure(mark=mark, x="degree", y=["share"], color="graph")
    drawn = specification(described, pd.DataFrame(rows), interactive=interactive)
    svg = vl_convert.vegalite_to_svg(drawn, vl_version=vega.vega_lite_version(), allowed_base_urls=[])
    drawn_points = re.findall(r'<path [^>]*aria-roledescription="point"[^>]*>', svg)
    assert sum('opacity="0"' not in one for one in drawn_points) == points


@pytest.mark.parametrize(
    "table", [phases().head(0), pd.DataFrame({"phase": [2], "source": "paper"}), phases(seconds=np.nan)]
)
def test_without_rows_of_ours_the_chart_says_so(table):
    drawn = specification(figure(color="variant"), table, interactive=False)
    assert "No numbers to draw" in json.dumps(drawn)


@pytest.mark.parametrize(
    ("changes", "nothing"),
    [
        ({"y": ["mode"]}, True),
        ({"x": "mode"}, True),
        ({"y": ["mode", "seconds"]}, False),
        ({"color": "mode"}, False),
        ({"facet": "mode"}, False),
    ],
)
def test_a_column_that_no_variant_counts_has_no_numbers(changes, nothing):
    drawn = specification(figure(**changes), phases(), interactive=False)
    assert ("No numbers to draw" in json.dumps(drawn)) == nothing
    vl_convert = pytest.importorskip("vl_convert")
    vl_convert.vegalite_to_svg(drawn, vl_version=vega.vega_lite_version(), allowed_base_urls=[])


@pytest.mark.parametrize(("values", "form"), [([1.0, 2000.0], ","), ([1.0, 0.5], ".4~g"), ([None, 3.0], ",")])
def test_whole_numbers_are_read_with_all_their_digits(values, form):
    axis = axis_of("y", pd.Series(values), "Arcs", log=False, bars=False, unit="")
    assert axis.number_format == form and axis.tooltip().to_dict()["format"] == form
