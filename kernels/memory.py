"""How much memory may still be taken."""

from __future__ import annotations

import resource
from pathlib import Path

from saitan.errors import Unavailable

CGROUP, STATUS = Path("/sys/fs/cgroup"), Path("/proc/self/status")
# A limit of this process (ulimit -v, ulimit -d) -> what counts towards it.
_LIMITS = {resource.RLIMIT_AS: "VmSize", resource.RLIMIT_DATA: "VmData"}
_UNITS = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def available_memory() -> int:
    """Bytes: what the system has available, or what the limit of a container (cgroup version 2) or of this process
    (ulimit) leaves, if less.
    """
    import psutil

    available = min(psutil.virtual_memory().available, _left_by_limits())
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


def _left_by_limits() -> float:
    limits = {name: resource.getrlimit(kind)[0] for kind, name in _LIMITS.items()}
    limits = {name: soft for name, soft in limits.items() if soft != resource.RLIM_INFINITY}
    if not limits or not STATUS.exists():
        return float("inf")
    held = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return min(max(0, soft - 1024 * int(held[name].split()[0])) for name, soft in limits.items())


def in_words(count: float) -> str:
    """Bytes as "1.5 GiB", "3.0 MiB" or "0.1 KiB"."""
    size, unit = next(((size, unit) for size, unit in _UNITS if count >= size), _UNITS[-1])
    return f"{count / size:,.1f} {unit}"


def check_room(needed: int, what: str, instead: str = "") -> None:
    """Raise Unavailable where `what`, a plural or with an article, takes more than the memory that is available.

    instead: what would work.
    """
    if needed > (available := available_memory()):
        raise Unavailable(
            f"{what}: {in_words(needed)} of memory are needed, {in_words(available)} are available"
            + (instead and f"; {instead}")
        )
