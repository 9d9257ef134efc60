"""Draw one experiment's chart: an SVG for print and a Vega-Lite specification, its data inside, for the report.

The data are a table with the columns that the experiment's `figure` names and `source`: "saitan" for ours, "paper" and
"paper, 1.43 M vertices" for printed numbers, which are drawn as diamonds and squares over ours. A row that is not
`settled` is pale and has a hollow circle. A row without x (a variant that the swept parameter means nothing to) is a
level across the chart; columns named as y with _q1 and _q3 are drawn as its quartiles.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from pydantic import Field

from saitan.workflow.config import Figure
from saitan.workflow.files import beside
from saitan.workflow.numbers import steps_of, typeset
from saitan.workflow.published import PAPER
from saitan.workflow.samples import described
from saitan.workflow.step import Failure, run_step
from saitan.workflow.vega import theme, vega_lite_version

WIDTH = 720
_DATA = "measured"
OURS, DOUBTFUL = "saitan", "not settled"
# A series with more values than this has no marker at each; a number as colour with more values is a gradient.
FEW_MARKERS, FEW_COLORS = 40, 8


class Drawn(Figure):
    """A figure as `--figure` gives it: the configuration's, and the title over it; units: of the data's columns."""

    title: str
    units: dict[str, str] = Field(default={})


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


def specification(figure: Drawn, table: pd.DataFrame, *, interactive: bool) -> dict[str, Any]:
    """A figure's Vega-Lite specification, the data inside. Raises Failure for a column that the data lack.

    interactive: with tooltips, highlighting by the legend, and zoom where x is continuous.
    """
    data = _tidy(figure, table)
    with warnings.catch_warnings():
        # Panels share their selections on purpose.
        warnings.filterwarnings("ignore", "Automatically deduplicated selection parameter")
        # Altair checks every part as it is made; checking the whole again takes half of a chart's time.
        drawn = _chart(figure, data, interactive).to_dict(validate=False)
    drawn["description"] = f"{figure.title}: {', '.join(figure.y)} against {figure.x}"
    # Added last, for the same reason: it would check every row.
    drawn["datasets"] = {**drawn.get("datasets", {}), _DATA: _records(data)}
    return drawn


def _chart(figure: Drawn, data: pd.DataFrame, interactive: bool) -> alt.TopLevelMixin:
    if not data[["x", "y0"]].notna().any(axis=None):
        empty = alt.Chart(pd.DataFrame({"text": ["Nothing was measured"]})).mark_text(size=16).encode(text="text:N")
        return empty.properties(width=WIDTH, height=80, title=figure.title).configure(**theme())
    titles = figure.y_title or []
    facets = [] if "facet" not in data else list(dict.fromkeys(data["facet"]))
    columns = 2 if len(facets) == 4 else min(len(facets), 3) or 1
    size = {"width": WIDTH // columns - 40 * (columns > 1), "height": 320 if len(figure.y) == 1 else 200}
    bars = figure.mark == "bar"
    x = _axis("x", data["x"], figure.x_title or _words(figure.x), figure.x_log, bars, figure.units.get(figure.x, ""))
    last = len(figure.y) - 1
    picked = alt.selection_point(name="picked", fields=["color"], bind="legend")
    values, panels = alt.NamedData(_DATA), []
    for number, name in enumerate(figure.y):
        title = titles[number] if number < len(titles) else _words(name)
        y = _axis(f"y{number}", data[f"y{number}"], title, figure.y_log, bars, figure.units.get(name, ""))
        above = replace(x, title=None) if number < last else x
        encoder = _Encoder(figure, data, above, y, picked if interactive and figure.color else None, interactive)
        panel = alt.layer(*encoder.layers()).properties(**size)
        if facets:
            panel = panel.facet(data=values, facet=alt.Facet("facet:N", title=None, sort=facets), columns=columns)
            if not figure.y_log:
                # One linear scale would flatten the GPU's chart beside the CPU's.
                panel = panel.resolve_scale(y="independent")
        panels.append(panel)
    whole = alt.vconcat(*panels, data=values) if len(panels) > 1 else panels[0].properties(data=values)
    if interactive and figure.color:
        whole = whole.add_params(picked)
    if interactive and x.kind == "Q":
        # The wheel alone scrolls the page; with Control, which a pinch on a touch pad sends too, it zooms.
        zoom = "wheel![event.ctrlKey || event.metaKey]"
        window = {"encodings": ["x"]} if len(panels) > 1 else {}
        whole = whole.add_params(alt.selection_interval(name="window", bind="scales", zoom=zoom, **window))
    return whole.properties(title=figure.title).configure(**theme())


class _Encoder:
    """The layers of one panel."""

    def __init__(self, figure: Drawn, data: pd.DataFrame, x: Axis, y: Axis, picked: Any, interactive: bool):
        self.figure, self.data, self.x, self.y, self.interactive = figure, data, x, y, interactive
        self.ours = data[(data["source"] == OURS) & data[y.field].notna()]
        self.base = {
            "x": alt.X(x.shorthand, title=x.title, scale=x.scale, axis=x.axis, sort=None),
            "y": alt.Y(y.shorthand, title=y.title, scale=y.scale, axis=y.axis, stack=None),
        }
        self.tooltips: dict[str, Any] = {}
        if figure.color:
            self.base["color"] = self._color()
            if figure.mark == "bar":
                self.base["xOffset"] = alt.XOffset("color:N", sort=self._colors())
        if picked is not None:
            self.base["opacity"] = alt.when(picked).then(alt.value(1)).otherwise(alt.value(0.12))
        if interactive:
            named = [("color", figure.color), ("facet", figure.facet if "facet" in data else None)]
            self.tooltips["tooltip"] = [
                *(alt.Tooltip(f"{field}:N", title=_words(name)) for field, name in named if name),
                x.tooltip(),
                y.tooltip(),
                alt.Tooltip("source:N", title="Source"),
                *([alt.Tooltip("state:N", title="Median")] if self.ours["doubt"].any() else []),
            ]

    def layers(self) -> list[alt.Chart]:
        layers = self._of_ours()
        if self.ours["x"].isna().any():
            layers.append(self._levels())
        if f"{self.y.field}_q1" in self.data:
            layers.append(self._quartiles())
        if (self.data["mark"] != "").any():
            layers += self._hollow()
        return layers

    def _of_ours(self) -> list[alt.Chart]:
        chosen = alt.Chart().transform_filter(f"datum.source == '{OURS}' && isValid(datum.x)")
        if self.figure.mark == "bar":
            pale = {}
            if self.ours["doubt"].any():
                pale["fillOpacity"] = alt.condition(f"datum.state == '{DOUBTFUL}'", alt.value(0.45), alt.value(1))
            return [chosen.mark_bar().encode(**self.base, **pale, **self.tooltips)]
        if self.figure.mark == "point":
            return [chosen.mark_point(filled=True, size=70, opacity=1).encode(**self.base, **self.tooltips)]
        line = chosen.mark_line(strokeWidth=2, interpolate="step-after" if self.figure.mark == "step" else "linear")
        series = [name for name in ("color", "facet") if self.figure.color or name == "facet"]
        few = self.ours.groupby([n for n in series if n in self.ours] or [lambda _: 0], dropna=False).size().max()
        layers = [line.encode(**self.base)]
        if few <= FEW_MARKERS and self.figure.mark == "line":
            layers.append(chosen.mark_point(filled=True, size=45, opacity=1).encode(**self.base, **self.tooltips))
        elif self.interactive:
            # A line answers the pointer with its first value only; unseen points answer with their own.
            unseen = {name: channel for name, channel in self.base.items() if name != "opacity"}
            layers.append(chosen.mark_point(filled=True, size=60, opacity=0).encode(**unseen, **self.tooltips))
        return layers

    def _levels(self) -> alt.Chart:
        level = alt.Chart().transform_filter(f"datum.source == '{OURS}' && !isValid(datum.x)")
        encoding = {name: channel for name, channel in self.base.items() if name != "x"}
        return level.mark_rule(strokeWidth=2, strokeDash=[8, 3]).encode(**encoding, **self.tooltips)

    def _quartiles(self) -> alt.Chart:
        low, high = f"{self.y.field}_q1", f"{self.y.field}_q3"
        measured = alt.Chart().transform_filter(f"datum.source == '{OURS}' && isValid(datum.x) && isValid(datum.{low})")
        encoding = self.base | {"y": alt.Y(f"{low}:Q", title=self.y.title), "y2": alt.Y2(f"{high}:Q")}
        if self.figure.mark == "bar":
            encoding.pop("color", None)
        return measured.mark_rule(strokeWidth=1.5).encode(**encoding)

    def _hollow(self) -> list[alt.Chart]:
        """Marks with a legend entry of their own: circles where ours had not settled, and what papers print.

        What a paper prints of a curve are points, no line joins them.
        """
        present = list(dict.fromkeys(self.data["mark"]))
        kinds = {kind: shape for kind, shape in _shapes(present).items() if kind in present}
        shape = alt.Shape(
            "mark:N",
            scale=alt.Scale(domain=list(kinds), range=list(kinds.values())),
            legend=alt.Legend(title=None, symbolFillColor="white"),
        )
        layers = []
        for where, place in (("isValid(datum.x)", {}), ("!isValid(datum.x)", {"x": alt.value("width")})):
            chosen = alt.Chart().transform_filter(f"isValid(datum.mark) && {where} && isValid(datum.{self.y.field})")
            point = chosen.mark_point(filled=False, fill="white", size=110, strokeWidth=2.5, opacity=1)
            if not place or self.data.loc[self.data["mark"] != "", "x"].isna().any():
                layers.append(point.encode(**{**self.base, **place}, **self.tooltips, shape=shape))
        return layers

    def _colors(self) -> list[Any]:
        """The values of the colour in the order of the data; numbers, written as text too, by size."""
        values = [value for value in dict.fromkeys(self.data["color"]) if not pd.isna(value)]
        return sorted(values, key=float) if all(_is_number(value) for value in values) else values

    def _color(self) -> Any:
        title, values = _words(self.figure.color), self._colors()
        if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
            kind = "O" if len(values) <= FEW_COLORS else "Q"
            scale = alt.Scale(scheme="viridis")
            encoded = alt.Color(f"color:{kind}", title=title, scale=scale, **({"sort": values} if kind == "O" else {}))
        else:
            encoded = alt.Color("color:N", title=title, scale=alt.Scale(domain=values))
        # The other colour is for printed numbers that name no series, and for the diamond in the legend.
        return alt.condition("isValid(datum.color)", encoded, alt.value("#8a8f98"))


def _shapes(present: list[str]) -> dict[str, str]:
    """The hollow marks there can be, in the order of the legend."""
    printed = sorted(kind for kind in present if kind.startswith(f"{PAPER},"))
    others = dict(zip(printed, itertools.cycle(("square", "triangle-up", "cross")), strict=False))
    return {DOUBTFUL: "circle", PAPER: "diamond", **others}


def _is_number(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return False
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def _tidy(figure: Drawn, table: pd.DataFrame) -> pd.DataFrame:
    """The columns a chart uses under fixed names (so that any name does): x, y0, y1, ..., color, facet, source, doubt,
    state (in words), mark (what hollow mark it has, or none), and quartiles as y0_q1, y0_q3, ...

    A printed row that names no facet is repeated in each; infinities become missing; there is no facet where it has one
    value only.
    """
    wanted = {"x": figure.x, **{f"y{i}": name for i, name in enumerate(figure.y)}}
    wanted |= {key: name for key, name in (("color", figure.color), ("facet", figure.facet)) if name}
    if table.empty or not (table["source"] == OURS).any():
        return pd.DataFrame(columns=[key for key in wanted if key != "facet"], dtype=float).assign(source="", mark="")
    for key, name in wanted.items():
        if name not in table:
            at = "y" if key.startswith("y") else key
            have = ", ".join(column for column in table.columns if column != "source")
            raise Failure(f"figure.{at}: the data have no column {name!r} (they have: {have})")
    data = pd.DataFrame({key: table[name] for key, name in wanted.items()})
    data["source"] = table["source"]
    ours = data["source"] == OURS
    data["doubt"] = ours & (table["settled"].fillna(True) == False if "settled" in table else False)  # noqa: E712
    for i, name in enumerate(figure.y):
        for end in ("q1", "q3"):
            if f"{name}_{end}" in table:
                data[f"y{i}_{end}"] = table[f"{name}_{end}"]
    data = data.replace([np.inf, -np.inf], np.nan)
    if not figure.y_log:
        for i in range(len(figure.y)):
            # The paper's numbers of a larger graph would flatten ours; the table has them.
            far = data["source"].str.startswith(f"{PAPER},") & (data[f"y{i}"] > 2 * data.loc[ours, f"y{i}"].max())
            data.loc[far, f"y{i}"] = np.nan
        data = data[ours | data[[f"y{i}" for i in range(len(figure.y))]].notna().any(axis=1)]
    for key in ("color", "facet"):
        if wanted.get(key) == "backend":
            data[key] = data[key].replace({"cpu": "CPU", "cuda": "GPU"})
    if "facet" in data:
        data = _facetted(figure, data)
    ours = data["source"] == OURS
    data["state"] = np.where(data["doubt"], DOUBTFUL, np.where(ours, "settled", None))
    data["mark"] = np.where(ours, np.where(_marked(data), DOUBTFUL, ""), data["source"])
    return data


def _facetted(figure: Drawn, data: pd.DataFrame) -> pd.DataFrame:
    """With the facets as text in the order they are shown, numbers by size; without the column where one value is."""
    values = list(dict.fromkeys(data.loc[data["source"] == OURS, "facet"].dropna()))
    if len(values) < 2:
        return data.drop(columns="facet")
    numeric = all(_is_number(value) for value in values)
    open_rows = data["facet"].isna()
    repeated = [data[open_rows].assign(facet=value) for value in values]
    data = pd.concat([data[~open_rows & data["facet"].isin(values)], *repeated], ignore_index=True)
    if numeric:
        data = data.sort_values("facet", key=lambda facet: facet.astype(float), kind="stable")
    data["facet"] = data["facet"].map((lambda value: f"{_words(figure.facet)} {float(value):g}") if numeric else str)
    return data


def _marked(data: pd.DataFrame) -> pd.Series:
    """Which of our rows bear a circle: those in doubt; of a series with no marker at each, its last."""
    series = [data[name].astype(str) for name in ("color", "facet") if name in data] or [pd.Series("", data.index)]
    groups = data.groupby(series, sort=False)
    long = groups["source"].transform("size") > FEW_MARKERS
    last = groups.cumcount(ascending=False) == 0
    return data["doubt"] & (~long | last)


def _records(data: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows with what is missing left out and numbers cut to six digits."""
    rows = data.drop(columns="doubt", errors="ignore").to_dict("records")
    return [{key: _short(value) for key, value in row.items() if value != "" and not pd.isna(value)} for row in rows]


