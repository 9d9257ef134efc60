"""The rows of a chart under fixed names, and what marks say where they come from."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from saitan.workflow.axes import words
from saitan.workflow.config_model import Figure
from saitan.workflow.numbers import NONE, as_text
from saitan.workflow.published import PAPER

OURS, DOUBTFUL = "saitan", "not settled or disturbed"
# A series with more values than this has no marker at each.
FEW_MARKERS = 40


def shapes(present: list[str]) -> dict[str, str]:
    """The hollow marks there can be, in the order of the legend."""
    printed = sorted(kind for kind in present if kind.startswith(f"{PAPER},"))
    others = dict(zip(printed, itertools.cycle(("square", "triangle-up", "cross")), strict=False))
    return {DOUBTFUL: "circle", PAPER: "diamond", **others}


def is_number(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return False
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def tidy(figure: Figure, table: pd.DataFrame, keys: Sequence[str] = ()) -> pd.DataFrame:
    """The columns a chart uses under fixed names (so that any name does): x, y0, y1, ..., color, facet, source, doubt,
    state (in words), mark (what hollow mark it has, or none), quartiles as y0_q1, y0_q3, ..., and as y0_alone, ...
    those numbers that a line or step would not show, because none stands before or after them.

    keys: columns that say which point a row is of. Where x, colour and facet do not tell all of them apart, `series`
    says in words what does, and `place` is that of a bar among those at one x. Where x is none of them, `point` says
    what else a point is of.
    A printed row that names no facet is repeated in each; one without x stands where ours of its colour is a level, and
    is left out elsewhere. Infinities become missing, and so does a column that the data lack; there is no facet where
    it has one value only.
    """
    wanted = {"x": figure.x, **{f"y{i}": name for i, name in enumerate(figure.y)}}
    wanted |= {key: name for key, name in (("color", figure.color), ("facet", figure.facet)) if name}
    # What the problem knows, and none of the variants counted.
    uncounted = [key for key, name in wanted.items() if name not in table]
    nothing = "x" in uncounted or all(f"y{i}" in uncounted for i in range(len(figure.y)))
    if nothing or table.empty or not (table["source"] == OURS).any():
        return pd.DataFrame(columns=[key for key in wanted if key != "facet"], dtype=float).assign(source="", mark="")
    table = table.assign(**{wanted[key]: np.nan if key.startswith("y") else None for key in uncounted})
    data = pd.DataFrame({key: table[name] for key, name in wanted.items()})
    if apart := _apart(figure, table, keys):
        data["series"] = [_named(row) for row in table[apart].to_dict("records")]
    if beside := _beside(figure, table, keys, apart):
        data["point"] = [_named(row) for row in table[beside].to_dict("records")]
    data["source"] = table["source"]
    ours = data["source"] == OURS
    if apart and figure.mark == "bar":
        colors = data["color"] if "color" in data and figure.color != figure.x else pd.Series("", data.index)
        # What is printed without a colour stands in the middle.
        data["place"] = (_texts(colors) + " " + data["series"]).where(ours | colors.notna())
    data["doubt"] = ours & (table["settled"].eq(False) if "settled" in table else False)
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
    data = _placed(data)
    if "color" in data:
        ours = data["source"] == OURS
        bare = ours & data["color"].isna()
        if (ours & ~bare).any():
            # What some of ours lack has a colour too, the legend's last.
            data["color"] = data["color"].astype(object).mask(bare, NONE)
    for key in ("color", "facet"):
        if wanted.get(key) == "backend":
            data[key] = data[key].replace({"cpu": "CPU", "cuda": "GPU"})
    if "facet" in data:
        data = _facetted(figure, data)
    ours = data["source"] == OURS
    data["state"] = np.where(data["doubt"], DOUBTFUL, np.where(ours, "settled", None))
    data["mark"] = np.where(ours, np.where(_marked(data), DOUBTFUL, ""), data["source"])
    if figure.mark in ("line", "step"):
        data = data.reset_index(drop=True)
        for i in range(len(figure.y)):
            alone = _alone(data, f"y{i}")
            if alone.notna().any():
                data[f"y{i}_alone"] = alone
    return data


def _alone(data: pd.DataFrame, y: str) -> pd.Series:
    """Of ours the numbers of a column that are not joined to another one of their series."""
    drawn = data[(data["source"] == OURS) & data["x"].notna()]
    if pd.api.types.is_numeric_dtype(drawn["x"]):
        drawn = drawn.sort_values("x", kind="stable")
    there = drawn[y].notna()
    beside = there.groupby(series_of(drawn))
    joined = beside.shift(1, fill_value=False) | beside.shift(-1, fill_value=False)
    return drawn[y].where(there & ~joined).reindex(data.index)


def _apart(figure: Figure, table: pd.DataFrame, keys: Sequence[str]) -> list[str]:
    """The keys in which rows of ours differ whose place and look would be the same, or that one line would join; and
    those by which rows without a colour differ from the others.
    """
    ours = table[table["source"] == OURS]
    look = [name for name in (figure.color, figure.facet) if name]
    # A row a point, or a curve of each.
    points = bool(keys) and not ours.duplicated(list(keys)).any()
    together = [figure.x, *look] if points else look
    groups = ours.groupby(together or (lambda _: 0), dropna=False, sort=False)
    bare = ours[figure.color].isna() if figure.color else pd.Series(True, ours.index)
    return [
        name
        for name in keys
        if name not in {figure.x, *look}
        and ((groups[name].nunique(dropna=False) > 1).any() or _disjoint(ours.loc[bare, name], ours.loc[~bare, name]))
    ]


def _beside(figure: Figure, table: pd.DataFrame, keys: Sequence[str], apart: Collection[str]) -> list[str]:
    """Where x is no key: those that ours differ in and that neither the marks nor their series tell."""
    told = {figure.x, figure.color, figure.facet, *apart}
    ours = table[table["source"] == OURS]
    if not keys or figure.x in keys or ours.duplicated(list(keys)).any():
        return []
    return [name for name in keys if name not in told and ours[name].nunique(dropna=False) > 1]


def _disjoint(some: pd.Series, others: pd.Series) -> bool:
    return len(some) > 0 < len(others) and not some.isin(others).any()


def _named(row: dict[str, Any]) -> str:
    return ", ".join(f"{words(name)} {as_text(value)}" for name, value in row.items() if not pd.isna(value))


def _placed(data: pd.DataFrame) -> pd.DataFrame:
    """Without printed rows that have no x, save where ours of their colour have none either."""
    ours = data["source"] == OURS
    levels = data[ours & data["x"].isna()]
    # As text, as nothing has more than one form, and those are not equal.
    leveled = _texts(data["color"]).isin(_texts(levels["color"])) if "color" in data else not levels.empty
    return data[ours | data["x"].notna() | leveled]


def _facetted(figure: Figure, data: pd.DataFrame) -> pd.DataFrame:
    """With the facets as text in the order they are shown, numbers by size; without the column where one value is.

    Rows of ours that have no value are a facet of their own, the last.
    """
    ours, lacking = data["source"] == OURS, data["facet"].isna()
    values = list(dict.fromkeys(data.loc[ours & ~lacking, "facet"]))
    places = [*values, None] if (ours & lacking).any() else values
    if len(places) < 2:
        return data.drop(columns="facet")
    if numeric := all(is_number(value) for value in values):
        values.sort(key=float)
    told = numeric or all(isinstance(value, (bool, np.bool_)) for value in values)
    repeated = [data[~ours & lacking].assign(facet=value) for value in places]
    data = pd.concat([data[data["facet"].isin(values)], data[ours & lacking], *repeated], ignore_index=True)
    if numeric:
        order = {value: place for place, value in enumerate(values)}
        data = data.sort_values("facet", key=lambda facet: facet.map(order), kind="stable")
    text = (lambda value: as_text(float(value))) if numeric else chart_value
    name = words(figure.facet)
    names = {value: f"{name} {text(value)}" if told else str(value) for value in values}
    data["facet"] = data["facet"].map(names).fillna(f"{name} {NONE}")
    return data


def _marked(data: pd.DataFrame) -> pd.Series:
    """Which of our rows bear a circle: those in doubt; of a series with no marker at each, its last."""
    groups = data.groupby(series_of(data), sort=False)
    long = groups["source"].transform("size") > FEW_MARKERS
    last = groups.cumcount(ascending=False) == 0
    return data["doubt"] & (~long | last)


def series_of(data: pd.DataFrame) -> list[pd.Series]:
    """What tidy rows are grouped by into series."""
    named = [_texts(data[name]) for name in ("color", "facet", "series") if name in data]
    return named or [pd.Series("", data.index)]


def _texts(values: pd.Series) -> pd.Series:
    """Values as text, "" for one that is missing."""
    return values.map(str, na_action="ignore").astype(object).where(values.notna(), "")


def records(data: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows with what is missing left out and numbers cut to six digits, but for those that tell points apart."""
    rows = data.drop(columns="doubt", errors="ignore").to_dict("records")
    return [
        {
            key: _short(value) if key.startswith("y") else chart_value(value)
            for key, value in row.items()
            if value != "" and not pd.isna(value)
        }
        for row in rows
    ]


def _short(value: Any) -> Any:
    value = chart_value(value)
    return float(f"{value:.6g}") if isinstance(value, float) else value


def chart_value(value: Any) -> Any:
    """A value as the data of a chart have it; what a scale names must be the same."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, (int, np.integer)):
        return int(value)
    return float(value) if isinstance(value, (float, np.floating)) else str(value)
