"""What a variant's solver offers: runs with their times, its answer in blocks, and what checks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, wraps
from numbers import Integral
from typing import Any, NoReturn, Protocol

import numpy as np

from saitan.blocks import Block, Blockwise, Sink, are_rows, formed, misshapen
from saitan.calls import plain_array
from saitan.errors import Invalid, Misdeclared
from saitan.graph_input import shown
from saitan.named import check_takes


@dataclass
class Run:
    """Times and counts of one answered query.

    On the CPU those of the first run in a process, and counters that say what its solver's preparation took, may hold
    seconds in which Numba compiled. The workflow prepares and answers again until there are none.

    kernel     seconds from the first to the last device operation (CUDA events), or of the loop on a CPU
    total      seconds of the whole call, answer delivered to the host included; no more than went by meanwhile
    counters   name -> number, named in the problem's METRICS; of several ranks those of the leading one count, whose
               rates are therefore made of the seconds of the slowest (`Ranks.slowest`)
    phases     name -> array, one entry a phase: "seconds", and the TRACES that the variant says it gives; what the host
               knows without asking the device (may be empty)
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

    def misshapen(self, answer: dict[str, np.ndarray], *names: str) -> str | None:
        """Which of the arrays the answer lacks or has in another shape, in one line; None where none is.

        Raises Misdeclared for a name that is none of the arrays'.
        """
        for name in names:
            if name not in self.arrays:
                raise Misdeclared(f"the reference ({self.by}) has no array {name!r} (it has: {', '.join(self.arrays)})")
            if answer.get(name) is None:
                return f"there are no {name}"
            if line := misshapen(name, answer[name], self.arrays[name].shape):
                return line
        return None


class Solver(Protocol):
    """A variant prepared on an instance: the constructor uploads, `run` answers as often as asked.

    The instance's arrays stay as they are: answers are checked by them.

    The calls of one that `prepare` made raise ValueError for a query that the instance does not have, before there is
    an answer where they tell of it, and after `close`, and Invalid where a block is none.

    memory    bytes that the variant holds on the device (on the CPU: in arrays of its own), without those that only
              `validate` reads
    transfer  seconds that uploading them took (0 on the CPU)
    streamed  True where the answer leaves in blocks while it is made and is not there afterwards; absent otherwise
    """

    memory: int
    transfer: float

    def run(self, query: Any) -> Run:
        """Answer one query, anew each time; the answer stays where it was computed.

        A streamed solver takes a second argument, the sink that its blocks go to, and needs no `validate` or `blocks`.
        """

    def validate(self) -> Checked:
        """Check the last answer where it lies, all of it. Raises Invalid."""

    def checker(self, query: Any) -> Checker:
        """Of a streamed solver: a sink that checks every block of the answer to a query."""

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        """The last answer as host arrays, of every output that its instance has; memory may be reused on the way.

        rows: numbers of the rows that are asked for, ascending; None for all.
        """

    def count(self, query: Any) -> dict[str, np.ndarray]:
        """Counts per phase that would disturb a timed run, from a run of their own (optional).

        The last answer is gone afterwards.
        """

    def answer(self) -> dict[str, np.ndarray]:
        """All blocks joined (optional: `prepared` adds that of `Blockwise`)."""

    def close(self) -> None:
        """Free what was allocated."""


def prepared(solver: type, check: Callable[[Any], Any], /, *arguments: Any, **parameters: Any) -> Solver:
    """A solver made by its class, whose calls raise ValueError where compiled code would read what is not there.

    Raises Misdeclared where nothing can be added to what the class makes, and where it or a method of Solver is not
    there or takes something else.

    check: gives a query as `run` takes it, or raises ValueError. There is no answer before a run, after one that failed
    or a count, which may have run over it, and once the solver is closed: others may have its memory by then.
    """
    check_takes(solver, ["instance", *map(shown, arguments[1:])] if arguments else [], parameters)
    # A class may make a solver of another one, so this one's is not known before.
    made = solver(*arguments, **parameters)
    _check_methods(made)
    try:
        made.__class__ = _guarded(type(made))
    except (TypeError, AttributeError) as error:
        right = "a class of its own is right, not frozen and without __slots__"
        raise Misdeclared(f"no attribute can be added to a solver of class {type(made).__name__}: {right}") from error
    made._check_query = check
    return made


def _check_methods(made: Any) -> None:
    methods = _STREAMED if getattr(made, "streamed", False) else _METHODS
    for name in methods:
        if _inherits(type(made), name) or not callable(getattr(made, name, None)):
            right = f"{', '.join(methods)} are right"
            raise Misdeclared(f"a solver of class {type(made).__name__} has no method {name}: {right}")
    _check_names(made)
    for name, takes in {**methods, "count": ("query",)}.items():
        if hasattr(made, name) and not _inherits(type(made), name):
            check_takes(getattr(made, name), takes, name=name)


def _check_names(made: Any) -> None:
    """Raise Misdeclared where the name of an optional method is that of something else."""
    for name in _OPTIONAL:
        if not callable(value := getattr(made, name, print)):
            right = "that is the name of a method, and another one is right"
            raise Misdeclared(f"{name} of a solver of class {type(made).__name__} is {shown(value)}: {right}")


def typed(made: Solver, **types: Iterable[np.typing.DTypeLike]) -> Solver:
    """A solver of `prepared` that raises Invalid where a block of an output is of none of some types.

    For outputs whose type depends on what is asked: `Output.dtype` says the others'.
    """
    made._types = {name: tuple(map(np.dtype, right)) for name, right in types.items()}
    return made


def tells_query(made: Solver, name: str) -> Solver:
    """A solver of `prepared` that raises Invalid where a run leaves the answer to another query: its attribute `name`
    tells which, by which `validate` checks it. One without such a number is taken as it is.
    """
    made._query_name = name
    return made


