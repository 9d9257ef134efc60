"""Points of several ranks: sampled together, written by one; what is left when one of them fails or is killed."""

import json
import os
import shlex
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet as pq
import pytest
from mpi import LAUNCHER, needs_ranks
from sums import EXPERIMENT, put_into

from saitan import apsp
from saitan.problem import Unavailable
from saitan.workflow.answers import about_answer, read_answer
from saitan.workflow.graphs.parquet import read_graph
from saitan.workflow.instances import write_queries
from saitan.workflow.launch import reason
from saitan.workflow.step import Failure

FLOAT = "{vertices: 40, degree: 4, weights: float, seed: 1}"
pytestmark = [needs_ranks, pytest.mark.timeout(60)]


@pytest.fixture
def sums(project):
    put_into(project.folder)
    return project


@pytest.fixture
def measured(sums, tmp_path):
    """Measure a variant on two ranks; returns the exit status, what was printed, the log's lines, the sample file."""
    write_queries([1, 2], tmp_path / "queries.json")
    np.savez(tmp_path / "reference.npz")

    def run(variant, launcher=LAUNCHER, ranks=2):
        settings = {"experiment": "e", "problem": "sums", "backend": "cpu", "graph": "no-graph", "variant": variant}
        settings |= {"parameters": {}, "instance": {}, "traced": False, "ranks": ranks, "budget_s": 1, "warmup": 0}
        settings |= {"spread": 0.02, "min_rounds": 2, "max_rounds": 3}
        log, output, reference = tmp_path / "log", tmp_path / "out/a.parquet", tmp_path / "reference.npz"
        step = [sys.executable, "-m", "saitan.workflow.measure", "--settings", json.dumps(settings), "--cores", "2"]
        step += ["--queries", str(tmp_path / "queries.json"), "--reference", str(reference), "--output", str(output)]
        step += ["--log", str(log), "--ranks", str(ranks)]
        command = [sys.executable, "-m", "saitan.workflow.launch", *shlex.split(launcher)]
        done = subprocess.run(
            [*command, "-n", str(ranks), *step], capture_output=True, text=True, env=sums.environment, timeout=40
        )
        return done.returncode, done.stderr.splitlines(), log.read_text().splitlines()[1:], output

    return run


@pytest.mark.timeout(300)
def test_ranks_are_swept_and_one_writes(sums):
    searched = {"title": "Ours", "problem": "bfs", "graphs": ["tiny-grid"], "variants": ["cluster"], "ranks": [2, 3]}
    searched |= {"quantities": ["teps", "sent_bytes"], "queries": 2}
    searched |= {"figure": {"mark": "line", "x": "ranks", "y": "sent_bytes"}}
    swept = EXPERIMENT | {"variants": ["right", "alone"]}
    sums.configure({"sums": swept, "searched": searched}, launcher=LAUNCHER)
    done = sums.snakemake()
    assert done.returncode == 0, done.stderr
    assert "skipped: cluster on cpu in searched (tiny-grid, ranks 3): cluster runs on 1, 2, 8, 32, " in done.stderr
    rows = pq.read_table(sums.folder / "results/tiny/samples/searched").to_pylist()
    assert {row["checked"] for row in rows} == {"every vertex and arc, by Graph500's rules"}
    assert all(row["counters"]["sent_bytes"] > 0 for row in rows)
    folder = sums.folder / "results/tiny/samples/sums/cpu/no-graph"
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*.parquet")) == [
        "alone/default.parquet",
        "right/ranks~1.parquet",
        "right/ranks~2.parquet",
        "right/ranks~4.parquet",
    ]
    for ranks in (1, 2, 4):
        rows = pq.read_table(folder / f"right/ranks~{ranks}.parquet").to_pylist()
        assert rows[0]["parameters"] == {"ranks": ranks} and rows[0]["counters"]["ranks_seen"] == ranks
        assert rows[0]["cores"] == max(2, min(ranks, os.cpu_count()))
        assert rows[0]["seconds"] == pytest.approx(0.001 * ranks) and rows[0]["memory"] == 8 * ranks
        told = json.loads(pq.read_schema(folder / f"right/ranks~{ranks}.parquet").metadata[b"saitan"])
        assert ("ranks" in " ".join(told["disturbed"])) == (ranks > max(2, os.cpu_count()))
        if ranks > 1:
            assert rows[0]["provenance"]["hosts"].count(f"{ranks} x ") == 1 and "MPI" in rows[0]["provenance"]["mpi"]
    table = pq.read_table(sums.folder / "results/tiny/tables/sums.parquet").to_pylist()
    assert [row["ranks"] for row in table if row["quantity"] == "ranks_seen"] == [1, 2, 4, None]
    assert "Ranks are started by <code>mpirun" in (sums.folder / "results/tiny/report.html").read_text()
    assert sums.planned() == {}
    sums.configure({"sums": swept | {"ranks": [1, 2, 3, 4]}, "searched": searched}, launcher=LAUNCHER)
    assert sums.planned()["measure"] == 1


