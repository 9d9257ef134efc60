// The encoder of `fast` for whole numbers on CUDA: integers, and the levels of floats within an absolute bound. A chunk a block, in one pass over the input.
//
// Values are read side by side, turned into levels and staged; then a thread has eight that lie together. The chunk's
// extremes give the length as digits, its differences to the value and to the row before theirs, and the shortest way is
// taken. Every thread packs its values at the bit where they belong; words that two threads share are joined by OR.
#include "levels.cuh"

template <class T> __device__ inline T value_of(u64 bits) { return __longlong_as_double(bits); }
template <> __device__ inline float value_of<float>(u64 bits) { return __uint_as_float(unsigned(bits)); }

// The level of a float; false where it does not bring the value back within the bound (FORMAT.md).
template <class Type>
__device__ inline bool quantised(typename Type::Bits bits, double bound, double step, double inverse, int &level) {
    const double x = value_of<typename Type::T>(bits), scaled = __dmul_rn(x, inverse);
    // Adding 1.5 2^52 rounds to a whole number, nearest and even, whose low bits are the level.
    constexpr double ROUND = 6755399441055744.0;
    const double shifted = __dadd_rn(scaled, ROUND);
    const double back = typename Type::T(__dmul_rn(__dadd_rn(shifted, -ROUND), step));
    constexpr typename Type::Bits NEGATIVE_ZERO = typename Type::Bits(1) << (8 * sizeof(bits) - 1);
    const bool good = fabs(scaled) < 2147483647.0 && fabs(__dadd_rn(back, -x)) <= bound && bits != NEGATIVE_ZERO;
    level = good ? __double2loint(shifted) : 0;
    return good;
}

template <class Code> __device__ inline Code zigzag(Code value, Code before) {
    const Code d = value - before;
    return d << 1 ^ (d >> (8 * sizeof(Code) - 1) ? ~Code(0) : 0);
}

__device__ inline int length(u64 x) { return 64 - __clzll(x); }
__device__ inline int length(unsigned x) { return 32 - __clz(x); }

// Words of digits without strays at their longest.
template <class Type> constexpr int WORDS = 4 + CHUNK * LEVEL<Type> / 32;

template <class Type> struct Staged {
    Levels<typename Type::Level> levels;
    unsigned words[WORDS<Type>];
    unsigned strays[CHUNK / 32];
    typename Type::Level low[WARPS], high[WARPS];
    u64 checksums[WARPS];
    int sums[WARPS], least[2], most[2], count;
    unsigned ticket;
    u64 begin;
};

// Writes numbers of up to 32 bits one behind the other from a bit of words that are zero.
struct Writer {
    unsigned *word, rest = 0;
    int fill;
    __device__ Writer(unsigned *words, int at) : word(words + (at >> 5)), fill(at & 31) {}
    __device__ void put(unsigned value, int bits) {
        rest |= value << fill;
        const int end = fill + bits;
        if (end >= 32) {
            atomicOr(word++, rest);
            rest = __funnelshift_lc(value, 0, fill);
        }
        fill = end & 31;
    }
    __device__ void put(u64 value, int bits) {
        put(unsigned(value), min(bits, 32));
        if (bits > 32) {
            put(unsigned(value >> 32), bits - 32);
        }
    }
    __device__ void end() {
        if (fill) {
            atomicOr(word, rest);
        }
    }
};

// The least (the greatest) of a number over the lanes of a warp.
__device__ inline int warp_least(int x) { return __reduce_min_sync(ALL, x); }
__device__ inline int warp_greatest(int x) { return __reduce_max_sync(ALL, x); }
__device__ inline long long warp_least(long long x) {
    for (int step = 16; step; step >>= 1) {
        x = min(x, __shfl_xor_sync(ALL, x, step));
    }
    return x;
}
__device__ inline long long warp_greatest(long long x) { return ~warp_least(~x); }

