"""How much memory a job may still take."""

from __future__ import annotations

import resource
from pathlib import Path

import psutil

CGROUP = Path("/sys/fs/cgroup")


def available_memory() -> int:
    """Bytes: what the system has available, or what the limit of a container (cgroup version 2) leaves, if less."""
    available = psutil.virtual_memory().available
    try:
        limit = (CGROUP / "memory.max").read_text().strip()
        used = int((CGROUP / "memory.current").read_text())
        reclaimable = next(
            int(line.split()[1])
            for line in (CGROUP / "memory.stat").read_text().splitlines()
            if line.startswith("inactive_file ")
        )
        left = available if limit == "max" else int(limit) - used + reclaimable
    except (OSError, ValueError, StopIteration):
        return available
    return max(0, min(available, left))


def keep_within_memory() -> int:
    """From now on an allocation beyond the memory that is available raises MemoryError; returns that in bytes.

    Without it the system grants the allocation and kills the process, or another one, when the memory is touched.
    An eighth is left to the processes beside this one.
    """
    available = available_memory() * 7 // 8
    status = Path("/proc/self/status")
    if status.exists():
        held = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmData:"))
        limit = held * 1024 + available
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        if most == resource.RLIM_INFINITY or limit < most:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
    return available
