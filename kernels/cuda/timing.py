"""Kernel time by CUDA events."""

from __future__ import annotations


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
