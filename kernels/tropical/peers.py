"""NumPy behind the same call: the peer that is always there."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from saitan.blocks import chosen
from saitan.problem import Block, Run
from saitan.tropical.instances import Instance
from saitan.tropical.validate import Validated, product_rows


class NumPy(Validated):
    """C row by row; integers in 64 bits, cut off at infinity."""

    memory = 0
    transfer = 0.0

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._c: np.ndarray | None = None

    def run(self, query: int) -> Run:
        start = time.perf_counter()
        self._c = product_rows(self.instance.a, self.instance.b, self.instance.semiring)
        seconds = time.perf_counter() - start
        return Run(seconds, seconds, {"tops": 2 * self.instance.pairs / seconds / 1e12})

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[Block]:
        yield from chosen("c", self._c, rows)

    def close(self) -> None:
        super().close()
        self._c = None
