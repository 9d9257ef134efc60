"""What metrics, headlines and units say of a quantity."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import seconds
from shown import shown

from saitan.problem import Metric, problem
from saitan.workflow.quantities import Headline, combined, is_rate, is_scaled, is_timed


def test_metrics_say_unit_and_how_samples_combine(write_point, monkeypatch):
    metrics = {
        "teps": Metric("arcs a second", "TEPS", over="harmonic", better="more"),
        "fill": Metric("mean fill", over="mean"),
        "ratio": Metric("in over out"),
    }
    monkeypatch.setattr(problem("sssp"), "METRICS", metrics)
    path = write_point("a", "fast", seconds(1.0, 1.0, 1.0, teps=[1.0, 2.0, 4.0], fill=[0, 0, 6], ratio=[3, 1, 1]))
    table, figure = shown("summary", {"variants": ["fast"], "quantities": list(metrics)}, [path])
    assert dict(zip(table["quantity"], table["unit"], strict=True)) == {
        "teps": "TEPS",
        "fill": "",
        "ratio": "",
    }
    assert list(table["ours"]) == [pytest.approx(3 / (1 + 1 / 2 + 1 / 4)), 2, 1]
    assert list(figure.iloc[0][["teps", "fill", "ratio"]]) == list(table["ours"])


@pytest.mark.parametrize(("better", "times_as_good"), [("less", 0.25), ("more", 4), (None, 4)])
def test_a_headline_says_how_many_times_as_good(better, times_as_good):
    assert Headline("q", Metric("", better=better)).over(8.0, 2.0) == times_as_good


@pytest.mark.parametrize(
    ("unit", "rate", "scaled", "timed"),
    [
        ("", False, False, False),
        ("s", False, False, True),
        ("us", False, False, True),
        ("bytes", False, False, False),
        ("%", False, False, False),
        ("TEPS", True, False, True),
        ("GTEPS", True, True, True),
        ("op/s", True, False, True),
        ("TOP/s", True, True, True),
        ("kB/s", True, True, True),
        ("GB", False, True, False),
        ("GiB", False, False, False),
    ],
)
def test_what_a_unit_says(unit, rate, scaled, timed):
    assert (is_rate(unit), is_scaled(unit), is_timed(unit)) == (rate, scaled, timed)


@given(st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=20))
def test_a_harmonic_mean_is_the_rate_of_equal_work(rates):
    whole = len(rates) / sum(1 / rate for rate in rates)
    assert combined(np.array(rates), "harmonic") == pytest.approx(whole, rel=1e-12)
    assert combined(np.array([*rates, 0.0]), "harmonic") == 0
