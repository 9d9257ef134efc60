"""The model of a run's YAML: its keys, types and defaults, checked without knowing the problems."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from saitan.workflow.yaml_files import Text, Title, worded

Scalar = bool | int | float | str

# How any output can be kept; a problem may have forms of its own.
ARRAYS = ("raw", "compressed")
# What an experiment shows; each is a function in views.py.
View = Literal["graphs", "weights", "summary", "rivals", "phases", "phase_cdf"]

# What nvcc 13 compiles for, and what older ones do; "a" and "f" stand for its special targets.
ARCHITECTURES = (70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121)

LONGEST_NAME = 100
A_NAME = f"up to {LONGEST_NAME} ASCII letters, digits and underscores"


def is_name(text: str) -> bool:
    """Whether it is A_NAME."""
    return re.fullmatch(rf"[A-Za-z0-9_]{{1,{LONGEST_NAME}}}", text) is not None


def _name(value: Any) -> Any:
    if isinstance(value, str) and not is_name(value):
        shown = value if len(value) <= 60 else f"{value[:57]}..."
        raise ValueError(f"{shown!r} is no name: {A_NAME}")
    return value


def _architecture(value: Any) -> Any:
    found = re.fullmatch(r"sm_(\d+)[af]?", value) if isinstance(value, str) else None
    if not found or int(found[1]) not in ARCHITECTURES:
        known = ", ".join(f"sm_{number}" for number in ARCHITECTURES)
        raise ValueError(f"{value!r} is no architecture (there are: {known})")
    return value


def _command(value: str) -> str:
    try:
        words = shlex.split(value)
    except ValueError as error:  # a quotation that does not end
        raise ValueError(f"{value!r} is no command: {error}") from None
    if not words:
        raise ValueError("the name of a program is right, not a blank")
    return value


Name = Annotated[str, BeforeValidator(_name)]
Line = worded(r"[^\x00-\x1f\x7f]+", "a line of text, without control characters")
Command = Annotated[Line, AfterValidator(_command)]
Architecture = Annotated[str, BeforeValidator(_architecture)]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        # `yes` and `on` are true in YAML, and true is 1.
        if isinstance(value, bool) and cls.model_fields[info.field_name].annotation in (
            int,
            float,
            int | None,
            int | float | None,
        ):
            raise ValueError(f"a number is right, not {str(value).lower()}")
        return value


class Measure(Model):
    """How a point is sampled. A round answers every query once."""

    budget_s: float = Field(
        10, gt=0, allow_inf_nan=False, description="Seconds after which no further round begins, the first check aside."
    )
    spread: float = Field(
        0.02, gt=0, allow_inf_nan=False, description="Stop when the median is known within this share of it."
    )
    min_rounds: int = Field(3, ge=1, description="Rounds wanted before the spread counts.")
    max_rounds: int = Field(50, ge=1, description="Rounds after which to stop in any case.")
    warmup: int = Field(1, ge=0, description="Queries answered before the clock counts.")

    @model_validator(mode="after")
    def _ascending(self) -> Measure:
        # A `max_rounds` below the default of `min_rounds` is no mistake: it then counts for both.
        if "min_rounds" in self.model_fields_set and self.min_rounds > self.max_rounds:
            raise ValueError(f"min_rounds must be at most max_rounds, {self.max_rounds}, not {self.min_rounds}")
        return self


_OVERRIDES = {
    "type": "object",
    "additionalProperties": {"type": "number"},
    "propertyNames": {"enum": [*Measure.model_fields]},
}


class Figure(Model):
    """A chart of a view's columns (see config/README.md for the columns of each view)."""

    mark: Literal["line", "step", "point", "bar"]
    x: str
    y: list[str] = Field(min_length=1, description="One panel each, below each other.")
    color: str | None = None
    facet: str | None = Field(None, description="One chart for each value of this column, side by side.")
    x_log: bool = False
    y_log: bool = False
    x_title: Text | None = None
    y_title: list[Text] | None = None

    @field_validator("y", "y_title", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @property
    def columns(self) -> list[tuple[str, str]]:
        """The axes and the columns that they show."""
        named = [("x", self.x), *(("y", column) for column in self.y), ("color", self.color), ("facet", self.facet)]
        return [(axis, column) for axis, column in named if column is not None]

    @model_validator(mode="after")
    def _a_title_a_panel(self) -> Figure:
        if twice := next((column for column in self.y if self.y.count(column) > 1), None):
            raise ValueError(f"y names {twice} twice")
        if self.y_title and len(self.y_title) > len(self.y):
            raise ValueError(f"y_title names {len(self.y_title)} panels, and y has {len(self.y)}")
        return self


class Experiment(Model):
    """One table and figure: graphs, the variants that run on them, and how it is shown."""

    title: Title
    text: Text = Field("", description="A sentence for the report.")
    view: View = "summary"
    problem: str | None = Field(None, description="A folder of kernels/; absent where only graphs are described.")
    graphs: list[str] = Field(default=[], description="Names from config/graphs.yaml.")
    arrays: list[str] = Field(
        default=[], description="Names from config/arrays.yaml, or experiment.output: a kept answer of another one."
    )
    keep: list[str] = Field(default=[], description="Outputs of the first query to write to results/answers/.")
    keep_as: str = Field(
        "raw",
        description="raw: numbers, in Parquet's own codec; compressed: streams of kernels/compression/FORMAT.md, made"
        " where the answer lies; or a form of the problem's own.",
    )
    variants: dict[str, dict[str, list[Scalar]]] = Field(
        default={}, description="Variants, each with the values of its parameters; every combination is a point."
    )
    instance: dict[str, list[Scalar]] = Field(
        default={}, description="Values of the problem's own parameters; every combination is a point."
    )
    queries: int = Field(8, ge=1, le=1_000_000, description="How many queries (sources, ...) are drawn.")
    seed: int = Field(1, ge=0, lt=2**63, description="Seed of that draw.")
    ranks: list[Annotated[int, Field(strict=True, ge=1, le=1_000_000)]] = Field(
        default=[],
        description="Processes that answer together, started by the launcher; each number is a point of every variant"
        " that runs on several.",
    )
    cores_per_rank: int | None = Field(
        None, ge=1, description="Cores of each rank; the machine's divided among its ranks when absent."
    )
    quantities: list[str] = Field(
        ["time", "mean time", "memory"],
        min_length=1,
        description="Rows of the summary table: these, total time, upload time, counters.",
    )
    baseline: str | None = Field(
        None, description="A variant over which the speed-up of the others is shown; in `rivals`, that over the others."
    )
    column: str = Field("updated", description="The column that the views phases and phase_cdf describe.")
    small: int | float | None = Field(
        None, allow_inf_nan=False, description="The share of phases with `column` at or under this is shown."
    )
    measure: Annotated[dict[str, Any], WithJsonSchema(_OVERRIDES)] = Field(
        default={}, description="Overrides of the run's `measure`."
    )
    figure: Figure | None = None

    @field_validator("variants", mode="before")
    @classmethod
    def _variants_as_mapping(cls, value: Any) -> Any:
        # `off` and `no` are false in YAML: a name that is no text is told as that of a mapping is.
        if isinstance(value, list) and all(isinstance(name, Scalar) for name in value):
            if repeated := [name for place, name in enumerate(value) if name in value[:place]]:
                raise ValueError(f"{repeated[0]!r} is there twice; name it once")
            value = {name: {} for name in value}
        if isinstance(value, Mapping):
            return {name: _lists(parameters) for name, parameters in value.items()}
        raise ValueError("a list of names, or names with their parameters, is right")

    @field_validator("instance", mode="before")
    @classmethod
    def _instance_as_lists(cls, value: Any) -> Any:
        return _lists(value)

    @model_validator(mode="after")
    def _problem_where_variants(self) -> Experiment:
        if self.variants and self.problem is None:
            raise ValueError("variants need a `problem`")
        if self.view in ("summary", "rivals", "phases", "phase_cdf") and not self.variants:
            raise ValueError(f"view {self.view} needs `variants`")
        for key in ("instance", "keep", "ranks"):
            if getattr(self, key) and not self.variants:
                raise ValueError(f"{key} needs `variants`")
        if self.cores_per_rank and not self.ranks:
            raise ValueError("cores_per_rank needs `ranks`")
        if self.view in ("graphs", "weights"):
            if not self.graphs:
                raise ValueError(f"view {self.view} needs `graphs`")
            if self.variants:
                raise ValueError(f"view {self.view} shows nothing that is measured: leave out `variants`")
        if self.graphs and self.arrays:
            raise ValueError("either `graphs` or `arrays`, not both")
        if self.view == "rivals" and not self.baseline:
            raise ValueError("view rivals needs `baseline`: the variant that is compared with the others")
        return self

    @property
    def swept(self) -> list[str]:
        """Names of all that its points differ in beside the data and the variant."""
        names = [name for values in self.variants.values() for name in values]
        return list(dict.fromkeys([*self.instance, *names, *(["ranks"] if self.ranks else [])]))

    @property
    def traced(self) -> bool:
        """Whether the counts per phase are wanted."""
        return self.view in ("phases", "phase_cdf")


class Config(Model):
    """A run."""

    name: Name = Field("run", description="Folder of results/ for this run; the name of the file when absent.")
    title: Title = Field("saitan", description="Heads the report.")
    backend: Literal["auto", "both", "cpu", "cuda"] = Field(
        "auto", description="auto: the GPU where there is one, otherwise the CPU; both: the CPU, and the GPU if any."
    )
    mirror: Line | None = Field(None, description="A folder or base address to take downloads from.")
    architectures: list[Architecture] | None = Field(
        None,
        description="What to compile for: this machine's GPU when absent. Needed where jobs run on other machines.",
    )
    cores: int | None = Field(
        None,
        ge=1,
        description="What a timed job may use: at most those of --cores, but where jobs run elsewhere, which needs it.",
    )
    launcher: Command = Field(
        "mpirun --oversubscribe --bind-to none",
        description="What starts ranks, with its options; the number of ranks is added as -n.",
    )
    measure: Measure = Measure()
    experiments: dict[Name, Experiment] = Field(min_length=1)


def _lists(values: Any) -> Any:
    if not isinstance(values, Mapping):
        return {} if values is None else values
    return {key: list(value) if isinstance(value, list) else [value] for key, value in values.items()}


def number(value: Any) -> Any:
    """The number that people mean by 1e-6, which is a text in YAML 1.1: it wants 1.0e-6."""
    meant = isinstance(value, str) and re.fullmatch(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+", value)
    return float(value) if meant else value


def whole(value: Scalar) -> Scalar:
    """30 for 30.0, so that both are one point; a number that 64 bits do not hold stays what it is."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**63 else value


def with_numbers(entry: Any) -> Any:
    """An entry of a catalogue in which 1e-6 is a number, as it is in a run's YAML."""
    return {key: number(value) for key, value in entry.items()} if isinstance(entry, Mapping) else entry
