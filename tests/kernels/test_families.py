"""The defining property of every family, in all sizes that are small, and of every kind of weights."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import pdist, squareform

from saitan.generators import GENERATORS, ranges

SMALL = {
    "torus": {"width": 5, "height": 4},
    "path": {"vertices": 30},
    "star": {"vertices": 30},
    "tree": {"vertices": 30},
    "comb": {"teeth": 5, "length": 3},
    "ladder": {"rungs": 9},
    "grid3d": {"width": 4, "height": 3, "depth": 2},
    "regular": {"vertices": 30, "degree": 4},
    "preferential": {"vertices": 30, "edges": 2},
    "small_world": {"vertices": 30, "degree": 4, "rewired": 0.2},
    "web": {"vertices": 100, "host": 10, "tail": 3},
    "geometric": {"vertices": 60, "degree": 8.0},
    "bipartite": {"left": 10, "right": 20, "edges": 60},
    "islands": {"vertices": 30, "size": 7},
    "hub": {"vertices": 30, "arcs": 61},
}
# The defining property of these is that all but the draws of weights is fixed.
FIXED = ("torus", "path", "star", "tree", "comb", "ladder", "grid3d")
SEEDS = st.integers(0, 2**32 - 1)


def made(name, weights="uniform", seed=1, **parameters):
    return GENERATORS[name](weights=weights, seed=seed, **(parameters or SMALL[name]))


def edges(graph):
    """The unordered pairs of neighbours, each as often as it is there; checks that arcs come in pairs of one weight."""
    assert graph.is_symmetric() and not graph.directed
    one_way = graph.sources <= graph.targets
    return sorted(zip(graph.sources[one_way].tolist(), graph.targets[one_way].tolist(), strict=True))


@pytest.mark.parametrize("name", SMALL)
def test_the_seed_decides(name):
    first, again, other = made(name), made(name), made(name, seed=2)
    for array in ("offsets", "targets", "weights"):
        assert_array_equal(getattr(first, array), getattr(again, array))
    assert np.array_equal(first.targets, other.targets) == (name in FIXED)
    assert not np.array_equal(first.weights, other.weights)
    assert first.directed == (name in ("web", "hub"))
    assert first.metadata["parameters"] == {**SMALL[name], "weights": "uniform"}


@given(st.integers(3, 8), st.integers(3, 8))
def test_torus(width, height):
    graph = made("torus", width=width, height=height)
    y, x = np.divmod(np.arange(width * height), width)
    apart = [np.minimum(d := abs(c[:, None] - c), size - d) for c, size in ((x, width), (y, height))]
    assert edges(graph) == [(u, v) for u, v in itertools.combinations(range(graph.n), 2) if sum(apart)[u, v] == 1]
    assert (graph.degrees == 4).all()


@given(st.integers(1, 40))
def test_path_star_and_tree(vertices):
    assert edges(made("path", vertices=vertices)) == [(v, v + 1) for v in range(vertices - 1)]
    assert edges(made("star", vertices=vertices)) == [(0, v) for v in range(1, vertices)]
    tree = [(v, w) for v in range(vertices) for w in (2 * v + 1, 2 * v + 2) if w < vertices]
    assert edges(made("tree", vertices=vertices)) == sorted(tree)


@given(st.integers(1, 6), st.integers(0, 5))
def test_comb_and_ladder(teeth, length):
    comb = [(v, v + 1) for v in range(teeth - 1)] + [(v, v + teeth) for v in range(teeth * length)]
    assert edges(made("comb", teeth=teeth, length=length)) == sorted(comb)
    sides = [(v, v + 1) for v in range(2 * teeth - 1) if v != teeth - 1]
    assert edges(made("ladder", rungs=teeth)) == sorted(sides + [(v, v + teeth) for v in range(teeth)])


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
def test_grid3d(width, height, depth):
    graph = made("grid3d", width=width, height=height, depth=depth)
    z, y, x = np.unravel_index(np.arange(graph.n), (depth, height, width))
    apart = squareform(pdist(np.column_stack([x, y, z]), "cityblock")) if graph.n > 1 else np.zeros((1, 1))
    assert edges(graph) == [(u, v) for u, v in itertools.combinations(range(graph.n), 2) if apart[u, v] == 1]


@given(st.integers(3, 60), st.integers(1, 4), SEEDS)
def test_regular(vertices, half, seed):
    degree = min(2 * half, (vertices - 1) // 2 * 2)
    graph = made("regular", vertices=vertices, degree=degree, seed=seed)
    edges(graph)
    assert (graph.degrees == degree).all()
    assert (graph.sources != graph.targets).all()
    assert (graph.components("weak") == 0).all()


@given(st.integers(1, 60), st.integers(1, 4), SEEDS)
def test_preferential_attachment(vertices, count, seed):
    graph = made("preferential", vertices=vertices, edges=count, seed=seed)
    pairs = edges(graph)
    assert len(pairs) == vertices * count
    # Every vertex brings its edges to itself or to earlier ones.
    assert_array_equal(np.bincount([v for _, v in pairs], minlength=vertices), np.full(vertices, count))


def test_preferential_attachment_makes_hubs():
    graph = made("preferential", vertices=20_000, edges=4)
    # Degrees have the density 2 d (d + 1) / (k (k + 1) (k + 2)) of Barabási and Albert's model, d = 4 edges a vertex.
    shares = np.bincount(graph.degrees + np.bincount(graph.sources[graph.sources == graph.targets], minlength=graph.n))
    shares = shares / graph.n
    k = np.arange(5, 12)
    np.testing.assert_allclose(shares[k], 2 * 4 * 5 / (k * (k + 1) * (k + 2)), rtol=0.15)
    assert graph.degrees.max() > 40 * graph.degrees.mean()


@given(st.integers(5, 60), st.integers(1, 2), st.sampled_from([0.0, 0.3, 1.0]), SEEDS)
def test_small_world(vertices, half, rewired, seed):
    graph = made("small_world", vertices=vertices, degree=2 * half, rewired=rewired, seed=seed)
    pairs = edges(graph)
    assert len(pairs) == vertices * half
    assert all(u != v for u, v in pairs)
    ring = sorted(tuple(sorted((v, (v + step) % vertices))) for v in range(vertices) for step in range(1, half + 1))
    if rewired == 0:
        assert pairs == ring


def test_small_worlds_are_rewired_as_often_as_asked():
    graph = made("small_world", vertices=20_000, degree=6, rewired=0.25)
    apart = (graph.targets - graph.sources) % graph.n
    far = np.minimum(apart, graph.n - apart) > 3
    np.testing.assert_allclose(far.mean(), 0.25, atol=0.01)


@given(st.integers(2, 120), st.integers(1, 15), st.integers(1, 9), SEEDS)
def test_web(vertices, host, tail, seed):
    pages = vertices - vertices // 10
    host, tail = min(host, vertices), min(tail, vertices)
    graph = made("web", vertices=vertices, host=host, tail=tail, seed=seed)
    arcs = set(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
    for page in range(pages):
        first = page - page % host
        assert page == first or {(page, first), (first, page)} <= arcs
        inside = [v for u, v in zip(graph.sources, graph.targets, strict=True) if u == page and v < pages]
        assert sum(first <= v < first + host for v in inside) >= 4
        assert page % host == 0 or all(first <= v < first + host for v in inside)
    # All pages reach each other; a chain's page is reached by one arc and leads to the next of its chain alone.
    assert len(set(graph.components("strong")[:pages].tolist())) == 1
    for page in range(pages, vertices):
        (before,) = graph.sources[graph.targets == page]
        assert (before < pages) if (page - pages) % tail == 0 else (before == page - 1)
        assert set(graph.targets[graph.sources == page].tolist()) <= {page + 1}


@given(st.integers(1, 60), st.floats(0, 10), SEEDS)
def test_geometric(vertices, degree, seed):
    degree = min(degree, float(vertices))
    graph = made("geometric", vertices=vertices, degree=degree, seed=seed)
    assert ((graph.coordinates >= 0) & (graph.coordinates < 1)).all()
    apart = squareform(pdist(graph.coordinates)) if vertices > 1 else np.zeros((1, 1))
    reach = np.sqrt(degree / (np.pi * vertices))
    expected = [(u, v) for u, v in itertools.combinations(range(vertices), 2) if apart[u, v] <= reach]
    assert edges(graph) == expected


def test_geometric_graphs_have_the_degree_asked_for():
    graph = made("geometric", vertices=20_000, degree=10.0)
    inside = (abs(graph.coordinates - 0.5) < 0.45).all(axis=1)
    np.testing.assert_allclose(graph.degrees[inside].mean(), 10, rtol=0.03)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 90), SEEDS)
def test_bipartite(left, right, count, seed):
    graph = made("bipartite", left=left, right=right, edges=count, seed=seed)
    assert (graph.n, len(edges(graph))) == (left + right, count)
    assert all(u < left <= v for u, v in edges(graph))


@given(st.integers(1, 60), st.integers(1, 20), SEEDS)
def test_islands(vertices, size, seed):
    size = min(size, vertices)
    graph = made("islands", vertices=vertices, size=size, seed=seed)
    assert_array_equal(graph.components("weak"), np.arange(vertices) // size)
    assert len(edges(graph)) == vertices - -(-vertices // size)


@given(st.integers(1, 30), st.integers(0, 99), SEEDS)
def test_hub(vertices, arcs, seed):
    graph = made("hub", vertices=vertices, arcs=arcs, seed=seed)
    assert graph.m == arcs
    assert graph.degrees[0] >= arcs // 2


def test_half_of_the_arcs_leave_the_hub_and_the_rest_any_vertex():
    graph = made("hub", vertices=100, arcs=100_001)
    np.testing.assert_allclose(graph.degrees[0], 50_000 + 500, rtol=0.005)
    np.testing.assert_allclose(graph.degrees[1:], 500, rtol=0.2)
    np.testing.assert_allclose(np.bincount(graph.targets), 1000, rtol=0.15)


def test_paths_are_as_long_as_they_say():
    lengths = {"path": 29, "star": 2, "torus": 2 + 2, "grid3d": 3 + 2 + 1}
    for name, longest in lengths.items():
        hops = shortest_path(made(name).without_weights().to_scipy(), unweighted=True)
        assert hops.max() == longest, name


@pytest.mark.parametrize("kind", ranges.KINDS)
def test_kinds_of_weights(kind):
    weights = made("path", kind, vertices=200_001).weights[::2].astype(np.float64)
    dtype = made("path", kind).weights.dtype
    assert dtype == (np.float32 if kind == "float" else np.uint32)
    if kind == "unit":
        assert (weights == 1).all()
    elif kind == "uniform":
        assert (weights.min(), weights.max()) == (1, 1000)
        np.testing.assert_allclose(weights.mean(), 500.5, rtol=0.01)
    elif kind == "zero-one":
        assert set(weights.tolist()) == {0, 1}
        np.testing.assert_allclose(weights.mean(), 0.5, atol=0.01)
    elif kind == "log-normal":
        assert (weights.min(), weights.max()) == (1, 10**9)
        logarithm = np.log10(weights)
        np.testing.assert_allclose([logarithm.mean(), logarithm.std()], [4.5, 1.5], rtol=0.01)
    elif kind == "nearly-equal":
        assert (weights.min(), weights.max()) == (1_000_000, 1_000_009)
    else:
        assert 0 <= weights.min() < 0.001 < 0.999 < weights.max() < 1


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        (
            "path",
            {"weights": "heavy"},
            "generator path: weights must be one of unit, uniform, zero-one, log-normal, near",
        ),
        ("path", {"weights": 3}, "generator path: weights must be a text, not 3"),
        ("path", {"vertices": 0}, "generator path: vertices must be 1 to"),
        ("torus", {"width": 2}, "generator torus: width must be 3 to"),
        ("regular", {"degree": 3}, "generator regular: degree must be even, not 3"),
        ("regular", {"degree": 30}, "generator regular: degree must be 2 to 29, not 30"),
        ("small_world", {"degree": 5}, "generator small_world: degree must be even, not 5"),
        ("small_world", {"rewired": 1.01}, "generator small_world: rewired must be 0 to 1, not 1.01"),
        ("geometric", {"degree": -1.0}, "generator geometric: degree must be 0 to 60, not -1.0"),
        ("islands", {"size": 31}, "generator islands: size must be 1 to 30, not 31"),
        ("grid3d", {"depth": 2**30}, "generator grid3d: depth must be 1 to 178956970, not"),
        ("bipartite", {"right": 2**31}, "generator bipartite: right must be 1 to 2147483637, not"),
    ],
)
def test_parameters_that_make_no_such_graph_are_named(name, changes, message):
    with pytest.raises(ValueError) as error:
        GENERATORS[name](**{**SMALL[name], "weights": "unit", "seed": 1, **changes})
    assert str(error.value).startswith(message)
