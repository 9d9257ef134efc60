"""What `fast` chooses: how far the bound between near and far vertices rises, and how sources lie on multiprocessors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from saitan.graph import Graph

# Times the mean weight over the mean degree. On random graphs of four arcs a vertex this is 0.7 of the largest weight,
# where 1.08 relaxations an arc were counted.
STEP = 5.6

# Entries of the queue: of 16 bits, at least LEAST, at most MOST; more gains nothing, the bitmaps keep the others.
LEAST, MOST = 512, 8192
# Bytes of fast.cu's own variables in shared memory, rounded up, and what the device keeps of it for every block.
OWN, KEPT = 128, 1024
# Threads of a block, and of all blocks of a multiprocessor; with 32 registers each they fit.
THREADS = 1024
RESIDENT_THREADS = 2048


def step(graph: Graph, dtype: np.dtype) -> np.generic:
    """How far the bound rises at a time, as a positive number of the distances' dtype."""
    if graph.m == 0:
        return np.dtype(dtype).type(1)
    wanted = STEP * graph.mean_weight * graph.n / graph.m
    if np.dtype(dtype).kind == "u":
        return np.dtype(dtype).type(np.clip(wanted, 1, np.iinfo(np.uint32).max))
    return np.dtype(dtype).type(min(wanted, float(np.finfo(np.float32).max)) if wanted > 0 else 1)


@dataclass(frozen=True)
class Layout:
    """How sources are laid on the multiprocessors.

    shared    bytes of shared memory a block
    capacity  entries of its queue
    threads   of a block
    blocks    blocks in all, each with one source at a time
    lanes     neighbouring threads that share a vertex
    packed    whether an arc's target and weight are 16 bits each
    """

    shared: int
    capacity: int
    threads: int
    blocks: int
    lanes: int
    packed: bool


def layout(graph: Graph, sources: int, dtype: np.dtype, block: int, whole: int, processors: int) -> Layout | None:
    """The layout for a graph; None where a block's memory does not hold the distances.

    block, whole: bytes of shared memory that a block may have, and that a multiprocessor has.
    """
    n = graph.n
    fixed = n * np.dtype(dtype).itemsize + 2 * 4 * -(-n // 32)
    capacity = min(n, MOST, (block - OWN - fixed) // 2)
    if capacity < min(n, LEAST):
        return None
    shared = fixed + 2 * capacity
    each = min(whole // (shared + OWN + KEPT), -(-sources // processors), RESIDENT_THREADS // 64)
    threads = min(THREADS, RESIDENT_THREADS // each // 32 * 32)
    degree = graph.m / n
    lanes = 4 if degree <= 8 else 8 if degree <= 24 else 32
    small = graph.weights.dtype == np.uint32 and (graph.m == 0 or graph.weights.max() < 2**16)
    packed = bool(n <= 2**16 and small and np.dtype(dtype) == np.uint32)
    return Layout(shared, capacity, threads, min(sources, each * processors), lanes, packed)
