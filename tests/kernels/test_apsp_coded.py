"""The coded matrix of distances: order, blocks, files, what is corrupt and what was not written to its end."""

import contextlib
import copy
import errno
import json
import pickle
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from apsp_sweeps import grid
from hypothesis import given, settings
from hypothesis import strategies as st
from test_apsp import random_graph
from test_phast import both_ways
from test_sssp import graphs

from saitan import apsp
from saitan.apsp import coding, order, packing, stored
from saitan.apsp.cpu_fast import NearFar
from saitan.graph import Graph
from saitan.problem import Invalid, Unavailable

NONE = int(order.NONE)


def written(graph, path, group=16, width=16, check=True, make=NearFar):
    return coding.write_coded(graph, path, make, "mine", "cpu", check, group, width)


@settings(max_examples=60)
@given(graphs(), st.sampled_from([1, 3, 16, 65535]), st.sampled_from([1, 2, 7, 65535]))
def test_every_vertex_has_a_place_and_every_range_nests(case, group, width):
    graph = case[0]
    made = order.order_of(graph, group, width)
    assert sorted(made.vertices.tolist()) == list(range(graph.n))
    for p, above in enumerate(made.rows.tolist()):
        assert above == NONE or p // group * group <= above < p
    for p, (above, end) in enumerate(zip(made.columns.tolist(), made.ends.tolist(), strict=True)):
        first, j = p // width * width, p % width
        assert j < end <= min(width, graph.n - first)
        if j:
            assert above < j and made.ends[first + above] >= end
        else:
            assert above == 0 and end == min(width, graph.n - first)


