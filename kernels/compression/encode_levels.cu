// The encoder of `fast` for whole numbers on CUDA: integers of up to 32 bits, and the levels of floats within an absolute
// bound. A chunk a block, in one pass over the input.
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

__device__ inline unsigned folded(int value, int before) {
    const int d = int(unsigned(value) - unsigned(before));
    return unsigned(d) << 1 ^ unsigned(d >> 31);
}

// Words of digits without strays at their longest.
constexpr int WORDS = 4 + CHUNK;

struct Staged {
    int levels[PLACES];
    unsigned words[WORDS];
    unsigned strays[CHUNK / 32];
    int low, high, sums[WARPS], least[2], most[2], count;
    unsigned checksum, ticket;
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
    __device__ void end() {
        if (fill) {
            atomicOr(word, rest);
        }
    }
};

template <class Type>
__device__ inline void encode(unsigned *payload, long long *table, u64 *status, unsigned *ticket,
                              const typename Type::Bits *in, long long count, int row, double bound) {
    using Bits = typename Type::Bits;
    __shared__ Staged s;
    const int t = threadIdx.x, lane = t & 31;
    if (t == 0) {
        s.low = 0x7FFFFFFF;
        s.high = -0x7FFFFFFF - 1;
        s.least[0] = s.least[1] = 64;
        s.most[0] = s.most[1] = s.count = 0;
        s.checksum = 0;
    }
    if (t < CHUNK / 32) {
        s.strays[t] = 0;
    }
    const long long chunk = take_ticket(ticket, &s.ticket);
    const int n = chunk_length<CHUNK>(count, chunk);
    in += chunk * CHUNK;

    // Stage: pairs side by side.
    const double step = 2 * bound, inverse = Type::FLOAT ? __drcp_rn(step) : 0;
    Two<Bits> two[CHUNK / THREADS / 2];
    for (int k = 0; k < CHUNK / THREADS / 2; k++) {
        const int i = 2 * (t + THREADS * k);
        two[k] = {0, 0};
        if (i + 1 < n) {
            two[k] = *(const Two<Bits> *)(in + i);
        } else if (i < n) {
            two[k].a = in[i];
        }
    }
    for (int k = 0; k < CHUNK / THREADS / 2; k++) {
        for (int h = 0; h < 2; h++) {
            const int i = 2 * (t + THREADS * k) + h;
            const Bits bits = h ? two[k].b : two[k].a;
            int level;
            if constexpr (!Type::FLOAT) {
                level = int(bits);
            } else if (!quantised<Type>(bits, bound, step, inverse, level) && i < n) {
                atomicOr(s.strays + (i >> 5), 1u << (i & 31));
                atomicAdd(&s.count, 1);
            }
            s.levels[place_of(i)] = level;
        }
    }
    for (int i = t; i < WORDS; i += THREADS) {
        s.words[i] = 0;
    }
    __syncthreads();

    // A thread's values, their extremes and differences.
    const int first = EACH * t, mine = min(EACH, max(0, n - first)), from = place_of(first);
    const bool rows = 0 < row && row < n;
    int x[EACH], low = 0x7FFFFFFF, high = -0x7FFFFFFF - 1;
    unsigned every[2] = {0, 0};
    int before = s.levels[first ? from - 2 : 0];
    const int opening = before;
    const auto row_before = [&](int k) { return s.levels[place_of(first + k - row)]; };
    for (int k = 0; k < EACH; k++) {
        x[k] = s.levels[from + k];
        if (k < mine) {
            low = min(low, x[k]);
            high = max(high, x[k]);
            every[0] |= folded(x[k], before);
            if (rows) {
                every[1] |= folded(x[k], first + k >= row ? row_before(k) : before);
            }
        }
        before = x[k];
    }
    low = __reduce_min_sync(ALL, low);
    high = __reduce_max_sync(ALL, high);
    int widths[2];
    for (int way = 0; way < 2; way++) {
        every[way] |= __shfl_xor_sync(ALL, every[way], 1);
        widths[way] = 32 - __clz(every[way]);
        const unsigned least = __reduce_min_sync(ALL, mine ? widths[way] : 64), most = __reduce_max_sync(ALL, widths[way]);
        if (lane == 0) {
            atomicMin(s.least + way, int(least));
            atomicMax(s.most + way, int(most));
        }
    }
    if (lane == 0) {
        atomicMin(&s.low, low);
        atomicMax(&s.high, high);
    }
    // Both sums at once: of 128 widths of up to 32.
    int all;
    const bool even = (t & 1) == 0;
    const int sum_before = scan(even && mine ? widths[0] | widths[1] << 16 : 0, s.sums, all);
    // The scan's barriers order the extremes too.
    const unsigned span = unsigned(s.high) - unsigned(s.low);
    int shift = max(0, 24 - __clz(span));
    shift += (span >> shift) == 255;
    const unsigned radix = (span >> shift) + 1;
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
    const int strays = s.count, coded = 4 + (amount + 31) / 32, raw = 2 + (n * int(sizeof(Bits)) + 3) / 4;
    int words = coded + strays * STRAY<Type>;
    if (words >= raw) {
        mode = RAW;
        words = raw;
    }
    if (t == 0) {
        tell(status, unsigned(chunk), words);
    }

    const int least = s.least[way];
    if (mode == DIGITS) {
        Writer writer(s.words, 128 + t * (container + 8 * shift));
        if (mine) {
            unsigned rest[EACH], half[2];
            for (int k = 0; k < EACH; k++) {
                rest[k] = k < mine ? unsigned(x[k]) - unsigned(s.low) : 0;
                writer.put(rest[k] & ((1u << shift) - 1), shift);
            }
            for (int h = 0; h < 2; h++) {
                half[h] = 0;
                for (int k = 3; k >= 0; k--) {
                    half[h] = half[h] * radix + (rest[4 * h + k] >> shift);
                }
            }
            const u64 digits = u64(half[1]) * (radix * radix * radix * radix) + half[0];
            writer.put(unsigned(digits), min(container, 32));
            if (container > 32) {
                writer.put(unsigned(digits >> 32), container - 32);
            }
            writer.end();
        }
    } else if (mode >= NEIGHBOUR && mine) {
        const int width = way ? widths[1] : widths[0], bits_before = GROUP * (way ? sum_before >> 16 : sum_before & 0xFFFF);
        // An odd thread's sum has its own group in it already.
        const int at = 128 + groups * head + bits_before - (even ? 0 : EACH * width);
        if (even) {
            Writer heads(s.words, 128 + t / 2 * head);
            heads.put(width - least, head);
            heads.end();
        }
        Writer writer(s.words, at);
        before = opening;
        for (int k = 0; k < EACH; k++) {
            const int other = way && first + k >= row ? row_before(k) : before;
            writer.put(k < mine ? folded(x[k], other) : 0, width);
            before = x[k];
        }
        writer.end();
    }

    if (t < 32) {
        const u64 sum = ::before(status, unsigned(chunk), words);
        if (t == 0) {
            s.begin = sum;
            table[chunk] = sum;
            if (chunk == gridDim.x - 1) {
                table[chunk + 1] = sum + words;
            }
        }
    }
    __syncthreads();
    unsigned *out = payload + s.begin;
    unsigned checksum = 0;
    const auto put = [&](int place, unsigned word) {
        out[place] = word;
        checksum += share(word, place);
    };
    if (t == 0) {
        checksum = mix(unsigned(chunk));
        put(0, mode == RAW ? RAW : mode == DIGITS ? mode | shift << 8 | radix << 16 : mode | least << 8 | head << 16);
        if (mode != RAW) {
            put(2, unsigned(mode == DIGITS ? s.low : s.levels[0]));
            put(3, strays);
        }
    }
    if (mode == RAW) {
        for (int i = t; i < words - 2; i += THREADS) {
            if (sizeof(Bits) == 8) {
                put(2 + i, unsigned(u64(in[i / 2]) >> 32 * (i & 1)));
            } else if (sizeof(Bits) == 4) {
                put(2 + i, unsigned(in[i]));
            } else {
                put(2 + i, in[2 * i] | (2 * i + 1 < n ? unsigned(in[2 * i + 1]) << 16 : 0u));
            }
        }
    } else {
        for (int i = 4 + t; i < coded; i += THREADS) {
            put(i, s.words[i]);
        }
        if (Type::FLOAT && strays && t < CHUNK / 32) {
            int at = coded;
            for (int w = 0; w < t; w++) {
                at += STRAY<Type> * __popc(s.strays[w]);
            }
            for (unsigned rest = s.strays[t]; rest; rest &= rest - 1) {
                const int i = 32 * t + __ffs(rest) - 1;
                put(at, i);
                put(at + 1, unsigned(in[i]));
                if (sizeof(Bits) == 8) {
                    put(at + 2, unsigned(u64(in[i]) >> 32));
                }
                at += STRAY<Type>;
            }
        }
    }
    checksum = __reduce_add_sync(ALL, checksum);
    if (lane == 0) {
        atomicAdd(&s.checksum, checksum);
    }
    __syncthreads();
    if (t == 0) {
        out[1] = s.checksum;
    }
}

#define ENCODE(name, Type)                                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
    encode_levels_##name(unsigned *payload, long long *table, u64 *status, unsigned *ticket, const Type::Bits *in,     \
                         long long count, int row, double bound) {                                                     \
        encode<Type>(payload, table, status, ticket, in, count, row, bound);                                           \
    }

ENCODE(float64, Doubles)
ENCODE(float32, Floats)
ENCODE(uint32, Words)
ENCODE(uint16, Halves)
