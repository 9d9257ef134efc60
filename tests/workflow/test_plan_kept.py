import json
from dataclasses import replace
from pathlib import Path

import pytest
from plans import ENTRIES, EXPERIMENT, GPU, KEPT, TROPICAL, WITHOUT, planned, wildcards

from saitan import apsp, problem
from saitan.workflow import modules
from saitan.workflow.arrays import Array
from saitan.workflow.config import ConfigError, load
from saitan.workflow.outline import outline
from saitan.workflow.plan import Skipped
from saitan.workflow.planning import make


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
    kept = "results/answers/sssp/cpu/grid/conventional/default/3-4/raw/distances.parquet"
    assert made.kept == [kept] == made.inputs_of(point)
    assert made.input_option(point) == f"--array {kept}" and kept in made.shown_of("kept")

    assert made.kept_point(wildcards(kept)).experiment == "kept"
    assert json.loads(made.keep_settings(wildcards(kept)))["variant"] == "conventional"
    # On two backends each reads its own.
    made = planned({"tiny": reads_arrays, "kept": KEPT}, {"backend": "both"}, machine=GPU)
    assert [made.inputs_of(p)[0].split("/")[3] for p in made.points_of("tiny")] == ["cpu", "cuda"]
    made = planned({"tiny": reads_arrays, "kept": KEPT})
    # Runs may keep other answers under one name; the queries of one are not those of the other, nor what is kept of it.
    reads_arrays |= {"keep": ["c"]}
    runs = [planned({"tiny": reads_arrays, "kept": {**KEPT, "graphs": [graph]}}) for graph in ("grid", "ring", "grid")]
    for path in ("queries_of", "answers_of"):
        one, other, again = (getattr(made, path)(made.points_of("tiny")[0]) for made in runs)
        assert one == again != other
    (file,) = (file for file in runs[0].kept if file.startswith("results/answers/tropical/"))
    assert runs[0].kept_point(wildcards(file)).experiment == "tiny"


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


def test_two_experiments_keep_outputs_of_the_same_answer():
    kept = {"title": "K", "problem": "apsp", "graphs": ["grid"], "variants": ["fast"], "queries": 1}
    kept |= {"instance": {"answer": "reductions"}, "keep": ["reached"]}
    both = planned({"one": kept, "two": {**kept, "keep": ["total", "reached"], "keep_as": "raw"}}).kept
    assert sorted(file.rpartition("/")[2] for file in both) == ["reached.parquet", "total.parquet"]
    made = planned({"one": kept, "two": {**kept, "keep": ["total"], "keep_as": "compressed"}})
    assert [(file.split("/")[-2], made.kept_point(wildcards(file)).experiment) for file in made.kept] == [
        ("raw", "one"),
        ("compressed", "two"),
    ]
    assert [made.shown_of(name)[-1] for name in ("one", "two")] == made.kept
    # In each form.
    both = planned({"one": kept, "two": {**kept, "keep_as": "compressed"}}).kept
    assert [file.split("/")[-2:] for file in both] == [["raw", "reached.parquet"], ["compressed", "reached.parquet"]]


@pytest.mark.parametrize(
    "module", ["saitan.sssp.cpu", "saitan.csr", "saitan.workflow.answer_writers", "saitan.workflow.answers"]
)
def test_another_code_keeps_an_answer_anew(monkeypatch, module):
    made = planned({"kept": KEPT})
    (file,) = made.kept
    before, found = made.kept_identities[file], modules.source(module)
    told = modules._code
    monkeypatch.setattr(modules, "_code", lambda path: "changed" if path == found else told(path))
    assert made.kept_identities[file] != before


@pytest.mark.parametrize(
    "module", ["saitan.apsp.coding", "saitan.apsp.stored", "saitan.sssp.cpu_phast", "saitan.apsp.cpu_fast"]
)
def test_another_code_of_a_form_keeps_an_answer_anew_and_is_another_identity_of_what_reads_it(
    monkeypatch, reads_arrays, module
):
    """That of the variant too, which no form's writer imports, and of a reader that nothing else does."""
    if module == "saitan.sssp.cpu_phast":
        form = replace(apsp.FORMS["coded"], reads=f"{module}:Phast")
        monkeypatch.setitem(apsp.FORMS, "coded", form)
    kept = {**EXPERIMENT, "problem": "apsp", "graphs": ["grid"], "variants": ["fast"], "keep": ["distances"]}
    kept |= {"instance": {"answer": "slabs"}, "keep_as": "coded"}

    def found():
        made = planned({"kept": kept, "tiny": reads_arrays})
        return [*made.kept_identities.values(), *(point.identity for point in made.points_of("tiny"))]

    before, path, told = found(), modules.source(module), modules._code
    monkeypatch.setattr(modules, "_code", lambda asked: "changed" if asked == path else told(asked))
    assert len(before) == 2 and not set(before) & set(found())


@pytest.mark.parametrize(("form", "again"), [("raw", False), ("compressed", True), ("coded", False)])
def test_the_code_that_compresses_is_that_of_compressed_answers(monkeypatch, reads_arrays, form, again):
    kept = {**EXPERIMENT, "problem": "apsp", "graphs": ["grid"], "variants": ["fast"], "keep": ["distances"]}
    kept |= {"instance": {"answer": "slabs"}, "keep_as": form}

    def found():
        made = planned({"kept": kept, "tiny": reads_arrays})
        told = [*made.kept_identities.values(), *(point.identity for point in made.points_of("tiny"))]
        return [*told, made.queries_identity(made.points_of("tiny")[0])]

    before, path, told = found(), modules.source("saitan.compression.cpu_encode"), modules._code
    monkeypatch.setattr(modules, "_code", lambda asked: "changed" if asked == path else told(asked))
    assert [one != other for one, other in zip(before, found(), strict=True)] == [again] * 3


