"""What a variant's solver offers: runs with their times, its answer in blocks, and what checks it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NoReturn, Protocol

import numpy as np

from saitan.blocks import Block


@dataclass
class Run:
    """Times and counts of one answered query.

    On the CPU those of the first run in a process, and counters that say what its solver's preparation took, may hold
    seconds in which Numba compiled. The workflow prepares and answers again until there are none.

    kernel     seconds from the first to the last device operation (CUDA events), or of the loop on a CPU
    total      seconds of the whole call, answer delivered to the host included
    counters   name -> number, named in the problem's METRICS
    phases     name -> array, one entry a phase: what the host knows without asking the device (may be empty)
    work       kind of a ceiling (config/ceilings.yaml) -> amount that the variant must do at least, such as bytes read
    disturbed  why this time says little (the clock moved, the gate opened by itself); "" where nothing is known
    """

    kernel: float
    total: float
    counters: dict[str, float] = field(default_factory=dict)
    phases: dict[str, np.ndarray] = field(default_factory=dict)
    work: dict[str, float] = field(default_factory=dict)
    disturbed: str = ""


@dataclass(frozen=True)
class Checked:
    """What a validation covered: "every vertex by a certificate"; whole is False where it was a sample."""

    says: str
    whole: bool = True


@dataclass(frozen=True)
class Reference:
    """Rows of an answer by other people's solver.

    by      the solver: "SciPy's Dijkstra"
    arrays  name -> array: what `differs` compares with
    rows    ascending row numbers of the answer that are compared; None for all
    """

    by: str
    arrays: dict[str, np.ndarray]
    rows: np.ndarray | None = None


class Solver(Protocol):
    """A variant prepared on an instance: the constructor uploads, `run` answers as often as asked.

    memory    bytes that the variant holds on the device (on the CPU: in arrays of its own), without those that only
              `validate` reads
    transfer  seconds that uploading them took (0 on the CPU)
    streamed  True where the answer leaves in blocks while it is made and is not there afterwards; absent otherwise
    """

    memory: int
    transfer: float

    def run(self, query: Any) -> Run:
        """Answer one query; the answer stays where it was computed.

        A streamed solver takes a second argument, the sink that its blocks go to, and needs no `validate` or `blocks`.
        """

    def validate(self) -> Checked:
        """Check the last answer where it lies, all of it. Raises Invalid."""

    def checker(self, query: Any) -> Checker:
        """Of a streamed solver: a sink that checks every block of the answer to a query."""

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        """The last answer as host arrays, all of it or the given rows (ascending); memory may be reused on the way."""

    def count(self, query: Any) -> dict[str, np.ndarray]:
        """Counts per phase that would disturb a timed run, from a run of their own (optional)."""

    def answer(self) -> dict[str, np.ndarray]:
        """All blocks joined (`Blockwise` of saitan.blocks does it)."""

    def close(self) -> None:
        """Free what was allocated. The other calls of a solver that `prepare` made raise ValueError afterwards."""


@cache
def ending(solver: type) -> type:
    """The class with a `close` after which the calls of Solver raise ValueError; itself where it has no `close`.

    On a device they would read and write memory that others may have by then.
    """
    if not hasattr(solver, "close"):
        return solver

    def close(self: Any) -> None:
        super(made, self).close()
        for name in ("run", "validate", "checker", "blocks", "count", "answer"):
            if hasattr(solver, name):
                setattr(self, name, _refuse)

    made = type(
        solver.__name__, (solver,), {"close": close, "__module__": solver.__module__, "__doc__": solver.__doc__}
    )
    return made


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise ValueError("this solver is closed: prepare another one")


class Checker(Protocol):
    """A sink that checks what it is given."""

    def __call__(self, block: Block) -> None:
        """Check a block. Raises Invalid."""

    def finish(self) -> Checked:
        """Called after the last block. Raises Invalid where something is missing."""
