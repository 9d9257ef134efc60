"""Kernel time by CUDA events."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from saitan.cuda import device
from saitan.cuda.module import function

TIMED_OUT = "the gate before the kernels opened by its timeout: the host was too slow"


class Gate:
    """Keeps the default stream waiting until the host has queued everything that is to be timed.

    Otherwise launches of a few microseconds end before the host has queued the next, and events see the host's time.
    Between shut and open nothing may wait for the device. A gate opens by itself after TIMEOUT_NS of gate.cu.
    """

    def __init__(self) -> None:
        import pycuda.driver as driver

        self._words = driver.pagelocked_zeros(2, np.uint32, mem_flags=driver.host_alloc_flags.DEVICEMAP)
        self._pointer = int(self._words.base.get_device_pointer())
        self._kernel = function("cuda", "gate", "gate", "PI")
        self._turn = 0

    def shut(self) -> None:
        self._turn += 1
        self._kernel.prepared_async_call((1, 1), (1, 1, 1), None, self._pointer, self._turn)

    def open(self) -> None:
        self._words[0] = self._turn

    @property
    def timed_out(self) -> bool:
        """Whether the gate last shut opened by itself; asked after the device is done with it."""
        return bool(self._words[1] == self._turn)


class Laps:
    """Seconds of device time between marks, by CUDA events, without waiting in between.

        with laps:            # a mark at either end
            launch()
        [seconds] = laps.seconds()

    Use one object for many runs: its events are made once.

    marks      most marks of a run, at least two
    gated      the device begins when the block ends, see Gate; or when `seconds` is called, where there is no block
    disturbed  why the last seconds say little, for Run.disturbed; "" where nothing is known
    """

    def __init__(self, marks: int = 2, gated: bool = False) -> None:
        import pycuda.driver as driver

        device()
        self._events = [driver.Event() for _ in range(marks)]
        self._gate = Gate() if gated else None
        self._next = 0
        self.disturbed = ""

    def __enter__(self) -> Laps:
        """Begin anew, whatever was marked before."""
        self._next = 0
        self.mark()
        return self

    def __exit__(self, *_: object) -> None:
        self.mark()
        # A copy to the host that the caller queued before `seconds` waits for the device, so the gate opens here.
        if self._gate:
            self._gate.open()

    def mark(self) -> None:
        """The first mark of a run is its start."""
        if self._gate and self._next == 0:
            self._gate.shut()
        self._events[self._next].record()
        self._next += 1

    def seconds(self) -> list[float]:
        """Seconds between neighbouring marks; waits for the last and begins anew."""
        used = self._events[: self._next]
        self._next = 0
        if self._gate:
            self._gate.open()
        used[-1].synchronize()
        self.disturbed = TIMED_OUT if self._gate and self._gate.timed_out else ""
        return [later.time_since(sooner) / 1000 for sooner, later in pairwise(used)]
