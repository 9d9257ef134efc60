"""TEPS of paper H's search on more processes than there are, by a model of a level's time.

A level takes what its slowest process computes, a message's latency for each of its collectives, and its bytes:

    (level + call) b + arc a + probe p + opened o + reached r + word w + latency c log2 P + bytes / rate

and a search `start` beside its levels. b blocks of a process, one or two; a arcs that leave the frontier, p arcs looked
at bottom-up, o heads that are looked for, r heads that are found and w words of bitmaps, of the process that has most
of P; counted by the partition itself on real searches (cluster_count.py). Seconds of each come from what every level of
them computed, call, latency and rate from what its messages took, or latency and rate from a network that is given,
`start` from what is left of the search. saitan.workflow.cluster_model measures and draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import nnls

from saitan.bfs.cluster_count import Counted

# Of a level and each of the two parts of a process: bitmaps and parents; and the sums at its end.
COLLECTIVES = 5


@dataclass(frozen=True)
class Model:
    """Seconds a block of a level, an arc top-down, one bottom-up, a head looked for, one found, a word; call: seconds
    that exchanging a block's heads takes even alone; latency: seconds of a collective a doubling of the processes;
    rate: bytes a second that a process sends. start: seconds of a search.
    """

    level: float
    arc: float
    probe: float
    opened: float
    reached: float
    word: float
    call: float
    latency: float
    rate: float
    start: float

    @classmethod
    def fitted(cls, measured: list[tuple[Counted, float, np.ndarray, np.ndarray]]) -> Model:
        """measured: what was counted of a search, its seconds, and of every level those that the slowest process
        computed and that messages moved. Without a search of several processes messages have no latency and cost no
        bytes.
        """
        searches, seconds, computed, moved = zip(*measured, strict=True)
        beside = [whole - c.sum() - m.sum() for whole, c, m in zip(seconds, computed, moved, strict=True)]
        call, latency, slowness = _fit([_messages(counted) for counted in searches], moved)
        costs = _fit([_work(counted) for counted in searches], computed)
        return cls(*costs, call, latency, 1 / slowness if slowness else np.inf, max(0.0, float(np.mean(beside))))

    def compute(self, counted: Counted) -> float:
        """Seconds that the slowest process of a search computes."""
        costs = [self.level, self.arc, self.probe, self.opened, self.reached, self.word]
        return float((_work(counted) @ costs).sum())

    def communication(self, counted: Counted) -> float:
        """Seconds of a search's messages."""
        return float((_messages(counted) @ [self.call, self.latency, 1 / self.rate]).sum())

    def seconds(self, counted: Counted) -> float:
        """Of a search."""
        return self.start + self.compute(counted) + self.communication(counted)


def enlarged(counted: Counted, times: int) -> Counted:
    """The search of a graph `times` as large, each level with the same shares of vertices and arcs."""
    names = ("n", "m", "inspected", "largest", "opened", "reached", "bitmaps", "parents")
    return replace(counted, **{name: getattr(counted, name) * times for name in names})


def _work(counted: Counted) -> np.ndarray:
    """What a level's computation consists of, [levels, kinds]."""
    every, upwards = np.ones(len(counted.largest)), counted.opened > 0
    arcs = [counted.largest * ~upwards, counted.largest * upwards]
    heads = [counted.opened, counted.reached]
    return np.stack([every * counted.blocks, *arcs, *heads, every * counted.words], axis=1)


def _messages(counted: Counted) -> np.ndarray:
    """What a level's exchange consists of, [levels, kinds]."""
    every = np.ones(len(counted.largest))
    steps = COLLECTIVES * np.log2(counted.processes)
    return np.stack([every * counted.blocks, every * steps, counted.sent / counted.processes], axis=1)


def _fit(rows: Sequence[np.ndarray], seconds: Sequence[np.ndarray]) -> tuple[float, ...]:
    """Non-negative costs of the columns, of least squares: long levels say most, as they do in a search's time."""
    design, wanted = np.concatenate(rows), np.concatenate(seconds)
    scale = np.maximum(design.max(axis=0), 1e-300)
    found, _ = nnls(design / scale, wanted)
    return tuple(float(value) for value in found / scale)
