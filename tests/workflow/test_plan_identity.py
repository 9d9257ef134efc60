import copy
from dataclasses import replace
from pathlib import Path

import pytest
from plans import BOTH, ENTRIES, EXPERIMENT, GPU, TROPICAL, WITHOUT, changed, identities, plan, planned

from saitan import problem
from saitan.generators import GENERATORS
from saitan.workflow import identities as identities_of_files
from saitan.workflow import modules, other_code
from saitan.workflow.arrays import Array
from saitan.workflow.config import load
from saitan.workflow.plan import Plan
from saitan.workflow.planning import make


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
        ("saitan.workflow.disturbance", {"cpu", "cuda"}),
        ("saitan.workflow.instances", {"cpu", "cuda"}),
        ("saitan.workflow.numba_code", {"cpu", "cuda"}),
        ("saitan.workflow.graphs.parquet", {"cpu", "cuda"}),
        ("saitan.workflow.parquet_files", {"cpu", "cuda"}),
        ("saitan.atomics", {"cpu", "cuda"}),
        ("saitan.sssp.cpu", {"cpu"}),
        ("saitan.sssp.cuda", {"cuda"}),
        ("saitan.cuda.timing", {"cuda"}),
        ("saitan.sssp.cpu_phast", set()),
        ("saitan.tropical.cpu", set()),
        ("saitan.workflow.report", set()),
        ("saitan.workflow.queries", {"cpu", "cuda"}),
        ("saitan.workflow.answers", set()),
        ("saitan.workflow.graphs.readers", set()),
        ("saitan.generators.kronecker", {"cpu", "cuda"}),
        ("saitan.generators", set()),
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
    plans = [plan(), plan(TROPICAL)]

    def codes():
        return [made.queries_identity(made.points[0]) for made in plans]

    for name in ("queries", "instances", "graphs.parquet"):
        before = codes()
        edited(f"saitan.workflow.{name}")
        assert not set(before) & set(codes())
    before = codes()
    edited("saitan.tropical.instances")
    assert codes()[0] == before[0] and codes()[1] != before[1]
    # References are other people's solvers', which no measurement calls.
    edited("saitan.sssp.peers")
    assert codes()[0] != before[0]
    before = codes()
    edited("saitan.generators")
    assert codes() == before
    # The data's own code, too: they are drawn of another graph.
    edited("saitan.generators.regular")
    plans = [plan(), plan(TROPICAL)]
    assert codes()[0] != before[0] and codes()[1] == before[1]


def test_a_point_depends_on_the_defaults_of_its_variant(monkeypatch):
    variants = problem.problem("sssp").VARIANTS
    adaptive, wanted = variants["adaptive"], {"adaptive": {"threshold_up": [10]}, "conventional": {}}

    def found():
        made = plan(graphs=["grid"], variants=wanted, keep=["distances"])
        return {point.variant: (point.identity, made.answer_identity(point)) for point in made.points}

    before = found()
    for name, touched in (("threshold_up", set()), ("threshold_down", {"adaptive"})):
        other = {name: replace(adaptive.parameters[name], default=7.0)}
        monkeypatch.setitem(variants, "adaptive", replace(adaptive, parameters={**adaptive.parameters, **other}))
        for part in (0, 1):
            assert {key for key in before if before[key][part] != found()[key][part]} == touched


def test_a_point_and_its_queries_depend_on_the_defaults_of_the_instance(monkeypatch):
    declared = problem.problem("tropical").INSTANCE

    def found():
        made = plan(TROPICAL)
        return [(point.identity, made.queries_identity(point)) for point in made.points]

    before = found()
    monkeypatch.setitem(declared, "n", replace(declared["n"], default=7))
    assert found() == before
    monkeypatch.setitem(declared, "infinite", replace(declared["infinite"], default=0.5))
    after = found()
    assert len(before) == len(after) == 2
    assert not {value for pair in before for value in pair} & {value for pair in after for value in pair}


def test_peers_and_the_fast_modules_are_their_variants_alone(edited):
    wanted = {"variants": ["conventional", "fast", "scipy"], "settings": {"backend": "cpu"}}
    before = identities(**wanted)
    edited("saitan.sssp.cpu_fast")
    assert {variant for _, variant, _ in changed(before, identities(**wanted))} == {"fast"}


