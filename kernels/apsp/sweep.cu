// PHAST for many sources at once: the distances of a vertex from all sources of a batch lie beside each other, and every
// arc is read once for all of them.
//
// Three steps over a contraction hierarchy, whose positions run from the core downwards (saitan.sssp.hierarchy):
// `up` computes the distances of the few positions that lead upwards from any source; `core` multiplies those of the core
// with the core's table (min-plus); `down` sweeps level by level, where a position takes the minimum over the arcs into
// it. The last level is half of all positions and nothing leads on from it, so `deliver` computes it while it turns the
// distances into rows, one a source, in the graph's order of vertices.
//
// A thread holds as many neighbouring sources as 16 bytes hold distances, and a position's row is read by neighbouring
// threads. Inside, no path is as long as FAR, whose sum with an arc does not wrap (sweep.py); so no sum is tested.
//
// 1. Delling, Goldberg, Nowatzyk, Werneck: PHAST: hardware-accelerated shortest path trees. IPDPS 2011, section 5.
#include <cstdint>

static constexpr uint32_t THREADS = 256, UP_THREADS = 1024;
static constexpr uint32_t TILE = 32;  // vertices of a tile that `deliver` turns, and sources of a block of `up`
static constexpr uint32_t CORE_ROWS = 4;  // positions of the core that a thread of `core` computes

template <typename I> struct Inside;
template <> struct Inside<uint32_t> {
    static constexpr uint32_t FAR = 0x7FFFFFFFu;
};
template <> struct Inside<uint64_t> {
    static constexpr uint64_t FAR = 0x3FFFFFFF3FFFFFFFull;
};

template <typename I> struct alignas(16) Sources {
    static constexpr int WIDTH = 16 / sizeof(I);
    I d[WIDTH];
};

template <typename I> struct alignas(2 * sizeof(I)) Arc {
    uint32_t tail;
    I length;
};

template <typename I> static __device__ Sources<I> all_far() {
    Sources<I> far;
#pragma unroll
    for (int k = 0; k < far.WIDTH; k++) far.d[k] = Inside<I>::FAR;
    return far;
}

template <typename I> static __device__ void relax(Sources<I> &least, const Sources<I> &tail, I length) {
#pragma unroll
    for (int k = 0; k < least.WIDTH; k++) least.d[k] = min(tail.d[k] + length, least.d[k]);
}

