"""The buckets of `fast` on the CPU: each thread's own, as chains of small blocks from its own pool.

A push moves no other entry. An entry is (vertex, distance). A bucket holds distances of a width delta, from 0 on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saitan.compiled import njit

BLOCK = 64  # entries of a block
WINDOW = 64  # buckets from the current one on, each with a chain; one more chain holds the entries beyond

NONE = -1
NEVER = np.int64(2**62)
# Columns of a thread's row of `state`, which is two cache lines wide; BEYOND is the lowest bucket beyond the window.
FREE, TAKEN, RELAXED, OVERFLOWED, POOL_FULL, BEYOND, UPDATED = range(7)
STATE_WIDTH = 16


class Buckets(NamedTuple):
    """The buckets of all threads; block b belongs to thread b // (number of blocks / number of threads).

    vertices, keys  [blocks, BLOCK]: entries; a key is the vertex's distance when it was pushed
    chain, fill     [blocks]: the next block of the same bucket (or of the free list), and how many entries it holds
    head, length    [threads, WINDOW + 1]: first block of a bucket, and how many there are
    state           [threads, STATE_WIDTH]
    """

    vertices: np.ndarray
    keys: np.ndarray
    chain: np.ndarray
    fill: np.ndarray
    head: np.ndarray
    length: np.ndarray
    state: np.ndarray


@njit(inline="always")
def bucket_of(distance, scale):
    """The bucket's number: rounded, but monotone in the distance."""
    return np.int64(min(np.float64(distance) * scale, 4e18))


@njit
def push(b, t, vertex, distance, bucket, current):
    """Append an entry to a bucket of thread t, or set POOL_FULL."""
    if bucket - current < WINDOW:
        place = bucket % WINDOW
    else:
        place = WINDOW
        b.state[t, BEYOND] = min(b.state[t, BEYOND], bucket)
    block = b.head[t, place]
    if block == NONE or b.fill[block] == BLOCK:
        share = len(b.chain) // len(b.state)
        new = b.state[t, FREE]
        if new != NONE:
            b.state[t, FREE] = b.chain[new]
        elif b.state[t, TAKEN] < share:
            new = t * share + b.state[t, TAKEN]
            b.state[t, TAKEN] += 1
        else:
            b.state[t, POOL_FULL] = 1
            return
        b.chain[new], b.fill[new] = block, 0
        b.head[t, place] = new
        b.length[t, place] += 1
        block = new
    b.vertices[block, b.fill[block]] = vertex
    b.keys[block, b.fill[block]] = distance
    b.fill[block] += 1


@njit
def detach(b, t, place):
    """Empty a bucket of thread t; returns its first block."""
    block = b.head[t, place]
    b.head[t, place], b.length[t, place] = NONE, 0
    return block


@njit
def free(b, block):
    """Return a block to its thread's free list. That thread must not push at the same time."""
    t = block // (len(b.chain) // len(b.state))
    b.chain[block] = b.state[t, FREE]
    b.state[t, FREE] = block


@njit
def next_bucket(b, current, scale):
    """The lowest bucket that holds an entry, NEVER if none does; moves entries into its window."""
    first = NEVER
    for t in range(len(b.state)):
        first = min(first, b.state[t, BEYOND])
        for ahead in range(WINDOW):
            if current + ahead >= first:
                break
            if b.head[t, (current + ahead) % WINDOW] != NONE:
                first = current + ahead
    if first == NEVER:
        return first
    for t in range(len(b.state)):
        if b.state[t, BEYOND] < first + WINDOW:
            block = detach(b, t, WINDOW)
            b.state[t, BEYOND] = NEVER
            while block != NONE:
                after = b.chain[block]
                for i in range(b.fill[block]):
                    distance = b.keys[block, i]
                    push(b, t, b.vertices[block, i], distance, bucket_of(distance, scale), first)
                free(b, block)
                block = after
    return first


@njit
def collect(b, current, shared):
    """Detach the current bucket of all threads; returns the number of its blocks, listed in `shared`."""
    count = 0
    for t in range(len(b.state)):
        block = detach(b, t, current % WINDOW)
        while block != NONE:
            shared[count] = block
            count += 1
            block = b.chain[block]
    return count


@njit
def empty(b):
    """Drop all entries, and begin to count anew."""
    b.head[:], b.length[:], b.state[:] = NONE, 0, 0
    b.state[:, FREE], b.state[:, BEYOND] = NONE, NEVER
