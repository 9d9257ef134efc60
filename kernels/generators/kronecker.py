"""The Kronecker graphs of Graph500 (specification, section 3.3), labels scrambled as its reference code does."""

from __future__ import annotations

import numpy as np
from numba import prange

from saitan.compiled import njit
from saitan.generators import draw
from saitan.graph import Graph

A, B, C = 0.57, 0.19, 0.19

# Thresholds of the two 32-bit draws a level: first the row's bit, then the column's, given the row's.
_ROW = np.uint64(round((A + B) * 2**32))
_COLUMN_ROW0 = np.uint64(round(A / (A + B) * 2**32))
_COLUMN_ROW1 = np.uint64(round(C / (1 - A - B) * 2**32))
_LOW = np.uint64(2**32 - 1)

_mix = njit(draw.mix)


def kronecker(
    scale: int, seed: int, edge_factor: int = 16, weight_low: int | None = None, weight_high: int | None = None
) -> Graph:
    """2**scale vertices and edge_factor * 2**scale undirected edges, each as two arcs.

    Self-loops (two equal arcs) and parallel edges are kept, as the benchmark's edge list has them. Weights: uint32,
    uniform in weight_low .. weight_high, equal both ways; none when neither is given. Every edge is a function of the
    seed and its number, whatever the number of threads.
    """
    edges = edge_factor << scale
    sources, targets = ends(scale, seed, edge_factor, 0, edges)
    weights = None
    if weight_low is not None:
        weights = np.empty(2 * edges, np.uint32)
        _fill_weights(weights, draw.key(seed, 3), np.uint64(weight_low), np.uint64(weight_high - weight_low + 1))
    return Graph.from_arcs(1 << scale, sources, targets, weights, metadata={"directed": False})


def ends(scale: int, seed: int, edge_factor: int, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Tails and heads, int32 [2 (last - first)], of edges first .. last - 1: each one way, then each the other way."""
    if not 0 <= first <= last <= edge_factor << scale:
        raise ValueError(f"edges {first:,} to {last:,} are not among {edge_factor << scale:,}")
    sources, targets = np.empty(2 * (last - first), np.int32), np.empty(2 * (last - first), np.int32)
    _fill_ends(sources, targets, scale, first, *(draw.key(seed, stream) for stream in range(3)))
    return sources, targets


@njit
def _reversed_bits(v):
    v = ((v >> np.uint64(1)) & np.uint64(0x5555555555555555)) | ((v & np.uint64(0x5555555555555555)) << np.uint64(1))
    v = ((v >> np.uint64(2)) & np.uint64(0x3333333333333333)) | ((v & np.uint64(0x3333333333333333)) << np.uint64(2))
    v = ((v >> np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)) | ((v & np.uint64(0x0F0F0F0F0F0F0F0F)) << np.uint64(4))
    v = ((v >> np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)) | ((v & np.uint64(0x00FF00FF00FF00FF)) << np.uint64(8))
    v = ((v >> np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)) | ((v & np.uint64(0x0000FFFF0000FFFF)) << np.uint64(16))
    return (v >> np.uint64(32)) | (v << np.uint64(32))


@njit
def _scrambled(v, scale, first, second):
    """A bijection of [0, 2**scale): odd multiplications and reversals of the bits, as Graph500's `scramble`."""
    shift = np.uint64(64 - scale)
    v = (v + first + second) * (first | np.uint64(0x4519840211493211))
    v = _reversed_bits(v) >> shift
    v = v * (second | np.uint64(0x3050852102C843A5))
    return _reversed_bits(v) >> shift


@njit(parallel=True)
def _fill_ends(sources, targets, scale, begin, edge_key, first, second):
    edges = len(sources) // 2
    for edge in prange(edges):
        state = _mix(edge_key + np.uint64(begin + edge))
        u, v = np.uint64(0), np.uint64(0)
        for level in range(scale):
            drawn = _mix(state + np.uint64(level + 1) * np.uint64(0x9E3779B97F4A7C15))
            row = np.uint64((drawn >> np.uint64(32)) >= _ROW)
            threshold = _COLUMN_ROW1 if row else _COLUMN_ROW0
            column = np.uint64((drawn & _LOW) >= threshold)
            u, v = (u << np.uint64(1)) | row, (v << np.uint64(1)) | column
        u, v = _scrambled(u, scale, first, second), _scrambled(v, scale, first, second)
        sources[edge] = targets[edges + edge] = np.int32(u)
        targets[edge] = sources[edges + edge] = np.int32(v)


@njit(parallel=True)
def _fill_weights(weights, weight_key, low, span):
    edges = len(weights) // 2
    for edge in prange(edges):
        drawn = _mix(_mix(weight_key + np.uint64(edge))) >> np.uint64(32)
        weights[edge] = weights[edges + edge] = np.uint32(low + ((drawn * span) >> np.uint64(32)))
