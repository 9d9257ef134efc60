"""Kept answers on disk: an array as Parquet, a row of the file for each of its rows, readable by row group.

One column, `values`: of a one-dimensional array its numbers, of any other a list of one row's numbers. A compressed
answer has one row of the file for each block instead: `first`, the number of its first row, `rows`, and `stream`, its
values (kernels/compression/FORMAT.md). The schema's metadata holds under "saitan", as JSON, the array's `shape` and
`dtype`, `written` ("numbers" or "streams"), the `seconds` that fetching, compressing and writing took, and what the
writer was told about it, its `identity` (identities.py) among that.

An answer of several ranks lies in slabs, which each rank writes as it makes them: <output>.slabs/<first row>.parquet.
The answer's own file then has no rows; its metadata lists under `slabs` the first row of each. The reader sees one
array. An answer in a form of its problem (Form of saitan.problem) lies in <output>.<form>, and its own file has no
rows either: its metadata has the form as `written`, the `problem`, and `held`, by which that file is known again. One
that could not be had has in its place `unavailable`: why.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from saitan.blocks import Block, on_host
from saitan.errors import Invalid
from saitan.files import beside
from saitan.packed import pack, packs, unpack
from saitan.problem import Form, problem
from saitan.workflow.parquet_files import CHECKSUMS, METADATA, described, opened, reading
from saitan.workflow.step import Failure

# Bytes of each end of a form's file that its fingerprint holds: reading all of it would take as long as writing it.
_ENDS = 1 << 16


class AnswerWriter:
    """A sink that writes the blocks of some outputs, each to a file in a folder, as they come.

    Blocks of an output come in the order of their rows; its first block says type and width. The files get their names
    when the context is left without an error, and leave nothing behind otherwise. Raises Failure for an output of which
    nothing came, ValueError for a block that does not follow.
    """

    def __init__(self, folder: Path, outputs: list[str], about: dict[str, Any], compressed: bool = False) -> None:
        """compressed: as streams, where their type can be; in Parquet's own codec otherwise."""
        self._folder, self._about, self._compressed = folder, about, compressed
        self._open: dict[str, _Output | None] = dict.fromkeys(outputs)
        self._places, self._others = ExitStack(), set()

    def __enter__(self) -> AnswerWriter:
        self._places.__enter__()
        return self

    def __call__(self, block: Block) -> None:
        if block.name not in self._open:
            self._others.add(block.name)
            return
        if self._open[block.name] is None:
            path = self._places.enter_context(beside(self._folder / f"{block.name}.parquet"))
            kind = _Streams if self._compressed and packs(np.dtype(block.array.dtype)) else _Output
            self._open[block.name] = kind(path, block.array, self._about)
        self._open[block.name].write(block.first, block.array)

    def __exit__(self, *error: Any) -> bool | None:
        for output in self._open.values():
            if output is not None:
                output.close()
        missing = [name for name, output in self._open.items() if output is None]
        if missing and error[0] is None:
            given = sorted(self._others.union(self._open).difference(missing))
            failure = Failure(f"keep: the answer has no {missing[0]} (it has: {', '.join(given) or 'none'})")
            self._places.__exit__(Failure, failure, None)
            raise failure
        return self._places.__exit__(*error)


class SlabWriter:
    """A sink that writes every block of an output to a file of its own; the leading rank joins those of all ranks.

    about: goes with every file, and must be the same for slabs to belong together; compressed as in AnswerWriter.
    """

    def __init__(self, folder: Path, output: str, about: dict[str, Any], compressed: bool = False) -> None:
        self._folder, self._output, self._about, self._compressed = folder, output, about, compressed

    @property
    def _place(self) -> Path:
        return self._folder / f"{self._output}.slabs"

    def __call__(self, block: Block) -> None:
        if block.name == self._output:
            with AnswerWriter(self._place, [str(block.first)], self._about, self._compressed) as file:
                file(Block(str(block.first), 0, block.array))

    def finished(self, slabs: dict[int, int]) -> frozenset[int]:
        """The first rows of the slabs (first row -> rows) that are there. Other files in their place are removed."""
        found = set()
        for path in self._place.glob("*"):
            first = int(path.stem) if path.stem.isdigit() else -1
            if first in slabs and self._belongs(path, slabs[first]):
                found.add(first)
            else:
                path.unlink()
        return frozenset(found)

    def _belongs(self, path: Path, rows: int) -> bool:
        try:
            told = about_answer(path)
        except Failure:
            return False
        return told["shape"][0] == rows and all(told.get(name) == value for name, value in self._about.items())

    def join(self, slabs: dict[int, int], about: dict[str, Any]) -> None:
        """Write the answer's own file, once all slabs are there. Raises Failure for slabs that do not fit together."""
        told = {first: about_answer(self._place / f"{first}.parquet") for first in sorted(slabs)}
        kinds = {(one["dtype"], *one["shape"][1:]) for one in told.values()}
        if len(kinds) != 1:
            raise Failure(
                f"{self._place}: slabs of different types ({kinds}): remove it and run the same command again"
            )
        dtype, *width = kinds.pop()
        metadata = {**about, "shape": [sum(slabs.values()), *width], "dtype": dtype, "slabs": list(told)}
        _without_rows(self._folder / f"{self._output}.parquet", metadata)


