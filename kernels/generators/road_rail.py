"""A synthetic road-and-rail map: the stand-in for the map of the Kanto region in paper S, which is not public.

The constants are tuned at the paper's size to its Table 1 and Figs 4 and 5, for the phases of its Algorithms 1 to
3 (level-synchronous, updates committed between phases); log-uniform weights stand for Fig 3. Reached, seeds 0 to 4, as
medians over 20 random sources each (the share over the phases of all 20 together):

                                              paper   here
    mean weight                              83,666   83,647
    standard deviation                      184,384   184,365
    least and largest weight        10 to 1,000,000   8 to 979,997
    phases                                about 230   229, 234, 245, 237, 296
    largest number of updates, millions    over 0.5   0.52, 0.55, 0.54, 0.48, 0.51
    phases with at most 10,000 updates         59 %   60, 61, 60, 59, 68 %

Single sources spread further, 212 to 330 phases and a peak of 0.41 to 0.77 million; the corners of seed 4
converge late.
"""

from __future__ import annotations

import numpy as np

from saitan.generators import lattice
from saitan.graph import Graph

# Log-uniform weights between these bounds have the mean and the deviation of Table 1: with r = HIGH / LOW the mean is
# HIGH / ln r (for large r) and the mean square HIGH^2 / (2 ln r), so ln r = 2 (1 + (184,384 / 83,666)^2) = 11.71.
WEIGHT_LOW, WEIGHT_HIGH = 8.0, 980_000.0
# Every so many grid lines, both ways, one is a main road: a share of 2 / s - 1 / s^2 of the vertices, 0.31 M of 1.43 M.
MAIN_SPACING = 8.7
# Main roads and rails are quicker: the rank of their weight among all is drawn from a range lower by this much. A
# larger lead means fewer corrections: fewer phases, a lower peak.
MAIN_LEAD = 0.52
# Rails a vertex: more of them, fewer phases and a higher peak.
RAILS = 0.024
# Mean length of a rail, in widths of the map: the longer, the more of the map is updated at once.
RAIL_LENGTH = 0.15
# Stations crowd round the centre (a Gaussian of this deviation, in widths of the map) on top of an even share.
CENTRE_SPREAD = 0.25
EVEN_SHARE = 0.02
# No station lies further from the centre (in widths of the map). Beyond, in the corners, there are roads only, and
# walking there hop by hop is the long tail of small phases. Its length varies
# with the seed.
RAIL_REACH = 0.64


