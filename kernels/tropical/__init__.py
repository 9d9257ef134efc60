"""The tropical matrix product C = A (x) B over (min, +) and (max, +): paper T (Ino and others).

    from saitan import tropical
    c = tropical.matmul(a, b)              # arrays of NumPy, or on the device
    closed = tropical.floyd_warshall(a)
    tropical.path(a, closed, 3, 7)

`closure`, `floyd_warshall` and `path` run the dense solvers of `apsp`. `solve` runs any of VARIANTS, the algorithms
that experiments compare.

Read the files in this order:

    variants.py      inputs, outputs, parameters, variants and metrics
    semiring.py      infinities, the types, the mirror between the two semirings
    instances.py     the matrices of an experiment
    cpu.py, cuda.py  the paper's variants, tiled.cu: skipping.py, attributes.py
    cpu_fast.py      `fast` on the CPU
    cuda_fast.py     `fast` on the GPU: cuda_packed.py, fast.cu with numbers.cuh, pack.cuh and product.cuh; of small
                     products cuda_small.py, small.cu
    validate.py      how answers are checked: cpu_validate.py; cuda_validate.py with validate.cu
    multiply.py      `matmul`: operands.py, cuda_multiply.py
    peers.py         other people's solvers
    NOTES.md         what bounds each variant, measurements, what did not help
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from saitan.blocks import check_output
from saitan.calls import checked_count, checked_flag, checked_inputs, checked_vertex, described
from saitan.problem import Reference, Solver, backend_for, check_parameters, known_variant
from saitan.solver import prepared, typed
from saitan.tropical.semiring import INFINITE, SumOverflow, infinity
from saitan.tropical.variants import HEADLINE, INPUTS, INSTANCE, METRICS, OUTPUTS, TITLE, VARIANTS

if TYPE_CHECKING:
    from saitan.tropical.instances import Instance

# The number that stands for infinity in a matrix of each type; minus it over (max, +).
INFINITY_FLOAT32 = INFINITE["float32"]  # inf
INFINITY_INT32 = INFINITE["int32"]  # 2^30 - 1 = 1,073,741,823
INFINITY_UINT16 = INFINITE["uint16"]  # 2^15 - 1 = 32,767; over (min, +) only

__all__ = [
    "HEADLINE",
    "INFINITY_FLOAT32",
    "INFINITY_INT32",
    "INFINITY_UINT16",
    "INPUTS",
    "INSTANCE",
    "METRICS",
    "OUTPUTS",
    "TITLE",
    "VARIANTS",
    "SumOverflow",
    "check_instance",
    "closure",
    "differs",
    "floyd_warshall",
    "instance",
    "matmul",
    "path",
    "prepare",
    "queries",
    "reference",
    "solve",
]


def check_instance(data: str, /, **parameters: Any) -> dict[str, Any]:
    """All parameters of the matrices of an experiment. Raises ValueError, as problem.py says."""
    chosen = check_parameters("tropical", parameters, INSTANCE, data)
    infinity(chosen["dtype"], chosen["semiring"])
    if chosen["tile"] is not None and chosen["by"] != "tile":
        raise ValueError(f"tile goes with by tile, not {chosen['by']}")
    return chosen


def instance(inputs: Mapping[str, Any], **parameters: Any) -> Instance:
    """The matrices of an experiment: random ones, or with a graph the leading block of its weights times itself.

    Raises ValueError naming the input or parameter (of INSTANCE) that is off; Unavailable for what the graph does not
    have, a weight that the type cannot hold, and where memory does not hold them.
    """
    from saitan.tropical.instances import make

    checked_inputs("tropical", inputs, INPUTS)
    return make(inputs.get("graph"), **check_instance("given" if inputs else "generated", **parameters))


def queries(instance: Instance, count: int, seed: int) -> list[int]:
    """There is one question, the product; the query is the seed of the rows that its validation draws.

    Raises ValueError for a count or seed that is none.
    """
    checked_count("count", count)
    return [checked_count("seed", seed)]


def reference(instance: Instance, query: int) -> Reference:
    """Drawn rows of the answer, by NumPy.

    Raises ValueError for what `instance` did not make and a query that is none.
    """
    from saitan.tropical.instances import made
    from saitan.tropical.validate import drawn_rows, product_rows

    instance = made(instance)
    rows = drawn_rows(instance, checked_count("query", query))
    return Reference("NumPy", {"c": product_rows(instance.a[rows], instance.b, instance.semiring)}, rows)


def differs(reference: Reference, answer: dict[str, np.ndarray]) -> str | None:
    """Where the rows of a reference and the same rows of an answer's "c" differ; None when nowhere."""
    from saitan.tropical.validate import mismatch

    if line := reference.misshapen(answer, "c"):
        return line
    return mismatch(reference.rows, reference.arrays["c"], answer["c"])


def prepare(instance: Instance, variant: str, backend: str, **parameters: Any) -> Solver:
    """The Solver of a variant on "cpu" or "cuda", with what it needs on the device. A query is as of `queries`.

    It answers for the matrices as they are now: after a write into them another one is wanted.
    Raises ValueError for what `instance` did not make, a backend other than these two, and a variant or parameter that
    is unknown or off; Unavailable where it cannot run here.
    """
    from saitan.tropical.instances import made

    chosen, instance = known_variant(VARIANTS, variant), made(instance)
    given = check_parameters(variant, parameters, chosen.parameters)
    solver = prepared(chosen.load(backend, variant), partial(checked_count, "query"), instance, **given)
    return typed(solver, c=(instance.a.dtype,))


