import copy
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saitan import problem
from saitan.workflow import modules
from saitan.workflow.arrays import Array
from saitan.workflow.config import ConfigError, load
from saitan.workflow.graphs.catalogue import CATALOGUE
from saitan.workflow.machine import NO_NVCC, Machine
from saitan.workflow.plan import Plan, Skipped
from saitan.workflow.planning import check_named, make, plan_from
from saitan.workflow.points import combinations, digest, pattern

ROOT = Path(__file__).parents[2]
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


WITHOUT = Machine("no driver", None, True)
GPU = Machine(None, "sm_90", True)


def plan(experiment=EXPERIMENT, settings=None, absent=None, machine=WITHOUT, **changes):
    described = {**copy.deepcopy(experiment), **changes}
    return planned({"tiny": described}, settings, absent, machine)


def planned(experiments, settings=None, absent=None, machine=WITHOUT):
    config = load({"name": "run", "experiments": experiments, **(settings or {})}, ENTRIES)
    return make(config, machine, ENTRIES, {}, absent or {})


def samples(plan):
    return {point.samples for point in plan.points}


def test_a_point_for_every_choice_and_its_path_says_which():
    assert samples(plan()) == {
        f"results/run/samples/tiny/cpu/{graph}/{point}.parquet"
        for graph in ("grid", "ring")
        for point in ("adaptive/threshold_up~10", "adaptive/threshold_up~100", "conventional/default")
    }
    product = plan(TROPICAL, variants={"fast": {"reuse": [True, False]}}, instance={"n": [32], "by": "tile"})
    assert samples(product) == {
        f"results/run/samples/tiny/cpu/no-graph/fast/n~32,by~tile,reuse~{reuse}.parquet" for reuse in (True, False)
    }


def test_a_run_of_another_name_has_files_of_its_own():
    one, other = plan(), plan(settings={"name": "other"})
    assert not samples(one) & samples(other) and one.report == "results/run/report.html"
    # What both make alike they share.
    assert [one.queries_of(p) for p in one.points] == [other.queries_of(p) for p in other.points]
    assert [p.identity for p in one.points] == [p.identity for p in other.points]


@given(st.lists(st.integers(1, 10**6), unique=True, min_size=1, max_size=5), st.integers(1, 10**6))
def test_one_more_value_adds_exactly_its_own_path(values, more):
    def swept(values):
        return samples(plan(variants={"adaptive": {"threshold_up": values}}, graphs=["grid"]))

    before, after = swept(values), swept(list(dict.fromkeys([*values, more])))
    assert len(before) == len(values)
    assert after - before == (
        set() if more in values else {f"results/run/samples/tiny/cpu/grid/adaptive/threshold_up~{more}.parquet"}
    )
    assert before <= after


def test_patterns_and_combinations():
    assert pattern({}) == "default"
    assert pattern({"threshold_up": 350, "threshold_down": 330.5}) == "threshold_up~350,threshold_down~330.5"
    assert list(combinations({})) == [{}]
    assert list(combinations({"a": [1, 2], "b": ["x"]})) == [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}]


def test_a_digest_is_of_values_and_not_of_their_order():
    assert digest({"a": 1, "b": [2, Path("c")]}) == digest({"b": [2, "c"], "a": 1}) == "c74110cb2a9ea6d0"
    assert digest({"a": 1}) != digest({"a": 2})


def test_a_job_finds_its_point_by_its_wildcards():
    made = plan()

    class Wildcards:
        experiment, backend, graph, variant, point = "tiny", "cpu", "ring", "adaptive", "threshold_up~100"

    found = made.point(Wildcards)
    assert (found.graph, found.parameters) == ("ring", {"threshold_up": 100})
    settings = json.loads(made.measure_settings(found))
    assert settings["parameters"] == {"threshold_up": 100} and settings["budget_s"] == 10 and not settings["traced"]
    assert settings["identity"] == found.identity
    assert found.log == "results/run/logs/measure/tiny/cpu/ring/adaptive/threshold_up~100.log"
    assert made.queries_of(found) == "results/instances/sssp/ring/default/3-4.queries.json"
    assert made.reference_of(found) == "results/instances/sssp/ring/default/3-4.reference.npz"
    Wildcards.problem, Wildcards.data, Wildcards.instance = "sssp", "ring", "default"
    Wildcards.drawn, Wildcards.seed = "3", "4"
    assert json.loads(made.query_settings(Wildcards)) == {"problem": "sssp", "instance": {}, "queries": 3, "seed": 4}
    assert made.inputs_of(found) == made.graph_files("ring") and made.input_option(found) == made.graph_option("ring")
    product = plan(TROPICAL)
    assert product.inputs_of(product.points[0]) == [] and product.input_option(product.points[0]) == ""


