import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_tropical import one_entry_decides_a_tile, pairs, sums_at_infinity_are_reported

from saitan import tropical
from saitan.cuda import unusable
from saitan.tropical.instances import Instance
from saitan.tropical.semiring import INFINITE, mirrored
from saitan.tropical.validate import product_rows

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(unusable() is not None, reason=str(unusable()))]

GRAINS = ("tile", "warp", "element", "tile+warp", "tile+element", "tile+warp+element")
PAPER = [
    ("untiled", {}),
    ("tiled", {}),
    *(("skip-infinity", {"grain": grain}) for grain in GRAINS),
    *(("skip-both", {"grain": grain, "neutral": neutral}) for grain in GRAINS for neutral in (False, True)),
]


def poison(solver):
    """Fill C with a bit pattern that no product here has."""
    import pycuda.driver as driver

    driver.memset_d8(solver.c.ptr, 0xA5, solver.c.nbytes)


def right(instance, variant, **parameters):
    solver = tropical.prepare(instance, variant, "cuda", **parameters)
    try:
        for _ in range(2):
            poison(solver)
            run = solver.run(3)
            solver.validate()
            np.testing.assert_array_equal(solver.answer()["c"], product_rows(instance.a, instance.b, instance.semiring))
            assert set(run.counters) <= set(tropical.METRICS)
            assert run.kernel > 0
    finally:
        solver.close()


@settings(max_examples=60, deadline=None)
@given(pairs(largest=100), st.sampled_from(PAPER), st.booleans())
def test_paper_variants_equal_numpy(instance, choice, reuse):
    variant, parameters = choice
    right(instance, variant, **parameters, **({"reuse": reuse} if "skip" in variant else {}))


def test_one_entry_decides_a_tile():
    one_entry_decides_a_tile("cuda", [*((v, p) for v, p in PAPER if "skip" in v), ("fast", {})])


@settings(max_examples=60, deadline=None)
@given(pairs(largest=400), st.sampled_from(("fast", "dense")), st.booleans())
def test_fast_equals_numpy(instance, variant, reuse):
    right(instance, variant, reuse=reuse)


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (128, 16, 128), (129, 2047, 257), (1, 5000, 3), (300, 1, 300), (64, 33000, 70)]
)
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
def test_fast_on_thin_and_long_shapes(shape, dtype):
    m, k, n = shape
    rng = np.random.default_rng(0)
    a, b = (rng.integers(1, 10000, size).astype(dtype) for size in ((m, k), (k, n)))
    right(Instance(a, b), "fast")


def test_fast_takes_floats_of_either_sign_and_says_so():
    from saitan.tropical.cuda_fast import LoopWarning

    rng = np.random.default_rng(1)
    a, b = (rng.normal(size=(200, 200)).astype(np.float32) for _ in range(2))
    a[3], b[:, 7] = np.inf, np.inf
    with pytest.warns(LoopWarning, match="plain minima"):
        right(Instance(a, b), "fast")


@pytest.mark.parametrize(
    "dtype, entry, message",
    [
        ("float32", np.nan, "NaN"),
        ("float32", -np.inf, "-inf"),
        ("int32", -1, r"outside \[0, 1073741823\]"),
        ("int32", 2**30, r"outside \[0, 1073741823\]"),
        ("uint16", 0x8000, r"outside \[0, 32767\]"),
    ],
)
def test_fast_refuses(dtype, entry, message):
    a = np.ones((50, 60), dtype)
    a[49, 59] = entry
    solver = tropical.prepare(Instance(a, np.ones((60, 40), dtype)), "fast", "cuda")
    with pytest.raises(ValueError, match=message):
        solver.run(0)
    solver.close()


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
def test_fast_reports_a_finite_sum_that_reaches_infinity(dtype):
    from saitan.tropical.semiring import SumOverflow

    infinite = INFINITE[dtype]
    high = np.float32(3e38) if dtype == "float32" else infinite - 1
    a, b = np.full((40, 50), high, dtype), np.full((50, 30), high, dtype)
    a[:, 3] = b[3] = 0
    right(Instance(a, b), "fast")
    a[:, 3] = infinite
    solver = tropical.prepare(Instance(a, b), "fast", "cuda")
    with pytest.raises(SumOverflow, match="a finite sum reaches"):
        solver.run(0)
    solver.close()
    b[:] = infinite
    right(Instance(a, b), "fast")


