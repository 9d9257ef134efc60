"""sssp phast on the GPU against SciPy's Dijkstra and its CPU twin."""

import numpy as np
import pytest
from test_phast import both_ways, right

from saitan.cuda import unusable
from saitan.generators.regular import grid
from saitan.graph import Graph
from saitan.problem import Unavailable

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(unusable() is not None, reason=str(unusable()))]


def drawn(random: np.random.Generator) -> Graph:
    """A graph of 1 to 3000 vertices: loops, parallel arcs, hubs, zero and huge weights, unreachable parts."""
    n = int(random.choice([1, 2, 7, 60, 500, 3000]))
    m = n * int(random.choice([0, 1, 2]))
    tails, heads = random.integers(0, n, m), random.integers(0, n, m)
    if random.random() < 0.3:
        tails //= 50
    weights = random.integers(0, random.choice([1, 2, 100, 10**6, 2**32]), m).astype(np.uint32)
    return (both_ways if random.random() < 0.5 else Graph.from_arcs)(n, tails, heads, weights)


@pytest.mark.parametrize("core", [1, 40, 2048])
@pytest.mark.parametrize("room", ["plenty", "little"])
def test_equals_dijkstra(core, room, monkeypatch):
    from saitan.sssp import cuda_phast

    if room == "little":  # a queue that goes on in device memory, and has to be asked for again
        monkeypatch.setattr(cuda_phast, "QUEUE", 2)
        monkeypatch.setattr(cuda_phast, "SPILL", 1)
    random = np.random.default_rng([core, len(room)])
    for _ in range(20):
        graph = drawn(random)
        solver = cuda_phast.Phast(graph, core=core)
        for source in random.integers(0, graph.n, 3).tolist():
            right(solver, source)
        solver.close()


def test_equals_the_cpu_twin_to_the_bit_and_runs_again():
    from saitan.sssp.cpu_phast import Phast as Twin
    from saitan.sssp.cuda_phast import Phast

    graph = grid(width=300, height=200, weight_low=0, weight_high=1000, seed=2)
    solver, twin = Phast(graph), Twin(graph)
    for source in (0, 777, 59_999, 0):
        run = right(solver, source)
        expected = twin.run(source)
        assert solver.answer()["distances"].tobytes() == twin.answer()["distances"].tobytes()
        for name in ("phases", "shortcuts", "distance_bits"):
            assert run.counters[name] == expected.counters[name]
        assert run.counters["relaxations"] >= expected.counters["relaxations"]
    solver.close()


def test_widens_to_64_bits():
    from saitan.sssp.cuda_phast import Phast

    n = 9
    for weight, core in ((2**32 - 1, 2048), (2**32 - 2, 1), (2**31 - 1, 8), (2**31 - 1, 1)):
        weights = np.full(n - 1, weight, np.uint32)
        solver = Phast(both_ways(n, np.arange(n - 1), np.arange(1, n), weights), core=core)
        solver._take(np.dtype(np.uint32))
        if weight < 2**32 - 2:
            assert right(solver, n - 1).counters["distance_bits"] == 64
        solver._take(np.dtype(np.uint64))
        right(solver, 0)
        assert solver.answer()["distances"].tolist() == [k * weight for k in range(n)]
        solver.close()


def test_a_block_that_does_not_come_ends_the_query(monkeypatch):
    from saitan.sssp import cuda_phast

    monkeypatch.setattr(cuda_phast, "TIMEOUT_MS", 500)
    solver = cuda_phast.Phast(grid(width=80, height=80, weight_low=1, weight_high=99, seed=1), core=100)
    solver._arrived += 1
    with pytest.raises(Unavailable, match="by its timeout"):
        solver.run(5)
    right(solver, 5)
    solver.close()
