import inspect
import subprocess
import sys
import tracemalloc
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from saitan import memory
from saitan.errors import Unavailable
from saitan.generators import GENERATORS, draw

SMALL = {
    "random": {"vertices": 50, "arcs": 200, "weight_low": 1, "weight_high": 9},
    "rmat": {"vertices": 50, "arcs": 200, "a": 0.5, "b": 0.2, "c": 0.2, "weight_low": 1, "weight_high": 9},
    "kronecker": {"scale": 6, "weight_low": 1, "weight_high": 9},
    "ring": {"vertices": 9, "weight_low": 1, "weight_high": 9},
    "complete": {"vertices": 9, "weight_low": 1, "weight_high": 9},
    "grid": {"width": 7, "height": 5, "weight_low": 1, "weight_high": 9},
}
# Of every generator, large enough for arcs to count.
LARGER = {
    "random": {"vertices": 2000, "arcs": 40_000, "weight_low": 1, "weight_high": 9},
    "rmat": {"vertices": 2000, "arcs": 40_000, "a": 0.5, "b": 0.2, "c": 0.2},
    "kronecker": {"scale": 10},
    "ring": {"vertices": 20_000},
    "complete": {"vertices": 200},
    "grid": {"width": 100, "height": 100, "weight_low": 1, "weight_high": 9},
    "road_rail": {"vertices": 5000, "arcs": 16_000},
    "street_map": {"vertices": 5000, "arcs": 12_900},
    "torus": {"width": 100, "height": 100},
    "path": {"vertices": 10_000},
    "star": {"vertices": 10_000},
    "tree": {"vertices": 10_000},
    "comb": {"teeth": 100, "length": 100},
    "ladder": {"rungs": 5000},
    "grid3d": {"width": 20, "height": 20, "depth": 20},
    "regular": {"vertices": 5000, "degree": 6},
    "preferential": {"vertices": 5000, "edges": 3},
    "small_world": {"vertices": 5000, "degree": 6, "rewired": 0.1},
    "web": {"vertices": 5000, "host": 10, "tail": 5},
    "geometric": {"vertices": 5000, "degree": 6.0},
    "bipartite": {"left": 2000, "right": 2000, "edges": 20_000},
    "islands": {"vertices": 10_000, "size": 6},
    "hub": {"vertices": 2000, "arcs": 40_000},
}
SEEDS = st.integers(0, 2**32 - 1)
KRONECKER_TARGETS = [3, 3, 15, 15, 7, 15, 0, 4]
KRONECKER_WEIGHTS = [36, 22, 229, 211, 207, 239, 36, 68]


def is_symmetric(graph):
    arcs = np.rec.fromarrays([graph.sources, graph.targets, graph.weights])
    turned = np.rec.fromarrays([graph.targets, graph.sources, graph.weights])
    return np.array_equal(np.sort(arcs), np.sort(turned))


def test_numpy_s_numbers_are_as_good_as_python_s():
    given = {name: np.int64(value) for name, value in SMALL["ring"].items()}
    ring = GENERATORS["ring"]
    graph, same = ring(**given, seed=np.uint8(1)), ring(**SMALL["ring"], seed=1)
    assert_array_equal(graph.weights, same.weights)
    assert graph.metadata == same.metadata and type(graph.metadata["seed"]) is int
    with pytest.raises(ValueError, match=r"^generator ring: vertices must be a whole number, not 9\.0$"):
        ring(vertices=np.float64(9), seed=1)


@pytest.mark.parametrize("name", SMALL)
def test_the_seed_decides(name):
    first, again = (GENERATORS[name](**SMALL[name], seed=5) for _ in range(2))
    other = GENERATORS[name](**SMALL[name], seed=6)
    assert_array_equal(first.targets, again.targets)
    assert_array_equal(first.weights, again.weights)
    assert not (np.array_equal(first.weights, other.weights) and np.array_equal(first.targets, other.targets))
    assert first.weights.dtype == np.uint32
    assert 1 <= first.weights.min() <= first.weights.max() <= 9
    assert first.metadata["generator"] == first.name == name
    assert first.metadata["parameters"] == SMALL[name]
    assert first.metadata["seed"] == 5
    assert first.metadata["directed"] or is_symmetric(first)


