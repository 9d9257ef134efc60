"""The processes that answer one query together: today one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Ranks:
    """This process among those that work together.

    rank, size  its number and how many there are; rank 0 decides, draws, and writes
    local       its number among those of the same host, which chooses its device
    """

    rank: int = 0
    size: int = 1
    local: int = 0

    @property
    def leads(self) -> bool:
        """Whether this process decides for all and writes."""
        return self.rank == 0

    def agree(self, value: T) -> T:
        """The leading rank's value, on every rank."""
        return value

    def slowest(self, seconds: float) -> float:
        """The largest of all ranks' values, on every rank."""
        return seconds


def current() -> Ranks:
    """The ranks of this process. SAITAN_LOCAL_RANK chooses its device."""
    return Ranks(local=int(os.environ.get("SAITAN_LOCAL_RANK", "0")))
