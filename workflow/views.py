"""What an experiment shows: each view turns raw samples or graphs into a table of quantities and a chart's data.

    table   backend, graph, variant, cores, the parameters; quantity, unit, ours, q1, q3, samples; settled, disturbed,
            checked; later paper, over_paper
    figure  the columns the chart may use, named below at each view; settled

Views know no problem: its METRICS say the unit of a counter, how samples combine and which way is better. A quantity
that no clock enters (a count, bytes) is settled always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from saitan.problem import Metric
from saitan.workflow import views_rivals
from saitan.workflow.bests import compared_by
from saitan.workflow.ceilings import Ceilings
from saitan.workflow.config_model import Experiment
from saitan.workflow.graphs.parquet import read_metadata
from saitan.workflow.quantities import (
    BUILT_IN,
    SHARE,
    Headline,
    altered_by,
    headline_of,
    is_timed,
    metrics_of,
    traces_of,
    undeclared,
    unranked,
)
from saitan.workflow.rows import KEYS, MEASURED, cdf, joined, row_of, thinned
from saitan.workflow.samples import Samples, about, mixed, read_samples
from saitan.workflow.step import Failure
from saitan.workflow.views_graphs import graphs, weights


@dataclass(frozen=True)
class Inputs:
    """Raw sample files and graph folders of one experiment; what GPUs can do."""

    samples: list[Path]
    graphs: list[Path]
    ceilings: Ceilings = field(default_factory=Ceilings)


def summary(experiment: Experiment, inputs: Inputs) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Times and counters of every point.

    Figure: keys, parameters, seconds (median), mean_seconds, the metrics, quartiles of each but the mean under its name
    with _q1 and _q3, and the graph's vertices and arcs. Raises Failure for samples without what the problem's solvers
    are ranked by.
    """
    rows, marks, measured = [], [], []
    metrics = metrics_of(experiment.problem)
    sizes = {}
    for folder in inputs.graphs:
        metadata = read_metadata(folder)
        sizes[folder.name] = {name: metadata[name] for name in ("vertices", "arcs")}
    for point, samples in _points(experiment, inputs, traces=False):
        if lacking := unranked(experiment.problem, samples.point["variant"], samples.counters.dropna(axis=1)):
            raise Failure(lacking)
        columns = {name: samples.rows[column] for name, (column, _) in BUILT_IN.items()}
        columns |= {name: samples.counters[name].dropna() for name in samples.counters}
        noted = _noted(samples)
        quantities = {
            name: row_of(name, metrics[name], values, noted) for name, values in columns.items() if len(values)
        }
        rows += [point | quantities[name] for name in experiment.quantities if name in quantities]
        rows += [point | row for row in _shares(samples, inputs.ceilings, noted)]
        measured.append((point, quantities))
        marks.append(point | sizes.get(point["graph"], {}) | _mark(quantities) | _state(noted))
    if experiment.baseline:
        headline = compared_by(_frame(experiment, rows), experiment.problem)
        rows += _speedups(experiment, measured, headline, f"speed-up over {experiment.baseline}")
        if "mean time" in experiment.quantities:
            means = Headline("mean time", metrics["mean time"])
            rows += _speedups(experiment, measured, means, f"speed-up of means over {experiment.baseline}")
    return _frame(experiment, rows), pd.DataFrame(marks)


def _mark(quantities: dict[str, dict[str, Any]]) -> dict[str, float]:
    """A point's quantities as columns of a chart."""
    columns = {"time": "seconds", "mean time": "mean_seconds"}
    mark = {}
    for name, row in quantities.items():
        if name in columns or name not in BUILT_IN:
            column = columns.get(name, name)
            mark[column] = row["ours"]
            if name != "mean time" and row["q1"] is not None:
                mark |= {f"{column}_q1": row["q1"], f"{column}_q3": row["q3"]}
    return mark


def _shares(samples: Samples, ceilings: Ceilings, noted: dict[str, Any]) -> list[dict[str, Any]]:
    """The share of what the GPU can do, in percent: that of the ceiling which bounds the point most.

    Raises Failure for a kind of work that no ceiling is known of.
    """
    if unknown := [kind for kind in samples.work if kind not in ceilings.kinds()]:
        known, variant = ", ".join(sorted(ceilings.kinds())), samples.point["variant"]
        raise Failure(f"config/ceilings.yaml: no {unknown[0]!r}, the work of {variant} (there are: {known})")
    rates = ceilings.of(samples.provenance.get("gpu"))
    seconds = samples.rows["seconds"]
    shares = {
        kind: (100 * samples.work[kind] / rates[kind].rate / seconds).dropna()
        for kind in samples.work
        if kind in rates and (seconds > 0).all()
    }
    shares = {kind: values for kind, values in shares.items() if len(values)}
    if not shares:
        return []
    kind = max(shares, key=lambda kind: shares[kind].median())
    name = f"{SHARE} ({rates[kind].says})"
    return [row_of(name, Metric("", "%", better="more"), shares[kind], noted, clocked=True)]


