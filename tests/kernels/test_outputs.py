"""Answers that are no such outputs: every check says what would be right before compiled code reads them."""

import re

import numpy as np
import pytest

from saitan import apsp, bfs, compression, tropical
from saitan.apsp.cpu import CpuSolver as Rows
from saitan.apsp.peers import Scipy as ScipyRows
from saitan.bfs.cpu import CpuSolver as Levels
from saitan.bfs.peers import NetworkitCloseness
from saitan.blocks import check_output
from saitan.compression.cpu_fast import Fast as RoundTrip
from saitan.generators import GENERATORS
from saitan.problem import Block, Invalid
from saitan.sssp.cpu import CpuSolver as Distances
from saitan.sssp.peers import Scipy
from saitan.tropical.peers import NumPy

GRAPH = GENERATORS["grid"](width=5, height=4, weight_low=1, weight_high=9, seed=1)


def given(solver, **last):
    """A solver that has answered so, made without its own preparation where that wants what is not installed."""
    vars(solver).update(last)
    return solver


def bare(solver, **last):
    return given(solver.__new__(solver), **last)


def distances(wrong):
    given(Distances(GRAPH), source=0, distances=wrong(np.zeros(20, np.uint32))).validate()


def peers_distances(wrong):
    Scipy(GRAPH)._keep(0, wrong(np.zeros(20)))


def rows(wrong):
    solver = Rows(apsp.instance({"graph": GRAPH}, sources=3))
    given(solver, sources=3, distances=wrong(np.zeros((3, 20), np.uint32))).validate()


def peers_rows(wrong):
    ScipyRows(apsp.instance({"graph": GRAPH}, sources=3))._keep(wrong(np.zeros((3, 20))))


def levels(wrong):
    parents = np.full(20, -1, np.int32)
    given(Levels(GRAPH), root=0, levels=wrong(np.zeros(20, np.int32)), parents=parents).validate()


def closeness(wrong):
    bare(NetworkitCloseness, graph=GRAPH, _closeness=wrong(np.zeros(20))).validate()


def product(wrong):
    made = tropical.instance({}, n=20, dtype="uint16", seed=1)
    given(NumPy(made), _c=wrong(np.zeros((20, 20), np.uint16))).validate()


def values(wrong):
    made = compression.instance({"values": np.zeros(20)})
    given(RoundTrip(made), values=wrong(np.zeros(20))).validate()


CHECKS = {
    "distances": (distances, peers_distances, rows, peers_rows),
    "levels": (levels,),
    "closeness values": (closeness,),
    "rows of c": (product,),
    "values": (values,),
}


@pytest.mark.parametrize(
    ("name", "check"), [pytest.param(name, check, id=check.__name__) for name in CHECKS for check in CHECKS[name]]
)
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda right: right[..., :-1], r"have the shape \(.*19,?\): \(.*20,?\) is right"),
        (lambda right: np.concatenate([right, right], axis=-1), r"have the shape \(.*40,?\): \(.*20,?\) is right"),
        (lambda right: right[None], r"have the shape \(1, .*\): \(.*\) is right"),
        (lambda right: right.astype(np.complex64), "have the type complex64: .*(int|float).* is right"),
        (lambda right: right.astype(right.dtype.newbyteorder()), "have the type >.*: .* is right"),
        (lambda right: right.astype(object), "have the type object: .* is right"),
        (np.ma.masked_array, r"are masked_array\(.*: a NumPy array is right"),
        (lambda right: right.view(np.recarray), r"are rec.array\(.*: a NumPy array is right"),
        (lambda right: None, "are None: a NumPy array is right"),
        (lambda right: right.tolist(), r"are \[.*: a NumPy array is right"),
    ],
)
def test_what_has_another_form_is_told_what_would_be_right(name, check, wrong, told):
    with pytest.raises(Invalid) as error:
        check(wrong)
    assert re.fullmatch(f"{name} {told}", str(error.value))


def test_an_output_of_the_right_form_passes():
    check_output("c", np.zeros((3, 4), np.uint16), (None, 4), np.float32, np.uint16)
    with pytest.raises(Invalid, match=r"^c have the shape \(3, 4\): \(any, 5\) is right$"):
        check_output("c", np.zeros((3, 4), np.uint16), (None, 5), np.uint16)
    with pytest.raises(Invalid, match=r"^c have the shape \(3, 4\): \(4,\) is right$"):
        check_output("c", np.zeros((3, 4), np.uint16), (4,), np.uint16)
    with pytest.raises(Invalid, match=r"^c have the type uint16: float32 or int32 is right$"):
        check_output("c", np.zeros((3, 4), np.uint16), (3, 4), np.float32, np.int32)


def test_a_round_trip_leaves_its_array_alone(monkeypatch):
    run = RoundTrip.run

    def rounds(self, query):
        self.instance.host()[:] = np.round(self.instance.host(), 2)
        return run(self, query)

    monkeypatch.setattr(RoundTrip, "run", rounds)
    with pytest.raises(Invalid, match=r"^fast writes into _host of its instance, by which answers are checked"):
        compression.solve(np.linspace(0, 1, 50), backend="cpu")


SQUARE, SERIES = np.zeros((5, 5), np.uint16), np.zeros(20)
# Output -> a call of the library that gives it, the class of its variant, and the right answer.
CALLS = {
    "closeness": (lambda: bfs.closeness(GRAPH, backend="cpu"), "bfs.cpu_many.Closeness", {"closeness": np.zeros(20)}),
    "c": (lambda: tropical.solve(SQUARE, SQUARE, variant="numpy"), "tropical.peers.NumPy", {"c": SQUARE}),
    "stream": (
        lambda: compression.solve(SERIES, backend="cpu"),
        "compression.cpu_fast.Fast",
        {"stream": np.zeros(9, np.uint8), "values": SERIES},
    ),
}
CALLS["values"] = CALLS["stream"]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda right: right.reshape(-1)[:-2].reshape(1, 1, -1), r"have the shape \(1, 1, .*\): \(.*\) is right"),
        (lambda right: right.astype(np.int16), "have the type int16: .* is right"),
        (None, "are None: a NumPy array is right"),
        (lambda right: right, None),
    ],
)
def test_what_a_variant_gives_instead_of_an_output_is_told(name, wrong, told, monkeypatch):
    call, solver, answer = CALLS[name]
    given = {key: array if key != name else wrong and wrong(array) for key, array in answer.items()}

    def blocks(self, rows=None):
        return [Block(key, 0, array) for key, array in given.items() if array is not None]

    monkeypatch.setattr(f"saitan.{solver}.blocks", blocks)
    if told is None:
        call()
    else:
        with pytest.raises(Invalid, match=f"^{name} {told}$"):
            call()