def test_an_experiments_measure_overrides_the_runs():
    made = plan(settings={"measure": {"max_rounds": 7, "warmup": 3}}, measure={"max_rounds": 2}, view="phases")
    settings = json.loads(made.measure_settings(made.points[0]))
    assert (settings["max_rounds"], settings["warmup"], settings["min_rounds"]) == (2, 3, 3)
    assert settings["traced"]


CUDA_OFF = Skipped("backend cuda", "no driver")


@pytest.mark.parametrize(
    ("choice", "machine", "backends", "skipped"),
    [
        ("auto", WITHOUT, ["cpu"], [CUDA_OFF]),
        ("both", WITHOUT, ["cpu"], [CUDA_OFF]),
        ("cpu", WITHOUT, ["cpu"], []),
        ("auto", GPU, ["cuda"], []),
        ("both", GPU, ["cpu", "cuda"], []),
        ("cpu", GPU, ["cpu"], []),
        ("cuda", GPU, ["cuda"], []),
        ("both", replace(GPU, nvcc=False), ["cpu"], [Skipped("backend cuda", NO_NVCC)]),
    ],
)
def test_backends(choice, machine, backends, skipped):
    made = plan(settings={"backend": choice}, machine=machine)
    assert made.backends == backends == list(dict.fromkeys(point.backend for point in made.points))
    assert made.skipped == skipped
    assert made.needed_cubins == (made.cubins if "cuda" in backends else [])


def test_a_configuration_that_names_architectures_speaks_of_the_jobs_machines():
    """On a login node: no GPU, and the jobs have one."""
    settings = {"backend": "cuda", "architectures": ["sm_80", "sm_90"]}
    made = plan(settings=settings, variants=["conventional"], graphs=["grid"])
    assert made.backends == ["cuda"] and made.skipped == [] and made.architectures == ["sm_80", "sm_90"]
    (point,) = made.points
    own = [f"sssp/{stem}" for stem in problem.problem("sssp").VARIANTS["conventional"].cubins]
    wanted = {f"results/cubins/{arch}/{name}.cubin" for arch in ("sm_80", "sm_90") for name in own}
    assert wanted <= set(made.cubins_of(point)) and set(made.cubins_of(point)) <= set(made.needed_cubins)
    with pytest.raises(ConfigError, match="name their `architectures`"):
        plan(settings={"backend": "cuda"})
    # A choice that is left to the machine is left to this one.
    made = plan(settings={**settings, "backend": "auto"})
    assert made.backends == ["cpu"] and made.skipped == [CUDA_OFF]
    with pytest.raises(ConfigError, match="nvcc"):
        plan(settings=settings, machine=replace(WITHOUT, nvcc=False))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"backend": "cuda"},
            "config: backend: cuda cannot be used here (no driver); auto, both and cpu can; where jobs run on other"
            " machines, name their `architectures`",
        ),
        ({"mirror": "no/folder"}, "config: mirror: no/folder is no folder and no address (http://... or https://...)"),
        ({"backend": 3}, "config: backend: input should be 'auto', 'both', 'cpu' or 'cuda', not 3"),
    ],
)
def test_what_cannot_be_planned_ends_in_one_line(monkeypatch, settings, says):
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit) as caught:
        from_file({"experiments": {"tiny": {**EXPERIMENT, "graphs": ["grid-128"]}}, **settings})
    assert caught.value.code == says


def from_file(raw, machine=WITHOUT, configfiles=("config/my-roads.v2.yaml",)):
    return plan_from(raw, root=ROOT, configfiles=configfiles, jobs_machine=machine)


def test_a_run_without_a_name_has_its_files(monkeypatch, tmp_path):
    raw = {"experiments": {"tiny": {**EXPERIMENT, "graphs": ["grid-128"]}}}
    monkeypatch.chdir(ROOT)
    assert from_file(raw).run == "results/my_roads_v2" and from_file(raw).root == ""
    assert from_file({**raw, "name": "mine"}).run == "results/mine"
    # From elsewhere sources are named by the way there.
    monkeypatch.chdir(tmp_path)
    made = from_file(raw)
    assert (tmp_path / made.source("kernels/graph.py")).exists() and made.root.endswith("/")


