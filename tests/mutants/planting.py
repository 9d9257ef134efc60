"""A copy of the working tree in which one fault at a time is planted, and the tests that are to notice it.

Numba keeps compiled functions by file and time, and misses changes in functions that they call from other files. So a
copy keeps what its tests compile, and drops before and after each fault what may hold code of the changed module.

No run of all tests comes first. A test that fails with a fault runs again without it, once in a copy, and counts only
if it passes then. A test that takes too long runs again without the fault too, and gets four times that time.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTEST = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile", "mutants"]
# Seconds that a test has at first: most of those that compile take less on a busy machine.
LIMIT = 90
# What most tests import, loaded once for all runs.
HEAVY = (
    "altair, hypothesis.extra.numpy, jinja2, networkx, numba, pandas, psutil, pyarrow.csv, pyarrow.parquet, pydantic, "
    "pytest, scipy.sparse.csgraph, yaml"
)
NOTICED, TIMED_OUT, MISSED, UNTESTED = "noticed", "timed out", "not noticed", "not tested"
_FORK = multiprocessing.get_context("fork")


@dataclass
class Ended:
    """How a run of tests ended: the test that failed or took too long, how many passed, and the run's seconds."""

    failed: str | None = None
    too_long: str | None = None
    passed: int = 0
    seconds: float = 0.0


class Copy:
    """The working tree in a folder, with a package saitan and compiled code of its own. One a process."""

    def __init__(self, folder: Path) -> None:
        self.tree, self.compiled = folder / "tree", folder / "saitan-compiled"
        if not self.tree.exists():
            copied(self.tree)
        site = str(self.tree / "site")
        os.environ |= {"PYTHONPATH": site, "NUMBA_CACHE_DIR": str(self.compiled)}
        sys.path[:0] = [site, str(self.tree)]
        os.chdir(self.tree)
        for name in HEAVY.split(", "):
            importlib.import_module(name)
        self._right: dict[str, Ended] = {}
        self._planted = 0

    def verdict(self, path: str, text: str, tests: list[str]) -> tuple[str, str]:
        """What becomes of a module's text instead of its own, and the test that says so, or why none can."""
        ended = self._with(path, text, tests, LIMIT)
        if ended.too_long:
            right = self._without(path, ended.too_long)
            if right.failed or right.too_long or not right.passed:
                return UNTESTED, f"{ended.too_long} fails, skips or takes too long without it"
            if 4 * right.seconds > LIMIT:
                ended = self._with(path, text, tests, 4 * right.seconds)
            if ended.too_long:
                return TIMED_OUT, ended.too_long
        if ended.failed:
            right = self._without(path, ended.failed)
            if right.failed or right.too_long:
                return UNTESTED, f"{ended.failed} fails without it"
            return NOTICED, ended.failed
        return (MISSED, f"{ended.passed} tests") if ended.passed else (UNTESTED, "all of its tests are skipped")

    def _with(self, path: str, text: str, tests: list[str], limit: float) -> Ended:
        file = self.tree / path
        own, times = file.read_bytes(), file.stat()
        self._planted += 1
        self._drop(path)
        try:
            file.write_text(text)
            # Python and Numba know a file by its time, Python in whole seconds.
            os.utime(file, (times.st_atime, times.st_mtime + self._planted))
            return self.tests(tests, limit)
        finally:
            file.write_bytes(own)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
            self._drop(path)

    def _without(self, path: str, test: str) -> Ended:
        """One test, or the collection of one file, with the code as it is; compiled anew, as it was with the fault."""
        if test not in self._right:
            self._drop(path)
            self._right[test] = self.tests([test] if "::" in test else [test, "--collect-only"], 10 * LIMIT)
        return self._right[test]

    def _drop(self, path: str) -> None:
        for module in stale_with(path):
            for file in self.compiled.glob(f"{module.parent.name}_*/{module.stem}.*"):
                file.unlink()

    def tests(self, arguments: list[str], limit: float) -> Ended:
        """Runs tests in a process of their own until one fails or takes longer than `limit` seconds."""
        hears, says = _FORK.Pipe(duplex=False)
        process = _FORK.Process(target=_run_tests, args=(says, arguments))
        process.start()
        says.close()
        began = since = time.monotonic()
        ended, running = Ended(), arguments[0]
        try:
            while ended.too_long is None:
                if hears.poll(0.5):
                    what, test = hears.recv()
                    if what == "end":
                        return ended
                    if what == "starts":
                        running, since = test, time.monotonic()
                    ended.passed += what == "passed"
                    if what == "failed":
                        ended.failed = ended.failed or test
                elif not process.is_alive():
                    raise EOFError
                elif time.monotonic() - since > limit:
                    ended.too_long = running
        except EOFError:  # the process died
            ended.failed = ended.failed or running
        finally:
            ended.seconds = time.monotonic() - began
            # What the tests started too.
            for end in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError):
                    end(process.pid, signal.SIGKILL)
            process.join()
        return ended


