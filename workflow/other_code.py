"""Code outside saitan that its modules import: files of the user's own, and packages that are installed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pkgutil
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder
from itertools import accumulate
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from saitan.own_code import on_disk


@cache
def own_file(module: str) -> Path | None:
    """The file of a module of the user's own, by its name; None for one of Python, of an installed package, or absent.

    Of an editable installation the files are the user's own.
    """
    names = accumulate(module.split("."), "{}.{}".format)
    # Of a package without __init__.py parts may be installed, and others the user's own.
    part = next(filter(file_of, names), None)
    if part is None or _is_installed(part):
        return None
    return file.resolve() if (file := file_of(module)) else None


@cache
def pythons() -> frozenset[str]:
    """The names of Python's own modules, but for those that a folder before them on its path has."""
    own = str(Path(os.__file__).parent)
    before = sys.path[: sys.path.index(own)] if own in sys.path else []
    return sys.stdlib_module_names - {module.name for module in pkgutil.iter_modules(before)}


def file_of(module: str) -> Path | None:
    """The file of a module, of an installed package too; None for one of Python, without a file, or absent."""
    found = _spec(module)
    return on_disk(found.origin) if found and found.has_location else None


def versions(modules: Iterable[str]) -> list[str]:
    """What is installed of the packages that modules are of: "numpy=2.3.0 " and a digest of its code."""
    return sorted({told for top in {module.partition(".")[0] for module in modules} for told in _installed(top)})


def further(told: Iterable[str]) -> list[str]:
    """Those of `versions` that are of no package which saitan requires, for its extras or without them."""
    return [one for one in told if canonicalize_name(one.partition("=")[0]) not in _required()]


@cache
def _required() -> frozenset[str]:
    return frozenset(canonicalize_name(Requirement(line).name) for line in metadata.requires("saitan") or ())


@cache
def _spec(module: str) -> ModuleSpec | None:
    """Where a package or module is; None for what Python has itself, or nobody. Nothing is imported for it."""
    parent, _, last = module.rpartition(".")
    if module in pythons():
        return None
    above = _spec(parent) if parent else None
    if parent and not (above and above.submodule_search_locations):
        return None
    places = above and above.submodule_search_locations
    for finder in sys.meta_path:
        # Of a package without __init__.py PathFinder asks the module of what it is in.
        name = last if finder is PathFinder and parent not in sys.modules else module
        with contextlib.suppress(ImportError):
            if found := finder.find_spec(name, places):
                return found
    # A package may add the folders of its name to its path as it is imported (pkgutil.extend_path).
    elsewhere = [str(Path(entry, *parent.split("."))) for entry in sys.path] if parent else []
    return PathFinder.find_spec(last, elsewhere)


@cache
def _installed(top: str) -> list[str]:
    """The distributions that lie in the same folder as a package, and bring it, with their versions.

    None for a file that the user put there, and where only the record of an editable installation does.
    """
    spec = _spec(top)
    places = spec and (spec.submodule_search_locations or (spec.has_location and [spec.origin]))
    return _brought(top, [Path(place).parent for place in places or ()])


@cache
def _is_installed(part: str) -> bool:
    """Whether a distribution lies beside the package that a package or module is part of, where its file is."""
    file = file_of(part)
    depth = part.count(".") + (file.name.split(".")[0] == "__init__")
    return bool(_brought(part.partition(".")[0], list(file.parents)[depth : depth + 1]))


def _brought(top: str, folders: list[Path]) -> list[str]:
    # Several may bring parts of one package; of what saitan requires, those called so say enough, and are found sooner.
    told = _told([top], folders) if canonicalize_name(top) in _required() else []
    return told or (_told({top, *_by_package().get(top, ())}, folders) if folders else [])


def _told(names: Iterable[str], folders: Iterable[Path]) -> list[str]:
    paths = list(map(str, folders))
    found = (one for name in sorted({*names}) for one in metadata.distributions(name=name, path=paths))
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
