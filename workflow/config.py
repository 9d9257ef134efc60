"""The configuration of a run: its model, checked against the problems, variants and graphs that exist.

`load` is what the Snakefile calls; whatever is wrong ends in one line that names the key and what would be right.
`python -m saitan.workflow.config` prints the JSON schema that config/*.yaml name in their first line.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from saitan import problem as problems

Scalar = bool | int | float | str
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+$")]

# What an experiment shows; each is a function in views.py.
View = Literal["graphs", "weights", "summary", "phases", "phase_cdf"]

# What the view summary knows of every problem; the problem's METRICS are the rest.
QUANTITIES = ("time", "mean time", "total time", "upload time", "memory")

# An experiment is a target by its name, and these names are the rules'.
RULES = (
    *("all", "cubins", "compile", "graphs", "fetch", "convert", "generate"),
    *("queries", "measure", "tabulate", "draw", "outline", "vega", "report"),
)


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Measure(Model):
    """How a point is sampled. A round answers every query once."""

    budget_s: float = Field(10, gt=0, description="Seconds after which no further round of a point begins.")
    spread: float = Field(0.02, gt=0, description="Stop when the medians of the last rounds differ by less than this.")
    min_rounds: int = Field(2, ge=1, description="Rounds wanted before the spread counts.")
    max_rounds: int = Field(20, ge=1, description="Rounds after which to stop in any case.")
    warmup: int = Field(1, ge=0, description="Queries answered before the clock counts.")


class Figure(Model):
    """A chart of a view's columns (see config/README.md for the columns of each view)."""

    mark: Literal["line", "step", "point", "bar"]
    x: str
    y: list[str] = Field(min_length=1, description="One panel each, below each other.")
    color: str | None = None
    facet: str | None = Field(None, description="One chart for each value of this column, side by side.")
    x_log: bool = False
    y_log: bool = False
    x_title: str | None = None
    y_title: list[str] | None = None

    @field_validator("y", "y_title", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


class Experiment(Model):
    """One table and figure: graphs, the variants that run on them, and how it is shown."""

    title: str
    text: str = Field("", description="A sentence for the report.")
    view: View = "summary"
    problem: str | None = Field(None, description="A folder of kernels/; absent where only graphs are described.")
    graphs: list[str] = Field(default=[], description="Names from config/graphs.yaml.")
    variants: dict[str, dict[str, list[Scalar]]] = Field(
        default={}, description="Variants, each with the values of its parameters; every combination is a point."
    )
    instance: dict[str, list[Scalar]] = Field(
        default={}, description="Values of the problem's own parameters; every combination is a point."
    )
    queries: int = Field(8, ge=1, description="How many queries (sources, ...) are drawn.")
    seed: int = Field(1, description="Seed of that draw.")
    quantities: list[str] = Field(
        ["time", "mean time", "memory"],
        description="Rows of the summary table: these, total time, upload time, counters.",
    )
    baseline: str | None = Field(None, description="A variant over which the speed-up of the others is shown.")
    column: str = Field("updated", description="The column that the views phases and phase_cdf describe.")
    small: int | None = Field(None, description="The share of phases with `column` at or under this is shown.")
    measure: dict[str, float | int] = Field(default={}, description="Overrides of the run's `measure`.")
    figure: Figure | None = None

    @field_validator("variants", mode="before")
    @classmethod
    def _variants_as_mapping(cls, value: Any) -> Any:
        if isinstance(value, list) and all(isinstance(name, str) for name in value):
            value = {name: {} for name in value}
        if isinstance(value, Mapping):
            return {name: _lists(parameters) for name, parameters in value.items()}
        return value

    @field_validator("instance", mode="before")
    @classmethod
    def _instance_as_lists(cls, value: Any) -> Any:
        return _lists(value)

    @model_validator(mode="after")
    def _problem_where_variants(self) -> Experiment:
        if self.variants and self.problem is None:
            raise ValueError("variants need a `problem`")
        if self.view in ("summary", "phases", "phase_cdf") and not self.variants:
            raise ValueError(f"view {self.view} needs `variants`")
        if self.view in ("graphs", "weights") and not self.graphs:
            raise ValueError(f"view {self.view} needs `graphs`")
        if self.baseline and self.baseline not in self.variants:
            raise ValueError(f"baseline {self.baseline!r} is not among `variants`")
        return self

    @property
    def traced(self) -> bool:
        """Whether the counts per phase are wanted."""
        return self.view in ("phases", "phase_cdf")


class Config(Model):
    """A run."""

    title: str = Field("saitan", description="Heads the report.")
    backend: Literal["auto", "both", "cpu", "cuda"] = Field(
        "auto", description="auto: the GPU where there is one, otherwise the CPU; both: the CPU, and the GPU if any."
    )
    mirror: str | None = Field(None, description="A folder or base address to take downloads from.")
    architectures: list[Annotated[str, Field(pattern=r"^sm_\d+[af]?$")]] | None = Field(
        None, description="What to compile for; the device's own when absent, sm_80 and sm_90 without a device."
    )
    measure: Measure = Measure()
    experiments: dict[Name, Experiment] = Field(min_length=1)


def _lists(values: Any) -> Any:
    if not isinstance(values, Mapping):
        return {} if values is None else values
    return {key: value if isinstance(value, list) else [value] for key, value in values.items()}


class ConfigError(Exception):
    """One line that names the key and what would be right."""


def load(raw: Mapping[str, Any], catalogue: Iterable[str]) -> Config:
    """The checked configuration. catalogue: the names of the graphs there are. Raises ConfigError."""
    try:
        config = Config.model_validate(dict(raw))
    except ValidationError as error:
        raise ConfigError(explain(error, Config.model_json_schema())) from None
    known = list(catalogue)
    for name, experiment in config.experiments.items():
        if name in RULES:
            raise ConfigError(f"experiments.{name}: {name} is the name of a rule; give the experiment another name")
        _check(f"experiments.{name}", experiment, known)
    return config


def explain(error: ValidationError, schema: dict[str, Any]) -> str:
    """The first of pydantic's complaints as one line: the key, what is wrong, what would be right (by the schema)."""
    # An unknown key is often why another one is missing: say it first.
    errors = error.errors(include_url=False)
    first = min(errors, key=lambda e: e["type"] != "extra_forbidden")
    where = [str(part) for part in first["loc"]]
    message = first["msg"].removeprefix("Value error, ")
    # A value that fits no type of a union: pydantic complains once a type, with the type's name as the last part.
    types = [e["loc"][-1] for e in errors if where and e["loc"][:-1] == first["loc"][:-1]]
    if len(types) > 1 and set(types) <= {"bool", "int", "float", "str"}:
        where.pop()
        message = f"input should be {' or '.join(types)}"
    key = ".".join(where)
    if first["type"] == "extra_forbidden":
        return f"{key}: unknown key{_suggest(where[-1], _known_keys(schema, where[:-1]))}"
    shown = (
        "" if first["type"] in ("missing", "value_error") else f", not {json.dumps(first['input'], default=str)[:60]}"
    )
    place = f"{key}: " if key else ""
    return f"{place}{message[0].lower()}{message[1:]}{shown}"


def _known_keys(schema: dict[str, Any], path: list[str]) -> list[str]:
    """The keys allowed at `path`, followed through the JSON schema."""
    node: dict[str, Any] = schema
    for part in path:
        patterns = list(node.get("patternProperties", {}).values())
        node = node.get("properties", {}).get(part) or node.get("additionalProperties") or (patterns or [{}])[0]
        options = [node, *node.get("anyOf", [])]
        node = next(
            (o for o in options if {"$ref", "properties", "additionalProperties", "patternProperties"} & set(o)), {}
        )
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return list(node.get("properties", {}))


def _suggest(name: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f" {name!r}; did you mean {close[0]!r}?"
    return f" {name!r} (there are: {', '.join(known)})" if known else f" {name!r}"


def _check(key: str, experiment: Experiment, catalogue: list[str]) -> None:
    for graph in experiment.graphs:
        if graph not in catalogue:
            raise ConfigError(f"{key}.graphs: unknown graph{_suggest(graph, catalogue)} (config/graphs.yaml)")
    _once(f"{key}.graphs", experiment.graphs)
    try:
        Measure.model_validate(experiment.measure)
    except ValidationError as error:
        raise ConfigError(f"{key}.measure.{explain(error, Measure.model_json_schema())}") from None
    if experiment.problem is None:
        return
    if experiment.problem not in (names := problems.names()):
        raise ConfigError(f"{key}.problem: unknown problem{_suggest(experiment.problem, names)}")
    package = problems.problem(experiment.problem)
    for variant, parameters in experiment.variants.items():
        if variant not in package.VARIANTS:
            raise ConfigError(f"{key}.variants: unknown variant{_suggest(variant, package.VARIANTS)}")
        _check_parameters(f"{key}.variants.{variant}", parameters, package.VARIANTS[variant].parameters, variant)
    _check_parameters(f"{key}.instance", experiment.instance, package.INSTANCE, experiment.problem)
    for quantity in experiment.quantities:
        if quantity not in (known := [*QUANTITIES, *package.METRICS]):
            raise ConfigError(f"{key}.quantities: unknown quantity{_suggest(quantity, known)}")


def _check_parameters(key: str, given: Mapping[str, list[Scalar]], known: Mapping[str, type], owner: str) -> None:
    for name, values in given.items():
        if name not in known:
            has = f"it has: {', '.join(known)}" if known else "it has none"
            raise ConfigError(f"{key}.{name}: {owner} has no parameter {name!r} ({has})")
        if not values:
            raise ConfigError(f"{key}.{name}: an empty list makes no point; give at least one value")
        for value in values:
            wanted = known[name]
            fits = isinstance(value, wanted) or (wanted is float and isinstance(value, int))
            if not fits or (isinstance(value, bool) and wanted is not bool):
                raise ConfigError(f"{key}.{name}: {value!r} is no {wanted.__name__}")
            if isinstance(value, str) and not re.fullmatch(r"[A-Za-z0-9._+-]+", value):
                raise ConfigError(f"{key}.{name}: {value!r} is to stand in a path: letters, digits and . _ + - only")
        _once(f"{key}.{name}", values)


def _once(key: str, values: Sequence[Scalar]) -> None:
    """Two equal points would be one file, counted twice."""
    for place, value in enumerate(values):
        if value in values[:place]:
            raise ConfigError(f"{key}: {value!r} is there twice; name it once")


if __name__ == "__main__":
    print(json.dumps(Config.model_json_schema(), indent=2))
