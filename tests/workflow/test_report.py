import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from saitan.graph import Graph
from saitan.workflow.graphs.parquet import write_graph
from saitan.workflow.graphs.plan import NO_GRAPH
from saitan.workflow.plan import PEERS
from saitan.workflow.ranking import Quoted
from saitan.workflow.report import ReportPlan, page, read_plan, summary_lines
from saitan.workflow.report_facts import NOT_RUN, failed, machines
from saitan.workflow.report_tables import bests, digits, layout, readable
from saitan.workflow.step import Failure


def quantity(name, unit, ours, q1=None, q3=None, paper=None, samples=8):
    ratio = ours / paper if paper else None
    return {
        "quantity": name,
        "unit": unit,
        "ours": ours,
        "q1": q1,
        "q3": q3,
        "samples": samples,
        "paper": paper,
        "ratio": ratio,
    }


def table():
    rows = []
    for variant, threshold, seconds in (
        ("conventional", None, 0.107),
        ("adaptive", 350.0, 0.0871),
        ("adaptive", 9.0, 0.3),
    ):
        for backend, slower in (("cpu", 10), ("cuda", 1)):
            point = {"backend": backend, "graph": "map", "variant": variant, "threshold_up": threshold}
            time = seconds * slower
            rows.append(point | quantity("time", "s", time, time * 0.9, time * 1.1, paper=0.0907))
            rows.append(point | quantity("phases", "", 1234, 1234, 1234))
    return pd.DataFrame(rows)


def sample(backend, **columns):
    row = {"backend": backend, "seconds": 0.1, "measured_at": "2026-01-02T03:04:05+00:00", "host": "node7"}
    row |= {"cpu": "Example CPU", "threads_used": 4, "python": "3.12.1", "packages": "saitan=0.1.0 numpy=2.1.3"}
    row |= {"commit": "0123456789abcdef", "dirty": False}
    if backend == "cuda":
        row |= {"gpu": "Example GPU", "gpu_clock_mhz": 1980, "cuda_driver": "13.0"}
    return row | columns


@pytest.fixture
def plan(tmp_path):
    """A run with one point measured, one failed, one left out, and one experiment whose table was never written."""
    table().to_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    data = {"values": [{"x": 1, "y": 2, "text": "</script><b>"}]}
    spec = {"mark": "point", "data": data, "encoding": {"x": {"field": "x"}, "y": {"field": "y"}}, "width": 300}
    spec["params"] = [{"name": "window", "select": "interval", "bind": "scales"}]
    (tmp_path / "a.json").write_text(json.dumps(spec, separators=(",", ":")))
    for backend in ("cpu", "cuda"):
        rows = pa.Table.from_pylist([sample(backend)] * 8)
        pq.write_table(rows, tmp_path / f"{backend}.parquet")
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

    def point(name, output, log="none.log"):
        return {"name": name, "samples": str(tmp_path / output), "log": str(tmp_path / log)}

    experiment = {
        "name": "fig_a",
        "title": "Time & <size>",
        "text": "A sentence.",
        "problem": "sssp",
        "variants": ["adaptive"],
        "origin": "Somebody et al., Fig 1",
        "table": str(tmp_path / "a.parquet"),
        "figure": {"svg": str(tmp_path / "a.svg"), "spec": str(tmp_path / "a.json")},
    }
    return {
        "title": "A run",
        "experiments": [experiment],
        "points": [
            point("fig_a/cpu/map/adaptive/default", "cpu.parquet"),
            point("fig_a/cuda/map/adaptive/default", "cuda.parquet"),
            point("fig_a/cuda/map/selection/default", "nothing.parquet", "failed.log"),
        ],
        "skipped": [{"what": f"networkit in fig_{x}", "reason": "networkit is not installed"} for x in "ab"],
        "resources": [str(resources)],
        "graphs": [
            {"name": "map", "title": "A map", "folder": str(tmp_path / "map"), "synthetic": "weights are drawn"},
            {"name": "gone", "title": "Not there", "folder": str(tmp_path / "gone")},
        ],
    }


