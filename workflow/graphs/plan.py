"""What the rules ask about graphs and arrays: their files, and how each is fetched, converted or generated."""

from __future__ import annotations

import re
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from saitan.workflow.arrays import Array
from saitan.workflow.config import ConfigError
from saitan.workflow.config_model import Config
from saitan.workflow.graphs.catalogue import Downloaded, Generated, keyed_sources, sources_of
from saitan.workflow.points import NO_GRAPH, RESULTS
from saitan.workflow.sources import Source
from saitan.workflow.step import Failure


class GraphFiles:
    """The catalogues' side of a plan.

    entries: the catalogue of graphs; arrays: that of arrays; config: the run's configuration; contents: what the user's
    own files hold (contents.py).
    """

    config: Config
    entries: Mapping[str, Downloaded | Generated]
    arrays: Mapping[str, Array]
    contents: Mapping[str, str]

    @property
    def generated(self) -> list[str]:
        """Names of all generated graphs of the catalogue."""
        return [name for name, entry in self.entries.items() if isinstance(entry, Generated)]

    @property
    def downloaded(self) -> list[str]:
        """Names of the downloaded graphs of the catalogue, but those whose file is out of reach and that are there."""
        lacking = out_of_reach(self.config, graph_sources(self.entries))
        kept = [name for name in lacking if made_before(name, self.entries[name])]
        return [name for name, entry in self.entries.items() if isinstance(entry, Downloaded) and name not in kept]

    @cached_property
    def made_graphs(self) -> set[str]:
        """Names of all graphs that a rule makes."""
        return {*self.generated, *self.downloaded}

    @staticmethod
    def any_of(names: list[str]) -> str:
        """A regular expression for these names and nothing else."""
        return "|".join(map(re.escape, names)) or "(?!)"

    @staticmethod
    def graph_folder(graph: str) -> str:
        return f"{RESULTS}/graphs/{graph}"

    @staticmethod
    def graph_files(graph: str) -> list[str]:
        if graph == NO_GRAPH:
            return []
        return [f"{GraphFiles.graph_folder(graph)}/{name}.parquet" for name in ("vertices", "edges")]

    def graph_option(self, graph: str) -> str:
        return "" if graph == NO_GRAPH else f"--graph {shlex.quote(self.graph_folder(graph))}"

    @property
    def files(self) -> list[str]:
        """Names of all files that the catalogues' graphs and arrays are made from."""
        return [source.filename for source in self._sources.values()]

    def downloads_of(self, graph: str) -> list[str]:
        return [f"{RESULTS}/downloads/{source.filename}" for source in sources_of(self.entries[graph])]

    def fetch_settings(self, file: str) -> str:
        """Arguments of `saitan.workflow.graphs.fetch`.

        The mirror is among them where another may have another content: a file of a known SHA-256 is fetched once.
        """
        source = self._source(file)
        return fetch_options(source, None if source.sha256 else self.config.mirror)

    @property
    def mirror_setting(self) -> str:
        """What fetch is told of the mirror where `fetch_settings` does not, as an assignment for the shell."""
        return f"SAITAN_MIRROR={shlex.quote(self.config.mirror or '')}"

    def local_copies(self, file: str) -> list[str]:
        """The file of the mirror's folder that a download is a copy of: an input, so that a change of it is seen."""
        source = self._source(file)
        return [] if source.sha256 else local_copies(source, self.config.mirror)

    def content_of(self, file: str) -> str:
        """The checksum of the user's own file that a download is a copy of; nothing for other downloads."""
        return next((self.contents[key] for key in self._named(file) if key in self.contents), "")

    def contents_of(self, name: str) -> list[str | None]:
        """The checksums of all files of the user's own that a graph or array is made from; None of other files."""
        entry = self.entries.get(name) or self.arrays[name]
        return [self.contents.get(key) for key in keyed_sources(name, entry)]

    def _source(self, file: str) -> Source:
        return max(self._named(file).values(), key=lambda source: source.sha256 is not None)

    def _named(self, file: str) -> dict[str, Source]:
        """The sources of this file, by their keys."""
        return {key: source for key, source in self._sources.items() if source.filename == file}

    @cached_property
    def _sources(self) -> dict[str, Source]:
        """The files of all graphs and arrays, by their keys."""
        entries = (*self.entries.items(), *self.arrays.items())
        return {key: source for name, entry in entries for key, source in keyed_sources(name, entry).items()}

    def download_of_array(self, array: str) -> str:
        return f"{RESULTS}/downloads/{self.arrays[array].filename}"

    def convert_settings(self, graph: str) -> str:
        """Arguments of `saitan.workflow.graphs.convert`."""
        files = self.downloads_of(graph)
        coordinates = files[1] if len(files) > 1 else None
        entry = self._made_by(graph)
        return _options({"--name": graph, "--entry": entry, "--input": files[0], "--coordinates": coordinates})

    def generate_settings(self, graph: str) -> str:
        """Arguments of `saitan.workflow.graphs.generate`."""
        return _options({"--name": graph, "--entry": self._made_by(graph)})

    def _made_by(self, graph: str) -> str:
        """The entry, JSON, without what is only shown: another title makes no graph again."""
        return self._without_what_is_shown(graph, self.entries[graph], models=None)

    def unpack_settings(self, array: str) -> str:
        """Arguments of `saitan.workflow.arrays`."""
        return _options({"--entry": self._without_what_is_shown(array, self.arrays[array])})

    def _without_what_is_shown(self, name: str, entry: Any, **shown: None) -> str:
        known: dict[str, Any] = {"title": name, **shown}
        for key, source in keyed_sources(name, entry).items():
            if key in self.contents:
                told = {"sha256": self.contents[key]}
                known |= told if source is entry else {"coordinates": source.model_copy(update=told)}
        return entry.model_copy(update=known).model_dump_json()


def _options(options: Mapping[str, str | None]) -> str:
    return " ".join(f"{name} {shlex.quote(value)}" for name, value in options.items() if value)


def fetch_options(source: Source, mirror: str | None) -> str:
    """Arguments of `saitan.workflow.graphs.fetch` for the file of an entry."""
    named = source.file if source.url else None
    return _options({"--url": source.address, "--file": named, "--sha256": source.sha256, "--mirror": mirror})


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
    """Graphs and arrays that can neither be fetched nor were converted from what their entry says, and why."""
    graphs = out_of_reach(config, graph_sources(entries))
    absent = {name: reason for name, reason in graphs.items() if not made_before(name, entries[name])}
    return absent | out_of_reach(config, arrays.items())


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
        if not rest.strip("/"):
            raise ConfigError(f"mirror: {mirror} names no host")
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


def made_before(name: str, entry: Downloaded | Generated) -> bool:
    """Whether a graph's files are there, made as the entry says.

    By the same generator and parameters, or of the same address and content; and with the same options.
    """
    folder = Path(GraphFiles.graph_folder(name))
    if not all(Path(file).exists() for file in GraphFiles.graph_files(name)):
        return False
    from saitan.workflow.graphs.parquet import read_metadata

    try:
        found = read_metadata(folder)
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
