"""`fast` on a graph of real weights without its chains: host side of walks.cu."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.constants import constants
from saitan.cuda.module import function
from saitan.graph import Graph
from saitan.sssp.cuda_chains import OverCore
from saitan.sssp.cuda_graph import BLOCK, grid
from saitan.sssp.cuda_resident import Resident
from saitan.sssp.walks import Walks

WARP, WARPS = 32, constants("sssp", "walks.cu")["WARPS"]

# Structs of walks.cu.
WALKS = "PPPPPPQ"
WAY = np.dtype([(name, np.uint32) for name in ("seeds", "list", "ended")])


class Walked(OverCore):
    """The core of a graph of real weights, and the walks that lead from it to all vertices.

    delta: as of Resident.
    """

    def __init__(self, graph: Graph, walks: Walks, buffers: Buffers, *, delta: float | None = None) -> None:
        core = Resident(walks.core, buffers, delta=delta, walks=walks)
        arrays = (walks.paths, walks.vertices, walks.path, walks.slot, walks.number)
        self._arrays = [core.links[1], *map(buffers.upload, arrays)]
        self._kept = buffers.upload(walks.kept)
        self._slots, self._ranges = len(walks.vertices), [int(first) for first in walks.ranges]
        super().__init__(graph, core, buffers, WAY)

    @staticmethod
    def forecast(graph: Graph, walks: Walks) -> int:
        """Bytes of the arrays with distances of 32 bits."""
        return Resident.forecast(walks.core) + 4 * graph.n + sum(array.nbytes for array in walks[2:])

    def _kernels(self, suffix: str) -> None:
        self._unreached = function("sssp", "walks", f"unreached_{suffix}", "IP")
        self._enter = function("sssp", "walks", f"enter_{suffix}", f"{WALKS}iPPPP")
        self._settle = function("sssp", "walks", f"settle_{suffix}", "IPPP")
        self._join = function("sssp", "walks", f"join_{suffix}", f"{WALKS}IPP")
        self._descend = function("sssp", "walks", f"descend_{suffix}", f"{WALKS}IIPP")

    @property
    def _walks(self) -> tuple[int, ...]:
        return *map(pointer, self._arrays), self._slots

    def _enter_core(self, source: int) -> None:
        n, distances = self.graph.n, pointer(self.distances)
        self._unreached.prepared_async_call(grid(n), (BLOCK, 1, 1), None, n, distances)
        self._enter.prepared_async_call(
            (1, 1), (2 * WARP, 1, 1), None,
            *self._walks, source, pointer(self.core.answers), distances, pointer(self._seeds), pointer(self._way),
        )  # fmt: skip

    def _leave_core(self, source: int) -> None:
        k, distances = self.core.graph.n, pointer(self.distances)
        self._settle.prepared_async_call(
            grid(k), (BLOCK, 1, 1), None, k, pointer(self._kept), pointer(self.core.answers), distances
        )
        chains, *trees = pairwise(self._ranges)
        if chains[1]:
            self._join.prepared_async_call(
                (chains[1], 1), (2 * WARP, 1, 1), None, *self._walks, chains[1], distances, pointer(self._way)
            )
        for first, last in trees:
            if first < last:
                self._descend.prepared_async_call(
                    (-(-(last - first) // WARPS), 1), (WARP * WARPS, 1, 1), None,
                    *self._walks, first, last, distances, pointer(self._way),
                )  # fmt: skip
