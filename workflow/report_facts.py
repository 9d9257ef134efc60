"""Facts of a run for the report, read from its files: machines, kernels' resources, graphs, arrays."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from saitan.graph_input import rounded_in_words
from saitan.workflow.answers import kept_answer
from saitan.workflow.ceilings import Ceilings
from saitan.workflow.graphs.parquet import read_metadata
from saitan.workflow.parquet_files import read_rows
from saitan.workflow.report_plan import PlannedAnswer, PlannedArray, PlannedGraph
from saitan.workflow.sources import origin_of
from saitan.workflow.step import Failure

_MACHINE = ("host", "cpu", "gpu", "gpu_memory", "gpu_multiprocessors", "gpu_clock_mhz", "gpu_memory_clock_mhz")
_MACHINE += ("cuda_driver",)
_SOFTWARE = ("python", "packages", "commit", "dirty")


@dataclass
class Machine:
    """One machine that points were measured on, and the software they were measured with, each combination once.

    cores: as many as a point had, every number once.
    """

    backend: str
    facts: dict[str, Any]
    cores: set[int] = field(default_factory=set)
    software: list[dict[str, Any]] = field(default_factory=list)
    points: int = 0
    samples: int = 0
    first: str = ""
    last: str = ""


@dataclass(frozen=True)
class Kernel:
    """A compiled kernel's use of resources, as ptxas reports it."""

    architecture: str
    problem: str
    file: str
    use: dict[str, Any]


@dataclass
class GraphRow:
    """A graph of the run; `synthetic` says what about it is not real."""

    name: str
    title: str
    synthetic: str | None
    origin: str
    vertices: int | None = None
    arcs: int | None = None
    weight: str | None = None
    directed: bool | None = None


@dataclass(frozen=True)
class Kept:
    """A kept answer as the report shows it: its name below results/answers/, bytes of the array and of
    its files, seconds of writing.

    link: bytes a second from the GPU that it was compressed on to the host; None where numbers crossed.
    """

    name: str
    how: str
    dtype: str
    shape: list[int]
    nbytes: int
    written: int
    seconds: float | None
    link: float | None = None

    @property
    def ratio(self) -> float:
        return self.nbytes / self.written

    @property
    def saved(self) -> int | None:
        """Bytes that did not cross."""
        return self.nbytes - self.written if self.link else None

    @property
    def saved_seconds(self) -> float | None:
        """What they would have taken, at the least."""
        return self.saved / self.link if self.link else None


def kept(answers: Iterable[PlannedAnswer], ceilings: Ceilings) -> list[Kept]:
    """The kept answers that are there with all their files, and are those of the plan."""
    found = []
    for planned in answers:
        try:
            answer = kept_answer(planned.file)
        except Failure:
            continue
        told = answer.told
        if answer.identity != planned.identity or "unavailable" in told:
            continue
        how = [part["written"] for part in answer.files.values() if "written" in part][-1]
        link = ceilings.of((told.get("provenance") or {}).get("gpu")).get("bytes_to_host")
        found.append(
            Kept(
                name="/".join(planned.file.with_suffix("").parts[-8:]),
                how=how,
                dtype=told["dtype"],
                shape=told["shape"],
                nbytes=int(np.prod(told["shape"], dtype=np.int64)) * np.dtype(told["dtype"]).itemsize,
                written=sum(file.stat().st_size for file in answer.files),
                seconds=sum(part.get("seconds", 0) for part in answer.files.values()) or None,
                link=link.rate if link and how != "numbers" else None,
            )
        )
    return found


def machines(samples: Iterable[Path]) -> list[Machine]:
    """The machines that the sample files name, GPUs after CPUs; of those that can be read."""
    found: dict[tuple, Machine] = {}
    for path in samples:
        try:
            table = read_rows(path, ["backend", "cores", "provenance"])
        except Failure:  # of which the table says what is wrong
            continue
        rows = table.slice(0, 1).to_pylist()
        if not rows:
            continue
        told = rows[0]["provenance"]
        facts, software = ({name: told.get(name) for name in names} for names in (_MACHINE, _SOFTWARE))
        backend, when = rows[0]["backend"], told.get("measured_at") or ""
        machine = found.setdefault((backend, *facts.values()), Machine(backend, facts, first=when, last=when))
        if software not in machine.software:
            machine.software.append(software)
        machine.cores.add(rows[0]["cores"])
        machine.points += 1
        machine.samples += table.num_rows
        machine.first, machine.last = min(machine.first, when), max(machine.last, when)
    return sorted(found.values(), key=lambda machine: machine.backend != "cpu")


def kernels(resources: Iterable[Path]) -> list[Kernel]:
    """Kernels of results/cubins/<arch>/<problem>/<stem>.resources.json, the files that are there."""
    found = []
    for path in resources:
        if path.exists():
            arch, problem, name = path.parts[-3:]
            file = name.removesuffix(".resources.json") + ".cu"
            found += [
                Kernel(arch, problem, file, use) for use in json.loads(path.read_text(encoding="utf-8"))["kernels"]
            ]
    return found


def graph_row(graph: PlannedGraph, *, partial: bool = False) -> GraphRow:
    """A graph with its counts; without them where its files are not there. What is generated is never called real.

    partial: the files may be those of an earlier run, whose counts are not shown.
    """
    row = GraphRow(graph.name, graph.title, graph.synthetic, graph.origin or "not there")
    try:
        metadata = read_metadata(graph.folder)
    except (OSError, Failure):
        return row
    if partial and metadata.get("identity") != graph.identity:
        return replace(row, origin="out of date")
    return GraphRow(
        graph.name,
        graph.title,
        graph.synthetic or ("generated" if "generator" in metadata else None),
        graph.origin or _origin(metadata),
        metadata["vertices"],
        metadata["arcs"],
        metadata["weight"],
        metadata.get("directed"),
    )


def array_shape(array: PlannedArray) -> tuple[int, ...]:
    """By its file; () where it is not there."""
    try:
        return np.load(array.file, mmap_mode="r", allow_pickle=False).shape
    except (OSError, ValueError, EOFError):
        return ()


def _origin(metadata: dict[str, Any]) -> str:
    inexact = metadata.get("inexact")
    done = [rounded_in_words(inexact)] if inexact else []
    changed = "".join(f"; {words}" for words in (*done, *_options_in_words(metadata.get("options", {}))))
    if "generator" not in metadata:
        return origin_of(metadata.get("origin", "")) + changed
    settings = ", ".join(f"{key}={value}" for key, value in metadata.get("parameters", {}).items())
    return f"generated: {metadata['generator']}({settings}), seed {metadata.get('seed')}{changed}"


def _options_in_words(options: Mapping[str, Any]) -> Iterator[str]:
    """What was done with a graph as it was read or generated, in the order in which it was."""
    said = {"drop_loops": "loops dropped", "symmetrise": "arcs both ways", "merge_parallel": "parallel arcs merged"}
    said["weights"] = "weights drawn from {low:,} to {high:,}, seed {seed}"
    said |= {"largest_component": "its largest {value} component", "relabel": "vertices in the order of {value}"}
    for option, words in said.items():
        if value := options.get(option):
            yield words.format(value=value, **(value if isinstance(value, dict) else {}))
