"""The tropical matrix product C = A (x) B over (min, +) and (max, +): paper T (Ino and others), its closure,
and blocked Floyd-Warshall on the same inner loop.

`tropical.matmul(a, b)` multiplies; `tropical.VARIANTS` are the algorithms that experiments compare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernels.problem import Solver, Variant, backend_for

if TYPE_CHECKING:
    import numpy as np

    from kernels.graph import Graph
    from kernels.tropical.instances import Instance

TITLE = "Tropical matrix product"

_SKIP = {"grain": str, "reuse": bool}
VARIANTS = {
    "untiled": Variant(
        "an entry of C a thread, operands from device memory",
        "kernels.tropical.cpu:Untiled",
        "kernels.tropical.cuda:Untiled",
        ("tiled",),
    ),
    "tiled": Variant(
        "tiles of 32 x 32 staged in shared memory, nothing skipped",
        "kernels.tropical.cpu:Tiled",
        "kernels.tropical.cuda:Tiled",
        ("tiled",),
    ),
    "skip-infinity": Variant(
        "tiled, skipping what an infinite factor absorbs",
        "kernels.tropical.cpu:SkipInfinity",
        "kernels.tropical.cuda:SkipInfinity",
        ("tiled",),
        _SKIP,
    ),
    "skip-both": Variant(
        "skip-infinity, and nothing more for an entry that has reached zero",
        "kernels.tropical.cpu:SkipBoth",
        "kernels.tropical.cuda:SkipBoth",
        ("tiled",),
        {**_SKIP, "neutral": bool},
    ),
    "fast": Variant(
        "register-tiled, three-input minima, operands packed and their infinite tiles skipped",
        "kernels.tropical.fast_cpu:Fast",
        "kernels.tropical.fast_cuda:Fast",
        ("fast",),
        {"reuse": bool, "skip": bool},
    ),
    "numpy": Variant("NumPy's broadcast sum and minimum.reduce", "kernels.tropical.peers:NumPy"),
}

INSTANCE = {
    "n": int,  # rows and columns; with a graph, of the leading block of its weight matrix
    "infinite": float,  # share of infinite entries
    "zero": float,  # share of zero entries among the rest
    "by": str,  # "tile" or "element": what is infinite or zero as a whole
    "tile": int,  # edge of those tiles
    "dtype": str,  # "float32", "int32", "uint16"
    "semiring": str,  # "min_plus", "max_plus"
    "seed": int,
    "order": str,  # of a graph's vertices: "bfs" or "file"
}

METRICS = {
    "tops": "2 m k n operations over the kernel time, 10^12 a second, whether skipped or not",
    "prepass_s": "seconds of the pre-pass within the kernel time (0 where it is reused)",
    "tiles_infinite": "share of the tiles of both matrices that are all infinite",
    "tiles_skipped": "share of the tile products that an infinite tile saves",
}


def instance(graph: Graph | None = None, **parameters: Any) -> Instance:
    """The matrices of an experiment, parameters as in INSTANCE (kernels.tropical.instances.make has the defaults)."""
    from kernels.tropical.instances import make

    return make(graph, **parameters)


def queries(instance: Instance, count: int, seed: int) -> list[int]:
    """There is one question, the product; the query is the seed of the rows that its validation draws."""
    return [seed]


def reference(instance: Instance, query: int) -> dict[str, np.ndarray]:
    """{"rows": drawn row numbers, "c": those rows of the product} by NumPy; all rows where the product is small."""
    from kernels.tropical.validate import product_rows, sampled_rows

    rows = sampled_rows(instance, query)
    return {"rows": rows, "c": product_rows(instance.a[rows], instance.b, instance.semiring)}


def differs(reference: dict[str, np.ndarray], answer: dict[str, np.ndarray]) -> str | None:
    """Where the rows of a reference and an answer's {"c": [m, n]} differ, exactly; None when nowhere."""
    from kernels.tropical.validate import mismatch

    rows = reference["rows"]
    return mismatch(rows, reference["c"], answer["c"][rows])


def prepare(instance: Instance, variant: str, backend: str, **parameters: Any) -> Solver:
    """The solver of a variant on "cpu" or "cuda". Raises Unavailable where it cannot run."""
    return VARIANTS[variant].load(backend)(instance, **parameters)


def solve(a, b, semiring: str = "min_plus", variant: str = "fast", backend: str = "auto", **parameters: Any):
    """A (x) B of two NumPy matrices [m, k] and [k, n] by any variant, as a NumPy array [m, n].

    Raises ValueError for operands that do not fit each other or the semiring, Unavailable where it cannot run.
    """
    from kernels.tropical.instances import Instance
    from kernels.tropical.operands import checked_pair

    chosen = backend_for(VARIANTS[variant], backend)
    solver = prepare(Instance(*checked_pair(a, b, semiring), semiring), variant, chosen, **parameters)
    try:
        solver.run(0)
        return solver.answer()["c"]
    finally:
        solver.close()
