"""The whole DAG by Snakemake on tiny graphs: what runs, what runs again, and what is left after a failure."""

import copy
import functools
import http.server
import os
import signal
import subprocess
import threading
import time

import pyarrow.parquet as pq
import pytest
import yaml
from tiny import GRAPHS, ONE_POINT, SWEEP


def changed(**changes):
    return {**copy.deepcopy(ONE_POINT), **changes}


def state(project):
    """Path -> time of last change of every sample file."""
    return {path: path.stat().st_mtime_ns for path in (project.folder / "results/samples").rglob("*.parquet")}


def test_run_again_and_change(project):
    project.configure({"tiny": SWEEP})
    done = project.snakemake()
    assert done.returncode == 0, done.stderr
    results = project.folder / "results"
    assert len(state(project)) == 3
    assert (results / "report.html").stat().st_size > 100_000
    assert "report: results/report.html" in done.stderr.splitlines()[-4:]
    samples = pq.read_table(results / "samples/tiny/cpu/tiny-grid/adaptive/threshold_up~10.parquet").to_pylist()
    assert {row["query"] for row in samples} and all(row["seconds"] > 0 for row in samples)
    assert samples[0]["threshold_up"] == 10 and "numpy=" in samples[0]["packages"]

    started = time.perf_counter()
    again = project.snakemake()
    assert again.returncode == 0 and "Nothing to be done" in again.stderr + again.stdout
    assert time.perf_counter() - started < 10

    # One more value in a sweep: one more point.
    before = state(project)
    project.configure(
        {"tiny": {**SWEEP, "variants": {"adaptive": {"threshold_up": [10, 100, 1000]}, "conventional": {}}}}
    )
    assert project.planned()["measure"] == 1
    assert project.snakemake().returncode == 0
    assert {path: stamp for path, stamp in state(project).items() if path in before} == before
    assert len(state(project)) == 4

    # A kernel that no point of this run loads: nothing is measured again.
    source = project.folder / "kernels/sssp/phases.cu"
    source.write_text(source.read_text() + "\n// changed\n")
    assert "measure" not in project.planned()
    # The module of the CPU's solvers: every point is.
    module = project.folder / "kernels/sssp/cpu.py"
    module.write_text(module.read_text() + "\n# changed\n")
    assert project.planned()["measure"] == 4


TOY = '''
"""A toy problem: the sum of the weights of a graph."""
import time
import numpy as np
from saitan.problem import Invalid, Run, Variant

TITLE = "Toy sums"
VARIANTS = {
    "numpy": Variant("one call", cpu="saitan.toy.cpu:Sum", parameters={"repeat": int}),
    "wrong": Variant("off by one", cpu="saitan.toy.cpu:Wrong"),
}
INSTANCE = {"factor": int}
METRICS = {"steps": "additions"}

def instance(graph, *, factor=1):
    return graph.weights.astype(np.int64) * factor

def queries(weights, count, seed):
    return list(range(count))

def reference(weights, query):
    return {"sum": np.array([int(weights.sum()) + query])}

def differs(expected, answer):
    return None if expected["sum"][0] == answer["sum"][0] else f"{answer['sum'][0]}, not {expected['sum'][0]}"

def prepare(weights, variant, backend, **parameters):
    return VARIANTS[variant].load(backend)(weights, **parameters)
'''

TOY_CPU = """
import time
import numpy as np
from saitan.problem import Run

class Sum:
    transfer, off = 0.0, 0
    def __init__(self, weights, *, repeat=1):
        self.weights, self.repeat, self.memory = weights, repeat, weights.nbytes
    def run(self, query):
        start = time.perf_counter()
        for _ in range(self.repeat):
            self.result = int(self.weights.sum()) + query + self.off
        seconds = time.perf_counter() - start
        return Run(seconds, seconds, {"steps": len(self.weights)})
    def validate(self):
        pass
    def answer(self):
        return {"sum": np.array([self.result])}
    def close(self):
        pass

class Wrong(Sum):
    off = 1
"""


