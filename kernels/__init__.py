"""The algorithms of saitan: arrays in, arrays out. Knows no Snakemake.

`read_graph` reads a graph from a file by the readers of `saitan.workflow`, which it imports when it is called. Other
files are those of `apsp` (coded matrices) and of the commands of `apsp` and `compression`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from saitan.graph import Graph


def read_graph(path: str | Path, format: str | None = None) -> Graph:
    """The graph of a file: DIMACS, PACE, SNAP or Matrix Market, plain or compressed; or of a folder of Parquet files.

    format: "dimacs", "pace", "snap" or "matrix-market"; None to tell it from the file's name and first lines. Edges are
    both ways in PACE files, symmetric matrices, and SNAP files whose header begins with "# Undirected graph".
    Real weights are rounded to float32, which the metadata's "inexact" says. Raises GraphError naming file and line,
    FileNotFoundError.
    """
    from saitan.workflow.graphs import read

    return read.read(Path(path), format)
