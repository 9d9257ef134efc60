// The decoder of `fast` on CUDA: FORMAT.md's chunks, a block each.
//
// A block reads its chunk's words into shared memory, adding up the checksum on the way; every lane then takes its symbols
// from there, as all places follow from the groups' widths. Nothing is read or written that a check has not allowed: what
// is wrong with a chunk is noted, and its values are not written.
#include "chunk.cuh"

// Symbol of a place in a group of width w <= 64 at words[at]; reads up to two words behind it.
template <class Wide> __device__ inline Wide symbol_at(const unsigned *words, int w, int place) {
    const int bit = place * w, shift = bit & 31;
    words += bit >> 5;
    const unsigned middle = words[1], low = __funnelshift_r(words[0], middle, shift);
    if (sizeof(Wide) == 4 || w <= 32) {
        return low & (w < 32 ? (1u << w) - 1 : ALL);
    }
    const unsigned high = __funnelshift_r(middle, words[2], shift);
    return Wide((u64(high) << 32 | low) & (w < 64 ? (1ull << w) - 1 : ~0ull));
}

// wrong: the least of chunk << 3 | reason (format.py's REASONS), all ones where there is none.
template <class Type>
__device__ inline void decode(typename Type::Bits *out, u64 *wrong, const unsigned *payload, const long long *table,
                              long long count, long long words_in_all, long long first) {
    using Bits = typename Type::Bits;
    using Wide = typename Type::Wide;
    constexpr int B = Type::B;
    __shared__ __align__(8) unsigned words[LONGEST<Type> + 3];
    __shared__ unsigned checksum;
    __shared__ Wide totals[WARPS];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const long long chunk = first + blockIdx.x;
    const int n = chunk_length<CHUNK>(count, chunk), groups = 2 * ((n + 63) / 64);
    out += (long long)blockIdx.x * CHUNK;
    const auto refuse = [&](unsigned reason) {
        if (t == 0) {
            atomicMin(wrong, u64(chunk) << 3 | reason);
        }
    };
    unsigned reason;
    const int length = read_words<Bits>(words, &checksum, payload, table, words_in_all, chunk, n, reason);
    if (length == 0) {
        return refuse(reason);
    }
    const int raw = 2 + (n * int(sizeof(Bits)) + 3) / 4;
    const int mode = words[0] & 3, shift = words[0] >> 8 & 63;
    if (words[0] & ~0x3F03u || shift > B || (mode < PACKED && shift) || (mode == DIFFERENCES && Type::FLOAT)) {
        return refuse(BAD_MODE);
    }
    const int front = mode == DIFFERENCES ? 6 : 4;
    int expected = mode == CONSTANT ? 4 : raw;
    // The places of all groups, in every warp: lane l has those of groups 2 l and 2 l + 1.
    int place = 0, widths = 0;
    if (mode >= PACKED) {
        expected = front + groups / 2;
        if (length < expected) {
            return refuse(BAD_LENGTH);
        }
        const unsigned both = 2 * lane < groups ? words[front + lane] : 0;
        const int a = both & 127, b = both >> 16 & 127;
        if (__any_sync(ALL, a > WIDTH<Type> || b > WIDTH<Type>)) {
            return refuse(BAD_LENGTH);
        }
        widths = a | b << 8;
        place = a + b;
        for (int step = 1; step < 32; step <<= 1) {
            const int lower = __shfl_up_sync(ALL, place, step);
            place += lane >= step ? lower : 0;
        }
        expected += __shfl_sync(ALL, place, 31);
        place -= a + b;
    }
    if (length != expected) {
        return refuse(BAD_LENGTH);
    }
    if (words[1] != checksum) {
        return refuse(BAD_CHECKSUM);
    }

    if (mode == RAW) {
        return copy_raw(out, words, n);
    }
    const u64 wide = u64(words[3]) << 32 | words[2];
    Wide values[2 * RUNS];
    for (int i = 0; i < 2 * RUNS; i++) {
        if (mode == CONSTANT) {
            values[i] = Wide(wide);
            continue;
        }
        const int pair = RUNS * warp + i / 2;
        const int both = __shfl_sync(ALL, widths, pair);
        const int at = __shfl_sync(ALL, place, pair) + (i & 1 ? both & 255 : 0), w = i & 1 ? both >> 8 : both & 255;
        if (2 * pair >= groups) {
            values[i] = 0;
            continue;
        }
        const unsigned head = words[front + pair] >> 16 * (i & 1) & 0xFFFF;
        const Wide b = Wide(wide) + (head >> 8), zeros = head >> 7 & 1;
        const Wide symbol = w ? symbol_at<Wide>(words + front + groups / 2 + at, w, lane) : Wide(0);
        Wide m = Type::FLOAT ? symbol >> 1 : symbol;
        if (zeros == 0 || m != 0) {
            m += (b << (B - shift)) - zeros;
        }
        m <<= shift;
        values[i] = Type::FLOAT ? m | (symbol & 1) << (WIDTH<Type> - 1) : m;
    }
    if (!Type::FLOAT && mode == DIFFERENCES) {
        // Sums over the lane's two values, the lanes of a run, the runs of a warp, the warps.
        Wide sum_before = 0;
        for (int r = 0; r < RUNS; r++) {
            Wide &x = values[2 * r], &y = values[2 * r + 1];
            x = x >> 1 ^ (x & 1 ? ~Wide(0) : Wide(0));
            y = x + (y >> 1 ^ (y & 1 ? ~Wide(0) : Wide(0)));
            Wide run = y;
            for (int step = 1; step < 32; step <<= 1) {
                const Wide lower = __shfl_up_sync(ALL, run, step);
                run += lane >= step ? lower : 0;
            }
            const Wide before_lane = sum_before + run - y;
            x += before_lane;
            y += before_lane;
            sum_before += __shfl_sync(ALL, run, 31);
        }
        if (lane == 0) {
            totals[warp] = sum_before;
        }
        __syncthreads();
        Wide start = Wide(u64(words[5]) << 32 | words[4]);
        for (int w = 0; w < warp; w++) {
            start += totals[w];
        }
        for (int i = 0; i < 2 * RUNS; i++) {
            values[i] += start;
        }
    }
    for (int r = 0; r < RUNS; r++) {
        const int i = 64 * (warp * RUNS + r) + 2 * lane;
        const Two<Bits> two = {Bits(values[2 * r]), Bits(values[2 * r + 1])};
        if (i + 1 < n) {
            *(Two<Bits> *)(out + i) = two;
        } else if (i < n) {
            out[i] = two.a;
        }
    }
}

#define DECODE(name, Type)                                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
    decode_##name(Type::Bits *out, u64 *wrong, const unsigned *payload, const long long *table, long long count,       \
                  long long words_in_all, long long first) {                                                           \
        decode<Type>(out, wrong, payload, table, count, words_in_all, first);                                          \
    }

DECODE(float64, Float64)
DECODE(float32, Float32)
DECODE(uint64, Uint64)
