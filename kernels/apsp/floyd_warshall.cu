// Floyd-Warshall as paper O runs it on the GPU: a kernel a pivot vertex, a block per row of the matrix, and no work for a
// row whose entry in the pivot's column is infinite. Neither the pivot's row nor its column changes meanwhile.
//
// overflow[0]  set when a sum did not fit D and nothing shorter was known; the host clears it
#include "types.cuh"

// The matrix of the shortest arcs, 0 on the diagonal: a block per row.
template <typename D, typename W, typename O>
__device__ void arcs(int n, const O *va, const int32_t *ea, const W *wa, D *matrix, uint32_t *overflow) {
    const int u = blockIdx.x;
    D *row = matrix + (long long)u * n;
    for (int v = threadIdx.x; v < n; v += blockDim.x) row[v] = v == u ? D(0) : Distance<D>::unreached;
    __syncthreads();
    for (O i = va[u] + threadIdx.x, end = va[u + 1]; i < end; i += blockDim.x)
        if (D(wa[i]) == Distance<D>::unreached)
            overflow[0] = 1;
        else
            Distance<D>::atomic_min(&row[ea[i]], D(wa[i]));
}

template <typename D> __device__ void through(int n, int k, D *matrix, uint32_t *overflow) {
    const int u = blockIdx.x;
    D *row = matrix + (long long)u * n;
    const D *pivot = matrix + (long long)k * n, before = row[k];
    if (before == Distance<D>::unreached || u == k) return;
    for (int v = threadIdx.x; v < n; v += blockDim.x) {
        D here = row[v], onwards = pivot[v];
        if (onwards == Distance<D>::unreached) continue;
        D sum = before + onwards;
        if (sum < before || sum == Distance<D>::unreached) {
            if (here == Distance<D>::unreached) overflow[0] = 1;
        } else if (sum < here) {
            row[v] = sum;
        }
    }
}

#define KERNELS(SUFFIX, D, W, O)                                                                                       \
    extern "C" __global__ void arcs_##SUFFIX(int n, const O *va, const int32_t *ea, const W *wa, D *matrix,            \
                                             uint32_t *overflow) {                                                     \
        arcs<D, W, O>(n, va, ea, wa, matrix, overflow);                                                                \
    }                                                                                                                  \
    extern "C" __global__ void through_##SUFFIX(int n, int k, D *matrix, uint32_t *overflow) {                         \
        through<D>(n, k, matrix, overflow);                                                                            \
    }

KERNELS(u4_u4_i4, uint32_t, uint32_t, int32_t)
KERNELS(u8_u4_i4, uint64_t, uint32_t, int32_t)
