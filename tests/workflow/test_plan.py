import copy
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saitan import cuda, problem
from saitan.workflow.config import load
from saitan.workflow.graphs.catalogue import CATALOGUE
from saitan.workflow.plan import NO_NVCC, Plan, Skipped, combinations, pattern, plan_from

ENTRIES = CATALOGUE.validate_python(
    {
        "grid": {
            "title": "G",
            "generator": "grid",
            "parameters": {"width": 3, "height": 3, "weight_low": 1, "weight_high": 2, "seed": 1},
        },
        "ring": {"title": "R", "generator": "ring", "parameters": {"vertices": 5, "seed": 1}, "models": "kanto"},
        "road": {
            "title": "D",
            "url": "http://host/road.gr.gz",
            "format": "dimacs",
            "coordinates": {"url": "http://host/road.co.gz"},
        },
        "hidden": {"title": "H", "file": "hidden.gr", "format": "pace"},
    }
)
EXPERIMENT = {
    "title": "Tiny",
    "problem": "sssp",
    "graphs": ["grid", "ring"],
    "variants": {"adaptive": {"threshold_up": [10, 100]}, "conventional": {}},
    "queries": 3,
    "seed": 4,
}
TROPICAL = {"title": "Product", "problem": "tropical", "variants": ["tiled"], "instance": {"n": [32, 64]}}


@pytest.fixture(autouse=True)
def without_gpu(monkeypatch):
    gpu(monkeypatch, "no driver")


def gpu(monkeypatch, reason, nvcc="/nvcc"):
    """A machine whose GPU cannot be used for this reason (None: it can), with or without nvcc."""
    monkeypatch.setattr(cuda, "unusable", lambda: reason)
    monkeypatch.setattr(cuda, "arch", lambda: "sm_90")
    monkeypatch.setattr(cuda, "find_nvcc", lambda: nvcc)


def plan(experiment=EXPERIMENT, settings=None, absent=None, **changes):
    described = {**copy.deepcopy(experiment), **changes}
    config = load({"experiments": {"tiny": described}, **(settings or {})}, ENTRIES)
    return Plan(config, ENTRIES, absent or {})


def samples(plan):
    return {point.samples for point in plan.points}


def test_a_point_for_every_choice_and_its_path_says_which():
    assert samples(plan()) == {
        f"results/samples/tiny/cpu/{graph}/{point}.parquet"
        for graph in ("grid", "ring")
        for point in ("adaptive/threshold_up~10", "adaptive/threshold_up~100", "conventional/default")
    }
    product = plan(TROPICAL, variants={"fast": {"reuse": [True, False]}}, instance={"n": [32], "by": "tile"})
    assert samples(product) == {
        f"results/samples/tiny/cpu/no-graph/fast/n~32,by~tile,reuse~{reuse}.parquet" for reuse in (True, False)
    }


@given(st.lists(st.integers(1, 10**6), unique=True, min_size=1, max_size=5), st.integers(1, 10**6))
def test_one_more_value_adds_exactly_its_own_path(values, more):
    def swept(values):
        return samples(plan(variants={"adaptive": {"threshold_up": values}}, graphs=["grid"]))

    before, after = swept(values), swept(list(dict.fromkeys([*values, more])))
    assert len(before) == len(values)
    assert after - before == (
        set() if more in values else {f"results/samples/tiny/cpu/grid/adaptive/threshold_up~{more}.parquet"}
    )
    assert before <= after


def test_patterns_and_combinations():
    assert pattern({}) == "default"
    assert pattern({"threshold_up": 350, "threshold_down": 330.5}) == "threshold_up~350,threshold_down~330.5"
    assert list(combinations({})) == [{}]
    assert list(combinations({"a": [1, 2], "b": ["x"]})) == [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}]


def test_a_job_finds_its_point_by_its_wildcards():
    made = plan()

    class Wildcards:
        experiment, backend, graph, variant, point = "tiny", "cpu", "ring", "adaptive", "threshold_up~100"

    found = made.point(Wildcards)
    assert (found.graph, found.parameters) == ("ring", {"threshold_up": 100})
    settings = json.loads(made.measure_settings(found))
    assert settings["parameters"] == {"threshold_up": 100} and settings["budget_s"] == 10 and not settings["traced"]
    assert made.queries_of(found) == "results/instances/sssp/ring/default/3-4.queries.json"
    assert made.reference_of(found) == "results/instances/sssp/ring/default/3-4.reference.npz"
    Wildcards.problem, Wildcards.instance, Wildcards.drawn, Wildcards.seed = "sssp", "default", "3", "4"
    assert json.loads(made.query_settings(Wildcards)) == {"problem": "sssp", "instance": {}, "queries": 3, "seed": 4}


