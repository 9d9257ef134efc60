"""Files of graphs that are right, of every format and compression."""

import hashlib
import io
from fractions import Fraction

import numpy as np
import pytest
import scipy.io
from graph_files import COMPRESS
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import coo_array

import saitan
from saitan.workflow.graphs import readers
from saitan.workflow.graphs.readers import read_coordinates, read_graph_file
from saitan.workflow.graphs.streams import Blocks
from saitan.workflow.step import Failure


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


@pytest.mark.parametrize(
    ("head", "directed"),
    [
        ("# Undirected graph: ../../data/output/dblp.ungraph.txt\n# DBLP\n# Nodes: 3 Edges: 3\n", False),
        ("#undirected Graph\n", False),
        ("# Directed graph (each unordered pair of nodes is saved once): roadNet-CA.txt\n", True),
        ("# an undirected graph once\n# Undirected graphs\n", True),
    ],
)
def test_a_snap_file_says_whether_a_line_is_both_ways(write, head, directed):
    graph = read_graph_file(write(head + "0 1\n1 2\n2 2\n", "s.txt"), "snap")
    arcs = [(0, 1), (1, 2), (2, 2)] if directed else [(0, 1), (1, 0), (1, 2), (2, 1), (2, 2)]
    assert sorted(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True)) == arcs
    assert graph.metadata["directed"] is directed


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


TEXTS = {
    "dimacs": "c x\np sp 4 3\na 1 2 5\nc y\na 3 4 6\na 4 1 7\n",
    "pace": "c x\np tw 4 3\n1 2\nc y\n3 4\n4 1\n",
    "snap": "# x\n# Edges: 3\n0 1\n# y\n2 3\n3 0\n",
    "matrix-market": "%%MatrixMarket matrix coordinate real general\n% x\n4 4 3\n1 2 5\n% y\n3 4 6\n4 1 7.5\n",
    "coordinates": "c x\np aux sp co 3\nv 1 4 5\nc y\nv 3 6 7\nv 2 8 9\n",
}


