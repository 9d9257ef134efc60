"""Before the first point of a problem on some data is measured: compile on all cores what the others there need too.

Numba compiles on one core, when a point first calls a function, and timed points run one after another. So every
variant that the run has yet to measure on the data answers one query in a process of its own, side by side, untimed.
The points then load from Numba's cache. What is not compiled here, a point compiles itself before its time counts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import signal
import sys
import time
from multiprocessing import connection
from pathlib import Path
from typing import Any

from saitan.workflow.instances import load_instance, read_queries, read_reference
from saitan.workflow.memory import keep_within_memory
from saitan.workflow.numba_code import load_numba
from saitan.workflow.parquet_files import identity_in
from saitan.workflow.points import digest
from saitan.workflow.sampling import Answering, prepared
from saitan.workflow.step import Failure

# Seconds in which small instances have long been answered. Of a large one compiling is a small part.
LIMIT = 60
# What in a point's settings says which instance it answers.
DATA = ("problem", "graph", "instance")
# And what says which code answers it, as a rule: of a sweep one point compiles for all.
SOLVED = ("variant", "traced")


def compile_ahead(settings: dict[str, Any], arguments: argparse.Namespace) -> None:
    """Fill Numba's cache for the variants that `arguments.together` lists beside that of `settings`.

    Once for the same code, data and variant. Nothing where only one is left or there is one core.
    """
    from llvmlite.binding import get_host_cpu_name

    cache = Path(os.environ["NUMBA_CACHE_DIR"])
    wanted = {}
    points = json.loads(arguments.together.read_text(encoding="utf-8")) if arguments.together.exists() else []
    for point in points:
        if all(point[key] == settings[key] for key in DATA) and not _measured(point):
            done = cache / f"{digest([get_host_cpu_name(), *(point[key] for key in (*DATA, *SOLVED))])}.compiled"
            wanted.setdefault(done, settings | {key: point[key] for key in (*SOLVED, "parameters")})
    wanted = {done: point for done, point in wanted.items() if not done.exists()}
    if arguments.cores < 2 or len(wanted) < 2:
        return
    load_numba()
    _side_by_side(list(wanted.values()), arguments)
    for done in wanted:
        done.parent.mkdir(parents=True, exist_ok=True)
        done.touch()


def _measured(point: dict[str, Any]) -> bool:
    with contextlib.suppress(Failure):
        return identity_in(Path(point["samples"])) == point["identity"]
    return False


def _side_by_side(wanted: list[dict[str, Any]], arguments: argparse.Namespace) -> None:
    """A process each, as many at a time as there are cores; what has not ended in time is killed."""
    forks = multiprocessing.get_context("fork")
    waiting = [forks.Process(target=_answer_one, args=(settings, arguments), daemon=True) for settings in wanted]
    running: list[Any] = []
    deadline = time.monotonic() + LIMIT
    while (waiting or running) and (left := deadline - time.monotonic()) > 0:
        while waiting and len(running) < arguments.cores:
            running.append(waiting.pop(0))
            running[-1].start()
        connection.wait([process.sentinel for process in running], timeout=left)
        running = [process for process in running if process.is_alive()]
    for process in running:
        process.kill()
        process.join()


def _answer_one(settings: dict[str, Any], arguments: argparse.Namespace) -> None:
    """Answer a query and check it, as a measurement does. What goes wrong is said by the measurement."""
    _end_with_parent()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    keep_within_memory(share=0.5 / arguments.cores)
    with contextlib.suppress(Exception):
        package, instance = load_instance(settings, arguments)
        query = read_queries(arguments.queries)[0]
        with prepared(package, instance, settings) as solver:
            Answering(package, solver, read_reference(arguments.reference)).answer(query)
            if settings["traced"] and hasattr(solver, "count"):
                solver.count(query)


def _end_with_parent() -> None:
    """Where the system can: a step that is killed leaves no process behind."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
