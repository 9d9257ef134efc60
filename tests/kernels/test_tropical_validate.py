"""Every check of a product: right answers pass, and the least that can be wrong is refused and named."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saitan import tropical
from saitan.blocks import Block, joined
from saitan.problem import Invalid
from saitan.tropical import validate
from saitan.tropical.cpu_validate import Check, plain_product
from saitan.tropical.instances import Instance
from saitan.tropical.semiring import INFINITE, infinity, mirrored
from saitan.tropical.validate import outside, product_rows

DTYPES = ("float32", "int32", "uint16")
PRODUCTS = ("untiled", "tiled", "skip-infinity", "skip-both", "fast", "dense", "numpy")
# Mostly no multiples of 8, 32, 64 or 128; the largest has more rows than are compared at a time.
SIZES = (1, 31, 64, 65, 129, 300)


@st.composite
def instances(draw, sizes=SIZES):
    """Random entries from none to nearly the largest, a third of them infinite, zeros among them."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    semiring = draw(st.sampled_from(("min_plus", "max_plus"))) if dtype != np.uint16 else "min_plus"
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, k, n = (draw(st.sampled_from(sizes)) for _ in range(3))

    def matrix(rows, columns):
        # Sums of two stay finite.
        high = 1e30 if dtype == np.float32 else int(INFINITE[dtype.name]) // 2
        out = (rng.random((rows, columns)) * high).astype(dtype)
        out[rng.random(out.shape) < 0.1] = 0
        out[rng.random(out.shape) < 0.3] = INFINITE[dtype.name]
        return mirrored(out, semiring)

    return Instance(matrix(m, k), matrix(k, n), semiring)


@st.composite
def spoilings(draw):
    """Where one entry is spoiled (a share of the rows and columns), and how."""
    share = st.sampled_from((0.0, 0.3, 0.7, 1.0))
    return draw(share), draw(share), draw(st.sampled_from(("up", "down", "infinity", "zero", "random")))


def spoil(c, spoiling, infinite, up=0.0, down=0.0):
    """Change one entry of c in place, and say which: by the least that is wrong, or to or from infinity.

    up, down: the shares by which an entry may be off, of non-negative entries.
    """
    row, column = (round(share * (size - 1)) for share, size in zip(spoiling[:2], c.shape, strict=True))
    right, how = c[row, column], spoiling[2]
    if right == infinite:
        wrong = c.dtype.type(0) if how == "zero" else np.nextafter(right, 0) if c.dtype.kind == "f" else right - 1
    elif how == "infinity":
        wrong = infinite
    elif c.dtype.kind == "f":
        edge, beyond = np.float64(right) * (1 + up if how == "up" else 1 - down), 3e38 if how == "up" else -3e38
        wrong = np.float32(edge)
        # To the next float32 outside, from wherever rounding the edge has led.
        while not (wrong > edge if how == "up" else wrong < edge):
            wrong = np.nextafter(wrong, np.float32(beyond))
    else:
        wrong = right + 1 if how == "up" or right == 0 else right - 1
    c[row, column] = wrong
    return row, column


def reference_rows(solver, query=0):
    reference = tropical.reference(solver.instance, query)
    return reference, joined(solver.blocks(reference.rows))


@settings(max_examples=60)
@given(instances(), st.sampled_from(PRODUCTS), spoilings())
def test_a_spoiled_product_is_refused(instance, variant, spoiling):
    solver = tropical.prepare(instance, variant, "cpu")
    solver.run(0)
    assert solver.validate().whole and "every entry" in solver.validate().says
    c = solver._c if variant == "numpy" else solver.c
    semiring = instance.semiring if variant == "numpy" else "min_plus"
    assert tropical.differs(*reference_rows(solver)) is None
    row, column = spoil(c, spoiling, infinity(c.dtype, semiring))
    place = re.escape(f"row {row}, column {column}: ")
    with pytest.raises(Invalid, match=place + rf".*\(1 of {min(256, len(c) - row // 256 * 256) * c.shape[1]:,} entr"):
        solver.validate()
    if variant != "numpy":
        assert re.match(place, tropical.differs(*reference_rows(solver)))


def test_a_block_left_out_is_refused():
    instance = tropical.instance({}, n=40)
    check = Check(instance)
    c = product_rows(instance.a, instance.b, "min_plus")
    check([Block("c", 0, c[:30]), Block("c", 30, c[30:])])
    with pytest.raises(Invalid, match=r"^\(41, 40\) entries where \(40, 40\) are right$"):
        check([Block("c", 0, np.vstack([c, c[:1]]))])
    with pytest.raises(Invalid, match="39 rows where 40 are right"):
        check([Block("c", 0, c[:39])])
    with pytest.raises(Invalid, match="row 30 follows row 28"):
        check([Block("c", 0, c[:29]), Block("c", 30, c[30:])])
    with pytest.raises(Invalid, match="row 20 follows row 29"):
        check([Block("c", 0, c[:30]), Block("c", 20, c[20:])])
    with pytest.raises(Invalid, match=r"^rows of c have the shape \(40, 39\): \(any, 40\) is right$"):
        check([Block("c", 0, c[:, :39])])


