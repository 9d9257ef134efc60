"""Single-source shortest paths on non-negative weights.

    from saitan import sssp
    result = sssp.solve(graph, source, variant="fast", backend="auto", predecessors=True)
    result.distances, sssp.path(result.predecessors, target)

The variants of paper S (Suzuki, Kan, Hayashi, Yoshikawa: adaptive thread creation for SSSP), `fast`, and other people's
solvers, on the CPU (Numba) and on a GPU (PyCUDA), all behind `solve` and behind the contract of kernels/problem.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from saitan.problem import Input, Metric, Parameter, Reference, Run, Unavailable, Variant, backend_for

if TYPE_CHECKING:
    from saitan.graph import Graph

TITLE = "Single-source shortest paths"

INPUTS = {"graph": Input("graph", "with weights")}

OUTPUTS = {"distances": "[n], one a vertex"}

HEADLINE = "time"

VARIANTS = {
    "conventional": Variant(
        "One thread per vertex in every phase (Harish and Narayanan; paper S, Algorithms 1 to 3)",
        cpu="saitan.sssp.cpu:Conventional",
        cuda="saitan.sssp.cuda:Conventional",
        cubins=("phases", "validate"),
    ),
    "selection": Variant(
        "One thread per listed vertex in every phase (paper S, Algorithms 5 and 6)",
        cpu="saitan.sssp.cpu:Selection",
        cuda="saitan.sssp.cuda:Selection",
        cubins=("phases", "validate"),
    ),
    "adaptive": Variant(
        "Switches between the two by the time of a phase (paper S, Algorithm 4)",
        cpu="saitan.sssp.cpu:Adaptive",
        cuda="saitan.sssp.cuda:Adaptive",
        cubins=("phases", "validate"),
        parameters={
            "threshold_up": Parameter(
                float,
                None,
                "phase time in us above which it starts a thread per vertex; calibrated if absent",
                least=0,
            ),
            "threshold_down": Parameter(float, None, "phase time in us below which it goes back to the list", least=0),
        },
    ),
    "fast": Variant(
        "Delta-stepping with bucket fusion on the CPU; a resident grid, or a few phases of the whole grid, on the GPU",
        cpu="saitan.sssp.cpu_fast:Fast",
        cuda="saitan.sssp.cuda_fast:Fast",
        cubins=("fast", "wide", "validate"),
        parameters={
            "delta": Parameter(
                float, None, "how far the bound rises at a time, in the weights' unit; chosen if absent", above=0
            )
        },
    ),
    "fast-many": Variant(
        "Several sources in one launch of fast's resident grid; times are a source's share",
        cuda="saitan.sssp.cuda_fast:FastMany",
        cubins=("fast", "validate"),
        parameters={"sources": Parameter(int, 64, "sources a launch", least=1)},
    ),
    "phast": Variant(
        "One sweep down a contraction hierarchy, whose preparation is timed apart (prepare_s); integer weights",
        cpu="saitan.sssp.cpu_phast:Phast",
        cuda="saitan.sssp.cuda_phast:Phast",
        cubins=("phast", "validate"),
        parameters={"core": Parameter(int, None, "vertices left uncontracted; chosen if absent", least=1)},
    ),
    "scipy": Variant(
        "SciPy's Dijkstra with a Fibonacci heap, one thread",
        cpu="saitan.sssp.peers:Scipy",
    ),
    "networkit": Variant(
        "NetworKit's Dijkstra, one thread",
        cpu="saitan.sssp.peers:Networkit",
        peer=("networkit", "peers"),
    ),
    "cugraph": Variant(
        "cuGraph's shortest paths, predecessors too",
        cuda="saitan.sssp.peers:Cugraph",
        peer=("pylibcugraph", "cugraph"),
    ),
}

INSTANCE: dict[str, Parameter] = {}

METRICS = {
    "phases": Metric("phases until nothing changed"),
    "listed": Metric("vertices appended to the write list, all phases together"),
    "threads": Metric("threads started, all phases together"),
    "switches": Metric("changes between selection and conventional"),
    "threshold_up_us": Metric("phase time above which the adaptive variant starts a thread per vertex", "us"),
    "threshold_down_us": Metric("phase time in us below which it goes back to the list", "us"),
    "rounds": Metric("exchanges between the blocks of a resident grid"),
    "relaxations": Metric("arcs looked at, all phases together"),
    "blocks": Metric("blocks that worked together"),
    "delta": Metric("how far the bound rises at a time, or the width of a bucket, in the weights' unit"),
    "shortcuts": Metric("arcs that the contraction added"),
    "prepare_s": Metric("seconds that the contraction took, before any query", "s"),
    "distance_bits": Metric("width of a distance: 64 where 32 bits overflowed"),
}


@dataclass(frozen=True)
class Result:
    """What `solve` returns.

    distances     [n] of the weights' dtype (64 bits wide where 32 overflowed); the dtype's maximum or infinity where
                  the source does not lead
    predecessors  int32 [n]: the vertex before on a shortest path, -1 for the source and where it does not lead
    run           times and counts
    """

    distances: np.ndarray
    predecessors: np.ndarray | None
    run: Run


def instance(inputs: Mapping[str, Any]) -> Graph:
    """The graph itself. Raises Unavailable for one without weights or vertices."""
    graph = inputs["graph"]
    if graph.weights is None:
        raise Unavailable(f"graph {graph.name} has no weights: set `weights:` in its catalogue entry to draw some")
    if graph.n == 0:
        raise Unavailable(f"graph {graph.name} has no vertices")
    return graph


def queries(graph: Graph, count: int, seed: int) -> list[int]:
    """`count` sources from the largest strongly connected component, whose members all reach the same vertices."""
    # An undirected graph holds both arcs of an edge, so the cheaper weak components are the strong ones.
    connection = "strong" if graph.metadata.get("directed", True) else "weak"
    labels = graph.components(connection)
    members = np.flatnonzero(labels == np.bincount(labels).argmax())
    drawn = np.random.default_rng(seed).choice(members, count, replace=count > len(members))
    return [int(source) for source in drawn]


def reference(graph: Graph, source: int) -> Reference:
    """SciPy's Dijkstra: distances float64 [n] (inf where not reached) and hops int64 [1], the deepest path's arcs."""
    from saitan.sssp.peers import dijkstra, hops

    distances, predecessors = dijkstra(graph, source)
    return Reference("SciPy's Dijkstra", {"distances": distances, "hops": np.array([hops(predecessors)])})


def differs(reference: Reference, answer: dict[str, np.ndarray]) -> str | None:
    """How distances differ from the reference's: exact for integers, by the rounding of float32 sums for floats."""
    expected, got = reference.arrays, answer["distances"]
    unreached = unreachable(got.dtype)
    wanted = expected["distances"]
    values = np.where(got == unreached, np.inf, got.astype(np.float64))
    if np.issubdtype(got.dtype, np.integer):
        wrong = values != wanted
    else:
        # A sum of h non-negative terms is rounded by a factor within 1 +- h u; the two paths may differ.
        slack = 2 * max(1, int(expected["hops"][0])) * np.finfo(np.float32).eps
        wrong = ~np.isclose(values, wanted, rtol=slack, atol=0)
    if not wrong.any():
        return None
    vertex = int(np.flatnonzero(wrong)[0])
    return f"{int(wrong.sum()):,} distances differ, the first at vertex {vertex}: {got[vertex]}, not {wanted[vertex]:g}"