@pytest.mark.parametrize("module", ["compression.cpu_fast", "tropical.cpu_fast", "bfs.cpu_fast", "apsp.cpu_fast"])
def test_a_fast_module_changes_its_own_variant_and_no_queries(edited, module):
    plans = {
        "sssp": {"variants": ["conventional", "fast"]},
        "bfs": {"problem": "bfs", "variants": ["hybrid", "fast"]},
        "tropical": {**TROPICAL, "variants": ["numpy", "tiled", "fast"]},
        "compression": {
            "problem": "compression",
            "graphs": [],
            "variants": ["c1", "fast"],
            "instance": {"data": "qft"},
        },
    }
    made = {name: plan({**EXPERIMENT, **wanted}, {"backend": "cpu"}) for name, wanted in plans.items()}

    def found():
        return {
            (name, point.variant): (made[name].samples_identity(point), made[name].queries_identity(point))
            for name in made
            for point in made[name].points
        }

    before = found()
    edited(f"saitan.{module}")
    assert {key for key, pair in found().items() if pair != before[key]} <= {(module.partition(".")[0], "fast")}
    assert all(pair[1] == before[key][1] for key, pair in found().items())


def test_a_point_depends_on_its_kernels_and_their_headers(monkeypatch):
    before = identities(**BOTH)
    texts = []
    known = modules.text_digest

    def watched(paths):
        names = [Path(path).name for path in paths]
        if "gate.cu" not in names:
            return known(paths)
        texts.extend(names)
        return known(paths) + "changed"

    monkeypatch.setattr(modules, "text_digest", watched)
    assert {backend for backend, _, _ in changed(before, identities(**BOTH))} == {"cuda"}
    assert {"phases.cu", "validate.cu", "gate.cu", "clock.cuh", "types.cuh"} <= set(texts)
    assert not {"phast.cu", "window.cuh"} & set(texts)


def test_a_point_depends_on_files_of_kernels_that_its_code_takes_numbers_from(monkeypatch):
    """On the CPU too; also where no kernel that it loads includes them."""
    wanted = {**BOTH, "variants": ["conventional", "fast"]}
    before, known = identities(**wanted), modules.text_digest

    def edited(name):
        def watched(paths):
            files = [str(path) for path in paths]
            return known(files) + "changed" * any(file.endswith(name) for file in files)

        monkeypatch.setattr(modules, "text_digest", watched)
        return {(backend, variant) for backend, variant, _ in changed(before, identities(**wanted))}

    assert edited("sssp/hop.cuh") == {("cpu", "fast"), ("cuda", "fast")}
    assert edited("sssp/window.cuh") == {("cuda", "fast")}
    assert edited("sssp/ending.cuh") == {(backend, name) for backend in ("cpu", "cuda") for name in wanted["variants"]}


def test_a_point_depends_on_the_kernels_of_another_problem_that_it_loads(monkeypatch):
    seen = []

    def watched(paths):
        seen.extend(f"{Path(path).parent.name}/{Path(path).name}" for path in paths)
        return ""

    monkeypatch.setattr(modules, "text_digest", watched)
    plan(machine=GPU, problem="bfs", variants=["phast"], graphs=["grid"], settings={"backend": "cuda"})
    assert {"bfs/tree.cu", "sssp/phast.cu", "cuda/gate.cu"} <= set(seen)


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


def test_the_order_in_which_parameters_are_written_is_no_part_of_a_point():
    sides = {"alpha": [2, 3], "beta": [8]}
    searched = {"title": "Search", "problem": "bfs", "graphs": ["grid"], "variants": {"hybrid": sides}}
    entries = {"n": [64], "zero": [0.5]}
    product = {"title": "Product", "problem": "tropical", "variants": ["skip-both"], "instance": entries}

    def points(**experiments):
        config = load({"name": "run", "experiments": experiments}, ENTRIES)
        return {point.name: point.identity for point in make(config, WITHOUT, ENTRIES).points}

    def turned(mapping):
        return dict(reversed(mapping.items()))

    before = points(a=searched, b=product)
    other = {**searched, "variants": {"hybrid": turned(sides)}}
    assert len(before) == 3
    assert points(a=other, b={**product, "instance": turned(entries)}) == before


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


@pytest.mark.parametrize("other", [{"peer": ("pandas", "peers")}, {"cpu": "saitan.sssp.cpu:Selection"}])
def test_another_peer_or_class_is_another_identity(monkeypatch, other):
    variants = problem.problem("sssp").VARIANTS
    before = identities(**BOTH)
    monkeypatch.setitem(variants, "conventional", replace(variants["conventional"], **other))
    touched = {("cpu", "conventional"), ("cuda", "conventional")} if "peer" in other else {("cpu", "conventional")}
    assert {(backend, variant) for backend, variant, _ in changed(before, identities(**BOTH))} == touched


