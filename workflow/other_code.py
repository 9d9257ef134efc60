"""Code outside saitan that its modules import: files of the user's own, and packages that are installed."""

from __future__ import annotations

import site
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path


@cache
def own_file(module: str) -> Path | None:
    """The file of a module of the user's own, by its name; None for one of Python, of an installed package, or absent.

    Of an editable installation the files are the user's own.
    """
    top, *rest = module.split(".")
    if (place := _place(top)) is None or _is_installed(top, place):
        return None
    if not rest and place.is_file():
        return place
    path = place.joinpath(*rest)
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)


def versions(modules: Iterable[str]) -> list[str]:
    """The versions of the installed packages that modules are of, by their names: "numpy=2.3.0"."""
    tops = {module.partition(".")[0] for module in modules}
    return sorted({told for top in tops if (place := _place(top)) and _is_installed(top, place) for told in _told(top)})


@cache
def _place(top: str) -> Path | None:
    """The folder of a package, or the file of a module that is none; None for what Python has itself, or nobody."""
    if top in sys.stdlib_module_names:
        return None
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None or not (folders := spec.submodule_search_locations or [spec.origin]):
        return None
    return Path(next(iter(folders))).resolve()


@cache
def _is_installed(top: str, place: Path) -> bool:
    """Whether it lies where packages are installed, and is not a file that the user put there."""
    return any(place.is_relative_to(folder) for folder in _sites()) and bool(_told(top))


@cache
def _sites() -> list[Path]:
    known = [sysconfig.get_path(kind) for kind in ("purelib", "platlib")]
    return [Path(folder).resolve() for folder in (*known, *site.getsitepackages(), site.getusersitepackages())]


@cache
def _told(top: str) -> list[str]:
    """The distributions that bring a package, with their versions. Most are called as their package is."""
    try:
        return [f"{top}={metadata.version(top)}"]
    except metadata.PackageNotFoundError:
        return [f"{name}={metadata.version(name)}" for name in sorted({*_by_package().get(top, ())})]


@cache
def _by_package() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())
