"""Readers of graph files: DIMACS .gr and .co, PACE .gr, SNAP edge lists, Matrix Market; plain, .gz, .xz or .zst.

A file is read in blocks of whole lines, each parsed by PyArrow's CSV reader. Only a block that it refuses is
read line by line, which finds the line to name. Every error is a Failure of one line.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.compute
import pyarrow.csv

from saitan.graph import Graph
from saitan.graph_input import MAX_REAL, WITHOUT_GAPS, joined_inexact, rounding, shortened
from saitan.workflow.graphs import written
from saitan.workflow.graphs.arcs import renumbered
from saitan.workflow.graphs.formats import FORMATS, Header, Layout, Lines, check_size, coordinates_header, quoted
from saitan.workflow.graphs.streams import Blocks
from saitan.workflow.step import Failure, progress

_MICRODEGREE = 1e-6
_UINT32_MAX = 2**32 - 1
_INTEGER = re.compile(rb"[+-]?[0-9]+")
_BLOCK = 1 << 20
# Vertex numbers reach so many times further than there are arcs: a table of all numbers would be larger than a sort.
_SPARSE = 16
_WEIGHTED = "weights are in DIMACS and Matrix Market files; pandas.read_csv and Graph.from_pandas read others"


def read_graph_file(path: Path, format: str) -> Graph:
    """The graph of a file in one of FORMATS: dimacs, pace, snap, matrix-market.

    Weights: float32 for real numbers, otherwise uint32; None where the format has none. Undirected edges become two
    arcs, self-loops one. The vertices of SNAP are the numbers that occur; where some below the largest do not, the
    others move up and their numbers become the labels. Metadata: directed, format, checksum (SHA-256 of the
    decompressed content), and `inexact` where float32 cannot hold a weight as it is written (as `rounding` says it).
    Raises Failure naming file and line: malformed, truncated or mis-counted files, vertices out of range, weights
    that are negative, not finite or too large, graphs that memory cannot hold.
    """
    blocks = Blocks(path)
    layout, (sources, targets, *weights), inexact = _read(blocks, FORMATS[format])
    weight, n, labels = weights.pop() if weights else None, layout.vertices, None
    if n is None:
        if not len(sources):
            raise Failure(f"{path}: line 1: there is no line {layout.row!r}: the file is empty or holds only comments")
        n, sources, targets, labels = _compacted(sources, targets)
    if layout.undirected:
        other = sources != targets
        mirrored = targets[other]
        targets = np.concatenate([targets, sources[other]])
        sources = np.concatenate([sources, mirrored])
        weight = None if weight is None else np.concatenate([weight, weight[other]])
    metadata = {"directed": not layout.undirected, "format": format, "checksum": blocks.checksum}
    if inexact:
        metadata["inexact"] = inexact
    return Graph.from_arcs(n, sources, targets, weight, metadata=metadata, labels=labels)


def _compacted(sources: np.ndarray, targets: np.ndarray) -> tuple[int, np.ndarray, np.ndarray, np.ndarray | None]:
    """The vertices that occur, numbered by rank, and their old numbers, int64 [n] (None where those are the ranks)."""
    span = 1 + int(max(sources.max(), targets.max()))
    if span > _SPARSE * len(sources):
        labels, ranks = np.unique(np.concatenate([sources, targets]), return_inverse=True)
        return len(labels), *np.split(ranks.astype(np.int32), 2), labels.astype(np.int64)
    there = np.zeros(span, bool)
    for ends in (sources, targets):
        for start in range(0, len(ends), _BLOCK):
            there[ends[start : start + _BLOCK]] = True
    if there.all():
        return span, sources, targets, None
    rank = np.cumsum(there, dtype=np.int32) - np.int32(1)
    labels = np.flatnonzero(there)
    return len(labels), renumbered(sources, rank), renumbered(targets, rank), labels


def read_coordinates(path: Path, vertices: int) -> tuple[np.ndarray, str]:
    """Of a DIMACS .co file (which holds microdegrees) longitude and latitude in degrees, float64 [vertices, 2]; and the
    SHA-256 of its decompressed content.

    Raises Failure naming file and line, also when the file is for another number of vertices.
    """
    blocks = Blocks(path)
    layout, (ids, x, y), _ = _read(blocks, coordinates_header)
    if layout.vertices != vertices:
        raise Failure(
            f"{path}: line {layout.header}: coordinates of {layout.vertices} vertices, but the graph has {vertices}"
        )
    counts = np.bincount(ids, minlength=vertices)
    if (counts != 1).any():
        wrong = int(np.flatnonzero(counts != 1)[0])
        raise Failure(f"{path}: vertex {wrong + 1} has {counts[wrong]} lines of coordinates: one is right")
    coordinates = np.empty((vertices, 2))
    coordinates[ids, 0], coordinates[ids, 1] = x, y
    return coordinates * _MICRODEGREE, blocks.checksum


def _read(blocks: Blocks, header: Header) -> tuple[Layout, list[np.ndarray], dict[str, float] | None]:
    """The layout, the columns of all lines, vertices counted from 0, and how real weights were rounded."""
    path, lines = blocks.path, Lines(blocks)
    layout = header(path, lines)
    check_size(path, layout)
    columns, count = _Columns(layout), 0
    for first_line, data in progress(lines.rest(), f"reading {path.name}"):
        part, too_large = _fast(layout, data), None
        if part is None:
            part = _fast(layout, _tidied(layout, data))
        if part is None:
            part, too_large = _slow(path, layout, first_line, data)
        count += len(part[0])
        if layout.rows is not None and count > layout.rows:
            surplus = len(part[0]) - (count - layout.rows)
            line = _line_of_row(layout, first_line, data, surplus)
            raise Failure(
                f"{path}: line {line}: more than the {layout.rows} lines {layout.row!r} "
                f"that the header (line {layout.header}) announces"
            )
        columns.add(part, too_large)
    if layout.rows is not None and count < layout.rows:
        raise Failure(
            f"{path}: line {blocks.lines}: the file ends after {count} lines {layout.row!r}, "
            f"the header (line {layout.header}) announces {layout.rows}: truncated?"
        )
    if columns.too_large and not columns.real:
        raise Failure(columns.too_large)
    return layout, columns.whole(), columns.inexact


class _Columns:
    """The columns of a file while it is read; vertices are counted from 0, real weights are float32.

    inexact    how real weights, or integers beside real ones, were rounded (as `rounding` says it)
    real       whether a weight was real
    too_large  the first integer that uint32 does not hold, and where: wrong unless some weight is real
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.count = 0
        self.inexact: dict[str, float] | None = None
        self.real, self.too_large = layout.real, None
        # Memory that nothing was written to yet costs nothing: a header may announce what does not come.
        kinds = {"vertex": np.int32, "degree": np.float64, "weight": np.float32 if layout.real else np.uint32}
        self.arrays = [np.empty(layout.rows or 0, kinds[kind]) for kind in layout.columns]

    def add(self, part: list[np.ndarray], too_large: str | None) -> None:
        """too_large: as above, of a part without real weights, which then holds float64 all the same."""
        end = self.count + len(part[0])
        self.too_large = self.too_large or too_large
        for index, (kind, piece) in enumerate(zip(self.layout.columns, part, strict=True)):
            array = self.arrays[index]
            if kind == "weight" and (piece.dtype == np.float64 or array.dtype == np.float32):
                self.real |= piece.dtype == np.float64 and too_large is None
                piece = self._rounded(piece)
                if array.dtype == np.uint32:  # the first that is no uint32
                    array = np.empty(len(array), np.float32)
                    array[: self.count] = self._rounded(self.arrays[index][: self.count])
            if end > len(array):
                grown = np.empty(max(end, 2 * len(array)), array.dtype)
                grown[: self.count] = array[: self.count]
                array = grown
            array[self.count : end] = piece
            self.arrays[index] = array
        self.count = end

    def _rounded(self, values: np.ndarray) -> np.ndarray:
        rounded = values.astype(np.float32)
        self.inexact = joined_inexact(self.inexact, rounding(values, rounded))
        return rounded

    def whole(self) -> list[np.ndarray]:
        for kind, array in zip(self.layout.columns, self.arrays, strict=True):
            if kind == "vertex" and self.layout.first:
                array -= self.layout.first
        return [array[: self.count] for array in self.arrays]


