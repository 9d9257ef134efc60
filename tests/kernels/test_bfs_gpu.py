"""The GPU variants of BFS against SciPy, their CPU twins and the validator; needs a CUDA device."""

import numpy as np
import pytest
from bfs_cases import (
    GRAPHS,
    cases,
    directed,
    held,
    kronecker,
    path,
    poison,
    random_directed,
    spoiled,
    star,
    triangle,
    undirected,
)
from hypothesis import given, settings

from saitan import bfs
from saitan.bfs.validate import check
from saitan.generators import GENERATORS
from saitan.problem import Invalid, Unavailable

pytestmark = pytest.mark.gpu

GPU = [name for name, v in bfs.VARIANTS.items() if v.cuda and not v.foreign and name in bfs._answering("search")]
# Any graph at all; the others refuse what is too dense.
ANY = [name for name in GPU if name != "phast"]
PAPERS = ["hybrid", "top-down", "bottom-up"]


def put(there, values):
    """Values at the front of an array of the host or the device, which may be longer."""
    front = there[: len(values)]
    if isinstance(front, np.ndarray):
        front[:] = values
    else:
        front.set(values)


@pytest.mark.parametrize("variant", GPU)
@settings(max_examples=25)
@given(case=cases())
def test_equals_scipy_and_is_valid(variant, case):
    graph, root = case
    solver = bfs.prepare(graph, variant, "cuda")
    solver.run(root)
    poison(solver)
    solver.run(root)
    solver.validate()
    answer = solver.answer()
    solver.close()
    assert bfs.differs(bfs.reference(graph, root), answer) is None
    check(graph, root, answer["levels"], answer["parents"])


@pytest.mark.parametrize("variant", ANY)
@pytest.mark.parametrize("name", GRAPHS)
def test_levels_are_the_cpu_twins_and_parents_valid(variant, name):
    graph = GRAPHS[name]()
    solver = bfs.prepare(graph, variant, "cuda")
    for root in bfs.queries(graph, 4, 7):
        run = solver.run(root)
        solver.validate()
        answer = solver.answer()
        twin = bfs.solve(graph, root, "fast", "cpu")
        assert np.array_equal(answer["levels"], twin.levels)
        check(graph, root, answer["levels"], answer["parents"])
        assert run.counters["edges"] == twin.run.counters["edges"]
        assert run.counters["levels"] == twin.levels.max() + 1
    solver.close()


@pytest.mark.parametrize("variant", PAPERS)
def test_the_trace_is_the_twins(variant):
    for graph in (kronecker(12), random_directed(5000, 60_000, 4)):
        for root in bfs.queries(graph, 3, 1):
            ours, twin = (bfs.solve(graph, root, variant, backend).run.phases for backend in ("cuda", "cpu"))
            assert ours["direction"].tolist() == twin["direction"].tolist()
            assert ours["frontier"].tolist() == twin["frontier"].tolist()
            # A warp looks at 32 arcs at a time, a thread at one.
            for way, mine, theirs in zip(ours["direction"], ours["inspected"], twin["inspected"], strict=True):
                assert mine == theirs if way == "top-down" else theirs <= mine <= graph.m


def test_bottom_up_of_small_degrees_looks_at_what_its_twin_does():
    graph = GENERATORS["road_rail"](vertices=3000, arcs=9600, seed=2)
    ours, twin = (bfs.solve(graph, 5, "bottom-up", backend).run for backend in ("cuda", "cpu"))
    assert ours.phases["inspected"].tolist() == twin.phases["inspected"].tolist()


