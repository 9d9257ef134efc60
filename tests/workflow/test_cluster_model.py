"""The model of paper H's search: points measured, read again, compared with the model, and drawn."""

import csv
import json
import sys
from pathlib import Path

import pytest
from numba import get_num_threads, set_num_threads

from saitan.workflow import cluster_model


@pytest.fixture
def run(monkeypatch):
    """The command, which takes one core; other tests have theirs again."""
    threads = get_num_threads()

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["cluster_model", *map(str, arguments)])
        cluster_model.main()

    yield call
    set_num_threads(threads)


def test_points_are_measured_and_drawn(tmp_path, run, capsys):
    for scale in (8, 10):
        run("measure", "--ranks", 1, "--scale", scale, "--roots", 2, "--out", tmp_path)
    point = json.loads((tmp_path / "cpu-1-10.json").read_text())
    assert (point["backend"], point["ranks"], point["scale"], len(point["searches"])) == ("cpu", 1, 10, 2)
    run("draw", tmp_path, "--latency-us", 2, "--rate-gb", 5)
    assert capsys.readouterr().out.count("measured") == 2
    rows = list(csv.DictReader((tmp_path / "model.csv").open()))
    assert "" not in rows[0]
    beyond = [row for row in rows if row["kind"] == "modelled beyond"]
    assert [(int(row["processes"]), float(row["nodes"])) for row in beyond] == [
        (processes, nodes) for nodes, processes in cluster_model.NODES.items()
    ]
    assert all(float(row["teps"]) > 0 for row in rows)
    assert "stroke-dasharray" in (tmp_path / "model.svg").read_text()


def test_gpus_stand_beside_what_was_published(tmp_path, run):
    run("measure", "--ranks", 1, "--scale", 8, "--roots", 1, "--out", tmp_path)
    point = json.loads((tmp_path / "cpu-1-8.json").read_text())
    (tmp_path / "cuda-1-8.json").write_text(json.dumps(point | {"backend": "cuda"}))
    (tmp_path / "cpu-1-8.json").unlink()
    (tmp_path / "cpu-1-8.npz").rename(tmp_path / "cuda-1-8.npz")
    run("draw", tmp_path)
    rows = list(csv.DictReader((tmp_path / "model.csv").open()))
    modelled, published = (
        {int(row["processes"]): float(row["teps"]) for row in rows if row["kind"] == kind}
        for kind in ("modelled beyond", "published, by GPU")
    )
    assert list(modelled) == list(published) == [8, 32, 128, 512, 2048, 8192]
    assert published[8192] == 410e12 and published[8] == pytest.approx(8 * 50e9, rel=0.01)
    assert "published: 50 GTEPS a GPU on 8,192 H100" in (tmp_path / "model.svg").read_text()


def test_of_a_roots_rounds_the_median_counts(tmp_path, run, monkeypatch):
    search, seconds = cluster_model._search, iter([9.0, 1.0, 5.0, 2.0, 4.0])

    def timed(solver, root):
        found, levels = search(solver, root)
        return found | {"seconds": next(seconds)}, levels

    monkeypatch.setattr(cluster_model, "_search", timed)
    run("measure", "--ranks", 1, "--scale", 8, "--roots", 1, "--out", tmp_path)
    [only] = json.loads((tmp_path / "cpu-1-8.json").read_text())["searches"]
    assert only["seconds"] == 4


def test_ranks_that_take_turns_on_a_core_are_no_part_of_the_model(tmp_path, run, capsys):
    run("measure", "--ranks", 1, "--scale", 8, "--roots", 1, "--out", tmp_path)
    path = tmp_path / "cpu-1-8.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"crowded": "8 ranks of 1 cores on 2"}))
    with pytest.raises(SystemExit):
        run("draw", tmp_path)
    assert (
        capsys.readouterr().err
        == "error: no point has ranks with a core or GPU each, to which a model could be fitted\n"
    )
    run("measure", "--ranks", 1, "--scale", 9, "--roots", 1, "--out", tmp_path)
    run("draw", tmp_path)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "cpu 1 x, scale 8: left out, 8 ranks of 1 cores on 2"
    assert [line.split(":")[0] for line in said[1:]] == ["cpu 1 x, 512 vertices"]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["measure", "--ranks", 0, "--scale", 8, "--out", "out"], "--ranks: must be at least 1, not 0"),
        (["measure", "--ranks", 1, "--scale", 8, "--roots", -3, "--out", "out"], "--roots: must be at least 1, not -3"),
        (["measure", "--ranks", 1, "--scale", 8, "--out", "file"], "file: File exists"),
        (["draw", "points", "--rate-gb", -1], "--rate-gb: must be greater than 0, not -1.0"),
        (["draw", "points", "--latency-us", "nan"], "--latency-us: must be finite, not nan"),
        (["draw", "points"], "points/cpu-1-8.npz: No such file or directory"),
        (["draw", "cut"], "cut/cpu-1-8.json is damaged: copy or measure the point again (Expecting"),
        (["draw", "damaged"], "damaged/cpu-1-8.npz is damaged: copy or measure the point again ("),
    ],
)
def test_what_is_off_is_one_line(tmp_path, monkeypatch, run, capsys, command, says):
    monkeypatch.chdir(tmp_path)
    for folder, told in (("points", "{}"), ("cut", "{"), ("damaged", "{}")):
        Path(folder).mkdir()
        Path(folder, "cpu-1-8.json").write_text(told)
    Path("damaged/cpu-1-8.npz").write_bytes(b"PK")
    Path("file").touch()
    with pytest.raises(SystemExit) as caught:
        run(*command)
    assert caught.value.code and says in capsys.readouterr().err.splitlines()[-1]


def test_a_network_without_latency_is_a_network(tmp_path, run):
    run("measure", "--ranks", 1, "--scale", 8, "--roots", 1, "--out", tmp_path)
    seen = []
    for latency in (0, 0.5, 1000):
        run("draw", tmp_path, "--latency-us", latency, "--rate-gb", 1)
        rows = csv.DictReader((tmp_path / "model.csv").open())
        seen.append(max(float(row["teps"]) for row in rows if row["kind"] == "modelled beyond"))
    assert seen == sorted(seen, reverse=True) and seen[0] > seen[1] > seen[2]


def test_a_folder_without_points_is_one_line(tmp_path, run):
    with pytest.raises(SystemExit, match=r"holds no points: `measure --out"):
        run("draw", tmp_path)
