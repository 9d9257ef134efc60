"""A synthetic street map: the stand-in for the DIMACS challenge's road networks by distance, at any size.

The constants are tuned to New York (parallel arcs dropped) at its size, 264,346 vertices and 730,100 arcs. Rounds are
those of delta-stepping with near and far sets and buckets of 16 mean weights; hops are the arcs of the deepest
shortest path; both, and the relaxations, as medians over 9 sources. Reached, seeds 0 to 4:

                                   New York   here
    vertices of degree 1             15.6 %   16.4, 16.3, 16.4, 16.6, 16.3 %
    of degree 2                      15.3 %   15.2, 15.2, 15.1, 15.1, 15.2 %
    of degree 3                      47.1 %   44.8, 45.1, 44.9, 44.6, 44.9 %
    of degree 4                      21.6 %   23.1, 22.9, 23.1, 23.3, 23.0 %
    of degree 5 and more              0.5 %   0.5 % each
    largest degree                        8   6 each
    mean weight                       1,293   1,292, 1,294, 1,296, 1,292, 1,295
    standard deviation                1,130   1,146, 1,002, 1,244, 1,215, 1,133
    least weight                          1   3, 1, 2, 1, 4
    largest weight                   36,946   18,854, 11,288, 18,105, 15,952, 18,175
    hops                                821   769, 822, 827, 790, 795
    rounds                            1,497   1,509, 1,411, 1,523, 1,562, 1,465
    relaxations an arc                 1.46   1.29, 1.26, 1.31, 1.33, 1.29

With 2.4 arcs a vertex (a quarter of the vertices are dead ends) and seed 1 the rounds grow like the square root of the
size: 1,557 for 0.264 million vertices, 4,317 for 1.1, 7,657 for 4 (medians over 5 sources), 15,492 for 24 (one source).
"""

from __future__ import annotations

import numpy as np

from saitan.generators import lattice
from saitan.graph import Graph

# Vertices that are the end of a street which leads nowhere, beside those that the network of junctions has itself.
DEAD_ENDS = 0.085
# Cells with a street to a diagonal neighbour: where degrees above 4 come from. These may cross another street.
SLANTS = 0.016
# Mean distance between two lines of the lattice, in the DIMACS unit (about 0.1 m).
SPACING = 1215
# Towns: the logarithm of a line's distance to the next is a moving average over its neighbours, 4, 16 and 64 both ways
# (TOWNS is its deviation), and white noise. This gives the weights their long tail.
WINDOWS = (4, 16, 64)
TOWNS, NOISE = 0.8, 0.3
# How much sooner a street is built where lines lie close: towns are meshes, the land between them has trees.
MESH = 0.05


