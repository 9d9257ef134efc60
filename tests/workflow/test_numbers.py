import numpy as np
import pytest

from saitan.workflow.numbers import as_text, digits, readable, steps_of, typeset


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.01234567, "s", "12.35 ms"),
        (3.5e-7, "s", "350 ns"),
        (0, "s", "0 s"),
        (1427876, "", "1,427,876"),
        (0.59, "", "0.5900"),
        (83666.4, "", "83,666"),
        (3 << 30, "bytes", "3 GiB"),
        (2.5e9, "edges/s", "2.500 Gedges/s"),
        (1.5e-7, "", "1.50 × 10⁻⁷"),
        (1e-4, "", "0.0001000"),
        (9.99e-5, "", "9.99 × 10⁻⁵"),
        (350, "us", "350 µs"),
        (0.033, "TOP/s", "0.03300 TOP/s"),
        (12e9, "TEPS", "12 GTEPS"),
        (0, "bytes", "0 B"),
        (1023, "bytes", "1,023 B"),
        (1024, "bytes", "1 KiB"),
        (1 << 20, "bytes", "1 MiB"),
        (1023 << 20, "bytes", "1,023 MiB"),
        (1 << 30, "bytes", "1 GiB"),
        (999, "vertices", "999 vertices"),
        (1000, "vertices", "1 k vertices"),
        (999_999, "vertices", "1,000 k vertices"),
        (1e6, "vertices", "1 M vertices"),
        (999e6, "TEPS", "999 MTEPS"),
        (1e9, "TEPS", "1 GTEPS"),
        (999_999_999_999, "TEPS", "1,000 GTEPS"),
        (1e12, "TEPS", "1 TTEPS"),
        (1e-3, "s", "1 ms"),
        (0.000999, "s", "999 µs"),
        (float("inf"), "s", "∞ s"),
        (float("nan"), "s", "–"),
        (None, "", "–"),
    ],
)
def test_numbers_are_readable(value, unit, text):
    assert readable(value, unit) == text


def test_digits_of_infinity():
    assert digits(float("-inf")) == "-∞"


def test_ticks_of_bytes_are_round():
    assert dict(steps_of("bytes", decimal=True)) == {1e12: "TB", 1e9: "GB", 1e6: "MB", 1e3: "kB", 1: "B"}
    assert steps_of("bytes")[-2:] == [(1024, "KiB"), (1, "B")]


def test_titles_are_typeset():
    assert typeset("Rate (10^12 op/s), threshold (us), 10^-3") == "Rate (10¹² op/s), threshold (µs), 10⁻³"
    assert typeset(" two\nlines\u2028\\alpha\t ") == "two lines \u29f5alpha"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (16384, "16,384"),
        (10**17 + 1, "100,000,000,000,000,001"),
        (2.0, "2"),
        (1e308, "1e+308"),
        (float("inf"), "inf"),
        # What six digits would make the same.
        (1234567.5, "1234567.5"),
        (1234568.5, "1234568.5"),
        (1 / 3, "0.3333333333333333"),
        (0.1, "0.1"),
        (1e-6, "1e-06"),
        # As in YAML and in charts.
        (True, "true"),
        (np.bool_(False), "false"),
    ],
)
def test_a_parameter_is_shown_in_full_where_it_is_short_or_whole(value, shown):
    assert as_text(value) == shown
