"""What an experiment shows: each view turns raw samples or graphs into a table of quantities and a chart's data.

    table   backend, graph, variant, the parameters; quantity, unit, ours, q1, q3, samples; later paper, ratio
    figure  the columns the chart may use, named below at each view

Views know no problem: what a problem counts comes in by the columns of its samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from saitan.workflow.config import Experiment
from saitan.workflow.graphs.parquet import read_metadata
from saitan.workflow.step import Failure

KEYS = ["backend", "graph", "variant"]
# Longer series are thinned to this many points: more than a screen shows, small enough to embed.
POINTS = 500


@dataclass(frozen=True)
class Inputs:
    """Raw sample files and graph folders of one experiment."""

    samples: list[Path]
    graphs: list[Path]


def summary(experiment: Experiment, inputs: Inputs) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Times of every point.

    Figure: keys, parameters, seconds (median), mean_seconds, q1, q3, medians of the counters, and the graph's vertices
    and arcs.
    """
    rows, marks = [], []
    sizes = {}
    for folder in inputs.graphs:
        metadata = read_metadata(folder)
        sizes[folder.name] = {name: metadata[name] for name in ("vertices", "arcs")}
    for point, samples in _points(experiment, inputs, traces=False):
        measured = {
            "time": ("s", samples["seconds"]),
            "mean time": ("s", pd.Series([samples["seconds"].mean()]), len(samples)),
            "total time": ("s", samples["total_seconds"]),
            "upload time": ("s", samples["transfer_seconds"]),
            "memory": ("bytes", samples["memory"]),
        }
        counters = [name for name in samples.columns if name not in _PLAIN and name not in point]
        numbers = samples[counters].select_dtypes("number")
        measured |= {name: ("s" if name.endswith("_s") else "", numbers[name].dropna()) for name in numbers}
        rows += [
            point | _quantity(quantity, *measured[quantity])
            for quantity in experiment.quantities
            if quantity in measured and len(measured[quantity][1])
        ]
        seconds = samples["seconds"]
        marks.append(
            point
            | sizes.get(point["graph"], {})
            | {name: numbers[name].median() for name in numbers}
            | {
                "seconds": seconds.median(),
                "mean_seconds": seconds.mean(),
                "q1": seconds.quantile(0.25),
                "q3": seconds.quantile(0.75),
            }
        )
    figure = pd.DataFrame(marks)
    if experiment.baseline:
        rows += _speedups(experiment, figure)
    return pd.DataFrame(rows), figure


def _speedups(experiment: Experiment, figure: pd.DataFrame) -> list[dict[str, Any]]:
    """Mean time of the baseline over that of every other point with the same backend, graph and instance."""
    shared = ["backend", "graph", *experiment.instance]
    baseline = figure[figure["variant"] == experiment.baseline].groupby(shared, dropna=False)["mean_seconds"].mean()
    rows = []
    for mark in figure[figure["variant"] != experiment.baseline].to_dict("records"):
        key = tuple(mark[name] for name in shared)
        if key in baseline.index:
            point = {name: mark.get(name) for name in [*KEYS, *_parameters(experiment)]}
            name = f"speed-up over {experiment.baseline}"
            rows.append(point | _quantity(name, "", pd.Series([baseline.loc[key] / mark["mean_seconds"]])))
    return rows


def phases(experiment: Experiment, inputs: Inputs) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What happened in each phase.

    Figure: keys, parameters, query, phase, seconds (median of the rounds), and what else the problem traces.
    """
    rows, series = [], []
    for point, samples in _points(experiment, inputs, traces=True):
        traces = [_trace(group) for _, group in samples.groupby("query", sort=False)]
        rows += [point | row for row in _phase_quantities(experiment, traces)]
        for query, trace in zip(samples["query"].unique(), traces, strict=True):
            step = -(-len(trace) // POINTS)
            series.append(trace.iloc[::step].assign(query=query, **point))
    return pd.DataFrame(rows), pd.concat(series, ignore_index=True)


def phase_cdf(experiment: Experiment, inputs: Inputs) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cumulative distribution of a column over the phases of all queries.

    Figure: keys, parameters, that column, share. Raises Failure for a column that the traces lack.
    """
    rows, series = [], []
    for point, samples in _points(experiment, inputs, traces=True):
        traces = [_trace(group) for _, group in samples.groupby("query", sort=False)]
        rows += [point | row for row in _phase_quantities(experiment, traces)]
        pooled = pd.concat(traces)
        if experiment.column not in pooled:
            raise Failure(f"column: no {experiment.column!r} in the phases (there are: {', '.join(pooled)})")
        series.append(_cdf(pooled[experiment.column].dropna(), experiment.column).assign(**point))
    return pd.DataFrame(rows), pd.concat(series, ignore_index=True)


