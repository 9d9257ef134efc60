"""Rows of a table and points of a distribution, as all views make them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from saitan.problem import Metric
from saitan.workflow.quantities import combined, is_timed

KEYS = ["backend", "graph", "variant", "cores"]
MEASURED = ["quantity", "unit", "ours", "q1", "q3", "samples", "settled", "disturbed", "checked"]
# What the paper prints, and ours / paper.
PRINTED = ["paper", "over_paper"]
# Longer series are thinned to this many points: more than a screen shows, small enough to embed.
POINTS = 500


def row_of(
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
    # Between two infinities there is no line.
    method = "linear" if np.isfinite(numbers).all() else "nearest"
    q1, q3 = np.quantile(numbers, [0.25, 0.75], method=method) if len(numbers) > 1 else (None, None)
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


def cdf(values: pd.Series, name: str) -> pd.DataFrame:
    """At most POINTS quantiles of the values; share is the part of them at or below the column `name`."""
    ordered = np.sort(values.to_numpy())
    if not len(ordered):
        return pd.DataFrame({name: [], "share": []}, dtype=float)
    index = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), POINTS)).astype(int))
    upto = np.searchsorted(ordered, ordered[index], side="right")
    return pd.DataFrame({name: ordered[index], "share": upto / len(ordered)}).drop_duplicates(name)


def thinned(trace: pd.DataFrame) -> pd.DataFrame:
    """A series of more than POINTS rows cut to at most as many: of each stretch the rows with the least and the largest
    number of every column, so that no peak and neither end is lost.
    """
    if len(trace) <= POINTS:
        return trace
    numbers = trace.select_dtypes("number").reset_index(drop=True)
    stretches = np.arange(len(trace)) * (POINTS // (2 * numbers.shape[1])) // len(trace)
    kept: set[int] = set()
    for name in numbers:
        groups = numbers[name].dropna().groupby(stretches[numbers[name].notna()])
        kept |= {*groups.idxmin(), *groups.idxmax()}
    return trace.iloc[sorted(kept)]


def joined(series: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(series, ignore_index=True) if series else pd.DataFrame()
