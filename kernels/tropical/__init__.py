"""The tropical matrix product C = A (x) B over (min, +) and (max, +): paper T (Ino and others).

    from saitan import tropical
    c = tropical.matmul(a, b)              # arrays of NumPy, or on the device
    closed = tropical.floyd_warshall(a)
    tropical.path(a, closed, 3, 7)

Closures and their paths are those of `apsp` for dense matrices.

`tropical.VARIANTS` are the algorithms that experiments compare. Read the files in this order: semiring.py (infinities,
the types), instances.py (the matrices of an experiment), cpu.py and tiled.cu with cuda.py (the paper's variants, with
skipping.py and attributes.py), cpu_fast.py, cuda_packed.py and cuda_fast.py with fast.cu, numbers.cuh, pack.cuh and
product.cuh (`fast`), then validate.py, cpu_validate.py and cuda_validate.py with validate.cu (how answers are checked).
multiply.py, cuda_multiply.py and operands.py are `matmul`, peers.py other people's solvers. NOTES.md: floors and
measurements.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from saitan.calls import checked_vertex, described
from saitan.problem import (
    Input,
    Metric,
    Parameter,
    Reference,
    Solver,
    Variant,
    backend_for,
    check_parameters,
    known_variant,
)
from saitan.tropical.semiring import INFINITE

if TYPE_CHECKING:
    from saitan.tropical.instances import Instance

# The number that stands for infinity in a matrix of each type; minus it over (max, +).
INFINITY_FLOAT32 = INFINITE["float32"]  # inf
INFINITY_INT32 = INFINITE["int32"]  # 2^30 - 1 = 1,073,741,823
INFINITY_UINT16 = INFINITE["uint16"]  # 2^15 - 1 = 32,767; over (min, +) only

TITLE = "Tropical matrix product"

INPUTS = {"graph": Input("graph", "whose weights are the matrix; random matrices without one", optional=True)}

OUTPUTS = {"c": "[m, n], the product"}

HEADLINE = "tops"

_REUSE = {"reuse": Parameter(bool, False, "keep the tables of tiles from one product to the next")}
_GRAINS = ("tile", "warp", "element", "tile+warp", "tile+element", "warp+element", "tile+warp+element")


def _skipping(grain: str) -> dict[str, Parameter]:
    return {"grain": Parameter(str, grain, "what is skipped as a whole", _GRAINS), **_REUSE}


VARIANTS = {
    "untiled": Variant(
        "an entry of C a thread, operands from device memory",
        cpu="saitan.tropical.cpu:Untiled",
        cuda="saitan.tropical.cuda:Untiled",
        cubins=("tiled", "validate"),
    ),
    "tiled": Variant(
        "tiles of 32 x 32 staged in shared memory, nothing skipped",
        cpu="saitan.tropical.cpu:Tiled",
        cuda="saitan.tropical.cuda:Tiled",
        cubins=("tiled", "validate"),
    ),
    "skip-infinity": Variant(
        "tiled, skipping what an infinite factor absorbs",
        cpu="saitan.tropical.cpu:SkipInfinity",
        cuda="saitan.tropical.cuda:SkipInfinity",
        cubins=("tiled", "validate"),
        parameters=_skipping("tile"),
    ),
    "skip-both": Variant(
        "skip-infinity, and nothing more for an entry that has reached zero",
        cpu="saitan.tropical.cpu:SkipBoth",
        cuda="saitan.tropical.cuda:SkipBoth",
        cubins=("tiled", "validate"),
        parameters={
            **_skipping("tile+element"),
            "neutral": Parameter(bool, False, "a tile that is the identity is a copy of the other factor"),
        },
    ),
    "fast": Variant(
        "register-tiled, three-input minima, operands packed and their infinite tiles skipped",
        cpu="saitan.tropical.cpu_fast:Fast",
        cuda="saitan.tropical.cuda_fast:Fast",
        cubins=("fast", "validate"),
        parameters=_REUSE,
        architecture="sm_80",
    ),
    "dense": Variant(
        "fast, infinite tiles computed like any others",
        cpu="saitan.tropical.cpu_fast:Dense",
        cuda="saitan.tropical.cuda_fast:Dense",
        cubins=("fast", "validate"),
        parameters=_REUSE,
        architecture="sm_80",
    ),
    "numpy": Variant("NumPy's broadcast sum and minimum.reduce", cpu="saitan.tropical.peers:NumPy"),
}

INSTANCE = {
    "n": Parameter(int, 1024, "rows and columns; with a graph, of the leading block of its weight matrix", least=1),
    "infinite": Parameter(float, 0.0, "share of infinite entries", least=0, most=1),
    "zero": Parameter(float, 0.0, "share of zero entries among the rest", least=0, most=1),
    "by": Parameter(str, "tile", "what is infinite or zero as a whole", ("tile", "element")),
    "tile": Parameter(int, 128, "edge of those tiles", least=1),
    "dtype": Parameter(str, "float32", "of the entries", ("float32", "int32", "uint16")),
    "semiring": Parameter(str, "min_plus", "the one to multiply over", ("min_plus", "max_plus")),
    "seed": Parameter(int, 1, "of the random entries", least=0),
    "order": Parameter(str, "bfs", "of a graph's vertices", ("bfs", "file")),
}

METRICS = {
    "tops": Metric("2 m k n operations over the kernel time, whether skipped or not", "TOP/s", better="more"),
    "prepass_s": Metric("the pre-pass within the kernel time (0 where it is reused)", "s"),
    "tiles_infinite": Metric("share of the tiles of both matrices that are all infinite"),
    "tiles_skipped": Metric("share of the tile products that an infinite tile saves"),
}


def instance(inputs: Mapping[str, Any], **parameters: Any) -> Instance:
    """The matrices of an experiment: random ones, or with a graph the leading block of its weights times itself.

    Raises ValueError naming the parameter (of INSTANCE) that is off, or a weight that the type cannot hold.
    """
    from saitan.tropical.instances import make

    return make(inputs.get("graph"), **check_parameters("tropical", parameters, INSTANCE))


def queries(instance: Instance, count: int, seed: int) -> list[int]:
    """There is one question, the product; the query is the seed of the rows that its validation draws."""
    return [seed]


def reference(instance: Instance, query: int) -> Reference:
    """Drawn rows of the answer, by NumPy."""
    from saitan.tropical.validate import drawn_rows, product_rows

    rows = drawn_rows(instance, query)
    return Reference("NumPy", {"c": product_rows(instance.a[rows], instance.b, instance.semiring)}, rows)


def differs(reference: Reference, answer: dict[str, np.ndarray]) -> str | None:
    """Where the rows of a reference and the same rows of an answer's "c" differ; None when nowhere."""
    from saitan.tropical.validate import mismatch

    return mismatch(reference.rows, reference.arrays["c"], answer["c"])


