// GPUs of a host that map one another's memory: their links woken, and a barrier of blocks on all of them.
#pragma once
#include <cstdint>

#include "clock.cuh"

// Links rest some time after their last use, and the first use of each takes 105 us. Of another GPU's memory a word in so
// many bytes is read, so that every link is used.
static constexpr unsigned long long TOUCHED = 4096;

// Read from the others' memory, of `bytes` each, and end when all has come. All threads of the grid call it.
static __device__ void wake_links(uint32_t me, uint32_t gpus, char *const *memory, unsigned long long bytes) {
    uint32_t word, all = 0;
    unsigned long long first = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (uint32_t gpu = 0; gpu < gpus; gpu++)
        for (auto at = first * TOUCHED; gpu != me && at < bytes; at += threads * TOUCHED) {
            asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(word) : "l"(memory[gpu] + at));
            all |= word;
        }
    __syncthreads_or(all);
}

// Tell all GPUs that this block has come, and wait until `target` blocks have come here. arrived: gives where a GPU counts
// them, since its memory was cleared, wrapping. False, in every thread, where others do not come before the deadline. What
// any thread wrote before, on any GPU, is seen by all afterwards.
template <typename Arrived>
static __device__ bool meet_all(uint32_t me, uint32_t gpus, Arrived arrived, uint32_t target,
                                unsigned long long deadline) {
    __syncthreads();
    bool came = true;
    if (threadIdx.x < gpus)
        asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(arrived(threadIdx.x)) : "memory");
    if (threadIdx.x == 0) {
        uint32_t seen;
        for (uint32_t tries = 1;; tries++) {
            asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived(me)) : "memory");
            if (int32_t(seen - target) >= 0) break;
            if (tries % 256 == 0 && now_ns() > deadline) {
                came = false;
                break;
            }
        }
    }
    return __syncthreads_and(came);
}
