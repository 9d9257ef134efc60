import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse.csgraph import connected_components

from saitan.generators import GENERATORS
from saitan.generators.street_map import street_map

NEW_YORK = {"vertices": 264_346, "arcs": 730_100}
CHECKSUMS = [3216457164, 614057914]


@st.composite
def maps(draw):
    vertices = draw(st.integers(100, 3000))
    return {
        "vertices": vertices,
        "arcs": 2 * draw(st.integers(vertices - 1, int(1.7 * vertices))),
        "seed": draw(st.integers(0, 2**32 - 1)),
    }


@settings(max_examples=40, deadline=None)
@given(maps())
def test_a_map_is_simple_connected_and_symmetric(parameters):
    graph = street_map(**parameters)
    assert (graph.n, graph.m) == (parameters["vertices"], parameters["arcs"])
    assert connected_components(graph.to_scipy(), directed=False)[0] == 1
    assert not np.any(graph.sources == graph.targets)
    arcs = graph.sources.astype(np.int64) * graph.n + graph.targets
    turned = graph.targets.astype(np.int64) * graph.n + graph.sources
    there, back = np.argsort(arcs), np.argsort(turned)
    assert np.all(np.diff(arcs[there]) > 0)
    assert_array_equal(arcs[there], turned[back])
    assert_array_equal(graph.weights[there], graph.weights[back])


@settings(max_examples=20, deadline=None)
@given(maps())
def test_weights_are_lengths(parameters):
    graph = street_map(**parameters)
    apart = np.hypot(*(graph.coordinates[graph.sources] - graph.coordinates[graph.targets]).T)
    assert graph.weights.dtype == np.uint32 and graph.weights.min() >= 1
    np.testing.assert_allclose(graph.weights, np.maximum(apart, 1), atol=0.5001)


@settings(max_examples=10, deadline=None)
@given(maps())
def test_the_seed_decides(parameters):
    first, again = (street_map(**parameters) for _ in range(2))
    other = street_map(**{**parameters, "seed": parameters["seed"] + 1})
    assert_array_equal(first.targets, again.targets)
    assert_array_equal(first.weights, again.weights)
    assert_array_equal(first.coordinates, again.coordinates)
    assert not np.array_equal(first.weights, other.weights)


@pytest.mark.parametrize(
    ("vertices", "arcs", "message"),
    [
        (99, 300, "vertices must be 100 to"),
        (1000, 2401, "arcs must be even and at least 1998 for 1000 vertices, not 2401"),
        (1000, 1996, "arcs must be even and at least 1998 for"),
        (1000, 4000, "arcs must be even and 1998 to"),
    ],
)
def test_impossible_counts_are_refused_in_one_line(vertices, arcs, message):
    with pytest.raises(ValueError, match=message) as caught:
        GENERATORS["street_map"](vertices=vertices, arcs=arcs, seed=1)
    assert "\n" not in str(caught.value)


def test_streets_in_lattice_directions_do_not_cross(monkeypatch):
    monkeypatch.setattr("saitan.generators.street_map.SLANTS", 0)
    graph = street_map(400, 1000, seed=3)
    one_way = graph.sources < graph.targets
    a, b = graph.coordinates[graph.sources[one_way]], graph.coordinates[graph.targets[one_way]]

    def side(p, q, r):
        """Which side of the line through p and q the point r lies on."""
        return np.sign(
            (q[..., 0] - p[..., 0]) * (r[..., 1] - p[..., 1]) - (q[..., 1] - p[..., 1]) * (r[..., 0] - p[..., 0])
        )

    p, q, r, s = a[:, None], b[:, None], a[None], b[None]
    assert not np.any((side(p, q, r) * side(p, q, s) < 0) & (side(r, s, p) * side(r, s, q) < 0))


def test_a_map_of_new_yorks_size_is_like_new_york():
    graph = street_map(**NEW_YORK, seed=1)
    shares = np.bincount(graph.degrees, minlength=9)[1:9] / graph.n
    np.testing.assert_allclose(shares[:4], [0.156, 0.153, 0.471, 0.216], atol=0.03)
    assert 0 < shares[4:].sum() < 0.01 and shares[:4].sum() > 0.99
    assert abs(graph.weights.mean() / 1293 - 1) < 0.02
    assert abs(graph.weights.std() / 1130 - 1) < 0.2
    assert graph.weights.min() < 20 and graph.weights.max() > 10_000


def test_the_same_map_on_every_machine():
    graph = street_map(1000, 2400, seed=1)
    assert [zlib.crc32(graph.targets), zlib.crc32(graph.weights)] == CHECKSUMS
