"""What every problem folder under `kernels/` offers, so that the workflow can measure any of them alike.

A problem is a package `saitan.<name>` that is cheap to import (no Numba, no PyCUDA, no SciPy) and defines

    TITLE       str, a heading
    INPUTS      dict name -> Input: what an instance is made of ({} if parameters are all); of a graph and an array,
                both optional then, an experiment gives one
    INSTANCE    dict name -> Parameter: what an experiment may set about the instance itself
    OUTPUTS     dict name -> Output: the arrays of an answer; what `keep:` may persist
    METRICS     dict name -> Metric: the counters that Run.counters may hold
    TRACES      dict name -> Trace: the arrays that Run.phases or Solver.count may hold ({} if absent)
    HEADLINE    "time" or the name of a metric that all solvers count: what they are ranked by
    VARIANTS    dict name -> Variant
    FORMS       dict name -> Form: files of its own in which an output may be kept ({} if absent)
    check_instance(data, /, **parameters) -> dict         all of INSTANCE, those given or their defaults (which the
                                                          workflow gives too), for data that is "given" or
                                                          "generated"; absent if any go together
    instance(inputs, **parameters) -> instance            inputs: name -> Graph or array; what a solver is prepared on
    queries(instance, count, seed) -> list of JSON values  the questions asked of it; the same for all variants
    reference(instance, query) -> Reference | None         (part of) the answer by another solver than ours
    differs(reference, answer) -> str | None               how an answer's rows differ from it; None when they do not
    prepare(instance, variant, backend, **parameters) -> Solver
    solve(...)                                             the one call for users of the library

The package's name and those of OUTPUTS and FORMS are small letters, digits and _; those of VARIANTS may have capitals
and - too. Those of parameters, METRICS and TRACES are names as Python's variables have them.
No module beside the package has its name: Python would take it for that module.

`check_instance`, `instance` and `prepare` raise ValueError for parameters that are off, and all but `check_instance`
Unavailable for what cannot run here, or not on these inputs. `prepare` makes its solvers by `prepared` of
saitan.solver, which has them refuse queries that there are not, and answers before there is one. Where `validate`
checks by a query that the solver keeps, `tells_query` of saitan.solver has them refuse an answer to another one.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np

import saitan
from saitan import cuda
from saitan.blocks import Block, Sink
from saitan.calls import checked_name
from saitan.errors import Invalid, Misdeclared, Unavailable
from saitan.graph_input import shown
from saitan.named import check_takes, named
from saitan.solver import Checked, Checker, Reference, Run, Solver

__all__ = [
    "BACKENDS",
    "Block",
    "Checked",
    "Checker",
    "Form",
    "Input",
    "Invalid",
    "Metric",
    "Misdeclared",
    "Output",
    "Parameter",
    "Reference",
    "Run",
    "Sink",
    "Solver",
    "Trace",
    "Unavailable",
    "Variant",
    "altered",
    "backend_for",
    "check_parameters",
    "names",
    "problem",
]

BACKENDS = ("cpu", "cuda")


@dataclass(frozen=True)
class Input:
    """One thing that an instance is made of: a graph of the catalogue, or an array (a file, or a kept answer).

    dtypes  names of the types that the array may have; () for any, as far as is known before it is read
    """

    kind: Literal["graph", "array"]
    says: str
    optional: bool = False
    dtypes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parameter:
    """What an experiment may set or sweep, and a caller may pass as a keyword.

    type      bool, int, float or str
    default   what is taken where it is not given; None where the solver chooses
    says      one line: what it is, and its unit
    choices   the values there are; () for any
    data      "given" or "generated" where it is of such data only
    above, least, most    bounds: greater than, at least, at most
    instead_of            another parameter, which is not given beside this one
    within                another parameter, which is given beside this one and at least as great, both numbers; a
                          parameter with one of these two has None as its default
    alike     where other values make another answer: those with which it is that of solvers without the parameter;
              None where it is the same with all. All are compared with the same reference, if there is one
    together  the values with which several ranks can answer; None for any
    """

    type: type
    default: Any
    says: str
    choices: tuple = ()
    data: Literal["", "given", "generated"] = ""
    above: float | None = None
    least: float | None = None
    most: float | None = None
    instead_of: str = ""
    within: str = ""
    alike: tuple | None = None
    together: tuple | None = None

    def wrong(self, value: Any) -> str | None:
        """What is wrong with a value, as the end of a sentence that begins with the parameter's name; None if nothing.

        A float parameter takes an int too; a bool is neither. NumPy's scalars count as numbers.
        """
        if isinstance(value, np.bool_):
            value = bool(value)
        fits = isinstance(value, {int: Integral, float: Real}.get(self.type, self.type))
        if not fits or (isinstance(value, bool) and self.type is not bool):
            kind = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[self.type]
            return f"must be {kind}, not {shown(value)}"
        if self.choices and value not in self.choices:
            return f"must be one of {', '.join(map(str, self.choices))}, not {shown(value)}"
        # A bound may be too large for a small type of NumPy's.
        number = value.item() if isinstance(value, np.generic) else value
        if isinstance(number, int) and number.bit_length() > 63:
            return f"must fit in 64 bits, not in {number.bit_length() + 1}"
        if self.type is float and not abs(number) <= sys.float_info.max:
            return f"must be finite, not {shown(value)}"
        if self.above is not None and not number > self.above:
            return f"must be greater than {_exact(self.above)}, not {shown(value)}"
        if self.least is not None and number < self.least:
            return f"must be at least {_exact(self.least)}, not {shown(value)}"
        if self.most is not None and number > self.most:
            return f"must be at most {_exact(self.most)}, not {shown(value)}"
        return None


def _exact(number: float) -> str:
    """A number in few letters, where these are all of it."""
    short = f"{number:g}"
    return short if float(short) == number else str(number)


def any_of(values: Iterable[Any]) -> str:
    """Values of a parameter in words, as YAML has them: "3 or true"."""
    return " or ".join(str(value).lower() if isinstance(value, bool) else str(value) for value in values)


@dataclass(frozen=True)
class Output:
    """An array of an answer: its shape and what it holds, in one line.

    instance  parameter of the instance -> the values with which the answer has it, None not among them; absent for any
    dtype     the name of its type; "" where that depends on what is asked, as `typed` of saitan.solver says then
    """

    says: str
    instance: Mapping[str, tuple] = field(default_factory=dict)
    dtype: str = ""

    def lacking(self, instance: Mapping[str, Any]) -> str | None:
        """Why the answer to an instance, of which all parameters are given, lacks it; None where it is there."""
        for name, values in self.instance.items():
            if instance[name] not in values:
                given = any_of([instance[name]])
                return f"the answer has it where the instance's {name} is {any_of(values)}, not {given}"
        return None


@dataclass(frozen=True)
class Metric:
    """A counter of Run.counters: what it counts, its unit, how samples combine, and which way is better.

    unit    "" for a count, "s", "bytes", or a rate such as "TEPS", "op/s", "entries/s"
    over    how the samples of a point become one number: "harmonic" is the mean of rates over equal work
    better  "more" or "less" where solvers can be compared by it
    """

    says: str
    unit: str = ""
    over: Literal["median", "mean", "harmonic"] = "median"
    better: Literal["more", "less"] | None = None


@dataclass(frozen=True)
class Trace:
    """An array with an entry a phase: what it holds, and its unit as a Metric's.

    text  its entries are words
    none  the number that stands in phases without one; None where every phase has one
    """

    says: str
    unit: str = ""
    text: bool = False
    none: float | None = None


@dataclass(frozen=True)
class Form:
    """A file of a problem's own in which an output may be kept, besides as an array.

    says      one line: what the file is
    outputs   names of the outputs that it holds
    writes    "module:function", called with (instance, variant, backend, path, query, **parameters), all parameters
              that the variant has: writes the whole answer to the query, checked; the file gets its name when it is
              complete. Raises ValueError for an instance that is off
    reads     "module:class", called with (path), of a form of several outputs with (path, output), the one that is
              read: has shape, dtype, [rows] as NumPy has them, and close(). Raises ValueError or Invalid for a file
              that is none or damaged. Rows of a reference that has no other outputs are read by it and compared
    inputs    names of INPUTS that an instance must be made of
    instance  parameter of the instance -> its value where the answer is whole, which a form holds
    """

    says: str
    outputs: tuple[str, ...]
    writes: str
    reads: str
    inputs: tuple[str, ...] = ()
    instance: Mapping[str, Any] = field(default_factory=dict)

    def write(self, instance: Any, variant: str, backend: str, path: Path, query: Any, /, **parameters: Any) -> None:
        function = named(self.writes, "a form has writes")
        check_takes(function, ["instance", "variant", "backend", "path", "query"], parameters)
        function(instance, variant, backend, path, query, **parameters)

    def open(self, path: Path, output: str) -> Any:
        """An output of a file. Raises Misdeclared for what cannot be called so."""
        reader = named(self.reads, "a form has reads")
        asked = {"path": path} | ({"output": output} if len(self.outputs) > 1 else {})
        check_takes(reader, asked)
        return reader(*asked.values())


@dataclass(frozen=True)
class Variant:
    """One algorithm and where its implementations are.

    cpu, cuda     "module:class" of the Solver for that backend, imported when first used; None if there is none
    cubins        stems of the folder's .cu files that the cuda solver loads, or "problem/stem" of another folder's; it
                  may load no others when it is measured
    parameters    keyword -> Parameter
    peer          module of other people's solver that must be importable, with the extra that installs it
    architecture  the least that the cuda solver runs on, such as "sm_90"; "" for any
    graph         what a graph must be: any of "undirected", "integer" (weights), "weights"; the workflow leaves
                  others out
    instance      parameter of the instance -> the values that the variant answers; for problems with several tasks
    traces        backend -> names of the problem's TRACES that it gives, beside the seconds of every phase; none for a
                  backend on which it traces nothing
    inputs        names of inputs that the variant cannot do without, although the problem can
    ranks         numbers of processes that can answer together (saitan.ranks), in ascending order; empty for one alone
    parts         whether it takes a graph in parts (saitan.arc_parts), of which each rank reads its own
    """

    summary: str
    cpu: str | None = None
    cuda: str | None = None
    cubins: tuple[str, ...] = ()
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    peer: tuple[str, str] | None = None
    architecture: str = ""
    graph: tuple[str, ...] = ()
    instance: Mapping[str, tuple] = field(default_factory=dict)
    traces: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    ranks: Sequence[int] = ()
    parts: bool = False

    def backends(self) -> tuple[str, ...]:
        """The backends this variant has an implementation for."""
        return tuple(backend for backend in BACKENDS if getattr(self, backend))

    @property
    def foreign(self) -> bool:
        """Whether it is other people's solver, which a problem keeps in its module `peers`."""
        return any((getattr(self, backend) or "").partition(":")[0].endswith(".peers") for backend in BACKENDS)

    @property
    def only_beside(self) -> bool:
        """Whether it is other people's solver for the CPU alone, which is measured beside the variants of a GPU too."""
        return self.foreign and self.backends() == ("cpu",)

    def missing(self) -> str | None:
        """Why this variant cannot run in this installation (a peer not installed); None when it can."""
        if self.peer and not _importable(self.peer[0]):
            module, extra = self.peer
            return f"{module} is not installed (pip install -e '.[{extra}]')"
        return None

    def unfit(
        self,
        backend: str,
        instance: Mapping[str, Any],
        graph: Mapping[str, Any] | None = None,
        arch: str | None = None,
        inputs: Collection[str] | None = None,
    ) -> str | None:
        """Why this variant cannot answer an instance, as far as is known; None where no reason is known.

        instance: the parameters set; graph: what is known of its metadata (`directed`, `weight`); arch: the device's;
        inputs: names of the inputs there are, None where they are not known.
        """
        if absent := [name for name in self.inputs if inputs is not None and name not in inputs]:
            return f"needs the input {absent[0]}"
        for name, values in self.instance.items():
            if name in instance and instance[name] not in values:
                return f"takes {name} {any_of(values)} only, not {any_of([instance[name]])}"
        if backend == "cuda" and arch and self.architecture and _generation(arch) < _generation(self.architecture):
            return f"needs a GPU of {self.architecture} or newer, this one is {arch}"
        about = graph or {}
        if "undirected" in self.graph and about.get("directed") is True:
            return "needs an undirected graph"
        if "integer" in self.graph and about.get("weight", "uint32") not in ("uint32", None):
            return f"needs integer weights, not {about['weight']}"
        if "weights" in self.graph and about.get("weight", "unknown") is None:
            return "needs a graph with weights"
        return None

    def unranked(self, number: int) -> str | None:
        """Why a number of ranks does not fit this variant, as the end of a sentence; None when it does."""
        if number in (fitting := self.ranks or (1,)):
            return None
        known = f"{fitting[0]} to {fitting[-1]}" if isinstance(fitting, range) else ", ".join(map(str, fitting))
        return f"runs on {known} ranks, not {number}"

    def load(self, backend: str, name: str = "the variant") -> Callable[..., Solver]:
        """The Solver class for a backend. Raises ValueError for a backend that there is not, Unavailable when the
        variant has none or its package is missing.

        name: the variant's, for that message. Raises Misdeclared for what is no class, or is not there.
        """
        path = getattr(self, checked_name("backend", backend, BACKENDS))
        if path is None:
            has = ", ".join(self.backends())
            raise Unavailable(f"{name} has no {backend} implementation (there is one for: {has})")
        if reason := self.missing() or (cuda.unusable() if backend == "cuda" else None):
            raise Unavailable(reason)
        if not callable(found := named(path, f"{name} has {backend}")):
            raise Misdeclared(f'{name} has {backend}="{path}", which is {shown(found)}: a class is right')
        return found