// The minimum over arcs whose tails are rows of `width` groups of sources; `least` is what was there before.
template <typename I>
static __device__ void relax_all(Sources<I> &least, const Arc<I> *__restrict__ arcs, uint32_t begin, uint32_t end,
                                 const Sources<I> *rows, uint32_t width, uint32_t group) {
    constexpr int AHEAD = 4;
    for (uint32_t a = begin; a < end; a += AHEAD) {
        Arc<I> arc[AHEAD];
        Sources<I> tail[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (a + k < end) arc[k] = arcs[a + k];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (a + k < end) tail[k] = rows[size_t(arc[k].tail) * width + group];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (a + k < end) relax(least, tail[k], arc[k].length);
    }
}

// The positions reached upwards from any source, the lowest first: `position`, of which starts[i] .. starts[i + 1] are a
// level's. `arcs` lead to each from lower ones, both by their places in that list; own[s] is the place of source s.
// Afterwards slot[p] - base is the place of position p, and no other position has one below `count`.
template <typename I>
static __device__ void up(const uint32_t *__restrict__ starts, uint32_t levels, const uint32_t *__restrict__ position,
                          const uint32_t *__restrict__ offsets, const Arc<I> *__restrict__ arcs,
                          const uint32_t *__restrict__ own, uint32_t base, uint32_t width, Sources<I> *above,
                          uint32_t *slot) {
    constexpr uint32_t WIDTH = Sources<I>::WIDTH, LANES = TILE / WIDTH;
    uint32_t group = blockIdx.x * LANES + threadIdx.x % LANES, row = threadIdx.x / LANES;
    uint32_t mine[WIDTH];
#pragma unroll
    for (uint32_t k = 0; k < WIDTH; k++) mine[k] = own[group * WIDTH + k];
    for (uint32_t l = 0; l < levels; l++) {
        for (uint32_t i = starts[l] + row; i < starts[l + 1]; i += UP_THREADS / LANES) {
            Sources<I> least = all_far<I>();
#pragma unroll
            for (uint32_t k = 0; k < WIDTH; k++)
                if (mine[k] == i) least.d[k] = 0;
            relax_all(least, arcs, offsets[i], offsets[i + 1], above, width, group);
            above[size_t(i) * width + group] = least;
            if (group == 0) slot[position[i]] = base + i;
        }
        __syncthreads();
    }
}

// The core's distances: `entries` of its positions were reached, their distances are rows of `above`.
template <typename I>
static __device__ void core(const I *__restrict__ table, uint32_t size, uint32_t table_width,
                            const uint32_t *__restrict__ entry, uint32_t entries, const Sources<I> *__restrict__ above,
                            uint32_t width, Sources<I> *distances) {
    uint32_t group = blockIdx.y * 32 + threadIdx.x % 32;
    uint32_t first = (blockIdx.x * (THREADS / 32) + threadIdx.x / 32) * CORE_ROWS;
    if (first >= size) return;
    Sources<I> least[CORE_ROWS];
#pragma unroll
    for (uint32_t r = 0; r < CORE_ROWS; r++) least[r] = all_far<I>();
#pragma unroll 4
    for (uint32_t e = 0; e < entries; e++) {
        Sources<I> reached = above[size_t(e) * width + group];
        const I *lengths = table + size_t(entry[e]) * table_width + first;
#pragma unroll
        for (uint32_t r = 0; r < CORE_ROWS; r++) relax(least[r], reached, lengths[r]);
    }
#pragma unroll
    for (uint32_t r = 0; r < CORE_ROWS; r++)
        if (first + r < size) distances[size_t(first + r) * width + group] = least[r];
}

// The positions begin .. end - 1 of a level, from those above it.
template <typename I>
static __device__ void down(uint32_t begin, uint32_t end, const uint32_t *__restrict__ offsets,
                            const Arc<I> *__restrict__ arcs, const Sources<I> *__restrict__ above,
                            const uint32_t *__restrict__ slot, uint32_t base, uint32_t count, uint32_t log_width,
                            Sources<I> *distances) {
    uint64_t i = blockIdx.x * uint64_t(THREADS) + threadIdx.x;
    uint32_t p = begin + uint32_t(i >> log_width), width = 1u << log_width, group = i & (width - 1);
    if (p >= end) return;
    uint32_t place = slot[p] - base;
    Sources<I> least = place < count ? above[size_t(place) * width + group] : all_far<I>();
    relax_all(least, arcs, offsets[p], offsets[p + 1], distances, width, group);
    distances[size_t(p) * width + group] = least;
}

// Rows of `answer` [rows, n] from the distances: TILE vertices of the graph, 32 groups of sources. The positions from
// `last` on are computed here. D is the answer's type; *too_long is set where a distance does not fit it.
template <typename D, typename I>
static __device__ void deliver(uint32_t n, uint32_t last, const uint32_t *__restrict__ position,
                               const uint32_t *__restrict__ offsets, const Arc<I> *__restrict__ arcs,
                               const Sources<I> *__restrict__ above, const uint32_t *__restrict__ slot, uint32_t base,
                               uint32_t count, uint32_t width, const Sources<I> *__restrict__ distances, uint32_t rows,
                               D *answer, uint32_t *too_long) {
    constexpr uint32_t WIDTH = Sources<I>::WIDTH, WARPS = THREADS / 32;
    constexpr D UNREACHED = ~D(0);
    __shared__ Sources<I> tile[TILE * 32];
    uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t group = blockIdx.y * 32 + lane, first = blockIdx.x * TILE;
#pragma unroll
    for (uint32_t j = warp; j < TILE; j += WARPS) {
        if (first + j >= n) break;
        uint32_t p = position[first + j];
        Sources<I> least;
        if (p < last) {
            least = distances[size_t(p) * width + group];
        } else {
            uint32_t place = slot[p] - base;
            least = place < count ? above[size_t(place) * width + group] : all_far<I>();
            relax_all(least, arcs, offsets[p], offsets[p + 1], distances, width, group);
        }
        // Neighbouring lanes of the reading below then find different banks.
        tile[j * 32 + (lane ^ j)] = least;
    }
    __syncthreads();
    if (first + lane >= n) return;
    bool lost = false;
    for (uint32_t c = warp; c < 32; c += WARPS) {
        Sources<I> found = tile[lane * 32 + (c ^ lane)];
        uint32_t row = (blockIdx.y * 32 + c) * WIDTH;
#pragma unroll
        for (uint32_t k = 0; k < WIDTH; k++) {
            if (row + k >= rows) break;
            I d = found.d[k];
            if (sizeof(D) < sizeof(I)) lost |= d != Inside<I>::FAR && d >= UNREACHED;
            answer[size_t(row + k) * n + first + lane] = d == Inside<I>::FAR ? UNREACHED : D(d);
        }
    }
    if (sizeof(D) < sizeof(I) && lost) *too_long = 1;
}

#define KERNELS(suffix, I)                                                                                            \
    extern "C" __global__ void __launch_bounds__(UP_THREADS)                                                          \
        up_##suffix(const uint32_t *starts, uint32_t levels, const uint32_t *position, const uint32_t *offsets,       \
                    const Arc<I> *arcs, const uint32_t *own, uint32_t base, uint32_t width, Sources<I> *above,        \
                    uint32_t *slot) {                                                                                 \
        up<I>(starts, levels, position, offsets, arcs, own, base, width, above, slot);                                \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                             \
        core_##suffix(const I *table, uint32_t size, uint32_t table_width, const uint32_t *entry, uint32_t entries,   \
                      const Sources<I> *above, uint32_t width, Sources<I> *distances) {                               \
        core<I>(table, size, table_width, entry, entries, above, width, distances);                                   \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                             \
        down_##suffix(uint32_t begin, uint32_t end, const uint32_t *offsets, const Arc<I> *arcs,                      \
                      const Sources<I> *above, const uint32_t *slot, uint32_t base, uint32_t count,                   \
                      uint32_t log_width, Sources<I> *distances) {                                                    \
        down<I>(begin, end, offsets, arcs, above, slot, base, count, log_width, distances);                           \
    }

#define DELIVER(suffix, D, I)                                                                                         \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                             \
        deliver_##suffix(uint32_t n, uint32_t last, const uint32_t *position, const uint32_t *offsets,                \
                         const Arc<I> *arcs, const Sources<I> *above, const uint32_t *slot, uint32_t base,            \
                         uint32_t count, uint32_t width, const Sources<I> *distances, uint32_t rows, D *answer,       \
                         uint32_t *too_long) {                                                                        \
        deliver<D, I>(n, last, position, offsets, arcs, above, slot, base, count, width, distances, rows, answer,     \
                      too_long);                                                                                      \
    }

KERNELS(u4, uint32_t)
KERNELS(u8, uint64_t)
DELIVER(u4_u4, uint32_t, uint32_t)
DELIVER(u4_u8, uint32_t, uint64_t)
DELIVER(u8_u8, uint64_t, uint64_t)
