// A level of paper H over a block of the adjacency matrix: what is visited, and the frontier, in; the next frontier and
// its parents out.
//
// A block holds the arcs from some tails to some heads, both numbered from 0 in it. Sets are bitmaps of 32-bit words;
// vertex v is bit v % 32 of word v / 32. Every kernel takes words [first, last), so that a level can be shared. Offsets
// have 32 or 64 bits (the kernels' suffix).
//
// Top-down, two phases: `list_frontier` makes an array of vertices of the bitmap; `expand` writes the arcs of a tile of
// them as (head, tail), rows of a block's or a warp's width by all threads of it, the rest packed by a prefix sum;
// `contract` keeps the heads that are new, by exact atomic updates of the next bitmap.
//
// Bottom-up: of large in-degree (the bitmap `large`) a warp a vertex, lanes across its tails, until a vote finds a hit;
// of small in-degree (not in `left_out`) a thread a vertex, unvisited ones packed in the block by a prefix sum first. Every
// thread owns a word of the next bitmap, so that nothing is atomic.
//
// 1. Hirakushi, Takahashi: hybrid BFS on a GPU cluster, Figs 4 and 6.
// 2. Merrill, Garland, Grimshaw: Scalable GPU graph traversal. PPoPP 2012.
#include "block.cuh"
#include "record.cuh"

static __device__ bool in_set(const uint32_t *set, int v) { return set[v >> 5] >> (v & 31) & 1; }

