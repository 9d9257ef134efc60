"""The GPU variants of all-pairs shortest paths against SciPy and their CPU twins; needs a CUDA device."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_apsp import BATCHED, DENSE, TOP, assert_equals_scipy, random_graph
from test_apsp_validate import spoiled
from test_sssp import graphs

from saitan import apsp
from saitan.generators import GENERATORS
from saitan.graph import Graph
from saitan.problem import Invalid, Unavailable

pytestmark = pytest.mark.gpu

CLOSING = [name for name in DENSE if apsp.VARIANTS[name].cuda]
GPU = [name for name, v in apsp.VARIANTS.items() if v.cuda and not v.foreign and name not in DENSE]
FLOATS = [name for name in GPU if "integer" not in apsp.VARIANTS[name].graph]


def prepared(graph, variant, sources=0, **parameters):
    return apsp.prepare(apsp.instance({"graph": graph}, sources=sources), variant, "cuda", **parameters)


@pytest.mark.parametrize("variant", GPU)
@settings(max_examples=30)
@given(case=graphs(), data=st.data())
def test_equals_scipy(variant, case, data):
    graph, first = case
    if variant not in FLOATS and graph.weights.dtype == np.float32:
        return
    sources = range(first, data.draw(st.integers(first + 1, graph.n)))
    solver = prepared(graph, variant)
    solver.run([sources.start, len(sources)])
    solver.validate()
    assert_equals_scipy(graph, sources, solver.answer()["distances"])
    solver.close()


@pytest.mark.parametrize("variant", GPU)
@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
def test_equals_the_cpu_twin_to_the_bit(variant, dtype):
    if variant not in FLOATS and dtype == np.float32:
        pytest.skip("integers only")
    graph = random_graph(1111, 5000, 0, 1000, dtype, 11)
    solver = prepared(graph, variant)
    expected = apsp.solve(graph, None, "iterated", "cpu")
    for first, count in ((0, 1111), (1110, 1), (5, 77)):
        solver.matrix.fill(77)
        solver.run([first, count])
        solver.validate()
        assert solver.answer()["distances"].tobytes() == expected[first : first + count].tobytes()
    solver.close()


@pytest.mark.parametrize("variant", BATCHED)
@pytest.mark.parametrize("tasks", [8, 16, 32, 64, 128])
def test_every_number_of_tasks_and_rows_longer_than_it(variant, tasks):
    # The first vertex has arcs to all others: its row is staged in several parts.
    heads = np.arange(1, 300)
    rng = np.random.default_rng(tasks)
    graph = Graph.from_arcs(
        301,
        np.concatenate([np.zeros(299, np.int64), rng.integers(0, 301, 900)]),
        np.concatenate([heads, rng.integers(0, 301, 900)]),
        rng.integers(1, 1000, 1199).astype(np.uint32),
    )
    solver = prepared(graph, variant, tasks=tasks)
    for sources in (range(301), range(300, 301), range(1, 1 + tasks), range(1, 2 + tasks)):
        run = solver.run([sources.start, len(sources)])
        solver.validate()
        assert_equals_scipy(graph, sources, solver.answer()["distances"])
    twin = apsp.prepare(apsp.instance({"graph": graph}), variant, "cpu", tasks=tasks).run([1, 1 + tasks])
    assert run.counters["phases"] == twin.counters["phases"]
    solver.close()


@pytest.mark.parametrize("variant", GPU)
@pytest.mark.parametrize(
    ("generator", "parameters"),
    [
        ("rmat", {"vertices": 500, "arcs": 3500, "a": 0.57, "b": 0.19, "c": 0.19, "weight_low": 0, "weight_high": 9}),
        ("ring", {"vertices": 137}),
        ("complete", {"vertices": 141, "weight_low": 0, "weight_high": 3}),
    ],
)
def test_the_papers_families(variant, generator, parameters):
    graph = GENERATORS[generator](**parameters, seed=2)
    solver = prepared(graph, variant)
    solver.run([0, graph.n])
    solver.validate()
    assert_equals_scipy(graph, range(graph.n), solver.answer()["distances"])
    solver.close()


@pytest.mark.parametrize("variant", GPU)
def test_a_sum_beyond_32_bits_widens_and_never_wraps(variant):
    line = Graph.from_arcs(4, np.arange(3), np.arange(1, 4), np.full(3, TOP, np.uint32))
    distances = apsp.solve(line, None, variant, "cuda")
    assert distances.dtype == np.uint64
    assert distances[0].tolist() == [0, TOP, 2 * TOP, 3 * TOP]
    assert distances[3].tolist() == [2**64 - 1] * 3 + [0]
    near = Graph.from_arcs(3, [0, 1], [1, 2], np.array([TOP - 3, 2], np.uint32))
    assert apsp.solve(near, None, variant, "cuda")[0].tolist() == [0, TOP - 3, TOP - 1]
    near = Graph.from_arcs(3, [0, 1], [1, 2], np.array([TOP - 3, 3], np.uint32))
    distances = apsp.solve(near, None, variant, "cuda")
    assert distances.dtype == np.uint64 and distances[0].tolist() == [0, TOP - 3, TOP]
    if variant in FLOATS:
        floats = Graph.from_arcs(3, np.arange(2), np.arange(1, 3), np.full(2, np.float32(3e38)))
        assert apsp.solve(floats, None, variant, "cuda")[0, 2] == 2 * float(np.float32(3e38))


@pytest.mark.parametrize("variant", CLOSING)
@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
def test_dense_matrices(variant, dtype):
    graph = random_graph(700, 2000, 0, 1000, dtype, 4)
    solver = prepared(graph, variant)
    for first, count in ((0, 700), (650, 50)):
        solver.run([first, count])
        solver.validate()
        assert_equals_scipy(graph, range(first, first + count), solver.answer()["distances"])
    solver.close()
    if dtype == np.uint32:
        line = Graph.from_arcs(3, [0, 1], [1, 2], np.full(2, 2**29, np.uint32))
        with pytest.raises(Unavailable, match="fast answers with 64 bits"):
            apsp.solve(line, None, variant, "cuda")


@pytest.mark.parametrize("degree", [4, 40])
@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
def test_the_certificate_refuses_one_spoiled_entry(degree, dtype):
    graph = random_graph(700, 700 * degree, 1, 1000, dtype, 8)
    solver = prepared(graph, "batched", sources=600)
    solver.run([100, 600])
    solver.validate()
    right = solver.matrix.get()
    rng = np.random.default_rng(1)
    places = [(0, 0), (0, 699), (599, 0), (599, 699), (599, 698), (0, 100), (599, 699)]
    places += [tuple(place) for place in rng.integers(0, [600, 700], (20, 2)).tolist()]
    for place in places:
        for how in ("more", "less", "unreached", "zero"):
            changed = spoiled(right[place], how)
            if changed is None:
                continue
            wrong = right.copy()
            wrong[place] = changed
            solver.matrix.set(wrong)
            with pytest.raises(Invalid, match=rf"source {100 + place[0]}[, ]"):
                solver.validate()
    solver.matrix.set(right)
    solver.validate()
    solver.close()


def test_zero_weights_hang_in_trees_and_circles_do_not(monkeypatch):
    # A few rows of marks at a time, so that the last ones have a slab of their own.
    monkeypatch.setattr("saitan.apsp.cuda_validate.MARKS", 7 * 500)
    graph = random_graph(500, 1500, 0, 2, np.uint32, 9)
    solver = prepared(graph, "batched")
    solver.run([0, 500])
    solver.validate()
    solver.close()
    # 498 and 499 hold each other by zeros; nothing leads to them.
    pair = Graph.from_arcs(
        500, np.r_[np.arange(497), 498, 499], np.r_[np.arange(1, 498), 499, 498], np.zeros(499, np.uint32)
    )
    solver = prepared(pair, "batched")
    solver.run([0, 500])
    solver.validate()
    wrong = solver.matrix.get()
    wrong[489, 498:] = 5
    solver.matrix.set(wrong)
    with pytest.raises(Invalid, match=r"vertex 498 \(distance 5\) has no tight path from the source 489"):
        solver.validate()
    solver.close()


def test_a_matrix_too_large_is_refused_before_any_upload(monkeypatch):
    import pycuda.driver as driver

    graph = random_graph(1000, 3000, 1, 9, np.uint32, 1)
    monkeypatch.setattr(driver, "mem_get_info", lambda: (2_000_000, 2**34))
    with pytest.raises(Unavailable, match=r"from 1,000 sources .* need 0\.00 GiB of GPU memory, .*; 4\d\d sources fit"):
        prepared(graph, "batched")
    with pytest.raises(Unavailable, match=r"need 0\.00 GiB of GPU memory, 0\.00 GiB of 16\.00 GiB are free$"):
        prepared(graph, "floyd-warshall")


def test_memory_is_given_back(card_alone):
    import pycuda.driver as driver

    graph = random_graph(3000, 12_000, 1, 9, np.uint32, 1)
    apsp.solve(graph, None, "batched", "cuda")
    before = driver.mem_get_info()[0]
    for _ in range(3):
        apsp.solve(graph, None, "batched", "cuda")
    assert driver.mem_get_info()[0] == before


def test_memory_is_counted():
    graph = random_graph(3000, 12_000, 1, 9, np.uint32, 1)
    solver = prepared(graph, "batched")
    run = solver.run([0, 3000])
    assert solver.memory == run.counters["work_bytes"] + 4 * 3000**2
    assert run.counters["work_bytes"] == 4 * 3001 + 8 * 12_000 + 3000 * 32 * 9 + 8
    assert solver.answer()["distances"].shape == (3000, 3000)
    rows = [block.array.copy() for block in solver.blocks(np.array([0, 2999]))]
    assert np.array_equal(np.concatenate(rows), solver.answer()["distances"][[0, 2999]])
    solver.close()
