from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saitan.blocks import Block
from saitan.problem import Checked, Invalid, Reference, Run
from saitan.ranks import Ranks
from saitan.workflow import sampling
from saitan.workflow.sampling import Answering, Others, finished, prepared, sample, spread_of
from saitan.workflow.step import Failure

SETTINGS = {
    "backend": "cuda",  # nothing watches the CPU
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


class Package:
    """A problem whose `differs` hears what it is asked to compare."""

    def __init__(self, says=None):
        self.says, self.heard = says, []

    def differs(self, reference, answer):
        self.heard.append((reference, answer))
        return self.says


def sampled(solver, queries=(5, 6), package=None, reference=None, ranks=None, **settings):
    answering = Answering(package or Package(), solver, reference)
    return sample(answering, solver, list(queries), {**SETTINGS, **settings}, ranks)


def test_rounds_end_when_the_median_settles():
    # Medians 1, 2, 2.02: the last two are within 2 % of their median.
    solver = Scripted([[0.9, 1.1], [2.0, 2.0], [2.02, 2.02], [9, 9]])
    found = sampled(solver)
    assert [(row["query"], row["round"], row["seconds"]) for row in found.rows] == [
        *(("5", 0, 0.9), ("6", 0, 1.1)),
        *(("5", 1, 2.0), ("6", 1, 2.0)),
        *(("5", 2, 2.02), ("6", 2, 2.02)),
    ]
    assert found.settled and found.spread == pytest.approx(0.02 / 2.01) and found.disturbed == []
    first = found.rows[0]
    assert first["total_seconds"] == 1.8 and first["counters"] == {"phases": 2} and first["work"] == {"bytes": 8}
    assert first["phase_phases"] == [0.45, 0.45] and first["disturbed"] == ""
    assert (first["checked"], first["checked_whole"], found.rows[1]["checked_whole"]) == ("every vertex", False, True)
    assert solver.calls[:4] == [("run", 5), ("validate",), ("run", 6), ("validate",)]


def test_a_median_that_never_settles_says_so():
    unsteady = [[1, 1], [2, 2], [4, 4], [8, 8], [16, 16], [32, 32]]
    found = sampled(Scripted(unsteady), max_rounds=3)
    assert len(found.rows) == 6 and not found.settled and found.spread == pytest.approx(2 / 3)
    found = sampled(Scripted(unsteady), budget_s=1e-9)
    assert len(found.rows) == 2 and not found.settled and found.spread == float("inf")
    # One round is no proof, even where nobody asked for two.
    found = sampled(Scripted([[1, 1]] * 5), min_rounds=1, max_rounds=1)
    assert len(found.rows) == 2 and not found.settled
    assert len(sampled(Scripted([[1, 1]] * 9), min_rounds=4).rows) == 8


def test_the_spread_is_that_of_all_the_last_rounds():
    asked = {"spread": 0.1, "min_rounds": 3, "max_rounds": 9}
    # The first and the last agree; the one between does not.
    assert spread_of([1.0, 1.2, 1.0], asked) == pytest.approx(0.2)
    assert not finished([1.0, 1.2, 1.0], asked) and finished([5.0, 1.0, 1.05, 1.0], asked)
    assert spread_of([1.0, 1.0], asked) == float("inf") and not finished([1.0, 1.0], asked)
    # As far apart as asked for is near enough; so are equal medians where no spread is allowed.
    assert finished([1.0, 1.0, 1.1], {**asked, "spread": 1.1 - 1.0}) and finished([1.0] * 3, {**asked, "spread": 0})
    found = sampled(Scripted([[1, 1]] * 9), spread=0)
    assert len(found.rows) == 4 and found.settled
    assert not finished([0.94, 1.0, 1.05], asked) and finished([0.96, 1.0, 1.05], asked)
    assert finished([1, 2, 3, 4], {**asked, "max_rounds": 4}) and not finished([1, 2, 3, 4], asked)


@given(st.lists(st.integers(100, 110), min_size=1, max_size=8), st.integers(2, 5), st.integers(1, 8))
def test_finished_by_the_spread_or_by_the_rounds(medians, least, most):
    asked = {"spread": 0.05, "min_rounds": least, "max_rounds": most}
    last = np.array(medians[-least:])
    near = len(last) == least and np.ptp(last) <= 0.05 * np.median(last)
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


def test_disturbed_samples_say_why():
    found = sampled(Scripted([[1, 1]] * 5, disturbed="the clock moved"))
    assert found.disturbed == ["the clock moved"] and {row["disturbed"] for row in found.rows} == {"the clock moved"}


def test_other_work_on_the_machine_is_told(monkeypatch):
    monkeypatch.setattr(sampling.Others, "load", lambda self: 0.8)
    found = sampled(Scripted([[1, 1]] * 5), backend="cpu")
    assert found.disturbed == ["other work on the machine"]
    assert {row["disturbed"] for row in found.rows} == {"other work took 0.8 cores"}
    # What a solver says of its own run is not lost.
    found = sampled(Scripted([[1, 1]] * 5, disturbed="the clock moved"), backend="cpu")
    assert found.disturbed == ["other work on the machine", "the clock moved"]
    assert {row["disturbed"] for row in found.rows} == {"the clock moved"}
    # A kernel's time on the device does not depend on it.
    assert sampled(Scripted([[1, 1]] * 5), backend="cuda").disturbed == []
    monkeypatch.setattr(sampling.Others, "load", lambda self: sampling.OTHER_LOAD)
    assert sampled(Scripted([[1, 1]] * 5), backend="cpu").disturbed == []


def test_others_are_what_this_process_did_not_use(monkeypatch):
    times = iter([(0.0, 10.0, 1.0), (2.0, 13.0, 2.0), (2.1, 14.0, 2.0), (4.0, 15.0, 4.0)])
    monkeypatch.setattr(Others, "_now", lambda self: next(times))
    others = Others()
    assert others.load() == pytest.approx((3 - 1) / 2)
    assert others.load() == 0.0, "a tenth of a second says nothing"
    assert others.load() == 0.0, "never less than none"


def test_a_core_that_waits_for_a_disk_is_idle_and_a_guest_counts_once(monkeypatch):
    system = namedtuple("scputimes", "user nice system idle iowait guest guest_nice")
    monkeypatch.setattr(sampling.psutil, "cpu_times", lambda: system(100.0, 20.0, 30.0, 1000.0, 500.0, 7.0, 3.0))
    assert Others()._now()[1] == 100 + 20 + 30
    # Systems that tell less.
    system = namedtuple("scputimes", "user nice system idle")
    monkeypatch.setattr(sampling.psutil, "cpu_times", lambda: system(100.0, 20.0, 30.0, 1000.0))
    assert Others()._now()[1] == 100 + 20 + 30


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


def test_a_streamed_answer_whose_check_fails_is_refused():
    solver = Streaming()
    solver.refuse = True
    with pytest.raises(Invalid, match="block is wrong"):
        sampled(solver)


def test_a_solver_is_closed_whatever_happens():
    solver = Scripted([[1]])

    class Prepares:
        @staticmethod
        def prepare(instance, variant, backend, **parameters):
            if parameters:
                raise ValueError("delta must be positive")
            return solver

    with pytest.raises(Invalid), prepared(Prepares, None, SETTINGS) as made:
        assert made is solver
        raise Invalid("x")
    assert solver.calls == [("close",)]
    with (
        pytest.raises(Failure, match=r"scipy with {'delta': 0}: delta must be positive"),
        prepared(Prepares, None, {**SETTINGS, "parameters": {"delta": 0}}),
    ):
        pass