def test_another_version_of_what_computes_is_another_identity(monkeypatch):
    both = {"settings": {"backend": "both"}, "variants": ["adaptive", "scipy", "networkit"]}
    monkeypatch.setattr(problem.Variant, "missing", lambda self: None)
    known = other_code._installed
    # Whether it is installed here or not.
    monkeypatch.setattr(other_code, "_installed", lambda top: [f"{top}=1"] if top == "networkit" else known(top))
    before = identities(**both)

    def touched(package):
        told = other_code._installed
        with monkeypatch.context() as other:
            other.setattr(other_code, "_installed", lambda top: [f"{top}=another"] if top == package else told(top))
            return {(backend, variant) for backend, variant, _ in changed(before, identities(**both))}

    assert touched("numba") == {("cpu", "adaptive"), ("cpu", "scipy"), ("cpu", "networkit")}
    assert touched("scipy") == {("cpu", "scipy"), ("cpu", "networkit")}
    assert touched("networkit") == {("cpu", "networkit")}
    assert touched("rich") == touched("networkx") == set()


def test_another_architecture_is_another_identity():
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
    assert plan().table_identity("tiny") == plan(title="Other", figure=figure).table_identity("tiny")
    assert plan().table_identity("tiny") != plan(quantities=["memory"]).table_identity("tiny")
    assert plan().table_identity("tiny") != plan(graphs=["grid"]).table_identity("tiny")
    # A graph's entry too, where no point has it in its own identity.
    shown = plan(view="graphs", variants={}, graphs=["grid"])
    wider = ENTRIES["grid"].model_copy(update={"parameters": ENTRIES["grid"].parameters | {"width": 4}})
    other = make(shown.config, WITHOUT, {**ENTRIES, "grid": wider})
    assert other.table_identity("tiny") != shown.table_identity("tiny")
    one, other = (plan(view=view, column="updated").table_identity("tiny") for view in ("phases", "phase_cdf"))
    assert one != other


def test_a_table_depends_on_the_code_of_its_points_and_of_the_steps(edited, monkeypatch):
    before = plan().table_identity("tiny")
    monkeypatch.setattr(modules, "steps_code", lambda: "other")
    assert plan().table_identity("tiny") != before
    monkeypatch.undo()
    edited("saitan.sssp.cpu")
    assert plan().table_identity("tiny") != before


@pytest.mark.parametrize(
    ("part", "name", "change"),
    [
        ("METRICS", "phases", {"unit": "s"}),
        ("METRICS", "phases", {"over": "mean"}),
        ("METRICS", "phases", {"better": "more"}),
        ("TRACES", "updated", {"unit": "s"}),
        ("VARIANTS", "conventional", {"summary": "other"}),
    ],
)
def test_a_table_depends_on_what_its_problem_declares_of_numbers(monkeypatch, part, name, change):
    before, points = plan().table_identity("tiny"), identities()
    declared = getattr(problem.problem("sssp"), part)
    assert replace(declared[name], **change) != declared[name]
    monkeypatch.setitem(declared, name, replace(declared[name], **change))
    assert plan().table_identity("tiny") != before and identities() == points


@pytest.mark.parametrize(
    ("part", "name", "change", "measures"),
    [
        ("OUTPUTS", "c", {"dtype": "float64"}, True),
        ("OUTPUTS", "c", {"says": "other"}, False),
        ("INSTANCE", "n", {"most": 7000}, True),
        ("INSTANCE", "n", {"says": "other"}, False),
        ("INPUTS", "graph", {"dtypes": ("int32",)}, True),
        ("INPUTS", "graph", {"says": "other"}, False),
    ],
)
def test_what_solvers_may_read_of_a_declaration_is_part_of_a_point(monkeypatch, part, name, change, measures):
    def found():
        made = plan({**TROPICAL, "keep": ["c"]})
        return [(p.identity, made.answer_identity(p), made.queries_identity(p)) for p in made.points]

    before, declared = found(), getattr(problem.problem("tropical"), part)
    monkeypatch.setitem(declared, name, replace(declared[name], **change))
    changed = [one != other for pair in zip(found(), before, strict=True) for one, other in zip(*pair, strict=True)]
    assert changed == [measures] * 6


