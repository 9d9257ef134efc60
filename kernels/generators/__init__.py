"""Seeded graph generators: the same parameters and seed give the same graph on every machine.

`GENERATORS["random"](vertices=1000, arcs=4000, weight_low=1, weight_high=1000, seed=1)` is a Graph. Its metadata
holds name, directed, generator, parameters and seed. Importing this package imports no generator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from saitan.generators import ranges
from saitan.generators.generator import Generator

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
