// The encoder of `fast` on CUDA for floats: FORMAT.md's chunks of groups, two warps each, in one pass over the input.
//
// A chunk is staged in shared memory, rounded on the way. From then on a lane has a whole group to itself: it finds the
// group's least base and width in one pass over its values and packs them in a second, so that nothing is exchanged
// between lanes but one place a group. A group's packed words take the places of its own values, which have been read by
// then. The length of a block's chunks is told to later blocks before packing and their place is asked for after it, so
// that there is little left to wait for.
#include "chunk.cuh"

constexpr int SIDE = 2, STAGE = CHUNK + CHUNK / 64 * 2;

// Chunks a block: of narrow types more, for as many bytes.
template <class Type> constexpr int PARTS = sizeof(typename Type::Bits) == 8 ? 2 : 4;

// Place of value i of a chunk in its stage, where the values of two groups alternate: two places are left free after 64, so
// that lanes meet in no bank.
__device__ inline int slot(int i, bool pairs) {
    const int run = i >> 6, j = i & 63;
    return 66 * run + (pairs ? j : 2 * (j & 31) + (j >> 5));
}

__device__ inline unsigned upper(u64 x) { return unsigned(x >> 32); }
__device__ inline unsigned upper(unsigned x) { return x; }
__device__ inline int length(u64 x) { return 64 - __clzll(x); }
__device__ inline int length(unsigned x) { return 32 - __clz(x); }

// A float's bits rounded to nearest even above `drop` > 0 bits; as they are where that breaks the bound.
template <class Type> __device__ inline typename Type::Wide rounded(typename Type::Wide bits, int drop) {
    using Wide = typename Type::Wide;
    constexpr int AT = Type::B & 31;
    constexpr unsigned INFINITE = 0x7FFFFFFFu >> AT << AT, LEAST = 1u << AT;
    const Wide below = (Wide(1) << drop) - 1;
    const Wide up = (bits + (below >> 1) + (bits >> drop & 1)) & ~below;
    const bool fits = (upper(bits) & INFINITE) - LEAST < INFINITE - LEAST && (upper(up) & INFINITE) < INFINITE;
    return fits ? up : bits;
}

// What the warps of a chunk tell each other. stage: values by `slot`, later words.
template <class Wide> struct alignas(16) Part {
    Wide stage[STAGE];
    u64 sums[SIDE];
    unsigned every[2], varied, lowest, highest;
    int words[SIDE];
};

// A group as its lane has it. bias: what is taken from a magnitude; zeros: 1 where zero has a code of its own; beside: bits
// of a symbol for its sign.
template <class Type> struct Group {
    using Wide = typename Type::Wide;
    Wide most = 0, bias;
    unsigned least = ALL, first, differ = 0, zeros = 0, beside, head;
    int width, shift;

    // first: the upper word of the group's first value.
    __device__ Group(unsigned first) : first(first) {}

    static __device__ Wide magnitude(Wide x) { return x & ~Wide(0) >> 1; }

    __device__ void take(Wide x) {
        const Wide m = magnitude(x);
        least = min(least, m ? upper(m) : ALL);
        most = max(most, m);
        zeros += m == 0;
        differ |= upper(x) ^ first;
    }

    // places: values of the group; base: the chunk's, above `fine` bits.
    __device__ void code(int places, unsigned base, int fine, int t) {
        const bool nothing = least == ALL;
        const unsigned relative = nothing ? NOTHING : min((least >> (fine - LOW<Type>)) - base, unsigned(NOTHING - 1));
        const unsigned b = base + relative, coded = zeros > 32 - places && b != 0, alone = differ >> 31 == 0 && (nothing || !coded);
        zeros = coded;
        bias = Wide(b << (fine - LOW<Type>)) << LOW<Type>;
        shift = t;
        beside = 1 - alone;
        const Wide longest = nothing ? 0 : ((most - bias) >> t) + zeros;
        width = alone || longest ? length(longest) + beside : 1;
        head = relative << 8 | alone << 7 | (alone ? first >> 31 : zeros) << 6 | (width - beside);
    }

    __device__ Wide symbol(Wide x) const {
        const Wide m = magnitude(x), c = m ? ((m - bias) >> shift) + zeros : 0;
        const Wide low = __funnelshift_l(upper(x), unsigned(c), beside);
        return LOW<Type> ? Wide(__funnelshift_l(unsigned(c), upper(c), beside)) << LOW<Type> | low : low;
    }

    // The same of values of which only the upper word, given, is not zero: all are with a shift of 32 or more.
    __device__ void take_upper(unsigned x, unsigned &top) {
        const unsigned m = x & ALL >> 1;
        least = min(least, m ? m : ALL);
        top = max(top, m);
        zeros += m == 0;
        differ |= x ^ first;
    }
    __device__ unsigned symbol_upper(unsigned x) const {
        const unsigned m = x & ALL >> 1, c = m ? ((m - upper(bias)) >> (shift - 32)) + zeros : 0;
        return __funnelshift_l(x, c, beside);
    }
};

