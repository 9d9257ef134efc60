"""`fast` on the CPU: delta-stepping over per-thread buckets, with bucket fusion.

Returns distances of the weights' type, or of 64 bits once a sum did not fit. In a step all threads together relax the
lowest bucket, block by block. Before the step ends, each thread also relaxes what it pushed into that bucket itself,
as long as that stays small (bucket fusion). A bucket is a chain of small blocks from the thread's own pool, so a push
moves no other entry. An entry is (vertex, distance); it is stale once the vertex has a smaller distance.

1. Meyer, Sanders: Delta-stepping: a parallelizable shortest path algorithm. J. Algorithms 49, 2003.
2. Zhang, Brahmakshatriya, Chen, Dhulipala, Kamil, Amarasinghe, Shun: Optimizing ordered graph algorithms with
   GraphIt (bucket fusion). CGO 2020.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numba import get_num_threads, njit, prange

from saitan.atomics import atomic_add, atomic_min
from saitan.graph import Graph
from saitan.problem import Run
from saitan.sssp import unreachable
from saitan.sssp.cpu import CpuSolver
from saitan.sssp.ending import FULL, TOO_LONG, run_until_it_fits, widened_type

BLOCK = 64  # entries of a block
WINDOW = 64  # buckets from the current one on, each with a chain; one more chain holds the entries beyond
FUSED = 16  # a thread relaxes its own part of the current bucket while that has fewer blocks
ALONE = 6  # one thread relaxes a bucket of fewer blocks: starting the others costs more
DELTA_IN_MEDIAN_WEIGHTS = 6
SAMPLED = 1 << 20  # weights of the sample whose median is taken

NONE = -1
NEVER = np.int64(2**62)
# Columns of a thread's row of `state`, which is two cache lines wide; BEYOND is the lowest bucket beyond the window.
FREE, TAKEN, RELAXED, OVERFLOWED, POOL_FULL, BEYOND, UPDATED = range(7)
STATE_WIDTH = 16


class Rows(NamedTuple):
    """The graph as the kernels read it: int64 [n + 1] and records (target, weight) [m]."""

    offsets: np.ndarray
    arcs: np.ndarray


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


@njit(cache=True, inline="always")
def _bucket(distance, scale):
    """The bucket's number: rounded, but monotone in the distance."""
    return np.int64(min(np.float64(distance) * scale, 4e18))


@njit(cache=True)
def _push(b, t, vertex, distance, bucket, current):
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


@njit(cache=True)
def _detach(b, t, place):
    """Empty a bucket of thread t; returns its first block."""
    block = b.head[t, place]
    b.head[t, place], b.length[t, place] = NONE, 0
    return block


@njit(cache=True)
def _free(b, block):
    """Return a block to its thread's free list. That thread must not push at the same time."""
    t = block // (len(b.chain) // len(b.state))
    b.chain[block] = b.state[t, FREE]
    b.state[t, FREE] = block


@njit(cache=True)
def _relax_block(b, t, block, current, scale, rows, distances, limit):
    """Relax the arcs of a block's entries that are not stale."""
    # The arrays leave the tuples here: inside the loop, Numba would count a reference at every access.
    offsets, arcs = rows
    vertices, keys, _, fill, head, _, _ = b
    heads, popped, their_keys = head[t], vertices[block], keys[block]
    updated, relaxed, too_long = 0, 0, False
    for i in range(fill[block]):
        v, distance = np.uint32(popped[i]), their_keys[i]
        if distances[v] != distance:
            continue
        updated += 1
        first, last = np.uint64(offsets[v]), np.uint64(offsets[v + 1])
        relaxed += last - first
        for a in range(first, last):
            u = np.uint32(arcs[a].target)
            candidate = distance + arcs[a].weight
            if candidate < distances[u]:
                if atomic_min(distances, u, candidate) > candidate:
                    bucket = _bucket(candidate, scale)
                    into = heads[np.uint64(bucket) % np.uint64(WINDOW)]
                    if into != NONE and bucket - current < WINDOW and fill[into] < BLOCK:
                        vertices[into, fill[into]] = u
                        keys[into, fill[into]] = candidate
                        fill[into] += 1
                    else:
                        _push(b, t, np.int32(u), their_keys.dtype.type(candidate), bucket, current)
            elif candidate >= limit:
                too_long = True
    b.state[t, UPDATED] += updated
    b.state[t, RELAXED] += relaxed
    if too_long:
        b.state[t, OVERFLOWED] = 1