@pytest.mark.parametrize("change", [{"graph": ("undirected",)}, {"parts": True}])
def test_which_graphs_a_variant_takes_is_part_of_a_point(monkeypatch, change):
    before, declared = identities(), problem.problem("sssp").VARIANTS
    monkeypatch.setitem(declared, "conventional", replace(declared["conventional"], **change))
    assert {variant for _, variant, _ in changed(before, identities())} == {"conventional"}


def test_what_an_input_is_called_is_part_of_a_point(monkeypatch):
    """By it the code that makes an instance finds the input."""
    before = [(point.identity, plan().queries_identity(point)) for point in plan().points]
    monkeypatch.setattr(problem.problem("sssp"), "INPUTS", {"network": problem.Input("graph", "with weights")})
    after = [(point.identity, plan().queries_identity(point)) for point in plan().points]
    assert len(before) == len(after) and not {one for pair in before for one in pair} & {o for p in after for o in p}


def test_a_table_depends_on_what_solvers_are_ranked_by(monkeypatch):
    before = plan().table_identity("tiny")
    monkeypatch.setattr(problem.problem("sssp"), "HEADLINE", "phases")
    assert plan().table_identity("tiny") != before
    before = plan(TROPICAL).table_identity("tiny")
    monkeypatch.setattr(problem.problem("sssp"), "HEADLINE", "time")
    assert plan(TROPICAL).table_identity("tiny") == before


def test_cores_are_part_of_a_cpu_point():
    two, one = ({p.backend: p.identity for p in plan(machine=replace(GPU, cores=n), **BOTH).points} for n in (2, 1))
    assert two["cpu"] != one["cpu"] and two["cuda"] == one["cuda"]


@pytest.mark.parametrize(
    ("module", "touched"),
    [
        ("generators.draw", {"grid", "ring", "road"}),
        ("graph", {"grid", "ring", "road"}),
        ("workflow.graphs.convert", {"grid", "ring", "road"}),
        ("workflow.graphs.arcs", {"grid", "ring", "road"}),
        ("workflow.graphs.parquet", {"grid", "ring", "road"}),
        ("workflow.graphs.generate", {"grid", "ring"}),
        ("workflow.graphs.readers", {"road"}),
        ("workflow.graphs.written", {"road"}),
        ("workflow.graphs.digits", {"road"}),
        ("workflow.parquet_files", {"grid", "ring", "road"}),
        ("workflow.graphs.formats", {"road"}),
        ("workflow.graphs.streams", {"road"}),
        ("generators.regular", {"grid", "ring"}),
        ("generators.lattice", set()),
        ("generators.generator", {"grid", "ring"}),
        ("generators.ranges", set()),
        ("generators", set()),
        ("workflow.step", set()),
        ("files", set()),
    ],
)
def test_a_graph_is_made_again_when_the_code_that_decides_it_changes(edited, module, touched):
    def codes():
        made = planned({"tiny": {**EXPERIMENT, "graphs": ["grid", "ring", "road"]}})
        return {name: made.graph_identity(name) for name in ("grid", "ring", "road")}

    before = codes()
    edited(f"saitan.{module}")
    assert changed(before, codes()) == touched


@pytest.mark.parametrize(("module", "again"), [("arrays", True), ("graphs.streams", True), ("graphs.readers", False)])
def test_an_array_is_unpacked_again_when_the_code_that_decides_it_changes(edited, module, again):
    arrays = {"field": Array(title="F", file="field.f32", dtype="float32", shape=[4])}
    tiny = {"title": "T", "problem": "compression", "arrays": ["field"], "variants": {"fast": {"keep_bits": 8}}}

    def found():
        config = load({"name": "run", "experiments": {"tiny": tiny}}, ENTRIES, arrays)
        made = make(config, WITHOUT, ENTRIES, arrays)
        return [made.array_identity("field"), *(point.identity for point in made.points)]

    before = found()
    edited(f"saitan.workflow.{module}")
    assert [old != new for old, new in zip(before, found(), strict=True)] == [again, again]


def test_what_a_graph_is_made_of_is_part_of_the_identity():
    def identities(**contents):
        described = copy.deepcopy(EXPERIMENT) | {"graphs": ["grid", "hidden"]}
        config = load({"name": "run", "experiments": {"tiny": described}}, ENTRIES)
        made = make(config, WITHOUT, ENTRIES, contents=contents)
        return [{p.identity for p in made.points if p.graph == graph} for graph in ("grid", "hidden")] + [
            made.table_identity("tiny")
        ]

    before, after, other = identities(), identities(hidden="abc"), identities(hidden="abd")
    assert before[0] == after[0] == other[0]
    assert not before[1] & after[1] and not after[1] & other[1]
    assert len({before[2], after[2], other[2]}) == 3


