"""What `fast` chooses: how far the bound between near and far vertices rises, and how sources lie on the device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from saitan.graph import Graph

# Times the mean weight over the mean degree. On random graphs of four arcs a vertex this is 0.7 of the largest weight,
# where 1.08 relaxations an arc were counted.
STEP = 5.6

# Entries of the queue, of 16 bits: at least LEAST, at most MOST; more gains nothing, the bitmaps keep the others.
LEAST, MOST = 512, 8192
# Bytes of fast.cu's own variables in shared memory, rounded up, and what the device keeps of it for every block.
OWN, KEPT = 128, 1024
# Threads of a block, and of all blocks of a multiprocessor; with 32 registers each they fit.
THREADS = 1024
RESIDENT_THREADS = 2048
# Arcs of a vertex that two lanes go through before more of them pay.
LONG = 64
# Blocks a multiprocessor from which more of them, with fewer threads each, gain nothing.
EACH = 8


def step(graph: Graph, dtype: np.dtype) -> np.generic:
    """How far the bound rises at a time, as a positive number of the distances' dtype."""
    if graph.m == 0:
        return np.dtype(dtype).type(1)
    wanted = STEP * graph.mean_weight * graph.n / graph.m
    if np.dtype(dtype).kind == "u":
        return np.dtype(dtype).type(min(max(wanted, 1), np.iinfo(np.uint32).max))
    return np.dtype(dtype).type(min(wanted, float(np.finfo(np.float32).max)) if wanted > 0 else 1)


@dataclass(frozen=True)
class Layout:
    """How sources are laid on the multiprocessors.

    shared    bytes of shared memory a block
    capacity  entries of its queue
    threads   of a block
    blocks    blocks in all, each with one source at a time
    lanes     neighbouring threads that share a vertex
    arcs      "arcs": target and weight in 32 bits each; "packed": in 16 bits each; "fours": packed, rows filled up to
              multiples of four, so that 16-bit offsets of the rows lie in shared memory too
    """

    shared: int
    capacity: int
    threads: int
    blocks: int
    lanes: int
    arcs: str


def layout(graph: Graph, sources: int, dtype: np.dtype, block: int, whole: int, processors: int) -> Layout | None:
    """The layout for a graph; None where a block's memory does not hold the distances.

    block, whole: bytes of shared memory that a block may have, and that a multiprocessor has.
    """
    n, degree = graph.n, graph.m / graph.n
    small = graph.weights.dtype == np.uint32 and (graph.m == 0 or graph.weights.max() < 2**16)
    packed = bool(n <= 2**16 and small and np.dtype(dtype) == np.uint32)
    long_rows = int(graph.degrees.max()) > LONG
    lanes = 32 if degree > 24 else 8 if degree > 8 or long_rows else 4
    row = row_bytes(n, dtype)
    fours = packed and lanes == 4 and int(fours_of(graph).sum()) < 2**16
    for arcs, fixed in (("fours", row + 2 * (n + 1)), ("packed" if packed else "arcs", row)):
        if arcs == "fours" and not fours:
            continue
        if made := placed(n, fixed, sources, block, whole, processors, 2 if arcs == "fours" else lanes, arcs):
            return made
    return None


def row_bytes(n: int, dtype: np.dtype) -> int:
    """Bytes of shared memory that the distances from a source and its two bitmaps take."""
    return n * np.dtype(dtype).itemsize + 2 * 4 * -(-n // 32)


def placed(
    n: int, fixed: int, sources: int, block: int, whole: int, processors: int, lanes: int, arcs: str
) -> Layout | None:
    """The layout of blocks with so many fixed bytes; None where there is no room for a queue too."""
    if block - OWN - fixed < 2 * min(n, LEAST):
        return None
    # As many blocks as fit with a queue of the least length; then the queue takes what is left.
    each = whole // (fixed + 2 * min(n, LEAST) + OWN + KEPT)
    each = min(each, -(-sources // processors), EACH)
    capacity = min(n, MOST, (min(block, whole // each - KEPT) - OWN - fixed) // 2)
    threads = min(THREADS, RESIDENT_THREADS // each // 32 * 32)
    return Layout(fixed + 2 * capacity, capacity, threads, min(sources, each * processors), lanes, arcs)


def fours_of(graph: Graph) -> np.ndarray:
    """How many fours of arcs each vertex takes, int64 [n]."""
    return -(-graph.degrees // 4)


def arcs_in_fours(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Offsets in fours of arcs, uint16 [n + 1], and arcs as `packed_arcs` has them, rows filled by loops of 0."""
    offsets = np.concatenate([[0], np.cumsum(fours_of(graph))])
    arcs = np.repeat(np.arange(graph.n, dtype=np.uint32) << np.uint32(16), 4 * fours_of(graph))
    places = np.arange(graph.m) + np.repeat(4 * offsets[:-1] - graph.offsets[:-1], graph.degrees)
    arcs[places] = packed_arcs(graph)
    return offsets.astype(np.uint16), arcs


def packed_arcs(graph: Graph) -> np.ndarray:
    """Arcs of 32 bits, uint32 [m], the target above the weight."""
    return graph.targets.view(np.uint32) << np.uint32(16) | graph.weights