@pytest.mark.parametrize("format", TEXTS)
@given(st.data(), st.integers(1, 30))
@settings(max_examples=30)
def test_a_line_ends_with_cr_or_lf_or_both(write, format, data, size):
    """Each line of a file with an end of its own, in blocks that end anywhere."""
    read = {"coordinates": lambda path: read_coordinates(path, 3)[0]}.get(
        format, lambda path: read_graph_file(path, format)
    )
    plain = TEXTS[format].splitlines()
    ends = data.draw(st.lists(st.sampled_from(["\n", "\r", "\r\n"]), min_size=len(plain), max_size=len(plain)))
    wrong = "\n".join(plain[:-1]) + "\nx y z\n"
    one = read(write(TEXTS[format]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("saitan.workflow.graphs.streams._CHUNK", size)
        other = read(write("".join(map("".join, zip(plain, ends, strict=True)))))
        if format == "coordinates":
            assert_array_equal(one, other)
        else:
            assert [one.n, *one.sources, *one.targets] == [other.n, *other.sources, *other.targets]
        with pytest.raises(Failure, match=rf": line {len(plain)}: "):
            read(write("".join(map("".join, zip(wrong.splitlines(), ends, strict=True)))))


COMMENTED = {
    "dimacs": ("", "c", "\np sp 3 2\na 1 2 5\na 2 3 6\n"),
    "pace": ("", "c", "\np tw 3 2\n1 2\n2 3\n"),
    "snap": ("", "#", "\n# Edges: 2\n0 1\n1 2\n"),
    "matrix-market": ("%%MatrixMarket matrix coordinate pattern general\n", "%", "\n3 3 2\n1 2\n2 3\n"),
}


@pytest.mark.parametrize("format", COMMENTED)
@pytest.mark.parametrize("lines", [0, 3, 40])
@pytest.mark.parametrize("length", [1, 100])
def test_comments_before_the_header_may_be_longer_than_a_block(write, monkeypatch, format, lines, length):
    before, comment, text = COMMENTED[format]
    content = before + (" " * (lines % 2) + comment * length + "\n") * lines + text
    monkeypatch.setattr("saitan.workflow.graphs.streams._CHUNK", 50)
    monkeypatch.setattr(readers, "Blocks", lambda path: Blocks(path, size=64))
    for named in (format, None):
        assert saitan.read_graph(write(content, "g.txt"), named).targets.tolist()[:1] == [1]
    last = len(content.splitlines())
    cut = content[: content[:-1].rindex("\n") + 1]
    with pytest.raises(Failure, match=f": line {last - 1}: the file ends after 1 lines .* the header .* announces 2"):
        read_graph_file(write(cut), format)
    with pytest.raises(Failure, match=f": line {last}: "):
        read_graph_file(write(cut + "x y\n"), format)


@given(st.permutations(range(6)))
def test_coordinates(write, order):
    rows = "".join(f"v {v + 1} {-73000000 - v} {41000000 + v}\n" for v in order)
    text = f"p aux sp co 6\n{rows}"
    coordinates, checksum = read_coordinates(write(text, "c.co"), 6)
    assert checksum == hashlib.sha256(text.encode()).hexdigest()
    np.testing.assert_allclose(coordinates, [[-73 - v * 1e-6, 41 + v * 1e-6] for v in range(6)], rtol=1e-15)


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
        (["0", "340282346638528859811704183484516925440", "0.5"], None),
        # float32's largest as float64 and float32 print it.
        (["0", "3.4028234663852886e38"], {"count": 1, "relative": 4e-17}),
        (["0", "3.4028235e38"], {"count": 1, "relative": 9.878476e-9}),
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
        assert graph.metadata.get("inexact") == (inexact and pytest.approx(inexact, rel=1e-6, abs=3e-16))


def _written(value, digits, beside):
    """A float32 by all of its digits, some of them, or with one far behind them."""
    return f"{value:.{digits}f}{beside}"


NUMBERS = st.one_of(
    st.floats(0, 2.0**100, width=32).map(repr),
    st.builds(_written, st.floats(0, 2.0**70, width=32), st.integers(1, 160), st.sampled_from(["", "0", "1"])),
    st.integers(0, 2**70).map(str),
    st.builds("{:.{}e}".format, st.integers(0, 2**20).map(lambda value: value / 2**15), st.integers(3, 25)),
    st.from_regex(r"\A[0-9]{1,20}\.[0-9]{1,20}(e-?[0-9]{1,2})?\Z").filter(lambda word: float(word) < 1e38),
    st.sampled_from(["1e-400", "0e-99999999999999999999", "1e-99999999999999999999", ".5", "5.", "0.50e00", "+.5"]),
)


@given(st.lists(NUMBERS, min_size=1, max_size=6), st.booleans(), st.integers(1, 100), st.booleans())
@settings(max_examples=100)
@example(["5000000000", *["3"] * 5, ".5"], False, 1, False)
@example(["5000000000", "3"], False, 1, False)
@example(["9007199254740993", ".5"], False, 100, True)
@example(["16777216.0000000001"], False, 100, False)
@example(["1.2500000000e-01", "12500000000000000e-17"], True, 100, True)
def test_what_is_kept_is_compared_with_what_is_written_wherever_blocks_end(write, words, real, size, compiled):
    rows = "".join(f"{{}}{number} 1 {word}\n" for number, word in enumerate(words, 1))
    n = len(words)
    if real:
        text, format = (
            f"%%MatrixMarket matrix coordinate real general\n{n} {n} {n}\n{rows.replace('{}', '')}",
            "matrix-market",
        )
    else:
        text, format = f"p sp {n} {n}\n{rows.replace('{}', 'a ')}", "dimacs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("saitan.workflow.graphs.streams._CHUNK", size)
        patch.setattr(readers, "Blocks", lambda path: Blocks(path, size=size))
        if compiled:
            patch.setattr("saitan.workflow.graphs.written._MANY", 0)
        path = write(text, "weights.txt")
        if not real and all(word.isdigit() for word in words):
            if large := [word for word in words if int(word) >= 2**32]:
                line = 2 + words.index(large[0])
                with pytest.raises(Failure, match=f": line {line}: the weight {large[0]} is too large: uint32 holds"):
                    read_graph_file(path, format)
            else:
                assert read_graph_file(path, format).weights.tolist() == list(map(int, words))
            return
        graph = read_graph_file(path, format)
    kept = [np.float32(float(word)) for word in words]
    assert graph.weights.tolist() == kept
    # Beyond Fraction: an exponent of twenty digits.
    exact = [Fraction(word if len(word.partition("e")[2]) < 20 else word.partition("e")[0]) for word in words]
    off = [abs(Fraction(float(k)) - e) / e for k, e in zip(kept, exact, strict=True) if Fraction(float(k)) != e]
    inexact = graph.metadata.get("inexact")
    assert inexact == (
        pytest.approx({"count": len(off), "relative": float(max(off))}, rel=1e-6, abs=3e-16) if off else None
    )


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


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize(
    "text", [b"p sp 3 1\na 1 2 3\n", b"1 2\n2 3\n", b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"]
)
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
    # Of the whole content.
    assert other.metadata["checksum"] == hashlib.sha256(b"\xef\xbb\xbf" + text).hexdigest()
