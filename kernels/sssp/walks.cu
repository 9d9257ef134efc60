// A query on a graph of real weights without its chains (walks.py, which says what the arrays hold): `enter` walks from
// the source to the core, which fast.cu searches, and `settle`, `descend` lead from the core to all vertices.
//
// A walk adds arc after arc, as a path is added, so it is a chain of dependent additions. A warp walks: it loads 32
// lengths at a time ahead of need, every lane makes all 32 additions, and keeps one of the sums.
#include "ending.cuh"
#include "queue.cuh"
#include "types.cuh"

static constexpr uint32_t ALL_LANES = 0xFFFFFFFFu;
static constexpr int32_t NOWHERE = -1;

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

// By a warp: on from the distance x, over `count` slots that begin with `vertices` and are `step` (1 or -1) apart, each
// reached by the length `arcs` of its place. A distance falls to the sum, or the walk goes on from the distance.
// Returns the last.
template <typename D>
static __device__ D walk(D x, const float *arcs, const int32_t *vertices, uint32_t count, int step, D *distances,
                         bool &too_long) {
    const uint32_t lane = threadIdx.x & 31;
    auto vertex = [&](uint32_t i) { return i < count ? vertices[int(i) * step] : NOWHERE; };
    auto length = [&](uint32_t i) { return i < count ? arcs[int(i) * step] : 0.0f; };
    auto distance = [&](int32_t v) { return v == NOWHERE ? Distance<D>::unreached : distances[v]; };
    int32_t here = vertex(lane), next = vertex(lane + 32);
    float by = length(lane);
    D there = distance(here);
    for (uint32_t first = 0; first < count; first += 32) {
        const int32_t after = vertex(first + 64 + lane);
        const float next_by = length(first + 32 + lane);
        const D next_there = distance(next);
        D from = x, mine = x;
#pragma unroll
        for (uint32_t i = 0; i < 32; i++) {
            if (lane == i) from = x;
            x = min(Distance<D>::add(x, __shfl_sync(ALL_LANES, by, i)), __shfl_sync(ALL_LANES, there, i));
            if (lane == i) mine = x;
        }
        if (here != NOWHERE && mine < there) distances[here] = mine;
        too_long |= mine == Distance<D>::unreached && from != mine && by != Distance<float>::unreached;
        here = next, next = after, by = next_by, there = next_there;
    }
    __syncwarp();
    return x;
}

// By a warp: walk from the source out of its tree, then out of its chain; the ends are entered into the core.
template <typename D>
static __device__ void enter(const Walks &walks, int32_t source, D *core, D *distances, Entry<D> *seeds, Way *way) {
    const uint32_t lane = threadIdx.x & 31;
    const float *ahead = walks.lengths, *back = ahead + walks.slots;
    bool too_long = false;
    uint32_t count = 0;
    auto seed = [&](int32_t vertex, D x) {
        if (x == Distance<D>::unreached) return;
        if (lane == 0) {
            const uint32_t id = walks.number[vertex];
            Distance<D>::atomic_min(&core[id], x);
            seeds[count] = {x, id};
        }
        count++;
    };
    if (lane == 0) distances[source] = D(0);
    __syncwarp();
    int32_t at = walks.slot[source], v = source;
    D x = 0;
    while (at != NOWHERE) {
        const int4 path = walks.paths[walks.path[at]];
        const D up = walk(x, back + at, walks.vertices + at - 1, at - path.x, -1, distances, too_long);
        if (path.z) {
            const int32_t end = path.x + path.y + 1;
            seed(walks.vertices[end],
                 walk(x, ahead + at + 1, walks.vertices + at + 1, end - at, 1, distances, too_long));
        }
        v = walks.vertices[path.x];
        x = up, at = walks.slot[v];
    }
    seed(v, x);
    const uint32_t ended = __any_sync(ALL_LANES, too_long) ? TOO_LONG : 0;
    if (lane == 0) *way = {count, 0, ended};
}

// The distances of the core's vertices, which are final.
template <typename D> static __device__ void settle(uint32_t k, const int32_t *kept, const D *core, D *distances) {
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < k; i += gridDim.x * blockDim.x)
        distances[kept[i]] = core[i];
}

// Down the paths `first` to `last` - 1, a warp each, from what they hang on, whose distances are final; along chains
// from both ends.
template <typename D>
static __device__ void descend(const Walks &walks, uint32_t first, uint32_t last, D *distances, Way *way) {
    const float *ahead = walks.lengths, *back = ahead + walks.slots;
    bool too_long = false;
    const uint32_t warps = gridDim.x * blockDim.x / 32;
    for (uint32_t i = first + (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < last; i += warps) {
        const int4 path = walks.paths[i];
        const int32_t *vertices = walks.vertices + path.x, end = path.y + 1;
        walk(distances[vertices[0]], ahead + path.x + 1, vertices + 1, path.y, 1, distances, too_long);
        if (path.z)
            walk(distances[vertices[end]], back + path.x + end, vertices + path.y, path.y, -1, distances, too_long);
    }
    if (too_long) atomicOr(&way->ended, TOO_LONG);
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
    extern "C" __global__ void descend_##suffix(const __grid_constant__ Walks walks, uint32_t first, uint32_t last, \
                                                D *distances, Way *way) {                                           \
        descend(walks, first, last, distances, way);                                                                \
    }

KERNELS(f4, float)
KERNELS(f8, double)