def road_rail(vertices: int, arcs: int, seed: int, main_only: bool = False) -> Graph:
    """A connected, undirected map of roads and rails with paper S's weights.

    Vertices are the points of a square grid, row by row (the last row may be short). Full grid lines at a regular
    spacing are main roads; of the local roads between them as many are kept as `arcs` asks for, a spanning tree
    always. Rails join two vertices on main roads, most of them near the centre. Weights know nothing of lengths
    (paper S, section 4, finds hops and distance hardly correlated); main roads and rails get the lower ones more often.

    vertices, arcs: exact counts of the whole map (an edge is two arcs, of one weight); no parallel arcs, no loops.
    main_only: only the sub-map of main roads and rails, about 22 % of the vertices, numbered anew in the same order;
    its weights are the lower ones of the map (8 to 5,812, mean 501, at the paper's size).
    Returns weights uint32, coordinates (x, y) in grid steps. Raises ValueError for counts that make no such map.
    """
    generator = np.random.default_rng(seed)
    width = int(np.ceil(np.sqrt(vertices)))
    vertex = np.arange(vertices, dtype=np.int32)
    y, x = np.divmod(vertex, np.int32(width))
    lines = (np.arange(width / MAIN_SPACING) * MAIN_SPACING).astype(np.int32)
    is_line = np.zeros(width, bool)
    is_line[lines] = True
    on_main = is_line[x] | is_line[y]

    across, down = lattice.edges(vertices, width)
    tails, heads = np.concatenate([across, down]), np.concatenate([across + 1, down + width])
    main = np.concatenate([is_line[y[across]], is_line[x[down]]])
    order = generator.permutation(len(tails))
    order = order[np.argsort(~main[order], kind="stable")]
    kept = main | lattice.spanning_tree(vertices, tails, heads, order)
    rails = int(RAILS * vertices)
    spare = order[~kept[order]]
    least, most = 2 * (len(order) - len(spare) + rails), 2 * (len(order) + rails)
    if not least <= arcs <= most:
        raise ValueError(f"arcs must be even and {least} to {most} for {vertices} vertices, not {arcs}")
    kept[spare[: (arcs - least) // 2]] = True

    stations, ends = _rails(generator, rails, vertex[on_main], vertices, width, lines)
    tails = np.concatenate([tails[kept], stations])
    heads = np.concatenate([heads[kept], ends])
    weights = _weights(generator, np.concatenate([main[kept], np.ones(rails, bool)]))
    if main_only:
        chosen = np.concatenate([main[kept], np.ones(rails, bool)])
        number = np.cumsum(on_main, dtype=np.int32) - 1
        tails, heads, weights = number[tails[chosen]], number[heads[chosen]], weights[chosen]
        x, y = x[on_main], y[on_main]
    return Graph.from_arcs(
        len(x),
        np.concatenate([tails, heads]),
        np.concatenate([heads, tails]),
        np.concatenate([weights, weights]),
        coordinates=np.column_stack([x, y]).astype(np.float64),
        metadata={"directed": False, "synthetic": True},
    )


def _weights(generator, is_major):
    """uint32 [edges]: evenly spaced quantiles of the log-uniform distribution, dealt out by rank."""
    count = len(is_major)
    logarithm = np.log(WEIGHT_LOW) + np.log(WEIGHT_HIGH / WEIGHT_LOW) * (np.arange(count) + 0.5) / count
    weights = np.empty(count, np.uint32)
    weights[np.argsort(generator.random(count) - MAIN_LEAD * is_major)] = np.rint(np.exp(logarithm))
    return weights


def _served(x, y, width):
    """Relative density of stations at a point."""
    squared = (x / width - 0.5) ** 2 + (y / width - 0.5) ** 2
    return (np.exp(-squared / (2 * CENTRE_SPREAD**2)) + EVEN_SHARE) * (squared < RAIL_REACH**2)


def _rails(generator, count, stations, vertices, width, lines):
    """Two int32 [count]: the ends of distinct rails, none as short as a road."""
    y, x = np.divmod(stations, width)
    cumulative = np.cumsum(_served(x, y, width))
    pairs = np.empty(0, np.int64)
    while len(pairs) < count:
        draws = 2 * count
        start = stations[np.searchsorted(cumulative, generator.uniform(0, cumulative[-1], draws))]
        y, x = np.divmod(start, width)
        length = generator.exponential(RAIL_LENGTH * width, draws)
        angle = generator.uniform(0, 2 * np.pi, draws)
        line = np.rint((x + length * np.cos(angle)) / MAIN_SPACING).astype(np.int64)
        end_y = np.rint(y + length * np.sin(angle)).astype(np.int64)
        inside = (line >= 0) & (line < len(lines)) & (end_y >= 0)
        end_x = lines[np.where(inside, line, 0)]
        end = end_y * width + end_x
        fits = inside & (end < vertices) & (abs(end_x - x) + abs(end_y - y) > 1)
        fits &= generator.random(draws) < _served(end_x, end_y, width)
        found = np.minimum(start, end).astype(np.int64) * vertices + np.maximum(start, end)
        pairs = np.concatenate([pairs, found[fits]])
        _, first = np.unique(pairs, return_index=True)
        pairs = pairs[np.sort(first)]
    ends = np.divmod(pairs[:count], vertices)
    return ends[0].astype(np.int32), ends[1].astype(np.int32)
