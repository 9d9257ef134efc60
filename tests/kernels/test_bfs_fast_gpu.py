"""The engines and the layout of fast BFS on a GPU; needs a CUDA device."""

from contextlib import closing

import numpy as np
import pytest
from bfs_cases import (
    GRAPHS,
    directed,
    expander,
    kronecker,
    layered,
    path,
    poison,
    random_directed,
    star,
    undirected,
)

from saitan import bfs
from saitan.generators import GENERATORS
from saitan.problem import Unavailable

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("engine", ["Grid", "Hops", "Road"])
@pytest.mark.parametrize("shared", [8192, 40])
def test_every_way_of_fast_on_roads(engine, shared, monkeypatch):
    """By the grid, by hops, and by one block with queues that end in shared memory or go on in device memory."""
    from saitan.bfs import cuda_fast

    monkeypatch.setattr(cuda_fast, "MOST_QUEUED", shared)
    monkeypatch.setattr(
        cuda_fast.Fast, "_fastest", lambda fast: next(e for e in fast.engines if type(e).__name__ == engine)
    )
    rng = np.random.default_rng(3)
    graphs = [
        GENERATORS["road_rail"](vertices=20_000, arcs=64_200, seed=2),
        GENERATORS["grid"](width=200, height=150, weight_low=1, weight_high=1, seed=1),
        undirected(3000, rng.integers(0, 3000, (9000, 2))),
        random_directed(3000, 9000, 8),
        path(33),
        undirected(80, [(0, v) for v in range(1, 65)]),
    ]
    for graph in graphs:
        solver = bfs.prepare(graph, "fast", "cuda")
        for root in bfs.queries(graph, 3, 1):
            solver.run(root)
            poison(solver)
            run = solver.run(root)
            solver.validate()
            assert run.disturbed == ""
            expected = bfs.reference(graph, root)
            assert bfs.differs(expected, solver.answer()) is None
            assert run.counters["levels"] == expected.arrays["levels"].max() + 1
            if engine == "Road":
                assert run.counters["inspected"] == graph.degrees[expected.arrays["levels"] >= 0].sum()
        solver.close()


def test_the_trace_of_fast():
    graph = kronecker(16)
    root = bfs.queries(graph, 1, 1)[0]
    result = bfs.solve(graph, root, "fast", "cuda")
    trace, sizes = result.run.phases, np.bincount(result.levels[result.levels >= 0])
    assert trace["frontier"].tolist() == sizes.tolist()
    assert set(trace["direction"]) == {"top-down", "bottom-up"}
    assert trace["inspected"].sum() == result.run.counters["inspected"]
    assert 0 < trace["seconds"].sum() <= result.run.kernel
    assert result.run.counters["search_s"] <= result.run.kernel


def test_fast_goes_bottom_up_where_its_arcs_are_many():
    """Not where the frontier is a crowd of vertices of few arcs."""
    from saitan.bfs.layout import Layout
    from saitan.bfs.search import reverse

    graph = expander(1 << 15, 8, 0, 2)
    layout = Layout.of(graph, reverse(graph))
    trace = bfs.solve(graph, 0, "fast", "cuda").run.phases
    levels = bfs.reference(graph, 0).arrays["levels"][layout.old]
    before = "top-down"
    assert (trace["frontier"] > graph.n / 256).sum() > 2 and set(trace["direction"]) == {"top-down", "bottom-up"}
    for level, way in enumerate(trace["direction"]):
        if before == "top-down":
            arcs = layout.forward.degrees[levels == level].sum()
            assert way == ("bottom-up" if 20 * arcs > layout.forward.m else "top-down")
        before = way


@pytest.mark.parametrize("directed_arcs", [True, False])
def test_fast_where_a_warp_has_many_words(directed_arcs):
    """Vertices whose first entry misses come from several words, and more of them than there are lanes."""
    n = 700_000
    graph = random_directed(n, 8 * n, 5) if directed_arcs else expander(n, 4, 0, 5)
    with closing(bfs.prepare(graph, "fast", "cuda")) as solver:
        for root in bfs.queries(graph, 2, 3):
            solver.run(root)
            poison(solver)
            trace = solver.run(root).phases
            assert trace["frontier"][trace["direction"] == "bottom-up"].max() > n / 20
            solver.validate()
            assert bfs.differs(bfs.reference(graph, root), solver.answer()) is None


def test_a_grid_that_is_not_resident_gives_up(monkeypatch):
    from saitan.bfs import cuda_fast

    monkeypatch.setattr(cuda_fast, "RESIDENT", 5)
    monkeypatch.setattr(cuda_fast, "TIMEOUT_MS", 50)
    graph = kronecker(10)
    solver = bfs.prepare(graph, "fast", "cuda")
    with pytest.raises(Unavailable, match="fast gave up on"):
        solver.run(bfs.queries(graph, 1, 1)[0])
    solver.close()


