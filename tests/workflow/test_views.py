"""What each view makes of samples: tables of quantities, and the columns of charts."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from samples import seconds
from shown import row, shown

from saitan import sssp
from saitan.problem import Metric
from saitan.workflow.quantities import BUILT_IN
from saitan.workflow.rows import POINTS, cdf, row_of, thinned
from saitan.workflow.step import Failure


def test_summary_gives_median_and_quartiles(write_point):
    path = write_point(
        "a",
        "adaptive",
        seconds(1.0, 2.0, 4.0, 8.0, 100.0, switches=[1, 1, 3, 5, 5]),
        parameters={"threshold_up": 10},
    )
    settings = {
        "variants": {"adaptive": {"threshold_up": [10]}},
        "quantities": [*BUILT_IN, "switches", "listed"],
    }
    table, figure = shown("summary", settings, [path])
    # A counter that this variant does not have makes no row.
    assert list(table["quantity"]) == [*BUILT_IN, "switches"]
    time = row(table, quantity="time")
    assert (time.ours, time.q1, time.q3, time.samples, time.unit) == (4.0, 2.0, 8.0, 5, "s")
    assert (time.backend, time.graph, time.variant, time.threshold_up) == ("cpu", "g", "adaptive", 10)
    assert row(table, quantity="mean time").ours == 23.0
    assert row(table, quantity="total time").ours == 9.0
    assert row(table, quantity="upload time").ours == 0.5
    memory = row(table, quantity="memory")
    assert (memory.ours, memory.unit) == (100, "bytes")
    switches = row(table, quantity="switches")
    assert (switches.ours, switches.q1, switches.q3) == (3, 1, 5)
    mark = figure.iloc[0]
    assert len(figure) == 1
    assert (mark.seconds, mark.seconds_q1, mark.seconds_q3, mark.mean_seconds) == (4.0, 2.0, 8.0, 23.0)
    assert (mark.switches, mark.switches_q1, mark.switches_q3, mark.settled) == (3, 1, 5, True)
    assert not {"host", "memory", "round", "mean_seconds_q1"} & set(figure)


def test_an_answer_without_a_counter_does_not_count_as_zero(write_point):
    path = write_point("a", "adaptive", seconds(1.0, 1.0, 1.0, 1.0, switches=[1, None, 3, None]))
    table, _ = shown("summary", {"variants": ["adaptive"], "quantities": ["switches"]}, [path])
    assert (table.iloc[0].ours, table.iloc[0].samples) == (2, 2)


def test_summary_knows_the_sizes_of_the_graphs(write_point, graph_folder):
    samples = [write_point(graph, "fast", seconds(1.0), graph=graph) for graph in ("g", "no-graph")]
    _, figure = shown("summary", {"variants": ["fast"]}, samples, [graph_folder("g", None)])
    assert figure["vertices"].tolist()[:1] == [6] and figure["arcs"].tolist()[:1] == [5]
    assert figure["vertices"].isna().tolist() == [False, True]


def test_one_sample_has_no_quartiles(write_point):
    table, _ = shown(
        "summary", {"variants": ["adaptive"], "quantities": ["time"]}, [write_point("a", "adaptive", seconds(2))]
    )
    assert table.iloc[0].ours == 2 and table.iloc[0].samples == 1
    assert table[["q1", "q3"]].isna().all(axis=None)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("values", "q1", "q3"),
    [([np.inf] * 3, np.inf, np.inf), ([1.0, 2, 3, np.inf, np.inf], 2, np.inf), ([1.0, 2, 3, 4], 1.75, 3.25)],
)
def test_quartiles_beside_infinities(values, q1, q3):
    row = row_of("threshold", Metric("t", "us"), pd.Series(values), {"settled": True, "disturbed": "", "checked": ""})
    assert (row["q1"], row["q3"]) == (q1, q3)


def test_points_of_several_machines_are_marked(write_point):
    devices = {"conventional": "CPU a", "adaptive": "CPU b", "fast": "CPU b"}
    samples = [write_point(name, name, seconds(1.0, 1.1), device=device) for name, device in devices.items()]
    samples.append(write_point("gpu", "fast", seconds(0.1, 0.1), backend="cuda", device="GPU g"))
    settings = {"variants": [*devices], "baseline": "conventional", "quantities": ["time"]}
    table, figure = shown("summary", settings, samples)
    times = table[table["quantity"] == "time"]
    assert [*times["disturbed"]] == [
        *(f"measured on {device}, others beside it on another" for device in devices.values()),
        "",
    ]
    ahead = table[table["quantity"] == "speed-up over conventional"]
    assert len(ahead) == 2 and (ahead["disturbed"] != "").all()
    assert [*figure["settled"]] == [False, False, False, True]


def test_speed_up_is_over_the_baseline_of_the_same_graph_and_backend(write_point):
    means = {
        ("cpu", "g"): (6.0, 2.0),
        ("cpu", "h"): (10.0, 40.0),
        ("cuda", "g"): (1.0, 0.5),
        ("cuda", "h"): (None, 3.0),
    }
    samples = []
    for (backend, graph), (base, ours) in means.items():
        where = {"backend": backend, "graph": graph}
        if base is not None:
            # Median and mean differ: the median counts.
            samples.append(write_point(f"base{backend}{graph}", "conventional", seconds(0, base, 100.0), **where))
        for threshold in (10, 20):
            times = seconds(ours * threshold / 10)
            samples.append(
                write_point(
                    f"{backend}{graph}{threshold}", "adaptive", times, **where, parameters={"threshold_up": threshold}
                )
            )
    settings = {
        "variants": {"conventional": {}, "adaptive": {"threshold_up": [10, 20]}},
        "quantities": ["time"],
        "baseline": "conventional",
    }
    table, _ = shown("summary", settings, samples)
    found = table[table["quantity"] == "speed-up over conventional"]
    got = {(r.backend, r.graph, r.threshold_up): r.ours for r in found.itertuples()}
    assert got == {
        ("cpu", "g", 10): 3.0,
        ("cpu", "g", 20): 1.5,
        ("cpu", "h", 10): 0.25,
        ("cpu", "h", 20): 0.125,
        ("cuda", "g", 10): 2.0,
        ("cuda", "g", 20): 1.0,
    }
    assert set(found["variant"]) == {"adaptive"}


@pytest.mark.parametrize(("values", "speed_up"), [((0.0, 0.0), []), ((0.0, 2.0), []), ((2.0, 4.0), [2.0])])
def test_a_baseline_of_0_at_its_best_gives_no_speed_up(write_point, values, speed_up):
    variants = {"adaptive": {"threshold_up": [10, 20]}, "conventional": {}}
    for order in (values, values[::-1]):
        samples = [write_point("ours", "conventional", seconds(1.0))]
        samples += [
            write_point(f"base{place}", "adaptive", seconds(value), parameters={"threshold_up": 10 * place + 10})
            for place, value in enumerate(order)
        ]
        settings = {"variants": variants, "quantities": ["time"], "baseline": "adaptive"}
        table, _ = shown("summary", settings, samples)
        assert table[table["quantity"] == "speed-up over adaptive"]["ours"].tolist() == speed_up


def test_speed_up_is_within_an_instance(write_point):
    # The problem is ranked by a rate: of that more is better, and the times do not count.
    samples = [
        write_point(f"{variant}{n}", variant, seconds(5.0, tops=[rate]), instance={"n": n}, problem="tropical")
        for variant, n, rate in (("tiled", 8, 2.0), ("tiled", 16, 3.0), ("fast", 8, 8.0), ("fast", 16, 9.0))
    ]
    settings = {"problem": "tropical", "variants": ["tiled", "fast"], "instance": {"n": [8, 16]}, "baseline": "tiled"}
    # Where the rate is not shown, the times are compared, as the star and the ranking compare them.
    for quantities, speedups in ((["time", "tops"], {8: 4.0, 16: 3.0}), (["time"], {8: 1.0, 16: 1.0})):
        table, _ = shown("summary", {**settings, "quantities": quantities}, samples)
        found = table[table["quantity"] == "speed-up over tiled"]
        assert dict(zip(found["n"], found["ours"], strict=True)) == speedups


PHASES = {"variants": ["conventional"], "column": "updated", "small": 5}


@pytest.fixture
def traced(write_point):
    """Two queries, two phases and three; three rounds, of which the counts stand in the first alone."""
    rounds = {
        "7": [[1.0, 4.0], [3.0, 5.0], [2.0, 9.0]],
        # The second round needed a phase more and stays out of the medians.
        "8": [[1.0, 1.0, 1.0], [100.0, 100.0, 100.0, 100.0], [3.0, 1.0, 2.0]],
    }
    counts = {"7": [3, 50], "8": [5, 20, 6]}
    rows = [
        {
            "query": query,
            "round": r,
            "seconds": sum(rounds[query][r]),
            "phase_seconds": rounds[query][r],
            "phase_updated": counts[query] if r == 0 else None,
        }
        for r in range(3)
        for query in rounds
    ]
    return write_point("traced", "conventional", rows)


def test_phases_take_the_median_of_the_rounds(traced):
    table, figure = shown("phases", PHASES, [traced])
    one, two = figure[figure["query"] == "7"], figure[figure["query"] == "8"]
    assert list(one["seconds"]) == [2.0, 5.0] and list(one["updated"]) == [3, 50] and list(one["phase"]) == [1, 2]
    assert list(two["seconds"]) == [2.0, 1.0, 1.5] and list(two["updated"]) == [5, 20, 6]
    assert set(figure["variant"]) == {"conventional"}
    assert row(table, quantity="phases").ours == 2.5
    assert row(table, quantity="peak updated").ours == 35
    assert row(table, quantity="share of phases with updated <= 5").ours == 2 / 5
    time = row(table, quantity="time")
    # Of the answers, as everywhere: phases leave out what is around them.
    assert (time.ours, time.samples, time.unit) == (7.0, 6, "s")


def test_phases_that_only_a_run_of_its_own_traces(write_point):
    rows = [{"seconds": 9.0, "round": 0, "phase_seconds": [1.0, 2.0], "phase_updated": [3, 50]}]
    rows.append({"seconds": 9.0, "round": 1, "phase_seconds": None, "phase_updated": None})
    _, figure = shown("phases", PHASES, [write_point("apart", "conventional", rows)])
    assert list(figure["seconds"]) == [1.0, 2.0] and list(figure["updated"]) == [3, 50]


def test_cdf_of_a_column_over_all_phases(traced):
    table, figure = shown("phase_cdf", PHASES, [traced])
    assert dict(zip(figure["updated"], figure["share"], strict=True)) == {3: 0.2, 5: 0.4, 6: 0.6, 20: 0.8, 50: 1.0}
    assert row(table, quantity="share of phases with updated <= 5").ours == 2 / 5


@pytest.mark.parametrize("doubted", [{"settled": False}, {"disturbed": ["other load"]}])
def test_a_distribution_says_whether_it_can_be_relied_on_where_a_clock_enters_it(write_point, doubted):
    rows = [{"seconds": 3.0, "phase_seconds": [1.0, 2.0], "phase_updated": [3, 50]}]
    path = write_point("doubted", "conventional", rows, **doubted)
    _, times = shown("phase_cdf", {**PHASES, "column": "seconds"}, [path])
    assert times["settled"].tolist() == [False, False]
    _, counts = shown("phase_cdf", PHASES, [path])
    assert "settled" not in counts
    # The same of the table, whose numbers have the column's unit.
    for view in ("phases", "phase_cdf"):
        table, _ = shown(view, {**PHASES, "column": "seconds", "small": 1.5}, [path])
        peak, share = row(table, quantity="peak seconds"), row(table, quantity="share of phases with seconds <= 1.5")
        assert (peak.ours, peak.unit, share.ours) == (2.0, "s", 0.5)
        assert all(not one.settled or one.disturbed for one in (peak, share))
        table, _ = shown(view, PHASES, [path])
        assert row(table, quantity="peak updated").settled and not row(table, quantity="peak updated").disturbed


def test_the_unit_of_a_column_is_what_the_problem_declares(write_point):
    rows = [{"seconds": 3.0, "phase_seconds": [1.0, 2.0], "phase_waiting": [0.5, 0.25], "phase_sent": [7, 8]}]
    path = write_point("ranks", "hybrid", rows, settled=False)
    for column, unit, settled in (("waiting", "s", False), ("sent", "bytes", True)):
        settings = {"problem": "bfs", "variants": ["hybrid"], "column": column}
        peak = row(shown("phases", settings, [path])[0], quantity=f"peak {column}")
        assert (peak.unit, bool(peak.settled)) == (unit, settled)


def test_what_stands_for_none_is_no_number(write_point):
    def point(name, *listed):
        rows = [
            {"query": str(i), "seconds": 3.0, "phase_seconds": [1.0] * len(of), "phase_listed": of}
            for i, of in enumerate(listed)
        ]
        return write_point(name, name, rows)

    some, none = point("adaptive", [-1, 30, 7], [-1, -1, -1]), point("conventional", [-1, -1])
    settings = {"variants": ["adaptive", "conventional"], "column": "listed", "small": 20}
    for view in ("phases", "phase_cdf"):
        table, figure = shown(view, settings, [some, none])
        assert row(table, quantity="peak listed")[["variant", "ours", "samples"]].tolist() == ["adaptive", 30, 1]
        share = row(table, quantity="share of phases with listed <= 20")
        assert (share.variant, share.ours) == ("adaptive", 0.5)
        assert sorted(figure["listed"].dropna()) == [7, 30]
        _, alone = shown(view, settings, [none])
        assert not alone["listed"].notna().any()
    # What happened in a phase is shown whatever another column lacks.
    table, figure = shown("phases", settings, [some, none])
    assert figure["phase"].tolist() == [1, 2, 3, 1, 2, 3, 1, 2]
    assert table.loc[table["quantity"] == "phases", "ours"].tolist() == [3, 2]


def test_a_long_series_is_thinned_in_the_figure_alone(write_point):
    phases = 5 * POINTS
    rows = [{"seconds": 1.0, "phase_seconds": [1e-3] * phases, "phase_updated": list(range(phases))}]
    table, figure = shown("phases", PHASES, [write_point("long", "conventional", rows)])
    assert POINTS // 4 < len(figure) <= POINTS and figure["phase"].is_monotonic_increasing
    assert row(table, quantity="phases").ours == phases
    assert row(table, quantity="peak updated").ours == phases - 1


@given(st.integers(POINTS + 1, 3 * POINTS), st.data())
def test_a_thinned_series_keeps_its_ends_and_its_extremes(length, data):
    places = [data.draw(st.integers(0, length - 1)) for _ in range(3)]
    trace = pd.DataFrame({"phase": np.arange(1, length + 1), "seconds": 1e-6, "updated": 5, "mode": "selection"})
    trace.loc[places[0], "seconds"] = 1e-3
    trace.loc[places[1], "updated"], trace.loc[places[2], "updated"] = 1_000_000, -1
    extremes = {name: (trace[name].min(), trace[name].max()) for name in ("phase", "seconds", "updated")}
    drawn = thinned(trace)
    assert len(drawn) <= POINTS and drawn.index.is_monotonic_increasing
    assert {name: (drawn[name].min(), drawn[name].max()) for name in extremes} == extremes
    pd.testing.assert_frame_equal(drawn, trace.loc[drawn.index])
    assert thinned(trace[:POINTS]) is not None and len(thinned(trace[:POINTS])) == POINTS


def test_a_column_that_no_phase_has_is_one_line(traced, write_point):
    with pytest.raises(Failure, match=r"^column: no 'listed' in the phases \(there are: phase, seconds, updated\)$"):
        shown("phase_cdf", {**PHASES, "column": "listed"}, [traced])
    with pytest.raises(Failure, match=r"^column: no 'listed' in the phases \(there are: phase, seconds, updated\)$"):
        shown("phases", {**PHASES, "column": "listed"}, [traced])
    # Where another variant traces it, the table has it for that one.
    rows = [{"seconds": 3.0, "phase_seconds": [1.0, 2.0], "phase_updated": [3, 50], "phase_listed": [3, 4]}]
    both = {**PHASES, "variants": ["conventional", "selection"], "column": "listed"}
    table, _ = shown("phases", both, [traced, write_point("listing", "selection", rows)])
    assert row(table, quantity="peak listed").variant == "selection"
    assert set(table.loc[table["variant"] == "conventional", "quantity"]) == {"phases", "time"}
    with pytest.raises(Failure, match=r"^view: .* trace no phases"):
        shown("phases", PHASES, [write_point("untraced", "conventional", seconds(1.0))])


@given(hnp.arrays(np.int64, st.integers(1, 2000), elements=st.integers(-50, 50)))
def test_a_cdf_says_the_share_at_or_below(values):
    drawn = cdf(pd.Series(values), "x")
    assert len(drawn) <= POINTS and drawn["x"].is_monotonic_increasing and drawn["x"].is_unique
    assert drawn["share"].iloc[-1] == 1 and drawn["x"].iloc[0] == values.min()
    for x, share in drawn.itertuples(index=False):
        assert share == (values <= x).mean()


def test_what_was_disturbed_or_never_settled_is_said_of_what_a_clock_enters(write_point):
    noisy = [{"seconds": 1.0, "disturbed": reason} for reason in ("", "1.7 cores", "1.8 cores")]
    paths = [
        write_point("base", "conventional", seconds(2.0)),
        write_point("a", "adaptive", noisy, disturbed=["other load", "the clock moved"]),
        write_point("b", "selection", seconds(1.0), settled=False),
    ]
    settings = {"variants": ["conventional", "adaptive", "selection"], "quantities": ["time", "memory"]}
    table, figure = shown("summary", {**settings, "baseline": "conventional"}, paths)
    said = {(r.variant, r.quantity): (r.settled, r.disturbed) for r in table.itertuples()}
    assert said == {
        ("conventional", "time"): (True, ""),
        ("conventional", "memory"): (True, ""),
        ("adaptive", "time"): (True, "other load; the clock moved"),
        ("adaptive", "memory"): (True, ""),
        ("adaptive", "speed-up over conventional"): (True, "other load; the clock moved"),
        ("selection", "time"): (False, ""),
        ("selection", "memory"): (True, ""),
        ("selection", "speed-up over conventional"): (False, ""),
    }
    assert figure.set_index("variant")["settled"].to_dict() == {
        "conventional": True,
        "adaptive": False,
        "selection": False,
    }


def test_a_speed_up_over_an_unsettled_baseline_is_unsettled(write_point):
    doubts = {"settled": False, "disturbed": ["other load"]}
    paths = [write_point("base", "conventional", seconds(2.0), **doubts), write_point("a", "fast", seconds(1.0))]
    settings = {"variants": ["conventional", "fast"], "quantities": ["time"], "baseline": "conventional"}
    table, _ = shown("summary", settings, paths)
    assert row(table, quantity="speed-up over conventional").settled == False  # noqa: E712
    assert row(table, quantity="speed-up over conventional").disturbed == "other load"
    assert row(table, quantity="time", variant="fast").settled == True  # noqa: E712


def test_speed_ups_of_means_stand_beside_where_the_mean_is_asked_for(write_point):
    paths = [
        write_point("base", "conventional", seconds(2.0, 2.0, 8.0)),
        write_point("a", "fast", seconds(1.0, 1.0, 10.0)),
    ]
    settings = {"variants": ["conventional", "fast"], "quantities": ["time", "mean time"], "baseline": "conventional"}
    table, _ = shown("summary", settings, paths)
    assert row(table, quantity="speed-up over conventional").ours == 2
    means = row(table, quantity="speed-up of means over conventional")
    assert means.ours == 1 and means.samples == 3


def test_a_baseline_with_several_points_counts_at_its_best(write_point):
    paths = [write_point(f"base{t}", "adaptive", seconds(float(t)), parameters={"threshold_up": t}) for t in (4, 2, 3)]
    paths.append(write_point("a", "fast", seconds(1.0)))
    settings = {"variants": {"adaptive": {"threshold_up": [4, 2, 3]}, "fast": {}}, "baseline": "adaptive"}
    table, _ = shown("summary", {**settings, "quantities": ["time"]}, paths)
    assert row(table, quantity="speed-up over adaptive").ours == 2


def test_points_with_other_cores_are_rows_of_their_own(write_point):
    paths = [
        write_point("base1", "conventional", seconds(3.0), cores=1),
        write_point("base2", "conventional", seconds(4.0), cores=2),
        write_point("a", "fast", seconds(1.0), cores=2),
    ]
    settings = {"variants": ["conventional", "fast"], "quantities": ["time"], "baseline": "conventional"}
    table, figure = shown("summary", settings, paths)
    assert table[table["variant"] == "conventional"]["cores"].tolist() == [1, 2]
    assert row(table, quantity="speed-up over conventional").ours == 4
    assert figure["cores"].tolist() == [1, 2, 2]


def test_unavailable_points_are_not_in_the_table(write_point):
    paths = [write_point("a", "fast", seconds(1.0)), write_point("b", "phast", [], unavailable="needs integer weights")]
    settings = {"variants": ["fast", "phast"], "quantities": ["time"]}
    table, figure = shown("summary", settings, paths)
    assert set(table["variant"]) == set(figure["variant"]) == {"fast"}
    for view in ("summary", "phases", "phase_cdf"):
        table, figure = shown(view, settings, paths[1:])
        assert table.empty and figure.empty and {"graph", "variant", "unit", "settled"} <= set(table)


@pytest.mark.parametrize("view", ["summary", "rivals"])
@pytest.mark.parametrize("scores", [{}, {"score": [1, None]}])
def test_samples_from_before_the_problem_ranked_by_it_are_one_line(write_point, monkeypatch, view, scores):
    monkeypatch.setitem(sssp.METRICS, "score", Metric("a number"))
    paths = [
        write_point("a", "fast", seconds(1.0, 1.0, score=[2, 3])),
        write_point("b", "scipy", seconds(1.0, 1.0, **scores)),
    ]
    settings = {"variants": ["fast", "scipy"], "quantities": ["time"], "baseline": "fast"}
    assert not shown(view, settings, paths)[0].empty
    monkeypatch.setattr(sssp, "HEADLINE", "score")
    assert not shown(view, settings, paths[:1])[0].empty
    with pytest.raises(Failure, match=r"^scipy gives no score, which solvers of sssp are ranked by$"):
        shown(view, settings, paths)


@pytest.mark.parametrize("view", ["summary", "rivals", "phases", "phase_cdf"])
def test_samples_from_before_the_problem_declared_something_else_are_one_line(write_point, monkeypatch, view):
    monkeypatch.setitem(sssp.METRICS, "score", Metric("a number"))
    rows = [{"seconds": 1.0, "counters": {"score": 1}, "phase_seconds": [1.0], "phase_updated": [3]}]
    path = write_point("a", "conventional", rows)
    settings = {"variants": ["conventional"], "column": "updated", "baseline": "conventional"}
    assert len(shown(view, settings, [path])) == 2
    monkeypatch.setattr(sssp, "TRACES", {"listed": sssp.TRACES["listed"]})
    with pytest.raises(Failure, match=r"^conventional traces 'updated', which is none of TRACES of sssp \(seconds"):
        shown(view, settings, [path])
    monkeypatch.delitem(sssp.METRICS, "score")
    with pytest.raises(Failure, match=r"^conventional counts 'score', which is none of METRICS of sssp \(phases, "):
        shown(view, settings, [path])


def test_checked_says_what_was_covered_and_what_was_a_sample(write_point):
    rows = [{"seconds": 1.0}, {"seconds": 1.0, "checked": "256 entries", "checked_whole": False}]
    table, _ = shown("summary", {"variants": ["fast"], "quantities": ["time"]}, [write_point("a", "fast", rows)])
    assert table.iloc[0].checked == "every vertex by a certificate; 256 entries (a sample)"
    # An answer of which nothing was checked is no sample.
    rows = [{"seconds": 1.0, "checked": "", "checked_whole": False}]
    table, _ = shown("summary", {"variants": ["fast"], "quantities": ["time"]}, [write_point("a", "fast", rows)])
    assert table.iloc[0].checked == ""


def test_a_file_of_another_kind_is_one_line(tmp_path):
    (tmp_path / "x.parquet").write_text("no Parquet")
    with pytest.raises(Failure, match=r"x\.parquet: cannot be read: .*; remove it and run again"):
        shown("summary", {"variants": ["fast"]}, [tmp_path / "x.parquet"])
    pd.DataFrame({"seconds": [1.0]}).to_parquet(tmp_path / "y.parquet")
    with pytest.raises(Failure, match=r"y\.parquet: not samples of a point"):
        shown("summary", {"variants": ["fast"]}, [tmp_path / "y.parquet"])
    pq.write_table(pa.table({"seconds": [1.0]}), tmp_path / "z.parquet")
    with pytest.raises(Failure, match=r"z\.parquet: not samples of a point"):
        shown("summary", {"variants": ["fast"]}, [tmp_path / "z.parquet"])
