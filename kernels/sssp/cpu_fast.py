"""`fast` on the CPU: delta-stepping over per-thread buckets, with bucket fusion; small graphs by near-far (one thread).

Returns distances of the weights' type, or of 64 bits once a sum did not fit. In a step the threads that are ready
relax the lowest bucket together, block by block; none is waited for that has not come. Before the step ends, each
thread also relaxes what it pushed into that bucket itself, as long as that stays small (bucket fusion). A bucket is a
chain of small blocks from the thread's own pool, so a push moves no other entry. An entry is (vertex, distance); it
is stale once the vertex has a smaller distance. Long chains are taken out of the graph beforehand (chains.py; walks.py
where weights are real).

1. Meyer, Sanders: Delta-stepping: a parallelizable shortest path algorithm. J. Algorithms 49, 2003.
2. Zhang, Brahmakshatriya, Chen, Dhulipala, Kamil, Amarasinghe, Shun: Optimizing ordered graph algorithms with
   GraphIt (bucket fusion). CGO 2020.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numba import get_num_threads, prange

from saitan.atomics import atomic_add, atomic_min
from saitan.compiled import njit
from saitan.graph import Graph
from saitan.problem import Run
from saitan.sssp import chains, unreachable
from saitan.sssp.choice import level_sizes
from saitan.sssp.cpu import CpuSolver, shared
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
from saitan.sssp.cpu_chains import OverChains
from saitan.sssp.cpu_near_far import NearFar
from saitan.sssp.cpu_walks import OverWalks
from saitan.sssp.ending import FULL, TOO_LONG, run_until_it_fits, widened_type
from saitan.sssp.simplify import simplified
from saitan.sssp.walks import worth_walking
from saitan.team import COMERS, OVER, WIDTH, comes, ended, entered, left, opened, reset, shut

FUSED = 16  # a thread relaxes its own part of the current bucket while that has fewer blocks
ALONE = 6  # one thread relaxes a bucket of fewer blocks: sharing it costs more
# Where all threads together had less than this share of their cores' time, one thread answers the next queries: one,
# then two, four, up to so many, until the cores are there again.
THERE, MOST_ALONE = 0.75, 64
SMALL = 200_000  # arcs up to which one thread answers the query, by near-far: starting the others costs more
SPREAD = 32  # near-far's widths in a mean weight from which it does so too: most entries would wait beyond the window
# Graphs of no more arcs a breadth-first level are searched by one thread too, as there is little to share. Of those of
# still fewer arcs no chains are taken out by fewer threads than these: expanding them takes longer than a search.
SHARED_ARCS = 128
CHAINED_ARCS, EXPANDING = 16, 6
WALKED = 16_000  # arcs from which real weights' chains are walked: what is around a query costs more than a search
# Near-far's width is so many times the weight below which so many arcs of a vertex lie on average. Where a vertex has
# fewer than twice as many arcs it is so many times the median divided by the arcs of a vertex, which buckets do not.
DELTA_IN_WEIGHTS, LIGHT_ARCS, DELTA_IN_MEDIAN_WEIGHTS = 1.5, 2, 6
SAMPLED = 1 << 20  # weights of the sample

# Places of `control` after the team's: what several threads write, in a cache line of its own; then the step's bucket,
# how many blocks it has, and the steps made, of which the team counts those that were shared.
BLOCKS_TAKEN, CURRENT, COUNT, STEPS, CONTROL_WIDTH = WIDTH, WIDTH + 16, WIDTH + 17, WIDTH + 18, WIDTH + 32


class Rows(NamedTuple):
    """The graph as the kernels read it: int64 [n + 1] and records (target, weight) [m]."""

    offsets: np.ndarray
    arcs: np.ndarray


@njit
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


@njit
def _drain(b, t, shared, count, control, current, scale, rows, distances, limit):
    """One thread's part of a step: blocks of the shared bucket, then blocks of its own while they are few."""
    while True:
        i = atomic_add(control, BLOCKS_TAKEN, 1)
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


@njit
def _start(b, vertices, lengths, scale, distances, limit, control):
    """Only these vertices are reached, at these distances, and wait in their buckets; the gate is shut."""
    distances[:] = limit
    empty(b)
    for i in range(len(vertices)):
        distance = distances.dtype.type(lengths[i])
        distances[vertices[i]] = min(distances[vertices[i]], distance)
        push(b, np.int64(0), vertices[i], distance, bucket_of(distance, scale), np.int64(0))
    control[:] = 0
    reset(control)


