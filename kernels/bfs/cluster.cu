// What a member of a part does on the GPU with what all its members found in a level: the twins of cluster_step.py.
//
// gathered: [members, words], each member's bitmap of the part; a slice is slice_words of them. The parent of a vertex
// that several found is that of the first with its bit, counted from the member that owns the vertex. Where peers' memory
// is mapped, `merge` copies their bitmaps and `take` reads their parents; otherwise both come through the host: `tally`,
// `scan` and `pack` put what a member sends side by side in the order of the vertices, `unpack` writes what arrived.
// Where peers' memory is mapped a level is queued at once: `meet` between computation and exchange, `conclude` at the end.
#include "block.cuh"
#include "links.cuh"
#include "record.cuh"

// What `take` and `unpack` count, and parents that other members found; mirrored in cuda_cluster_part.py.
struct Exchanged {
    Count found, leaving, moved;
};

enum { SENT, AWAITED };

// Of a rank, which all others reach. arrived: ranks that came to a barrier. sums: what the rank found in the last level of
// even and of odd number: vertices, arcs that leave them, arcs looked at.
struct Meeting {
    uint32_t arrived, unused;
    Count sums[2][3];
};

// Of a rank alone; mirrored in cuda_cluster_peers.py. target: of the barriers so far; concluded: levels so far; computed,
// met: when the computation of a level ended here and on all ranks; told: what the host reads.
struct Own {
    uint32_t target, late;
    Count concluded, computed, met;
};

// Mirrored in cuda_cluster_peers.py. vertices, arcs, inspected: of all ranks; moved: parents that others found, of this one;
// waiting, moving: nanoseconds; late: others did not come.
struct Told {
    Count vertices, arcs, inspected, moved, waiting, moving, late;
};

// A part before a search. vertices: of the part that the graph has; root: its number from 0 in the part, -1 where it is
// in another one, `number` in the graph. levels, parents: of the slice of `slice` vertices from `first` on. level: of the
// frontier, which `merge` makes the next one.
extern "C" __global__ void __launch_bounds__(THREADS)
    begin(int words, int vertices, int root, int number, uint32_t *visited, uint32_t *frontier, int first, int slice,
          int *levels, int *parents, int *level) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i == 0) *level = 0;
    if (i < slice) levels[i] = first + i == root ? 0 : -1, parents[i] = first + i == root ? number : -1;
    if (i < words) {
        // Bits beyond the last vertex count as visited, so that no step looks at them.
        int there = min(max(vertices - 32 * i, 0), 32);
        uint32_t own = root >= 0 && i == root / 32 ? 1u << root % 32 : 0;
        visited[i] = (there < 32 ? EVERY << there : 0) | own;
        frontier[i] = own;
    }
}

// The next frontier of the part: what anybody found. sets: every member's bitmap, where it lies; gathered: null where it
// lies there.
extern "C" __global__ void __launch_bounds__(THREADS)
    merge(int words, int members, const uint32_t *const *sets, uint32_t *gathered, uint32_t *visited,
          uint32_t *frontier, int *level) {
    int w = blockIdx.x * THREADS + threadIdx.x;
    if (w == 0) ++*level;
    if (w >= words) return;
    uint32_t found = 0;
    for (int m = 0; m < members; m++) {
        uint32_t bits = sets[m][w];
        if (gathered) gathered[size_t(m) * words + w] = bits;
        found |= bits;
    }
    frontier[w] = found;
    visited[w] |= found;
}

// What needs not be looked for: visited, or found by a member meanwhile. A word that a member has not written in this level
// yet holds what it found in the one before, which is visited.
extern "C" __global__ void __launch_bounds__(THREADS)
    known(int words, int members, const uint32_t *const *sets, const uint32_t *visited, uint32_t *known) {
    int w = blockIdx.x * THREADS + threadIdx.x;
    if (w >= words) return;
    uint32_t bits = visited[w];
    for (int m = 0; m < members; m++) bits |= *(const volatile uint32_t *)&sets[m][w];
    known[w] = bits;
}

