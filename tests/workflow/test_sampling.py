import contextlib
import functools
import json
import os
import sys
import time
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from saitan.blocks import Block, Digest, Rows, chosen
from saitan.problem import Checked, Invalid, Misdeclared, Output, Parameter, Reference, Run, Variant
from saitan.ranks import Ranks
from saitan.solver import prepared as guarded
from saitan.workflow import sampling
from saitan.workflow.disturbance import Disturbance
from saitan.workflow.sampling import Answering, decided_by_disturbed, finished, prepared, sample, spread_of
from saitan.workflow.step import Failure

ARRAY = "an array of one dimension"
AMOUNT = "a finite number of at least 0"
COUNT = "a number of 64 bits is right, or none where there is nothing to say"
HUGE = "1" + 56 * "0" + "..."
SETTINGS = {
    "backend": "none",  # which nothing watches
    "graph": "grid",
    "variant": "scipy",
    "parameters": {},
    "traced": False,
    "budget_s": 60,
    "spread": 0.02,
    "min_rounds": 2,
    "max_rounds": 5,
    "warmup": 1,
}


class Scripted:
    """A solver whose times are given: seconds[round][query]; `wrong` is the number of the run that fails its check."""

    memory, transfer = 10, 0.25

    def __init__(self, seconds, wrong=None, disturbed=""):
        self.script = iter([value for round_ in seconds for value in round_])
        self.wrong, self.disturbed, self.calls = wrong, disturbed, []

    def run(self, query):
        self.calls.append(("run", query))
        seconds = next(self.script)
        counted = {"phases": np.array([seconds / 2] * 2)}
        return Run(seconds, 2 * seconds, {"phases": 2}, counted, {"bytes": 8}, self.disturbed)

    def validate(self):
        self.calls.append(("validate",))
        if len([call for call in self.calls if call[0] == "run"]) == self.wrong:
            raise Invalid("vertex 3: off by one")
        return Checked("every vertex", whole=len(self.calls) > 2)

    def blocks(self, rows=None):
        self.calls.append(("blocks", None if rows is None else rows.tolist()))
        yield Block("d", 0, np.arange(4)[: None if rows is None else rows[-1] + 1])

    def close(self):
        self.calls.append(("close",))


class Counting(Scripted):
    def count(self, query):
        self.calls.append(("count", query))
        return {"updated": np.array([query, 2 * query])}


# What a problem declares of the variant of SETTINGS.
DECLARED = {"scipy": Variant("s", cpu="saitan.sssp.peers:Scipy")}


class Package:
    """A problem whose `differs` hears what it is asked to compare."""

    OUTPUTS: ClassVar = {"d": Output("[n]", dtype="int64")}

    def __init__(self, says=None):
        self.says, self.heard = says, []

    def differs(self, reference, answer):
        if not answer:
            return "no d"
        self.heard.append((reference, answer))
        return self.says


def sampled(solver, queries=(5, 6), package=None, reference=None, ranks=None, **settings):
    answering = Answering(package or Package(), solver, reference)
    return sample(answering, solver, list(queries), {**SETTINGS, **settings}, ranks)


def test_rounds_end_when_the_median_settles():
    # The first two lie 0.05 apart, all three 0.06; five more within 0.02 and six leave out none.
    solver = Scripted([[0.9, 1.1], [1.05, 1.05], [1.01, 1.01], [9, 9]])
    found = sampled(solver, spread=0.05, min_rounds=3)
    assert [(row["query"], row["round"], row["seconds"]) for row in found.rows] == [
        *(("5", 0, 0.9), ("6", 0, 1.1)),
        *(("5", 1, 1.05), ("6", 1, 1.05)),
        *(("5", 2, 1.01), ("6", 2, 1.01)),
    ]
    assert found.settled and found.spread == pytest.approx(0.05 / 1.01) and found.disturbed == []
    first = found.rows[0]
    assert first["total_seconds"] == 1.8 and first["counters"] == {"phases": 2} and first["work"] == {"bytes": 8}
    assert first["phase_phases"] == [0.45, 0.45] and first["disturbed"] == ""
    assert (first["checked"], first["checked_whole"], found.rows[1]["checked_whole"]) == ("every vertex", False, True)
    assert solver.calls[:4] == [("run", 5), ("validate",), ("run", 6), ("validate",)]


@pytest.mark.parametrize(
    ("slow", "budget", "rounds"),
    # A round takes 6 s, the first answer 2 of them.
    [(("validate", 1), 50, 5), (("validate", 2), 50, 1), (("count", 2), 50, 5), (("validate", 1), 11, 2)],
)
def test_the_first_check_and_the_counts_are_no_part_of_the_budget(slow, budget, rounds, monkeypatch):
    """They may compile."""
    clock = [0.0]
    monkeypatch.setattr(sampling.time, "perf_counter", lambda: clock[0])

    class Slow(Counting):
        def run(self, query):
            run = super().run(query)
            clock[0] += run.total
            return run

        def took(self, what):
            if (what, len([call for call in self.calls if call[0] == what])) == slow:
                clock[0] += 100

        def validate(self):
            checked = super().validate()
            self.took("validate")
            return checked

        def count(self, query):
            counted = super().count(query)
            self.took("count")
            return counted

    found = sampled(Slow([[1, 2]] * 5), spread=0, budget_s=budget, traced=True, min_rounds=5)
    assert len(found.rows) == 2 * rounds


class Compiling(Counting):
    """Compiles for 100 s within the given runs, or the checks of them; what such runs take is not in the script."""

    def __init__(self, seconds, clock, runs=(), checks=()):
        super().__init__(seconds)
        self.clock, self.runs, self.checks, self.compiled, self.ran = clock, runs, checks, 0, 0

    def compile(self):
        self.compiled += 1
        self.clock[0] += 100

    def run(self, query):
        self.ran += 1
        if self.ran in self.runs:
            self.compile()
            return Run(100, 100, {"compiled": 1}, disturbed="the clock moved")
        run = super().run(query)
        self.clock[0] += run.total
        return run

    def validate(self):
        if self.ran in self.checks:
            self.compile()
        if self.ran == self.wrong:
            raise Invalid("vertex 3: off by one")
        self.calls.append(("validate",))
        return Checked("every vertex")


@pytest.fixture
def compiling(monkeypatch):
    """A maker of solvers that compile; the clock stands still otherwise, but for what runs take."""
    clock = [0.0]

    def make(*seconds, **compiled):
        solver = Compiling(seconds, clock, **compiled)
        monkeypatch.setattr(sampling.time, "perf_counter", lambda: clock[0])
        monkeypatch.setattr(sampling, "compilations", lambda: solver.compiled)
        return solver

    return make


# Five rounds; after the fourth 72 s have gone by.
SCRIPT = [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]


@pytest.mark.parametrize(("budget", "rounds"), [(71, 4), (73, 5)])
@pytest.mark.parametrize("compiled", [{"runs": (1,)}, {"runs": (2, 3, 8)}, {"checks": (2,)}])
def test_an_answer_that_compiles_is_as_if_it_had_not_been(compiling, compiled, budget, rounds):
    asked = {"spread": 0, "budget_s": budget, "traced": True}
    solver = compiling(*SCRIPT, **compiled)
    found, plain = sampled(solver, **asked), sampled(compiling(*SCRIPT), **asked)
    assert found == plain and len(found.rows) == 2 * rounds
    # It is checked all the same.
    assert solver.calls.count(("validate",)) == solver.ran


def test_a_wrong_answer_that_compiles_ends_the_point(compiling):
    solver = compiling([1, 2], runs=(2,))
    solver.wrong = 2
    with pytest.raises(Invalid, match="vertex 3"):
        sampled(solver)


