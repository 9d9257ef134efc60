"""The graph as `fast` takes it on the GPU: every arc that matters, the lightest of parallel ones, rows by weight."""

import numpy as np
import pytest

from saitan.graph import Graph
from saitan.sssp.choice import (
    BOTH,
    BROAD,
    NARROW_LEVELS,
    NARROW_WIDTH,
    RESIDENT,
    almost_equal,
    chosen,
    is_narrow,
    level_sizes,
)
from saitan.sssp.simplify import INSERTED, simplified


@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
@pytest.mark.parametrize("degree", [0, 1, 3, 3 * INSERTED])
def test_lightest_of_parallel_arcs_by_weight(dtype, degree):
    random = np.random.default_rng(7)
    for n in (1, 2, 7, 300):
        arcs = n * degree
        weights = random.integers(0, random.choice([1, 3, 1000, 2**32]), arcs, np.uint64).astype(dtype)
        graph = Graph.from_arcs(n, *random.integers(0, n, (2, arcs)), weights, metadata={"name": "drawn"})
        simple = simplified(graph)
        least = {}
        for ends, weight in zip(zip(graph.sources, graph.targets, strict=True), graph.weights.tolist(), strict=True):
            if ends[0] != ends[1]:
                least[ends] = min(least.get(ends, weight), weight)
        ends = zip(simple.sources, simple.targets, strict=True)
        assert dict(zip(ends, simple.weights.tolist(), strict=True)) == least and simple.m == len(least)
        rows = np.diff(simple.sources.astype(np.int64)) == 0
        assert (simple.weights[1:] >= simple.weights[:-1])[rows].all()
        assert simple.name == "drawn" and simple.weights.dtype == dtype


def test_levels_of_a_path_and_a_star():
    ends = np.arange(9)
    assert level_sizes(Graph.from_arcs(10, ends, ends + 1, np.ones(9, np.uint32))).tolist() == 10 * [1]
    assert level_sizes(Graph.from_arcs(10, np.zeros(9, int), ends + 1, np.ones(9, np.uint32))).tolist() == [1, 9]
    assert level_sizes(Graph.from_arcs(3, [], [], np.ones(0, np.uint32))).tolist() == [1]


def levels_of(*parts):
    """Level sizes from pairs (number of levels, vertices of each)."""
    return np.concatenate([np.full(count, size) for count, size in parts])


UNIT, UNIFORM, SKEWED = np.ones(40, np.uint32), np.arange(1, 41, dtype=np.uint32), np.uint32(2) ** np.arange(30)


@pytest.mark.parametrize(
    "degree, weights, sizes, engine",
    [
        (2, UNIT, levels_of((20, 1000)), RESIDENT),
        (4, UNIT, levels_of((20, 1000)), RESIDENT),
        (5, UNIT, levels_of((20, 1000)), BROAD),
        (5, UNIFORM, levels_of((20, 1000)), RESIDENT),
        (8, UNIFORM, levels_of((20, 1000)), RESIDENT),
        (8, UNIT, levels_of((20, 1000)), BROAD),
        (8, UNIT + 10**6, levels_of((20, 1000)), BROAD),
        (4, SKEWED, levels_of((20, 1000)), RESIDENT),
        (5, SKEWED, levels_of((20, 1000)), BROAD),
        (8, SKEWED, levels_of((20, 1000)), BROAD),
        (16, UNIFORM, levels_of((20, 1000)), BROAD),
        (16, UNIFORM, levels_of((110, 100)), BROAD),
        (16, UNIFORM, levels_of((120, 100)), RESIDENT),
        (16, UNIFORM, levels_of((20, 5000), (20, 1)), BROAD),
        (16, UNIFORM, levels_of((10, 5000), (500, 1)), BOTH),
    ],
)
def test_the_engine_follows_degree_weights_and_levels(degree, weights, sizes, engine):
    n = 120
    arcs = np.arange(n * degree)
    assert chosen(Graph.from_arcs(n, arcs // degree, arcs % n, np.resize(weights, len(arcs))), sizes) == engine


def test_uneven_degrees_take_the_whole_grid_from_fewer_arcs_on():
    n = 100
    tails = np.r_[np.repeat(np.arange(n), 6), np.zeros(n, int)]  # the mean square is three times the mean's square
    weights = np.resize(UNIFORM, len(tails))
    assert chosen(Graph.from_arcs(n, tails, np.arange(len(tails)) % n, weights), levels_of((5, 20))) == BROAD
    even = Graph.from_arcs(n, np.arange(7 * n) // 7, np.arange(7 * n) % n, weights)
    assert chosen(even, levels_of((5, 20))) == RESIDENT


def test_weights_that_differ_little_are_almost_equal():
    assert almost_equal(np.full(3, 7, np.uint32)) and almost_equal(np.array([6400, 6500], np.uint32))
    assert almost_equal(np.zeros(3, np.float32)) and almost_equal(np.array([2**32 - 9, 2**32 - 2], np.uint32))
    assert not almost_equal(np.array([6300, 6400], np.uint32)) and not almost_equal(np.array([0, 1], np.float32))


def test_a_long_graph_is_narrow_up_to_a_width():
    most = NARROW_LEVELS * NARROW_WIDTH
    for n, levels, dtype, narrow in (
        (most, NARROW_LEVELS, np.uint32, True),
        (most, NARROW_LEVELS, np.float32, False),
        (most - NARROW_WIDTH, NARROW_LEVELS - 1, np.uint32, False),
        (most + 1, NARROW_LEVELS, np.uint32, False),
    ):
        assert is_narrow(Graph.from_arcs(n, [0], [1], np.ones(1, dtype)), levels) == narrow
