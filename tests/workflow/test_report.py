import json
import re
import subprocess
import sys

import pandas as pd
import pytest
from reports import lines_of, point, quantity, shown, table, text_of, write_table
from samples import seconds, write_samples
from tiny import ROOT

from saitan.problem import problem
from saitan.workflow.index import entry
from saitan.workflow.provenance import NO_COMMIT
from saitan.workflow.quoted import Quoted
from saitan.workflow.report import ReportPlan, main, read_plan, write_report
from saitan.workflow.report_outcome import (
    OUT_OF_DATE,
    outcome,
)
from saitan.workflow.step import Failure
from saitan.workflow.views_rivals import BEST

PEERS = ROOT / "config/peers.yaml"


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
        "networkit is not installed networkit in fig_a, networkit in fig_b",
        "relax 37 0 8 12 0 1",
        "Somebody et al., Fig 1",
        "synthetic weights are drawn",
    ):
        assert wanted in text, wanted
    assert "Traceback" not in text


def test_in_print_no_heading_is_parted_from_what_it_heads():
    style = (ROOT / "workflow/report_template/page.css").read_text()
    printed = style[style.index("@media print") :]
    kept = [part.strip() for part in re.search(r"([^{}]*) { break-after: avoid; }", printed)[1].split(",")]
    assert {"h2", "h3", "caption", "thead", ".group", "summary", "dt"} <= set(kept)


def without_scripts(html):
    return re.sub(r"(<script\b[^>]*>).*?</script>", r"\1", html, flags=re.S)


def test_the_page_asks_nothing_of_the_network(plan):
    html = shown(plan)
    assert "default-src 'none'" in html
    tags = re.findall(r"<(?:script|link|img|iframe|a|use|source)\b[^>]*>", without_scripts(html))
    targets = [value for tag in tags for value in re.findall(r'\b(?:src|href)="([^"]*)"', tag)]
    assert len(targets) > 5
    assert all(value.startswith(("#", "data:")) for value in targets)
    assert "@import" not in html
    assert not re.search(r"url\(\s*['\"]?http", html)


def test_data_cannot_end_the_script_that_holds_them(plan):
    html = shown(plan)
    (chart,) = re.findall(r'<script type="application/json" id="chart-fig_a">(.*?)</script>', html, flags=re.S)
    assert json.loads(chart)["data"]["values"][0]["text"] == "</script><b>"


def test_no_anchor_of_the_page_is_taken_for_an_experiment(plan):
    html = without_scripts(shown(plan))
    anchors = re.findall(r'\bid="([^"]*)"', html)
    assert len(anchors) > 8 and [name for name in anchors if re.fullmatch(r"\w+", name)] == ["fig_a"]
    script = (ROOT / "workflow/report_template/page.js").read_text()
    asked = {*re.findall(r'href="#([^"]*)"', html), *re.findall(r'getElementById\("([^"]*)"\)', script)}
    assert asked <= {*anchors} and {"page-themes", "page-failed"} <= asked


def test_names_in_a_text_are_code(plan):
    plan["experiments"][0]["text"] = "How fast `fast` is, & `<b>`."
    assert "<p>How fast <code>fast</code> is, &amp; <code>&lt;b&gt;</code>.</p>" in shown(plan)


def test_names_in_titles_are_code_where_they_head_something(plan):
    plan["title"], plan["experiments"][0]["title"] = "A `run`", "How fast `<b>` is"
    html = without_scripts(shown(plan))
    assert "<title>A run</title>" in html and "<h1>A <code>run</code></h1>" in html
    assert 'alt="How fast &lt;b&gt; is"' in html
    # The contents, at a glance and over the section.
    assert html.count('<a href="#fig_a">How fast <code>&lt;b&gt;</code> is</a>') == 3 and "`" not in html


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
    assert "1 adaptive threshold_up=350 GPU 87.10 ms 2× 2 conventional GPU 107 ms 1.63×" in text
    assert "Other quoted Other 1.0; measured on a GPU, 2026-01-02 GPU 174.2 ms 1×" in text
    assert "best peer" not in text_of(shown(plan))


