"""The levels of fast.cu on the CPU, over a layout (layout.py), on threads that are started once a search (saitan.team).

A level is a step that all threads share (cpu_parts.py); one that starts few arcs is the leader's alone.
"""

from __future__ import annotations

import math
import time
from copy import copy

import numpy as np
from numba import get_num_threads, prange

from saitan import team
from saitan.bfs.cpu_parts import (
    CLEAR,
    DOES,
    EXPAND,
    FOUND,
    INSPECTED,
    LEAVING,
    LEVEL,
    LIST,
    LISTED,
    MARK,
    PIECE,
    PULL,
    RESTORE,
    SHARES,
    TICKET,
    TRACED,
    Search,
    append,
    expand_alone,
    pull_needs,
    work,
)
from saitan.bfs.cpu_step import WORD
from saitan.bfs.layout import Layout
from saitan.bfs.search import BOTTOM_UP, TOP_DOWN
from saitan.compiled import njit

# To bottom-up when the frontier's arcs exceed m / ALPHA, back when n_f < k^2 / (BETA m), and bottom-up only where a few
# rows say that it would look at no more arcs than top-down is worth: PAYS an arc of the frontier, ROW a vertex of it,
# FIND one that it finds, the last two times the threads, whose writes to the same cache lines wait for each other.
ALPHA, BETA, PAYS, FIND, ROW = 20.0, 14.0, 2.0, 6.0, 8.0
# A list of k / CROWD vertices and more is put in order first, so that their rows are read in order, unless they are so
# few that sharing its steps takes longer, which grows with the threads while what each of them gains shrinks.
CROWD, ORDERED = 32.0, 128
# A level that starts at fewer arcs is the leader's alone: opening a step to the others takes longer.
ALONE = 1 << 12
# Arcs of a graph up to which one thread makes the whole search: starting the others costs more.
SMALL = 1 << 18
# Shares that a ticket stands for: one of PARTS parts of the list for every thread, but no more than MOST, as hubs may
# stand side by side.
PARTS, MOST = 32, 256


@njit(nogil=True)
def _share(s, does):
    """A step of all threads that come."""
    s.control[DOES], s.control[TICKET] = does, 0
    team.opened(s.control)
    work(s)
    team.shut(s.control)


@njit(nogil=True)
def _take(control, threads):
    """What was listed is the frontier's; an empty list follows."""
    control[SHARES], control[LISTED] = control[LISTED], 0
    control[PIECE] = min(MOST, 1 + control[SHARES] // (PARTS * threads))


@njit(nogil=True)
def _lead(s, root, alpha, beta, pays, find, row, crowd, alone, threads):
    """All levels from a root of the layout, and the answer. Returns the levels there are."""
    offsets, control, visited = s.out_offsets, s.control, s.sets[0]
    k, m = len(s.first), offsets[-1]
    visited[:] = 0
    if k % WORD:
        # Bits beyond the last vertex count as visited.
        visited[-1] = np.uint32(0xFFFFFFFF) << np.uint32(k % WORD)
    visited[root >> 5] |= np.uint32(1) << np.uint32(root & 31)
    s.answer[root, 0], s.answer[root, 1] = 0, root
    control[INSPECTED], control[LISTED], batch = 0, 0, np.empty(1, np.int32)
    batch[0] = root
    control[LEAVING] = append(s, s.shares[0], batch, 1)
    level, count, listed, marked = 0, 1, True, False
    while count:
        level += 1
        control[LEVEL] = level
        frontier, before = s.sets[1 + (level - 1) % 2], control[INSPECTED]
        if listed:
            _take(control, threads)
            arcs = float(control[LEAVING])
            up = arcs * alpha > m
        else:
            arcs = count * (m / k)
            up = arcs * beta >= k
        needs, finds, ordered = -1.0, 0.0, False
        crowded = count * crowd >= k and count >= ORDERED * threads * threads
        while True:
            if up and not marked:
                _share(s, CLEAR)
                _share(s, MARK)
                marked = True
            worth = pays * arcs + row * count
            if up and worth < m:
                if needs < 0:
                    needs, finds = pull_needs(s, frontier)
                up = needs <= worth + find * finds
            if up or (listed and (ordered or not crowded)):
                break
            if not marked:
                _share(s, CLEAR)
                _share(s, MARK)
                marked = True
            control[LEAVING] = 0
            _share(s, LIST)
            _take(control, threads)
            listed, ordered, arcs = True, True, float(control[LEAVING])
            up = arcs * alpha > m
        traced = level <= len(s.trace)
        if traced:
            s.trace[level - 1, 0], s.trace[level - 1, 1] = up, count
        control[FOUND], control[LEAVING] = 0, 0
        if up:
            _share(s, PULL)
        elif arcs < alone:
            expand_alone(s)
        else:
            _share(s, EXPAND)
        count, listed, marked = control[FOUND], not up, up
        if traced:
            s.trace[level - 1, 2] = control[INSPECTED] - before
    _share(s, RESTORE)
    return level


@njit(parallel=True)
def _together(s, root, alpha, beta, pays, find, row, crowd, alone, threads):
    """The same by all threads, of which the first leads."""
    levels = np.zeros(1, np.int64)
    for _ in prange(threads):
        if team.comes(s.control) == 0:
            levels[0] = _lead(s, root, alpha, beta, pays, find, row, crowd, alone, threads)
            team.ended(s.control)
        else:
            step = team.entered(s.control, 0)
            while step:
                work(s)
                team.left(s.control)
                step = team.entered(s.control, step)
    return levels[0]


class Levels:
    """Searches over a layout of a graph of n vertices. levels, parents: int32 [n], of the last one."""

    def __init__(self, layout: Layout, n: int) -> None:
        self._search, self._alone = Search.over(layout, n), len(layout.forward.targets) <= SMALL
        self.levels, self.parents, self.memory = self._search.levels, self._search.parents, self._search.nbytes

    @property
    def threads(self) -> int:
        """How many search: one where arcs are few."""
        return 1 if self._alone else get_num_threads()

    def by_one(self) -> Levels:
        """The same by one thread, in the same memory. Threads whose rows share most heads wait for each other."""
        twin = copy(self)
        twin._alone = True
        return twin

    def run(self, root: int) -> tuple[float, dict[str, float], dict[str, np.ndarray]]:
        """Answer one root; returns seconds, counters and phases, those only of a search of up to TRACED levels."""
        begin = time.perf_counter()
        levels = self._from(int(self._search.new[root]))
        seconds = time.perf_counter() - begin
        counters = {"levels": levels, "inspected": int(self._search.control[INSPECTED])}
        if levels > TRACED:
            return seconds, counters, {}
        up, frontier, looked = self._search.trace[:levels].T.copy()
        phases = {"direction": np.where(up, BOTTOM_UP, TOP_DOWN), "frontier": frontier, "inspected": looked}
        return seconds, counters | {"switches": int(np.count_nonzero(np.diff(up)))}, phases

    def _from(self, start: int) -> int:
        """Search from a vertex of the layout; returns the levels there are."""
        threads = self.threads
        rule = (ALPHA, BETA, PAYS, FIND * threads, ROW * threads, CROWD)
        team.reset(self._search.control)
        if threads == 1:
            return _lead(self._search, start, *rule, math.inf, 1)
        return _together(self._search, start, *rule, float(ALONE), threads)