def _importable(module: str) -> bool:
    """Whether a module is there; it is not loaded, but the packages that it is part of are."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _generation(arch: str) -> int:
    """90 of "sm_90a"."""
    return int(arch.removeprefix("sm_").rstrip("af"))


@cache
def names() -> list[str]:
    """Names of all problems: the packages under `kernels/` that define VARIANTS."""
    packages = [p.name for p in pkgutil.iter_modules(saitan.__path__) if p.ispkg and p.name != "workflow"]
    return [name for name in packages if hasattr(importlib.import_module(f"saitan.{name}"), "VARIANTS")]


def undeclared(name: str) -> str:
    """What follows "unknown problem" where `kernels/` has a folder of that name; "" where it has none."""
    there = name.isidentifier() and (Path(saitan.__path__[0]) / name).is_dir()
    return f"; kernels/{name}/__init__.py defines no VARIANTS" if there else ""


def problem(name: str) -> ModuleType:
    """The package of a problem. Raises KeyError naming those there are."""
    if name not in (known := names()):
        raise KeyError(f"unknown problem {name!r} (there are: {', '.join(known)})")
    return importlib.import_module(f"saitan.{name}")


def known_variant(variants: Mapping[str, Variant], name: str) -> Variant:
    """The variant of a name. Raises ValueError naming those there are."""
    return variants[checked_name("variant", name, variants)]


def check_parameters(
    owner: str, given: Mapping[str, Any], known: Mapping[str, Parameter], data: str = ""
) -> dict[str, Any]:
    """All of `known` with the values given, as Python's numbers, or their defaults.

    data: "given" or "generated" for parameters of an instance. Raises ValueError naming the parameter that `owner` (a
    variant, a problem) lacks, that is off, that is of other data, or that does not go with another one given.
    """
    for name, value in given.items():
        if name not in known:
            has = f"it has: {', '.join(known)}" if known else "it has none"
            raise ValueError(f"{owner} has no parameter {name!r} ({has})")
        chosen = value is None and known[name].default is None
        if not chosen and (reason := known[name].wrong(value)):
            raise ValueError(f"{name} {reason}")
        if data and known[name].data not in ("", data):
            raise ValueError(f"{name} is of {known[name].data} data only, and here data is {data}: leave it out")
        if value is not None and given.get(other := known[name].instead_of) is not None:
            raise ValueError(f"{name} and {other} exclude each other")
    for name, value in given.items():
        if value is not None and (other := known[name].within):
            if given.get(other) is None:
                raise ValueError(f"{name} goes with {other}: give both")
            if given[other] < value:
                raise ValueError(f"{name} must be at most {other}, {shown(given[other])}, not {shown(value)}")
    return with_defaults({name: _plain(value) for name, value in given.items()}, known)


def _plain(value: Any) -> Any:
    """A parameter's value as Python's number: in NumPy's narrow types sums and products would wrap."""
    for kind, plain in (((bool, np.bool_), bool), (Integral, int), (Real, float)):
        if isinstance(value, kind):
            return plain(value)
    return value


