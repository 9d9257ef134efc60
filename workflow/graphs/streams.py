"""Decompressed content of .gz, .xz, .zst and plain files, as blocks, with its line numbers and checksum."""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from saitan.workflow.step import Failure

_CODECS = {".gz": "gzip", ".zst": "zstd"}
_CHUNK = 1 << 20


def _open(path: Path, suffix: str) -> BinaryIO:
    """The decompressed content. Reading raises OSError, EOFError or lzma.LZMAError."""
    if suffix == ".xz":
        return lzma.open(path)
    raw = path.open("rb")
    if suffix not in _CODECS:
        return raw
    import pyarrow

    return pyarrow.CompressedInputStream(pyarrow.PythonFile(raw), _CODECS[suffix])


def chunks(path: Path, suffix: str | None = None) -> Iterator[bytes]:
    """The content piece by piece, decompressed as the suffix (of the path, if None) says.

    Raises Failure for a damaged or truncated compressed file.
    """
    suffix = path.suffix if suffix is None else suffix
    with _open(path, suffix) as stream:
        while True:
            try:
                chunk = stream.read(_CHUNK)
            except (OSError, EOFError, lzma.LZMAError) as error:
                if isinstance(error, OSError) and error.errno:
                    raise
                line = 1 + _readable_lines(path, suffix)
                raise Failure(
                    f"{path}: line {line}: the {suffix[1:]} stream is truncated or damaged from here on "
                    f"({error}): fetch the whole file again"
                ) from error
            if not chunk:
                return
            yield chunk


def _readable_lines(path: Path, suffix: str) -> int:
    """Whole lines before the point where decompression fails, found by reading in small steps."""
    lines = 0
    with _open(path, suffix) as stream:
        while True:
            try:
                lines += stream.read(256).count(b"\n")
            except (OSError, EOFError, lzma.LZMAError):
                return lines


def checksum(path: Path, suffix: str | None = None) -> str:
    """SHA-256 of the decompressed content, hexadecimal. Raises Failure when it cannot be decompressed."""
    digest = hashlib.sha256()
    for chunk in chunks(path, suffix):
        digest.update(chunk)
    return digest.hexdigest()


class Blocks:
    """Iterates over (number of the first line, bytes of whole lines); the checksum is known at the end.

    checksum  SHA-256 of the decompressed content, hexadecimal, once iterated to the end
    lines     number of lines so far
    """

    def __init__(self, path: Path, size: int = 16 << 20) -> None:
        self.path = path
        self.size = size
        self.lines = 0
        self.checksum: str | None = None

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        digest = hashlib.sha256()
        held: list[bytes] = []
        for chunk in chunks(self.path):
            digest.update(chunk)
            cut = chunk.rfind(b"\n") + 1
            if cut and sum(map(len, held)) + cut >= self.size:
                yield self._numbered(b"".join((*held, chunk[:cut])))
                held = [chunk[cut:]]
            else:
                held.append(chunk)
        if last := b"".join(held):
            yield self._numbered(last)
        self.checksum = digest.hexdigest()

    def _numbered(self, block: bytes) -> tuple[int, bytes]:
        first = self.lines + 1
        self.lines += block.count(b"\n") + (not block.endswith(b"\n"))
        return first, block
