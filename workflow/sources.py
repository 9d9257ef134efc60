"""Where the files of a catalogue's entries come from: what graphs.yaml and arrays.yaml share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from saitan.workflow.points import NO_GRAPH
from saitan.workflow.step import Failure
from saitan.workflow.yaml_files import worded


def _not_reserved(name: str) -> str:
    if name == NO_GRAPH:
        raise ValueError(f"{name} stands in paths where there is no graph; give it another name")
    return name


Name = Annotated[
    worded(
        r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}",
        "a name: ASCII letters, digits, '.', '_' and '-', a letter or digit first, 100 at most",
    ),
    AfterValidator(_not_reserved),
]
Checksum = worded("[0-9a-f]{64}", "a SHA-256: 64 digits from 0 to 9 and a to f")
Address = worded(
    r"https?://[^/\s\x00-\x1f]+/[^\s\x00-\x1f]*[^/\s\x00-\x1f]",
    "the address of a file, http://... or https://...",
)
FileName = worded(
    r"[A-Za-z0-9_-]([A-Za-z0-9._ -]{0,198}[A-Za-z0-9._-])?",
    "the name of a file: ASCII letters, digits, '.', '_', '-' and spaces within, no folder",
)


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(Model):
    """Where a file comes from.

    url   of its publisher; absent when only a mirror has it
    file  its name on a mirror and here; default: the last part of the url
    """

    url: Address | None = None
    file: FileName | None = None
    sha256: Checksum | None = Field(None, description="Of the decompressed content.")

    @model_validator(mode="after")
    def _findable(self):
        if self.url is None and self.file is None:
            raise ValueError("a url or a file is needed")
        if self.file is None:
            try:
                TypeAdapter(FileName).validate_python(self.filename)
            except ValidationError:
                raise ValueError(f"the url ends in {self.filename!r}: give a plain name under `file`") from None
        return self

    @property
    def filename(self) -> str:
        """The file's name, whose suffix tells its compression."""
        return self.file or PurePosixPath(urlsplit(self.url).path).name

    @property
    def address(self) -> str:
        """What `fetch --url` takes: the url, or the name of a file that only a mirror has.

        Braces, which Snakemake would take for wildcards, are written as the standard for addresses has them.
        """
        return self.url.replace("{", "%7B").replace("}", "%7D") if self.url else self.filename


def origin_of(address: str) -> str:
    """Where data come from in words, by an address as entries have it; "" where only this is known, that they do."""
    return f"from the file {address}" if address and "://" not in address else "downloaded"


def refuse_clashes(path: Path | str, sources: Iterable[tuple[str, Source]]) -> None:
    """Raise Failure where files of one name are to come from different places, or with different content.

    path: the catalogue, or the catalogues; sources: each with the name of its entry. A publisher's file of which an
    entry says no content has that of the others.
    """
    seen: dict[str, tuple[str, Source]] = {}
    for name, source in sources:
        other, same = seen.setdefault(source.filename, (name, source))
        if same.sha256 is None:
            seen[source.filename] = (name, source)
        contents = {same.sha256, source.sha256} - ({None} if source.url else set())
        if same.address != source.address or len(contents) > 1:
            raise Failure(
                f"{path}: {other} and {name} both name the file {source.filename}, but differ in url or sha256: "
                "give one of them another name under `file`"
            )