def text_of(html):
    """What a reader sees, on one line."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", html[html.index("<body>") :], flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def test_the_page_shows_numbers_machines_reasons_and_graphs(plan):
    text = text_of(page(ReportPlan.model_validate(plan), partial=False))
    for wanted in (
        "Time &amp; &lt;size&gt;",
        "A sentence.",
        "Drag to move, pinch or Ctrl and wheel to zoom, double-click to reset. SVG",
        "87.10 ms 78.39 – 95.81 90.70 ms 0.96",
        "phases 1,234 8",
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
    html = page(ReportPlan.model_validate(plan), partial=False)
    assert "default-src 'none'" in html
    markup = re.sub(r"(<script\b[^>]*>).*?</script>", r"\1", html, flags=re.S)
    tags = re.findall(r"<(?:script|link|img|iframe|a|use|source)\b[^>]*>", markup)
    targets = [value for tag in tags for value in re.findall(r'\b(?:src|href)="([^"]*)"', tag)]
    assert len(targets) > 5
    assert all(value.startswith(("#", "data:")) for value in targets)
    assert "@import" not in html
    assert not re.search(r"url\(\s*['\"]?http", html)


def test_data_cannot_end_the_script_that_holds_them(plan):
    html = page(ReportPlan.model_validate(plan), partial=False)
    (chart,) = re.findall(r'<script type="application/json" id="chart-fig_a">(.*?)</script>', html, flags=re.S)
    assert json.loads(chart)["data"]["values"][0]["text"] == "</script><b>"


def test_a_missing_table_is_an_error_unless_the_report_is_partial(plan, tmp_path):
    plan["experiments"].append(
        {"name": "fig_b", "title": "Another", "table": str(tmp_path / "b.parquet"), "problem": "no such problem"}
    )
    with pytest.raises(Failure, match=r"b\.parquet: the table of fig_b is missing"):
        page(ReportPlan.model_validate(plan), partial=False)
    text = text_of(page(ReportPlan.model_validate(plan), partial=True))
    assert "Missing: the table" in text
    assert "87.10 ms" in text


def test_solvers_of_others_are_quoted_and_ranked(plan):
    solver = {"title": "Other 1.0", "problem": "sssp", "backend": "cuda", "quantity": "time"}
    solver["values"] = [{"graph": "map", "value": 0.1742}]
    quoted = Quoted.model_validate({"machine": "a GPU", "measured": "2026-01-02", "solvers": {"Other": solver}})
    text = text_of(page(ReportPlan.model_validate(plan), partial=False, quoted=quoted))
    assert "1 adaptive GPU 87.10 ms 2 2 conventional GPU 107 ms 1.63" in text
    assert "Other quoted Other 1.0; measured on a GPU, 2026-01-02 GPU 174.2 ms 1" in text
    assert "best peer" not in text_of(page(ReportPlan.model_validate(plan), partial=False))


def test_the_last_lines_say_what_was_found_and_where(plan, tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    output = tmp_path / "out" / "report.html"
    command = [sys.executable, "-m", "saitan.workflow.report", "--plan", tmp_path / "plan.json", "--peers", PEERS]
    command += ["--output", output]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert lines[-1] == f"report: {output}"
    assert lines[-2] == "3 points, 1 failed, 2 left out"
    assert lines[0].startswith("fig_a: fastest, map on cpu: adaptive (threshold_up=350) 871 ms; map on cuda: adaptive")
    assert "failed: fig_a/cuda/map/selection/default: graph map needs 141.2 GiB, 12.0 GiB are free" in lines
    assert output.read_text().startswith("<!doctype html>")


def test_summary_of_an_experiment_without_times(plan, tmp_path):
    rows = [{"graph": "map"} | quantity("vertices", "", 10, paper=20), {"graph": "map"} | quantity("arcs", "", 10)]
    pd.DataFrame(rows).to_parquet(tmp_path / "a.parquet")
    assert summary_lines(ReportPlan.model_validate(plan))[0] == "fig_a: 2 quantities, 1 beside the paper's"


def test_a_broken_plan_is_one_line_that_names_the_key(plan, tmp_path):
    del plan["experiments"][0]["table"]
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(Failure, match=r"plan\.json: experiments\.0\.table: Field required"):
        read_plan(tmp_path / "plan.json")


def test_blocks_come_by_graph_and_backend_with_the_fastest_of_each_marked():
    laid_out = layout(table(), [])
    assert laid_out.columns == ["graph", "backend", "variant", "threshold up"]
    assert [block.keys[1] for block in laid_out.blocks] == ["cpu"] * 3 + ["cuda"] * 3
    assert [block.keys for block in laid_out.blocks if block.best] == [
        ["map", "cpu", "adaptive", "350"],
        ["map", "cuda", "adaptive", "350"],
    ]
    assert laid_out.blocks[0].keys == ["map", "cpu", "conventional", "–"]
    assert [line.quantity for line in laid_out.blocks[0].lines] == ["time", "phases"]


def test_the_fastest_is_found_for_each_value_of_the_problems_own_parameters():
    rows = [
        {"backend": "cpu", "graph": None, "variant": variant, "size": size} | quantity("time", "s", seconds)
        for variant, size, seconds in (("tiled", 1, 2.0), ("fast", 1, 1.0), ("tiled", 2, 3.0), ("fast", 2, 4.0))
    ]
    assert [best.variant for best in bests(pd.DataFrame(rows), ["size"])] == ["fast", "tiled"]
    assert [best.variant for best in bests(pd.DataFrame(rows), [])] == ["fast"]
    assert [best.where for best in bests(pd.DataFrame(rows), ["size"])] == ["– size=1", "– size=2"]


def test_an_experiment_without_graphs_names_its_instances_instead():
    rows = [
        {"backend": "cuda", "graph": NO_GRAPH, "variant": variant, "n": 16384, "by": by} | quantity(name, "s", 5.6e-6)
        for variant, by, name in (("fast", "tile", "time"), ("fast", "tile", "prepass_s"), ("dense", "tile", "time"))
    ]
    table = pd.DataFrame(rows)
    assert [best.where for best in bests(table, ["n", "by"])] == ["n=16,384, by=tile"]
    laid_out = layout(table, ["n", "by"])
    assert laid_out.columns == ["backend", "variant", "n", "by"]
    assert laid_out.blocks[0].keys == ["cuda", "fast", "16,384", "tile"] and laid_out.blocks[0].best
    assert [(line.quantity, line.ours) for line in laid_out.blocks[0].lines] == [
        ("time", "5.600 µs"),
        ("prepass", "5.600 µs"),
    ]


def test_without_times_the_highest_rate_is_the_fastest():
    rows = [
        {"backend": "cpu", "graph": "g", "variant": variant} | quantity("rate", "TEPS", rate)
        for variant, rate in (("top-down", 1e9), ("hybrid", 5e9))
    ]
    (best,) = bests(pd.DataFrame(rows), [])
    assert str(best) == "hybrid 5 GTEPS"


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
        (1.5e-7, "", "1.5e-07"),
        (float("nan"), "s", "–"),
        (None, "", "–"),
    ],
)
def test_numbers_are_readable(value, unit, text):
    assert readable(value, unit) == text


def test_digits_of_infinity():
    assert digits(float("-inf")) == "-∞"


def test_reasons_of_failures(tmp_path):
    log, output = tmp_path / "a.log", tmp_path / "a.parquet"
    assert failed("a", output, log).reason == NOT_RUN
    log.write_text("error: first\nerror: last\nsomething after\n")
    assert failed("a", output, log).reason == "last"
    log.write_text("Killed\n")
    assert "no reason" in failed("a", output, log).reason
    output.write_text("")
    assert failed("a", output, log) is None


def test_machines_tell_cpu_from_gpu_and_skip_what_cannot_be_read(tmp_path):
    paths = []
    for number, row in enumerate(
        [sample("cuda"), sample("cpu"), sample("cpu", measured_at="2026-01-03T00:00:00+00:00")]
    ):
        paths.append(tmp_path / f"{number}.parquet")
        pq.write_table(pa.Table.from_pylist([row] * 2), paths[-1])
    (tmp_path / "broken.parquet").write_text("")
    found = machines([*paths, tmp_path / "broken.parquet"])
    assert [(m.backend, m.points, m.samples) for m in found] == [("cpu", 2, 4), ("cuda", 1, 2)]
    assert (found[0].first[:10], found[0].last[:10]) == ("2026-01-02", "2026-01-03")