def test_cubins_are_those_of_the_device_or_asked_for():
    # Nothing is compiled where nothing can use it, unless asked for.
    made = plan(graphs=["grid"])
    assert made.needed_cubins == [] and made.resources == []
    assert {path.split("/")[2] for path in made.cubins} == {"sm_80", "sm_90"}
    assert plan(machine=replace(WITHOUT, nvcc=False)).cubins == []
    made = plan(settings={"backend": "both"}, machine=GPU, graphs=["grid"])
    assert {path.split("/")[2] for path in made.cubins} == {"sm_90"}
    assert "results/cubins/sm_90/sssp/phases.cubin" in made.needed_cubins
    assert "results/cubins/sm_90/sssp/phases.resources.json" in made.resources
    on = {point.backend: point for point in made.points if point.variant == "conventional"}
    own = [f"sssp/{stem}" for stem in problem.problem("sssp").VARIANTS["conventional"].cubins]
    assert set(made.cubins_of(on["cuda"])) >= {f"results/cubins/sm_90/{name}.cubin" for name in [*own, "cuda/gate"]}
    assert made.cubins_of(on["cpu"]) == []


def identities(**settings):
    return {(p.backend, p.variant, p.point): p.identity for p in plan(machine=GPU, graphs=["grid"], **settings).points}


BOTH = {"settings": {"backend": "both"}}


def changed(before, after):
    return {key for key in before if before[key] != after[key]}


@pytest.fixture
def edited(monkeypatch):
    """Pretend that the code of a module is another one."""

    def edit(module):
        known = modules._code
        path = modules.source(module)
        monkeypatch.setattr(modules, "_code", lambda asked: "other" if asked == path else known(asked))

    return edit


@pytest.mark.parametrize(
    ("module", "variants"),
    [
        ("saitan.graph", {"cpu", "cuda"}),
        ("saitan.blocks", {"cpu", "cuda"}),
        ("saitan.sssp", {"cpu", "cuda"}),
        ("saitan.sssp.phases", {"cpu", "cuda"}),
        ("saitan.workflow.measure", {"cpu", "cuda"}),
        ("saitan.workflow.sampling", {"cpu", "cuda"}),
        ("saitan.workflow.instances", {"cpu", "cuda"}),
        ("saitan.atomics", {"cpu", "cuda"}),
        ("saitan.sssp.cpu", {"cpu"}),
        ("saitan.sssp.cuda", {"cuda"}),
        ("saitan.cuda.timing", {"cuda"}),
        ("saitan.sssp.cpu_phast", set()),
        ("saitan.tropical.cpu", set()),
        ("saitan.workflow.report", set()),
    ],
)
def test_a_point_depends_on_the_modules_that_it_imports(edited, module, variants):
    before = identities(**BOTH)
    edited(module)
    touched = {backend for backend, _, _ in changed(before, identities(**BOTH))}
    assert touched >= variants and (variants or not touched)
    if variants in ({"cpu"}, {"cuda"}):
        assert touched == variants


def test_queries_are_drawn_again_when_the_code_that_draws_them_changes(edited):
    codes = [plan().query_code("sssp"), plan().query_code("tropical")]
    edited("saitan.workflow.queries")
    assert not set(codes) & {plan().query_code("sssp"), plan().query_code("tropical")}
    codes = [plan().query_code("sssp"), plan().query_code("tropical")]
    edited("saitan.tropical.instances")
    assert plan().query_code("sssp") == codes[0] and plan().query_code("tropical") != codes[1]


def test_peers_and_the_fast_modules_are_their_variants_alone(edited):
    wanted = {"variants": ["conventional", "fast", "scipy"], "settings": {"backend": "cpu"}}
    before = identities(**wanted)
    edited("saitan.sssp.cpu_fast")
    assert {variant for _, variant, _ in changed(before, identities(**wanted))} == {"fast"}


