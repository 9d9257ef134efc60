import resource
import tracemalloc
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from saitan import apsp, bfs, compression, memory, tropical
from saitan.errors import Unavailable
from saitan.graph import Graph
from saitan.workflow.memory import keep_within_memory

GIB = 2**30
LARGE = Graph.from_arcs(2**16, [0], [1], [3])


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
    ("limits", "left"),
    [
        ({}, 8),
        ({resource.RLIMIT_AS: 9}, 4),
        ({resource.RLIMIT_DATA: 9}, 6),
        ({resource.RLIMIT_AS: 9, resource.RLIMIT_DATA: 5}, 2),
        ({resource.RLIMIT_AS: 20}, 8),
        ({resource.RLIMIT_AS: 1}, 0),
    ],
)
def test_limits_of_the_process_count(cgroup, monkeypatch, tmp_path, limits, left):
    cgroup(8 * GIB, max="max", current=0, stat=STAT)
    (tmp_path / "status").write_text(f"Name:\tpython\nVmSize:\t{5 * GIB // 1024} kB\nVmData:\t{3 * GIB // 1024} kB\n")
    monkeypatch.setattr(memory, "STATUS", tmp_path / "status")
    monkeypatch.setattr(
        resource,
        "getrlimit",
        lambda kind: (limits.get(kind, 0) * GIB or resource.RLIM_INFINITY, resource.RLIM_INFINITY),
    )
    assert memory.available_memory() == left * GIB
    monkeypatch.setattr(memory, "STATUS", tmp_path / "absent")
    assert memory.available_memory() == 8 * GIB


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


