import json
import re
import subprocess
import sys

from reports import text_of
from tiny import ROOT

from saitan.workflow.index import write_index


def test_the_index_lists_the_runs_the_latest_first(plan, tmp_path):
    results = tmp_path / "results"
    for name in ("default", "h200 & more"):
        (tmp_path / "plan.json").write_text(json.dumps({**plan, "name": name, "title": f"Run `<{name}>`"}))
        output = results / name / "report.html"
        command = [
            sys.executable,
            "-m",
            "saitan.workflow.report",
            "--plan",
            tmp_path / "plan.json",
            "--peers",
            ROOT / "config/peers.yaml",
        ]
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
