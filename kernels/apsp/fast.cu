// All pairs with one source a block and all its distances in shared memory: the near-far method (delta-stepping with two
// buckets), label-correcting within the bound.
//
// dist [n], two bitmaps of vertices (near: came nearer and lie below the bound; far: came nearer and lie beyond it) and a
// queue of 16-bit vertices share the block's memory. A round moves the near bitmap to the queue, neighbouring lanes
// relax the arcs of its vertices (four by one load where they are packed so), and whoever comes nearer sets a bit. When
// nothing is near, the bound rises and the far bitmap is looked through. The bitmaps hold the truth: what does not fit
// the queue keeps its bit for the next round. Blocks stay and take sources by an atomic ticket; a row is written once,
// when it is final.
//
// 1. Davidson, Baxter, Garland, Owens: Work-efficient parallel GPU methods for single-source shortest paths. IPDPS 2014.
// 2. Meyer, Sanders: Delta-stepping: a parallelizable shortest path algorithm. J. Algorithms 49, 2003.
#include "types.cuh"

// report: the next source, set where a sum did not fit D, arcs relaxed, rounds
enum { TICKET, OVERFLOW, RELAXED, ROUNDS };
constexpr unsigned ALL = 0xFFFFFFFFu;

// An arc: target and weight, or both in 32 bits where each fits 16.
template <typename W> struct alignas(8) Arc {
    int32_t head;
    W length;
    __device__ int target() const { return head; }
    __device__ W weight() const { return length; }
};
template <typename W> struct Packed {
    uint32_t both;
    __device__ int target() const { return both >> 16; }
    __device__ W weight() const { return both & 0xFFFF; }
};

// Reads what other threads lower meanwhile.
template <typename D> __device__ D current(const D *where) { return *const_cast<const volatile D *>(where); }

// Queues the vertices of a bitmap. Those of the far one only between low and high, while those below low, which have
// been near since, lose their bit and the others keep it; least: the nearest of these. tail counts what was offered.
template <bool FAR, typename D>
__device__ void take(uint32_t *bits, uint32_t *near, int words, const D *dist, D low, D high, uint16_t *queue,
                     int capacity, int *tail, D *least) {
    for (int base = 0; base < words; base += blockDim.x) {
        const int word = base + threadIdx.x;
        const uint32_t set = word < words ? bits[word] : 0;
        uint32_t taken = set, kept = 0;
        if (FAR) {
            taken = 0;
            D nearest = Distance<D>::unreached;
            for (uint32_t rest = set; rest; rest &= rest - 1) {
                const int bit = __ffs(rest) - 1;
                const D d = dist[32 * word + bit];
                if (d >= high) {
                    kept |= 1u << bit;
                    nearest = d < nearest ? d : nearest;
                } else if (d >= low) {
                    taken |= 1u << bit;
                }
            }
            if (kept) Distance<D>::atomic_min(least, nearest);
        }
        const int have = __popc(taken);
        if (__any_sync(ALL, have)) {
            int sum = have;
            for (int by = 1; by < 32; by *= 2) {
                const int before = __shfl_up_sync(ALL, sum, by);
                if (threadIdx.x % 32 >= by) sum += before;
            }
            int place = 0;
            if (threadIdx.x % 32 == 31) place = atomicAdd(tail, sum);
            place = __shfl_sync(ALL, place, 31) + sum - have;
            for (; taken && place < capacity; taken &= taken - 1) queue[place++] = 32 * word + __ffs(taken) - 1;
        }
        if (!set) continue;
        if (FAR) {
            bits[word] = kept;
            near[word] |= taken;
        } else {
            bits[word] = taken;
        }
    }
}

// Tries some arcs of a vertex at distance d; all are looked at before the first is tried, so that reads overlap.
template <int COUNT, typename D, typename A>
__device__ void relax(const A (&arcs)[COUNT], D d, D bound, D *dist, uint32_t *near, uint32_t *far, bool &overflow) {
    D candidate[COUNT];
    bool nearer[COUNT];
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        candidate[i] = Distance<D>::add(d, arcs[i].weight());
        nearer[i] = candidate[i] < current(&dist[arcs[i].target()]);
        overflow |= candidate[i] == Distance<D>::unreached;
    }
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const int v = arcs[i].target();
        if (nearer[i] && candidate[i] < Distance<D>::atomic_min(&dist[v], candidate[i]))
            atomicOr(&(candidate[i] < bound ? near : far)[v / 32], 1u << v % 32);
    }
}