def test_a_point_depends_on_its_kernels_and_their_headers(monkeypatch):
    before = identities(**BOTH)
    texts = []
    known = modules.text_digest

    def watched(paths):
        texts.extend(Path(path).name for path in paths)
        return known(paths) + "changed"

    monkeypatch.setattr(modules, "text_digest", watched)
    assert {backend for backend, _, _ in changed(before, identities(**BOTH))} == {"cuda"}
    assert {"phases.cu", "validate.cu", "gate.cu", "clock.cuh", "queue.cuh"} <= set(texts)
    assert "phast.cu" not in texts


@pytest.mark.parametrize(
    "change",
    [
        {"queries": 5},
        {"seed": 9},
        {"view": "phases"},
        {"measure": {"max_rounds": 3}},
        {"settings": {"backend": "both", "measure": {"spread": 0.5}}},
    ],
)
def test_another_configuration_is_another_identity(change):
    before = identities(**BOTH)
    assert changed(before, identities(**{**BOTH, **change})) == set(before)


def test_another_graph_under_the_same_name_is_another_identity():
    def identities_of(**changes):
        entries = {**ENTRIES, "grid": ENTRIES["grid"].model_copy(update=changes)}
        config = load({"name": "run", "experiments": {"tiny": EXPERIMENT}}, entries)
        return {(p.graph, p.variant, p.point): p.identity for p in make(config, WITHOUT, entries).points}

    before = identities_of()
    assert identities_of(title="Another") == before
    assert identities_of(models="kanto") == before
    parameters = {**ENTRIES["grid"].parameters, "seed": 2}
    assert {graph for graph, _, _ in changed(before, identities_of(parameters=parameters))} == {"grid"}


def test_another_peer_or_architecture_is_another_identity(monkeypatch):
    variants = problem.problem("sssp").VARIANTS
    before = identities(**BOTH)
    monkeypatch.setitem(variants, "conventional", replace(variants["conventional"], peer=("numpy", "peers")))
    assert {variant for _, variant, _ in changed(before, identities(**BOTH))} == {"conventional"}
    one, two = (
        identities(settings={"backend": "both", "architectures": [arch]}, variants=["adaptive"])
        for arch in ("sm_80", "sm_90")
    )
    assert {backend for backend, _, _ in changed(one, two)} == {"cuda"}


def test_what_is_only_shown_of_a_graph_makes_it_no_second_time():
    def settings(**changes):
        shown = {name: entry.model_copy(update=changes) for name, entry in ENTRIES.items()}
        made = make(load({"name": "run", "experiments": {"tiny": EXPERIMENT}}, shown), WITHOUT, shown)
        return made.generate_settings("grid")

    assert settings(title="Another", models="kanto") == settings()
    assert settings(drop_loops=True) != settings()


def test_titles_texts_and_charts_are_no_part_of_a_point():
    figure = {"mark": "bar", "x": "graph", "y": "seconds"}
    assert identities(**BOTH) == identities(**BOTH, title="Other", text="Other", figure=figure)
    assert plan().identity_of("tiny") == plan(title="Other", figure=figure).identity_of("tiny")
    assert plan().identity_of("tiny") != plan(quantities=["memory"]).identity_of("tiny")
    assert plan().identity_of("tiny") != plan(graphs=["grid"]).identity_of("tiny")


def test_cores_are_part_of_a_cpu_point():
    two, one = ({p.backend: p.identity for p in plan(machine=replace(GPU, cores=n), **BOTH).points} for n in (2, 1))
    assert two["cpu"] != one["cpu"] and two["cuda"] == one["cuda"]


def test_variants_that_cannot_run_are_named(monkeypatch):
    made = plan(settings={"backend": "cuda"}, machine=GPU, variants=["adaptive", "scipy"])
    assert {point.variant for point in made.points} == {"adaptive"}
    assert made.skipped == [Skipped("scipy on cuda in tiny", "scipy has no cuda implementation")]
    # A variant of ours lacks a backend of the run, even where it has another.
    made = plan(settings={"backend": "both"}, machine=GPU, variants=["fast"], graphs=["grid"])
    assert {point.backend for point in made.points} == {"cpu", "cuda"} and made.skipped == []
    variants = problem.problem("sssp").VARIANTS
    monkeypatch.setitem(variants, "fast", replace(variants["fast"], cuda=None))
    made = plan(settings={"backend": "both"}, machine=GPU, variants=["fast"], graphs=["grid"])
    assert {point.backend for point in made.points} == {"cpu"}
    assert made.skipped == [Skipped("fast on cuda in tiny", "fast has no cuda implementation")]
    absent = problem.Variant("x", cpu="saitan.sssp.peers:Scipy", peer=("no_such_module", "peers"))
    monkeypatch.setitem(problem.problem("sssp").VARIANTS, "scipy", absent)
    made = plan(settings={"backend": "cpu"}, variants=["adaptive", "scipy"])
    assert {point.variant for point in made.points} == {"adaptive"}
    reason = "no_such_module is not installed (pip install -e '.[peers]')"
    assert made.skipped == [Skipped("scipy on cpu in tiny", reason)]
    # On two backends a peer of one of them lacks nothing.
    made = plan(settings={"backend": "both"}, machine=GPU, variants=["scipy"])
    assert made.points == [] and made.skipped == [Skipped("scipy on cpu in tiny", reason)]


