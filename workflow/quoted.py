"""What other people's solvers reach that are not run here (config/peers.yaml)."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, model_validator

from saitan import problem as problems
from saitan.workflow.config import QUANTITIES, suggest, unknown_problem
from saitan.workflow.config_model import Model, with_numbers
from saitan.workflow.yaml_files import Title, mistake, read_checked


def _day(value: Any) -> Any:
    if not isinstance(value, str | datetime.date):
        raise ValueError("a day is right, such as 2026-11-21")
    return value


class Value(Model):
    """A quoted number; its other keys are the graph or the problem's own parameters, all that an experiment names, and
    parameters of variants that make the same answer (`keep_bits`).
    """

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, str | float] = Field(init=False)

    value: float = Field(gt=0, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _numbers(cls, entry: Any) -> Any:
        return with_numbers(entry)


class Solver(Model):
    """Other people's solver. title: what it is and how it was timed."""

    title: Title
    problem: str
    backend: Literal["cpu", "cuda"]
    quantity: str
    values: tuple[Value, ...]


class Quoted(Model):
    """Solvers by name, measured on one machine on one day."""

    machine: Title
    measured: Annotated[datetime.date, BeforeValidator(_day)]
    solvers: dict[str, Solver]

    @property
    def origin(self) -> str:
        return f"measured on {self.machine}, {self.measured.isoformat()}"


def read_quoted(path: Path) -> Quoted:
    """The file's content. Raises Failure naming line and key of what is wrong."""
    return read_checked(path, TypeAdapter(Quoted))


def check_quoted(path: Path, quoted: Quoted) -> None:
    """Raise Failure, naming file, line and key, for a name that no ranking can have.

    A graph may be of another catalogue.
    """
    for name, solver in quoted.solvers.items():
        key = ["solvers", name]
        if solver.problem not in problems.names():
            raise mistake(path, [*key, "problem"], f": {unknown_problem(solver.problem)}")
        package = problems.problem(solver.problem)
        if solver.quantity not in (known := [*QUANTITIES, *package.METRICS]):
            raise mistake(path, [*key, "quantity"], f": unknown quantity{suggest(solver.quantity, known)}")
        altering = (p for v in package.VARIANTS.values() for p, said in v.parameters.items() if said.alike is not None)
        columns = ["graph", *package.INSTANCE, *dict.fromkeys(altering)]
        for place, entry in enumerate(solver.values):
            for column, _ in entry:
                if column not in (*columns, "value"):
                    unknown = f": unknown key{suggest(column, columns)}"
                    raise mistake(path, [*key, "values", place], unknown, within=column)