def test_a_rank_that_raises_ends_all_with_its_line(measured):
    started = time.monotonic()
    status, printed, logged, output = measured("raises")
    assert status == 1 and len(printed) == 1 and printed == logged
    assert printed[0].startswith("error: rank 1 of 2 on ") and printed[0].endswith("out of memory: as asked")
    assert time.monotonic() - started < 20 and not list(output.parent.glob("*"))


def test_what_all_ranks_find_wrong_is_one_line(measured):
    status, printed, logged, output = measured("wrong")
    assert status == 1 and len(printed) == 1 and printed == logged
    assert printed[0].startswith("error: rank ") and printed[0].endswith("all are wrong") and not output.exists()


def test_what_one_rank_lacks_leaves_the_point_out_and_is_named(measured):
    """As where one has no GPU and the others have."""
    status, printed, logged, output = measured("lacks")
    said = json.loads(pq.read_schema(output).metadata[b"saitan"])["unavailable"]
    assert status == 0 and said.startswith("rank 1 of 2 on ") and said.endswith(": there is no device")
    assert logged[0] == f"left out: {said}" and logged[0] in printed and pq.read_table(output).num_rows == 0


def test_what_all_ranks_find_unfit_leaves_the_point_out_as_alone(measured):
    for ranks in (2, 3):
        status, printed, logged, output = measured("unfit", ranks=ranks)
        assert status == 0 and logged[0] == "left out: not for such sums" and printed == [logged[0]]
        assert json.loads(pq.read_schema(output).metadata[b"saitan"])["unavailable"] == "not for such sums"


def test_what_one_rank_finds_unfit_while_others_wait_for_it_ends_all(measured):
    status, printed, logged, output = measured("parted")
    assert status == 1 and printed == logged and not output.exists()
    assert printed[0].startswith("error: rank 1 of 2 on ") and printed[0].endswith(": one is enough")


@pytest.mark.timeout(300)
def test_an_answer_that_no_rank_can_give_is_kept_as_nothing(project):
    """Its point is left out, and the others of its experiment have their table."""
    with (project.folder / "config/graphs.yaml").open("a") as catalogue:
        catalogue.write("tiny-float: {title: F, generator: regular, parameters: " + FLOAT + "}\n")
    given = {"title": "F", "problem": "apsp", "graphs": ["tiny-float"], "variants": ["batched", "sweep"]}
    given |= {"instance": {"answer": "slabs"}, "ranks": [1, 2], "keep": ["distances"]}
    project.configure({"floats": given}, launcher=LAUNCHER)
    done = project.snakemake()
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(project.folder / "results/tiny/tables/floats.parquet").to_pylist()
    assert {(row["variant"], row["ranks"]) for row in rows} == {("batched", 1), ("batched", 2)}
    for ranks in (1, 2):
        place = f"results/answers/apsp/cpu/tiny-float/sweep/answer~slabs,ranks~{ranks}/8-1/raw/distances.parquet"
        with pytest.raises(Unavailable, match="holds no answer: sweep needs integer weights, not float32"):
            read_answer(project.folder / place)
    assert project.planned() == {}


def test_a_killed_rank_ends_the_job_and_is_named(measured):
    status, printed, logged, output = measured("killed")
    assert status == 1 and printed[-1] == logged[-1]
    assert printed[-1].startswith("error: rank 1 on ") and printed[-1].endswith("was killed (signal 9)")
    assert len(printed) == 1 and not list(output.parent.glob("*"))


def test_a_missing_launcher_is_one_line(measured):
    status, printed, logged, _ = measured("right", "no-such-mpirun")
    said = "error: no-such-mpirun is not installed or not on PATH: `launcher` must name a program that starts ranks"
    assert status == 1 and printed == logged == [said]


def test_processes_that_are_not_joined_are_one_line(measured):
    """As where the launcher is another MPI's than mpi4py's: each process is alone."""
    status, printed, logged, output = measured("right", "nice")
    assert status == 1 and printed == logged and not output.exists()
    assert printed[0].startswith("error: the launcher joined 1 processes, not 2: mpi4py loads ")


def test_a_number_of_ranks_that_does_not_fit_is_left_out(sums):
    sums.configure({"sums": EXPERIMENT | {"variants": ["right"], "ranks": [2, 9]}}, launcher=LAUNCHER)
    done = sums.snakemake("-n")
    assert "skipped: right on cpu in sums (ranks 9): right runs on 1 to 8 ranks, not 9" in done.stderr