template <class Type>
__device__ inline void encode(unsigned *payload, const Table table, u64 *status, unsigned *ticket,
                              const typename Type::Bits *in, long long count, int row_of, int bands, double bound) {
    using Bits = typename Type::Bits;
    using Level = typename Type::Level;
    using Code = typename Type::Code;
    constexpr Level MOST = Level(~Code(0) >> 1);
    __shared__ Staged<Type> s;
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    if (t == 0) {
        s.least[0] = s.least[1] = 8 * sizeof(Level);
        s.most[0] = s.most[1] = s.count = 0;
    }
    if (t < CHUNK / 32) {
        s.strays[t] = 0;
    }
    const long long chunk = take_ticket(ticket, &s.ticket);
    const Extent extent(count, chunk, row_of, bands);
    const int n = extent.n, row = extent.row;
    const bool rows = row > 0;
    in += extent.begin;

    // Stage: pairs side by side, of narrow types eight.
    const double step = 2 * bound, inverse = Type::FLOAT ? __drcp_rn(step) : 0;
    const auto level_of = [&](int i, Bits bits) {
        Level level;
        if constexpr (!Type::FLOAT) {
            level = typename Type::T(bits);
        } else if (!quantised<Type>(bits, bound, step, inverse, level) && i < n) {
            atomicOr(s.strays + (i >> 5), 1u << (i & 31));
            atomicAdd(&s.count, 1);
        }
        return level;
    };
    const int first = EACH * t, mine = min(EACH, max(0, n - first));
    if (sizeof(Bits) <= 2 && extent.together(EACH)) {
        struct alignas(EACH * sizeof(Bits) <= 16 ? EACH * sizeof(Bits) : 16) Row {
            Bits x[EACH];
        } values = {};
        if (mine == EACH) {
            values = *(const Row *)(in + extent.at(first));
        } else {
            for (int k = 0; k < EACH; k++) {
                values.x[k] = k < mine ? in[extent.at(first + k)] : 0;
            }
        }
        Level x[EACH];
        for (int k = 0; k < EACH; k++) {
            x[k] = level_of(first + k, values.x[k]);
        }
        s.levels.put(first, x);
    } else {
        constexpr int PAIRS = CHUNK / THREADS / 2;
        Two<Bits> two[PAIRS];
        if (n == CHUNK && extent.together(2)) {
            const Bits *from = in + extent.at(2 * t);
            for (int k = 0; k < PAIRS; k++, from += 2 * THREADS / TILE_COLUMNS * extent.pitch) {
                two[k] = *(const Two<Bits> *)from;
            }
        } else {
            for (int k = 0; k < PAIRS; k++) {
                const int i = 2 * (t + THREADS * k);
                two[k] = {i < n ? in[extent.at(i)] : Bits(0), i + 1 < n ? in[extent.at(i + 1)] : Bits(0)};
            }
        }
        for (int k = 0; k < CHUNK / THREADS / 2; k++) {
            const int i = 2 * (t + THREADS * k);
            s.levels.two(i) = {level_of(i, two[k].a), level_of(i + 1, two[k].b)};
        }
    }
    for (int i = t; i < WORDS<Type>; i += THREADS) {
        s.words[i] = 0;
    }
    __syncthreads();

    // A thread's values, their extremes and differences.
    Level x[EACH], low = MOST, high = ~MOST;
    Code every[2] = {0, 0};
    s.levels.take(first, x);
    const Level opening = s.levels[first ? first - 1 : 0];
    Level before = opening;
    for (int k = 0; k < EACH; k++) {
        if (k < mine) {
            low = min(low, x[k]);
            high = max(high, x[k]);
            every[0] |= zigzag<Code>(x[k], before);
            if (rows) {
                every[1] |= zigzag<Code>(x[k], first + k >= row ? s.levels[first + k - row] : before);
            }
        }
        before = x[k];
    }
    low = warp_least(low);
    high = warp_greatest(high);
    int widths[2];
    for (int way = 0; way < 2; way++) {
        every[way] |= __shfl_xor_sync(ALL, every[way], 1);
        widths[way] = length(every[way]);
        const int least = __reduce_min_sync(ALL, mine ? widths[way] : 64), most = __reduce_max_sync(ALL, widths[way]);
        if (lane == 0) {
            atomicMin(s.least + way, least);
            atomicMax(s.most + way, most);
        }
    }
    if (lane == 0) {
        s.low[warp] = low;
        s.high[warp] = high;
    }
    // Both sums at once: of 128 widths of up to 64.
    int all;
    const bool even = (t & 1) == 0;
    const int sum_before = scan(even && mine ? widths[0] | widths[1] << 16 : 0, s.sums, all);
    // The scan's barrier orders the extremes too.
    for (int w = 0; w < WARPS; w++) {
        low = min(low, s.low[w]);
        high = max(high, s.high[w]);
    }
    const Code span = Code(high) - Code(low);
    int shift = max(0, length(span) - 8);
    shift += (span >> shift) == 255;
    const unsigned radix = unsigned(span >> shift) + 1;
    const int container = container_bits(radix), groups = (n + GROUP - 1) / GROUP;
    int mode = DIGITS, amount = (n + 7) / 8 * (container + 8 * shift), head = 0, way = 0;
    for (int w = 0; w < (rows ? 2 : 1); w++) {
        const int bits = 32 - __clz(s.most[w] - s.least[w]);
        const int sum = groups * bits + GROUP * (w ? all >> 16 : all & 0xFFFF);
        if (sum < amount) {
            mode = NEIGHBOUR + w;
            amount = sum;
            head = bits;
            way = w;
        }
    }
    const bool nothing = low == 0 && high == 0 && s.count == 0;
    const int strays = s.count, coded = 4 + (amount + 31) / 32, raw = 2 + (n * int(sizeof(Bits)) + 3) / 4;
    int words = coded + strays * STRAY<Type>;
    if (words >= raw) {
        mode = RAW;
        words = raw;
    }
    if (nothing) {
        words = 0;
    }
    if (t == 0) {
        tell(status, unsigned(chunk), words);
    }

    const int least = s.least[way ? 1 : 0];
    if (nothing) {
    } else if (mode == DIGITS) {
        Writer writer(s.words, 128 + t * (container + 8 * shift));
        if (mine) {
            Code rest[EACH];
            unsigned half[2];
            for (int k = 0; k < EACH; k++) {
                rest[k] = k < mine ? Code(x[k]) - Code(low) : 0;
                if (shift) {
                    writer.put(rest[k] & ((Code(1) << shift) - 1), shift);
                }
            }
            for (int h = 0; h < 2; h++) {
                half[h] = 0;
                for (int k = 3; k >= 0; k--) {
                    half[h] = half[h] * radix + unsigned(rest[4 * h + k] >> shift);
                }
            }
            writer.put(u64(half[1]) * (radix * radix * radix * radix) + half[0], container);
            writer.end();
        }
    } else if (mode >= NEIGHBOUR && mine) {
        const int width = way ? widths[1] : widths[0], bits_before = GROUP * (way ? sum_before >> 16 : sum_before & 0xFFFF);
        // An odd thread's sum has its own group in it already.
        const int at = 128 + groups * head + bits_before - (even ? 0 : EACH * width);
        if (even) {
            Writer heads(s.words, 128 + t / 2 * head);
            heads.put(unsigned(width - least), head);
            heads.end();
        }
        Writer writer(s.words, at);
        before = opening;
        for (int k = 0; k < EACH; k++) {
            const Level other = way && first + k >= row ? s.levels[first + k - row] : before;
            writer.put(k < mine ? zigzag<Code>(x[k], other) : Code(0), width);
            before = x[k];
        }
        writer.end();
    }

    if (t < 32) {
        const u64 sum = ::before(status, unsigned(chunk), words);
        if (t == 0) {
            s.begin = sum;
            table.put(chunk, sum, words);
        }
    }
    __syncthreads();
    if (nothing) {
        return;
    }
    unsigned *out = payload + s.begin;
    u64 checksum = 0;
    const auto put = [&](int place, unsigned word) {
        out[place] = word;
        checksum += u64(word) * factor(place);
    };
    if (t == 0) {
        put(0, mode == RAW ? RAW : mode == DIGITS ? mode | shift << 8 | radix << 16 : mode | least << 8 | head << 16);
        if (mode != RAW) {
            const Code base = Code(mode == DIGITS ? low : s.levels[0]);
            put(2, unsigned(base));
            put(3, sizeof(Code) == 8 ? unsigned(u64(base) >> 32) : strays);
        }
    }
    if (mode == RAW) {
        for (int i = t; i < words - 2; i += THREADS) {
            constexpr int PER = sizeof(Bits) < 4 ? 4 / sizeof(Bits) : 1;
            unsigned word = 0;
            if (sizeof(Bits) == 8) {
                word = unsigned(u64(in[extent.at(i / 2)]) >> 32 * (i & 1));
            } else {
                for (int k = 0; k < PER; k++) {
                    word |= PER * i + k < n ? unsigned(in[extent.at(PER * i + k)]) << 32 / PER * k : 0;
                }
            }
            put(2 + i, word);
        }
    } else {
        for (int i = 4 + t; i < coded; i += THREADS) {
            put(i, s.words[i]);
        }
        if (Type::FLOAT && strays) {
            // A warp has 32 neighbours at a time; those before them are counted by all of its lanes.
            for (int w = warp; w < CHUNK / 32; w += WARPS) {
                int before = 0;
                for (int other = lane; other < w; other += 32) {
                    before += __popc(s.strays[other]);
                }
                before = __reduce_add_sync(ALL, before);
                const unsigned its = s.strays[w];
                if (its >> lane & 1) {
                    const int i = 32 * w + lane, at = coded + STRAY<Type> * (before + __popc(its & ((1u << lane) - 1)));
                    const u64 bits = in[extent.at(i)];
                    put(at, i);
                    put(at + 1, unsigned(bits));
                    if (sizeof(Bits) == 8) {
                        put(at + 2, unsigned(bits >> 32));
                    }
                }
            }
        }
    }
    checksum = warp_sum(checksum);
    if (lane == 0) {
        s.checksums[warp] = checksum;
    }
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < WARPS; w++) {
            checksum += s.checksums[w];
        }
        out[1] = folded(checksum, chunk);
    }
}

#define ENCODE(name, Type)                                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, sizeof(Type::Level) == 8 ? 4 : 6)                                                         \
    encode_levels_##name(unsigned *payload, long long *sections, unsigned short *lengths, unsigned chunks,             \
                         u64 *status, unsigned *ticket, const Type::Bits *in, long long count, int row, int bands,     \
                         double bound) {                                                                               \
        encode<Type>(payload, {sections, lengths, chunks}, status, ticket, in, count, row, bands, bound);              \
    }

using Shorts = Integers<short, unsigned short>;
using Naturals = Integers<unsigned short, unsigned short>;
using Smalls = Integers<signed char, unsigned char>;
using Bytes = Integers<unsigned char, unsigned char>;
ENCODE(float64, Doubles)
ENCODE(float32, Floats)
ENCODE(uint64, Longs)
ENCODE(uint32, Ints)
ENCODE(uint16, Naturals)
ENCODE(int16, Shorts)
ENCODE(uint8, Bytes)
ENCODE(int8, Smalls)
