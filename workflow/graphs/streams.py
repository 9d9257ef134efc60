"""Decompressed content of .gz, .xz, .zst and plain files, as blocks, with its line numbers and checksum."""

from __future__ import annotations

import contextlib
import filecmp
import gzip
import hashlib
import lzma
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from saitan.workflow.step import Failure

_CHUNK = 1 << 20
# What decompression raises.
_DAMAGED = (OSError, EOFError, lzma.LZMAError, zlib.error)
# How the content of a compressed file begins.
_MAGIC = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\x00", ".zst": b"\x28\xb5\x2f\xfd"}
# How the content of a file that is no plain text begins, what that is, and what would be right.
_BEGINS = {
    **{magic: (f"compressed, {suffix}", f"a name that ends in {suffix} is right") for suffix, magic in _MAGIC.items()},
    b"BZh": ("compressed by bzip2", "plain, .gz, .xz or .zst is right: bunzip2 unpacks it"),
    b"PK\x03\x04": (
        "a zip archive",
        "plain, .gz, .xz or .zst is right: unzip it, or where it is SciPy's .npz, scipy.io.mmwrite makes a file of it",
    ),
    b"PAR1": ("a Parquet file", "the folder of both files that saitan writes is read, or plain text"),
    b"\x93NUMPY": ("a NumPy array", "Graph.from_arcs takes arrays"),
    b"\xff\xfe": ("UTF-16", "UTF-8 is right"),
    b"\xfe\xff": ("UTF-16", "UTF-8 is right"),
    b"\0": ("binary", "text is right"),
    **dict.fromkeys(
        (b"<?xml", b"<graphml", b"<gexf", b"<osm"),
        ("XML", "GraphML and GEXF are read by networkx, OSM by osmnx: give its graph to Graph.from_networkx"),
    ),
    b"<": ("a page of the web", "the file itself is right: fetch it again"),
}
NPY = b"\x93NUMPY"
_UTF8 = b"\xef\xbb\xbf"
# Of these no raw numbers begin with: four bytes or more.
_PACKED = re.compile(rb"\xfd7zXZ\x00|\x28\xb5\x2f\xfd|\x1f\x8b\x08[\x00-\x1f]|BZh[1-9]1AY&SY|PK\x03\x04|PAR1")


def _pieces(path: Path, suffix: str, size: int) -> Iterator[bytes]:
    """The decompressed content in pieces of at most `size`. Raises one of _DAMAGED."""
    with path.open("rb") as raw:
        if suffix == ".xz":
            yield from filter(None, _unpacked_xz(raw, size))
            return
        stream: Any = raw
        if suffix == ".gz":
            # What comes before damage is read: read() would go on to it.
            yield from iter(partial(gzip.GzipFile(fileobj=raw).read1, size), b"")
            return
        if suffix == ".zst":
            import pyarrow

            stream = pyarrow.CompressedInputStream(pyarrow.PythonFile(raw), "zstd")
        yield from iter(lambda: stream.read(size), b"")


def _unpacked_xz(raw: BinaryIO, size: int) -> Iterator[bytes]:
    """All streams of a file; lzma.open ends without a word at padding after one, and at what is damaged there."""
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ)
    while packed := raw.read(size):
        while packed or not (decoder.needs_input or decoder.eof):
            if decoder.eof:
                if not (packed := packed.lstrip(b"\0")):
                    break
                decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ)
            yield decoder.decompress(packed, size)
            packed = decoder.unused_data
    if not decoder.eof:
        raise EOFError("the file ends before its last stream does")


def chunks(path: Path, suffix: str | None = None) -> Iterator[bytes]:
    """The content piece by piece, decompressed as the suffix (of the path, if None) says.

    Raises Failure for a damaged or truncated compressed file.
    """
    suffix = path.suffix if suffix is None else suffix
    if suffix in _MAGIC and not _begin(path):
        raise Failure(f"{path}: the file is empty")
    pieces = _pieces(path, suffix, _CHUNK)
    while True:
        try:
            piece = next(pieces, b"")
        except _DAMAGED as error:
            if isinstance(error, OSError) and error.errno:
                raise
            if not _begin(path).startswith(_MAGIC[suffix]):
                raise Failure(
                    f"{path}: its name ends in {suffix}, but its content is nothing of that kind: fetch the whole "
                    "file again, or name it for what it is"
                ) from error
            raise Failure(
                f"{path}: {_readable(path, suffix)}the {suffix[1:]} stream is truncated or damaged "
                f"({error}): fetch the whole file again"
            ) from error
        if not piece:
            return
        yield piece


