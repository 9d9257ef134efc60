"""Files that are no graphs are refused in one line that names file and line."""

import bz2
import gzip
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from graph_files import COMPRESS

import saitan
from saitan.graph import GraphError
from saitan.workflow.graphs import formats
from saitan.workflow.graphs.readers import read_coordinates, read_graph_file
from saitan.workflow.graphs.streams import chunks
from saitan.workflow.step import Failure

DIMACS = "c test\np sp 3 3\na 1 2 5\na 2 3 6\n{}\n"
MATRIX = "%%MatrixMarket matrix coordinate {} {}\n% test\n3 3 2\n1 2 {}\n2 3 {}\n"
BAD = {
    "too few arcs": (
        "dimacs",
        "p sp 3 5\na 1 2 5\na 2 3 6\n",
        "line 3: the file ends after 2 lines 'a FROM TO WEIGHT', the header (line 1) announces 5: truncated?",
    ),
    "too many arcs": (
        "dimacs",
        "p sp 3 1\na 1 2 5\nc\na 2 3 6\n",
        "line 4: more than the 1 lines 'a FROM TO WEIGHT' that the header (line 1) announces",
    ),
    "too few arcs and no newline at the end": (
        "dimacs",
        "p sp 3 5\na 1 2 5\na 2 3 6",
        "line 3: the file ends after 2 lines 'a FROM TO WEIGHT', the header (line 1) announces 5: truncated?",
    ),
    "more vertices than memory holds": (
        "dimacs",
        "c\np sp 2000000000 3\na 1 2 3\n",
        "line 2: 2000000000 vertices and 3 lines need about 22.4 GiB of memory, but 2.0 GiB are available",
    ),
    "more edges than memory holds": (
        "pace",
        "p tw 3 100000000\n1 2\n",
        "line 1: 3 vertices and 100000000 lines need about 2.2 GiB of memory, but 2.0 GiB are available",
    ),
    "SNAP, more arcs than memory holds": (
        "snap",
        "# Nodes: 3 Edges: 200000000\n1 2\n",
        "line 1: 0 vertices and 200000000 lines need about 2.2 GiB of memory, but 2.0 GiB are available",
    ),
    "SNAP empty": ("snap", "", "line 1: there is no line 'FROM TO': the file is empty or holds only comments"),
    "SNAP with comments only": ("snap", "# Edges: 0\n\n", "line 1: there is no line 'FROM TO': the file is empty or"),
    "an empty line before the header": (
        "dimacs",
        "\np sp 3 1\na 3 4 1\n",
        "line 3: vertex 4 is out of range: 1 to 3 is right",
    ),
    "cut inside a line": ("dimacs", DIMACS.format("a 3"), "line 5: 'a 3' has 2 words: 'a FROM TO WEIGHT' is expected"),
    "one word too many": ("dimacs", DIMACS.format("a 3 1 1 1"), "line 5: 'a 3 1 1 1' has 5 words: 'a FROM"),
    "unknown line": ("dimacs", DIMACS.format("e 3 1 1"), "line 5: 'e 3 1 1': 'a FROM TO WEIGHT' is expected"),
    "letters for a vertex": ("dimacs", DIMACS.format("a x 1 1"), "line 5: 'x' is not a vertex number"),
    "hexadecimal vertex": ("dimacs", DIMACS.format("a 0x3 1 1"), "line 5: '0x3' is not a vertex number"),
    "hexadecimal weight": ("dimacs", DIMACS.format("a 3 1 0X1F"), "line 5: '0X1F' is not a number"),
    "letters for a weight": ("dimacs", DIMACS.format("a 3 1 heavy"), "line 5: 'heavy' is not a number"),
    "underscore in a weight": ("dimacs", DIMACS.format("a 3 1 1_0"), "line 5: '1_0' is not a number"),
    "vertex 0": ("dimacs", DIMACS.format("a 0 1 1"), "line 5: vertex 0 is out of range: 1 to 3 is right"),
    "vertex beyond the last": ("dimacs", DIMACS.format("a 3 4 1"), "line 5: vertex 4 is out of range: 1 to 3 is right"),
    "vertex beyond int32": ("dimacs", DIMACS.format("a 3 9999999999 1"), "line 5: vertex 9999999999 is out of range"),
    "a vertex of more digits than Python converts": (
        "dimacs",
        DIMACS.format(f"a 3 {'9' * 5000} 1"),
        f"line 5: '{'9' * 57}...' is no vertex number: 1 to 3 is right",
    ),
    "a count of more digits than Python converts": (
        "dimacs",
        f"p sp 3 {'9' * 5000}\n",
        f"line 1: 'p sp 3 {'9' * 50}...' comes where the header 'p sp VERTICES ARCS' should be",
    ),
    "entries of more digits than Python converts": (
        "matrix-market",
        f"%%MatrixMarket matrix coordinate real general\n3 3 {'9' * 5000}\n",
        f"line 2: '3 3 {'9' * 53}...' comes where 'ROWS COLUMNS ENTRIES' should be",
    ),
    "SNAP, a count of more digits than Python converts": (
        "snap",
        f"# Edges: {'9' * 5000}\n0 1\n",
        "line 1: 0 vertices and 999999999999999999 lines need about",
    ),
    "SNAP, a count with commas": (
        "snap",
        "# Nodes: 2,000 Edges: 1,003\n0\t1\n",
        "line 2: the file ends after 1 lines 'FROM TO', the header (line 1) announces 1003: truncated?",
    ),
    "negative weight": ("dimacs", DIMACS.format("a 3 1 -7"), "line 5: the weight -7 is negative: at least 0 is right"),
    "negative real weight": ("dimacs", DIMACS.format("a 3 1 -0.5"), "line 5: the weight -0.5 is negative"),
    "NaN weight": ("dimacs", DIMACS.format("a 3 1 nan"), "line 5: the weight is NaN: a number of at least 0 is right"),
    "weight beyond uint32": (
        "dimacs",
        DIMACS.format("a 3 1 4294967296"),
        "line 5: the weight 4294967296 is too large: uint32 holds at most 4294967295",
    ),
    "a weight of 200 digits": (
        "dimacs",
        DIMACS.format("a 3 1 " + "9" * 200),
        f"line 5: the weight {'9' * 57}... is too large: uint32 holds at most 4294967295",
    ),
    "infinite weight": ("dimacs", DIMACS.format("a 3 1 inf"), "line 5: the weight inf is too large: float32 holds"),
    "no header": ("dimacs", "c test\na 1 2 3\n", "line 2: 'a 1 2 3' comes where the header 'p sp VERTICES ARCS'"),
    "empty": ("dimacs", "", "line 1: there is no header 'p sp VERTICES ARCS'"),
    "too many vertices": ("dimacs", "p sp 2147483648 0\n", "line 1: 2147483648 vertices: int32 ids hold at most"),
    "PACE too few": ("pace", "p tw 3 2\n1 2\n", "line 2: the file ends after 1 lines 'FROM TO'"),
    "PACE out of range": ("pace", "p tw 3 1\n1 4\n", "line 2: vertex 4 is out of range: 1 to 3 is right"),
    "PACE no header": ("pace", "1 2\n", "line 1: '1 2' comes where the header 'p tw VERTICES EDGES'"),
    "PACE of DIMACS": (
        "pace",
        "p sp 2 1\na 1 2 3\n",
        "line 1: 'p sp 2 1' comes where the header 'p tw VERTICES EDGES'",
    ),
    "SNAP mis-counted": ("snap", "# Nodes: 2 Edges: 3\n0\t1\n", "line 2: the file ends after 1 lines 'FROM TO'"),
    "SNAP negative": ("snap", "0\t1\n-1\t0\n", "line 2: vertex -1 is out of range: 0 to 2147483646 is right"),
    "SNAP beyond 32 bits": (
        "snap",
        "0\t10000000000\n",
        "line 1: vertex 10000000000 is out of range: 0 to 2147483646 is right; pandas.factorize or",
    ),
    "SNAP weights": ("snap", "0 1 5\n", "line 1: '0 1 5' has 3 words: 'FROM TO' is expected; weights are in DIMACS"),
    "SNAP letters": ("snap", "0\t1\n1\tb\n", "line 2: 'b' is not a vertex number"),
    "no Matrix Market": ("matrix-market", "1 2 3\n", "line 1: '1 2 3' is not '%%MatrixMarket matrix coordinate"),
    "a banner with a word missing": (
        "matrix-market",
        "%%MatrixMarket matrix coordinate real\n3 3 0\n",
        "line 1: '%%MatrixMarket matrix coordinate real' is not '%%MatrixMarket matrix coordinate FIELD SYMMETRY'",
    ),
    "dense matrix": (
        "matrix-market",
        "%%MatrixMarket matrix array real general\n",
        "line 1: 'array' matrices cannot be read as graphs (right: coordinate)",
    ),
    "complex matrix": (
        "matrix-market",
        MATRIX.format("complex", "general", "1 0", "1 0"),
        "line 1: 'complex' matrices",
    ),
    "skew matrix": (
        "matrix-market",
        MATRIX.format("real", "skew-symmetric", 1, 1),
        "line 1: 'skew-symmetric' matrices",
    ),
    "oblong matrix": (
        "matrix-market",
        "%%MatrixMarket matrix coordinate real general\n3 4 0\n",
        "line 2: 3 rows and 4 columns: a graph's matrix is square",
    ),
    "no sizes": ("matrix-market", "%%MatrixMarket matrix coordinate real general\n", "the file ends before its line"),
    "negative entry": (
        "matrix-market",
        MATRIX.format("real", "general", 1, -1.5),
        "line 5: the weight -1.5 is negative",
    ),
    "NaN entry": ("matrix-market", MATRIX.format("real", "general", 1, "NaN"), "line 5: the weight is NaN"),
    "entry beyond float32": (
        "matrix-market",
        MATRIX.format("real", "general", 1, "1e39"),
        "line 5: the weight 1e39 is too large: float32 holds at most",
    ),
    "entry just beyond float32": (
        "matrix-market",
        MATRIX.format("real", "general", 3.4028235677973362e38, 3.4028235677973366e38),
        "line 5: the weight 3.4028235677973366e+38 is too large: float32 holds at most 3.4028235e+38",
    ),
    "entry beyond uint32": (
        "matrix-market",
        MATRIX.format("integer", "symmetric", 1, 2**32),
        "line 5: the weight 4294967296 is too large: uint32 holds",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named_in_one_line(write, case, monkeypatch):
    monkeypatch.setattr(formats, "available_memory", lambda: 2 << 30)
    format, content, message = BAD[case]
    path = write(content)
    with pytest.raises(Failure) as failure:
        read_graph_file(path, format)
    assert str(failure.value).startswith(f"{path}: {message}")
    assert "\n" not in str(failure.value)


def test_as_many_vertices_as_int32_counts_are_not_too_many(monkeypatch):
    monkeypatch.setattr(formats, "available_memory", lambda: 1 << 60)
    layout = formats.Layout("FROM TO", ("vertex", "vertex"), 1, 2**31 - 1, 0, 1, comment=b"c")
    formats.check_size(Path("g"), layout)
    with pytest.raises(Failure, match=r"^g: line 1: 2147483648 vertices: int32 ids hold at most 2147483647$"):
        formats.check_size(Path("g"), replace(layout, vertices=2**31))


def test_what_just_fits_memory_is_read(write, monkeypatch):
    path = write("p sp 3 2\na 1 2 5\na 2 3 6\n")
    needed = 3 * 12 + 2 * 20
    monkeypatch.setattr(formats, "available_memory", lambda: needed)
    assert read_graph_file(path, "dimacs").m == 2
    monkeypatch.setattr(formats, "available_memory", lambda: needed - 1)
    with pytest.raises(Failure, match=r"need about 0\.1 KiB of memory, but 0\.1 KiB"):
        read_graph_file(path, "dimacs")


@pytest.mark.parametrize(
    ("content", "format", "message"),
    [
        ("1 2 3\n", None, "the format cannot be told from its first lines: name one of dimacs, pace, snap, matrix-m"),
        ("", None, "the file is empty"),
        (
            "1,2,3\n",
            None,
            "the format cannot be told from its first lines: name one of dimacs, pace, snap, matrix-market; what"
            " pandas or networkx reads comes in by Graph.from_pandas or Graph.from_networkx",
        ),
        ("# none\n", None, "the format cannot be told from its first lines: name one of dimacs"),
        ("1\n2 3\n", None, "the format cannot be told from its first lines: name one of dimacs"),
        ("c x\np max 2 1\na 1 2 5\n", None, "line 2: 'p max 2 1' is of another problem than 'p sp VERTICES ARCS'"),
        ("p SP 2 1\na 1 2 5\n", None, "line 1: 'p SP 2 1' comes where the header 'p sp VERTICES ARCS' should be"),
        ("c x\np aux sp co 3\nv 1 0 0\n", None, "it holds coordinates; a graph is in the file whose header is 'p sp "),
        ("1 a\n", None, "the format cannot be told from its first lines: name one of dimacs"),
        ("p sp 2 1\na 1 2 -3\n", None, "line 2: the weight -3 is negative: at least 0 is right"),
    ],
)
def test_a_users_file_that_is_no_graph(write, content, format, message):
    path = write(content, "users.txt")
    with pytest.raises(GraphError) as error:
        saitan.read_graph(path, format)
    assert str(error.value).startswith(f"{path}: {message}")
    with pytest.raises(GraphError, match=r"unknown format 'gml' \(there are: dimacs, pace, snap, matrix-market\)"):
        saitan.read_graph(path, "gml")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("p aux sp co 2\nv 1 0 0\nv 2 0 0\n", "line 1: coordinates of 2 vertices, but the graph has 3"),
        ("p aux sp co 3\nv 1 0 0\nv 2 0 0\nv 2 0 0\n", "vertex 2 has 2 lines of coordinates: one is right"),
        ("p aux sp co 3\nv 1 0 0\n", "line 2: the file ends after 1 lines 'v VERTEX X Y'"),
        ("p aux sp co 3\nv 1 0 0\nv 2 inf 0\nv 3 0 0\n", "line 3: coordinate inf is not finite"),
        ("p sp 3 3\n", "line 1: 'p sp 3 3' comes where the header 'p aux sp co VERTICES' should be"),
    ],
)
def test_bad_coordinates_are_named(write, content, message):
    path = write(content, "bad.co")
    with pytest.raises(Failure) as failure:
        read_coordinates(path, 3)
    assert str(failure.value).startswith(f"{path}: {message}")


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_a_damaged_compressed_file_is_named_with_the_line_it_breaks_at(tmp_path, monkeypatch, suffix):
    rng = np.random.default_rng(1)
    rows = "".join(f"a {u} {v} {w}\n" for u, v, w in rng.integers(1, 5000, (20_000, 3)))
    whole = COMPRESS[suffix](f"p sp 5000 20000\n{rows}".encode())
    path = tmp_path / f"graph.gr{suffix}"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Failure) as failure:
        read_graph_file(path, "dimacs")
    message = str(failure.value)
    assert message.startswith(f"{path}: line ")
    assert f"the {suffix[1:]} stream is truncated or damaged" in message
    assert "\n" not in message
    line = int(message.removeprefix(f"{path}: line ").partition(":")[0])
    assert 8_000 < line < 12_000
    monkeypatch.setattr("saitan.workflow.graphs.streams._readable", lambda *_: "line 42: ")
    with pytest.raises(Failure, match=r"line 42: the .* stream is truncated"):
        read_graph_file(path, "dimacs")


