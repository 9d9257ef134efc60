"""TEPS of paper H's search on more processes than there are, by a model of a level's time.

A level takes what its slowest process computes, a message's latency for each of its collectives, and its bytes:

    level + arc a + opened o + reached r + word w + latency c log2 P + bytes / rate

a arcs, o heads that are looked for, r heads that are found and w words of bitmaps of the process that has most, of P
processes; counted by the partition itself on real searches (cluster_count.py). Seconds of each come from what every
level of them computed, latency and rate from what its messages took, or from a network that is given.
saitan.workflow.cluster_model measures and draws.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import nnls

from saitan.bfs.cluster_count import Counted

# Of a level and each of the two parts of a process: bitmaps and parents; and the sums at its end.
COLLECTIVES = 5


@dataclass(frozen=True)
class Model:
    """Seconds a level, an arc, a head looked for, one found, and a word; latency: seconds of a collective a doubling
    of the processes; rate: bytes a second that a process sends.
    """

    level: float
    arc: float
    opened: float
    reached: float
    word: float
    latency: float
    rate: float

    @classmethod
    def fitted(cls, measured: list[tuple[Counted, np.ndarray, np.ndarray]]) -> Model:
        """measured: what was counted of a search, and of every level the seconds that the slowest process computed and
        that messages moved. Without a search of several processes messages cost nothing.
        """
        rows, seconds, messages, moved = [], [], [], []
        for counted, compute, communication in measured:
            rows.append(_work(counted))
            seconds.append(compute)
            if counted.processes > 1:
                steps = np.full(len(compute), COLLECTIVES * np.log2(counted.processes))
                messages.append(np.stack([steps, counted.sent / counted.processes], axis=1))
                moved.append(communication)
        latency, slowness = _fit(messages, moved) if messages else (0.0, 0.0)
        return cls(*_fit(rows, seconds), latency, 1 / slowness if slowness else np.inf)

    def compute(self, counted: Counted) -> float:
        """Seconds that the slowest process of a search computes."""
        return float((_work(counted) @ [self.level, self.arc, self.opened, self.reached, self.word]).sum())

    def communication(self, counted: Counted) -> float:
        """Seconds of a search's messages."""
        sent = counted.sent / counted.processes
        steps = self.latency * COLLECTIVES * np.log2(counted.processes)
        return float((steps + sent / self.rate).sum()) if counted.processes > 1 else 0.0

    def seconds(self, counted: Counted) -> float:
        """Of a search."""
        return self.compute(counted) + self.communication(counted)


def enlarged(counted: Counted, times: int) -> Counted:
    """The search of a graph `times` as large, each level with the same shares of vertices and arcs."""
    names = ("n", "m", "inspected", "largest", "opened", "reached", "bitmaps", "parents")
    return replace(counted, **{name: getattr(counted, name) * times for name in names})


def _work(counted: Counted) -> np.ndarray:
    """What a level's computation consists of, [levels, kinds]."""
    every = np.ones(len(counted.largest))
    return np.stack([every, counted.largest, counted.opened, counted.reached, every * counted.words], axis=1)


def _fit(rows: list[np.ndarray], seconds: list[np.ndarray]) -> tuple[float, ...]:
    """Non-negative costs of the columns. Relative errors count: a long level says as much as a short one."""
    design, wanted = np.concatenate(rows), np.concatenate(seconds)
    found, _ = nnls(design / wanted[:, None], np.ones(len(wanted)))
    return tuple(float(value) for value in found)
