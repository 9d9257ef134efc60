"""The whole DAG by Snakemake on tiny graphs: what runs, what runs again, and what is left after a failure."""

import copy
import fcntl
import functools
import hashlib
import http.server
import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import termios
import threading
import time
import venv
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
import toy
import yaml
from tiny import GRAPHS, ONE_POINT, SWEEP

from saitan.workflow.graphs.parquet import read_graph


def changed(**changes):
    return {**copy.deepcopy(ONE_POINT), **changes}


def state(project, run="tiny"):
    """Path -> time of last change of every sample file."""
    folder = project.folder / "results" / run / "samples"
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}


def page(project, run="tiny"):
    return (project.folder / "results" / run / "report.html").read_text()


def processor_seconds():
    """Of all processes that ended so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_run_again_and_change(project, tmp_path, monkeypatch):
    # What others compiled, as in a cache of its own, which has no marks of what was compiled together.
    cache = tmp_path / "saitan-alone"
    cache.mkdir()
    for folder in Path(os.environ["NUMBA_CACHE_DIR"]).iterdir():
        if folder.is_dir():
            (cache / folder.name).symlink_to(folder)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))
    project.configure({"tiny": SWEEP})
    done = project.snakemake()
    assert done.returncode == 0, done.stderr
    results = project.folder / "results"
    assert len(state(project)) == 3
    # Both variants were compiled side by side.
    assert len(list(cache.glob("*.compiled"))) >= 2
    assert (results / "tiny/report.html").stat().st_size > 100_000
    said = done.stderr.splitlines()
    assert "report: results/tiny/report.html" in said[-4:]
    # A line a point with what it found; none of Snakemake's own for a job.
    assert len([line for line in said if line.startswith("[") and "adaptive threshold_up~10:" in line]) == 1
    assert len(said) < 30 and not [line for line in said if len(line) > 400]
    samples = pq.read_table(results / "tiny/samples/tiny/cpu/tiny-grid/adaptive/threshold_up~10.parquet").to_pylist()
    assert {row["query"] for row in samples} and all(row["seconds"] > 0 for row in samples)
    assert samples[0]["parameters"] == {"threshold_up": 10} and "numpy=" in samples[0]["provenance"]["packages"]

    before = processor_seconds()
    again = project.snakemake()
    assert again.returncode == 0 and "Nothing to be done" in again.stderr + again.stdout
    # 3 s of an idle machine; a busy one makes a process wait, which costs it nothing, and slower, which does.
    assert processor_seconds() - before < 8
    archived = project.snakemake("--report", "archive.html")
    assert archived.returncode == 0, archived.stderr
    assert '"name": "tiny.svg"' in (project.folder / "archive.html").read_text()
    # A dry run with other cores would measure again, and changes nothing, not where Snakemake has no record either.
    before = state(project)
    records = project.folder / ".snakemake"
    records.rename(project.folder / "aside")
    assert project.planned("--cores", "1")["measure"] == 3 and state(project) == before
    shutil.rmtree(records)
    (project.folder / "aside").rename(records)
    # Without --cores all of them are meant, of which there are two here, as in the run.
    two = sorted(os.sched_getaffinity(0))[:2]
    for words in (["--report", "archive.zip"], ["-n"]) if len(two) == 2 else ():
        bare = subprocess.run(
            [sys.executable, "-m", "snakemake", *words],
            cwd=project.folder,
            env=project.environment,
            preexec_fn=lambda: os.sched_setaffinity(0, two),
            capture_output=True,
            text=True,
            check=False,
        )
        assert bare.returncode == 0, bare.stderr
        assert words != ["-n"] or "Nothing to be done" in bare.stderr + bare.stdout
    # What the report alone shows, put back with its former time too.
    for shown in ("config/peers.yaml", "workflow/report_template/page.css"):
        shown = project.folder / shown
        before = shown.read_bytes()
        shown.write_bytes(before + b"\n")
        os.utime(shown, (0, 0))
        assert project.planned() == {"all": 1, "report": 1}
        shown.write_bytes(before)
        os.utime(shown, (0, 0))
        assert project.planned() == {}
    # What the list of runs says of one is made again where it was removed or damaged.
    listed = results / "tiny/report.json"
    before = listed.read_bytes()
    for damage in (None, before[:20]):
        listed.unlink() if damage is None else listed.write_bytes(damage)
        assert project.planned() == {"all": 1, "report": 1}
        listed.write_bytes(before)
    # So is a page that another one replaced, of the same run too.
    shown = results / "tiny/report.html"
    before = shown.read_bytes()
    shown.write_bytes(before.replace(b"tiny", b"tint"))
    assert project.planned() == {"all": 1, "report": 1}
    shown.write_bytes(before)
    assert project.planned() == {}
    # What is shown is made again where it was removed, and nothing is measured for it.
    shown = [results / "tiny/tables", results / "tiny/figures"]
    for folder in shown:
        folder.rename(folder.with_suffix(".aside"))
    planned = project.planned()
    assert planned["tabulate"] == planned["draw"] == 1 and "measure" not in planned
    for folder in shown:
        folder.with_suffix(".aside").rename(folder)
    # A removed sample is measured again, alone, though what was made of it is there.
    before = state(project)
    removed = next(path for path in before if "threshold_up~10.parquet" in path.name)
    removed.unlink()
    assert project.snakemake("tiny").returncode == 0 and removed.exists()
    assert {path for path, stamp in state(project).items() if before[path] != stamp} == {removed}

    # Another file of printed numbers, older than the table.
    printed = project.folder / "config/published.yaml"
    printed.write_text(printed.read_text() + "# another\n")
    os.utime(printed, (0, 0))
    planned = project.planned()
    assert planned["tabulate"] == 1 and "measure" not in planned

    # One more value in a sweep: one more point.
    before = state(project)
    more = {**SWEEP, "variants": {"adaptive": {"threshold_up": [10, 100, 1000]}, "conventional": {}}}
    project.configure({"tiny": more})
    assert project.snakemake().returncode == 0
    assert {path: stamp for path, stamp in state(project).items() if path in before} == before
    assert len(state(project)) == 4

    # A kernel that no point of this run loads, and words in a module that all do: nothing is measured again.
    source = project.folder / "kernels/sssp/phases.cu"
    source.write_text(source.read_text() + "\n// changed\n")
    module = project.folder / "kernels/sssp/cpu.py"
    module.write_text(module.read_text() + "\n# changed\n")
    assert "measure" not in project.planned()
    # Its code: every point is.
    module.write_text(module.read_text() + "\nCHANGED = True\n")
    assert project.planned()["measure"] == 4
    # Another configuration's numbers do not pass for this one's, not even after a run that failed.
    module.write_text(module.read_text() + "\nraise RuntimeError('broken')\n")
    failed = project.snakemake("-k")
    # The queries, whose reference imports the module, fail; the points, which wait for them, keep their old samples.
    assert (
        failed.returncode != 0
        and "\n4 points, 0 failed, 4 out of date, 0 left out; other jobs: 1 failed\n" in failed.stderr
    )
    assert "RuntimeError: broken" in failed.stderr and "Incomplete" in page(project)


@pytest.fixture
def with_toys(project):
    toy.put_into(project.folder)
    return project


def test_an_environment_whose_path_has_spaces_and_quotes(project, tmp_path):
    folder = tmp_path / "it's my ü folder"
    venv.create(folder, symlinks=True)
    [packages] = folder.glob("lib/python*/site-packages")
    (packages / "theirs.pth").write_text("\n".join(path for path in sys.path if "site-packages" in path))
    command = [str(folder / "bin/python"), *project.command("--until", "outline")[1:]]
    done = subprocess.run(command, cwd=project.folder, env=project.environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads((project.folder / "results/tiny/plan.json").read_text())


def test_results_that_cannot_be_written_are_one_line(project):
    shutil.rmtree(project.folder / "results", ignore_errors=True)
    first = project.folder / "results/tiny/compiled-together.json"
    first.mkdir(parents=True)
    done = project.snakemake()
    line = "error: results/tiny/compiled-together.json cannot be written: a folder has this name"
    assert done.returncode and project.said(done) == [line]
    assert not list((project.folder / ".snakemake/locks").glob("*"))


def toy_experiment(*variants, **changes):
    return {
        "title": "Sums of weights",
        "problem": "toy",
        "graphs": ["tiny-ring"],
        "variants": {name: {} for name in variants},
        "quantities": ["time", "steps"],
        **changes,
    }


DIGITS = {
    "title": "Multiples of sums",
    "problem": "digits",
    "arrays": ["sums.sums"],
    "queries": 2,
    "quantities": ["rate", "time"],
    # Two rounds, however slow the machine.
    "measure": {"min_rounds": 2, "max_rounds": 2, "budget_s": 600},
}


def test_new_problems_are_folders_and_yaml(with_toys):
    sums = toy_experiment("numpy", keep=["sums"], keep_as="compressed")
    digits = {**DIGITS, "variants": {"rows": {"step": [1, 7]}, "elsewhere": {}}}
    with_toys.configure({"digits_of": digits, "sums": sums})
    done = with_toys.snakemake()
    assert done.returncode == 0, done.stderr
    results = with_toys.folder / "results/tiny"
    table = pq.read_table(results / "tables/sums.parquet").to_pylist()
    assert {row["ours"] for row in table if row["quantity"] == "steps"} == {50.0}
    # A kept answer went through a streamed problem. Timed rates are 3, 3, 1, 3: mean 2.5, median 3, harmonic mean 2.
    table = pq.read_table(results / "tables/digits_of.parquet").to_pylist()
    rates = {row["step"]: row["ours"] for row in table if row["quantity"] == "rate"}
    assert rates == {1: pytest.approx(2), 7: pytest.approx(2)}
    assert {row["variant"] for row in table} == {"rows"} and {row["checked"] for row in table} == {"every row"}
    assert {row["graph"] for row in table} == {"sums.sums"}
    # What turned out unavailable is left out with its reason, and no failure.
    assert "left out: elsewhere on cpu in digits_of (sums.sums): needs a machine of another kind" in done.stderr
    assert "0 failed, 1 left out" in done.stderr
    html = page(with_toys)
    assert "Kept answers" in html and "<td>streams</td>" in html
    assert "Toy sums" in html and "Multiples of sums" in html and "needs a machine of another kind" in html
    assert "Nothing to be done" in with_toys.snakemake().stderr
    # Another code keeps the answer anew.
    with (with_toys.folder / "kernels/toy/cpu.py").open("a") as module:
        module.write("\nCHANGED = True\n")
    assert with_toys.planned()["keep"] == 1


def test_wrong_answers_fail_their_jobs_and_no_other(with_toys):
    good = {"sums": toy_experiment("numpy", keep=["sums"])}
    with_toys.configure(good)
    assert with_toys.snakemake().returncode == 0
    before = state(with_toys)
    bad = {**DIGITS, "variants": ["late", "wrong", "refused"]}
    with_toys.configure({**good, "other": toy_experiment("wrong", "killed"), "digits_of": bad})
    done = with_toys.snakemake("-k")
    assert done.returncode != 0
    # A step says why it failed but for one that is killed; how it was called, Snakemake's log alone.
    assert done.stderr.count("CalledProcessError") == done.stderr.count("died with <Signals.SIGKILL") == 1
    [log] = re.findall(r"Complete log\(s\): (.*)", done.stderr)
    assert Path(log).read_text().count("CalledProcessError") == 5
    assert state(with_toys) == before
    logs = with_toys.folder / "results/tiny/logs/measure"
    last = {path.parent.name: path.read_text().splitlines()[-1:] for path in logs.rglob("*.log")}
    assert last["wrong"][0].startswith(("error: differs from the reference solver", "error: rows "))
    assert "differs from the one that was checked" in last["late"][0]
    assert last["refused"][0].startswith("error: differs from the reference solver (multiplication)")
    for says in ("differs from the one that was checked", "killed by signal 9; out of memory?"):
        assert says in page(with_toys) and says in done.stderr, says
    assert "5 failed" in done.stderr and "5 jobs have no result" in page(with_toys)
    # There is a report of the failed run, but nothing is up to date.
    assert with_toys.planned().items() >= {"measure": 5, "report": 1}.items()
    solver = with_toys.folder / "kernels/toy/cpu.py"
    solver.write_text(solver.read_text().replace("off = 1", "off = 0"))
    with_toys.configure({**good, "other": toy_experiment("wrong")})
    done = with_toys.snakemake()
    assert done.returncode == 0, done.stderr
    assert "0 failed" in done.stderr and "without a result" not in page(with_toys)


def test_a_stopped_run_says_so_and_shows_no_older_numbers(with_toys):
    with_toys.configure({"sums": toy_experiment("numpy", queries=2)})
    assert with_toys.snakemake().returncode == 0
    with_toys.configure(
        {"sums": toy_experiment("slow", "numpy", queries=8), "more": toy_experiment("numpy", queries=3)}
    )
    running = subprocess.Popen(
        with_toys.command(),
        cwd=with_toys.folder,
        env=with_toys.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    log = with_toys.folder / "results/tiny/logs/measure/sums/cpu/tiny-ring/slow/default.log"
    wait_for(log.exists)
    time.sleep(0.5)
    os.killpg(running.pid, signal.SIGINT)
    said = running.communicate(timeout=60)[1]
    assert running.returncode != 0
    assert "stopped" in said and "0 failed" in said and "Traceback" not in said
    assert "stopped" in page(with_toys)
    assert not (with_toys.folder / "results/tiny/report.txt").exists()


@pytest.mark.parametrize("again", [None, 0, 1], ids=["once", "at-once", "twice"])
def test_ctrl_c_ends_steps_that_do_not_hear_of_it(with_toys, again):
    with_toys.configure({"sums": toy_experiment("deaf", queries=2)})
    running = subprocess.Popen(
        with_toys.command(),
        cwd=with_toys.folder,
        env=with_toys.environment,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for((with_toys.folder / "deaf").exists)
    steps = psutil.Process(running.pid).children(recursive=True)
    began = time.monotonic()
    os.killpg(running.pid, signal.SIGINT)
    if again is not None:
        time.sleep(again)
        os.killpg(running.pid, signal.SIGINT)
    ended, alive = psutil.wait_procs(steps, timeout=30)
    took = time.monotonic() - began
    assert ended and not alive and (took < 5) == bool(again)
    said = running.communicate(timeout=60)[1]
    assert running.returncode != 0 and "1 point, 0 failed, 1 stopped" in said and "Traceback" not in said


def test_a_closed_terminal_stops_a_run_tidily(with_toys):
    with_toys.configure({"sums": toy_experiment("slow", queries=8)})
    ours, theirs = pty.openpty()

    def begin():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    running = subprocess.Popen(
        with_toys.command(), cwd=with_toys.folder, env=with_toys.environment, preexec_fn=begin, **streams
    )
    os.close(theirs)
    log = with_toys.folder / "results/tiny/logs/measure/sums/cpu/tiny-ring/slow/default.log"
    wait_for(log.exists)
    time.sleep(0.5)
    os.close(ours)
    assert running.wait(60) != 0
    assert "stopped" in page(with_toys) and log.read_text().endswith("stopped\n")
    with_toys.configure({"sums": toy_experiment("numpy", queries=2)})
    done = with_toys.snakemake()
    assert done.returncode == 0, done.stderr


def wait_for(there):
    deadline = time.monotonic() + 120
    while not there() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert there()


@pytest.mark.timeout(300)
def test_what_is_made_of_an_answer_that_there_is_not_is_left_out_and_the_others_have_their_table(project):
    with (project.folder / "config/graphs.yaml").open("a") as catalogue:
        catalogue.write("tiny-bare: {title: B, generator: kronecker, parameters: {scale: 5, seed: 1}}\n")
    distances = {"title": "E", "problem": "apsp", "variants": ["scipy"], "keep": ["distances"]}
    kept = {"whole": distances | {"graphs": ["tiny-grid"]}, "none": distances | {"graphs": ["tiny-bare"]}}
    packed = {"title": "E", "problem": "compression", "variants": ["fast"]}
    project.configure(kept | {"packed": packed | {"arrays": ["whole.distances", "none.distances"]}})
    done = project.snakemake()
    assert done.returncode == 0, done.stderr
    assert "/raw/distances.parquet holds no answer: graph tiny-bare has no weights" in done.stderr
    rows = pq.read_table(project.folder / "results/tiny/tables/packed.parquet").to_pylist()
    assert {row["graph"] for row in rows} == {"whole.distances"}
    assert project.planned() == {}


@pytest.mark.parametrize(("experiment", "drawn"), [(ONE_POINT, False), (SWEEP, True)])
def test_what_draws_charts_is_made_where_there_are_some(project, experiment, drawn):
    (project.folder / "results/vega.js").unlink(missing_ok=True)
    project.configure({"tiny": experiment})
    planned = project.planned()
    assert (planned.get("vega", 0), planned.get("draw", 0)) == (drawn, drawn) and planned["report"] == 1


def test_a_run_in_a_locale_that_is_not_utf_8(project, monkeypatch):
    for name, value in (("LC_ALL", "C"), ("PYTHONUTF8", "0"), ("PYTHONCOERCECLOCALE", "0")):
        monkeypatch.setenv(name, value)
    # Made by this run.
    (project.folder / "results/vega.js").unlink(missing_ok=True)
    project.configure({"tiny": {**SWEEP, "title": "Zürich ≤ 北"}}, title="µs 北")
    done = project.snakemake()
    assert done.returncode == 0, done.stderr
    # Characters that the terminal lacks are escaped.
    assert "tiny: " in done.stderr and "\\xb5s" in done.stderr
    assert "µs 北" in page(project) and "Zürich ≤ 北" in page(project)
    assert "µs 北" in (project.folder / "results/index.html").read_text()
    assert project.planned() == {}


def test_every_run_has_a_folder_of_its_own(project):
    project.configure({"tiny": ONE_POINT}, name="one", title="The first")
    assert project.snakemake().returncode == 0
    before = state(project, "one"), page(project, "one")
    other = project.folder / "config/two.yaml"
    other.write_text((project.folder / "config/config.yaml").read_text().replace("name: one\n", ""))
    project.configure({"tiny": changed(queries=3)}, name="one", title="The first")
    done = project.snakemake("--configfile", "config/two.yaml")
    assert done.returncode == 0, done.stderr
    assert (state(project, "one"), page(project, "one")) == before
    assert len(state(project, "two")) == 1
    index = (project.folder / "results/index.html").read_text()
    assert 'href="one/report.html"' in index and 'href="two/report.html"' in index

    # A Snakefile called from elsewhere works there; an experiment is a target, which makes its own figures and no more.
    figure = {"mark": "step", "x": "degree", "y": "share"}
    degrees = {"title": "Degrees", "view": "graphs", "graphs": ["tiny-grid"], "figure": figure}
    project.configure({"tiny": degrees, "other": changed(graphs=["tiny-ring"])}, name="one")
    elsewhere = project.folder.parent / "elsewhere"
    (elsewhere / "saitan").mkdir(parents=True, exist_ok=True)
    # A clone of that name, say.
    (elsewhere / "saitan/__init__.py").write_text("raise ImportError('not the package')")
    done = subprocess.run(
        project.command("-s", str(project.folder / "Snakefile"), "-d", str(elsewhere), "tiny"),
        cwd=project.folder.parent,
        env=project.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    made = elsewhere / "results/one"
    assert (made / "tables/tiny.csv").exists() and (made / "figures/tiny.svg").exists()
    assert not (made / "tables/other.csv").exists() and not (made / "report.html").exists()


def test_a_users_own_file_is_an_input(project, tmp_path_factory):
    mirror = tmp_path_factory.mktemp("mirror")
    (mirror / "my own.gr").write_text("p sp 2 2\na 1 2 5\na 2 1 5\n")
    published = b"p sp 2 1\na 1 2 5\n"
    (mirror / "published.gr").write_bytes(published)
    entries = {
        "mine": {"title": "Mine", "file": "my own.gr", "format": "dimacs", "sha256": None},
        "published": {
            "title": "Published",
            "url": "http://192.0.2.1/published.gr",
            "format": "dimacs",
            "sha256": hashlib.sha256(published).hexdigest(),
        },
    }
    (project.folder / "config/graphs.yaml").write_text(yaml.safe_dump(entries))
    degrees = {"title": "Degrees", "view": "graphs", "graphs": ["published"]}
    project.configure({"tiny": changed(graphs=["mine"]), "degrees": degrees}, mirror=str(mirror))
    assert project.snakemake().returncode == 0
    before = state(project)
    # A run that ends before it measures shows no number of the file's earlier content.
    (mirror / "my own.gr").write_text("p sp 3 2\na 1 2 5\n")
    failed = project.snakemake()
    assert "1 point, 0 failed, 1 out of date, 0 left out; other jobs: 1 failed" in failed.stderr, failed.stderr
    (mirror / "my own.gr").write_text("p sp 3 2\na 1 2 5\na 2 3 5\n")
    # It may be older than what was made of the one before.
    os.utime(mirror / "my own.gr", (1000, 1000))
    assert project.snakemake().returncode == 0
    assert read_graph(project.folder / "results/graphs/mine").n == 3
    assert state(project).items().isdisjoint(before.items())
    # Once converted, the file itself need not be there, and nothing is measured again.
    project.configure({"tiny": changed(graphs=["mine"]), "degrees": degrees})
    done = project.snakemake()
    assert done.returncode == 0 and "Nothing to be done" in done.stdout + done.stderr, done.stderr
    assert len(state(project)) == 1 and "0 points" not in done.stderr


def test_another_mirror_may_bring_another_file(project, tmp_path_factory):
    folder, served = tmp_path_factory.mktemp("folder"), tmp_path_factory.mktemp("served")
    (folder / "own.gr").write_text("p sp 2 2\na 1 2 5\na 2 1 5\n")
    (served / "own.gr").write_text("p sp 3 4\na 1 2 5\na 2 1 5\na 2 3 7\na 3 2 7\n")
    entry = {"title": "Own", "file": "own.gr", "format": "dimacs"}
    (project.folder / "config/graphs.yaml").write_text(yaml.safe_dump({"own": entry}))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=served))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        for mirror, vertices in ((str(folder), 2), (f"http://127.0.0.1:{server.server_port}", 3), (str(folder), 2)):
            project.configure({"tiny": changed(graphs=["own"])}, mirror=mirror)
            for _ in range(2):
                done = project.snakemake("graphs")
                assert done.returncode == 0, done.stderr
            assert "Nothing to be done" in done.stdout + done.stderr
            assert read_graph(project.folder / "results/graphs/own").n == vertices
    finally:
        server.shutdown()
        server.server_close()


def test_where_the_mirror_goes_the_publisher_may_have_another_file(project, tmp_path_factory):
    folder, served = tmp_path_factory.mktemp("folder"), tmp_path_factory.mktemp("served")
    (folder / "own.gr").write_text("p sp 2 2\na 1 2 5\na 2 1 5\n")
    (served / "own.gr").write_text("p sp 3 4\na 1 2 5\na 2 1 5\na 2 3 7\na 3 2 7\n")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=served))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    entry = {"title": "Own", "url": f"http://127.0.0.1:{server.server_port}/own.gr", "format": "dimacs"}
    (project.folder / "config/graphs.yaml").write_text(yaml.safe_dump({"own": entry}))

    def run(mirror, *targets):
        project.configure({"tiny": changed(graphs=["own"])}, mirror=mirror)
        return project.snakemake(*targets)

    try:
        for mirror, vertices in ((str(folder), 2), (None, 3), (str(folder), 2)):
            done = run(mirror, "graphs")
            assert done.returncode == 0, done.stderr
            assert read_graph(project.folder / "results/graphs/own").n == vertices
    finally:
        server.shutdown()
        server.server_close()
    # It is not there, which no later call passes over.
    for _ in range(2):
        done = run(None)
        assert done.returncode != 0 and "fetch own.gr: " in done.stderr
    assert run(str(folder)).returncode == 0
    assert "fetch" not in (project.folder / "results/tiny/report.txt").read_text()


def test_touch_shows_no_number_of_another_configuration(project):
    project.configure({"tiny": ONE_POINT})
    assert project.snakemake().returncode == 0
    before = state(project)
    project.configure({"tiny": changed(title="Another", queries=ONE_POINT.get("queries", 1) + 1)})
    touched = project.snakemake("--touch")
    assert touched.returncode == 0, touched.stderr
    assert "--touch measured nothing: another call measures what is out of date" in touched.stderr.splitlines()
    assert "0 failed" not in touched.stderr and "[1/1]" not in touched.stderr
    assert project.planned()["measure"] == len(before) == 1


def test_code_edited_while_a_run_goes_makes_nothing_of_it(project):
    edit = 'include: "Snakefile"\n\nif workflow.is_main_process:\n    with open("workflow/queries.py", "a") as file:\n'
    (project.folder / "edited.smk").write_text(f'{edit}        file.write("DRAWN = 2\\n")\n')
    done = project.snakemake("all", "-s", "edited.smk")
    why = "workflow/queries.py was edited after this run was planned: run the same command again"
    assert done.returncode != 0 and why in done.stderr and "Traceback" not in done.stderr
    assert not list((project.folder / "results/instances").rglob("*.json"))


def test_bad_config_is_one_line(project):
    project.configure({"tiny": changed(viw="summary")})
    done = project.snakemake()
    assert done.returncode != 0
    lines = (project.folder / "config/config.yaml").read_text().splitlines()
    [line] = [number for number, text in enumerate(lines, 1) if "viw:" in text]
    says = "experiments.tiny.viw: unknown key 'viw'; did you mean 'view'?"
    assert project.said(done) == [f"config: config/config.yaml: line {line}: {says}"]
    project.configure({"tiny": ONE_POINT})
    lines = project.said(project.snakemake("--config", "viw=1"))
    assert any(line.startswith("config: viw: unknown key ") for line in lines), lines


def test_ctrl_c_before_the_first_job_is_one_line(project):
    (project.folder / "stopped.smk").write_text('include: "Snakefile"\n\nraise KeyboardInterrupt\n')
    done = project.snakemake("-n", "-s", "stopped.smk")
    assert done.returncode != 0 and done.stderr.splitlines()[1:] == ["stopped before the first job"]


@pytest.mark.parametrize("function", ["cores_of", "gpus_of"])
def test_ctrl_c_while_a_job_s_resources_are_asked_for_is_one_line(project, function):
    stopped = """from saitan.workflow.plan import Plan

