"""A prepared solver refuses, in one line, a query or an answer that is not there, on every backend and variant."""

import numpy as np
import pytest
from prepared_cases import cases, prepared, refuses_what_is_not_there

from saitan.problem import Block, names, problem


@pytest.mark.parametrize(("name", "variant", "instance"), list(cases()))
def test_a_query_or_an_answer_that_is_not_there(name, variant, instance):
    refuses_what_is_not_there(name, variant, instance, "cpu")


def test_a_run_that_fails_leaves_no_answer(monkeypatch):
    _, solver, query = prepared("sssp", "fast", {})
    solver.run(query)
    assert solver.validate().whole

    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("saitan.sssp.cpu_fast.run_until_it_fits", stopped)
    with pytest.raises(KeyboardInterrupt):
        solver.run(query)
    for call in (solver.validate, solver.blocks, solver.answer):
        with pytest.raises(ValueError, match=r"^the last run of this solver failed: there is no answer$"):
            call()
    monkeypatch.undo()
    solver.run(query)
    assert solver.validate().whole


def test_a_sink_that_fails_does_not_close_the_solver():
    _, solver, query = prepared("apsp", "fast", {"answer": "slabs"})

    def spoils(block: Block):
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        solver.run(query, spoils)
    kept = []
    solver.run(query, lambda block: kept.append(np.array(block.array)))
    assert len(np.concatenate(kept)) == 143


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("backend", ["auto", "gpu", "CPU", "", None, 0])
def test_prepare_names_the_backends_there_are(name, backend):
    package = problem(name)
    made = package.instance({} if name in ("tropical", "compression") else {"graph": prepared_graph()})
    with pytest.raises(ValueError) as error:
        package.prepare(made, next(iter(package.VARIANTS)), backend)
    assert str(error.value) == f"unknown backend {backend!r} (there are: cpu, cuda)"


def prepared_graph():
    from saitan.generators import GENERATORS

    return GENERATORS["grid"](width=3, height=3, weight_low=1, weight_high=9, seed=1)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("apsp", 'apsp.instance({"graph": graph})'),
        ("tropical", 'tropical.instance({"graph": graph}), or tropical.solve(a, b)'),
        ("compression", 'compression.instance({"values": array})'),
    ],
)
def test_prepare_says_how_an_instance_is_made(name, how):
    for given in (prepared_graph(), np.ones((3, 3)), None):
        with pytest.raises(ValueError) as error:
            problem(name).prepare(given, "fast", "cpu")
        assert str(error.value) == f"an instance is expected, not {type(given).__name__}: call {how}"
