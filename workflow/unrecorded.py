"""Files that say they were made for another configuration, while Snakemake knows nothing of how they were made.

Snakemake sees a changed parameter by its record in .snakemake. Without it (removed, or results/ copied alone) it goes
by dates, and would call old numbers up to date: what is of another configuration is dated back, before all it is made
of.
"""

from __future__ import annotations

import contextlib
import os
import sys
from base64 import urlsafe_b64encode
from pathlib import Path

from saitan.workflow.graphs.plan import made_before
from saitan.workflow.outline import outline_files
from saitan.workflow.plan import Plan
from saitan.workflow.points import Point
from saitan.workflow.samples import current
from saitan.workflow.step import Failure

RECORDS = Path(".snakemake/metadata")
# Snakemake cuts a longer name of a record into folders.
_LONGEST = 254


def date_back(plan: Plan) -> None:
    """Have Snakemake make samples and what steps are told again.

    A graph may be made of no file that could be newer: for one of another entry the process ends with one line.
    """
    for graph in plan.graphs:
        if any(map(unrecorded, plan.graph_files(graph))) and not made_before(graph, plan.entries[graph]):
            sys.exit(
                f"error: {plan.graph_folder(graph)} is not what config/graphs.yaml says, and Snakemake's record of how"
                f" it was made is gone: remove {' and '.join([plan.graph_folder(graph), *plan.downloads_of(graph)])}"
            )
    files = [point.samples for point in plan.points if unrecorded(point.samples) and not _current(point)]
    if unrecorded(f"{plan.run}/plan.json"):
        files += [file for file, told in outline_files(plan).items() if unrecorded(file) and _text(file) != told]
    for file in files:
        with contextlib.suppress(OSError):  # results of somebody else: Snakemake says what it cannot write
            os.utime(file, (1, 1))  # a time of 0 is none to Snakemake


def unrecorded(file: str) -> bool:
    """Whether a file is there, and Snakemake's record of it is not."""
    name = urlsafe_b64encode(file.encode()).decode()
    *folders, last = (name[start : start + _LONGEST] for start in range(0, len(name), _LONGEST))
    return Path(file).exists() and not RECORDS.joinpath(*(f"@{folder}" for folder in folders), last).exists()


def _current(point: Point) -> bool:
    try:
        return current(Path(point.samples), point.identity)
    except Failure:
        return False


def _text(file: str) -> str:
    return Path(file).read_text(errors="replace")
