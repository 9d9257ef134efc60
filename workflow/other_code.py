"""Code outside saitan that its modules import: files of the user's own, and packages that are installed."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path


@cache
def own_file(module: str) -> Path | None:
    """The file of a module of the user's own, by its name; None for one of Python, of an installed package, or absent.

    Of an editable installation the files are the user's own.
    """
    top, *rest = module.split(".")
    found = _spec(top)
    if found is None or _installed(top):
        return None
    for name in rest:
        found = found and PathFinder.find_spec(name, found.submodule_search_locations or [])
    return Path(found.origin).resolve() if found and found.has_location else None


def versions(modules: Iterable[str]) -> list[str]:
    """What is installed of the packages that modules are of: "numpy=2.3.0 " and a digest of its code."""
    return sorted({told for top in {module.partition(".")[0] for module in modules} for told in _installed(top)})


@cache
def _spec(top: str) -> ModuleSpec | None:
    """Where a package or module is; None for what Python has itself, or nobody."""
    if top in sys.stdlib_module_names:
        return None
    try:
        return find_spec(top)
    except (ImportError, ValueError):
        return None


@cache
def _installed(top: str) -> list[str]:
    """The distributions that lie in the same folder as a package, and bring it, with their versions.

    None for a file that the user put there, and where only the record of an editable installation does.
    """
    spec = _spec(top)
    places = spec and (spec.submodule_search_locations or (spec.has_location and [spec.origin]))
    beside = [str(Path(place).parent) for place in places or ()]
    # Most are called as their package is.
    return _told([top], beside) or (_told(_by_package().get(top, ()), beside) if beside else [])


def _told(names: Iterable[str], folders: list[str]) -> list[str]:
    found = (one for name in sorted({*names}) for one in metadata.distributions(name=name, path=folders))
    # A build leaves a folder without a record beside the code.
    records = ((one, one.read_text("RECORD")) for one in found)
    return [f"{one.metadata['Name']}={one.version} {_code_in(text)}" for one, text in records if text is not None]


def _code_in(record: str) -> str:
    """A digest of the files of code that a record lists with theirs: one's own package may change and keep its version.

    Without what differs from one environment to another, scripts for one.
    """
    code = sorted(line for line in record.splitlines() if line.split(",")[0].endswith((".py", *EXTENSION_SUFFIXES)))
    return hashlib.sha256("\n".join(code).encode()).hexdigest()[:16]


@cache
def _by_package() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()
