"""Many sources in one sweep on the GPU, against SciPy and the CPU twin; needs a CUDA device."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_apsp import assert_equals_scipy, by_scipy
from test_apsp_sweep import grid
from test_phast import both_ways
from test_sssp import graphs

from saitan import apsp
from saitan.apsp import sweep
from saitan.graph import Graph

pytest.importorskip("pycuda.driver", exc_type=ImportError)
from saitan.apsp import cuda_sweep

pytestmark = pytest.mark.gpu


def swept(graph, first=0, count=0, core=4):
    solver = apsp.prepare(apsp.instance({"graph": graph}, sources=count), "sweep", "cuda", core=core)
    count = count or graph.n
    try:
        solver.matrix.fill(77)
        run = solver.run([first, count])
        solver.validate()
        assert_equals_scipy(graph, range(first, first + count), solver.answer()["distances"])
        return run
    finally:
        solver.close()


@settings(max_examples=30)
@given(graphs(), st.sampled_from([1, 3, 1024]))
def test_equals_scipy(graph_and_source, core):
    if graph_and_source[0].weights.dtype == np.uint32:
        swept(graph_and_source[0], core=core)


@pytest.mark.parametrize("most", [128, 512, 1024])
def test_batches_and_vertices_that_do_not_fill_the_last(monkeypatch, most):
    monkeypatch.setattr(cuda_sweep, "MOST", most)
    monkeypatch.setattr(cuda_sweep, "ROOM", 16)
    graph = grid(41, 37, 0)
    for core in (1, 200, 2048):
        assert swept(graph, core=core).counters["together"] == most
    swept(graph, first=3, count=130)


def test_places_that_wrap():
    graph = grid(30, 30)
    solver = apsp.prepare(apsp.instance({"graph": graph}), "sweep", "cuda", core=10)
    solver.run([0, 900])
    solver.sweep._base = 2**32 - 700
    for _ in range(3):
        solver.matrix.fill(77)
        solver.run([0, 900])
        solver.validate()
    assert 0 < solver.sweep._base < 10_000
    solver.close()


def test_one_way_streets_and_parts_that_are_not_connected():
    half = grid(20, 20)
    kept = np.random.default_rng(1).random(half.m) < 0.8
    sources, targets, weights = half.sources[kept], half.targets[kept], half.weights[kept]
    graph = Graph.from_arcs(900, np.r_[sources, sources + 400], np.r_[targets, targets + 400], np.r_[weights, weights])
    for core in (1, 64):
        swept(graph, core=core)


@pytest.mark.parametrize("make", [both_ways, Graph.from_arcs])
@pytest.mark.parametrize("core", [1, 9])
def test_sums_that_need_64_bits_inside_or_in_the_answer(make, core):
    for arc, bits in ((2**28, 32), (2**29 - 1, 32), (2**32 - 2, 64), (2**31, 64)):
        graph = make(9, np.arange(8), np.arange(1, 9), np.full(8, arc, np.uint32))
        assert swept(graph, core=core).counters["distance_bits"] == bits


def test_fast_sweeps_maps(monkeypatch):
    monkeypatch.setattr(sweep, "LEAST", 100)
    graph = grid(40, 40)
    solver = apsp.prepare(apsp.instance({"graph": graph}), "fast", "cuda")
    assert solver.run([0, graph.n]).counters["together"] == 1024
    assert np.array_equal(solver.answer()["distances"], by_scipy(graph, 0, graph.n))
    solver.close()
