"""Seeded graph generators: the same parameters and seed give the same graph on every machine.

`GENERATORS["random"](vertices=1000, arcs=4000, weight_low=1, weight_high=1000, seed=1)` is a Graph. Its metadata
holds name, directed, generator, parameters and seed. Importing this package imports no generator.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from saitan.generators import ranges
from saitan.graph_input import shown
from saitan.memory import check_room

if TYPE_CHECKING:
    from saitan.graph import Graph


@dataclass(frozen=True)
class Generator:
    """One generator, imported when it is first called.

    path      "module:function"
    size      vertices and about how many arcs its parameters, by name, make: what its memory is forecast by
    fits      raises ValueError for parameters, by name, out of range (ranges.py)
    required  parameter -> type; `seed` is one of every generator
    optional  the same, for parameters with a default
    arc       bytes that an arc takes at least while it is made: both ends and the weight, and once more in its row
    """

    name: str
    path: str
    size: Callable[..., tuple[int, int]]
    fits: Callable[..., None]
    required: Mapping[str, type]
    optional: Mapping[str, type] = field(default_factory=dict)
    arc: int = 20

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Raise a ValueError of one line that names a parameter which is unknown, missing, mistyped or out of range."""
        known = {**self.required, "seed": int, **self.optional}
        for parameter, value in parameters.items():
            if parameter not in known:
                raise ValueError(
                    f"generator {self.name}: unknown parameter {parameter!r} (it takes: {', '.join(known)})"
                )
            kind = known[parameter]
            if not (type(value) is kind or (kind is float and type(value) is int)):
                raise ValueError(f"generator {self.name}: {parameter} must be {_KINDS[kind]}, not {shown(value)}")
            if kind is float and not math.isfinite(value):
                raise ValueError(f"generator {self.name}: {parameter} must be finite, not {value!r}")
            if parameter == "seed" and value < 0:
                raise ValueError(f"generator {self.name}: seed must be at least 0, not {value}")
        for parameter in (*self.required, "seed"):
            if parameter not in parameters:
                raise ValueError(f"generator {self.name}: parameter {parameter!r} is missing")
        try:
            self.fits(**parameters)
        except ValueError as error:
            raise ValueError(f"generator {self.name}: {error}") from None

    def __call__(self, **parameters: Any) -> Graph:
        """The graph. Raises ValueError for parameters that do not fit, Unavailable where memory does not hold it."""
        self.check(parameters)
        self._check_memory(parameters)
        module, function = self.path.split(":")
        try:
            graph = getattr(importlib.import_module(module), function)(**parameters)
        except ValueError as error:
            raise ValueError(f"generator {self.name}: {error}") from error
        if not hasattr(graph, "with_metadata"):
            raise ValueError(f"generator {self.name}: {self.path} returned {type(graph).__name__}: a Graph is right")
        settings = {key: value for key, value in parameters.items() if key != "seed"}
        return graph.with_metadata(name=self.name, generator=self.name, parameters=settings, seed=parameters["seed"])

    def _check_memory(self, parameters: Mapping[str, Any]) -> None:
        n, m = self.size(**parameters)
        check_room(_VERTEX * n + self.arc * m, f"generator {self.name}: {n:,} vertices and {m:,} arcs")


# Bytes of a vertex: its offset.
_VERTEX = 8
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
_WEIGHTS = {"weight_low": int, "weight_high": int}

_VERTICES = {"vertices": int}


def _counted(vertices: int, arcs: int, **_: Any) -> tuple[int, int]:
    return vertices, arcs


def _tree(vertices: int, **_: Any) -> tuple[int, int]:
    return vertices, 2 * (vertices - 1)


def _of_degree(vertices: int, degree: float, **_: Any) -> tuple[int, int]:
    return vertices, vertices * int(degree)