def test_what_a_variant_needs_is_known_to_the_plan(monkeypatch):
    variants = problem.problem("tropical").VARIANTS
    monkeypatch.setitem(variants, "tiled", replace(variants["tiled"], instance={"dtype": ("int32",)}))
    monkeypatch.setitem(variants, "fast", replace(variants["fast"], architecture="sm_100"))
    swept = {"variants": ["tiled", "fast"], "instance": {"dtype": ["float32", "int32"]}}
    made = plan(TROPICAL, machine=GPU, settings={"backend": "cuda"}, **swept)
    assert [(p.variant, p.instance["dtype"]) for p in made.points] == [("tiled", "int32")]
    assert made.skipped == [
        Skipped("tiled on cuda in tiny (dtype float32)", "tiled takes dtype int32 only, not float32"),
        *(
            Skipped(f"fast on cuda in tiny (dtype {dtype})", "fast needs a GPU of sm_100 or newer, this one is sm_90")
            for dtype in ("float32", "int32")
        ),
    ]
    # Of jobs' machines that the configuration speaks of it knows the architectures alone.
    newer = {"backend": "cuda", "architectures": ["sm_100"]}
    assert {p.variant for p in plan(TROPICAL, machine=GPU, settings=newer, **swept).points} == {"tiled", "fast"}
    # A default counts like a value that is given.
    assert plan(TROPICAL, variants=["tiled"]).points == []


def test_graphs_that_a_mirror_lacks_leave_the_run(tmp_path, monkeypatch):
    made = plan(absent={"ring": "the mirror has no ring"}, settings={"backend": "cpu"})
    assert {point.graph for point in made.points} == {"grid"}
    assert made.graphs == ["grid"] == made.graphs_of("tiny")
    assert made.skipped == [Skipped("graph ring", "the mirror has no ring")]
    monkeypatch.chdir(ROOT)
    (tmp_path / "USA-road-d.BAY.gr.gz").touch()
    (tmp_path / "USA-road-d.NY.gr.gz").touch()
    roads = {**EXPERIMENT, "graphs": ["USA-road-d.NY", "USA-road-d.BAY", "USA-road-d.COL"]}
    run = {"backend": "cpu", "experiments": {"tiny": roads}}
    made = from_file({**run, "mirror": str(tmp_path)})
    assert made.graphs == ["USA-road-d.BAY"]
    assert [left_out for left_out in made.skipped if left_out.what.startswith("graph")] == [
        # New York's entry has coordinates too.
        Skipped("graph USA-road-d.NY", f"the mirror {tmp_path} has no USA-road-d.NY.co.gz"),
        Skipped("graph USA-road-d.COL", f"the mirror {tmp_path} has no USA-road-d.COL.gr.gz"),
    ]
    # An address is not asked before it is needed; without a mirror a graph that only mirrors have is left out.
    assert from_file({**run, "mirror": "http://host/folder"}).absent == {}
    assert "set `mirror` to its folder or address" in from_file(run).absent["COL-topology-drawn"]


def test_an_experiment_of_which_nothing_can_run_shows_nothing():
    figure = {"mark": "bar", "x": "graph", "y": "seconds"}
    assert plan(absent={"grid": "-", "ring": "-"}, figure=figure).shown_of("tiny") == []
    assert plan(figure=figure).shown_of("tiny") == [
        "results/run/tables/tiny.parquet",
        "results/run/tables/tiny.csv",
        "results/run/figures/tiny.svg",
        "results/run/figures/tiny.json",
    ]
    assert plan().shown_of("tiny") == ["results/run/tables/tiny.parquet", "results/run/tables/tiny.csv"]
    described = plan({"title": "Maps", "view": "graphs", "graphs": ["road"]})
    assert described.points == [] and described.shown_of("tiny")


