import subprocess
import sys
from collections import namedtuple
from types import SimpleNamespace

import pytest

from saitan.ranks import Ranks
from saitan.workflow import disturbance
from saitan.workflow.disturbance import CLOCK_MOVED, Clock, Disturbance, Others, Watch


def test_others_are_what_this_process_did_not_use(monkeypatch):
    times = iter([(0.0, 10.0, 1.0), (2.0, 13.0, 2.0), (2.1, 14.0, 2.0), (4.0, 16.0, 2.5), (6.0, 17.0, 4.5)])
    monkeypatch.setattr(Others, "_now", lambda self: next(times))
    others = Others(Ranks())
    assert others.load() == pytest.approx((3 - 1) / 2)
    assert others.load() is None, "a tenth of a second says nothing"
    assert others.load() == pytest.approx((3 - 0.5) / 2), "and is part of what follows"
    assert others.load() == 0.0, "never less than none"


def test_the_last_answer_waits_until_the_time_says_something(monkeypatch):
    clock, slept = [10.0], []

    def sleep(seconds):
        slept.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr(disturbance.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(disturbance.time, "sleep", sleep)
    # Others keep both cores busy.
    monkeypatch.setattr(Others, "_now", lambda self: (clock[0], 2 * clock[0], 0.0))
    others = Others(Ranks())
    clock[0] += 0.125
    assert others.load() is None and not slept
    assert others.load(wait=True) == 2.0 and slept == [0.125]
    clock[0] += 9
    assert others.load(wait=True) == 2.0 and slept == [0.125, 0], "long enough is not prolonged"


def test_the_watch_of_the_cores(monkeypatch):
    loads = iter([None, disturbance.OTHER_LOAD, 0.81])
    waited = []
    monkeypatch.setattr(Others, "load", lambda self, wait: waited.append(wait) or next(loads))
    watch = Watch("cpu", Ranks())
    watch.answered()
    assert watch.verdict() is False and watch.verdict() is True
    said = Disturbance("other work on the machine", "other work took 0.8 cores")
    assert watch.verdict(last=True) == said and waited == [False, False, True]


def test_the_watch_of_the_clock(monkeypatch):
    # At the start, after each of two answers of four rounds; a reading also begins the next round.
    readings = iter([1980, 1980, 1965, 1980, 1700, 1700, 1700, 1700, 1660])
    monkeypatch.setattr(disturbance, "device_clock", lambda: Clock(lambda: next(readings)))
    watch, verdicts = Watch("cuda", Ranks()), []
    for _ in range(4):
        watch.answered()
        watch.answered()
        verdicts.append(watch.verdict())
    moved = "the clock of the GPU moved"
    said = Disturbance(moved, f"{moved} between 1700 and 1980 MHz")
    assert verdicts == [True, said, True, True] and 1700 - 1660 < CLOCK_MOVED * 1700 < 1700 - 1640


def test_a_clock_has_moved_beyond_its_share():
    assert CLOCK_MOVED * 2000 == 60
    for low, moved in ((1941, None), (1940, None), (1939, (1939, 2000))):
        readings = iter([2000, low])
        clock = Clock(lambda readings=readings: next(readings))
        clock.look()
        assert clock.moved() == moved


def test_a_slow_reader_is_asked_seldom(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(disturbance.time, "monotonic", lambda: now[0])
    asked = []
    clock = Clock(lambda: asked.append(now[0]) or 1980, every=2.0)
    for now[0] in (0.5, 1.9, 2.0, 3.5, 4.5):
        clock.look()
    assert asked == [0.0, 2.0, 4.5] and clock.moved() is None


def test_a_reading_that_fails_is_left_out():
    readings = iter([1980, OSError("lost"), 1500])

    def read():
        reading = next(readings)
        if isinstance(reading, OSError):
            raise reading
        return reading

    clock = Clock(read)
    clock.look()
    assert clock.moved() is None
    clock.look()
    assert clock.moved() == (1500, 1980)


def test_a_core_that_waits_for_a_disk_is_idle_and_a_guest_counts_once(monkeypatch):
    system = namedtuple("scputimes", "user nice system idle iowait guest guest_nice")
    monkeypatch.setattr(disturbance.psutil, "cpu_times", lambda: system(100.0, 20.0, 30.0, 1000.0, 500.0, 7.0, 3.0))
    assert Others(Ranks())._now()[1] == 100 + 20 + 30
    # Systems that tell less.
    system = namedtuple("scputimes", "user nice system idle")
    monkeypatch.setattr(disturbance.psutil, "cpu_times", lambda: system(100.0, 20.0, 30.0, 1000.0))
    assert Others(Ranks())._now()[1] == 100 + 20 + 30


@pytest.fixture
def device(monkeypatch):
    monkeypatch.setattr("saitan.cuda.device", lambda: SimpleNamespace(pci_bus_id=lambda: "0000:1B:00.0"))


class NVMLError(Exception):
    pass


def nvml(wrong=False):
    def clock(handle, kind):
        if wrong:
            raise NVMLError("not supported")
        return 1755 if (handle, kind) == ("handle of 0000:1B:00.0", 1) else 0

    return SimpleNamespace(
        NVML_CLOCK_SM=1,
        NVMLError=NVMLError,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByPciBusId=lambda bus: f"handle of {bus.decode()}",
        nvmlDeviceGetClockInfo=clock,
    )


def test_nvml_reads_the_device_in_use(monkeypatch, device):
    monkeypatch.setitem(sys.modules, "pynvml", nvml())
    clock = disturbance.device_clock()
    assert clock._seen == [1755] and clock._every == 0


@pytest.mark.parametrize("module", [None, nvml(wrong=True)], ids=["absent", "refuses"])
def test_nvidia_smi_stands_in_and_without_it_nothing_is_watched(monkeypatch, device, module):
    monkeypatch.setitem(sys.modules, "pynvml", module)
    said = []

    def run(command, **_):
        said.append(command)
        return SimpleNamespace(stdout="1410\n")

    monkeypatch.setattr(subprocess, "run", run)
    clock = disturbance.device_clock()
    assert clock._seen == [1410] and clock._every == disturbance.SMI_EVERY
    assert said[0][:2] == ["nvidia-smi", "--id=0000:1B:00.0"]
    for answer in (FileNotFoundError("nvidia-smi"), subprocess.CalledProcessError(1, "nvidia-smi"), None):

        def gone(command, answer=answer, **_):
            if answer:
                raise answer
            return SimpleNamespace(stdout="[N/A]\n")

        monkeypatch.setattr(subprocess, "run", gone)
        assert disturbance.device_clock() is None
        watch = Watch("cuda", Ranks())
        watch.answered()
        assert watch.verdict() is True
