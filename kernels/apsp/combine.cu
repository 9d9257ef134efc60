// Rows of a matrix of distances as minima of other rows: row u is, entry by entry, the least of w + row v over the arcs
// (u, v, w), and 0 at u itself. Every row here depends on rows that are there, or on earlier levels (feedback.py).
//
// A block has some columns and goes through all levels, so that it waits for nobody else; its warps take rows of a level
// side by side. What a warp does in each step lies in a table, so it is read two steps ahead and the arcs one.
#include "types.cuh"

constexpr unsigned ALL = 0xFFFFFFFFu;
constexpr int AHEAD = 4;

// What a warp does in a step: one row, or none (-1), of arcs begin .. begin + count - 1; last: a level ends here.
struct __align__(16) Step {
    int32_t row, begin, count, last;
};

template <int WIDTH, typename D> struct alignas(WIDTH * sizeof(D)) Columns {
    D d[WIDTH];
};

// steps [count + 2, warps]; arcs: head and weight. overflow is set where a distance does not fit.
template <int WIDTH, typename D>
__device__ void combine(int n, int count, const Step *__restrict__ steps, const uint2 *__restrict__ arcs, D *matrix,
                        unsigned long long *overflow) {
    const int lane = threadIdx.x, warps = blockDim.y, column = (blockIdx.x * 32 + lane) * WIDTH;
    const bool inside = column < n;
    const uint2 none = {0, 0};
    Step now = steps[threadIdx.y], next = steps[warps + threadIdx.y];
    uint2 mine = lane < now.count ? arcs[now.begin + lane] : none;
    bool lost = false;
    for (int s = 0; s < count; s++) {
        const Step after = steps[size_t(s + 2) * warps + threadIdx.y];
        const uint2 following = lane < next.count ? arcs[next.begin + lane] : none;
        if (now.row >= 0) {
            Columns<WIDTH, D> least;
            bool led[WIDTH];
#pragma unroll
            for (int i = 0; i < WIDTH; i++) least.d[i] = Distance<D>::unreached, led[i] = false;
            for (int base = 0; base < now.count; base += 32) {
                const int arcs_here = min(32, now.count - base);
                if (base) mine = lane < arcs_here ? arcs[now.begin + base + lane] : none;
                for (int a = 0; a < arcs_here; a += AHEAD) {
                    Columns<WIDTH, D> there[AHEAD];
                    uint32_t weight[AHEAD];
#pragma unroll
                    for (int k = 0; k < AHEAD; k++) {
                        const uint32_t head = __shfl_sync(ALL, mine.x, a + k);
                        weight[k] = __shfl_sync(ALL, mine.y, a + k);
                        if (a + k < arcs_here && inside)
                            there[k] = *reinterpret_cast<const Columns<WIDTH, D> *>(matrix + size_t(head) * n + column);
                    }
#pragma unroll
                    for (int k = 0; k < AHEAD; k++)
                        if (a + k < arcs_here && inside)
#pragma unroll
                            for (int i = 0; i < WIDTH; i++) {
                                const D d = there[k].d[i];
                                if (d == Distance<D>::unreached) continue;
                                led[i] = true;
                                least.d[i] = min(least.d[i], Distance<D>::add(d, weight[k]));
                            }
                }
            }
            if (inside) {
#pragma unroll
                for (int i = 0; i < WIDTH; i++) {
                    if (column + i == now.row) least.d[i] = 0;
                    lost |= led[i] && least.d[i] == Distance<D>::unreached;
                }
                *reinterpret_cast<Columns<WIDTH, D> *>(matrix + size_t(now.row) * n + column) = least;
            }
        }
        if (now.last) __syncthreads();
        now = next, next = after, mine = following;
    }
    if (lost) *overflow = 1;
}

#define KERNEL(WIDTH, SUFFIX, D)                                                                                   \
    extern "C" __global__ void __launch_bounds__(1024)                                                             \
        combine_##WIDTH##_##SUFFIX(int n, int count, const Step *steps, const uint2 *arcs, D *matrix,              \
                                   unsigned long long *overflow) {                                                 \
        combine<WIDTH, D>(n, count, steps, arcs, matrix, overflow);                                                \
    }

KERNEL(1, u4, uint32_t)
KERNEL(2, u4, uint32_t)
KERNEL(4, u4, uint32_t)
KERNEL(1, u8, uint64_t)
KERNEL(2, u8, uint64_t)
