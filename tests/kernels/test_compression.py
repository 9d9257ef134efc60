"""The paper's ladder on the CPU; what the tests on a device share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from saitan import compression
from saitan.compression import cpu as cpu_solvers
from saitan.compression import ladder
from saitan.compression.cpu_errors import STEP, compare
from saitan.compression.data import make
from saitan.compression.errors import Errors, counters
from saitan.compression.validate import judge
from saitan.problem import Invalid, Parameter, Unavailable, Variant, check_parameters

LADDER = ("fpc", "c1", "c1c2", "c1c2c3")
CHUNK = ladder.CHUNK
LENGTHS = (0, 1, 2, 15, 16, 17, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5)
SPECIAL = np.array(
    [
        0x0000000000000000,  # 0 and -0
        0x8000000000000000,
        0x7FF0000000000000,  # both infinities
        0xFFF0000000000000,
        0x7FF0000000000001,  # NaNs: signalling, with a full payload, negative
        0x7FFFFFFFFFFFFFFF,
        0xFFF8000000000123,
        0x0000000000000001,  # denormals, the least normal number
        0x800FFFFFFFFFFFFF,
        0x0010000000000000,
        0x0010000000000001,
        0x7FEFFFFFFFFFFFFF,  # the largest number, which rounds up to infinity
        0x3FEFFFFFFFFFFFFF,  # rounds up to the next power of two
    ],
    np.uint64,
).view(np.float64)


def bound_holds(a: np.ndarray, b: np.ndarray, kept: int) -> bool:
    """Whether b is a with `kept` mantissa bits: by Python's exact fractions, one value after another."""
    from fractions import Fraction

    for x, y in zip(a, b, strict=True):
        if x.tobytes() == y.tobytes():
            continue
        if kept == 52 or not np.isfinite(x) or not np.isfinite(y) or abs(x) < np.finfo(np.float64).tiny:
            return False
        x, y = Fraction(float(x)), Fraction(float(y))
        if abs(y - x) * 2 ** (kept + 1) > abs(x):
            return False
    return True


