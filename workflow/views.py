"""What an experiment shows: each view turns raw samples or graphs into a table of quantities and a chart's data.

    table   backend, graph, variant, threads, the parameters; quantity, unit, ours, q1, q3, samples; settled, disturbed,
            checked; later paper, ratio
    figure  the columns the chart may use, named below at each view; settled

Views know no problem: its METRICS say the unit of a counter, how samples combine and which way is better. A quantity
that no clock enters (a count, bytes) is settled always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from saitan.problem import Metric
from saitan.workflow.ceilings import Ceilings
from saitan.workflow.config import Experiment
from saitan.workflow.graphs.parquet import read_metadata
from saitan.workflow.quantities import BUILT_IN, SHARE, combined, headline_of, is_timed, metrics_of
from saitan.workflow.samples import Samples, read_samples
from saitan.workflow.step import Failure

KEYS = ["backend", "graph", "variant", "threads"]
MEASURED = ["quantity", "unit", "ours", "q1", "q3", "samples", "settled", "disturbed", "checked"]
# Longer series are thinned to this many points: more than a screen shows, small enough to embed.
POINTS = 500


@dataclass(frozen=True)
class Inputs:
    """Raw sample files and graph folders of one experiment; what GPUs can do."""

    samples: list[Path]
    graphs: list[Path]
    ceilings: Ceilings = field(default_factory=Ceilings)


def summary(experiment: Experiment, inputs: Inputs) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Times and counters of every point.

    Figure: keys, parameters, seconds (median), mean_seconds, the metrics, quartiles of each but the mean under its name
    with _q1 and _q3, and the graph's vertices and arcs.
    """
    rows, marks, measured = [], [], []
    metrics, headline = metrics_of(experiment.problem), headline_of(experiment.problem).quantity
    sizes = {}
    for folder in inputs.graphs:
        metadata = read_metadata(folder)
        sizes[folder.name] = {name: metadata[name] for name in ("vertices", "arcs")}
    for point, samples in _points(experiment, inputs, traces=False):
        columns = {name: samples.rows[column] for name, (column, _) in BUILT_IN.items()}
        columns |= {name: samples.counters[name].dropna() for name in samples.counters if name in metrics}
        noted = _noted(samples)
        quantities = {
            name: _quantity(name, metrics[name], values, noted) for name, values in columns.items() if len(values)
        }
        rows += [point | quantities[name] for name in experiment.quantities if name in quantities]
        rows += [point | row for row in _shares(samples, inputs.ceilings, noted)]
        measured.append((point, quantities))
        marks.append(point | sizes.get(point["graph"], {}) | _mark(quantities) | _state(noted))
    if experiment.baseline:
        rows += _speedups(experiment, measured, headline, f"speed-up over {experiment.baseline}")
        if "mean time" in experiment.quantities:
            rows += _speedups(experiment, measured, "mean time", f"speed-up of means over {experiment.baseline}")
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
    """The share of what the GPU can do, in percent: that of the ceiling which bounds the point most."""
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
    return [_quantity(name, Metric("", "%", better="more"), shares[kind], noted, clocked=True)]


def _speedups(
    experiment: Experiment, measured: list[tuple[dict, dict]], quantity: str, name: str
) -> list[dict[str, Any]]:
    """How many times as good a quantity is as the baseline's with the same backend, graph, threads and instance.

    A baseline with several points counts at its best. A speed-up is settled where both points are.
    """
    compared = headline_of(experiment.problem) if quantity != "mean time" else headline_of(None)
    shared = ["backend", "graph", "threads", *experiment.instance]
    bases: dict[tuple, dict[str, Any]] = {}
    for point, quantities in measured:
        if point["variant"] == experiment.baseline and quantity in quantities:
            key, row = tuple(point[part] for part in shared), quantities[quantity]
            if key not in bases or compared.over(row["ours"], bases[key]["ours"]) > 1:
                bases[key] = row
    rows = []
    for point, quantities in measured:
        base = bases.get(tuple(point[part] for part in shared))
        if point["variant"] == experiment.baseline or base is None or quantity not in quantities:
            continue
        row = quantities[quantity]
        if row["ours"] > 0 and base["ours"] > 0:
            noted = {
                "settled": row["settled"] and base["settled"],
                "disturbed": _joined([row["disturbed"], base["disturbed"]]),
                "checked": row["checked"],
            }
            factor = pd.Series([compared.over(row["ours"], base["ours"])])
            rows.append(point | _quantity(name, Metric(""), factor, noted, row["samples"], clocked=True))
    return rows


