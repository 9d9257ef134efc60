"""What the user's own files hold: by their checksums a plan tells numbers of an earlier content from those of this one.

A file that an entry gives a SHA-256 of needs none: fetching refuses another content.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from saitan.files import beside
from saitan.workflow.arrays import Array
from saitan.workflow.config_model import Config
from saitan.workflow.graphs.catalogue import Downloaded, Generated, keyed_sources
from saitan.workflow.graphs.plan import GraphFiles, local_copies, made_before
from saitan.workflow.graphs.streams import checksum
from saitan.workflow.points import RESULTS
from saitan.workflow.step import Failure

# Name of a file, or arrays/<file> -> the one that was last planned with: its path, size, times and checksum.
KNOWN = Path(f"{RESULTS}/checksums.json")


def contents(
    config: Config, entries: Mapping[str, Downloaded | Generated], arrays: Mapping[str, Array]
) -> dict[str, str]:
    """Key of a file of a mirror's folder (keyed_sources) -> SHA-256 of its decompressed content.

    Without the folder it is that of the file which the converted graph was made of. A file that did not change since
    the last plan is not read again.
    """
    known = _read()
    before, found = dict(known), {}
    for name in dict.fromkeys(name for e in config.experiments.values() for name in (*e.graphs, *e.arrays)):
        entry = entries.get(name) or arrays.get(name)
        for key, source in keyed_sources(name, entry).items() if entry else ():
            if source.sha256 is not None:
                continue
            if copies := local_copies(source, config.mirror):
                known[source.filename] = _checked(Path(copies[0]), known.get(source.filename), checksum)
                found[key] = known[source.filename]["sha256"]
            elif source.filename in known and name in entries and made_before(name, entry):
                told = _converted(name).get("checksum" if source is entry else "coordinates_checksum")
                found |= {key: told} if told else {}
    if known != before:
        _write(known)
    return found


def holds(path: Path, entry: Array, content: str | None) -> bool:
    """Whether the file of a catalogue's array has this content (a SHA-256; None is any)."""
    if content is None:
        return True
    known, name = _read(), f"arrays/{path.name}"
    before, known[name] = known.get(name), _checked(path, known.get(name), entry.checksum)
    if known[name] != before:
        _write(known)
    return known[name]["sha256"] == content


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


def _converted(graph: str) -> dict[str, Any]:
    from saitan.workflow.graphs.parquet import read_metadata

    return read_metadata(Path(GraphFiles.graph_folder(graph)))


def _read() -> dict[str, dict[str, Any]]:
    try:
        known = json.loads(KNOWN.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) and all(isinstance(one, dict) for one in known.values()) else {}


def _write(known: dict[str, dict[str, Any]]) -> None:
    try:
        with beside(KNOWN) as path:
            path.write_text(json.dumps(known, indent=1))
    except OSError:
        pass  # a folder that cannot be written: the next plan reads the files again
