"""What a solver does to the arrays of its instance is seen, wherever they lie."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from saitan import untouched as module
from saitan.errors import Invalid
from saitan.generators import GENERATORS
from saitan.untouched import untouched


def made():
    graph = GENERATORS["grid"](width=9, height=8, weight_low=1, weight_high=99, seed=1)
    fields = [np.arange(6.0).reshape(2, 3).T, np.arange(20)[::3], np.array([["a", "bc"]]), np.zeros(0)]
    return SimpleNamespace(graph=graph, fields=fields, by_name={"thing": np.array([1, None])}, scale=2)


def swap(array):
    array[[0, 1]] = array[[1, 0]]


@pytest.mark.parametrize(
    ("place", "spoil"),
    [
        ("graph.weights", lambda it: swap(it.graph.weights)),
        ("graph.targets", lambda it: it.graph.targets.sort()),
        ("graph.offsets", lambda it: it.graph._set(offsets=it.graph.offsets.copy())),
        ("graph.weights", lambda it: it.graph._set(weights=None)),
        ("fields.0", lambda it: swap(it.fields[0])),
        ("fields.1", lambda it: it.fields[1].__setitem__(-1, 0)),
        ("fields.2", lambda it: it.fields[2].__setitem__((0, 1), "cb")),
        ("by_name.thing", lambda it: it.by_name["thing"].__setitem__(1, "b")),
    ],
)
@pytest.mark.parametrize("part", [1 << 25, 64])
def test_what_a_solver_writes_is_told_by_its_place(place, spoil, part, monkeypatch):
    monkeypatch.setattr(module, "_PART", part)
    instance = made()
    says = f"^mine writes into {place} of its instance, by which answers are checked: take a copy$"
    with pytest.raises(Invalid, match=says), untouched(instance, "mine"):
        spoil(instance)


@dataclass(slots=True)
class Slotted:
    left: np.ndarray
    right: np.ndarray = field(init=False)


@dataclass
class Longer(Slotted):
    more: np.ndarray


@pytest.mark.parametrize("within", [lambda it: it, lambda it: SimpleNamespace(by=it)])
@pytest.mark.parametrize(("name", "made"), [("left", Slotted), ("left", Longer), ("more", Longer)])
def test_slots_are_attributes_too(within, name, made):
    held = made(*(np.array([2, 1]) for _ in range(1 + (made is Longer))))
    with untouched(within(held), "mine"):
        held.right = np.zeros(1)
    with pytest.raises(Invalid, match=rf"^mine writes into (by\.)?{name} of its "), untouched(within(held), "mine"):
        getattr(held, name).sort()


def test_what_stays_as_it_was_passes():
    instance = made()
    with untouched(instance, "mine"):
        instance.more = np.zeros(3)
        instance.graph.degrees[0] = 7
        instance.scale = 3
        swap(instance.graph.weights)
        swap(instance.graph.weights)
    with untouched(None, "mine"), untouched(np.zeros(3), "mine"):
        pass


def test_an_instance_that_is_an_array_has_no_place():
    array = np.array([2, 1])
    with pytest.raises(Invalid, match=r"^mine writes into its instance, by which "), untouched(array, "mine"):
        array.sort()


@pytest.mark.parametrize("error", [Invalid("differs from the reference solver"), KeyError("two runs differ")])
def test_an_answer_that_is_wrong_by_what_was_written_over_says_so(error):
    instance = made()
    with pytest.raises(Invalid, match=r"^mine writes into graph.weights of "), untouched(instance, "mine", KeyError):
        swap(instance.graph.weights)
        raise error
    with pytest.raises(type(error), match=str(error)), untouched(instance, "mine"):
        raise error


def test_what_fails_says_so_itself():
    instance = made()
    with pytest.raises(KeyError), untouched(instance, "mine"):
        swap(instance.graph.weights)
        raise KeyError
