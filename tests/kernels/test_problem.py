import ast
import contextlib
import inspect
import itertools
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from saitan import problem
from saitan.cuda.build import included
from saitan.generators import GENERATORS
from saitan.graph import Graph
from saitan.problem import (
    Input,
    Metric,
    Output,
    Parameter,
    Unavailable,
    Variant,
    backend_for,
    check_parameters,
    completed,
    kernels_of,
)
from saitan.workflow.planning import _ranks

ROOT = Path(__file__).parents[2]
GRID = GENERATORS["grid"](width=6, height=6, weight_low=1, weight_high=9, seed=1)
VARIANTS = [(name, variant) for name in problem.names() for variant in problem.problem(name).VARIANTS]


def declared(name, variant):
    return problem.problem(name).VARIANTS[variant]


def test_problems_are_the_packages_with_variants():
    assert {"sssp", "tropical"} <= set(problem.names())
    assert not {"cuda", "generators"} & set(problem.names())
    assert problem.problem("sssp").__name__ == "saitan.sssp"
    with pytest.raises(KeyError, match=r"unknown problem 'ssp' \(there are: .*sssp"):
        problem.problem("ssp")


@pytest.mark.parametrize(
    ("values", "other", "words"),
    [
        (("a", "b"), "c", ("a or b", "c")),
        ((3, 4), 1, ("3 or 4", "1")),
        ((0.5,), 2.0, ("0.5", "2.0")),
        ((True,), False, ("true", "false")),
    ],
)
def test_values_of_any_type_that_an_instance_must_have_are_told(values, other, words):
    """Parameters of an instance are texts, numbers or truth values, wherever they are named."""
    output = Output("x", instance={"multiplier": values})
    variant = Variant("x", "saitan.sssp.cpu", "Fast", instance={"multiplier": values}, ranks=(1, 2))
    package = SimpleNamespace(INSTANCE={"multiplier": Parameter(type(other), other, "x", together=values)})
    for value in values:
        assert output.lacking({"multiplier": value}) is variant.unfit("cpu", {"multiplier": value}) is None
        assert _ranks([2], variant, {"multiplier": value}, package) == ([2], [])
    right, wrong = words
    given = {"multiplier": other}
    assert output.lacking(given) == f"the answer has it where the instance's multiplier is {right}, not {wrong}"
    assert variant.unfit("cpu", given) == f"takes multiplier {right} only, not {wrong}"
    alone = f"answers on several ranks where multiplier is {right}, not {wrong}"
    assert _ranks([2], variant, given, package)[1] == [(2, alone)]


