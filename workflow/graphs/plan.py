"""What the rules ask about graphs: their files, and how each is fetched, converted or generated."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from saitan.generators import GENERATORS
from saitan.workflow.config import Config, ConfigError
from saitan.workflow.graphs.catalogue import Downloaded, Generated, sources_of

RESULTS = "results"
# In the place of a graph's name where an experiment has none.
NO_GRAPH = "no-graph"


class GraphFiles:
    """The catalogue's side of a plan.

    entries: the catalogue; config: the run's configuration.
    """

    config: Config
    entries: Mapping[str, Downloaded | Generated]

    @property
    def generated(self) -> list[str]:
        """Names of all generated graphs of the catalogue."""
        return [name for name, entry in self.entries.items() if isinstance(entry, Generated)]

    @property
    def downloaded(self) -> list[str]:
        """Names of all downloaded graphs of the catalogue."""
        return [name for name, entry in self.entries.items() if isinstance(entry, Downloaded)]

    @staticmethod
    def any_of(names: list[str]) -> str:
        """A regular expression for these names and nothing else."""
        return "|".join(map(re.escape, names)) or "(?!)"

    @staticmethod
    def graph_folder(graph: str) -> str:
        return f"{RESULTS}/graphs/{graph}"

    def graph_files(self, graph: str) -> list[str]:
        if graph == NO_GRAPH:
            return []
        return [f"{self.graph_folder(graph)}/{name}.parquet" for name in ("vertices", "edges")]

    def graph_option(self, graph: str) -> str:
        return "" if graph == NO_GRAPH else f"--graph {shlex.quote(self.graph_folder(graph))}"

    def downloads_of(self, graph: str) -> list[str]:
        return [f"{RESULTS}/downloads/{source.filename}" for source in sources_of(self.entries[graph])]

    def fetch_settings(self, file: str) -> str:
        """Arguments of `saitan.workflow.graphs.fetch`."""
        source = next(s for name in self.downloaded for s in sources_of(self.entries[name]) if s.filename == file)
        return _options({"--url": source.address, "--sha256": source.sha256, "--mirror": self.config.mirror})

    def convert_settings(self, graph: str) -> str:
        """Arguments of `saitan.workflow.graphs.convert`."""
        files = self.downloads_of(graph)
        coordinates = files[1] if len(files) > 1 else None
        entry = self.entries[graph].model_dump_json()
        return _options({"--name": graph, "--entry": entry, "--input": files[0], "--coordinates": coordinates})

    def generate_settings(self, graph: str) -> str:
        """Arguments of `saitan.workflow.graphs.generate`."""
        return _options({"--name": graph, "--entry": self.entries[graph].model_dump_json()})

    def generator_modules(self, graph: str) -> list[str]:
        """The modules that a generated graph comes from: its generator's, and what generators share."""
        modules = {name: generator.path.split(":")[0].rpartition(".")[2] for name, generator in GENERATORS.items()}
        others = {"__init__", *modules.values()} - {modules[self.entries[graph].generator]}
        return [str(path) for path in sorted(Path("kernels/generators").glob("*.py")) if path.stem not in others]


def _options(options: Mapping[str, str | None]) -> str:
    return " ".join(f"{name} {shlex.quote(value)}" for name, value in options.items() if value)


def absent_graphs(config: Config, entries: Mapping[str, Downloaded | Generated]) -> dict[str, str]:
    """Graphs that cannot be fetched: a local mirror lacks a file, or only a mirror has it and none is set."""
    mirror = config.mirror
    folder = Path(mirror) if mirror is not None and "://" not in mirror else None
    if folder is not None and not folder.is_dir():
        raise ConfigError(f"mirror: {mirror} is no folder and no address (http://... or https://...)")
    absent = {}
    for name, source in ((name, source) for name, entry in entries.items() for source in sources_of(entry)):
        if folder is not None and not (folder / source.filename).exists():
            absent.setdefault(name, f"the mirror {mirror} has no {source.filename}")
        elif mirror is None and source.url is None:
            absent.setdefault(name, f"only a mirror has {source.filename}: set `mirror` to its folder or address")
    return absent