def interrupted(self, point):
    raise KeyboardInterrupt

Plan.FUNCTION = interrupted
include: "Snakefile"
"""
    (project.folder / "stopped.smk").write_text(stopped.replace("FUNCTION", function))
    project.configure({"tiny": ONE_POINT})
    for dry in ([], ["-n"]):
        done = project.snakemake("all", *dry, "-s", "stopped.smk")
        # A dry run's messages are what it prints.
        said = (done.stdout + done.stderr).splitlines()
        lines = [line for line in said if not line.startswith(("Using ", "skipped: ", "Building "))]
        assert done.returncode != 0 and lines == ["stopped before the first job"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"name: [a\nb: }\n", "line 2: "),
        (b"name: caf\xe9\n", "line 1: the byte 0xe9 is not UTF-8"),
        (b"- a\n", "it holds a list at its top: keys such as `experiments:` are right"),
        (None, None),
    ],
)
def test_a_run_whose_file_cannot_be_read_is_one_line(project, content, says):
    path = project.folder / "config/config.yaml"
    path.unlink()
    if content:
        path.write_bytes(content)
    done = project.snakemake("-n")
    lines = project.said(done)
    missing = "config: config/config.yaml is not there: name another file by --configfile"
    assert done.returncode != 0 and len(lines) == 1, lines
    assert lines[0] == missing if content is None else lines[0].startswith(f"config: config/config.yaml: {says}")


def test_a_named_file_that_cannot_be_read_is_one_line(project):
    # Snakemake reads what --configfile names before the Snakefile, and would say neither file nor line.
    path = project.folder / "mine.yaml"
    for content, says in (
        (b"name: [a\nb: }\n", "mine.yaml: line 2: "),
        (b"", "mine.yaml: it holds nothing at its top: "),
        (None, "mine.yaml is not there: targets come before --configfile, which takes all that follows it"),
    ):
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
        done = project.snakemake("-n", "--configfile", "config/config.yaml", "mine.yaml")
        lines = project.said(done)
        assert done.returncode != 0 and len(lines) == 1 and lines[0].startswith(f"config: {says}"), lines


def test_a_mistyped_target_is_one_line(project):
    done = project.snakemake("-n", "tinny")
    assert done.returncode != 0 and project.said(done) == ["unknown target 'tinny'; did you mean 'tiny'?"]
    # The rule of many points is none, behind --until it is one.
    assert project.snakemake("-n", "--until", "measure").returncode == 0
    done = project.snakemake("-n", "measure")
    [line] = project.said(done)
    assert done.returncode != 0 and line.startswith("unknown target 'measure' (there are: all, tiny, ")
    # No experiment without a figure has one.
    done = project.snakemake("-n", "results/tiny/figures/tiny.svg")
    assert done.returncode != 0
    assert project.said(done)[-1] == "config: results/tiny/figures: experiment tiny has no figure"


def test_bad_catalogue_is_one_line(project):
    (project.folder / "config/graphs.yaml").write_text(
        GRAPHS + "\nother: {title: x, generator: ringg, parameters: {}}\n"
    )
    done = project.snakemake()
    lines = project.said(done)
    assert done.returncode != 0
    assert len(lines) == 1 and lines[0].startswith("config: config/graphs.yaml: line "), lines
    assert "other" in lines[0] and "ringg" in lines[0], lines


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
    logs = project.folder / "results/tiny/logs/measure"
    wait_for(lambda: list(logs.rglob("*.log")))
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
    # A change downstream does not ask the server.
    project.configure({"tiny": changed(graphs=["tiny-gr"], queries=1)})
    assert "fetch" not in project.planned()

    # Gone and needed: one line that names the address, and the other points stay.
    before = state(project)
    (project.folder / "results/downloads/tiny.gr").unlink()
    (project.folder / "results/graphs/tiny-gr/edges.parquet").unlink()
    failed = project.snakemake()
    assert failed.returncode != 0
    assert f"error: {url}" in failed.stderr
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
    assert "skipped: graph lacking in tiny: the mirror" in done.stderr
    assert "lacking.gr" in page(project)
    project.configure({"tiny": changed(graphs=["here"])}, mirror="no/such/folder")
    assert ": mirror: no/such/folder is no folder and no address" in project.snakemake().stderr
