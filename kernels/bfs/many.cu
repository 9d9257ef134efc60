// Many searches at once: bit s of a vertex's set is search s, so that one look at an arc serves them all. One launch of a
// resident grid over the layout of layout.py.
//
// A vertex has three sets of SEARCHES bits: the searches that have visited it, those whose frontier it is in, and those
// that it is found by in this level. LANES lanes of a warp hold a set in parts of 16 bytes at most. Levels are kept as
// bit planes: bit i of a vertex's level in search s is bit s of its set in plane i.
//
// Every level, each search goes one way. Those of small frontiers go top-down: the rows of the vertices that any of them
// has in its frontier, in pieces (`expand`), set bits by atomics. Those of large ones go bottom-up: a vertex ORs the
// frontier sets of the tails of its row until all searches that lack it have found it. Rows beyond HUB arcs are cut into
// pieces that any warp takes (`pull_hubs`), all first pieces before all second ones, as the first ones mostly suffice.
// `pull` looks at the other rows and ends the level. A warp owns the 32 vertices of a word of a bitmap, so that nothing
// there is atomic: it brings their sets into shared memory side by side, gives each vertex that lacks something four
// lanes of arcs, two and then four arcs each at a time, and puts what was found back side by side. What a search found
// is counted in one of SAMPLE words only, as the count just decides the way.
//
// 1. Then, Kaufmann, Chirigati, Hoang-Vu, Pham, Kemper, Neumann, Vo: The more the merrier: efficient multi-source graph
//    traversal. VLDB 2014.
// 2. Liu, Huang, Hu: iBFS: concurrent breadth-first search on GPUs. SIGMOD 2016.
// 3. Beamer, Asanovic, Patterson: Direction-optimizing breadth-first search. SC 2012.
#include "grid.cuh"
#include "many_level.cuh"

static constexpr int THREADS = 768, RESIDENT = 1;
// A frontier of more than one vertex in so many, and more than a few, is large.
static constexpr uint32_t CROWD = 256, HANDFUL = 32;

// Mirrored in cuda_many.py. alive: the searches that found something; sampled: what each found, in the sampled words.
struct Control {
    uint32_t arrived, late, deep, levels;
    Count inspected, leaving[3];
    uint32_t pieces[3], unused;
    uint32_t alive[3][MOST / 32], sampled[3][MOST];
};

