"""What the user's own files hold: by their checksums a plan tells numbers of an earlier content from those of this one.

A file that an entry gives a SHA-256 of needs none: fetching refuses another content.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saitan.workflow.arrays import Array
from saitan.workflow.checksums import checksum_of, forget, last_planned
from saitan.workflow.config_model import Config
from saitan.workflow.graphs.catalogue import Downloaded, Generated, graph_folder, keyed_sources
from saitan.workflow.graphs.reach import local_copies, made_before
from saitan.workflow.graphs.streams import checksum


def contents(
    config: Config, entries: Mapping[str, Downloaded | Generated], arrays: Mapping[str, Array]
) -> dict[str, str]:
    """Key of a file of a mirror's folder (keyed_sources) -> SHA-256 of its decompressed content.

    Without the folder it is that of the file which the converted graph, or the array, was made of; it is not known of
    what a publisher or a mirror with an address has, which may be another one. A file that did not change since the
    last plan is not read again.
    """
    found = {}
    for name in dict.fromkeys(name for e in config.experiments.values() for name in (*e.graphs, *e.arrays)):
        entry = entries.get(name) or arrays.get(name)
        for key, source in keyed_sources(name, entry).items() if entry else ():
            if source.sha256 is not None:
                continue
            if copies := local_copies(source, config.mirror):
                found[key] = checksum_of(source.filename, Path(copies[0]), checksum)
            elif "://" in (source.address if config.mirror is None else config.mirror):
                forget(source.filename)
            elif (planned := last_planned(source.filename)) and made_before(name, entry):
                told = planned
                if name in entries:
                    told = _converted(name).get("checksum" if source is entry else "coordinates_checksum")
                found |= {key: told} if told else {}
    return found


def _converted(graph: str) -> dict[str, Any]:
    from saitan.workflow.graphs.parquet import read_metadata

    return read_metadata(Path(graph_folder(graph)))