@njit(cache=True)
def _drain(b, t, shared, count, taken, current, scale, rows, distances, limit):
    """One thread's part of a step: blocks of the shared bucket, then blocks of its own while they are few."""
    while True:
        i = atomic_add(taken, 0, 1)
        if i >= count:
            break
        _relax_block(b, t, shared[i], current, scale, rows, distances, limit)
    place = current % WINDOW
    while b.head[t, place] != NONE and b.length[t, place] < FUSED and not b.state[t, POOL_FULL]:
        block = _detach(b, t, place)
        while block != NONE:
            after = b.chain[block]
            _relax_block(b, t, block, current, scale, rows, distances, limit)
            _free(b, block)
            block = after


@njit(cache=True)
def _next_bucket(b, current, scale):
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
            block = _detach(b, t, WINDOW)
            b.state[t, BEYOND] = NEVER
            while block != NONE:
                after = b.chain[block]
                for i in range(b.fill[block]):
                    distance = b.keys[block, i]
                    _push(b, t, b.vertices[block, i], distance, _bucket(distance, scale), first)
                _free(b, block)
                block = after
    return first


@njit(cache=True)
def _collect(b, current, shared):
    """Detach the current bucket of all threads; returns the number of its blocks, listed in `shared`."""
    count = 0
    for t in range(len(b.state)):
        block = _detach(b, t, current % WINDOW)
        while block != NONE:
            shared[count] = block
            count += 1
            block = b.chain[block]
    return count


@njit(parallel=True, cache=True)
def _together(b, shared, count, taken, current, scale, rows, distances, limit):
    for t in prange(len(b.state)):
        # Signed, because the loop's unsigned type would compile everything below a second time.
        _drain(b, np.int64(t), shared, count, taken, current, scale, rows, distances, limit)


@njit(cache=True)
def _start(b, source, distances, limit):
    distances[:] = limit
    distances[source] = 0
    b.head[:], b.length[:], b.state[:] = NONE, 0, 0
    b.state[:, FREE], b.state[:, BEYOND] = NONE, NEVER
    _push(b, np.int64(0), np.int32(source), distances[source], np.int64(0), np.int64(0))


@njit(cache=True)
def _step(b, current, scale, rows, distances, limit, shared, taken):
    """Relax the lowest bucket, `current` or beyond, and return its number.

    NEVER when there is none, or when a sum or a pool was too small (OVERFLOWED and POOL_FULL in `state`).
    """
    current = _next_bucket(b, current, scale)
    if current == NEVER or b.state[:, OVERFLOWED].any() or b.state[:, POOL_FULL].any():
        return NEVER
    count = _collect(b, current, shared)
    taken[0] = 0
    if count < ALONE:
        _drain(b, np.int64(0), shared, count, taken, current, scale, rows, distances, limit)
    else:
        _together(b, shared, count, taken, current, scale, rows, distances, limit)
    for i in range(count):
        _free(b, shared[i])
    return current


@njit(cache=True)
def _run(b, source, scale, rows, distances, limit, shared, taken):
    """Returns the number of steps."""
    _start(b, source, distances, limit)
    steps, current = 0, _step(b, np.int64(0), scale, rows, distances, limit, shared, taken)
    while current != NEVER:
        steps += 1
        current = _step(b, current, scale, rows, distances, limit, shared, taken)
    return steps