@pytest.mark.parametrize("row", [0, 255, 256, 257, 511, 512, 599])
def test_every_row_of_many_is_compared(row):
    instance = tropical.instance({}, n=600, dtype="uint16")
    check = Check(instance)
    c = check.expected.copy()
    assert check([Block("c", 0, c)]).whole
    c[row, 599] -= 1
    with pytest.raises(Invalid, match=f"row {row}, column 599: "):
        check([Block("c", 0, c)])


@settings(max_examples=30)
@given(instances())
def test_the_plain_product_is_numpys(instance):
    a, b = (mirrored(x, instance.semiring) for x in (instance.a, instance.b))
    np.testing.assert_array_equal(plain_product(a, b), product_rows(a, b, "min_plus"))


@pytest.mark.parametrize("shape", [(2, 1025, 3), (1025, 2, 3), (2, 3, 1025)])
def test_the_plain_product_takes_every_row_term_and_column(shape):
    m, k, n = shape
    # The least of every sum lies at the last term.
    a, b = np.zeros((m, k), np.int32), np.arange(k, 0, -1, dtype=np.int32)[:, None] + np.zeros(n, np.int32)
    assert (plain_product(a, b) == 1).all()


def test_what_lies_outside_and_what_inside():
    right = np.float32([1, 1, 0, 0, np.inf, 8, 8, -8, -8, np.inf, 3])
    found = np.float32(
        [1, np.nextafter(np.float32(1), np.float32(2)), -0.0, 1e-45, np.inf, np.inf, np.nan, -8, 8, 3e38, 4]
    )
    expected = [False, True, False, True, False, True, True, False, True, True, True]
    assert outside(found, right).tolist() == expected
    # A share of 2^-20 above and 2^-21 below: in, in, out, out.
    found = np.float32([1 + 2.0**-20, 1 - 2.0**-21, 1 + 2.0**-20 + 2.0**-23, 1 - 2.0**-21 - 2.0**-24])
    for sign in (1, -1):
        assert outside(sign * found, sign * np.ones(4, np.float32), 2.0**-21, 2.0**-20).tolist() == [
            False,
            False,
            True,
            True,
        ]
    assert outside(np.float32([np.inf, 3e38, np.nan, 1e-45, -1]), np.float32([3e38, np.inf, 1, 0, 1]), 0.5, 0.5).all()
    assert not outside(np.float32([np.inf, 0, -0.0]), np.float32([np.inf, 0, 0]), 0.5, 0.5).any()


def test_a_reference_of_few_rows_sees_each_of_them(monkeypatch):
    monkeypatch.setattr(validate, "ROW_PAIRS", 50 * 50 * 4)
    solver = tropical.prepare(tropical.instance({}, n=50, dtype="int32"), "fast", "cpu")
    solver.run(0)
    reference, answer = reference_rows(solver, query=7)
    assert len(reference.rows) == 4 and (np.diff(reference.rows) > 0).all()
    assert tropical.differs(reference, answer) is None
    for row in reference.rows:
        for column, change in ((0, 1), (49, 1), (49, -1)):
            spoiled = solver.c.copy()
            spoiled[row, column] += change
            assert f"row {row}, column {column}: " in tropical.differs(reference, {"c": spoiled[reference.rows]})
    drawn = {tuple(tropical.reference(solver.instance, seed).rows) for seed in range(5)}
    assert len(drawn) > 1


@settings(max_examples=20)
@given(instances(), st.integers(1, 400))
def test_rows_by_numpy_are_the_same_however_many_terms_are_taken_at_a_time(instance, size):
    expected = product_rows(instance.a, instance.b, instance.semiring)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validate, "BLOCK", size)
        np.testing.assert_array_equal(product_rows(instance.a, instance.b, instance.semiring), expected)


def test_a_reference_of_all_rows_where_that_is_cheap():
    assert len(tropical.reference(tropical.instance({}, n=40), 0).rows) == 40
    # A row at least, even of the largest.
    assert len(validate.drawn_rows(Instance(np.empty((3, 2**14)), np.empty((2**14, 2**14))), 0)) == 1


def test_a_check_is_made_once_and_given_back_at_the_end(monkeypatch):
    made = []
    solver = tropical.prepare(tropical.instance({}, n=20, dtype="int32"), "fast", "cpu")
    make = solver.make_check
    monkeypatch.setattr(solver, "make_check", lambda: made.append(1) or make())
    solver.run(0)
    for _ in range(3):
        assert solver.validate().whole
    assert made == [1]
    solver.close()
    assert solver._check is None
