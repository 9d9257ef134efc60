"""Step: bring a file from its publisher or a mirror, checked by the SHA-256 of its decompressed content."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from saitan.files import beside
from saitan.workflow.graphs.streams import checksum
from saitan.workflow.step import Failure, run_step

ATTEMPTS = 3


class _Retry(Exception):
    """An attempt failed in a way that another may not; the message is one line."""


def fetch(
    url: str,
    output: Path,
    *,
    file: str | None = None,
    sha256: str | None = None,
    mirror: str | None = None,
    pause: float = 2.0,
) -> None:
    """Bring the file of an address to `output`.

    url     address of the publisher, or the bare name of a file that only a mirror has
    file    its name on a mirror, whose suffix tells its compression; the last part of the url, if None
    sha256  of the decompressed content; a file that differs is removed and fetched again
    mirror  a folder, or a base address, that has the file under that name
    pause   seconds before the second attempt, doubled before the third

    A broken download goes on where it stopped if the server can and still has the same file. Raises Failure after
    three attempts, and at once when the file is not there.
    """
    name = file or PurePosixPath(urlsplit(url).path).name
    get: Callable[[str, Path], None] = _Download(checked=sha256 is not None)
    if mirror is None:
        place = url
        if "://" not in url:
            raise Failure(f"{name}: no publisher's address is known: set mirror to a folder or address that has it")
    elif "://" in mirror:
        place = f"{mirror.rstrip('/')}/{name}"
    else:
        place, get, pause = str(Path(mirror) / name), _copy, 0
    with beside(output) as path:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                get(place, path)
                _check(place, path, PurePosixPath(name).suffix, sha256)
                return
            except _Retry as error:
                if attempt == ATTEMPTS:
                    raise Failure(f"{error} (given up after {ATTEMPTS} attempts)") from error
                time.sleep(pause * attempt)


def _check(place: str, path: Path, suffix: str, sha256: str | None) -> None:
    """Empty the file and raise _Retry unless it decompresses to content of the checksum (of any, if None)."""
    try:
        found = checksum(path, suffix)
    except Failure as error:
        path.write_bytes(b"")
        raise _Retry(f"{place}: damaged: {str(error).removeprefix(f'{path}: ')}") from error
    if sha256 is not None and found != sha256:
        path.write_bytes(b"")
        raise _Retry(f"{place}: its decompressed content has the SHA-256 {found}, but {sha256} is right")


def _copy(place: str, path: Path) -> None:
    try:
        shutil.copyfile(place, path)
    except FileNotFoundError as error:
        raise Failure(f"{place}: the mirror folder has no such file") from error


class _Download:
    """Appends to a file what it lacks; _Retry keeps what has arrived, Failure is for good.

    checked: whether the whole is told by its checksum. If not, what has arrived counts only where the server says of
    which version of the file it is, so that the rest is of the same.
    """

    def __init__(self, checked: bool) -> None:
        self._checked, self._version = checked, ""

    def __call__(self, address: str, path: Path) -> None:
        import httpx

        have = path.stat().st_size if self._version or self._checked else 0
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        if have and self._version:
            headers["If-Range"] = self._version
        try:
            with httpx.stream(
                "GET", address, headers=headers, follow_redirects=True, timeout=httpx.Timeout(30, connect=10)
            ) as response:
                if response.status_code >= 500 or response.status_code in (408, 416, 429):
                    path.write_bytes(b"")
                    raise _Retry(f"{address}: the server answers {response.status_code} {response.reason_phrase}")
                if response.status_code >= 400:
                    raise Failure(f"{address}: the server answers {response.status_code} {response.reason_phrase}")
                version, part = _version_in(response.headers), response.headers.get("Content-Range", "bytes 0-")
                resumed = have > 0 and part.startswith(f"bytes {have}-") and version == self._version
                if not resumed and not part.startswith("bytes 0-"):
                    path.write_bytes(b"")
                    raise _Retry(f"{address}: the server has another file than when the download began")
                self._version = version
                with path.open("ab" if resumed else "wb") as file:
                    for chunk in _shown(response, have if resumed else 0):
                        file.write(chunk)
        except (httpx.TransportError, httpx.InvalidURL, httpx.TooManyRedirects) as error:
            reason = str(error) or type(error).__name__
            raise _Retry(
                f"{address}: no answer or a broken one: {reason}: is the server up, or is a mirror known?"
            ) from error


def _version_in(headers: Mapping[str, str]) -> str:
    """What tells a server's file from another one at the same address; empty where nothing does."""
    tag = headers.get("ETag", "")
    # Files of the same weak tag may differ.
    return tag if tag and not tag.startswith("W/") else headers.get("Last-Modified", "")


def _shown(response, done: int):
    """The raw bytes of a response, with a progress bar where stderr is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield from response.iter_raw()
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    )
    length = response.headers.get("Content-Length")
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(
            f"fetching {response.url.path.rpartition('/')[2]}", total=done + int(length) if length else None
        )
        bar.advance(task, done)
        for chunk in response.iter_raw():
            yield chunk
            bar.advance(task, len(chunk))


def main(arguments: argparse.Namespace) -> None:
    mirror = arguments.mirror or os.environ.get("SAITAN_MIRROR") or None
    fetch(arguments.url, arguments.output, file=arguments.file, sha256=arguments.sha256, mirror=mirror)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m saitan.workflow.graphs.fetch", description=__doc__)
    parser.add_argument("--url", required=True, help="address, or bare name of a file that only a mirror has")
    parser.add_argument("--file", help="its name on a mirror; default: the last part of the address")
    parser.add_argument(
        "--mirror", help="folder or base address to take the file from, by its name; SAITAN_MIRROR when absent"
    )
    parser.add_argument("--sha256", help="of the decompressed content")
    parser.add_argument("--output", type=Path, required=True)
    return parser


if __name__ == "__main__":
    run_step(main, parser())
