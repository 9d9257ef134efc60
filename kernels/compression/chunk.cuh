// What the encoder and the decoder of `fast` share: the numbers of FORMAT.md, the types, the checksum.
#pragma once
#include "length.cuh"
#include "lookback.cuh"

constexpr int CHUNK = 2048, THREADS = 256, WARPS = THREADS / 32;
// A warp has RUNS runs of 64 values; each lane two neighbouring values of every run, one of either group.
constexpr int RUNS = CHUNK / 64 / WARPS, GROUPS = CHUNK / 32;
constexpr unsigned ALL = ~0u;
enum { CONSTANT, RAW, PACKED, DIFFERENCES, DIGITS, NEIGHBOUR, ROW };
// What is wrong with a chunk (format.py: REASONS).
enum { BAD_PLACE = 1, BAD_MODE, BAD_LENGTH, BAD_CHECKSUM };

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

// A chunk's words into shared memory, of which three more are cleared behind them, adding up their checksum. All threads
// of the block call it. Returns the number of words, 0 where something is wrong: `reason`. n: values of the chunk.
template <class Bits>
__device__ inline int read_words(unsigned *words, unsigned *checksum, const unsigned *payload, const long long *table,
                                 long long words_in_all, long long chunk, int n, unsigned &reason) {
    const long long low = table[chunk], high = table[chunk + 1];
    reason = BAD_PLACE;
    if (low < 0 || high < low || high > words_in_all) {
        return 0;
    }
    reason = BAD_LENGTH;
    if (high - low < 3 || high - low > max(2 + (n * int(sizeof(Bits)) + 3) / 4, 4)) {
        return 0;
    }
    const int length = int(high - low), t = threadIdx.x;
    if (t == 0) {
        *checksum = mix(unsigned(chunk));
    }
    __syncthreads();
    unsigned sum = 0;
    for (int i = t; i < length; i += THREADS) {
        const unsigned word = payload[low + i];
        words[i] = word;
        sum += i == 1 ? 0 : share(word, i);
    }
    if (t < 3) {
        words[length + t] = 0;
    }
    sum = __reduce_add_sync(ALL, sum);
    if ((t & 31) == 0) {
        atomicAdd(checksum, sum);
    }
    __syncthreads();
    return length;
}

// The values of a raw chunk from its words.
template <class Bits> __device__ inline void copy_raw(Bits *out, const unsigned *words, int n) {
    for (int i = threadIdx.x; i < n; i += THREADS) {
        out[i] = ((const Bits *)(words + 2))[i];
    }
}
