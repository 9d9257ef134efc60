"""The certificate of a whole matrix: it takes right answers and refuses wrong ones, wherever one entry is spoiled."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_apsp import TOP, random_graph
from test_sssp import graphs

from saitan import apsp
from saitan.apsp.validate import Certificate
from saitan.graph import Graph
from saitan.problem import Invalid
from saitan.sssp import unreachable


def spoiled(value, how):
    """An entry of a matrix, changed; None where the change would be none."""
    top = unreachable(value.dtype)
    if how in ("more", "less"):
        if (value == top and how == "more") or (value == 0 and how == "less"):
            return None
        up = how == "more"
        if value.dtype.kind == "f":
            return np.nextafter(value, top if up else value.dtype.type(-1))
        return value.dtype.type(int(value) + (1 if up else -1))
    if how == "nan":
        return value.dtype.type(np.nan)
    changed = top if how == "unreached" else value.dtype.type(0)
    return None if changed == value else changed


@given(case=graphs(), data=st.data())
def test_one_spoiled_entry_is_refused(case, data):
    graph, first = case
    sources = range(first, data.draw(st.integers(first + 1, graph.n)))
    right = apsp.solve(graph, sources, "batched", "cpu")
    certificate = Certificate(graph)
    certificate.check(first, right)
    row = data.draw(st.integers(0, len(sources) - 1))
    vertex = data.draw(st.integers(0, graph.n - 1))
    ways = ["more", "less", "unreached", "zero", *["nan"] * (right.dtype.kind == "f")]
    changed = spoiled(right[row, vertex], data.draw(st.sampled_from(ways)))
    if changed is None:
        return
    wrong = right.copy()
    wrong[row, vertex] = changed
    with pytest.raises(Invalid):
        certificate.check(first, wrong)


@pytest.mark.parametrize("how", ["more", "less", "unreached", "zero"])
@pytest.mark.parametrize("place", [(0, 0), (0, 59), (17, 3), (44, 0), (44, 58), (44, 59)])
def test_corners_and_the_last_entry_of_the_last_row(how, place):
    graph = random_graph(60, 300, 1, 40, np.uint32, 6)
    right = apsp.solve(graph, range(15, 60), "batched", "cpu")
    certificate = Certificate(graph)
    certificate.check(15, right)
    changed = spoiled(right[place], how)
    if changed is None:
        assert right[place] == 0
        return
    right[place] = changed
    with pytest.raises(Invalid, match=rf"source {15 + place[0]}[, ]"):
        certificate.check(15, right)


@pytest.mark.parametrize("row", [0, 64, 256, 699])
def test_every_one_of_many_rows_is_looked_at(row):
    graph = random_graph(700, 2000, 1, 40, np.uint32, 6)
    right = apsp.solve(graph, range(700), "batched", "cpu")
    Certificate(graph).check(0, right)
    right[row, row] = 1
    with pytest.raises(Invalid, match=rf"source {row}\b"):
        Certificate(graph).check(0, right)


def test_rows_in_the_wrong_order_are_refused():
    graph = random_graph(60, 300, 1, 40, np.uint32, 6)
    right = apsp.solve(graph, None, "batched", "cpu")
    with pytest.raises(Invalid, match="from source 1, vertex 0 is at distance 0, but"):
        Certificate(graph).check(1, right[:10])
    with pytest.raises(Invalid, match=r"^distances have the shape \(.*, 59\): \(any, 60\) is right$"):
        Certificate(graph).check(0, right[:, :59])
    with pytest.raises(Invalid, match=r"^distances have the shape \(.*, 61\): \(any, 60\) is right$"):
        Certificate(graph).check(0, np.c_[right, right[:, 59]])


def test_a_circle_of_tight_arcs_of_weight_zero_is_no_tree():
    # 1 and 2 hold each other at any distance, and 0 does not lead to them; 3 hangs from 0 by weight zero.
    graph = Graph.from_arcs(4, [1, 2, 0, 3], [2, 1, 3, 3], np.array([0, 0, 0, 0], np.uint32))
    certificate = Certificate(graph)
    right = np.array([[0, TOP, TOP, 0]], np.uint32)
    certificate.check(0, right)
    wrong = np.array([[0, 5, 5, 0]], np.uint32)
    with pytest.raises(Invalid, match=r"vertex 1 \(distance 5\) has no tight path from the source 0"):
        certificate.check(0, wrong)


@pytest.mark.parametrize("row", [0, 1, 2])
def test_a_circle_is_seen_in_every_row(row):
    # From 0, 1 and 2 the pair hangs by arcs of weight zero, but not from each other's circle alone.
    graph = Graph.from_arcs(5, [0, 1, 2, 0, 3, 4], [1, 2, 0, 3, 4, 3], np.array([0, 0, 0, 7, 0, 0], np.uint32))
    right = np.array([[0, 0, 0, 7, 7]] * 3, np.uint32)
    Certificate(graph).check(0, right)
    apart = Graph.from_arcs(5, [0, 1, 2, 3, 4], [1, 2, 0, 4, 3], np.zeros(5, np.uint32))
    wrong = np.array([[0, 0, 0, TOP, TOP]] * 3, np.uint32)
    Certificate(apart).check(0, wrong)
    wrong[row, 3:] = 7
    said = rf"^vertex 3 \(distance 7\) has no tight path from the source {row}$"
    with pytest.raises(Invalid, match=said):
        Certificate(apart).check(0, wrong)


@pytest.mark.parametrize("row", [0, 1, 2])
def test_the_first_wrong_row_is_named(row):
    graph = random_graph(60, 300, 1, 40, np.uint32, 6)
    right = apsp.solve(graph, range(3), "batched", "cpu")
    right[row:, 59] += 1
    with pytest.raises(Invalid, match=rf"^from source {row}, vertex \d+ is"):
        Certificate(graph).check(0, right)


@pytest.mark.parametrize("low", [0, 1, 5, 8])
def test_an_arc_from_a_nearer_vertex_that_is_not_tight_holds_no_circle(low):
    graph = Graph.from_arcs(3, [0, 1, 2], [1, 2, 1], np.array([9, 0, 0], np.uint32))
    certificate = Certificate(graph)
    certificate.check(0, np.array([[0, 9, 9]], np.uint32))
    with pytest.raises(Invalid, match=rf"vertex 1 \(distance {low}\) has no tight path from the source 0"):
        certificate.check(0, np.array([[0, low, low]], np.uint32))


def test_an_arc_from_an_equal_distance_that_is_not_tight_holds_no_circle():
    graph = Graph.from_arcs(4, [0, 3, 1, 2], [3, 1, 2, 1], np.array([5, 4, 0, 0], np.uint32))
    certificate = Certificate(graph)
    certificate.check(0, np.array([[0, 9, 9, 5]], np.uint32))
    with pytest.raises(Invalid, match=r"vertex 1 \(distance 5\) has no tight path from the source 0"):
        certificate.check(0, np.array([[0, 5, 5, 5]], np.uint32))


def test_a_long_chain_of_weight_zero_hangs_together():
    order = np.random.default_rng(1).permutation(3000)
    graph = Graph.from_arcs(3000, order[:-1], order[1:], np.zeros(2999, np.uint32))
    first = int(order[0])
    Certificate(graph).check(first, np.zeros((1, 3000), np.uint32))
    with pytest.raises(Invalid):
        Certificate(graph).check(int(order[1]), np.zeros((1, 3000), np.uint32))


def test_an_overflow_that_a_solver_lost_is_seen():
    graph = Graph.from_arcs(3, [0, 1], [1, 2], np.array([TOP - 1, 5], np.uint32))
    with pytest.raises(Invalid, match="vertex 2 is unreached, but its incoming arcs put it at 4294967299"):
        Certificate(graph).check(0, np.array([[0, TOP - 1, TOP]], np.uint32))
    with pytest.raises(Invalid):
        Certificate(graph).check(0, np.array([[0, TOP - 1, 3]], np.uint32))


@pytest.mark.parametrize("variant", ["iterated", "batched", "fast"])
def test_distances_that_fit_are_sums_in_their_type_where_others_did_not(variant):
    """From vertex 1 to 0 by 3 and 2, and by an arc of `huge`, behind which the next sum needs 64 bits."""
    huge = np.float32(3.3e38)
    weights = np.array([huge, huge, 0.1, 0.1, 3], np.float32)
    graph = Graph.from_arcs(4, [0, 1, 1, 2, 3], [1, 0, 3, 0, 2], weights)
    right = apsp.solve(graph, range(1, 2), variant, "cpu")
    assert right.tolist() == [[np.float32(3.1999998), 0, np.float32(3.1), np.float32(0.1)]]
    Certificate(graph).check(1, right)
    Certificate(graph).check(0, apsp.solve(graph, None, variant, "cpu"))
