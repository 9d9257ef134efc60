// The numbers that streaming.py keeps of every row of a matrix on the device: a block a row.
#include "types.cuh"

static constexpr int THREADS = 512;

template <typename T> static __device__ T larger(T a, T b) { return a > b ? a : b; }

// total: in T, 64 bits wide, added up in an order that depends on n alone.
template <typename D, typename T>
static __device__ void reduce(long long n, const D *matrix, D *eccentricity, long long *reached, T *total) {
    const D *row = matrix + blockIdx.x * n;
    D most = 0;
    T sum = 0;
    long long count = 0;
#pragma unroll 4
    for (long long v = threadIdx.x; v < n; v += THREADS) {
        D d = row[v];
        bool there = d != Distance<D>::unreached;
        most = larger(most, there ? d : D(0));
        sum += there ? T(d) : T(0);
        count += there;
    }
    __shared__ D mosts[THREADS / 32];
    __shared__ T sums[THREADS / 32];
    __shared__ long long counts[THREADS / 32];
    for (int far = 16; far; far /= 2) {
        most = larger(most, __shfl_xor_sync(0xFFFFFFFF, most, far));
        sum += __shfl_xor_sync(0xFFFFFFFF, sum, far);
        count += __shfl_xor_sync(0xFFFFFFFF, count, far);
    }
    if (threadIdx.x % 32 == 0) {
        mosts[threadIdx.x / 32] = most;
        sums[threadIdx.x / 32] = sum;
        counts[threadIdx.x / 32] = count;
    }
    __syncthreads();
    if (threadIdx.x) return;
    for (int w = 1; w < THREADS / 32; w++) {
        most = larger(most, mosts[w]);
        sum += sums[w];
        count += counts[w];
    }
    eccentricity[blockIdx.x] = most;
    reached[blockIdx.x] = count;
    total[blockIdx.x] = sum;
}

#define KERNEL(SUFFIX, D, T)                                                                                    \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                       \
        reduce_##SUFFIX(long long n, const D *matrix, D *eccentricity, long long *reached, T *total) {          \
        reduce<D, T>(n, matrix, eccentricity, reached, total);                                                  \
    }

KERNEL(u4, uint32_t, unsigned long long)
KERNEL(u8, uint64_t, unsigned long long)
KERNEL(f4, float, double)
KERNEL(f8, double, double)
