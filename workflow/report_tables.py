"""Tables of the report: numbers in readable units, rows in blocks of one point each, the fastest marked."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import pandas as pd

from saitan.workflow.graphs.plan import NO_GRAPH

KEYS = ["graph", "backend", "variant"]
MEASURED = ["quantity", "unit", "ours", "q1", "q3", "samples", "paper", "ratio"]
_TIMES = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")]
_BYTES = [(float(1 << 30), "GiB"), (float(1 << 20), "MiB"), (1024.0, "KiB"), (1.0, "B")]
_RATES = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")]


def scale_of(value: float, unit: str) -> tuple[float, str]:
    """A factor and the unit that make a number near `value` readable: seconds as ms, bytes as MiB, rates as G..."""
    size = abs(value)
    if unit == "s":
        steps = _TIMES
    elif unit in ("B", "bytes"):
        steps = _BYTES
    elif is_rate(unit):
        steps = [(factor, prefix + unit) for factor, prefix in _RATES]
    else:
        return 1.0, unit
    if size == 0:
        return 1.0, unit
    return next(((factor, name) for factor, name in steps if size >= factor), steps[-1])


def is_rate(unit: str) -> bool:
    return unit == "TEPS" or unit.endswith("/s")


def digits(value: float | None) -> str:
    """Four significant digits; whole numbers in full, with commas; an en dash for what is missing."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    # Scaling by a unit leaves a last bit or two behind.
    value = float(f"{value:.12g}")
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) < 1e-4:
        return f"{value:.3g}"
    decimals = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def readable(value: float | None, unit: str) -> str:
    """A number with its unit: "12.35 ms"."""
    if value is None or math.isnan(value):
        return "–"
    factor, name = scale_of(value, unit)
    return f"{digits(value / factor)} {name}".rstrip()


@dataclass
class Line:
    """One quantity of a block, as text; `spread` is its quartiles in the unit of `ours`."""

    quantity: str
    ours: str
    spread: str
    paper: str
    ratio: str
    samples: str


@dataclass
class Block:
    """One point: its keys and parameters, and a line a quantity. best: the fastest on its graph and backend."""

    keys: list[str]
    lines: list[Line] = field(default_factory=list)
    best: bool = False


@dataclass
class Table:
    """What the template draws, and whether any line has quartiles, a printed number, that without a ratio, a ratio."""

    columns: list[str]
    blocks: list[Block]
    spread: bool
    compared: bool
    unrated: bool
    rated: bool


@dataclass(frozen=True)
class Best:
    """The fastest of `contenders` points on a graph, instance and backend, by the median of `quantity`.

    graph: empty where there is none; instance: what tells it from the table's others.
    """

    graph: str
    instance: str
    backend: str
    variant: str
    parameters: str
    quantity: str
    value: float
    unit: str
    contenders: int
    index: tuple

    @property
    def where(self) -> str:
        return f"{self.graph} {self.instance}".strip()

    def __str__(self) -> str:
        who = f"{self.variant} ({self.parameters})" if self.parameters else self.variant
        return f"{who} {readable(self.value, self.unit)}"


def parameters_of(table: pd.DataFrame) -> list[str]:
    """The columns that are parameters of the point."""
    return [name for name in table.columns if name not in (*KEYS, *MEASURED)]


def layout(table: pd.DataFrame, instance: list[str]) -> Table:
    """A long table of quantities as blocks, ordered by graph, backend and the problem's own parameters (`instance`)."""
    shown = [name for name in (*KEYS, *parameters_of(table)) if name in table and table[name].notna().any()]
    if "graph" in shown and (table["graph"] == NO_GRAPH).all():
        shown.remove("graph")
    order = [name for name in ("graph", "backend", *instance) if name in shown]
    winners = {best.index for best in bests(table, instance)}
    blocks: dict[tuple, Block] = {}
    for row in in_order(table, order).to_dict("records"):
        index = tuple(_plain(row[name]) for name in shown)
        block = blocks.setdefault(index, Block([as_text(value) for value in index], best=_index(row, table) in winners))
        block.lines.append(_line(row))
    paper, ratio = table["paper"].notna(), table["ratio"].notna()
    return Table(
        [name.replace("_", " ") for name in shown],
        list(blocks.values()),
        spread=bool(table["q1"].notna().any()),
        compared=bool(paper.any()),
        unrated=bool((paper & ~ratio).any()),
        rated=bool(ratio.any()),
    )


