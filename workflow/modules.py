"""What a Python module of saitan depends on: found from its imports, and told from its code, not from its text.

Modules of the user's own that lie elsewhere are followed too.

A number depends on the modules that made it. Their digest ignores comments, docstrings and layout, so that rewording
measures nothing again. What is found of a file is module_facts.py's.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import resolve_name
from itertools import chain
from pathlib import Path
from typing import Literal

import saitan
import saitan.workflow
from saitan.workflow.module_facts import PACKAGE, facts
from saitan.workflow.other_code import file_of, own_file

By = Literal["measured", "asked"]
# The functions of its package that a measurement calls, and those that draw its queries and their reference answer.
CALLED = {"measured": {"instance", "queries", "prepare", "differs"}, "asked": {"instance", "queries", "reference"}}


@cache
def source(module: str) -> Path | None:
    """The file of "saitan", "saitan.sssp.cpu", ..., or of a module of the user's own; None where there is none."""
    parts = module.split(".")
    if parts[0] != PACKAGE:
        return own_file(module)
    if parts[:2] == [PACKAGE, "workflow"]:
        base, rest = Path(saitan.workflow.__path__[0]), parts[2:]
    else:
        base, rest = Path(saitan.__path__[0]), parts[1:]
    path = base.joinpath(*rest)
    # In the order in which Python looks for them.
    beside = [path.with_name(path.name + suffix) for suffix in (*EXTENSION_SUFFIXES, ".py")] if rest else []
    candidates = (path / "__init__.py", *beside)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


@cache
def imports(module: str, by: By | None = None, used: Collection[str] = frozenset()) -> frozenset[str]:
    """The modules of saitan, and the user's own elsewhere, that a module names in any of its import statements, those
    inside functions too, and what it takes from a problem's package: "saitan.sssp.solve".

    by: of a problem's package, leave out functions (solve, ...) that are neither CALLED so nor held by one that is
    used: a frozenset of names in it that other modules take from it: they are not left out
    """
    path = source(module)
    if path is None:
        return frozenset()
    parts = facts(path).parts
    kept = _reached(parts, ("", *CALLED[by], *used)) if by and "*" not in used else parts
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    named = (_absolute(name, package) for part in kept for name in parts[part][0])
    return frozenset(name for name in named if name and (source(name) or _taken(name)))


@cache
def _taken(name: str) -> tuple[str, str] | None:
    """The package of a problem, and which of its names, that a name stands for: saitan.sssp, solve. What it declares
    may be taken from the module beside it, saitan.sssp.variants, too.
    """
    package, _, member = name.rpartition(".")
    if member in ("VARIANTS", "*") and package.endswith(".variants"):
        package, member = package.removesuffix(".variants"), "VARIANTS"
    path = source(package) if package and not source(name) else None
    return (package, member) if path and len(facts(path).parts) > 1 else None


def _reached(parts: Mapping[str, Sequence], start: Iterable[str]) -> set[str]:
    """The parts of a file that some of them hold, directly or not, with these."""
    todo, found = [part for part in start if part in parts], set()
    while todo:
        part = todo.pop()
        if part not in found:
            found.add(part)
            todo += parts[part][1]
    return found


def _loads(package: str, used: Collection[str]) -> bool:
    """Whether what is used of a problem's package loads solvers that VARIANTS name."""
    parts = facts(source(package)).parts
    # What is no function is made by other statements.
    reached = _reached(parts, {name if name in parts else "" for name in used})
    return not {"VARIANTS", "*"}.isdisjoint(used) or any(parts[part][2] for part in reached)


def _declaring(package: str) -> list[Path]:
    """The files in which a problem may declare."""
    return list(filter(None, map(source, (package, f"{package}.variants"))))


def _absolute(name: str, package: str) -> str:
    """The module of a name as it stands in a module of a package; "" for one above all packages."""
    try:
        return resolve_name(name, package)
    except ImportError:
        return ""


def others(module: str) -> set[str]:
    """The names of other packages that a module imports, of an installed package too; none where it is not there."""
    path = source(module) or file_of(module)
    named = chain.from_iterable(names for names, *_ in facts(path).parts.values()) if path else ()
    return {name.partition(".")[0] for name in named} - {PACKAGE, ""}


def closure(
    modules: Iterable[str], without: Collection[str] = (), by: By | None = None, given: tuple[str, str] | None = None
) -> list[str]:
    """The modules and all that they import, directly or not, sorted. Where one takes from a problem's package what
    loads solvers by their names, such as `sssp.solve`, those of all its variants too, and "saitan.sssp:VARIANTS" for
    what it declares of them.

    without: modules that are not followed into; by: see `imports`; given: a module and a problem's package, of which it
    loads the variant alone that it is given
    """
    todo, done, marks = list(modules), {}, set()
    used, loading = defaultdict(set), defaultdict(set)
    while todo:
        module = todo.pop()
        taken = frozenset(used[module]), frozenset(loading[module])
        if done.get(module) == taken:
            continue
        done[module] = taken
        # Importing a module runs its packages too.
        named = [module.rpartition(".")[0] or module]
        for name in imports(module, by, taken[0]):
            package, member = _taken(name) or (name, "")
            named.append(package)
            if member and package != module:
                used[package].add(member)
                loading[package] |= {member} if (module, package) != given else set()
        if taken[1] and _loads(module, taken[1]):
            marks.add(f"{module}:VARIANTS")
            named += chain.from_iterable(facts(path).solvers for path in _declaring(module))
        todo += [name for name in named if name not in without]
    return sorted(marks.union(done))


def digest(modules: Iterable[str]) -> str:
    """One value for the code of modules, by name, and for what problems declare, as `closure` names both."""
    total = hashlib.sha256()
    for module in sorted(modules):
        package, declared, _ = module.partition(":")
        code = [facts(path).declared for path in _declaring(package)] if declared else _code(source(module))
        total.update(f"{module} {code}\n".encode())
    return total.hexdigest()[:16]


@cache
def steps_code() -> str:
    """One value for the modules of the workflow, by their text, as the steps after measuring take seconds."""
    return text_digest(sorted(Path(saitan.workflow.__path__[0]).rglob("*.py")))


def _code(path: Path | None) -> str:
    return "absent" if path is None else facts(path).code


def taken_from(modules: Iterable[str]) -> list[Path]:
    """The .cu and .cuh that modules take constants from."""
    named = {tuple(of) for path in filter(None, map(source, modules)) for of in facts(path).constants}
    files = (Path(saitan.__path__[0]).joinpath(*of) for of in sorted(named))
    return [file for file in files if file.exists()]


def defined(module: str) -> list[str]:
    """The names that a module of saitan defines or imports, those inside functions and classes aside."""
    return facts(source(module)).defined


def kernels(name: str) -> list[Path]:
    """The .cu files of a problem, or of what problems share ("cuda")."""
    return sorted((Path(saitan.__path__[0]) / name).glob("*.cu"))


def text_digest(paths: Iterable[str | Path]) -> str:
    """One value for the contents of files."""
    total = hashlib.sha256()
    for path in paths:
        total.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return total.hexdigest()[:16]
