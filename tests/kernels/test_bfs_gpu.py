"""The GPU variants of BFS against SciPy, their CPU twins and the validator; needs a CUDA device."""

from contextlib import closing

import numpy as np
import pytest
from bfs_cases import cases, directed, expander, hypercube, lollipop, many, path, spoiled, star, triangle, undirected
from hypothesis import given, settings

from saitan import bfs
from saitan.bfs.validate import check
from saitan.generators import GENERATORS
from saitan.problem import Invalid, Unavailable

pytestmark = pytest.mark.gpu

GPU = [name for name, v in bfs.VARIANTS.items() if v.cuda and not v.foreign and "search" in v.instance["task"]]
# Any graph at all; the others refuse what is too dense.
ANY = [name for name in GPU if name != "phast"]
PAPERS = ["hybrid", "top-down", "bottom-up"]


def kronecker(scale, seed=3):
    return GENERATORS["kronecker"](scale=scale, seed=seed)


def random_directed(n, m, seed):
    return directed(n, np.random.default_rng(seed).integers(0, n, (m, 2)))


def held(solver):
    """Levels and parents of the last answer where the validator reads them; variants of several processes as on one."""
    if hasattr(solver, "search"):
        return solver.search.answer
    one = solver.parts[0] if hasattr(solver, "parts") else solver
    return one.levels, one.parents


def put(there, values):
    """Values at the front of an array of the host or the device, which may be longer."""
    front = there[: len(values)]
    if isinstance(front, np.ndarray):
        front[:] = values
    else:
        front.set(values)


def poison(solver):
    """Garbage where the last answer was."""
    on_device = getattr(solver.parts[0], "answer", ()) if hasattr(solver, "parts") else ()
    for array in (*held(solver), *on_device):
        array.fill(77)


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


GRAPHS = {
    "kronecker": lambda: kronecker(14),
    "directed": lambda: random_directed(30_000, 400_000, 1),
    "sparse": lambda: random_directed(30_000, 36_000, 2),
    "road": lambda: GENERATORS["road_rail"](vertices=20_000, arcs=64_200, seed=2),
    "star": lambda: star(100_000),
    "short path": lambda: path(300),
    "lollipop": lambda: lollipop(150, 200),
    "hypercube": lambda: hypercube(12),
    "expander with a tail": lambda: expander(4096, 8, 150, 1),
    # A warp's width and the tile's at their edges, in rows of a block's width, a warp's, and one less.
    "rows": lambda: undirected(
        4000,
        [(0, v) for v in range(1, 9)]
        + [
            (v, 100 + i)
            for v, d in zip(range(1, 9), (1, 31, 32, 33, 255, 256, 257, 3000), strict=True)
            for i in range(d)
        ],
    ),
}


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


MANY_GRAPHS = {
    **GRAPHS,
    "parts": lambda: undirected(5000, np.random.default_rng(9).integers(0, 5000, (3500, 2))),
    "long path": lambda: path(40_000),
}


@pytest.mark.parametrize("searches", [32, 64, 128, 256])
@pytest.mark.parametrize("name", MANY_GRAPHS)
def test_many_searches_equal_scipy_and_are_valid(name, searches):
    """The same roots on all sides, fewer of them than searches, twice over in the same memory."""
    graph = MANY_GRAPHS[name]()
    solver = bfs.prepare(many(graph), "fast-many", "cuda", searches=searches, parents=True)
    roots = bfs.queries(graph, searches - 3, 4)
    solver.run(roots[-1])
    solver.many.levels.fill(77)
    solver.all_parents.fill(77)
    run = solver.run_all(np.array(roots))
    solver.validate()
    levels, parents = solver.many.levels.get(), solver.all_parents.get()
    assert run.counters["levels"] == levels[: len(roots)].max() + 1
    edges = 0
    for search in range(0, len(roots), 9):
        wide = levels[search].astype(np.int32)
        assert bfs.differs(bfs.reference(graph, roots[search]), {"levels": wide}) is None
        check(graph, roots[search], wide, parents[search])
    for search in range(len(roots)):
        edges += solver.many.edges(levels[search].astype(np.int32))
    assert run.counters["edges"] == edges
    solver.close()


