"""What problems and generators declare of themselves, where the workflow alone can tell that it is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

from saitan.generators import GENERATORS
from saitan.problem import Misdeclared, problem
from saitan.workflow.config import COLUMNS, QUANTITIES, suggest
from saitan.workflow.modules import defined, source


def check_clashes_and_paths(problems: Iterable[str]) -> None:
    """Raise Misdeclared for a path of a problem or a generator to what is not there, and for a metric or trace that
    would take the place of what every problem has.
    """
    for name in problems:
        package = problem(name)
        _check_names(name, package)
        for variant, declared in package.VARIANTS.items():
            for backend in declared.backends():
                _check_path(f'saitan.{name}: VARIANTS["{variant}"]', backend, getattr(declared, backend))
        for form, kept in getattr(package, "FORMS", {}).items():
            for key in ("writes", "reads"):
                _check_path(f'saitan.{name}: FORMS["{form}"]', key, getattr(kept, key))
    for name, generator in GENERATORS.items():
        _check_path(f'saitan.generators: GENERATORS["{name}"]', "path", generator.path)


def _check_names(name: str, package: ModuleType) -> None:
    taken = {"METRICS": (*QUANTITIES, *COLUMNS["summary"]), "TRACES": COLUMNS["phases"]}
    for where, words in taken.items():
        if clashing := [one for one in getattr(package, where, {}) if one in words]:
            raise Misdeclared(
                f'saitan.{name}: {where}["{clashing[0]}"]: every problem has a quantity or column of this name: another'
                " name is right"
            )


def _check_path(where: str, key: str, path: str) -> None:
    """By the text of a module of saitan's: it is not loaded, which would take seconds or want PyCUDA."""
    module, _, wanted = path.partition(":")
    if not module.startswith("saitan."):
        return
    if source(module) is None:
        raise Misdeclared(f'{where} has {key}="{path}": there is no module {module}')
    known = defined(module)
    if wanted not in known and "*" not in known:
        raise Misdeclared(f'{where} has {key}="{path}": {module} has no{suggest(wanted, known)}')
