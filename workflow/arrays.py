"""Step: a fetched file of numbers to .npy, by its entry in config/arrays.yaml.

An entry names a file (plain, .gz, .xz or .zst) of numbers, one behind the other in little-endian order, or a .npy file.
`python -m saitan.workflow.arrays --schema` prints the JSON schema that config/arrays.yaml names in its first line.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from math import prod
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

import numpy as np
from pydantic import Field, TypeAdapter

from saitan.files import beside
from saitan.workflow.checksums import checksum_of
from saitan.workflow.graphs.streams import NPY, check_content, check_numbers, chunks, of_copies
from saitan.workflow.points import RESULTS
from saitan.workflow.sources import Name, Source, refuse_clashes
from saitan.workflow.step import Failure, run_step
from saitan.workflow.yaml_files import Text, Title, read_checked

CONFIG = Path("config/arrays.yaml")


class Array(Source):
    """An array from a file."""

    title: Title
    dtype: Literal["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"] = (
        Field(description="Type of its numbers.")
    )
    shape: tuple[Annotated[int, Field(strict=True, gt=0)], ...] | None = Field(
        None,
        min_length=1,
        description="Rows first, the last index fastest; absent: that of a .npy file, raw numbers in one dimension.",
    )
    format: Literal["raw", "npy"] = Field("raw", description="raw: little-endian numbers and nothing else.")
    synthetic: Text | None = Field(None, description="What about the array is not real.")

    def is_in(self, path: Path, content: str | None) -> bool:
        """Whether a .npy file has this entry's type and shape, and was made of this content (SHA-256; None is any)."""
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return False
        right = self.format == "npy" or array.ndim == 1 if self.shape is None else array.shape == self.shape
        if array.dtype != self.dtype or not right:
            return False
        return content is None or checksum_of(f"arrays/{path.name}", path, self._checksum) == content

    def _checksum(self, path: Path) -> str:
        """The SHA-256 of what a .npy file was made of. Raises OSError or ValueError for one that is none."""
        with path.open("rb") as file:
            if self.format == "raw":
                np.lib.format.read_magic(file)
                np.lib.format.read_array_header_1_0(file)
            return hashlib.file_digest(file, "sha256").hexdigest()


ENTRY: TypeAdapter[Array] = TypeAdapter(Array)
CATALOGUE: TypeAdapter[dict[str, Array]] = TypeAdapter(dict[Name, Array])


def array_file(name: str) -> str:
    """Where an array of the catalogue lies."""
    return f"{RESULTS}/arrays/{name}.npy"


def load_arrays(path: Path = CONFIG) -> dict[str, Array]:
    """The entries by name. Raises Failure, with the line, for a file that is no YAML or an entry that is wrong."""
    entries = read_checked(Path(path), CATALOGUE, {})
    refuse_clashes(path, entries.items())
    return entries


def convert(entry: Array, path: Path, output: Path) -> None:
    """Write the array of a file as .npy, beside its place and renamed.

    Raises Failure naming the file for a wrong checksum, size, type or shape, and for damaged files.
    """
    with beside(output) as part:
        if entry.format == "npy":
            with part.open("wb") as file:
                _copy(entry, path, file)
            _check_npy(entry, path, part)
            return
        check_numbers(path, next(chunks(path), b""))
        size = sum(map(len, chunks(path)))
        dtype = np.dtype(entry.dtype).newbyteorder("<")
        count, rest = divmod(size, dtype.itemsize)
        if rest or not count:
            raise Failure(f"{path}: {size} bytes are no whole number of {entry.dtype}, at least one: truncated?")
        shape = entry.shape or (count,)
        if prod(shape) != count:
            raise Failure(f"{path}: {count} numbers do not fill the shape {shape}, which takes {prod(shape)}")
        with part.open("wb") as file:
            header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            _copy(entry, path, file)


def _copy(entry: Array, path: Path, file: BinaryIO) -> None:
    """Append the decompressed content. Raises Failure when it is not the entry's."""
    digest = hashlib.sha256()
    for chunk in chunks(path):
        digest.update(chunk)
        file.write(chunk)
    check_content(path, digest.hexdigest(), entry.sha256)


def _check_npy(entry: Array, path: Path, part: Path) -> None:
    with part.open("rb") as file:
        begins = file.read(len(NPY))
    if begins.startswith(b"PK"):
        raise Failure(f"{path}: an archive, as of numpy.savez: numpy.save of one of its arrays is right")
    if begins != NPY:
        raise Failure(f"{path}: not a .npy file: `format: raw` is right for numbers one behind the other")
    try:
        array = np.load(part, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        if "mmap length" in str(error):
            raise Failure(
                f"{path}: cut short: its header announces more than its {part.stat().st_size:,} bytes"
            ) from error
        raise Failure(f"{path}: not a .npy file of numbers: {str(error).partition(chr(10))[0]}") from error
    if array.dtype != np.dtype(entry.dtype).newbyteorder("<"):
        raise Failure(
            f"{path}: it holds {array.dtype.str}: {entry.dtype} in little-endian order is right, as its entry says"
        )
    if not array.ndim or not array.size:
        raise Failure(f"{path}: its shape is {array.shape}: one dimension or more, and at least one number, is right")
    if entry.shape is not None and array.shape != entry.shape:
        raise Failure(f"{path}: its shape is {array.shape}: {entry.shape} is right, as its entry says")
    if not array.flags.c_contiguous:
        raise Failure(f"{path}: its first index runs fastest: numpy.ascontiguousarray before saving is right")


def main(arguments: argparse.Namespace) -> None:
    with of_copies(arguments.input):
        convert(ENTRY.validate_json(arguments.entry), arguments.input, arguments.output)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m saitan.workflow.arrays", description=__doc__)
    parser.add_argument("--entry", required=True, help="the entry, JSON")
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True, help="the .npy file")
    return parser


if __name__ == "__main__":
    if sys.argv[1:] == ["--schema"]:
        print(json.dumps(CATALOGUE.json_schema(), indent=2))
    else:
        run_step(main, parser())
