"""What bfs declares: inputs, outputs, parameters, variants, metrics, as kernels/problem.py describes them."""

from __future__ import annotations

from saitan.problem import BACKENDS, Input, Metric, Output, Parameter, Trace, Variant

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

_SEARCHED = {"task": ("search", "many")}
_SEARCH, _MANY, _CLOSENESS = ({"task": (task,)} for task in ("search", "many", "closeness"))

OUTPUTS = {
    "levels": Output("[n], arcs from the root, -1 where it does not lead", _SEARCHED, "int32"),
    "parents": Output("[n], the vertex before; the root is its own, -1 where it does not lead", _SEARCHED, "int32"),
    "closeness": Output("[n], of all vertices along the arcs, after Wasserman and Faust", _CLOSENESS, "float64"),
}

METRICS = {
    "teps": Metric("input edges within what was reached, a second (Graph500)", "TEPS", over="harmonic", better="more"),
    "teps_median": Metric("the same, of which paper H gives the median", "TEPS", better="more"),
    "roots": Metric("roots of the searches that share the time"),
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
    "direction": Trace("top-down or bottom-up", text=True),
    "frontier": Trace("vertices of the level"),
    "inspected": Trace("arcs looked at"),
    "compute": Trace("seconds of the slowest rank's computation", "s"),
    "communication": Trace("seconds in which the slowest rank's messages moved", "s"),
    "waiting": Trace("seconds of the rank that waited longest", "s"),
    "sent": Trace("bytes that all ranks sent", "bytes"),
}

HEADLINE = "teps"

_LEVELS = ("direction", "frontier", "inspected")
_TWINS = dict.fromkeys(BACKENDS, _LEVELS)

_ALPHA = Parameter(float, 10.0, "to bottom-up when more than |E| / alpha arcs leave the frontier", above=0)
_BETA = Parameter(float, 14.0, "back to top-down when the frontier has fewer than |V|^2 / (beta |E|) vertices", above=0)
_RATIO = Parameter(
    str,
    "1:3",
    "CPU : GPU; measured: by the speeds of the levels before",
    choices=("0:1", "1:3", "1:1", "measured"),
)
# Numbers of processes that the partition takes.
_PAIRS = (1, 2, 8, 32, 128, 512, 2048, 8192)
_COMPRESS = Parameter(
    bool, False, "whether MPI sends a frontier as distances between its vertices where that is shorter"
)

_SEARCHES = Parameter(int, 256, "searches that go on at once, a bit each", choices=(32, 64, 128, 256))

VARIANTS = {
    "hybrid": Variant(
        "top-down or bottom-up, chosen every level (paper H, sections 2 and 3)",
        cpu="saitan.bfs.cpu:Hybrid",
        cuda="saitan.bfs.cuda:Hybrid",
        cubins=("level", "validate"),
        parameters={"alpha": _ALPHA, "beta": _BETA},
        instance=_SEARCH,
        traces=_TWINS,
    ),
    "top-down": Variant(
        "every level from the frontier's vertices (paper H, Fig 1; expand and contract on the GPU)",
        cpu="saitan.bfs.cpu:TopDown",
        cuda="saitan.bfs.cuda:TopDown",
        cubins=("level", "validate"),
        instance=_SEARCH,
        traces=_TWINS,
    ),
    "bottom-up": Variant(
        "every level from the vertices not yet reached (paper H, Figs 2, 4 and 6)",
        cpu="saitan.bfs.cpu:BottomUp",
        cuda="saitan.bfs.cuda:BottomUp",
        cubins=("level", "validate"),
        instance=_SEARCH,
        traces=_TWINS,
    ),
    "cpu-gpu": Variant(
        "the hybrid with every level's vertices shared between CPU and GPU (paper H, section 3.3)",
        cuda="saitan.bfs.cuda_share:Shared",
        cubins=("level",),
        parameters={"alpha": _ALPHA, "beta": _BETA, "ratio": _RATIO},
        instance=_SEARCH,
        traces={"cuda": _LEVELS},
    ),
    "cluster": Variant(
        "the hybrid over many processes, the matrix in pairs of transposed blocks (paper H, section 2.4)",
        cpu="saitan.bfs.cpu_cluster:Cluster",
        cuda="saitan.bfs.cuda_cluster:Cluster",
        cubins=("level", "cluster"),
        parameters={
            "alpha": _ALPHA,
            "beta": _BETA,
            "exchange": Parameter(
                str,
                "auto",
                "through host memory by MPI (overlapped: while the GPU computes), by reading peers' memory, or by NCCL",
                choices=("auto", "host", "overlapped", "peer", "nccl"),
            ),
            "compress": _COMPRESS,
        },
        peer=("mpi4py", "mpi"),
        ranks=_PAIRS,
        parts=True,
        instance=_SEARCH,
        traces=dict.fromkeys(BACKENDS, tuple(TRACES)),
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
        traces={"cuda": tuple(TRACES)},
    ),
    "fast": Variant(
        "vertices by falling degree, a resident grid for the whole search; roads by sssp's hops or a queue",
        cpu="saitan.bfs.cpu_fast:Fast",
        cuda="saitan.bfs.cuda_fast:Fast",
        cubins=("fast", "road", "tree", "arrange_lib", "validate", "sssp/fast"),
        instance=_SEARCH,
        traces={"cuda": _LEVELS},
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
        traces={"cuda": _LEVELS},
    ),
    "phast": Variant(
        "one sweep down sssp's contraction hierarchy with arcs of length 1; its preparation is the construction",
        cpu="saitan.bfs.cpu_phast:Phast",
        cuda="saitan.bfs.cuda_phast:Phast",
        cubins=("tree", "validate", "sssp/phast"),
        instance=_SEARCH,
        architecture="sm_80",
    ),
    "fast-many": Variant(
        "many searches at once, a bit each, by one sweep of the arcs a level; times are of all of them together",
        cpu="saitan.bfs.cpu_many:FastMany",
        cuda="saitan.bfs.cuda_many:FastMany",
        cubins=("many", "many_answer", "many_parents", "arrange_lib", "tree", "validate"),
        parameters={
            "searches": _SEARCHES,
            "parents": Parameter(bool, False, "parents of all searches within the time, too", alike=(False,)),
        },
        instance=_MANY,
    ),
    "closeness": Variant(
        "searches from all vertices, many at once",
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
        "NetworKit's generalised closeness, a search a vertex on all cores",
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
