"""The best point of each graph, instance, answer, backend and number of cores, and whether that can be relied on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pandas as pd

from saitan.workflow.numbers import as_text, readable
from saitan.workflow.points import NO_GRAPH
from saitan.workflow.quantities import Headline, altered_by, headline_of, metrics_of
from saitan.workflow.rows import KEYS, MEASURED, PRINTED
from saitan.workflow.samples import called


@dataclass(frozen=True)
class Best:
    """The best of `contenders` points by what the problem's solvers are ranked by.

    graph: empty where there is none; instance: what tells it from the table's others, cores and what alters the answer
    (saitan.problem.Parameter.alike) among it; sure: whether every contender had settled undisturbed; doubt: why
    this one had not, in short; ties: the other points with the same number, by variant and parameters.
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
    sure: bool
    doubt: str
    index: tuple
    ties: dict[str, tuple]

    @property
    def where(self) -> str:
        return f"{self.graph} {self.instance}".strip()

    def __str__(self) -> str:
        who = " and ".join([_named(self.variant, self.parameters), *self.ties])
        doubts = self.contenders > 1 and not self.sure
        said = f" ({self.doubt})" if self.doubt else " (others not settled or disturbed)" if doubts else ""
        return f"{who} {readable(self.value, self.unit)}{said}"


def doubtful(table: pd.DataFrame) -> pd.Series:
    """Which rows had not settled, or were disturbed."""
    return ~table["settled"].astype(bool) | (table["disturbed"] != "")


def doubt(row: dict[str, Any]) -> str:
    """Why a number says little: that it did not settle, what disturbed it; empty where nothing is known."""
    return "; ".join(["not settled"] * (not row["settled"]) + [row["disturbed"]] * bool(row["disturbed"]))


def compared_by(table: pd.DataFrame, problem: str | None) -> Headline:
    """What points of a table are compared by: what the problem ranks solvers by, the time where that is not there."""
    headline = headline_of(problem)
    if (table["quantity"] == headline.quantity).any():
        return headline
    return Headline("time", metrics_of(None)["time"])


def bests(table: pd.DataFrame, problem: str | None, instance: list[str]) -> list[Best]:
    """The best point of each graph, backend, number of cores, instance and answer; none where nothing is to compare."""
    if table.empty or "variant" not in table:
        return []
    table = table.reset_index(drop=True)
    headline = compared_by(table, problem)
    rows = table[(table["quantity"] == headline.quantity) & table["ours"].notna()]
    if rows.empty:
        return []
    parameters = [name for name in parameters_of(table) if name not in instance]
    without = bool((table["graph"] == NO_GRAPH).all())
    telling = [name for name in instance if without or table[name].nunique(dropna=False) > 1]
    telling += ["cores"] * (table["cores"].nunique() > 1)
    answer, altering = answers(rows, problem), altering_of(table, problem)
    found = []
    for _, group in rows.groupby(["graph", "backend", "cores", *instance, answer], sort=False, dropna=False):
        winner = headline.best(group)
        ties = group[group["ours"] == winner["ours"]].drop(index=winner.name)
        own = [name for name in parameters if name not in altering]
        doubts = doubtful(group)
        told = (answer[winner.name] or assigned(same := unaltered(group, altering), same)) if altering else ""
        found.append(
            Best(
                "" if winner["graph"] == NO_GRAPH else as_text(plain(winner["graph"])),
                ", ".join(filter(None, [assigned(winner, telling), told])),
                as_text(plain(winner["backend"])),
                str(winner["variant"]),
                assigned(winner, own),
                headline.quantity,
                float(winner["ours"]),
                str(winner["unit"]),
                len(group),
                len(group) > 1 and not doubts.any(),
                called(winner["settled"], winner["disturbed"]),
                index_of(winner, table),
                {_named(row["variant"], assigned(row, own)): index_of(row, table) for _, row in ties.iterrows()},
            )
        )
    return found


def _named(variant: str, parameters: str) -> str:
    return f"{variant} ({parameters})" if parameters else variant


def answers(table: pd.DataFrame, problem: str | None) -> pd.Series:
    """What alters the answer of each row's point, as a text, "" where nothing does: those alike are compared."""
    told = [assigned(altered, altered) for altered in _altered(table, problem)]
    return pd.Series(told, table.index, dtype=object, name="answer")


def altering_of(table: pd.DataFrame, problem: str | None) -> list[str]:
    """The parameters that make answers differ between rows of a table; none where all have the same."""
    found = _altered(table, problem)
    if all(altered == found[0] for altered in found):
        return []
    return list(dict.fromkeys(name for altered in found for name in altered))


def unaltered(group: pd.DataFrame, altering: Collection[str]) -> dict[str, Any]:
    """What tells points whose answer nothing alters from others of their table: keep_bits 52, a value with which it is
    as that of solvers without the parameter; {} where none of them has one.
    """
    # One that is never given, and alters by its default, is no column.
    rows = ({name: plain(row.get(name)) for name in altering} for row in group.to_dict("records"))
    given = ({name: value for name, value in row.items() if value is not None} for row in rows)
    return next(filter(None, given), {})


def _altered(table: pd.DataFrame, problem: str | None) -> list[dict[str, Any]]:
    columns = [name for name in ("variant", *parameters_of(table)) if name in table]
    return [altered_by(problem, {name: plain(row[name]) for name in columns}) for row in table.to_dict("records")]


def parameters_of(table: pd.DataFrame) -> list[str]:
    """The columns that are parameters of the point."""
    return [name for name in table.columns if name not in (*KEYS, *MEASURED, *PRINTED)]


def in_order(table: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Rows of the same values of `names` brought together, otherwise in the order they had."""
    rank = pd.DataFrame({name: pd.factorize(table[name].astype("string"))[0] for name in names}, index=table.index)
    return table.loc[rank.sort_values(names, kind="stable").index] if names else table


def index_of(row: Any, table: pd.DataFrame) -> tuple:
    """What tells a row's point from the others."""
    return tuple(plain(row[name]) for name in (*KEYS, *parameters_of(table)) if name in table)


def plain(value: Any) -> Any:
    return None if pd.isna(value) else value


def assigned(row: Any, names: Collection[str]) -> str:
    """Those of the names that have a value: "n=1,024, by=tile"."""
    given = {name: plain(row[name]) for name in names}
    return ", ".join(f"{name}={as_text(value)}" for name, value in given.items() if value is not None)
