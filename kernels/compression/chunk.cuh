// What the encoder and the decoder of `fast` share: the numbers of FORMAT.md, the types, the checksum.
#pragma once
#include "length.cuh"
#include "lookback.cuh"

constexpr int CHUNK = 2048, THREADS = 256, WARPS = THREADS / 32;
constexpr unsigned ALL = ~0u;
// Chunks of a section of the table, and the relative base of a group in which all is zero.
constexpr int SECTION = 32, NOTHING = 255;
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

// Bits of a value below its upper word.
template <class Type> constexpr int LOW = WIDTH<Type> - 32;

// Two neighbouring values as one access.
template <class Bits> struct alignas(2 * sizeof(Bits)) Two {
    Bits a, b;
};

// The table of a stream of so many chunks, as many as a grid may have blocks: where sections begin, the words of chunks.
struct Table {
    long long *sections;
    unsigned short *lengths;
    unsigned chunks;

    // A chunk begins at a word and has so many; one thread of the block calls it.
    __device__ void put(unsigned chunk, long long place, int words) const {
        if (chunk % SECTION == 0) {
            sections[chunk / SECTION] = place;
        }
        lengths[chunk] = words;
        if (chunk == chunks - 1) {
            sections[chunk / SECTION + 1] = place + words;
            for (unsigned behind = chunks; behind % 4; behind++) {
                lengths[behind] = 0;
            }
        }
    }
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
