import pickle
import re
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array

from saitan import tropical
from saitan.blocks import joined
from saitan.cuda import unusable
from saitan.cuda.constants import constants
from saitan.graph import Graph
from saitan.problem import Unavailable
from saitan.tropical import cpu_fast
from saitan.tropical.instances import Instance
from saitan.tropical.operands import checked_sums
from saitan.tropical.semiring import INFINITE, SumOverflow, infinity, mirrored
from saitan.tropical.validate import product_rows

DTYPES = ("float32", "int32", "uint16")
SKIPPING = [("skip-infinity", {"grain": grain}) for grain in ("tile", "warp", "element", "tile+warp+element")] + [
    ("skip-both", {"grain": grain, "neutral": neutral})
    for grain, neutral in (("tile", True), ("warp", False), ("element", False), ("tile+warp+element", True))
]
EVERY = [("untiled", {}), ("tiled", {}), *SKIPPING, ("fast", {}), ("dense", {}), ("numpy", {})]


def plain_product(a, b, semiring):
    """The definition, entry by entry, in Python's own numbers (float32 sums rounded once)."""
    infinite = infinity(a.dtype, semiring)
    out = np.full((a.shape[0], b.shape[1]), infinite, a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for x, y in zip(a[i], b[:, j], strict=True):
                if x != infinite and y != infinite:
                    total = x + y if a.dtype == np.float32 else int(x) + int(y)
                    out[i, j] = min(out[i, j], total) if semiring == "min_plus" else max(out[i, j], total)
    return out


@st.composite
def pairs(draw, largest=70):
    """Two matrices that fit; zeros, infinities and largest finite values in blocks, rows and single entries."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    semiring = draw(st.sampled_from(("min_plus", "max_plus"))) if dtype != np.uint16 else "min_plus"
    m, k, n = (draw(st.integers(1, largest)) for _ in range(3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def matrix(rows, columns):
        # Largest finite entries whose sum is finite still.
        high = 1.7e38 if dtype == np.float32 else int(INFINITE[dtype.name]) // 2
        small = rng.integers(0, 4, (rows, columns))
        out = (rng.random((rows, columns)) * high).astype(dtype) if rng.random() < 0.5 else small.astype(dtype)
        for special in (0, INFINITE[dtype.name]):
            share = rng.choice([0, 0.3, 0.9])
            out[rng.random((rows, columns)) < share] = special
            out[rng.random(rows) < share] = special
            top, left = rng.integers(0, rows), rng.integers(0, columns)
            out[top : top + largest // 2, left : left + largest // 2] = special
        if rng.random() < 0.3:
            edge = min(rows, columns, 32)
            out[:edge, :edge] = INFINITE[dtype.name]
            np.fill_diagonal(out[:edge, :edge], 0)
        return mirrored(out, semiring)

    return Instance(matrix(m, k), matrix(k, n), semiring)


@settings(max_examples=15, deadline=None)
@given(pairs(largest=12))
def test_numpy_product_is_the_definition(instance):
    np.testing.assert_array_equal(
        product_rows(instance.a, instance.b, instance.semiring),
        plain_product(instance.a, instance.b, instance.semiring),
    )


@pytest.fixture(params=[0, cpu_fast.SMALL])
def small(request, monkeypatch):
    """Products of so few terms are those that one worker computes."""
    monkeypatch.setattr(cpu_fast, "SMALL", request.param)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs(), st.sampled_from(EVERY))
def test_every_variant_equals_numpy(small, instance, choice):
    variant, parameters = choice
    solver = tropical.prepare(instance, variant, "cpu", **parameters)
    if hasattr(solver, "c"):
        solver.c.view(np.uint8)[:] = 0xA5
    run = solver.run(3)
    solver.validate()
    answer = solver.answer()
    np.testing.assert_array_equal(answer["c"], product_rows(instance.a, instance.b, instance.semiring))
    reference = tropical.reference(instance, 3)
    assert tropical.differs(reference, joined(solver.blocks(reference.rows))) is None
    assert set(run.counters) <= set(tropical.METRICS)


PLACES = ((0, 0), (0, 31), (31, 0), (31, 31), (32, 63), (63, 32), (69, 69), (69, 0), (0, 69))


def one_entry_decides_a_tile(backend, variants):
    """Matrices that are all infinite, all zero or the identity but for one entry, at the edges of tiles."""
    rng = np.random.default_rng(0)
    other = rng.integers(1, 100, (70, 70)).astype(np.int32)
    identity = np.where(np.eye(70) == 1, 0, INFINITE["int32"]).astype(np.int32)
    plain = [np.full((70, 70), INFINITE["int32"]), np.zeros((70, 70), np.int32), identity]
    for variant, parameters in variants:
        for start in plain:
            for place in (None, *PLACES):
                special = start.copy()
                if place:
                    special[place] = 3 if special[place] else 5
                column, row = special[:, :1], special[:1]
                pairs = (special, other), (other, special), (special, special), (column, row * 0), (column * 0, row)
                for a, b in pairs:
                    found = tropical.solve(a, b, "min_plus", variant, backend, **parameters)
                    np.testing.assert_array_equal(found, product_rows(a, b, "min_plus"), err_msg=f"{variant} {place}")


def test_one_entry_decides_a_tile():
    one_entry_decides_a_tile("cpu", [*SKIPPING, ("fast", {})])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_small_product_equals_the_definition(small, dtype):
    random = np.random.default_rng(5)
    for shape in ((1, 1, 1), (3, 5, 7), (64, 64, 64), (64, 65, 64), (1, 2**18, 1), (64, 4, 300)):
        m, k, n = shape
        a, b = (random.integers(0, 1000, shape).astype(dtype) for shape in ((m, k), (k, n)))
        for matrix in (a, b):
            matrix[random.random(matrix.shape) < 0.6] = infinity(a.dtype)
        solver = tropical.prepare(Instance(a, b), "fast", "cpu")
        solver.c.view(np.uint8)[:] = 0xA5
        solver.run(0)
        np.testing.assert_array_equal(solver.answer()["c"], product_rows(a, b, "min_plus"), err_msg=str(shape))
        before = random.integers(0, 1000, (m, n)).astype(dtype)
        found = tropical.matmul(a, b, out=before.copy(), accumulate=True, backend="cpu")
        np.testing.assert_array_equal(found, np.minimum(before, product_rows(a, b, "min_plus")), err_msg=str(shape))


@pytest.mark.parametrize("m", [1, 2, 63, 64, 65, 130])
def test_a_row_by_itself_counts(m):
    """The only row of A that is finite, first and last of a block."""
    b = np.random.default_rng(m).integers(0, 99, (40, 600)).astype(np.int32)
    for row in {0, m - 1, min(m - 1, 63), min(m - 1, 64)}:
        a = np.full((m, 40), INFINITE["int32"])
        a[row] = 7
        np.testing.assert_array_equal(tropical.matmul(a, b, backend="cpu"), product_rows(a, b, "min_plus"))


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
@pytest.mark.parametrize("variant", ["fast", "dense"])
def test_fast_leaves_out_nothing_finite(variant, dtype):
    random = np.random.default_rng(8)
    for _ in range(8):
        m, k, n = random.integers(1, [150, 300, 1200])
        a, b = (random.integers(0, 1000, shape).astype(dtype) for shape in ((m, k), (k, n)))
        # Every row and column with a share of its own, some with nothing finite and some with nothing else.
        for matrix in (a, b):
            share = random.choice([0.0, 0.3, 0.9, 0.99, 1.0], (2, max(matrix.shape)))
            rows, columns = (share[i, : matrix.shape[i]] for i in range(2))
            matrix[random.random(matrix.shape) < np.maximum.outer(rows, columns * (columns < 1))] = infinity(a.dtype)
        solver = tropical.prepare(Instance(a, b), variant, "cpu")
        solver.c.view(np.uint8)[:] = 0xA5
        solver.run(0)
        np.testing.assert_array_equal(solver.answer()["c"], product_rows(a, b, "min_plus"), err_msg=f"{m} {k} {n}")


def test_counters_tell_what_infinite_tiles_save():
    instance = tropical.instance({}, n=256, infinite=0.75, by="tile", tile=32, seed=5)
    counters = tropical.prepare(instance, "skip-infinity", "cpu").run(0).counters
    blocks = [np.isfinite(x).reshape(8, 32, 8, 32).any(axis=(1, 3)) for x in (instance.a, instance.b)]
    left = sum(blocks[0][i, k] and blocks[1][k, j] for i in range(8) for j in range(8) for k in range(8))
    assert counters["tiles_infinite"] == pytest.approx(0.75)
    assert counters["tiles_skipped"] == pytest.approx(1 - left / 512)
    # Rows of A by groups of eight terms.
    finite = [np.isfinite(instance.a).reshape(256, 32, 8).any(axis=2), np.isfinite(instance.b).reshape(32, 8, 256)]
    left = (finite[0] & finite[1].any(axis=(1, 2))).sum()
    counters = tropical.prepare(instance, "fast", "cpu").run(0).counters
    assert counters["tiles_skipped"] == pytest.approx(1 - left / (256 * 32))
    assert tropical.prepare(instance, "dense", "cpu").run(0).counters["tiles_skipped"] == 0


@pytest.mark.parametrize("by", ["tile", "element"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_random_instances_meet_their_shares(by, dtype):
    edge = {"tile": 25} if by == "tile" else {}
    instance = tropical.instance({}, n=400, infinite=0.75, zero=0.5, by=by, dtype=dtype, **edge)
    for matrix in (instance.a, instance.b):
        infinite = matrix == INFINITE[dtype]
        assert infinite.mean() == pytest.approx(0.75, abs=0.01)
        assert (matrix[~infinite] == 0).mean() == pytest.approx(0.5, abs=0.02)
    assert not np.array_equal(instance.a, instance.b)


@pytest.mark.parametrize(
    ("weights", "dtype", "says"),
    [
        ([1.5, 2.75], "int32", "unnamed: int32 does not hold a weight of 1.5: try float32"),
        ([1.0, 0.25], "uint16", "unnamed: uint16 does not hold a weight of 0.25: try float32"),
        ([1, 16777217], "float32", "unnamed: float32 does not hold a weight of 16,777,217: try int32"),
        ([1, 2**30], "int32", "unnamed: a weight of 1,073,741,824 does not fit int32, 1,073,741,823 is infinity"),
        ([2.0, 3.0], "int32", None),
        ([1, 16777218], "float32", None),
    ],
)
def test_a_weight_that_a_type_does_not_hold_is_refused(weights, dtype, says):
    from saitan.graph import Graph

    graph = Graph.from_arcs(3, [0, 1], [1, 2], weights)
    if says is None:
        assert tropical.instance({"graph": graph}, n=3, dtype=dtype).a[0, 1] == weights[0]
        return
    with pytest.raises(Unavailable) as caught:
        tropical.instance({"graph": graph}, n=3, dtype=dtype)
    assert str(caught.value) == says


def test_a_block_larger_than_the_graph_is_refused():
    from saitan.graph import Graph

    with pytest.raises(Unavailable, match="n must be at most 2, the vertices of unnamed, not 1,024"):
        tropical.instance({"graph": Graph.from_arcs(2, [0], [1], [1])})


@pytest.mark.parametrize("order", ["file", "bfs"])
def test_weight_matrix_of_a_graph(order):
    from saitan.graph import Graph

    rng = np.random.default_rng(2)
    path = rng.permutation(90)
    ends = np.stack([path[:-1], path[1:]])
    sources, targets = np.concatenate([ends, ends[::-1]], axis=1)
    weights = np.tile(rng.integers(1, 100, 89), 2).astype(np.uint32)
    graph = Graph.from_arcs(
        90, np.append(sources, sources[0]), np.append(targets, targets[0]), np.append(weights, np.uint32(1000))
    )
    matrix = tropical.instance({"graph": graph}, n=60, order=order, dtype="int32").a
    finite = matrix != INFINITE["int32"]
    assert matrix.shape == (60, 60)
    assert (np.diag(matrix) == 0).all()
    np.testing.assert_array_equal(matrix, matrix.T)
    assert matrix[finite].max() < 1000
    if order == "bfs":
        # From one end of a path every vertex is next to the one before it.
        assert (np.diag(finite, 1)).all()
        assert finite.sum() == 60 + 2 * 59
    else:
        inside = (sources < 60) & (targets < 60)
        assert finite.sum() == 60 + inside.sum()
        np.testing.assert_array_equal(matrix[sources[inside], targets[inside]], weights[inside])


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"infinite": 1.5}, "infinite must be at most 1, not 1.5"),
        ({"n": 0}, "n must be at least 1, not 0"),
        ({"by": "row"}, "by must be one of tile, element, not 'row'"),
        ({"order": "degree"}, "order must be one of bfs, file"),
        ({"dtype": "float64"}, "float64"),
        ({"dtype": "uint16", "semiring": "max_plus"}, "no minus infinity"),
        ({"semiring": "plus_times"}, "semiring must be one of"),
        ({"size": 4}, "tropical has no parameter 'size'"),
    ],
)
def test_bad_instance_is_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        tropical.instance({}, **parameters)


def test_bad_grain_is_named():
    with pytest.raises(ValueError, match=r"grain must be one of tile, .*not 'tile.block'"):
        tropical.prepare(tropical.instance({}, n=8), "skip-infinity", "cpu", grain="tile+block")


@settings(max_examples=25, deadline=None)
@given(pairs(largest=40), st.booleans())
def test_matmul_of_any_strides(instance, accumulate):
    a, b = instance.a, instance.b
    expected = product_rows(a, b, instance.semiring)
    wide = np.zeros((2 * a.shape[0], 3 * a.shape[1]), a.dtype)
    wide[::2, ::3] = a
    out = (
        np.full(expected.shape, 1, a.dtype) if instance.semiring == "min_plus" else np.full(expected.shape, -1, a.dtype)
    )
    if accumulate:
        expected = (np.minimum if instance.semiring == "min_plus" else np.maximum)(expected, out)
    flipped = np.asfortranarray(b)[:, ::-1]
    result = tropical.matmul(
        wide[::2, ::3], flipped, instance.semiring, out[:, ::-1], accumulate=accumulate, backend="cpu"
    )
    np.testing.assert_array_equal(out, expected)
    assert np.shares_memory(result, out)


def test_matmul_broadcasts_leading_dimensions():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 99, (3, 1, 4, 5)).astype(np.int32), rng.integers(0, 99, (2, 5, 6)).astype(np.int32)
    c = tropical.matmul(a, b, backend="cpu")
    assert c.shape == (3, 2, 4, 6)
    for i in range(3):
        for j in range(2):
            np.testing.assert_array_equal(c[i, j], product_rows(a[i, 0], b[j], "min_plus"))


@pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("shape", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)])
def test_empty_products_are_infinite(shape, backend):
    m, k, n = shape
    a, b, right = np.zeros((m, k), np.float32), np.zeros((k, n), np.float32), np.full((m, n), -np.inf, np.float32)
    np.testing.assert_array_equal(tropical.matmul(a, b, "max_plus", backend=backend), right)
    for variant, known in tropical.VARIANTS.items():
        if getattr(known, backend):
            np.testing.assert_array_equal(tropical.solve(a, b, "max_plus", variant, backend), right)


def bad_operands():
    one = np.ones((4, 4), np.float32)
    yield (one, np.ones((5, 4), np.float32)), {}, "do not fit"
    yield (one, np.ones((4, 4), np.int32)), {}, "types differ"
    yield (one.astype(float), one.astype(float)), {}, "float64"
    yield (one[0], one), {}, "at least two dimensions"
    yield (one, np.where(np.eye(4) > 0, np.nan, 1).astype(np.float32)), {}, "b holds NaN"
    yield (one - 2 * np.float32(np.inf), one), {}, "a holds -inf"
    yield (-one.astype(np.int32), one.astype(np.int32)), {}, r"a must hold integers in \[0, 1073741823\]"
    yield (one.astype(np.int32), one.astype(np.int32)), {"semiring": "max_plus"}, "for max_plus"
    yield (one.astype(np.uint16), one.astype(np.uint16)), {"semiring": "max_plus"}, "no minus infinity"
    yield (one, one), {"semiring": "plus_times"}, "unknown semiring"
    yield (one, one), {"out": np.empty((4, 5), np.float32)}, "out is"
    yield (one, one), {"out": one}, "shares memory"
    yield (one, one), {"accumulate": True}, "needs the out"
    yield (np.ones((2, 4, 4), np.float32), np.ones((3, 4, 4), np.float32)), {}, "do not broadcast"

    for dtype, high in (("int32", 2**30), ("uint16", 2**15)):
        beyond = np.ones((4, 4), dtype)
        beyond[3, 3] = high
        yield (beyond // high + 1, beyond), {}, rf"b must hold integers in \[0, {high - 1}\]"
    yield (one, one), {"out": np.full((4, 4), np.nan, np.float32), "accumulate": True}, "out holds NaN"
    yield (one, one), {"out": np.full((4, 4), -np.inf, np.float32), "accumulate": True}, "out holds -inf"
    negative = np.where(np.eye(4) == 1, -1, 1)[::-1].astype(np.int32)
    yield (np.ones((4, 4), np.int32),) * 2, {"out": negative, "accumulate": True}, "out must hold integers"
    yield (one, one), {"out": np.empty((4, 4), ">f4")}, r"out is \(4, 4\) of >f4"
    for strides in ((0, 4), (4, 0), (0, 0), (4, 4), (12, 4), (-8, 4), (2, 16)):
        room = np.ones(64, np.float32)[32:]
        yield (one, one), {"out": np.lib.stride_tricks.as_strided(room, (4, 4), strides)}, "out overlaps itself"
    again = np.broadcast_to(np.ones((4, 4), np.float32), (2, 4, 4)).view()
    again.flags.writeable = True
    yield (np.stack([one, one]), one), {"out": again}, "out overlaps itself"
    yield (one, one), {"backend": "gpu"}, "unknown backend 'gpu'"
    yield (one.astype(complex), one.astype(complex)), {}, "complex128"
    yield (one.astype(object), one.astype(object)), {}, "object"
    yield (one > 0, one > 0), {}, "bool"
    yield (coo_array(one), one), {}, "a sparse matrix must be made dense"


@pytest.mark.parametrize("operands, options, message", list(bad_operands()))
def test_matmul_refuses(operands, options, message):
    with pytest.raises(ValueError, match=message):
        tropical.matmul(*operands, **{"backend": "cpu", **options})


@pytest.mark.parametrize("dtype", DTYPES)
def test_infinity_is_a_named_constant_of_every_type(dtype):
    constant = getattr(tropical, f"INFINITY_{dtype.upper()}")
    assert constant == {"float32": np.inf, "int32": 1073741823, "uint16": 32767}[dtype] and constant.dtype == dtype
    a = np.full((2, 2), constant, dtype)
    assert (tropical.matmul(a, a, backend="cpu") == constant).all()


@pytest.mark.parametrize("dtype", [">f4", ">i4", ">u2", "<f4"])
def test_arrays_of_either_byte_order(dtype):
    a = np.arange(16).reshape(4, 4).astype(dtype)
    native = a.astype(np.dtype(dtype).newbyteorder("="))
    for call in (tropical.matmul, tropical.solve):
        found = call(a, native, backend="cpu")
        assert found.dtype.isnative
        np.testing.assert_array_equal(found, product_rows(native, native, "min_plus"))
    closed = tropical.floyd_warshall(a, backend="cpu")
    np.testing.assert_array_equal(closed, tropical.closure(native, backend="cpu"))
    assert tropical.path(a, closed.astype(dtype), 0, 3).tolist() == [0, 3]


def test_constants_are_those_of_the_kernels():
    header = constants("tropical", "infinity.cuh")
    for dtype in ("int32", "uint16"):
        assert header[f"INFINITE_{dtype.upper()}"] == INFINITE[dtype]
        # Two infinities do not wrap.
        assert 2 * int(INFINITE[dtype]) < 2**31 if dtype == "int32" else 2 * int(INFINITE[dtype]) < 2**16


def test_what_a_solver_must_do_is_known_where_nothing_can_be_skipped():
    instance = tropical.instance({}, n=100, dtype="uint16")
    assert instance.full and instance.work == {"ops_uint16": 2e6}
    for place, entry in ((0, 0), (9_999, 0), (0, INFINITE["uint16"]), (9_999, INFINITE["uint16"])):
        for spoiled in (instance.a, instance.b):
            matrices = [x.copy() if x is spoiled else x for x in (instance.a, instance.b)]
            matrices[0 if spoiled is instance.a else 1].flat[place] = entry
            assert not Instance(*matrices).full
    negated = [mirrored(x.astype(np.int32), "max_plus") for x in (instance.a, instance.b)]
    assert Instance(*negated, "max_plus").full
    negated[1][99, 99] = -INFINITE["int32"]
    assert not Instance(*negated, "max_plus").full


def test_help_lists_the_variants_of_a_product_and_their_parameters():
    text = tropical.solve.__doc__
    assert "skip-both (cpu, cuda): " in text and "neutral: bool, default False: " in text
    assert "floyd-warshall" not in text


def test_solve_and_path_refuse():
    one = np.ones((4, 4), np.float32)
    with pytest.raises(ValueError, match=r"solve multiplies two matrices, not arrays \(2, 4, 4\)"):
        tropical.solve(np.ones((2, 4, 4), np.float32), one, backend="cpu")
    with pytest.raises(ValueError, match=r"unknown variant 'fats' \(there are: untiled"):
        tropical.solve(one, one, variant="fats")
    with pytest.raises(ValueError, match="fast has no parameter 'grain'"):
        tropical.solve(one, one, variant="fast", backend="cpu", grain="tile")
    with pytest.raises(ValueError, match=r"source must be the whole number of a vertex, not 1\.5"):
        tropical.path(one, one, 1.5, 2)
    with pytest.raises(ValueError, match=r"target -1 is not in"):
        tropical.path(one, one, 0, -1)


def test_ends_of_a_path_are_whatever_counts_as_whole_numbers():
    class Vertex:
        def __init__(self, number):
            self.number = number

        def __index__(self):
            return self.number

    a = np.array([[0, 1, 5], [9, 0, 1], [9, 9, 0]], np.int32)
    closed = tropical.floyd_warshall(a, backend="cpu")
    assert tropical.path(a, closed, Vertex(0), Vertex(2)).tolist() == [0, 1, 2]
    assert tropical.path(a, closed, Vertex(1), Vertex(1)).tolist() == [1]


@pytest.mark.skipif(unusable() is None, reason="a GPU can be used here")
def test_a_backend_that_is_not_there_is_unavailable():
    one = np.ones((4, 4), np.float32)
    device_array = SimpleNamespace(
        __cuda_array_interface__={"shape": (4, 4), "typestr": "<f4", "data": (512, False), "version": 3}
    )
    calls = (
        lambda: tropical.matmul(one, one, backend="cuda"),
        lambda: tropical.matmul(device_array, device_array),
        lambda: tropical.solve(one, one, backend="cuda"),
        lambda: tropical.closure(one, backend="cuda"),
        lambda: tropical.floyd_warshall(one, backend="cuda"),
    )
    for call in calls:
        with pytest.raises(Unavailable, match=re.escape(unusable())):
            call()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("error")
def test_a_finite_sum_that_reaches_infinity_is_reported(dtype):
    infinite = INFINITE[dtype]
    high = np.float32(3e38) if dtype == "float32" else infinite - 1
    a, b = np.full((4, 5), high, dtype), np.full((5, 3), high, dtype)
    a[:, 3] = b[3] = 0
    np.testing.assert_array_equal(tropical.matmul(a, b, backend="cpu"), np.zeros((4, 3), dtype))
    a[:, 3] = infinite
    for call in (tropical.matmul, tropical.solve, partial(tropical.solve, variant="numpy")):
        with pytest.raises(SumOverflow, match="a finite sum reaches"):
            call(a, b, backend="cpu")
    b[:] = infinite
    assert (tropical.matmul(a, b, backend="cpu") == infinite).all()
    path = np.full((3, 3), infinite, dtype)
    path[0, 1] = path[1, 2] = high
    for call in (tropical.closure, tropical.floyd_warshall):
        with pytest.raises(SumOverflow, match="a finite sum reaches") as caught:
            call(path, backend="cpu")
    # As a pool hands it on.
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is SumOverflow and str(again) == str(caught.value)


HEAVY = {"uint16": 2**14, "int32": 2**29, "float32": 3e38}


@pytest.mark.parametrize(
    ("dtype", "semiring"),
    [*((dtype, "min_plus") for dtype in DTYPES), ("int32", "max_plus"), ("float32", "max_plus")],
)
def test_an_instance_of_a_graph_loses_no_sum(dtype, semiring):
    weight = HEAVY[dtype]
    weights = np.full(2, weight, np.float32 if dtype == "float32" else np.uint32)

    def made(targets, weights):
        graph = Graph.from_arcs(3, [0, 1], targets, weights).with_metadata(name="heavy")
        return tropical.instance({"graph": graph}, n=3, dtype=dtype, semiring=semiring, order="file")

    with np.errstate(over="ignore"), pytest.raises(Unavailable, match=f"^heavy: a finite sum reaches .* in {dtype}: "):
        made([1, 2], weights)
    # Of two arcs that meet nowhere, or lead back, every entry has a sum that fits.
    for targets, fitting in (([2, 2], weights), ([1, 0], weights), ([1, 2], weights / 4)):
        assert made(targets, fitting.astype(weights.dtype)).a.shape == (3, 3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_are_looked_at_in_every_part_of_a_matrix(dtype, monkeypatch):
    """As entry by entry, in strips and columns of all sizes."""
    monkeypatch.setattr("saitan.tropical.operands._STRIP", 3)
    monkeypatch.setattr("saitan.tropical.operands._COLUMNS", 2)
    rng, infinite, found = np.random.default_rng(8), INFINITE[dtype], set()
    high = 3.4e38 if dtype == "float32" else float(infinite)
    for _ in range(300):
        m, k, n = rng.integers(0, 9, 3)
        a, b = ((rng.random(shape) * high * rng.choice([0.4, 0.55, 0.99])).astype(dtype) for shape in ((m, k), (k, n)))
        for matrix in (a, b):
            matrix[rng.random(matrix.shape) < rng.choice([0.3, 0.9])] = infinite
        c = product_rows(a, b, "min_plus")
        sums = ((a != infinite).astype(int) @ (b != infinite).astype(int)) > 0
        lost = bool(((c == infinite) & sums).any())
        found.add(lost)
        with pytest.raises(SumOverflow) if lost else nullcontext():
            checked_sums(c, a, b, "min_plus")
    assert found == {True, False}


def sums_at_infinity_are_reported(dtype, backend):
    infinite = INFINITE[dtype]
    # The largest float32 is the last to be finite; adding half a unit of its last place rounds to infinity.
    half = np.float32(2.0**103)
    high, low, one = (
        (np.finfo(np.float32).max - half * 2, half * 2, half) if dtype == "float32" else (infinite - 8, 7, 1)
    )
    last = np.array([[high]], dtype)
    for call in (tropical.matmul, tropical.solve):
        below = call(last, np.array([[low]], dtype), backend=backend)
        assert below[0, 0] == (np.finfo(np.float32).max if dtype == "float32" else infinite - 1)
        with np.errstate(over="ignore"), pytest.raises(SumOverflow):
            call(last, np.array([[low + one]], dtype), backend=backend)
        assert call(last, np.array([[infinite]], dtype), backend=backend)[0, 0] == infinite
    path = np.full((3, 3), infinite, dtype)
    path[0, 1], path[1, 2] = high, low
    for call in (tropical.closure, tropical.floyd_warshall):
        assert call(path, backend=backend)[0, 2] < infinite
    path[1, 2] += one
    for call in (tropical.closure, tropical.floyd_warshall):
        with np.errstate(over="ignore"), pytest.raises(SumOverflow):
            call(path, backend=backend)


def test_a_sum_that_reaches_minus_infinity_is_reported():
    low = np.full((2, 2), -3e38, np.float32)
    for call in (tropical.matmul, tropical.solve):
        with np.errstate(over="ignore"), pytest.raises(SumOverflow):
            call(low, low, backend="cpu")


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_sum_one_below_infinity_is_finite_and_one_at_infinity_reported(dtype):
    sums_at_infinity_are_reported(dtype, "cpu")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("few", [1, 3, 4, 8])
def test_every_term_of_a_group_of_eight_counts(few, dtype):
    """The least term of a sum in each place of a group, in the last group too, whole and cut."""
    for k in (8, 11, 64, 77):
        for term in range(k):
            a = np.full((2, k), INFINITE[dtype])
            b = np.full((k, 3), INFINITE[dtype])
            others = [(term // 8 * 8 + (term + step) % 8) for step in range(few)]
            finite = [other for other in others if other < k]
            a[:, finite], b[finite] = 50, 60
            a[:, term], b[term] = 1, np.array([2, 3, 4])
            found = tropical.matmul(a, b, backend="cpu")
            np.testing.assert_array_equal(found, np.tile(np.array([3, 4, 5], dtype), (2, 1)), err_msg=f"{term} of {k}")


def test_a_masked_out_is_refused():
    one = np.ones((2, 2), np.float32)
    with pytest.raises(ValueError, match=r"^entries of out are masked: give its data$"):
        tropical.matmul(one, one, out=np.ma.masked_array(one, one > 0), accumulate=True, backend="cpu")
