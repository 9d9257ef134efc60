"""Paper S's loop over phases and its counts on cases worked out by hand, with an engine and a clock from a script."""

import numpy as np
import pytest
from numba import get_num_threads

from saitan import sssp
from saitan.graph import Graph
from saitan.sssp import cpu, phases
from saitan.sssp.cpu import CpuEngine
from saitan.sssp.phases import SELECTION, Thresholds, calibrate, run_phases


class Scripted:
    """An engine of 100 vertices whose lists have the given lengths; a phase takes the seconds that the clock says."""

    n = 100

    def __init__(self, lengths, switched=()):
        self.lengths, self.switched, self.called, self.updates = list(lengths), list(switched), [], len(lengths)

    def _updated(self):
        self.updates -= 1
        return self.updates > 0

    def relax(self):
        self.called.append("relax")
        self.lengths.pop(0)

    def update(self):
        return self._updated()

    def select_relax(self, length):
        self.called.append(length)
        return self.lengths.pop(0)

    def select_update(self, length):
        return self._updated()

    def switch(self):
        self.called.append("switch")
        return self.switched.pop(0)


@pytest.fixture
def clock(monkeypatch):
    def take(*seconds):
        readings = iter(np.repeat(np.cumsum([0, *seconds]), 2)[1:-1].tolist())
        monkeypatch.setattr(phases.time, "perf_counter", lambda: next(readings))

    return take


def test_the_next_phase_goes_by_the_mean_of_this_and_the_one_before(clock):
    clock(1, 3, 5, 1, 1, 7, 1, 1)
    engine = Scripted([4, 6, 8, None, None, 3, 0], switched=[9])
    seen = run_phases(engine, True, Thresholds(up=2.5, down=2.0))
    # Means: 1, (1 + 3) / 2 = 2 stays although 3 > 2.5, (3 + 5) / 2 = 4 > 2.5 leaves;
    # (5 + 1) / 2 = 3 stays although 1 < 2, (1 + 1) / 2 = 1 < 2 goes back with the list that switch makes. That takes 7,
    # which the phase lasts longer; the rule does not see it: (1 + 1) / 2 stays.
    assert seen.selecting == [True, True, True, False, False, True, True]
    assert seen.seconds == [1, 3, 5, 1, 1 + 7, 1, 1]
    # A thread a listed vertex to relax and a thread a listed one to update: the lists read and written.
    assert engine.called == [1, 4, 6, "relax", "relax", "switch", 9, 3]
    assert seen.listed == [4, 6, 8, -1, -1, 3, 0]
    assert seen.threads == [1 + 4, 4 + 6, 6 + 8, 200, 200, 9 + 3, 3 + 0]
    assert seen.counters() == {
        "phases": 7,
        "listed": 4 + 6 + 8 + 3,
        "threads": 5 + 10 + 14 + 400 + 12 + 3,
        "switches": 2,
    }
    arrays = seen.arrays()
    assert arrays["mode"].tolist() == ["selection"] * 3 + ["conventional"] * 2 + ["selection"] * 2
    assert arrays["threads"].tolist() == seen.threads and arrays["listed"].tolist() == seen.listed
    assert arrays["seconds"].tolist() == seen.seconds


def test_the_first_mean_is_the_first_phase_alone_and_the_thresholds_themselves_do_not_switch(clock):
    clock(3, 3, 3)
    seen = run_phases(Scripted([1, 1, 0]), True, Thresholds(up=3, down=3))
    assert seen.selecting == [True, True, True]
    clock(3, 3, 3)
    seen = run_phases(Scripted([1, None, None]), True, Thresholds(up=2.9, down=2.9))
    assert seen.selecting == [True, False, False]
    clock(2, 2, 2, 2)
    seen = run_phases(Scripted([1, None, None, None]), True, Thresholds(up=1, down=1))
    assert seen.selecting == [True, False, False, False]


def test_without_thresholds_the_way_never_changes(clock):
    for selecting in (True, False):
        clock(9, 1, 9)
        seen = run_phases(Scripted([5, 5, 5]), selecting, None)
        assert seen.selecting == [selecting] * 3 and seen.counters()["switches"] == 0


def test_an_empty_list_ends_the_phases_without_an_update(clock):
    clock(1, 1)
    engine = Scripted([2, 0, 7])
    seen = run_phases(engine, True, None)
    assert seen.listed == [2, 0] and seen.threads == [1 + 2, 2 + 0] and engine.lengths == [7]


