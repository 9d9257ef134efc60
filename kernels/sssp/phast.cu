// PHAST: a persistent kernel answers one source over a contraction hierarchy (hierarchy.py).
//
// Block 0 runs the upward search from the source, over a few hundred vertices. The grid then computes the distances of
// the core from the core vertices that the search reached and the core's distance table, and sweeps down level by
// level, where every vertex takes the minimum over the arcs into it. A level costs a grid barrier, so the hierarchy has
// few levels, and a warp loads the first data of the next level before it waits at the barrier.
//
// Vertices are numbered by *slot*: the core first, then the levels downwards, each in slices as in sliced ELLPACK. A
// warp handles a slice at a time: 32 / lanes vertices, with `lanes` lanes for the arcs of each. Its arcs lie in rows of
// 32, one a lane, padded with arcs of length UNREACHED. `above` holds the upward search's distances and is UNREACHED
// everywhere between queries: the reader of a distance resets it.
//
// 1. Delling, Goldberg, Nowatzyk, Werneck: PHAST: hardware-accelerated shortest path trees. IPDPS 2011, section 6.
// 2. Monakov, Lokhmotov, Avetisyan: Automatically tuning sparse matrix-vector multiplication for GPU architectures
//    (sliced ELLPACK). HiPEAC 2010.
#include <cstdint>

#include "clock.cuh"
#include "ending.cuh"

static constexpr uint32_t ALL = 0xFFFFFFFFu, NONE = 0xFFFFFFFFu;
static constexpr uint32_t THREADS = 1024, WARPS = THREADS / 32;
static constexpr uint32_t QUEUE = 1024;  // entries of the upward search's queue in shared memory at most
static constexpr uint32_t SIDE = 16;  // lanes that relax one entry of that queue

// What a query leaves for the host; RECORD in cuda_phast.py.
struct Record {
    unsigned long long relaxations;  // arcs of the upward search, and entries of the table
    uint32_t entries, ended;
};

// A level, uint32 [4] in slices.py.
struct Level {
    uint32_t first_slice, slices, log_lanes, first_slot;
};

template <typename D> static constexpr D UNREACHED = ~D(0);

// Arcs that a lane loads at once; fewer of the 16-byte ones, as the registers hold no more.
template <typename D> static constexpr int AHEAD = 16 / sizeof(D);

template <typename D> struct alignas(2 * sizeof(D)) Arc {
    uint32_t end;
    D length;
};

// A vertex and its distance: an entry of the queue, or a core vertex that the search reached.
template <typename D> using Found = Arc<D>;

template <typename D> static __device__ D sum(D a, D b) { return a + b < a ? UNREACHED<D> : a + b; }

static __device__ uint32_t atomic_min(uint32_t *where, uint32_t d) { return atomicMin(where, d); }
static __device__ uint64_t atomic_min(uint64_t *where, uint64_t d) {
    return atomicMin(reinterpret_cast<unsigned long long *>(where), (unsigned long long)d);
}

// A grid barrier in two halves, arrive and wait. `arrivals` only grows, and wraps at 2^32.
struct Barrier {
    uint32_t *arrivals, *ended;
    uint32_t awaited;
    unsigned long long deadline;

    __device__ void arrive() {
        __syncthreads();
        awaited += gridDim.x;
        if (threadIdx.x == 0) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrivals) : "memory");
    }
    // False at the deadline: the query then ends with TIMED_OUT.
    __device__ bool wait() {
        int arrived = 1;
        if (threadIdx.x == 0) {
            for (uint32_t tries = 1;; tries++) {
                uint32_t seen;
                asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrivals) : "memory");
                if (int32_t(seen - awaited) >= 0) break;
                if (tries % 1024 == 0 && now_ns() > deadline) {
                    atomicOr(ended, TIMED_OUT);
                    arrived = 0;
                    break;
                }
            }
        }
        return __syncthreads_and(threadIdx.x != 0 || arrived);
    }
};

