import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from saitan import problem
from saitan.problem import Unavailable, Variant, backend_for

ROOT = Path(__file__).parents[2]
VARIANTS = [(name, variant) for name in problem.names() for variant in problem.problem(name).VARIANTS]


def declared(name, variant):
    return problem.problem(name).VARIANTS[variant]


def test_problems_are_the_packages_with_variants():
    assert {"sssp", "tropical"} <= set(problem.names())
    assert not {"cuda", "generators"} & set(problem.names())
    assert problem.problem("sssp").__name__ == "saitan.sssp"
    with pytest.raises(KeyError, match=r"unknown problem 'ssp' \(there are: .*sssp"):
        problem.problem("ssp")


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
    assert all(isinstance(kind, type) for kind in package.INSTANCE.values())
    assert all(isinstance(line, str) and "\n" not in line for line in package.METRICS.values())
    for function in ("instance", "queries", "reference", "differs", "prepare", "solve"):
        assert callable(getattr(package, function)), function
    for variant in package.VARIANTS.values():
        # A parameter of both would be one column of the samples for two things.
        assert not variant.parameters.keys() & package.INSTANCE.keys()


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
    assert all(callable(getattr(solver, method, None)) for method in ("run", "validate", "answer", "close"))


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
    assert {"run", "validate", "answer", "close", "__init__"} <= methods.keys()
    # What a base class takes beyond that is for its subclasses, and nobody has to give it.
    taken = methods["__init__"].args
    assert set(made.parameters) <= {argument.arg for argument in taken.kwonlyargs}
    assert all(default is not None for default in taken.kw_defaults)
    if made.peer is None:
        assert made.cubins
    for stem in made.cubins:
        assert (ROOT / "kernels" / name / f"{stem}.cu").exists()


def test_a_variant_loads_what_it_has_and_says_what_it_lacks():
    made = Variant("x", cpu="json:JSONDecoder")
    assert made.backends() == ("cpu",) and made.load("cpu").__name__ == "JSONDecoder"
    with pytest.raises(Unavailable, match=r"^no cuda implementation \(there is one for: cpu\)$"):
        made.load("cuda")
    peer = Variant("x", cpu="json:JSONDecoder", peer=("no_such_module", "peers"))
    reason = "no_such_module is not installed (pip install -e '.[peers]')"
    assert peer.missing() == reason
    with pytest.raises(Unavailable) as caught:
        peer.load("cpu")
    assert str(caught.value) == reason
    assert Variant("x", cpu="a:B", peer=("json", "peers")).missing() is None


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
