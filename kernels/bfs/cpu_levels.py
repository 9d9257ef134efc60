"""The levels of fast.cu on the CPU, over a layout (layout.py), on threads that are started once a search (saitan.team).

Top-down from a list of the frontier's vertices, a hub's row in shares; bottom-up by words of the bitmaps, each of one
thread, so that nothing there is atomic. The first entry of a row is nearly always the parent: the first entries lie in
an array of their own, so that a bottom-up level reads 4 bytes a vertex, not a cache line. Levels that start few arcs
are the leader's alone.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numba import get_num_threads, njit, prange

from saitan import team
from saitan.atomics import atomic_add, atomic_or
from saitan.bfs.bits import lowest_bit
from saitan.bfs.cpu_step import WORD, words
from saitan.bfs.layout import Layout
from saitan.bfs.search import BOTTOM_UP, TOP_DOWN

# To bottom-up when the frontier's arcs exceed m / ALPHA, back when n_f < k^2 / (BETA m), and bottom-up only where it
# would look at no more than PAYS times the frontier's arcs, by what SAMPLED vertices say. The arcs of a frontier of
# more than one vertex in CROWD are not counted where so many vertices can have more than m / ALPHA.
ALPHA, BETA, CROWD, PAYS = 20.0, 14.0, 256, 3.0
SAMPLED, LOOKED = 128, 64  # of a sampled row at most so many arcs are looked at
# A level that starts at fewer arcs is the leader's alone: opening a step to the others takes longer.
ALONE = 1 << 12
# Arcs of a graph up to which one thread makes the whole search: starting the others costs more.
SMALL = 1 << 18
SHARE = 1024  # most arcs of a row that are taken at once
# Of what a ticket stands for: words bottom-up, shares of rows top-down, vertices of the answer.
PULLED, EXPANDED, RESTORED = 32, 4, 4096
TRACED = 4096  # levels

# What a step does, and places of its counts behind the team's.
PULL, EXPAND, RESTORE = 0, 1, 2
TICKET, DOES, LEVEL, SHARES, FOUND, INSPECTED, WIDTH = (team.WIDTH + place for place in (0, 16, 17, 18, 32, 33, 48))


class Search(NamedTuple):
    """What a search reads and writes. out, into: offsets and ends of the rows of the layout's k vertices.

    first     int32 [k]: the first entry of every row of `into`, -1 where it is empty
    old, new  as of Layout
    sets      uint32 [3, words]: visited, and the frontiers of even and of odd levels
    answer    int32 [k, 2]: level and parent in the layout's numbers
    queues    int32 [2, k]: vertices of a frontier that is listed, of even and of odd levels
    shares    int64 [k + m / SHARE]: of the frontier's rows, number << 32 | vertex
    levels, parents    int32 [n], in the graph's numbers
    trace     int64 [TRACED, 3]: bottom-up, frontier, arcs looked at
    control   int64 [WIDTH]
    """

    out_offsets: np.ndarray
    out_ends: np.ndarray
    into_offsets: np.ndarray
    into_ends: np.ndarray
    first: np.ndarray
    old: np.ndarray
    new: np.ndarray
    sets: np.ndarray
    answer: np.ndarray
    queues: np.ndarray
    shares: np.ndarray
    levels: np.ndarray
    parents: np.ndarray
    trace: np.ndarray
    control: np.ndarray

    @classmethod
    def over(cls, layout: Layout, n: int) -> Search:
        """Room for searches over a layout of a graph of n vertices."""
        out, into, k = layout.forward, layout.backward, layout.forward.n
        first = np.full(k, -1, np.int32)
        rows = into.offsets[:-1] < into.offsets[1:]
        first[rows] = into.targets[into.offsets[:-1][rows]]
        return cls(
            out.offsets, out.targets, into.offsets, into.targets, first, layout.old, layout.new,
            np.empty((3, words(k)), np.uint32), np.empty((k, 2), np.int32), np.empty((2, k), np.int32),
            np.empty(k + out.m // SHARE, np.int64), np.empty(n, np.int32), np.empty(n, np.int32),
            np.empty((TRACED, 3), np.int64), np.zeros(WIDTH, np.int64),
        )  # fmt: skip

    @property
    def nbytes(self) -> int:
        return sum({id(array): array.nbytes for array in self}.values())


@njit(cache=True, nogil=True)
def _pull(s):
    """A thread's part of a bottom-up level: what it finds is visited and numbered."""
    offsets, ends, first, answer, control = s.into_offsets, s.into_ends, s.first, s.answer, s.control
    level = control[LEVEL]
    visited, frontier, following = s.sets[0], s.sets[1 + (level - 1) % 2], s.sets[1 + level % 2]
    vertices, inspected = 0, 0
    for low, high in team.pieces(control, TICKET, len(visited), PULLED):
        for w in range(low, high):
            found, wanted = np.uint32(0), ~visited[w]
            while wanted:
                b = lowest_bit(wanted)
                wanted &= wanted - np.uint32(1)
                v = w * WORD + b
                u = first[v]
                if u < 0:
                    continue
                inspected += 1
                hit = (frontier[u >> 5] >> np.uint32(u & 31)) & 1
                if not hit:
                    for i in range(offsets[v] + 1, offsets[v + 1]):
                        inspected += 1
                        u = ends[i]
                        hit = (frontier[u >> 5] >> np.uint32(u & 31)) & 1
                        if hit:
                            break
                if hit:
                    found |= np.uint32(1) << b
                    answer[v, 0], answer[v, 1] = level, u
                    vertices += 1
            following[w] = found
            visited[w] |= found
    atomic_add(control, FOUND, vertices)
    atomic_add(control, INSPECTED, inspected)


