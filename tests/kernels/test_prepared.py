"""A prepared solver refuses, in one line, a query or an answer that is not there, on every backend and variant."""

import numpy as np
import pytest
from prepared_cases import (
    PROBLEMS,
    cases,
    holds_its_blocks_to_what_was_checked,
    others,
    prepared,
    refuses_what_is_not_there,
)

from saitan import apsp, bfs, compression, sssp, tropical
from saitan.apsp.cpu import Iterated
from saitan.bfs.cpu import Hybrid
from saitan.blocks import Blockwise, Rows, both
from saitan.compression.cpu import C1
from saitan.generators import GENERATORS
from saitan.graph import Graph
from saitan.problem import Block, Checked, Invalid, Misdeclared, Run, Unavailable, Variant, problem
from saitan.solver import Solver
from saitan.solver import prepared as guarded
from saitan.sssp.cpu import Conventional
from saitan.tropical.cpu import Untiled


@pytest.mark.parametrize(("name", "variant", "instance"), list(cases()))
def test_a_query_or_an_answer_that_is_not_there(name, variant, instance):
    refuses_what_is_not_there(name, variant, instance, "cpu")


@pytest.mark.parametrize("given", others())
def test_a_solver_that_another_class_makes(given):
    refuses_what_is_not_there("apsp", "fast", {"answer": "matrix"}, "cpu", others()[given])
    holds_its_blocks_to_what_was_checked("apsp", "fast", {"answer": "matrix"}, "cpu", others()[given])


@pytest.mark.parametrize(("name", "variant", "instance"), list(cases()))
def test_blocks_of_a_class_that_inherits_its_check(name, variant, instance):
    holds_its_blocks_to_what_was_checked(name, variant, instance, "cpu")


def test_a_solver_of_a_map():
    road = GENERATORS["road_rail"](vertices=9000, arcs=28_800, seed=1)
    solver = apsp.prepare(apsp.instance({"graph": road}, sources=2), "fast", "cpu")
    assert type(solver).__name__ == "Swept"
    with pytest.raises(ValueError, match=r"^this solver has answered nothing yet: call run first$"):
        solver.validate()
    solver.close()
    with pytest.raises(ValueError, match=r"^this solver is closed: prepare another one$"):
        solver.run([0, 2])


def spoil(monkeypatch, patched, method, dtype):
    """Have a class of solvers answer in another type, as SciPy's float64 is of whole numbers."""
    right = getattr(patched, method)

    def blocks(self, rows=None):
        return [block._replace(array=block.array.astype(dtype)) for block in right(self, rows)]

    monkeypatch.setattr(patched, method, blocks if method == "blocks" else lambda self: right(self).astype(dtype))


@pytest.mark.parametrize(
    ("name", "variant", "instance", "patched", "method", "says"),
    [
        ("sssp", "conventional", {}, Conventional, "blocks", "distances"),
        ("apsp", "iterated", {"answer": "matrix"}, Iterated, "blocks", "distances"),
        ("apsp", "iterated", {"answer": "slabs"}, Iterated, "slab", "distances"),
        ("apsp", "iterated", {"answer": "reductions"}, Iterated, "slab", "eccentricity"),
    ],
)
@pytest.mark.parametrize(
    ("weights", "wide", "wrong"),
    [("uint32", "uint64", "float64"), ("uint32", "uint64", "int64"), ("float32", "float64", "uint32")],
)
def test_distances_of_another_kind_than_the_weights_are_one_line(
    name, variant, instance, patched, method, says, weights, wide, wrong, monkeypatch
):
    package = problem(name)
    grid = GENERATORS["grid"](width=13, height=11, weight_low=1, weight_high=99, seed=1)
    grid._set(weights=grid.weights.astype(weights))
    made = package.instance({"graph": grid}, **instance)
    for dtype in (weights, wide, wrong):
        with monkeypatch.context() as context:
            spoil(context, patched, method, dtype)
            solver, [query] = package.prepare(made, variant, "cpu"), package.queries(made, 1, 1)
            if method == "slab":
                solver.solver.dtype = np.dtype(dtype)
            rows = Rows()
            streamed = [rows] if getattr(solver, "streamed", False) else []
            if dtype != wrong:
                solver.run(query, *streamed)
                assert (rows if streamed else solver).answer()[says].dtype == dtype
                continue
            with pytest.raises(Invalid, match=rf"^{says} have the type {wrong}: {weights} or {wide} is right$"):
                solver.run(query, *streamed)
                solver.answer()


