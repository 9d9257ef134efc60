"""The view that compares a variant with every other."""

from samples import seconds
from shown import row, shown

from saitan.workflow.bests import bests


def test_rivals_are_compared_with_the_baseline_the_worst_graph_first(write_point):
    times = {
        # First: those after it are compared all the same.
        ("cpu", "without"): {"conventional": 1.0, "scipy": 1.0},
        ("cpu", "g"): {"fast": 2.0, "conventional": 8.0, "scipy": 6.0},
        ("cpu", "h"): {"fast": 5.0, "conventional": 4.0, "scipy": 50.0},
        ("cpu", "alone"): {"fast": 1.0},
        ("cuda", "g"): {"fast": 1.0, "conventional": 2.0},
        # Beside a GPU are other people's solvers, on the CPU; ours there are not.
        ("cuda", "h"): {"fast": 12.5, "conventional": 200.0},
    }
    samples = [
        write_point(f"{variant}{backend}{graph}", variant, seconds(value, phases=[7]), backend=backend, graph=graph)
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


def test_a_baseline_that_only_the_cpu_has_is_compared_once_with_those_of_a_gpu_too(write_point):
    times = {("scipy", "cpu"): 8.0, ("fast", "cpu"): 4.0, ("fast", "cuda"): 1.0, ("conventional", "cuda"): 16.0}
    samples = [
        write_point(f"{variant}{backend}", variant, seconds(value), backend=backend)
        for (variant, backend), value in times.items()
    ]
    settings = {"variants": ["fast", "conventional", "scipy"], "quantities": ["memory"], "baseline": "scipy"}
    table, figure = shown("rivals", settings, samples)
    assert set(zip(table["variant"], table["backend"], strict=True)) == {("scipy", "cpu")}
    assert dict(zip(table["quantity"], table["ours"], strict=True)) == {
        "time": 8.0,
        "over the best of the others": 1 / 8,
        "over fast": 0.5,
        "over fast on cuda": 1 / 8,
        "over conventional on cuda": 2.0,
    } | {row.quantity: row.ours for row in table.itertuples() if row.quantity == "memory"}
    assert not table["quantity"].duplicated().any() and figure["ratio"].tolist() == [1 / 8]
    # Of the GPU alone, too.
    table, _ = shown("rivals", settings, [samples[0], *samples[2:]])
    assert row(table, quantity="over the best of the others").ours == 1 / 8
    assert "over fast" not in set(table["quantity"])


def test_over_a_best_that_is_0_there_is_no_ratio(write_point):
    times = {"g": (2.0, 0.0, 4.0), "h": (0.0, 1.0, 4.0), "i": (2.0, 3.0, 4.0)}
    samples = [
        write_point(f"{variant}{graph}", variant, seconds(value), graph=graph)
        for graph, values in times.items()
        for variant, value in zip(("fast", "conventional", "scipy"), values, strict=True)
    ]
    settings = {"variants": ["fast", "conventional", "scipy"], "quantities": ["time"], "baseline": "fast"}
    table, _ = shown("rivals", settings, samples)
    ratios = table[table["quantity"].str.startswith("over ")]
    assert {(r.graph, r.quantity): r.ours for r in ratios.itertuples()} == {
        ("g", "over scipy"): 2.0,
        ("i", "over the best of the others"): 1.5,
        ("i", "over conventional"): 1.5,
        ("i", "over scipy"): 2.0,
    }


def test_of_a_baseline_with_several_points_the_best_alone_is_shown(write_point):
    """Its other points would make a contest in which the others have no part, and a loser its winner."""
    samples = [
        write_point("a", "adaptive", seconds(4.0, phases=[9]), parameters={"threshold_up": 30}),
        write_point("b", "adaptive", seconds(3.0, phases=[8]), parameters={"threshold_up": 300}),
        write_point("f", "fast", seconds(1.0)),
    ]
    settings = {"variants": {"adaptive": {"threshold_up": [30, 300]}, "fast": {}}, "quantities": ["phases"]}
    table, figure = shown("rivals", {**settings, "baseline": "adaptive"}, samples)
    assert set(table["threshold_up"]) == {300} and set(table["variant"]) == {"adaptive"}
    ours = dict(zip(table["quantity"], table["ours"], strict=True))
    assert ours == {"time": 3.0, "phases": 8, "over the best of the others": 1 / 3, "over fast": 1 / 3}
    assert figure["ratio"].tolist() == [1 / 3]
    (found,) = bests(table, "sssp", [])
    assert found.contenders == 1


def test_a_ratio_to_a_rival_is_as_doubtful_as_both(write_point):
    samples = [
        write_point("fast", "fast", seconds(2.0)),
        write_point("scipy", "scipy", seconds(4.0), settled=False),
        write_point("conventional", "conventional", seconds(8.0), disturbed=["other load"]),
        write_point("fast-h", "fast", seconds(1.0), graph="h", disturbed=["the clock moved"]),
        write_point("conventional-h", "conventional", seconds(9.0), graph="h", disturbed=["other load"]),
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


def test_rivals_have_the_same_number_of_cores(write_point):
    times = {("fast", 2): 2.0, ("conventional", 2): 4.0, ("conventional", 1): 3.0}
    samples = [write_point(f"{name}{cores}", name, seconds(s), cores=cores) for (name, cores), s in times.items()]
    table, _ = shown("rivals", {"variants": ["fast", "conventional"], "baseline": "fast"}, samples)
    assert row(table, quantity="over conventional").ours == 2.0