def test_what_compiles_in_every_answer_is_one_line(compiling):
    with pytest.raises(Failure, match="20 answers to 5 each compiled something"):
        sampled(compiling([1, 2], runs=range(1000)))


@pytest.mark.parametrize(("budget", "rounds"), [(71, 4), (73, 5)])
def test_all_ranks_answer_again_where_one_compiles(compiling, budget, rounds):
    """This one compiles nothing, and waits for another that does so in the third timed run."""
    # The third is the answer that does not count.
    solver = compiling([1, 2, 3], *SCRIPT[1:])

    class Another(Ranks):
        def each(self, value):
            if not isinstance(value, bool):
                return [value]
            if another := solver.ran == 3:
                solver.clock[0] += 100
            return [value, another]

    answering = Answering(Package(), solver, None, Another())
    found = sample(answering, solver, [5, 6], {**SETTINGS, "spread": 0, "budget_s": budget})
    assert [call[1] for call in solver.calls if call[0] == "run"][:5] == [5, 6, 5, 5, 6]
    assert [row["seconds"] for row in found.rows] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10][: 2 * rounds]


def test_a_streamed_answer_that_compiles_is_given_again(monkeypatch):
    solver = Streaming()
    # The second run is the first that is timed.
    monkeypatch.setattr(sampling, "compilations", lambda: min(solver.runs, 2))
    assert len(sampled(solver).rows) == 4 and solver.runs == 2 + 4 + 1
    # Its digest is looked at.
    with pytest.raises(Invalid, match=r"differs from the one that was checked"):
        sampled(solver := Streaming(wrong=(2,)))


def test_a_median_that_never_settles_says_so():
    unsteady = [[1, 1], [2, 2], [4, 4], [8, 8], [16, 16], [32, 32]]
    found = sampled(Scripted(unsteady), max_rounds=3)
    assert len(found.rows) == 6 and not found.settled and found.spread == pytest.approx(3 / 2)
    found = sampled(Scripted(unsteady), budget_s=1e-9)
    assert len(found.rows) == 2 and not found.settled and found.spread == float("inf")
    # One round is no proof, even where nobody asked for two.
    found = sampled(Scripted([[1, 1]] * 5), min_rounds=1, max_rounds=1)
    assert len(found.rows) == 2 and not found.settled
    assert len(sampled(Scripted([[1, 1]] * 9), min_rounds=4).rows) == 8
    # Two that agree are not the three that were asked for.
    assert not sampled(Scripted([[1, 1]] * 5), min_rounds=3, budget_s=1e-9).settled
    # As far apart as asked for is near enough; so are equal medians where no spread is allowed.
    assert sampled(Scripted([[1, 1], [1.1, 1.1]]), spread=(1.1 - 1.0) / 1.05).settled
    found = sampled(Scripted([[1, 1]] * 9), spread=0)
    assert len(found.rows) == 4 and found.settled
    # Where two rounds are all that there may be, they can settle.
    assert sampled(Scripted([[1, 1]] * 5), min_rounds=3, max_rounds=2).settled


def test_a_round_counts_by_the_median_of_its_queries():
    found = sampled(Scripted([[1, 1, 4], [1, 1, 7]]), queries=(5, 6, 7), spread=0)
    assert len(found.rows) == 6 and found.settled


def test_the_spread_is_that_of_rounds_in_the_middle():
    assert spread_of([3.0]) == float("inf") and spread_of([1.0, 1.2]) == pytest.approx(0.2 / 1.1)
    # Of eight rounds all count; of nine neither the least nor the largest does, of twelve two on either side.
    steady = [1.0, 1.01] * 6
    assert spread_of([5.0, *steady[:7]]) == pytest.approx(4.0 / 1.005, rel=0.01)
    assert spread_of([5.0, *steady[:8]]) == pytest.approx(0.01, rel=0.02)
    assert spread_of([5.0, 4.0, *steady[:9]]) > 1 and spread_of([5.0, 4.0, *steady[:10]]) < 0.011