__device__ inline unsigned upper_at(const u64 *at) { return ((const unsigned *)at)[1]; }
__device__ inline unsigned upper_at(const unsigned *at) { return *at; }

// Pack a lane's group in place: values are read four at a time before the words that they fill are written. A Unit, of
// the bits of a value or of 32 where no symbol is longer, goes to the place of a value. UPPER: as in symbol_upper.
template <class Unit, bool UPPER, class Type> __device__ inline void pack(typename Type::Wide *at, const Group<Type> &group) {
    constexpr int BITS = 8 * sizeof(Unit);
    const typename Type::Wide *from = at;
    Unit rest = 0;
    int fill = 0;
#pragma unroll 1
    for (int p = 0; p < 32; p += 4, from += 8) {
        Unit symbols[4];
        for (int q = 0; q < 4; q++) {
            symbols[q] = UPPER ? Unit(group.symbol_upper(upper_at(from + 2 * q))) : Unit(group.symbol(from[2 * q]));
        }
        for (int q = 0; q < 4; q++) {
            const Unit s = symbols[q];
            rest |= s << fill;
            const int end = fill + group.width;
            if (end >= BITS) {
                *(Unit *)at = rest;
                at += 2;
                rest = BITS == 32 ? __funnelshift_lc(unsigned(s), 0, fill) : s >> 1 >> (BITS - 1 - fill);
            }
            fill = end & (BITS - 1);
        }
    }
    if (fill) {
        *(Unit *)at = rest;
    }
}

