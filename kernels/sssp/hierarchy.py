"""A contraction hierarchy: vertices are removed from a graph level by level and replaced by shortcuts, down to a core.

A round removes an independent set of vertices, those that need the fewest shortcuts first. It adds a shortcut between
two neighbours of a removed vertex where a witness search finds no path as short among the vertices that stay. So the
distances between the vertices that stay never change, and the vertices of a round are a contraction *level*: no arc
joins two of them. The *core* is what is left when all distances between the vertices left fit a table. A shortest path
then goes up from level to level, through the core once, and down.

The result depends on the graph alone, not on the number of threads.

1. Geisberger, Sanders, Schultes, Delling: Contraction hierarchies: faster and simpler hierarchical routing in road
   networks. WEA 2008.
2. Vetter: Parallel time-dependent contraction hierarchies. Study thesis, Karlsruhe 2009 (independent sets).
3. Delling, Goldberg, Nowatzyk, Werneck: PHAST: hardware-accelerated shortest path trees. IPDPS 2011.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import get_num_threads

from saitan.graph import Graph
from saitan.memory import check_room
from saitan.problem import Unavailable
from saitan.sssp import unreachable
from saitan.sssp.contraction import DENSE, FAR, GOES, OPEN, STAYS, all_pairs, decide, prioritise, take_out
from saitan.sssp.growth import Growth, around, given_up

CORE = 4096  # contraction ends when so few vertices are left; all their distances are a table
PART = 0.75  # share of the vertices left, the cheapest first, that a round may remove
# A graph of so many vertices is tried on a part of so many first, contracted to that share of it.
LARGE, TRIED, TRIED_TO = 1 << 19, 1 << 17, 1 / 12

NONE = np.int32(-1)


@dataclass(frozen=True)
class Hierarchy:
    """A contracted graph. Its vertices are renumbered: the core first, then level by level, the highest first.

    vertices      int32 [n]: the graph's vertex at every position
    first         int64 [levels + 2]: positions where the core and every level begin, and n
    up_offsets    int64 [n + 1]; up_heads int32, up_lengths int64: arcs to the core or a higher level; the core has none
    down_offsets  int64 [n + 1]; down_tails int32, down_lengths int64: arcs into a position from the core or above
    table         int64 [core, core]: distances from one of the core's positions to another, FAR where there is no path
    shortcuts     arcs added
    seconds       that the contraction took
    """

    vertices: np.ndarray
    first: np.ndarray
    up_offsets: np.ndarray
    up_heads: np.ndarray
    up_lengths: np.ndarray
    down_offsets: np.ndarray
    down_tails: np.ndarray
    down_lengths: np.ndarray
    table: np.ndarray
    shortcuts: int
    seconds: float

    @property
    def core(self) -> int:
        return len(self.table)

    @property
    def levels(self) -> int:
        return len(self.first) - 2

    @property
    def longest(self) -> int:
        """The longest arc or distance between vertices of the core."""
        table = self.table[self.table < FAR]
        return max(int(x.max()) for x in (self.up_lengths, self.down_lengths, table) if x.size)

    def counters(self, relaxed: int, dtype: np.dtype) -> dict[str, float]:
        """A query's counters. relaxed: arcs and table entries relaxed; dtype: the distances'."""
        return {
            "phases": self.levels + 1,
            "relaxations": relaxed,
            "shortcuts": self.shortcuts,
            "prepare_s": self.seconds,
            "distance_bits": 8 * dtype.itemsize,
        }


def in_type(lengths: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Lengths, int64, as distances of a type that holds them, with FAR as unreachable."""
    return np.where(lengths < FAR, lengths.view(np.uint64), unreachable(dtype)).astype(dtype)


class Rest(NamedTuple):
    """The graph of the vertices left: an arc, or two opposite ones, has an entry at both ends, in rows sorted by head.

    offsets      int64 [left + 1]
    tails, heads int32
    ahead, back  int64: length of the arc from tail to head and of that from head to tail, FAR where there is none;
                 one array for both where the graph is symmetric
    """

    offsets: np.ndarray
    tails: np.ndarray
    heads: np.ndarray
    ahead: np.ndarray
    back: np.ndarray

    @property
    def symmetric(self) -> bool:
        return self.ahead is self.back


class Taken(NamedTuple):
    """A level: its vertices, and row by row, `counts` entries each, their neighbours when they were removed."""

    vertices: np.ndarray
    counts: np.ndarray
    others: np.ndarray
    ahead: np.ndarray
    back: np.ndarray


def contract(graph: Graph, core: int = CORE) -> Hierarchy:
    """Contract a graph of integer weights, directed or not, down to a core of so many vertices or fewer.

    core: at least 1. Raises Unavailable for weights that are no integers and for graphs whose neighbourhoods grow too
    dense.
    """
    if graph.weights.dtype != np.uint32:
        raise Unavailable(
            f"phast needs integer weights: {graph.name}'s {graph.weights.dtype} sums depend on their order"
        )
    _compiled()
    if graph.n >= LARGE:
        _try(graph, core)
    return _contract(graph, core)


