"""Paper S, Algorithms 1 and 4: the host's loop over phases, the same for the CPU and the GPU.

A *phase* relaxes the arcs of the vertices updated in the phase before into the updated costs `Ua` by atomic minimum
(first kernel), then commits lower updated costs to the costs `Ca` (second kernel). Because a phase reads only what
the one before committed, its updated vertices do not depend on thread order, nor on which of the two ways runs it.

1. Harish, Narayanan: Accelerating large graph algorithms on the GPU using CUDA. HiPC 2007.
2. Suzuki, Kan, Hayashi, Yoshikawa: adaptive thread creation for SSSP (paper S in the README).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from saitan.graph import Graph
from saitan.sssp.ending import TOO_LONG, run_until_it_fits

# Paper S switches up at 350 us and back at 330 us. A lower threshold that is not given keeps this proportion.
DOWN_OF_UP = 330 / 350


class Overflow(Exception):
    """A path's length did not fit the distances' type."""


class Engine(Protocol):
    """The kernels of paper S on one backend. Those that return something return when their work is done.

    cost      the costs `Ca`, an array with a dtype
    counting  whether updates count the vertices they update, into `changed`
    Raises Overflow where a sum did not fit.
    """

    n: int
    cost: np.ndarray
    counting: bool
    changed: list[int]

    def start(self, source: int) -> None:
        """Only the source is reached, marked and listed."""

    def widened(self) -> Engine:
        """An engine of the same graph with 64-bit distances."""

    def relax(self) -> None:
        """Algorithm 2: a thread per vertex."""

    def update(self) -> bool:
        """Algorithm 3: a thread per vertex. True if any vertex was updated."""

    def select_relax(self, length: int) -> int:
        """Algorithm 5: a thread per entry of the read list; then swaps the lists. Returns the new list's length."""

    def select_update(self, length: int) -> bool:
        """Algorithm 6: a thread per entry of the read list. True if any vertex was updated."""

    def switch(self) -> int:
        """SWITCH_KERNEL: rebuild the read list from the mask. Returns its length."""


@dataclass
class Phases:
    """What the host knows of each phase; `listed` is the length of the list written, -1 where none was."""

    seconds: list[float] = field(default_factory=list)
    selecting: list[bool] = field(default_factory=list)
    listed: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)

    def arrays(self) -> dict[str, np.ndarray]:
        """seconds float64, mode ("selection" or "conventional"), listed int64 and threads int64, one entry a phase."""
        return {
            "seconds": np.array(self.seconds, np.float64),
            "mode": np.where(np.array(self.selecting, bool), "selection", "conventional").astype(object),
            "listed": np.array(self.listed, np.int64),
            "threads": np.array(self.threads, np.int64),
        }

    def counters(self) -> dict[str, float]:
        """The sums that go into a sample row."""
        return {
            "phases": len(self.seconds),
            "listed": sum(length for length in self.listed if length > 0),
            "threads": sum(self.threads),
            "switches": sum(a != b for a, b in zip(self.selecting, self.selecting[1:], strict=False)),
        }


class Thresholds:
    """Paper S, section 6: switch on the mean time of this phase and the one before. Seconds; up >= down."""

    def __init__(self, up: float, down: float) -> None:
        if not 0 <= down <= up:
            raise ValueError(f"thresholds must be 0 <= down <= up, not down {down * 1e6:g} us, up {up * 1e6:g} us")
        self.up, self.down = up, down

    def selects_next(self, selecting: bool, mean: float) -> bool:
        """Whether the next phase starts a thread per listed vertex."""
        return mean <= self.up if selecting else mean < self.down


SELECTION = Thresholds(np.inf, np.inf)


def run_phases(engine: Engine, selecting: bool, thresholds: Thresholds | None, limit: float = np.inf) -> Phases:
    """Run phases until none updates a vertex; engine holds the source, marked and listed.

    selecting: whether the first phase starts a thread per listed vertex; thresholds: when to switch, None for never;
    limit: seconds in phases after which no further one starts.
    """
    seen = Phases()
    length, active, before, spent = 1, True, None, 0.0
    while active and spent <= limit:
        start = time.perf_counter()
        if selecting:
            started = length
            length = engine.select_relax(length)
            active = length > 0 and engine.select_update(length)
            threads, listed = started + length, length
        else:
            engine.relax()
            active = engine.update()
            threads, listed = 2 * engine.n, -1
        seconds = time.perf_counter() - start
        spent += seconds
        seen.seconds.append(seconds)
        seen.selecting.append(selecting)
        seen.listed.append(listed)
        seen.threads.append(threads)
        if thresholds is not None and active:
            mean = seconds if before is None else (seconds + before) / 2
            before = seconds
            selects = thresholds.selects_next(selecting, mean)
            if selects and not selecting:
                start = time.perf_counter()
                length = engine.switch()
                # As printed, the rule does not see the time of SWITCH_KERNEL; the phase took it all the same.
                seen.seconds[-1] += time.perf_counter() - start
            selecting = selects
    return seen


