"""Kernel time by CUDA events."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from saitan.cuda.module import function


class Stopwatch:
    """Seconds of device time between entering and leaving a `with` block, as CUDA events see it.

    Leaving waits until the device is done. Use one object for many blocks: its events are made once.
    """

    def __init__(self) -> None:
        import pycuda.driver as driver

        self._start, self._end = driver.Event(), driver.Event()
        self.seconds = 0.0

    def __enter__(self) -> Stopwatch:
        self._start.record()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.record()
        self._end.synchronize()
        self.seconds = self._end.time_since(self._start) / 1000


class Gate:
    """Keeps the default stream waiting until the host has queued everything that is to be timed.

    Otherwise launches of a few microseconds end before the host has queued the next, and events see the host's time.
    Between shut and open nothing may wait for the device.
    """

    def __init__(self) -> None:
        import pycuda.driver as driver

        self._word = driver.pagelocked_zeros(1, np.uint32, mem_flags=driver.host_alloc_flags.DEVICEMAP)
        self._pointer = int(self._word.base.get_device_pointer())
        self._kernel = function("cuda", "gate", "gate", "PI")
        self._turn = 0

    def shut(self) -> None:
        self._turn += 1
        self._kernel.prepared_async_call((1, 1), (1, 1, 1), None, self._pointer, self._turn)

    def open(self) -> None:
        self._word[0] = self._turn


class Laps:
    """Seconds of device time between marks, by CUDA events, without waiting in between.

    gated: the device begins when `seconds` is called, see Gate.
    """

    def __init__(self, marks: int, gated: bool = False) -> None:
        import pycuda.driver as driver

        self._events = [driver.Event() for _ in range(marks)]
        self._gate = Gate() if gated else None
        self._next = 0

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
        return [later.time_since(sooner) / 1000 for sooner, later in pairwise(used)]
