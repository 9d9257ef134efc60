// A query on a graph of real weights without its chains (walks.py, which says what the arrays hold): `enter` walks from
// the source to the core, which fast.cu searches, and `settle`, `descend` lead from the core to all vertices.
//
// A walk adds arc after arc, as a path is added, so it is a chain of dependent additions. A warp walks, a tile of lengths
// at a time, which are loaded ahead of need: every lane makes all additions of the tile, from lengths in shared memory,
// and then lowers the distances of its own vertices.
//
// A walk ends where a distance is not larger than its sum. The walk that has lowered this distance came from what lies
// ahead, or from a source there, and as sums are monotone, it has left no larger distances ahead than these sums would
// be. So walks share a path in any order, and the least of their sums is left. From the source two walks lead along
// each path of its way, one up to what it hangs on, one to its other end, and later walks from the ends meet them.
#include "ending.cuh"
#include "queue.cuh"
#include "types.cuh"

static constexpr uint32_t ALL_LANES = 0xFFFFFFFFu;
static constexpr int32_t NOWHERE = -1;
static constexpr uint32_t WARPS = 8;  // of a block that goes down trees

// WALKS in cuda_walks.py.
struct Walks {
    const float *lengths;
    const int4 *paths;
    const int32_t *vertices, *path, *slot, *number;
    unsigned long long slots;
};

// Of the query under way; WAY in cuda_walks.py. seeds and list are what fast.cu takes as `Left`.
struct Way {
    uint32_t seeds, list, ended;
};

// Lengths and sums of a warp's tile; a lane has the vertices `lane`, `lane` + 32 and so on of it.
static constexpr uint32_t OWN = 4, TILE = 32 * OWN, GROUP = 16;

template <typename D> struct alignas(16) Tile {
    float lengths[TILE + GROUP];  // a group more, which is loaded ahead and not used
    D sums[TILE];
};

template <typename D> struct alignas(16) Four {
    D a, b, c, d;
};

// By a warp: on from the distance x, over `count` slots that begin with `vertices` and are `step` (1 or -1) apart, each
// reached by the length `arcs` of its place. Returns the last sum; of no meaning where the walk has ended before.
// too_long: the vertex whose sum does not fit, in the lane that has it, else NOWHERE.
template <typename D>
static __device__ D walk(D x, const float *arcs, const int32_t *vertices, uint32_t count, int step, D *distances,
                         Tile<D> &tile, int32_t &too_long) {
    const uint32_t lane = threadIdx.x & 31;
    too_long = NOWHERE;
    if (x == Distance<D>::unreached) return x;
    float by[OWN];
    int32_t next[OWN], here[OWN];
    auto load = [&](uint32_t first) {
#pragma unroll
        for (uint32_t k = 0; k < OWN; k++) {
            const uint32_t i = first + lane + 32 * k;
            by[k] = i < count ? arcs[int(i) * step] : 0.0f;
            next[k] = i < count ? vertices[int(i) * step] : NOWHERE;
        }
    };
    load(0);
    // Of the tile before, whose minima are under way while the next sums are made.
    D mine[OWN], there[OWN];
#pragma unroll
    for (uint32_t k = 0; k < OWN; k++) mine[k] = 0, there[k] = Distance<D>::unreached;
    for (uint32_t first = 0; first < count; first += TILE) {
#pragma unroll
        for (uint32_t k = 0; k < OWN; k++) tile.lengths[lane + 32 * k] = by[k], here[k] = next[k];
        __syncwarp();
        load(first + TILE);
        const D from = x;
        const uint32_t groups = (min(count - first, TILE) + GROUP - 1) / GROUP;
        const float4 *lengths = reinterpret_cast<const float4 *>(tile.lengths);
        Four<D> *sums = reinterpret_cast<Four<D> *>(tile.sums);
        float4 ahead[GROUP / 4];
#pragma unroll
        for (uint32_t j = 0; j < GROUP / 4; j++) ahead[j] = lengths[j];
        for (uint32_t group = 0; group < groups; group++) {
            lengths += GROUP / 4;
#pragma unroll
            for (uint32_t j = 0; j < GROUP / 4; j++) {
                const float4 now = ahead[j];
                ahead[j] = lengths[j];
                Four<D> sum;
                sum.a = Distance<D>::add(x, now.x);
                sum.b = Distance<D>::add(sum.a, now.y);
                sum.c = Distance<D>::add(sum.b, now.z);
                sum.d = x = Distance<D>::add(sum.c, now.w);
                if (lane == 0) sums[j] = sum;
            }
            sums += GROUP / 4;
        }
        __syncwarp();
        bool met = false;
#pragma unroll
        for (uint32_t k = 0; k < OWN; k++) met |= there[k] <= mine[k];
        if (__any_sync(ALL_LANES, met)) break;
#pragma unroll
        for (uint32_t k = 0; k < OWN; k++) {
            mine[k] = tile.sums[lane + 32 * k];
            if (here[k] != NOWHERE) there[k] = Distance<D>::atomic_min(&distances[here[k]], mine[k]);
        }
        if (x == Distance<D>::unreached) {
            for (uint32_t k = 0; k < OWN; k++) {
                const uint32_t i = lane + 32 * k;
                const D before = i ? tile.sums[i - 1] : from;
                const bool there_is = tile.lengths[i] != Distance<float>::unreached;
                if (here[k] != NOWHERE && mine[k] == x && before != x && there_is) too_long = here[k];
            }
            break;
        }
    }
    __syncwarp();
    return x;
}

