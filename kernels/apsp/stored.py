"""A coded matrix in a file (FORMAT.md): writing it row by row, and reading entries and rows of it."""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from saitan.apsp import packing
from saitan.apsp.order import Order
from saitan.files import beside
from saitan.graph_input import as_compiled
from saitan.problem import Invalid

MAGIC = b"saitanM1"
# What ends a file: where the footer begins, its bytes and checksum, MAGIC.
TRAILER = np.dtype([("footer", "<u8"), ("size", "<u4"), ("checksum", "<u4"), ("magic", "S8")])
_WHOLE = (int, np.integer)
# Numbers of what a checksum is of, where it is no block of a row.
FOOTER, SECTIONS = 2**32 - 1, ("vertices", "rows", "ends", "starts")


class Writer:
    """Appends the records of rows, in the order of their places; `finish` writes what a reader needs beside them."""

    def __init__(self, file: BinaryIO, order: Order, group: int, width: int, dtype: np.dtype, about: dict) -> None:
        self._file, self._order, self._about = file, order, about
        self._shape = {"n": len(order.vertices), "group": group, "width": width, "dtype": np.dtype(dtype).str}
        self._sizes: list[np.ndarray] = []
        file.write(MAGIC)

    def append(self, words: np.ndarray, sizes: np.ndarray) -> None:
        """The records of some rows, uint32, and the words of each."""
        self._file.write(memoryview(words))
        self._sizes.append(sizes)

    def finish(self) -> int:
        """Returns the bytes of the file."""
        sizes = np.concatenate(self._sizes)
        if len(sizes) != self._shape["n"]:
            raise ValueError(f"{len(sizes):,} rows came, not {self._shape['n']:,}")
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype("<u8")
        order = self._order
        sections = {}
        for number, (name, array) in enumerate(
            zip(SECTIONS, (order.vertices, order.rows, order.ends, starts), strict=True)
        ):
            words = _as_words(array)
            begin, check = self._file.tell(), _check(words, FOOTER - 1 - number)
            sections[name] = {"begin": begin, "count": len(array), "dtype": array.dtype.str, "checksum": check}
            self._file.write(memoryview(words))
        footer = json.dumps({**self._shape, "sections": sections, "about": self._about}).encode()
        footer += b" " * (-len(footer) % 4)
        begin, check = self._file.tell(), _check(np.frombuffer(footer, "<u4"), FOOTER)
        self._file.write(footer)
        self._file.write(np.array([(begin, len(footer), check, MAGIC)], TRAILER).tobytes())
        return self._file.tell()


def _whole(index: Any) -> bool:
    if isinstance(index, bool):
        return False
    return isinstance(index, _WHOLE) or (isinstance(index, np.ndarray) and not index.ndim and index.dtype.kind in "iu")


def _check(words: np.ndarray, number: int) -> int:
    return int(packing.checksum(as_compiled(words), 0, len(words), number))


def _as_words(array: np.ndarray) -> np.ndarray:
    """An array's bytes as uint32, filled up with zeros."""
    content = np.ascontiguousarray(array).view(np.uint8)
    return np.concatenate([content, np.zeros(-len(content) % 4, np.uint8)]).view(np.uint32)


@contextmanager
def writing(
    path: str | os.PathLike[str], order: Order, group: int, width: int, dtype: np.dtype, about: dict
) -> Iterator[Writer]:
    """A writer of a file that gets its name when all of it is written; nothing is left behind otherwise."""
    with beside(path) as temporary, temporary.open("wb") as file:
        writer = Writer(file, order, group, width, dtype, about)
        yield writer
        writer.finish()