def _begin(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(8)


def _readable(path: Path, suffix: str) -> str:
    """The line of a text where decompression fails ("line 3: "), found by reading in small steps; of others nothing."""
    lines, text = 1, False
    with contextlib.suppress(*_DAMAGED):
        for piece in _line_feeds(_pieces(path, suffix, 256)):
            lines, text = lines + piece.count(b"\n"), b"\0" not in piece
            if not text:
                break
    return f"line {lines}: " if text else ""


def _line_feeds(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces of a text with every end of a line (CR LF, CR, LF) as LF."""
    held = b""
    for piece in pieces:
        if held or b"\r" in piece:
            piece, held = held + piece, b""
            if piece.endswith(b"\r"):  # perhaps half of CR LF
                piece, held = piece[:-1], b"\r"
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        yield piece
    if held:
        yield b"\n"


def begun(path: Path, content: bytes) -> bytes:
    """The first of a text's content, without UTF-8's mark. Raises Failure that says what the file is where it is none.

    What is compressed is told by its content: the name said nothing of it.
    """
    text = content.removeprefix(_UTF8)
    if not text:
        raise Failure(f"{path}: the file is empty")
    for begin, (kind, right) in _BEGINS.items():
        if text.startswith(begin):
            raise Failure(f"{path}: the file is {kind}: {right}")
    return text


def check_numbers(path: Path, content: bytes) -> None:
    """Raise Failure where what should be raw numbers begins like a file of another kind."""
    if content.startswith(NPY):
        raise Failure(f"{path}: the file is a NumPy array: `format: npy` is right")
    if _PACKED.match(content):
        begun(path, content)


def checksum(path: Path, suffix: str | None = None) -> str:
    """SHA-256 of the decompressed content, hexadecimal. Raises Failure when it cannot be decompressed."""
    digest = hashlib.sha256()
    for chunk in chunks(path, suffix):
        digest.update(chunk)
    return digest.hexdigest()


def check_content(path: Path, found: str, right: str | None) -> None:
    """Raise Failure where the SHA-256 of a file's decompressed content is not the right one; None is any."""
    if right not in (None, found):
        raise Failure(f"{path}: its decompressed content has the SHA-256 {found}, but {right} is right")


@contextlib.contextmanager
def of_copies(*paths: Path | None) -> Iterator[None]:
    """Says of a Failure about one of these files, which were fetched, how it is fetched again."""
    try:
        yield
    except Failure as error:
        for path in filter(None, paths):
            if str(error).startswith(f"{path}: "):
                raise Failure(f"{error} ({_again(path)})") from error
        raise


def _again(copy: Path) -> str:
    """How a fetched file is fetched again: from a mirror's folder by itself, once what it is a copy of is another."""
    mirror = os.environ.get("SAITAN_MIRROR", "")
    source = Path(mirror, copy.name)
    with contextlib.suppress(OSError):
        if mirror and filecmp.cmp(copy, source, shallow=False):
            return f"a copy of {source}: once that is right, the next call takes it"
    return "it is fetched again once this copy is removed"


class Blocks:
    """Iterates over (number of the first line, whole lines, which end in LF); the checksum is known at the end.

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
        for chunk in _line_feeds(self._text(digest)):
            cut = chunk.rfind(b"\n") + 1
            if cut and sum(map(len, held)) + cut >= self.size:
                yield self._numbered(b"".join((*held, chunk[:cut])))
                held = [chunk[cut:]]
            else:
                held.append(chunk)
        if last := b"".join(held):
            yield self._numbered(last)
        self.checksum = digest.hexdigest()

    def _text(self, digest: Any) -> Iterator[bytes]:
        for number, chunk in enumerate(chunks(self.path)):
            digest.update(chunk)
            yield chunk if number else begun(self.path, chunk)

    def _numbered(self, block: bytes) -> tuple[int, bytes]:
        first = self.lines + 1
        self.lines += block.count(b"\n") + (not block.endswith(b"\n"))
        return first, block