def prepare(instance: Instance, variant: str, backend: str, **parameters: Any) -> Solver:
    """The solver of a variant on "cpu" or "cuda".

    Raises ValueError for a variant or parameter that is unknown or off, Unavailable where it cannot run.
    """
    chosen = known_variant(VARIANTS, variant)
    return chosen.load(backend, variant)(instance, **check_parameters(variant, parameters, chosen.parameters))


@described(VARIANTS)
def solve(a, b, semiring: str = "min_plus", variant: str = "fast", backend: str = "auto", **parameters: Any):
    """A (x) B of two NumPy matrices [m, k] and [k, n] by any variant, as a NumPy array [m, n].

    Types and infinities as in `matmul`. Raises ValueError for operands that do not fit each other or the semiring, and
    for a variant or parameter that is unknown; SumOverflow (an OverflowError) for a finite sum that reaches infinity;
    Unavailable where it cannot run.
    """
    from saitan.tropical.instances import Instance
    from saitan.tropical.operands import checked_pair, checked_sums

    a, b = checked_pair(a, b, semiring)
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError(f"solve multiplies two matrices, not arrays {a.shape} and {b.shape}: matmul takes batches")
    backend = backend_for(known_variant(VARIANTS, variant), backend)
    solver = prepare(Instance(a, b, semiring), variant, backend, **parameters)
    try:
        solver.run(0)
        c = solver.answer()["c"]
    finally:
        solver.close()
    checked_sums(c, a, b, semiring)
    return c


