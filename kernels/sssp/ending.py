"""How a query ends on every backend, and how it is run again where an array was too small."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from saitan.cuda.constants import constants
from saitan.errors import Invalid, Unavailable
from saitan.sssp import unreachable

T = TypeVar("T")

_ENDING = constants("sssp", "ending.cuh")
TOO_LONG = _ENDING["TOO_LONG"]  # a path's length did not fit the distances' type
FULL = _ENDING["FULL"]  # a queue had no room left
TIMED_OUT = _ENDING["TIMED_OUT"]  # a block did not arrive


def widened_type(dtype: np.typing.DTypeLike) -> np.dtype:
    """The 64-bit type for sums that a 32-bit type does not hold.

    Raises Invalid for a 64-bit type: 2^31 weights of 32 bits have a sum that fits it, so the answer was wrong.
    """
    dtype = np.dtype(dtype)
    if dtype.itemsize == 8:
        raise Invalid(f"a path is too long for {dtype}")
    return np.dtype(np.uint64 if dtype.kind == "u" else np.float64)


def answer_types(weights: np.typing.DTypeLike) -> tuple[np.dtype, np.dtype]:
    """The types of distances: that of the weights, and its 64-bit type for those that do not fit it."""
    return np.dtype(weights), widened_type(weights)


def narrowed(distances: np.ndarray, dtype: np.typing.DTypeLike) -> np.ndarray:
    """Distances in the weights' type where all of them fit it.

    Which sums a variant forms on the way is its own affair. With this the type depends on the distances alone.
    """
    if distances.dtype == dtype:
        return distances
    limit = unreachable(dtype)
    with np.errstate(over="ignore"):
        narrow = np.minimum(distances, limit).astype(dtype)
    fits = np.array_equal(narrow == limit, distances == unreachable(distances.dtype))
    return narrow if fits else distances


def run_until_it_fits(
    attempt: Callable[[], tuple[int, T]],
    widen: Callable[[], None],
    grow: Callable[[], None] | None = None,
    timed_out: str = "",
) -> T:
    """What `attempt` returns once its arrays were large enough.

    attempt    answers the query; returns how it ended (TOO_LONG, FULL, TIMED_OUT or'ed together, or 0) and a result
    widen      takes 64-bit distances, after TOO_LONG
    grow       takes larger queues, after FULL
    timed_out  the message of Unavailable, raised after TIMED_OUT
    """
    while True:
        ended, result = attempt()
        if ended & TIMED_OUT:
            raise Unavailable(timed_out)
        if ended & TOO_LONG:
            widen()
        elif ended & FULL:
            grow()
        else:
            return result
