"""The checks on the device, by the tests of those on the CPU."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_tropical_validate import instances, spoil, spoilings

from saitan import tropical
from saitan.cuda import device, unusable
from saitan.problem import Invalid
from saitan.tropical import cuda_validate
from saitan.tropical.cuda_validate import Check, Kernels
from saitan.tropical.instances import Instance
from saitan.tropical.semiring import INFINITE, infinity, mirrored
from saitan.tropical.validate import outside, product_rows

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(unusable() is not None, reason=str(unusable()))]

PRODUCTS = ("untiled", "tiled", "skip-infinity", "skip-both", "fast", "dense")


def spoiled_on_device(solver, spoiling, semiring, up=0.0, down=0.0):
    """Spoil one entry, see that it is refused, mend it."""
    right = solver.c.get()
    c = right.copy()
    row, column = spoil(c, spoiling, infinity(c.dtype, semiring), up, down)
    solver.c.set(c)
    with pytest.raises(Invalid, match=re.escape(f"row {row}, column {column}: {c[row, column]} where ")):
        solver.validate()
    solver.c.set(right)
    assert solver.validate().whole


@settings(max_examples=60)
@given(instances(), st.sampled_from(PRODUCTS), st.lists(spoilings(), min_size=1, max_size=5))
def test_a_spoiled_product_is_refused(instance, variant, all_spoilings):
    solver = tropical.prepare(instance, variant, "cuda")
    memory = solver.memory
    solver.c.fill(infinity(instance.a.dtype) - 1 if instance.a.dtype.kind != "f" else np.float32(0.5))
    solver.run(0)
    assert solver.validate().whole and "every entry" in solver.validate().says
    for spoiling in all_spoilings:
        spoiled_on_device(solver, spoiling, instance.semiring if solver.own_semiring else "min_plus")
    assert solver.memory == memory
    solver.close()


@settings(max_examples=15)
@given(instances(), st.integers(20_000, 500_000), spoilings())
def test_slabs_of_a_product_that_does_not_fit(instance, size, spoiling):
    solver = tropical.prepare(instance, "fast", "cuda")
    solver.run(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuda_validate, "room", lambda: size)
        for _ in range(2):
            assert solver.validate().whole
        spoiled_on_device(solver, spoiling, instance.semiring)
        check = solver._check
        slabs = [(first, expected.get()) for first, expected in check.slabs()]
        m, k, n = instance.shape
        assert check.expected is None or (m * k + k * n + m * n) * instance.a.itemsize <= size
    if check.expected is None:
        assert [first for first, _ in slabs] == list(np.cumsum([0] + [len(slab) for _, slab in slabs[:-1]]))
    expected = mirrored(product_rows(instance.a, instance.b, instance.semiring), instance.semiring)
    np.testing.assert_array_equal(np.concatenate([slab for _, slab in slabs]), expected)
    solver.close()


@settings(max_examples=40)
@given(st.integers(1, 5000), st.integers(0, 2**32 - 1), st.sampled_from([(0.0, 0.0), (2.0**-20, 2.0**-18)]))
def test_the_comparison_is_that_of_numpy(count, seed, bounds):
    from pycuda.gpuarray import to_gpu

    device()
    rng = np.random.default_rng(seed)
    special = np.float32([0, -0.0, 1e-45, np.inf, -np.inf, np.nan, 3e38, 1, -1])
    right = rng.choice(special[:4], count) if rng.random() < 0.3 else rng.random(count, np.float32)
    found = right * (1 + rng.choice([0, 2.0**-22, 2.0**-19, 2.0**-17], count) * rng.choice([-1, 1], count))
    found = np.where(rng.random(count) < 0.1, rng.choice(special, count), found).astype(np.float32)
    kernels = Kernels(np.dtype(np.float32))
    x, y = to_gpu(found), to_gpu(right)
    for negated in (False, True):
        wrong = np.flatnonzero(outside(found, 0 - right if negated else right, *bounds))
        seen = kernels.compare(int(x.gpudata), int(y.gpudata), count, negated, *bounds)
        assert seen == (len(wrong), wrong[0] if len(wrong) else count)


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
def test_the_plain_product_takes_the_largest_entries(dtype):
    high = np.float32(3e38) if dtype == "float32" else INFINITE[dtype] - 1
    a = np.array([[high, INFINITE[dtype]], [0, high], [INFINITE[dtype], INFINITE[dtype]]], dtype)
    check = Check(Instance(a, a[:2]))
    with np.errstate(over="ignore"):
        expected = product_rows(a, a[:2], "min_plus")
    ((_, found),) = check.slabs()
    np.testing.assert_array_equal(found.get(), expected)
    check.close()
    assert check.expected is None and check.buffers.nbytes == 0
