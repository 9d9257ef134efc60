"""Every CPU variant of BFS against SciPy, the switching rule, Graph500's counts, the validator on wrong answers."""

import numpy as np
import pytest
from bfs_cases import (
    alike,
    cases,
    directed,
    expander,
    hypercube,
    layered,
    lollipop,
    path,
    spoiled,
    star,
    triangle,
    undirected,
)
from hypothesis import example, given
from numba import get_num_threads

from saitan import bfs, team
from saitan.bfs import cpu_step, trial
from saitan.bfs.cpu import CpuLevels, Hybrid
from saitan.bfs.cpu_fast import Queue
from saitan.bfs.cpu_levels import Levels
from saitan.bfs.cpu_levels import _share as share_step
from saitan.bfs.cpu_levels import _take as take
from saitan.bfs.cpu_parts import CLEAR, LEAVING, LEVEL, LIST, LISTED, MARK, SHARE, SHARES, Search, pull_needs
from saitan.bfs.layout import Layout, rows_of_four, small_world
from saitan.bfs.search import BOTTOM_UP, TOP_DOWN, EdgeCount, Found, Rule, reverse
from saitan.bfs.trial import fastest, tried
from saitan.bfs.validate import check
from saitan.generators import GENERATORS
from saitan.graph import Graph
from saitan.problem import Invalid, Unavailable

CPU = [name for name, v in bfs.VARIANTS.items() if v.cpu and not v.missing() and "search" in v.instance["task"]]
OURS = [name for name in CPU if not bfs.VARIANTS[name].foreign]


@pytest.fixture(scope="module")
def kronecker():
    return GENERATORS["kronecker"](scale=11, seed=3)


@pytest.mark.parametrize("variant", CPU)
@given(case=cases())
def test_equals_scipy_and_is_valid(variant, case):
    graph, root = case
    result = bfs.solve(graph, root, variant, "cpu")
    assert bfs.differs(bfs.reference(graph, root), {"levels": result.levels}) is None
    check(graph, root, result.levels, result.parents)


@pytest.mark.parametrize("variant", OURS)
@given(case=cases())
def test_nothing_is_left_of_the_answer_before(variant, case):
    graph, root = case
    solver = bfs.prepare(graph, variant, "cpu")
    for other in [*bfs.queries(graph, 3, 1), root]:
        run = solver.run(other)
        solver.validate()
    for holder in solver.parts.values() if variant == "cluster" else [solver]:
        for name in ("levels", "parents"):
            getattr(holder, name).fill(77)
    again = solver.run(root)
    solver.validate()
    assert again.counters["edges"] == run.counters["edges"]


@pytest.mark.parametrize("variant", OURS)
def test_small_worlds_roads_paths_and_stars(variant, kronecker):
    road = GENERATORS["road_rail"](vertices=3000, arcs=9600, seed=2)
    deep = 20_000 if variant == "fast" else 300
    for graph in (kronecker, road, path(deep), star(5000)):
        for root in [0, graph.n - 1, *bfs.queries(graph, 3, 5)]:
            if graph.degrees[root] == 0:
                continue
            result = bfs.solve(graph, root, variant, "cpu")
            assert bfs.differs(bfs.reference(graph, root), {"levels": result.levels}) is None
            check(graph, root, result.levels, result.parents)
            assert result.run.counters["levels"] == result.levels.max() + 1


@pytest.mark.parametrize("variant", ["hybrid", "top-down"])
@given(case=cases())
def test_small_levels_by_all_threads(variant, case):
    from saitan.bfs import cpu

    graph, root = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "SMALL_ARCS", 0)
        result = bfs.solve(graph, root, variant, "cpu")
    assert bfs.differs(bfs.reference(graph, root), {"levels": result.levels}) is None
    check(graph, root, result.levels, result.parents)
    alone = bfs.solve(graph, root, variant, "cpu").run.phases
    assert all(
        result.run.phases[name].tolist() == alone[name].tolist() for name in ("direction", "frontier", "inspected")
    )


def arcs_by_numpy(graph, levels):
    return [int(graph.degrees[levels == level].sum()) for level in range(levels.max() + 1)]


