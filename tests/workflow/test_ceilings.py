"""The share of what a GPU can do."""

import pandas as pd
import pytest
from shown import shown
from tiny import ROOT

from saitan.workflow.ceilings import Ceilings, read_ceilings
from saitan.workflow.step import Failure

CEILINGS = Ceilings.model_validate(
    {"Example GPU": {"bytes": {"rate": 100, "says": "memory"}, "ops": {"rate": 10, "says": "additions"}}}
)


def test_the_share_of_the_limit_is_that_of_the_ceiling_which_bounds_most(write_point):
    def shares(name, rows, **point):
        path = write_point(name, "fast", rows, **point)
        table, _ = shown("summary", {"variants": ["fast"], "quantities": ["time"]}, [path], ceilings=CEILINGS)
        found = table[table["quantity"] != "time"][["quantity", "ours", "unit", "settled", "q1", "q3"]]
        return [tuple(value for value in one if not pd.isna(value)) for one in found.itertuples(index=False)]

    work = [{"seconds": s, "work": {"bytes": 40.0, "ops": 2.0}} for s in (1.0, 0.8, 2.0)]
    assert shares("gpu", work, backend="cuda") == [("share of limit (memory)", 40.0, "%", True, 30.0, 45.0)]
    bound = [{"seconds": 1.0, "work": {"bytes": 40.0, "ops": 6.0}}]
    assert shares("ops", bound, backend="cuda", settled=False) == [("share of limit (additions)", 60.0, "%", False)]
    # The most of a usual query, not of one that stands out.
    odd = [{"seconds": 1.0, "work": {"bytes": b, "ops": o}} for b, o in ((40.0, 3.0), (40.0, 3.0), (0.0, 9.0))]
    assert shares("odd", odd, backend="cuda")[0][:2] == ("share of limit (memory)", 40.0)
    assert shares("no-time", [*bound, {**bound[0], "seconds": 0.0}], backend="cuda") == []
    assert shares("other", work, backend="cuda", provenance={"gpu": "Another"}) == []
    assert shares("cpu", work) == []
    unheard = [{"seconds": 1.0, "work": {"bytes": 40.0, "unheard": 1e9}}]
    for backend in ("cpu", "cuda"):
        with pytest.raises(Failure, match=r"ceilings\.yaml: no 'unheard', the work of fast \(there are: bytes, ops\)"):
            shares(f"unheard-{backend}", unheard, backend=backend)


def test_the_measured_ceilings_can_be_read_and_a_mistake_is_named(tmp_path):
    assert read_ceilings(ROOT / "config" / "ceilings.yaml").of("NVIDIA H200")["bytes"].rate == 4.56e12
    for rate, says in (("0", "greater than 0"), (".inf", "a finite number"), (".nan", "a finite number")):
        (tmp_path / "c.yaml").write_text(f"GPU:\n  bytes: {{says: x,\n    rate: {rate}}}\n")
        with pytest.raises(Failure, match=rf"c\.yaml: line 3: GPU\.bytes\.rate: input should be {says}"):
            read_ceilings(tmp_path / "c.yaml")
    # Of no GPU.
    (tmp_path / "c.yaml").write_text("# nothing yet\n")
    assert read_ceilings(tmp_path / "c.yaml").of("NVIDIA H200") == {}