extern "C" __global__ void __launch_bounds__(THREADS)
    start(int n, int words, int root, uint32_t *visited, uint32_t *frontier, int *levels, int *parents) {
    uint32_t v = blockIdx.x * THREADS + threadIdx.x;
    if (v < n) levels[v] = v == root ? 0 : -1, parents[v] = v == root ? root : -1;
    if (v < words) {
        // Bits beyond the last vertex count as visited, so that no step looks at them.
        uint32_t beyond = v == words - 1 && n % 32 ? EVERY << n % 32 : 0, own = v == root / 32 ? 1u << root % 32 : 0;
        visited[v] = beyond | own;
        frontier[v] = own;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    list_frontier(int first, int last, const uint32_t *frontier, int *vertices, Record *record) {
    __shared__ Count base;
    int w = first + blockIdx.x * THREADS + threadIdx.x;
    uint32_t bits = w < last ? frontier[w] : 0, total;
    uint32_t place = block_scan(__popc(bits), total);
    if (threadIdx.x == 0) base = total ? atomicAdd(&record->listed, total) : 0;
    __syncthreads();
    for (int *out = vertices + base + place; bits; bits &= bits - 1) *out++ = w * 32 + __ffs(bits) - 1;
}

// arcs: room for as many (head, tail) as leave the frontier.
template <typename O>
static __device__ void expand(const O *offsets, const int *targets, const int *vertices, int2 *arcs, Record *record) {
    __shared__ Count base;
    __shared__ int chosen;
    __shared__ struct {
        O at, end;
        Count out;
        int tail;
    } shared;
    __shared__ O packed_at[THREADS];
    __shared__ int packed_tail[THREADS];
    int lane = threadIdx.x & 31;
    int listed = record->listed;
    // A short list is shared by all blocks: its vertices may be hubs.
    int width = min(THREADS, (listed + int(gridDim.x) - 1) / int(gridDim.x));
    for (int tile = blockIdx.x * width; tile < listed; tile += gridDim.x * width) {
        int mine = tile + threadIdx.x;
        bool there = threadIdx.x < width && mine < listed;
        int tail = there ? vertices[mine] : 0;
        O at = there ? offsets[tail] : 0, end = there ? offsets[tail + 1] : 0;
        // Rows of the block's width: one after another, by the whole block.
        while (__syncthreads_or(end - at >= THREADS)) {
            if (end - at >= THREADS) atomicExch(&chosen, threadIdx.x);
            __syncthreads();
            if (chosen == threadIdx.x) {
                shared = {at, end, atomicAdd(&record->arcs, Count(end - at)), tail};
                at = end;
            }
            __syncthreads();
            for (O i = shared.at + threadIdx.x; i < shared.end; i += THREADS)
                arcs[shared.out + (i - shared.at)] = {targets[i], shared.tail};
        }
        // Rows of a warp's width: by the thread's warp.
        for (uint32_t wide; (wide = __ballot_sync(EVERY, end - at >= 32));) {
            int from = __ffs(wide) - 1;
            O low = __shfl_sync(EVERY, at, from), high = __shfl_sync(EVERY, end, from);
            int theirs = __shfl_sync(EVERY, tail, from);
            Count out = lane == 0 ? atomicAdd(&record->arcs, Count(high - low)) : 0;
            out = __shfl_sync(EVERY, out, 0);
            for (O i = low + lane; i < high; i += 32) arcs[out + (i - low)] = {targets[i], theirs};
            if (lane == from) at = end;
        }
        // The rest, packed: THREADS arcs at a time, whichever row they are of.
        uint32_t total, place = block_scan(uint32_t(end - at), total);
        if (threadIdx.x == 0) base = total ? atomicAdd(&record->arcs, Count(total)) : 0;
        for (uint32_t done = 0; done < total; done += THREADS) {
            __syncthreads();
            for (; at < end && place < done + THREADS; at++, place++) {
                packed_at[place - done] = at;
                packed_tail[place - done] = tail;
            }
            __syncthreads();
            if (done + threadIdx.x < total)
                arcs[base + done + threadIdx.x] = {targets[packed_at[threadIdx.x]], packed_tail[threadIdx.x]};
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    contract(const int2 *arcs, const uint32_t *visited, uint32_t *following, int *parents, int first_tail,
             const Record *record) {
    Count count = record->arcs;
    for (Count i = blockIdx.x * Count(THREADS) + threadIdx.x; i < count; i += gridDim.x * Count(THREADS)) {
        int2 arc = arcs[i];
        uint32_t bit = 1u << (arc.x & 31);
        if ((visited[arc.x >> 5] | *(volatile uint32_t *)&following[arc.x >> 5]) & bit) continue;
        if (!(atomicOr(&following[arc.x >> 5], bit) & bit)) parents[arc.x] = arc.y + first_tail;
    }
}

// Paper H, Fig 4. A thread holds a word; the warp takes one vertex after another of its threads' words.
template <typename O>
static __device__ void bottom_up_warp(int first, int last, const O *offsets, const int *sources, const uint32_t *large,
                                      const uint32_t *frontier, const uint32_t *visited, uint32_t *following,
                                      int *parents, int first_tail, Record *record) {
    int lane = threadIdx.x & 31, w = first + blockIdx.x * THREADS + threadIdx.x;
    uint32_t bits = w < last ? ~visited[w] & large[w] : 0, found = 0;
    Count inspected = 0;
    for (uint32_t left; (left = __ballot_sync(EVERY, bits != 0));) {
        int from = __ffs(left) - 1, bit = __ffs(__shfl_sync(EVERY, bits, from)) - 1;
        int v = __shfl_sync(EVERY, w, from) * 32 + bit;
        if (lane == from) bits &= bits - 1;
        O end = offsets[v + 1];
        for (O row = offsets[v]; row < end; row += 32) {
            int u = row + lane < end ? sources[row + lane] : -1;
            uint32_t hits = __ballot_sync(EVERY, u >= 0 && in_set(frontier, u));
            inspected += u >= 0;
            if (hits) {
                if (lane == __ffs(hits) - 1) parents[v] = u + first_tail;
                if (lane == from) found |= 1u << bit;
                break;
            }
        }
    }
    if (w < last) following[w] = found;
    inspected = warp_sum(inspected);
    if (lane == 0 && inspected) atomicAdd(&record->inspected, inspected);
}

// Paper H, Fig 6. Adds to the words that bottom_up_warp wrote.
template <typename O>
static __device__ void bottom_up_thread(int first, int last, const O *offsets, const int *sources,
                                        const uint32_t *left_out, const uint32_t *frontier, const uint32_t *visited,
                                        uint32_t *following, int *parents, int first_tail, Record *record) {
    __shared__ int packed[THREADS * 32];
    int w = first + blockIdx.x * THREADS + threadIdx.x;
    uint32_t bits = w < last ? ~visited[w] & ~left_out[w] : 0, total;
    uint32_t mine = block_scan(__popc(bits), total), upto = mine + __popc(bits);
    for (uint32_t place = mine; bits; bits &= bits - 1) packed[place++] = w * 32 + __ffs(bits) - 1;
    __syncthreads();
    Count inspected = 0;
    for (uint32_t place = threadIdx.x; place < total; place += THREADS) {
        int v = packed[place];
        uint32_t hit = 0;
        O end = offsets[v + 1];
        for (O i = offsets[v]; i < end; i++) {
            int u = sources[i];
            inspected++;
            if (in_set(frontier, u)) {
                parents[v] = u + first_tail;
                hit = 1u << (v & 31);
                break;
            }
        }
        packed[place] = hit;
    }
    __syncthreads();
    uint32_t found = 0;
    for (uint32_t place = mine; place < upto; place++) found |= packed[place];
    if (found) following[w] |= found;
    inspected = warp_sum(inspected);
    if ((threadIdx.x & 31) == 0 && inspected) atomicAdd(&record->inspected, inspected);
}

// Mark what a level found: visited, and its number. A warp takes 32 words, so that levels are written side by side.
template <typename O>
static __device__ void commit(int words, const uint32_t *following, uint32_t *visited, int *levels, const O *offsets,
                              int level, Record *record) {
    int lane = threadIdx.x & 31, w = blockIdx.x * THREADS + threadIdx.x;
    uint32_t bits = w < words ? following[w] : 0;
    if (bits) visited[w] |= bits;
    Count leaving = 0;
    for (uint32_t left = __ballot_sync(EVERY, bits != 0); left; left &= left - 1) {
        int from = __ffs(left) - 1, v = (w - lane + from) * 32 + lane;
        if (__shfl_sync(EVERY, bits, from) >> lane & 1) {
            levels[v] = level;
            leaving += offsets[v + 1] - offsets[v];
        }
    }
    Count found = warp_sum(__popc(bits));
    leaving = warp_sum(leaving);
    if (lane == 0 && found) {
        atomicAdd(&record->found, found);
        atomicAdd(&record->leaving, leaving);
    }
}

// The vertices of at least 32 arcs, a warp's width; left_out: null, or those and the ones without an arc.
template <typename O>
static __device__ void mark_large(int n, const O *offsets, uint32_t *large, uint32_t *left_out) {
    uint32_t v = blockIdx.x * THREADS + threadIdx.x;
    O arcs = v < n ? offsets[v + 1] - offsets[v] : 0;
    uint32_t many = __ballot_sync(EVERY, arcs >= 32), none = __ballot_sync(EVERY, arcs == 0);
    if (v >= n || v % 32) return;
    large[v / 32] = many;
    if (left_out) left_out[v / 32] = many | none;
}

#define KERNELS(O, SUFFIX)                                                                                            \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                             \
        expand_##SUFFIX(const O *offsets, const int *targets, const int *vertices, int2 *arcs, Record *record) {      \
        expand(offsets, targets, vertices, arcs, record);                                                             \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS) bottom_up_warp_##SUFFIX(                                    \
        int first, int last, const O *offsets, const int *sources, const uint32_t *large, const uint32_t *frontier,   \
        const uint32_t *visited, uint32_t *following, int *parents, int first_tail, Record *record) {                 \
        bottom_up_warp(first, last, offsets, sources, large, frontier, visited, following, parents, first_tail,       \
                       record);                                                                                       \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS) bottom_up_thread_##SUFFIX(                                  \
        int first, int last, const O *offsets, const int *sources, const uint32_t *left_out,                          \
        const uint32_t *frontier, const uint32_t *visited, uint32_t *following, int *parents, int first_tail,         \
        Record *record) {                                                                                             \
        bottom_up_thread(first, last, offsets, sources, left_out, frontier, visited, following, parents, first_tail,  \
                         record);                                                                                     \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                             \
        commit_##SUFFIX(int words, const uint32_t *following, uint32_t *visited, int *levels, const O *offsets,       \
                        int level, Record *record) {                                                                  \
        commit(words, following, visited, levels, offsets, level, record);                                            \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                             \
        mark_large_##SUFFIX(int n, const O *offsets, uint32_t *large, uint32_t *left_out) {                           \
        mark_large(n, offsets, large, left_out);                                                                      \
    }

KERNELS(uint32_t, u4)
KERNELS(uint64_t, u8)
