"""sssp fast on the GPU against SciPy's Dijkstra."""

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from saitan import sssp
from saitan.cuda import unusable
from saitan.graph import Graph

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(unusable() is not None, reason=str(unusable()))]

SHAPES = [
    {"blocks": 1, "hops": 4, "threads": 32},
    {"blocks": 1, "hops": 1, "threads": 512},
    {"blocks": 3, "hops": 1, "threads": 64},
    {"blocks": 8, "hops": 4, "threads": 512},
    {"blocks": 70, "hops": 3, "threads": 128},
    {"hops": 2, "threads": 256},
    {"blocks": 2, "hops": 3, "threads": 768},
    {"hops": 24, "threads": 768},
]


def drawn(random: np.random.Generator) -> Graph:
    """A graph of 1 to 4000 vertices: loops, parallel arcs, hubs, zero and huge weights, unreachable parts."""
    n = int(random.choice([1, 2, 7, 60, 500, 4000]))
    m = n * int(random.choice([0, 1, 3, 8]))
    sources, targets = random.integers(0, n, m), random.integers(0, n, m)
    if random.random() < 0.3:
        sources //= 50
    weights = random.integers(0, random.choice([1, 2, 100, 10**6, 2**32]), m).astype(np.uint32)
    if random.random() < 0.4:
        weights = weights.astype(np.float32) / np.float32(7)
    return Graph.from_arcs(n, sources, targets, weights)


def answers(graph, sources, **parameters):
    """Distances [sources, n] of one launch, from poisoned memory."""
    from saitan.cuda.buffers import Buffers
    from saitan.cuda.timing import Laps
    from saitan.sssp.cuda_resident import Resident

    buffers = Buffers(0, "test")
    resident = Resident(graph, buffers, count=len(sources), **parameters)
    try:
        resident.answers.fill(77)
        resident.launch(np.array(sources), Laps())
        return resident.answers.get()[:, : graph.n]
    finally:
        buffers.free()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "-".join(map(str, shape.values())))
@pytest.mark.parametrize("room", ["plenty", "little"])
def test_equals_dijkstra(shape, room, monkeypatch):
    from saitan.sssp import cuda_resident

    monkeypatch.setattr(cuda_resident, "TIMEOUT_MS", 2000)
    if room == "little":  # queues that go on in device memory, few entries donated at a time
        monkeypatch.setattr(cuda_resident, "QUEUE_BYTES", 64)
        monkeypatch.setattr(cuda_resident, "MOST_DONATED", 3)
    random = np.random.default_rng([SHAPES.index(shape), len(room)])
    for _ in range(12):
        graph = drawn(random)
        sources = random.integers(0, graph.n, int(random.choice([1, 3, 40])))
        delta = [None, 1.0, 1000.0, np.inf][random.integers(4)]
        for source, got in zip(sources, answers(graph, sources, delta=delta, **shape), strict=True):
            assert sssp.differs(sssp.reference(graph, int(source)), {"distances": got}) is None, (
                graph.n,
                graph.m,
                delta,
            )


def test_a_queue_without_room_is_tried_again_larger():
    from saitan.cuda.buffers import Buffers
    from saitan.cuda.timing import Laps
    from saitan.sssp import cuda_resident

    random = np.random.default_rng(3)
    graph = Graph.from_arcs(3000, *random.integers(0, 3000, (2, 9000)), np.ones(9000, np.uint32))
    buffers = Buffers(0, "test")
    resident = cuda_resident.Resident(graph, buffers, blocks=1, delta=np.inf)
    resident._queue, resident.spill = 4, 8
    resident.take(resident.dtype)
    resident._queue = 4
    resident.launch(np.array([5]), Laps())
    assert resident.spill > 8
    assert sssp.differs(sssp.reference(graph, 5), {"distances": resident.distances.get()}) is None
    buffers.free()


def test_a_block_that_is_missing_ends_the_wait(monkeypatch):
    from saitan.cuda.buffers import Buffers
    from saitan.cuda.timing import Laps
    from saitan.problem import Unavailable
    from saitan.sssp import cuda_resident

    class OneLess:
        def __init__(self, kernel):
            self.kernel = kernel

        def prepared_async_call(self, grid, *rest, **named):
            self.kernel.prepared_async_call((grid[0] - 1, 1), *rest, **named)

    monkeypatch.setattr(cuda_resident, "TIMEOUT_MS", 200)
    buffers = Buffers(0, "test")
    resident = cuda_resident.Resident(Graph.from_arcs(2, [0], [1], np.ones(1, np.uint32)), buffers, blocks=3)
    resident._kernel = OneLess(resident._kernel)
    with pytest.raises(Unavailable, match="by its timeout"):
        resident.launch(np.array([0]), Laps())
    buffers.free()