def _fast(layout: Layout, block: bytes) -> list[np.ndarray] | None:
    """The columns of a block, or None when anything in it is unusual: a comment, a second space, an error.

    Real weights are float64 as written.py has them.
    """
    if not block or block.isspace():
        return _empty(layout)
    if b"x" in block or b"X" in block:  # PyArrow reads hexadecimal numbers, which no format has
        return None
    types = {"vertex": pyarrow.int32(), "degree": pyarrow.float64(), "weight": pyarrow.uint32()}
    if layout.real:
        types["weight"] = pyarrow.float64()
    table = _parsed(layout, block, types)
    if table is None and "weight" in layout.columns and not layout.real:
        # A file of real weights; integers that are only too large are for the slow reader to name.
        if not any(mark in block for mark in (b".", b"e", b"E")):
            return None
        table = _parsed(layout, block, types | {"weight": pyarrow.float64()})
    if table is None:
        return None
    columns = [column.to_numpy() for column in table.itercolumns()]
    for index, (kind, column) in enumerate(zip(layout.columns, columns, strict=True)):
        if kind == "vertex" and (column.min() < layout.first or column.max() > layout.last()):
            return None
        if kind == "degree" and not np.isfinite(column).all():
            return None
        if kind == "weight" and column.dtype == np.float64:
            if not (column.min() >= 0 and column.max() <= MAX_REAL):
                return None
            columns[index] = written.apart(column, block)
    return columns