def _run_tests(says, arguments: list[str]) -> None:
    import pytest

    class Tells:
        def pytest_runtest_logstart(self, nodeid, location):
            says.send(("starts", nodeid))

        def pytest_runtest_logreport(self, report):
            if report.failed or (report.passed and report.when == "call"):
                says.send((report.outcome, report.nodeid))

        def pytest_collectreport(self, report):
            if report.failed:
                says.send(("failed", report.nodeid or arguments[0]))

    os.setsid()
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    sys.argv = ["pytest"]
    status = pytest.main([*PYTEST, *arguments], plugins=[Tells()])
    if status not in (0, 1, 5):
        says.send(("failed", arguments[0]))
    says.send(("end", ""))
    os._exit(0)


def copied(folder: Path) -> None:
    """A copy of the working tree, whose package saitan is its own."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    # What an installation maps to the folders.
    for name, place in (("kernels", "site/saitan"), ("workflow", "site/saitan/workflow")):
        (folder / place).mkdir(parents=True)
        own = (folder / name / "__init__.py").read_text()
        path = [str(folder / name), str(folder / place)]
        (folder / place / "__init__.py").write_text(f"{own}\n__path__ = {path}\n")
    # Tests ask Git for the files, and for the commit.
    git = ["git", "-C", str(folder), "-c", "user.name=mutants", "-c", "user.email=mutants@localhost"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "The working tree"]):
        subprocess.run([*git, *command], check=True)


def module_name(path: str) -> str:
    """saitan.sssp.validate of kernels/sssp/validate.py, tests.kernels.test_team of tests/kernels/test_team.py."""
    folder, *rest = Path(path).with_suffix("").parts
    package = {"kernels": ["saitan"], "workflow": ["saitan", "workflow"], "tests": ["tests"]}[folder]
    return ".".join([*package, *(part for part in rest if part != "__init__")])


@functools.cache
def stale_with(path: str) -> list[Path]:
    """The modules, by file, whose compiled code may hold some of a module's: itself, and those that import compiled
    functions or constants from one of these. Tests compile functions too.
    """
    if not path.startswith("kernels/"):
        return []
    files = [file.relative_to(ROOT) for folder in ("kernels", "tests") for file in (ROOT / folder).rglob("*.py")]
    trees = {module_name(str(file)): ast.parse((ROOT / file).read_text()) for file in files}
    compiled = {name for name, tree in trees.items() if "njit" in ast.dump(tree)}
    stale = [module_name(path)]
    for owner in stale:
        frozen = (
            {node.name for node in trees[owner].body if isinstance(node, ast.FunctionDef)} if owner in trees else ()
        )
        for name in compiled - set(stale):
            taken = {
                alias.name
                for node in ast.walk(trees[name])
                if isinstance(node, ast.ImportFrom) and owner in (node.module, f"{node.module}.{node.names[0].name}")
                for alias in node.names
            }
            if any(one in frozen or one.isupper() or owner.endswith(f".{one}") for one in taken):
                stale.append(name)
    return [file for file in files if module_name(str(file)) in stale]
