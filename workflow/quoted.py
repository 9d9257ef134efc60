"""What other people's solvers reach that are not run here (config/peers.yaml)."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from saitan.workflow.config_model import Model
from saitan.workflow.yaml_files import read_checked


class Value(BaseModel):
    """A quoted number; its other keys are the graph or the problem's own parameters, all that an experiment names, and
    parameters of variants that make the same answer (`keep_bits`).
    """

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, str | float] = Field(init=False)

    value: float = Field(gt=0, allow_inf_nan=False)


class Solver(Model):
    """Other people's solver. title: what it is and how it was timed."""

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
    """The file's content. Raises Failure naming line and key of what is wrong."""
    return read_checked(path, TypeAdapter(Quoted))
