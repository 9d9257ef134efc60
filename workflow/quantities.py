"""What an experiment can show: quantities every problem has, its METRICS, and what its solvers are ranked by."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from saitan.problem import Metric, Trace, altered, names, problem

if TYPE_CHECKING:
    import pandas as pd

# Quantity -> the column of the samples and how it is shown, for every problem.
BUILT_IN: Mapping[str, tuple[str, Metric]] = {
    "time": ("seconds", Metric("of the kernel, or of the loop on a CPU", "s", better="less")),
    "mean time": ("seconds", Metric("of the kernel, or of the loop on a CPU", "s", over="mean", better="less")),
    "total time": ("total_seconds", Metric("of the whole call, answer delivered to the host", "s", better="less")),
    "upload time": ("transfer_seconds", Metric("of the instance to the device, once a point", "s", better="less")),
    "memory": ("memory", Metric("held by the solver", "bytes", better="less")),
}
SHARE = "share of limit"
# Of the view rivals.
BEST = "over the best of the others"
_SCALED = re.compile(r"[kMGTP](?=[A-Z])(?!EPS)")


@dataclass(frozen=True)
class Headline:
    """What solvers of a problem are compared by: a quantity, how samples of it combine, and which way is better."""

    quantity: str
    metric: Metric

    @property
    def less(self) -> bool:
        return self.metric.better == "less"

    def best(self, rows: pd.DataFrame) -> pd.Series:
        """The row of a table whose number, `ours`, is best."""
        return rows.loc[rows["ours"].idxmin() if self.less else rows["ours"].idxmax()]

    def better(self, value: float, other: float) -> bool:
        return value < other if self.less else value > other

    def over(self, value: float, other: float) -> float | None:
        """How many times as good a value is as another; None where one of both is not above 0, or both are infinite."""
        if not (value > 0 and other > 0) or value == other == math.inf:
            return None
        return other / value if self.less else value / other


def metrics_of(name: str | None) -> dict[str, Metric]:
    """Quantities of a problem's summary, those that every problem has first."""
    own = problem(name).METRICS if name in names() else {}
    return {quantity: metric for quantity, (_, metric) in BUILT_IN.items()} | own


def traces_of(name: str | None) -> dict[str, Trace]:
    """What a problem's variants may trace of each phase, the seconds among it."""
    own = getattr(problem(name), "TRACES", {}) if name in names() else {}
    return {"seconds": Trace("of the phase", "s"), **own}


def headline_of(name: str | None) -> Headline:
    """What a problem's solvers are ranked by; the time where the problem is not known."""
    quantity = problem(name).HEADLINE if name in names() else "time"
    return Headline(quantity, metrics_of(name)[quantity])


def undeclared(name: str, variant: str, counters: Iterable[str], traces: Iterable[str]) -> str | None:
    """That a variant counts or traces what its problem does not declare, in one line; None where it does not."""
    declared = (("counts", counters, "METRICS", problem(name).METRICS), ("traces", traces, "TRACES", traces_of(name)))
    for does, given, where, known in declared:
        if unknown := sorted(set(given).difference(known)):
            return f"{variant} {does} {unknown[0]!r}, which is none of {where} of {name} ({', '.join(known)})"
    return None


def unranked(name: str | None, variant: str, counters: Collection[str]) -> str | None:
    """That a variant's counters lack what the problem's solvers are ranked by, in one line; None where they do not."""
    quantity = headline_of(name).quantity
    if quantity in BUILT_IN or quantity in counters:
        return None
    return f"{variant} gives no {quantity}, which solvers of {name} are ranked by"


def altered_by(name: str | None, point: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that make the answer of a point another one than the problem's, with their values.

    point: its variant and parameters, None for those that it has not.
    """
    variants = problem(name).VARIANTS if name in names() else {}
    variant = variants.get(point.get("variant"))
    return altered(variant, point) if variant else {}


def declarations(name: str | None, variants: Iterable[str]) -> list[Any]:
    """What tables and report show of a problem and its variants beside numbers."""
    if name not in names():
        return []
    package = problem(name)
    shown = [getattr(package, part, None) for part in ("TITLE", "INSTANCE", "METRICS", "TRACES", "HEADLINE")]
    return [*shown, *(package.VARIANTS[variant] for variant in variants)]


def combined(values: np.ndarray, over: str) -> float:
    """The samples of a point (not empty) as one number, as a metric's `over` says.

    The harmonic mean of rates with a zero among them is zero, as it is of work that never ends.
    """
    if over == "harmonic":
        with np.errstate(divide="ignore"):
            return float(len(values) / np.sum(1 / values))
    return float({"median": np.median, "mean": np.mean}[over](values))


def words(name: str) -> str:
    """A name as people write it."""
    return name.replace("_", " ").replace("<=", "≤")


def in_words(quantity: str, unit: str) -> str:
    """A quantity in words: "prepare" of "prepare_s", "entries a second" of the rate "entries_s"."""
    if is_rate(unit) and quantity.endswith("_s"):
        return f"{words(quantity.removesuffix('_s'))} a second"
    return words(quantity.removesuffix("_s") if unit == "s" else quantity.removesuffix("_us"))


def is_rate(unit: str) -> bool:
    return unit.endswith(("TEPS", "/s"))


def is_scaled(unit: str) -> bool:
    """Whether a unit has a prefix already: "TOP/s", "GB/s"; not "TEPS"."""
    return bool(_SCALED.match(unit))


def is_timed(unit: str) -> bool:
    """Whether a quantity of this unit depends on the clock, so that noise shows in it."""
    return unit in ("s", "us") or is_rate(unit)
