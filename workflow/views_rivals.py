"""The view `rivals`: one variant against every other, a row a graph, the worst first."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from saitan.problem import Metric, names
from saitan.problem import problem as package
from saitan.workflow.bests import answers, index_of
from saitan.workflow.quantities import BEST, headline_of
from saitan.workflow.rows import row_of

# A quantity of the table: how many times as good as one of the others. BEST: as the best of them.
EACH = "over "


def rivals(table: pd.DataFrame, variant: str, problem: str | None, instance: list[str]) -> pd.DataFrame:
    """The rows of a variant in a summary's table, and its ratios to the others with the same graph, backend and answer.

    For a GPU other people's solvers that only the CPU has are among the others; for one of them all of a GPU are, as
    "fast on cuda". A variant with several points counts at its best; of `variant` that point alone is shown. Where
    another one is missing (it could not run), its ratio is. The graphs stand in the order of the ratio to the best of
    the others, ascending; those without any come last.
    """
    headline = headline_of(problem)
    found = []
    for group in _compared(table, variant, problem, ["graph", *instance]):
        compared = group[group["quantity"] == headline.quantity]
        bests = {name: headline.best(points) for name, points in compared.groupby("variant", sort=False)}
        if variant not in bests:
            continue
        ratios = {
            name: ratio
            for name, other in bests.items()
            if name != variant and (ratio := headline.over(bests[variant]["ours"], other["ours"])) is not None
        }
        best = index_of(bests[variant], table)
        shown = [row for row in group[group["variant"] == variant].to_dict("records") if index_of(row, table) == best]
        said = {EACH + name: ratio for name, ratio in ratios.items()}
        rest = compared[compared["variant"] != variant]
        # Where the best of them is 0, there is no ratio to it.
        if not rest.empty and (ahead := headline.best(rest)["variant"]) in ratios:
            said = {BEST: ratios[ahead]} | said
        point = {name: bests[variant][name] for name in table.columns}
        for name, ratio in said.items():
            others = [bests[variant], *(bests[other] for other in ratios if name in (BEST, EACH + other))]
            noted = {
                "settled": all(row["settled"] for row in others),
                "disturbed": "; ".join(dict.fromkeys(row["disturbed"] for row in others if row["disturbed"])),
                "checked": point["checked"],
            }
            shown.append(point | row_of(name, Metric(""), pd.Series([ratio]), noted, point["samples"], clocked=True))
        found.append((said.get(BEST, float("inf")), shown))
    found.sort(key=lambda graph: graph[0])
    return pd.DataFrame([row for _, rows in found for row in rows], columns=table.columns)


def _compared(table: pd.DataFrame, variant: str, problem: str | None, keys: list[str]) -> Iterator[pd.DataFrame]:
    """The rows that are compared with each other: those of a backend and its cores, and what is beside a GPU.

    The point of a variant that is beside one is compared once, with all.
    """
    known = package(problem).VARIANTS if problem in names() else {}
    beside = [name for name, declared in known.items() if declared.only_beside]
    for _, alike in table.groupby([*keys, answers(table, problem)], sort=False, dropna=False):
        on_cpu, on_gpu = (alike[alike["backend"] == backend] for backend in ("cpu", "cuda"))
        among = {"cuda": on_cpu[on_cpu["variant"].isin(beside)]}
        if variant in beside:
            among = {"cpu": on_gpu.assign(variant=on_gpu["variant"] + " on cuda")}
        for (backend, _), group in alike.groupby(["backend", "cores"], sort=False, dropna=False):
            yield pd.concat([group, among[backend]]) if backend in among else group
