"""Read a point's sample file (written by measure.py): its rows by groups of columns, and what it says about itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from saitan.workflow.parquet_files import described, opened

if TYPE_CHECKING:
    # Reading a file's metadata needs no pandas, which takes half a second to load.
    import pandas as pd

_ROWS = ("query", "round", "seconds", "total_seconds", "transfer_seconds", "memory")
_POINT = ("backend", "graph", "variant", "cores")


def called(settled: Any, disturbed: Any) -> str:
    """The doubt of a number in a word or two, for a line; empty where there is none."""
    return "not settled" if not settled else "disturbed" if disturbed else ""


@dataclass(frozen=True)
class About:
    """What a sample file says about its point.

    identity     of the configuration that it was measured for
    settled      whether the median settled before sampling ended
    disturbed    why its times say little, of which the rows have the details; empty where nothing is known
    unavailable  why the point could not run, in which case there are no rows; None where it ran
    device       what it ran on: "CPU name" or "GPU name"; empty where nothing is known
    """

    identity: str
    settled: bool = True
    disturbed: tuple[str, ...] = ()
    unavailable: str | None = None
    device: str = ""


@dataclass(frozen=True)
class Samples:
    """One point's timed answers, one row each.

    point        backend, graph, variant, cores
    instance, parameters    the problem's own parameters and the variant's
    rows         query, round, seconds, total_seconds, transfer_seconds, memory
    counters     the problem's metrics, NaN where an answer has none
    work         kind of a ceiling -> amount
    phases       lists, one entry a phase; no columns unless traces were asked for
    traced       the names of all that was traced, asked for or not
    provenance   machine, versions and commit of the first row
    checked      what validation covered
    """

    about: About
    point: dict[str, Any]
    instance: dict[str, Any]
    parameters: dict[str, Any]
    rows: pd.DataFrame
    counters: pd.DataFrame
    work: pd.DataFrame
    phases: pd.DataFrame
    traced: list[str]
    provenance: dict[str, Any]
    checked: str


def mixed(devices: Iterable[str]) -> set[str]:
    """Those of several CPUs, or several GPUs, whose times do not compare."""
    kinds: dict[str, set[str]] = {}
    for device in filter(None, devices):
        kinds.setdefault(device.partition(" ")[0], set()).add(device)
    return {device for alike in kinds.values() if len(alike) > 1 for device in alike}


def about(path: Path) -> About:
    """What a sample file says about its point, without its rows. Raises Failure for a file that is none."""
    told = described(path, "samples of a point", has=("identity", "settled", "disturbed", "unavailable"))
    return About(
        told["identity"], told["settled"], tuple(told["disturbed"]), told["unavailable"], told.get("device", "")
    )


def read_samples(path: Path, *, traces: bool = False) -> Samples | None:
    """A point's samples; None where it was unavailable. Raises Failure as `about` does."""
    told = about(path)
    if told.unavailable is not None:
        return None
    with opened(path) as file:
        there = file.schema_arrow.names
        lists = [name for name in there if name.startswith("phase_")]
        table = file.read(columns=there if traces else [name for name in there if name not in lists])
    traced = [name.removeprefix("phase_") for name in lists]
    return Samples(
        told,
        {name: table[name][0].as_py() for name in _POINT},
        _first(table, "instance"),
        _first(table, "parameters"),
        table.select(_ROWS).to_pandas(),
        _fields(table, "counters"),
        _fields(table, "work"),
        table.select(lists if traces else []).rename_columns(traced if traces else []).to_pandas(),
        traced,
        _first(table, "provenance"),
        _checked(table),
    )


def _first(table: pa.Table, name: str) -> dict[str, Any]:
    """The first row of a struct; empty where there is no such column."""
    return table[name][0].as_py() if name in table.column_names else {}


def _fields(table: pa.Table, name: str) -> pd.DataFrame:
    """A struct's fields as columns; none where there is no such column."""
    if name not in table.column_names:
        return table.select([]).to_pandas()
    column = table[name].combine_chunks()
    return pa.Table.from_arrays(column.flatten(), names=[field.name for field in column.type]).to_pandas()


def _checked(table: pa.Table) -> str:
    """What was covered, each wording once; a sample is called so."""
    pairs = zip(table["checked"].to_pylist(), table["checked_whole"].to_pylist(), strict=True)
    return "; ".join(dict.fromkeys(says if whole or not says else f"{says} (a sample)" for says, whole in pairs))