@described(VARIANTS)
def solve(a, b, semiring: str = "min_plus", variant: str = "fast", backend: str = "auto", **parameters: Any):
    """A (x) B of two NumPy matrices [m, k] and [k, n] by any variant, as a NumPy array [m, n] of their dtype.

    semiring    "min_plus" or "max_plus"; dtypes and infinities as in `matmul`
    variant     a name of those below
    backend     "cpu", "cuda", or "auto": the GPU where there is one and the variant has it
    parameters  of the variant, below

    Raises ValueError for operands that do not fit each other or the semiring, and for a variant, parameter or backend
    that is unknown or off; SumOverflow (an OverflowError) for a finite sum that reaches infinity; Unavailable where the
    variant cannot run here, or memory has no room.
    """
    from saitan.tropical.instances import Instance
    from saitan.tropical.operands import checked_pair, checked_sums

    a, b = checked_pair(a, b, semiring)
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError(f"solve multiplies two matrices, not arrays {a.shape} and {b.shape}: matmul takes batches")
    backend = backend_for(known_variant(VARIANTS, variant), backend)
    with closing(prepare(Instance(a, b, semiring), variant, backend, **parameters)) as solver:
        solver.run(0)
        c = solver.answer().get("c")
        check_output("c", c, (len(a), b.shape[1]))
    checked_sums(c, a, b, semiring)
    return c


def matmul(a, b, semiring: str = "min_plus", out=None, *, accumulate: bool = False, backend: str = "auto"):
    """A (x) B over (min, +) or (max, +) for arrays [..., m, k] and [..., k, n] of float32, int32 or uint16.

    a, b        of one dtype; leading dimensions broadcast. NumPy arrays give a NumPy array; arrays on the device, which
                have __cuda_array_interface__ (PyCUDA, CuPy, torch, Numba) and any strides, give a PyCUDA GPUArray
    semiring    "min_plus" or "max_plus"
    out         where to write: of the result's shape and dtype, on the device with contiguous rows; a new array if None
    accumulate  whether the result is the minimum (maximum) of the product and what is in `out`
    backend     "cpu", "cuda" or "auto", for NumPy arrays

    An entry that is not there is infinity: INFINITY_FLOAT32 (inf), INFINITY_INT32 (2^30 - 1) or INFINITY_UINT16
    (2^15 - 1) over (min, +); over (max, +) minus that, which uint16 does not have. Integers are non-negative
    (non-positive over (max, +)) and no further from 0 than infinity; floats have either sign.

    Raises ValueError for operands (or an `out` to accumulate in) that do not fit or that the semiring cannot hold, and
    for an `out` that shares memory with an operand or overlaps itself; SumOverflow (an OverflowError) for a finite sum
    that reaches the dtype's infinity; Unavailable where the backend cannot run or memory has no room. After a
    SumOverflow, and on the device after a refused operand of a product that is not accumulated, `out` is of no use:
    products of a batch before the one at fault, and on the device parts of that one, are in it.
    """
    from saitan.tropical.multiply import multiply

    return multiply(a, b, semiring, out, checked_flag("accumulate", accumulate), backend_for(VARIANTS["fast"], backend))


def closure(a, semiring: str = "min_plus", backend: str = "auto"):
    """The sum of all powers of a NumPy matrix [n, n], the identity (zeros on the diagonal) included, as [n, n].

    Over (min, +) these are the lengths of the shortest paths between all vertices. The matrix is squared until nothing
    changes. Entries must be non-negative (non-positive over (max, +)); dtypes and infinities are those of `matmul`.
    Raises ValueError and SumOverflow as `solve` does, Unavailable also where memory has no room for it.
    """
    return _closed(a, semiring, "closure", backend)


def floyd_warshall(a, semiring: str = "min_plus", backend: str = "auto"):
    """The same as `closure`, by blocked Floyd-Warshall."""
    return _closed(a, semiring, "floyd-warshall-blocked", backend)


def path(a, closed, source: int, target: int, semiring: str = "min_plus") -> np.ndarray:
    """The vertices of a best path between two, both included; int32, in order, empty if there is none.

    a: a NumPy matrix [n, n]; closed: what `closure` or `floyd_warshall` makes of it. Checks all of `a` as they do, then
    takes O(n) time a vertex looked at, along tight arcs (those on a best path to the target).
    Raises ValueError for what they refuse, for a vertex that is none, for matrices that do not belong together.
    """
    from saitan.apsp.dense import checked_square
    from saitan.apsp.paths import walk
    from saitan.tropical.operands import as_matrix

    a, closed = checked_square(a, semiring), as_matrix(closed)
    if closed.shape != a.shape or closed.dtype != a.dtype:
        raise ValueError(f"{a.dtype} {a.shape} and {closed.dtype} {closed.shape} are no matrix and its closure")
    ends = (checked_vertex(name, vertex, len(a)) for name, vertex in (("source", source), ("target", target)))
    return walk(a, closed, *ends, semiring)


def _closed(a, semiring: str, variant: str, backend: str):
    """The closure by a variant of `apsp` for dense matrices."""
    from saitan import apsp
    from saitan.apsp.dense import checked_square
    from saitan.tropical.semiring import mirrored

    a = checked_square(a, semiring, copies=5)
    backend = backend_for(known_variant(apsp.VARIANTS, variant), backend)
    if not len(a):
        return a.copy()
    given = apsp.instance({"matrix": mirrored(a, semiring)})
    with closing(apsp.prepare(given, variant, backend)) as solver:
        solver.run([0, len(a)])
        return mirrored(solver.answer()["distances"], semiring)
