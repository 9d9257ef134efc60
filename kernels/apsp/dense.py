"""Dense matrices: what they are made of, how an answer's rows are computed with NumPy, what they cannot hold.

A matrix to be closed is over (min, +), as `tropical` has it: float32, int32 or uint16, infinity where there is no arc.
The closure has 0 on its diagonal and the distance between two vertices everywhere else.
"""

from __future__ import annotations

import numpy as np

from saitan.graph import Graph
from saitan.problem import Unavailable
from saitan.tropical.instances import check_matrices, random_matrix, weight_matrix
from saitan.tropical.operands import as_matrix
from saitan.tropical.semiring import check_operand, infinity
from saitan.tropical.validate import product_rows

# Pairs of terms that a reference takes at most, unless a single row is more: half a second of NumPy.
ROW_PAIRS = 2**27
# Products of a row that NumPy is expected to take until nothing changes.
PASSES = 16


def checked_square(a, semiring: str = "min_plus", copies: int = 0) -> np.ndarray:
    """A NumPy matrix [n, n] that can be closed, of which so many copies will be made.

    Raises ValueError, also where a cycle may be better than none; Unavailable where memory does not hold the copies.
    """
    a = as_matrix(a)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"a closure is that of a square matrix, not of one of shape {a.shape}")
    check_matrices(copies, len(a), a.dtype)
    check_operand(a, "the matrix", semiring)
    if (a.min(initial=0) if semiring == "min_plus" else -a.max(initial=0)) < 0:
        sign = "non-negative" if semiring == "min_plus" else "non-positive"
        raise ValueError(f"the closure over {semiring} needs {sign} entries")
    return a


def random_digraph(n: int, infinite: float, dtype: str, seed: int) -> np.ndarray:
    """A random matrix [n, n], each entry infinite with probability `infinite`."""
    check_matrices(1, n, np.dtype(dtype))
    (own,) = np.random.SeedSequence(seed).spawn(1)
    return random_matrix(own, n, infinite, 0.0, "element", 1, np.dtype(dtype))


def closing_dtype(dtype: np.typing.DTypeLike) -> np.dtype:
    """The type of the matrix that holds weights or entries of a type: int32 for uint32, otherwise the same."""
    return np.dtype(np.int32 if np.dtype(dtype) == np.uint32 else dtype)


def graph_matrix(graph: Graph) -> np.ndarray:
    """The weights of a graph as a matrix [n, n] of int32 or float32.

    Raises Unavailable for a weight that the type cannot hold, or floats of which a path may add up to infinity.
    """
    dtype = closing_dtype(graph.weights.dtype)
    if dtype.kind == "f" and graph.m and float(graph.weights.max()) * graph.n >= float(np.finfo(dtype).max):
        raise Unavailable(f"a path of {graph.name} may be too long for float32; fast answers with 64 bits")
    try:
        return weight_matrix(graph, graph.n, "file", dtype)
    except Unavailable as error:
        raise Unavailable(f"{error}; fast takes such weights") from None


def check_sums(graph: Graph, largest: int) -> None:
    """Raise Unavailable where a sum may have reached int32's infinity. largest: of the finite distances found.

    If a path is too long, so is one that lengthens a path that was found by an arc.
    """
    if graph.m and largest + int(graph.weights.max()) >= int(infinity(np.int32)):
        raise too_long(graph)


def too_long(graph: Graph) -> Unavailable:
    """What says that a path does not fit a matrix of int32."""
    return Unavailable(f"a path of {graph.name} may be too long for a dense matrix of int32; fast answers with 64 bits")


def drawn_rows(count: int, n: int) -> np.ndarray:
    """Which of the first `count` rows of a closure [n, n] to compare: up to eight, ascending, as ROW_PAIRS allows."""
    most = min(count, 8, max(1, ROW_PAIRS // (PASSES * n * n)))
    return np.unique(np.linspace(0, count - 1, most).astype(np.int64))


def closure_rows(a: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The given rows of the closure of a [n, n] with NumPy: a row times a, again and again until nothing changes."""
    found = a[rows].copy()
    found[np.arange(len(rows)), rows] = 0
    while True:
        longer = np.minimum(found, product_rows(found, a, "min_plus"))
        if np.array_equal(longer, found):
            return found
        found = longer
