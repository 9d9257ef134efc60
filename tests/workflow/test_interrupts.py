import asyncio
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from tiny import ROOT

from saitan.workflow import interrupts
from saitan.workflow.interrupts import (
    SAME,
    Stops,
    answer_once,
    end_by_sigterm,
    interrupted_later,
    quiet_python,
    stopped_early,
)


@pytest.fixture(autouse=True)
def handlers(monkeypatch):
    """What is done with handlers stays within a test; how often steps were killed."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(signal, "default_int_handler", signal.default_int_handler)
    monkeypatch.setattr(asyncio.Runner, "_on_sigint", asyncio.Runner._on_sigint)
    monkeypatch.setattr(interrupts, "_once", interrupts._Once())
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def killed(monkeypatch):
    """Filled where steps are killed."""
    times = []
    monkeypatch.setattr(interrupts, "kill_steps", lambda: times.append(True))
    return times


ON_REQUEST = logging.makeLogRecord({"msg": "Terminating processes on user request"})


@pytest.fixture
def sigterm():
    before = signal.getsignal(signal.SIGTERM)
    yield lambda answer: signal.signal(signal.SIGTERM, answer)
    signal.signal(signal.SIGTERM, before)


def test_sigterm_is_answered_where_the_main_thread_holds_what_the_answer_waits_for(sigterm):
    lock, answered = threading.Lock(), threading.Event()

    def answer(number, frame):
        if lock.acquire(timeout=20):
            answered.set()

    sigterm(answer)
    end_by_sigterm()
    with lock:
        os.kill(os.getpid(), signal.SIGTERM)
        assert not answered.is_set()
    assert answered.wait(20)


def test_sigterm_without_an_answer_stays_as_it_is(sigterm):
    sigterm(signal.SIG_IGN)
    end_by_sigterm()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_an_interrupt_amid_many_tasks_comes_once(number, monkeypatch, killed):
    """Snakemake gathers the sizes of all files before each job, and goes on with the same loop after an interrupt."""
    monkeypatch.setattr(os, "isatty", lambda stream: False)
    monkeypatch.setattr(os, "getsid", lambda process: 0)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

    async def size(of):
        await asyncio.sleep(0)
        if of == 3:
            signal.raise_signal(number)
        await asyncio.sleep(0)

    async def sizes():
        await asyncio.gather(*map(size, range(8)))

    async def nothing():
        await asyncio.sleep(0.01)

    interrupts.stop_with_the_terminal()
    stops = Stops()
    with asyncio.Runner() as runner:
        with pytest.raises(KeyboardInterrupt):
            runner.run(sizes())
        stops.emit(ON_REQUEST)
        runner.run(nothing())
        assert not killed
        runner.run(sizes())
        assert killed == [True]


def interrupt():
    signal.raise_signal(signal.SIGINT)


def test_an_interrupt_that_comes_again_at_once_is_the_same_one(killed):
    """`timeout -s INT` sends it to Snakemake and to its group: the second one comes amid what the first one does."""
    answer_once()
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    interrupt()
    Stops().emit(ON_REQUEST)
    interrupt()
    assert not killed
    time.sleep(SAME)
    for _ in range(2):
        interrupt()
    assert killed == [True]


def test_interrupts_apart_are_two():
    answer_once()
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        time.sleep(SAME)


def test_an_interrupt_that_comes_again_at_once_leaves_asyncio_s_tasks_to_be_cancelled():
    ended = []

    async def files():
        try:
            interrupt()
            await asyncio.sleep(60)
        finally:
            interrupt()
            await asyncio.sleep(0)
            ended.append(True)

    answer_once()
    with asyncio.Runner() as runner:
        with pytest.raises(KeyboardInterrupt):
            runner.run(files())
        assert ended
        interrupt()
        assert runner.run(asyncio.sleep(0, "on")) == "on"
    time.sleep(SAME)
    with pytest.raises(KeyboardInterrupt):
        interrupt()


def test_a_run_whose_caller_ignores_interrupts_goes_on_ignoring_them():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answer_once()
    interrupt()


def test_other_threads_leave_signals_as_they_are():
    def told():
        with interrupted_later():
            found.append(signal.getsignal(signal.SIGINT))

    found = []
    thread = threading.Thread(target=told)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


def test_what_ends_a_run_early_and_is_no_ctrl_c_is_shown(capsys):
    for error, last in ((KeyError("a"), "KeyError: 'a'"), (KeyboardInterrupt(), "stopped before the first job")):
        stopped_early(type(error), error, None)
        assert capsys.readouterr().err.splitlines()[-1] == last


@pytest.mark.parametrize("after", [0, 0.005, 0.01, 0.02, 0.04, 0.08])
def test_a_step_that_is_stopped_as_it_starts_says_nothing(after):
    if not (python := quiet_python()):
        pytest.skip("env has no --block-signal here")
    path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = f"({python}python -m saitan.workflow.report --help); echo $?"
    with subprocess.Popen(
        ["bash", "-c", command], env=os.environ | path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as shell:
        while not (steps := psutil.Process(shell.pid).children()):
            pass
        while steps[0].name() != "python":
            pass
        time.sleep(after)
        steps[0].send_signal(signal.SIGINT)
        said = shell.communicate()
    assert said == (f"{128 + signal.SIGINT}\n", "")


def test_an_env_that_holds_nothing_back_is_not_asked_to(tmp_path, monkeypatch):
    (tmp_path / "env").write_text("#!/bin/sh\necho unknown option >&2\nexit 125\n")
    (tmp_path / "env").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert quiet_python() == ""


def test_every_step_is_started_by_python_m():
    """`saitan.workflow` has Ctrl-C end those without a traceback while they start, and Snakemake's scripts not."""
    rules = "\n".join(file.read_text() for file in (ROOT / "workflow/rules").glob("*.smk"))
    found = re.findall(r"^    (\w+):$", rules, flags=re.MULTILINE)
    assert found.count("output") == found.count("shell") > 5
    assert not {"script", "run", "notebook", "wrapper"} & {*found}