def test_a_problem_is_cheap_to_import():
    heavy = "numba", "pycuda", "scipy"
    code = f"""
import sys
from saitan import problem
for name in problem.names():
    problem.problem(name)
print([module for module in {heavy!r} if module in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", problem.names())
def test_a_problem_offers_what_the_workflow_asks_of_it(name):
    package = problem.problem(name)
    assert package.TITLE and package.VARIANTS
    assert all(isinstance(variant, Variant) and variant.summary for variant in package.VARIANTS.values())
    assert all(isinstance(made, Input) and made.says for made in package.INPUTS.values())
    for made in package.OUTPUTS.values():
        assert isinstance(made, Output) and made.says and "\n" not in made.says
        assert all(set(values) <= set(package.INSTANCE[name].choices) for name, values in made.instance.items())
    traces = getattr(package, "TRACES", {})
    given = [(variant, *of) for variant in package.VARIANTS.values() for of in variant.traces.items()]
    assert all(backend in variant.backends() and {*names} <= traces.keys() for variant, backend, names in given)
    assert {name for *_, names in given for name in names} == traces.keys()
    assert all(isinstance(made, Parameter) for made in package.INSTANCE.values())
    for made in package.METRICS.values():
        assert isinstance(made, Metric) and made.says and "\n" not in made.says
    assert package.HEADLINE == "time" or package.METRICS[package.HEADLINE].better
    for function in ("instance", "queries", "reference", "differs", "prepare", "solve"):
        assert callable(getattr(package, function)), function
    for variant in package.VARIANTS.values():
        # A parameter of both would be one column of the samples for two things.
        assert not variant.parameters.keys() & package.INSTANCE.keys()
        for made in (*variant.parameters.values(), *package.INSTANCE.values()):
            assert isinstance(made, Parameter) and made.says and "\n" not in made.says
            assert made.default is None or made.wrong(made.default) is None, made


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_a_cpu_solver_takes_the_parameters_that_its_variant_declares(name, variant):
    made = declared(name, variant)
    if made.cpu is None:
        pytest.skip(f"{variant} has no cpu implementation")
    if reason := made.missing():
        pytest.skip(reason)
    solver = made.load("cpu")
    parameters = inspect.signature(solver).parameters.values()
    assert {p.name for p in parameters if p.kind == p.KEYWORD_ONLY} == set(made.parameters)
    # A sweep may leave any of them out.
    assert all(p.default is not p.empty for p in parameters if p.kind == p.KEYWORD_ONLY)
    assert all(callable(getattr(solver, method, None)) for method in ("run", "validate", "blocks", "answer", "close"))


@pytest.mark.parametrize(("name", "variant"), [of for of in VARIANTS if declared(*of).traces])
def test_a_cpu_solver_traces_what_its_variant_declares(name, variant):
    package, made = problem.problem(name), declared(name, variant)
    if made.cpu is None or made.missing():
        pytest.skip("it does not run here")
    asked = {parameter: values[0] for parameter, values in made.instance.items()}
    instance = package.instance({"graph": GRID}, **asked)
    solver = package.prepare(instance, variant, "cpu")
    [query] = package.queries(instance, 1, 1)
    found = solver.run(query).phases | (solver.count(query) if hasattr(solver, "count") else {})
    solver.close()
    # A view of phases wants their seconds.
    assert ("seconds" in found) == ("cpu" in made.traces)
    assert "cpu" not in made.traces or found.keys() - {"seconds"} == {*made.traces["cpu"]}


def source_of(module):
    path = ROOT / ("kernels" + module.removeprefix("saitan").replace(".", "/") + ".py")
    return ast.parse(path.read_text()) if path.exists() else None


def resolve(module, name):
    """A class of the source tree by name, followed through imports, with its own and inherited methods; unimported."""
    tree = source_of(module)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            methods = {}
            for base in reversed(node.bases):
                if isinstance(base, ast.Name) and (found := resolve(module, base.id)):
                    methods |= found
            return methods | {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
        if isinstance(node, ast.ImportFrom) and any((a.asname or a.name) == name for a in node.names):
            original = next(a.name for a in node.names if (a.asname or a.name) == name)
            return resolve(node.module, original) if source_of(node.module) else {}
    return None


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_a_cuda_solver_takes_the_parameters_that_its_variant_declares(name, variant):
    made = declared(name, variant)
    if made.cuda is None:
        pytest.skip(f"{variant} has no cuda implementation")
    module, solver = made.cuda.split(":")
    methods = resolve(module, solver)
    assert methods is not None, f"{made.cuda} is not there"
    assert {"run", "validate", "blocks", "close", "__init__"} <= methods.keys()
    # What a base class takes beyond that is for its subclasses, and nobody has to give it.
    taken = methods["__init__"].args
    assert set(made.parameters) <= {argument.arg for argument in taken.kwonlyargs}
    assert all(default is not None for default in taken.kw_defaults)
    if made.peer is None:
        assert made.cubins
    for stem in made.cubins:
        path = stem if "/" in stem else f"{name}/{stem}"
        assert (ROOT / "kernels" / f"{path}.cu").exists()


def test_a_variant_loads_what_it_has_and_says_what_it_lacks():
    made = Variant("x", cpu="json:JSONDecoder")
    assert made.backends() == ("cpu",) and made.load("cpu").__name__ == "JSONDecoder"
    with pytest.raises(Unavailable, match=r"^jason has no cuda implementation \(there is one for: cpu\)$"):
        made.load("cuda", "jason")
    peer = Variant("x", cpu="json:JSONDecoder", peer=("no_such_module", "peers"))
    reason = "no_such_module is not installed (pip install -e '.[peers]')"
    assert peer.missing() == reason
    with pytest.raises(Unavailable) as caught:
        peer.load("cpu")
    assert str(caught.value) == reason
    assert Variant("x", cpu="a:B", peer=("json", "peers")).missing() is None
    inner = Variant("x", cpu="a:B", peer=("no_such_module.inner", "peers"))
    assert inner.missing() == "no_such_module.inner is not installed (pip install -e '.[peers]')"


CPU, CUDA, BOTH = Variant("x", cpu="a:B"), Variant("x", cuda="a:B"), Variant("x", cpu="a:B", cuda="a:C")


@pytest.mark.parametrize(
    ("variant", "unusable", "chosen"),
    [
        (CPU, None, "cpu"),
        (CPU, "no driver", "cpu"),
        (BOTH, None, "cuda"),
        (BOTH, "no driver", "cpu"),
        # There is nothing else to take: loading it then says why it cannot run.
        (CUDA, None, "cuda"),
        (CUDA, "no driver", "cuda"),
    ],
)
def test_auto_takes_the_gpu_where_variant_and_machine_have_one(monkeypatch, variant, unusable, chosen):
    monkeypatch.setattr("saitan.cuda.unusable", lambda: unusable)
    assert backend_for(variant) == chosen
    assert [backend_for(variant, choice) for choice in problem.BACKENDS] == list(problem.BACKENDS)
    with pytest.raises(ValueError, match=r"unknown backend 'gpu' \(there are: auto, cpu, cuda\)"):
        backend_for(variant, "gpu")


def test_the_one_call_of_every_problem():
    import numpy as np

    from saitan import sssp, tropical
    from saitan.generators import GENERATORS

    ring = GENERATORS["ring"](vertices=5, weight_low=1, weight_high=1, seed=1)
    assert sssp.solve(ring, 0, backend="cpu").distances.max() in (2, 4)
    a = np.array([[0, 1], [2, 0]], np.float32)
    wanted = (a[:, :, None] + a[None, :, :]).min(axis=1)
    assert np.array_equal(tropical.solve(a, a, backend="cpu"), wanted)


@pytest.mark.parametrize(
    ("parameter", "value", "says"),
    [
        (Parameter(int, 1, "x"), 1.0, "must be a whole number, not 1.0"),
        (Parameter(int, 1, "x"), True, "must be a whole number, not True"),
        (Parameter(float, 1.0, "x"), False, "must be a number, not False"),
        (Parameter(float, 1.0, "x"), "1", "must be a number, not '1'"),
        (Parameter(bool, True, "x"), 1, "must be true or false, not 1"),
        (Parameter(str, "a", "x", ("a", "b")), "c", "must be one of a, b, not 'c'"),
        (Parameter(str, "a", "x"), 3, "must be a text, not 3"),
        (Parameter(float, 1.0, "x"), float("nan"), "must be finite, not nan"),
        (Parameter(float, 1.0, "x"), float("-inf"), "must be finite, not -inf"),
        (Parameter(int, 1, "x"), 2**63, "must fit in 64 bits, not in 65"),
        (Parameter(float, 1.0, "x"), -(2**64), "must fit in 64 bits, not in 66"),
        (Parameter(float, 1.0, "x", above=0), 0, "must be greater than 0, not 0"),
        (Parameter(int, 1, "x", least=1), 0, "must be at least 1, not 0"),
        (Parameter(float, 0.5, "x", most=1), 1.0000001, "must be at most 1, not 1.0000001"),
    ],
)
def test_a_parameter_says_what_is_wrong(parameter, value, says):
    assert parameter.wrong(value) == says
    with pytest.raises(ValueError, match=r"^x must"):
        check_parameters("fast", {"x": value}, {"x": parameter})


def test_a_parameter_takes_what_it_should():
    assert Parameter(float, 1.0, "x", above=0).wrong(1) is None
    assert Parameter(float, 1.0, "x", above=0).wrong(5e-324) is None
    assert Parameter(float, 1.0, "x").wrong(np.float32(2)) is Parameter(int, 1, "x").wrong(np.int64(2)) is None
    assert Parameter(int, 1, "x", least=1, most=3).wrong(1) is Parameter(int, 1, "x", least=1, most=3).wrong(3) is None
    known = {"a": Parameter(int, 4, "x"), "b": Parameter(float, None, "x", above=0)}
    assert check_parameters("fast", {}, known) == {"a": 4, "b": None}
    # What the solver chooses may be said in so many words.
    assert check_parameters("fast", {"b": None, "a": 7}, known) == {"a": 7, "b": None}
    with pytest.raises(ValueError, match=r"^fast has no parameter 'c' \(it has: a, b\)$"):
        check_parameters("fast", {"c": 1}, known)
    with pytest.raises(ValueError, match=r"^fast has no parameter 'c' \(it has none\)$"):
        check_parameters("fast", {"c": 1}, {})


def test_a_parameter_in_the_place_of_another_is_not_given_beside_its_default():
    known = {"a": Parameter(int, 4, "x"), "b": Parameter(float, None, "x", instead_of="a")}
    with pytest.raises(ValueError, match=r"^b and a exclude each other$"):
        check_parameters("fast", {"a": 4, "b": 0.5}, known)
    assert check_parameters("fast", {"b": 0.5}, known) == {"a": 4, "b": 0.5}
    assert check_parameters("fast", {"a": 4, "b": None}, known) == {"a": 4, "b": None}


@pytest.mark.parametrize(
    ("known", "given", "found"),
    [
        ({"a": Parameter(int, 4, "x"), "b": Parameter(str, None, "x")}, {}, {"a": 4, "b": None}),
        ({"a": Parameter(int, 4, "x"), "b": Parameter(str, "u", "x")}, {"a": 5}, {"a": 5, "b": "u"}),
        ({"a": Parameter(int, 4, "x"), "b": Parameter(int, None, "x", instead_of="a")}, {"b": 1}, {"b": 1}),
        ({"a": Parameter(int, 4, "x"), "b": Parameter(int, None, "x", instead_of="a")}, {"a": 3}, {"a": 3, "b": None}),
        (
            {"a": Parameter(int, 4, "x"), "b": Parameter(int, None, "x", instead_of="a")},
            {"b": None},
            {"a": 4, "b": None},
        ),
        ({"a": Parameter(int, 4, "x"), "b": Parameter(int, None, "x", instead_of="a")}, {}, {"a": 4, "b": None}),
        ({"a": Parameter(int, 4, "x"), "b": Parameter(int, None, "x", within="a")}, {"a": 1}, {"a": 1, "b": None}),
        ({"a": Parameter(int, 1, "x", data="given"), "b": Parameter(int, 2, "x", data="generated")}, {}, {"a": 1}),
        ({"a": Parameter(int, 1, "x")}, {"unknown": 3}, {"a": 1, "unknown": 3}),
    ],
)
def test_defaults_complete_what_is_given(known, given, found):
    assert completed(given, known, "given") == found


@pytest.mark.parametrize("name", problem.names())
def test_defaults_that_complete_what_is_given_change_nothing(name):
    """Of every variant, and of every instance of data of either kind."""
    package = problem.problem(name)
    declared = [(variant.parameters, "") for variant in package.VARIANTS.values()]
    for known, data in [*declared, (package.INSTANCE, "given"), (package.INSTANCE, "generated")]:
        fits = [one for one in known if not data or known[one].data in ("", data)]
        for given in [{}, *({one: value} for one in fits for value in _some(known[one]))]:
            with contextlib.suppress(ValueError):
                meant = check_parameters("x", given, known, data)
                assert check_parameters("x", completed(given, known, data), known, data) == meant


@pytest.mark.parametrize("name", [name for name in problem.names() if hasattr(problem.problem(name), "check_instance")])
def test_parameters_of_an_instance_go_together_with_the_defaults_beside_them(name):
    package, taken = problem.problem(name), 0
    for data in ("given", "generated"):
        fits = [one for one, known in package.INSTANCE.items() if known.data in ("", data)]
        pairs = [{one: value} for one in fits for value in _some(package.INSTANCE[one])]
        for given in [{}, *(a | b for a, b in itertools.product(pairs, pairs))]:
            try:
                meant = package.check_instance(data, **given)
            except ValueError:
                continue
            assert package.check_instance(data, **completed(given, package.INSTANCE, data)) == meant
            taken += 1
    assert taken > len(package.INSTANCE)


@pytest.mark.parametrize("name", problem.names())
def test_a_solver_is_given_all_that_is_declared_of_its_parameters(name, monkeypatch):
    package, seen = problem.problem(name), []

    def solver(instance, **parameters):
        seen.append(parameters)
        raise Unavailable("seen")

    monkeypatch.setattr(Variant, "load", lambda *_: solver)
    drawn = {"tropical": ({}, {"n": 8}), "compression": ({"values": np.ones(4)}, {})}
    inputs, given = drawn.get(name, ({"graph": GRID}, {}))
    told = 0
    for variant, described in package.VARIANTS.items():
        parameters = {one: known.default for one, known in described.parameters.items()}
        for backend in described.backends():
            with pytest.raises(Unavailable):
                package.prepare(package.instance(inputs, **given), variant, backend)
            told += len(seen)
            assert seen in ([], [parameters]), variant
            seen.clear()
    assert told > len(package.VARIANTS) / 2


def _some(parameter):
    least = parameter.least if parameter.least is not None else (parameter.above or 0) + 1
    return [parameter.default, *(parameter.choices or (parameter.type(least) if parameter.type is not str else "s",))]


def test_a_parameter_within_another_is_given_beside_it_and_no_greater():
    known = {"up": Parameter(float, None, "x"), "down": Parameter(float, None, "x", within="up")}
    for given in ({"up": 3, "down": 3}, {"up": 3}, {"up": 3, "down": None}, {"down": None}):
        assert check_parameters("fast", given, known) == {"up": None, "down": None} | given
    for up in ({}, {"up": None}):
        with pytest.raises(ValueError, match=r"^down goes with up: give both$"):
            check_parameters("fast", {"down": 2} | up, known)
    with pytest.raises(ValueError, match=r"^up must be a number, not 'x'$"):
        check_parameters("fast", {"down": 2, "up": "x"}, known)
    with pytest.raises(ValueError, match=r"^down must be at most up, 3, not 3\.5$"):
        check_parameters("fast", {"down": 3.5, "up": 3}, known)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble, np.int8, np.uint64])
def test_numbers_of_numpy_are_compared_in_silence(kind):
    bounded = Parameter(float, 1.0, "x", above=0, most=10**9)
    assert bounded.wrong(kind(3)) is None and bounded.wrong(kind(0)).startswith("must be greater than 0, not ")


@pytest.mark.parametrize(
    ("variant", "backend", "instance", "graph", "arch", "says"),
    [
        (
            Variant("x", instance={"task": ("closure",)}),
            "cpu",
            {"task": "product"},
            None,
            None,
            "takes task closure only",
        ),
        (Variant("x", instance={"task": ("closure",)}), "cpu", {"task": "closure"}, None, None, None),
        (
            Variant("x", architecture="sm_90"),
            "cuda",
            {},
            None,
            "sm_80",
            "needs a GPU of sm_90 or newer, this one is sm_80",
        ),
        (Variant("x", architecture="sm_90"), "cuda", {}, None, "sm_90", None),
        (Variant("x", architecture="sm_90a"), "cuda", {}, None, "sm_100", None),
        (Variant("x", architecture="sm_90"), "cpu", {}, None, "sm_80", None),
        (Variant("x", architecture="sm_90"), "cuda", {}, None, None, None),
        (Variant("x", graph=("undirected",)), "cpu", {}, {"directed": True}, None, "needs an undirected graph"),
        (Variant("x", graph=("undirected",)), "cpu", {}, {"directed": False}, None, None),
        (Variant("x", graph=("undirected",)), "cpu", {}, {}, None, None),
        (
            Variant("x", graph=("integer",)),
            "cpu",
            {},
            {"weight": "float32"},
            None,
            "needs integer weights, not float32",
        ),
        (Variant("x", graph=("integer",)), "cpu", {}, {"weight": "uint32"}, None, None),
        (Variant("x", graph=("weights",)), "cpu", {}, {"weight": None}, None, "needs a graph with weights"),
        (Variant("x", graph=("weights",)), "cpu", {}, {}, None, None),
    ],
)
def test_a_variant_says_what_it_needs(variant, backend, instance, graph, arch, says):
    found = variant.unfit(backend, instance, graph, arch)
    assert found is None if says is None else found.startswith(says)


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_a_variant_whose_kernels_reduce_over_a_warp_says_which_gpus_can(name, variant):
    """`__reduce_add_sync` and its kin are there from sm_80 on."""
    paths = [ROOT / "kernels" / f"{path}.cu" for path in kernels_of(name, declared(name, variant))]
    reduce = any("__reduce_" in file.read_text() for path in paths for file in included(path))
    assert declared(name, variant).architecture == ("sm_80" if reduce else "")


def test_what_is_installed_holds_every_folder():
    """An editable installation finds them by itself; a wheel holds what is listed."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    there = {"saitan", "saitan.workflow"}
    for folder, package in (("kernels", "saitan"), ("workflow", "saitan.workflow")):
        for path in (ROOT / folder).rglob("__init__.py"):
            inside = path.parent.relative_to(ROOT / folder)
            there.add(".".join([package, *inside.parts]))
    assert there <= set(listed), "pyproject.toml lists packages, and these are none of them"
    assert {name for name in listed if name.count(".") < 2} <= there