def test_many_sources_and_a_trace():
    from saitan.generators.regular import grid
    from saitan.sssp.cuda_fast import Fast, FastMany

    graph = grid(width=90, height=70, weight_low=1, weight_high=1000, seed=3)
    many = FastMany(graph, sources=37)
    many.run(17)
    many.validate()
    solver = Fast(graph)
    solver.run(17)
    np.testing.assert_array_equal(many.answer()["distances"], solver.answer()["distances"])
    counted = solver.count(17)
    assert counted["updated"].sum() >= graph.n and (counted["seconds"] > 0).all()
    many.close(), solver.close()


@pytest.mark.parametrize("delta", [None, 1.0, 1000.0, np.inf])
@pytest.mark.parametrize("room", [4, 1 << 16])  # entries of a queue: little, so that it overflows, and plenty
@pytest.mark.parametrize("turned", [0, 2**40])  # arcs from which a directed graph's vertices pull
def test_whole_grid_equals_dijkstra(delta, room, turned, monkeypatch):
    from saitan.cuda.buffers import Buffers
    from saitan.cuda.timing import Laps
    from saitan.sssp import cuda_broad
    from saitan.sssp.simplify import simplified

    monkeypatch.setattr(cuda_broad, "TIMEOUT_MS", 2000)
    monkeypatch.setattr(cuda_broad, "LEAST_ROOM", room)
    monkeypatch.setattr(cuda_broad, "PULLED_FROM", turned)
    random = np.random.default_rng(4)
    for _ in range(20):
        graph = drawn(random)
        if random.random() < 0.7:  # symmetric, so that it may pull
            heads, tails = graph.targets, graph.sources
            graph = Graph.from_arcs(graph.n, np.r_[heads, tails], np.r_[tails, heads], np.tile(graph.weights, 2))
        source, buffers = int(random.integers(graph.n)), Buffers(0, "test")
        engine = cuda_broad.Broad(simplified(graph), buffers, delta=delta)
        for array in (engine.distances, engine.done, engine.next):
            array.fill(77)
        engine.run(source, Laps())
        got = {"distances": engine.distances.get()}
        assert sssp.differs(sssp.reference(graph, source), got) is None, (graph.n, graph.m, engine.symmetric)
        buffers.free()


def pulled(edges, delta):
    """Of a whole grid that pulls: the distances from vertex 0, and the counters.

    edges: (one end, other end, weight); 200 vertices around vertex 0 are added, which make pulling the less work.
    """
    from saitan.cuda.buffers import Buffers
    from saitan.cuda.timing import Laps
    from saitan.sssp import cuda_broad
    from saitan.sssp.simplify import simplified

    first = 1 + max(max(edge[:2]) for edge in edges)
    around = [(0, first + i, 1) for i in range(200)] + [(first + i, first + (i + 1) % 200, 1) for i in range(200)]
    ends, others, weights = np.array(edges + around, np.int64).T
    weights = np.tile(weights, 2).astype(np.uint32)
    graph = Graph.from_arcs(first + 200, np.r_[ends, others], np.r_[others, ends], weights)
    buffers = Buffers(0, "test")
    try:
        engine = cuda_broad.Broad(simplified(graph), buffers, delta=delta)
        engine.distances.fill(77)
        _, counters, _ = engine.run(0, Laps())
        distances = engine.distances.get()
    finally:
        buffers.free()
    assert counters["pulled"]
    assert sssp.differs(sssp.reference(graph, 0), {"distances": distances}) is None
    return distances, counters


@pytest.mark.parametrize("degree", [1, 2, 31, 32, 33, 64, 65, 100])
def test_whole_grid_pulls_over_the_last_arc_of_a_row(degree):
    # The heaviest arc of vertex 1 alone comes from below the bound.
    distances, _ = pulled([(0, 1, 50), *((1, 2 + i, 1) for i in range(degree - 1))], delta=10)
    assert distances[1] == 50 and (distances[2 : degree + 1] == 51).all()


@pytest.mark.parametrize("beside", [0, 40])
def test_whole_grid_widens_where_a_sum_does_not_fit_that_is_pulled(beside):
    # The first arc of vertex 1 beyond the bound fits; the next one, to vertex 3, is looked at from there alone.
    long = 2**32 - 1 - 20
    distances, counters = pulled(
        [(0, 1, 20), (1, 2, 200), (1, 3, long), *((3, 4 + i, 1) for i in range(beside))], delta=100
    )
    assert counters["distance_bits"] == 64 and distances[:4].tolist() == [0, 20, 220, 20 + long]


def test_whole_grid_without_a_block_ends_by_its_timeout(monkeypatch):
    from saitan.cuda.buffers import Buffers
    from saitan.cuda.timing import Laps
    from saitan.problem import Unavailable
    from saitan.sssp import cuda_broad

    monkeypatch.setattr(cuda_broad, "TIMEOUT_MS", 200)
    buffers = Buffers(0, "test")
    engine = cuda_broad.Broad(Graph.from_arcs(2, [0], [1], np.ones(1, np.uint32)), buffers)
    kernel = engine._kernel

    class OneMore:  # a grid of more blocks than are resident: each waits for one that never begins
        def prepared_async_call(self, grid, *rest, **named):
            kernel.prepared_async_call((2 * grid[0], 1), *rest, **named)

    engine._kernel = OneMore()
    with pytest.raises(Unavailable, match="by its timeout"):
        engine.run(0, Laps())
    buffers.free()


