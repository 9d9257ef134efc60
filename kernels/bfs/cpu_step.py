"""A level over a block of the adjacency matrix on the CPU: the twins of level.cu's kernels, by Numba on all cores.

A block holds the arcs from some tails to some heads, both numbered from 0 in the block. Sets are bitmaps of 32-bit
words; vertex v is bit v % 32 of word v // 32. A step takes the frontier (tails) and the visited heads, and gives the
next frontier (heads) and its parents. Work is handed out in pieces of some words by a ticket, as rows differ in length.

Both steps take words [first, last): of the frontier top-down, of the heads bottom-up, so that a level can be shared.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from saitan.atomics import atomic_or
from saitan.bfs.bits import lowest_bit
from saitan.compiled import njit
from saitan.team import pieces

WORD = 32
PIECE = 64  # words that a ticket stands for


def words(vertices: int) -> int:
    """Words of a bitmap."""
    return -(-vertices // WORD)


# What a thread does is a function of its own: Numba's own reductions lose what nested loops add, or do not compile.


@njit(nogil=True)
def top_down_alone(offsets, targets, frontier, visited, following, parents, first_tail, first, last, ticket):
    """A thread's part of `top_down`: pieces until there are none, so all where it is alone. Returns arcs looked at."""
    inspected = 0
    for low, high in pieces(ticket, 0, last - first, PIECE):
        for w in range(first + low, first + high):
            if frontier[w] == 0:
                continue
            for b in range(WORD):
                if (frontier[w] >> b) & 1:
                    u = w * WORD + b
                    inspected += offsets[u + 1] - offsets[u]
                    for i in range(offsets[u], offsets[u + 1]):
                        v = targets[i]
                        bit = np.uint32(1 << (v & 31))
                        fresh = ((visited[v >> 5] | following[v >> 5]) & bit) == 0
                        if fresh and atomic_or(following, v >> 5, bit) & bit == 0:
                            parents[v] = u + first_tail
    return inspected


@njit(parallel=True, nogil=True)
def top_down(offsets, targets, frontier, visited, following, parents, first_tail, first, last, ticket, threads):
    """Paper H, Fig 1, with `next` taking v: the heads of the frontier's arcs that are not visited join `following`.

    following: cleared; parents: of its vertices, tail + first_tail. Returns arcs looked at.
    """
    ticket[0] = 0
    inspected = np.zeros(threads, np.int64)
    for thread in prange(threads):
        inspected[thread] = top_down_alone(
            offsets, targets, frontier, visited, following, parents, first_tail, first, last, ticket
        )
    return inspected.sum()


@njit(nogil=True)
def _bottom_up(offsets, sources, frontier, visited, following, parents, first_tail, first, last, ticket):
    """A thread's part of `bottom_up`: pieces until there are none. Returns arcs looked at."""
    inspected = 0
    for low, high in pieces(ticket, 0, last - first, PIECE):
        for w in range(first + low, first + high):
            found = np.uint32(0)
            wanted = ~visited[w]
            while wanted:
                v = w * WORD + lowest_bit(wanted)
                for i in range(offsets[v], offsets[v + 1]):
                    inspected += 1
                    u = sources[i]
                    if (frontier[u >> 5] >> (u & 31)) & 1:
                        parents[v] = u + first_tail
                        found |= wanted & ~(wanted - np.uint32(1))
                        break
                wanted &= wanted - np.uint32(1)
            following[w] = found
    return inspected


@njit(parallel=True, nogil=True)
def bottom_up(offsets, sources, frontier, visited, following, parents, first_tail, first, last, ticket, threads):
    """Paper H, Fig 2, with u in the frontier as the condition: every head that is not visited looks for a tail there.

    offsets, sources: tails of every head. following: words [first, last) are written whole. Returns arcs looked at.
    """
    ticket[0] = 0
    inspected = np.zeros(threads, np.int64)
    for thread in prange(threads):
        inspected[thread] = _bottom_up(
            offsets, sources, frontier, visited, following, parents, first_tail, first, last, ticket
        )
    return inspected.sum()


@njit(nogil=True)
def commit_alone(following, visited, levels, offsets, level, first, last):
    """A thread's part of `commit`: words [first, last). Returns its vertices and the arcs that leave them."""
    found, leaving = 0, 0
    for w in range(first, last):
        if following[w] == 0:
            continue
        visited[w] |= following[w]
        for b in range(WORD):
            if (following[w] >> b) & 1:
                v = w * WORD + b
                levels[v] = level
                found += 1
                leaving += offsets[v + 1] - offsets[v]
    return found, leaving


@njit(parallel=True, nogil=True)
def commit(following, visited, levels, offsets, level, threads):
    """Mark what a level found: visited, and its number. Returns its vertices and the arcs that leave them."""
    counts = np.zeros((threads, 2), np.int64)
    share = -(-len(following) // threads)
    for thread in prange(threads):
        last = min((thread + 1) * share, len(following))
        counts[thread] = commit_alone(following, visited, levels, offsets, level, thread * share, last)
    return counts[:, 0].sum(), counts[:, 1].sum()


@njit(parallel=True)
def clear(levels, parents, visited, frontier, following):
    """No vertex reached; bits beyond the last vertex count as visited, so that no step looks at them."""
    for w in prange(len(visited)):
        visited[w], frontier[w], following[w] = 0, 0, 0
        for v in range(w * WORD, min((w + 1) * WORD, len(levels))):
            levels[v], parents[v] = -1, -1
    if len(levels) % WORD:
        visited[-1] = np.uint32(0xFFFFFFFF) << np.uint32(len(levels) % WORD)