// The upward search, by one block. `entries` receives the core vertices reached, with their distances.
template <typename D>
static __device__ void search_up(const uint32_t *__restrict__ rows, const Arc<D> *__restrict__ arcs, uint32_t core,
                             uint32_t source, D *above, Found<D> *entries, Found<D> *spill, uint32_t queue_size,
                             uint32_t spill_size, Record *record) {
    __shared__ Found<D> queues[2][QUEUE];
    __shared__ uint32_t tail[3], found, ended;
    __shared__ unsigned long long relaxed;
    uint32_t tid = threadIdx.x;
    if (tid < 3) tail[tid] = 0;
    if (tid == 0) {
        found = ended = 0, relaxed = 0;
        above[source] = 0;
        if (source < core) entries[found++].end = source;
        queues[0][0] = {source, D(0)};
    }
    __syncthreads();
    uint32_t relaxed_here = 0, in = 0, current = 0, count = source >= core;
    while (count) {
        uint32_t *counter = &tail[(current + 1) % 3];
        for (uint32_t i = tid / SIDE; i < count; i += THREADS / SIDE) {
            Found<D> at = i < queue_size ? queues[in][i] : spill[size_t(in) * spill_size + i - queue_size];
            uint32_t first = rows[at.end], last = rows[at.end + 1];
            // Changed by atomics in L2 only, so L1 may be out of date. A vertex whose distance fell since is queued
            // again.
            if (__ldcg(&above[at.end]) != at.length) continue;
            for (uint32_t a = first + tid % SIDE; a < last; a += SIDE) {
                Arc<D> arc = arcs[a];
                relaxed_here++;
                D candidate = sum(at.length, arc.length);
                if (candidate == UNREACHED<D>) {
                    ended = TOO_LONG;
                    continue;
                }
                D before = atomic_min(&above[arc.end], candidate);
                if (candidate >= before) continue;
                if (arc.end < core) {
                    if (before == UNREACHED<D>) entries[atomicAdd(&found, 1)].end = arc.end;
                    continue;
                }
                uint32_t to = atomicAdd(counter, 1);
                if (to < queue_size)
                    queues[in ^ 1][to] = {arc.end, candidate};
                else if (to - queue_size < spill_size)
                    spill[size_t(in ^ 1) * spill_size + to - queue_size] = {arc.end, candidate};
                else
                    ended = FULL;
            }
        }
        // Last read before the barrier of the previous round.
        if (tid == 0) tail[(current + 2) % 3] = 0;
        __syncthreads();
        current = (current + 1) % 3;
        count = min(tail[current], queue_size + spill_size);
        in ^= 1;
    }
    for (uint32_t i = tid; i < found; i += THREADS) {
        uint32_t slot = entries[i].end;
        entries[i].length = __ldcg(&above[slot]);
        above[slot] = UNREACHED<D>;
    }
    relaxed_here = __reduce_add_sync(ALL, relaxed_here);
    if (tid % 32 == 0) atomicAdd(&relaxed, relaxed_here);
    __syncthreads();
    if (tid == 0) {
        record->relaxations = relaxed + (unsigned long long)found * core;
        record->entries = found;
        if (ended) atomicOr(&record->ended, ended);
    }
}

// The core's distances: the minimum over its entries of distance plus table row. Warp w of a block takes the entries w,
// w + 32, ... for 32 vertices at a time.
template <typename D>
static __device__ bool core_distances(const D *__restrict__ table, const uint32_t *__restrict__ vertices, uint32_t core,
                             uint32_t width, const Found<D> *entries, uint32_t count, D *distances, D *answer) {
    __shared__ D parts[WARPS][32];
    uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    bool too_long = false;
    for (uint32_t first = blockIdx.x * 32; first < width; first += gridDim.x * 32) {
        D nearest = UNREACHED<D>;
#pragma unroll 4
        for (uint32_t e = warp; e < count; e += WARPS) {
            D length = table[size_t(entries[e].end) * width + first + lane];
            D candidate = sum(entries[e].length, length);
            too_long |= candidate == UNREACHED<D> && length != UNREACHED<D>;
            nearest = min(nearest, candidate);
        }
        parts[warp][lane] = nearest;
        __syncthreads();
        if (warp == 0) {
#pragma unroll
            for (uint32_t w = 1; w < WARPS; w++) nearest = min(nearest, parts[w][lane]);
            distances[first + lane] = nearest;
            if (first + lane < core) answer[vertices[first + lane]] = nearest;
        }
        __syncthreads();
    }
    return too_long;
}

// What a lane needs of a slice that does not depend on the previous level.
template <typename D> struct Slice {
    uint32_t first, width = 0, slot, vertex = NONE;
    D nearest;
    Arc<D> arcs[AHEAD<D>];
};