def test_no_phase_starts_after_the_limit(clock):
    clock(1, 2, 3)
    assert run_phases(Scripted([5, 5, 5, 5]), True, None, limit=3).seconds == [1, 2, 3]
    clock(1, 2)
    assert run_phases(Scripted([5, 5, 5, 5]), True, None, limit=2.5).seconds == [1, 2]


@pytest.mark.parametrize(("each", "limit"), [(0.001, 1.0), (2.0, 40.0)])
def test_calibration_ends_the_conventional_run_that_takes_far_longer(each, limit):
    # Conventional phases of a path take n threads each: all n of them would be n^2 work where selection does n.
    ran = []

    class Timed(phases.Switching):
        def __init__(self, graph):
            self.graph = graph

        def _phases(self, source, selecting, thresholds, limit=np.inf):
            ran.append((selecting, limit))
            return phases.Phases(seconds=[each] * 5 if selecting else [9 * each])

    assert Timed(Graph.from_arcs(2, [0], [1]))._calibrated() is SELECTION
    # The first round only warms up.
    assert ran == [(True, np.inf), (False, 1.0), (True, np.inf), (False, limit)]


def test_the_counts_of_a_graph_drawn_by_hand():
    # 0 -> 1 (1), 0 -> 2 (4), 1 -> 2 (1), 2 -> 3 (1): phases update {1, 2}, {2, 3}, {3} and nothing.
    graph = Graph.from_arcs(4, [0, 0, 1, 2], [1, 2, 2, 3], np.array([1, 4, 1, 1], np.uint32))
    selection = sssp.prepare(graph, "selection", "cpu")
    run = selection.run(0)
    # Listed: {1, 2}, {2, 3}, {3}, {}: threads 1 + 2, 2 + 2, 2 + 1, 1 + 0.
    assert run.phases["listed"].tolist() == [2, 2, 1, 0]
    assert run.phases["threads"].tolist() == [3, 4, 3, 1]
    assert {k: run.counters[k] for k in ("phases", "listed", "threads", "switches")} == {
        "phases": 4,
        "listed": 5,
        "threads": 11,
        "switches": 0,
    }
    assert selection.count(0)["updated"].tolist() == [2, 2, 1, 0]
    conventional = sssp.prepare(graph, "conventional", "cpu").run(0)
    assert conventional.counters["threads"] == 4 * 8 and conventional.counters["listed"] == 0
    # An equal candidate is listed, though nothing is updated by it (Algorithm 5): 0 -> 1 twice at 1, 1 -> 1 never.
    twice = Graph.from_arcs(3, [0, 0, 1, 2], [1, 2, 2, 1], np.array([1, 1, 0, 0], np.uint32))
    run = sssp.prepare(twice, "selection", "cpu").run(0)
    assert run.phases["listed"].tolist() == [2, 2]
    assert sssp.prepare(twice, "selection", "cpu").count(0)["updated"].tolist() == [2, 0]


def test_a_replay_switches_as_a_run_does():
    conventional, selection = np.full(6, 5.0), np.array([1.0, 9.0, 9.0, 1.0, 1.0, 1.0])
    # Up 5: 1 and 9, mean 5, stays; 9 and 9 leaves; 9 and 5, mean 7, and 5 and 5 are not below 5.
    assert phases._replay(Thresholds(5, 5), conventional, selection) == 1 + 9 + 9 + 5 + 5 + 5
    # Down 5.5: the mean of 5 goes back for the last phase.
    assert phases._replay(Thresholds(6, 5.5), conventional, selection) == 1 + 9 + 9 + 5 + 5 + 1
    # Up 4.9 leaves after the mean of 1 and 9.
    assert phases._replay(Thresholds(4.9, 4), conventional, selection) == 1 + 9 + 5 + 5 + 5 + 5
    assert phases._replay(SELECTION, conventional, selection) == selection.sum()
    assert phases._replay(Thresholds(0, 0), conventional, selection) == 1 + 5 * 5
    best = calibrate(conventional, selection)
    assert phases._replay(best, conventional, selection) == selection.sum()
    # Of runs of different length the common phases count.
    assert calibrate(np.array([1.0, 1.0, 99.0]), np.array([9.0, 9.0])).selects_next(True, 9.0) is False


def test_bounds_of_thresholds():
    assert Thresholds(0, 0).up == 0 and Thresholds(3, 3).down == 3
    for up, down in ((3, 3.1), (-1, -1), (3, -0.1), (np.nan, 0), (1, np.nan)):
        with pytest.raises(ValueError, match="thresholds must be 0 <= down <= up"):
            Thresholds(up, down)


