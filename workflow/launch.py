"""Run a step on several ranks: start the launcher, and end with one line where a rank fails or is killed.

The launcher (Open MPI's mpirun, Slurm's srun) starts, joins and ends the ranks; what it says of a rank that was killed
becomes the step's last line.

    python -m saitan.workflow.launch mpirun -n 2 python -m saitan.workflow.measure ... --log file
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from saitan.workflow.step import BEGAN, ERROR, STOPPED, say, say_to_log

# Seconds that a launcher has to end its ranks before it is killed with them.
TIMEOUT = 5
_KILLED = (
    re.compile(r"process rank (?P<rank>\d+) .*on node (?P<host>\S+) exited on signal (?P<how>\d+)"),
    re.compile(r"error: (?P<host>\S+): task (?P<rank>\d+): (?P<how>.+)"),
)


def launch(command: list[str], log: Path) -> int:
    """Run a command that starts with a launcher. Returns 0, or 1 when the last line of the step's log says why."""
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(f"{BEGAN}\n")
    if shutil.which(command[0]) is None:
        say(
            log,
            f"{ERROR}{command[0]} is not installed or not on PATH: `launcher` must name a program that starts ranks",
        )
        return 1
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True) as made:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: _stop(made, log))
        said = made.communicate()[1]
    if made.returncode == 0:
        print(said, end="", file=sys.stderr)
        return 0
    written = log.read_text(errors="replace").splitlines()
    if line := next((line for line in written if line.startswith(ERROR)), None):
        # What other ranks wrote while they were ended stands behind it.
        if written[-1] != line:
            log.write_text("\n".join([*(other for other in written if other != line), line, ""]))
        print(line, file=sys.stderr)
    else:
        say_to_log(log, said.rstrip())
        say(log, ERROR + reason(said, made.returncode))
    return 1


def reason(said: str, status: int) -> str:
    """Why a launcher ended with a status, from what it said: the rank that was killed, or its first line."""
    for pattern in _KILLED:
        if found := pattern.search(" ".join(said.split())):
            how = f"signal {found['how']}" if found["how"].isdigit() else found["how"].split(" srun:")[0].strip()
            return f"rank {found['rank']} on {found['host']} was killed ({how})"
    lines = [line.strip() for line in said.splitlines() if line.strip(" -")]
    return f"the launcher ended with status {status}: {lines[0] if lines else 'it said nothing'}"


def _stop(made: subprocess.Popen, log: Path) -> None:
    """Ctrl-C, or Snakemake ends its jobs: so do the ranks."""
    made.terminate()
    try:
        made.wait(TIMEOUT)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(made.pid, signal.SIGKILL)
    say_to_log(log, STOPPED)
    os._exit(130)


def main() -> None:
    command = sys.argv[1:]
    if "--log" not in command[1:-1]:
        sys.exit("usage: python -m saitan.workflow.launch LAUNCHER ... STEP ... --log FILE")
    sys.exit(launch(command, Path(command[command.index("--log") + 1])))


if __name__ == "__main__":
    main()
