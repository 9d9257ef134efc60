"""Writes kept answers, in the files that answers.py describes and reads."""

from __future__ import annotations

import json
import operator
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from saitan.blocks import Block, on_host
from saitan.errors import Invalid
from saitan.files import beside
from saitan.graph_input import shown
from saitan.packed import pack, packs
from saitan.problem import Form, problem
from saitan.workflow.answers import about_answer, fingerprint, rows_held, slab_name
from saitan.workflow.parquet_files import CHECKSUMS, METADATA, write
from saitan.workflow.step import Failure, one_line

# A file among slabs of a call in which a check failed.
_REFUSED = "refused"


class AnswerWriter:
    """A sink that writes the blocks of some outputs, each to a file in a folder, as they come.

    Blocks of an output come in the order of their rows; its first block says type and width. The files get their names
    when the context is left without an error, and leave nothing behind otherwise. Raises Failure for an output of which
    nothing came, and for a block that does not follow.
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
        if error[0] is None:
            try:
                self._close()
            except BaseException as failure:
                self._leave(type(failure), failure, failure.__traceback__)
                raise
        return self._leave(*error)

    def _close(self) -> None:
        for output in filter(None, self._open.values()):
            output.close()
        if missing := [name for name, output in self._open.items() if output is None]:
            given = sorted(self._others.union(self._open).difference(missing))
            raise Failure(f"keep: the answer has no {missing[0]} (it has: {', '.join(given) or 'none'})")

    def _leave(self, *error: Any) -> bool | None:
        for output in filter(None, self._open.values() if error[0] else ()):
            output.abandon()
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
            about = {**self._about, "first": int(block.first)}
            name = slab_name(block.first)
            with AnswerWriter(self._place, [name], about, self._compressed) as file:
                file(Block(name, 0, block.array))

    def finished(self, slabs: dict[int, int]) -> frozenset[int]:
        """The first rows of the slabs (first row -> rows) that are there. Other files in their place are removed, and
        all slabs after `refuse_slabs`.
        """
        if (self._place / _REFUSED).exists():
            shutil.rmtree(self._place)
        found = set()
        for path in self._place.glob("*"):
            first = int(path.stem) if path.stem.isdecimal() else -1
            if first in slabs and path.stem == slab_name(first) and self._belongs(path, first, slabs[first]):
                found.add(first)
            else:
                path.unlink()
        return frozenset(found)

    def _belongs(self, path: Path, first: int, rows: int) -> bool:
        try:
            told = about_answer(path)
        except Failure:
            return False
        wanted = {**self._about, "first": first}
        return told["shape"][0] == rows and all(told.get(name) == value for name, value in wanted.items())

    def join(self, slabs: dict[int, int], about: dict[str, Any]) -> None:
        """Write the answer's own file, once all slabs are there. Raises Failure for slabs that do not fit together."""
        told = {first: about_answer(self._place / f"{slab_name(first)}.parquet") for first in sorted(slabs)}
        kinds = {(one["dtype"], *one["shape"][1:]) for one in told.values()}
        if len(kinds) != 1:
            raise Failure(
                f"{self._place}: slabs of different types ({kinds}): remove it and run the same command again"
            )
        dtype, *width = kinds.pop()
        metadata = {**about, "shape": [sum(slabs.values()), *width], "dtype": dtype, "slabs": list(told)}
        _without_rows(self._folder / f"{self._output}.parquet", metadata)


def refuse_slabs(folder: Path, outputs: list[str]) -> None:
    """Say of slabs beside the answers' files that none is to be taken over by another call.

    Other ranks may still write some, so that removing them now would not do.
    """
    for output in outputs:
        if (place := folder / f"{output}.slabs").is_dir():
            (place / _REFUSED).touch()


def _without_rows(path: Path, metadata: dict[str, Any]) -> None:
    """The file of an answer whose values lie elsewhere."""
    schema = pa.schema([("values", pa.from_numpy_dtype(np.dtype(metadata["dtype"])))], {METADATA: json.dumps(metadata)})
    with beside(path) as temporary:
        write(schema.empty_table(), temporary)