def test_a_variant_that_is_no_more_is_passed_over(plan):
    plan["experiments"][0]["variants"] = ["adaptive", "removed since"]
    assert "87.10" in text_of(shown(plan)) and "removed since" not in shown(plan)


def test_a_chart_without_its_figure_is_not_drawn(plan, tmp_path):
    assert '"bind":"scales"' in shown(plan)
    (tmp_path / "a.svg").unlink()
    html = shown(plan, partial=True)
    assert "the figure is missing" in text_of(html) and '"bind":"scales"' not in html


def test_software_that_machines_share_is_named_once(plan, tmp_path):
    def commits():
        section = re.search(r'<section id="page-software">.*?</section>', shown(plan), re.S)[0]
        return re.findall("[0-9a-f]{12}", section)

    assert commits() == ["0123456789ab"]
    write_samples(tmp_path / "cpu.parquet", seconds(0.1), provenance={"commit": "feed" * 10})
    assert sorted(commits()) == ["0123456789ab", "feedfeedfeed"]


def test_code_that_is_not_committed_is_said_beside_its_commit(plan, tmp_path):
    assert "with changes not committed" not in text_of(shown(plan))
    assert "Measured with changes that are not committed" not in text_of(shown(plan))
    samples = tmp_path / plan["points"][0]["samples"]
    write_samples(samples, seconds(1.0), provenance={"dirty": True}, identity=plan["points"][0]["identity"])
    assert text_of(shown(plan)).count("0123456789ab, with changes not committed") == 1
    assert "Measured with changes that are not committed" in text_of(shown(plan))


def test_code_of_no_commit_has_no_changes_of_it(plan, tmp_path):
    samples = tmp_path / plan["points"][0]["samples"]
    outside = {"commit": NO_COMMIT, "dirty": True}
    write_samples(samples, seconds(1.0), provenance=outside, identity=plan["points"][0]["identity"])
    page = text_of(shown(plan))
    assert "Measured with code outside a repository: no commit reproduces these numbers." in page
    assert "not committed" not in page


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


@pytest.mark.parametrize("option", ["plan", "output", "peers"])
def test_what_the_report_must_be_told_is_named(monkeypatch, capsys, option):
    given = {"plan": "p", "output": "o", "peers": "q"}
    arguments = [f"--{name}={value}" for name, value in given.items() if name != option]
    monkeypatch.setattr(sys, "argv", ["report", *arguments])
    with pytest.raises(SystemExit):
        main()
    assert f"the following arguments are required: --{option}" in capsys.readouterr().err


def test_of_many_bests_the_first_are_named_and_the_others_counted(plan, monkeypatch):
    assert not any("more" in line for line in lines_of(plan))
    monkeypatch.setattr("saitan.workflow.report.LONG_LIST", 1)
    line = lines_of(plan)[0]
    assert line.endswith("; and 1 more") and line.count(": adaptive") == 1


def test_summary_of_an_experiment_without_times(plan, tmp_path):
    rows = [{"graph": "map"} | quantity("vertices", "", 10, paper=20), {"graph": "map"} | quantity("arcs", "", 10)]
    write_table(rows, tmp_path / "a.parquet")
    assert lines_of(plan)[0] == "fig_a: 2 quantities, 1 beside the paper's"


def test_printed_numbers_of_which_none_goes_with_ours_are_told(plan, tmp_path):
    cited = "Printed numbers: Somebody et al., Fig 1. "
    assert cited in text_of(shown(plan))
    write_table(table().assign(paper=None, over_paper=None), tmp_path / "a.parquet")
    told = cited.replace(". ", "; none of them goes with a number here. ")
    assert told in text_of(shown(plan))
    plan["experiments"][0]["printed"] = False
    assert cited in text_of(shown(plan))
    # In the chart one does.
    plan["experiments"][0]["printed"] = True
    drawn = (tmp_path / "a.json").read_text()
    (tmp_path / "a.json").write_text(drawn.replace('"x":1', '"source":"paper, 3 vertices","x":1'))
    assert cited in text_of(shown(plan))
    plan["experiments"][0]["origin"] = "the note of `fast`"
    assert "Printed numbers: the note of <code>fast</code>." in shown(plan)


