"""Graphs, spoiled answers and solvers' memory that the tests of bfs share."""

import numpy as np
from hypothesis import strategies as st

from saitan import bfs
from saitan.generators import GENERATORS
from saitan.graph import Graph


def undirected(n, ends, once=False):
    """The graph of n vertices with each (u, v) as two arcs; loops too, or once where asked for."""
    pairs = np.array(ends, np.int64).reshape(-1, 2)
    turned = pairs[pairs[:, 0] != pairs[:, 1]] if once else pairs
    arcs = np.concatenate([pairs, turned[:, ::-1]])
    return Graph.from_arcs(n, arcs[:, 0], arcs[:, 1], metadata={"directed": False, "name": "drawn"})


def directed(n, ends):
    pairs = np.array(ends, np.int64).reshape(-1, 2)
    return Graph.from_arcs(n, pairs[:, 0], pairs[:, 1], metadata={"directed": True, "name": "drawn"})


def example(make):
    """A random graph with parallel arcs, loops and vertices that are not reached; root 5 is none of them."""
    ends = np.random.default_rng(4).integers(0, 60, (70, 2)).tolist()
    return make(60, [*ends, (5, 6)])


def many(graph):
    """The instance of many searches at once."""
    return bfs.instance({"graph": graph}, task="many")


def path(n):
    return undirected(n, np.stack([np.arange(n - 1), np.arange(1, n)], 1))


def star(leaves):
    return undirected(leaves + 1, np.stack([np.zeros(leaves, np.int64), np.arange(1, leaves + 1)], 1))


def lollipop(clique, tail):
    """A complete graph and a path that hangs on it."""
    ends = np.stack(np.triu_indices(clique, 1), 1)
    return undirected(clique + tail, np.concatenate([ends, _path_from(clique, tail)]))


def hypercube(dimension):
    v = np.arange(1 << dimension)
    ends = np.concatenate([np.stack([v, v ^ (1 << i)], 1) for i in range(dimension)])
    return undirected(len(v), ends[ends[:, 0] < ends[:, 1]])


def expander(n, half, tail, seed):
    """A random graph of about 2 * half arcs a vertex, and a path that hangs on it."""
    rng = np.random.default_rng(seed)
    ends = np.concatenate([np.stack([np.arange(n), rng.permutation(n)], 1) for _ in range(half)])
    return undirected(n + tail, np.concatenate([ends, _path_from(n, tail)]))


def layered(layers, width):
    """Every vertex of a layer leads to all of the next one."""
    vertex = np.arange(layers * width).reshape(layers, width)
    return directed(layers * width, np.stack([np.repeat(vertex[:-1], width, axis=1), np.tile(vertex[1:], width)], 2))


def alike(parts, size, seed):
    """Parts that no edge joins, each a random graph of 16 arcs a vertex."""
    rng = np.random.default_rng(seed)
    part = np.arange(parts * size).reshape(parts, size, 1)
    return undirected(parts * size, np.stack([part.repeat(8, 2), rng.permuted(part.repeat(8, 2), axis=1)], 3))


def _path_from(first, tail):
    """Edges from first - 1 along `tail` more vertices."""
    return np.stack([np.arange(first, first + tail), np.arange(first - 1, first + tail - 1)], 1)


def triangle():
    """From 0, vertex 2 may hang on level 2 below vertex 1, but for the arc from 0."""
    return undirected(3, [(0, 1), (0, 2), (1, 2)])


@st.composite
def cases(draw, most=70):
    """(graph, root): loops, parallel arcs, unreachable parts; n about the multiples of 32; at least one usable root."""
    n = draw(st.one_of(st.sampled_from([2, 31, 32, 33, 63, 64, 65]), st.integers(2, most)))
    vertex = st.integers(0, n - 1)
    ends = draw(st.lists(st.tuples(vertex, vertex), max_size=3 * n))
    root = draw(vertex)
    ends.append((root, (root + draw(st.integers(1, n - 1))) % n))
    make = draw(st.sampled_from([undirected, directed]))
    return make(n, ends), root


