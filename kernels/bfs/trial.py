"""The engine of `fast` that is fastest on a graph, by a few searches with each, on the CPU and on a GPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from saitan.bfs.search import loops
from saitan.graph import Graph

E = TypeVar("E")

# An engine that takes more than BEHIND times the least for a root, and more than LEAST seconds, is not tried further.
BEHIND, LEAST = 3.0, 0.01
# Rounds of a root, of which the least time counts. After LONG seconds no other round or root is begun.
ROUNDS, LONG = 3, 0.5


def tried(graph: Graph) -> list[int]:
    """A few roots, that of most arcs first; none where no arc leads to another vertex."""
    arcs = graph.degrees - loops(graph.offsets, graph.targets)
    usable = np.flatnonzero(arcs)
    if not len(usable):
        return []
    return [int(arcs.argmax()), *np.random.default_rng(1).choice(usable, 2).tolist()]


def fastest(graph: Graph, engines: Sequence[E], seconds: Callable[[E, int], float]) -> E:
    """The engine that takes the least time for all roots that are tried.

    seconds(engine, root): of one search. An engine's first search loads compiled code and does not count.
    """
    roots = tried(graph) if len(engines) > 1 else []
    if not roots:
        return engines[0]
    for engine in engines:
        seconds(engine, roots[0])
    end = time.perf_counter() + LONG
    total = dict.fromkeys(engines, 0.0)
    for root in roots:
        took = dict.fromkeys(total, float("inf"))
        for _ in range(ROUNDS):
            # Twice, as the first search follows another engine's: caches and threads are not as it leaves them.
            for engine in [engine for engine in took for _ in range(2)]:
                took[engine] = min(took[engine], seconds(engine, root))
            if time.perf_counter() > end:
                break
        bound = max(LEAST, BEHIND * min(took.values()))
        total = {engine: total[engine] + took[engine] for engine in total if took[engine] <= bound}
        if len(total) == 1 or time.perf_counter() > end:
            break
    return min(total, key=total.__getitem__)
