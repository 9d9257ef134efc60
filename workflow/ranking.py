"""All solvers of an experiment, ours and other people's, in order of speed; those that could not run here are quoted.

What is quoted (config/peers.yaml) was measured on one machine with a GPU, so it stands beside results of a GPU only.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from saitan.workflow.config import Model, explain
from saitan.workflow.graphs.plan import NO_GRAPH
from saitan.workflow.report_tables import as_text, in_order, readable
from saitan.workflow.step import Failure
from saitan.workflow.yaml_files import read_yaml

# Of these the smaller is the better one, of all others the larger.
TIMES = ("time",)


class Value(BaseModel):
    """A quoted number; its other keys are the graph or the problem's own parameters, all that an experiment names."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, str | float] = Field(init=False)

    value: float = Field(gt=0)


class Solver(Model):
    """Somebody else's solver. title: what it is and how it was timed."""

    title: str
    problem: str
    backend: Literal["cpu", "cuda"]
    quantity: str
    values: tuple[Value, ...]


class Quoted(Model):
    """Solvers by name, measured on one machine on one day."""

    machine: str
    measured: datetime.date
    solvers: dict[str, Solver]

    @property
    def origin(self) -> str:
        return f"measured on {self.machine}, {self.measured.isoformat()}"


def read_quoted(path: Path) -> Quoted:
    """The file's content. Raises Failure naming the line or key that is wrong."""
    try:
        return Quoted.model_validate(read_yaml(path))
    except ValidationError as error:
        raise Failure(f"{path}: {explain(error, Quoted.model_json_schema())}") from None


@dataclass(frozen=True)
class Place:
    """A solver among the others. factor: how many times as fast as the best peer; title: of a quoted one."""

    variant: str
    backend: str
    median: str
    factor: float
    peer: bool
    title: str | None


@dataclass(frozen=True)
class Ranking:
    """The solvers of one graph and choice of the problem's own parameters, the fastest first."""

    where: str
    quantity: str
    places: list[Place]


def rankings(
    table: pd.DataFrame, problem: str, instance: list[str], peers: Collection[str], quoted: Quoted | None
) -> list[Ranking]:
    """A ranking for each graph and instance that has a peer, and another solver to compare it with.

    table: quantities of an experiment, as tabulated; peers: which of its variants are other people's. A variant with
    parameters counts once, at its best.
    """
    if table.empty or "variant" not in table:
        return []
    keys = ["graph", *instance]
    ranked = []
    for _, group in in_order(table, keys).groupby(keys, sort=False, dropna=False):
        about = {name: group[name].iloc[0] for name in keys if group[name].iloc[0] not in (NO_GRAPH, None)}
        others = _quotes(about, problem, quoted) if quoted and (group["backend"] == "cuda").any() else []
        quantity = others[0].quantity if others else "time"
        rows = [*_measured(group, quantity, peers), *(other for other in others if other.quantity == quantity)]
        best = _first([row for row in rows if row.peer])
        if best is None or len(rows) == 1:
            continue
        places = [
            Place(row.variant, row.backend, readable(row.value, row.unit), row.over(best), row.peer, row.title)
            for row in rows
        ]
        places.sort(key=lambda place: place.factor, reverse=True)
        where = ", ".join(v if name == "graph" else f"{name} {as_text(v)}" for name, v in about.items())
        ranked.append(Ranking(where, quantity, places))
    return ranked


@dataclass(frozen=True)
class _Row:
    variant: str
    backend: str
    quantity: str
    value: float
    unit: str
    peer: bool
    title: str | None = None

    def over(self, other: _Row) -> float:
        """How many times as fast as another."""
        return other.value / self.value if self.quantity in TIMES else self.value / other.value


def _first(rows: list[_Row]) -> _Row | None:
    better = min if rows and rows[0].quantity in TIMES else max
    return better(rows, key=lambda row: row.value, default=None)


def _measured(group: pd.DataFrame, quantity: str, peers: Collection[str]) -> list[_Row]:
    rows = group[(group["quantity"] == quantity) & group["ours"].notna()]
    best = []
    for (variant, backend), points in rows.groupby(["variant", "backend"], sort=False):
        unit = points["unit"].iloc[0] or ""
        best.append(_first([_Row(variant, backend, quantity, v, unit, variant in peers) for v in points["ours"]]))
    return best


def _quotes(about: dict[str, Any], problem: str, quoted: Quoted) -> list[_Row]:
    return [
        _Row(name, solver.backend, solver.quantity, entry.value, "s" if solver.quantity in TIMES else "", True, title)
        for name, solver in quoted.solvers.items()
        if solver.problem == problem
        for title in [f"{solver.title}; {quoted.origin}"]
        for entry in solver.values
        if about == {key: wanted for key, wanted in entry if key != "value"}
    ]
