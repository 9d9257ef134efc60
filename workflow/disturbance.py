"""What may disturb a point's times while it is sampled: other work on the cores, on a GPU a clock that moves.

Everything is read, nothing is set.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable
from typing import NamedTuple

import psutil

from saitan.ranks import Ranks

# A core that others keep busy for more than this share of the time is other load on the machine.
OTHER_LOAD = 0.15
# System times count in steps of 10 ms: a shorter time says nothing of the others' share.
LEAST_WATCHED = 0.25
# A clock whose readings lie further apart than this share of the highest has moved.
CLOCK_MOVED = 0.03
# Seconds between readings by nvidia-smi, which takes a tenth of a second each.
SMI_EVERY = 2.0
# How reading a clock fails.
UNREADABLE = (OSError, ValueError, subprocess.SubprocessError)


class Disturbance(NamedTuple):
    """kind: what disturbed, said of a point; detail: with its amount, said of a sample."""

    kind: str
    detail: str


class Others:
    """Cores of the machine that other processes than the ranks keep busy."""

    def __init__(self, ranks: Ranks) -> None:
        self._process, self._ranks = psutil.Process(), ranks
        self._start = self._now()

    def _now(self) -> tuple[float, float, float]:
        system, own = psutil.cpu_times(), self._process.cpu_times()
        busy = sum(system) - system.idle - getattr(system, "iowait", 0.0)
        # Guests are counted in user time too.
        busy -= getattr(system, "guest", 0.0) + getattr(system, "guest_nice", 0.0)
        return time.perf_counter(), busy, self._ranks.on_this_host(own.user + own.system)

    def load(self, wait: bool = False) -> float | None:
        """Cores that others kept busy since the last answer; None, which is no answer, where the time was too short.

        With `wait` there is an answer: a time that is too short is first waited out.
        """
        if wait:
            time.sleep(max(0.0, LEAST_WATCHED - (time.perf_counter() - self._start[0])))
        now = self._now()
        wall, busy, own = (after - before for after, before in zip(now, self._start, strict=True))
        if wall < LEAST_WATCHED:
            return None
        self._start = now
        return max(0.0, (busy - own) / wall)


class Clock:
    """The clock of a GPU's multiprocessors. `read` gives it in MHz, and is asked at most once in `every` seconds."""

    def __init__(self, read: Callable[[], int], every: float = 0.0) -> None:
        self._read, self._every = read, every
        self._seen = [read()]
        self._last = time.monotonic()

    def look(self) -> None:
        """Read the clock; a reading that fails is left out, as no point is to fail for it."""
        if time.monotonic() - self._last >= self._every:
            with contextlib.suppress(*UNREADABLE):
                self._seen.append(self._read())
            self._last = time.monotonic()

    def moved(self) -> tuple[int, int] | None:
        """The lowest and the highest reading since the last call, its last one included, where they lie apart."""
        low, high = min(self._seen), max(self._seen)
        self._seen = self._seen[-1:]
        return (low, high) if high - low > CLOCK_MOVED * high else None


def device_clock() -> Clock | None:
    """The clock of the device in use: by NVML where nvidia-ml-py is installed, otherwise by nvidia-smi.

    None where neither can read it.
    """
    from saitan.cuda import device

    bus = device().pci_bus_id()
    for read, every in ((_by_nvml, 0.0), (_by_smi, SMI_EVERY)):
        try:
            return Clock(read(bus), every)
        except (ImportError, *UNREADABLE):
            continue
    return None


def _by_nvml(bus: str) -> Callable[[], int]:
    import pynvml

    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByPciBusId(bus.encode())
    except pynvml.NVMLError as error:
        raise OSError(str(error)) from None

    def read() -> int:
        try:
            return pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)
        except pynvml.NVMLError as error:
            raise OSError(str(error)) from None

    return read


def _by_smi(bus: str) -> Callable[[], int]:
    command = ["nvidia-smi", f"--id={bus}", "--query-gpu=clocks.sm", "--format=csv,noheader,nounits"]
    return lambda: int(subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout)


class Watch:
    """Watches the rounds of a point on a backend: the cores for the CPU, the clock of a rank's own device for a GPU."""

    def __init__(self, backend: str, ranks: Ranks) -> None:
        self._others = Others(ranks) if backend == "cpu" else None
        self._clock = device_clock() if backend == "cuda" else None

    def answered(self) -> None:
        """Called after every timed answer."""
        if self._clock:
            self._clock.look()

    def verdict(self, last: bool = False) -> Disturbance | bool:
        """What disturbed the rounds since the last verdict; True where nothing did, False where it is too early.

        The last one is never too early: the cores are watched for some tenths of a second more where need be.
        """
        if self._others:
            load = self._others.load(wait=last)
            if load is None:
                return False
            if load > OTHER_LOAD:
                return Disturbance("other work on the machine", f"other work took {load:.1f} cores")
        elif self._clock and (moved := self._clock.moved()):
            low, high = moved
            return Disturbance("the clock of the GPU moved", f"the clock of the GPU moved between {low} and {high} MHz")
        return True