def test_the_trace_says_what_every_level_did(kronecker):
    root = bfs.queries(kronecker, 1, 1)[0]
    result = bfs.solve(kronecker, root, "hybrid", "cpu")
    sizes = np.bincount(result.levels[result.levels >= 0])
    arcs = arcs_by_numpy(kronecker, result.levels)
    trace = result.run.phases
    assert trace["frontier"].tolist() == sizes.tolist()
    assert trace["direction"][0] == TOP_DOWN
    for level in range(1, len(sizes)):
        before = trace["direction"][level - 1]
        if before == TOP_DOWN:
            wanted = BOTTOM_UP if arcs[level] > kronecker.m / 10 else TOP_DOWN
        else:
            wanted = TOP_DOWN if sizes[level] < kronecker.n**2 / (14 * kronecker.m) else BOTTOM_UP
        assert trace["direction"][level] == wanted
        if wanted == TOP_DOWN:
            assert trace["inspected"][level] == arcs[level]
    switches = (trace["direction"][1:] != trace["direction"][:-1]).sum()
    assert result.run.counters["switches"] == switches == 2
    assert result.run.counters["inspected"] == trace["inspected"].sum()
    top_down = bfs.solve(kronecker, root, "top-down", "cpu").run
    assert set(top_down.phases["direction"]) == {TOP_DOWN} and top_down.counters["inspected"] == sum(arcs)
    bottom_up = bfs.solve(kronecker, root, "bottom-up", "cpu").run
    assert set(bottom_up.phases["direction"]) == {BOTTOM_UP}


def inspected_bottom_up(graph, levels, level):
    """Arcs that the vertices not reached before `level` look at until a neighbour on the level before."""
    turned = reverse(graph)
    total = 0
    for v in np.flatnonzero((levels < 0) | (levels >= level)):
        row = levels[turned.targets[turned.offsets[v] : turned.offsets[v + 1]]]
        hits = np.flatnonzero(row == level - 1)
        total += hits[0] + 1 if len(hits) else len(row)
    return int(total)


@given(case=cases())
def test_bottom_up_stops_at_the_first_hit(case):
    graph, root = case
    result = bfs.solve(graph, root, "bottom-up", "cpu")
    wanted = [inspected_bottom_up(graph, result.levels, level + 1) for level in range(result.levels.max() + 1)]
    assert result.run.phases["inspected"].tolist() == wanted


def test_the_rule_is_the_papers():
    rule = Rule(n=100, m=1000, alpha=10, beta=14)
    assert rule.next(TOP_DOWN, Found(1, 100)) == TOP_DOWN and rule.next(TOP_DOWN, Found(1, 101)) == BOTTOM_UP
    # n^2 / (beta m) = 10000 / 14000 < 1, so one vertex is enough to stay
    assert rule.next(BOTTOM_UP, Found(1, 0)) == BOTTOM_UP
    wide = Rule(n=1000, m=1000, alpha=10, beta=10)  # 100 vertices
    assert wide.next(BOTTOM_UP, Found(99, 0)) == TOP_DOWN and wide.next(BOTTOM_UP, Found(100, 0)) == BOTTOM_UP
    # 2^33 vertices squared do not fit 64 bits.
    assert Rule(2**33, 2**36).next(BOTTOM_UP, Found(2**25, 0)) == TOP_DOWN
    assert Rule(5, 5, fixed=BOTTOM_UP).next(TOP_DOWN, Found(1, 0)) == BOTTOM_UP


