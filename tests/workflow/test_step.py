import argparse
import errno
import importlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saitan import own_code
from saitan.blocks import Block, Digest
from saitan.cuda import NvccError
from saitan.files import beside
from saitan.graph import GraphError
from saitan.problem import Invalid, Unavailable
from saitan.ranks import Ranks
from saitan.workflow.planned_code import PACKAGES, _planned
from saitan.workflow.step import (
    CALLS,
    CRASHED,
    PLANNED,
    Failure,
    add_ranks,
    leave_after,
    progress,
    refusal,
    run_step,
    say,
)
from saitan.workflow.step import _give_up as give_up


@pytest.fixture
def step(tmp_path, monkeypatch, capsys):
    """Run a step; returns its exit code, the lines on stderr and those in its log."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    log = tmp_path / "logs" / "step.log"

    def run(main, *arguments):
        monkeypatch.setattr(sys, "argv", ["step", "--log", str(log), *arguments])
        code = 0
        try:
            run_step(main, argparse.ArgumentParser())
        except SystemExit as ended:
            code = ended.code
        return code, capsys.readouterr().err.splitlines(), log.read_text().splitlines()[1:] if log.is_file() else None

    run.log = log
    return run


def raising(error):
    def main(arguments):
        raise error

    return main


def full_disk():
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "results/a.parquet")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (Failure("a.gr: line 3: what is wrong"), "a.gr: line 3: what is wrong"),
        (GraphError("arc 7: target 9 is not in [0, 5)"), "arc 7: target 9 is not in [0, 5)"),
        (Unavailable("PyCUDA is not installed"), "PyCUDA is not installed"),
        (Invalid("vertex 3: no tight predecessor"), "vertex 3: no tight predecessor"),
        (
            NvccError("a.cu does not compile for sm_90: error", "all\nthat nvcc\nsaid"),
            "a.cu does not compile for sm_90: error",
        ),
        (full_disk(), "the disk is full (results/a.parquet): free some space and run the same command again"),
        (OSError(errno.EDQUOT, "quota"), "the disk is full: free some space and run the same command again"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "a.gr"), "No such file or directory (a.gr)"),
        (OSError("a message alone"), "a message alone"),
        (OSError(), "OSError"),
        (Invalid(), "Invalid"),
        (Unavailable(""), "Unavailable"),
        (Failure("a file \udcfc that is no text"), r"a file \udcfc that is no text"),
        (ValueError("a \udcfc"), r"internal error: ValueError: a \udcfc"),
        (OSError(errno.ENOENT, "No such file", os.fsdecode(b"Z\xfcrich.npy")), r"No such file (Z\udcfcrich.npy)"),
        (MemoryError(), "out of memory: an allocation was refused"),
        (MemoryError("Unable to allocate 8 TiB"), "out of memory: Unable to allocate 8 TiB"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_user_can_mend_is_one_line_there_and_in_the_log(step, error, line):
    code, printed, logged = step(raising(error))
    assert (code, printed[-1]) == (1, f"error: {line}") and printed == logged
    assert len(printed) == 1 or "internal" in line


def test_a_defect_prints_its_traceback_first(step):
    code, printed, logged = step(raising(KeyError("x")))
    assert code == 1 and printed == logged
    assert printed[0] == "Traceback (most recent call last):" and printed[-1] == "error: internal error: KeyError: 'x'"
    # Where saitan's code, which may be a variant of the user's own, was when a library's failed.
    code, printed, logged = step(lambda arguments: Digest()(Block("c", 0, None)))
    assert re.fullmatch(r"error: internal error: AttributeError: .* \(\S*kernels/blocks\.py, line \d+\)", printed[-1])


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("json.loads(1)", "internal error: TypeError: the JSON object must be "),
        ("raise OSError('no licence')", "no licence ("),
    ],
    ids=["defect", "raised"],
)
def test_a_defect_of_ones_own_code_elsewhere_is_told_with_its_line(code, told, step, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "defect_own", raising=False)
    (tmp_path / "defect_own.py").write_text(f"import json\n\n\ndef wrong(_):\n    {code}\n")
    monkeypatch.syspath_prepend(tmp_path)
    planned = tmp_path / "code.json"
    planned.write_text(json.dumps({str(tmp_path / "defect_own.py"): "1", PACKAGES: "mine=1"}))
    monkeypatch.setenv(PLANNED, str(planned))
    monkeypatch.setattr("saitan.workflow.planned_code.hold_to_plan", lambda: None)
    _, printed, _ = step(lambda arguments: importlib.import_module("defect_own").wrong(arguments))
    assert printed[-1].startswith(f"error: {told}") and printed[-1].endswith("defect_own.py, line 5)")


@pytest.mark.parametrize(
    ("code", "says", "slip"),
    [
        ("raise ValueError('n must be even')", "n must be even", False),
        ("raise ValueError(\n        'n must be even'\n    )", "n must be even", False),
        ("raise ValueError('')", "", True),
        ("np.ones(3) + np.ones(4)", "operands could not be broadcast together", True),
        ("int('12a')", "invalid literal for int() with base 10: '12a'", True),
        ("[int(one) for one in 'a']", "invalid literal for int() with base 10: 'a'", True),
        # NumPy's own code raises it.
        ("np.linalg.inv(np.ones(3))", "1-dimensional array given", True),
    ],
)
@pytest.mark.parametrize("made_of", [False, True])
def test_a_slip_of_own_code_is_told_with_its_line_and_a_refusal_is_not(
    made_of, code, says, slip, tmp_path, monkeypatch
):
    file = tmp_path / f"slip_{tmp_path.name}.py"
    file.write_text(f"import json\n\nimport numpy as np\n\ndef wrong():\n    {code}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("saitan.workflow.planned_code.elsewhere", lambda: [str(file)])
    with pytest.raises(ValueError) as caught:
        importlib.import_module(file.stem).wrong()
    error = caught.value
    told = refusal(ValueError(f"generator own: {error}"), error) if made_of else refusal(error)
    assert told.startswith(("generator own: " if made_of else "") + says)
    assert told.endswith(f" ({file}, line 6)") if slip else told.endswith(says)


class Wordless(Exception):
    def __str__(self):
        raise ValueError


@pytest.mark.parametrize(
    ("error", "says"), [(GeneratorExit(), "GeneratorExit"), (Wordless(), "Wordless"), (KeyError(), "KeyError")]
)
def test_any_error_ends_in_a_line(step, error, says):
    code, printed, logged = step(raising(error))
    assert code == 1 and printed == logged and printed[-1] == f"error: internal error: {says}"


def test_endless_recursion_prints_its_last_calls(step):
    def first(arguments):
        second(arguments)

    def second(arguments):
        first(arguments)

    code, printed, _ = step(first)
    assert code == 1 and printed[-1].startswith("error: internal error: RecursionError: ") and len(printed) < 3 * CALLS


def test_a_message_of_several_lines_ends_in_one(step):
    code, printed, logged = step(raising(Failure("a.cu:\n  first  thing\nsecond")))
    assert code == 1 and printed == logged == ["a.cu:", "  first  thing", "second", "error: a.cu: first  thing second"]
    code, printed, logged = step(raising(TypeError("no\ntype")))
    assert printed == logged and printed[-1] == "error: internal error: TypeError: no type"


def test_a_step_that_leaves_early_says_so(step):
    code, printed, logged = step(lambda arguments: sys.exit("bye"))
    assert code == 1 and printed == logged and printed[-1] == "error: internal error: SystemExit: bye"


def test_a_step_that_succeeds_says_nothing_and_empties_an_older_log(step):
    step(raising(Failure("before")))
    assert step(lambda arguments: None) == (0, [], ["done"])


def test_the_leading_rank_says_that_a_step_is_done(step, monkeypatch):
    for rank, said in ((0, ["done"]), (1, [])):
        monkeypatch.setattr("saitan.ranks.current", lambda rank=rank: Ranks(rank=rank, size=2))
        assert step(lambda arguments: None) == (0, [], said)


def test_the_first_rank_that_fails_says_why(tmp_path, monkeypatch):
    for rank, why in ((1, "no memory"), (0, "the other one is gone")):
        monkeypatch.setattr("saitan.ranks.current", lambda rank=rank: Ranks(rank=rank, size=2))
        with pytest.raises(SystemExit):
            give_up(tmp_path / "log", why)
    (line,) = (tmp_path / "log").read_text().splitlines()
    assert line.startswith("error: rank 1 of 2 on ") and line.endswith(": no memory")


def started(tmp_path, code):
    """A process that runs a step, waited for until it is under way; its log."""
    log = tmp_path / "log"
    text = f"""
