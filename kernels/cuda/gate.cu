// The gate of timing.py: holds a stream back until the host has queued what is to be timed.
#include "clock.cuh"

// Longest wait: a host that failed in between must not leave the device waiting.
static constexpr unsigned long long TIMEOUT_NS = 100000000;

// Returns when the host has written `turn`, or a later one, to words[0]. After the timeout it writes `turn` to words[1]
// and returns. words [2]: in the host's memory, turns that wrap at 2^32.
extern "C" __global__ void gate(volatile unsigned *words, unsigned turn) {
    const unsigned long long deadline = now_ns() + TIMEOUT_NS;
    while (int(words[0] - turn) < 0) {
        if (now_ns() < deadline) continue;
        words[1] = turn;
        return;
    }
}
