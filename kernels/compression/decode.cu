// The decoder of `fast` on CUDA for floats: FORMAT.md's chunks of groups, a block each.
//
// A lane has two values of every run, one of either group: their places follow from the groups' widths.
#include "read.cuh"

// What a chunk's groups are like: symbols of up to 32 bits; any, but no zeros with a code of their own; all else.
enum Kind { NARROW, WIDE, ANY };

// Two groups as the lanes take them: widths and relative bases, a byte each; where the first begins, in words, and flags of
// either. A shift by a whole word of flags looks at five bits: the four above those of one sign are zero.
constexpr int ALONE = 16, ALONE_NEXT = 21, ZEROS = 26, ZEROS_NEXT = 27, NEGATIVE_NEXT = 30, NEGATIVE = 31;

// The value of a place in a group of so wide symbols. alone, negative: what FORMAT.md calls one sign, as the amount of a
// shift and as the highest bit; lowest: the upper word of the base. Reads up to two words behind the place.
template <class Type, Kind KIND>
__device__ inline typename Type::Bits value_of(const unsigned *words, int width, int place, unsigned alone, unsigned negative,
                                               bool zeros, unsigned lowest, int shift) {
    using Wide = typename Type::Wide;
    const int bit = place * width;
    words += bit >> 5;
    const unsigned low = __funnelshift_r(words[0], words[1], bit);
    const Wide base = Wide(lowest) << LOW<Type>;
    if (KIND == NARROW) {
        // A shift by 32 leaves nothing.
        const unsigned symbol = __funnelshift_l(negative, low & ~__funnelshift_lc(0, ALL, width), alone);
        return base + (Wide(symbol << 31) << LOW<Type>) + (Wide(symbol >> 1) << shift);
    }
    u64 stored = u64(__funnelshift_r(words[1], words[2], bit)) << 32 | low, beyond;
    asm("shl.b64 %0, %1, %2;" : "=l"(beyond) : "l"(~0ull), "r"(width));
    stored &= ~beyond;
    const unsigned lower = __funnelshift_l(negative, unsigned(stored), alone);
    const u64 symbol = u64(__funnelshift_l(unsigned(stored), unsigned(stored >> 32), alone)) << 32 | lower;
    const Wide code = Wide(symbol >> 1), sign = Wide(lower << 31) << LOW<Type>;
    if (KIND == WIDE || !zeros) {
        return base + sign + (code << shift);
    }
    return sign + (code ? base + (code - 1 << shift) : 0);
}

