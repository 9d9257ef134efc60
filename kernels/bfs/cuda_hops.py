"""Levels as shortest paths whose arcs all have length 1, by sssp's solvers on the GPU; parents follow (tree.cu).

On roads a level is a chain of latencies. sssp's persistent kernel makes several hops between two exchanges of its
blocks, each a barrier of one block; a distance that another block's hop would have made smaller is corrected later.
"""

from __future__ import annotations

import numpy as np
import pycuda.driver as driver

from saitan.bfs.cuda_step import BLOCK, Rows
from saitan.bfs.hops import in_hops
from saitan.cuda import device
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.module import function
from saitan.cuda.timing import Laps
from saitan.graph import Graph
from saitan.sssp.cuda_resident import Resident

# All arcs have length 1, so that nothing is gained by leaving entries for later: no vertex is beyond this bound.
NO_BOUND = 2.0**31


class Tree:
    """Queues the kernel that derives parents, int32 [n] on the device, from levels; rows: the arcs into a vertex."""

    def __init__(self, rows: Rows, buffers: Buffers) -> None:
        self.rows = rows
        self.parents = buffers.empty(rows.n, np.int32)
        self._hang = function("bfs", "tree", f"hang_{rows.suffix}", "IIPPPP").prepared_async_call
        self._arcs = (pointer(rows.offsets), pointer(rows.ends))
        processors = device().get_attribute(driver.device_attribute.MULTIPROCESSOR_COUNT)
        self._grid = (min(8 * processors, -(-rows.n // BLOCK)), 1)

    def hang(self, root: int, levels: int) -> None:
        """levels: address of int32 [n]."""
        there = (levels, pointer(self.parents))
        self._hang(self._grid, (BLOCK, 1, 1), None, self.rows.n, root, *self._arcs, *there)


class _Resident(Resident):
    """What follows the query within its time is `after`."""

    after = staticmethod(lambda: None)

    def _finish(self) -> None:
        self.after()


class Hops:
    """A search by sssp's persistent kernel. rows: the arcs into every vertex.

    Latencies bound it, so that there is no work to hold against a rate.
    """

    def __init__(self, graph: Graph, rows: Rows, buffers: Buffers) -> None:
        self.work: dict[str, float] = {}
        self._resident, self._tree = _Resident(in_hops(graph), buffers, delta=NO_BOUND), Tree(rows, buffers)

    @staticmethod
    def forecast(graph: Graph) -> int:
        """Bytes of the arrays."""
        return Resident.forecast(graph) + 4 * graph.n

    @property
    def levels(self):
        """Of the last answer; a distance that is the type's maximum is -1 as a level."""
        return self._resident.distances.view(np.int32)

    @property
    def parents(self):
        return self._tree.parents

    def run(self, root: int, laps: Laps) -> tuple[float, dict[str, float], dict[str, np.ndarray]]:
        """Answer one root; returns seconds, counters and no phases."""
        self._resident.after = lambda: self._tree.hang(root, pointer(self._resident.distances))
        seconds, counters, _ = self._resident.run(root, laps)
        return seconds, {"inspected": counters["relaxations"], "search_s": seconds}, {}