@pytest.mark.parametrize(
    ("package", "variant", "patched"), [(sssp, "conventional", Conventional), (bfs, "hybrid", Hybrid)]
)
def test_the_answer_to_an_earlier_query_is_refused(package, variant, patched, monkeypatch):
    """It would be checked as that, and be right."""
    grid = GENERATORS["grid"](width=13, height=11, weight_low=1, weight_high=99, seed=1)
    solver, run, first = package.prepare(grid, variant, "cpu"), patched.run, []

    def once(self, query):
        first[:] = first or [run(self, query)]
        return first[0]

    monkeypatch.setattr(patched, "run", once)
    solver.run(7)
    solver.validate()
    solver.run(np.int64(7))
    name = "source" if package is sssp else "root"
    with pytest.raises(Invalid, match=rf"^after a run of 8 the solver's {name} is 7: 8 is right$"):
        solver.run(8)
    with pytest.raises(ValueError, match=r"^the last run of this solver failed: there is no answer$"):
        solver.validate()


@pytest.mark.parametrize(
    ("package", "variant", "patched", "output"),
    [
        (sssp, "conventional", Conventional, "distances"),
        (bfs, "hybrid", Hybrid, "levels"),
        (bfs, "hybrid", Hybrid, "parents"),
        (apsp, "iterated", Iterated, "distances"),
    ],
)
@pytest.mark.parametrize(
    ("spoiled", "says"),
    [
        (lambda array: array[..., :-1], r"have the shape \(.*142,?\): \(.*143,?\) is right"),
        (lambda array: array[..., None], r"have the shape \(.*143, 1\): \(.*143,?\) is right"),
        (lambda array: None, "are None: a NumPy array is right"),
    ],
)
def test_the_library_gives_no_answer_of_another_shape(package, variant, patched, output, spoiled, says, monkeypatch):
    right = patched.answer
    monkeypatch.setattr(patched, "answer", lambda self: right(self) | {output: spoiled(right(self)[output])})
    grid = GENERATORS["grid"](width=13, height=11, weight_low=1, weight_high=99, seed=1)
    with pytest.raises(Invalid, match=f"^{output} {says}$"):
        package.solve(grid, range(1) if package is apsp else 0, variant=variant, backend="cpu")


def least(other, base=object):
    """A class of solvers that has the methods which README asks for, and no more."""

    class Mine(base):
        memory, transfer = 0, 0.0

        def __init__(self, instance):
            self.other = other(instance)

        def run(self, query):
            return self.other.run(query)

        def validate(self):
            return self.other.validate()

        def blocks(self, rows=None):
            return self.other.blocks(rows)

        def close(self):
            self.other.close()

    return Mine


class Delegating:
    """A solver that asks another one for all that it does not have."""

    def __getattr__(self, name):
        if name == "other":
            raise AttributeError(name)
        return getattr(self.other, name)


@pytest.mark.parametrize("base", [object, Blockwise, Solver, Delegating])
@pytest.mark.parametrize(
    ("package", "other", "given"),
    [
        (sssp, Conventional, (1,)),
        (bfs, Hybrid, (1,)),
        (apsp, Iterated, (range(4),)),
        (tropical, Untiled, ()),
        (compression, C1, ()),
    ],
)
def test_the_one_call_takes_a_variant_with_the_methods_that_readme_asks_for(package, other, given, base, monkeypatch):
    mine = least(other, object if base is Delegating else base)
    if base is Delegating:
        asked = mine
        mine = type("Mine", (Delegating,), {"__init__": lambda self, instance: setattr(self, "other", asked(instance))})
    monkeypatch.setattr(f"{other.__module__}.Mine", mine, raising=False)
    monkeypatch.setitem(package.VARIANTS, "mine", Variant("the least", cpu=f"{other.__module__}:Mine"))
    data = {
        tropical: [np.arange(12.0, dtype=np.float32).reshape(3, 4), np.ones((4, 5), np.float32)],
        compression: [np.arange(9.0)],
    }.get(package, [GENERATORS["grid"](width=13, height=11, weight_low=1, weight_high=99, seed=1)])
    mine = package.solve(*data, *given, variant="mine", backend="cpu")
    right = package.solve(*data, *given, variant="fast", backend="cpu")
    for one, other in zip(arrays_of(mine), arrays_of(right), strict=True):
        assert np.array_equal(one, other)


def arrays_of(answer):
    if isinstance(answer, np.ndarray):
        return [answer]
    return [getattr(answer, name) for name in ("distances", "levels", "values") if hasattr(answer, name)]


def test_methods_of_the_protocol_are_none():
    class Mine(Solver):
        def run(self, query):
            return Run(1.0, 1.0)

        def validate(self):
            return Checked("all")

        def close(self):
            pass

    with pytest.raises(Misdeclared, match=r"^a solver of class Mine has no method blocks: "):
        guarded(Mine, int)
    Mine.blocks = lambda self, rows=None: iter([Block("c", 0, np.arange(3))])
    solver = guarded(Mine, int)
    assert not hasattr(solver, "count") and not hasattr(solver, "checker")
    solver.run(0)
    assert solver.answer()["c"].tolist() == [0, 1, 2]


