import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numba import njit, prange
from numba.core.errors import TypingError

from saitan.atomics import atomic_add, atomic_exchange, atomic_min, atomic_or


@njit(cache=True)
def one_min(array, index, value):
    return atomic_min(array, index, value)


@njit(cache=True)
def one_add(array, index, value):
    return atomic_add(array, index, value)


@njit(cache=True)
def one_exchange(array, index, value):
    return atomic_exchange(array, index, value)


@njit(parallel=True, cache=True)
def all_min(array, indices, values):
    for i in prange(len(indices)):
        atomic_min(array, indices[i], values[i])


@njit(parallel=True, cache=True)
def all_add(array, indices, before):
    for i in prange(len(indices)):
        before[i] = atomic_add(array, indices[i], 1)


@njit(parallel=True, cache=True)
def all_exchange(array, tokens, before):
    for i in prange(len(tokens)):
        before[i] = atomic_exchange(array, 0, tokens[i])


@njit(parallel=True, cache=True)
def all_or(array, bits, before):
    for i in prange(len(bits)):
        before[i] = atomic_or(array, 1, bits[i])


LIMITS = {"uint32": 2**32 - 1, "uint64": 2**64 - 1}
VALUES = {
    "uint32": st.integers(0, LIMITS["uint32"]),
    "uint64": st.integers(0, LIMITS["uint64"]),
    "float32": st.floats(0, width=32, allow_nan=False).map(abs),
    "float64": st.floats(0, allow_nan=False).map(abs),
}


@pytest.mark.parametrize("dtype", VALUES)
@given(data=st.data())
def test_the_least_stays_and_what_stood_there_comes_back(dtype, data):
    old, new = (np.dtype(dtype).type(data.draw(VALUES[dtype])) for _ in range(2))
    array = np.array([7, old, 7], dtype)
    assert one_min(array, 1, new) == old
    assert array.tolist() == [7, min(old, new), 7]


@pytest.mark.parametrize("dtype", VALUES)
def test_the_extremes_keep_their_order(dtype):
    top = LIMITS.get(dtype, np.inf)
    array = np.array([top], dtype)
    for value in (top, top if dtype in LIMITS else np.finfo(dtype).max, 1, 0):
        assert one_min(array, 0, np.dtype(dtype).type(value)) >= array[0]
    assert array[0] == 0


@pytest.mark.parametrize("dtype", VALUES)
def test_many_threads_leave_the_least_of_each_place(dtype):
    random = np.random.default_rng(1)
    indices = random.integers(0, 5, 50_000)
    values = random.integers(10, 2**31, len(indices)).astype(dtype)
    array = np.full(5, LIMITS.get(dtype, np.inf), dtype)
    all_min(array, indices, values)
    assert array.tolist() == [values[indices == i].min() for i in range(5)]


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64"])
def test_many_threads_count_without_losing_one(dtype):
    indices = np.random.default_rng(2).integers(0, 3, 50_000)
    array, before = np.zeros(3, dtype), np.empty(len(indices), np.int64)
    all_add(array, indices, before)
    assert array.tolist() == np.bincount(indices).tolist()
    # Nobody saw a count twice: places in a list are handed out once.
    for place in range(3):
        assert np.array_equal(np.sort(before[indices == place]), np.arange(array[place]))


@given(hnp.arrays(np.int64, 3, elements=st.integers(-(2**40), 2**40)), st.integers(0, 2), st.integers(-(2**40), 2**40))
def test_add_returns_what_stood_there(array, index, value):
    wanted = array.copy()
    wanted[index] += value
    assert one_add(array.copy(), index, value) == array[index]
    one_add(array, index, value)
    assert np.array_equal(array, wanted)


def test_exchange_hands_every_token_on_once():
    tokens = np.arange(1, 20_001, dtype=np.int32)
    array, before = np.zeros(1, np.int32), np.empty_like(tokens)
    all_exchange(array, tokens, before)
    assert sorted([*before.tolist(), int(array[0])]) == list(range(20_001))
    assert one_exchange(array, 0, np.int32(-5)) == np.setdiff1d(np.arange(20_001), before)[0] and array[0] == -5


@pytest.mark.parametrize(
    ("function", "array", "index", "value"),
    [
        (one_min, np.zeros((2, 2), np.uint32), 0, np.uint32(1)),
        (one_min, np.zeros(2, np.uint32), 0.5, np.uint32(1)),
        (one_add, np.zeros(2, np.int32), 0, 1.5),
        (one_exchange, np.zeros((2, 2), np.int32), 0, 1),
    ],
)
def test_what_an_atomic_cannot_do_is_a_typing_error(function, array, index, value):
    with pytest.raises(TypingError, match="is expected"):
        function(array, index, value)


def test_there_is_more_than_one_thread_to_race_with():
    if numba.config.NUMBA_NUM_THREADS == 1:
        pytest.skip("one core: the parallel tests above run without a race")
    assert numba.get_num_threads() > 1


def test_every_bit_is_set_and_exactly_one_caller_sets_it():
    bits = np.repeat(np.uint32(1) << np.arange(32, dtype=np.uint32), 200)
    array, before = np.array([5, 1 << 31, 5], np.uint32), np.empty(len(bits), np.uint32)
    all_or(array, bits, before)
    assert array.tolist() == [5, 2**32 - 1, 5]
    fresh = bits[(before & bits) == 0]
    assert sorted(fresh.tolist()) == [1 << b for b in range(31)]