@pytest.mark.parametrize("name", GENERATORS)
def test_the_table_states_the_signature(name):
    generator = GENERATORS[name]
    module, function = generator.path.split(":")
    __import__(module)
    parameters = inspect.signature(getattr(sys.modules[module], function)).parameters
    required = {key for key, value in parameters.items() if value.default is value.empty}
    assert required == {*generator.required, "seed"}
    assert parameters.keys() - required == generator.optional.keys()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"vertices": 5, "speed": 3, "seed": 1}, "generator ring: unknown parameter 'speed' .it takes: vertices, seed"),
        ({"seed": 1}, "generator ring: parameter 'vertices' is missing"),
        ({"vertices": 5}, "generator ring: parameter 'seed' is missing"),
        ({"vertices": 5.5, "seed": 1}, "generator ring: vertices must be a whole number, not 5.5"),
        ({"vertices": True, "seed": 1}, "generator ring: vertices must be a whole number, not True"),
        ({"vertices": 5, "seed": -1}, "generator ring: seed must be at least 0, not -1"),
        ({"vertices": 0, "seed": 1}, "generator ring: vertices must be 1 to 2147483647, not 0"),
        ({"vertices": 5, "seed": 1, "weight_low": 3}, "generator ring: weight_high must be 3 to 4294967295, not 1"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        GENERATORS["ring"](**parameters)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("random", {"arcs": 49}, "generator random: arcs must be 50 to"),
        ("rmat", {"a": 0.9}, "generator rmat: a, b, c must be shares"),
        ("rmat", {"a": float("nan")}, "generator rmat: a must be finite, not nan"),
        ("rmat", {"a": True}, "generator rmat: a must be a number, not True"),
        ("rmat", {"a": 0.0}, "generator rmat: a, b, c must be shares"),
        (
            "rmat",
            {"a": 1e-300, "b": 0, "c": 0},
            "a: of 1,000 arcs less than one falls inside 50 vertices; 1e-300 is too",
        ),
        ("kronecker", {"scale": 31}, "generator kronecker: scale must be 1 to 30, not 31"),
        ("kronecker", {"scale": -1}, "generator kronecker: scale must be 1 to 30, not -1"),
    ],
)
def test_values_out_of_range_are_named(name, changes, message):
    with pytest.raises(ValueError, match=message):
        GENERATORS[name](**{**SMALL[name], **changes}, seed=1)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"fits": lambda n: None}, "its fits ends in TypeError: .* unexpected keyword argument 'vertices'$"),
        ({"fits": lambda **given: given["vertices"] > 2}, "its fits gives True: None is right, and a ValueError for"),
        ({"size": lambda n: (n, n)}, "its size ends in TypeError: .* unexpected keyword argument 'vertices'$"),
        ({"size": lambda **given: 5}, "its size is 5: numbers of vertices and arcs are right$"),
        ({"size": lambda **given: (5,)}, r"its size is \(5,\): numbers of vertices and arcs are right$"),
        ({"size": lambda **given: (5, "7")}, r"its size is \(5, '7'\): numbers of vertices and arcs are right$"),
    ],
)
def test_what_a_generator_says_of_its_parameters_wrongly_is_named(changes, says):
    generator = replace(GENERATORS["ring"], **changes)
    with pytest.raises(ValueError, match=f"^generator ring: {says}"):
        generator(vertices=5, seed=1)


@pytest.mark.parametrize("name", GENERATORS)
def test_no_more_memory_is_asked_for_than_a_graph_takes(name, monkeypatch):
    generator, parameters = GENERATORS[name], {**LARGER[name], "seed": 1}
    if "weights" in generator.required:
        parameters["weights"] = "unit"
    generator(**parameters)
    asked = []
    monkeypatch.setattr("saitan.generators.generator.check_room", lambda *asking: asked.append(asking))
    tracemalloc.start()
    graph = generator(**parameters)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    [(needed, what)] = asked
    assert taken / (300 if name == "rmat" else 6) < needed <= taken  # rmat draws a million at once
    # Grids and what is drawn have other borders, loops and neighbours than the least that is announced.
    n, m = (int(words.split()[-2].replace(",", "")) for words in (what.partition(" and ")[0], what))
    assert n == graph.n and m <= 2 * graph.m <= 6 * m


