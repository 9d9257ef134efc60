// A query on a graph without its chains (chains.py, which says what the arrays hold): `enter` leads from the source to
// the core, which fast.cu searches, and `expand` from the core to all vertices. The twin of cpu_chains.py.
#include "ending.cuh"
#include "queue.cuh"
#include "types.cuh"

// Heavy paths on a way up, of fewer than 2^31 vertices.
static constexpr uint32_t MOST_PATHS = 32;
static constexpr uint64_t MISSING = ~0ull;
static constexpr int32_t NOWHERE = -1;

// CHAINS in cuda_chains.py.
struct Chains {
    const int2 *ends;
    const ulonglong2 *beyond;
    const int32_t *unit;
    const int4 *place;
    const ulonglong2 *sums;
    const int32_t *last;
    const ulonglong2 *out;
    int32_t *entry;
    unsigned long long missing;
};

// Of the query under way; WAY in cuda_chains.py. seeds and list are what fast.cu takes as `Left`.
struct Way {
    uint32_t seeds, list, ended, paths;
    int32_t first[MOST_PATHS];  // of the heavy paths from the source up to the root of its unit
};

static __device__ uint64_t plus(uint64_t a, uint64_t b) { return a == MISSING || b == MISSING ? MISSING : a + b; }

// The length of the way from the source to v, of the same unit, within the unit's tree.
static __device__ uint64_t within(const Chains &chains, int32_t source, int32_t v) {
    int4 at = chains.place[v];
    int32_t come, apex = v;
    while ((come = chains.entry[at.x]) == NOWHERE) {
        apex = at.y;
        at = chains.place[apex];
    }
    // The lowest common ancestor: the upper one of two vertices of a path.
    if (chains.place[come].z < at.z) apex = come;
    ulonglong2 there = chains.sums[apex];
    uint64_t up = chains.sums[source].x - there.x, down = chains.sums[v].y - there.y;
    return up < chains.missing && down < chains.missing ? up + down : MISSING;
}

// By one thread: note the source's way up, and make entries of the ends of its unit. `way` is as the query before left it.
template <typename D>
static __device__ void enter(const Chains &chains, int32_t source, D *core, Entry<D> *seeds, Way *way) {
    for (uint32_t i = 0; i < way->paths; i++) chains.entry[way->first[i]] = NOWHERE;
    uint32_t paths = 0;
    for (int32_t v = source; v != NOWHERE;) {
        int4 at = chains.place[v];
        chains.entry[at.x] = v;
        way->first[paths++] = at.x;
        v = at.y;
    }
    uint32_t count = 0, ended = 0;
    auto seed = [&](int32_t end, uint64_t length) {
        if (end == NOWHERE || length == MISSING) return;
        if (length >= Distance<D>::unreached) {
            ended = TOO_LONG;
            return;
        }
        Distance<D>::atomic_min(&core[end], D(length));
        seeds[count++] = {D(length), uint32_t(end)};
    };
    int2 ends = chains.ends[source];
    int32_t unit = chains.unit[source];
    ulonglong2 out = chains.out[unit];
    uint64_t up = chains.sums[source].x;
    seed(ends.x, plus(up < chains.missing ? up : MISSING, out.x));
    seed(ends.y, plus(within(chains, source, chains.last[unit]), out.y));
    way->seeds = count, way->list = 0, way->ended = ended, way->paths = paths;
}

// Distances of all n vertices from those of the core.
template <typename D>
static __device__ void expand(uint32_t n, const Chains &chains, int32_t source, const D *core, D *distances, Way *way) {
    const int32_t home = chains.unit[source];
    bool too_long = false;
    for (uint32_t v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x) {
        int2 ends = chains.ends[v];
        ulonglong2 beyond = chains.beyond[v];
        D one = core[ends.x], other = ends.y == NOWHERE ? Distance<D>::unreached : core[ends.y];
        uint64_t least = one == Distance<D>::unreached ? MISSING : plus(one, beyond.x);
        if (other != Distance<D>::unreached) least = min(least, plus(other, beyond.y));
        if (chains.unit[v] == home) least = min(least, within(chains, source, v));
        too_long |= least != MISSING && least >= Distance<D>::unreached;
        distances[v] = least >= Distance<D>::unreached ? Distance<D>::unreached : D(least);
    }
    if (too_long) atomicOr(&way->ended, TOO_LONG);
}

#define KERNELS(suffix, D)                                                                                            \
    extern "C" __global__ void enter_##suffix(const __grid_constant__ Chains chains, int32_t source, D *core,         \
                                              Entry<D> *seeds, Way *way) {                                            \
        enter(chains, source, core, seeds, way);                                                                      \
    }                                                                                                                 \
    extern "C" __global__ void expand_##suffix(uint32_t n, const __grid_constant__ Chains chains, int32_t source,     \
                                               const D *core, D *distances, Way *way) {                               \
        expand(n, chains, source, core, distances, way);                                                              \
    }

KERNELS(u4, uint32_t)
KERNELS(u8, uint64_t)