def test_an_experiment_of_which_nothing_could_run_says_so(plan, tmp_path):
    write_table(table()[:0], tmp_path / "a.parquet")
    assert lines_of(plan)[0] == "fig_a: no point has what its table shows"
    assert "It was measured, and no point has what its table shows: a quantity that" in text_of(shown(plan))
    for backend in ("cpu", "cuda"):
        write_samples(tmp_path / f"{backend}.parquet", [], backend=backend, unavailable="needs another machine")
    assert lines_of(plan)[0] == "fig_a: nothing of it could run"
    assert "Nothing of it could run; see what was left out and why ." in text_of(shown(plan))


def test_the_parameters_of_a_table_are_explained(plan, tmp_path):
    says = problem("sssp").VARIANTS["adaptive"].parameters["threshold_up"].says
    assert f"Variants and parameters adaptive {problem('sssp').VARIANTS['adaptive'].summary}" in text_of(shown(plan))
    assert f"threshold up {says}" in text_of(shown(plan))
    write_table(table().drop(columns="threshold_up"), tmp_path / "a.parquet")
    assert "Variants adaptive" in text_of(shown(plan)) and f"threshold up {says}" not in text_of(shown(plan))


def test_what_has_no_row_in_a_table_is_named_below_it(plan, tmp_path):
    told = "Measured, and without any of these quantities: adaptive on map."
    plan["experiments"][0]["quantities"] = ["time", "phases"]
    assert told not in text_of(shown(plan))
    write_table(table()[lambda rows: rows["variant"] != "adaptive"], tmp_path / "a.parquet")
    assert told in text_of(shown(plan))
    plan["experiments"][0]["quantities"] = ["time", "prepare_s", "phases", "share of limit"]
    assert f"No point has prepare or share of limit. {told}" in text_of(shown(plan))
    graphs = [f"map{n}" for n in range(1, 6)]
    plan["points"][:1] = [plan["points"][0] | {"name": f"fig_a/cpu/{graph}/adaptive/default"} for graph in graphs]
    assert f"{told[:-1]}, adaptive on map1, adaptive on map2, adaptive on map3 and 2 more. " in text_of(shown(plan))
    del plan["points"][3:5]
    assert f"{told[:-1]}, adaptive on map1, adaptive on map2, adaptive on map3. " in text_of(shown(plan))


def test_what_is_compared_with_nothing_of_the_view_rivals_is_named(plan, tmp_path):
    told = "Measured, and compared with nothing of fast: "
    names = ("fast/default", "adaptive/threshold_up~30", "scipy/default", "selection/default")
    plan["points"] = [plan["points"][0] | {"name": f"fig_a/cpu/map/{name}"} for name in names]
    plan["experiments"][0] |= {"quantities": ["time", "levels"], "compared": "fast"}
    rows = [("time", "s", 0.1), (BEST, "", 2.0), ("over adaptive", "", 3.0), ("over scipy on cuda", "", 2.0)]
    write_table([point("fast") | quantity(*row, paper=0) for row in rows], tmp_path / "a.parquet")
    assert f"No point has levels. {told}selection on map. " in text_of(shown(plan))
    plan["points"] = plan["points"][:3]
    plan["experiments"][0]["quantities"] = ["time"]
    assert told not in text_of(shown(plan)) and "No point has" not in text_of(shown(plan))


def test_quantities_are_explained(plan, tmp_path):
    says = problem("sssp").METRICS["phases"].says
    time = "time of the kernel, or of the loop on a CPU"
    assert f"Quantities {time} phases {says}" in text_of(shown(plan))
    rows = [point("adaptive") | quantity(f"share of limit ({of})", "%", 50.0) for of in ("reading", "writing")]
    write_table([*rows, point("adaptive") | quantity("total time", "s", 1.0)], tmp_path / "a.parquet")
    text = text_of(shown(plan))
    assert "Quantities total time of the whole call, answer delivered to the host share of limit the least time" in text
    # Of a chart too, whose columns are traces in a view of phases.
    plan["experiments"][0]["columns"] = ["phases", "updated", "seconds", "variant"]
    assert f"delivered to the host phases {says} share of limit the least time" in text_of(shown(plan))
    plan["experiments"][0]["phases"] = True
    traces = problem("sssp").TRACES
    assert f"updated {traces['updated'].says} seconds of the phase" in text_of(shown(plan))
    # Of a graph nothing is measured.
    plan["experiments"][0] |= {"variants": [], "problem": None}
    write_table([{"graph": "map"} | quantity("arcs", "", 10, paper=0)], tmp_path / "a.parquet")
    assert "Quantities" not in text_of(shown(plan))


