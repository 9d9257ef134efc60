// What a member of a part does on the GPU with what all its members found in a level: the twins of cluster_step.py.
//
// gathered: [members, words], each member's bitmap of the part; a slice is slice_words of them. The parent of a vertex
// that several found is that of the first with its bit, counted from the member that owns the vertex. Where peers' memory
// is mapped, `merge` copies their bitmaps and `take` reads their parents; otherwise both come through the host: `tally`,
// `scan` and `pack` put what a member sends side by side in the order of the vertices, `unpack` writes what arrived.
#include "block.cuh"

// What `take` and `unpack` count, and parents that other members found; mirrored in cuda_cluster_part.py.
struct Exchanged {
    Count found, leaving, moved;
};

enum { SENT, AWAITED };

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

// The owner's slice, parents read where they were found. found: every member's parents of the part.
extern "C" __global__ void __launch_bounds__(THREADS)
    take(int words, int slice_words, int owner, int members, const uint32_t *gathered, const int *const *found,
         const int *level, int *levels, int *parents, const Count *degrees, Exchanged *record) {
    int lane = threadIdx.x % 32, w = blockIdx.x * THREADS + threadIdx.x, first = owner * slice_words;
    uint32_t any = 0;
    for (int m = 0; m < members && w < slice_words; m++) any |= gathered[size_t(m) * words + first + w];
    Count leaving = 0, moved = 0;
    for (uint32_t left = __ballot_sync(EVERY, any != 0); left; left &= left - 1) {
        int from = __ffs(left) - 1, word = w - lane + from, v = word * 32 + lane;
        if (!(__shfl_sync(EVERY, any, from) >> lane & 1)) continue;
        int m = owner;
        while (!(gathered[size_t(m) * words + first + word] >> lane & 1)) m = m + 1 == members ? 0 : m + 1;
        levels[v] = *level;
        parents[v] = found[m][first * 32 + v];
        leaving += degrees[v];
        moved += m != owner;
    }
    add_up(__popc(any), leaving, moved, record);
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