def bests(table: pd.DataFrame, instance: list[str]) -> list[Best]:
    """The fastest point of each graph, backend and instance, by its time (or, where there is none, by its rate)."""
    if table.empty or "variant" not in table or table["variant"].isna().all():
        return []
    timed = table[(table["unit"] == "s") & table["ours"].notna()]
    rated = table[table["unit"].map(is_rate) & table["ours"].notna()]
    candidates = timed if len(timed) else rated
    if candidates.empty:
        return []
    names = list(dict.fromkeys(candidates["quantity"]))
    quantity = "time" if "time" in names else names[0]
    rows = candidates[candidates["quantity"] == quantity]
    parameters = [name for name in parameters_of(table) if name not in instance]
    telling = [name for name in instance if table["graph"].iloc[0] == NO_GRAPH or table[name].nunique(dropna=False) > 1]
    found = []
    for _, group in rows.groupby([*("graph", "backend"), *instance], sort=False, dropna=False):
        winner = group.loc[group["ours"].idxmin() if len(timed) else group["ours"].idxmax()]
        found.append(
            Best(
                "" if winner["graph"] == NO_GRAPH else as_text(_plain(winner["graph"])),
                _assigned(winner, telling),
                as_text(_plain(winner["backend"])),
                str(winner["variant"]),
                _assigned(winner, parameters),
                quantity,
                float(winner["ours"]),
                str(winner["unit"]),
                len(group),
                _index(winner, table) if len(group) > 1 else (),
            )
        )
    return found


def in_order(table: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Rows of the same values of `names` brought together, otherwise in the order they had."""
    rank = pd.DataFrame({name: pd.factorize(table[name].astype("string"))[0] for name in names}, index=table.index)
    return table.loc[rank.sort_values(names, kind="stable").index] if names else table


def _assigned(row: Any, names: Collection[str]) -> str:
    """Those of the names that have a value: "n=1,024, by=tile"."""
    given = {name: _plain(row[name]) for name in names}
    return ", ".join(f"{name}={as_text(value)}" for name, value in given.items() if value is not None)


def _index(row: Any, table: pd.DataFrame) -> tuple:
    return tuple(_plain(row[name]) for name in (*KEYS, *parameters_of(table)) if name in table)


def _line(row: dict[str, Any]) -> Line:
    unit = row["unit"] or ""
    ours, paper, ratio = (_number(row.get(name)) for name in ("ours", "paper", "ratio"))
    q1, q3 = _number(row.get("q1")), _number(row.get("q3"))
    factor, _ = scale_of(ours if ours is not None else 0.0, unit)
    samples = _number(row.get("samples"))
    return Line(
        str(row["quantity"]).removesuffix("_s" if unit == "s" else "").replace("_", " "),
        readable(ours, unit),
        "" if q1 is None or q3 is None or q1 == q3 else f"{digits(q1 / factor)} – {digits(q3 / factor)}",
        "" if paper is None else readable(paper, unit),
        "" if ratio is None else f"{ratio:.3g}",
        "" if samples is None else digits(samples),
    )


def _number(value: Any) -> float | None:
    return None if value is None or pd.isna(value) else float(value)


def _plain(value: Any) -> Any:
    return None if pd.isna(value) else value


def as_text(value: Any) -> str:
    """A key or parameter as a table shows it; an en dash for what is missing."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, Real):
        return str(value)
    return f"{int(value):,}" if math.isfinite(value) and value == int(value) else f"{value:g}"
