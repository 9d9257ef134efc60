import os
import time
from types import SimpleNamespace

import pytest
from reports import lines_of, shown, text_of, write_coded
from samples import seconds, write_samples

from saitan.workflow.index import entry
from saitan.workflow.points import NO_GRAPH
from saitan.workflow.report import ReportPlan
from saitan.workflow.report_outcome import (
    ANOTHER_ANSWER,
    EMPTY_LOG,
    KILLED,
    LOST,
    NOT_OF_THESE,
    NOT_REDRAWN,
    NOT_RUN,
    OUT_OF_DATE,
    STOPPED,
    STOPPED_WITHIN,
    Lacking,
    Outcome,
    lacking,
    outcome,
)
from saitan.workflow.report_plan import PlannedPoint
from saitan.workflow.samples import About
from saitan.workflow.step import CRASHED


def test_what_was_disturbed_counts_whether_or_not_it_settled():
    told = [About("a"), About("b", disturbed=("other load",)), About("c", settled=False, disturbed=("other load",))]
    assert Outcome(3, [(SimpleNamespace(experiment="e"), one) for one in told]).busy() == (
        "the machine was busy or its clock moved in 2 of 3 points (other load); "
        "the median had not settled in 1 of 3 points"
    )


@pytest.mark.parametrize(
    ("devices", "says"),
    [
        ({"e": ["CPU a", "CPU a", "GPU g", ""], "f": ["CPU b"]}, ""),
        (
            {"e": ["CPU a", "GPU g"], "f": ["CPU b", "CPU a"]},
            "points of an experiment are of several machines (CPU a, CPU b)",
        ),
    ],
)
def test_an_experiment_of_several_machines_is_named(devices, says):
    told = [
        (SimpleNamespace(experiment=name), About("a", device=one)) for name, found in devices.items() for one in found
    ]
    assert Outcome(len(told), told).busy() == says


def test_reasons_of_failures(tmp_path):
    log = tmp_path / "a.log"
    assert lacking("a", log) == lacking("a", None) == Lacking("a", NOT_RUN, "not run")
    log.write_text("error: first\nmore of it\nerror: last\n")
    assert lacking("a", log).reason == "last" and lacking("a", log).fate == "failed"
    # A failure of its own is not put down to the end of the run.
    assert lacking("a", log, stopped=True).fate == "failed"
    log.write_text("began\nerror: internal error: TypeError: no\nmore of it\n")
    assert lacking("a", log).reason == "internal error: TypeError: no"
    log.write_text(f"began\n{CRASHED}Segmentation fault\n\nCurrent thread 0x1\n")
    assert lacking("a", log).reason == "compiled code ended the process: Segmentation fault"
    log.write_text("Killed\n")
    assert lacking("a", log) == Lacking("a", KILLED, "failed")
    log.write_text("a library said error: nothing to worry about\n")
    assert lacking("a", log) == Lacking("a", KILLED, "failed")
    log.write_text("began\n")
    assert lacking("a", log) == Lacking("a", KILLED, "failed")
    # As Snakemake leaves it where Slurm refused the job, and a step that found the disk full or was stopped at once.
    log.write_text("")
    assert lacking("a", log) == Lacking("a", EMPTY_LOG, "failed")
    assert "disk is full" in EMPTY_LOG and "it was stopped" in EMPTY_LOG
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


def test_every_job_without_a_result_counts_once_and_other_jobs_are_no_points(plan, tmp_path):
    plan["steps"] = [
        {"what": "generate map", "output": str(tmp_path / "no"), "log": str(tmp_path / "failed.log")},
        {"what": "compile sm_90/sssp/fast", "output": str(tmp_path / "map"), "log": str(tmp_path / "no.log")},
    ]
    found = outcome(ReportPlan.model_validate(plan))
    assert [one.what for one in found.lacking] == ["generate map", "fig_a/cuda/map/selection/default"]
    assert found.counts == "3 points, 1 failed, 2 left out; other jobs: 1 failed"
    text = text_of(shown(plan))
    assert "2 jobs have no result" in text
    # The graph's failure is no failure of the experiment's.
    assert "1 point without a result: cuda/map/selection/default graph map" in text
    del plan["points"][2]
    found = outcome(ReportPlan.model_validate(plan), stopped=True)
    assert found.counts == "2 points, 0 failed, 2 left out; other jobs: 1 failed"
    assert not entry(ReportPlan.model_validate(plan), found).complete
    plan["steps"].append({"what": "generate ring", "output": str(tmp_path / "no"), "log": str(tmp_path / "no.log")})
    plan["points"].append({**plan["points"][0], "name": "fig_a/cpu/ring/fast/default", "samples": "none"})
    found = outcome(ReportPlan.model_validate(plan), stopped=True)
    assert found.counts == "3 points, 0 failed, 1 stopped, 2 left out; other jobs: 1 failed, 1 stopped"
    del plan["steps"], plan["points"][2]
    assert outcome(ReportPlan.model_validate(plan)).counts == "2 points, 0 failed, 2 left out"
    assert "without a result" not in text_of(shown(plan)) and "no result" not in text_of(shown(plan))


