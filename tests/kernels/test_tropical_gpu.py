from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_tropical import one_entry_decides_a_tile, pairs, sums_at_infinity_are_reported

from saitan import tropical
from saitan.cuda import device, unusable
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


# Small products by one launch, or packed as the others are.
WAYS = ("alone", "packed")


@contextmanager
def done(way):
    """Products of any size, not accumulated, in one of the WAYS."""
    with mock.patch("saitan.tropical.cuda_small.is_small", lambda *_: way == "alone"):
        yield


@pytest.fixture(params=WAYS)
def way(request):
    with done(request.param):
        yield request.param


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


def test_one_entry_decides_a_tile(way):
    one_entry_decides_a_tile("cuda", [*((v, p) for v, p in PAPER if "skip" in v), ("fast", {})])


@settings(max_examples=120, deadline=None)
@given(pairs(largest=400), st.sampled_from(("fast", "dense")), st.booleans(), st.sampled_from(WAYS))
def test_fast_equals_numpy(instance, variant, reuse, way):
    with done(way):
        right(instance, variant, reuse=reuse)


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (128, 16, 128), (129, 2047, 257), (1, 5000, 3), (300, 1, 300), (64, 33000, 70)]
)
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
def test_fast_on_thin_and_long_shapes(shape, dtype, way):
    m, k, n = shape
    rng = np.random.default_rng(0)
    a, b = (rng.integers(1, 10000, size).astype(dtype) for size in ((m, k), (k, n)))
    right(Instance(a, b), "fast")


def test_fast_takes_floats_of_either_sign_and_says_so(way):
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
@pytest.mark.parametrize("shape, place", [((50, 60), (49, 59)), ((60, 50), (0, 0)), ((70, 65), (64, 33))])
def test_fast_refuses(dtype, entry, message, shape, place, way):
    """Wherever the entry is, in either operand; the next operands are looked at anew."""
    x = np.ones(shape, dtype)
    x[place] = entry
    for a, b in ((x, np.ones((shape[1], 40), dtype)), (np.ones((40, shape[0]), dtype), x)):
        solver = tropical.prepare(Instance(a, b), "fast", "cuda")
        with pytest.raises(ValueError, match=message):
            solver.run(0)
        (solver.a if a is x else solver.b).set(np.ones(shape, dtype))
        solver.run(0)
        assert (solver.answer()["c"] == 2).all()
        solver.close()


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
def test_fast_reports_a_finite_sum_that_reaches_infinity(dtype, way):
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
@pytest.mark.parametrize("k", [1, 3, 4, 31, 32, 33, 64, 100])
def test_every_term_and_entry_of_a_small_product_counts(dtype, k):
    """Each term decides an entry of C alone, at shapes that four entries at once do and do not fit."""
    rng = np.random.default_rng(k)
    with done("alone"):
        for m, n in ((1, 1), (31, 64), (32, 63), (33, 65), (36, 128), (40, 132), (65, 200)):
            terms = rng.integers(0, k, (m, n))
            a, b = np.full((m, k), 9000, dtype), np.full((k, n), 9000, dtype)
            a[np.arange(m), terms[:, 0]] = np.arange(m) + 1
            b[terms[0], np.arange(n)] = np.arange(n) + 1
            right(Instance(a, b), "fast")


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
def test_a_small_product_leaves_only_what_is_final(dtype):
    """Tiles of C that are all zero but for one entry, whose only zero comes last."""
    with done("alone"):
        for n in (64, 128, 150, 151):
            a, b = np.zeros((n, 300), dtype), np.zeros((300, n), dtype)
            a[7, :299] = 5
            a[7, 299], b[299, 11] = 1, 2
            right(Instance(a, b), "fast")


def test_chunks_of_small_products_that_are_infinite_are_counted():
    a, b = np.full((40, 70), np.inf, np.float32), np.full((70, 33), np.inf, np.float32)
    a[39, 69], b[0, 32] = 1, 1
    with done("alone"):
        counters = tropical.prepare(Instance(a, b), "fast", "cuda").run(0).counters
        dense = tropical.prepare(Instance(a, b), "dense", "cuda").run(0).counters
    # Chunks of 32: of A 2 x 3, of B 3 x 2, of which one each is finite.
    assert counters["tiles_infinite"] == pytest.approx(10 / 12)
    assert (counters["tiles_skipped"], counters["prepass_s"]) == (1, 0)
    assert (dense["tiles_infinite"], dense["tiles_skipped"]) == (0, 0)


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
def test_matmul_of_device_arrays_of_any_strides(dtype, way):
    from pycuda.gpuarray import to_gpu

    device()
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
def test_a_sum_one_below_infinity_is_finite_and_one_at_infinity_reported(dtype, way):
    sums_at_infinity_are_reported(dtype, "cuda")


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
@pytest.mark.parametrize("last", [0, 31, 32, 999, 1023])
def test_every_chunk_of_a_sum_counts(last, dtype, way):
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

    device()
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

    device()
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

    device()
    held = to_gpu(np.ones((4, 4), np.float32))

    class Swapped:
        __cuda_array_interface__ = held.__cuda_array_interface__ | {"typestr": ">f4"}

    with pytest.raises(ValueError, match="not in the machine's byte order"):
        tropical.matmul(Swapped(), Swapped())


def test_empty_products_on_the_device_are_infinite():
    from pycuda.gpuarray import to_gpu

    device()
    c = tropical.matmul(np.ones((3, 0), np.float32), np.ones((0, 4), np.float32), backend="cuda")
    np.testing.assert_array_equal(c, np.full((3, 4), np.inf, np.float32))
    out = to_gpu(np.ones((3, 4), np.int32))
    assert tropical.matmul(to_gpu(np.ones((3, 5), np.int32)), to_gpu(np.ones((5, 4), np.int32)), out=out) is out
    assert (out.get() == 2).all()