def test_another_generator_is_another_identity(monkeypatch):
    def identities():
        made = plan(graphs=["grid"])
        return {point.identity for point in made.points}, plan(view="graphs", variants={}).table_identity("tiny")

    before = identities()
    monkeypatch.setattr(Plan, "graph_identity", lambda self, graph: "changed")
    after = identities()
    assert not before[0] & after[0] and before[1] != after[1]


def test_files_of_ones_own_that_points_import_are_held_to_the_plan(tmp_path, monkeypatch):
    (tmp_path / "bare_own/inner").mkdir(parents=True)
    (tmp_path / "bare_own/inner/m.py").write_text("")
    (tmp_path / "mine_own.py").write_text("from bare_own.inner import m\nimport saitan.sssp.cpu\n")
    monkeypatch.syspath_prepend(tmp_path)
    variants = problem.problem("sssp").VARIANTS
    assert plan().own_files == []
    monkeypatch.setitem(variants, "conventional", replace(variants["conventional"], cpu="mine_own:Solver"))
    assert plan(variants=["conventional"]).own_files == [
        str(tmp_path / name) for name in ("bare_own/inner/m.py", "mine_own.py")
    ]
    assert plan(variants=["adaptive"]).own_files == []


@pytest.mark.parametrize(
    ("code", "edits", "again"),
    [
        ("from saitan import tropical\ndef f(x): return tropical.matmul(x, x)\n", "tropical.multiply", True),
        ("from saitan import tropical\ndef f(x): return tropical.matmul(x, x)\n", "tropical.cpu_fast", True),
        ("from saitan import tropical\ndef f(x): return tropical.matmul(x, x)\n", "tropical.cuda_fast", True),
        ("from saitan import tropical\ndef f(x): return tropical.matmul(x, x)\n", "tropical.peers", False),
        ("from saitan import tropical\ndef f(x): return tropical.closure(x)\n", "apsp.cpu_dense", True),
        ("from saitan.sssp import solve\n", "sssp.cpu_phast", True),
        ("from saitan.sssp import path\n", "sssp.cpu_phast", False),
        ("import saitan.bfs\nsolve = saitan.bfs.solve_many\n", "bfs.cpu_many", True),
        ("from saitan import apsp\nfind = apsp.compress\n", "apsp.cpu_fast", True),
        ("from saitan import compression\npack = compression.compress\n", "compression.cpu_fast", True),
        ("from saitan import sssp\nlevels = sssp.unreachable\n", "sssp.cpu_fast", False),
    ],
)
def test_a_point_depends_on_the_solvers_that_its_own_code_calls(tmp_path, monkeypatch, edited, code, edits, again):
    # Where a module is found is known from then on.
    name = tmp_path.name
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    variants = problem.problem("sssp").VARIANTS
    monkeypatch.setitem(variants, "conventional", replace(variants["conventional"], cpu=f"{name}:Solver"))
    wanted = {"variants": ["conventional"], "settings": {"backend": "cpu"}}
    before = identities(**wanted)
    edited(f"saitan.{edits}")
    assert bool(changed(before, identities(**wanted))) == again


def test_a_variant_may_lie_in_an_installed_package(monkeypatch):
    variants = problem.problem("sssp").VARIANTS
    monkeypatch.setitem(variants, "conventional", replace(variants["conventional"], cpu="pandas.api:Solver"))
    before, known = identities(**BOTH), other_code._installed
    monkeypatch.setattr(other_code, "_installed", lambda top: [f"{top}=another"] if top == "pandas" else known(top))
    assert {(backend, variant) for backend, variant, _ in changed(before, identities(**BOTH))} == {
        ("cpu", "conventional")
    }


def test_what_a_variant_in_an_installed_package_imports_of_others_counts(tmp_path, monkeypatch):
    (tmp_path / "their_package").mkdir()
    (tmp_path / "their_package/__init__.py").write_text("import another")
    (tmp_path / "their_package/solver.py").write_text("import pandas")
    monkeypatch.syspath_prepend(tmp_path)
    variants, known, made = problem.problem("sssp").VARIANTS, other_code._installed, {}
    told = replace(variants["conventional"], cpu="their_package.solver:Solver")
    monkeypatch.setitem(variants, "conventional", told)
    monkeypatch.setattr(other_code, "_is_installed", lambda part: True)
    for package in ("none", "pandas", "another", "their_package"):
        monkeypatch.setattr(
            other_code, "_installed", lambda top, p=package: [f"{top}=another"] if top == p else known(top)
        )
        made[package] = identities(**BOTH)
    for package in ("pandas", "another", "their_package"):
        touched = {(backend, variant) for backend, variant, _ in changed(made["none"], made[package])}
        assert touched == {("cpu", "conventional")}


