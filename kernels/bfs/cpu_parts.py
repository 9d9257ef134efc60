"""What threads do in the levels of cpu_levels.py: what a search reads and writes, and a thread's part of every step.

A frontier is a list of shares of its rows, as threads found its vertices, or a bitmap; the one is made of the other
where the direction changes, and both where a long list is put in order. Top-down goes over the list; bottom-up by words
of the bitmaps, each of one thread, so that nothing there is atomic. The first entry of a row is nearly always the
parent: the first entries lie in an array of their own, so that a bottom-up level reads 4 bytes a vertex, not a cache
line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saitan import team
from saitan.atomics import atomic_add, atomic_or
from saitan.bfs.bits import lowest_bit
from saitan.bfs.cpu_step import WORD, words
from saitan.bfs.layout import Layout
from saitan.compiled import njit

SHARE = 1024  # most arcs of a row that are taken at once
WORDS, RESTORED = 32, 4096  # what a ticket stands for: words of a bitmap that is looked at, entries of the answer
BATCH = 256  # vertices that a thread lists at once
TRACED = 4096  # levels
SAMPLED, LOOKED = 128, 64  # arcs whose rows say what a level needs; of a row at most so many are looked at

# What a step does, and places of its counts behind the team's.
# Numbers of NumPy: for each of Python's own Numba would compile what it is given to.
PULL, EXPAND, RESTORE, CLEAR, MARK, LIST = np.arange(6)
TICKET, DOES, LEVEL, SHARES, PIECE, LISTED, FOUND, LEAVING, INSPECTED, WIDTH = (
    team.WIDTH + place for place in (0, 16, 17, 18, 19, 32, 48, 49, 50, 64)
)
VERTEX = 0xFFFFFFFF  # of a share: number << 32 | vertex


class Search(NamedTuple):
    """What a search reads and writes. out, into: offsets and ends of the rows of the layout's k vertices.

    first     int32 [k]: the first entry of every row of `into`, -1 where it is empty
    old, new  as of Layout
    sets      uint32 [3, words]: visited, and the frontiers of even and of odd levels
    answer    int32 [k, 2]: level and parent in the layout's numbers
    shares    int64 [2, k + m / SHARE]: of the rows of a frontier that is listed, of even and of odd levels
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
            np.empty((3, words(k)), np.uint32), np.empty((k, 2), np.int32),
            np.empty((2, k + out.m // SHARE), np.int64), np.empty(n, np.int32), np.empty(n, np.int32),
            np.empty((TRACED, 3), np.int64), np.zeros(WIDTH, np.int64),
        )  # fmt: skip

    @property
    def nbytes(self) -> int:
        return sum({id(array): array.nbytes for array in self}.values())


@njit(nogil=True)
def _pull(s):
    """A thread's part of a bottom-up level: what it finds is visited and numbered."""
    offsets, ends, first, answer, control = s.into_offsets, s.into_ends, s.first, s.answer, s.control
    level = control[LEVEL]
    visited, frontier, following = s.sets[0], s.sets[1 + (level - 1) % 2], s.sets[1 + level % 2]
    vertices, inspected = 0, 0
    for low, high in team.pieces(control, TICKET, len(visited), WORDS):
        for w in range(low, high):
            found, wanted = np.uint32(0), ~visited[w]
            while wanted:
                b = lowest_bit(wanted)
                wanted &= wanted - np.uint32(1)
                v = np.uint64(w * WORD + b)
                if first[v] < 0:
                    continue
                u = np.uint32(first[v])
                inspected += 1
                hit = (frontier[u >> np.uint32(5)] >> (u & np.uint32(31))) & np.uint32(1)
                if not hit:
                    for i in range(np.uint64(offsets[v] + 1), np.uint64(offsets[v + np.uint64(1)])):
                        inspected += 1
                        u = np.uint32(ends[i])
                        hit = (frontier[u >> np.uint32(5)] >> (u & np.uint32(31))) & np.uint32(1)
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


@njit(nogil=True)
def append(s, queue, vertices, count):
    """The shares of the rows of `count` vertices at the list's end. Returns the arcs that leave them."""
    offsets, made, arcs = s.out_offsets, 0, 0
    for i in range(count):
        degree = offsets[vertices[i] + 1] - offsets[vertices[i]]
        arcs += degree
        made += (degree + SHARE - 1) // SHARE
    place = atomic_add(s.control, LISTED, made)
    for i in range(count):
        u = vertices[i]
        for number in range((offsets[u + 1] - offsets[u] + SHARE - 1) // SHARE):
            queue[place] = np.int64(number) << 32 | u
            place += 1
    return arcs


@njit(nogil=True)
def _expand(s):
    """A thread's part of a top-down level, which lists what it finds."""
    offsets, ends, answer, visited, control = s.out_offsets, s.out_ends, s.answer, s.sets[0], s.control
    level = control[LEVEL]
    queue, following = s.shares[(level - 1) % 2], s.shares[level % 2]
    batch, held = np.empty(BATCH, np.int32), 0
    vertices, leaving, inspected = 0, 0, 0
    for low, high in team.pieces(control, TICKET, control[SHARES], control[PIECE]):
        for i in range(low, high):
            # Unsigned, because a signed index is compared with 0 first.
            u = np.uint32(queue[i] & VERTEX)
            start = np.uint64(offsets[u] + (queue[i] >> 32) * SHARE)
            stop = min(start + np.uint64(SHARE), np.uint64(offsets[u + np.uint32(1)]))
            inspected += stop - start
            for a in range(start, stop):
                v = np.uint32(ends[a])
                word, bit = v >> np.uint32(5), np.uint32(1) << (v & np.uint32(31))
                if visited[word] & bit == 0 and atomic_or(visited, word, bit) & bit == 0:
                    answer[v, 0], answer[v, 1] = level, u
                    batch[held] = v
                    held += 1
                    if held == BATCH:
                        vertices += held
                        leaving += append(s, following, batch, held)
                        held = 0
    leaving += append(s, following, batch, held)
    atomic_add(control, FOUND, vertices + held)
    atomic_add(control, LEAVING, leaving)
    atomic_add(control, INSPECTED, inspected)


@njit(nogil=True)
def expand_alone(s):
    """The same by one thread, without atomics."""
    offsets, ends, answer, visited, control = s.out_offsets, s.out_ends, s.answer, s.sets[0], s.control
    level = control[LEVEL]
    queue, following = s.shares[(level - 1) % 2], s.shares[level % 2]
    vertices, listed, leaving, inspected = 0, 0, 0, 0
    for i in range(control[SHARES]):
        u = np.uint32(queue[i] & VERTEX)
        start = np.uint64(offsets[u] + (queue[i] >> 32) * SHARE)
        stop = min(start + np.uint64(SHARE), np.uint64(offsets[u + np.uint32(1)]))
        inspected += stop - start
        for a in range(start, stop):
            v = np.uint32(ends[a])
            word, bit = v >> np.uint32(5), np.uint32(1) << (v & np.uint32(31))
            if visited[word] & bit == 0:
                visited[word] |= bit
                answer[v, 0], answer[v, 1] = level, u
                vertices += 1
                degree = offsets[v + np.uint32(1)] - offsets[v]
                leaving += degree
                if degree <= SHARE:
                    following[listed] = np.int64(v)
                    listed += degree > 0
                else:
                    for number in range((degree + SHARE - 1) // SHARE):
                        following[listed] = np.int64(number) << 32 | np.int64(v)
                        listed += 1
    control[FOUND], control[LISTED], control[LEAVING] = vertices, listed, leaving
    control[INSPECTED] += inspected


@njit(nogil=True)
def _list(s):
    """A thread's part of the list of a frontier that is a bitmap."""
    control = s.control
    parity = (control[LEVEL] - 1) % 2
    frontier, queue = s.sets[1 + parity], s.shares[parity]
    batch, held, leaving = np.empty(BATCH, np.int32), 0, 0
    for low, high in team.pieces(control, TICKET, len(frontier), WORDS):
        for w in range(low, high):
            bits = frontier[w]
            if held + WORD > BATCH:
                leaving += append(s, queue, batch, held)
                held = 0
            while bits:
                batch[held] = w * WORD + lowest_bit(bits)
                held += 1
                bits &= bits - np.uint32(1)
    leaving += append(s, queue, batch, held)
    atomic_add(control, LEAVING, leaving)


@njit(nogil=True)
def _clear(s):
    """A thread's part of emptying the frontier's bitmap."""
    frontier = s.sets[1 + (s.control[LEVEL] - 1) % 2]
    for low, high in team.pieces(s.control, TICKET, len(frontier), RESTORED):
        frontier[low:high] = 0


@njit(nogil=True)
def _mark(s):
    """A thread's part of the bitmap of a frontier that is listed. Neither holds vertices without arcs."""
    control = s.control
    parity = (control[LEVEL] - 1) % 2
    frontier, queue = s.sets[1 + parity], s.shares[parity]
    for low, high in team.pieces(control, TICKET, control[SHARES], control[PIECE]):
        for i in range(low, high):
            if queue[i] <= VERTEX:
                atomic_or(frontier, queue[i] >> 5, np.uint32(1) << np.uint32(queue[i] & 31))


@njit(nogil=True)
def _restore(s):
    """A thread's part of the answer in the graph's numbers and order."""
    old, new, visited, answer, levels, parents = s.old, s.new, s.sets[0], s.answer, s.levels, s.parents
    for low, high in team.pieces(s.control, TICKET, len(new), RESTORED):
        for v in range(np.uint64(low), np.uint64(high)):
            place, level, parent = np.uint32(new[v]), np.int32(-1), np.int32(-1)
            if new[v] >= 0 and (visited[place >> np.uint32(5)] >> (place & np.uint32(31))) & np.uint32(1):
                level, parent = answer[place, 0], old[np.uint32(answer[place, 1])]
            levels[v], parents[v] = level, parent


@njit(nogil=True)
def work(s):
    """A thread's part of a step."""
    does = s.control[DOES]
    if does == PULL:
        _pull(s)
    elif does == EXPAND:
        _expand(s)
    elif does == RESTORE:
        _restore(s)
    elif does == CLEAR:
        _clear(s)
    elif does == MARK:
        _mark(s)
    else:
        _list(s)


@njit(nogil=True)
def pull_needs(s, frontier):
    """About how many arcs a bottom-up level would look at, and how many vertices it would find.

    Arcs that are evenly spaced among all say it: a row is drawn as often as it has arcs, and stands for as much less.
    With vertices drawn alike, one long row would stand for thousands of short ones.
    """
    offsets, ends, visited, needed, found = s.into_offsets, s.into_ends, s.sets[0], 0.0, 0.0
    part = offsets[-1] / SAMPLED
    for sample in range(SAMPLED):
        v = np.searchsorted(offsets, np.int64((sample + 0.5) * part), side="right") - 1
        if visited[v >> 5] >> np.uint32(v & 31) & 1:
            continue
        first, last = offsets[v], offsets[v + 1]
        looked = last - first
        for i in range(first, min(last, first + LOOKED)):
            if frontier[ends[i] >> 5] >> np.uint32(ends[i] & 31) & 1:
                looked = i + 1 - first
                found += part / (last - first)
                break
        needed += looked * part / (last - first)
    return needed, found