@pytest.mark.parametrize("variant", GPU)
def test_offsets_of_64_bits(variant, monkeypatch):
    from saitan.bfs import cuda_step

    monkeypatch.setattr(cuda_step, "WIDE_ARCS", 1000)
    for graph in (kronecker(11), random_directed(3000, 40_000, 5)):
        solver = bfs.prepare(graph, variant, "cuda")
        root = bfs.queries(graph, 1, 1)[0]
        solver.run(root)
        solver.validate()
        assert bfs.differs(bfs.reference(graph, root), solver.answer()) is None
        solver.close()


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("direction", ["top_down", "bottom_up"])
def test_a_step_over_a_block_is_that_of_its_definition(direction, wide, monkeypatch):
    """Parents are numbered from the block's first tail, and the arcs that leave what was found are counted."""
    from saitan.bfs import cuda_step
    from saitan.cuda import device
    from saitan.cuda.buffers import Buffers, pointer

    device()
    monkeypatch.setattr(cuda_step, "WIDE_ARCS", 1000 if wide else 2**31)
    n, first_tail = 700, 1_000_000
    # Rows of a block's width, a warp's, one less, and short ones; the first and the last vertex among the tails.
    widths = {0: 256, 5: 300, 64: 32, 65: 31, 66: 33, 200: 1, 201: 0, 699: 5}
    # Heads that so many tails lead to, of which the last alone is in the frontier.
    crowded = {300: 32, 301: 33, 302: 64, 303: 65, 304: 31}
    random = np.random.default_rng(4)
    member = np.isin(np.arange(n), list(widths))
    free = np.setdiff1d(np.arange(n), list(crowded))
    pairs = [(u, v) for u, width in widths.items() for v in random.choice(free, width, replace=False)]
    outside = np.flatnonzero(~member)
    pairs += [(u, v) for v, count in crowded.items() for u in random.choice(outside, count - 1, replace=False)]
    pairs += [(n - 1, v) for v in crowded]
    pairs += [(u, v) for u, v in random.choice(free, (900, 2)) if not member[u]]
    graph = directed(n, pairs)
    turned = graph.transposed()
    seen = member | (random.random(n) < 0.2)
    seen[list(crowded)] = False
    led = np.zeros(n, bool)
    led[graph.targets[member[graph.sources]]] = True
    new = led & ~seen

    def packed(flags, beyond=0):
        bits = np.full(-(-n // 32) * 32, beyond, np.uint8)
        bits[:n] = flags
        return np.packbits(bits, bitorder="little").view(np.uint32)

    buffers = Buffers(0, "test")
    try:
        step = cuda_step.DeviceStep(graph, turned, buffers, first_tail)
        frontier, visited = buffers.upload(packed(member)), buffers.upload(packed(seen, 1))
        following = buffers.upload(np.zeros(-(-n // 32), np.uint32))
        levels, parents = (buffers.upload(np.full(n, -1, np.int32)) for _ in range(2))
        step.forget()
        sets = [pointer(array) for array in (frontier, visited, following, parents)]
        getattr(step, direction)(*sets, 0, -(-n // 32))
        step.commit(*(pointer(array) for array in (following, visited, levels)), 7)
        record, parents = step.record.get()[0], parents.get()
        assert np.array_equal(following.get(), packed(new))
        assert np.array_equal(visited.get(), packed(seen | new, 1))
        assert np.array_equal(levels.get(), np.where(new, 7, -1))
    finally:
        buffers.free()
    assert record["found"] == new.sum() and record["leaving"] == graph.degrees[new].sum()
    arcs = set(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
    assert all((parents[v] - first_tail, v) in arcs and member[parents[v] - first_tail] for v in np.flatnonzero(new))
    assert (parents[~new] == -1).all()
    if direction == "top_down":
        assert record["arcs"] == graph.degrees[member].sum() and record["listed"] == member.sum()


@pytest.mark.parametrize("ratio", ["0:1", "1:3", "1:1", "measured"])
def test_cpu_and_gpu_together(ratio):
    for graph in (kronecker(15), random_directed(40_000, 300_000, 6)):
        solver = bfs.prepare(graph, "cpu-gpu", "cuda", ratio=ratio)
        for root in bfs.queries(graph, 6, 1):
            run = solver.run(root)
            solver.validate()
            assert bfs.differs(bfs.reference(graph, root), solver.answer()) is None
            share = run.counters["cpu_share"]
            wanted = {"0:1": 0, "1:3": 0.25, "1:1": 0.5}.get(ratio)
            assert 0 < share < 1 if wanted is None else abs(share - wanted) < 0.01
        solver.close()


@pytest.mark.parametrize("variant", GPU)
def test_the_validator_refuses_what_is_spoiled(variant):
    graphs = [
        (kronecker(8), None),
        (triangle(), 0),
        (undirected(70, [(0, 1), (1, 2), (0, 3), (3, 69), (68, 67), (3, 1), (2, 3)]), 0),
    ]
    for graph, root in graphs:
        root = bfs.queries(graph, 1, 2)[0] if root is None else root
        solver = bfs.prepare(graph, variant, "cuda")
        solver.run(root)
        solver.validate()
        right = [solver.answer()[name].copy() for name in ("levels", "parents")]
        for what, *wrong in spoiled(graph, root, *right):
            for there, values in zip(held(solver), wrong, strict=True):
                put(there, values)
            with pytest.raises(Invalid):
                solver.validate()
                print(what)
        for there, values in zip(held(solver), right, strict=True):
            put(there, values)
        solver.validate()
        solver.close()


def test_a_path_of_200_000_vertices():
    graph = path(200_000)
    result = bfs.solve(graph, 0, "fast", "cuda")
    assert np.array_equal(result.levels, np.arange(200_000))
    check(graph, 0, result.levels, result.parents)


@pytest.mark.parametrize("variant", ANY)
def test_a_star_of_a_million_leaves(variant):
    graph = star(1_000_000)
    for root in (0, 1_000_000):
        result = bfs.solve(graph, root, variant, "cuda")
        check(graph, root, result.levels, result.parents)


def test_a_graph_too_large_is_refused_before_any_upload(monkeypatch):
    import pycuda.driver as driver

    graph = kronecker(8)
    monkeypatch.setattr(driver, "mem_get_info", lambda: (1000, 2**34))
    for variant in GPU:
        with pytest.raises(Unavailable, match=r"needs 0\.00 GiB of GPU memory, 0\.00 GiB of 16\.00 GiB are free"):
            bfs.prepare(graph, variant, "cuda")


def test_memory_is_given_back(card_alone):
    import pycuda.driver as driver

    graph = kronecker(12)
    for variant in GPU:
        bfs.solve(graph, bfs.queries(graph, 1, 1)[0], variant, "cuda")
    before = driver.mem_get_info()[0]
    for variant in GPU:
        bfs.solve(graph, bfs.queries(graph, 1, 1)[0], variant, "cuda")
    assert driver.mem_get_info()[0] == before


def test_the_hierarchy_on_roads():
    graph = GENERATORS["road_rail"](vertices=20_000, arcs=64_200, seed=2)
    solver = bfs.prepare(graph, "phast", "cuda")
    for root in bfs.queries(graph, 3, 1):
        run = solver.run(root)
        solver.validate()
        assert bfs.differs(bfs.reference(graph, root), solver.answer()) is None
        assert run.disturbed == "" and run.work["bytes"] > 0
    solver.close()
