"""Small families that differ in what slows a search: diameter, degrees, locality, components.

Torus, path, star, binary tree, comb, ladder, three-dimensional grid; random graphs of a given degree, by preferential
attachment (Barabási and Albert 1999, drawn as by Batagelj and Brandes 2005), small worlds (Watts and Strogatz 1998),
geometric, bipartite; hosts of a web with chains behind them, many small components, one vertex with half of all arcs.
Undirected but for `web` and `hub`. `weights` names one of `ranges.KINDS`; undirected edges weigh the same both ways.
"""

from __future__ import annotations

import numpy as np

from saitan.generators import draw
from saitan.graph import Graph


def torus(width: int, height: int, weights: str, seed: int) -> Graph:
    """The grid of width x height vertices (3 at least each way) whose ends are joined: vertex y * width + x."""
    vertex = np.arange(width * height, dtype=np.int32).reshape(height, width)
    tails = np.concatenate([vertex.ravel()] * 2)
    heads = np.concatenate([np.roll(vertex, -1, axis).ravel() for axis in (1, 0)])
    return _undirected(vertex.size, tails, heads, weights, np.random.default_rng(seed))


def path(vertices: int, weights: str, seed: int) -> Graph:
    """0 - 1 - ... - n - 1: the largest diameter there is."""
    vertex = np.arange(vertices, dtype=np.int32)
    return _undirected(vertices, vertex[:-1], vertex[1:], weights, np.random.default_rng(seed))


def star(vertices: int, weights: str, seed: int) -> Graph:
    """Vertex 0 joined to every other."""
    heads = np.arange(1, vertices, dtype=np.int32)
    return _undirected(vertices, np.zeros_like(heads), heads, weights, np.random.default_rng(seed))


