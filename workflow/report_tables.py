"""Tables of the report: a row a graph or instance, a column a variant or quantity, laid out from the long table.

Where several variants were measured once each, they are the columns, and the quantities follow each other as groups of
rows. Otherwise (one variant, a sweep) a point is a row, and the quantities are the columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pandas as pd

from saitan.workflow.bests import (
    altering_of,
    assigned,
    bests,
    compared_by,
    doubt,
    doubtful,
    in_order,
    index_of,
    parameters_of,
    plain,
)
from saitan.workflow.numbers import as_text, digits, readable, steps_of
from saitan.workflow.points import NO_GRAPH
from saitan.workflow.quantities import in_words, is_timed, metrics_of, words
from saitan.workflow.views_rivals import EACH

SPEED_UP, OF_MEANS = "speed-up over ", "speed-up of means over "
# More variants than this are rows instead; with units that differ by more than WIDE a column's cells have their own.
MOST_COLUMNS, WIDE = 6, 1e5


@dataclass
class Cell:
    """A number as text, in the unit of its column or group.

    spread  its quartiles; factor: how many times as good as the baseline's; paper, ratio: what the paper prints, and
    ours over that; doubt, factor_doubt: why they say little; best: the best of its row or rows
    """

    ours: str
    spread: str = ""
    factor: str = ""
    paper: str = ""
    ratio: str = ""
    doubt: str = ""
    factor_doubt: str = ""
    best: bool = False


@dataclass
class Head:
    """A column of numbers, or a group of rows: what it is, its unit, and a line that explains it."""

    name: str
    unit: str = ""
    says: str = ""


@dataclass
class Row:
    keys: list[str]
    cells: list[Cell | None]


@dataclass
class Group:
    """Rows under a head of their own, which is absent where the quantities are the columns."""

    head: Head | None
    rows: list[Row] = field(default_factory=list)


@dataclass
class Table:
    """What the template draws. constants: parameters that all rows share; notes: sentences below."""

    keys: list[str]
    columns: list[Head]
    groups: list[Group]
    constants: list[str]
    notes: list[str]

    @property
    def rows(self) -> int:
        return sum(len(group.rows) for group in self.groups)


def layout(table: pd.DataFrame, problem: str | None, instance: list[str], data: str = "graph") -> Table:
    """A long table of quantities for the page. data: what the column of graphs or arrays is called."""
    table = table.reset_index(drop=True)
    parameters = parameters_of(table)
    varied = [name for name in parameters if table[name].map(as_text).nunique() > 1]
    keys = [name for name in ("graph", "backend", "cores") if name in table and _told(table, name)]
    keys += [name for name in instance if name in varied]
    label = partial(_label, instance=instance, parameters=parameters)
    columns = list(dict.fromkeys(map(label, table.to_dict("records"))))
    variants = table["variant"].nunique() if "variant" in table else 0
    paired = _paired(table, problem)
    if 1 < variants <= len(columns) <= MOST_COLUMNS:
        shown = [q for q in dict.fromkeys(table["quantity"]) if q not in paired.values() or _printed(table, q)]
        heads = [Head(column) for column in columns]
        build = _by_variant
    else:
        keys += ["variant"] * (variants > 1) + [name for name in varied if name not in instance]
        shown = [q for q in dict.fromkeys(table["quantity"]) if q not in paired.values()]
        for quantity, speed_up in paired.items():
            shown.insert(shown.index(quantity) + 1, speed_up)
        heads, paired = [_head(quantity, table, problem) for quantity in shown], {}
        build = _by_point
    table = in_order(table, [name for name in keys if name not in ("variant", *_own(varied, instance))])
    sure = [found for found in bests(table, problem, instance) if found.sure]
    best = {index for found in sure for index in (found.index, *found.ties.values())}
    maker = _Maker(table, problem, best, paired)
    groups = build(table, keys, shown, columns, maker, label)
    constants = [
        f"{words(name)} = {as_text(plain(values.iloc[0]))}"
        for name in parameters
        if name not in varied and (values := table[name].dropna()).size
    ]
    if variants == 1:
        # Nothing else says whose numbers these are.
        constants.insert(0, f"variant = {table['variant'].iloc[0]}")
    notes = list(_notes(table, problem, maker, bool(best), build is _by_variant, label))
    return Table([data if key == "graph" else words(key) for key in keys], heads, groups, constants, notes)


def _told(table: pd.DataFrame, name: str) -> bool:
    """Whether a key tells rows apart or has to be said: cores only where they differ."""
    if name == "graph":
        return bool((table["graph"] != NO_GRAPH).any())
    return table[name].nunique() > (1 if name == "cores" else 0)


def _own(varied: list[str], instance: list[str]) -> list[str]:
    return [name for name in varied if name not in instance]


def _label(row: dict[str, Any], instance: list[str], parameters: list[str]) -> str:
    """A variant with its parameters: "adaptive, threshold up 30"."""
    given = [(name, plain(row[name])) for name in parameters if name not in instance]
    return ", ".join([str(row.get("variant", "")), *(f"{words(n)} {as_text(v)}" for n, v in given if v is not None)])


def _paired(table: pd.DataFrame, problem: str | None) -> dict[str, str]:
    """Quantity -> the speed-up that is shown beside it."""
    there = list(dict.fromkeys(table["quantity"]))
    pairs = {}
    for start, quantity in ((SPEED_UP, compared_by(table, problem).quantity), (OF_MEANS, "mean time")):
        found = [name for name in there if name.startswith(start)]
        if found and quantity in there:
            pairs[quantity] = found[0]
    return pairs


def _printed(table: pd.DataFrame, quantity: str) -> bool:
    return bool(table.loc[table["quantity"] == quantity, "paper"].notna().any())


def _by_variant(table, keys, shown, columns, maker, label) -> list[Group]:
    groups = []
    for quantity in shown:
        head = maker.head(quantity)
        group = Group(head)
        rows: dict[tuple, Row] = {}
        for row in table[table["quantity"] == quantity].to_dict("records"):
            index = tuple(as_text(plain(row[key])) for key in keys)
            into = rows.setdefault(index, Row(list(index), [None] * len(columns)))
            into.cells[columns.index(label(row))] = maker.cell(row, head)
        group.rows += rows.values()
        groups.append(group)
    return groups


def _by_point(table, keys, shown, columns, maker, label) -> list[Group]:
    heads = {quantity: maker.head(quantity) for quantity in shown}
    rows: dict[tuple, Row] = {}
    for row in table.to_dict("records"):
        index = tuple(as_text(plain(row[key])) for key in keys)
        into = rows.setdefault(index, Row(list(index), [None] * len(shown)))
        into.cells[shown.index(row["quantity"])] = maker.cell(row, heads[row["quantity"]])
    return [Group(None, list(rows.values()))]


class _Maker:
    """Cells and heads of one table."""

    def __init__(self, table: pd.DataFrame, problem: str | None, best: set[tuple], paired: dict[str, str]) -> None:
        self.table, self.problem, self.best, self.paired = table, problem, best, paired
        self.spreads, self.starred = False, compared_by(table, problem).quantity
        wanted = table["quantity"].isin(paired.values())
        names = {name: quantity for quantity, name in paired.items()}
        self.factors = {(names[row["quantity"]], index_of(row, table)): row for row in table[wanted].to_dict("records")}

    def head(self, quantity: str) -> Head:
        return _head(quantity, self.table, self.problem)

    def cell(self, row: dict[str, Any], head: Head) -> Cell:
        index = index_of(row, self.table)
        unit, quantity = row["unit"] or "", row["quantity"]
        ours, q1, q3 = (_number(row.get(name)) for name in ("ours", "q1", "q3"))
        paper, ratio = _number(row.get("paper")), _number(row.get("over_paper"))
        factor = self.factors.get((quantity, index))
        divisor = next((size for size, name in steps_of(unit) if name == head.unit), None)

        def text(value: float | None) -> str:
            return readable(value, unit) if divisor is None or value is None else digits(value / divisor)

        spread = ""
        if _spread(quantity, unit, self.problem) and q1 is not None and q3 is not None and text(q1) != text(q3):
            spread = f"{text(q1)} – {text(q3)}"
            self.spreads = True
        return Cell(
            text(ours),
            spread,
            "" if factor is None else times(_number(factor["ours"])),
            "" if paper is None else text(paper),
            "" if ratio is None else digits(ratio, 3),
            doubt(row),
            "" if factor is None else doubt(factor),
            index in self.best and quantity == self.starred,
        )


def _spread(quantity: str, unit: str, problem: str | None) -> bool:
    """Whether quartiles are shown: of medians and harmonic means that a clock enters, where they tell the noise."""
    metric = metrics_of(problem).get(quantity)
    return is_timed(unit) and (metric is None or metric.over in ("median", "harmonic"))


def _below_its_quartiles(table: pd.DataFrame, problem: str | None) -> bool:
    """Whether a harmonic mean is less than the lower quartile of its samples."""
    metrics = metrics_of(problem)
    harmonic = [name for name in table["quantity"].unique() if name in metrics and metrics[name].over == "harmonic"]
    means = table[table["quantity"].isin(harmonic)]
    return bool((means["ours"] < means["q1"]).any())


def times(factor: float | None) -> str:
    """A factor as people write it: "1.8×"."""
    return "" if factor is None else f"{digits(factor, 3)}×"


def _head(quantity: str, table: pd.DataFrame, problem: str | None) -> Head:
    rows = table[table["quantity"] == quantity]
    unit = rows["unit"].iloc[0] or ""
    metric = metrics_of(problem).get(quantity)
    over = "" if metric is None or metric.over in ("median", *quantity.split()) else _OVER[metric.over]
    return Head(
        in_words(quantity, unit) + over,
        _unit(pd.concat([rows["ours"], rows["paper"]]), unit),
        "" if metric is None else metric.says,
    )


_OVER = {"mean": ", mean", "harmonic": ", harmonic mean"}
_STATISTIC = {"median": "medians", "mean": "means", "harmonic": "harmonic means"}


def _unit(values: pd.Series, unit: str) -> str:
    """The unit that suits all values; empty where each cell has to say its own, or all are zero."""
    sizes = [abs(float(value)) for value in values.dropna() if math.isfinite(value) and value != 0]
    steps = steps_of(unit)
    if not sizes or (max(sizes) > WIDE * min(sizes) and len(steps) > 1):
        return ""
    middle = math.sqrt(max(sizes) * min(sizes))
    return next((name for factor, name in steps if middle >= factor), steps[-1][1])


def _number(value: Any) -> float | None:
    return None if value is None or pd.isna(value) else float(value)


def _notes(
    table: pd.DataFrame, problem: str | None, maker: _Maker, starred: bool, across: bool, label: Callable[[dict], str]
) -> Iterable[str]:
    """What a reader has to know of the numbers. label: of a row, its variant with its parameters."""
    measured = "variant" in table
    if measured:
        least, most = int(table["samples"].min()), int(table["samples"].max())
        count = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        of = "sample" if most == 1 else "samples"
        quartiles = ", quartiles below times and rates" if maker.spreads else ""
        yield f"Medians where nothing else is said, of {count} {of} a point{quartiles}."
        if maker.spreads and _below_its_quartiles(table, problem):
            yield "A harmonic mean below its quartiles: few slow samples decide it."
    headline = compared_by(table, problem)
    compared = in_words(headline.quantity, headline.metric.unit)
    altering = altering_of(table, problem) if measured else []
    alike = [*map(words, altering), *(["number of cores"] if measured and _several_cores(table) else [])]
    same = f" with the same {' and '.join(alike)}" if alike else ""
    of = f"{_STATISTIC[headline.metric.over]} of {compared}"
    if any(str(name).startswith(SPEED_UP) for name in table["quantity"]):
        base = next(name for name in table["quantity"] if name.startswith(SPEED_UP)).removeprefix(SPEED_UP)
        way = "Factors with × are speed-ups" if maker.factors else "Speed-ups are"
        means = any(str(name).startswith(OF_MEANS) for name in table["quantity"])
        beside = " (beside the mean time, of means)" if means else ""
        several = len({*map(label, table[table["variant"] == base].to_dict("records"))}) > 1
        at = " at its best point" if several else ""
        yield f"{way} over {base}{at}{same}, of {of}{beside}; above 1 is better."
    if any(str(name).startswith(EACH) for name in table["quantity"]):
        yield f"Over another: how many times as good, by {of}, each at its best point{same}; above 1 is better."
    if starred:
        where = "of its row" if across else "of its data and backend"
        yield f"★ best {where}{same} by {compared}."
    if doubtful(table).any():
        reasons = dict.fromkeys(part for text in table["disturbed"] for part in text.split("; ") if part)
        said = ["the median had not settled when sampling ended"] * bool((~table["settled"].astype(bool)).any())
        said += [f"it was disturbed ({', '.join(reasons)})"] * bool(reasons)
        text = " or ".join(said)
        yield f"† {text[:1].upper()}{text[1:]}; nothing is called best beside such a number."
    paper, ratio = table["paper"].notna(), table["over_paper"].notna()
    if ratio.any():
        yield "Ratio: ours over the paper's; of a time, under 1 is faster."
    # A printed zero has no ratio either, and a number of ours may be missing.
    if (paper & ~ratio & (table["paper"] != 0) & table["ours"].notna()).any():
        yield "No ratio where our graph has another size than the paper's."
    yield from _checked(table)
    if measured and (table["backend"] == "cuda").any():
        yield "GPU: samples follow each other on the same data, so L2 is warm for what fits in it."


def _several_cores(table: pd.DataFrame) -> bool:
    """Whether points on one backend had different numbers of cores."""
    return bool((table.groupby("backend")["cores"].nunique() > 1).any())


def _checked(table: pd.DataFrame) -> Iterable[str]:
    """What validation covered, once where all rows agree."""
    told = table[table["checked"].fillna("") != ""]
    if told.empty:
        return
    groups = told.groupby("checked", sort=False)
    if len(groups) == 1:
        yield f"Checked in every timed answer: {told['checked'].iloc[0]}."
        return
    solvers = told["variant"] + " on " + told["backend"].map(lambda backend: _BACKENDS.get(backend, backend))
    for _, rows in told.groupby(solvers):
        solvers[rows.index] += _apart(rows, parameters_of(told))
    for says, rows in groups:
        yield f"Checked in every timed answer of {', '.join(dict.fromkeys(solvers[rows.index]))}: {says}."


def _apart(rows: pd.DataFrame, parameters: Collection[str]) -> pd.Series:
    """What is to be said of each row of a solver for its `checked` to be that of all rows of which the same is said:
    one parameter or the graph where that is enough.
    """

    def settles(column: str) -> bool:
        return rows.groupby(column, dropna=False, sort=False)["checked"].nunique().max() == 1

    if rows["checked"].nunique() == 1:
        return pd.Series("", rows.index)
    needed = [name for name in parameters if settles(name)][:1] or ([] if settles("graph") else parameters)
    said = rows.apply(assigned, axis=1, names=needed)
    said = (" (" + said + ")").where(said != "", "")
    several = rows.groupby(said)["checked"].transform("nunique") > 1
    return said.where(~several, said + (" for " + rows["graph"]).fillna(""))


_BACKENDS = {"cpu": "the CPU", "cuda": "the GPU"}
