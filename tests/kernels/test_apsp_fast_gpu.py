"""`fast` for all pairs on the GPU at the edges of its shared memory; needs a CUDA device."""

import numpy as np
import pytest
from test_apsp import TOP, assert_equals_scipy, random_graph

from saitan import apsp
from saitan.apsp import near_far
from saitan.graph import Graph

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def searched(monkeypatch):
    """Whatever is quicker on small graphs; rows follow from others in as many levels as it takes."""
    monkeypatch.setattr("saitan.apsp.cuda_fast.rival", lambda *_: None)
    monkeypatch.setattr("saitan.apsp.cuda_fast.SMALL", 1)
    monkeypatch.setattr("saitan.apsp.cuda_fast.A_LEVEL", 1)


def answered(graph, first, count, **checks):
    solver = apsp.prepare(apsp.instance({"graph": graph}, sources=count), "fast", "cuda")
    try:
        solver.matrix.fill(77)
        run = solver.run([first, count])
        solver.validate()
        for name, value in checks.items():
            assert run.counters[name] == value
        return solver.answer()["distances"], run, solver
    finally:
        solver.close()


@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
@pytest.mark.parametrize("degree", [1, 4, 12, 40])
def test_a_queue_that_is_too_short_loses_nobody(monkeypatch, degree, dtype):
    monkeypatch.setattr("saitan.apsp.near_far.MOST", 40)
    monkeypatch.setattr("saitan.apsp.near_far.LEAST", 8)
    graph = random_graph(1500, 1500 * degree, 0, 1000, dtype, degree)
    distances, _, solver = answered(graph, 100, 300)
    assert solver.layout.capacity == 40
    assert_equals_scipy(graph, range(100, 400), distances)


@pytest.mark.parametrize("step", [1e-30, 0.05, 1e6])
def test_any_step_gives_the_same_distances(monkeypatch, step):
    graph = random_graph(700, 2800, 0, 50, np.uint32, 3)
    expected = apsp.solve(graph, None, "iterated", "cpu")
    monkeypatch.setattr(near_far, "STEP", step)
    assert np.array_equal(answered(graph, 0, 700)[0], expected)
    floats = Graph(graph.offsets, graph.targets, graph.weights.astype(np.float32))
    # Sums of whole numbers this small are exact.
    assert np.array_equal(answered(floats, 0, 700)[0], np.where(expected == TOP, np.inf, expected))


def test_a_step_that_vanishes_beside_the_distance_still_ends(monkeypatch):
    weights = np.array([1e30, *[1e-30] * 50], np.float32)
    line = Graph.from_arcs(52, np.arange(51), np.arange(1, 52), weights)
    monkeypatch.setattr(near_far, "STEP", 1e-60)
    assert_equals_scipy(line, range(52), answered(line, 0, 52)[0])


@pytest.mark.parametrize("high", [2**16, 2**16 + 1])
def test_arcs_in_32_and_64_bits(high):
    rng = np.random.default_rng(high)
    weights = rng.integers(0, high, 4000).astype(np.uint32)
    weights[17] = high - 1
    graph = Graph.from_arcs(1000, rng.integers(0, 1000, 4000), rng.integers(0, 1000, 4000), weights)
    distances, _, solver = answered(graph, 0, 1000)
    assert solver.layout.arcs == ("fours" if high == 2**16 else "arcs")
    assert_equals_scipy(graph, range(1000), distances)


def test_relaxations_are_counted_without_what_fills_a_row():
    from saitan.generators import GENERATORS

    for arcs in (137, 600):
        graph = GENERATORS["random"](vertices=137, arcs=arcs, weight_low=1, weight_high=1, seed=1)
        distances, run, solver = answered(graph, 0, 137)
        assert solver.layout.arcs == "fours"
        # Weights are all 1: vertices come in the order of their distance, each once.
        assert run.counters["relaxations"] == run.counters["searched"] * arcs
        assert distances.max() < 137