static __device__ void add_up(Count found, Count leaving, Count moved, Exchanged *record) {
    found = warp_sum(found), leaving = warp_sum(leaving), moved = warp_sum(moved);
    if (threadIdx.x % 32 || !found) return;
    atomicAdd(&record->found, found);
    atomicAdd(&record->leaving, leaving);
    if (moved) atomicAdd(&record->moved, moved);
}

// The owner's slice, parents read where they were found. found: every member's parents of the part. A warp has the parents
// of TOGETHER words under way at once, as they come over a link.
extern "C" __global__ void __launch_bounds__(THREADS)
    take(int words, int slice_words, int owner, int members, const uint32_t *gathered, const int *const *found,
         const int *level, int *levels, int *parents, const Count *degrees, Exchanged *record) {
    constexpr int TOGETHER = 4;
    const int lane = threadIdx.x % 32, w = blockIdx.x * THREADS + threadIdx.x, first = owner * slice_words, now = *level;
    auto bits_of = [&](int m, int word) { return gathered[size_t(m) * words + first + word]; };
    const int second = owner + 1 == members ? 0 : owner + 1;
    uint32_t any = 0, own = w < slice_words ? bits_of(owner, w) : 0, next = w < slice_words ? bits_of(second, w) : 0;
    for (int m = 0; m < members && w < slice_words; m++) any |= bits_of(m, w);
    Count leaving = 0, moved = 0;
    for (uint32_t left = __ballot_sync(EVERY, any != 0); left;) {
        int v[TOGETHER], parent[TOGETHER];
        Count degree[TOGETHER];
#pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            // Past the last word its lane's bits are asked again, and nothing is taken.
            int from = left ? __ffs(left) - 1 : 0, word = w - lane + from;
            bool there = left && __shfl_sync(EVERY, any, from) >> lane & 1;
            uint32_t first_bits = __shfl_sync(EVERY, own, from), then_bits = __shfl_sync(EVERY, next, from);
            left &= left - 1;
            v[k] = there ? word * 32 + lane : -1;
            if (!there) continue;
            int m = first_bits >> lane & 1 ? owner : second;
            if (!((first_bits | then_bits) >> lane & 1))
                while (!(bits_of(m, word) >> lane & 1)) m = m + 1 == members ? 0 : m + 1;
            parent[k] = found[m][first * 32 + v[k]];
            degree[k] = degrees[v[k]];
            moved += m != owner;
        }
#pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            if (v[k] < 0) continue;
            levels[v[k]] = now;
            parents[v[k]] = parent[k];
            leaving += degree[k];
        }
    }
    add_up(__popc(any), leaving, moved, record);
}

// Of several ranks' memory, of `bytes` each: see wake_links.
extern "C" __global__ void __launch_bounds__(THREADS) wake(int me, int ranks, char *const *memory, Count bytes) {
    wake_links(me, ranks, memory, bytes);
}

// A barrier of one block a rank. After one that was late none waits.
static __device__ void meet_ranks(int me, int ranks, Meeting *const *meetings, Own *own, uint32_t timeout_ms) {
    unsigned long long deadline = own->late ? 0 : now_ns() + timeout_ms * 1000000ull;
    uint32_t target = own->target + ranks;
    bool came = meet_all(me, ranks, [&](uint32_t r) { return &meetings[r]->arrived; }, target, deadline);
    if (threadIdx.x) return;
    own->target = target;
    own->late |= !came;
}

// Between what a level computes and what it exchanges; one block.
extern "C" __global__ void __launch_bounds__(THREADS)
    meet(int me, int ranks, Meeting *const *meetings, Own *own, uint32_t timeout_ms) {
    if (threadIdx.x == 0) own->computed = now_ns();
    meet_ranks(me, ranks, meetings, own, timeout_ms);
    if (threadIdx.x == 0) own->met = now_ns();
}