def is_prepared(solver: Any) -> bool:
    """Whether `prepared` made it."""
    return hasattr(solver, "_check_query")


# What a solver's methods are called with; `count` may be absent.
_METHODS = {"run": ("query",), "validate": (), "blocks": ("rows",), "close": ()}
_STREAMED = {"run": ("query", "sink"), "checker": ("query",), "close": ()}
_TELL = ("validate", "answer", "predecessors")
_OPTIONAL = ("count", "answer", "predecessors", "checker")
_NEW, _COUNTED, _FAILED, _CLOSED = (
    "this solver has answered nothing yet: call run first",
    "this solver has counted since its last run: call run again",
    "the last run of this solver failed: there is no answer",
    "this solver is closed: prepare another one",
)


@cache
def _guarded(solver: type) -> type:
    """The class for `prepared`. `_check_query` is its `check`; `_lacks` says why there is no answer, "" where one is;
    `_types` are those of `typed`, `_query_name` that of `tells_query`.

    A class and not a function of each solver, which would refer to it and keep its arrays until garbage is collected.
    """
    own = {"__module__": solver.__module__, "__doc__": solver.__doc__, "_lacks": _NEW, "_types": {}}
    own["_query_name"] = ""
    wrapped = dict.fromkeys(_TELL, _telling) | {"blocks": _blocks, "checker": _asking, "count": _counting}
    wrapped |= {"run": _running, "close": _closing}
    stubs = {name for name in wrapped if _inherits(solver, name)}
    has = {name for name in wrapped if hasattr(solver, name)} - stubs
    own |= {name: wrapped[name](_method(solver, name)) for name in has} | {name: _Absent() for name in stubs}
    # Another solver, which is asked for what is not here, may have no answer either.
    if "answer" not in has and ("blocks" in has or hasattr(solver, "__getattr__")):
        own["answer"] = Blockwise.answer
    return type(solver.__name__, (solver,), own)


def _inherits(solver: type, name: str) -> bool:
    """Whether a class has this method of Solver's, which does nothing."""
    return name in vars(Solver) and getattr(solver, name, None) is vars(Solver)[name]


class _Absent:
    """An attribute that a class inherits, and its objects do not have."""

    def __get__(self, *_: Any) -> NoReturn:
        raise AttributeError


def _method(solver: type, name: str) -> Callable:
    """The class's method of a name, whichever it is when it is called."""

    @wraps(getattr(solver, name))
    def method(self: Any, *arguments: Any) -> Any:
        return getattr(super(_guarded(solver), self), name)(*arguments)

    return method


def _checked(solver: Any, query: Any) -> Any:
    if solver._lacks == _CLOSED:
        raise ValueError(_CLOSED)
    checked = solver._check_query(query)
    if checked is None and query is not None:
        raise Misdeclared(f"the check of query {shown(query)} gives None: the query as `run` takes it is right")
    return checked


def _check_answered(solver: Any) -> None:
    if solver._lacks:
        raise ValueError(solver._lacks)


def _asking(call: Callable) -> Callable:
    @wraps(call)
    def asking(self: Any, query: Any) -> Any:
        made = call(self, _checked(self, query))
        if not (callable(made) and callable(getattr(made, "finish", None))):
            raise Invalid(f"checker gives {shown(made)}: a Checker is right")
        return made

    return asking


def _counting(call: Callable) -> Callable:
    @wraps(call)
    def counting(self: Any, query: Any) -> Any:
        query = _checked(self, query)
        try:
            return call(self, query)
        finally:
            self._lacks = _COUNTED

    return counting


def _running(call: Callable) -> Callable:
    @wraps(call)
    def running(self: Any, query: Any, *sink: Any) -> Run:
        query = _checked(self, query)
        self._lacks = ""  # a run may read its own answer
        try:
            run = call(self, query, *(_of_formed(take, self._types) for take in sink))
            _check_names(self)
            if not isinstance(run, Run):
                raise Invalid(f"run gives {shown(run)}: a Run is right")
            answered = getattr(self, self._query_name, None) if self._query_name else None
            if isinstance(answered, Integral) and answered != query:
                raise Invalid(f"after a run of {query} the solver's {self._query_name} is {answered}: {query} is right")
        except BaseException:
            self._lacks = _FAILED
            raise
        return run

    return running


def _telling(call: Callable) -> Callable:
    @wraps(call)
    def telling(self: Any, *arguments: Any) -> Any:
        _check_answered(self)
        return call(self, *arguments)

    return telling


def _blocks(call: Callable) -> Callable:
    @wraps(call)
    def blocks(self: Any, rows: Any = None) -> Iterator[Block]:
        _check_answered(self)
        if rows is not None:
            rows = plain_array(rows, "rows") if np.size(rows) else np.empty(0, np.int64)
            if not are_rows(rows):
                raise ValueError("rows must be ascending numbers of rows")
        given = call(self, rows)
        if not isinstance(given, Iterable):
            raise Invalid(f"blocks gives {shown(given)}: an iterator of Blocks is right")
        return (formed(block, self._types) for block in given)

    return blocks


def _of_formed(sink: Sink, types: Mapping[str, tuple[np.dtype, ...]]) -> Sink:
    return lambda block: sink(formed(block, types))


def _closing(call: Callable) -> Callable:
    @wraps(call)
    def closing(self: Any) -> None:
        call(self)
        self._lacks = _CLOSED

    return closing


class Checker(Protocol):
    """A sink that checks what it is given."""

    def __call__(self, block: Block) -> None:
        """Check a block. Raises Invalid."""

    def finish(self) -> Checked:
        """Called after the last block. Raises Invalid where something is missing."""
