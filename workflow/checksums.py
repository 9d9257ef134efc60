"""What is known of files, kept from plan to plan: checksums of the user's own and of arrays, and whether those that
were written to since they were made are whole. What did not change is not read again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from saitan.files import beside
from saitan.workflow.points import RESULTS
from saitan.workflow.step import Failure

# Name of a file of the user's own, arrays/<file>, or path of one that was made -> the one that was last planned with:
# its path, size, times, and checksum or what was found.
KNOWN = Path(f"{RESULTS}/checksums.json")


def last_planned(name: str) -> str | None:
    """The checksum of the file of a name that was last planned with; None where there was none."""
    return read_known(KNOWN).get(name, {}).get("sha256")


def forget(name: str) -> None:
    """The file of a name comes from elsewhere now."""
    known = read_known(KNOWN)
    if known.pop(name, None):
        write_known(KNOWN, known)


def checksum_of(name: str, path: Path, take: Callable[[Path], str]) -> str:
    """What `take` gives for a file, which is kept under a name."""
    known = read_known(KNOWN)
    before, known[name] = known.get(name), checked(path, known.get(name), take)
    if known[name] != before:
        write_known(KNOWN, known)
    return known[name]["sha256"]


def checked(path: Path, before: dict[str, Any] | None, take: Callable[[Path], str]) -> dict[str, Any]:
    """What is known of a file: its path, size, times, and what `take` gives, again where it is not that of before."""
    status = path.stat()
    # The time of modification can be set back, as tar and rsync do; that of the change of the inode cannot.
    times = [status.st_mtime_ns, status.st_ctime_ns]
    now = {"path": str(path.resolve()), "size": status.st_size, "changed": times}
    if before is not None and {key: before.get(key) for key in now} == now and before.get("sha256"):
        return before
    try:
        return {**now, "sha256": take(path)}
    except (Failure, OSError):  # fetching it says why
        return {**now, "sha256": f"unreadable {status.st_mtime_ns}"}


def read_known(file: Path) -> dict[str, dict[str, Any]]:
    """What is kept in a file of these; nothing where it is not there or damaged."""
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) and all(isinstance(one, dict) for one in known.values()) else {}


def write_known(file: Path, known: dict[str, dict[str, Any]]) -> None:
    try:
        with beside(file) as path:
            path.write_text(json.dumps(known, indent=1), encoding="utf-8")
    except OSError:
        pass  # a folder that cannot be written: the next plan reads the files again
