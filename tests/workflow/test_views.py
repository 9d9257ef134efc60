import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from saitan.graph import Graph
from saitan.workflow import views
from saitan.workflow.config import QUANTITIES, Experiment
from saitan.workflow.graphs.parquet import write_graph
from saitan.workflow.provenance import provenance
from saitan.workflow.step import Failure
from saitan.workflow.views import VIEWS, Inputs

SUMMARY = {"title": "T", "problem": "sssp", "graphs": ["g", "h"]}


def experiment(**settings):
    return Experiment.model_validate({**SUMMARY, **settings})


@pytest.fixture
def write(tmp_path):
    """Write one point's samples; columns are constants or lists of a value a row."""

    def one(name, variant, rows, backend="cpu", graph="g", **constant):
        point = {"experiment": "e", "problem": "sssp", "backend": backend, "graph": graph, "variant": variant}
        point |= {"transfer_seconds": 0.5, "memory": 100, "host": "here", **constant}
        defaults = {"query": "1", "round": 0, "total_seconds": 9.0}
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.Table.from_pylist([point | defaults | row for row in rows]), path)
        return path

    return one


def shown(view, settings, samples=(), graphs=()):
    described = experiment(view=view, **settings)
    table, figure = VIEWS[view](described, Inputs(list(samples), list(graphs)))
    return table, figure


def seconds(*values, **counters):
    return [
        {"seconds": value, **{name: counts[i] for name, counts in counters.items()}} for i, value in enumerate(values)
    ]


def row(table, **keys):
    found = table
    for name, value in keys.items():
        found = found[found[name] == value]
    assert len(found) == 1, found
    return found.iloc[0]


def test_summary_gives_median_and_quartiles(write):
    path = write("a", "adaptive", seconds(1.0, 2.0, 4.0, 8.0, 100.0, switches=[1, 1, 3, 5, 5]), threshold_up=10)
    settings = {
        "variants": {"adaptive": {"threshold_up": [10]}},
        "quantities": [*QUANTITIES, "switches", "listed"],
    }
    table, figure = shown("summary", settings, [path])
    # A counter that this variant does not have makes no row.
    assert list(table["quantity"]) == [*QUANTITIES, "switches"]
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
    assert (mark.seconds, mark.mean_seconds, mark.q1, mark.q3, mark.switches) == (4.0, 23.0, 2.0, 8.0, 3)
    assert "host" not in figure and "memory" not in figure


def test_summary_knows_the_sizes_of_the_graphs(write, folder):
    samples = [write(graph, "fast", seconds(1.0), graph=graph) for graph in ("g", "no-graph")]
    _, figure = shown("summary", {"variants": ["fast"]}, samples, [folder("g", None)])
    assert figure["vertices"].tolist()[:1] == [4] and figure["arcs"].tolist()[:1] == [5]
    assert figure["vertices"].isna().tolist() == [False, True]


def test_one_sample_has_no_quartiles(write):
    table, _ = shown(
        "summary", {"variants": ["adaptive"], "quantities": ["time"]}, [write("a", "adaptive", seconds(2))]
    )
    assert table.iloc[0].ours == 2 and table.iloc[0].samples == 1
    assert table[["q1", "q3"]].isna().all(axis=None)


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
            # Median and mean differ: the mean counts.
            samples.append(write(f"base{backend}{graph}", "conventional", seconds(0, 0, 3 * base), **where))
        for threshold in (10, 20):
            times = seconds(ours * threshold / 10)
            samples.append(write(f"{backend}{graph}{threshold}", "adaptive", times, **where, threshold_up=threshold))
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
    samples = [
        write(f"{variant}{n}", variant, seconds(time), n=n)
        for variant, n, time in (("tiled", 8, 4.0), ("tiled", 16, 9.0), ("fast", 8, 1.0), ("fast", 16, 3.0))
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
    counts = {"7": [3, 50], "8": [5, 6, 20]}
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
    assert list(two["seconds"]) == [2.0, 1.0, 1.5] and list(two["updated"]) == [5, 6, 20]
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


def test_a_long_series_is_thinned_in_the_figure_alone(write):
    phases = 5 * views.POINTS
    rows = [{"seconds": 1.0, "phase_seconds": [1e-3] * phases, "phase_updated": list(range(phases))}]
    table, figure = shown("phases", PHASES, [write("long", "conventional", rows)])
    assert len(figure) == views.POINTS and list(figure["phase"][:3]) == [1, 6, 11]
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
    """A graph of 4 vertices with out-degrees 2, 0, 3, 0."""

    def one(name, weights):
        offsets, targets = np.array([0, 2, 2, 5, 5], np.int64), np.array([1, 2, 0, 1, 3], np.int32)
        graph = Graph(offsets, targets, None if weights is None else np.array(weights, np.uint32))
        write_graph(graph, tmp_path / name)
        return tmp_path / name

    return one


def test_graphs_are_described_by_degrees_and_weights(folder):
    settings = {"variants": {}, "problem": None}
    table, figure = shown("graphs", settings, graphs=[folder("g", [1, 1, 2, 4, 2]), folder("h", None)])
    assert table[table["graph"] == "g"].set_index("quantity")["ours"].to_dict() == {
        "vertices": 4,
        "arcs": 5,
        "mean degree": 1.25,
        "largest degree": 3,
        "weight mean": 2,
        "weight standard deviation": pytest.approx(np.sqrt(6 / 5)),
        "weight least": 1,
        "weight largest": 4,
    }
    assert set(table[table["graph"] == "h"]["quantity"]) == {"vertices", "arcs", "mean degree", "largest degree"}
    g = figure[figure["graph"] == "g"]
    assert dict(zip(g["degree"], g["share"], strict=True)) == {0: 0.5, 2: 0.75, 3: 1.0}


def test_weights_are_shown_as_a_distribution(folder):
    settings = {"variants": {}, "problem": None}
    table, figure = shown("weights", settings, graphs=[folder("g", [1, 1, 2, 4, 2]), folder("h", None)])
    assert set(table["graph"]) == set(figure["graph"]) == {"g"}
    assert dict(zip(figure["weight"], figure["share"], strict=True)) == {1: 0.4, 2: 0.8, 4: 1.0}


@given(hnp.arrays(np.int64, st.integers(1, 2000), elements=st.integers(-50, 50)))
def test_a_cdf_says_the_share_at_or_below(values):
    cdf = views._cdf(pd.Series(values), "x")
    assert len(cdf) <= views.POINTS and cdf["x"].is_monotonic_increasing and cdf["x"].is_unique
    assert cdf["share"].iloc[-1] == 1 and cdf["x"].iloc[0] == values.min()
    for x, share in cdf.itertuples(index=False):
        assert share == (values <= x).mean()


def test_no_column_of_the_machine_is_taken_for_a_counter():
    columns = set(provenance("cpu", 1))
    # What a GPU adds cannot be asked here: read it off the function.
    tree = ast.parse((Path(views.__file__).parents[1] / "kernels/cuda/__init__.py").read_text())
    (describe,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "describe")
    (returned,) = (node.value for node in ast.walk(describe) if isinstance(node, ast.Return))
    columns |= {key.value for key in returned.keys}
    assert len(columns) > 10 and columns <= views._PLAIN