@njit
def _step(b, scale, rows, distances, limit, shared, control, alone):
    """Relax the lowest bucket, control[CURRENT] or beyond; False when there is none, or when a sum or a pool was too
    small (OVERFLOWED and POOL_FULL in `state`).

    A bucket of at least `alone` blocks is shared with the threads that come through the gate while it is open. The step
    ends when those that came have left; a thread that is late finds the gate shut and holds up nothing.
    """
    current = next_bucket(b, control[CURRENT], scale)
    if current == NEVER or b.state[:, OVERFLOWED].any() or b.state[:, POOL_FULL].any():
        return False
    count = collect(b, current, shared)
    control[CURRENT], control[COUNT], control[BLOCKS_TAKEN] = current, count, 0
    control[STEPS] += 1
    shares = count >= alone
    if shares:
        opened(control)
    _drain(b, np.int64(0), shared, count, control, current, scale, rows, distances, limit)
    if shares:
        shut(control)
    for i in range(count):
        free(b, shared[i])
    return True


@njit
def _lead(b, most, scale, rows, distances, limit, shared, control, alone):
    """Make `most` steps, or all."""
    made = 0
    while made < most and _step(b, scale, rows, distances, limit, shared, control, alone):
        made += 1
    ended(control)


@njit
def _help(b, t, scale, rows, distances, limit, shared, control):
    """Take part in every step that finds this thread ready, until there are no more."""
    step = entered(control, 0)
    while step:
        _drain(b, t, shared, control[COUNT], control, control[CURRENT], scale, rows, distances, limit)
        left(control)
        step = entered(control, step)


@njit(parallel=True)
def _together(b, most, scale, rows, distances, limit, shared, control, alone):
    """The same with all threads: whichever comes first leads. They are started once, not once a step."""
    for _ in prange(len(b.state)):
        t = comes(control)
        if t == 0:
            _lead(b, most, scale, rows, distances, limit, shared, control, alone)
        else:
            _help(b, t, scale, rows, distances, limit, shared, control)


def _over_core(graph: Graph, levels: int) -> OverChains | OverWalks | None:
    """A smaller graph to search, and what leads from it to all vertices; None where that takes no less time."""
    integers = graph.weights.dtype.kind == "u"
    # From the core to a vertex of a chain takes 30 ns of a thread's, to search the vertex 15 ns and no other thread.
    thin = graph.m <= CHAINED_ARCS * levels and get_num_threads() < EXPANDING
    if levels < chains.LEAST_LEVELS or (integers and thin):
        return None
    simple = simplified(graph)
    if integers:
        found = chains.worth_contracting(simple, levels)
        return None if found is None else OverChains(found)
    walks = worth_walking(simple, levels)
    return None if walks is None or len(walks.links) else OverWalks(walks)


