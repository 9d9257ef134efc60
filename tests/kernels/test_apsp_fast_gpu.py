"""`fast` for all pairs on the GPU at the edges of its shared memory; needs a CUDA device."""

import numpy as np
import pytest
from test_apsp import TOP, assert_equals_scipy, random_graph

from saitan import apsp
from saitan.apsp import near_far
from saitan.graph import Graph

pytestmark = pytest.mark.gpu


def answered(graph, first, count, **checks):
    solver = apsp.prepare(apsp.instance({"graph": graph}, sources=count), "fast", "cuda")
    try:
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
        assert run.counters["relaxations"] == 137 * arcs
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