@pytest.mark.parametrize("path", ["pandas.api:grid", "saitan.workflow.views:grid"])
def test_a_generator_may_lie_in_an_installed_package_or_import_one(monkeypatch, path):
    told = replace(GENERATORS["grid"], path=path)
    monkeypatch.setattr(identities_of_files, "GENERATORS", {**GENERATORS, "grid": told})
    known, made = other_code._installed, {}
    for package in ("none", "pandas", "numpy", "numba"):
        monkeypatch.setattr(
            other_code, "_installed", lambda top, p=package: [f"{top}=another"] if top == p else known(top)
        )
        made[package] = plan().graph_identity("grid")
    assert made["pandas"] != made["none"] == made["numpy"] == made["numba"]


@pytest.mark.parametrize("module", ["saitan.sssp.phases", "saitan.graph", "saitan.sssp"])
def test_what_any_module_imports_of_others_counts_but_not_what_saitan_requires(monkeypatch, module):
    known, others = other_code._installed, modules.others
    monkeypatch.setattr(
        modules, "others", lambda name: {*others(name), *({"theirs", "pandas"} if name == module else ())}
    )
    made, drawn = {}, {}
    for package in ("none", "theirs", "pandas"):
        monkeypatch.setattr(
            other_code, "_installed", lambda top, p=package: [f"{top}=another"] if top == p else known(top)
        )
        planned = plan()
        made[package] = (identities(**BOTH), planned.own_packages)
        drawn[package] = planned.queries_identity(planned.points[0])
    assert made["none"] == made["pandas"] == (made["none"][0], []) and drawn["none"] == drawn["pandas"]
    assert made["theirs"][1] == ["theirs=another"]
    assert {backend for backend, _, _ in changed(made["none"][0], made["theirs"][0])} == {"cpu", "cuda"}
    assert drawn["theirs"] != drawn["none"]


def test_what_saitan_itself_imports_is_required_or_known_to_come_with_it():
    variants = [variant for name in problem.names() for variant in problem.problem(name).VARIANTS.values()]
    paths = [path for variant in variants for path in (variant.cpu, variant.cuda) if path]
    for path in {*paths, *(generator.path for generator in GENERATORS.values())}:
        assert identities_of_files._beyond(path.split(":")[0]) == []


@pytest.mark.parametrize("where", ["conventional", "grid"])
def test_installed_packages_that_may_be_compiled_in_are_told(tmp_path, monkeypatch, where):
    (tmp_path / "compiled_own.py").write_text("import numpy, theirs.inner\n")
    monkeypatch.syspath_prepend(tmp_path)
    variants, known = problem.problem("sssp").VARIANTS, other_code._installed
    if where == "grid":
        told = replace(GENERATORS["grid"], path="compiled_own:grid")
        monkeypatch.setattr(identities_of_files, "GENERATORS", {**GENERATORS, "grid": told})
    else:
        monkeypatch.setitem(variants, where, replace(variants[where], cpu="compiled_own:Solver"))
    assert plan(variants=["conventional"]).own_packages == []
    monkeypatch.setattr(other_code, "_installed", lambda top: ["theirs=2.0 a"] if top == "theirs" else known(top))
    assert plan(variants=["conventional"]).own_packages == ["theirs=2.0 a"]
    assert plan(variants=["adaptive"]).own_packages == (["theirs=2.0 a"] if where == "grid" else [])


def test_what_code_of_ones_own_imports_of_installed_packages_counts(tmp_path, monkeypatch):
    (tmp_path / "first_own.py").write_text("import second_own\n")
    (tmp_path / "second_own.py").write_text("import pandas\n")
    monkeypatch.syspath_prepend(tmp_path)
    variants, known = problem.problem("sssp").VARIANTS, other_code._installed
    monkeypatch.setitem(variants, "conventional", replace(variants["conventional"], cpu="first_own:Solver"))
    before = identities(**BOTH)
    monkeypatch.setattr(other_code, "_installed", lambda top: [f"{top}=another"] if top == "pandas" else known(top))
    assert {(backend, variant) for backend, variant, _ in changed(before, identities(**BOTH))} == {
        ("cpu", "conventional")
    }
