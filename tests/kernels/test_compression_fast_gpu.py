import hashlib
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from test_compression_damaged import MUTATED, hide_chunks, mutations, refuse_chunks
from test_compression_fast import CLOSE, LENGTHS, STREAMS, ends_of_levels, same, settled, some

from saitan import compression
from saitan.compression.data import TYPES, make
from saitan.compression.format import CHUNK, HEAD, StreamError
from saitan.compression.shorten import shortened
from saitan.cuda import unusable

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(unusable() is not None, reason=str(unusable()))]


def on_device(array: np.ndarray):
    from pycuda.gpuarray import GPUArray

    from saitan.cuda import device

    device()
    out = GPUArray(array.shape, array.dtype)
    if array.size:
        out.set(array)
    return out


@pytest.mark.parametrize("dtype", TYPES)
def test_streams_are_those_of_the_cpu_and_come_back(dtype):
    for length in (*LENGTHS, 60 * CHUNK + 777):
        for seed in range(3):
            a = some(dtype, length, seed)
            for kept in (None, 9) if a.dtype.kind == "f" else (None,):
                stream = compression.compress(on_device(a), kept)
                assert stream.get().tobytes() == compression.compress(a, kept).tobytes()
                values = compression.decompress(stream)
                assert same(values.get(), shortened(a, 52 if kept is None else kept))


