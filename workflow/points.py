"""Points: what an experiment's sweeps come to, and where the files of a point lie.

A point is one variant with one choice of parameters on one graph or array and backend in one experiment; its path says
all of that, so that adding a value to a sweep adds a file and changes no other.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# The folder of all that the workflow writes.
RESULTS = "results"
DEFAULT = "default"
# In the place of a graph's name where an experiment has none.
NO_GRAPH = "no-graph"


@dataclass(frozen=True)
class Point:
    """One `measure` job.

    run         name of the run: its folder of results/
    graph       name of the graph or array that it reads, or NO_GRAPH
    point       the parameters of instance and variant as they stand in its path; instance_point: the instance's alone
    parameters  the variant's; instance: the problem's own
    drawn       "<queries>-<seed>"
    identity    a digest of all that its numbers depend on, data aside
    ranks       how many processes answer together under the launcher; None for one without it
    """

    run: str
    experiment: str
    problem: str
    backend: str
    graph: str
    variant: str
    point: str
    instance_point: str
    parameters: Mapping[str, Any]
    instance: Mapping[str, Any]
    drawn: str
    identity: str = ""
    ranks: int | None = None

    @property
    def name(self) -> str:
        return f"{self.experiment}/{self.backend}/{self.graph}/{self.variant}/{self.point}"

    @property
    def samples(self) -> str:
        return f"{RESULTS}/{self.run}/samples/{self.name}.parquet"

    @property
    def log(self) -> str:
        return f"{RESULTS}/{self.run}/logs/measure/{self.name}.log"


def combinations(values: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Every choice of one value for each key."""
    for chosen in itertools.product(*values.values()):
        yield dict(zip(values, chosen, strict=True))


def pattern(parameters: Mapping[str, Any]) -> str:
    """How parameters stand in a path: "threshold_up~350,threshold_down~330"."""
    return ",".join(f"{name}~{value}" for name, value in parameters.items()) or DEFAULT


def digest(value: Any) -> str:
    """A short digest of plain values."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]
