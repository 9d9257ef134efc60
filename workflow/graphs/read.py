"""A user's file as a graph: what `saitan.read_graph` calls. The format is told from the name and the first lines."""

from __future__ import annotations

import warnings
from pathlib import Path

from saitan.graph import Graph, GraphError
from saitan.graph_input import rounded_in_words, shown
from saitan.workflow.graphs.formats import FORMATS, Lines, quoted
from saitan.workflow.graphs.streams import Blocks
from saitan.workflow.step import Failure

_COMPRESSED = (".gz", ".xz", ".zst")
# How METIS files are named. Their lines of neighbours pass for pairs of vertices where there are two in each.
_METIS = (".metis", ".graph")
# DIMACS problems that are no shortest paths, after "p".
_OTHER_PROBLEMS = {b"max", b"min", b"asn", b"edge", b"col"}


def read(path: Path, format: str | None = None) -> Graph:
    """The graph of a file in one of FORMATS, or of a folder that `write_graph` wrote; its name is the file's.

    Raises GraphError naming the file and what would be right, FileNotFoundError.
    """
    try:
        if path.is_dir():
            from saitan.workflow.graphs.parquet import read_graph

            return read_graph(path)
        from saitan.workflow.graphs.readers import read_graph_file

        if path.is_fifo() and (format is None or path.suffix in _COMPRESSED):
            raise Failure(f"{path}: a pipe can be read only once: name the format of plain text, or give a file")
        if format is not None and (not isinstance(format, str) or format not in FORMATS):
            raise Failure(f"unknown format {shown(format)} (there are: {', '.join(FORMATS)})")
        graph = read_graph_file(path, format or _format_of(path))
    except Failure as error:
        raise GraphError(str(error)) from error
    if inexact := graph.metadata.get("inexact"):
        warnings.warn(f"{path}: {rounded_in_words(inexact)}", stacklevel=3)
    name = path.stem if path.suffix in _COMPRESSED else path.name
    return graph.with_metadata(name=name.rpartition(".")[0] or name, origin=str(path))


def _format_of(path: Path) -> str:
    """The format of a file by its first line that is neither empty nor a comment."""
    number = 0
    for number, line in Lines(Blocks(path, size=1)):
        words = line.split()
        if number == 1 and line.lower().startswith(b"%%matrixmarket"):
            return "matrix-market"
        if not words or words[0].startswith((b"c", b"#")):
            continue
        if words[:2] == [b"p", b"aux"]:
            raise Failure(f"{path}: it holds coordinates; a graph is in the file whose header is 'p sp VERTICES ARCS'")
        if words[0] == b"p":
            problem = b"".join(words[1:2]).lower()
            if problem in _OTHER_PROBLEMS:
                raise Failure(f"{path}: line {number}: {quoted(line)} is of another problem than 'p sp VERTICES ARCS'")
            return "dimacs" if problem == b"sp" else "pace"
        if len(words) == 2 and all(word.isdigit() for word in words):
            if {*path.suffixes[-2:]}.isdisjoint(_METIS):
                return "snap"
            raise Failure(f"{path}: METIS files are not read; where it is none, name one of {', '.join(FORMATS)}")
        break
    if not number:
        raise Failure(f"{path}: the file is empty")
    raise Failure(
        f"{path}: the format cannot be told from its first lines: name one of {', '.join(FORMATS)}; what pandas or"
        " networkx reads comes in by Graph.from_pandas or Graph.from_networkx"
    )