@njit(cache=True, nogil=True)
def _expand(s):
    """A thread's part of a top-down level. The following set is empty before."""
    offsets, ends, answer, shares, control = s.out_offsets, s.out_ends, s.answer, s.shares, s.control
    level = control[LEVEL]
    visited, following = s.sets[0], s.sets[1 + level % 2]
    vertices, inspected = 0, 0
    for low, high in team.pieces(control, TICKET, control[SHARES], EXPANDED):
        for i in range(low, high):
            u = shares[i] & 0xFFFFFFFF
            start = offsets[u] + (shares[i] >> 32) * SHARE
            stop = min(start + SHARE, offsets[u + 1])
            inspected += stop - start
            for a in range(start, stop):
                v = ends[a]
                bit = np.uint32(1) << np.uint32(v & 31)
                if visited[v >> 5] & bit == 0 and atomic_or(visited, v >> 5, bit) & bit == 0:
                    atomic_or(following, v >> 5, bit)
                    answer[v, 0], answer[v, 1] = level, u
                    vertices += 1
    atomic_add(control, FOUND, vertices)
    atomic_add(control, INSPECTED, inspected)


@njit(cache=True, nogil=True)
def _expand_alone(s, count):
    """A top-down level of `count` listed vertices by one thread, which lists what it finds. Returns how many."""
    offsets, ends, answer, visited, control = s.out_offsets, s.out_ends, s.answer, s.sets[0], s.control
    level = control[LEVEL]
    queue, following = s.queues[(level - 1) % 2], s.queues[level % 2]
    found = 0
    for i in range(count):
        u = queue[i]
        control[INSPECTED] += offsets[u + 1] - offsets[u]
        for a in range(offsets[u], offsets[u + 1]):
            v = ends[a]
            bit = np.uint32(1) << np.uint32(v & 31)
            if visited[v >> 5] & bit == 0:
                visited[v >> 5] |= bit
                answer[v, 0], answer[v, 1] = level, u
                following[found] = v
                found += 1
    return found


@njit(cache=True, nogil=True)
def _restore(s):
    """A thread's part of the answer in the graph's numbers and order."""
    old, new, visited, answer, levels, parents = s.old, s.new, s.sets[0], s.answer, s.levels, s.parents
    for low, high in team.pieces(s.control, TICKET, len(new), RESTORED):
        for v in range(low, high):
            place, level, parent = new[v], np.int32(-1), np.int32(-1)
            if place >= 0 and (visited[place >> 5] >> np.uint32(place & 31)) & 1:
                level, parent = answer[place, 0], old[answer[place, 1]]
            levels[v], parents[v] = level, parent


@njit(cache=True, nogil=True)
def _work(s):
    """A thread's part of a step."""
    if s.control[DOES] == PULL:
        _pull(s)
    elif s.control[DOES] == EXPAND:
        _expand(s)
    else:
        _restore(s)


@njit(cache=True, nogil=True)
def _share(s, does):
    """A step of all threads that come."""
    s.control[DOES], s.control[TICKET] = does, 0
    team.opened(s.control)
    _work(s)
    team.shut(s.control)


@njit(cache=True, nogil=True)
def _listed(frontier, queue):
    """List the vertices of a bitmap; returns how many there are."""
    count = 0
    for w in range(len(frontier)):
        bits = frontier[w]
        while bits:
            queue[count] = w * WORD + lowest_bit(bits)
            bits &= bits - np.uint32(1)
            count += 1
    return count


@njit(cache=True, nogil=True)
def _mark(queue, count, frontier):
    """The bitmap of listed vertices."""
    frontier[:] = 0
    for i in range(count):
        frontier[queue[i] >> 5] |= np.uint32(1) << np.uint32(queue[i] & 31)


