"""Run a step on several ranks: start the launcher, and end with one line where a rank fails or is killed.

The launcher (Open MPI's mpirun, Slurm's srun) starts, joins and ends the ranks; what it says of a rank that was killed
becomes the step's last line. A rank that ends well before it has joined the others is none to the launcher, and they
would wait for it without end: so the ranks of this host are watched.

    python -m saitan.workflow.launch mpirun -n 2 python -m saitan.workflow.measure ... --log file
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psutil

from saitan.workflow.step import BEGAN, DONE, ERROR, STOPPED, answer, say, say_to_log

# Seconds that a launcher has to end its ranks before it is killed with them.
TIMEOUT = 5
# Seconds between two looks at the ranks, and for which one may be gone before the others: those that leave MPI do so
# together.
LOOK, GRACE = 1, 8
# Where Open MPI tells a rank its number, how many there are, and how many of them on its host.
_RANK, _SIZE, _TOGETHER = (f"OMPI_COMM_WORLD_{name}" for name in ("RANK", "SIZE", "LOCAL_SIZE"))
_PR_SET_PDEATHSIG = 1
# How the launchers' own words name a rank, and what is said of it.
_OF_A_RANK = (
    (
        re.compile(r"process rank (?P<rank>\d+) .*on node (?P<host>\S+) exited on signal (?P<how>\d+)"),
        "rank {rank} on {host} was killed (signal {how})",
    ),
    (
        re.compile(r"error: (?P<host>\S+): task (?P<rank>\d+): (?P<how>.+?)( srun:|$)"),
        "rank {rank} on {host} was killed ({how})",
    ),
    (
        re.compile(r"process rank (?P<rank>\d+) .*on node (?P<host>\S+) exiting"),
        "rank {rank} on {host} ended before the others",
    ),
    (
        re.compile(r"Process name: \[\S+,(?P<rank>\d+)\] Exit code: (?P<how>\d+)"),
        "rank {rank} ended with status {how}",
    ),
)


def launch(command: list[str], log: Path) -> int:
    """Run a command that starts with a launcher. Returns 0, or 1 when the last line of the step's log says why."""
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(f"{BEGAN}\n", encoding="utf-8")
    if shutil.which(command[0]) is None:
        say(
            log,
            f"{ERROR}{command[0]} is not installed or not on PATH: `launcher` must name a program that starts ranks",
        )
        return 1
    started = partial(
        subprocess.Popen, stderr=subprocess.PIPE, encoding="utf-8", errors="replace", start_new_session=True
    )
    try:
        running = started(command, preexec_fn=_end_with_this_process())
    except OSError as error:  # a file that is no program of this machine
        say(log, f"{ERROR}{command[0]} cannot be started: {error.strerror}: `launcher` must name a program")
        return 1
    with running as made:
        answer((signal.SIGTERM, signal.SIGINT, signal.SIGHUP), lambda: _stop(made, log))
        said, why = _watched(made)
    written = log.read_text(encoding="utf-8", errors="replace").splitlines()
    if made.returncode == 0 and DONE in written:
        print(said, end="", file=sys.stderr)
        return 0
    _end_session(made.pid)
    if line := next((line for line in written if line.startswith(ERROR)), None):
        # What other ranks wrote while they were ended stands behind it.
        if written[-1] != line:
            log.write_text("\n".join([*(other for other in written if other != line), line, ""]), encoding="utf-8")
        print(line, file=sys.stderr)
    else:
        if said:
            say_to_log(log, said.rstrip())
        say(log, ERROR + (why or reason(said, made.returncode)))
    return 1


def _end_with_this_process() -> Callable[[], None] | None:
    """What a child calls so that it gets SIGTERM when this process ends, killed or not; None where there is no such."""
    if not sys.platform.startswith("linux"):
        return None
    call = ctypes.CDLL(None).prctl
    return lambda: call(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _watched(made: subprocess.Popen) -> tuple[str, str]:
    """What a launcher said until it ended, and why all were ended here: a rank had ended before the others; or ""."""
    seen: set[int] = set()
    complete = time.monotonic()
    while True:
        try:
            return made.communicate(timeout=LOOK)[1], ""
        except subprocess.TimeoutExpired:
            there, expected = _ranks(made.pid)
            seen |= there | expected
        if not there or there == seen:
            complete = time.monotonic()
        elif time.monotonic() - complete > GRACE:
            _end_session(made.pid)
            return made.communicate()[1], f"rank {min(seen - there)} on {platform.node()} ended before the others"


def reason(said: str, status: int) -> str:
    """Why a launcher ended with a status, from what it said: the rank that ended, or its first line."""
    if status == 0:
        return "the launcher ended, but no rank did the step: `launcher` must name a program that starts ranks"
    if status < 0:
        return f"the launcher was killed (signal {-status})"
    for pattern, line in _OF_A_RANK:
        if found := pattern.search(" ".join(said.split())):
            # What the rank said itself stands before the launcher's words, its reason last.
            own = re.split(r"^-{9,}$", said, maxsplit=1, flags=re.MULTILINE)[0].strip()
            why = f": {own.splitlines()[-1]}" if own and "status" in line else ""
            return line.format(**found.groupdict()) + why
    lines = [line.strip() for line in said.splitlines() if line.strip(" -")]
    return f"the program of `launcher` ended with status {status}: {lines[0] if lines else 'it said nothing'}"


def _processes(session: int) -> Iterator[int]:
    """What a launcher left of its session on this host, itself too."""
    for process in psutil.pids():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(process) == session:
                yield process


def _ranks(session: int) -> tuple[set[int], set[int]]:
    """Numbers of the ranks of a session that are there, and of all that are known to be started on this host.

    A rank is there as long as anything is that it started.
    """
    there, expected = set(), set()
    for process in _processes(session):
        with contextlib.suppress(psutil.Error):
            told = psutil.Process(process).environ()
            if process != session and _RANK in told:
                there.add(int(told[_RANK]))
                if told[_SIZE] == told[_TOGETHER]:
                    expected.update(range(int(told[_SIZE])))
    return there, expected


def _end_session(session: int) -> None:
    """Kill all of it: where a launcher was killed, its ranks go on without it."""
    for process in _processes(session):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def _stop(made: subprocess.Popen, log: Path) -> None:
    """Ctrl-C, or Snakemake ends its jobs: so do the ranks."""
    made.terminate()
    try:
        made.wait(TIMEOUT)
    except subprocess.TimeoutExpired:
        _end_session(made.pid)
    say_to_log(log, STOPPED)
    os._exit(130)


def main() -> None:
    command = sys.argv[1:]
    if "--log" not in command[1:-1]:
        sys.exit("usage: python -m saitan.workflow.launch LAUNCHER ... STEP ... --log FILE")
    sys.exit(launch(command, Path(command[command.index("--log") + 1])))


if __name__ == "__main__":
    main()
