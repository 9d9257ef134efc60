"""Every CPU variant of BFS against SciPy, the switching rule, Graph500's counts, the validator on wrong answers."""

import numpy as np
import pytest
from bfs_cases import (
    arcs_by_numpy,
    cases,
    directed,
    path,
    spoiled,
    star,
    triangle,
    undirected,
)
from hypothesis import example, given

from saitan import bfs, problem
from saitan.bfs import cpu_step
from saitan.bfs.cpu import CpuLevels, Hybrid
from saitan.bfs.search import BOTTOM_UP, TOP_DOWN, EdgeCount, Found, Rule, reverse
from saitan.bfs.validate import check
from saitan.generators import GENERATORS
from saitan.graph import Graph
from saitan.problem import Invalid, Unavailable

CPU = [name for name, v in bfs.VARIANTS.items() if v.cpu and not v.missing() and name in bfs._answering("search")]
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
        with pytest.raises(Invalid, match=r"have the shape \([38],\): \(4,\) is right$"):
            check(graph, 0, levels, parents)
    with pytest.raises(Invalid, match=r"^levels have the type int64: int32 is right$"):
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
        (3, "root 3 of graph drawn reaches nothing"),
        (2, "root 2 of graph drawn reaches nothing"),
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


def test_a_variant_that_says_nothing_of_tasks_answers_each(monkeypatch):
    monkeypatch.setitem(bfs.VARIANTS, "mine", problem.Variant("mine", cpu="saitan.bfs.cpu_fast:Solver"))
    for task in ("search", "many", "closeness"):
        assert "mine" in bfs._answering(task)
    assert bfs.VARIANTS["mine"].unfit("cpu", {"task": "many"}) is None


def test_differs_names_the_first():
    graph = path(5)
    expected = bfs.reference(graph, 0)
    assert bfs.differs(expected, {"levels": np.arange(5, dtype=np.int32)}) is None
    assert bfs.differs(expected, {"levels": np.array([0, 1, 2, 3, 5], np.int32)}) == (
        "1 levels differ, the first at vertex 4: 5, not 4"
    )
    assert bfs.differs(expected, {"levels": np.zeros(1, np.int32)}) == "levels have the shape (1,): (5,) is right"
    assert bfs.differs(expected, {}) == "there are no levels"


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
