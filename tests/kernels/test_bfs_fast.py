"""Fast BFS on the CPU: its layout, its levels and their parts, and the trial that chooses its engine."""

from contextlib import closing

import numpy as np
import pytest
from bfs_cases import (
    alike,
    arcs_by_numpy,
    cases,
    directed,
    expander,
    hypercube,
    layered,
    lollipop,
    path,
    star,
    undirected,
)
from hypothesis import given
from numba import get_num_threads

from saitan import bfs, team
from saitan.bfs import trial
from saitan.bfs.cpu_fast import Queue
from saitan.bfs.cpu_levels import Levels
from saitan.bfs.cpu_levels import _share as share_step
from saitan.bfs.cpu_levels import _take as take
from saitan.bfs.cpu_parts import CLEAR, LEAVING, LEVEL, LIST, LISTED, MARK, SHARE, SHARES, Search, pull_needs
from saitan.bfs.layout import Layout, rows_of_four, small_world
from saitan.bfs.search import BOTTOM_UP, TOP_DOWN, reverse
from saitan.bfs.trial import fastest, tried
from saitan.generators import GENERATORS


@pytest.fixture(scope="module")
def kronecker():
    return GENERATORS["kronecker"](scale=11, seed=3)


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
    """By one thread, and by all with a price of a row."""
    from saitan.bfs import cpu_levels, layout

    if row is not None:
        monkeypatch.setattr(cpu_levels, "SMALL", 0)
        monkeypatch.setattr(cpu_levels, "ROW", row)
    threads = 1 if row is None else get_num_threads()
    row, find = cpu_levels.ROW * threads, cpu_levels.FIND * threads
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
                needs, finds = pulled(made.backward, (levels >= 0) & (levels <= level), levels == level)
                worth = row * count + find * finds
                up = up and 14 * count * m >= k * k and needs <= 2 * count * m / k + worth
                up = up or (20 * arcs > m and needs <= 2 * arcs + worth)
                assert way == (BOTTOM_UP if up else TOP_DOWN)
                ways.add((way, 20 * arcs > m))
    assert len(ways) == 4


def looked_at(rows, visited, frontier):
    """Arcs of each row that a bottom-up level looks at, all where the first 64 lead elsewhere; whether it finds it."""
    looked, found = np.where(visited, 0, rows.degrees), np.zeros(rows.n, bool)
    for v in np.flatnonzero(~visited):
        hits = np.flatnonzero(frontier[rows.targets[rows.offsets[v] : rows.offsets[v + 1]]])
        if len(hits) and hits[0] < 64:
            looked[v], found[v] = hits[0] + 1, True
    return looked, found


def pulled(rows, visited, frontier):
    """What 128 arcs, each in the middle of an equal part of all, say of the sums of both."""
    part = rows.m / 128
    drawn = rows.sources[((np.arange(128) + 0.5) * part).astype(np.int64)]
    return [sum(values[drawn] * part / rows.degrees[drawn]) for values in looked_at(rows, visited, frontier)]


def needs(made, visited, frontier):
    """Of bottom-up, as the search counts it."""
    search = Search.over(made, made.forward.n)
    for bits, flags in ((search.sets[0], visited), (search.sets[1], frontier)):
        padded = np.zeros(32 * len(bits), np.uint8)
        padded[: len(flags)] = flags
        bits[:] = np.packbits(padded, bitorder="little").view(np.uint32)
    return pull_needs(search, search.sets[1])


@pytest.mark.parametrize("share", [0, 0.02, 0.3])
def test_what_a_bottom_up_level_looks_at_and_finds(share):
    """Exactly where there are as many as are drawn: 100 enter one vertex, the others any."""
    rng = np.random.default_rng(7)
    for _ in range(30):
        heads = np.append(np.zeros(100, np.int64), rng.permutation(np.arange(1, 90))[:28])
        graph = directed(220, np.stack([np.append(np.arange(100, 200), rng.integers(90, 100, 28)), heads], 1))
        visited, frontier = rng.random(graph.n) < 0.3, rng.random(graph.n) < share
        made = Layout.of(graph, reverse(graph))
        visited, frontier = visited[made.old], frontier[made.old]
        exact = [values.sum() for values in looked_at(made.backward, visited, frontier)]
        assert needs(made, visited, frontier) == pytest.approx(exact)


