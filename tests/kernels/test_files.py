"""Files are written beside their place: whole or not at all."""

import fcntl
import os
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from saitan.files import _mode, beside


def test_a_file_gets_its_name_when_it_is_whole(tmp_path):
    place = tmp_path / "folder" / "in it" / "file"
    for content in ("old", "new"):
        before = place.open() if place.exists() else None
        with beside(str(place)) as part:
            assert part.parent == place.parent and part.name.startswith(".file.")
            part.write_text(content)
            assert not place.exists() or place.read_text() == "old"
        assert place.read_text() == content and place.stat().st_mode & 0o777 == 0o644
        assert list(place.parent.iterdir()) == [place]
    # Who reads the old one reads it to its end.
    with before:
        assert before.read() == "old"


def test_threads_are_told_the_umask_one_after_the_other(monkeypatch):
    told, real = [], os.umask

    def slowly(mask):
        before = real(mask)
        time.sleep(0.01)
        return before

    monkeypatch.setattr(os, "umask", slowly)
    threads = [threading.Thread(target=lambda: told.append(_mode())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monkeypatch.undo()
    before = real(0o022)
    real(before)
    assert told == [0o666 & ~before] * 4


@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o600), (0o002, 0o664), (0o022, 0o644)])
def test_a_file_has_the_permissions_that_the_umask_gives(mask, mode, tmp_path):
    before = os.umask(mask)
    try:
        with beside(tmp_path / "file") as part:
            part.write_text("")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


def test_an_error_leaves_what_was_there(tmp_path):
    place = tmp_path / "file"
    place.write_text("old")
    with pytest.raises(KeyError), beside(place) as part:
        part.write_text("half")
        raise KeyError
    assert place.read_text() == "old" and list(tmp_path.iterdir()) == [place]


def test_a_place_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(IsADirectoryError) as folder, beside(tmp_path):
        pass
    assert folder.value.filename == str(tmp_path)
    with pytest.raises(NotADirectoryError) as below, beside(tmp_path / "file" / "a"):
        pass
    assert below.value.filename == str(tmp_path / "file")

    def refused(*_, **__):
        raise PermissionError(13, os.strerror(13), ".a.x.part")

    monkeypatch.setattr("tempfile.mkstemp", refused)
    with pytest.raises(PermissionError) as denied, beside(tmp_path / "a"):
        pass
    assert denied.value.filename == str(tmp_path / "a")


def test_a_file_is_on_the_disk_before_it_has_its_name_and_is_held_open_no_longer_than_that(tmp_path, monkeypatch):
    made, synced, make, sync = [], [], tempfile.mkstemp, os.fsync

    def mkstemp(**where):
        made.append(make(**where))
        return made[-1]

    def fsync(number):
        synced.append((tmp_path / "a").exists())
        sync(number)

    monkeypatch.setattr("tempfile.mkstemp", mkstemp)
    monkeypatch.setattr("os.fsync", fsync)
    with beside(tmp_path / "a") as part:
        [(handle, name)] = made
        assert str(part) == name
        part.write_text("whole")
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(handle)
    assert synced == [False] and (tmp_path / "a").read_text() == "whole"


_KILLED = """
import os, signal, sys
from saitan.files import _mode, beside
with beside(sys.argv[1]) as part:
    part.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_is_removed_by_the_next_that_writes_there(tmp_path):
    place = tmp_path / "a [1].csv"
    for name in (place, tmp_path / "a [1].csv.gz"):
        subprocess.run([sys.executable, "-c", _KILLED, name], check=False)
    assert len(list(tmp_path.iterdir())) == 2
    with beside(place) as one, beside(place) as other:
        # Both are written, and what is left of another place is another's.
        assert one.exists() and other.exists() and len(list(tmp_path.iterdir())) == 3
        other.write_text("second")
        one.write_text("first")
    assert place.read_text() == "first"
    assert [path.name for path in tmp_path.iterdir() if path != place] == [
        path.name for path in tmp_path.glob(".a [[]1].csv.gz.*.part")
    ]


def test_a_file_that_another_process_took_for_left_is_made_again(tmp_path, monkeypatch):
    taken, lock = [], fcntl.flock

    def flock(file, how):
        if not taken:
            taken.extend(tmp_path.glob(".a.*.part"))
            taken[0].unlink()
        lock(file, how)

    monkeypatch.setattr("fcntl.flock", flock)
    with beside(tmp_path / "a") as part:
        part.write_text("whole")
    assert taken not in ([], [part]) and (tmp_path / "a").read_text() == "whole" and len(list(tmp_path.iterdir())) == 1


def test_a_file_system_without_locks_will_do(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", refused)
    with beside(tmp_path / "a") as one, beside(tmp_path / "a") as other:
        other.write_text("other")
        one.write_text("one")
    assert (tmp_path / "a").read_text() == "one" and len(list(tmp_path.iterdir())) == 1


def test_a_link_is_followed(tmp_path):
    (tmp_path / "disk").mkdir()
    link = tmp_path / "link"
    link.symlink_to("disk/file")
    for content in ("new", "newer"):
        with beside(link) as part:
            part.write_text(content)
        assert link.is_symlink() and (tmp_path / "disk" / "file").read_text() == content
    assert {path.name for path in tmp_path.rglob("*")} == {"disk", "file", "link"}


def test_a_device_or_a_pipe_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="a device or a pipe has this name, a file is right") as refused, beside(pipe):
        pass
    assert refused.value.filename == str(pipe) and pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]