def test_a_graph_is_generated_again_when_the_code_of_its_generator_changes(edited):
    before = plan().generator_code("grid")
    edited("saitan.generators.lattice")
    assert plan().generator_code("grid") == before
    edited("saitan.generators.draw")
    assert plan().generator_code("grid") != before


def test_graphs_and_the_steps_that_make_them():
    made = plan()
    assert (made.generated, made.downloaded) == (["grid", "ring"], ["road", "hidden"])
    assert made.graph_files("no-graph") == [] and made.graph_option("no-graph") == ""
    assert made.graph_files("grid") == [f"results/graphs/grid/{name}.parquet" for name in ("vertices", "edges")]
    assert made.downloads_of("road") == ["results/downloads/road.gr.gz", "results/downloads/road.co.gz"]
    assert made.downloads_of("grid") == []
    assert made.models_of("tiny") == {"ring": "kanto"}
    assert Plan.any_of(["a.b", "c"]) == r"a\.b|c"


KEPT = {**EXPERIMENT, "graphs": ["grid"], "variants": ["conventional"], "keep": ["distances"]}


@pytest.fixture
def reads_arrays(monkeypatch):
    """`tropical` as a problem whose input is an array."""
    inputs = {"values": problem.Input("array", "anything")}
    monkeypatch.setattr(problem.problem("tropical"), "INPUTS", inputs)
    return {**TROPICAL, "variants": ["tiled"], "instance": {"n": 8}, "arrays": ["kept.distances"]}


def test_a_kept_answer_is_the_input_of_another_experiment(reads_arrays):
    # Whichever stands first.
    made = planned({"tiny": reads_arrays, "kept": KEPT})
    # What is kept is planned first and shown where it stands; it is no array of the catalogue.
    assert [point.experiment for point in made.points] == ["tiny", "kept"] and made.arrays_used == []
    (point,) = made.points_of("tiny")
    kept = "results/answers/sssp/cpu/grid/conventional/default/3-4/distances.parquet"
    assert made.kept == [kept] == made.inputs_of(point)
    assert made.input_option(point) == f"--array {kept}" and kept in made.shown_of("kept")

    class Wildcards:
        problem, backend, graph, variant, point = "sssp", "cpu", "grid", "conventional", "default"
        drawn, seed, output = "3", "4", "distances"

    assert made.kept_point(Wildcards).experiment == "kept"
    assert json.loads(made.keep_settings(Wildcards))["variant"] == "conventional"
    # On two backends each reads its own.
    made = planned({"tiny": reads_arrays, "kept": KEPT}, {"backend": "both"}, machine=GPU)
    assert [made.inputs_of(p)[0].split("/")[3] for p in made.points_of("tiny")] == ["cpu", "cuda"]
    made = planned({"tiny": reads_arrays, "kept": KEPT})
    # Runs may keep other answers under one name; the queries of one are not those of the other.
    other = planned({"tiny": reads_arrays, "kept": {**KEPT, "graphs": ["ring"]}})
    assert made.queries_of(point) != other.queries_of(other.points_of("tiny")[0])


@pytest.mark.parametrize("change", [{"graphs": ["ring"]}, {"seed": 5}, {"variants": ["scipy"]}])
def test_another_kept_answer_is_another_identity_of_what_reads_it(reads_arrays, change):
    kept = {**EXPERIMENT, "problem": "apsp", "graphs": ["grid"], "variants": ["batched"], "keep": ["distances"]}
    one, other = (planned({"tiny": reads_arrays, "kept": described}) for described in (kept, {**kept, **change}))
    (before,), (after,) = one.points_of("tiny"), other.points_of("tiny")
    assert before.samples == after.samples and before.identity != after.identity


def test_another_content_of_the_graph_of_a_kept_answer_is_another_identity_of_what_reads_it(reads_arrays):
    kept = {**KEPT, "graphs": ["road"]}
    config = load({"name": "run", "experiments": {"tiny": reads_arrays, "kept": kept}}, ENTRIES)
    made = [make(config, WITHOUT, ENTRIES, contents={"road": content}) for content in "aba"]
    one, other, again = (plan.points_of("tiny")[0].identity for plan in made)
    assert one == again != other


