import contextlib
import errno
import json
import os
import re
import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import BOTH, EXPERIMENT, GPU, TROPICAL, WITHOUT, plan, wildcards

import saitan
from saitan import generators, problem
from saitan.workflow import declared, modules
from saitan.workflow.command_line import check_named, check_targets, check_triggers, cores_meant, jobs_here
from saitan.workflow.config import ConfigError
from saitan.workflow.declared import check_package
from saitan.workflow.machine import NO_NVCC
from saitan.workflow.plan import Plan, Skipped
from saitan.workflow.planning import plan_from
from saitan.workflow.points import combinations, digest, pattern

ROOT = Path(__file__).parents[2]


def samples(plan):
    return {point.samples for point in plan.points}


def test_a_point_for_every_choice_and_its_path_says_which():
    assert samples(plan()) == {
        f"results/run/samples/tiny/cpu/{graph}/{point}.parquet"
        for graph in ("grid", "ring")
        for point in ("adaptive/threshold_up~10", "adaptive/threshold_up~100", "conventional/default")
    }
    made = plan()
    assert len({made.answers_of(point) for point in made.points}) == 6
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


def test_an_experiments_measure_has_the_types_of_the_runs():
    made = plan(measure={"warmup": 2.0, "budget_s": 3})
    settings = json.loads(made.measure_settings(made.points[0]))
    assert repr(settings["warmup"]) == "2" and repr(settings["budget_s"]) == "3.0"
    assert identities_of(made) == identities_of(plan(measure={"warmup": 2, "budget_s": 3.0}))


def identities_of(made):
    return [point.identity for point in made.points]


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


def test_cubins_are_compiled_for_the_architectures_that_are_named():
    made = plan(machine=WITHOUT, settings={"backend": "cpu", "architectures": ["sm_120"]})
    assert made.needed_cubins == [] and {file.split("/")[2] for file in made.cubins} == {"sm_120"}
    assert {file.split("/")[2] for file in plan(machine=WITHOUT).cubins} == {"sm_80", "sm_90"}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"backend": "cuda"},
            "config: backend: cuda cannot be used here (no driver); auto, both and cpu can; where jobs run on other"
            " machines, name their `architectures`",
        ),
        ({"mirror": ""}, "config: mirror: '' is not a line of text, without control characters"),
        ({"mirror": "no/folder"}, "config: mirror: no/folder is no folder and no address (http://... or https://...)"),
        ({"backend": 3}, "config: backend: input should be 'auto', 'both', 'cpu' or 'cuda', not 3"),
    ],
)
def test_what_cannot_be_planned_ends_in_one_line(monkeypatch, settings, says):
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit) as caught:
        from_file({"experiments": {"tiny": {**EXPERIMENT, "graphs": ["grid-128"]}}, **settings})
    assert caught.value.code == says