def test_a_kept_answer_of_which_a_file_is_gone_is_a_failure_of_its_own(plan, tmp_path):
    answer = tmp_path / "results/answers/distances.parquet"
    coded = write_coded(answer, identity="now")
    plan["steps"] = [{"what": "keep distances", "output": str(answer), "log": "no.log"}]
    plan["answers"] = [{"file": str(answer), "identity": "now"}]
    assert "keep distances" not in text_of(shown(plan))
    coded.write_text("another")
    assert f"{coded} is damaged or not what {answer} was written with" in text_of(shown(plan))
    write_coded(answer, identity="another")
    assert f"{ANOTHER_ANSWER} keep distances" in text_of(shown(plan))
    coded.unlink()
    text = text_of(shown(plan))
    assert f"{coded} is missing, a part of {answer}" in text and "keep distances" in text


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
    # What serves only what is gone and not needed itself is not needed either.
    before = {"what": "fetch", "output": str(tmp_path / "copy"), "log": "no.log", "serves": [step["output"]]}
    plan["steps"].append(before)
    assert named() == []
    assert "fetch" not in [what.what for what in outcome(ReportPlan.model_validate(plan)).lacking]
    other.unlink()
    assert "fetch" in [what.what for what in outcome(ReportPlan.model_validate(plan)).lacking] and named()
    other.touch()
    # Samples of another configuration are none.
    plan["points"][0]["identity"] = "another"
    step["serves"] = [plan["points"][0]["samples"]]
    assert named() == ["queries"]


@pytest.mark.parametrize(("end", "fate"), [("error: no memory", "failed"), ("stopped", "stopped")])
def test_points_whose_queries_could_not_be_drawn_again_are_out_of_date(plan, tmp_path, end, fate):
    point = plan["points"][0]
    log = tmp_path / "queries.log"
    log.write_text(f"began\n{end}\n")
    plan["steps"] = [
        {"what": "queries", "output": str(tmp_path / "gone"), "log": str(log), "serves": [point["samples"]]}
    ]
    made, began = ReportPlan.model_validate(plan), log.stat().st_mtime
    # Of queries that broke before the points were measured they were drawn again since, and removed.
    os.utime(point["samples"], (began + 1, began + 1))
    told = outcome(made, since=began - 2)
    assert told.stale == {} and "queries" not in [one.what for one in told.lacking]
    before = len(told.measured)
    os.utime(point["samples"], (began - 1, began - 1))
    # A run that began later and ended well had no use for them.
    assert outcome(made) == told
    found = outcome(made, since=began - 2)
    assert found.stale == {"fig_a": NOT_REDRAWN} and len(found.measured) == before - 1
    fates = {one.what: one.fate for one in found.lacking}
    assert (fates["queries"], fates[point["name"]]) == (fate, "out of date")
    assert f"fig_a: no table, {NOT_REDRAWN}" in lines_of(plan, since=began - 2)
    assert "the table is out of date" in text_of(shown(plan, partial=True, since=began - 2))