def _tidied(layout: Layout, block: bytes) -> bytes:
    """The block with one space between words, none at the ends of a line, and no comments."""
    if b"\t" in block:
        block = block.replace(b"\t", b" ")
    if block.startswith((layout.comment, b" ")) or b"\n" + layout.comment in block or b"\n " in block:
        comment = re.escape(layout.comment) + rb"[^\n]*"
        block = re.sub(rb"(?m)^(?: +(?:%b)?|%b)" % (comment, comment), b"", block)
    while b"  " in block:
        block = block.replace(b"  ", b" ")
    if b" \n" in block or block.endswith(b" "):
        block = re.sub(rb"(?m) $", b"", block)
    return block


def _parsed(layout: Layout, block: bytes, types: dict[str, pyarrow.DataType]) -> pyarrow.Table | None:
    names = [f"{kind}{index}" for index, kind in enumerate(layout.columns)]
    # Arrow's threads may drop the last reference to their input after an error was raised. If that is a Python
    # object they need the interpreter, which may be ending by then, and the process aborts: they get a copy.
    owned = pyarrow.allocate_buffer(len(block))
    np.frombuffer(owned, np.uint8)[:] = np.frombuffer(block, np.uint8)
    try:
        table = pyarrow.csv.read_csv(
            pyarrow.BufferReader(owned),
            read_options=pyarrow.csv.ReadOptions(column_names=["tag", *names] if layout.tag else names),
            parse_options=pyarrow.csv.ParseOptions(delimiter=" ", quote_char=False, double_quote=False),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={name: types[kind] for name, kind in zip(names, layout.columns, strict=True)},
                include_columns=names,
                null_values=[],
            ),
        )
    except pyarrow.ArrowInvalid:
        return None
    if layout.tag:
        start = layout.tag + b" "
        if block.count(b"\n" + start) + block.startswith(start) != len(table):
            return None
    return table


