"""Parquet files with a checksum for each page: a damaged byte is refused, not read as another number.

Files without checksums are read as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from saitan.workflow.step import Failure

# How every file is written.
CHECKSUMS = {"write_page_checksum": True}


@contextmanager
def opened(path: Path) -> Iterator[pq.ParquetFile]:
    """A file to read from. What is damaged is found when it is read: that raises Failure here."""
    with reading(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
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
