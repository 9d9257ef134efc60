"""All-pairs shortest paths on non-negative weights: the matrix of distances from every source to every vertex.

    from saitan import apsp
    distances = apsp.solve(graph)                           # [n, n]
    distances = apsp.solve(graph, sources=range(100, 200))  # [100, n]
    centres = apsp.reductions(graph)["closeness"]           # [n], whatever the size of the matrix
    apsp.slabs(graph, sink)                                 # the matrix to a sink, some rows at a time
    apsp.compress(graph, "matrix.coded")                    # the matrix to a file, without loss, some 1/200 of its size
    distance = apsp.open("matrix.coded")[7, 100]            # also [7], [7:99]; needs no GPU

The variants of paper O (Okuyama, Ino, Hagihara: all-pairs shortest paths as batched SSSP), those for dense matrices,
and other people's solvers, on the CPU (Numba) and on a GPU (PyCUDA), behind the contract of kernels/problem.py. Of a
matrix in place of a graph `tropical.closure` and `tropical.floyd_warshall` are the calls.

Read variants.py (what there is), instances.py (what is asked), batches.py (the host's loop of paper O), cpu.py or
cuda.py with batched.cu and floyd_warshall.cu, then near_far.py with cpu_fast.py or cuda_fast.py and fast.cu (`fast`),
feedback.py with combine.cu (which rows follow from others), sweep.py with cpu_sweep.py or cuda_sweep.py and sweep.cu
(maps), rivals.py (which of them on a small graph), dense.py with cpu_dense.py or cuda_dense.py, diagonal.cu and
dense.cu (dense matrices, on the product of `tropical`), cuda_few_arcs.py with few_arcs.cu (the same by few arcs a row),
validate.py and references.py. streaming.py: slabs and reductions; coding.py, order.py, packing.py with packing.cu and
stored.py: the coded matrix of FORMAT.md. Closures of matrices and floats are checked by closure_check.py with
rounding.py. paths.py: `tropical.path`. peers.py: other people's solvers. NOTES.md: floors and measurements.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from saitan.apsp.references import differs, reference
from saitan.apsp.variants import FORMS, HEADLINE, INPUTS, INSTANCE, METRICS, OUTPUTS, TITLE, VARIANTS
from saitan.calls import checked_graph
from saitan.problem import Run, Sink, Solver, Unavailable, backend_for, check_parameters, known_variant
from saitan.ranks import current

if TYPE_CHECKING:
    import os

    from saitan.apsp.instances import Instance
    from saitan.apsp.stored import Matrix
    from saitan.graph import Graph

__all__ = [
    "FORMS",
    "HEADLINE",
    "INPUTS",
    "INSTANCE",
    "METRICS",
    "OUTPUTS",
    "TITLE",
    "VARIANTS",
    "compress",
    "differs",
    "instance",
    "open",
    "prepare",
    "queries",
    "reductions",
    "reference",
    "slabs",
    "solve",
]


def instance(inputs: Mapping[str, Any], **parameters: Any) -> Instance:
    """A graph or a matrix, or a random matrix, and how many leading vertices are sources; parameters as in INSTANCE.

    Raises ValueError for a parameter that is off, more sources than vertices, or a matrix that cannot be closed,
    Unavailable for a graph without weights or vertices.
    """
    from saitan.apsp.dense import checked_square, random_digraph
    from saitan.apsp.instances import Instance

    chosen = check_parameters("apsp", parameters, INSTANCE)
    sources, answer = chosen.pop("sources"), chosen.pop("answer")
    graph, matrix = inputs.get("graph"), inputs.get("matrix")
    if matrix is not None:
        matrix = checked_square(matrix)
    elif graph is None:
        matrix = random_digraph(**chosen)
    if inputs and (drawn := [name for name in parameters if name in chosen]):
        raise ValueError(f"{drawn[0]} is of a random matrix, and a {next(iter(inputs))} is given")
    if answer == "matrix" and (size := current().size) > 1:
        raise Unavailable(f"{size} ranks answer by slabs or reductions: name the instance's answer")
    name, n = (graph.name, graph.n) if matrix is None else ("the matrix", len(matrix))
    if sources > n:
        raise ValueError(f"sources must be at most {n:,}, the vertices of {name}, not {sources:,}")
    return Instance(graph, sources or n, matrix, answer)


def queries(instance: Instance, count: int, seed: int) -> list[list[int]]:
    """One question, however many are wanted: all sources as one range, [first source, number of sources]."""
    return [[0, instance.sources]]


def prepare(instance: Instance, variant: str, backend: str, **parameters: Any) -> Solver:
    """The Solver of a variant, uploaded.

    Raises ValueError for a variant or parameter that is unknown or off, Unavailable where it cannot run.
    """
    chosen = known_variant(VARIANTS, variant)
    if reason := chosen.unfit(backend, {"answer": instance.answer}, _known(instance.graph), inputs=instance.inputs):
        raise Unavailable(f"{variant} {reason}")
    make = partial(chosen.load(backend, variant), **check_parameters(variant, parameters, chosen.parameters))
    if instance.answer == "matrix":
        return make(instance)
    if instance.graph is None:
        raise Unavailable(f"a matrix answers `answer: matrix` only, not {instance.answer}")
    from saitan.apsp.streaming import Reductions, Slabs

    return {"slabs": Slabs, "reductions": Reductions}[instance.answer](instance, backend, make)


def _known(graph: Graph | None) -> dict[str, str]:
    """What a variant may refuse of a graph."""
    return {} if graph is None or graph.weights is None else {"weight": str(graph.weights.dtype)}


def solve(
    graph: Graph, sources: range | None = None, variant: str = "fast", backend: str = "auto", **parameters: Any
) -> np.ndarray:
    """Distances from a range of sources (all, if None) to every vertex, as a NumPy array [sources, n].

    They have the weights' dtype (64 bits wide where 32 overflowed); the dtype's maximum or infinity stands where a
    source does not lead. Raises ValueError for an unknown variant or backend and for sources that are no neighbouring
    vertices, Unavailable where the variant cannot run here.
    """
    with _solver(graph, sources, "matrix", variant, backend, parameters) as (solver, query, _):
        solver.run(query)
        return solver.answer()["distances"]


def slabs(
    graph: Graph,
    sink: Sink,
    sources: range | None = None,
    variant: str = "fast",
    backend: str = "auto",
    **parameters: Any,
) -> Run:
    """The same distances, when all of them do not fit memory: handed to a sink (saitan.blocks) some rows at a time.

    The sink gets blocks whose arrays are NumPy's, rows in order, and must not keep them. `Digest()` of saitan.blocks is
    such a sink. Raises as `solve` does.
    """
    with _solver(graph, sources, "slabs", variant, backend, parameters) as (solver, query, backend):
        if backend == "cpu":
            return solver.run(query, sink)
        from saitan.cuda.ring import HostRing

        with HostRing(sink) as ring:
            return solver.run(query, ring)


def reductions(
    graph: Graph, sources: range | None = None, variant: str = "fast", backend: str = "auto", **parameters: Any
) -> dict[str, np.ndarray]:
    """A few numbers of every source, whatever the size of the matrix: eccentricity, reached, total, closeness.

    Each an array [sources], as in OUTPUTS. Raises as `solve` does.
    """
    with _solver(graph, sources, "reductions", variant, backend, parameters) as (solver, query, _):
        solver.run(query)
        return solver.answer()


def compress(
    graph: Graph,
    path: str | os.PathLike[str],
    variant: str = "fast",
    backend: str = "auto",
    check: bool = True,
    **parameters: Any,
) -> dict[str, float]:
    """The whole matrix into a file of a few bytes a hundred entries, without loss (FORMAT.md); `open` reads it.

    check: certify every slab of distances, and decode all that is coded and compare it. The file gets its name when it
    is complete; where it cannot be written, nothing is left behind. Returns what it took: kernel_s and coding_s (on the
    device), total_s, entries, bytes, ratio. Raises OSError, Invalid where the check fails, and otherwise as `solve`
    does.
    """
    from saitan.apsp.coding import write_coded

    chosen = known_variant(VARIANTS, variant)
    backend = backend_for(chosen, backend)
    if reason := chosen.unfit(backend, {"answer": "slabs"}, _known(checked_graph(graph))):
        raise Unavailable(f"{variant} {reason}")
    make = partial(chosen.load(backend, variant), **check_parameters(variant, parameters, chosen.parameters))
    return write_coded(graph, path, make, backend, check)


def open(path: str | os.PathLike[str]) -> Matrix:
    """A matrix that `compress` wrote: its [s, t], [s] and [s0:s1] are NumPy's, read without the rest of the file.

    Raises ValueError for a file that is none, Invalid, here or when it is read, for what is corrupt.
    """
    from saitan.apsp.stored import Matrix

    return Matrix(path)


def _said(value: Any) -> str:
    """In one line: of other libraries' arrays their type."""
    return str(value) if isinstance(value, range | list | int | str | slice) else type(value).__name__


@contextmanager
def _solver(graph, sources, answer, variant, backend, parameters):
    """A solver, the query for a range of sources, and the backend."""
    from saitan.apsp.instances import Instance

    backend = backend_for(known_variant(VARIANTS, variant), backend)
    chosen = range(checked_graph(graph).n) if sources is None else sources
    if not isinstance(chosen, range) or chosen.step != 1 or not 0 <= chosen.start < chosen.stop <= graph.n:
        raise ValueError(f"sources must be a range of step 1 within [0, {graph.n:,}), not {_said(chosen)}")
    solver = prepare(Instance(graph, len(chosen), answer=answer), variant, backend, **parameters)
    try:
        yield solver, [chosen.start, len(chosen)], backend
    finally:
        solver.close()
