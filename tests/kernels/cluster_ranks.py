"""Run under a launcher by test_bfs_cluster.py: the search over ranks against SciPy, the validator on wrong answers.

    mpirun -n 2 python cluster_ranks.py 2 8 cpu '{}' cluster

on two ranks, with eight graphs, a backend, the variant's parameters and its name. Whatever is wrong on a rank ends all
of them.
"""

import itertools
import json
import sys
import traceback

import numpy as np
from bfs_cases import directed, path, spoiled, star, undirected

from saitan import bfs, exchange, ranks
from saitan.arc_parts import KroneckerArcs
from saitan.bfs.cluster_count import count
from saitan.bfs.validate import check
from saitan.generators import GENERATORS
from saitan.problem import Invalid, Unavailable


def cluster(graph):
    return bfs.VARIANTS[sys.argv[5]].load(sys.argv[3])(graph, **json.loads(sys.argv[4]))


def graphs():
    draw = np.random.default_rng(5)
    yield GENERATORS["kronecker"](scale=9, seed=3)
    yield GENERATORS["road_rail"](vertices=120, arcs=390, seed=2)
    yield path(41)
    yield star(700)
    yield undirected(2, [(0, 1)])
    yield undirected(333, draw.integers(0, 150, (200, 2)))  # most are reached by nobody
    loops = np.repeat(np.arange(20), 2).reshape(-1, 2)
    yield undirected(65, np.concatenate([draw.integers(0, 65, (90, 2)), loops]), once=True)
    yield directed(517, draw.integers(0, 517, (1500, 2)))


