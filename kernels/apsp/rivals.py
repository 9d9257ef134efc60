"""Which solver is quicker than one source a block on a small graph: those that may be are timed once, in preparation.

A search takes 1.15 us a round, and a round goes one arc further. So a sweep or blocked Floyd-Warshall is quicker on
rings, paths and other graphs whose paths have many arcs. What these take depends on the weights, the numbering of the
vertices and the hierarchy, so it is measured. Most graphs are searched in less than the least that either of them
takes; then none is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from saitan.apsp import sweep
from saitan.apsp.cuda_dense import FloydWarshallBlocked
from saitan.apsp.cuda_few_arcs import MOST, PAIRS, FewArcs, closing_seconds
from saitan.apsp.cuda_sweep import MOST as BATCH
from saitan.apsp.cuda_sweep import Swept
from saitan.apsp.instances import Instance
from saitan.problem import Unavailable

# Sources that are searched to see what more of them take, and a time that is not measured again.
SEARCHED, LONG = 4096, 0.05
# Arcs a vertex from which a matrix is closed by few arcs of its rows.
DENSE = 64
# The least seconds that were measured on an H200: a batch of a sweep; a matrix by few arcs, as a share of what closing
# it takes; blocked Floyd-Warshall once, a vertex, and as a share of its pairs where most entries are infinite.
SWEPT, FEW_ARCS, ONCE, VERTEX, FINITE = 2e-4, 0.15, 4e-5, 7e-7, 0.1


def rival(instance: Instance, search: Callable[[Instance], Any], searched: int) -> Callable[[Instance], Any] | None:
    """What makes a quicker solver of a graph than `search` does; None where nothing does.

    searched: how many of the instance's sources that one would search
    """
    graph, n, sources = instance.graph, instance.n, instance.sources
    if n > MOST:
        return None
    quicker, everything = None, [0, sources]
    if searched <= SEARCHED:
        best = _seconds(search, instance, everything)
    else:
        count = SEARCHED
        best = searched / count * _seconds(search, replace(instance, sources=count), [(n - count) // 2, count])
    if best > SWEPT * -(-sources // BATCH) and (hierarchy := sweep.hierarchy_of_map(graph, sweep.TRIED)):
        make = partial(Swept, hierarchy=hierarchy)
        if (seconds := _seconds(make, instance, everything)) < best:
            best, quicker = seconds, make
    if instance.answer == "matrix" and sources == n:
        dense = graph.m >= DENSE * n
        close, least = (FewArcs, FEW_ARCS * closing_seconds(n, 4)) if dense else (FloydWarshallBlocked, _least(n))
        if best > least and _seconds(close, instance, everything) < best:
            quicker = close
    return quicker


def _least(n: int) -> float:
    """The least that blocked Floyd-Warshall takes."""
    return ONCE + VERTEX * n + FINITE * n**3 / PAIRS


def _seconds(make: Callable[[Instance], Any], instance: Instance, query: list[int]) -> float:
    """What a solver takes to answer a query, the better of two; infinite where it cannot."""
    try:
        solver = make(instance)
    except Unavailable:
        return float("inf")
    try:
        answer, best = getattr(solver, "produce", solver.run), float("inf")
        for turn in range(3):
            seconds = answer(query).kernel
            # The first one loads kernels.
            if turn or seconds > LONG:
                best = min(best, seconds)
            if seconds > LONG:
                break
        return best
    except Unavailable:
        return float("inf")
    finally:
        solver.close()