@pytest.mark.parametrize(
    ("name", "wrong", "says"),
    [
        ("published", "graphs: {}\nexperiments: {suzuki_fig7: {orign: a}}\n", "line 2: experiments.suzuki_fig7.orign"),
        (
            "ceilings",
            "A GPU: {bytes: {rate: 0, says: a}}\n",
            "line 1: A GPU.bytes.rate: input should be greater than 0",
        ),
        ("peers", "machine: a\nmeasured: 2026-01-02\n", "line 1: solvers: field required"),
        ("graphs", "a: b: c\n", "line 1: mapping values are not allowed"),
    ],
)
def test_a_mistake_in_what_only_tables_read_is_one_line_before_the_run(name, wrong, says, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    raw = {"experiments": {"tiny": {**EXPERIMENT, "graphs": ["grid-128"]}}}
    file = tmp_path / f"config/{name}.yaml"
    for content, line in ((wrong, says), (None, "No such file or directory")):
        file.write_text(content) if content else file.unlink()
        with pytest.raises(SystemExit) as caught:
            plan_from(raw, root=tmp_path, jobs_machine=WITHOUT)
        assert caught.value.code.startswith(f"config: config/{name}.yaml: {line}"), caught.value.code


def test_graphs_of_papers_that_nothing_is_printed_of_are_named(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    raw = {"experiments": {"tiny": {**EXPERIMENT, "graphs": ["grid-128"]}}}
    file = tmp_path / "config/graphs.yaml"
    file.write_text(file.read_text() + "odd: {title: A, file: a.gr, format: dimacs, models: kantoo}\n")
    with pytest.raises(SystemExit) as caught:
        plan_from(raw, root=tmp_path, jobs_machine=WITHOUT)
    says = "odd.models: unknown graph 'kantoo'; did you mean 'kanto'? (config/published.yaml)"
    line = len(file.read_text().splitlines())
    assert caught.value.code == f"config: config/graphs.yaml: line {line}: {says}"


def test_braces_in_the_path_of_the_snakefile_are_one_line(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(SystemExit) as caught:
        plan_from({}, root=tmp_path / "a{x}b", jobs_machine=WITHOUT)
    assert caught.value.code == (
        "config: ../a{x}b/: Snakemake takes braces for wildcards: start it in that folder, or rename it"
    )


def from_file(raw, machine=WITHOUT, configfiles=("config/my-roads.v2.yaml",)):
    return plan_from(raw, root=ROOT, configfiles=configfiles, jobs_machine=machine)


@pytest.mark.parametrize("file", ["config/größe.yaml", "my run.yaml", f"{'a' * 101}.yaml"])
def test_a_file_that_cannot_name_its_run_says_so(file, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    raw = {"experiments": {"tiny": {**EXPERIMENT, "graphs": ["grid-128"]}}}
    with pytest.raises(SystemExit) as caught:
        from_file(raw, configfiles=("config/config.yaml", file))
    assert caught.value.code == (
        f"config: {file}: a file of this name gives the run none: write `name:` into it, up to 100 ASCII letters,"
        " digits and underscores"
    )
    assert from_file({"name": "size", **raw}, configfiles=(file,)).config.name == "size"


@pytest.mark.parametrize("place", ["results", "results/my_roads_v2", "results/graphs"])
@pytest.mark.parametrize("dangling", [False, True])
def test_what_lies_where_results_go_is_one_line(place, dangling, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path(place).parent.mkdir(exist_ok=True)
    Path(place).symlink_to("nowhere") if dangling else Path(place).write_text("mine")
    with pytest.raises(SystemExit) as caught:
        from_file({"experiments": {"tiny": {**EXPERIMENT, "graphs": ["grid-128"]}}})
    says = f"config: {place} is no folder, and what is made goes into one of this name: move it away"
    assert caught.value.code == says


@pytest.mark.parametrize("place", ["results", "results/my_roads_v2", "results/graphs"])
def test_a_folder_of_results_that_cannot_be_read_is_one_line(place, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path(place).mkdir(parents=True)
    monkeypatch.setattr("os.access", lambda asked, mode: (asked, mode) != (place, os.R_OK | os.X_OK))
    with pytest.raises(SystemExit) as caught:
        from_file({"experiments": {"tiny": {**EXPERIMENT, "graphs": ["grid-128"]}}})
    assert caught.value.code == f"config: {place} cannot be read: name another folder by --directory"


def test_a_folder_that_cannot_be_written_is_one_line(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.access", lambda place, mode: Path(place).absolute() != tmp_path)
    raw = {"experiments": {"tiny": {**EXPERIMENT, "graphs": ["grid-128"]}}}
    with pytest.raises(SystemExit) as caught:
        from_file(raw)
    assert caught.value.code == f"config: {tmp_path} cannot be written: name another folder by --directory"
    # Snakemake's records can be written.
    Path(".snakemake").mkdir()
    assert from_file(raw).points


@pytest.mark.parametrize(
    ("graph", "array", "owner"),
    [
        ("url: http://h/b/x.gz", "url: http://h/a/x.gz", "map"),
        ("file: x.gz", "url: http://h/a/x.gz", "map"),
        ("file: y.gr, coordinates: {url: http://h/b/x.gz}", "url: http://h/a/x.gz", "map.coordinates"),
        ("url: http://h/a/x.gz", "url: http://h/a/x.gz", None),
        ("file: x.gz", "file: x.gz", None),
        ("url: http://h/b/x.gz, file: y.gz", "url: http://h/a/x.gz", None),
    ],
)
def test_two_files_are_not_fetched_to_one_place(graph, array, owner, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    Path("config/graphs.yaml").write_text(f"map: {{title: A, format: dimacs, {graph}}}\n")
    Path("config/arrays.yaml").write_text(f"field: {{title: A, dtype: int8, {array}}}\n")
    raw = {"mirror": ".", "experiments": {"tiny": TROPICAL}}
    if owner is None:
        assert plan_from(raw, root=tmp_path, jobs_machine=WITHOUT).points
        return
    with pytest.raises(SystemExit) as caught:
        plan_from(raw, root=tmp_path, jobs_machine=WITHOUT)
    assert caught.value.code == (
        f"config: config/graphs.yaml and config/arrays.yaml: {owner} and field both name the file x.gz, but differ in"
        " url or sha256: give one of them another name under `file`"
    )


def test_a_variant_that_names_no_class_is_one_line(monkeypatch):
    mine, variants = problem.Variant("mine", cpu="saitan.sssp.mine"), problem.problem("sssp").VARIANTS
    monkeypatch.setitem(variants, "mine", mine)
    problem.names.cache_clear()
    with pytest.raises(SystemExit) as caught:
        from_file({"experiments": {"tiny": {**EXPERIMENT, "graphs": ["grid-128"]}}})
    says = 'error: saitan.sssp: VARIANTS["mine"] has cpu="saitan.sssp.mine": "module:Class" is right, such as'
    assert caught.value.code == f'{says} "saitan.sssp.cpu:Solver"'
    # A class of the user's own may lie elsewhere.
    monkeypatch.setitem(variants, "mine", replace(mine, cpu="my_package.mine:Mine"))
    assert "sssp" in problem.names()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("saitan.sssp.mine:Mine", "there is no module saitan.sssp.mine"),
        ("saitan.ssp:Mine", "there is no module saitan.ssp"),
        ("saitan.sssp.cpu:Adaptiv", "saitan.sssp.cpu has no 'Adaptiv'; did you mean 'Adaptive'?"),
        # Names of methods are none of the module.
        ("saitan.workflow.sampling:xyz", "saitan.workflow.sampling has no 'xyz' (there are: "),
    ],
)
@pytest.mark.parametrize("where", ["VARIANTS", "FORMS", "GENERATORS"])
def test_a_path_to_what_is_not_there_is_one_line_of_the_plan(monkeypatch, where, path, says):
    owner = generators if where == "GENERATORS" else problem.problem("sssp" if where == "VARIANTS" else "apsp")
    experiment = {**EXPERIMENT, "graphs": ["grid-128"]}
    made, key = {
        "VARIANTS": (problem.Variant("mine", cuda=path), "cuda"),
        "FORMS": (problem.Form("mine", ("distances",), "saitan.apsp.coding:write_coded", path), "reads"),
        "GENERATORS": (replace(generators.GENERATORS["grid"], name="mine", path=path), "path"),
    }[where]
    if where == "FORMS":
        experiment |= {"problem": "apsp", "variants": ["fast"]}
    monkeypatch.setitem(getattr(owner, where), "mine", made)
    with pytest.raises(SystemExit) as caught:
        from_file({"experiments": {"tiny": experiment}})
    assert caught.value.code.startswith(f'error: {owner.__name__}: {where}["mine"] has {key}="{path}": {says}')


def test_a_package_that_cannot_be_imported_is_one_line(monkeypatch):
    def fails(name):
        return problem.Variant("mine", cpus="saitan.sssp.mine:Mine")

    monkeypatch.setattr(problem.importlib, "import_module", fails)
    problem.names.cache_clear()
    with pytest.raises(SystemExit) as caught:
        from_file({"experiments": {"tiny": {**EXPERIMENT, "graphs": ["grid-128"]}}})
    says = r"error: TypeError: Variant\.__init__\(\) got an unexpected keyword argument 'cpus'( \(\S+, line \d+\))?"
    assert re.fullmatch(says, caught.value.code)


def test_a_package_that_is_no_python_is_named_with_its_line(tmp_path, monkeypatch):
    mine = tmp_path / "mine/__init__.py"
    mine.parent.mkdir()
    mine.write_text('TITLE = "x"\nHEADLINE = = 3\n')
    monkeypatch.setattr("saitan.__path__", [*problem.saitan.__path__, str(tmp_path)])
    problem.names.cache_clear()
    with pytest.raises(SystemExit) as caught:
        from_file({"experiments": {"tiny": {**EXPERIMENT, "graphs": ["grid-128"]}}})
    assert caught.value.code == f"error: SyntaxError: invalid syntax ({mine}, line 2)"


class Odd(BaseException):
    pass


@pytest.mark.parametrize("error", [SystemExit(0), SystemExit("bye"), Odd("bye"), GeneratorExit("bye"), OSError("bye")])
def test_a_package_that_ends_the_process_is_one_line(monkeypatch, error):
    def ends(*_, **__):
        raise error

    experiment = {"experiments": {"tiny": {**EXPERIMENT, "graphs": ["grid-128"]}}}
    told = rf"{type(error).__name__}: {error}( \(\S+, line \d+\))?"
    with monkeypatch.context() as patched:
        patched.setattr(problem.problem("sssp"), "check_instance", ends, raising=False)
        with pytest.raises(SystemExit) as caught:
            from_file(experiment)
    assert re.fullmatch(rf"error: saitan\.sssp\.check_instance: {told}", caught.value.code)
    monkeypatch.setattr(problem.importlib, "import_module", ends)
    problem.names.cache_clear()
    with pytest.raises(SystemExit) as caught:
        from_file(experiment)
    assert re.fullmatch(f"error: {told}", caught.value.code)


def test_parameters_of_an_instance_are_looked_at_with_the_defaults_that_a_job_gives_beside_them(monkeypatch):
    def check(data, /, **parameters):
        if "tile" in parameters and parameters["by"] != "tile":
            raise ValueError("tile goes with by tile")

    monkeypatch.setattr(problem.problem("tropical"), "check_instance", check)
    experiment = {"title": "x", "problem": "tropical", "variants": ["fast"], "instance": {"n": 8, "by": "element"}}
    with pytest.raises(SystemExit, match=r"^config: experiments\.tiny\.instance: tile goes with by tile$"):
        from_file({"experiments": {"tiny": experiment}})


@pytest.mark.parametrize(
    ("known", "says"), [(None, "gives None"), ({"n": 8, "by": "tile"}, "gives no infinite"), (["n"], r"gives \['n'\]")]
)
def test_what_a_check_of_an_instance_leaves_out_is_named(monkeypatch, known, says):
    monkeypatch.setattr(problem.problem("tropical"), "check_instance", lambda data, /, **parameters: known)
    experiment = {"title": "x", "problem": "tropical", "variants": ["fast"], "instance": {"n": 8}}
    says = rf"^error: saitan\.tropical\.check_instance {says}: all of INSTANCE with their values are right$"
    with pytest.raises(SystemExit, match=says):
        from_file({"experiments": {"tiny": experiment}})


def test_what_a_module_gets_by_a_star_is_not_known(monkeypatch, tmp_path):
    monkeypatch.setattr(declared, "defined", lambda module: ["*", "np"])
    assert from_file({"experiments": {"tiny": {**EXPERIMENT, "graphs": ["grid-128"]}}}).points


@pytest.mark.parametrize(
    ("where", "name", "says"),
    [
        ("VARIANTS", "my.fast", '["my.fast"]: the name is a part of paths: letters, digits, _ and - are right in it'),
        ("VARIANTS", "a/b", '["a/b"]: the name is a part of paths: letters, digits, _ and - are right in it'),
        ("OUTPUTS", "Rows", '["Rows"]: the name is a part of paths: small letters, digits and _ are right in it'),
    ],
)
def test_a_name_that_cannot_stand_in_a_path_is_one_line(monkeypatch, where, name, says):
    added = problem.Variant("mine", cpu="saitan.sssp.cpu:Mine")
    monkeypatch.setitem(getattr(problem.problem("sssp"), where), name, added)
    problem.names.cache_clear()
    with pytest.raises(SystemExit) as caught:
        from_file({"experiments": {"tiny": {**EXPERIMENT, "graphs": ["grid-128"]}}})
    assert caught.value.code == f"error: saitan.sssp: {where + says}"


@pytest.mark.parametrize(
    ("owner", "where", "declared", "both"),
    [
        ("sssp", "INSTANCE", {"delta": problem.Parameter(int, 1, "x")}, "a parameter delta, and INSTANCE"),
        ("sssp", "METRICS", {"delta": problem.Metric("x")}, "a parameter delta, and METRICS"),
        ("sssp", "INSTANCE", {"ranks": problem.Parameter(int, 1, "x")}, "INSTANCE of ranks, and every experiment"),
        ("sssp", "TRACES", {"delta": problem.Trace("x")}, "a parameter delta, and TRACES"),
        ("tropical", "METRICS", {"n": problem.Metric("x")}, "METRICS of n, and INSTANCE"),
        ("tropical", "METRICS", {"ranks": problem.Metric("x")}, "METRICS of ranks, and every experiment"),
    ],
)
def test_two_columns_of_one_name_are_one_line(monkeypatch, owner, where, declared, both):
    for name, added in declared.items():
        monkeypatch.setitem(getattr(problem.problem(owner), where), name, added)
    variant = ': VARIANTS["fast"]' if "parameter" in both else ""
    with pytest.raises(problem.Misdeclared) as caught:
        check_package(owner, problem.problem(owner))
    assert str(caught.value) == f"saitan.{owner}{variant} has {both} too: another name for one of them is right"


def test_a_problem_of_a_name_that_cannot_stand_in_a_path_is_one_line():
    with pytest.raises(problem.Misdeclared, match=r"^saitan\.Toy: the name is a part of paths: small letters, digits"):
        check_package("Toy", problem.problem("sssp"))


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


def test_a_cubin_depends_on_its_text_that_of_headers_and_what_compiles_it(monkeypatch):
    made = plan()
    assert made.cubin_identity("sssp", "phases") != made.cubin_identity("sssp", "fast")
    monkeypatch.setattr(modules, "text_digest", lambda paths: {f"{path.parent.name}/{path.name}" for path in paths})
    of = made.cubin_identity("sssp", "fast")
    assert of > {"sssp/fast.cu", "sssp/queue.cuh", "cuda/clock.cuh", "cuda/build.py"}
    assert not of & {"sssp/phases.cu", "sssp/rows.cuh"}


def test_a_kernel_is_compiled_again_when_what_it_includes_changes(tmp_path, monkeypatch):
    headers = plan().headers_of("sssp", "fast")
    assert set(headers) >= {"kernels/sssp/mailbox.cuh", "kernels/cuda/clock.cuh"}
    assert "kernels/sssp/rows.cuh" not in headers
    assert plan().headers_of("sssp", "no_such") == []
    # One beyond kernels/ is named as it is.
    (tmp_path / "outside.h").touch()
    (tmp_path / "kernels/sssp").mkdir(parents=True)
    (tmp_path / "kernels/sssp/a.cu").write_text('#include "../../outside.h"\n')
    made = plan()
    monkeypatch.setattr(saitan, "__path__", [str(tmp_path / "kernels")])
    assert made.headers_of("sssp", "a") == [str(tmp_path / "outside.h")]


def test_variants_that_cannot_run_are_named(monkeypatch):
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


def test_peers_that_only_the_cpu_has_are_measured_there_beside_a_gpu():
    for backend, ours in (("cuda", {"cuda"}), ("auto", {"cuda"}), ("both", {"cpu", "cuda"}), ("cpu", {"cpu"})):
        made = plan(settings={"backend": backend}, machine=GPU, variants=["adaptive", "scipy"], graphs=["grid"])
        points = {(point.variant, point.backend) for point in made.points}
        assert points == {("scipy", "cpu"), *(("adaptive", where) for where in ours)} and made.skipped == []


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
    assert made.skipped == [Skipped("graph ring in tiny", "the mirror has no ring")]
    monkeypatch.chdir(ROOT)
    (tmp_path / "USA-road-d.BAY.gr.gz").touch()
    (tmp_path / "USA-road-d.NY.gr.gz").touch()
    (tmp_path / "USA-road-d.COL.gr.gz").mkdir()
    roads = {**EXPERIMENT, "graphs": ["USA-road-d.NY", "USA-road-d.BAY", "USA-road-d.COL"]}
    run = {"backend": "cpu", "experiments": {"tiny": roads}}
    made = from_file({**run, "mirror": str(tmp_path)})
    assert made.graphs == ["USA-road-d.BAY"]
    assert [left_out for left_out in made.skipped if left_out.what.startswith("graph")] == [
        # New York's entry has coordinates too.
        Skipped("graph USA-road-d.NY in tiny", f"the mirror {tmp_path} has no USA-road-d.NY.co.gz"),
        Skipped("graph USA-road-d.COL in tiny", f"the mirror {tmp_path} has no USA-road-d.COL.gr.gz"),
    ]
    # An address is not asked before it is needed; without a mirror a graph that only mirrors have is left out.
    assert from_file({**run, "mirror": "http://host/folder"}).absent == {}
    assert "set `mirror` to its folder or address" in from_file(run).absent["COL-topology-drawn"]


def test_a_charts_title_is_plain():
    made = plan(title="How fast `fast` is", figure={"mark": "line", "x": "cores", "y": "seconds"})
    assert json.loads(made.figure_settings("tiny"))["title"] == "How fast fast is"
    with pytest.raises(SystemExit, match=r"^config: results/run/figures: experiment tiny has no figure$"):
        plan().figure_settings("tiny")


def test_an_experiment_of_which_nothing_can_run_shows_nothing():
    figure = {"mark": "bar", "x": "graph", "y": "seconds"}
    assert plan(absent={"grid": "-", "ring": "-"}, figure=figure).shown_of("tiny") == []
    assert plan(figure=figure).shown_of("tiny") == [
        "results/run/tables/tiny.parquet",
        "results/run/tables/tiny.csv",
        "results/run/tables/tiny.figure.parquet",
        "results/run/figures/tiny.svg",
        "results/run/figures/tiny.json",
    ]
    assert plan().shown_of("tiny") == ["results/run/tables/tiny.parquet", "results/run/tables/tiny.csv"]
    described = plan({"title": "Maps", "view": "graphs", "graphs": ["road"]})
    assert described.points == [] and described.shown_of("tiny")


def test_graphs_and_the_steps_that_make_them():
    made = plan()
    assert (made.generated, made.downloaded) == (["grid", "ring"], ["road", "hidden"])
    assert made.graph_files("no-graph") == [] and made.graph_option("no-graph") == ""
    assert made.graph_files("grid") == [f"results/graphs/grid/{name}.parquet" for name in ("vertices", "edges")]
    assert made.downloads_of("road") == ["results/downloads/road.gr.gz", "results/downloads/road.co.gz"]
    assert made.downloads_of("grid") == []
    assert made.models_of("tiny") == {"ring": "kanto"}
    assert Plan.any_of(["a.b", "c"]) == r"a\.b|c"


def test_what_is_left_out_is_said_once(capsys):
    made = plan(settings={"backend": "auto"})
    made.say_skipped()
    assert capsys.readouterr().err == "skipped: backend cuda: no driver\n"


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
    # What starts ranks may bind them to cores.
    bound = plan(CLUSTER, {"launcher": "mpirun --bind-to core"}, machine=replace(WITHOUT, cores=16))
    same = {point.ranks for point in bound.points if point.identity == points[point.ranks].identity}
    assert same == {1, None}
    # Cores that are asked for are told, and are part of what the numbers depend on.
    told = plan({**CLUSTER, "cores_per_rank": 3}, settings, machine=replace(WITHOUT, cores=16))
    asked = {point.ranks: point for point in told.points}
    assert told.cores_of(asked[8]) == 3 and told.rank_options(asked[8]) == "--ranks 8 --cores-per-rank 3"
    assert asked[8].identity != points[8].identity and asked[None].identity == points[None].identity
    assert len({point.identity for point in made.points}) == 4


def test_several_ranks_are_left_out_where_an_instance_wants_one():
    wanted = {**EXPERIMENT, "problem": "apsp", "variants": ["fast"], "ranks": [1, 2]}
    made = plan(wanted, instance={"answer": ["matrix", "slabs"]})
    assert [(p.ranks, p.instance["answer"]) for p in made.points if p.graph == "grid"] == [
        (1, "matrix"),
        (1, "slabs"),
        (2, "slabs"),
    ]
    reason = "fast answers on several ranks where answer is slabs or reductions, not matrix"
    assert Skipped("fast on cpu in tiny (grid, answer matrix, ranks 2)", reason) in made.skipped
    # The default is that of the problem.
    assert {p.ranks for p in plan(wanted).points} == {1}


def test_an_answer_of_several_ranks_is_kept_with_its_identity():
    kept = {
        "title": "Ranks",
        "problem": "apsp",
        "graphs": ["grid"],
        "variants": ["batched"],
        "instance": {"answer": "slabs"},
    }
    made = plan({**kept, "ranks": [1, 2], "keep": ["distances"]}, {"launcher": "mpirun"})
    for point in made.points:
        told = json.loads(made.keep_settings(wildcards(f"{made.answers_of(point)}/distances.parquet")))
        assert told["identity"] == made.answer_identity(point)
    assert [point.ranks for point in made.points] == [1, 2]


def test_points_of_one_process_on_the_cpu_compile_ahead_for_each_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = plan(settings={"backend": "both"}, machine=GPU, graphs=["grid"], variants=["conventional", "scipy"])
    assert {(p.backend, p.variant) for p in made.points if made.compiles(p)} == {
        ("cpu", "conventional"),
        ("cpu", "scipy"),
    }
    # What somebody else's solver runs is compiled already.
    made.write_begun({}, {})
    (listed,) = json.loads(Path("results/run/compiled-together.json").read_text())
    (point,) = (p for p in made.points if (p.backend, p.variant) == ("cpu", "conventional"))
    told = json.loads(made.measure_settings(point))
    assert listed["samples"] == point.samples and listed.keys() - told.keys() == {"samples"}
    assert all(told[key] == value for key, value in listed.items() if key != "samples")
    ranks = plan(CLUSTER)
    options = {p.variant: ranks.together_option(p) for p in ranks.points}
    assert options == {"hybrid": "--together results/run/compiled-together.json", "cluster": ""}


def test_a_file_of_the_plan_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "results/run").write_text("where its folder should be")
    with pytest.raises(SystemExit, match=r"^error: results/run cannot be written: (Not a directory|File exists)$"):
        plan().write_begun({}, {})
    (tmp_path / "results/run").unlink()

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(
        SystemExit, match=r"^error: results/run/compiled-together\.json cannot be written: the disk is full: free"
    ):
        plan().write_begun({}, {})


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


@pytest.mark.parametrize(
    "option",
    [["--configfiles", "b", "a"], ["--configfile", "b", "--configfile=a"], ["-n", "--configfile", "b", "b", "a"]],
)
def test_two_files_are_no_run(option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        Path(name).write_text("a: 1\n")
    with pytest.raises(
        SystemExit, match=r"^config: b .*and a would be one run, which none of them describes: one file"
    ):
        check_named(option)
    check_named(["--configfile", "a", "--configfile=a"])


@pytest.mark.parametrize("option", [["--configfile", "x"], ["--configfiles", "x"], ["--configfile=x"]])
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


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("my.yaml", "my.yaml is not of the form key=value: a file goes behind --configfile, a target before --config"),
        ("backend:cpu", "backend:cpu is not of the form key=value: "),
        ("=cpu", "=cpu is not of the form key=value: "),
        ("measure.budget_s=1", "measure.budget_s is no key: a key within another one goes in braces, such as measure="),
        ("2=3", "2 is no key: "),
    ],
)
def test_what_sets_nothing_behind_config_is_one_line(setting, says):
    for arguments in ([f"--config={setting}"], ["all", "-C", "backend=cpu", setting], ["--config", setting, "-n"]):
        with pytest.raises(SystemExit) as ended:
            check_named(arguments)
        assert ended.value.code.startswith(f"--config: {says}") and "\n" not in ended.value.code
    right = ["backend=cpu", "mirror=", "measure={budget_s: 1}", "launcher=srun --mpi=pmix", "name=a.b=c"]
    check_named(["all", "--config", *right, "--cores", setting, "--", setting])


LINE = {"mark": "line", "x": "phase", "y": ["seconds", "updated"]}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"variants": ["fast"], "column": "hops"},
            "column: fast on cpu traces no 'hops' (there are: seconds, upd",
        ),
        ({"variants": ["fast", "conventional"], "column": "listed"}, None),
        (
            {"variants": ["fast", "conventional"], "column": "listed", "view": "phase_cdf"},
            "column: fast on cpu traces no 'listed' (there are: seconds, updated, relaxations)",
        ),
        ({"variants": ["conventional"], "figure": LINE}, None),
        (
            {"variants": ["conventional", "selection"], "figure": LINE | {"y": "hops"}},
            "figure.y: conventional on cpu and selection on cpu traces no 'hops' (there are: seconds, updated",
        ),
        ({"variants": ["conventional"], "figure": LINE | {"color": "hops"}}, "figure.color: conventional on cpu"),
    ],
)
def test_a_column_that_nothing_traces_is_said_before_it_is_measured(changes, line):
    described = {"view": "phases", **changes}
    if line is None:
        assert plan(**described).points
    else:
        with pytest.raises(ConfigError, match="^" + re.escape(f"experiments.tiny.{line}")):
            plan(**described)


