"""Breadth-first search by the rules of Graph500: levels and parents from one root.

    from saitan import bfs
    result = bfs.solve(graph, root, variant="fast", backend="auto")
    result.levels, result.parents, result.run.counters["teps"]

The variants of paper H (Hirakushi, Takahashi: hybrid BFS on a GPU cluster) on one machine, `fast`, and other people's
solvers, on the CPU (Numba) and on a GPU (PyCUDA), all behind `solve` and behind the contract of kernels/problem.py.

Read in this order: search.py (the switching rule and the loop over the levels), cpu_step.py and level.cu with
cuda_step.py (a level over a block of the adjacency matrix), cpu.py and cuda.py (the variants), cuda_share.py (CPU and
GPU together), validate.py; over processes partition.py, cluster_blocks.py, cpu_cluster.py with cluster_step.py,
cluster_validate.py; then layout.py, cpu_fast.py, cuda_fast.py with fast.cu and road.cu.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from saitan.calls import checked_graph, checked_vertex
from saitan.problem import Input, Metric, Parameter, Reference, Run, Unavailable, Variant, backend_for, check_parameters

if TYPE_CHECKING:
    from saitan.graph import Graph

TITLE = "Breadth-first search"

INPUTS = {"graph": Input("graph", "weights are not read")}

INSTANCE: dict[str, Parameter] = {}

OUTPUTS = {
    "levels": "int32 [n], arcs from the root, -1 where it does not lead",
    "parents": "int32 [n], the vertex before; the root is its own, -1 where it does not lead",
}

METRICS = {
    "teps": Metric("input edges within what was reached, a second (Graph500)", "TEPS", over="harmonic", better="more"),
    "teps_median": Metric("the same, of which paper H gives the median", "TEPS", better="more"),
    "levels": Metric("levels, the root's included"),
    "edges": Metric("input edges within what was reached, duplicates and loops included"),
    "inspected": Metric("arcs looked at, all levels together"),
    "switches": Metric("changes between top-down and bottom-up"),
    "construction_s": Metric("seconds from the graph to what the search needs, upload apart", "s"),
    "search_s": Metric("seconds of the search alone, before the answer is in the graph's own order", "s"),
    "compute_s": Metric("seconds of the slowest rank's computation", "s"),
    "communication_s": Metric("seconds in which the slowest rank's messages moved", "s"),
    "waiting_s": Metric("seconds that a rank waited for the others, of the one that waited longest", "s"),
    "sent_bytes": Metric("bytes that all ranks sent to others, as the collectives are given them", "bytes"),
    "cpu_share": Metric("share of the vertices that the CPU took, all levels together"),
}

TRACES = {
    "direction": "top-down or bottom-up",
    "frontier": "vertices of the level",
    "inspected": "arcs looked at",
    "compute": "seconds of the slowest rank's computation",
    "communication": "seconds in which the slowest rank's messages moved",
    "waiting": "seconds of the rank that waited longest",
    "sent": "bytes that all ranks sent",
}

HEADLINE = "teps"

_ALPHA = Parameter(float, 10.0, "to bottom-up when m_f > |E| / alpha, both in arcs", above=0)
_BETA = Parameter(float, 14.0, "back to top-down when n_f < |V|^2 / (beta |E|), |E| in arcs", above=0)

VARIANTS = {
    "hybrid": Variant(
        "Top-down or bottom-up, chosen every level (paper H, sections 2 and 3)",
        cpu="saitan.bfs.cpu:Hybrid",
        cuda="saitan.bfs.cuda:Hybrid",
        cubins=("level", "validate"),
        parameters={"alpha": _ALPHA, "beta": _BETA},
    ),
    "top-down": Variant(
        "Every level from the frontier's vertices (paper H, Fig 1; expand and contract on the GPU)",
        cpu="saitan.bfs.cpu:TopDown",
        cuda="saitan.bfs.cuda:TopDown",
        cubins=("level", "validate"),
    ),
    "bottom-up": Variant(
        "Every level from the vertices not yet reached (paper H, Figs 2, 4 and 6)",
        cpu="saitan.bfs.cpu:BottomUp",
        cuda="saitan.bfs.cuda:BottomUp",
        cubins=("level", "validate"),
    ),
    "cpu-gpu": Variant(
        "The hybrid with every level's vertices shared between CPU and GPU (paper H, section 3.3)",
        cuda="saitan.bfs.cuda_share:Shared",
        cubins=("level",),
        parameters={
            "alpha": _ALPHA,
            "beta": _BETA,
            "ratio": Parameter(
                str,
                "1:3",
                "CPU : GPU; measured: by the speeds of the levels before",
                choices=("0:1", "1:3", "1:1", "measured"),
            ),
        },
    ),
    "cluster": Variant(
        "The hybrid over many processes, the matrix in pairs of transposed blocks (paper H, section 2.4)",
        cpu="saitan.bfs.cpu_cluster:Cluster",
        parameters={"alpha": _ALPHA, "beta": _BETA},
        peer=("mpi4py", "mpi"),
        ranks=(1, 2, 8, 32, 128, 512, 2048, 8192),
        parts=True,
    ),
    "fast": Variant(
        "Vertices by falling degree, a resident grid for the whole search; roads by sssp's hops or a queue",
        cpu="saitan.bfs.cpu_fast:Fast",
        cuda="saitan.bfs.cuda_fast:Fast",
        cubins=("fast", "road", "tree", "validate", "sssp/fast"),
    ),
    "phast": Variant(
        "One sweep down sssp's contraction hierarchy with arcs of length 1; its preparation is the construction",
        cpu="saitan.bfs.cpu_phast:Phast",
        cuda="saitan.bfs.cuda_phast:Phast",
        cubins=("tree", "validate", "sssp/phast"),
    ),
    "scipy": Variant("SciPy's breadth-first order, one thread", cpu="saitan.bfs.peers:Scipy"),
    "networkit": Variant(
        "NetworKit's BFS, one thread; levels only, parents are derived after the time",
        cpu="saitan.bfs.peers:Networkit",
        peer=("networkit", "peers"),
    ),
    "cugraph": Variant(
        "cuGraph's direction-optimising BFS, levels and parents",
        cuda="saitan.bfs.peers:Cugraph",
        peer=("pylibcugraph", "cugraph"),
    ),
}


@dataclass(frozen=True)
class Result:
    """What `solve` returns.

    levels   int32 [n]: arcs on a shortest path from the root, -1 where it does not lead
    parents  int32 [n]: the vertex before on such a path; the root is its own, -1 where it does not lead
    run      times and counts
    """

    levels: np.ndarray
    parents: np.ndarray
    run: Run


def instance(inputs: Mapping[str, Any]) -> Graph:
    """The graph itself. Raises Unavailable for one without vertices."""
    graph = inputs["graph"]
    if graph.n == 0:
        raise Unavailable(f"graph {graph.name} has no vertices")
    return graph


def queries(graph: Graph, count: int, seed: int) -> list[int]:
    """`count` distinct roots that have an arc to another vertex, or all of them where there are fewer.

    Raises Unavailable where there is none.
    """
    others = graph.degrees.copy()
    np.subtract.at(others, graph.targets[graph.sources == graph.targets], 1)
    candidates = np.flatnonzero(others)
    if not len(candidates):
        raise Unavailable(f"graph {graph.name} has no root to search from: no vertex has an arc to another one")
    drawn = np.random.default_rng(seed).choice(candidates, min(count, len(candidates)), replace=False)
    return [int(root) for root in drawn]


def check_root(graph: Graph, root: Any) -> int:
    """The root as an int. Raises ValueError for what is no vertex, or has no arc to another one."""
    number = checked_vertex("root", root, graph.n)
    row = graph.targets[graph.offsets[number] : graph.offsets[number + 1]]
    if not (row != number).any():
        raise ValueError(f"root {number} of graph {graph.name} is isolated: it has no arc to another vertex")
    return number


def reference(graph: Graph, root: int) -> Reference:
    """Levels by SciPy's breadth_first_order."""
    from saitan.bfs.peers import scipy_levels

    return Reference("SciPy's breadth_first_order", {"levels": scipy_levels(graph, root)})


