"""Many searches at once on the CPU, by Numba on all cores: the twin of many.cu in words of 64 bits.

A level goes one way for all searches: top-down where the rows of all frontiers together have few arcs, otherwise
bottom-up, where a vertex takes the frontier sets along its row until every search that lacks it has found it.
Both look at all vertices. One thread goes through narrow levels, whose arcs are few, by lists of their vertices.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numba import get_num_threads, prange

from saitan.atomics import atomic_or
from saitan.bfs.cpu import CpuSolver
from saitan.bfs.hops import hang
from saitan.bfs.layout import Layout
from saitan.bfs.many import PLANES, Asked, check_roots, closeness, drawn_roots, usable_roots
from saitan.bfs.search import EdgeCount, reverse
from saitan.bfs.validate import CHECKED, check, check_closeness
from saitan.blocks import Blockwise, check_given, chosen
from saitan.compiled import njit
from saitan.graph import Graph
from saitan.problem import Block, Checked, Run
from saitan.team import pieces

# Top-down only where the frontier's arcs are no more than m / ALPHA.
ALPHA = 4
PIECE = 256  # vertices that a ticket stands for
# Arcs of the frontier up to which a level is narrow: so many, or so many vertices of the graph and threads an arc.
FEW, SPARSE = 1024, 8

_ONE, _BITS = np.uint64(1), np.uint64(63)


@njit(nogil=True)
def _expand(offsets, targets, frontier, visited, following, ticket):
    """A thread's part of a top-down level. Returns arcs looked at."""
    words, inspected = frontier.shape[1], 0
    flat = following.reshape(-1)
    for low, high in pieces(ticket, 0, len(frontier), PIECE):
        for v in range(low, high):
            some = np.uint64(0)
            for w in range(words):
                some |= frontier[v, w]
            if some == 0:
                continue
            inspected += offsets[v + 1] - offsets[v]
            for i in range(offsets[v], offsets[v + 1]):
                u = targets[i]
                for w in range(words):
                    fresh = frontier[v, w] & ~(visited[u, w] | following[u, w])
                    if fresh:
                        atomic_or(flat, u * words + w, fresh)
    return inspected


@njit(nogil=True)
def _pull(offsets, sources, frontier, visited, following, alive, ticket):
    """A thread's part of a bottom-up level. Returns arcs looked at."""
    words, inspected = frontier.shape[1], 0
    for low, high in pieces(ticket, 0, len(frontier), PIECE):
        for v in range(low, high):
            for i in range(offsets[v], offsets[v + 1]):
                lacking = np.uint64(0)
                for w in range(words):
                    lacking |= alive[w] & ~(visited[v, w] | following[v, w])
                if lacking == 0:
                    break
                inspected += 1
                for w in range(words):
                    following[v, w] |= frontier[sources[i], w] & ~visited[v, w]
    return inspected


@njit(nogil=True)
def _commit(following, visited, frontier, old, level, levels, ends, sums, alive, degrees, ticket):
    """A thread's part of the end of a level: what it found is visited, numbered and counted. Returns arcs that leave.

    sums: [3, searches], of levels, vertices and their ends; alive: searches that found something; frontier: cleared.
    """
    words, leaving = following.shape[1], 0
    for low, high in pieces(ticket, 0, len(following), PIECE):
        for v in range(low, high):
            some = np.uint64(0)
            for w in range(words):
                frontier[v, w] = 0
                fresh = following[v, w]
                if fresh == 0:
                    continue
                some |= fresh
                visited[v, w] |= fresh
                alive[w] |= fresh
                _note(fresh, w, v, old, level, levels, ends, sums)
            if some:
                leaving += degrees[v]
    return leaving


@njit(nogil=True)
def _note(fresh, w, v, old, level, levels, ends, sums):
    """The level of vertex v for the searches of a word's bits, and what of it is counted."""
    for b in range(64):
        if (fresh >> np.uint64(b)) & _ONE:
            s = w * 64 + b
            sums[0, s] += level
            sums[1, s] += 1
            sums[2, s] += ends[v]
            if len(levels):
                levels[s, old[v]] = level