def test_a_variant_that_traces_on_another_backend_is_left_out():
    described = {"problem": "bfs", "variants": ["fast", "hybrid"]}
    made = plan(machine=GPU, **BOTH, **described, view="phases", column="frontier")
    assert {(point.variant, point.backend) for point in made.points} == {
        *(("hybrid", "cpu"), ("hybrid", "cuda"), ("fast", "cuda"))
    }
    assert made.skipped == [Skipped("fast on cpu in tiny", "fast traces no phases on cpu")]
    assert len(plan(machine=GPU, **BOTH, **described).points) == 8


def test_a_target_that_no_experiment_asks_for_is_one_line():
    made, other = plan(keep=["distances"]), plan(graphs=["grid"], seed=5)
    words = {"experiment": "tiny", "backend": "cpu", "graph": "ring", "variant": "adaptive", "point": "threshold_up~7"}
    words |= {"problem": "sssp", "data": "ring", "instance": "default", "drawn": "1", "seed": "9"}
    words |= {"form": "raw", "output": "levels"}
    for find, what in ((made.point, "point"), (other.kept_point, "answer to keep"), (made.query_point, "queries")):
        with pytest.raises(SystemExit, match=f"^config: .*: the experiments of this configuration have no such {what}"):
            find(SimpleNamespace(**words))


