from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from samples import seconds, write_samples

from saitan.graph import Graph
from saitan.problem import Metric, problem
from saitan.workflow.ceilings import Ceilings, read_ceilings
from saitan.workflow.config_model import Experiment
from saitan.workflow.graphs.parquet import write_graph
from saitan.workflow.quantities import BUILT_IN, Headline, combined, is_rate, is_scaled, is_timed
from saitan.workflow.rows import POINTS, cdf, row_of
from saitan.workflow.step import Failure
from saitan.workflow.views import VIEWS, Inputs

CONFIG = Path(__file__).parents[2] / "config"
SUMMARY = {"title": "T", "problem": "sssp", "graphs": ["g", "h"]}


def experiment(**settings):
    return Experiment.model_validate({**SUMMARY, **settings})


@pytest.fixture
def write(tmp_path):
    """Write one point's samples: a name of the file, the variant, the rows, and what else `write_samples` takes."""
    return lambda name, variant, rows, **point: write_samples(
        tmp_path / f"{name}.parquet", rows, variant=variant, **point
    )


def shown(view, settings, samples=(), graphs=(), ceilings=None):
    described = experiment(view=view, **settings)
    table, figure = VIEWS[view](described, Inputs(list(samples), list(graphs), ceilings or Ceilings()))
    return table, figure


def row(table, **keys):
    found = table
    for name, value in keys.items():
        found = found[found[name] == value]
    assert len(found) == 1, found
    return found.iloc[0]