def _try(graph: Graph, core: int) -> None:
    """Contract the vertices around one. Raises Unavailable where the degrees grow too fast for the whole graph."""
    part = around(graph, int(np.median(graph.targets)) if graph.m else 0, TRIED)
    if part.n < TRIED:
        return
    growth, whole = Growth(), graph.n / max(core, CORE)

    def hopeless(left: int, entries: int) -> None:
        if (neighbours := growth.expected(left, entries, whole * left / part.n)) > Growth.HOPELESS:
            after = f"of {part.n:,} vertices near each other {left:,} have {entries / left:.0f} neighbours each"
            raise given_up(graph, max(core, CORE), neighbours, after)

    _rounds(part, int(TRIED * TRIED_TO), hopeless)


@cache
def _compiled() -> None:
    """Let Numba compile or load what a contraction calls, so that the seconds of the next do not include it."""
    _contract(Graph.from_arcs(3, [0, 1, 1, 2], [1, 0, 2, 1], np.ones(4, np.uint32)), 1)


def _contract(graph: Graph, core: int) -> Hierarchy:
    begin, growth = time.perf_counter(), Growth()

    def hopeless(left: int, entries: int) -> None:
        if (neighbours := growth.expected(left, entries, left / max(core, CORE))) > Growth.HOPELESS:
            after = f"{left:,} of {graph.n:,} vertices are left with {entries / left:.0f} neighbours each"
            raise given_up(graph, max(core, CORE), neighbours, after)

    rest, names, taken, shortcuts = _rounds(graph, core, hopeless)
    if len(names) > max(core, CORE) or len(rest.heads) > DENSE * max(core, CORE):
        raise Unavailable(
            f"{graph.name} cannot be contracted: {len(names):,} of {graph.n:,} vertices are left with "
            f"{len(rest.heads) // len(names):,} neighbours each, its table takes {CORE:,} with {DENSE} (use fast)"
        )
    # Beside it, a copy of what is not FAR, and it once more in the distances' type.
    check_room(3 * FAR.itemsize * len(names) ** 2, f"a table of the {len(names):,} vertices left uncontracted")
    table = np.full((len(names), len(names)), FAR)
    all_pairs(rest, table)
    return _numbered(graph.n, names, taken, table, shortcuts, rest.symmetric, begin)


def _rounds(graph: Graph, core: int, hopeless: Callable[[int, int], None]) -> tuple[Rest, np.ndarray, list[Taken], int]:
    """Remove level after level until `core` vertices are left or their neighbourhoods are too dense.

    hopeless: called before each round with the number of vertices left and of their entries; may raise.
    Returns the graph that is left, the names of its vertices, the levels, and the number of shortcuts.
    """
    rest, names, taken, shortcuts = _first_rest(graph), np.arange(graph.n, dtype=np.int32), [], 0
    priorities, changed = np.empty(graph.n, np.int64), np.ones(graph.n, np.bool_)
    while len(names) > core and len(rest.heads) <= DENSE * len(names):
        hopeless(len(names), len(rest.heads))
        chunks = 8 * get_num_threads()
        prioritise(rest, rest.symmetric, names, changed, chunks, priorities)
        goes = _independent(rest, priorities)
        going = np.flatnonzero(goes)
        counts = np.diff(rest.offsets)[going]
        room = np.zeros(len(going) + 1, np.int64)
        np.cumsum(counts * (counts - 1) // (2 if rest.symmetric else 1), out=room[1:])
        added = np.full(room[-1], NONE), np.empty(room[-1], np.int32), np.empty(room[-1], np.int64)
        take_out(rest, rest.symmetric, going, goes, chunks, room, *added)
        added = [x[added[0] != NONE] for x in added]
        shortcuts += len(added[0]) * (2 if rest.symmetric else 1)

        row = goes[rest.tails]
        taken.append(Taken(names[going], counts, names[rest.heads[row]], rest.ahead[row], rest.back[row]))
        changed = np.zeros(len(names), np.bool_)
        changed[rest.heads[row]] = True
        rest = _without(rest, goes, added)
        names, changed, priorities = names[~goes], changed[~goes], priorities[~goes]
    return rest, names, taken, shortcuts


def _entries(tails, heads, lengths, symmetric):
    """Arcs as entries of both ends: tails, heads, lengths ahead and, unless symmetric, back."""
    ends = np.r_[tails, heads], np.r_[heads, tails]
    if symmetric:
        return *ends, np.r_[lengths, lengths]
    none = np.full(len(lengths), FAR)
    return *ends, np.r_[lengths, none], np.r_[none, lengths]


def _first_rest(graph: Graph) -> Rest:
    loops = graph.sources == graph.targets
    arcs = graph.sources[~loops], graph.targets[~loops], graph.weights[~loops].astype(np.int64)
    rest = _rows(graph.n, *_entries(*arcs, False))
    return rest._replace(back=rest.ahead) if np.array_equal(rest.ahead, rest.back) else rest


def _without(rest: Rest, goes: np.ndarray, added: list[np.ndarray]) -> Rest:
    """The vertices that stay, renumbered, with the shortcuts added."""
    number = np.cumsum(~goes, dtype=np.int32) - np.int32(1)
    stays = ~(goes[rest.tails] | goes[rest.heads])
    old = [rest.tails, rest.heads, rest.ahead] + ([] if rest.symmetric else [rest.back])
    new = _entries(*added, rest.symmetric)
    tails, heads, *lengths = (np.r_[x[stays], y] for x, y in zip(old, new, strict=True))
    return _rows(len(goes) - int(goes.sum()), number[tails], number[heads], *lengths)


def _rows(n: int, tails: np.ndarray, heads: np.ndarray, ahead: np.ndarray, back: np.ndarray | None = None) -> Rest:
    """Entries sorted by tail and head, those of the same two merged."""
    order = _sorted_by(heads, n)
    order = order[_sorted_by(tails[order], n)]
    tails, heads = tails[order], heads[order]
    differs = np.ones(len(tails), np.bool_)
    differs[1:] = (tails[1:] != tails[:-1]) | (heads[1:] != heads[:-1])
    starts = np.flatnonzero(differs)
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(tails[starts], minlength=n), out=offsets[1:])

    def shortest(lengths: np.ndarray) -> np.ndarray:
        return np.minimum.reduceat(lengths[order], starts) if len(starts) else lengths

    ahead = shortest(ahead)
    return Rest(offsets, tails[starts], heads[starts], ahead, ahead if back is None else shortest(back))