def test_neighbours_are_coded_against_each_other():
    made = order.order_of(grid(30, 30), 100, 100)
    graph = order.relabelled(grid(30, 30), made)
    arcs = set(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
    beside = [(p, int(above)) in arcs for p, above in enumerate(made.rows.tolist()) if above != NONE]
    # Three of four are, and those whose parent is in another group are not.
    assert 0.6 < np.mean(beside) < 0.8
    assert (made.rows == NONE).sum() == 9


def test_no_row_is_decoded_for_many():
    line = both_ways(1000, np.arange(999), np.arange(1, 1000), np.ones(999, np.uint32))
    rows = order.order_of(line, 1024, 512).rows
    decoded = np.zeros(1000, int)
    for p in range(1000):
        decoded[p] = 0 if rows[p] == NONE else decoded[rows[p]] + 1
    # The tree's root is in the middle of the line; the sums of the digits of the depths in its two arms.
    depths = np.r_[0:500, 1:501]
    assert sorted(decoded) == sorted(sum(depths // 4**place % 4 for place in range(5)))


@settings(max_examples=40)
@given(graphs(), st.sampled_from([(1, 1), (3, 5), (16, 2), (1024, 8192)]))
def test_what_is_written_is_read(tmp_path_factory, case, sizes):
    graph, path = case[0], tmp_path_factory.mktemp("coded") / "m"
    told = written(graph, path, *sizes)
    matrix = apsp.solve(graph, None, "iterated", "cpu")
    with apsp.open(path) as m:
        assert m.shape == matrix.shape and m.nbytes == told["bytes"] == path.stat().st_size
        if m.dtype != matrix.dtype:
            # Sums that do not fit widen, and which sums are formed depends on the order of the vertices.
            assert apsp.instance({"graph": graph}).longest >= 2**32 - 1
            return
        assert m[:].tobytes() == matrix.tobytes()
        for s in range(graph.n):
            assert m[s].tobytes() == matrix[s].tobytes()
            assert [m[s, t] for t in range(graph.n)] == matrix[s].tolist()
        for first, rows in m.groups():
            places = m.vertices[first : first + len(rows)]
            assert np.array_equal(rows, matrix[places][:, m.vertices])


@pytest.mark.parametrize("high", [2, 100, 20_000, 2**31, 2**32 - 1])
@pytest.mark.parametrize("directed", [False, True])
def test_values_of_every_width(tmp_path, high, directed):
    graph = grid(17, 13, 0, high)
    if directed:
        graph = Graph.from_arcs(221, graph.sources, graph.targets, np.random.default_rng(1).permutation(graph.weights))
    matrix = apsp.solve(graph, None, "iterated", "cpu")
    for sizes in ((221, 221), (50, 64)):
        written(graph, tmp_path / "m", *sizes)
        with apsp.open(tmp_path / "m") as m:
            assert m.dtype == matrix.dtype and np.array_equal(m[:], matrix)


@pytest.mark.parametrize(
    ("least", "most", "log_bytes"),
    [(-(2**b), 2**b - 1, k) for k, b in enumerate((7, 15, 31, 63))]
    + [(-(2**b) - 1, 0, k) for k, b in enumerate((7, 15, 31), 1)]
    + [(0, 2**b, k) for k, b in enumerate((7, 15, 31), 1)],
)
def test_differences_take_the_fewest_bytes_that_hold_them(least, most, log_bytes):
    assert packing._log_bytes(np.int64(least), np.int64(most)) == log_bytes


@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
def test_graphs_that_do_not_code_well_come_back_too(tmp_path, dtype):
    graph = random_graph(200, 260, 0, 2**20, dtype, 5)
    written(graph, tmp_path / "m", 64, 50)
    with apsp.open(tmp_path / "m") as m:
        assert m[:].tobytes() == apsp.solve(graph, None, "iterated", "cpu").tobytes()


def test_a_map_becomes_small(tmp_path):
    # Long straight roads: most differences of neighbours are those of their neighbours.
    told = apsp.compress(grid(64, 48, 1, 3), tmp_path / "m", backend="cpu")
    assert told["ratio"] > 8 and told["entries"] == 3072**2
    wide = apsp.compress(both_ways(3000, np.arange(2999), np.arange(1, 3000), np.full(2999, 7, "u4")), tmp_path / "l")
    assert wide["ratio"] > 150


def test_indices(tmp_path):
    graph = random_graph(40, 200, 0, 9, np.uint32, 5)
    written(graph, tmp_path / "m")
    matrix = apsp.solve(graph, None, "iterated", "cpu")
    with apsp.open(tmp_path / "m") as m:
        size = (tmp_path / "m").stat().st_size
        assert repr(m) == f"Matrix({str(tmp_path / 'm')!r}: 40 x 40 of uint32, {size:,} bytes)"
        assert len(m) == 40 and m[-1, -2] == matrix[-1, -2] and np.array_equal(m[3, 4:9], matrix[3, 4:9])
        assert np.array_equal(m[3:9, 4], matrix[3:9, 4]) and m[5:5].shape == (0, 40)
        assert isinstance(m[np.int64(3), 2], np.uint32) and m[np.array(3), np.array(-1)] == matrix[3, -1]
        for wrong in (40, -41, (0, 40), (40, 0), (1, 2, 3), slice(0, 9, 2)):
            with pytest.raises(IndexError):
                m[wrong]


def test_a_corrupt_byte_anywhere_is_found(tmp_path):
    graph = grid(6, 5)
    path = tmp_path / "m"
    written(graph, path, 10, 16)
    matrix, right = apsp.solve(graph, None, "iterated", "cpu"), path.read_bytes()
    rng = np.random.default_rng(1)
    with apsp.open(path) as m:
        rows = 8 + 4 * int(m.starts[-1])
    for at in range(int(rng.integers(2)), len(right), 2):
        wrong = bytearray(right)
        wrong[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(wrong)
        if 8 <= at < rows:
            # Rows that do not need it are right; what needs it names the block.
            refused = 0
            with apsp.open(path) as m:
                for s in range(30):
                    try:
                        assert np.array_equal(m[s], matrix[s])
                    except Invalid as error:
                        assert "block" in str(error) and "source" in str(error)
                        refused += 1
                    for t in rng.integers(0, 30, 3).tolist():
                        with contextlib.suppress(Invalid):
                            assert m[s, t] == matrix[s, t]
                with pytest.raises(Invalid):
                    list(m.groups())
            assert refused
        else:
            with pytest.raises((ValueError, Invalid)):
                apsp.open(path)


def test_a_file_cut_short_or_of_something_else_is_refused(tmp_path):
    path = tmp_path / "m"
    written(grid(6, 5), path)
    right = path.read_bytes()
    for size in (0, 7, 31, 32, len(right) // 2, len(right) - 1):
        path.write_bytes(right[:size])
        with pytest.raises(ValueError, match="no coded matrix"):
            apsp.open(path)
    path.write_bytes(right + b"\0")
    for other in (path, tmp_path):
        with pytest.raises(ValueError, match=f"^{other}: no coded matrix"):
            apsp.open(other)


def test_a_coder_that_is_wrong_is_found(tmp_path, monkeypatch):
    code = coding.HostCoder.code

    def spoils(self, slab, first):
        slab[3, 4] += 1
        words, sizes = code(self, slab, first)
        slab[3, 4] -= 1
        return words, sizes

    monkeypatch.setattr(coding.HostCoder, "code", spoils)
    with pytest.raises(Invalid, match="not the distances when decoded"):
        written(grid(6, 5), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("row", [0, 15, 29])
def test_a_solver_that_is_wrong_is_found(tmp_path, row):
    class Wrong(NearFar):
        """One entry of the matrix is one too large."""

        def produce(self, query):
            run = super().produce(query)
            if 0 <= row - query[0] < query[1]:
                self.distances[row - query[0], 7] += 1
            return run

    with pytest.raises(Invalid, match=rf"from source {row}, vertex \d+ is at distance"):
        written(grid(6, 5), tmp_path / "m", make=Wrong)
    assert list(tmp_path.iterdir()) == []
    assert written(grid(6, 5), tmp_path / "m", make=Wrong, check=False)["entries"] == 900


def answers(dtype, told):
    class Mine(NearFar):
        """Gives right distances in a type, and says that it is another."""

        def __init__(self, instance):
            super().__init__(instance)
            self._told = np.dtype(told)

        @property
        def dtype(self):
            return vars(self).get("_told", np.dtype(np.uint32))

        @dtype.setter
        def dtype(self, value):
            pass

        def slab(self):
            return self.distances.astype(dtype)

    return Mine


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("given", [np.uint64, np.float32, np.float64, np.int32])
def test_a_solver_whose_slabs_are_of_another_type_writes_no_file(tmp_path, given, check):
    name = np.dtype(given).name
    says = rf"^the slab at row 0 has distances of {name}, and its solver's dtype is uint32: the same is right$"
    with pytest.raises(Invalid, match=says):
        written(grid(6, 5), tmp_path / "m", make=answers(given, np.uint32), check=check)
    if given != np.uint64:
        with pytest.raises(Invalid, match=f"^distances have the type {name}: uint32 or uint64 is right$"):
            written(grid(6, 5), tmp_path / "m", make=answers(given, given), check=check)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("check", [True, False])
def test_a_solver_that_writes_into_its_graph_writes_no_file(tmp_path, check):
    class Spoils(NearFar):
        def __init__(self, instance):
            np.minimum(instance.graph.weights, 1, out=instance.graph.weights)
            super().__init__(instance)

    (tmp_path / "m").write_text("earlier")
    with pytest.raises(Invalid, match=r"^mine writes into graph\.weights of its instance, by which answers"):
        written(grid(6, 5), tmp_path / "m", make=Spoils, check=check)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["earlier"]


def test_a_solver_may_answer_in_64_bits(tmp_path):
    written(grid(6, 5), tmp_path / "m", make=answers(np.uint64, np.uint64))
    with apsp.open(tmp_path / "m") as found:
        assert found.dtype == np.uint64 and np.array_equal(found[0:30], apsp.solve(grid(6, 5)))


def test_a_variant_without_slabs_writes_no_file(tmp_path):
    says = r"^floyd-warshall-blocked takes answer matrix only, not slabs \(these can: .*\bfast\b"
    with pytest.raises(Unavailable, match=says):
        apsp.compress(grid(3, 4), tmp_path / "m", "floyd-warshall-blocked", "cpu")
    assert not any(tmp_path.iterdir())


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(stored.Writer, "append", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with pytest.raises(OSError, match="full"):
        written(grid(6, 5), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_killed_writer_leaves_what_was_there(tmp_path):
    path = tmp_path / "m"
    written(grid(6, 5), path)
    before = path.read_bytes()
    code = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_apsp_coded import grid, stored, written
append = stored.Writer.append
def killed(self, *what):
    append(self, *what)
    self._file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
stored.Writer.append = killed
written(grid(9, 9), {str(path)!r})
"""
    ended = subprocess.run([sys.executable, "-c", code], check=False)
    assert ended.returncode == -signal.SIGKILL and path.read_bytes() == before
    [part] = [p for p in tmp_path.iterdir() if p != path]
    assert part.stat().st_size > 0
    with pytest.raises(ValueError, match="no coded matrix"):
        apsp.open(part)


def test_the_footer_is_what_the_description_says(tmp_path):
    path = tmp_path / "m"
    written(grid(6, 5), path, 16, 16)
    content = path.read_bytes()
    begin, size = np.frombuffer(content[-24:-12], "<u4")[[0, 2]]
    footer = json.loads(content[begin : begin + size])
    assert footer["n"] == 30 and footer["dtype"] == "<u4" and footer["width"] == footer["group"] == 16
    assert list(footer["sections"]) == ["vertices", "rows", "ends", "starts"] and footer["about"]["checked"]


def test_a_matrix_is_opened_again_where_it_is_unpickled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(grid(5, 4), "m.coded")
    matrix = apsp.open("m.coded")
    parcel = pickle.dumps(matrix)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for again in pickle.loads(parcel), copy.deepcopy(matrix):
        assert again.path == tmp_path / "m.coded"
        np.testing.assert_array_equal(again[:], matrix[:])
        again.close()
    assert matrix[0, 19] > 0

    written(grid(4, 5), tmp_path / "m.coded")
    with pytest.raises(Invalid, match=f"^{re.escape(str(tmp_path))}/m.coded: another matrix is there now than the one"):
        pickle.loads(parcel)
    matrix.close()
    with pytest.raises(ValueError, match=r"m\.coded: the matrix is closed$"):
        pickle.dumps(matrix)


def test_a_matrix_that_another_thread_reads_can_be_closed(tmp_path):
    apsp.compress(Graph.from_arcs(3, [0, 1], [1, 2], [5, 7]), tmp_path / "m", backend="cpu")
    matrix = apsp.open(tmp_path / "m")
    read = matrix.words
    matrix.close()
    assert read.size and read.sum() >= 0
    for call in (lambda: matrix[0], lambda: next(matrix.groups())):
        with pytest.raises(ValueError, match=f"^{re.escape(str(matrix.path))}: the matrix is closed$"):
            call()


@pytest.mark.parametrize(
    "key", [[0, 1], np.array([0, 2]), "a", None, ..., 1.0, (True, False), (0, True), (0, None), (1, ...)]
)
def test_an_index_that_is_none_is_one_line(tmp_path, key):
    graph = Graph.from_arcs(3, [0, 1], [1, 2], [5, 7])
    apsp.compress(graph, tmp_path / "m", backend="cpu")
    with apsp.open(tmp_path / "m") as m, pytest.raises(IndexError, match="whole number"):
        m[key]
    with pytest.raises(ValueError, match="closed"):
        m[0]