EDGES, MORE = b"0 1\n" * 1000, b"1 2\n" * 1000


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("after", [b"garbage", b"\xfd7zXZ\x00", b"\xfd", b"<html>"])
def test_what_follows_a_compressed_stream_is_read_or_refused(tmp_path, suffix, after):
    path = tmp_path / f"edges.txt{suffix}"
    streams = COMPRESS[suffix](EDGES), COMPRESS[suffix](MORE)
    path.write_bytes(b"".join(streams))
    assert read_graph_file(path, "snap").m == 2000
    for end in (after, b"x" + streams[1][1:], streams[1][:-4]):
        path.write_bytes(streams[0] + end)
        with pytest.raises(Failure, match="stream is truncated or damaged"):
            read_graph_file(path, "snap")


def test_the_line_of_what_follows_a_stream_of_gz(tmp_path):
    path = tmp_path / "edges.txt.gz"
    path.write_bytes(COMPRESS[".gz"](b"0 1\n1 2\n") + b"garbage")
    with pytest.raises(Failure, match="line 3: the gz stream is truncated or damaged"):
        read_graph_file(path, "snap")


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
@pytest.mark.parametrize("size", [1, 7, 256, 1 << 20])
def test_streams_may_have_zeros_between_them_and_after(tmp_path, monkeypatch, suffix, size):
    monkeypatch.setattr("saitan.workflow.graphs.streams._CHUNK", size)
    path = tmp_path / f"edges.txt{suffix}"
    one, other = COMPRESS[suffix](EDGES), COMPRESS[suffix](MORE)
    path.write_bytes(one + bytes(4) + other + COMPRESS[suffix](b"") + bytes(8))
    assert b"".join(chunks(path)) == EDGES + MORE and max(map(len, chunks(path))) <= size