@pytest.mark.timeout(300)
def test_ranks_keep_an_answer_in_slabs_and_finished_ones_stay(project):
    kept = {"title": "Kept", "problem": "apsp", "graphs": ["tiny-grid"], "variants": {"batched": {"tasks": 8}}}
    kept |= {"instance": {"answer": "slabs"}, "ranks": [2], "keep": ["distances"]}
    project.configure({"kept": kept}, launcher=LAUNCHER)
    place = "results/answers/apsp/cpu/tiny-grid/batched/answer~slabs,tasks~8,ranks~2/8-1/raw"
    answer = project.folder / place / "distances.parquet"
    done = project.snakemake(f"{place}/distances.parquet")
    assert done.returncode == 0, done.stderr
    slabs = sorted((answer.parent / "distances.slabs").iterdir())
    about = about_answer(answer)
    assert about["shape"] == [144, 144] and about["slabs"] == [*range(0, 144, 18)]
    assert [int(slab.stem) for slab in slabs] == about["slabs"]
    graph = read_graph(project.folder / "results/graphs/tiny-grid")
    wanted = apsp.solve(graph, variant="scipy", backend="cpu")
    assert np.array_equal(read_answer(answer), wanted)
    assert np.array_equal(read_answer(answer, slice(17, 60)), wanted[17:60])
    # As others read a folder.
    rows = pq.read_table(answer.parent / "distances.slabs")["values"]
    assert rows.to_pylist() == wanted.tolist()
    times = {slab: slab.stat().st_mtime_ns for slab in slabs}
    # As after a call that ended early, and one with other slabs.
    answer.unlink()
    slabs[3].unlink()
    slabs[4].write_bytes(b"half")
    (answer.parent / "distances.slabs/7.parquet").write_bytes(slabs[0].read_bytes())
    done = project.snakemake(f"{place}/distances.parquet")
    assert done.returncode == 0, done.stderr
    assert np.array_equal(read_answer(answer), wanted)
    again = {slab: slab.stat().st_mtime_ns for slab in sorted((answer.parent / "distances.slabs").iterdir())}
    assert again.keys() == times.keys() and {s for s in slabs if again[s] != times[s]} == {slabs[3], slabs[4]}
    slabs[0].unlink()
    with pytest.raises(Failure, match="is missing, a part of"):
        read_answer(answer)


SPOILS = """
from saitan.apsp.cpu import Batched
from saitan.ranks import current

class Spoils(Batched):
    def run(self, query):
        if current().rank == 1:
            self.graph.weights[:] = 1
        return super().run(query)
"""


@pytest.mark.timeout(300)
def test_slabs_of_a_call_that_was_refused_are_not_taken_over(project):
    (project.folder / "kernels/apsp/spoils.py").write_text(SPOILS)
    with (project.folder / "kernels/apsp/variants.py").open("a") as variants:
        variants.write("VARIANTS['spoils'] = Variant('own', cpu='saitan.apsp.spoils:Spoils', ranks=range(1, 9))\n")
    kept = {"title": "Kept", "problem": "apsp", "graphs": ["tiny-grid"], "variants": ["spoils"], "keep": ["distances"]}
    project.configure({"kept": kept | {"instance": {"answer": "slabs"}, "ranks": [2]}}, launcher=LAUNCHER)
    place = "results/answers/apsp/cpu/tiny-grid/spoils/answer~slabs,ranks~2/8-1/raw"
    for _ in range(2):
        done = project.snakemake(f"{place}/distances.parquet")
        assert done.returncode == 1 and not (project.folder / place / "distances.parquet").exists()
        assert "spoils writes into graph.weights of its instance, by which answers are checked: take a" in done.stderr


@pytest.mark.timeout(300)
def test_ranks_keep_numbers_of_every_row_by_their_leader(project):
    kept = {"title": "Kept", "problem": "apsp", "graphs": ["tiny-grid"], "variants": {"batched": {"tasks": 8}}}
    kept |= {"instance": {"answer": "reductions"}, "ranks": [2], "keep": ["reached", "total"]}
    project.configure({"kept": kept}, launcher=LAUNCHER)
    place = "results/answers/apsp/cpu/tiny-grid/batched/answer~reductions,tasks~8,ranks~2/8-1/raw"
    done = project.snakemake(f"{place}/total.parquet", f"{place}/reached.parquet")
    assert done.returncode == 0, done.stderr
    distances = apsp.solve(read_graph(project.folder / "results/graphs/tiny-grid"), variant="scipy", backend="cpu")
    assert np.array_equal(read_answer(project.folder / place / "total.parquet"), distances.sum(axis=1, dtype=np.uint64))
    assert np.array_equal(read_answer(project.folder / place / "reached.parquet"), np.full(144, 144))


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            "mpirun noticed that process rank 3 with PID 0 on node a1 exited on signal 9 (Killed).",
            "rank 3 on a1 was killed (signal 9)",
        ),
        ("srun: error: a1: task 2: Killed\nsrun: done", "rank 2 on a1 was killed (Killed)"),
        (
            "-----\nmpirun has detected an attempt to run as root.\nmore",
            "the program of `launcher` ended with status 1: mpirun has",
        ),
        ("", "the program of `launcher` ended with status 1: it said nothing"),
    ],
)
def test_what_a_launcher_says(said, line):
    assert reason(said, 1).startswith(line)
