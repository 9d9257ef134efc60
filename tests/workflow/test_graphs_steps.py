"""The steps fetch, convert and generate, as commands and as functions."""

import gzip
import hashlib
import re
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from saitan.generators import GENERATORS
from saitan.graph import Graph
from saitan.workflow.graphs.catalogue import ENTRY
from saitan.workflow.graphs.convert import convert
from saitan.workflow.graphs.fetch import fetch
from saitan.workflow.graphs.generate import generate
from saitan.workflow.graphs.parquet import read_graph, read_metadata
from saitan.workflow.graphs.streams import of_copies
from saitan.workflow.step import Failure

CONTENT = b"p sp 3 4\na 1 2 5\na 2 3 6\na 3 3 1\na 1 2 4\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PACKED = gzip.compress(CONTENT)


@pytest.fixture
def server(monkeypatch):
    """A server whose `answers` are (status, body, bytes announced) in turn, the last for ever, and their `versions`."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    state = SimpleNamespace(answers=[(200, PACKED, None)], paths=[], ranges=[], conditions=[], resumes=True)
    state.versions = [{}]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            state.paths.append(self.path)
            state.ranges.append(self.headers.get("Range"))
            state.conditions.append(self.headers.get("If-Range"))
            version = state.versions.pop(0) if len(state.versions) > 1 else state.versions[0]
            status, body, announced = state.answers.pop(0) if len(state.answers) > 1 else state.answers[0]
            asked = self.headers.get("Range")
            resumed = asked and status == 206 and state.resumes
            start = int(asked.removeprefix("bytes=").removesuffix("-")) if resumed else 0
            self.send_response(status)
            if status == 206:
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            self.send_header("Content-Length", str((announced or len(body)) - start))
            for header, value in version.items():
                self.send_header(header, value)
            self.end_headers()
            self.wfile.write(body[start:])

        def log_message(self, *_):
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    state.base = f"http://127.0.0.1:{httpd.server_port}/data"
    state.stop = httpd.server_close
    yield state
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def gives_up(folder, *args, **options):
    """The one line of a fetch that fails; nothing must be left behind."""
    with pytest.raises(Failure) as failure:
        fetch(*args, folder / "graph.gr.gz", pause=0, **options)
    assert list(folder.iterdir()) == []
    assert "\n" not in str(failure.value)
    return str(failure.value)


def test_a_download_is_checked_and_kept_as_it_is(server, tmp_path):
    fetch(f"{server.base}/graph.gr.gz", tmp_path / "graph.gr.gz", sha256=SHA256)
    assert (tmp_path / "graph.gr.gz").read_bytes() == PACKED
    assert server.paths == ["/data/graph.gr.gz"]


def test_a_wrong_checksum_is_fetched_again_and_then_given_up(server, tmp_path):
    url = f"{server.base}/graph.gr.gz"
    message = gives_up(tmp_path, url, sha256="0" * 64)
    assert message.startswith(f"{url}: its decompressed content has the SHA-256 {SHA256}, but 000")
    assert message.endswith("(given up after 3 attempts)")
    assert server.ranges == [None] * 3


def test_a_second_attempt_may_succeed(server, tmp_path):
    server.answers = [(503, b"", None), (200, gzip.compress(b"other"), None), (200, PACKED, None)]
    fetch(f"{server.base}/graph.gr.gz", tmp_path / "graph.gr.gz", sha256=SHA256, pause=0)
    assert (tmp_path / "graph.gr.gz").read_bytes() == PACKED


@pytest.mark.parametrize("status", [408, 416, 429, 500])
def test_what_a_server_may_do_better_later_is_asked_for_again_from_the_beginning(server, tmp_path, status):
    server.answers = [(200, PACKED[:20], len(PACKED)), (status, b"", None), (200, PACKED, None)]
    fetch(f"{server.base}/graph.gr.gz", tmp_path / "graph.gr.gz", sha256=SHA256, pause=0)
    assert (tmp_path / "graph.gr.gz").read_bytes() == PACKED
    assert server.ranges == [None, "bytes=20-", None]


def test_a_damaged_archive_is_fetched_again_without_a_checksum_too(server, tmp_path):
    server.answers = [(200, PACKED[:-10], None), (200, PACKED, None)]
    fetch(f"{server.base}/graph.gr.gz", tmp_path / "graph.gr.gz", pause=0)
    assert (tmp_path / "graph.gr.gz").read_bytes() == PACKED


@pytest.mark.parametrize(("status", "resumes"), [(206, True), (206, False), (200, False)])
def test_a_broken_download_goes_on_where_it_stopped_if_the_server_can(server, tmp_path, status, resumes):
    server.answers, server.resumes = [(200, PACKED[:20], len(PACKED)), (status, PACKED, None)], resumes
    fetch(f"{server.base}/graph.gr.gz", tmp_path / "graph.gr.gz", sha256=SHA256, pause=0)
    assert (tmp_path / "graph.gr.gz").read_bytes() == PACKED
    assert server.ranges == [None, "bytes=20-"]


DATES = [f"Sun, 29 Nov 2026 10:00:0{second} GMT" for second in (1, 2)]


@pytest.mark.parametrize(
    ("first", "second", "goes_on"),
    [
        ({"ETag": '"a"'}, {"ETag": '"a"'}, True),
        ({"ETag": '"a"'}, {"ETag": '"b"'}, False),
        ({"ETag": '"a"'}, {}, False),
        ({"ETag": 'W/"a"', "Last-Modified": DATES[0]}, {"ETag": 'W/"a"', "Last-Modified": DATES[0]}, True),
        ({"ETag": 'W/"a"', "Last-Modified": DATES[0]}, {"ETag": 'W/"a"', "Last-Modified": DATES[1]}, False),
    ],
)
@pytest.mark.parametrize("sha256", [None, SHA256])
def test_a_download_goes_on_with_the_same_file_alone(server, tmp_path, first, second, goes_on, sha256):
    """The server sends the rest in any case, as one that knows no If-Range does."""
    whole = CONTENT if goes_on else CONTENT.replace(b"1", b"7")
    if sha256 and not goes_on:
        sha256 = hashlib.sha256(whole).hexdigest()
    server.answers = [(200, CONTENT[:20], len(CONTENT)), (206, whole, None), (200, whole, None)]
    server.versions = [first, second]
    fetch(f"{server.base}/graph.gr", tmp_path / "graph.gr", sha256=sha256, pause=0)
    assert (tmp_path / "graph.gr").read_bytes() == whole
    assert server.ranges == [None, "bytes=20-", *([] if goes_on else [None])]
    assert server.conditions[1] == first.get("Last-Modified", first["ETag"])


@pytest.mark.parametrize("version", [{}, {"ETag": 'W/"a"'}])
def test_a_download_that_nothing_tells_from_another_begins_again(server, tmp_path, version):
    server.answers = [(200, CONTENT[:20], len(CONTENT)), (206, CONTENT.replace(b"1", b"7"), None)]
    server.versions = [version]
    fetch(f"{server.base}/graph.gr", tmp_path / "graph.gr", pause=0)
    assert (tmp_path / "graph.gr").read_bytes() == CONTENT.replace(b"1", b"7")
    assert server.ranges == server.conditions == [None, None]


def test_a_missing_file_is_not_asked_for_again(server, tmp_path):
    server.answers = [(404, b"", None)]
    url = f"{server.base}/graph.gr.gz"
    assert gives_up(tmp_path, url) == f"{url}: the server answers 404 Not Found"
    assert len(server.paths) == 1


def test_a_server_that_is_down(server, tmp_path):
    url = f"{server.base}/graph.gr.gz"
    server.stop()
    message = gives_up(tmp_path, url)
    assert message.startswith(f"{url}: no answer or a broken one: ")
    assert message.endswith("(given up after 3 attempts)")


def test_a_mirror_address_is_asked_for_the_name_alone(server, tmp_path):
    fetch("http://publisher.invalid/far/graph.gr.gz", tmp_path / "g.gr.gz", sha256=SHA256, mirror=f"{server.base}/")
    assert server.paths == ["/data/graph.gr.gz"]


@pytest.mark.parametrize("url", ["http://publisher.invalid/far/graph.gr.gz", "graph.gr.gz"])
def test_a_mirror_folder(tmp_path, url):
    (tmp_path / "graph.gr.gz").write_bytes(PACKED)
    fetch(url, tmp_path / "out" / "graph.gr.gz", sha256=SHA256, mirror=str(tmp_path))
    assert (tmp_path / "out" / "graph.gr.gz").read_bytes() == PACKED


def test_a_file_has_its_own_name_on_a_mirror(server, tmp_path):
    (tmp_path / "graph.gr.gz").write_bytes(PACKED)
    url = "http://publisher.invalid/get?id=7"
    fetch(url, tmp_path / "a", file="graph.gr.gz", sha256=SHA256, mirror=str(tmp_path))
    assert (tmp_path / "a").read_bytes() == PACKED
    fetch(url, tmp_path / "b", file="graph.gr.gz", sha256=SHA256, mirror=server.base)
    assert server.paths == ["/data/graph.gr.gz"]
    # The publisher's address stays as it is; the name says how to decompress what comes.
    fetch(f"{server.base}/get?id=7", tmp_path / "c", file="graph.gr.gz", sha256=SHA256)
    assert server.paths[1:] == ["/data/get?id=7"]


def test_a_mirror_folder_without_the_file_or_with_another(tmp_path):
    mirror, folder = tmp_path / "mirror", tmp_path / "out"
    mirror.mkdir()
    folder.mkdir()
    place = mirror / "graph.gr.gz"
    assert gives_up(folder, "graph.gr.gz", mirror=str(mirror)) == f"{place}: the mirror folder has no such file"
    place.write_bytes(PACKED)
    assert gives_up(folder, "graph.gr.gz", mirror=str(mirror), sha256="0" * 64).startswith(f"{place}: its decompressed")
    assert place.exists()


def test_a_file_that_only_a_mirror_has_needs_one(tmp_path):
    assert gives_up(tmp_path, "graph.gr.gz").startswith("graph.gr.gz: no publisher's address is known: set mirror")


def run(module, *arguments):
    command = [sys.executable, "-m", f"saitan.workflow.graphs.{module}", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_fetch_and_convert_as_commands(tmp_path):
    (tmp_path / "graph.gr.gz").write_bytes(PACKED)
    places = tmp_path / "graph.co"
    places.write_text("p aux sp co 3\nv 1 1000000 0\nv 2 0 0\nv 3 0 2000000\n")
    checksum = hashlib.sha256(places.read_bytes()).hexdigest()
    fetched = tmp_path / "fetched.gr.gz"
    done = run("fetch", "--url", "graph.gr.gz", "--mirror", tmp_path, "--sha256", SHA256, "--output", fetched)
    assert (done.returncode, done.stderr) == (0, "")
    entry = ENTRY.validate_python(
        {
            "title": "Small",
            "models": "kanto",
            "format": "dimacs",
            "file": "graph.gr.gz",
            "coordinates": {"file": "graph.co", "sha256": checksum},
            "drop_loops": True,
            "merge_parallel": True,
        }
    )
    target = ("--input", fetched, "--coordinates", places, "--output", tmp_path / "small")
    done = run("convert", "--entry", entry.model_dump_json(), "--name", "small", *target)
    assert (done.returncode, done.stderr) == (0, "")
    graph = read_graph(tmp_path / "small")
    assert list(zip(graph.sources, graph.targets, graph.weights, strict=True)) == [(0, 1, 4), (1, 2, 6)]
    assert_array_equal(graph.coordinates, [[1, 0], [0, 0], [0, 2]])
    assert read_metadata(tmp_path / "small") == {
        "name": "small",
        "directed": True,
        "format": "dimacs",
        "origin": "graph.gr.gz",
        "checksum": SHA256,
        "coordinates_checksum": checksum,
        "options": {"drop_loops": True, "merge_parallel": True},
        "vertices": 3,
        "arcs": 2,
        "weight": "uint32",
    }


@pytest.mark.parametrize("weights", ["0.1", "0.5"])
def test_convert_says_in_the_log_what_it_rounds(tmp_path, weights):
    (tmp_path / "a.gr").write_text(f"p sp 2 1\na 1 2 {weights}\n")
    entry = '{"title": "A", "file": "a.gr", "format": "dimacs"}'
    log, output = tmp_path / "a.log", tmp_path / "a"
    done = run(
        "convert", "--entry", entry, "--name", "a", "--input", tmp_path / "a.gr", "--output", output, "--log", log
    )
    assert (done.returncode, done.stderr + "done\n") == (0, log.read_text().removeprefix("began\n"))
    if weights == "0.5":
        assert log.read_text() == "began\ndone\n" and "inexact" not in read_metadata(output)
    else:
        assert done.stderr == f"{tmp_path}/a.gr: 1 weights are rounded to float32, by 1.5e-08 of their value at most\n"
        assert read_metadata(output)["inexact"]["count"] == 1


ARCS = "p sp 4 6\na 1 2 5\na 2 1 3\na 2 3 6\na 3 3 1\na 2 3 4\na 3 2 2\n"
BOTH_WAYS = [(0, 1, 3), (0, 1, 5), (1, 0, 3), (1, 0, 5), (1, 2, 2), (1, 2, 4), (1, 2, 6)]
BOTH_WAYS += [(2, 1, 2), (2, 1, 4), (2, 1, 6), (2, 2, 1)]


def test_a_file_of_both_ways_stays_as_it_is_where_it_is_to_be_symmetrised(tmp_path):
    (tmp_path / "a.txt").write_text("# Undirected graph: a\n0 1\n1 2\n")
    entry = ENTRY.validate_python({"title": "A", "file": "a.txt", "format": "snap", "symmetrise": True})
    assert convert(entry, "a", tmp_path / "a.txt").m == 4


@pytest.mark.parametrize(
    ("options", "arcs"),
    [
        ({}, [(0, 1, 5), (1, 0, 3), (1, 2, 4), (1, 2, 6), (2, 1, 2), (2, 2, 1)]),
        ({"drop_loops": True}, [(0, 1, 5), (1, 0, 3), (1, 2, 4), (1, 2, 6), (2, 1, 2)]),
        ({"symmetrise": True}, BOTH_WAYS),
        ({"merge_parallel": True}, [(0, 1, 5), (1, 0, 3), (1, 2, 4), (2, 1, 2), (2, 2, 1)]),
        # Merged after symmetrising: the least of both directions, both ways.
        (
            {"symmetrise": True, "merge_parallel": True},
            [(0, 1, 3), (1, 0, 3), (1, 2, 2), (2, 1, 2), (2, 2, 1)],
        ),
        ({"largest_component": "strong", "drop_loops": True}, [(0, 1, 5), (1, 0, 3), (1, 2, 4), (1, 2, 6), (2, 1, 2)]),
        # Vertices of descending degree: 1, 2, 0, 3.
        ({"relabel": "degree"}, [(0, 1, 4), (0, 1, 6), (0, 2, 3), (1, 0, 2), (1, 1, 1), (2, 0, 5)]),
    ],
)
def test_every_option_of_an_entry_is_applied_and_in_this_order(tmp_path, options, arcs):
    (tmp_path / "a.gr").write_text(ARCS)
    entry = ENTRY.validate_python({"title": "A", "file": "a.gr", "format": "dimacs", **options})
    graph = convert(entry, "a", tmp_path / "a.gr")
    assert sorted(zip(graph.sources, graph.targets, graph.weights, strict=True)) == arcs
    assert graph.n == (3 if "largest_component" in options else 4)
    assert graph.metadata.get("options", {}) == options
    assert graph.directed is not options.get("symmetrise", False)


def test_vertices_are_renumbered_by_what_the_largest_component_has_of_them(tmp_path):
    # In the whole graph vertex 2 has most arcs, in the component 1.
    (tmp_path / "a.gr").write_text("p sp 4 6\na 1 2 5\na 2 3 6\na 3 1 7\na 2 1 8\na 3 4 9\na 3 4 9\n")
    options = {"largest_component": "strong", "relabel": "degree"}
    entry = ENTRY.validate_python({"title": "A", "file": "a.gr", "format": "dimacs", **options})
    graph = convert(entry, "a", tmp_path / "a.gr")
    arcs = sorted(zip(graph.sources, graph.targets, graph.weights, strict=True))
    assert arcs == [(0, 1, 8), (0, 2, 6), (1, 0, 5), (2, 1, 7)]


def test_convert_fails_in_one_line_also_in_the_log(tmp_path):
    (tmp_path / "graph.gr").write_text("p sp 3 1\na 1 2 -5\n")
    entry = '{"title": "A", "file": "graph.gr", "format": "dimacs"}'
    log, output = tmp_path / "logs" / "a.log", tmp_path / "a"
    target = ("--input", tmp_path / "graph.gr", "--output", output, "--log", log)
    done = run("convert", "--entry", entry, "--name", "a", *target)
    assert done.returncode == 1
    again = " (it is fetched again once this copy is removed)"
    assert done.stderr == f"error: {tmp_path}/graph.gr: line 2: the weight -5 is negative: at least 0 is right{again}\n"
    assert log.read_text() == f"began\n{done.stderr}"
    assert not output.exists()


@pytest.mark.parametrize(
    ("mirror", "again"),
    [
        ("my data", "a copy of my data/a.gr: once that is right, the next call takes it"),
        # What is wrong with this copy came later.
        ("another", "it is fetched again once this copy is removed"),
        ("http://host/data", "it is fetched again once this copy is removed"),
        ("", "it is fetched again once this copy is removed"),
    ],
)
def test_what_is_wrong_with_a_copy_of_a_mirror_s_folder_is_mended_there(tmp_path, monkeypatch, mirror, again):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SAITAN_MIRROR", mirror)
    copy = Path("results/downloads/a.gr")
    for file, content in ((copy, "x"), (Path("my data/a.gr"), "x"), (Path("another/a.gr"), "y"), (Path("a.gr"), "x")):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    with pytest.raises(Failure, match=re.escape(f"{copy}: line 2: wrong ({again})")), of_copies(copy, None):
        raise Failure(f"{copy}: line 2: wrong")
    with pytest.raises(Failure, match=r"^another: wrong$"), of_copies(copy, None):
        raise Failure("another: wrong")


def test_convert_checks_the_checksum_of_the_entry(tmp_path):
    (tmp_path / "graph.gr").write_bytes(CONTENT)
    entry = ENTRY.validate_python({"title": "A", "file": "graph.gr", "format": "dimacs", "sha256": SHA256})
    assert convert(entry, "a", tmp_path / "graph.gr").m == 4
    wrong = SHA256[:-1] + ("1" if SHA256[-1] == "0" else "0")
    with pytest.raises(Failure, match=f"graph.gr: its decompressed content has the SHA-256 {SHA256}, but {wrong} is"):
        convert(entry.model_copy(update={"sha256": wrong}), "a", tmp_path / "graph.gr")


def test_drawn_weights_are_called_synthetic_in_the_metadata(tmp_path):
    (tmp_path / "p.gr").write_text("p tw 3 2\n1 2\n3 2\n")
    entry = ENTRY.validate_python(
        {
            "title": "A",
            "file": "p.gr",
            "format": "pace",
            "weights": {"low": 100, "high": 5000, "seed": 1},
            "synthetic": "weights are drawn",
            "largest_component": "weak",
            "relabel": "degree",
        }
    )
    graph = convert(entry, "a-drawn", tmp_path / "p.gr")
    assert graph.metadata["synthetic"] == "weights are drawn"
    assert graph.metadata["options"]["weights"] == {"low": 100, "high": 5000, "seed": 1}
    weights = graph.to_scipy().toarray()
    assert_array_equal(weights, weights.T)
    assert 100 <= graph.weights.min() <= graph.weights.max() <= 5000
    assert graph.degrees.tolist() == [2, 1, 1]

    def drawn(**weights):
        other = entry.model_copy(update={"weights": entry.weights.model_copy(update=weights)})
        return convert(other, "a-drawn", tmp_path / "p.gr").weights.tolist()

    assert drawn(seed=2) != drawn(seed=1) == graph.weights.tolist()
    # Both ends of the range are drawn.
    assert {weight for seed in range(9) for weight in drawn(low=7, high=8, seed=seed)} == {7, 8}


def test_generate_as_a_command(tmp_path):
    entry = '{"title": "Ring", "generator": "ring", "parameters": {"vertices": 4, "seed": 7}}'
    done = run("generate", "--entry", entry, "--name", "ring-4", "--output", tmp_path / "ring-4")
    assert (done.returncode, done.stderr) == (0, "")
    metadata = read_graph(tmp_path / "ring-4").metadata
    assert {key: metadata[key] for key in ("name", "generator", "parameters", "seed", "directed")} == {
        "name": "ring-4",
        "generator": "ring",
        "parameters": {"vertices": 4},
        "seed": 7,
        "directed": True,
    }


def test_generate_refuses_what_memory_cannot_hold(tmp_path):
    entry = '{"title": "big", "generator": "kronecker", "parameters": {"scale": 30, "seed": 1}}'
    done = run("generate", "--entry", entry, "--name", "big", "--output", tmp_path / "big")
    assert done.returncode == 1
    assert re.fullmatch(
        r"error: big: generator kronecker: 1,073,741,824 vertices and 34,359,738,368 arcs: 392\.0 GiB of memory are "
        r"needed, [0-9]{1,3}\.[0-9] GiB are available",
        done.stderr.splitlines()[-1],
    )
    assert not list(tmp_path.iterdir())


def test_generate_says_what_memory_there_was_where_more_is_taken_than_forecast(tmp_path, monkeypatch):
    from saitan.workflow.graphs import generate as step

    def refused(*_):
        raise MemoryError

    monkeypatch.setattr(step, "keep_within_memory", lambda: 2**31)
    monkeypatch.setattr(step, "load_numba", lambda: None)
    monkeypatch.setattr(step, "generate", refused)
    entry = '{"title": "big", "generator": "ring", "parameters": {"vertices": 9, "seed": 1}}'
    with pytest.raises(Failure, match=r"big: \{'vertices': 9, 'seed': 1\} need more than the 2.0 GiB of memory that"):
        step.main(SimpleNamespace(entry=entry, name="big", output=tmp_path / "big"))


def test_generate_names_what_the_generator_cannot_use():
    parameters = {"vertices": 400, "arcs": 4000, "seed": 1}
    entry = ENTRY.validate_python({"title": "A", "generator": "street_map", "parameters": parameters})
    with pytest.raises(Failure, match=r"a: generator street_map: arcs must be even and 798 to [0-9]+ for 400 vertices"):
        generate(entry, "a")


GRID = {
    "title": "A",
    "generator": "grid",
    "parameters": {"width": 2, "height": 2, "weight_low": 1, "weight_high": 2, "seed": 1},
}


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"directed": False}, "not every arc of an undirected graph is there both ways: both arcs of each edge, with"),
        ({"x": object()}, "'x' of its metadata is no JSON: Object of type object is not"),
        ({(1, 2): 1}, r"\(1, 2\) of its metadata is no JSON: keys must be "),
    ],
)
def test_metadata_of_a_generated_graph_are_looked_at(monkeypatch, told, says):
    made = Graph.from_arcs(3, [0, 1], [1, 0], [1, 2], metadata=told)
    monkeypatch.setitem(GENERATORS, "grid", replace(GENERATORS["grid"], path="test_graphs_steps_made:made"))
    monkeypatch.setitem(sys.modules, "test_graphs_steps_made", SimpleNamespace(made=lambda **_: made))
    with pytest.raises(Failure, match=f"^a: generator grid: {says}"):
        generate(ENTRY.validate_python(GRID), "a")


@pytest.mark.parametrize("weights", [[1, 1], None, np.array([0.5, 0.5], np.float32)])
def test_an_undirected_graph_with_both_arcs_is_generated(monkeypatch, weights):
    made = Graph.from_arcs(3, [0, 1], [1, 0], weights, metadata={"directed": False})
    monkeypatch.setitem(GENERATORS, "grid", replace(GENERATORS["grid"], path="test_graphs_steps_made:made"))
    monkeypatch.setitem(sys.modules, "test_graphs_steps_made", SimpleNamespace(made=lambda **_: made))
    assert generate(ENTRY.validate_python(GRID), "a").m == 2
