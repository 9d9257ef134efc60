"""Kept answers on disk: an array as Parquet, a row of the file for each of its rows, readable by row group.

One column, `values`: of a one-dimensional array its numbers, of any other a list of one row's numbers. A compressed
answer has one row of the file for each block instead: `first`, the number of its first row, `rows`, and `stream`, its
values (kernels/compression/FORMAT.md). The file's metadata (PyArrow's `FileMetaData.metadata`) hold under "saitan", as
JSON, the array's `shape` and `dtype`, `written` ("numbers" or "streams"), the `seconds` that fetching, compressing and
writing took, and what the writer was told about it, its `identity` (identities.py) among that. answer_writers.py writes
these files.

An answer of several ranks lies in slabs, which each rank writes as it makes them: <output>.slabs/<first row>.parquet,
in ten digits, for readers of a folder take files by name. The answer's own file then has no rows; its metadata lists
under `slabs` the first row of each. The reader sees one array. An answer in a form of its problem (Form of
saitan.problem) lies in <output>.<form>, and its own file has no rows either: its metadata has the form as `written`,
the `problem`, and `held`, by which that file is known again. One that could not be had has in its place `unavailable`:
why.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from saitan.blocks import misshapen
from saitan.errors import Invalid, Unavailable
from saitan.packed import unpack
from saitan.problem import Form, problem
from saitan.workflow.parquet_files import described, opened, reading
from saitan.workflow.step import Failure

# Bytes of each end of a form's file that its fingerprint holds: reading all of it would take as long as writing it.
_ENDS = 1 << 16


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
        slab, about = _slab(path, told, first)
        files[slab] = about
    return Kept(told, files)


def _form(path: Path, told: dict[str, Any]) -> Path:
    """The file of an answer's form. Raises Failure where it is missing or another one."""
    form = path.with_suffix(f".{told['written']}")
    if not form.exists():
        raise _missing(form, path)
    if fingerprint(form) != told.get("held"):
        raise _another(form, path)
    return form


def fingerprint(path: Path) -> str:
    """Of a file that is large: its size and its ends."""
    with reading(path), path.open("rb") as file:
        begins, size = file.read(_ENDS), path.stat().st_size
        file.seek(max(0, size - _ENDS))
        return hashlib.sha256(b"%d " % size + begins + file.read()).hexdigest()[:16]


def slab_name(first: int) -> str:
    return f"{first:010}"


def _slab(path: Path, told: dict[str, Any], first: int) -> tuple[Path, dict[str, Any]]:
    """The file of a slab, and what it says. Raises Failure where it is missing or another one."""
    slab = path.with_suffix(".slabs") / f"{slab_name(first)}.parquet"
    if not slab.exists():
        raise _missing(slab, path)
    about = about_answer(slab)
    # Those of earlier versions do not say their first row.
    if about.get("identity") != told.get("identity") or about.get("first", first) != first:
        raise _another(slab, path)
    return slab, about


def _another(part: Path, path: Path) -> Failure:
    return Failure(f"{part} is damaged or not what {path} was written with: remove that and run the same command again")


def _missing(part: Path, path: Path) -> Failure:
    return Failure(f"{part} is missing, a part of {path}: remove that and run the same command again")


def about_answer(path: Path) -> dict[str, Any]:
    """`shape`, `dtype` and what else was told about a kept answer. Raises Failure for a file that is none."""
    return described(path, "a kept answer of saitan", has=("shape", "dtype"))


def read_answer(path: Path, rows: slice = slice(None)) -> np.ndarray:
    """A kept answer, or some neighbouring rows of it, as NumPy has it; reads only the row groups that hold them.

    Raises Failure for a damaged file, Unavailable for an answer that could not be had.
    """
    about = about_answer(path)
    if "unavailable" in about:
        raise Unavailable(f"{path} holds no answer: {about['unavailable']}")
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
    form, shape = problem(about["problem"]).FORMS[about["written"]], about["shape"]
    try:
        held = form.open(file, path.stem)
        with contextlib.closing(held):
            return rows_held(form, held, rows, shape, about["dtype"], path)
    except (Invalid, ValueError) as error:
        raise Failure(f"{error}; remove {path} and run the same command again") from None


def rows_held(form: Form, held: Any, rows: slice, shape: Sequence[int], dtype: str, path: Path) -> np.ndarray:
    """Rows of a form's open file. Raises Failure for others than the shape and the type say, which path tells."""
    read = held[rows]
    # A file that is mapped into memory gives another class.
    read = read.view(np.ndarray) if isinstance(read, np.memmap) else read
    count = len(range(*rows.indices(shape[0])))
    if line := misshapen("rows", read, (count, *shape[1:]), dtype):
        raise Failure(f"{form.reads} gives other rows than {path} tells: {line}")
    return read


def _read_slabs(path: Path, about: dict[str, Any], rows: slice) -> np.ndarray:
    start, stop, step = rows.indices(about["shape"][0])
    if step != 1:
        raise ValueError("rows must be neighbours: a slice of step 1")
    out = np.empty((max(0, stop - start), *about["shape"][1:]), np.dtype(about["dtype"]))
    for low, high in zip(about["slabs"], [*about["slabs"][1:], about["shape"][0]], strict=True):
        first, last = max(low, start), min(high, stop)
        if first < last:
            slab, _ = _slab(path, about, low)
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
