"""Readers of graph files: DIMACS .gr and .co, PACE .gr, SNAP edge lists, Matrix Market; plain, .gz, .xz or .zst.

A file is read in blocks of whole lines, each parsed by PyArrow's CSV reader. Only a block that it refuses is
read line by line, which finds the line to name. Every error is a Failure of one line.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.compute
import pyarrow.csv

from saitan.graph import MAX_VERTICES, Graph
from saitan.workflow.graphs.streams import Blocks
from saitan.workflow.step import Failure, progress

_MICRODEGREE = 1e-6
_UINT32_MAX = 2**32 - 1
_FLOAT32_MAX = float(np.finfo(np.float32).max)
_INTEGER = re.compile(rb"[+-]?[0-9]+")


@dataclass(frozen=True)
class _Layout:
    """What the lines after a header look like.

    row         how a line should read, for messages
    columns     kind of each number of a line: vertex, weight (integer unless real), degree (a coordinate)
    first       number of the first vertex
    vertices    how many there are; None: as many as the largest number asks for
    rows        how many lines there are; None: unknown
    tag         first word of each line; b"" if none
    comment     how a comment begins
    undirected  a line stands for both directions
    """

    row: str
    columns: tuple[str, ...]
    first: int
    vertices: int | None
    rows: int | None
    header: int
    comment: bytes
    tag: bytes = b""
    undirected: bool = False
    real: bool = False

    def last(self) -> int:
        return self.first + (MAX_VERTICES if self.vertices is None else self.vertices) - 1


Lines = Iterator[tuple[int, int, bytes]]
"""(line number, place where the line ends, line without its end) of the first block."""


def read_graph_file(path: Path, format: str) -> Graph:
    """The graph of a file in one of FORMATS: dimacs, pace, snap, matrix-market.

    Weights: float32 for real numbers, otherwise uint32; None where the format has none. Undirected edges become two
    arcs, self-loops one. Metadata: directed, format, checksum (SHA-256 of the decompressed content).
    Raises Failure naming file and line: malformed, truncated or mis-counted files, vertices out of range, weights
    that are negative, not finite or too large.
    """
    blocks = Blocks(path)
    layout, columns = _read(blocks, FORMATS[format])
    sources, targets, *weights = columns
    n = layout.vertices
    if n is None:
        n = 1 + max((int(side.max()) for side in (sources, targets) if len(side)), default=-1)
    weight = weights[0] if weights else None
    del columns, weights
    if layout.undirected:
        other = sources != targets
        mirrored = targets[other]
        targets = np.concatenate([targets, sources[other]])
        sources = np.concatenate([sources, mirrored])
        weight = None if weight is None else np.concatenate([weight, weight[other]])
    metadata = {"directed": not layout.undirected, "format": format, "checksum": blocks.checksum}
    return Graph.from_arcs(n, sources, targets, weight, metadata=metadata)


def read_coordinates(path: Path, vertices: int) -> np.ndarray:
    """Longitude and latitude in degrees, float64 [vertices, 2], of a DIMACS .co file (which holds microdegrees).

    Raises Failure naming file and line, also when the file is for another number of vertices.
    """
    layout, (ids, x, y) = _read(Blocks(path), _coordinates_header)
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
    return coordinates * _MICRODEGREE


def _dimacs_header(path: Path, lines: Lines) -> tuple[_Layout, int]:
    number, end, (n, m) = _problem_line(path, lines, rb"p\s+sp\s+(\d+)\s+(\d+)", "p sp VERTICES ARCS")
    columns = ("vertex", "vertex", "weight")
    return _Layout("a FROM TO WEIGHT", columns, 1, n, m, number, comment=b"c", tag=b"a"), end


def _coordinates_header(path: Path, lines: Lines) -> tuple[_Layout, int]:
    number, end, (n,) = _problem_line(path, lines, rb"p\s+aux\s+sp\s+co\s+(\d+)", "p aux sp co VERTICES")
    return _Layout("v VERTEX X Y", ("vertex", "degree", "degree"), 1, n, n, number, comment=b"c", tag=b"v"), end


def _pace_header(path: Path, lines: Lines) -> tuple[_Layout, int]:
    number, end, (n, m) = _problem_line(path, lines, rb"p\s+\w+\s+(\d+)\s+(\d+)", "p tw VERTICES EDGES")
    return _Layout("FROM TO", ("vertex", "vertex"), 1, n, m, number, comment=b"c", undirected=True), end


def _problem_line(path: Path, lines: Lines, pattern: bytes, expected: str) -> tuple[int, int, list[int]]:
    for number, end, line in lines:
        if not line.strip() or line.startswith(b"c"):
            continue
        if not (match := re.fullmatch(pattern, line.strip())):
            raise Failure(f"{path}: line {number}: {_quoted(line)} comes where the header {expected!r} should be")
        counts = [int(count) for count in match.groups()]
        _check_vertices(path, number, counts[0])
        return number, end, counts
    raise Failure(f"{path}: line 1: there is no header {expected!r}: the file is empty or holds only comments")


def _snap_header(path: Path, lines: Lines) -> tuple[_Layout, int]:
    rows, counted_at, end = None, 1, 0
    for number, line_end, line in lines:
        if line.strip() and not line.startswith(b"#"):
            break
        if match := re.search(rb"Edges:\s*(\d+)", line):
            rows, counted_at = int(match[1]), number
        end = line_end
    return _Layout("FROM TO", ("vertex", "vertex"), 0, None, rows, counted_at, comment=b"#"), end


def _matrix_market_header(path: Path, lines: Lines) -> tuple[_Layout, int]:
    _, _, banner = next(lines, (1, 0, b""))
    words = banner.decode("latin-1").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise Failure(f"{path}: line 1: {_quoted(banner)} is not '%%MatrixMarket matrix coordinate FIELD SYMMETRY'")
    layout, field, symmetry = words[2:]
    for word, right in (
        (layout, ("coordinate",)),
        (field, ("pattern", "integer", "real")),
        (symmetry, ("general", "symmetric")),
    ):
        if word not in right:
            raise Failure(f"{path}: line 1: {word!r} matrices cannot be read as graphs (right: {', '.join(right)})")
    for number, end, line in lines:
        if not line.strip() or line.startswith(b"%"):
            continue
        if not (match := re.fullmatch(rb"(\d+)\s+(\d+)\s+(\d+)", line.strip())):
            raise Failure(f"{path}: line {number}: {_quoted(line)} comes where 'ROWS COLUMNS ENTRIES' should be")
        n, n_columns, m = map(int, match.groups())
        if n != n_columns:
            raise Failure(f"{path}: line {number}: {n} rows and {n_columns} columns: a graph's matrix is square")
        _check_vertices(path, number, n)
        weighted = field != "pattern"
        return (
            _Layout(
                "ROW COLUMN VALUE" if weighted else "ROW COLUMN",
                ("vertex", "vertex", "weight") if weighted else ("vertex", "vertex"),
                first=1,
                vertices=n,
                rows=m,
                header=number,
                comment=b"%",
                undirected=symmetry == "symmetric",
                real=field == "real",
            ),
            end,
        )
    raise Failure(f"{path}: the file ends before its line 'ROWS COLUMNS ENTRIES': truncated?")


def _check_vertices(path: Path, number: int, n: int) -> None:
    if n > MAX_VERTICES:
        raise Failure(f"{path}: line {number}: {n} vertices: int32 ids hold at most {MAX_VERTICES}")


Header = Callable[[Path, Lines], tuple[_Layout, int]]

FORMATS: dict[str, Header] = {
    "dimacs": _dimacs_header,
    "pace": _pace_header,
    "snap": _snap_header,
    "matrix-market": _matrix_market_header,
}


def _read(blocks: Blocks, header: Header) -> tuple[_Layout, list[np.ndarray]]:
    """The layout and the columns of all lines, vertices counted from 0."""
    path, rest = blocks.path, iter(blocks)
    number, block = next(rest, (1, b""))
    layout, end = header(path, _lines(block))
    rest = itertools.chain([(number + block.count(b"\n", 0, end), block[end:])], rest)
    del block
    parts: list[list[np.ndarray]] = []
    count = 0
    for first_line, data in progress(rest, f"reading {path.name}"):
        part = _fast(layout, data)
        if part is None:
            part = _fast(layout, _tidied(layout, data))
        if part is None:
            part = _slow(path, layout, first_line, data)
        parts.append(part)
        count += len(part[0])
        if layout.rows is not None and count > layout.rows:
            surplus = len(part[0]) - (count - layout.rows)
            line = _line_of_row(layout, first_line, data, surplus)
            raise Failure(
                f"{path}: line {line}: more than the {layout.rows} lines {layout.row!r} "
                f"that the header (line {layout.header}) announces"
            )
    if layout.rows is not None and count < layout.rows:
        raise Failure(
            f"{path}: line {blocks.lines}: the file ends after {count} lines {layout.row!r}, "
            f"the header (line {layout.header}) announces {layout.rows}: truncated?"
        )
    columns = []
    for kind in layout.columns:
        pieces = [part.pop(0) for part in parts]
        if kind == "weight" and any(piece.dtype == np.float32 for piece in pieces):
            pieces = [piece.astype(np.float32, copy=False) for piece in pieces]
        columns.append(np.concatenate(pieces))
        if kind == "vertex" and layout.first:
            columns[-1] -= layout.first
    return layout, columns


def _lines(block: bytes) -> Lines:
    place = 0
    for number in itertools.count(1):
        if place >= len(block):
            return
        end = block.find(b"\n", place) + 1 or len(block)
        yield number, end, block[place:end].rstrip(b"\r\n")
        place = end


def _fast(layout: _Layout, block: bytes) -> list[np.ndarray] | None:
    """The columns of a block, or None when anything in it is unusual: a comment, a second space, an error."""
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
        table = _parsed(layout, block, types | {"weight": pyarrow.float64()})
        if table is not None and np.all((values := table[2].to_numpy()) == np.floor(values)):
            return None
    if table is None:
        return None
    columns = [column.to_numpy() for column in table.itercolumns()]
    for index, kind in enumerate(layout.columns):
        column = columns[index]
        if kind == "vertex" and (column.min() < layout.first or column.max() > layout.last()):
            return None
        if kind == "degree" and not np.isfinite(column).all():
            return None
        if column.dtype == np.float64 and kind == "weight":
            if not (column.min() >= 0 and column.max() <= _FLOAT32_MAX):
                return None
            columns[index] = column.astype(np.float32)
    return columns


def _tidied(layout: _Layout, block: bytes) -> bytes:
    """The block with one space between words, none at the ends of a line, and no comments."""
    if b"\t" in block:
        block = block.replace(b"\t", b" ")
    if block.startswith((layout.comment, b" ")) or b"\n" + layout.comment in block or b"\n " in block:
        comment = re.escape(layout.comment) + rb"[^\n]*"
        block = re.sub(rb"(?m)^(?: +(?:%b)?|%b)" % (comment, comment), b"", block)
    while b"  " in block:
        block = block.replace(b"  ", b" ")
    if b" \n" in block or b" \r" in block or block.endswith(b" "):
        block = re.sub(rb"(?m) (\r?)$", rb"\1", block)
    return block


def _parsed(layout: _Layout, block: bytes, types: dict[str, pyarrow.DataType]) -> pyarrow.Table | None:
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


def _empty(layout: _Layout) -> list[np.ndarray]:
    weight = np.float32 if layout.real else np.uint32
    return [np.empty(0, {"vertex": np.int32, "degree": np.float64, "weight": weight}[k]) for k in layout.columns]


def _slow(path: Path, layout: _Layout, first_line: int, block: bytes) -> list[np.ndarray]:
    """The columns of a block read line by line. Raises Failure for the first line that is wrong."""
    columns: list[list[float]] = [[] for _ in layout.columns]
    expected = f"{layout.row!r} is expected"
    for number, words in _rows(layout, first_line, block):
        if layout.tag and words[0] != layout.tag:
            raise Failure(f"{path}: line {number}: {_quoted(b' '.join(words))}: {expected}")
        values = words[1:] if layout.tag else words
        if len(values) != len(columns):
            raise Failure(f"{path}: line {number}: {_quoted(b' '.join(words))} has {len(words)} words: {expected}")
        for kind, word, column in zip(layout.columns, values, columns, strict=True):
            if isinstance(value := _number(layout, kind, word), str):
                raise Failure(f"{path}: line {number}: {value}")
            column.append(value)
    real = layout.real or any(
        isinstance(w, float) for k, c in zip(layout.columns, columns, strict=True) if k == "weight" for w in c
    )
    types = {"vertex": np.int32, "degree": np.float64, "weight": np.float32 if real else np.uint32}
    return [np.array(column, types[kind]) for kind, column in zip(layout.columns, columns, strict=True)]


def _rows(layout: _Layout, first_line: int, block: bytes) -> Iterator[tuple[int, list[bytes]]]:
    for number, line in enumerate(block.split(b"\n"), first_line):
        words = line.split()
        if words and not words[0].startswith(layout.comment):
            yield number, words


def _line_of_row(layout: _Layout, first_line: int, block: bytes, row: int) -> int:
    return next(itertools.islice(_rows(layout, first_line, block), row, None))[0]


def _number(layout: _Layout, kind: str, word: bytes) -> float | str:
    """The value of a word, or what is wrong with it."""
    if kind == "vertex":
        if not _INTEGER.fullmatch(word):
            return f"{_quoted(word)} is not a vertex number: {layout.row!r} is expected"
        if not layout.first <= int(word) <= layout.last():
            return f"vertex {word.decode()} is out of range: {layout.first} to {layout.last()} is right"
        return int(word)
    try:
        value = int(word) if _INTEGER.fullmatch(word) and not layout.real else float(word.replace(b"_", b"?"))
    except ValueError:
        return f"{_quoted(word)} is not a number: {layout.row!r} is expected"
    if kind == "degree":
        return value if np.isfinite(value) else f"coordinate {word.decode()} is not finite"
    if value != value:
        return "the weight is NaN: a number of at least 0 is right"
    if value < 0:
        return f"the weight {word.decode()} is negative: at least 0 is right"
    if isinstance(value, int) and value > _UINT32_MAX:
        return f"the weight {word.decode()} is too large: uint32 holds at most {_UINT32_MAX}"
    if value > _FLOAT32_MAX:
        return f"the weight {word.decode()} is too large: float32 holds at most {_FLOAT32_MAX:.8g}"
    return value


def _quoted(line: bytes) -> str:
    text = line.decode("utf-8", "backslashreplace").strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")
