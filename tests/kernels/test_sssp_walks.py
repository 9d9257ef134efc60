"""Real weights: long chains and hanging trees taken out of a graph, distances by walks along them, to the bit."""

import heapq
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_sssp_chains import edges, long_drawn, right, take_out

from saitan import sssp
from saitan.graph import Graph
from saitan.sssp import chains
from saitan.sssp import walks as module
from saitan.sssp.choice import level_sizes
from saitan.sssp.layout import NONE as NO_ARC
from saitan.sssp.peeling import CORE, NONE, TREE
from saitan.sssp.simplify import simplified
from saitan.sssp.validate import check_distances, tight_tree
from saitan.sssp.walks import LINK, walked, worth_walking


def real(graph: Graph, random: np.random.Generator) -> Graph:
    """The graph with real weights: of very different size, now and then 0."""
    weights = np.exp(random.normal(0, random.choice([0.1, 3, 12]), graph.m)).astype(np.float32)
    weights[random.random(graph.m) < random.choice([0, 0.2])] = 0
    return Graph(graph.offsets, graph.targets, weights)


@st.composite
def long_graphs(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    return real(long_drawn(random, draw(st.sampled_from([1, 2, 3, 5, 9, 30, 120]))), random)


def walk(x, lengths, at, vertices, to, count, step, distances):
    """As walks.cu walks, in steps: one float32 addition after another, up to a distance that is not larger."""
    for i in range(count):
        v = vertices[to + i * step]
        x = np.float32(x + lengths[at + i * step])
        if x >= distances[v]:
            return x
        distances[v] = x
        yield
    return x


def walked_together(random, *walks):
    """What two walks return that make their steps in any order, and how many steps the longer one has made."""
    last, made, left = [None, None], [0, 0], {0, 1}
    while left:
        side = int(random.choice(list(left)))
        try:
            next(walks[side])
            made[side] += 1
        except StopIteration as stopped:
            last[side] = stopped.value
            left.remove(side)
    return last, max(made)


def answer(walks, source, random):
    """float32 [n], by a model of walks.cu, with Dijkstra's search of the rows of the core; steps one after another."""
    ahead, back = walks.lengths.reshape(2, -1)
    distances = np.full(len(walks.slot), np.inf, np.float32)
    distances[source] = 0
    x, v, seeds, steps = np.float32(0), source, [], 0
    while (at := walks.slot[v]) != NONE:
        first, count, is_chain, _ = walks.paths[walks.path[at]]
        end = first + count + is_chain
        (up, there), made = walked_together(
            random,
            walk(x, back, at, walks.vertices, at - 1, at - first, -1, distances),
            walk(x, ahead, at + 1, walks.vertices, at + 1, end - at, 1, distances),
        )
        steps += made
        if is_chain:
            seeds.append((there, walks.number[walks.vertices[end]]))
        x, v = up, walks.vertices[first]
    distances[walks.kept] = searched(walks, [*seeds, (x, walks.number[v])])
    for first, last in itertools.pairwise(walks.ranges):
        longest = 0
        for start, count, is_chain, _ in walks.paths[first:last]:
            end = start + count + 1
            top = distances[walks.vertices[start]]
            down = walk(top, ahead, start + 1, walks.vertices, start + 1, count, 1, distances)
            x = distances[walks.vertices[end]] if is_chain else np.inf
            up = walk(x, back, end, walks.vertices, end - 1, count if is_chain else 0, -1, distances)
            longest = max(longest, walked_together(random, down, up)[1])
        steps += longest
    return distances, steps


def searched(walks, seeds):
    """float32 [k]: distances of the core's vertices from entries (distance, vertex)."""
    distances = np.full(len(walks.rows), np.inf, np.float32)
    heap = []

    def reached(x, v):
        if x < distances[v]:
            distances[v] = x
            heapq.heappush(heap, (x, v))

    for x, v in seeds:
        reached(x, int(v))
    while heap:
        x, v = heapq.heappop(heap)
        for target, value in walks.rows[v].tolist() if x == distances[v] else ():
            if target == NO_ARC:
                continue
            if not target & int(LINK):
                reached(np.float32(x + np.uint32(value).view(np.float32)), target)
                continue
            at, count = walks.links[value, :2]
            least, part = walks.links[value, 2:].view(np.float32)
            along, step = x, 1 if count > 0 else -1
            for i in range(abs(count)):
                along = np.float32(along + walks.lengths[at + i * step])
            # What hop.cuh passes over is no shorter.
            bound = np.float32(np.float32(x * part) + least)
            assert bound <= along and (count > 10_000 or bound >= 0.999 * (x + least))
            reached(along, target & ~int(LINK))
    return distances[: walks.core.n]


def check(graph, sources):
    """The walks of a graph, whose distances from these sources have the certificate, which allows no rounding."""
    walks = walked(simplified(graph))
    assert np.isin(np.arange(graph.n), np.r_[walks.kept, walks.vertices]).all()
    # What a path hangs on is settled before its own part of the paths is walked.
    part = np.searchsorted(walks.ranges, np.arange(len(walks.paths)), side="right")
    on = walks.slot[walks.vertices[walks.paths[:, 0]]]
    assert (part[walks.path[on[on != NONE]]] < part[on != NONE]).all()
    random = np.random.default_rng(graph.n)
    for source in sources:
        distances, _ = answer(walks, int(source), random)
        check_distances(graph, int(source), distances)
        tight_tree(graph, int(source), distances)
        assert sssp.differs(sssp.reference(graph, int(source)), {"distances": distances}) is None
    return walks


def test_heavy_paths_of_two_trees():
    #  0 (core)
    #  |- 1 -- 3 -- 4 -- 6 -- 11      3 and 2 have five and four vertices with what hangs on them.
    #  |  |    '--- 7
    #  |  '--- 2 -- 9 -- 10
    #  '- 5    '--- 8
    parent = np.array([NONE, 0, 1, 1, 3, 0, 4, 3, 2, 2, 9, 6], np.int32)
    state = np.array([CORE] + 11 * [TREE], np.int8)
    found = module._heavy_paths(parent, state, np.array([1, 5, 2, 3, 4, 7, 8, 9, 6, 10, 11], np.int32))
    hung, path, place, levels = (array.tolist() for array in found)
    assert hung == [0, 0, 1, 3, 2] and levels == [0, 0, 1, 1, 2]
    assert path == [NONE, 0, 2, 0, 0, 1, 0, 3, 4, 2, 2, 0]
    assert place == [0, 0, 0, 1, 2, 0, 3, 0, 0, 1, 2, 4]


@settings(max_examples=60)
@given(long_graphs(), st.integers(0, 2**32))
def test_fast_on_the_cpu_is_certified(graph, seed):
    from saitan.sssp import cpu_fast
    from saitan.sssp.cpu_walks import OverWalks

    with pytest.MonkeyPatch.context() as patch:
        take_out(patch, chains, module)
        patch.setattr(cpu_fast, "WALKED", -1)
        solver = cpu_fast.Fast(graph)
    assert isinstance(solver._over, OverWalks) == (len(walked(simplified(graph)).links) == 0)
    assert all(counters.get("searched", 0) <= graph.n for counters in right(graph, solver, seed))


@pytest.mark.parametrize("closed", [False, True], ids=["path", "ring"])
def test_fast_on_the_cpu_searches_nothing_of_a_path_or_a_ring_and_widens(closed):
    from saitan.sssp.cpu_fast import Fast

    # A short one is searched, as what is around a walk takes longer.
    n = 2_000
    ends = np.arange(n - 1 + closed)
    graph = edges(n, ends, (ends + 1) % n, np.ones(len(ends)))
    assert "searched" not in Fast(Graph(graph.offsets, graph.targets, np.ones(graph.m, np.float32))).run(0).counters
    n = 9_000
    ends = np.arange(n - 1 + closed)
    for weight, bits in ((0.1, 32), (1e36, 64)):
        graph = edges(n, ends, (ends + 1) % n, np.ones(len(ends)))
        solver = Fast(Graph(graph.offsets, graph.targets, np.full(graph.m, weight, np.float32)))
        for source in (0, 1234):
            run = solver.run(source)
            solver.validate()
            assert run.counters["phases"] < 3 and run.counters["searched"] == 1
        assert run.counters["distance_bits"] == bits and solver.memory > 8 * n


def test_a_path_is_one_vertex_and_two_walks():
    n = 200
    graph = real(edges(n, np.arange(n - 1), np.arange(1, n), np.ones(n - 1)), np.random.default_rng(1))
    walks = check(graph, range(0, n, 17))
    assert walks.core.n == 1 and walks.core.m == 0 and len(walks.paths) == 2


@pytest.mark.parametrize("closed, most", [(False, 1), (True, 1.5)], ids=["path", "ring"])
def test_from_the_middle_of_a_path_or_a_ring_nothing_is_walked_twice(closed, most):
    n = 600
    ends = np.arange(n - 1 + closed)
    graph = edges(n, ends, (ends + 1) % n, np.ones(len(ends)))
    graph = Graph(graph.offsets, graph.targets, np.random.default_rng(2).random(graph.m).astype(np.float32))
    walks = walked(graph)
    for source in (0, 1, n // 4, n // 2, n - 1):
        distances, steps = answer(walks, source, np.random.default_rng(source))
        check_distances(graph, source, distances)
        longer = max(source, n - source)
        assert steps <= (longer if not closed else min(most * n, longer + n // 2)) + 5


def test_a_chain_beside_an_arc_stays_a_link_each_way():
    # Two vertices in a triangle each, joined by an arc and by a chain of five.
    tails, heads = [0, 0, 2, 1, 1, 4, 0, 0, 6, 7, 8, 9], [2, 3, 3, 4, 5, 5, 1, 6, 7, 8, 9, 1]
    graph = edges(10, tails, heads, np.ones(12))
    graph = Graph(graph.offsets, graph.targets, np.random.default_rng(0).random(graph.m).astype(np.float32))
    walks = check(graph, range(10))
    # A triangle is a chain that returns to its vertex, and no link.
    assert walks.kept.tolist() == [0, 1] and walks.links[:, 1].tolist() == [5, -5] and walks.core.m == 4


@pytest.mark.parametrize("gone", range(5))
def test_a_chain_of_one_way_is_a_link_one_way(gone):
    square, chain = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3)], [(0, 4), (4, 5), (5, 6), (6, 7), (7, 2)]
    there, back = [*square, *chain], [(b, a) for a, b in square] + [(b, a) for a, b in chain if (a, b) != chain[gone]]
    tails, heads = np.array(there + back).T
    graph = Graph.from_arcs(8, tails, heads, np.random.default_rng(gone).random(len(tails)).astype(np.float32))
    walks = check(graph, range(8))
    assert walks.kept.tolist() == [0, 1, 2, 3] and walks.links[:, 1].tolist() == [5]


@settings(max_examples=60)
@given(long_graphs(), st.integers(0, 2**32))
def test_distances_by_walks_are_those_of_the_graph(graph, seed):
    check(graph, np.random.default_rng(seed).integers(0, graph.n, 4))


def test_a_way_up_passes_few_paths():
    random = np.random.default_rng(1)
    for n, above in ((1023, lambda v: (v - 1) // 2), (3000, lambda v: random.integers(0, v)), (3000, lambda v: v - 1)):
        heads = np.arange(1, n)
        graph = real(edges(n, np.array([above(v) for v in heads]), heads, np.ones(n - 1)), random)
        walks = check(graph, [0, n // 2, n - 1])
        assert len(walks.ranges) - 2 <= np.log2(n) + 1


def test_what_is_worth_it():
    n = 2000
    path = real(edges(n, np.arange(n - 1), np.arange(1, n), np.ones(n - 1)), np.random.default_rng(0))
    assert worth_walking(path, len(level_sizes(path))) is not None
    assert worth_walking(path, module.LEAST_LEVELS - 1) is None
    strip = edges(n, np.r_[0 : n - 2, 0 : n - 2], np.r_[1 : n - 1, 2:n], np.ones(2 * n - 4))
    strip = real(strip, np.random.default_rng(0))
    assert worth_walking(simplified(strip), 700) is None
    # Half of the levels are left.
    grid = edges(n, [], [], [])
    side = np.arange(400).reshape(20, 20)
    across, down = (side[:, :-1], side[:, 1:]), (side[:-1], side[1:])
    tail = np.arange(399, 439)
    tails, heads = np.r_[across[0].ravel(), down[0].ravel(), tail], np.r_[across[1].ravel(), down[1].ravel(), tail + 1]
    grid = real(edges(440, tails, heads, np.ones(len(tails))), np.random.default_rng(0))
    assert worth_walking(simplified(grid), len(level_sizes(grid))) is None
