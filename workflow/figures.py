"""Draw one experiment's chart: an SVG for print and a Vega-Lite specification, its data inside, for the report.

The data are a table with the columns that the experiment's `figure` names and `source`: "saitan" for ours, "paper" and
"paper, 1.43 M vertices" for printed numbers, which are drawn as diamonds and squares over ours. A row that is not
`settled` is pale and has a hollow circle. A row without x (a variant that the swept parameter means nothing to) is a
level across the chart; columns named as y with _q1 and _q3 are drawn as its quartiles.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
from pydantic import Field

from saitan.files import beside
from saitan.workflow.axes import Axis, axis_of, titled, words
from saitan.workflow.config_model import Figure
from saitan.workflow.figure_data import (
    DOUBTFUL,
    FEW_MARKERS,
    OURS,
    chart_value,
    is_number,
    records,
    series_of,
    shapes,
    tidy,
)
from saitan.workflow.numbers import NONE
from saitan.workflow.parquet_files import described, read_rows
from saitan.workflow.quantities import is_timed
from saitan.workflow.step import run_step
from saitan.workflow.vega import COLORS, check_room, theme, vega_lite_version

WIDTH = 720
# Facets with scales of their own: one linear scale would flatten the GPU's chart beside the CPU's.
SCALED = ("backend", "graph")
_DATA = "measured"
# Pixels that the labels of a facet's y axis have, also where they are short.
LABELS = 44
# A number as colour with more values than this is a gradient.
FEW_COLORS = 8


class Drawn(Figure):
    """A figure as `--figure` gives it: the configuration's, and the title over it.

    units, counts, keys: of the data's columns; which no clock enters; which say what point a row is of
    """

    title: str
    units: dict[str, str] = Field(default={})
    counts: list[str] = Field(default=[])
    keys: list[str] = Field(default=[])

    def clocked(self, y: str) -> bool:
        """Whether a point of this panel can be in doubt."""
        return y not in self.counts or is_timed(self.units.get(self.x, ""))


def specification(figure: Drawn, table: pd.DataFrame, *, interactive: bool) -> dict[str, Any]:
    """A figure's Vega-Lite specification, the data inside. Raises Failure for a column that the data lack.

    interactive: with tooltips, highlighting by the legend, and zoom where x is continuous.
    """
    if not any(map(figure.clocked, figure.y)):
        table = table.assign(settled=True)
    data = tidy(figure, table, figure.keys)
    with warnings.catch_warnings():
        # Panels share their selections on purpose.
        warnings.filterwarnings("ignore", "Automatically deduplicated selection parameter")
        # Altair checks every part as it is made; checking the whole again takes half of a chart's time.
        drawn = _chart(figure, data, interactive).to_dict(validate=False)
    drawn["description"] = f"{figure.title}: {', '.join(figure.y)} against {figure.x}"
    # Added last, for the same reason: it would check every row.
    drawn["datasets"] = {**drawn.get("datasets", {}), _DATA: records(data)}
    return drawn


def _chart(figure: Drawn, data: pd.DataFrame, interactive: bool) -> alt.TopLevelMixin:
    if not data[[f"y{number}" for number in range(len(figure.y))]].notna().any(axis=None):
        empty = alt.Chart(pd.DataFrame({"text": ["No numbers to draw"]})).mark_text(size=16).encode(text="text:N")
        return empty.properties(width=WIDTH, height=80, title=figure.title).configure(**theme())
    titles = figure.y_title or []
    facets = [] if "facet" not in data else list(dict.fromkeys(data["facet"]))
    columns = 2 if len(facets) == 4 else min(len(facets), 3) or 1
    size = {"width": WIDTH // columns - 40 * (columns > 1), "height": 320 if len(figure.y) == 1 else 200}
    bars = figure.mark == "bar"
    x_unit, last = figure.units.get(figure.x, ""), len(figure.y) - 1
    x_title = figure.x_title or titled(figure.x, x_unit)
    picked = alt.selection_point(name="picked", fields=["color"], bind="legend")
    values, panels = alt.NamedData(_DATA), []
    for number, name in enumerate(figure.y):
        field, unit = f"y{number}", figure.units.get(name, "")
        title = titles[number] if number < len(titles) else titled(name, unit)
        if data[field].isna().all():
            title += ": no numbers"
        quartiles = [data[column] for end in ("q1", "q3") if (column := f"{field}_{end}") in data]
        y = axis_of(field, data[field], title, figure.y_log, bars, unit, beside=quartiles)
        if facets and not figure.y_log:
            # By it the facets of a column stand under each other, and over the labels of their one x axis.
            y.axis.minExtent = LABELS
        # As Vega-Lite names it.
        width = f"concat_{number}_child_width" if facets and last else "child_width" if facets else "width"
        x = axis_of("x", data["x"], x_title, figure.x_log, bars, x_unit, width=width)
        above = replace(x, title=None) if number < last else x
        chosen = picked if interactive and figure.color else None
        encoder = _Encoder(figure, data, above, y, chosen, interactive, figure.clocked(name))
        panel = alt.layer(*encoder.layers()).properties(**size)
        if facets:
            # A longer heading would move its panel away from those above.
            header = alt.Header(labelLimit=size["width"])
            facet = alt.Facet("facet:N", title=None, sort=facets, header=header)
            panel = panel.facet(data=values, facet=facet, columns=columns)
            if _scales_apart(figure, data, field):
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


def _scales_apart(figure: Drawn, data: pd.DataFrame, field: str) -> bool:
    """Whether each facet has a y scale of its own. It spans from 0 to a number of the facet: there must be one."""
    if figure.y_log or figure.facet not in SCALED or not pd.api.types.is_numeric_dtype(data[field]):
        return False
    return bool((data[field].abs().groupby(data["facet"]).max().dropna() > 0).all())


class _Encoder:
    """The layers of one panel. clocked: whether its numbers can be in doubt."""

    def __init__(
        self, figure: Drawn, data: pd.DataFrame, x: Axis, y: Axis, picked: Any, interactive: bool, clocked: bool
    ):
        self.figure, self.data, self.x, self.y, self.interactive = figure, data, x, y, interactive
        self.ours = data[(data["source"] == OURS) & data[y.field].notna()]
        self.in_doubt = clocked and self.ours["doubt"].any()
        self.marks = [mark for mark in dict.fromkeys(data["mark"]) if mark and (clocked or mark != DOUBTFUL)]
        self.base = {
            "x": alt.X(x.shorthand, title=x.title, scale=x.scale, axis=x.axis, sort=self._order(data["x"])),
            "y": alt.Y(y.shorthand, title=y.title, scale=y.scale, axis=y.axis, stack=None),
        }
        self.tooltips: dict[str, Any] = {}
        self.at_levels: dict[str, Any] = {}
        if figure.color:
            self.base["color"] = self._color()
        # Where each x has a colour of its own, colour says nothing of bars at one x.
        self.colored_beside = bool(figure.color) and figure.color != figure.x
        if figure.mark == "bar" and (self.colored_beside or "series" in data):
            self.base["xOffset"] = self._offset()
        if picked is not None:
            self.base["opacity"] = alt.when(picked).then(alt.value(1)).otherwise(alt.value(0.12))
        if interactive:
            named = [("color", figure.color), ("facet", figure.facet if "facet" in data else None)]
            of = [
                *(alt.Tooltip(f"{field}:N", title=words(name)) for field, name in named if name),
                *([alt.Tooltip("series:N", title="Of")] if "series" in data else []),
                *([alt.Tooltip("point:N", title="Point")] if "point" in data else []),
            ]
            says = [y.tooltip(), alt.Tooltip("source:N", title="Source")]
            says += [alt.Tooltip("state:N", title="Median")] if self.in_doubt else []
            self.tooltips["tooltip"], self.at_levels["tooltip"] = [*of, x.tooltip(), *says], [*of, *says]

    def layers(self) -> list[alt.Chart]:
        layers = self._of_ours()
        if self.ours["x"].isna().any():
            layers.append(self._levels())
        if f"{self.y.field}_q1" in self.data:
            layers.append(self._quartiles())
        if self.marks:
            layers += self._hollow()
        return layers

    def _of_ours(self) -> list[alt.Chart]:
        chosen = alt.Chart().transform_filter(f"datum.source == '{OURS}' && isValid(datum.x)")
        if self.figure.mark == "bar":
            pale = {}
            if self.in_doubt:
                pale["fillOpacity"] = alt.condition(f"datum.state == '{DOUBTFUL}'", alt.value(0.45), alt.value(1))
            return [chosen.mark_bar().encode(**self.base, **pale, **self.tooltips)]
        if self.figure.mark == "point":
            return [chosen.mark_point(filled=True, size=70, opacity=1).encode(**self.base, **self.tooltips)]
        line = chosen.mark_line(strokeWidth=2, interpolate="step-after" if self.figure.mark == "step" else "linear")
        few = self.ours.groupby(series_of(self.ours)).size().max()
        each = {"detail": alt.Detail("series:N")} if "series" in self.data else {}
        layers, point = [line.encode(**self.base, **each)], chosen.mark_point(filled=True, size=45, opacity=1)
        if few <= FEW_MARKERS and self.figure.mark == "line":
            return [*layers, point.encode(**self.base, **self.tooltips)]
        if (alone := f"{self.y.field}_alone") in self.data:
            layers.append(point.transform_filter(f"isValid(datum.{alone})").encode(**self.base))
        if self.interactive:
            # A line answers the pointer with its first value only; unseen points answer with their own.
            unseen = {name: channel for name, channel in self.base.items() if name != "opacity"}
            layers.append(chosen.mark_point(filled=True, size=60, opacity=0).encode(**unseen, **self.tooltips))
        return layers

    def _levels(self) -> alt.Chart:
        level = alt.Chart().transform_filter(f"datum.source == '{OURS}' && !isValid(datum.x)")
        encoding = {name: channel for name, channel in self.base.items() if name not in ("x", "xOffset")}
        return level.mark_rule(strokeWidth=2, strokeDash=[8, 3]).encode(**encoding, **self.at_levels)

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
        # The same in all panels, which share their legend.
        present = list(dict.fromkeys(self.data["mark"]))
        kinds = {kind: shape for kind, shape in shapes(present).items() if kind in present}
        shape = alt.Shape(
            "mark:N",
            scale=alt.Scale(domain=list(kinds), range=list(kinds.values())),
            legend=alt.Legend(title=None, symbolFillColor="white"),
        )
        layers = []
        at_end = {name: channel for name, channel in self.base.items() if name != "xOffset"} | {"x": alt.value("width")}
        for where, place in (("isValid(datum.x)", {}), ("!isValid(datum.x)", at_end)):
            shown = f"indexof({json.dumps(self.marks)}, datum.mark) >= 0"
            chosen = alt.Chart().transform_filter(f"{shown} && {where} && isValid(datum.{self.y.field})")
            # Of a mark on the frame, a chart that can be moved would show half.
            whole = {"clip": False} if place else {}
            point = chosen.mark_point(filled=False, fill="white", size=110, strokeWidth=2.5, opacity=1, **whole)
            if not place or self.data.loc[self.data["mark"].isin(self.marks), "x"].isna().any():
                told = self.at_levels if place else self.tooltips
                layers.append(point.encode(**(place or self.base), **told, shape=shape))
        return layers

    def _offset(self) -> alt.XOffset:
        """Bars beside each other at one x: by colour, and of one colour by series."""
        if "place" not in self.data:
            return alt.XOffset("color:N", sort=self._colors())
        places = self.data.dropna(subset="place").drop_duplicates("place")
        if self.colored_beside:
            order = {value: rank for rank, value in enumerate(self._colors())}
            ranks = places["color"].map(lambda value: order[chart_value(value)], na_action="ignore")
            places = places.iloc[ranks.astype(float).argsort(kind="stable")]
        return alt.XOffset("place:N", sort=list(places["place"]))

    @staticmethod
    def _order(values: pd.Series) -> str | None:
        """Numbers by size, names in the order of the data."""
        numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
        return "ascending" if numeric else None

    def _colors(self) -> list[Any]:
        """The values of the colour in the order of the data, numbers, written as text too, by size; NONE is last."""
        values = [chart_value(value) for value in dict.fromkeys(self.data["color"]) if not pd.isna(value)]
        there = [value for value in values if value != NONE]
        if all(is_number(value) for value in there):
            there.sort(key=float)
        return there + [NONE] * (NONE in values)

    def _color(self) -> Any:
        title, values = words(self.figure.color), self._colors()
        if all(isinstance(value, (int, float)) or value == NONE for value in values):
            kind = "Q" if len(values) > FEW_COLORS and NONE not in values else "O"
            # Without its domain the scale has a colour for what has no number.
            scale = alt.Scale(scheme="viridis", **({"domain": values} if kind == "O" else {}))
            encoded = alt.Color(f"color:{kind}", title=title, scale=scale)
        else:
            # The theme's colours would begin again; of a circle of hues the last is the first.
            many = {"scheme": alt.SchemeParams("sinebow", count=len(values) + 1)} if len(values) > COLORS else {}
            encoded = alt.Color("color:N", title=title, scale=alt.Scale(domain=values, **many))
        # The other colour is for printed numbers that name no series, for the diamond in the legend, and for ours where
        # none of them has a colour.
        return alt.condition("isValid(datum.color)", encoded, alt.value("#8a8f98"))


def draw(arguments: argparse.Namespace) -> None:
    import vl_convert

    check_room()
    told = described(arguments.data)
    figure = Drawn.model_validate_json(arguments.figure).model_copy(
        update={name: told[name] for name in ("units", "counts", "keys")}
    )
    table = read_rows(arguments.data).to_pandas()
    with beside(arguments.spec) as path:
        interactive = specification(figure, table, interactive=True)
        interactive["usermeta"] = {"saitan": {"identity": told["identity"]}, **interactive.get("usermeta", {})}
        path.write_text(json.dumps(interactive, separators=(",", ":"), allow_nan=False), encoding="utf-8")
    with beside(arguments.svg) as path:
        printed = specification(figure, table, interactive=False)
        path.write_text(
            vl_convert.vegalite_to_svg(printed, vl_version=vega_lite_version(), allowed_base_urls=[]), encoding="utf-8"
        )


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
