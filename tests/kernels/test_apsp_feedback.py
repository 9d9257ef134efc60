"""Which sources are searched and how the other rows follow from theirs: as combine.cu does it, here with NumPy."""

import numpy as np
import pytest
from test_apsp import by_scipy, random_graph

from saitan.apsp import feedback
from saitan.generators import GENERATORS
from saitan.graph import Graph


def loops(n, m):
    """A graph with loops and parallel arcs."""
    rng = np.random.default_rng(n)
    tails, heads = rng.integers(0, n, (2, m))
    heads[: m // 5] = tails[: m // 5]
    return Graph.from_arcs(n, np.r_[tails, tails], np.r_[heads, heads], rng.integers(0, 9, 2 * m).astype(np.uint32))


def path(n):
    steps = np.arange(n - 1)
    return Graph.from_arcs(n, steps, steps + 1, np.ones(n - 1, np.uint32))


GRAPHS = {
    "random": lambda: random_graph(300, 1200, 0, 100, np.uint32, 1),
    "sparse": lambda: random_graph(300, 250, 1, 100, np.uint32, 2),
    "loops": lambda: loops(150, 300),
    "ring": lambda: GENERATORS["ring"](vertices=200, weight_low=1, weight_high=5, seed=1),
    "path": lambda: path(200),
    "no arcs": lambda: Graph.from_arcs(7, [], [], np.zeros(0, np.uint32)),
    "alone": lambda: Graph.from_arcs(1, [0, 0], [0, 0], np.array([4, 0], np.uint32)),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize(("warps", "levels"), [(1, 300), (16, 12)])
def test_all_rows_follow_from_those_that_are_searched(name, warps, levels):
    graph = GRAPHS[name]()
    plan, expected = feedback.plan_of(graph, levels), by_scipy(graph, 0, graph.n)
    matrix = np.full((graph.n, graph.n), np.nan)
    matrix[plan.searched] = expected[plan.searched]
    steps = plan.steps(warps)
    assert (steps[-2:]["row"] == -1).all() and (steps["last"] == steps["last"][:, :1]).all()
    assert steps["last"][:, 0].sum() == len(plan.levels) - 1 <= levels
    written = []
    for step in steps:
        for row, begin, count, _ in step[step["row"] >= 0]:
            arcs = plan.arcs[begin : begin + count].astype(np.int64)
            matrix_row = np.full(graph.n, np.inf)
            for head, weight in arcs:
                matrix_row = np.minimum(matrix_row, matrix[head] + weight)
            matrix_row[row] = 0
            written.append((row, matrix_row))
        # Rows of one level are written side by side.
        if step["last"].all():
            for row, values in written:
                assert np.isnan(matrix[row]).all()
                matrix[row] = values
            written = []
    assert not written and np.array_equal(matrix, expected)


def test_few_sources_are_searched():
    counts = {name: len(feedback.plan_of(make(), 64).searched) for name, make in GRAPHS.items()}
    assert counts["no arcs"] == counts["alone"] == 0
    # One where 64 levels end, three times; a ring's cycle is one more.
    assert counts["path"] == 3 and counts["ring"] in (3, 4)
    assert counts["random"] < 0.36 * 300


@pytest.mark.parametrize("turned", [False, True], ids=["from", "to"])
def test_a_vertex_is_not_searched_whose_cycles_are_all_met(turned):
    # Hubs with five cycles of two each lead to 18, which leads to five cycles of two more. 18 is in no cycle, but has
    # more ways through it than these.
    hubs = np.repeat([0, 6, 12], 5)
    leaves, near, far = hubs + np.tile(np.arange(1, 6), 3), np.arange(19, 24), np.arange(24, 29)
    tails = np.concatenate([hubs, leaves, [0, 6, 12], np.full(5, 18), near, far])
    heads = np.concatenate([leaves, hubs, [18, 18, 18], near, far, near])
    graph = Graph.from_arcs(29, tails, heads, np.ones(len(tails), np.uint32))
    searched = feedback.plan_of(graph.transposed() if turned else graph, 20).searched.tolist()
    assert len(searched) == 8 and searched[:3] == [0, 6, 12] and 18 not in searched


def test_levels_end():
    plan = feedback.plan_of(path(200), 3)
    # 199 has no arc: it comes at level 1, as do those that lead to one that is searched.
    assert plan.searched.tolist() == list(range(0, 197, 4))
    assert len(plan.levels) == 4


def test_no_plan_where_few_rows_would_follow_or_floats_would_round_otherwise():
    assert feedback.plan_of(random_graph(100, 3300, 1, 9, np.uint32, 1), 9) is None
    assert feedback.plan_of(random_graph(100, 400, 1, 9, np.float32, 1), 9) is None
    everywhere = np.argwhere(~np.eye(30, dtype=bool)).T
    assert feedback.plan_of(Graph.from_arcs(30, *everywhere, np.ones(870, np.uint32)), 9) is None