def searches(graph):
    """Levels by SciPy, all by the validator of one process, edges and directions by the hybrid of one process."""
    solver, alone = cluster(graph), bfs.prepare(graph, "hybrid", "cpu")
    for root in bfs.queries(graph, 2, 7):
        run, expected = solver.run(root), alone.run(root)
        assert solver.validate().whole
        answer = solver.answer()
        assert bfs.differs(bfs.reference(graph, root), answer) is None
        check(graph, root, answer["levels"], answer["parents"])
        for name in ("edges", "levels", "switches"):
            assert run.counters[name] == expected.counters[name], name
        assert run.phases["direction"].tolist() == expected.phases["direction"].tolist()
        assert run.phases["frontier"].tolist() == expected.phases["frontier"].tolist()
        assert (run.counters["sent_bytes"] > 0) == (ranks.current().size > 1)
        assert run.phases["sent"].sum() == run.counters["sent_bytes"]
        told = solver.told and sys.argv[3] == "cpu"
        counted = count(graph, answer["levels"], run.phases["direction"].tolist(), ranks.current().size, told)
        # A warp of the GPU looks at 32 arcs at once.
        assert sys.argv[3] == "cuda" or run.phases["inspected"].tolist() == counted.inspected.tolist()
        given = json.loads(sys.argv[4])
        if given.get("exchange") == "peer":
            # Members that leave out what others found send fewer parents, and get more.
            found = np.append(run.phases["frontier"][1:], 0)
            extra = run.phases["sent"] - counted.bitmaps * counted.processes
            assert ((extra >= 0) & (extra <= 4 * found)).all()
        elif not given.get("compress"):
            assert run.phases["sent"].tolist() == counted.sent.tolist()
        rows = np.array([0, graph.n // 2, graph.n - 1])
        some = {name: [] for name in ("levels", "parents")}
        for name, row, values in solver.blocks(np.unique(rows)):
            some[name].append((row, values[0]))
        for name, values in some.items():
            assert values == [(row, answer[name][row]) for row in np.unique(rows)], name
    solver.close()


def refused_by_all(solver, what, begins=""):
    """Every rank refuses what the solver holds, in the same words, which begin so."""
    try:
        solver.validate()
    except Invalid as error:
        assert len(set(ranks.current().each(str(error)))) == 1
        assert str(error).startswith(begins), error
    else:
        raise AssertionError(f"{what} passed")


def wrong_answers():
    """Every wrong answer is refused, by every rank in the same words."""
    graph = undirected(70, np.random.default_rng(1).integers(0, 70, (120, 2)))
    solver, root = cluster(graph), bfs.queries(graph, 1, 1)[0]
    solver.run(root)
    answer = solver.answer()
    for what, levels, parents in spoiled(graph, root, answer["levels"], answer["parents"]):
        for part in solver.parts.values():
            size = max(0, min(solver.partition.slice, graph.n - part.first))
            part.levels[:size] = levels[part.first : part.first + size]
            part.parents[:size] = parents[part.first : part.first + size]
        refused_by_all(solver, what)


def ends_of_slices():
    """The first and the last vertex of every slice are looked at by their owner, and the message names them."""
    graph = undirected(512, [(v, (v + 1) % 512) for v in range(512)])
    solver = cluster(graph)
    solver.run(5)
    size = solver.partition.slice
    assert graph.n % size == 0
    for v in [v for v in range(graph.n) if v % size in (0, size - 1)]:
        owned = [(part, v - part.first) for part in solver.parts.values() if part.first <= v < part.first + size]
        before = [part.parents[i] for part, i in owned]
        for part, i in owned:
            part.parents[i] = -1
        refused_by_all(solver, f"vertex {v} without a parent", f"vertex {v} is on level ")
        for (part, i), parent in zip(owned, before, strict=True):
            part.parents[i] = parent
    solver.validate()


def one_arc():
    """It is looked at whatever its tail's place in a block is."""
    n = 512
    size = cluster(path(n)).partition.part
    for tail in sorted({0, size - 1, size % n, n - 1}):
        head = (tail + 7) % n
        solver = cluster(directed(n, [(tail, head)]))
        solver.run(tail)
        solver.validate()
        for part in solver.parts.values():
            if part.first <= head < part.first + solver.partition.slice:
                part.levels[head - part.first] = part.parents[head - part.first] = -1
        refused_by_all(
            solver, "an unreached head", f"an arc leads from vertex {tail}, on level 0, to vertex {head}, not"
        )
        solver.close()


def generated_in_parts():
    whole = GENERATORS["kronecker"](scale=10, seed=4)
    solver = cluster(KroneckerArcs(10, 4))
    root = bfs.queries(whole, 1, 1)[0]
    solver.run(root)
    assert bfs.differs(bfs.reference(whole, root), solver.answer()) is None
    held = sum(len(block.forward.ends) for block in solver.blocks_held)
    assert sum(ranks.current().each(held)) == whole.m and (held < whole.m or ranks.current().size == 1)
    alone = int(np.flatnonzero(whole.degrees == 0)[0])
    try:
        solver.run(alone)
    except ValueError as error:
        assert "reaches nothing" in str(error)
    else:
        raise AssertionError("a root without arcs passed")


def one_lacks():
    """What one rank lacks, all of them know, and who it is."""
    joined = ranks.current()

    def made():
        if joined.rank == joined.size - 1:
            raise Unavailable("there is no device")
        return joined.rank

    try:
        joined.together_do(made)
    except Unavailable as error:
        named = f"rank {joined.size - 1} of {joined.size} on" if joined.size > 1 else "there is no device"
        assert len(set(joined.each(str(error)))) == 1 and str(error).startswith(named)
    else:
        raise AssertionError("a rank goes on without what another lacks")
    assert joined.together_do(lambda: joined.rank) == joined.rank


def short_messages():
    """As where an exchange takes more than one message."""
    exchange.Exchange.__init__.__defaults__ = (64,)
    searches(GENERATORS["kronecker"](scale=6, seed=1))


def on_all_ranks(graphs, searches, *checks):
    """What a script does: as many graphs as it was told, then the checks. What is wrong on a rank ends all of them."""
    joined = ranks.join(int(sys.argv[1]))
    try:
        for graph in itertools.islice(graphs, int(sys.argv[2])):
            searches(graph)
        for check_all in checks:
            check_all()
    except BaseException:
        traceback.print_exc()
        joined.abort()
        raise
    print(f"{joined.rank} right")


if __name__ == "__main__":
    on_all_ranks(
        graphs(), searches, wrong_answers, ends_of_slices, one_arc, generated_in_parts, one_lacks, short_messages
    )