def test_a_variant_without_predecessors_of_its_own_has_a_tree(monkeypatch):
    """Its tree is made of its distances, whose sums must be those of the weights' type."""
    monkeypatch.setattr("saitan.sssp.cpu.Mine", least(Conventional), raising=False)
    monkeypatch.setitem(sssp.VARIANTS, "mine", Variant("no more than a Solver", cpu="saitan.sssp.cpu:Mine"))
    grid = GENERATORS["grid"](width=13, height=11, weight_low=1, weight_high=99, seed=1)
    mine = sssp.solve(grid, 5, "mine", "cpu", predecessors=True)
    right = sssp.solve(grid, 5, "scipy", "cpu", predecessors=True)
    assert np.array_equal(mine.distances, right.distances) and np.array_equal(mine.predecessors, right.predecessors)
    assert sssp.solve(grid, 5, "mine", "cpu").predecessors is None


@pytest.mark.parametrize("wide", [False, True])
def test_a_tree_of_sums_that_were_rounded_once(wide, monkeypatch):
    """As a heap in Python makes them: it is told what is right, which float64 is."""
    mine = least(Conventional)
    weights = np.random.default_rng(0).random(40, np.float32)
    graph = Graph.from_arcs(41, range(40), range(1, 41), weights)
    sums = np.concatenate([[0.0], np.cumsum(weights, dtype=np.float64)])
    mine.blocks = lambda self, rows=None: iter([Block("distances", 0, sums if wide else sums.astype(np.float32))])
    monkeypatch.setattr("saitan.sssp.cpu.Mine", mine, raising=False)
    monkeypatch.setitem(sssp.VARIANTS, "mine", Variant("by a heap", cpu="saitan.sssp.cpu:Mine"))
    if wide:
        found = sssp.solve(graph, 0, "mine", "cpu", predecessors=True)
        assert found.predecessors.tolist() == list(range(-1, 40))
        assert np.array_equal(found.distances, np.concatenate([[0], np.cumsum(weights)]).astype(np.float32))
        return
    with pytest.raises(
        Invalid, match=r"^mine: vertex \d+ .*: sums added in float32 are right, or distances of float64$"
    ):
        sssp.solve(graph, 0, "mine", "cpu", predecessors=True)


def test_answers_of_another_type_than_their_data_are_one_line(monkeypatch):
    spoil(monkeypatch, Untiled, "blocks", "float64")
    with pytest.raises(Invalid, match=r"^c have the type float64: float32 is right$"):
        tropical.solve(np.ones((3, 3), np.float32), np.ones((3, 3), np.float32), variant="untiled", backend="cpu")
    spoil(monkeypatch, Conventional, "blocks", "float64")
    grid = GENERATORS["grid"](width=13, height=11, weight_low=1, weight_high=99, seed=1)
    with pytest.raises(Invalid, match=r"^distances have the type float64: uint32 or uint64 is right$"):
        sssp.solve(grid, 0, variant="conventional", backend="cpu")
    values = compression.instance({"values": np.arange(9.0, dtype=np.float32)})
    solver = compression.prepare(values, "fast", "cpu")
    solver.run(0)
    assert {name: array.dtype for name, array in solver.answer().items()} == {"stream": np.uint8, "values": np.float32}
    solver.values = solver.values.astype(np.float64)
    with pytest.raises(Invalid, match=r"^values have the type float64: float32 is right$"):
        solver.answer()


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


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("backend", ["auto", "gpu", "CPU", "", None, 0])
def test_prepare_names_the_backends_there_are(name, backend):
    package = problem(name)
    made = package.instance({} if name in ("tropical", "compression") else {"graph": prepared_graph()})
    with pytest.raises(ValueError) as error:
        package.prepare(made, next(iter(package.VARIANTS)), backend)
    assert str(error.value) == f"unknown backend {backend!r} (there are: cpu, cuda)"


def prepared_graph(width=3):
    return GENERATORS["grid"](width=width, height=3, weight_low=1, weight_high=9, seed=1)


ARRAY = np.ones((3, 3), np.float32)


