"""The formats of graph files: what stands in their headers, and what the lines after it look like.

DIMACS .gr and .co (9th implementation challenge), PACE 2016 .gr, SNAP edge lists, Matrix Market coordinate files.
A header that announces more than memory holds is refused before anything of that size is made. Counts have 18 digits at
most: Python refuses to convert thousands of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from saitan.graph import MAX_VERTICES
from saitan.graph_input import shortened
from saitan.memory import available_memory, in_words
from saitan.workflow.step import Failure

# Bytes that a file takes while it is read and its arcs are sorted into rows: a vertex, a line, each number of a line.
_VERTEX, _LINE, _NUMBER = 12, 4, {"vertex": 4, "weight": 8, "degree": 16}


@dataclass(frozen=True)
class Layout:
    """What the lines after a header look like.

    row         how a line should read, for messages
    columns     kind of each number of a line: vertex, weight (integer unless real), degree (a coordinate)
    first       number of the first vertex
    vertices    how many there are; None: those that the lines name
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


class Lines:
    """Iterates over (line number, line without its end) of blocks of whole lines, as streams.Blocks yields them."""

    def __init__(self, blocks: Iterable[tuple[int, bytes]]) -> None:
        self._blocks = iter(blocks)
        self._block, self._start, self._end = b"", 0, 0  # the last line's place
        self._next = 1

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> tuple[int, bytes]:
        if self._end == len(self._block):
            self._next, self._block = next(self._blocks)
            self._end = 0
        self._start, self._end = self._end, self._block.find(b"\n", self._end) + 1 or len(self._block)
        self._next += 1
        return self._next - 1, self._block[self._start : self._end].rstrip(b"\n")

    def back(self) -> None:
        """The last line is iterated over once more."""
        self._end = self._start
        self._next -= 1

    def rest(self) -> Iterator[tuple[int, bytes]]:
        """The blocks of what was not iterated over."""
        block, self._block = self._block[self._end :], b""
        yield self._next, block
        del block
        yield from self._blocks


def _dimacs_header(path: Path, lines: Lines) -> Layout:
    number, (n, m) = _problem_line(path, lines, rb"p\s+sp\s+(\d{1,18})\s+(\d{1,18})", "p sp VERTICES ARCS")
    columns = ("vertex", "vertex", "weight")
    return Layout("a FROM TO WEIGHT", columns, 1, n, m, number, comment=b"c", tag=b"a")


def coordinates_header(path: Path, lines: Lines) -> Layout:
    number, (n,) = _problem_line(path, lines, rb"p\s+aux\s+sp\s+co\s+(\d{1,18})", "p aux sp co VERTICES")
    return Layout("v VERTEX X Y", ("vertex", "degree", "degree"), 1, n, n, number, comment=b"c", tag=b"v")


def _pace_header(path: Path, lines: Lines) -> Layout:
    number, (n, m) = _problem_line(path, lines, rb"p\s+(?!sp\s)\w+\s+(\d{1,18})\s+(\d{1,18})", "p tw VERTICES EDGES")
    return Layout("FROM TO", ("vertex", "vertex"), 1, n, m, number, comment=b"c", undirected=True)


def _problem_line(path: Path, lines: Lines, pattern: bytes, expected: str) -> tuple[int, list[int]]:
    for number, line in lines:
        if not line.strip() or line.lstrip().startswith(b"c"):
            continue
        if not (match := re.fullmatch(pattern, line.strip())):
            raise Failure(f"{path}: line {number}: {quoted(line)} comes where the header {expected!r} should be")
        return number, [int(count) for count in match.groups()]
    raise Failure(f"{path}: line 1: there is no header {expected!r}: the file is empty or holds only comments")


def _snap_header(path: Path, lines: Lines) -> Layout:
    rows, counted_at, undirected = None, 1, False
    for number, line in lines:
        if line.strip() and not line.lstrip().startswith(b"#"):
            lines.back()
            break
        undirected |= bool(re.match(rb"\s*#\s*Undirected graph\b", line, re.IGNORECASE))
        if match := re.search(rb"Edges:\s*(\d[\d,]*)", line):
            rows, counted_at = int(match[1].replace(b",", b"")[:18]), number
    return Layout("FROM TO", ("vertex", "vertex"), 0, None, rows, counted_at, comment=b"#", undirected=undirected)


def _matrix_market_header(path: Path, lines: Lines) -> Layout:
    _, banner = next(lines, (1, b""))
    words = banner.decode("latin-1").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise Failure(f"{path}: line 1: {quoted(banner)} is not '%%MatrixMarket matrix coordinate FIELD SYMMETRY'")
    layout, field, symmetry = words[2:]
    for word, right in (
        (layout, ("coordinate",)),
        (field, ("pattern", "integer", "real")),
        (symmetry, ("general", "symmetric")),
    ):
        if word not in right:
            raise Failure(f"{path}: line 1: {word!r} matrices cannot be read as graphs (right: {', '.join(right)})")
    for number, line in lines:
        if not line.strip() or line.lstrip().startswith(b"%"):
            continue
        if not (match := re.fullmatch(rb"(\d{1,18})\s+(\d{1,18})\s+(\d{1,18})", line.strip())):
            raise Failure(f"{path}: line {number}: {quoted(line)} comes where 'ROWS COLUMNS ENTRIES' should be")
        n, n_columns, m = map(int, match.groups())
        if n != n_columns:
            raise Failure(f"{path}: line {number}: {n} rows and {n_columns} columns: a graph's matrix is square")
        weighted = field != "pattern"
        return Layout(
            "ROW COLUMN VALUE" if weighted else "ROW COLUMN",
            ("vertex", "vertex", "weight") if weighted else ("vertex", "vertex"),
            first=1,
            vertices=n,
            rows=m,
            header=number,
            comment=b"%",
            undirected=symmetry == "symmetric",
            real=field == "real",
        )
    raise Failure(f"{path}: the file ends before its line 'ROWS COLUMNS ENTRIES': truncated?")


def check_size(path: Path, layout: Layout) -> None:
    """Raise Failure where the header announces more than 32-bit numbers, or this machine's memory, can hold."""
    n, rows = layout.vertices or 0, layout.rows or 0
    if n > MAX_VERTICES:
        raise Failure(f"{path}: line {layout.header}: {n} vertices: int32 ids hold at most {MAX_VERTICES}")
    line = (_LINE + sum(_NUMBER[kind] for kind in layout.columns)) * (2 if layout.undirected else 1)
    needed, available = _VERTEX * n + line * rows, available_memory()
    if needed > available:
        raise Failure(
            f"{path}: line {layout.header}: {n} vertices and {rows} lines need about {in_words(needed)} "
            f"of memory, but {in_words(available)} are available"
        )


Header = Callable[[Path, Lines], Layout]

FORMATS: dict[str, Header] = {
    "dimacs": _dimacs_header,
    "pace": _pace_header,
    "snap": _snap_header,
    "matrix-market": _matrix_market_header,
}


def quoted(line: bytes) -> str:
    return repr(shortened(line.decode("utf-8", "backslashreplace").strip()))