def graphs(experiment: Experiment, inputs: Inputs) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sizes and weights of graphs. Figure: graph, degree, share (the distribution of out-degrees)."""
    rows, series = [], []
    for folder in inputs.graphs:
        offsets = pq.read_table(folder / "vertices.parquet", columns=["offset"])["offset"].to_numpy()
        degrees = pd.Series(np.diff(offsets))
        point = {"graph": folder.name}
        rows += [
            point | _quantity(name, "", pd.Series([value]))
            for name, value in (
                ("vertices", len(degrees)),
                ("arcs", int(offsets[-1])),
                ("mean degree", degrees.mean()),
                ("largest degree", degrees.max()),
            )
        ]
        rows += _weight_quantities(folder)
        series.append(_cdf(degrees, "degree").assign(**point))
    return pd.DataFrame(rows), pd.concat(series, ignore_index=True)


def weights(experiment: Experiment, inputs: Inputs) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Distribution of the weights. Figure: graph, weight, share."""
    rows = [row for folder in inputs.graphs for row in _weight_quantities(folder)]
    series = [_cdf(_weights(folder), "weight").assign(graph=folder.name) for folder in inputs.graphs]
    return pd.DataFrame(rows), pd.concat(series, ignore_index=True)


VIEWS: dict[str, Callable[[Experiment, Inputs], tuple[pd.DataFrame, pd.DataFrame]]] = {
    "summary": summary,
    "phases": phases,
    "phase_cdf": phase_cdf,
    "graphs": graphs,
    "weights": weights,
}

# Columns of a sample file that are neither parameters nor the problem's counters.
_PLAIN = {
    *("experiment", "problem", *KEYS, "query", "round", "seconds", "total_seconds", "transfer_seconds", "memory"),
    *("measured_at", "host", "cpu", "threads_used", "python", "packages", "commit", "dirty"),
    *("gpu", "gpu_memory", "gpu_multiprocessors", "gpu_clock_mhz", "gpu_memory_clock_mhz", "cuda_driver"),
}


def _parameters(experiment: Experiment) -> list[str]:
    names = [name for values in experiment.variants.values() for name in values]
    return list(dict.fromkeys([*experiment.instance, *names]))


def _points(experiment: Experiment, inputs: Inputs, *, traces: bool) -> Iterable[tuple[dict[str, Any], pd.DataFrame]]:
    """Each sample file: its keys and parameters, and its rows."""
    for path in inputs.samples:
        file = pq.ParquetFile(path)
        columns = [name for name in file.schema_arrow.names if traces or not name.startswith("phase_")]
        samples = file.read(columns=columns).to_pandas()
        first = samples.iloc[0]
        yield {name: first.get(name) for name in [*KEYS, *_parameters(experiment)]}, samples


def _trace(rounds: pd.DataFrame) -> pd.DataFrame:
    """The phases of one query: its first round, with seconds the median over all rounds that made as many phases.

    Raises Failure where none were traced.
    """
    if "phase_seconds" not in rounds:
        raise Failure("view: the problem's variants trace no phases; summary shows their times")
    lists = [name for name in rounds.columns if name.startswith("phase_")]
    first = rounds.iloc[0]
    trace = pd.DataFrame({name.removeprefix("phase_"): first[name] for name in lists if first[name] is not None})
    # Rounds after the first have no phases where only a run of its own traces them.
    alike = [values for values in rounds["phase_seconds"].dropna() if len(values) == len(trace)]
    trace["seconds"] = np.median(np.array(alike), axis=0)
    trace.insert(0, "phase", np.arange(1, len(trace) + 1))
    return trace


def _phase_quantities(experiment: Experiment, traces: list[pd.DataFrame]) -> list[dict[str, Any]]:
    column = experiment.column
    rows = [_quantity("phases", "", pd.Series([len(trace) for trace in traces]))]
    if all(column in trace for trace in traces):
        rows.append(_quantity(f"peak {column}", "", pd.Series([trace[column].max() for trace in traces])))
        if experiment.small is not None:
            pooled = pd.concat(traces)[column]
            share = pd.Series([(pooled <= experiment.small).mean()])
            name = f"share of phases with {column} <= {experiment.small:,}"
            rows.append(_quantity(name, "", share, len(traces)))
    rows.append(_quantity("time", "s", pd.Series([trace["seconds"].sum() for trace in traces])))
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
    return [{"graph": folder.name} | _quantity(name, "", pd.Series([value])) for name, value in values.items()]


def _cdf(values: pd.Series, name: str) -> pd.DataFrame:
    """At most POINTS quantiles of the values; share is the part of them at or below the column `name`."""
    ordered = np.sort(values.to_numpy())
    if not len(ordered):
        return pd.DataFrame({name: [], "share": []})
    index = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), POINTS)).astype(int))
    upto = np.searchsorted(ordered, ordered[index], side="right")
    return pd.DataFrame({name: ordered[index], "share": upto / len(ordered)}).drop_duplicates(name)


def _quantity(name: str, unit: str, values: pd.Series, samples: int | None = None) -> dict[str, Any]:
    """A row of a table. samples: how many a single value sums up, where it does."""
    spread = len(values) > 1
    return {
        "quantity": name,
        "unit": unit,
        "ours": float(values.median()),
        "q1": float(values.quantile(0.25)) if spread else None,
        "q3": float(values.quantile(0.75)) if spread else None,
        "samples": samples or len(values),
    }