def test_alpha_and_beta_reach_the_rule(kronecker):
    root = bfs.queries(kronecker, 1, 1)[0]
    never = bfs.solve(kronecker, root, "hybrid", "cpu", alpha=1e-9).run
    assert set(never.phases["direction"]) == {TOP_DOWN}
    stays = bfs.solve(kronecker, root, "hybrid", "cpu", alpha=1e9, beta=1e9).run
    assert stays.phases["direction"].tolist()[1:] == [BOTTOM_UP] * (len(stays.phases["direction"]) - 1)
    for wrong in ({"alpha": 0}, {"alpha": -1.0}, {"beta": float("nan")}, {"gamma": 1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            bfs.solve(kronecker, root, "hybrid", "cpu", **wrong)


def test_edges_are_graph500s():
    tuples = [(0, 1), (0, 1), (1, 1), (1, 2), (3, 4), (4, 4)]
    for once in (False, True):
        graph = undirected(5, tuples, once)
        assert bfs.solve(graph, 0, "hybrid", "cpu").run.counters["edges"] == 4
        assert bfs.solve(graph, 3, "hybrid", "cpu").run.counters["edges"] == 2
    one_way = directed(5, tuples)
    assert bfs.solve(one_way, 1, "hybrid", "cpu").run.counters["edges"] == 2
    assert bfs.solve(one_way, 0, "hybrid", "cpu").run.counters["edges"] == 4
    result = bfs.solve(one_way, 0, "hybrid", "cpu").run
    assert result.counters["teps"] == result.counters["teps_median"] == 4 / result.kernel


@pytest.mark.parametrize(("heads", "edges"), [([1, 0, 0], 2), ([0, 1, 0], 2), ([1, 0, 0, 0], 2), ([0, 0, 0, 1, 0], 4)])
def test_a_loop_stored_once_counts_whole_wherever_it_stands(heads, edges):
    """All arcs are from 0, but the last from 1. An even number of loops are half as many, each stored twice."""
    tails = [0] * (len(heads) - 1) + [1]
    graph = Graph.from_arcs(2, tails, heads, metadata={"directed": False})
    assert EdgeCount(graph)(np.zeros(2, np.int32)) == edges


@given(case=cases())
def test_edges_by_numpy(case):
    graph, root = case
    reached = bfs.solve(graph, root, "top-down", "cpu").levels >= 0
    arcs = int(reached[graph.sources].sum())
    wanted = arcs if graph.metadata["directed"] else arcs // 2
    assert EdgeCount(graph)(np.where(reached, 0, -1).astype(np.int32)) == wanted


def test_kronecker_keeps_every_tuple(kronecker):
    """Graph500's edge list has 16 * 2^scale tuples; each is two arcs here, loops and duplicates too."""
    assert kronecker.m == 2 * 16 * 2**11
    everywhere = np.zeros(kronecker.n, np.int32)
    assert EdgeCount(kronecker)(everywhere) == 16 * 2**11
    loops = kronecker.sources == kronecker.targets
    assert loops.any() and loops.sum() % 2 == 0


@example(case=(triangle(), 0))
@given(case=cases())
def test_the_validator_takes_right_answers_and_no_others(case):
    graph, root = case
    result = bfs.solve(graph, root, "hybrid", "cpu")
    check(graph, root, result.levels, result.parents)
    for what, levels, parents in spoiled(graph, root, result.levels, result.parents):
        with pytest.raises(Invalid):
            check(graph, root, levels, parents)
            print(what, levels, parents)


@pytest.mark.parametrize("variant", ["hybrid", "top-down", "bottom-up", "fast"])
def test_every_solver_checks_its_own_answer(variant):
    solver = bfs.prepare(path(4), variant, "cpu")
    solver.run(1)
    solver.validate()
    for array, value in ((solver.levels, 1), (solver.parents, 0)):
        right, array[3] = array[3], value
        with pytest.raises(Invalid, match=r"^vertex 3 "):
            solver.validate()
        array[3] = right
    solver.validate()


def test_a_step_over_a_block_gives_parents_in_the_whole_graphs_numbers():
    # Tail 1 of the block, vertex 41 of the graph, leads to head 33.
    offsets, heads = np.array([0, 0, 1], np.int64), np.array([33], np.int32)
    turned, tails = np.array([0] * 34 + [1], np.int64), np.array([1], np.int32)
    frontier, ticket = np.array([2], np.uint32), np.zeros(1, np.int64)
    for step, *rows in ((cpu_step.top_down, offsets, heads, 1), (cpu_step.bottom_up, turned, tails, 2)):
        *rows, last = rows
        visited = np.array([0, ~np.uint32(3)], np.uint32)
        following, parents = np.zeros(2, np.uint32), np.full(34, -1, np.int32)
        assert step(*rows, frontier, visited, following, parents, 40, 0, last, ticket, 2) == 1
        assert following.tolist() == [0, 2] and parents[33] == 41 and (parents[:33] == -1).all()


@given(case=cases())
def test_any_parent_one_level_up_is_right(case):
    graph, root = case
    levels = bfs.solve(graph, root, "hybrid", "cpu").levels
    parents = np.full(graph.n, -1, np.int32)
    tails, heads = graph.sources, graph.targets
    tree = (levels[tails] >= 0) & (levels[tails] + 1 == levels[heads])
    order = np.random.default_rng(0).permutation(np.flatnonzero(tree))
    parents[heads[order]] = tails[order]
    parents[root] = root
    check(graph, root, levels, parents)


def test_the_validator_says_what_is_wrong():
    graph = path(4)
    right = bfs.solve(graph, 0, "hybrid", "cpu")
    wrong = right.parents.copy()
    wrong[3] = 1
    with pytest.raises(Invalid, match="vertex 3 is on level 3 and has the parent 1, which is on level 1"):
        check(graph, 0, right.levels, wrong)
    levels = np.array([0, 1, -1, -1], np.int32)
    with pytest.raises(Invalid, match="arc 1 leads from vertex 1, on level 1, to vertex 2, not reached"):
        check(graph, 0, levels, np.array([0, 0, -1, -1], np.int32))
    # An array that goes on behind its last vertex: what stands there is nobody's level.
    longer = np.array([0, 1, 2, 3, 2], np.int32)
    with pytest.raises(Invalid, match=r"^vertex 3 is on level 3 and has the parent 4$"):
        check(graph, 0, longer[:4], np.array([0, 0, 1, 4], np.int32))
    # A level that only a root has.
    apart = undirected(5, [(0, 1)])
    with pytest.raises(Invalid, match=r"^vertex 3 is on level 0 and has the parent 4, which is not reached$"):
        check(apart, 0, np.array([0, 1, -1, 0, -1], np.int32), np.array([0, 0, -1, 4, -1], np.int32))
    with pytest.raises(Invalid, match=r"^vertex 2 is not reached and has the parent -2$"):
        check(apart, 0, np.array([0, 1, -1, -1, -1], np.int32), np.array([0, 0, -2, -1, -1], np.int32))
    for levels, parents in ((right.levels[:3], right.parents), (right.levels, np.tile(right.parents, 2))):
        with pytest.raises(Invalid, match=r"are int32 \([38],\), not int32 \(4,\)$"):
            check(graph, 0, levels, parents)
    with pytest.raises(Invalid, match="levels are int64"):
        check(graph, 0, right.levels.astype(np.int64), right.parents)
    two = undirected(5, [(0, 1), (0, 2), (1, 3), (2, 4)])
    levels = np.array([0, 1, 1, 2, 2], np.int32)
    with pytest.raises(Invalid, match="vertex 4 has the parent 1, from which no arc leads to it"):
        check(two, 0, levels, np.array([0, 0, 0, 1, 1], np.int32))


def test_roots_that_are_none():
    graph = undirected(4, [(0, 1), (2, 2)])
    for root, says in (
        (-1, r"root -1 is not in \[0, 4\)"),
        (4, r"root 4 is not in \[0, 4\)"),
        (3, "root 3 of graph drawn is isolated"),
        (2, "root 2 of graph drawn is isolated"),
        (1.0, "root must be the whole number of a vertex, not 1.0"),
        (True, "root must be the whole number of a vertex, not True"),
        ("1", "root must be the whole number of a vertex, not '1'"),
        (None, "root must be the whole number of a vertex, not None"),
    ):
        for variant in CPU:
            with pytest.raises(ValueError, match=says):
                bfs.solve(graph, root, variant, "cpu")
            solver = bfs.prepare(graph, variant, "cpu")
            with pytest.raises(ValueError, match=says):
                solver.run(root)
    assert bfs.solve(graph, np.int32(1), "hybrid", "cpu").levels.tolist() == [1, 0, -1, -1]
    with pytest.raises(ValueError, match="unknown variant 'x'"):
        bfs.solve(graph, 0, "x")


def test_queries_are_distinct_roots_with_an_arc_to_another_vertex():
    graph = undirected(40, [(0, 1), (2, 2), (5, 6), (7, 39)])
    assert sorted(bfs.queries(graph, 64, 1)) == [0, 1, 5, 6, 7, 39]
    assert len(set(bfs.queries(graph, 4, 1))) == 4
    assert bfs.queries(graph, 4, 1) == bfs.queries(graph, 4, 1) != bfs.queries(graph, 4, 2)
    assert bfs.queries(directed(3, [(0, 1), (2, 2)]), 5, 1) == [0]
    with pytest.raises(Unavailable, match="no vertex has an arc to another one"):
        bfs.queries(undirected(3, [(1, 1)]), 5, 1)
    with pytest.raises(Unavailable, match="has no vertices"):
        bfs.instance({"graph": Graph.from_arcs(0, [], [])})


def test_differs_names_the_first():
    graph = path(5)
    expected = bfs.reference(graph, 0)
    assert bfs.differs(expected, {"levels": np.arange(5, dtype=np.int32)}) is None
    assert bfs.differs(expected, {"levels": np.array([0, 1, 2, 3, 5], np.int32)}) == (
        "1 levels differ, the first at vertex 4: 5, not 4"
    )


@given(case=cases())
def test_the_layout_is_the_graph_by_falling_degree(case):
    graph, _ = case
    layout = Layout.of(graph, reverse(graph))
    pairs = {(u, v) for u, v in zip(graph.sources.tolist(), graph.targets.tolist(), strict=True) if u != v}
    ends = {v for pair in pairs for v in pair}
    assert sorted(layout.old.tolist()) == sorted(ends)
    assert all(layout.new[old] == new for new, old in enumerate(layout.old))
    assert (layout.new >= 0).sum() == len(ends)
    counted = np.zeros(graph.n, int)
    other = graph.sources != graph.targets
    np.add.at(counted, graph.sources[other], 1)
    keys = [(-counted[v], v) for v in layout.old.tolist()]
    assert keys == sorted(keys)
    for rows, wanted in ((layout.forward, pairs), (layout.backward, {(v, u) for u, v in pairs})):
        found = [(int(layout.old[u]), int(layout.old[v])) for u, v in zip(rows.sources, rows.targets, strict=True)]
        assert len(found) == len(wanted) and set(found) == wanted
        assert all((np.diff(rows.targets[a:b]) > 0).all() for a, b in zip(rows.offsets, rows.offsets[1:], strict=False))


@pytest.mark.parametrize("alone", [0, 10**9])
@pytest.mark.parametrize("threads", [1, 2])
@given(case=cases())
def test_fast_by_a_team_and_by_one_thread(alone, threads, case):
    """Levels of the leader alone, or all shared; threads that are started, or none."""
    from saitan.bfs import cpu_levels, layout

    graph, root = case
    with pytest.MonkeyPatch.context() as patch:
        takes(patch, Levels)
        patch.setattr(layout, "WIDE_DEGREE", 0)
        patch.setattr(cpu_levels, "ALONE", alone)
        patch.setattr(cpu_levels, "SMALL", -1 if threads > 1 else graph.m)
        solver = bfs.prepare(graph, "fast", "cpu")
        for _ in range(2):
            solver.levels.fill(77)
            solver.parents.fill(77)
            run = solver.run(root)
            solver.validate()
            assert bfs.differs(bfs.reference(graph, root), {"levels": solver.levels}) is None
    assert run.phases["frontier"].tolist() == np.bincount(solver.levels[solver.levels >= 0]).tolist()


@pytest.mark.parametrize("alpha", [1e-9, 20.0, 1e9])
def test_fast_each_way(alpha, kronecker, monkeypatch):
    from saitan.bfs import cpu_levels, layout

    takes(monkeypatch, Levels)
    monkeypatch.setattr(layout, "WIDE_DEGREE", 0)
    monkeypatch.setattr(cpu_levels, "ALPHA", alpha)
    monkeypatch.setattr(cpu_levels, "PAYS", 1e12)
    monkeypatch.setattr(cpu_levels, "SMALL", 0)
    # The star's row is more than one share, its leaves more than a thread lists at once.
    for graph in (kronecker, lollipop(200, 300), hypercube(10), expander(2048, 8, 100, 1), star(5000)):
        solver, made = bfs.prepare(graph, "fast", "cpu"), Layout.of(graph, reverse(graph))
        for root in bfs.queries(graph, 3, 2):
            run = solver.run(root)
            solver.validate()
            levels = bfs.reference(graph, root).arrays["levels"]
            assert np.array_equal(solver.levels, levels)
            trace, arcs = run.phases, arcs_by_numpy(made.forward, levels[made.old])
            assert trace["frontier"].tolist() == np.bincount(levels[levels >= 0]).tolist()
            assert trace["inspected"].sum() == run.counters["inspected"] and run.counters["levels"] == levels.max() + 1
            assert run.counters["switches"] == (trace["direction"][1:] != trace["direction"][:-1]).sum()
            if alpha < 1:
                assert set(trace["direction"]) == {TOP_DOWN}
                assert trace["inspected"].tolist() == arcs
            if alpha > 1000:
                assert trace["direction"][0] == BOTTOM_UP
            if alpha == 20:
                down = np.append(True, trace["direction"][:-1] == TOP_DOWN)
                wanted = np.where(20 * np.array(arcs) > made.forward.m, BOTTOM_UP, TOP_DOWN)
                assert (trace["direction"][down] == wanted[down]).all()


def test_fast_counts_the_arcs_of_all_that_threads_list(monkeypatch):
    """More than they list at once: 5,000 vertices, of four arcs each, beside 200,000 arcs elsewhere."""
    from saitan.bfs import cpu_levels, layout

    monkeypatch.setattr(layout, "WIDE_DEGREE", 0)
    monkeypatch.setattr(cpu_levels, "PAYS", 1e12)
    hub, leaves = np.arange(1, 5001), np.arange(5001, 25001)
    ring = np.arange(20_000).repeat(10)
    graph = directed(
        45_001,
        np.concatenate(
            [
                np.stack([np.zeros_like(hub), hub], 1),
                np.stack([hub.repeat(4), leaves], 1),
                25_001 + np.stack([ring, (ring + np.tile(np.arange(1, 11), 20_000)) % 20_000], 1),
            ]
        ),
    )
    monkeypatch.setattr(cpu_levels, "SMALL", 0)
    takes(monkeypatch, Levels)
    trace = bfs.solve(graph, 0, "fast", "cpu").run.phases
    assert trace["frontier"].tolist() == [1, 5000, 20_000]
    assert trace["direction"].tolist() == [TOP_DOWN, BOTTOM_UP, BOTTOM_UP]


@pytest.mark.parametrize("make", [lambda: layered(15, 120), lambda: alike(6, 400, 6)])
def test_fast_looks_at_little_beyond_what_it_reaches(make, monkeypatch):
    """What a level leads to is a small part of what is not reached, all of which a bottom-up level would look at."""
    takes(monkeypatch, Levels)
    graph = make()
    for root in range(3):
        result = bfs.solve(graph, root, "fast", "cpu")
        assert result.run.counters["inspected"] < 1.5 * graph.degrees[result.levels >= 0].sum()


@pytest.mark.parametrize("row", [None, 0.0, 20.0])
def test_fast_goes_bottom_up_where_it_looks_at_less(row, monkeypatch):
    """By one thread, and by all with a price of a row. All vertices are sampled, as there are few."""
    from saitan.bfs import cpu_levels, layout

    if row is not None:
        monkeypatch.setattr(cpu_levels, "SMALL", 0)
        monkeypatch.setattr(cpu_levels, "ROW", row)
        row *= get_num_threads() > 1

    monkeypatch.setattr(layout, "WIDE_DEGREE", 0)
    takes(monkeypatch, Levels)
    ways = set()
    for graph in (layered(5, 10), alike(3, 60, 2), hypercube(7), lollipop(30, 40), lollipop(90, 99), layered(3, 70)):
        made = Layout.of(graph, reverse(graph))
        k, m = graph.n, made.forward.m
        for root in bfs.queries(graph, 3, 2):
            trace = bfs.solve(graph, root, "fast", "cpu").run.phases["direction"].tolist()
            levels = bfs.reference(graph, root).arrays["levels"][made.old]
            up = False
            for level, way in enumerate(trace):
                count, arcs = (levels == level).sum(), made.forward.degrees[levels == level].sum()
                needs = pulled(made.backward, (levels >= 0) & (levels <= level), levels == level)
                up = up and 14 * count * m >= k * k and needs <= 2 * count * m / k + (row or 0) * count
                up = up or (20 * arcs > m and needs <= 2 * arcs + (row or 0) * count)
                assert way == (BOTTOM_UP if up else TOP_DOWN)
                ways.add((way, 20 * arcs > m))
    assert len(ways) == 4


def pulled(rows, visited, frontier):
    """Arcs that a bottom-up level looks at; all of a row of which the first 64 lead elsewhere."""
    total = 0
    for v in np.flatnonzero(~visited):
        hits = np.flatnonzero(frontier[rows.targets[rows.offsets[v] : rows.offsets[v + 1]]])
        total += hits[0] + 1 if len(hits) and hits[0] < 64 else rows.degrees[v]
    return total


@pytest.mark.parametrize("share", [0, 0.02, 0.3])
def test_what_a_bottom_up_level_looks_at(share):
    rng = np.random.default_rng(7)
    for graph in [lollipop(100, 20)] + 30 * [layered(2, 120)]:
        made = Layout.of(graph, reverse(graph))
        search = Search.over(made, graph.n)
        visited, frontier = rng.random(graph.n) < 0.3, rng.random(graph.n) < share
        for bits, flags in ((search.sets[0], visited), (search.sets[1], frontier)):
            padded = np.zeros(32 * len(bits), np.uint8)
            padded[: graph.n] = flags
            bits[:] = np.packbits(padded, bitorder="little").view(np.uint32)
        assert pull_needs(search, search.sets[1]) == pulled(made.backward, visited, frontier)


@pytest.mark.parametrize("share", [0, 0.02, 0.4, 1])
def test_a_frontier_is_a_list_of_shares_or_a_bitmap(share):
    """What is listed of a bitmap are all shares of its rows; the bitmap of a list lacks vertices without arcs alone."""
    rng = np.random.default_rng(3)
    for graph in (star(5000), expander(2000, 4, 30, 2), directed(3000, rng.integers(0, 3000, (3000, 2)))):
        made = Layout.of(graph, reverse(graph))
        search, degrees, k = Search.over(made, graph.n), made.forward.degrees, made.forward.n
        flags = rng.random(k) < share
        padded = np.zeros(32 * search.sets.shape[1], np.uint8)
        padded[:k] = flags
        search.sets[1] = np.packbits(padded, bitorder="little").view(np.uint32)
        team.reset(search.control)
        search.control[LEVEL] = 1
        share_step(search, LIST)
        take(search.control, 1)
        listed = sorted(search.shares[0, : search.control[SHARES]].tolist())
        assert listed == sorted(n << 32 | v for v in np.flatnonzero(flags) for n in range(-(-degrees[v] // SHARE)))
        assert search.control[LEAVING] == degrees[flags].sum() and search.control[LISTED] == 0
        search.sets[1] = 0xFFFFFFFF
        share_step(search, CLEAR)
        share_step(search, MARK)
        bits = np.unpackbits(search.sets[1].view(np.uint8), bitorder="little")
        assert np.array_equal(np.flatnonzero(bits), np.flatnonzero(flags & (degrees > 0)))


def takes(patch, kind):
    """Let `fast` take an engine of a kind where it tries several."""
    from saitan.bfs import cpu_fast

    patch.setattr(cpu_fast, "fastest", lambda _, engines, __: next(e for e in engines if isinstance(e, kind)))


@pytest.mark.parametrize("taken", [Queue, Levels, None])
@pytest.mark.parametrize("degree", [4, 16])
@pytest.mark.parametrize("longest", [0, 64])
def test_what_every_engine_of_fast_answers(taken, degree, longest, monkeypatch):
    """And what the one that it takes by itself does; in the graph's order and by degree."""
    from saitan.bfs import cpu_fast, cpu_levels

    if taken is Queue and degree == 16:
        pytest.skip("a small world has no queue")
    monkeypatch.setattr(cpu_levels, "SMALL", 100)
    monkeypatch.setattr(cpu_fast, "LONGEST_ROW", longest)
    if taken:
        takes(monkeypatch, taken)
    rng = np.random.default_rng(4)
    for make in (directed, undirected):
        graph = make(700, rng.integers(0, 700, (700 * degree // (1 if make is directed else 2), 2)))
        solver = bfs.prepare(graph, "fast", "cpu")
        for root in bfs.queries(graph, 3, 2):
            run = solver.run(root)
            solver.validate()
            assert bfs.differs(bfs.reference(graph, root), {"levels": solver.levels}) is None
            if taken:
                assert (len(run.phases) == 0) == (taken is Queue)


class Planted:
    """An engine that says what it takes: seconds of a root's first and second search, after one that does not count."""

    def __init__(self, **seconds):
        self.seconds, self.asked = seconds, []

    def __call__(self, root):
        self.asked.append(root)
        return 100 if len(self.asked) == 1 else self.seconds[root][len(self.asked) % 2]


def planted(patch, engines, roots):
    """The fastest, by roots of these names."""
    patch.setattr(trial, "tried", lambda _: roots)
    for engine in engines:
        engine.asked.clear()
    return fastest(None, engines, lambda engine, root: engine(root))


@given(case=cases())
def test_a_queue_looks_at_every_arc_of_what_it_reaches(case):
    graph, root = case
    queue = Queue(graph)
    _, counters, _ = queue.run(root)
    arcs = graph.degrees[queue.levels >= 0].sum()
    assert counters == {"levels": queue.levels.max() + 1, "inspected": arcs}


def test_fast_takes_the_fastest_engine(monkeypatch):
    monkeypatch.setattr(trial, "ROUNDS", 2)
    slow_first = Planted(a=(1, 9), b=(9, 1), c=(1, 1))
    better = Planted(a=(1.5, 1.5), b=(0.5, 8), c=(0.9, 0.9))
    never = Planted(a=(4, 4), b=(0, 0), c=(0, 0))
    for engines in ([slow_first, better, never], [never, better, slow_first]):
        assert planted(monkeypatch, engines, ["a", "b", "c"]) is better
        assert better.asked == 5 * ["a"] + 4 * ["b"] + 4 * ["c"]
        # More than three times the least for a root: not tried further.
        assert never.asked == 5 * ["a"]
    monkeypatch.setattr(trial, "LONG", 0.0)
    # The first root alone, once.
    assert planted(monkeypatch, engines, ["a", "b", "c"]) is slow_first and len(better.asked) == 3


def test_fast_tries_all_roots_of_an_engine_that_is_slow_by_little_time(monkeypatch):
    first, second = Planted(a=(1e-4, 1e-4), b=(5e-3, 5e-3)), Planted(a=(2e-3, 2e-3), b=(1e-3, 1e-3))
    assert planted(monkeypatch, [first, second], ["a", "b"]) is second


def test_one_engine_or_no_root_is_no_trial(monkeypatch):
    engines = [Planted(a=(2, 2)), Planted(a=(1, 1))]
    assert planted(monkeypatch, engines[:1], ["a"]) is engines[0] and planted(monkeypatch, engines, []) is engines[0]
    assert not any(engine.asked for engine in engines)
    assert planted(monkeypatch, engines, ["a"]) is engines[1]


def test_roots_that_are_tried():
    """That of most arcs to others first; none whose only arc is a loop, none without arcs."""
    graph = undirected(9, [(0, 0), (0, 0), (0, 0), (3, 4), (3, 5), (3, 6)])
    roots = tried(graph)
    assert roots[0] == 3 and len(roots) == 3 and set(roots) <= {3, 4, 5, 6}
    assert tried(undirected(2, [(0, 0)])) == []


@pytest.mark.parametrize("slow", [Queue, Levels])
def test_fast_leaves_an_engine_that_is_slow(slow, monkeypatch):
    """Every search of one kind seems to take a second more."""
    from saitan.bfs import cpu_levels

    was = slow.run

    def late(engine, root):
        seconds, counters, phases = was(engine, root)
        return seconds + 1, counters, phases

    monkeypatch.setattr(slow, "run", late)
    monkeypatch.setattr(cpu_levels, "SMALL", 1000)
    solver = bfs.prepare(path(1000), "fast", "cpu")
    run = solver.run(5)
    assert (len(run.phases) == 0) == (slow is Levels) and run.kernel < 1
    solver.validate()


def test_fast_takes_the_way_for_the_graph(kronecker):
    assert small_world(kronecker) and not small_world(path(9))
    assert "direction" in bfs.solve(kronecker, bfs.queries(kronecker, 1, 1)[0], "fast", "cpu").run.phases
    assert bfs.solve(path(9), 0, "fast", "cpu").run.phases == {}


def test_eight_arcs_a_vertex_are_a_small_world():
    ring = np.arange(10)
    arcs = [np.stack([ring, (ring + step) % 10], 1) for step in range(1, 9)]
    assert small_world(directed(10, np.concatenate(arcs))) and not small_world(directed(10, np.concatenate(arcs)[1:]))


def test_a_level_can_be_shared_by_words():
    """Two ranges of words, with a bitmap each, find together what one finds."""
    from saitan.bfs import cpu_step

    graph = GENERATORS["kronecker"](scale=9, seed=4)
    root = bfs.queries(graph, 1, 2)[0]
    for direction, step in ((TOP_DOWN, cpu_step.top_down), (BOTTOM_UP, cpu_step.bottom_up)):
        whole = CpuLevels(graph, graph)
        whole.start(root)
        whole.step(TOP_DOWN, 1)
        frontier, visited = whole.frontier.copy(), whole.visited.copy()
        whole.step(direction, 2)
        width, ticket = len(frontier), np.zeros(1, np.int64)
        parts = []
        for first, last in ((0, 5), (5, width)):
            following, parents = np.zeros(width, np.uint32), np.full(graph.n, -1, np.int32)
            step(graph.offsets, graph.targets, frontier, visited, following, parents, 0, first, last, ticket, 2)
            parts.append(following)
        assert np.array_equal(parts[0] | parts[1], whole.frontier)


def test_memory_of_a_directed_graph_holds_the_turned_arcs():
    graph = directed(40, [(i, i + 1) for i in range(39)])
    assert Hybrid(graph).memory == Hybrid(path(40)).memory + 41 * 8 + 39 * 4


def test_a_layout_in_the_graphs_order():
    graph = undirected(40, [(0, 1), (1, 0), (2, 2), (5, 39)])
    layout = Layout.of(graph, graph, by_degree=False)
    assert layout.old.tolist() == layout.new.tolist() == list(range(40))
    assert layout.forward.sources.tolist() == [0, 1, 5, 39] and layout.forward.targets.tolist() == [1, 0, 39, 5]


@given(case=cases())
def test_rows_of_four_hold_every_arc(case):
    graph, _ = case
    rows = rows_of_four(graph.offsets, graph.targets)
    used = set(range(graph.n))
    for v in range(graph.n):
        heads, row = [], v
        while row >= 0:
            four = rows[row].tolist()
            heads += [head for head in four if head >= 0]
            row = -2 - four[3] if four[3] <= -2 else -1
            if row >= 0:
                assert row not in used and min(four[:3]) >= 0
                used.add(row)
        assert heads == graph.targets[graph.offsets[v] : graph.offsets[v + 1]].tolist()
    assert used == set(range(len(rows)))
