"""Which graphs and arrays can be had: by fetching them, or because they were made before.

What was made before is used while its file is out of reach.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from saitan.workflow.arrays import Array, array_file
from saitan.workflow.checksums import last_planned
from saitan.workflow.config import ConfigError
from saitan.workflow.config_model import Config
from saitan.workflow.graphs.catalogue import Downloaded, Generated, graph_files, graph_folder, sources_of
from saitan.workflow.sources import Source
from saitan.workflow.step import Failure


def local_copies(source: Source, mirror: str | None) -> list[str]:
    """The mirror's own file, where the mirror is a folder that has it."""
    if mirror is None or "://" in mirror or _lacking(Path(mirror) / source.filename, stat.S_ISREG) is not None:
        return []
    return [str(Path(mirror) / source.filename)]


def graph_sources(entries: Mapping[str, Downloaded | Generated]) -> Iterator[tuple[str, Source]]:
    """The files of the catalogue's graphs, each with the name of its graph."""
    return ((name, source) for name, entry in entries.items() for source in sources_of(entry))


def absent_data(
    config: Config, entries: Mapping[str, Downloaded | Generated], arrays: Mapping[str, Array]
) -> dict[str, str]:
    """Graphs and arrays that can neither be fetched nor were made of what their entry says, and why."""
    reasons = out_of_reach(config, (*graph_sources(entries), *arrays.items()))
    known = {**entries, **arrays}
    return {name: reason for name, reason in reasons.items() if not made_before(name, known[name])}


def out_of_reach(config: Config, sources: Iterable[tuple[str, Source]]) -> dict[str, str]:
    """What cannot be fetched: a local mirror lacks a file, or only a mirror has it and none is set.

    Raises ConfigError for a mirror that is neither a folder nor an address.
    """
    mirror = config.mirror
    folder = Path(mirror) if mirror is not None and "://" not in mirror else None
    if mirror is not None and folder is None:
        scheme, _, rest = mirror.partition("://")
        if scheme.lower() not in ("http", "https"):
            raise ConfigError(
                f"mirror: {mirror}: {scheme}:// is not understood: a folder, http:// or https:// is right"
            )
        if not rest.strip("/") or re.search(r"\s", rest.partition("/")[0]):
            raise ConfigError(f"mirror: {mirror} names no host")
        try:
            _ = urlsplit(mirror).port  # read for what it raises
        except ValueError as error:
            raise ConfigError(f"mirror: {mirror} is no address: {error}") from None
    if folder is not None and (reason := _lacking(folder, stat.S_ISDIR)) is not None:
        why = f": {reason}" if reason else ""
        raise ConfigError(f"mirror: {mirror} is no folder and no address (http://... or https://...){why}")
    if folder is not None and set("{}") & set(mirror):
        raise ConfigError(f"mirror: {mirror}: Snakemake takes braces for wildcards: a folder without them is right")
    reasons = {}
    for name, source in sources:
        if folder is not None and (reason := _lacking(folder / source.filename, stat.S_ISREG)) is not None:
            why = f": {reason}" if reason else ""
            reasons.setdefault(name, f"the mirror {mirror} has no {source.filename}{why}")
        elif mirror is None and source.url is None:
            reasons.setdefault(name, f"only a mirror has {source.filename}: set `mirror` to its folder or address")
    return reasons


def _lacking(path: Path, right: Callable[[int], bool]) -> str | None:
    """None where a path has the right mode, otherwise why the system cannot tell its mode; "" where it could."""
    try:
        return None if right(path.stat().st_mode) else ""
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:  # a name too long, a folder without the right to look into it
        return error.strerror


def made_before(name: str, entry: Downloaded | Generated | Array) -> bool:
    """Whether the files of a graph or an array are there, made as the entry says.

    By the same generator and parameters, or of the same address and content; and with the same options. An array says
    nothing of itself: it is known by its content.
    """
    if isinstance(entry, Array):
        content = entry.sha256 or last_planned(entry.filename)
        return content is not None and entry.is_in(Path(array_file(name)), content)
    if not all(Path(file).exists() for file in graph_files(name)):
        return False
    from saitan.workflow.graphs.parquet import read_metadata

    try:
        found = read_metadata(Path(graph_folder(name)))
    except (Failure, OSError):
        return False
    if isinstance(entry, Generated):
        given = {name: value for name, value in entry.parameters.items() if name != "seed"}
        wanted = {"generator": entry.generator, "parameters": given, "seed": entry.parameters["seed"]}
    else:
        wanted = {"origin": entry.address, "format": entry.format}
        if entry.sha256 is not None:
            wanted["checksum"] = entry.sha256
    return all(found.get(key, {}) == value for key, value in (wanted | {"options": entry.options}).items())
