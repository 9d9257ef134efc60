// The certificate of validate.py for rows of a matrix on the device: a thread, or a warp, per entry, which asks the incoming
// arcs (the graph with its arcs turned round: va offsets, ta tails, wa weights).
#include "types.cuh"

// found[WRONG]    the smallest place (row times n plus vertex) that breaks condition (1) or (2), or its initial value
// found[HANGING]  how many entries condition (3) leaves open
// found[CHANGED]  set when a round grew a tree
enum { WRONG, HANGING, CHANGED };

struct Entry {
    bool wrong, nearer;
};

// Lanes of the group that share the entry: 1 or 32. All of them get the result.
template <int LANES, typename D, typename W, typename O>
__device__ Entry entry(int t, const O *va, const int32_t *ta, const W *wa, const D *row) {
    const D here = row[t];
    D least = Distance<D>::unreached;
    bool led = false, nearer = false;
    for (O i = va[t] + threadIdx.x % LANES, end = va[t + 1]; i < end; i += LANES) {
        D before = row[ta[i]];
        if (before < Distance<D>::unreached) {
            D candidate = Distance<D>::add(before, wa[i]);
            led = true;
            least = candidate < least ? candidate : least;
            nearer |= before < here && candidate == here;
        }
    }
    if (LANES == 32) {
        for (int far = 16; far; far /= 2) {
            D other = __shfl_xor_sync(0xFFFFFFFF, least, far);
            least = other < least ? other : least;
        }
        led = __any_sync(0xFFFFFFFF, led);
        nearer = __any_sync(0xFFFFFFFF, nearer);
    }
    if (here == Distance<D>::unreached) return {led, true};
    return {!(least == here), nearer};
}

// The grid: x covers the vertices of a row, y strides over the rows; row r is that of the source first + r.
template <int LANES, typename D, typename W, typename O>
__device__ void check(int n, int rows, int first, const O *va, const int32_t *ta, const W *wa, const D *matrix,
                      unsigned long long *found) {
    const long long t = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / LANES;
    if (t >= n) return;
    for (int r = blockIdx.y; r < rows; r += gridDim.y) {
        const D *row = matrix + (long long)r * n;
        if (t == first + r) {
            if (!(row[t] == D(0))) atomicMin(&found[WRONG], (unsigned long long)r * n + t);
            continue;
        }
        Entry seen = entry<LANES, D, W, O>(t, va, ta, wa, row);
        if (threadIdx.x % LANES) continue;
        if (seen.wrong)
            atomicMin(&found[WRONG], (unsigned long long)r * n + t);
        else if (!seen.nearer)
            atomicAdd(&found[HANGING], 1ull);
    }
}

// rooted [rows, n]: 1 where condition (3) is met without looking further, 0 where it is open.
template <typename D, typename W, typename O>
__device__ void root(int n, int rows, int first, const O *va, const int32_t *ta, const W *wa, const D *matrix,
                     uint8_t *rooted) {
    const long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (t >= n) return;
    for (int r = blockIdx.y; r < rows; r += gridDim.y) {
        Entry seen = entry<1, D, W, O>(t, va, ta, wa, matrix + (long long)r * n);
        rooted[(long long)r * n + t] = seen.nearer || t == first + r;
    }
}

// One round: entries that are open and have a tight arc from an equal distance that is rooted become rooted. What became
// so in this round counts too: it hangs in the tree already. found[WRONG]: the smallest place that stays open.
template <typename D, typename W, typename O>
__device__ void grow(int n, int rows, const O *va, const int32_t *ta, const W *wa, const D *matrix,
                     volatile uint8_t *rooted, unsigned long long *found) {
    const long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (t >= n) return;
    for (int r = blockIdx.y; r < rows; r += gridDim.y) {
        const D *row = matrix + (long long)r * n;
        volatile uint8_t *hangs = rooted + (long long)r * n;
        if (hangs[t]) continue;
        for (O i = va[t], end = va[t + 1]; i < end; i++) {
            const int v = ta[i];
            if (hangs[v] && row[v] == row[t] && Distance<D>::add(row[v], wa[i]) == row[t]) {
                hangs[t] = 1;
                found[CHANGED] = 1;
                break;
            }
        }
        if (!hangs[t]) atomicMin(&found[WRONG], (unsigned long long)r * n + t);
    }
}

#define KERNELS(SUFFIX, D, W, O)                                                                                       \
    extern "C" __global__ void check_1_##SUFFIX(int n, int rows, int first, const O *va, const int32_t *ta,            \
                                                const W *wa, const D *matrix, unsigned long long *found) {             \
        check<1, D, W, O>(n, rows, first, va, ta, wa, matrix, found);                                                  \
    }                                                                                                                  \
    extern "C" __global__ void check_32_##SUFFIX(int n, int rows, int first, const O *va, const int32_t *ta,           \
                                                 const W *wa, const D *matrix, unsigned long long *found) {            \
        check<32, D, W, O>(n, rows, first, va, ta, wa, matrix, found);                                                 \
    }                                                                                                                  \
    extern "C" __global__ void root_##SUFFIX(int n, int rows, int first, const O *va, const int32_t *ta,               \
                                             const W *wa, const D *matrix, uint8_t *rooted) {                          \
        root<D, W, O>(n, rows, first, va, ta, wa, matrix, rooted);                                                  \
    }                                                                                                                  \
    extern "C" __global__ void grow_##SUFFIX(int n, int rows, const O *va, const int32_t *ta, const W *wa,             \
                                             const D *matrix, uint8_t *rooted, unsigned long long *found) {            \
        grow<D, W, O>(n, rows, va, ta, wa, matrix, rooted, found);                                                     \
    }

FOR_EACH_SHORT_TYPE(KERNELS)