import argparse, time
from saitan.workflow.step import run_step
def main(arguments):
    print("under way", flush=True)
    {code}
run_step(main, argparse.ArgumentParser())
"""
    command = [sys.executable, "-c", text, "--log", str(log)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "under way\n"
    return process, log


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stopped_step_says_so_in_its_log(tmp_path, sent):
    # A signal that comes just before a sleep begins is answered after it.
    process, log = started(tmp_path, "for _ in range(600): time.sleep(0.1)")
    process.send_signal(sent)
    assert process.wait(20) == 130 and log.read_text() == "began\nstopped\n"


def test_ctrl_c_within_a_callback_of_compiled_code_stops_the_step(tmp_path):
    waits = "[time.sleep(0.1) for _ in range({})]"
    called = f"import ctypes; ctypes.CFUNCTYPE(None)(lambda: {waits.format(50)} and None)(); {waits.format(600)}"
    process, log = started(tmp_path, called)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130 and log.read_text() == "began\nstopped\n"


def test_a_step_goes_on_without_its_terminal_where_it_is_told_to(tmp_path):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process, log = started(tmp_path, "for _ in range(10): time.sleep(0.1)")
    finally:
        signal.signal(signal.SIGHUP, before)
    process.send_signal(signal.SIGHUP)
    assert process.wait(20) == 0 and log.read_text() == "began\ndone\n"


def test_a_step_that_is_stopped_while_it_imports_says_nothing():
    command = [sys.executable, "-X", "importtime", "-m", "saitan.workflow.report", "--help"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as step:
        for line in step.stderr:
            if line.split()[-1] == "saitan.workflow":
                break
        step.send_signal(signal.SIGINT)
        said = step.stderr.read()
    assert step.returncode == -signal.SIGINT and "Traceback" not in said


def test_a_step_prints_no_warning_of_its_own(tmp_path):
    """As where PyCUDA has set Python to show all warnings."""
    log = tmp_path / "step.log"
    text = "import argparse; from saitan.workflow.step import run_step; run_step(print, argparse.ArgumentParser())"
    command = [sys.executable, "-W", "always", "-c", text, "--log", str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == "" and log.read_text() == "began\ndone\n"


def test_a_killed_step_leaves_a_log_without_an_end(tmp_path):
    process, log = started(tmp_path, "time.sleep(60)")
    process.kill()
    process.wait(20)
    assert log.read_text() == "began\n"


def test_compiled_code_that_ends_the_process_leaves_a_line(tmp_path):
    process, log = started(tmp_path, "import ctypes; ctypes.string_at(0)")
    assert process.wait(20) == -signal.SIGSEGV
    assert log.read_text().startswith(f"began\n{CRASHED}Segmentation fault\n")


def test_a_log_that_cannot_be_written_leaves_the_one_line(step):
    step.log.mkdir(parents=True)
    assert step(lambda arguments: None) == (1, [f"error: Is a directory ({step.log})"], None)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_one_line_when_the_log_lies_on_it(step, capsys):
    step.log.parent.mkdir(parents=True)
    step.log.symlink_to("/dev/full")

    def main(arguments):
        Path("/dev/full").write_text("x")

    code, printed, _ = step(main)
    assert code == 1 and len(printed) == 1
    assert printed[0].startswith("error: the disk is full") and printed[0].endswith("run the same command again")


def test_numba_gets_its_threads_and_a_cache_that_changes_with_the_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # So that both are put back afterwards.
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    parser = argparse.ArgumentParser()
    parser.add_argument("--cores", type=int)
    monkeypatch.setattr(sys, "argv", ["step", "--cores", "2"])
    seen = []
    run_step(lambda _: seen.append((os.environ["NUMBA_NUM_THREADS"], os.environ["NUMBA_CACHE_DIR"])), parser)
    ((threads, cache),) = seen
    assert threads == "2" and re.fullmatch(rf"{re.escape(str(tmp_path))}/results/numba/saitan-[0-9a-f]{{16}}", cache)


def test_a_step_loads_what_the_tests_compiled(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["step"])
    compiled, seen = Path(os.environ["NUMBA_CACHE_DIR"]), []
    # In the folder that was named to both, and within a test.
    for named in (compiled.parent, compiled):
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(named))
        run_step(lambda _: seen.append(os.environ["NUMBA_CACHE_DIR"]), argparse.ArgumentParser())
    assert seen == [str(compiled)] * 2


@pytest.mark.parametrize(
    ("ranks", "each", "cores"),
    [([], [], 8), ([1], [], 8), ([2], [], 4), ([3], [], 2), ([16], [], 1), ([2], [3], 3), ([1], [5], 5)],
)
def test_a_rank_has_its_share_of_the_cores_of_its_host(monkeypatch, ranks, each, cores):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    monkeypatch.setattr("saitan.ranks.join", lambda size: Ranks(size=size + 5, together=size))
    parser = argparse.ArgumentParser()
    parser.add_argument("--cores", type=int)
    add_ranks(parser)
    given = [f"--ranks={n}" for n in ranks] + [f"--cores-per-rank={n}" for n in each]
    monkeypatch.setattr(sys, "argv", ["step", "--cores=8", *given])
    seen = []
    run_step(lambda arguments: seen.append((arguments.cores, os.environ["NUMBA_NUM_THREADS"])), parser)
    assert seen == [(cores, str(cores))]


def cache_of(monkeypatch, folder, named):
    """The cache that a step of a new process would take whose code is that of a folder."""
    monkeypatch.setattr(own_code, "__file__", str(folder / "own_code.py"))
    own_code.code_digest.cache_clear()
    monkeypatch.setenv("NUMBA_CACHE_DIR", named)
    monkeypatch.setattr(sys, "argv", ["step"])
    seen = []
    run_step(lambda _: seen.append(os.environ["NUMBA_CACHE_DIR"]), argparse.ArgumentParser())
    own_code.code_digest.cache_clear()
    return seen[0]


def test_another_state_of_ones_own_files_elsewhere_is_another_cache(tmp_path, monkeypatch):
    (code := tmp_path / "code").mkdir()
    planned = tmp_path / "code.json"
    monkeypatch.setenv(PLANNED, str(planned))

    def cache(**told):
        planned.write_text(json.dumps({"kernels/graph.py": "1", **told}))
        _planned.cache_clear()
        monkeypatch.setattr("saitan.workflow.planned_code.hold_to_plan", lambda: None)
        return cache_of(monkeypatch, code, "")

    one, other = cache(**{"/own/a.py": "1"}), cache(**{"/own/a.py": "2"})
    installed = cache(**{"/own/a.py": "1", PACKAGES: "mine=1"})
    assert len({cache(), one, other, installed}) == 4 and one == cache(**{"/own/a.py": "1"})
    assert Path(one).name.startswith(Path(cache()).name)


@pytest.mark.parametrize("named", ["", "elsewhere"])
def test_another_code_is_another_cache(tmp_path, monkeypatch, named):
    monkeypatch.chdir(tmp_path)
    code = tmp_path / "code"
    code.mkdir()
    (code / "a.py").write_text("x = 1\n")
    before = cache_of(monkeypatch, code, named)
    assert Path(before).parent == tmp_path / (named or "results/numba")
    assert cache_of(monkeypatch, code, named) == before
    (code / "a.py").write_text("x = 2\n")
    after = cache_of(monkeypatch, code, named)
    assert after != before
    (code / "problem").mkdir()
    (code / "problem/b.py").write_text("x = 1\n")
    assert cache_of(monkeypatch, code, named) not in (before, after)


def test_messages_are_appended_to_the_log(tmp_path, capsys):
    say(tmp_path / "log", "one")
    say(tmp_path / "log", "two")
    say(None, "three")
    assert (tmp_path / "log").read_text() == "one\ntwo\n" and capsys.readouterr().err == "one\ntwo\nthree\n"


def test_a_process_leaves_its_memory_to_the_system():
    code = """
