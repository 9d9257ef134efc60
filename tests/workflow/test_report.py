import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from samples import seconds, write_samples
from tiny import ROOT

from saitan.blocks import Block
from saitan.graph import Graph
from saitan.workflow.answers import AnswerWriter, SlabWriter, about_answer
from saitan.workflow.bests import bests
from saitan.workflow.ceilings import Ceilings
from saitan.workflow.graphs.parquet import write_graph
from saitan.workflow.graphs.plan import NO_GRAPH
from saitan.workflow.index import write_index
from saitan.workflow.numbers import digits, readable, typeset
from saitan.workflow.ranking import Quoted
from saitan.workflow.report import ReportPlan, page, read_plan, summary_lines, write_report
from saitan.workflow.report_facts import graph_row, kept, machines
from saitan.workflow.report_outcome import (
    KILLED,
    LOST,
    NOT_BEGUN,
    NOT_RUN,
    OUT_OF_DATE,
    STOPPED,
    STOPPED_WITHIN,
    Lacking,
    lacking,
    outcome,
)
from saitan.workflow.report_plan import PlannedPoint
from saitan.workflow.report_tables import layout
from saitan.workflow.step import Failure

PEERS = ROOT / "config/peers.yaml"


def quantity(
    name, unit, ours, q1=None, q3=None, paper=None, samples=8, settled=True, disturbed="", checked="all of it"
):
    return {
        "quantity": name,
        "unit": unit,
        "ours": ours,
        "q1": q1,
        "q3": q3,
        "samples": samples,
        "settled": settled,
        "disturbed": disturbed,
        "checked": checked,
        "paper": paper,
        "ratio": ours / paper if paper else None,
    }


def point(variant, backend="cpu", graph="map", cores=4, **parameters):
    return {"backend": backend, "graph": graph, "variant": variant, "cores": cores, **parameters}


def table():
    rows = []
    for variant, threshold, time in (
        ("conventional", None, 0.107),
        ("adaptive", 350.0, 0.0871),
        ("adaptive", 9.0, 0.3),
    ):
        for backend, slower in (("cpu", 10), ("cuda", 1)):
            keys = point(variant, backend, threshold_up=threshold)
            rows.append(keys | quantity("time", "s", time * slower, time * slower * 0.9, time * slower * 1.1, 0.0907))
            rows.append(keys | quantity("phases", "", 1234, 1234, 1234))
    return pd.DataFrame(rows)


def write_table(rows, path, identity="now"):
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows)
    described = {b"saitan": json.dumps({"identity": identity}).encode()}
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(described), path)


