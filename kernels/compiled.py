"""Numba's njit with a cache on disk that follows all code of saitan.

Numba's own goes by the file of the function alone: where a function that it calls from another file has changed, the
former code would run. Of files outside saitan those are followed whose functions it calls itself; what these call in
turn is not, nor constants (the workflow has a folder of compiled code for each state of such files). Two processes that
save at the same time may also write to one file, each for other types.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import time
from collections.abc import Callable, Iterator
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

from saitan.errors import Unavailable
from saitan.own_code import code_digest, elsewhere_digest

# By which Numba makes other code of the same functions, beside the processor, which its keys hold.
_SETTINGS = (
    *("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DISABLE_INTEL_SVML"),
    *("LLVM_REFPRUNE_PASS", "LLVM_REFPRUNE_FLAGS", "EXTEND_VARIABLE_LIFETIMES"),
)


class _File(IndexDataCacheFile):
    """Compiled code that says what it was compiled from and for which types; other code is none."""

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (self._source_stamp, key, data))

    def load(self, key: Any) -> Any:
        stamp, types, data = super().load(key) or (None, None, None)
        return data if (stamp, types) == (self._source_stamp, key) else None


class _Cache(FunctionCache):
    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        settings = tuple(repr(getattr(numba.config, name, None)) for name in _SETTINGS)
        stamp = self._impl.locator.get_source_stamp(), code_digest(), elsewhere_digest(function), settings
        self._cache_file = _File(self._cache_path, self._impl.filename_base, stamp)


def njit(function: Callable | None = None, **options: Any) -> Callable:
    """numba.njit with its options. What is compiled is kept on disk, where Numba finds a folder that can be written.

    Raises Unavailable where Numba compiles nothing.
    """
    if numba.config.DISABLE_JIT:
        raise Unavailable("Numba is told to compile nothing, and much here runs compiled only: unset NUMBA_DISABLE_JIT")
    if function is None:
        return functools.partial(njit, **options)
    compiled = numba.njit(**options)(function)
    # What calls a generator from a cache does not compile.
    if not inspect.isgeneratorfunction(function):
        with contextlib.suppress(RuntimeError):  # there is no such folder
            compiled._cache = _Cache(function)
    return compiled


def in_turn(count: int, least: int) -> Iterator[slice]:
    """Rows 0 to count - 1, at least so many at a time, each time twice as many while that takes under half a second.

    An interrupt is heeded only between compiled calls.
    """
    first, some = 0, least
    while first < count:
        begun = time.perf_counter()
        yield slice(first, min(first + some, count))
        first, seconds = first + some, time.perf_counter() - begun
        if seconds < 0.5:
            some *= 2
        elif seconds > 1:
            some = max(least, some // 2)
