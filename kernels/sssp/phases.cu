// The kernels of paper S (Suzuki, Kan, Hayashi, Yoshikawa), Algorithms 2, 3, 5, 6 and SWITCH_KERNEL.
//
// Names are the paper's: va offsets, ea targets, wa weights, ca cost, ua updated cost, ma mask, nr and nw the lists
// read and written. Algorithms 2 and 5 print Wa[n] where Wa[i] is meant.
//
// Every kernel runs a thread per vertex or list entry, and no loop over vertices: with at most 2^31 - 1 of them in
// blocks of 256, the last thread's index fits an int.
//
// status[CHANGED]   set by the updates when a vertex was updated, reset by the relaxes
// status[LENGTH]    length of the list being written; reset by select_update, after the host has read it
// status[OVERFLOW]  set when a sum did not fit D; never reset within a query
#include "types.cuh"

enum { CHANGED = 0, LENGTH = 1, OVERFLOW = 2, STATUS_WORDS = 3 };

static __device__ int thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

template <typename D> __device__ void start(int n, D *ca, D *ua, uint8_t *ma, uint32_t *scheduled, int32_t *nr,
                                            uint32_t *status, int32_t source) {
    int v = thread_index();
    if (v < n) {
        ca[v] = v == source ? D(0) : Distance<D>::unreached;
        ua[v] = Distance<D>::unreached;
        ma[v] = v == source;
        scheduled[v] = 0;
    }
    if (v == 0) {
        nr[0] = source;
        status[CHANGED] = status[LENGTH] = status[OVERFLOW] = 0;
    }
}

template <typename D, typename W, typename O>
__device__ void relax(int n, const O *va, const int32_t *ea, const W *wa, uint8_t *ma, const D *ca, D *ua,
                      uint32_t *status) {
    int v = thread_index();
    if (v == 0) status[CHANGED] = 0;
    if (v >= n || !ma[v]) return;
    ma[v] = 0;
    D cost = ca[v];
    for (O i = va[v], end = va[v + 1]; i < end; i++) {
        D candidate = Distance<D>::add(cost, wa[i]);
        if (candidate == Distance<D>::unreached)
            status[OVERFLOW] = 1;
        else
            Distance<D>::atomic_min(&ua[ea[i]], candidate);
    }
}

template <typename D> __device__ void update(int n, uint8_t *ma, D *ca, D *ua, uint32_t *status) {
    int v = thread_index();
    bool changed = false;
    if (v < n) {
        D cost = ca[v], updated = ua[v];
        if (cost > updated) {
            ca[v] = updated;
            ma[v] = 1;
            changed = true;
        } else {
            ua[v] = cost;
        }
    }
    // One store a block: the host needs only the flag.
    if (__syncthreads_or(changed) && threadIdx.x == 0) status[CHANGED] = 1;
}

// Algorithm 3 that also counts, for untimed runs: paper S avoids the cost of counting.
template <typename D> __device__ void update_counted(int n, uint8_t *ma, D *ca, D *ua, uint32_t *status) {
    int v = thread_index();
    bool changed = v < n && ca[v] > ua[v];
    if (v < n) {
        if (changed) {
            ca[v] = ua[v];
            ma[v] = 1;
        }
        ua[v] = ca[v];
    }
    int count = __syncthreads_count(changed);
    if (count && threadIdx.x == 0) atomicAdd(&status[CHANGED], count);
}

template <typename D, typename W, typename O>
__device__ void select_relax(const O *va, const int32_t *ea, const W *wa, uint8_t *ma, const D *ca, D *ua,
                             uint32_t *status, const int32_t *nr, int length, int32_t *nw, uint32_t *scheduled) {
    int x = thread_index();
    if (x == 0) status[CHANGED] = 0;
    if (x >= length) return;
    int v = nr[x];
    if (!ma[v]) return;
    ma[v] = 0;
    D cost = ca[v];
    for (O i = va[v], end = va[v + 1]; i < end; i++) {
        D candidate = Distance<D>::add(cost, wa[i]);
        if (candidate == Distance<D>::unreached) {
            status[OVERFLOW] = 1;
            continue;
        }
        int t = ea[i];
        // Ua[t] equals the candidate right after the minimum exactly if the value before was not smaller.
        if (Distance<D>::atomic_min(&ua[t], candidate) >= candidate && !scheduled[t] &&
            atomicExch(&scheduled[t], 1u) == 0)
            nw[atomicAdd(&status[LENGTH], 1u)] = t;
    }
}

template <typename D>
__device__ void select_update(uint8_t *ma, D *ca, const D *ua, uint32_t *status, const int32_t *nr, int length,
                              uint32_t *scheduled) {
    int x = thread_index();
    if (x == 0) status[LENGTH] = 0;
    bool changed = false;
    if (x < length) {
        int v = nr[x];
        scheduled[v] = 0;
        D updated = ua[v];
        if (ca[v] > updated) {
            ca[v] = updated;
            ma[v] = 1;
            changed = true;
        }
    }
    if (__syncthreads_or(changed) && threadIdx.x == 0) status[CHANGED] = 1;
}

extern "C" __global__ void switch_to_selection(int n, const uint8_t *ma, uint32_t *status, int32_t *nr) {
    int v = thread_index();
    if (v < n && ma[v]) nr[atomicAdd(&status[LENGTH], 1u)] = v;
}

// Runs after the host has read the length of the list that switch_to_selection built.
extern "C" __global__ void reset_length(uint32_t *status) { status[LENGTH] = 0; }

#define KERNELS(SUFFIX, D, W, O)                                                                                       \
    extern "C" __global__ void start_##SUFFIX(int n, D *ca, D *ua, uint8_t *ma, uint32_t *scheduled, int32_t *nr,      \
                                              uint32_t *status, int32_t source) {                                      \
        start<D>(n, ca, ua, ma, scheduled, nr, status, source);                                                        \
    }                                                                                                                  \
    extern "C" __global__ void relax_##SUFFIX(int n, const O *va, const int32_t *ea, const W *wa, uint8_t *ma,         \
                                              const D *ca, D *ua, uint32_t *status) {                                  \
        relax<D, W, O>(n, va, ea, wa, ma, ca, ua, status);                                                             \
    }                                                                                                                  \
    extern "C" __global__ void update_##SUFFIX(int n, uint8_t *ma, D *ca, D *ua, uint32_t *status) {                   \
        update<D>(n, ma, ca, ua, status);                                                                              \
    }                                                                                                                  \
    extern "C" __global__ void update_counted_##SUFFIX(int n, uint8_t *ma, D *ca, D *ua, uint32_t *status) {           \
        update_counted<D>(n, ma, ca, ua, status);                                                                      \
    }                                                                                                                  \
    extern "C" __global__ void select_relax_##SUFFIX(                                                                  \
        const O *va, const int32_t *ea, const W *wa, uint8_t *ma, const D *ca, D *ua, uint32_t *status,                \
        const int32_t *nr, int length, int32_t *nw, uint32_t *scheduled) {                                             \
        select_relax<D, W, O>(va, ea, wa, ma, ca, ua, status, nr, length, nw, scheduled);                              \
    }                                                                                                                  \
    extern "C" __global__ void select_update_##SUFFIX(uint8_t *ma, D *ca, const D *ua, uint32_t *status,               \
                                                      const int32_t *nr, int length, uint32_t *scheduled) {            \
        select_update<D>(ma, ca, ua, status, nr, length, scheduled);                                                   \
    }

FOR_EACH_TYPE(KERNELS)