def test_what_a_point_is_asked_is_told_where_there_is_a_table(plan, tmp_path):
    plan["experiments"][0]["sampling"] = "Up to 8 queries, drawn by seed 1."
    assert "Printed numbers: Somebody et al., Fig 1. Up to 8 queries, drawn by seed 1. CSV" in text_of(shown(plan))
    (tmp_path / "a.parquet").unlink()
    assert "Up to 8 queries" not in text_of(shown(plan, partial=True))


def test_the_summary_of_rivals_names_ratios_to_the_best_of_the_others(plan, tmp_path):
    rows = []
    for graph, ratio, settled in (("slow", 0.0027, True), ("map", 1.5, False), ("alone", None, True)):
        rows.append(point("fast", graph=graph) | quantity("time", "s", 0.2))
        if ratio is not None:
            rows.append(point("fast", graph=graph) | quantity("over scipy", "", 3.0))
            rows.append(point("fast", graph=graph) | quantity(BEST, "", ratio, settled=settled))
    write_table(rows, tmp_path / "a.parquet")
    of = "times as good as the best of the others"
    assert lines_of(plan)[0] == f"fig_a: slow on cpu: fast 0.00270 {of}; map on cpu: fast 1.50 {of} (not settled)"
    glance = text_of(shown(plan)).split("At a glance")[1]
    assert "CPU slow fast 0.00270 × the best of the others CPU map fast 1.50 × the best of the others †" in glance
    write_table(
        [row | {"settled": True, "disturbed": "other load"} for row in rows[-2:-1]] + rows[:-2], tmp_path / "a.parquet"
    )
    assert lines_of(plan)[0].endswith(f"{of} (disturbed)")
    write_table([row for row in rows if row["graph"] == "alone"], tmp_path / "a.parquet")
    assert lines_of(plan)[0] == "fig_a: median, alone on cpu: fast 200 ms"
    assert "At a glance" not in shown(plan)


def test_a_broken_plan_is_one_line_that_names_the_key(plan, tmp_path):
    del plan["experiments"][0]["table"]
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(Failure, match=r"plan\.json: experiments\.0\.table: Field required"):
        read_plan(tmp_path / "plan.json")
    for other, says in ((b"[]", "Input should be an object"), (b"\xff", "Invalid JSON")):
        (tmp_path / "plan.json").write_bytes(other)
        with pytest.raises(Failure, match=rf"plan\.json: plan: {says}.*; remove it and run again"):
            read_plan(tmp_path / "plan.json")


@pytest.mark.parametrize(
    ("doubtful", "cpu", "cuda"),
    [
        ([], "best, map on cpu: adaptive", "; map on cuda: adaptive"),
        (["cuda"], "best, map on cpu: adaptive", "; map on cuda: undecided, adaptive"),
        (["cpu", "cuda"], "undecided, map on cpu: adaptive", "; map on cuda: adaptive"),
    ],
)
def test_what_is_undecided_on_the_page_is_so_on_the_console(plan, tmp_path, doubtful, cpu, cuda):
    write_table(table().assign(settled=lambda rows: ~rows["backend"].isin(doubtful)), tmp_path / "a.parquet")
    said = lines_of(plan)[0]
    assert said.startswith(f"fig_a: {cpu} (threshold_up=350) 871 ms") and cuda in said
    assert shown(plan).count("undecided:") == len(doubtful)


def test_a_time_without_a_rival_is_no_best(plan, tmp_path):
    write_table(table()[lambda rows: rows["threshold_up"] == 9.0], tmp_path / "a.parquet")
    said = lines_of(plan)[0]
    assert said.startswith("fig_a: median, map on cpu: ") and "best" not in said
    # At a glance are those that something was compared with.
    assert "At a glance" not in shown(plan)
    write_table(table(), tmp_path / "a.parquet")
    assert "At a glance" in shown(plan)