template <class Type>
__device__ inline void encode(unsigned *payload, const Table table, u64 *status, unsigned *ticket,
                              const typename Type::Bits *in, long long count, int drop, bool pairs) {
    using Bits = typename Type::Bits;
    using Wide = typename Type::Wide;
    constexpr int B = Type::B, P = PARTS<Type>;
    __shared__ Part<Wide> parts[P];
    __shared__ unsigned slot_of_ticket;
    __shared__ u64 begin;
    const int t = threadIdx.x, lane = t & 31, side = t >> 5 & 1;
    Part<Wide> &part = parts[t >> 6];
    if ((t & 63) == 0) {
        part.every[0] = part.every[1] = part.varied = 0;
        part.lowest = ALL;
        part.highest = 0;
    }
    const long long block = take_ticket(ticket, &slot_of_ticket), chunk = block * P + (t >> 6);
    const int n = max(0, chunk_length<CHUNK>(count, chunk)), groups = 2 * ((n + 63) / 64);
    in += chunk * CHUNK;

    // Stage.
    const Wide first = n == 0 ? 0 : drop ? rounded<Type>(in[0], drop) : Wide(in[0]);
    Wide every = 0, varied = 0;
    constexpr int BATCH = 4;
    // The other value of a lane is so far from its first.
    const int step = pairs ? 1 : 32;
    for (int r = side; r < 32; r += SIDE * BATCH) {
        Two<Bits> two[BATCH];
        Wide *to = part.stage + 66 * r + 2 * lane;
        const int i = 64 * r + (pairs ? 2 * lane : lane);
        const auto keep = [&](int k, Wide a, Wide b) {
            if (drop) {
                a = rounded<Type>(a, drop);
                b = rounded<Type>(b, drop);
            }
            every |= a | b;
            *(Two<Wide> *)(to + 66 * SIDE * k) = {a, b};
            return Two<Wide>{a ^ first, b ^ first};
        };
        if (n == CHUNK) {
            if (pairs) {
                for (int k = 0; k < BATCH; k++) {
                    two[k] = *(const Two<Bits> *)(in + i + 64 * SIDE * k);
                }
            } else {
                for (int k = 0; k < BATCH; k++) {
                    two[k] = {in[i + 64 * SIDE * k], in[i + 64 * SIDE * k + 32]};
                }
            }
            for (int k = 0; k < BATCH; k++) {
                const Two<Wide> other = keep(k, two[k].a, two[k].b);
                varied |= other.a | other.b;
            }
            continue;
        }
#pragma unroll 1
        for (int k = 0; k < BATCH; k++) {
            const int left = n - i - 64 * SIDE * k;
            const Bits *at = in + i + 64 * SIDE * k;
            const Two<Wide> other = keep(k, left > 0 ? at[0] : 0, left > step ? at[step] : 0);
            varied |= (left > 0 ? other.a : 0) | (left > step ? other.b : 0);
        }
    }
    // The shift: zeros below in all values; what lies above B sets no limit.
    varied = __any_sync(ALL, varied != 0);
    const unsigned low = __reduce_or_sync(ALL, unsigned(every));
    const unsigned high = __reduce_or_sync(ALL, upper(every));
    if (lane == 0) {
        atomicOr(part.every, low);
        atomicOr(part.every + 1, high);
        if (varied) {
            part.varied = 1;
        }
    }
    __syncthreads();
    unsigned anything = 0;
    for (int q = 0; q < P; q++) {
        anything |= parts[q].every[0] | parts[q].every[1];
    }
    if (!anything) {
        if (t < 32) {
            if (lane == 0) {
                tell(status, unsigned(block), 0);
            }
            // The place of a block is asked for where a section begins and where all end.
            const bool asked = block * P % SECTION == 0 || block == gridDim.x - 1;
            const u64 place = asked ? before(status, unsigned(block), 0) : 0;
            if (lane < P && block * P + lane < table.chunks) {
                table.put(unsigned(block * P + lane), place, 0);
            }
        }
        return;
    }
    const bool same = !part.varied;
    const u64 all = (sizeof(Wide) == 8 ? u64(part.every[1]) << 32 | part.every[0] : part.every[0]) | 1ull << B;
    const int shift = same ? 0 : __ffsll(all) - 1;

    // A lane's group: the lane beside it has the other places of the run.
    const int group = 32 * side + lane, head_of_run = 66 * (group >> 1), mine = head_of_run + (group & 1);
    const int left = n - 64 * (group >> 1) - (group & 1) * step, places = min(32, max(0, pairs ? (left + 1) / 2 : left));
    Group<Type> g(upper(part.stage[mine]));
    const bool only_upper = sizeof(Wide) == 8 && shift >= 32;
    if (same) {
        // It has no groups.
    } else if (only_upper) {
        unsigned top = 0;
#pragma unroll 8
        for (int p = 0; p < 32; p++) {
            g.take_upper(upper_at(part.stage + mine + 2 * p), top);
        }
        g.most = Wide(u64(top) << 32);
    } else {
#pragma unroll 8
        for (int p = 0; p < 32; p++) {
            g.take(part.stage[mine + 2 * p]);
        }
    }
    const unsigned least = __reduce_min_sync(ALL, g.least), greatest = __reduce_max_sync(ALL, g.least == ALL ? 0 : g.least);
    if (lane == 0) {
        atomicMin(&part.lowest, least);
        atomicMax(&part.highest, greatest);
    }
    __syncthreads();
    // Bases begin as low as their distances fit.
    const unsigned lowest = part.lowest == ALL ? 0 : part.lowest;
    const int fine = min(max(LOW<Type> + max(length(part.highest - lowest) - 8, 0), shift), B);
    const unsigned base = lowest >> (fine - LOW<Type>);
    g.code(places, base, fine, shift);
    int words = __reduce_add_sync(ALL, g.width);
    if (lane == 0) {
        part.words[side] = words;
    }
    __syncthreads();
    // The chunk's mode and length, in all its threads; the block's length in all of the block.
    const auto mode_of = [&](const Part<Wide> &p, int n, int &words) {
        const int raw = 2 + (n * int(sizeof(Bits)) + 3) / 4;
        int mode = CONSTANT;
        words = n > 0 && (p.every[0] | p.every[1]) ? 4 : 0;
        if (p.varied) {
            mode = PACKED;
            words = 4 + (n + 63) / 64 + p.words[0] + p.words[1];
            if (words >= raw) {
                mode = RAW;
                words = raw;
            }
        }
        return mode;
    };
    int mode = 0, before_chunk = 0, total = 0;
    for (int q = 0; q < P; q++) {
        int its;
        const int m = mode_of(parts[q], max(0, chunk_length<CHUNK>(count, block * P + q)), its);
        if (q == t >> 6) {
            mode = m;
            words = its;
            before_chunk = total;
        }
        total += its;
    }
    if (t == 0) {
        tell(status, unsigned(block), total);
    }

    // Pack.
    int at = g.width;
    for (int step = 1; step < 32; step <<= 1) {
        const int lower = __shfl_up_sync(ALL, at, step);
        at += lane >= step ? lower : 0;
    }
    at += 4 + groups / 2 - g.width;
    if (side) {
        at += part.words[0];
    }
    // A shift of 32 leaves 32 bits at most.
    const bool narrow = sizeof(Wide) == 4 || __all_sync(ALL, g.width <= 32);
    if (mode == PACKED) {
        if (only_upper) {
            pack<unsigned, true>(part.stage + mine, g);
        } else if (narrow) {
            pack<unsigned, false>(part.stage + mine, g);
        } else {
            pack<Wide, false>(part.stage + mine, g);
        }
        __syncwarp();
    }

    if (t < 32) {
        const u64 sum = before(status, unsigned(block), total);
        if (lane == 0) {
            begin = sum;
        }
    }
    __syncthreads();
    const long long place = begin + before_chunk;
    unsigned *out = payload + place;
    u64 sum = 0;
    const auto put = [&](int place, unsigned word) {
        out[place] = word;
        sum += u64(word) * factor(place);
    };
    if ((t & 63) == 0 && n) {
        table.put(chunk, place, words);
    }
    if (words == 0) {
        return;
    }
    if ((t & 63) == 0) {
        put(0, mode == PACKED ? mode | shift << 8 | fine << 16 : mode);
        if (mode != RAW) {
            put(2, mode == CONSTANT ? unsigned(first) : base);
            put(3, mode == CONSTANT ? unsigned(u64(first) >> 32) : 0);
        }
    }
    if (mode == RAW) {
        for (int i = t & 63; i < words - 2; i += 64) {
            const unsigned *at = (const unsigned *)part.stage;
            put(2 + i, sizeof(Bits) == 8 ? at[2 * slot(i / 2, pairs) + (i & 1)] : at[slot(i, pairs)]);
        }
    } else if (mode == PACKED) {
        const unsigned beside = __shfl_down_sync(ALL, g.head, 1);
        if ((lane & 1) == 0 && group < groups) {
            put(4 + group / 2, g.head | beside << 16);
        }
        // Half a warp a group.
        const int half = lane >> 4;
        const unsigned *from = (const unsigned *)(part.stage + 66 * 16 * side + half);
#pragma unroll 4
        for (int pair = 0; pair < 16; pair++) {
            const int width = __shfl_sync(ALL, g.width, 2 * pair + half);
            const int to = __shfl_sync(ALL, at, 2 * pair + half);
#pragma unroll 1
            for (int j = lane & 15; j < width; j += 16) {
                constexpr int EACH = sizeof(Wide) / 4;
                put(to + j, from[EACH * 66 * pair + (narrow ? 2 * EACH * j : 4 * (j >> 1) + (j & 1))]);
            }
        }
    }
    sum = warp_sum(sum);
    if (lane == 0) {
        part.sums[side] = sum;
    }
    __syncthreads();
    if ((t & 63) == 0) {
        out[1] = folded(part.sums[0] + part.sums[1], chunk);
    }
}

#define ENCODE(name, Type)                                                                                             \
    extern "C" __global__ void __launch_bounds__(64 * PARTS<Type>)                                                     \
    encode_##name(unsigned *payload, long long *sections, unsigned short *lengths, unsigned chunks, u64 *status,       \
                  unsigned *ticket, const Type::Bits *in, long long count, int drop, int pairs) {                      \
        encode<Type>(payload, {sections, lengths, chunks}, status, ticket, in, count, drop, pairs);                    \
    }

ENCODE(float64, Float64)
ENCODE(float32, Float32)
