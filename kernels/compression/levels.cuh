// What the encoder and the decoder of whole numbers share: FORMAT.md's digits and differences.
#pragma once
#include "chunk.cuh"

// A thread has eight values that lie together, two threads a group of differences.
constexpr int EACH = 8, GROUP = 16;

// Of a type: T the value, float or integer; Bits its pattern.
struct Doubles {
    using T = double;
    using Bits = u64;
    static constexpr bool FLOAT = true;
};
struct Floats {
    using T = float;
    using Bits = unsigned;
    static constexpr bool FLOAT = true;
};
struct Words {
    using T = unsigned;
    using Bits = unsigned;
    static constexpr bool FLOAT = false;
};
struct Halves {
    using T = unsigned short;
    using Bits = unsigned short;
    static constexpr bool FLOAT = false;
};

// Words of a value that is stored with its place.
template <class Type> constexpr int STRAY = 1 + (sizeof(typename Type::Bits) + 3) / 4;

// Place of value i: one is left free after eight, so that threads that read theirs meet in no bank.
__device__ inline int place_of(int i) { return i + (i >> 3); }
constexpr int PLACES = CHUNK + CHUNK / 8;

// Bits of eight digits of a radix of up to 255.
__device__ inline int container_bits(unsigned radix) {
    const unsigned fourth = radix * radix * radix * radix;
    return 64 - __clzll(u64(fourth) * fourth - 1);
}

// Sum of an amount over the threads before this one in its block; `all`: over the whole block. sums: [WARPS].
template <class Number> __device__ inline Number scan(Number mine, Number *sums, Number &all) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    Number sum = mine;
    for (int step = 1; step < 32; step <<= 1) {
        const Number lower = __shfl_up_sync(ALL, sum, step);
        sum += lane >= step ? lower : 0;
    }
    __syncthreads();
    if (lane == 31) {
        sums[warp] = sum;
    }
    __syncthreads();
    Number before = 0;
    all = 0;
    for (int w = 0; w < WARPS; w++) {
        before += w < warp ? sums[w] : 0;
        all += sums[w];
    }
    return before + sum - mine;
}