def _without_rows(path: Path, metadata: dict[str, Any]) -> None:
    """The file of an answer whose values lie elsewhere."""
    schema = pa.schema([("values", pa.from_numpy_dtype(np.dtype(metadata["dtype"])))], {METADATA: json.dumps(metadata)})
    with beside(path) as temporary:
        pq.write_table(schema.empty_table(), temporary, **CHECKSUMS)


def write_form(
    folder: Path, output: str, name: str, form: Form, about: dict[str, Any], write: Callable[[Path], None]
) -> None:
    """Keep an output in a form, whose file write(path) writes. name: the form's; about: has settings as `answer`."""
    path, start = folder / f"{output}.{name}", time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    write(path)
    seconds, held = time.perf_counter() - start, form.open(path)
    facts = {"shape": list(held.shape), "dtype": held.dtype.name, "written": name, "seconds": seconds}
    held.close()
    facts |= {"problem": about["answer"]["problem"], "held": _fingerprint(path)}
    _without_rows(folder / f"{output}.parquet", {**about, **facts})


def write_unavailable(folder: Path, outputs: list[str], about: dict[str, Any], reason: str) -> None:
    """The files of outputs that there are none of."""
    for output in outputs:
        _without_rows(folder / f"{output}.parquet", {**about, "shape": [0], "dtype": "uint8", "unavailable": reason})


@dataclass(frozen=True)
class Kept:
    """A kept answer: what it says about itself, and its files, its own first, each with what it says.

    Of a form's file that is nothing.
    """

    told: dict[str, Any]
    files: dict[Path, dict[str, Any]]

    @property
    def identity(self) -> str | None:
        return self.told.get("identity")


def kept_answer(path: Path) -> Kept:
    """A kept answer with all its files. Raises Failure where one is missing, or is that of another answer."""
    told = about_answer(path)
    files = {path: told}
    if "problem" in told:
        files[_form(path, told)] = {}
    for first in told.get("slabs", []):
        slab = _slab(path, first)
        if not slab.exists():
            raise _missing(slab, path)
        files[slab] = about_answer(slab)
        if files[slab].get("identity") != told.get("identity"):
            raise _another(slab, path)
    return Kept(told, files)


def _form(path: Path, told: dict[str, Any]) -> Path:
    """The file of an answer's form. Raises Failure where it is missing or another one."""
    form = path.with_suffix(f".{told['written']}")
    if not form.exists():
        raise _missing(form, path)
    if _fingerprint(form) != told.get("held"):
        raise _another(form, path)
    return form


def _fingerprint(path: Path) -> str:
    """Of a file that is large: its size and its ends."""
    with reading(path), path.open("rb") as file:
        begins, size = file.read(_ENDS), path.stat().st_size
        file.seek(max(0, size - _ENDS))
        return hashlib.sha256(b"%d " % size + begins + file.read()).hexdigest()[:16]


def _slab(path: Path, first: int) -> Path:
    return path.with_suffix(".slabs") / f"{first}.parquet"


def _another(part: Path, path: Path) -> Failure:
    return Failure(f"{part} is damaged or not what {path} was written with: remove that and run the same command again")


def _missing(part: Path, path: Path) -> Failure:
    return Failure(f"{part} is missing, a part of {path}: remove that and run the same command again")