@njit
def _listed(frontier, vertices):
    """The vertices of a frontier into a list; returns how many, -1 where it does not hold them."""
    count = 0
    for v in range(len(frontier)):
        for w in range(frontier.shape[1]):
            if frontier[v, w]:
                if count == len(vertices):
                    return -1
                vertices[count] = v
                count += 1
                break
    return count


@njit
def _narrow(out, sets, alive, old, level, last, levels, ends, sums, lists, count, leaving, alpha):
    """Narrow levels top-down, until one is wide, goes up, is `last`, or finds nothing.

    lists: int32 [2, arcs of a narrow level]; the first holds the `count` vertices of the frontier, which `leaving` arcs
    leave. Returns the level, arcs looked at, and that leave; sets and alive are as after `_level`, but not swapped.
    """
    offsets, targets = out
    frontier, visited, following = sets
    vertices, found = lists
    words, inspected = frontier.shape[1], 0
    while count and level < last and leaving <= len(vertices) and leaving * alpha <= len(targets):
        level += 1
        inspected += leaving
        after, leaving = 0, 0
        for v in vertices[:count]:
            for i in range(offsets[v], offsets[v + 1]):
                u = targets[i]
                before, fresh = np.uint64(0), np.uint64(0)
                for w in range(words):
                    before |= following[u, w]
                    some = frontier[v, w] & ~(visited[u, w] | following[u, w])
                    fresh |= some
                    following[u, w] |= some
                if fresh and before == 0:
                    found[after] = u
                    after += 1
        for v in vertices[:count]:
            for w in range(words):
                frontier[v, w] = 0
        alive[:] = 0
        for v in found[:after]:
            for w in range(words):
                fresh = following[v, w]
                frontier[v, w] = fresh
                following[v, w] = 0
                if fresh:
                    visited[v, w] |= fresh
                    alive[w] |= fresh
                    _note(fresh, w, v, old, level, levels, ends, sums)
            leaving += offsets[v + 1] - offsets[v]
        vertices, found, count = found, vertices, after
    return level, inspected, leaving


@njit(parallel=True)
def _level(out, into, sets, alive, old, level, levels, ends, sums, degrees, up, tickets, counts, found):
    """One level; sets: frontier, visited, following, which is cleared.

    counts: int64 [2, threads], arcs looked at, and that leave; found: uint64 [threads, words], 0 before.
    """
    frontier, visited, following = sets
    for t in prange(len(sums)):
        if up:
            counts[0, t] = _pull(into[0], into[1], frontier, visited, following, alive, tickets[0])
        else:
            counts[0, t] = _expand(out[0], out[1], frontier, visited, following, tickets[0])
    for t in prange(len(sums)):
        counts[1, t] = _commit(
            following, visited, frontier, old, level, levels, ends, sums[t], found[t], degrees, tickets[1]
        )