def test_a_table_of_before_the_run_is_out_of_date_where_points_are_not_as_they_were(plan, tmp_path):
    """The same configuration, whose samples were removed and of which some or all are measured again."""
    table, samples = tmp_path / "a.parquet", [tmp_path / f"{backend}.parquet" for backend in ("cpu", "cuda")]
    for file in (table, *samples):
        os.utime(file, (1000, 1000))
    del plan["points"][2]
    says = f"fig_a: no table, {NOT_OF_THESE}"
    assert says not in lines_of(plan, since=2000) and "out of date" not in text_of(
        shown(plan, partial=True, since=2000)
    )
    os.utime(samples[0], (2001, 2001))
    assert says in lines_of(plan, since=2000)
    assert "the table is out of date" in text_of(shown(plan, partial=True, since=2000))
    os.utime(table, (2002, 2002))
    assert says not in lines_of(plan, since=2000)
    samples[1].unlink()
    assert says not in lines_of(plan, since=2000) and says in lines_of(plan, since=3000, stopped=True)
    # A call that made no report knows of no run.
    assert says not in lines_of(plan)


def test_a_job_that_only_shows_is_named_where_it_began(plan, tmp_path):
    log = tmp_path / "vega.log"
    plan["steps"] = [{"what": "vega", "output": str(tmp_path / "no.js"), "log": str(log), "last": True}]
    assert not [line for line in lines_of(plan) if "vega" in line]
    log.write_text("error: the disk is full\n")
    assert "failed: vega: the disk is full" in lines_of(plan)
    log.write_text("began\n")
    assert f"failed: vega: {KILLED}" in lines_of(plan)
    log.write_text("stopped\n")
    assert f"stopped: vega: {STOPPED_WITHIN}" in lines_of(plan)
    assert lines_of(plan)[-1].endswith("; other jobs: 1 stopped")
    assert not [line for line in lines_of(plan, since=time.time() + 9, stopped=True) if "vega" in line]


def test_the_console_names_reasons_before_what_did_not_run_for_them(plan):
    first = plan["points"][2]
    late = [{**first, "name": f"fig_a/cuda/map/selection/n~{n}", "log": "nowhere.log"} for n in range(8)]
    plan["points"] = [*late, *plan["points"]]
    lines = [line for line in lines_of(plan) if line.startswith(("failed: ", "not run: "))]
    assert len(lines) == 4 and lines[0].startswith("failed: ") and "141.2 GiB" in lines[0]
    assert all(line.startswith("not run: ") and line.endswith(NOT_RUN) for line in lines[1:])
    assert lines_of(plan)[-1] == "11 points, 1 failed, 8 not run, 2 left out"
    assert "and 5 more without a result, named in the report" in lines_of(plan)


def test_the_console_names_what_failed_before_what_is_out_of_date(plan):
    current = plan["points"][0]
    plan["points"] = [{**current, "identity": f"another-{n}", "name": f"old-{n}"} for n in range(8)] + plan["points"]
    lines = [line for line in lines_of(plan) if line.startswith(("failed: ", "out of date: "))]
    assert [line.split(": ")[0] for line in lines] == ["failed", *["out of date"] * 3]


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


def test_a_list_that_fits_the_console_is_whole(plan):
    first = plan["points"][2]
    for count in (4, 5):
        late = [{**first, "name": f"fig_a/cuda/map/selection/n~{n}"} for n in range(count)]
        plan["points"] = [*plan["points"][:2], *late]
        said = [line for line in lines_of(plan) if "without a result" in line]
        assert said == (["and 1 more without a result, named in the report"] if count == 5 else [])
        assert sum(line.startswith("failed: ") for line in lines_of(plan)) == 4


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


def test_unavailable_points_are_left_out_with_the_reason_and_no_failures(plan, tmp_path):
    write_samples(tmp_path / "cpu.parquet", [], unavailable="needs integer weights")
    plan["points"][0]["name"] = "fig_a/cpu/map/phast/n~4"
    lines = lines_of(plan)
    assert lines[-1] == "2 points, 1 failed, 3 left out"
    assert "left out: phast on cpu in fig_a (map, n~4): needs integer weights" in lines
    text = text_of(shown(plan))
    assert "needs integer weights phast on cpu in fig_a (map, n~4)" in text
    # The only point measured is the GPU's.
    assert "8 timed answers" in text and "1 point, 8" in text and "2 points, 16" not in text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fig_a/cpu/map/fast/default", "fast on cpu in fig_a (map)"),
        ("fig_a/cpu/default/fast/default", "fast on cpu in fig_a (default)"),
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
