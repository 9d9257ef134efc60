// The certificate of validate.py for an answer on the device: a warp per vertex, a lane per arc.
#include "types.cuh"

static __device__ long long warp_index() { return (blockIdx.x * (long long)blockDim.x + threadIdx.x) / 32; }
static __device__ int lane() { return threadIdx.x % 32; }

// first: the smallest number of an arc that still relaxes; unchanged where there is none.
template <typename D, typename W, typename O>
__device__ void relaxable(int n, const O *va, const int32_t *ea, const W *wa, const D *distances,
                          unsigned long long *first) {
    long long v = warp_index();
    if (v >= n || distances[v] == Distance<D>::unreached) return;
    for (O i = va[v] + lane(), end = va[v + 1]; i < end; i += 32) {
        D candidate = Distance<D>::add(distances[v], wa[i]), there = distances[ea[i]];
        if (candidate < there || (candidate == Distance<D>::unreached && there == Distance<D>::unreached))
            atomicMin(first, (unsigned long long)i);
    }
}

// before[t]: the smallest nearer vertex with a tight arc to t; unchanged where there is none.
template <typename D, typename W, typename O>
__device__ void hang_from_nearer(int n, const O *va, const int32_t *ea, const W *wa, const D *distances,
                                 uint32_t *before) {
    long long v = warp_index();
    if (v >= n || distances[v] == Distance<D>::unreached) return;
    for (O i = va[v] + lane(), end = va[v + 1]; i < end; i += 32) {
        int t = ea[i];
        if (distances[v] < distances[t] && Distance<D>::add(distances[v], wa[i]) == distances[t])
            atomicMin(&before[t], (uint32_t)v);
    }
}

// One round: hang vertices outside the tree below vertices of the same distance that were in it (rooted) before.
template <typename D, typename W, typename O>
__device__ void hang_from_equal(int n, const O *va, const int32_t *ea, const W *wa, const D *distances,
                                const uint8_t *rooted, uint32_t *before) {
    long long v = warp_index();
    if (v >= n || !rooted[v] || distances[v] == Distance<D>::unreached) return;
    for (O i = va[v] + lane(), end = va[v + 1]; i < end; i += 32) {
        int t = ea[i];
        if (!rooted[t] && distances[v] == distances[t] && Distance<D>::add(distances[v], wa[i]) == distances[t])
            atomicMin(&before[t], (uint32_t)v);
    }
}

// Computes `rooted` from `before`. open[0] counts the reached vertices outside the tree, open[1] is the smallest.
template <typename D>
__device__ void take_stock(int n, const D *distances, const uint32_t *before, int32_t source, uint8_t *rooted,
                           uint32_t *open) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    rooted[v] = v == source || before[v] != 0xFFFFFFFFu;
    if (!rooted[v] && distances[v] != Distance<D>::unreached) {
        atomicAdd(&open[0], 1u);
        atomicMin(&open[1], (uint32_t)v);
    }
}

#define KERNELS(SUFFIX, D, W, O)                                                                                       \
    extern "C" __global__ void relaxable_##SUFFIX(int n, const O *va, const int32_t *ea, const W *wa,                  \
                                                  const D *distances, unsigned long long *first) {                     \
        relaxable<D, W, O>(n, va, ea, wa, distances, first);                                                           \
    }                                                                                                                  \
    extern "C" __global__ void hang_from_nearer_##SUFFIX(int n, const O *va, const int32_t *ea, const W *wa,           \
                                                         const D *distances, uint32_t *before) {                       \
        hang_from_nearer<D, W, O>(n, va, ea, wa, distances, before);                                                   \
    }                                                                                                                  \
    extern "C" __global__ void hang_from_equal_##SUFFIX(int n, const O *va, const int32_t *ea, const W *wa,            \
                                                        const D *distances, const uint8_t *rooted,                     \
                                                        uint32_t *before) {                                            \
        hang_from_equal<D, W, O>(n, va, ea, wa, distances, rooted, before);                                            \
    }                                                                                                                  \
    extern "C" __global__ void take_stock_##SUFFIX(int n, const D *distances, const uint32_t *before, int32_t source,  \
                                                   uint8_t *rooted, uint32_t *open) {                                  \
        take_stock<D>(n, distances, before, source, rooted, open);                                                     \
    }

FOR_EACH_TYPE(KERNELS)
