"""Running again until a query fits, and the constants that host and device share."""

import numpy as np
import pytest

from saitan.cuda import constants as module
from saitan.cuda.constants import constants
from saitan.problem import Invalid, Unavailable
from saitan.sssp.cuda_graph import BLOCK, grid
from saitan.sssp.ending import FULL, TIMED_OUT, TOO_LONG, run_until_it_fits, widened_type


def test_it_is_tried_until_it_fits():
    ends, done = [FULL, TOO_LONG | FULL, FULL, 0], []
    found = run_until_it_fits(
        lambda: (ends[len(done)], len(done)), widen=lambda: done.append("widen"), grow=lambda: done.append("grow")
    )
    assert found == 3 and done == ["grow", "widen", "grow"]


def test_a_timeout_is_not_tried_again():
    with pytest.raises(Unavailable, match=r"^too slow$"):
        run_until_it_fits(lambda: (TIMED_OUT | TOO_LONG | FULL, None), widen=pytest.fail, timed_out="too slow")


def test_a_type_widens_once():
    assert widened_type(np.uint32) == np.uint64 and widened_type(np.float32) == np.float64
    for dtype in (np.uint64, np.float64):
        with pytest.raises(Invalid, match=f"^a path is too long for {np.dtype(dtype)}$"):
            widened_type(dtype)


def test_constants_are_those_of_the_source(tmp_path, monkeypatch):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "toy.cu").write_text(
        "static constexpr uint32_t A = 12, B = 0xFFu;  // constexpr int C = 3;\n"
        "constexpr unsigned long long D = 5ull;\nstatic constexpr int E = 1 << 4, F = A / 2, G = 7;\n"
        "constexpr double H = 0.5;\nenum { I = 0, J = 4 };\ntemplate <typename T> static constexpr T K = ~T(0);\n"
    )
    monkeypatch.setattr(module, "KERNELS", tmp_path)
    assert constants("toy", "toy.cu") == {"A": 12, "B": 255, "D": 5, "G": 7, "I": 0, "J": 4}


def test_the_shared_constants_have_the_values_that_the_hosts_rely_on():
    assert (TOO_LONG, FULL, TIMED_OUT) == (1, 2, 4)
    assert constants("sssp", "hop.cuh")["NONE"] == 2**32 - 1
    # A block's donated entries are read by a thread for every other block; the kernel's launch bounds are as many.
    assert constants("sssp", "fast.cu")["THREADS"] % 32 == 0
    assert constants("sssp", "phast.cu").keys() >= {"THREADS", "QUEUE"}
    assert constants("sssp", "rows.cuh")["THREADS"] % 32 == 0


def test_a_grid_is_along_x_where_two_to_the_31_blocks_fit():
    assert grid(0) == grid(1) == grid(BLOCK) == (1, 1) and grid(BLOCK + 1) == (2, 1)
    # A warp for each of the most vertices that there can be.
    assert grid(32 * (2**31 - 1)) == (2**28, 1)