def phases(experiment: Experiment, inputs: Inputs) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What happened in each phase.

    Figure: keys, parameters, query, phase, seconds (median of the rounds), and what else the problem traces.
    """
    rows, series = [], []
    for point, samples in _points(experiment, inputs, traces=True):
        traces = _traces(samples)
        rows += [point | row for row in _phase_quantities(experiment, list(traces.values()), _noted(samples))]
        for query, trace in traces.items():
            step = -(-len(trace) // POINTS)
            series.append(trace.iloc[::step].assign(query=query, **point, **_state(_noted(samples))))
    return _frame(experiment, rows), _together(series)


def phase_cdf(experiment: Experiment, inputs: Inputs) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cumulative distribution of a column over the phases of all queries.

    Figure: keys, parameters, that column, share. Raises Failure for a column that the traces lack.
    """
    rows, series = [], []
    for point, samples in _points(experiment, inputs, traces=True):
        traces = list(_traces(samples).values())
        noted = _noted(samples)
        rows += [point | row for row in _phase_quantities(experiment, traces, noted)]
        pooled = pd.concat(traces)
        if experiment.column not in pooled:
            raise Failure(f"column: no {experiment.column!r} in the phases (there are: {', '.join(pooled)})")
        state = _state(noted) if experiment.column == "seconds" else {}
        series.append(_cdf(pooled[experiment.column].dropna(), experiment.column).assign(**point, **state))
    return _frame(experiment, rows), _together(series)


def graphs(experiment: Experiment, inputs: Inputs) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sizes and weights of graphs. Figure: graph, degree, share (the distribution of out-degrees)."""
    rows, series = [], []
    for folder in inputs.graphs:
        offsets = pq.read_table(folder / "vertices.parquet", columns=["offset"])["offset"].to_numpy()
        degrees = pd.Series(np.diff(offsets))
        values = {
            "vertices": len(degrees),
            "arcs": int(offsets[-1]),
            "mean degree": degrees.mean(),
            "largest degree": degrees.max(),
        }
        rows += _facts(folder, values) + _weight_quantities(folder)
        series.append(_cdf(degrees, "degree").assign(graph=folder.name))
    return pd.DataFrame(rows, columns=["graph", *MEASURED]), _together(series)


def weights(experiment: Experiment, inputs: Inputs) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Distribution of the weights. Figure: graph, weight, share."""
    rows = [row for folder in inputs.graphs for row in _weight_quantities(folder)]
    series = [_cdf(_weights(folder), "weight").assign(graph=folder.name) for folder in inputs.graphs]
    return pd.DataFrame(rows, columns=["graph", *MEASURED]), _together(series)


VIEWS: dict[str, Callable[[Experiment, Inputs], tuple[pd.DataFrame, pd.DataFrame]]] = {
    "summary": summary,
    "phases": phases,
    "phase_cdf": phase_cdf,
    "graphs": graphs,
    "weights": weights,
}


def _parameters(experiment: Experiment) -> list[str]:
    names = [name for values in experiment.variants.values() for name in values]
    return list(dict.fromkeys([*experiment.instance, *names]))


def _points(experiment: Experiment, inputs: Inputs, *, traces: bool) -> Iterator[tuple[dict[str, Any], Samples]]:
    """Each point that ran: its keys and parameters, and its samples."""
    for path in inputs.samples:
        samples = read_samples(path, traces=traces)
        if samples is not None:
            given = samples.instance | samples.parameters
            yield samples.point | {name: given.get(name) for name in _parameters(experiment)}, samples


def _noted(samples: Samples) -> dict[str, Any]:
    """What is to be said of a point's times."""
    told = samples.about
    return {"settled": told.settled, "disturbed": _joined(told.disturbed), "checked": samples.checked}


def _joined(reasons: Any) -> str:
    """Reasons, each once, as one text."""
    parts = [part for reason in reasons for part in reason.split("; ") if part]
    return "; ".join(dict.fromkeys(parts))


def _state(noted: dict[str, Any]) -> dict[str, Any]:
    """The column of a chart that says whether a mark can be relied on."""
    return {"settled": noted["settled"] and not noted["disturbed"]}