def mixed(count: int, seed: int) -> np.ndarray:
    """Doubles of which some chunks shrink and others do not: near values, random bits, special values, zeros."""
    rng = np.random.default_rng(seed)
    out = np.ones(count)
    for low in range(0, count, CHUNK // 2):
        part = out[low : low + CHUNK // 2]
        match rng.integers(5):
            case 0:
                part[:] = rng.integers(0, 2**64, part.size, dtype=np.uint64).view(np.float64)
            case 1:
                part[:] = 1.5 + rng.normal(size=part.size) * 1e-6
            case 2:
                part[:] = rng.choice(SPECIAL, part.size)
            case 3:
                part[:] = 0
            case 4:
                part[:] = rng.normal(size=part.size)
    return out


def round_trip(array: np.ndarray, variant: str, backend: str, **parameters):
    """(stream, values, counters) of the second of two runs, the outputs overwritten before each; validated."""
    solver = compression.prepare(make(array), variant, backend, **parameters)
    try:
        for _ in range(2):
            run = solver.run(0)
            solver.validate()
        answer = solver.answer()
    finally:
        solver.close()
    assert set(run.counters) <= set(compression.METRICS)
    return answer["stream"], answer["values"], run.counters


doubles = arrays(np.uint64, st.sampled_from(LENGTHS), elements=st.integers(0, 2**64 - 1)).map(
    lambda bits: bits.view(np.float64)
)


@pytest.mark.parametrize("variant", LADDER)
@pytest.mark.parametrize("kept", [52, 51, 44, 43, 20, 1, 0])
def test_every_length_and_special_value_within_the_bound(variant, kept):
    for length in LENGTHS:
        a = mixed(length, length)
        stream, values, counters = round_trip(a, variant, "cpu", keep_bits=kept)
        assert bound_holds(a, values, kept)
        if length:
            assert counters["ratio"] == a.nbytes / len(stream)
    stream, values, _ = round_trip(SPECIAL, variant, "cpu", keep_bits=kept)
    assert bound_holds(SPECIAL, values, kept)


@given(doubles, st.sampled_from(LADDER), st.integers(0, 52))
def test_any_bits_within_the_bound(a, variant, kept):
    _, values, _ = round_trip(a, variant, "cpu", keep_bits=kept)
    assert bound_holds(a, values, kept)


@pytest.mark.parametrize("kept", [52, 20])
def test_what_codes_alike_makes_the_same_stream(kept):
    a = mixed(20 * CHUNK + 3, 1)
    first, *others = (round_trip(a, variant, "cpu", keep_bits=kept)[0] for variant in LADDER[1:])
    assert all(np.array_equal(first, other) for other in others)


@pytest.mark.parametrize("variant", LADDER)
def test_incompressible_data_grow_by_head_and_offsets_only(variant):
    a = np.random.default_rng(3).integers(0, 2**64, 40 * CHUNK + 7, dtype=np.uint64).view(np.float64)
    stream, values, _ = round_trip(a, variant, "cpu")
    assert len(stream) == ladder.stream_bytes(a.size, a.nbytes)
    assert values.tobytes() == a.tobytes()


def test_a_constant_chunk_and_what_fpc_predicts_shrink():
    count = 8 * CHUNK
    for a, ratios in ((np.ones(count), (15, 14)), (np.arange(count) * 2.0**-20 + 1, (10, 1.2))):
        fpc, first = (round_trip(a, variant, "cpu")[2]["ratio"] for variant in ("fpc", "c1"))
        assert (fpc > ratios[0]) and (first > ratios[1])


def test_complex_numbers_have_a_reference_a_component():
    z = np.full(4 * CHUNK, 0.25 - 3.0j)
    assert round_trip(z, "c1", "cpu")[2]["ratio"] > 14
    assert round_trip(z.view(np.float64), "c1", "cpu")[2]["ratio"] < 3
    result = compression.solve(z.reshape(4, -1), "c1c2c3", "cpu", keep_bits=20)
    assert result.values.shape == (4, CHUNK) and result.values.dtype == z.dtype


SPOILED = {"value": 0.3, "payload of a NaN": np.nan, "-0": -0.0, "infinity": np.inf, "denormal": 5e-324, "0": 0.0}


def spoil(solver, place: int, bit: int) -> None:
    values = solver.values.view(np.uint64)
    values[place] ^= np.uint64(1) << np.uint64(bit)


@pytest.mark.parametrize("kept", [52, 20])
@pytest.mark.parametrize("what", SPOILED)
def test_validation_sees_one_spoiled_bit(what, kept):
    a = np.ones(3 * CHUNK + 11)
    a[[5, -1]] = SPOILED[what]
    solver = compression.prepare(make(a), "c1c2", "cpu", keep_bits=kept)
    solver.run(0)
    solver.validate()
    # The bits below half of the last one kept stay within the bound for ordinary values only.
    for place in (5, a.size - 1):
        for bit in (63, 52, 52 - kept, 0 if what != "value" or kept == 52 else 40):
            spoil(solver, place, bit)
            with pytest.raises(Invalid, match=f"value {place:,}: 1 of"):
                solver.validate()
            spoil(solver, place, bit)
    solver.close()


def test_the_bound_itself_is_allowed_and_one_unit_beyond_is_not():
    """Of 1 with k = 20 the bound is 2^-21: bit 31 of the mantissa alone; bit 31 and bit 0 are more."""
    solver = compression.prepare(make(np.ones(CHUNK)), "fpc", "cpu", keep_bits=20)
    solver.run(0)
    spoil(solver, 7, 31)
    solver.validate()
    spoil(solver, 7, 0)
    with pytest.raises(Invalid, match=r"value 7: .*2\^-21"):
        solver.validate()


def compared(a, found, kept, bound=0.0):
    errors = compare(np.array(a), np.array(found), kept, bound, 1)
    return errors.wrong, errors.first


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_edges_of_the_bound(dtype):
    about = np.finfo(dtype)
    one, tiny, below = dtype(1), about.tiny, np.nextafter(about.tiny, dtype(0))
    # With no mantissa bit kept half the value is allowed, and no more; with one a quarter.
    for kept, off in ((0, 0.5), (1, 0.25)):
        for right, away in ((one + dtype(off), dtype(9)), (one - dtype(off), dtype(-9))):
            assert compared([one], [right], kept) == (0, -1)
            assert compared([one], [np.nextafter(right, away)], kept) == (1, 0)
    # The smallest normal number has the bound of others; what is smaller must agree.
    assert compared([tiny], [np.nextafter(tiny, one)], 3) == (0, -1)
    assert compared([below], [tiny], 3) == compared([below], [tiny], 0) == (1, 0)
    # With all bits kept the next number below a power of two is as near as the bound allows, and wrong.
    assert compared([one], [np.nextafter(one, dtype(0))], about.nmant) == (1, 0)
    assert compared([one], [dtype(7)], -1) == (0, -1)
    # An absolute bound is met exactly, and no more.
    for right, away in ((dtype(1.25), dtype(9)), (dtype(0.75), dtype(-9))):
        assert compared([one], [right], 3, 0.25) == (0, -1)
        assert compared([one], [np.nextafter(right, away)], 3, 0.25) == (1, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_special_values_within_an_absolute_bound(dtype):
    """Zero and what is denormal may be any number near; -0, infinities and NaNs agree to the bit."""
    about = np.finfo(dtype)
    zero, least = dtype(0), about.smallest_subnormal
    for right, found, wrong in (
        (zero, -zero, 0),
        (zero, dtype(0.25), 0),
        (zero, dtype(0.5), 1),
        (least, zero, 0),
        (least, -least, 0),
        (-zero, -zero, 0),
        (-zero, zero, 1),
        (-zero, least, 1),
        (dtype(np.inf), dtype(np.inf), 0),
        (dtype(np.inf), about.max, 1),
        (dtype(np.inf), dtype(-np.inf), 1),
        (about.max, dtype(np.inf), 1),
        (dtype(np.nan), dtype(np.nan), 0),
        (dtype(np.nan), zero, 1),
        (zero, dtype(np.nan), 1),
        (dtype(np.nan), -dtype(np.nan), 1),
    ):
        assert compared([right], [found], 3, 0.25)[0] == wrong, (right, found)


@pytest.mark.parametrize("dtype", [np.float64, np.uint16, np.int64])
@pytest.mark.parametrize("size", [1, STEP - 1, STEP, STEP + 1, 3 * STEP, 3 * STEP + 5])
def test_every_value_is_compared_and_the_first_wrong_one_named(dtype, size):
    a = np.arange(1, size + 1).astype(dtype)
    assert compared(a, a, 52) == (0, -1)
    for places in {(0,), (size - 1,), (size // 2,), (min(STEP, size - 1), size - 1), (size - 1, 0)}:
        found = a.copy()
        found[list(places)] += dtype(1)
        assert compared(a, found, 52) == (len(set(places)), min(places))


def test_a_wrong_value_alone_is_invalid_and_without_a_bound_nothing_is():
    clean, one = Errors(0, -1, *[0.0] * 6), Errors(1, 4, *[0.0] * 6)
    with pytest.raises(Invalid, match=r"^value 4: 1 of 9 values are off by more than 2\^-1 of the value, or"):
        judge(one, 0, 0.0, 52, 9)
    for kept, mantissa in ((52, 52), (20, 0)):
        with pytest.raises(Invalid, match=r"^value 4: 1 of 9 values differ$"):
            judge(one, kept, 0.0, mantissa, 9)
        assert judge(clean, kept, 0.0, mantissa, 9).says == "every value, to the bit"
    # All bits are kept where an absolute bound is in their place.
    with pytest.raises(Invalid, match=r"are off by more than 0\.5, or are special"):
        judge(one, 52, 0.5, 52, 9)
    assert judge(clean, 0, 0.0, 52, 9).says == "every value, relative error at most 2^-1"
    assert judge(clean, -1, 0.0, 52, 9).says == "every value, that it is finite where it was; a fixed rate has no bound"
    with pytest.raises(Invalid, match=r"^value 4: 1 of 9 values are special values that differ$"):
        judge(one, -1, 0.0, 52, 9)


def test_a_loss_that_no_parameter_says_is_invalid():
    clean = Errors(0, -1, *[0.0] * 6)
    for kept, bound, within in ((20, 0.0, r"2\^-21 of the value"), (52, 0.5, r"0\.5"), (-1, 0.0, "no bound")):
        with pytest.raises(Invalid, match=rf"^values are within {within}, and no parameter says so: one with `alike` "):
            judge(clean, kept, bound, 52, 9, lossless=True)
    assert judge(clean, 52, 0.0, 52, 9, lossless=True) == judge(clean, 20, 0.0, 0, 9, lossless=True)


@pytest.mark.parametrize("alike", [(52,), None])
def test_a_variant_of_one_loss_says_so_by_a_parameter(alike, monkeypatch):
    class Mine(cpu_solvers.C1):
        def __init__(self, instance, *, keep_bits=20):
            super().__init__(instance, keep_bits=20)

    monkeypatch.setattr(cpu_solvers, "Mine", Mine, raising=False)
    loss = {"keep_bits": Parameter(int, 20, "kept", choices=(20,), alike=alike)}
    for parameters in (loss, {}):
        mine = Variant("of one loss", cpu="saitan.compression.cpu:Mine", parameters=parameters)
        monkeypatch.setitem(compression.VARIANTS, "mine", mine)
        if parameters and alike:
            assert len(compression.solve(np.linspace(0, 1, 50), "mine", backend="cpu").values) == 50
        else:
            with pytest.raises(Invalid, match=r"^values are within 2\^-21 of the value, and no parameter says so: "):
                compression.solve(np.linspace(0, 1, 50), "mine", backend="cpu")


def test_without_a_bound_what_is_not_finite_is_to_stay_so():
    a = np.array([1.0, np.nan, np.inf, -np.inf, 2.0, 0.0])
    kept = np.array([1.5, -np.nan, np.inf, -np.inf, 3.0, 1.0])
    assert compare(a, kept, -1, 0.0, 1).wrong == 0 and compare(a, kept, -1, 0.0, 1).metrics(1)
    for place, value in ((0, np.nan), (1, 31.0), (1, np.inf), (2, -2.0), (2, -np.inf), (3, np.nan), (4, np.inf)):
        found = kept.copy()
        found[place] = value
        errors = compare(a, found, -1, 0.0, 1)
        assert (errors.wrong, errors.first, errors.metrics(1)) == (1, place, {})


def test_values_that_are_not_written_are_seen():
    solver = compression.prepare(make(np.ones(CHUNK + 1)), "c1", "cpu")
    solver.run(0)
    solver.decompress = lambda: None
    solver.run(0)
    with pytest.raises(Invalid, match="1,025 of 1,025"):
        solver.validate()


@pytest.mark.parametrize("where", [slice(None), slice(1, 3)])
def test_values_that_no_stream_was_decompressed_to_are_seen(where):
    """Those of the array itself, which are right whatever the stream is."""
    pytest.importorskip("zstandard")
    solver = compression.prepare(make(np.ones(5)), "zstd", "cpu")
    solver.run(0)
    solver.validate()
    decompress = solver.decompress
    solver.decompress = lambda: setattr(solver, "values", solver.source[where])
    solver.errors = lambda: compare(solver.source, solver.source.copy(), solver.kept, 0.0, 1)
    solver.run(0)
    with pytest.raises(Invalid, match=r"^the values lie where the array does, and not where a stream was decompressed"):
        solver.validate()
    solver.decompress = decompress
    solver.run(0)
    solver.validate()


@pytest.mark.parametrize("kind", [np.uint64, np.int8, object, bytes, memoryview])
def test_a_stream_is_bytes(kind):
    """Whose number is that of its entries: of words the ratio would be eight times as good."""
    pytest.importorskip("zstandard")
    solver = compression.prepare(make(np.ones(64)), "zstd", "cpu")
    compress = solver.compress

    def in_words():
        compress()
        packed = solver.stream.tobytes()
        whole = np.frombuffer(packed + bytes(-len(packed) % 8), np.uint8)
        made = {bytes: packed, memoryview: memoryview(packed), object: whole.astype(object)}
        solver.stream = made[kind] if kind in made else whole.view(kind)

    solver.run(0)
    solver.validate()
    solver.compress, solver.decompress = in_words, lambda: setattr(solver, "values", solver.source.copy())
    solver.run(0)
    with pytest.raises(Invalid, match=r"^stream (are|have) .* is right$"):
        solver.validate()


def test_errors_are_those_of_numpy():
    rng = np.random.default_rng(5)
    z = rng.normal(size=50_000) + 1j * rng.normal(size=50_000)
    _, values, counters = round_trip(z, "c1c2c3", "cpu", keep_bits=6)
    a, b, found = z.view(np.float64), values, values.view(np.complex128)
    norms = np.linalg.norm(z), np.linalg.norm(found)
    expected = {
        "largest_relative_error": np.max(abs(b - a) / abs(a)),
        "largest_absolute_error": np.max(abs(b - a)),
        "relative_l2_error": np.linalg.norm(b - a) / norms[0],
        "norm_error": abs(norms[1] / norms[0] - 1),
        "infidelity": 1 - abs(np.vdot(z, found)) ** 2 / (norms[0] * norms[1]) ** 2,
    }
    # NumPy subtracts numbers near 1: its norm error and infidelity have an absolute error of some 1e-15.
    for name, value in expected.items():
        assert counters[name] == pytest.approx(value, rel=1e-9, abs=1e-14), name


@pytest.mark.parametrize("scale", [2.0**-560, 2.0**-1000, 2.0**300, 2.0**1000])
def test_errors_whose_squares_no_double_holds_are_left_out_or_right(scale):
    rng = np.random.default_rng(6)
    z = rng.normal(size=3000) + 1j * rng.normal(size=3000)
    for loss in ({"keep_bits": 7}, {"bound": 1.0 * scale}):
        counters = [
            round_trip(z * by, "fast", "cpu", **({**loss, "bound": by} if "bound" in loss else loss))[2]
            for by in (1.0, scale)
        ]
        sums = {"relative_l2_error", "norm_error", "infidelity"}
        known = sums & counters[1].keys()
        assert known == (sums if scale == 2.0**300 else set())
        for name in known:
            assert counters[1][name] == pytest.approx(counters[0][name], rel=1e-9), name
        assert counters[1]["largest_absolute_error"] > 0
    assert not any(round_trip(z * scale, "fast", "cpu")[2][name] for name in sums)


def test_errors_are_left_out_where_the_values_squares_overflow_and_the_differences_do_not():
    a = 1.3e153 * np.linspace(1, 1.01, 2000)
    counters = round_trip(a, "fast", "cpu", keep_bits=1)[2]
    assert counters["largest_relative_error"] > 0.04 and not {"relative_l2_error", "norm_error"} & counters.keys()


def test_errors_of_nothing_are_none():
    nothing = compare(np.empty(0), np.empty(0), 52, 0.0, 2)
    assert nothing == Errors(0, -1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert not any(nothing.metrics(2).values())


def test_states_are_those_of_their_circuits():
    """The inverse FFT is the quantum Fourier transform; phase estimation is its inverse of the phases' powers."""
    q, n = 9, 512
    for basis in (0, 1, 77, n - 1):
        state = make(None, data="qft", qubits=q, basis=basis).host().view(np.complex128)
        assert np.allclose(state, np.fft.ifft(np.eye(n)[basis]) * np.sqrt(n), rtol=0, atol=1e-15)
    made = make(None, data="phase-estimation", qubits=q, seed=4)
    phase = (made.drawn.whole + made.drawn.fraction) / n
    powers = np.exp(2j * np.pi * phase * np.arange(n)) / np.sqrt(n)
    assert np.allclose(made.host().view(np.complex128), np.fft.fft(powers) / np.sqrt(n), rtol=0, atol=1e-12)
    for data in ("qft", "phase-estimation", "ghz"):
        assert np.linalg.norm(make(None, data=data, qubits=q).host()) == pytest.approx(1, abs=1e-12)
    assert make(None, qubits=q).drawn.whole % 2 == 1


def test_states_are_qiskits():
    qiskit = pytest.importorskip("qiskit")
    from qiskit.quantum_info import Statevector
    from qiskit.synthesis import synth_qft_full

    q = 6
    circuit = qiskit.QuantumCircuit(q)
    circuit.x([0, 2, 3])
    circuit.compose(synth_qft_full(q), inplace=True)
    ours = make(None, data="qft", qubits=q, basis=0b1101).host().view(np.complex128)
    assert np.allclose(Statevector(circuit).data, ours, rtol=0, atol=1e-14)
    ghz = qiskit.QuantumCircuit(q)
    ghz.h(0)
    for other in range(1, q):
        ghz.cx(0, other)
    assert np.allclose(Statevector(ghz).data, make(None, data="ghz", qubits=q).host().view(np.complex128), atol=1e-15)
    made = make(None, data="phase-estimation", qubits=q, seed=2)
    phase = (made.drawn.whole + made.drawn.fraction) / 2**q
    # Phase estimation of a phase gate: its eigenstate is one more qubit, which stays 1.
    estimation = qiskit.QuantumCircuit(q + 1)
    estimation.x(q)
    estimation.h(range(q))
    for power in range(q):
        estimation.cp(2 * np.pi * phase * 2**power, power, q)
    estimation.compose(synth_qft_full(q, inverse=True), range(q), inplace=True)
    found = Statevector(estimation).data[2**q :]
    assert np.allclose(found, made.host().view(np.complex128), rtol=0, atol=1e-12)


def test_random_data_have_their_moments():
    values = make(None, data="normal", qubits=16).host()
    # Standard errors of mean and variance of 131,072 draws are 0.0028 and 0.0039: five of them.
    assert abs(values.mean()) < 0.014 and abs(values.var() - 1) < 0.02
    assert np.linalg.norm(make(None, data="random", qubits=16).host()) == pytest.approx(1, abs=0.01)
    assert not np.array_equal(values, make(None, data="normal", qubits=16, seed=2).host())
    assert len(np.unique(make(None, data="bits", qubits=12).host().view(np.uint64))) == 2**13
    # Answers are checked by it.
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 0


OTHER_TYPES = ["?", "f2", "M8[s]", "U1", "O", "G", ">f4", ">f8", ">c8", ">c16", ">i2", ">u4", ">i8"]


class OnDevice:
    """What a library's device array says of itself."""

    def __init__(self, dtype):
        self.__cuda_array_interface__ = {"typestr": np.dtype(dtype).str, "shape": (3,), "data": (0, False)}


@pytest.mark.parametrize("dtype", OTHER_TYPES)
def test_other_types_and_byte_orders_are_refused_everywhere(dtype):
    array = np.zeros(3, dtype)
    calls = (
        lambda: compression.solve(array, "c1", "cpu"),
        lambda: compression.solve(array, keep_bits=9, backend="cpu"),
        lambda: compression.compress(array),
        lambda: compression.compress(array, bound=0.1),
        lambda: compression.compress(OnDevice(dtype)),
        lambda: make(array, copies=2, doubles=True),
    )
    for call in calls:
        said = (
            r"is big-endian: array\.astype"
            if dtype[0] == ">"
            else r"cannot be compressed \(these can: complex, float64"
        )
        with pytest.raises(ValueError, match=rf"an array of \S+ {said}"):
            call()


def test_parameters_that_are_off_are_named():
    with pytest.raises(ValueError, match="basis is 8, a state of 3 qubits"):
        compression.instance({}, data="qft", qubits=3, basis=8)
    with pytest.raises(ValueError, match="basis goes with data qft"):
        compression.instance({}, data="ghz", basis=1)
    with pytest.raises(
        ValueError, match="data must be one of qft, phase-estimation, ghz, random, normal, bits, not 'x'"
    ):
        compression.instance({}, data="x")
    with pytest.raises(Unavailable, match="fpc compresses float64 only, not float32"):
        compression.solve(np.ones(4, np.float32), "fpc", "cpu")


def test_a_given_array_is_repeated_and_widened():
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    instance = make(a, copies=2, doubles=True)
    assert instance.host().tolist() == 2 * list(range(12)) and instance.dtype == np.float64 and instance.row == 4
    with pytest.raises(ValueError, match=r"^copies is of given data only"):
        compression.instance({}, copies=2)
    assert compression.instance({"values": np.zeros(0)}, copies=2**62).count == 0
    assert make(np.ones(2, np.int8), copies=10**6).count == 2 * 10**6
    wide = np.broadcast_to(np.ones(2**20), (2**25, 2**20))
    for array, copies in ((a, 10**12), (wide, 1)):
        with pytest.raises(Unavailable, match=rf"^{copies:,} x an array of {array.size:,} values: [\d,.]+ [TG]iB"):
            compression.instance({"values": array}, copies=copies)


@pytest.mark.parametrize(
    ("variant", "name", "least", "most"), [("zfpy", "rate", 3, 64), ("zstd", "level", 1, 22), ("blosc2", "level", 1, 9)]
)
def test_what_other_compressors_take_is_checked_before_they_are_called(variant, name, least, most):
    known = compression.VARIANTS[variant].parameters
    for right in (least, most):
        check_parameters(variant, {name: right}, known)
    for wrong, says in ((least - 1, f"at least {least}"), (most + 1, f"at most {most}")):
        with pytest.raises(ValueError, match=f"{name} must be {says}, not {wrong}"):
            check_parameters(variant, {name: wrong}, known)


def test_rates_are_of_the_array_and_not_of_the_stream():
    told = counters(800, 200, 4.0, 2.0, 1600, {"norm_error": 0.5})
    assert told == {
        "ratio": 4.0,
        "compress_bytes_s": 200.0,
        "decompress_bytes_s": 400.0,
        "workspace": 2.0,
        "norm_error": 0.5,
    }
    with pytest.raises(Invalid, match=r"^an array of 800 bytes has a stream of none$"):
        counters(800, 0, 4.0, 2.0, 1600, {"norm_error": 0.5})
    assert counters(0, 80, 4.0, 2.0, 1600, {"norm_error": 0.5}) == {}
