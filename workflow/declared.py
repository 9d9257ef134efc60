"""Whether what problems and generators declare can be; kernels/problem.py says what it is. Each mistake is one line."""

from __future__ import annotations

import ast
import inspect
import itertools
import math
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from keyword import iskeyword
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError

import saitan
from saitan.generators import GENERATORS
from saitan.generators.generator import KINDS, Generator
from saitan.graph_input import shown
from saitan.named import check_takes, named
from saitan.problem import (
    BACKENDS,
    Form,
    Input,
    Metric,
    Misdeclared,
    Output,
    Parameter,
    Trace,
    Variant,
    names,
    problem,
)
from saitan.workflow.config import ARRAYS, COLUMNS, QUANTITIES, TABLE, suggest
from saitan.workflow.modules import defined, source
from saitan.workflow.step import told

# What there must be, and what there may be.
_TABLES = {"INPUTS": Input, "INSTANCE": Parameter, "OUTPUTS": Output, "METRICS": Metric, "VARIANTS": Variant}
_MORE = {"TRACES": Trace, "FORMS": Form}
_FUNCTIONS = {
    "instance": ("inputs",),
    "queries": ("instance", "count", "seed"),
    "reference": ("instance", "query"),
    "differs": ("reference", "answer"),
    "prepare": ("instance", "variant", "backend"),
}
# Names that are parts of paths.
_NAMES = {
    "OUTPUTS": (r"[a-z0-9_]+", "small letters, digits and _"),
    "VARIANTS": (r"[A-Za-z0-9_-]+", "letters, digits, _ and -"),
    "FORMS": (r"[a-z0-9_]+", "small letters, digits and _"),
}
# What an experiment has of its own in the place of a parameter.
_COLUMN = ("ranks",)
# Arguments of the functions that parameters are given to, and of classes.
_ARGUMENTS = (*_FUNCTIONS["instance"], *_FUNCTIONS["prepare"], "self")
_RIGHT_KINDS = "bool, int, float or str"
_RIGHT_DTYPE = "a type of numbers of 64 bits at most is right, as `dtype.name` has it"
# What stands beside parameters where a point is shown.
_SHOWN = (*TABLE, *COLUMNS["summary"])
_GRAPH = ("undirected", "integer", "weights")
_PATH = r"[\w.]+:\w+"
# Fields of which more is said than their type.
_TOLD = ("cpu", "cuda", "parameters", "peer", "architecture", "ranks", "writes", "reads", "path")


