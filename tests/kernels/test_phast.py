"""sssp phast on the CPU, and the hierarchy that both backends run on, against SciPy's Dijkstra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra

from saitan import sssp
from saitan.generators.kronecker import kronecker
from saitan.generators.regular import complete, grid
from saitan.graph import Graph
from saitan.problem import Unavailable
from saitan.sssp import cpu_phast, hierarchy
from saitan.sssp.cpu_phast import Phast
from saitan.sssp.hierarchy import FAR, contract
from saitan.sssp.slices import WARP, slice_up


def both_ways(n, tails, heads, weights):
    return Graph.from_arcs(n, np.r_[tails, heads], np.r_[heads, tails], np.tile(weights, 2))


@st.composite
def graphs(draw, highest=(0, 1, 50, 2**32 - 1)):
    """Small graphs with zero and huge weights, parallel arcs, loops, unreachable parts, or one vertex."""
    n = draw(st.integers(1, 60))
    m = draw(st.integers(0, 180))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    weights = random.integers(0, draw(st.sampled_from(highest)), m, endpoint=True).astype(np.uint32)
    make = draw(st.sampled_from([both_ways, Graph.from_arcs]))
    return make(n, random.integers(0, n, m), random.integers(0, n, m), weights)


def right(solver, source):
    solver.distances.fill(7)
    run = solver.run(source)
    solver.validate()
    case = solver.graph.n, solver.graph.m, source
    assert sssp.differs(sssp.reference(solver.graph, source), solver.answer()) is None, case
    return run


@settings(max_examples=100)
@given(graphs(), st.sampled_from([1, 5, 100]))
def test_equals_dijkstra(graph, core):
    solver = Phast(graph, core=core)
    right(solver, graph.n - 1)
    right(solver, 0)


@settings(max_examples=60)
@given(graphs(highest=(0, 1, 50, 10**6)), st.sampled_from([1, 5]))
def test_hierarchy_keeps_every_distance(graph, core):
    h = contract(graph, core)
    assert sorted(h.vertices.tolist()) == list(range(graph.n))
    assert h.core <= core and h.first[0] == 0 and h.first[1] == h.core and h.first[-1] == graph.n
    level = np.repeat(np.arange(h.levels + 1), np.diff(h.first))
    for offsets, others in ((h.up_offsets, h.up_heads), (h.down_offsets, h.down_tails)):
        assert (level[others] < np.repeat(level, np.diff(offsets))).all()
    wanted = dijkstra(graph.to_scipy())[np.ix_(h.vertices, h.vertices)]
    table = np.where(h.table == FAR, np.inf, h.table.astype(float))
    np.testing.assert_array_equal(table, wanted[: h.core, : h.core])
    own = np.repeat(np.arange(graph.n), np.diff(h.up_offsets))
    assert (h.up_lengths >= wanted[own, h.up_heads]).all()
    own = np.repeat(np.arange(graph.n), np.diff(h.down_offsets))
    assert (h.down_lengths >= wanted[h.down_tails, own]).all()


@settings(max_examples=60)
@given(graphs(), st.sampled_from([1, 5]), st.sampled_from([1, 3, 100]))
def test_slices_hold_every_arc_where_its_lanes_look(graph, core, warps):
    h = contract(graph, core)
    s = slice_up(h, warps)
    assert s.vertices[s.slots].tolist() == h.vertices.tolist()
    assert (s.vertices != 2**32 - 1).sum() == graph.n
    arcs = np.full(int(s.rows[-1]) * WARP, -1)
    arcs[s.places] = np.arange(len(s.places))
    found = 0
    for level, (first, slices, log_lanes, first_slot) in enumerate(s.levels.tolist()):
        assert first_slot % WARP == 0 and s.slots[h.first[level + 1]] == first_slot
        for k in range(slices):
            for lane in range(WARP):
                slot = first_slot + k * (WARP >> log_lanes) + (lane >> log_lanes)
                mine = arcs[s.rows[first + k] * WARP + lane : s.rows[first + k + 1] * WARP : WARP]
                mine = mine[mine >= 0]
                found += len(mine)
                if len(mine):
                    position = int(np.flatnonzero(s.slots == slot)[0])
                    assert (h.down_offsets[position] <= mine).all() and (mine < h.down_offsets[position + 1]).all()
    assert found == len(h.down_tails)


def test_a_level_that_all_threads_share():
    # A path whose every vertex has a leaf.
    n = 4 * cpu_phast.ALONE + 5
    tails, heads = np.r_[np.arange(n - 1), np.arange(n)], np.r_[np.arange(1, n), np.arange(n, 2 * n)]
    weights = np.random.default_rng(1).integers(1, 1000, 2 * n - 1, dtype=np.uint32)
    solver = Phast(both_ways(2 * n, tails, heads, weights), core=3)
    assert np.diff(solver.hierarchy.first).max() > 3 * cpu_phast.ALONE
    for source in (0, 2 * n - 1):
        right(solver, source)


def test_the_same_hierarchy_from_any_number_of_threads():
    from numba import get_num_threads, set_num_threads

    graph = grid(width=60, height=50, weight_low=1, weight_high=1000, seed=1)
    solver = Phast(graph, core=30)
    run = right(solver, 77)
    assert run.counters["phases"] == solver.hierarchy.levels + 1 < 60
    assert run.counters["shortcuts"] > 0 and run.counters["relaxations"] >= len(solver.hierarchy.down_tails)
    threads = get_num_threads()
    set_num_threads(1)
    try:
        alone = contract(graph, 30)
    finally:
        set_num_threads(threads)
    for name in ("vertices", "first", "up_heads", "up_lengths", "table"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(solver.hierarchy, name))


def test_a_witness_spares_a_shortcut():
    tails, heads = np.array([0, 1, 2, 3, 0, 1]), np.array([1, 2, 3, 0, 2, 3])
    weights = np.array([5, 5, 5, 5, 10, 10], np.uint32)
    assert contract(both_ways(4, tails[:4], heads[:4], weights[:4]), 2).shortcuts > 0
    assert contract(both_ways(4, tails, heads, weights), 2).shortcuts == 0


@pytest.mark.parametrize("make", [both_ways, Graph.from_arcs])
def test_widens_to_64_bits(make):
    weights = np.full(3, 2**32 - 2, np.uint32)
    for core in (1, 4):
        solver = Phast(make(4, np.arange(3), np.arange(1, 4), weights), core=core)
        run = right(solver, 0)
        assert run.counters["distance_bits"] == 64
        assert solver.answer()["distances"].tolist() == [k * (2**32 - 2) for k in range(4)]


def test_widens_where_no_arc_alone_is_too_long():
    n = 9
    weights = np.full(n - 1, 2**31 - 1, np.uint32)
    solver = Phast(both_ways(n, np.arange(n - 1), np.arange(1, n), weights), core=8)
    solver._allocate(np.dtype(np.uint32))
    right(solver, 0)
    assert right(solver, n - 1).counters["distance_bits"] == 64


@pytest.mark.parametrize("make", [both_ways, Graph.from_arcs])
@pytest.mark.parametrize("n", [3, 4, 6])
def test_a_sum_at_the_limit_widens_and_one_below_it_does_not(make, n):
    """On a line whose whole length is the limit of uint32, from both ends and with every size of the core.

    The upward search, the core's table and the sweep each make the sum in some of the cases.
    """
    limit = 2**32 - 1
    for length in (limit - 1, limit, limit + 1):
        weights = np.full(n - 1, length // (n - 1), np.uint32)
        weights[0] += length - int(weights.sum(dtype=np.int64))
        order = np.random.default_rng(n).permutation(n)
        for place in (np.arange(n), np.arange(n)[::-1], order):
            for core in range(1, n + 1):
                solver = Phast(make(n, place[:-1], place[1:], weights), core=core)
                for source in (place[0], place[-1]):
                    right(solver, int(source))
                    forward = make is both_ways or source == place[0]
                    assert solver.distances.max() == length if forward else True
                assert solver.distances.dtype == (np.uint32 if length < limit else np.uint64)


def test_refuses_floats_and_an_empty_core_in_one_line():
    graph = Graph.from_arcs(2, [0], [1], np.array([1.5], np.float32))
    with pytest.raises(Unavailable, match="phast needs integer weights"):
        sssp.prepare(graph, "phast", "cpu")
    with pytest.raises(ValueError, match="core must be at least 1, not 0"):
        sssp.prepare(graph, "phast", "cpu", core=0)


def test_gives_up_on_small_worlds_in_one_line(monkeypatch):
    graph = kronecker(scale=12, seed=1, weight_low=1, weight_high=255)
    solver = Phast(graph, core=100)
    assert solver.hierarchy.core > 100
    right(solver, int(graph.degrees.argmax()))
    monkeypatch.setattr(hierarchy, "CORE", 400)
    with pytest.raises(Unavailable, match=r"be contracted: .* of 4,096 vertices are left with \d+ neighb") as e:
        contract(graph, 100)
    assert "\n" not in str(e.value)
    with pytest.raises(Unavailable, match="400 of 400 vertices are left with 399 neighbours each"):
        contract(complete(vertices=400, seed=1), 400)