def test_what_memory_does_not_hold_is_refused_with_both_numbers(cgroup):
    cgroup(3 * GIB)
    memory.check_room(3 * GIB, "a matrix")
    with pytest.raises(Unavailable, match=r"^a matrix: 3\.5 GiB of memory are needed, 3\.0 GiB"):
        memory.check_room(7 * GIB // 2, "a matrix")


@pytest.mark.parametrize(
    ("make", "what", "needed"),
    [
        (lambda: tropical.instance({}, n=2**17), "2 matrices of 131,072 x 131,072 float32", "128.0"),
        (
            lambda: tropical.instance({"graph": LARGE}, n=2**16, dtype="uint16"),
            "a matrix of 65,536 x 65,536 uint16",
            "8.0",
        ),
        (lambda: apsp.instance({}, n=2**17, dtype="int32"), "a matrix of 131,072 x 131,072 int32", "64.0"),
        (lambda: compression.instance({}, qubits=30).host(), "an array of 2,147,483,648 values", "16.0"),
    ],
)
def test_matrices_and_arrays_that_memory_does_not_hold_are_refused(cgroup, make, what, needed):
    cgroup(GIB)
    with pytest.raises(Unavailable, match=f"^{what}: {needed} GiB of memory are needed, 1.0 GiB are available$"):
        make()


WIDE = np.broadcast_to(np.float32(3), (2**15, 2**15))
PAIRS = r"the distances from 65,536 sources of graph unnamed \(65,536 vertices\)"
MANY = r"the searches from 32,768 roots of graph unnamed \(65,536 vertices\)"


@pytest.mark.parametrize(
    ("call", "what", "needed"),
    [
        (lambda: apsp.solve(LARGE, None, "fast", "cpu"), PAIRS, "16.0"),
        (lambda: apsp.solve(LARGE, None, "iterated", "cpu"), PAIRS, "16.0"),
        (lambda: apsp.solve(LARGE, None, "scipy"), PAIRS, "56.0"),
        pytest.param(
            lambda: apsp.solve(LARGE, None, "networkit"),
            PAIRS,
            "72.0",
            marks=pytest.mark.skipif(bool(missing := apsp.VARIANTS["networkit"].missing()), reason=missing or ""),
        ),
        (lambda: apsp.solve(LARGE, range(3), "scipy-floyd-warshall"), PAIRS, "128.0"),
        (lambda: apsp.solve(LARGE, range(3), "floyd-warshall-blocked", "cpu"), PAIRS, "52.0"),
        (lambda: apsp.solve(LARGE, None, "closure", "cpu"), PAIRS, "68.0"),
        (lambda: bfs.solve_many(LARGE, np.zeros(2**15, int), "cpu"), MANY, "2.0"),
        (lambda: bfs.solve_many(LARGE, np.zeros(2**15, int), "cpu", parents=True), MANY, "10.1"),
        (lambda: tropical.closure(WIDE), "5 matrices of 32,768 x 32,768 float32", "20.0"),
        (lambda: tropical.floyd_warshall(WIDE), "5 matrices of 32,768 x 32,768 float32", "20.0"),
        (lambda: tropical.matmul(WIDE[:, :1], WIDE[:1]), r"the product \(32768, 32768\) of float32", "12.0"),
        (lambda: tropical.solve(WIDE[:, :1], WIDE[:1]), r"the product \(32768, 32768\) of float32", "12.0"),
        *(
            (lambda call=call: call(WIDE, WIDE[:, :1]), r"the product \(32768, 1\) of float32", "9.0")
            for call in (tropical.matmul, tropical.solve)
        ),
    ],
)
def test_answers_that_memory_does_not_hold_are_refused_before_anything_is_allocated(cgroup, call, what, needed):
    cgroup(GIB)
    tracemalloc.start()
    try:
        with pytest.raises(Unavailable, match=f"^{what}: {needed} GiB of memory are needed, 1.0 GiB are available"):
            call()
        assert tracemalloc.get_traced_memory()[1] < GIB // 32
    finally:
        tracemalloc.stop()


NOISE = np.random.default_rng(1).integers(0, 2**32, 9 << 20, np.uint32)
# A short stream of many values.
FLAT = compression.compress(np.zeros(3 << 20))
ONES = np.ones((900, 900), np.float32)
HUB, RIM = np.zeros(499, int), np.arange(1, 500)
SMALL = Graph.from_arcs(500, np.r_[HUB, RIM], np.r_[RIM, HUB], np.full(998, 3))


@pytest.mark.parametrize(
    ("call", "where"),
    [
        *(
            (lambda variant=variant: apsp.solve(SMALL, None, variant, "cpu"), "apsp.cpu")
            for variant in ("fast", "scipy", "scipy-floyd-warshall", "floyd-warshall-blocked", "closure")
        ),
        (lambda: tropical.closure(WIDE[:500, :500], backend="cpu"), "tropical.instances"),
        (lambda: tropical.floyd_warshall(WIDE[:500, :500], backend="cpu"), "tropical.instances"),
        (lambda: tropical.matmul(WIDE[:500, :1], WIDE[:1, :500], backend="cpu"), "tropical.operands"),
        *(
            (lambda a=a, semiring=semiring: tropical.matmul(a, a[:, :9], semiring, backend="cpu"), "tropical.operands")
            for semiring, a in (
                ("min_plus", ONES),
                ("min_plus", ONES.T[::-1]),
                ("max_plus", np.full((900, 900), -3, np.int32)),
                ("min_plus", np.full((900, 900), 3, np.uint16)[::2, ::2]),
            )
        ),
        (lambda: tropical.solve(ONES, ONES[:, :9], backend="cpu"), "tropical.operands"),
        *(
            (lambda array=array: compression.compress(array), "compression.cpu_fast")
            for array in (NOISE, NOISE[: 5 << 20], np.arange(9 << 20).astype(np.uint16))
        ),
        (lambda: compression.decompress(FLAT), "compression.cpu_fast"),
        (lambda: bfs.solve_many(SMALL, np.arange(500), "cpu", parents=True), "bfs.many"),
    ],
)
def test_an_answer_takes_no_more_memory_than_was_forecast_and_not_much_less(monkeypatch, call, where):
    call()  # what is compiled or loaded is not meant
    forecasts = []

    def forecast(needed, *_):
        forecasts.append(tracemalloc.get_traced_memory()[0] + needed)

    monkeypatch.setattr(f"saitan.{where}.check_room", forecast)
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.6 < peak / max(forecasts) < 1.2


def test_an_array_that_a_gpu_fills_in_needs_no_memory(cgroup):
    cgroup(GIB)
    assert compression.instance({}, qubits=30).nbytes == 16 * GIB
