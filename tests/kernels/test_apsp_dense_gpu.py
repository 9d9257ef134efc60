"""Dense matrices on the GPU, by the tests of those on the CPU; needs a CUDA device."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_apsp_closure_check import matrices, reference_rows, run
from test_apsp_dense import a_closure_follows_a_path_through_all_vertices, closing
from test_tropical_validate import spoil, spoilings

from saitan import apsp, tropical
from saitan.apsp.closure_check import DeviceCheck, HostCheck
from saitan.cuda import unusable
from saitan.problem import Invalid
from saitan.tropical.semiring import INFINITE, infinity, mirrored

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(unusable() is not None, reason=str(unusable()))]


@pytest.mark.parametrize("n", [1, 37, 128, 129, 300, 1025, 2700])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
@pytest.mark.parametrize("call", ["closure", "floyd_warshall"])
def test_closure_equals_the_cpu(call, dtype, n):
    rng = np.random.default_rng(n)
    a = rng.integers(0, 50, (n, n)).astype(dtype)
    a[rng.random((n, n)) < 0.98] = INFINITE[dtype]
    for semiring in ("min_plus", "max_plus") if dtype != "uint16" else ("min_plus",):
        found, expected = (getattr(tropical, call)(mirrored(a, semiring), semiring, backend=x) for x in ("cuda", "cpu"))
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
@pytest.mark.parametrize("variant", ["closure", "floyd-warshall-blocked"])
def test_closing_solvers_run_twice_alike(variant, dtype):
    import pycuda.driver as driver

    solver = closing(variant, "cuda", n=700, infinite=0.9, dtype=dtype)
    memory = solver.memory
    for first, count in ((0, 700), (0, 700), (650, 50)):
        # A bit pattern that no closure here has.
        driver.memset_d8(solver.matrix.ptr, 0xA5, solver.matrix.nbytes)
        counters = solver.run([first, count]).counters
        assert solver.validate().whole and solver.memory == memory
        if first == 0:
            assert apsp.differs(*reference_rows(solver)) is None
        assert solver.answer()["distances"].shape == (count, 700)
        assert set(counters) <= set(apsp.METRICS) and counters["tops"] > 0
    solver.close()


@pytest.mark.parametrize("call", ["closure", "floyd_warshall"])
@pytest.mark.parametrize("n", [2, 33, 129, 513, 1100])
def test_a_closure_follows_a_path_through_all_vertices(n, call):
    a_closure_follows_a_path_through_all_vertices(n, call, "cuda")


@pytest.mark.parametrize("n", [1024, 1025, 2500])
def test_steps_of_large_matrices(n, monkeypatch):
    from saitan.apsp import cuda_dense

    monkeypatch.setattr(cuda_dense, "LARGE", 1000)
    a_closure_follows_a_path_through_all_vertices(n, "floyd_warshall", "cuda")
    solver = closing("floyd-warshall-blocked", "cuda", n=n, dtype="uint16")
    assert solver.step == 1024
    assert run(solver).validate().whole
    solver.close()


@settings(max_examples=30)
@given(matrices(), st.sampled_from(("closure", "floyd-warshall-blocked")), spoilings())
def test_a_spoiled_closure_is_refused(matrix, variant, spoiling):
    solver = run(closing(variant, "cuda", matrix=matrix))
    assert solver.validate().whole
    check = solver._check
    right = check.expected.get()
    np.testing.assert_array_equal(right, HostCheck(matrix).expected)
    c = right.copy()
    row, column = spoil(c, spoiling, infinity(c.dtype), check.above, check.below)
    solver.matrix.set(c)
    with pytest.raises(Invalid, match=re.escape(f"row {row}, column {column}: {c[row, column]} where ")):
        solver.validate()
    solver.matrix.set(right)
    assert solver.validate().whole
    solver.close()


@pytest.mark.parametrize("variant", ["closure", "floyd-warshall-blocked"])
def test_a_closure_with_rows_of_zeros_is_refused(variant):
    solver = run(closing(variant, "cuda", n=2048))
    solver.validate()
    right = solver.matrix.get()
    c = right.copy()
    c[1:-1] = 0
    solver.matrix.set(c)
    with pytest.raises(Invalid, match=r"row 1, column 0: 0\.0 where"):
        solver.validate()
    for row, column in ((0, 0), (2047, 2047), (2047, 2046), (1023, 1024)):
        for value in (
            np.float32(np.inf),
            np.float32(1e-30) if row == column else right[row, column] * np.float32(0.999),
        ):
            c[:] = right
            c[row, column] = value
            solver.matrix.set(c)
            with pytest.raises(Invalid, match=rf"row {row}, column {column}: .*\(1 of 4,194,304"):
                solver.validate()
    solver.close()


def test_a_closure_check_is_freed():
    check = DeviceCheck(apsp.instance({}, n=100).matrix)
    list(check.slabs())
    assert check.buffers.nbytes == 100 * 100 * 4
    check.close()
    assert check.buffers.nbytes == 0
