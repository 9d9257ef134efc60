"""`python -m saitan.apsp` from a terminal."""

import subprocess
import sys

import pytest

from saitan import apsp, read_graph
from saitan.apsp.__main__ import main
from saitan.workflow.graphs.parquet import write_graph

LINES = "p sp 4 4\na 1 2 5\na 2 3 7\na 3 1 1\na 1 3 20\n"


def called(*arguments):
    command = [sys.executable, "-m", "saitan.apsp", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def graph(tmp_path):
    path = tmp_path / "small.gr"
    path.write_text(LINES)
    return path


def test_compress_info_get(graph, tmp_path):
    file = tmp_path / "m"
    done = called("compress", graph, file, "--backend", "cpu")
    assert done.returncode == 0 and "16 entries in" in done.stdout and "every entry checked" in done.stdout, done.stderr
    assert "4 x 4 uint32" in called("info", file).stdout
    plain = tmp_path / "graph.txt"
    plain.write_text(graph.read_text())
    assert called("compress", plain, tmp_path / "n", "--backend", "cpu", "--format", "dimacs").returncode == 0
    assert (tmp_path / "n").stat().st_size > 0
    assert "pace" in called("compress", plain, tmp_path / "n", "--format", "dimac").stderr
    assert called("get", file, 0, 2).stdout == "12\n"
    told = " ".join(called("get", "--help").stdout.split())
    assert told.count("number of a vertex, from 0 on: one less than in DIMACS") == 2
    assert called("get", file, 3, 2).stdout == "unreached\n"
    assert called("get", file, -1, 0).stderr == "source -1 is not in [0, 4)\n"
    with apsp.open(file) as m:
        assert (m[:] == apsp.solve(read_graph(graph), backend="cpu")).all()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("info", "{graph}"), "no coded matrix"),
        (("info", "{folder}/none"), "No such file"),
        (("compress", "{graph}", "{folder}/m", "--backend", "cpu", "--variant", "fats"), "unknown variant 'fats'"),
        (("compress", "{graph}", "{graph}/m", "--backend", "cpu"), "small.gr"),
        (("compress", "{folder}/none.gr", "{folder}/m"), "none.gr"),
        (("compress", "{graph}", "{folder}", "--backend", "cpu"), "{folder}: a folder has this name\n"),
        (("compress", "{folder}", "{folder}/m"), "{folder}: this folder holds no graph: there is no vertices.parquet"),
    ],
)
def test_what_is_wrong_is_one_line(graph, tmp_path, arguments, said):
    done = called(*(part.format(graph=graph, folder=tmp_path) for part in arguments))
    assert done.returncode == 1 and said.format(folder=tmp_path) in done.stderr and done.stderr.count("\n") == 1, (
        done.stderr
    )
    assert [path.name for path in tmp_path.iterdir()] == ["small.gr"]


def test_the_graph_is_not_written_over(graph):
    before = graph.read_bytes()
    done = called("compress", graph, graph)
    assert done.returncode and "is the graph itself" in done.stderr
    assert graph.read_bytes() == before


@pytest.mark.parametrize("name", ["vertices.parquet", "edges.parquet", "../link"])
def test_a_file_of_a_graph_s_folder_is_not_written_over(graph, tmp_path, name, monkeypatch):
    folder = tmp_path / "g"
    write_graph(read_graph(graph), folder)
    (tmp_path / "link").symlink_to(folder / "edges.parquet")
    before = (folder / name).read_bytes()
    monkeypatch.setattr(sys, "argv", ["apsp", "compress", str(folder), str(folder / name), "--backend", "cpu"])
    with pytest.raises(SystemExit, match=r"(parquet|link) is the graph itself: name another file for its matrix$"):
        main()
    assert (folder / name).read_bytes() == before