def with_defaults(given: Mapping[str, Any], known: Mapping[str, Parameter]) -> dict[str, Any]:
    """All of `known` with the values given or their defaults."""
    return {name: given.get(name, parameter.default) for name, parameter in known.items()}


def completed(given: Mapping[str, Any], known: Mapping[str, Parameter], data: str = "") -> dict[str, Any]:
    """What is given, and the defaults that `check_parameters` takes beside it: a default of the code that is called may
    be another one.

    data: as there
    """
    replaced = {known[name].instead_of for name, value in given.items() if name in known and value is not None}
    defaults = {
        name: parameter.default
        for name, parameter in known.items()
        if name not in replaced and (not data or parameter.data in ("", data))
    }
    return defaults | dict(given)


def kernels_of(name: str, variant: Variant) -> list[str]:
    """The sources that a variant of a problem loads, as "problem/stem"; it declares those of its own without it."""
    return [stem if "/" in stem else f"{name}/{stem}" for stem in variant.cubins]


def outputs_of(package: ModuleType, given: Mapping[str, Any]) -> list[str]:
    """Names of the outputs that the answer to an instance has. given: its parameters, but for those by default."""
    instance = with_defaults(given, package.INSTANCE)
    return [name for name, output in package.OUTPUTS.items() if output.lacking(instance) is None]


def altered(variant: Variant, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters by which a variant's answer is another than that of others, with their values.

    given: values by name, None where there is none. Only points of the same are compared with each other.
    """
    known = {name: value for name, value in given.items() if name in variant.parameters and value is not None}
    values = with_defaults(known, variant.parameters)
    return {
        name: values[name]
        for name, declared in variant.parameters.items()
        if declared.alike is not None and values[name] not in declared.alike
    }


def backend_for(variant: Variant, choice: str = "auto") -> str:
    """The backend to run a variant on. "auto": cuda where the variant has it and a device can be used, otherwise cpu.

    Raises ValueError for an unknown backend.
    """
    if checked_name("backend", choice, ("auto", *BACKENDS)) == "auto":
        return "cuda" if variant.cuda and (variant.cpu is None or not cuda.unusable()) else "cpu"
    return choice
