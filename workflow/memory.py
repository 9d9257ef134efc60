"""Keeps a job within the memory that is there."""

from __future__ import annotations

import resource
from pathlib import Path

from saitan.memory import available_memory


def keep_within_memory(share: float = 7 / 8) -> int:
    """From now on an allocation beyond the memory that is available raises MemoryError; returns that in bytes.

    Without it the system grants the allocation and kills the process, or another one, when the memory is touched.
    share: of that memory, what this process may take; the rest is left to the processes beside it.
    """
    available = int(available_memory() * share)
    status = Path("/proc/self/status")
    if status.exists():
        held = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmData:"))
        limit = held * 1024 + available
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        if most == resource.RLIM_INFINITY or limit < most:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
    return available