template <typename D> struct Sweep {
    const uint32_t *__restrict__ rows;  // first row of every slice
    const Arc<D> *__restrict__ arcs;
    const uint32_t *__restrict__ vertices;
    D *above, *distances, *answer;
    bool too_long;

    __device__ Slice<D> fetch(const Level &level, uint32_t slice) const {
        Slice<D> s;
        if (slice >= level.slices) return s;
        s.first = rows[level.first_slice + slice];
        s.width = rows[level.first_slice + slice + 1] - s.first;
        s.slot = level.first_slot + (slice << (5 - level.log_lanes)) + (threadIdx.x % 32 >> level.log_lanes);
        s.vertex = vertices[s.slot];
        s.nearest = __ldcg(&above[s.slot]);
        fetch_arcs(s, 0);
        return s;
    }
    __device__ void fetch_arcs(Slice<D> &s, uint32_t from) const {
#pragma unroll
        for (int k = 0; k < AHEAD<D>; k++)
            if (from + k < s.width) s.arcs[k] = arcs[size_t(s.first + from + k) * 32 + threadIdx.x % 32];
    }
    __device__ void settle(Slice<D> &s, uint32_t log_lanes) {
        D least = s.nearest;
        for (uint32_t from = 0; from < s.width; from += AHEAD<D>) {
            if (from) fetch_arcs(s, from);
            D reached[AHEAD<D>];
#pragma unroll
            for (int k = 0; k < AHEAD<D>; k++)
                if (from + k < s.width) reached[k] = distances[s.arcs[k].end];
#pragma unroll
            for (int k = 0; k < AHEAD<D>; k++)
                if (from + k < s.width) {
                    D length = s.arcs[k].length, candidate = sum(reached[k], length);
                    too_long |= candidate == UNREACHED<D> && reached[k] != candidate && length != candidate;
                    least = min(least, candidate);
                }
        }
        for (uint32_t apart = 1; apart >> log_lanes == 0; apart *= 2)
            least = min(least, __shfl_xor_sync(ALL, least, apart));
        if (s.vertex == NONE || threadIdx.x & ((1u << log_lanes) - 1)) return;
        distances[s.slot] = least;
        answer[s.vertex] = least;
        if (s.nearest != UNREACHED<D>) above[s.slot] = UNREACHED<D>;
    }
};

template <typename D>
static __device__ void query(const uint32_t *rows, const Arc<D> *up, const D *table, const Level *levels,
                             const uint32_t *slices, const Arc<D> *down, const uint32_t *vertices, D *above,
                             D *distances, D *answer, Found<D> *entries, Found<D> *spill, Record *record,
                             uint32_t *arrivals, uint32_t core, uint32_t core_width, uint32_t level_count,
                             uint32_t queue_size, uint32_t spill_size, uint32_t timeout_ms, uint32_t source,
                             uint32_t arrived) {
    Barrier barrier{arrivals, &record->ended, arrived, now_ns() + timeout_ms * 1000000ull};
    // Neighbouring warps run on different multiprocessors, so small levels use all of them.
    uint32_t warp = threadIdx.x / 32 * gridDim.x + blockIdx.x, warps = gridDim.x * WARPS;
    if (blockIdx.x == 0)
        search_up(rows, up, core, source, above, entries, spill, min(queue_size, QUEUE), spill_size, record);
    barrier.arrive();
    Level level = level_count ? levels[0] : Level{};
    if (!barrier.wait()) return;

    Sweep<D> sweep{slices, down, vertices, above, distances, answer};
    sweep.too_long = core_distances(table, vertices, core, core_width, entries, __ldcg(&record->entries), distances,
                                    answer);
    for (uint32_t l = 0; l < level_count; l++) {
        barrier.arrive();
        Slice<D> now = sweep.fetch(level, warp);
        Level next = l + 1 < level_count ? levels[l + 1] : Level{};
        if (!barrier.wait()) return;
        for (uint32_t slice = warp; slice < level.slices; slice += warps) {
            Slice<D> then = sweep.fetch(level, slice + warps);
            sweep.settle(now, level.log_lanes);
            now = then;
        }
        level = next;
    }
    if (sweep.too_long) atomicOr(&record->ended, TOO_LONG);
}

#define KERNEL(suffix, D)                                                                                         \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                                      \
        phast_##suffix(const uint32_t *__restrict__ rows, const Arc<D> *__restrict__ up,                          \
                       const D *__restrict__ table, const Level *__restrict__ levels,                             \
                       const uint32_t *__restrict__ slices, const Arc<D> *__restrict__ down,                      \
                       const uint32_t *__restrict__ vertices, D *above, D *distances, D *answer,                  \
                       Found<D> *entries, Found<D> *spill, Record *record, uint32_t *arrivals, uint32_t core,     \
                       uint32_t core_width, uint32_t level_count, uint32_t queue_size, uint32_t spill_size,       \
                       uint32_t timeout_ms, uint32_t source, uint32_t arrived) {                                 \
        query<D>(rows, up, table, levels, slices, down, vertices, above, distances, answer, entries, spill,       \
                 record, arrivals, core, core_width, level_count, queue_size, spill_size, timeout_ms, source,    \
                 arrived);                                                                                        \
    }

KERNEL(u4, uint32_t)
KERNEL(u8, uint64_t)
