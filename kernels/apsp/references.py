"""Rows of an answer by other people's solver, and how an answer differs from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from saitan.problem import Reference

if TYPE_CHECKING:
    from saitan.apsp.instances import Instance


def reference(instance: Instance, query: list[int]) -> Reference:
    """Up to eight rows of a graph's answer by SciPy's Dijkstra, of a matrix's by NumPy, first and last among them.

    distances float64 [rows, n] (inf where not reached) and the relative difference allowed between floats, float64 [1]:
    a float32 sum of h non-negative terms is rounded by a factor within 1 +- h u, whatever their order, and two paths
    may differ, so those of at most h arcs by a factor of 2 h u. Raises ValueError for what `instance` did not
    make and a query that there is not.
    """
    from saitan.apsp.dense import closure_rows, drawn_rows
    from saitan.apsp.instances import made
    from saitan.apsp.rounding import closing_additions, rounded

    first, count = made(instance).range_of(query)
    if instance.graph is None:
        rows = drawn_rows(count, instance.n)
        found = closure_rows(instance.matrix, first + rows)
        distances = np.where(found == _infinite(found.dtype), np.inf, found.astype(np.float64))
        relative, by = rounded(closing_additions(instance.n) + instance.n), "NumPy"
    else:
        from saitan.apsp.peers import expected_rows

        rows = np.unique(np.linspace(0, count - 1, min(count, 8)).astype(np.int64))
        distances, hops = expected_rows(instance.graph, first + rows)
        relative, by = 2 * max(1, hops) * np.finfo(np.float32).eps, "SciPy's Dijkstra"
    if instance.answer == "reductions":
        from saitan.apsp.streaming import named, reduced_rows

        return Reference(by, named(instance.n, *reduced_rows(distances)) | {"relative": np.array([relative])}, rows)
    return Reference(by, {"distances": distances, "relative": np.array([relative])}, rows)


def differs(reference: Reference, answer: dict[str, np.ndarray]) -> str | None:
    """How the rows of a reference and the same rows of an answer differ; None when they do not.

    Exact for integers below 2^53, above which float64 rounds the reference.
    """
    names = [name for name in reference.arrays if name != "relative"]
    if line := reference.misshapen(answer, *names):
        return line
    relative = float(reference.arrays["relative"][0])
    if "distances" not in names:
        return _reductions_differ(reference, answer, names, relative)
    got, wanted = answer["distances"], reference.arrays["distances"]
    values = np.where(got == _infinite(got.dtype), np.inf, got.astype(np.float64))
    whole = np.issubdtype(got.dtype, np.integer)
    if whole:
        relative *= np.finfo(np.float64).eps / np.finfo(np.float32).eps
    wrong = ~np.isclose(values, wanted, rtol=relative, atol=0)
    if whole:
        wrong |= (wanted < 2**53) & (values != wanted)
    if not wrong.any():
        return None
    place, vertex = (int(x) for x in np.argwhere(wrong)[0])
    row = place if reference.rows is None else int(reference.rows[place])
    return (
        f"{int(wrong.sum()):,} distances differ, the first in row {row} at vertex {vertex}: "
        f"{got[place, vertex]}, not {wanted[place, vertex]:g}"
    )


def _reductions_differ(
    reference: Reference, answer: dict[str, np.ndarray], names: list[str], relative: float
) -> str | None:
    for name in names:
        got, wanted = answer[name], reference.arrays[name]
        # Closeness is rounded once more than the integers it is made of.
        exact = np.issubdtype(answer["eccentricity"].dtype, np.integer)
        slack = 4 * np.finfo(np.float64).eps if exact else 2 * relative
        wrong = np.flatnonzero(~np.isclose(got.astype(np.float64), wanted.astype(np.float64), rtol=slack, atol=0))
        if len(wrong):
            row = int(wrong[0]) if reference.rows is None else int(reference.rows[wrong[0]])
            return f"{len(wrong):,} of {name} differ, the first in row {row}: {got[wrong[0]]}, not {wanted[wrong[0]]}"
    return None


def _infinite(dtype: np.dtype):
    """The entry of a vertex that is not reached: in matrices of int32 and uint16 the infinity of `tropical`."""
    from saitan.sssp import unreachable
    from saitan.tropical.semiring import INFINITE

    return INFINITE[dtype.name] if dtype.name in INFINITE else unreachable(dtype)
