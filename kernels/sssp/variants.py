"""What sssp declares: inputs, outputs, parameters, variants, metrics, as kernels/problem.py describes them."""

from __future__ import annotations

from saitan.problem import BACKENDS, Input, Metric, Output, Parameter, Trace, Variant

TITLE = "Single-source shortest paths"

INPUTS = {"graph": Input("graph", "with weights")}

OUTPUTS = {"distances": Output("[n], of the weights' type, or its 64-bit one where one does not fit")}

TRACES = {
    "updated": Trace("vertices whose distance changed (fast: vertices relaxed)"),
    "mode": Trace("selection or conventional", text=True),
    "listed": Trace("entries of the list at the phase's end, -1 where there is none", none=-1),
    "threads": Trace("threads started"),
    "relaxations": Trace("arcs looked at"),
    "hops": Trace("hops between two exchanges"),
    "repeated": Trace("changes to a vertex already relaxed"),
}

HEADLINE = "time"

_PHASES = dict.fromkeys(BACKENDS, ("updated", "mode", "listed", "threads"))

VARIANTS = {
    "conventional": Variant(
        "one thread per vertex in every phase (Harish and Narayanan; paper S, Algorithms 1 to 3)",
        cpu="saitan.sssp.cpu:Conventional",
        cuda="saitan.sssp.cuda:Conventional",
        cubins=("phases", "validate"),
        traces=_PHASES,
    ),
    "selection": Variant(
        "one thread per listed vertex in every phase (paper S, Algorithms 5 and 6)",
        cpu="saitan.sssp.cpu:Selection",
        cuda="saitan.sssp.cuda:Selection",
        cubins=("phases", "validate"),
        traces=_PHASES,
    ),
    "adaptive": Variant(
        "switches between the two by the time of a phase (paper S, Algorithm 4)",
        cpu="saitan.sssp.cpu:Adaptive",
        cuda="saitan.sssp.cuda:Adaptive",
        cubins=("phases", "validate"),
        traces=_PHASES,
        parameters={
            "threshold_up": Parameter(
                float,
                None,
                "phase time in us above which it starts a thread per vertex; calibrated if absent, by two runs of each"
                " way",
                least=0,
            ),
            "threshold_down": Parameter(
                float, None, "phase time in us below which it goes back to the list", least=0, within="threshold_up"
            ),
        },
    ),
    "fast": Variant(
        "delta-stepping: with bucket fusion on the CPU; by one of two persistent kernels on the GPU",
        cpu="saitan.sssp.cpu_fast:Fast",
        cuda="saitan.sssp.cuda_fast:Fast",
        cubins=("fast", "broad", "chains", "walks", "phast", "validate"),
        traces={"cpu": ("updated", "relaxations"), "cuda": ("updated", "listed", "hops", "repeated")},
        parameters={
            "delta": Parameter(
                float, None, "how far the bound rises at a time, in the weights' unit; chosen if absent", above=0
            )
        },
        architecture="sm_80",
    ),
    "fast-many": Variant(
        "several sources in one launch of fast's persistent kernel; times are the launch's divided by their number",
        cuda="saitan.sssp.cuda_fast:FastMany",
        cubins=("fast", "validate"),
        parameters={"sources": Parameter(int, 64, "sources a launch", least=1)},
        architecture="sm_80",
    ),
    "phast": Variant(
        "one sweep down a contraction hierarchy, whose preparation is timed apart (prepare_s); integer weights (PHAST)",
        cpu="saitan.sssp.cpu_phast:Phast",
        cuda="saitan.sssp.cuda_phast:Phast",
        cubins=("phast", "validate"),
        graph=("integer",),
        parameters={"core": Parameter(int, None, "vertices left uncontracted; chosen if absent", least=1, most=16384)},
        architecture="sm_80",
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
    "phases": Metric("phases, steps, hops or levels until nothing changed"),
    "listed": Metric("vertices appended to the write list, all phases together"),
    "threads": Metric("threads started, all phases together"),
    "switches": Metric("changes between selection and conventional"),
    "threshold_up_us": Metric("phase time above which the adaptive variant starts a thread per vertex", "us"),
    "threshold_down_us": Metric("phase time below which the adaptive variant goes back to the list", "us"),
    "rounds": Metric("exchanges between the blocks of a persistent kernel"),
    "relaxations": Metric("arcs relaxed, all phases together; by a hierarchy its own, and entries of its core's table"),
    "blocks": Metric("blocks that worked together"),
    "engine": Metric("what `fast` ran on the GPU: 1 queues of blocks, 2 phases of the grid, 3 both, 4 a hierarchy"),
    "levels": Metric("breadth-first levels from a vertex of the largest degree, by which `fast` chooses"),
    "degree": Metric("arcs a vertex, parallel ones counted once, by which `fast` chooses"),
    "sweeps": Metric("phases that looked at every vertex"),
    "pulled": Metric("arcs into vertices that pulled, which are relaxations too"),
    "width": Metric("how far the bound rises at a time, or the width of a bucket, in the weights' unit"),
    "shortcuts": Metric("arcs that the contraction added"),
    "searched": Metric("vertices that are searched, where chains and hanging trees were taken out"),
    "prepare_s": Metric("seconds of contraction or calibration, before any query", "s"),
    "distance_bits": Metric("bits of a distance: 64 where 32 overflowed"),
}
