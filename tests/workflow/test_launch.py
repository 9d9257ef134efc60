"""What starts a step's ranks: how it ended is the last line of the step's log. Commands stand in for a launcher."""

import os
import platform
import signal
import subprocess
import sys
import time

import psutil
import pytest

from saitan.workflow.launch import launch, main, reason
from saitan.workflow.step import BEGAN, STOPPED


@pytest.fixture(autouse=True)
def signals():
    """`launch` handles signals of its process, which is the tests' own here."""
    before = [(number, signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
    yield
    for number, handler in before:
        signal.signal(number, handler)


def started(tmp_path, code):
    """The status, and the lines of the log after its first; an older run left something there."""
    log = tmp_path / "logs/a.log"
    log.parent.mkdir()
    log.write_text("of another run\n")
    status = launch([sys.executable, "-c", f"import sys; log = open({str(log)!r}, 'a'); {code}"], log)
    first, *lines = log.read_text().splitlines()
    assert first == BEGAN
    return status, lines


def test_what_succeeds_says_what_it_said(tmp_path, capfd):
    assert started(tmp_path, "print('done', file=log); print('a note', file=sys.stderr)") == (0, ["done"])
    assert capfd.readouterr().err == "a note\n"


def test_a_step_that_said_why_has_the_last_line(tmp_path, capfd):
    status, lines = started(tmp_path, "print('error: rank 1: a reason\\nlater', file=log); log.close(); sys.exit(3)")
    assert (status, lines) == (1, ["later", "error: rank 1: a reason"])
    assert capfd.readouterr().err == "error: rank 1: a reason\n"


def test_a_reason_that_stands_last_stays_there(tmp_path):
    status, lines = started(tmp_path, "print('before\\nerror: a reason', file=log); log.close(); sys.exit(3)")
    assert (status, lines) == (1, ["before", "error: a reason"])


def test_of_a_step_that_said_nothing_the_launchers_words_are_kept(tmp_path, capfd):
    said = "error: the program of `launcher` ended with status 7: no slots"
    status, lines = started(tmp_path, "print('----\\nno slots\\nat all', file=sys.stderr); sys.exit(7)")
    assert (status, lines) == (1, ["----", "no slots", "at all", said])
    assert capfd.readouterr().err == f"{said}\n"
    assert reason("", 7) == "the program of `launcher` ended with status 7: it said nothing"


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            "-----------\nprterun detected that one or more processes exited with non-zero status,\nthus causing"
            " the job to be terminated. The first process to do so was:\n\n   Process name: [prterun-a1-31@1,12]\n"
            "   Exit code:    3\n-----------\n",
            "rank 12 ended with status 3",
        ),
        (
            "Traceback (most recent call last):\n  ...\nImportError: no module\n-----------\nmpirun detected that"
            " one or more processes exited.\n\n  Process name: [[31275,1],0]\n  Exit code:    1\n-----------\n",
            "rank 0 ended with status 1: ImportError: no module",
        ),
        (
            "-----------\nprterun has exited due to process rank 1 with PID 12186 on node a1 exiting\nimproperly.",
            "rank 1 on a1 ended before the others",
        ),
    ],
)
def test_a_rank_that_ends_too_soon_is_named(said, line):
    assert reason(said, 1) == line


def test_a_launcher_that_starts_nothing_is_no_success(tmp_path, capfd):
    status, lines = started(tmp_path, "pass")
    said = "error: the launcher ended, but no rank did the step: `launcher` must name a program that starts ranks"
    assert (status, lines) == (1, [said]) and capfd.readouterr().err == f"{said}\n"


def test_ranks_of_a_launcher_that_is_killed_end_with_it(tmp_path):
    """A rank has a process group of its own, as Open MPI gives it one."""
    ranks = "subprocess.Popen(['sleep', '60'], process_group=0, stderr=subprocess.DEVNULL)"
    status, lines = started(
        tmp_path,
        f"import os, subprocess; print({ranks}.pid, file=log); log.close(); os.kill(os.getpid(), 9)",
    )
    rank, said = lines
    assert (status, said) == (1, "error: the launcher was killed (signal 9)")
    psutil.wait_procs([psutil.Process(int(rank))] if psutil.pid_exists(int(rank)) else [], timeout=10)
    assert not psutil.pid_exists(int(rank)) or psutil.Process(int(rank)).status() == psutil.STATUS_ZOMBIE


