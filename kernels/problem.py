"""What every problem folder under `kernels/` offers, so that the workflow can measure any of them alike.

A problem is a package `kernels.<name>` that is cheap to import (no Numba, no PyCUDA) and defines

    TITLE       str, a heading
    VARIANTS    dict name -> Variant
    INSTANCE    dict parameter -> type: what an experiment may set about the input itself ({} if the graph is all)
    METRICS     dict counter -> one line: the counters that Run.counters may hold
    instance(graph | None, **parameters) -> instance      what a solver is prepared on
    queries(instance, count, seed) -> list of plain values  the questions asked of it; the same for all variants
    reference(instance, query) -> dict of arrays | None    the answer by somebody else's solver
    differs(reference, answer) -> str | None               how an answer differs from it; None when it does not
    prepare(instance, variant, backend, **parameters) -> Solver
    solve(...)                                             the one call for users of the library
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Protocol

import numpy as np

BACKENDS = ("cpu", "cuda")


class Invalid(Exception):
    """An answer failed its check; the message is one line that says where."""


class Unavailable(Exception):
    """A variant cannot run here; the message is one line that says why and what would help."""


@dataclass(frozen=True)
class Variant:
    """One algorithm and where its implementations are.

    cpu, cuda   "module:class" of the Solver for that backend, imported when first used; None if there is none
    cubins      stems of the folder's .cu files that the cuda solver loads
    parameters  keyword -> type of what an experiment may set or sweep
    peer        module of somebody else's solver that must be importable, with the extra that installs it
    """

    summary: str
    cpu: str | None = None
    cuda: str | None = None
    cubins: tuple[str, ...] = ()
    parameters: Mapping[str, type] = field(default_factory=dict)
    peer: tuple[str, str] | None = None

    def backends(self) -> tuple[str, ...]:
        """The backends this variant has an implementation for."""
        return tuple(backend for backend in BACKENDS if getattr(self, backend))

    @property
    def foreign(self) -> bool:
        """Whether it is somebody else's solver, which a problem keeps in its module `peers`."""
        return any((getattr(self, backend) or "").partition(":")[0].endswith(".peers") for backend in BACKENDS)

    def missing(self) -> str | None:
        """Why this variant cannot run in this installation (a peer not installed); None when it can."""
        if self.peer and importlib.util.find_spec(self.peer[0]) is None:
            module, extra = self.peer
            return f"{module} is not installed (pip install -e '.[{extra}]')"
        return None

    def load(self, backend: str) -> Callable[..., Solver]:
        """The Solver class for a backend. Raises Unavailable when there is none or its package is missing."""
        path = getattr(self, backend)
        if path is None:
            raise Unavailable(f"no {backend} implementation (there is one for: {', '.join(self.backends())})")
        if reason := self.missing():
            raise Unavailable(reason)
        module, name = path.split(":")
        return getattr(importlib.import_module(module), name)


@dataclass
class Run:
    """Times and counts of one answered query.

    kernel    seconds from the first to the last device operation (CUDA events), or of the loop on a CPU
    total     seconds of the whole call, answer delivered to the host included
    counters  name -> number, named in the problem's METRICS
    phases    name -> array, one entry a phase: what the host knows without asking the device (may be empty)
    """

    kernel: float
    total: float
    counters: dict[str, float] = field(default_factory=dict)
    phases: dict[str, np.ndarray] = field(default_factory=dict)


class Solver(Protocol):
    """A variant prepared on an instance: the constructor uploads, `run` answers as often as asked.

    memory    bytes held on the device (on the CPU: in arrays of its own)
    transfer  seconds the upload took (0 on the CPU)
    """

    memory: int
    transfer: float

    def run(self, query: Any) -> Run:
        """Answer one query; the answer stays where it was computed."""

    def validate(self) -> None:
        """Check the last answer where it lies. Raises Invalid."""

    def answer(self) -> dict[str, np.ndarray]:
        """The last answer as host arrays."""

    def count(self, query: Any) -> dict[str, np.ndarray]:
        """Counts per phase that would disturb a timed run, from a run of their own (optional)."""

    def close(self) -> None:
        """Free what was allocated."""


def names() -> list[str]:
    """Names of all problems: the packages under `kernels/` that define VARIANTS."""
    import saitan

    packages = [p.name for p in pkgutil.iter_modules(saitan.__path__) if p.ispkg]
    return [name for name in packages if hasattr(importlib.import_module(f"saitan.{name}"), "VARIANTS")]


def problem(name: str) -> ModuleType:
    """The package of a problem. Raises KeyError naming those there are."""
    if name not in (known := names()):
        raise KeyError(f"unknown problem {name!r} (there are: {', '.join(known)})")
    return importlib.import_module(f"saitan.{name}")


def backend_for(variant: Variant, choice: str = "auto") -> str:
    """The backend to run a variant on. "auto": cuda where the variant has it and a device can be used, otherwise cpu.

    Raises ValueError for an unknown backend.
    """
    from saitan.cuda import unusable

    if choice == "auto":
        return "cuda" if variant.cuda and (variant.cpu is None or not unusable()) else "cpu"
    if choice not in BACKENDS:
        raise ValueError(f"unknown backend {choice!r} (there are: auto, {', '.join(BACKENDS)})")
    return choice
