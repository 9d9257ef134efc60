"""The ranges of generators' parameters, known without the graph: a function a generator, of its parameters by name.

Each raises a ValueError of one line that names the parameter. Types and missing parameters are seen before. Only what
follows from the draws themselves is left to the generators: the arcs that a map has room for, quadrants of R-MAT that
are too small.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from saitan.graph_input import MAX_VERTICES

MAX_WEIGHT = 2**32 - 1
# Kinds of the weights of a family, which draw.of_kind draws.
KINDS = ("unit", "uniform", "zero-one", "log-normal", "nearly-equal", "float")
_MANY = 2**40


def require(name: str, value: float, low: float, high: float) -> None:
    """Raise a ValueError that names the parameter unless low <= value <= high."""
    if not low <= value <= high:
        raise ValueError(f"{name} must be {low} to {high}, not {value}")


def require_weights(low: int, high: int) -> None:
    """Raise a ValueError unless weight_low .. weight_high is a range of uint32."""
    require("weight_low", low, 0, MAX_WEIGHT)
    require("weight_high", high, low, MAX_WEIGHT)


def random(vertices: int, arcs: int, weight_low: int, weight_high: int, **_: Any) -> None:
    require("vertices", vertices, 2, MAX_VERTICES)
    require("arcs", arcs, vertices, _MANY)
    require_weights(weight_low, weight_high)


def rmat(vertices: int, arcs: int, a: float, b: float, c: float, **weights: Any) -> None:
    hub(vertices, arcs)
    # The first vertex lies at the end of the descent by a alone: without a, few or no arcs may fall inside.
    if not (a > 0 and b >= 0 and c >= 0 and a + b + c <= 1):
        raise ValueError(f"a, b, c must be shares (a positive) of at most 1 in sum, not {a}, {b}, {c}")
    _optional_weights(**weights)


def kronecker(scale: int, edge_factor: int = 16, **weights: Any) -> None:
    require("scale", scale, 1, 30)
    require("edge_factor", edge_factor, 1, 2**10)
    _optional_weights(**weights)


def _optional_weights(weight_low: int | None = None, weight_high: int | None = None, **_: Any) -> None:
    if (weight_low is None) != (weight_high is None):
        raise ValueError("weight_low and weight_high go together: give both or neither")
    if weight_low is not None:
        require_weights(weight_low, weight_high)


def ring(vertices: int, weight_low: int = 1, weight_high: int = 1, **_: Any) -> None:
    require("vertices", vertices, 1, MAX_VERTICES)
    require_weights(weight_low, weight_high)


def complete(vertices: int, **weights: Any) -> None:
    require("vertices", vertices, 1, 2**20)
    ring(vertices, **weights)


def grid(width: int, height: int, weight_low: int, weight_high: int, **_: Any) -> None:
    require("width", width, 1, MAX_VERTICES)
    require("height", height, 1, MAX_VERTICES // width)
    require_weights(weight_low, weight_high)


def map_of(vertices: int, arcs: int, **_: Any) -> None:
    """Of maps: how many arcs there may be at most follows from what is drawn."""
    require("vertices", vertices, 100, MAX_VERTICES)
    least = 2 * (vertices - 1)
    if arcs % 2 or arcs < least:
        raise ValueError(f"arcs must be even and at least {least} for {vertices} vertices, not {arcs}")


def torus(width: int, height: int, **_: Any) -> None:
    require("width", width, 3, MAX_VERTICES // 3)
    require("height", height, 3, MAX_VERTICES // width)


def vertices_alone(vertices: int, **_: Any) -> None:
    """Of path, star and tree."""
    require("vertices", vertices, 1, MAX_VERTICES)


def comb(teeth: int, length: int, **_: Any) -> None:
    require("teeth", teeth, 1, MAX_VERTICES)
    require("length", length, 0, MAX_VERTICES // teeth - 1)


def ladder(rungs: int, **_: Any) -> None:
    require("rungs", rungs, 1, MAX_VERTICES // 2)


def grid3d(width: int, height: int, depth: int, **_: Any) -> None:
    require("width", width, 1, MAX_VERTICES)
    require("height", height, 1, MAX_VERTICES // width)
    require("depth", depth, 1, MAX_VERTICES // (width * height))


def regular(vertices: int, degree: int, **_: Any) -> None:
    require("vertices", vertices, 3, MAX_VERTICES)
    require("degree", degree, 2, vertices - 1)
    if degree % 2:
        raise ValueError(f"degree must be even, not {degree}")


def preferential(vertices: int, edges: int, **_: Any) -> None:
    require("vertices", vertices, 1, MAX_VERTICES)
    require("edges", edges, 1, 2**20)


def small_world(vertices: int, degree: int, rewired: float, **_: Any) -> None:
    regular(vertices, degree)
    require("rewired", rewired, 0, 1)


def web(vertices: int, host: int, tail: int, **_: Any) -> None:
    require("vertices", vertices, 2, MAX_VERTICES)
    require("host", host, 1, vertices)
    require("tail", tail, 1, vertices)


def geometric(vertices: int, degree: float, **_: Any) -> None:
    require("vertices", vertices, 1, MAX_VERTICES)
    require("degree", degree, 0, vertices)


def bipartite(left: int, right: int, edges: int, **_: Any) -> None:
    require("left", left, 1, MAX_VERTICES - 1)
    require("right", right, 1, MAX_VERTICES - left)
    require("edges", edges, 0, _MANY)


def islands(vertices: int, size: int, **_: Any) -> None:
    require("vertices", vertices, 1, MAX_VERTICES)
    require("size", size, 1, vertices)


def hub(vertices: int, arcs: int, **_: Any) -> None:
    require("vertices", vertices, 1, MAX_VERTICES)
    require("arcs", arcs, 0, _MANY)


def family(fits: Callable[..., None]) -> Callable[..., None]:
    """The same with the kind of the weights, which every family has."""

    def check(weights: str, **parameters: Any) -> None:
        fits(**parameters)
        if weights not in KINDS:
            raise ValueError(f"weights must be one of {', '.join(KINDS)}, not {weights!r}")

    return check
