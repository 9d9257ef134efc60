"""Distances of floats where a sum on the way is too long for 32 bits, against Dijkstra's method in plain Python."""

import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saitan import sssp
from saitan.graph import Graph
from saitan.sssp.float_sums import added_again
from saitan.sssp.validate import check_distances, check_tree

# phast takes integers only.
VARIANTS = [name for name, v in sssp.VARIANTS.items() if v.cpu and not v.missing() and name != "phast"]
HUGE = np.float32(3.3e38)
# 0 is reached by 1 -> 3 -> 2 -> 0, at 3.1999998 where each sum is rounded and at 3.2 where the last one is; and by an
# arc of HUGE, behind which the next arc's sum does not fit 32 bits.
TOO_LONG_ON_THE_WAY = Graph.from_arcs(
    4, [0, 1, 1, 2, 3], [1, 0, 3, 0, 2], np.array([HUGE, HUGE, 0.1, 0.1, 3], np.float32)
)


def dijkstra(graph, source, dtype):
    distances = np.full(graph.n, np.inf, dtype)
    distances[source] = 0
    queue = [(0.0, source)]
    with np.errstate(over="ignore"):
        while queue:
            distance, v = heapq.heappop(queue)
            if distance > distances[v]:
                continue
            for i in range(graph.offsets[v], graph.offsets[v + 1]):
                t, candidate = graph.targets[i], dtype(distances[v] + dtype(graph.weights[i]))
                if candidate < distances[t]:
                    distances[t] = candidate
                    heapq.heappush(queue, (float(candidate), int(t)))
    return distances


@st.composite
def graphs(draw):
    """Small graphs of weights that are small, 0, swallowed by rounding, or near the largest float."""
    n, m = draw(st.integers(1, 10)), draw(st.integers(0, 40))
    ends = st.lists(st.integers(0, n - 1), min_size=m, max_size=m)
    weights = st.one_of(st.just(0.0), st.floats(0, 10, width=32), st.floats(2.0**126, float(HUGE), width=32))
    drawn = draw(st.lists(weights, min_size=m, max_size=m))
    return Graph.from_arcs(n, draw(ends), draw(ends), np.array(drawn, np.float32)), draw(st.integers(0, n - 1))


@given(case=graphs())
def test_added_again_they_are_the_shortest_sums_of_32_bits(case):
    graph, source = case
    wide, expected = dijkstra(graph, source, np.float64), dijkstra(graph, source, np.float32)
    got = added_again(graph, source, wide)
    if np.isinf(expected[np.isfinite(wide)]).any():
        expected = wide
    assert got.dtype == expected.dtype and got.tobytes() == expected.tobytes()


def test_vertices_of_equal_distance_come_in_any_order():
    n = 2000
    rng = np.random.default_rng(4)
    chain = rng.permutation(np.arange(n))
    weights = np.zeros(n - 1, np.float32)
    weights[:3] = 0.1, 0.2, 0.3
    graph = Graph.from_arcs(n, chain[:-1], chain[1:], weights)
    wide = dijkstra(graph, int(chain[0]), np.float64)
    got = added_again(graph, int(chain[0]), wide)
    assert got.tobytes() == dijkstra(graph, int(chain[0]), np.float32).tobytes()


@pytest.mark.parametrize("variant", VARIANTS)
@given(case=graphs())
def test_every_variant_returns_them_and_their_tree(variant, case):
    graph, source = case
    result = sssp.solve(graph, source, variant, "cpu", predecessors=True)
    narrow, wide = dijkstra(graph, source, np.float32), dijkstra(graph, source, np.float64)
    assert result.distances.dtype == (np.float64 if np.isinf(narrow[np.isfinite(wide)]).any() else np.float32)
    assert result.distances.tobytes() == (narrow if result.distances.dtype == np.float32 else wide).tobytes()
    check_distances(graph, source, result.distances)
    check_tree(graph, source, result.distances, result.predecessors)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_sum_too_long_on_the_way_leaves_the_distances_sums(variant):
    result = sssp.solve(TOO_LONG_ON_THE_WAY, 1, variant, "cpu", predecessors=True)
    assert result.distances.tolist() == [np.float32(3.1999998), 0, np.float32(3.1), np.float32(0.1)]
    assert result.predecessors.tolist() == [2, -1, 3, 1]


@pytest.mark.parametrize("variant", VARIANTS)
def test_sums_of_32_bits_may_be_too_long_where_the_path_is_not(variant):
    """Each of the last three weights is a little more than half of the largest float's last place."""
    weights = np.array([2.0**128 - 3 * 2.0**104] + [2.0**103 * 1.01] * 3, np.float32)
    graph = Graph.from_arcs(5, [0, 1, 2, 3], [1, 2, 3, 4], weights)
    result = sssp.solve(graph, 0, variant, "cpu", predecessors=True)
    assert result.distances.tobytes() == dijkstra(graph, 0, np.float64).tobytes()
    assert result.predecessors.tolist() == [-1, 0, 1, 2, 3]
