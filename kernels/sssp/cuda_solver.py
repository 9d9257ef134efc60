"""What all GPU variants share: their device arrays, the last answer's certificate, predecessors, download."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pycuda.driver as driver

from saitan.blocks import Blockwise, check_given, chosen
from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.timing import Laps
from saitan.graph import Graph
from saitan.problem import Block, Checked
from saitan.sssp.cuda_graph import DeviceGraph
from saitan.sssp.cuda_validate import Certificate
from saitan.sssp.validate import CERTIFIED


class CudaSolver(Blockwise):
    """A GPU variant. A subclass allocates in self.buffers and sets self.source and self.distances in `run`.

    needed     bytes that it will allocate
    gated      whether the device begins once all of a query is queued (Laps), where the host reads nothing within it
    distances  a GPUArray [n], the last answer
    Raises Unavailable, before any upload, where these bytes are not free.
    """

    def __init__(self, graph: Graph, needed: int, *, gated: bool = False) -> None:
        self.graph = graph
        self.buffers = Buffers(needed, self._named("graph"))
        self.laps = Laps(gated=gated)
        self.source = -1
        self.distances, self._delivered = None, None

    def _named(self, what: str) -> str:
        graph = self.graph
        return f"{what} {graph.name} ({graph.n:,} vertices, {graph.m:,} arcs)"

    @property
    def memory(self) -> int:
        return self.buffers.nbytes

    @property
    def transfer(self) -> float:
        return self.buffers.upload_time

    def arcs(self) -> DeviceGraph:
        """The graph in CSR that the certificate reads: uploaded for it alone, unless the variant has it."""
        return DeviceGraph(self.graph, self._certificate_buffers)

    @cached_property
    def _certificate_buffers(self) -> Buffers:
        # Not the variant's own: neither its memory nor its transfer counts them.
        needed = DeviceGraph.forecast(self.graph) + Certificate.forecast(self.graph.n)
        return Buffers(needed, self._named("the certificate of graph"))

    @cached_property
    def certificate(self) -> Certificate:
        """Uploaded when first asked for. Raises Unavailable where it does not fit beside the variant."""
        return Certificate(self.graph, self.arcs(), self._certificate_buffers)

    def validate(self) -> Checked:
        """The certificate, on the device. Raises Invalid."""
        self.certificate.check(self.source, self.distances)
        self.certificate.tree(self.source, self.distances)
        check_given(self, CudaSolver, [Block("distances", 0, self.distances)])
        return CERTIFIED

    def deliver(self) -> None:
        """Copy the distances to the host, into page-locked memory that the next answer reuses."""
        if self._delivered is None or self._delivered.dtype != self.distances.dtype:
            self._delivered = driver.pagelocked_empty(self.graph.n, self.distances.dtype)
        driver.memcpy_dtoh(self._delivered, pointer(self.distances))

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        yield from chosen("distances", self._delivered, rows)

    def predecessors(self) -> np.ndarray:
        """int32 [n]: a shortest-path tree of the last answer."""
        before = self.certificate.tree(self.source, self.distances).get()
        before[self.source] = 0xFFFFFFFF
        return before.view(np.int32)

    def close(self) -> None:
        self.buffers.free()
        if "_certificate_buffers" in vars(self):
            self._certificate_buffers.free()