// By two warps: walk from the source out of its tree, then out of its chain; the ends are entered into the core.
template <typename D>
static __device__ void enter(const Walks &walks, int32_t source, D *core, D *distances, Entry<D> *seeds, Way *way) {
    __shared__ Tile<D> tiles[2];
    __shared__ D reached[2];
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    const float *ahead = walks.lengths, *back = ahead + walks.slots;
    bool too_long = false;
    int32_t at = walks.slot[source], ends[2] = {source, NOWHERE};
    D x = 0, beyond = Distance<D>::unreached;
    if (threadIdx.x == 0) distances[source] = x;
    while (at != NOWHERE) {
        const int4 path = walks.paths[walks.path[at]];
        const int32_t end = path.x + path.y + path.z;
        int32_t over;
        const D last =
            warp == 0
                ? walk(x, back + at, walks.vertices + at - 1, at - path.x, -1, distances, tiles[0], over)
                : walk(x, ahead + at + 1, walks.vertices + at + 1, end - at, 1, distances, tiles[1], over);
        too_long |= over != NOWHERE;
        if (lane == 0) reached[warp] = last;
        __syncthreads();
        x = reached[0];
        if (path.z) ends[1] = walks.vertices[end], beyond = reached[1];
        ends[0] = walks.vertices[path.x];
        at = walks.slot[ends[0]];
        __syncthreads();
    }
    const uint32_t ended = __syncthreads_or(too_long) ? TOO_LONG : 0;
    if (threadIdx.x) return;
    uint32_t count = 0;
    for (uint32_t side = 0; side < 2; side++) {
        const D sum = side ? beyond : x;
        if (sum == Distance<D>::unreached) continue;
        const uint32_t id = walks.number[ends[side]];
        Distance<D>::atomic_min(&core[id], sum);
        seeds[count++] = {sum, id};
    }
    *way = {count, 0, ended};
}

// The distances of the core's vertices, which are final.
template <typename D> static __device__ void settle(uint32_t k, const int32_t *kept, const D *core, D *distances) {
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < k; i += gridDim.x * blockDim.x)
        distances[kept[i]] = core[i];
}

// Along the first `count` paths, which are chains, from both ends, whose distances are final: two warps each.
template <typename D>
static __device__ void join(const Walks &walks, uint32_t count, D *distances, Way *way) {
    __shared__ Tile<D> tiles[2];
    const float *ahead = walks.lengths, *back = ahead + walks.slots;
    for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
        const int4 path = walks.paths[i];
        const int32_t *vertices = walks.vertices + path.x, end = path.y + 1;
        int32_t over;
        if (threadIdx.x < 32)
            walk(distances[vertices[0]], ahead + path.x + 1, vertices + 1, path.y, 1, distances, tiles[0], over);
        else
            walk(distances[vertices[end]], back + path.x + end, vertices + path.y, path.y, -1, distances, tiles[1],
                 over);
        // The walk from the other end may have brought a sum that fits.
        __syncthreads();
        if (over != NOWHERE && __ldcg(&distances[over]) == Distance<D>::unreached) atomicOr(&way->ended, TOO_LONG);
    }
}

// Down the paths `first` to `last` - 1, which are trees', a warp each, from what they hang on, whose distances are
// final.
template <typename D>
static __device__ void descend(const Walks &walks, uint32_t first, uint32_t last, D *distances, Way *way) {
    __shared__ Tile<D> tiles[WARPS];
    const uint32_t warp = threadIdx.x / 32;
    for (uint32_t i = first + blockIdx.x * WARPS + warp; i < last; i += gridDim.x * WARPS) {
        const int4 path = walks.paths[i];
        const int32_t *vertices = walks.vertices + path.x;
        int32_t over;
        walk(distances[vertices[0]], walks.lengths + path.x + 1, vertices + 1, path.y, 1, distances, tiles[warp], over);
        if (over != NOWHERE) atomicOr(&way->ended, TOO_LONG);
    }
}

#define KERNELS(suffix, D)                                                                                          \
    extern "C" __global__ void enter_##suffix(const __grid_constant__ Walks walks, int32_t source, D *core,         \
                                              D *distances, Entry<D> *seeds, Way *way) {                            \
        enter(walks, source, core, distances, seeds, way);                                                          \
    }                                                                                                               \
    extern "C" __global__ void unreached_##suffix(uint32_t n, D *distances) {                                       \
        for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)                \
            distances[i] = Distance<D>::unreached;                                                                  \
    }                                                                                                               \
    extern "C" __global__ void settle_##suffix(uint32_t k, const int32_t *kept, const D *core, D *distances) {      \
        settle(k, kept, core, distances);                                                                           \
    }                                                                                                               \
    extern "C" __global__ void join_##suffix(const __grid_constant__ Walks walks, uint32_t count, D *distances,     \
                                             Way *way) {                                                            \
        join(walks, count, distances, way);                                                                         \
    }                                                                                                               \
    extern "C" __global__ void descend_##suffix(const __grid_constant__ Walks walks, uint32_t first, uint32_t last, \
                                                D *distances, Way *way) {                                           \
        descend(walks, first, last, distances, way);                                                                \
    }

KERNELS(f4, float)
KERNELS(f8, double)