def ranks_of(size, *sleeping):
    """Code of a launcher of ranks on this host, of `size` in all: each has a number and sleeps for some seconds."""
    told = f"{{**os.environ, 'OMPI_COMM_WORLD_SIZE': '{size}', 'OMPI_COMM_WORLD_LOCAL_SIZE': '{len(sleeping)}'}}"
    rank = f"subprocess.Popen(['sleep', s], env={told} | {{'OMPI_COMM_WORLD_RANK': r}}, stderr=subprocess.DEVNULL)"
    return f"import os, subprocess; made = [{rank} for r, s in {sleeping}]; [m.wait() for m in made]"


@pytest.mark.parametrize("seconds", ["0", "0.6"])
def test_a_rank_that_ends_well_before_it_joined_the_others_is_named(tmp_path, monkeypatch, seconds):
    monkeypatch.setattr("saitan.workflow.launch.LOOK", 0.1)
    monkeypatch.setattr("saitan.workflow.launch.GRACE", 0.5)
    begin = time.monotonic()
    status, [said] = started(tmp_path, ranks_of(3, ("0", "60"), ("1", seconds), ("2", "60")))
    assert status == 1 and said == f"error: rank 1 on {platform.node()} ended before the others"
    assert time.monotonic() - begin < 20


def test_ranks_of_other_hosts_are_not_missed_nor_are_those_that_leave_together(tmp_path, monkeypatch):
    monkeypatch.setattr("saitan.workflow.launch.LOOK", 0.1)
    monkeypatch.setattr("saitan.workflow.launch.GRACE", 0.5)
    code = ranks_of(4, ("2", "1.2"), ("3", "1"))
    assert started(tmp_path, f"{code}; print('done', file=log)") == (0, ["done"])


def test_a_launcher_ends_when_what_started_it_is_killed(tmp_path):
    step = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    command = [sys.executable, "-m", "saitan.workflow.launch", sys.executable, "-c", step, "--log", str(tmp_path / "a")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as made:
        launcher = psutil.Process(int(made.stdout.readline()))
        made.kill()
    assert not psutil.wait_procs([launcher], timeout=10)[1]


def test_a_launcher_that_is_no_program_is_named(tmp_path, capfd):
    log, empty = tmp_path / "logs/a.log", tmp_path / "launcher"
    empty.touch(mode=0o755)
    assert launch([str(empty), "-n", "2"], log) == 1
    said = f"error: {empty} cannot be started: Exec format error: `launcher` must name a program\n"
    assert capfd.readouterr().err == said and log.read_text() == f"{BEGAN}\n{said}"


def test_a_launcher_that_is_not_there_is_named(tmp_path, capfd):
    log = tmp_path / "logs/a.log"
    assert launch(["no-such-launcher", "-n", "2"], log) == 1
    said = "error: no-such-launcher is not installed or not on PATH: `launcher` must name a program that starts ranks\n"
    assert capfd.readouterr().err == said and log.read_text() == f"{BEGAN}\n{said}"


@pytest.mark.parametrize("given", [[], ["mpirun"], ["mpirun", "--log"], ["--log", "file"]])
def test_without_a_log_the_call_is_explained(monkeypatch, given):
    monkeypatch.setattr(sys, "argv", ["launch", *given])
    with pytest.raises(SystemExit, match=r"^usage: python -m saitan\.workflow\.launch"):
        main()


def test_ranks_end_with_what_started_them(tmp_path):
    log = tmp_path / "a.log"
    step = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    command = [sys.executable, "-m", "saitan.workflow.launch", sys.executable, "-c", step, "--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as made:
        rank = int(made.stdout.readline())
        made.send_signal(signal.SIGTERM)
        assert made.wait(30) == 130
    assert log.read_text() == f"{BEGAN}\n{STOPPED}\n"
    with pytest.raises(ProcessLookupError):
        os.kill(rank, 0)
