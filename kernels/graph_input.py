"""Arrays from outside, checked and converted before any compiled code sees them.

Whatever NumPy can take is accepted by position (a pandas Series too, whose labels are ignored). A conversion keeps
every value or is refused with one line that names the first value that is off. Checks go block by block, so that they
need no second array of all arcs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

MAX_VERTICES = 2**31 - 1
MAX_WEIGHT = 2**32 - 1
# The largest float64 that float32 rounds to a finite number: what lies half a step above float32's largest is infinite.
MAX_REAL = np.nextafter((2 - 2.0**-24) * 2.0**127, 0)
_BLOCK = 1 << 20
# The bits of float32's infinity.
_INFINITY = 0x7F800000
# Bytes that rows take while arcs are sorted into them, a vertex and an arc (with a weight); below the least that is
# forecast no process runs out of memory.
_VERTEX, _ARC, _LEAST = 13, 8, 1 << 26


WITHOUT_GAPS = "pandas.factorize or numpy.unique numbers those without gaps"


class GraphError(ValueError):
    """The arrays are no graph; the message is one line that says why."""


def vertex_count(n: Any) -> int:
    """n as an int. Raises GraphError unless it is a whole number from 0 to MAX_VERTICES."""
    try:
        count = operator.index(n)
    except TypeError:
        count = None
    if count is None or isinstance(n, (bool, np.bool_)):
        raise GraphError(f"n, the number of vertices, must be a whole number, not {shown(n)}")
    if count < 0:
        raise GraphError(f"n, the number of vertices, must be at least 0, not {count}")
    if count > MAX_VERTICES:
        raise GraphError(f"{count:,} vertices: int32 ids hold at most {MAX_VERTICES:,}")
    return count


def check_memory(n: int, m: int, vertex: int = _VERTEX) -> None:
    """Raise GraphError where rows of n vertices (`vertex` bytes each) and m arcs are more than memory has room for."""
    needed = vertex * n + _ARC * m
    if needed < _LEAST:
        return
    from saitan.memory import available_memory, in_words

    if needed > (available := available_memory()):
        raise GraphError(
            f"{n:,} vertices and {m:,} arcs need about {in_words(needed)} of memory, but "
            f"{in_words(available)} are available; where few of the numbers occur, {WITHOUT_GAPS}"
        )


def vertices(values: Any, n: int, side: str) -> np.ndarray:
    """int32 [m]: the ends of arcs, `side` of which ("source", "target") they are.

    Raises GraphError unless they are whole numbers in [0, n).
    """
    array = _numbers(values, f"{side}s")
    if array.dtype == np.int32 and array.view(np.uint32).max(initial=0) < n:
        return np.ascontiguousarray(array)
    whole = array.dtype.kind != "f"
    end = n if whole else np.float64(n)  # a shorter type may not hold n
    with np.errstate(invalid="ignore"):
        arc = _first(array, lambda v: ~((v >= 0) & (v < end) & (whole or v == np.floor(v))))
    if arc is not None:
        value = array[arc].item()
        if not np.isinf(value) and value % 1 != 0:
            raise GraphError(f"arc {arc}: {side} {value} is not a whole number")
        if n == MAX_VERTICES and value > 0:
            raise GraphError(f"arc {arc}: {side} {value}: int32 ids end at {n - 1:,}; {WITHOUT_GAPS}")
        raise GraphError(f"arc {arc}: {side} {value} is not in [0, {n:,})")
    return np.ascontiguousarray(array, np.int32)


def row_offsets(values: Any) -> np.ndarray:
    """int64 [n + 1]. Raises GraphError unless the values ascend from 0 and are at least one."""
    array = _numbers(values, "offsets")
    if array.dtype.kind == "f" and (place := _first(array, lambda v: v != np.floor(v))) is not None:
        raise GraphError(f"offsets[{place}] is {array[place].item()}: a whole number is right")
    if not len(array):
        raise GraphError("offsets must have an entry more than there are vertices, at least one")
    if len(array) - 1 > MAX_VERTICES:
        raise GraphError(f"{len(array) - 1:,} vertices: int32 ids hold at most {MAX_VERTICES:,}")
    if array[0] != 0:
        raise GraphError(f"offsets[0] is {array[0].item()}: 0 is right")
    falls = array[1:] < array[:-1]
    if falls.any():
        place = int(falls.argmax()) + 1
        raise GraphError(
            f"offsets[{place}] is {array[place].item()}, less than offsets[{place - 1}], {array[place - 1].item()}"
        )
    if not float(array[-1]) < 2**62:
        raise GraphError(f"offsets end with {array[-1].item()}, more arcs than there can be")
    return np.ascontiguousarray(array, np.int64)


def arc_weights(values: Any, m: int) -> np.ndarray:
    """uint32 (from integers) or float32 (from real numbers) [m].

    Raises GraphError unless there is one an arc, finite, non-negative, and kept exactly by that type.
    """
    array = _numbers(values, "weights")
    if len(array) != m:
        raise GraphError(f"{len(array):,} weights for {m:,} arcs")
    if array.dtype == np.uint32:
        return np.ascontiguousarray(array, np.uint32)
    if array.dtype.kind in "iu":
        _refuse(array, lambda w: (w < 0) | (w > MAX_WEIGHT), f"a whole number from 0 to {MAX_WEIGHT} is right")
        return np.ascontiguousarray(array, np.uint32)
    # As a whole number no bits of a sign, of infinity or of a NaN are less than infinity's.
    if array.dtype == np.float32 and array.view(np.uint32).max(initial=0) < _INFINITY:
        return np.ascontiguousarray(array)
    _check_reals(array)
    _refuse(
        array,
        lambda w: w.astype(np.float32) != w,
        "float32 does not hold it exactly; weights.astype(numpy.float32) rounds, of a list numpy.float32(weights)",
        values,
    )
    return _float32(array)


def rounded_weights(values: Any) -> tuple[np.ndarray, dict[str, float] | None]:
    """Real numbers of any type as float32 [m], and how far that is from them, None where it is exact.

    "count" says how many weights are changed, "relative" by how much at most (1 where one becomes 0).
    Raises GraphError for weights that are negative, not finite or beyond float32.
    """
    array = _numbers(values, "weights")
    _check_reals(array)
    rounded = _float32(array)
    inexact = None
    for start in range(0, len(array), _BLOCK):
        block = slice(start, start + _BLOCK)
        inexact = joined_inexact(inexact, rounding(array[block], rounded[block]))
    return rounded, inexact


def rounding(values: np.ndarray, rounded: np.ndarray) -> dict[str, float] | None:
    """How many of `rounded` differ from `values`, and by how much at most, relative; None where none does."""
    off = np.flatnonzero(rounded != values)
    if not len(off):
        return None
    apart = np.abs(rounded[off].astype(np.float64) - values[off]) / values[off]
    return {"count": len(off), "relative": float(apart.max())}


def joined_inexact(one: dict[str, float] | None, other: dict[str, float] | None) -> dict[str, float] | None:
    """What `rounding` says of two blocks together."""
    if one is None or other is None:
        return one or other
    return {"count": one["count"] + other["count"], "relative": max(one["relative"], other["relative"])}


def rounded_in_words(inexact: dict[str, float], of: str = "") -> str:
    """What `rounding` says, in words. of: of how many, such as "of 9 "."""
    count, most = inexact["count"], inexact["relative"]
    return f"{count:,} {of}weights are rounded to float32, by {most:.2g} of their value at most"


def plane(values: Any, n: int) -> np.ndarray:
    """float64 [n, 2]: coordinates. Raises GraphError for another shape or what is no number."""
    array = _array(values, "coordinates")
    if array.shape != (n, 2):
        raise GraphError(f"coordinates must have the shape ({n}, 2), not {array.shape}")
    if array.dtype.kind not in "iuf":
        raise GraphError(f"coordinates must be numbers, not {array.dtype}")
    return np.ascontiguousarray(array, np.float64)


def vertex_labels(values: Any, n: int) -> np.ndarray:
    """int64 or str [n]. Raises GraphError for anything else, numbers beside texts among it."""
    array = _array(values, "labels")
    if array.ndim == 1 and (array.dtype.kind in "OT" or (array.dtype.kind == "U" and array is not values)):
        array = _listed_labels(np.asarray(values, object).tolist())
    if array.shape != (n,) or array.dtype.kind not in "iuU":
        raise GraphError(f"labels must be {n:,} whole numbers or texts, not {array.dtype} of shape {array.shape}")
    if array.dtype.kind == "U":
        return array
    if (vertex := _first(array, lambda label: label > np.iinfo(np.int64).max)) is not None:
        raise GraphError(f"labels[{vertex}] is {array[vertex].item()}: at most 2^63 - 1 is right")
    return np.ascontiguousarray(array, np.int64)


def _listed_labels(names: list) -> np.ndarray:
    others = [place for place, name in enumerate(names) if not isinstance(name, str)]
    if not others:
        return label_texts(names)
    if len(others) < len(names):
        place = others[0]
        raise GraphError(f"labels[{place}] is {shown(names[place])} beside texts: all numbers or all texts is right")
    return _array(names, "labels")


def label_texts(names: list[str]) -> np.ndarray:
    """str [n]. Raises GraphError for one that ends in a NUL."""
    for place, name in enumerate(names):
        if name.endswith("\0"):
            raise GraphError(f"labels[{place}] is {shown(name)}: NumPy drops a NUL at the end: another text is right")
    return np.array(names, np.str_)


def _check_reals(array: np.ndarray) -> None:
    _refuse(array, lambda w: ~((w >= 0) & (w < np.inf)), "a finite number of at least 0 is right")
    _refuse(array, lambda w: w > MAX_REAL, f"float32 holds at most {np.finfo(np.float32).max:.8g}")


def _float32(array: np.ndarray) -> np.ndarray:
    """As float32, and -0.0 as 0.0: kernels that compare floats by their bits would take it for the largest."""
    with np.errstate(under="ignore"):
        array = np.ascontiguousarray(array, np.float32)
    return array if _first(array, np.signbit) is None else array + np.float32(0)


def _refuse(array: np.ndarray, wrong: Callable[[np.ndarray], np.ndarray], right: str, given: Any = None) -> None:
    """Raise GraphError for the first weight that is wrong; given: what the array was made of."""
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        arc = _first(array, wrong)
    if arc is not None:
        value = array[arc].item() if given is None else np.asarray(given, object)[arc]
        raise GraphError(f"arc {arc}: the weight is {value}: {right}")


def _first(array: np.ndarray, wrong: Callable[[np.ndarray], np.ndarray]) -> int | None:
    """Number of the first entry that is wrong; None if none is."""
    for start in range(0, len(array), _BLOCK):
        found = wrong(array[start : start + _BLOCK])
        if found.any():
            return start + int(found.argmax())
    return None


def unboxed(values: Any, what: str) -> np.ndarray:
    """The values as an array; Python numbers beside each other, such as a column of pandas that lost its type, of the
    type that holds them. An integer beside real numbers that float64 does not hold is the next float64, if float32
    would hold the nearest. Raises GraphError naming `what` for what is no array, and for masked entries.
    """
    array = _array(values, what)
    if array.dtype == object:
        values = array.tolist()
        array = _array(values, what)
    if array.dtype == np.float64 and array.ndim == 1 and not _has_type(values):
        return _with_integers(array, values, what)
    return array


def _has_type(values: Any) -> bool:
    """Whether its numbers have a type of their own, even where there are none: an array, or a buffer."""
    with suppress(TypeError):
        memoryview(values)
        return True
    return hasattr(values, "__array__")


def _with_integers(array: np.ndarray, values: Any, what: str) -> np.ndarray:
    """float64 of Python's and NumPy's numbers, where integers may be among those from 2^53 on; uint64 where all are
    integers, whose types NumPy may have no other one for.
    """
    if not any(issubclass(kind, float | np.floating) for kind in set(map(type, values))):
        with suppress(TypeError, OverflowError):
            return np.array([operator.index(value) for value in values], np.uint64)
    for place in np.flatnonzero(np.abs(array) >= 2**53):
        try:
            exact = operator.index(values[place])
        except TypeError:
            continue
        nearest = array[place].item()
        if exact != nearest and np.float32(nearest) == nearest:
            array[place] = np.nextafter(nearest, np.copysign(np.inf, exact - int(nearest)))
    return array


def _numbers(values: Any, what: str) -> np.ndarray:
    """A one-dimensional array of integers or real numbers, in the machine's byte order."""
    array = unboxed(values, what)
    if not array.ndim:
        raise GraphError(f"{what} must be a list or an array, not {shown(values)}")
    if array.ndim != 1:
        raise GraphError(f"{what} must be one-dimensional, not of shape {array.shape}")
    if not len(array) and array.dtype.kind not in "iuf":
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iuf":
        kind: Any = array.dtype
        if array.dtype == object:
            odd = next((type(value).__name__ for value in array if not isinstance(value, int | float)), "int")
            how = ": .astype(float) makes numbers of them" if odd == "Decimal" else ""
            kind = f"something that is missing, no number or beyond 64 bits ({odd}){how}"
        raise GraphError(f"{what} must be numbers, not {kind}")
    return array