template <class Type> struct Groups {
    using Bits = typename Type::Bits;
    // A warp has RUNS runs of 64 values, each lane one value of either group.
    static constexpr int THREADS = 128, RUNS = CHUNK / 2 / THREADS;
    int n;
    const bool pairs;
    unsigned heads, where;
    Kind kind;

    __device__ Groups(long long count, long long chunk, bool pairs) : n(chunk_length<CHUNK>(count, chunk)), pairs(pairs) {}
    __device__ static Bits *at(Bits *out, int i) { return out + i; }

    // Every warp finds the places of all groups: lane l has what is to be known of the groups of run l.
    __device__ int length(const unsigned *words, int length) {
        const int lane = threadIdx.x & 31, runs = (n + 63) / 64, mode = words[0] & 7;
        if (mode == CONSTANT) {
            return words[0] ? -BAD_MODE : 4;
        }
        const int shift = words[0] >> 8 & 63, fine = words[0] >> 16;
        if (mode != PACKED || words[0] & 0xC0F8 || fine > Type::B || fine < max(shift, LOW<Type>)) {
            return -BAD_MODE;
        }
        if (length < 4 + runs) {
            return -BAD_LENGTH;
        }
        const unsigned both = lane < runs ? words[4 + lane] : 0x00800080;
        const unsigned alone = both >> 7 & 0x00010001, mark = both >> 6 & 0x00010001;
        // Two numbers side by side: no sum reaches 2^16.
        const unsigned widths = (both & 0x003F003F) + 0x00010001 - alone, negative = mark & alone;
        unsigned zeros = mark & ~alone;
        zeros |= (both & 0xFFBF) == (NOTHING << 8 | 0x80);
        zeros |= (both >> 16 & 0xFFBF) == (NOTHING << 8 | 0x80) ? 0x10000 : 0;
        const unsigned whole = widths + alone, most = __reduce_max_sync(ALL, max(whole & 0xFFFF, whole >> 16));
        if (most > WIDTH<Type>) {
            return -BAD_LENGTH;
        }
        kind = n < CHUNK || __any_sync(ALL, zeros) ? ANY : most > 32 ? WIDE : NARROW;
        const int mine = (widths & 0xFFFF) + (widths >> 16);
        int places = mine;
        for (int step = 1; step < 32; step <<= 1) {
            const int lower = __shfl_up_sync(ALL, places, step);
            places += lane >= step ? lower : 0;
        }
        const int all = __shfl_sync(ALL, places, 31);
        heads = (both & 0xFF00FF00) | widths;
        where = (places - mine) | (alone & 1) << ALONE | (alone >> 16) << ALONE_NEXT | (zeros & 1) << ZEROS |
                (zeros >> 16) << ZEROS_NEXT | negative << NEGATIVE | (negative >> 16) << NEGATIVE_NEXT;
        return 4 + runs + all;
    }

    template <Kind KIND> __device__ void unpack(Bits *out, const unsigned *words) const {
        const int lane = threadIdx.x & 31, first = RUNS * (threadIdx.x >> 5), shift = words[0] >> 8 & 63;
        const int fine = int(words[0] >> 16) - LOW<Type>, step = pairs ? 1 : 32;
        const unsigned base = words[2];
        words += 4 + (n + 63) / 64;
        out += 64 * first + (pairs ? 2 * lane : lane);
        int left = n - 64 * first - (pairs ? 2 * lane : lane);
#pragma unroll
        for (int r = 0; r < RUNS; r++, left -= 64) {
            const unsigned both = __shfl_sync(ALL, heads, first + r), at = __shfl_sync(ALL, where, first + r);
            const unsigned *group = words + (at & 0xFFFF);
            const int width = both & 0xFF, next_width = both >> 16 & 0xFF;
            const Bits a = value_of<Type, KIND>(group, width, lane, at >> ALONE, at, at >> ZEROS & 1,
                                                base + (both >> 8 & 0xFF) << fine, shift);
            const Bits b = value_of<Type, KIND>(group + width, next_width, lane, at >> ALONE_NEXT, at << 1, at >> ZEROS_NEXT & 1,
                                                base + (both >> 24) << fine, shift);
            if (KIND == ANY) {
                if (left > 0) {
                    out[64 * r] = a;
                }
                if (left > step) {
                    out[64 * r + step] = b;
                }
            } else if (pairs) {
                *(Two<Bits> *)(out + 64 * r) = {a, b};
            } else {
                out[64 * r] = a;
                out[64 * r + 32] = b;
            }
        }
    }

    __device__ void fill(Bits *out, Bits value) const {
        for (int i = 2 * threadIdx.x; i < n; i += 2 * THREADS) {
            if (i + 1 < n) {
                *(Two<Bits> *)(out + i) = {value, value};
            } else {
                out[i] = value;
            }
        }
    }

    __device__ void clear(Bits *out) const { fill(out, 0); }

    __device__ void write(Bits *out, const unsigned *words, int) const {
        if ((words[0] & 7) == CONSTANT) {
            fill(out, Bits(u64(words[3]) << 32 | words[2]));
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
    decode_##name(Type::Bits *out, u64 *wrong, const unsigned *payload, long long *sections, unsigned short *lengths,  \
                  unsigned chunks, long long count, long long words_in_all, long long first, int pairs) {                               \
        Groups<Type> groups(count, first + blockIdx.x, pairs);                                                         \
        decode(out + (long long)blockIdx.x * CHUNK, wrong, payload, {sections, lengths, chunks}, words_in_all,         \
               first + blockIdx.x, groups);                                                                            \
    }

DECODE(float64, Float64)
DECODE(float32, Float32)
