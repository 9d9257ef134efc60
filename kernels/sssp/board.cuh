// How the blocks of a resident grid meet: a board on which each posts a few counts a round.
//
// What is posted carries the round's number in the same 16 bytes, which are written and read as a whole. So whoever
// finds the number has the rest too, and neither side needs a fence. Nothing needs to be cleared if numbers only rise.
#pragma once
#include <cstdint>

#include "clock.cuh"

// What a block tells the others, in two parts; either holds the round's number in its first word.
struct Counts {
    uint4 a, b;
};

// A distance in the two words that there are for it.
static __device__ uint2 in_words(uint32_t d) { return {d, 0}; }
static __device__ uint2 in_words(float d) { return {__float_as_uint(d), 0}; }
static __device__ uint2 in_words(uint64_t d) { return {uint32_t(d), uint32_t(d >> 32)}; }
static __device__ uint2 in_words(double d) { return in_words(uint64_t(__double_as_longlong(d))); }
static __device__ uint32_t from_words(uint2 w, uint32_t) { return w.x; }
static __device__ float from_words(uint2 w, float) { return __uint_as_float(w.x); }
static __device__ uint64_t from_words(uint2 w, uint64_t) { return uint64_t(w.y) << 32 | w.x; }
static __device__ double from_words(uint2 w, double) { return __longlong_as_double(from_words(w, uint64_t())); }

// 16 bytes as a whole.
static __device__ void store_whole(uint4 *to, uint4 v) {
    unsigned long long low = (unsigned long long)v.y << 32 | v.x, high = (unsigned long long)v.w << 32 | v.z;
    asm volatile("{.reg .b128 r; mov.b128 r, {%1, %2}; st.relaxed.gpu.global.b128 [%0], r;}" ::"l"(to), "l"(low),
                 "l"(high)
                 : "memory");
}
static __device__ uint4 load_whole(const uint4 *from) {
    unsigned long long low, high;
    asm volatile("{.reg .b128 r; ld.relaxed.gpu.global.b128 r, [%2]; mov.b128 {%0, %1}, r;}"
                 : "=l"(low), "=l"(high)
                 : "l"(from)
                 : "memory");
    return {uint32_t(low), uint32_t(low >> 32), uint32_t(high), uint32_t(high >> 32)};
}

// Wait for 16 bytes that hold the round's number in one word; false if they do not come before the deadline.
static __device__ bool await(const uint4 *from, uint32_t uint4::*number, uint32_t round, uint4 &got,
                             unsigned long long deadline) {
    for (uint32_t tries = 1;; tries++) {
        got = load_whole(from);
        if (got.*number == round) return true;
        if (tries % 256 == 0 && now_ns() > deadline) return false;
    }
}

// Where the blocks of a team meet. Two sets of counts: a fast block may be a round ahead, never two.
struct Board {
    Counts *counts;  // [2, blocks]
    uint32_t blocks, rank, round;

    __device__ void post(uint4 a, uint4 b) const {
        Counts &mine = counts[round % 2 * blocks + rank];
        a.x = b.x = round;
        store_whole(&mine.a, a);
        store_whole(&mine.b, b);
    }
    // What block `other` posts in this round; false if it does not come before the deadline.
    __device__ bool read(uint32_t other, Counts &theirs, unsigned long long deadline) const {
        const Counts &place = counts[round % 2 * blocks + other];
        return await(&place.b, &uint4::x, round, theirs.b, deadline) &&
               await(&place.a, &uint4::x, round, theirs.a, deadline);
    }
};