// The end of a level, one block: all ranks' sums, to the host. looked, exchanged: the records of the `held` blocks and of
// their rows. A rank's sums of this level stand until all have begun the next but one.
extern "C" __global__ void __launch_bounds__(THREADS)
    conclude(int me, int ranks, Meeting *const *meetings, Own *own, uint32_t timeout_ms, int held,
             const Record *const *looked, const Exchanged *const *exchanged, volatile Told *told) {
    Count moved = 0, begun = now_ns(), slot = own->concluded % 2;
    if (threadIdx.x == 0) {
        Count sums[3] = {};
        for (int i = 0; i < held; i++) {
            sums[0] += exchanged[i]->found, sums[1] += exchanged[i]->leaving, moved += exchanged[i]->moved;
            sums[2] += looked[i]->arcs + looked[i]->inspected;
        }
        for (int i = 0; i < 3; i++) meetings[me]->sums[slot][i] = sums[i];
    }
    meet_ranks(me, ranks, meetings, own, timeout_ms);
    if (threadIdx.x) return;
    Count sums[3] = {};
    for (int r = 0; r < ranks; r++)
        for (int i = 0; i < 3; i++) sums[i] += *static_cast<volatile Count *>(&meetings[r]->sums[slot][i]);
    told->vertices = sums[0], told->arcs = sums[1], told->inspected = sums[2], told->moved = moved;
    told->waiting = own->met - own->computed + now_ns() - begun;
    told->moving = begun - own->met;
    told->late = own->late;
    own->concluded++;
}

// Bits of the i-th word of a slice whose parents go between member `me` and member `other`.
static __device__ uint32_t passed(int role, int me, int other, int members, int words, int slice_words, int i,
                                  const uint32_t *gathered) {
    int owner = role == SENT ? other : me, sender = role == SENT ? me : other;
    if (i >= slice_words) return 0;
    const uint32_t *word = gathered + owner * slice_words + i;
    uint32_t before = 0;
    for (int m = owner; m != sender; m = m + 1 == members ? 0 : m + 1) before |= word[size_t(m) * words];
    return word[size_t(sender) * words] & ~before;
}

// Grids of (blocks of a slice, members). sums: [members * blocks + 1], how many parents each block passes.
extern "C" __global__ void __launch_bounds__(THREADS)
    tally(int role, int me, int members, int words, int slice_words, const uint32_t *gathered, uint32_t *sums) {
    uint32_t total, bits = passed(role, me, blockIdx.y, members, words, slice_words,
                                  blockIdx.x * THREADS + threadIdx.x, gathered);
    block_scan(__popc(bits), total);
    if (threadIdx.x == 0) sums[blockIdx.y * gridDim.x + blockIdx.x] = total;
}

// Exclusive prefix sums in place, the whole sum behind them; one block.
extern "C" __global__ void __launch_bounds__(THREADS) scan(int count, uint32_t *sums) {
    uint32_t before = 0;
    for (int low = 0; low < count; low += THREADS) {
        int i = low + threadIdx.x;
        uint32_t total, place = block_scan(i < count ? sums[i] : 0, total);
        if (i < count) sums[i] = before + place;
        before += total;
    }
    if (threadIdx.x == 0) sums[count] = before;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    pack(int me, int members, int words, int slice_words, const uint32_t *gathered, const uint32_t *sums,
         const int *found, int *out) {
    int i = blockIdx.x * THREADS + threadIdx.x, v = (blockIdx.y * slice_words + i) * 32;
    uint32_t total, bits = passed(SENT, me, blockIdx.y, members, words, slice_words, i, gathered);
    out += sums[blockIdx.y * gridDim.x + blockIdx.x] + block_scan(__popc(bits), total);
    for (; bits; bits &= bits - 1) *out++ = found[v + __ffs(bits) - 1];
}

extern "C" __global__ void __launch_bounds__(THREADS)
    unpack(int me, int members, int words, int slice_words, const uint32_t *gathered, const uint32_t *sums,
           const int *arrived, int level, int *levels, int *parents, const Count *degrees, Exchanged *record) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    uint32_t total, bits = passed(AWAITED, me, blockIdx.y, members, words, slice_words, i, gathered);
    arrived += sums[blockIdx.y * gridDim.x + blockIdx.x] + block_scan(__popc(bits), total);
    Count found = __popc(bits), leaving = 0;
    for (; bits; bits &= bits - 1) {
        int v = i * 32 + __ffs(bits) - 1;
        levels[v] = level;
        parents[v] = *arrived++;
        leaving += degrees[v];
    }
    add_up(found, leaving, int(blockIdx.y) == me ? 0 : found, record);
}