@pytest.mark.parametrize("value", [np.int8(64), np.uint8(64), np.int64(64), np.float16(64), np.float32(64), 64])
def test_numpys_numbers_become_pythons(value):
    known = {"whole": Parameter(int, 1, "x"), "real": Parameter(float, 1.0, "x")}
    given = {"real": value} if isinstance(value, np.floating) else {"whole": value, "real": value}
    plain = check_parameters("x", given, known)
    assert {type(plain[name]) for name in given} <= {int, float} and all(plain[name] == 64 for name in given)
    assert check_parameters("x", {"b": np.True_}, {"b": Parameter(bool, False, "x")})["b"] is True


@pytest.mark.parametrize(
    ("owner", "variant", "backend", "asked"),
    [
        ("bfs", "hybrid", "cpu", {"beta": np.uint8(14), "alpha": np.float16(10)}),
        ("sssp", "adaptive", "cpu", {"threshold_up": np.float16(300)}),
        ("apsp", "batched", "cpu", {"tasks": np.int8(64)}),
        ("compression", "fast", "cpu", {"keep_bits": np.int8(20)}),
    ],
)
def test_every_solver_is_given_pythons_numbers(monkeypatch, owner, variant, backend, asked):
    package, given = problem.problem(owner), {}

    class Told:
        run = validate = blocks = close = print

        def __init__(self, instance, **told):
            given.update(told)

    monkeypatch.setattr(type(package.VARIANTS[variant]), "load", lambda *_: Told)
    if owner == "compression":
        package.prepare(package.instance({}, qubits=4), variant, backend, **asked)
    else:
        graph = Graph.from_arcs(2, [0], [1], [1])
        instance = graph if owner == "sssp" else package.instance({"graph": graph})
        package.prepare(instance, variant, backend, **asked)
    assert all(type(given[name]) in (int, float) and given[name] == value for name, value in asked.items())