def test_a_graph_larger_than_memory_is_refused_with_both_numbers(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 16 * 2**30)
    with pytest.raises(Unavailable) as refused:
        GENERATORS["complete"](vertices=1_000_000, seed=1)
    assert str(refused.value) == (
        "generator complete: 1,000,000 vertices and 999,999,000,000 arcs: 7,450.6 GiB of memory are needed, "
        "16.0 GiB are available"
    )
    with pytest.raises(ValueError, match="scale must be 1 to 30"):
        GENERATORS["kronecker"](scale=10**9, seed=1)


@pytest.mark.parametrize("name", ["rmat", "kronecker"])
def test_weights_are_optional_but_only_together(name):
    unweighted = {key: value for key, value in SMALL[name].items() if not key.startswith("weight")}
    assert GENERATORS[name](**unweighted, seed=1).weights is None
    with pytest.raises(ValueError, match="weight_low and weight_high go together"):
        GENERATORS[name](**unweighted, weight_low=1, seed=1)


@given(st.integers(2, 200), st.integers(0, 300), SEEDS)
def test_random_is_strongly_connected_without_loops(vertices, extra, seed):
    graph = GENERATORS["random"](vertices=vertices, arcs=vertices + extra, weight_low=0, weight_high=5, seed=seed)
    assert (graph.n, graph.m) == (vertices, vertices + extra)
    assert (graph.components("strong") == 0).all()
    assert (graph.sources != graph.targets).all()


@given(st.integers(1, 70), st.integers(0, 300), SEEDS)
def test_rmat_has_the_arcs_asked_for(vertices, arcs, seed):
    graph = GENERATORS["rmat"](vertices=vertices, arcs=arcs, a=0.45, b=0.22, c=0.22, seed=seed)
    assert (graph.n, graph.m) == (vertices, arcs)


def test_rmat_follows_its_shares():
    graph = GENERATORS["rmat"](vertices=2, arcs=100_000, a=0.5, b=0.3, c=0.15, seed=1)
    cells = np.bincount(2 * graph.sources + graph.targets, minlength=4) / graph.m
    np.testing.assert_allclose(cells, [0.5, 0.3, 0.15, 0.05], atol=0.008)


@settings(max_examples=20)
@given(st.integers(1, 8), st.integers(1, 20), SEEDS)
def test_kronecker_is_undirected_with_equal_weights(scale, edge_factor, seed):
    graph = GENERATORS["kronecker"](scale=scale, edge_factor=edge_factor, weight_low=7, weight_high=7, seed=seed)
    assert (graph.n, graph.m) == (1 << scale, 2 * edge_factor << scale)
    assert is_symmetric(graph)


def test_kronecker_follows_the_initiator_whatever_the_labels():
    graph = GENERATORS["kronecker"](scale=1, edge_factor=2**10, weight_low=1, weight_high=2, seed=3)
    shares = (
        np.concatenate(
            [
                np.bincount(2 * g.sources + g.targets, minlength=4)
                for g in (GENERATORS["kronecker"](scale=1, edge_factor=2**10, seed=seed) for seed in range(40))
            ]
        ).reshape(-1, 4)
        / graph.m
    )
    loops = np.sort(shares[:, [0, 3]], axis=1).mean(axis=0)
    np.testing.assert_allclose(loops, [0.05, 0.57], atol=0.01)
    np.testing.assert_allclose(shares[:, 1], shares[:, 2])


def test_kronecker_has_hubs_scattered_over_the_labels():
    graph = GENERATORS["kronecker"](scale=12, seed=1)
    hubs = np.sort(np.argsort(graph.degrees)[-40:])
    assert graph.degrees.max() > 30 * graph.degrees.mean()
    assert (np.bincount(hubs >> 10, minlength=4) >= 3).all()


