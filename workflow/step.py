"""What every step of the workflow shares: its arguments, its log, and one clear line when it fails."""

from __future__ import annotations

import _thread
import argparse
import contextlib
import errno
import faulthandler
import fcntl
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

import saitan
import saitan.workflow
from saitan import ranks
from saitan.cuda import NvccError
from saitan.graph import GraphError
from saitan.problem import Invalid, Misdeclared, Unavailable
from saitan.workflow.numba_code import numba_cache

# The last line of a step's log says how it ended; one that only began is of a process that was killed. An empty log is
# of a job that its executor could not start, that was stopped as it started, or that found the disk full.
BEGAN, DONE, STOPPED, ERROR = "began", "done", "stopped", "error: "
# What Python's faulthandler begins with.
CRASHED = "Fatal Python error: "
# Numbers of errors by which a disk, or a user's share of it, is full.
FULL = (errno.ENOSPC, errno.EDQUOT)

# Calls that a traceback shows at most.
CALLS = 30

# In the environment of a run's steps: the file of planned_code.digests.
PLANNED = "SAITAN_CODE"


class Failure(Exception):
    """Something the user can mend: the message is one line naming the file, line or key, and what would be right."""


def run_step(main: Callable[[argparse.Namespace], None], parser: argparse.ArgumentParser) -> None:
    """Parse the command line, run the step, exit 0; on failure print one line last, to stderr and to --log.

    What a user cannot mend (a defect of ours) prints its traceback before the line.
    """
    parser.add_argument("--log", type=Path, help="also write messages here")
    arguments = parser.parse_args()
    several = (getattr(arguments, "ranks", None) or 1) > 1
    answer((signal.SIGTERM, signal.SIGHUP), lambda: _stopped(None if several else arguments.log))
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.unraisablehook = _interrupt_again
    try:
        if getattr(arguments, "ranks", None):
            _join(arguments)
        _settle_numba(getattr(arguments, "cores", None))
        if arguments.log and not several:
            arguments.log.parent.mkdir(parents=True, exist_ok=True)
            arguments.log.write_text(f"{BEGAN}\n", encoding="utf-8")
            if not faulthandler.is_enabled():
                # Compiled code that ends the process leaves a line too, that begins with CRASHED.
                # PyCUDA has Python warn of a file that is never closed.
                faulthandler.enable(os.open(arguments.log, os.O_WRONLY | os.O_APPEND))
        if PLANNED in os.environ:
            from saitan.workflow.planned_code import hold_to_plan

            hold_to_plan()
        main(arguments)
        if ranks.current().leads:
            say_to_log(arguments.log, DONE)
    except KeyboardInterrupt:
        _stopped(None if several else arguments.log)
    except (Failure, GraphError, Invalid, Misdeclared, Unavailable, NvccError) as error:
        _give_up(arguments.log, _as_text(error))
    except OSError as error:
        # One that own code raises itself names no file.
        place = f" ({error.filename})" if error.filename else "" if error.errno else _place_of(error)
        _give_up(arguments.log, of_files(error, place))
    except MemoryError as error:
        _give_up(arguments.log, f"out of memory: {str(error) or 'an allocation was refused'}")
    except BaseException as error:
        # Of endless recursion the last calls say enough.
        _give_up(arguments.log, f"internal error: {told(error)}", traceback.format_exc(limit=-CALLS) + "\n")


def _as_text(error: BaseException) -> str:
    """An error's message; the name of its type where it has none."""
    with contextlib.suppress(Exception):
        # Of a syntax error that says the file too, without its folder.
        if words := (isinstance(error, SyntaxError) and error.msg) or str(error):
            return words
    return type(error).__name__


def one_line(error: BaseException) -> str:
    return _escaped(_joined(_as_text(error)))


def _joined(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines())


def _escaped(text: str) -> str:
    """As any file can hold it: names of files may have bytes that are no text."""
    return text.encode(errors="backslashreplace").decode()


def told(error: BaseException) -> str:
    """An error that code, the user's own perhaps, was not to raise: its type, what it says, and where."""
    name, words = type(error).__name__, _as_text(error)
    return f"{words if words == name else f'{name}: {words}'}{_place_of(error)}"


def refusal(error: Exception, raised: BaseException | None = None) -> str:
    """What an error says by which code, the user's own perhaps, refuses what it is given. Where no `raise` of that code
    made it, but something else that the code did, the place too.

    raised: the error that this one was made of
    """
    raised = raised or error
    last = traceback.extract_tb(raised.__traceback__)[-1]
    meant = str(raised) and (last.line or "").startswith("raise") and _is_ours(Path(last.filename), _roots())
    # The first call is that of what catches it.
    return _as_text(error) + ("" if meant else _place_of(raised, calls=1))


def _roots() -> list[Path]:
    """The folders of saitan's code and of the user's own elsewhere."""
    from saitan.workflow.planned_code import elsewhere

    own = [Path(place) for package in (saitan, saitan.workflow) for place in package.__path__]
    return [*own, *map(Path, elsewhere())]


def _is_ours(path: Path, roots: list[Path]) -> bool:
    return any(path.resolve().is_relative_to(root) for root in roots)


def _place_of(error: BaseException, calls: int = 0) -> str:
    """The innermost line of saitan's code, or of the user's own elsewhere, that an error passed, but for its first
    calls, or the line that is no Python: " (file, line N)".
    """
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).exists():
        return f" ({from_here(Path(error.filename))}, line {error.lineno})"
    roots = _roots()
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)[calls:]]
    ours = [(path, line) for path, line in frames if _is_ours(path, roots)]
    if not ours or ours[-1][0] == Path(__file__):
        return ""
    path, line = ours[-1]
    return f" ({from_here(path)}, line {line})"