def _speedups(
    experiment: Experiment, measured: list[tuple[dict, dict]], compared: Headline, name: str
) -> list[dict[str, Any]]:
    """How many times as good what is compared is as the baseline's with the same backend, graph, cores, instance and
    parameters that alter the answer.

    A baseline with several points counts at its best. A speed-up is settled where both points are.
    """
    quantity = compared.quantity

    def shared(point: dict[str, Any]) -> tuple:
        same = [point[part] for part in ("backend", "graph", "cores", *experiment.instance)]
        return (*same, *sorted(altered_by(experiment.problem, point).items()))

    bases: dict[tuple, dict[str, Any]] = {}
    for point, quantities in measured:
        if point["variant"] == experiment.baseline and quantity in quantities:
            key, row = shared(point), quantities[quantity]
            if key not in bases or compared.better(row["ours"], bases[key]["ours"]):
                bases[key] = row
    rows = []
    for point, quantities in measured:
        base = bases.get(shared(point))
        if point["variant"] == experiment.baseline or base is None or quantity not in quantities:
            continue
        row = quantities[quantity]
        if (factor := compared.over(row["ours"], base["ours"])) is not None:
            noted = {
                "settled": row["settled"] and base["settled"],
                "disturbed": _reasons([row["disturbed"], base["disturbed"]]),
                "checked": row["checked"],
            }
            rows.append(point | row_of(name, Metric(""), pd.Series([factor]), noted, row["samples"], clocked=True))
    return rows


def rivals(experiment: Experiment, inputs: Inputs) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The baseline's quantities, and how many times as good it is as the others, the worst graph first.

    Figure: keys, parameters, ratio (to the best of the others).
    """
    headline = headline_of(experiment.problem).quantity
    quantities = list(dict.fromkeys([headline, *experiment.quantities]))
    table, _ = summary(experiment.model_copy(update={"baseline": None, "quantities": quantities}), inputs)
    table = views_rivals.rivals(table, experiment.baseline or "", experiment.problem, list(experiment.instance))
    rows = table[table["quantity"] == views_rivals.BEST]
    figure = rows.rename(columns={"ours": "ratio"}).drop(columns=["quantity", "unit", "q1", "q3", "samples", "checked"])
    return table, figure.assign(settled=figure["settled"] & (figure["disturbed"] == "")).drop(columns="disturbed")


def phases(experiment: Experiment, inputs: Inputs) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What happened in each phase.

    Figure: keys, parameters, query, phase, seconds (median of the rounds), and what else the problem traces. Raises
    Failure for a column that no variant's traces have.
    """
    rows, series, columns = [], [], []
    for point, samples in _points(experiment, inputs, traces=True):
        traces = _traces(experiment, samples)
        rows += [point | row for row in _phase_quantities(experiment, samples, list(traces.values()))]
        for query, trace in traces.items():
            columns.extend(trace.columns)
            series.append(thinned(trace).assign(query=query, **point, **_state(_noted(samples))))
    if columns and experiment.column not in columns:
        raise _untraced(experiment.column, columns)
    return _frame(experiment, rows), joined(series)


