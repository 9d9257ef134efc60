"""Where and with what a number was measured: what every sample row carries in the struct `provenance`."""

from __future__ import annotations

import os
import platform
import subprocess
from collections import Counter
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from saitan.ranks import Ranks, current

PACKAGES = (
    "saitan",
    "numpy",
    "scipy",
    "numba",
    "pyarrow",
    "mpi4py",
    "pycuda",
    "networkit",
    "pylibcugraph-cu13",
    "blosc2",
    "zfpy",
    "zstandard",
    "nvidia-nvcomp-cu13",
)


def provenance(backend: str, ranks: Ranks | None = None) -> dict[str, str | int | bool]:
    """Machine, package versions, commit, and the time now. For the backend cuda also the GPU, driver and clocks.

    Of several ranks: `hosts` has each one's host and device, "a: 2 x CPU; b: 1 x CPU".
    """
    columns: dict[str, str | int | bool] = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": platform.node(),
        "cpu": _cpu(),
        "python": platform.python_version(),
        "packages": " ".join(f"{name}={version}" for name in PACKAGES if (version := _version(name))),
        **_commit(),
    }
    if backend == "cuda":
        from saitan.cuda import describe

        columns |= describe()
    ranks = ranks or current()
    if ranks.size > 1:
        device = columns["gpu"] if backend == "cuda" else columns["cpu"]
        columns |= {"hosts": _hosts(ranks.each((columns["host"], device)))}
        columns |= {"mpi": ranks.library}
    return columns


def _hosts(found: list[tuple[str, str]]) -> str:
    """How many ranks a host has on each device."""
    return "; ".join(f"{host}: {count} x {device}" for (host, device), count in Counter(found).items())


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


# In the place of a commit outside a repository.
NO_COMMIT = "unknown"
# By which git takes another repository than that of a folder.
_OF_HOOKS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")


def _commit() -> dict[str, str | bool]:
    """The commit of the checkout that runs and whether tracked files differ from it; NO_COMMIT outside one.

    A repository that only lies around an installed copy, or that a hook of git names, is none.
    """
    here = {name: value for name, value in os.environ.items() if name not in _OF_HOOKS}

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(Path(__file__).parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10, env=here).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "--", Path(__file__).name)
        return {
            "commit": git("rev-parse", "HEAD"),
            "dirty": bool(git("status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)results")),
        }
    except (OSError, subprocess.SubprocessError):
        return {"commit": NO_COMMIT, "dirty": True}