def test_an_experiments_measure_overrides_the_runs():
    made = plan(settings={"measure": {"max_rounds": 7, "warmup": 3}}, measure={"max_rounds": 2}, view="phases")
    settings = json.loads(made.measure_settings(made.points[0]))
    assert (settings["max_rounds"], settings["warmup"], settings["min_rounds"]) == (2, 3, 2)
    assert settings["traced"]


@pytest.mark.parametrize(
    ("choice", "reason", "backends", "skipped"),
    [
        ("auto", "no driver", ["cpu"], [Skipped("backend cuda", "no driver")]),
        ("both", "no driver", ["cpu"], [Skipped("backend cuda", "no driver")]),
        ("cpu", "no driver", ["cpu"], []),
        ("auto", None, ["cuda"], []),
        ("both", None, ["cpu", "cuda"], []),
        ("cpu", None, ["cpu"], []),
        ("cuda", None, ["cuda"], []),
    ],
)
def test_backends(monkeypatch, choice, reason, backends, skipped):
    gpu(monkeypatch, reason)
    made = plan(settings={"backend": choice})
    assert made.backends == backends == list(dict.fromkeys(point.backend for point in made.points))
    assert made.skipped == skipped


def test_without_nvcc_the_cpu_goes_on(monkeypatch):
    gpu(monkeypatch, None, nvcc=None)
    made = plan(settings={"backend": "both"})
    assert made.backends == ["cpu"] and made.architectures == [] and made.cubins == []
    assert made.skipped == [Skipped("backend cuda", NO_NVCC), Skipped("compiling the CUDA kernels", NO_NVCC)]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"backend": "cuda"}, "config: backend: cuda cannot be used here (no driver); auto, both and cpu can"),
        ({"mirror": "no/folder"}, "config: mirror: no/folder is no folder and no address (http://... or https://...)"),
        ({"backend": 3}, "config: backend: input should be 'auto', 'both', 'cpu' or 'cuda', not 3"),
    ],
)
def test_what_cannot_be_planned_ends_in_one_line(monkeypatch, settings, says):
    monkeypatch.chdir(Path(__file__).parents[2])
    with pytest.raises(SystemExit) as caught:
        plan_from({"experiments": {"tiny": {**EXPERIMENT, "graphs": ["grid-128"]}}, **settings})
    assert caught.value.code == says


def test_architectures_and_cubins(monkeypatch):
    assert plan().architectures == ["sm_80", "sm_90"]
    assert plan(settings={"architectures": ["sm_75"]}).architectures == ["sm_75"]
    gpu(monkeypatch, None)
    made = plan(settings={"backend": "both", "architectures": ["sm_75"]}, graphs=["grid"])
    assert {path.split("/")[2] for path in made.cubins} == {"sm_75"}
    assert "results/cubins/sm_75/sssp/phases.cubin" in made.cubins
    assert "results/cubins/sm_75/sssp/phases.resources.json" in made.resources
    on = {point.backend: point for point in made.points if point.variant == "conventional"}
    # A measured point loads what the device runs, whatever else is compiled.
    own = [f"sssp/{stem}" for stem in problem.problem("sssp").VARIANTS["conventional"].cubins]
    assert made.cubins_of(on["cuda"]) == [f"results/cubins/sm_90/{name}.cubin" for name in [*own, "cuda/gate"]]
    assert "results/cubins/sm_75/cuda/gate.cubin" in made.cubins
    assert made.cubins_of(on["cpu"]) == [] and made.cubin_folder(on["cpu"]) == ""
    assert made.cubin_folder(on["cuda"]) == "results/cubins/sm_90"
    gpu(monkeypatch, None)
    assert plan().architectures == ["sm_90"]


