"""The catalogue of graphs, config/graphs.yaml: a mapping of names to entries, downloaded or generated.

`python -m saitan.workflow.graphs.catalogue` prints the JSON schema that config/graphs.yaml names in its first line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, TypeAdapter, ValidationInfo, field_validator, model_validator

from saitan.generators import GENERATORS
from saitan.workflow.points import RESULTS
from saitan.workflow.sources import Model, Name, Source, refuse_clashes
from saitan.workflow.yaml_files import Text, Title, read_checked


class Drawn(Model):
    """Weights drawn uniformly from the integers low .. high, the same for both arcs of an undirected edge."""

    low: int = Field(strict=True, ge=0, le=2**32 - 1)
    high: int = Field(strict=True, ge=0, le=2**32 - 1)
    seed: int = Field(strict=True, ge=0)

    @model_validator(mode="after")
    def _ascending(self) -> Drawn:
        if self.low > self.high:
            raise ValueError(f"low, {self.low}, must be at most high, {self.high}")
        return self


class _Graph(Model):
    """What both kinds of entry share; the options are applied in the order of their fields."""

    title: Title
    models: str | None = Field(None, description="The paper's graph that this one stands for.")
    drop_loops: bool = False
    symmetrise: bool = Field(False, description="Add every arc turned round, where the file is directed.")
    merge_parallel: bool = Field(False, description="Of parallel arcs keep the least weight.")
    weights: Drawn | None = None
    largest_component: Literal["weak", "strong"] | None = None
    relabel: Literal["bfs", "degree"] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options that are set, as they stand in the metadata."""
        return self.model_dump(include=_Graph.model_fields.keys() - {"title", "models"}, exclude_defaults=True)


class Coordinates(Source):
    """A DIMACS .co file."""


class Downloaded(Source, _Graph):
    """A graph from a file."""

    format: Literal["dimacs", "pace", "snap", "matrix-market"]
    coordinates: Coordinates | None = None
    synthetic: Text | None = Field(
        None, description="What about the graph is not real; needed where weights are drawn."
    )

    @model_validator(mode="after")
    def _honest(self) -> Downloaded:
        if self.weights and not self.synthetic:
            raise ValueError("weights are drawn: a note under `synthetic` must say so")
        if self.coordinates and self.format != "dimacs":
            raise ValueError("coordinates go with the format dimacs only")
        return self


class Generated(_Graph):
    """A graph from one of saitan.generators."""

    generator: str
    parameters: dict[str, bool | int | float | str]

    @model_validator(mode="after")
    def _known(self) -> Generated:
        if self.generator not in GENERATORS:
            raise ValueError(f"unknown generator {self.generator!r} (there are: {', '.join(GENERATORS)})")
        GENERATORS[self.generator].check(self.parameters)
        return self

    @field_validator("parameters")
    @classmethod
    def _in_order(cls, parameters: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        """As declared: in another order they are no other graph."""
        generator = GENERATORS.get(info.data.get("generator"))
        known = generator.known if generator else {}
        return {name: parameters[name] for name in known if name in parameters} | parameters


def _kind(value: Any) -> str | None:
    """None for an entry of both kinds."""
    if isinstance(value, dict):
        made = {"generator", "parameters"} & set(value)
        return None if made and {"url", "file", "format"} & set(value) else "generated" if made else "downloaded"
    return "generated" if isinstance(value, Generated) else "downloaded"


Entry = Annotated[
    Annotated[Downloaded, Tag("downloaded")] | Annotated[Generated, Tag("generated")],
    Discriminator(
        _kind,
        custom_error_type="both_kinds",
        custom_error_message="keys of a file and of a generator: `generator` and `parameters` are right, or `url` or"
        " `file`, and `format`",
    ),
]
ENTRY: TypeAdapter[Downloaded | Generated] = TypeAdapter(Entry)
CATALOGUE: TypeAdapter[dict[str, Downloaded | Generated]] = TypeAdapter(dict[Name, Entry])


def load_catalogue(path: Path) -> dict[str, Downloaded | Generated]:
    """The entries of a catalogue by name.

    Raises Failure, with the line, for a file that is no YAML, has a key twice, or an entry that is wrong.
    """
    entries = read_checked(Path(path), CATALOGUE, {})
    refuse_clashes(path, named_sources(entries))
    return entries


def graph_folder(name: str) -> str:
    """Where a graph of the catalogue lies."""
    return f"{RESULTS}/graphs/{name}"


def graph_files(name: str) -> list[str]:
    """Its files."""
    return [f"{graph_folder(name)}/{part}.parquet" for part in ("vertices", "edges")]


def sources_of(entry: Source | Generated) -> list[Source]:
    """The files that an entry, of a graph or an array, is made from."""
    if isinstance(entry, Generated):
        return []
    return [entry, *([entry.coordinates] if getattr(entry, "coordinates", None) else [])]


def keyed_sources(name: str, entry: Source | Generated) -> dict[str, Source]:
    """The files of a graph or array: its own by its name, one of coordinates by name/coordinates."""
    return dict(zip((name, f"{name}/coordinates"), sources_of(entry), strict=False))


def named_sources(entries: Mapping[str, Downloaded | Generated]) -> Iterator[tuple[str, Source]]:
    """The files of all entries, each with its keys in the catalogue: "map" and "map.coordinates"."""
    for name, entry in entries.items():
        yield from ((key.replace("/", "."), source) for key, source in keyed_sources(name, entry).items())


if __name__ == "__main__":
    print(json.dumps(CATALOGUE.json_schema(), indent=2))