@pytest.mark.parametrize("alpha", [1e-9, 1e9])
@pytest.mark.parametrize("wide", [False, True])
def test_many_searches_each_way(alpha, wide, monkeypatch):
    """Small frontiers always top-down, never top-down; offsets of 32 and of 64 bits."""
    from saitan.bfs import cuda_many, cuda_step

    monkeypatch.setattr(cuda_many, "ALPHA", alpha)
    if wide:
        monkeypatch.setattr(cuda_step, "WIDE_ARCS", 1000)
    for graph in (kronecker(12), random_directed(3000, 40_000, 5)):
        result = bfs.solve_many(graph, bfs.queries(graph, 40, 2), "cuda")
        for levels, root in zip(result.levels, bfs.queries(graph, 40, 2), strict=True):
            assert bfs.differs(bfs.reference(graph, root), {"levels": levels.astype(np.int32)}) is None


def test_the_same_root_in_many_searches():
    graph = kronecker(10)
    [root] = bfs.queries(graph, 1, 1)
    result = bfs.solve_many(graph, [root] * 300, "cuda", parents=True)
    assert result.levels.shape == (300, graph.n) and len(result.runs) == 2
    assert (result.levels == bfs.solve(graph, root, "hybrid", "cuda").levels).all()
    for parents in result.parents[::37]:
        check(graph, root, result.levels[0].astype(np.int32), parents)


def test_many_searches_with_one_wrong_level_are_refused():
    graph = kronecker(10)
    solver = bfs.prepare(many(graph), "fast-many", "cuda", searches=64)
    solver.run(bfs.queries(graph, 1, 1)[0])
    solver.validate()
    right = solver.many.levels.get()
    for search in (0, 63):
        wrong = right.copy()
        vertex = int(np.flatnonzero(wrong[search] > 0)[-1])
        wrong[search, vertex] += 1
        solver.many.levels.set(wrong)
        with pytest.raises(Invalid):
            solver.validate()
    solver.close()


@pytest.mark.parametrize("searches", [32, 256])
def test_closeness_is_the_twins(searches):
    for graph in (kronecker(11), random_directed(3000, 9000, 8), path(400)):
        ours = bfs.closeness(graph, backend="cuda", searches=searches)
        assert np.array_equal(ours, bfs.closeness(graph, backend="cpu"))
        # The edges of every search too, those of the last vertex among them.
        asked = bfs.instance({"graph": graph}, task="closeness")
        solvers = [bfs.prepare(asked, "closeness", backend, searches=searches) for backend in ("cpu", "cuda")]
        here, there = (solver.run(0).counters["edges"] for solver in solvers)
        assert here == there > 0


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


def test_without_room_the_layout_is_made_on_the_host(monkeypatch):
    from saitan.bfs import arrange

    monkeypatch.setattr(arrange.DeviceLayout, "forecast", staticmethod(lambda *_: 2**60))
    graph = kronecker(11)
    [root] = bfs.queries(graph, 1, 1)
    result = bfs.solve(graph, root, "fast", "cuda")
    assert bfs.differs(bfs.reference(graph, root), {"levels": result.levels}) is None


def test_a_graph_of_loops_alone_has_no_layout():
    with pytest.raises(ValueError, match="isolated"):
        bfs.solve(undirected(40, [(3, 3)]), 3, "fast", "cuda")


def test_the_hierarchy_on_roads():
    graph = GENERATORS["road_rail"](vertices=20_000, arcs=64_200, seed=2)
    solver = bfs.prepare(graph, "phast", "cuda")
    for root in bfs.queries(graph, 3, 1):
        run = solver.run(root)
        solver.validate()
        assert bfs.differs(bfs.reference(graph, root), solver.answer()) is None
        assert run.disturbed == "" and run.work["bytes"] > 0
    solver.close()