def tree(vertices: int, weights: str, seed: int) -> Graph:
    """The binary tree: vertex v > 0 hangs on (v - 1) // 2."""
    heads = np.arange(1, vertices, dtype=np.int32)
    return _undirected(vertices, (heads - 1) // 2, heads, weights, np.random.default_rng(seed))


def comb(teeth: int, length: int, weights: str, seed: int) -> Graph:
    """A path of `teeth` vertices, behind each of which hangs a path of `length` more: v hangs on v - teeth."""
    vertex = np.arange(teeth * (length + 1), dtype=np.int32)
    tails = np.concatenate([vertex[: teeth - 1], vertex[:-teeth]])
    heads = np.concatenate([vertex[1:teeth], vertex[teeth:]])
    return _undirected(vertex.size, tails, heads, weights, np.random.default_rng(seed))


def ladder(rungs: int, weights: str, seed: int) -> Graph:
    """Two paths of `rungs` vertices, v beside v + rungs."""
    vertex = np.arange(2 * rungs, dtype=np.int32).reshape(2, rungs)
    tails = np.concatenate([vertex[:, :-1].ravel(), vertex[0]])
    heads = np.concatenate([vertex[:, 1:].ravel(), vertex[1]])
    return _undirected(vertex.size, tails, heads, weights, np.random.default_rng(seed))


def grid3d(width: int, height: int, depth: int, weights: str, seed: int) -> Graph:
    """Vertex (z * height + y) * width + x joined to its neighbours in the three directions."""
    vertex = np.arange(width * height * depth, dtype=np.int32).reshape(depth, height, width)
    pairs = [(vertex[:, :, :-1], vertex[:, :, 1:]), (vertex[:, :-1], vertex[:, 1:]), (vertex[:-1], vertex[1:])]
    tails, heads = (np.concatenate([pair[side].ravel() for pair in pairs]) for side in (0, 1))
    return _undirected(vertex.size, tails, heads, weights, np.random.default_rng(seed))


def regular(vertices: int, degree: int, weights: str, seed: int) -> Graph:
    """degree / 2 random Hamiltonian cycles: connected, every vertex of the (even) degree; edges may be parallel."""
    generator = np.random.default_rng(seed)
    tails = [generator.permutation(np.arange(vertices, dtype=np.int32)) for _ in range(degree // 2)]
    heads = [np.roll(cycle, -1) for cycle in tails]
    return _undirected(vertices, np.concatenate(tails), np.concatenate(heads), weights, generator)


def preferential(vertices: int, edges: int, weights: str, seed: int) -> Graph:
    """Every vertex brings `edges` edges, whose other ends are drawn in proportion to the degrees so far.

    Connected; self-loops and parallel edges are kept.
    """
    generator = np.random.default_rng(seed)
    edge = np.arange(vertices * edges)
    # The ends of all edges in a list: entry 2e is the vertex that brings edge e, entry 2e + 1 repeats an entry before
    # its own, the place drawn here. Entries at odd places are followed until each has come to an even one.
    place = generator.integers(0, 2 * edge + 1)
    while len(odd := np.flatnonzero(place % 2)):
        place[odd] = place[place[odd] // 2]
    return _undirected(vertices, edge // edges, place // 2 // edges, weights, generator)


def small_world(vertices: int, degree: int, rewired: float, weights: str, seed: int) -> Graph:
    """A ring of vertices joined to `degree` (even) neighbours; each edge ends elsewhere with probability `rewired`."""
    generator = np.random.default_rng(seed)
    tails = np.tile(np.arange(vertices), degree // 2)
    step = np.repeat(np.arange(1, degree // 2 + 1), vertices)
    anywhere = generator.integers(1, vertices, len(tails))
    heads = (tails + np.where(generator.random(len(tails)) < rewired, anywhere, step)) % vertices
    return _undirected(vertices, tails, heads, weights, generator)


def web(vertices: int, host: int, tail: int, weights: str, seed: int) -> Graph:
    """Directed: hosts of `host` pages, whose first page and all others link each other, and chains behind them.

    A page links four of its host at random; the first page of every host but the first links that of an earlier one,
    early ones more often, and is linked by it. A tenth of the vertices, the last, are chains of `tail` pages that begin
    at random pages and that no arc leaves.
    """
    generator = np.random.default_rng(seed)
    pages = vertices - vertices // 10
    page = np.arange(pages)
    first = page - page % host
    size = np.minimum(host, pages - first)
    inner = page[page != first]
    links = first[:, None] + (generator.random((pages, 4)) * size[:, None]).astype(np.int64)
    roots = np.arange(host, pages, host)
    linked = (generator.random(len(roots)) ** 2 * (roots // host)).astype(np.int64) * host
    chain = np.arange(pages, vertices)
    begins = (chain - pages) % tail == 0
    before = np.where(begins, generator.integers(0, pages, len(chain)), chain - 1)
    tails = np.concatenate([inner, first[inner], np.repeat(page, 4), roots, linked, before])
    heads = np.concatenate([first[inner], inner, links.ravel(), linked, roots, chain])
    return _directed(vertices, tails, heads, weights, generator)


def geometric(vertices: int, degree: float, weights: str, seed: int) -> Graph:
    """Random points of a square, joined where they are near; `degree` is the mean far from the border.

    Coordinates: the points, in [0, 1).
    """
    from scipy.spatial import cKDTree

    generator = np.random.default_rng(seed)
    points = generator.random((vertices, 2))
    pairs = cKDTree(points).query_pairs((degree / (np.pi * vertices)) ** 0.5, output_type="ndarray")
    tails, heads = pairs[np.lexsort(pairs.T[::-1])].T
    return _undirected(vertices, tails, heads, weights, generator, points)


def bipartite(left: int, right: int, edges: int, weights: str, seed: int) -> Graph:
    """Random edges between the first `left` vertices and the `right` others; edges may be parallel."""
    generator = np.random.default_rng(seed)
    tails = generator.integers(0, left, edges, np.int32)
    heads = generator.integers(left, left + right, edges, np.int32)
    return _undirected(left + right, tails, heads, weights, generator)


def islands(vertices: int, size: int, weights: str, seed: int) -> Graph:
    """Components of `size` vertices each (the last may have fewer): random trees of consecutive numbers."""
    generator = np.random.default_rng(seed)
    vertex = np.arange(vertices)
    rank = vertex % size
    parent = vertex - rank + (generator.random(vertices) * rank).astype(np.int64)
    return _undirected(vertices, parent[rank > 0], vertex[rank > 0], weights, generator)


def hub(vertices: int, arcs: int, weights: str, seed: int) -> Graph:
    """Directed: half of the arcs (rounded down) leave vertex 0, the others any vertex; all end at random."""
    generator = np.random.default_rng(seed)
    tails = generator.integers(0, vertices, arcs, np.int32)
    tails[: arcs // 2] = 0
    return _directed(vertices, tails, generator.integers(0, vertices, arcs, np.int32), weights, generator)


def _directed(n: int, tails: np.ndarray, heads: np.ndarray, weights: str, generator: np.random.Generator) -> Graph:
    drawn = draw.of_kind(generator, len(tails), weights)
    return Graph.from_arcs(n, tails, heads, drawn, metadata={"directed": True, "synthetic": True})


def _undirected(n, tails, heads, weights, generator, coordinates=None) -> Graph:
    """Every edge as two arcs of one weight, a self-loop as one."""
    drawn, other = draw.of_kind(generator, len(tails), weights), tails != heads
    return Graph.from_arcs(
        n,
        np.concatenate([tails, heads[other]]),
        np.concatenate([heads, tails[other]]),
        np.concatenate([drawn, drawn[other]]),
        coordinates=coordinates,
        metadata={"directed": False, "synthetic": True},
    )
