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
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import saitan
import saitan.workflow
from saitan.cuda.build import included
from saitan.own_code import on_disk
from saitan.workflow.step import PLANNED, Failure


def digests() -> dict[str, str]:
    """Of every source file of saitan, named from the clone's folder, and of what kernels include, a digest.

    Steps find them as JSON, with those of other files, in the file that the environment's PLANNED names.
    """
    kinds = ("py", "so", "pyd", "cu", "html", "css", "js")
    files = {file for folder in _folders().values() for kind in kinds for file in folder.rglob(f"*.{kind}")}
    files |= {file.resolve() for source in files if source.suffix == ".cu" for file in included(source)}
    return {_name(file) or str(file): _digest(file) for file in sorted(files)}


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
    sys.meta_path.insert(0, _Planned(bool(elsewhere())))


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
    """Finds what the finders after it find, where that is as it was planned.

    elsewhere: whether files outside saitan are held to the plan too
    """

    def __init__(self, elsewhere: bool = False) -> None:
        self._elsewhere = elsewhere

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not (self._elsewhere or name.startswith("saitan.")):
            return None
        found = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, found), None)
        if spec and spec.has_location:
            check_planned([on_disk(spec.origin).resolve()])
        return spec


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