def write_form(
    folder: Path,
    output: str,
    name: str,
    form: Form,
    about: dict[str, Any],
    write: Callable[[Path], None],
    compare: Callable[[Callable[[slice], np.ndarray]], None] | None = None,
) -> None:
    """Keep an output in a form, whose file write(path) writes.

    name: the form's; about: has settings as `answer`; compare: raises Invalid for what is wrong in the file's rows, of
    which it is given what reads them
    """
    path, seconds = folder / f"{output}.{name}", []
    folder.mkdir(parents=True, exist_ok=True)
    # That of an earlier answer would pass for this one where nothing is written.
    path.unlink(missing_ok=True)
    with _clocked(seconds):
        write(path)
    if not path.is_file():
        raise Failure(f"keep: {form.writes} wrote no file")
    try:
        shape, dtype = _shape_of(form, path, output, compare)
        declared = known.dtype if (known := problem(about["answer"]["problem"]).OUTPUTS.get(output)) else ""
        if declared and dtype != declared:
            raise Failure(f"keep: {form.reads} has {output} of type {dtype}: {declared} is right, as OUTPUTS says")
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    facts = {"shape": shape, "dtype": dtype, "written": name, "seconds": sum(seconds)}
    facts |= {"problem": about["answer"]["problem"], "held": fingerprint(path)}
    _without_rows(folder / f"{output}.parquet", {**about, **facts})


def _shape_of(form: Form, path: Path, output: str, compare: Callable | None) -> tuple[list[int], str]:
    """Shape and type of what a form's file holds, after its rows were compared."""
    try:
        held = form.open(path, output)
    except (Invalid, ValueError) as error:
        raise Failure(f"keep: {form.reads} cannot read what {form.writes} wrote: {one_line(error)}") from error
    if lacking := [one for one in ("shape", "dtype", "__getitem__", "close") if not hasattr(held, one)]:
        raise Failure(f"keep: {form.reads} has no {lacking[0]}: shape, dtype, rows by [rows] and close are right")
    with closing(held):
        try:
            shape, dtype = [operator.index(length) for length in held.shape], np.dtype(held.dtype).name
        except TypeError:
            told = f"the shape {shown(held.shape)} and the type {shown(held.dtype)}"
            raise Failure(f"keep: {form.reads} has {told}: a tuple of lengths and a dtype of NumPy are right") from None
        if compare:
            compare(lambda rows: rows_held(form, held, rows, shape, dtype, path))
    return shape, dtype


def write_unavailable(folder: Path, outputs: list[str], about: dict[str, Any], reason: str) -> None:
    """The files of outputs that there are none of."""
    for output in outputs:
        _without_rows(folder / f"{output}.parquet", {**about, "shape": [0], "dtype": "uint8", "unavailable": reason})


@contextmanager
def _clocked(seconds: list[float]) -> Iterator[None]:
    """Append what the block takes, and less what Numba takes within it to compile or load code."""
    from numba.core.event import install_timer

    start = time.perf_counter()
    with install_timer("numba:compiler_lock", lambda compiled: seconds.append(-compiled)):
        yield
    seconds.append(time.perf_counter() - start)


class _Output:
    """One file being written: numbers."""

    kind, codec = "numbers", "zstd"

    def __init__(self, path: Path, first: Any, about: dict[str, Any]) -> None:
        self._width, self._dtype, self._rows, self._about = first.shape[1:], np.dtype(first.dtype), 0, about
        self._seconds: list[float] = []
        self._schema = self._columns()
        # Statistics would hold every stream again.
        options = {"use_dictionary": False, "write_statistics": self.codec != "none"}
        self._file = path.open("wb")
        self._writer = pq.ParquetWriter(self._file, self._schema, compression=self.codec, **options, **CHECKSUMS)

    def _columns(self) -> pa.Schema:
        number = pa.from_numpy_dtype(self._dtype)
        flat = int(np.prod(self._width, dtype=np.int64))
        return pa.schema([("values", pa.list_(number, flat) if self._width else number)])

    def write(self, first: int, array: Any) -> None:
        if first != self._rows or array.shape[1:] != self._width or array.dtype != self._dtype:
            block = f"{array.dtype} {array.shape} at row {first:,}"
            raise Failure(
                f"keep: a block of {block} does not follow {self._rows:,} rows of {self._dtype} {self._width}:"
                " blocks in the order of the rows, all of one type and width, are right"
            )
        with _clocked(self._seconds):
            self._writer.write_table(pa.table(self._block(first, array), schema=self._schema))
        self._rows += len(array)

    def _block(self, first: int, array: Any) -> list[pa.Array]:
        values = pa.array(np.ascontiguousarray(on_host(array)).reshape(-1))
        if self._width:
            values = pa.FixedSizeListArray.from_arrays(values, type=self._schema.field("values").type)
        return [values]

    def close(self) -> None:
        metadata = {**self._about, "shape": [self._rows, *self._width], "dtype": self._dtype.name}
        metadata |= {"seconds": sum(self._seconds), "written": self.kind}
        self._writer.add_key_value_metadata({METADATA: json.dumps(metadata)})
        self._writer.close()
        self._file.close()

    def abandon(self) -> None:
        """Close the file as it is. What is in the way, such as a full disk, was told."""
        with suppress(Exception):
            self._writer.close()
        with suppress(OSError):
            self._file.close()


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
