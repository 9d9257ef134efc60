// `fast` on small worlds, whose frontiers are broad: delta-stepping in few phases, each over the whole grid, that reads
// as few arcs as possible by push and pull.
//
// Rows are sorted by weight. A push phase relaxes the arcs whose candidate lies below a bound and leaves the rest of
// the row for later: `cursor` is the row's first arc not yet relaxed, `next` the candidate of that arc, `done` the
// distance for which both hold. When a phase changes nothing, all distances below the bound are final and the bound
// rises by delta.
//
// When the rows of all vertices beyond the bound are together shorter than what another bound would push, these
// vertices pull: each takes the minimum over its neighbours below the bound (only where the host found the graph
// symmetric). After that only these vertices push, without a bound. On Kronecker graphs this reads an eighth of the
// arcs.
//
// The host starts every phase and reads one status record (cuda_broad.py).
//
// 1. Meyer, Sanders: Delta-stepping: a parallelizable shortest path algorithm. J. Algorithms 49, 2003 (light and heavy
//    arcs).
// 2. Chakaravarthy, Checconi, Murali, Petrini, Sabharwal: Scalable single source shortest path algorithms for massively
//    parallel systems. IPDPS 2014 (pruning by the bound, pull).
#include "types.cuh"

static constexpr uint32_t ALL = 0xFFFFFFFFu;
// Most arcs of a row that one thread relaxes, and that one warp does. Longer parts are cut into chunks, a thread an
// arc: where vertices are numbered by degree, a warp would otherwise have 32 long rows.
static constexpr uint32_t ALONE = 8, CHUNK = 64;

template <typename D> struct Chunk {
    int64_t first;
    uint32_t count;
    D distance;
};

// STATUS in cuda_broad.py; the host clears it before a phase.
struct Status {
    unsigned long long relaxed, beyond;  // arcs relaxed; arcs of the vertices beyond the bound
    unsigned long long nearest;          // bits of the smallest candidate not yet relaxed, as `survey` finds it
    uint32_t changed, too_long, chunks, unused;
};

static __device__ unsigned long long bits_of(uint32_t d) { return d; }
static __device__ unsigned long long bits_of(uint64_t d) { return d; }
static __device__ unsigned long long bits_of(float d) { return __float_as_uint(d); }
static __device__ unsigned long long bits_of(double d) { return (unsigned long long)__double_as_longlong(d); }

static __device__ uint32_t thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

template <typename D> static __device__ void start(uint32_t n, uint32_t source, D *distances, D *done) {
    for (uint32_t v = thread_index(); v < n; v += gridDim.x * blockDim.x) {
        distances[v] = v == source ? D(0) : Distance<D>::unreached;
        done[v] = Distance<D>::unreached;
    }
}

// Relax one arc; true if the target's distance fell.
template <typename D, typename W> static __device__ bool relax(uint2 arc, D distance, D *distances) {
    D candidate = Distance<D>::add(distance, as_weight(arc.y, W()));
    return candidate < distances[arc.x] && candidate < Distance<D>::atomic_min(&distances[arc.x], candidate);
}

// Relax the arcs of the vertices from distance `from` on whose candidate lies below `bound` and that are not yet
// relaxed.
template <typename D, typename W>
static __device__ void push(uint32_t n, const int64_t *offsets, const uint2 *arcs, D *distances, D *done, D *next,
                            uint32_t *cursor, Chunk<D> *chunks, Status *status, D from, D bound) {
    uint32_t lane = threadIdx.x & 31;
    bool changed = false;
    unsigned long long relaxed = 0;
    for (uint32_t base = thread_index() - lane; base < n; base += gridDim.x * blockDim.x) {
        uint32_t v = base + lane, count = 0;
        int64_t first = 0;
        D distance = v < n ? distances[v] : Distance<D>::unreached;
        bool fresh = v < n && done[v] != distance;
        if (distance >= from && distance < bound && (fresh || next[v] < bound)) {
            int64_t row = offsets[v];
            uint32_t length = offsets[v + 1] - row, begin = fresh ? 0 : cursor[v], low = begin, high = length;
            while (low < high) {
                uint32_t middle = low + (high - low) / 2;
                if (Distance<D>::add(distance, as_weight(arcs[row + middle].y, W())) < bound)
                    low = middle + 1;
                else
                    high = middle;
            }
            done[v] = distance, cursor[v] = low, next[v] = Distance<D>::unreached;
            if (low < length) {
                next[v] = Distance<D>::add(distance, as_weight(arcs[row + low].y, W()));
                if (next[v] == Distance<D>::unreached) status->too_long = 1;
            }
            first = row + begin, count = low - begin;
            relaxed += count;
        }
        if (count <= ALONE)
            for (uint32_t i = 0; i < count; i++) changed |= relax<D, W>(arcs[first + i], distance, distances);
        for (uint32_t many = __ballot_sync(ALL, count > ALONE); many; many &= many - 1) {
            int owner = __ffs(many) - 1;
            int64_t row_first = __shfl_sync(ALL, first, owner);
            uint32_t row_count = __shfl_sync(ALL, count, owner);
            D row_distance = __shfl_sync(ALL, distance, owner);
            if (row_count <= CHUNK) {
                for (uint32_t i = lane; i < row_count; i += 32)
                    changed |= relax<D, W>(arcs[row_first + i], row_distance, distances);
                continue;
            }
            uint32_t pieces = (row_count + CHUNK - 1) / CHUNK, at = 0;
            if (lane == 0) at = atomicAdd(&status->chunks, pieces);
            at = __shfl_sync(ALL, at, 0);
            for (uint32_t i = lane; i < pieces; i += 32)
                chunks[at + i] = {row_first + int64_t(i) * CHUNK, min(CHUNK, row_count - i * CHUNK), row_distance};
        }
    }
    // One store a warp: the host needs only the flag.
    if (__ballot_sync(ALL, changed) && lane == 0) status->changed = 1;
    for (int other = 16; other; other /= 2) relaxed += __shfl_xor_sync(ALL, relaxed, other);
    if (lane == 0 && relaxed) atomicAdd(&status->relaxed, relaxed);
}