def test_an_experiment_names_its_own_failures_only(plan):
    plan["experiments"].append({**plan["experiments"][0], "name": "fig", "title": "Another"})
    html = shown(plan)
    section = html[html.index('<section class="experiment" id="fig">') :]
    assert "without a result" not in text_of("<body>" + section[: section.index("</section>")])


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


@pytest.mark.parametrize("file", ["a.parquet", "a.json"])
def test_a_damaged_table_or_chart_does_not_take_a_partial_report_with_it(plan, tmp_path, file):
    whole = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Failure, match=rf"{file}: .* remove it and run again"):
        shown(plan)
    html = shown(plan, partial=True)
    assert "remove it and run again" in text_of(html)
    assert ("87.10" in text_of(html)) == (file != "a.parquet")
    line = lines_of(plan)[0]
    assert line.startswith("fig_a: no table, ") == (file == "a.parquet") == ("remove it" in line)


def test_a_run_that_was_stopped_after_its_last_point_is_incomplete(plan, tmp_path):
    plan.update(points=[], steps=[])
    assert "Incomplete." not in text_of(shown(plan, partial=True))
    (tmp_path / "a.parquet").unlink()
    assert "Incomplete. The run ended before all tables" in text_of(shown(plan, partial=True))
    # As after SIGTERM, which lets steps that run end by themselves.
    plan["steps"] = [{"what": "draw fig_b", "log": "none.log", "serves": [], "output": str(tmp_path / "b.svg")}]
    text = text_of(shown(plan, partial=True))
    assert "Incomplete. 1 job has no result; see which and why . Tables and charts that were not made are named" in text
    plan["steps"] = []
    told = ReportPlan.model_validate(plan)
    assert entry(told, outcome(told)).complete and not entry(told, outcome(told), partial=True).complete


@pytest.mark.parametrize("jobs", [3, 300])
def test_a_long_list_of_what_did_not_run_is_folded(plan, jobs):
    step = {"log": "none.log", "serves": []}
    names = [f"fetch graph-{i}" for i in range(jobs)]
    plan.update(steps=[step | {"what": name, "output": f"{i}.gr"} for i, name in enumerate(names)])
    page = shown(plan, partial=True)
    [entry] = re.findall(r"<dd>(?:(?!</dd>).)*fetch graph-0,.*?</dd>", page)
    assert all(name in entry for name in names) and ("<details" in entry) == (jobs == 300)


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


def test_those_with_equal_numbers_stand_side_by_side(plan, tmp_path):
    rows = [point(name) | quantity("time", "s", ours) for name, ours in (("scipy", 2.0), ("fast", 2.0), ("slow", 3.0))]
    write_table(pd.DataFrame(rows), tmp_path / "a.parquet")
    plan["experiments"][0]["variants"] = ["scipy", "fast", "slow"]
    text = text_of(shown(plan))
    assert "scipy and fast 2 s" in text and text.count("2 ★") == 2
    assert "best, map on cpu: scipy and fast 2 s" in lines_of(plan)[0]
    assert "1 scipy peer" in text and "1 fast" in text and "3 slow" in text


def test_a_speed_up_over_what_had_not_settled_is_marked_beside_a_number_that_had(plan, tmp_path):
    rows = [
        point("conventional") | quantity("time", "s", 3.0, settled=False),
        point("fast") | quantity("time", "s", 1.5),
    ]
    speed_up = point("fast") | quantity("speed-up over conventional", "", 2.0, settled=False)
    write_table(pd.DataFrame([*rows, speed_up]), tmp_path / "a.parquet")
    assert "3 † 1.500 2× †" in text_of(shown(plan))
    settled = [rows[0] | {"settled": True}, rows[1], speed_up | {"settled": True}]
    write_table(pd.DataFrame(settled), tmp_path / "a.parquet")
    text = text_of(shown(plan))
    assert "1.500 ★ 2×" in text and "†" not in text