def _short(value: Any) -> Any:
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, (int, np.integer)):
        return int(value)
    return float(f"{value:.6g}") if isinstance(value, (float, np.floating)) else str(value)


def _axis(field: str, values: pd.Series, title: str, log: bool, bars: bool, unit: str) -> Axis:
    present = values.dropna()
    name = title = typeset(title)
    discrete = bars and field == "x"
    if discrete or not pd.api.types.is_numeric_dtype(present) or pd.api.types.is_bool_dtype(present):
        scale = alt.Scale(padding=0.15) if discrete else alt.Scale()
        return Axis(field, title, title, "O", scale, alt.Axis(labelAngle=0, labelLimit=200), "")
    number_format = "," if (present % 1 == 0).all() else ".4~g"
    sizes = present[present != 0].abs()
    least, largest = (float(sizes.min()), float(sizes.max())) if len(sizes) else (1.0, 1.0)
    steps = steps_of(unit)
    if len(steps) > 1:
        # The ticks say the unit.
        ticks = {"labelExpr": _with_unit(steps)}
        title = "Time" if title == "Seconds" else title.removesuffix(f" ({unit})")
    else:
        # The precision is fixed here: Vega's own, taken from the step between ticks, fails on scales that are not
        # linear. Large counts have prefixes; nobody writes 10m for 0.01.
        form = ".3~s" if largest >= 1e4 and (least >= 1 or not log) else "~g" if least >= 1e-4 or not log else ".0~e"
        ticks = {"labelExpr": f"datum.label ? format(datum.value, '{form}') : ''"}
    # Marks at the edges need room; bars stand on theirs.
    edge = {} if bars else {"padding": 6, "nice": False}
    if not log:
        scale, ticks["tickCount"] = alt.Scale(zero=field != "x", **edge), 6
    elif present.min() > 0:
        # A bar's foot is the axis: far enough below the least value that its bar can be seen. Where an end is given,
        # Vega-Lite rounds the other only if told to.
        ends = {"domainMin": 10.0 ** math.floor(math.log10(least / 2)), "nice": True} if bars else edge
        scale, ticks["tickCount"] = alt.Scale(type="log", **ends), 5
    else:
        # Zeros have no logarithm: linear up to the least value that is not zero, logarithmic above.
        scale, ticks["values"] = (
            alt.Scale(type="symlog", constant=least, **edge),
            _powers(present.min(), least, largest),
        )
    return Axis(field, name, title, "Q", scale, alt.Axis(**ticks), number_format)


