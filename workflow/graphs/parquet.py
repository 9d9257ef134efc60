"""Graphs on disk: a folder with two flat Parquet files.

    vertices.parquet  offset int64 [n + 1]; x, y float64 [n + 1] where coordinates are known, label int64 or string
                      [n + 1] where vertices have names of their own (the last of these is null)
    edges.parquet     target int32 [m]; weight uint32 or float32 [m] where there are weights

Both are lz4-compressed, have a checksum for each page, and carry the same JSON under the schema's metadata key
"saitan": Graph.metadata with the counts `vertices` and `arcs` and the type `weight` ("uint32", "float32" or null).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from saitan.arc_parts import BATCH, Arcs, tails_of
from saitan.files import beside
from saitan.graph import Graph, GraphError
from saitan.workflow.parquet_files import METADATA, described, opened, reading, write
from saitan.workflow.step import Failure

VERTICES, EDGES = "vertices.parquet", "edges.parquet"
_COUNTS = ("vertices", "arcs", "weight")
_COLUMNS = [["offset", *axes, *label] for axes in ((), "xy") for label in ((), ("label",))]
_GRAPH = "a graph written by saitan"
# One row group decodes into one piece of memory, which NumPy takes without a copy; PyArrow allows 64 Mi rows in one.
_ROWS = 64 << 20


def write_graph(graph: Graph, folder: Path, identity: str | None = None) -> None:
    """Write both files, each beside its place and renamed; edges first, so that vertices.parquet completes a graph.

    identity: what they are made for, among the metadata.
    """
    metadata = {
        **graph.metadata,
        **({} if identity is None else {"identity": identity}),
        "vertices": graph.n,
        "arcs": graph.m,
        "weight": None if graph.weights is None else str(graph.weights.dtype),
    }
    edges = {"target": pa.array(graph.targets)}
    if graph.weights is not None:
        edges["weight"] = pa.array(graph.weights)
    vertices = {"offset": pa.array(graph.offsets)}
    last = np.arange(graph.n + 1) == graph.n
    if graph.coordinates is not None:
        for axis, name in enumerate("xy"):
            vertices[name] = pa.array(np.append(graph.coordinates[:, axis], np.nan), mask=last)
    if graph.labels is not None:
        vertices["label"] = pa.array(np.append(graph.labels, graph.labels.dtype.type()), mask=last)
    for name, columns in ((EDGES, edges), (VERTICES, vertices)):
        table = pa.table(columns).replace_schema_metadata({METADATA: json.dumps(metadata)})
        with beside(folder / name) as path:
            write(table, path, compression="lz4", use_dictionary=False, write_statistics=False, row_group_size=_ROWS)


def read_graph(folder: Path) -> Graph:
    """The graph of a folder. Raises Failure when the files are not a graph that write_graph wrote."""
    folder = Path(folder)
    metadata = read_metadata(folder)
    with opened(folder / VERTICES) as vertices, opened(folder / EDGES) as edges:
        _check_together(folder, vertices, edges, metadata)
        names, paths = vertices.schema_arrow.names, (folder / VERTICES, folder / EDGES)
        # Parquet has no checksum of its own end, where the columns' names are.
        if names not in _COLUMNS:
            raise _unreadable(paths[0])
        coordinates = labels = None
        if "x" in names:
            coordinates = np.column_stack([_column(paths[0], vertices, axis, nulls=1)[:-1] for axis in "xy"])
        if "label" in names:
            labels = _labels(paths[0], vertices)
        arrays = (
            _column(paths[0], vertices, "offset"),
            _column(paths[1], edges, "target"),
            _column(paths[1], edges, "weight") if metadata["weight"] else None,
            coordinates,
        )
        told = {key: value for key, value in metadata.items() if key not in _COUNTS}
        try:
            return Graph(*arrays, told, labels)
        except GraphError as error:
            raise Failure(f"{folder}: {error}") from error


def read_metadata(folder: Path) -> dict[str, Any]:
    """Graph.metadata with `vertices`, `arcs` and `weight`, read from the end of vertices.parquet alone."""
    path = Path(folder) / VERTICES
    if not path.exists():
        raise Failure(f"{folder}: this folder holds no graph: there is no {VERTICES}, which saitan writes last")
    return described(path, _GRAPH, has=_COUNTS)


def _check_together(folder: Path, vertices: pq.ParquetFile, edges: pq.ParquetFile, metadata: dict[str, Any]) -> None:
    told = [(file.schema_arrow.metadata or {}).get(METADATA) for file in (vertices, edges)]
    counts = vertices.metadata.num_rows - 1, edges.metadata.num_rows
    if told[0] != told[1] or counts != (metadata["vertices"], metadata["arcs"]):
        raise Failure(f"{folder}: {VERTICES} and {EDGES} are of different graphs: delete the folder and convert again")


def _unreadable(path: Path) -> Failure:
    return Failure(f"{path}: not {_GRAPH}; remove it and run again")


def _column(path: Path, file: pq.ParquetFile, name: str, nulls: int = 0) -> np.ndarray:
    """A writable array (Numba compiles a second time for read-only ones).

    One row group stays in the memory that PyArrow decoded it into; several are copied into one array, each in turn.
    nulls: how many there must be. Raises Failure for another number, and where there is no such column.
    """
    if name not in file.schema_arrow.names:
        raise _unreadable(path)
    groups, done = file.metadata.num_row_groups, 0
    dtype = _numpys(file.schema_arrow.field(name).type)
    whole = np.empty(0 if groups == 1 else file.metadata.num_rows, dtype)
    for group in range(groups):
        with reading(path):
            column = file.read_row_group(group, columns=[name])[name]
        values = _values(column)
        nulls -= column.null_count
        if groups == 1:
            whole = values if values.flags.writeable else values.copy()
        else:
            whole[done : done + len(values)] = values
            done += len(values)
    if nulls:
        raise _unreadable(path)
    return whole


def _numpys(dtype: pa.DataType) -> np.dtype:
    """NumPy's own of a type, without pandas, which `to_pandas_dtype` of PyArrow before 26 imports."""
    return pa.array([], dtype).to_numpy(zero_copy_only=False).dtype