@njit(cache=True, nogil=True)
def _pull_needs(s, frontier):
    """About how many arcs a bottom-up level would look at; vertices are sampled from all degrees alike."""
    offsets, ends, visited, k, looked = s.into_offsets, s.into_ends, s.sets[0], len(s.first), 0
    step = max(1, k // SAMPLED)
    for v in range(step // 2, k, step):
        if visited[v >> 5] >> np.uint32(v & 31) & 1:
            continue
        end = offsets[v + 1]
        for i in range(offsets[v], min(end, offsets[v] + LOOKED)):
            if frontier[ends[i] >> 5] >> np.uint32(ends[i] & 31) & 1:
                end = i + 1
                break
        looked += end - offsets[v]
    return float(looked) * step


@njit(cache=True, nogil=True)
def _cut(s, queue, count):
    """The shares of the rows of listed vertices, for `_expand`."""
    offsets, shares, made = s.out_offsets, s.shares, 0
    for i in range(count):
        u = queue[i]
        for number in range((offsets[u + 1] - offsets[u] + SHARE - 1) // SHARE):
            shares[made] = np.int64(number) << 32 | u
            made += 1
    s.control[SHARES] = made


@njit(cache=True, nogil=True)
def _lead(s, root, alpha, beta, pays, alone):
    """All levels from a root of the layout, and the answer. Returns the levels there are."""
    offsets, control, visited = s.out_offsets, s.control, s.sets[0]
    k, m = len(s.first), offsets[-1]
    visited[:] = 0
    if k % WORD:
        # Bits beyond the last vertex count as visited.
        visited[-1] = np.uint32(0xFFFFFFFF) << np.uint32(k % WORD)
    visited[root >> 5] |= np.uint32(1) << np.uint32(root & 31)
    s.answer[root, 0], s.answer[root, 1], s.queues[0, 0] = 0, root, root
    control[INSPECTED] = 0
    level, count, listed, marked, up = 0, 1, True, False, False
    while count:
        level += 1
        control[LEVEL] = level
        frontier, following = s.sets[1 + (level - 1) % 2], s.sets[1 + level % 2]
        queue, before = s.queues[(level - 1) % 2], control[INSPECTED]
        about, needs = count * (m / k), -1.0
        up = about * beta >= k if up else count > k // CROWD and offsets[count] * alpha > m
        if up and pays * about < m:
            if not marked:
                _mark(queue, count, frontier)
                marked = True
            needs = _pull_needs(s, frontier)
            up = needs <= pays * about
        arcs = 0
        if not up:
            if not listed:
                _listed(frontier, queue)
                listed = True
            for i in range(count):
                arcs += offsets[queue[i] + 1] - offsets[queue[i]]
            up = arcs * alpha > m
            if up and pays * arcs < m:
                if not marked:
                    _mark(queue, count, frontier)
                    marked = True
                if needs < 0:
                    needs = _pull_needs(s, frontier)
                up = needs <= pays * arcs
        traced = level <= len(s.trace)
        if traced:
            s.trace[level - 1, 0], s.trace[level - 1, 1] = up, count
        control[FOUND] = 0
        if up:
            if not marked:
                _mark(queue, count, frontier)
            _share(s, PULL)
            count, listed, marked = control[FOUND], False, True
        elif arcs < alone:
            count, marked = _expand_alone(s, count), False
        else:
            _cut(s, queue, count)
            following[:] = 0
            _share(s, EXPAND)
            count, listed, marked = control[FOUND], False, True
        if traced:
            s.trace[level - 1, 2] = control[INSPECTED] - before
    _share(s, RESTORE)
    return level


@njit(parallel=True, cache=True)
def _together(s, root, alpha, beta, pays, alone, threads):
    """The same by all threads, of which the first leads."""
    levels = np.zeros(1, np.int64)
    for _ in prange(threads):
        if team.comes(s.control) == 0:
            levels[0] = _lead(s, root, alpha, beta, pays, alone)
            team.ended(s.control)
        else:
            step = team.entered(s.control, 0)
            while step:
                _work(s)
                team.left(s.control)
                step = team.entered(s.control, step)
    return levels[0]


class Levels:
    """Searches over a layout of a graph of n vertices. levels, parents: int32 [n], of the last one."""

    def __init__(self, layout: Layout, n: int) -> None:
        self._search = Search.over(layout, n)
        self.levels, self.parents, self.memory = self._search.levels, self._search.parents, self._search.nbytes

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
        """Search from a vertex of the layout, by one thread where arcs are few; returns the levels there are."""
        threads = get_num_threads()
        team.reset(self._search.control)
        if threads == 1 or len(self._search.out_ends) <= SMALL:
            return _lead(self._search, start, ALPHA, BETA, PAYS, ALONE)
        # All threads share a bottom-up level; one lists what a top-down one starts from.
        return _together(self._search, start, ALPHA, BETA, threads * PAYS, ALONE, threads)
