"""How the commands of the library end: whatever happens is one line."""

import io
import os
import sys
import tracemalloc
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import saitan.apsp.__main__ as of_apsp
import saitan.compression.__main__ as of_compression
from saitan.compression.format import Head
from saitan.errors import Invalid, Unavailable

COMMANDS = {"apsp": (of_apsp, "_info"), "compression": (of_compression, "info")}


@pytest.fixture(params=COMMANDS)
def ended(request, monkeypatch, capfd):
    """Calls a command's `info FILE` with its action replaced; how it exits and what stands on standard error."""

    def call(action):
        module, name = COMMANDS[request.param]
        monkeypatch.setattr(module, name, action)
        monkeypatch.setattr(sys, "argv", ["command", "info", "FILE"])
        with pytest.raises(SystemExit) as exited:
            module.main()
            sys.exit(0)
        message = exited.value.code if isinstance(exited.value.code, str) else ""
        return exited.value.code, message + capfd.readouterr().err

    return call


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ValueError("off"), "off"),
        (Invalid("off"), "off"),
        (Unavailable("off"), "off"),
        (OSError(28, "No space left on device"), "FILE: No space left on device"),
        (OSError(2, "No such file", "other"), "other: No such file"),
        (MemoryError(), "FILE: out of memory: an allocation was refused"),
        (KeyboardInterrupt(), "stopped\n"),
    ],
)
def test_an_error_is_one_line_and_a_status(ended, error, says):
    def action(_):
        raise error

    status, said = ended(action)
    assert status and said.removeprefix("FILE: off" if "off" in says else "") in (says, "")


def test_a_warning_is_one_line(ended):
    assert ended(lambda _: warnings.warn("rounded", stacklevel=1)) == (0, "rounded\n")


def test_what_cannot_be_written_is_not_blamed_on_the_file(ended, monkeypatch):
    from saitan.command import say

    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert ended(lambda _: say("a")) == ("standard output: No space left on device",) * 2
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as broken:
        monkeypatch.setattr(sys, "stdout", broken)
        assert ended(lambda _: say("a")) == (1, "")


def test_names_are_shown_in_any_encoding(monkeypatch):
    from saitan.command import say

    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    say("für \udcff.gr")
    assert written.getvalue() == b"f\\xfcr \\udcff.gr\n"


def test_info_reads_the_head_and_no_more(tmp_path, monkeypatch, capsys):
    head = Head(np.dtype(np.float64), 52, 5000, 0)
    stream = replace(head, nbytes=head.payload).bytes().tobytes().ljust(head.payload, b"\0")
    for front in (b"", npy_header(5000)):
        path = tmp_path / "x.packed"
        path.write_bytes(front + stream)
        monkeypatch.setattr(sys, "argv", ["compression", "info", str(path)])
        of_compression.main()
        assert f"5,000 values of float64, 52 mantissa bits kept, 3 chunks, {len(stream):,} bytes" in (
            capsys.readouterr().out
        )
        os.truncate(path, 2**26 + len(front))
        tracemalloc.start()
        with pytest.raises(SystemExit, match=f"the stream has 67,108,864 bytes, its head says {len(stream):,}"):
            of_compression.main()
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert taken < 2**20


def npy_header(count):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (count,)})
    return file.getvalue()