@pytest.mark.parametrize(
    ("words", "lacking"),
    [
        (["--rerun-triggers", "mtime"], "params and input"),
        (["--rerun-trig=mtime"], "params and input"),
        (["all", "--rerun-triggers", "code", "params", "--cores", "all"], "mtime and input"),
        (["--rerun-triggers", "mtime", "input", "params", "-n"], None),
        (["--cores", "all"], None),
        (["--rerun-triggers"], None),
    ],
)
def test_snakemake_is_not_told_to_leave_changes_out(words, lacking):
    if lacking is None:
        return check_triggers(words)
    with pytest.raises(SystemExit, match=f"^--rerun-triggers: without {lacking} numbers of other settings stay"):
        check_triggers(words)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--cores", "2", "tinny"], r"^unknown target 'tinny'; did you mean 'tiny'\?$"),
        (["tiny", "nothing-like-it"], r"^unknown target 'nothing-like-it' \(there are: all, tiny\)$"),
        (["measure"], r"^unknown target 'measure' \(there are: all, tiny\)$"),
        (["--until", "mesure"], r"^--until: unknown target 'mesure'; did you mean 'measure'\?$"),
        (["--omit-from=al"], r"^--omit-from: unknown target 'al'; did you mean 'all'\?$"),
        (["all", "--forcerun", "measure", "tny"], r"^--forcerun: unknown target 'tny'; did you mean 'tiny'\?$"),
        # With these Snakemake finds out for itself.
        (["results/tiny/report.html", "no.txt"], None),
        (["all", "tiny", "here", "--until", "tiny", "--forcerun", "measure", "-n"], None),
        (["--forcerun"], None),
        ([], None),
    ],
)
def test_a_word_that_is_no_target_is_one_line(tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    Path("here").write_text("")
    with pytest.raises(SystemExit, match=says) if says else contextlib.nullcontext():
        check_targets(words, ["all", "tiny"], ["all", "tiny", "measure"])


NEEDS_SLURM = pytest.mark.skipif(
    not find_spec("snakemake_executor_plugin_slurm"), reason="Snakemake's plugin for Slurm is not installed"
)


@pytest.mark.parametrize(
    "given, command, meant",
    [
        (None, "--report archive.zip", "all"),
        (None, "--summary", "all"),
        (1, "-n", "all"),
        (1, "-np", "all"),
        (1, "-kn tiny", "all"),
        (1, "--dry-run tiny --configfile c.yaml", "all"),
        (1, "-t", "all"),
        (1, "-nc1", 1),
        (1, "-n -c 1", 1),
        (1, "--cores=1", 1),
        (1, "--jobs 1 -n", 1),
        (1, "-npj5", 5),
        (1, "-n --jobs 2", 2),
        (1, "-n --workflow-profile mine", 3),
        pytest.param(None, "--executor slurm --jobs 7", 1, marks=NEEDS_SLURM),
        pytest.param(1, "-n --executor slurm --jobs 7", 1, marks=NEEDS_SLURM),
        (7, "-n", 7),
        (2, "--cores 2 --report archive.zip", 2),
    ],
)
def test_a_command_line_without_cores_means_all_of_them(monkeypatch, tmp_path, capsys, given, command, meant):
    monkeypatch.setattr("snakemake.utils.available_cpu_count", lambda: 60)
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text("{}")
    Path("Snakefile").touch()
    Path("mine").mkdir()
    Path("mine/config.yaml").write_text("cores: 3\n")
    assert cores_meant(given, command.split()) == (60 if meant == "all" else meant)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "command, here",
    [
        ("-n", True),
        ("--cores 1 --configfile c.yaml", True),
        ("--executor local --cores 2", True),
        ("--cores 1 --mode subprocess", True),
        ("--cores 1 --mode remote", False),
        pytest.param("--executor slurm --jobs 7", False, marks=NEEDS_SLURM),
    ],
)
def test_jobs_that_run_here_have_no_more_cores_than_the_command_line_says(monkeypatch, tmp_path, capsys, command, here):
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text("{}")
    Path("Snakefile").touch()
    assert jobs_here(command.split()) == here
    assert capsys.readouterr() == ("", "")
    raw = {"name": "run", "experiments": {"tiny": {**TROPICAL, "instance": {"n": 32}}}}
    planned = {
        asked: plan_from({**raw, **({"cores": asked} if asked else {})}, root=ROOT, cores=2, here=here).machine.cores
        for asked in (None, 1, 2, 64)
    }
    assert planned == {None: 2, 1: 1, 2: 2, 64: 2 if here else 64}


def test_no_cores_are_refused():
    with pytest.raises(SystemExit, match=r"^error: --cores 0: no job would ever run; at least 1, or all, is right$"):
        cores_meant(0, ["--cores", "0"])
