"""Files are written beside their place and renamed, so that none at its final name is ever half-written."""

from __future__ import annotations

import errno
import fcntl
import glob
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Another thread would be told the strictest umask, and might leave it.
_ASKING = threading.Lock()


@contextmanager
def beside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`; rename it to `path` on success, remove it on any error.

    It has the permissions that the umask gives. What a killed process left of the same path is removed too. A symbolic
    link is followed. Raises OSError that names `path`, or a folder of it, where that is a folder, a device or a pipe,
    or cannot be written.
    """
    path = Path(os.path.realpath(path) if Path(path).is_symlink() else path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a folder has this name", str(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "a device or a pipe has this name, a file is right", str(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = _locked_part(path)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path.parent)) from None
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.chmod(_mode())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
        os.close(handle)


def _mode() -> int:
    """The permissions of a new file. To read the umask is to set it, here to the strictest for that moment."""
    with _ASKING:
        mask = os.umask(0o077)
        os.umask(mask)
    return 0o666 & ~mask


def _locked_part(path: Path) -> tuple[int, str]:
    """A new file beside `path`, locked while its process lives; those without a lock are removed."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.{'?' * 8}.part"):
        with suppress(OSError), left.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, name
        # Another process found it before it was locked.
        os.close(handle)
