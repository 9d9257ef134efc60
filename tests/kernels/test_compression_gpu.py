import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_compression import CHUNK, LADDER, LENGTHS, SPECIAL, SPOILED, bound_holds, doubles, mixed, round_trip

from saitan import compression
from saitan.compression.data import KINDS, make
from saitan.cuda import unusable
from saitan.problem import Invalid

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(unusable() is not None, reason=str(unusable()))]


@pytest.mark.parametrize("variant", LADDER)
@pytest.mark.parametrize("kept", [52, 44, 43, 20, 0])
def test_streams_and_values_are_those_of_the_cpu(variant, kept):
    for a in (*(mixed(length, length) for length in (*LENGTHS, 100 * CHUNK + 3)), SPECIAL):
        cpu, cuda = (round_trip(a, variant, backend, keep_bits=kept) for backend in ("cpu", "cuda"))
        assert cuda[0].tobytes() == cpu[0].tobytes()
        assert cuda[1].tobytes() == cpu[1].tobytes()
        for name in set(cpu[2]) - {"compress_bytes_s", "decompress_bytes_s", "workspace"}:
            assert cuda[2][name] == pytest.approx(cpu[2][name], rel=1e-9, abs=1e-15), name
    z = np.random.default_rng(1).normal(size=7 * CHUNK + 2).view(np.complex128)
    cpu, cuda = (round_trip(z, variant, backend, keep_bits=kept) for backend in ("cpu", "cuda"))
    assert cuda[0].tobytes() == cpu[0].tobytes()
    assert cuda[2].get("infidelity") == pytest.approx(cpu[2].get("infidelity"), rel=1e-9, abs=1e-15)


@settings(max_examples=60, deadline=None)
@given(doubles, st.sampled_from(LADDER), st.integers(0, 52))
def test_any_bits_within_the_bound(a, variant, kept):
    _, values, _ = round_trip(a, variant, "cuda", keep_bits=kept)
    assert bound_holds(a, values, kept)


@pytest.mark.parametrize("shrinking", [0.0, 0.01, 0.5])
def test_work_in_place_never_overtakes_its_input(shrinking):
    """40,000 chunks, far more than are resident: all of them raw, each to its own place, or a share of them short."""
    rng = np.random.default_rng(9)
    a = rng.integers(0, 2**64, 40_000 * CHUNK + 1, dtype=np.uint64).view(np.float64)
    for chunk in np.flatnonzero(rng.random(40_000) < shrinking):
        a[chunk * CHUNK : (chunk + 1) * CHUNK] = chunk
    solver = compression.prepare(make(a), "c1c2c3", "cuda")
    for _ in range(3):
        solver.run(0)
        solver.validate()
    answer = solver.answer()
    solver.close()
    assert answer["values"].tobytes() == a.tobytes()
    assert (len(answer["stream"]) > a.nbytes) == (shrinking == 0)


@pytest.mark.parametrize("kept", [52, 20])
@pytest.mark.parametrize("what", SPOILED)
def test_validation_sees_one_spoiled_bit(what, kept):
    a = np.ones(3 * CHUNK + 11)
    a[[5, -1]] = SPOILED[what]
    solver = compression.prepare(make(a), "c1c2c3", "cuda", keep_bits=kept)
    solver.run(0)
    solver.validate()
    right = solver.values.get()
    for place in (5, a.size - 1):
        for bit in (63, 52, 52 - kept, 0 if what != "value" or kept == 52 else 40):
            wrong = right.copy()
            wrong.view(np.uint64)[place] ^= np.uint64(1) << np.uint64(bit)
            solver.values.set(wrong)
            with pytest.raises(Invalid, match=f"value {place:,}: 1 of"):
                solver.validate()
    solver.close()


def test_the_bound_itself_is_allowed_and_one_unit_beyond_is_not():
    solver = compression.prepare(make(np.ones(CHUNK)), "fpc", "cuda", keep_bits=20)
    solver.run(0)
    values = np.ones(CHUNK)
    values.view(np.uint64)[7] ^= np.uint64(1 << 31)
    solver.values.set(values)
    solver.validate()
    values.view(np.uint64)[7] ^= np.uint64(1)
    solver.values.set(values)
    with pytest.raises(Invalid, match=r"value 7: .*2\^-21"):
        solver.validate()
    solver.close()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_half_a_value_is_allowed_where_no_bit_is_kept_and_no_more(dtype):
    """The number next to 1/2 differs from 1 by what rounds to 1/2."""
    solver = compression.prepare(make(np.ones(CHUNK, dtype)), "fast", "cuda", keep_bits=0)
    solver.run(0)
    values = np.ones(CHUNK, dtype)
    values[7] = 0.5
    solver.values.set(values)
    solver.validate()
    values[7] = np.nextafter(dtype(0.5), dtype(0))
    solver.values.set(values)
    with pytest.raises(Invalid, match="value 7: 1 of"):
        solver.validate()
    solver.close()


@pytest.mark.parametrize("data", KINDS)
def test_data_are_those_of_the_cpu(data):
    """Sines and logarithms are right within two units of the last place on both; a phase's are of products besides."""
    instance = make(None, data=data, qubits=12, seed=3)
    solver = compression.prepare(instance, "c1", "cuda")
    found = solver.source.get()
    solver.close()
    if data == "bits":
        assert found.tobytes() == instance.host().tobytes()
    else:
        largest = np.abs(instance.host()).max()
        np.testing.assert_allclose(found, instance.host(), rtol=1e-14, atol=4e-16 * largest)
