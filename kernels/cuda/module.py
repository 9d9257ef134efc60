"""Load a problem's compiled kernels: from the folder the workflow compiled into, or compiled once and cached."""

from __future__ import annotations

import ctypes
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from saitan.cuda import arch, device
from saitan.cuda.build import HEADERS, LIBRARY_OPTIONS, OPTIONS, NvccError, build, included
from saitan.errors import Misdeclared, Unavailable

# The workflow names its folder of cubins (<folder>/<arch>/<problem>/<stem>.cubin) here, so that a measured process
# never compiles; a user of the library leaves it unset.
FOLDER = "SAITAN_CUBINS"
# What `only` allows; None for all.
_declared: frozenset[str] | None = None


@contextmanager
def only(names: Iterable[str]) -> Iterator[None]:
    """No kernels are loaded but those of these sources, "problem/stem", and of kernels/cuda.

    What is measured is measured again when the kernels that its variant declares change, so it loads no others.
    """
    global _declared
    before, _declared = _declared, frozenset(names)
    try:
        yield
    finally:
        _declared = before


def load(problem: str, stem: str):
    """The pycuda.driver.Module of kernels/<problem>/<stem>.cu for the device in use.

    Raises Unavailable where there is no device, or where it has to be compiled and cannot be, and Misdeclared for
    what is not declared.
    """
    _check_declared(problem, stem)
    return _load(problem, stem)


def _check_declared(problem: str, stem: str) -> None:
    if _declared is None or problem == "cuda" or (name := f"{problem}/{stem}") in _declared:
        return
    known = ", ".join(sorted(_declared)) or "none"
    raise Misdeclared(f"kernels/{name}.cu is loaded, which is none of the variant's `cubins` ({known}): add it there")


@cache
def _load(problem: str, stem: str):
    device()
    import pycuda.driver as driver

    return driver.module_from_file(str(_compiled(problem, stem)))


def library(problem: str, stem: str) -> ctypes.CDLL:
    """The shared library of kernels/<problem>/<stem>.cu, whose name ends in build.LIBRARY. Raises as `load` does."""
    _check_declared(problem, stem)
    return _library(problem, stem)


@cache
def _library(problem: str, stem: str) -> ctypes.CDLL:
    device()
    return ctypes.CDLL(str(_compiled(problem, stem)))


def _compiled(problem: str, stem: str) -> Path:
    """Where a compiled source is, compiled now where no workflow did. Raises Unavailable."""
    if folder := os.environ.get(FOLDER):
        path = Path(folder) / arch() / problem / f"{stem}.cubin"
        if not path.exists():
            there = ", ".join(sorted(found.name for found in Path(folder).glob("sm_*"))) or "none"
            raise Unavailable(f"nothing is compiled for {arch()} (there is: {there}): add it to `architectures`")
        return path
    source = HEADERS.parent / problem / f"{stem}.cu"
    cached = _cache_path(source)
    if not cached.exists():
        try:
            built = build(source, arch())
        except NvccError as error:
            raise Unavailable(str(error)) from error
        cached.parent.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=cached.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(built.cubin)
        Path(beside).replace(cached)
    return cached


def function(problem: str, stem: str, name: str, arguments: str):
    """The kernel `name`, prepared for the argument types in struct notation ("PPi": two pointers, an int).

    Raises as `load` does, and Misdeclared where there is no such kernel.
    """
    module = load(problem, stem)
    import pycuda.driver as driver

    try:
        return module.get_function(name).prepare(arguments)
    except driver.LogicError as error:
        right = f'`extern "C" __global__ void {name}(...)` is right'
        raise Misdeclared(f"kernels/{problem}/{stem}.cu has no kernel {name}: {right} ({error})") from error


def _cache_path(source: Path) -> Path:
    import platformdirs

    text = "".join(part.read_text(encoding="utf-8") for part in included(source))
    key = hashlib.sha256(f"{OPTIONS}{LIBRARY_OPTIONS}{arch()}{text}".encode()).hexdigest()[:24]
    return Path(platformdirs.user_cache_dir("saitan")) / "cubins" / f"{source.stem}-{key}.cubin"