// Offsets are numbers of arcs, in device memory, or 16-bit numbers of fours (FOURS), copied to shared memory; what fills
// a row up to a multiple of four is an arc of weight 0 from the vertex to itself. The sources are the `count` that are
// chosen, or those from `first` on; row 0 of the matrix is that of `first`.
template <int LANES, typename D, typename W, typename A, typename O>
__device__ void solve(int n, int capacity, const O *va, const A *arcs, D delta, int first, int count,
                      const int32_t *chosen, D *matrix, unsigned long long *report) {
    constexpr bool FOURS = sizeof(O) == 2;
    extern __shared__ __align__(16) unsigned char memory[];
    const int words = (n + 31) / 32;
    D *dist = reinterpret_cast<D *>(memory);
    uint32_t *near = reinterpret_cast<uint32_t *>(dist + n), *far = near + words;
    uint16_t *queue = reinterpret_cast<uint16_t *>(far + words);
    if (FOURS) {
        O *copy = reinterpret_cast<O *>(queue + capacity);
        for (int v = threadIdx.x; v <= n; v += blockDim.x) copy[v] = va[v];
        va = copy;
    }
    __shared__ int next, tails[2], far_tails[2];
    __shared__ D least;
    unsigned long long relaxed = 0, rounds = 0;
    bool overflow = false;

    while (true) {
        if (threadIdx.x == 0) {
            next = atomicAdd(&report[TICKET], 1ull);
            tails[0] = 0;
        }
        __syncthreads();
        if (next >= count) break;
        const int source = chosen ? chosen[next] : first + next, row = source - first;
        for (int v = threadIdx.x; v < n; v += blockDim.x) dist[v] = v == source ? D(0) : Distance<D>::unreached;
        for (int w = threadIdx.x; w < words; w += blockDim.x) {
            near[w] = w == source / 32 ? 1u << source % 32 : 0;
            far[w] = 0;
        }
        D bound = delta;
        __syncthreads();
        for (int turn = 0;; turn ^= 1) {
            if (threadIdx.x == 0) {
                far_tails[0] = far_tails[1] = 0;
                least = Distance<D>::unreached;
            }
            take<false, D>(near, near, words, dist, D(0), D(0), queue, capacity, &tails[turn], &least);
            __syncthreads();
            int size = tails[turn];
            if (size == 0) {
                D low = bound;
                bound = Distance<D>::add(bound, delta);
                take<true, D>(far, near, words, dist, low, bound, queue, capacity, &far_tails[0], &least);
                __syncthreads();
                size = far_tails[0];
                if (size == 0) {
                    if (least == Distance<D>::unreached) break;
                    // Where the step vanishes beside the distance, the rest is taken as it is.
                    bound = Distance<D>::add(least, delta);
                    if (!(least < bound)) bound = Distance<D>::unreached;
                    take<true, D>(far, near, words, dist, low, bound, queue, capacity, &far_tails[1], &least);
                    __syncthreads();
                    size = far_tails[1];
                }
            }
            size = min(size, capacity);
            if (threadIdx.x == 0) tails[turn ^ 1] = 0;
            for (int place = threadIdx.x / LANES; place < size; place += blockDim.x / LANES) {
                const int u = queue[place];
                const D d = current(&dist[u]);
                const int begin = va[u], end = va[u + 1];
                for (int i = begin + threadIdx.x % LANES; i < end; i += LANES) {
                    if constexpr (FOURS) {
                        const uint4 four = reinterpret_cast<const uint4 *>(arcs)[i];
                        const A four_arcs[4] = {{four.x}, {four.y}, {four.z}, {four.w}};
                        relax(four_arcs, d, bound, dist, near, far, overflow);
                        const uint32_t fill = uint32_t(u) << 16;
                        relaxed += 1 + (four.y != fill) + (four.z != fill) + (four.w != fill);
                    } else {
                        const A one[1] = {arcs[i]};
                        relax(one, d, bound, dist, near, far, overflow);
                        relaxed++;
                    }
                }
            }
            rounds++;
            __syncthreads();
        }
        for (int v = threadIdx.x; v < n; v += blockDim.x) matrix[(long long)row * n + v] = dist[v];
    }
    if (overflow) report[OVERFLOW] = 1;
    for (int by = 16; by; by /= 2) relaxed += __shfl_down_sync(ALL, relaxed, by);
    if (threadIdx.x % 32 == 0) atomicAdd(&report[RELAXED], relaxed);
    if (threadIdx.x == 0) atomicAdd(&report[ROUNDS], rounds);
}

#define KERNEL(LANES, FORMAT, A, SUFFIX, D, W, O)                                                                      \
    extern "C" __global__ void __launch_bounds__(1024)                                                                 \
        fast_##LANES##_##FORMAT##_##SUFFIX(int n, int capacity, const O *va, const A<W> *arcs, D delta, int first,     \
                                           int count, const int32_t *chosen, D *matrix,                                \
                                           unsigned long long *report) {                                               \
        solve<LANES, D, W, A<W>, O>(n, capacity, va, arcs, delta, first, count, chosen, matrix, report);               \
    }
#define KERNELS(SUFFIX, D, W, O)                                                                                       \
    KERNEL(4, arcs, Arc, SUFFIX, D, W, O)                                                                              \
    KERNEL(8, arcs, Arc, SUFFIX, D, W, O)                                                                              \
    KERNEL(32, arcs, Arc, SUFFIX, D, W, O)

FOR_EACH_SHORT_TYPE(KERNELS)
KERNEL(4, packed, Packed, u4_u4_i4, uint32_t, uint32_t, int32_t)
KERNEL(8, packed, Packed, u4_u4_i4, uint32_t, uint32_t, int32_t)
KERNEL(32, packed, Packed, u4_u4_i4, uint32_t, uint32_t, int32_t)
KERNEL(2, fours, Packed, u4_u4_i4, uint32_t, uint32_t, uint16_t)
