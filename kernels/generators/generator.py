"""What a generator is, apart from which there are: what is declared of one, and how it is called."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from saitan.graph_input import shown
from saitan.memory import check_room
from saitan.named import check_takes, named

if TYPE_CHECKING:
    from saitan.graph import Graph

# Bytes of a vertex: its offset.
_VERTEX = 8
# What parameters can be, in words.
KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


@dataclass(frozen=True)
class Generator:
    """One generator, imported when it is first called.

    path      "module:function"
    size      vertices and about how many arcs its parameters, by name, make: what its memory is forecast by
    fits      raises ValueError for parameters, by name, out of range (ranges.py)
    required  parameter -> type; every generator has `seed` too, and is given it, as `size` and `fits` are
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

    @property
    def known(self) -> dict[str, type]:
        """All parameters, in the order in which they are told."""
        return {**self.required, "seed": int, **self.optional}

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Raise a ValueError of one line that names a parameter which is unknown, missing, mistyped or out of range."""
        known = self.known
        for parameter, value in parameters.items():
            if parameter not in known:
                raise ValueError(
                    f"generator {self.name}: unknown parameter {parameter!r} (it takes: {', '.join(known)})"
                )
            kind = known[parameter]
            if not (type(value) is kind or (kind is float and type(value) is int)):
                raise ValueError(f"generator {self.name}: {parameter} must be {KINDS[kind]}, not {shown(value)}")
            if kind is float and not math.isfinite(value):
                raise ValueError(f"generator {self.name}: {parameter} must be finite, not {value!r}")
            if parameter == "seed" and value < 0:
                raise ValueError(f"generator {self.name}: seed must be at least 0, not {value}")
        for parameter in (*self.required, "seed"):
            if parameter not in parameters:
                raise ValueError(f"generator {self.name}: parameter {parameter!r} is missing")
        if (fits := self._asked("fits", parameters)) is not None:
            right = "None is right, and a ValueError for what does not fit"
            raise ValueError(f"generator {self.name}: its fits gives {shown(fits)}: {right}")

    def _asked(self, what: str, parameters: Mapping[str, Any]) -> Any:
        """What `fits` or `size` says of parameters. Raises ValueError where it does, or cannot be called with them."""
        try:
            return getattr(self, what)(**parameters)
        except ValueError as error:
            raise ValueError(f"generator {self.name}: {error}") from error
        except Exception as error:
            raise ValueError(f"generator {self.name}: its {what} ends in {type(error).__name__}: {error}") from error

    def __call__(self, **parameters: Any) -> Graph:
        """The graph. Raises ValueError for parameters that do not fit, or a function that is not there, Unavailable
        where memory does not hold it.
        """
        # NumPy's numbers are as good as Python's, which metadata hold.
        parameters = {
            key: value.item() if isinstance(value, np.generic) else value for key, value in parameters.items()
        }
        self.check(parameters)
        self._check_memory(parameters)
        function = named(self.path, f"generator {self.name} has path")
        check_takes(function, [], parameters)
        try:
            graph = function(**parameters)
        except ValueError as error:
            raise ValueError(f"generator {self.name}: {error}") from error
        if not hasattr(graph, "with_metadata"):
            raise ValueError(f"generator {self.name}: {self.path} returned {type(graph).__name__}: a Graph is right")
        settings = {key: value for key, value in parameters.items() if key != "seed"}
        return graph.with_metadata(name=self.name, generator=self.name, parameters=settings, seed=parameters["seed"])

    def _check_memory(self, parameters: Mapping[str, Any]) -> None:
        size = self._asked("size", parameters)
        if not (isinstance(size, tuple) and [isinstance(number, Real) for number in size] == [True, True]):
            right = "numbers of vertices and arcs are right"
            raise ValueError(f"generator {self.name}: its size is {shown(size)}: {right}")
        n, m = size
        check_room(_VERTEX * n + self.arc * m, f"generator {self.name}: {n:,} vertices and {m:,} arcs")
