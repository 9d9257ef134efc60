"""The order in which a coded matrix holds rows and columns, and what each is coded against (FORMAT.md).

Both follow the preorder of a breadth-first tree, so that neighbours in the graph are near each other and a subtree is a
range. Among the children of a vertex the one with the largest subtree comes last; a range of the order then falls apart
into few subtrees.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saitan.compiled import njit
from saitan.graph import Graph

# Rows that are coded together; no row is coded against one of another group. Columns of a block.
GROUP, WIDTH = 1024, 8192
# A row whose depth in the group's tree is a multiple of a power of it is coded against the ancestor so many rows above.
# So the digits of the depth, added up, are the rows that are decoded for it.
BASE = 4
NONE = np.uint32(0xFFFFFFFF)


class Order(NamedTuple):
    """Places of vertices, and what a row and a column of a place are coded against.

    vertices   uint32 [n]: the vertex at every place
    rows       uint32 [n]: the place of the row that a row is coded against, an earlier one of its group, or NONE
    columns    uint16 [n]: the same of a column, by its place in the block; the first of a block has its own
    ends       uint16 [n]: where the columns end, by their places in the block, that are coded against a column, against
               one of those, and so on
    """

    vertices: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    ends: np.ndarray


def order_of(graph: Graph, group: int = GROUP, width: int = WIDTH) -> Order:
    """The order of a graph, whose arcs are taken both ways."""
    vertices, parents = _preorder(*_both_ways(graph))
    columns, ends = _columns(parents, width)
    return Order(vertices, _rows(parents, group), columns, ends)


def relabelled(graph: Graph, order: Order) -> Graph:
    """The graph with its vertices numbered by their places."""
    place = np.empty(graph.n, np.int64)
    place[order.vertices] = np.arange(graph.n)
    made = Graph.from_arcs(graph.n, place[graph.sources], place[graph.targets], graph.weights)
    return Graph(made.offsets, made.targets, made.weights, metadata=graph.metadata)


def _both_ways(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """CSR offsets and targets of the arcs and of the same turned round."""
    ends = np.r_[graph.sources, graph.targets], np.r_[graph.targets, graph.sources]
    both = Graph.from_arcs(graph.n, *ends)
    return both.offsets, both.targets


@njit
def _preorder(offsets, targets):
    """Vertices in preorder, and the place of every place's parent in the tree, -1 for a root."""
    n = len(offsets) - 1
    parent, queue = np.full(n, -2, np.int64), np.empty(n, np.int64)
    # A tree begins in the middle of its longest way from a vertex, so it is about half as deep.
    tail = 0
    for start in range(n):
        if parent[start] != -2:
            continue
        root = _middle(offsets, targets, start, queue[tail:], parent)
        tail += _search(offsets, targets, root, queue[tail:], parent)
    size, heaviest = np.ones(n, np.int64), np.full(n, -1, np.int64)
    for k in range(n - 1, -1, -1):
        v, above = queue[k], parent[queue[k]]
        if above >= 0:
            size[above] += size[v]
            if heaviest[above] < 0 or size[v] > size[heaviest[above]]:
                heaviest[above] = v
    # A vertex's subtree is a range: it begins where those of its siblings before it end.
    place, after = np.empty(n, np.int64), np.empty(n, np.int64)
    roots = 0
    for k in range(n):
        v, above = queue[k], parent[queue[k]]
        if above < 0:
            place[v] = roots
            roots += size[v]
        elif heaviest[above] == v:
            place[v] = place[above] + size[above] - size[v]
        else:
            place[v] = after[above]
            after[above] += size[v]
        after[v] = place[v] + 1
    vertices, parents = np.empty(n, np.uint32), np.empty(n, np.int64)
    for v in range(n):
        vertices[place[v]] = v
        parents[place[v]] = place[parent[v]] if parent[v] >= 0 else -1
    return vertices, parents


@njit
def _search(offsets, targets, root, queue, parent):
    """Breadth-first from `root` over vertices whose parent is -2; they go to `queue` in turn, returns how many."""
    queue[0], parent[root] = root, -1
    head, tail = 0, 1
    while head < tail:
        u = queue[head]
        head += 1
        for i in range(offsets[u], offsets[u + 1]):
            v = targets[i]
            if parent[v] == -2:
                parent[v], queue[tail] = u, v
                tail += 1
    return tail


@njit
def _middle(offsets, targets, start, queue, parent):
    """A vertex in the middle of the way from `start` to a vertex that is farthest from it; parent is as before."""
    tail = _search(offsets, targets, start, queue, parent)
    far, hops = queue[tail - 1], 0
    v = far
    while parent[v] >= 0:
        v = parent[v]
        hops += 1
    v = far
    for _ in range(hops // 2):
        v = parent[v]
    for k in range(tail):
        parent[queue[k]] = -2
    return v


@njit
def _rows(parents, group):
    """Order.rows. The tree of a group: parents in the group, and its first row above all others."""
    n = len(parents)
    rows, depth, above = np.full(n, NONE, np.uint32), np.zeros(n, np.int64), np.empty(n, np.int64)
    for p in range(n):
        first = p // group * group
        if p == first or parents[p] < 0:
            continue
        above[p] = parents[p] if parents[p] >= first else first
        depth[p] = depth[above[p]] + 1
        step = 1
        while depth[p] % (step * BASE) == 0:
            step *= BASE
        against = p
        for _ in range(step):
            against = above[against]
        rows[p] = against
    return rows


@njit
def _columns(parents, width):
    """Order.columns and Order.ends; a column whose parent is not in its block has the block's first one."""
    n = len(parents)
    columns, ends = np.empty(n, np.uint16), np.empty(n, np.uint16)
    for first in range(0, n, width):
        count = min(width, n - first)
        for j in range(count):
            above = parents[first + j] - first
            columns[first + j] = above if above >= 0 else 0
            ends[first + j] = j + 1
        for j in range(count - 1, 0, -1):
            above = first + columns[first + j]
            ends[above] = max(ends[above], ends[first + j])
    return columns, ends
