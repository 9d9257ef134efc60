// Parents of all searches from the bit planes of many.cu: a vertex hangs on a tail of its row whose level is one less.
//
// A block takes TILE neighbouring vertices of the graph, finds their parents in all searches, a warp a vertex, and writes
// them from shared memory in rows that lie side by side. Rows beyond HUB arcs are left out there: any warp takes pieces of
// them afterwards (`attach_hubs`), as a hub that one small frontier found may look at all its arcs.
#include "planes.cuh"

static constexpr int TILE = 32;

// Which of the wanted searches (of a word) that reached v have reached the tail a level before.
static __device__ uint32_t hangs(const Found &found, int used, uint32_t v, uint32_t tail, uint32_t word,
                                 uint32_t wanted) {
    constexpr int AT_ONCE = 4;
    uint32_t carry = EVERY, apart = 0;
    wanted &= found.visited[size_t(tail) * found.width + word];
    // Bit by bit: is the tail's level, plus 1, the vertex's?
    for (int i = 0; i < used; i += AT_ONCE) {
        uint32_t theirs[AT_ONCE], mine[AT_ONCE];
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            theirs[j] = i + j < used ? found.plane(i + j, tail, word) : 0;
            mine[j] = i + j < used ? found.plane(i + j, v, word) : 0;
        }
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            apart |= theirs[j] ^ carry ^ mine[j];
            carry &= theirs[j];
        }
    }
    return wanted & ~apart & ~carry;
}

// Searches that reached v, and those of them whose root it is not.
static __device__ uint2 reached(const Found &found, int used, uint32_t v, uint32_t word) {
    uint32_t all = found.visited[size_t(v) * found.width + word], below = 0;
    for (int i = 0; i < used; i++) below |= found.plane(i, v, word);
    return {all, all & below};
}

// ORed over the lanes up to this one, and over all, of those that have the same word.
static __device__ uint2 over_arcs(uint32_t lane, uint32_t width, uint32_t bits) {
    for (uint32_t step = width; step < 32; step *= 2) {
        uint32_t before = __shfl_up_sync(EVERY, bits, step);
        if (lane >= step) bits |= before;
    }
    return {bits, __shfl_sync(EVERY, bits, 32 - width + lane % width)};
}

// parents: [count, n]; place: [n], a vertex's number in the layout, -1 where it has none; old: [k], the graph's numbers;
// offsets, tails: the arcs into every vertex; hub: the most arcs of a row that is looked at here.
template <typename O>
static __device__ void attach(Found found, uint32_t n, const int *__restrict__ place, const int *__restrict__ old,
                              const O *__restrict__ offsets, const int *__restrict__ tails, uint32_t hub,
                              int *parents) {
    __shared__ int tile[MOST][TILE + 1];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t word = lane % found.width, arc = lane / found.width, arcs = 32 / found.width;
    const int used = found.used();
    for (uint32_t base = blockIdx.x * TILE; base < n; base += gridDim.x * TILE) {
        for (uint32_t t = warp; t < TILE; t += THREADS / 32) {
            const int v = base + t < n ? place[base + t] : -1;
            for (uint32_t s = lane; s < found.count; s += 32) tile[s][t] = -1;
            __syncwarp();
            if (v < 0) continue;
            auto put = [&](uint32_t searches, int parent) {
                for (; searches; searches &= searches - 1) tile[word * 32 + __ffs(searches) - 1][t] = parent;
            };
            auto [here, wanted] = reached(found, used, v, word);
            if (arc == 0) put(here & ~wanted, base + t);
            const O start = offsets[v], end = offsets[v + 1];
            if (end - start > hub) continue;
            for (O at = start; at < end && __any_sync(EVERY, wanted); at += arcs) {
                const int tail = at + arc < end ? tails[at + arc] : -1;
                const uint32_t match = tail >= 0 && wanted ? hangs(found, used, v, tail, word, wanted) : 0;
                const auto [upto, all] = over_arcs(lane, found.width, match);
                const uint32_t before = __shfl_up_sync(EVERY, upto, found.width);
                const uint32_t mine = arc ? match & ~before : match;
                if (mine) put(mine, old[tail]);
                wanted &= ~all;
            }
        }
        __syncthreads();
        if (base + lane < n)
            for (uint32_t s = warp; s < found.count; s += THREADS / 32)
                parents[size_t(s) * n + base + lane] = tile[s][lane];
        __syncthreads();
    }
}

// The same for the pieces of long rows, a warp each. claimed: [k] sets, empty before: the searches whose parent is found.
static __device__ void attach_pieces(Found found, uint32_t n, const int *__restrict__ old,
                                     const int *__restrict__ tails, const Piece *__restrict__ hubs, uint32_t hub_count,
                                     uint32_t *claimed, int *parents) {
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * (THREADS / 32);
    const uint32_t word = lane % found.width, arc = lane / found.width, arcs = 32 / found.width;
    const int used = found.used();
    for (uint32_t p = blockIdx.x * (THREADS / 32) + threadIdx.x / 32; p < hub_count; p += warps) {
        const Piece piece = hubs[p];
        uint32_t *claims = &claimed[size_t(piece.tail) * found.width + word];
        uint32_t wanted = reached(found, used, piece.tail, word).y & ~__ldcg(claims);
        for (uint32_t i = 0; i < piece.count && __any_sync(EVERY, wanted); i += arcs) {
            const int tail = i + arc < piece.count ? tails[piece.first + i + arc] : -1;
            uint32_t match = tail >= 0 && wanted ? hangs(found, used, piece.tail, tail, word, wanted) : 0;
            wanted &= ~over_arcs(lane, found.width, match).y;
            if (match) match &= ~atomicOr(claims, match);
            int *mine = parents + size_t(word) * 32 * n + old[piece.tail];
            for (; match; match &= match - 1) mine[size_t(__ffs(match) - 1) * n] = old[tail];
        }
    }
}

#define KERNEL(O, SUFFIX)                                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        attach_##SUFFIX(FOUND, uint32_t n, const int *place, const int *old, const O *offsets, const int *tails,       \
                        uint32_t hub, int *parents) {                                                                  \
        attach<O>(GIVEN, n, place, old, offsets, tails, hub, parents);                                                 \
    }

KERNEL(uint32_t, u4)
KERNEL(uint64_t, u8)

extern "C" __global__ void __launch_bounds__(THREADS)
    attach_hubs(FOUND, uint32_t n, const int *old, const int *tails, const Piece *hubs, uint32_t hub_count,
                uint32_t *claimed, int *parents) {
    attach_pieces(GIVEN, n, old, tails, hubs, hub_count, claimed, parents);
}
