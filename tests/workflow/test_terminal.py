import pytest
from test_plan import plan

from saitan.workflow.terminal import Ending


@pytest.mark.parametrize("chosen", [{"until": {"tiny"}}, {"until": {"measure"}}, {"omitted": {"report"}}])
def test_the_summary_of_an_earlier_run_is_not_shown_where_no_report_was_made(chosen, tmp_path, monkeypatch, capsys):
    made = plan()
    (tmp_path / made.summary).parent.mkdir(parents=True)
    (tmp_path / made.summary).write_text("an earlier run\n")
    (tmp_path / "config").mkdir()
    (tmp_path / "config/published.yaml").write_text("graphs: {}\nexperiments: {}\n")
    monkeypatch.chdir(tmp_path)
    Ending(made).succeeded((), **chosen)
    assert "an earlier run" not in capsys.readouterr().err
