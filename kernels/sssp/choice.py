"""Which of the kernels of `fast` answers a graph on the GPU, by its degree and its breadth-first levels."""

from __future__ import annotations

import numpy as np

from saitan.compiled import njit
from saitan.graph import Graph

# A graph of at least so many arcs a vertex has frontiers so broad that a phase of the whole grid does more in its time
# than hops of blocks do, if most of its vertices lie in so few breadth-first levels. The second number is for even
# degrees and moderately different weights, on which the queues repeat little work, the third for almost equal weights,
# of which a phase settles a level, and for those that are more than moderately different, on which the queues repeat
# much.
BROAD_DEGREE, BROAD_EVEN_DEGREE, BROAD_OTHER_DEGREE, BROAD_LEVELS = 6, 9, 4.5, 100
# Even: the mean square of the degrees is at most so many times their mean's square. Moderate: the standard deviation
# is at most so many times the mean.
EVEN, MODERATE = 2, 1.5
# Almost equal weights: a path of so many arcs does not gain the lightest one over another path of as many.
EQUAL_ARCS = 64
# The part of the vertices that is meant by most, and levels beyond these from which they are a tail for the queues.
MOST, TAIL_LEVELS = 0.9, 30
# A graph of so many levels, and of at most so many vertices a level on average, takes a hop a level with hardly any
# work in it, whereas its contraction hierarchy has a few levels and is soon made.
NARROW_LEVELS, NARROW_WIDTH = 10_000, 8
# Values of the counter `engine`.
RESIDENT, BROAD, BOTH, HIERARCHY = 1, 2, 3, 4


def chosen(graph: Graph, sizes: np.ndarray) -> int:
    """Which engine answers fastest: RESIDENT, whose hops take less time, BROAD, whose phases do more, or BOTH in turn.

    sizes: of the breadth-first levels from a vertex of the largest degree.
    """
    degree = graph.m / graph.n
    other = graph.m and (almost_equal(graph.weights) or not _is_moderate(graph))
    least = BROAD_OTHER_DEGREE if other else BROAD_DEGREE
    if degree < least or (degree < BROAD_EVEN_DEGREE and _is_tame(graph)):
        return RESIDENT
    reached = np.cumsum(np.sort(sizes)[::-1])
    broad = int(np.searchsorted(reached, MOST * reached[-1])) + 1
    if broad > BROAD_LEVELS:
        return RESIDENT
    return BROAD if len(sizes) - broad <= TAIL_LEVELS else BOTH


def is_narrow(graph: Graph, levels: int) -> bool:
    """Whether a sweep over a hierarchy, which wants integers, answers faster than a search of so many levels."""
    return graph.weights.dtype.kind == "u" and levels >= NARROW_LEVELS and graph.n <= NARROW_WIDTH * levels


def almost_equal(weights: np.ndarray) -> bool:
    """Whether breadth-first levels settle almost all distances."""
    lightest, heaviest = float(weights.min()), float(weights.max())
    return (heaviest - lightest) * EQUAL_ARCS <= lightest


def has_even_degrees(graph: Graph) -> bool:
    """Whether most arcs are in rows of about the mean length."""
    return float(np.square(graph.degrees, dtype=np.float64).mean()) <= EVEN * (graph.m / graph.n) ** 2


def _is_tame(graph: Graph) -> bool:
    """Whether degrees are even, and weights different but moderately so."""
    return has_even_degrees(graph) and not almost_equal(graph.weights) and _is_moderate(graph)


def _is_moderate(graph: Graph) -> bool:
    """Whether weights are no more than moderately different."""
    return float(graph.weights.std(dtype=np.float64)) <= MODERATE * graph.mean_weight


def level_sizes(graph: Graph) -> np.ndarray:
    """int64 [levels]: vertices of every breadth-first level from a vertex of the largest degree."""
    return _level_sizes(graph.offsets, graph.targets, int(graph.degrees.argmax()))


@njit
def _level_sizes(offsets, targets, start):
    order = np.empty(len(offsets) - 1, np.int32)
    seen = np.zeros(len(order), np.bool_)
    sizes = np.empty(len(order), np.int64)
    seen[start], order[0] = True, start
    found, done, count = 1, 0, 0
    while done < found:
        level_end = found
        sizes[count] = level_end - done
        count += 1
        while done < level_end:
            v = order[done]
            done += 1
            for i in range(offsets[v], offsets[v + 1]):
                if not seen[targets[i]]:
                    seen[targets[i]] = True
                    order[found] = targets[i]
                    found += 1
    return sizes[:count].copy()
