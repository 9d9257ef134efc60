import errno

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damaged import damage
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from saitan.generators import GENERATORS
from saitan.graph import Graph
from saitan.workflow.graphs import parquet
from saitan.workflow.graphs.parquet import FileArcs, read_graph, read_metadata, write_graph
from saitan.workflow.step import Failure


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("parquet") / "graph"


@given(
    st.integers(0, 20),
    st.integers(0, 60),
    st.sampled_from([None, np.uint32, np.float32]),
    st.booleans(),
    st.sampled_from([None, np.int64, str]),
    st.sampled_from([1, 7, 64 << 20]),
    st.integers(0, 2**32 - 1),
)
def test_round_trip(folder, n, m, dtype, located, labels, rows, seed):
    rng = np.random.default_rng(seed)
    m = m if n else 0
    weights = None if dtype is None else rng.integers(0, 2**32 - 1, m).astype(dtype)
    graph = Graph.from_arcs(
        n,
        rng.integers(0, max(n, 1), m),
        rng.integers(0, max(n, 1), m),
        weights,
        coordinates=rng.random((n, 2)) if located else None,
        metadata={"name": "ü", "directed": True, "seed": seed, "parameters": {"a": [1, None]}},
        labels=None if labels is None else rng.integers(-(2**63), 2**63 - 1, n).astype(labels),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "_ROWS", rows)
        write_graph(graph, folder)
    found = read_graph(folder)
    for array in ("offsets", "targets", "weights", "coordinates", "labels"):
        wanted, got = getattr(graph, array), getattr(found, array)
        if wanted is None:
            assert got is None
        else:
            assert got.dtype.kind == wanted.dtype.kind
            assert wanted.dtype.kind == "U" or got.dtype == wanted.dtype
            assert got.flags.writeable
            assert_array_equal(got, wanted)
    assert found.metadata == graph.metadata
    counts = {"vertices": n, "arcs": m, "weight": None if dtype is None else np.dtype(dtype).name}
    assert read_metadata(folder) == {**graph.metadata, **counts}


