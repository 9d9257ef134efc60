"""Files that say they were made for another configuration, while Snakemake does not know.

Snakemake sees a changed parameter by its record in .snakemake. Without it (removed, or results/ copied alone) it goes
by dates, and would call old numbers up to date; the same where a record is of the file that another one has replaced.
What is of another configuration is dated back, before all it is made of.
"""

from __future__ import annotations

import contextlib
import os
import sys
from base64 import urlsafe_b64encode
from pathlib import Path

from saitan.workflow.answers import about_answer, broken
from saitan.workflow.arrays import array_file
from saitan.workflow.graphs.parquet import read_metadata
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
    files = [point.samples for point in plan.points if _mistaken(point)]
    for graph in plan.graphs:
        made = plan.graph_files(graph)
        if any(map(unrecorded, made)) and _of_another_file(plan, graph):
            files += [*plan.downloads_of(graph), *made]
    for array in filter(lambda array: unrecorded(array_file(array)), plan.arrays_used):
        if array in plan.contents:
            files += [plan.download_of_array(array), array_file(array)]
        elif not plan.arrays[array].describes(array_file(array)):
            files.append(array_file(array))
    files += [file for file, form in plan.kept_as.items() if unrecorded(file) and not _in_form(file, form)]
    # Snakemake knows one file of a kept answer, which may have several.
    files += [file for file in plan.kept if Path(file).exists() and broken(Path(file))]
    if unrecorded(f"{plan.run}/plan.json"):
        files += [file for file, told in outline_files(plan).items() if unrecorded(file) and _text(file) != told]
    for file in files:
        with contextlib.suppress(OSError):  # results of somebody else: Snakemake says what it cannot write
            os.utime(file, (1, 1))  # a time of 0 is none to Snakemake
            # With a record, newer data of the same checksum is none to Snakemake.
            _record(file).unlink(missing_ok=True)


def unrecorded(file: str) -> bool:
    """Whether a file is there, and Snakemake's record of it is not."""
    return Path(file).exists() and not _record(file).exists()


def _record(file: str) -> Path:
    name = urlsafe_b64encode(file.encode()).decode()
    *folders, last = (name[start : start + _LONGEST] for start in range(0, len(name), _LONGEST))
    return RECORDS.joinpath(*(f"@{folder}" for folder in folders), last)


def _mistaken(point: Point) -> bool:
    """Whether Snakemake would take a point's samples for up to date, and they say that they are not."""
    record = _record(point.samples)
    if not Path(point.samples).exists() or (record.exists() and point.identity not in _text(str(record))):
        return False
    try:
        return not current(Path(point.samples), point.identity)
    except Failure:
        # Measuring says what is wrong with it.
        return not record.exists()


def _in_form(file: str, form: str) -> bool:
    """Whether a kept answer was written as is wanted now."""
    try:
        return about_answer(Path(file))["keep_as"] == form
    except (Failure, KeyError):
        return False


def _of_another_file(plan: Plan, graph: str) -> bool:
    """Whether the user's own file of a graph has another content than what the graph was made of."""
    return graph in plan.contents and read_metadata(Path(plan.graph_folder(graph)))["checksum"] != plan.contents[graph]


def _text(file: str) -> str:
    return Path(file).read_text(encoding="utf-8", errors="replace")
