from types import SimpleNamespace

import pandas  # noqa: F401  (`show` has Snakemake do without it where it is not loaded)
import pytest
from test_plan import plan

from saitan.workflow.terminal import Ending, show


@pytest.mark.parametrize("leads", [True, False])
def test_what_is_left_out_is_said_once_by_the_process_that_leads(leads, capsys):
    workflow = SimpleNamespace(is_main_process=leads, output_settings=SimpleNamespace(quiet=None))
    show(plan(settings={"backend": "auto"}), workflow)
    assert capsys.readouterr().err == ("skipped: backend cuda: no driver\n" if leads else "")


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
    (tmp_path / made.summary).write_text("an earlier run\n")
    (tmp_path / "config").mkdir()
    (tmp_path / "config/published.yaml").write_text("graphs: {}\nexperiments: {}\n")
    monkeypatch.chdir(tmp_path)
    Ending(made).succeeded((), **chosen)
    said = capsys.readouterr().err
    assert "an earlier run" not in said and said.startswith("tiny: no table") == shown


def test_a_report_that_cannot_be_written_keeps_no_reason_back(tmp_path, monkeypatch, capsys):
    made = plan()
    (tmp_path / "config").mkdir()
    (tmp_path / "config/published.yaml").write_text("graphs: {}\nexperiments: {}\n")
    (tmp_path / "config/peers.yaml").write_text("{}\n")
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
