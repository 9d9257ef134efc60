"""Events and the gate before them."""

import time

import pytest

from saitan.cuda import device, finish, unusable

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(unusable() is not None, reason=str(unusable()))]


@pytest.mark.parametrize("gated", [False, True])
def test_laps_leave_out_what_the_host_does_before_they_are_asked(gated):
    device()
    from saitan.cuda.timing import Laps

    laps = Laps(3, gated)
    for _ in range(3):
        for _ in range(3):
            laps.mark()
            time.sleep(0.01)
        seconds = laps.seconds()
        assert len(seconds) == 2
        # Without the gate an event is as late as the host that queues it.
        assert all(lap < 1e-3 if gated else lap > 9e-3 for lap in seconds)


def test_a_gate_that_nobody_opens_gives_up_and_the_next_waits_again():
    device()
    import pycuda.driver as driver

    from saitan.cuda.timing import Gate

    gate = Gate()
    gate.shut()
    begin = time.perf_counter()
    driver.Context.synchronize()
    assert 0.05 < time.perf_counter() - begin < 5
    gate.shut()
    end = driver.Event()
    end.record()
    assert not end.query()
    gate.open()
    end.synchronize()


def test_finish_waits_for_what_the_device_has_to_do():
    device()
    from saitan.cuda.timing import Gate

    gate, begin = Gate(), time.perf_counter()
    gate.shut()
    assert finish() is None and time.perf_counter() - begin > 0.05 and gate.timed_out
    begin = time.perf_counter()
    assert finish() is None and time.perf_counter() - begin < 0.05


def test_laps_say_that_their_gate_opened_by_itself_and_the_next_ones_that_it_did_not():
    device()
    from saitan.cuda.timing import TIMED_OUT, Laps

    laps = Laps(gated=True)
    for host_seconds, disturbed in ((0.0, ""), (0.3, TIMED_OUT), (0.0, "")):
        with laps:
            time.sleep(host_seconds)
        laps.seconds()
        assert laps.disturbed == disturbed


def test_a_block_begins_anew_after_one_that_was_not_asked():
    device()
    from saitan.cuda.timing import Laps

    laps = Laps()
    for _ in range(3):
        with laps:
            time.sleep(0.01)
    [seconds] = laps.seconds()
    # Other processes on the device delay the first event.
    assert 5e-3 < seconds < 1
