"""sssp fast on the CPU, and the layout its CUDA twin runs on, against SciPy's Dijkstra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra

from saitan import sssp
from saitan.graph import Graph
from saitan.sssp import cpu_buckets, cpu_fast
from saitan.sssp.choice import level_sizes
from saitan.sssp.cpu_fast import Fast
from saitan.sssp.layout import NONE, lay_out, rows_needed


@st.composite
def graphs(draw):
    """Small graphs with zero and huge weights, parallel arcs, loops, unreachable parts, or one vertex."""
    n = draw(st.integers(1, 40))
    m = draw(st.integers(0, 160))
    highest = draw(st.sampled_from([0, 1, 50, 2**32 - 1]))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    weights = random.integers(0, highest, m, endpoint=True).astype(np.uint32)
    if draw(st.booleans()):
        weights = weights.astype(np.float32)
    return Graph.from_arcs(n, random.integers(0, n, m), random.integers(0, n, m), weights)


def right(graph, source, **parameters):
    solver = Fast(graph, **parameters)
    solver.distances.fill(7)
    run = solver.run(source)
    solver.validate()
    assert sssp.differs(sssp.reference(graph, source), solver.answer()) is None
    return run


@pytest.mark.parametrize("small", [0, 1 << 40])
@settings(max_examples=40)
@given(graph=graphs(), delta=st.sampled_from([None, 1e-3, 1, 100, 1e12, np.inf]))
def test_equals_dijkstra(small, graph, delta):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu_fast, "SMALL", small)  # by buckets, by near-far
        patch.setattr(cpu_fast, "SPREAD", np.inf)
        right(graph, graph.n - 1, delta=delta)


def test_a_pool_that_fills_up_is_doubled(monkeypatch):
    monkeypatch.setattr(cpu_fast, "SMALL", 0)  # by all threads
    random = np.random.default_rng(0)
    n, m = 30_000, 200_000
    weights = random.integers(1, 1000, m).astype(np.uint32)
    graph = Graph.from_arcs(n, random.integers(0, n, m), random.integers(0, n, m), weights)
    solver = Fast(graph, delta=np.inf)
    solver._allocate(np.uint32, 64)
    solver.run(3)
    assert solver._entries > 64
    assert sssp.differs(sssp.reference(graph, 3), solver.answer()) is None


def test_frontiers_wide_enough_for_all_threads(monkeypatch):
    monkeypatch.setattr(cpu_fast, "SMALL", 0)
    random = np.random.default_rng(1)
    n, m = 20_000, 100_000
    graph = Graph.from_arcs(n, random.integers(0, n, m), random.integers(0, n, m), random.random(m).astype(np.float32))
    solver = Fast(graph, delta=0.3)
    assert solver.count(5)["updated"].max() > 2 * cpu_fast.ALONE * cpu_buckets.BLOCK
    run = right(graph, 5, delta=0.3)
    assert run.counters["relaxations"] >= m * 0.9 and run.counters["phases"] > 3


@pytest.mark.parametrize("weights", [(1, 1000), (2**31, 2**32 - 1)])
def test_the_trace_adds_up(weights):
    random = np.random.default_rng(2)
    n, m = 5000, 20_000
    drawn = random.integers(*weights, m).astype(np.uint32)
    graph = Graph.from_arcs(n, random.integers(0, n, m), random.integers(0, n, m), drawn)
    solver = Fast(graph, delta=float(weights[0]) / 4)
    trace = solver.count(3)
    assert {len(values) for values in trace.values()} == {len(trace["seconds"])}
    assert trace["seconds"].min() > 0
    # Everything reached is relaxed at least once.
    reached = np.isfinite(sssp.reference(graph, 3).arrays["distances"])
    assert trace["updated"].sum() >= reached.sum()
    assert trace["relaxations"].sum() >= graph.degrees[reached].sum()
    assert sssp.differs(sssp.reference(graph, 3), solver.answer()) is None


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("highest", [40, 5000])
def test_buckets_narrower_than_every_weight_relax_every_arc_once(monkeypatch, shared, highest):
    """A bucket then holds vertices of one distance, which is final. The longest weights lie beyond the window."""
    monkeypatch.setattr(cpu_fast, "SMALL", 0 if shared else 1 << 40)
    random = np.random.default_rng(highest)
    n, m = 3000, 12_000
    weights = random.integers(1, highest, m).astype(np.uint32)
    graph = Graph.from_arcs(n, random.integers(0, n, m), random.integers(0, n, m), weights)
    solver = Fast(graph, delta=1.0)
    reached = np.isfinite(sssp.reference(graph, 3).arrays["distances"])
    for _ in range(2):
        run = solver.run(3)
        assert run.counters["relaxations"] == graph.degrees[reached].sum()
        assert run.counters["phases"] >= len(np.unique(solver.distances[reached]))
    trace = solver.count(3)
    assert trace["updated"].sum() == reached.sum()
    assert trace["relaxations"].sum() == graph.degrees[reached].sum()
    solver.validate()


def test_a_step_is_a_bucket():
    n = 100
    graph = Graph.from_arcs(n, np.arange(n - 1), np.arange(1, n), np.ones(n - 1, np.uint32))
    # Of one distance, of two, of all.
    for delta, steps in ((1.0, n), (2.0, n // 2), (1e9, 1)):
        run = sssp.prepare(graph, "fast", "cpu", delta=delta).run(0)
        assert run.counters["phases"] == steps and run.counters["relaxations"] == n - 1


@pytest.mark.parametrize("delta", [1.0, 1e6, np.inf])
def test_a_sum_at_the_limit_widens_and_one_below_it_does_not(delta):
    limit = 2**32 - 1
    for last, bits in ((limit - 8, 32), (limit - 7, 64), (limit, 64)):
        graph = Graph.from_arcs(3, [0, 1], [1, 2], np.array([7, last], np.uint32))
        run = right(graph, 0, delta=delta)
        assert run.counters["distance_bits"] == bits


def test_a_bucket_is_a_number_that_64_bits_hold(monkeypatch):
    monkeypatch.setattr(cpu_fast, "SMALL", 0)
    scale = 1e3
    assert [cpu_buckets.bucket_of(np.uint64(d), scale) for d in (0, 1, 2**50)] == [0, 1000, 1000 * 2**50]
    assert cpu_buckets.bucket_of(np.uint64(2**64 - 2), scale) == cpu_buckets.bucket_of(1e308, scale) == 4 * 10**18
    # What lies beyond the window waits in one chain until it is near.
    solver = Fast(Graph.from_arcs(2, [0], [1], np.ones(1, np.uint32)))
    buckets, window = solver._buckets, cpu_buckets.WINDOW
    cpu_buckets.empty(buckets)
    for place in (3 + window, 3 + window - 1, 4 + window):
        cpu_buckets.push(buckets, 0, 0, np.uint32(place), np.int64(place), np.int64(3))
    assert buckets.state[0, cpu_buckets.BEYOND] == 3 + window
    assert [cpu_buckets.next_bucket(buckets, np.int64(current), 1.0) for current in (3, 3 + window - 1)] == [
        3 + window - 1,
        3 + window - 1,
    ]
    assert cpu_buckets.collect(buckets, np.int64(3 + window - 1), solver._shared) == 1
    assert cpu_buckets.next_bucket(buckets, np.int64(3 + window), 1.0) == 3 + window


@pytest.mark.parametrize(
    ("n", "weights", "near_far", "buckets"),
    [
        (2, [4, 2], 24, 24),  # six medians
        (2, [1, 2, 3, 4, 100], 18 / 2.5, 18),  # over the arcs a vertex, where there are fewer than four
        (2, [0.5, 0.25, 8], 2, 3),
        (1, [5, 1, 3, 2, 4, 8, 7, 6], 4.5, 4.5),  # 1.5 times the weight below which there are two
        (1, [0, 0, 0, 0, 9, 9, 9, 9], 13.5, 13.5),
        (2, [0, 0, 0], 1, 1),
        (2, [], 1, 1),
    ],
)
def test_the_width_of_a_bucket_is_that_of_light_weights(n, weights, near_far, buckets, monkeypatch):
    dtype = np.float32 if 0.5 in weights else np.uint32
    graph = Graph.from_arcs(n, [0] * len(weights), [n - 1] * len(weights), np.array(weights, dtype))
    assert sssp.prepare(graph, "fast", "cpu").delta == pytest.approx(near_far)
    monkeypatch.setattr(cpu_fast, "SMALL", -1)
    solver = sssp.prepare(graph, "fast", "cpu")
    assert solver.delta == buckets and solver.run(0).counters["width"] == buckets
    assert sssp.prepare(graph, "fast", "cpu", delta=3.5).run(0).counters["width"] == 3.5


@pytest.mark.parametrize("decades", [1, 9])
def test_weights_of_many_decades_take_near_far_and_few_arcs_twice(decades, monkeypatch):
    """Buckets wide enough for the window relax each arc several times; narrow ones move their entries for ever."""
    monkeypatch.setattr(cpu_fast, "SMALL", 0)
    random = np.random.default_rng(decades)
    n, m = 3000, 48_000
    weights = (10 ** random.uniform(0, decades, m)).astype(np.uint32)
    graph = Graph.from_arcs(n, random.integers(0, n, m), random.integers(0, n, m), weights)
    solver = Fast(graph)
    assert (solver._near_far is not None) == (decades == 9)
    assert solver.run(1).counters["relaxations"] < 1.5 * m
    solver.validate()


@settings(max_examples=30)
@given(graphs())
def test_rows_are_forecast(graph):
    assert rows_needed(graph) == len(lay_out(graph))


def test_levels_tell_roads_from_small_worlds():
    n = 1000
    ring = Graph.from_arcs(n, np.arange(n), np.roll(np.arange(n), -1), np.ones(n, np.uint32))
    star = Graph.from_arcs(n, np.zeros(n, int), np.arange(n), np.ones(n, np.uint32))
    assert len(level_sizes(ring)) == n and len(level_sizes(star)) == 2


@settings(max_examples=30)
@given(graphs())
def test_layout_keeps_every_distance(graph):
    rows = lay_out(graph)
    assert rows.shape[1:] == (4, 2) and len(rows) >= graph.n
    targets, weights = rows[..., 0].ravel(), rows[..., 1].ravel().view(graph.weights.dtype)
    there = targets != NONE
    tails = np.repeat(np.arange(len(rows)), 4)
    split = Graph.from_arcs(len(rows), tails[there], targets[there], weights[there])
    np.testing.assert_array_equal(
        dijkstra(split.to_scipy(), indices=0)[: graph.n], dijkstra(graph.to_scipy(), indices=0)
    )


def test_one_thread_where_the_others_have_no_core(monkeypatch):
    monkeypatch.setattr(cpu_fast, "SMALL", 0)
    graph = Graph.from_arcs(3, [0, 1], [1, 2], np.ones(2, np.uint32))
    solver = Fast(graph)
    if len(solver._buckets.state) == 1:
        pytest.skip("one thread is all there is")
    used = []
    steps = solver._steps
    monkeypatch.setattr(solver, "_steps", lambda most, together: used.append(together) or steps(most, together))
    monkeypatch.setattr(cpu_fast, "THERE", 2.0)  # as if the threads never had their cores' time
    for _ in range(9):
        solver.run(0)
        assert solver.distances.tolist() == [0, 1, 2]
    assert used == [True, False, True, False, False, True, False, False, False]
    monkeypatch.setattr(cpu_fast, "THERE", 0.0)
    used.clear()
    for _ in range(4):
        solver.run(0)
    assert used == [False, True, True, True]