// The searches from roots[0 .. count), vertices of the layout. k: its vertices, m: arcs out. bitmaps: [5, words], sets:
// [3, k] sets, planes: [plane_count, k] sets, hubs: [hub_count] pieces of long rows of `in`. alpha: top-down only where
// all its arcs are no more than m / alpha.
template <int SEARCHES, typename O>
static __device__ void search(uint32_t k, Count m, Rows<O> out, Rows<O> in, const uint32_t *roots, uint32_t count,
                              uint32_t *bitmaps, uint32_t *sets, uint32_t *planes, uint32_t plane_count, Piece *pieces,
                              const Piece *hubs, uint32_t hub_count, Control *control, uint32_t target, double alpha,
                              uint32_t timeout_ms) {
    using S = Sets<SEARCHES>;
    using Mine = typename S::Mine;
    __shared__ Ways ways;
    extern __shared__ __align__(16) unsigned char dynamic[];
    Mine *staged = (Mine *)dynamic;
    const unsigned long long deadline = now_ns() + timeout_ms * 1000000ull;
    const uint32_t words = (k + 31) / 32, thread = blockIdx.x * THREADS + threadIdx.x, threads = gridDim.x * THREADS;
    const Place at = {threadIdx.x % 32, threadIdx.x / 32 * gridDim.x + blockIdx.x, threads / 32};
    const size_t parts = size_t(k) * S::LANES;
    uint32_t *open = bitmaps, *front = open + words, *next = front + words, *old = next + words,
             *touched = old + words;
    S visited{(Mine *)sets}, frontier{visited.at + parts}, following{frontier.at + parts};
    for (size_t i = thread; i < 3 * parts; i += threads) visited.at[i] = {};
    for (uint32_t w = thread; w < words; w += threads) {
        open[w] = w == words - 1 && k % 32 ? ~(EVERY << k % 32) : EVERY;
        front[w] = old[w] = touched[w] = 0;
    }
    if (thread == 0) {
        control->late = control->deep = control->levels = 0;
        control->inspected = 0;
        for (int i = 0; i < 3; i++) control->leaving[i] = control->pieces[i] = 0;
    }
    if (blockIdx.x == 0)
        for (uint32_t i = threadIdx.x; i < 3 * MOST; i += THREADS) {
            // What level 0 found: the roots.
            ((uint32_t *)control->sampled)[i] = 0;
            if (i < 3 * MOST / 32) {
                uint32_t first = i * 32, all = first + 32 <= count ? EVERY : first < count ? ~(EVERY << (count - first)) : 0;
                ((uint32_t *)control->alive)[i] = i < MOST / 32 ? all : 0;
            }
        }
    Count inspected = 0;
    uint32_t level = 1;
    if (!grid_barrier(&control->arrived, target, deadline)) goto late;
    if (thread < count) {
        uint32_t v = roots[thread], bit = 1u << thread % 32;
        for (S own : {visited, frontier})
            atomicOr((uint32_t *)own.at + size_t(v) * S::WORDS + thread / 32, bit);
        atomicOr(&front[v / 32], 1u << v % 32);
    }
    if (!grid_barrier(&control->arrived, target, deadline)) goto late;
    for (;; level++) {
        const uint32_t slot = level % 3, before = (level - 1) % 3, after = (level + 1) % 3;
        if (threadIdx.x < SEARCHES) {
            uint32_t s = threadIdx.x, found = *(volatile uint32_t *)&control->sampled[before][s] * SAMPLE;
            uint32_t small = __ballot_sync(EVERY, found <= max(k / CROWD, HANDFUL));
            if (s % 32 == 0) {
                ways.alive[s / 32] = *(volatile uint32_t *)&control->alive[before][s / 32];
                ways.down[s / 32] = small & ways.alive[s / 32];
                ways.found[s / 32] = 0;
            }
            ways.sampled[s] = 0;
        }
        __syncthreads();
        if (!__syncthreads_or(threadIdx.x < S::WORDS && ways.alive[threadIdx.x])) break;
        if (plane_count < 32 && level >> plane_count) {
            if (thread == 0) control->deep = 1;
            break;
        }
        if (blockIdx.x == 0) {
            if (threadIdx.x == 0) control->leaving[after] = control->pieces[after] = 0;
            if (threadIdx.x < S::WORDS) control->alive[after][threadIdx.x] = 0;
            if (threadIdx.x < SEARCHES) control->sampled[after][threadIdx.x] = 0;
        }
        // A plane is emptied when the first level that has its bit begins.
        if ((level & (level - 1)) == 0) {
            Mine *plane = (Mine *)planes + (31 - __clz(level)) * parts;
            for (size_t i = thread; i < parts; i += threads) plane[i] = {};
        }
        empty<SEARCHES>(at, words, old, following);
        Count leaving = list<SEARCHES>(at, words, out.offsets, front, frontier, ways, pieces, &control->pieces[slot]);
        for (int step = 16; step; step /= 2) leaving += __shfl_xor_sync(EVERY, leaving, step);
        if (at.lane == 0 && leaving) atomicAdd(&control->leaving[slot], leaving);
        if (!grid_barrier(&control->arrived, target, deadline)) goto late;
        const bool all_up = read_once([=] { return __ldcg(&control->leaving[slot]); }) * alpha > m;
        const uint32_t listed = all_up ? 0 : read_once([=] { return __ldcg(&control->pieces[slot]); });
        if (threadIdx.x < S::WORDS && all_up) ways.down[threadIdx.x] = 0;
        __syncthreads();
        expand<SEARCHES>(at, out, pieces, listed, ways, visited, frontier, following, touched, inspected);
        pull_hubs<SEARCHES>(at, in, hubs, hub_count, ways, open, visited, frontier, following, touched, inspected);
        if (!grid_barrier(&control->arrived, target, deadline)) goto late;
        pull<SEARCHES>(at, k, words, in, ways, open, touched, next, visited, frontier, following, planes, level,
                       staged + threadIdx.x / 32 * 64 * S::LANES, inspected);
        __syncthreads();
        if (threadIdx.x < S::WORDS && ways.found[threadIdx.x])
            atomicOr(&control->alive[slot][threadIdx.x], ways.found[threadIdx.x]);
        if (threadIdx.x < SEARCHES && ways.sampled[threadIdx.x])
            atomicAdd(&control->sampled[slot][threadIdx.x], ways.sampled[threadIdx.x]);
        if (!grid_barrier(&control->arrived, target, deadline)) goto late;
        uint32_t *emptied = old;
        old = front, front = next, next = emptied;
        S taken = frontier;
        frontier = following, following = taken;
    }
    if (thread == 0) control->levels = level - 1;
    if (inspected) atomicAdd(&control->inspected, inspected);
    return;
late:
    if (threadIdx.x == 0) control->late = 1;
}

#define KERNEL(SEARCHES, O, SUFFIX)                                                                                    \
    extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) search_##SEARCHES##_##SUFFIX(                      \
        uint32_t k, Count m, const O *offsets, const int *ends, const O *in_offsets, const int *in_ends,               \
        const uint32_t *roots, uint32_t count, uint32_t *bitmaps, uint32_t *sets, uint32_t *planes, uint32_t plane_count, \
        Piece *pieces, const Piece *hubs, uint32_t hub_count, Control *control, uint32_t target, double alpha,         \
        uint32_t timeout_ms) {                                                                                         \
        search<SEARCHES, O>(k, m, {offsets, ends}, {in_offsets, in_ends}, roots, count, bitmaps, sets, planes,         \
                            plane_count, pieces, hubs, hub_count, control, target, alpha, timeout_ms);                 \
    }
#define KERNELS(SEARCHES) KERNEL(SEARCHES, uint32_t, u4) KERNEL(SEARCHES, uint64_t, u8)

KERNELS(32)
KERNELS(64)
KERNELS(128)
KERNELS(256)
