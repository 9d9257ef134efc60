"""The code of saitan as one value, by which code that was compiled from it is known. Light: Numba is not loaded."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

# Whose files say nothing of a user's own, or are told by a version.
_NOT_ELSEWHERE = {"saitan", "numba", "numpy", *sys.stdlib_module_names}


@functools.cache
def code_digest() -> str:
    """Of every Python source of the package `saitan`, subpackages included."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def on_disk(origin: str) -> Path:
    """The file that a module is in, by its spec's origin: of one in an archive, the archive."""
    path = Path(origin)
    return next((place for place in (path, *path.parents) if place.is_file()), path)


def elsewhere_digest(function: Callable) -> str:
    """Of the files outside saitan whose functions a function calls by a name of its module."""
    named = (function.__globals__.get(name) for name in function.__code__.co_names)
    # Of compiled code, what it was compiled from.
    called = (getattr(value, "py_func", value) for value in named)
    modules = (
        value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) for value in called
    )
    digest = hashlib.sha256()
    for module in sorted({module for module in modules if isinstance(module, str)}):
        file = getattr(sys.modules.get(module), "__file__", None)
        if file and module.partition(".")[0] not in _NOT_ELSEWHERE and file.endswith(".py"):
            digest.update(Path(file).read_bytes())
    return digest.hexdigest()
