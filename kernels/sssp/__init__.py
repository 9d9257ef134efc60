"""Single-source shortest paths on non-negative weights.

    from saitan import sssp
    result = sssp.solve(graph, source, variant="fast", backend="auto", predecessors=True)
    result.distances, sssp.path(result.predecessors, target)

The variants of paper S (Suzuki, Kan, Hayashi, Yoshikawa: adaptive thread creation for SSSP), `fast`, `phast`, and other
people's solvers, on the CPU (Numba) and on a GPU (PyCUDA), behind `solve` and the contract of kernels/problem.py.

Read the files in this order:

    variants.py      inputs, outputs, parameters, variants and metrics
    phases.py        paper S: the loop over phases, the same on both backends; cpu.py and cuda.py, phases.cu run it
    validate.py      the certificate that every answer has to pass; cuda_validate.py, validate.cu for the device
    ending.py        how a query ends, and what is run again with 64 bits or more room; float_sums.py
    cpu_fast.py      delta-stepping with bucket fusion; cpu_buckets.py its buckets; cpu_near_far.py for small graphs
    cuda_fast.py     `fast` on the GPU: by two kernels, of which choice.py chooses; simplify.py merges parallel arcs
    chains.py        long chains and hanging trees, found by peeling.py and taken out of what `fast` searches;
                     cpu_chains.py (cuda_chains.py, chains.cu) leads from the source to what is left and back to all;
                     walks.py (cpu_walks.py, cuda_walks.py, walks.cu) the same for real weights
    cuda_resident.py the persistent kernel fast.cu: layout.py (vertex splitting), then queue.cuh, hop.cuh, window.cuh,
                     mailbox.cuh, exchange.cuh
    cuda_broad.py    the phases of a resident grid, broad.cu, which `fast` takes where frontiers are broad: rows.cuh,
                     course.cuh
    hierarchy.py     the contraction hierarchy, by contraction.py, given up early by growth.py; cpu_phast.py, and
                     slices.py (sliced ELLPACK), cuda_phast.py, phast.cu sweep over it
    peers.py         other people's solvers
    NOTES.md         what bounds each variant, measurements, what did not help
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from saitan.blocks import check_output
from saitan.calls import (
    checked_both_ways,
    checked_count,
    checked_flag,
    checked_graph,
    checked_inputs,
    checked_vertex,
    described,
    plain_array,
    weighted_graph,
)
from saitan.problem import Invalid, Reference, Run, Solver, backend_for, check_parameters, known_variant
from saitan.solver import prepared, tells_query, typed
from saitan.sssp.variants import HEADLINE, INPUTS, INSTANCE, METRICS, OUTPUTS, TITLE, TRACES, VARIANTS

if TYPE_CHECKING:
    from saitan.graph import Graph

__all__ = [
    "HEADLINE",
    "INPUTS",
    "INSTANCE",
    "METRICS",
    "OUTPUTS",
    "TITLE",
    "TRACES",
    "VARIANTS",
    "Result",
    "differs",
    "instance",
    "path",
    "prepare",
    "queries",
    "reference",
    "solve",
    "unreachable",
]


@dataclass(frozen=True, eq=False)
class Result:
    """What `solve` returns.

    distances     [n] of the weights' dtype, uint32 or float32 (uint64 or float64 where one of them does not fit); where
                  there is no path, the dtype's maximum or infinity, which `unreachable(dtype)` is
    predecessors  int32 [n]: the vertex before on a shortest path, -1 for the source and where there is no path
    run           times and counts (saitan.solver.Run)
    """

    distances: np.ndarray
    predecessors: np.ndarray | None
    run: Run


def instance(inputs: Mapping[str, Any]) -> Graph:
    """The graph itself. Raises ValueError for what is none, Unavailable for one without weights or vertices."""
    checked_inputs("sssp", inputs, INPUTS)
    return weighted_graph(inputs["graph"])


def queries(graph: Graph, count: int, seed: int) -> list[int]:
    """`count` sources, drawn from the largest strongly connected component: all of them reach the same vertices.

    Where that has less than a tenth of the vertices with an arc to another one, as without cycles, from all of these.
    Distinct ones, unless there are fewer. Raises ValueError for what is no graph or undirected by its metadata alone,
    and a count or seed that is none; Unavailable for a graph without weights or vertices.
    """
    from saitan.components import leading_on

    count, seed = checked_count("count", count), checked_count("seed", seed)
    graph = checked_both_ways(weighted_graph(checked_graph(graph)), weighted=False)
    # An undirected graph holds both arcs of an edge, so the cheaper weak components are the strong ones.
    connection = "strong" if graph.directed else "weak"
    labels = graph.components(connection)
    members = np.flatnonzero(labels == np.bincount(labels).argmax())
    leading = np.flatnonzero(leading_on(graph.offsets, graph.targets))
    if len(leading) and len(members) < max(2, len(leading) / 10):
        members = leading
    drawn = np.random.default_rng(seed).choice(members, count, replace=count > len(members))
    return [int(source) for source in drawn]


def reference(graph: Graph, source: int) -> Reference:
    """SciPy's Dijkstra: distances float64 [n] (inf where not reached) and hops int64 [1], the deepest path's arcs.

    Raises ValueError for what is no graph, and a source that is no vertex; Unavailable for a graph without weights or
    vertices.
    """
    from saitan.sssp.peers import dijkstra, hops

    graph = weighted_graph(checked_graph(graph))
    source = checked_vertex("source", source, graph.n)
    distances, predecessors = dijkstra(graph, source)
    return Reference("SciPy's Dijkstra", {"distances": distances, "hops": np.array([hops(predecessors)])})


def differs(reference: Reference, answer: dict[str, np.ndarray]) -> str | None:
    """How distances differ from the reference's, in one line; None when they do not.

    Integers below 2^53, where float64 is exact, must be equal. Otherwise a sum of k terms with unit roundoff u (2^-24
    for float32, 2^-53 for integers) has a relative error of at most g(k) = k u / (1 - k u) (Higham, Accuracy and
    stability of numerical algorithms, section 3.1). Let h be the number of arcs of the deepest path of the reference's
    tree. An answer is

    - at most (1 + g(h)) times the reference, because it is at most the rounded sum over the reference's path;
    - at least (1 - g(4 h)) times the reference, if its own path has at most 4 h arcs. That is an assumption: a path of
      more arcs is only preferred where rounding swallows weights.
    """
    if line := reference.misshapen(answer, "distances"):
        return line
    expected, got = reference.arrays, answer["distances"]
    wanted = expected["distances"]
    values = np.where(got == unreachable(got.dtype), np.inf, got.astype(np.float64))
    whole = np.issubdtype(got.dtype, np.integer)
    arcs, roundoff = max(1, int(expected["hops"][0])), 2.0**-53 if whole else 2.0**-24
    with np.errstate(invalid="ignore"):
        above, below = wanted * (1 + _error(arcs, roundoff)), wanted * (1 - _error(4 * arcs, roundoff))
    # Of NaN neither holds. What is not reached has no error.
    wrong = np.where(np.isinf(wanted), values != wanted, ~((values <= above) & (values >= below)))
    if whole:
        wrong |= (wanted < 2**53) & (values != wanted)
    if not wrong.any():
        return None
    vertex = int(np.flatnonzero(wrong)[0])
    return f"{int(wrong.sum()):,} distances differ, the first at vertex {vertex}: {got[vertex]}, not {wanted[vertex]:g}"


def _error(terms: int, roundoff: float) -> float:
    """Largest relative error of a sum of so many non-negative terms, at most 1."""
    return terms * roundoff / (1 - terms * roundoff) if terms * roundoff < 0.5 else 1.0


def unreachable(dtype: np.typing.DTypeLike):
    """The distance of a vertex that is not reached: the integer's maximum, or infinity. Raises ValueError for a type
    that is neither.
    """
    dtype = np.dtype(dtype)
    if dtype.kind not in "iuf":
        raise ValueError(f"distances are whole numbers or floats, not {dtype}")
    return dtype.type(np.inf) if dtype.kind == "f" else dtype.type(np.iinfo(dtype).max)


def prepare(graph: Graph, variant: str, backend: str, **parameters: Any) -> Solver:
    """The Solver of a variant on "cpu" or "cuda", with what it needs on the device. A query is a source.

    It answers for the graph as it is now: after a write into the graph's arrays another one is wanted. One that is
    undirected by its metadata must hold both arcs of each edge, which variants on a GPU follow backwards: `solve` looks
    there, this does not, and `validate` sees a wrong answer.
    Raises ValueError for what is no graph, a backend other than these two, and a variant or parameter that is unknown
    or off; Unavailable where it cannot run here or not on this graph.
    """
    from saitan.sssp.ending import answer_types

    chosen = known_variant(VARIANTS, variant)
    given = check_parameters(variant, parameters, chosen.parameters)
    graph = instance({"graph": checked_graph(graph)})
    solver = prepared(chosen.load(backend, variant), partial(checked_vertex, "source", n=graph.n), graph, **given)
    return tells_query(typed(solver, distances=answer_types(graph.weights.dtype)), "source")


@described(VARIANTS)
def solve(
    graph: Graph,
    source: int,
    variant: str = "fast",
    backend: str = "auto",
    *,
    predecessors: bool = False,
    **parameters: Any,
) -> Result:
    """Distances from one source to every vertex, and a shortest-path tree if asked for.

    graph         with weights, uint32 or float32 (Graph.from_arcs, Graph.from_scipy, saitan.read_graph)
    source        a vertex number in [0, graph.n)
    variant       a name of those below
    backend       "cpu", "cuda", or "auto": the GPU where there is one and the variant has it
    predecessors  whether the tree is wanted too
    parameters    of the variant, below

    Raises ValueError for what is no graph (on a GPU, undirected by its metadata alone), no vertex of it, an unknown
    variant or backend, and a parameter that is off; Unavailable where the variant cannot run here, or the graph has no
    weights or no vertices; Invalid for distances, of a variant of one's own, that are sums along no tree.
    """
    from saitan.sssp.ending import narrowed
    from saitan.sssp.float_sums import added_again
    from saitan.sssp.validate import tight_tree

    chosen = known_variant(VARIANTS, variant)
    graph = weighted_graph(checked_graph(graph))
    source, predecessors = checked_vertex("source", source, graph.n), checked_flag("predecessors", predecessors)
    backend = backend_for(chosen, backend)
    if backend == "cuda":
        checked_both_ways(graph)  # phases of a grid pull along a vertex's own arcs
    with closing(prepare(graph, variant, backend, **parameters)) as solver:
        run = solver.run(source)
        answer = solver.answer().get("distances")
        check_output("distances", answer, (graph.n,))
        # Other people's solvers add float32 weights in 64 bits and round once, so their sums are tight on no arc.
        if answer.dtype == np.float64 or (chosen.foreign and answer.dtype == np.float32):
            distances = added_again(graph, source, answer)
            tree = tight_tree(graph, source, distances) if predecessors else None
        else:
            distances = narrowed(answer, graph.weights.dtype)
            # A variant of the user's own has the methods of Solver and no more.
            tell = getattr(solver, "predecessors", partial(_tree_of, variant, graph, source, answer))
            tree = tell() if predecessors else None
        return Result(distances, tree, run)


def _tree_of(variant: str, graph: Graph, source: int, distances: np.ndarray) -> np.ndarray:
    from saitan.sssp.validate import tight_tree

    try:
        return tight_tree(graph, source, distances)
    except Invalid as error:
        right = ": sums added in float32 are right, or distances of float64" if distances.dtype == np.float32 else ""
        raise Invalid(f"{variant}: {error}{right}") from None


def path(predecessors: np.ndarray, target: int) -> np.ndarray:
    """The vertices of a shortest path from the source to `target`, both included: int32, in order.

    predecessors: whole numbers [n] as `solve` returns them. A target without predecessor is taken for the source, whose
    path is itself; the distances say whether it was reached. Raises ValueError for a target or a predecessor that is no
    vertex, for predecessors that are no whole numbers [n] or form a cycle, and for None, which `solve` returns where it
    was not asked for them.
    """
    if predecessors is None:
        raise ValueError("there are no predecessors: call solve with predecessors=True")
    predecessors = plain_array(predecessors, "predecessors")
    if predecessors.ndim != 1 or predecessors.dtype.kind not in "iu":
        raise ValueError(f"predecessors are whole numbers [n], not {predecessors.dtype} {predecessors.shape}")
    route = [checked_vertex("target", target, len(predecessors))]
    while (before := int(predecessors[route[-1]])) != -1:
        if checked_vertex("predecessor", before, len(predecessors)) == route[-1]:
            raise ValueError(f"vertex {before} is its own predecessor, as a root is among bfs's parents: -1 is right")
        route.append(before)
        if len(route) > len(predecessors):
            raise ValueError("the predecessors form a cycle")
    return np.array(route[::-1], dtype=np.int32)
