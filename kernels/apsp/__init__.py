"""All-pairs shortest paths on non-negative weights: the matrix of distances from every source to every vertex.

    from saitan import apsp
    distances = apsp.solve(graph)                           # [n, n]
    distances = apsp.solve(graph, sources=range(100, 200))  # [100, n]
    centres = apsp.reductions(graph)["closeness"]           # [n], whatever the size of the matrix
    apsp.slabs(graph, sink)                                 # the matrix to a sink, some rows at a time
    apsp.compress(graph, "matrix.coded")                    # the matrix to a file, without loss
    distance = apsp.open("matrix.coded")[7, 100]            # also [7], [7:99]; needs no GPU

The variants of paper O (Okuyama, Ino, Hagihara: all-pairs shortest paths as batched SSSP), those for dense matrices,
and other people's solvers, on the CPU (Numba) and on a GPU (PyCUDA), behind the contract of kernels/problem.py. Of a
matrix in place of a graph `tropical.closure` and `tropical.floyd_warshall` are the calls.

Read the files in this order:

    variants.py      inputs, outputs, parameters, variants and metrics
    instances.py     what is asked: a range of sources, in a graph or of a matrix
    batches.py       paper O: the loop on the host; cpu.py and cuda.py, batched.cu and floyd_warshall.cu run it
    validate.py      the certificate of a row; cuda_validate.py, validate.cu for the device; references.py
    near_far.py      `fast`, a source a block: cpu_fast.py; cuda_fast.py with fast.cu
    feedback.py      which rows follow from others, by combine.cu; rivals.py: the quickest solver of a small graph
    sweep.py         maps, by a contraction hierarchy of sssp: cpu_sweep.py; cuda_sweep.py with sweep.cu
    dense.py         dense matrices, by the product of tropical: cpu_dense.py; cuda_dense.py with diagonal.cu, dense.cu;
                     by few arcs a row cuda_few_arcs.py with few_arcs.cu; closure_check.py and rounding.py check them;
                     paths.py is `tropical.path`
    streaming.py     slabs and reductions, for matrices larger than memory; cuda_reduce.py with reduce.cu
    coding.py        the coded matrix of FORMAT.md: order.py, packing.py, cuda_packing.py with packing.cu, stored.py
    peers.py         other people's solvers
    NOTES.md         what bounds each variant, measurements, what did not help
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from saitan.apsp.references import differs, reference
from saitan.apsp.variants import FORMS, HEADLINE, INPUTS, INSTANCE, METRICS, OUTPUTS, TITLE, VARIANTS
from saitan.blocks import check_output
from saitan.calls import (
    checked_flag,
    checked_function,
    checked_graph,
    checked_inputs,
    described,
    weighted_graph,
)
from saitan.graph_input import shortened
from saitan.named import check_takes
from saitan.problem import Run, Sink, Solver, Unavailable, Variant, backend_for, check_parameters, known_variant
from saitan.ranks import current
from saitan.solver import prepared, typed

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
    "check_instance",
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


def check_instance(data: str, /, **parameters: Any) -> dict[str, Any]:
    """All parameters of what is asked. Raises ValueError, as problem.py says."""
    chosen = check_parameters("apsp", parameters, INSTANCE, data)
    if data == "generated" and (reason := _too_many(chosen["sources"], chosen["n"], "the matrix")):
        raise ValueError(reason)
    return chosen


def _too_many(sources: int, n: int, name: str) -> str | None:
    return f"sources must be at most {n:,}, the vertices of {name}, not {sources:,}" if sources > n else None


def instance(inputs: Mapping[str, Any], **parameters: Any) -> Instance:
    """A graph or a matrix, or a random matrix, and how many leading vertices are sources; parameters as in INSTANCE.

    Raises ValueError for an input or parameter that is off; Unavailable for a matrix that cannot be closed, more
    sources than the input's vertices, a graph without weights or vertices, or where memory does not hold the matrix.
    """
    from saitan.apsp.dense import checked_square, random_digraph
    from saitan.apsp.instances import Instance

    checked_inputs("apsp", inputs, INPUTS)
    chosen = check_instance("given" if inputs else "generated", **parameters)
    sources, answer = chosen.pop("sources"), chosen.pop("answer")
    graph, matrix = inputs.get("graph"), inputs.get("matrix")
    if matrix is not None:
        try:
            matrix = checked_square(matrix)
        except ValueError as error:
            raise Unavailable(str(error)) from None
    elif graph is None:
        matrix = random_digraph(**chosen)
    if answer == "matrix" and (size := current().size) > 1:
        raise Unavailable(f"{size} ranks answer by slabs or reductions: name the instance's answer")
    name, n = (graph.name, graph.n) if matrix is None else ("the matrix", len(matrix))
    if reason := _too_many(sources, n, name):
        raise Unavailable(reason)
    return Instance(graph, sources or n, matrix, answer)


def queries(instance: Instance, count: int, seed: int) -> list[list[int]]:
    """One question, however many are wanted: all sources as one range, [first source, number of sources].

    Raises ValueError for what `instance` did not make.
    """
    from saitan.apsp.instances import made

    return [[0, made(instance).sources]]


def prepare(instance: Instance, variant: str, backend: str, **parameters: Any) -> Solver:
    """The Solver of a variant on "cpu" or "cuda", with what it needs on the device.

    A query is [first source, number of sources]. The solver answers for the graph or matrix as it is now: after a write
    into its arrays another one is wanted. Raises ValueError for what `instance` did not make, a backend other
    than these two, and a variant or parameter that is unknown or off; Unavailable where it cannot run here or not on
    this instance.
    """
    from saitan.apsp.instances import made
    from saitan.sssp.ending import answer_types

    chosen, instance = known_variant(VARIANTS, variant), made(instance)
    if reason := chosen.unfit(backend, {"answer": instance.answer}, _known(instance.graph), inputs=instance.inputs):
        raise Unavailable(f"{variant} {reason}")
    solver, given = chosen.load(backend, variant), check_parameters(variant, parameters, chosen.parameters)
    if instance.graph is not None:
        instance = replace(instance, graph=checked_graph(instance.graph))
    if instance.graph is None and instance.answer != "matrix":
        raise Unavailable(f"a matrix answers `answer: matrix` only, not {instance.answer}")
    types = (instance.dtype,) if instance.graph is None else answer_types(instance.dtype)
    if instance.answer == "matrix":
        return typed(prepared(solver, instance.range_of, instance, **given), distances=types)
    from saitan.apsp.streaming import Reductions, Slabs

    # It makes the solver of a slab; `prepared` looks at the class below, which makes that of the whole answer.
    check_takes(solver, ["instance"], given)
    streaming = {"slabs": Slabs, "reductions": Reductions}[instance.answer]
    streamed = prepared(streaming, instance.range_of, instance, backend=backend, make=partial(solver, **given))
    return typed(streamed, distances=types, eccentricity=types)


def _known(graph: Graph | None) -> dict[str, str]:
    """What a variant may refuse of a graph."""
    return {} if graph is None or graph.weights is None else {"weight": str(graph.weights.dtype)}


@described(VARIANTS)
def solve(
    graph: Graph, sources: range | None = None, variant: str = "fast", backend: str = "auto", **parameters: Any
) -> np.ndarray:
    """Distances from many sources to every vertex, as a NumPy array [sources, n].

    graph       with weights, uint32 or float32 (Graph.from_arcs, Graph.from_scipy, saitan.read_graph)
    sources     a range of step 1 of vertex numbers in [0, graph.n), not empty; None for all
    variant     a name of those below
    backend     "cpu", "cuda", or "auto": the GPU where there is one and the variant has it
    parameters  of the variant, below

    Distances have the weights' dtype, or uint64 or float64 where one of them does not fit; where there is no path they
    are the dtype's maximum or infinity.
    Raises ValueError for what is no graph, sources that are no such range, an unknown variant or backend, and a
    parameter that is off; Unavailable where the variant cannot run here, memory has no room for the answer, or the
    graph has no weights or no vertices.
    """
    from saitan.sssp.ending import narrowed

    with _solver(graph, sources, "matrix", variant, backend, parameters) as (solver, query, _):
        solver.run(query)
        distances = solver.answer().get("distances")
        check_output("distances", distances, (query[1], graph.n))
    if distances.dtype == np.float64:
        from saitan.sssp.float_sums import rows_added_again

        return rows_added_again(graph, query[0], distances)
    return narrowed(distances, graph.weights.dtype)


def _answering(answer: str) -> dict[str, Variant]:
    """The variants that give such an answer, by name."""
    return {name: variant for name, variant in VARIANTS.items() if answer in variant.instance.get("answer", (answer,))}


@described(_answering("slabs"))
def slabs(
    graph: Graph,
    sink: Sink,
    sources: range | None = None,
    variant: str = "fast",
    backend: str = "auto",
    **parameters: Any,
) -> Run:
    """The distances of `solve`, where they do not fit memory: given to a sink some rows at a time.

    sink: called with one Block (saitan.blocks) after another: the name "distances", the number of its first row,
    counted from the first source, and a NumPy array [rows, n], whose memory is reused when the call returns. `Digest()`
    of saitan.blocks is such a sink. All slabs have one type, of 64 bits also where only a sum on the way did not fit.
    Returns times and counts. Raises as `solve` does.
    """
    checked_function("sink", sink)
    with _solver(graph, sources, "slabs", variant, backend, parameters) as (solver, query, backend):
        if backend == "cpu":
            return solver.run(query, sink)
        from saitan.cuda.ring import HostRing

        with HostRing(sink) as ring:
            return solver.run(query, ring)


@described(_answering("reductions"))
def reductions(
    graph: Graph, sources: range | None = None, variant: str = "fast", backend: str = "auto", **parameters: Any
) -> dict[str, np.ndarray]:
    """A few numbers of every source, whatever the size of the matrix: name -> NumPy array [sources].

    eccentricity  the largest distance to a vertex reached, of the weights' dtype, or of 64 bits where one does not fit
    reached       vertices reached, the source included
    total         sum of the distances to them, uint64 or float64
    closeness     float64: (reached - 1)^2 / ((n - 1) total), 0.0 where the total is 0 as in NetworkX: of a source that
                  reaches no other, or all at distance 0

    Raises as `solve` does; Unavailable also where a total of whole numbers may be 2^64 or more.
    """
    from saitan.sssp.ending import narrowed

    with _solver(graph, sources, "reductions", variant, backend, parameters) as (solver, query, _):
        solver.run(query)
        answer = solver.answer()
        return answer | {"eccentricity": narrowed(answer["eccentricity"], graph.weights.dtype)}


@described(_answering("slabs"))
def compress(
    graph: Graph,
    path: str | os.PathLike[str],
    variant: str = "fast",
    backend: str = "auto",
    check: bool = True,
    **parameters: Any,
) -> dict[str, float]:
    """Writes the whole matrix of distances to a file, without loss (FORMAT.md); `open` reads it.

    A road network's takes some two bytes a hundred entries. Its entries have the weights' dtype, or 64 bits where one
    does not fit, as in `slabs`. The file gets its name when it is complete; where it cannot be written, nothing is left
    behind. Folders that are missing are made.

    check  whether to certify every slab of distances, and to decode and compare all that is coded

    Returns kernel_s and coding_s (seconds of searching and of coding), total_s, entries, bytes (of the file) and ratio
    (of the matrix's bytes to them). Raises OSError, Invalid where the check fails, and otherwise as `solve` does.
    """
    from saitan.apsp.coding import write_coded

    check = checked_flag("check", check)
    chosen = known_variant(VARIANTS, variant)
    backend = backend_for(chosen, backend)
    graph = checked_graph(graph)
    if reason := chosen.unfit(backend, {"answer": "slabs"}, _known(graph)):
        able = {name: other for name, other in VARIANTS.items() if backend in other.backends()}
        able = [name for name, other in able.items() if not other.unfit(backend, {"answer": "slabs"}, _known(graph))]
        raise Unavailable(f"{variant} {reason} (these can: {', '.join(able)})")
    solver, given = chosen.load(backend, variant), check_parameters(variant, parameters, chosen.parameters)
    check_takes(solver, ["instance"], given)
    make = partial(solver, **given)
    return write_coded(graph, path, make, variant, backend, check)


def open(path: str | os.PathLike[str]) -> Matrix:
    """A matrix that `compress` wrote: [s, t], [s] and [s0:s1] index it as NumPy does and read only what they need.

    The file is mapped: another may take its name or remove it meanwhile, but cutting it short ends the process.
    Raises FileNotFoundError, ValueError for a file of another format, and Invalid, here or when an entry is read, for
    one that is damaged.
    """
    from saitan.apsp.stored import Matrix

    return Matrix(path)


def _said(value: Any) -> str:
    """In one line: of other libraries' arrays their type."""
    return shortened(str(value)) if isinstance(value, range | list | int | str | slice) else type(value).__name__


@contextmanager
def _solver(graph, sources, answer, variant, backend, parameters):
    """A solver, the query for a range of sources, and the backend."""
    from saitan.apsp.instances import Instance

    backend = backend_for(known_variant(VARIANTS, variant), backend)
    graph = weighted_graph(checked_graph(graph))
    n = graph.n
    chosen = range(n) if sources is None else sources
    if not isinstance(chosen, range) or chosen.step != 1 or not 0 <= chosen.start < chosen.stop <= n:
        raise ValueError(f"sources must be a range of step 1 within [0, {n:,}), not empty, not {_said(chosen)}")
    solver = prepare(Instance(graph, len(chosen), answer=answer), variant, backend, **parameters)
    try:
        yield solver, [chosen.start, len(chosen)], backend
    finally:
        solver.close()