@pytest.fixture
def with_toy(project):
    folder = project.folder / "kernels/toy"
    folder.mkdir()
    (folder / "__init__.py").write_text(TOY)
    (folder / "cpu.py").write_text(TOY_CPU)
    return project


def toy_experiment(*variants):
    return {
        "title": "Sums of weights",
        "problem": "toy",
        "graphs": ["tiny-ring"],
        "instance": {"factor": [1, 3]},
        "variants": {name: {"repeat": [1, 2]} if name == "numpy" else {} for name in variants},
        "quantities": ["time", "steps"],
    }


def test_a_new_problem_is_a_folder_and_yaml(with_toy):
    with_toy.configure({"toy_sums": toy_experiment("numpy")})
    done = with_toy.snakemake()
    assert done.returncode == 0, done.stderr
    report = (with_toy.folder / "results/report.html").read_text()
    assert "Toy sums" in report and "Sums of weights" in report and "steps" in report
    table = pq.read_table(with_toy.folder / "results/tables/toy_sums.parquet").to_pylist()
    assert {(row["factor"], row["repeat"]) for row in table} == {(1, 1), (1, 2), (3, 1), (3, 2)}
    assert {row["ours"] for row in table if row["quantity"] == "steps"} == {50.0}


def test_an_invalid_answer_fails_its_job_and_no_other(with_toy):
    with_toy.configure({"toy_sums": toy_experiment("numpy")})
    assert with_toy.snakemake().returncode == 0
    before = state(with_toy)
    with_toy.configure({"toy_sums": toy_experiment("numpy", "wrong")})
    done = with_toy.snakemake("-k")
    assert done.returncode != 0
    assert state(with_toy) == before
    log = with_toy.folder / "results/logs/measure/toy_sums/cpu/tiny-ring/wrong/factor~1.log"
    assert log.read_text().splitlines()[-1].startswith("error: differs from the reference solver: ")
    report = (with_toy.folder / "results/report.html").read_text()
    assert "differs from the reference solver" in report


def test_what_failed_is_tried_again(with_toy):
    with_toy.configure({"toy_sums": toy_experiment("wrong")})
    assert with_toy.snakemake().returncode != 0
    done = with_toy.snakemake()
    assert done.returncode != 0, "there is a report of the failed run, but nothing is up to date"
    solver = with_toy.folder / "kernels/toy/cpu.py"
    solver.write_text(solver.read_text().replace("off = 1", "off = 0"))
    done = with_toy.snakemake()
    assert done.returncode == 0, done.stderr
    assert "1 failed" not in (with_toy.folder / "results/report.html").read_text()
    solver.write_text(solver.read_text().replace("off = 0", "off = 2"))
    assert with_toy.snakemake().returncode != 0
    assert with_toy.snakemake().returncode != 0


@pytest.mark.parametrize(
    "change, says",
    [
        ({"viw": "summary"}, "config: experiments.tiny.viw: unknown key 'viw'; did you mean 'view'?"),
        ({"variants": ["adaptiv"]}, "unknown variant 'adaptiv'; did you mean 'adaptive'?"),
        ({"graphs": ["tiny-gird"]}, "unknown graph 'tiny-gird'; did you mean 'tiny-grid'? (config/graphs.yaml)"),
        (
            {"variants": {"conventional": {"threshold_up": [1]}}},
            "experiments.tiny.variants.conventional.threshold_up: conventional has no parameter 'threshold_up'",
        ),
    ],
)
def test_bad_config_is_one_line(project, change, says):
    project.configure({"tiny": changed(**change)})
    done = project.snakemake()
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    assert done.returncode != 0
    assert len(lines) == 1 and says in lines[0], lines


def test_bad_catalogue_is_one_line(project):
    (project.folder / "config/graphs.yaml").write_text(
        GRAPHS + "\nother: {title: x, generator: ringg, parameters: {}}\n"
    )
    done = project.snakemake()
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    assert done.returncode != 0
    assert len(lines) == 1 and "config/graphs.yaml: other" in lines[0] and "ringg" in lines[0], lines


