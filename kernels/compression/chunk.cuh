// What the encoder and the decoder of `fast` share: the numbers of FORMAT.md, the types, the checksum.
#pragma once
#include "length.cuh"
#include "lookback.cuh"

constexpr int CHUNK = 2048, THREADS = 256, WARPS = THREADS / 32;
constexpr unsigned ALL = ~0u;
enum { CONSTANT, RAW, PACKED, DIGITS = 4, NEIGHBOUR, ROW };
// What is wrong with a chunk (format.py: REASONS).
enum { BAD_PLACE = 1, BAD_MODE, BAD_LENGTH, BAD_CHECKSUM };

// A type's bits as `Bits`; symbols as `Wide`, in which shifts by up to 63 (31) are defined. B: bits below a base.
struct Float64 {
    using Bits = u64;
    using Wide = u64;
    static constexpr int B = 52;
};
struct Float32 {
    using Bits = unsigned;
    using Wide = unsigned;
    static constexpr int B = 23;
};
template <class Type> constexpr int WIDTH = 8 * sizeof(typename Type::Bits);

// Two neighbouring values as one access.
template <class Bits> struct alignas(2 * sizeof(Bits)) Two {
    Bits a, b;
};

// FORMAT.md's checksum: the factor of the word at a place, and what becomes of the sum of all.
constexpr unsigned STEP = 0x9E3779B1u;
__device__ inline unsigned factor(int place) { return (2u * unsigned(place) + 1) * STEP; }

__device__ inline unsigned folded(u64 sum, long long chunk) {
    sum += u64(chunk + 1) * 0xD6E8FEB86659FD93ull;
    return unsigned((sum ^ sum >> 32) * 0xBF58476D1CE4E5B9ull >> 32);
}

// Sum over the lanes of a warp, in all of them.
__device__ inline u64 warp_sum(u64 mine) {
    const unsigned low = unsigned(mine);
    const u64 middle = u64(__reduce_add_sync(ALL, low >> 16)) << 16;
    return __reduce_add_sync(ALL, low & 0xFFFF) + middle + (u64(__reduce_add_sync(ALL, unsigned(mine >> 32))) << 32);
}
