// The encoder of `fast` on CUDA: FORMAT.md's chunks, a block each, in one pass over the input.
//
// A warp holds its groups in registers, a value a lane and group. Reductions over a warp give a group's base and width;
// one over the block the chunk's shift, base and length; a look-back the chunk's place in the stream. A group is packed by
// shuffles: the lane that writes a word collects the symbols that lie in it, so that no two lanes write one word.
#include "chunk.cuh"

// 2^20 / w rounded up: n / w = n * RECIPROCAL[w] >> 20 for n < 2048 and w <= 64.
__constant__ unsigned RECIPROCAL[65] = {
    0, 1048576, 524288, 349526, 262144, 209716, 174763, 149797, 131072, 116509, 104858, 95326, 87382,
    80660, 74899, 69906, 65536, 61681, 58255, 55189, 52429, 49933, 47663, 45591, 43691, 41944,
    40330, 38837, 37450, 36158, 34953, 33826, 32768, 31776, 30841, 29960, 29128, 28340, 27595,
    26887, 26215, 25576, 24967, 24386, 23832, 23302, 22796, 22311, 21846, 21400, 20972, 20561,
    20165, 19785, 19419, 19066, 18725, 18397, 18079, 17773, 17477, 17190, 16913, 16645, 16384};

template <class Wide> __device__ inline int length(Wide x) {
    return sizeof(Wide) == 8 ? 64 - __clzll(x) : 32 - __clz(unsigned(x));
}

// Bits of the longest of a warp's symbols.
template <class Wide> __device__ inline int widest(Wide symbol) {
    if (sizeof(Wide) == 8) {
        if (__any_sync(ALL, u64(symbol) >> 32)) {
            return 64 - __clz(__reduce_or_sync(ALL, unsigned(u64(symbol) >> 32)));
        }
    }
    return 32 - __clz(__reduce_or_sync(ALL, unsigned(symbol)));
}

// A float's bits rounded to nearest even above `drop` > 0 bits; as they are where that breaks the bound.
template <class Type> __device__ inline typename Type::Wide rounded(typename Type::Wide bits, int drop) {
    using Wide = typename Type::Wide;
    constexpr Wide INFINITE = (Wide(1) << (WIDTH<Type> - 1 - Type::B)) - 1;
    const Wide below = (Wide(1) << drop) - 1;
    const Wide up = (bits + (below >> 1) + (bits >> drop & 1)) & ~below;
    const Wide exponent = bits >> Type::B & INFINITE;
    const bool fits = exponent != 0 && exponent != INFINITE && (up >> Type::B & INFINITE) != INFINITE;
    return fits ? up : bits;
}

// Word `j` of a group of width w whose symbols lie in the lanes. All lanes call it.
template <class Wide> __device__ inline unsigned packed_word(Wide symbol, int w, int j) {
    if (w == 1) {
        return __ballot_sync(ALL, symbol & 1);
    }
    int i = 32 * j * RECIPROCAL[w] >> 20, at = i * w - 32 * j;
    unsigned word = 0;
    if (sizeof(Wide) == 4 || w <= 32) {
        for (int more = 31 / w + 2; more; more--) {
            const unsigned s = __shfl_sync(ALL, unsigned(symbol), i++);
            word |= at < 0 ? s >> -at : __funnelshift_lc(0, s, at);
            at += w;
        }
    } else {
        for (int more = 2; more; more--) {
            const u64 s = __shfl_sync(ALL, u64(symbol), i++);
            word |= at < 0 ? unsigned(s >> -at) : __funnelshift_lc(0, unsigned(s), at);
            at += w;
        }
    }
    return word;
}

// What the warps of a block tell each other.
struct Shared {
    unsigned ticket, every[2], base_low, checksum;
    u64 base, begin;
    int words[WARPS], other[WARPS];
};

// A warp's groups: symbols[2 r + k] of place `lane` in group 2 (RUNS warp + r) + k; heads the same in all lanes.
template <class Wide> struct Groups {
    Wide symbols[2 * RUNS];
    unsigned heads[2 * RUNS];
    int words;
};

// A group's least m >> high of what is not zero, ~0 where all is zero. Fits 32 bits for every type.
template <class Wide> __device__ inline unsigned least_base(Wide m, int high) {
    return __reduce_min_sync(ALL, m ? unsigned(m >> high) : ALL);
}

