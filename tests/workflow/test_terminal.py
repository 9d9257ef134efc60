import contextlib
import errno
import logging
import os
import re
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

import numpy as np
import pandas  # noqa: F401  (`show` has Snakemake do without it where it is not loaded)
import pytest
from plans import plan
from samples import seconds, write_samples
from snakemake.exceptions import WorkflowError, print_exception
from snakemake.logging import logger
from snakemake.settings.types import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from tiny import ROOT

from saitan.blocks import Block
from saitan.workflow import terminal
from saitan.workflow.answer_writers import AnswerWriter, write_unavailable
from saitan.workflow.step import DONE
from saitan.workflow.terminal import Ending, Progress, keep_report, show


@pytest.fixture(autouse=True)
def interrupts(monkeypatch):
    """What `Ending` does on Ctrl-C stays within a test."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr("saitan.workflow.interrupts.kill_steps", lambda: None)
    monkeypatch.setattr(logging.FileHandler, "handleError", logging.Handler.handleError)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def print_nothing(folder):
    """The files of a folder's config/ that a report reads, without a number of the papers or of other people's."""
    (folder / "config").mkdir()
    (folder / "config/published.yaml").write_text("graphs: {}\nexperiments: {}\n")
    (folder / "config/peers.yaml").write_text("{}\n")


@pytest.mark.parametrize("leads", [True, False])
def test_what_is_left_out_is_said_once_by_the_process_that_leads(leads, capsys):
    workflow = SimpleNamespace(is_main_process=leads, output_settings=SimpleNamespace(quiet=None))
    show(plan(settings={"backend": "auto"}), workflow)
    assert capsys.readouterr().err == ("skipped: backend cuda: no driver\n" if leads else "")


@pytest.mark.parametrize(("leads", "there"), [(True, True), (True, False), (False, True)])
def test_the_list_of_runs_is_there_again_with_the_next_call(leads, there, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if there:
        (tmp_path / "results/other").mkdir(parents=True)
        (tmp_path / "results/other/report.html").write_text("")
    workflow = SimpleNamespace(is_main_process=leads, output_settings=SimpleNamespace(quiet=None))
    show(plan(), workflow)
    index = tmp_path / "results/index.html"
    assert index.exists() == (leads and there)
    if index.exists():
        assert 'href="other/report.html"' in index.read_text()
        index.write_text('<a href="other/report.html">as it stands')
        show(plan(), workflow)
        assert index.read_text() == '<a href="other/report.html">as it stands'


@pytest.mark.parametrize("there", [{"a b"}, set()])
@pytest.mark.parametrize("listed", [{"a b"}, set(), {"a b", "gone"}])
def test_the_list_of_runs_names_those_that_are_there(listed, there, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in there:
        (tmp_path / "results" / name).mkdir(parents=True)
        (tmp_path / "results" / name / "report.html").write_text("")
    index = tmp_path / "results/index.html"
    index.parent.mkdir(exist_ok=True)
    index.write_text(before := "".join(f'<a href="{quote(name)}/report.html">' for name in listed))
    show(plan(), SimpleNamespace(is_main_process=True, output_settings=SimpleNamespace(quiet=None)))
    assert set(re.findall('href="(.*)/report.html"', index.read_text())) == set(map(quote, there))
    assert (index.read_text() == before) == (there == listed)


@pytest.mark.parametrize("quiet", [None, {Quietness.PROGRESS}, {Quietness.RULES}])
def test_points_are_said_in_the_place_of_snakemakes_lines_on_rules(quiet, monkeypatch):
    theirs = logging.NullHandler()
    monkeypatch.setattr(logger, "handlers", [theirs])
    output = SimpleNamespace(quiet=quiet)
    show(plan(), SimpleNamespace(is_main_process=True, output_settings=output, dryrun=False))
    ours = [one for one in logger.handlers if isinstance(one, Progress)]
    shown = theirs.filter(logging.makeLogRecord({"msg": "Finished", "event": LogEvent.JOB_FINISHED}))
    assert (len(ours), bool(shown)) == ((1, False) if quiet == {Quietness.RULES} else (0, True))


FULL = "error: the disk is full: free some space and run the same command again"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full stands for a disk that is full")
def test_on_a_full_disk_snakemake_tells_no_more_than_that(monkeypatch, capsys):
    theirs = logging.FileHandler("/dev/full", delay=True)
    monkeypatch.setattr(logger, "handlers", [theirs, shown := logging.StreamHandler(sys.stderr)])
    monkeypatch.setattr(logger, "filters", [])
    show(plan(), SimpleNamespace(is_main_process=True, output_settings=SimpleNamespace(quiet=None)))
    capsys.readouterr()

    def said(error):
        print_exception(error)
        return capsys.readouterr().err

    path = "the directory /a/.snakemake"
    for number in (errno.ENOSPC, errno.EDQUOT):
        error = OSError(number, os.strerror(number))
        assert said(error) == f"{FULL}\n"
        why = f"Error recording metadata for finished job ({error}). Please ensure write permissions for {path}"
        assert said(WorkflowError(why)) == f"{FULL}\n"
    assert said(WorkflowError("a job failed")) == "WorkflowError:\na job failed\n"
    assert "Errno 13" in said(PermissionError(errno.EACCES, "no"))
    logger.error("[Errno 28] stands in a text")
    assert capsys.readouterr().err == "[Errno 28] stands in a text\n"
    # Any other reason for which a line is not written is told.
    monkeypatch.setattr(theirs, "format", lambda record: 1 / 0)
    logger.error("text")
    assert "ZeroDivisionError" in capsys.readouterr().err
    shown.close()
    with contextlib.suppress(OSError):
        theirs.close()


def test_each_measured_point_is_said_with_the_time_that_the_others_will_take(tmp_path, monkeypatch, capsys):
    made = plan()
    monkeypatch.chdir(tmp_path)
    common = {"experiment": "e", "backend": "cpu", "graph": "g", "variant": "fast"}
    points = [common | {"point": str(i)} for i in range(3)]
    for point, settled, reason in zip(points, (True, False, True), (None, None, "no memory"), strict=True):
        path = tmp_path / f"{made.run}/samples/{'/'.join(point.values())}.parquet"
        write_samples(path, seconds(1.0, 2.0, 4.0), settled=settled, unavailable=reason)
    kept = {
        "problem": "sssp",
        "backend": "cpu",
        "graph": "g",
        "variant": "fast",
        "point": "default",
        "output": "levels",
    }
    jobs = [
        ("fetch", {"file": "roads"}, 3),
        ("table", {}, 1),
        ("keep", kept, 2),
        ("keep", kept | {"output": "parents"}, 1),
        *zip(["measure"] * 3, points, (60, 21, 1), strict=True),
    ]
    progress = Progress(made)
    progress.emit(SimpleNamespace(event=LogEvent.RUN_INFO, stats={"measure": 3}))
    with AnswerWriter(Path("kept"), ["levels"], {}) as sink:
        sink(Block("levels", 0, np.zeros(3)))
    write_unavailable(Path("kept"), ["parents"], {}, "no root")
    for i, (rule, wildcards, lasts) in enumerate(jobs):
        output = [f"kept/{wildcards['output']}.parquet"] if rule == "keep" else []
        for now, event in ((7, LogEvent.JOB_INFO), (7 + lasts, LogEvent.JOB_FINISHED)):
            monkeypatch.setattr(time, "monotonic", lambda now=now: now)
            progress.emit(
                SimpleNamespace(event=event, jobid=i, job_id=i, rule_name=rule, wildcards=wildcards, output=output)
            )
    assert capsys.readouterr().err.splitlines() == [
        "fetch roads: 3.0 s",
        "keep cpu g fast default levels: 2.0 s",
        "keep cpu g fast default parents: left out, no root",
        "[1/3] e cpu g fast 0: 2 s, about 2 min 0 s of measuring left",
        "[2/3] e cpu g fast 1: 2 s (not settled), about 40 s of measuring left",
        "[3/3] e cpu g fast 2: left out, no memory",
    ]


@pytest.mark.parametrize(
    ("chosen", "shown"),
    [
        ({"until": {"tiny"}}, True),
        ({"until": {"measure"}}, False),
        ({"omitted": {"report"}}, False),
        ({"until": {"tiny"}, "omitted": {"report"}}, False),
    ],
)
def test_the_summary_of_an_earlier_run_is_not_shown_where_no_report_was_made(
    chosen, shown, tmp_path, monkeypatch, capsys
):
    made = plan()
    (tmp_path / made.summary).parent.mkdir(parents=True)
    (tmp_path / made.summary).write_text("its summary\n")
    (tmp_path / made.report).write_text("its page\n")
    print_nothing(tmp_path)
    monkeypatch.chdir(tmp_path)
    Ending(made).succeeded((), **chosen)
    said = capsys.readouterr().err
    assert "its summary" not in said and said.startswith("tiny: no table") == shown
    assert (f"{made.report} is of an earlier run" in said) == shown
    assert ("--omit-from report: what that makes is left as it was\n" in said) == ("omitted" in chosen)


def test_a_report_that_cannot_be_written_keeps_no_reason_back(tmp_path, monkeypatch, capsys):
    made = plan()
    print_nothing(tmp_path)
    log = tmp_path / "results/logs/generate/grid.log"
    log.parent.mkdir(parents=True)
    ending = Ending(made)
    log.write_text("error: the disk is full\n")
    (tmp_path / made.run).write_text("where its folder should be")
    monkeypatch.chdir(tmp_path)
    ending.failed()
    said = capsys.readouterr().err.splitlines()
    assert "failed: generate grid: the disk is full" in said
    assert said[-1].startswith(f"{made.report} cannot be written: ")
    (tmp_path / made.run).unlink()

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", "a file")

    monkeypatch.setattr("saitan.workflow.report.write_report", full)
    ending.failed()
    said = capsys.readouterr().err.splitlines()
    way_on = "the disk is full: free some space and run the same command again"
    assert said[-1] == f"{made.report} cannot be written: {way_on}"


def test_a_table_that_cannot_be_read_is_named_after_a_failed_run(tmp_path, monkeypatch, capsys):
    made = plan()
    (tmp_path / "config").symlink_to(ROOT / "config")
    table = tmp_path / made.run / "tables/tiny.parquet"
    table.parent.mkdir(parents=True)
    table.write_text("x")
    monkeypatch.chdir(tmp_path)
    Ending(made).failed()
    assert "tiny.parquet: cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("graph", ["grid", "hidden"])
def test_a_failed_run_leaves_the_report_that_stands_there_only_if_it_had_nothing_to_measure(
    graph, tmp_path, monkeypatch, capsys
):
    made = plan(graphs=[graph], absent={"hidden": "no mirror has it"})
    (tmp_path / "config").symlink_to(ROOT / "config")
    for file in (made.report, made.summary):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("of an earlier run")
    monkeypatch.chdir(tmp_path)
    Ending(made).failed()
    kept = (tmp_path / made.report).read_text() == "of an earlier run"
    assert (tmp_path / "results/index.html").exists() != kept
    assert kept == (graph == "hidden") and not (tmp_path / made.summary).exists()
    said = capsys.readouterr().err.splitlines()
    assert (f"report: {made.report}" in said) != kept and any(" left out" in line for line in said)


def test_a_failed_run_of_graphs_alone_writes_its_report_again(tmp_path, monkeypatch, capsys):
    made = plan(view="graphs", variants={}, problem=None, graphs=["grid"])
    (tmp_path / "config").symlink_to(ROOT / "config")
    (tmp_path / made.report).parent.mkdir(parents=True)
    (tmp_path / made.report).write_text("of an earlier run")
    monkeypatch.chdir(tmp_path)
    Ending(made).failed()
    assert "of an earlier run" not in (tmp_path / made.report).read_text()
    assert f"report: {made.report}" in capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    ("said", "became"),
    [
        ("Will exit after finishing currently running jobs (scheduler).", "stopped"),
        ("Terminating processes on user request, this might take some time.", "stopped"),
        ("Shutting down, this might take some time.", "failed"),
    ],
)
def test_a_finished_job_whose_result_a_signal_took_was_stopped(tmp_path, monkeypatch, capsys, said, became):
    made = plan(graphs=["grid"], variants=["conventional"])
    (tmp_path / "config").symlink_to(ROOT / "config")
    monkeypatch.chdir(tmp_path)
    ending = Ending(made)
    log = tmp_path / "results/logs/generate/grid.log"
    log.parent.mkdir(parents=True)
    log.write_text(f"{DONE}\n")
    # A file's own time may be some milliseconds behind the clock, and so before the run.
    os.utime(log, (time.time(), time.time()))
    ending._listener.emit(logging.makeLogRecord({"msg": said}))
    ending.failed()
    assert any(line.startswith(f"{became}: generate grid: ") for line in capsys.readouterr().err.splitlines())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_an_interrupt_waits_until_a_finished_job_is_said(number, monkeypatch, capsys):
    """Within it PyArrow loads pandas, which forgets an interrupt and leaves half of itself."""
    monkeypatch.setattr(terminal, "_found", lambda *_: signal.raise_signal(number) or "found")
    before = signal.signal(number, signal.default_int_handler)
    try:
        progress = Progress(plan())
        keys = {"experiment": "e", "backend": "cpu", "graph": "g", "variant": "v", "point": "p"}
        event(progress, LogEvent.JOB_INFO, jobid=1, rule_name="measure", wildcards=keys)
        with pytest.raises(KeyboardInterrupt):
            event(progress, LogEvent.JOB_FINISHED, job_id=1)
        assert capsys.readouterr().err == "[1/1] e cpu g v p: found\n"
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)


def event(progress, kind, **told):
    progress.emit(logging.makeLogRecord({"event": kind, **told}))


def test_an_interrupt_is_ignored_from_the_last_words_of_a_run_on(tmp_path, monkeypatch, capsys):
    made = plan()
    print_nothing(tmp_path)
    monkeypatch.chdir(tmp_path)
    ending = Ending(made)

    def interrupted(*_, **__):
        signal.raise_signal(signal.SIGINT)
        return ["the end"]

    monkeypatch.setattr("saitan.workflow.report.summary_lines", interrupted)
    monkeypatch.setattr("saitan.workflow.report.write_report", interrupted)
    for last in (lambda: ending.succeeded([next(iter(made.config.experiments))]), ending.failed):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        last()
        assert capsys.readouterr().err.count("the end") == 1
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.raise_signal(number)


def test_after_a_failed_run_files_of_the_future_are_named(tmp_path, monkeypatch, capsys):
    made = plan()
    print_nothing(tmp_path)
    graph = tmp_path / "results/graphs/grid/edges.parquet"
    graph.parent.mkdir(parents=True)
    graph.write_text("x")
    monkeypatch.chdir(tmp_path)
    said = []
    for file, ahead in ((graph, 0), (graph, 7200), (tmp_path / "config/peers.yaml", 7200)):
        os.utime(file, (time.time() + ahead, time.time() + ahead))
        Ending(made).failed()
        said.append([line for line in capsys.readouterr().err.splitlines() if "dated in the future" in line])
    edges, both = "results/graphs/grid/edges.parquet", "config/peers.yaml and 1 more"
    assert [[line.split(": ")[1] for line in lines] for lines in said] == [[], [edges], [both]]


@pytest.mark.parametrize(
    ("counts", "absent", "kept"),
    [
        ('{"counts": "2 points, 0 failed, 0 left out"}', True, True),
        ('{"counts": "0 points, 0 failed, 2 left out"}', True, False),
        ('{"counts": "2 points, 0 failed, 0 left out"}', False, False),
        ("{", True, False),
        (None, True, False),
    ],
)
def test_a_report_with_points_is_not_replaced_by_one_without(tmp_path, monkeypatch, counts, absent, kept):
    monkeypatch.chdir(tmp_path)
    made = plan(absent=dict.fromkeys(("grid", "ring"), "the mirror has none") if absent else None)
    if counts is not None:
        Path(made.run).mkdir(parents=True)
        Path(made.run, "report.json").write_text(counts)
    if kept:
        with pytest.raises(SystemExit, match=r"^error: nothing can be measured, and results/run/report.html shows "):
            keep_report(made)
    else:
        keep_report(made)
