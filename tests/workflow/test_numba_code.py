import multiprocessing
import subprocess
import sys
import time

import pytest
from numba import njit
from numba.core.caching import IndexDataCacheFile

from saitan.workflow.numba_code import compilations, save_one_at_a_time


def test_two_signatures_saved_at_once_by_two_processes_keep_a_file_each(tmp_path, monkeypatch):
    save_one_at_a_time()
    cache = IndexDataCacheFile(str(tmp_path), "double", "stamp")
    forks, read = multiprocessing.get_context("fork"), IndexDataCacheFile._load_index

    def slowly(self):
        found = read(self)
        time.sleep(0.3)
        return found

    monkeypatch.setattr(IndexDataCacheFile, "_load_index", slowly)
    both = [forks.Process(target=cache.save, args=(kind, f"code for {kind}")) for kind in ("int64", "float32")]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert [cache.load(kind) for kind in ("int64", "float32")] == ["code for int64", "code for float32"]


@pytest.mark.parametrize("module", ["chunk", "sndhdr"])
def test_a_module_can_be_left_out_for_a_while(module):
    code = f"""
import sys
from saitan.workflow.numba_code import absent
with absent({module!r}):
    try:
        import {module}
    except ImportError as error:
        assert error.name == {module!r}
    else:
        sys.exit("it was imported")
import {module}
with absent({module!r}):
    import {module}
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def _next(x):
    return x + 1


def test_what_numba_compiles_or_loads_is_counted():
    counts = [compilations()]

    def called(function, *arguments):
        function(*arguments)
        counts.append(compilations())
        return counts[-1] - counts[-2]

    compiled = njit(cache=True)(_next)
    assert called(compiled, 1) == 1 and called(compiled, 2) == 0 and called(compiled, 1.0) == 1
    loaded = njit(cache=True)(_next)
    assert called(loaded, 1) == 1 and called(loaded, 1) == 0 and loaded.stats.cache_hits
    # A call that finds compiled code by another way than types counts nothing.
    assert called(loaded.compile, "int64(int64)") == 0
    without = (
        "import sys; from saitan.workflow.numba_code import compilations; print(compilations(), 'numba' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", without], text=True).split() == ["-1", "False"]


def test_numba_is_loaded_without_scipys_blas():
    code = """
import sys
from saitan.workflow.numba_code import load_numba
load_numba("cuda")
assert "numba" not in sys.modules
import numba
load_numba("cuda")
numba.njit(lambda x: x)(1)
assert "scipy.linalg" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