// Symbols, heads and the sum of the widths from magnitudes m (in `symbols`), their groups' bases (in `heads`) and signs.
// left: values of the chunk from this lane's first one on; what lies beyond is 0 and stays it.
template <class Type>
__device__ inline void symbols_of(Groups<typename Type::Wide> &g, unsigned base, int high, unsigned signs, int left) {
    using Wide = typename Type::Wide;
    g.words = 0;
    for (int i = 0; i < 2 * RUNS; i++) {
        const unsigned relative = g.heads[i] == ALL ? 0 : min(g.heads[i] - base, 255u);
        const Wide b = Wide(base) + relative;
        Wide code = g.symbols[i];
        const unsigned zeros = __any_sync(ALL, code == 0 && i / 2 * 64 + (i & 1) < left) && b != 0;
        if (code != 0) {
            code = code - (b << high) + zeros;
        }
        g.symbols[i] = Type::FLOAT ? code << 1 | (signs >> i & 1) : code;
        const int w = widest(g.symbols[i]);
        g.heads[i] = relative << 8 | zeros << 7 | w;
        g.words += w;
    }
}

template <class Type>
__device__ inline void encode(unsigned *payload, long long *table, u64 *status, unsigned *ticket,
                              const typename Type::Bits *in, long long count, int drop) {
    using Bits = typename Type::Bits;
    using Wide = typename Type::Wide;
    constexpr int B = Type::B;
    __shared__ Shared shared, differences;
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    if (t == 0) {
        shared.every[0] = shared.every[1] = shared.checksum = 0;
        shared.base_low = differences.base_low = ALL;
    }
    const long long chunk = take_ticket(ticket, &shared.ticket);
    const int n = chunk_length(count, chunk), groups = 2 * ((n + 63) / 64);
    in += chunk * CHUNK;

    const Wide first = Type::FLOAT && drop ? rounded<Type>(in[0], drop) : Wide(in[0]);
    Groups<Wide> g;
    Wide every = 0;
    bool same = true;
    unsigned signs = 0;
    for (int r = 0; r < RUNS; r++) {
        const int i = 64 * (warp * RUNS + r) + 2 * lane;
        Two<Bits> two = {0, 0};
        if (i + 1 < n) {
            two = *(const Two<Bits> *)(in + i);
        } else if (i < n) {
            two.a = in[i];
        }
        for (int k = 0; k < 2; k++) {
            Wide x = k ? two.b : two.a;
            if (Type::FLOAT && drop) {
                x = rounded<Type>(x, drop);
            }
            same &= x == first || i + k >= n;
            every |= x;
            g.symbols[2 * r + k] = x;
        }
    }
    // The shift: zeros below in all values; what lies above B sets no limit.
    if (B) {
        const unsigned low = __reduce_or_sync(ALL, unsigned(every));
        const unsigned high = sizeof(Wide) == 8 ? __reduce_or_sync(ALL, unsigned(u64(every) >> 32)) : 0;
        if (lane == 0) {
            atomicOr(shared.every, low);
            atomicOr(shared.every + 1, high);
        }
    }
    same = __syncthreads_and(same);
    int shift = 0;
    if (B && !same) {
        const u64 all = u64(shared.every[1]) << 32 | shared.every[0] | 1ull << B;
        shift = __ffsll(all) - 1;
    }

    int words = 4, mode = CONSTANT;
    unsigned base = 0;
    Groups<Wide> d;
    if (!same) {
        unsigned least = ALL, other = ALL;
        for (int i = 0; i < 2 * RUNS; i++) {
            Wide &x = g.symbols[i];
            if (!Type::FLOAT) {
                // The value before: the neighbour in the run, of its first one the last of the run before.
                Wide before = __shfl_up_sync(ALL, g.symbols[i | 1], 1);
                const int at = 64 * (warp * RUNS + i / 2) + 2 * lane + (i & 1);
                before = i & 1 ? g.symbols[i - 1] : before;
                if (lane == 0 && !(i & 1)) {
                    before = at && at < n ? Wide(in[at - 1]) : x;
                }
                d.symbols[i] = x - before;
                if (at >= n) {
                    d.symbols[i] = 0;
                }
            }
        }
        for (int i = 0; i < 2 * RUNS; i++) {
            Wide &x = g.symbols[i];
            if (Type::FLOAT) {
                signs |= unsigned(x >> (WIDTH<Type> - 1)) << i;
                x &= (Wide(1) << (WIDTH<Type> - 1)) - 1;
            } else {
                const Bits difference = Bits(d.symbols[i]);
                d.symbols[i] = Bits(difference << 1) ^ (difference >> (WIDTH<Type> - 1) ? Bits(~Bits(0)) : Bits(0));
                d.heads[i] = least_base(d.symbols[i], B);
                other = min(other, d.heads[i]);
            }
            x >>= shift;
            g.heads[i] = least_base(x, B - shift);
            least = min(least, g.heads[i]);
        }
        if (lane == 0) {
            atomicMin(&shared.base_low, least);
            if (!Type::FLOAT) {
                atomicMin(&differences.base_low, other);
            }
        }
        __syncthreads();
        base = shared.base_low == ALL ? 0 : shared.base_low;
        const int left = n - 64 * RUNS * warp - 2 * lane;
        symbols_of<Type>(g, base, B - shift, signs, left);
        unsigned other_base = 0;
        if (!Type::FLOAT) {
            other_base = differences.base_low == ALL ? 0 : differences.base_low;
            symbols_of<Type>(d, other_base, B, 0, left);
        }
        if (lane == 0) {
            shared.words[warp] = g.words;
            shared.other[warp] = Type::FLOAT ? 0 : d.words;
        }
        __syncthreads();
        int plain = 0, differing = 0;
        for (int w = 0; w < WARPS; w++) {
            plain += shared.words[w];
            differing += shared.other[w];
        }
        mode = PACKED;
        words = 4 + groups / 2 + plain;
        if (!Type::FLOAT && differing + 2 < plain) {
            mode = DIFFERENCES;
            words = 6 + groups / 2 + differing;
            base = other_base;
            shift = 0;
            g = d;
        }
        const int raw = 2 + (n * int(sizeof(Bits)) + 3) / 4;
        if (words >= raw) {
            mode = RAW;
            words = raw;
            shift = 0;
        }
    }

    if (warp == 0) {
        const u64 sum = before(status, unsigned(chunk), words);
        if (lane == 0) {
            shared.begin = sum;
            table[chunk] = sum;
            if (chunk == gridDim.x - 1) {
                table[chunk + 1] = sum + words;
            }
        }
    }
    __syncthreads();
    unsigned *out = payload + shared.begin;
    unsigned checksum = 0;
    const auto put = [&](int place, unsigned word) {
        out[place] = word;
        checksum += share(word, place);
    };
    if (t == 0) {
        checksum = mix(unsigned(chunk));
        put(0, mode | shift << 8);
        if (mode == CONSTANT || mode == DIFFERENCES) {
            const int place = mode == CONSTANT ? 2 : 4;
            put(place, unsigned(first));
            put(place + 1, unsigned(u64(first) >> 32));
        }
        if (mode >= PACKED) {
            put(2, base);
            put(3, 0);
        }
    }
    if (mode == RAW) {
        for (int i = t; i < words - 2; i += THREADS) {
            u64 word = 0;
            constexpr int SIZE = sizeof(Bits);
            if (SIZE == 8) {
                const Wide x = in[i / 2];
                word = u64(Type::FLOAT && drop ? rounded<Type>(x, drop) : x) >> 32 * (i & 1);
            } else if (SIZE == 4) {
                const Wide x = in[i];
                word = Type::FLOAT && drop ? rounded<Type>(x, drop) : x;
            } else {
                word = in[2 * i] | (2 * i + 1 < n ? unsigned(in[2 * i + 1]) << 16 : 0u);
            }
            put(2 + i, unsigned(word));
        }
    } else if (mode >= PACKED) {
        const int front = mode == PACKED ? 4 : 6;
        int at = front + groups / 2;
        for (int w = 0; w < warp; w++) {
            at += mode == PACKED ? shared.words[w] : shared.other[w];
        }
        for (int i = 0; i < 2 * RUNS; i++) {
            const int group = 2 * RUNS * warp + i, w = g.heads[i] & 127;
            if ((i & 1) == 0 && lane == 0 && group < groups) {
                put(front + group / 2, g.heads[i] | g.heads[i + 1] << 16);
            }
            if (w) {
                const unsigned word = packed_word(g.symbols[i], w, lane);
                if (lane < w) {
                    put(at + lane, word);
                }
                if (sizeof(Wide) == 8 && w > 32) {
                    const unsigned upper = packed_word(g.symbols[i], w, lane + 32);
                    if (lane + 32 < w) {
                        put(at + lane + 32, upper);
                    }
                }
                at += w;
            }
        }
    }
    checksum = __reduce_add_sync(ALL, checksum);
    if (lane == 0) {
        atomicAdd(&shared.checksum, checksum);
    }
    __syncthreads();
    if (t == 0) {
        out[1] = shared.checksum;
    }
}

// blocks: of a multiprocessor at once; six leave a thread 40 registers, in which integers, coded in two ways, do not fit.
#define ENCODE(name, Type, blocks)                                                                                     \
    extern "C" __global__ void __launch_bounds__(THREADS, blocks)                                                      \
    encode_##name(unsigned *payload, long long *table, u64 *status, unsigned *ticket, const Type::Bits *in,            \
                  long long count, int drop) {                                                                         \
        encode<Type>(payload, table, status, ticket, in, count, drop);                                                 \
    }

ENCODE(float64, Float64, 6)
ENCODE(float32, Float32, 6)
ENCODE(uint64, Uint64, 3)
ENCODE(uint32, Uint32, 4)
ENCODE(uint16, Uint16, 4)
