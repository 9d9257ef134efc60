"""Which graphs phast gives up on early: traces of whole contractions, and the part that a large graph is tried on."""

import numpy as np
import pytest

from saitan.generators import GENERATORS
from saitan.problem import Unavailable
from saitan.sssp import hierarchy
from saitan.sssp.growth import Growth, around

# Vertices left and their neighbours on average before each round, as measured on whole graphs.
ROADS = [(264346, 2.8), (152381, 3.5), (95591, 4.3), (64125, 5.1), (45224, 5.9), (32983, 6.7), (24796, 7.4)]
ROADS += [(19054, 8.1), (14869, 8.9), (11784, 9.6), (9447, 10.3), (7680, 11.0), (6302, 11.7), (5212, 12.6)]
GRID = [(90000, 4.0), (63549, 4.6), (44138, 5.7), (32170, 6.4), (24250, 6.9), (18567, 7.4), (14444, 7.8), (7161, 9.0)]
POINTS = [(50000, 8.0), (40502, 7.1), (31942, 6.4), (24598, 5.9), (18549, 5.6), (13761, 5.5), (10163, 5.6), (5533, 6.1)]
ROAD_RAIL = [(200000, 3.2), (124108, 3.8), (79473, 4.5), (53986, 5.3), (38407, 6.3), (28319, 7.4), (21488, 9.0)]
ROAD_RAIL += [(16720, 11.2), (13332, 14.4), (10842, 19.2), (9077, 26.2)]
RANDOM = [(50000, 4.0), (34979, 7.4), (26382, 14.3)]


def seen(trace):
    """The vertices left when the growth is found hopeless, None where it never is."""
    growth = Growth()
    for left, degree in trace:
        if growth.expected(left, round(left * degree), left / hierarchy.CORE) > Growth.HOPELESS:
            return left
    return None


@pytest.mark.parametrize("trace", [ROADS, GRID, POINTS], ids=["roads", "grid", "points"])
def test_what_can_be_contracted_is_not_given_up(trace):
    assert seen(trace) is None


def test_what_cannot_is_given_up_before_the_end():
    assert seen(ROAD_RAIL) in [left for left, _ in ROAD_RAIL[:-1]]
    assert seen(RANDOM) == 34979


def test_random_graphs_are_given_up_in_one_line(monkeypatch):
    monkeypatch.setattr(hierarchy, "CORE", 100)
    graph = GENERATORS["regular"](vertices=3000, degree=4, weights="uniform", seed=1)
    with pytest.raises(Unavailable, match=r"some [\d,]+ neighbours each are to be expected when 100 vertices are left"):
        hierarchy.contract(graph, 100)


def test_a_large_graph_is_tried_on_a_part(monkeypatch):
    monkeypatch.setattr(hierarchy, "LARGE", 4000)
    monkeypatch.setattr(hierarchy, "TRIED", 1000)
    tried = []
    expected = Growth.expected
    monkeypatch.setattr(Growth, "expected", lambda self, *about: tried.append(about) or expected(self, *about))
    graph = GENERATORS["grid"](width=70, height=70, weight_low=1, weight_high=1000, seed=1)
    hierarchy.contract(graph, 1000)
    assert tried[0][0] == 1000 and any(left == graph.n for left, *_ in tried)
    monkeypatch.setattr(Growth, "expected", lambda *_: 1000.0)
    with pytest.raises(Unavailable, match="of 1,000 vertices near each other") as error:
        hierarchy.contract(graph, 1000)
    assert "\n" not in str(error.value)


def test_the_part_around_a_vertex():
    graph = GENERATORS["path"](vertices=30, weights="uniform", seed=1)
    part = around(graph, 10, 7)
    assert part.n == 7 and part.m == 12 and np.sort(part.degrees).tolist() == [1, 1, 2, 2, 2, 2, 2]
    inside = (abs(graph.sources - 10) <= 3) & (abs(graph.targets - 10) <= 3)
    assert sorted(part.weights.tolist()) == sorted(graph.weights[inside].tolist())
    assert around(graph, 10, 100).n == 30