def test_an_array_is_an_input_whatever_its_name(reads_arrays):
    tiny = {**reads_arrays, "arrays": ["zeros", "ones"]}
    arrays = {
        name: Array.model_validate({"title": "A", "url": f"http://host/{name}", "dtype": "int32"})
        for name in ("zeros", "ones", "unused")
    }
    config = load({"name": "run", "experiments": {"tiny": tiny}}, ENTRIES, arrays)
    made = make(config, WITHOUT, ENTRIES, arrays)
    files = ["results/arrays/zeros.npy", "results/arrays/ones.npy"]
    assert [made.inputs_of(point) for point in made.points] == [[file] for file in files]
    assert [made.input_option(point) for point in made.points] == [f"--array {file}" for file in files]
    assert made.arrays_used == ["zeros", "ones"]
    made = make(config, WITHOUT, ENTRIES, arrays, {"ones": "no mirror has it"})
    assert made.arrays_used == ["zeros"] and made.skipped[-1] == Skipped("array ones", "no mirror has it")


def test_a_kept_answer_that_cannot_be_is_said(reads_arrays):
    many = {**KEPT, "graphs": ["grid", "ring"]}
    with pytest.raises(ConfigError, match=r"experiments\.tiny\.arrays: kept keeps the answers of 2 points"):
        planned({"kept": many, "tiny": reads_arrays})
    assert len(planned({"kept": many}).kept) == 2
    made = planned({"kept": KEPT, "tiny": reads_arrays}, absent={"grid": "no grid"})
    assert made.points == []
    assert made.skipped[-1].reason == "kept keeps no answer here: nothing of it can run"
    # Once, however many instances there are.
    swept = {**reads_arrays, "instance": {"n": [8, 16]}}
    made = planned({"kept": KEPT, "tiny": swept}, absent={"grid": "no grid"}, settings={"backend": "cpu"})
    assert [left_out.what for left_out in made.skipped] == ["graph grid", "tiled on cpu in tiny (kept.distances)"]


def test_what_is_left_out_is_said_once(capsys):
    made = plan(settings={"backend": "auto"})
    made.say_skipped()
    assert capsys.readouterr().err == "skipped: backend cuda: no driver\n"


def test_what_a_graph_is_made_of_is_part_of_the_identity():
    def identities(**contents):
        described = copy.deepcopy(EXPERIMENT) | {"graphs": ["grid", "hidden"]}
        config = load({"name": "run", "experiments": {"tiny": described}}, ENTRIES)
        made = make(config, WITHOUT, ENTRIES, contents=contents)
        return [{p.identity for p in made.points if p.graph == graph} for graph in ("grid", "hidden")] + [
            made.identity_of("tiny")
        ]

    before, after, other = identities(), identities(hidden="abc"), identities(hidden="abd")
    assert before[0] == after[0] == other[0]
    assert not before[1] & after[1] and not after[1] & other[1]
    assert len({before[2], after[2], other[2]}) == 3


def test_another_generator_is_another_identity(monkeypatch):
    def identities():
        made = plan(graphs=["grid"])
        return {point.identity for point in made.points}, plan(view="graphs", variants={}).identity_of("tiny")

    before = identities()
    monkeypatch.setattr(Plan, "generator_code", lambda self, graph: "changed")
    after = identities()
    assert not before[0] & after[0] and before[1] != after[1]


CLUSTER = {
    "title": "Ranks",
    "problem": "bfs",
    "graphs": ["ring"],
    "variants": {"cluster": {}, "hybrid": {}},
    "ranks": [1, 2, 8],
}