def test_the_files_are_flat_lz4_and_nothing_is_left_beside_them(tmp_path):
    write_graph(GENERATORS["grid"](width=5, height=4, weight_low=1, weight_high=9, seed=1), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.parquet", "vertices.parquet"]
    edges, vertices = (pq.ParquetFile(tmp_path / f"{name}.parquet") for name in ("edges", "vertices"))
    assert edges.schema_arrow.remove_metadata() == pa.schema({"target": pa.int32(), "weight": pa.uint32()})
    assert vertices.schema_arrow.names == ["offset", "x", "y"]
    assert vertices.read()["x"].null_count == 1
    assert edges.metadata.row_group(0).column(0).compression == "LZ4"


def test_arrays_are_not_copied_out_of_arrow(tmp_path):
    write_graph(GENERATORS["ring"](vertices=1000, seed=1), tmp_path)
    graph = read_graph(tmp_path)
    assert not any(array.flags.owndata for array in (graph.offsets, graph.targets, graph.weights))


def test_arrays_can_be_written_also_where_arrow_says_otherwise(tmp_path, monkeypatch):
    decoded = parquet._values

    def frozen(column):
        values = decoded(column)
        values.flags.writeable = False
        return values

    monkeypatch.setattr(parquet, "_values", frozen)
    write_graph(GENERATORS["ring"](vertices=10, seed=1), tmp_path)
    graph = read_graph(tmp_path)
    assert all(array.flags.writeable for array in (graph.offsets, graph.targets, graph.weights))


def test_files_of_different_graphs_are_refused(tmp_path):
    for vertices in (4, 5):
        write_graph(GENERATORS["ring"](vertices=vertices, seed=1), tmp_path / str(vertices))
    (tmp_path / "4" / "edges.parquet").replace(tmp_path / "5" / "edges.parquet")
    with pytest.raises(Failure, match=r"5: vertices.parquet and edges.parquet are of different graphs"):
        read_graph(tmp_path / "5")


def test_foreign_files_are_refused(tmp_path):
    pq.write_table(pa.table({"offset": [0]}), tmp_path / "vertices.parquet")
    with pytest.raises(Failure, match=r"vertices.parquet: not a graph written by saitan; remove it and run again"):
        read_graph(tmp_path)


@pytest.mark.parametrize("name", ["vertices", "edges"])
@pytest.mark.parametrize("content", [b"", b"PAR1 not really"])
def test_a_file_that_was_damaged_later_is_named(tmp_path, name, content):
    write_graph(GENERATORS["ring"](vertices=4, seed=1), tmp_path)
    (tmp_path / f"{name}.parquet").write_bytes(content)
    with pytest.raises(Failure, match=rf"{name}.parquet: cannot be read: .*; remove it and run again"):
        read_graph(tmp_path)


@pytest.mark.parametrize("name", ["vertices", "edges"])
def test_a_damaged_byte_is_refused_and_not_read_as_another_graph(tmp_path, name):
    write_graph(GENERATORS["grid"](width=30, height=30, weight_low=1, weight_high=9, seed=1), tmp_path)
    damage(tmp_path / f"{name}.parquet")
    for read in (read_graph, lambda folder: [*FileArcs(folder).arcs(0, 1)]):
        with pytest.raises(Failure, match=rf"{name}\.parquet: cannot be read: .*integrity.*; remove it and run again"):
            read(tmp_path)


def test_a_full_disk_leaves_the_old_graph(tmp_path, monkeypatch):
    write_graph(GENERATORS["ring"](vertices=4, seed=1), tmp_path)

    def full(table, file, **options):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(OSError, match="No space left"):
        write_graph(GENERATORS["ring"](vertices=5, seed=1), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.parquet", "vertices.parquet"]
    assert read_graph(tmp_path).n == 4


def test_the_vertices_come_last_so_that_they_complete_a_graph(tmp_path, monkeypatch):
    written, write = [], pq.write_table
    monkeypatch.setattr(
        pq, "write_table", lambda table, path, **o: (written.append(path.name), write(table, path, **o))
    )
    write_graph(GENERATORS["ring"](vertices=4, seed=1), tmp_path)
    assert [name.split(".")[1] for name in written] == ["edges", "vertices"]


@pytest.mark.parametrize(("rows", "batch"), [(1, 1), (7, 3), (7, 7), (64 << 20, 5), (64 << 20, 1 << 20)])
def test_the_parts_of_a_file_hold_every_arc_once_and_in_order(tmp_path, monkeypatch, rows, batch):
    monkeypatch.setattr(parquet, "_ROWS", rows)
    monkeypatch.setattr(parquet, "BATCH", batch)
    random = np.random.default_rng(rows + batch)
    # Rows without arcs first, in the middle and last.
    tails = np.sort(random.choice([2, 3, 5, 9, 10, 17], 60))
    graph = Graph.from_arcs(20, tails, random.integers(0, 20, 60), metadata={"name": "drawn", "directed": False})
    write_graph(graph, tmp_path)
    arcs = FileArcs(tmp_path)
    assert (arcs.n, arcs.m, arcs.name, arcs.directed) == (20, 60, "drawn", False)
    for parts in (1, 3, 20, 23):
        found = []
        for part in range(parts):
            first, last = 20 * part // parts, 20 * (part + 1) // parts
            for sources, targets in arcs.arcs(part, parts):
                assert len(sources) == len(targets) <= batch and sources.dtype == targets.dtype == np.int32
                assert (sources >= first).all() and (sources < last).all()
                found += zip(sources.tolist(), targets.tolist(), strict=True)
        assert found == list(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))


def test_parts_of_files_of_different_graphs_are_refused(tmp_path):
    for vertices in (4, 5):
        write_graph(GENERATORS["ring"](vertices=vertices, seed=1), tmp_path / str(vertices))
        assert len(list(FileArcs(tmp_path / str(vertices)).arcs(0, 1))) == 1
    (tmp_path / "4" / "edges.parquet").replace(tmp_path / "5" / "edges.parquet")
    with pytest.raises(Failure, match=r"5: vertices.parquet and edges.parquet are of different graphs"):
        list(FileArcs(tmp_path / "5").arcs(0, 1))


def test_edges_of_another_graph_of_the_same_size_are_refused(tmp_path):
    for seed in (1, 2):
        write_graph(Graph.from_arcs(3, [0, 1], [1, 2], metadata={"seed": seed}), tmp_path / str(seed))
    (tmp_path / "1" / "edges.parquet").replace(tmp_path / "2" / "edges.parquet")
    for read in (read_graph, lambda folder: list(FileArcs(folder).arcs(0, 1))):
        with pytest.raises(Failure, match=r"2: vertices.parquet and edges.parquet are of different graphs"):
            read(tmp_path / "2")


FOREIGN = "not a graph written by saitan; remove it and run again"


@pytest.mark.parametrize("rows", [1, 64 << 20])
@pytest.mark.parametrize(
    ("name", "column", "values", "message"),
    [
        ("edges", "target", [1, None], f"edges.parquet: {FOREIGN}"),
        ("edges", "weight", [None, 1], f"edges.parquet: {FOREIGN}"),
        ("vertices", "offset", [0, 1, None, 2], f"vertices.parquet: {FOREIGN}"),
        ("vertices", "label", ["a", None, "c", None], f"vertices.parquet: {FOREIGN}"),
        ("vertices", "x", [0.0, None, 1.0, None], f"vertices.parquet: {FOREIGN}"),
        ("edges", "target", None, f"edges.parquet: {FOREIGN}"),
        ("edges", "weight", None, f"edges.parquet: {FOREIGN}"),
        ("vertices", "offset", None, f"vertices.parquet: {FOREIGN}"),
        ("edges", "target", [1, 3], r": arc 1: target 3 is not in \[0, 3\)"),
    ],
)
def test_columns_that_were_changed_later_are_refused(tmp_path, name, column, values, message, rows):
    arrays = {"coordinates": np.zeros((3, 2)), "labels": ["a", "b", "c"]}
    write_graph(Graph.from_arcs(3, [0, 1], [1, 2], [5, 6], **arrays), tmp_path)
    path = tmp_path / f"{name}.parquet"
    table = pq.read_table(path)
    place, field = table.schema.get_field_index(column), table.schema.field(column)
    table = table.remove_column(place)
    if values is not None:
        table = table.add_column(place, field, pa.array(values, field.type))
    pq.write_table(table, path, row_group_size=rows)
    with pytest.raises(Failure, match=message):
        read_graph(tmp_path)


@pytest.mark.parametrize("name", ["x", "label"])
def test_a_damaged_name_of_a_column_loses_no_column(tmp_path, name):
    write_graph(Graph.from_arcs(3, [0, 1], [1, 2], coordinates=np.zeros((3, 2)), labels=["a", "b", "c"]), tmp_path)
    path = tmp_path / "vertices.parquet"
    table = pq.read_table(path)
    pq.write_table(table.rename_columns({name: "q"}), path)
    with pytest.raises(Failure, match=rf"vertices.parquet: {FOREIGN}"):
        read_graph(tmp_path)


@pytest.mark.parametrize("told", [b"{", b"[1]", b'{"vertices": 3}', b"\xff"])
def test_metadata_that_say_nothing_of_the_graph_are_refused(tmp_path, told):
    write_graph(Graph.from_arcs(3, [0, 1], [1, 2]), tmp_path)
    path = tmp_path / "vertices.parquet"
    pq.write_table(pq.read_table(path).replace_schema_metadata({b"saitan": told}), path)
    with pytest.raises(Failure, match=f"vertices.parquet: {FOREIGN}"):
        read_graph(tmp_path)