def spoiled(graph, root, levels, parents):
    """Every way to spoil a right answer by one entry or a few: (what, levels, parents)."""
    tails, heads = graph.sources, graph.targets
    arcs = set(zip(tails.tolist(), heads.tolist(), strict=True))
    reached = np.flatnonzero(levels >= 0)
    below = [int(v) for v in reached if v != root]

    def changed(what, vertex, level=None, parent=None):
        new = levels.copy(), parents.copy()
        if level is not None:
            new[0][vertex] = level
        if parent is not None:
            new[1][vertex] = parent
        return what, *new

    yield changed("root with another parent", root, parent=below[0])
    yield changed("root without parent", root, parent=-1)
    yield changed("root on level 1", root, level=1)
    yield changed("root not reached", root, level=-1, parent=-1)
    for v in {below[0], below[-1]}:
        yield changed("a level more", v, level=levels[v] + 1)
        yield changed("a level less", v, level=levels[v] - 1)
        yield changed("reached called unreached", v, level=-1, parent=-1)
        yield changed("level without parent", v, parent=-1)
        yield changed("parent without level", v, level=-1)
        yield changed("its own parent", v, parent=v)
        yield changed("a parent beyond the last vertex", v, parent=graph.n)
        yield changed("a negative parent", v, parent=-2)
        for u in reached[levels[reached] == levels[v] - 1].tolist():
            if (u, v) not in arcs:
                yield changed("a parent that is no neighbour", v, parent=u)
        for u in reached[levels[reached] == levels[v]].tolist():
            if u != v and (u, v) in arcs:
                yield changed("a parent on the same level", v, parent=u)
                cycle = changed("a cycle", v, parent=u)
                cycle[2][u] = v
                yield cycle
        for u in reached.tolist():
            if (u, v) in arcs and levels[u] > levels[v]:
                yield changed("a parent below", v, parent=u, level=levels[u] + 1)
    for v in np.flatnonzero(levels < 0)[[0, -1]].tolist() if (levels < 0).any() else []:
        yield changed("unreached called reached", v, level=1, parent=root)
        yield changed("unreached with a level", v, level=1)
        yield changed("unreached with a parent", v, parent=root)
        yield changed("a level below -1", v, level=-2)
    leaves = [v for v in below if not (parents == v).any()]
    for v in {leaves[0], leaves[-1]}:
        for u in reached[levels[reached] == levels[v]].tolist():
            if u != v and (u, v) in arcs:
                # Right but for the arc from the old parent, which now leads down by two levels.
                yield changed("hung below a neighbour of its own level", v, parent=u, level=levels[v] + 1)
    yield "all levels one down", np.where(levels >= 0, levels + 1, levels).astype(np.int32), parents
    deepest = int(levels.max())
    last = np.flatnonzero(levels == deepest)
    yield (
        "the last level called unreached",
        np.where(levels == deepest, -1, levels).astype(np.int32),
        np.where(levels == deepest, -1, parents).astype(np.int32),
    )
    if deepest > 1:
        # The subtree hangs right in itself; only its arcs from above are too long.
        level, parent = levels.copy(), parents.copy()
        level[last] += 1
        yield "the last level one down", level, parent


def kronecker(scale, seed=3):
    return GENERATORS["kronecker"](scale=scale, seed=seed)


def random_directed(n, m, seed):
    return directed(n, np.random.default_rng(seed).integers(0, n, (m, 2)))


def held(solver):
    """Levels and parents of the last answer where the validator reads them; variants of several processes as on one."""
    if hasattr(solver, "search"):
        return solver.search.answer
    one = solver.parts[0] if hasattr(solver, "parts") else solver
    return one.levels, one.parents


def poison(solver):
    """Garbage where the last answer was."""
    on_device = getattr(solver.parts[0], "answer", ()) if hasattr(solver, "parts") else ()
    for array in (*held(solver), *on_device):
        array.fill(77)


GRAPHS = {
    "kronecker": lambda: kronecker(14),
    "directed": lambda: random_directed(30_000, 400_000, 1),
    "sparse": lambda: random_directed(30_000, 36_000, 2),
    "road": lambda: GENERATORS["road_rail"](vertices=20_000, arcs=64_200, seed=2),
    "star": lambda: star(100_000),
    "short path": lambda: path(300),
    "lollipop": lambda: lollipop(150, 200),
    "hypercube": lambda: hypercube(12),
    "expander with a tail": lambda: expander(4096, 8, 150, 1),
    # A warp's width and the tile's at their edges, in rows of a block's width, a warp's, and one less.
    "rows": lambda: undirected(
        4000,
        [(0, v) for v in range(1, 9)]
        + [
            (v, 100 + i)
            for v, d in zip(range(1, 9), (1, 31, 32, 33, 255, 256, 257, 3000), strict=True)
            for i in range(d)
        ],
    ),
}


def arcs_by_numpy(graph, levels):
    return [int(graph.degrees[levels == level].sum()) for level in range(levels.max() + 1)]
