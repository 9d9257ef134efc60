"""Draw the queries of an instance, the same for every variant, and answer the first by other people's solver."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from saitan.blocks import are_rows
from saitan.graph_input import shown
from saitan.problem import Reference, Unavailable
from saitan.workflow.instances import add_inputs, load_instance, write_queries, write_reference
from saitan.workflow.numba_code import load_numba
from saitan.workflow.step import Failure, leave_after, one_line, run_step, say


def draw(arguments: argparse.Namespace) -> None:
    settings = json.loads(arguments.settings)
    load_numba()
    queries, reference, unavailable = [], None, None
    try:
        queries, reference = _drawn(settings, arguments)
    except Unavailable as error:
        unavailable = one_line(error)
        say(arguments.log, f"left out: {unavailable}")
    write_reference(reference, arguments.reference, arguments.identity)
    write_queries(queries, arguments.queries, arguments.identity, unavailable)


def _drawn(settings: dict[str, Any], arguments: argparse.Namespace) -> tuple[list[Any], Reference | None]:
    """Raises Unavailable for an instance that there is not of these inputs, which leaves out its points."""
    package, instance = load_instance(settings, arguments)
    queries = package.queries(instance, settings["queries"], settings["seed"])
    if not (isinstance(queries, list) and queries and _is_json(queries)):
        right = "a list of at least one JSON value is right"
        if isinstance(queries, list) and any(isinstance(query, np.generic) for query in queries):
            right += ": int or float makes one of a number of NumPy's"
        raise Failure(f"queries of {settings['problem']} are {shown(queries)}: {right}")
    reference = package.reference(instance, queries[0])
    if reference is not None and (wrong := _wrong(reference)):
        raise Failure(f"reference of {settings['problem']} {wrong}")
    return queries, reference


def _wrong(reference: Any) -> str | None:
    """Why a reference can be none, as the end of a sentence; None where it can."""
    if not isinstance(reference, Reference):
        return f"is {shown(reference)}: a Reference, or None, is right"
    if not isinstance(reference.by, str):
        return f"is by {shown(reference.by)}: the solver's name is right"
    if not isinstance(reference.arrays, dict):
        return f"has arrays {shown(reference.arrays)}: a dict of names and arrays is right"
    for name, array in reference.arrays.items():
        if not isinstance(name, str):
            return f"has an array named {shown(name)}: a text is right"
        if not isinstance(array, np.ndarray) or array.dtype.hasobject:
            return f"has {name} {shown(array)}: an array of numbers is right"
    if reference.rows is not None and not (isinstance(reference.rows, np.ndarray) and are_rows(reference.rows)):
        return f"has rows {shown(reference.rows)}: an array of ascending numbers of rows is right"
    return None


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", required=True, help="problem, instance, queries, seed as JSON")
    add_inputs(parser)
    parser.add_argument("--identity", help="what they are made for, written into both files")
    parser.add_argument("--queries", type=Path, required=True, help="JSON to write")
    parser.add_argument("--reference", type=Path, required=True, help=".npz to write, empty without a reference")
    run_step(draw, parser)


if __name__ == "__main__":
    leave_after(main)