class Many:
    """Up to `searches` roots at a time.

    levels  int8 [searches, n], or the wider type that they need, -1 where not reached; empty unless wanted
    sums    int64 [3, searches] of the last roots: of their levels, the vertices reached and those vertices' edge ends
    turned  the arcs turned round, by which parents are found; the graph itself where undirected, None without levels
    """

    def __init__(self, graph: Graph, searches: int, levels: bool = True) -> None:
        self.graph, self.searches, self.wanted = graph, searches, levels
        begin = time.perf_counter()
        turned = reverse(graph)
        self.layout = Layout.of(graph, turned)
        self.vertices = self.layout.numbering
        self.construction = time.perf_counter() - begin
        self.turned = turned if levels else None
        self.edges = EdgeCount(graph)
        k = self.layout.forward.n
        self._sets = [np.empty((k, -(-searches // 64)), np.uint64) for _ in range(3)]
        self._ends = self.edges.ends[self.layout.old]
        self._lists = np.empty((2, max(FEW, k // (SPARSE * get_num_threads()))), np.int32)
        self.levels, self.sums = np.empty((0, graph.n), np.int8), np.zeros((3, searches), np.int64)

    @property
    def nbytes(self) -> int:
        rows = {
            id(array): array.nbytes
            for g in (self.layout.forward, self.layout.backward, *self._own())
            for array in (g.offsets, g.targets)
        }
        return (
            sum(rows.values()) + 3 * self._sets[0].nbytes + self._ends.nbytes + self._lists.nbytes + self.levels.nbytes
        )

    def _own(self) -> list[Graph]:
        """The turned arcs, unless they are the graph's or gone."""
        return [] if self.turned is None or self.turned is self.graph else [self.turned]

    def run(self, roots: np.ndarray) -> tuple[float, int, int]:
        """Answer so many roots of the graph; returns seconds, the levels there are, and the arcs looked at."""
        begin = time.perf_counter()
        layout, (frontier, visited, following) = self.layout, self._sets
        forward, backward = layout.forward, layout.backward
        starts, count = layout.new[roots], len(roots)
        for bits in self._sets:
            bits.fill(0)
        word, bit = np.arange(count) // 64, _ONE << (np.arange(count).astype(np.uint64) & _BITS)
        np.bitwise_or.at(frontier, (starts, word), bit)
        np.bitwise_or.at(visited, (starts, word), bit)
        alive = np.bitwise_or.reduceat(bit, np.arange(0, count, 64))
        alive = np.concatenate([alive, np.zeros(frontier.shape[1] - len(alive), np.uint64)])
        if self.wanted:
            self.levels = np.full((self.searches, self.graph.n), -1, PLANES[0][1])
            self.levels[np.arange(count), roots] = 0
        sums = np.zeros((get_num_threads(), 3, self.searches), np.int64)
        sums[0, 1, :count], sums[0, 2, :count] = 1, self._ends[starts]
        leaving, level, inspected = int(forward.degrees[np.unique(starts)].sum()), 0, 0
        counts, found = np.zeros((2, len(sums)), np.int64), np.zeros((len(sums), len(alive)), np.uint64)
        while alive.any():
            if self.wanted and level == np.iinfo(self.levels.dtype).max:
                wider = next(dtype for _, dtype in PLANES if level < np.iinfo(dtype).max)
                self.levels = self.levels.astype(wider)
            up = leaving * ALPHA > forward.m
            listed = -1 if up or leaving > self._lists.shape[1] else _listed(frontier, self._lists[0])
            if listed >= 0:
                level, looked, leaving = _narrow(
                    (forward.offsets, forward.targets), (frontier, visited, following), alive, layout.old, level,
                    np.iinfo(self.levels.dtype).max if self.wanted else self.graph.n, self.levels, self._ends, sums[0],
                    self._lists, listed, leaving, ALPHA,
                )  # fmt: skip
                inspected += looked
                continue
            level += 1
            found.fill(0)
            _level(
                (forward.offsets, forward.targets), (backward.offsets, backward.targets),
                (frontier, visited, following), alive, layout.old, level, self.levels, self._ends, sums,
                forward.degrees, up, np.zeros((2, 1), np.int64), counts, found,
            )  # fmt: skip
            looked, leaving = counts.sum(axis=1).tolist()
            alive = np.bitwise_or.reduce(found)
            inspected += looked
            frontier, following = following, frontier
        self.sums = sums.sum(axis=0)
        # The last level found nothing.
        return time.perf_counter() - begin, level, inspected

    def counters(self, seconds: float, count: int) -> dict[str, float]:
        """roots, edges and TEPS of all of them together."""
        edges = sum(self.edges.whole(int(ends)) for ends in self.sums[2, :count])
        return {"roots": count, "edges": edges, "teps": edges / seconds, "construction_s": self.construction}


class FastMany(CpuSolver):
    """`searches` roots at once: the given one, and others drawn with it as the seed; times are for all of them.

    Levels and parents of the given root are what `blocks` gives; all levels are in many.levels, parents, if asked for,
    in all_parents, int32 [searches, n].
    """

    def __init__(self, asked: Asked, *, searches: int = 256, parents: bool = False) -> None:
        graph = asked.graph
        super().__init__(graph)
        self.many = Many(graph, searches)
        self._usable = usable_roots(self.many.vertices)
        self.all_parents = np.empty((searches, graph.n), np.int32) if parents else None
        self.memory = self.many.nbytes + searches * graph.n * (5 if parents else 1)
        self._roots = np.empty(0, np.int64)

    def run(self, root: int) -> Run:
        """Answer the root and the others."""
        return self.run_all(drawn_roots(self._usable, root, self.many.searches))

    def run_all(self, roots: np.ndarray) -> Run:
        """Answer these roots, as many as there are searches or fewer. Raises ValueError for one without arcs."""
        self._roots = check_roots(self.many.vertices, roots)
        seconds, levels, inspected = self.many.run(self._roots)
        begin = time.perf_counter()
        if self.all_parents is not None:
            for search in range(len(roots)):
                self._hang(search, self.all_parents[search])
        seconds += time.perf_counter() - begin
        self._take(0)
        counters = {"levels": levels, "inspected": inspected} | self.many.counters(seconds, len(roots))
        return Run(seconds, seconds, counters)

    def _hang(self, search: int, parents: np.ndarray) -> None:
        rows = self.many.turned
        hang(rows.offsets, rows.targets, self._roots[search], self.many.levels[search], parents)

    def _take(self, search: int) -> None:
        """Levels and parents of one search, int32 [n] each."""
        self.root, self.levels = int(self._roots[search]), self.many.levels[search].astype(np.int32)
        if self.all_parents is not None:
            self.parents = self.all_parents[search]
        else:
            self.parents = np.empty(self.graph.n, np.int32)
            self._hang(search, self.parents)

    def validate(self) -> Checked:
        """Graph500's rules for every search; parents that were not asked for are derived from the levels."""
        for search in reversed(range(len(self._roots))):
            self._take(search)
            check(self.graph, self.root, self.levels, self.parents)
        check_given(self, CpuSolver, CpuSolver.blocks(self))
        return CHECKED


class Closeness(Blockwise):
    """Closeness of all vertices, `searches` of them at a time, vertices of like degree together."""

    transfer = 0.0

    def __init__(self, instance: Asked, *, searches: int = 256) -> None:
        self.graph = instance.graph
        self._many = Many(self.graph, searches, levels=False)
        self.memory = self._many.nbytes
        self._closeness = np.empty(0)

    def run(self, query: int) -> Run:
        """Answer the one query there is."""
        begin = time.perf_counter()
        many, n = self._many, self.graph.n
        sums, reached = np.zeros(n, np.int64), np.ones(n, np.int64)
        roots, inspected, ends = usable_roots(many.vertices), 0, []
        for first in range(0, len(roots), many.searches):
            batch = roots[first : first + many.searches]
            inspected += many.run(batch)[2]
            sums[batch], reached[batch] = many.sums[:2, : len(batch)]
            ends += many.sums[2, : len(batch)].tolist()
        self._closeness = closeness(n, sums, reached)
        seconds = time.perf_counter() - begin
        edges = sum(map(many.edges.whole, ends))
        counters = {"roots": len(roots), "edges": edges, "inspected": inspected, "teps": edges / seconds}
        return Run(seconds, seconds, counters | {"construction_s": many.construction})

    def validate(self) -> Checked:
        checked = check_closeness(self.graph, self._closeness)
        check_given(self, Closeness, Closeness.blocks(self))
        return checked

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        yield from chosen("closeness", self._closeness, rows)

    def close(self) -> None:
        """Nothing outside Python's memory is held."""
