"""The check of a closure: right answers pass, and the least that can be wrong is refused and named."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_apsp_dense import DENSE, DTYPES, closing
from test_tropical_validate import SIZES, spoil, spoilings

from saitan import apsp
from saitan.apsp import dense
from saitan.apsp.closure_check import HostCheck, bounds, squared
from saitan.apsp.rounding import UNIT, closing_additions, rounded
from saitan.blocks import joined
from saitan.problem import Invalid
from saitan.tropical.cpu_validate import plain_product
from saitan.tropical.semiring import INFINITE, infinity


@st.composite
def matrices(draw, sizes=SIZES):
    """Random entries from none to nearly the largest, a third of them infinite, zeros among them; paths stay finite."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.sampled_from(sizes))
    high = 1e30 if dtype == np.float32 else int(INFINITE[dtype.name]) // 300
    out = (rng.random((n, n)) * high).astype(dtype)
    out[rng.random(out.shape) < 0.1] = 0
    out[rng.random(out.shape) < 0.3] = INFINITE[dtype.name]
    return out


def run(solver):
    solver.run([0, solver.instance.n])
    return solver


def reference_rows(solver):
    reference = apsp.reference(solver.instance, [0, solver.instance.n])
    return reference, joined(solver.blocks(reference.rows))


@settings(max_examples=60)
@given(matrices(), st.sampled_from(DENSE), spoilings())
def test_a_spoiled_closure_is_refused(matrix, variant, spoiling):
    solver = run(closing(variant, matrix=matrix))
    assert solver.validate().whole
    assert apsp.differs(*reference_rows(solver)) is None
    check = solver._check
    # From the expected entry, which the answer's own may be off by a little.
    solver.c[:] = check.expected
    solver.validate()
    row, column = spoil(solver.c, spoiling, infinity(matrix.dtype), check.above, check.below)
    with pytest.raises(Invalid, match=f"row {row}, column {column}: "):
        solver.validate()


@pytest.mark.parametrize("variant", ["closure", "floyd-warshall-blocked"])
def test_a_closure_with_rows_of_zeros_is_refused(variant):
    solver = run(closing(variant, n=300))
    solver.validate()
    solver.c[1:-1] = 0
    with pytest.raises(Invalid, match=r"row 1, column 0: 0\.0 where"):
        solver.validate()


@pytest.mark.parametrize("additions", [1, 7, 1000, 100_000])
def test_rounded_additions_stay_within_the_bound_and_nearly_reach_it(additions):
    # Every addition of a little less than half a unit in the last place to 1 is lost.
    little = np.nextafter(np.float32(UNIT), np.float32(0))
    total = np.float32(1)
    for _ in range(min(additions, 1000)):
        total += little
    exact = 1 + min(additions, 1000) * float(little)
    assert total == 1 and abs(exact - 1) <= rounded(min(additions, 1000)) * exact
    assert additions * UNIT <= rounded(additions) <= 1.01 * additions * UNIT


def test_bounds_of_a_closure():
    assert bounds(500, np.dtype(np.int32), 9) == bounds(500, np.dtype(np.uint16), 9) == (0.0, 0.0)
    # 6 squarings: paths of at most 32 arcs; the longest order is that of Floyd-Warshall on 8 blocks of 64.
    below, above = bounds(500, np.dtype(np.float32), 6)
    assert above == rounded(32 + 6) and below == rounded(500 + 32 + 10)
    assert bounds(5, np.dtype(np.float32), 6)[1] == rounded(5 + 6)
    assert closing_additions(64) == 68 and closing_additions(65) == 73


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "squarings"), [(2, 1), (3, 2), (5, 3), (6, 4), (9, 4), (10, 5)])
def test_a_check_allows_what_its_own_squarings_bring(dtype, n, squarings):
    path = np.full((n, n), INFINITE[dtype])
    path[np.arange(n - 1), np.arange(1, n)] = 1
    check = HostCheck(path)
    assert (check.below, check.above) == bounds(n, np.dtype(dtype), squarings)


def test_squaring_goes_on_where_floats_hardly_change():
    a = np.full((3, 3), np.inf, np.float32)
    # The way round is shorter by the least possible amount.
    a[0, 2], a[0, 1], a[1, 2] = 1, 0.5, 0.5 - UNIT
    check = HostCheck(a)
    assert check.expected[0, 2] == a[0, 1] + a[1, 2] < 1
    closed, squarings = squared(check.expected, lambda c: plain_product(c, c), np.array_equal)
    assert squarings == 1 and np.array_equal(closed, check.expected)


def test_squaring_ends_when_nothing_changes():
    path = np.full((100, 100), INFINITE["int32"])
    np.fill_diagonal(path, 0)
    path[np.arange(99), np.arange(1, 100)] = 1
    closed, squarings = squared(path, lambda c: plain_product(c, c), np.array_equal)
    # 2^7 arcs are enough for 99, and one squaring sees that.
    assert squarings == 8
    np.testing.assert_array_equal(closed[0], np.arange(100))
    assert (closed[50, :50] == INFINITE["int32"]).all()


def test_a_reference_of_few_rows_sees_each_of_them(monkeypatch):
    solver = run(closing("closure", n=50, dtype="int32", infinite=0.5))
    assert dense.drawn_rows(50, 50).tolist() == [0, 7, 14, 21, 28, 35, 42, 49]
    monkeypatch.setattr(dense, "ROW_PAIRS", dense.PASSES * 50 * 50 * 4)
    reference, answer = reference_rows(solver)
    assert reference.rows.tolist() == [0, 16, 32, 49] and reference.by == "NumPy"
    assert apsp.differs(reference, answer) is None
    for place, row in enumerate(reference.rows):
        for column, change in ((0, 1), (49, 1), (49, -1)):
            spoiled = answer["distances"].copy()
            spoiled[place, column] += change
            assert f"first in row {row} at vertex {column}: " in apsp.differs(reference, {"distances": spoiled})
    # A row at least, even of the largest.
    assert dense.drawn_rows(2**15, 2**15).tolist() == [0]


def test_a_reference_of_floats_allows_what_rounding_does():
    solver = run(closing("floyd-warshall-blocked", n=100, infinite=0.9))
    reference, answer = reference_rows(solver)
    allowed = rounded(100 + 8 + 100)
    assert reference.arrays["relative"] == [allowed]
    for factor, same in ((0.5, True), (2.0, False)):
        near = answer["distances"].copy()
        near[-1, 3] *= np.float32(1 + factor * allowed)
        assert (apsp.differs(reference, {"distances": near}) is None) == same
