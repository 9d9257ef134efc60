"""The certificate on both backends, and `differs` just inside and just outside its bounds.

Right answers pass. An answer with one wrong entry is refused, wherever the entry is and however little is wrong.
"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_sssp import graphs

from saitan import sssp
from saitan.generators import GENERATORS
from saitan.graph import Graph
from saitan.problem import Invalid, Reference
from saitan.sssp.peers import hops
from saitan.sssp.validate import check_distances, check_tree, tight_tree


def on_cpu(graph, source, distances):
    check_distances(graph, source, distances)
    return tight_tree(graph, source, distances)


def on_cuda(graph, source, distances):
    from pycuda import gpuarray

    from saitan.cuda.buffers import Buffers
    from saitan.sssp.cuda_graph import DeviceGraph
    from saitan.sssp.cuda_validate import Certificate

    buffers = Buffers(0, "test")
    try:
        certificate = Certificate(graph, DeviceGraph(graph, buffers), buffers)
        answer = gpuarray.to_gpu(distances)
        certificate.check(source, answer)
        before = certificate.tree(source, answer).get()
        before[source] = 0xFFFFFFFF
        return before.view(np.int32)
    finally:
        buffers.free()


BACKENDS = pytest.mark.parametrize("certify", [on_cpu, pytest.param(on_cuda, marks=pytest.mark.gpu)])
TYPES = {np.dtype(np.uint32): (np.uint32, np.uint64), np.dtype(np.float32): (np.float32, np.float64)}


def right(graph, source, dtype):
    """Distances added in a type, by relaxing all arcs until nothing changes; None where a sum does not fit."""
    limit, distances = sssp.unreachable(dtype), np.full(graph.n, sssp.unreachable(dtype))
    adding = np.uint64 if distances.dtype.kind == "u" else dtype
    distances[source] = 0
    weights = graph.weights.astype(adding)
    while True:
        reached = distances[graph.sources] != limit
        with np.errstate(over="ignore"):
            sums = distances[graph.sources].astype(adding) + weights
        lower = distances.astype(adding)
        np.minimum.at(lower, graph.targets[reached], sums[reached])
        if (reached & (sums >= limit) & (lower[graph.targets] >= limit)).any():
            return None
        if np.array_equal(lower, distances):
            return distances
        distances = lower.astype(dtype)


@st.composite
def answers(draw):
    """A graph, a source and its right distances, 32 or 64 bits wide."""
    graph, source = draw(graphs())
    dtype = draw(st.sampled_from(TYPES[graph.weights.dtype]))
    distances = right(graph, source, dtype)
    assume(distances is not None)
    return graph, source, distances


@BACKENDS
@settings(max_examples=100)
@given(case=answers())
def test_right_answers_pass(certify, case):
    graph, source, distances = case
    reference = sssp.reference(graph, source)
    assert sssp.differs(reference, {"distances": distances}) is None
    check_tree(graph, source, distances, certify(graph, source, distances))


@BACKENDS
def test_sums_that_round_either_way_are_right(certify):
    random = np.random.default_rng(5)
    graph = Graph.from_arcs(60, *random.integers(0, 60, (2, 400)), random.random(400, np.float32) * np.float32(9))
    distances = right(graph, 7, np.float32)
    check_tree(graph, 7, distances, certify(graph, 7, distances))
    sums = distances[graph.sources].astype(np.float64) + graph.weights
    tight = sums.astype(np.float32) == distances[graph.targets]
    assert (sums[tight] < distances[graph.targets][tight]).any() and (sums > distances[graph.targets])[tight].any()


def spoiled(distances, vertex):
    """Wrong values for an entry: next above and below, 0, unreached, the last before unreached, far above and below, of
    floats negative and NaN too.
    """
    was, limit = distances[vertex], sssp.unreachable(distances.dtype)
    if distances.dtype.kind == "u":
        near = {int(was) - 1, int(was) + 1, int(was) // 2, 2 * int(was), 0, int(limit), int(limit) - 1}
        values = {value for value in near if 0 <= value <= int(limit)}
    else:
        near = {np.nextafter(was, limit), np.nextafter(was, was.dtype.type(0)), was / 2, was.dtype.type(0)}
        values = near | {limit, np.finfo(was.dtype).max, -1.0, np.nan}
    return [distances.dtype.type(value) for value in values if value != was]


@BACKENDS
@settings(max_examples=100)
@given(case=answers(), data=st.data())
def test_one_wrong_entry_is_refused(certify, case, data):
    graph, source, distances = case
    for vertex in {0, graph.n - 1, source, data.draw(st.integers(0, graph.n - 1))}:
        for value in spoiled(distances, vertex):
            wrong = distances.copy()
            wrong[vertex] = value
            with pytest.raises(Invalid):
                certify(graph, source, wrong)


def fan(n, degree, dtype, hub):
    """Arcs from the hub to all others in turn, each shorter than the one before, so that the last is tight."""
    others = [v for v in range(n) if v != hub]
    targets = np.array([others[i % len(others)] for i in range(degree)][::-1])
    weights = np.arange(degree, 0, -1).astype(dtype) + dtype(5)
    return Graph.from_arcs(n, np.full(degree, hub), targets, weights)


@BACKENDS
@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
@pytest.mark.parametrize("n", [2, 3, 8, 9, 33, 257])
@pytest.mark.parametrize("last", [True, False])
def test_every_arc_of_the_first_and_the_last_vertex_is_looked_at(certify, dtype, n, last):
    hub = n - 1 if last else 0
    for degree in (1, 31, 32, 33, 64, 65):
        graph = fan(n, degree, dtype, hub)
        distances = right(graph, hub, dtype)
        assert (certify(graph, hub, distances)[distances != sssp.unreachable(dtype)] == hub).sum() == min(degree, n - 1)
        for vertex in {int(graph.targets[0]), int(graph.targets[-1]), int(graph.targets[degree // 2])}:
            for value in (distances[vertex] - dtype(1), distances[vertex] + dtype(1)):
                wrong = distances.copy()
                wrong[vertex] = value
                with pytest.raises(Invalid):
                    certify(graph, hub, wrong)


@BACKENDS
@pytest.mark.parametrize("degree", [1, 32, 33])
def test_the_tree_follows_arcs_of_weight_zero_to_the_last(certify, degree):
    # A chain of weight 0 that begins at the last vertex, every next one behind the last arc of a row.
    chain = [40, 7, 39, 0]
    tails, heads, weights = [], [], []
    for tail, head in pairwise(chain):
        tails += [tail] * degree
        heads += [tail] * (degree - 1) + [head]
        weights += [3] * (degree - 1) + [0]
    graph = Graph.from_arcs(41, tails, heads, np.array(weights, np.uint32))
    distances = right(graph, 40, np.uint32)
    before = certify(graph, 40, distances)
    assert [before[v] for v in chain] == [-1, 40, 7, 39]
    # A cycle of weight 0 that nothing leads to.
    apart = Graph.from_arcs(41, [*tails, 20, 21], [*heads, 21, 20], np.array([*weights, 0, 0], np.uint32))
    distances[20:22] = 5
    with pytest.raises(Invalid, match=r"^vertex 20 \(distance 5\) has no tight path from the source 40$"):
        certify(apart, 40, distances)


@BACKENDS
@pytest.mark.parametrize("low", [0, 1, 5, 8])
def test_an_arc_from_a_nearer_vertex_that_is_not_tight_holds_no_circle(certify, low):
    graph = Graph.from_arcs(3, [0, 1, 2], [1, 2, 1], np.array([9, 0, 0], np.uint32))
    assert certify(graph, 0, np.array([0, 9, 9], np.uint32)).tolist() == [-1, 0, 1]
    with pytest.raises(Invalid, match=rf"^vertex 1 \(distance {low}\) has no tight path from the source 0$"):
        certify(graph, 0, np.array([0, low, low], np.uint32))


@BACKENDS
def test_an_arc_from_an_equal_distance_that_is_not_tight_holds_no_circle(certify):
    graph = Graph.from_arcs(4, [0, 3, 1, 2], [3, 1, 2, 1], np.array([5, 4, 0, 0], np.uint32))
    assert certify(graph, 0, np.array([0, 9, 9, 5], np.uint32)).tolist() == [-1, 3, 1, 0]
    with pytest.raises(Invalid, match=r"^vertex 1 \(distance 5\) has no tight path from the source 0$"):
        certify(graph, 0, np.array([0, 5, 5, 5], np.uint32))


@BACKENDS
def test_of_several_nearer_vertices_the_smallest_is_the_predecessor(certify):
    graph = Graph.from_arcs(5, [4, 4, 4, 3, 1, 2], [1, 2, 3, 0, 0, 0], np.array([1, 1, 1, 1, 1, 1], np.uint32))
    assert certify(graph, 4, right(graph, 4, np.uint32)).tolist() == [1, 4, 4, 4, -1]


@BACKENDS
@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
def test_a_path_that_reaches_the_limit_needs_64_bits(certify, dtype):
    limit = sssp.unreachable(dtype)
    if dtype == np.uint32:
        weights, fits = np.array([7, limit - 7], np.uint32), np.array([7, limit - 8], np.uint32)
    else:
        top = np.finfo(dtype).max
        weights = np.array([top, 2.0**103], dtype)  # half a unit in the last place of top: the sum rounds to infinity
        fits = np.array([top, 2.0**102], dtype)
    graph = Graph.from_arcs(3, [0, 1], [1, 2], weights)
    unreached = np.array([0, weights[0], limit], dtype)
    with pytest.raises(Invalid, match=r"^arc 1 from 1 .* to 2 .* still relaxes$"):
        certify(graph, 0, unreached)
    certify(graph, 0, right(graph, 0, TYPES[np.dtype(dtype)][1]))
    just = Graph.from_arcs(3, [0, 1], [1, 2], fits)
    certify(just, 0, right(just, 0, dtype))
    with pytest.raises(Invalid, match="still relaxes"):
        certify(just, 0, np.array([0, fits[0], limit], dtype))


@BACKENDS
def test_the_message_names_the_first_arc_that_relaxes_and_its_vertices(certify):
    graph = Graph.from_arcs(6, [2, 2, 5, 5], [0, 5, 0, 1], np.array([9, 1, 1, 1], np.uint32))
    top = 2**32 - 1
    with pytest.raises(Invalid) as refused:
        certify(graph, 2, np.array([9, top, 0, top, top, 1], np.uint32))
    assert str(refused.value) == "arc 2 from 5 (distance 1) to 0 (distance 9) of weight 1 still relaxes"
    with pytest.raises(Invalid, match=r"^the source 2 is at distance 1, not 0$"):
        certify(graph, 2, np.array([2, 3, 1, top, top, 2], np.uint32))


def test_an_arc_that_relaxes_is_no_arc_of_the_tree():
    """`tight_tree` by itself, without the check before it that finds such arcs."""
    graph = Graph.from_arcs(3, [0, 1], [1, 2], np.array([1, 0], np.uint32))
    for distances, vertex in (([0, 5, 5], 1), ([0, 1, 2], 2), ([0, 1, 0], 2)):
        with pytest.raises(Invalid, match=rf"^vertex {vertex} .* has no tight path"):
            tight_tree(graph, 0, np.array(distances, np.uint32))


def in_rounds(graph, distances):
    """The tree of source 0: below the smallest nearer vertex, else in rounds below the smallest of those before."""
    before = np.full(graph.n, graph.n)
    tails, heads, weights = graph.sources, graph.targets, graph.weights
    reached = distances != sssp.unreachable(distances.dtype)
    tight = reached[tails] & (distances[tails] + weights == distances[heads])
    nearer = tight & (distances[tails] < distances[heads])
    np.minimum.at(before, heads[nearer], tails[nearer])
    rooted = before < graph.n
    rooted[0] = True
    while (reached & ~rooted).any():
        equal = tight & rooted[tails] & ~rooted[heads]
        np.minimum.at(before, heads[equal], tails[equal])
        rooted |= before < graph.n
    return np.where(before < graph.n, before, -1)


def test_the_tree_grows_in_rounds_between_equal_distances():
    draw = np.random.default_rng(1)
    for _ in range(100):
        n, m = draw.integers(1, 12), draw.integers(0, 40)
        weights = (draw.random(m) < draw.choice([0, 0.2])).astype(np.uint32)
        graph = Graph.from_arcs(n, draw.integers(0, n, m), draw.integers(0, n, m), weights)
        distances = sssp.solve(graph, 0, "scipy", "cpu").distances
        assert np.array_equal(tight_tree(graph, 0, distances), in_rounds(graph, distances))


@BACKENDS
def test_the_tree_takes_time_linear_in_the_graph_where_all_weights_are_zero(certify):
    """A round over all vertices for every vertex of the path would take an hour."""
    n = 1_000_000
    graph = GENERATORS["ring"](vertices=n, seed=1, weight_low=0, weight_high=0)
    assert np.array_equal(certify(graph, 0, np.zeros(n, np.uint32)), np.arange(-1, n - 1))


@given(case=answers(), data=st.data())
def test_a_wrong_predecessor_is_refused(case, data):
    graph, source, distances = case
    before = tight_tree(graph, source, distances)
    vertex = data.draw(st.sampled_from([0, graph.n - 1, data.draw(st.integers(0, graph.n - 1))]))
    adding = np.uint64 if distances.dtype.kind == "u" else distances.dtype.type
    with np.errstate(over="ignore"):
        sums = distances[graph.sources].astype(adding) + graph.weights.astype(adding)
    arcs = (graph.targets == vertex) & (sums == distances[vertex])
    tight = set(graph.sources[arcs].tolist())
    for wrong in {-1, 0, graph.n - 1, vertex} - tight - {int(before[vertex])}:
        spoilt = before.copy()
        spoilt[vertex] = wrong
        with pytest.raises(Invalid):
            check_tree(graph, source, distances, spoilt)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 8, 9, 10, 17])
def test_predecessors_are_followed_to_the_end_of_a_path(n):
    order = np.random.default_rng(n).permutation(n)
    graph = Graph.from_arcs(n, order[:-1], order[1:], np.ones(n - 1, np.uint32))
    distances, before = np.empty(n, np.uint32), np.full(n, -1, np.int32)
    distances[order] = np.arange(n)
    before[order[1:]] = order[:-1]
    check_tree(graph, int(order[0]), distances, before)


def test_a_predecessor_that_is_missing_or_one_too_many_is_named():
    graph = Graph.from_arcs(4, [0, 1, 1], [1, 2, 0], np.array([1, 1, 1], np.uint32))
    distances = np.array([0, 1, 2, 2**32 - 1], np.uint32)
    check_tree(graph, 0, distances, np.array([-1, 0, 1, -1], np.int32))
    for predecessors, says in (
        ([-1, 0, -1, -1], "vertex 2 should have a predecessor"),
        ([-1, 0, 1, 2], "vertex 3 should not have a predecessor"),
        ([1, 0, 1, -1], "vertex 0 should not have a predecessor"),
        ([-1, 0, 0, -1], "no tight arc leads to 2 from its predecessor 0"),
    ):
        with pytest.raises(Invalid, match=f"^{says}$"):
            check_tree(graph, 0, distances, np.array(predecessors, np.int32))


def test_an_arc_is_not_tight_where_its_sum_wraps():
    graph = Graph.from_arcs(3, [0, 0, 1], [1, 2, 2], np.array([2**32 - 2, 3, 5], np.uint32))
    distances = np.array([0, 2**32 - 2, 3], np.uint32)
    check_distances(graph, 0, distances)
    check_tree(graph, 0, distances, np.array([-1, 0, 0], np.int32))
    with pytest.raises(Invalid, match=r"^no tight arc leads to 2 from its predecessor 1$"):
        check_tree(graph, 0, distances, np.array([-1, 0, 1], np.int32))


def test_a_circle_of_predecessors_does_not_end_at_the_source():
    graph = Graph.from_arcs(3, [0, 1, 2], [1, 2, 1], np.array([5, 0, 0], np.uint32))
    distances = np.array([0, 5, 5], np.uint32)
    check_tree(graph, 0, distances, np.array([-1, 0, 1], np.int32))
    with pytest.raises(Invalid, match=r"^following the predecessors of 1 does not end at the source 0$"):
        check_tree(graph, 0, distances, np.array([-1, 2, 1], np.int32))
    # A circle of one.
    graph = Graph.from_arcs(2, [0, 1], [1, 1], np.array([5, 0], np.uint32))
    with pytest.raises(Invalid, match=r"^following the predecessors of 1 does not end at the source 0$"):
        check_tree(graph, 0, np.array([0, 5], np.uint32), np.array([-1, 1], np.int32))


@pytest.mark.parametrize(
    ("predecessors", "deepest"),
    [
        ([-1], 0),
        ([-1, -1], 0),
        ([-1, 0], 1),
        ([-1, 0, 0, 0], 1),
        ([-1, 0, 1, 2, 3], 4),
        ([1, 2, 3, -9999], 3),
        ([-1, 0, 0, 1, 2, 2, 5, -1], 3),
    ],
)
def test_hops_is_the_number_of_arcs_of_the_deepest_path(predecessors, deepest):
    assert hops(np.array(predecessors, np.int32)) == deepest


@given(st.integers(1, 60), st.integers(0, 2**32))
def test_hops_of_random_trees(n, seed):
    random = np.random.default_rng(seed)
    before, depth = np.full(n, -1, np.int32), np.zeros(n, int)
    for v in range(1, n):
        if random.random() < 0.9:
            before[v] = random.integers(max(0, v - 3), v)
            depth[v] = depth[before[v]] + 1
    number = random.permutation(n)
    shuffled = np.full(n, -1, np.int32)
    shuffled[number] = np.where(before < 0, -1, number[before])
    assert hops(shuffled) == depth.max()


def reference(distances, arcs):
    return Reference("nobody", {"distances": np.array(distances, np.float64), "hops": np.array([arcs])})


@pytest.mark.parametrize(("arcs", "terms"), [(0, 1), (1, 1), (10, 10), (1000, 1000)])
@pytest.mark.parametrize("scale", [1.0, 2.0**100])
def test_floats_differ_beyond_the_rounding_of_the_deepest_path(arcs, terms, scale):
    """At 1 the spacing of float32 is 2 u above and u below, u = 2^-24."""
    u = 2.0**-24
    expected = reference([0, scale, np.inf], arcs)

    def differs(value):
        return sssp.differs(expected, {"distances": np.array([0, value * scale, np.inf], np.float32)})

    above = terms // 2  # in units of 2 u
    assert differs(1 + above * 2 * u) is None
    assert "vertex 1" in differs(1 + (above + 1) * 2 * u)
    assert differs(1 - 4 * terms * u) is None
    assert "vertex 1" in differs(1 - (4 * terms + 1) * u)


@pytest.mark.parametrize("vertex", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64, np.float32, np.float64])
def test_one_wrong_distance_differs(vertex, dtype):
    limit = sssp.unreachable(dtype)
    distances = np.array([0, 1000, limit], dtype)
    expected = reference([0, 1000, np.inf], 3)
    assert sssp.differs(expected, {"distances": distances}) is None
    for wrong in [*({1, 999, 1001, limit} if vertex else {1, limit}), *[np.nan] * (dtype in (np.float32, np.float64))]:
        if wrong != distances[vertex]:
            answer = distances.copy()
            answer[vertex] = wrong
            said = sssp.differs(expected, {"distances": answer})
            assert said.startswith(f"1 distances differ, the first at vertex {vertex}: ")


def test_integers_are_exact_until_float64_is_not():
    exact, beyond = 2**53 - 1, 2**60
    expected = reference([0, exact, beyond], 2)
    # Two arcs: 2 of 2^-53 above, 8 below.
    for right in (beyond - 1024, beyond, beyond + 256):
        assert sssp.differs(expected, {"distances": np.array([0, exact, right], np.uint64)}) is None
    assert "vertex 1" in sssp.differs(expected, {"distances": np.array([0, exact - 1, beyond], np.uint64)})
    for wrong in (beyond - 1024 - 128, beyond + 512):
        assert "vertex 2" in sssp.differs(expected, {"distances": np.array([0, exact, wrong], np.uint64)})