def calibrate(conventional: np.ndarray, selection: np.ndarray) -> Thresholds:
    """Thresholds from the phase times of one source run both ways, seconds [phases] each.

    Both runs have the same updated vertices phase by phase, so any thresholds can be replayed on the recorded times, as
    far as the shorter run goes. The thresholds of the fastest replay are returned; of equal ones those that never
    switch. Up at infinity always selects, up at 0 selects in the first phase only. At most 64 of the recorded times are
    tried as thresholds.
    """
    length = min(len(conventional), len(selection))
    conventional, selection = conventional[:length], selection[:length]
    times = np.unique(np.concatenate([conventional, selection]))
    candidates = times[np.linspace(0, len(times) - 1, min(len(times), 64)).astype(int)] if length else times
    tried = [SELECTION, Thresholds(0.0, 0.0), *(Thresholds(up, up * DOWN_OF_UP) for up in candidates.tolist())]
    return min(tried, key=lambda thresholds: _replay(thresholds, conventional, selection))


def _replay(thresholds: Thresholds, conventional: np.ndarray, selection: np.ndarray) -> float:
    total, selecting, before = 0.0, True, None
    for both in zip(conventional.tolist(), selection.tolist(), strict=True):
        seconds = both[selecting]
        total += seconds
        selecting = thresholds.selects_next(selecting, seconds if before is None else (seconds + before) / 2)
        before = seconds
    return total


def thresholds_from(up: float | None, down: float | None) -> Thresholds | None:
    """The thresholds a user pinned, in microseconds; None when they are to be calibrated."""
    if up is None:
        return None
    return Thresholds(up * 1e-6, (up * DOWN_OF_UP if down is None else down) * 1e-6)


class PhaseVariant:
    """What paper S's variants share on every backend; a subclass provides `graph` and makes `engine`.

    Distances widen to 64 bits, for this and all later queries, when a sum does not fit.
    """

    graph: Graph
    engine: Engine
    selecting = False
    thresholds: Thresholds | None = None
    # Seconds that calibration took, where there was one.
    calibrated: float | None = None

    def count(self, source: int) -> dict[str, np.ndarray]:
        """updated int64 [phases]: vertices whose cost fell. It does not depend on the way that a phase ran."""
        self.engine.counting = True
        try:
            self._phases(source, False, None)
        finally:
            self.engine.counting = False
        return {"updated": np.array(self.engine.changed, np.int64)}

    def _phases(self, source: int, selecting: bool, thresholds: Thresholds | None, limit: float = np.inf) -> Phases:
        def attempt() -> tuple[int, Phases | None]:
            try:
                self.engine.start(source)
                return 0, run_phases(self.engine, selecting, thresholds, limit)
            except Overflow:
                return TOO_LONG, None

        return run_until_it_fits(attempt, self._widen)

    def _widen(self) -> None:
        counting = self.engine.counting
        self.engine = self.engine.widened()
        self.engine.counting = counting

    def _counters(self, seen: Phases) -> dict[str, float]:
        counters = seen.counters() | {"distance_bits": 8 * self.engine.cost.dtype.itemsize}
        if self.thresholds is not None:
            counters["threshold_up_us"] = self.thresholds.up * 1e6
            counters["threshold_down_us"] = self.thresholds.down * 1e6
        if self.calibrated is not None:
            counters["prepare_s"] = self.calibrated
        return counters


class Switching(PhaseVariant):
    """Paper S, Algorithm 4, for a backend's PhaseSolver. Thresholds in microseconds; calibrated when not given."""

    selecting = True

    def __init__(self, graph: Graph, *, threshold_up: float | None = None, threshold_down: float | None = None) -> None:
        super().__init__(graph)
        self.thresholds = thresholds_from(threshold_up, threshold_down) or self._calibrated()

    def _calibrated(self) -> Thresholds:
        begin = time.perf_counter()
        source = int(self.graph.degrees.argmax())
        # The times of the second round are used; the first warms up. The conventional run ends early where all its
        # phases would take far longer than those of selection: n threads for each of n phases, on a path.
        for patience in (0, 4):
            selection = self._phases(source, True, None).seconds
            conventional = self._phases(source, False, None, limit=max(1.0, patience * sum(selection))).seconds
        found = calibrate(np.array(conventional), np.array(selection))
        self.calibrated = time.perf_counter() - begin
        return found
