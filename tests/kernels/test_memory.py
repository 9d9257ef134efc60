from types import SimpleNamespace

import psutil
import pytest

from saitan import memory

GIB = 2**30


@pytest.fixture
def cgroup(tmp_path, monkeypatch):
    """Sets what the system has available and what a container's files say; a value of None leaves a file out."""

    def set_to(available, **files):
        monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=available))
        monkeypatch.setattr(memory, "CGROUP", tmp_path)
        for name, content in files.items():
            (tmp_path / f"memory.{name}").unlink(missing_ok=True)
            if content is not None:
                (tmp_path / f"memory.{name}").write_text(f"{content}\n")

    return set_to


STAT = f"anon {GIB}\ninactive_file {GIB // 2}\nactive_file 7"


@pytest.mark.parametrize(
    ("available", "limit", "current", "stat", "left"),
    [
        (8 * GIB, None, None, None, 8 * GIB),  # no container
        (8 * GIB, "max", 3 * GIB, STAT, 8 * GIB),
        # What is cached of files can be given up.
        (8 * GIB, 4 * GIB, 3 * GIB, STAT, 3 * GIB // 2),
        (1 * GIB, 4 * GIB, 1 * GIB, STAT, 1 * GIB),
        (8 * GIB, 2 * GIB, 3 * GIB, STAT, 0),
        (8 * GIB, 4 * GIB, 3 * GIB, "anon 5", 8 * GIB),
        (8 * GIB, "no number", 3 * GIB, STAT, 8 * GIB),
    ],
)
def test_the_lesser_of_what_the_system_and_a_container_leave(cgroup, available, limit, current, stat, left):
    cgroup(available, max=limit, current=current, stat=stat)
    assert memory.available_memory() == left
