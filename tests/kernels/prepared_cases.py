"""Solvers of all variants of all problems, prepared on something small."""

import numpy as np
import pytest

from saitan.blocks import Block, joined, on_host
from saitan.cuda.module import only
from saitan.generators import GENERATORS
from saitan.graph import Graph
from saitan.problem import Invalid, kernels_of, outputs_of, problem
from saitan.solver import _guarded
from saitan.tropical.validate import Validated

# Those whose wrong queries are known here.
PROBLEMS = ("apsp", "bfs", "compression", "sssp", "tropical")
SMALL = {"tropical": {"n": 40}, "compression": {"qubits": 8}}


def cases(backend="cpu"):
    """(problem, variant, parameters of its instance) of every task that a variant has on a backend."""
    for name in PROBLEMS:
        package = problem(name)
        tasks = next(((key, p.choices) for key, p in package.INSTANCE.items() if key in ("task", "answer")), None)
        for variant, declared in package.VARIANTS.items():
            for task in [{tasks[0]: choice} for choice in tasks[1]] if tasks else [{}]:
                instance = SMALL.get(name, {}) | task
                if getattr(declared, backend) and not declared.unfit(backend, instance):
                    yield pytest.param(name, variant, instance, id="-".join([name, variant, *task.values()]))


def others():
    """Inputs of apsp for which `fast` makes a solver of another class: a matrix and a dense graph."""
    rng = np.random.default_rng(1)
    matrix = rng.integers(1, 99, (143, 143)).astype(np.uint16)
    rows, columns = np.divmod(np.arange(143 * 143), 143)
    dense = Graph.from_arcs(143, rows, columns, matrix.reshape(-1).astype(np.uint32))
    return {"matrix": {"matrix": matrix}, "dense": {"graph": dense}}


def prepared(name, variant, instance, backend="cpu", inputs=None):
    """The problem's package, a solver, and a query. Skips what is not installed."""
    package = problem(name)
    if reason := package.VARIANTS[variant].missing():
        pytest.skip(reason)
    grid = GENERATORS["grid"](width=13, height=11, weight_low=1, weight_high=99, seed=1)
    graphs = [key for key, declared in package.INPUTS.items() if declared.kind == "graph" and name != "tropical"]
    inputs = inputs or dict.fromkeys(graphs, grid)
    made = package.instance(inputs, **instance)
    return package, package.prepare(made, variant, backend), package.queries(made, 1, 1)[0]


# What the query of a problem is not, and what is said of it; the graph has 143 vertices.
NO_VERTEX = {
    143: "{} 143 is not in [0, 143)",
    -1: "{} -1 is not in [0, 143)",
    2**70: f"{{}} {2**70} is not in [0, 143)",
    None: "{} must be the whole number of a vertex, not None",
    "0": "{} must be the whole number of a vertex, not '0'",
    1.5: "{} must be the whole number of a vertex, not 1.5",
    True: "{} must be the whole number of a vertex, not True",
}
NO_RANGE = [99, [0], [0, 1, 2], range(2), range(3), (0, 1.5), (0, True), None, "01"]
OUTSIDE = [(0, 0), (0, 144), (143, 1), (-1, 2)]


def refused(name, instance):
    """Wrong queries, and what is said of each."""
    if name == "sssp":
        return [(query, says.format("source")) for query, says in NO_VERTEX.items()]
    if name == "bfs" and instance["task"] != "closeness":
        return [(query, says.format("root")) for query, says in NO_VERTEX.items()]
    if name == "apsp":
        says = "a query is [first source, number of sources], not {!r}"
        wrong = [(query, says.format(query)) for query in NO_RANGE]
        return wrong + [(query, f"{query[1]:,} sources from {query[0]:,} on: there are 143 ") for query in OUTSIDE]
    wrong = [("x", "query must be a whole number of at least 0, not 'x'"), (-1, "query must be a whole number")]
    return [*wrong, (1, "query 1 is not 0, which is the only one")] if name == "compression" else wrong


def refuses_what_is_not_there(name, variant, instance, backend, inputs=None):
    """Fail where a solver takes a query that there is not, or tells of an answer that there is not.

    The answer that there is has all outputs, and no kernels are loaded that the variant does not declare.
    """
    with only(kernels_of(name, problem(name).VARIANTS[variant])):
        _refuses_what_is_not_there(name, variant, instance, backend, inputs)