def _array(values: Any, what: str) -> np.ndarray:
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise GraphError(f"{what}: {int(values.mask.sum())} of them are masked: fill them or leave them out")
    try:
        array = np.asarray(values)
    except Exception as error:  # other people's __array__ may raise anything
        raise GraphError(f"{what} cannot become an array: {str(error).partition(chr(10))[0]}") from error
    if (place := truth_value_among(values, array)) is not None:
        raise GraphError(f"{what}: entry {place} is a truth value beside numbers")
    return array


def truth_value_among(values: Any, array: np.ndarray) -> int | None:
    """Place of the first truth value in a list of numbers, row by row; None if there is none.

    array: what NumPy made of the list, 0 and 1 for truth values. Of arrays in a list only the type is looked at.
    """
    if not isinstance(values, list | tuple) or array.dtype.kind not in "iufc":
        return None
    looked_into = list, tuple, bool, np.bool_, np.ndarray
    if not any(issubclass(kind, looked_into) for kind in set(map(type, values))):
        return None
    for place, entry in enumerate(values):
        truth = isinstance(entry, bool) or getattr(entry, "dtype", None) == np.bool_
        within = 0 if truth else truth_value_among(entry, array[place])
        if within is not None:
            return place * array[place].size + within
    return None


def shown(value: Any) -> str:
    """What the value is, in a part of a line."""
    return shortened(repr(value))


def shortened(text: str) -> str:
    """The beginning of a text's first line, as much as goes into a part of a line."""
    text = text.partition("\n")[0]
    return text if len(text) <= 60 else text[:57] + "..."


class _Writable:
    """What NumPy makes an array of that is not read-only."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__ | {"data": (array.ctypes.data, False)}


def as_compiled(array: np.ndarray) -> np.ndarray:
    """The array itself, or a view of it where it is read-only: Numba would compile every kernel anew for such arrays.

    For kernels that only read it. Writing to the view ends the process where a file is mapped.
    """
    return array if array.flags.writeable else np.asarray(_Writable(array))