def street_map(vertices: int, arcs: int, seed: int) -> Graph:
    """A connected, undirected map of streets, planar but for a few slanted ones.

    Junctions are the points of a square lattice, row by row (the last row may be short), each anywhere in its
    cell. Cells are small in towns. Of the streets between neighbours a spanning tree is built, then as many more as
    `arcs` asks for, more of them in towns. Dead ends hang on junctions in a street's course, and follow them in number.

    vertices, arcs: exact counts (a street is two arcs, of one weight); no parallel arcs, no loops.
    Returns weights uint32, the length of a street rounded, at least 1; coordinates in the same unit.
    Raises ValueError for counts that make no such map.
    """
    generator = np.random.default_rng(seed)
    dead_ends = int(DEAD_ENDS * vertices)
    junctions = vertices - dead_ends
    width = int(np.ceil(np.sqrt(junctions)))
    y, x = np.divmod(np.arange(junctions, dtype=np.int32), np.int32(width))
    denseness_x, spacing_x = _lines(generator, width)
    denseness_y, spacing_y = _lines(generator, int(y[-1]) + 1)

    tails, heads = _streets(generator, junctions, width)
    late = _lateness(generator, denseness_x[x[tails]] + denseness_y[y[tails]])
    # A few classes are order enough for the tree: within one, neighbours in memory follow each other.
    built = lattice.spanning_tree(junctions, tails, heads, np.argsort((late >> 11).astype(np.uint8), kind="stable"))
    spare = np.flatnonzero(~built)
    least, most = 2 * (vertices - 1), 2 * (vertices - 1 + len(spare))
    if not least <= arcs <= most:
        raise ValueError(f"arcs must be even and {least} to {most} for {vertices} vertices, not {arcs}")
    built[spare[np.argsort(late[spare], kind="stable")[: (arcs - least) // 2]]] = True
    tails, heads = tails[built], heads[built]

    host = _hosts(
        generator, np.bincount(tails, minlength=junctions) + np.bincount(heads, minlength=junctions), dead_ends
    )
    number = np.arange(junctions, dtype=np.int32) + np.cumsum(host, dtype=np.int32) - host
    end = number[host] + np.int32(1)
    coordinates = np.empty((vertices, 2))
    for axis, cell, spacing in ((0, x, spacing_x), (1, y, spacing_y)):
        corner = np.cumsum(spacing) - spacing
        coordinates[number, axis] = corner[cell] + spacing[cell] * generator.random(junctions)
        cell = cell[host]
        coordinates[end, axis] = corner[cell] + spacing[cell] * generator.random(dead_ends)
    tails, heads = np.concatenate([number[tails], number[host]]), np.concatenate([number[heads], end])
    weights = _lengths(coordinates, tails, heads)
    return Graph.from_arcs(
        vertices,
        np.concatenate([tails, heads]),
        np.concatenate([heads, tails]),
        np.concatenate([weights, weights]),
        coordinates=coordinates,
        metadata={"directed": False, "synthetic": True},
    )


def _lines(generator: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Two float64 [count]: how dense the map is along each line, a standard normal, and the way to the next line."""
    averages = []
    for window in WINDOWS:
        white = generator.standard_normal(count + 2 * window - 1)
        averages.append(np.convolve(white, np.full(2 * window, (2 * window) ** -0.5), "valid"))
    sparse = sum(averages) / len(WINDOWS) ** 0.5
    spacing = np.exp(TOWNS * sparse + NOISE * generator.standard_normal(count))
    # Whole units: the last bit of an exponential differs between machines.
    return -sparse, np.maximum(1, np.rint(spacing * (SPACING / spacing.mean())))


def _streets(generator: np.random.Generator, junctions: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Two int32 arrays, the ends of every street that may be built."""
    across, down = lattice.edges(junctions, width)
    corner = across[across < junctions - width - 1]
    corner = corner[generator.random(len(corner)) < SLANTS]
    turned = generator.integers(0, 2, len(corner), dtype=np.int32)
    tails = np.concatenate([across, down, corner + turned])
    heads = np.concatenate([across + 1, down + width, corner + (width + 1) - turned])
    return tails, heads.astype(np.int32, copy=False)


def _lateness(generator: np.random.Generator, denseness: np.ndarray) -> np.ndarray:
    """uint16 [streets]: what is built first has the least."""
    late = generator.random(len(denseness)) - MESH * denseness
    late -= late.min()
    return (late * (65535 / late.max())).astype(np.uint16)


def _hosts(generator: np.random.Generator, degrees: np.ndarray, count: int) -> np.ndarray:
    """bool [junctions]: which junctions have a dead end, those of degree 2 before others."""
    late = generator.random(len(degrees)) + abs(degrees - 2)
    host = np.zeros(len(degrees), bool)
    host[np.argpartition(late, count)[:count]] = True
    return host


def _lengths(coordinates: np.ndarray, tails: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """uint32 [streets]: distances of the ends."""
    squares = sum((axis[tails] - axis[heads]) ** 2 for axis in coordinates.T)
    return np.maximum(1, np.rint(np.sqrt(squares))).astype(np.uint32)
