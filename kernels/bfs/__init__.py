"""Breadth-first search by the rules of Graph500: levels and parents from one root.

    from saitan import bfs
    result = bfs.solve(graph, root, variant="fast", backend="auto")
    result.levels, result.parents, result.run.counters["teps"]

The variants of paper H (Hirakushi, Takahashi: hybrid BFS on a GPU cluster) on one machine, `fast`, and other people's
solvers, on the CPU (Numba) and on a GPU (PyCUDA), all behind `solve` and behind the contract of kernels/problem.py.

Read the files in this order:

    variants.py      inputs, outputs, parameters, variants and metrics
    search.py        the switching rule, the loop over the levels, counts for Graph500
    cpu_step.py      a level over a block of the adjacency matrix; on a GPU level.cu with cuda_step.py
    cpu.py, cuda.py  the variants of paper H on one machine; cuda_share.py shares a level between CPU and GPU
    validate.py      Graph500's rules; validate.cu for the device
    cluster.py       paper H over processes: partition.py, cluster_blocks.py (who holds what), cluster_step.py (what a
                     process does with what all found), cluster_code.py (bitmaps in fewer bytes), cluster_validate.py;
                     cpu_cluster.py; cuda_cluster.py with cuda_cluster_part.py, cuda_cluster_peers.py and cluster.cu;
                     cuda_cluster_share.py; cluster_count.py and cluster_model.py for more processes than there are
    layout.py        what `fast` searches, on the device arrange.py with arrange_lib.cu; trial.py chooses its engine
    cpu_fast.py      `fast` on the CPU: cpu_levels.py, cpu_parts.py
    cuda_fast.py     `fast` on the GPU: fast.cu (a resident grid), road.cu (one block)
    cuda_gpus.py     `fast` on several GPUs: spread.py, gpus.cu, cuda_gpus_apart.py
    hops.py          roads by sssp's solvers: cuda_hops.py with tree.cu, cpu_phast.py, cuda_phast.py
    many.py          `fast-many`: cpu_many.py; cuda_many.py with many.cu, many_answer.cu and many_parents.cu
    peers.py         other people's solvers
    NOTES.md         what bounds each variant, measurements, what did not help
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from saitan.bfs.variants import HEADLINE, INPUTS, INSTANCE, METRICS, OUTPUTS, TITLE, TRACES, VARIANTS
from saitan.blocks import check_output
from saitan.calls import (
    checked_both_ways,
    checked_count,
    checked_graph,
    checked_inputs,
    checked_vertex,
    described,
)
from saitan.graph_input import shown
from saitan.problem import Reference, Run, Solver, Unavailable, Variant, backend_for, check_parameters, known_variant
from saitan.solver import prepared, tells_query

if TYPE_CHECKING:
    from saitan.arc_parts import ArcParts
    from saitan.bfs.many import Asked
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
    "ManyResult",
    "Result",
    "check_root",
    "closeness",
    "differs",
    "instance",
    "prepare",
    "queries",
    "reference",
    "solve",
    "solve_many",
]


@dataclass(frozen=True, eq=False)
class Result:
    """What `solve` returns.

    levels   int32 [n]: arcs on a shortest path from the root, -1 where it does not lead
    parents  int32 [n]: the vertex before on such a path; the root is its own, -1 where it does not lead
    run      times and counts (saitan.solver.Run)
    """

    levels: np.ndarray
    parents: np.ndarray
    run: Run


@dataclass(frozen=True, eq=False)
class ManyResult:
    """What `solve_many` returns.

    levels   int8 [roots, n], int16 or int32 where there are more levels; -1 where a root does not lead
    parents  int32 [roots, n] as of `Result`; None unless asked for
    runs     times and counts (saitan.solver.Run), one a launch
    """

    levels: np.ndarray
    parents: np.ndarray | None
    runs: list[Run]


def instance(inputs: Mapping[str, Any], **parameters: Any) -> Graph | Asked:
    """The graph itself for searches from one root, Asked of it for other tasks; parameters as in INSTANCE.

    Raises ValueError for what is no graph or a parameter that is off, Unavailable for a graph without vertices.
    """
    checked_inputs("bfs", inputs, INPUTS)
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
    says nothing. Raises ValueError for what is no graph, and a count or seed that is none; Unavailable where there is
    no such root.
    """
    count, seed = checked_count("count", count), checked_count("seed", seed)
    if _task(instance) == "closeness":
        return [0]
    from saitan.components import leading_on

    graph = checked_graph(_graph(instance))
    candidates = np.flatnonzero(leading_on(graph.offsets, graph.targets))
    if not len(candidates):
        raise Unavailable(f"graph {graph.name} has no root to search from: no vertex has an arc to another one")
    drawn = np.random.default_rng(seed).choice(candidates, min(count, len(candidates)), replace=False)
    return [int(root) for root in drawn]


