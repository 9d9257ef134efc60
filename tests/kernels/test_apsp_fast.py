"""What is particular to `fast`: its step, and how it lays sources on multiprocessors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph
from test_apsp import TOP, assert_equals_scipy, random_graph
from test_sssp import graphs

from saitan import apsp
from saitan.apsp import near_far
from saitan.apsp.cpu_dense import FloydWarshallBlocked
from saitan.apsp.instances import Instance
from saitan.apsp.near_far import KEPT, LEAST, OWN, arcs_in_fours, fours_of, layout
from saitan.graph import Graph

# Shared memory of a block and of a multiprocessor, and how many there are: an H200, and a small device.
H200, SMALL = (232_448, 233_472, 132), (49_152, 65_536, 4)


@given(case=graphs(), step=st.sampled_from([1e-30, 0.01, 1.0, 1e6, 1e30]))
def test_any_step_gives_the_same_distances(case, step):
    graph, _ = case
    expected = apsp.solve(graph, None, "iterated", "cpu")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_far, "STEP", step)
        got = apsp.solve(graph, None, "fast", "cpu")
    # Which sums are tried, and so whether one of them overflows, depends on the step.
    top, far = (np.inf,) * 2 if got.dtype.kind == "f" else (np.iinfo(got.dtype).max, np.iinfo(expected.dtype).max)
    if got.dtype.kind == "f" and got.dtype != expected.dtype:
        assert np.allclose(got, expected, rtol=2 * graph.n * np.finfo(np.float32).eps)
    else:
        assert np.array_equal(np.where(got == top, 0, got), np.where(expected == far, 0, expected))
        assert np.array_equal(got == top, expected == far)


def test_a_step_is_positive_and_fits_the_type():
    zeros = Graph.from_arcs(2, [0], [1], np.zeros(1, np.uint32))
    assert near_far.step(zeros, np.uint32) == 1 and near_far.step(zeros, np.float32) == 1
    assert near_far.step(Graph.from_arcs(2, [], [], np.zeros(0, np.uint32)), np.uint64) == 1
    large = Graph.from_arcs(3, [0, 1], [1, 2], np.full(2, 2**32 - 1, np.uint32))
    assert near_far.step(large, np.uint32) == 2**32 - 1
    floats = Graph.from_arcs(3, [0, 1], [1, 2], np.full(2, 3e38, np.float32))
    assert near_far.step(floats, np.float32) == np.finfo(np.float32).max
    # Random graphs of four arcs a vertex: 0.7 of the largest weight.
    graph = random_graph(1000, 4000, 1, 1000, np.uint32, 1)
    assert float(near_far.step(graph, np.uint32)) == pytest.approx(700, rel=0.05)


@pytest.mark.parametrize(
    ("weights", "closed"),
    [([1, 9], True), ([1, 2**27], False), ([0.5, 8.0], False)],
)
def test_a_dense_graph_is_closed_where_the_matrix_holds_every_sum(weights, closed):
    """Not of floats, whose sums it would round otherwise."""
    n, dtype = 15, np.float32 if 0.5 in weights else np.uint32
    tails, heads = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
    graph = Graph.from_arcs(n, tails, heads, np.resize(np.array(weights, dtype), n * n))
    instance = apsp.instance({"graph": graph})
    solver = apsp.prepare(instance, "fast", "cpu")
    assert isinstance(solver, FloydWarshallBlocked) == closed
    solver.run([0, n])
    solver.validate()
    wanted = csgraph.dijkstra(graph.to_scipy())
    assert np.allclose(solver.answer()["distances"].astype(float), wanted, rtol=1e-6)
    # Not for some of the sources, nor with few arcs a vertex.
    assert not isinstance(apsp.prepare(Instance(graph, n - 1), "fast", "cpu"), FloydWarshallBlocked)
    few = Graph.from_arcs(n, tails[: 11 * n], heads[: 11 * n], np.resize(np.array(weights, dtype), 11 * n))
    assert not isinstance(apsp.prepare(Instance(few, n), "fast", "cpu"), FloydWarshallBlocked)


def test_a_step_that_vanishes_beside_the_distance_still_ends():
    weights = np.array([1e30, *[1e-30] * 50], np.float32)
    line = Graph.from_arcs(52, np.arange(51), np.arange(1, 52), weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_far, "STEP", 1e-60)
        assert_equals_scipy(line, range(52), apsp.solve(line, None, "fast", "cpu"))


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("machine", [H200, SMALL])
def test_a_layout_fits_the_machine(dtype, machine):
    block, whole, processors = machine
    refused = 0
    for n in (1, 2, 31, 33, 1000, 4096, 11_000, 12_000, 16_384, 27_000, 28_000, 54_000, 54_400, 55_000, 100_000):
        graph = Graph.from_arcs(n, [0], [n - 1], np.ones(1, np.uint32))
        made = layout(graph, n, dtype, block, whole, processors)
        if made is None:
            refused += 1
            assert n * np.dtype(dtype).itemsize + n // 4 + 2 * LEAST + OWN > block
            continue
        assert not refused
        each = -(-made.blocks // processors)
        assert made.shared + OWN <= block and each * (made.shared + OWN + KEPT) <= whole
        assert made.blocks >= min(n, processors)
        assert made.threads % 32 == 0 and 32 <= made.threads <= 1024 and made.threads * each <= 2048
        assert n < LEAST or made.capacity >= LEAST
        assert made.shared >= n * np.dtype(dtype).itemsize + 8 * -(-n // 32) + 2 * made.capacity
        if dtype == np.uint64:
            assert made.arcs == "arcs"
        else:
            offsets = made.shared - 4 * n - 8 * -(-n // 32) - 2 * made.capacity
            assert (made.arcs == "fours" and offsets == 2 * (n + 1)) or (made.arcs == "packed" and offsets == 0)
    for n in (1, 40, 600):
        fixed = near_far.row_bytes(n, dtype)
        least = fixed + OWN + 2 * min(n, LEAST)
        there, without = (
            near_far.placed(n, fixed, n, room, whole, processors, 4, "arcs") for room in (least, least - 1)
        )
        assert there.shared + OWN == least and without is None
    heavy = Graph.from_arcs(2, [0, 1], [1, 0], np.array([2**16 - 1, 2**16], np.uint32))
    assert layout(heavy, 2, np.uint32, *machine).arcs == "arcs"


def test_rows_in_fours():
    degrees = [0, 1, 4, 5, 0, 8, 9]
    sources = np.repeat(np.arange(7), degrees)
    rng = np.random.default_rng(1)
    graph = Graph.from_arcs(7, sources, rng.integers(0, 7, 27), rng.integers(0, 2**16, 27).astype(np.uint32))
    offsets, arcs = arcs_in_fours(graph)
    assert offsets.dtype == np.uint16 and offsets.tolist() == [0, 0, 1, 2, 4, 4, 6, 9]
    for v in range(7):
        row = arcs[4 * offsets[v] : 4 * offsets[v + 1]]
        own = slice(graph.offsets[v], graph.offsets[v + 1])
        assert (row[: degrees[v]] >> 16).tolist() == graph.targets[own].tolist()
        assert (row[: degrees[v]] & 0xFFFF).tolist() == graph.weights[own].tolist()
        # A loop of weight 0 changes nothing.
        assert (row[degrees[v] :] == v << 16).all()


@pytest.mark.parametrize(("fours", "arcs"), [(2**16 - 1, "fours"), (2**16, "packed")])
def test_rows_are_in_fours_as_long_as_16_bits_count_them(fours, arcs):
    # 32,000 rows of five arcs, two fours each, or of nine arcs, three fours.
    degrees = np.full(32_000, 5)
    degrees[: fours - 64_000] = 9
    sources = np.repeat(np.arange(32_000), degrees)
    graph = Graph.from_arcs(32_000, sources, sources, np.ones(len(sources), np.uint32))
    assert fours_of(graph).sum() == fours
    assert layout(graph, 1, np.uint32, *H200).arcs == arcs


def test_long_rows_take_more_lanes():
    for longest, lanes in ((64, 2), (65, 8)):
        degrees = np.array([longest, *[3] * 99])
        sources = np.repeat(np.arange(100), degrees)
        graph = Graph.from_arcs(100, sources, sources, np.ones(len(sources), np.uint32))
        assert layout(graph, 100, np.uint32, *H200).lanes == lanes


def test_a_row_that_follows_and_does_not_fit_32_bits():
    weights = np.array([TOP - 1, 9, 5, 5], np.uint32)
    # Only the way from 0 is too long, and 0 is on no cycle.
    too_long = Graph.from_arcs(4, [0, 1, 2, 3], [1, 2, 3, 2], weights)
    # A sum that does not fit, beside one that does.
    beside = Graph.from_arcs(4, [0, 1, 2, 3, 0], [1, 2, 3, 2, 2], np.r_[weights, 3].astype(np.uint32))
    for graph, dtype in ((too_long, np.uint64), (beside, np.uint32)):
        distances = apsp.solve(graph, None, "fast", "cpu")
        assert distances.dtype == dtype
        assert_equals_scipy(graph, range(4), distances)
