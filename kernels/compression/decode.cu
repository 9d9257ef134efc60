// The decoder of `fast` on CUDA for floats: FORMAT.md's chunks of groups, a block each.
//
// A lane has two neighbouring values of every run, one of either group: their places follow from the groups' widths.
#include "read.cuh"

// What a chunk's groups are like: symbols of up to 32 bits; any, but no zeros with a code of their own; all else.
enum Kind { NARROW, WIDE, ANY };

// The value of a place in a group whose words and head are given. base: the chunk's. Reads up to two words behind the place.
template <class Type, Kind KIND>
__device__ inline typename Type::Bits value_of(const unsigned *words, unsigned head, int place, unsigned base, int shift) {
    using Wide = typename Type::Wide;
    constexpr int TOP = WIDTH<Type> - 1;
    const int width = head & 127, bit = place * width;
    words += bit >> 5;
    const unsigned low = __funnelshift_r(words[0], words[1], bit);
    const Wide lowest = Wide(base + (head >> 8)) << Type::B, sign = Wide(low & (width ? 1 : 0)) << TOP;
    if (KIND == NARROW) {
        // A shift by 32 leaves nothing.
        const unsigned code = (low & ~__funnelshift_lc(0, ALL, width)) >> 1;
        return lowest + sign + (Wide(code) << shift);
    }
    u64 symbol = u64(__funnelshift_r(words[1], words[2], bit)) << 32 | low, beyond;
    asm("shl.b64 %0, %1, %2;" : "=l"(beyond) : "l"(~0ull), "r"(width));
    const Wide code = Wide(symbol & ~beyond) >> 1;
    if (KIND == WIDE || (head & 128) == 0) {
        return lowest + sign + (code << shift);
    }
    return sign + (code ? lowest + (code - 1 << shift) : 0);
}

template <class Type> struct Groups {
    using Bits = typename Type::Bits;
    // A warp has RUNS runs of 64 values; each lane two neighbouring values of every run, one of either group.
    static constexpr int THREADS = 128, RUNS = CHUNK / 2 / THREADS;
    int n, places;
    unsigned heads;
    Kind kind;

    __device__ Groups(long long count, long long chunk) : n(chunk_length<CHUNK>(count, chunk)) {}
    __device__ static Bits *at(Bits *out, int i) { return out + i; }

    // Every warp finds the places of all groups: lane l has the heads of run l and the place of its first group.
    __device__ int length(const unsigned *words, int length) {
        const int lane = threadIdx.x & 31, runs = (n + 63) / 64, mode = words[0] & 7, shift = words[0] >> 8;
        if (mode == CONSTANT) {
            return words[0] ? -BAD_MODE : 4;
        }
        if (mode != PACKED || words[0] & 0xF8 || shift > Type::B) {
            return -BAD_MODE;
        }
        if (length < 4 + runs) {
            return -BAD_LENGTH;
        }
        heads = lane < runs ? words[4 + lane] : 0;
        const int a = heads & 127, b = heads >> 16 & 127, most = __reduce_max_sync(ALL, max(a, b));
        if (most > WIDTH<Type>) {
            return -BAD_LENGTH;
        }
        kind = n < CHUNK || __any_sync(ALL, heads & 0x00800080) ? ANY : most > 32 ? WIDE : NARROW;
        places = a + b;
        for (int step = 1; step < 32; step <<= 1) {
            const int lower = __shfl_up_sync(ALL, places, step);
            places += lane >= step ? lower : 0;
        }
        const int all = __shfl_sync(ALL, places, 31);
        places -= a + b;
        return 4 + runs + all;
    }

    template <Kind KIND> __device__ void unpack(Bits *out, const unsigned *words) const {
        const int lane = threadIdx.x & 31, first = RUNS * (threadIdx.x >> 5), shift = words[0] >> 8;
        const unsigned base = words[2];
        words += 4 + (n + 63) / 64;
        out += 64 * first + 2 * lane;
#pragma unroll
        for (int r = 0; r < RUNS; r++) {
            const unsigned both = __shfl_sync(ALL, heads, first + r);
            const unsigned *group = words + __shfl_sync(ALL, places, first + r);
            const Two<Bits> two = {
                value_of<Type, KIND>(group, both & 0xFFFF, lane, base, shift),
                value_of<Type, KIND>(group + (both & 127), both >> 16, lane, base, shift),
            };
            const int left = n - 64 * (first + r) - 2 * lane;
            if (KIND != ANY || left > 1) {
                *(Two<Bits> *)(out + 64 * r) = two;
            } else if (left == 1) {
                out[64 * r] = two.a;
            }
        }
    }

    __device__ void write(Bits *out, const unsigned *words, int) const {
        if ((words[0] & 7) == CONSTANT) {
            const Bits value = Bits(u64(words[3]) << 32 | words[2]);
            for (int i = 2 * threadIdx.x; i < n; i += 2 * THREADS) {
                if (i + 1 < n) {
                    *(Two<Bits> *)(out + i) = {value, value};
                } else {
                    out[i] = value;
                }
            }
        } else if (kind == NARROW) {
            unpack<NARROW>(out, words);
        } else if (kind == WIDE) {
            unpack<WIDE>(out, words);
        } else {
            unpack<ANY>(out, words);
        }
    }
};

#define DECODE(name, Type)                                                                                             \
    extern "C" __global__ void __launch_bounds__(Groups<Type>::THREADS)                                              \
    decode_##name(Type::Bits *out, u64 *wrong, const unsigned *payload, const long long *table, long long count,       \
                  long long words_in_all, long long first) {                                                           \
        Groups<Type> groups(count, first + blockIdx.x);                                                                \
        decode(out + (long long)blockIdx.x * CHUNK, wrong, payload, table, words_in_all, first + blockIdx.x, groups);  \
    }

DECODE(float64, Float64)
DECODE(float32, Float32)
