"""Long chains and hanging trees taken out of a graph before it is searched, against SciPy's Dijkstra."""

import heapq
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import get_num_threads

from saitan import sssp
from saitan.generators import GENERATORS
from saitan.graph import Graph
from saitan.sssp import chains as module
from saitan.sssp import cpu_fast
from saitan.sssp.chains import contracted, worth_contracting
from saitan.sssp.choice import level_sizes
from saitan.sssp.cpu_chains import OverChains, enter, expand, no_way
from saitan.sssp.peeling import NONE
from saitan.sssp.simplify import simplified

TOP = 2**32 - 1


def edges(n, tails, heads, there, back=None):
    """A graph of edges with a weight each way; the same both ways where `back` is absent."""
    back = there if back is None else back
    return Graph.from_arcs(n, np.r_[tails, heads], np.r_[heads, tails], np.r_[there, back].astype(np.uint32))


def long_drawn(random: np.random.Generator, n: int) -> Graph:
    """Trees, paths, rings and a few edges across, some of one way only; loops and parallel arcs; any weights."""
    reach = int(random.choice([1, 1, 3, n]))
    tails = np.arange(1, n)
    heads = np.maximum(tails - random.integers(1, reach + 1, n - 1), 0)
    across = int(random.choice([0, 0, 1, 2, 5, 20]))
    names = random.permutation(n)
    tails = names[np.r_[tails, random.integers(0, n, across)]]
    heads = names[np.r_[heads, random.integers(0, n, across)]]
    gone = random.choice([0, 0, 0.02, 0.5, 1])
    here, there = random.random(len(tails)) >= gone / 2, random.random(len(tails)) >= gone
    highest = random.choice([0, 1, 9, 1000, 2**31, TOP])
    tails, heads = np.r_[tails[here], heads[there]], np.r_[heads[here], tails[there]]
    weights = random.integers(0, highest, len(tails), endpoint=True).astype(np.uint32)
    return Graph.from_arcs(n, tails, heads, weights)


@st.composite
def long_graphs(draw):
    n = draw(st.sampled_from([1, 2, 3, 5, 9, 30, 120]))
    return long_drawn(np.random.default_rng(draw(st.integers(0, 2**32))), n)


def take_out(patch, *modules):
    """Have chains taken out of every graph by `chains` and `walks`, whatever that brings.

    The core of a directed graph may have more levels than the graph.
    """
    for owner in modules:
        for name, value in {"LEAST_LEVELS": 0, "MOST_LEVELS": 99, "MOST_VERTICES": 1}.items():
            patch.setattr(owner, name, value, raising=False)


def right(graph, solver, seed):
    """The counters of `fast` on the CPU from three sources, whose answers are right; of poisoned memory."""
    found = []
    for source in np.random.default_rng(seed).integers(0, graph.n, 3):
        solver.distances.fill(77)
        found.append(solver.run(int(source)).counters)
        solver.validate()
        assert sssp.differs(sssp.reference(graph, int(source)), solver.answer()) is None
    return found


def dijkstra(graph, seeds):
    """uint64 [n], from several sources each with a distance of its own."""
    distances = np.full(graph.n, 2**64 - 1, np.uint64)
    heap = []
    for vertex, distance in seeds:
        if distance < int(distances[vertex]):
            distances[vertex] = distance
            heap.append((distance, vertex))
    heapq.heapify(heap)
    while heap:
        distance, v = heapq.heappop(heap)
        if distance == int(distances[v]):
            for i in range(graph.offsets[v], graph.offsets[v + 1]):
                t, further = int(graph.targets[i]), distance + int(graph.weights[i])
                if further < int(distances[t]):
                    distances[t] = further
                    heapq.heappush(heap, (further, t))
    return distances


def check(graph, sources):
    """The chains of a graph, whose distances from these sources over the core are right."""
    chains = contracted(simplified(graph))
    way = no_way(graph.n)
    for source in sources:
        core = dijkstra(chains.core, zip(*(a.tolist() for a in enter(chains, way, int(source))), strict=True))
        distances = np.full(graph.n, 77, np.uint64)
        assert not expand(chains, way, int(source), core, distances)
        assert sssp.differs(sssp.reference(graph, int(source)), {"distances": distances}) is None
        # The core's own distances are the whole graph's.
        np.testing.assert_array_equal(core, distances[chains.kept])
    return chains


@settings(max_examples=150)
@given(long_graphs(), st.integers(0, 2**32))
def test_distances_over_the_core(graph, seed):
    check(graph, np.random.default_rng(seed).integers(0, graph.n, 4))