import atexit
from saitan.workflow.step import leave_after
atexit.register(print, "late")
leave_after(lambda: print("said", end=""))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "said"


def test_a_process_leaves_where_its_output_is_closed(tmp_path):
    leave = f"{sys.executable} -c 'from saitan.workflow.step import leave_after; leave_after(bool)'"
    assert subprocess.run(["sh", "-c", f"{leave} >&- 2>&-"], check=False).returncode == 0


@pytest.mark.parametrize("closes", ["sys.stdout.close(); sys.stderr.close()", "sys.stdout = sys.stderr = object()"])
@pytest.mark.parametrize(("ends", "status"), [("", 0), ("; raise Failure('why')", 1)])
def test_a_step_whose_solver_closed_its_output_ends_as_it_would(tmp_path, closes, ends, status):
    code = f"""
import argparse, sys
from saitan.workflow.step import Failure, leave_after, run_step
def step(arguments):
    {closes}{ends}
leave_after(lambda: run_step(step, argparse.ArgumentParser()))
"""
    log = tmp_path / "log"
    done = subprocess.run([sys.executable, "-c", code, "--log", log], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, "")
    assert log.read_text().splitlines() == ["began", "error: why" if status else "done"]


def test_ranks_leave_in_order(monkeypatch):
    monkeypatch.setattr(os, "_exit", lambda _: pytest.fail("left at once"))
    monkeypatch.setattr("saitan.ranks.current", lambda: argparse.Namespace(size=2))
    leave_after(bool)
    with pytest.raises(SystemExit):
        leave_after(lambda: sys.exit(1))