class _Output:
    """One file being written: numbers."""

    kind, codec = "numbers", "zstd"

    def __init__(self, path: Path, first: Any, about: dict[str, Any]) -> None:
        self._width, self._dtype, self._rows, self._about = first.shape[1:], np.dtype(first.dtype), 0, about
        self._seconds = 0.0
        self._schema = self._columns()
        # Statistics would hold every stream again.
        options = {"use_dictionary": False, "write_statistics": self.codec != "none"}
        self._writer = pq.ParquetWriter(path, self._schema, compression=self.codec, **options, **CHECKSUMS)

    def _columns(self) -> pa.Schema:
        number = pa.from_numpy_dtype(self._dtype)
        flat = int(np.prod(self._width, dtype=np.int64))
        return pa.schema([("values", pa.list_(number, flat) if self._width else number)])

    def write(self, first: int, array: Any) -> None:
        if first != self._rows or array.shape[1:] != self._width or array.dtype != self._dtype:
            shape = f"{array.dtype} {array.shape} at row {first:,}"
            raise ValueError(f"a block of {shape} does not follow {self._rows:,} rows of {self._dtype} {self._width}")
        start = time.perf_counter()
        self._writer.write_table(pa.table(self._block(first, array), schema=self._schema))
        self._seconds += time.perf_counter() - start
        self._rows += len(array)

    def _block(self, first: int, array: Any) -> list[pa.Array]:
        values = pa.array(np.ascontiguousarray(on_host(array)).reshape(-1))
        if self._width:
            values = pa.FixedSizeListArray.from_arrays(values, type=self._schema.field("values").type)
        return [values]

    def close(self) -> None:
        metadata = {**self._about, "shape": [self._rows, *self._width], "dtype": self._dtype.name}
        metadata |= {"seconds": self._seconds, "written": self.kind}
        self._writer.add_key_value_metadata({METADATA: json.dumps(metadata)})
        self._writer.close()


class _Streams(_Output):
    """One file being written: a row a block, compressed where the block lies."""

    kind, codec = "streams", "none"

    def _columns(self) -> pa.Schema:
        return pa.schema([("first", pa.int64()), ("rows", pa.int64()), ("stream", pa.large_binary())])

    def _block(self, first: int, array: Any) -> list[pa.Array]:
        stream = pack(array)
        ends = pa.py_buffer(np.array([0, stream.nbytes], np.int64))
        binary = pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, pa.py_buffer(stream)])
        return [pa.array([first]), pa.array([len(array)]), binary]


def about_answer(path: Path) -> dict[str, Any]:
    """`shape`, `dtype` and what else was told about a kept answer. Raises Failure for a file that is none."""
    return described(path, "a kept answer of saitan", has=("shape", "dtype"))


def read_answer(path: Path, rows: slice = slice(None)) -> np.ndarray:
    """A kept answer, or some neighbouring rows of it, as NumPy has it; reads only the row groups that hold them."""
    about = about_answer(path)
    if "unavailable" in about:
        raise Failure(f"{path} holds no answer: {about['unavailable']}")
    if "slabs" in about:
        return _read_slabs(path, about, rows)
    if "problem" in about:
        return _read_form(path, about, rows)
    shape, dtype = tuple(about["shape"]), np.dtype(about["dtype"])
    start, stop, step = rows.indices(shape[0])
    if step != 1:
        raise ValueError("rows must be neighbours: a slice of step 1")
    out = np.empty((max(0, stop - start), *shape[1:]), dtype)
    low = 0
    with opened(path) as file:
        compressed = "stream" in file.schema_arrow.names
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, columns=["rows"])["rows"][0].as_py() if compressed else None
            count = file.metadata.row_group(group).num_rows if rows is None else rows
            first, last = max(low, start), min(low + count, stop)
            if first < last:
                column = file.read_row_group(group, columns=["stream" if compressed else "values"]).column(0)
                out[first - start : last - start] = _values(path, column, (count, *shape[1:]))[first - low : last - low]
            low += count
    return out


def _read_form(path: Path, about: dict[str, Any], rows: slice) -> np.ndarray:
    file = _form(path, about)
    try:
        held = problem(about["problem"]).FORMS[about["written"]].open(file)
        try:
            return held[rows]
        finally:
            held.close()
    except Invalid as error:
        raise Failure(f"{error}; remove {path} and run the same command again") from None


def _read_slabs(path: Path, about: dict[str, Any], rows: slice) -> np.ndarray:
    start, stop, step = rows.indices(about["shape"][0])
    if step != 1:
        raise ValueError("rows must be neighbours: a slice of step 1")
    out = np.empty((max(0, stop - start), *about["shape"][1:]), np.dtype(about["dtype"]))
    for low, high in zip(about["slabs"], [*about["slabs"][1:], about["shape"][0]], strict=True):
        first, last = max(low, start), min(high, stop)
        if first < last:
            slab = _slab(path, low)
            if not slab.exists():
                raise _missing(slab, path)
            out[first - start : last - start] = read_answer(slab, slice(first - low, last - low))
    return out


def _values(path: Path, column: pa.ChunkedArray, shape: tuple[int, ...]) -> np.ndarray:
    """The rows of a row group."""
    column = column.combine_chunks()
    if column.type == pa.large_binary():
        try:
            return unpack(np.frombuffer(column[0].as_buffer(), np.uint8), shape)
        except ValueError as error:
            raise Failure(f"{path}: {error}; remove it and run the same command again") from None
    flat = column.flatten() if shape[1:] else column
    return flat.to_numpy(zero_copy_only=False).reshape(shape)