def check_declared() -> None:
    """Raise Misdeclared for what a problem or a generator declares and cannot be, and where the package of a problem,
    in which there may be code of the user's own, cannot be imported.
    """
    try:
        packages = {name: problem(name) for name in names()}
    except (Misdeclared, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise Misdeclared(told(error)) from error
    for name, package in packages.items():
        check_package(name, package)
    check_generators(GENERATORS)


def check_generators(generators: Mapping[str, Generator]) -> None:
    """Raise Misdeclared for what a generator of graphs is declared as and cannot be."""
    _refuse(_in_generators("saitan.generators: GENERATORS", generators))


def check_package(name: str, package: ModuleType) -> None:
    """Raise Misdeclared for what the package of a problem declares and cannot be."""
    _refuse(_in_package(f"saitan.{name}", name, package))
    _check_functions(package)


def _refuse(found: Iterator[str]) -> None:
    if (line := next(found, None)) is not None:
        raise Misdeclared(line)


def _in_package(owner: str, name: str, package: ModuleType) -> Iterator[str]:
    """The mistakes, of which the first is told: every check relies on those before it."""
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
    if headline != "time" and package.METRICS[headline].better is None:
        yield f'{owner}: METRICS["{headline}"] is the HEADLINE and has better=None: one of more, less is right'
    instance, inputs = package.INSTANCE, package.INPUTS.values()
    if len(inputs) > len({one.kind for one in inputs}) or (len(inputs) > 1 and not all(one.optional for one in inputs)):
        right = "of several each is of another kind and has optional=True"
        yield f"{owner}: INPUTS: an experiment gives an instance one of them: {right}"
    yield from _in_parameters(f"{owner}: INSTANCE", instance)
    yield from _in_both(owner, "INSTANCE of", instance, "every experiment", _COLUMN)
    yield from _in_both(owner, "INSTANCE of", instance, "every table or chart", _SHOWN)
    for key, words in (
        ("METRICS", (*QUANTITIES, *COLUMNS["summary"])),
        ("TRACES", (*COLUMNS["phases"], *COLUMNS["phase_cdf"])),
    ):
        if clashing := [one for one in getattr(package, key, {}) if one in words]:
            yield (
                f'{owner}: {key}["{clashing[0]}"]: every problem has a quantity or column of this name: another name is'
                " right"
            )
        yield from _in_both(owner, f"{key} of", getattr(package, key, {}), "INSTANCE", instance)
        yield from _in_both(owner, f"{key} of", getattr(package, key, {}), "every experiment", _COLUMN)
    for here, declared in _entries(owner, package, "INPUTS"):
        for one in declared.dtypes:
            if not _is_numbers(one):
                yield f"{here} has dtypes of {_quoted(one)}: {_RIGHT_DTYPE}"
    for here, declared in _entries(owner, package, "OUTPUTS"):
        if declared.dtype and not _is_numbers(declared.dtype):
            yield f"{here} has dtype={_quoted(declared.dtype)}: {_RIGHT_DTYPE}"
        yield from _in_values(here, declared.instance, instance)
    for here, form in _entries(owner, package, "FORMS"):
        if here in {f'{owner}: FORMS["{name}"]' for name in ARRAYS}:
            yield f"{here}: every problem has a form of this name: another name is right"
        for key in ("writes", "reads"):
            yield from _in_path(here, key, getattr(form, key), f"{owner}.stored:{key}")
        if form.outputs == ():
            yield f"{here} has outputs=(): names of OUTPUTS that it holds are right"
        yield from _in_choice(here, "outputs", form.outputs, package.OUTPUTS)
        yield from _in_choice(here, "inputs", form.inputs, package.INPUTS)
        yield from _in_values(here, {name: (value,) for name, value in form.instance.items()}, instance)
    for here, variant in _entries(owner, package, "VARIANTS"):
        yield from _in_variant(here, owner, variant)
        yield from _beside(here, variant, package)


def _check_functions(package: ModuleType) -> None:
    """As the workflow calls them, `instance` and `prepare` with all parameters that are given them."""
    given = {
        "instance": [package.INSTANCE],
        "prepare": [variant.parameters for variant in package.VARIANTS.values()],
    }
    for function, takes in _FUNCTIONS.items():
        for parameters in given.get(function, [{}]):
            check_takes(getattr(package, function), takes, parameters, function)
    if _returns_nothing(package.reference):
        right = "`return None` is right where there is none"
        raise Misdeclared(f"{package.__name__}.reference returns nothing of what it makes: {right}")
    if _drops_its_end(package.differs):
        raise Misdeclared(f"{package.__name__}.differs ends in a value: `return` before it is right")


def _returns_nothing(function: Callable) -> bool:
    """Whether a function does something, and no line of it returns: nothing would be compared with its answer."""
    if (node := _written(function)) is None:
        return False
    does = [one for one in node.body if not isinstance(one, ast.Pass | ast.Raise) and not _is_constant(one)]
    return bool(does) and not any(isinstance(one, ast.Return | ast.Yield | ast.YieldFrom) for one in _own_nodes(node))


def _drops_its_end(function: Callable) -> bool:
    """Whether its last line is a value that it does not return. A call may raise what it finds."""
    end = node.body[-1] if (node := _written(function)) else None
    return isinstance(end, ast.Expr) and not isinstance(end.value, ast.Constant | ast.Call | ast.Await | ast.Yield)


def _written(function: Callable) -> ast.FunctionDef | None:
    """None for what is compiled, called otherwise, or written amid a line."""
    try:
        [node] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, TypeError, ValueError, SyntaxError):
        return None
    return node if isinstance(node, ast.FunctionDef) else None