class Matrix:
    """A coded matrix of distances, opened for reading: [s, t], [s], [s0:s1] as NumPy has them.

    shape, dtype   of the matrix; `dtype`'s maximum or infinity stands where a source does not lead
    nbytes         of the file
    about          what its writer said of it

    One that is pickled, or copied, is opened again where it arrives: the file must be there.
    Raises ValueError for a file that is none of this format or was not written to its end; Invalid, which names the
    row's source and the block, for one that is damaged.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._absolute = self.path.absolute()  # which another folder of work does not change
        if self.path.is_dir():
            raise self._foreign()
        with self.path.open("rb") as file:
            self.nbytes = os.fstat(file.fileno()).st_size
            if self.nbytes < len(MAGIC) + TRAILER.itemsize:
                raise self._foreign()
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._bytes = as_compiled(np.frombuffer(self._map, np.uint8))
        footer = self._footer()
        self.shape, self.dtype = (footer["n"], footer["n"]), np.dtype(footer["dtype"])
        self.group, self.width, self.about = footer["group"], footer["width"], footer["about"]
        parts = [self._section(number, name, footer["sections"]) for number, name in enumerate(SECTIONS)]
        self.vertices = parts[0]
        bits = 8 * self.dtype.itemsize
        made = packing.indexed(*parts, self.group, self.width, bits)
        self._index, self.starts, self.rows, self.place, self.ends = made
        if len(MAGIC) + 4 * int(self.starts[-1]) > footer["sections"]["vertices"]["begin"]:
            raise Invalid(f"{self.path}: the rows do not end where the sections begin")
        last = len(MAGIC) + 4 * int(self.starts[-1])
        self.words = self._bytes[len(MAGIC) : last].view("<u4")
        self._arrays = self.words, self.starts, self.rows, self.ends
        self._n, self._number = self.shape[0], self.dtype.type if self.dtype.kind == "u" else self._of_bits

    def __repr__(self) -> str:
        return (
            f"Matrix({str(self.path)!r}: {self.shape[0]:,} x {self.shape[1]:,} of {self.dtype}, {self.nbytes:,} bytes)"
        )

    def _foreign(self) -> ValueError:
        return ValueError(f"{self.path}: no coded matrix of saitan, or one that was not written to its end")

    def _footer(self) -> dict[str, Any]:
        [trailer] = self._bytes[-TRAILER.itemsize :].view(TRAILER)
        begin, size = int(trailer["footer"]), int(trailer["size"])
        whole = begin + size + TRAILER.itemsize == self.nbytes and size % 4 == 0
        if trailer["magic"] != MAGIC or self._bytes[: len(MAGIC)].tobytes() != MAGIC or not whole:
            raise self._foreign()
        footer = self._bytes[begin : begin + size].tobytes()
        if _check(np.frombuffer(footer, "<u4"), FOOTER) != trailer["checksum"]:
            raise Invalid(f"{self.path}: the footer is corrupt: its checksum differs")
        return json.loads(footer)

    def _section(self, number: int, name: str, sections: dict[str, dict]) -> np.ndarray:
        """A copy, which is aligned and stays right when the file changes."""
        at = sections[name]
        dtype = np.dtype(at["dtype"])
        array = self._bytes[at["begin"] : at["begin"] + at["count"] * dtype.itemsize].copy()
        if _check(_as_words(array), FOOTER - 1 - number) != at["checksum"]:
            raise Invalid(f"{self.path}: section {name} is corrupt: its checksum differs")
        return array.view(dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        if self._arrays is None:
            raise self._closed()
        if isinstance(key, tuple):
            if len(key) != 2:
                raise IndexError("a matrix has two indices")
            s, t = key
            # The usual pair is told at once: what follows takes as long as the look-up itself.
            if not (type(s) is int and type(t) is int and 0 <= s < self._n and 0 <= t < self._n):
                if not (_whole(s) and _whole(t)):
                    return self._columns(s, t)
                s, t = self._vertex(s), self._vertex(t)
            try:
                return self._number(packing.entry(self.words, self._index, s, t))
            except ValueError:
                raise self._corrupt_entry(int(self.place[s]), int(self.place[t]) // self.width) from None
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step != 1:
                raise IndexError("rows must be neighbours: a slice of step 1")
            return self._rows(np.arange(start, max(start, stop)))
        return self._rows(np.array([self._vertex(key)]))[0]

    def _vertex(self, vertex: int) -> int:
        if not _whole(vertex):
            raise IndexError(f"a row is a whole number, rows are a slice of step 1, not {type(vertex).__name__}")
        vertex = int(vertex)
        if 0 <= vertex < self._n:
            return vertex
        if -self._n <= vertex < 0:
            return vertex + self._n
        raise IndexError(f"vertex {vertex} of a matrix of {self._n:,}")

    def _columns(self, rows: Any, columns: Any) -> np.ndarray:
        if columns is None or columns is Ellipsis or isinstance(columns, bool | np.bool_):
            raise IndexError(f"a column is a whole number, a slice or an array of them, not {columns}")
        return self[rows][..., columns]

    def _of_bits(self, bits: int) -> np.floating:
        return np.uint64(bits).astype(self._unsigned).view(self.dtype)

    def _corrupt_entry(self, row: int, block: int) -> Invalid:
        known = self.words, self.starts, self.rows, self._n, self.width
        return self._corrupt(packing.corrupt_row(*known, row, block), block)

    def _rows(self, sources: np.ndarray) -> np.ndarray:
        out = np.empty((len(sources), self.shape[0]), self._unsigned)
        corrupt = np.empty((len(sources), 2), np.int64)
        packing.decode(*self._arrays, self.vertices, self.width, self.place[sources], out, corrupt)
        for row, block in corrupt[corrupt[:, 0] >= 0]:
            raise self._corrupt(row, block)
        return out.view(self.dtype)

    def groups(self) -> Iterator[tuple[int, np.ndarray]]:
        """All rows, decoded once each: the first place of a group and its rows, columns in the order of places."""
        n = self.shape[0]
        corrupt = np.empty((-(-n // self.width), 2), np.int64)
        for first in range(0, n, self.group):
            if self._arrays is None:
                raise self._closed()
            out = np.empty((min(self.group, n - first), n), self._unsigned)
            packing.decode_group(*self._arrays, self.width, first, out, corrupt)
            for row, block in corrupt[corrupt[:, 0] >= 0]:
                raise self._corrupt(row, block)
            yield first, out.view(self.dtype)

    @property
    def _unsigned(self) -> np.dtype:
        return np.dtype(f"u{self.dtype.itemsize}")

    def _corrupt(self, row: int, block: int) -> Invalid:
        return Invalid(f"{self.path}: block {block} of the row of source {self.vertices[row]} is corrupt")

    def _closed(self) -> ValueError:
        return ValueError(f"{self.path}: the matrix is closed")

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, and what is unpickled, is the file opened again: a process maps it for itself."""
        if self._arrays is None:
            raise self._closed()
        return _opened_again, (self._absolute, self._bytes[-TRAILER.itemsize :].tobytes())

    def close(self) -> None:
        """Unmap the file, when reads by other threads have ended. The matrix cannot be read afterwards."""
        self._bytes = self.words = self._arrays = None
        with suppress(BufferError):
            self._map.close()

    def __enter__(self) -> Matrix:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _opened_again(path: Path, trailer: bytes) -> Matrix:
    matrix = Matrix(path)
    if matrix._bytes[-TRAILER.itemsize :].tobytes() != trailer:
        matrix.close()
        raise Invalid(f"{path}: another matrix is there now than the one that was opened")
    return matrix
