"""The format of `fast` on the CPU: round trips, random access, what streams cost and that they stay what they are."""

import hashlib
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from test_compression import SPECIAL, bound_holds, mixed, round_trip

from saitan import compression
from saitan.compression.cpu_fast import parts
from saitan.compression.data import TYPES, make
from saitan.compression.format import CHUNK, HEAD, StreamError
from saitan.compression.shorten import shortened
from saitan.problem import Unavailable

LENGTHS = (0, 1, 2, 3, 63, 64, 65, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 65)


def runs(count: int, rng) -> np.ndarray:
    """Doubles in runs of 32, each of one sort: zeros of one sign or both, one sign, both, ranges narrow and wide."""
    sorts = [
        lambda: np.full(32, rng.choice([0.0, -0.0])),
        lambda: rng.choice([0.0, -0.0], 32),
        lambda: rng.choice([-1, 1]) * (3 + np.cumsum(rng.normal(size=32)) / 100),
        lambda: rng.choice([-1, 1]) * np.full(32, 2.0 ** rng.integers(-40, 40)),
        lambda: rng.choice([-1.0, 1.0], 32) * 2.0 ** rng.integers(-1000, 1000),
        lambda: rng.choice([-1, 1]) * 2.0 ** rng.integers(-1074, 1000, 32),
        lambda: rng.choice([0.0, 1.25], 32) * rng.choice([-1, 1]),
        lambda: rng.choice([0.0, np.nan, 1e-300, -np.inf, 7.0], 32),
        lambda: rng.integers(0, 2**52, 32, dtype=np.uint64).view(np.float64),
    ]
    some = sorts if rng.integers(2) else sorts[2:4]
    return np.concatenate([some[rng.integers(len(some))]() for _ in range(-(-count // 32))])[:count]


def some(dtype: str, count: int, seed: int) -> np.ndarray:
    """Values of a type, chunks of one kind beside chunks of another."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        out = mixed(-(-count * dtype.itemsize // 8), seed).view(dtype)[:count].copy()
        with np.errstate(over="ignore"):
            for low in range(0, count, CHUNK // 2):
                if rng.integers(2):
                    part = out[low : low + CHUNK // 2]
                    part[:] = runs(part.size, rng).astype(dtype)
        return out
    out = np.empty(count, dtype)
    info = np.iinfo(dtype)
    for low in range(0, count, CHUNK // 2):
        part = out[low : low + CHUNK // 2]
        match rng.integers(6):
            case 0:
                part[:] = rng.integers(info.min, info.max, part.size, dtype=dtype, endpoint=True)
            case 1:
                part[:] = info.max
            case 2:
                part[:] = np.cumsum(rng.integers(0, 9, part.size)).astype(dtype)
            case 3:
                part[:] = rng.integers(0, 100, part.size)
            case 4:
                part[:] = np.array([info.min, info.max, 0, 1], dtype)[rng.integers(0, 4, part.size)]
            case 5:
                part[:] = info.max - rng.integers(0, 3, part.size).astype(dtype)
    return out


def bits(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.itemsize}")


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and np.array_equal(bits(a), bits(b))


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_and_length_comes_back(dtype):
    for length in LENGTHS:
        for seed in range(3):
            a = some(dtype, length, seed)
            stream = compression.compress(a)
            assert same(compression.decompress(stream), a)
            # 16 bytes a chunk, of the table 2.25 and some to fill it up.
            assert len(stream) <= HEAD + 22 + a.nbytes + 19 * -(-length // CHUNK)


@given(
    st.sampled_from(TYPES).flatmap(
        lambda name: arrays(
            f"u{np.dtype(name).itemsize}",
            st.integers(0, 200),
            elements=st.integers(0, 2 ** (8 * np.dtype(name).itemsize) - 1),
        ).map(lambda a: a.view(name))
    )
)
def test_any_bits_come_back(a):
    assert same(compression.decompress(compression.compress(a).tobytes()), a)


@given(arrays(np.uint64, st.integers(0, 200), elements=st.integers(0, 2**64 - 1)), st.integers(0, 52))
def test_lossy_values_are_the_rounded_ones(a, kept):
    a = a.view(np.float64)
    values = compression.decompress(compression.compress(a, keep_bits=kept))
    assert same(values, shortened(a, kept)) and bound_holds(a, values, kept)


@pytest.mark.parametrize("kept", [23, 22, 9, 0])
def test_lossy_floats_and_special_values(kept):
    a = np.concatenate([some("float32", 5 * CHUNK + 7, 3), np.array([3e38, -0.0, np.nan, 1e-40, np.inf], np.float32)])
    values = compression.decompress(compression.compress(a, keep_bits=kept))
    assert same(values, shortened(a, kept))
    assert same(compression.decompress(compression.compress(SPECIAL, kept)), shortened(SPECIAL, kept))


@pytest.mark.parametrize("dtype", TYPES)
def test_a_round_trip_is_measured_and_checked(dtype):
    kept = {"keep_bits": 20} if np.dtype(dtype).kind == "f" else {}
    _, values, counters = round_trip(some(dtype, 3 * CHUNK + 9, 1), "fast", "cpu", **kept)
    assert counters["ratio"] > 0.9 and values.dtype == dtype


def within(a: np.ndarray, values: np.ndarray, bound: float) -> bool:
    """Every finite value but -0 within the bound, exactly counted, all others to the bit."""
    exact = ~np.isfinite(a) | ((a == 0) & np.signbit(a))
    off = np.abs(values[~exact].astype(np.longdouble) - a[~exact])
    return same(a[exact], values[exact]) and bool((off <= bound).all())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_absolute_bound_holds_for_every_value(dtype):
    for length in LENGTHS:
        for bound in (1e-3, 0.7, 1e-30, 1e6, 5e-324):
            a = some(dtype, length, length + 1)
            values = compression.decompress(compression.compress(a, bound=bound))
            assert values.dtype == a.dtype and within(a, values, bound)
    assert within(SPECIAL, compression.decompress(compression.compress(SPECIAL, bound=0.1)), 0.1)


@given(
    arrays(np.uint64, st.integers(0, 200), elements=st.integers(0, 2**64 - 1)),
    st.floats(5e-324, 1e308, allow_subnormal=True),
)
def test_any_bits_keep_an_absolute_bound(a, bound):
    a = a.view(np.float64)
    assert within(a, compression.decompress(compression.compress(a, bound=bound)), bound)


def test_halfway_values_and_neighbours_of_the_bound():
    """Multiples of the bound and the numbers next to them: odd ones lie in the middle of two levels."""
    for bound in (0.5, 0.1, 1e-7, 3e5):
        a = bound * np.arange(-3000.0, 3000.0)
        a = np.concatenate([a, np.nextafter(a, np.inf), np.nextafter(a, -np.inf)])
        stream = compression.compress(a, bound=bound)
        assert within(a, compression.decompress(stream), bound)
    # What is off by the bound itself is no stray.
    assert parts(compression.compress(np.arange(-600.0, 600.0) / 2, bound=0.5))[3][3] == 0


def ends_of_levels(dtype: str) -> list[np.ndarray]:
    """With a bound of 1/2: a level has 32 bits, what lies beyond is stored as it is."""
    ends = np.array([2.0**31 + x for x in (-1024, -128, -1.5, -1, -0.5, 0, 0.5, 1, 512)])
    return [np.repeat(a, 40).astype(dtype) for a in (ends, -ends, np.concatenate([ends, -ends, np.zeros(3)]))]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_levels_at_the_ends_of_their_type(dtype):
    for a in ends_of_levels(dtype):
        assert within(a, compression.decompress(compression.compress(a, bound=0.5)), 0.5)


def test_levels_cost_what_their_range_takes():
    rng = np.random.default_rng(4)
    count = 16 * CHUNK
    # Nine levels take 3.2 bits, and a chunk's head one eighth of a bit.
    nine = rng.integers(-4, 5, count) * 0.2
    assert 64 / 3.5 < nine.nbytes / len(compression.compress(nine, bound=0.1)) < 64 / 3.2
    # Stray values cost themselves and their place.
    stray = nine.copy()
    stray[::CHUNK] = np.nan
    assert len(compression.compress(stray, bound=0.1)) == len(compression.compress(nine, bound=0.1)) + 12 * 16


def alike(dtype: str, rows: int, width: int) -> np.ndarray:
    """Rows that differ by little from the row before."""
    rng = np.random.default_rng(width)
    first = rng.integers(0, 2**15, width)
    return (first + np.cumsum(rng.integers(0, 2, (rows, width)), axis=0)).astype(dtype)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint16"])
@pytest.mark.parametrize("width", [2, 7, 128, 255, 256, 1000, 2047])
def test_rows_alike_shrink_where_a_chunk_holds_several(dtype, width):
    """The difference to the row before is taken where the row fits."""
    a = alike(dtype, 6 * CHUNK // width + 3, width)
    stream = compression.compress(a)
    assert same(compression.decompress(stream), a.reshape(-1))
    if 2 < width < CHUNK // 2:
        assert len(stream) < 0.85 * len(compression.compress(a.reshape(-1)))


@pytest.mark.parametrize("dtype", ["int64", "uint32", "int16"])
@pytest.mark.parametrize(
    ("rows", "width"), [(32, CHUNK), (31, CHUNK), (71, CHUNK), (64, CHUNK + 1), (33, 2175), (3, 5000)]
)
def test_rows_longer_than_a_chunk_are_cut_in_tiles(dtype, rows, width):
    a = alike(dtype, rows, width)
    stream, flat = compression.compress(a), a.reshape(-1)
    assert same(compression.decompress(stream), flat)
    if rows >= 32:
        assert len(stream) < 0.6 * len(compression.compress(flat))
    # Ranges within a band, over two, in what lies below the tiles, and over all.
    rng = np.random.default_rng(rows)
    ends = np.sort(rng.integers(0, a.size + 1, (12, 2)), axis=1)
    for start, stop in [*ends, (0, 1), (a.size - 1, a.size), (32 * width - 1, 32 * width + 1), (5, 5)]:
        if stop <= a.size:
            assert same(compression.decompress(stream, start, stop), flat[start:stop])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_tiles_keep_a_bound_and_special_values(dtype):
    rng = np.random.default_rng(9)
    a = (rng.normal(size=2100) + np.cumsum(rng.normal(size=(40, 2100)), axis=0) / 50).astype(dtype)
    a[rng.integers(40, size=50), rng.integers(2100, size=50)] = np.nan
    values = compression.decompress(compression.compress(a, bound=0.01))
    assert within(a.reshape(-1), values, 0.01)
    # Streams without levels have no tiles.
    assert same(compression.decompress(compression.compress(a)), a.reshape(-1))


@pytest.mark.parametrize(
    ("dtype", "width"), [("int64", 40), ("uint64", 33), ("int32", 20), ("int32", 8), ("int16", 12), ("int8", 6)]
)
def test_integers_of_a_narrow_range_take_its_width(dtype, width):
    """Wherever the range lies: numbers of both signs, and sequences of steps."""
    rng = np.random.default_rng(width)
    info = np.iinfo(dtype)
    a = rng.integers(0, 2**width, 8 * CHUNK, dtype=np.uint64)
    offset = info.min if info.min else 2**62
    for low in (0 if info.min == 0 else -(2 ** (width - 1)), offset):
        b = (a.astype(object) + low).astype(dtype)
        stream = compression.compress(b)
        assert same(compression.decompress(stream), b)
        assert 8 * len(stream) / b.size < width + 0.4


def test_what_is_alike_shrinks():
    rng = np.random.default_rng(1)
    count = 16 * CHUNK
    table = 8 * 2 + 2 * 16
    assert len(compression.compress(np.full(count, -0.0))) == HEAD + table + 16 * 16
    # Nothing but zeros takes no words.
    for dtype, bound in (("float64", None), ("float32", None), ("float64", 0.1), ("int64", None), ("uint8", None)):
        assert len(compression.compress(np.zeros(count, dtype), bound=bound)) == HEAD + table
    # Random signs and one exponent: a sign and three mantissa bits, half a bit of heads.
    signs = rng.choice([-1.0, 1.0], count) * (1 + rng.integers(0, 8, count) / 8)
    assert signs.nbytes / len(compression.compress(signs)) > 64 / 4.7
    # Zeros among numbers of one exponent do not widen the others.
    signs[rng.random(count) < 0.5] = 0
    assert signs.nbytes / len(compression.compress(signs)) > 64 / 5.8
    steps = np.cumsum(rng.integers(0, 2, count)).astype(np.uint32) + np.uint32(10**9)
    assert steps.nbytes / len(compression.compress(steps)) > 32 / 2.8
    assert count * 4 / len(compression.compress(rng.integers(0, 16, count).astype(np.int32))) > 32 / 4.8
    # What stands for infinity is beside 0.
    unreached = rng.choice(np.array([0, 1, 2**32 - 1], np.uint32), count)
    assert unreached.nbytes / len(compression.compress(unreached)) > 32 / 2


def wide(first: int, second: int) -> np.ndarray:
    """64 floats of two groups whose symbols, a sign beside a magnitude from 1 up, have so many bits."""
    magnitudes = np.repeat([2 ** (first - 1) - 1, 2 ** (second - 1) - 1], 32).astype(np.uint64)
    magnitudes[::32] = 2**63 + 1
    return magnitudes.view(np.float64)


RAW, PACKED = 1, 2
# The heads of two groups take a word. A chunk is raw where packing does not make it shorter.
CLOSE = [(wide(63, 62), RAW, 2 + 128), (wide(63, 61), PACKED, 5 + 124), (wide(64, 61), RAW, 2 + 128)]


@pytest.mark.parametrize("case", range(len(CLOSE)))
def test_a_chunk_is_raw_where_packing_does_not_gain(case):
    values, mode, words = CLOSE[case]
    stream = compression.compress(values)
    chunk = parts(stream)[3]
    assert (chunk[0] & 3, len(chunk)) == (mode, words)
    assert same(compression.decompress(stream), values)


@pytest.mark.parametrize(("bits", "mode"), [(29, 4), (30, RAW)])
def test_levels_are_raw_where_coding_does_not_gain(bits, mode):
    """The front of a coded chunk has two words more: of 32 numbers, what two bits less a number save."""
    values = np.random.default_rng(bits).integers(0, 2**bits, 32, dtype=np.int32)
    values[[3, 7]] = 0, 2**bits - 1
    assert parts(compression.compress(values))[3][0] & 7 == mode


def test_a_chunk_of_strays_alone_is_not_one_of_zeros():
    a = np.concatenate([np.full(CHUNK, np.nan), np.full(CHUNK, -0.0), np.zeros(CHUNK)])
    assert same(compression.decompress(compression.compress(a, bound=0.1)), a)


def test_ranges_read_their_chunks_only():
    a = mixed(9 * CHUNK + 77, 8)
    a[-1] = 1.5
    stream = compression.compress(a)
    for start, stop in (
        (0, 0),
        (0, 1),
        (CHUNK - 1, CHUNK + 1),
        (3 * CHUNK, 4 * CHUNK),
        (a.size - 1, a.size),
        (5, None),
    ):
        assert same(compression.decompress(stream, start, stop), a[start:stop])
    damaged = stream.copy()
    damaged[-1] ^= 1
    assert same(compression.decompress(damaged, 0, 9 * CHUNK), a[: 9 * CHUNK])
    with pytest.raises(StreamError, match="chunk 9: its"):
        compression.decompress(damaged, 9 * CHUNK)
    for start, stop in ((-1, 3), (4, 3), (0, a.size + 1)):
        with pytest.raises(ValueError, match="are not in a stream"):
            compression.decompress(stream, start, stop)


def test_parts_of_complex_numbers_are_grouped_apart():
    """Real and imaginary parts of different magnitude: what they cost apart is what they cost alone."""
    rng = np.random.default_rng(6)
    real, imaginary = 1 + rng.random(8 * CHUNK) / 8, 2.0**90 * (1 + rng.random(8 * CHUNK) / 8)
    a = real + 1j * imaginary
    stream = compression.compress(a, 20)
    assert same(compression.decompress(stream), shortened(a.view(np.float64), 20))
    alone = len(compression.compress(real, 20)) + len(compression.compress(imaginary, 20))
    assert len(stream) < 1.1 * alone < 0.75 * len(compression.compress(a.view(np.float64), 20))
    for dtype in ("complex128", "complex64"):
        for length in (1, 31, 32, 33, CHUNK // 2, CHUNK // 2 + 1, 3 * CHUNK + 77):
            a = some(f"f{np.dtype(dtype).itemsize // 2}", 2 * length, length).view(dtype)
            assert same(compression.decompress(compression.compress(a)), a.view(a.real.dtype))


def test_one_sign_and_near_values_cost_their_distance():
    """No sign, and only the bits in which the values of a group differ."""
    rng = np.random.default_rng(3)
    for sign in (1, -1):
        near = sign * (3 + rng.integers(0, 16, 16 * CHUNK) / 2**20)
        assert near.nbytes / len(compression.compress(near)) > 64 / 4.7
    # Exponents whose last bit is 0 as well.
    powers = rng.choice([2.0, 8.0], CHUNK)
    assert same(compression.decompress(compression.compress(powers)), powers)
    smooth = np.sin(np.arange(16 * CHUNK) / 500)
    assert smooth.nbytes / len(compression.compress(smooth, 9)) > 8


def settled(dtype: str, count: int = 9 * CHUNK + 70) -> np.ndarray:
    """Values by arithmetic alone, so that they never change: runs of 32, each of another sort, chunks of few sorts."""
    place = np.arange(count, dtype=np.uint64)
    run, chunk = place // np.uint64(32), place // np.uint64(CHUNK)

    def hashed(x: np.ndarray, seed: int) -> np.ndarray:
        for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
            x = (x + np.uint64(seed)) * np.uint64(factor)
            x ^= x >> np.uint64(31)
        return x

    drawn, sort = hashed(place, 1), hashed(run, 2) % (np.uint64(1) + hashed(chunk, 3) % np.uint64(6))
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        bits, small = np.uint64(8 * dtype.itemsize - 2), drawn % np.uint64(5)
        sorts = (small, np.cumsum(small), (hashed(run, 4) >> np.uint64(64 - bits)) + small, drawn >> np.uint64(40))
        return np.select([sort == k for k in range(3)], sorts[:3], sorts[3] * (drawn & np.uint64(1))).astype(dtype)
    sign, power = 1.0 - 2.0 * (drawn & np.uint64(1)), (hashed(run, 5) % np.uint64(30)).astype(np.float64)
    near = 1 + (drawn % np.uint64(64)) / 2.0**20
    sorts = (near, near * 2.0**power, sign * near, 0 * sign, (drawn % np.uint64(3)) * sign * 2.0**power)
    found = np.select([sort == k for k in range(5)], sorts, drawn.view(np.int64) * 5e-324)
    found[5 * CHUNK : 6 * CHUNK] = 0
    return found.astype(dtype)


# Digests of streams: a change of one is a new version of the format.
STREAMS = {
    ("float64", None, None): "d867cfea12cc28fe",
    ("float64", 9, None): "8e1b28174176b318",
    ("float64", None, 0.01): "5158b99919a2aac0",
    ("float32", None, None): "327ba8cdeeae1ee6",
    ("float32", 9, None): "06ea43da296efc39",
    ("float32", None, 0.01): "81c760eae28ea9de",
    ("uint64", None, None): "3f75aafb6ae02d0d",
    ("uint32", None, None): "e545b6da80254bcd",
    ("int32", None, None): "0de388d289648d75",
    ("uint16", None, None): "5678c653fd58150d",
    ("int64", None, None): "9ca4e232669f8044",
    ("uint8", None, None): "0815d21bd814ae88",
    ("int16", None, None): "bbc5c98d47c92436",
    ("int8", None, None): "bb7f871c95402a9b",
}


@pytest.mark.parametrize("case", STREAMS)
def test_streams_stay_what_they_are(case):
    dtype, kept, bound = case
    stream = compression.compress(settled(dtype), kept, bound)
    assert hashlib.sha256(stream).hexdigest()[:16] == STREAMS[case]


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_a_stream_is_the_same_by_however_many_chunks_at_a_time(dtype, monkeypatch):
    a = some(dtype, 7 * CHUNK + 9, 5)
    stream = compression.compress(a)
    monkeypatch.setattr("saitan.compression.cpu_fast.STEP", 3)
    assert same(compression.compress(a), stream)


def test_integers_have_no_mantissa_bits_to_drop():
    a = np.arange(-50, 50)
    assert same(compression.decompress(compression.compress(a, 52)), a)
    with pytest.raises(ValueError, match="keep_bits goes with floats: int64 is kept to the bit"):
        compression.compress(a, 51)
    for name in [name for name, variant in compression.VARIANTS.items() if "keep_bits" in variant.parameters]:
        # A point that is left out of a sweep over several arrays.
        with pytest.raises(Unavailable, match="keep_bits goes with floats: int64"):
            compression.solve(a, name, "cpu", keep_bits=9)
    for name in [name for name, variant in compression.VARIANTS.items() if "bound" in variant.parameters]:
        with pytest.raises(Unavailable, match="bound goes with floats: int64"):
            compression.solve(a, name, "cpu", bound=0.5)
    assert same(compression.solve(a, "fast", "cpu", keep_bits=52).values, a)


def test_other_arguments_are_refused():
    with pytest.raises(ValueError, match="keep_bits must be at most 52, not 53"):
        compression.compress(np.ones(3), 53)
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        compression.decompress(compression.compress(np.ones(3)), 0.5)
    for wrong in (0.0, -1.0, np.inf, np.nan, True, "0.1", [0.1], 10**400):
        with pytest.raises(ValueError, match="bound must be greater than 0 and finite"):
            compression.compress(np.ones(3), bound=wrong)
    for kind in (np.float16, np.float32, np.longdouble):
        with warnings.catch_warnings(action="error"):
            compression.compress(np.ones(3), bound=kind(0.125))
    with pytest.raises(ValueError, match="bound goes with floats: int32"):
        compression.compress(np.ones(3, np.int32), bound=0.1)
    with pytest.raises(ValueError, match="an array of bool cannot be compressed"):
        compression.compress(np.ones(3, bool))


@pytest.mark.parametrize("kept", [9, 52])
def test_a_bound_is_not_given_beside_the_bits_that_are_kept(kept):
    for call in (
        lambda: compression.compress(np.ones(3), kept, 0.1),
        lambda: compression.solve(np.ones(3), "fast", "cpu", keep_bits=kept, bound=0.1),
        lambda: compression.prepare(make(np.ones(3)), "fast", "cuda", keep_bits=kept, bound=0.1),
    ):
        with pytest.raises(ValueError, match=r"^bound and keep_bits exclude each other$"):
            call()


def test_bytes_of_every_kind_are_a_stream_and_others_are_named():
    a = some("float64", CHUNK + 5, 1)
    stream = compression.compress(a)
    held = [bytearray(stream), memoryview(stream.view(np.int8)), memoryview(np.repeat(stream, 2))[::2]]
    for kind in (*held, np.ma.array(stream)):
        assert same(compression.decompress(kind), a)
    strided = memoryview(np.ones((4, 4)))[::2]
    for wrong, named in ((None, "NoneType"), ([1, 2], "list"), ("a", "str"), (a, "float64"), (strided, "float64")):
        with pytest.raises(StreamError, match=f"^a stream is .*flat array of uint8, not {named}"):
            compression.decompress(wrong)
    with pytest.raises(ValueError, match=r"^stream: 3 entries are masked: "):
        compression.decompress(np.ma.array(stream, mask=np.arange(len(stream)) < 3))
