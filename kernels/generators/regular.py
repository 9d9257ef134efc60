"""Graphs of a fixed shape: ring, complete graph, grid. Only their weights are drawn."""

from __future__ import annotations

import numpy as np

from saitan.generators import draw
from saitan.graph import Graph


def ring(vertices: int, seed: int, weight_low: int = 1, weight_high: int = 1) -> Graph:
    """The directed cycle 0, 1, ..., n - 1, 0. Weights: uint32, uniform in weight_low .. weight_high."""
    targets = np.roll(np.arange(vertices, dtype=np.int32), -1)
    weights = draw.weights(np.random.default_rng(seed), vertices, weight_low, weight_high)
    return Graph(np.arange(vertices + 1, dtype=np.int64), targets, weights, metadata={"directed": True})


def complete(vertices: int, seed: int, weight_low: int = 1, weight_high: int = 1) -> Graph:
    """An arc from every vertex to every other. Weights: uint32, uniform, drawn for each arc on its own."""
    degree = vertices - 1
    column = np.arange(degree, dtype=np.int32)
    targets = (column + (column >= np.arange(vertices, dtype=np.int32)[:, None])).ravel().astype(np.int32)
    weights = draw.weights(np.random.default_rng(seed), vertices * degree, weight_low, weight_high)
    offsets = np.arange(vertices + 1, dtype=np.int64) * degree
    return Graph(offsets, targets, weights, metadata={"directed": True})


def grid(width: int, height: int, weight_low: int, weight_high: int, seed: int) -> Graph:
    """The undirected grid: vertex y * width + x is joined to its neighbours left, right, above and below.

    Weights: uint32, uniform in weight_low .. weight_high, equal both ways. Coordinates: (x, y).
    """
    vertex = np.arange(width * height, dtype=np.int32).reshape(height, width)
    tails = np.concatenate([vertex[:, :-1].ravel(), vertex[:-1].ravel()])
    heads = np.concatenate([vertex[:, 1:].ravel(), vertex[1:].ravel()])
    weights = draw.weights(np.random.default_rng(seed), len(tails), weight_low, weight_high)
    y, x = np.divmod(vertex.ravel(), width)
    return Graph.from_arcs(
        width * height,
        np.concatenate([tails, heads]),
        np.concatenate([heads, tails]),
        np.concatenate([weights, weights]),
        coordinates=np.column_stack([x, y]).astype(np.float64),
        metadata={"directed": False},
    )
