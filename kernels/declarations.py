"""Whether what a problem's package declares can be (problem.py says what it is). Each mistake is one line."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import saitan
from saitan.errors import Misdeclared
from saitan.graph_input import shown
from saitan.problem import BACKENDS, Parameter, Variant

_SMALL, _ANY_CASE = (r"[a-z0-9_]+", "small letters, digits and _"), (r"[A-Za-z0-9_-]+", "letters, digits, _ and -")
_GRAPH = ("undirected", "integer", "weights")


def check_declared(name: str, package: ModuleType) -> None:
    """Raise Misdeclared for what a problem's package declares and cannot be."""
    owner = f"saitan.{name}"
    check_variants(owner, package.VARIANTS)
    named = [("", name, _SMALL)]
    named += [(f': VARIANTS["{variant}"]', variant, _ANY_CASE) for variant in package.VARIANTS]
    named += [(f': OUTPUTS["{output}"]', output, _SMALL) for output in getattr(package, "OUTPUTS", {})]
    for where, one, (pattern, words) in named:
        if not re.fullmatch(pattern, one):
            raise Misdeclared(f"{owner}{where}: the name is a part of paths: {words} are right in it")
    instance = getattr(package, "INSTANCE", {})
    _refuse(_off(f"{owner}: INSTANCE", instance))
    for variant, declared in package.VARIANTS.items():
        _refuse(_unknown(f'{owner}: VARIANTS["{variant}"]', declared, package, instance))


def check_variants(owner: str, variants: Mapping[str, Any]) -> None:
    """Raise Misdeclared for a variant that cannot be, whatever else its problem declares.

    owner: the package, "saitan.sssp"
    """
    for name, variant in variants.items():
        _refuse(_wrong(f'{owner}: VARIANTS["{name}"]', owner, variant))


def _refuse(found: Iterator[str]) -> None:
    if (line := next(found, None)) is not None:
        raise Misdeclared(line)


def _wrong(where: str, owner: str, variant: Any) -> Iterator[str]:
    if not isinstance(variant, Variant):
        yield f"{where} is {shown(variant)}: a Variant is right"
        return
    for backend in BACKENDS:
        path = getattr(variant, backend)
        if path is not None and not (isinstance(path, str) and re.fullmatch(r"[\w.]+:\w+", path)):
            right = f'"module:Class" is right, such as "{owner}.{backend}:Solver"'
            yield f"{where} has {backend}={_quoted(path)}: {right}"
    if not variant.backends():
        yield f"{where} has neither cpu nor cuda: one of them is right"
    if variant.peer is not None and not (isinstance(variant.peer, tuple) and len(variant.peer) == 2):
        yield f"{where} has peer={_quoted(variant.peer)}: a module and the extra that installs it are right"
    if not re.fullmatch(r"(sm_\d+[af]?)?", str(variant.architecture)):
        yield f'{where} has architecture={_quoted(variant.architecture)}: one such as "sm_90" is right'
    if not _ascending(variant.ranks):
        yield f"{where} has ranks={shown(variant.ranks)}: numbers of processes in ascending order are right"
    yield from _off(f"{where}: parameters", variant.parameters)


def _ascending(numbers: Any) -> bool:
    if not isinstance(numbers, range | tuple | list):
        return False
    some = numbers[:2] if isinstance(numbers, range) else numbers
    return all(isinstance(one, int) for one in some) and all(a < b for a, b in itertools.pairwise((0, *some)))


def _off(where: str, parameters: Any) -> Iterator[str]:
    if not isinstance(parameters, Mapping):
        yield f"{where} are {shown(parameters)}: a mapping of names to Parameters is right"
        return
    for name, declared in parameters.items():
        here = f'{where}["{name}"]'
        if not isinstance(declared, Parameter):
            yield f"{here} is {shown(declared)}: a Parameter is right"
        elif declared.type not in (bool, int, float, str):
            yield f"{here} is of type {shown(declared.type)}: bool, int, float or str is right"
        else:
            for kind, values in (("default", (declared.default,)), ("choice", declared.choices)):
                reasons = (declared.wrong(value) for value in values if value is not None)
                yield from (f"{here}: its {kind} {reason}" for reason in reasons if reason)
            for key in ("instead_of", "within"):
                if (other := getattr(declared, key)) and other not in parameters:
                    yield f"{here} has {key}={_quoted(other)}: {_another(parameters, 'parameter')}"


def _unknown(where: str, variant: Variant, package: ModuleType, instance: Mapping[str, Parameter]) -> Iterator[str]:
    """What a variant names and its problem does not have."""
    if both := [parameter for parameter in variant.parameters if parameter in instance]:
        yield f"{where} has a parameter {both[0]}, and INSTANCE too: another name for one of them is right"
    traced = {name for traces in variant.traces.values() for name in traces}
    for key, named, known in (
        ("graph", variant.graph, _GRAPH),
        ("inputs", variant.inputs, getattr(package, "INPUTS", {})),
        ("instance", variant.instance, instance),
        ("traces", variant.traces, variant.backends()),
        ("traces", sorted(traced), getattr(package, "TRACES", {})),
    ):
        if absent := [one for one in named if one not in known]:
            yield f"{where} has {key} of {_quoted(absent[0])}: {_another(known, 'name')}"
    for name, values in variant.instance.items():
        reasons = (instance[name].wrong(value) for value in values)
        yield from (f'{where}: instance["{name}"] {reason}' for reason in reasons if reason)
    root = Path(saitan.__path__[0])
    for cubin in variant.cubins:
        owner, _, stem = cubin.rpartition("/")
        file = root / (owner or package.__name__.rpartition(".")[2]) / f"{stem}.cu"
        if not file.exists():
            yield f"{where} has a cubin {_quoted(cubin)}: there is no kernels/{file.parent.name}/{file.name}"


def _another(known: Collection[str], what: str) -> str:
    return f"one of {', '.join(known)} is right" if known else f"there is no {what}"


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else shown(value)
