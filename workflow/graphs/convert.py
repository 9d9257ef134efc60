"""Step: a fetched graph file to Parquet CSR, with the options of its catalogue entry."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from saitan.graph import Graph
from saitan.graph_input import rounded_in_words
from saitan.workflow.graphs.catalogue import ENTRY, Downloaded, Generated
from saitan.workflow.graphs.parquet import write_graph
from saitan.workflow.graphs.streams import check_content, of_copies
from saitan.workflow.step import run_step, say


def convert(entry: Downloaded, name: str, path: Path, coordinates: Path | None = None) -> Graph:
    """The graph of an entry from its file and, where it has one, its file of coordinates.

    Raises Failure naming file and line when a file is wrong, also when its checksum is not the entry's.
    """
    # Passed on at once: a variable here would keep the graph as it was read beside what the options make of it.
    return finish(_read(entry, path, coordinates), entry, name)


def _read(entry: Downloaded, path: Path, coordinates: Path | None) -> Graph:
    from saitan.workflow.graphs.readers import read_coordinates, read_graph_file

    graph = read_graph_file(path, entry.format)
    check_content(path, graph.metadata["checksum"], entry.sha256)
    if coordinates is not None:
        places, found = read_coordinates(coordinates, graph.n)
        check_content(coordinates, found, entry.coordinates.sha256)
        graph = replace(graph, coordinates=places).with_metadata(coordinates_checksum=found)
    return graph.with_metadata(origin=entry.address)


def finish(graph: Graph, entry: Downloaded | Generated, name: str) -> Graph:
    """The options of an entry applied, and what it says about the graph put into the metadata."""
    from saitan.workflow.graphs import arcs

    if entry.drop_loops:
        graph = arcs.drop_loops(graph)
    if entry.symmetrise and graph.metadata["directed"]:
        graph = arcs.symmetrise(graph)
    if entry.merge_parallel:
        graph = arcs.merge_parallel(graph)
    if entry.weights:
        graph = arcs.draw_weights(graph, entry.weights.low, entry.weights.high, entry.weights.seed)
    if entry.largest_component:
        graph = arcs.largest_component(graph, entry.largest_component)
    if entry.relabel:
        graph = arcs.relabel(graph, entry.relabel)
    said = entry.model_dump(include={"synthetic"}, exclude_none=True)
    return graph.with_metadata(name=name, **said, **({"options": entry.options} if entry.options else {}))


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", type=Path, required=True, help="folder of the two Parquet files")
    parser.add_argument("--identity", help="what they are made for, written into them")


def main(arguments: argparse.Namespace) -> None:
    entry = ENTRY.validate_json(arguments.entry)
    with of_copies(arguments.input, arguments.coordinates):
        graph = convert(entry, arguments.name, arguments.input, arguments.coordinates)
    if inexact := graph.metadata.get("inexact"):
        say(arguments.log, f"{arguments.input}: {rounded_in_words(inexact)}")
    write_graph(graph, arguments.output, arguments.identity)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m saitan.workflow.graphs.convert", description=__doc__)
    parser.add_argument("--entry", required=True, help="the catalogue entry, JSON")
    parser.add_argument("--name", required=True)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--coordinates", type=Path)
    add_output(parser)
    return parser


if __name__ == "__main__":
    run_step(main, parser())