def _widths(graph: Graph) -> tuple[float, float]:
    """How far the bound of near-far rises at a time, and how wide a bucket is."""
    sample = graph.weights[:: -(-graph.m // SAMPLED) or 1]
    sample = np.sort(sample[sample > 0])
    if not len(sample):
        return 1.0, 1.0
    degree = max(1, graph.m / graph.n)
    if degree >= 2 * LIGHT_ARCS:
        width = DELTA_IN_WEIGHTS * float(sample[int(len(sample) * LIGHT_ARCS / degree)])
        return width, width
    width = DELTA_IN_MEDIAN_WEIGHTS * float(sample[len(sample) // 2])
    return width / degree, width


class Fast(CpuSolver):
    """Delta-stepping on all cores. delta: width of a bucket, in the weights' unit; by default a few median weights.

    Distances widen to 64 bits, for this and all later queries, when a sum does not fit.
    """

    def __init__(self, graph: Graph, *, delta: float | None = None) -> None:
        super().__init__(graph)
        begin = time.perf_counter()
        levels = len(level_sizes(graph)) if graph.m > (SMALL if graph.weights.dtype.kind == "u" else WALKED) else 0
        self._over = _over_core(graph, levels)
        self._prepare_s = time.perf_counter() - begin
        thin = levels >= chains.LEAST_LEVELS and graph.m <= SHARED_ARCS * levels
        if self._over is not None:
            graph = self._over.core
        near_far, buckets = _widths(graph)
        self._searched = graph
        self._small = graph.m <= SMALL or thin or graph.mean_weight > SPREAD * near_far
        if delta is None:
            delta = near_far if self._small else buckets
        self.delta = float(delta)
        # Queries that one thread answers from now on, and how many those were the last time.
        self._alone = self._pause = 0
        self._near_far: NearFar | None = None
        if not self._small:
            arcs = np.empty(graph.m, [("target", np.int32), ("weight", graph.weights.dtype)])
            arcs["target"], arcs["weight"] = graph.targets, graph.weights
            self._rows = Rows(graph.offsets, arcs)
        self._allocate(graph.weights.dtype, 2 * graph.n)

    @property
    def memory(self) -> int:
        arrays = [self.distances]
        if self._near_far is None:
            arrays += [*self._buckets, self._rows.arcs, self._shared]
        if self._over is not None:
            arrays += [self._found, *self._over.arrays]
        return sum(array.nbytes for array in arrays) + (self._near_far.nbytes if self._near_far else 0)

    def _allocate(self, dtype: np.typing.DTypeLike, entries: int) -> None:
        """Distances of a type, and for each thread blocks for so many entries and one more for each of its buckets."""
        self._entries, self._found = entries, np.empty(self._searched.n, dtype)
        self.distances = self._found if self._over is None else np.empty(self.graph.n, dtype)
        if self._small:
            self._near_far = NearFar(self._searched, self._found, self.delta)
            return
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
        self._shared, self._control = np.empty(blocks, np.int32), np.zeros(CONTROL_WIDTH, np.int64)

    def _arguments(self) -> tuple:
        """What every step is given."""
        return 1 / self.delta, self._rows, self._found, unreachable(self._found.dtype), self._shared, self._control

    def _start(self, source: int) -> bool:
        """Whether the query can begin with distances of this type."""
        vertices, lengths = np.array([source], np.int32), np.zeros(1, np.uint64)
        if self._over is not None:
            vertices, lengths = self._over.enter(source, self.distances)
        limit = unreachable(self._found.dtype)
        if (lengths >= limit).any():
            return False
        if self._near_far is not None:
            self._near_far.start(vertices, lengths)
        else:
            _start(self._buckets, vertices, lengths, 1 / self.delta, self._found, limit, self._control)
        return True

    def _steps(self, most: int, together: bool) -> bool:
        """Make so many steps at most, by all threads or by one; whether there was one."""
        if self._near_far is not None:
            return self._near_far.advance(most)
        before = self._control[STEPS]
        self._control[COMERS] = self._control[OVER] = 0
        if together:
            _together(self._buckets, most, *self._arguments(), ALONE)
        else:
            _lead(self._buckets, most, *self._arguments(), NEVER)
        return self._control[STEPS] > before

    @property
    def _shared_out(self) -> bool:
        """Whether all threads are worth starting."""
        return self._near_far is None and len(self._buckets.state) > 1

    @property
    def _sums(self) -> tuple[int, int]:
        """Vertices and arcs relaxed."""
        if self._near_far is not None:
            return self._near_far.updated, self._near_far.relaxed
        return int(self._buckets.state[:, UPDATED].sum()), int(self._buckets.state[:, RELAXED].sum())

    def _attempt(self, source: int) -> tuple[int, int]:
        """How the query ended, and its number of steps."""
        near_far = self._near_far
        if near_far is not None and self._over is None:
            near_far.search(source)
            return TOO_LONG * near_far.too_long, near_far.steps
        begin, used = time.perf_counter(), time.process_time()
        if not self._start(source):
            return TOO_LONG, 0
        together = self._shared_out and self._alone == 0
        self._steps(NEVER, together)
        if together:
            # The threads never sleep within a query, so time that they did not use was not theirs to use.
            share = (time.process_time() - used) / (time.perf_counter() - begin) / len(self._buckets.state)
            self._pause = min(2 * self._pause or 1, MOST_ALONE) if share < THERE else 0
            self._alone = self._pause
        elif self._alone:
            self._alone -= 1
        if near_far is not None:
            ended, steps = TOO_LONG * near_far.too_long, near_far.steps
        else:
            state, steps = self._buckets.state, int(self._control[STEPS])
            ended = TOO_LONG * bool(state[:, OVERFLOWED].any()) | FULL * bool(state[:, POOL_FULL].any())
        if self._over is not None and not ended:
            # A core may be small and its chains long.
            with shared(together or near_far is not None):
                ended = TOO_LONG * self._over.expand(source, self._found, self.distances)
        return ended, steps

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
            "relaxations": self._sums[1],
            "width": self.delta,
            "distance_bits": 8 * self.distances.itemsize,
        }
        if self._over is not None:
            counters |= {"searched": self._over.core.n, "prepare_s": self._prepare_s}
        return Run(seconds, seconds, counters)

    def count(self, source: int) -> dict[str, np.ndarray]:
        """One entry a step: seconds float64; updated int64, vertices whose arcs were relaxed; relaxations int64.

        A vertex whose distance falls again within the step counts again. Calling a step from Python adds microseconds.
        """
        self.run(source)  # widens and grows where needed
        # The second time is used: the first call of a step from here loads compiled code.
        for _ in range(2):
            self._start(source)
            ends, sums = [time.perf_counter()], [(0, 0)]
            while self._steps(1, self._shared_out):
                ends.append(time.perf_counter())
                sums.append(self._sums)
        updated, relaxed = np.diff(sums, axis=0).T
        return {"seconds": np.diff(ends), "updated": updated, "relaxations": relaxed}
