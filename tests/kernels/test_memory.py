import resource
from types import SimpleNamespace

import psutil
import pytest

from saitan import memory
from saitan.workflow.memory import keep_within_memory

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


@pytest.mark.parametrize(
    ("share", "before", "set_to"),
    [(0.5, None, 2), (0.25, None, 1), (0.25, 4, 1), (0.5, 1, None), (0.5, 2, None)],
    ids=["half", "a quarter", "below a limit", "beyond a limit", "at a limit"],
)
def test_a_process_may_take_its_share_beside_what_it_has(monkeypatch, tmp_path, share, before, set_to):
    held, limits = 3, []
    (tmp_path / "status").write_text(f"VmPeak: 9999 kB\nVmData:\t{held * GIB // 1024} kB\nVmStk: 132 kB\n")
    places = {"/proc/self/status": tmp_path / "status"}
    monkeypatch.setattr("saitan.workflow.memory.Path", lambda name: places[name])
    monkeypatch.setattr("saitan.workflow.memory.available_memory", lambda: 4 * GIB)
    most = resource.RLIM_INFINITY if before is None else (held + before) * GIB
    monkeypatch.setattr(resource, "getrlimit", lambda kind: {resource.RLIMIT_DATA: (0, most)}[kind])
    monkeypatch.setattr(resource, "setrlimit", lambda kind, pair: limits.append((kind, pair)))
    assert keep_within_memory(share) == 4 * share * GIB
    wanted = [] if set_to is None else [(resource.RLIMIT_DATA, ((held + set_to) * GIB, most))]
    assert limits == wanted
    places["/proc/self/status"] = tmp_path / "absent"
    limits.clear()
    assert keep_within_memory() == 4 * GIB * 7 // 8 and limits == []
