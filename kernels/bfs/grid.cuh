// A barrier of all blocks of a resident grid.
#pragma once
#include <cstdint>

#include "clock.cuh"

// Wait until all blocks have come. arrived: how often a block came, since the memory was cleared, wrapping; target: what
// it was at the last barrier, of thread 0. False, in every thread, where others do not come before the deadline: then
// the grid was not resident. What any thread wrote before is seen by all afterwards.
static __device__ bool grid_barrier(uint32_t *arrived, uint32_t &target, unsigned long long deadline) {
    __syncthreads();
    bool came = true;
    if (threadIdx.x == 0) {
        target += gridDim.x;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
        uint32_t seen;
        for (uint32_t tries = 1;; tries++) {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
            if (int32_t(seen - target) >= 0) break;
            if (tries % 256 == 0 && now_ns() > deadline) {
                came = false;
                break;
            }
        }
    }
    return __syncthreads_and(came);
}
