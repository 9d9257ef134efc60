"""What a job reads before it can measure: the problem's instance from files, queries and reference."""

from __future__ import annotations

import argparse
import json
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import BadZipFile

import numpy as np

from saitan.files import beside
from saitan.problem import Reference, Unavailable, completed, problem
from saitan.workflow.step import Failure, refusal


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """The arguments that name an instance's files."""
    parser.add_argument("--graph", type=Path, help="folder of the graph")
    parser.add_argument("--array", type=Path, help=".npy, or .parquet of a kept answer")


def load_instance(settings: dict[str, Any], arguments: argparse.Namespace) -> tuple[ModuleType, Any]:
    """The problem's package and its instance; the graph in parts where the settings' variant takes it so.

    Raises Failure for parameters that the problem refuses, Unavailable for an instance that there is not of these data
    and for a graph that the variant does not take.
    """
    package = problem(settings["problem"])
    variant = package.VARIANTS.get(settings.get("variant"))
    inputs = {}
    for name, declared in package.INPUTS.items():
        if declared.kind == "graph" and arguments.graph is not None:
            from saitan.workflow.graphs.parquet import FileArcs, read_graph, read_metadata

            if variant and (reason := variant.unfit(settings["backend"], {}, read_metadata(arguments.graph))):
                raise Unavailable(f"{settings['variant']} {reason}")
            read = FileArcs if variant is not None and variant.parts else read_graph
            inputs[name] = read(arguments.graph)
        elif declared.kind == "array" and arguments.array is not None:
            inputs[name] = read_array(arguments.array)
    given = completed(settings["instance"], package.INSTANCE, "given" if inputs else "generated")
    try:
        return package, package.instance(inputs, **given)
    except ValueError as error:
        data = arguments.array or arguments.graph
        of = settings["problem"] if data is None else f"{settings['problem']}, of {data}"
        raise Failure(f"instance {settings['instance']} of {of}: {refusal(error)}") from None


def read_array(path: Path) -> np.ndarray:
    """An array of the catalogue, mapped into memory, or a kept answer. Raises as read_answer does."""
    if path.suffix == ".npy":
        try:
            return np.load(path, mmap_mode="r", allow_pickle=False)
        except ValueError as error:
            raise Failure(f"{path}: {error}; remove it and run the same command again") from None
    from saitan.workflow.answers import read_answer

    return read_answer(path)


def write_reference(reference: Reference | None, path: Path, identity: str | None = None) -> None:
    """As .npz, which holds no answer where there is none. identity: what it is made for."""
    stored: dict[str, Any] = {} if identity is None else {"identity": np.array(identity)}
    if reference is not None:
        stored |= {f"array {name}": array for name, array in reference.arrays.items()}
        stored["by"] = np.array(reference.by)
        if reference.rows is not None:
            stored["rows"] = reference.rows
    with beside(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **stored)


def read_reference(path: Path) -> Reference | None:
    """What write_reference wrote. Raises Failure for a damaged file."""
    with _whole(path), np.load(path, allow_pickle=False) as stored:
        if "by" not in stored:
            return None
        arrays = {key.removeprefix("array "): stored[key] for key in stored if key.startswith("array ")}
        return Reference(str(stored["by"]), arrays, stored.get("rows"))


def write_queries(queries: list[Any], path: Path, identity: str | None = None, unavailable: str | None = None) -> None:
    """As JSON. identity: what they are made for; unavailable: why there are none."""
    with beside(path) as temporary:
        temporary.write_text(
            json.dumps({"identity": identity, "queries": queries, "unavailable": unavailable}), encoding="utf-8"
        )


def read_queries(path: Path) -> list[Any]:
    """What write_queries wrote. Raises Failure for a damaged file, Unavailable where there are none."""
    with _whole(path):
        match json.loads(path.read_text(encoding="utf-8")):
            case {"unavailable": str(reason)}:
                raise Unavailable(reason)
            case {"queries": [_, *_] as queries}:
                return queries
            case _:
                raise ValueError("no list of queries")


def instance_identity(path: Path) -> str | None:
    """What queries or a reference say that they are made for. Raises Failure for a damaged file."""
    with _whole(path):
        if path.suffix == ".json":
            told = json.loads(path.read_text(encoding="utf-8"))
            return told.get("identity") if isinstance(told, dict) else None
        with np.load(path, allow_pickle=False) as stored:
            return str(stored["identity"]) if "identity" in stored else None


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, EOFError, NotImplementedError, BadZipFile, struct.error) as error:
        raise Failure(f"{path}: cannot be read: {error}; remove it and run again") from None
