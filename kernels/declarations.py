"""Whether what a problem's package declares can be (problem.py says what it is). Each mistake is one line."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import saitan
from saitan.errors import Misdeclared
from saitan.graph_input import shown
from saitan.problem import BACKENDS, Form, Input, Metric, Output, Parameter, Trace, Variant

# What there must be, and what there may be.
_TABLES = {"INPUTS": Input, "INSTANCE": Parameter, "OUTPUTS": Output, "METRICS": Metric, "VARIANTS": Variant}
_MORE = {"TRACES": Trace, "FORMS": Form}
_FUNCTIONS = ("instance", "queries", "reference", "differs", "prepare")
# Names that are parts of paths.
_NAMES = {
    "OUTPUTS": (r"[a-z0-9_]+", "small letters, digits and _"),
    "VARIANTS": (r"[A-Za-z0-9_-]+", "letters, digits, _ and -"),
}
_GRAPH = ("undirected", "integer", "weights")
_PATH = r"[\w.]+:\w+"


def check_declared(name: str, package: ModuleType) -> None:
    """Raise Misdeclared for what a problem's package declares and cannot be."""
    _refuse(_in_package(f"saitan.{name}", name, package))


def check_variants(owner: str, variants: Mapping[str, Any]) -> None:
    """Raise Misdeclared for a variant that cannot be, whatever else its problem declares.

    owner: the package, "saitan.sssp"
    """
    _refuse(_in_variants(owner, variants))


def _refuse(found: Iterator[str]) -> None:
    if (line := next(found, None)) is not None:
        raise Misdeclared(line)


def _in_package(owner: str, name: str, package: ModuleType) -> Iterator[str]:
    yield from _in_name(owner, name, "OUTPUTS")
    for key, kind in {**_TABLES, **_MORE}.items():
        if hasattr(package, key):
            yield from _in_table(f"{owner}: {key}", getattr(package, key), kind, key)
        elif key in _TABLES:
            yield f"{owner} has no {key}: a mapping of names to {kind.__name__}s is right, which may be empty"
    for function in _FUNCTIONS:
        if not callable(getattr(package, function, None)):
            yield f"{owner} has no function {function}: kernels/problem.py says what it does"
    if not isinstance(title := getattr(package, "TITLE", None), str):
        yield f"{owner}: TITLE is {shown(title)}: a text is right"
    if (headline := getattr(package, "HEADLINE", None)) not in (known := ["time", *package.METRICS]):
        yield f"{owner}: HEADLINE is {_quoted(headline)}: {_another(known)}"
    instance = package.INSTANCE
    yield from _in_parameters(f"{owner}: INSTANCE", instance)
    for here, declared in _entries(owner, package, "INPUTS"):
        yield from _in_choice(here, "kind", [declared.kind], ("graph", "array"))
    for here, declared in _entries(owner, package, "METRICS"):
        yield from _in_choice(here, "over", [declared.over], ("median", "mean", "harmonic", "sum"))
        yield from _in_choice(here, "better", [declared.better], ("more", "less", None))
    for here, declared in _entries(owner, package, "OUTPUTS"):
        yield from _in_values(here, declared.instance, instance)
    for here, form in _entries(owner, package, "FORMS"):
        for key in ("writes", "reads"):
            yield from _in_path(here, key, getattr(form, key), f"{owner}.stored:{key}")
        yield from _in_choice(here, "outputs", form.outputs, package.OUTPUTS)
        yield from _in_choice(here, "inputs", form.inputs, package.INPUTS)
        yield from _in_values(here, {name: (value,) for name, value in form.instance.items()}, instance)
    yield from _in_variants(owner, package.VARIANTS)
    for here, variant in _entries(owner, package, "VARIANTS"):
        yield from _beside(here, variant, package)


def _entries(owner: str, package: ModuleType, key: str) -> list[tuple[str, Any]]:
    return [(f'{owner}: {key}["{name}"]', declared) for name, declared in getattr(package, key, {}).items()]


def _in_table(where: str, table: Any, kind: type, key: str = "") -> Iterator[str]:
    article = "an" if kind.__name__[0] in "IO" else "a"
    if not isinstance(table, Mapping):
        yield f"{where} is {shown(table)}: a mapping of names to {kind.__name__}s is right"
        return
    for name, declared in table.items():
        here = f'{where}["{name}"]' if isinstance(name, str) else f"{where}[{shown(name)}]"
        yield from _in_name(here, name, key)
        if not isinstance(declared, kind):
            yield f"{here} is {shown(declared)}: {article} {kind.__name__} is right"


def _in_name(where: str, name: Any, key: str) -> Iterator[str]:
    if not isinstance(name, str):
        yield f"{where}: the name is {shown(name)}: a text is right"
    elif key in _NAMES and not re.fullmatch(_NAMES[key][0], name):
        yield f"{where}: the name is a part of paths: {_NAMES[key][1]} are right in it"