@pytest.mark.parametrize(("ends", "status"), [("", 0), ("raise Failure('why')", 1)])
def test_a_process_waits_for_no_thread_that_a_solver_left(ends, status):
    code = f"""
import argparse, threading, time
from saitan.workflow.step import Failure, leave_after, run_step
def step(arguments):
    threading.Thread(target=time.sleep, args=(60,)).start()
    {ends}
leave_after(lambda: run_step(step, argparse.ArgumentParser()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (status, "error: why\n" * status)


def test_what_measures_a_point_loads_no_configuration():
    code = "import sys, saitan.workflow.measure; sys.exit('pydantic' in sys.modules or 'yaml' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_progress_bar_where_there_is_no_terminal(capsys, monkeypatch):
    assert list(progress([1, 2], "counting")) == [1, 2]
    assert capsys.readouterr().err == ""
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):  # closed before the process began, or by a solver
        monkeypatch.setattr(sys, "stderr", stream)
        assert list(progress([1, 2], "counting")) == [1, 2]


@given(st.binary(max_size=100), st.binary(max_size=100))
def test_a_file_appears_whole_or_not_at_all(tmp_path_factory, old, new):
    path = tmp_path_factory.mktemp("beside") / "folder" / "a.bin"
    with beside(path) as temporary:
        temporary.write_bytes(old)
        assert not path.exists() and temporary.parent == path.parent and temporary.name.startswith(".a.bin.")
    assert path.read_bytes() == old
    with pytest.raises(KeyboardInterrupt), beside(path) as temporary:
        temporary.write_bytes(new)
        raise KeyboardInterrupt
    assert path.read_bytes() == old
    with beside(path) as temporary:
        temporary.write_bytes(new)
        assert path.read_bytes() == old
    assert path.read_bytes() == new
    assert [entry.name for entry in path.parent.iterdir()] == ["a.bin"] and path.stat().st_mode & 0o777 == 0o644


def test_a_full_disk_leaves_nothing_beside(tmp_path):
    with pytest.raises(OSError), beside(tmp_path / "a.bin") as temporary:
        temporary.write_bytes(b"half")
        raise full_disk()
    assert list(tmp_path.iterdir()) == []


def test_what_a_step_writes_may_itself_be_moved_away(tmp_path):
    with pytest.raises(FileNotFoundError), beside(tmp_path / "a.bin") as temporary:
        temporary.unlink()
    assert list(tmp_path.iterdir()) == []


def test_what_a_step_forks_ends_at_once_and_says_nothing(tmp_path):
    """A Pool ends its workers by SIGTERM: no line of theirs says that the step was stopped."""
    code = (
        "import argparse, os, signal, time; from saitan.workflow.step import run_step\n"
        "def main(arguments):\n"
        "    if not (child := os.fork()):\n"
        "        time.sleep(30)\n"
        "    os.kill(child, signal.SIGTERM)\n"
        "    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "run_step(main, argparse.ArgumentParser())"
    )
    log = tmp_path / "log"
    done = subprocess.run([sys.executable, "-c", code, "--log", str(log)], capture_output=True, text=True, timeout=25)
    assert done.stdout == f"{-signal.SIGTERM}\n" and "stopped" not in log.read_text()