SUFFIXES = [suffix for suffix in COMPRESS if suffix]
GR = b"p sp 3 1\na 1 2 3\n"
COMPRESSED = "plain, .gz, .xz or .zst is right"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        *(
            (f"a.gr{suffix}", GR, f"its name ends in {suffix}, but its content is nothing of that kind")
            for suffix in SUFFIXES
        ),
        *((f"a.gr{s}", b"", "the file is empty") for s in SUFFIXES),
        *(("a.gr", COMPRESS[s](GR), f"the file is compressed, {s}: a name that ends in {s}") for s in SUFFIXES),
        ("a.gr.bz2", bz2.compress(GR), f"the file is compressed by bzip2: {COMPRESSED}: bunzip2 unpacks it"),
        ("a.gr.gz", COMPRESS[".gz"](COMPRESS[".gz"](GR)), "the file is compressed, .gz: a name that ends in .gz"),
        (
            "a.zip",
            b"PK\3\4rest",
            f"the file is a zip archive: {COMPRESSED}: unzip it, or where it is SciPy's .npz, scipy.io.mmwrite makes",
        ),
        ("a.gr", GR.decode().encode("utf-16"), "the file is UTF-16: UTF-8 is right"),
        ("a.gr", b"<!DOCTYPE html>\n<html>", "the file is a page of the web: the file itself is right: fetch it again"),
        ("a.graphml", b'<?xml version="1.0"?>\n<graphml/>', "the file is XML: GraphML and GEXF are read by networkx"),
        ("a.graphml", b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">', "the file is XML: GraphML"),
        ("a.osm", b'<osm version="0.6"/>', "the file is XML: GraphML and GEXF are read by networkx, OSM by osmnx"),
        ("zeros.bin", bytes(100), "the file is binary: text is right"),
        ("edges.parquet", b"PAR1", "the file is a Parquet file: the folder of both files that saitan writes"),
    ],
)
def test_what_a_file_is_that_is_no_text(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    for read in (lambda: read_graph_file(path, "dimacs"), lambda: saitan.read_graph(path)):
        with pytest.raises((Failure, GraphError)) as failure:
            read()
        assert str(failure.value).startswith(f"{path}: {message}") and "\n" not in str(failure.value)


@pytest.mark.parametrize("name", ["cycle.metis", "cycle.graph", "cycle.graph.gz"])
def test_a_metis_file_is_not_taken_for_pairs_of_vertices(tmp_path, name):
    path, content = tmp_path / name, b"4 4\n2 4\n1 3\n2 4\n1 3\n"
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    with pytest.raises(GraphError, match=f"{name}: METIS files are not read; where it is none, name one of dimacs"):
        saitan.read_graph(path)
    assert saitan.read_graph(path, "snap").m == 5


def test_a_missing_file_is_an_os_error_with_its_name(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        read_graph_file(tmp_path / "absent.gr.gz", "dimacs")
    assert error.value.filename == str(tmp_path / "absent.gr.gz") or error.value.filename == tmp_path / "absent.gr.gz"


@pytest.mark.timeout(60)  # opened for nobody, a pipe waits
@pytest.mark.parametrize(("name", "format"), [("pipe", None), ("pipe.gz", "snap"), ("pipe.xz", None)])
def test_a_pipe_is_not_read_twice(tmp_path, name, format):
    path = tmp_path / name
    os.mkfifo(path)
    with pytest.raises(GraphError, match=f"{name}: a pipe can be read only once: name the format of plain text"):
        saitan.read_graph(path, format)


def test_a_pipe_whose_format_is_named_is_read():
    end, other = os.pipe()
    os.write(other, b"0 1\n1 2\n")
    os.close(other)
    assert saitan.read_graph(f"/dev/fd/{end}", "snap").m == 2
    os.close(end)
