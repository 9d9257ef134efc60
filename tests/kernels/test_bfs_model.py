"""The model of paper H's search on more processes: its counts are those of a run, its fit finds what was put in."""

import itertools

import numpy as np
import pytest

from saitan import bfs
from saitan.bfs.cluster_count import count
from saitan.bfs.cluster_model import Model, enlarged
from saitan.bfs.partition import Partition
from saitan.generators import GENERATORS


def counted(graph, processes, root=None):
    solver = bfs.prepare(graph, "hybrid", "cpu")
    run = solver.run(bfs.queries(graph, 1, 5)[0] if root is None else root)
    return count(graph, solver.answer()["levels"], run.phases["direction"].tolist(), processes), run


def graph_left(drawn, graph, frontier):
    """Vertices not reached when a level begins."""
    return GENERATORS[graph](**drawn).n - np.cumsum(frontier)[:-1]


@pytest.mark.parametrize("graph", ["kronecker", "road_rail"])
def test_one_process_looks_at_what_the_hybrid_does(graph):
    drawn = {"kronecker": {"scale": 9, "seed": 3}, "road_rail": {"vertices": 120, "arcs": 390, "seed": 2}}[graph]
    made, run = counted(GENERATORS[graph](**drawn), 1)
    assert made.inspected.tolist() == run.phases["inspected"].tolist() == made.largest.tolist()
    assert not made.sent.any()
    frontier = np.append(run.phases["frontier"], 0)
    assert made.reached.tolist() == frontier[1:].tolist()
    left = graph_left(drawn, graph, frontier)
    assert made.opened.tolist() == np.where(run.phases["direction"] == "bottom-up", left, 0).tolist()


def test_more_processes_look_at_more_bottom_up_and_send_more():
    graph = GENERATORS["kronecker"](scale=11, seed=3)
    searches = [counted(graph, processes)[0] for processes in (1, 2, 8, 32)]
    for fewer, more in itertools.pairwise(searches):
        assert (more.inspected >= fewer.inspected).all() and more.inspected.sum() > fewer.inspected.sum()
        assert (more.largest <= fewer.largest).all() and more.sent.sum() > fewer.sent.sum()
        assert more.parents.sum() <= (graph.n - 1)


@pytest.mark.parametrize("processes", [2, 8])
def test_who_is_told_leaves_out_what_others_found_first(processes):
    graph = GENERATORS["kronecker"](scale=8, seed=3)
    solver = bfs.prepare(graph, "hybrid", "cpu")
    run = solver.run(bfs.queries(graph, 1, 5)[0])
    levels, directions = solver.answer()["levels"], run.phases["direction"].tolist()
    untold, told = (count(graph, levels, directions, processes, told) for told in (False, True))
    made = Partition(graph.n, processes)
    inspected, opened = (np.zeros((len(directions), processes), int) for _ in range(2))
    for level, direction in enumerate(directions):
        found = set()
        for turn in (0, 1):
            before = set(found)
            for process in range(processes if direction == "bottom-up" else 0):
                row, column = made.blocks(process)[made.begins(process) ^ turn]
                for v in range(row * made.part, min(graph.n, (row + 1) * made.part)):
                    if 0 <= levels[v] <= level or v in before:
                        continue
                    opened[level, process] += 1
                    for u in graph.targets[graph.offsets[v] : graph.offsets[v + 1]]:
                        if u // made.part == column:
                            inspected[level, process] += 1
                            if levels[u] == level:
                                found.add(v)
                                break
    upwards = np.array(directions) == "bottom-up"
    assert upwards.any() and told.inspected[upwards].sum() < untold.inspected[upwards].sum()
    assert told.inspected[~upwards].tolist() == untold.inspected[~upwards].tolist()
    assert told.inspected[upwards].tolist() == inspected.sum(axis=1)[upwards].tolist()
    assert told.largest[upwards].tolist() == inspected.max(axis=1)[upwards].tolist()
    assert told.opened.tolist() == opened.max(axis=1).tolist()


def test_a_fit_finds_what_was_put_in():
    model = Model(2e-5, 3e-9, 2e-9, 5e-9, 7e-9, 4e-10, 3e-5, 1e-6, 5e9, 1e-4)
    graph = GENERATORS["kronecker"](scale=10, seed=3)
    searches = [counted(graph, processes)[0] for processes in (1, 2, 8)]
    computed = [
        model.level * (1 if made.processes == 1 else 2)
        + np.where(made.opened > 0, model.probe, model.arc) * made.largest
        + model.opened * made.opened
        + model.reached * made.reached
        + model.word * made.words
        for made in searches
    ]
    moved = [
        model.call * made.blocks + 5 * np.log2(made.processes) * model.latency + made.sent / made.processes / model.rate
        for made in searches
    ]
    seconds = [1e-4 + c.sum() + m.sum() for c, m in zip(computed, moved, strict=True)]
    again = Model.fitted(list(zip(searches, seconds, computed, moved, strict=True)))
    alone = Model.fitted([(searches[0], seconds[0], computed[0], moved[0])])
    assert alone.communication(searches[2]) == pytest.approx(2 * len(searches[2].largest) * model.call)
    for name in ("level", "arc", "probe", "opened", "reached", "word", "call", "latency", "rate", "start"):
        assert getattr(again, name) == pytest.approx(getattr(model, name), rel=1e-6), name
    assert again.compute(searches[2]) == pytest.approx(computed[2].sum())
    assert again.seconds(searches[2]) == pytest.approx(seconds[2])
    # Where the slowest of several ranks changes, its levels can add up to more than the search.
    assert Model.fitted([(searches[2], 0.0, computed[2], moved[2])]).start == 0
    expected = sum(6e-5 + 5 * 3 * 1e-6 + sent / 8 / 5e9 for sent in searches[2].sent)
    assert again.communication(searches[2]) == pytest.approx(expected)
    larger = enlarged(searches[2], 4)
    assert larger.inspected.sum() == 4 * searches[2].inspected.sum() and larger.words == 4 * searches[2].words