def _sorted_by(keys: np.ndarray, n: int) -> np.ndarray:
    """The stable order of keys in [0, n)."""
    from scipy.sparse import _sparsetools

    index = np.int32 if max(len(keys), n) < 2**31 else np.int64
    offsets, columns, order = np.empty(n + 1, index), np.empty(len(keys), index), np.empty(len(keys), index)
    numbers = np.arange(len(keys), dtype=index)
    # SciPy's counting sort, as in Graph.from_arcs.
    _sparsetools.coo_tocsr(n, n, len(keys), keys.astype(index), numbers, numbers, offsets, columns, order)
    return order


def _independent(rest: Rest, priorities: np.ndarray) -> np.ndarray:
    """bool [left]: an independent set of the cheapest vertices to which no other of them can be added."""
    nth = int(PART * (len(priorities) - 1))
    state = np.where(priorities <= np.partition(priorities, nth)[nth], OPEN, STAYS).astype(np.int8)
    while (state == OPEN).any():
        state = decide(rest, priorities, state)
    return state == GOES


def _numbered(n, names, taken, table, shortcuts, symmetric, begin) -> Hierarchy:
    """Positions for all vertices: in a level by the number of arcs into them, then by their first neighbour above."""
    vertices, first, position = [names], [0, len(names)], np.empty(n, np.int32)
    position[names] = np.arange(len(names))
    counts, others, ahead, back = [np.zeros(len(names), np.int64)], [], [], []
    for level in reversed(taken):
        others_at = position[level.others]
        row = np.repeat(np.arange(len(level.counts)), level.counts)
        nearest = np.zeros(len(level.counts), np.int32)
        begins = np.cumsum(level.counts) - level.counts
        if (some := level.counts > 0).any():
            nearest[some] = np.minimum.reduceat(others_at, begins[some])
        order = np.lexsort((nearest, np.bincount(row[level.back < FAR], minlength=len(level.counts))))
        sizes = level.counts[order]
        entry = np.repeat(begins[order] - (np.cumsum(sizes) - sizes), sizes) + np.arange(len(row))
        position[level.vertices[order]] = np.arange(first[-1], first[-1] + len(order))
        first.append(first[-1] + len(order))
        vertices.append(level.vertices[order])
        counts.append(sizes)
        others.append(others_at[entry])
        ahead.append(level.ahead[entry])
        back.append(level.back[entry])

    nothing = np.empty(0, np.int64)
    others = np.concatenate([nothing.astype(np.int32), *others])
    row = np.repeat(np.arange(n), np.concatenate(counts))

    def direction(lengths: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        lengths = np.concatenate([nothing, *lengths])
        there = lengths < FAR
        offsets = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(row[there], minlength=n), out=offsets[1:])
        return offsets, others[there], lengths[there]

    up = direction(ahead)
    down = up if symmetric else direction(back)
    seconds = time.perf_counter() - begin
    return Hierarchy(np.concatenate(vertices), np.array(first), *up, *down, table, shortcuts, seconds)
