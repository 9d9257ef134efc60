"""What the rules ask about graphs and arrays: their files, and how each is fetched, converted or generated."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from saitan.workflow.arrays import Array
from saitan.workflow.config_model import Config
from saitan.workflow.graphs.catalogue import Downloaded, Generated, graph_files, graph_folder, keyed_sources, sources_of
from saitan.workflow.graphs.reach import graph_sources, local_copies, made_before, out_of_reach
from saitan.workflow.points import NO_GRAPH, RESULTS
from saitan.workflow.sources import Source


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
        graphs = [name for name, entry in self.entries.items() if isinstance(entry, Downloaded)]
        return self._to_be_made(graphs, self.entries, graph_sources(self.entries))

    @cached_property
    def made_graphs(self) -> set[str]:
        """Names of all graphs that a rule makes."""
        return {*self.generated, *self.downloaded}

    @cached_property
    def made_arrays(self) -> list[str]:
        """Names of the catalogue's arrays, but those whose file is out of reach and that are there."""
        return self._to_be_made(self.arrays, self.arrays, self.arrays.items())

    def _to_be_made(
        self, names: Iterable[str], entries: Mapping[str, Any], sources: Iterable[tuple[str, Source]]
    ) -> list[str]:
        kept = {name for name in out_of_reach(self.config, sources) if made_before(name, entries[name])}
        return [name for name in names if name not in kept]

    @staticmethod
    def any_of(names: list[str]) -> str:
        """A regular expression for these names and nothing else."""
        return "|".join(map(re.escape, names)) or "(?!)"

    @staticmethod
    def graph_folder(graph: str) -> str:
        return graph_folder(graph)

    @staticmethod
    def graph_files(graph: str) -> list[str]:
        return [] if graph == NO_GRAPH else graph_files(graph)

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

    def mirrors_of(self, name: str) -> list[str]:
        """The mirror's address for every file of a graph or array of which nothing says what it holds there."""
        entry, mirror = self.entries.get(name) or self.arrays[name], self.config.mirror
        if mirror is None or "://" not in mirror:
            return []
        sources = keyed_sources(name, entry).items()
        return [mirror for key, source in sources if source.sha256 is None and key not in self.contents]

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
        return _options({"--entry": self._without_what_is_shown(array, self.arrays[array], synthetic=None)})

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
