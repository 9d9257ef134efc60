"""What apsp declares: inputs, outputs, parameters, variants, metrics, as kernels/problem.py describes them."""

from __future__ import annotations

from saitan.problem import Form, Input, Metric, Output, Parameter, Variant

TITLE = "All-pairs shortest paths"

INPUTS = {
    "graph": Input("graph", "with weights", optional=True),
    "matrix": Input("array", "[n, n] of weights, infinity where there is no arc", True, ("float32", "int32", "uint16")),
}

_REDUCED = {"answer": ("reductions",)}

OUTPUTS = {
    "distances": Output("[sources, n], a row a source, of types as of sssp", {"answer": ("matrix", "slabs")}),
    "eccentricity": Output("[sources], the largest distance to a vertex reached", _REDUCED),
    "reached": Output("[sources], vertices reached, the source included", _REDUCED),
    "total": Output("[sources], sum of the distances to them", _REDUCED),
    "closeness": Output("[sources], (reached - 1)^2 / ((n - 1) total)", _REDUCED),
}

FORMS = {
    "coded": Form(
        "the whole matrix of a graph, row against row, without loss (kernels/apsp/FORMAT.md): apsp.open reads it",
        ("distances",),
        "saitan.apsp.coding:keep",
        "saitan.apsp.stored:Matrix",
        ("graph",),
        {"sources": 0},
    )
}

HEADLINE = "entries_s"

_TASKS = {"tasks": Parameter(int, 32, "sources that advance together (the paper's P)", (8, 16, 32, 64, 128))}

_DENSE = ("dense", "diagonal", "validate", "tropical/fast", "tropical/validate")

# Of a variant that cannot take a matrix.
_GRAPH = ("graph",)

# What takes slabs: to reduce them, and to code them for a file.
_SLABS = ("reduce", "packing", "validate")

# Of a variant whose slabs several ranks can share.
_SHARED = range(1, 4097)

# Of a variant whose answer does not leave in slabs.
_WHOLE = {"answer": ("matrix",)}

VARIANTS = {
    "iterated": Variant(
        "one source at a time, one thread per vertex in every phase (Harish and Narayanan; paper O, section 3)",
        cpu="saitan.apsp.cpu:Iterated",
        cuda="saitan.apsp.cuda:Iterated",
        cubins=("batched", *_SLABS),
        inputs=_GRAPH,
        ranks=_SHARED,
    ),
    "batched": Variant(
        "tasks advance together, their vertex's arcs staged in shared memory (paper O, section 4)",
        cpu="saitan.apsp.cpu:Batched",
        cuda="saitan.apsp.cuda:Batched",
        cubins=("batched", *_SLABS),
        parameters=_TASKS,
        inputs=_GRAPH,
        ranks=_SHARED,
    ),
    "batched-unshared": Variant(
        "tasks advance together, each reading the arcs for itself (paper O, Table 1)",
        cpu="saitan.apsp.cpu:BatchedUnshared",
        cuda="saitan.apsp.cuda:BatchedUnshared",
        cubins=("batched", *_SLABS),
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
        architecture="sm_80",
    ),
    "closure": Variant(
        "the whole matrix, squared by the min-plus product of tropical until nothing changes",
        cpu="saitan.apsp.cpu_dense:Closure",
        cuda="saitan.apsp.cuda_dense:Closure",
        cubins=_DENSE,
        instance=_WHOLE,
        architecture="sm_80",
    ),
    "fast": Variant(
        "sweep on maps, few arcs of dense matrices, the quickest on small graphs; otherwise near-far, a source a block",
        cpu="saitan.apsp.cpu_fast:Fast",
        cuda="saitan.apsp.cuda_fast:Fast",
        cubins=("fast", "combine", "sweep", "batched", "few_arcs", "reduce", "packing", *_DENSE),
        ranks=_SHARED,
        architecture="sm_80",
    ),
    "sweep": Variant(
        "many sources at once down a contraction hierarchy, prepared apart (prepare_s); integer weights (PHAST)",
        cpu="saitan.apsp.cpu_sweep:Swept",
        cuda="saitan.apsp.cuda_sweep:Swept",
        cubins=("sweep", *_SLABS),
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
        together=("slabs", "reductions"),
    ),
    "n": Parameter(
        int, 1024, "vertices of a random matrix, where neither graph nor matrix is given", data="generated", least=1
    ),
    "infinite": Parameter(
        float, 0.0, "share of its entries that are infinite: no arc", data="generated", least=0, most=1
    ),
    "dtype": Parameter(str, "float32", "of its entries", ("float32", "int32", "uint16"), "generated"),
    "seed": Parameter(int, 1, "of its entries", data="generated", least=0),
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
    "searched": Metric("sources that were searched; the rows of the others are minima of rows that are there"),
    "prepare_s": Metric(
        "seconds that contracting, or choosing the sources to search, took, before any query", "s", better="less"
    ),
    "work_bytes": Metric("memory of the graph and the work arrays, without the matrix", "bytes", better="less"),
    "paper_bytes": Metric(
        "the same by the paper's formula: 4 |V| + 2 |E| words, or (3 P + 1) |V| + 2 |E| for P tasks", "bytes"
    ),
    "arcs_row": Metric("arcs a row of a dense matrix that sufficed; 0 where blocked Floyd-Warshall closed it"),
    "squarings": Metric("products until the closure no longer changed"),
    "tops": Metric("2 n^3 operations over the kernel time, of a variant for dense matrices", "TOP/s", better="more"),
    "distance_bits": Metric("width of a distance: 64 where 32 bits overflowed"),
}