def check_root(graph: Graph, root: Any) -> int:
    """The root as an int. Raises ValueError for what is no graph, no vertex of it, or has no arc to another one."""
    return _usable_root(checked_graph(graph), root)


def _usable_root(graph: Graph, root: Any) -> int:
    number = checked_vertex("root", root, graph.n)
    row = graph.targets[graph.offsets[number] : graph.offsets[number + 1]]
    if not (row != number).any():
        raise ValueError(f"root {number} of graph {graph.name} reaches nothing: no arc goes from it to another vertex")
    return number


def reference(instance: Graph | Asked, query: int) -> Reference | None:
    """Levels by SciPy's breadth_first_order, or closeness from those of eight vertices.

    None for a graph of more arcs than SciPy takes. Raises ValueError for what is no graph, and a root that reaches
    nothing or is no vertex.
    """
    from saitan.bfs.peers import SCIPY_ARCS, scipy_closeness, scipy_levels

    by = "SciPy's breadth_first_order"
    graph = checked_graph(_graph(instance))
    if graph.m > SCIPY_ARCS:
        return None
    if _task(instance) != "closeness":
        return Reference(by, {"levels": scipy_levels(graph, _usable_root(graph, query))})
    rows = np.unique(np.linspace(0, graph.n - 1, min(graph.n, 8)).astype(np.int64))
    return Reference(by, {"closeness": scipy_closeness(graph, rows)}, rows)


def differs(reference: Reference | None, answer: dict[str, np.ndarray]) -> str | None:
    """How levels differ from the reference's; parents are the validator's concern, as several are right.

    Closeness may differ by the rounding of a few operations. None also where there is no reference.
    """
    if reference is None:
        return None
    if line := reference.misshapen(answer, *reference.arrays):
        return line
    if "closeness" in reference.arrays:
        wanted, got = reference.arrays["closeness"], answer["closeness"]
        wrong = np.flatnonzero(~np.isclose(got, wanted, rtol=1e-12, atol=0))
        if not len(wrong):
            return None
        row = int(wrong[0])
        return f"the closeness of vertex {reference.rows[row]} is {got[row]}, not {wanted[row]}"
    wanted, got = reference.arrays["levels"], answer["levels"]
    wrong = np.flatnonzero(got != wanted)
    if not len(wrong):
        return None
    vertex = int(wrong[0])
    return f"{len(wrong):,} levels differ, the first at vertex {vertex}: {got[vertex]}, not {wanted[vertex]}"


def prepare(asked: Graph | ArcParts | Asked, variant: str, backend: str, **parameters: Any) -> Solver:
    """The Solver of a variant on "cpu" or "cuda", with what it needs on the device. A query is as of `queries`.

    asked: a graph, or what `instance` made of it; for a variant on several ranks it may be one in parts. The solver
    answers for the graph as it is now: after a write into its arrays another one is wanted. One that is undirected by
    its metadata must hold both arcs of each edge: `solve` looks, this does not, and `validate` sees a wrong answer.
    Raises ValueError for what is no graph, a backend other than these two, and a variant or parameter that is unknown
    or off; Unavailable where it cannot run here or not on this graph.
    """
    chosen = known_variant(VARIANTS, variant)
    given = check_parameters(variant, parameters, chosen.parameters)
    task = _task(asked)
    if reason := chosen.unfit(backend, {"task": task}):
        raise Unavailable(f"{variant} {reason}")
    graph = checked_graph(_graph(asked), chosen.parts)
    check = partial(checked_count, "query") if task == "closeness" else partial(_usable_root, graph)
    if chosen.parts:
        check = partial(checked_vertex, "root", n=graph.n)  # its ranks look for arcs of the root together
    solver = prepared(chosen.load(backend, variant), check, instance({"graph": graph}, task=task), **given)
    return tells_query(solver, "root") if task == "search" else solver


