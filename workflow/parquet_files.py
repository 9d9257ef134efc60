"""Parquet files with a checksum for each page: a damaged byte is refused, not read as another number.

Files without checksums are read as they are. All say what they are, as JSON under one key of their metadata; of what is
made for a configuration, `identity` is a digest of that (identities.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from saitan.workflow.step import Failure

# How every file is written.
CHECKSUMS = {"write_page_checksum": True}
# The key of the metadata under which a file says what it is.
METADATA = b"saitan"


def write(table: pa.Table, path: Path, **options: Any) -> None:
    """Write a file. options: as pq.write_table takes them."""
    # PyArrow takes no name that is not UTF-8, that of a folder above for one.
    with path.open("wb") as file:
        pq.write_table(table, file, **options, **CHECKSUMS)


@contextmanager
def opened(path: Path) -> Iterator[pq.ParquetFile]:
    """A file to read from. What is damaged is found when it is read: that raises Failure here."""
    with reading(path), path.open("rb") as there, pq.ParquetFile(there, page_checksum_verification=True) as file:
        yield file


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raises Failure, which names the file, for what is damaged in it. Of several open files, around reads of one."""
    try:
        yield
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        # Arrow's own errors have no number: those of the system are no damage.
        hint = "" if getattr(error, "errno", None) else "; remove it and run again"
        raise Failure(f"{path}: cannot be read: {str(error).splitlines()[0]}{hint}") from None


def read_rows(path: Path, columns: list[str] | None = None) -> pa.Table:
    """All rows of a file, or some columns of them. Raises Failure."""
    with opened(path) as file:
        return file.read(columns=columns)


def check_pages(path: Path) -> None:
    """Read all of a file, a row group at a time. Raises Failure for a damaged one."""
    with opened(path) as file:
        for group in range(file.num_row_groups):
            file.read_row_group(group)


def described(path: Path, expected: str = "written by this workflow", *, has: Collection[str] = ()) -> dict[str, Any]:
    """What a file says it is. Raises Failure for a file that cannot be read, or does not say what it `has`."""
    with opened(path) as file:
        stored = (file.metadata.metadata or {}).get(METADATA, b"")
    try:
        told = json.loads(stored)
    except ValueError:
        told = None
    if not isinstance(told, dict) or not told.keys() >= set(has):
        raise Failure(f"{path}: not {expected}; remove it and run again")
    return told


def identity_in(path: Path) -> str | None:
    """What a file says it was made for. Raises Failure as `described` does."""
    return described(path).get("identity")


def checksum_of_csv(csv: Path) -> str:
    with csv.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def identity_of_csv(csv: Path, table: Path) -> str | None:
    """What a .csv file was made for, as the table says that was written with it; None where it is another file.

    Raises Failure as `described` does.
    """
    told = described(table)
    return told.get("identity") if told.get("csv") == checksum_of_csv(csv) else None
