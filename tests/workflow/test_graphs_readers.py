import bz2
import gzip
import io
import lzma
import os
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from peaks import peaks
from scipy.sparse import coo_array

import saitan
from saitan.graph import GraphError
from saitan.workflow.graphs import formats, readers
from saitan.workflow.graphs.readers import read_coordinates, read_graph_file
from saitan.workflow.graphs.streams import Blocks
from saitan.workflow.step import Failure

DATA = Path(os.environ.get("SAITAN_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
COMPRESS = {
    "": bytes,
    ".gz": partial(gzip.compress, mtime=0),  # a stream without the time, so that tests are named alike everywhere
    ".xz": lambda content: lzma.compress(content, preset=0),
    ".zst": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
}


def data_file(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not in {DATA} (SAITAN_DATA names the folder)")
    return path


@pytest.fixture(scope="module")
def write(tmp_path_factory):
    """Writes content, compressed as the suffix says, and returns the path."""
    folder = tmp_path_factory.mktemp("files")

    def write(content, name="graph.gr"):
        path = folder / name
        path.write_bytes(COMPRESS.get(path.suffix, bytes)(content.encode()))
        return path

    return write


@st.composite
def arc_lists(draw, weights=None, max_size=40):
    """(n, sources, targets, weights), vertices from 0."""
    weights = st.integers(0, 2**32 - 1) if weights is None else weights
    n = draw(st.integers(1, 12))
    ends = st.integers(0, n - 1)
    rows = draw(st.lists(st.tuples(ends, ends, weights), max_size=max_size))
    sources, targets, drawn = ([row[i] for row in rows] for i in range(3))
    return n, np.array(sources, np.int64), np.array(targets, np.int64), np.array(drawn)


def assert_arcs(graph, n, sources, targets, weights=None):
    order = np.argsort(sources, kind="stable")
    assert graph.n == n
    assert_array_equal(graph.sources, sources[order])
    assert_array_equal(graph.targets, targets[order])
    if weights is None:
        assert graph.weights is None
    else:
        assert_array_equal(graph.weights, weights[order])


def both_ways(sources, targets):
    other = sources != targets
    return np.concatenate([sources, targets[other]]), np.concatenate([targets, sources[other]])


# Harmless variations of a line: what stands before it, between its words, and after it.
STYLES = st.sampled_from([("", " ", ""), ("", "\t", ""), (" ", "  ", " "), ("", " \t ", "\t"), ("\n", " ", "\r")])


@given(arc_lists(), st.sampled_from(sorted(COMPRESS)), STYLES, st.booleans())
def test_dimacs(write, arcs, suffix, style, commented):
    n, sources, targets, weights = arcs
    before, between, after = style
    lines = ["c made for a test", f"p sp {n} {len(sources)}"]
    for u, v, w in zip(sources, targets, weights, strict=True):
        lines += ["c 1 2 3"] * commented
        lines.append(before + between.join(["a", str(u + 1), str(v + 1), str(w)]) + after)
    graph = read_graph_file(write("\n".join(lines), f"d.gr{suffix}"), "dimacs")
    assert_arcs(graph, n, sources, targets, weights)
    assert graph.weights.dtype == np.uint32
    assert graph.metadata["directed"] is True


@given(arc_lists(st.floats(0, 2.0**127, width=32)))
def test_dimacs_with_real_weights(write, arcs):
    n, sources, targets, weights = arcs
    rows = "".join(f"a {u + 1} {v + 1} {w}\n" for u, v, w in zip(sources, targets, weights.tolist(), strict=True))
    graph = read_graph_file(write(f"p sp {n} {len(sources)}\n{rows}"), "dimacs")
    assert_arcs(graph, n, sources, targets, weights.astype(np.float32))


@pytest.mark.parametrize(
    ("before", "between", "after"),
    [
        ("", " ", ""),
        (" ", "  ", " "),
        ("", "\t", "\t"),
        ("\n", " ", ""),
        ("", " ", "\r"),
        ("", " ", " \r"),
        ("c x\n", " ", ""),
    ],
)
@pytest.mark.parametrize("weights", [("5", "6"), ("0.5", "6"), ("1e-3", "4294967295.5")])
@pytest.mark.parametrize("end", ["\n", "", "\n\n", "\nc", "\n  c the end\n"])
def test_what_is_only_untidy_is_not_read_line_by_line(write, monkeypatch, before, between, after, weights, end):
    """Line by line takes many times as long."""
    monkeypatch.delattr(readers, "_slow")
    rows = [before + between.join(["a", *words]) + after for words in (("1", "2", weights[0]), ("2", "3", weights[1]))]
    graph = read_graph_file(write("p sp 3 2\n" + "\n".join(rows) + end), "dimacs")
    assert (graph.sources.tolist(), graph.targets.tolist()) == ([0, 1], [1, 2])
    assert graph.weights.tolist() == [np.float32(weight) for weight in weights]
    monkeypatch.setattr(readers, "Blocks", lambda path: Blocks(path, size=64))
    assert read_graph_file(write("p sp 3 2\n" + "c" * 200 + "\n" * 200 + "\n".join(rows) + end), "dimacs").m == 2


@given(arc_lists(), st.sampled_from(sorted(COMPRESS)))
def test_pace_is_undirected(write, arcs, suffix):
    n, sources, targets, _ = arcs
    rows = "".join(f"{u + 1} {v + 1}\n" for u, v in zip(sources, targets, strict=True))
    graph = read_graph_file(write(f"c test\np tw {n} {len(sources)}\n{rows}", f"p.gr{suffix}"), "pace")
    assert_arcs(graph, n, *both_ways(sources, targets))
    assert graph.metadata["directed"] is False


@given(arc_lists(), STYLES, st.booleans())
def test_snap(write, arcs, style, counted):
    _, sources, targets, _ = arcs
    before, between, after = style
    head = f"# Directed graph\n# Nodes: 3 Edges: {len(sources)}\n" if counted else ""
    rows = "".join(f"{before}{u}{between}{v}{after}\n" for u, v in zip(sources, targets, strict=True))
    path = write(head + rows, "s.txt")
    if not len(sources):
        with pytest.raises(
            Failure, match="line 1: there is no line 'FROM TO': the file is empty or holds only comments"
        ):
            read_graph_file(path, "snap")
        return
    labels = np.unique(np.r_[sources, targets])
    for sparse in (0, 16):  # by a sort of the numbers, by a table of them
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(readers, "_SPARSE", sparse)
            graph = read_graph_file(path, "snap")
        assert_arcs(graph, len(labels), np.searchsorted(labels, sources), np.searchsorted(labels, targets))
        if sparse and len(labels) == labels[-1] + 1:
            assert graph.labels is None
        else:
            assert graph.labels.tolist() == labels.tolist()


@given(arc_lists(), st.sampled_from(["pattern", "integer", "real"]), st.booleans())
def test_matrix_market_as_scipy_writes_and_reads_it(write, arcs, field, symmetric):
    n, sources, targets, weights = arcs
    if symmetric:
        sources, targets = np.maximum(sources, targets), np.minimum(sources, targets)
    _, first = np.unique(np.stack([sources, targets]), axis=1, return_index=True)
    sources, targets, weights = sources[first], targets[first], weights[first]
    values = weights / 1024 if field == "real" else weights.astype(np.int64)
    text = io.BytesIO()
    lower = coo_array((values, (sources, targets)), shape=(n, n))
    scipy.io.mmwrite(text, lower, field=field, symmetry="general", precision=17)
    content = text.getvalue().decode()
    content = content.replace("general", "symmetric") if symmetric else content
    path = write(content, "m.mtx")
    graph = read_graph_file(path, "matrix-market")
    assert graph.metadata["directed"] is not symmetric
    np.testing.assert_allclose(graph.to_scipy().toarray(), scipy.io.mmread(path, spmatrix=False).toarray(), rtol=1e-7)
    written = content.split()[3]  # SciPy calls an empty matrix real
    assert (graph.weights is None) == (written == "pattern")
    if graph.weights is not None:
        assert graph.weights.dtype == {"integer": np.uint32, "real": np.float32}[written]


@given(arc_lists(max_size=200), st.integers(1, 64))
@settings(max_examples=30)
def test_blocks_of_any_size_give_the_same_graph(write, arcs, size):
    n, sources, targets, weights = arcs
    rows = "".join(f"a {u + 1} {v + 1} {w}\n" for u, v, w in zip(sources, targets, weights, strict=True))
    path = write(f"p sp {n} {len(sources)}\n{rows}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("saitan.workflow.graphs.streams._CHUNK", size)
        patch.setattr(readers, "Blocks", lambda path: Blocks(path, size=64))
        assert_arcs(read_graph_file(path, "dimacs"), n, sources, targets, weights)
        if len(sources):  # a format that does not say how many lines come
            rows = "".join(f"{u} {v}\n" for u, v in zip(sources, targets, strict=True))
            labels = np.unique(np.r_[sources, targets])
            ends = np.searchsorted(labels, sources), np.searchsorted(labels, targets)
            assert_arcs(read_graph_file(write(rows), "snap"), len(labels), *ends)


@given(st.permutations(range(6)))
def test_coordinates(write, order):
    rows = "".join(f"v {v + 1} {-73000000 - v} {41000000 + v}\n" for v in order)
    coordinates = read_coordinates(write(f"p aux sp co 6\n{rows}", "c.co"), 6)
    np.testing.assert_allclose(coordinates, [[-73 - v * 1e-6, 41 + v * 1e-6] for v in range(6)], rtol=1e-15)


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
    "letters for a weight": ("dimacs", DIMACS.format("a 3 1 heavy"), "line 5: 'heavy' is not a number"),
    "underscore in a weight": ("dimacs", DIMACS.format("a 3 1 1_0"), "line 5: '1_0' is not a number"),
    "vertex 0": ("dimacs", DIMACS.format("a 0 1 1"), "line 5: vertex 0 is out of range: 1 to 3 is right"),
    "vertex beyond the last": ("dimacs", DIMACS.format("a 3 4 1"), "line 5: vertex 4 is out of range: 1 to 3 is right"),
    "vertex beyond int32": ("dimacs", DIMACS.format("a 3 9999999999 1"), "line 5: vertex 9999999999 is out of range"),
    "negative weight": ("dimacs", DIMACS.format("a 3 1 -7"), "line 5: the weight -7 is negative: at least 0 is right"),
    "negative real weight": ("dimacs", DIMACS.format("a 3 1 -0.5"), "line 5: the weight -0.5 is negative"),
    "NaN weight": ("dimacs", DIMACS.format("a 3 1 nan"), "line 5: the weight is NaN: a number of at least 0 is right"),
    "weight beyond uint32": (
        "dimacs",
        DIMACS.format("a 3 1 4294967296"),
        "line 5: the weight 4294967296 is too large: uint32 holds at most 4294967295",
    ),
    "infinite weight": ("dimacs", DIMACS.format("a 3 1 inf"), "line 5: the weight inf is too large: float32 holds"),
    "no header": ("dimacs", "c test\na 1 2 3\n", "line 2: 'a 1 2 3' comes where the header 'p sp VERTICES ARCS'"),
    "empty": ("dimacs", "", "line 1: there is no header 'p sp VERTICES ARCS'"),
    "too many vertices": ("dimacs", "p sp 2147483648 0\n", "line 1: 2147483648 vertices: int32 ids hold at most"),
    "PACE too few": ("pace", "p tw 3 2\n1 2\n", "line 2: the file ends after 1 lines 'FROM TO'"),
    "PACE out of range": ("pace", "p tw 3 1\n1 4\n", "line 2: vertex 4 is out of range: 1 to 3 is right"),
    "PACE no header": ("pace", "1 2\n", "line 1: '1 2' comes where the header 'p tw VERTICES EDGES'"),
    "SNAP mis-counted": ("snap", "# Nodes: 2 Edges: 3\n0\t1\n", "line 2: the file ends after 1 lines 'FROM TO'"),
    "SNAP negative": ("snap", "0\t1\n-1\t0\n", "line 2: vertex -1 is out of range: 0 to 2147483646 is right"),
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
        MATRIX.format("real", "general", 3.4028234663852886e38, 3.402823466385289e38),
        "line 5: the weight 3.402823466385289e+38 is too large: float32 holds at most 3.4028235e+38",
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
    with pytest.raises(Failure, match=r"need about 0\.0 GiB of memory, but 0\.0 GiB"):
        read_graph_file(path, "dimacs")


@pytest.mark.parametrize("sign", ["", "+"])  # PyArrow refuses the second, which is read line by line
def test_the_largest_weight_is_kept_and_the_next_refused(write, sign):
    text = "p sp 2 2\na 1 2 0\na 2 1 {}{}\n"
    graph = read_graph_file(write(text.format(sign, 2**32 - 1)), "dimacs")
    assert (graph.weights.dtype, graph.weights.tolist()) == (np.uint32, [0, 2**32 - 1])
    with pytest.raises(
        Failure, match=r"line 3: the weight \+?4294967296 is too large: uint32 holds at most 4294967295"
    ):
        read_graph_file(write(text.format(sign, 2**32)), "dimacs")


@pytest.mark.parametrize(
    ("words", "inexact"),
    [
        (["0", "3.4028234663852886e38"], None),
        (["1.5", "2", "16777216"], None),
        (["16777217", "0.5"], {"count": 1, "relative": 1 / 16777217}),
        (["0.5", "16777217"], {"count": 1, "relative": 1 / 16777217}),
        (["1e-50", "0"], {"count": 1, "relative": 1.0}),
        (["0.1", "1e-50", "3.0"], {"count": 2, "relative": 1.0}),
        (["1e-50", "0.1", "3.0"], {"count": 2, "relative": 1.0}),
        (["+0.5", "16777217"], {"count": 1, "relative": 1 / 16777217}),
    ],
)
@pytest.mark.parametrize("split", [True, False])  # integers and reals in blocks of their own, and beside each other
def test_reals_that_float32_cannot_hold_are_counted(write, words, inexact, split, monkeypatch):
    if split:
        monkeypatch.setattr("saitan.workflow.graphs.streams._CHUNK", 1)
        monkeypatch.setattr(readers, "Blocks", lambda path: Blocks(path, size=1))
    rows = "".join(f"{{}}{number} 1 {word}\n" for number, word in enumerate(words, 1))
    mtx = f"%%MatrixMarket matrix coordinate real general\n{len(words)} {len(words)} {len(words)}\n{rows}"
    dimacs = f"p sp {len(words)} {len(words)}\n{rows}"
    for text, tag, format in ((mtx, "", "matrix-market"), (dimacs, "a ", "dimacs"))[split:]:
        graph = read_graph_file(write(text.replace("{}", tag), f"{format}.txt"), format)
        assert graph.weights.tolist() == [np.float32(word) for word in words]
        assert graph.metadata.get("inexact") == (inexact and pytest.approx(inexact))


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("a.gr.gz", "c x\np sp 2 1\na 1 2 3\n", "dimacs"),
        ("a.gr", "p tw 2 1\n1 2\n", "pace"),
        ("a.txt", "# Nodes\n0 1\n", "snap"),
        ("a.mtx.xz", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n", "matrix-market"),
    ],
)
def test_a_users_file_tells_its_format(write, name, content, format):
    path = write(content, name)
    for graph in (saitan.read_graph(path), saitan.read_graph(str(path), format)):
        assert (graph.name, graph.n, graph.metadata["format"]) == ("a", 2, format)
        assert (0, 1) in zip(graph.sources, graph.targets, strict=True)


@pytest.mark.parametrize(
    ("content", "format", "message"),
    [
        ("1 2 3\n", None, "the format cannot be told from its first lines: name one of dimacs, pace, snap, matrix-m"),
        ("", None, "the file is empty"),
        ("# none\n", None, "the format cannot be told from its first lines: name one of dimacs"),
        ("1\n2 3\n", None, "the format cannot be told from its first lines: name one of dimacs"),
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
def test_a_damaged_compressed_file_is_named_with_the_line_it_breaks_at(tmp_path, suffix):
    rng = np.random.default_rng(1)
    rows = "".join(f"a {u} {v} {w}\n" for u, v, w in rng.integers(1, 5000, (20_000, 3)))
    whole = COMPRESS[suffix](f"p sp 5000 20000\n{rows}".encode())
    path = tmp_path / f"graph.gr{suffix}"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Failure) as failure:
        read_graph_file(path, "dimacs")
    message = str(failure.value)
    assert message.startswith(f"{path}: line ")
    assert f"the {suffix[1:]} stream is truncated or damaged from here on" in message
    assert "\n" not in message
    line = int(message.removeprefix(f"{path}: line ").partition(":")[0])
    assert 8_000 < line < 12_000


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
        ("a.zip", b"PK\3\4rest", f"the file is a zip archive: {COMPRESSED}: unzip it"),
        ("a.gr", GR.decode().encode("utf-16"), "the file is UTF-16: UTF-8 is right"),
        ("a.gr", b"<!DOCTYPE html>\n<html>", "the file is a page of the web: the file itself is right: fetch it again"),
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


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("text", [GR, b"1 2\n2 3\n", b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"])
def test_a_mark_of_utf_8_is_no_part_of_a_text(tmp_path, text, suffix):
    path, marked = tmp_path / "a", tmp_path / f"b{suffix}"
    path.write_bytes(text)
    marked.write_bytes(COMPRESS.get(suffix, bytes)(b"\xef\xbb\xbf" + text))
    one, other = saitan.read_graph(path), saitan.read_graph(marked)
    assert (one.n, one.targets.tolist(), one.sources.tolist()) == (
        other.n,
        other.targets.tolist(),
        other.sources.tolist(),
    )


def test_a_missing_file_is_an_os_error_with_its_name(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        read_graph_file(tmp_path / "absent.gr.gz", "dimacs")
    assert error.value.filename == str(tmp_path / "absent.gr.gz") or error.value.filename == tmp_path / "absent.gr.gz"


def test_new_york():
    path, places = data_file("USA-road-d.NY.gr.gz"), data_file("USA-road-d.NY.co.gz")
    read_graph_file(path, "dimacs")
    started = time.process_time()
    graph = read_graph_file(path, "dimacs")
    assert time.process_time() - started < 2
    assert (graph.n, graph.m) == (264_346, 733_846)
    assert (graph.weights.min(), graph.weights.max()) == (1, 36946)
    assert graph.metadata["checksum"] == "37f5b3eff82330850466956b6c036a8ab8551512bdc7509edca1d4c6cf943fa3"
    longitude, latitude = np.radians(read_coordinates(places, graph.n)).T
    u, v = graph.sources, graph.targets
    half = np.sin((latitude[u] - latitude[v]) / 2) ** 2
    half += np.cos(latitude[u]) * np.cos(latitude[v]) * np.sin((longitude[u] - longitude[v]) / 2) ** 2
    metres = 2 * 6_367_000 * np.arcsin(np.sqrt(half))
    assert np.abs(graph.weights - 10 * metres).max() < 1


@pytest.mark.parametrize(
    ("name", "format", "n", "m"),
    [
        ("USA-road-d.BAY.gr.gz", "dimacs", 321_270, 800_172),
        ("pace16-topology.COL.gr.xz", "pace", 435_666, 1_042_400),
        ("soc-Slashdot0902.txt.gz", "snap", 82_168, 948_464),
    ],
)
def test_published_graphs(name, format, n, m):
    graph = read_graph_file(data_file(name), format)
    assert (graph.n, graph.m) == (n, m)


ARCS = 4_000_000
SETUP = f"""
from pathlib import Path
from saitan.generators import GENERATORS
from saitan.workflow.graphs import arcs, parquet, readers
from saitan.workflow.graphs.readers import read_graph_file
from saitan.workflow.graphs.parquet import read_graph, write_graph
parquet._ROWS = 1 << 19
Blocks = readers.Blocks
readers.Blocks = lambda path: Blocks(path, size=1 << 20)
graph = GENERATORS["random"](vertices=1000, arcs={ARCS}, weight_low=0, weight_high=9, seed=1)
"""


def write_dimacs(path, n, m):
    random = np.random.default_rng(1)
    columns = [
        pa.array(["a"] * m),
        *map(pa.array, random.integers(1, n + 1, (2, m))),
        pa.array(random.integers(0, 9, m)),
    ]
    with path.open("wb") as file:
        file.write(f"p sp {n} {m}\n".encode())
        options = pyarrow.csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
        pyarrow.csv.write_csv(pa.table(columns, names=list("auvw")), file, options)


# Bytes an arc at the worst moment, what is returned included: 8 for a graph.
PEAKS = {
    # 12 as read and 8 as sorted.
    "read_graph_file": ("read_graph_file(path, 'dimacs')", 20),
    "write_graph": ("write_graph(graph, folder / 'graph')", 0),
    "read_graph": ("read_graph(folder / 'graph')", 8),
    "drop_loops": ("arcs.drop_loops(graph)", 12),
    # Twice the arcs: 24 in, 16 sorted, and which are loops.
    "symmetrise": ("arcs.symmetrise(graph)", 45),
    # Sorted twice, and a mark; nearly all arcs are parallel here.
    "merge_parallel": ("arcs.merge_parallel(graph)", 17),
    "draw_weights": ("arcs.draw_weights(graph, 1, 9, 1)", 9),
    "largest_component": ("arcs.largest_component(graph, 'strong')", 14),
    "relabel": ("arcs.relabel(graph, 'bfs')", 20),
}


def test_no_index_and_no_float64_of_all_arcs_is_made_on_the_way(tmp_path):
    write_dimacs(tmp_path / "large.gr", 1000, ARCS)
    setup = SETUP + f"folder, path = Path({str(tmp_path)!r}), Path({str(tmp_path / 'large.gr')!r})"
    found = peaks(setup, {name: call for name, (call, _) in PEAKS.items()})
    # Blocks of a million arcs, and what the libraries hold meanwhile.
    assert {name: size / ARCS for name, size in found.items() if size > PEAKS[name][1] * ARCS + (12 << 20)} == {}
