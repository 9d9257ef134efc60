"""The code that a run was planned with, and what tables and report read beside it: its steps take no other.

What a file says it was made by (identities.py) is the code as it was when the run was planned. Where some is edited
while the run goes, a step that would import it ends with one line; the next call plans with the code as it is then.
"""

from __future__ import annotations

import hashlib
import importlib.abc
import json
import os
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import saitan
import saitan.workflow
from saitan.workflow.step import PLANNED, Failure


def digests() -> dict[str, str]:
    """Of every source file of saitan, named from the clone's folder, a digest of its content.

    Steps find them as JSON, with those of other files, in the file that the environment's PLANNED names.
    """
    return {
        f"{name}/{file.relative_to(folder)}": _digest(file)
        for name, folder in _folders().items()
        for kind in ("py", "cu", "cuh", "html", "css", "js")
        for file in sorted(folder.rglob(f"*.{kind}"))
    }


# What else the run was planned with that is compiled in: no file, but what is installed of some packages.
PACKAGES = "packages"


def digests_of(files: Iterable[str]) -> dict[str, str]:
    """The same of other files, named as steps name them."""
    return {file: _digest(Path(file)) for file in files}


def hold_to_plan() -> None:
    """Raise Failure where a module that is imported, or is from now on, was edited since the run was planned."""
    # The step itself is __main__.
    loaded = [module for name, module in sys.modules.items() if name.split(".")[0] in ("saitan", "__main__")]
    check_planned(Path(module.__file__) for module in loaded if getattr(module, "__file__", None))
    sys.meta_path.insert(0, _Planned(Path(file) for file in elsewhere() if file != PACKAGES))


def elsewhere() -> dict[str, str]:
    """The user's own files outside saitan that the run's points import -> their digests, and PACKAGES; outside a run
    none.
    """
    told = _planned(os.environ[PLANNED]) if PLANNED in os.environ else {}
    return {name: digest for name, digest in told.items() if name == PACKAGES or Path(name).is_absolute()}


def check_planned(files: Iterable[Path]) -> None:
    """Raise Failure for a file of `digests` that was edited since the run was planned; outside a run none is."""
    if PLANNED not in os.environ:
        return
    planned = _planned(os.environ[PLANNED])
    for file in files:
        name = str(file) if str(file) in planned else _name(file.resolve())
        if name and planned.get(name) != _digest(file):
            raise Failure(f"{name} was edited after this run was planned: run the same command again")


class _Planned(importlib.abc.MetaPathFinder):
    """Finds nothing: it looks at what the finders after it will.

    elsewhere: the user's own files outside saitan, all of a package's with its first.
    """

    def __init__(self, elsewhere: Iterable[Path] = ()) -> None:
        self._elsewhere = list(elsewhere)

    def find_spec(self, name: str, path: Iterable[str] | None, target: object = None) -> None:
        if self._elsewhere and "." not in name:
            check_planned(file for file in self._elsewhere if name in (file.stem, *file.parts))
        if name.startswith("saitan."):
            last = name.rpartition(".")[2]
            places = [Path(folder, place) for folder in path or () for place in (f"{last}/__init__.py", f"{last}.py")]
            check_planned(place for place in places if place.is_file())


@cache
def _planned(file: str) -> dict[str, str]:
    try:
        return json.loads(Path(file).read_bytes())
    except (OSError, ValueError) as error:
        raise Failure(f"{file}, which the run wrote as it began, cannot be read: {error}") from None


@cache
def _folders() -> dict[str, Path]:
    packages = {"kernels": saitan, "workflow": saitan.workflow}
    return {name: Path(package.__path__[0]).resolve() for name, package in packages.items()}


def _name(file: Path) -> str | None:
    return next((f"{name}/{file.relative_to(at)}" for name, at in _folders().items() if file.is_relative_to(at)), None)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
