"""A graph as the dense matrix that the closures of `tropical` take, and what their answers cannot hold."""

from __future__ import annotations

import numpy as np

from saitan.graph import Graph
from saitan.problem import Unavailable
from saitan.tropical.instances import Instance, weight_matrix
from saitan.tropical.semiring import infinity


def closing_instance(graph: Graph) -> Instance:
    """The matrix of a graph's weights over (min, +), int32 or float32.

    Raises Unavailable for a weight that the type cannot hold, or floats of which a path may add up to infinity.
    """
    dtype = np.dtype(np.float32 if graph.weights.dtype.kind == "f" else np.int32)
    if dtype.kind == "f" and graph.m and float(graph.weights.max()) * graph.n >= float(np.finfo(dtype).max):
        raise Unavailable(f"a path of {graph.name} may be too long for float32; fast answers with 64 bits")
    try:
        matrix = weight_matrix(graph, graph.n, "file", dtype)
    except ValueError as error:
        raise Unavailable(f"{error}; fast takes such weights") from None
    return Instance(matrix, matrix, "min_plus", "closure")


def check_sums(graph: Graph, largest: int) -> None:
    """Raise Unavailable where a sum may have reached int32's infinity. largest: of the finite distances found.

    If a path is too long, so is one that lengthens a path that was found by an arc.
    """
    if graph.m and largest + int(graph.weights.max()) >= int(infinity(np.int32)):
        raise too_long(graph)


def too_long(graph: Graph) -> Unavailable:
    """What says that a path does not fit a matrix of int32."""
    return Unavailable(f"a path of {graph.name} may be too long for a dense matrix of int32; fast answers with 64 bits")
