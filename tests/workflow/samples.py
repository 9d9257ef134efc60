"""Sample files as measure.py writes them, for tests of what reads them."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

MEASURED = {
    "measured_at": "2026-01-02T03:04:05+00:00",
    "host": "node7",
    "cpu": "Example CPU",
    "python": "3.12.1",
    "packages": "saitan=0.1.0 numpy=2.1.3",
    "commit": "0123456789abcdef",
    "dirty": False,
}
ON_GPU = {"gpu": "Example GPU", "gpu_clock_mhz": 1980, "cuda_driver": "13.0"}


def write_samples(
    path: Path,
    rows: list[dict],
    *,
    variant: str = "fast",
    backend: str = "cpu",
    graph: str = "g",
    experiment: str = "e",
    problem: str = "sssp",
    parameters: dict | None = None,
    instance: dict | None = None,
    cores: int = 4,
    identity: str = "now",
    settled: bool = True,
    disturbed: list[str] | None = None,
    unavailable: str | None = None,
    provenance: dict | None = None,
    device: str = "",
) -> Path:
    """A point's file. rows: of a timed answer each, at least `seconds`; what they leave out has a default."""
    point = {"experiment": experiment, "problem": problem, "backend": backend, "graph": graph, "variant": variant}
    point |= {"cores": cores, "provenance": MEASURED | (ON_GPU if backend == "cuda" else {}) | (provenance or {})}
    point |= {name: struct for name, struct in (("parameters", parameters), ("instance", instance)) if struct}
    defaults = {"query": "1", "round": 0, "total_seconds": 9.0, "transfer_seconds": 0.5, "memory": 100}
    defaults |= {"disturbed": "", "checked": "every vertex by a certificate", "checked_whole": True}
    columns = list(dict.fromkeys(name for row in [point | defaults, *rows] for name in row))
    records = [] if unavailable else [{name: (point | defaults | row).get(name) for name in columns} for row in rows]
    table = pa.Table.from_pylist(records) if records else pa.table({"experiment": pa.array([], pa.string())})
    about = {"identity": identity, "settled": settled, "spread": 0.01, "disturbed": disturbed or []}
    about |= {"unavailable": unavailable, "device": device}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata({b"saitan": json.dumps(about).encode()}), path)
    return path


def seconds(*values: float, **counters: list) -> list[dict]:
    """Rows of these times; counters: a value a row."""
    rows = [{"seconds": value} for value in values]
    for i, row in enumerate(rows):
        if counters:
            row["counters"] = {name: counts[i] for name, counts in counters.items()}
    return rows


class Held:
    """An output as the reader of a form has it."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, np.dtype(dtype)

    def __getitem__(self, rows):
        return np.zeros(self.shape, self.dtype)[rows]

    def close(self):
        pass
