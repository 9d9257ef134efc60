"""Step: a generated graph to Parquet CSR, with the options of its catalogue entry."""

from __future__ import annotations

import argparse
import json

from saitan.both_ways import both_ways
from saitan.errors import Unavailable
from saitan.generators import GENERATORS
from saitan.graph import Graph
from saitan.memory import in_words
from saitan.workflow.graphs.catalogue import ENTRY, Generated
from saitan.workflow.graphs.convert import add_output, finish
from saitan.workflow.graphs.parquet import write_graph
from saitan.workflow.memory import keep_within_memory
from saitan.workflow.numba_code import load_numba
from saitan.workflow.step import Failure, refusal, run_step


def generate(entry: Generated, name: str) -> Graph:
    """The graph of an entry. Raises Failure for parameters that the generator cannot use here, and for what is none."""
    try:
        graph = GENERATORS[entry.generator](**entry.parameters)
        _check(graph)
        return finish(graph, entry, name)
    except (ValueError, Unavailable) as error:
        raise Failure(f"{name}: {refusal(error, error.__cause__)}") from error


def _check(graph: Graph) -> None:
    """Raise ValueError for a generated graph whose metadata are not true, or cannot be kept."""
    if not (graph.directed or both_ways(graph)):
        right = "both arcs of each edge, with one weight, are right, or no directed=False"
        raise ValueError(f"generator {graph.name}: not every arc of an undirected graph is there both ways: {right}")
    for key, value in graph.metadata.items():
        try:
            json.dumps({key: value})
        except (TypeError, ValueError) as error:
            raise ValueError(f"generator {graph.name}: {key!r} of its metadata is no JSON: {error}") from None


def main(arguments: argparse.Namespace) -> None:
    entry, available = ENTRY.validate_json(arguments.entry), keep_within_memory()
    load_numba()
    try:
        write_graph(generate(entry, arguments.name), arguments.output, arguments.identity)
    except MemoryError as error:
        raise Failure(
            f"{arguments.name}: {entry.parameters} need more than the {in_words(available)} of memory "
            "that are available"
        ) from error


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m saitan.workflow.graphs.generate", description=__doc__)
    parser.add_argument("--entry", required=True, help="the catalogue entry, JSON")
    parser.add_argument("--name", required=True)
    add_output(parser)
    return parser


if __name__ == "__main__":
    run_step(main, parser())
