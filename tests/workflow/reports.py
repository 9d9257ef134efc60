"""A run for the report: its plan and files, and what the page and the console show of it."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from samples import Held, seconds, write_samples

from saitan.graph import Graph
from saitan.workflow.answer_writers import write_form
from saitan.workflow.graphs.parquet import write_graph
from saitan.workflow.report import ReportPlan, page, summary_lines
from saitan.workflow.report_outcome import (
    outcome,
)


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
        "over_paper": ours / paper if paper else None,
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


def run_plan(tmp_path):
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
        "now",
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
    resources.write_text(json.dumps({"identity": "now", "kernels": [use]}))

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
        "printed": True,
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
            {
                "name": "map",
                "title": "A map",
                "folder": str(tmp_path / "map"),
                "synthetic": "weights are drawn",
                "identity": "now",
            },
            {"name": "gone", "title": "Not there", "folder": str(tmp_path / "gone"), "identity": "now"},
        ],
    }


def write_coded(answer, **about):
    """A kept answer in a form of its problem. Returns the path of that form's file, which is empty."""
    form = SimpleNamespace(open=lambda path, output: Held((3,), "float64"))
    about["answer"] = {"problem": "apsp"}
    write_form(answer.parent, answer.stem, "coded", form, about, Path.touch)
    return answer.with_suffix(".coded")


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


def keys_and(laid_out, what):
    return [(*row.keys, *(cell and getattr(cell, what) for cell in row.cells)) for row in laid_out.groups[0].rows]
