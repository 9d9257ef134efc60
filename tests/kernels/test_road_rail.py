import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse.csgraph import connected_components

from saitan.generators import GENERATORS
from saitan.generators.road_rail import road_rail

PAPER = {"vertices": 1_427_876, "arcs": 4_584_822}


@st.composite
def maps(draw):
    vertices = draw(st.integers(100, 3000))
    return {
        "vertices": vertices,
        "arcs": 2 * draw(st.integers(int(1.2 * vertices), int(1.7 * vertices))),
        "seed": draw(st.integers(0, 2**32 - 1)),
    }


def edges(graph):
    """{(x, y, x, y): weight} of every arc: independent of the vertex numbers."""
    ends = np.hstack([graph.coordinates[graph.sources], graph.coordinates[graph.targets]]).astype(int)
    return dict(zip(map(tuple, ends.tolist()), graph.weights.tolist(), strict=True))


@settings(max_examples=40, deadline=None)
@given(maps())
def test_a_map_is_simple_connected_and_symmetric(parameters):
    graph = road_rail(**parameters)
    assert (graph.n, graph.m) == (parameters["vertices"], parameters["arcs"])
    assert connected_components(graph.to_scipy(), directed=False)[0] == 1
    weights = edges(graph)
    assert len(weights) == graph.m
    assert all(weights[c, d, a, b] == weight for (a, b, c, d), weight in weights.items())
    assert not np.any(graph.sources == graph.targets)
    assert graph.weights.dtype == np.uint32
    assert abs(graph.weights.mean() / 83_666 - 1) < 0.02
    assert abs(graph.weights.std() / 184_384 - 1) < 0.02
    again = road_rail(**parameters)
    assert_array_equal(graph.targets, again.targets)
    assert_array_equal(graph.weights, again.weights)
    other = road_rail(**{**parameters, "seed": parameters["seed"] + 1})
    assert not np.array_equal(graph.weights, other.weights)


@settings(max_examples=40, deadline=None)
@given(maps())
def test_main_roads_and_rails_are_a_connected_part_of_the_map(parameters):
    whole, main = road_rail(**parameters), road_rail(**parameters, main_only=True)
    assert 0 < main.n < whole.n / 2
    assert connected_components(main.to_scipy(), directed=False)[0] == 1
    assert edges(main).items() <= edges(whole).items()


@pytest.mark.parametrize(
    ("vertices", "arcs", "message"),
    [
        (99, 300, "vertices must be 100 to"),
        (1000, 3201, "arcs must be even and at least 1998"),
        (1000, 1998, "arcs must be even and 2[0-9]{3} to"),
        (1000, 4100, "arcs must be even and"),
    ],
)
def test_impossible_counts_are_refused_in_one_line(vertices, arcs, message):
    with pytest.raises(ValueError, match=message) as caught:
        GENERATORS["road_rail"](vertices=vertices, arcs=arcs, seed=1)
    assert "\n" not in str(caught.value)


@numba.njit(cache=True)
def updated_per_phase(offsets, targets, weights, source):
    """Level-synchronous Bellman-Ford as in paper S, Algorithms 1 to 3: updated vertices of every phase."""
    cost = np.full(len(offsets) - 1, np.uint32(2**32 - 1))
    cost[source] = 0
    updated = cost.copy()
    frontier, touched = np.empty(len(cost), np.int32), np.empty(len(cost), np.int32)
    frontier[0], size, counts = source, 1, [0]
    while size > 0:
        count = 0
        for v in frontier[:size]:
            for arc in range(offsets[v], offsets[v + 1]):
                w, through = targets[arc], np.uint32(cost[v] + weights[arc])
                if through < updated[w]:
                    if updated[w] == cost[w]:
                        touched[count] = w
                        count += 1
                    updated[w] = through
        for w in touched[:count]:
            cost[w] = updated[w]
        counts.append(count)
        frontier, touched, size = touched, frontier, count
    return np.array(counts[1:])


def test_the_full_map_behaves_as_table_1_and_figures_4_and_5():
    graph = road_rail(**PAPER, seed=1)
    assert (graph.n, graph.m) == (PAPER["vertices"], PAPER["arcs"])
    assert abs(graph.weights.mean() / 83_666 - 1) < 0.02
    assert abs(graph.weights.std() / 184_384 - 1) < 0.02
    assert 5 <= graph.weights.min() <= 20
    assert 900_000 <= graph.weights.max() <= 1_000_000
    counts = updated_per_phase(graph.offsets, graph.targets, graph.weights, graph.n // 4)
    assert 207 <= len(counts) <= 253
    assert 450_000 <= counts.max() <= 650_000
    assert 0.54 <= np.mean(counts <= 10_000) <= 0.64
    assert np.mean(counts[len(counts) // 2 :] <= 10_000) > 0.9


def test_the_full_sister_map_has_0_31_million_vertices():
    graph = road_rail(**PAPER, seed=1, main_only=True)
    assert round(graph.n / 1e6, 2) == 0.31
    assert connected_components(graph.to_scipy(), directed=False)[0] == 1
