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
from saitan.sssp.cpu_buckets import (
    BLOCK,
    NEVER,
    NONE,
    OVERFLOWED,
    POOL_FULL,
    RELAXED,
    STATE_WIDTH,
    UPDATED,
    WINDOW,
    Buckets,
    bucket_of,
    collect,
    detach,
    empty,
    free,
    next_bucket,
    push,
)
from saitan.sssp.ending import FULL, TOO_LONG, run_until_it_fits, widened_type

FUSED = 16  # a thread relaxes its own part of the current bucket while that has fewer blocks
ALONE = 6  # one thread relaxes a bucket of fewer blocks: starting the others costs more
DELTA_IN_MEDIAN_WEIGHTS = 6
SAMPLED = 1 << 20  # weights of the sample whose median is taken


class Rows(NamedTuple):
    """The graph as the kernels read it: int64 [n + 1] and records (target, weight) [m]."""

    offsets: np.ndarray
    arcs: np.ndarray


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
                    bucket = bucket_of(candidate, scale)
                    into = heads[np.uint64(bucket) % np.uint64(WINDOW)]
                    if into != NONE and bucket - current < WINDOW and fill[into] < BLOCK:
                        vertices[into, fill[into]] = u
                        keys[into, fill[into]] = candidate
                        fill[into] += 1
                    else:
                        push(b, t, np.int32(u), their_keys.dtype.type(candidate), bucket, current)
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
        block = detach(b, t, place)
        while block != NONE:
            after = b.chain[block]
            _relax_block(b, t, block, current, scale, rows, distances, limit)
            free(b, block)
            block = after


@njit(parallel=True, cache=True)
def _together(b, shared, count, taken, current, scale, rows, distances, limit):
    for t in prange(len(b.state)):
        # Signed, because the loop's unsigned type would compile everything below a second time.
        _drain(b, np.int64(t), shared, count, taken, current, scale, rows, distances, limit)


@njit(cache=True)
def _start(b, source, distances, limit):
    distances[:] = limit
    distances[source] = 0
    empty(b)
    push(b, np.int64(0), np.int32(source), distances[source], np.int64(0), np.int64(0))


@njit(cache=True)
def _step(b, current, scale, rows, distances, limit, shared, taken):
    """Relax the lowest bucket, `current` or beyond, and return its number.

    NEVER when there is none, or when a sum or a pool was too small (OVERFLOWED and POOL_FULL in `state`).
    """
    current = next_bucket(b, current, scale)
    if current == NEVER or b.state[:, OVERFLOWED].any() or b.state[:, POOL_FULL].any():
        return NEVER
    count = collect(b, current, shared)
    taken[0] = 0
    if count < ALONE:
        _drain(b, np.int64(0), shared, count, taken, current, scale, rows, distances, limit)
    else:
        _together(b, shared, count, taken, current, scale, rows, distances, limit)
    for i in range(count):
        free(b, shared[i])
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
