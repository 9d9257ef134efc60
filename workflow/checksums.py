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
    return _read().get(name, {}).get("sha256")


def forget(name: str) -> None:
    """The file of a name comes from elsewhere now."""
    known = _read()
    if known.pop(name, None):
        _write(known)


def checksum_of(name: str, path: Path, take: Callable[[Path], str]) -> str:
    """What `take` gives for a file, which is kept under a name."""
    known = _read()
    before, known[name] = known.get(name), _checked(path, known.get(name), take)
    if known[name] != before:
        _write(known)
    return known[name]["sha256"]


def _checked(path: Path, before: dict[str, Any] | None, take: Callable[[Path], str]) -> dict[str, Any]:
    """What is known of a file; its checksum is taken again where it is not the file of before."""
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


def _read() -> dict[str, dict[str, Any]]:
    try:
        known = json.loads(KNOWN.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) and all(isinstance(one, dict) for one in known.values()) else {}


def _write(known: dict[str, dict[str, Any]]) -> None:
    try:
        with beside(KNOWN) as path:
            path.write_text(json.dumps(known, indent=1), encoding="utf-8")
    except OSError:
        pass  # a folder that cannot be written: the next plan reads the files again