def random_engine(seed):
    """An engine amid a search, and its arcs' tails, heads, candidates and whether their tails are marked."""
    random = np.random.default_rng(seed)
    n, m = 70, 400
    weights = random.integers(0, 9, m).astype(np.uint32)
    graph = Graph.from_arcs(n, random.integers(0, n, m), random.integers(0, n, m), weights)
    engine = CpuEngine(graph, np.uint32)
    engine.start(0)
    engine.cost[:] = random.integers(0, 30, n)
    engine.updated[:] = random.integers(0, 30, n)
    engine.mask[:] = random.random(n) < 0.5
    # The first and the last vertex take part, and the last arc of the last one lowers a cost.
    engine.mask[[0, -1]], engine.cost[[0, -1]] = True, 0
    engine.updated[graph.targets[-1]] = graph.weights[-1] = 20
    tails = graph.sources
    return engine, graph.targets, engine.cost[tails] + graph.weights, engine.mask[tails].copy()


def lowered(before, heads, candidates):
    least = before.copy()
    np.minimum.at(least, heads, candidates)
    return least


@pytest.mark.parametrize("seed", range(4))
def test_the_kernels_of_an_engine_do_what_the_paper_says_to_every_vertex(seed):
    engine, heads, candidates, marked = random_engine(seed)
    mask, before = engine.mask.copy(), engine.updated.copy()
    wanted = lowered(before, heads[marked], candidates[marked])
    # Algorithm 5 over a list of the marked vertices, which SWITCH_KERNEL makes.
    length = engine.switch()
    assert sorted(engine.read[:length].tolist()) == np.flatnonzero(mask).tolist()
    listed = engine.select_relax(length)
    assert engine.updated.tolist() == wanted.tolist() and not engine.mask.any()
    least = lowered(np.full(engine.n, 99, np.uint32), heads[marked], candidates[marked])
    fell = np.flatnonzero(least <= before)
    assert sorted(engine.read[:listed].tolist()) == fell.tolist() and engine.scheduled[fell].all()
    # Algorithm 6: what is listed and lower is committed.
    cost = engine.cost.copy()
    commits = fell[cost[fell] > wanted[fell]]
    assert engine.select_update(listed) == bool(len(commits)) and engine.changed == [len(commits)]
    assert np.flatnonzero(engine.mask).tolist() == commits.tolist() and not engine.scheduled.any()
    cost[commits] = wanted[commits]
    assert engine.cost.tolist() == cost.tolist()
    # Algorithms 2 and 3 from the same state.
    engine, heads, candidates, marked = random_engine(seed)
    engine.relax()
    assert engine.updated.tolist() == wanted.tolist() and not engine.mask.any()
    cost = engine.cost.copy()
    commits = np.flatnonzero(cost > wanted)
    assert engine.update() == bool(len(commits)) and engine.changed == [len(commits)]
    assert np.flatnonzero(engine.mask).tolist() == commits.tolist()
    cost[commits] = wanted[commits]
    assert engine.cost.tolist() == cost.tolist() == engine.updated.tolist()


@pytest.mark.parametrize("selecting", [False, True])
def test_a_sum_at_the_limit_ends_the_phase(selecting):
    limit = 2**32 - 1
    for weight, too_long in ((limit - 8, False), (limit - 7, True)):
        engine = CpuEngine(Graph.from_arcs(2, [0], [1], np.array([weight], np.uint32)), np.uint32)
        engine.start(0)
        engine.cost[0] = 7
        relax = (lambda engine=engine: engine.select_relax(1)) if selecting else engine.relax
        if too_long:
            with pytest.raises(phases.Overflow):
                relax()
        else:
            relax()
            assert engine.updated.tolist() == [limit, limit - 1]


def test_threads_are_as_many_after_a_phase_as_before_it():
    import numba

    before = numba.get_num_threads()
    sssp.solve(Graph.from_arcs(2, [0], [1], np.ones(1, np.uint32)), 0, "adaptive", "cpu", threshold_up=1)
    assert numba.get_num_threads() == before


@pytest.mark.parametrize("n", [cpu.ALONE - 1, cpu.ALONE])
def test_one_thread_runs_a_kernel_of_few_vertices(monkeypatch, n):
    seen = []
    for name in ("_relax", "_update", "_select_relax", "_select_update", "_switch"):
        monkeypatch.setattr(cpu, name, lambda *_: seen.append(get_num_threads()))
    engine = CpuEngine(Graph.from_arcs(n, [], [], np.empty(0, np.uint32)), np.uint32)
    monkeypatch.setattr(engine, "_committed", bool)
    engine.relax(), engine.update(), engine.select_relax(n), engine.select_update(n), engine.switch()
    assert seen == [get_num_threads() if n >= cpu.ALONE else 1] * 5
