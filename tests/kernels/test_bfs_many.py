"""Many searches at once and closeness on the CPU: against SciPy and NetworkX, what is counted, what is refused."""

import networkx
import numpy as np
import pytest
from bfs_cases import cases, directed, many, path, star, undirected
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import shortest_path

from saitan import bfs
from saitan.bfs import cpu_many
from saitan.bfs.cpu_many import FEW
from saitan.bfs.layout import Layout
from saitan.bfs.many import closeness, drawn_roots
from saitan.bfs.search import reverse
from saitan.bfs.validate import check, check_closeness
from saitan.generators import GENERATORS
from saitan.problem import Invalid, Unavailable


@pytest.mark.parametrize("searches", [32, 256])
@settings(max_examples=40)
@given(case=cases(), parents=st.booleans())
def test_every_search_equals_scipy_and_is_valid(searches, case, parents):
    graph, root = case
    solver = bfs.prepare(many(graph), "fast-many", "cpu", searches=searches, parents=parents)
    solver.run(root)
    solver.validate()
    answer = solver.answer()
    assert bfs.differs(bfs.reference(graph, root), answer) is None
    check(graph, root, answer["levels"], answer["parents"])


def graphs():
    rng = np.random.default_rng(2)
    return [
        GENERATORS["kronecker"](scale=10, seed=3),
        GENERATORS["road_rail"](vertices=2000, arcs=6400, seed=2),
        directed(3000, rng.integers(0, 3000, (5000, 2))),
        undirected(3000, rng.integers(0, 3000, (2000, 2))),
        path(400),
        star(2000),
    ]


