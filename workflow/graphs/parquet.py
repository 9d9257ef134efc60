"""Graphs on disk: a folder with two flat Parquet files.

    vertices.parquet  offset int64 [n + 1]; x, y float64 [n + 1] where coordinates are known (the last is null)
    edges.parquet     target int32 [m]; weight uint32 or float32 [m] where there are weights

Both are lz4-compressed and carry the same JSON under the schema's metadata key "saitan": Graph.metadata with the
counts `vertices` and `arcs` and the type `weight` ("uint32", "float32" or null).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from saitan.graph import Graph
from saitan.workflow.files import beside
from saitan.workflow.step import Failure

VERTICES, EDGES = "vertices.parquet", "edges.parquet"
_KEY = b"saitan"
_COUNTS = ("vertices", "arcs", "weight")
# One row group decodes into one piece of memory, which NumPy takes without a copy; PyArrow allows 64 Mi rows in one.
_ROWS = 64 << 20


def write_graph(graph: Graph, folder: Path) -> None:
    """Write both files, each beside its place and renamed; edges first, so that vertices.parquet completes a graph."""
    metadata = {
        **graph.metadata,
        "vertices": graph.n,
        "arcs": graph.m,
        "weight": None if graph.weights is None else str(graph.weights.dtype),
    }
    edges = {"target": pa.array(graph.targets)}
    if graph.weights is not None:
        edges["weight"] = pa.array(graph.weights)
    vertices = {"offset": pa.array(graph.offsets)}
    if graph.coordinates is not None:
        for axis, name in enumerate("xy"):
            column = np.append(graph.coordinates[:, axis].astype(np.float64, copy=False), np.nan)
            vertices[name] = pa.array(column, mask=np.arange(graph.n + 1) == graph.n)
    for name, columns in ((EDGES, edges), (VERTICES, vertices)):
        table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(metadata)})
        with beside(folder / name) as path:
            pq.write_table(
                table, path, compression="lz4", use_dictionary=False, write_statistics=False, row_group_size=_ROWS
            )


def read_graph(folder: Path) -> Graph:
    """The graph of a folder. Raises Failure when the files are not a graph that write_graph wrote."""
    folder = Path(folder)
    metadata = read_metadata(folder)
    vertices, edges = (_table(folder / name) for name in (VERTICES, EDGES))
    if (len(vertices) - 1, len(edges)) != (metadata["vertices"], metadata["arcs"]):
        raise Failure(f"{folder}: {VERTICES} and {EDGES} are of different graphs: delete the folder and convert again")
    coordinates = None
    if "x" in vertices.column_names:
        coordinates = np.column_stack([_column(vertices, axis)[:-1] for axis in "xy"])
    return Graph(
        _column(vertices, "offset"),
        _column(edges, "target"),
        _column(edges, "weight") if "weight" in edges.column_names else None,
        coordinates,
        {key: value for key, value in metadata.items() if key not in _COUNTS},
    )


def read_metadata(folder: Path) -> dict[str, Any]:
    """Graph.metadata with `vertices`, `arcs` and `weight`, read from the end of vertices.parquet alone."""
    path = Path(folder) / VERTICES
    try:
        found = pq.read_schema(path).metadata
    except pa.ArrowInvalid as error:
        raise _unreadable(path) from error
    if not found or _KEY not in found:
        raise _unreadable(path)
    return json.loads(found[_KEY])


def _table(path: Path) -> pa.Table:
    try:
        with pq.ParquetFile(path) as file:
            return file.read()
    except pa.ArrowInvalid as error:
        raise _unreadable(path) from error


def _unreadable(path: Path) -> Failure:
    return Failure(f"{path}: not a graph written by saitan: delete it and convert again")


def _column(table: pa.Table, name: str) -> np.ndarray:
    """A writable array (Numba compiles a second time for read-only ones) on the memory that PyArrow decoded into."""
    column = table[name].combine_chunks() if table[name].num_chunks != 1 else table[name].chunk(0)
    dtype = column.type.to_pandas_dtype()
    values = np.frombuffer(
        column.buffers()[1], dtype, count=len(column), offset=column.offset * np.dtype(dtype).itemsize
    )
    return values if values.flags.writeable else values.copy()