def with_a_tail(weights, n=3000, tail=400, degree=16):
    """A random graph and a path that begins at its last vertex, both ways; weights: drawn by this call of a count."""
    random = np.random.default_rng(5)
    tails, heads = np.repeat(np.arange(n), degree // 2), random.integers(0, n, n * degree // 2)
    along = np.arange(n - 1, n + tail - 1)
    tails, heads = np.r_[tails, np.arange(n - 1), along], np.r_[heads, np.arange(1, n), along + 1]
    drawn = weights(random, len(tails))
    return Graph.from_arcs(n + tail, np.r_[tails, heads], np.r_[heads, tails], np.r_[drawn, drawn])


@pytest.mark.parametrize(
    "weights",
    [
        lambda random, count: random.integers(0, 1000, count).astype(np.uint32),
        lambda random, count: random.random(count, np.float32),
        lambda random, count: np.ones(count, np.uint32),
        lambda random, count: random.integers(2**31, 2**32 - 1, count).astype(np.uint32),
    ],
    ids=["integers", "floats", "unit", "64 bits"],
)
def test_queues_go_on_in_a_tail(weights):
    from saitan.sssp.choice import BOTH
    from saitan.sssp.cuda_fast import Fast

    graph = with_a_tail(weights)
    solver = Fast(graph)
    for source in (0, 17, 0, graph.n - 1):  # and from the tail's end, where little is left to the queues
        solver.engine.distances.fill(77)
        counters = solver.run(source).counters
        solver.validate()
        assert sssp.differs(sssp.reference(graph, source), solver.answer()) is None
        assert counters["engine"] == BOTH and (source >= 3000 or counters["rounds"] > 3)
    solver.close()


def test_a_tail_without_room_is_tried_again_larger():
    from saitan.sssp.cuda_fast import Fast

    graph = with_a_tail(lambda random, count: random.integers(1, 9, count).astype(np.uint32))
    solver = Fast(graph)
    tail = solver.engine._tail
    tail._queue, tail.spill = 0, 0
    solver.run(3)
    assert tail.spill > 0 or tail._queue > 0
    solver.validate()
    solver.close()


def test_picks_the_whole_grid_for_a_small_world():
    from saitan.generators.kronecker import kronecker
    from saitan.sssp.choice import BROAD
    from saitan.sssp.cuda_broad import Broad
    from saitan.sssp.cuda_fast import Fast

    graph = kronecker(scale=17, seed=1, weight_low=1, weight_high=255)
    solver = Fast(graph)
    assert isinstance(solver.engine, Broad) and solver.engine.symmetric
    run = solver.run(int(graph.degrees.argmax()))
    solver.validate()
    assert run.counters["relaxations"] < graph.m
    assert run.counters["engine"] == BROAD and run.counters["levels"] < 20
    assert solver.count(0) == {}
    solver.close()


def test_repeats_little_where_a_few_weights_make_the_mean():
    from saitan.generators import GENERATORS
    from saitan.sssp.cuda_broad import Broad, first_step
    from saitan.sssp.cuda_fast import Fast

    even, skewed = (
        GENERATORS["regular"](vertices=1 << 17, degree=16, weights=kind, seed=1) for kind in ("uniform", "log-normal")
    )
    assert first_step(even) == even.mean_weight / 16
    assert first_step(skewed) < np.quantile(skewed.weights, 0.1)
    solver = Fast(skewed)
    assert isinstance(solver.engine, Broad)
    # With the step of even weights six relaxations an arc.
    assert solver.run(0).counters["relaxations"] < 2 * skewed.m
    solver.validate()
    solver.close()


@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
def test_widens_to_64_bits(dtype):
    from saitan.sssp.cuda_fast import Fast

    top = dtype(2**32 - 2) if dtype is np.uint32 else np.float32(3e38)
    graph = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], np.full(3, top, dtype))
    solver = Fast(graph)
    run = solver.run(0)
    solver.validate()
    assert run.counters["distance_bits"] == 64
    np.testing.assert_array_equal(
        solver.answer()["distances"], np.arange(4) * solver.answer()["distances"].dtype.type(top)
    )
    solver.close()


def test_a_long_path_and_the_same_answer_twice():
    from saitan.sssp.cuda_fast import Fast

    n = 3000
    weights = np.random.default_rng(0).integers(1, 10**6, n - 1).astype(np.uint32)
    graph = Graph.from_arcs(n, np.arange(n - 1), np.arange(1, n), weights)
    solver = Fast(graph, delta=1.0)
    first = (solver.run(0), solver.answer()["distances"])[1]
    solver.run(0)
    solver.validate()
    np.testing.assert_array_equal(first, dijkstra(graph.to_scipy(), indices=0))
    np.testing.assert_array_equal(first, solver.answer()["distances"])
    assert solver.predecessors()[1:].tolist() == list(range(n - 1))
    solver.close()
