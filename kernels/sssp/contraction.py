"""The kernels of contraction: witness searches, priorities, independent sets, the core's table (hierarchy.py).

`rest` is the Rest of hierarchy.py throughout: offsets, tails, heads, ahead, back. A witness search is Dijkstra's
algorithm with a binary heap and a small hash table of distances, and it is cut short.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from saitan.compiled import njit

DENSE = 32  # contraction ends where the vertices left have so many neighbours on average
SETTLED, SCANNED = 40, 1000  # most vertices that a witness search settles, and most arcs that it scans

FAR = np.int64(2**62)  # no arc, or not reached: longer than any path; twice FAR still fits int64
SLOTS = 2048  # of the hash table of a witness search
OPEN, GOES, STAYS = 0, 1, 2  # of a vertex while an independent set is chosen


@njit
def _slot(keys, vertex):
    """Where a vertex is in the hash table, or the empty slot where it would be."""
    slot = (np.int64(vertex) * 0x9E3779B1 >> 7) & (SLOTS - 1)
    while keys[slot] != vertex and keys[slot] >= 0:
        slot = (slot + 1) & (SLOTS - 1)
    return slot


@njit
def _rise(heap, owners, i, distance, owner):
    """Insert an entry into the heap, whose place i at the end is free."""
    while i > 0:
        above = (i - 1) >> 1
        if heap[above] <= distance:
            break
        heap[i], owners[i] = heap[above], owners[above]
        i = above
    heap[i], owners[i] = distance, owner


@njit
def _sink(heap, owners, last):
    """Replace the top of the heap by the entry at place `last`, and sift it down."""
    distance, owner = heap[last], owners[last]
    i = 0
    while True:
        below = 2 * i + 1
        if below >= last:
            break
        if below + 1 < last and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= distance:
            break
        heap[i], owners[i] = heap[below], owners[below]
        i = below
    heap[i], owners[i] = distance, owner


@njit
def _workspace():
    """Arrays of a witness search: keys and distances of the hash table, distances and slots of the heap."""
    return np.empty(SLOTS, np.int32), np.empty(SLOTS, np.int64), np.empty(SLOTS, np.int64), np.empty(SLOTS, np.int32)


@njit
def _search(offsets, heads, ahead, start, without, barred, bound, work):
    """A witness search: write distances from `start` up to `bound` into the hash table.

    Paths avoid `without` and the barred vertices. The search stops after SETTLED vertices or SCANNED arcs.
    """
    keys, distances, heap, owners = work
    keys[:] = -1
    slot = _slot(keys, start)
    keys[slot], distances[slot] = start, 0
    heap[0], owners[0] = 0, slot
    size, settled, scanned = 1, 0, 0
    while size and settled < SETTLED:
        distance, slot = heap[0], owners[0]
        size -= 1
        _sink(heap, owners, size)
        if distance > distances[slot]:
            continue
        settled += 1
        v = keys[slot]
        for i in range(offsets[v], offsets[v + 1]):
            # An arc adds at most one label and one heap entry, so SCANNED arcs fit both arrays.
            scanned += 1
            if scanned > SCANNED:
                return
            u = heads[i]
            candidate = distance + ahead[i]
            if candidate > bound or u == without or barred[u]:
                continue
            slot = _slot(keys, u)
            if keys[slot] < 0:
                keys[slot], distances[slot] = u, FAR
            if candidate < distances[slot]:
                distances[slot] = candidate
                _rise(heap, owners, size, candidate, slot)
                size += 1


@njit
def _bypass(rest, symmetric, v, barred, work, tails, heads, lengths):
    """Write the shortcuts that removing v needs; returns their number. symmetric: one of two opposite shortcuts."""
    offsets, _, others, ahead, back = rest
    keys, distances, _, _ = work
    first, last = offsets[v], offsets[v + 1]
    count = 0
    for i in range(first, last):
        if back[i] == FAR:
            continue
        begin = i + 1 if symmetric else first
        longest = np.int64(-1)
        for j in range(begin, last):
            if j != i and ahead[j] < FAR:
                longest = max(longest, ahead[j])
        if longest < 0:
            continue
        _search(offsets, others, ahead, others[i], v, barred, back[i] + longest, work)
        for j in range(begin, last):
            if j != i and ahead[j] < FAR:
                through = back[i] + ahead[j]
                slot = _slot(keys, others[j])
                if keys[slot] < 0 or distances[slot] > through:
                    tails[count], heads[count], lengths[count] = others[i], others[j], through
                    count += 1
    return count


@njit
def _mixed(x):
    """A permutation of the 32-bit numbers."""
    x = (x * 0x9E3779B1) & 0xFFFFFFFF
    x ^= x >> 15
    return (x * 0x85EBCA6B) & 0xFFFFFFFF


@njit(parallel=True)
def prioritise(rest, symmetric, names, changed, chunks, priorities):
    """Priorities of the changed vertices, all different: shortcuts less arcs removed, ties broken at random."""
    offsets = rest.offsets
    for chunk in prange(chunks):
        work, barred = _workspace(), np.zeros(len(names), np.bool_)
        tails, heads, lengths = np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64)
        for v in range(chunk, len(names), chunks):
            if changed[v]:
                degree = offsets[v + 1] - offsets[v]
                # A hub is not searched from: it is removed last, unless the removal of neighbours makes it smaller.
                cost = np.int64(2**30)
                if degree <= 4 * DENSE:
                    if len(tails) < degree * degree:
                        tails, heads = np.empty(degree * degree, np.int32), np.empty(degree * degree, np.int32)
                        lengths = np.empty(degree * degree, np.int64)
                    shortcuts = _bypass(rest, symmetric, v, barred, work, tails, heads, lengths)
                    cost = (2 if symmetric else 1) * shortcuts - degree
                priorities[v] = (cost << 32) + _mixed(np.int64(names[v]))


@njit(parallel=True)
def decide(rest, priorities, state):
    """One step towards the set: an open vertex joins if it is cheaper than all its open neighbours."""
    offsets, heads, after = rest.offsets, rest.heads, state.copy()
    for v in prange(len(state)):
        if state[v] == OPEN:
            decided = GOES
            for i in range(offsets[v], offsets[v + 1]):
                u = heads[i]
                if state[u] == GOES:
                    decided = STAYS
                    break
                if state[u] == OPEN and priorities[u] < priorities[v]:
                    decided = OPEN
            after[v] = decided
    return after


@njit(parallel=True)
def take_out(rest, symmetric, going, goes, chunks, room, tails, heads, lengths):
    """The shortcuts for all vertices removed; those of the k-th begin at place room[k]."""
    for chunk in prange(chunks):
        work = _workspace()
        for k in range(chunk, len(going), chunks):
            own = slice(room[k], room[k + 1])
            _bypass(rest, symmetric, going[k], goes, work, tails[own], heads[own], lengths[own])


@njit(parallel=True)
def all_pairs(rest, table):
    """table[i, j], FAR before: the distance from i to j."""
    offsets, _, heads, ahead, _ = rest
    for start in prange(len(table)):
        distances = table[start]
        heap, owners = np.empty(len(heads) + 1, np.int64), np.empty(len(heads) + 1, np.int32)
        distances[start], heap[0], owners[0] = 0, 0, start
        size = 1
        while size:
            distance, v = heap[0], owners[0]
            size -= 1
            _sink(heap, owners, size)
            if distance > distances[v]:
                continue
            for i in range(offsets[v], offsets[v + 1]):
                candidate = distance + ahead[i]
                if candidate < distances[heads[i]]:
                    distances[heads[i]] = candidate
                    _rise(heap, owners, size, candidate, heads[i])
                    size += 1