def test_long_rows_do_not_stand_for_short_ones():
    """Rows of 200 arcs, few of them left, beside many short ones that find their parent at once."""
    rng = np.random.default_rng(2)
    hubs, leaves = 1000, 50_000
    graph = undirected(hubs + leaves, rng.integers((0, hubs), (hubs, hubs + leaves), (200_000, 2)))
    made = Layout.of(graph, reverse(graph))
    # One of them would be drawn if 128 vertices were, evenly spaced.
    left = np.arange(190, 205)
    visited = made.old < hubs
    frontier = visited.copy()
    visited[left], frontier[left] = False, False
    exact = [values.sum() for values in looked_at(made.backward, visited, frontier)]
    assert exact[0] < made.forward.m / 7
    assert needs(made, visited, frontier) == pytest.approx(exact, rel=0.25)


@pytest.mark.parametrize("crowd", [0.5, 2.0])
def test_one_thread_reads_many_rows_in_order(crowd, monkeypatch):
    """Of 200 vertices on level 2 of 260, which ten others found."""
    from saitan.bfs import cpu_levels, layout

    monkeypatch.setattr(layout, "WIDE_DEGREE", 0)
    monkeypatch.setattr(cpu_levels, "CROWD", crowd)
    monkeypatch.setattr(cpu_levels, "ALPHA", 1e-9)
    takes(monkeypatch, Levels)
    hubs, found = np.arange(1, 11), np.random.default_rng(1).permutation(np.arange(11, 211))
    ends = [
        np.stack([0 * hubs, hubs], 1),
        np.stack([hubs.repeat(20), found], 1),
        np.stack([found, 211 + found % 49], 1),
    ]
    with closing(bfs.prepare(directed(260, np.concatenate(ends)), "fast", "cpu")) as solver:
        run = solver.run(0)
        assert run.phases["frontier"].tolist() == [1, 10, 200, 49]
        rows = solver._engine._search.shares[0, :200]
        assert len(set(rows.tolist())) == 200 and (rows == np.sort(rows)).all() == (crowd > 1)


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


def test_fast_takes_the_way_for_the_graph(kronecker, monkeypatch):
    """A small world's queue is tried where that takes little time, a small road's is taken."""
    from saitan.bfs import cpu_fast

    tried = []
    monkeypatch.setattr(cpu_fast, "fastest", lambda _, engines, __: tried.append(engines) or engines[-1])
    assert small_world(kronecker) and not small_world(path(9))
    for arcs in (kronecker.m, kronecker.m - 1):
        monkeypatch.setattr(cpu_fast, "QUEUED", arcs)
        assert "direction" in bfs.solve(kronecker, bfs.queries(kronecker, 1, 1)[0], "fast", "cpu").run.phases
    assert [[type(engine) for engine in engines] for engines in tried] == [[Queue, Levels], [Levels]]
    assert bfs.solve(path(9), 0, "fast", "cpu").run.phases == {} and len(tried) == 2


@pytest.mark.parametrize("threads", [1, 2])
def test_fast_tries_levels_by_one_thread_where_there_are_several(threads, kronecker, monkeypatch):
    from saitan.bfs import cpu_fast, cpu_levels

    tried = []
    monkeypatch.setattr(cpu_fast, "fastest", lambda _, engines, __: tried.extend(engines) or engines[-1])
    monkeypatch.setattr(cpu_levels, "SMALL", 0)
    monkeypatch.setattr(cpu_levels, "get_num_threads", lambda: threads)
    solver = bfs.prepare(kronecker, "fast", "cpu")
    assert [engine.threads for engine in tried if isinstance(engine, Levels)] == [threads, 1][:threads]
    solver.run(bfs.queries(kronecker, 1, 1)[0])
    solver.validate()


def test_eight_arcs_a_vertex_are_a_small_world():
    ring = np.arange(10)
    arcs = [np.stack([ring, (ring + step) % 10], 1) for step in range(1, 9)]
    assert small_world(directed(10, np.concatenate(arcs))) and not small_world(directed(10, np.concatenate(arcs)[1:]))


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
