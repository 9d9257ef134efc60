"""What the CUDA solvers share: the answer's way to the host and to its check, and small helpers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from saitan.blocks import Block, Blockwise, check_given, chosen_rows
from saitan.problem import Checked
from saitan.tropical.instances import Instance
from saitan.tropical.semiring import mirrored

# Struct notation of an entry as a kernel's argument.
ENTRY = {"float32": "f", "int32": "i", "uint16": "H"}


class LoopWarning(UserWarning):
    """The operands need a slower inner loop; the message says why."""

    SIGNED = "entries of either sign: the loop of plain minima is used"


def divided(length: int, step: int) -> int:
    """length / step, rounded up."""
    return -(-length // step)


def fill(pointer: int, value: np.generic, count: int) -> None:
    """Set `count` neighbouring 16- or 32-bit numbers on the device to a NumPy scalar."""
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
    """The base of the CUDA solvers: the answer is `c`, a GPUArray in `buffers`."""

    # Whether c holds the entries of the instance's own semiring; otherwise they are over (min, +).
    own_semiring = False

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._check = None

    def make_check(self):
        """What `validate` hands the matrix of every answer to; made at the first."""
        from saitan.tropical.cuda_validate import Check

        return Check(self.instance, self.own_semiring and self.instance.semiring == "max_plus")

    def validate(self) -> Checked:
        self._check = self._check or self.make_check()
        checked = self._check(self.c)
        check_given(self, Solver, Solver.blocks(self))
        return checked

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        c = self.c.get() if rows is None else fetch_rows(self.c, rows)
        if not self.own_semiring:
            c = mirrored(c, self.instance.semiring)
        yield from [Block("c", 0, c)] if rows is None else chosen_rows("c", rows, c)

    def close(self) -> None:
        self.buffers.free()
        if self._check:
            self._check.close()
            self._check = None