@settings(max_examples=100)
@given(long_graphs(), st.integers(0, 2**32), st.sampled_from([None, 1.0, np.inf]))
def test_fast_equals_dijkstra(graph, seed, delta):
    from saitan.sssp.cpu_fast import Fast

    with pytest.MonkeyPatch.context() as patch:
        take_out(patch, module)
        patch.setattr(cpu_fast, "SMALL", -1)
        patch.setattr(cpu_fast, "CHAINED_ARCS", -1)
        solver = Fast(graph, delta=delta)
    for counters in right(graph, solver, seed):
        assert counters["searched"] <= graph.n and counters["prepare_s"] > 0


def test_fast_takes_few_steps_on_a_path_and_widens(monkeypatch):
    from saitan.sssp.cpu_fast import Fast

    monkeypatch.setattr(cpu_fast, "SMALL", -1)
    monkeypatch.setattr(cpu_fast, "CHAINED_ARCS", -1)
    n = 3000
    for weight, bits in ((5, 32), (2**21, 64), (TOP, 64)):
        solver = Fast(edges(n, np.arange(n - 1), np.arange(1, n), np.full(n - 1, weight)))
        for source in (0, 1234):
            run = solver.run(source)
            solver.validate()
            assert run.counters["phases"] < 3 and run.counters["searched"] == 1
        assert run.counters["distance_bits"] == bits
        assert len(solver.count(7)["seconds"]) == run.counters["phases"]


@pytest.mark.parametrize(
    ("generator", "parameters", "threads", "over", "alone"),
    [
        ("path", {"vertices": 3000}, 2, False, True),
        ("path", {"vertices": 3000}, 8, True, True),  # a core of one vertex
        ("ladder", {"rungs": 1000}, 8, False, True),
        ("torus", {"width": 16, "height": 500}, 8, False, True),
        ("torus", {"width": 40, "height": 500}, 8, False, False),
        ("comb", {"teeth": 300, "length": 20}, 2, True, True),
    ],
)
def test_one_thread_searches_graphs_of_few_arcs_a_level(generator, parameters, threads, over, alone, monkeypatch):
    from saitan.sssp.cpu_fast import Fast

    monkeypatch.setattr(cpu_fast, "SMALL", 1)
    monkeypatch.setattr(cpu_fast, "get_num_threads", lambda: threads)
    graph = GENERATORS[generator](**parameters, weights="uniform", seed=1)
    solver = Fast(graph)
    assert (solver._over is not None, solver._near_far is not None) == (over, alone)


def test_chains_are_expanded_by_all_threads(monkeypatch):
    from saitan.sssp.cpu_fast import Fast

    seen, expand = [], OverChains.expand
    monkeypatch.setattr(OverChains, "expand", lambda *given: seen.append(get_num_threads()) or expand(*given))
    monkeypatch.setattr(cpu_fast, "SMALL", 1)
    Fast(GENERATORS["comb"](teeth=300, length=20, weights="uniform", seed=1)).run(7)
    assert seen == [get_num_threads()]


def test_a_path_is_one_vertex():
    ends, n = np.arange(199), 200
    chains = check(edges(n, ends, ends + 1, np.arange(199)), range(0, 200, 7))
    assert chains.core.n == 1 and chains.core.m == 0


def test_a_ring_is_one_vertex_whichever_way_is_shorter():
    ends = np.arange(50)
    chains = check(edges(50, ends, np.roll(ends, -1), 1 + ends % 7, 3 + ends % 5), range(50))
    assert chains.core.n == 1


def test_a_comb_is_one_vertex_however_deep():
    spine, teeth = np.arange(20), 20 + np.arange(400)
    graph = edges(420, np.r_[spine[:-1], teeth - 20], np.r_[spine[1:], teeth], np.arange(419) % 11)
    chains = check(graph, range(0, 420, 13))
    assert chains.core.n == 1 and chains.place[:, 2].max() > 20


def test_chains_between_the_same_vertices_leave_the_shorter_one():
    # Two vertices of degree 5 with three chains, one arc and a tree each.
    tails, heads = [0, 2, 0, 3, 4, 0, 5, 0, 0, 1], [2, 1, 3, 4, 1, 5, 1, 1, 6, 7]
    chains = check(edges(9, tails, heads, [4, 4, 1, 1, 1, 9, 9, 5, 2, 2]), range(9))
    assert chains.kept.tolist() == [0, 1, 8] and chains.core.m == 2 and set(chains.core.weights) == {3}


def test_a_chain_that_returns_to_its_vertex_leaves_no_arc():
    lollipops = edges(7, [0, 1, 2, 3, 0, 5, 6], [1, 2, 3, 0, 5, 6, 0], np.arange(1, 8))
    chains = check(lollipops, range(7))
    assert chains.kept.tolist() == [0, 4] and chains.core.m == 0 and (chains.ends[1:4] == 0).all()