class Fast(CpuSolver):
    """Delta-stepping on all cores. delta: width of a bucket, in the weights' unit; by default a few median weights.

    Distances widen to 64 bits, for this and all later queries, when a sum does not fit.
    """

    def __init__(self, graph: Graph, *, delta: float | None = None) -> None:
        super().__init__(graph)
        if delta is None:
            # The median, because a few very large weights dominate the mean.
            sample = np.sort(graph.weights[:: -(-graph.m // SAMPLED) or 1])
            delta = (DELTA_IN_MEDIAN_WEIGHTS * float(sample[len(sample) // 2]) if graph.m else 0) or 1.0
        self.delta = float(delta)
        arcs = np.empty(graph.m, [("target", np.int32), ("weight", graph.weights.dtype)])
        arcs["target"], arcs["weight"] = graph.targets, graph.weights
        self._rows = Rows(graph.offsets, arcs)
        self._allocate(graph.weights.dtype, 2 * graph.n)

    @property
    def memory(self) -> int:
        return sum(array.nbytes for array in (*self._buckets, self._rows.arcs, self._shared, self.distances))

    def _allocate(self, dtype: np.typing.DTypeLike, entries: int) -> None:
        """Distances of a type, and for each thread blocks for so many entries and one more for each of its buckets."""
        threads = get_num_threads()
        blocks = threads * (entries // BLOCK + WINDOW + 2)
        self._buckets = Buckets(
            np.empty((blocks, BLOCK), np.int32),
            np.empty((blocks, BLOCK), dtype),
            np.empty(blocks, np.int32),
            np.empty(blocks, np.int32),
            np.empty((threads, WINDOW + 1), np.int32),
            np.empty((threads, WINDOW + 1), np.int32),
            np.empty((threads, STATE_WIDTH), np.int64),
        )
        self._entries = entries
        self._shared, self._taken = np.empty(blocks, np.int32), np.empty(1, np.int64)
        self.distances = np.empty(self.graph.n, dtype)

    def _arguments(self) -> tuple:
        """What every step is given."""
        limit = unreachable(self.distances.dtype)
        return 1 / self.delta, self._rows, self.distances, limit, self._shared, self._taken

    def _attempt(self, source: int) -> tuple[int, int]:
        """How the query ended, and its number of steps."""
        steps = _run(self._buckets, source, *self._arguments())
        state = self._buckets.state
        return TOO_LONG * bool(state[:, OVERFLOWED].any()) | FULL * bool(state[:, POOL_FULL].any()), steps

    def run(self, source: int) -> Run:
        """Answer one source."""
        start = time.perf_counter()
        steps = run_until_it_fits(
            lambda: self._attempt(source),
            widen=lambda: self._allocate(widened_type(self.distances.dtype), self._entries),
            grow=lambda: self._allocate(self.distances.dtype, 2 * self._entries),
        )
        self.source = source
        seconds = time.perf_counter() - start
        counters = {
            "phases": steps,
            "relaxations": int(self._buckets.state[:, RELAXED].sum()),
            "delta": self.delta,
            "distance_bits": 8 * self.distances.itemsize,
        }
        return Run(seconds, seconds, counters)

    def count(self, source: int) -> dict[str, np.ndarray]:
        """One entry a step: seconds float64; updated int64, vertices whose arcs were relaxed; relaxations int64.

        A vertex whose distance falls again within the step counts again. Calling a step from Python adds microseconds.
        """
        self.run(source)  # widens and grows where needed
        b, arguments = self._buckets, self._arguments()
        # The second time is used: the first call of a step from here loads compiled code.
        for _ in range(2):
            _start(b, source, *arguments[2:4])
            ends, sums, current = [time.perf_counter()], [(0, 0)], np.int64(0)
            while (current := _step(b, current, *arguments)) != NEVER:
                ends.append(time.perf_counter())
                sums.append((b.state[:, UPDATED].sum(), b.state[:, RELAXED].sum()))
        updated, relaxed = np.diff(sums, axis=0).T
        return {"seconds": np.diff(ends), "updated": updated, "relaxations": relaxed}