def _in_variants(owner: str, variants: Mapping[str, Any]) -> Iterator[str]:
    yield from _in_table(f"{owner}: VARIANTS", variants, Variant, "VARIANTS")
    for name, variant in variants.items():
        yield from _in_variant(f'{owner}: VARIANTS["{name}"]', owner, variant)


def _in_variant(where: str, owner: str, variant: Variant) -> Iterator[str]:
    for backend in BACKENDS:
        if (path := getattr(variant, backend)) is not None:
            yield from _in_path(where, backend, path, f"{owner}.{backend}:Solver")
    if not variant.backends():
        yield f"{where} has neither cpu nor cuda: one of them is right"
    if variant.peer is not None and not (isinstance(variant.peer, tuple) and len(variant.peer) == 2):
        yield f"{where} has peer={_quoted(variant.peer)}: a module and the extra that installs it are right"
    if not re.fullmatch(r"(sm_\d+[af]?)?", str(variant.architecture)):
        yield f'{where} has architecture={_quoted(variant.architecture)}: one such as "sm_90" is right'
    if not _ascending(variant.ranks):
        yield f"{where} has ranks={shown(variant.ranks)}: numbers of processes in ascending order are right"
    yield from _in_table(f"{where}: parameters", variant.parameters, Parameter)
    yield from _in_parameters(f"{where}: parameters", variant.parameters)


def _in_path(where: str, key: str, path: Any, such: str) -> Iterator[str]:
    if not (isinstance(path, str) and re.fullmatch(_PATH, path)):
        what = "Class" if such[such.index(":") + 1].isupper() else "name"
        yield f'{where} has {key}={_quoted(path)}: "module:{what}" is right, such as "{such}"'


def _ascending(numbers: Any) -> bool:
    if not isinstance(numbers, range | tuple | list):
        return False
    some = numbers[:2] if isinstance(numbers, range) else numbers
    return all(isinstance(one, int) for one in some) and all(a < b for a, b in itertools.pairwise((0, *some)))


def _in_parameters(where: str, parameters: Mapping[str, Parameter]) -> Iterator[str]:
    for name, declared in parameters.items():
        here = f'{where}["{name}"]'
        if declared.type not in (bool, int, float, str):
            yield f"{here} is of type {shown(declared.type)}: bool, int, float or str is right"
            return
        for kind, values in (("default", (declared.default,)), ("choice", declared.choices)):
            reasons = (declared.wrong(value) for value in values if value is not None)
            yield from (f"{here}: its {kind} {reason}" for reason in reasons if reason)
        for key in ("instead_of", "within"):
            if (other := getattr(declared, key)) and other not in parameters:
                yield f"{here} has {key}={_quoted(other)}: {_another(parameters)}"


def _beside(where: str, variant: Variant, package: ModuleType) -> Iterator[str]:
    """What a variant names and its problem does not have, or has too."""
    if both := [parameter for parameter in variant.parameters if parameter in package.INSTANCE]:
        yield f"{where} has a parameter {both[0]}, and INSTANCE too: another name for one of them is right"
    yield from _in_choice(where, "graph", variant.graph, _GRAPH)
    yield from _in_choice(where, "inputs", variant.inputs, package.INPUTS)
    yield from _in_values(where, variant.instance, package.INSTANCE)
    yield from _in_choice(where, "traces", variant.traces, variant.backends())
    for traced in variant.traces.values():
        yield from _in_choice(where, "traces", traced, getattr(package, "TRACES", {}))
    root = Path(saitan.__path__[0])
    for cubin in variant.cubins:
        owner, _, stem = cubin.rpartition("/")
        file = root / (owner or package.__name__.rpartition(".")[2]) / f"{stem}.cu"
        if not file.exists():
            yield f"{where} has a cubin {_quoted(cubin)}: there is no kernels/{file.parent.name}/{file.name}"


def _in_values(where: str, values: Mapping[str, Any], instance: Mapping[str, Parameter]) -> Iterator[str]:
    """Parameters of an instance, each with values that it is to have."""
    yield from _in_choice(where, "instance", values, instance)
    for name, some in values.items():
        if not isinstance(some, tuple | list):
            yield f'{where}: instance["{name}"] is {shown(some)}: a tuple of values is right'
            return
        reasons = (instance[name].wrong(value) for value in some)
        yield from (f'{where}: instance["{name}"] {reason}' for reason in reasons if reason)


def _in_choice(where: str, key: str, named: Iterable[Any], known: Collection[Any]) -> Iterator[str]:
    yield from (f"{where} has {key} of {_quoted(one)}: {_another(known)}" for one in named if one not in known)


def _another(known: Collection[Any]) -> str:
    return f"one of {', '.join(map(str, known))} is right" if known else "there is none"


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else shown(value)
