"""Load a problem's compiled kernels: from the folder the workflow compiled into, or compiled once and cached."""

from __future__ import annotations

import ctypes
import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path

from saitan.cuda import arch, device
from saitan.cuda.build import HEADERS, LIBRARY_OPTIONS, OPTIONS, NvccError, build
from saitan.errors import Unavailable

# The workflow names its folder of cubins (<folder>/<arch>/<problem>/<stem>.cubin) here, so that a measured process
# never compiles; a user of the library leaves it unset.
FOLDER = "SAITAN_CUBINS"


@cache
def load(problem: str, stem: str):
    """The pycuda.driver.Module of kernels/<problem>/<stem>.cu for the device in use.

    Raises Unavailable where there is no device, or where it has to be compiled and cannot be.
    """
    device()
    import pycuda.driver as driver

    return driver.module_from_file(str(_compiled(problem, stem)))


@cache
def library(problem: str, stem: str) -> ctypes.CDLL:
    """The shared library of kernels/<problem>/<stem>.cu, whose name ends in build.LIBRARY. Raises as `load` does."""
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
    """The kernel `name`, prepared for the argument types in struct notation ("PPi": two pointers, an int)."""
    return load(problem, stem).get_function(name).prepare(arguments)


def _cache_path(source: Path) -> Path:
    import platformdirs

    text = "".join(
        part.read_text(encoding="utf-8")
        for part in [source, *sorted(source.parent.glob("*.cuh")), *sorted(HEADERS.glob("*.cuh"))]
    )
    key = hashlib.sha256(f"{OPTIONS}{LIBRARY_OPTIONS}{arch()}{text}".encode()).hexdigest()[:24]
    return Path(platformdirs.user_cache_dir("saitan")) / "cubins" / f"{source.stem}-{key}.cubin"