@pytest.mark.parametrize("wide", [False, True])
def test_the_layout_made_there_is_the_one_made_here(wide, monkeypatch):
    from saitan.bfs import arrange, cuda_step
    from saitan.bfs.layout import Layout
    from saitan.bfs.search import reverse
    from saitan.cuda.buffers import Buffers

    if wide:
        monkeypatch.setattr(cuda_step, "WIDE_ARCS", 100)
    rng = np.random.default_rng(5)
    graphs = [kronecker(12), random_directed(3000, 40_000, 5), random_directed(5000, 4000, 6), star(3000), path(2)]
    # Loops alone, one arc, the last vertex with all arcs in.
    graphs += [
        undirected(40, [(3, 3), (5, 6), (6, 6)]),
        directed(33, [(0, 32)]),
        directed(64, [(v, 63) for v in range(60)]),
    ]
    graphs.append(undirected(257, rng.integers(0, 257, (3000, 2))))
    for graph in graphs:
        buffers = Buffers(0, "rows")
        rows = cuda_step.Rows.upload(graph, buffers)
        there = arrange.DeviceLayout.arranged(rows, graph.directed, buffers)
        here = Layout.of(graph, reverse(graph))
        vertices = there.numbering(graph.n)
        assert np.array_equal(vertices.old, here.old) and np.array_equal(vertices.new, here.new)
        assert (there.backward is there.forward) == (not graph.directed)
        for ours, twin in ((there.forward, here.forward), (there.backward, here.backward)):
            assert np.array_equal(ours.offsets.get(), twin.offsets) and np.array_equal(ours.ends.get(), twin.targets)
        uploaded = arrange.DeviceLayout.uploaded(here, buffers)
        for name in ("first", "place"):
            assert np.array_equal(getattr(there, name).get(), getattr(uploaded, name).get())
        assert (there.place.get()[graph.n :] == -1).all() and there.number(0) == here.new[0]
        buffers.free()


@pytest.mark.parametrize("wide", [False, True])
def test_pieces_of_long_rows(wide, monkeypatch):
    """All first ones before all second ones; together they are the rows."""
    from saitan.bfs import arrange, cuda_step
    from saitan.cuda.buffers import Buffers

    if wide:
        monkeypatch.setattr(cuda_step, "WIDE_ARCS", 100)
    longest, size = arrange.LONGEST, arrange.LONG_PIECE
    for graph in (kronecker(12), random_directed(200, 40_000, 5), star(3000), path(5), GRAPHS["rows"]()):
        buffers = Buffers(0, "rows")
        hubs = arrange.hub_pieces(cuda_step.Rows.upload(graph, buffers), buffers).get()
        wanted = [
            (first // size, v, min(size, degree - first), graph.offsets[v] + first)
            for v, degree in enumerate(graph.degrees.tolist())
            if degree > longest
            for first in range(0, degree, size)
        ]
        assert hubs.tolist() == [(v, count, first) for _, v, count, first in sorted(wanted)]
        buffers.free()


def bipartite(left, right, arcs, seed):
    """Arcs both ways between few vertices and many; all of them where arcs is 0."""
    rng = np.random.default_rng(seed)
    if arcs:
        ends = np.stack([rng.integers(0, left, arcs), rng.integers(left, left + right, arcs)], 1)
    else:
        ends = np.stack(np.meshgrid(np.arange(left), left + np.arange(right)), -1).reshape(-1, 2)
    return undirected(left + right, ends)


@pytest.mark.parametrize("wide", [False, True])
def test_long_rows_that_hold_no_parent_are_shared_by_all_warps(wide, monkeypatch):
    """Bottom-up levels whose open vertices are hubs far from the frontier; levels whose rows end in the same words."""
    from saitan.bfs import cuda_step

    if wide:
        monkeypatch.setattr(cuda_step, "WIDE_ARCS", 100)
    graphs = [
        bipartite(8, 20_000, 0, 1),
        bipartite(16, 50_000, 200_000, 2),
        bipartite(300, 3000, 400_000, 3),
        layered(7, 700),
        layered(40, 300),
        kronecker(13),
    ]
    for graph in graphs:
        with closing(bfs.prepare(graph, "fast", "cuda")) as solver:
            for root in [0, *bfs.queries(graph, 3, 1)]:
                solver.run(root)
                poison(solver)
                run = solver.run(root)
                solver.validate()
                assert bfs.differs(bfs.reference(graph, root), solver.answer()) is None
                assert run.phases["inspected"].sum() == run.counters["inspected"]
                if graph is graphs[0] and root == 0:
                    # Bottom-up at once, as the root's row is long: that of the other hubs in vain.
                    assert run.phases["direction"][0] == "bottom-up"
                    assert run.phases["inspected"][0] >= 7 * 20_000


def test_without_room_the_layout_is_made_on_the_host(monkeypatch):
    from saitan.bfs import arrange

    monkeypatch.setattr(arrange.DeviceLayout, "forecast", staticmethod(lambda *_: 2**60))
    graph = kronecker(11)
    [root] = bfs.queries(graph, 1, 1)
    result = bfs.solve(graph, root, "fast", "cuda")
    assert bfs.differs(bfs.reference(graph, root), {"levels": result.levels}) is None


def test_a_graph_of_loops_alone_has_no_layout():
    with pytest.raises(ValueError, match="reaches nothing"):
        bfs.solve(undirected(40, [(3, 3)]), 3, "fast", "cuda")