_FAMILIES: dict[str, tuple[Callable[..., tuple[int, int]], Callable[..., None], dict[str, type]]] = {
    "torus": (
        lambda width, height, **_: (width * height, 4 * width * height),
        ranges.torus,
        {"width": int, "height": int},
    ),
    "path": (_tree, ranges.vertices_alone, _VERTICES),
    "star": (_tree, ranges.vertices_alone, _VERTICES),
    "tree": (_tree, ranges.vertices_alone, _VERTICES),
    "comb": (lambda teeth, length, **_: _tree(teeth * (length + 1)), ranges.comb, {"teeth": int, "length": int}),
    "ladder": (lambda rungs, **_: (2 * rungs, 6 * rungs - 4), ranges.ladder, {"rungs": int}),
    "grid3d": (
        lambda width, height, depth, **_: (
            width * height * depth,
            2 * (3 * width * height * depth - width * height - height * depth - width * depth),
        ),
        ranges.grid3d,
        {"width": int, "height": int, "depth": int},
    ),
    "regular": (_of_degree, ranges.regular, {**_VERTICES, "degree": int}),
    "preferential": (
        lambda vertices, edges, **_: (vertices, vertices * edges),
        ranges.preferential,
        {**_VERTICES, "edges": int},
    ),
    "small_world": (_of_degree, ranges.small_world, {**_VERTICES, "degree": int, "rewired": float}),
    "web": (lambda vertices, **_: _of_degree(vertices, 4), ranges.web, {**_VERTICES, "host": int, "tail": int}),
    "geometric": (_of_degree, ranges.geometric, {**_VERTICES, "degree": float}),
    "bipartite": (
        lambda left, right, edges, **_: (left + right, 2 * edges),
        ranges.bipartite,
        {"left": int, "right": int, "edges": int},
    ),
    "islands": (lambda vertices, **_: _of_degree(vertices, 1), ranges.islands, {**_VERTICES, "size": int}),
    "hub": (_counted, ranges.hub, {**_VERTICES, "arcs": int}),
}

GENERATORS: dict[str, Generator] = {
    generator.name: generator
    for generator in (
        Generator(
            "random",
            "saitan.generators.random:random",
            _counted,
            ranges.random,
            {"vertices": int, "arcs": int, **_WEIGHTS},
        ),
        Generator(
            "rmat",
            "saitan.generators.rmat:rmat",
            _counted,
            ranges.rmat,
            {"vertices": int, "arcs": int, "a": float, "b": float, "c": float},
            _WEIGHTS,
            arc=12,
        ),
        Generator(
            "kronecker",
            "saitan.generators.kronecker:kronecker",
            lambda scale, edge_factor=16, **_: _of_degree(1 << scale, 2 * edge_factor),
            ranges.kronecker,
            {"scale": int},
            {"edge_factor": int, **_WEIGHTS},
            arc=12,
        ),
        Generator(
            "ring",
            "saitan.generators.regular:ring",
            lambda vertices, **_: _of_degree(vertices, 1),
            ranges.ring,
            {"vertices": int},
            _WEIGHTS,
            arc=8,
        ),
        Generator(
            "complete",
            "saitan.generators.regular:complete",
            lambda vertices, **_: _of_degree(vertices, vertices - 1),
            ranges.complete,
            {"vertices": int},
            _WEIGHTS,
            arc=8,
        ),
        Generator(
            "grid",
            "saitan.generators.regular:grid",
            lambda width, height, **_: (width * height, 4 * width * height - 2 * (width + height)),
            ranges.grid,
            {"width": int, "height": int, **_WEIGHTS},
        ),
        Generator(
            "road_rail",
            "saitan.generators.road_rail:road_rail",
            _counted,
            ranges.map_of,
            {"vertices": int, "arcs": int},
            {"main_only": bool},
        ),
        Generator(
            "street_map",
            "saitan.generators.street_map:street_map",
            _counted,
            ranges.map_of,
            {"vertices": int, "arcs": int},
        ),
        *(
            Generator(
                name, f"saitan.generators.families:{name}", size, ranges.family(fits), {**parameters, "weights": str}
            )
            for name, (size, fits, parameters) in _FAMILIES.items()
        ),
    )
}