def test_files_of_ones_own_that_keep_an_answer_are_held_to_the_plan(tmp_path, monkeypatch):
    name = tmp_path.name
    for file in ("writer", "reader"):
        (tmp_path / f"{name}_{file}.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    form = replace(apsp.FORMS["coded"], writes=f"{name}_writer:keep", reads=f"{name}_reader:read")
    monkeypatch.setitem(apsp.FORMS, "mine", form)
    kept = {**EXPERIMENT, "problem": "apsp", "graphs": ["grid"], "variants": ["fast"], "keep": ["distances"]}
    made = [planned({"kept": {**kept, "instance": {"answer": "slabs"}, "keep_as": form}}) for form in ("mine", "raw")]
    assert [sorted(Path(file).name for file in plan.own_files) for plan in made] == [
        [f"{name}_reader.py", f"{name}_writer.py"],
        [],
    ]


def test_a_form_of_one_variant_is_not_made_again_for_another(monkeypatch, reads_arrays):
    """Its writer loads by name the variant that it is given."""
    kept = {**EXPERIMENT, "problem": "apsp", "graphs": ["grid"], "variants": ["fast"], "keep": ["distances"]}
    kept |= {"instance": {"answer": "slabs"}, "keep_as": "coded"}
    before = planned({"kept": kept}).kept_identities
    path, told = modules.source("saitan.apsp.cuda_sweep"), modules._code
    monkeypatch.setattr(modules, "_code", lambda asked: "changed" if asked == path else told(asked))
    assert planned({"kept": kept}).kept_identities == before


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
    steps = [(step.what, str(step.output), [str(file) for file in step.serves]) for step in outline(made).steps]
    for name, file in zip(("zeros", "ones"), files, strict=True):
        assert (f"fetch {name}", f"results/downloads/{name}", [file]) in steps
        samples = [point.samples for point in made.points if point.graph == name]
        assert (f"unpack {name}", file, samples) in steps and samples
    assert not [what for what, *_ in steps if "unused" in what]
    made = make(config, WITHOUT, ENTRIES, arrays, {"ones": "no mirror has it"})
    assert made.arrays_used == ["zeros"] and made.skipped[-1] == Skipped("array ones in tiny", "no mirror has it")


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
    assert [left_out.what for left_out in made.skipped] == [
        "graph grid in kept",
        "tiled on cpu in tiny (kept.distances)",
    ]


def test_an_array_whose_name_begins_as_that_of_a_kept_answer_is_none(reads_arrays):
    array = Array.model_validate({"title": "A", "url": "http://host/a", "dtype": "int32"})
    described = {"tiny": {**reads_arrays, "arrays": ["kept.field"]}, "kept": {**KEPT, "graphs": ["grid", "ring"]}}
    config = load({"experiments": described}, ENTRIES, ["kept.field"])
    made = make(config, WITHOUT, ENTRIES, {"kept.field": array})
    assert made.inputs_of(made.points_of("tiny")[0]) == ["results/arrays/kept.field.npy"]


def test_experiments_that_wait_for_themselves_are_one_line():
    def chain(**reads):
        described = {"title": "T", "problem": "compression", "variants": ["fast"], "keep": ["values"]}
        return planned({name: {**described, "arrays": [f"{of}.values"] if of else []} for name, of in reads.items()})

    rest = "keeps: none can be the first; give one another array$"
    with pytest.raises(ConfigError, match=rf"^experiments\.e\.arrays: e reads what e {rest}"):
        chain(a=None, e="e")
    with pytest.raises(ConfigError, match=rf"^experiments\.e\.arrays: e reads what k keeps, k reads what e {rest}"):
        chain(e="k", k="e", z="e")
    with pytest.raises(
        ConfigError, match=r"^experiments\.(.)\.arrays: \1 reads what . keeps, .*, . reads what \1 keeps"
    ):
        chain(e="k", k="z", z="e")
    # In whatever order they stand: what is read is planned first.
    made = chain(e="k", k="z", z=None)
    assert [point.experiment for point in made.points] == ["e", "k", "z"] and not made.skipped[1:]


def test_an_array_of_a_type_that_is_not_taken_is_one_line():
    closeness = {"title": "C", "problem": "bfs", "graphs": ["grid"], "variants": ["closeness"], "keep": ["closeness"]}
    closeness |= {"instance": {"task": "closeness"}}
    reads = {"title": "R", "problem": "apsp", "variants": ["fast"], "arrays": ["kept.closeness"]}
    line = r"^experiments\.tiny\.arrays: {} is float64, and apsp takes float32 or int32 or uint16$"
    with pytest.raises(ConfigError, match=line.format(r"kept\.closeness")):
        planned({"tiny": reads, "kept": closeness})
    # One that takes any, and one whose type is known when it is there.
    packs = {"title": "P", "problem": "compression", "variants": ["fast"], "arrays": ["kept.closeness"]}
    assert planned({"tiny": packs, "kept": closeness}).points_of("tiny")
    assert planned({"tiny": {**reads, "arrays": ["kept.distances"]}, "kept": KEPT}).points_of("tiny")
    for dtype in ("float64", "float32"):
        field = {"field": Array(title="F", file="field.bin", dtype=dtype, shape=[2, 2])}
        config = load({"name": "run", "experiments": {"tiny": {**reads, "arrays": ["field"]}}}, ENTRIES, field)
        if dtype == "float32":
            assert make(config, WITHOUT, ENTRIES, field).points
        else:
            with pytest.raises(ConfigError, match=line.format("field")):
                make(config, WITHOUT, ENTRIES, field)