def test_ranks_are_points_with_their_own_cores_launcher_and_options():
    settings = {"launcher": "mpirun --oversubscribe"}
    made = plan(CLUSTER, settings, machine=replace(WITHOUT, cores=16))
    points = {point.ranks: point for point in made.points}
    assert {n: (p.variant, p.point) for n, p in points.items()} == {
        1: ("cluster", "ranks~1"),
        2: ("cluster", "ranks~2"),
        8: ("cluster", "ranks~8"),
        None: ("hybrid", "default"),
    }
    launcher = "mpirun --oversubscribe"
    assert {n: made.launcher_of(p) for n, p in points.items()} == {1: None, 2: launcher, 8: launcher, None: None}
    # A rank has its share of the cores, at least one.
    assert {n: made.cores_of(p) for n, p in points.items()} == {1: None, 2: 8, 8: 2, None: None}
    few = plan(CLUSTER, settings, machine=replace(WITHOUT, cores=4))
    assert [few.cores_of(p) for p in few.points if p.ranks == 8] == [1]
    assert {n: made.rank_options(p) for n, p in points.items()} == {
        1: "--ranks 1",
        2: "--ranks 2",
        8: "--ranks 8",
        None: "",
    }

    class Resources:
        mpi, tasks = launcher, 8

    assert made.launch(points[8], Resources) == f"python -m saitan.workflow.launch {launcher} -n 8"
    assert made.launch(points[1], Resources) == made.launch(points[None], Resources) == ""
    assert json.loads(made.measure_settings(points[8]))["ranks"] == 8
    # Cores that are asked for are told, and are part of what the numbers depend on.
    told = plan({**CLUSTER, "cores_per_rank": 3}, settings, machine=replace(WITHOUT, cores=16))
    asked = {point.ranks: point for point in told.points}
    assert told.cores_of(asked[8]) == 3 and told.rank_options(asked[8]) == "--ranks 8 --cores-per-rank 3"
    assert asked[8].identity != points[8].identity and asked[None].identity == points[None].identity
    assert len({point.identity for point in made.points}) == 4


def test_points_of_one_process_on_the_cpu_compile_ahead_for_each_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = plan(settings={"backend": "both"}, machine=GPU, graphs=["grid"], variants=["conventional", "scipy"])
    assert {(p.backend, p.variant) for p in made.points if made.compiles(p)} == {
        ("cpu", "conventional"),
        ("cpu", "scipy"),
    }
    # What somebody else's solver runs is compiled already.
    made.write_compiled_together()
    (listed,) = json.loads(Path("results/run/compiled-together.json").read_text())
    (point,) = (p for p in made.points if (p.backend, p.variant) == ("cpu", "conventional"))
    told = json.loads(made.measure_settings(point))
    assert listed["samples"] == point.samples and listed.keys() - told.keys() == {"samples"}
    assert all(told[key] == value for key, value in listed.items() if key != "samples")
    ranks = plan(CLUSTER)
    options = {p.variant: ranks.together_option(p) for p in ranks.points}
    assert options == {"hybrid": "--together results/run/compiled-together.json", "cluster": ""}


def test_a_rank_on_the_gpu_has_one_of_its_own():
    made = plan(settings={"backend": "both"}, machine=GPU, graphs=["grid"], variants=["conventional"])
    assert {p.backend: made.gpus_of(p) for p in made.points} == {"cpu": 0, "cuda": 1}
    on = {p.backend: replace(p, ranks=4) for p in made.points}
    assert {backend: made.gpus_of(p) for backend, p in on.items()} == {"cpu": 0, "cuda": 4}


def test_a_number_of_ranks_that_a_variant_does_not_run_on_is_said():
    made = plan({**CLUSTER, "variants": ["cluster"], "ranks": [2, 3]}, {"launcher": "mpirun"})
    assert [point.ranks for point in made.points] == [2]
    (skipped,) = (one for one in made.skipped if "cluster" in one.what)
    assert skipped.what == "cluster on cpu in tiny (ring, ranks 3)" and skipped.reason.endswith("ranks, not 3")


@pytest.mark.parametrize("option", [["--configfile", "x"], ["--configfiles", "a", "x"], ["--configfile=x"]])
def test_files_that_are_named_are_looked_at_before_snakemake_does(option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a").write_text("a: 1\n")
    for arguments in (["all", *option], [*option, "-n"], ["--cores", "1", *option, "--config", "c=1"]):
        Path("x").unlink(missing_ok=True)
        with pytest.raises(SystemExit, match=r"^config: x is not there: targets come before --configfile"):
            check_named(arguments)
        Path("x").write_text("a: 1\nb: [\n")
        with pytest.raises(SystemExit, match=r"^config: x: line 3: "):
            check_named(arguments)
        Path("x").write_text("a: 1\n")
        check_named(arguments)
    check_named(["all", "--config", "x=no.yaml", "--cores", "2"])