def _frame(experiment: Experiment, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """The rows as a table; of points that all were unavailable, one without rows."""
    names = _parameters(experiment)
    table = pd.DataFrame(rows, columns=[*KEYS, *names, *MEASURED])
    # Pandas makes floats of whole numbers where a point lacks the parameter.
    return table.assign(**{name: pd.Series([row[name] for row in rows], dtype=object) for name in names})


def _together(series: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(series, ignore_index=True) if series else pd.DataFrame()


def _traces(samples: Samples) -> dict[str, pd.DataFrame]:
    """Query -> its phases. Raises Failure where none were traced."""
    if "seconds" not in samples.phases:
        raise Failure("view: the problem's variants trace no phases; summary shows their times")
    groups = samples.rows.groupby("query", sort=False).indices
    return {query: _trace(samples.phases.iloc[rows]) for query, rows in groups.items()}


def _trace(rounds: pd.DataFrame) -> pd.DataFrame:
    """The phases of one query: its first round, with seconds the median over all rounds that made as many phases."""
    first = rounds.iloc[0]
    trace = pd.DataFrame({name: first[name] for name in rounds.columns if first[name] is not None})
    # Rounds after the first have no phases where only a run of its own traces them.
    alike = [values for values in rounds["seconds"].dropna() if len(values) == len(trace)]
    trace["seconds"] = np.median(np.array(alike), axis=0)
    trace.insert(0, "phase", np.arange(1, len(trace) + 1))
    return trace


def _phase_quantities(
    experiment: Experiment, traces: list[pd.DataFrame], noted: dict[str, Any]
) -> list[dict[str, Any]]:
    column = experiment.column
    count = Metric("")
    rows = [_quantity("phases", count, pd.Series([len(trace) for trace in traces]), noted)]
    if all(column in trace for trace in traces):
        rows.append(_quantity(f"peak {column}", count, pd.Series([trace[column].max() for trace in traces]), noted))
        if experiment.small is not None:
            pooled = pd.concat(traces)[column]
            share = pd.Series([(pooled <= experiment.small).mean()])
            name = f"share of phases with {column} <= {experiment.small:,}"
            rows.append(_quantity(name, count, share, noted, len(traces)))
    times = pd.Series([trace["seconds"].sum() for trace in traces])
    rows.append(_quantity("time", BUILT_IN["time"][1], times, noted))
    return rows


def _weights(folder: Path) -> pd.Series:
    edges = pq.ParquetFile(folder / "edges.parquet")
    if "weight" not in edges.schema_arrow.names:
        return pd.Series(np.empty(0))
    return pd.Series(edges.read(columns=["weight"])["weight"].to_numpy())


def _weight_quantities(folder: Path) -> list[dict[str, Any]]:
    weights = _weights(folder).astype(np.float64)
    if weights.empty:
        return []
    values = {
        "weight mean": weights.mean(),
        "weight standard deviation": weights.std(ddof=0),
        "weight least": weights.min(),
        "weight largest": weights.max(),
    }
    return _facts(folder, values)


def _facts(folder: Path, values: dict[str, float]) -> list[dict[str, Any]]:
    """Rows of what is known of a graph without measuring."""
    known = {"settled": True, "disturbed": "", "checked": ""}
    return [
        {"graph": folder.name} | _quantity(name, Metric(""), pd.Series([value]), known)
        for name, value in values.items()
    ]


def _cdf(values: pd.Series, name: str) -> pd.DataFrame:
    """At most POINTS quantiles of the values; share is the part of them at or below the column `name`."""
    ordered = np.sort(values.to_numpy())
    if not len(ordered):
        return pd.DataFrame({name: [], "share": []})
    index = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), POINTS)).astype(int))
    upto = np.searchsorted(ordered, ordered[index], side="right")
    return pd.DataFrame({name: ordered[index], "share": upto / len(ordered)}).drop_duplicates(name)


def _quantity(
    name: str,
    metric: Metric,
    values: pd.Series,
    noted: dict[str, Any],
    samples: int | None = None,
    *,
    clocked: bool = False,
) -> dict[str, Any]:
    """A row of a table. samples: how many a single value sums up, where it does; clocked: a clock enters it though its
    unit does not say so.
    """
    numbers = values.to_numpy(np.float64)
    spread = len(numbers) > 1 and metric.over != "sum"
    q1, q3 = np.quantile(numbers, [0.25, 0.75]) if spread else (None, None)
    timed = clocked or is_timed(metric.unit)
    return {
        "quantity": name,
        "unit": metric.unit,
        "ours": combined(numbers, metric.over),
        "q1": q1 if q1 is None else float(q1),
        "q3": q3 if q3 is None else float(q3),
        "samples": samples or len(numbers),
        "settled": noted["settled"] or not timed,
        "disturbed": noted["disturbed"] if timed else "",
        "checked": noted["checked"],
    }
