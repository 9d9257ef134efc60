"""Many sources in one sweep down a hierarchy, on the CPU: what leads upwards, bounds, 64 bits, what fast takes."""

import apsp_sweeps
import numpy as np
import pytest
from apsp_sweeps import asked, grid
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph
from test_apsp import random_graph
from test_phast import both_ways
from test_sssp import graphs

from saitan import apsp
from saitan.apsp import sweep
from saitan.graph import Graph
from saitan.sssp.hierarchy import contract


@settings(max_examples=80)
@given(graphs(), st.sampled_from([1, 3, 1024]), st.data())
def test_what_leads_upwards(graph_and_source, core, data):
    graph = graph_and_source[0]
    if graph.weights.dtype != np.uint32:
        return
    h = contract(graph, core)
    sources = np.array(data.draw(st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=9)))
    climber = sweep.Climber(h)
    for _ in range(2):
        up = climber.climb(sources)
        matrix = np.zeros((graph.n, graph.n))
        for v in range(graph.n):
            matrix[v, h.up_heads[h.up_offsets[v] : h.up_offsets[v + 1]]] = 1
        reached = np.isfinite(csgraph.shortest_path(matrix, indices=climber.position[sources])).any(axis=0)
        assert up.position.tolist() == np.flatnonzero(reached)[::-1].tolist()
        assert (up.position[up.own] == climber.position[sources]).all()
        # Arcs: all of the positions' own, from a lower level.
        assert len(up.tails) == sum(int(h.up_offsets[v + 1] - h.up_offsets[v]) for v in up.position.tolist())
        into = np.repeat(np.arange(len(up.position)), np.diff(up.offsets.astype(np.int64)))
        level = np.searchsorted(up.starts[1:], np.arange(len(up.position)), side="right")
        assert (level[up.tails] < level[into]).all()
        for tail, to, length in zip(up.tails.tolist(), into.tolist(), up.lengths.tolist(), strict=True):
            v, w = int(up.position[tail]), int(up.position[to])
            mine = slice(h.up_offsets[v], h.up_offsets[v + 1])
            assert length in h.up_lengths[mine][h.up_heads[mine] == w]
        assert (up.position[up.core :] < h.core).all() and (up.position[: up.core] >= h.core).all()


@pytest.mark.parametrize("core", [1, 30, 1024])
@pytest.mark.parametrize(("low", "high"), [(0, 3), (1, 1000)])
def test_levels_and_batches_that_are_not_full(core, low, high):
    graph = grid(23, 29, low, high)
    solver = apsp.prepare(apsp.instance({"graph": graph}), "sweep", "cpu", core=core)
    counters = asked(solver, 0, graph.n)
    assert counters["together"] == 16 and counters["phases"] == 42 * (solver.hierarchy.levels + 1)
    for first, count in ((0, 1), (666, 1), (5, 17)):
        asked(solver, first, count)


def test_one_way_streets_and_parts_that_are_not_connected():
    apsp_sweeps.one_way_streets_and_parts_that_are_not_connected("cpu")


def test_sums_that_need_64_bits_inside_or_in_the_answer():
    apsp_sweeps.sums_that_need_64_bits_inside_or_in_the_answer("cpu")


def test_the_longest_path_is_a_bound():
    for graph in (grid(20, 20), both_ways(9, np.arange(8), np.arange(1, 9), np.full(8, 2**32 - 2, np.uint32))):
        for core in (1, 5, 1024):
            found = csgraph.dijkstra(graph.to_scipy())
            assert sweep.longest_path(contract(graph, core)) >= found[np.isfinite(found)].max()


def test_fast_sweeps_maps_only(monkeypatch):
    monkeypatch.setattr(sweep, "LEAST", 100)
    ring = both_ways(200, np.arange(200), (np.arange(200) + 1) % 200, np.ones(200, np.uint32))
    for graph, wanted in ((grid(20, 20), True), (ring, True), (random_graph(400, 1600, 1, 9, np.uint32, 1), False)):
        solver = apsp.prepare(apsp.instance({"graph": graph}), "fast", "cpu")
        assert ("together" in solver.run([0, graph.n]).counters) == wanted
        solver.validate()
    weighted = grid(20, 20)
    floats = Graph(weighted.offsets, weighted.targets, weighted.weights.astype(np.float32))
    assert not sweep.looks_like_map(floats)