def matmul(a, b, semiring: str = "min_plus", out=None, *, accumulate: bool = False, backend: str = "auto"):
    """A (x) B over (min, +) or (max, +) for arrays [..., m, k] and [..., k, n] of float32, int32 or uint16.

    NumPy arrays give a NumPy array, computed on `backend`; arrays with __cuda_array_interface__ (PyCUDA, CuPy, torch,
    Numba), of any strides, give a PyCUDA GPUArray. Leading dimensions broadcast. out: where to write (contiguous;
    on the device its last dimension), and what the result is the minimum (maximum) with, if accumulate.
    What is not there is infinity: INFINITY_FLOAT32 (inf), INFINITY_INT32 (2^30 - 1) or INFINITY_UINT16 (2^15 - 1) over
    (min, +); over (max, +) minus that, which uint16 does not have. Integers are non-negative (non-positive for
    max_plus) and no further from 0 than infinity; floats have either sign.
    Raises ValueError for operands (or an out to accumulate in) that do not fit or that the semiring cannot hold, and
    for an out that shares memory with an operand; SumOverflow for a finite sum that reaches the type's infinity;
    Unavailable where the backend cannot run.
    """
    from saitan.tropical.multiply import multiply

    return multiply(a, b, semiring, out, accumulate, backend_for(VARIANTS["fast"], backend))


def closure(a, semiring: str = "min_plus", backend: str = "auto"):
    """The sum of all powers of a NumPy matrix [n, n], the zeroth (zeros on the diagonal) included, as [n, n].

    By repeated squaring, which ends when nothing changes. Entries must be non-negative (non-positive for max_plus);
    types and infinities as in `matmul`. Raises ValueError, SumOverflow and Unavailable as `solve` does.
    """
    return _closed(a, semiring, "closure", backend)


def floyd_warshall(a, semiring: str = "min_plus", backend: str = "auto"):
    """As `closure`, by blocked Floyd-Warshall."""
    return _closed(a, semiring, "floyd-warshall-blocked", backend)


def path(a, closed, source: int, target: int, semiring: str = "min_plus") -> np.ndarray:
    """The vertices of a best path between two, both included; int32, empty if there is none.

    a: a NumPy matrix [n, n]; closed: what `closure` or `floyd_warshall` makes of it. Checks all of a once, as they do,
    then takes O(n) a vertex of the path; nothing is kept beside the two. Raises ValueError for what they refuse, for a
    vertex that is none, for matrices that do not belong together.
    """
    from saitan.apsp.dense import checked_square
    from saitan.apsp.paths import walk
    from saitan.tropical.operands import as_matrix

    a, closed = checked_square(a, semiring), as_matrix(closed)
    if closed.shape != a.shape or closed.dtype != a.dtype:
        raise ValueError(f"{a.dtype} {a.shape} and {closed.dtype} {closed.shape} are no matrix and its closure")
    for name, vertex in (("source", source), ("target", target)):
        checked_vertex(name, vertex, len(a))
    return walk(a, closed, source, target, semiring)


def _closed(a, semiring: str, variant: str, backend: str):
    from saitan.apsp.dense import checked_square, closed
    from saitan.tropical.semiring import mirrored

    return mirrored(closed(mirrored(checked_square(a, semiring), semiring), variant, backend), semiring)
