// Graph500's rules on the device: validate.py's three passes, which says why they suffice.
#include <cstdint>

static constexpr int THREADS = 256;

// The first vertex or arc that breaks a rule; mirrored in validate.py.
enum { VERTEX, ARC, TREE };
using First = unsigned long long;

extern "C" __global__ void __launch_bounds__(THREADS)
    check_vertices(int n, const int *levels, const int *parents, int root, uint8_t *hangs, First *record) {
    uint32_t v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= n) return;
    hangs[v] = 0;
    int level = levels[v], parent = parents[v];
    bool right;
    if (v == root)
        right = level == 0 && parent == v;
    else if (level == -1)
        right = parent == -1;
    else
        right = level > 0 && parent >= 0 && parent < n && levels[parent] == level - 1;
    if (!right) atomicMin(&record[VERTEX], First(v));
}

// A warp a row.
template <typename O>
static __device__ void check_arcs(int n, const O *offsets, const int *targets, const int *levels, const int *parents,
                                  uint8_t *hangs, First *record) {
    int u = (blockIdx.x * size_t(THREADS) + threadIdx.x) / 32;
    if (u >= n || levels[u] < 0) return;
    int level = levels[u];
    for (O i = offsets[u] + threadIdx.x % 32; i < offsets[u + 1]; i += 32) {
        int v = targets[i];
        if (levels[v] < 0 || levels[v] > level + 1) atomicMin(&record[ARC], First(i));
        if (parents[v] == u) hangs[v] = 1;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    check_tree(int n, const int *levels, const uint8_t *hangs, int root, First *record) {
    uint32_t v = blockIdx.x * THREADS + threadIdx.x;
    if (v < n && levels[v] >= 0 && v != root && !hangs[v]) atomicMin(&record[TREE], First(v));
}

#define KERNELS(O, SUFFIX)                                                                                       \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                        \
        check_arcs_##SUFFIX(int n, const O *offsets, const int *targets, const int *levels, const int *parents,  \
                            uint8_t *hangs, First *record) {                                                     \
        check_arcs(n, offsets, targets, levels, parents, hangs, record);                                         \
    }

KERNELS(uint32_t, u4)
KERNELS(uint64_t, u8)