def differs(reference: Reference, answer: dict[str, np.ndarray]) -> str | None:
    """How levels differ from the reference's; parents are the validator's concern, as several are right."""
    wanted, got = reference.arrays["levels"], answer["levels"]
    if got.shape != wanted.shape:
        return f"{got.shape} levels, not {wanted.shape}"
    wrong = np.flatnonzero(got != wanted)
    if not len(wrong):
        return None
    vertex = int(wrong[0])
    return f"{len(wrong):,} levels differ, the first at vertex {vertex}: {got[vertex]}, not {wanted[vertex]}"


def prepare(graph: Graph, variant: str, backend: str, **parameters):
    """The Solver of a variant, uploaded. Raises KeyError, ValueError for parameters that are off, Unavailable."""
    made = VARIANTS[variant]
    given = check_parameters(f"bfs {variant}", parameters, made.parameters)
    return made.load(backend)(instance({"graph": graph}), **given)


def solve(graph: Graph, root: int, variant: str = "fast", backend: str = "auto", **parameters) -> Result:
    """Levels and parents from one root.

    Raises ValueError for an unknown variant or backend, for a parameter or a root that is off, Unavailable where the
    variant cannot run here.
    """
    if variant not in VARIANTS:
        raise ValueError(f"unknown variant {variant!r} (there are: {', '.join(VARIANTS)})")
    root = check_root(instance({"graph": checked_graph(graph)}), root)
    solver = prepare(graph, variant, backend_for(VARIANTS[variant], backend), **parameters)
    try:
        run = solver.run(root)
        answer = solver.answer()
        return Result(answer["levels"], answer["parents"], run)
    finally:
        solver.close()
