"""Graphs of SciPy, NetworkX and pandas as Graph.

Integer weights become uint32 and must fit it. Real weights are rounded to float32: where that changes any, a warning
says so, and the metadata under "inexact" (how many, and by how much at most). The metadata's `directed` is False
where every arc is there both ways with the same weight.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from itertools import chain
from numbers import Number
from typing import Any

import numpy as np

from saitan import csr
from saitan.graph import Graph
from saitan.graph_input import (
    MAX_VERTICES,
    GraphError,
    arc_weights,
    check_memory,
    label_texts,
    rounded_in_words,
    rounded_weights,
    row_offsets,
    shown,
    unboxed,
    vertices,
)

# Bytes that a vertex takes while a graph is compared with itself turned round.
_COMPARED = 32


def from_scipy(matrix: Any) -> Graph:
    """The graph of a square scipy.sparse matrix or array: entry (i, j) is the weight of an arc from i to j.

    Every stored entry is an arc, zeros too (call `matrix.eliminate_zeros()` before where they mean no arc), and an
    entry stored twice is two parallel arcs. BSR stores whole blocks, so all entries of a block are arcs. DIA stores
    whole diagonals, and which of their zeros are meant nobody knows: it is refused where there are any. A matrix of
    bool has no weights. What becomes of the matrix afterwards (SciPy sorts indices in place) does not reach the graph.
    Raises GraphError for what is no such matrix or whose arrays do not fit together, one of more rows than memory has
    room for, and for weights that are negative, not finite or too large.
    """
    from scipy.sparse import issparse

    if not issparse(matrix):
        raise GraphError(f"a scipy.sparse matrix is right, not {type(matrix).__name__}: scipy.sparse.csr_array(...)")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphError(f"the matrix has the shape {matrix.shape}: a graph's is square")
    if np.ma.is_masked(getattr(matrix, "data", None)):
        raise GraphError("entries of the matrix are masked: fill them or leave them out")
    n = matrix.shape[0]
    try:
        check_memory(n, matrix.nnz, _COMPARED)
        if matrix.format == "csr":
            offsets, targets, values = _compressed(matrix, n, n, "target")
            weights, metadata = (None, {}) if values.dtype == bool else _weights(values)
            targets, weights = _unshared(targets, matrix.indices), _unshared(weights, matrix.data)
            graph = Graph(_unshared(offsets, matrix.indptr), targets, weights, metadata=metadata)
        else:
            rows, columns, values = _entries(matrix, n)
            weights, metadata = (None, {}) if values.dtype == bool else _weights(values)
            graph = Graph.from_arcs(n, rows, columns, weights, metadata=metadata)
    except GraphError:
        raise
    except (IndexError, TypeError, ValueError) as error:  # SciPy's and NumPy's, of arrays of a wrong shape or type
        raise GraphError(f"the arrays of the {matrix.format} matrix do not fit together: {error}") from None
    return _with_direction(graph)


def _compressed(matrix: Any, rows: int, columns: int, side: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Offsets [rows + 1], indices and values of a compressed matrix, whose arrays may be longer than its entries.

    Checked first, as compiled code follows them without a look. Raises GraphError; side: what the indices are.
    """
    offsets = row_offsets(matrix.indptr)
    if len(offsets) != rows + 1:
        raise GraphError(f"indptr has {len(offsets):,} entries: {rows + 1:,} is right")
    m, indices, values = offsets[-1], matrix.indices, matrix.data
    if m > min(len(indices), len(values)):
        raise GraphError(f"indptr ends with {m:,}, but there are {len(indices):,} indices and {len(values):,} values")
    return offsets, vertices(indices[:m], columns, side), values[:m]


