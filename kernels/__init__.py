"""The algorithms of saitan: arrays in, arrays out. Knows no Snakemake.

`read_graph` is the one door to graphs in files: the readers are those of `saitan.workflow`, loaded when it is called.
Files of their own have `apsp` (coded matrices) and the commands of `apsp` and `compression`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from saitan.graph import Graph


def read_graph(path: str | Path, format: str | None = None) -> Graph:
    """The graph of a file: DIMACS, PACE, SNAP or Matrix Market, plain or compressed; or of a folder of Parquet files.

    format: "dimacs", "pace", "snap" or "matrix-market"; None to tell it from the file's name and first lines.
    Raises GraphError naming file and line, FileNotFoundError.
    """
    from saitan.workflow.graphs import read

    return read.read(Path(path), format)