def test_rows_in_32_bits_without_fours():
    rng = np.random.default_rng(2)
    graph = Graph.from_arcs(
        40_000,
        rng.integers(0, 40_000, 90_000),
        rng.integers(0, 40_000, 90_000),
        rng.integers(0, 99, 90_000).astype("u4"),
    )
    distances, _, solver = answered(graph, 39_990, 10)
    assert solver.layout.arcs == "packed"
    assert_equals_scipy(graph, range(39_990, 40_000), distances)


def test_the_largest_graph_of_shared_memory_and_the_next():
    import pycuda.driver as driver

    from saitan.apsp.near_far import LEAST, OWN
    from saitan.cuda import device

    room = device().get_attribute(driver.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) - OWN - 2 * LEAST
    most = room * 4 // 17 // 32 * 32
    for n, resident in ((most, True), (most + 64, False)):
        graph = random_graph(n, 4 * n, 1, 1000, np.uint32, 1)
        distances, run, _ = answered(graph, n - 3, 3)
        assert (run.counters["resident"] > 0) == resident
        assert_equals_scipy(graph, range(n - 3, n), distances)


def test_wide_distances_stay_in_shared_memory():
    rng = np.random.default_rng(2)
    graph = Graph.from_arcs(
        3000,
        np.r_[0, rng.integers(0, 3000, 9000)],
        np.r_[1, rng.integers(0, 3000, 9000)],
        np.r_[TOP, rng.integers(2**31, 2**32, 9000)].astype(np.uint32),
    )
    distances, run, _ = answered(graph, 0, 200)
    assert run.counters["distance_bits"] == 64 and run.counters["resident"] > 0
    assert_equals_scipy(graph, range(200), distances)


def combined(graph, dtype=np.uint32):
    """How many sources were searched for all distances, which are compared with SciPy's."""
    distances, run, _ = answered(graph, 0, graph.n)
    assert distances.dtype == dtype
    assert_equals_scipy(graph, range(graph.n), distances)
    return run.counters.get("searched", graph.n)


def drawn(n, m, high, seed=1):
    """Loops, parallel arcs, weights of 0, vertices without arcs."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n, 2 * m).reshape(2, m)
    ends[:, : m // 10] = ends[0, : m // 10]
    ends[:, m // 10 : m // 5] = ends[:, m // 5 : m // 5 + m // 5 - m // 10]
    return Graph.from_arcs(n, *ends, rng.integers(0, high, m).astype(np.uint32))


@pytest.mark.parametrize("n", [2, 31, 500, 701, 1502, 2300])
def test_rows_that_follow_from_others(n):
    for degree in (1, 3, 9):
        assert combined(drawn(n, degree * n, 100)) < 0.9 * n or n < 100


def test_a_row_of_more_arcs_than_a_warp_has_lanes():
    rng = np.random.default_rng(5)
    # Hubs that 40 to 200 arcs leave, whose heads lead back to a single vertex.
    tails = np.repeat(np.arange(1, 21), np.linspace(40, 200, 20).astype(int))
    heads = rng.integers(21, 900, len(tails))
    ends = np.r_[tails, np.arange(21, 900), np.full(20, 0)], np.r_[heads, np.zeros(879, int), np.arange(1, 21)]
    weights = rng.integers(1, 10**6, len(ends[0])).astype(np.uint32)
    assert combined(Graph.from_arcs(900, *ends, weights)) == 1


def test_without_cycles_nothing_is_searched():
    rng = np.random.default_rng(6)
    ends = np.sort(rng.integers(0, 600, (2, 2400)), axis=0)
    assert combined(Graph.from_arcs(600, *ends, rng.integers(0, 9, 2400).astype(np.uint32))) == 0


def test_a_row_that_follows_and_does_not_fit_32_bits():
    # Only the way from 0 is too long, and 0 is on no cycle.
    weights = np.array([TOP - 1, 9, 5, 5], np.uint32)
    graph = Graph.from_arcs(4, [0, 1, 2, 3], [1, 2, 3, 2], weights)
    assert combined(graph, np.uint64) == 1
    # A sum that does not fit, beside one that does.
    graph = Graph.from_arcs(4, [0, 1, 2, 3, 0], [1, 2, 3, 2, 2], np.r_[weights, 3].astype(np.uint32))
    assert combined(graph) == 1