def _is_constant(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Those below a node, without those of functions and classes within."""
    for one in ast.iter_child_nodes(node):
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield one
            yield from _own_nodes(one)


def _is_numbers(dtype: str) -> bool:
    """Whether it names a type of numbers, as arrays tell theirs, that an answer may have."""
    known = np.dtype(dtype) if dtype in np.sctypeDict else None
    return known is not None and known.name == dtype and known.kind in "biuf" and known.itemsize <= 8


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
        yield from _in_fields(here, declared, kind)


def _in_generators(where: str, generators: Mapping[str, Generator]) -> Iterator[str]:
    yield from _in_table(where, generators, Generator)
    for name, generator in generators.items():
        here = f'{where}["{name}"]'
        if generator.name != name:
            yield f'{here} has name="{generator.name}": "{name}" is right'
        yield from _in_path(here, "path", generator.path, f"saitan.generators.{name}:{name}")
        for key in ("required", "optional"):
            for parameter, kind in getattr(generator, key).items():
                if kind not in KINDS:
                    yield f'{here}: {key}["{parameter}"] is {shown(kind)}: {_RIGHT_KINDS} is right'


def _in_name(where: str, name: Any, key: str) -> Iterator[str]:
    if not isinstance(name, str):
        yield f"{where}: the name is {shown(name)}: a text is right"
    elif key in _NAMES and not re.fullmatch(_NAMES[key][0], name):
        yield f"{where}: the name is a part of paths: {_NAMES[key][1]} are right in it"
    elif key in ("METRICS", "TRACES") and not name.isidentifier():
        yield f"{where}: the name is that of a column: letters, digits and _ are right in it, a digit not first"


@cache
def _types(kind: type) -> dict[str, tuple[TypeAdapter, str]]:
    """Of each field of what can be declared: what its value must be, and that in words."""
    found = {}
    for name, hint in get_type_hints(kind).items():
        if name not in _TOLD:
            # Of what may be None too.
            literal = next((one for one in (hint, *get_args(hint)) if get_origin(one) is Literal), None)
            choice = get_args(literal)
            right = _RIGHT_KINDS if hint is type else kind.__annotations__[name]
            words = f"one of {', '.join(one or _quoted(one) for one in choice)}" if choice else right
            found[name] = TypeAdapter(hint, config=ConfigDict(strict=True)), words
    return found


def _in_fields(where: str, declared: Any, kind: type) -> Iterator[str]:
    for name, (adapter, words) in _types(kind).items():
        value = getattr(declared, name)
        try:
            adapter.validate_python(value)
        except ValidationError:
            yield f"{where} has {name}={_quoted(value)}: {words} is right"


def _in_variant(where: str, owner: str, variant: Variant) -> Iterator[str]:
    for backend in BACKENDS:
        if (path := getattr(variant, backend)) is not None:
            yield from _in_path(where, backend, path, f"{owner}.{backend}:Solver")
    if not variant.backends():
        yield f"{where} has neither cpu nor cuda: one of them is right"
    if variant.peer is not None and not (
        isinstance(variant.peer, tuple) and len(variant.peer) == 2 and all(isinstance(one, str) for one in variant.peer)
    ):
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
    yield from _there(where, key, path)


def _there(where: str, key: str, path: str) -> Iterator[str]:
    """By the text of a module of saitan's: it is not loaded, which would take seconds or want PyCUDA. A compiled one,
    which has no text, is.
    """
    module, _, wanted = path.partition(":")
    if not module.startswith("saitan."):
        return
    if (file := source(module)) is None:
        yield f'{where} has {key}="{path}": there is no module {module}'
        return
    if file.suffix != ".py":
        try:
            named(path, f"{where} has {key}")
        except Misdeclared as error:
            yield str(error)
        except ImportError:  # of what it needs itself, PyCUDA for one: told where it is loaded
            pass
        return
    known = defined(module)
    if wanted not in known and "*" not in known:
        yield f'{where} has {key}="{path}": {module} has no{suggest(wanted, known)}'


def _ascending(numbers: Any) -> bool:
    if not isinstance(numbers, range | tuple | list):
        return False
    some = numbers[:2] if isinstance(numbers, range) else numbers
    return all(isinstance(one, int) for one in some) and all(a < b for a, b in itertools.pairwise((0, *some)))


def _in_parameters(where: str, parameters: Mapping[str, Parameter]) -> Iterator[str]:
    for name, declared in parameters.items():
        here = f'{where}["{name}"]'
        if not name.isidentifier() or iskeyword(name):
            right = "letters, digits and _ are right in it, and no word of Python's own is"
            yield f"{here}: the name is that of an argument: {right}"
        if name in _ARGUMENTS:
            yield f"{here}: what takes parameters has an argument of this name beside them: another name is right"
        if declared.type not in KINDS:
            yield f"{here} is of type {shown(declared.type)}: {_RIGHT_KINDS} is right"
            return
        if declared.type not in (int, float) and (declared.least, declared.above, declared.most) != (None,) * 3:
            yield f"{here} is {KINDS[declared.type]}, and has a bound: only numbers have bounds"
            return
        least, above = (-math.inf if bound is None else bound for bound in (declared.least, declared.above))
        most = math.inf if declared.most is None else declared.most
        # Not true where one of them is not a number.
        if not least <= most > above:
            yield f"{here} has bounds that no value is within: its most must be at least its least and above its above"
        for kind, values in (
            ("default", (declared.default,)),
            ("choice", declared.choices),
            ("alike", declared.alike or ()),
            ("together", declared.together or ()),
        ):
            if kind == "together" and declared.together == ():
                yield f"{here}: its together is (): values are right, or None for any"
            reasons = (declared.wrong(value) for value in values if value is not None)
            yield from (f"{here}: its {kind} {reason}" for reason in reasons if reason)
        for key in ("instead_of", "within"):
            others = [one for one in parameters if one != name]
            if (other := getattr(declared, key)) and other not in others:
                yield f"{here} has {key}={_quoted(other)}: {_another(others)}"
            elif key == "within" and other and {declared.type, parameters[other].type} - {int, float}:
                yield f"{here} has {key}={_quoted(other)}: only numbers have bounds"
            if other and declared.default is not None:
                right = "None is right, as it is given beside or in the place of another parameter"
                yield f"{here} has {key}={_quoted(other)} and default={_quoted(declared.default)}: {right}"


def _beside(where: str, variant: Variant, package: ModuleType) -> Iterator[str]:
    """What a variant names and its problem does not have, or has too."""
    yield from _in_both(where, "a parameter", variant.parameters, "INSTANCE", package.INSTANCE)
    yield from _in_both(where, "a parameter", variant.parameters, "every experiment", _COLUMN)
    yield from _in_both(where, "a parameter", variant.parameters, "every table or chart", _SHOWN)
    for key in ("METRICS", "TRACES"):
        yield from _in_both(where, "a parameter", variant.parameters, key, getattr(package, key, {}))
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


def _in_both(where: str, what: str, names: Iterable[str], other: str, others: Collection[str]) -> Iterator[str]:
    """Names that would be two columns of one table."""
    yield from (
        f"{where} has {what} {name}, and {other} too: another name for one of them is right"
        for name in names
        if name in others
    )


def _in_values(where: str, values: Mapping[str, Any], instance: Mapping[str, Parameter]) -> Iterator[str]:
    """Parameters of an instance, each with values that it is to have."""
    yield from _in_choice(where, "instance", values, instance)
    for name, some in values.items():
        if not some:
            yield f'{where}: instance["{name}"] is (): values that it is to have are right'
        reasons = (instance[name].wrong(value) for value in some)
        yield from (f'{where}: instance["{name}"] {reason}' for reason in reasons if reason)


def _in_choice(where: str, key: str, named: Iterable[Any], known: Collection[Any]) -> Iterator[str]:
    yield from (f"{where} has {key} of {_quoted(one)}: {_another(known)}" for one in named if one not in known)


def _another(known: Collection[Any]) -> str:
    return f"one of {', '.join(map(str, known))} is right" if known else "there is none"


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) and value.isprintable() else shown(value)