def _answering(task: str) -> dict[str, Variant]:
    """The variants that answer a task, by name; one that says nothing of tasks answers each."""
    return {name: variant for name, variant in VARIANTS.items() if task in variant.instance.get("task", (task,))}


def _checked(graph: Any) -> Graph:
    return checked_both_ways(checked_graph(graph), weighted=False)


@described(_answering("search"))
def solve(graph: Graph, root: int, variant: str = "fast", backend: str = "auto", **parameters: Any) -> Result:
    """Levels and parents of a search from one root along the arcs.

    graph       directed or undirected; its weights are not read
    root        a vertex number in [0, graph.n), of a vertex with an arc to another one
    variant     a name of those below
    backend     "cpu", "cuda", or "auto": the GPU where there is one and the variant has it
    parameters  of the variant, below

    Raises ValueError for what is no graph or undirected by its metadata alone, a root that is no vertex or leads
    nowhere, an unknown variant or backend, and a parameter that is off; Unavailable where the variant cannot run here.
    """
    chosen = known_variant(_answering("search"), variant)
    graph = instance({"graph": _checked(graph)})
    root = _usable_root(graph, root)
    with closing(prepare(graph, variant, backend_for(chosen, backend), **parameters)) as solver:
        run = solver.run(root)
        answer = solver.answer()
        for name in ("levels", "parents"):
            check_output(name, answer.get(name), (graph.n,), OUTPUTS[name].dtype)
        return Result(answer["levels"], answer["parents"], run)


def _shape(values: Any) -> tuple[int, ...]:
    """The shape of an array or a list; () of lists of different lengths."""
    try:
        return np.shape(values)
    except ValueError:
        return ()


def solve_many(
    graph: Graph, roots: Sequence[int] | np.ndarray, backend: str = "auto", *, parents: bool = False
) -> ManyResult:
    """Levels from many roots, and parents if asked for, by `fast-many`: up to 256 searches at once.

    graph    directed or undirected; its weights are not read
    roots    a list or an array [roots] of vertex numbers, each of a vertex with an arc to another one
    backend  as of `solve`
    parents  whether they are wanted too

    Raises ValueError naming a root that is no vertex or leads nowhere, and for an unknown backend; Unavailable where it
    cannot run here or memory has no room for the answer.
    """
    from saitan.bfs.many import answer_all, check_answer

    if isinstance(roots, type) or not hasattr(roots, "__len__") or _shape(roots) == ():
        raise ValueError(f"roots must be a list or an array of vertices, not {shown(roots)}")
    sizes = VARIANTS["fast-many"].parameters["searches"].choices
    searches = next(size for size in sizes if size >= min(len(roots), sizes[-1]))
    chosen = backend_for(VARIANTS["fast-many"], backend)
    asked = instance({"graph": _checked(graph)}, task="many")
    check_answer(len(roots), searches, asked.graph, 5 if parents else 1)
    with closing(prepare(asked, "fast-many", chosen, searches=searches, parents=parents)) as solver:
        return ManyResult(*answer_all(solver, roots, searches))


@described(_answering("closeness"))
def closeness(graph: Graph, variant: str = "closeness", backend: str = "auto", **parameters: Any) -> np.ndarray:
    """Closeness of all vertices, float64 [n], after Wasserman and Faust: Social network analysis, 1994.

    That of a vertex is (r - 1)^2 / ((n - 1) s), where r counts the vertices that it reaches along the arcs, itself
    included, and s is the sum of their levels; 0.0 where s is 0 as in NetworkX: it reaches no other.
    Raises as `solve` does.
    """
    chosen = known_variant(_answering("closeness"), variant)
    asked = instance({"graph": _checked(graph)}, task="closeness")
    with closing(prepare(asked, variant, backend_for(chosen, backend), **parameters)) as solver:
        solver.run(0)
        found = solver.answer().get("closeness")
        check_output("closeness", found, (graph.n,), OUTPUTS["closeness"].dtype)
        return found
