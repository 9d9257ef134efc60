"""Threads that share the steps of a leader; bits of words."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numba import njit, prange

from saitan import team
from saitan.atomics import ordered_load
from saitan.bfs.bits import lowest_bit

TICKET, STEP = team.WIDTH, team.WIDTH + 16


@njit
def _work(done, control):
    step = control[STEP]
    for low, high in team.pieces(control, TICKET, done.shape[1], 3):
        for i in range(low, high):
            # So long that another thread may be through before.
            for _ in range(100):
                ordered_load(control, STEP)
            done[step, i] += 1


@njit(parallel=True)
def _steps(done, control, threads):
    for _ in prange(threads):
        if team.comes(control) == 0:
            for step in range(len(done)):
                control[STEP], control[TICKET] = step, 0
                team.opened(control)
                _work(done, control)
                team.shut(control)
                # Nobody works here: what was done is whole.
                done[step, 0] += 10 * (done[step].sum() == done.shape[1])
            team.ended(control)
        else:
            step = team.entered(control, 0)
            while step:
                _work(done, control)
                team.left(control)
                step = team.entered(control, step)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_part_of_every_step_is_done_once(threads):
    control = np.full(team.WIDTH + 32, 99, np.int64)
    for _ in range(3):
        done = np.zeros((2000, 10), np.int64)
        team.reset(control)
        _steps(done, control, threads)
        assert (done[:, 1:] == 1).all() and (done[:, 0] == 11).all()


@njit(nogil=True)
def _comes(control):
    return team.entered(control, 0)


@njit
def _ends(control):
    team.ended(control)


def test_who_comes_when_a_step_is_shut_takes_no_part():
    control = np.zeros(team.WIDTH, np.int64)
    team.reset(control)
    _ends(control)
    assert _comes(control) == 0
    team.reset(control)
    # A step was opened and is shut.
    control[team.STEPS] = 1
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(_comes, control)
        time.sleep(0.05)
        _ends(control)
        assert late.result() == 0
    assert control[team.GATE] == team.SHUT


@njit
def _parts(control, end, size):
    return [(low, high) for low, high in team.pieces(control, 0, end, size)]


@pytest.mark.parametrize(
    ("end", "size", "parts"), [(7, 3, [(0, 3), (3, 6), (6, 7)]), (3, 5, [(0, 3)]), (4, 4, [(0, 4)])]
)
def test_pieces_are_all_of_it(end, size, parts):
    assert _parts(np.zeros(1, np.int64), end, size) == parts


@njit
def _lowest(word):
    return lowest_bit(word)


def test_the_lowest_bit():
    for bit in range(32):
        for above in (0, 0xFFFFFFFF):
            word = ((above << bit) | (1 << bit)) & 0xFFFFFFFF
            assert _lowest(np.uint32(word)) == bit
    assert _lowest(np.uint64(1 << 63)) == 63