@pytest.mark.parametrize(("alpha", "few"), [(0, -1), (4, FEW), (4, 16), (10**6, FEW)])
def test_more_roots_than_searches_either_way(alpha, few, monkeypatch):
    """All top-down, as it is, few levels narrow, all bottom-up; a type of level that one byte does not hold."""
    monkeypatch.setattr(cpu_many, "ALPHA", alpha)
    if few != FEW:
        monkeypatch.setattr(cpu_many, "FEW", max(few, 0))
        monkeypatch.setattr(cpu_many, "SPARSE", 10**6)
    for graph in graphs():
        roots = bfs.queries(graph, 300, 5)
        result = bfs.solve_many(graph, roots, "cpu", parents=True)
        assert len(result.runs) == -(-len(roots) // 256)
        edges = 0
        for root, levels, parents in zip(roots, result.levels, result.parents, strict=True):
            wide = levels.astype(np.int32)
            edges += bfs.solve(graph, root, "fast", "cpu").run.counters["edges"] if alpha == 4 else 0
            assert bfs.differs(bfs.reference(graph, root), {"levels": wide}) is None
            check(graph, root, wide, parents)
        assert result.levels.dtype == (np.int8 if result.levels.max() < 128 else np.int16)
        assert sum(run.counters["roots"] for run in result.runs) == len(roots)
        if alpha == 4:
            assert sum(run.counters["edges"] for run in result.runs) == edges
        deepest = [part.max() + 1 for part in np.split(result.levels, [256]) if len(part)]
        assert [run.counters["levels"] for run in result.runs] == deepest


@pytest.mark.parametrize("levels", [True, False])
def test_levels_with_few_vertices_do_not_look_at_all_of_them(levels, monkeypatch):
    """A chain's take no step of all threads; of a chain with a crowd at its end those of the crowd do."""
    wide, level = [], cpu_many._level
    monkeypatch.setattr(cpu_many, "_level", lambda *arguments: wide.append(arguments[5]) or level(*arguments))
    chain = np.stack([np.arange(999), np.arange(1, 1000)], 1)
    crowd = np.random.default_rng(1).integers(999, 5000, (9000, 2))
    for graph, most in ((undirected(1000, chain), 0), (undirected(5000, np.concatenate([chain, crowd])), 12)):
        many = cpu_many.Many(graph, 32, levels)
        depth = many.run(np.array([0, 7]))[1]
        found = [bfs.reference(graph, root).arrays["levels"] for root in (0, 7)]
        assert depth - 1 == max(map(np.max, found)) and len(wide) <= most and set(wide) <= {*range(990, depth + 1)}
        assert [sum(one[one >= 0]) for one in found] == many.sums[0, :2].tolist()
        assert not levels or np.array_equal(many.levels[:2], found)
    assert len(wide) >= 2


def test_arcs_that_are_looked_at():
    """Down all rows of a frontier; up those of every vertex until all searches that go on have found it."""
    rng = np.random.default_rng(8)
    ups, downs = 0, 0
    for graph in (GENERATORS["kronecker"](scale=7, seed=3), directed(200, rng.integers(0, 200, (900, 2))), path(70)):
        roots = np.array(bfs.queries(graph, 70, 2))
        made, [run] = Layout.of(graph, reverse(graph)), bfs.solve_many(graph, roots, "cpu").runs
        levels = np.stack([bfs.reference(graph, root).arrays["levels"] for root in roots])[:, made.old]
        inspected, level, goes_on = 0, 0, np.ones(len(roots), bool)
        while goes_on.any():
            frontier, has = levels == level, (levels >= 0) & (levels <= level)
            arcs = made.forward.degrees[frontier.any(0)].sum()
            if 4 * arcs > made.forward.m:
                ups += 1
                for v, (first, last) in enumerate(zip(made.backward.offsets, made.backward.offsets[1:], strict=False)):
                    for u in made.backward.targets[first:last]:
                        if has[goes_on, v].all():
                            break
                        inspected += 1
                        has[:, v] |= frontier[:, u]
            else:
                downs += 1
                inspected += arcs
            level += 1
            goes_on = (levels == level).any(1)
        assert run.counters["inspected"] == inspected and run.counters["levels"] == level
    assert ups > 3 and downs > 3


def test_memory_of_many_searches_on_a_directed_graph_holds_the_turned_arcs():
    """Rows of the layout, three sets of 64 bits, an edge count, two lists, 32 rows of levels, what is turned round."""
    ends = np.stack([np.arange(39), np.arange(1, 40)], 1)
    both = [bfs.prepare(many(graph), "fast-many", "cpu", searches=32) for graph in (directed(40, ends), path(40))]
    rows = [41 * 8 + m * 4 for m in (39, 78)]
    own = 3 * 40 * 8 + 40 * 8 + 2 * FEW * 4 + 32 * 40
    assert [solver.memory for solver in both] == [3 * rows[0] + own, rows[1] + own]


def test_the_roots_are_the_given_one_and_others():
    usable = np.array([3, 5, 9])
    assert drawn_roots(usable, 5, 1).tolist() == [5]
    assert set(drawn_roots(usable, 5, 32).tolist()) == {3, 5, 9}
    assert drawn_roots(np.arange(1000), 5, 64).tolist() == drawn_roots(np.arange(1000), 5, 64).tolist()
    assert len(set(drawn_roots(np.arange(64), 5, 64)[1:].tolist())) == 63


@pytest.mark.parametrize(
    ("roots", "says"),
    [
        ([0, 40], r"root 40 is not in \[0, 40\)"),
        ([-1], r"root -1 is not in"),
        ([0, 3], "root 3 reaches nothing"),
        ([7], "root 7 reaches nothing"),
        ([], "at least one"),
        ([0.5], "whole numbers"),
        ([[0]], "in one row"),
        ([True, False], "whole numbers"),
        ([0, True], "^roots: entry 1 is a truth value beside numbers$"),
        ((0, np.True_), "^roots: entry 1 is a truth value beside numbers$"),
        (np.array([2**63], np.uint64), "^root 9223372036854775808 is not in"),
    ],
)
def test_roots_that_are_off_are_named(roots, says):
    graph = undirected(40, [(0, 1), (3, 3)])
    with pytest.raises(ValueError, match=says):
        bfs.solve_many(graph, roots, "cpu")


def test_closeness_is_networkx():
    small = directed(300, np.random.default_rng(3).integers(0, 300, (500, 2)))
    for graph in (small, *graphs()):
        ours = bfs.closeness(graph, backend="cpu")
        away = shortest_path(graph.to_scipy(), unweighted=True)
        reached = np.isfinite(away)
        wanted = closeness(graph.n, np.where(reached, away, 0).sum(axis=1), reached.sum(axis=1))
        assert np.allclose(ours, wanted, rtol=1e-12, atol=0)
        if graph.n < 500:  # It takes seconds for the others.
            theirs = networkx.DiGraph()
            theirs.add_nodes_from(range(graph.n))
            # Theirs is of the ways in.
            theirs.add_edges_from(zip(graph.targets.tolist(), graph.sources.tolist(), strict=True))
            found = networkx.closeness_centrality(theirs)
            assert np.allclose(ours, [found[v] for v in range(graph.n)], rtol=1e-12, atol=0)
        assert np.array_equal(ours, bfs.closeness(graph, backend="cpu", searches=32))


def test_closeness_by_its_formula():
    assert closeness(5, np.array([0, 4, 6]), np.array([1, 5, 4])).tolist() == [0.0, 1.0, 9 / 24]


def test_closeness_is_measured_like_any_task():
    graph = GENERATORS["kronecker"](scale=8, seed=1)
    asked = bfs.instance({"graph": graph}, task="closeness")
    assert bfs.queries(asked, 5, 1) == [0]
    with pytest.raises(Unavailable, match="takes task search only, not closeness"):
        bfs.prepare(asked, "fast", "cpu")
    with pytest.raises(Unavailable, match="takes task closeness only, not search"):
        bfs.prepare(graph, "closeness", "cpu")
    with pytest.raises(ValueError, match="task must be one of search, many, closeness"):
        bfs.instance({"graph": graph}, task="all")
    solver = bfs.prepare(asked, "closeness", "cpu")
    run = solver.run(0)
    assert solver.validate().whole
    expected, answer = bfs.reference(asked, 0), solver.answer()["closeness"]
    assert bfs.differs(expected, {"closeness": answer[expected.rows]}) is None
    wrong = answer[expected.rows].copy()
    wrong[2] *= 1.001
    assert f"closeness of vertex {expected.rows[2]}" in bfs.differs(expected, {"closeness": wrong})
    assert run.counters["roots"] == (graph.degrees > 0).sum()


@pytest.mark.parametrize("graph", [path(5), star(6), path(1), directed(4, [[0, 1], [1, 2], [2, 0]])])
def test_a_right_closeness_is_accepted_whether_or_not_all_is_reached(graph):
    hops = shortest_path(graph.to_scipy(), unweighted=True)
    reached = np.isfinite(hops).sum(axis=1)
    right = closeness(graph.n, np.where(np.isfinite(hops), hops, 0).sum(axis=1).astype(np.int64), reached)
    assert check_closeness(graph, right).whole


def test_a_wrong_closeness_is_refused():
    graph = GENERATORS["kronecker"](scale=7, seed=1)
    right = bfs.closeness(graph, backend="cpu")
    assert check_closeness(graph, right).whole
    for v in (0, graph.n - 1):
        wrong = right.copy()
        wrong[v] += 1e-6
        with pytest.raises(Invalid, match=f"the closeness of vertex {v} is"):
            check_closeness(graph, wrong)
    for relative in (0.0, 1.0):
        wrong = right.copy()
        wrong[3] = np.nan
        with pytest.raises(Invalid, match="the closeness of vertex 3 is nan, not"):
            check_closeness(graph, wrong, relative)
    # Just inside the relative difference that is allowed, and just outside.
    v = int(right.argmax())
    near = right.copy()
    for factor, allowed in ((1.0, True), (1 + 2**-20, True), (1 + 2**-19, False), (1 - 2**-19, False)):
        near[v] = right[v] * factor
        if allowed:
            assert check_closeness(graph, near, 2**-20).whole
        else:
            with pytest.raises(Invalid, match=f"the closeness of vertex {v} is"):
                check_closeness(graph, near, 2**-20)


def test_closeness_of_a_large_graph_is_checked_at_256_vertices():
    graph = GENERATORS["kronecker"](scale=9, seed=1)
    right = bfs.closeness(graph, backend="cpu")
    checked = check_closeness(graph, right)
    assert not checked.whole and checked.says == "256 vertices by a queue each"
    refused = []
    for v in range(0, graph.n, 16):
        wrong = right.copy()
        wrong[v] += 1
        try:
            check_closeness(graph, wrong)
        except Invalid:
            refused.append(v)
    # Of all vertices, not of the first ones.
    assert 8 <= len(refused) <= 24 and refused[0] < 256 <= refused[-1]
    with pytest.raises(Invalid, match=r"^closeness values have the shape \(511,\): \(512,\) is right$"):
        check_closeness(graph, right[1:])
    with pytest.raises(Invalid, match=r"^closeness values have the type float32: float64 is right$"):
        check_closeness(graph, right.astype(np.float32))
