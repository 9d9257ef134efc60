"""Draw the queries of an instance, the same for every variant, and answer the first by somebody else's solver."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from saitan.problem import problem
from saitan.workflow.files import beside
from saitan.workflow.step import Failure, run_step


def load_instance(settings: dict, graph_folder: Path | None):
    """The problem's package and its instance, made from a graph's folder (None: from parameters alone).

    Raises Failure for parameters that the problem refuses.
    """
    package = problem(settings["problem"])
    graph = None
    if graph_folder is not None:
        from saitan.workflow.graphs.parquet import read_graph

        graph = read_graph(graph_folder)
    try:
        return package, package.instance(graph, **settings["instance"])
    except ValueError as error:
        raise Failure(f"instance {settings['instance']} of {settings['problem']}: {error}") from None


def draw(arguments: argparse.Namespace) -> None:
    settings = json.loads(arguments.settings)
    package, instance = load_instance(settings, arguments.graph)
    queries = package.queries(instance, settings["queries"], settings["seed"])
    expected = package.reference(instance, queries[0]) or {}
    with beside(arguments.reference) as path, path.open("wb") as file:
        np.savez(file, **expected)
    with beside(arguments.queries) as path:
        path.write_text(json.dumps(queries))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", required=True, help="problem, instance, queries, seed as JSON")
    parser.add_argument("--graph", type=Path, help="folder of the graph")
    parser.add_argument("--queries", type=Path, required=True, help="JSON list to write")
    parser.add_argument("--reference", type=Path, required=True, help=".npz to write, empty without a reference")
    run_step(draw, parser)


if __name__ == "__main__":
    main()