def phase_cdf(experiment: Experiment, inputs: Inputs) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cumulative distribution of a column over the phases of all queries.

    Figure: keys, parameters, that column, share. Raises Failure for a column that the traces lack.
    """
    rows, series = [], []
    for point, samples in _points(experiment, inputs, traces=True):
        traces = list(_traces(experiment, samples).values())
        noted = _noted(samples)
        rows += [point | row for row in _phase_quantities(experiment, samples, traces)]
        pooled = pd.concat(traces)
        if experiment.column not in pooled:
            raise _untraced(experiment.column, pooled.columns)
        state = _state(noted) if is_timed(traces_of(experiment.problem)[experiment.column].unit) else {}
        series.append(cdf(pooled[experiment.column].dropna(), experiment.column).assign(**point, **state))
    return _frame(experiment, rows), joined(series)


VIEWS: dict[str, Callable[[Experiment, Inputs], tuple[pd.DataFrame, pd.DataFrame]]] = {
    "summary": summary,
    "rivals": rivals,
    "phases": phases,
    "phase_cdf": phase_cdf,
    "graphs": lambda _, inputs: graphs(inputs.graphs),
    "weights": lambda _, inputs: weights(inputs.graphs),
}


def _points(experiment: Experiment, inputs: Inputs, *, traces: bool) -> Iterator[tuple[dict[str, Any], Samples]]:
    """Each point that ran: its keys and parameters, and its samples.

    What a problem declares may have changed since they were measured. Raises Failure for counters and traces that it
    does not declare.
    """
    several = mixed(about(path).device for path in inputs.samples)
    for path in inputs.samples:
        samples = read_samples(path, traces=traces)
        if samples is not None:
            variant = samples.point["variant"]
            if unknown := undeclared(experiment.problem, variant, samples.counters, samples.traced):
                raise Failure(unknown)
            if (device := samples.about.device) in several:
                reasons = (*samples.about.disturbed, f"measured on {device}, others beside it on another")
                samples = replace(samples, about=replace(samples.about, disturbed=reasons))
            given = samples.instance | samples.parameters
            yield samples.point | {name: given.get(name) for name in experiment.swept}, samples


def _noted(samples: Samples) -> dict[str, Any]:
    """What is to be said of a point's times."""
    told = samples.about
    return {"settled": told.settled, "disturbed": _reasons(told.disturbed), "checked": samples.checked}


def _reasons(reasons: Any) -> str:
    """Reasons, each once, as one text."""
    parts = [part for reason in reasons for part in reason.split("; ") if part]
    return "; ".join(dict.fromkeys(parts))


def _state(noted: dict[str, Any]) -> dict[str, Any]:
    """The column of a chart that says whether a mark can be relied on."""
    return {"settled": noted["settled"] and not noted["disturbed"]}


def _frame(experiment: Experiment, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """The rows as a table; of points that all were unavailable, one without rows."""
    names = experiment.swept
    table = pd.DataFrame(rows, columns=[*KEYS, *names, *MEASURED])
    # Pandas makes floats of whole numbers where a point lacks the parameter.
    return table.assign(**{name: pd.Series([row[name] for row in rows], dtype=object) for name in names})


def _traces(experiment: Experiment, samples: Samples) -> dict[str, pd.DataFrame]:
    """Query -> its phases, NaN where a phase has no number. Raises Failure where none were traced."""
    if "seconds" not in samples.phases:
        raise Failure("view: the problem's variants trace no phases; summary shows their times")
    groups = samples.rows.groupby("query", sort=False).indices
    declared = traces_of(experiment.problem)
    nones = {name: trace.none for name, trace in declared.items() if trace.none is not None}
    return {query: _trace(samples.phases.iloc[rows], nones) for query, rows in groups.items()}


def _trace(rounds: pd.DataFrame, nones: Mapping[str, float]) -> pd.DataFrame:
    """The phases of one query: its first round, with seconds the median over all rounds that made as many phases."""
    first = rounds.iloc[0]
    trace = pd.DataFrame({name: first[name] for name in rounds.columns if first[name] is not None})
    for name in nones.keys() & set(trace):
        trace[name] = trace[name].where(trace[name] != nones[name])
    # Rounds after the first have no phases where only a run of its own traces them.
    alike = [values for values in rounds["seconds"].dropna() if len(values) == len(trace)]
    trace["seconds"] = np.median(np.array(alike), axis=0)
    trace.insert(0, "phase", np.arange(1, len(trace) + 1))
    return trace


def _untraced(column: str, traced: Iterable[str]) -> Failure:
    return Failure(f"column: no {column!r} in the phases (there are: {', '.join(dict.fromkeys(traced))})")


def _phase_quantities(experiment: Experiment, samples: Samples, traces: list[pd.DataFrame]) -> list[dict[str, Any]]:
    column, noted = experiment.column, _noted(samples)
    rows = [row_of("phases", Metric(""), pd.Series([len(trace) for trace in traces]), noted)]
    if all(column in trace for trace in traces):
        unit = traces_of(experiment.problem)[column].unit
        pooled = pd.concat(traces)[column].dropna()
        if len(pooled):
            peaks = pd.Series([trace[column].max() for trace in traces]).dropna()
            rows.append(row_of(f"peak {column}", Metric("", unit), peaks, noted))
        if len(pooled) and experiment.small is not None:
            share = pd.Series([(pooled <= experiment.small).mean()])
            name = f"share of phases with {column} <= {experiment.small:,}"
            rows.append(row_of(name, Metric(""), share, noted, len(traces), clocked=is_timed(unit)))
    of_rows, metric = BUILT_IN["time"]
    return [*rows, row_of("time", metric, samples.rows[of_rows], noted)]
