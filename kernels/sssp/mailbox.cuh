// Messages between the blocks of a resident grid: every block has a mailbox, which all others read once a round.
//
// A message carries the round's number in each of its 16-byte parts, which are written and read as a whole. A reader
// that finds the number has the rest of the part too, so neither side needs a fence. The numbers only rise, so a
// mailbox is never cleared.
#pragma once
#include <cstdint>

#include "clock.cuh"

// What a block tells the others in a round: two parts, each with the round's number in its first word.
struct Message {
    uint4 a, b;
};

// A distance as two words, and back.
static __device__ uint2 in_words(uint32_t d) { return {d, 0}; }
static __device__ uint2 in_words(float d) { return {__float_as_uint(d), 0}; }
static __device__ uint2 in_words(uint64_t d) { return {uint32_t(d), uint32_t(d >> 32)}; }
static __device__ uint2 in_words(double d) { return in_words(uint64_t(__double_as_longlong(d))); }
static __device__ uint32_t from_words(uint2 w, uint32_t) { return w.x; }
static __device__ float from_words(uint2 w, float) { return __uint_as_float(w.x); }
static __device__ uint64_t from_words(uint2 w, uint64_t) { return uint64_t(w.y) << 32 | w.x; }
static __device__ double from_words(uint2 w, double) { return __longlong_as_double(from_words(w, uint64_t())); }

// 16 bytes in one access.
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

// Wait for 16 bytes that hold the round's number in the word `number`; false after the deadline.
static __device__ bool await(const uint4 *from, uint32_t uint4::*number, uint32_t round, uint4 &got,
                             unsigned long long deadline) {
    for (uint32_t tries = 1;; tries++) {
        got = load_whole(from);
        if (got.*number == round) return true;
        if (tries % 256 == 0 && now_ns() > deadline) return false;
    }
}

// The mailboxes of a team, two for every block: a block may be one round ahead of another, never two.
struct Mailboxes {
    Message *messages;  // [2, blocks]
    uint32_t blocks, rank, round;

    __device__ void post(uint4 a, uint4 b) const {
        Message &mine = messages[round % 2 * blocks + rank];
        a.x = b.x = round;
        store_whole(&mine.a, a);
        store_whole(&mine.b, b);
    }
    // The message of block `other` in this round; false if it does not come before the deadline.
    __device__ bool read(uint32_t other, Message &theirs, unsigned long long deadline) const {
        const Message &place = messages[round % 2 * blocks + other];
        return await(&place.b, &uint4::x, round, theirs.b, deadline) &&
               await(&place.a, &uint4::x, round, theirs.a, deadline);
    }
};