@pytest.mark.parametrize(("rounds", "left_out"), [(5, 0), (6, 0), (8, 0), (9, 1), (12, 2), (20, 5), (50, 17)])
def test_the_interval_is_that_of_the_binomial_distribution(rounds, left_out):
    spread = spread_of([float(x) for x in range(1, rounds + 1)])
    assert spread == pytest.approx((rounds - 1 - 2 * left_out) / ((rounds + 1) / 2))
    # P(fewer than k of n lie below the median) on either side, as SciPy has it.
    holds = 1 - 2 * binom.cdf(np.arange(rounds // 2), rounds, 0.5)
    assert left_out == max(0, int((holds >= 0.95).sum()) - 1)


def test_the_interval_holds_the_median_as_often_as_it_says():
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(2000):
        medians = np.sort(rng.exponential(1.0, 20))
        width = spread_of(medians.tolist()) * np.median(medians)
        assert width == pytest.approx(medians[14] - medians[5])
        held += medians[5] <= np.log(2) <= medians[14]
    assert 0.945 < held / 2000 < 0.975


@given(st.lists(st.integers(100, 110), min_size=1, max_size=8), st.integers(1, 5), st.integers(1, 8))
def test_finished_by_the_spread_or_by_the_rounds(medians, least, most):
    asked = {"spread": 0.05, "min_rounds": least, "max_rounds": most}
    near = len(medians) >= max(2, min(least, most)) and np.ptp(medians) <= 0.05 * np.median(medians)
    assert finished(medians, asked) == (len(medians) >= most or near)


@pytest.mark.parametrize("wrong", [1, 4])
def test_a_wrong_answer_ends_the_point(wrong):
    solver = Scripted([[1, 2], [3, 4], [5, 6]], wrong=wrong)
    with pytest.raises(Invalid, match="vertex 3"):
        sampled(solver)
    # Nothing is asked after it.
    assert solver.calls[-1] == ("validate",) and len(solver.calls) == 2 * wrong


def test_the_first_answer_alone_is_compared_with_the_rows_of_the_reference():
    solver, package = Scripted([[1, 1]] * 5), Package()
    reference = Reference("somebody", {"d": np.arange(2)}, np.array([1, 3]))
    sampled(solver, package=package, reference=reference)
    assert [call for call in solver.calls if call[0] == "blocks"] == [("blocks", [1, 3])]
    (heard,) = package.heard
    assert heard[0] is reference and heard[1]["d"].tolist() == [1, 3]
    with pytest.raises(Invalid, match=r"differs from the reference solver \(somebody\): by one"):
        sampled(Scripted([[1, 1]]), package=Package("by one"), reference=reference)
    assert not Package().heard


@pytest.mark.parametrize(
    ("outputs", "says"),
    [
        ({"d": Output("[n]", dtype="int32")}, "d are of type int64: int32 is right, as OUTPUTS says"),
        ({"e": Output("[n]")}, "the answer has 'd', which is none of OUTPUTS (e)"),
    ],
)
@pytest.mark.parametrize("streamed", [True, False])
def test_an_output_that_is_not_declared_so_is_one_line(outputs, says, streamed):
    package, solver = Package(), Streaming() if streamed else Scripted([[1, 1]])
    package.OUTPUTS = outputs
    with pytest.raises(Failure) as found:
        sampled(solver, package=package, reference=Reference("somebody", {"d": np.arange(2)}, np.array([1, 3])))
    assert str(found.value) == says


def test_rows_that_an_answer_does_not_have_are_one_line():
    class Short(Scripted):
        def blocks(self, rows=None):
            yield from chosen("d", np.arange(3), rows)

    reference = Reference("somebody", {"d": np.arange(2)}, np.array([1, 3]))
    says = r"^rows that the reference has cannot be had of the answer: ValueError: d has 3 rows: .* number 3 \(.*, line"
    with pytest.raises(Failure, match=says):
        sampled(Short([[1, 1]]), reference=reference)


@pytest.mark.parametrize("made", [None, lambda block: None])
def test_what_is_no_checker_is_one_line(made):
    class Unchecking(Streaming):
        def checker(self, query):
            return made

        def close(self):
            pass

    with pytest.raises(Invalid, match=r"^checker gives .*: a Checker is right$"):
        sampled(guarded(Unchecking, lambda query: query))


@pytest.mark.parametrize(
    ("said", "error", "says"),
    [("", Invalid, r"differs from the reference solver \(somebody\): $"), (False, Failure, "^differs gives False: ")],
)
def test_only_none_says_that_an_answer_is_the_references(said, error, says):
    reference = Reference("somebody", {"d": np.arange(2)}, np.array([1, 3]))
    with pytest.raises(error, match=says):
        sampled(Scripted([[1, 1]]), package=Package(said), reference=reference)


@pytest.mark.parametrize(
    ("arrays", "takes", "says"),
    [
        (
            {"d": np.arange(2)},
            lambda answer: None,
            "^differs takes an answer without arrays for one that has d: what it",
        ),
        ({"d": np.arange(2)}, lambda answer: answer["d"] is None or None, ""),
        ({}, lambda answer: None, ""),
    ],
    ids=["without return", "by name", "no arrays"],
)
def test_what_takes_any_answer_for_the_references_compares_nothing(arrays, takes, says):
    package = Package()
    package.differs = lambda reference, answer: takes(answer)
    reference = Reference("somebody", arrays, np.array([1, 3]))
    with pytest.raises(Failure, match=says) if says else contextlib.nullcontext():
        sampled(Scripted([[1, 1]]), package=package, reference=reference, max_rounds=1)


def test_disturbed_samples_say_why():
    found = sampled(Scripted([[1, 1]] * 5, disturbed="the clock moved"))
    assert found.disturbed == ["the clock moved"] and {row["disturbed"] for row in found.rows} == {"the clock moved"}


class Watching:
    """Gives the verdicts it is told to, one a round."""

    def __init__(self, *verdicts):
        self.verdicts, self.answers, self.last = iter(verdicts), 0, []

    def __call__(self, backend, ranks):
        self.backend = backend
        return self

    def answered(self):
        self.answers += 1

    def verdict(self, last):
        self.last.append(last)
        return next(self.verdicts)


BUSY = Disturbance("other work on the machine", "other work took 0.8 cores")


def test_a_busy_round_marks_its_samples_and_the_point_where_it_decides(monkeypatch):
    def found(verdicts, seconds):
        monkeypatch.setattr(sampling, "Watch", watching := Watching(*verdicts))
        made = sampled(Scripted(seconds), min_rounds=5, backend="cpu")
        assert watching.backend == "cpu" and watching.answers == len(made.rows)
        assert watching.last == [False] * 4 + [True], "no round stays without a verdict"
        return made.disturbed, [bool(row["disturbed"]) for row in made.rows[::2]]

    steady = [[1, 1]] * 5
    assert found([True] * 5, steady) == ([], [False] * 5)
    # One of five that is as fast as the others decides nothing; one that is slower moves the mean.
    assert found([True, BUSY, True, True, True], steady) == ([], [False, True, False, False, False])
    slower = [[1, 1], [1.2, 1.2], *[[1, 1]] * 3]
    assert found([True, BUSY, True, True, True], slower) == ([BUSY.kind], [False, True, False, False, False])
    assert found([BUSY, BUSY, True, BUSY, True], steady) == ([BUSY.kind], [True, True, False, True, False])
    # A verdict that comes late is of all rounds since the last.
    assert found([True, False, False, BUSY, True], steady)[1] == [False, True, True, True, False]
    assert found([False] * 4 + [BUSY], steady) == ([BUSY.kind], [True] * 5)


def test_samples_decide_by_the_median_and_the_mean():
    def decided(quiet, disturbed, spread=0.02):
        rows = [{"seconds": s, "disturbed": ""} for s in quiet] + [{"seconds": s, "disturbed": "x"} for s in disturbed]
        return decided_by_disturbed(rows, spread)

    assert not decided([1.0], []) and decided([], [1.0]) and decided([1.0], [1.0])
    assert not decided([1.0, 1.0, 1.0], [1.0, 1.0])
    assert not decided([1.0] * 9, [1.15]) and decided([1.0] * 9, [1.25])
    assert not decided([1.0] * 9, [1.25], spread=0.05) and not decided([1.0] * 9, [1.0], spread=0)
    assert not decided([1.0, 1.0, 2.0, 2.0, 3.0, 3.0], [1.0, 1.0, 2.0, 2.99, 3.0])
    # The mean stays, the median moves.
    assert decided([1.0, 1.0, 1.0, 4.0], [1.5, 1.5, 2.0], spread=0.3)


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_a_gate_that_opened_by_itself_is_told_beside_what_the_watch_says(monkeypatch, backend):
    monkeypatch.setattr(sampling, "Watch", Watching(*[BUSY] * 5))
    found = sampled(Scripted([[1, 1]] * 5, disturbed="the gate"), backend=backend)
    assert {row["disturbed"] for row in found.rows} == {"the gate; other work took 0.8 cores"}
    assert found.disturbed == ["the gate", BUSY.kind]


def test_counts_come_from_a_run_of_their_own_in_the_first_round():
    solver = Counting([[1, 1]] * 5)
    rows = sampled(solver, traced=True).rows
    assert [row.get("phase_updated") for row in rows] == [[5, 10], [6, 12], None, None]
    assert [call for call in solver.calls if call[0] != "validate"][2:4] == [("count", 5), ("count", 6)]
    solver = Counting([[1, 1]] * 5)
    assert all("phase_updated" not in row for row in sampled(solver).rows)
    assert not [call for call in solver.calls if call[0] == "count"]
    assert all("phase_updated" not in row for row in sampled(Scripted([[1, 1]] * 5), traced=True).rows)


def test_one_rank_decides_and_the_slowest_time_counts():
    class Two(Ranks):
        def agree(self, value):
            asked.append(value)
            return len(asked) == 3

        def slowest(self, seconds):
            return seconds + 1

    asked = []
    found = sampled(Scripted([[1, 1]] * 9), ranks=Two())
    # It would have ended after two rounds by itself.
    assert asked == [False, True, True] and len(found.rows) == 6
    assert found.rows[0]["seconds"] == 2 and found.rows[0]["total_seconds"] == 3


class Streaming:
    """Hands out 0, 1, 2, ... in blocks of two; `wrong` runs hand out something else, `short` ones less."""

    memory, transfer, streamed = 0, 0.0, True

    def __init__(self, wrong=(), short=(), checked=()):
        self.wrong, self.short, self.checked, self.runs, self.refuse = wrong, short, list(checked), 0, False

    def run(self, query, sink):
        self.runs += 1
        for first in (2, 0, 4):
            array = np.arange(first, first + 2) + query
            if self.runs in self.wrong and first == 4:
                array[-1] += 1
            if not (self.runs in self.short and first == 4):
                sink(Block("d", first, array))
            array[:] = 77
        return Run(1.0, 1.0)

    def checker(self, query):
        solver = self

        class Check:
            def __call__(self, block):
                solver.checked.append((query, block.first, block.array.tolist()))
                if solver.refuse:
                    raise Invalid("block is wrong")

            def finish(self):
                return Checked("every block")

        return Check()


def test_a_streamed_answer_is_checked_once_and_its_timed_runs_by_digest():
    solver, package = Streaming(), Package()
    reference = Reference("somebody", {"d": np.array([6])}, np.array([1, 4]))
    found = sampled(solver, package=package, reference=reference)
    assert [row["seconds"] for row in found.rows] == [1.0] * 4
    assert {row["checked"] for row in found.rows} == {"every block"}
    # Each query is checked once, in an untimed run of its own.
    assert [first for _, first, _ in solver.checked] == [2, 0, 4, 2, 0, 4] and solver.runs == 2 + 4
    assert len(package.heard) == 1 and package.heard[0][1]["d"].tolist() == [6, 9]


@pytest.mark.parametrize("runs", [{"wrong": (2,)}, {"wrong": (4,)}, {"short": (2,)}, {"wrong": (1,)}])
def test_a_streamed_answer_that_is_not_the_checked_one_is_refused(runs):
    with pytest.raises(Invalid, match=r"differs from the one that was checked"):
        sampled(Streaming(**runs))


@pytest.mark.parametrize("timed", [0, 1])
def test_a_streamed_answer_of_several_ranks_is_compared_whole(timed):
    package, reference = Package(), Reference("somebody", {"d": np.array([6])}, np.array([1, 7]))

    class Another(Ranks):
        """Beside a rank whose rows 6 and 7 differ by `timed` when they are timed."""

        def each(self, value):
            if not isinstance(value, Digest | Rows):
                return [value]
            other = Rows(reference.rows) if isinstance(value, Rows) else Digest()
            digests.append(value)
            other(Block("d", 6, np.array([6, 7]) + (timed if len(digests) > 2 else 0)))
            return [value, other]

    digests = []
    answering = Answering(package, Streaming(), reference, Another())
    if timed:
        with pytest.raises(Invalid, match=r"differs from the one that was checked"):
            answering.answer(0)
    else:
        assert answering.answer(0)[1] == Checked("every block")
    assert package.heard[0][1]["d"].tolist() == [1, 7]


@pytest.mark.parametrize(
    ("firsts", "says"),
    [
        ((0, 4, 2), None),
        ((1, 3, 5), "blocks of d: rows 0 to 0 are missing"),
        ((0, 2, 12), "blocks of d: rows 4 to 11 are missing"),
        ((3, 0, 2), "blocks of d: row 3 comes twice"),
    ],
)
@pytest.mark.parametrize("streamed", [True, False])
def test_blocks_of_a_whole_answer_have_every_row_once(firsts, says, streamed):
    class Placed(Streaming if streamed else Scripted):
        def run(self, query, *sink):
            for block in self.blocks() if sink else ():
                sink[0](block)
            return Run(1.0, 1.0)

        def blocks(self, rows=None):
            yield from (Block("d", first, np.zeros(2, np.int64)) for first in firsts)

    solver = Placed() if streamed else Placed([[1, 1]] * 5)
    with pytest.raises(Invalid) if says else contextlib.nullcontext() as caught:
        sampled(solver, reference=Reference("somebody", {"d": np.zeros(6, np.int64)}))
    assert says is None or str(caught.value) == says


class Two(Package):
    OUTPUTS: ClassVar = {"d": Output("[n]", dtype="int64"), "e": Output("[n]")}


class Both(Scripted):
    def blocks(self, rows=None):
        yield from super().blocks(rows)
        yield Block("e", 0, np.zeros(0))


@pytest.mark.parametrize(("rows", "refused"), [(None, True), (np.array([1]), False)])
def test_a_whole_answer_has_all_outputs(rows, refused):
    """Of chosen rows a block of one output may have none."""
    reference = Reference("somebody", {"d": np.arange(4)}, rows)
    if refused:
        with pytest.raises(Failure, match=r"^the answer has no e \(it has: d\): all OUTPUTS that the instance has"):
            Answering(Two(), Scripted([[1]]), reference, outputs=("d", "e")).answer(0)
        with pytest.raises(Failure, match=r"^the answer has no d \(it has: e\)"):
            solver = Scripted([[1]])
            solver.blocks = lambda rows=None: [Block("e", 0, np.zeros(0))]
            Answering(Two(), solver, reference, outputs=("d", "e")).answer(0)
    else:
        Answering(Two(), Scripted([[1]]), reference, outputs=("d", "e")).answer(0)
    Answering(Two(), Both([[1]]), reference, outputs=("d", "e")).answer(0)
    Answering(Two(), Scripted([[1]]), reference, outputs=("d",)).answer(0)


@pytest.mark.parametrize("made", [lambda: Scripted([[1]]), lambda: Streaming()])
def test_of_a_reference_without_rows_nothing_is_compared(made):
    """`chosen` gives no block for it."""
    package, reference = Package("other"), Reference("somebody", {"d": np.arange(0)}, np.arange(0))
    Answering(package, made(), reference).answer(0)
    assert package.heard == []
    with pytest.raises(Invalid):
        Answering(package, made(), replace(reference, rows=np.arange(1))).answer(0)


@pytest.mark.parametrize("reference", [None, Reference("somebody", {"d": np.array([6])}, np.array([1]))])
def test_a_streamed_answer_has_all_outputs(reference):
    with pytest.raises(Failure, match=r"^the answer has no e \(it has: d\)"):
        Answering(Two(), Streaming(), reference, outputs=("d", "e")).answer(0)
    Answering(Two(), Streaming(), reference, outputs=("d",)).answer(0)


def test_a_streamed_answer_whose_check_fails_is_refused():
    solver = Streaming()
    solver.refuse = True
    with pytest.raises(Invalid, match="block is wrong"):
        sampled(solver)


def as_made(solver):
    """A solver with what `prepare` adds to it."""
    return guarded(lambda: solver, lambda query: query)


def test_a_solver_is_closed_whatever_happens():
    solver = Scripted([[1]])

    class Prepares:
        VARIANTS = DECLARED

        @staticmethod
        def prepare(instance, variant, backend, **parameters):
            if parameters:
                raise ValueError("delta must be positive")
            return as_made(solver)

    with pytest.raises(Invalid), prepared(Prepares, None, SETTINGS) as made:
        assert made is solver
        raise Invalid("x")
    assert solver.calls == [("close",)]
    with (
        pytest.raises(Failure, match=r"scipy with {'delta': 0}: delta must be positive"),
        prepared(Prepares, None, {**SETTINGS, "parameters": {"delta": 0}}),
    ):
        pass


def test_what_is_declared_of_a_parameter_is_what_runs():
    """Not what the code that is called has by default."""
    seen = []

    class Prepares:
        VARIANTS: ClassVar = {
            "scipy": replace(
                DECLARED["scipy"],
                parameters={
                    "refine": Parameter(int, 7, "x"),
                    "delta": Parameter(float, None, "x"),
                    "exact": Parameter(bool, True, "x"),
                },
            )
        }

        @staticmethod
        def prepare(instance, variant, backend, refine=1, delta=3.5, exact=False):
            seen.append((refine, delta, exact))
            return as_made(Scripted([[1]]))

    for parameters in ({}, {"refine": 2}, {"exact": False, "delta": 1.5}):
        with prepared(Prepares, None, {**SETTINGS, "parameters": parameters}):
            pass
    assert seen == [(7, None, True), (2, None, True), (7, 1.5, False)]


@pytest.mark.parametrize(("runs", "says"), [(False, "not answered"), (True, "not closed")])
def test_why_it_failed_says_more_than_why_it_cannot_be_closed(runs, says):
    class Broken(Scripted):
        def close(self):
            raise ValueError("not closed")

    class Prepares:
        VARIANTS = DECLARED

        @staticmethod
        def prepare(instance, variant, backend):
            return as_made(Broken([[1]]))

    with pytest.raises(ValueError, match=f"^{says}$"), prepared(Prepares, None, SETTINGS):
        if not runs:
            raise ValueError("not answered")


@pytest.mark.parametrize("moves", ["prepare", "run", "close"])
@pytest.mark.parametrize("exists", [True, False])
def test_a_solver_that_leaves_the_process_in_another_folder_is_one_line(moves, exists, tmp_path, monkeypatch):
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir()
    (home / "queries.json").write_text("[0]")
    monkeypatch.chdir(home)

    def leave(method):
        if method == moves:
            away.mkdir()
            os.chdir(away)
            if not exists:
                away.rmdir()

    class Moving(Scripted):
        def run(self, query):
            leave("run")

        def close(self):
            leave("close")

    class Prepares:
        VARIANTS = DECLARED

        @staticmethod
        def prepare(instance, variant, backend):
            leave("prepare")
            return as_made(Moving([[1]]))

    with (
        pytest.raises(Failure, match=r"^scipy leaves the process in another folder, .*: change it within contextlib"),
        prepared(Prepares, None, SETTINGS) as solver,
    ):
        solver.run(0)
        Path("queries.json").read_text()
    assert Path.cwd() == home


def test_a_solver_may_go_elsewhere_and_come_back(tmp_path):
    class Moving(Scripted):
        def run(self, query):
            with contextlib.chdir(tmp_path):
                return Run(1, 1, counters={"here": Path.cwd()})

    class Prepares:
        VARIANTS = DECLARED

        @staticmethod
        def prepare(instance, variant, backend):
            return as_made(Moving([[1]]))

    with prepared(Prepares, None, SETTINGS) as solver:
        assert solver.run(0).counters["here"] == tmp_path


@pytest.mark.parametrize("solver", [None, Scripted, Scripted([[1]]), 3], ids=["None", "class", "unchecked", "3"])
def test_what_is_no_solver_is_one_line(solver):
    class Prepares:
        VARIANTS = DECLARED

        @staticmethod
        def prepare(instance, variant, backend):
            return solver

    with (
        pytest.raises(
            Failure, match=r"^prepare gives .* for scipy: a Solver that saitan.solver.prepared makes is right$"
        ),
        prepared(Prepares, None, SETTINGS),
    ):
        pass


class Slotted:
    __slots__ = ("memory", "transfer")
    run = validate = blocks = close = print


@pytest.mark.parametrize(
    ("solver", "name"),
    [(Slotted, "Slotted"), (lambda: Frozen([[1]]), "Frozen")],
)
def test_a_solver_that_takes_no_attributes_is_one_line(solver, name):
    class Prepares:
        VARIANTS = DECLARED

        @staticmethod
        def prepare(instance, variant, backend):
            return guarded(solver, int)

    right = "a class of its own is right, not frozen and without __slots__"
    with (
        pytest.raises(Failure, match=f": no attribute can be added to a solver of class {name}: {right}$"),
        prepared(Prepares, None, SETTINGS),
    ):
        pass


class Unchecked(Scripted):
    validate = None


class Unread(Streaming):
    checker = None


class Constant:
    def __call__(self, query):
        return Run(1.0, 1.0)


class Static(Scripted):
    """Methods of all kinds."""

    run = Constant()
    blocks = functools.partialmethod(Scripted.blocks)

    @staticmethod
    def validate():
        return Checked("nothing", whole=False)

    @classmethod
    def close(cls):
        pass


def test_a_solver_may_have_methods_of_any_kind():
    solver = guarded(Static, lambda query: query, [[1]])
    assert solver.run(5).total == 1.0 and solver.validate().says == "nothing"
    assert [block.name for block in solver.blocks()] == ["d"]
    solver.close()


class Unasked(Scripted):
    def run(self):
        pass


class Frozen(Scripted):
    def __setattr__(self, name, value):
        if hasattr(self, "calls"):
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super().__setattr__(name, value)


class Uncounted(Counting):
    def count(self):
        pass


@pytest.mark.parametrize(
    ("solver", "says"),
    [
        (lambda: Unchecked([[1]]), "Unchecked has no method validate: run, validate, blocks, close are right"),
        (lambda: 3, "int has no method run: run, validate, blocks, close are right"),
        (lambda: None, "NoneType has no method run: run, validate, blocks, close are right"),
        (Unread, "Unread has no method checker: run, checker, close are right"),
    ],
    ids=["validate", "number", "nothing", "checker"],
)
def test_a_solver_that_lacks_a_method_is_one_line(solver, says):
    with pytest.raises(Misdeclared) as found:
        guarded(solver, int)
    assert str(found.value) == f"a solver of class {says}"


@pytest.mark.parametrize("name", ["count", "answer", "predecessors", "checker"])
@pytest.mark.parametrize("made", ["class", "constructor", "run"])
def test_a_solver_whose_attribute_has_the_name_of_a_method_is_one_line(name, made):
    class Named(Scripted):
        if made == "class":
            locals()[name] = 0

        def __init__(self):
            super().__init__([[1]])
            if made == "constructor":
                setattr(self, name, 0)

        def run(self, query):
            setattr(self, name, 0)
            return super().run(query)

    says = f"{name} of a solver of class Named is 0: that is the name of a method, and another one is right"
    with pytest.raises(Misdeclared) as found:
        solver = guarded(Named, int)
        assert made == "run"
        solver.run(1)
    assert str(found.value) == says


@pytest.mark.parametrize(
    ("solver", "given", "says"),
    [
        (Unasked, ([[1]],), ".Unasked.run takes (): run(query) is right (too many positional arguments)"),
        (Uncounted, ([[1]],), ".Uncounted.count takes (): count(query) is right (too many positional arguments)"),
        (
            Streaming,
            (1, 2, 3, 4),
            ".Streaming takes (wrong=(), short=(), checked=()): (instance, 2, 3, 4) is right (too",
        ),
    ],
    ids=["run", "count", "class"],
)
def test_a_solver_that_takes_something_else_is_one_line_that_names_it(solver, given, says):
    with pytest.raises(Misdeclared) as found:
        guarded(solver, int, *given)
    assert str(found.value).startswith(__name__ + says)


class Preparing:
    """A problem whose solvers compile or import while they are prepared, in the preparations of these numbers."""

    VARIANTS = DECLARED

    def __init__(self, monkeypatch, compiles=(), imports=()):
        self.compiles, self.imports, self.made, self.compiled = compiles, imports, [], 0
        self.patch = monkeypatch
        monkeypatch.setattr(sampling, "compilations", lambda: self.compiled)

    def prepare(self, instance, variant, backend):
        assert all(solver.calls == [("close",)] for solver in self.made), "one is there already"
        self.made.append(as_made(Scripted([[1]])))
        number = len(self.made)
        self.compiled += number in self.compiles
        if number in self.imports:
            self.patch.setitem(sys.modules, f"imported {number}", None)
        return self.made[-1]


@pytest.mark.parametrize(
    ("loads", "number"),
    [
        *(({}, 1), ({"compiles": (1,)}, 2), ({"imports": (1,)}, 2), ({"compiles": (2,)}, 1)),
        ({"compiles": (1, 2), "imports": (3,)}, 4),
    ],
)
def test_what_was_prepared_while_something_compiled_is_prepared_again(monkeypatch, loads, number):
    package = Preparing(monkeypatch, **loads)
    with prepared(package, None, SETTINGS, Ranks()) as solver:
        assert len(package.made) == number and solver is package.made[-1] and solver.calls == []
    assert solver.calls == [("close",)]
    # Where nothing is timed once is enough.
    package = Preparing(monkeypatch, compiles=range(1000))
    with prepared(package, None, SETTINGS) as solver:
        assert package.made == [solver]


def test_all_ranks_prepare_again_where_one_compiles(monkeypatch):
    package = Preparing(monkeypatch)

    class Another(Ranks):
        def each(self, value):
            return [value, len(package.made) == 1]

    with prepared(package, None, SETTINGS, Another()) as solver:
        assert len(package.made) == 2 and solver is package.made[1]


def test_a_preparation_that_always_compiles_is_one_line(monkeypatch):
    package = Preparing(monkeypatch, compiles=range(1000))
    with (
        pytest.raises(Failure, match="20 preparations of scipy each compiled something"),
        prepared(package, None, SETTINGS, Ranks()),
    ):
        pass
    assert all(solver.calls == [("close",)] for solver in package.made)


@pytest.mark.parametrize(
    ("run", "says"),
    [
        (Run(-1.0, 1.0), "scipy says that query 5 took -1.0 s (kernel): a finite number above 0 is right"),
        (Run(1.0, np.float32("nan")), "scipy says that query 5 took nan s (total): a finite number above 0 is right"),
        (Run(1.0, float("inf")), "scipy says that query 5 took inf s (total): a finite number above 0 is right"),
        (Run(0.0, 1.0), "scipy says that query 5 took 0.0 s (kernel): a finite number above 0 is right"),
        (Run(1.0, None), "scipy says that query 5 took None s (total): a finite number above 0 is right"),
        (Run(5.0, 3.0), "scipy says that query 5 took 5.0 s (kernel) of 3.0 s in all: at most all of it is right"),
        (Run("3", 1.0), "scipy says that query 5 took '3' s (kernel): a finite number above 0 is right"),
        (
            Run(1.0, 1.0, {"phases": 1, "delta": float("nan")}),
            f"scipy says that its counter delta is nan: {COUNT}",
        ),
        *(
            (Run(1.0, 1.0, {"phases": count}), f"scipy says that its counter phases is {count}: {COUNT}")
            for count in (2**63, -(2**63) - 1, Fraction(1, 3), True)
        ),
        (Run(10**400, 10**400), f"scipy says that query 5 took {HUGE} s (kernel): a finite number above 0 is right"),
        (Run(1.0, 1.0, work={"bytes": 10**400}), f"scipy says that its work of bytes is {HUGE}: {AMOUNT} is right"),
        (
            Run(1.0, 1.0, phases={"a": np.array([1, "b"], object)}),
            "scipy says that its phases of a are of type object: numbers or texts are right",
        ),
        (
            Run(1.0, 1.0, {"phases": "3"}),
            f"scipy says that its counter phases is '3': {COUNT}",
        ),
        *(
            (Run(1.0, 1.0, work={"bytes": amount}), f"scipy says that its work of bytes is {said}: {AMOUNT} is right")
            for amount, said in ((-1, "-1"), (None, "None"), (float("inf"), "inf"), (float("nan"), "nan"))
        ),
    ],
)
def test_what_cannot_be_a_time_or_a_count_is_one_line(run, says):
    class Odd(Scripted):
        def run(self, query):
            return run

    with pytest.raises(Failure) as found:
        sampled(Odd([]))
    assert str(found.value) == says


@pytest.mark.parametrize(
    ("run", "checked", "says"),
    [
        (Run(1.0, 1.0, [1]), Checked("x"), "counters of its Run of query 5 is [1]: a mapping of names to numbers"),
        (Run(1.0, 1.0, work=3), Checked("x"), "work of its Run of query 5 is 3: a mapping of names to numbers"),
        (
            Run(1.0, 1.0, phases=None),
            Checked("x"),
            "phases of its Run of query 5 is None: a mapping of names to arrays",
        ),
        (Run(1.0, 1.0, phases={"updated": [1, 2]}), Checked("x"), f"its phases of updated are [1, 2]: {ARRAY}"),
        (
            Run(1.0, 1.0, phases={"updated": np.ones((1, 1))}),
            Checked("x"),
            f"its phases of updated are an array of shape (1, 1): {ARRAY}",
        ),
        (Run(1.0, 1.0), Checked(" "), "says of its Checked of query 5 is empty: what was checked"),
        (
            Run(1.0, 1.0, phases={"seconds": np.ones(3), "updated": np.ones(3), "listed": np.ones(2)}),
            Checked("x"),
            "its phases of updated are 3, and of listed 2: as many",
        ),
        (Run(1.0, 1.0, phases={"seconds": np.array([0.5, -1])}), Checked("x"), f"a phase took -1.0 s: {AMOUNT}"),
        (Run(1.0, 1.0, phases={"seconds": np.array([np.nan])}), Checked("x"), f"a phase took nan s: {AMOUNT}"),
        (Run(1.0, 1.0, disturbed=None), Checked("x"), "disturbed of its Run of query 5 is None: a text"),
        (Run(1.0, 1.0), Checked(3), "says of its Checked of query 5 is 3: a text"),
        (Run(1.0, 1.0), Checked("x", None), "whole of its Checked of query 5 is None: True or False"),
    ],
)
def test_a_part_of_another_form_is_one_line(run, checked, says):
    class Odd(Scripted):
        def run(self, query):
            return run

        def validate(self):
            return checked

    with pytest.raises(Failure) as found:
        sampled(Odd([]))
    assert str(found.value) == f"scipy says that {says} is right"


@pytest.mark.parametrize(
    ("counted", "says"),
    [
        ("abc", "its phases are 'abc': a mapping of names to arrays"),
        ({"updated": 3}, f"its phases of updated are 3: {ARRAY}"),
        ({"updated": np.ones(3)}, "its phases of phases are 2, and of updated 3: as many"),
        ({"updated": np.ones(2), "listed": np.ones(3)}, "its phases of updated are 2, and of listed 3: as many"),
    ],
)
def test_counts_of_another_form_are_one_line(counted, says):
    class Odd(Scripted):
        def count(self, query):
            return counted

    with pytest.raises(Failure) as found:
        sampled(Odd([[1.0, 2.0]]), traced=True)
    assert str(found.value) == f"scipy says that {says} is right"


@pytest.mark.parametrize("checked", [None, True])
@pytest.mark.parametrize("streamed", [True, False])
def test_a_check_that_says_nothing_is_one_line(checked, streamed):
    class Odd(Scripted):
        def validate(self):
            return checked

    class OddStream(Streaming):
        def checker(self, query):
            check = super().checker(query)
            check.finish = lambda: checked
            return check

    with pytest.raises(Failure) as found:
        sampled(OddStream() if streamed else Odd([[1.0]]))
    right = "a Checked is right, and Invalid for a wrong answer"
    assert str(found.value) == f"the check of query 5 is {checked}: {right}"


def test_a_counter_may_be_infinite():
    class Odd(Scripted):
        def run(self, query):
            return Run(0.5, 1.0, {"ratio": float("inf"), "phases": np.int64(2)})

    assert sampled(Odd([]), max_rounds=2).rows[0]["counters"] == {"ratio": float("inf"), "phases": 2}


@pytest.mark.parametrize("kind", [np.float64, np.float32, Fraction, int])
def test_times_may_be_any_numbers(kind):
    class Odd(Scripted):
        def run(self, query):
            return Run(kind(1), kind(2))

    found = sampled(Odd([]), max_rounds=2)
    assert json.loads(json.dumps([found.settled, found.spread, found.rows])) == [True, 0, found.rows]


class Told(Scripted):
    """Says other times than it takes."""

    def __init__(self, says):
        super().__init__([])
        self.says = says

    def run(self, query):
        begin = time.perf_counter()
        time.sleep(0.002)
        seconds = self.says(time.perf_counter() - begin)
        return Run(seconds, seconds)


def timed(solver, backend="cpu", **settings):
    answering = Answering(Package(), solver, None, backend=backend)
    return sample(answering, solver, [5], SETTINGS | settings)


def test_a_run_does_not_take_longer_than_its_call():
    """As one that tells milliseconds, or adds up what went on side by side."""
    assert len(timed(Told(lambda seconds: seconds)).rows) >= 2
    for wrong in (lambda seconds: 1e3 * seconds, lambda seconds: 2 * seconds):
        with pytest.raises(Failure, match=r"^scipy says that query 5 took .* s in all, but its run ended after 0\.0"):
            timed(Told(wrong))


def test_a_run_may_take_as_long_as_that_of_the_slowest_rank():
    class Early(Ranks):
        def slowest(self, seconds):
            return max(seconds, 0.5)

    solver = Told(lambda seconds: 0.4)
    answering = Answering(Package(), solver, None, Early(), backend="cpu")
    assert sample(answering, solver, [5], SETTINGS, Early()).rows[0]["total_seconds"] == 0.5
    answering = Answering(Package(), solver, None, backend="cpu")
    with pytest.raises(Failure, match="its run ended after"):
        sample(answering, solver, [5], SETTINGS)


@pytest.mark.parametrize(("pending", "refused"), [([0.02] * 9, True), ([0.02, 0.0, *[0.02] * 7], False)])
def test_a_run_ends_after_what_the_gpu_has_to_do(monkeypatch, pending, refused):
    """Once may be chance: something else took this process from its core."""
    left = iter(pending)
    # A sleep of 0 s hands the core to others on a busy machine.
    monkeypatch.setattr(sampling.cuda, "finish", lambda: (seconds := next(left)) and time.sleep(seconds))
    monkeypatch.setattr(sampling, "Watch", lambda *_: SimpleNamespace(answered=lambda: None, verdict=lambda last: None))
    if refused:
        with pytest.raises(Failure, match=r"^scipy returns from run 0\.02\d? s or more before the GPU has done"):
            timed(Told(lambda seconds: seconds), "cuda")
    else:
        timed(Told(lambda seconds: seconds), "cuda")


@pytest.mark.parametrize("counts", [False, True])
def test_phases_take_no_longer_than_their_run(counts):
    """As where they are told in milliseconds; what is counted per phase may have a run of its own."""

    class Phases(Told):
        def __init__(self, times):
            super().__init__(lambda seconds: seconds)
            self.times = times

        def phases(self, seconds):
            return {"seconds": np.array([0.5, 0.5]) * self.times * seconds, "updated": np.array([1, 2])}

        def run(self, query):
            run = super().run(query)
            return run if counts else replace(run, phases=self.phases(run.total))

    class Counts(Phases):
        def count(self, query):
            return self.phases(super().run(query).total)

    solver = Counts if counts else Phases
    assert timed(solver(1), traced=True).rows[0]["phase_updated"] == [1, 2]
    with pytest.raises(Failure, match=r"^scipy says that its phases took .* s in all, of 0\.\d+ s that went by: "):
        timed(solver(1000), traced=True)


ANEW = [0.2, 1e-6, 1e-6, 2e-6]
KEPT = [[0.004, 0.2, 0.3], [0.003, 1e-6, 2e-6], [0.004, 2e-6, 1e-6]]


@pytest.mark.parametrize(
    ("seconds", "refused"),
    [
        (KEPT, True),
        # Of what was answered before the first round nothing can be said, nor of one other query or one round.
        ([row[:2] for row in KEPT], False),
        (KEPT[:1], False),
        # One may have waited; all may be short.
        ([KEPT[0], [0.003, 0.1, 2e-6], [0.003, 0.1, 2e-6]], False),
        ([[0.004, 2e-4, 3e-4], *KEPT[1:]], False),
    ],
)
def test_a_solver_that_keeps_its_answers_is_refused(seconds, refused):
    queries = list(range(len(seconds[0])))
    settings = {"min_rounds": len(seconds), "max_rounds": len(seconds)}
    if refused:
        says = r"^scipy takes 0\.2 s or more when a query is new, and 1\.5e-06 s or less afterwards: it remembers"
        with pytest.raises(Failure, match=says):
            sampled(Scripted(seconds), queries, **settings)
        sampled(Scripted(seconds), queries, ranks=Ranks(size=2), **settings)
    else:
        sampled(Scripted(seconds), queries, **settings)


@pytest.mark.parametrize(
    ("rounds", "others", "refused"),
    [
        ([[0.7], [2e-6], [2e-6], [2e-6]], [[0.7], ANEW, ANEW], True),
        # Two queries, of which one was asked before its first row.
        ([[0.7], [2e-6, 0.7], [2e-6, 2e-6], [2e-6, 2e-6]], [[0.7], ANEW, ANEW], True),
        # The first of the others is answered at once, or each time anew, or there are too few.
        ([[0.7], [2e-6], [2e-6], [2e-6]], [[9e-4], ANEW, ANEW], False),
        ([[0.7], [2e-6], [2e-6], [2e-6]], [[0.7], ANEW, [0.7] * 4], False),
        ([[0.7], [2e-6], [2e-6], [2e-6]], [[0.7], ANEW], False),
        ([[0.7], [0.1], [0.1], [0.1]], [[0.7], ANEW, ANEW], False),
    ],
)
def test_a_solver_of_few_queries_does_not_keep_its_answers(rounds, others, refused):
    solver, asked = Scripted([*rounds, *others]), list(range(10, 10 + len(others)))
    answering = Answering(Package(), solver, None)
    answering.warm_up(1)
    says = r"^scipy takes 0\.7 s when a query is new, and 2e-06 s when it is not: it remembers answers, and a run"
    with pytest.raises(Failure, match=says) if refused else contextlib.nullcontext():
        settings = SETTINGS | {"min_rounds": 3, "max_rounds": 3}
        sample(answering, solver, [1, 2][: len(rounds[1])], settings, others=lambda: asked)
    assert [call[1] for call in solver.calls if call[0] == "run"].count(10) == (len(others) > 2)


BURST = [[0.004, 0.2, 0.3], *[[1e-6] * 3] * 3]


@pytest.mark.parametrize(
    ("others", "busy", "refused"),
    [
        ([ANEW] * 8, True, True),
        # Those beyond the eighth are not asked.
        ([*[ANEW] * 8, [1e-6] * 4], True, True),
        # A new query is answered at once: other work came into the first round.
        ([ANEW, [1e-6] * 4], True, False),
        ([[1e-6] * 4], False, False),
        # Too few queries to tell.
        ([ANEW], True, False),
        ([ANEW], False, True),
        ([], True, False),
        ([], False, True),
    ],
)
def test_what_took_long_in_the_first_round_alone_is_asked_of_new_queries(monkeypatch, others, busy, refused):
    solver = Scripted(BURST + others)
    monkeypatch.setattr(sampling, "Watch", Watching(BUSY if busy else True, True, True, True))
    asked, settings = list(range(10, 10 + len(others))), SETTINGS | {"min_rounds": 4, "max_rounds": 4, "warmup": 0}
    with pytest.raises(Failure, match="it remembers answers") if refused else contextlib.nullcontext():
        sample(Answering(Package(), solver, None), solver, [1, 2, 3], settings, others=lambda: asked)
    runs = [call[1] for call in solver.calls if call[0] == "run"][12:]
    assert runs == ([query for query in asked[:8] for _ in range(4)] if refused or len(others) > 1 or not busy else [])


@pytest.mark.parametrize(
    ("round_", "others", "refused"),
    [
        ([2e-6, 0.7, 0.8], [ANEW] * 2, True),
        # One of them is easy, as of a source that reaches nothing; new ones are answered anew each time.
        ([2e-6, 0.7, 0.8], [ANEW, [0.7] * 4], False),
        ([2e-6, 0.7, 1e-4], [], False),
        ([2e-2, 0.7, 0.8], [], False),
        ([2e-6, 9e-4, 9e-4], [], False),
        # Too few new ones to tell.
        ([2e-6, 0.7, 0.8], [ANEW], False),
        ([2e-6, 0.7, 0.8], [], False),
    ],
)
def test_a_single_round_in_which_what_was_asked_before_is_fast_is_asked_of_new_queries(round_, others, refused):
    solver, asked = Scripted([[0.7], round_, *others]), list(range(10, 10 + len(others)))
    answering = Answering(Package(), solver, None)
    answering.warm_up(1)
    says = r"^scipy takes 0\.7 s or more when a query is new, and 2e-06 s or less afterwards: it remembers answers"
    with pytest.raises(Failure, match=says) if refused else contextlib.nullcontext():
        settings = SETTINGS | {"min_rounds": 1, "max_rounds": 1}
        sample(answering, solver, [1, 2, 3], settings, others=lambda: asked)
    assert (len([call for call in solver.calls if call[0] == "run"]) > 4) == (len(others) > 1)


def test_of_a_single_round_nothing_is_said_without_a_warm_up():
    sampled(Scripted([[2e-6, 0.7, 0.8]]), [1, 2, 3], min_rounds=1, max_rounds=1, warmup=0)
    sampled(Scripted([[2e-6]]), [1], min_rounds=1, max_rounds=1)


class Sums:
    """A problem whose answers are their queries plus 0 to 3; of two queries that differ by 100 they are alike."""

    OUTPUTS: ClassVar = {"d": Output("[n]", dtype="int64")}

    def __init__(self):
        self.asked = []

    def reference(self, query, rows=None):
        self.asked.append(query)
        values = np.arange(4) + query % 100
        return Reference("addition", {"d": values if rows is None else values[rows]}, rows)

    def differs(self, reference, answer):
        if "d" not in answer:
            return "no d"
        return None if np.array_equal(reference.arrays["d"], answer["d"]) else f"{answer['d'].tolist()}"


class Summing(Scripted):
    """`kept`: it gives its first answer to all."""

    kept, answered = False, None

    def run(self, query, sink=None):
        if self.answered is None or not self.kept:
            self.answered = query
        for block in () if sink is None else self.blocks():
            sink(block)
        return super().run(query)

    def blocks(self, rows=None):
        yield from chosen("d", np.arange(4) + self.answered % 100, rows)


class StreamedSumming(Summing):
    streamed = True

    def checker(self, query):
        return Streaming().checker(query)


@pytest.mark.parametrize("made", [Summing, StreamedSumming])
@pytest.mark.parametrize("rows", [None, np.array([0, 2])])
@pytest.mark.parametrize("warmed", [False, True])
def test_a_solver_that_gives_its_first_answer_to_all_queries_is_refused(made, rows, warmed):
    package, settings = Sums(), SETTINGS | {"min_rounds": 1, "max_rounds": 1}

    def sample_of(queries, **attributes):
        solver = made([[1.0] * 20])
        vars(solver).update(attributes)
        answering = Answering(package, solver, package.reference(queries[0], rows))
        if warmed:
            answering.warm_up(queries[0])
        package.asked.clear()
        return sample(
            answering, solver, queries, settings, reference_of=functools.partial(package.reference, rows=rows)
        )

    first = [5, 6, 7, 8] if rows is None else [5, 7]
    with pytest.raises(Invalid) as refused:
        sample_of([5, 6, 9], kept=True)
    why = "differs from the reference solver (addition)"
    assert str(refused.value) == f"gives for query 9 what is right for 5: {why}: {first}"
    assert package.asked == [9]
    # Another reference is only made where the answers are alike.
    assert sample_of([5, 6, 9]).rows and package.asked == []
    assert sample_of([5, 6, 105]).rows and package.asked == [105]
    assert sample_of([5, 6, 5], kept=False).rows and package.asked == []


@pytest.mark.parametrize(
    ("made", "queries", "others", "refused"),
    [
        ([ANEW] * 2, [1, 2], [10, 11], True),
        ([ANEW, [0.2] * 4], [1, 2], [10, 11], False),
        # Too few new queries to tell, or one query.
        ([], [1, 2], [10], False),
        ([], [1], [10, 11], False),
    ],
)
def test_a_streamed_solver_that_keeps_its_answers_is_refused(made, queries, others, refused):
    # The runs in which answers are certified, and the rows.
    solver = StreamedSumming([[0.2, 1e-6] * len(queries), *made])
    settings = SETTINGS | {"min_rounds": 1, "max_rounds": 1, "warmup": 0}
    says = "^scipy answers at once what it was asked before: it remembers answers, "
    with pytest.raises(Failure, match=says) if refused else contextlib.nullcontext():
        sample(Answering(Sums(), solver, None), solver, queries, settings, others=lambda: others)
    assert next(solver.script, None) is None


def test_a_first_answer_for_all_queries_of_another_length_is_refused_in_the_same_words():
    package, solver = Sums(), Summing([[1.0] * 20])
    solver.kept = True
    answering = Answering(package, solver, package.reference(5))
    longer = Reference("addition", {"d": np.array([18])}, np.array([9]))
    says = "^gives for query 9 what is right for 5: ValueError: d has 4 rows: there is none of number 9"
    with pytest.raises(Invalid, match=says):
        sample(answering, solver, [5, 9], SETTINGS | {"max_rounds": 1}, reference_of=lambda query: longer)


def test_a_streamed_answer_is_asked_of_new_queries_too():
    solver = Streaming()
    assert Answering(Package(), solver, None).seconds_of(3) == 1.0 and solver.runs == 1 and not solver.checked


@pytest.mark.parametrize("runs", [(), (1,), (1, 2)])
def test_a_first_answer_that_compiles_tells_nothing_of_answers_that_are_kept(compiling, runs):
    """It does not count, and the next one to the same query may be kept already."""
    first = [2e-6 if runs else 0.1, 0.2, 0.3]
    asked = {"warmup": 0, "min_rounds": 3, "max_rounds": 3}
    with pytest.raises(Failure, match=r"^scipy takes 0\.[12] s or more when a query is new, .* it remembers answers"):
        sampled(compiling(first, *[[1e-6] * 3] * 2, runs=runs), [0, 1, 2], **asked)
    sampled(compiling(first, *[[1e-6, 0.2, 1e-6]] * 2, runs=runs), [0, 1, 2], **asked)


def test_what_fails_on_the_gpu_after_a_run_is_one_line(monkeypatch):
    monkeypatch.setattr(sampling.cuda, "finish", lambda: "cuCtxSynchronize failed: an illegal memory access")
    with pytest.raises(Failure, match=r"^the GPU fails in what run gave it to do: cuCtxSynchronize failed: an illegal"):
        timed(Told(lambda seconds: seconds), "cuda")
