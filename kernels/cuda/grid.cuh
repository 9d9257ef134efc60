// A barrier of all blocks of a resident grid.
#pragma once
#include <cstdint>

#include "clock.cuh"

// One thread of every block, between two barriers of the block: say that the block has come, and wait for all others.
// arrived: how often a block came, since the memory was cleared, wrapping; target: what it was at the last barrier.
// False where others do not come before the deadline: then the grid was not resident.
static __device__ bool meet(uint32_t *arrived, uint32_t &target, unsigned long long deadline) {
    target += gridDim.x;
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
    uint32_t seen;
    for (uint32_t tries = 1;; tries++) {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
        if (int32_t(seen - target) >= 0) return true;
        if (tries % 256 == 0 && now_ns() > deadline) return false;
    }
}

// Wait until all blocks have come. target: of thread 0. False, in every thread, as above. What any thread wrote before
// is seen by all afterwards.
static __device__ bool grid_barrier(uint32_t *arrived, uint32_t &target, unsigned long long deadline) {
    __syncthreads();
    bool came = true;
    if (threadIdx.x == 0) came = meet(arrived, target, deadline);
    return __syncthreads_and(came);
}

// What one thread of the block reads, in every thread. All threads call it, and meet between two calls. A word that all
// warps of a grid read by themselves is given to one after the other: 1.5 us for 4,224 of them.
template <typename Read>
static __device__ auto read_once(Read read) {
    __shared__ decltype(read()) said;
    if (threadIdx.x == 0) said = read();
    __syncthreads();
    return said;
}