def test_counters_agree_with_the_cpu():
    instance = tropical.instance({}, n=512, infinite=0.75, by="tile", tile=32, seed=5)
    counters = [tropical.prepare(instance, "skip-infinity", backend).run(0).counters for backend in ("cpu", "cuda")]
    assert counters[0]["tiles_skipped"] == pytest.approx(counters[1]["tiles_skipped"])
    assert counters[0]["tiles_infinite"] == pytest.approx(counters[1]["tiles_infinite"])


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
def test_matmul_of_device_arrays_of_any_strides(dtype):
    from pycuda.gpuarray import to_gpu

    rng = np.random.default_rng(4)
    a, b = (rng.integers(0, 9999, shape).astype(dtype) for shape in ((2, 1, 70, 90), (3, 90, 131)))
    a[0, 0, :5], b[1, :, 3] = INFINITE[dtype], INFINITE[dtype]

    class View:
        """A transposed matrix with a gap after every entry, as another library would show it."""

        def __init__(self, host):
            wide = np.zeros((*host.shape[:-2], host.shape[-1], host.shape[-2], 2), host.dtype)
            wide[..., 0] = np.swapaxes(host, -1, -2)
            self.held = to_gpu(wide)
            size = host.itemsize
            strides = (*wide.strides[:-3], size * 2, size * 2 * host.shape[-2])
            pointer = int(self.held.gpudata)
            self.__cuda_array_interface__ = {
                "shape": host.shape,
                "typestr": host.dtype.str,
                "data": (pointer, False),
                "strides": strides,
                "version": 3,
            }

    expected = tropical.matmul(a, b, backend="cpu")
    for x, y in ((to_gpu(a), to_gpu(b)), (View(a), View(b)), (View(a), to_gpu(b))):
        np.testing.assert_array_equal(tropical.matmul(x, y).get(), expected)
    out = to_gpu(np.full(expected.shape, 3000, dtype))
    tropical.matmul(to_gpu(a), to_gpu(b), out=out, accumulate=True)
    np.testing.assert_array_equal(out.get(), np.minimum(expected, 3000))
    np.testing.assert_array_equal(tropical.matmul(a, b, backend="cuda"), expected)
    square = to_gpu(np.ones((9, 9), dtype))
    with pytest.raises(ValueError, match="shares memory"):
        tropical.matmul(square, square, out=square)
    with pytest.raises(ValueError, match="bring them to one side"):
        tropical.matmul(square, a)


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
def test_a_sum_one_below_infinity_is_finite_and_one_at_infinity_reported(dtype):
    sums_at_infinity_are_reported(dtype, "cuda")


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
@pytest.mark.parametrize("last", [0, 31, 32, 999, 1023])
def test_every_chunk_of_a_sum_counts(last, dtype):
    """The least term of a sum in each place of a chunk, in the last chunk too; sums in parts and whole."""
    for m, n in ((3, 5), (2000, 1500)):
        a, b = np.full((m, last + 1), 50, dtype), np.full((last + 1, n), 60, dtype)
        a[:, last], b[last] = 1, np.arange(n)
        found = tropical.matmul(a, b, backend="cuda")
        np.testing.assert_array_equal(found, np.tile(np.minimum(np.arange(n) + 1, 110 if last else 2**14), (m, 1)))


@pytest.mark.parametrize("shape", [(40, 3000, 50), (400, 60, 500), (3, 7, 5)])
@pytest.mark.parametrize("semiring", ["min_plus", "max_plus"])
def test_accumulating_in_floats_of_either_sign(semiring, shape):
    """Of few tiles and many terms the sum is cut into parts, which atomic minima merge."""
    from pycuda.gpuarray import to_gpu

    m, k, n = shape
    rng = np.random.default_rng(k)
    a, b = (mirrored(rng.random(size, np.float32), semiring) for size in ((m, k), (k, n)))
    for low, high in ((-2, 2), (0, 1e-3), (-1e-3, 0)):
        before = rng.uniform(low, high, (m, n)).astype(np.float32)
        before[0, 0], before[-1, -1] = -0.0, np.float32(np.inf if semiring == "min_plus" else -np.inf)
        product = product_rows(a, b, semiring)
        expected = (np.minimum if semiring == "min_plus" else np.maximum)(before, product)
        out = to_gpu(before)
        tropical.matmul(to_gpu(a), to_gpu(b), semiring, out, accumulate=True)
        np.testing.assert_array_equal(out.get(), expected)


@pytest.mark.parametrize(
    "dtype, entry, message",
    [
        ("float32", np.nan, "out holds NaN"),
        ("float32", -np.nan, "out holds NaN"),
        ("float32", -np.inf, "out holds -inf"),
        ("int32", -1, "out has an entry outside"),
        ("uint16", 0x8000, "out has an entry outside"),
    ],
)
@pytest.mark.parametrize("place", [(0, 0, 0), (1, 2, 4), (1, 69, 130)])
def test_what_is_accumulated_in_is_looked_at(dtype, entry, message, place):
    from pycuda.gpuarray import to_gpu

    a, b = to_gpu(np.ones((2, 70, 9), dtype)), to_gpu(np.ones((9, 131), dtype))
    before = np.ones((2, 70, 131), dtype)
    before[place] = entry
    out = to_gpu(before)
    with pytest.raises(ValueError, match=message):
        tropical.matmul(a, b, out=out, accumulate=True)
    np.testing.assert_array_equal(out.get(), before)
    tropical.matmul(a, b, out=out)
    assert (out.get() == 2).all()


def test_device_arrays_of_another_byte_order_are_refused():
    from pycuda.gpuarray import to_gpu

    held = to_gpu(np.ones((4, 4), np.float32))

    class Swapped:
        __cuda_array_interface__ = held.__cuda_array_interface__ | {"typestr": ">f4"}

    with pytest.raises(ValueError, match="not in the machine's byte order"):
        tropical.matmul(Swapped(), Swapped())


def test_empty_products_on_the_device_are_infinite():
    from pycuda.gpuarray import to_gpu

    c = tropical.matmul(np.ones((3, 0), np.float32), np.ones((0, 4), np.float32), backend="cuda")
    np.testing.assert_array_equal(c, np.full((3, 4), np.inf, np.float32))
    out = to_gpu(np.ones((3, 4), np.int32))
    assert tropical.matmul(to_gpu(np.ones((3, 5), np.int32)), to_gpu(np.ones((5, 4), np.int32)), out=out) is out
    assert (out.get() == 2).all()
