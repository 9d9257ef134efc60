// Answers from the bit planes of many.cu: levels in the graph's order, sums a search.
#include "planes.cuh"

// One bit of each of eight bytes, from a byte.
static __device__ uint64_t spread(uint32_t byte) {
    return ((byte & 0x7Fu) * 0x0002040810204081ull | uint64_t(byte & 0x80u) << 49) & 0x0101010101010101ull;
}

// Eight levels of a byte each, of searches s .. s + 7, -1 where not reached.
template <int MOST_PLANES>
static __device__ uint64_t eight_levels(uint32_t reached, const uint32_t *plane, int used, uint32_t s) {
    uint64_t eight = (0x0101010101010101ull - spread(reached >> s & 0xFF)) * 0xFF;
#pragma unroll
    for (int i = 0; i < MOST_PLANES; i++)
        if (i < used) eight |= spread(plane[i] >> s & 0xFF) << i;
    return eight;
}

// levels: [count, n], -1 where not reached; place: [n], a vertex's number in the layout, -1 where it has none. A lane
// takes a vertex and turns its words into rows.
template <typename T>
static __device__ void unpack(Found found, uint32_t n, const int *__restrict__ place, T *levels) {
    const uint32_t used = found.used();
    for (uint32_t v = blockIdx.x * THREADS + threadIdx.x; v < n; v += gridDim.x * THREADS) {
        int at = place[v];
        for (uint32_t word = 0; word < found.width; word++) {
            uint32_t reached = at < 0 ? 0 : found.visited[size_t(at) * found.width + word];
            uint32_t searches = min(32u, found.count - min(found.count, word * 32));
            T *to = levels + size_t(word) * 32 * n + v;
            for (uint32_t s = 0; s < searches; s++, to += n) {
                uint32_t level = 0;
                for (int i = 0; i < used && reached; i++) level |= (found.plane(i, at, word) >> s & 1) << i;
                *to = reached >> s & 1 ? T(level) : T(-1);
            }
        }
    }
}

// The same for levels of a byte: a lane takes four vertices and writes their levels of a search at once. n: a multiple of
// four.
static __device__ void unpack_bytes(Found found, uint32_t n, const int4 *__restrict__ place, uint32_t *levels) {
    constexpr int MOST_PLANES = 7;
    const uint32_t used = found.used(), fours = n / 4;
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < fours; i += gridDim.x * THREADS) {
        const int4 four = place[i];
        const int at[4] = {four.x, four.y, four.z, four.w};
        for (uint32_t word = 0; word < found.width; word++) {
            uint32_t reached[4], plane[4][MOST_PLANES];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                reached[j] = at[j] < 0 ? 0 : found.visited[size_t(at[j]) * found.width + word];
#pragma unroll
                for (int p = 0; p < MOST_PLANES; p++)
                    plane[j][p] = p < used && at[j] >= 0 ? found.plane(p, at[j], word) : 0;
            }
            uint32_t searches = min(32u, found.count - min(found.count, word * 32));
            uint32_t *to = levels + size_t(word) * 32 * fours + i;
            for (uint32_t s = 0; s < searches; s += 8) {
                uint64_t eight[4];
#pragma unroll
                for (int j = 0; j < 4; j++) eight[j] = eight_levels<MOST_PLANES>(reached[j], plane[j], used, s);
#pragma unroll
                for (int b = 0; b < 8; b++) {
                    if (s + b >= searches) break;
                    // Byte b of each of the four.
                    uint32_t half[4];
#pragma unroll
                    for (int j = 0; j < 4; j++) half[j] = b < 4 ? uint32_t(eight[j]) : uint32_t(eight[j] >> 32);
                    uint32_t choose = (b % 4) | (4 + b % 4) << 4;
                    uint32_t low = __byte_perm(half[0], half[1], choose), high = __byte_perm(half[2], half[3], choose);
                    to[size_t(s + b) * fours] = __byte_perm(low, high, 0x5410);
                }
            }
        }
    }
}

// Of every search: the sum of its levels, the vertices reached and the sum of their `ends` [k]; added to sums [3, MOST].
static __device__ void tally(Found found, const uint32_t *__restrict__ ends, Count *sums) {
    __shared__ Count all[3][MOST];
    for (uint32_t i = threadIdx.x; i < 3 * MOST; i += THREADS) all[0][i] = 0;
    __syncthreads();
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * (THREADS / 32), used = found.used();
    for (uint32_t first = (blockIdx.x * (THREADS / 32) + threadIdx.x / 32) * 32; first < found.k; first += warps * 32) {
        uint32_t v = first + lane, own = v < found.k ? ends[v] : 0;
        for (uint32_t word = 0; word < found.width; word++) {
            // After 32 ballots lane s has the vertices of search s.
            auto turned = [&](uint32_t bits) {
                uint32_t mine = 0;
                for (int s = 0; s < 32; s++) {
                    uint32_t who = __ballot_sync(EVERY, bits >> s & 1);
                    if (lane == s) mine = who;
                }
                return mine;
            };
            uint32_t reached = v < found.k ? found.visited[size_t(v) * found.width + word] : 0;
            if (!__any_sync(EVERY, reached)) continue;
            uint32_t who = turned(reached);
            Count levels = 0, edges = 0;
            for (int i = 0; i < used; i++)
                levels += Count(__popc(turned(reached ? found.plane(i, v, word) & reached : 0))) << i;
            for (int other = 0; other < 32; other++) {
                uint32_t theirs = __shfl_sync(EVERY, own, other);
                if (who >> other & 1) edges += theirs;
            }
            uint32_t search = word * 32 + lane;
            if (levels) atomicAdd(&all[0][search], levels);
            if (who) atomicAdd(&all[1][search], Count(__popc(who)));
            if (edges) atomicAdd(&all[2][search], edges);
        }
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 3 * MOST; i += THREADS)
        if (all[0][i]) atomicAdd(&sums[i], all[0][i]);
}

extern "C" __global__ void __launch_bounds__(THREADS) tally_sums(FOUND, const uint32_t *ends, Count *sums) {
    tally(GIVEN, ends, sums);
}

#define LEVELS(T, SUFFIX)                                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                          \
        unpack_##SUFFIX(FOUND, uint32_t n, const int *place, T *levels) {                                          \
        unpack<T>(GIVEN, n, place, levels);                                                                \
    }                                                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS) widen_##SUFFIX(uint32_t n, const T *levels, int *wide) { \
        for (uint32_t v = blockIdx.x * THREADS + threadIdx.x; v < n; v += gridDim.x * THREADS) wide[v] = levels[v]; \
    }

extern "C" __global__ void __launch_bounds__(THREADS)
    unpack_fours(FOUND, uint32_t n, const int4 *place, uint32_t *levels) {
    unpack_bytes(GIVEN, n, place, levels);
}

LEVELS(int8_t, i1)
LEVELS(int16_t, i2)
LEVELS(int32_t, i4)