@pytest.mark.parametrize("case", STREAMS)
def test_streams_stay_what_they_are(case):
    dtype, kept, bound = case
    stream = compression.compress(on_device(settled(dtype)), kept, bound)
    assert hashlib.sha256(stream.get()).hexdigest()[:16] == STREAMS[case]


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_parts_of_complex_numbers_go_apart(dtype):
    for length in (1, 31, 32, 33, CHUNK // 2, CHUNK // 2 + 1, 30 * CHUNK + 77):
        for seed in range(3):
            a = some(f"f{np.dtype(dtype).itemsize // 2}", 2 * length, seed).view(dtype)
            stream = compression.compress(on_device(a))
            assert stream.get().tobytes() == compression.compress(a).tobytes()
            assert same(compression.decompress(stream).get(), a.view(a.real.dtype))


@pytest.mark.parametrize("case", range(len(CLOSE)))
def test_a_chunk_is_raw_where_packing_does_not_gain(case):
    values, mode, words = CLOSE[case]
    # Chunks of one kind beside others: two warps a chunk, and several chunks a block.
    for array in (values, np.concatenate([np.arange(float(CHUNK)), values])):
        stream = compression.compress(on_device(array)).get()
        chunk = stream[len(stream) - 4 * words :].view(np.uint32)
        assert chunk[0] & 3 == mode and len(stream) == len(compression.compress(array))
        assert stream.tobytes() == compression.compress(array).tobytes()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("width", [2, 7, 128, 255, 1000, 2047, 2048, 2112, 2175])
def test_streams_of_rows_and_levels_are_those_of_the_cpu(dtype, width):
    for rows in (1, 3, 9000 // width, 70 if width > 2000 else 5):
        a = some(dtype, rows * width, rows).reshape(rows, width)
        bound = 0.3 if a.dtype.kind == "f" else None
        b = np.cumsum(a[:, :1] % 7 if bound is None else np.ones((rows, 1)), axis=1) + np.arange(width)
        for array in (a, b.astype(a.dtype)):
            stream = compression.compress(on_device(array), bound=bound)
            assert stream.get().tobytes() == compression.compress(array, bound=bound).tobytes()
            assert same(compression.decompress(stream).get(), compression.decompress(stream.get()))
    for start, stop in (
        (1, a.size),
        (32 * width, a.size),
        (33 * width - 1, 33 * width + 1),
        (a.size // 2, a.size // 2 + 1),
    ):
        if start < stop <= a.size:
            found = compression.decompress(stream, start, stop).get()
            assert same(found, compression.decompress(stream.get(), start, stop))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_levels_at_the_ends_of_their_type(dtype):
    for a in ends_of_levels(dtype):
        stream = compression.compress(on_device(a), bound=0.5)
        assert stream.get().tobytes() == compression.compress(a, bound=0.5).tobytes()
        assert same(compression.decompress(stream).get(), compression.decompress(stream.get()))


@settings(max_examples=60, deadline=None)
@given(arrays(np.uint64, st.integers(1, 200), elements=st.integers(0, 2**64 - 1)), st.integers(0, 52))
def test_any_bits(a, kept):
    a = a.view(np.float64)
    stream = compression.compress(on_device(a), kept)
    assert stream.get().tobytes() == compression.compress(a, kept).tobytes()
    assert same(compression.decompress(stream).get(), shortened(a, kept))


@pytest.mark.parametrize("kept", range(29, 36))
def test_codes_about_as_wide_as_a_word(kept):
    # A full chunk, whose codes are a sign and the kept bits.
    random = np.random.default_rng(1)
    a = (1 + random.random(CHUNK)) * random.choice([-1.0, 1.0], CHUNK)
    stream = compression.compress(a, kept)
    assert same(compression.decompress(on_device(stream)).get(), shortened(a, kept))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("lossy", [{}, {"keep_bits": 9}, {"bound": 0.1}])
def test_round_trips_are_validated(dtype, lossy):
    if lossy and np.dtype(dtype).kind != "f":
        pytest.skip("keep_bits and bound go with floats")
    solver = compression.prepare(make(some(dtype, 300 * CHUNK + 5, 2)), "fast", "cuda", **lossy)
    for _ in range(3):
        run = solver.run(0)
        solver.validate()
    assert set(run.counters) <= set(compression.METRICS)
    answer = solver.answer()
    solver.close()
    assert same(compression.decompress(answer["stream"]), answer["values"])


def test_ranges():
    a = some("float64", 9 * CHUNK + 77, 8)
    stream = compression.compress(on_device(a))
    for start, stop in ((0, 1), (CHUNK - 1, CHUNK + 1), (3 * CHUNK, 4 * CHUNK), (a.size - 1, a.size), (5, None)):
        assert same(compression.decompress(stream, start, stop).get(), a[start:stop])
    with pytest.raises(ValueError, match="are not in a stream"):
        compression.decompress(stream, 0, a.size + 1)


@pytest.mark.parametrize(("dtype", "bound"), [("float64", None), ("uint16", None), ("int64", None), ("float64", 0.1)])
def test_damaged_streams_are_refused_as_on_the_cpu(dtype, bound):
    """Both decoders name the first damaged chunk of 300 mutations each; the reason may be another, as the order is."""
    a = some(dtype, 3 * CHUNK + 70, 7)
    stream = compression.compress(a, bound=bound)
    rng = np.random.default_rng(3)
    for _ in range(300):
        wrong = stream.copy()
        wrong[rng.integers(HEAD, len(stream))] ^= np.uint8(1 << rng.integers(8))
        messages = []
        for given_stream in (wrong, on_device(wrong)):
            with pytest.raises(StreamError) as caught:
                compression.decompress(given_stream)
            messages.append(str(caught.value).partition(":")[0])
        assert messages[0] == messages[1]


@pytest.mark.parametrize(("dtype", "bound"), MUTATED)
def test_decoders_agree_on_mutated_streams(dtype, bound):
    """Both refuse a stream or give the same values; 400 a type, or SAITAN_MUTATIONS."""
    stream = compression.compress(some(dtype, 2 * CHUNK + 70, 7), bound=bound)
    for wrong, _ in mutations(stream, int(os.environ.get("SAITAN_MUTATIONS", 400))):
        try:
            values = compression.decompress(wrong)
        except StreamError:
            with pytest.raises(StreamError):
                compression.decompress(on_device(wrong))
            continue
        assert same(compression.decompress(on_device(wrong)).get(), values)


def test_a_chunk_without_words_cannot_hide_another():
    hide_chunks(on_device)


def test_chunks_that_break_a_rule_are_refused():
    refuse_chunks(on_device)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_zeros_between_numbers_take_no_words(dtype):
    """Blocks of zeros end early, and tell later ones all the same: numbers at both ends, within, and nowhere."""
    for chunks in (1, 2, 31, 32, 33, 5000):
        a = np.zeros(chunks * CHUNK - 5, dtype)
        for places in ((), (0,), (a.size - 1,), (0, a.size // 2, a.size - 1), range(0, a.size, 37 * CHUNK)):
            a[list(places)] = 1.5
            stream = compression.compress(on_device(a))
            assert stream.get().tobytes() == compression.compress(a).tobytes()
            assert same(compression.decompress(stream).get(), a)
            a[:] = 0


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="is not contiguous"):
        compression.compress(on_device(np.ones((4, 6)))[:, ::2])
    with pytest.raises(ValueError, match="an array of float16 cannot be compressed"):
        compression.compress(on_device(np.ones(4, np.float16)))
    with pytest.raises(ValueError, match="no multiple of 16"):
        compression.compress(on_device(np.ones(4))[1:])
