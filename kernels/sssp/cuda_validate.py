"""The certificate of validate.py for an answer on the device: the host side of validate.cu."""

from __future__ import annotations

import numpy as np
import pycuda.driver as driver

from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.module import function
from saitan.graph import Graph
from saitan.problem import Invalid
from saitan.sssp.cuda_graph import BLOCK, DeviceGraph, grid
from saitan.sssp.validate import arc_message, tight_tree

WARP = 32
# A round on the device reads the whole graph. A tree that takes more of them is made by the host, which reads each
# vertex once.
MOST_ROUNDS = 64


class Certificate:
    """Conditions (1) to (3) of validate.py: no arc relaxes, and tight arcs make a tree rooted at the source."""

    def __init__(self, host: Graph, graph: DeviceGraph, buffers: Buffers) -> None:
        self.host, self.graph, self.n = host, graph, graph.n
        self.before, self.rooted = buffers.empty(self.n, np.uint32), buffers.empty(self.n, np.uint8)
        self.first, self.open = buffers.empty(1, np.uint64), buffers.empty(2, np.uint32)

    @staticmethod
    def forecast(n: int) -> int:
        """Bytes of the arrays."""
        return 5 * n + 16

    def _launch(self, name: str, arguments: str, threads: int, distances, *rest) -> None:
        kernel = function("sssp", "validate", f"{name}_{self.graph.suffix(distances.dtype)}", arguments)
        pointers = [pointer(a) if hasattr(a, "gpudata") else a for a in (distances, *rest)]
        arcs = self.graph.arcs() if len(arguments) - len(pointers) == 4 else ()
        kernel.prepared_async_call(grid(threads), (BLOCK, 1, 1), None, self.n, *arcs, *pointers)

    def check(self, source: int, distances) -> None:
        """Conditions (1) and (2) for a device array [n]. Raises Invalid."""
        at_source = np.empty(1, distances.dtype)
        driver.memcpy_dtoh(at_source, pointer(distances) + source * distances.dtype.itemsize)
        if at_source[0] != 0:
            raise Invalid(f"the source {source} is at distance {at_source[0]}, not 0")
        none = np.iinfo(np.uint64).max
        self.first.fill(none)
        self._launch("relaxable", "iPPPPP", WARP * self.n, distances, self.first)
        if (first := int(self.first.get()[0])) != none:
            raise Invalid(arc_message(self.host, first, distances.get()))

    def tree(self, source: int, distances):
        """Condition (3): the tree as a device array, uint32 [n], all ones where there is no vertex before.

        Raises Invalid.
        """
        self.before.fill(0xFFFFFFFF)
        self._launch("hang_from_nearer", "iPPPPP", WARP * self.n, distances, self.before)
        before_round = self.n + 1
        for _ in range(MOST_ROUNDS):
            self.open.set(np.array([0, 0xFFFFFFFF], np.uint32))
            self._launch("take_stock", "iPPiPP", self.n, distances, self.before, source, self.rooted, self.open)
            count, vertex = (int(x) for x in self.open.get())
            if count == 0:
                return self.before
            if count == before_round:
                distance = distances.get()[vertex]
                raise Invalid(f"vertex {vertex} (distance {distance}) has no tight path from the source {source}")
            before_round = count
            self._launch("hang_from_equal", "iPPPPPP", WARP * self.n, distances, self.rooted, self.before)
        self.before.set(tight_tree(self.host, source, distances.get()).view(np.uint32))
        return self.before
