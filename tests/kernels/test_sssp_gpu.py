"""The GPU variants of SSSP against SciPy and their CPU twins; needs a CUDA device."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from test_sssp import graphs, updated_by_numpy
from test_sssp_float_sums import TOO_LONG_ON_THE_WAY

from saitan import sssp
from saitan.graph import Graph
from saitan.problem import Invalid, Unavailable
from saitan.sssp.validate import check_tree

pytestmark = pytest.mark.gpu

GPU = [name for name, v in sssp.VARIANTS.items() if v.cuda and not v.foreign and name != "phast"]
PHASED = ["conventional", "selection", "adaptive"]


def random_graph(n, m, high, dtype, seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, high, m).astype(dtype)
    return Graph.from_arcs(n, rng.integers(0, n, m), rng.integers(0, n, m), weights)


@pytest.mark.parametrize("variant", GPU)
@settings(max_examples=30)
@given(case=graphs())
@example(case=(TOO_LONG_ON_THE_WAY, 1))
def test_equals_scipy(variant, case):
    graph, source = case
    result = sssp.solve(graph, source, variant, "cuda", predecessors=True)
    assert sssp.differs(sssp.reference(graph, source), {"distances": result.distances}) is None
    check_tree(graph, source, result.distances, result.predecessors)


@pytest.mark.parametrize("variant", GPU)
@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
def test_equals_the_cpu_twin_to_the_bit(variant, dtype):
    graph = random_graph(50_000, 300_000, 1000, dtype, 11)
    solver = sssp.prepare(graph, variant, "cuda")
    for source in (0, 777, 49_999):
        solver.run(source)
        solver.validate()
        expected = sssp.solve(graph, source, "conventional", "cpu").distances
        assert solver.answer()["distances"].tobytes() == expected.tobytes()
    solver.close()


@pytest.mark.parametrize("variant", GPU)
def test_a_sum_beyond_32_bits_widens_and_never_wraps(variant):
    top = 2**32 - 1
    line = Graph.from_arcs(4, np.arange(3), np.arange(1, 4), np.full(3, top, np.uint32))
    result = sssp.solve(line, 0, variant, "cuda")
    assert result.distances.dtype == np.uint64
    assert result.distances.tolist() == [0, top, 2 * top, 3 * top]
    floats = Graph.from_arcs(3, np.arange(2), np.arange(1, 3), np.full(2, np.float32(3e38)))
    assert sssp.solve(floats, 0, variant, "cuda").distances[2] == 2 * float(np.float32(3e38))


@pytest.mark.parametrize("variant", PHASED)
def test_phases_are_the_papers(variant):
    graph = random_graph(2000, 8000, 99, np.uint32, 5)
    solver = sssp.prepare(graph, variant, "cuda")
    run = solver.run(7)
    expected = updated_by_numpy(graph, 7)
    assert run.counters["phases"] == len(expected)
    assert solver.count(7)["updated"].tolist() == expected
    if variant == "selection":
        assert (run.phases["listed"] >= expected).all()
    solver.close()


def test_adaptive_switches_both_ways():
    graph = random_graph(200_000, 600_000, 10_000, np.uint32, 6)
    expected = sssp.solve(graph, 1, "conventional", "cpu").distances
    for threshold in (0.0, 5.0, 15.0, 20.0, 30.0, 60.0, 1e9):
        solver = sssp.prepare(graph, "adaptive", "cuda", threshold_up=threshold)
        run = solver.run(1)
        solver.validate()
        assert np.array_equal(solver.answer()["distances"], expected)
        modes = set(run.phases["mode"])
        if threshold == 0:
            assert modes == {"selection", "conventional"} and run.counters["switches"] == 1
        if threshold == 1e9:
            assert modes == {"selection"}
        solver.close()


def test_certificate_refuses_wrong_answers():
    graph = random_graph(5000, 40_000, 99, np.uint32, 8)
    solver = sssp.prepare(graph, "conventional", "cuda")
    solver.run(3)
    solver.validate()
    right = solver.distances.get()
    rng = np.random.default_rng(1)
    reached = np.flatnonzero((right != 2**32 - 1) & (right > 0))
    for vertex in rng.choice(reached, 20).tolist():
        for change in (-1, 1):
            wrong = right.copy()
            wrong[vertex] = int(right[vertex]) + change
            solver.distances.set(wrong)
            with pytest.raises(Invalid):
                solver.validate()
    wrong = right.copy()
    wrong[3] = 1
    solver.distances.set(wrong)
    with pytest.raises(Invalid, match="the source 3 is at distance 1"):
        solver.validate()
    solver.close()


def test_zero_weights_hang_in_a_tree():
    graph = random_graph(3000, 9000, 2, np.uint32, 9)
    result = sssp.solve(graph, 0, "selection", "cuda", predecessors=True)
    check_tree(graph, 0, result.distances, result.predecessors)


def test_a_graph_too_large_is_refused_before_any_upload(monkeypatch):
    import pycuda.driver as driver

    graph = random_graph(1000, 3000, 9, np.uint32, 1)
    monkeypatch.setattr(driver, "mem_get_info", lambda: (1000, 2**34))
    with pytest.raises(Unavailable, match=r"needs 0\.00 GiB of GPU memory, 0\.00 GiB of 16\.00 GiB are free"):
        sssp.prepare(graph, "adaptive", "cuda")


def test_memory_that_is_not_there_is_unavailable():
    from saitan.cuda.buffers import Buffers

    buffers = Buffers(0, "a test")
    with pytest.raises(Unavailable, match=r"^a test needs 65536\.00 GiB more of GPU memory than is free$"):
        buffers.empty((2**20, 2**24), np.float32)
    assert buffers.nbytes == 0
    buffers.free()


def test_memory_is_given_back(card_alone):
    import pycuda.driver as driver

    graph = random_graph(100_000, 3_000_000, 9, np.uint32, 1)
    sssp.solve(graph, 0, "adaptive", "cuda")
    before = driver.mem_get_info()[0]
    for _ in range(3):
        sssp.solve(graph, 0, "adaptive", "cuda")
    assert driver.mem_get_info()[0] == before


def test_what_the_certificate_needs_counts_neither_as_memory_nor_as_transfer():
    graph = random_graph(10_000, 40_000, 9, np.uint32, 1)
    for variant in ("conventional", "fast", "phast"):
        solver = sssp.prepare(graph if variant != "phast" else line(10_000), variant, "cuda")
        solver.run(3)
        memory, transfer = solver.memory, solver.transfer
        solver.validate()
        assert (solver.memory, solver.transfer) == (memory, transfer) and transfer > 0
        solver.close()
    conventional = sssp.prepare(graph, "conventional", "cuda")
    assert conventional.memory == 4 * 10_001 + 8 * 40_000 + 21 * 10_000 + 12
    conventional.close()


def line(n):
    ends = np.arange(n - 1)
    return Graph.from_arcs(n, np.r_[ends, ends + 1], np.r_[ends + 1, ends], np.ones(2 * n - 2, np.uint32))


def test_widening_gives_the_narrow_arrays_back():
    top = 2**32 - 1
    graph = Graph.from_arcs(4, np.arange(3), np.arange(1, 4), np.full(3, top, np.uint32))
    solver = sssp.prepare(graph, "conventional", "cuda")
    before = solver.memory
    solver.run(0)
    assert solver.memory == before + 2 * 4 * graph.n
    solver.close()


def test_two_threads_at_a_time():
    from concurrent.futures import ThreadPoolExecutor

    graph = random_graph(50_000, 300_000, 1000, np.uint32, 11)
    expected = {source: sssp.solve(graph, source, "conventional", "cpu").distances for source in range(4)}

    def answers(variant):
        found = []
        for source in expected:
            result = sssp.solve(graph, source, variant, "cuda", predecessors=True)
            check_tree(graph, source, result.distances, result.predecessors)
            found.append(np.array_equal(result.distances, expected[source]))
        return found

    with ThreadPoolExecutor(2) as threads:
        done = list(threads.map(answers, ["fast", "selection"] * 2))
    assert all(all(found) for found in done)


def test_vertices_beyond_two_to_the_thirty():
    """The kernel that sets n vertices up: an int that steps through them would wrap. Takes 30 GB of the device."""
    import pycuda.driver as driver

    from saitan.cuda import device
    from saitan.cuda.module import function
    from saitan.sssp.cuda_graph import BLOCK, grid

    device()
    n = 2**31 - 1
    if driver.mem_get_info()[0] < 14 * n:
        pytest.skip("needs 30 GB of free GPU memory")
    cost, updated, scheduled = (driver.mem_alloc(4 * n) for _ in range(3))
    mask, rest = driver.mem_alloc(n), driver.mem_alloc(64)
    for array, size in ((cost, 4 * n), (updated, 4 * n), (scheduled, 4 * n), (mask, n)):
        driver.memset_d8(array, 0x77, size)
    start = function("sssp", "phases", "start_u4_u4_i4", "iPPPPPPi")
    start.prepared_call(grid(n), (BLOCK, 1, 1), n, cost, updated, mask, scheduled, rest, int(rest) + 16, n - 1)

    def tail(array, dtype):
        found = np.empty(1 << 20, dtype)
        driver.memcpy_dtoh(found, int(array) + (n - len(found)) * found.itemsize)
        return found

    reached = np.arange(1 << 20) == (1 << 20) - 1
    assert np.array_equal(tail(cost, np.uint32), np.where(reached, 0, 2**32 - 1))
    assert (tail(updated, np.uint32) == 2**32 - 1).all() and (tail(scheduled, np.uint32) == 0).all()
    assert np.array_equal(tail(mask, np.uint8), reached)
    for array in (cost, updated, scheduled, mask, rest):
        array.free()
