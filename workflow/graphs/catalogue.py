"""The catalogue of graphs, config/graphs.yaml: a mapping of names to entries, downloaded or generated.

`python -m saitan.workflow.graphs.catalogue` prints the JSON schema that config/graphs.yaml names in its first line.
"""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    TypeAdapter,
    model_validator,
)

from saitan.generators import GENERATORS
from saitan.workflow.yaml_files import read_yaml

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Checksum = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Drawn(_Model):
    """Weights drawn uniformly from the integers low .. high, the same for both arcs of an undirected edge."""

    low: int = Field(ge=0, le=2**32 - 1)
    high: int = Field(ge=0, le=2**32 - 1)
    seed: int = Field(ge=0)

    @model_validator(mode="after")
    def _ascending(self) -> Drawn:
        if self.low > self.high:
            raise ValueError(f"low, {self.low}, must be at most high, {self.high}")
        return self


class _Graph(_Model):
    """What both kinds of entry share; the options are applied in the order of their fields."""

    title: str
    models: str | None = Field(None, description="The paper's graph that this one stands for.")
    drop_loops: bool = False
    symmetrise: bool = Field(False, description="Add every arc turned round.")
    merge_parallel: bool = Field(False, description="Of parallel arcs keep the least weight.")
    weights: Drawn | None = None
    largest_component: Literal["weak", "strong"] | None = None
    relabel: Literal["bfs", "degree"] | None = None


class _Source(_Model):
    """Where a file comes from.

    url   of its publisher; absent when only a mirror has it
    file  its name on a mirror; default: the last part of the url
    """

    url: Annotated[str, StringConstraints(pattern=r"^https?://[^/]+/.*[^/]$")] | None = None
    file: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$")] | None = None
    sha256: Checksum | None = Field(None, description="Of the decompressed content.")

    @model_validator(mode="after")
    def _findable(self):
        if self.url is None and self.file is None:
            raise ValueError("a url or a file is needed")
        return self

    @property
    def filename(self) -> str:
        """The file's name, whose suffix tells its compression."""
        return self.file or PurePosixPath(urlsplit(self.url).path).name

    @property
    def address(self) -> str:
        """What `fetch --url` takes: the url, or the name of a file that only a mirror has."""
        return self.url or self.filename


class Coordinates(_Source):
    """A DIMACS .co file."""


class Downloaded(_Source, _Graph):
    """A graph from a file."""

    format: Literal["dimacs", "pace", "snap", "matrix-market"]
    coordinates: Coordinates | None = None
    synthetic: str | None = Field(None, description="What about the graph is not real; needed where weights are drawn.")

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
    parameters: dict[str, bool | int | float]

    @model_validator(mode="after")
    def _known(self) -> Generated:
        if self.generator not in GENERATORS:
            raise ValueError(f"unknown generator {self.generator!r} (there are: {', '.join(GENERATORS)})")
        GENERATORS[self.generator].check(self.parameters)
        return self


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "generated" if "generator" in value else "downloaded"
    return "generated" if isinstance(value, Generated) else "downloaded"


Entry = Annotated[
    Annotated[Downloaded, Tag("downloaded")] | Annotated[Generated, Tag("generated")], Discriminator(_kind)
]
ENTRY: TypeAdapter[Downloaded | Generated] = TypeAdapter(Entry)
CATALOGUE: TypeAdapter[dict[str, Downloaded | Generated]] = TypeAdapter(dict[Name, Entry])


def load_catalogue(path: Path) -> dict[str, Downloaded | Generated]:
    """The entries of a catalogue by name.

    Raises Failure for a file that is no YAML or has a key twice, pydantic.ValidationError for entries that are wrong.
    """
    return CATALOGUE.validate_python(read_yaml(Path(path)) or {})


if __name__ == "__main__":
    print(json.dumps(CATALOGUE.json_schema(), indent=2))