def _with_unit(steps: list[tuple[float, str]]) -> str:
    """Vega's expression for a tick with its unit: "10 ms", "2 GTEPS"."""
    text = f"format(datum.value / {steps[-1][0]!r}, '.3~g') + ' {steps[-1][1]}'"
    for factor, unit in reversed(steps[:-1]):
        # A tick of a logarithmic scale is a power of ten up to rounding.
        written = f"format(datum.value / {factor!r}, '.3~g') + ' {unit}'"
        text = f"abs(datum.value) >= {factor * (1 - 1e-9)!r} ? {written} : {text}"
    return f"!datum.label ? '' : datum.value == 0 ? '0' : {text}"


def _powers(lowest: float, least: float, largest: float) -> list[float]:
    """Ticks around zero: powers of ten from `least` to `largest`, about six; those below zero where values are."""
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(largest))
    powers = [10.0**power for power in range(low, high + 1, max(1, (high - low) // 6))]
    return [0.0, *powers] if lowest >= 0 else [*(-power for power in reversed(powers)), 0.0, *powers]


def _words(name: str) -> str:
    text = name.replace("_", " ")
    return text[:1].upper() + text[1:]


def draw(arguments: argparse.Namespace) -> None:
    import vl_convert

    told = described(arguments.data)
    figure = Drawn.model_validate_json(arguments.figure).model_copy(update={"units": told["units"]})
    table = pd.read_parquet(arguments.data)
    with beside(arguments.spec) as path:
        interactive = specification(figure, table, interactive=True)
        interactive["usermeta"] = {"saitan": {"identity": told["identity"]}, **interactive.get("usermeta", {})}
        path.write_text(json.dumps(interactive, separators=(",", ":"), allow_nan=False))
    with beside(arguments.svg) as path:
        printed = specification(figure, table, interactive=False)
        path.write_text(vl_convert.vegalite_to_svg(printed, vl_version=vega_lite_version(), allowed_base_urls=[]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--experiment", required=True, help="its name")
    parser.add_argument("--figure", required=True, help="the experiment's `figure` and `title`, as JSON")
    parser.add_argument("--data", type=Path, required=True, help="the chart's data, .parquet")
    parser.add_argument("--svg", type=Path, required=True)
    parser.add_argument("--spec", type=Path, required=True, help="Vega-Lite .json to write")
    run_step(draw, parser)


if __name__ == "__main__":
    main()
