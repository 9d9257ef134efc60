"""The reductions of streaming.py on the device: host side of reduce.cu."""

from __future__ import annotations

from typing import Any

import numpy as np

from saitan.cuda.buffers import Buffers, pointer
from saitan.cuda.constants import constants
from saitan.cuda.module import function
from saitan.cuda.timing import Laps

THREADS = constants("apsp", "reduce.cu")["THREADS"]


class DeviceReducer:
    """Reduces the slab that a solver holds. rows: most rows of a slab."""

    def __init__(self, rows: int) -> None:
        self._buffers = Buffers(3 * 8 * rows, "the reduction of a slab")
        self._eccentricity, self._reached, self._total = (self._buffers.empty(rows, np.uint64) for _ in range(3))
        self._laps = Laps()

    def __call__(self, solver: Any) -> tuple[float, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        slab = solver.slab()
        rows, n = slab.shape
        kernel = function("apsp", "reduce", f"reduce_{slab.dtype.str[1:]}", "qPPPP")
        outputs = (self._eccentricity, self._reached, self._total)
        with self._laps:
            kernel.prepared_async_call((rows, 1), (THREADS, 1, 1), None, n, pointer(slab), *map(pointer, outputs))
        [seconds] = self._laps.seconds()
        total = np.float64 if slab.dtype.kind == "f" else np.uint64
        eccentricity, reached, totals = (x.get().view(np.uint8) for x in outputs)
        return seconds, (
            eccentricity[: rows * slab.dtype.itemsize].view(slab.dtype),
            reached[: 8 * rows].view(np.int64),
            totals[: 8 * rows].view(total),
        )

    def free(self) -> None:
        self._buffers.free()
