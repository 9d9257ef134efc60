"""What is known of graphs without measuring: sizes, degrees, weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from saitan.problem import Metric
from saitan.workflow.parquet_files import opened, read_rows
from saitan.workflow.rows import MEASURED, cdf, joined, row_of


def graphs(folders: list[Path]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sizes and weights of graphs. Figure: graph, degree, share (the distribution of out-degrees)."""
    rows, series = [], []
    for folder in folders:
        offsets = read_rows(folder / "vertices.parquet", ["offset"])["offset"].to_numpy()
        degrees = pd.Series(np.diff(offsets))
        values = {
            "vertices": len(degrees),
            "arcs": int(offsets[-1]),
            "mean degree": degrees.mean(),
            "largest degree": degrees.max(),
        }
        rows += _facts(folder, values) + _weight_quantities(folder, _weights(folder))
        series.append(cdf(degrees, "degree").assign(graph=folder.name))
    return pd.DataFrame(rows, columns=["graph", *MEASURED]), joined(series)


def weights(folders: list[Path]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How many weights there are, and their distribution. Figure: graph, weight, share."""
    rows, series = [], []
    for folder in folders:
        values = _weights(folder)
        rows += _facts(folder, {"weights": len(values)}) + _weight_quantities(folder, values)
        series.append(cdf(values, "weight").assign(graph=folder.name))
    return pd.DataFrame(rows, columns=["graph", *MEASURED]), joined(series)


def _weights(folder: Path) -> pd.Series:
    with opened(folder / "edges.parquet") as edges:
        if "weight" not in edges.schema_arrow.names:
            return pd.Series(np.empty(0))
        return pd.Series(edges.read(columns=["weight"])["weight"].to_numpy())


def _weight_quantities(folder: Path, weights: pd.Series) -> list[dict[str, Any]]:
    weights = weights.astype(np.float64)
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
        {"graph": folder.name} | row_of(name, Metric(""), pd.Series([value]), known) for name, value in values.items()
    ]