def from_here(path: Path) -> Path:
    """A path within the working directory as it is named from there; another one as it is."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _interrupt_again(unraisable: Any) -> None:
    """Ctrl-C within a callback of compiled code (Numba's compiler has some), where Python prints and forgets it."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        threading.Timer(0.05, _thread.interrupt_main).start()
    else:
        sys.__unraisablehook__(unraisable)


def answer(numbers: Iterable[signal.Signals], stop: Callable[[], Any]) -> None:
    """Have signals call `stop`; not a SIGHUP that is ignored, as under `nohup`.

    Processes that are forked take the default action again: a Pool ends its workers by SIGTERM, where they wait for a
    lock too, within which Python's handlers do not run.
    """
    heard = [n for n in numbers if n != signal.SIGHUP or signal.getsignal(n) is not signal.SIG_IGN]
    for number in heard:
        signal.signal(number, lambda *_: stop())
    mask = threading.local()

    def hold() -> None:
        mask.before = signal.pthread_sigmask(signal.SIG_BLOCK, heard)

    def let_go() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask.before)

    def forked() -> None:
        for number in heard:
            signal.signal(number, signal.SIG_DFL)
        let_go()

    # One that comes before the child has its own action waits.
    os.register_at_fork(before=hold, after_in_parent=let_go, after_in_child=forked)


def leave_after(main: Callable[[], None]) -> None:
    """Run a process's `main`, and leave its memory to the system: clearing it takes a quarter of a second after Numba,
    and a thread that a solver left would be waited for.

    Ranks go on to leave MPI.
    """
    status = 0
    try:
        main()
    except SystemExit as ended:
        if ranks.current().size > 1 or not isinstance(ended.code, int):
            raise
        status = ended.code
    if ranks.current().size == 1:
        for stream in (sys.stdout, sys.stderr):
            # A solver may have closed it, and it is None where it was closed before the process began.
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(status)


def add_ranks(parser: argparse.ArgumentParser) -> None:
    """The arguments of a step that runs on several ranks (under `saitan.workflow.launch`)."""
    parser.add_argument("--ranks", type=int, help="how many processes were started to do this together")
    parser.add_argument("--cores-per-rank", type=int, help="the machine's cores divided among its ranks when absent")


def _join(arguments: argparse.Namespace) -> None:
    """Join the other ranks, if any; `cores` are this rank's from now on."""
    joined = ranks.join(arguments.ranks) if arguments.ranks > 1 else ranks.current()
    arguments.cores = arguments.cores_per_rank or max(1, arguments.cores // joined.together)


def _settle_numba(cores: int | None) -> None:
    """Numba's cores, and its cache."""
    # Waiting threads of OpenMP spin for milliseconds by default, and where another process has the core, for seconds.
    os.environ.setdefault("GOMP_SPINCOUNT", "100000")
    if cores:
        os.environ["NUMBA_NUM_THREADS"] = str(cores)
    from saitan.workflow.planned_code import elsewhere

    base = Path(os.environ.get("NUMBA_CACHE_DIR") or "results/numba")
    os.environ["NUMBA_CACHE_DIR"] = str(numba_cache(base, elsewhere()))


def say(log: Path | None, text: str) -> None:
    """Print to stderr and append to the log file, if there is one; to what can be written (the disk may be full, a
    solver may have closed stderr).
    """
    with contextlib.suppress(Exception):
        print(text, file=sys.stderr, flush=True)
    say_to_log(log, text)


def of_files(error: OSError, place: str = "") -> str:
    """What went wrong with a file, and the way on where there is one. place: what is said of where, in brackets."""
    if error.errno in FULL:
        return f"the disk is full{place}: free some space and run the same command again"
    return f"{error.strerror or _as_text(error)}{place}"


def progress(things: Iterable, what: str, total: int | None = None) -> Iterable:
    """Iterate with a progress bar on stderr; silent where stderr is no terminal."""
    # A solver may have closed it.
    if sys.stderr is None or sys.stderr.closed or not sys.stderr.isatty():
        return things
    from rich.console import Console
    from rich.progress import track

    return track(things, what, total=total, console=Console(stderr=True), transient=True)


def say_to_log(log: Path | None, text: str) -> None:
    """Append to the log file alone."""
    if log:
        with contextlib.suppress(OSError), log.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text + "\n")


def _stopped(log: Path | None) -> NoReturn:
    """Ctrl-C, or Snakemake ends its jobs."""
    say_to_log(log, STOPPED)
    # At once: files beside their place are left to the next run, threads of libraries may not be.
    os._exit(130)


def _give_up(log: Path | None, message: str, details: str = "") -> NoReturn:
    """Say why as the last line. Of several ranks the first that fails says so, and ends the others."""
    joined = ranks.current()
    if len(message.splitlines()) > 1:
        details, message = details or f"{message}\n", _joined(message)
    details, message = _escaped(details), _escaped(message)
    if joined.size == 1:
        say(log, f"{details}{ERROR}{message}")
        sys.exit(1)
    with contextlib.suppress(OSError), log.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if not any(line.startswith(ERROR) for line in file):
            file.write(f"{details}{ERROR}{joined}: {message}\n")
    joined.abort()
    sys.exit(1)
