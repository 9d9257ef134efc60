"""What the report says in words beside the numbers of an experiment: what they are, and which are not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd

from saitan.problem import names, problem
from saitan.workflow.bests import parameters_of
from saitan.workflow.points import NO_GRAPH
from saitan.workflow.quantities import SHARE, in_words, metrics_of, traces_of, words
from saitan.workflow.report_plan import PlannedExperiment, PlannedPoint
from saitan.workflow.views_rivals import EACH

# So many are named, and how many there are beside.
MOST = 4


def variants_in_words(experiment: PlannedExperiment) -> dict[str, str]:
    """What each variant is, by name."""
    if experiment.problem not in names():
        return {}
    known = problem(experiment.problem).VARIANTS
    return {name: known[name].summary for name in experiment.variants if name in known}


def parameters_in_words(experiment: PlannedExperiment, table: pd.DataFrame) -> dict[str, str]:
    """What each parameter of a table is, by its name in words."""
    if experiment.problem not in names():
        return {}
    package = problem(experiment.problem)
    asked = (package.VARIANTS[name].parameters for name in experiment.variants if name in package.VARIANTS)
    known = [package.INSTANCE, *asked]
    says = {name: declared.says for parameters in known for name, declared in parameters.items()}
    return {words(name): says[name] for name in parameters_of(table) if name in says}


def quantities_in_words(experiment: PlannedExperiment, table: pd.DataFrame) -> dict[str, str]:
    """What each measured quantity of a table or chart is, by its name in words."""
    if not experiment.variants:
        return {}
    metrics, there = metrics_of(experiment.problem), list(dict.fromkeys(table["quantity"]))
    known = [(name, metrics[name]) for name in there if name in metrics]
    shown = traces_of(experiment.problem) if experiment.phases else metrics
    known += [(name, shown[name]) for name in experiment.columns if name in shown]
    says = {in_words(name, declared.unit): declared.says for name, declared in known}
    if any(name.startswith(SHARE) for name in there):
        says[SHARE] = "the least time that the named ceiling of the GPU allows, over the time; above 100 % by caches"
    return says


def not_there(experiment: PlannedExperiment, table: pd.DataFrame, measured: Iterable[PlannedPoint]) -> Iterator[str]:
    """Which quantities that are asked for no point has, and which points have no number in the table.

    measured: the points of the experiment that were.
    """
    if not experiment.quantities:
        return
    units = {name: metric.unit for name, metric in metrics_of(experiment.problem).items()}
    if absent := [name for name in experiment.quantities if name not in {*table["quantity"]}]:
        yield f"No point has {' or '.join(in_words(name, units.get(name, '')) for name in absent)}."
    there = {*zip(table["variant"], table["graph"], strict=True)}
    without = "without any of these quantities"
    if experiment.compared:
        without = f"compared with nothing of {experiment.compared}"
        for quantity, graph in zip(table["quantity"], table["graph"], strict=True):
            if quantity.startswith(EACH):
                there.add((quantity.removeprefix(EACH).removesuffix(" on cuda"), graph))
    parts = (point.name.split("/") for point in measured)
    if lacking := sorted({(variant, graph) for _, _, graph, variant, _ in parts} - there):
        named = [variant + ("" if graph == NO_GRAPH else f" on {graph}") for variant, graph in lacking[:MOST]]
        more = f" and {len(lacking) - MOST:,} more" if len(lacking) > MOST else ""
        yield f"Measured, and {without}: {', '.join(named)}{more}."
