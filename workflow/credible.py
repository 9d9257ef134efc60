"""What solvers say of their runs, held against what is seen of these from outside.

Each function gives the end of a sentence that begins with the variant's name, or None where nothing is wrong.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from saitan.graph_input import shortened, shown
from saitan.problem import Checked, Run

# By what share the host's clock may be slower than the device's.
CLOCKS = 0.01
# Seconds of phases, each of its slowest rank, add up to no more than so many times those that went by.
PHASES = 2
# A GPU that works on after each run, for longer than this share of the time told and these seconds, was not waited for.
PENDING, LEAST_PENDING = 0.1, 1e-4
# First answers of so many seconds at least, each of which takes so many times as long as later ones, were kept.
LEAST_KEPT, KEPT = 1e-3, 100

_FORMS = (
    (Run, "counters", Mapping, "a mapping of names to numbers"),
    (Run, "work", Mapping, "a mapping of names to numbers"),
    (Run, "phases", Mapping, "a mapping of names to arrays"),
    (Run, "disturbed", str, "a text"),
    (Checked, "says", str, "a text"),
    (Checked, "whole", bool | np.bool_, "True or False"),
)


def unfinished(pending: list[float], told: float) -> str | None:
    """How a GPU was not waited for, as the end of a sentence; None where it was. told: seconds that a run says."""
    if not pending or min(pending) <= max(LEAST_PENDING, PENDING * told):
        return None
    right = "wait for it before the clock is read"
    return f"returns from run {min(pending):.2g} s or more before the GPU has done what it was given: {right}"


def remembered(rows: list[dict[str, Any]], queries: int, known: Collection[int]) -> str | None:
    """How answers are those of earlier runs, as the end of a sentence; None where nothing tells.

    known: places of the queries that were answered before their first row; a single round is held against them
    """
    columns = [[row["seconds"] for row in rows[place::queries]] for place in range(queries)]
    new = [column for place, column in enumerate(columns) if place not in known]
    first = [column[0] for column in new]
    if len(rows) > queries:
        if len(new) < 2 or not all(map(kept, new)):
            return None
        later = [statistics.median(column[1:]) for column in new]
    else:
        later = [column[0] for place, column in enumerate(columns) if place in known]
        if not (first and later and kept([min(first), max(later)])):
            return None
    return remembers(f"{min(first):.2g} s or more when a query is new, and {max(later):.2g} s or less afterwards")


def remembers(took: str) -> str:
    """The end of a sentence. took: seconds with which answers are new, and with which they are not."""
    return f"takes {took}: it remembers answers, and a run that computes its own is right"


def kept(seconds: Sequence[float]) -> bool:
    """Whether a question took so much longer when it was new that its answer may have been kept. seconds: in order."""
    first, *later = seconds
    return first >= max(LEAST_KEPT, KEPT * statistics.median(later))


def wrong_run(run: Run, checked: Checked, query: Any, passed: float) -> str | None:
    """What no run or check can say of itself, as the end of a sentence; None where there is nothing of this kind.

    passed: seconds that the run took
    """
    for owner, name, kind, right in _FORMS:
        if not isinstance(value := getattr(run if owner is Run else checked, name), kind):
            return f"{name} of its {owner.__name__} of query {query} is {shown(value)}: {right} is right"
    if not checked.says.strip():
        return f"says of its Checked of query {query} is empty: what was checked is right"
    if wrong := wrong_phases(run.phases, {}, passed):
        return wrong
    for what, seconds in (("kernel", run.kernel), ("total", run.total)):
        if not (_finite(seconds) and seconds > 0):
            return f"query {query} took {_said(seconds)} s ({what}): a finite number above 0 is right"
    if run.kernel > run.total * (1 + CLOCKS):
        return f"query {query} took {run.kernel} s (kernel) of {run.total} s in all: at most all of it is right"
    if run.total > passed * (1 + CLOCKS):
        right = "seconds are right"
        return f"query {query} took {_said(run.total)} s in all, but its run ended after {passed:.3g} s: {right}"
    for name, value in run.counters.items():
        if not _in_64_bits(value):
            right = "a number of 64 bits is right, or none where there is nothing to say"
            return f"its counter {name} is {_said(value)}: {right}"
    for name, amount in run.work.items():
        if not (_finite(amount) and amount >= 0):
            return f"its work of {name} is {_said(amount)}: a finite number of at least 0 is right"
    return None


def wrong_phases(phases: Any, before: Mapping[str, list], passed: float) -> str | None:
    """The same of arrays of phases. before: those that the answer has already; passed: seconds that they took."""
    if not isinstance(phases, Mapping):
        return f"its phases are {shown(phases)}: a mapping of names to arrays is right"
    for name, values in phases.items():
        if not isinstance(values, np.ndarray) or values.ndim != 1:
            given = f"an array of shape {values.shape}" if isinstance(values, np.ndarray) else shown(values)
            return f"its phases of {name} are {given}: an array of one dimension is right"
        if values.dtype.kind not in "biufU" and not all(isinstance(value, str) for value in values):
            return f"its phases of {name} are of type {values.dtype}: numbers or texts are right"
        for seconds in values if name == "seconds" and values.dtype.kind in "iuf" else ():
            if not (_finite(seconds) and seconds >= 0):
                return f"a phase took {_said(seconds)} s: a finite number of at least 0 is right"
    told = phases.get("seconds")
    if told is not None and told.dtype.kind in "iuf" and told.sum() > PHASES * passed:
        return f"its phases took {told.sum():.3g} s in all, of {passed:.3g} s that went by: seconds are right"
    lengths = {name: len(values) for name, values in {**before, **phases}.items()}
    for (one, few), (other, many) in itertools.pairwise(lengths.items()):
        if few != many:
            return f"its phases of {one} are {few:,}, and of {other} {many:,}: as many is right"
    return None


def _finite(value: Any) -> bool:
    try:
        return isinstance(value, Real) and math.isfinite(value)
    except OverflowError:
        return False


def _in_64_bits(value: Any) -> bool:
    """Whether it is a number that a table holds, the nearest of 53 bits at the least; NaN is none."""
    if isinstance(value, float | np.floating):
        return not math.isnan(value)
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _said(value: Any) -> str:
    """A number without its type; all else as code writes it: the text '3' is no number."""
    return shortened(str(value)) if isinstance(value, Real) else shown(value)