@pytest.fixture
def plan(tmp_path):
    """A run with two points measured, one failed, one left out."""
    write_table(table(), tmp_path / "a.parquet")
    (tmp_path / "a.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    data = {"values": [{"x": 1, "y": 2, "text": "</script><b>"}]}
    spec = {"mark": "point", "data": data, "encoding": {"x": {"field": "x"}, "y": {"field": "y"}}, "width": 300}
    spec["params"] = [{"name": "window", "select": "interval", "bind": "scales"}]
    spec["usermeta"] = {"saitan": {"identity": "now"}}
    (tmp_path / "a.json").write_text(json.dumps(spec, separators=(",", ":")))
    for backend in ("cpu", "cuda"):
        write_samples(tmp_path / f"{backend}.parquet", seconds(*[0.1] * 8), backend=backend)
    (tmp_path / "failed.log").write_text("Traceback\nerror: graph map needs 141.2 GiB, 12.0 GiB are free\n")
    write_graph(
        Graph(
            np.array([0, 1, 2]), np.array([1, 0], np.int32), np.array([5, 6], np.uint32), metadata={"generator": "ring"}
        ),
        tmp_path / "map",
    )
    use = {
        "kernel": "relax",
        "registers": 37,
        "stack": 0,
        "spill_stores": 8,
        "spill_loads": 12,
        "shared": 0,
        "barriers": 1,
    }
    resources = tmp_path / "sm_90" / "sssp" / "phases.resources.json"
    resources.parent.mkdir(parents=True)
    resources.write_text(json.dumps([use]))

    def planned(name, output, log="none.log"):
        where = {"samples": str(tmp_path / output), "log": str(tmp_path / log)}
        return {"name": name, "identity": "now", **where}

    experiment = {
        "name": "fig_a",
        "title": "Time & <size>",
        "identity": "now",
        "text": "A sentence.",
        "problem": "sssp",
        "variants": ["adaptive"],
        "origin": "Somebody et al., Fig 1",
        "table": str(tmp_path / "a.parquet"),
        "figure": {"svg": str(tmp_path / "a.svg"), "spec": str(tmp_path / "a.json")},
    }
    return {
        "name": "default",
        "title": "A run",
        "results": str(tmp_path),
        "experiments": [experiment],
        "points": [
            planned("fig_a/cpu/map/adaptive/default", "cpu.parquet"),
            planned("fig_a/cuda/map/adaptive/default", "cuda.parquet"),
            planned("fig_a/cuda/map/selection/default", "nothing.parquet", "failed.log"),
        ],
        "skipped": [{"what": f"networkit in fig_{x}", "reason": "networkit is not installed"} for x in "ab"],
        "resources": [str(resources)],
        "graphs": [
            {"name": "map", "title": "A map", "folder": str(tmp_path / "map"), "synthetic": "weights are drawn"},
            {"name": "gone", "title": "Not there", "folder": str(tmp_path / "gone")},
        ],
    }


def shown(plan, *, partial=False, quoted=None, **how):
    """The page of a plan given as a dictionary."""
    described = ReportPlan.model_validate(plan)
    return page(described, outcome(described, **how), partial=partial, quoted=quoted)


def lines_of(plan, **how):
    described = ReportPlan.model_validate(plan)
    return summary_lines(described, outcome(described, **how))


def text_of(html):
    """What a reader sees, on one line."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", html[html.index("<body") :], flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def test_the_page_shows_numbers_machines_reasons_and_graphs(plan):
    text = text_of(shown(plan))
    for wanted in (
        "Time &amp; &lt;size&gt;",
        "A sentence.",
        "Drag to move, pinch or Ctrl and wheel to zoom, double-click to reset. SVG",
        "graph backend conventional adaptive, threshold up 350 adaptive, threshold up 9 time (ms) map CPU",
        "87.10 ★ 78.39 – 95.81 paper 90.70, ratio 0.96",
        "phases map CPU 1,234 1,234 1,234 map GPU",
        "of 8 samples a point, quartiles below",
        "Checked in every timed answer: all of it.",
        "L2 is warm",
        "★",
        "CPU Example CPU",
        "GPU Example GPU",
        "host CPU Example CPU",
        "numpy 2.1.3",
        "0123456789ab",
        "cuda/map/selection/default graph map needs 141.2 GiB, 12.0 GiB are free",
        "networkit in fig_a, networkit in fig_b networkit is not installed",
        "relax 37 0 8 12 0 1",
        "Somebody et al., Fig 1",
        "synthetic weights are drawn",
    ):
        assert wanted in text, wanted
    assert "Traceback" not in text


def test_the_page_asks_nothing_of_the_network(plan):
    html = shown(plan)
    assert "default-src 'none'" in html
    markup = re.sub(r"(<script\b[^>]*>).*?</script>", r"\1", html, flags=re.S)
    tags = re.findall(r"<(?:script|link|img|iframe|a|use|source)\b[^>]*>", markup)
    targets = [value for tag in tags for value in re.findall(r'\b(?:src|href)="([^"]*)"', tag)]
    assert len(targets) > 5
    assert all(value.startswith(("#", "data:")) for value in targets)
    assert "@import" not in html
    assert not re.search(r"url\(\s*['\"]?http", html)


def test_data_cannot_end_the_script_that_holds_them(plan):
    html = shown(plan)
    (chart,) = re.findall(r'<script type="application/json" id="chart-fig_a">(.*?)</script>', html, flags=re.S)
    assert json.loads(chart)["data"]["values"][0]["text"] == "</script><b>"


def test_a_missing_table_is_an_error_unless_the_report_is_partial(plan, tmp_path):
    plan["experiments"].append(
        {"name": "fig_b", "title": "Another", "identity": "now", "table": str(tmp_path / "b.parquet")}
    )
    with pytest.raises(Failure, match=r"b\.parquet: the table of fig_b is missing"):
        shown(plan)
    text = text_of(shown(plan, partial=True))
    assert "the table is missing" in text
    assert "87.10" in text


def test_solvers_of_others_are_quoted_and_ranked(plan):
    solver = {"title": "Other 1.0", "problem": "sssp", "backend": "cuda", "quantity": "time"}
    solver["values"] = [{"graph": "map", "value": 0.1742}]
    quoted = Quoted.model_validate({"machine": "a GPU", "measured": "2026-01-02", "solvers": {"Other": solver}})
    text = text_of(shown(plan, quoted=quoted))
    assert "1 adaptive GPU 87.10 ms 2× 2 conventional GPU 107 ms 1.63×" in text
    assert "Other quoted Other 1.0; measured on a GPU, 2026-01-02 GPU 174.2 ms 1×" in text
    assert "best peer" not in text_of(shown(plan))


def test_code_that_is_not_committed_is_said_beside_its_commit(plan, tmp_path):
    assert "with changes not committed" not in text_of(shown(plan))
    assert "Measured with changes that are not committed" not in text_of(shown(plan))
    samples = tmp_path / plan["points"][0]["samples"]
    write_samples(samples, seconds(1.0), provenance={"dirty": True}, identity=plan["points"][0]["identity"])
    assert text_of(shown(plan)).count("0123456789ab, with changes not committed") == 1
    assert "Measured with changes that are not committed" in text_of(shown(plan))


def test_the_last_lines_say_what_was_found_and_where(plan, tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    (tmp_path / "vega.js").write_text("drawing")
    output = tmp_path / "out" / "report.html"
    command = [sys.executable, "-m", "saitan.workflow.report", "--plan", tmp_path / "plan.json", "--peers", PEERS]
    command += ["--output", output, "--vega", tmp_path / "vega.js"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert lines[-1] == f"report: {output}"
    assert lines[-2] == "3 points, 1 failed, 2 left out"
    assert lines[0].startswith("fig_a: best, map on cpu: adaptive (threshold_up=350) 871 ms; map on cuda: adaptive")
    assert "failed: fig_a/cuda/map/selection/default: graph map needs 141.2 GiB, 12.0 GiB are free" in lines
    assert output.read_text().startswith("<!doctype html>") and "drawing" in output.read_text()


def test_a_page_without_charts_is_without_the_script_that_draws_them_and_a_run_is_not_stopped_unless_said(
    plan, tmp_path
):
    (tmp_path / "vega.js").write_text("drawing")
    for experiment in plan["experiments"]:
        experiment.pop("figure", None)
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    samples = tmp_path / plan["points"][0]["samples"]
    samples.unlink()
    output = tmp_path / "report.html"
    lines = write_report(read_plan(tmp_path / "plan.json"), output, PEERS, vega=tmp_path / "vega.js")
    assert "drawing" not in output.read_text() and "stopped" not in lines[-2]
    lines = write_report(read_plan(tmp_path / "plan.json"), output, PEERS, stopped=True)
    assert "stopped" in lines[-2]


def test_of_many_bests_the_first_are_named_and_the_others_counted(plan, monkeypatch):
    assert not any("more" in line for line in lines_of(plan))
    monkeypatch.setattr("saitan.workflow.report.LONG_LIST", 1)
    line = lines_of(plan)[0]
    assert line.endswith("; and 1 more") and line.count(": adaptive") == 1


def test_summary_of_an_experiment_without_times(plan, tmp_path):
    rows = [{"graph": "map"} | quantity("vertices", "", 10, paper=20), {"graph": "map"} | quantity("arcs", "", 10)]
    write_table(rows, tmp_path / "a.parquet")
    assert lines_of(plan)[0] == "fig_a: 2 quantities, 1 beside the paper's"


def test_a_broken_plan_is_one_line_that_names_the_key(plan, tmp_path):
    del plan["experiments"][0]["table"]
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(Failure, match=r"plan\.json: experiments\.0\.table: Field required"):
        read_plan(tmp_path / "plan.json")
    (tmp_path / "plan.json").write_text("[]")
    with pytest.raises(Failure, match=r"plan\.json: plan: Input should be an object"):
        read_plan(tmp_path / "plan.json")


def keys_and(laid_out, what):
    return [(*row.keys, *(cell and getattr(cell, what) for cell in row.cells)) for row in laid_out.groups[0].rows]


def test_variants_are_columns_and_quantities_groups_of_rows():
    laid_out = layout(table(), "sssp", [])
    assert laid_out.keys == ["graph", "backend"]
    assert [column.name for column in laid_out.columns] == [
        "conventional",
        "adaptive, threshold up 350",
        "adaptive, threshold up 9",
    ]
    assert [(group.head.name, group.head.unit) for group in laid_out.groups] == [("time", "ms"), ("phases", "")]
    assert keys_and(laid_out, "ours") == [
        ("map", "cpu", "1,070", "871", "3,000"),
        ("map", "cuda", "107", "87.10", "300"),
    ]
    assert keys_and(laid_out, "best") == [("map", "cpu", False, True, False), ("map", "cuda", False, True, False)]
    assert not any(cell.best for row in laid_out.groups[1].rows for cell in row.cells)


def test_a_sweep_has_points_as_rows_and_quantities_as_columns():
    rows = [
        point("fast", delta=delta, n=7) | quantity(name, unit, value * delta)
        for delta in (4, 16, 8)
        for name, unit, value in (("time", "s", 1e-4), ("prepare_s", "s", 1.0), ("relaxations", "", 1000))
    ]
    laid_out = layout(pd.DataFrame(rows), "sssp", ["n"])
    assert laid_out.keys == ["graph", "backend", "delta"] and laid_out.constants == ["n = 7"]
    assert [(c.name, c.unit) for c in laid_out.columns] == [("time", "µs"), ("prepare", "s"), ("relaxations", "")]
    assert keys_and(laid_out, "ours") == [
        ("map", "cpu", "4", "400", "4", "4,000"),
        ("map", "cpu", "16", "1,600", "16", "16,000"),
        ("map", "cpu", "8", "800", "8", "8,000"),
    ]
    assert keys_and(laid_out, "best")[0] == ("map", "cpu", "4", True, False, False)


@pytest.mark.parametrize(("values", "across"), [(6, True), (7, False)])
def test_more_than_six_points_a_row_are_rows(values, across):
    rows = [point("fast", delta=delta) | quantity("time", "s", 1.0) for delta in range(1, values)]
    rows.append(point("slow", delta=None) | quantity("time", "s", 2.0))
    laid_out = layout(pd.DataFrame(rows), "sssp", [])
    assert (len(laid_out.columns) == values) == across and ("delta" in laid_out.keys) != across
    assert laid_out.rows == (1 if across else values)


def test_zeros_say_their_unit():
    rows = [
        point("a") | quantity(name, unit, 0.0) for name, unit in (("time", "s"), ("memory", "bytes"), ("phases", ""))
    ]
    laid_out = layout(pd.DataFrame(rows), "sssp", [])
    assert [column.unit for column in laid_out.columns] == ["", "", ""]
    assert keys_and(laid_out, "ours") == [("map", "cpu", "0 s", "0 B", "0")]


def test_kept_answers_say_what_compressing_them_saves(tmp_path):
    array = np.arange(100_000, dtype=np.uint32)
    for how in ("raw", "compressed"):
        folder = tmp_path / "results" / "answers" / how
        with AnswerWriter(folder, ["d"], {}, how == "compressed") as sink:
            sink(Block("d", 0, array))
    raw, compressed, *others = kept(
        [*(tmp_path / "results" / "answers" / how / "d.parquet" for how in ("raw", "compressed")), tmp_path / "none"],
        Ceilings(),
    )
    assert not others and raw.how == "numbers" and compressed.how == "streams"
    assert raw.nbytes == compressed.nbytes == array.nbytes and compressed.shape == [100_000]
    assert compressed.ratio > 14 and compressed.seconds > 0
    assert raw.saved is compressed.saved is compressed.saved_seconds is None


def test_answers_compressed_on_a_gpu_say_what_did_not_cross(tmp_path):
    array = np.zeros(100_000, np.uint32)
    ceilings = Ceilings({"card": {"bytes_to_host": {"rate": 2e5, "says": "over PCIe"}}})
    paths = []
    for gpu, how in (("card", "raw"), ("card", "compressed"), ("other", "compressed")):
        paths.append(tmp_path / "results/answers" / f"{gpu}-{how}" / "d.parquet")
        with AnswerWriter(paths[-1].parent, ["d"], {"provenance": {"gpu": gpu}}, how == "compressed") as sink:
            sink(Block("d", 0, array))
    raw, compressed, other = kept(paths, ceilings)
    assert raw.saved is other.saved is None
    assert compressed.saved == 400_000 - compressed.written > 0
    assert compressed.saved_seconds == compressed.saved / 2e5


def test_a_kept_answer_in_slabs_is_all_its_files(tmp_path):
    folder, array = tmp_path / "results/answers", np.arange(60_000, dtype=np.uint32).reshape(6, 10_000)
    writer = SlabWriter(folder, "d", {})
    for first in (0, 4):
        writer(Block("d", first, array[first : first + 4]))
    writer.join({0: 4, 4: 2}, {})
    (found,) = kept([folder / "d.parquet"], Ceilings())
    files = [folder / "d.parquet", *(folder / f"d.slabs/{first}.parquet" for first in (0, 4))]
    assert found.written == sum(file.stat().st_size for file in files) and found.nbytes == array.nbytes
    assert found.shape == [6, 10_000] and found.how == "numbers" and found.ratio == array.nbytes / found.written
    assert found.seconds == sum(about_answer(file)["seconds"] for file in files[1:])


def test_graphs_are_rows_and_what_is_known_of_them_columns():
    rows = [
        {"graph": name} | quantity(q, "", v, paper=4) for name in ("b", "a") for q, v in (("vertices", 2), ("arcs", 3))
    ]
    laid_out = layout(pd.DataFrame(rows).assign(checked=""), None, [])
    assert laid_out.keys == ["graph"] and keys_and(laid_out, "ours") == [("b", "2", "3"), ("a", "2", "3")]
    assert keys_and(laid_out, "paper")[0] == ("b", "4", "4") and keys_and(laid_out, "ratio")[0] == ("b", "0.5", "0.75")
    assert not any("Medians" in note for note in laid_out.notes)


def test_a_speed_up_stands_beside_what_it_compares_and_in_rows_of_its_own_where_it_is_printed():
    rows = [point("conventional") | quantity("time", "s", 3.0), point("fast") | quantity("time", "s", 1.5)]
    rows.append(point("fast") | quantity("speed-up over conventional", "", 2.0))
    laid_out = layout(pd.DataFrame(rows), "sssp", [])
    assert keys_and(laid_out, "factor") == [("map", "cpu", "", "2×")] and len(laid_out.groups) == 1
    assert "speed-ups over conventional, of medians of time" in " ".join(laid_out.notes)
    rows[-1] |= {"paper": 1.0, "ratio": 2.0}
    laid_out = layout(pd.DataFrame(rows), "sssp", [])
    assert [group.head.name for group in laid_out.groups] == ["time", "speed-up over conventional"]


def test_the_column_of_arrays_is_called_data():
    rows = [point(variant) | quantity("time", "s", 1.0) for variant in ("fpc", "fast")]
    assert layout(pd.DataFrame(rows), None, [], "data").keys == ["data", "backend"]


def test_cores_are_shown_where_they_differ_and_never_share_a_star():
    rows = [
        point(variant, cores=cores) | quantity("time", "s", value)
        for cores, variant, value in ((1, "a", 4.0), (1, "b", 3.0), (2, "a", 1.0), (2, "b", 2.0))
    ]
    laid_out = layout(pd.DataFrame(rows), "sssp", [])
    assert laid_out.keys == ["graph", "backend", "cores"]
    assert keys_and(laid_out, "best") == [("map", "cpu", "1", False, True), ("map", "cpu", "2", True, False)]
    assert "cores" not in layout(pd.DataFrame(rows[:2]), "sssp", []).keys
    assert [best.where for best in bests(pd.DataFrame(rows), "sssp", [])] == ["map cores=1", "map cores=2"]


@pytest.mark.parametrize("said", [{"settled": False}, {"disturbed": "other load"}])
@pytest.mark.parametrize("slow", [1.0, 9.0])
def test_no_star_beside_a_number_that_had_not_settled(said, slow):
    """Neither for it nor for another one: the other could be the slower of the two when all is quiet."""
    rows = [point("a") | quantity("time", "s", slow, **said), point("b") | quantity("time", "s", 2.0)]
    found = layout(pd.DataFrame(rows), "sssp", [])
    assert keys_and(found, "best") == [("map", "cpu", False, False)]
    assert [bool(cell.doubt) for cell in found.groups[0].rows[0].cells] == [True, False]
    assert any(note.startswith("†") for note in found.notes) and not any("★" in note for note in found.notes)
    (best,) = bests(pd.DataFrame(rows), "sssp", [])
    assert not best.sure and best.doubt == (slow < 2)
    assert str(best) == ("a 1 s (not settled)" if slow < 2 else "b 2 s (not all settled)")
    (alone,) = bests(pd.DataFrame(rows[1:]), "sssp", [])
    assert str(alone) == "b 2 s" and not alone.sure
    # Nobody is the best alone.
    assert keys_and(layout(pd.DataFrame(rows[1:]), "sssp", []), "best") == [("map", "cpu", False)]


def test_what_validation_covered_is_said_by_variant_where_it_differs():
    rows = [
        point("a") | quantity("time", "s", 1.0, checked="every entry"),
        point("b", "cuda") | quantity("time", "s", 1.0, checked="256 entries (a sample)"),
    ]
    notes = layout(pd.DataFrame(rows), "sssp", []).notes
    assert "Checked in every timed answer of a on the CPU: every entry." in notes
    assert "Checked in every timed answer of b on the GPU: 256 entries (a sample)." in notes


def test_the_best_is_found_for_each_value_of_the_problems_own_parameters():
    rows = [
        point(variant, size=size) | quantity("time", "s", value)
        for variant, size, value in (("tiled", 1, 2.0), ("fast", 1, 1.0), ("tiled", 2, 3.0), ("fast", 2, 4.0))
    ]
    assert [best.variant for best in bests(pd.DataFrame(rows), "sssp", ["size"])] == ["fast", "tiled"]
    assert [best.variant for best in bests(pd.DataFrame(rows), "sssp", [])] == ["fast"]
    assert [best.where for best in bests(pd.DataFrame(rows), "sssp", ["size"])] == ["map size=1", "map size=2"]
    rows += [point(variant, size=None) | quantity("time", "s", value) for variant, value in (("a", 6.0), ("b", 5.0))]
    assert [best.variant for best in bests(pd.DataFrame(rows), "sssp", ["size"])] == ["fast", "tiled", "b"]


def test_an_experiment_without_graphs_names_its_instances_instead():
    rows = [
        point(variant, "cuda", NO_GRAPH, n=16384, by=by) | quantity("tops", "TOP/s", rate)
        for variant, by, rate in (
            ("fast", "tile", 5),
            ("dense", "tile", 4),
            ("fast", "element", 1),
            ("dense", "element", 2),
        )
    ]
    found = pd.DataFrame(rows)
    assert [best.where for best in bests(found, "tropical", ["n", "by"])] == [
        "n=16,384, by=tile",
        "n=16,384, by=element",
    ]
    # Of a rate more is better.
    assert [best.variant for best in bests(found, "tropical", ["n", "by"])] == ["fast", "dense"]
    laid_out = layout(found, "tropical", ["n", "by"])
    assert laid_out.keys == ["backend", "by"] and laid_out.constants == ["n = 16,384"]
    assert keys_and(laid_out, "best") == [("cuda", "tile", True, False), ("cuda", "element", False, True)]


def test_what_is_not_finite_is_never_the_best():
    rows = [point(v) | quantity("time", "s", t) for v, t in (("a", float("-inf")), ("b", float("nan")), ("c", 3.0))]
    (best,) = bests(pd.DataFrame(rows), "sssp", [])
    assert best.variant == "c" and best.contenders == 1
    laid_out = layout(pd.DataFrame(rows), "sssp", [])
    assert keys_and(laid_out, "ours") == [("map", "cpu", "-∞", "–", "3")]


def test_values_below_the_least_unit_have_it():
    rows = [point("a") | quantity("time", "s", 2.5e-10)]
    laid_out = layout(pd.DataFrame(rows), "sssp", [])
    assert laid_out.columns[0].unit == "ns" and keys_and(laid_out, "ours") == [("map", "cpu", "0.2500")]


def test_values_of_very_different_size_have_a_unit_each():
    rows = [point("a", graph=g) | quantity("time", "s", t) for g, t in (("small", 1e-6), ("large", 10.0))]
    laid_out = layout(pd.DataFrame(rows), "sssp", [])
    assert laid_out.columns[0].unit == "" and keys_and(laid_out, "ours") == [
        ("small", "cpu", "1 µs"),
        ("large", "cpu", "10 s"),
    ]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.01234567, "s", "12.35 ms"),
        (3.5e-7, "s", "350 ns"),
        (0, "s", "0 s"),
        (1427876, "", "1,427,876"),
        (0.59, "", "0.5900"),
        (83666.4, "", "83,666"),
        (3 << 30, "bytes", "3 GiB"),
        (2.5e9, "edges/s", "2.500 Gedges/s"),
        (1.5e-7, "", "1.50 × 10⁻⁷"),
        (350, "us", "350 µs"),
        (0.033, "TOP/s", "0.03300 TOP/s"),
        (12e9, "TEPS", "12 GTEPS"),
        (0, "bytes", "0 B"),
        (1023, "bytes", "1,023 B"),
        (1024, "bytes", "1 KiB"),
        (1 << 20, "bytes", "1 MiB"),
        (1023 << 20, "bytes", "1,023 MiB"),
        (1 << 30, "bytes", "1 GiB"),
        (999, "vertices", "999 vertices"),
        (1000, "vertices", "1 k vertices"),
        (999_999, "vertices", "1,000 k vertices"),
        (1e6, "vertices", "1 M vertices"),
        (999e6, "TEPS", "999 MTEPS"),
        (1e9, "TEPS", "1 GTEPS"),
        (1e12, "TEPS", "1 TTEPS"),
        (1e-3, "s", "1 ms"),
        (0.000999, "s", "999 µs"),
        (float("inf"), "s", "∞ s"),
        (float("nan"), "s", "–"),
        (None, "", "–"),
    ],
)
def test_numbers_are_readable(value, unit, text):
    assert readable(value, unit) == text


def test_digits_of_infinity():
    assert digits(float("-inf")) == "-∞"


def test_titles_are_typeset():
    assert typeset("Rate (10^12 op/s), threshold (us), 10^-3") == "Rate (10¹² op/s), threshold (µs), 10⁻³"


def test_reasons_of_failures(tmp_path):
    log = tmp_path / "a.log"
    assert lacking("a", log) == lacking("a", None) == Lacking("a", NOT_RUN, "not run")
    log.write_text("error: first\nmore of it\nerror: last\n")
    assert lacking("a", log).reason == "last" and lacking("a", log).fate == "failed"
    # A failure of its own is not put down to the end of the run.
    assert lacking("a", log, stopped=True).fate == "failed"
    log.write_text("Killed\n")
    assert lacking("a", log) == Lacking("a", KILLED, "failed")
    log.write_text("a library said error: nothing to worry about\n")
    assert lacking("a", log) == Lacking("a", KILLED, "failed")
    log.write_text("began\n")
    assert lacking("a", log) == Lacking("a", KILLED, "failed")
    # As Snakemake leaves it where Slurm refused the job.
    log.write_text("")
    assert lacking("a", log) == Lacking("a", NOT_BEGUN, "failed")
    log.write_text("half\ndone\n")
    assert lacking("a", log).reason == LOST
    assert (lacking("a", log, stopped=True).reason, lacking("a", log, stopped=True).fate) == (STOPPED_WITHIN, "stopped")


def test_a_log_of_another_run_is_not_quoted(tmp_path):
    log = tmp_path / "a.log"
    log.write_text("error: of another day\n")
    os.utime(log, (1000, 1000))
    assert lacking("a", log, since=1000).reason == "of another day"
    assert lacking("a", log, since=1001).reason == NOT_RUN
    assert lacking("a", log, since=1001, stopped=True).reason == STOPPED


def test_every_job_without_a_result_counts_once(plan, tmp_path):
    """Failed steps count beside failed points; what is there does not."""
    plan["steps"] = [
        {"what": "generate map", "output": str(tmp_path / "no"), "log": str(tmp_path / "failed.log")},
        {"what": "compile sm_90/sssp/fast", "output": str(tmp_path / "map"), "log": str(tmp_path / "no.log")},
    ]
    found = outcome(ReportPlan.model_validate(plan))
    assert [one.what for one in found.lacking] == ["generate map", "fig_a/cuda/map/selection/default"]
    assert found.counts == "3 points, 2 failed, 2 left out"
    text = text_of(shown(plan))
    assert "2 jobs have no result" in text
    # The graph's failure is no failure of the experiment's.
    assert "1 point without a result: cuda/map/selection/default graph map" in text
    del plan["steps"], plan["points"][2]
    assert outcome(ReportPlan.model_validate(plan)).counts == "2 points, 0 failed, 2 left out"
    assert "without a result" not in text_of(shown(plan)) and "no result" not in text_of(shown(plan))


def test_what_is_gone_but_served_is_no_failure(plan, tmp_path):
    one, other = tmp_path / "one.parquet", tmp_path / "other.parquet"
    step = {"what": "queries", "output": str(tmp_path / "gone"), "log": "no.log", "serves": [str(one), str(other)]}
    plan["steps"] = [step]

    def named():
        return [what.what for what in outcome(ReportPlan.model_validate(plan)).lacking if what.what == "queries"]

    assert named() == ["queries"]
    one.touch()
    assert named() == ["queries"]
    other.touch()
    assert named() == []
    # Samples of another configuration are none.
    plan["points"][0]["identity"] = "another"
    step["serves"] = [plan["points"][0]["samples"]]
    assert named() == ["queries"]


def test_a_job_that_only_shows_is_named_where_it_failed_itself(plan, tmp_path):
    log = tmp_path / "vega.log"
    plan["steps"] = [{"what": "vega", "output": str(tmp_path / "no.js"), "log": str(log), "last": True}]
    assert not [line for line in lines_of(plan) if "vega" in line]
    log.write_text("error: the disk is full\n")
    assert "failed: vega: the disk is full" in lines_of(plan)
    log.write_text("began\n")
    assert f"failed: vega: {KILLED}" in lines_of(plan)
    log.write_text("stopped\n")
    assert not [line for line in lines_of(plan) if "vega" in line]


def test_the_console_names_reasons_before_what_did_not_run_for_them(plan):
    first = plan["points"][2]
    late = [{**first, "name": f"fig_a/cuda/map/selection/n~{n}", "log": "nowhere.log"} for n in range(8)]
    plan["points"] = [*late, *plan["points"]]
    lines = [line for line in lines_of(plan) if line.startswith(("failed: ", "not run: "))]
    assert len(lines) == 4 and lines[0].startswith("failed: ") and "141.2 GiB" in lines[0]
    assert all(line.startswith("not run: ") and line.endswith(NOT_RUN) for line in lines[1:])
    assert lines_of(plan)[-1] == "11 points, 1 failed, 8 not run, 2 left out"
    assert "and 5 more without a result, named in the report" in lines_of(plan)


@pytest.mark.parametrize(("there", "served", "failed"), [(0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 0), (0, None, 1)])
def test_a_file_that_has_served_may_be_gone(plan, tmp_path, there, served, failed):
    log = tmp_path / "fetch.log"
    log.write_text("error: no such host\n")
    step = {"what": "fetch a.gr", "output": str(tmp_path / "a.gr"), "log": str(log)}
    if served is not None:
        step["serves"] = [str(tmp_path / "graph.parquet")]
    for name, exists in (("a.gr", there), ("graph.parquet", served)):
        if exists:
            (tmp_path / name).write_text("")
    plan["steps"] = [step]
    assert ("failed: fetch a.gr: no such host" in lines_of(plan)) == bool(failed)


def test_a_time_without_a_rival_is_no_best(plan, tmp_path):
    write_table(table()[lambda rows: rows["threshold_up"] == 9.0], tmp_path / "a.parquet")
    said = lines_of(plan)[0]
    assert said.startswith("fig_a: median, map on cpu: ") and "best" not in said
    # At a glance are those that something was compared with.
    assert "At a glance" not in shown(plan)
    write_table(table(), tmp_path / "a.parquet")
    assert "At a glance" in shown(plan)


def test_a_list_that_fits_the_console_is_whole(plan):
    first = plan["points"][2]
    for count in (4, 5):
        late = [{**first, "name": f"fig_a/cuda/map/selection/n~{n}"} for n in range(count)]
        plan["points"] = [*plan["points"][:2], *late]
        said = [line for line in lines_of(plan) if "without a result" in line]
        assert said == (["and 1 more without a result, named in the report"] if count == 5 else [])
        assert sum(line.startswith("failed: ") for line in lines_of(plan)) == 4


def test_an_experiment_names_its_own_failures_only(plan):
    plan["experiments"].append({**plan["experiments"][0], "name": "fig", "title": "Another"})
    html = shown(plan)
    section = html[html.index('<section class="experiment" id="fig">') :]
    assert "without a result" not in text_of("<body>" + section[: section.index("</section>")])


def test_points_of_a_stopped_run_are_called_stopped(plan):
    plan["points"].append({**plan["points"][2], "name": "fig_a/cpu/map/fast/default", "log": "nowhere.log"})
    lines = lines_of(plan, stopped=True)
    assert lines[-1] == "4 points, 1 failed, 1 stopped, 2 left out"
    assert f"stopped: fig_a/cpu/map/fast/default: {STOPPED}" in lines


def test_samples_of_another_configuration_are_out_of_date(plan, tmp_path):
    write_samples(tmp_path / "cpu.parquet", seconds(0.1), identity="then", provenance={"cpu": "Old CPU"})
    assert lines_of(plan)[-1] == "3 points, 1 failed, 1 out of date, 2 left out"
    text = text_of(shown(plan, partial=True))
    assert f"cpu/map/adaptive/default {OUT_OF_DATE}" in text and "Old CPU" not in text


@pytest.mark.parametrize("which", ["table", "chart"])
def test_tables_and_charts_of_another_configuration_are_not_shown(plan, tmp_path, which):
    if which == "table":
        write_table(table(), tmp_path / "a.parquet", "then")
        assert lines_of(plan)[0] == f"fig_a: no table, {OUT_OF_DATE}"
    else:
        (tmp_path / "a.json").write_text((tmp_path / "a.json").read_text().replace('"now"', '"then"'))
    with pytest.raises(Failure, match=f"the {which} of fig_a is out of date"):
        shown(plan)
    html = shown(plan, partial=True)
    assert f"the {which} is out of date" in text_of(html)
    assert ("87.10" in text_of(html)) == (which == "chart")
    assert ('id="chart-fig_a"' in html) == (which == "table")
    assert (">SVG<" in html) == (which == "table")


def test_unavailable_points_are_left_out_with_the_reason_and_no_failures(plan, tmp_path):
    write_samples(tmp_path / "cpu.parquet", [], unavailable="needs integer weights")
    plan["points"][0]["name"] = "fig_a/cpu/map/phast/n~4"
    lines = lines_of(plan)
    assert lines[-1] == "2 points, 1 failed, 3 left out"
    assert "left out: phast on cpu in fig_a (map, n~4): needs integer weights" in lines
    text = text_of(shown(plan))
    assert "phast on cpu in fig_a (map, n~4) needs integer weights" in text
    # The only point measured is the GPU's.
    assert "8 timed answers" in text and "1 point, 8" in text and "2 points, 16" not in text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fig_a/cpu/map/fast/default", "fast on cpu in fig_a (map)"),
        (f"fig_a/cuda/{NO_GRAPH}/tiled/n~64", "tiled on cuda in fig_a (n~64)"),
        (f"fig_a/cuda/{NO_GRAPH}/tiled/default", "tiled on cuda in fig_a"),
    ],
)
def test_a_point_in_words(name, words):
    point = PlannedPoint(name=name, identity="", samples="a", log="b")
    assert point.words == words and point.experiment == "fig_a"


def test_a_sample_file_that_cannot_be_read_is_a_failure(plan, tmp_path):
    (tmp_path / "cpu.parquet").write_text("")
    assert any("cpu.parquet: cannot be read" in line for line in lines_of(plan))
    assert lines_of(plan)[-1] == "3 points, 2 failed, 2 left out"


def test_a_busy_machine_is_said_in_the_summary_and_on_the_page(plan, tmp_path):
    assert not any(line.startswith("beware") for line in lines_of(plan))
    assert "Beware" not in shown(plan)
    write_samples(tmp_path / "cpu.parquet", seconds(0.1), disturbed=["other load"], settled=False)
    (said,) = [line for line in lines_of(plan) if line.startswith("beware: ")]
    assert said == (
        "beware: the machine was busy or its clock moved in 1 of 2 points (other load); "
        "the median had not settled in 1 of 2 points"
    )
    assert "Beware. The machine was busy" in text_of(shown(plan))


def test_numbers_that_had_not_settled_are_marked_at_a_glance(plan, tmp_path):
    write_table(table().assign(settled=False), tmp_path / "a.parquet")
    text = text_of(shown(plan))
    assert "87.10 ms †" in text and "87.10 † 78.39" in text and "★" not in text
    assert "(not settled)" in lines_of(plan)[0]


def test_generated_graphs_are_called_synthetic(plan, tmp_path):
    del plan["graphs"][0]["synthetic"]
    text = text_of(shown(plan))
    assert "synthetic generated" in text and "real" not in text[text.index("Graphs graph") : text.index("Not there")]
    write_graph(Graph(np.array([0, 1]), np.array([0], np.int32), np.array([5], np.uint32)), tmp_path / "net")
    row = graph_row("net", "A net", tmp_path / "net", None, None)
    assert (row.synthetic, row.origin, row.vertices) == (None, "downloaded", 1)
    assert graph_row("map", "A map", tmp_path / "map", None, None).synthetic == "generated"
    drawn = Graph(np.array([0, 1]), np.array([0], np.int32), None, metadata={"generator": "ring", "seed": 7})
    write_graph(drawn.with_metadata(parameters={"vertices": 1, "odd": True}), tmp_path / "drawn")
    row = graph_row("drawn", "Drawn", tmp_path / "drawn", None, None)
    assert row.origin == "generated: ring(vertices=1, odd=True), seed 7"
    assert graph_row("gone", "Gone", tmp_path / "gone", None, None).origin == "not there"


def test_a_machine_names_every_combination_of_software_once(tmp_path):
    paths = [
        write_samples(tmp_path / f"{n}.parquet", seconds(1.0), provenance={"commit": commit, "dirty": dirty})
        for n, (commit, dirty) in enumerate([("a", False), ("b", False), ("a", False), ("a", True)])
    ]
    (machine,) = machines(paths)
    assert [(one["commit"], one["dirty"]) for one in machine.software] == [("a", False), ("b", False), ("a", True)]
    assert (machine.points, machine.samples) == (4, 4)


def test_machines_tell_cpu_from_gpu(tmp_path):
    late = {"measured_at": "2026-01-03T00:00:00+00:00"}
    paths = [
        write_samples(tmp_path / "0.parquet", seconds(1.0, 2.0), backend="cuda"),
        write_samples(tmp_path / "1.parquet", seconds(1.0, 2.0)),
        write_samples(tmp_path / "2.parquet", seconds(1.0, 2.0), provenance=late),
        write_samples(tmp_path / "3.parquet", seconds(1.0), cores=1),
    ]
    # Whichever file is read first; the same software is said once.
    one, other = (
        [(m.backend, m.first, m.last, len(m.software)) for m in machines(order) if m.facts["cores"] == 4]
        for order in (paths, paths[::-1])
    )
    assert one == other and [software for *_, software in one] == [1, 1]
    found = machines(paths)
    assert [(m.backend, m.facts["cores"], m.points, m.samples) for m in found] == [
        ("cpu", 4, 2, 4),
        ("cpu", 1, 1, 1),
        ("cuda", 4, 1, 2),
    ]
    assert (found[0].first[:10], found[0].last[:10]) == ("2026-01-02", "2026-01-03")


def test_the_index_lists_the_runs_the_latest_first(plan, tmp_path):
    results = tmp_path / "results"
    for name in ("default", "h200 & more"):
        (tmp_path / "plan.json").write_text(json.dumps({**plan, "name": name, "title": f"Run <{name}>"}))
        output = results / name / "report.html"
        command = [sys.executable, "-m", "saitan.workflow.report", "--plan", tmp_path / "plan.json", "--peers", PEERS]
        command += ["--vega", tmp_path / "plan.json"]
        subprocess.run([*command, "--output", output, "--index", results / "index.html"], check=True)
    (results / "old").mkdir()
    (results / "old/report.html").write_text("")
    (results / "graphs").mkdir()
    write_index(results / "index.html")
    html = (results / "index.html").read_text()
    assert re.findall(r'href="([^"]*)"', html) == [
        "h200%20%26%20more/report.html",
        "default/report.html",
        "old/report.html",
    ]
    text = text_of(html)
    assert "Run &lt;default&gt; default 20" in text and "Example CPU, Example GPU" in text
    assert "3 points, 1 failed, 2 left out incomplete" in text and "graphs" not in text
    # Of the one that left no report.json nothing is known.
    assert text.count("incomplete") == 2 and "not settled" not in text


def test_an_index_without_runs_says_so(tmp_path):
    write_index(tmp_path / "index.html")
    assert "No run has a report yet" in (tmp_path / "index.html").read_text()