def test_an_experiment_is_a_target(project):
    project.configure({"tiny": SWEEP, "other": changed(graphs=["tiny-ring"])})
    done = project.snakemake("tiny")
    assert done.returncode == 0, done.stderr
    assert (project.folder / "results/figures/tiny.svg").exists()
    assert not (project.folder / "results/tables/other.csv").exists()
    assert not (project.folder / "results/report.html").exists()


def test_killed_with_minus_9_nothing_is_half_written(project):
    slow = changed(measure={"budget_s": 30, "max_rounds": 1000000, "min_rounds": 1000000})
    project.configure({"tiny": slow})
    running = subprocess.Popen(
        project.command(),
        cwd=project.folder,
        env=project.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    logs = project.folder / "results/logs/measure"
    deadline = time.monotonic() + 120
    while not list(logs.rglob("*.log")) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert list(logs.rglob("*.log")), "no measure job began"
    time.sleep(0.5)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    for path in (project.folder / "results").rglob("*.parquet"):
        if not path.name.startswith("."):
            pq.read_table(path)
    assert not state(project)

    project.configure({"tiny": ONE_POINT})
    done = project.snakemake()
    if done.returncode:
        assert "--unlock" in done.stdout + done.stderr
        assert project.snakemake("--unlock").returncode == 0
        done = project.snakemake("--rerun-incomplete")
    assert done.returncode == 0, done.stderr
    assert len(state(project)) == 1


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_downloads_survive_a_server_that_is_down(project, tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    (folder / "tiny.gr").write_text("p sp 3 4\na 1 2 5\na 2 1 5\na 2 3 7\na 3 2 7\n")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/tiny.gr"
    entry = {"title": "Tiny", "url": url, "format": "dimacs"}
    (project.folder / "config/graphs.yaml").write_text(GRAPHS + yaml.safe_dump({"tiny-gr": entry}))
    project.configure({"tiny": changed(graphs=["tiny-gr"])})
    try:
        done = project.snakemake()
        assert done.returncode == 0, done.stderr
    finally:
        server.shutdown()
        server.server_close()
    assert project.planned() == {}
    # A change downstream does not ask the server either.
    project.configure({"tiny": changed(graphs=["tiny-gr"], queries=1)})
    assert "fetch" not in project.planned()

    # Gone and needed: one line that names the address, and the other points stay.
    before = state(project)
    (project.folder / "results/downloads/tiny.gr").unlink()
    (project.folder / "results/graphs/tiny-gr/edges.parquet").unlink()
    failed = project.snakemake()
    assert failed.returncode != 0
    assert f"error: {url}" in failed.stderr or "error: 127.0.0.1" in failed.stderr or "error: " in failed.stderr
    assert state(project) == before


def test_what_a_local_mirror_lacks_is_left_out_and_named(project, tmp_path_factory):
    mirror = tmp_path_factory.mktemp("mirror")
    (mirror / "here.gr").write_text("p sp 2 2\na 1 2 5\na 2 1 5\n")
    entries = {
        name: {"title": name, "url": f"http://192.0.2.1/{name}.gr", "format": "dimacs"} for name in ("here", "lacking")
    }
    (project.folder / "config/graphs.yaml").write_text(yaml.safe_dump(entries))
    project.configure({"tiny": changed(graphs=["here", "lacking"])}, mirror=str(mirror))
    done = project.snakemake()
    assert done.returncode == 0, done.stderr
    assert "skipped: graph lacking: the mirror" in done.stderr
    assert "lacking.gr" in (project.folder / "results/report.html").read_text()
    project.configure({"tiny": changed(graphs=["here"])}, mirror="no/such/folder")
    assert "config: mirror: no/such/folder is no folder and no address" in project.snakemake().stderr


def test_snakemake_report_holds_the_figures(project):
    project.configure(
        {"tiny": changed(view="graphs", variants={}, figure={"mark": "step", "x": "degree", "y": "share"})}
    )
    assert project.snakemake().returncode == 0
    done = project.snakemake("--report", "archive.html")
    assert done.returncode == 0, done.stderr
    assert "tiny.svg" in (project.folder / "archive.html").read_text()