def _empty(layout: Layout) -> list[np.ndarray]:
    weight = np.float64 if layout.real else np.uint32
    return [np.empty(0, {"vertex": np.int32, "degree": np.float64, "weight": weight}[k]) for k in layout.columns]


def _slow(path: Path, layout: Layout, first_line: int, block: bytes) -> tuple[list[np.ndarray], str | None]:
    """The columns of a block read line by line, and what _Columns.add takes.

    Raises Failure for the first line that is wrong.
    """
    columns: list[list[float]] = [[] for _ in layout.columns]
    expected = f"{layout.row!r} is expected"
    real, too_large = layout.real, None
    for number, words in _rows(layout, first_line, block):
        if layout.tag and words[0] != layout.tag:
            raise Failure(f"{path}: line {number}: {quoted(b' '.join(words))}: {expected}")
        values = words[1:] if layout.tag else words
        if len(values) != len(columns):
            how = f"; {_WEIGHTED}" if layout.vertices is None and len(values) == 3 else ""
            raise Failure(f"{path}: line {number}: {quoted(b' '.join(words))} has {len(words)} words: {expected}{how}")
        for kind, word, column in zip(layout.columns, values, columns, strict=True):
            if isinstance(value := _number(layout, kind, word), str):
                raise Failure(f"{path}: line {number}: {value}")
            column.append(value)
            if kind == "weight" and not _INTEGER.fullmatch(word):
                real = True
            elif kind == "weight" and value > _UINT32_MAX:
                too_large = too_large or f"{path}: line {number}: {_beyond_uint32(word)}"
    weight = np.float64 if real or too_large else np.uint32
    types = {"vertex": np.int32, "degree": np.float64, "weight": weight}
    arrays = [np.array(column, types[kind]) for kind, column in zip(layout.columns, columns, strict=True)]
    return arrays, None if real else too_large


def _rows(layout: Layout, first_line: int, block: bytes) -> Iterator[tuple[int, list[bytes]]]:
    for number, line in enumerate(block.split(b"\n"), first_line):
        words = line.split()
        if words and not words[0].startswith(layout.comment):
            yield number, words


def _line_of_row(layout: Layout, first_line: int, block: bytes, row: int) -> int:
    return next(itertools.islice(_rows(layout, first_line, block), row, None))[0]


def _number(layout: Layout, kind: str, word: bytes) -> float | str:
    """The value of a word, or what is wrong with it."""
    if kind == "vertex":
        if not _INTEGER.fullmatch(word):
            return f"{quoted(word)} is not a vertex number: {layout.row!r} is expected"
        # Python refuses to convert thousands of digits.
        if len(word.lstrip(b"+-0")) > 18:
            return f"{quoted(word)} is no vertex number: {layout.first} to {layout.last()} is right"
        if not layout.first <= int(word) <= layout.last():
            how = f"; {WITHOUT_GAPS}" if layout.vertices is None and int(word) > 0 else ""
            return f"vertex {_short(word)} is out of range: {layout.first} to {layout.last()} is right{how}"
        return int(word)
    try:
        value = float(word.replace(b"_", b"?"))  # Python takes them between digits
    except ValueError:
        return f"{quoted(word)} is not a number: {layout.row!r} is expected"
    if kind == "degree":
        return value if np.isfinite(value) else f"coordinate {_short(word)} is not finite"
    if value != value:
        return "the weight is NaN: a number of at least 0 is right"
    if value < 0:
        return f"the weight {_short(word)} is negative: at least 0 is right"
    if value > MAX_REAL:
        if _INTEGER.fullmatch(word) and not layout.real:
            return _beyond_uint32(word)
        return f"the weight {_short(word)} is too large: float32 holds at most {np.finfo(np.float32).max:.8g}"
    return written.seen(value, word)


def _short(word: bytes) -> str:
    return shortened(word.decode())


def _beyond_uint32(word: bytes) -> str:
    return f"the weight {_short(word)} is too large: uint32 holds at most {_UINT32_MAX}"
