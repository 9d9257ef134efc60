"""Small things that the CUDA solvers share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from saitan.blocks import Block, Blockwise, chosen_rows
from saitan.problem import Checked
from saitan.tropical.instances import Instance
from saitan.tropical.semiring import mirrored
from saitan.tropical.validate import check


def divided(length: int, step: int) -> int:
    """length / step, rounded up."""
    return -(-length // step)


def fill(pointer: int, value: np.generic, count: int) -> None:
    """Set `count` neighbouring 16- or 32-bit numbers on the device to a NumPy scalar; compiles nothing."""
    import pycuda.driver as driver

    if count:
        bits = int(value.view(f"u{value.itemsize}"))
        (driver.memset_d16 if value.itemsize == 2 else driver.memset_d32)(pointer, bits, count)


def fetch_rows(matrix, rows: np.ndarray) -> np.ndarray:
    """The given rows of a GPUArray [m, n] as a host array."""
    out = np.empty((len(rows), matrix.shape[1]), matrix.dtype)
    for place, row in enumerate(rows):
        matrix[int(row)].get(out[place])
    return out


class Solver(Blockwise):
    """What the CUDA solvers share: the answer is `c`, a GPUArray in `buffers`, over (min, +) if not said otherwise."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._seed = 0

    def _as_asked(self, c: np.ndarray) -> np.ndarray:
        return mirrored(c, self.instance.semiring)

    def validate(self) -> Checked:
        return check(self.instance, lambda rows: self._as_asked(fetch_rows(self.c, rows)), self._seed)

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        if rows is None:
            yield Block("c", 0, self._as_asked(self.c.get()))
        else:
            yield from chosen_rows("c", rows, self._as_asked(fetch_rows(self.c, rows)))

    def close(self) -> None:
        self.buffers.free()