@pytest.mark.parametrize(
    ("name", "inputs", "says"),
    [
        ("sssp", {}, "sssp needs an input: graph"),
        ("bfs", {}, "bfs needs an input: graph"),
        ("sssp", {"grpah": 1}, "sssp has no input 'grpah' (it has: graph)"),
        ("apsp", {"grpah": 1}, "apsp has no input 'grpah' (it has: graph, matrix)"),
        ("tropical", {"grpah": 1}, "tropical has no input 'grpah' (it has: graph)"),
        ("compression", {"array": ARRAY}, "compression has no input 'array' (it has: values)"),
        ("apsp", {"graph": None}, "graph is None: give one, or leave it out where it is optional"),
        ("tropical", {"graph": None}, "graph is None: give one, or leave it out where it is optional"),
        ("compression", {"values": None}, "values is None: give one, or leave it out where it is optional"),
        ("apsp", {"graph": "graph", "matrix": ARRAY}, "apsp takes one input, not graph and matrix"),
        *(
            (name, {"graph": 5}, "graph: a saitan.graph.Graph is expected, not int: make one by Graph.from_arcs or ")
            for name in ("sssp", "bfs", "apsp", "tropical")
        ),
        ("compression", {"values": np.ma.array([1.0, 2.0], mask=[0, 1])}, "values: 1 entries are masked: fill them or"),
    ],
)
def test_an_instance_is_made_of_the_inputs_that_its_problem_has(name, inputs, says):
    given = {
        key: prepared_graph() if isinstance(value, str) else value for key, value in inputs.items() if key != "values"
    }
    with pytest.raises(ValueError) as error:
        problem(name).instance(given | {key: inputs[key] for key in inputs if key == "values"})
    assert str(error.value).startswith(says)


def test_an_array_may_be_a_list():
    made = problem("compression").instance({"values": [1.0, 2.0]})
    assert made.host().tolist() == [1, 2] and made.dtype == np.float64
    made = problem("compression").instance({"values": np.ones(2, np.complex64)}, doubles=True)
    assert (made.dtype, made.count) == (np.float64, 4)


@pytest.mark.parametrize("name", ["sssp", "bfs", "tropical"])
@pytest.mark.parametrize(("count", "seed"), [(-1, 1), (1.5, 1), (True, 1), ("a", 1), (1, -1), (1, "a"), (1, None)])
def test_queries_of_a_count_or_seed_that_is_none(name, count, seed):
    with pytest.raises(ValueError, match=r"^(count|seed) must be a whole number of at least 0, not "):
        problem(name).queries(prepared_graph(), count, seed)
    with pytest.raises(Unavailable, match=r"has no vertices$"):
        problem("sssp").queries(Graph.from_arcs(0, [], [], []), 1, 1)


@pytest.mark.parametrize(
    ("name", "queries"),
    [
        ("sssp", [-1, 9, None, 1.5, True]),
        ("bfs", [-1, 9, None, 1.5, True]),
        ("apsp", [[-1, 2], [0.5, 2], None, [0, 10], 3]),
        ("tropical", [-1, None, 1.5, "1"]),
    ],
)
def test_a_reference_is_that_of_a_query_there_is(name, queries):
    package = problem(name)
    made = package.instance({"graph": prepared_graph()}, **({"n": 3} if name == "tropical" else {}))
    for query in queries:
        with pytest.raises(ValueError):
            package.reference(made, query)
    with pytest.raises(Unavailable, match="has no weights"):
        problem("sssp").reference(Graph.from_arcs(2, [0], [1]), 0)


@pytest.mark.parametrize("variant", [name for name, made in apsp.VARIANTS.items() if made.cpu and not made.instance])
@pytest.mark.parametrize("answer", ["slabs", "reductions"])
def test_a_later_query_may_need_wider_distances(variant, answer):
    graph = Graph.from_arcs(4, [1, 2, 3], [2, 3, 0], np.full(3, 2**32 - 2, np.uint32))
    solver = apsp.prepare(apsp.instance({"graph": graph}, answer=answer), variant, "cpu")
    expected = np.array([0, 3, 2, 1]) * (2**32 - 2)
    for first in (0, 1, 2, 0, 3):
        kept = []
        if answer == "slabs":
            check = solver.checker([first, 1])
            solver.run([first, 1], both(check, lambda block: kept.append(int(block.array[0, 0]))))  # noqa: B023
            assert check.finish().whole and kept == [expected[first]]
        else:
            solver.run([first, 1])
            assert solver.validate().whole and solver.answer()["eccentricity"].tolist() == [expected[first]]
    solver.close()


def test_a_core_that_memory_does_not_hold(monkeypatch):
    monkeypatch.setattr("saitan.memory.available_memory", lambda: 10_000)
    with pytest.raises(Unavailable, match=r"^a table of the \d+ vertices left uncontracted: "):
        problem("sssp").solve(prepared_graph(30), 0, "phast", "cpu")
    with pytest.raises(ValueError, match=r"^core must be at most 16,?384"):
        problem("sssp").prepare(prepared_graph(), "phast", "cpu", core=16385)


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
