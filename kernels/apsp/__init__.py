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

Read instances.py (what is asked), batches.py (the host's loop of paper O), cpu.py or cuda.py with batched.cu and
floyd_warshall.cu, then near_far.py with cpu_fast.py or cuda_fast.py and fast.cu (`fast`), sweep.py with cpu_sweep.py or
cuda_sweep.py and sweep.cu (maps), dense.py with cpu_dense.py or cuda_dense.py, diagonal.cu and dense.cu (dense
matrices, on the product of `tropical`), and validate.py. streaming.py: slabs and reductions; coding.py, order.py,
packing.py with packing.cu and stored.py: the coded matrix of FORMAT.md. Closures of matrices and floats are checked by
closure_check.py with rounding.py. paths.py: `tropical.path`. peers.py: other people's solvers. NOTES.md: floors and
measurements.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from saitan.calls import checked_graph
from saitan.problem import (
    Form,
    Input,
    Metric,
    Parameter,
    Reference,
    Run,
    Sink,
    Solver,
    Unavailable,
    Variant,
    backend_for,
    check_parameters,
    known_variant,
)
from saitan.ranks import current

if TYPE_CHECKING:
    import os

    from saitan.apsp.instances import Instance
    from saitan.apsp.stored import Matrix
    from saitan.graph import Graph

TITLE = "All-pairs shortest paths"

INPUTS = {
    "graph": Input("graph", "with weights", optional=True),
    "matrix": Input("array", "[n, n] of weights, infinity where there is no arc", optional=True),
}

OUTPUTS = {
    "distances": "[sources, n], a row a source",
    "eccentricity": "[sources], the largest distance to a vertex reached",
    "reached": "[sources], vertices reached, the source included",
    "total": "[sources], sum of the distances to them",
    "closeness": "[sources], (reached - 1)^2 / ((n - 1) total)",
}

FORMS = {
    "coded": Form(
        "the whole matrix of a graph, row against row, without loss (kernels/apsp/FORMAT.md): apsp.open reads it",
        ("distances",),
        "saitan.apsp.coding:keep",
        "saitan.apsp.stored:Matrix",
    )
}

HEADLINE = "entries_s"

_TASKS = {"tasks": Parameter(int, 32, "sources that advance together (the paper's P)", (8, 16, 32, 64, 128))}

_DENSE = ("dense", "diagonal", "validate", "tropical/fast", "tropical/validate")

# Of a variant that cannot take a matrix.
_GRAPH = ("graph",)

# Of a variant whose slabs several ranks can share.
_SHARED = range(1, 4097)

# Of a variant whose answer does not leave in slabs.
_WHOLE = {"answer": ("matrix",)}

VARIANTS = {
    "iterated": Variant(
        "one source at a time, one thread per vertex in every phase (Harish and Narayanan; paper O, section 3)",
        cpu="saitan.apsp.cpu:Iterated",
        cuda="saitan.apsp.cuda:Iterated",
        cubins=("batched", "validate"),
        inputs=_GRAPH,
        ranks=_SHARED,
    ),
    "batched": Variant(
        "tasks advance together, their vertex's arcs staged in shared memory (paper O, section 4)",
        cpu="saitan.apsp.cpu:Batched",
        cuda="saitan.apsp.cuda:Batched",
        cubins=("batched", "validate"),
        parameters=_TASKS,
        inputs=_GRAPH,
        ranks=_SHARED,
    ),
    "batched-unshared": Variant(
        "tasks advance together, each reading the arcs for itself (paper O, Table 1)",
        cpu="saitan.apsp.cpu:BatchedUnshared",
        cuda="saitan.apsp.cuda:BatchedUnshared",
        cubins=("batched", "validate"),
        parameters=_TASKS,
        inputs=_GRAPH,
        ranks=_SHARED,
    ),
    "floyd-warshall": Variant(
        "a block per row, rows skipped whose pivot entry is infinite (paper O, section 5); integer weights",
        cpu="saitan.apsp.cpu:FloydWarshall",
        cuda="saitan.apsp.cuda:FloydWarshall",
        cubins=("floyd_warshall", "validate"),
        graph=("integer",),
        inputs=_GRAPH,
        instance=_WHOLE,
    ),
    "floyd-warshall-blocked": Variant(
        "the whole matrix, blocks of vertices in turn, on the min-plus product of tropical",
        cpu="saitan.apsp.cpu_dense:FloydWarshallBlocked",
        cuda="saitan.apsp.cuda_dense:FloydWarshallBlocked",
        cubins=_DENSE,
        instance=_WHOLE,
    ),
    "closure": Variant(
        "the whole matrix, squared by the min-plus product of tropical until nothing changes",
        cpu="saitan.apsp.cpu_dense:Closure",
        cuda="saitan.apsp.cuda_dense:Closure",
        cubins=_DENSE,
        instance=_WHOLE,
    ),
    "fast": Variant(
        "sweep on maps; else near-far from one source a block (a core) in shared memory, or batched where too small",
        cpu="saitan.apsp.cpu_fast:Fast",
        cuda="saitan.apsp.cuda_fast:Fast",
        cubins=("fast", "sweep", "batched", "validate"),
        inputs=_GRAPH,
        ranks=_SHARED,
    ),
    "sweep": Variant(
        "many sources at once down a contraction hierarchy, prepared apart (prepare_s); integer weights (PHAST)",
        cpu="saitan.apsp.cpu_sweep:Swept",
        cuda="saitan.apsp.cuda_sweep:Swept",
        cubins=("sweep", "validate"),
        parameters={"core": Parameter(int, 1024, "most vertices left uncontracted", least=1, most=16384)},
        graph=("integer",),
        inputs=_GRAPH,
        ranks=_SHARED,
    ),
    "scipy": Variant(
        "SciPy's Dijkstra with a Fibonacci heap from every source, one thread",
        cpu="saitan.apsp.peers:Scipy",
        inputs=_GRAPH,
        instance=_WHOLE,
    ),
    "scipy-floyd-warshall": Variant(
        "SciPy's Floyd-Warshall on the whole matrix, one thread, float64",
        cpu="saitan.apsp.peers:ScipyFloydWarshall",
        instance=_WHOLE,
    ),
    "networkit": Variant(
        "NetworKit's Dijkstra from every source, a source a thread",
        cpu="saitan.apsp.peers:Networkit",
        peer=("networkit", "peers"),
        inputs=_GRAPH,
        instance=_WHOLE,
    ),
}

INSTANCE = {
    "sources": Parameter(int, 0, "how many vertices are sources, from vertex 0 on; 0 for all", least=0),
    "answer": Parameter(
        str,
        "matrix",
        "the matrix, which must fit memory; in slabs of rows; or reductions alone: a few numbers of every row",
        ("matrix", "slabs", "reductions"),
    ),
    "n": Parameter(int, 1024, "vertices of a random matrix, where neither graph nor matrix is given", least=1),
    "infinite": Parameter(float, 0.0, "share of its entries that are infinite: no arc", least=0, most=1),
    "dtype": Parameter(str, "float32", "of its entries", ("float32", "int32", "uint16")),
    "seed": Parameter(int, 1, "of its entries", least=0),
}

METRICS = {
    "entries_s": Metric("entries of the matrix a second", "entries/s", over="harmonic", better="more"),
    "phases": Metric("phases (a pair of kernels each), all sources together"),
    "launches": Metric("phases started, a source"),
    "relaxations": Metric("arcs looked at, all sources together"),
    "step": Metric("how far the bound between near and far rises at a time, in the weights' unit"),
    "resident": Metric(
        "sources worked on at a time in shared memory (in a core's cache); 0 where it takes batched tasks"
    ),
    "together": Metric("sources of a batch that is swept together, where there is a hierarchy"),
    "shortcuts": Metric("arcs that the contraction added"),
    "prepare_s": Metric("seconds that the contraction took, before any query", "s", better="less"),
    "work_bytes": Metric("memory of the graph and the work arrays, without the matrix", "bytes", better="less"),
    "paper_bytes": Metric(
        "the same by the paper's formula: 4 |V| + 2 |E| words, or (3 P + 1) |V| + 2 |E| for P tasks", "bytes"
    ),
    "squarings": Metric("products until the closure no longer changed"),
    "tops": Metric("2 n^3 operations over the kernel time, of a variant for dense matrices", "TOP/s", better="more"),
    "distance_bits": Metric("width of a distance: 64 where 32 bits overflowed"),
}


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


def reference(instance: Instance, query: list[int]) -> Reference:
    """Up to eight rows of a graph's answer by SciPy's Dijkstra, of a matrix's by NumPy, first and last among them.

    distances float64 [rows, n] (inf where not reached) and the relative difference allowed between floats, float64 [1]:
    a float32 sum of h non-negative terms is rounded by a factor within 1 +- h u, whatever their order, and two paths
    may differ, so those of at most h arcs by a factor of 2 h u.
    """
    from saitan.apsp.dense import closure_rows, drawn_rows
    from saitan.apsp.rounding import closing_additions, rounded

    first, count = query
    if instance.graph is None:
        rows = drawn_rows(count, instance.n)
        found = closure_rows(instance.matrix, first + rows)
        distances = np.where(found == _infinite(found.dtype), np.inf, found.astype(np.float64))
        relative, by = rounded(closing_additions(instance.n) + instance.n), "NumPy"
    else:
        from saitan.apsp.peers import expected_rows

        rows = np.unique(np.linspace(0, count - 1, min(count, 8)).astype(np.int64))
        distances, hops = expected_rows(instance.graph, first + rows)
        relative, by = 2 * max(1, hops) * np.finfo(np.float32).eps, "SciPy's Dijkstra"
    if instance.answer == "reductions":
        from saitan.apsp.streaming import named, reduced_rows

        return Reference(by, named(instance.n, *reduced_rows(distances)) | {"relative": np.array([relative])}, rows)
    return Reference(by, {"distances": distances, "relative": np.array([relative])}, rows)


def differs(reference: Reference, answer: dict[str, np.ndarray]) -> str | None:
    """How the rows of a reference and the same rows of an answer differ; None when they do not. Exact for integers."""
    if "distances" not in answer:
        return _reductions_differ(reference, answer)
    got, wanted = answer["distances"], reference.arrays["distances"]
    values = np.where(got == _infinite(got.dtype), np.inf, got.astype(np.float64))
    if np.issubdtype(got.dtype, np.integer):
        wrong = values != wanted
    else:
        wrong = ~np.isclose(values, wanted, rtol=float(reference.arrays["relative"][0]), atol=0)
    if not wrong.any():
        return None
    place, vertex = (int(x) for x in np.argwhere(wrong)[0])
    row = place if reference.rows is None else int(reference.rows[place])
    return (
        f"{int(wrong.sum()):,} distances differ, the first in row {row} at vertex {vertex}: "
        f"{got[place, vertex]}, not {wanted[place, vertex]:g}"
    )


def _reductions_differ(reference: Reference, answer: dict[str, np.ndarray]) -> str | None:
    relative = float(reference.arrays["relative"][0])
    for name, got in answer.items():
        wanted = reference.arrays[name]
        # Closeness is rounded once more than the integers it is made of.
        exact = np.issubdtype(answer["eccentricity"].dtype, np.integer)
        slack = 4 * np.finfo(np.float64).eps if exact else 2 * relative
        wrong = np.flatnonzero(~np.isclose(got.astype(np.float64), wanted.astype(np.float64), rtol=slack, atol=0))
        if len(wrong):
            row = int(wrong[0]) if reference.rows is None else int(reference.rows[wrong[0]])
            return f"{len(wrong):,} of {name} differ, the first in row {row}: {got[wrong[0]]}, not {wanted[wrong[0]]}"
    return None


def _infinite(dtype: np.dtype):
    """What stands where a source does not lead: in matrices of int32 and uint16 the infinity of `tropical`."""
    from saitan.sssp import unreachable
    from saitan.tropical.semiring import INFINITE

    return INFINITE[dtype.name] if dtype.name in INFINITE else unreachable(dtype)


def prepare(instance: Instance, variant: str, backend: str, **parameters: Any) -> Solver:
    """The Solver of a variant, uploaded.

    Raises ValueError for a variant or parameter that is unknown or off, Unavailable where it cannot run.
    """
    chosen = known_variant(VARIANTS, variant)
    if reason := chosen.unfit(backend, {"answer": instance.answer}, inputs=instance.inputs):
        raise Unavailable(f"{variant} {reason}")
    make = partial(chosen.load(backend, variant), **check_parameters(variant, parameters, chosen.parameters))
    if instance.answer == "matrix":
        return make(instance)
    from saitan.apsp.streaming import Reductions, Slabs

    return {"slabs": Slabs, "reductions": Reductions}[instance.answer](instance, backend, make)


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
    if reason := chosen.unfit(backend, {"answer": "slabs"}):
        raise Unavailable(f"{variant} {reason}")
    make = partial(chosen.load(backend, variant), **check_parameters(variant, parameters, chosen.parameters))
    return write_coded(checked_graph(graph), path, make, backend, check)


def open(path: str | os.PathLike[str]) -> Matrix:
    """A matrix that `compress` wrote: its [s, t], [s] and [s0:s1] are NumPy's, read without the rest of the file.

    Raises ValueError for a file that is none, Invalid, here or when it is read, for what is corrupt.
    """
    from saitan.apsp.stored import Matrix

    return Matrix(path)


@contextmanager
def _solver(graph, sources, answer, variant, backend, parameters):
    """A solver, the query for a range of sources, and the backend."""
    from saitan.apsp.instances import Instance

    backend = backend_for(known_variant(VARIANTS, variant), backend)
    chosen = range(checked_graph(graph).n) if sources is None else sources
    if not isinstance(chosen, range) or chosen.step != 1 or not 0 <= chosen.start < chosen.stop <= graph.n:
        raise ValueError(f"sources must be a range of step 1 within [0, {graph.n:,}), not {chosen}")
    solver = prepare(Instance(graph, len(chosen), answer=answer), variant, backend, **parameters)
    try:
        yield solver, [chosen.start, len(chosen)], backend
    finally:
        solver.close()
