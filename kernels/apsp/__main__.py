"""`python -m saitan.apsp compress GRAPH FILE`: all pairs of a graph in a coded file; `info`, `get FILE S T` read it.

GRAPH is what `saitan.read_graph` takes: a file of another format, or a folder of `results/graphs`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import saitan
from saitan import apsp
from saitan.calls import checked_vertex
from saitan.command import one_line, say
from saitan.sssp import unreachable


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m saitan.apsp", description=__doc__.split("\n", 1)[0])
    actions = parser.add_subparsers(required=True)
    compress = actions.add_parser("compress", help="write the coded file of a graph's matrix")
    compress.add_argument("graph", type=Path)
    compress.add_argument("file", type=Path)
    compress.add_argument("--format", help="of the graph's file, as of `saitan.read_graph`; told from it when absent")
    compress.add_argument("--variant", default="fast")
    compress.add_argument("--backend", default="auto", choices=("auto", "cpu", "cuda"))
    compress.add_argument(
        "--unchecked", action="store_true", help="neither certify the distances nor decode them again"
    )
    compress.set_defaults(run=_compress)
    info = actions.add_parser("info", help="what a file holds")
    info.add_argument("file", type=Path)
    info.set_defaults(run=_info)
    get = actions.add_parser("get", help="one distance")
    get.add_argument("file", type=Path)
    number = "number of a vertex, from 0 on: one less than in DIMACS, PACE and Matrix Market files"
    get.add_argument("source", type=int, help=number)
    get.add_argument("target", type=int, help=number)
    get.set_defaults(run=_get)
    arguments = parser.parse_args()
    with one_line(arguments.file):
        arguments.run(arguments)


def _compress(arguments: argparse.Namespace) -> None:
    parts = (arguments.graph, *arguments.graph.glob("*.parquet"))
    if arguments.file.exists() and any(arguments.file.samefile(part) for part in parts):
        raise ValueError(f"{arguments.file} is the graph itself: name another file for its matrix")
    graph = saitan.read_graph(arguments.graph, arguments.format)
    told = apsp.compress(graph, arguments.file, arguments.variant, arguments.backend, not arguments.unchecked)
    checked = "not checked" if arguments.unchecked else "every entry checked"
    say(f"{told['entries']:,} entries in {told['bytes']:,} bytes, {told['ratio']:.4g}:1, {checked}")
    say(f"{told['total_s']:.3g} s, of which distances {told['kernel_s']:.3g} and coding {told['coding_s']:.3g}")


def _info(arguments: argparse.Namespace) -> None:
    with apsp.open(arguments.file) as matrix:
        n, checked = len(matrix), "checked" if matrix.about["checked"] else "not checked"
        say(f"{matrix.about['graph']}: {n:,} x {n:,} {matrix.dtype}, {matrix.nbytes:,} bytes, {checked}")


def _get(arguments: argparse.Namespace) -> None:
    with apsp.open(arguments.file) as matrix:
        source, target = (checked_vertex(end, getattr(arguments, end), len(matrix)) for end in ("source", "target"))
        found = matrix[source, target]
        say("unreached" if found == unreachable(matrix.dtype) else str(found))


if __name__ == "__main__":
    main()
