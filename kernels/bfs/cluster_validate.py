"""Graph500's rules over many processes: each checks the arcs of its blocks and the vertices of its slices.

The members of a part gather its levels and parents from their owners. Every arc (u, v) of a block is looked at: v is
reached at most one level below a reached u, and where u is the parent of v it is one level above. Owners then ask that
a process saw the parent's arc, and that root and unreached vertices are what they must be: rules (1) to (4) of
validate.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import get_num_threads, prange

from saitan.bfs.validate import CHECKED
from saitan.compiled import njit
from saitan.problem import Checked, Invalid

if TYPE_CHECKING:
    from saitan.bfs.cluster import ClusterSolver, Part


@njit
def _check_rows(offsets, heads, tail_levels, head_levels, head_parents, first_tail, hangs, first, last):
    """A thread's part of `_check_arcs`: rows [first, last)."""
    for u in range(first, last):
        level = tail_levels[u]
        if level < 0:
            continue
        for i in range(offsets[u], offsets[u + 1]):
            v = heads[i]
            if head_levels[v] < 0 or head_levels[v] > level + 1:
                return u, v
            if head_parents[v] == first_tail + u and head_levels[v] == level + 1:
                hangs[v] = 1
    return -1, -1


@njit(parallel=True)
def _check_arcs(offsets, heads, tail_levels, head_levels, head_parents, first_tail, hangs, threads):
    """Marks heads whose parent is a tail one level above. Returns the first (tail, head) that breaks rule (4)."""
    found = np.empty((threads, 2), np.int64)
    bounds = np.searchsorted(offsets[:-1], np.arange(threads + 1) * (len(heads) / threads))
    bounds[0], bounds[threads] = 0, len(offsets) - 1
    for thread in prange(threads):
        first, last = bounds[thread], bounds[thread + 1]
        found[thread] = _check_rows(
            offsets, heads, tail_levels, head_levels, head_parents, first_tail, hangs, first, last
        )
    for thread in range(threads):
        if found[thread, 0] >= 0:
            return found[thread, 0], found[thread, 1]
    return -1, -1


@njit
def _check_slice(levels, parents, hangs, first, n, root):
    """The first vertex of a slice that breaks rules (1) to (3), from 0 in the slice; -1 where none does."""
    for i in range(len(levels)):
        v, level, parent = first + i, levels[i], parents[i]
        if v == root:
            right = level == 0 and parent == v
        elif level == -1:
            right = parent == -1
        else:
            right = level > 0 and 0 <= parent < n and hangs[i] == 1
        if not right:
            return i
    return -1


def check(solver: ClusterSolver) -> Checked:
    """Check the last answer, on all ranks together. Raises Invalid on every rank, with the first one's finding."""
    levels = {number: _gathered(part, part.levels) for number, part in solver.parts.items()}
    parents = {number: _gathered(part, part.parents) for number, part in solver.parts.items()}
    hangs = {number: np.zeros(solver.partition.part, np.uint8) for number in solver.parts}
    wrong = None
    for block in solver.blocks_held:
        first_tail = block.column * solver.partition.part
        rows, ends = block.forward, (levels[block.column], levels[block.row], parents[block.row])
        marks = (first_tail, hangs[block.row], get_num_threads())
        u, v = _check_arcs(rows.offsets, rows.ends, *ends, *marks)
        if u >= 0 and wrong is None:
            tail, head = first_tail + u, block.row * solver.partition.part + v
            below = _on(int(levels[block.row][v]))
            wrong = f"an arc leads from vertex {tail}, {_on(int(levels[block.column][u]))}, to vertex {head}, {below}"
    for number, part in solver.parts.items():
        seen = part.own(part.members.largest(hangs[number]))
        i = _check_slice(part.levels, part.parents, seen, part.first, solver.partition.n, solver.root)
        if i >= 0 and wrong is None:
            wrong = _explained(part, i, solver.root)
    if first := next(filter(None, solver.ranks.each(wrong)), None):
        raise Invalid(first)
    return CHECKED


def _gathered(part: Part, own: np.ndarray) -> np.ndarray:
    """An array of slices, [slice], as that of the whole part."""
    whole = np.empty((part.partition.parts, part.partition.slice), own.dtype)
    part.members.gather(own, whole)
    return whole.ravel()


def _on(level: int) -> str:
    return f"on level {level}" if level != -1 else "not reached"


def _explained(part: Part, i: int, root: int) -> str:
    v, level, parent = part.first + i, int(part.levels[i]), int(part.parents[i])
    if v == root:
        return f"the root {root} is {_on(level)} with the parent {parent}, not on level 0 and its own parent"
    return f"vertex {v} is {_on(level)} and has the parent {parent}, from which no arc leads to it one level down"