def test_what_a_points_numbers_depend_on(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    gpu(monkeypatch, None)
    made = plan(settings={"backend": "both"})
    drivers = {point.backend: made.drivers_of(point) for point in made.points}
    both = {"kernels/sssp/__init__.py", "kernels/sssp/phases.py", "kernels/graph.py", "workflow/measure.py"}
    assert both <= set(drivers["cpu"]) and both <= set(drivers["cuda"])
    assert "kernels/atomics.py" in drivers["cpu"]
    assert not [path for path in drivers["cpu"] if "cuda" in path]
    assert {"kernels/sssp/cuda.py", "kernels/cuda/module.py", "kernels/cuda/timing.py"} <= set(drivers["cuda"])
    assert all(Path(path).exists() for path in (*drivers["cpu"], *drivers["cuda"]))
    product = plan(TROPICAL, settings={"backend": "cpu"})
    assert not [path for path in product.drivers_of(product.points[0]) if "cuda" in path]


def test_variants_that_cannot_run_are_named(monkeypatch):
    gpu(monkeypatch, None)
    made = plan(settings={"backend": "cuda"}, variants=["adaptive", "scipy"])
    assert {point.variant for point in made.points} == {"adaptive"}
    assert made.skipped == [Skipped("scipy on cuda in tiny", "scipy has no cuda implementation")]
    absent = problem.Variant("x", cpu="a:B", peer=("no_such_module", "peers"))
    monkeypatch.setitem(problem.problem("sssp").VARIANTS, "scipy", absent)
    made = plan(settings={"backend": "cpu"}, variants=["adaptive", "scipy"])
    assert {point.variant for point in made.points} == {"adaptive"}
    reason = "no_such_module is not installed (pip install -e '.[peers]')"
    assert made.skipped == [Skipped("scipy on cpu in tiny", reason)]
    # On two backends a peer of one of them lacks nothing.
    made = plan(settings={"backend": "both"}, variants=["scipy"])
    assert made.points == [] and made.skipped == [Skipped("scipy on cpu in tiny", reason)]


def test_graphs_that_a_mirror_lacks_leave_the_run(tmp_path, monkeypatch):
    made = plan(absent={"ring": "the mirror has no ring"}, settings={"backend": "cpu"})
    assert {point.graph for point in made.points} == {"grid"}
    assert made.graphs == ["grid"] == made.graphs_of("tiny")
    assert made.skipped == [Skipped("graph ring", "the mirror has no ring")]
    monkeypatch.chdir(Path(__file__).parents[2])
    (tmp_path / "USA-road-d.BAY.gr.gz").touch()
    (tmp_path / "USA-road-d.NY.gr.gz").touch()
    roads = {**EXPERIMENT, "graphs": ["USA-road-d.NY", "USA-road-d.BAY", "USA-road-d.COL"]}
    run = {"backend": "cpu", "experiments": {"tiny": roads}}
    made = plan_from({**run, "mirror": str(tmp_path)})
    assert made.graphs == ["USA-road-d.BAY"]
    assert [left_out for left_out in made.skipped if left_out.what.startswith("graph")] == [
        # New York's entry has coordinates too.
        Skipped("graph USA-road-d.NY", f"the mirror {tmp_path} has no USA-road-d.NY.co.gz"),
        Skipped("graph USA-road-d.COL", f"the mirror {tmp_path} has no USA-road-d.COL.gr.gz"),
    ]
    # An address is not asked before it is needed; without a mirror a graph that only mirrors have is left out.
    assert plan_from({**run, "mirror": "http://host/folder"}).absent == {}
    assert "set `mirror` to its folder or address" in plan_from(run).absent["COL-topology-drawn"]


def test_an_experiment_of_which_nothing_can_run_shows_nothing():
    figure = {"mark": "bar", "x": "graph", "y": "seconds"}
    assert plan(absent={"grid": "-", "ring": "-"}, figure=figure).shown_of("tiny") == []
    assert plan(figure=figure).shown_of("tiny") == [
        "results/tables/tiny.parquet",
        "results/tables/tiny.csv",
        "results/figures/tiny.svg",
        "results/figures/tiny.json",
    ]
    assert plan().shown_of("tiny") == ["results/tables/tiny.parquet", "results/tables/tiny.csv"]
    described = plan({"title": "Maps", "view": "graphs", "graphs": ["road"]})
    assert described.points == [] and described.shown_of("tiny")


def test_graphs_and_the_steps_that_make_them():
    made = plan()
    assert (made.generated, made.downloaded) == (["grid", "ring"], ["road", "hidden"])
    assert made.graph_files("no-graph") == [] and made.graph_option("no-graph") == ""
    assert made.graph_files("grid") == [f"results/graphs/grid/{name}.parquet" for name in ("vertices", "edges")]
    assert made.downloads_of("road") == ["results/downloads/road.gr.gz", "results/downloads/road.co.gz"]
    assert made.downloads_of("grid") == []
    assert made.fetch_settings("road.co.gz") == "--url http://host/road.co.gz"
    assert made.fetch_settings("hidden.gr") == "--url hidden.gr"
    assert "--coordinates results/downloads/road.co.gz" in made.convert_settings("road")
    assert "--coordinates" not in made.convert_settings("hidden")
    modules = [f"kernels/generators/{name}.py" for name in ("draw", "lattice", "regular")]
    assert made.generator_modules("ring") == modules
    assert json.loads(made.models_of("tiny")) == {"ring": "kanto"}
    assert Plan.any_of(["a.b", "c"]) == r"a\.b|c"


def test_what_is_left_out_is_said_once(capsys):
    made = plan(settings={"backend": "auto"})
    _ = made.points, made.points
    made.skipped *= 2
    made.say_skipped()
    assert capsys.readouterr().err == "skipped: backend cuda: no driver\n"


def test_what_was_found_is_said_for_the_whole_run_only(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    made = plan()
    made.say_found([])
    assert capsys.readouterr().err == ""
    (tmp_path / "results").mkdir()
    (tmp_path / "results/report.txt").write_text("report: here\n")
    made.say_found(["tiny"])
    assert capsys.readouterr().err == ""
    made.say_found(["all"])
    assert capsys.readouterr().err == "report: here\n"