def test_summary_gives_median_and_quartiles(write):
    path = write(
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


def test_an_answer_without_a_counter_does_not_count_as_zero(write):
    path = write("a", "adaptive", seconds(1.0, 1.0, 1.0, 1.0, switches=[1, None, 3, None]))
    table, _ = shown("summary", {"variants": ["adaptive"], "quantities": ["switches"]}, [path])
    assert (table.iloc[0].ours, table.iloc[0].samples) == (2, 2)


def test_summary_knows_the_sizes_of_the_graphs(write, folder):
    samples = [write(graph, "fast", seconds(1.0), graph=graph) for graph in ("g", "no-graph")]
    _, figure = shown("summary", {"variants": ["fast"]}, samples, [folder("g", None)])
    assert figure["vertices"].tolist()[:1] == [6] and figure["arcs"].tolist()[:1] == [5]
    assert figure["vertices"].isna().tolist() == [False, True]


def test_one_sample_has_no_quartiles(write):
    table, _ = shown(
        "summary", {"variants": ["adaptive"], "quantities": ["time"]}, [write("a", "adaptive", seconds(2))]
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


def test_speed_up_is_over_the_baseline_of_the_same_graph_and_backend(write):
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
            samples.append(write(f"base{backend}{graph}", "conventional", seconds(0, base, 100.0), **where))
        for threshold in (10, 20):
            times = seconds(ours * threshold / 10)
            samples.append(
                write(
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


def test_speed_up_is_within_an_instance(write):
    # The problem is ranked by a rate: of that more is better, and the times do not count.
    samples = [
        write(f"{variant}{n}", variant, seconds(5.0, tops=[rate]), instance={"n": n}, problem="tropical")
        for variant, n, rate in (("tiled", 8, 2.0), ("tiled", 16, 3.0), ("fast", 8, 8.0), ("fast", 16, 9.0))
    ]
    settings = {"problem": "tropical", "variants": ["tiled", "fast"], "instance": {"n": [8, 16]}, "baseline": "tiled"}
    table, _ = shown("summary", settings, samples)
    found = table[table["quantity"] == "speed-up over tiled"]
    assert dict(zip(found["n"], found["ours"], strict=True)) == {8: 4.0, 16: 3.0}


PHASES = {"variants": ["conventional"], "column": "updated", "small": 5}


@pytest.fixture
def traced(write):
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
    return write("traced", "conventional", rows)


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
    assert (time.ours, time.samples, time.unit) == ((7.0 + 4.5) / 2, 2, "s")


def test_phases_that_only_a_run_of_its_own_traces(write):
    rows = [{"seconds": 9.0, "round": 0, "phase_seconds": [1.0, 2.0], "phase_updated": [3, 50]}]
    rows.append({"seconds": 9.0, "round": 1, "phase_seconds": None, "phase_updated": None})
    _, figure = shown("phases", PHASES, [write("apart", "conventional", rows)])
    assert list(figure["seconds"]) == [1.0, 2.0] and list(figure["updated"]) == [3, 50]


def test_cdf_of_a_column_over_all_phases(traced):
    table, figure = shown("phase_cdf", PHASES, [traced])
    assert dict(zip(figure["updated"], figure["share"], strict=True)) == {3: 0.2, 5: 0.4, 6: 0.6, 20: 0.8, 50: 1.0}
    assert row(table, quantity="share of phases with updated <= 5").ours == 2 / 5


@pytest.mark.parametrize("doubted", [{"settled": False}, {"disturbed": ["other load"]}])
def test_a_distribution_says_whether_it_can_be_relied_on_where_a_clock_enters_it(write, doubted):
    rows = [{"seconds": 3.0, "phase_seconds": [1.0, 2.0], "phase_updated": [3, 50]}]
    path = write("doubted", "conventional", rows, **doubted)
    _, times = shown("phase_cdf", {**PHASES, "column": "seconds"}, [path])
    assert times["settled"].tolist() == [False, False]
    _, counts = shown("phase_cdf", PHASES, [path])
    assert "settled" not in counts


def test_a_long_series_is_thinned_in_the_figure_alone(write):
    phases = 5 * POINTS
    rows = [{"seconds": 1.0, "phase_seconds": [1e-3] * phases, "phase_updated": list(range(phases))}]
    table, figure = shown("phases", PHASES, [write("long", "conventional", rows)])
    assert len(figure) == POINTS and list(figure["phase"][:3]) == [1, 6, 11]
    assert row(table, quantity="phases").ours == phases
    assert row(table, quantity="peak updated").ours == phases - 1


def test_a_column_that_no_phase_has_is_one_line(traced, write):
    with pytest.raises(Failure, match=r"^column: no 'listed' in the phases \(there are: phase, seconds, updated\)$"):
        shown("phase_cdf", {**PHASES, "column": "listed"}, [traced])
    # Phases are shown by their other columns; nothing is said of that one.
    table, _ = shown("phases", {**PHASES, "column": "listed"}, [traced])
    assert set(table["quantity"]) == {"phases", "time"}
    with pytest.raises(Failure, match=r"^view: .* trace no phases"):
        shown("phases", PHASES, [write("untraced", "conventional", seconds(1.0))])


@pytest.fixture
def folder(tmp_path):
    """A graph of 6 vertices with out-degrees 2, 0, 3, 0, 0, 0."""

    def one(name, weights):
        offsets, targets = np.array([0, 2, 2, 5, 5, 5, 5], np.int64), np.array([1, 2, 0, 1, 3], np.int32)
        graph = Graph(offsets, targets, None if weights is None else np.array(weights, np.uint32))
        write_graph(graph, tmp_path / name)
        return tmp_path / name

    return one


def test_graphs_are_described_by_degrees_and_weights(folder):
    settings = {"variants": {}, "problem": None}
    table, figure = shown("graphs", settings, graphs=[folder("g", [1, 1, 2, 4, 2]), folder("h", None)])
    assert table[table["graph"] == "g"].set_index("quantity")["ours"].to_dict() == {
        "vertices": 6,
        "arcs": 5,
        "mean degree": 5 / 6,
        "largest degree": 3,
        "weight mean": 2,
        "weight standard deviation": pytest.approx(np.sqrt(6 / 5)),
        "weight least": 1,
        "weight largest": 4,
    }
    assert table["settled"].all() and set(table["disturbed"]) == set(table["checked"]) == {""}
    assert set(table[table["graph"] == "h"]["quantity"]) == {"vertices", "arcs", "mean degree", "largest degree"}
    assert figure.index.is_unique
    g = figure[figure["graph"] == "g"]
    assert dict(zip(g["degree"], g["share"], strict=True)) == {0: 4 / 6, 2: 5 / 6, 3: 1.0}


def test_weights_are_shown_as_a_distribution(folder):
    settings = {"variants": {}, "problem": None}
    table, figure = shown("weights", settings, graphs=[folder("g", [1, 1, 2, 4, 2]), folder("h", None)])
    assert set(table["graph"]) == set(figure["graph"]) == {"g"}
    assert dict(zip(figure["weight"], figure["share"], strict=True)) == {1: 0.4, 2: 0.8, 4: 1.0}


@given(hnp.arrays(np.int64, st.integers(1, 2000), elements=st.integers(-50, 50)))
def test_a_cdf_says_the_share_at_or_below(values):
    drawn = cdf(pd.Series(values), "x")
    assert len(drawn) <= POINTS and drawn["x"].is_monotonic_increasing and drawn["x"].is_unique
    assert drawn["share"].iloc[-1] == 1 and drawn["x"].iloc[0] == values.min()
    for x, share in drawn.itertuples(index=False):
        assert share == (values <= x).mean()


def test_metrics_say_unit_and_how_samples_combine(write, monkeypatch):
    metrics = {
        "teps": Metric("arcs a second", "TEPS", over="harmonic", better="more"),
        "grown": Metric("times it grew", over="sum"),
        "fill": Metric("mean fill", over="mean"),
        "ratio": Metric("in over out"),
    }
    monkeypatch.setattr(problem("sssp"), "METRICS", metrics)
    path = write(
        "a", "fast", seconds(1.0, 1.0, 1.0, teps=[1.0, 2.0, 4.0], grown=[1, 0, 1], fill=[0, 0, 6], ratio=[3, 1, 1])
    )
    table, figure = shown("summary", {"variants": ["fast"], "quantities": list(metrics)}, [path])
    assert dict(zip(table["quantity"], table["unit"], strict=True)) == {
        "teps": "TEPS",
        "grown": "",
        "fill": "",
        "ratio": "",
    }
    assert list(table["ours"]) == [pytest.approx(3 / (1 + 1 / 2 + 1 / 4)), 2, 2, 1]
    assert list(figure.iloc[0][["teps", "grown", "fill", "ratio"]]) == list(table["ours"])
    # Quartiles of a sum would be those of its terms.
    assert table["q1"].isna().tolist() == [False, True, False, False]


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


def test_what_was_disturbed_or_never_settled_is_said_of_what_a_clock_enters(write):
    noisy = [{"seconds": 1.0, "disturbed": reason} for reason in ("", "1.7 cores", "1.8 cores")]
    paths = [
        write("base", "conventional", seconds(2.0)),
        write("a", "adaptive", noisy, disturbed=["other load", "the clock moved"]),
        write("b", "selection", seconds(1.0), settled=False),
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


def test_a_speed_up_over_an_unsettled_baseline_is_unsettled(write):
    doubts = {"settled": False, "disturbed": ["other load"]}
    paths = [write("base", "conventional", seconds(2.0), **doubts), write("a", "fast", seconds(1.0))]
    settings = {"variants": ["conventional", "fast"], "quantities": ["time"], "baseline": "conventional"}
    table, _ = shown("summary", settings, paths)
    assert row(table, quantity="speed-up over conventional").settled == False  # noqa: E712
    assert row(table, quantity="speed-up over conventional").disturbed == "other load"
    assert row(table, quantity="time", variant="fast").settled == True  # noqa: E712


def test_speed_ups_of_means_stand_beside_where_the_mean_is_asked_for(write):
    paths = [write("base", "conventional", seconds(2.0, 2.0, 8.0)), write("a", "fast", seconds(1.0, 1.0, 10.0))]
    settings = {"variants": ["conventional", "fast"], "quantities": ["time", "mean time"], "baseline": "conventional"}
    table, _ = shown("summary", settings, paths)
    assert row(table, quantity="speed-up over conventional").ours == 2
    means = row(table, quantity="speed-up of means over conventional")
    assert means.ours == 1 and means.samples == 3


def test_a_baseline_with_several_points_counts_at_its_best(write):
    paths = [write(f"base{t}", "adaptive", seconds(float(t)), parameters={"threshold_up": t}) for t in (4, 2, 3)]
    paths.append(write("a", "fast", seconds(1.0)))
    settings = {"variants": {"adaptive": {"threshold_up": [4, 2, 3]}, "fast": {}}, "baseline": "adaptive"}
    table, _ = shown("summary", {**settings, "quantities": ["time"]}, paths)
    assert row(table, quantity="speed-up over adaptive").ours == 2


def test_points_with_other_cores_are_rows_of_their_own(write):
    paths = [
        write("base1", "conventional", seconds(3.0), cores=1),
        write("base2", "conventional", seconds(4.0), cores=2),
        write("a", "fast", seconds(1.0), cores=2),
    ]
    settings = {"variants": ["conventional", "fast"], "quantities": ["time"], "baseline": "conventional"}
    table, figure = shown("summary", settings, paths)
    assert table[table["variant"] == "conventional"]["cores"].tolist() == [1, 2]
    assert row(table, quantity="speed-up over conventional").ours == 4
    assert figure["cores"].tolist() == [1, 2, 2]


def test_unavailable_points_are_not_in_the_table(write):
    paths = [write("a", "fast", seconds(1.0)), write("b", "phast", [], unavailable="needs integer weights")]
    settings = {"variants": ["fast", "phast"], "quantities": ["time"]}
    table, figure = shown("summary", settings, paths)
    assert set(table["variant"]) == set(figure["variant"]) == {"fast"}
    for view in ("summary", "phases", "phase_cdf"):
        table, figure = shown(view, settings, paths[1:])
        assert table.empty and figure.empty and {"graph", "variant", "unit", "settled"} <= set(table)


def test_checked_says_what_was_covered_and_what_was_a_sample(write):
    rows = [{"seconds": 1.0}, {"seconds": 1.0, "checked": "256 entries", "checked_whole": False}]
    table, _ = shown("summary", {"variants": ["fast"], "quantities": ["time"]}, [write("a", "fast", rows)])
    assert table.iloc[0].checked == "every vertex by a certificate; 256 entries (a sample)"
    # An answer of which nothing was checked is no sample.
    rows = [{"seconds": 1.0, "checked": "", "checked_whole": False}]
    table, _ = shown("summary", {"variants": ["fast"], "quantities": ["time"]}, [write("a", "fast", rows)])
    assert table.iloc[0].checked == ""


CEILINGS = Ceilings.model_validate(
    {"Example GPU": {"bytes": {"rate": 100, "says": "memory"}, "ops": {"rate": 10, "says": "additions"}}}
)


def test_the_share_of_the_limit_is_that_of_the_ceiling_which_bounds_most(write):
    def shares(name, rows, **point):
        path = write(name, "fast", rows, **point)
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
    assert read_ceilings(CONFIG / "ceilings.yaml").of("NVIDIA H200")["bytes"].rate == 4.56e12
    (tmp_path / "c.yaml").write_text("GPU: {bytes: {rate: 0, says: x}}")
    with pytest.raises(Failure, match=r"c\.yaml: GPU\.bytes\.rate: input should be greater than 0"):
        read_ceilings(tmp_path / "c.yaml")


def test_a_file_of_another_kind_is_one_line(tmp_path):
    (tmp_path / "x.parquet").write_text("no Parquet")
    with pytest.raises(Failure, match=r"x\.parquet: cannot be read"):
        shown("summary", {"variants": ["fast"]}, [tmp_path / "x.parquet"])
    pd.DataFrame({"seconds": [1.0]}).to_parquet(tmp_path / "y.parquet")
    with pytest.raises(Failure, match=r"y\.parquet: was not written by this workflow"):
        shown("summary", {"variants": ["fast"]}, [tmp_path / "y.parquet"])
    pq.write_table(pa.table({"seconds": [1.0]}), tmp_path / "z.parquet")
    with pytest.raises(Failure, match=r"z\.parquet: was not written by this workflow"):
        shown("summary", {"variants": ["fast"]}, [tmp_path / "z.parquet"])


def test_rivals_are_compared_with_the_baseline_the_worst_graph_first(write):
    times = {
        ("cpu", "g"): {"fast": 2.0, "conventional": 8.0, "scipy": 6.0},
        ("cpu", "h"): {"fast": 5.0, "conventional": 4.0, "scipy": 50.0},
        ("cpu", "alone"): {"fast": 1.0},
        ("cpu", "without"): {"conventional": 1.0, "scipy": 1.0},
        ("cuda", "g"): {"fast": 1.0, "conventional": 2.0},
        # Beside a GPU are other people's solvers, on the CPU; ours there are not.
        ("cuda", "h"): {"fast": 12.5, "conventional": 200.0},
    }
    samples = [
        write(f"{variant}{backend}{graph}", variant, seconds(value, phases=[7]), backend=backend, graph=graph)
        for (backend, graph), variants in times.items()
        for variant, value in variants.items()
    ]
    settings = {"variants": ["fast", "conventional", "scipy"], "quantities": ["phases"], "baseline": "fast"}
    table, figure = shown("rivals", settings, samples)
    assert set(table["variant"]) == {"fast"}
    ratios = table[table["quantity"].str.startswith("over ")]
    assert {(r.backend, r.graph, r.quantity): r.ours for r in ratios.itertuples()} == {
        ("cpu", "h", "over the best of the others"): 0.8,
        ("cpu", "h", "over conventional"): 0.8,
        ("cpu", "h", "over scipy"): 10.0,
        ("cuda", "g", "over the best of the others"): 2.0,
        ("cuda", "g", "over conventional"): 2.0,
        ("cuda", "g", "over scipy"): 6.0,
        ("cuda", "h", "over the best of the others"): 4.0,
        ("cuda", "h", "over conventional"): 16.0,
        ("cuda", "h", "over scipy"): 4.0,
        ("cpu", "g", "over the best of the others"): 3.0,
        ("cpu", "g", "over conventional"): 4.0,
        ("cpu", "g", "over scipy"): 3.0,
    }
    graphs = list(dict.fromkeys(zip(table["backend"], table["graph"], strict=True)))
    assert graphs == [("cpu", "h"), ("cuda", "g"), ("cpu", "g"), ("cuda", "h"), ("cpu", "alone")]
    assert set(table["quantity"]) >= {"time", "phases"}
    assert figure["ratio"].tolist() == [0.8, 2.0, 3.0, 4.0] and figure["graph"].tolist() == ["h", "g", "g", "h"]


def test_a_ratio_to_a_rival_is_as_doubtful_as_both(write):
    samples = [
        write("fast", "fast", seconds(2.0)),
        write("scipy", "scipy", seconds(4.0), settled=False),
        write("conventional", "conventional", seconds(8.0), disturbed=["other load"]),
        write("fast-h", "fast", seconds(1.0), graph="h", disturbed=["the clock moved"]),
        write("conventional-h", "conventional", seconds(9.0), graph="h", disturbed=["other load"]),
    ]
    settings = {"variants": ["fast", "conventional", "scipy"], "quantities": ["memory"], "baseline": "fast"}
    table, figure = shown("rivals", settings, samples)
    said = {r.quantity: (r.settled, r.disturbed) for r in table[table["graph"] == "g"].itertuples()}
    assert said == {
        "time": (True, ""),
        "memory": (True, ""),
        "over the best of the others": (False, "other load"),
        "over scipy": (False, ""),
        "over conventional": (True, "other load"),
    }
    assert row(table, graph="h", quantity="over conventional").disturbed == "the clock moved; other load"
    assert figure["settled"].tolist() == [False, False]


def test_rivals_have_the_same_number_of_cores(write):
    times = {("fast", 2): 2.0, ("conventional", 2): 4.0, ("conventional", 1): 3.0}
    samples = [write(f"{name}{cores}", name, seconds(s), cores=cores) for (name, cores), s in times.items()]
    table, _ = shown("rivals", {"variants": ["fast", "conventional"], "baseline": "fast"}, samples)
    assert row(table, quantity="over conventional").ours == 2.0
