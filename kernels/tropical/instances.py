"""The matrices that products are measured on: random ones, and leading blocks of road networks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from saitan.calls import checked_instance
from saitan.errors import Unavailable
from saitan.graph import Graph
from saitan.memory import check_room
from saitan.tropical.operands import sums_may_overflow
from saitan.tropical.semiring import INFINITE, SumOverflow, infinity, mirrored

# Rows that have a random generator of their own: threads share the work, and their number changes nothing.
STRIP = 256
# The edge of tiles that are infinite or zero as a whole, where it is not given.
TILE = 128
# The largest random entry; the sum of two stays far from infinity.
LARGEST = {"float32": 1000, "int32": 2**24, "uint16": 2**13}


@dataclass(frozen=True, eq=False)
class Instance:
    """Two matrices of one type, a [m, k] and b [k, n], entries as the semiring has them."""

    a: np.ndarray
    b: np.ndarray
    semiring: str = "min_plus"

    @property
    def shape(self) -> tuple[int, int, int]:
        """(m, k, n)."""
        return self.a.shape[0], self.a.shape[1], self.b.shape[1]

    @property
    def pairs(self) -> int:
        """Additions (and as many minima) of the plain product."""
        m, k, n = self.shape
        return m * k * n

    @property
    def work(self) -> dict[str, float]:
        """`Run.work` of a solver that skips nothing."""
        return {f"ops_{self.a.dtype.name}": 2.0 * self.pairs}

    @cached_property
    def full(self) -> bool:
        """Whether neither matrix has an infinity or a zero, so that no variant can skip anything."""
        infinite = infinity(self.a.dtype, self.semiring)
        extreme = np.max if self.semiring == "min_plus" else np.min
        matrices = (self.a,) if self.b is self.a else (self.a, self.b)
        return all(x.size and np.count_nonzero(x) == x.size and extreme(x) != infinite for x in matrices)


def random_matrix(
    seed: np.random.SeedSequence, n: int, infinite: float, zero: float, by: str, tile: int, dtype: np.dtype
) -> np.ndarray:
    """An [n, n] (min, +) matrix: `infinite` of it infinite, `zero` of the rest zero, the remainder drawn uniformly.

    by "tile": aligned tile x tile blocks are infinite or zero as a whole, the number of such blocks rounded; the
    edge is at most a quarter of n, so that the shares are met on small matrices too. by "element": each by itself.
    """
    matrix = np.empty((n, n), dtype)
    high = LARGEST[dtype.name]
    firsts = range(0, n, STRIP)
    tiles_seed, *seeds = seed.spawn(1 + len(firsts))

    def draw(first: int, seed: np.random.SeedSequence) -> None:
        rng, strip = np.random.default_rng(seed), matrix[first : first + STRIP]
        if dtype == np.float32:
            rng.random(out=strip, dtype=np.float32)
            strip *= high
            strip += np.float32(2.0**-10)
        else:
            strip[:] = rng.integers(1, high, strip.shape, dtype=dtype)
        if by == "element" and (infinite or zero):
            kind = rng.random(strip.shape, dtype=np.float32)
            strip[kind < infinite + (1 - infinite) * zero] = 0
            strip[kind < infinite] = INFINITE[dtype.name]

    with ThreadPoolExecutor() as pool:
        list(pool.map(draw, firsts, seeds))
    if by == "element":
        return matrix
    tile = max(1, min(tile, n // 4))
    across = -(-n // tile)
    order = np.random.default_rng(tiles_seed).permutation(across * across)
    last_infinite = round(infinite * across * across)
    last_zero = last_infinite + round(zero * (across * across - last_infinite))
    for place, block in enumerate(order[:last_zero]):
        row, column = divmod(int(block), across)
        matrix[row * tile : (row + 1) * tile, column * tile : (column + 1) * tile] = (
            INFINITE[dtype.name] if place < last_infinite else 0
        )
    return matrix


def weight_matrix(graph: Graph, n: int, order: str, dtype: np.dtype) -> np.ndarray:
    """Weights between the first n vertices of a graph, [n, n]: 0 on the diagonal, infinity where there is no arc.

    order "file": vertices as they are numbered; "bfs": in breadth-first order (Cuthill and McKee's: from a vertex of
    least degree, neighbours by degree), so that neighbours share tiles. Of parallel arcs the lightest counts.
    Raises Unavailable for a weight that the type does not hold exactly.
    """
    rank = np.arange(graph.n)
    if order == "bfs":
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        rank[reverse_cuthill_mckee(graph.to_scipy(), symmetric_mode=False)[::-1]] = np.arange(graph.n)
    sources, targets = rank[graph.sources], rank[graph.targets]
    inside = (sources < n) & (targets < n)
    weights = (np.ones(graph.m, np.uint32) if graph.weights is None else graph.weights)[inside]
    infinite = INFINITE[dtype.name]
    if len(weights) and float(weights.max()) >= float(infinite):
        raise Unavailable(
            f"{graph.name}: a weight of {weights.max():,} does not fit {dtype.name}, {infinite:,} is infinity"
        )
    entries = weights.astype(dtype)
    if (rounded := np.flatnonzero(entries != weights)).size:
        other = "float32" if weights.dtype.kind == "f" else "int32"
        raise Unavailable(f"{graph.name}: {dtype.name} does not hold a weight of {weights[rounded[0]]:,}: try {other}")
    matrix = np.full((n, n), infinite, dtype)
    np.minimum.at(matrix, (sources[inside], targets[inside]), entries)
    np.fill_diagonal(matrix, 0)
    return matrix


def check_matrices(number: int, n: int, dtype: np.dtype) -> None:
    """Raise Unavailable where memory does not hold a number of [n, n] matrices."""
    noun = "a matrix" if number == 1 else f"{number} matrices"
    check_room(number * n * n * dtype.itemsize, f"{noun} of {n:,} x {n:,} {dtype.name}")


def make(
    graph: Graph | None,
    *,
    n: int,
    infinite: float,
    zero: float,
    by: str,
    tile: int | None,
    dtype: str,
    semiring: str,
    seed: int,
    order: str,
) -> Instance:
    """The instance of an experiment; `saitan.tropical.INSTANCE` lists the parameters.

    Without a graph two random n x n matrices; with one, the leading n x n block of its weight
    matrix, times itself.
    Raises Unavailable for a weight or a sum that the type does not hold, for more than the graph's vertices, and where
    memory does not hold the matrices.
    """
    kind = np.dtype(dtype)
    if graph is not None:
        if n > graph.n:
            raise Unavailable(f"n must be at most {graph.n:,}, the vertices of {graph.name}, not {n:,}")
        check_matrices(1, n, kind)
        a = mirrored(weight_matrix(graph, n, order, kind), semiring)
        _check_sums(a, semiring, graph.name)
        return Instance(a, a, semiring)
    check_matrices(2, n, kind)
    seeds = np.random.SeedSequence(seed).spawn(2)
    return Instance(
        *(mirrored(random_matrix(own, n, infinite, zero, by, tile or TILE, kind), semiring) for own in seeds),
        semiring,
    )


def _check_sums(a: np.ndarray, semiring: str, name: str) -> None:
    """Raise Unavailable where an entry of the product would be infinite although there are sums for it."""
    if not sums_may_overflow(a, a, semiring):
        return
    from saitan.tropical.cpu import Tiled
    from saitan.tropical.operands import checked_sums

    product = Tiled(Instance(a, a, semiring))
    product.multiply()
    try:
        checked_sums(mirrored(product.c, semiring), a, a, semiring)
    except SumOverflow as error:
        raise Unavailable(f"{name}: {error}") from None


def made(instance: Any) -> Instance:
    """What `tropical.instance` made. Raises ValueError for anything else."""
    return checked_instance(instance, Instance, 'tropical.instance({"graph": graph}), or tropical.solve(a, b)')
