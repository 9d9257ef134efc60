// The kernels of paper O (Okuyama, Ino, Hagihara): a thread per (vertex, task), task fastest, P = 1 << shift tasks.
//
// Names are the paper's: va offsets, ea targets, wa weights, ca cost, ua updated cost, ma mask; the last three are
// [vertex][task], so that a thread's number is its place in them. With one task (shift 0) relax_unshared and update are
// the kernels A and B of Harish and Narayanan. Figure 3 of the paper prints Ca[v,t] where Ca[u,t] is meant, stages the
// first P neighbours only, and leaves out the barrier after ms[u]; its minimum is not atomic, as its GPU had none.
//
// status[CHANGED]   set by update when a cost went down, reset by the relaxes
// status[OVERFLOW]  set when a sum did not fit D; stays
#include "types.cuh"

enum { CHANGED, OVERFLOW };
// As in cuda.py: threads a block, a multiple of P.
constexpr int BLOCK = 256;

static __device__ long long thread_index() { return blockIdx.x * (long long)BLOCK + threadIdx.x; }

// Task t begins at the source first + t, if t < count.
template <typename D>
__device__ void start(int n, int shift, D *ca, D *ua, uint8_t *ma, uint32_t *status, int first, int count) {
    long long x = thread_index();
    if (x == 0) status[CHANGED] = status[OVERFLOW] = 0;
    if (x >= (long long)n << shift) return;
    int v = x >> shift, t = x & ((1 << shift) - 1);
    bool source = t < count && v == first + t;
    ca[x] = source ? D(0) : Distance<D>::unreached;
    ua[x] = Distance<D>::unreached;
    ma[x] = source;
}

template <typename D, typename W>
__device__ void relax_arc(int head, W weight, int shift, int t, D cost, D *ua, uint32_t *status) {
    D candidate = Distance<D>::add(cost, weight);
    if (candidate == Distance<D>::unreached)
        status[OVERFLOW] = 1;
    else
        Distance<D>::atomic_min(&ua[((long long)head << shift) + t], candidate);
}

template <typename D, typename W, typename O>
__device__ void relax_unshared(int n, int shift, const O *va, const int32_t *ea, const W *wa, uint8_t *ma, const D *ca,
                               D *ua, uint32_t *status) {
    long long x = thread_index();
    if (x == 0) status[CHANGED] = 0;
    if (x >= (long long)n << shift || !ma[x]) return;
    ma[x] = 0;
    int u = x >> shift, t = x & ((1 << shift) - 1);
    D cost = ca[x];
    for (O i = va[u], end = va[u + 1]; i < end; i++) relax_arc(ea[i], wa[i], shift, t, cost, ua, status);
}

// Kernel A'. The P threads of a vertex load P of its arcs, then each relaxes them for its task, if that updated it.
template <typename D, typename W, typename O>
__device__ void relax_shared(int n, int shift, const O *va, const int32_t *ea, const W *wa, uint8_t *ma, const D *ca,
                             D *ua, uint32_t *status) {
    __shared__ bool ms[BLOCK];
    __shared__ int es[BLOCK];
    __shared__ W ws[BLOCK];
    __shared__ O longest;
    long long x = thread_index();
    if (x == 0) status[CHANGED] = 0;
    const int tasks = 1 << shift, u = x >> shift, t = x & (tasks - 1);
    const int place = threadIdx.x >> shift, row = place << shift;
    const bool mine = x < (long long)n << shift && ma[x];
    if (t == 0) ms[place] = false;
    if (threadIdx.x == 0) longest = 0;
    __syncthreads();
    if (mine) ms[place] = true;
    __syncthreads();
    O begin = 0, degree = 0;
    if (ms[place]) {
        begin = va[u];
        degree = va[u + 1] - begin;
        // Every thread of the block takes part in the barriers below as often as the longest row needs.
        if (t == 0) atomicMax(&longest, degree);
    }
    __syncthreads();
    D cost = Distance<D>::unreached;
    if (mine) {
        ma[x] = 0;
        cost = ca[x];
    }
    for (O staged = 0; staged < longest; staged += tasks) {
        if (staged + t < degree) {
            es[threadIdx.x] = ea[begin + staged + t];
            ws[threadIdx.x] = wa[begin + staged + t];
        }
        __syncthreads();
        if (mine)
            for (int i = 0; i < tasks && staged + i < degree; i++)
                relax_arc(es[row + i], ws[row + i], shift, t, cost, ua, status);
        __syncthreads();
    }
}

// Kernel B'.
template <typename D> __device__ void update(int n, int shift, uint8_t *ma, D *ca, D *ua, uint32_t *status) {
    long long x = thread_index();
    bool changed = false;
    if (x < (long long)n << shift) {
        D cost = ca[x], updated = ua[x];
        if (cost > updated) {
            ca[x] = updated;
            ma[x] = 1;
            changed = true;
        } else {
            ua[x] = cost;
        }
    }
    // One store a block: the flag is all the host wants to know.
    if (__syncthreads_or(changed) && threadIdx.x == 0) status[CHANGED] = 1;
}

// The costs of eight tasks a block row, to rows of the matrix: writes are neighbouring, reads stay in the cache's lines.
template <typename D> __device__ void deliver(int n, int shift, const D *ca, D *rows, int count) {
    long long v = thread_index();
    if (v >= n) return;
    for (int t = 8 * blockIdx.y; t < min(count, 8 * (int(blockIdx.y) + 1)); t++)
        rows[(long long)t * n + v] = ca[(v << shift) + t];
}

#define KERNELS(SUFFIX, D, W, O)                                                                                       \
    extern "C" __global__ void start_##SUFFIX(int n, int shift, D *ca, D *ua, uint8_t *ma, uint32_t *status,           \
                                              int first, int count) {                                                  \
        start<D>(n, shift, ca, ua, ma, status, first, count);                                                          \
    }                                                                                                                  \
    extern "C" __global__ void relax_unshared_##SUFFIX(int n, int shift, const O *va, const int32_t *ea, const W *wa,  \
                                                       uint8_t *ma, const D *ca, D *ua, uint32_t *status) {            \
        relax_unshared<D, W, O>(n, shift, va, ea, wa, ma, ca, ua, status);                                             \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                                                \
        relax_shared_##SUFFIX(int n, int shift, const O *va, const int32_t *ea, const W *wa, uint8_t *ma, const D *ca, \
                              D *ua, uint32_t *status) {                                                               \
        relax_shared<D, W, O>(n, shift, va, ea, wa, ma, ca, ua, status);                                               \
    }                                                                                                                  \
    extern "C" __global__ void update_##SUFFIX(int n, int shift, uint8_t *ma, D *ca, D *ua, uint32_t *status) {        \
        update<D>(n, shift, ma, ca, ua, status);                                                                       \
    }                                                                                                                  \
    extern "C" __global__ void deliver_##SUFFIX(int n, int shift, const D *ca, D *rows, int count) {                   \
        deliver<D>(n, shift, ca, rows, count);                                                                         \
    }

FOR_EACH_SHORT_TYPE(KERNELS)