@pytest.mark.parametrize("gone", [0, 3, 9])
def test_a_chain_of_one_way_leads_one_way(gone):
    n, ends = 14, np.arange(10)
    tails, heads = np.r_[ends, 0, 11, 12, 10, 11, 13], np.r_[ends + 1, 11, 12, 0, 11, 13, 10]
    arcs = (np.delete(array, gone) for array in (tails, heads, np.arange(1, 17, dtype=np.uint32)))
    chains = check(Graph.from_arcs(n, *arcs), range(n))
    assert chains.core.n < 5


@pytest.mark.parametrize("ends", [[(0, 4), (1, 5)], [(4, 0), (5, 1)]])
def test_a_chain_that_only_leads_in_or_only_out_is_taken_out(ends):
    # Four vertices with arcs between any two, and a chain of two more.
    tails, heads = np.array([*itertools.permutations(range(4), 2), (4, 5), (5, 4), *ends]).T
    chains = check(Graph.from_arcs(6, tails, heads, np.arange(1, 17, dtype=np.uint32)), range(6))
    assert chains.kept.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("last, kept", [(TOP - 1 - 10, 4), (TOP - 10, 5)])
def test_a_chain_too_long_for_a_weight_keeps_a_vertex(last, kept):
    # Two vertices joined by an arc, each in a triangle, and a chain of 3 arcs beside it.
    tails, heads = [0, 0, 2, 1, 1, 4, 0, 6, 7], [2, 3, 3, 4, 5, 5, 6, 7, 1]
    weights = np.array([1, 1, 1, 1, 1, 1, 4, 6, last], np.uint64)
    graph = edges(8, np.r_[tails, 0, 2, 3, 4, 5], np.r_[heads, 1, 1, 1, 0, 0], np.r_[weights, [TOP] * 5])
    chains = check(graph, range(8))
    assert (chains.unit[[6, 7]] >= len(chains.kept)).sum() == (2 if kept == 4 else 1)


def test_sums_with_missing_arcs_that_do_not_fit_are_left_alone():
    n = 2**19
    ends = np.arange(n - 1)
    weights = np.full(n - 1, TOP, np.uint32)
    there = ends % 2 == 0
    tails, heads = np.where(there, ends, ends + 1), np.where(there, ends + 1, ends)
    assert contracted(Graph.from_arcs(n, tails, heads, weights)) is None
    assert contracted(Graph.from_arcs(n, tails, heads, weights // 2**12)) is not None


def test_a_way_up_passes_few_heavy_paths():
    random = np.random.default_rng(1)
    for n, above in ((1023, lambda v: (v - 1) // 2), (3000, lambda v: random.integers(0, v)), (3000, lambda v: v - 1)):
        heads = np.arange(1, n)
        graph = edges(n, np.array([above(v) for v in heads]), heads, np.ones(n - 1))
        chains, way = contracted(simplified(graph)), no_way(n)
        longest = 0
        for source in range(0, n, 3):
            enter(chains, way, source)
            longest = max(longest, int(way.paths[0]))
            assert (way.entry != NONE).sum() == way.paths[0]
        assert longest <= np.log2(n) + 1


@pytest.mark.parametrize(
    "made, taken",
    [
        (lambda n: edges(n, np.arange(n - 1), np.arange(1, n), np.ones(n - 1)), True),
        (lambda n: edges(n, np.r_[0 : n - 2, 0 : n - 2], np.r_[1 : n - 1, 2:n], np.ones(2 * n - 4)), False),
    ],
    ids=["path", "strip of triangles"],
)
def test_what_is_worth_it(made, taken):
    graph = simplified(made(1000))
    assert (worth_contracting(graph, len(level_sizes(graph))) is not None) == taken
    assert worth_contracting(graph, module.LEAST_LEVELS - 1) is None
    floats = Graph(graph.offsets, graph.targets, graph.weights.astype(np.float32))
    assert worth_contracting(floats, 1000) is None


def test_a_small_part_is_worth_it_where_it_is_most_of_the_levels():
    n, tail, random = 2000, 400, np.random.default_rng(0)
    tails, heads = random.integers(0, n, (2, 3 * n))
    along = np.arange(n - 1, n + tail - 1)
    graph = edges(n + tail, np.r_[tails, along], np.r_[heads, along + 1], random.integers(1, 99, 3 * n + tail))
    chains = worth_contracting(simplified(graph), 400)
    assert chains is not None and chains.core.n > module.MOST_VERTICES * graph.n
