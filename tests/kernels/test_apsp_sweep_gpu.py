"""Many sources in one sweep on the GPU, against SciPy and the CPU twin; needs a CUDA device."""

import apsp_sweeps
import numpy as np
import pytest
from apsp_sweeps import asked, grid, swept
from hypothesis import given, settings
from hypothesis import strategies as st
from test_apsp import by_scipy
from test_sssp import graphs

from saitan import apsp
from saitan.apsp import sweep

pytest.importorskip("pycuda.driver", exc_type=ImportError)
from saitan.apsp import cuda_sweep

pytestmark = pytest.mark.gpu


@settings(max_examples=30)
@given(graphs(), st.sampled_from([1, 3, 1024]))
def test_equals_scipy(graph_and_source, core):
    if graph_and_source[0].weights.dtype == np.uint32:
        swept("cuda", graph_and_source[0], core=core)


@pytest.mark.parametrize("most", [128, 512, 1024])
def test_batches_and_vertices_that_do_not_fill_the_last(monkeypatch, most):
    monkeypatch.setattr(cuda_sweep, "MOST", most)
    monkeypatch.setattr(cuda_sweep, "ROOM", 16)
    graph = grid(41, 37, 0)
    for core in (1, 200, 2048):
        assert swept("cuda", graph, core=core)["together"] == most
    swept("cuda", graph, first=3, count=130)


def test_places_that_wrap():
    solver = apsp.prepare(apsp.instance({"graph": grid(30, 30)}), "sweep", "cuda", core=10)
    solver.run([0, 900])
    solver.sweep._base = 2**32 - 700
    for _ in range(3):
        asked(solver, 0, 900)
    assert 0 < solver.sweep._base < 10_000
    solver.close()


def test_one_way_streets_and_parts_that_are_not_connected():
    apsp_sweeps.one_way_streets_and_parts_that_are_not_connected("cuda")


def test_sums_that_need_64_bits_inside_or_in_the_answer():
    apsp_sweeps.sums_that_need_64_bits_inside_or_in_the_answer("cuda")


def test_fast_sweeps_maps(monkeypatch):
    monkeypatch.setattr(sweep, "LEAST", 100)
    graph = grid(40, 40)
    solver = apsp.prepare(apsp.instance({"graph": graph}), "fast", "cuda")
    assert solver.run([0, graph.n]).counters["together"] == 1024
    assert np.array_equal(solver.answer()["distances"], by_scipy(graph, 0, graph.n))
    solver.close()
