"""Many searches at once and closeness on a GPU; needs a CUDA device."""

import numpy as np
import pytest
from bfs_cases import GRAPHS, kronecker, many, path, random_directed, undirected

from saitan import bfs
from saitan.bfs.validate import check
from saitan.graph import Graph
from saitan.problem import Invalid

pytestmark = pytest.mark.gpu

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


@pytest.mark.parametrize("ends", [[], [0], [2, 4, 4]])
@pytest.mark.parametrize("directed", [True, False])
def test_closeness_where_no_vertex_has_an_arc_to_another_one(ends, directed):
    graph = Graph.from_arcs(5, ends, ends, metadata={"directed": directed})
    assert bfs.closeness(graph, backend="cuda").tolist() == bfs.closeness(graph, backend="cpu").tolist() == [0.0] * 5
    with pytest.raises(ValueError) as there:
        bfs.solve_many(graph, [2], "cuda")
    with pytest.raises(ValueError) as here:
        bfs.solve_many(graph, [2], "cpu")
    assert str(there.value) == str(here.value)
