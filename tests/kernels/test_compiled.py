import importlib
import os
import shutil
import subprocess
import sys

import pytest
from numba import config
from numba.core.caching import IndexDataCacheFile

from saitan import compiled, own_code
from saitan.compiled import njit
from saitan.errors import Unavailable

HELPER = "@njit\ndef helper(x):\n    return x + {}\n"
CALLER = "@njit\ndef caller(x):\n    return helper(x)\n"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Loads caller.py and helper.py of a package of its own as a new process would."""
    monkeypatch.setattr(own_code, "__file__", str(tmp_path / "own_code.py"))
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "compiled"))
    (tmp_path / "caller.py").write_text(CALLER)

    def load(added):
        own_code.code_digest.cache_clear()
        (tmp_path / "helper.py").write_text(HELPER.format(added))
        names = {"njit": njit}
        for name in ("helper", "caller"):
            path = tmp_path / f"{name}.py"
            exec(compile(path.read_text(), path, "exec"), names)
        return names["caller"]

    yield load
    own_code.code_digest.cache_clear()


def test_a_changed_helper_in_another_file_compiles_its_callers_again(package):
    hits = []
    for added in (1, 1, 2, 1, 1):
        caller = package(added)
        assert caller(10) == 10 + added
        hits.append(sum(caller.stats.cache_hits.values()))
    assert hits == [0, 1, 0, 0, 1]


@pytest.mark.parametrize("setting", ["OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE"])
def test_code_that_numba_makes_otherwise_is_not_taken(package, monkeypatch, setting):
    hits, usual = [], getattr(config, setting)
    for value in (usual, usual, 2, 2, usual):
        monkeypatch.setattr(config, setting, value)
        caller = package(1)
        assert caller(10) == 11
        hits.append(sum(caller.stats.cache_hits.values()))
    assert hits == [0, 1, 0, 1, 0]


@pytest.mark.parametrize(
    "called", ["from elsewhere_helper import helper", "import elsewhere_helper as e; helper = e.helper"]
)
def test_a_changed_helper_outside_saitan_compiles_its_callers_again(package, tmp_path, monkeypatch, called):
    monkeypatch.syspath_prepend(tmp_path)
    package(1)
    hits = []
    for added in (1, 1, 2, 1, 1):
        (tmp_path / "elsewhere_helper.py").write_text(f"import numba\n{HELPER.replace('@', '@numba.').format(added)}")
        importlib.invalidate_caches()
        sys.modules.pop("elsewhere_helper", None)
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        names = {"njit": njit}
        path = tmp_path / "caller.py"
        path.write_text(f"{called}\n{CALLER}")
        exec(compile(path.read_text(), path, "exec"), names)
        assert names["caller"](10) == 10 + added
        hits.append(len(names["caller"].stats.cache_hits))
    assert hits == [0, 1, 0, 0, 1]


def test_options_are_numbas():
    @njit(nogil=True)
    def free(x):
        return x + 1

    assert free(1) == 2 and free.targetoptions["nogil"]


def test_without_compilation_nothing_runs(package, monkeypatch):
    assert package(1)(10) == 11
    monkeypatch.setattr(config, "DISABLE_JIT", 1)
    with pytest.raises(Unavailable, match=r"unset NUMBA_DISABLE_JIT$"):
        package(1)
    # As a user meets it.
    code = "from saitan import sssp\nfrom saitan.graph import Graph\nsssp.solve(Graph.from_arcs(2, [0], [1], [3]), 0)"
    told = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=told, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].startswith("saitan.errors.Unavailable: Numba is told to compile nothing")


def test_what_calls_a_generator_compiles_in_the_next_process_too(package, tmp_path):
    generator = "@njit\ndef parts(end):\n    for i in range(end):\n        yield i\n\n\n"
    caller = "@njit\ndef caller(x):\n    x = helper(x)\n    for part in parts(3):\n        x += part\n    return x\n"
    (tmp_path / "caller.py").write_text(generator + caller)
    for added in (1, 1, 2):
        assert package(added)(10) == 13 + added
        caller = package(added)
        assert caller(10.0) == 13 + added


def test_code_of_other_types_or_another_source_is_none(tmp_path):
    old, new = (compiled._File(str(tmp_path), "double", stamp) for stamp in ("old", "new"))
    old.save("int64", "old code")
    # Two processes that save at once: the index of one remains, and the data file of the other.
    new.save("int64", "new code")
    kept = IndexDataCacheFile(str(tmp_path), "double", "new")
    kept._save_data(kept._data_name(1), ("old", "int64", "old code"))
    assert new.load("int64") is None
    kept._save_data(kept._data_name(1), ("new", "float32", "code for float32"))
    assert new.load("int64") is None
    new.save("int64", "new code")
    assert new.load("int64") == "new code" and old.load("int64") is None


def test_where_nothing_can_be_written_functions_are_compiled_all_the_same(package, monkeypatch):
    def refused(*_):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(compiled, "_Cache", refused)
    assert package(3)(10) == 13


@pytest.mark.parametrize(
    ("seconds", "bounds"),
    [
        ([0.1, 0.1, 0.1, 0.1], [0, 3, 9, 21, 40]),
        ([0.7, 0.1, 2, 0.7, 2, 2, 2, 2, 2, 2], [0, 3, 6, 12, 15, 18, 21, 24, 27, 30, 33]),
    ],
)
def test_rows_are_done_in_turn_as_many_as_take_about_a_second(monkeypatch, seconds, bounds):
    clock = [0.0]
    monkeypatch.setattr(compiled.time, "perf_counter", lambda: clock[0])
    found = [0]
    for some, taken in zip(compiled.in_turn(bounds[-1], 3), seconds, strict=True):
        assert some.start == found[-1]
        found.append(some.stop)
        clock[0] += taken
    assert found == bounds
    assert list(compiled.in_turn(0, 3)) == []
