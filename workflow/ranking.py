"""All solvers of an experiment, ours and other people's, the best first; those that could not run here are quoted.

What is quoted (config/peers.yaml) was measured on one machine with a GPU, so it stands beside results of a GPU only.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from saitan.workflow.bests import (
    altering_of,
    answers,
    assigned,
    compared_by,
    doubt,
    in_order,
    parameters_of,
    plain,
    unaltered,
)
from saitan.workflow.numbers import as_text, readable
from saitan.workflow.points import NO_GRAPH
from saitan.workflow.quantities import Headline, altered_by, in_words
from saitan.workflow.quoted import Quoted


@dataclass(frozen=True)
class Place:
    """A solver among the others.

    place: equal numbers have the same; factor: how many times as good as the best peer, None where there is no such
    number; title: of a quoted one; parameters: at which it counts, but for what all solvers here have; cores: where a
    table has several; doubt: why its number says little.
    """

    variant: str
    backend: str
    value: str
    factor: float | None
    peer: bool
    title: str | None = None
    parameters: str = ""
    cores: int | None = None
    doubt: str = ""
    place: int = 0


@dataclass(frozen=True)
class Ranking:
    """The solvers of one graph and choice of the problem's own parameters, the best first. quantity: in words."""

    where: str
    quantity: str
    places: list[Place]

    @property
    def sure(self) -> bool:
        """Whether every number had settled undisturbed, so that the order can be relied on."""
        return not any(place.doubt for place in self.places)


def rankings(
    table: pd.DataFrame, problem: str, instance: list[str], peers: Collection[str], quoted: Quoted | None
) -> list[Ranking]:
    """A ranking for each graph, instance and answer that has a peer, and another solver to compare it with.

    table: quantities of an experiment, as tabulated; peers: which of its variants are other people's. A variant with
    parameters counts once, at its best.
    """
    if table.empty or "variant" not in table:
        return []
    table, keys = table.reset_index(drop=True), ["graph", *instance]
    headline = compared_by(table, problem)
    ranked = []
    ordered, altering = in_order(table, keys), altering_of(table, problem)
    own = [name for name in parameters_of(table) if name not in (*instance, *altering)]
    for _, group in ordered.groupby([*keys, answers(ordered, problem)], sort=False, dropna=False):
        about = {name: value for name in keys if (value := plain(group[name].iloc[0])) not in (NO_GRAPH, None)}
        first = {name: plain(value) for name, value in group.iloc[0].items()}
        altered = altered_by(problem, first)
        about |= altered
        places = _measured(group, headline, peers, own)
        if quoted and (group["backend"] == "cuda").any():
            places += _quotes(about, problem, headline, quoted)
        places.sort(key=lambda placed: placed[0], reverse=not headline.less)
        best = next((value for value, place in places if place.peer), None)
        if best is None or len(places) == 1:
            continue
        values = [value for value, _ in places]
        placed = [
            replace(place, place=values.index(value) + 1, factor=headline.over(value, best)) for value, place in places
        ]
        where = ", ".join(
            str(value) if name == "graph" else f"{name} {as_text(value)}"
            for name, value in (about | (altered or unaltered(group, altering))).items()
        )
        ranked.append(Ranking(where, in_words(headline.quantity, headline.metric.unit), placed))
    return ranked


def _measured(
    group: pd.DataFrame, headline: Headline, peers: Collection[str], own: list[str]
) -> list[tuple[float, Place]]:
    """What was measured here: each variant, backend and number of cores, with the value it is ranked by.

    own: the parameters that tell points of a variant apart.
    """
    rows = group[(group["quantity"] == headline.quantity) & group["ours"].notna()]
    several = rows["cores"].nunique() > 1
    found = []
    for (variant, backend, cores), points in rows.groupby(["variant", "backend", "cores"], sort=False):
        row = headline.best(points)
        value = float(row["ours"])
        shown = readable(value, row["unit"] or "")
        place = Place(
            variant,
            backend,
            shown,
            None,
            variant in peers,
            parameters=assigned(row, own),
            cores=int(cores) if several else None,
            doubt=doubt(row),
        )
        found.append((value, place))
    return found


def _quotes(about: dict[str, Any], problem: str, headline: Headline, quoted: Quoted) -> list[tuple[float, Place]]:
    """What is quoted of the same graph and parameters, by what the solvers are ranked by."""
    return [
        (
            entry.value,
            Place(
                name,
                solver.backend,
                readable(entry.value, headline.metric.unit),
                None,
                True,
                f"{solver.title}; {quoted.origin}",
            ),
        )
        for name, solver in quoted.solvers.items()
        if solver.problem == problem and solver.quantity == headline.quantity
        for entry in solver.values
        if about == {key: wanted for key, wanted in entry if key != "value"}
    ]
