"""`python -m saitan.compression pack|unpack|info FILE`: .npy files and raw ones as streams of FORMAT.md.

The section "Packed files" of FORMAT.md says what `FILE.packed` holds.
"""

from __future__ import annotations

import argparse
import io
import sys
import zlib
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np

from saitan import compression
from saitan.command import one_line, say
from saitan.compression.data import TYPES
from saitan.compression.format import HEAD, MAGIC, Head, parse
from saitan.files import beside
from saitan.graph_input import shortened

# Values that are unpacked at a time: 64 MiB of doubles.
PART = 1 << 23
PACKED = ".packed"
# Types of .npy files whose bits are packed as those of another.
ALIKE = {"bool": "uint8", "float16": "uint16", "datetime64": "int64", "timedelta64": "int64"}
NPY = b"\x93NUMPY"
# Bytes of the checksum of a .npy file's header.
CHECKSUM = 4


class Progress:
    """The share of values done, on one line of a terminal's standard error; nothing elsewhere."""

    def __init__(self, count: int) -> None:
        self._count, self._shown = count, sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def __call__(self, done: int) -> None:
        if self._shown:
            print(f"\r{100 * done // self._count} %", end="", file=sys.stderr, flush=True)

    def __exit__(self, *error: object) -> None:
        if self._shown:
            print("\r     \r", end="", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m saitan.compression", description=__doc__.split("\n", 1)[0])
    parser.add_argument("action", choices=("pack", "unpack", "info"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--type", choices=TYPES, help="of the values of a file that is no .npy")
    parser.add_argument("--keep-bits", type=int, help="mantissa bits kept (all without it)")
    parser.add_argument("--bound", type=float, help="largest absolute error of floats, in place of --keep-bits")
    arguments = parser.parse_args()
    with one_line(arguments.file):
        try:
            {"pack": pack, "unpack": unpack, "info": info}[arguments.action](arguments)
        except ValueError as error:
            raise ValueError(f"{arguments.file}: {error}") from error


def pack(arguments: argparse.Namespace) -> None:
    """FILE to FILE.packed."""
    content = arguments.file.read_bytes()
    if content.startswith(NPY):
        file = io.BytesIO(content)
        array = _understood(np.load, file, allow_pickle=False)
        if rest := len(content) - file.tell():
            raise ValueError(f"{rest:,} bytes follow the array: a .npy file of one array is right")
        if arguments.type not in (None, array.dtype.name):
            raise ValueError(f"a .npy file of {array.dtype}: --type {arguments.type} is of files that do not say it")
        front = content[: len(content) - array.nbytes]
        front += _checksum(front)
        # As it lies in the file.
        array = _alike(array if array.flags.c_contiguous else array.T, arguments)
    elif arguments.type is None:
        raise ValueError(f"no .npy file: name the type of its values by --type ({', '.join(TYPES)})")
    else:
        size = np.dtype(arguments.type).itemsize
        if len(content) % size:
            raise ValueError(f"{len(content):,} bytes are no whole number of {arguments.type}, {size} bytes each")
        array, front = np.frombuffer(content, arguments.type), b""
    with Progress(array.size) as progress:
        stream = compression.compress(array, arguments.keep_bits, arguments.bound, progress=progress)
    packed = front + stream.tobytes()
    target = _write(arguments.file.with_name(arguments.file.name + PACKED), packed)
    say(f"{target}: {len(content):,} bytes to {len(packed):,}, ratio {len(content) / len(packed):.3f}")


def _alike(array: np.ndarray, arguments: argparse.Namespace) -> np.ndarray:
    """The array, or its bits as those of a type that can be packed. Raises ValueError."""
    alike = _packed_as(array.dtype)
    if alike == array.dtype:
        return array
    if arguments.keep_bits is not None or arguments.bound is not None:
        raise ValueError(f"values of {array.dtype} are kept to the bit: without --keep-bits and --bound is right")
    return array.view(alike)


def _packed_as(dtype: np.dtype) -> np.dtype:
    """The type whose bits those of values of a .npy file are packed as. Raises ValueError."""
    if not dtype.isnative:
        raise ValueError(f"its values of {dtype.str} are big-endian: those of {dtype.newbyteorder().str} can be packed")
    return np.dtype(ALIKE.get(dtype.type.__name__.rstrip("_"), dtype))


def unpack(arguments: argparse.Namespace) -> None:
    """FILE.packed to FILE."""
    if arguments.file.suffix != PACKED:
        raise ValueError(f"a name of the form NAME{PACKED} is right")
    with _opened(arguments.file) as file:
        front = _front(file)
        stream = np.frombuffer(file.read(), np.uint8)
    head = parse(stream[:HEAD], len(stream))
    _check_front(front, head)
    count, parts = head.count, [front]
    with Progress(count) as progress:
        for start in range(0, count, PART):
            parts.append(compression.decompress(stream, start, min(start + PART, count)).tobytes())
            progress(min(start + PART, count))
    say(str(_write(arguments.file.with_suffix(""), b"".join(parts))))


def info(arguments: argparse.Namespace) -> None:
    """What a packed file holds; reads its head only."""
    with _opened(arguments.file) as file:
        front = _front(file)
        begin, first = file.tell(), file.read(HEAD)
        length = file.seek(0, io.SEEK_END) - begin
    head = parse(np.frombuffer(first, np.uint8), length)
    _check_front(front, head)
    shape = ", with the header of a .npy file" if front else ""
    kept = f", {head.kept} mantissa bits kept" if head.dtype.kind == "f" else ""
    kept = f", absolute error at most {head.bound:g}" if head.bound else kept
    say(f"{head.count:,} values of {head.dtype}{kept}, {head.chunks:,} chunks, {length:,} bytes{shape}")


def _opened(path: Path) -> BinaryIO:
    """A file that can be read at any place; of a pipe its content."""
    file = path.open("rb")
    return file if file.seekable() else io.BytesIO(file.read())


def _front(file: BinaryIO) -> bytes:
    """The header of a .npy file, if there is one; the stream is what the file goes on with.

    Raises ValueError where the header is not what its checksum, if there is one, is of, and where no stream follows.
    """
    begins = file.read(len(NPY)) == NPY
    file.seek(0)
    if not begins:
        return b""
    _header(file)
    size = file.tell()
    file.seek(0)
    front, first = file.read(size), file.read(len(MAGIC))
    file.seek(size)
    # Packed by earlier versions, without a checksum.
    if first == MAGIC:
        return front
    said, begins = file.read(CHECKSUM), file.read(len(MAGIC)) == MAGIC
    file.seek(size + CHECKSUM)
    if said == _checksum(front):
        return front
    if begins:
        raise ValueError("the checksum of its .npy header is wrong")
    raise ValueError("no stream follows its .npy header: a file that `pack` wrote is right")


def _header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, whether the first index runs fastest, and type of a .npy file; what follows are the values."""
    version = _understood(np.lib.format.read_magic, file)
    head = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return _understood(head, file)


def _checksum(front: bytes) -> bytes:
    return zlib.crc32(front).to_bytes(CHECKSUM, "little")


def _check_front(front: bytes, head: Head) -> None:
    """Raise ValueError where the header of a .npy file, if there is one, does not go with the stream."""
    if not front:
        return
    shape, _, dtype = _header(io.BytesIO(front))
    alike, count = _packed_as(dtype), prod(shape)
    if alike.kind == "c":
        alike, count = np.empty(0, alike).real.dtype, 2 * count
    if (alike, count) != (head.dtype, head.count):
        raise ValueError(
            f"its .npy header says {dtype} of shape {shape}, which {head.count:,} values of {head.dtype} are not"
        )


def _understood(read, *arguments, **named):
    """What NumPy reads of a .npy file. Raises ValueError whatever it raises: a header can be wrong in any way."""
    try:
        return read(*arguments, **named)
    except Exception as error:
        raise ValueError(f"no .npy file that NumPy reads: {shortened(str(error))}") from None


def _write(path: Path, content: bytes) -> Path:
    """Written beside its place and renamed. Raises ValueError where something is there already."""
    if path.exists():
        raise ValueError(f"{path} is there already")
    with beside(path) as written:
        written.write_bytes(content)
    return path


if __name__ == "__main__":
    main()