def test_kronecker_does_not_depend_on_the_number_of_threads():
    script = (
        "import numba, zlib; numba.set_num_threads({}); from saitan.generators import GENERATORS;"
        "g = GENERATORS['kronecker'](scale=10, weight_low=1, weight_high=255, seed=2);"
        "print(zlib.crc32(g.targets), zlib.crc32(g.weights))"
    )
    graph = GENERATORS["kronecker"](scale=10, weight_low=1, weight_high=255, seed=2)
    single = subprocess.run([sys.executable, "-c", script.format(1)], capture_output=True, text=True, check=True)
    assert single.stdout.split() == [str(zlib.crc32(graph.targets)), str(zlib.crc32(graph.weights))]


def test_the_same_graph_on_every_machine():
    graph = GENERATORS["kronecker"](scale=4, edge_factor=1, weight_low=1, weight_high=255, seed=1)
    assert graph.targets[:8].tolist() == KRONECKER_TARGETS
    assert graph.weights[:8].tolist() == KRONECKER_WEIGHTS


def test_ring():
    graph = GENERATORS["ring"](vertices=4, seed=1)
    assert graph.targets.tolist() == [1, 2, 3, 0]
    assert graph.weights.tolist() == [1, 1, 1, 1]


def test_complete():
    graph = GENERATORS["complete"](vertices=5, weight_low=2, weight_high=2, seed=1)
    assert_array_equal(graph.to_scipy().toarray(), 2 * (1 - np.eye(5)))


@given(st.integers(1, 8), st.integers(1, 8), SEEDS)
def test_grid_joins_neighbours_with_equal_weights(width, height, seed):
    graph = GENERATORS["grid"](width=width, height=height, weight_low=1, weight_high=2**32 - 1, seed=seed)
    x, y = graph.coordinates.T
    apart = np.abs(x[:, None] - x) + np.abs(y[:, None] - y)
    assert_array_equal(graph.to_scipy().toarray() > 0, apart == 1)
    assert is_symmetric(graph)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), SEEDS)
def test_endpoint_weights_stay_in_range(one, other, seed):
    low, high = sorted((one, other))
    ends = np.arange(100, dtype=np.int32)
    drawn = draw.endpoint_weights(ends, ends[::-1], low, high, seed, directed=False)
    assert low <= drawn.min() <= drawn.max() <= high
    assert_array_equal(drawn, drawn[::-1])


def test_endpoint_weights_are_uniform_and_differ_by_direction():
    u, v = np.divmod(np.arange(100_000, dtype=np.int32), 317)
    drawn = draw.endpoint_weights(u, v, 10, 19, 1, directed=True)
    np.testing.assert_allclose(np.bincount(drawn, minlength=20)[10:] / len(u), 0.1, atol=0.005)
    turned = draw.endpoint_weights(v, u, 10, 19, 1, directed=True)
    assert 0.05 < (drawn == turned).mean() < 0.15


@pytest.mark.parametrize("sides", [(5, 7, 3), (1, 9, 2), (4, 1, 1)])
def test_memory_is_asked_for_all_arcs_of_a_grid(sides):
    width, height, depth = sides
    for name, parameters, more in (
        ("grid", {"width": width, "height": height}, {"weight_low": 1, "weight_high": 9}),
        ("grid3d", {"width": width, "height": height, "depth": depth}, {"weights": "unit"}),
    ):
        graph = GENERATORS[name](**parameters, **more, seed=1)
        assert GENERATORS[name].size(**parameters) == (graph.n, len(graph.targets))


def test_a_generator_returns_a_graph(monkeypatch):
    monkeypatch.setattr("saitan.generators.regular.grid", lambda **_: None)
    with pytest.raises(ValueError, match=r"^generator grid: \S+:grid returned NoneType: a Graph is right$"):
        GENERATORS["grid"](width=3, height=3, weight_low=1, weight_high=9, seed=1)