def unreachable(dtype: np.typing.DTypeLike):
    """The distance of a vertex that is not reached: the integer's maximum, or infinity."""
    dtype = np.dtype(dtype)
    return dtype.type(np.inf) if dtype.kind == "f" else dtype.type(np.iinfo(dtype).max)


def check_delta(delta: float | None) -> None:
    """Raise ValueError for a width or step that a user gave and that is not positive."""
    if delta is not None and not delta > 0:
        raise ValueError(f"delta must be positive, not {delta:g}")


def prepare(graph: Graph, variant: str, backend: str, **parameters):
    """The Solver of a variant, uploaded. Raises KeyError, Unavailable, TypeError for a parameter it lacks."""
    return VARIANTS[variant].load(backend)(instance({"graph": graph}), **parameters)


def solve(
    graph: Graph,
    source: int,
    variant: str = "fast",
    backend: str = "auto",
    *,
    predecessors: bool = False,
    **parameters,
) -> Result:
    """Shortest paths from one source.

    Raises ValueError for an unknown variant, backend or source, Unavailable where the variant cannot run here.
    """
    if variant not in VARIANTS:
        raise ValueError(f"unknown variant {variant!r} (there are: {', '.join(VARIANTS)})")
    if not 0 <= source < graph.n:
        raise ValueError(f"source {source} is not in [0, {graph.n:,})")
    solver = prepare(graph, variant, backend_for(VARIANTS[variant], backend), **parameters)
    try:
        run = solver.run(source)
        return Result(solver.answer()["distances"], solver.predecessors() if predecessors else None, run)
    finally:
        solver.close()


def path(predecessors: np.ndarray, target: int) -> np.ndarray:
    """The vertices of a shortest path from the source to `target`, both included; int32, empty if not reached.

    predecessors: as `solve` returns them. A target without predecessor is taken for the source, whose path is
    itself; ask the distances whether it was reached.
    """
    route = [target]
    while (before := int(predecessors[route[-1]])) >= 0:
        route.append(before)
        if len(route) > len(predecessors):
            raise ValueError("the predecessors form a cycle")
    return np.array(route[::-1], dtype=np.int32)
