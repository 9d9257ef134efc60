// Blocks of THREADS threads: sums over a warp, prefix sums over a block.
#pragma once
#include <cstdint>

using Count = unsigned long long;

static constexpr int THREADS = 256, WARPS = THREADS / 32;
static constexpr uint32_t EVERY = 0xFFFFFFFFu;

static __device__ Count warp_sum(Count value) {
    for (int step = 16; step; step /= 2) value += __shfl_xor_sync(EVERY, value, step);
    return value;
}

// Prefix sum over the block, exclusive; `total` is everybody's sum. All threads of the block call it.
static __device__ uint32_t block_scan(uint32_t value, uint32_t &total) {
    __shared__ uint32_t sums[WARPS];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint32_t upto = value;
    for (int step = 1; step < 32; step *= 2) {
        uint32_t below = __shfl_up_sync(EVERY, upto, step);
        if (lane >= step) upto += below;
    }
    __syncthreads();
    if (lane == 31) sums[warp] = upto;
    __syncthreads();
    uint32_t before = 0;
    total = 0;
    for (int w = 0; w < WARPS; w++) {
        if (w < warp) before += sums[w];
        total += sums[w];
    }
    return before + upto - value;
}
