"""What many searches at once share on both backends: which roots, the tasks, what is counted.

A search is a bit of every vertex's set, so that one look at an arc serves all of them (Then and others: The more the
merrier: efficient multi-source graph traversal. VLDB 2014).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from saitan.bfs.layout import Numbering
from saitan.blocks import on_host
from saitan.calls import plain_array
from saitan.graph import Graph
from saitan.memory import check_room
from saitan.problem import Run

# Planes of bits that levels are kept in, and the type that they then fit, -1 included.
PLANES = ((7, np.dtype(np.int8)), (15, np.dtype(np.int16)), (31, np.dtype(np.int32)))


@dataclass(frozen=True)
class Asked:
    """A graph and what is asked of it, where that is not a search from one root.

    task: "many" for searches from many roots at once, "closeness" for that of all vertices
    """

    graph: Graph
    task: str

    @property
    def name(self) -> str:
        return self.graph.name


def usable_roots(vertices: Numbering) -> np.ndarray:
    """The graph's numbers of the vertices that have an arc to another one, in the layout's order."""
    return vertices.old[vertices.degrees > 0]


def drawn_roots(usable: np.ndarray, root: int, count: int) -> np.ndarray:
    """The root and others of `usable`, drawn with it as the seed; with repeats where there are too few."""
    drawn = np.random.default_rng(root).choice(usable, count - 1, replace=len(usable) < count - 1)
    return np.concatenate([[root], drawn])


def check_roots(vertices: Numbering, roots: np.ndarray) -> np.ndarray:
    """The roots as int64. Raises ValueError naming the first that is no vertex or has no arc to another one."""
    given = plain_array(roots, "roots")
    if given.ndim != 1 or not len(given) or given.dtype.kind not in "iu":
        raise ValueError(f"roots must be whole numbers in one row, at least one, not {given.dtype} {given.shape}")
    n = len(vertices.new)
    if (wrong := (given < 0) | (given >= n)).any():
        raise ValueError(f"root {given[wrong][0]} is not in [0, {n:,})")
    given = given.astype(np.int64)
    places = vertices.new[given]
    alone = np.ones(len(given), np.bool_)
    alone[places >= 0] = vertices.degrees[places[places >= 0]] == 0
    if alone.any():
        raise ValueError(f"root {given[alone][0]} reaches nothing: no arc goes from it to another vertex")
    return given


def closeness(n: int, sums: np.ndarray, reached: np.ndarray) -> np.ndarray:
    """Closeness of vertices, float64, after Wasserman and Faust: (r - 1)^2 / ((n - 1) s), 0 where nothing is reached.

    sums: of the levels of what a vertex reaches along the arcs; reached: how many vertices, itself included.
    """
    others = (reached - 1).astype(np.float64)
    whole = np.maximum(1, n - 1) * np.maximum(1, sums).astype(np.float64)
    return np.where(sums > 0, others * others / whole, 0.0)


def check_answer(roots: int, searches: int, graph: Graph, entry: int) -> None:
    """Raise Unavailable where memory has no room for an answer of `entry` bytes a root and a vertex, and a launch's."""
    what = f"the searches from {roots:,} roots of graph {graph.name} ({graph.n:,} vertices)"
    check_room(entry * (roots + searches) * graph.n, what, "give fewer roots at a time")


def answer_all(solver, roots, searches: int) -> tuple[np.ndarray, np.ndarray | None, list[Run]]:
    """Levels and parents, a row a root, and the runs, by a FastMany of either backend in launches of `searches`.

    Raises Unavailable where the levels of a launch need a wider type than memory has room for.
    """
    roots, runs = check_roots(solver.many.vertices, roots), []
    levels = np.empty((len(roots), solver.graph.n), PLANES[0][1])
    parents = None if solver.all_parents is None else np.empty(levels.shape, np.int32)
    for first in range(0, len(roots), searches):
        batch = roots[first : first + searches]
        runs.append(solver.run_all(batch))
        rows = slice(first, first + len(batch))
        found = on_host(solver.many.levels)[: len(batch)]
        if found.itemsize > levels.itemsize:
            check_answer(len(roots), searches, solver.graph, found.itemsize)
            levels = levels.astype(found.dtype)
        levels[rows] = found
        if parents is not None:
            parents[rows] = on_host(solver.all_parents)[: len(batch)]
    return levels, parents, runs