// Relax the chunks that `push` listed.
template <typename D, typename W>
static __device__ void push_chunks(const uint2 *arcs, D *distances, const Chunk<D> *chunks, Status *status) {
    bool changed = false;
    uint32_t place = threadIdx.x % CHUNK, at_once = gridDim.x * blockDim.x / CHUNK;
    for (uint32_t c = thread_index() / CHUNK, count = status->chunks; c < count; c += at_once) {
        Chunk<D> chunk = chunks[c];
        if (place < chunk.count) changed |= relax<D, W>(arcs[chunk.first + place], chunk.distance, distances);
    }
    if (__ballot_sync(ALL, changed) && threadIdx.x % 32 == 0) status->changed = 1;
}

// With all distances below `bound` final: the arcs of the vertices beyond it, and the smallest candidate not relaxed.
template <typename D>
static __device__ void survey(uint32_t n, const int64_t *offsets, const D *distances, const D *next, Status *status,
                              D bound) {
    unsigned long long beyond = 0, nearest = bits_of(Distance<D>::unreached);
    for (uint32_t v = thread_index(); v < n; v += gridDim.x * blockDim.x) {
        if (distances[v] < bound)
            nearest = min(nearest, bits_of(next[v]));
        else
            beyond += offsets[v + 1] - offsets[v];
    }
    for (int other = 16; other; other /= 2) {
        beyond += __shfl_xor_sync(ALL, beyond, other);
        nearest = min(nearest, __shfl_xor_sync(ALL, nearest, other));
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&status->beyond, beyond);
        atomicMin(&status->nearest, nearest);
    }
}

// Every vertex beyond the bound takes the minimum over its neighbours below it, whose distances are final.
template <typename D, typename W>
static __device__ void pull(uint32_t n, const int64_t *offsets, const uint2 *arcs, D *distances, Status *status,
                            D bound) {
    uint32_t lane = threadIdx.x & 31;
    auto through = [&](uint2 arc) {
        D near = distances[arc.x];
        if (near >= bound) return Distance<D>::unreached;
        D candidate = Distance<D>::add(near, as_weight(arc.y, W()));
        if (candidate == Distance<D>::unreached) status->too_long = 1;
        return candidate;
    };
    for (uint32_t base = thread_index() - lane; base < n; base += gridDim.x * blockDim.x) {
        uint32_t v = base + lane, length = 0;
        int64_t row = 0;
        D best = Distance<D>::unreached;
        if (v < n && distances[v] >= bound) row = offsets[v], length = offsets[v + 1] - row;
        if (length <= 4 * ALONE)
            for (uint32_t i = 0; i < length; i++) best = min(best, through(arcs[row + i]));
        for (uint32_t many = __ballot_sync(ALL, length > 4 * ALONE); many; many &= many - 1) {
            int owner = __ffs(many) - 1;
            int64_t row_offset = __shfl_sync(ALL, row, owner);
            uint32_t row_length = __shfl_sync(ALL, length, owner);
            D row_best = Distance<D>::unreached;
            for (uint32_t i = lane; i < row_length; i += 32) row_best = min(row_best, through(arcs[row_offset + i]));
            for (int other = 16; other; other /= 2) row_best = min(row_best, __shfl_xor_sync(ALL, row_best, other));
            if (lane == uint32_t(owner)) best = row_best;
        }
        if (best < Distance<D>::unreached) distances[v] = best;
    }
}

#define KERNELS(suffix, D, W)                                                                                     \
    extern "C" __global__ void broad_start_##suffix(uint32_t n, uint32_t source, D *distances, D *done) {          \
        start(n, source, distances, done);                                                                        \
    }                                                                                                             \
    extern "C" __global__ void broad_push_##suffix(uint32_t n, const int64_t *offsets, const uint2 *arcs,          \
                                                  D *distances, D *done, D *next, uint32_t *cursor,               \
                                                  Chunk<D> *chunks, Status *status, D from, D bound) {            \
        push<D, W>(n, offsets, arcs, distances, done, next, cursor, chunks, status, from, bound);                 \
    }                                                                                                             \
    extern "C" __global__ void broad_chunks_##suffix(const uint2 *arcs, D *distances, const Chunk<D> *chunks,      \
                                                    Status *status) {                                             \
        push_chunks<D, W>(arcs, distances, chunks, status);                                                       \
    }                                                                                                             \
    extern "C" __global__ void broad_survey_##suffix(uint32_t n, const int64_t *offsets, const D *distances,       \
                                                    const D *next, Status *status, D bound) {                     \
        survey(n, offsets, distances, next, status, bound);                                                       \
    }                                                                                                             \
    extern "C" __global__ void broad_pull_##suffix(uint32_t n, const int64_t *offsets, const uint2 *arcs,          \
                                                  D *distances, Status *status, D bound) {                        \
        pull<D, W>(n, offsets, arcs, distances, status, bound);                                                   \
    }

KERNELS(u4_u4, uint32_t, uint32_t)
KERNELS(u8_u4, uint64_t, uint32_t)
KERNELS(f4_f4, float, float)
KERNELS(f8_f4, double, float)
