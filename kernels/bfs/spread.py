"""The layout of `fast` spread over GPUs: vertices by falling degree go to them in turn.

A vertex of the layout with number v is number v // gpus of GPU v % gpus; its *position* is (v % gpus) * segment +
v // gpus. Vertices of the graph that the layout leaves out go to the GPUs in turn too, by their own numbers, so that
each has its part of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from saitan.bfs.cpu_step import WORD


@dataclass(frozen=True)
class Spread:
    """n vertices of a graph of which a layout has k, over a number of GPUs."""

    n: int
    k: int
    gpus: int

    @property
    def segment(self) -> int:
        """Positions of a GPU, a multiple of four words of a bitmap, which are read at once."""
        return max(1, -(-self.k // (self.gpus * 4 * WORD))) * 4 * WORD

    @property
    def positions(self) -> int:
        return self.segment * self.gpus

    def own(self, gpu: int) -> int:
        """Vertices of the layout on a GPU."""
        return max(0, -(-(self.k - gpu) // self.gpus))

    def position(self, number: int) -> int:
        """Of the layout's number of a vertex."""
        return number % self.gpus * self.segment + number // self.gpus

    def rows(self, offsets: np.ndarray, gpu: int) -> np.ndarray:
        """Offsets of a GPU's rows, of the type of those of the layout, [k + 1]."""
        degrees = np.diff(offsets)[gpu :: self.gpus]
        return np.concatenate([np.zeros(1, offsets.dtype), np.cumsum(degrees, dtype=offsets.dtype)])

    def by_position(self, values: np.ndarray) -> np.ndarray:
        """Values of the layout's vertices, [k], by position, [positions]; 0 where there is none."""
        found = np.zeros(self.positions, values.dtype)
        for gpu in range(self.gpus):
            found[gpu * self.segment :][: self.own(gpu)] = values[gpu :: self.gpus]
        return found

    def vertices(self, place: np.ndarray, gpu: int) -> tuple[np.ndarray, np.ndarray]:
        """The graph's vertices of a GPU, ascending, int32, and their numbers on it, -1 of those left out, padded.

        place: int32 [n], the layout's number of every vertex of the graph, -1 of those left out.
        """
        owner = np.where(place >= 0, place, np.arange(self.n, dtype=np.int32)) % self.gpus
        ids = np.flatnonzero(owner == gpu).astype(np.int32)
        # Kernels read them four at a time.
        numbers = np.full(-(-len(ids) // 4) * 4, -1, np.int32)
        there = place[ids]
        numbers[: len(ids)] = np.where(there >= 0, there // self.gpus, -1)
        return ids, numbers
