import numpy as np
import pytest
from test_compression import SPECIAL, bound_holds, mixed, round_trip

from saitan import compression
from saitan.compression.shorten import shortened
from saitan.problem import Unavailable


@pytest.mark.parametrize("kept", [52, 20, 0])
def test_shortened_values_are_within_the_bound_and_have_no_more_bits(kept):
    a = np.concatenate([mixed(5000, 2), SPECIAL])
    b = shortened(a, kept)
    assert bound_holds(a, b, kept)
    ordinary = np.isfinite(a) & (np.abs(a) >= np.finfo(np.float64).tiny) & (np.abs(a) < 1e308)
    assert not (b[ordinary].view(np.uint64) & np.uint64(2 ** (52 - kept) - 1)).any()


def test_floats_are_shortened_to_the_nearest_and_ties_to_even():
    a = np.array([1 + 2.0**-10, 1 + 3 * 2.0**-10, 1 + 2.0**-10 + 2.0**-20, np.finfo(np.float32).max], np.float32)
    assert shortened(a, 9).tolist() == [1, 1 + 2.0**-8, 1 + 2.0**-9, float(a[3])]
    assert shortened(a, 23) is a


@pytest.mark.parametrize("variant", ["zstd", "blosc2"])
@pytest.mark.parametrize("kept", [52, 20])
def test_lossless_peers_meet_the_bound(variant, kept):
    if reason := compression.VARIANTS[variant].missing():
        pytest.skip(reason)
    a = mixed(20_000, 4)
    _, values, counters = round_trip(a, variant, "cpu", keep_bits=kept)
    assert bound_holds(a, values, kept)
    assert counters["ratio"] > 1
    integers = np.arange(1000, dtype=np.uint16)
    assert np.array_equal(round_trip(integers, variant, "cpu")[1], integers)


def test_zfp_has_the_ratio_of_its_rate_and_its_errors_shrink():
    if reason := compression.VARIANTS["zfpy"].missing():
        pytest.skip(reason)
    a = np.random.default_rng(1).normal(size=50_000)
    found = [round_trip(a, "zfpy", "cpu", rate=rate)[2] for rate in (8, 16, 32)]
    assert [round(each["ratio"]) for each in found] == [8, 4, 2]
    errors = [each["relative_l2_error"] for each in found]
    # The relative L2 errors that cuZFP has on normal numbers are 8.9e-2 and 3.6e-4.
    assert errors[0] == pytest.approx(8.9e-2, rel=0.1) and errors[1] == pytest.approx(3.6e-4, rel=0.1)
    assert errors[2] < 1e-7
    # zfp has none of these, and spoils the values beside them.
    for special in (np.nan, np.inf, -np.inf):
        a[7] = special
        with pytest.raises(Unavailable, match="zfpy compresses finite values alone"):
            compression.solve(a, "zfpy", "cpu", rate=8)
    with pytest.raises(Unavailable, match="zfpy compresses floats here, not int32"):
        compression.solve(np.arange(5, dtype=np.int32), "zfpy", "cpu")
    with pytest.raises(Unavailable, match="zfpy compresses no array without values"):
        compression.solve(np.empty(0), "zfpy", "cpu")
