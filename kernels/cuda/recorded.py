"""Work that is queued once, recorded, and launched again and again as one: CUDA graphs, which PyCUDA does not offer.

A recorded node takes half a microsecond to begin where the host needs four to queue it. ctypes calls the driver.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

# CU_STREAM_CAPTURE_MODE_RELAXED: loading a kernel at its first use is allowed meanwhile.
RELAXED = 2


class Recorded:
    """What `queue` queues on a stream, and on others that wait for it and that it then waits for.

    Arguments are as they were then. Not for the default stream. Raises RuntimeError where the driver refuses.
    """

    def __init__(self, stream: Any, queue: Callable[[], None]) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._stream, self._made = ctypes.c_void_p(stream.handle), ctypes.c_void_p()
        graph = ctypes.c_void_p()
        self._call("cuStreamBeginCapture_v2", self._stream, RELAXED)
        try:
            queue()
        finally:
            self._call("cuStreamEndCapture", self._stream, ctypes.byref(graph))
        self._call("cuGraphInstantiateWithFlags", ctypes.byref(self._made), graph, ctypes.c_ulonglong(0))
        self._call("cuGraphDestroy", graph)

    def _call(self, name: str, *arguments: Any) -> None:
        if status := getattr(self._driver, name)(*arguments):
            raise RuntimeError(f"{name} failed with status {status}")

    def launch(self) -> None:
        """Queue all of it."""
        self._call("cuGraphLaunch", self._made, self._stream)

    def free(self) -> None:
        self._call("cuGraphExecDestroy", self._made)
