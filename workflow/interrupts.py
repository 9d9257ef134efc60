"""How a run ends before its time: by Ctrl-C, by SIGTERM, or with its terminal."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil

_STOPPED = "stopped before the first job"
# Seconds that jobs have to end in after Ctrl-C.
GRACE = 5
# Seconds within which Ctrl-C that comes again is the same one.
SAME = 0.5


class _Once:
    """Makes handlers that leave out Ctrl-C where one of them answered it SAME seconds before, or less."""

    def __init__(self) -> None:
        self._answered = -math.inf

    def __call__(self, handler: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(handler)
        def answer(*told: Any, **named: Any) -> Any:
            if (now := time.monotonic()) - self._answered > SAME:
                self._answered = now
                return handler(*told, **named)

        return answer


_once = _Once()


def answer_once() -> None:
    """From now on Ctrl-C that comes again at once is the same one: `timeout -s INT` tells a process and its group.

    The second one would end Snakemake amid what it does on the first. Python's default is replaced under its name, as
    asyncio, in which Snakemake looks at files before each job, cancels its tasks only where that is the handler.
    """
    untouched = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.default_int_handler = _once(signal.default_int_handler)
    asyncio.Runner._on_sigint = _once(asyncio.Runner._on_sigint)
    if untouched:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def stop_with_the_terminal() -> None:
    """From now on a terminal that is closed stops the run as Ctrl-C does; one that `nohup` keeps running goes on."""
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL:
        return
    shown = [stream for stream in (1, 2) if os.isatty(stream)]

    def hung_up(number: int, frame: Any) -> None:
        # What is printed from now on, Snakemake's own lines too, would fail.
        silent = os.open(os.devnull, os.O_WRONLY)
        for stream in shown:
            os.dup2(silent, stream)
        if os.getsid(0) == os.getpid():
            # Without a shell, which would tell all of a job, the system tells this process alone.
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            os.killpg(0, signal.SIGHUP)
        # Asyncio has its own while Snakemake runs something in it.
        answer = signal.getsignal(signal.SIGINT)
        (answer if callable(answer) else signal.default_int_handler)(number, frame)

    signal.signal(signal.SIGHUP, hung_up)


def end_by_sigterm() -> None:
    """From now on SIGTERM ends the run whenever it comes: Snakemake's answer takes a lock that the main thread may hold
    at that moment, so it is given by another thread.
    """
    answer = signal.getsignal(signal.SIGTERM)
    if callable(answer):
        signal.signal(signal.SIGTERM, lambda *told: threading.Thread(target=answer, args=told).start())


def quiet_python() -> str:
    """A shell function that becomes a step's Python, with Ctrl-C held back until `saitan.workflow` is loaded: before,
    Python answers it with a traceback. Nothing where the system's `env` cannot.
    """
    held = ("env", "--block-signal=INT")
    if subprocess.run([*held, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        return ""
    return f'python() {{ exec {" ".join(held)} python "$@"; }}; '


def stopped_early(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """The process's excepthook: Ctrl-C before the first job, which Snakemake does not catch, is one line."""
    if issubclass(kind, KeyboardInterrupt):
        print(_STOPPED, file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


def as_stop(record: logging.LogRecord) -> bool:
    """Have Ctrl-C that came while Snakemake asked for a job's resources told as the one line above; True.

    Snakemake takes it there for a mistake of the rule, as it takes all that is raised.
    """
    if (
        getattr(record, "exception", None) == "InputFunctionException"
        and "\n  KeyboardInterrupt" in record.getMessage()
    ):
        record.msg, record.args = _STOPPED, ()
    return True


class Stops(logging.Handler):
    """Notes whether the user ended the run: by Ctrl-C, or by SIGTERM, after which running jobs may finish.

    Compiled code does not hear of Ctrl-C: jobs that go on after it for GRACE seconds, or when it comes again, are
    killed. Until it comes the default handler stays: beside another one asyncio leaves tasks behind that raise
    KeyboardInterrupt once more.
    """

    stopped = interrupted = False

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        self.stopped |= "on user request" in said or said.startswith("Will exit after finishing")
        if "on user request" in said and not self.interrupted:
            self.interrupted = True
            ours = threading.current_thread() is threading.main_thread()
            if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                signal.signal(signal.SIGINT, _once(lambda *_: kill_steps()))
            late = threading.Timer(GRACE, kill_steps)
            late.daemon = True
            late.start()


@contextlib.contextmanager
def interrupted_later() -> Iterator[None]:
    """Keep Ctrl-C, and a terminal that is closed, from the main thread until afterwards: PyArrow forgets it while it
    loads pandas, and leaves half of that.
    """
    # Only the main thread may set handlers, and they run there.
    ours = (signal.SIGINT, signal.SIGHUP) if threading.current_thread() is threading.main_thread() else ()
    held = {number: handler for number in ours if callable(handler := signal.getsignal(number))}
    came: list[tuple[int, Any]] = []
    for number in held:
        signal.signal(number, lambda *told: came.append(told))
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
    if came:
        number, frame = came[0]
        held[number](number, frame)


def ignore_interrupts() -> None:
    """From now on neither Ctrl-C nor a terminal that is closed does anything: the process is about to end."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def kill_steps() -> None:
    """Kill the steps that run on this machine, and what they started."""
    steps = []
    for job in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            if any("saitan.workflow" in argument for argument in job.cmdline()):
                steps += [*job.children(recursive=True), job]
    for process in steps:
        with contextlib.suppress(psutil.Error):
            process.kill()
