// Nanoseconds of a clock that all multiprocessors share.
#pragma once

__device__ inline unsigned long long now_ns() {
    unsigned long long t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}