def _values(column: pa.ChunkedArray) -> np.ndarray:
    """What is decoded, on PyArrow's memory; what stands where a value is null is not said."""
    chunk = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    dtype = _numpys(chunk.type)
    return np.frombuffer(chunk.buffers()[1], dtype, count=len(chunk), offset=chunk.offset * dtype.itemsize)


def _labels(path: Path, file: pq.ParquetFile) -> np.ndarray:
    if pa.types.is_integer(file.schema_arrow.field("label").type):
        return _column(path, file, "label", nulls=1)[:-1]
    with reading(path):
        column = file.read(columns=["label"])["label"]
    if column.null_count != 1:
        raise _unreadable(path)
    return np.array(column.to_pylist()[:-1], dtype=str)


class FileArcs:
    """The arcs of a folder's graph in parts (saitan.arc_parts): neighbouring vertices, row groups that hold their arcs.

    Raises Failure as read_graph does.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, metadata = Path(folder), read_metadata(folder)
        self.n, self.m = metadata["vertices"], metadata["arcs"]
        self.name, self.directed = str(metadata.get("name", "unnamed")), bool(metadata.get("directed", True))

    def arcs(self, part: int, parts: int) -> Iterator[Arcs]:
        first, last = self.n * part // parts, self.n * (part + 1) // parts
        with opened(self._folder / VERTICES) as vertices, opened(self._folder / EDGES) as edges:
            _check_together(self._folder, vertices, edges, {"vertices": self.n, "arcs": self.m})
            with reading(self._folder / VERTICES):
                offsets = np.concatenate([values for _, values in _stretch(vertices, "offset", first, last + 1)])
            for low, targets in _stretch(edges, "target", int(offsets[0]), int(offsets[-1])):
                yield tails_of(offsets, low, low + len(targets)) + np.int32(first), targets


def _stretch(file: pq.ParquetFile, name: str, first: int, last: int) -> Iterator[tuple[int, np.ndarray]]:
    """Rows first .. last - 1 of a column, at most BATCH at once, with the number of the first of them."""
    low = 0
    for group in range(file.metadata.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if low < last and first < low + rows:
            begin = low
            for batch in file.iter_batches(BATCH, row_groups=[group], columns=[name]):
                if begin >= last:
                    break
                skipped = max(0, first - begin)
                values = batch.column(0).to_numpy(zero_copy_only=False)[skipped : last - begin]
                if len(values):
                    yield begin + skipped, values
                begin += len(batch)
        low += rows
