// Holds a stream back until the host has queued what is to be timed (timing.py).
#include "clock.cuh"

// Returns when the host has written `turn`, or a later one, and after a tenth of a second whatever it wrote: a host that
// failed in between must not leave the device waiting. word: in the host's memory.
extern "C" __global__ void gate(const volatile unsigned *word, unsigned turn) {
    const unsigned long long deadline = now_ns() + 100000000;
    while (int(*word - turn) < 0 && now_ns() < deadline) {
    }
}
