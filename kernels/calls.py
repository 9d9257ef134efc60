"""What the one call of every problem checks about its arguments, and what its help says about the variants."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

import numpy as np

from saitan.both_ways import both_ways
from saitan.errors import Misdeclared, Unavailable
from saitan.graph import Graph
from saitan.graph_input import shown, truth_value_among

if TYPE_CHECKING:
    from saitan.problem import Input, Parameter, Variant


def described(variants: Mapping[str, Variant]) -> Callable[[Callable], Callable]:
    """A decorator that ends a function's docstring with the variants, their backends and their parameters.

    Raises Misdeclared where they are none.
    """

    def document(function: Callable) -> Callable:
        _check_described(f"{function.__module__}: VARIANTS", variants)
        lines = [cleandoc(function.__doc__ or ""), "", "Variants (with their backends) and parameters:"]
        for name, variant in variants.items():
            lines.append(f"    {name} ({', '.join(variant.backends())}): {variant.summary}")
            lines += [f"        {key}: {_parameter(parameter)}" for key, parameter in variant.parameters.items()]
        function.__doc__ = "\n".join(lines) + "\n"
        return function

    return document


def _check_described(where: str, variants: Any) -> None:
    """The workflow looks at the rest of what is declared (saitan.workflow.declared)."""
    from saitan.problem import Parameter, Variant

    if not isinstance(variants, Mapping):
        raise Misdeclared(f"{where} is {shown(variants)}: a mapping of names to Variants is right")
    for name, variant in variants.items():
        if not isinstance(variant, Variant):
            raise Misdeclared(f'{where}["{name}"] is {shown(variant)}: a Variant is right')
        parameters = variant.parameters
        if not isinstance(parameters, Mapping) or not all(isinstance(one, Parameter) for one in parameters.values()):
            right = "a mapping of names to Parameters is right"
            raise Misdeclared(f'{where}["{name}"]: parameters is {shown(parameters)}: {right}')


def _parameter(parameter: Parameter) -> str:
    default = "" if parameter.default is None else f", default {parameter.default!r}"
    choices = f", one of {', '.join(map(str, parameter.choices))}" if parameter.choices else ""
    return f"{getattr(parameter.type, '__name__', '')}{default}{choices}: {parameter.says}"


def checked_graph(graph: Any, parts: bool = False) -> Any:
    """The graph, its arrays checked anew: whoever has them may have written to them, and compiled code does not look.

    Nothing that was derived from them before is kept. Takes 0.5 ns an arc, with real weights 1.
    parts: a graph in parts (saitan.arc_parts) will do too, which comes back as it is.
    Raises ValueError that says how to make a graph of what is none, GraphError where the arrays are none now.
    """
    if isinstance(graph, Graph):
        return replace(graph)
    if parts and hasattr(graph, "arcs"):
        return graph
    raise ValueError(f"a saitan.graph.Graph is expected, not {_how_to_make_one(graph)}")


def _how_to_make_one(graph: Any) -> str:
    kind = type(graph)
    if hasattr(graph, "tocsr"):
        how = "call Graph.from_scipy(matrix)"
    elif kind.__module__.startswith("networkx"):
        how = "call Graph.from_networkx(graph)"
    elif kind.__module__.startswith("pandas"):
        how = "call Graph.from_pandas(frame)"
    else:
        how = "make one by Graph.from_arcs or Graph.from_scipy"
    return f"{kind.__name__}: {how}"


def checked_inputs(problem: str, inputs: Mapping[str, Any], known: Mapping[str, Input]) -> None:
    """Raise ValueError for inputs of an instance that its problem does not have, lacks, or that are of another kind."""
    if not isinstance(inputs, Mapping):
        names = " or ".join(f"{{{name!r}: ...}}" for name in known)
        raise ValueError(f"inputs by name are right, {names}, not {type(inputs).__name__}")
    for name, value in inputs.items():
        if name not in known:
            raise ValueError(f"{problem} has no input {name!r} (it has: {', '.join(known)})")
        if value is None:
            raise ValueError(f"{name} is None: give one, or leave it out where it is optional")
        if known[name].kind == "graph" and not isinstance(value, Graph) and not hasattr(value, "arcs"):
            raise ValueError(f"{name}: a saitan.graph.Graph is expected, not {_how_to_make_one(value)}")
    if not inputs and not any(declared.optional for declared in known.values()):
        raise ValueError(f"{problem} needs an input: {' or '.join(known)}")
    if len(inputs) > 1:
        raise ValueError(f"{problem} takes one input, not {' and '.join(inputs)}")


def checked_both_ways(graph: Graph, weighted: bool = True) -> Graph:
    """The graph. Raises ValueError where it is undirected by its metadata, but some arc is there one way only, or where
    `weighted`, with another weight: searches that follow a vertex's arcs backwards would be wrong without a word.
    """
    if graph.directed or both_ways(graph if weighted else graph.without_weights()):
        return graph
    raise ValueError(
        f"graph {graph.name} is undirected by its metadata, but not every arc is there both ways: give both arcs of"
        " each edge, with one weight, or leave out directed=False"
    )


def weighted_graph(graph: Graph) -> Graph:
    """The graph. Raises Unavailable for one without weights or vertices."""
    if graph.weights is None:
        raise Unavailable(
            f"graph {graph.name} has no weights: give it some (Graph.from_arcs takes them; `weights:` in its catalogue"
            " entry draws them)"
        )
    if graph.n == 0:
        raise Unavailable(f"graph {graph.name} has no vertices")
    return graph


def plain_array(values: Any, name: str) -> np.ndarray:
    """The values as NumPy's own array. Raises ValueError naming the argument where some are masked, or truth values,
    and for a sparse matrix.

    NumPy would take what lies under the mask, truth values beside numbers for 0 and 1, and a matrix for one object.
    """
    if hasattr(values, "tocsr"):
        raise ValueError(f"{name} is a sparse matrix: give its data, or matrix.toarray()")
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name}: {int(np.ma.count_masked(values)):,} entries are masked: fill them or leave them out")
    array = np.asarray(values)
    if (place := truth_value_among(values, array)) is not None:
        raise ValueError(f"{name}: entry {place} is a truth value beside numbers")
    return array


def checked_vertex(name: str, value: Any, n: int) -> int:
    """A vertex number in [0, n) as an int. Raises ValueError naming the argument; floats and truth values are none."""
    try:
        if isinstance(value, bool):
            raise TypeError
        vertex = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be the whole number of a vertex, not {shown(value)}") from None
    if not 0 <= vertex < n:
        raise ValueError(f"{name} {vertex} is not in [0, {n:,})")
    return vertex


def checked_count(name: str, value: Any) -> int:
    """A whole number of at least 0 as an int. Raises ValueError naming the argument."""
    try:
        if isinstance(value, bool) or (number := operator.index(value)) < 0:
            raise TypeError
    except TypeError:
        raise ValueError(f"{name} must be a whole number of at least 0, not {shown(value)}") from None
    return number


def checked_instance(value: Any, kind: type, how: str) -> Any:
    """What a problem's `instance` made. Raises ValueError that says what to call (how) for anything else."""
    if not isinstance(value, kind):
        raise ValueError(f"an instance is expected, not {type(value).__name__}: call {how}")
    return value


def checked_flag(name: str, value: Any) -> bool:
    """True or False. Raises ValueError naming the argument for anything else, which `if` would take."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, not {shown(value)}")
    return bool(value)


def checked_name(kind: str, value: Any, known: Iterable[str]) -> str:
    """The name of one of those there are. Raises ValueError naming them, and what kind they are of."""
    known = list(known)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"unknown {kind} {shown(value)} (there are: {', '.join(known)})")
    return value


def checked_function(name: str, value: Any) -> Callable:
    """What can be called. Raises ValueError naming the argument."""
    if not callable(value):
        raise ValueError(f"{name} must be a function, not {shown(value)}")
    return value
