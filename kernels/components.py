"""Connected components, and the order of a breadth-first search, in arrays of n vertices: nothing is held for each arc.

Weak components are joined by union-find with path halving. Strong ones are found by Tarjan, "Depth-first search and
linear graph algorithms" (1972), with its recursion as a stack; parallel arcs and loops are of no concern to either.
Components are numbered from 0; weak ones in the order of their first vertices.
"""

from __future__ import annotations

import numpy as np

from saitan.compiled import njit


@njit
def weak(offsets, targets):
    """int32 [n]: the component of every vertex where arcs are followed both ways."""
    n = len(offsets) - 1
    parent = np.arange(n).astype(np.int32)
    for v in range(n):
        for arc in range(offsets[v], offsets[v + 1]):
            a, b = _root(parent, v), _root(parent, targets[arc])
            # The least vertex becomes the root.
            if a < b:
                parent[b] = a
            else:
                parent[a] = b
    count = 0
    label = np.empty(n, np.int32)
    for v in range(n):
        root = _root(parent, v)
        if root == v:
            label[v] = count
            count += 1
        else:
            label[v] = label[root]
    return label


@njit
def _root(parent, v):
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


@njit
def leading_on(offsets, targets):
    """bool [n]: whether some arc of a vertex goes to another one."""
    found = np.zeros(len(offsets) - 1, np.bool_)
    for v in range(len(found)):
        for arc in range(offsets[v], offsets[v + 1]):
            if targets[arc] != v:
                found[v] = True
                break
    return found


@njit
def strong(offsets, targets):
    """int32 [n]: the strongly connected component of every vertex."""
    n = len(offsets) - 1
    label = np.full(n, -1, np.int32)
    # When a vertex was met, from 1 (0: not yet), and the earliest met that it leads back to.
    met, low = np.zeros(n, np.int32), np.zeros(n, np.int32)
    arc = offsets[:-1].copy()
    path, waiting = np.empty(n, np.int32), np.empty(n, np.int32)
    depth, open_count, clock, count = 0, 0, 0, 0
    for root in range(n):
        if met[root]:
            continue
        clock += 1
        met[root] = low[root] = clock
        path[depth], waiting[open_count] = root, root
        depth, open_count = depth + 1, open_count + 1
        while depth:
            v = path[depth - 1]
            if arc[v] < offsets[v + 1]:
                w = targets[arc[v]]
                arc[v] += 1
                if not met[w]:
                    clock += 1
                    met[w] = low[w] = clock
                    path[depth], waiting[open_count] = w, w
                    depth, open_count = depth + 1, open_count + 1
                elif label[w] < 0:
                    low[v] = min(low[v], met[w])
                continue
            depth -= 1
            if depth:
                low[path[depth - 1]] = min(low[path[depth - 1]], low[v])
            if low[v] == met[v]:
                while label[v] < 0:
                    open_count -= 1
                    label[waiting[open_count]] = count
                count += 1
    return label


@njit
def search_order(offsets, targets, turned_offsets, turned_targets, root):
    """int32: the vertices that a breadth-first search from root meets, arcs followed both ways, in order."""
    n = len(offsets) - 1
    order, seen = np.empty(n, np.int32), np.zeros(n, np.bool_)
    order[0], seen[root] = root, True
    done, count = 0, 1
    while done < count:
        v = order[done]
        done += 1
        for arc in range(offsets[v], offsets[v + 1]):
            w = targets[arc]
            if not seen[w]:
                seen[w] = True
                order[count] = w
                count += 1
        for arc in range(turned_offsets[v], turned_offsets[v + 1]):
            w = turned_targets[arc]
            if not seen[w]:
                seen[w] = True
                order[count] = w
                count += 1
    return order[:count]
