"""Numba in a step: loaded without what no kernel needs, its compilations counted, its cache shared by processes."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import importlib.abc
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from saitan.own_code import code_digest

# How the names of folders of compiled code begin.
_COMPILED = "saitan-"


def numba_cache(base: Path, elsewhere: Mapping[str, str] | None = None) -> Path:
    """The folder of `base` for the package as it is: Numba's own keys miss changes in imported functions.

    One of its kind is taken as it is: it is that of the process which started this one.
    elsewhere: what else may be compiled in, files of the user's own and installed packages -> what tells their state
    """
    if base.name.startswith(_COMPILED):
        return base
    own = f"-{hashlib.sha256(repr(sorted(elsewhere.items())).encode()).hexdigest()[:16]}" if elsewhere else ""
    return base.resolve() / f"{_COMPILED}{code_digest()[:16]}{own}"


class _Absent(importlib.abc.MetaPathFinder):
    """Finds one module to be missing."""

    def __init__(self, module: str) -> None:
        self._module = module

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        if name == self._module:
            raise ModuleNotFoundError(f"{name} is left out", name=name)


@contextlib.contextmanager
def absent(module: str) -> Iterator[None]:
    """Within it an import of a module that is not loaded yet fails, as where it is not installed.

    For modules that a library imports only because they are there, at the cost of a large part of a step's overhead.
    """
    finder = _Absent(module)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def load_numba(backend: str = "cpu") -> None:
    """Load Numba without SciPy's BLAS, which no kernel calls and which takes 0.2 to 0.4 s to load.

    For a GPU nothing is loaded: Numba leaves that out at its first use, if there is one.
    """
    if backend != "cpu" and "numba" not in sys.modules:
        return
    from numba.core.cpu import CPUContext
    from numba.core.registry import cpu_target

    load = CPUContext.load_additional_registries

    @functools.wraps(load)
    def without_blas(self: Any) -> None:
        with absent("scipy.linalg"):
            load(self)

    if not hasattr(load, "__wrapped__"):
        CPUContext.load_additional_registries = without_blas
    if backend == "cpu":
        cpu_target.target_context.refresh()
    save_one_at_a_time()


_compilations = 0


def compilations() -> int:
    """How many functions Numba compiled or loaded from its cache since the first call; -1 before Numba is loaded."""
    if "numba.core.dispatcher" not in sys.modules:
        return -1
    from numba.core.dispatcher import Dispatcher

    compile_one = Dispatcher.compile
    if compile_one.__name__ != "counted":

        def counted(self: Any, signature: Any) -> Any:
            global _compilations
            before = len(self.overloads)
            try:
                return compile_one(self, signature)
            finally:
                _compilations += len(self.overloads) > before

        Dispatcher.compile = counted
    return _compilations


def save_one_at_a_time() -> None:
    """Between processes that share Numba's cache: it locks nothing itself.

    Two that compile a function for different types would then write both to the file of the same number, and a third
    would call one for the other.
    """
    from numba.core.caching import IndexDataCacheFile

    save = IndexDataCacheFile.save

    @functools.wraps(save)
    def alone(self: Any, key: Any, data: Any) -> None:
        with Path(self._cache_path, "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            save(self, key, data)

    if not hasattr(save, "__wrapped__"):
        IndexDataCacheFile.save = alone