def _entries(matrix: Any, n: int) -> tuple[Any, Any, np.ndarray]:
    """Rows, columns and values of the entries of a matrix that is not CSR.

    Nothing here is SciPy's compiled code, which trusts what it is given. Raises GraphError.
    """
    if matrix.format == "csc":
        offsets, rows, values = _compressed(matrix, n, n, "source")
        return rows, csr.tails(offsets), values
    if matrix.format == "bsr":
        height, width = matrix.blocksize
        offsets, across, blocks = _compressed(matrix, n // height, n // width, "block")
        rows = height * csr.tails(offsets)[:, None, None] + np.arange(height)[:, None]
        columns = width * across[:, None, None] + np.arange(width)
        return *(np.broadcast_to(ends, blocks.shape).ravel() for ends in (rows, columns)), blocks.ravel()
    if matrix.format == "dia":
        return _diagonals(matrix, n)
    if matrix.format == "lil":
        lengths = [len(columns) for columns in matrix.rows]
        if lengths != [len(values) for values in matrix.data] or len(lengths) != n:
            raise GraphError("a row of the matrix has more columns than values, or fewer")
        columns, values = (list(chain.from_iterable(lists)) for lists in (matrix.rows, matrix.data))
        return np.repeat(np.arange(n), lengths), columns, np.array(values, matrix.dtype)
    entries = matrix.tocoo()
    return *entries.coords, entries.data


def _diagonals(matrix: Any, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and values of a DIA matrix. Raises GraphError for a zero within it."""
    parts = [(np.empty(0, np.int64), np.empty(0, np.int64), matrix.data[:0].ravel())]
    for offset, diagonal in zip(matrix.offsets.tolist(), matrix.data, strict=True):
        first, end = max(0, offset), min(n, n + offset, len(diagonal))
        columns = np.arange(first, max(first, end))
        parts.append((columns - offset, columns, diagonal[columns]))
    rows, columns, values = map(np.concatenate, zip(*parts, strict=True))
    if len(zeros := np.flatnonzero(values == 0)):
        place = rows[zeros[0]], columns[zeros[0]]
        raise GraphError(
            f"entry ({place[0]}, {place[1]}) of a DIA matrix is 0, an arc or none: matrix.tocoo() leaves out its zeros;"
            " Graph.from_arcs takes arcs of weight 0"
        )
    return rows, columns, values


def from_networkx(graph: Any, weight: str = "weight") -> Graph:
    """The graph of a networkx graph; vertices are numbered in the order of its nodes, which become the labels.

    weight: the attribute that holds the weights; a graph in which no edge has "weight" has no weights. An undirected
    edge becomes two arcs, a self-loop one; the edges of a multigraph are all kept.
    Raises GraphError where only some edges have a weight, where none has an attribute of another name, and for weights
    that are negative, not finite or too large.
    """
    if isinstance(graph, type) or not hasattr(graph, "is_directed"):
        raise GraphError(f"a networkx graph is right, not {type(graph).__name__}")
    if isinstance(weight, bool) or not isinstance(weight, Hashable):
        raise GraphError(f"weight, the attribute that holds the weights, must be its name, not {shown(weight)}")
    nodes = list(graph)
    number = {node: place for place, node in enumerate(nodes)}
    edges = list(graph.edges(data=weight))
    ends = np.array([(number[u], number[v]) for u, v, _ in edges], np.int32).reshape(-1, 2)
    drawn = [value for _, _, value in edges]
    weights, metadata = None, {}
    lacking = [value is None for value in drawn]
    if not all(lacking):
        if any(lacking):
            u, v, _ = edges[lacking.index(True)]
            edge = f"({shown(u)}, {shown(v)})"
            raise GraphError(f"the edge {edge} has no {shown(weight)}, others have: give it to all or to none")
        weights, metadata = _weights(drawn)
    elif edges and weight != "weight":
        raise GraphError(f"no edge has {shown(weight)}: the attribute that holds the weights is right")
    sources, targets = ends.T
    if not graph.is_directed() and not hasattr(graph, "pred"):  # a PlanarEmbedding has both arcs of an edge
        other = sources != targets
        sources, targets = np.r_[sources, targets[other]], np.r_[targets, sources[other]]
        weights = None if weights is None else np.r_[weights, weights[other]]
    metadata["directed"] = bool(graph.is_directed())
    return Graph.from_arcs(len(nodes), sources, targets, weights, metadata=metadata, labels=_labels(nodes))


def from_pandas(frame: Any, source: str = "source", target: str = "target", weight: str | None = None) -> Graph:
    """The graph of a frame with a row an arc; source, target, weight: names of its columns.

    Where both columns hold nothing but numbers, of whatever dtype (object and categorical too), those are vertex
    numbers, the largest the last vertex. Otherwise all are names, texts of digits too: vertices are numbered as they
    appear, first among the sources, and the names become the labels. An undirected edge is two rows.
    Raises GraphError naming a column that is not there, for numbers whose largest makes more vertices than memory has
    room for, and for what Graph.from_arcs refuses.
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        how = ": call frame.to_pandas()" if hasattr(frame, "to_pandas") else ""
        raise GraphError(f"a pandas.DataFrame is right, not {type(frame).__name__}{how}")
    columns = {"source": source, "target": target} | ({} if weight is None else {"weight": weight})
    for argument, column in columns.items():
        if not isinstance(column, Hashable):
            raise GraphError(f"{argument} must be the name of one column, not {shown(column)}")
        if column not in frame.columns:
            has = ", ".join(map(shown, frame.columns))
            raise GraphError(f"the frame has no column {shown(column)} (it has: {has})")
        if frame[column].ndim > 1:
            raise GraphError(f"the frame has several columns {shown(column)}")
    ends, labels = [frame[source], frame[target]], None
    weights, metadata = (None, {}) if weight is None else _weights(frame[weight])
    if all(pd.api.types.is_numeric_dtype(side) or _are_numbers(side.astype(object)) for side in ends):
        tails, heads = vertices(ends[0], MAX_VERTICES, "source"), vertices(ends[1], MAX_VERTICES, "target")
        n = 1 + int(max(tails.max(), heads.max())) if len(frame) else 0
        check_memory(n, len(frame), _COMPARED)
    else:
        try:
            codes, names = pd.factorize(pd.concat([side.astype(object) for side in ends], ignore_index=True))
        except TypeError as error:
            raise GraphError(f"numbers or names are vertices: {error}") from error
        if (codes < 0).any():
            side, row = divmod(int((codes < 0).argmax()), len(frame))
            raise GraphError(f"row {row}: the {('source', 'target')[side]} is missing")
        tails, heads = codes[: len(frame)], codes[len(frame) :]
        n, labels = len(names), _labels(names)
    return _with_direction(Graph.from_arcs(n, tails, heads, weights, metadata=metadata, labels=labels))


def _are_numbers(column: Any) -> bool:
    """Whether Python objects are numbers, of whatever types, and no truth values."""
    kinds = set(map(type, column))
    return bool(kinds) and all(issubclass(kind, Number) and not issubclass(kind, bool) for kind in kinds)


def _unshared(array: np.ndarray | None, given: np.ndarray) -> np.ndarray | None:
    """The array, or a copy where its memory is that of the one given: the conversion did not copy it."""
    return array if array is None or not np.may_share_memory(array, given) else array.copy()


def _with_direction(graph: Graph) -> Graph:
    return graph.with_metadata(directed=not graph.is_symmetric())


def _weights(values: Any) -> tuple[np.ndarray | None, dict[str, Any]]:
    """The weights and what the metadata says of them. Raises GraphError for truth values."""
    array = unboxed(values, "weights")
    if array.dtype == bool:
        raise GraphError("the weights are truth values: numbers are right; name none where arcs have no weights")
    if array.dtype.kind in "iu":
        return arc_weights(array, len(array)), {}
    rounded, inexact = rounded_weights(array)
    if inexact is None:
        return rounded, {}
    warnings.warn(
        f"{rounded_in_words(inexact, f'of {len(rounded):,} ')}; whole numbers up to 2^32 - 1 stay exact as integers",
        stacklevel=4,
    )
    return rounded, {"inexact": inexact}


def _labels(names: Any) -> np.ndarray | None:
    """The names as labels: numbers where all are, otherwise texts; None where they are 0, 1, 2, ...

    Raises GraphError where two names are the same as texts, such as 1 and "1", and for one that ends in a NUL.
    """
    names = [int(name) if isinstance(name, np.integer) else name for name in names]
    if all(type(name) is int and abs(name) < 2**63 for name in names):
        return None if names == list(range(len(names))) else np.array(names, np.int64)
    first: dict[str, Any] = {}
    for name in names:
        if (other := first.setdefault(str(name), name)) is not name:
            raise GraphError(f"the names {shown(other)} and {shown(name)} are the same as texts: give both one type")
    return label_texts(list(first))
