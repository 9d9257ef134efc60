"""Threads that share the steps of a leader, on the CPU by Numba: started once for many steps, not once a step.

The first thread that comes to a parallel loop leads; the others help. A step begins when the leader opens it and ends
when those that came have left: none is waited for that has not come, and one that is late finds it shut. What there is
to do stands in arrays that the leader writes before; each thread takes its parts by tickets.

    for _ in prange(threads):
        if comes(control) == 0:
            ...
            opened(control)
            work()
            shut(control)
            ...
            ended(control)
        else:
            step = entered(control, 0)
            while step:
                work()
                left(control)
                step = entered(control, step)
"""

from __future__ import annotations

import numpy as np

from saitan.atomics import atomic_add, ordered_add, ordered_load
from saitan.compiled import njit

# Places of `control`, each in a cache line of its own. GATE counts the threads inside, from SHUT on while it is shut.
# STEPS counts the steps that were opened; COMERS the threads that came; OVER ends all. A caller's own begin at WIDTH.
GATE, STEPS, COMERS, OVER, WIDTH = 0, 16, 32, 48, 64
SHUT = -(1 << 40)


@njit
def reset(control):
    """Before the threads are started; control: int64 [WIDTH or more]."""
    control[GATE], control[STEPS], control[COMERS], control[OVER] = SHUT, 0, 0, 0


@njit
def comes(control):
    """The number of a thread: 0 for the first, which leads."""
    # Signed, because the loop's unsigned type would compile what depends on it a second time.
    return np.int64(ordered_add(control, COMERS, 1))


@njit
def opened(control):
    """Begin a step."""
    ordered_add(control, GATE, -SHUT)
    ordered_add(control, STEPS, 1)


@njit
def shut(control):
    """End a step: no thread comes to it now, and all that came have left."""
    ordered_add(control, GATE, SHUT)
    while ordered_load(control, GATE) != SHUT:
        pass


@njit
def ended(control):
    """There are no more steps."""
    ordered_add(control, OVER, 1)


@njit
def entered(control, last):
    """Wait for a step after the one of number `last`, and take part in it: its number, 0 where there are no more."""
    while ordered_load(control, OVER) == 0:
        step = ordered_load(control, STEPS)
        if step != last:
            last = step
            if ordered_add(control, GATE, 1) >= 0:
                return step
            ordered_add(control, GATE, -1)
    return np.int64(0)


@njit
def left(control):
    """This thread has done its part of a step."""
    ordered_add(control, GATE, -1)


@njit
def pieces(tickets, place, end, size):
    """Parts [low, high) of [0, end), `size` or fewer, that no other thread has: tickets[place] counts those taken."""
    low = atomic_add(tickets, place, 1) * size
    while low < end:
        yield low, min(low + size, end)
        low = atomic_add(tickets, place, 1) * size
