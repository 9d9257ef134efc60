"""The queues of fast.cu on a graph of real weights without its chains, to the bit; needs a CUDA device."""

from functools import partial

import numpy as np
import pytest
from test_sssp_chains import edges, long_drawn
from test_sssp_chains_gpu import always  # noqa: F401 (a fixture)
from test_sssp_chains_gpu import check as check_chains
from test_sssp_walks import real

from saitan.graph import Graph

pytestmark = pytest.mark.gpu


check = partial(check_chains, engine="Walked")


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("n", [1, 2, 5, 9, 30, 120, 3000])
def test_distances_are_certified(n):
    random = np.random.default_rng(n)
    for _ in range(12):
        check(real(long_drawn(random, n), random), random.integers(0, n, 4))


@pytest.mark.parametrize("closed", [False, True], ids=["path", "ring"])
def test_a_path_and_a_ring_take_no_hop(closed):
    n = 100_000
    ends = np.arange(n - 1 + closed)
    graph = real(edges(n, ends, (ends + 1) % n, np.ones(len(ends))), np.random.default_rng(3))
    for counters in check(graph, [0, 33_333, n - 1]):
        assert counters["phases"] == 0 and counters["searched"] == 1 and counters["distance_bits"] == 32


def test_long_chains_between_few_vertices():
    # A cubic graph whose edges are paths of 500 arcs; some of one way.
    random, k, length = np.random.default_rng(5), 60, 500
    tails, heads = [], []
    for i, (a, b) in enumerate(random.permutation(np.repeat(np.arange(k), 3)).reshape(-1, 2)):
        along = np.r_[a, k + i * (length - 1) + np.arange(length - 1), b]
        tails.append(along[:-1]), heads.append(along[1:])
    n, tails, heads = k + 3 * k // 2 * (length - 1), np.concatenate(tails), np.concatenate(heads)
    back = random.random(len(tails)) < 0.9995
    arcs = np.r_[tails, heads[back]], np.r_[heads, tails[back]]
    weights = np.exp(random.normal(0, 3, len(arcs[0]))).astype(np.float32)
    for counters in check(Graph.from_arcs(n, *arcs, weights), [0, k, n // 2, n - 1, 7]):
        assert counters["searched"] < 200


def test_two_complete_graphs_joined_by_a_path():
    k, length = 40, 20_000
    tails, heads = np.triu_indices(k, 1)
    path = np.r_[0, 2 * k : 2 * k + length, k]
    tails, heads = np.r_[tails, k + tails, path[:-1]], np.r_[heads, k + heads, path[1:]]
    graph = real(edges(2 * k + length, tails, heads, np.ones(len(tails))), np.random.default_rng(4))
    for counters in check(graph, [0, 3, k, 2 * k, 2 * k + 7_000, 2 * k + length - 1]):
        assert counters["searched"] == 2 * k


@pytest.mark.usefixtures("always")
def test_a_long_path_widens():
    n = 400
    graph = edges(n, np.arange(n - 1), np.arange(1, n), np.ones(n - 1))
    graph = Graph(graph.offsets, graph.targets, np.full(graph.m, 1e37, np.float32))
    assert [counters["distance_bits"] for counters in check(graph, [n // 2, 0, 3])] == [64, 64, 64]
    # The sum overflows within a link: two vertices with three chains between them.
    tails = np.r_[0, 2:41, 0, 41:80, 0, 80:119]
    heads = np.r_[2:41, 1, 41:80, 1, 80:119, 1]
    graph = edges(119, tails, heads, np.ones(len(tails)))
    weights = np.full(graph.m, 1e37, np.float32)
    assert [c["distance_bits"] for c in check(Graph(graph.offsets, graph.targets, weights), [0, 1, 60])] == [64] * 3


@pytest.mark.usefixtures("always")
def test_a_source_that_does_not_reach_the_core_leaves_no_old_message():
    # Vertex 3 is reached from nowhere but itself, then the others are asked for again.
    graph = Graph.from_arcs(5, [0, 1, 2, 0, 2], [1, 2, 0, 3, 4], np.array([3, 4, 5, 6, 7], np.float32) / 8)
    check(graph, [0, 3, 0, 4, 3, 3, 1, 2])
