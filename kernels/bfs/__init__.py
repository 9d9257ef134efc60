"""Breadth-first search by the rules of Graph500: levels and parents from one root.

    from saitan import bfs
    result = bfs.solve(graph, root, variant="fast", backend="auto")
    result.levels, result.parents, result.run.counters["teps"]

The variants of paper H (Hirakushi, Takahashi: hybrid BFS on a GPU cluster) on one machine, `fast`, and other people's
solvers, on the CPU (Numba) and on a GPU (PyCUDA), all behind `solve` and behind the contract of kernels/problem.py.

Read in this order: search.py (the switching rule and the loop over the levels), cpu_step.py and level.cu with
cuda_step.py (a level over a block of the adjacency matrix), cpu.py and cuda.py (the variants), cuda_share.py (CPU and
GPU together), validate.py; over processes partition.py, cluster_blocks.py, cluster.py, cpu_cluster.py with
cluster_step.py, cuda_cluster.py with cuda_cluster_part.py, cuda_cluster_peers.py and cluster.cu, cuda_cluster_share.py,
cluster_code.py, cluster_validate.py; then layout.py, cpu_parts.py, cpu_levels.py, trial.py, cpu_fast.py, cuda_fast.py
with fast.cu and road.cu (`fast`), spread.py, cuda_gpus.py and cuda_gpus_apart.py with gpus.cu (`fast` on several GPUs),
hops.py, cuda_hops.py with tree.cu, cpu_phast.py, cuda_phast.py (roads), many.py, cpu_many.py, cuda_many.py with
many.cu, many_answer.cu and many_parents.cu (`fast-many`). peers.py: other people's solvers. NOTES.md: floors and
measurements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from saitan.calls import checked_graph, checked_vertex
from saitan.problem import (
    Input,
    Metric,
    Parameter,
    Reference,
    Run,
    Solver,
    Unavailable,
    Variant,
    backend_for,
    check_parameters,
    known_variant,
)

if TYPE_CHECKING:
    from saitan.bfs.many import Asked
    from saitan.graph import Graph

TITLE = "Breadth-first search"

INPUTS = {"graph": Input("graph", "weights are not read")}

INSTANCE = {
    "task": Parameter(
        str,
        "search",
        "what is asked: one root, many at once (whose TEPS are of all together), closeness of all vertices",
        ("search", "many", "closeness"),
    )
}

OUTPUTS = {
    "levels": "int32 [n], arcs from the root, -1 where it does not lead",
    "parents": "int32 [n], the vertex before; the root is its own, -1 where it does not lead",
    "closeness": "float64 [n], of all vertices along the arcs, after Wasserman and Faust",
}

METRICS = {
    "teps": Metric("input edges within what was reached, a second (Graph500)", "TEPS", over="harmonic", better="more"),
    "teps_median": Metric("the same, of which paper H gives the median", "TEPS", better="more"),
    "searches": Metric("searches that share the time"),
    "levels": Metric("levels, the root's included; the most of several searches"),
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
_RATIO = Parameter(
    str,
    "1:3",
    "CPU : GPU; measured: by the speeds of the levels before",
    choices=("0:1", "1:3", "1:1", "measured"),
)
# Numbers of processes that the partition takes.
_PAIRS = (1, 2, 8, 32, 128, 512, 2048, 8192)
_COMPRESS = Parameter(bool, False, "frontiers that MPI sends as distances between vertices where shorter")

_SEARCH, _MANY, _CLOSENESS = ({"task": (task,)} for task in ("search", "many", "closeness"))
_SEARCHES = Parameter(int, 256, "searches that go on at once, a bit each", choices=(32, 64, 128, 256))

VARIANTS = {
    "hybrid": Variant(
        "Top-down or bottom-up, chosen every level (paper H, sections 2 and 3)",
        cpu="saitan.bfs.cpu:Hybrid",
        cuda="saitan.bfs.cuda:Hybrid",
        cubins=("level", "validate"),
        parameters={"alpha": _ALPHA, "beta": _BETA},
        instance=_SEARCH,
    ),
    "top-down": Variant(
        "Every level from the frontier's vertices (paper H, Fig 1; expand and contract on the GPU)",
        cpu="saitan.bfs.cpu:TopDown",
        cuda="saitan.bfs.cuda:TopDown",
        cubins=("level", "validate"),
        instance=_SEARCH,
    ),
    "bottom-up": Variant(
        "Every level from the vertices not yet reached (paper H, Figs 2, 4 and 6)",
        cpu="saitan.bfs.cpu:BottomUp",
        cuda="saitan.bfs.cuda:BottomUp",
        cubins=("level", "validate"),
        instance=_SEARCH,
    ),
    "cpu-gpu": Variant(
        "The hybrid with every level's vertices shared between CPU and GPU (paper H, section 3.3)",
        cuda="saitan.bfs.cuda_share:Shared",
        cubins=("level",),
        parameters={"alpha": _ALPHA, "beta": _BETA, "ratio": _RATIO},
        instance=_SEARCH,
    ),
    "cluster": Variant(
        "The hybrid over many processes, the matrix in pairs of transposed blocks (paper H, section 2.4)",
        cpu="saitan.bfs.cpu_cluster:Cluster",
        cuda="saitan.bfs.cuda_cluster:Cluster",
        cubins=("level", "cluster"),
        parameters={
            "alpha": _ALPHA,
            "beta": _BETA,
            "exchange": Parameter(
                str,
                "auto",
                "through the host's memory by MPI, the same while the GPU computes, by reading peers' memory, by NCCL",
                choices=("auto", "host", "overlapped", "peer", "nccl"),
            ),
            "compress": _COMPRESS,
        },
        peer=("mpi4py", "mpi"),
        ranks=_PAIRS,
        parts=True,
        instance=_SEARCH,
    ),
    "cluster-cpu-gpu": Variant(
        "cluster with every block shared between a rank's CPU and its GPU (paper H, section 3.3 and Fig 8)",
        cuda="saitan.bfs.cuda_cluster_share:Cluster",
        cubins=("level", "cluster"),
        parameters={"alpha": _ALPHA, "beta": _BETA, "ratio": _RATIO, "compress": _COMPRESS},
        peer=("mpi4py", "mpi"),
        ranks=_PAIRS,
        parts=True,
        instance=_SEARCH,
    ),
    "fast": Variant(
        "Vertices by falling degree, a resident grid for the whole search; roads by sssp's hops or a queue",
        cpu="saitan.bfs.cpu_fast:Fast",
        cuda="saitan.bfs.cuda_fast:Fast",
        cubins=("fast", "road", "tree", "arrange_lib", "validate", "sssp/fast"),
        instance=_SEARCH,
        architecture="sm_80",
    ),
    "fast-gpus": Variant(
        "fast over several GPUs of a host: each a resident grid, which writes what it finds into the others' memory",
        cuda="saitan.bfs.cuda_gpus:FastGpus",
        cubins=("gpus", "arrange_lib", "validate"),
        parameters={
            "exchange": Parameter(
                str,
                "auto",
                "by writing into peers' memory, or a level at a time by NCCL or through the host's memory by MPI",
                choices=("auto", "peer", "nccl", "host"),
            )
        },
        peer=("mpi4py", "mpi"),
        ranks=range(1, 9),
        instance=_SEARCH,
    ),
    "phast": Variant(
        "One sweep down sssp's contraction hierarchy with arcs of length 1; its preparation is the construction",
        cpu="saitan.bfs.cpu_phast:Phast",
        cuda="saitan.bfs.cuda_phast:Phast",
        cubins=("tree", "validate", "sssp/phast"),
        instance=_SEARCH,
        architecture="sm_80",
    ),
    "fast-many": Variant(
        "many: searches at once, a bit each, by one sweep of the arcs a level; times are for all of them together",
        cpu="saitan.bfs.cpu_many:FastMany",
        cuda="saitan.bfs.cuda_many:FastMany",
        cubins=("many", "many_answer", "many_parents", "arrange_lib", "tree", "validate"),
        parameters={
            "searches": _SEARCHES,
            "parents": Parameter(bool, False, "parents of all searches within the time, too"),
        },
        instance=_MANY,
    ),
    "closeness": Variant(
        "closeness: searches from all vertices by fast-many",
        cpu="saitan.bfs.cpu_many:Closeness",
        cuda="saitan.bfs.cuda_many:Closeness",
        cubins=("many", "many_answer", "many_parents", "arrange_lib"),
        parameters={"searches": _SEARCHES},
        instance=_CLOSENESS,
    ),
    "scipy": Variant("SciPy's breadth-first order, one thread", cpu="saitan.bfs.peers:Scipy", instance=_SEARCH),
    "networkit": Variant(
        "NetworKit's BFS, one thread; levels only, parents are derived after the time",
        cpu="saitan.bfs.peers:Networkit",
        peer=("networkit", "peers"),
        instance=_SEARCH,
    ),
    "networkit-closeness": Variant(
        "closeness: NetworKit's, generalised, a search a vertex on all cores",
        cpu="saitan.bfs.peers:NetworkitCloseness",
        peer=("networkit", "peers"),
        instance=_CLOSENESS,
    ),
    "cugraph": Variant(
        "cuGraph's direction-optimising BFS, levels and parents",
        cuda="saitan.bfs.peers:Cugraph",
        peer=("pylibcugraph", "cugraph"),
        instance=_SEARCH,
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


@dataclass(frozen=True)
class ManyResult:
    """What `solve_many` returns.

    levels   int8 [roots, n], int16 or int32 where there are more levels; -1 where a root does not lead
    parents  int32 [roots, n] as of `Result`; None unless asked for
    runs     times and counts, a launch each
    """

    levels: np.ndarray
    parents: np.ndarray | None
    runs: list[Run]


def instance(inputs: Mapping[str, Any], **parameters: Any) -> Graph | Asked:
    """The graph itself for searches from one root, Asked of it for other tasks; parameters as in INSTANCE.

    Raises ValueError for a parameter that is off, Unavailable for a graph without vertices.
    """
    graph, task = inputs["graph"], check_parameters("bfs", parameters, INSTANCE)["task"]
    if graph.n == 0:
        raise Unavailable(f"graph {graph.name} has no vertices")
    if task == "search":
        return graph
    from saitan.bfs.many import Asked

    return Asked(graph, task)


def _task(instance: Graph | Asked) -> str:
    return getattr(instance, "task", "search")


def _graph(instance: Graph | Asked) -> Graph:
    return instance if _task(instance) == "search" else instance.graph


def queries(instance: Graph | Asked, count: int, seed: int) -> list[int]:
    """`count` distinct roots that have an arc to another vertex, or all of them where there are fewer.

    Of many searches at once a query is one of the roots, with which the others are drawn. Closeness is one query, which
    says nothing. Raises Unavailable where there is no such root.
    """
    if _task(instance) == "closeness":
        return [0]
    from saitan.bfs.search import loops

    graph = _graph(instance)
    candidates = np.flatnonzero(graph.degrees - loops(graph.offsets, graph.targets))
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


def reference(instance: Graph | Asked, query: int) -> Reference | None:
    """Levels by SciPy's breadth_first_order, or closeness from those of eight vertices.

    None for a graph of more arcs than SciPy takes.
    """
    from saitan.bfs.peers import SCIPY_ARCS, scipy_closeness, scipy_levels

    by = "SciPy's breadth_first_order"
    graph = _graph(instance)
    if graph.m > SCIPY_ARCS:
        return None
    if _task(instance) != "closeness":
        return Reference(by, {"levels": scipy_levels(graph, query)})
    rows = np.unique(np.linspace(0, graph.n - 1, min(graph.n, 8)).astype(np.int64))
    return Reference(by, {"closeness": scipy_closeness(graph, rows)}, rows)


def differs(reference: Reference, answer: dict[str, np.ndarray]) -> str | None:
    """How levels differ from the reference's; parents are the validator's concern, as several are right.

    Closeness may differ by the rounding of a few operations.
    """
    if "closeness" in reference.arrays:
        wanted, got = reference.arrays["closeness"], answer["closeness"]
        wrong = np.flatnonzero(~np.isclose(got, wanted, rtol=1e-12, atol=0))
        if not len(wrong):
            return None
        row = int(wrong[0])
        return f"the closeness of vertex {reference.rows[row]} is {got[row]}, not {wanted[row]}"
    wanted, got = reference.arrays["levels"], answer["levels"]
    if got.shape != wanted.shape:
        return f"{got.shape} levels, not {wanted.shape}"
    wrong = np.flatnonzero(got != wanted)
    if not len(wrong):
        return None
    vertex = int(wrong[0])
    return f"{len(wrong):,} levels differ, the first at vertex {vertex}: {got[vertex]}, not {wanted[vertex]}"


def prepare(asked: Graph | Asked, variant: str, backend: str, **parameters: Any) -> Solver:
    """The Solver of a variant, uploaded. Raises ValueError for a variant or parameters that are off, Unavailable."""
    made = known_variant(VARIANTS, variant)
    given = check_parameters(f"bfs {variant}", parameters, made.parameters)
    task = _task(asked)
    if reason := made.unfit(backend, {"task": task}):
        raise Unavailable(f"{variant} {reason}")
    return made.load(backend, variant)(instance({"graph": _graph(asked)}, task=task), **given)


def solve(graph: Graph, root: int, variant: str = "fast", backend: str = "auto", **parameters: Any) -> Result:
    """Levels and parents from one root.

    Raises ValueError for an unknown variant or backend, for a parameter or a root that is off, Unavailable where the
    variant cannot run here.
    """
    made = _known(variant, "search")
    root = check_root(instance({"graph": checked_graph(graph)}), root)
    with closing(prepare(graph, variant, backend_for(made, backend), **parameters)) as solver:
        run = solver.run(root)
        answer = solver.answer()
        return Result(answer["levels"], answer["parents"], run)


def solve_many(
    graph: Graph, roots: Sequence[int] | np.ndarray, backend: str = "auto", *, parents: bool = False
) -> ManyResult:
    """Levels from many roots, and parents if asked for, by searches that go on 256 at a time.

    Raises ValueError for roots that are off, which it names, or an unknown backend; Unavailable where it cannot run.
    """
    from saitan.bfs.many import answer_all

    if not hasattr(roots, "__len__"):
        raise ValueError(f"roots must be a list or an array of vertices, not {roots!r}")
    searches = next(bits for bits in _SEARCHES.choices if bits >= min(len(roots), _SEARCHES.choices[-1]))
    chosen = backend_for(VARIANTS["fast-many"], backend)
    asked = instance({"graph": checked_graph(graph)}, task="many")
    with closing(prepare(asked, "fast-many", chosen, searches=searches, parents=parents)) as solver:
        return ManyResult(*answer_all(solver, roots, searches))


def closeness(graph: Graph, variant: str = "closeness", backend: str = "auto", **parameters: Any) -> np.ndarray:
    """Closeness of all vertices, float64 [n]: (r - 1)^2 / ((n - 1) s) for a vertex that reaches r vertices, itself
    included, whose levels have the sum s; arcs are followed outwards; 0 where a vertex reaches no other.

    Wasserman, Faust: Social network analysis. 1994. Raises as `solve` does.
    """
    made = _known(variant, "closeness")
    asked = instance({"graph": checked_graph(graph)}, task="closeness")
    with closing(prepare(asked, variant, backend_for(made, backend), **parameters)) as solver:
        solver.run(0)
        return solver.answer()["closeness"]


def _known(variant: str, task: str) -> Variant:
    """Raises ValueError for a variant that there is not."""
    return known_variant({name: made for name, made in VARIANTS.items() if task in made.instance["task"]}, variant)
