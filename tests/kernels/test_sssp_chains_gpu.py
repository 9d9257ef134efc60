"""The queues of fast.cu on a graph without its chains, against SciPy's Dijkstra; needs a CUDA device."""

import numpy as np
import pytest
from test_sssp_chains import TOP, edges, long_drawn, take_out

from saitan import sssp
from saitan.graph import Graph
from saitan.sssp import chains, choice, walks

pytestmark = pytest.mark.gpu


def check(graph, sources, engine="Contracted"):
    """The counters of `fast` from each of the sources in turn, whose answers are right; of poisoned memory."""
    from saitan.sssp.cuda_fast import Fast

    solver, found = Fast(graph), []
    assert type(solver.engine).__name__ == engine
    for source in sources:
        solver.engine.distances.fill(77)
        solver.engine.core.answers.fill(77)
        found.append(solver.run(int(source)).counters)
        solver.validate()
        assert sssp.differs(sssp.reference(graph, int(source)), solver.answer()) is None
    solver.close()
    return found


@pytest.fixture
def always(monkeypatch):
    """Chains are taken out of every graph, and the queues search what is left."""
    take_out(monkeypatch, chains, walks)
    for name in ("BROAD_DEGREE", "BROAD_OTHER_DEGREE"):
        monkeypatch.setattr(choice, name, 1 << 40)


@pytest.mark.parametrize("n", [1, 2, 5, 9, 30, 120, 3000])
def test_equals_dijkstra(n, always):
    random = np.random.default_rng(n)
    for _ in range(12):
        graph = long_drawn(random, n)
        check(graph, random.integers(0, n, 4))


def test_a_path_takes_a_few_hops():
    n = 200_000
    weights = np.random.default_rng(0).integers(0, 1000, n - 1)
    for counters in check(edges(n, np.arange(n - 1), np.arange(1, n), weights), [0, 77_777, n - 1]):
        assert counters["phases"] == 0 and counters["searched"] == 1 and counters["distance_bits"] == 32


def test_a_long_path_widens_within_its_unit_and_at_its_end():
    n = 400
    for graph in (
        edges(n, np.arange(n - 1), np.arange(1, n), np.full(n - 1, 2**25)),
        Graph.from_arcs(n, np.arange(n - 1), np.arange(1, n), np.full(n - 1, TOP, np.uint32)),
    ):
        bits = [counters["distance_bits"] for counters in check(graph, [n // 2, 0, 3])]
        assert bits[1:] == [64, 64]


def test_a_source_that_does_not_reach_the_core_leaves_no_old_message(always):
    # Vertex 3 is reached from nowhere but itself, then the others are asked for again.
    graph = Graph.from_arcs(5, [0, 1, 2, 0, 2], [1, 2, 0, 3, 4], np.array([3, 4, 5, 6, 7], np.uint32))
    check(graph, [0, 3, 0, 4, 3, 3, 1, 2])


def ladder(rungs, weights):
    side = np.arange(rungs - 1)
    ends = np.r_[side, side + rungs, :rungs], np.r_[side + 1, side + rungs + 1, rungs : 2 * rungs]
    return edges(2 * rungs, *ends, weights(3 * rungs - 2))


@pytest.mark.parametrize("highest, bits", [(1000, 32), (2**31, 64)])
def test_what_is_long_and_narrow_is_answered_over_a_hierarchy(highest, bits, monkeypatch):
    from saitan.sssp.cuda_fast import Fast, Swept

    monkeypatch.setattr(choice, "NARROW_LEVELS", 1000)
    random = np.random.default_rng(2)
    graph = ladder(6000, lambda count: random.integers(0, highest, count))
    solver = Fast(graph)
    assert isinstance(solver.engine, Swept)
    for source in (0, 7777, 11_999):
        solver.engine.distances.fill(77)
        counters = solver.run(source).counters
        solver.validate()
        assert sssp.differs(sssp.reference(graph, source), solver.answer()) is None
        assert counters["engine"] == choice.HIERARCHY and counters["distance_bits"] == bits
        assert counters["prepare_s"] > 0 and counters["degree"] < 3
    assert solver.count(0) == {} and solver.memory > 8 * graph.n
    solver.close()
    monkeypatch.setattr(choice, "NARROW_WIDTH", 1)
    assert not isinstance(Fast(graph).engine, Swept)


def test_a_trace_is_of_the_core():
    from saitan.generators.street_map import street_map
    from saitan.sssp.cuda_fast import Fast

    graph = street_map(vertices=100_000, arcs=240_000, seed=1)
    (counters,) = check(graph, [17])
    solver = Fast(graph)
    counted = solver.count(17)
    assert counters["searched"] < graph.n and counted["updated"].sum() >= 0.9 * counters["searched"]
    assert solver.memory > 0
    solver.close()
