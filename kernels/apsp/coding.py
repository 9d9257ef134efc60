"""A whole matrix of distances into a coded file: slabs from a solver, coded where they lie, written as they come.

The solver answers the graph with its vertices numbered by the order of order.py, so that a slab holds a group of rows,
and its columns lie as the file has them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np

from saitan.apsp import compress, packing
from saitan.apsp.instances import Instance
from saitan.apsp.order import GROUP, WIDTH, Order, order_of, relabelled
from saitan.apsp.stored import writing
from saitan.apsp.streaming import Slabs, slab_rows
from saitan.graph import Graph
from saitan.problem import Block, Invalid, Unavailable
from saitan.ranks import current
from saitan.solver import prepared, typed
from saitan.sssp.ending import answer_types
from saitan.untouched import untouched


def write_coded(
    graph: Graph,
    path: str | os.PathLike[str],
    make: Callable[[Instance], Any],
    variant: str,
    backend: str,
    check: bool,
    group: int = GROUP,
    width: int = WIDTH,
) -> dict[str, float]:
    """Write the file. make, variant: the solver of an instance, and its name.

    check: certify every slab, and decode every group again and compare it with its slab

    Returns what it took: kernel_s (of the distances), coding_s, total_s, entries, bytes, ratio. In the first call of a
    process the seconds hold what Numba compiles for the CPU. Raises Invalid where the check fails or the solver writes
    into its graph, OSError where the file cannot be written; then nothing is left behind.
    """
    if current().size > 1:
        raise Unavailable("a coded matrix is written by one rank")
    begin = time.perf_counter()
    order = order_of(graph, group, width)
    instance = Instance(relabelled(graph, order), graph.n, answer="slabs")
    with ExitStack() as held:
        look = held.enter_context(untouched(instance, variant))
        rows = min(graph.n, max(group, slab_rows(instance, backend) // group * group))
        made = prepared(Slabs, instance.range_of, instance, backend=backend, make=make, rows=rows)
        solver = held.enter_context(closing(typed(made, distances=answer_types(instance.dtype))))
        coder = _coder(order, width, backend)
        held.callback(coder.free)
        everything = [0, graph.n]
        dtype, certify = solver.settle(everything), solver.checker(everything)
        about = {"graph": graph.name, "arcs": graph.m, "checked": check}
        with writing(path, order, group, width, dtype, about) as writer:

            def sink(block: Block) -> None:
                if check:
                    certify(block)
                words, sizes = coder.code(block.array, block.first)
                if check and (wrong := coder.differs(block.array, block.first)):
                    raise Invalid(f"row {block.first + wrong[0]:,}, block {wrong[1]}: not the distances when decoded")
                writer.append(words, sizes)

            run = solver.run(everything, sink)
            if check:
                certify.finish()
            look()
        size = Path(path).stat().st_size
    entries = graph.n**2
    total = time.perf_counter() - begin
    return {"kernel_s": run.kernel, "coding_s": coder.seconds, "total_s": total, "entries": entries, "bytes": size} | {
        "ratio": entries * dtype.itemsize / size
    }


def keep(instance: Instance, variant: str, backend: str, path: Path, query: Any, **parameters: Any) -> None:
    """Of saitan.problem's Form: an instance's matrix in a coded file, every entry checked. The query is of all rows."""
    if instance.graph is None:
        raise ValueError("a coded matrix is that of a graph: name graphs, no arrays")
    if instance.sources != instance.n:
        raise ValueError(f"a coded matrix has a row for each of {instance.n:,} vertices: leave `sources` out")
    if instance.answer == "reductions":
        raise ValueError("a coded matrix has distances: give the instance `answer: slabs`")
    compress(instance.graph, path, variant, backend, **parameters)


def _coder(order: Order, width: int, backend: str) -> Any:
    if backend == "cuda":
        from saitan.apsp.cuda_packing import DeviceCoder

        return DeviceCoder(order, width)
    return HostCoder(order, width)


class HostCoder:
    """Codes slabs of the host. seconds: that coding took so far."""

    def __init__(self, order: Order, width: int) -> None:
        self._order, self._width, self.seconds = order, width, 0.0

    def code(self, slab: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray]:
        """The records of a slab's rows, uint32, and the words of each."""
        begin = time.perf_counter()
        order, bits = self._order, slab.view(f"u{slab.itemsize}")
        shape = len(slab), -(-slab.shape[1] // self._width)
        headers, words = (np.empty(shape, np.uint32) for _ in range(2))
        what = bits, order.rows, first, order.columns, self._width, slab.itemsize == 4
        packing.measure(*what, headers, words)
        sizes = words.sum(axis=1, dtype=np.int64) + 2 * shape[1]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        out = np.empty(starts[-1], np.uint32)
        packing.write(*what, headers, words, starts[:-1], out)
        self._coded = out, starts
        self.seconds += time.perf_counter() - begin
        return out, sizes

    def free(self) -> None:
        """Nothing outside Python's memory is held."""

    def differs(self, slab: np.ndarray, first: int) -> tuple[int, int] | None:
        """Row and block of the slab coded last that do not come back as they are; None where all do."""
        (out, local), n = self._coded, slab.shape[1]
        starts = np.zeros(len(self._order.rows) + 1, np.uint64)
        starts[first : first + len(slab) + 1] = local
        back = np.full_like(slab.view(f"u{slab.itemsize}"), 77)
        corrupt = np.empty((-(-n // self._width), 2), np.int64)
        packing.decode_group(out, starts, self._order.rows, self._order.ends, self._width, first, back, corrupt)
        wrong = np.argwhere(back != slab.view(back.dtype))
        if len(wrong):
            return int(wrong[0][0]), int(wrong[0][1]) // self._width
        return None
