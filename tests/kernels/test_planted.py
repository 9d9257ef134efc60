"""Wrong answers planted behind every CPU solver of every problem: what the workflow checks answers with refuses them.

One entry, one row, the last element of the last block, too large and too small; in the first answer and in a later one.
"""

import itertools

import numpy as np
import pytest
from prepared_cases import cases, prepared

from saitan.blocks import joined
from saitan.problem import Block, Checked, Invalid
from saitan.workflow.sampling import Answering

# A fixed rate has no bound, so no value is wrong.
UNBOUNDED = {"zfpy"}
# Where an answer lies of which `blocks` gives copies: output -> arrays, which hold its rows in order.
LIES = {
    ("tropical", "*"): lambda solver: {"c": [solver.c]} if hasattr(solver, "c") else None,
    ("compression", "*"): lambda solver: {"values": [solver.values]},
    ("sssp", "scipy"): lambda solver: {"distances": [solver.distances]},
    ("sssp", "networkit"): lambda solver: {"distances": [solver.distances]},
    ("apsp", "scipy"): lambda solver: {"distances": [solver.distances]},
    ("apsp", "networkit"): lambda solver: {"distances": [solver.distances]},
    ("bfs", "fast-many"): lambda solver: {"levels": [solver.many.levels]},
    ("bfs", "cluster"): lambda solver: {
        # One part on one rank, padded.
        output: [getattr(solver.parts[0], output)[: solver.partition.n]]
        for output in ("levels", "parents")
    },
}
PLACES = ("entry", "row", "last")


def spoil(array, place, change, own=None):
    """Change an entry in the middle, a row there (of a vector a few entries), or the last entry; in place.

    own: of an array of parents the number of its first row: a parent that is the vertex itself is wrong.
    """
    flat = array.reshape(-1)
    assert np.shares_memory(flat, array)
    width = array.shape[1] if array.ndim == 2 else min(8, len(flat) // 2)
    start = len(flat) // 2 // width * width
    chosen = {"entry": slice(start + 1, start + 2), "row": slice(start, start + width), "last": slice(-1, None)}[place]
    if own is None:
        flat[chosen] += np.array(change).astype(array.dtype)
    else:
        flat[chosen] = own + np.arange(len(flat))[chosen]


class Planted:
    """A solver, and behind it a wrong answer from its run number `since` on."""

    def __init__(self, name, variant, solver):
        self._solver, self._lies = solver, LIES.get((name, variant)) or LIES.get((name, "*"))
        self.plant, self.since, self.reached = None, 0, False

    def __getattr__(self, name):
        return getattr(self._solver, name)

    def outputs(self):
        if self._lies and (found := self._lies(self._solver)):
            return found
        found = {}
        for block in self._solver.blocks():
            found.setdefault(block.name, []).append(block.array)
        return found

    def run(self, query, *sinks):
        planted, self.since = self.plant if self.since <= 0 else None, self.since - 1
        if sinks:
            return self._solver.run(query, lambda block: sinks[0](self._changed(block, planted)))
        run = self._solver.run(query)
        if planted:
            output, place, change = planted
            if self._lies and output == "values" and not self._solver.values.flags.writeable:
                self._solver.values = self._solver.values.copy()
            arrays = self.outputs()[output]
            chosen = len(arrays) - 1 if place == "last" else len(arrays) // 2
            first = sum(map(len, arrays[:chosen])) if output == "parents" else None
            before = joined(self._solver.blocks())
            spoil(arrays[chosen], place, change, first)
            after = joined(self._solver.blocks())
            self.reached = any(not np.array_equal(before[key], after[key]) for key in before)
        return run

    def _changed(self, block, planted):
        """A block, spoiled where the solver holds it if it is the one."""
        if planted and block.name == planted[0]:
            rows = len(self._first_rows[block.name])
            last = block.first + len(block.array) == rows
            if last if planted[1] == "last" else block.first <= rows // 2 < block.first + len(block.array):
                spoil(block.array, planted[1], planted[2])
                self.reached = True
        return block


def refuses(name, variant, instance, blind=False):
    """Fail where a planted answer passes, or a closed solver answers.

    blind: behind a validator that takes everything
    """
    package, solver, query = prepared(name, variant, instance)
    planted = Planted(name, variant, solver)
    try:
        if getattr(solver, "streamed", False):
            kept = []
            solver.run(query, lambda block: kept.append(Block(block.name, block.first, np.array(block.array))))
            planted._first_rows = joined(kept)
            outputs = planted._first_rows
        else:
            solver.run(query)
            outputs = planted.outputs()
        if blind:
            planted.validate = lambda: Checked("nothing")
        Answering(package, planted, None).answer(query)
        for output, place, change in itertools.product(outputs, PLACES, (1, -1)):
            # 0: wrong in every run; 1: a streamed answer that was checked, then timed wrong.
            for since in (0, 1) if getattr(solver, "streamed", False) else (0,):
                planted.plant, planted.since, planted.reached = (output, place, change), since, False
                with pytest.raises(Invalid):
                    Answering(package, planted, None).answer(query)
                assert planted.reached or (name == "bfs" and variant == "fast-many"), (output, place, change)
        planted.plant = None
        Answering(package, planted, None).answer(query)
    finally:
        solver.close()
    calls = [name for name in ("run", "validate", "checker", "blocks", "count", "answer") if hasattr(solver, name)]
    for call in calls:
        with pytest.raises(ValueError, match=r"^this solver is closed: prepare another one$"):
            getattr(solver, call)(query)
    assert "run" in calls


@pytest.mark.parametrize(("name", "variant", "instance"), [of for of in cases() if of.values[1] not in UNBOUNDED])
def test_a_planted_answer_is_refused(name, variant, instance):
    refuses(name, variant, instance)


def test_a_validator_that_takes_everything_is_found():
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        refuses("sssp", "scipy", {}, blind=True)
