"""Seeded graph generators: the same parameters and seed give the same graph on every machine.

`GENERATORS["random"](vertices=1000, arcs=4000, weight_low=1, weight_high=1000, seed=1)` is a Graph. Its metadata
holds name, directed, generator, parameters and seed. Importing this package imports no generator.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saitan.graph import Graph


@dataclass(frozen=True)
class Generator:
    """One generator, imported when it is first called.

    path      "module:function"
    required  parameter -> type; `seed` is one of every generator
    optional  the same, for parameters with a default
    """

    name: str
    path: str
    required: Mapping[str, type]
    optional: Mapping[str, type] = field(default_factory=dict)

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Raise a ValueError of one line that names an unknown, missing or mistyped parameter."""
        known = {**self.required, "seed": int, **self.optional}
        for parameter, value in parameters.items():
            if parameter not in known:
                raise ValueError(
                    f"generator {self.name}: unknown parameter {parameter!r} (it takes: {', '.join(known)})"
                )
            kind = known[parameter]
            if not (type(value) is kind or (kind is float and type(value) is int)):
                raise ValueError(f"generator {self.name}: {parameter} must be {_KINDS[kind]}, not {value!r}")
            if kind is float and not math.isfinite(value):
                raise ValueError(f"generator {self.name}: {parameter} must be finite, not {value!r}")
            if parameter == "seed" and value < 0:
                raise ValueError(f"generator {self.name}: seed must be at least 0, not {value}")
        for parameter in (*self.required, "seed"):
            if parameter not in parameters:
                raise ValueError(f"generator {self.name}: parameter {parameter!r} is missing")

    def __call__(self, **parameters: Any) -> Graph:
        """The graph. Raises ValueError for parameters that do not fit."""
        self.check(parameters)
        module, function = self.path.split(":")
        try:
            graph = getattr(importlib.import_module(module), function)(**parameters)
        except ValueError as error:
            raise ValueError(f"generator {self.name}: {error}") from error
        settings = {key: value for key, value in parameters.items() if key != "seed"}
        return graph.with_metadata(name=self.name, generator=self.name, parameters=settings, seed=parameters["seed"])


_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
_WEIGHTS = {"weight_low": int, "weight_high": int}

_VERTICES = {"vertices": int}
_FAMILIES: dict[str, dict[str, type]] = {
    "torus": {"width": int, "height": int},
    "path": _VERTICES,
    "star": _VERTICES,
    "tree": _VERTICES,
    "comb": {"teeth": int, "length": int},
    "ladder": {"rungs": int},
    "grid3d": {"width": int, "height": int, "depth": int},
    "regular": {**_VERTICES, "degree": int},
    "preferential": {**_VERTICES, "edges": int},
    "small_world": {**_VERTICES, "degree": int, "rewired": float},
    "web": {**_VERTICES, "host": int, "tail": int},
    "geometric": {**_VERTICES, "degree": float},
    "bipartite": {"left": int, "right": int, "edges": int},
    "islands": {**_VERTICES, "size": int},
    "hub": {**_VERTICES, "arcs": int},
}

GENERATORS: dict[str, Generator] = {
    generator.name: generator
    for generator in (
        Generator("random", "saitan.generators.random:random", {"vertices": int, "arcs": int, **_WEIGHTS}),
        Generator(
            "rmat",
            "saitan.generators.rmat:rmat",
            {"vertices": int, "arcs": int, "a": float, "b": float, "c": float},
            _WEIGHTS,
        ),
        Generator(
            "kronecker", "saitan.generators.kronecker:kronecker", {"scale": int}, {"edge_factor": int, **_WEIGHTS}
        ),
        Generator("ring", "saitan.generators.regular:ring", {"vertices": int}, _WEIGHTS),
        Generator("complete", "saitan.generators.regular:complete", {"vertices": int}, _WEIGHTS),
        Generator("grid", "saitan.generators.regular:grid", {"width": int, "height": int, **_WEIGHTS}),
        Generator(
            "road_rail",
            "saitan.generators.road_rail:road_rail",
            {"vertices": int, "arcs": int},
            {"main_only": bool},
        ),
        Generator("street_map", "saitan.generators.street_map:street_map", {"vertices": int, "arcs": int}),
        *(
            Generator(name, f"saitan.generators.families:{name}", {**parameters, "weights": str})
            for name, parameters in _FAMILIES.items()
        ),
    )
}
