"""A graph's arrays on the device, as phases.cu and validate.cu read them."""

from __future__ import annotations

import numpy as np

from saitan.cuda.buffers import Buffers, pointer
from saitan.graph import Graph

BLOCK = 256


def grid(threads: int) -> tuple[int, int]:
    """The grid of BLOCK-thread blocks that holds so many threads, at least one block; all blocks along x."""
    return max(1, -(-threads // BLOCK)), 1


class DeviceGraph:
    """A graph in CSR on the device; offsets are int32 where m fits that, otherwise int64."""

    def __init__(self, graph: Graph, buffers: Buffers) -> None:
        self.n = graph.n
        self.offsets = buffers.upload(graph.offsets.astype(self.offset_dtype(graph), copy=False))
        self.targets = buffers.upload(graph.targets)
        self.weights = buffers.upload(graph.weights)

    @staticmethod
    def offset_dtype(graph: Graph) -> np.dtype:
        return np.dtype(np.int32 if graph.m < 2**31 else np.int64)

    @classmethod
    def forecast(cls, graph: Graph) -> int:
        """Bytes of the three arrays."""
        return (graph.n + 1) * cls.offset_dtype(graph).itemsize + graph.m * 8

    def suffix(self, distances: np.dtype) -> str:
        """The end of a kernel's name for distances of a type, as types.cuh makes it."""
        return "_".join(np.dtype(t).str[1:] for t in (distances, self.weights.dtype, self.offsets.dtype))

    def arcs(self) -> tuple[int, int, int]:
        """The three device pointers."""
        return pointer(self.offsets), pointer(self.targets), pointer(self.weights)
