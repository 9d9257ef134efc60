// What the encoder and the decoder of `fast` share: the numbers of FORMAT.md, the types, the checksum.
#pragma once
#include "lookback.cuh"

constexpr int CHUNK = 2048, THREADS = 256, WARPS = THREADS / 32;
// A warp has RUNS runs of 64 values; each lane two neighbouring values of every run, one of either group.
constexpr int RUNS = CHUNK / 64 / WARPS, GROUPS = CHUNK / 32;
constexpr unsigned ALL = ~0u;
enum { CONSTANT, RAW, PACKED, DIFFERENCES };

// A type's bits as `Bits`; symbols as `Wide`, in which shifts by up to 63 (31) are defined. B: bits below a base.
struct Float64 {
    using Bits = u64;
    using Wide = u64;
    static constexpr bool FLOAT = true;
    static constexpr int B = 52;
};
struct Uint64 {
    using Bits = u64;
    using Wide = u64;
    static constexpr bool FLOAT = false;
    static constexpr int B = 32;
};
struct Float32 {
    using Bits = unsigned;
    using Wide = unsigned;
    static constexpr bool FLOAT = true;
    static constexpr int B = 23;
};
struct Uint32 {
    using Bits = unsigned;
    using Wide = unsigned;
    static constexpr bool FLOAT = false;
    static constexpr int B = 0;
};
struct Uint16 {
    using Bits = unsigned short;
    using Wide = unsigned;
    static constexpr bool FLOAT = false;
    static constexpr int B = 0;
};

template <class Type> constexpr int WIDTH = 8 * sizeof(typename Type::Bits);
// The longest chunk, in words: a raw one.
template <class Type> constexpr int LONGEST = 2 + CHUNK * WIDTH<Type> / 32;

// Two neighbouring values as one access.
template <class Bits> struct alignas(2 * sizeof(Bits)) Two {
    Bits a, b;
};

__device__ inline unsigned mix(unsigned x) {
    x *= 0x85EBCA77u;
    x = (x ^ x >> 15) * 0xC2B2AE3Du;
    return x ^ x >> 13;
}

// A word's share of its chunk's checksum.
__device__ inline unsigned share(unsigned word, unsigned place) {
    return mix(word ^ (place + 1) * 0x9E3779B1u);
}

__device__ inline int chunk_length(long long count, long long chunk) {
    const long long rest = count - chunk * CHUNK;
    return rest < CHUNK ? int(rest) : CHUNK;
}
