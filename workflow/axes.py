"""How a column of numbers is put on an axis: scale, ticks with their unit, titles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import altair as alt
import pandas as pd

from saitan.workflow.numbers import steps_of, typeset

# Pixels between an end of an axis and a mark there, more than half of the largest mark (figures.py): what lies beyond
# its frame a chart that can be moved does not show. Bars stand on theirs.
EDGE = 9
# Pixels of a letter.
LETTER = 6.5
# Vega's own steps on a logarithmic scale, quotients and room at its ends, leave the range of numbers where values,
# their inverses or quotients are beyond this.
WIDEST = 1e270
# Above the largest prefix there is, a number is written by its power of ten.
PREFIXED = 1e27


@dataclass(frozen=True)
class Axis:
    """How one column is encoded: `kind` is Vega-Lite's type letter."""

    field: str
    name: str
    title: str | None
    kind: str
    scale: alt.Scale
    axis: alt.Axis
    number_format: str

    @property
    def shorthand(self) -> str:
        return f"{self.field}:{self.kind}"

    def tooltip(self) -> alt.Tooltip:
        shown = {"format": self.number_format} if self.kind == "Q" else {}
        return alt.Tooltip(self.shorthand, title=self.name, **shown)


def axis_of(
    field: str,
    values: pd.Series,
    title: str,
    log: bool,
    bars: bool,
    unit: str,
    *,
    width: str | None = None,
    beside: Sequence[pd.Series] = (),
) -> Axis:
    """width: Vega's signal of the panel's width, where `field` is x; beside: what else is drawn on the axis."""
    present = values.dropna()
    name = title = typeset(title)
    discrete = bars and field == "x"
    if discrete or not pd.api.types.is_numeric_dtype(present) or pd.api.types.is_bool_dtype(present):
        scale = alt.Scale(padding=0.15) if discrete else alt.Scale()
        turned = _turned(width, present.map(str).unique()) if width else {"labelAngle": 0}
        return Axis(field, title, title, "O", scale, alt.Axis(**turned, labelLimit=200), "")
    number_format = "," if (present % 1 == 0).all() else ".4~g"
    # pandas' own types have an NA in the place of the least of no numbers.
    present = pd.concat([present, *beside]).dropna().astype(float)
    sizes = present[present != 0].abs()
    least, largest = (float(sizes.min()), float(sizes.max())) if len(sizes) else (1.0, 1.0)
    # What neighbouring ticks differ in.
    span = float(present.max() - present.min()) if len(present) else 0.0
    digits = min(12, max(3, 2 + math.ceil(math.log10(largest / span)))) if 0 < span < math.inf else 4
    steps = steps_of(unit, decimal=True)
    if len(steps) > 1:
        # The ticks say the unit.
        ticks = {"labelExpr": _with_unit(steps, digits)}
        title = "Time" if title == "Seconds" else title.removesuffix(f" ({unit})")
    else:
        # The precision is fixed here: Vega's own, taken from the step between ticks, fails on scales that are not
        # linear. Large counts have prefixes, small numbers do not (0.01, not 10m).
        prefixed = 1e4 <= largest < PREFIXED and (least >= 1 or not log)
        # A lone value is its own tick and no round number.
        plain = "~g" if span else f".{digits}~g"
        form = f".{digits}~s" if prefixed else plain if least >= 1e-4 or not log else f".{digits}~e"
        ticks = {"labelExpr": f"!datum.label ? '' : datum.value == 0 ? '0' : format(datum.value, '{form}')"}
    edge = {} if bars or largest > WIDEST else {"padding": EDGE, "nice": False}
    if field != "x" and len(present) and not len(sizes):
        # Between 0 and 0 all ticks would have one place, in the middle.
        edge["domainMax"] = 1
    if not log:
        scale, ticks["tickCount"] = alt.Scale(zero=field != "x", **edge), 6
        if (present % 1 == 0).all():
            ticks["tickMinStep"] = 1
            low, high = (
                (present.min(), present.max()) if field == "x" else (min(0, present.min()), max(0, present.max()))
            )
            if high - low < 6:
                # Vega would take halves, as the count of ticks goes before their step.
                ticks["values"] = [float(tick) for tick in range(int(low), int(high) + 1)]
    elif (present > 0).all() and least > max(1.0, largest) / WIDEST and largest < WIDEST:
        # A bar's foot is the axis: far enough below the least value that its bar can be seen. Where an end is given,
        # Vega-Lite rounds the other only if told to.
        ends = {"domainMin": 10.0 ** math.floor(math.log10(least / 2)), "nice": True} if bars else edge
        scale, ticks["tickCount"] = alt.Scale(type="log", **ends), 5
    else:
        # Zeros have no logarithm: linear up to the least value that is not zero (or that counts), logarithmic above.
        least = max(least, largest / WIDEST)
        scale, ticks["values"] = (
            alt.Scale(type="symlog", constant=least, **edge),
            _powers(present.min(), least, largest),
        )
    return Axis(field, name, title, "Q", scale, alt.Axis(**ticks), number_format)


def _turned(width: str, names: Sequence[str]) -> dict[str, alt.ExprRef]:
    """How names stand on an axis: turned where the panel is too narrow for each and the next side by side."""
    longest = max(((len(one) + len(other)) / 2 + 1 for one, other in pairwise(names)), default=0)
    narrow = f"{width} < {math.ceil(LETTER * longest * len(names))}"
    ways = {"labelAngle": "-40 : 0", "labelAlign": "'right' : 'center'", "labelBaseline": "'middle' : 'top'"}
    return {name: alt.ExprRef(f"{narrow} ? {way}") for name, way in ways.items()}


def _with_unit(steps: list[tuple[float, str]], digits: int) -> str:
    """Vega's expression for a tick with its unit: "10 ms", "2 GTEPS"."""
    text = f"format(datum.value / {steps[-1][0]!r}, '.{digits}~g') + ' {steps[-1][1]}'"
    for factor, unit in reversed(steps[:-1]):
        # A tick of a logarithmic scale is a power of ten up to rounding.
        written = f"format(datum.value / {factor!r}, '.{digits}~g') + ' {unit}'"
        text = f"abs(datum.value) >= {factor * (1 - 1e-9)!r} ? {written} : {text}"
    return f"!datum.label ? '' : datum.value == 0 ? '0' : {text}"


def _powers(lowest: float, least: float, largest: float) -> list[float]:
    """Ticks around zero: powers of ten from `least` to `largest`, about six; those below zero where values are."""
    low, high = math.floor(math.log10(least)), min(308, math.ceil(math.log10(largest)))
    powers = [10.0**power for power in range(low, high + 1, max(1, (high - low) // 6))]
    return [0.0, *powers] if lowest >= 0 else [*(-power for power in reversed(powers)), 0.0, *powers]


def titled(name: str, unit: str) -> str:
    """A column's title where none is given: its name in words, and the unit where ticks do not say it."""
    (_, written), *more = steps_of(unit, decimal=True)
    return words(name) + (f" ({written})" if written and not more else "")


def words(name: str) -> str:
    text = name.replace("_", " ")
    return text[:1].upper() + text[1:]