def _refuses_what_is_not_there(name, variant, instance, backend, inputs):
    package, solver, query = prepared(name, variant, instance, backend, inputs)
    streamed = getattr(solver, "streamed", False)
    named = set()
    sink = [lambda block: named.add(block.name)] if streamed else []
    tells = [call for call in ("validate", "blocks", "answer", "predecessors") if hasattr(solver, call)]
    assert streamed == (not tells)

    def nothing(says):
        for call in tells:
            with pytest.raises(ValueError, match=f"^{says}$"):
                getattr(solver, call)()

    try:
        nothing("this solver has answered nothing yet: call run first")
        for wrong, says in refused(name, instance):
            for call in [call for call in ("run", "checker", "count") if hasattr(solver, call)]:
                with pytest.raises(ValueError) as error:
                    getattr(solver, call)(wrong, *(sink if call == "run" else []))
                assert str(error.value).startswith(says)
        nothing("this solver has answered nothing yet: call run first")
        assert solver.run(query, *sink).counters.keys() <= package.METRICS.keys()
        before = None if streamed else solver.answer()
        assert (named or before.keys()) == set(outputs_of(package, instance))
        for wrong, _ in refused(name, instance)[:1]:
            with pytest.raises(ValueError):
                solver.run(wrong, *sink)
        if not streamed:
            # The answer before is still there.
            assert solver.validate().says
            after = solver.answer()
            assert all((before[output] == after[output]).all() for output in before)
            for rows in ([True, False], [-1], [1, 0], [0, 0], [[0]], [0.5], ["0"]):
                with pytest.raises(ValueError, match=r"^rows must be ascending numbers of rows$"):
                    solver.blocks(np.array(rows))
            with pytest.raises(ValueError, match=r"^rows: entry 0 is a truth value beside numbers$"):
                solver.blocks([True, 2])
            assert joined(solver.blocks(np.array([0], np.uint8))).keys() == before.keys()
            assert joined(solver.blocks([])) == {}
        if hasattr(type(solver), "count"):
            # What was counted may be of another query.
            solver.count(query)
            nothing("this solver has counted since its last run: call run again")
            solver.run(query)
            assert solver.validate().says
    finally:
        solver.close()
    nothing("this solver is closed: prepare another one")


def holds_its_blocks_to_what_was_checked(name, variant, instance, backend, inputs=None):
    """Fail where a class that inherits `validate`, or calls it, may give other blocks than what that checked."""
    with only(kernels_of(name, problem(name).VARIANTS[variant])):
        _, solver, query = prepared(name, variant, instance, backend, inputs)
        try:
            if not getattr(solver, "streamed", False):
                _holds_its_blocks(solver, query)
        finally:
            solver.close()


def _holds_its_blocks(solver, query):
    (base,) = type(solver).__bases__

    class Own(base):
        changed = dropped = None

        def blocks(self, rows=None):
            for name, first, array in super().blocks(rows):
                array = np.array(on_host(array))
                if name == self.changed and first + len(array) == ends[name]:
                    array[-1:].reshape(-1)[-1:].view(np.uint8)[0] ^= 1
                for row in range(len(array)) if name != self.dropped else ():
                    yield Block(name, first + row, array[row : row + 1])

    class Calling(Own):
        def validate(self):
            return super().validate()

    solver.run(query)
    ends = {output: len(array) for output, array in solver.answer().items()}
    # The CPU's check of a product reads the blocks.
    reads = issubclass(base, Validated)
    for own in (Own, Calling):
        solver.__class__ = _guarded(own)
        own.changed = own.dropped = None
        assert solver.validate().says
        for output in ends.keys() - {"stream"}:
            for spoiled, gives in (("changed", "other"), ("dropped", "no")):
                own.changed = own.dropped = None
                setattr(own, spoiled, output)
                says = (
                    "" if reads else rf"^blocks gives {gives} {output}: those that validate of \w+ checked are right$"
                )
                with pytest.raises(Invalid, match=says):
                    solver.validate()
